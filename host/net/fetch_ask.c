/* fetch_ask.c - one hop: waiting for the host's turn, asking, and asking again where that may help.
 *
 * A wait that the server asks for costs no try, as long as it all stays below LONGEST_WAIT_US; a longer one puts the
 * run back until then, which costs nothing either. Who always asks for a short one costs attempts of the run. What is
 * asked again is only what may be asked twice. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/times.h"
#include "net/credential.h"
#include "net/decode.h"
#include "net/fetch_inside.h"
#include "net/retry_after.h"

enum { LONGEST_WAIT_US = 30000000, FIRST_BACKOFF_US = 250000, LONGEST_BACKOFF_US = 20000000 };

struct pacing_host *fetch_pace_row(struct exchange *x) {
    char key[340];
    snprintf(key, sizeof key, "%.*s:%d", (int)(x->url.host.len < 300 ? x->url.host.len : 300), x->url.host.ptr,
             url_effective_port(&x->url));
    return pacing_find(x->f->pacing, span_of(key));
}

/* ---- request headers */

/* A header name and value that cannot break out of their line. */
static bool header_is_sound(const char *name, const char *value) {
    if (!*name || strpbrk(name, " \t\r\n:()<>@,;\\\"/[]?={}"))
        return false;
    return !strpbrk(value, "\r\n");
}

struct headers {
    struct transfer_header *item;
    size_t count;
};

static void add(struct headers *h, struct json_writer *w, const char *name, const char *value, bool secret) {
    h->item[h->count++] = (struct transfer_header){name, value};
    fetch_add_header(w, name, secret ? "***" : value);
}

/* Where a value names a secret ("secret:KEY", "Bearer secret:KEY"); NULL: nowhere. */
static const char *secret_mark(const char *value) {
    const char *mark = strstr(value, "secret:");
    return mark && (mark == value || mark[-1] == ' ') ? mark : NULL;
}

/* "Basic USER:" before a secret: both go encoded, as a name and a password do. RFC 7617 */
static const char *basic(struct exchange *x, const char *user_and_password) {
    AUTO_BUF struct buf text = BUF_INIT;
    buf_lit(&text, "Basic ");
    hash_base64(&text, user_and_password, strlen(user_and_password));
    const char *kept = arena_text(x->arena, text.data, text.len);
    explicit_bzero(text.data, text.len);
    return kept;
}

/* One header that the collector gave, its secret put in. */
static int add_given(struct exchange *x, const struct tl_header *given, struct tl_span origin, struct headers *h,
                     struct json_writer *w) {
    const char *value = given->value ? given->value : "";
    const char *mark = given->secret ? NULL : secret_mark(value);
    const struct tl_secret *handle = given->secret;
    if (!given->name || !header_is_sound(given->name, value))
        return TL_OK;
    if (!handle && !mark) {
        add(h, w, given->name, value, credential_header(span_of(given->name)));
        return TL_OK;
    }
    if (mark && x->env->secret_named)
        handle = x->env->secret_named(x->env->ctx, mark + strlen("secret:"));
    const char *secret = handle && x->env->secret ? x->env->secret(x->env->ctx, handle, origin) : NULL;
    if (!secret || !header_is_sound(given->name, secret))
        return TL_OK; /* there is none, or it is not for this origin: its name is not sent either */
    size_t before = mark ? (size_t)(mark - value) : strlen(value), len = before + strlen(secret) + 1;
    char *text = arena_alloc(x->arena, len);
    if (!text)
        return TL_FAILED;
    const char *whole = text;
    snprintf(text, len, "%.*s%s", (int)before, value, secret);
    if (before > 7 && strncasecmp(value, "Basic ", 6) == 0 && value[before - 1] == ':')
        whole = basic(x, whole + 6);
    if (!whole)
        return TL_FAILED;
    add(h, w, given->name, whole, true);
    return TL_OK;
}

/* What the collector configured goes to its first origin only, but for which part it asks for. */
static bool goes_along(const struct exchange *x, const struct tl_header *h) {
    return !x->left_origin ||
           (h->name && strcasecmp(h->name, "range") == 0 && !h->secret && !(h->value && secret_mark(h->value)));
}

