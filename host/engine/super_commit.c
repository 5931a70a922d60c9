/* super_commit.c - the one atomic step: what is done becomes durable, is recorded, is published, and the next runs are
 * claimed.
 *
 * Order: staged files durable; one transaction; renames; messages. A crash before the transaction leaves staged junk,
 * after it what recovery finishes. */
#include <stdlib.h>

#include "base/fault.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "engine/super_inside.h"

enum { RUN_ATTEMPTS = 3, FIRST_RETRY_US = 2000000 };

static void staged_name(const struct super_job *j, char out[64]) {
    char id[UUID_TEXT];
    snprintf(out, 64, "%s.part", uuid_text(&j->result_id, id));
}

/* ---- documents that the supervisor writes itself: of runs that crashed, were killed, or gave up */

static void write_error(struct buf *out, const struct super_job *j) {
    struct json_writer w = JSON_WRITER(out);
    json_object_begin(&w);
    json_member_string(&w, "kind", j->reason ? j->reason : "collector");
    json_put_key(&w, "message");
    json_put_string(&w, span_of(j->error));
    json_object_end(&w);
}

static int write_document(struct super *s, struct super_job *j) {
    AUTO_BUF struct buf error = BUF_INIT, text = BUF_INIT, summary = BUF_INIT, folder = BUF_INIT;
    char ids[4][UUID_TEXT], name[64];
    struct document_sums sums;
    AUTO_FREE char *path_text = mem_alloc((j->path_count + 1) * UUID_TEXT);
    AUTO_FREE const char **path = mem_alloc((j->path_count + 1) * sizeof *path);
    for (size_t i = 0; i < j->path_count; i++)
        path[i] = uuid_text(&j->path[i], path_text + i * UUID_TEXT);
    write_error(&error, j);
    const char *context = j->context ? j->context : s->root->name, *name_of = j->collector->plugin->name;
    const struct document d = {.result_id = uuid_text(&j->result_id, ids[0]),
                               .run_id = uuid_text(&j->run_id, ids[1]),
                               .root_id = s->root_id,
                               .parent_id = uuid_text(&j->parent_id, ids[2]),
                               .depth = (int)j->depth,
                               .path = path,
                               .path_count = j->path_count,
                               .collector = name_of,
                               .collector_version = j->collector->plugin->version,
                               .org = s->org,
                               .project = s->project,
                               .target = s->target_name,
                               .result_context_name = context,
                               .result_name = name_of,
                               .run_context = span_of(s->root->context_json),
                               .payload = {j->payload, j->payload_len},
                               .leash = buf_span(&j->scope->json),
                               .status = "failed",
                               .error = buf_span(&error),
                               .started_us = j->wall_started_us,
                               .finished_us = j->wall_finished_us};
    const struct config_collector *own = config_collector(s->config, name_of);
    const struct lake_place place = {
        s->root->started_us,   s->root->root_id, j->collector->plugin->version, s->org, s->project, context, name_of,
        own ? own->path : NULL};
    int rc = document_write(&text, &d, s->hash, &sums, &summary);
    lake_folder(&folder, &place, false);
    staged_name(j, name);
    if (rc)
        return fail_set(&s->why, rc, "the document of run %s cannot be written", ids[1]);
    if ((rc = lake_stage(s->lake, name, buf_span(&text), &s->why)))
        return rc;
    j->folder = mem_text(folder.data);
    j->datasets = mem_text(summary.data);
    j->document_sha256 = sums.sha256;
    j->document_bytes = sums.bytes;
    j->document = true;
    return TL_OK;
}

/* ---- verdicts: what becomes of a job */

static enum store_state state_of(const struct super_job *j) {
    if (j->state_now != STORE_STATES)
        return j->state_now;
    switch (j->status) {
    case TL_OK:
        return STORE_SUCCESS;
    case TL_PARTIAL:
        return STORE_PARTIAL;
    case TL_UNCHANGED:
        return STORE_NOT_MODIFIED;
    case TL_REFUSED:
        return STORE_REFUSED;
    default:
        return STORE_FAILED;
    }
}

