/* sqlite.c - statements, transactions and counters of a catalog in SQLite.
 *
 * A writer waits for its turn at flock(CATALOG.turn), which is fair, before it begins: SQLite's own busy handler
 * starves one of several writers. Counters of crawls and leashes are collected in memory and written once, at commit or
 * before they are read. */
#include "store/sqlite.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>

#include "base/mem.h"
#include "base/times.h"

enum {
    CHECKPOINT_PAGES = 4000, /* 16 MiB of log: then it is copied into the catalog, between transactions */
    ROOTS_KEPT = 64
};

int sqlite_fault(struct store *s, int rc, const char *doing) {
    s->broken = true;
    if (!s->fail.status)
        fail_exit(&s->fail, TL_FAILED, sqlite_classify(rc, sqlite3_system_errno(s->db)), "cannot %s the catalog %s: %s",
                  doing, s->path, sqlite3_errmsg(s->db));
    return TL_FAILED;
}

int sqlite_wrong(struct store *s, const char *fmt, ...) {
    s->broken = true;
    if (!s->fail.status) {
        char text[400];
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        fail_exit(&s->fail, TL_INVALID, EXIT_INTERNAL, "catalog %s: %s", s->path, text);
    }
    return TL_INVALID;
}

int sqlite_answer(struct store *s, int status, struct fail *why) {
    if (status < 0 && why && s->fail.status)
        *why = s->fail;
    if (!s->active) { /* nothing to protect: the next call starts afresh */
        s->broken = false;
        s->fail = (struct fail)FAIL_INIT;
    }
    return status;
}

sqlite3_stmt *sqlite_sql(struct store *s, enum sqlite_id id, const char *text) {
    if (!s->stmt[id]) {
        int rc = sqlite3_prepare_v3(s->db, text, -1, SQLITE_PREPARE_PERSISTENT, &s->stmt[id], NULL);
        if (rc != SQLITE_OK) {
            sqlite_fault(s, rc, "use");
            return NULL;
        }
    }
    return s->stmt[id];
}

int sqlite_row(struct store *s, sqlite3_stmt *st) {
    int rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        return 1;
    if (rc == SQLITE_DONE) {
        sqlite3_reset(st);
        return 0;
    }
    int status = sqlite_fault(s, rc, s->active || !sqlite3_stmt_readonly(st) ? "write to" : "read");
    sqlite3_reset(st);
    return status;
}

int sqlite_done(struct store *s, sqlite3_stmt *st) {
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc;
    sqlite3_reset(st);
    return TL_OK;
}

sqlite3_stmt *sqlite_prepare(struct store *s, const char *text) {
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(s->db, text, -1, &st, NULL);
    if (rc != SQLITE_OK)
        sqlite_fault(s, rc, "use");
    return st;
}

int sqlite_finish(struct store *s, sqlite3_stmt *st) {
    int rc = st ? sqlite_done(s, st) : TL_FAILED;
    sqlite3_finalize(st);
    return rc;
}

bool sqlite_writing(struct store *s) {
    if (s->active && !s->broken)
        return true;
    if (!s->active)
        sqlite_wrong(s, "written to outside a transaction");
    return false;
}

int64_t store_now_us(struct store *s) {
    (void)s; /* one machine: its clock */
    return time_now_us();
}

struct sqlite_root *sqlite_root(struct store *s, int64_t root) {
    for (size_t i = 0; i < s->roots; i++)
        if (s->root[i].root == root)
            return &s->root[i];
    MEM_GROW(s->root, s->roots, s->root_room);
    struct sqlite_root *r = &s->root[s->roots++];
    *r = (struct sqlite_root){.root = root};
    return r;
}

static void forget_roots(struct store *s) {
    for (size_t i = 0; i < s->roots; i++)
        sqlite_scopes_free(&s->root[i]);
    s->roots = 0;
}

void sqlite_forget(struct store *s) {
    forget_roots(s);
    sqlite_names_free(&s->names);
    s->put = (struct sqlite_parent){0};
    for (size_t i = 0; i < SQLITE_PATHS; i++)
        s->path_of[i].run = 0;
}

static int flush_scopes(struct store *s, struct sqlite_root *r) {
    for (size_t i = 0; i < r->scopes; i++) {
        struct sqlite_scope *scope = &r->scope[i];
        if (!scope->runs_new && !scope->bytes_new)
            continue;
        sqlite3_stmt *st =
            sqlite_sql(s, SQL_SCOPE_SPENT,
                       "UPDATE leash SET runs_spent = runs_spent + ?2, bytes_spent = bytes_spent + ?3 WHERE key = ?1");
        if (!st)
            return TL_FAILED;
        bind_int(st, 1, scope->at.key);
        bind_int(st, 2, scope->runs_new);
        bind_int(st, 3, scope->bytes_new);
        if (sqlite_done(s, st) < 0)
            return TL_FAILED;
        scope->runs_new = scope->bytes_new = 0;
    }
    return TL_OK;
}

