/* exec - runs an executable in any language as a collector: JSON Lines on its standard input and output,
 * trotline-exec(7).
 *
 * The program decides, the host acts: it fetches under the leash and keeps what is put. The program itself has no
 * network. Invariant: a line is one whole request; what is asked wrongly ends the run with that line quoted, while a
 * fetch that fails is an answer, and the program goes on as it likes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"

struct args {
    const char *program, *input;
    int64_t timeout;
};
static const struct tl_option arguments[] = {
    {"program", TL_TEXT, TL_REQUIRED, offsetof(struct args, program), NULL, NULL,
     "its absolute path, one of the option `programs`"},
    {"input", TL_JSON, 0, offsetof(struct args, input), "{}", NULL, "what it is given as payload"},
    {"timeout", TL_MILLIS, 0, offsetof(struct args, timeout), NULL, NULL,
     "how long it may run; the run's own time without it"},
    {0}};
struct options {
    struct tl_list programs;
};
static const struct tl_option options[] = {{"programs", TL_TEXT, TL_LIST, offsetof(struct options, programs), NULL,
                                            NULL, "absolute paths of the programs that may be run"},
                                           {0}};
static const struct tl_dataset datasets[] = {{"pages", TL_PAGED, "exec", "pages of a list, in order"},
                                             {"values", TL_KEY_VALUE, "exec", "values by key"},
                                             {"result", TL_SIMPLE, "exec", "one value"},
                                             {0}};
static const char *const programs[] = {"*", NULL};

enum { FLUSH = 48 * 1024, QUOTED = 160, TOLD = 400 };

/* ---- what a line may have */

/* clang-format off */
enum member {
    OP, URL, METHOD, HEADERS, CLASS, TIMEOUT, MAX_BYTES, ATTACH, SEND_BODY, REVALIDATE, TEXT, JSON, BODY_B64, RESPONSE, DATASET, MEDIA_TYPE,
    KEY, ID, METADATA, COLLECTOR, ARGS, PAGE, NAME, LEASH, LEVEL, VALUE, STATUS, ERROR, MEMBERS
};
static const struct {
    const char *name;
    enum tl_json_type type; /* TL_JSON_NULL: any */
} members[MEMBERS] = {
    [OP] = {"op", TL_JSON_STRING}, [URL] = {"url", TL_JSON_STRING}, [METHOD] = {"method", TL_JSON_STRING}, [HEADERS] = {"headers", TL_JSON_ARRAY},
    [CLASS] = {"class", TL_JSON_STRING}, [TIMEOUT] = {"timeout_ms", TL_JSON_NUMBER}, [MAX_BYTES] = {"max_bytes", TL_JSON_NUMBER},
    [ATTACH] = {"attach", TL_JSON_STRING}, [SEND_BODY] = {"send_body", TL_JSON_BOOL}, [REVALIDATE] = {"revalidate", TL_JSON_BOOL},
    [TEXT] = {"text", TL_JSON_STRING}, [JSON] = {"json", TL_JSON_NULL}, [BODY_B64] = {"body_b64", TL_JSON_STRING},
    [RESPONSE] = {"response", TL_JSON_NUMBER}, [DATASET] = {"dataset", TL_JSON_STRING}, [MEDIA_TYPE] = {"media_type", TL_JSON_STRING},
    [KEY] = {"key", TL_JSON_STRING}, [ID] = {"id", TL_JSON_STRING}, [METADATA] = {"metadata", TL_JSON_OBJECT},
    [COLLECTOR] = {"collector", TL_JSON_STRING}, [ARGS] = {"args", TL_JSON_OBJECT}, [PAGE] = {"page", TL_JSON_BOOL},
    [NAME] = {"name", TL_JSON_STRING}, [LEASH] = {"leash", TL_JSON_OBJECT}, [LEVEL] = {"level", TL_JSON_STRING}, [VALUE] = {"value", TL_JSON_STRING},
    [STATUS] = {"status", TL_JSON_STRING}, [ERROR] = {"error", TL_JSON_STRING}};
/* clang-format on */

struct request {
    struct tl_json at[MEMBERS];
    bool has[MEMBERS];
};

struct talk {
    struct tl_run *run;
    const char *program; /* for messages: its last name */
    struct text out, body;
    struct tl_response *response; /* by their numbers */
    size_t responses, room;
    struct tl_span line;
    unsigned long long lines;
    bool done;
    int status;
    const char *error;
};

