/* sqlite_export.c - all rows of one crawl, in an order in which they can be put back.
 *
 * Rows are read in the order of their keys, which is that of their put. A run that was moved under a younger parent
 * waits until that parent has been handed out, and follows it before the parent's other children, whose keys are
 * higher: so siblings keep their order. Memory is bounded by the number of such runs. */
#include <string.h>

#include "base/mem.h"
#include "store/package.h"
#include "store/sqlite.h"

/* ---- a set of keys */

struct keys {
    int64_t *slot; /* 0: free */
    size_t count, room;
};

static size_t key_slot(const struct keys *k, int64_t key) {
    size_t at = (size_t)((uint64_t)key * 0x9E3779B97F4A7C15u >> 20) & (k->room - 1);
    while (k->slot[at] && k->slot[at] != key)
        at = (at + 1) & (k->room - 1);
    return at;
}

static bool keys_has(const struct keys *k, int64_t key) {
    return k->count && k->slot[key_slot(k, key)] == key;
}

static bool keys_add(struct keys *k, int64_t key) { /* false: was there */
    if ((k->count + 1) * 2 > k->room) {
        struct keys old = *k;
        k->room = old.room ? old.room * 2 : 64;
        k->slot = mem_alloc(k->room * sizeof *k->slot);
        for (size_t i = 0; i < old.room; i++)
            if (old.slot[i])
                k->slot[key_slot(k, old.slot[i])] = old.slot[i];
        free(old.slot);
    }
    size_t at = key_slot(k, key);
    if (k->slot[at] == key)
        return false;
    k->slot[at] = key;
    k->count++;
    return true;
}

/* ---- statements */

struct export {
    struct store *s;
    int64_t root;
    const struct store_exporter *to;
    struct fail *why;
    struct keys collectors, targets; /* handed out */
    struct keys late, awaited;       /* runs that wait for their parent; the parents that are waited for */
    int64_t *turn;                   /* parents whose waiting children are due */
    size_t turns, turn_room;
    int64_t handed_out;
};

static sqlite3_stmt *ask(struct export *e, const char *sql, int64_t first) {
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(e->s->db, sql, -1, &st, NULL);
    if (rc != SQLITE_OK)
        sqlite_fault(e->s, rc, "read");
    else
        bind_int(st, 1, first);
    return st;
}

static int export_collector(struct export *e, int64_t key) {
    if (!keys_add(&e->collectors, key))
        return TL_OK;
    sqlite3_stmt *st = ask(e, "SELECT name, version, summary, sha256, first_us FROM collector WHERE key = ?1", key);
    int rc = st ? sqlite_row(e->s, st) : TL_FAILED;
    if (rc == 1)
        rc = e->to->collector(e->to->ctx, key, col_text(st, 0), col_text(st, 1), col_text(st, 2), col_text(st, 3),
                              col_int(st, 4));
    sqlite3_finalize(st);
    return rc;
}

static int export_target(struct export *e, int64_t key) {
    if (!key || !keys_add(&e->targets, key))
        return TL_OK;
    sqlite3_stmt *st = ask(e, "SELECT org, project, name FROM target WHERE key = ?1", key);
    int rc = st ? sqlite_row(e->s, st) : TL_FAILED;
    if (rc == 1)
        rc = e->to->target(e->to->ctx, key, col_text(st, 0), col_text(st, 1), col_text(st, 2));
    sqlite3_finalize(st);
    return rc;
}

static int export_scopes(struct export *e) {
    sqlite3_stmt *st =
        ask(e,
            "SELECT key, parent, depth, fanout, runs, bytes, time_us, runs_spent, bytes_spent, json, given "
            "FROM leash WHERE root = ?1 ORDER BY key",
            e->root);
    int rc = st ? TL_OK : TL_FAILED;
    while (!rc && (rc = sqlite_row(e->s, st)) == 1) {
        const struct store_scope scope = {.key = col_int(st, 0),
                                          .parent = col_int(st, 1),
                                          .depth = col_limit(st, 2),
                                          .fanout = col_limit(st, 3),
                                          .runs = col_limit(st, 4),
                                          .bytes = col_limit(st, 5),
                                          .time_us = col_limit(st, 6),
                                          .runs_spent = col_int(st, 7),
                                          .bytes_spent = col_int(st, 8),
                                          .json = col_text(st, 9)};
        rc = e->to->scope(e->to->ctx, &scope, col_text(st, 10));
    }
    sqlite3_finalize(st);
    return rc;
}

/* ---- runs */

