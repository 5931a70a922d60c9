/* super.c - the supervisor's loop; see super.h. */
#include "engine/super.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/signalfd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "engine/super_inside.h"

enum { GROUP_RUNS = 256, GROUP_US = 50000, DRAIN_US = 4000000, POLL_MOST = 512 };

/* ---- ending before the end */

static void drain(struct super *s, enum super_end end, int64_t patience_us) {
    if (!s->draining) {
        s->draining = true;
        s->end = end;
        s->drain_until_us = time_mono_us() + patience_us;
    } else if (patience_us == 0 && s->drain_until_us > time_mono_us()) {
        s->drain_until_us = time_mono_us();
    }
    if (patience_us == 0)
        super_cancel_all(s);
}

static void hear_signals(struct super *s) {
    struct signalfd_siginfo info;
    bool child = false;
    while (read(s->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD) {
            child = true;
            continue;
        }
        if (!s->draining || s->end != SUPER_INTERRUPTED)
            log_info("interrupted: waiting a moment for what is in flight");
        drain(s, SUPER_INTERRUPTED, s->draining ? 0 : DRAIN_US);
    }
    if (child)
        super_reap(s);
}

static void look_at_clock(struct super *s) {
    int64_t now = time_mono_us();
    if (!s->draining && now >= s->time_limit_us)
        drain(s, SUPER_TIME, 0);
    if (!s->draining && now >= s->timeout_at_us)
        drain(s, SUPER_TIMEOUT, 0);
    int64_t last = s->time_limit_us < s->timeout_at_us ? s->time_limit_us : s->timeout_at_us;
    if (!s->draining && s->jobs == 0 && s->stuck_until_us > last)
        drain(s, SUPER_RATE, 0); /* every host that is left asked to be left alone for longer than this crawl has */
    if (s->draining && now >= s->drain_until_us)
        super_cancel_all(s);
    if (!s->draining && now >= s->next_stop_look_us) {
        bool asked = false;
        s->next_stop_look_us = now + 500000;
        if (store_crawl_stop_asked(s->store, s->root->root, &asked) == TL_OK && asked)
            drain(s, SUPER_STOPPED, 0);
    }
    if (!s->draining && s->queued > 0 && s->scope_count && super_scope_spent(s->scope[0]))
        drain(s, SUPER_DONE, 0); /* the bytes are used up; what is under way goes with the queue */
}

static int beat(struct super *s) {
    int64_t now = time_mono_us();
    if (now < s->next_beat_us)
        return TL_OK;
    s->next_beat_us = now + 15000000;
    int rc = store_begin(s->store, &s->why);
    if (!rc)
        rc = store_beat(s->store, lake_owner(s->lake), 60000000);
    return rc ? rc : store_commit(s->store, &s->why);
}

static void draw_progress(struct super *s) {
    int64_t now = time_mono_us();
    if (!s->o->progress || now < s->next_progress_us)
        return;
    s->next_progress_us = now + 200000;
    int64_t done = 0, leashed = 0, failed = s->sum.by_state[STORE_FAILED] + s->sum.by_state[STORE_CRASHED];
    for (int i = STORE_SUCCESS; i < STORE_STATES; i++)
        done += s->sum.by_state[i];
    for (int i = 0; i < STORE_REASONS; i++)
        leashed += s->sum.leashed_by[i];
    char line[200], size[TIME_TEXT], elapsed[TIME_TEXT];
    double seconds = (double)(now - s->started_us) / 1e6;
    time_size_text(s->sum.bytes, size);
    time_duration_text(now - s->started_us, elapsed);
    snprintf(line, sizeof line, "%lld done, %lld queued, %zu in flight, %lld failed, %lld leashed, %s, %.0f/s, %s",
             (long long)done, (long long)s->queued, s->jobs, (long long)failed, (long long)leashed, size,
             seconds > 0.2 ? (double)done / seconds : 0.0, elapsed);
    log_progress(line);
}

/* ---- when to commit */

static bool commit_now(struct super *s, int64_t now) {
    size_t in_flight = s->jobs - s->group_count;
    if (s->group_count == 0)
        return !s->draining && (s->queued > 0 || s->events_open > 0) && now >= s->next_claim_us;
    return s->group_count >= GROUP_RUNS || now - s->group_since_us >= GROUP_US || in_flight == 0 ||
           in_flight < s->group_count;
}

static int64_t next_wait(const struct super *s, int64_t now) {
    int64_t wait = 100000;
    if (s->group_count && s->group_since_us + GROUP_US - now < wait)
        wait = s->group_since_us + GROUP_US - now;
    if (!s->draining && s->queued > 0 && s->next_claim_us - now < wait)
        wait = s->next_claim_us - now;
    return wait > 0 ? wait : 0;
}

