/* run.c - the life of a run, and the services that are one line each; see run.h. */
#include "engine/run.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/times.h"
#include "base/utf8.h"
#include "engine/process.h"
#include "net/url.h"

struct run_defer {
    struct run_defer *before;
    void (*f)(void *);
    void *arg;
};

struct run *run_new(const struct run_backend *backend, void *ctx, const struct tl_collector *collector,
                    struct hash *hash) {
    struct run *r = mem_alloc(sizeof *r);
    r->pub.host = &run_host;
    r->backend = backend;
    r->ctx = ctx;
    r->collector = collector;
    r->hash = hash;
    r->arena.max = RUN_ARENA_MAX;
    return r;
}

void run_begin_defers(struct run *r) {
    while (r->defer) {
        struct run_defer *d = r->defer;
        r->defer = d->before;
        d->f(d->arg);
    }
}

void run_free(struct run *r) {
    if (!r)
        return;
    run_begin_defers(r);
    run_responses_free(r);
    for (size_t i = 0; i < r->attachment_count; i++)
        if (r->attachment[i].fd >= 0)
            close(r->attachment[i].fd);
    for (size_t i = 0; i < r->dataset_count; i++)
        free(r->dataset[i].element);
    free(r->dataset);
    arena_free(&r->arena);
    free(r->wish);
    free(r->asked);
    free(r->state);
    free(r->fact);
    free(r->attachment);
    free(r);
}

static int vfail(struct run *r, int status, const char *reason, const char *fmt, va_list ap) {
    if (status >= 0)
        status = TL_FAILED;
    if (!r->error[0]) {
        vsnprintf(r->error, sizeof r->error, fmt, ap);
        utf8_repair(r->error); /* a collector's words, and perhaps cut */
        r->reason = reason;
        r->refused = status == TL_REFUSED;
    }
    return status;
}

int run_fail(struct run *r, int status, const char *reason, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    status = vfail(r, status, reason, fmt, ap);
    va_end(ap);
    return status;
}

/* ---- services */

static void *host_alloc(struct tl_run *pub, size_t size) {
    void *ptr = arena_alloc(&run_of(pub)->arena, size);
    if (ptr)
        memset(ptr, 0, size);
    return ptr;
}

static int host_defer(struct tl_run *pub, void (*f)(void *), void *arg) {
    struct run *r = run_of(pub);
    struct run_defer *d = f ? arena_alloc(&r->arena, sizeof *d) : NULL;
    if (!d)
        return run_fail(r, f ? TL_FAILED : TL_INVALID, "memory", "defer: %s",
                        f ? "the run's memory is used up" : "no function");
    *d = (struct run_defer){r->defer, f, arg};
    r->defer = d;
    return TL_OK;
}

static int cancelled(struct run *r) {
    r->cancelled = true;
    return TL_CANCEL;
}

static int host_sleep(struct tl_run *pub, int64_t ms) {
    struct run *r = run_of(pub);
    int rc = r->backend->sleep(r, ms <= 0 ? 0 : ms > INT64_MAX / 1000 ? INT64_MAX : ms * 1000);
    return rc ? cancelled(r) : TL_OK;
}

static int host_yield(struct tl_run *pub) {
    return host_sleep(pub, 0);
}

static int64_t host_now_us(struct tl_run *pub) {
    struct run *r = run_of(pub);
    return r->clock_us ? (r->clock_us += 1000) : time_now_us();
}

static struct tl_span host_payload(struct tl_run *pub) {
    return run_of(pub)->payload;
}

static const struct tl_lineage *host_lineage(struct tl_run *pub) {
    struct run *r = run_of(pub);
    r->lineage = (struct tl_lineage){sizeof r->lineage, r->run_id, r->root_id, r->parent_id, r->depth,
                                     r->crawl,          r->org,    r->project, r->target};
    return &r->lineage;
}

static int host_state_get(struct tl_run *pub, const char *key, struct tl_span *value) {
    struct run *r = run_of(pub);
    AUTO_BUF struct buf found = {.max = RUN_STATE_MAX};
    if (!key || !*key || !value)
        return run_fail(r, TL_INVALID, "invalid", "state: a key is wanted");
    for (size_t i = r->state_count; i-- > 0;)
        if (strcmp(r->state[i].key, key) == 0) {
            *value = r->state[i].value;
            return TL_OK;
        }
    if (!r->backend->state_get)
        return TL_NOTFOUND;
    int rc = r->backend->state_get(r, key, &found);
    if (rc)
        return rc == TL_CANCEL ? cancelled(r) : rc;
    char *copy = arena_text(&r->arena, found.data, found.len);
    *value = (struct tl_span){copy, found.len};
    return copy ? TL_OK : run_fail(r, TL_FAILED, "memory", "the run's memory is used up");
}