static void talk_free(void *arg) {
    struct talk *t = arg;
    text_free(&t->out);
    text_free(&t->body);
    free(t->response);
}

/* ---- saying why */

/* A reason, made harmless: half a character at a cut becomes '?', a control a blank. */
TL_PRINTF(3, 4) static int fail(struct talk *t, int status, const char *fmt, ...) {
    char text[1200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    wire_mend(text);
    return tl_fail(t->run, status, "%s: %s", t->program, text);
}

TL_PRINTF(2, 3) static int wrong(struct talk *t, const char *fmt, ...) {
    char why[800];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    return fail(t, TL_FAILED, "line %llu of its output: %s: %.*s%s", t->lines, why, QUOTED, t->line.ptr,
                t->line.len > QUOTED ? "..." : "");
}

/* A call of the host that failed on account of a line. */
static int wrong_call(struct talk *t, int rc) {
    const char *why = rc == TL_CANCEL ? NULL : tl_reason(t->run);
    return rc == TL_CANCEL ? rc : wrong(t, "%s", why ? why : "it was refused");
}

static int no_memory(struct talk *t) {
    return fail(t, TL_FAILED, "there is no memory for what it says");
}

/* ---- speaking to the program */

/* One that has ended by itself hears nothing; how it ended is found out by reading on. One that was stopped is not
 * obeyed any more, whatever it had said before. */
static int flush(struct talk *t) {
    if (t->out.lost)
        return no_memory(t);
    int rc = t->out.len ? tl_process_write(t->run, (struct tl_span){t->out.ptr, t->out.len}) : TL_OK;
    t->out.len = 0;
    return rc == TL_NOTFOUND ? TL_OK : rc;
}

static void say_member(struct talk *t, const char *name, const char *value) {
    text_word(&t->out, ",\"");
    text_word(&t->out, name);
    text_word(&t->out, "\":");
    wire_string(&t->out, value);
}

static int say_end(struct talk *t) {
    text_word(&t->out, "}\n");
    return flush(t);
}

static int say_hello(struct talk *t, const char *input) {
    const struct tl_lineage *l = t->run->host->lineage(t->run);
    char depth[40];
    text_word(&t->out, "{\"op\":\"collect\",\"protocol\":1,\"payload\":");
    text_word(&t->out, input ? input : "{}");
    snprintf(depth, sizeof depth, ",\"lineage\":{\"depth\":%d", l->depth);
    text_word(&t->out, depth);
    say_member(t, "run_id", l->run_id);
    say_member(t, "root_id", l->root_id);
    say_member(t, "parent_id", l->parent_id);
    say_member(t, "crawl", l->crawl);
    say_member(t, "org", l->org);
    say_member(t, "project", l->project);
    say_member(t, "target", l->target);
    text_word(&t->out, "}");
    return say_end(t);
}

static int say_error(struct talk *t, int rc) {
    const char *why = tl_reason(t->run);
    text_word(&t->out, "{\"op\":\"error\"");
    say_member(t, "status", rc == TL_REFUSED ? "refused" : rc == TL_RETRY ? "retry" : "failed");
    say_member(t, "error", why ? why : "the request failed");
    return say_end(t);
}

/* As it came, in parts: text when it is UTF-8, else base64. */
static int say_body(struct talk *t, struct tl_span body) {
    bool text = wire_is_utf8(body);
    int rc = TL_OK;
    text_word(&t->out, text ? ",\"text\":\"" : ",\"body_b64\":\"");
    while (!rc && body.len) {
        size_t n = body.len < FLUSH ? body.len : FLUSH; /* a multiple of 3 */
        if (text)
            wire_escape(&t->out, (struct tl_span){body.ptr, n});
        else
            wire_base64(&t->out, (struct tl_span){body.ptr, n});
        body.ptr += n;
        body.len -= n;
        if (t->out.len > FLUSH)
            rc = flush(t);
    }
    text_word(&t->out, "\"");
    return rc;
}

static int say_response(struct talk *t, const struct tl_response *r, bool with_body) {
    char number[80];
    snprintf(number, sizeof number, "{\"op\":\"response\",\"response\":%zu,\"status\":%d", t->responses, r->status);
    text_word(&t->out, number);
    say_member(t, "url", r->url);
    say_member(t, "media_type", r->media_type);
    say_member(t, "charset", r->charset);
    text_word(&t->out, r->truncated ? ",\"truncated\":true" : ",\"truncated\":false");
    text_word(&t->out, r->not_modified ? ",\"not_modified\":true" : ",\"not_modified\":false");
    text_word(&t->out, ",\"headers\":[");
    for (size_t i = 0; i < r->header_count; i++) {
        text_word(&t->out, i ? ",[" : "[");
        wire_string(&t->out, r->headers[i].name);
        text_word(&t->out, ",");
        wire_string(&t->out, r->headers[i].value ? r->headers[i].value : "");
        text_word(&t->out, "]");
    }
    text_word(&t->out, "]");
    int rc = with_body ? say_body(t, r->body) : TL_OK;
    return rc ? rc : say_end(t);
}

/* ---- reading what it says */

static const char *text_of(struct talk *t, const struct request *q, enum member m) {
    return q->has[m] ? t->run->host->json_text(t->run, &q->at[m]) : NULL;
}

static int64_t number_of(struct talk *t, const struct request *q, enum member m) {
    const char *text = text_of(t, q, m);
    return text ? strtoll(text, NULL, 10) : 0;
}

static bool is_true(const struct request *q, enum member m) {
    return q->has[m] && q->at[m].raw.ptr[0] == 't';
}

/* Of an object, a text of its own: the host wants it NUL-ended. */
static const char *raw_of(struct talk *t, const struct request *q, enum member m) {
    char *copy = q->has[m] ? tl_alloc(t->run, q->at[m].raw.len + 1) : NULL;
    if (copy)
        memcpy(copy, q->at[m].raw.ptr, q->at[m].raw.len);
    return copy;
}

/* One of text, json and body_b64, or none; *media_type is what it is if nothing is said. */
static int body_of(struct talk *t, const struct request *q, struct tl_span *body, const char **media_type) {
    t->body.len = 0;
    if (q->has[TEXT] + q->has[JSON] + q->has[BODY_B64] + q->has[RESPONSE] > 1)
        return wrong(t, "only one of text, json, body_b64 and response can be");
    *media_type = q->has[TEXT] ? "text/plain" : q->has[JSON] ? "application/json" : "application/octet-stream";
    if (q->has[JSON]) {
        *body = q->at[JSON].raw;
        return TL_OK;
    }
    if (q->has[TEXT] || q->has[BODY_B64])
        wire_unescape(&t->body, q->at[q->has[TEXT] ? TEXT : BODY_B64].raw);
    if (t->body.lost)
        return no_memory(t);
    if (q->has[BODY_B64] && !wire_unbase64(&t->body))
        return wrong(t, "body_b64 is no base64");
    *body = (struct tl_span){t->body.ptr ? t->body.ptr : "", t->body.len};
    return TL_OK;
}

/* A word of a list; `dflt` when it is not said, -1 when it is another. */
static int word_of(struct talk *t, const struct request *q, enum member m, const char *const *words, int dflt) {
    const char *word = text_of(t, q, m);
    if (!q->has[m])
        return dflt;
    for (int i = 0; word && words[i]; i++)
        if (strcmp(word, words[i]) == 0)
            return i;
    return -1;
}

/* ---- its requests */

static int headers_of(struct talk *t, const struct request *q, struct tl_header **list, size_t *count) {
    const struct tl_host *h = t->run->host;
    struct tl_json pair = {0};
    size_t n = 0;
    *list = NULL;
    *count = 0;
    while (q->has[HEADERS] && h->json_next(t->run, &q->at[HEADERS], &pair) == TL_OK)
        n++;
    if (n == 0)
        return TL_OK;
    if (!(*list = tl_alloc(t->run, n * sizeof **list)))
        return no_memory(t);
    pair = (struct tl_json){0};
    for (; *count < n && h->json_next(t->run, &q->at[HEADERS], &pair) == TL_OK; ++*count) {
        struct tl_json name = {0}, value, end;
        bool two = pair.type == TL_JSON_ARRAY && h->json_next(t->run, &pair, &name) == TL_OK;
        value = name;
        two = two && h->json_next(t->run, &pair, &value) == TL_OK;
        end = value;
        if (!two || h->json_next(t->run, &pair, &end) == TL_OK || name.type != TL_JSON_STRING ||
            value.type != TL_JSON_STRING)
            return wrong(t, "headers are pairs, [[\"Name\",\"value\"],...]");
        struct tl_header *to = &(*list)[*count];
        to->name = h->json_text(t->run, &name);
        to->value = h->json_text(t->run, &value);
        if (!to->name || !to->value)
            return wrong(t, "a header holds U+0000");
    }
    return TL_OK;
}

static int do_fetch(struct talk *t, const struct request *q) {
    static const char *const classes[] = {
        [TL_PAGE_REQUEST] = "page", [TL_API_REQUEST] = "api", [TL_FEED_REQUEST] = "feed", NULL};
    struct tl_response res = TL_RESPONSE_INIT;
    struct tl_header *headers;
    struct tl_span body;
    size_t count;
    const char *media_type;
    int kind = word_of(t, q, CLASS, classes, TL_PAGE_REQUEST), rc = headers_of(t, q, &headers, &count);
    if (rc || (rc = body_of(t, q, &body, &media_type)))
        return rc;
    if (kind < 0)
        return wrong(t, "class is page, api or feed");
    const char *url = text_of(t, q, URL);
    if (!url)
        return wrong(t, "the URL holds U+0000");
    if (t->responses == t->room) {
        size_t room = t->room * 2 + 8;
        struct tl_response *wider = realloc(t->response, room * sizeof *wider);
        if (!wider)
            return no_memory(t);
        t->response = wider;
        t->room = room;
    }
    rc = tl_fetch(t->run,
                  TL_REQUEST(.kind = (enum tl_class)kind, .method = text_of(t, q, METHOD), .url = url,
                             .headers = headers, .header_count = count, .body = body,
                             .timeout_ms = number_of(t, q, TIMEOUT), .max_bytes = number_of(t, q, MAX_BYTES),
                             .attach = text_of(t, q, ATTACH), .revalidate = is_true(q, REVALIDATE)),
                  &res);
    if (rc)
        return rc == TL_CANCEL ? rc : say_error(t, rc);
    t->response[t->responses++] = res;
    return say_response(t, &res, !q->has[SEND_BODY] || is_true(q, SEND_BODY));
}

static int do_put(struct talk *t, const struct request *q) {
    struct tl_element e = TL_ELEMENT_INIT;
    struct tl_span body;
    const char *media_type;
    int rc = body_of(t, q, &body, &media_type);
    if (rc)
        return rc;
    if (!q->has[TEXT] && !q->has[JSON] && !q->has[BODY_B64] && !q->has[RESPONSE])
        return wrong(t, "one of text, json, body_b64 and response is wanted");
    if (q->has[RESPONSE]) {
        int64_t n = number_of(t, q, RESPONSE);
        if (n < 1 || (uint64_t)n > t->responses)
            return wrong(t, "there is no response of that number");
        e.from = &t->response[n - 1];
    } else {
        e.data = body;
        e.media_type = media_type;
    }
    if (q->has[MEDIA_TYPE])
        e.media_type = text_of(t, q, MEDIA_TYPE);
    e.data_url = text_of(t, q, URL);
    e.key = text_of(t, q, KEY);
    e.id = text_of(t, q, ID);
    e.metadata = raw_of(t, q, METADATA);
    const char *dataset = text_of(t, q, DATASET);
    if (!dataset || (q->has[METADATA] && !e.metadata))
        return wrong(t, "the dataset has no usable name, or there is no memory");
    rc = tl_put(t->run, dataset, &e);
    return rc ? wrong_call(t, rc) : TL_OK;
}

static int do_spawn(struct talk *t, const struct request *q) {
    struct tl_child c = *TL_CHILD(.collector = text_of(t, q, COLLECTOR), .name = text_of(t, q, NAME),
                                  .leash_json = raw_of(t, q, LEASH));
    c.args_json = raw_of(t, q, ARGS);
    if (!c.args_json)
        c.args_json = "{}";
    c.flags = (is_true(q, PAGE) ? TL_PAGE : 0) | (c.collector ? 0 : TL_SAME);
    int rc = tl_spawn(t->run, &c);
    return rc ? wrong_call(t, rc) : TL_OK;
}

static int do_log(struct talk *t, const struct request *q) {
    static const char *const levels[] = {
        [TL_ERROR] = "error", [TL_WARN] = "warn", [TL_INFO] = "info", [TL_DEBUG] = "debug", NULL};
    int level = word_of(t, q, LEVEL, levels, TL_INFO);
    if (level < 0)
        return wrong(t, "level is error, warn, info or debug");
    t->body.len = 0;
    wire_unescape(&t->body, q->at[TEXT].raw);
    tl_log(t->run, (enum tl_level)level, "%s: %s", t->program, t->body.ptr ? t->body.ptr : "");
    return TL_OK;
}

/* Keys are the program's own: those of others have another name in front. */
static const char *state_key(struct talk *t, const char *key) {
    size_t program = strlen(t->program), len = strlen(key);
    char *own = *key ? tl_alloc(t->run, program + len + 2) : NULL;
    if (!own)
        return "";
    memcpy(own, t->program, program);
    own[program] = '/';
    memcpy(own + program + 1, key, len);
    return own;
}

static int do_state_get(struct talk *t, const struct request *q) {
    struct tl_span value = {0};
    const char *key = text_of(t, q, KEY);
    int rc = tl_state_get(t->run, state_key(t, key), &value);
    if (rc && rc != TL_NOTFOUND)
        return wrong_call(t, rc);
    text_word(&t->out, "{\"op\":\"state\"");
    say_member(t, "key", key);
    say_member(t, "value", rc ? NULL : value.ptr);
    return say_end(t);
}

static int do_state_put(struct talk *t, const struct request *q) {
    t->body.len = 0;
    wire_unescape(&t->body, q->at[VALUE].raw);
    if (t->body.lost || memchr(t->body.ptr, '\0', t->body.len))
        return wrong(t, "the value holds U+0000, or there is no memory");
    int rc = tl_state_put(t->run, state_key(t, text_of(t, q, KEY)), (struct tl_span){t->body.ptr, t->body.len});
    return rc ? wrong_call(t, rc) : TL_OK;
}

static int do_done(struct talk *t, const struct request *q) {
    static const char *const words[] = {"success", "partial", "failed", "unchanged", "retry", "refused", NULL};
    static const int status[] = {TL_OK, TL_PARTIAL, TL_FAILED, TL_UNCHANGED, TL_RETRY, TL_REFUSED};
    int which = word_of(t, q, STATUS, words, 0);
    if (which < 0)
        return wrong(t, "status is success, partial, failed, unchanged, retry or refused");
    t->done = true;
    t->status = status[which];
    t->error = text_of(t, q, ERROR);
    return TL_OK;
}

#define BIT(m) (1u << (m))
static const struct op {
    const char *name;
    int (*carry_out)(struct talk *, const struct request *);
    unsigned needs, takes;
} ops[] = {{"fetch", do_fetch, BIT(URL),
            BIT(METHOD) | BIT(HEADERS) | BIT(CLASS) | BIT(TIMEOUT) | BIT(MAX_BYTES) | BIT(ATTACH) | BIT(SEND_BODY) |
                BIT(REVALIDATE) | BIT(TEXT) | BIT(JSON) | BIT(BODY_B64)},
           {"put", do_put, BIT(DATASET),
            BIT(TEXT) | BIT(JSON) | BIT(BODY_B64) | BIT(RESPONSE) | BIT(MEDIA_TYPE) | BIT(URL) | BIT(KEY) | BIT(ID) |
                BIT(METADATA)},
           {"spawn", do_spawn, 0, BIT(COLLECTOR) | BIT(ARGS) | BIT(PAGE) | BIT(NAME) | BIT(LEASH)},
           {"log", do_log, BIT(TEXT), BIT(LEVEL)},
           {"state_get", do_state_get, BIT(KEY), 0},
           {"state_put", do_state_put, BIT(KEY) | BIT(VALUE), 0},
           {"done", do_done, 0, BIT(STATUS) | BIT(ERROR)}};

static int find_member(const struct tl_json *at) {
    for (int m = 0; m < MEMBERS; m++)
        if (at->key.len == strlen(members[m].name) + 2 &&
            memcmp(at->key.ptr + 1, members[m].name, at->key.len - 2) == 0)
            return m;
    return -1;
}

static int read_request(struct talk *t, struct request *q) {
    const struct tl_host *h = t->run->host;
    struct tl_json root, at = {0};
    static const char blank[] = " \t\r";
    int rc = h->json(t->run, t->line, "", &root);
    const char *end = t->line.ptr + t->line.len;
    for (const char *c = rc ? end : root.raw.ptr + root.raw.len; c < end; c++)
        rc = strchr(blank, *c) && *c ? rc : TL_INVALID;
    if (rc || root.type != TL_JSON_OBJECT)
        return wrong(t, "it is no JSON object");
    while ((rc = h->json_next(t->run, &root, &at)) == TL_OK) {
        int m = find_member(&at);
        if (m < 0)
            return wrong(t, "no request has a member %.*s", (int)(at.key.len < 60 ? at.key.len : 60), at.key.ptr);
        if (q->has[m])
            return wrong(t, "%s stands there twice", members[m].name);
        if (members[m].type != TL_JSON_NULL && at.type != members[m].type)
            return wrong(t, "%s does not have the type that it should", members[m].name);
        bool carried = m == TEXT || m == VALUE || m == BODY_B64; /* contents, which may hold anything */
        if (members[m].type == TL_JSON_STRING && !carried && !h->json_text(t->run, &at))
            return wrong(t, "%s holds a NUL, or is no text", members[m].name);
        q->at[m] = at;
        q->at[m].at = 0;
        q->has[m] = true;
    }
    return rc == TL_NOTFOUND ? TL_OK : wrong(t, "it is no JSON object");
}

static int obey(struct talk *t) {
    struct request q = {0};
    int rc = read_request(t, &q);
    if (rc)
        return rc;
    const char *name = text_of(t, &q, OP);
    for (size_t i = 0; name && i < sizeof ops / sizeof *ops; i++) {
        if (strcmp(ops[i].name, name) != 0)
            continue;
        for (int m = OP + 1; m < MEMBERS; m++) {
            if (q.has[m] && !((ops[i].needs | ops[i].takes) & BIT(m)))
                return wrong(t, "%s has no member %s", name, members[m].name);
            if (!q.has[m] && (ops[i].needs & BIT(m)))
                return wrong(t, "%s wants a member %s", name, members[m].name);
        }
        return ops[i].carry_out(t, &q);
    }
    return wrong(t, name ? "there is no such op" : "it has no op");
}

/* ---- its life */

/* The last line of what it wrote to its standard error: there most languages say why. */
static void last_words(struct tl_span err, char out[TOLD]) {
    size_t end = err.len, from;
    while (end && strchr(" \t\r\n", err.ptr[end - 1]))
        end--;
    for (from = end; from && err.ptr[from - 1] != '\n' && end - from < TOLD - 8;)
        from--;
    snprintf(out, TOLD, "%s%.*s", end ? ": " : "", (int)(end - from), err.ptr + from);
}

static int judge(struct talk *t, int status, struct tl_span err) {
    char words[TOLD], how[80];
    last_words(err, words);
    if (err.len)
        tl_log(t->run, status ? TL_WARN : TL_INFO, "%s said on its standard error: %.*s", t->program, (int)err.len,
               err.ptr);
    if (status > 128)
        snprintf(how, sizeof how, "died of signal %d", status - 128);
    else
        snprintf(how, sizeof how, "ended with status %d", status);
    if (!t->done)
        return fail(t, TL_FAILED, "it %s without a word of being done%s", how, words);
    if (status && t->status == TL_OK)
        return fail(t, TL_FAILED, "it said that it was done, but %s%s", how, words);
    if (t->status == TL_OK || t->status == TL_UNCHANGED)
        return t->status;
    return fail(t, t->status, "%s", t->error ? t->error : "it gave no reason");
}

static int collect(void *self, struct tl_run *run, const void *arg) {
    const struct args *a = arg;
    const char *slash = strrchr(a->program, '/');
    struct talk *t = tl_alloc(run, sizeof *t);
    struct tl_span err = {"", 0};
    int status = 0, rc = t ? tl_defer(run, talk_free, t) : tl_fail(run, TL_FAILED, "there is no memory");
    (void)self;
    if (rc)
        return rc;
    t->run = run;
    t->program = slash ? slash + 1 : a->program;
    if ((rc = tl_result_name(run, t->program, NULL)))
        return rc;
    const char *const argv[] = {a->program, NULL};
    rc = tl_process_start(run, &(struct tl_program){.struct_size = sizeof(struct tl_program),
                                                    .argv = argv,
                                                    .timeout_ms = a->timeout,
                                                    .flags = TL_OFFLINE});
    if (!rc)
        rc = say_hello(t, a->input);
    while (!rc && !t->done && !(rc = tl_process_line(run, &t->line))) {
        t->lines++;
        if (t->line.len)
            rc = obey(t);
    }
    if (rc && rc != TL_NOTFOUND)
        return rc; /* and the host stops it */
    rc = tl_process_end(run, &status, &err);
    return rc ? rc : judge(t, status, err);
}

TL_COLLECTOR(.name = "exec", .version = "1.0.0", .summary = "runs an executable as a collector, over JSON Lines",
             .options = options, .options_size = sizeof(struct options), .arguments = arguments,
             .arguments_size = sizeof(struct args), .datasets = datasets, .programs = programs, .collect = collect);
