/* sqlite_query.c - questions: on the views, on ids, on the catalog's health.
 *
 * Nothing here writes: a text that is no question is refused before it runs. */
#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "store/sqlite.h"

static struct store_value value_of(sqlite3_stmt *st, int at) {
    switch (sqlite3_column_type(st, at)) {
    case SQLITE_INTEGER:
        return store_int(col_int(st, at));
    case SQLITE_FLOAT:
        return (struct store_value){.type = STORE_REAL, .real = sqlite3_column_double(st, at)};
    case SQLITE_TEXT:
        return (struct store_value){.type = STORE_TEXT, .text = col_span(st, at)};
    case SQLITE_BLOB: {
        const char *bytes = sqlite3_column_blob(st, at);
        return (struct store_value){.type = STORE_BLOB,
                                    .text = {bytes ? bytes : "", (size_t)sqlite3_column_bytes(st, at)}};
    }
    default:
        return (struct store_value){.type = STORE_NULL};
    }
}

static void bind_value(sqlite3_stmt *st, int at, const struct store_value *v) {
    switch (v->type) {
    case STORE_INT:
        bind_int(st, at, v->number);
        break;
    case STORE_REAL:
        sqlite3_bind_double(st, at, v->real);
        break;
    case STORE_TEXT:
        sqlite3_bind_text64(st, at, v->text.ptr, v->text.len, SQLITE_STATIC, SQLITE_UTF8);
        break;
    case STORE_BLOB:
        bind_blob(st, at, v->text.ptr, v->text.len);
        break;
    case STORE_NULL:
        sqlite3_bind_null(st, at);
    }
}

/* sqlite3_stmt_readonly() also says yes to COMMIT, ATTACH and some PRAGMAs. */
static bool is_question(const char *sql) {
    static const char *const word[] = {"select", "with", "values", "explain"};
    while (isspace((unsigned char)*sql))
        sql++;
    for (size_t i = 0; i < COUNT_OF(word); i++) {
        size_t len = strlen(word[i]);
        if (strncasecmp(sql, word[i], len) == 0 && !isalnum((unsigned char)sql[len]) && sql[len] != '_')
            return true;
    }
    return false;
}

static int prepare(struct store *s, const char *sql, const struct store_value *args, size_t n, sqlite3_stmt **out,
                   struct fail *why) {
    const char *tail = "";
    if (!is_question(sql))
        return fail_exit(why, TL_INVALID, EXIT_USAGE,
                         "only questions (SELECT, WITH, VALUES, EXPLAIN) may be put to the catalog, not: %.200s", sql);
    if (sqlite3_prepare_v2(s->db, sql, -1, out, &tail) != SQLITE_OK)
        return fail_exit(why, TL_INVALID, EXIT_USAGE, "cannot ask the catalog %s: %s: %.200s", s->path,
                         sqlite3_errmsg(s->db), sql);
    while (isspace((unsigned char)*tail) || *tail == ';')
        tail++;
    if (!*out || *tail || !sqlite3_stmt_readonly(*out))
        return fail_exit(why, TL_INVALID, EXIT_USAGE, "one question at a time, and none that writes: %.200s", sql);
    for (size_t i = 0; i < n; i++) {
        char name[24];
        snprintf(name, sizeof name, "$%zu", i + 1);
        int at = sqlite3_bind_parameter_index(*out, name);
        if (!at)
            return fail_exit(why, TL_INVALID, EXIT_INTERNAL, "the question has no %s: %.200s", name, sql);
        bind_value(*out, at, &args[i]);
    }
    if ((size_t)sqlite3_bind_parameter_count(*out) != n)
        return fail_exit(why, TL_INVALID, EXIT_INTERNAL, "the question has other parameters than the %zu given: %.200s",
                         n, sql);
    return TL_OK;
}

static int rows(struct store *s, sqlite3_stmt *st, int (*each)(void *ctx, const struct store_row *), void *ctx) {
    size_t count = (size_t)sqlite3_column_count(st);
    AUTO_FREE const char **name = mem_array(NULL, count ? count : 1, sizeof *name);
    AUTO_FREE struct store_value *value = mem_array(NULL, count ? count : 1, sizeof *value);
    for (size_t i = 0; i < count; i++)
        name[i] = sqlite3_column_name(st, (int)i);
    const struct store_row row = {.count = count, .name = name, .value = value};
    int rc;
    while ((rc = sqlite_row(s, st)) == 1) {
        for (size_t i = 0; i < count; i++)
            value[i] = value_of(st, (int)i);
        if ((rc = each(ctx, &row)) != 0)
            return rc > 0 ? TL_OK : rc;
    }
    return rc;
}

int store_query(struct store *s, const char *sql, const struct store_value *args, size_t n,
                int (*each)(void *ctx, const struct store_row *), void *ctx, struct fail *why) {
    sqlite3_stmt *st = NULL;
    if (sqlite_flush(s) < 0)
        return sqlite_answer(s, TL_FAILED, why);
    int rc = prepare(s, sql, args, n, &st, why);
    if (rc == TL_OK) {
        rc = rows(s, st, each, ctx);
        sqlite_answer(s, rc, why);
    }
    sqlite3_finalize(st);
    return rc;
}

