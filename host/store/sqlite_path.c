/* sqlite_path.c - the way from the root to a run, and the ancestor rows that answer questions on lineage.
 *
 * Only runs that were claimed have ancestor rows, and they never move again; so paths of claimed runs can be kept in
 * memory. */
#include <string.h>

#include "base/mem.h"
#include "store/sqlite.h"

static void append(struct sqlite_path *p, int64_t key, struct uuid id) {
    if (p->count == p->room) {
        p->room = p->room ? p->room * 2 : 8;
        p->step = mem_array(p->step, p->room, sizeof *p->step);
        p->id = mem_array(p->id, p->room, sizeof *p->id);
    }
    p->step[p->count] = (struct sqlite_step){key, id};
    p->id[p->count++] = id;
}

static int load_ancestors(struct store *s, struct sqlite_path *p, int64_t run) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_CLAIM_PATH,
                                  "SELECT r.key, r.run_id FROM ancestor a CROSS JOIN run r ON r.key = a.ancestor "
                                  "WHERE a.run = ?1 ORDER BY a.hops DESC");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, run);
    int rc;
    while ((rc = sqlite_row(s, st)) == 1)
        append(p, col_int(st, 0), col_uuid(st, 1));
    return rc;
}

int sqlite_path(struct store *s, int64_t run, const struct sqlite_path **out) {
    struct sqlite_path *p = &s->path_of[(uint64_t)run % SQLITE_PATHS];
    *out = p;
    if (p->run == run)
        return TL_OK;
    p->run = 0;
    p->count = 0;
    sqlite3_stmt *st = sqlite_sql(s, SQL_CLAIM_SELF, "SELECT run_id, parent FROM run WHERE key = ?1");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, run);
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc < 0 ? rc : sqlite_wrong(s, "run %lld, the parent of another, is not there", (long long)run);
    struct uuid id = col_uuid(st, 0);
    int64_t parent = col_int(st, 1);
    sqlite3_reset(st);
    /* Siblings of the run have brought the way to its parent here, most of the time. */
    const struct sqlite_path *up = &s->path_of[(uint64_t)parent % SQLITE_PATHS];
    if (parent && up->run == parent && up != p)
        for (size_t i = 0; i < up->count; i++)
            append(p, up->step[i].key, up->step[i].id);
    else if (load_ancestors(s, p, run) < 0)
        return TL_FAILED;
    append(p, run, id);
    p->run = run;
    return TL_OK;
}

/* The statement that writes so many rows at once: starting a statement costs more than a row. */
static sqlite3_stmt *rows_statement(struct store *s, int64_t count) {
    enum sqlite_id id = (enum sqlite_id)(SQL_ANCESTORS + count - 1);
    if (s->stmt[id])
        return s->stmt[id];
    AUTO_BUF struct buf sql = BUF_INIT;
    buf_lit(&sql, "INSERT INTO ancestor (run, hops, ancestor) VALUES ");
    for (int64_t i = 0; i < count; i++)
        buf_printf(&sql, "%s(?1, ?2 + %d, ?%d)", i ? ", " : "", (int)i, 3 + (int)i);
    return sqlite_sql(s, id, sql.data);
}

int sqlite_ancestors(struct store *s, int64_t run, int64_t parent) {
    const struct sqlite_path *p;
    if (!parent)
        return TL_OK;
    if (sqlite_path(s, parent, &p) < 0)
        return TL_FAILED;
    int64_t all = (int64_t)p->count;
    for (int64_t done = 0; done < all;) {
        int64_t count = all - done < SQLITE_ANCESTORS ? all - done : SQLITE_ANCESTORS;
        sqlite3_stmt *st = rows_statement(s, count);
        if (!st)
            return TL_FAILED;
        bind_int(st, 1, run);
        bind_int(st, 2, done + 1);
        for (int64_t i = 0; i < count; i++)
            bind_int(st, 3 + (int)i, p->step[all - 1 - done - i].key);
        if (sqlite_done(s, st) < 0)
            return TL_FAILED;
        done += count;
    }
    return TL_OK;
}