static bool gives(const struct exchange *x, const char *name) {
    for (size_t i = 0; i < x->q->header_count; i++)
        if (x->q->headers[i].name && strcasecmp(x->q->headers[i].name, name) == 0 && goes_along(x, &x->q->headers[i]))
            return true;
    return false;
}

/* The headers of this hop, in order. */
static void ask_if(struct exchange *x, struct headers *h, struct json_writer *w, const char *name, const char *value) {
    if (!value || !header_is_sound(name, value))
        return;
    add(h, w, name, value, false);
    x->a->conditional = true;
}

static void add_cookies_of(struct exchange *x, struct buf *out) {
    if (x->cookies && !gives(x, "cookie")) /* who gives them by hand means those */
        cookies_header(x->cookies, &x->url, time_now_us(), out);
}

/* Who sets a cookie and sends us back to where we were is asked something new. */
void fetch_add_hop(struct exchange *x, struct buf *out) {
    buf_printf(out, "%s %s ", x->method, x->href.data);
    add_cookies_of(x, out);
    buf_char(out, '\n');
}

static int add_cookies(struct exchange *x, struct headers *h, struct json_writer *w) {
    AUTO_BUF struct buf line = BUF_INIT;
    add_cookies_of(x, &line);
    const char *kept = line.len ? arena_text(x->arena, line.data, line.len) : NULL;
    if (kept)
        add(h, w, "Cookie", kept, true);
    return line.len && !kept ? TL_FAILED : TL_OK;
}

static void hear_cookies(struct exchange *x) {
    int64_t now = time_now_us();
    int lines = 0;
    for (size_t i = 0; x->cookies && i < x->a->header_count && lines < COOKIES_PER_ANSWER; i++) {
        if (strcasecmp(x->a->header[i].name, "set-cookie") != 0)
            continue;
        const struct cookie *news = cookies_hear(x->cookies, &x->url, span_of(x->a->header[i].value), now);
        if (news && x->env->cookie_heard)
            x->env->cookie_heard(x->env->ctx, news);
        lines++;
    }
}

static int build_headers(struct exchange *x, struct headers *h) {
    enum { MOST = 1000 };
    AUTO_BUF struct buf origin = BUF_INIT;
    size_t given = x->q->header_count < MOST ? x->q->header_count : MOST;
    struct json_writer w = JSON_WRITER(&x->sent);
    int rc = TL_OK;
    *h = (struct headers){arena_alloc(x->arena, (given + 6) * sizeof *h->item), 0};
    if (!h->item)
        return TL_FAILED;
    url_origin(&origin, &x->url);
    buf_reset(&x->sent);
    x->a->conditional = false;
    json_array_begin(&w);
    fetch_add_header(&w, "Host", x->host_port);
    fetch_add_header(&w, "User-Agent", x->f->user_agent);
    for (size_t i = 0; i < given && !rc; i++)
        if (goes_along(x, &x->q->headers[i]))
            rc = add_given(x, &x->q->headers[i], buf_span(&origin), h, &w);
    if (!gives(x, "accept"))
        add(h, &w, "Accept", "*/*", false);
    if (!gives(x, "accept-encoding")) /* a part of a compressed body cannot be decoded */
        add(h, &w, "Accept-Encoding", gives(x, "range") ? "identity" : DECODE_ACCEPT, false);
    if (x->visited.len == 0) {
        ask_if(x, h, &w, "If-None-Match", x->env->etag);
        ask_if(x, h, &w, "If-Modified-Since", x->env->last_modified);
    }
    if (x->f->from)
        add(h, &w, "From", x->f->from, false);
    if (!rc)
        rc = add_cookies(x, h, &w);
    json_array_end(&w);
    return rc;
}

/* ---- asking once */

static enum pacing_verdict verdict_of(const struct transfer_result *r, bool first_try, bool own_waits) {
    if (own_waits && (r->status == 429 || r->status == 503))
        return PACING_NEUTRAL; /* who waits by itself may have other ways to ask the same host */
    if (r->status == 429 ||
        (r->status == 503 && first_try)) /* a page that is always 503 does not speak for its host each time */
        return PACING_PUSHED_BACK;
    return r->error == TRANSFER_OK && r->status < 500 ? PACING_GOOD : PACING_NEUTRAL;
}

