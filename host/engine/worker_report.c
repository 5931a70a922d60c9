/* worker_report.c - the end of a job: its document into staging, its wishes, and the message that closes it. */
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/fault.h"
#include "base/json.h"
#include "engine/worker_inside.h"

static size_t wish_size(const struct run_wish *x) { /* at the most */
    return 64 + x->args.len + x->leash.len + (x->name ? strlen(x->name) : 0) +
           (x->collector ? strlen(x->collector) : 0);
}

/* Wishes from `first` on behind what the message holds already, as many as fit: their count, then each. Returns the
 * next. */
static size_t put_wishes(struct buf *m, const struct run *r, size_t first) {
    size_t count_at = m->len, i = first;
    uint32_t n = 0;
    message_u32(m, 0);
    for (; i < r->wish_count && m->len + wish_size(&r->wish[i]) <= MESSAGE_MAX; i++, n++) {
        const struct run_wish *x = &r->wish[i];
        message_i64(m, (int64_t)x->tag);
        message_u8(m, (uint8_t)((x->flags & 0x7f) | (x->by_react ? WISH_REACT : 0)));
        message_text(m, x->collector);
        message_text(m, x->name);
        message_span(m, x->args);
        message_span(m, x->leash);
    }
    memcpy(m->data + count_at, &n, sizeof n);
    return i;
}

/* Those that will not fit into the closing message beside its other fields. Returns the first that is left for it. */
static size_t send_wishes(struct worker *w, struct job *j) {
    const struct run *r = j->run;
    enum { LEFT_MOST = MESSAGE_MAX / 4 };
    size_t left = 0, next = 0;
    for (size_t i = 0; i < r->wish_count; i++)
        left += wish_size(&r->wish[i]);
    while (left > LEFT_MOST) {
        message_start(&w->message, MESSAGE_WISHES);
        message_i64(&w->message, j->key);
        for (size_t end = put_wishes(&w->message, r, next); next < end; next++)
            left -= wish_size(&r->wish[next]);
        port_send(&w->port, &w->message);
    }
    return next;
}

static void send_state(struct worker *w, struct job *j) {
    for (size_t i = 0; i < j->run->state_count; i++) {
        message_start(&w->message, MESSAGE_STATE_SET);
        message_i64(&w->message, j->key);
        message_text(&w->message, j->run->state[i].key);
        message_span(&w->message, j->run->state[i].value);
        port_send(&w->port, &w->message);
    }
}

static void send_kept_facts(struct worker *w, const struct job *j) {
    message_start(&w->message, MESSAGE_FACT);
    message_i64(&w->message, j->key);
    buf_add(&w->message, w->facts.data, w->facts.len);
    if (w->facts.len && w->message.len <= MESSAGE_MAX)
        port_send(&w->port, &w->message);
    buf_reset(&w->facts);
}

/* What was learned counts whatever became of the run, but for validators: those speak of its document. The last ones
 * stay in w->facts, for the closing message. */
static void send_facts(struct worker *w, struct job *j, bool document) {
    enum { KEPT_MOST = 4 << 10 };
    const struct run *r = j->run;
    for (size_t i = 0; i < r->fact_count; i++) {
        const struct run_fact *f = &r->fact[i];
        if (f->kind == RUN_VALIDATOR && !document)
            continue;
        message_u8(&w->facts, (uint8_t)f->kind);
        message_text(&w->facts, f->a);
        message_text(&w->facts, f->b);
        message_text(&w->facts, f->c);
        message_text(&w->facts, f->d);
        if (w->facts.len > KEPT_MOST)
            send_kept_facts(w, j);
    }
}

/* ---- links of entities, in parts */

static void flush_links(struct worker *w, struct job *j) {
    message_start(&w->message, MESSAGE_LINKS);
    message_i64(&w->message, j->key);
    buf_add(&w->message, w->links.data, w->links.len);
    if (w->links.len)
        port_send(&w->port, &w->message);
    buf_reset(&w->links);
}

static int add_link(void *ctx, const struct run_link_row *row) {
    enum { PART_MOST = 32 << 10 };
    struct job *j = ctx;
    struct worker *w = worker_self;
    message_text(&w->links, row->urn);
    message_text(&w->links, row->name);
    message_text(&w->links, row->href);
    message_text(&w->links, row->type);
    message_i64(&w->links, row->deleted_us);
    if (w->links.len > PART_MOST)
        flush_links(w, j);
    return TL_OK;
}

static void send_links(struct worker *w, struct job *j) {
    buf_reset(&w->links);
    run_link_rows(j->run, add_link, j);
    flush_links(w, j);
}

