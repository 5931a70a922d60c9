/* sqlite_tables.c - see tables.h. Statements are few a conversion and are prepared where they are used, but for those
 * that each document needs. */
#include "store/tables.h"

#include <string.h>

#include "base/mem.h"
#include "store/sqlite.h"

static sqlite3_stmt *to_write(struct store *s, const char *sql) {
    return sqlite_writing(s) ? sqlite_prepare(s, sql) : NULL;
}

/* ---- files */

int store_table_put(struct store *s, struct store_table *f, struct fail *why) {
    char id[UUID_TEXT];
    sqlite3_stmt *st =
        to_write(s, "INSERT INTO table_file (id, path, kind, format, name, version, hour_us, rows, bytes, sha256, "
                    "written_us, replaced_us) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)");
    if (!st)
        return sqlite_answer(s, TL_FAILED, why);
    bind_text(st, 1, uuid_text(&f->id, id));
    bind_text(st, 2, f->path);
    bind_int(st, 3, f->kind);
    bind_text(st, 4, f->format);
    bind_text(st, 5, f->name);
    bind_text(st, 6, f->version);
    bind_int(st, 7, f->hour_us);
    bind_int(st, 8, f->rows);
    bind_int(st, 9, f->bytes);
    bind_blob(st, 10, f->sha256.byte, SHA256_BYTES);
    bind_int(st, 11, f->written_us);
    bind_int(st, 12, f->replaced ? f->written_us : 0);
    int rc = sqlite_finish(s, st);
    f->key = sqlite3_last_insert_rowid(s->db);
    return sqlite_answer(s, rc, why);
}

int store_table_source(struct store *s, int64_t root, int64_t file) {
    sqlite3_stmt *st = to_write(s, "INSERT OR IGNORE INTO table_source (root, file) VALUES (?1, ?2)");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, root);
    bind_int(st, 2, file);
    return sqlite_finish(s, st);
}

int store_converted_put(struct store *s, int64_t run, int64_t parquet, int64_t avro, int64_t items, int64_t at_us) {
    sqlite3_stmt *st = sqlite_writing(s)
                           ? sqlite_sql(s, SQL_CONVERTED,
                                        "INSERT INTO converted (run, parquet, avro, items, at_us) VALUES (?1, ?2, ?3, "
                                        "?4, ?5) ON CONFLICT (run) DO UPDATE SET parquet = ?2, avro = ?3, items = ?4, "
                                        "at_us = ?5")
                           : NULL;
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, run);
    bind_key(st, 2, parquet);
    bind_key(st, 3, avro);
    bind_int(st, 4, items);
    bind_int(st, 5, at_us);
    return sqlite_done(s, st);
}

static int change(struct store *s, const char *sql, int64_t a, int64_t b, int64_t c) {
    sqlite3_stmt *st = to_write(s, sql);
    if (!st)
        return TL_FAILED;
    const int64_t value[] = {a, b, c};
    for (int i = 0; i < sqlite3_bind_parameter_count(st); i++)
        bind_int(st, i + 1, value[i]);
    return sqlite_finish(s, st);
}

int sqlite_tables_anew(struct store *s, int64_t run) {
    int rc = change(s, "DELETE FROM refined WHERE run = ?1", run, 0, 0);
    if (!rc)
        rc = change(s, "DELETE FROM discovered WHERE run = ?1", run, 0, 0);
    return rc ? rc : change(s, "DELETE FROM converted WHERE run = ?1", run, 0, 0);
}

int store_table_replace(struct store *s, const int64_t *old_parquet, const int64_t *old_avro, size_t n, int64_t parquet,
                        int64_t avro, int64_t at_us) {
    int rc = TL_OK;
    for (size_t i = 0; !rc && i < n; i++) {
        rc = change(s, "UPDATE converted SET parquet = ?2, avro = ?3 WHERE avro = ?1", old_avro[i], parquet, avro);
        const int64_t old[] = {old_parquet[i], old_avro[i]}, now[] = {parquet, avro};
        for (int k = 0; !rc && k < 2; k++) {
            rc = change(s,
                        "INSERT OR IGNORE INTO table_source (root, file) SELECT root, ?2 FROM table_source WHERE "
                        "file = ?1",
                        old[k], now[k], 0);
            if (!rc)
                rc = change(s, "UPDATE table_file SET replaced_us = ?2 WHERE key = ?1", old[k], at_us, 0);
        }
    }
    return rc;
}

int store_table_forget(struct store *s, int64_t file) {
    int rc = change(s, "DELETE FROM table_source WHERE file = ?1", file, 0, 0);
    return rc ? rc : change(s, "DELETE FROM table_file WHERE key = ?1 AND replaced_us > 0", file, 0, 0);
}

