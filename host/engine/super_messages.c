/* super_messages.c - what workers say. Everything in a message is checked; a worker that sends nonsense is killed. */
#include <stdlib.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "engine/super_inside.h"

enum {
    WISH_BYTES_MAX = 64 << 20,
    ATTACHMENTS_BYTES_MAX = 4 << 20,
    LINKS_BYTES_MAX = 128 << 20,
    STATE_BYTES_MAX = 4 << 20
};

static void copy_rest(struct buf *to, const struct message *m) {
    buf_add(to, m->at, (size_t)(m->end - m->at));
}

static void hear_wishes(struct super_job *j, struct message *m) {
    j->wishes.max = WISH_BYTES_MAX;
    j->wish_count += message_get_u32(m);
    copy_rest(&j->wishes, m);
}

static void hear_facts(struct super_job *j, const void *facts, size_t len) {
    j->facts.max = STATE_BYTES_MAX;
    buf_add(&j->facts, facts, len);
}

static void hear_ready(struct super *s, struct super_worker *w, struct message *m) {
    int status = (int)message_get_i64(m);
    const char *text = message_get_text(m);
    (void)s;
    w->ready = true;
    if (status == TL_OK)
        return;
    w->collector->broken = true;
    free(w->collector->broken_why);
    w->collector->broken_why = mem_text(text ? text : "it could not be loaded");
    log_error("collector %s: %s", w->collector->plugin->name, w->collector->broken_why);
    w->quitting = true;
}

static void hear_log(struct super *s, struct super_worker *w, struct message *m) {
    struct super_job *j = super_job_find(s, message_get_i64(m));
    enum tl_level level = (enum tl_level)message_get_u8(m);
    const char *text = message_get_text(m);
    char id[UUID_TEXT] = "";
    if (j)
        uuid_text(&j->run_id, id);
    log_about(w->collector->plugin->name, id[0] ? id : NULL);
    log_say(level > TL_DEBUG ? TL_DEBUG : level, "%s: %s", w->collector->plugin->name, text ? text : "");
    log_about(NULL, NULL);
}

static void hear_state_get(struct super *s, struct super_worker *w, struct message *m) {
    int64_t key = message_get_i64(m);
    int kind = message_get_u8(m), rc = TL_NOTFOUND;
    const char *a = message_get_text(m), *b = message_get_text(m);
    AUTO_BUF struct buf value = BUF_INIT;
    struct super_job *j = super_job_find(s, key);
    if (m->bad || !j || !a)
        return;
    super_answer(s, kind, j, a, b, &value, &rc);
    message_start(&s->message, MESSAGE_STATE);
    message_i64(&s->message, key);
    message_i64(&s->message, rc);
    message_span(&s->message, buf_span(&value));
    port_send(&w->port, &s->message);
}

static char *taken_text(struct message *m) {
    const char *text = message_get_text(m);
    return mem_text(text);
}

/* A folder that a worker names must be one below documents/, without steps aside: it becomes a path. */
static bool folder_is_sound(const char *folder) {
    return folder && strncmp(folder, "documents/", 10) == 0 && !strstr(folder, "/../") && !strstr(folder, "//") &&
           strlen(folder) < 4000;
}

static void hear_document(struct super_job *j, struct message *m) {
    j->folder = taken_text(m);
    const void *digest = message_get_bytes(m, SHA256_BYTES);
    if (digest)
        memcpy(j->document_sha256.byte, digest, SHA256_BYTES);
    j->document_bytes = message_get_i64(m);
    struct tl_span datasets = message_get_span(m);
    j->datasets = mem_text_n(datasets.ptr, datasets.len);
    m->bad = m->bad || !folder_is_sound(j->folder) || json_valid(datasets, NULL);
    j->document = true;
}

