/* fetch.c - see fetch.h. */
#include "net/fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "base/times.h"
#include "net/fetch_robots.h"
#include "net/url.h"

enum { LONGEST_WAIT_US = 30000000, HEADERS_MOST = 1000, FIRST_BACKOFF_US = 250000, LONGEST_BACKOFF_US = 20000000 };

struct fetcher {
    struct fetch_policy policy;
    struct pacing *pacing;
    int worker;
    char *user_agent, *from;
    struct fetch_robots *robots;
    uint64_t jitter;
};

/* One fetch under way: the request as it stands at this hop. */
struct exchange {
    struct fetcher *f;
    const struct fetch_env *env;
    const struct tl_request *q;
    struct arena *arena;
    struct fetch_answer *a;
    struct buf href;
    struct url url;
    char host_port[300];
    const char *method, *first_origin;
    struct tl_span body;
    int64_t timeout_us, max_bytes;
    int attach_fd;
    struct json_writer chain;
    struct buf chain_text;
    struct buf sent; /* request headers of the last hop as JSON */
};

struct fetcher *fetch_new(const struct fetch_policy *policy, struct pacing *pacing, int worker) {
    struct fetcher *f = mem_alloc(sizeof *f);
    f->policy = *policy;
    f->pacing = pacing;
    f->worker = worker;
    f->policy.user_agent = f->user_agent = mem_text(policy->user_agent);
    f->policy.from = f->from = mem_text(policy->from);
    f->robots = fetch_robots_new(f->user_agent);
    f->jitter = (uint64_t)time_mono_us() * 2654435761u + (uint64_t)worker;
    return f;
}

void fetch_free(struct fetcher *f) {
    if (!f)
        return;
    fetch_robots_free(f->robots);
    free(f->user_agent);
    free(f->from);
    free(f);
}

void fetch_answer_free(struct fetch_answer *a) {
    transfer_result_free(&a->result);
}

/* Doubles with each try; between 75 % and 125 % of it, so that a crowd does not come back at once. */
static int64_t backoff(struct fetcher *f, int64_t tries) {
    int64_t us = FIRST_BACKOFF_US;
    while (tries-- > 0 && us < LONGEST_BACKOFF_US)
        us *= 2;
    f->jitter = f->jitter * 6364136223846793005u + 1442695040888963407u;
    return us * 3 / 4 + (int64_t)((f->jitter >> 33) % (uint64_t)(us / 2 + 1));
}

static int refuse(struct exchange *x, const char *by, const char *sentence, const char *what) {
    x->a->outcome = FETCH_REFUSED;
    x->a->refusal = by;
    snprintf(x->a->text, sizeof x->a->text, "%s %s", sentence, what);
    return TL_REFUSED;
}

static int refuse_private(struct exchange *x) {
    return refuse(x, "guard", "the crawl does not name this host, and its address is private:", x->host_port);
}

/* ---- headers */

static const char *header_value(const struct fetch_answer *a, const char *name) {
    for (size_t i = 0; i < a->header_count; i++)
        if (strcasecmp(a->header[i].name, name) == 0)
            return a->header[i].value;
    return NULL;
}

static int split_headers(struct exchange *x) {
    struct fetch_answer *a = x->a;
    const struct buf *lines = &a->result.headers;
    size_t most = 0;
    for (size_t i = 0; i < lines->len && most < HEADERS_MOST; i++)
        most += lines->data[i] == '\n';
    a->header = arena_alloc(x->arena, (most + 1) * sizeof *a->header);
    a->header_count = 0;
    if (!a->header)
        return TL_FAILED;
    const char *at = lines->data, *end = lines->data + lines->len;
    while (at < end && a->header_count < most) {
        const char *stop = memchr(at, '\n', (size_t)(end - at)), *colon = memchr(at, ':', (size_t)((stop ? stop : end) - at));
        if (!stop)
            break;
        if (colon && colon > at) {
            const char *value = colon + 1, *last = stop;
            while (value < last && (*value == ' ' || *value == '\t'))
                value++;
            while (last > value && (last[-1] == ' ' || last[-1] == '\t'))
                last--;
            struct tl_header *h = &a->header[a->header_count];
            h->name = arena_text(x->arena, at, (size_t)(colon - at));
            h->value = arena_text(x->arena, value, (size_t)(last - value));
            h->secret = NULL;
            if (!h->name || !h->value)
                return TL_FAILED;
            a->header_count++;
        }
        at = stop + 1;
    }
    return TL_OK;
}