static const char *const file_columns =
    "SELECT key, id, path, kind, format, name, version, hour_us, rows, bytes, sha256, written_us, replaced_us "
    "FROM table_file ";

static struct store_table file_row(sqlite3_stmt *st) {
    struct store_table f = {.key = col_int(st, 0),
                            .id = col_uuid(st, 1),
                            .path = col_text(st, 2),
                            .kind = (enum store_table_kind)col_int(st, 3),
                            .format = col_text(st, 4),
                            .name = col_text(st, 5),
                            .version = col_text(st, 6),
                            .hour_us = col_int(st, 7),
                            .rows = col_int(st, 8),
                            .bytes = col_int(st, 9),
                            .written_us = col_int(st, 11),
                            .replaced = col_int(st, 12) > 0};
    const void *sum = sqlite3_column_blob(st, 10);
    if (sum && sqlite3_column_bytes(st, 10) == SHA256_BYTES)
        memcpy(&f.sha256, sum, SHA256_BYTES);
    return f;
}

static int all_files(struct store *s, sqlite3_stmt *st, int (*each)(void *ctx, const struct store_table *f), void *ctx,
                     struct fail *why) {
    int rc;
    while ((rc = sqlite_row(s, st)) > 0) {
        struct store_table f = file_row(st);
        rc = each(ctx, &f);
        if (rc)
            break;
    }
    sqlite3_finalize(st);
    return rc < 0 ? sqlite_answer(s, rc, why) : TL_OK;
}

int store_table_each(struct store *s, enum store_table_kind kind, const char *format, bool replaced,
                     int (*each)(void *ctx, const struct store_table *f), void *ctx, struct fail *why) {
    AUTO_BUF struct buf sql = BUF_INIT;
    buf_printf(&sql, "%sWHERE kind = ?1 AND format = ?2 AND (replaced_us > 0) = ?3 ORDER BY hour_us, name, key",
               file_columns);
    sqlite3_stmt *st = sqlite_prepare(s, sql.data);
    if (!st)
        return sqlite_answer(s, TL_FAILED, why);
    bind_int(st, 1, kind);
    bind_text(st, 2, format);
    bind_int(st, 3, replaced);
    return all_files(s, st, each, ctx, why);
}

int store_table_of(struct store *s, int64_t root, int (*each)(void *ctx, const struct store_table *f), void *ctx,
                   struct fail *why) {
    AUTO_BUF struct buf sql = BUF_INIT;
    buf_printf(&sql,
               "%sWHERE replaced_us = 0 AND (?1 = 0 OR key IN (SELECT file FROM table_source WHERE root = ?1)) "
               "ORDER BY kind, hour_us, name, key",
               file_columns);
    sqlite3_stmt *st = sqlite_prepare(s, sql.data);
    if (!st)
        return sqlite_answer(s, TL_FAILED, why);
    bind_int(st, 1, root);
    return all_files(s, st, each, ctx, why);
}

static int one_file(struct store *s, sqlite3_stmt *st, struct store_table *out, struct fail *why) {
    int rc = sqlite_row(s, st);
    if (rc > 0) {
        *out = file_row(st);
        buf_reset(&s->name_text);
        const char *const from[] = {out->path, out->format, out->name, out->version};
        size_t at[4];
        for (int i = 0; i < 4; i++) {
            at[i] = s->name_text.len;
            buf_add(&s->name_text, from[i], strlen(from[i]) + 1);
        }
        out->path = s->name_text.data + at[0];
        out->format = s->name_text.data + at[1];
        out->name = s->name_text.data + at[2];
        out->version = s->name_text.data + at[3];
    }
    sqlite3_finalize(st);
    return rc > 0 ? TL_OK : rc < 0 ? sqlite_answer(s, rc, why) : TL_NOTFOUND;
}

int store_table_find(struct store *s, const struct uuid *id, const char *format, struct store_table *out,
                     struct fail *why) {
    AUTO_BUF struct buf sql = BUF_INIT;
    char text[UUID_TEXT];
    buf_printf(&sql, "%sWHERE id = ?1 AND format = ?2", file_columns);
    sqlite3_stmt *st = sqlite_prepare(s, sql.data);
    if (!st)
        return sqlite_answer(s, TL_FAILED, why);
    bind_text(st, 1, uuid_text(id, text));
    bind_text(st, 2, format);
    return one_file(s, st, out, why);
}