static int put_back(struct exchange *x, int64_t wait, const char *why) {
    x->a->outcome = FETCH_LATER;
    x->a->not_before_us = time_now_us() + wait;
    x->a->reason = "retry_after";
    snprintf(x->a->text, sizeof x->a->text, "%s", why);
    return TL_RETRY;
}

/* Waits for the host's turn, asks, gives the turn back. */
static int ask_once(struct exchange *x, struct transfer_request *t, bool first_try, struct transfer_result *r) {
    struct pacing_host *row = fetch_pace_row(x);
    const struct pacing_rule rule = host_rule_pacing(x->rule);
    int64_t wait, now = time_mono_us();
    int rc;
    while ((wait = pacing_start(row, x->f->worker, &rule, now)) > 0) {
        int64_t held = pacing_held(row, now);
        if (held > LONGEST_WAIT_US)
            return put_back(x, held, "the host is to be left alone until later");
        bool started = !x->env->first || x->a->requests > 0 || x->asked_robots; /* it would be asked for again */
        if (wait > LONGEST_WAIT_US && !started)
            return put_back(x, wait, "the pace of the host is slower than one request in 30 seconds");
        if ((rc = x->env->sleep(x->env->ctx, wait)))
            return rc;
        now = time_mono_us();
    }
    transfer_result_free(r);
    memset(r, 0, sizeof *r);
    t->timeout_us = fetch_timeout_us(x);
    t->rule = x->rule;
    t->private_allowed = x->f->policy.private_allowed;
    t->host_named = x->env->host_named(x->env->ctx, x->url.host) && !pacing_was_public(x->f->pacing, x->url.host);
    rc = x->env->exchange(x->env->ctx, t, r);
    if (r->address[0] && !r->private_address && !x->rule->proxy)
        pacing_saw_public(x->f->pacing, x->url.host);
    const struct pacing_seen seen = {rc || r->status == 0 ? -1 : r->total_us, r->first_byte_us, r->private_address,
                                     verdict_of(r, first_try, x->q->flags & TL_OWN_WAITS)};
    pacing_end(row, x->f->worker, &rule, &seen, time_mono_us());
    x->a->wire_bytes += r->wire_bytes;
    x->a->requests++;
    return rc;
}

/* ---- asking again */

/* Doubles with each try; between 75 % and 125 % of it, so that a crowd does not come back at once. */
static int64_t backoff(struct fetcher *f, int64_t tries) {
    int64_t us = FIRST_BACKOFF_US;
    while (tries-- > 0 && us < LONGEST_BACKOFF_US)
        us *= 2;
    f->jitter = f->jitter * 6364136223846793005u + 1442695040888963407u;
    return us * 3 / 4 + (int64_t)((f->jitter >> 33) % (uint64_t)(us / 2 + 1));
}

static bool may_repeat(const char *method) {
    static const char *const names[] = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(method, names[i]) == 0)
            return true;
    return false;
}

static bool pushes_back(const struct transfer_result *r) {
    return r->error == TRANSFER_OK && (r->status == 429 || r->status == 503);
}

static bool worth_another_try(const struct transfer_result *r, const char *method) {
    switch (r->error) {
    case TRANSFER_OK:
        return pushes_back(r) || ((r->status == 500 || r->status == 502 || r->status == 504) && may_repeat(method));
    case TRANSFER_RESOLVE:
    case TRANSFER_CONNECT:
    case TRANSFER_PROXY:
        return true;
    case TRANSFER_TIMEOUT:
    case TRANSFER_CUT:
        return may_repeat(method);
    default:
        return false;
    }
}

/* What the server asks for, in microseconds; -1: nothing that can be understood. */
static int64_t asked_wait(const struct fetch_answer *a) {
    const char *value = pushes_back(&a->result) ? fetch_header(a, "retry-after") : NULL;
    int64_t seconds;
    return value && retry_after_parse(span_of(value), time_now_us(), &seconds) == TL_OK ? time_seconds_us(seconds) : -1;
}

