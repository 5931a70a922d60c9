/* worker_services.c - services that wait, on coroutines: each registers what it waits for and goes back to the loop. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/times.h"
#include "engine/worker_inside.h"
#include "net/site.h"
#include "net/url.h"

enum { SHARE_PAUSE_US = 50 * 1000, SHARE_TRIES = 1200 };

static struct job *job_of(struct run *r) {
    return r->ctx;
}

static int wait_us(struct job *j, int64_t us) {
    if (j->cancel)
        return TL_CANCEL;
    j->wake_us = time_mono_us() + us;
    worker_self->asleep++;
    coroutine_wait();
    if (j->wake_us) {
        j->wake_us = 0;
        worker_self->asleep--;
    }
    return j->cancel ? TL_CANCEL : TL_OK;
}

static int service_sleep(struct run *r, int64_t us) {
    return wait_us(job_of(r), us);
}

/* ---- fetching */

static void on_transfer_done(void *ctx) {
    struct job *j = ctx;
    j->transfer_done = true;
    if (!j->ready) {
        j->ready = true;
        worker_self->ready++;
    }
}

static int env_sleep(void *ctx, int64_t us) {
    return wait_us(ctx, us);
}

static int env_exchange(void *ctx, const struct transfer_request *q, struct transfer_result *r) {
    struct job *j = ctx;
    if (j->cancel)
        return TL_CANCEL;
    j->transfer_done = false;
    j->transfer = transfer_start(worker_self->pool, q, r, on_transfer_done, j);
    while (!j->transfer_done && !j->cancel)
        coroutine_wait();
    if (!j->transfer_done)
        transfer_cancel(j->transfer);
    j->transfer = NULL;
    return j->cancel ? TL_CANCEL : TL_OK;
}

static bool in_scope(const struct worker_scope *s, struct tl_span host, int port) {
    bool found = true;
    size_t i = 0;
    while (i < s->pattern_count) { /* every list of the chain must have it */
        found = false;
        for (; s->pattern[i]; i++)
            found = found || url_host_matches(s->pattern[i], host, port);
        i++;
        if (!found)
            return false;
    }
    return true;
}

static bool same_site(struct tl_span host, const char *url) {
    AUTO_BUF struct buf href = BUF_INIT;
    struct url u;
    return url_parse(&href, span_of(url), NULL, &u) == TL_OK && site_same_domain(host, u.host);
}

static bool env_host_allowed(void *ctx, struct tl_span host, int port, bool redirected) {
    struct job *j = ctx;
    if (!j->scope || in_scope(j->scope, host, port))
        return true;
    if (!redirected || !j->line || !j->scope->hosts_auto || !same_site(host, j->document_url))
        return false;
    if (j->learned.len < 4096) {
        buf_add(&j->learned, host.ptr, host.len);
        buf_char(&j->learned, '\0');
    }
    return true;
}

static bool env_host_named(void *ctx, struct tl_span host) {
    struct job *j = ctx;
    for (size_t i = 0; j->scope && i < j->scope->pattern_count; i++) {
        const char *p = j->scope->pattern[i];
        size_t len = p ? strlen(p) : 0;
        const char *colon = p ? strrchr(p, ':') : NULL;
        if (colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1))
            len = (size_t)(colon - p); /* "host:port" names the host, too */
        if (p && !strchr(p, '*') && len == host.len && memcmp(p, host.ptr, len) == 0)
            return true;
    }
    return false;
}

static const struct tl_secret *env_secret_named(void *ctx, const char *name) {
    (void)ctx;
    return worker_secret_find(worker_self, name);
}

/* ---- questions to the supervisor */

static int ask_supervisor(struct job *j) {
    j->awaiting = true;
    j->answered = false;
    buf_reset(&j->answer);
    port_send(&worker_self->port, &worker_self->message);
    while (!j->answered && !j->cancel)
        coroutine_wait();
    j->awaiting = false;
    return j->answered ? TL_OK : TL_CANCEL;
}