#define RUN_COLUMNS                                                                                                    \
    "SELECT r.key, r.parent, r.run_id, p.run_id, r.depth, r.reach, r.scope, r.collector, r.target, r.attempts, "       \
    "r.token, r.children, r.bytes, r.http_status, r.queued_us, r.started_us, r.finished_us, r.state, r.edge, r.line, " \
    "r.digest, r.payload, r.url, r.final_url, r.context, r.reason, r.error, c.name, c.version, h.name, "               \
    "coalesce(e.result_id, r.result_ref_id), ef.path, e.sha256, e.bytes, eo.run_id, "                                  \
    "d.result_id, f.path, d.sha256, d.bytes, d.collected_us, d.datasets, d.attachments "                               \
    "FROM run r CROSS JOIN collector c ON c.key = r.collector LEFT JOIN run p ON p.key = r.parent "                    \
    "LEFT JOIN host h ON h.key = r.host LEFT JOIN document d ON d.run = r.key LEFT JOIN folder f ON f.key = d.folder " \
    "LEFT JOIN document e ON e.run = r.result_ref LEFT JOIN folder ef ON ef.key = e.folder "                           \
    "LEFT JOIN run er ON er.key = r.result_ref LEFT JOIN run eo ON eo.key = er.root "
enum { COL_KEY, COL_PARENT, COL_RUN_ID, COL_TEXTS = 21, COL_RESULT_REF = 30, COL_DOCUMENT = 35 };

static void col_bytes(sqlite3_stmt *st, int at, void *out, size_t len) { /* another length: zeros */
    const void *bytes = sqlite3_column_blob(st, at);
    if (bytes && (size_t)sqlite3_column_bytes(st, at) == len)
        memcpy(out, bytes, len);
    else
        memset(out, 0, len);
}

static void read_run(sqlite3_stmt *st, struct store_export_run *x) {
    *x =
        (struct store_export_run){.collector = col_text(st, 27), .version = col_text(st, 28), .host = col_span(st, 29)};
    struct store_import_run *r = &x->run;
    r->run_id = col_uuid(st, COL_RUN_ID);
    r->parent_id = col_uuid(st, 3);
    int64_t *const number[] = {&r->depth,     &r->reach,      &r->scope,      &r->collector, &r->target,
                               &r->attempts,  &r->token,      &r->children,   &r->bytes,     &r->http_status,
                               &r->queued_us, &r->started_us, &r->finished_us};
    for (size_t i = 0; i < COUNT_OF(number); i++)
        *number[i] = col_int(st, 4 + (int)i);
    r->state = (enum store_state)col_int(st, 17);
    r->edge = (enum store_edge)col_int(st, 18);
    r->line = col_int(st, 19);
    r->claimed = r->token > 0;
    col_bytes(st, 20, r->digest, STORE_DIGEST);
    r->payload = col_span(st, COL_TEXTS);
    r->url = col_span(st, 22);
    r->final_url = col_span(st, 23);
    r->context = col_text(st, 24);
    r->reason = col_text(st, 25);
    r->error = col_text(st, 26);
    r->result_ref = col_uuid(st, COL_RESULT_REF);
    x->reused.folder = col_text(st, 31);
    col_bytes(st, 32, &x->reused.sha256, SHA256_BYTES);
    x->reused.bytes = col_int(st, 33);
    x->reused.root_id = col_uuid(st, 34);
    if (sqlite3_column_type(st, COL_DOCUMENT) == SQLITE_NULL)
        return;
    x->document.result_id = col_uuid(st, COL_DOCUMENT);
    x->document.folder = col_text(st, 36);
    col_bytes(st, 37, &x->document.sha256, SHA256_BYTES);
    x->document.bytes = col_int(st, 38);
    x->document.collected_us = col_int(st, 39);
    x->document.datasets = col_text(st, 40);
    x->document.attachments = col_text(st, 41);
    r->document = &x->document;
}

static int hand_out(struct export *e, sqlite3_stmt *st) {
    struct store_export_run x;
    read_run(st, &x);
    int64_t key = col_int(st, COL_KEY);
    if (x.run.state >= STORE_STATES || x.run.edge >= STORE_EDGES)
        return sqlite_wrong(e->s, "run %s has a state that does not exist", col_text(st, COL_RUN_ID));
    int rc = export_collector(e, x.run.collector);
    if (!rc && !(rc = export_target(e, x.run.target)))
        rc = e->to->run(e->to->ctx, &x);
    e->handed_out++;
    if (!rc && keys_has(&e->awaited, key)) {
        MEM_GROW(e->turn, e->turns, e->turn_room);
        e->turn[e->turns++] = key;
    }
    return rc;
}

