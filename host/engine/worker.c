/* worker.c - the loop of a worker; see worker.h. It starts with HELLO, answers READY, and ends with the supervisor's
 * word or life. */
#include "engine/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/times.h"
#include "engine/args.h"
#include "engine/confine.h"
#include "engine/plugin.h"
#include "engine/worker_inside.h"

struct worker *worker_self;

void worker_job_free(struct job *j) {
    run_free(j->run);
    buf_free(&j->learned);
    buf_free(&j->answer);
    process_free(&j->programs);
    free(j);
}

/* ---- a job, on its coroutine */

int worker_read_document(struct worker *w, struct job *j, const char *path_of, const char *result_id,
                         struct tl_span *raw) {
    AUTO_BUF struct buf path = BUF_INIT, staged = BUF_INIT, bytes = BUF_INIT;
    buf_printf(&path, "%s/%s", w->lake, path_of);
    buf_printf(&staged, "%s/%s.part", w->staging, result_id);
    AUTO_CLOSE int fd = open(path.data, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fd = open(staged.data, O_RDONLY | O_CLOEXEC); /* not renamed yet */
    if (fd < 0)
        return run_fail(j->run, TL_FAILED, "document", "cannot open %s: %s", path_of, strerrordesc_np(errno));
    char block[65536];
    ssize_t n;
    while ((n = read(fd, block, sizeof block)) > 0)
        buf_add(&bytes, block, (size_t)n);
    char *copy = arena_text(&j->run->arena, bytes.data ? bytes.data : "", bytes.len);
    if (n < 0 || !copy || json_valid((struct tl_span){copy, bytes.len}, NULL))
        return run_fail(j->run, TL_FAILED, "document", "%s cannot be read, or is damaged", path_of);
    *raw = (struct tl_span){copy, bytes.len};
    return TL_OK;
}

static int read_document(struct worker *w, struct job *j, struct tl_document *doc) {
    *doc = (struct tl_document){sizeof *doc,           j->run->result_id, j->run->run_id,
                                j->document_collector, j->document_url,   {"", 0}};
    return worker_read_document(w, j, j->document_path, j->run->result_id, &doc->raw);
}

static int prepare_args(struct worker *w, struct job *j) {
    struct fail why = FAIL_INIT;
    void *args = NULL;
    const struct args_secrets secrets = {worker_secret_find, w};
    const struct tl_collector *c = w->collector;
    if (w->default_args
            ? args_fill_over(c->arguments, c->arguments_size, w->default_args, j->run->payload, &j->run->arena,
                             &secrets, &args, &why)
            : args_fill(c->arguments, c->arguments_size, j->run->payload, &j->run->arena, &secrets, &args, &why))
        return run_fail(j->run, TL_FAILED, "arguments", "%s", why.text);
    j->args = args;
    return TL_OK;
}

static void do_event(struct worker *w, struct job *j) {
    struct tl_document doc;
    struct run *r = j->run;
    int rc = read_document(w, j, &doc);
    r->started_us = time_now_us();
    if (!rc && w->collector->react)
        rc = run_react(r, w->self, &doc, j->args);
    r->finished_us = time_now_us();
    j->react_status = r->cancelled ? TL_CANCEL : rc;
}

static void do_run(struct worker *w, struct job *j) {
    struct run *r = j->run;
    run_collect(r, w->self, j->args);
    if (r->status != TL_OK || !w->collector->react || j->no_fuse)
        return;
    struct tl_document doc = run_own_document(r, r->final_url ? r->final_url : j->document_url);
    atomic_store(&w->me->phase, SHARED_REACT);
    j->react_status = run_react(r, w->self, &doc, j->args);
}

static void job_body(void *arg) {
    struct job *j = arg;
    struct worker *w = worker_self;
    if (prepare_args(w, j)) {
        j->run->status = j->react_status = TL_FAILED;
        j->run->started_us = j->run->finished_us = time_now_us();
    } else if (j->is_event) {
        do_event(w, j);
    } else {
        do_run(w, j);
    }
    run_begin_defers(j->run);
}

/* ---- the loop */

static void mark(struct worker *w, int64_t job, enum shared_phase phase) {
    atomic_store_explicit(&w->me->slice_us, time_mono_us(), memory_order_relaxed);
    atomic_store_explicit(&w->me->phase, phase, memory_order_relaxed);
    atomic_store_explicit(&w->me->job, job, memory_order_release);
}

/* Resumes a job; when it ends, tells the supervisor. */
static void run_slice(struct worker *w, struct job *j) {
    enum shared_phase phase = j->is_event || j->run->reacting ? SHARED_REACT : SHARED_COLLECT;
    mark(w, j->key, phase);
    bool ended = coroutine_resume(j->coroutine);
    if (ended) {
        mark(w, j->key, SHARED_WRITE);
        worker_report(w, j);
        j->ended = true;
    }
    atomic_store_explicit(&w->me->job, 0, memory_order_release);
}

static void start_waiting(struct worker *w) {
    while (w->waiting && (w->started < (size_t)w->inflight || w->waiting->cancel)) {
        struct job *j = w->waiting;
        w->waiting = j->next;
        if (!w->waiting)
            w->waiting_end = &w->waiting;
        j->next = w->job;
        w->job = j;
        w->started++;
        j->coroutine = coroutine_new(job_body, j);
        j->ready = true;
        w->ready++;
    }
}

/* Sleepers whose time has come; returns the time until the next one wakes. */
static int64_t wake_sleepers(struct worker *w, int64_t now) {
    int64_t soonest = INT64_MAX;
    if (w->asleep == 0)
        return soonest;
    for (struct job *j = w->job; j; j = j->next) {
        if (!j->wake_us || j->ready)
            continue;
        if (j->wake_us <= now || j->cancel) {
            j->ready = true;
            w->ready++;
        } else if (j->wake_us - now < soonest) {
            soonest = j->wake_us - now;
        }
    }
    return soonest;
}

static void run_ready(struct worker *w) {
    for (struct job **at = &w->job; *at;) {
        struct job *j = *at;
        if (j->ready) {
            j->ready = false;
            w->ready--;
            run_slice(w, j);
        }
        if (j->ended) {
            *at = j->next;
            w->started--;
            worker_job_free(j);
        } else {
            at = &j->next;
        }
    }
}

static _Noreturn void loop(struct worker *w) {
    while (!w->quit || w->job || w->waiting) {
        int64_t now = time_mono_us();
        atomic_store_explicit(&w->me->beat_us, now, memory_order_relaxed);
        worker_hear(w);
        start_waiting(w);
        wake_sleepers(w, now);
        run_ready(w);
        start_waiting(w);
        int64_t soonest = wake_sleepers(w, time_mono_us());
        int64_t wait = w->ready || (w->quit && !w->job) ? 0 : soonest < 500000 ? soonest : 500000;
        transfer_poll(w->pool, w->port.fd, (short)(POLLIN | (port_waiting(&w->port) ? POLLOUT : 0)), wait);
    }
    if (w->collector->close)
        w->collector->close(w->self);
    while (port_waiting(&w->port)) {
        struct pollfd p = {w->port.fd, POLLOUT, 0};
        if (poll(&p, 1, 1000) <= 0)
            break;
        port_flush(&w->port);
    }
    _exit(0); /* no destructors: a collector's libraries may not survive them */
}

/* ---- the start */

static const char *kept_text(struct worker *w, struct message *m) {
    const char *text = message_get_text(m);
    return text ? arena_text(&w->memory, text, strlen(text)) : NULL;
}

static struct tl_span kept_span(struct worker *w, struct message *m) {
    struct tl_span s = message_get_span(m);
    return (struct tl_span){arena_span(&w->memory, s), s.len};
}

static char **kept_list(struct worker *w, struct message *m) {
    uint32_t n = message_get_u32(m);
    char **list = arena_alloc(&w->memory, ((size_t)n + 1) * sizeof *list);
    for (uint32_t i = 0; i < n; i++)
        list[i] = (char *)(uintptr_t)kept_text(w, m);
    list[n] = NULL;
    return list;
}

static void read_secrets(struct worker *w, struct message *m) {
    w->secret_count = message_get_u32(m);
    w->secret = arena_alloc(&w->memory, (w->secret_count + 1) * sizeof *w->secret);
    for (size_t i = 0; i < w->secret_count; i++) {
        w->secret[i].name = (char *)(uintptr_t)kept_text(w, m);
        w->secret[i].value = (char *)(uintptr_t)kept_text(w, m);
        w->secret[i].origin = kept_list(w, m);
    }
}

static struct host_rules kept_rules(struct worker *w, struct message *m) {
    enum { RULES_MAX = 10000 };
    size_t count = message_get_u32(m);
    struct host_rule *rule = count && count <= RULES_MAX ? arena_alloc(&w->memory, count * sizeof *rule) : NULL;
    if (!rule)
        _exit(70);
    for (size_t i = 0; i < count; i++) {
        struct host_rule *h = &rule[i];
        const char **const texts[] = {&h->pattern, &h->proxy, &h->ca, &h->cert, &h->key};
        int64_t *const numbers[] = {&h->timeout_us, &h->max_body, &h->retries, &h->per_host, &h->delay_us};
        for (size_t k = 0; k < COUNT_OF(texts); k++)
            *texts[k] = kept_text(w, m);
        for (size_t k = 0; k < COUNT_OF(numbers); k++)
            *numbers[k] = message_get_i64(m);
        h->robots = message_get_u8(m);
        h->http2 = message_get_u8(m);
        h->verify = message_get_u8(m);
    }
    return (struct host_rules){rule, count};
}

static void read_shards(struct worker *w, struct message *m) {
    for (uint32_t n = message_get_u32(m); n && !m->bad; n--) {
        const char *name = kept_text(w, m);
        int min = message_get_u8(m), max = message_get_u8(m);
        for (int byte = min; byte <= max; byte++)
            w->shard[byte] = name;
    }
}

static void read_hello(struct worker *w, struct message *m, const char **file) {
    struct fetch_policy policy = {0};
    struct transfer_setup setup = {0};
    *file = kept_text(w, m);
    w->version = kept_text(w, m);
    w->lake = kept_text(w, m);
    w->staging = kept_text(w, m);
    w->cache = kept_text(w, m);
    w->crawl = kept_text(w, m);
    w->root_id = kept_text(w, m);
    w->root_started_us = message_get_i64(m);
    w->inflight = message_get_i64(m);
    w->memory_limit = message_get_i64(m);
    w->options = kept_span(w, m);
    w->run_context = kept_span(w, m);
    char **order = kept_list(w, m);
    w->order = order[0] ? (const char *const *)order : NULL;
    w->key.k0 = (uint64_t)message_get_i64(m);
    w->key.k1 = (uint64_t)message_get_i64(m);
    policy.user_agent = setup.user_agent = kept_text(w, m);
    policy.from = kept_text(w, m);
    policy.max_redirects = message_get_i64(m);
    policy.private_allowed = message_get_u8(m);
    policy.rules = setup.rules = kept_rules(w, m);
    read_secrets(w, m);
    read_shards(w, m);
    setup.max_connections_per_host = host_rules_most_at_once(&setup.rules);
    setup.max_connections = (int)w->inflight + 16;
    w->pool = transfer_pool_new(&setup);
    w->cookies = cookies_new();
    w->fetcher = fetch_new(&policy, &w->shared->pacing, w->slot);
}

static void say_ready(struct worker *w, int status, const char *text) {
    message_start(&w->message, MESSAGE_READY);
    message_i64(&w->message, status);
    message_text(&w->message, text);
    port_send(&w->port, &w->message);
}

static void wait_for_hello(struct worker *w, struct message *m, size_t *len) {
    struct pollfd p = {w->port.fd, POLLIN, 0};
    int got;
    while ((got = port_receive(&w->port, w->inbox, len)) == 0)
        poll(&p, 1, -1);
    if (got < 0 || !message_open(m, w->inbox, *len) || m->type != MESSAGE_HELLO)
        _exit(70);
}

/* From here on, what runs in this process is the collector's, too. */
static void confine(struct worker *w, const char *file) {
    enum { DESCRIPTORS = 4096 };
    const char *slash = strrchr(file, '/'), *folder = arena_text(&w->memory, file, slash ? (size_t)(slash - file) : 0);
    const char *const read[] = {folder ? folder : file, w->lake, NULL}, *const write[] = {w->staging, w->cache, NULL};
    struct rlimit now;
    size_t most =
        getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_max < DESCRIPTORS ? (size_t)now.rlim_max : DESCRIPTORS;
    const struct confine c = {.read = read, .write = write, .memory = (size_t)w->memory_limit, .descriptors = most};
    confine_here(&c, NULL);
}

static int load(struct worker *w, const char *file, struct fail *why) {
    void *options = NULL;
    const struct args_secrets secrets = {worker_secret_find, w};
    int rc = loader_open(file, &w->collector, why);
    if (!rc && w->collector->options)
        rc = args_fill(w->collector->options, w->collector->options_size, w->options, &w->memory, &secrets, &options,
                       why);
    /* Read once for all runs; where a default cannot be, each run that needs it says so. */
    if (!rc && args_fill(w->collector->arguments, w->collector->arguments_size, span_of("{}"), &w->memory, &secrets,
                         &w->default_args, NULL))
        w->default_args = NULL;
    if (!rc && w->collector->open && (rc = w->collector->open(&run_host, options, &w->self)))
        rc = fail_set(why, rc, "%s: open failed (%d)", file, rc);
    return rc;
}

_Noreturn void worker_main(const char *slot) {
    struct worker *w = worker_self = mem_alloc(sizeof *w);
    struct message m;
    struct fail why = FAIL_INIT;
    const char *file;
    size_t len;
    w->slot = (int)strtol(slot, NULL, 10);
    /* Bodies and documents come and go with every page: their memory stays, instead of being mapped and cleared anew.
     */
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 16 << 20);
    w->waiting_end = &w->waiting;
    w->inbox = mem_alloc(MESSAGE_MAX);
    w->hash = hash_new();
    port_init(&w->port, SHARED_SOCKET_FD);
    w->shared = mmap(NULL, sizeof *w->shared, PROT_READ | PROT_WRITE, MAP_SHARED, SHARED_TABLE_FD, 0);
    if (w->shared == MAP_FAILED || w->slot < 0 || w->slot >= PACING_WORKERS)
        _exit(70);
    w->me = &w->shared->slot[w->slot];
    atomic_store(&w->me->beat_us, time_mono_us());
    worker_crash_setup(w);
    wait_for_hello(w, &m, &len);
    read_hello(w, &m, &file);
    if (m.bad)
        _exit(70);
    w->staging_fd = open(w->staging, O_DIRECTORY | O_PATH | O_CLOEXEC);
    confine(w, file);
    int rc = load(w, file, &why);
    say_ready(w, rc, why.text);
    if (rc) {
        port_flush(&w->port);
        _exit(4);
    }
    loop(w);
}
