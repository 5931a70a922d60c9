/* sqlite_put.c - children into the queue: known or new, within the leash or refused. The hot path of a crawl.
 *
 * Invariants: what is known costs no leash and is never refused; a run that was never claimed stands under its nearest
 * parent, and moving it there leaves every budget as if it had been put there; a run's accepted children never exceed
 * its fan-out. How many a parent has is written when its wishes are through, not for each (sqlite_put_leave). */
#include <string.h>

#include "base/mem.h"
#include "store/sqlite.h"

struct known {
    int64_t key, reach, token, parent, scope, fanout;
    enum store_state state;
};

int sqlite_put_leave(struct store *s) {
    struct sqlite_parent *p = &s->put;
    if (!p->more) {
        p->key = 0;
        return TL_OK;
    }
    sqlite3_stmt *st = sqlite_sql(s, SQL_PUT_CHILDREN, "UPDATE run SET children = children + ?2 WHERE key = ?1");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, p->key);
    bind_int(st, 2, p->more);
    *p = (struct sqlite_parent){0};
    return sqlite_done(s, st);
}

static int parent_load(struct store *s, struct sqlite_parent *p, int64_t key) {
    if (p->key == key)
        return TL_OK;
    if (sqlite_put_leave(s) < 0)
        return TL_FAILED;
    sqlite3_stmt *st = sqlite_sql(s, SQL_PUT_PARENT, "SELECT depth, reach, scope, children FROM run WHERE key = ?1");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, key);
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc < 0 ? rc : sqlite_wrong(s, "a child is put under a run that is not there");
    *p = (struct sqlite_parent){.key = key,
                                .depth = col_int(st, 0),
                                .reach = col_int(st, 1),
                                .scope = col_int(st, 2),
                                .children = col_int(st, 3)};
    sqlite3_reset(st);
    return TL_OK;
}

/* 1: known, 0: not. */
static int find(struct store *s, const struct store_wish *wish, struct known *k) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_PUT_FIND,
                                  "SELECT key, reach, token, parent, scope, state, edge <> 1 AND line = 0 FROM run "
                                  "WHERE root = ?1 AND digest = ?2");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, wish->root);
    bind_blob(st, 2, wish->digest, STORE_DIGEST);
    int rc = sqlite_row(s, st);
    if (rc != 1)
        return rc;
    *k = (struct known){.key = col_int(st, 0),
                        .reach = col_int(st, 1),
                        .token = col_int(st, 2),
                        .parent = col_int(st, 3),
                        .scope = col_int(st, 4),
                        .state = (enum store_state)col_int(st, 5),
                        .fanout = col_int(st, 6)};
    sqlite3_reset(st);
    return 1;
}

static int64_t fanout_of(struct store *s, struct sqlite_root *r, const struct sqlite_parent *p) {
    const struct sqlite_scope *scope = sqlite_scope(s, r, p->scope);
    return scope ? scope->at.fanout : INT64_MAX;
}

/* What has been spent up the chain. */
static enum store_reason budget(struct store *s, struct sqlite_root *r, int64_t scope) {
    enum store_reason bytes = STORE_NO_REASON;
    for (struct sqlite_scope *at = sqlite_scope(s, r, scope); at; at = sqlite_scope(s, r, at->at.parent)) {
        if (at->at.runs_spent >= at->at.runs)
            return STORE_RUNS;
        if (at->at.bytes_spent >= at->at.bytes)
            bytes = STORE_BYTES;
    }
    return bytes;
}

static enum store_reason judge(struct store *s, struct sqlite_root *r, const struct store_wish *wish,
                               const struct sqlite_parent *p, int64_t reach) {
    const struct sqlite_scope *scope = sqlite_scope(s, r, wish->scope);
    if (scope && reach > scope->at.depth)
        return STORE_DEPTH;
    if (wish->refuse)
        return wish->refuse;
    if (!wish->line && wish->edge != STORE_PAGE && p->children + p->more >= fanout_of(s, r, p))
        return STORE_FANOUT;
    return budget(s, r, wish->scope);
}

int sqlite_refuse(struct store *s, int64_t root, int64_t parent, int64_t collector, const uint8_t *digest,
                  struct tl_span url, enum store_reason reason, int64_t times, int64_t at_us) {
    sqlite3_stmt *st = sqlite_sql(
        s, SQL_REFUSE_AGAIN, "UPDATE refusal SET times = times + ?4 WHERE root = ?1 AND digest = ?2 AND reason = ?3");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, root);
    bind_blob(st, 2, digest, STORE_DIGEST);
    bind_int(st, 3, reason);
    bind_int(st, 4, times);
    if (sqlite_done(s, st) < 0)
        return TL_FAILED;
    if (sqlite3_changes(s->db))
        return TL_OK;
    if (!(st = sqlite_sql(s, SQL_REFUSE,
                          "INSERT INTO refusal (root, digest, reason, parent, collector, url, times, at_us) "
                          "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")))
        return TL_FAILED;
    bind_int(st, 1, root);
    bind_blob(st, 2, digest, STORE_DIGEST);
    bind_int(st, 3, reason);
    bind_int(st, 4, parent);
    bind_int(st, 5, collector);
    bind_span(st, 6, url);
    bind_int(st, 7, times);
    bind_int(st, 8, at_us);
    if (sqlite_done(s, st) < 0)
        return TL_FAILED;
    sqlite_root(s, root)->leashed++;
    return TL_OK;
}

