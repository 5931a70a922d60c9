/* super_workers.c - workers: started when there is work for their collector, retired when idle, judged when they die.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "engine/cache_folder.h"
#include "engine/program.h"
#include "engine/secret.h"
#include "engine/super_inside.h"

enum { IDLE_US = 5000000, LONGEST_RESPAWN_US = 3200000, DEATHS_GUILTY = 25, DEATHS_UNKNOWN = 8, GOOD_RUNS = 50 };
enum { AHEAD = 4 }; /* claimed for a worker, for each that it runs at once: a commit must not starve it */

/* ---- collectors */

struct super_collector *super_collector(struct super *s, const char *name) {
    for (struct super_collector *c = s->collector; c; c = c->next)
        if (strcmp(c->plugin->name, name) == 0)
            return c;
    const struct plugin *p = plugin_find(s->o->plugins, name);
    if (!p)
        return NULL;
    struct super_collector *c = mem_alloc(sizeof *c);
    c->plugin = p;
    if (store_collector(s->store, p->name, p->version, p->summary, p->file ? p->sha256 : NULL, &c->key)) {
        free(c);
        return NULL;
    }
    c->cache_dir = cache_folder(s->config->folder, p->name);
    c->next = s->collector;
    s->collector = c;
    return c;
}

/* For runs of a collector that is not installed any more: they fail, each with that reason. */
static struct super_collector *missing(struct super *s, int64_t key, const char *name, const char *version) {
    struct super_collector *c = mem_alloc(sizeof *c);
    AUTO_BUF struct buf why = BUF_INIT;
    buf_printf(&why, "the collector %s is not installed", name);
    c->own_plugin =
        (struct plugin){.name = mem_text(name), .version = mem_text(version ? version : "0"), .summary = mem_text("")};
    c->plugin = &c->own_plugin;
    c->key = key;
    c->broken = true;
    c->broken_why = buf_steal(&why);
    c->next = s->collector;
    s->collector = c;
    return c;
}

struct super_collector *super_collector_by_key(struct super *s, int64_t key) {
    const char *name = "?", *version = NULL;
    for (struct super_collector *c = s->collector; c; c = c->next)
        if (c->key == key || (c->earlier_key && c->earlier_key == key))
            return c;
    store_collector_name(s->store, key, &name, &version);
    AUTO_FREE char *copy = mem_text(name), *copy_version = mem_text(version);
    struct super_collector *c = super_collector(s, copy);
    if (!c)
        return missing(s, key, copy, copy_version);
    c->earlier_key = key; /* runs put by an earlier version of the collector are done by this one */
    return c;
}

static size_t most_workers(const struct super *s, const struct super_collector *c) {
    static long cores;
    if (!cores) /* sysconf reads a file each time */
        cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (c->quarantined)
        return 1;
    return s->config->workers.max > 0 ? (size_t)s->config->workers.max : cores > 0 ? (size_t)cores : 1;
}

static size_t per_worker(const struct super *s, const struct super_collector *c) {
    return c->quarantined ? 1 : (size_t)s->config->workers.inflight * AHEAD;
}

size_t super_capacity(struct super *s, const struct super_collector *c) {
    size_t room = most_workers(s, c) * per_worker(s, c);
    return c->jobs < room ? room - c->jobs : 0;
}

/* ---- starting */

static int free_slot(struct super *s) {
    for (int i = 0; i < PACING_WORKERS; i++)
        if (!s->slot_used[i])
            return i;
    return -1;
}

static void send_list(struct buf *m, const char *const *list) {
    uint32_t n = 0;
    while (list && list[n])
        n++;
    message_u32(m, n);
    for (uint32_t i = 0; i < n; i++)
        message_text(m, list[i]);
}