static int host_state_put(struct tl_run *pub, const char *key, struct tl_span value) {
    struct run *r = run_of(pub);
    if (!key || !*key || strlen(key) > 200 || value.len > RUN_STATE_MAX)
        return run_fail(r, TL_INVALID, "invalid", "state: keys have 1 to 200 bytes, values at most %d KiB",
                        RUN_STATE_MAX / 1024);
    char *name = arena_text(&r->arena, key, strlen(key)), *copy = arena_span(&r->arena, value);
    if (!name || !copy || r->state_count >= 1000)
        return run_fail(r, TL_FAILED, "memory", "the run's memory is used up, or it keeps over 1,000 states");
    MEM_GROW(r->state, r->state_count, r->state_room);
    r->state[r->state_count++] = (struct run_state_write){name, {copy, value.len}};
    return TL_OK;
}

static int host_share_get(struct tl_run *pub, const char *key, const char *stale, const char **value) {
    struct run *r = run_of(pub);
    AUTO_BUF struct buf found = {.max = RUN_SHARED_MAX + 1};
    if (!key || !*key || strlen(key) > 200 || !value)
        return run_fail(r, TL_INVALID, "invalid", "what is shared: a key has 1 to 200 bytes");
    if (!r->backend->share_get)
        return TL_NOTFOUND;
    int rc = r->backend->share_get(r, key, stale && strlen(stale) <= RUN_SHARED_MAX ? stale : NULL, &found);
    if (rc)
        return rc == TL_CANCEL ? cancelled(r) : rc;
    *value = arena_text(&r->arena, found.data, found.len);
    explicit_bzero(found.data, found.len);
    return *value ? TL_OK : run_fail(r, TL_FAILED, "memory", "the run's memory is used up");
}

static int host_share_put(struct tl_run *pub, const char *key, const char *value, int64_t until_us) {
    struct run *r = run_of(pub);
    if (!key || !*key || strlen(key) > 200 || (value && (!*value || strlen(value) > RUN_SHARED_MAX)))
        return run_fail(r, TL_INVALID, "invalid", "what is shared: keys have 1 to 200 bytes, values 1 byte to %d KiB",
                        RUN_SHARED_MAX / 1024);
    if (r->backend->share_put)
        r->backend->share_put(r, key, value, until_us);
    return TL_OK;
}

static int host_result_name(struct tl_run *pub, const char *name, const char *type) {
    struct run *r = run_of(pub);
    (void)type;
    r->result_name = arena_text(&r->arena, name ? name : "", name ? strlen(name) : 0);
    return r->result_name ? TL_OK : run_fail(r, TL_FAILED, "memory", "the run's memory is used up");
}

/* ---- programs */

static int programs_of(struct run *r, struct process_link **link) {
    *link = r->backend->programs ? r->backend->programs(r) : NULL;
    return *link ? TL_OK : run_fail(r, TL_UNSUPPORTED, "invalid", "programs cannot be run here");
}

static int host_exec(struct tl_run *pub, struct tl_program *p) {
    struct run *r = run_of(pub);
    struct process_link *link;
    struct tl_program own = {0};
    int rc = programs_of(r, &link);
    if (rc)
        return rc;
    RUN_TAKE(own, p);
    rc = process_exec(r, link, &own);
    RUN_GIVE(p, own);
    return rc == TL_CANCEL ? cancelled(r) : rc;
}

static int host_process_start(struct tl_run *pub, const struct tl_program *p) {
    struct run *r = run_of(pub);
    struct process_link *link;
    struct tl_program own = {0};
    int rc = programs_of(r, &link);
    if (rc)
        return rc;
    RUN_TAKE(own, p);
    rc = process_start(r, link, &own);
    return rc == TL_CANCEL ? cancelled(r) : rc;
}

static int host_process_write(struct tl_run *pub, struct tl_span text) {
    struct run *r = run_of(pub);
    struct process_link *link;
    int rc = programs_of(r, &link);
    rc = rc ? rc : process_write(r, link, text);
    return rc == TL_CANCEL ? cancelled(r) : rc;
}

static int host_process_line(struct tl_run *pub, struct tl_span *line) {
    struct run *r = run_of(pub);
    struct process_link *link;
    int rc = programs_of(r, &link);
    rc = rc ? rc : process_line(r, link, line);
    return rc == TL_CANCEL ? cancelled(r) : rc;
}