static int insert(struct store *s, const struct store_wish *wish, const struct sqlite_parent *p, int64_t reach,
                  int64_t now_us, int64_t *key) {
    sqlite3_stmt *st = sqlite_sql(
        s, SQL_PUT_RUN,
        "INSERT INTO run (run_id, root, parent, depth, reach, edge, line, collector, target, context, scope, host, "
        "digest, payload, url, state, queued_us) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, 0, ?16)");
    if (!st)
        return TL_FAILED;
    struct uuid id = uuid_new();
    char text[UUID_TEXT];
    sqlite3_bind_text(st, 1, uuid_text(&id, text), UUID_TEXT - 1, SQLITE_STATIC);
    bind_int(st, 2, wish->root);
    bind_int(st, 3, wish->parent);
    bind_int(st, 4, p->depth + (wish->edge == STORE_PAGE ? 0 : 1));
    bind_int(st, 5, reach);
    bind_int(st, 6, wish->edge);
    bind_int(st, 7, wish->line);
    bind_int(st, 8, wish->collector);
    bind_key(st, 9, wish->target);
    bind_text(st, 10, wish->context);
    bind_key(st, 11, wish->scope);
    bind_key(st, 12, wish->host);
    bind_blob(st, 13, wish->digest, STORE_DIGEST);
    bind_span(st, 14, wish->payload);
    bind_span(st, 15, wish->url);
    bind_int(st, 16, now_us);
    if (sqlite_done(s, st) < 0)
        return TL_FAILED;
    *key = sqlite3_last_insert_rowid(s->db);
    return TL_OK;
}

/* A run that was never claimed goes under a nearer parent, out of the budgets of its old place into those of the new
 * one. */
static int move(struct store *s, struct sqlite_root *r, const struct store_wish *wish, struct sqlite_parent *p,
                const struct known *k, int64_t reach) {
    bool counts = !wish->line && wish->edge != STORE_PAGE;
    if (k->fanout && k->parent != p->key) { /* gives its place back */
        sqlite3_stmt *st = sqlite_sql(s, SQL_PUT_UNPARENT, "UPDATE run SET children = children - 1 WHERE key = ?1");
        if (!st)
            return TL_FAILED;
        bind_int(st, 1, k->parent);
        if (sqlite_done(s, st) < 0)
            return TL_FAILED;
    }
    if (k->parent != p->key)
        p->more += counts;
    else
        p->more += (int64_t)counts - k->fanout;
    if (k->scope != wish->scope) {
        sqlite_spend(s, r, k->scope, -1, 0);
        sqlite_spend(s, r, wish->scope, 1, 0);
    }
    sqlite3_stmt *st =
        sqlite_sql(s, SQL_PUT_MOVE,
                   "UPDATE run SET parent = ?2, depth = ?3, reach = ?4, edge = ?5, line = max(line, ?6), "
                   "target = ?7, context = ?8, scope = ?9 WHERE key = ?1");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, k->key);
    bind_int(st, 2, p->key);
    bind_int(st, 3, p->depth + (wish->edge == STORE_PAGE ? 0 : 1));
    bind_int(st, 4, reach);
    bind_int(st, 5, wish->edge);
    bind_int(st, 6, wish->line);
    bind_key(st, 7, wish->target);
    bind_text(st, 8, wish->context);
    bind_key(st, 9, wish->scope);
    sqlite_hint_drop(r, reach, k->key);
    return sqlite_done(s, st);
}

/* Whether a run that was never claimed may stand there: nearer is no way round a leash. */
static bool may_move(struct store *s, struct sqlite_root *r, const struct store_wish *wish,
                     const struct sqlite_parent *p, const struct known *k) {
    bool counts = !wish->line && wish->edge != STORE_PAGE;
    if (counts && k->parent != p->key && p->children + p->more >= fanout_of(s, r, p))
        return false;
    return k->scope == wish->scope || budget(s, r, wish->scope) == STORE_NO_REASON;
}

