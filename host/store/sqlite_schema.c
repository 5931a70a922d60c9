/* sqlite_schema.c - makes the catalog's schema, and refuses a file that is no catalog or one of a newer version.
 *
 * schema.sql is the one place where tables and views are described; only what SQLite has no functions for (ISO times,
 * the words of enumerations) is written out here, so that anyone's sqlite3 can read the views. */
#include <errno.h>
#include <string.h>
#include <sys/file.h>

#include "base/mem.h"
#include "store/sqlite.h"

static const char schema_sql[] =
#include "store/schema_sql.h"
    ;

static void words(struct buf *out, struct tl_span x, const char *const *name, int count) {
    buf_printf(out, "CASE %.*s", (int)x.len, x.ptr);
    for (int i = 0; i < count; i++)
        if (*name[i])
            buf_printf(out, " WHEN %d THEN '%s'", i, name[i]);
    buf_lit(out, " END");
}

static void iso_time(struct buf *out, struct tl_span x) {
    buf_printf(out,
               "CASE WHEN %.*s > 0 THEN strftime('%%Y-%%m-%%dT%%H:%%M:%%S', %.*s / 1000000, 'unixepoch') || "
               "printf('.%%06dZ', %.*s %% 1000000) END",
               (int)x.len, x.ptr, (int)x.len, x.ptr, (int)x.len, x.ptr);
}

/* A part of a path of the lake as it was before lake_value; of what it writes as %XX, what stands in names of servers
 * and owners. */
static void plain(struct buf *out, struct tl_span x) {
    static const char *const written[][2] = {{"3A", ":"}, {"2F", "/"}, {"7E", "~"}, {"40", "@"},
                                             {"5B", "["}, {"5D", "]"}, {"2B", "+"}, {"25", "%"}};
    for (size_t i = 0; i < COUNT_OF(written); i++)
        buf_lit(out, "replace(");
    buf_add(out, x.ptr, x.len);
    for (size_t i = 0; i < COUNT_OF(written); i++)
        buf_printf(out, ", '%%%s', '%s')", written[i][0], written[i][1]);
}

/* The argument of NAME( ... ) when `at` stands on such a call; empty otherwise. */
static struct tl_span call_of(const char *text, const char *at, const char *name) {
    size_t len = strlen(name);
    bool inside = at > text && (at[-1] == '_' || (at[-1] >= 'A' && at[-1] <= 'Z') || (at[-1] >= 'a' && at[-1] <= 'z'));
    if (inside || strncmp(at, name, len) != 0 || at[len] != '(')
        return (struct tl_span){"", 0};
    const char *start = at + len + 1, *end = start;
    for (int open = 1; *end; end++) {
        open += *end == '(' ? 1 : *end == ')' ? -1 : 0;
        if (!open)
            break;
    }
    return (struct tl_span){start, (size_t)(end - start)};
}

static void write_out(struct buf *out) {
    const char *views = strstr(schema_sql, "\nCREATE VIEW ");
    buf_add(out, schema_sql, (size_t)(views - schema_sql));
    for (const char *at = views; *at;) {
        struct tl_span x;
        if ((x = call_of(views, at, "AT")).len)
            iso_time(out, x);
        else if ((x = call_of(views, at, "PLAIN")).len)
            plain(out, x);
        else if ((x = call_of(views, at, "STATE")).len)
            words(out, x, store_state_name, STORE_STATES);
        else if ((x = call_of(views, at, "EDGE")).len)
            words(out, x, store_edge_name, STORE_EDGES);
        else if ((x = call_of(views, at, "REASON")).len)
            words(out, x, store_reason_name, STORE_REASONS);
        else {
            buf_char(out, *at++);
            continue;
        }
        at = x.ptr + x.len + 1;
    }
}

