/* sqlite_events.c - the outbox of reactions, and the small state that collectors keep.
 *
 * Invariants: an event is put in the transaction that makes its document durable; it is delivered at least once, and
 * its row is gone once that is done; what it brings forth is put in the transaction that ends it. */
#include <string.h>

#include "base/mem.h"
#include "store/sqlite.h"

enum { DELIVERIES = 4, BACKOFF_US = 1000000 }; /* once, and three times more; after 1, 2 and 4 s */

int store_event_put(struct store *s, int64_t root, int64_t run, int64_t reactor, struct tl_span args,
                    enum store_event_kind kind) {
    if (!sqlite_writing(s))
        return TL_FAILED;
    sqlite3_stmt *st;
    if (kind == STORE_EVENT_AGAIN) { /* one that waits will do */
        if (!(st = sqlite_sql(s, SQL_EVENT_AGAIN,
                              "SELECT 1 FROM event WHERE run = ?1 AND kind = 1 AND state = 0 AND reactor = ?2")))
            return TL_FAILED;
        bind_int(st, 1, run);
        bind_int(st, 2, reactor);
        int rc = sqlite_row(s, st);
        if (rc) {
            sqlite3_reset(st);
            return rc < 0 ? rc : TL_OK;
        }
    }
    if (!(st = sqlite_sql(s, SQL_EVENT_ADD,
                          "INSERT INTO event (root, run, reactor, kind, args, reach, state, created_us) "
                          "SELECT ?1, key, ?3, ?4, ?5, reach, 0, ?6 FROM run WHERE key = ?2")))
        return TL_FAILED;
    bind_int(st, 1, root);
    bind_int(st, 2, run);
    bind_int(st, 3, reactor);
    bind_int(st, 4, kind);
    bind_span(st, 5, args);
    bind_int(st, 6, store_now_us(s));
    if (sqlite_done(s, st) < 0)
        return TL_FAILED;
    if (!sqlite3_changes(s->db))
        return TL_NOTFOUND;
    sqlite_root(s, root)->events++;
    return TL_OK;
}

struct due {
    int64_t key, run;
};

static int find_due(struct store *s, int64_t root, size_t max, struct due *due, size_t *count) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_EVENT_SCAN,
                                  "SELECT key, run FROM event WHERE root = ?1 AND state < 2 AND state = 0 AND "
                                  "not_before_us <= ?2 ORDER BY reach, key LIMIT ?3");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, root);
    bind_int(st, 2, store_now_us(s));
    bind_int(st, 3, (int64_t)max);
    int rc;
    *count = 0;
    while ((rc = sqlite_row(s, st)) == 1)
        if (*count < max)
            due[(*count)++] = (struct due){col_int(st, 0), col_int(st, 1)};
    return rc;
}

/* The document that stands for the run's result: its own, or the earlier one that it names. */
static int document_path(struct store *s, int64_t run, struct buf *out) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_EVENT_PATH,
                                  "SELECT f.path || '/' || d.result_id || '.json' FROM run r "
                                  "JOIN document d ON d.run IN (r.key, r.result_ref) JOIN folder f ON f.key = d.folder "
                                  "WHERE r.key = ?1 ORDER BY d.run = r.key DESC LIMIT 1");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, run);
    int rc = sqlite_row(s, st);
    buf_reset(out);
    if (rc == 1) {
        buf_add(out, col_span(st, 0).ptr, col_span(st, 0).len);
        sqlite3_reset(st);
    }
    return rc < 0 ? rc : TL_OK;
}

static int mark(struct store *s, int64_t key, int64_t owner) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_EVENT_TAKE, "UPDATE event SET state = 1, owner = ?2 WHERE key = ?1");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, key);
    bind_int(st, 2, owner);
    return sqlite_done(s, st);
}

/* 0 go on, 1 stop. */
static int deliver(struct store *s, const struct due *due, int64_t owner,
                   int (*each)(void *, const struct store_event *, const struct store_claimed *, const char *),
                   void *ctx) {
    AUTO_BUF struct buf path = BUF_INIT;
    struct store_claimed run;
    sqlite3_stmt *held = NULL,
                 *st = sqlite_sql(s, SQL_EVENT_GET, "SELECT reactor, attempts, kind, args FROM event WHERE key = ?1");
    if (!st || mark(s, due->key, owner) < 0 || document_path(s, due->run, &path) < 0)
        return TL_FAILED;
    bind_int(st, 1, due->key);
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc;
    rc = sqlite_claimed_load(s, due->run, &run, &held);
    if (rc == TL_OK) {
        const struct store_event event = {.key = due->key,
                                          .run = due->run,
                                          .reactor = col_int(st, 0),
                                          .attempts = col_int(st, 1),
                                          .reach = run.reach,
                                          .kind = (enum store_event_kind)col_int(st, 2),
                                          .args = col_span(st, 3)};
        rc = each(ctx, &event, &run, path.len ? path.data : NULL);
    }
    sqlite3_reset(st);
    sqlite3_reset(held);
    return rc;
}

