/* fetch.c - see fetch.h. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/times.h"
#include "net/fetch_inside.h"
#include "net/fetch_robots.h"
#include "net/guard.h"
#include "net/robots_tag.h"

struct fetcher *fetch_new(const struct fetch_policy *policy, struct pacing *pacing, int worker) {
    struct fetcher *f = mem_alloc(sizeof *f);
    f->policy = *policy;
    f->pacing = pacing;
    f->worker = worker;
    f->policy.user_agent = f->user_agent = mem_text(policy->user_agent);
    f->policy.from = f->from = mem_text(policy->from);
    struct buf agent = BUF_INIT;
    robots_tag_agent(&agent, f->user_agent);
    f->agent = buf_steal(&agent);
    f->robots = fetch_robots_new(f->agent);
    f->jitter = (uint64_t)time_mono_us() * 2654435761u + (uint64_t)worker;
    return f;
}

void fetch_free(struct fetcher *f) {
    if (!f)
        return;
    fetch_robots_free(f->robots);
    free(f->user_agent);
    free(f->from);
    free(f->agent);
    free(f);
}

void fetch_answer_free(struct fetch_answer *a) {
    transfer_result_free(&a->result);
}

int64_t fetch_timeout_us(const struct exchange *x) {
    int64_t wish = x->q->timeout_ms;
    return wish > 0 && wish < x->rule->timeout_us / 1000 ? wish * 1000 : x->rule->timeout_us;
}

int64_t fetch_max_bytes(const struct exchange *x) {
    int64_t wish = x->q->max_bytes;
    return wish > 0 && wish < x->rule->max_body ? wish : x->rule->max_body;
}

int fetch_refuse(struct exchange *x, const char *by, const char *sentence, const char *what) {
    x->a->outcome = FETCH_REFUSED;
    x->a->refusal = by;
    snprintf(x->a->text, sizeof x->a->text, "%s %s", sentence, what);
    return TL_REFUSED;
}

static int refuse_private(struct exchange *x) {
    if (pacing_was_public(x->f->pacing, x->url.host))
        return fetch_refuse(x, "guard",
                            "this host had a public address before, and now has a private one:", x->host_port);
    return fetch_refuse(x, "guard", "the crawl does not name this host, and its address is private:", x->host_port);
}

int fetch_fail(struct exchange *x, const char *reason, const char *fmt, ...) {
    va_list ap;
    x->a->outcome = FETCH_FAILED;
    x->a->reason = reason;
    va_start(ap, fmt);
    vsnprintf(x->a->text, sizeof x->a->text, fmt, ap);
    va_end(ap);
    return TL_FAILED;
}

/* ---- robots.txt of an origin: fetched through the same exchange, remembered for the crawl */

/* An address written out is judged before anybody is asked to connect to it; behind a proxy nobody else would. */
static bool is_off_limits(struct exchange *x) {
    enum guard_class c = guard_literal(x->url.host);
    return !guard_allows(c, x->env->host_named(x->env->ctx, x->url.host), x->f->policy.private_allowed);
}

static int fetch_robots_file(struct exchange *x, const char *origin, struct fetch_robots_entry *entry) {
    enum { HOPS = 5 };
    struct exchange own = *x; /* the same run, another request */
    struct fetch_answer a = {0};
    AUTO_BUF struct buf at = BUF_INIT;
    int rc;
    own.a = &a;
    own.cookies = NULL;
    own.href = own.sent = own.chain_text = own.visited = own.hop = (struct buf)BUF_INIT;
    buf_printf(&at, "%s/robots.txt", origin);
    rc = fetch_set_url(&own, buf_span(&at), NULL);
    for (int hop = 0; !rc && !(rc = fetch_ask_plainly(&own, FETCH_ROBOTS_MAX)) && hop < HOPS; hop++) {
        const char *location =
            a.result.error == TRANSFER_OK && fetch_is_redirect(a.result.status) ? fetch_header(&a, "location") : NULL;
        AUTO_BUF struct buf href = BUF_INIT;
        struct url base;
        if (!location || url_parse(&href, buf_span(&own.href), NULL, &base) ||
            fetch_set_url(&own, span_of(location), &base) ||
            !(span_eq(own.url.scheme, "http") || span_eq(own.url.scheme, "https")))
            break;
        if (is_off_limits(&own)) {
            a.result.error = TRANSFER_GUARD;
            break;
        }
    }
    if (!rc) {
        const struct transfer_result *r = &a.result;
        fetch_robots_learn(entry, r);
        if (r->error == TRANSFER_OK && r->status >= 200 && r->status < 500 && r->status != 429 &&
            x->env->robots_learned)
            x->env->robots_learned(x->env->ctx, origin, r->status < 300 ? 1 : 2, buf_span(&r->body));
    }
    x->a->wire_bytes += a.wire_bytes;
    x->asked_robots = true;
    if (rc == TL_RETRY) {
        x->a->outcome = a.outcome;
        x->a->reason = a.reason;
        x->a->not_before_us = a.not_before_us;
        snprintf(x->a->text, sizeof x->a->text, "robots.txt of its host: %.300s", a.text);
    }
    fetch_answer_free(&a);
    buf_free(&own.href);
    buf_free(&own.hop);
    return rc;
}