static void read_content_type(struct exchange *x) {
    const char *value = header_value(x->a, "content-type");
    if (!value)
        return;
    size_t len = strcspn(value, ";, \t");
    char *type = arena_text(x->arena, value, len);
    for (char *c = type; c && *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c + 32);
    x->a->media_type = type && *type ? type : NULL;
    x->a->charset_given = arena_text(x->arena, value, strlen(value)); /* the whole value: charset.h reads it */
}

static bool is_secret_header(const char *name) {
    static const char *const names[] = {"authorization", "cookie", "proxy-authorization", "x-api-key"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

/* A header name and value that cannot break out of their line. */
static bool header_is_sound(const char *name, const char *value) {
    if (!*name || strpbrk(name, " \t\r\n:()<>@,;\\\"/[]?={}"))
        return false;
    return !strpbrk(value, "\r\n");
}

static void add_sent(struct json_writer *w, const char *name, const char *value) {
    json_array_begin(w);
    json_put_text(w, name);
    json_put_text(w, value);
    json_array_end(w);
}

/* The headers of this hop, in order; what the collector configured goes to its first origin only. */
static int build_headers(struct exchange *x, struct transfer_header **out, size_t *count) {
    size_t room = x->q->header_count + 4;
    struct transfer_header *h = arena_alloc(x->arena, room * sizeof *h);
    AUTO_BUF struct buf origin = BUF_INIT;
    if (!h)
        return TL_FAILED;
    *out = h;
    *count = 0;
    buf_reset(&x->sent);
    struct json_writer w = JSON_WRITER(&x->sent);
    json_array_begin(&w);
    add_sent(&w, "Host", x->host_port);
    add_sent(&w, "User-Agent", x->f->user_agent);
    bool has_accept = false;
    url_origin(&origin, &x->url);
    bool own = strcmp(origin.data, x->first_origin) == 0;
    for (size_t i = 0; i < x->q->header_count && i < HEADERS_MOST; i++) {
        const struct tl_header *given = &x->q->headers[i];
        const char *value = given->value ? given->value : "";
        if (!own || !given->name || !header_is_sound(given->name, value))
            continue; /* configured headers are dropped on a change of origin */
        if (given->secret) {
            const char *secret = x->env->secret ? x->env->secret(x->env->ctx, given->secret, buf_span(&origin)) : NULL;
            if (!secret)
                continue;
            size_t len = strlen(value) + strlen(secret) + 1;
            char *whole = arena_alloc(x->arena, len);
            if (!whole)
                return TL_FAILED;
            snprintf(whole, len, "%s%s", value, secret);
            h[*count] = (struct transfer_header){given->name, whole};
            add_sent(&w, given->name, "***");
        } else {
            h[*count] = (struct transfer_header){given->name, value};
            add_sent(&w, given->name, is_secret_header(given->name) ? "***" : value);
        }
        has_accept = has_accept || strcasecmp(given->name, "accept") == 0;
        (*count)++;
    }
    if (!has_accept) {
        h[(*count)++] = (struct transfer_header){"Accept", "*/*"};
        add_sent(&w, "Accept", "*/*");
    }
    add_sent(&w, "Accept-Encoding", "deflate, gzip, br, zstd");
    if (x->f->from) {
        h[(*count)++] = (struct transfer_header){"From", x->f->from};
        add_sent(&w, "From", x->f->from);
    }
    json_array_end(&w);
    return TL_OK;
}

/* ---- one hop */

static struct pacing_host *pace_row(struct exchange *x) {
    char key[340];
    snprintf(key, sizeof key, "%.*s:%d", (int)(x->url.host.len < 300 ? x->url.host.len : 300), x->url.host.ptr, url_effective_port(&x->url));
    return pacing_find(x->f->pacing, span_of(key));
}

/* Waits for the host's turn, asks once, gives the turn back. */
static int ask_once(struct exchange *x, const char *url, const char *method, struct transfer_header *headers, size_t count,
                    int64_t max_bytes, int attach_fd, struct transfer_result *r) {
    struct pacing_host *row = pace_row(x);
    int64_t wait;
    int rc;
    while ((wait = pacing_start(row, x->f->worker, &x->f->policy.pacing, time_mono_us())) > 0) {
        if (wait > 2 * (int64_t)LONGEST_WAIT_US) {
            x->a->outcome = FETCH_LATER;
            x->a->not_before_us = time_now_us() + wait;
            return TL_RETRY;
        }
        if ((rc = x->env->sleep(x->env->ctx, wait)))
            return rc;
    }
    transfer_result_free(r);
    memset(r, 0, sizeof *r);
    struct transfer_request t = {.method = method, .url = url, .header = headers, .header_count = count, .body = x->body,
                                 .timeout_us = x->timeout_us, .max_bytes = max_bytes, .attach_fd = attach_fd,
                                 .private_allowed = x->f->policy.private_allowed};
    t.host_named = x->env->host_named(x->env->ctx, x->url.host);
    rc = x->env->exchange(x->env->ctx, &t, r);
    pacing_end(row, x->f->worker, rc || r->status == 0 ? -1 : r->total_us, r->private_address);
    x->a->wire_bytes += r->wire_bytes;
    x->a->requests++;
    return rc;
}

static bool worth_another_try(const struct transfer_result *r) {
    switch (r->error) {
    case TRANSFER_OK:
        return r->status == 429 || r->status == 500 || r->status == 502 || r->status == 503 || r->status == 504;
    case TRANSFER_RESOLVE:
    case TRANSFER_CONNECT:
    case TRANSFER_TIMEOUT:
    case TRANSFER_CUT:
        return true;
    default:
        return false;
    }
}

/* Seconds of a Retry-After header, in microseconds; 0: none, or not understood. */
static int64_t retry_after(const struct fetch_answer *a) {
    const char *value = header_value(a, "retry-after");
    int64_t seconds = 0;
    if (!value || (a->result.status != 429 && a->result.status != 503))
        return 0;
    for (; *value >= '0' && *value <= '9' && seconds < 86400; value++)
        seconds = seconds * 10 + (*value - '0');
    return *value ? 0 : time_seconds_us(seconds < 86400 ? seconds : 86400);
}

static int later(struct exchange *x, int64_t wait) {
    pacing_hold(pace_row(x), time_mono_us() + wait);
    x->a->outcome = FETCH_LATER;
    x->a->not_before_us = time_now_us() + wait;
    x->a->reason = "retry_after";
    snprintf(x->a->text, sizeof x->a->text, "the server answered %d and asked to come back later", x->a->result.status);
    return TL_RETRY;
}

static int ask(struct exchange *x) {
    struct transfer_header *headers;
    size_t count;
    struct fetch_answer *a = x->a;
    int rc = build_headers(x, &headers, &count);
    for (int64_t tries = 0; !rc; tries++) {
        if (x->attach_fd >= 0 && (ftruncate(x->attach_fd, 0) || lseek(x->attach_fd, 0, SEEK_SET) < 0))
            return TL_FAILED;
        rc = ask_once(x, x->href.data, x->method, headers, count, x->max_bytes, x->attach_fd, &a->result);
        if (rc || (rc = split_headers(x)))
            break;
        int64_t wait = retry_after(a);
        if (!worth_another_try(&a->result) || (tries >= x->f->policy.retries && wait <= LONGEST_WAIT_US))
            break;
        if (wait > LONGEST_WAIT_US)
            return later(x, wait);
        if (wait > 0)
            pacing_hold(pace_row(x), time_mono_us() + wait);
        rc = x->env->sleep(x->env->ctx, wait > 0 ? wait : backoff(x->f, tries));
    }
    return rc;
}

/* ---- robots.txt of an origin: fetched through the same exchange, remembered for the crawl */

static int fetch_robots_file(struct exchange *x, struct fetch_robots_entry *entry) {
    AUTO_BUF struct buf href = BUF_INIT, at = BUF_INIT;
    struct url url;
    struct transfer_result r = {0};
    struct transfer_header headers[] = {{"Accept", "text/plain, */*;q=0.1"}};
    struct fetch_answer scratch = {0}, *kept = x->a;
    struct buf kept_href = x->href;
    struct url kept_url = x->url;
    struct tl_span kept_body = x->body;
    int rc = TL_OK;
    x->body = (struct tl_span){"", 0};
    buf_add(&at, x->url.href.ptr, (size_t)(x->url.path.ptr - x->url.href.ptr));
    buf_lit(&at, "/robots.txt");
    for (int hop = 0; hop <= 5; hop++) {
        if (url_parse(&href, buf_span(&at), NULL, &url) || !(span_eq(url.scheme, "http") || span_eq(url.scheme, "https")))
            break;
        x->href = href;
        x->url = url;
        for (int64_t tries = 0;; tries++) {
            rc = ask_once(x, href.data, "GET", headers, 1, FETCH_ROBOTS_MAX, -1, &r);
            if (rc || !worth_another_try(&r) || tries >= x->f->policy.retries || (rc = x->env->sleep(x->env->ctx, backoff(x->f, tries))))
                break;
        }
        scratch.result = r;
        x->a = &scratch;
        if (!rc && !split_headers(x) && r.error == TRANSFER_OK && r.status >= 300 && r.status < 400) {
            const char *location = header_value(&scratch, "location");
            AUTO_BUF struct buf next = BUF_INIT;
            struct url target;
            x->a = kept;
            if (!location || url_resolve(&next, &url, span_of(location), false, &target))
                break;
            buf_reset(&at);
            buf_add(&at, next.data, next.len);
            continue;
        }
        x->a = kept;
        break;
    }
    x->a = kept;
    x->href = kept_href;
    x->url = kept_url;
    x->body = kept_body;
    if (!rc)
        fetch_robots_learn(entry, &r);
    transfer_result_free(&r);
    return rc;
}

static int check_robots(struct exchange *x) {
    AUTO_BUF struct buf origin = BUF_INIT;
    int rc;
    url_origin(&origin, &x->url);
    struct fetch_robots_entry *entry = fetch_robots_of(x->f->robots, buf_span(&origin));
    for (;;) {
        enum fetch_robots_state state = fetch_robots_state(entry, time_mono_us());
        if (state == FETCH_ROBOTS_KNOWN)
            break;
        if (state == FETCH_ROBOTS_UNDER_WAY) { /* another run of this worker asks for it */
            if ((rc = x->env->sleep(x->env->ctx, 2000)))
                return rc;
            continue;
        }
        fetch_robots_begin(entry);
        if ((rc = fetch_robots_file(x, entry))) {
            fetch_robots_give_up(entry);
            return rc;
        }
        if (fetch_robots_delay_us(entry) >= 0)
            pacing_crawl_delay(pace_row(x), fetch_robots_delay_us(entry));
    }
    const char *why;
    switch (fetch_robots_verdict(entry, &x->url, &why)) {
    case FETCH_ROBOTS_ALLOWED:
        return TL_OK;
    case FETCH_ROBOTS_GUARDED:
        return refuse_private(x);
    case FETCH_ROBOTS_FORBIDDEN:
        return refuse(x, "robots", "robots.txt forbids", x->href.data);
    default:
        x->a->outcome = FETCH_FAILED;
        x->a->reason = "robots_unreachable";
        snprintf(x->a->text, sizeof x->a->text, "robots.txt of %s cannot be had: %s", origin.data, why);
        return TL_FAILED;
    }
}

static int check_hop(struct exchange *x, bool redirected) {
    if (!(span_eq(x->url.scheme, "http") || span_eq(x->url.scheme, "https")))
        return refuse(x, "scheme", "only http and https are fetched, not", x->href.data);
    if (!x->env->host_allowed(x->env->ctx, x->url.host, url_effective_port(&x->url), redirected))
        return refuse(x, "hosts", "the leash does not let the crawl go to", x->href.data);
    snprintf(x->host_port, sizeof x->host_port, x->url.port < 0 ? "%.*s" : "%.*s:%d", (int)(x->url.host.len < 260 ? x->url.host.len : 260),
             x->url.host.ptr, x->url.port);
    return x->q->kind == TL_PAGE_REQUEST && x->f->policy.robots ? check_robots(x) : TL_OK;
}

/* ---- redirects */

static bool is_redirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* TL_OK: go on with the new URL; TL_NOTFOUND: this was the last hop. */
static int follow(struct exchange *x, int64_t hops) {
    struct fetch_answer *a = x->a;
    const char *location = header_value(a, "location");
    if (a->result.error != TRANSFER_OK || !is_redirect(a->result.status) || !location)
        return TL_NOTFOUND;
    json_object_begin(&x->chain);
    json_member_string(&x->chain, "url", x->href.data);
    json_member_int(&x->chain, "status", a->result.status);
    json_member_string(&x->chain, "location", location);
    json_object_end(&x->chain);
    struct buf next = BUF_INIT;
    struct url target;
    if (hops >= x->f->policy.max_redirects) {
        a->outcome = FETCH_FAILED;
        a->reason = "redirects";
        snprintf(a->text, sizeof a->text, "more than %d redirects, the last to %.200s", (int)x->f->policy.max_redirects, location);
        return TL_FAILED;
    }
    if (url_resolve(&next, &x->url, span_of(location), false, &target)) {
        a->outcome = FETCH_FAILED;
        a->reason = "redirects";
        snprintf(a->text, sizeof a->text, "redirected to what is no URL: %.200s", location);
        buf_free(&next);
        return TL_FAILED;
    }
    if (a->result.status == 303 || ((a->result.status == 301 || a->result.status == 302) && strcmp(x->method, "POST") == 0)) {
        x->method = strcmp(x->method, "HEAD") == 0 ? "HEAD" : "GET";
        x->body = (struct tl_span){"", 0};
    }
    buf_free(&x->href);
    x->href = next;
    x->url = target;
    return TL_OK;
}

/* ---- metadata.http */

static void add_headers(struct json_writer *w, const struct fetch_answer *a) {
    json_put_key(w, "response_headers");
    json_array_begin(w);
    for (size_t i = 0; i < a->header_count; i++)
        add_sent(w, a->header[i].name, strcasecmp(a->header[i].name, "set-cookie") == 0 ? "***" : a->header[i].value);
    json_array_end(w);
}

static int write_metadata(struct exchange *x, const char *requested) {
    struct fetch_answer *a = x->a;
    const struct transfer_result *r = &a->result;
    static const char *const classes[] = {"page", "api", "feed"};
    AUTO_BUF struct buf out = BUF_INIT;
    struct json_writer w = JSON_WRITER(&out);
    json_object_begin(&w);
    json_member_string(&w, "method", x->method);
    json_member_string(&w, "requested_url", requested);
    json_member_string(&w, "final_url", a->url);
    json_put_key(&w, "chain");
    json_put_raw(&w, buf_span(&x->chain_text));
    json_put_key(&w, "status");
    r->status ? json_put_int(&w, r->status) : json_put_null(&w);
    json_member_string(&w, "version", r->version);
    json_member_string(&w, "class", classes[x->q->kind <= TL_FEED_REQUEST ? x->q->kind : 0]);
    json_member_int(&w, "requests", a->requests);
    json_put_key(&w, "request_headers");
    json_put_raw(&w, x->sent.len ? buf_span(&x->sent) : span_of("[]"));
    add_headers(&w, a);
    json_member_string(&w, "remote_address", r->address[0] ? r->address : NULL);
    json_member_string(&w, "tls", r->tls[0] ? r->tls : NULL);
    json_member_int(&w, "wire_bytes", r->wire_bytes);
    if (r->truncated)
        json_member_bool(&w, "truncated", true);
    json_put_key(&w, "timings_us");
    json_object_begin(&w);
    json_member_int(&w, "dns", r->dns_us);
    json_member_int(&w, "connect", r->connect_us);
    json_member_int(&w, "tls", r->tls_us);
    json_member_int(&w, "first_byte", r->first_byte_us);
    json_member_int(&w, "total", r->total_us);
    json_object_end(&w);
    json_member_string(&w, "etag", header_value(a, "etag"));
    json_member_string(&w, "last_modified", header_value(a, "last-modified"));
    json_object_end(&w);
    char *copy = arena_text(x->arena, out.data, out.len);
    a->metadata = (struct tl_span){copy, copy ? out.len : 0};
    return copy ? TL_OK : TL_FAILED;
}

static void judge(struct exchange *x) {
    struct fetch_answer *a = x->a;
    const struct transfer_result *r = &a->result;
    if (r->error == TRANSFER_OK) {
        a->outcome = FETCH_ANSWER;
    } else if (r->error == TRANSFER_GUARD) {
        refuse_private(x);
    } else {
        a->outcome = FETCH_FAILED;
        a->reason = transfer_error_name[r->error];
        snprintf(a->text, sizeof a->text, "%.120s: %s", x->href.data, r->text);
    }
}

static int walk(struct exchange *x) {
    int rc;
    for (int64_t hops = 0;; hops++) {
        if ((rc = check_hop(x, hops > 0)) || (rc = ask(x)))
            return rc;
        if ((rc = follow(x, hops)) == TL_NOTFOUND)
            return TL_OK;
        if (rc)
            return rc;
    }
}

int fetch_get(struct fetcher *f, const struct fetch_env *env, const struct tl_request *q, int attach_fd, struct arena *arena, struct fetch_answer *a) {
    struct exchange x = {.f = f, .env = env, .q = q, .arena = arena, .a = a, .method = q->method ? q->method : "GET", .body = q->body, .attach_fd = attach_fd};
    AUTO_BUF struct buf origin = BUF_INIT;
    memset(a, 0, sizeof *a);
    x.timeout_us = q->timeout_ms > 0 && q->timeout_ms < f->policy.timeout_us / 1000 ? q->timeout_ms * 1000 : f->policy.timeout_us;
    x.max_bytes = q->max_bytes > 0 && q->max_bytes < f->policy.max_body ? q->max_bytes : f->policy.max_body;
    x.chain = (struct json_writer)JSON_WRITER(&x.chain_text);
    json_array_begin(&x.chain);
    int rc = url_parse(&x.href, span_of(q->url), NULL, &x.url);
    if (rc) {
        a->outcome = FETCH_FAILED;
        a->reason = "url";
        snprintf(a->text, sizeof a->text, "this is no URL: %.200s", q->url ? q->url : "");
    } else {
        if (x.url.has_fragment) /* never sent, and no part of what was fetched */
            rc = url_resolve(&x.href, NULL, span_of(q->url), false, &x.url);
        char *requested = arena_text(arena, x.href.data, x.href.len);
        url_origin(&origin, &x.url);
        x.first_origin = origin.data ? origin.data : "";
        rc = rc || !requested ? TL_FAILED : walk(&x);
        if (!rc) {
            judge(&x);
            read_content_type(&x);
        } else if (rc == TL_CANCEL) {
            a->outcome = FETCH_CANCELLED;
        } else if (a->outcome == FETCH_ANSWER) { /* memory or a file of ours */
            a->outcome = FETCH_FAILED;
            a->reason = "memory";
            snprintf(a->text, sizeof a->text, "the run's memory is used up");
        }
        a->url = arena_text(arena, x.href.data, x.href.len);
        json_array_end(&x.chain);
        if (rc != TL_CANCEL && (write_metadata(&x, requested ? requested : "") || !a->url))
            a->outcome = FETCH_FAILED;
    }
    buf_free(&x.href);
    buf_free(&x.chain_text);
    buf_free(&x.sent);
    return rc == TL_CANCEL ? TL_CANCEL : TL_OK;
}