int sqlite_flush(struct store *s) {
    if (s->active && sqlite_put_leave(s) < 0)
        return TL_FAILED;
    for (size_t i = 0; s->active && i < s->roots; i++) {
        struct sqlite_root *r = &s->root[i];
        if (flush_scopes(s, r) < 0)
            return TL_FAILED;
        if (!(r->runs || r->failed || r->leashed || r->documents || r->bytes || r->queued || r->leased || r->events))
            continue;
        sqlite3_stmt *st =
            sqlite_sql(s, SQL_CRAWL_SPENT,
                       "UPDATE crawl SET runs = runs + ?2, failed = failed + ?3, leashed = leashed + ?4, "
                       "documents = documents + ?5, bytes = bytes + ?6, queued = queued + ?7, "
                       "leased = leased + ?8, events = events + ?9 WHERE root = ?1");
        if (!st)
            return TL_FAILED;
        const int64_t n[] = {r->root,  r->runs,   r->failed, r->leashed, r->documents,
                             r->bytes, r->queued, r->leased, r->events};
        for (size_t k = 0; k < COUNT_OF(n); k++)
            bind_int(st, (int)k + 1, n[k]);
        if (sqlite_done(s, st) < 0)
            return TL_FAILED;
        r->runs = r->failed = r->leashed = r->documents = r->bytes = r->queued = r->leased = r->events = 0;
    }
    return TL_OK;
}

static int take_turn(struct store *s) {
    while (flock(s->turn, LOCK_EX) < 0)
        if (errno != EINTR) {
            s->broken = true;
            return fail_errno(&s->fail, TL_FAILED, "cannot wait for the turn to write at %s.turn", s->path);
        }
    return TL_OK;
}

static int simple(struct store *s, enum sqlite_id id, const char *text) {
    sqlite3_stmt *st = sqlite_sql(s, id, text);
    return st ? sqlite_done(s, st) : TL_FAILED;
}

int store_begin(struct store *s, struct fail *why) {
    if (s->mode != STORE_WRITE || s->active)
        return fail_exit(why, TL_INVALID, EXIT_INTERNAL, "catalog %s: a transaction was begun %s", s->path,
                         s->active ? "within another" : "on a catalog that is open for reading");
    s->broken = false;
    s->fail = (struct fail)FAIL_INIT;
    if (s->roots > ROOTS_KEPT)
        forget_roots(s);
    if (take_turn(s) < 0)
        return sqlite_answer(s, TL_FAILED, why);
    if (simple(s, SQL_BEGIN, "BEGIN IMMEDIATE") < 0) {
        flock(s->turn, LOCK_UN);
        return sqlite_answer(s, TL_FAILED, why);
    }
    s->active = true;
    return TL_OK;
}

void store_rollback(struct store *s) {
    if (!s->active)
        return;
    for (size_t i = 0; i < SQL_IDS; i++)
        sqlite3_reset(s->stmt[i]); /* those are ours that a callback left in the middle */
    if (!sqlite3_get_autocommit(s->db)) {
        sqlite3_stmt *st = sqlite_sql(s, SQL_ROLLBACK, "ROLLBACK");
        if (st)
            sqlite_done(s, st);
    }
    s->active = false;
    sqlite_forget(s);
    flock(s->turn, LOCK_UN);
}

/* Copies the log into the catalog once it is long. Others go on reading and writing meanwhile; what they hold back
 * stays for later. */
static void checkpoint(struct store *s) {
    if (s->wal_pages < CHECKPOINT_PAGES)
        return;
    s->wal_pages = 0;
    sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

int store_commit(struct store *s, struct fail *why) {
    if (!s->active)
        return fail_exit(why, TL_INVALID, EXIT_INTERNAL, "catalog %s: a commit without a transaction", s->path);
    if (s->broken || sqlite_flush(s) < 0 || simple(s, SQL_COMMIT, "COMMIT") < 0) {
        struct fail first = s->fail;
        store_rollback(s);
        s->fail = first;
        int status = first.status ? first.status : TL_FAILED;
        return sqlite_answer(s, status, why);
    }
    s->active = false;
    flock(s->turn, LOCK_UN);
    checkpoint(s);
    return TL_OK;
}
