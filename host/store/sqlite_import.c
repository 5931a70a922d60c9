/* sqlite_import.c - a closed crawl back into the catalog, from its package in the lake.
 *
 * Rows come as they were, in order, parents first, so that keys rise in the order of put as they did. Counters of the
 * crawl's row are those of the rows that came. */
#include <string.h>

#include "base/mem.h"
#include "store/package.h"
#include "store/sqlite.h"

static const struct uuid no_id;

static bool is_id(const struct uuid *id) {
    return memcmp(id, &no_id, sizeof no_id) != 0;
}

static int find(struct store *s, enum sqlite_id statement, const char *sql, const struct uuid *id, int64_t *key) {
    sqlite3_stmt *st = sqlite_sql(s, statement, sql);
    if (!st)
        return TL_FAILED;
    char text[UUID_TEXT];
    bind_text(st, 1, uuid_text(id, text));
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc < 0 ? rc : TL_NOTFOUND;
    *key = col_int(st, 0);
    sqlite3_reset(st);
    return TL_OK;
}

static int find_run(struct store *s, const struct uuid *id, int64_t *key) {
    return find(s, SQL_IMPORT_FIND, "SELECT key FROM run WHERE run_id = ?1", id, key);
}

struct place { /* what a row names, as keys */
    int64_t key, parent, result;
};

static int locate(struct store *s, int64_t root, const struct store_import_run *r, struct place *p, struct fail *why) {
    char id[UUID_TEXT];
    *p = (struct place){.key = is_id(&r->parent_id) ? 0 : root};
    int64_t there;
    if (find_run(s, &r->run_id, &there) == TL_OK)
        return fail_exit(why, TL_INVALID, EXIT_DAMAGED, "run %s is in the catalog %s already",
                         uuid_text(&r->run_id, id), s->path);
    if (!p->key && find_run(s, &r->parent_id, &p->parent) != TL_OK)
        return fail_exit(why, TL_INVALID, EXIT_DAMAGED, "the parent of run %s is missing: its package is damaged",
                         uuid_text(&r->run_id, id));
    if (is_id(&r->result_ref) && find(s, SQL_IMPORT_RESULT, "SELECT run FROM document WHERE result_id = ?1",
                                      &r->result_ref, &p->result) == TL_FAILED)
        return TL_FAILED;
    return s->broken ? TL_FAILED : TL_OK;
}

static int insert(struct store *s, int64_t root, const struct store_import_run *r, struct place *p) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_IMPORT_RUN,
                                  "INSERT INTO run (key, run_id, root, parent, depth, reach, edge, line, collector, "
                                  "target, context, scope, host, digest, payload, "
                                  "url, state, reason, error, attempts, token, children, queued_us, started_us, "
                                  "finished_us, bytes, http_status, final_url, "
                                  "result_ref, result_ref_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, "
                                  "?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, "
                                  "?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30)");
    if (!st)
        return TL_FAILED;
    char id[UUID_TEXT], ref[UUID_TEXT];
    int64_t token = r->claimed ? (r->token > 0 ? r->token : 1) : 0;
    bind_key(st, 1, p->key);
    bind_text(st, 2, uuid_text(&r->run_id, id));
    bind_int(st, 3, root);
    bind_key(st, 4, p->parent);
    const int64_t number[] = {r->depth, r->reach, r->edge, r->line, r->collector};
    for (int i = 0; i < 5; i++)
        bind_int(st, 5 + i, number[i]);
    bind_key(st, 10, r->target);
    bind_text(st, 11, r->context);
    bind_key(st, 12, r->scope);
    bind_key(st, 13, r->host);
    bind_blob(st, 14, r->digest, STORE_DIGEST);
    bind_span(st, 15, r->payload);
    bind_span(st, 16, r->url);
    bind_int(st, 17, r->state);
    bind_text(st, 18, r->reason);
    bind_text(st, 19, r->error);
    const int64_t more[] = {r->attempts,   token,          r->children, r->queued_us,
                            r->started_us, r->finished_us, r->bytes,    r->http_status};
    for (int i = 0; i < 8; i++)
        bind_int(st, 20 + i, more[i]);
    bind_span(st, 28, r->final_url);
    bind_key(st, 29, p->result);
    bind_text(st, 30, is_id(&r->result_ref) && !p->result ? uuid_text(&r->result_ref, ref) : NULL);
    if (sqlite_done(s, st) < 0)
        return TL_FAILED;
    p->key = sqlite3_last_insert_rowid(s->db);
    return TL_OK;
}