/* The document stands already: whoever reacts to it is told that its children are nearer now. */
static int tell_again(struct store *s, const struct store_wish *wish, int64_t run, int64_t reach) {
    sqlite3_stmt *st =
        sqlite_sql(s, SQL_EVENT_REACH, "UPDATE event SET reach = ?3 WHERE root = ?1 AND state < 2 AND run = ?2");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, wish->root);
    bind_int(st, 2, run);
    bind_int(st, 3, reach);
    if (sqlite_done(s, st) < 0)
        return TL_FAILED;
    st = sqlite_sql(s, SQL_PUT_RESULT,
                    "SELECT collector FROM run r WHERE key = ?1 AND state IN (2, 3, 8, 9) AND "
                    "EXISTS (SELECT 1 FROM document WHERE run IN (r.key, r.result_ref))");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, run);
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc;
    int64_t collector = col_int(st, 0);
    sqlite3_reset(st);
    return store_event_put(s, wish->root, run, collector, (struct tl_span){"", 0}, STORE_EVENT_AGAIN);
}

static int put_known(struct store *s, struct sqlite_root *r, const struct store_wish *wish, struct sqlite_parent *p,
                     const struct known *k, int64_t reach, struct store_put_result *out) {
    *out = (struct store_put_result){.verdict = STORE_KNOWN, .run = k->key, .reach = k->reach};
    const struct sqlite_scope *scope = sqlite_scope(s, r, wish->scope);
    if (reach >= k->reach || (scope && reach > scope->at.depth) || wish->refuse)
        return TL_OK;
    if (k->state == STORE_QUEUED && !k->token) {
        if (!may_move(s, r, wish, p, k))
            return TL_OK;
        out->verdict = STORE_NEARER;
        out->reach = reach;
        return move(s, r, wish, p, k, reach);
    }
    sqlite3_stmt *st = sqlite_sql(s, SQL_PUT_REACH, "UPDATE run SET reach = ?2 WHERE key = ?1");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, k->key);
    bind_int(st, 2, reach);
    out->verdict = STORE_AGAIN;
    out->reach = reach;
    if (k->key == p->key)
        p->reach = reach;
    sqlite_hint_drop(r, reach, k->key);
    if (sqlite_done(s, st) < 0)
        return TL_FAILED;
    return k->state < STORE_SUCCESS ? TL_OK : tell_again(s, wish, k->key, reach);
}

static int put_one(struct store *s, const struct store_wish *wish, int64_t now_us, struct store_put_result *out) {
    struct sqlite_parent *p = &s->put;
    struct sqlite_root *r = sqlite_root(s, wish->root);
    if (parent_load(s, p, wish->parent) < 0)
        return TL_FAILED;
    int64_t from =
        wish->parent_reach < p->reach ? wish->parent_reach : p->reach; /* it may have come nearer meanwhile */
    int64_t reach = from + (wish->edge == STORE_PAGE ? 0 : 1);
    struct known k = {0};
    int rc = find(s, wish, &k);
    if (rc < 0)
        return rc;
    if (rc)
        return put_known(s, r, wish, p, &k, reach, out);
    enum store_reason reason = judge(s, r, wish, p, reach);
    if (reason) {
        *out = (struct store_put_result){.verdict = STORE_LEASHED, .reason = reason, .reach = reach};
        return sqlite_refuse(s, wish->root, wish->parent, wish->collector, wish->digest, wish->url, reason, 1, now_us);
    }
    *out = (struct store_put_result){.verdict = STORE_NEW, .reach = reach};
    if (insert(s, wish, p, reach, now_us, &out->run) < 0)
        return TL_FAILED;
    if (!wish->line && wish->edge != STORE_PAGE)
        p->more++;
    sqlite_spend(s, r, wish->scope, 1, 0);
    sqlite_hint_drop(r, reach, out->run);
    r->runs++;
    r->queued++;
    return TL_OK;
}

int store_put(struct store *s, const struct store_wish *wish, size_t n, struct store_put_result *out,
              struct fail *why) {
    int rc = sqlite_writing(s) ? TL_OK : TL_FAILED;
    int64_t now_us = store_now_us(s);
    for (size_t i = 0; rc == TL_OK && i < n; i++)
        rc = put_one(s, &wish[i], now_us, &out[i]);
    if (rc == TL_OK && s->broken)
        rc = TL_FAILED;
    return sqlite_answer(s, rc, why);
}

int store_leashed(struct store *s, int64_t root, int64_t parent, int64_t collector, const uint8_t digest[STORE_DIGEST],
                  struct tl_span url, enum store_reason reason, int64_t times) {
    if (!sqlite_writing(s))
        return TL_FAILED;
    if (parent)
        return sqlite_refuse(s, root, parent, collector, digest, url, reason, times, store_now_us(s));
    sqlite3_stmt *st =
        sqlite_sql(s, SQL_REFUSE_RUN, "SELECT coalesce(parent, key), url FROM run WHERE root = ?1 AND digest = ?2");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, root);
    bind_blob(st, 2, digest, STORE_DIGEST);
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc < 0 ? rc : TL_NOTFOUND;
    if (!url.len)
        url = col_span(st, 1);
    rc = sqlite_refuse(s, root, col_int(st, 0), collector, digest, url, reason, times, store_now_us(s));
    sqlite3_reset(st);
    return rc;
}
