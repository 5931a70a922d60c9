/* sqlite_crawl.c - crawls from beginning to end: made, found, closed, stopped, given back what failed.
 *
 * The counters of a crawl's row are kept with the transactions that change them, so a crawl of a million runs is shown
 * at once. */
#include <string.h>

#include "base/mem.h"
#include "store/sqlite.h"

static int next_key(struct store *s, int64_t *key) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_CRAWL_NEXT_KEY, "SELECT coalesce(max(key), 0) + 1 FROM run");
    if (!st)
        return TL_FAILED;
    if (sqlite_row(s, st) != 1)
        return TL_FAILED;
    *key = col_int(st, 0);
    sqlite3_reset(st);
    return TL_OK;
}

static int add_crawl(struct store *s, const struct store_crawl *c) {
    sqlite3_stmt *st = sqlite_sql(
        s, SQL_CRAWL_ADD,
        "INSERT INTO crawl (root, name, file_json, file_sha256, leash_json, context_json, target, scope, closed, "
        "stop_asked, reason, started_us, finished_us, turn_us, due_us) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, c->root);
    bind_text(st, 2, c->name);
    bind_text(st, 3, c->file_json ? c->file_json : "{}");
    bind_text(st, 4, c->file_sha256);
    bind_text(st, 5, c->leash_json);
    bind_text(st, 6, c->context_json);
    bind_key(st, 7, c->target);
    bind_key(st, 8, c->scope);
    bind_int(st, 9, c->closed);
    bind_int(st, 10, c->stop_asked);
    bind_text(st, 11, c->reason);
    bind_int(st, 12, c->started_us);
    bind_int(st, 13, c->finished_us);
    bind_int(st, 14, c->turn_us);
    bind_int(st, 15, c->due_us);
    return sqlite_done(s, st);
}

static int add_root(struct store *s, const struct store_crawl *c, int64_t collector, struct tl_span payload,
                    int64_t owner) {
    static const char sql[] =
        "INSERT INTO run (key, run_id, root, depth, reach, edge, line, collector, target, digest, payload, state, "
        "token, "
        "owner, queued_us, started_us) VALUES (?1, ?2, ?1, 0, 0, 0, 0, ?3, ?4, ?5, ?6, 1, 1, ?7, ?8, ?8)";
    sqlite3_stmt *st = NULL; /* once a crawl: not kept */
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);
    if (rc != SQLITE_OK)
        return sqlite_fault(s, rc, "write to");
    struct sha256 digest = hash_sha256(payload.ptr, payload.len);
    char id[UUID_TEXT];
    bind_int(st, 1, c->root);
    bind_text(st, 2, uuid_text(&c->root_id, id));
    bind_int(st, 3, collector);
    bind_key(st, 4, c->target);
    bind_blob(st, 5, digest.byte, STORE_DIGEST);
    bind_span(st, 6, payload);
    bind_int(st, 7, owner);
    bind_int(st, 8, c->started_us);
    rc = sqlite_done(s, st);
    sqlite3_finalize(st);
    return rc;
}

int store_crawl_new(struct store *s, struct store_crawl *c, int64_t collector, struct tl_span payload,
                    const char *owner, struct fail *why) {
    int64_t owner_key = 0;
    if (!sqlite_writing(s) || next_key(s, &c->root) < 0 || sqlite_owner(s, owner, &owner_key) < 0)
        return sqlite_answer(s, TL_FAILED, why);
    static const struct uuid none;
    if (memcmp(&c->root_id, &none, sizeof none) == 0)
        c->root_id = uuid_new();
    if (!c->started_us)
        c->started_us = store_now_us(s);
    c->scope = 0;
    c->closed = c->stop_asked = false;
    c->runs = 1;
    if (add_root(s, c, collector, payload, owner_key) < 0 || add_crawl(s, c) < 0)
        return sqlite_answer(s, TL_FAILED, why);
    struct sqlite_root *r = sqlite_root(s, c->root);
    r->runs++;
    r->leased++;
    return TL_OK;
}

int store_import_crawl(struct store *s, struct store_crawl *c, struct fail *why) {
    struct store_crawl row = *c;
    row.scope = 0;
    if (!sqlite_writing(s) || next_key(s, &row.root) < 0 || add_crawl(s, &row) < 0)
        return sqlite_answer(s, TL_FAILED, why);
    c->root = row.root;
    return TL_OK;
}