/* The children that were passed before their parent's turn came: those with keys up to `here`. */
static int hand_out_late(struct export *e, int64_t here) {
    int rc = TL_OK;
    for (size_t i = 0; !rc && i < e->turns; i++) {
        sqlite3_stmt *st = ask(e, RUN_COLUMNS "WHERE r.parent = ?1 AND r.key <= ?2 ORDER BY r.key", e->turn[i]);
        rc = st ? TL_OK : TL_FAILED;
        if (st)
            bind_int(st, 2, here);
        while (!rc && (rc = sqlite_row(e->s, st)) == 1)
            rc = hand_out(e, st);
        sqlite3_finalize(st);
    }
    e->turns = 0;
    return rc;
}

static int export_runs(struct export *e) {
    sqlite3_stmt *st = ask(e, RUN_COLUMNS "WHERE r.key >= ?1 AND +r.root = ?1 ORDER BY r.key", e->root);
    int rc = st ? TL_OK : TL_FAILED;
    int64_t passed = 0;
    while (!rc && (rc = sqlite_row(e->s, st)) == 1) {
        int64_t key = col_int(st, COL_KEY), parent = col_int(st, COL_PARENT);
        passed++;
        if (parent > key || keys_has(&e->late, parent)) {
            keys_add(&e->late, key);
            keys_add(&e->awaited, parent);
            rc = TL_OK;
            continue;
        }
        rc = hand_out(e, st);
        if (!rc && e->turns)
            rc = hand_out_late(e, key);
    }
    sqlite3_finalize(st);
    if (!rc && passed != e->handed_out)
        rc = fail_exit(e->why, TL_FAILED, EXIT_DAMAGED, "catalog %s: %lld of the crawl's runs do not hang on its root",
                       e->s->path, (long long)(passed - e->handed_out));
    return rc;
}

/* ---- what hangs on runs */

static int export_leashed(struct export *e) {
    sqlite3_stmt *st =
        ask(e,
            "SELECT p.run_id, l.collector, c.name, c.version, l.digest, l.url, l.reason, l.times, l.at_us "
            "FROM refusal l CROSS JOIN run p ON p.key = l.parent CROSS JOIN collector c ON c.key = l.collector "
            "WHERE l.root = ?1 ORDER BY l.digest, l.reason",
            e->root);
    int rc = st ? TL_OK : TL_FAILED;
    while (!rc && (rc = sqlite_row(e->s, st)) == 1) {
        struct store_export_leashed x = {.parent_id = col_uuid(st, 0),
                                         .collector = col_int(st, 1),
                                         .name = col_text(st, 2),
                                         .version = col_text(st, 3),
                                         .url = col_span(st, 5),
                                         .reason = (enum store_reason)col_int(st, 6),
                                         .times = col_int(st, 7),
                                         .at_us = col_int(st, 8)};
        col_bytes(st, 4, x.digest, STORE_DIGEST);
        if (!(rc = export_collector(e, x.collector)))
            rc = e->to->leashed(e->to->ctx, &x);
    }
    sqlite3_finalize(st);
    return rc;
}

static int export_edges(struct export *e) {
    sqlite3_stmt *st = ask(e,
                           "SELECT p.run_id, c.run_id, e.kind FROM run c CROSS JOIN edge e ON e.child = c.key "
                           "CROSS JOIN run p ON p.key = e.parent WHERE c.key >= ?1 AND +c.root = ?1 "
                           "ORDER BY c.key, e.kind, p.run_id",
                           e->root);
    int rc = st ? TL_OK : TL_FAILED;
    while (!rc && (rc = sqlite_row(e->s, st)) == 1) {
        struct uuid parent = col_uuid(st, 0), child = col_uuid(st, 1);
        rc = e->to->edge(e->to->ctx, &parent, &child, (enum store_edge)col_int(st, 2));
    }
    sqlite3_finalize(st);
    return rc;
}

static int export_events(struct export *e) {
    sqlite3_stmt *st =
        ask(e,
            "SELECT r.run_id, e.reactor, c.name, c.version, e.error, e.kind, e.args, e.reach, e.attempts, "
            "e.created_us, e.state FROM event e CROSS JOIN run r ON r.key = e.run "
            "CROSS JOIN collector c ON c.key = e.reactor WHERE e.root = ?1 ORDER BY e.key",
            e->root);
    int rc = st ? TL_OK : TL_FAILED;
    while (!rc && (rc = sqlite_row(e->s, st)) == 1) {
        const struct store_export_event x = {.run_id = col_uuid(st, 0),
                                             .collector = col_int(st, 1),
                                             .name = col_text(st, 2),
                                             .version = col_text(st, 3),
                                             .error = col_text(st, 4),
                                             .kind = (enum store_event_kind)col_int(st, 5),
                                             .args = col_span(st, 6),
                                             .reach = col_int(st, 7),
                                             .attempts = col_int(st, 8),
                                             .created_us = col_int(st, 9),
                                             .failed = col_int(st, 10) == 3};
        if (!(rc = export_collector(e, x.collector)))
            rc = e->to->event(e->to->ctx, &x);
    }
    sqlite3_finalize(st);
    return rc;
}