/* What is neither finished nor to be: a wait, or a cancelled run that the crawl will take up again. */
static void decide(struct super *s, struct super_job *j) {
    bool own_verdict = j->state_now != STORE_STATES;
    if (j->is_event)
        return;
    if (j->status == TL_RETRY && j->attempts + 1 >= RUN_ATTEMPTS && !j->not_before_us) {
        j->state_now = STORE_FAILED; /* given up */
        j->status = TL_FAILED;
    } else if (!own_verdict && j->status == TL_CANCEL && j->cancel_sent && !s->draining) {
        j->state_now = j->deadline_is_line ? STORE_FAILED : STORE_CRASHED; /* its deadline: it came back when told */
        j->status = TL_FAILED;
        free(j->reason);
        free(j->error);
        j->reason = mem_text("deadline");
        j->error =
            mem_text(j->deadline_is_line ? "its line's time was up (deadline)" : "it ran for too long (deadline)");
    } else if (j->status == TL_RETRY || j->status == TL_CANCEL) {
        j->again = true;
        return;
    }
    if (!j->wall_finished_us)
        j->wall_started_us = j->wall_finished_us = time_now_us();
}

static bool wants_document(const struct super_job *j) {
    enum store_state st = state_of(j);
    return !j->is_event && !j->again && !j->document && (st == STORE_FAILED || st == STORE_CRASHED);
}

static int prepare(struct super *s) {
    size_t n = 0;
    int rc = TL_OK;
    for (struct super_job *j = s->group; j && !rc; j = j->next) {
        decide(s, j);
        if (wants_document(j))
            rc = write_document(s, j);
        n += j->document && !j->again;
    }
    if (rc || n == 0)
        return rc;
    AUTO_FREE char(*name)[64] = mem_alloc(n * sizeof *name);
    AUTO_FREE const char **list = mem_alloc(n * sizeof *list);
    n = 0;
    for (struct super_job *j = s->group; j; j = j->next)
        if (j->document && !j->again) {
            staged_name(j, name[n]);
            list[n] = name[n];
            n++;
        }
    return lake_sync(s->lake, list, n, &s->why);
}

/* ---- the transaction */

static enum store_reason reason_of(const char *refusal) {
    for (int i = STORE_DEPTH; i < STORE_REASONS; i++)
        if (refusal && strcmp(store_reason_name[i], refusal) == 0)
            return (enum store_reason)i;
    return STORE_HOSTS; /* another scheme */
}

/* Is this route's dataset in the document? Of an unchanged one the reactor itself will see. */
static bool has_type(const struct super_job *j, const char *type) {
    struct tl_json sets, set = {0}, name;
    if (!type || j->result_ref)
        return true;
    if (json_parse(span_of(j->datasets), &sets))
        return false;
    while (json_next(&sets, &set) == TL_OK) {
        AUTO_BUF struct buf text = BUF_INIT;
        if (json_find(set.raw, "/0", &name) == TL_OK && json_text(&name, &text) == TL_OK &&
            span_eq(buf_span(&text), type))
            return true;
    }
    return false;
}

/* Who is told of a document: its own collector, unless it has reacted already, and those that the crawl names. An
 * unchanged document is told again, so that a crawl's tree is whole also where nothing was new. */
