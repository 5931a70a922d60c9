/* sqlite_package.c - what the package of a crawl adds to its rows, and documents by their id while others write.
 *
 * A look-up holds no transaction open between two answers, so that a long check keeps nobody from tidying the log. */
#include <string.h>

#include "base/mem.h"
#include "store/package.h"
#include "store/sqlite.h"

/* Steps a statement that was made for this once, and drops it. */
static int once(struct store *s, sqlite3_stmt *st) {
    int rc = sqlite_done(s, st);
    sqlite3_finalize(st);
    if (rc < 0)
        return rc;
    return sqlite3_changes(s->db) ? TL_OK : TL_NOTFOUND;
}

int store_package_finished(struct store *s, int64_t root, int64_t finished_us) {
    sqlite3_stmt *st =
        sqlite_writing(s) ? sqlite_prepare(s, "UPDATE crawl SET finished_us = ?2 WHERE root = ?1 AND closed") : NULL;
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, root);
    bind_int(st, 2, finished_us);
    return once(s, st);
}

int store_package_sha256(struct store *s, int64_t root, const char *sha256) {
    sqlite3_stmt *st =
        sqlite_writing(s) ? sqlite_prepare(s, "UPDATE crawl SET package_sha256 = ?2 WHERE root = ?1 AND closed") : NULL;
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, root);
    bind_text(st, 2, sha256);
    return once(s, st);
}

int store_import_collector(struct store *s, const char *name, const char *version, const char *summary,
                           const char *sha256, int64_t first_us, int64_t *key) {
    int rc = store_collector(s, name, version, summary, sha256, key);
    if (rc)
        return rc;
    sqlite3_stmt *st = sqlite_writing(s)
                           ? sqlite_prepare(s, "UPDATE collector SET first_us = min(first_us, ?2) WHERE key = ?1")
                           : NULL;
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, *key);
    bind_int(st, 2, first_us);
    return once(s, st);
}

int store_import_event(struct store *s, int64_t root, const struct store_export_event *e) {
    sqlite3_stmt *st =
        sqlite_writing(s)
            ? sqlite_prepare(s,
                             "INSERT INTO event (root, run, reactor, kind, args, reach, state, attempts, created_us, "
                             "error) SELECT ?1, key, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 FROM run WHERE run_id = ?2")
            : NULL;
    char id[UUID_TEXT];
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, root);
    bind_text(st, 2, uuid_text(&e->run_id, id));
    bind_int(st, 3, e->collector);
    bind_int(st, 4, e->kind);
    bind_span(st, 5, e->args);
    bind_int(st, 6, e->reach);
    bind_int(st, 7, e->failed ? 3 : 0);
    bind_int(st, 8, e->attempts);
    bind_int(st, 9, e->created_us);
    bind_text(st, 10, e->error);
    int rc = once(s, st);
    if (rc == TL_OK && !e->failed)
        sqlite_root(s, root)->events++;
    return rc;
}

struct store_results {
    struct store *s;
    sqlite3_stmt *st;
    struct buf text;
};

int store_results_open(struct store *s, struct store_results **out, struct fail *why) {
    sqlite3_stmt *st =
        sqlite_prepare(s, "SELECT r.run_id, o.run_id, f.path, d.sha256, d.bytes, d.attachments FROM document d "
                          "CROSS JOIN run r ON r.key = d.run CROSS JOIN run o ON o.key = r.root "
                          "CROSS JOIN folder f ON f.key = d.folder WHERE d.result_id = ?1");
    *out = NULL;
    if (!st)
        return sqlite_answer(s, TL_FAILED, why);
    *out = mem_alloc(sizeof **out);
    **out = (struct store_results){.s = s, .st = st};
    return TL_OK;
}

int store_results_find(struct store_results *r, const struct uuid *result_id, struct store_result *out,
                       struct fail *why) {
    char id[UUID_TEXT];
    bind_text(r->st, 1, uuid_text(result_id, id));
    int rc = sqlite_row(r->s, r->st);
    if (rc <= 0)
        return rc < 0 ? sqlite_answer(r->s, rc, why) : TL_NOTFOUND;
    bool attached = sqlite3_column_type(r->st, 5) != SQLITE_NULL;
    const void *sum = sqlite3_column_blob(r->st, 3);
    *out =
        (struct store_result){.run_id = col_uuid(r->st, 0), .root_id = col_uuid(r->st, 1), .bytes = col_int(r->st, 4)};
    if (sum && sqlite3_column_bytes(r->st, 3) == SHA256_BYTES)
        memcpy(&out->sha256, sum, SHA256_BYTES);
    buf_reset(&r->text);
    buf_text(&r->text, col_text(r->st, 2));
    buf_char(&r->text, '\0');
    size_t at = r->text.len;
    if (attached)
        buf_text(&r->text, col_text(r->st, 5));
    out->folder = r->text.data;
    out->attachments = attached ? r->text.data + at : NULL;
    sqlite3_reset(r->st);
    return TL_OK;
}

void store_results_close(struct store_results *r) {
    if (!r)
        return;
    sqlite3_finalize(r->st);
    buf_free(&r->text);
    free(r);
}
