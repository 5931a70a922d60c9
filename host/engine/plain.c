/* plain.c - see plain.h. */
#include "engine/plain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "base/times.h"
#include "engine/args.h"
#include "engine/leash.h"
#include "engine/plain_inside.h"
#include "engine/plugin_json.h"
#include "engine/secret.h"
#include "net/url.h"

const char *const plain_fault_name[PLAIN_FAULTS] = {"sound",
                                                    "bodies cut in half",
                                                    "empty bodies",
                                                    "500 to everything",
                                                    "the same page for ever",
                                                    "a huge body",
                                                    "garbage",
                                                    "cancelled while it fetches"};
static const int64_t FIXED_US = 1767225600000000; /* 2026-01-01 */

static struct plain *plain_of(struct run *r) {
    return r->ctx;
}

/* ---- the backend that blocks */

static int sleep_us(struct run *r, int64_t us) {
    struct plain *p = plain_of(r);
    if (p->cancelled)
        return TL_CANCEL;
    if (us > 0 && !p->o->fixtures) {
        struct timespec t = {us / 1000000, us % 1000000 * 1000};
        while (nanosleep(&t, &t) && errno == EINTR) {
        }
    }
    return TL_OK;
}

static int env_sleep(void *ctx, int64_t us) {
    return sleep_us(ctx, us);
}

static void on_done(void *ctx) {
    *(bool *)ctx = true;
}

static int env_exchange(void *ctx, const struct transfer_request *q, struct transfer_result *r) {
    struct plain *p = plain_of(ctx);
    bool done = false;
    transfer_start(p->pool, q, r, on_done, &done);
    while (!done)
        transfer_poll(p->pool, -1, 0, 100000);
    return TL_OK;
}

/* What a person asks for by hand is named by that person. */
static bool env_host_allowed(void *ctx, struct tl_span host, int port, bool redirected) {
    (void)ctx, (void)host, (void)port, (void)redirected;
    return true;
}

static bool env_host_named(void *ctx, struct tl_span host) {
    const struct run *r = ctx;
    AUTO_BUF struct buf text = BUF_INIT;
    buf_add(&text, host.ptr, host.len);
    return text.len && memmem(r->payload.ptr, r->payload.len, text.data, text.len) != NULL;
}

static const struct tl_secret *find_secret(void *ctx, const char *name) {
    struct plain *p = ctx;
    for (size_t i = 0; i < p->secret_count; i++)
        if (strcmp(p->secret[i].from->name, name) == 0)
            return (const struct tl_secret *)(const void *)&p->secret[i];
    return NULL;
}

static const char *env_secret(void *ctx, const struct tl_secret *secret, struct tl_span origin) {
    const struct plain_secret *s = (const void *)secret;
    (void)ctx;
    for (const char *const *o = s->from->origins; o && *o; o++)
        if (span_eq(origin, *o))
            return s->value.data;
    return NULL;
}

static const struct tl_secret *env_secret_named(void *ctx, const char *name) {
    return find_secret(plain_of(ctx), name);
}

static int fetch(struct run *r, const struct tl_request *q, int attach_fd, struct fetch_answer *a) {
    struct plain *p = plain_of(r);
    p->fetches++;
    if (p->o->fixtures)
        return plain_replay(p, r, q, attach_fd, a);
    if (!p->fetcher) {
        memset(a, 0, sizeof *a);
        a->outcome = FETCH_FAILED;
        a->reason = "offline";
        snprintf(a->text, sizeof a->text, "nothing is fetched here");
        return TL_OK;
    }
    const struct fetch_env env = {.ctx = r,
                                  .first = r->wire_bytes == 0 && !r->http_status,
                                  .sleep = env_sleep,
                                  .exchange = env_exchange,
                                  .host_allowed = env_host_allowed,
                                  .host_named = env_host_named,
                                  .secret_named = env_secret_named,
                                  .cookies = p->cookies,
                                  .secret = env_secret};
    return fetch_get(p->fetcher, &env, q, attach_fd, &r->arena, a);
}

static int sitemaps(struct run *r, const char *url, struct tl_list *into) {
    struct plain *p = plain_of(r);
    return p->fetcher ? fetch_sitemaps(p->fetcher, url, &r->arena, into) : TL_OK;
}