/* ---- health */

static int complain(void *ctx, const struct store_row *row) {
    struct buf *out = ctx;
    for (size_t i = 0; i < row->count; i++) {
        const struct store_value *v = &row->value[i];
        if (i)
            buf_lit(out, ", ");
        if (v->type == STORE_INT)
            buf_int(out, v->number);
        else
            buf_add(out, v->text.ptr, v->text.len);
    }
    buf_char(out, '\n');
    return 0;
}

int store_check(struct store *s, struct buf *complaints) {
    static const char *const question[] = {
        "SELECT 'integrity: ' || integrity_check FROM pragma_integrity_check(100) WHERE integrity_check <> 'ok'",
        "SELECT printf('foreign key: row %s of %s names a row of %s that is not there', rowid, \"table\", parent) "
        "FROM pragma_foreign_key_check LIMIT 100",
        "SELECT printf('crawl %s says %d runs, %d queued, %d leased, %d failed; there are %d, %d, %d, %d', o.run_id, "
        "c.runs, c.queued, "
        "c.leased, c.failed, n.runs, n.queued, n.leased, n.failed) FROM crawl c JOIN run o ON o.key = c.root JOIN "
        "(SELECT root, "
        "count(*) runs, sum(state = 0) queued, sum(state = 1) leased, sum(state IN (4, 5)) failed FROM run GROUP BY "
        "root) n "
        "ON n.root = c.root WHERE (c.runs, c.queued, c.leased, c.failed) <> (n.runs, n.queued, n.leased, n.failed)",
        "SELECT printf('crawl %s says %d documents, there are %d', o.run_id, c.documents, n.documents) FROM crawl c "
        "JOIN run o "
        "ON o.key = c.root JOIN (SELECT r.root, count(*) documents FROM document d JOIN run r ON r.key = d.run GROUP "
        "BY r.root) n "
        "ON n.root = c.root WHERE c.documents <> n.documents",
        "SELECT printf('run %s is in no crawl', run_id) FROM run WHERE root NOT IN (SELECT root FROM crawl) LIMIT 100",
    };
    struct fail why = FAIL_INIT;
    size_t before = complaints->len;
    for (size_t i = 0; i < COUNT_OF(question); i++)
        if (store_query(s, question[i], NULL, 0, complain, complaints, &why) < 0)
            buf_printf(complaints, "%s\n", why.text);
    return complaints->len > before ? TL_FAILED : TL_OK;
}

/* ---- ids */

struct found {
    char id[4][UUID_TEXT]; /* of different runs */
    size_t count;
};

int store_find_run(struct store *s, const char *prefix, struct uuid *run_id, struct fail *why) {
    char from[UUID_TEXT], to[UUID_TEXT + 1];
    size_t len = strlen(prefix);
    bool hex = len > 0 && len < sizeof from;
    for (size_t i = 0; hex && i < len; i++) {
        from[i] = (char)tolower((unsigned char)prefix[i]);
        hex = from[i] == '-' || (from[i] >= '0' && from[i] <= '9') || (from[i] >= 'a' && from[i] <= 'f');
    }
    if (!hex)
        return fail_exit(why, TL_NOTFOUND, EXIT_USAGE, "%.60s is no id, nor the beginning of one",
                         len ? prefix : "an empty text");
    from[len] = '\0';
    snprintf(to, sizeof to, "%s~", from); /* behind every digit */
    sqlite3_stmt *st =
        sqlite_sql(s, SQL_FIND_RUN,
                   "SELECT run_id FROM (SELECT run_id FROM run WHERE run_id >= ?1 AND run_id < ?2 LIMIT 4) "
                   "UNION SELECT run_id FROM (SELECT r.run_id FROM document d JOIN run r ON r.key = d.run "
                   "WHERE d.result_id >= ?1 AND d.result_id < ?2 LIMIT 4) LIMIT 4");
    if (!st)
        return sqlite_answer(s, TL_FAILED, why);
    bind_text(st, 1, from);
    bind_text(st, 2, to);
    struct found found = {.count = 0};
    int rc;
    while ((rc = sqlite_row(s, st)) == 1)
        if (found.count < COUNT_OF(found.id))
            snprintf(found.id[found.count++], UUID_TEXT, "%s", col_text(st, 0));
    if (rc < 0)
        return sqlite_answer(s, rc, why);
    if (!found.count)
        return fail_exit(why, TL_NOTFOUND, EXIT_USAGE, "no run or result in %s has an id that begins with %s", s->path,
                         from);
    if (found.count > 1)
        return fail_exit(why, TL_INVALID, EXIT_USAGE, "%s may mean several runs: %s, %s%s", from, found.id[0],
                         found.id[1], found.count > 2 ? ", and more" : "");
    return uuid_parse(span_of(found.id[0]), run_id);
}