#define CRAWL_COLUMNS                                                                                                  \
    "SELECT c.root, r.run_id, c.target, c.scope, c.closed, c.stop_asked, c.started_us, c.finished_us, c.runs, "        \
    "c.failed, c.leashed, "                                                                                            \
    "c.documents, c.bytes, c.turn_us, c.due_us, c.name, c.file_json, c.file_sha256, c.leash_json, c.context_json, "    \
    "c.reason "                                                                                                        \
    "FROM crawl c JOIN run r ON r.key = c.root "

/* Fills in what the statement found; texts are copied, so that no statement is left in the middle. */
static int read_crawl(struct store *s, sqlite3_stmt *st, struct store_crawl *out) {
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc < 0 ? rc : TL_NOTFOUND;
    *out = (struct store_crawl){.root = col_int(st, 0),
                                .root_id = col_uuid(st, 1),
                                .target = col_int(st, 2),
                                .scope = col_int(st, 3),
                                .closed = col_int(st, 4),
                                .stop_asked = col_int(st, 5),
                                .started_us = col_int(st, 6),
                                .finished_us = col_int(st, 7),
                                .runs = col_int(st, 8),
                                .failed = col_int(st, 9),
                                .leashed = col_int(st, 10),
                                .documents = col_int(st, 11),
                                .bytes = col_int(st, 12),
                                .turn_us = col_int(st, 13),
                                .due_us = col_int(st, 14)};
    const char **text[] = {&out->name,       &out->file_json,    &out->file_sha256,
                           &out->leash_json, &out->context_json, &out->reason};
    size_t at[COUNT_OF(text)];
    buf_reset(&s->crawl_text);
    for (size_t i = 0; i < COUNT_OF(text); i++) {
        struct tl_span value = col_span(st, 15 + (int)i);
        at[i] = s->crawl_text.len;
        buf_add(&s->crawl_text, value.ptr, value.len);
        buf_char(&s->crawl_text, '\0');
    }
    for (size_t i = 0; i < COUNT_OF(text); i++)
        *text[i] = sqlite3_column_type(st, 15 + (int)i) == SQLITE_NULL ? NULL : s->crawl_text.data + at[i];
    sqlite3_reset(st);
    return TL_OK;
}

int store_crawl_by_name(struct store *s, const char *name, bool open_only, struct store_crawl *out) {
    if (sqlite_flush(s) < 0)
        return TL_FAILED;
    sqlite3_stmt *st =
        open_only ? sqlite_sql(s, SQL_CRAWL_OPEN,
                               CRAWL_COLUMNS "WHERE c.name = ?1 AND NOT c.closed ORDER BY c.root DESC LIMIT 1")
                  : sqlite_sql(s, SQL_CRAWL_NAME, CRAWL_COLUMNS "WHERE c.name = ?1 ORDER BY c.root DESC LIMIT 1");
    if (!st)
        return TL_FAILED;
    AUTO_FREE char *copy = mem_text(name); /* may point into the texts of the last answer */
    bind_text(st, 1, copy);
    return read_crawl(s, st, out);
}

int store_crawl_by_id(struct store *s, const struct uuid *root, struct store_crawl *out) {
    if (sqlite_flush(s) < 0)
        return TL_FAILED;
    sqlite3_stmt *st = sqlite_sql(s, SQL_CRAWL_ID, CRAWL_COLUMNS "WHERE r.run_id = ?1");
    if (!st)
        return TL_FAILED;
    char id[UUID_TEXT];
    bind_text(st, 1, uuid_text(root, id));
    return read_crawl(s, st, out);
}

/* Runs a change of one crawl's row whose other parameters are bound; TL_NOTFOUND when there is none, or not in the
 * right state. */
static int change(struct store *s, sqlite3_stmt *st, int64_t root) {
    bind_int(st, 1, root);
    if (sqlite_done(s, st) < 0)
        return TL_FAILED;
    return sqlite3_changes(s->db) ? TL_OK : TL_NOTFOUND;
}

int store_crawl_close(struct store *s, int64_t root, const char *reason, const char *package_sha256) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_CRAWL_CLOSE,
                                  "UPDATE crawl SET closed = 1, stop_asked = 0, reason = ?2, package_sha256 = ?3, "
                                  "finished_us = ?4 WHERE root = ?1 AND closed = 0");
    if (!st || !sqlite_writing(s))
        return TL_FAILED;
    bind_text(st, 2, reason);
    bind_text(st, 3, package_sha256);
    bind_int(st, 4, store_now_us(s));
    return change(s, st, root);
}