static int attach(struct run *r, const char *name, char *staged, size_t room, int *fd) {
    struct plain *p = plain_of(r);
    AUTO_BUF struct buf path = BUF_INIT;
    if (!p->o->attach_folder) {
        errno = EROFS;
        return TL_FAILED;
    }
    buf_printf(&path, "%s/", p->o->attach_folder);
    lake_value(&path, span_of(name));
    snprintf(staged, room, "%s", path.data);
    *fd = open(path.data, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    return *fd < 0 ? TL_FAILED : TL_OK;
}

static void unattach(struct run *r, const char *staged) {
    (void)r;
    unlink(staged);
}

static void say(struct run *r, enum tl_level level, const char *text) {
    struct plain *p = plain_of(r);
    if (p->o->log)
        p->o->log(level, text);
}

static const char *cache_dir(struct run *r) {
    return plain_of(r)->o->cache_folder;
}

static void wait_for_program(void *ctx) {
    struct plain *p = ctx;
    plain_programs_hear(p->o->programs, &p->link);
}

static struct process_link *programs(struct run *r) {
    struct plain *p = plain_of(r);
    if (!p->o->programs)
        return NULL;
    p->link.port = &p->o->programs->port;
    p->link.message = &p->message;
    p->link.cancel = &p->cancelled;
    p->link.wait = wait_for_program;
    p->link.ctx = p;
    return &p->link;
}

static const char *secret_value(struct run *r, const struct tl_secret *secret) {
    (void)r;
    return ((const struct plain_secret *)(const void *)secret)->value.data;
}

static const char *secret_at(struct run *r, const struct tl_secret *secret, struct tl_span origin) {
    return env_secret(r, secret, origin);
}

static const char *shard(struct run *r, int byte) {
    const struct config *c = plain_of(r)->o->config;
    for (size_t i = 0; c && i < c->shard_count; i++)
        if (byte >= c->shard[i].min && byte <= c->shard[i].max)
            return c->shard[i].name;
    return "none";
}

static const struct run_backend backend = {.sleep = sleep_us,
                                           .fetch = fetch,
                                           .sitemaps = sitemaps,
                                           .attach = attach,
                                           .unattach = unattach,
                                           .cache_dir = cache_dir,
                                           .programs = programs,
                                           .secret = secret_value,
                                           .secret_at = secret_at,
                                           .shard = shard,
                                           .log = say};

/* ---- secrets */

static void read_secrets(struct plain *p) {
    const struct config *c = p->o->config;
    p->secret = mem_alloc((c ? c->secret_count + 1 : 1) * sizeof *p->secret);
    for (size_t i = 0; c && i < c->secret_count; i++) {
        struct plain_secret *s = &p->secret[p->secret_count];
        s->from = &c->secret[i];
        s->value.max = SECRET_MAX;
        if (secret_read(s->from, &s->value, NULL) == TL_OK)
            p->secret_count++;
    }
}

static void open_net(struct plain *p) {
    const struct config *c = p->o->config;
    if (!c || p->o->fixtures)
        return;
    const struct transfer_setup setup = {
        .user_agent = c->user_agent, .rules = c->fetch.rules, .max_connections_per_host = 4, .max_connections = 16};
    const struct fetch_policy policy = {.user_agent = c->user_agent,
                                        .from = c->from,
                                        .max_redirects = c->fetch.max_redirects,
                                        .rules = c->fetch.rules,
                                        .private_allowed = c->fetch.private_allowed};
    p->pacing = mem_alloc(sizeof *p->pacing);
    p->cookies = cookies_new();
    p->pool = transfer_pool_new(&setup);
    p->fetcher = fetch_new(&policy, p->pacing, 0);
}

/* ---- one run */

static void identify(struct plain *p, struct run *r, struct args *a) {
    static const char root[] = "00000000-0000-7000-8000-000000000001", own[] = "00000000-0000-7000-8000-000000000002",
                      result[] = "00000000-0000-7000-8000-000000000003";
    static const char *const path[] = {root};
    char text[3][UUID_TEXT];
    r->run_id = own;
    r->root_id = r->parent_id = root;
    r->result_id = result;
    if (!p->o->fixed) {
        struct uuid id[3] = {uuid_new(), uuid_new(), uuid_new()};
        for (int i = 0; i < 3; i++)
            uuid_text(&id[i], text[i]);
        r->root_id = r->parent_id = arena_text(&r->arena, text[0], UUID_TEXT - 1);
        r->run_id = arena_text(&r->arena, text[1], UUID_TEXT - 1);
        r->result_id = arena_text(&r->arena, text[2], UUID_TEXT - 1);
    }
    const char **way = arena_alloc(&r->arena, sizeof *way);
    *way = r->root_id;
    r->path = p->o->fixed ? path : way;
    r->path_count = 1;
    r->depth = 1;
    r->crawl = r->context = "collect";
    r->collector_version = r->collector->version;
    r->payload = (struct tl_span){arena_span(&r->arena, buf_span(&a->payload)), a->payload.len};
    r->run_context = p->o->run_context;
    r->clock_us = p->o->fixed ? FIXED_US : 0;
    r->key = (struct hash_key){1, 2};
}

static bool loosens(struct tl_span wish) {
    struct leash usual, asked;
    leash_defaults(&usual);
    leash_defaults(&asked);
    bool more = wish.len && (leash_from_json(&asked, wish, NULL) != TL_OK || asked.depth > usual.depth ||
                             asked.fanout > usual.fanout || asked.runs > usual.runs || asked.bytes > usual.bytes ||
                             asked.time_us > usual.time_us);
    for (size_t i = 0; i < asked.host_count; i++)
        more = more || strcmp(asked.host[i], "*") == 0;
    leash_free(&asked);
    leash_free(&usual);
    return more;
}

static void list_children(struct run *r, struct plain_result *out) {
    struct json_writer w = JSON_WRITER(&out->children);
    for (size_t i = 0; i < r->wish_count; i++) {
        const struct run_wish *x = &r->wish[i];
        w.comma = false;
        json_object_begin(&w);
        json_member_string(&w, "collector", x->collector ? x->collector : r->collector->name);
        json_member_raw(&w, "args", x->args);
        json_member_bool(&w, "same", x->flags & TL_SAME);
        json_member_bool(&w, "page", x->flags & TL_PAGE);
        json_object_end(&w);
        buf_char(&out->children, '\n');
        out->loosening += loosens(x->leash);
    }
    out->child_count = r->wish_count;
}

static void run_once(struct plain *p, struct run *r, void *self, const void *args, struct plain_result *out) {
    struct document_sums sums;
    AUTO_BUF struct buf summary = BUF_INIT, attachments = BUF_INIT;
    run_collect(r, self, args);
    if (p->o->fixed)
        r->started_us = r->finished_us = FIXED_US;
    if (p->o->react && r->status == TL_OK && r->collector->react) {
        struct tl_document doc = run_own_document(r, r->final_url);
        out->react_status = run_react(r, self, &doc, args);
    }
    list_children(r, out);
    if (run_needs_document(r) &&
        run_document(r, &out->document, p->o->attach_folder ? p->o->attach_folder : "attachments", &sums, &summary,
                     &attachments))
        r->status = run_fail(r, TL_FAILED, "memory", "the document does not fit");
    out->status = r->status;
    out->fetches = p->fetches;
    snprintf(out->error, sizeof out->error, "%s", r->error);
}

static int with_args(struct plain *p, struct run *r, void *self, struct plain_result *out, struct fail *why) {
    struct plugin described = {0};
    struct args a = {0};
    void *args = NULL;
    const struct args_secrets secrets = {find_secret, p};
    plugin_of_collector(r->collector, &described);
    described.apis = p->o->apis;
    struct fail wrong = FAIL_INIT;
    int rc = args_check(&described, p->o->payload, false, &a, &wrong);
    if (rc) /* what was asked for cannot be; the collector is sound */
        fail_exit(why, rc, EXIT_USAGE, "%s (trotline plugins show %s tells what it takes; --payload FILE gives it)",
                  wrong.text, r->collector->name);
    if (!rc) {
        identify(p, r, &a);
        rc = args_fill(r->collector->arguments, r->collector->arguments_size, r->payload, &r->arena, &secrets, &args,
                       why);
    }
    if (p->o->memory)
        r->arena.max = r->arena.used + p->o->memory;
    if (!rc)
        run_once(p, r, self, args, out);
    args_free(&a);
    plugin_free(&described);
    return rc;
}

static int load(struct plain *p, const struct tl_collector **c, struct arena *memory, void **self, struct fail *why) {
    const struct plain_options *o = p->o;
    const struct args_secrets secrets = {find_secret, p};
    struct fail reason = FAIL_INIT;
    void *options = NULL;
    int rc = loader_open(o->file, c, &reason);
    if (rc)
        return fail_exit(why, rc, EXIT_PLUGIN, "%.300s: %s", o->file, reason.text);
    if ((*c)->options)
        rc = args_fill((*c)->options, (*c)->options_size, o->options.len ? o->options : span_of("{}"), memory, &secrets,
                       &options, why);
    if (!rc && (*c)->open && (rc = (*c)->open(&run_host, options, self)))
        fail_set(why, rc, "%s: open failed (%d)", o->file, rc);
    return rc;
}

int plain_run(const struct plain_options *o, struct plain_result *out, struct fail *why) {
    struct plain p = {.o = o};
    const struct tl_collector *c;
    void *self = NULL;
    struct arena memory = ARENA_INIT;
    read_secrets(&p);
    open_net(&p);
    if (o->confine)
        confine_here(o->confine, NULL);
    int rc = load(&p, &c, &memory, &self, why);
    if (!rc) {
        struct hash *hash = hash_new();
        struct run *r = run_new(&backend, &p, c, hash);
        rc = with_args(&p, r, self, out, why);
        run_free(r);
        hash_free(hash);
        if (c->close)
            c->close(self);
    }
    process_free(&p.link);
    buf_free(&p.message);
    arena_free(&memory);
    fetch_free(p.fetcher);
    transfer_pool_free(p.pool);
    free(p.pacing);
    cookies_free(p.cookies);
    for (size_t i = 0; i < p.secret_count; i++)
        buf_free(&p.secret[i].value);
    free(p.secret);
    return rc;
}

void plain_result_free(struct plain_result *r) {
    buf_free(&r->document);
    buf_free(&r->children);
}