int store_table_get(struct store *s, int64_t key, struct store_table *out, struct fail *why) {
    AUTO_BUF struct buf sql = BUF_INIT;
    buf_printf(&sql, "%sWHERE key = ?1", file_columns);
    sqlite3_stmt *st = sqlite_prepare(s, sql.data);
    if (!st)
        return sqlite_answer(s, TL_FAILED, why);
    bind_int(st, 1, key);
    return one_file(s, st, out, why);
}

/* ---- documents */

int store_sources(struct store *s, const struct store_selection *which,
                  int (*each)(void *ctx, const struct store_source *d), void *ctx, struct fail *why) {
    AUTO_BUF struct buf sql = BUF_INIT;
    buf_text(&sql, "SELECT d.run, r.root, d.collected_us, c.name FROM ");
    buf_text(&sql, which->root ? "(SELECT key AS run FROM run WHERE root = ?1 UNION SELECT result_ref FROM run WHERE "
                                 "root = ?1 AND result_ref IS NOT NULL) m CROSS JOIN document d ON d.run = m.run "
                               : "document d ");
    buf_text(&sql, "CROSS JOIN run r ON r.key = d.run CROSS JOIN collector c ON c.key = r.collector WHERE ?1 >= 0 AND "
                   "(?2 = 0 OR d.collected_us >= ?2) AND (?3 = 0 OR d.collected_us < ?3) AND (?4 IS NULL OR c.name = "
                   "?4)");
    if (which->unconverted)
        buf_text(&sql, " AND NOT EXISTS (SELECT 1 FROM converted v WHERE v.run = d.run)");
    if (which->undiscovered)
        buf_text(&sql, " AND EXISTS (SELECT 1 FROM converted v WHERE v.run = d.run) AND NOT EXISTS (SELECT 1 FROM "
                       "discovered x WHERE x.run = d.run)");
    if (which->reused)
        buf_text(&sql, " AND EXISTS (SELECT 1 FROM discovered x WHERE x.run = d.run) AND d.run IN (SELECT n.result_ref "
                       "FROM run n JOIN crawl w ON w.root = n.root JOIN run q ON q.key = n.result_ref JOIN crawl o ON "
                       "o.root = q.root WHERE w.name <> o.name AND NOT EXISTS (SELECT 1 FROM discovered x WHERE x.run "
                       "= n.key))");
    buf_text(&sql, which->unrefined ? " AND NOT EXISTS (SELECT 1 FROM refined f WHERE f.run = d.run AND f.type = ?5)"
                                    : " AND ?5 = 0");
    sqlite3_stmt *st = sqlite_prepare(s, sql.data);
    if (!st)
        return sqlite_answer(s, TL_FAILED, why);
    bind_int(st, 1, which->root);
    bind_int(st, 2, which->since_us);
    bind_int(st, 3, which->until_us);
    bind_text(st, 4, which->collector);
    bind_int(st, 5, which->unrefined);
    int rc;
    while ((rc = sqlite_row(s, st)) > 0) {
        const struct store_source d = {.run = col_int(st, 0),
                                       .root = col_int(st, 1),
                                       .collected_us = col_int(st, 2),
                                       .collector = col_text(st, 3)};
        rc = each(ctx, &d);
        if (rc)
            break;
    }
    sqlite3_finalize(st);
    return rc < 0 ? sqlite_answer(s, rc, why) : TL_OK;
}

int store_source_get(struct store *s, int64_t run, struct store_source *out, struct fail *why) {
    sqlite3_stmt *st = sqlite_sql(
        s, SQL_SOURCE,
        "SELECT r.root, d.collected_us, c.name, d.result_id, o.run_id, f.path, d.sha256, d.bytes, v.avro, "
        "v.run, r.run_id FROM document d CROSS JOIN run r ON r.key = d.run CROSS JOIN run o ON o.key = r.root CROSS "
        "JOIN collector c ON c.key = r.collector CROSS JOIN folder f ON f.key = d.folder LEFT JOIN "
        "converted v ON v.run = d.run WHERE d.run = ?1");
    if (!st)
        return sqlite_answer(s, TL_FAILED, why);
    bind_int(st, 1, run);
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc < 0 ? sqlite_answer(s, rc, why) : TL_NOTFOUND;
    *out = (struct store_source){.run = run,
                                 .root = col_int(st, 0),
                                 .collected_us = col_int(st, 1),
                                 .run_id = col_uuid(st, 10),
                                 .result_id = col_uuid(st, 3),
                                 .root_id = col_uuid(st, 4),
                                 .bytes = col_int(st, 7),
                                 .converted_avro = col_int(st, 8),
                                 .converted = col_int(st, 9) > 0};
    const void *sum = sqlite3_column_blob(st, 6);
    if (sum && sqlite3_column_bytes(st, 6) == SHA256_BYTES)
        memcpy(&out->sha256, sum, SHA256_BYTES);
    buf_reset(&s->name_text);
    buf_text(&s->name_text, col_text(st, 2));
    buf_char(&s->name_text, '\0');
    size_t folder = s->name_text.len;
    buf_text(&s->name_text, col_text(st, 5));
    out->collector = s->name_text.data;
    out->folder = s->name_text.data + folder;
    sqlite3_reset(st);
    return TL_OK;
}