static void listen_to_all(struct super *s, int64_t wait_us) {
    struct pollfd p[POLL_MOST];
    struct super_worker *who[POLL_MOST];
    size_t n = 0;
    p[n++] = (struct pollfd){s->signal_fd, POLLIN, 0};
    for (struct super_collector *c = s->collector; c; c = c->next)
        for (struct super_worker *w = c->worker; w && n < POLL_MOST - 64; w = w->next) {
            who[n] = w;
            p[n++] = (struct pollfd){w->port.fd, (short)(POLLIN | (port_waiting(&w->port) ? POLLOUT : 0)), 0};
        }
    size_t workers = n;
    n += super_exec_fds(s, p + n, POLL_MOST - n);
    struct timespec t = {wait_us / 1000000, wait_us % 1000000 * 1000};
    if (ppoll(p, n, &t, NULL) <= 0)
        return;
    bool gone = false;
    for (size_t i = 1; i < workers; i++)
        if (p[i].revents) {
            super_hear(s, who[i]);
            gone = gone || (p[i].revents & (POLLHUP | POLLERR));
        }
    if (gone) /* also where SIGCHLD is ignored, as it may have been from our start */
        super_reap(s);
}

static bool finished(const struct super *s) {
    if (s->fatal)
        return true;
    return s->jobs == 0 && (s->draining || (s->queued <= 0 && s->events_open <= 0));
}

static int loop(struct super *s) {
    int rc = super_commit(s); /* the first claim */
    while (!rc && !finished(s)) {
        int64_t now = time_mono_us();
        listen_to_all(s, commit_now(s, now) ? 0 : next_wait(s, now));
        hear_signals(s);
        super_exec_poll(s);
        look_at_clock(s);
        super_watch(s);
        super_serve_waiting(s);
        if (commit_now(s, time_mono_us()))
            rc = super_commit(s);
        super_retire_idle(s);
        draw_progress(s);
        if (!rc)
            rc = beat(s);
    }
    return rc ? rc : s->fatal;
}

/* ---- the ends */

/* What the leash or the user left undone: refused with its reason, cancelled, or kept for later. */
static int settle(struct super *s) {
    int64_t count = 0;
    enum store_state to = STORE_REFUSED;
    enum store_reason why = STORE_BYTES;
    if (s->end == SUPER_INTERRUPTED || s->end == SUPER_TIMEOUT || s->end == SUPER_RATE || s->end == SUPER_DISK)
        return TL_OK; /* resumable */
    if (s->end == SUPER_TIME)
        why = STORE_TIME;
    if (s->end == SUPER_STOPPED) {
        to = STORE_CANCELLED;
        why = STORE_NO_REASON;
    }
    if (s->end == SUPER_DONE && s->queued <= 0)
        return TL_OK;
    int rc = store_begin(s->store, &s->why);
    if (!rc)
        rc = store_crawl_drop_queue(s->store, s->root->root, to, why, &count);
    if (!rc)
        rc = store_commit(s->store, &s->why);
    s->sum.by_state[to] += count;
    s->sum.leashed_by[why] += count;
    s->queued = 0;
    return rc;
}

static int read_lines(void *ctx, const struct store_row *row) {
    struct super_summary *sum = ctx;
    int64_t n = row->value[1].number;
    struct tl_span st = row->value[0].text;
    sum->lines += n;
    if (span_eq(st, "failed") || span_eq(st, "crashed") || span_eq(st, "partial"))
        sum->lines_failed += n;
    if (span_eq(st, "partial"))
        sum->lines_partial += n;
    if (span_eq(st, "refused") || span_eq(st, "cancelled"))
        sum->lines_refused += n;
    if (!span_eq(st, "queued") && !span_eq(st, "leased"))
        sum->lines_ended += n;
    return 0;
}

static int read_parts(void *ctx, const struct store_row *row) {
    ((struct super_summary *)ctx)->parts_failed = row->value[0].number;
    return 1;
}

static int summarise(struct super *s) {
    const struct store_value root = store_text(s->root_id);
    s->sum.end = s->end;
    int64_t reach, due;
    s->sum.queued = s->queued;
    store_events_open(s->store, s->root->root, &s->sum.events_open, &reach, &due);
    s->sum.elapsed_us = time_mono_us() - s->started_us;
    int rc = store_query(s->store, "SELECT status, count(*) FROM runs WHERE parent_id = $1 GROUP BY status", &root, 1,
                         read_lines, &s->sum, &s->why);
    return rc ? rc
              : store_query(s->store,
                            "SELECT count(*) FROM runs WHERE root_id = $1 AND edge = 'page' AND line AND status IN "
                            "('failed', 'crashed', 'partial')",
                            &root, 1, read_parts, &s->sum, &s->why);
}

/* ---- the start */

static void block_signals(struct super *s, sigset_t *old) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, old);
    s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    signal(SIGPIPE, SIG_IGN);
}