static int host_process_end(struct tl_run *pub, int *status, struct tl_span *err) {
    struct run *r = run_of(pub);
    struct process_link *link;
    int rc = programs_of(r, &link);
    rc = rc ? rc : process_end(r, link, status, err);
    return rc == TL_CANCEL ? cancelled(r) : rc;
}

/* ---- what else there is */

/* What is taken over by the collector is the run's no more; that something was refused stays on record, should it say
 * so in the end. */
static const char *host_reason(struct tl_run *pub) {
    struct run *r = run_of(pub);
    const char *text = r->error[0] ? arena_text(&r->arena, r->error, strlen(r->error)) : NULL;
    r->error[0] = '\0';
    r->reason = NULL;
    r->refused = false;
    return text;
}

static const char *host_cache_dir(struct tl_run *pub) {
    struct run *r = run_of(pub);
    return r->backend->cache_dir ? r->backend->cache_dir(r) : NULL;
}

static int host_fail(struct tl_run *pub, int status, const char *fmt, va_list ap) {
    struct run *r = run_of(pub);
    static char word[32]; /* one run at a time is inside this function; vfail's result is copied at once below */
    const char *reason = "collector";
    if (r->http_status >= 400) {
        snprintf(word, sizeof word, "http_%d", r->http_status);
        reason = arena_text(&r->arena, word, strlen(word));
    }
    return vfail(r, status, reason, fmt, ap);
}

enum { LOG_MOST = 16384 + 256 }; /* bytes of a line, the rest is cut; a program's last words fit in */

static void host_log(struct tl_run *pub, enum tl_level level, const char *fmt, va_list ap) {
    struct run *r = run_of(pub);
    char text[LOG_MOST];
    vsnprintf(text, sizeof text, fmt, ap);
    utf8_repair(text);
    if (r->backend->log)
        r->backend->log(r, level, text);
}

static int host_json(struct tl_run *pub, struct tl_span text, const char *pointer, struct tl_json *out) {
    (void)pub;
    return json_find(text, pointer ? pointer : "", out);
}

static int host_json_next(struct tl_run *pub, const struct tl_json *container, struct tl_json *at) {
    (void)pub;
    return json_next(container, at);
}

static const char *host_json_text(struct tl_run *pub, const struct tl_json *value) {
    struct run *r = run_of(pub);
    AUTO_BUF struct buf text = BUF_INIT;
    if (value->type == TL_JSON_NUMBER || value->type == TL_JSON_BOOL)
        return arena_span(&r->arena, value->raw);
    if (value->type != TL_JSON_STRING || json_text(value, &text) || memchr(text.data ? text.data : "", '\0', text.len))
        return NULL;
    return arena_text(&r->arena, text.data, text.len);
}

static int host_url(struct tl_run *pub, const char *base, const char *ref, const char **absolute) {
    struct run *r = run_of(pub);
    AUTO_BUF struct buf base_text = BUF_INIT, href = BUF_INIT;
    struct url from, to;
    *absolute = NULL;
    if (!ref || (base && url_parse(&base_text, span_of(base), NULL, &from)) ||
        url_resolve(&href, base ? &from : NULL, span_of(ref), true, &to))
        return TL_INVALID;
    *absolute = arena_text(&r->arena, href.data, href.len);
    return *absolute ? TL_OK : TL_FAILED;
}

static int host_hmac(struct tl_run *pub, const struct tl_secret *secret, struct tl_span text, char hex[SHA256_HEX]) {
    struct run *r = run_of(pub);
    const char *value = secret && r->backend->secret ? r->backend->secret(r, secret) : NULL;
    if (!value)
        return run_fail(r, TL_INVALID, "invalid", "hmac: there is no such secret");
    struct sha256 sum = hash_hmac(span_of(value), text);
    hash_hex(sum.byte, SHA256_BYTES, hex);
    return TL_OK;
}

static void host_sha256(struct tl_run *pub, struct tl_span text, char hex[SHA256_HEX]) {
    (void)pub;
    struct sha256 sum = hash_sha256(text.ptr, text.len);
    hash_hex(sum.byte, SHA256_BYTES, hex);
}

static int host_item(struct tl_run *pub, const struct tl_element *e) {
    struct run *r = run_of(pub);
    struct tl_element own = TL_ELEMENT_INIT;
    if (!r->backend->item)
        return run_fail(r, TL_UNSUPPORTED, "invalid", "items are made in convert only");
    if (!e)
        return run_fail(r, TL_INVALID, "invalid", "item: an element is wanted");
    RUN_TAKE(own, e);
    return r->backend->item(r, &own);
}