int store_source_find(struct store *s, const struct uuid *run_id, int64_t *run, int64_t *root, struct uuid *result_id) {
    char text[UUID_TEXT];
    sqlite3_stmt *st = sqlite_sql(s, SQL_SOURCE_FIND,
                                  "SELECT r.key, r.root, d.result_id FROM run r LEFT JOIN document d ON d.run = r.key "
                                  "WHERE r.run_id = ?1");
    if (!st)
        return TL_FAILED;
    bind_text(st, 1, uuid_text(run_id, text));
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc < 0 ? rc : TL_NOTFOUND;
    *run = col_int(st, 0);
    *root = col_int(st, 1);
    *result_id = sqlite3_column_type(st, 2) == SQLITE_NULL ? (struct uuid){0} : col_uuid(st, 2);
    sqlite3_reset(st);
    return TL_OK;
}

/* ---- types */

int store_type(struct store *s, const char *name, const char *version, const char *sha256, const char *columns,
               int64_t first_us, int64_t *key, struct fail *why) {
    sqlite3_stmt *st = sqlite_prepare(s, "SELECT key, sha256 FROM typed WHERE name = ?1 AND version = ?2");
    if (!st)
        return sqlite_answer(s, TL_FAILED, why);
    bind_text(st, 1, name);
    bind_text(st, 2, version);
    int rc = sqlite_row(s, st);
    bool same = rc > 0 && strcmp(col_text(st, 1), sha256) == 0;
    *key = rc > 0 ? col_int(st, 0) : 0;
    sqlite3_finalize(st);
    if (rc < 0)
        return sqlite_answer(s, rc, why);
    if (rc > 0)
        return same ? TL_OK
                    : fail_exit(why, TL_INVALID, EXIT_CONFIG,
                                "the type %s has changed since its version %s was first used: one version has one "
                                "declaration, so give it a new version",
                                name, version);
    if (!first_us)
        return TL_NOTFOUND;
    st = to_write(s, "INSERT INTO typed (name, version, sha256, columns, first_us) VALUES (?1, ?2, ?3, ?4, ?5)");
    if (!st)
        return sqlite_answer(s, TL_FAILED, why);
    bind_text(st, 1, name);
    bind_text(st, 2, version);
    bind_text(st, 3, sha256);
    bind_text(st, 4, columns);
    bind_int(st, 5, first_us);
    rc = sqlite_finish(s, st);
    *key = sqlite3_last_insert_rowid(s->db);
    return sqlite_answer(s, rc, why);
}

int store_type_find(struct store *s, const char *name, const char *version, int64_t *key) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_TYPE_FIND, "SELECT key FROM typed WHERE name = ?1 AND version = ?2");
    if (!st)
        return TL_FAILED;
    bind_text(st, 1, name);
    bind_text(st, 2, version);
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc < 0 ? rc : TL_NOTFOUND;
    *key = col_int(st, 0);
    sqlite3_reset(st);
    return TL_OK;
}

int store_refined_put(struct store *s, int64_t run, int64_t type, int64_t rows, int64_t rejected, int64_t file,
                      int64_t rejects) {
    sqlite3_stmt *st = sqlite_writing(s) ? sqlite_sql(s, SQL_REFINED,
                                                      "INSERT INTO refined (run, type, rows, rejected, file, rejects) "
                                                      "VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
                                         : NULL;
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, run);
    bind_int(st, 2, type);
    bind_int(st, 3, rows);
    bind_int(st, 4, rejected);
    bind_key(st, 5, file);
    bind_key(st, 6, rejects);
    return sqlite_done(s, st);
}

int store_refined(struct store *s, int64_t run, int64_t type, bool *done, struct fail *why) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_REFINED_FIND, "SELECT 1 FROM refined WHERE run = ?1 AND type = ?2");
    if (!st)
        return sqlite_answer(s, TL_FAILED, why);
    bind_int(st, 1, run);
    bind_int(st, 2, type);
    int rc = sqlite_row(s, st);
    *done = rc > 0;
    if (rc > 0)
        sqlite3_reset(st);
    return rc < 0 ? sqlite_answer(s, rc, why) : TL_OK;
}