int store_import_run(struct store *s, int64_t root, const struct store_import_run *r, int64_t *key, struct fail *why) {
    struct place p;
    bool replaced = true;
    if (!sqlite_writing(s))
        return sqlite_answer(s, TL_FAILED, why);
    int rc = locate(s, root, r, &p, why);
    if (rc < 0)
        return sqlite_answer(s, rc, why);
    if (insert(s, root, r, &p) < 0 || (r->claimed && sqlite_ancestors(s, p.key, p.parent) < 0) ||
        (r->document && sqlite_document(s, p.key, r->document, false, &replaced) < 0))
        return sqlite_answer(s, TL_FAILED, why);
    if (p.result && r->state == STORE_NOT_MODIFIED && store_url_seen(s, p.result, r->finished_us) < 0)
        return sqlite_answer(s, TL_FAILED, why);
    struct sqlite_root *at = sqlite_root(s, root);
    at->runs++;
    at->failed += r->state == STORE_FAILED || r->state == STORE_CRASHED;
    at->queued += r->state == STORE_QUEUED;
    at->leased += r->state == STORE_LEASED;
    at->documents += !replaced;
    at->bytes += r->bytes;
    *key = p.key;
    return TL_OK;
}

int store_import_leashed(struct store *s, int64_t root, const struct uuid *parent, int64_t collector,
                         const uint8_t digest[STORE_DIGEST], struct tl_span url, enum store_reason reason,
                         int64_t times, int64_t at_us) {
    int64_t key;
    if (!sqlite_writing(s))
        return TL_FAILED;
    int rc = find_run(s, parent, &key);
    return rc < 0 ? rc : sqlite_refuse(s, root, key, collector, digest, url, reason, times, at_us);
}

int store_import_edge(struct store *s, const struct uuid *parent, const struct uuid *child, enum store_edge kind) {
    int64_t from, to;
    if (!sqlite_writing(s))
        return TL_FAILED;
    int rc = find_run(s, parent, &from);
    if (rc == TL_OK)
        rc = find_run(s, child, &to);
    if (rc < 0 || kind < STORE_CACHED_EDGE) /* what makes the tree came with the runs */
        return rc;
    sqlite3_stmt *st = sqlite_sql(s, SQL_IMPORT_EDGE,
                                  "INSERT INTO edge (child, kind, parent) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, to);
    bind_int(st, 2, kind);
    bind_int(st, 3, from);
    return sqlite_done(s, st);
}

int store_import_url(struct store *s, const struct uuid *run_id, struct store_fetched *fetched) {
    int rc = sqlite_writing(s) ? find_run(s, run_id, &fetched->run) : TL_FAILED;
    return rc ? rc : store_url_fetched(s, fetched);
}

int store_import_validator(struct store *s, const struct uuid *run_id, struct store_url url, const char *credential,
                           struct store_validator *v) {
    int rc = sqlite_writing(s) ? find_run(s, run_id, &v->run) : TL_FAILED;
    return rc ? rc : store_validator_put(s, url, credential, v);
}

int store_import_links(struct store *s, const struct uuid *run_id, const struct store_link *l, size_t n) {
    int64_t run, at_us = 0;
    int rc = sqlite_writing(s) ? find_run(s, run_id, &run) : TL_FAILED;
    if (rc)
        return rc;
    sqlite3_stmt *st = sqlite_sql(s, SQL_IMPORT_TIME, "SELECT collected_us FROM document WHERE run = ?1");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, run);
    if ((rc = sqlite_row(s, st)) <= 0)
        return rc < 0 ? rc : TL_NOTFOUND;
    at_us = col_int(st, 0);
    sqlite3_reset(st);
    return store_links_put(s, run, l, n, at_us);
}