int store_crawl_reason(struct store *s, int64_t root, const char *reason) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_CRAWL_REASON, "UPDATE crawl SET reason = ?2 WHERE root = ?1 AND closed = 0");
    if (!st || !sqlite_writing(s))
        return TL_FAILED;
    bind_text(st, 2, reason);
    return change(s, st, root);
}

int store_crawl_stop(struct store *s, int64_t root) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_CRAWL_STOP, "UPDATE crawl SET stop_asked = 1 WHERE root = ?1 AND closed = 0");
    if (!st || !sqlite_writing(s))
        return TL_FAILED;
    return change(s, st, root);
}

int store_crawl_stop_asked(struct store *s, int64_t root, bool *asked) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_CRAWL_ASKED, "SELECT stop_asked FROM crawl WHERE root = ?1");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, root);
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc < 0 ? rc : TL_NOTFOUND;
    *asked = col_int(st, 0);
    sqlite3_reset(st);
    return TL_OK;
}

/* ---- the queue as a whole */

static int count_refusals(struct store *s, int64_t root, enum store_reason reason, int64_t *count) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_DROP_COUNT, "SELECT count(*) FROM refusal WHERE root = ?1 AND reason = ?2");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, root);
    bind_int(st, 2, reason);
    if (sqlite_row(s, st) != 1)
        return TL_FAILED;
    *count = col_int(st, 0);
    sqlite3_reset(st);
    return TL_OK;
}

static int drop_refusals(struct store *s, int64_t root, enum store_reason reason) {
    int64_t before = 0, after = 0;
    if (count_refusals(s, root, reason, &before) < 0)
        return TL_FAILED;
    sqlite3_stmt *st = sqlite_sql(s, SQL_DROP_REFUSALS,
                                  "INSERT INTO refusal (root, digest, reason, parent, collector, url, times, at_us) "
                                  "SELECT root, digest, ?2, parent, collector, url, 1, ?3 FROM run "
                                  "WHERE root = ?1 AND state = 0 AND parent IS NOT NULL "
                                  "ON CONFLICT DO UPDATE SET times = times + 1");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, root);
    bind_int(st, 2, reason);
    bind_int(st, 3, store_now_us(s));
    if (sqlite_done(s, st) < 0 || count_refusals(s, root, reason, &after) < 0)
        return TL_FAILED;
    sqlite_root(s, root)->leashed += after - before;
    return TL_OK;
}

int store_crawl_drop_queue(struct store *s, int64_t root, enum store_state to, enum store_reason reason,
                           int64_t *count) {
    *count = 0;
    if (!sqlite_writing(s))
        return TL_FAILED;
    if (to == STORE_REFUSED && reason && drop_refusals(s, root, reason) < 0)
        return TL_FAILED;
    sqlite3_stmt *st = sqlite_sql(s, SQL_DROP,
                                  "UPDATE run SET state = ?2, reason = ?3, finished_us = ?4 "
                                  "WHERE root = ?1 AND state = 0");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, root);
    bind_int(st, 2, to);
    bind_text(st, 3, reason ? store_reason_name[reason] : NULL);
    bind_int(st, 4, store_now_us(s));
    if (sqlite_done(s, st) < 0)
        return TL_FAILED;
    *count = sqlite3_changes(s->db);
    struct sqlite_root *r = sqlite_root(s, root);
    r->queued -= *count;
    r->hint = (struct sqlite_hint){0};
    return TL_OK;
}

int store_crawl_retry(struct store *s, int64_t root, const char *reason, int64_t *count) {
    *count = 0;
    if (!sqlite_writing(s))
        return TL_FAILED;
    sqlite3_stmt *st = sqlite_sql(
        s, SQL_RETRY_FAILED,
        "UPDATE run SET state = 0, attempts = 0, not_before_us = 0, reason = NULL, error = NULL, started_us = 0, "
        "finished_us = 0 WHERE root = ?1 AND state IN (4, 5) AND (?2 IS NULL OR reason = ?2)");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, root);
    bind_text(st, 2, reason);
    if (sqlite_done(s, st) < 0)
        return TL_FAILED;
    *count = sqlite3_changes(s->db);
    if (!*count)
        return TL_OK;
    struct sqlite_root *r = sqlite_root(s, root);
    r->queued += *count;
    r->failed -= *count;
    r->hint = (struct sqlite_hint){0};
    if (!(st = sqlite_sql(s, SQL_CRAWL_REOPEN,
                          "UPDATE crawl SET closed = 0, stop_asked = 0, reason = NULL, finished_us = 0, "
                          "package_sha256 = NULL WHERE root = ?1")))
        return TL_FAILED;
    bind_int(st, 1, root);
    return sqlite_done(s, st);
}