/* true: an earlier crawl has read it within the day. */
static bool recall_robots(struct exchange *x, const char *origin, struct fetch_robots_entry *entry, int *rc) {
    static const int64_t day_us = 86400000000;
    struct tl_span text = {"", 0};
    int64_t age_us = 0;
    int known = x->env->robots_recall ? x->env->robots_recall(x->env->ctx, origin, &text, &age_us) : 0;
    *rc = known < 0 ? known : TL_OK;
    if (known <= 0 || age_us < 0 || age_us >= day_us)
        return false;
    fetch_robots_remember(entry, known == 1, text, day_us - age_us);
    if (fetch_robots_delay_us(entry) >= 0)
        pacing_crawl_delay(fetch_pace_row(x), fetch_robots_delay_us(entry));
    return true;
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
        if (recall_robots(x, origin.data, entry, &rc))
            continue;
        if (rc || (rc = fetch_robots_file(x, origin.data, entry))) {
            fetch_robots_give_up(entry);
            return rc;
        }
        if (fetch_robots_delay_us(entry) >= 0)
            pacing_crawl_delay(fetch_pace_row(x), fetch_robots_delay_us(entry));
    }
    const char *why;
    switch (fetch_robots_verdict(entry, &x->url, &why)) {
    case FETCH_ROBOTS_ALLOWED:
        return TL_OK;
    case FETCH_ROBOTS_GUARDED:
        return refuse_private(x);
    case FETCH_ROBOTS_UNTRUSTED:
        return fetch_fail(x, "tls", "%.200s: %s", origin.data, why);
    case FETCH_ROBOTS_FORBIDDEN:
        return fetch_refuse(x, "robots", "robots.txt forbids", x->href.data);
    default:
        return fetch_fail(x, "robots_unreachable", "robots.txt of %s cannot be had: %s", origin.data, why);
    }
}

static int check_hop(struct exchange *x, bool redirected) {
    if (!(span_eq(x->url.scheme, "http") || span_eq(x->url.scheme, "https")))
        return fetch_refuse(x, "scheme", "only http and https are fetched, not", x->href.data);
    if (!x->env->host_allowed(x->env->ctx, x->url.host, url_effective_port(&x->url), redirected))
        return fetch_refuse(x, "hosts", "the leash does not let the crawl go to", x->href.data);
    snprintf(x->host_port, sizeof x->host_port, x->url.port < 0 ? "%.*s" : "%.*s:%d",
             (int)(x->url.host.len < 260 ? x->url.host.len : 260), x->url.host.ptr, x->url.port);
    if (is_off_limits(x))
        return refuse_private(x);
    return x->q->kind == TL_PAGE_REQUEST && x->rule->robots ? check_robots(x) : TL_OK;
}

/* ---- the whole */

static void judge(struct exchange *x) {
    struct fetch_answer *a = x->a;
    const struct transfer_result *r = &a->result;
    if (r->error == TRANSFER_OK)
        a->outcome = FETCH_ANSWER;
    else if (r->error == TRANSFER_GUARD)
        refuse_private(x);
    else
        fetch_fail(x, transfer_error_name[r->error], "%.120s: %s", x->href.data, r->text);
}

static int walk(struct exchange *x) {
    int rc;
    for (int64_t hops = 0;; hops++) {
        if ((rc = check_hop(x, hops > 0)) || (rc = fetch_ask(x)))
            return rc;
        fetch_strike(x);
        if ((rc = fetch_follow(x, hops)) == TL_NOTFOUND)
            return TL_OK;
        if (rc)
            return rc;
    }
}

static bool is_method(const char *text) {
    size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-");
    return n > 0 && n <= 32 && text[n] == '\0';
}

static int go(struct exchange *x, const char **requested) {
    AUTO_BUF struct buf origin = BUF_INIT;
    *requested = arena_text(x->arena, x->href.data, x->href.len);
    url_origin(&origin, &x->url);
    x->first_origin = arena_text(x->arena, origin.data ? origin.data : "", origin.len);
    int rc = *requested && x->first_origin ? walk(x) : TL_FAILED;
    if (!rc) {
        judge(x);
        fetch_read_content_type(x);
    } else if (rc == TL_CANCEL) {
        x->a->outcome = FETCH_CANCELLED;
    } else if (x->a->outcome == FETCH_ANSWER) { /* memory or a file of ours */
        fetch_fail(x, "memory", "the run's memory is used up");
    }
    return rc;
}

int fetch_get(struct fetcher *f, const struct fetch_env *env, const struct tl_request *q, int attach_fd,
              struct arena *arena, struct fetch_answer *a) {
    struct exchange x = {.f = f,
                         .env = env,
                         .q = q,
                         .arena = arena,
                         .a = a,
                         .cookies = q->flags & TL_COOKIES ? env->cookies : NULL,
                         .method = q->method ? q->method : "GET",
                         .body = q->body,
                         .attach_fd = attach_fd,
                         .attach_base = attach_fd < 0 ? 0 : lseek(attach_fd, 0, SEEK_END)};
    const char *requested = NULL;
    int rc = TL_OK;
    memset(a, 0, sizeof *a);
    a->agent = f->agent;
    x.chain = (struct json_writer)JSON_WRITER(&x.chain_text);
    json_array_begin(&x.chain);
    if (fetch_set_url(&x, span_of(q->url), NULL)) {
        fetch_fail(&x, "url", "this is no URL: %.200s", q->url ? q->url : "");
    } else if (!is_method(x.method)) {
        fetch_fail(&x, "invalid", "this is no request method: %.40s", x.method);
    } else {
        rc = go(&x, &requested);
        a->url = arena_text(arena, x.href.data, x.href.len);
        a->rule = x.rule;
        json_array_end(&x.chain);
        if (rc != TL_CANCEL && (fetch_write_metadata(&x, requested ? requested : "") || !a->url))
            fetch_fail(&x, "memory", "the run's memory is used up");
    }
    buf_free(&x.href);
    buf_free(&x.chain_text);
    buf_free(&x.visited);
    buf_free(&x.hop);
    buf_free(&x.sent);
    return rc == TL_CANCEL ? TL_CANCEL : TL_OK;
}