int store_event_claim(struct store *s, int64_t root, const char *owner, size_t max,
                      int (*each)(void *ctx, const struct store_event *, const struct store_claimed *run,
                                  const char *document_path),
                      void *ctx) {
    struct due due[64];
    size_t count = 0;
    int64_t owner_key = 0;
    if (!sqlite_writing(s) || sqlite_owner(s, owner, &owner_key) < 0)
        return TL_FAILED;
    while (max) {
        size_t want = max < COUNT_OF(due) ? max : COUNT_OF(due);
        if (find_due(s, root, want, due, &count) < 0)
            return TL_FAILED;
        for (size_t i = 0; i < count; i++) {
            int rc = deliver(s, &due[i], owner_key, each, ctx);
            if (rc)
                return rc < 0 ? rc : TL_OK;
        }
        if (count < want)
            break;
        max -= count;
    }
    return TL_OK;
}

int store_event_finish(struct store *s, int64_t key, bool ok, const char *error) {
    if (!sqlite_writing(s))
        return TL_FAILED;
    sqlite3_stmt *st = sqlite_sql(s, SQL_EVENT_ROOT, "SELECT root, attempts FROM event WHERE key = ?1 AND state < 2");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, key);
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc < 0 ? rc : TL_NOTFOUND;
    int64_t root = col_int(st, 0), attempts = col_int(st, 1) + 1;
    sqlite3_reset(st);
    bool over = ok || attempts >= DELIVERIES;
    st = ok ? sqlite_sql(s, SQL_EVENT_DONE, "DELETE FROM event WHERE key = ?1")
            : sqlite_sql(s, SQL_EVENT_FAIL,
                         "UPDATE event SET state = ?2, attempts = ?3, not_before_us = ?4, error = ?5, owner = NULL "
                         "WHERE key = ?1");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, key);
    if (!ok) {
        bind_int(st, 2, over ? 3 : 0);
        bind_int(st, 3, attempts);
        bind_int(st, 4, over ? 0 : store_now_us(s) + ((int64_t)BACKOFF_US << (attempts - 1)));
        bind_text(st, 5, error);
    }
    if (sqlite_done(s, st) < 0)
        return TL_FAILED;
    sqlite_root(s, root)->events -= over;
    return TL_OK;
}

/* One number of the root's; *out stays when there is none. */
static int one(struct store *s, enum sqlite_id id, const char *sql, int64_t root, int64_t *out) {
    sqlite3_stmt *st = sqlite_sql(s, id, sql);
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, root);
    int rc = sqlite_row(s, st);
    if (rc == 1) {
        if (sqlite3_column_type(st, 0) != SQLITE_NULL)
            *out = col_int(st, 0);
        sqlite3_reset(st);
    }
    return rc < 0 ? rc : TL_OK;
}

int store_events_open(struct store *s, int64_t root, int64_t *count, int64_t *smallest_reach, int64_t *next_due_us) {
    *count = 0;
    *smallest_reach = *next_due_us = INT64_MAX;
    if (sqlite_flush(s) < 0 || one(s, SQL_EVENT_COUNT, "SELECT events FROM crawl WHERE root = ?1", root, count) < 0)
        return TL_FAILED;
    if (!*count)
        return TL_OK;
    if (one(s, SQL_EVENT_NEAREST, "SELECT reach FROM event WHERE root = ?1 AND state < 2 ORDER BY reach, key LIMIT 1",
            root, smallest_reach) < 0)
        return TL_FAILED;
    return one(s, SQL_EVENT_DUE,
               "SELECT not_before_us FROM event WHERE root = ?1 AND state = 0 AND not_before_us > 0 "
               "ORDER BY not_before_us LIMIT 1",
               root, next_due_us);
}

/* ---- state of collectors: by name, so that it survives a new version */

int store_state_get(struct store *s, const char *crawl, int64_t collector, struct tl_span key, struct buf *value) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_STATE_GET,
                                  "SELECT value FROM state WHERE crawl = ?1 AND name = ?3 AND "
                                  "collector = (SELECT name FROM collector WHERE key = ?2)");
    if (!st)
        return TL_FAILED;
    bind_text(st, 1, crawl);
    bind_int(st, 2, collector);
    sqlite3_bind_text64(st, 3, key.ptr, key.len, SQLITE_STATIC, SQLITE_UTF8);
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc < 0 ? rc : TL_NOTFOUND;
    const void *bytes = sqlite3_column_blob(st, 0);
    buf_add(value, bytes ? bytes : "", (size_t)sqlite3_column_bytes(st, 0));
    sqlite3_reset(st);
    return TL_OK;
}

int store_state_put(struct store *s, const char *crawl, int64_t collector, struct tl_span key, struct tl_span value) {
    if (!sqlite_writing(s))
        return TL_FAILED;
    sqlite3_stmt *st = sqlite_sql(s, SQL_STATE_PUT,
                                  "INSERT INTO state (crawl, collector, name, value, at_us) "
                                  "SELECT ?1, name, ?3, ?4, ?5 FROM collector WHERE key = ?2 "
                                  "ON CONFLICT DO UPDATE SET value = excluded.value, at_us = excluded.at_us");
    if (!st)
        return TL_FAILED;
    bind_text(st, 1, crawl);
    bind_int(st, 2, collector);
    sqlite3_bind_text64(st, 3, key.ptr, key.len, SQLITE_STATIC, SQLITE_UTF8);
    bind_blob(st, 4, value.len ? value.ptr : "", value.len);
    bind_int(st, 5, store_now_us(s));
    if (sqlite_done(s, st) < 0)
        return TL_FAILED;
    return sqlite3_changes(s->db) ? TL_OK : TL_NOTFOUND;
}