/* Asks for what the catalog holds; the value is left in j->answer. */
static int ask(struct job *j, int kind, const char *a, const char *b) {
    if (j->cancel)
        return TL_CANCEL;
    message_start(&worker_self->message, MESSAGE_STATE_GET);
    message_i64(&worker_self->message, j->key);
    message_u8(&worker_self->message, (uint8_t)kind);
    message_text(&worker_self->message, a);
    message_text(&worker_self->message, b);
    int rc = ask_supervisor(j);
    return rc ? rc : j->answer_status;
}

static int service_state_get(struct run *r, const char *key, struct buf *value) {
    struct job *j = job_of(r);
    int rc = ask(j, ASK_STATE, key, NULL);
    if (!rc)
        buf_add(value, j->answer.data, j->answer.len);
    return rc;
}

/* While another run gets it, this one looks again and again; who gets it may be slow, but not for ever. */
static int service_share_get(struct run *r, const char *key, const char *stale, struct buf *value) {
    struct job *j = job_of(r);
    int rc = ask(j, ASK_SHARED, key, stale);
    for (int i = 0; rc == TL_RETRY && i < SHARE_TRIES; i++)
        if ((rc = wait_us(j, SHARE_PAUSE_US)) == TL_OK)
            rc = ask(j, ASK_SHARED, key, stale);
    if (!rc)
        buf_add(value, j->answer.data, j->answer.len);
    return rc == TL_RETRY ? TL_NOTFOUND : rc;
}

static void service_share_put(struct run *r, const char *key, const char *value, int64_t until_us) {
    AUTO_BUF struct buf m = BUF_INIT;
    message_start(&m, MESSAGE_SHARE);
    message_i64(&m, job_of(r)->key);
    message_text(&m, key);
    message_text(&m, value);
    message_i64(&m, until_us);
    port_send(&worker_self->port, &m);
}

static int service_validators(struct run *r, const char *url, const char *credential, struct buf *etag,
                              struct buf *last_modified) {
    struct job *j = job_of(r);
    AUTO_BUF struct buf own = BUF_INIT;
    struct tl_span known = j->conditions;
    if (!j->ask_validators)
        return TL_NOTFOUND;
    if (*credential || url_canonical(&own, span_of(j->document_url)) || strcmp(own.data, url) != 0) {
        int rc = ask(j, ASK_VALIDATORS, url, credential);
        if (rc)
            return rc;
        known = buf_span(&j->answer);
    }
    if (!known.len)
        return TL_NOTFOUND;
    struct message m = {.at = known.ptr, .end = known.ptr + known.len};
    buf_text(etag, message_get_text(&m));
    buf_text(last_modified, message_get_text(&m));
    return m.bad ? TL_FAILED : TL_OK;
}

static const char *answer_text(struct job *j, struct message *m) {
    const char *text = message_get_text(m);
    return text ? arena_text(&j->run->arena, text, strlen(text)) : NULL;
}

static int service_earlier(struct run *r, const char *key, struct tl_document *d) {
    struct job *j = job_of(r);
    int rc = ask(j, ASK_EARLIER, key, NULL);
    if (rc)
        return rc;
    struct message m = {.at = j->answer.data, .end = j->answer.data + j->answer.len};
    const char *path = answer_text(j, &m);
    d->result_id = answer_text(j, &m);
    d->run_id = answer_text(j, &m);
    d->collector = answer_text(j, &m);
    d->url = answer_text(j, &m);
    if (m.bad || !path || !d->result_id)
        return run_fail(r, TL_FAILED, "memory", "the run's memory is used up");
    return worker_read_document(worker_self, j, path, d->result_id, &d->raw);
}

