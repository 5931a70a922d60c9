/* sqlite_urls.c - what outlives a crawl: the pace and robots.txt of hosts, rows of URLs, and their validators.
 *
 * A key is 63 bits of a URL's text and may collide, so the text is compared on every hit. */
#include "base/mem.h"
#include "store/sqlite.h"

int store_host_state(struct store *s, int64_t host, struct store_host_state *out) {
    sqlite3_stmt *st =
        sqlite_sql(s, SQL_HOST_STATE,
                   "SELECT delay_us, until_us, robots, robots_us, robots_text, robots_tls FROM host WHERE key = ?1");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, host);
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc < 0 ? rc : TL_NOTFOUND;
    *out = (struct store_host_state){.delay_us = col_int(st, 0),
                                     .until_us = col_int(st, 1),
                                     .robots = (int)col_int(st, 2),
                                     .robots_us = col_int(st, 3),
                                     .robots_tls = col_int(st, 5) != 0};
    buf_reset(&s->url_text);
    buf_add(&s->url_text, sqlite3_column_blob(st, 4), (size_t)sqlite3_column_bytes(st, 4));
    out->robots_text = buf_span(&s->url_text);
    sqlite3_reset(st);
    return TL_OK;
}

int store_host_pace(struct store *s, int64_t host, int64_t delay_us, int64_t until_us) {
    sqlite3_stmt *st =
        sqlite_writing(s)
            ? sqlite_sql(s, SQL_HOST_PACE, "UPDATE host SET delay_us = ?2, until_us = max(until_us, ?3) WHERE key = ?1")
            : NULL;
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, host);
    bind_int(st, 2, delay_us);
    bind_int(st, 3, until_us);
    return sqlite_done(s, st);
}

int store_host_robots(struct store *s, int64_t host, bool tls, int robots, struct tl_span text) {
    sqlite3_stmt *st =
        sqlite_writing(s)
            ? sqlite_sql(
                  s, SQL_HOST_ROBOTS,
                  "UPDATE host SET robots = ?2, robots_us = ?3, robots_text = ?4, robots_tls = ?5 WHERE key = ?1")
            : NULL;
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, host);
    bind_int(st, 2, robots);
    bind_int(st, 3, store_now_us(s));
    if (robots == 1)
        bind_blob(st, 4, text.ptr, text.len);
    else
        sqlite3_bind_null(st, 4);
    bind_int(st, 5, tls);
    return sqlite_done(s, st);
}

/* ---- URLs */

int store_url_find(struct store *s, struct store_url url, int64_t *id) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_URL_FIND, "SELECT id FROM url_row WHERE key = ?1 AND url = ?2");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, (int64_t)url.key);
    bind_span(st, 2, url.text);
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc < 0 ? rc : TL_NOTFOUND;
    *id = col_int(st, 0);
    sqlite3_reset(st);
    return TL_OK;
}

int sqlite_url_id(struct store *s, struct store_url url, int64_t at_us, int64_t *id, bool *fresh) {
    int rc = store_url_find(s, url, id);
    *fresh = rc == TL_NOTFOUND;
    if (!*fresh)
        return rc;
    sqlite3_stmt *st = sqlite_sql(s, SQL_URL_ADD, "INSERT INTO url_row (key, url, first_us) VALUES (?1, ?2, ?3)");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, (int64_t)url.key);
    bind_span(st, 2, url.text);
    bind_int(st, 3, at_us);
    if (sqlite_done(s, st) < 0)
        return TL_FAILED;
    *id = sqlite3_last_insert_rowid(s->db);
    return TL_OK;
}

/* ---- validators */

int store_validator_get(struct store *s, struct store_url url, const char *credential, struct store_validator *out) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_VALIDATOR_GET,
                                  "SELECT v.etag, v.last_modified, v.run, v.unchanged, v.at_us FROM url_row u CROSS "
                                  "JOIN validator v ON v.url = u.id AND v.credential = ?3 "
                                  "WHERE u.key = ?1 AND u.url = ?2");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, (int64_t)url.key);
    bind_span(st, 2, url.text);
    bind_text(st, 3, credential ? credential : "");
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc < 0 ? rc : TL_NOTFOUND;
    size_t at[2];
    const char **text[] = {&out->etag, &out->last_modified};
    *out = (struct store_validator){.run = col_int(st, 2), .unchanged = col_int(st, 3), .at_us = col_int(st, 4)};
    buf_reset(&s->url_text);
    for (int i = 0; i < 2; i++) {
        at[i] = s->url_text.len;
        buf_add(&s->url_text, col_span(st, i).ptr, col_span(st, i).len);
        buf_char(&s->url_text, '\0');
    }
    for (int i = 0; i < 2; i++)
        *text[i] = sqlite3_column_type(st, i) == SQLITE_NULL ? NULL : s->url_text.data + at[i];
    sqlite3_reset(st);
    return TL_OK;
}

bool store_validators_any(struct store *s) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_VALIDATOR_ANY, "SELECT 1 FROM validator LIMIT 1");
    bool any = st && sqlite_row(s, st) == 1;
    if (st)
        sqlite3_reset(st);
    return any;
}

int store_validator_put(struct store *s, struct store_url url, const char *credential,
                        const struct store_validator *v) {
    int64_t id = 0;
    bool fresh;
    if (!sqlite_writing(s) || sqlite_url_id(s, url, v->at_us, &id, &fresh) < 0)
        return TL_FAILED;
    sqlite3_stmt *st = sqlite_sql(s, SQL_VALIDATOR_PUT,
                                  "INSERT INTO validator (url, credential, etag, last_modified, run, at_us) VALUES "
                                  "(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET "
                                  "etag = excluded.etag, last_modified = excluded.last_modified, run = excluded.run, "
                                  "unchanged = 0, at_us = excluded.at_us WHERE at_us <= excluded.at_us");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, id);
    bind_text(st, 2, credential ? credential : "");
    bind_text(st, 3, v->etag);
    bind_text(st, 4, v->last_modified);
    bind_int(st, 5, v->run);
    bind_int(st, 6, v->at_us);
    return sqlite_done(s, st);
}

static int one_validator(struct store *s, enum sqlite_id id, const char *sql, struct store_url url,
                         const char *credential, int64_t at_us) {
    int64_t row = 0;
    int rc = sqlite_writing(s) ? store_url_find(s, url, &row) : TL_FAILED;
    if (rc < 0)
        return rc == TL_NOTFOUND ? TL_OK : rc;
    sqlite3_stmt *st = sqlite_sql(s, id, sql);
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, row);
    bind_text(st, 2, credential ? credential : "");
    if (at_us)
        bind_int(st, 3, at_us);
    return sqlite_done(s, st);
}

int store_validator_unchanged(struct store *s, struct store_url url, const char *credential, int64_t at_us) {
    return one_validator(
        s, SQL_VALIDATOR_HIT,
        "UPDATE validator SET unchanged = unchanged + 1, at_us = max(at_us, ?3) WHERE url = ?1 AND credential = ?2",
        url, credential, at_us);
}

int store_validator_forget(struct store *s, struct store_url url, const char *credential) {
    return one_validator(s, SQL_VALIDATOR_FORGET, "DELETE FROM validator WHERE url = ?1 AND credential = ?2", url,
                         credential, 0);
}
