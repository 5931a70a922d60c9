/* sqlite_urls.c - what outlives a crawl: the pace and robots.txt of hosts, the validators of URLs, and where URLs led for good.
 *
 * A key is 63 bits of a URL's text and may collide, so the text is compared on every hit. */
#include "base/mem.h"
#include "store/sqlite.h"

/* FNV-1a-64, xor-folded to 63 bits: rows of one URL stand together; nothing relies on it but this file. */
static int64_t key_of(struct tl_span url) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < url.len; i++)
        h = (h ^ (uint8_t)url.ptr[i]) * 0x100000001b3u;
    return (int64_t)((h ^ h >> 63) & INT64_MAX);
}

int store_host_state(struct store *s, int64_t host, struct store_host_state *out) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_HOST_STATE, "SELECT delay_us, until_us, robots, robots_us, robots_text FROM host WHERE key = ?1");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, host);
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc < 0 ? rc : TL_NOTFOUND;
    *out = (struct store_host_state){.delay_us = col_int(st, 0), .until_us = col_int(st, 1), .robots = (int)col_int(st, 2), .robots_us = col_int(st, 3)};
    buf_reset(&s->url_text);
    buf_add(&s->url_text, sqlite3_column_blob(st, 4), (size_t)sqlite3_column_bytes(st, 4));
    out->robots_text = buf_span(&s->url_text);
    sqlite3_reset(st);
    return TL_OK;
}

int store_host_pace(struct store *s, int64_t host, int64_t delay_us, int64_t until_us) {
    sqlite3_stmt *st = sqlite_writing(s) ? sqlite_sql(s, SQL_HOST_PACE, "UPDATE host SET delay_us = ?2, until_us = max(until_us, ?3) WHERE key = ?1") : NULL;
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, host);
    bind_int(st, 2, delay_us);
    bind_int(st, 3, until_us);
    return sqlite_done(s, st);
}

int store_host_robots(struct store *s, int64_t host, int robots, struct tl_span text) {
    sqlite3_stmt *st = sqlite_writing(s) ? sqlite_sql(s, SQL_HOST_ROBOTS, "UPDATE host SET robots = ?2, robots_us = ?3, robots_text = ?4 WHERE key = ?1") : NULL;
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, host);
    bind_int(st, 2, robots);
    bind_int(st, 3, store_now_us(s));
    if (robots == 1)
        bind_blob(st, 4, text.ptr, text.len);
    else
        sqlite3_bind_null(st, 4);
    return sqlite_done(s, st);
}

int store_validator_get(struct store *s, struct tl_span url, const char *credential, struct store_validator *out) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_VALIDATOR_GET, "SELECT etag, last_modified, run, unchanged, at_us FROM validator WHERE key = ?1 AND url = ?2 AND credential = ?3");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, key_of(url));
    bind_span(st, 2, url);
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

int store_validator_put(struct store *s, struct tl_span url, const char *credential, const struct store_validator *v) {
    sqlite3_stmt *st = sqlite_writing(s) ? sqlite_sql(s, SQL_VALIDATOR_PUT,
        "INSERT INTO validator (key, url, credential, etag, last_modified, run, at_us) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO UPDATE SET "
        "etag = excluded.etag, last_modified = excluded.last_modified, run = excluded.run, unchanged = 0, at_us = excluded.at_us WHERE at_us <= excluded.at_us") : NULL;
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, key_of(url));
    bind_span(st, 2, url);
    bind_text(st, 3, credential ? credential : "");
    bind_text(st, 4, v->etag);
    bind_text(st, 5, v->last_modified);
    bind_int(st, 6, v->run);
    bind_int(st, 7, v->at_us);
    return sqlite_done(s, st);
}

static int one_validator(struct store *s, enum sqlite_id id, const char *sql, struct tl_span url, const char *credential) {
    sqlite3_stmt *st = sqlite_writing(s) ? sqlite_sql(s, id, sql) : NULL;
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, key_of(url));
    bind_span(st, 2, url);
    bind_text(st, 3, credential ? credential : "");
    return sqlite_done(s, st);
}

int store_validator_unchanged(struct store *s, struct tl_span url, const char *credential) {
    return one_validator(s, SQL_VALIDATOR_HIT, "UPDATE validator SET unchanged = unchanged + 1 WHERE key = ?1 AND url = ?2 AND credential = ?3", url, credential);
}

int store_validator_forget(struct store *s, struct tl_span url, const char *credential) {
    return one_validator(s, SQL_VALIDATOR_FORGET, "DELETE FROM validator WHERE key = ?1 AND url = ?2 AND credential = ?3", url, credential);
}

/* ---- mappings */

static int url_id(struct store *s, struct tl_span url, int64_t *id) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_URL_FIND, "SELECT id FROM url_row WHERE key = ?1 AND url = ?2");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, key_of(url));
    bind_span(st, 2, url);
    int rc = sqlite_row(s, st);
    if (rc < 0)
        return rc;
    if (rc == 1) {
        *id = col_int(st, 0);
        sqlite3_reset(st);
        return TL_OK;
    }
    if (!(st = sqlite_sql(s, SQL_URL_ADD, "INSERT INTO url_row (key, url, first_us, last_us) VALUES (?1, ?2, ?3, ?3)")))
        return TL_FAILED;
    bind_int(st, 1, key_of(url));
    bind_span(st, 2, url);
    bind_int(st, 3, store_now_us(s));
    if (sqlite_done(s, st) < 0)
        return TL_FAILED;
    *id = sqlite3_last_insert_rowid(s->db);
    return TL_OK;
}

int store_url_map(struct store *s, struct tl_span from, struct tl_span to, const char *kind) {
    int64_t target = 0, now = store_now_us(s), key = key_of(from);
    if (!sqlite_writing(s) || url_id(s, to, &target) < 0)
        return TL_FAILED;
    sqlite3_stmt *st = sqlite_sql(s, SQL_MAP_FIND, "SELECT url FROM url_map_row WHERE requested_key = ?1 AND requested_url = ?2 AND until_us = 0 AND kind = ?3");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, key);
    bind_span(st, 2, from);
    bind_text(st, 3, kind);
    int rc = sqlite_row(s, st);
    int64_t now_at = rc == 1 ? col_int(st, 0) : 0;
    sqlite3_reset(st);
    if (rc < 0 || now_at == target)
        return rc < 0 ? rc : TL_OK;
    if (now_at) {
        if (!(st = sqlite_sql(s, SQL_MAP_END, "UPDATE url_map_row SET until_us = ?4 WHERE requested_key = ?1 AND requested_url = ?2 AND until_us = 0 AND kind = ?3")))
            return TL_FAILED;
        bind_int(st, 1, key);
        bind_span(st, 2, from);
        bind_text(st, 3, kind);
        bind_int(st, 4, now);
        if (sqlite_done(s, st) < 0)
            return TL_FAILED;
    }
    if (!(st = sqlite_sql(s, SQL_MAP_ADD, "INSERT OR REPLACE INTO url_map_row (requested_key, requested_url, url, kind, since_us) VALUES (?1, ?2, ?3, ?4, ?5)")))
        return TL_FAILED;
    bind_int(st, 1, key);
    bind_span(st, 2, from);
    bind_int(st, 3, target);
    bind_text(st, 4, kind);
    bind_int(st, 5, now);
    return sqlite_done(s, st);
}