static void hear_done(struct super *s, struct super_worker *w, struct super_job *j, struct message *m) {
    j->status = (int)message_get_i64(m);
    j->react_status = (int)message_get_i64(m);
    bool disk = message_get_u8(m);
    j->reason = taken_text(m);
    j->refusal = taken_text(m);
    j->error = taken_text(m);
    j->wall_started_us = message_get_i64(m);
    j->wall_finished_us = message_get_i64(m);
    j->bytes = message_get_i64(m);
    j->http_status = message_get_i64(m);
    j->final_url = taken_text(m);
    j->asked_url = taken_text(m);
    j->canonical = taken_text(m);
    j->plain = message_get_u8(m);
    j->not_before_us = message_get_i64(m);
    struct tl_span learned = message_get_span(m);
    buf_add(&j->learned, learned.ptr, learned.len);
    struct tl_span facts = message_get_span(m);
    hear_facts(j, facts.ptr, facts.len);
    if (message_get_u8(m))
        hear_document(j, m);
    hear_wishes(j, m);
    if (m->bad)
        return;
    if (disk) {
        if (!s->fatal)
            s->fatal = fail_exit(&s->why, TL_FAILED, EXIT_DISK, "%s", j->error ? j->error : "cannot write the lake");
        j->status = TL_CANCEL; /* nothing of it was kept: it goes back to the queue */
    }
    j->state_now = STORE_STATES; /* the commit decides by status */
    super_good_run(s, w->collector);
    super_job_done(s, j);
}

static void hear_of_job(struct super *s, struct super_worker *w, struct message *m) {
    struct super_job *j = super_job_find(s, message_get_i64(m));
    if (!j || j->done || j->worker != w) /* judged already: too late */
        return;
    switch (m->type) {
    case MESSAGE_WISHES:
        hear_wishes(j, m);
        break;
    case MESSAGE_STATE_SET:
        j->state.max = STATE_BYTES_MAX;
        j->state_count++;
        copy_rest(&j->state, m);
        break;
    case MESSAGE_FACT:
        hear_facts(j, m->at, (size_t)(m->end - m->at));
        break;
    case MESSAGE_LINKS:
        j->links.max = LINKS_BYTES_MAX;
        copy_rest(&j->links, m);
        break;
    case MESSAGE_ATTACHED: {
        struct tl_span item = message_get_span(m);
        j->attachments.max = ATTACHMENTS_BYTES_MAX;
        m->bad = m->bad || json_valid(item, NULL);
        if (j->attachments.len)
            buf_char(&j->attachments, ',');
        buf_add(&j->attachments, item.ptr, item.len);
        break;
    }
    case MESSAGE_EXEC:
        super_exec_start(s, w, j, m);
        break;
    case MESSAGE_EXEC_INPUT:
        super_exec_input(s, j, m);
        break;
    default:
        hear_done(s, w, j, m);
    }
}

void super_hear(struct super *s, struct super_worker *w) {
    size_t len;
    struct message m;
    port_flush(&w->port);
    while (!w->killed_for && port_receive(&w->port, s->inbox, &len) > 0) {
        if (!message_open(&m, s->inbox, len))
            continue;
        switch (m.type) {
        case MESSAGE_READY:
            hear_ready(s, w, &m);
            break;
        case MESSAGE_LOG:
            hear_log(s, w, &m);
            break;
        case MESSAGE_STATE_GET:
            hear_state_get(s, w, &m);
            break;
        case MESSAGE_SHARE:
            super_share_heard(s, &m);
            break;
        case MESSAGE_COOKIE_HEARD:
            super_cookie_heard(s, w, &m);
            break;
        case MESSAGE_WISHES:
        case MESSAGE_STATE_SET:
        case MESSAGE_FACT:
        case MESSAGE_ATTACHED:
        case MESSAGE_LINKS:
        case MESSAGE_EXEC:
        case MESSAGE_EXEC_INPUT:
        case MESSAGE_DONE:
            hear_of_job(s, w, &m);
            break;
        default:
            m.bad = true;
        }
        if (m.bad)
            super_kill(w, "it sent what is no message", NULL);
    }
}