static int service_unseen(struct run *r, const char *siblings, struct tl_list *list) {
    struct job *j = job_of(r);
    int rc = ask(j, ASK_UNSEEN, siblings, NULL);
    if (rc)
        return rc == TL_NOTFOUND ? TL_OK : rc;
    struct message m = {.at = j->answer.data, .end = j->answer.data + j->answer.len};
    uint32_t n = message_get_u32(&m);
    const char **item = arena_alloc(&r->arena, ((size_t)n + 1) * sizeof *item);
    for (uint32_t i = 0; item && i < n && !m.bad; i++)
        if (!(item[i] = answer_text(j, &m)))
            m.bad = true;
    if (!item || m.bad)
        return run_fail(r, TL_FAILED, "memory", "the run's memory is used up");
    *list = (struct tl_list){item, n};
    return TL_OK;
}

static void service_hold(struct run *r, const char *url, int64_t until_us) {
    AUTO_BUF struct buf href = BUF_INIT, row = BUF_INIT;
    struct url u;
    int64_t left = until_us - time_now_us();
    (void)r;
    if (left <= 0 || url_parse(&href, span_of(url), NULL, &u))
        return;
    buf_printf(&row, "%.*s:%d", (int)(u.host.len < 300 ? u.host.len : 300), u.host.ptr, url_effective_port(&u));
    pacing_hold(pacing_find(&worker_self->shared->pacing, buf_span(&row)), time_mono_us() + left);
}

static const char *service_secret(struct run *r, const struct tl_secret *secret) {
    (void)r;
    return ((const struct worker_secret *)(const void *)secret)->value;
}

static int env_robots_recall(void *ctx, const char *origin, struct tl_span *text, int64_t *age_us) {
    struct job *j = ctx;
    int rc = ask(j, ASK_ROBOTS, origin, NULL);
    if (rc)
        return rc == TL_CANCEL ? rc : 0;
    struct message m = {.at = j->answer.data, .end = j->answer.data + j->answer.len};
    int known = message_get_u8(&m);
    *age_us = message_get_i64(&m);
    *text = message_get_span(&m);
    return m.bad ? 0 : known;
}

static void env_robots_learned(void *ctx, const char *origin, int robots, struct tl_span text) {
    enum { TEXT_MOST = 48 * 1024 }; /* one message; a longer one is read again by the next crawl */
    struct job *j = ctx;
    if (text.len > TEXT_MOST || memchr(text.ptr, '\0', text.len))
        return;
    AUTO_BUF struct buf copy = BUF_INIT;
    buf_add(&copy, text.ptr, robots == 1 ? text.len : 0);
    run_fact(j->run, RUN_ROBOTS, origin, robots == 1 ? "1" : "2", copy.data ? copy.data : "", NULL);
}

static void env_moved(void *ctx, const char *from, const char *to) {
    struct job *j = ctx;
    if (strlen(from) < 4000 && strlen(to) < 4000)
        run_fact(j->run, RUN_MOVED, from, to, NULL, NULL);
}

static void env_cookie_heard(void *ctx, const struct cookie *c) {
    AUTO_BUF struct buf m = BUF_INIT;
    (void)ctx;
    message_start(&m, MESSAGE_COOKIE_HEARD);
    message_cookie(&m, c);
    port_send(&worker_self->port, &m);
}

static int service_fetch(struct run *r, const struct tl_request *q, int attach_fd, struct fetch_answer *a) {
    const struct fetch_env env = {.ctx = job_of(r),
                                  .first = r->wire_bytes == 0 && !r->http_status,
                                  .sleep = env_sleep,
                                  .exchange = env_exchange,
                                  .host_allowed = env_host_allowed,
                                  .host_named = env_host_named,
                                  .secret_named = env_secret_named,
                                  .secret = worker_secret_value,
                                  .robots_recall = env_robots_recall,
                                  .robots_learned = env_robots_learned,
                                  .moved = env_moved,
                                  .cookies = worker_self->cookies,
                                  .cookie_heard = env_cookie_heard,
                                  .etag = r->etag,
                                  .last_modified = r->last_modified};
    return fetch_get(worker_self->fetcher, &env, q, attach_fd, &r->arena, a);
}