const struct tl_host run_host = {.struct_size = sizeof run_host,
                                 .abi_minor = TL_ABI_MINOR,
                                 .alloc = host_alloc,
                                 .defer = host_defer,
                                 .fetch = run_fetch,
                                 .sleep = host_sleep,
                                 .yield = host_yield,
                                 .now_us = host_now_us,
                                 .payload = host_payload,
                                 .lineage = host_lineage,
                                 .put = run_put,
                                 .attach = run_attach,
                                 .attach_file = run_attach_file,
                                 .state_get = host_state_get,
                                 .state_put = host_state_put,
                                 .spawn = run_spawn,
                                 .result_name = host_result_name,
                                 .exec = host_exec,
                                 .cache_dir = host_cache_dir,
                                 .fail = host_fail,
                                 .log = host_log,
                                 .html = run_html,
                                 .put_links = run_put_links,
                                 .json = host_json,
                                 .json_next = host_json_next,
                                 .json_text = host_json_text,
                                 .url = host_url,
                                 .element = run_element,
                                 .item = host_item,
                                 .link = run_link,
                                 .process_start = host_process_start,
                                 .process_write = host_process_write,
                                 .process_line = host_process_line,
                                 .process_end = host_process_end,
                                 .reason = host_reason,
                                 .sitemap = run_sitemap,
                                 .sitemaps = run_sitemaps,
                                 .feed = run_feed,
                                 .context = run_get_context,
                                 .artifact = run_artifact,
                                 .json_quote = run_json_quote,
                                 .earlier = run_earlier,
                                 .stand_for = run_stand_for,
                                 .later = run_later,
                                 .retry_after = run_retry_after,
                                 .link_header = run_link_header,
                                 .hmac = host_hmac,
                                 .backup = run_backup,
                                 .backup_read = run_backup_read,
                                 .sha256 = host_sha256,
                                 .unseen = run_unseen,
                                 .share_get = host_share_get,
                                 .share_put = host_share_put};

/* ---- collect and react */

void run_collect(struct run *r, void *self, const void *args) {
    r->started_us = time_now_us();
    int rc = r->collector->collect ? r->collector->collect(self, &r->pub, args)
                                   : run_fail(r, TL_UNSUPPORTED, "invalid", "this collector cannot collect");
    r->finished_us = time_now_us();
    if (r->finished_us < r->started_us) /* the clock was set back */
        r->finished_us = r->started_us;
    if (r->cancelled && rc != TL_OK)
        rc = TL_CANCEL;
    if (r->refusal && r->refused && rc != TL_OK &&
        rc != TL_PARTIAL) /* of a part of several, the rest is worth keeping */
        rc = TL_REFUSED;
    switch (rc) {
    case TL_OK:
    case TL_RETRY:
    case TL_PARTIAL:
    case TL_UNCHANGED:
    case TL_CANCEL:
        break;
    case TL_REFUSED:
        if (!r->refusal)
            rc = run_fail(r, TL_FAILED, "collector", "the collector says that it was refused, but nothing refused it");
        break;
    default:
        if (rc > 0)
            run_fail(r, TL_FAILED, "collector", "collect returned %d, which is no status", rc);
        rc = TL_FAILED;
    }
    if (rc == TL_OK && r->element_count == 0 && r->attachment_count == 0)
        rc = run_fail(r, TL_FAILED, "empty", "the collector succeeded but put nothing");
    if ((rc == TL_FAILED || rc == TL_PARTIAL) && !r->error[0])
        run_fail(r, rc, "collector", "the collector gave no reason");
    r->status = rc;
}

int run_react(struct run *r, void *self, const struct tl_document *doc, const void *args) {
    r->reacting = true;
    int rc = r->collector->react(self, &r->pub, doc, args);
    r->reacting = false;
    return rc == TL_OK || rc == TL_UNCHANGED ? TL_OK : rc;
}

struct tl_document run_own_document(const struct run *r, const char *url) {
    return (struct tl_document){.struct_size = sizeof(struct tl_document),
                                .result_id = r->result_id,
                                .run_id = r->run_id,
                                .collector = r->collector->name,
                                .url = url};
}

bool run_needs_document(const struct run *r) {
    return r->status == TL_OK || r->status == TL_PARTIAL || r->status == TL_FAILED;
}

const char *run_status_name(int status) {
    return status == TL_OK ? "success" : status == TL_PARTIAL ? "partial" : "failed";
}