static int put_events(struct super *s, struct super_job *j, enum store_state state) {
    const struct crawl *c = s->o->crawl;
    bool unchanged = (state == STORE_NOT_MODIFIED || state == STORE_CACHED) && j->result_ref;
    int rc = TL_OK;
    if (!unchanged && ((state != STORE_SUCCESS && state != STORE_PARTIAL) || !j->document))
        return TL_OK;
    if (j->collector->plugin->can_react && (unchanged || (state == STORE_SUCCESS && (j->no_fuse || j->react_status))))
        rc = store_event_put(s->store, s->root->root, j->run, j->collector->key, (struct tl_span){"", 0},
                             STORE_EVENT_REACT);
    for (size_t i = 0; i < c->route_count && !rc; i++) {
        const struct crawl_route *route = &c->route[i];
        bool told = strcmp(route->on_collector, j->collector->plugin->name) == 0 && has_type(j, route->on_type);
        struct super_collector *reactor = told ? super_collector(s, route->collector) : NULL;
        AUTO_BUF struct buf payload = BUF_INIT;
        struct args a = {0};
        if (!reactor)
            continue;
        if (route->args.len && args_check(reactor->plugin, route->args, true, &a, NULL) == TL_OK)
            buf_add(&payload, a.payload.data, a.payload.len);
        else if (reactor != j->collector)
            buf_lit(&payload, "{}");
        args_free(&a);
        rc = store_event_put(s->store, s->root->root, j->run, reactor->key, buf_span(&payload), STORE_EVENT_REACT);
    }
    return rc;
}

static int put_state(struct super *s, struct super_job *j) {
    struct message m = {.at = j->state.data, .end = j->state.data + j->state.len};
    int rc = TL_OK;
    for (uint32_t i = 0; i < j->state_count && !rc && !m.bad && s->o->crawl->lock; i++) {
        const char *key = message_get_text(&m);
        struct tl_span value = message_get_span(&m);
        if (key)
            rc = store_state_put(s->store, s->root->name, j->collector->key, span_of(key), value);
    }
    return rc;
}

static int finish_run(struct super *s, struct super_job *j, enum store_state state) {
    AUTO_BUF struct buf attachments = BUF_INIT;
    struct store_document d = {.result_id = j->result_id,
                               .folder = j->folder,
                               .sha256 = j->document_sha256,
                               .bytes = j->document_bytes,
                               .collected_us = j->wall_finished_us,
                               .datasets = j->datasets ? j->datasets : "[]"};
    if (j->attachments.len) {
        buf_printf(&attachments, "[%s]", j->attachments.data);
        d.attachments = attachments.data;
    }
    bool well = state == STORE_SUCCESS || state == STORE_CACHED;
    struct store_finish f = {.key = j->run,
                             .token = j->token,
                             .state = state,
                             .reason = well ? NULL : j->reason,
                             .error = well ? NULL : j->error,
                             .started_us = j->wall_started_us,
                             .finished_us = j->wall_finished_us,
                             .bytes = j->bytes,
                             .http_status = j->http_status,
                             .final_url = span_of(j->final_url ? j->final_url : ""),
                             .document = j->document ? &d : NULL};
    if (state == STORE_REFUSED)
        f.reason = store_reason_name[reason_of(j->refusal)];
    if (state == STORE_NOT_MODIFIED)
        j->result_ref = f.result_ref = super_unchanged_ref(s, j);
    if (state == STORE_CACHED)
        f.result_ref = j->result_ref;
    int status = TL_OK, rc = store_finish(s->store, &f, 1, &status, &s->why);
    if (rc)
        return rc;
    if (status) { /* another process has it now: ours counts for nothing */
        j->document = false;
        j->again = true;
        return TL_OK;
    }
    super_scope_bytes(j->scope, j->bytes);
    j->state_now = state;
    if (state == STORE_CACHED && (rc = store_edge_put(s->store, j->result_ref, j->run, STORE_CACHED_EDGE)))
        return rc;
    if (state == STORE_REFUSED && (rc = store_leashed(s->store, s->root->root, j->parent, j->collector->key, j->digest,
                                                      span_of(j->url), reason_of(j->refusal), 1)))
        return rc;
    if (state == STORE_SUCCESS || state == STORE_PARTIAL || state == STORE_NOT_MODIFIED) {
        if (j->learned.len && (rc = super_scope_learn(s, j->scope, &j->learned)))
            return rc;
        if ((rc = super_put_wishes(s, j)) || (rc = put_state(s, j)))
            return rc;
    }
    if ((rc = super_links_record(s, j)) || (rc = super_urls_record(s, j)) || (rc = super_facts_record(s, j)))
        return rc;
    return put_events(s, j, state);
}