/* The secrets that this collector's options or arguments can name: those of the configuration that it may use. */
static void send_secrets(struct super *s, struct buf *m, const struct plugin *p) {
    bool wants = false;
    for (size_t i = 0; i < p->option_count + p->argument_count; i++)
        wants = wants || (i < p->option_count ? p->option[i] : p->argument[i - p->option_count]).type == TL_SECRET;
    wants = wants || strcmp(p->name, "http") == 0 || strcmp(p->name, "exec") == 0; /* their headers may name one */
    size_t count_at = m->len;
    uint32_t n = 0;
    message_u32(m, 0);
    for (size_t i = 0; wants && i < s->config->secret_count; i++) {
        AUTO_BUF struct buf value = {.max = SECRET_MAX};
        struct fail why = FAIL_INIT;
        if (secret_read(&s->config->secret[i], &value, &why)) {
            log_warn("%s", why.text);
            continue;
        }
        message_text(m, s->config->secret[i].name);
        message_text(m, value.data);
        send_list(m, s->config->secret[i].origins);
        n++;
        explicit_bzero(value.data, value.len);
    }
    memcpy(m->data + count_at, &n, sizeof n);
}

static void send_rules(const struct host_rules *rules, struct buf *m) {
    message_u32(m, (uint32_t)rules->count);
    for (size_t i = 0; i < rules->count; i++) {
        const struct host_rule *h = &rules->item[i];
        const char *const texts[] = {h->pattern, h->proxy, h->ca, h->cert, h->key};
        const int64_t numbers[] = {h->timeout_us, h->max_body, h->retries, h->per_host, h->delay_us};
        for (size_t k = 0; k < COUNT_OF(texts); k++)
            message_text(m, texts[k]);
        for (size_t k = 0; k < COUNT_OF(numbers); k++)
            message_i64(m, numbers[k]);
        message_u8(m, h->robots);
        message_u8(m, h->http2);
        message_u8(m, h->verify);
    }
}

static void send_hello(struct super *s, struct super_worker *w) {
    struct super_collector *c = w->collector;
    const struct config_collector *own = config_collector(s->config, c->plugin->name);
    const struct config *g = s->config;
    struct buf *m = &s->message;
    message_start(m, MESSAGE_HELLO);
    message_text(m, c->plugin->file);
    message_text(m, c->plugin->version);
    message_text(m, lake_path(s->lake));
    message_text(m, lake_staging(s->lake));
    message_text(m, c->cache_dir);
    message_text(m, s->root->name);
    message_text(m, s->root_id);
    message_i64(m, s->root->started_us);
    message_i64(m, c->quarantined ? 1 : g->workers.inflight);
    message_i64(m, g->workers.memory);
    message_span(m, own && own->options.len ? own->options : span_of("{}"));
    message_span(m, span_of(s->root->context_json ? s->root->context_json : ""));
    send_list(m, own ? own->path : NULL);
    message_i64(m, (int64_t)s->tag_key.k0);
    message_i64(m, (int64_t)s->tag_key.k1);
    message_text(m, g->user_agent);
    message_text(m, g->from);
    message_i64(m, g->fetch.max_redirects);
    message_u8(m, g->fetch.private_allowed);
    send_rules(&g->fetch.rules, m);
    send_secrets(s, m, c->plugin);
    message_u32(m, (uint32_t)g->shard_count);
    for (size_t i = 0; i < g->shard_count; i++) {
        message_text(m, g->shard[i].name);
        message_u8(m, (uint8_t)g->shard[i].min);
        message_u8(m, (uint8_t)g->shard[i].max);
    }
    if (m->len > MESSAGE_MAX) { /* more than one message */
        c->broken = true;
        c->broken_why = mem_text("its options, its secrets and fetch.hosts are too large together");
        message_start(m, MESSAGE_QUIT);
    }
    port_send(&w->port, m);
    explicit_bzero(m->data, m->len);
}

static int spawn_worker(struct super *s, struct super_worker *w, int socket_fd) {
    char slot[16];
    const char *program = program_path();
    char *argv[] = {(char *)(uintptr_t) "trotline", (char *)(uintptr_t) "--worker", slot, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none, all;
    snprintf(slot, sizeof slot, "%d", w->slot);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 2, 1); /* what a collector prints is talk, not data */
    /* first out of the way of 3, 4, 5, then to their places */
    posix_spawn_file_actions_adddup2(&actions, socket_fd, 253);
    posix_spawn_file_actions_adddup2(&actions, s->shared_fd, 254);
    posix_spawn_file_actions_adddup2(&actions, w->trace_fd, 255);
    posix_spawn_file_actions_adddup2(&actions, 253, SHARED_SOCKET_FD);
    posix_spawn_file_actions_adddup2(&actions, 254, SHARED_TABLE_FD);
    posix_spawn_file_actions_adddup2(&actions, 255, SHARED_TRACE_FD);
    posix_spawn_file_actions_addclosefrom_np(&actions, SHARED_TRACE_FD + 1);
    char *const *envp = program_environment();
    int rc = posix_spawn(&w->pid, program, &actions, &attr, argv, envp);
    if (rc)
        rc = posix_spawn(&w->pid, "/proc/self/exe", &actions, &attr, argv,
                         envp); /* the file was replaced by an upgrade */
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    return rc ? fail_set(&s->why, TL_FAILED, "cannot start a worker (%s): %s", program, strerrordesc_np(rc)) : TL_OK;
}