static int export_urls(struct export *e) {
    sqlite3_stmt *st =
        ask(e,
            "SELECT r.run_id, a.url, o.url, u.url, c.url, x.believed, x.plain, x.at_us FROM run r "
            "CROSS JOIN url_document x ON x.run = r.key CROSS JOIN url_row a ON a.id = x.asked CROSS JOIN url_row o "
            "ON o.id = x.source CROSS JOIN url_row u ON u.id = x.url LEFT JOIN url_row c ON c.id = x.claim "
            "WHERE r.key >= ?1 AND +r.root = ?1 ORDER BY x.at_us, r.key",
            e->root);
    int rc = st ? TL_OK : TL_FAILED;
    while (!rc && (rc = sqlite_row(e->s, st)) == 1) {
        const struct store_export_url x = {.run_id = col_uuid(st, 0),
                                           .asked = col_span(st, 1),
                                           .source = col_span(st, 2),
                                           .url = col_span(st, 3),
                                           .claim = col_span(st, 4),
                                           .believed = col_int(st, 5) != 0,
                                           .plain = col_int(st, 6) != 0,
                                           .at_us = col_int(st, 7)};
        rc = e->to->url(e->to->ctx, &x);
    }
    sqlite3_finalize(st);
    return rc;
}

static int export_validators(struct export *e) {
    sqlite3_stmt *st =
        ask(e,
            "SELECT r.run_id, u.url, v.credential, v.etag, v.last_modified, v.at_us FROM run r "
            "CROSS JOIN url_document x ON x.run = r.key CROSS JOIN validator v ON v.url = x.asked AND v.run = r.key "
            "CROSS JOIN url_row u ON u.id = v.url WHERE r.key >= ?1 AND +r.root = ?1 ORDER BY r.key, v.credential",
            e->root);
    int rc = st ? TL_OK : TL_FAILED;
    while (!rc && (rc = sqlite_row(e->s, st)) == 1) {
        const struct store_export_validator x = {.run_id = col_uuid(st, 0),
                                                 .url = col_span(st, 1),
                                                 .credential = col_text(st, 2),
                                                 .etag = col_text(st, 3),
                                                 .last_modified = col_text(st, 4),
                                                 .at_us = col_int(st, 5)};
        rc = e->to->validator(e->to->ctx, &x);
    }
    sqlite3_finalize(st);
    return rc;
}

static int export_links(struct export *e) {
    sqlite3_stmt *st =
        ask(e,
            "SELECT r.run_id, l.urn, l.name, l.href, l.type, l.deleted_us FROM run r CROSS JOIN link_row l "
            "ON l.run = r.key WHERE r.key >= ?1 AND +r.root = ?1 ORDER BY r.key, l.ordinal",
            e->root);
    int rc = st ? TL_OK : TL_FAILED;
    while (!rc && (rc = sqlite_row(e->s, st)) == 1) {
        const struct store_export_link x = {
            col_uuid(st, 0), {col_text(st, 1), col_text(st, 2), col_text(st, 3), col_text(st, 4), col_int(st, 5)}};
        rc = e->to->link(e->to->ctx, &x);
    }
    sqlite3_finalize(st);
    return rc;
}

int store_export(struct store *s, int64_t root, const struct store_exporter *to, struct fail *why) {
    struct export e = {.s = s, .root = root, .to = to, .why = why};
    int (*const part[])(struct export *) = {export_scopes, export_runs, export_leashed,    export_edges,
                                            export_events, export_urls, export_validators, export_links};
    int rc = sqlite_flush(s);
    for (size_t i = 0; !rc && i < COUNT_OF(part); i++)
        if ((part[i] != export_urls || to->url) && (part[i] != export_validators || to->validator) &&
            (part[i] != export_links || to->link))
            rc = part[i](&e);
    free(e.collectors.slot);
    free(e.targets.slot);
    free(e.late.slot);
    free(e.awaited.slot);
    free(e.turn);
    return s->fail.status ? sqlite_answer(s, rc < 0 ? rc : TL_FAILED, why) : rc;
}
