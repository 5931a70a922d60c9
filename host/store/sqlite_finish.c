/* sqlite_finish.c - how runs end: finished with a document, or back to the queue.
 *
 * Invariant: only the claim that holds the newest token ends a run, once; a late one writes nothing. A run has at most
 * one document row: that of its last end. */
#include <string.h>

#include "base/mem.h"
#include "store/sqlite.h"

struct held { /* what the run's row says before it ends */
    int64_t root, scope, token, bytes;
    enum store_state state;
};

static int load(struct store *s, int64_t key, struct held *h) {
    sqlite3_stmt *st =
        sqlite_sql(s, SQL_FINISH_FIND, "SELECT root, scope, token, bytes, state FROM run WHERE key = ?1");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, key);
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc < 0 ? rc : TL_NOTFOUND;
    *h = (struct held){.root = col_int(st, 0),
                       .scope = col_int(st, 1),
                       .token = col_int(st, 2),
                       .bytes = col_int(st, 3),
                       .state = (enum store_state)col_int(st, 4)};
    sqlite3_reset(st);
    return TL_OK;
}

static int end_run(struct store *s, const struct store_finish *f) {
    sqlite3_stmt *st = sqlite_sql(
        s, SQL_FINISH,
        "UPDATE run SET state = ?2, reason = ?3, error = ?4, owner = NULL, started_us = coalesce(?5, started_us), "
        "finished_us = ?6, bytes = ?7, http_status = ?8, final_url = nullif(?9, url), result_ref = ?10, "
        "attempts = attempts + ?11, not_before_us = 0 WHERE key = ?1");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, f->key);
    bind_int(st, 2, f->state);
    bind_text(st, 3, f->reason);
    bind_text(st, 4, f->error);
    bind_key(st, 5, f->started_us);
    bind_int(st, 6, f->finished_us ? f->finished_us : store_now_us(s));
    bind_int(st, 7, f->bytes);
    bind_int(st, 8, f->http_status);
    bind_span(st, 9, f->final_url);
    bind_key(st, 10, f->result_ref);
    bind_int(st, 11, f->state == STORE_CRASHED);
    return sqlite_done(s, st);
}

static int has_document(struct store *s, int64_t run, bool *has) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_DOCUMENT_OLD, "SELECT 1 FROM document WHERE run = ?1");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, run);
    int rc = sqlite_row(s, st);
    if (rc < 0)
        return rc;
    *has = rc;
    sqlite3_reset(st);
    return TL_OK;
}

int sqlite_document(struct store *s, int64_t run, const struct store_document *d, bool first, bool *replaced) {
    int64_t folder = 0;
    char id[UUID_TEXT];
    sqlite3_stmt *st;
    *replaced = false;
    if (sqlite_folder(s, d->folder, &folder) < 0 || (!first && has_document(s, run, replaced) < 0))
        return TL_FAILED;
    if (!(st = sqlite_sql(
              s, SQL_DOCUMENT_ADD,
              "INSERT INTO document (run, result_id, folder, sha256, bytes, collected_us, datasets, attachments) "
              "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (run) DO UPDATE SET "
              "result_id = excluded.result_id, folder = excluded.folder, sha256 = excluded.sha256, "
              "bytes = excluded.bytes, collected_us = excluded.collected_us, datasets = excluded.datasets, "
              "attachments = excluded.attachments")))
        return TL_FAILED;
    bind_int(st, 1, run);
    sqlite3_bind_text(st, 2, uuid_text(&d->result_id, id), UUID_TEXT - 1, SQLITE_STATIC);
    bind_int(st, 3, folder);
    bind_blob(st, 4, d->sha256.byte, SHA256_BYTES);
    bind_int(st, 5, d->bytes);
    bind_int(st, 6, d->collected_us);
    bind_text(st, 7, d->datasets ? d->datasets : "[]");
    bind_text(st, 8, d->attachments);
    int rc = sqlite_done(s, st);
    return rc < 0 || !*replaced ? rc : sqlite_tables_anew(s, run);
}

static int finish_one(struct store *s, const struct store_finish *f) {
    struct held h;
    int rc = load(s, f->key, &h);
    if (rc < 0)
        return rc;
    if (h.state != STORE_LEASED || h.token != f->token)
        return TL_NOTFOUND;
    if (f->state < STORE_SUCCESS)
        return sqlite_wrong(s, "a run was to finish as %s", store_state_name[f->state]);
    if (end_run(s, f) < 0)
        return TL_FAILED;
    bool replaced = true;
    if (f->document && sqlite_document(s, f->key, f->document, h.token == 1, &replaced) < 0)
        return TL_FAILED;
    struct sqlite_root *r = sqlite_root(s, h.root);
    if (f->bytes)
        sqlite_spend(s, r, h.scope, 0, f->bytes);
    r->leased--;
    r->failed += f->state == STORE_FAILED || f->state == STORE_CRASHED;
    r->documents += !replaced;
    r->bytes += f->bytes - h.bytes;
    return TL_OK;
}

int store_finish(struct store *s, const struct store_finish *f, size_t n, int *status, struct fail *why) {
    if (!sqlite_writing(s))
        return sqlite_answer(s, TL_FAILED, why);
    for (size_t i = 0; i < n; i++) {
        status[i] = finish_one(s, &f[i]);
        if (s->broken)
            return sqlite_answer(s, TL_FAILED, why);
    }
    return TL_OK;
}

int store_retry(struct store *s, int64_t key, int64_t token, int64_t not_before_us, bool free_of_charge,
                const char *error) {
    struct held h;
    if (!sqlite_writing(s))
        return TL_FAILED;
    int rc = load(s, key, &h);
    if (rc < 0)
        return rc;
    if (h.state != STORE_LEASED || h.token != token)
        return TL_NOTFOUND;
    sqlite3_stmt *st = sqlite_sql(s, SQL_RETRY,
                                  "UPDATE run SET state = 0, owner = NULL, started_us = 0, attempts = attempts + ?2, "
                                  "not_before_us = ?3, error = ?4 WHERE key = ?1");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, key);
    bind_int(st, 2, !free_of_charge);
    bind_int(st, 3, not_before_us > 0 ? not_before_us : 0);
    bind_text(st, 4, error);
    if (sqlite_done(s, st) < 0)
        return TL_FAILED;
    struct sqlite_root *r = sqlite_root(s, h.root);
    r->leased--;
    r->queued++;
    r->hint = (struct sqlite_hint){0};
    return TL_OK;
}