static int read_name(void *ctx, const struct store_row *row) {
    struct buf *names = ctx;
    buf_add(names, row->value[0].text.ptr, row->value[0].text.len);
    buf_char(names, '\0');
    return 0;
}

/* Of a crawl that goes on: the collectors of its queue, looked up before the first claim, which must not write. */
static int load_collectors(struct super *s) {
    AUTO_BUF struct buf names = BUF_INIT;
    const struct store_value root = store_text(s->root_id);
    int rc = store_query(s->store, "SELECT DISTINCT collector FROM runs WHERE root_id = $1", &root, 1, read_name,
                         &names, &s->why);
    if (!rc)
        rc = store_begin(s->store, &s->why);
    if (rc)
        return rc;
    for (const char *at = names.data; at && at < names.data + names.len; at += strlen(at) + 1)
        if (plugin_find(s->o->plugins, at))
            super_collector(s, at);
    for (size_t i = 0; i < s->o->crawl->route_count; i++)
        super_collector(s, s->o->crawl->route[i].collector);
    return store_commit(s->store, &s->why);
}

static int set_up(struct super *s) {
    uuid_text(&s->root->root_id, s->root_id);
    s->org = s->o->crawl->org;
    s->project = s->o->crawl->project;
    s->target_name = s->o->crawl->target;
    s->group_end = &s->group;
    s->claimed_end = &s->claimed;
    s->inbox = mem_alloc(MESSAGE_MAX);
    s->hash = hash_new();
    s->started_us = s->rate_since_us = time_mono_us();
    s->timeout_at_us = s->o->timeout_us > 0 ? s->started_us + s->o->timeout_us : INT64_MAX;
    if (getrandom(&s->tag_key, sizeof s->tag_key, 0) != (ssize_t)sizeof s->tag_key)
        return fail_errno(&s->why, TL_FAILED, "no random numbers to be had");
    s->shared_fd = memfd_create("trotline-shared", MFD_CLOEXEC);
    if (s->shared_fd < 0 || ftruncate(s->shared_fd, (off_t)sizeof *s->shared))
        return fail_errno(&s->why, TL_FAILED, "cannot make memory to share with workers");
    s->shared = mmap(NULL, sizeof *s->shared, PROT_READ | PROT_WRITE, MAP_SHARED, s->shared_fd, 0);
    if (s->shared == MAP_FAILED)
        return fail_errno(&s->why, TL_FAILED, "cannot map the shared memory");
    int64_t leased = 0, due;
    int rc = s->root->root ? super_scopes_load(s) : super_begin(s);
    if (!rc)
        rc = load_collectors(s);
    s->has_validators = store_validators_any(s->store);
    if (!rc)
        rc = store_open_runs(s->store, s->root->root, &s->queued, &leased);
    if (!rc)
        rc = store_events_open(s->store, s->root->root, &s->events_open, &s->event_reach, &due);
    if (rc || !s->scope_count)
        return s->why.text[0] ? TL_FAILED
                              : fail_set(&s->why, TL_FAILED, "the crawl's leash cannot be read from the catalog");
    int64_t time_us = s->scope[0]->effective.time_us;
    s->time_limit_us = time_us < INT64_MAX / 2 ? s->started_us + time_us : INT64_MAX;
    return TL_OK;
}

static void tear_down(struct super *s) {
    super_exec_end(s);
    super_workers_end(s);
    for (size_t i = 0; i < s->job_room; i++)
        if (s->job[i])
            super_job_free(s, s->job[i]);
    free(s->job);
    free(s->host);
    super_scopes_free(s);
    tagset_free(&s->known);
    super_refused_free(s);
    buf_free(&s->message);
    free(s->inbox);
    hash_free(s->hash);
    cookies_free(s->cookies);
    super_share_free(s);
    if (s->shared && s->shared != MAP_FAILED)
        munmap(s->shared, sizeof *s->shared);
    if (s->shared_fd >= 0)
        close(s->shared_fd);
    if (s->signal_fd >= 0)
        close(s->signal_fd);
}

int super_run(const struct super_options *o, struct super_summary *out, struct fail *why) {
    struct super *s = mem_alloc(sizeof *s);
    sigset_t old;
    s->o = o;
    s->config = o->config;
    s->store = o->store;
    s->lake = o->lake;
    s->root = o->root;
    s->shared_fd = -1;
    block_signals(s, &old);
    int rc = set_up(s);
    if (!rc)
        rc = loop(s);
    log_progress(NULL);
    if (!rc)
        rc = settle(s);
    if (!rc)
        rc = summarise(s);
    tear_down(s);
    sigprocmask(SIG_SETMASK, &old, NULL);
    *out = s->sum;
    *why = s->why;
    free(s);
    return rc;
}
