/* sqlite_track.c - the tracked set and its locks in SQLite; see tracked.h.
 *
 * A lock's row stays when it is free, so that its token never comes a second time. */
#include "store/tracked.h"

#include "base/mem.h"
#include "store/sqlite.h"

/* One statement; ?1 is a name, then numbers, then texts. Its first row, if any, is left in *out for the caller to end.
 */
static int ask(struct store *s, const char *sql, const char *name, const int64_t *number, int numbers,
               const char *const *text, int texts, sqlite3_stmt **out) {
    int rc = sqlite3_prepare_v2(s->db, sql, -1, out, NULL);
    if (rc != SQLITE_OK)
        return sqlite_fault(s, rc, "track");
    if (name)
        bind_text(*out, 1, name);
    for (int i = 0; i < numbers; i++)
        bind_int(*out, 2 + i, number[i]);
    for (int i = 0; i < texts; i++)
        bind_text(*out, 2 + numbers + i, text[i]);
    return sqlite_row(s, *out);
}

/* One that gives no rows; *changed: how many it changed. */
static int change(struct store *s, const char *sql, const char *name, const int64_t *number, int numbers,
                  const char *text, int64_t *changed) {
    sqlite3_stmt *st = NULL;
    int rc = ask(s, sql, name, number, numbers, &text, text != NULL, &st);
    sqlite3_finalize(st);
    if (changed)
        *changed = sqlite3_changes64(s->db);
    return rc;
}

static int end(struct store *s, int rc, struct fail *why) {
    if (rc == TL_OK || rc == TL_NOTFOUND) {
        int ended = store_commit(s, why);
        return ended ? ended : rc;
    }
    rc = sqlite_answer(s, rc, why);
    store_rollback(s);
    return rc;
}

int store_track_add(struct store *s, const char *name, bool *added, struct fail *why) {
    int64_t changed = 0;
    int rc = store_begin(s, why);
    if (rc)
        return rc;
    const int64_t now = store_now_us(s);
    rc = change(s, "INSERT INTO tracked_name (name, added_us) VALUES (?1, ?2) ON CONFLICT DO NOTHING", name, &now, 1,
                NULL, &changed);
    *added = changed > 0;
    return end(s, rc, why);
}

int store_track_remove(struct store *s, const char *name, bool *removed, struct fail *why) {
    int64_t changed = 0;
    int rc = store_begin(s, why);
    if (rc)
        return rc;
    rc = change(s, "DELETE FROM tracked_name WHERE name = ?1", name, NULL, 0, NULL, &changed);
    *removed = changed > 0;
    if (!rc)
        rc = change(s, "UPDATE lock_row SET until_us = 0 WHERE name = ?1", name, NULL, 0, NULL, NULL);
    return end(s, rc, why);
}

int store_track_put(struct store *s, const struct store_tracked *t, struct fail *why) {
    const int64_t number[] = {t->added_us, t->done_us, t->taken_us};
    int rc = store_begin(s, why);
    if (rc)
        return rc;
    rc = change(s,
                "INSERT INTO tracked_name (name, added_us, done_us, taken_us, error) VALUES (?1, ?2, ?3, ?4, ?5) "
                "ON CONFLICT DO NOTHING",
                t->name, number, 3, t->error, NULL);
    return end(s, rc, why);
}

int store_track_next(struct store *s, const char *owner, int64_t ttl_us, struct buf *name, int64_t *token,
                     struct fail *why) {
    sqlite3_stmt *st = NULL;
    int rc = store_begin(s, why);
    if (rc)
        return rc;
    const int64_t now = store_now_us(s), lock[] = {now + ttl_us};
    rc = ask(s,
             "SELECT t.name, coalesce(l.token, 0) + 1 FROM tracked_name t LEFT JOIN lock_row l ON l.name = t.name "
             "WHERE l.until_us IS NULL OR l.until_us <= ?2 "
             "ORDER BY t.done_us = 0 AND t.error IS NULL DESC, t.taken_us, t.added_us, t.name LIMIT 1",
             NULL, &now, 1, NULL, 0, &st);
    if (rc == 1) {
        buf_add(name, col_span(st, 0).ptr, col_span(st, 0).len);
        *token = col_int(st, 1);
    }
    sqlite3_finalize(st);
    if (rc != 1)
        return end(s, rc ? rc : TL_NOTFOUND, why);
    rc = change(s, "UPDATE tracked_name SET taken_us = ?2 WHERE name = ?1", name->data, &now, 1, NULL, NULL);
    if (!rc)
        rc = change(s,
                    "INSERT INTO lock_row (name, owner, token, until_us) VALUES (?1, ?3, 1, ?2) ON CONFLICT (name) DO "
                    "UPDATE SET owner = excluded.owner, token = lock_row.token + 1, until_us = excluded.until_us",
                    name->data, lock, 1, owner, NULL);
    return end(s, rc, why);
}

int store_track_renew(struct store *s, const char *name, int64_t token, int64_t ttl_us, struct fail *why) {
    int64_t changed = 0;
    int rc = store_begin(s, why);
    if (rc)
        return rc;
    const int64_t now = store_now_us(s), number[] = {token, now, now + ttl_us};
    rc = change(s, "UPDATE lock_row SET until_us = ?4 WHERE name = ?1 AND token = ?2 AND until_us > ?3", name, number,
                3, NULL, &changed);
    return end(s, rc ? rc : changed ? TL_OK : TL_NOTFOUND, why);
}

static int note(struct store *s, const char *name, const char *error, int64_t now) {
    return error ? change(s, "UPDATE tracked_name SET error = ?3, taken_us = max(taken_us, ?2) WHERE name = ?1", name,
                          &now, 1, error, NULL)
                 : change(s, "UPDATE tracked_name SET done_us = ?2, error = NULL WHERE name = ?1", name, &now, 1, NULL,
                          NULL);
}

int store_track_complete(struct store *s, const char *name, int64_t token, const char *error, struct fail *why) {
    int64_t changed = 0;
    int rc = store_begin(s, why);
    if (rc)
        return rc;
    const int64_t now = store_now_us(s), number[] = {token, now};
    rc = change(s, "UPDATE lock_row SET until_us = 0 WHERE name = ?1 AND token = ?2 AND until_us > ?3", name, number, 2,
                NULL, &changed);
    if (!rc && !changed)
        rc = TL_NOTFOUND;
    return end(s, rc ? rc : note(s, name, error, now), why);
}

int store_track_note(struct store *s, const char *name, const char *error, struct fail *why) {
    int rc = store_begin(s, why);
    return rc ? rc : end(s, note(s, name, error, store_now_us(s)), why);
}