static int finish_event(struct super *s, struct super_job *j) {
    bool ok = j->react_status == TL_OK;
    int rc = ok ? super_put_wishes(s, j) : TL_OK;
    return rc ? rc
              : store_event_finish(s->store, j->event, ok,
                                   ok         ? NULL
                                   : j->error ? j->error
                                              : "the reaction failed");
}

static int retry_run(struct super *s, struct super_job *j) {
    int64_t wait = FIRST_RETRY_US << (j->attempts < 10 ? j->attempts : 10);
    bool free_of_charge = j->status == TL_CANCEL || j->not_before_us;
    int64_t at = j->status == TL_CANCEL ? 0 : j->not_before_us ? j->not_before_us : store_now_us(s->store) + wait;
    int rc = store_retry(s->store, j->run, j->token, at, free_of_charge, j->error);
    s->queued += rc == TL_OK;
    return rc == TL_NOTFOUND ? TL_OK : rc;
}

static int record(struct super *s) {
    int rc = TL_OK;
    for (struct super_job *j = s->group; j && !rc; j = j->next) {
        if (j->is_event)
            rc = finish_event(s, j);
        else if (j->again)
            rc = retry_run(s, j);
        else
            rc = finish_run(s, j, state_of(j));
    }
    if (!rc)
        rc = super_hosts_record(s);
    return rc ? rc : super_refused_flush(s);
}

/* ---- after the transaction */

static int publish_attachment(struct super *s, void *ctx, const char *staged, const char *path) {
    (void)ctx;
    return lake_publish(s->lake, staged, path, &s->why);
}

static int publish(struct super *s) {
    int rc = TL_OK;
    for (struct super_job *j = s->group; j && !rc; j = j->next) {
        char name[64], id[UUID_TEXT];
        AUTO_BUF struct buf to = BUF_INIT;
        if (!j->document || j->again)
            continue;
        staged_name(j, name);
        buf_printf(&to, "%s/%s.json", j->folder, uuid_text(&j->result_id, id));
        if (!(rc = lake_publish(s->lake, name, to.data, &s->why)))
            FAULT_POINT("renamed-one");
        if (!rc && j->attachments.len)
            rc = super_attachments(s, j, publish_attachment, NULL);
    }
    return rc;
}

/* Do its arguments name a secret, in a header or by themselves? */
static bool names_secret(const struct super_job *j) {
    const struct plugin *p = j->collector->plugin;
    struct tl_json all, v;
    if (strstr(j->payload, "secret:"))
        return true;
    if (json_parse((struct tl_span){j->payload, j->payload_len}, &all))
        return false;
    for (size_t i = 0; i < p->argument_count; i++)
        if (p->argument[i].type == TL_SECRET && json_get(&all, p->argument[i].name, &v) == TL_OK)
            return true;
    return false;
}

static void count(struct super *s, struct super_job *j) {
    struct super_summary *sum = &s->sum;
    if (j->is_event) {
        sum->events_failed += j->react_status != TL_OK && j->attempts + 1 >= 4;
        return;
    }
    if (j->again)
        return;
    sum->by_state[j->state_now]++;
    sum->bytes += j->bytes;
    sum->documents += j->document;
    if (j->state_now == STORE_REFUSED)
        sum->leashed_by[reason_of(j->refusal)]++;
    sum->refused_credentials += (j->http_status == 401 || j->http_status == 407) && j->line && names_secret(j);
    s->rate_bytes += j->bytes;
}

