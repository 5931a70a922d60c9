/* super_watch.c - deadlines and signs of life. Cancel first; only who does not come back within a second is killed. */
#include "base/log.h"
#include "base/times.h"
#include "engine/super_inside.h"

enum { UNWIND_US = 1000000 };

static void cancel(struct super *s, struct super_job *j) {
    if (j->cancel_sent || !j->worker)
        return;
    j->cancel_sent = true;
    j->cancel_us = time_mono_us();
    message_start(&s->message, MESSAGE_CANCEL);
    message_i64(&s->message, j->key);
    port_send(&j->worker->port, &s->message);
}

void super_cancel_all(struct super *s) {
    for (size_t i = 0; i < s->job_room; i++) {
        struct super_job *j = s->job[i];
        if (!j || j->done)
            continue;
        if (j->worker)
            cancel(s, j);
        else
            super_job_end(s, j, TL_CANCEL, STORE_QUEUED, "cancelled", "the crawl is ending");
    }
}

static void watch_job(struct super *s, struct super_job *j, int64_t now) {
    if (j->deadline_us <= now && !j->worker) {
        super_job_end(s, j, TL_FAILED, STORE_FAILED, "deadline", "its time was up before a worker was free");
        return;
    }
    if (j->deadline_us <= now && !j->cancel_sent)
        cancel(s, j);
    if (!j->cancel_sent || now - j->cancel_us < UNWIND_US || !j->worker || j->worker->killed_for)
        return;
    int64_t on_cpu = atomic_load(&s->shared->slot[j->worker->slot].job);
    if (on_cpu == j->key || on_cpu == 0) /* another one's slice is the stall's business */
        super_kill(j->worker,
                   j->deadline_is_line ? "its line's time was up and it did not stop (deadline)"
                                       : "it ran for too long and did not stop (deadline)",
                   j);
}

static void watch_worker(struct super *s, struct super_worker *w, int64_t now) {
    const struct shared_slot *cell = &s->shared->slot[w->slot];
    int64_t on_cpu = atomic_load(&cell->job), stall = s->config->workers.stall_us;
    if (w->killed_for)
        return;
    if (on_cpu && now - atomic_load(&cell->slice_us) > stall) {
        struct super_job *j = super_job_find(s, on_cpu);
        super_kill(w, "no sign of life: it kept the processor, or blocked, for too long", j);
    } else if (!on_cpu && now - atomic_load(&cell->beat_us) > stall + 5000000) {
        super_kill(w, "no sign of life from its loop", NULL);
    }
}

void super_watch(struct super *s) {
    int64_t now = time_mono_us();
    if (now < s->next_watch_us)
        return;
    bool late = s->next_watch_us && now - s->next_watch_us > s->config->workers.stall_us /
                                                                 2; /* we stood still ourselves: judge nobody by it */
    s->next_watch_us = now + 100000;
    if (late)
        return;
    for (size_t i = 0; i < s->job_room; i++)
        if (s->job[i] && !s->job[i]->done)
            watch_job(s, s->job[i], now);
    for (struct super_collector *c = s->collector; c; c = c->next)
        for (struct super_worker *w = c->worker; w; w = w->next)
            watch_worker(s, w, now);
}