static int later(struct exchange *x, int64_t wait) {
    char why[100];
    snprintf(why, sizeof why, "the server answered %d and asked to come back later", x->a->result.status);
    return put_back(x, wait, why);
}

/* The server has asked to wait so often that this run would hold up others: a failed attempt, and the next will be
 * slower. */
static int worn_out(struct exchange *x) {
    int rc = later(x, 0);
    x->a->not_before_us = 0;
    return rc;
}

/* After a push-back: how long to wait, or put back. since_us: when the server pushed back first. */
static int push_back_wait(struct exchange *x, int64_t asked, int64_t since_us, int64_t now) {
    struct pacing_host *row = fetch_pace_row(x);
    if (asked > 0)
        pacing_hold(row, now + asked);
    int64_t pause = pacing_pause(row, now);
    if (asked > LONGEST_WAIT_US)
        return later(x, asked);
    return now - since_us + pause > LONGEST_WAIT_US ? worn_out(x) : TL_OK;
}

static int ask(struct exchange *x, struct transfer_request *t, struct transfer_result *r) {
    int64_t tries = 0, since = 0;
    bool first = true, revived = false;
    for (;; first = false) {
        if (t->attach_fd >= 0 &&
            (ftruncate(t->attach_fd, t->attach_base) || lseek(t->attach_fd, t->attach_base, SEEK_SET) < 0))
            return TL_FAILED;
        int rc = ask_once(x, t, first, r);
        if (rc || (rc = fetch_split_headers(x)))
            return rc;
        hear_cookies(x);
        if (r->error == TRANSFER_CUT && r->dead && !revived && may_repeat(t->method)) {
            t->fresh = revived = true; /* it ended as it was used again: nobody's fault, and no try */
            continue;
        }
        if ((x->q->flags & TL_OWN_WAITS) && pushes_back(r) && (r->status == 429 || fetch_header(x->a, "retry-after")))
            return TL_OK;
        int64_t asked = asked_wait(x->a);
        if (asked <= 0 && (!worth_another_try(r, t->method) || tries >= x->rule->retries))
            return TL_OK;
        if (pushes_back(r)) {
            int64_t now = time_mono_us();
            since = since ? since : now;
            if ((rc = push_back_wait(x, asked, since, now)))
                return rc;
        }
        if ((rc = x->env->sleep(x->env->ctx, asked > 0 ? asked : backoff(x->f, tries++))))
            return rc;
    }
}

int fetch_ask(struct exchange *x) {
    struct headers h;
    int rc = build_headers(x, &h);
    buf_reset(&x->hop);
    fetch_add_hop(x, &x->hop);
    AUTO_BUF struct buf url = BUF_INIT, form = BUF_INIT;
    rc = rc ? rc : fetch_wire(x, &url, &form);
    struct transfer_request t = {.method = x->method,
                                 .url = url.len ? url.data : x->href.data,
                                 .header = h.item,
                                 .header_count = h.count,
                                 .body = form.len ? buf_span(&form) : x->body,
                                 .max_bytes = fetch_max_bytes(x),
                                 .attach_base = x->attach_base,
                                 .attach_fd = x->attach_fd};
    rc = rc ? rc : ask(x, &t, &x->a->result);
    if (url.len)
        explicit_bzero(url.data, url.len);
    if (form.len)
        explicit_bzero(form.data, form.len);
    return rc;
}

int fetch_ask_plainly(struct exchange *x, int64_t max_bytes) {
    struct transfer_header h[] = {
        {"Accept", "text/plain, */*;q=0.1"}, {"Accept-Encoding", DECODE_ACCEPT}, {"From", x->f->from}};
    struct transfer_request t = {.method = "GET",
                                 .url = x->href.data,
                                 .header = h,
                                 .header_count = x->f->from ? 3 : 2,
                                 .max_bytes = max_bytes,
                                 .attach_fd = -1};
    return ask(x, &t, &x->a->result);
}
