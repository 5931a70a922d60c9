/* sqlite_scope.c - the leashes of a crawl and what has been spent of them.
 *
 * Kept in memory per root, written with the transaction that spends. Invariant: runs_spent of a scope is the number of
 * runs that belong to it or to a scope that tightens it; a parent's key is smaller than its child's, so every chain
 * ends. */
#include <string.h>

#include "base/mem.h"
#include "store/sqlite.h"

void sqlite_scopes_free(struct sqlite_root *r) {
    for (size_t i = 0; i < r->scopes; i++)
        free(r->scope[i].json);
    free(r->scope);
    r->scope = NULL;
    r->scopes = r->scope_room = 0;
    r->scopes_loaded = false;
}

static void keep(struct sqlite_root *r, const struct store_scope *at) {
    MEM_GROW(r->scope, r->scopes, r->scope_room);
    struct sqlite_scope *scope = &r->scope[r->scopes++];
    *scope = (struct sqlite_scope){.at = *at, .json = mem_text(at->json ? at->json : "{}")};
    scope->at.json = scope->json;
}

int sqlite_scopes_load(struct store *s, struct sqlite_root *r) {
    if (r->scopes_loaded)
        return TL_OK;
    sqlite3_stmt *st =
        sqlite_sql(s, SQL_SCOPE_LOAD,
                   "SELECT key, parent, depth, fanout, runs, bytes, time_us, runs_spent, bytes_spent, json "
                   "FROM leash WHERE root = ?1 ORDER BY key");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, r->root);
    int rc;
    while ((rc = sqlite_row(s, st)) == 1) {
        struct store_scope at = {.key = col_int(st, 0),
                                 .parent = col_int(st, 1),
                                 .depth = col_limit(st, 2),
                                 .fanout = col_limit(st, 3),
                                 .runs = col_limit(st, 4),
                                 .bytes = col_limit(st, 5),
                                 .time_us = col_limit(st, 6),
                                 .runs_spent = col_int(st, 7),
                                 .bytes_spent = col_int(st, 8),
                                 .json = col_text(st, 9)};
        if (at.parent >= at.key)
            at.parent = 0; /* damaged; store_check names it */
        keep(r, &at);
    }
    if (rc < 0)
        sqlite_scopes_free(r);
    r->scopes_loaded = rc == 0;
    return rc;
}

struct sqlite_scope *sqlite_scope(struct store *s, struct sqlite_root *r, int64_t key) {
    if (!key || sqlite_scopes_load(s, r) < 0)
        return NULL;
    size_t low = 0, high = r->scopes;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (r->scope[mid].at.key < key)
            low = mid + 1;
        else
            high = mid;
    }
    return low < r->scopes && r->scope[low].at.key == key ? &r->scope[low] : NULL;
}

void sqlite_spend(struct store *s, struct sqlite_root *r, int64_t scope, int64_t runs, int64_t bytes) {
    for (struct sqlite_scope *at = sqlite_scope(s, r, scope); at; at = sqlite_scope(s, r, at->at.parent)) {
        at->at.runs_spent += runs;
        at->at.bytes_spent += bytes;
        at->runs_new += runs;
        at->bytes_new += bytes;
    }
}

/* The crawl's own leash: it and its root run were made before it could be. */
static int adopt(struct store *s, struct sqlite_root *r, int64_t scope) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_SCOPE_CRAWL, "UPDATE crawl SET scope = ?2 WHERE root = ?1 AND scope IS NULL");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, r->root);
    bind_int(st, 2, scope);
    if (sqlite_done(s, st) < 0 ||
        !(st = sqlite_sql(s, SQL_SCOPE_ROOT, "UPDATE run SET scope = ?2 WHERE key = ?1 AND scope IS NULL")))
        return TL_FAILED;
    bind_int(st, 1, r->root);
    bind_int(st, 2, scope);
    if (sqlite_done(s, st) < 0)
        return TL_FAILED;
    if (sqlite3_changes(s->db))
        sqlite_spend(s, r, scope, 1, 0);
    return TL_OK;
}

static int add(struct store *s, struct sqlite_root *r, struct store_scope *scope) {
    sqlite3_stmt *st = sqlite_sql(
        s, SQL_SCOPE_ADD,
        "INSERT INTO leash (root, parent, depth, fanout, runs, bytes, time_us, runs_spent, bytes_spent, given, json) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10)");
    if (!st)
        return TL_FAILED;
    const int64_t limit[] = {scope->depth, scope->fanout, scope->runs, scope->bytes, scope->time_us};
    bind_int(st, 1, r->root);
    bind_key(st, 2, scope->parent);
    for (int i = 0; i < 5; i++)
        bind_limit(st, 3 + i, limit[i]);
    bind_int(st, 8, scope->runs_spent);
    bind_int(st, 9, scope->bytes_spent);
    bind_text(st, 10, scope->json ? scope->json : "{}");
    if (sqlite_done(s, st) < 0)
        return TL_FAILED;
    scope->key = sqlite3_last_insert_rowid(s->db);
    keep(r, scope);
    return scope->parent ? TL_OK : adopt(s, r, scope->key);
}

int store_scope_put(struct store *s, int64_t root, struct store_scope *scope) {
    struct sqlite_root *r = sqlite_root(s, root);
    if (sqlite_scopes_load(s, r) < 0)
        return TL_FAILED;
    if (scope->parent && !sqlite_scope(s, r, scope->parent))
        return sqlite_wrong(s, "a leash tightens one that does not belong to its crawl");
    sqlite3_stmt *st = sqlite_sql(s, SQL_SCOPE_FIND,
                                  "SELECT key FROM leash WHERE root = ?1 AND ifnull(parent, 0) = ?2 AND given = ?3");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, root);
    bind_int(st, 2, scope->parent);
    bind_text(st, 3, scope->json ? scope->json : "{}");
    int rc = sqlite_row(s, st);
    if (rc < 0)
        return rc;
    if (!rc)
        return sqlite_writing(s) ? add(s, r, scope) : TL_FAILED;
    int64_t key = col_int(st, 0);
    sqlite3_reset(st);
    struct sqlite_scope *known = sqlite_scope(s, r, key);
    if (!known)
        return sqlite_wrong(s, "a leash is in the catalog but not in memory: two supervisors drive one crawl");
    *scope = known->at;
    return TL_OK;
}

int store_scopes(struct store *s, int64_t root, int (*each)(void *ctx, const struct store_scope *), void *ctx) {
    struct sqlite_root *r = sqlite_root(s, root);
    int rc = sqlite_scopes_load(s, r);
    for (size_t i = 0; rc == TL_OK && i < r->scopes; i++)
        rc = each(ctx, &r->scope[i].at);
    return rc;
}

int store_scope_json(struct store *s, int64_t scope, const char *json) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_SCOPE_JSON, "UPDATE leash SET json = ?2 WHERE key = ?1");
    if (!st || !sqlite_writing(s))
        return TL_FAILED;
    bind_int(st, 1, scope);
    bind_text(st, 2, json);
    if (sqlite_done(s, st) < 0)
        return TL_FAILED;
    if (!sqlite3_changes(s->db))
        return TL_NOTFOUND;
    for (size_t i = 0; i < s->roots; i++) {
        struct sqlite_root *r = &s->root[i];
        struct sqlite_scope *known = r->scopes_loaded ? sqlite_scope(s, r, scope) : NULL;
        if (known) {
            free(known->json);
            known->at.json = known->json = mem_text(json);
        }
    }
    return TL_OK;
}