static int service_sitemaps(struct run *r, const char *url, struct tl_list *into) {
    return fetch_sitemaps(worker_self->fetcher, url, &r->arena, into)
               ? run_fail(r, TL_FAILED, "memory", "the run's memory is used up")
               : TL_OK;
}

/* ---- programs, which the supervisor carries out */

static void wait_on_coroutine(void *ctx) {
    (void)ctx;
    coroutine_wait();
}

static struct process_link *service_programs(struct run *r) {
    struct job *j = job_of(r);
    j->programs.port = &worker_self->port;
    j->programs.message = &worker_self->message;
    j->programs.key = j->key;
    j->programs.cancel = &j->cancel;
    j->programs.wait = wait_on_coroutine;
    return &j->programs;
}

/* ---- files */

static int service_attach(struct run *r, const char *name, char *staged, size_t room, int *fd) {
    AUTO_BUF struct buf name_of = BUF_INIT;
    lake_staged_attachment(&name_of, r->result_id, span_of(name));
    snprintf(staged, room, "%s", name_of.data);
    *fd = openat(worker_self->staging_fd, staged, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    return *fd < 0 ? TL_FAILED : TL_OK;
}

static void service_unattach(struct run *r, const char *staged) {
    (void)r;
    unlinkat(worker_self->staging_fd, staged, 0);
}

static const char *service_cache_dir(struct run *r) {
    (void)r;
    return worker_self->cache;
}

static const char *service_lake(struct run *r) {
    (void)r;
    return worker_self->lake;
}

static const char *service_shard(struct run *r, int byte) {
    (void)r;
    return worker_self->shard[byte & 255];
}

static const char *service_secret_at(struct run *r, const struct tl_secret *secret, struct tl_span origin) {
    return worker_secret_value(job_of(r), secret, origin);
}

static bool service_known(struct run *r, uint64_t tag) {
    return tagset_known(&worker_self->known, tag, job_of(r)->reach + 1);
}

static void service_log(struct run *r, enum tl_level level, const char *text) {
    AUTO_BUF struct buf m = BUF_INIT;
    message_start(&m, MESSAGE_LOG);
    message_i64(&m, job_of(r)->key);
    message_u8(&m, (uint8_t)level);
    message_text(&m, text);
    port_send(&worker_self->port, &m);
}

const struct run_backend worker_backend = {.sleep = service_sleep,
                                           .fetch = service_fetch,
                                           .sitemaps = service_sitemaps,
                                           .state_get = service_state_get,
                                           .share_get = service_share_get,
                                           .share_put = service_share_put,
                                           .validators = service_validators,
                                           .programs = service_programs,
                                           .attach = service_attach,
                                           .unattach = service_unattach,
                                           .cache_dir = service_cache_dir,
                                           .earlier = service_earlier,
                                           .unseen = service_unseen,
                                           .hold = service_hold,
                                           .secret = service_secret,
                                           .secret_at = service_secret_at,
                                           .lake = service_lake,
                                           .shard = service_shard,
                                           .known = service_known,
                                           .log = service_log};

/* ---- secrets */

const struct tl_secret *worker_secret_find(void *ctx, const char *name) {
    struct worker *w = ctx;
    for (size_t i = 0; i < w->secret_count; i++)
        if (strcmp(w->secret[i].name, name) == 0)
            return (const struct tl_secret *)(const void *)&w->secret[i];
    return NULL;
}

const char *worker_secret_value(void *ctx, const struct tl_secret *secret, struct tl_span origin) {
    const struct worker_secret *s = (const void *)secret;
    (void)ctx;
    for (char **o = s->origin; *o; o++)
        if (span_eq(origin, *o))
            return s->value;
    return NULL;
}