static int number(struct store *s, const char *pragma, int64_t *out) {
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(s->db, pragma, -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        *out = col_int(st, 0);
    else
        sqlite_fault(s, rc, "read");
    sqlite3_finalize(st);
    return rc == SQLITE_ROW ? TL_OK : TL_FAILED;
}

static int execute(struct store *s, const char *sql) {
    int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? TL_OK : sqlite_fault(s, rc, "make");
}

static int make(struct store *s) {
    AUTO_BUF struct buf sql = BUF_INIT;
    write_out(&sql);
    buf_printf(&sql, "\nPRAGMA application_id = %d;\nPRAGMA user_version = %d;\n", SQLITE_APPLICATION,
               SQLITE_SCHEMA_VERSION);
    return execute(s, sql.data);
}

static int versions(struct store *s, int64_t *application, int64_t *version, int64_t *tables) {
    int rc = number(s, "PRAGMA application_id", application);
    if (rc == TL_OK)
        rc = number(s, "PRAGMA user_version", version);
    if (rc == TL_OK)
        rc = number(s, "SELECT count(*) FROM sqlite_schema", tables);
    return rc;
}

static int judge(struct store *s, int64_t application, int64_t version, int64_t tables, struct fail *why) {
    if (application != SQLITE_APPLICATION)
        return fail_exit(why, TL_FAILED, EXIT_DAMAGED,
                         "%s is %s, not a catalog of Trotline: name another file, or move this one away", s->path,
                         tables ? "a database of another program" : "an empty database");
    if (version > SQLITE_SCHEMA_VERSION)
        return fail_exit(why, TL_FAILED, EXIT_DAMAGED,
                         "the catalog %s is of version %lld, made by a newer Trotline; this one knows versions up to "
                         "%d: use the newer program",
                         s->path, (long long)version, SQLITE_SCHEMA_VERSION);
    if (version < SQLITE_SCHEMA_VERSION)
        return fail_exit(why, TL_FAILED, EXIT_DAMAGED,
                         "the catalog %s is of version %lld, which no release wrote: restore it, or `trotline rebuild`",
                         s->path, (long long)version);
    return TL_OK;
}

int sqlite_schema(struct store *s, struct fail *why) {
    int64_t application = 0, version = 0, tables = 0;
    int rc = versions(s, &application, &version, &tables);
    if (rc < 0)
        return sqlite_answer(s, rc, why);
    /* A database must not be read in parts, nor made WAL, while another process makes it: one at a time looks again.
     * The turn is held until the commit below; store_begin's flock on the same descriptor changes nothing. */
    if (s->mode == STORE_WRITE && (!application || !version || !tables)) {
        while (flock(s->turn, LOCK_EX) < 0)
            if (errno != EINTR)
                return fail_errno(why, TL_FAILED, "cannot wait for the turn to write at %s.turn", s->path);
        rc = versions(s, &application, &version, &tables);
    }
    bool fresh = rc == TL_OK && !application && !version && !tables;
    if (!fresh || s->mode == STORE_READ) {
        if (s->turn >= 0)
            flock(s->turn, LOCK_UN);
        return rc < 0 ? sqlite_answer(s, rc, why) : judge(s, application, version, tables, why);
    }
    if ((rc = execute(s, "PRAGMA journal_mode = WAL")) == TL_OK)
        rc = store_begin(s, why);
    if (rc < 0) {
        flock(s->turn, LOCK_UN);
        return sqlite_answer(s, rc, why);
    }
    rc = versions(s, &application, &version, &tables);
    if (rc == TL_OK && !application && !tables)
        rc = make(s);
    if (rc < 0) {
        sqlite_answer(s, rc, why);
        store_rollback(s);
        return rc;
    }
    rc = store_commit(s, why);
    if (rc < 0)
        return rc;
    rc = versions(s, &application, &version, &tables);
    return rc < 0 ? sqlite_answer(s, rc, why) : judge(s, application, version, tables, why);
}

/* ---- what tables and columns are about */

/* One line of a table's declaration: its comment belongs to the column that it begins with, one on a line of its own to
 * the next. */
static int comment_line(const char *table, struct tl_span line, struct buf *above,
                        int (*each)(void *ctx, const char *table, const char *column, const char *text), void *ctx) {
    AUTO_BUF struct buf text = BUF_INIT, column = BUF_INIT;
    const char *mark = memmem(line.ptr, line.len, "-- ", 3), *end = line.ptr + line.len;
    size_t name = strspn(line.ptr, "abcdefghijklmnopqrstuvwxyz_0123456789");
    if (mark)
        buf_add(&text, mark + 3, (size_t)(end - mark) - 3);
    if (mark == line.ptr) {
        buf_reset(above);
        buf_add(above, text.data, text.len);
        return 0;
    }
    if (!name || (!mark && !above->len))
        return 0;
    buf_add(&column, line.ptr, name);
    int rc = each(ctx, table, column.data, mark ? text.data : above->data);
    buf_reset(above);
    return rc;
}

int store_comments(int (*each)(void *ctx, const char *table, const char *column, const char *text), void *ctx) {
    static const char begin[] = "CREATE TABLE ";
    AUTO_BUF struct buf table = BUF_INIT, above = BUF_INIT;
    int rc = 0;
    for (const char *at = schema_sql, *end; !rc && *at; at = *end ? end + 1 : end) {
        end = at + strcspn(at, "\n");
        size_t indent = strspn(at, " ");
        if (strncmp(at, begin, sizeof begin - 1) == 0) {
            const char *name = at + sizeof begin - 1;
            buf_reset(&table);
            buf_reset(&above);
            buf_add(&table, name, strcspn(name, " ("));
            rc = each(ctx, table.data, NULL, NULL);
        } else if (table.len && indent)
            rc =
                comment_line(table.data, (struct tl_span){at + indent, (size_t)(end - at) - indent}, &above, each, ctx);
        else
            buf_reset(&table);
    }
    return rc;
}