static void send_attachments(struct worker *w, struct job *j) {
    struct tl_json list, item = {0};
    if (!w->attachments.len || json_parse(buf_span(&w->attachments), &list))
        return;
    while (json_next(&list, &item) == TL_OK) {
        message_start(&w->message, MESSAGE_ATTACHED);
        message_i64(&w->message, j->key);
        message_span(&w->message, item.raw);
        port_send(&w->port, &w->message);
    }
}

/* One buffered pass into a new read-only file. */
static int stage(struct worker *w, const struct run *r, struct fail *why) {
    char name[64];
    snprintf(name, sizeof name, "%s.part", r->result_id);
    FAULT_POINT("worker-before-stage");
    int rc = lake_write(w->staging_fd, name, buf_span(&w->document), why);
    FAULT_POINT("worker-staged");
    return rc;
}

static void folder_of(const struct worker *w, const struct run *r, bool attachments, struct buf *out) {
    const struct lake_place place = {.root_started_us = w->root_started_us,
                                     .version = r->collector_version,
                                     .org = r->org,
                                     .project = r->project,
                                     .context = r->context,
                                     .result = r->result_name ? r->result_name : r->collector->name,
                                     .order = w->order};
    struct lake_place p = place;
    uuid_parse(span_of(r->root_id), &p.root_id);
    lake_folder(out, &p, attachments);
}

static const char *fitting(const char *text, size_t most, char *room) {
    if (!text || strlen(text) <= most)
        return text;
    memcpy(room, text, most);
    room[most] = '\0';
    return room;
}

void worker_report(struct worker *w, struct job *j) {
    struct run *r = j->run;
    AUTO_BUF struct buf folder = BUF_INIT, beside = BUF_INIT;
    struct document_sums sums = {0};
    bool document = !j->is_event && run_needs_document(r), disk = false;
    struct fail why = FAIL_INIT;
    char url_room[8193];
    buf_reset(&w->document);
    buf_reset(&w->summary);
    buf_reset(&w->attachments);
    buf_reset(&w->facts);
    if (document) {
        folder_of(w, r, false, &folder);
        if (r->attachment_count)
            folder_of(w, r, true, &beside);
        if (run_document(r, &w->document, beside.data ? beside.data : "", &sums, &w->summary, &w->attachments)) {
            run_fail(r, TL_FAILED, "memory", "the document does not fit");
            r->status = TL_FAILED;
            document = false;
        } else if (stage(w, r, &why)) {
            disk = true;
            document = false;
            r->error[0] = '\0';
            run_fail(r, TL_FAILED, "disk", "the lake in %s cannot be written: %s", w->lake, why.text);
        }
    }
    size_t next_wish = r->wish_count;
    if (!disk && (r->status == TL_OK || r->status == TL_PARTIAL || r->status == TL_UNCHANGED || j->is_event))
        next_wish = send_wishes(w, j);
    if (!disk && (r->status == TL_OK || r->status == TL_PARTIAL || r->status == TL_UNCHANGED))
        send_state(w, j);
    if (document)
        send_attachments(w, j);
    if (document && r->status != TL_FAILED)
        send_links(w, j);
    if (!disk)
        send_facts(w, j, document && r->status == TL_OK);
    struct buf *m = &w->message;
    message_start(m, MESSAGE_DONE);
    message_i64(m, j->key);
    message_i64(m, j->is_event ? j->react_status : r->status);
    message_i64(m, j->react_status);
    message_u8(m, disk);
    message_text(m, r->reason);
    message_text(m, r->refusal);
    message_text(m, r->error[0] ? r->error : NULL);
    message_i64(m, r->started_us);
    message_i64(m, r->finished_us);
    message_i64(m, r->bytes);
    message_i64(m, r->http_status);
    message_text(m, fitting(r->final_url, sizeof url_room - 1, url_room));
    message_text(m, document ? r->asked_url : NULL);
    message_text(m, document ? r->canonical : NULL);
    message_u8(m, r->plain && r->status == TL_OK);
    message_i64(m, r->not_before_us);
    message_span(m, buf_span(&j->learned));
    message_span(m, buf_span(&w->facts));
    message_u8(m, document);
    if (document) {
        message_text(m, folder.data);
        buf_add(m, sums.sha256.byte, SHA256_BYTES);
        message_i64(m, sums.bytes);
        message_span(m, buf_span(&w->summary));
    }
    put_wishes(m, r, next_wish);
    port_send(&w->port, m);
    if (w->document.room > 4 << 20)
        buf_free(&w->document);
}
