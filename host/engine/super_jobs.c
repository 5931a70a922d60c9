/* super_jobs.c - jobs: a claimed run or event on its way through a worker, until it stands in the group that is
 * committed next. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/times.h"
#include "engine/super_inside.h"

enum { JOB_BITS = 16 };

struct super_job *super_job_new(struct super *s) {
    struct super_job *j = mem_alloc(sizeof *j);
    size_t slot = 0;
    for (size_t i = 0; i < s->job_room; i++) { /* the next free place behind the last one taken */
        slot = (size_t)(s->job_seq + 1 + (int64_t)i) % s->job_room;
        if (!s->job[slot])
            break;
    }
    if (!s->job_room || s->job[slot]) {
        size_t wider = s->job_room ? s->job_room * 2 : 1024;
        s->job = mem_array(s->job, wider, sizeof(struct super_job *));
        memset(s->job + s->job_room, 0, (wider - s->job_room) * sizeof *s->job);
        slot = s->job_room;
        s->job_room = wider;
    }
    s->job_seq++;
    j->key = s->job_seq << JOB_BITS | (int64_t)slot;
    s->job[slot] = j;
    s->jobs++;
    j->started_us = time_mono_us();
    return j;
}

struct super_job *super_job_find(struct super *s, int64_t key) {
    size_t slot = (size_t)(key & ((1 << JOB_BITS) - 1));
    return slot < s->job_room && s->job[slot] && s->job[slot]->key == key ? s->job[slot] : NULL;
}

void super_job_free(struct super *s, struct super_job *j) {
    s->job[j->key & ((1 << JOB_BITS) - 1)] = NULL;
    s->jobs--;
    char *texts[] = {j->payload,  j->url,       j->context,  j->document_path, j->document_collector,
                     j->reason,   j->refusal,   j->error,    j->final_url,     j->folder,
                     j->datasets, j->asked_url, j->canonical};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        free(texts[i]);
    free(j->path);
    buf_free(&j->wishes);
    buf_free(&j->state);
    buf_free(&j->facts);
    buf_free(&j->links);
    buf_free(&j->attachments);
    buf_free(&j->learned);
    free(j);
}

static void unlink_job(struct super_job *j) {
    if (j->worker) {
        j->worker->jobs--;
        if (j->worker->jobs == 0)
            j->worker->idle_since_us = time_mono_us();
        j->worker = NULL;
    } else {
        for (struct super_job **at = &j->collector->waiting; *at; at = &(*at)->next)
            if (*at == j) {
                *at = j->next;
                break;
            }
    }
}

static struct super_host *host_of(struct super *s, int64_t key) {
    for (size_t i = 0; key && i < s->host_count; i++)
        if (s->host[i].key == key)
            return &s->host[i];
    return NULL;
}

void super_job_done(struct super *s, struct super_job *j) {
    if (j->done)
        return;
    unlink_job(j);
    j->done = true;
    j->collector->jobs--;
    struct super_host *h = host_of(s, j->host);
    if (h && h->claimed > 0)
        h->claimed--;
    super_exec_forget(s, j->key);
    j->next = NULL;
    *s->group_end = j;
    s->group_end = &j->next;
    if (s->group_count++ == 0)
        s->group_since_us = time_mono_us();
}

/* The supervisor's own verdict on a job: crashed, killed, cancelled. What the worker had sent of it counts no more. */
void super_job_end(struct super *s, struct super_job *j, int status, enum store_state state, const char *reason,
                   const char *fmt, ...) {
    char text[1500];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (j->done)
        return;
    buf_reset(&j->wishes);
    buf_reset(&j->state);
    buf_reset(&j->attachments);
    buf_reset(&j->links);
    j->wish_count = j->state_count = 0;
    j->document = false;
    if (!j->is_event)
        j->result_id = uuid_new(); /* its worker may have staged a document under the old one */
    j->status = j->react_status = status;
    j->state_now = state;
    free(j->reason);
    free(j->error);
    j->reason = mem_text(reason);
    j->error = mem_text(text);
    j->wall_finished_us = time_now_us();
    if (!j->wall_started_us)
        j->wall_started_us = j->wall_finished_us - (time_mono_us() - j->started_us);
    super_job_done(s, j);
}

void super_job_refuse(struct super *s, struct super_job *j) {
    j->next = j->collector->waiting; /* where super_job_done takes it from */
    j->collector->waiting = j;
    super_job_end(s, j, TL_REFUSED, STORE_REFUSED, j->refusal, "the leash refused it");
}

void super_job_answer(struct super *s, struct super_job *j, int64_t run) {
    j->next = j->collector->waiting;
    j->collector->waiting = j;
    j->result_ref = run;
    super_job_end(s, j, TL_OK, STORE_CACHED, NULL, "answered from the store");
}

void super_send_outbox(struct super_worker *w) {
    if (w->outbox.len)
        port_send(&w->port, &w->outbox);
    buf_reset(&w->outbox);
}

void super_job_send(struct super *s, struct super_job *j) {
    struct buf *m = &s->message;
    char id[UUID_TEXT];
    super_scope_send(s, j->worker, j->scope);
    message_start(m, j->is_event ? MESSAGE_REACT : MESSAGE_RUN);
    message_i64(m, j->key);
    message_u8(m, j->line);
    message_u8(m, j->no_fuse);
    message_i64(m, j->depth);
    message_i64(m, j->reach);
    message_i64(m, j->scope->key);
    message_text(m, uuid_text(&j->run_id, id));
    message_text(m, uuid_text(&j->result_id, id));
    message_text(m, uuid_text(&j->parent_id, id));
    message_u32(m, (uint32_t)j->path_count);
    buf_add(m, j->path, j->path_count * sizeof *j->path);
    message_span(m, (struct tl_span){j->payload, j->payload_len});
    message_text(m, j->context ? j->context : s->root->name);
    message_text(m, s->org);
    message_text(m, s->project);
    message_text(m, s->target_name);
    if (j->is_event) {
        message_text(m, j->document_path);
        message_text(m, j->document_collector);
    }
    message_text(m, j->url);
    super_conditions(s, j, m);
    struct buf *outbox = &j->worker->outbox;
    if (outbox->len + m->len > MESSAGE_MAX)
        super_send_outbox(j->worker);
    buf_add(outbox, m->data, m->len);
}