static struct super_worker *start_worker(struct super *s, struct super_collector *c) {
    int pair[2], slot = free_slot(s), room = 1 << 20;
    if (slot < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
        return NULL;
    setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    struct super_worker *w = mem_alloc(sizeof *w);
    w->collector = c;
    w->slot = slot;
    w->trace_fd = memfd_create("trotline-trace", MFD_CLOEXEC);
    struct shared_slot *cell = &s->shared->slot[slot];
    memset(cell, 0, sizeof *cell);
    atomic_store(&cell->beat_us, time_mono_us());
    pacing_forget_worker(&s->shared->pacing, slot);
    int rc = w->trace_fd < 0 ? TL_FAILED : spawn_worker(s, w, pair[1]);
    close(pair[1]);
    if (rc) {
        log_error("%s", s->why.text);
        close(pair[0]);
        if (w->trace_fd >= 0)
            close(w->trace_fd);
        free(w);
        return NULL;
    }
    s->slot_used[slot] = true;
    port_init(&w->port, pair[0]);
    w->idle_since_us = time_mono_us();
    w->next = c->worker;
    c->worker = w;
    c->workers++;
    send_hello(s, w);
    super_cookies_send(s, w);
    log_debug("worker %d started for %s (process %d)", slot, c->plugin->name, (int)w->pid);
    return w;
}

/* ---- work */

static struct super_worker *least_busy(struct super *s, struct super_collector *c) {
    struct super_worker *best = NULL;
    size_t live = 0;
    for (struct super_worker *w = c->worker; w; w = w->next) {
        if (w->dead || w->quitting)
            continue;
        live++;
        if (!best || w->jobs < best->jobs)
            best = w;
    }
    size_t full = c->quarantined ? 1 : (size_t)s->config->workers.inflight;
    if ((!best || best->jobs >= full) && live < most_workers(s, c)) {
        struct super_worker *fresh = start_worker(s, c);
        best = fresh ? fresh : best;
    }
    return best && best->jobs < per_worker(s, c) ? best : NULL;
}

static void put_waiting(struct super_job *j) {
    struct super_job **at = &j->collector->waiting;
    while (*at)
        at = &(*at)->next;
    j->next = NULL;
    *at = j;
}

static void give(struct super *s, struct super_worker *w, struct super_job *j) {
    j->worker = w;
    w->jobs++;
    super_job_send(s, j);
}

static void tell_to_quit(struct super *s, struct super_worker *w) {
    if (w->quitting)
        return;
    w->quitting = true;
    message_start(&s->message, MESSAGE_QUIT);
    port_send(&w->port, &s->message);
}

/* A run of it ended well. After some of them in a row what was is forgiven. */
void super_good_run(struct super *s, struct super_collector *c) {
    if (!c->deaths || ++c->good < GOOD_RUNS)
        return;
    c->deaths = 0;
    c->respawn_us = 0;
    if (!c->quarantined)
        return;
    c->quarantined = false;
    log_info("collector %s is out of quarantine", c->plugin->name);
    for (struct super_worker *w = c->worker; w; w = w->next)
        tell_to_quit(s, w); /* it was told to run one at a time; the next one is not */
}

void super_assign(struct super *s, struct super_job *j) {
    struct super_collector *c = j->collector;
    if (c->broken) {
        put_waiting(j); /* so that super_job_done finds it somewhere */
        super_job_end(s, j, TL_FAILED, STORE_FAILED, "plugin", "%s", c->broken_why);
        return;
    }
    struct super_worker *w = c->waiting || time_mono_us() < c->respawn_us ? NULL : least_busy(s, c);
    if (w)
        give(s, w, j);
    else
        put_waiting(j);
}

void super_serve_waiting(struct super *s) {
    for (struct super_collector *c = s->collector; c; c = c->next) {
        while (c->waiting && time_mono_us() >= c->respawn_us && !c->broken) {
            struct super_worker *w = least_busy(s, c);
            if (!w)
                break;
            struct super_job *j = c->waiting;
            c->waiting = j->next;
            give(s, w, j);
        }
        while (c->broken && c->waiting)
            super_job_end(s, c->waiting, TL_FAILED, STORE_FAILED, "plugin", "%s", c->broken_why);
        for (struct super_worker *w = c->worker; w; w = w->next)
            super_send_outbox(w);
    }
}

/* ---- death */

static void read_trace(const struct super_worker *w, char *text, size_t room) {
    ssize_t n = pread(w->trace_fd, text, room - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    for (char *c = text; *c; c++)
        if (*c == '\n')
            *c = c[1] ? ';' : '\0';
}

/* Back to where it came from: the lease is still ours, so it only needs another worker (and another result id). */
static void give_back(struct super *s, struct super_job *j) {
    j->worker->jobs--;
    j->worker = NULL;
    buf_reset(&j->wishes);
    buf_reset(&j->state);
    buf_reset(&j->attachments);
    j->wish_count = j->state_count = 0;
    j->document = false;
    j->cancel_sent = false;
    if (!j->is_event)
        j->result_id = uuid_new();
    super_exec_forget(s, j->key);
    put_waiting(j);
}

/* The culprit of a dead worker: crashed, or killed at a deadline. A reaction that crashes does not take its document
 * along. */
static void judge_culprit(struct super *s, struct super_worker *w, struct super_job *j) {
    const struct shared_slot *cell = &s->shared->slot[w->slot];
    char trace[1000], what[160];
    int sig = atomic_load(&cell->signal), phase = atomic_load(&cell->phase);
    if (!sig && WIFSIGNALED(w->wait_status))
        sig = WTERMSIG(w->wait_status);
    read_trace(w, trace, sizeof trace);
    const char *abbrev = sig > 0 ? sigabbrev_np(sig) : NULL;
    if (w->killed_for)
        snprintf(what, sizeof what, "killed: %s", w->killed_for);
    else if (sig)
        snprintf(what, sizeof what, "died of signal %d (SIG%s)%s%s", sig, abbrev ? abbrev : "?",
                 atomic_load(&cell->overflow) ? ", its stack overflowed," : "",
                 phase == SHARED_REACT   ? " in react"
                 : phase == SHARED_WRITE ? " while its document was written"
                                         : " in collect");
    else
        snprintf(what, sizeof what, "ended its process with code %d",
                 WIFEXITED(w->wait_status) ? WEXITSTATUS(w->wait_status) : -1);
    log_warn("collector %s %s", w->collector->plugin->name, what);
    if (!j->is_event && phase == SHARED_REACT && !j->no_fuse && !w->killed_for) {
        j->no_fuse = true; /* collected once more, the reaction apart */
        j->attempts++;
        give_back(s, j);
        return;
    }
    bool line_deadline = w->killed_job == j && j->deadline_is_line;
    super_job_end(s, j, TL_FAILED, line_deadline ? STORE_FAILED : STORE_CRASHED, line_deadline ? "deadline" : "crashed",
                  "%s%s%s", what, trace[0] && !w->killed_for ? "; backtrace: " : "",
                  trace[0] && !w->killed_for ? trace : "");
}

static void forget_worker(struct super *s, struct super_worker *w) {
    struct super_collector *c = w->collector;
    for (struct super_worker **at = &c->worker; *at; at = &(*at)->next)
        if (*at == w) {
            *at = w->next;
            break;
        }
    c->workers--;
    s->slot_used[w->slot] = false;
    pacing_forget_worker(&s->shared->pacing, w->slot);
    port_free(&w->port);
    buf_free(&w->outbox);
    close(w->trace_fd);
    free(w->scope_version);
    free(w);
}

static void bury(struct super *s, struct super_worker *w) {
    struct super_collector *c = w->collector;
    super_hear(s, w); /* what it had said before counts */
    bool clean = w->quitting && w->jobs == 0;
    int64_t culprit = atomic_load(&s->shared->slot[w->slot].job);
    struct super_job *guilty = w->killed_job && !w->killed_job->done ? w->killed_job
                               : culprit                             ? super_job_find(s, culprit)
                                                                     : NULL;
    if (guilty && (guilty->done || guilty->worker != w))
        guilty = NULL;
    if (!clean && !c->broken) {
        c->deaths++;
        c->good = 0;
        int64_t wait = 100000;
        for (int i = 1; i < c->deaths && wait < LONGEST_RESPAWN_US; i++)
            wait *= 2;
        c->respawn_us = time_mono_us() + (c->deaths > 1 ? wait : 0);
        if (c->deaths > 1 && !c->quarantined) {
            c->quarantined = true;
            log_warn("collector %s is in quarantine: one run at a time", c->plugin->name);
        }
        if (!guilty)
            log_warn("a worker of %s died with nobody to blame (status %#x)", c->plugin->name,
                     (unsigned)w->wait_status);
    }
    if (guilty)
        judge_culprit(s, w, guilty);
    for (size_t i = 0; w->jobs && i < s->job_room; i++)
        if (s->job[i] && s->job[i]->worker == w && !s->job[i]->done)
            give_back(s, s->job[i]);
    if (!c->broken && !clean && c->deaths >= (guilty ? DEATHS_GUILTY : DEATHS_UNKNOWN)) {
        AUTO_BUF struct buf why = BUF_INIT;
        if (!guilty && WIFEXITED(w->wait_status) && WEXITSTATUS(w->wait_status) == EXIT_INTERNAL)
            buf_printf(&why, "its workers do not understand this supervisor: was %s replaced while the crawl ran?",
                       program_path());
        else
            buf_printf(&why, "its workers died %d times, with hardly a good run between", c->deaths);
        c->broken = true;
        c->broken_why = buf_steal(&why);
        log_error("collector %s is given up: %s", c->plugin->name, c->broken_why);
    }
    forget_worker(s, w);
}

void super_reap(struct super *s) {
    for (struct super_collector *c = s->collector; c; c = c->next)
        for (struct super_worker *w = c->worker, *next; w; w = next) {
            next = w->next;
            pid_t got = waitpid(w->pid, &w->wait_status, WNOHANG);
            if (got == w->pid || (got < 0 && errno == ECHILD)) {
                w->dead = true;
                bury(s, w);
            }
        }
}

void super_kill(struct super_worker *w, const char *why, struct super_job *culprit) {
    if (w->killed_for)
        return;
    w->killed_for = why;
    w->killed_job = culprit;
    kill(w->pid, SIGKILL);
}

void super_retire_idle(struct super *s) {
    int64_t now = time_mono_us();
    for (struct super_collector *c = s->collector; c; c = c->next)
        for (struct super_worker *w = c->worker; w; w = w->next)
            if (w->ready && w->jobs == 0 && !c->waiting && now - w->idle_since_us > IDLE_US)
                tell_to_quit(s, w);
}

/* At the end: a word, a second's patience, then the axe. */
void super_workers_end(struct super *s) {
    int64_t until = time_mono_us() + 1000000;
    for (struct super_collector *c = s->collector; c; c = c->next)
        for (struct super_worker *w = c->worker; w; w = w->next)
            tell_to_quit(s, w);
    while (time_mono_us() < until) {
        bool some = false;
        super_reap(s);
        for (struct super_collector *c = s->collector; c; c = c->next)
            some = some || c->worker;
        if (!some)
            break;
        usleep(1000);
    }
    for (struct super_collector *c = s->collector, *next_c; c; c = next_c) {
        next_c = c->next;
        for (struct super_worker *w = c->worker, *next; w; w = next) {
            next = w->next;
            kill(w->pid, SIGKILL);
            waitpid(w->pid, &w->wait_status, 0);
            forget_worker(s, w);
        }
        buf_free(&c->known);
        free(c->cache_dir);
        free(c->broken_why);
        free(c->own_plugin.name);
        free(c->own_plugin.version);
        free(c->own_plugin.summary);
        free(c);
    }
    s->collector = NULL;
}
