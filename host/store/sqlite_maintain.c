/* sqlite_maintain.c - what the catalog forgets: on demand one URL, by age what nobody saw for long; and the room that
 * this frees.
 *
 * Invariant: runs and documents are never touched here; only what leads from URLs to them is. A URL's row goes when
 * nothing names it. */
#include <errno.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "store/sqlite.h"

/* One statement that is seldom used; *changed counts its rows. */
static int change(struct store *s, const char *sql, int64_t a, int64_t *changed) {
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);
    if (rc != SQLITE_OK)
        return sqlite_fault(s, rc, "tidy");
    if (sqlite3_bind_parameter_count(st) > 0)
        bind_int(st, 1, a);
    rc = sqlite_done(s, st);
    sqlite3_finalize(st);
    if (rc == TL_OK && changed)
        *changed += sqlite3_changes64(s->db);
    return rc;
}

/* Rows of URLs that nothing names any more. */
static int sweep(struct store *s, int64_t *urls) {
    static const char *const step[] = {"CREATE TEMP TABLE named (id INTEGER PRIMARY KEY)",
                                       "INSERT OR IGNORE INTO named SELECT asked FROM url_map_row UNION ALL SELECT url "
                                       "FROM url_map_row UNION ALL SELECT url FROM validator "
                                       "UNION ALL SELECT url FROM url_document UNION ALL SELECT source FROM "
                                       "url_document UNION ALL SELECT asked FROM url_document "
                                       "UNION ALL SELECT claim FROM url_document WHERE claim IS NOT NULL"};
    int rc = TL_OK;
    for (size_t i = 0; i < COUNT_OF(step) && !rc; i++)
        rc = change(s, step[i], 0, NULL);
    if (!rc)
        rc = change(s, "DELETE FROM url_row WHERE id NOT IN (SELECT id FROM named)", 0, urls);
    if (!rc)
        rc = change(s, "DROP TABLE named", 0, NULL);
    return rc;
}

int store_expire(struct store *s, struct store_expiry *x, struct fail *why) {
    int rc = sqlite_writing(s) ? TL_OK : TL_FAILED;
    if (!rc && x->before_us > 0) {
        rc = change(s, "DELETE FROM url_document WHERE seen_us < ?1", x->before_us, &x->documents);
        if (!rc)
            rc = change(s, "DELETE FROM validator WHERE at_us < ?1", x->before_us, &x->validators);
        if (!rc) /* one that is over, and one that neither end has a document of any more */
            rc = change(s,
                        "DELETE FROM url_map_row WHERE (until_us > 0 AND until_us < ?1) OR (since_us < ?1 AND until_us "
                        "= 0 AND asked NOT IN "
                        "(SELECT asked FROM url_document UNION SELECT source FROM url_document) "
                        "AND url NOT IN (SELECT url FROM url_document))",
                        x->before_us, &x->mappings);
        if (!rc)
            rc = sweep(s, &x->urls);
    }
    if (!rc)
        rc = change(
            s, "UPDATE host SET robots = 0, robots_us = 0, robots_text = NULL WHERE robots <> 0 AND robots_us < ?1",
            x->robots_before_us, &x->robots);
    return rc ? sqlite_answer(s, rc, why) : TL_OK;
}

int store_url_forget(struct store *s, int64_t id) {
    static const char *const step[] = {"DELETE FROM url_document WHERE url = ?1",
                                       "DELETE FROM validator WHERE url = ?1",
                                       "DELETE FROM url_map_row WHERE asked = ?1 OR (url = ?1 AND kind <> 0)"};
    int rc = sqlite_writing(s) ? TL_OK : TL_FAILED;
    for (size_t i = 0; i < COUNT_OF(step) && !rc; i++)
        rc = change(s, step[i], id, NULL);
    return rc; /* its row goes with the next store_expire */
}

bool store_busy(struct store *s) {
    sqlite3_stmt *st = NULL;
    bool busy = true;
    if (sqlite3_prepare_v2(
            s->db,
            "SELECT 1 FROM crawl c JOIN run r ON r.root = c.root AND r.state = 1 JOIN owner o ON o.key = r.owner "
            "WHERE NOT c.closed AND o.lease_us > ?1 LIMIT 1",
            -1, &st, NULL) == SQLITE_OK) {
        bind_int(st, 1, store_now_us(s));
        busy = sqlite_row(s, st) != 0;
    }
    sqlite3_finalize(st);
    return busy;
}

static int64_t size_of(const struct store *s) {
    struct stat st;
    return stat(s->path, &st) == 0 ? (int64_t)st.st_size : 0;
}

int store_compact(struct store *s, int64_t *before, int64_t *after, struct fail *why) {
    static const char *const step[] = {"PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA optimize",
                                       "PRAGMA wal_checkpoint(TRUNCATE)"};
    int rc = SQLITE_OK;
    while (flock(s->turn, LOCK_EX) < 0) /* who wants to write waits, and is not refused */
        if (errno != EINTR)
            return fail_errno(why, TL_FAILED, "cannot wait for the turn to write to the catalog %s", s->path);
    for (size_t i = 0; i < COUNT_OF(step) && rc == SQLITE_OK; i++) {
        rc = sqlite3_exec(s->db, step[i], NULL, NULL, NULL);
        if (i == 0)
            *before = size_of(s);
    }
    flock(s->turn, LOCK_UN);
    if (rc != SQLITE_OK)
        return sqlite_answer(s, sqlite_fault(s, rc, "shrink"), why);
    *after = size_of(s);
    return TL_OK;
}