static void tell(struct super *s, const struct super_job *j) {
    char run[UUID_TEXT], parent[UUID_TEXT], result[UUID_TEXT];
    AUTO_BUF struct buf path = BUF_INIT;
    if (!s->o->finished || j->is_event || j->again)
        return;
    if (j->document)
        buf_printf(&path, "%s/%s.json", j->folder, uuid_text(&j->result_id, result));
    const struct super_finished f = {.run_id = uuid_text(&j->run_id, run),
                                     .parent_id = uuid_text(&j->parent_id, parent),
                                     .collector = j->collector->plugin->name,
                                     .url = j->url && *j->url ? j->url : NULL,
                                     .reason = j->state_now == STORE_SUCCESS ? NULL : j->reason,
                                     .error = j->state_now == STORE_SUCCESS || j->state_now == STORE_CACHED ? NULL
                                                                                                            : j->error,
                                     .document_path = j->document ? path.data : NULL,
                                     .depth = j->depth,
                                     .bytes = j->bytes,
                                     .http_status = j->http_status,
                                     .attempts = j->attempts,
                                     .state = j->state_now,
                                     .line = j->line,
                                     .seconds = (double)(j->wall_finished_us - j->wall_started_us) / 1e6};
    s->o->finished(s->o->ctx, &f);
}

static void send_known(struct super *s) {
    enum { ENTRY = 12, MOST = 4000 };
    for (struct super_collector *c = s->collector; c; c = c->next) {
        for (uint32_t at = 0; at < c->known_count; at += MOST) {
            uint32_t n = c->known_count - at < MOST ? c->known_count - at : MOST;
            message_start(&s->message, MESSAGE_KNOWN);
            message_u32(&s->message, n);
            buf_add(&s->message, c->known.data + (size_t)at * ENTRY, (size_t)n * ENTRY);
            for (struct super_worker *w = c->worker; w; w = w->next)
                if (!w->dead && !w->quitting)
                    port_send(&w->port, &s->message);
        }
        buf_reset(&c->known);
        c->known_count = 0;
    }
}

static void hand_out(struct super *s) {
    while (s->claimed) {
        struct super_job *j = s->claimed;
        s->claimed = j->next;
        j->next = NULL;
        if (!j->is_event && super_scope_spent(j->scope)) { /* the bytes of its branch are used up */
            j->refusal = mem_text(store_reason_name[STORE_BYTES]);
            super_job_refuse(s, j);
            continue;
        }
        int64_t answer = j->is_event ? 0 : super_urls_answer(s, j);
        if (answer)
            super_job_answer(s, j, answer);
        else
            super_assign(s, j);
    }
    super_serve_waiting(s); /* what is given out is sent with it */
    s->claimed_end = &s->claimed;
}

static int transaction(struct super *s, int64_t *taken) {
    int rc = store_begin(s->store, &s->why);
    if (rc)
        return rc;
    FAULT_POINT("in-transaction");
    rc = record(s);
    if (!rc && !s->draining && (s->queued > 0 || s->events_open > 0 || s->group))
        rc = super_claim(s, taken);
    FAULT_POINT("before-commit");
    if (rc) {
        if (!s->why.text[0])
            fail_set(&s->why, rc, "the catalog did not take what was done");
        store_rollback(s->store);
        return rc;
    }
    return store_commit(s->store, &s->why);
}

int super_commit(struct super *s) {
    int64_t taken = 0;
    bool done = false;
    int rc = prepare(s);
    FAULT_POINT("synced");
    if (!rc)
        rc = super_backups_hold(s);
    if (!rc && !(rc = transaction(s, &taken))) {
        FAULT_POINT("committed");
        rc = publish(s);
        done = true;
    }
    super_backups_release(s);
    if (!done)
        return s->fatal = rc;
    FAULT_POINT("renamed");
    while (s->group) {
        struct super_job *j = s->group;
        s->group = j->next;
        count(s, j);
        tell(s, j);
        super_job_free(s, j);
    }
    s->group_end = &s->group;
    s->group_count = 0;
    send_known(s);
    hand_out(s);
    return rc ? s->fatal = rc : TL_OK;
}
