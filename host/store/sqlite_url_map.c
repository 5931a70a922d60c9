/* sqlite_url_map.c - where URLs lead, and which documents are their content.
 *
 * Invariant: of a URL at most one mapping is open that is believed, and one claim; a claim leads nobody anywhere. A
 * document is content of exactly one URL, its canonical one, and is never taken away from it by what another page says
 * later. */
#include "base/mem.h"
#include "store/sqlite.h"

enum { HOPS_MOST = 8, RECENT_MOST = 64 };

/* ---- mappings */

struct mapping {
    int64_t id, url, kind, since_us;
};

static int add_mapping(struct store *s, int64_t asked, int64_t url, int64_t kind, int64_t at_us) {
    sqlite3_stmt *st =
        sqlite_sql(s, SQL_MAP_ADD, "INSERT INTO url_map_row (asked, url, kind, since_us) VALUES (?1, ?2, ?3, ?4)");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, asked);
    bind_int(st, 2, url);
    bind_int(st, 3, kind);
    bind_int(st, 4, at_us);
    return sqlite_done(s, st);
}

static int set_time(struct store *s, enum sqlite_id statement, const char *sql, int64_t id, int64_t at_us) {
    sqlite3_stmt *st = sqlite_sql(s, statement, sql);
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, id);
    bind_int(st, 2, at_us);
    return sqlite_done(s, st);
}

static int end_mapping(struct store *s, int64_t id, int64_t at_us) {
    return set_time(s, SQL_MAP_END, "UPDATE url_map_row SET until_us = ?2 WHERE id = ?1", id, at_us);
}

/* The open mappings of a URL: what is believed, and what is claimed; id 0: none. */
static int open_mappings(struct store *s, int64_t asked, struct mapping *believed, struct mapping *claim) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_MAP_FIND,
                                  "SELECT id, url, kind, since_us FROM url_map_row WHERE asked = ?1 AND until_us = 0");
    int rc = st ? TL_OK : TL_FAILED;
    *believed = *claim = (struct mapping){0};
    if (st)
        bind_int(st, 1, asked);
    while (!rc && (rc = sqlite_row(s, st)) == 1) {
        const struct mapping m = {col_int(st, 0), col_int(st, 1), col_int(st, 2), col_int(st, 3)};
        *(m.kind == STORE_URL_CLAIM ? claim : believed) = m;
        rc = TL_OK;
    }
    return rc;
}

/* Older news than what is known change nothing, but that it held longer. */
static int lead(struct store *s, const struct mapping *now, int64_t asked, int64_t url, enum store_url_kind kind,
                int64_t at_us) {
    if (now->id && now->url == url && now->kind == (int64_t)kind)
        return now->since_us <= at_us
                   ? TL_OK
                   : set_time(s, SQL_MAP_SINCE, "UPDATE url_map_row SET since_us = ?2 WHERE id = ?1", now->id, at_us);
    if (now->id && now->since_us > at_us)
        return TL_OK;
    int rc = now->id ? end_mapping(s, now->id, at_us) : TL_OK;
    return rc ? rc : add_mapping(s, asked, url, kind, at_us);
}

int store_url_map(struct store *s, struct store_url from, struct store_url to, enum store_url_kind kind,
                  int64_t at_us) {
    struct mapping believed, claim;
    int64_t asked = 0, url = 0;
    bool fresh;
    if (!sqlite_writing(s) || sqlite_url_id(s, from, at_us, &asked, &fresh) < 0 ||
        sqlite_url_id(s, to, at_us, &url, &fresh) < 0 || open_mappings(s, asked, &believed, &claim) < 0)
        return TL_FAILED;
    return lead(s, kind == STORE_URL_CLAIM ? &claim : &believed, asked, url, kind, at_us);
}

/* What a page that came from `source` says of it: its canonical URL, and perhaps one that is only claimed. */
static int speak(struct store *s, int64_t source, bool fresh, int64_t url, int64_t claim, int64_t at_us) {
    struct mapping believed = {0}, claimed = {0};
    if (!fresh && open_mappings(s, source, &believed, &claimed) < 0)
        return TL_FAILED;
    int rc = lead(s, &believed, source, url, url == source ? STORE_URL_SAME : STORE_URL_CANONICAL, at_us);
    if (!rc && claim)
        rc = lead(s, &claimed, source, claim, STORE_URL_CLAIM, at_us);
    else if (!rc && claimed.id && claimed.since_us <= at_us)
        rc = end_mapping(s, claimed.id, at_us);
    return rc;
}

/* ---- documents */

int store_edge_put(struct store *s, int64_t parent, int64_t child, enum store_edge kind) {
    sqlite3_stmt *st =
        sqlite_writing(s)
            ? sqlite_sql(s, SQL_IMPORT_EDGE,
                         "INSERT INTO edge (child, kind, parent) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")
            : NULL;
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, child);
    bind_int(st, 2, kind);
    bind_int(st, 3, parent);
    return sqlite_done(s, st);
}

/* Runs that came to this URL by others hang on the last run that asked for it itself. */
static int put_edges(struct store *s, int64_t run, int64_t url, bool itself) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_URL_RECENT,
                                  "SELECT run, asked FROM url_document WHERE url = ?1 ORDER BY at_us DESC LIMIT ?2");
    int64_t other[RECENT_MOST];
    size_t n = 0;
    int rc = st ? TL_OK : TL_FAILED;
    if (st) {
        bind_int(st, 1, url);
        bind_int(st, 2, RECENT_MOST);
    }
    while (!rc && (rc = sqlite_row(s, st)) == 1 && n < RECENT_MOST) {
        bool own = col_int(st, 1) == url;
        int64_t key = col_int(st, 0);
        rc = TL_OK;
        if (own == itself) {
            if (own) /* before it, others hang on that one */
                break;
            continue;
        }
        if (key != run)
            other[n++] = key;
        if (!itself)
            break;
    }
    if (st)
        sqlite3_reset(st);
    for (size_t i = 0; i < n && rc >= 0; i++)
        rc = itself ? store_edge_put(s, run, other[i], STORE_CANONICAL_OF)
                    : store_edge_put(s, other[i], run, STORE_CANONICAL_OF);
    return rc < 0 ? rc : TL_OK;
}

static int add_document(struct store *s, const struct store_fetched *f, int64_t url, int64_t source, int64_t asked,
                        int64_t claim) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_URL_DOCUMENT,
                                  "INSERT OR REPLACE INTO url_document (run, url, source, asked, claim, plain, at_us, "
                                  "seen_us, believed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8)");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, f->run);
    bind_int(st, 2, url);
    bind_int(st, 3, source);
    bind_int(st, 4, asked);
    bind_key(st, 5, claim);
    bind_int(st, 6, f->plain);
    bind_int(st, 7, f->at_us);
    bind_int(st, 8, f->believed);
    return sqlite_done(s, st);
}

static bool same(struct store_url a, struct store_url b) {
    return a.key == b.key && a.text.len == b.text.len && memcmp(a.text.ptr, b.text.ptr, a.text.len) == 0;
}

int store_url_fetched(struct store *s, const struct store_fetched *f) {
    int64_t asked = 0, source = 0, url = 0, claim = 0;
    bool fresh = false, source_fresh, url_fresh, claim_fresh;
    if (!sqlite_writing(s) || sqlite_url_id(s, f->asked, f->at_us, &asked, &fresh) < 0)
        return TL_FAILED;
    source = url = asked;
    source_fresh = url_fresh = fresh;
    if (!same(f->source, f->asked) && sqlite_url_id(s, f->source, f->at_us, &source, &source_fresh) < 0)
        return TL_FAILED;
    if (same(f->url, f->source)) {
        url = source;
        url_fresh = source_fresh;
    } else if (!same(f->url, f->asked) && sqlite_url_id(s, f->url, f->at_us, &url, &url_fresh) < 0)
        return TL_FAILED;
    if (f->claim.text.len && sqlite_url_id(s, f->claim, f->at_us, &claim, &claim_fresh) < 0)
        return TL_FAILED;
    int rc = TL_OK;
    if (f->believed && source != asked) {
        struct mapping believed = {0}, claimed = {0};
        rc = fresh ? TL_OK : open_mappings(s, asked, &believed, &claimed);
        if (rc >= 0)
            rc = lead(s, &believed, asked, source, STORE_URL_REDIRECT, f->at_us);
    }
    if (rc >= 0 && f->believed)
        rc = speak(s, source, source_fresh, url, claim, f->at_us);
    if (rc >= 0 && f->believed && !url_fresh)
        rc = put_edges(s, f->run, url, asked == url);
    return rc < 0 ? rc : add_document(s, f, url, source, asked, claim);
}

int store_url_seen(struct store *s, int64_t run, int64_t at_us) {
    if (!sqlite_writing(s))
        return TL_FAILED;
    return set_time(s, SQL_URL_SEEN, "UPDATE url_document SET seen_us = max(seen_us, ?2) WHERE run = ?1", run, at_us);
}

/* ---- questions */

int store_url_next(struct store *s, int64_t id, int64_t *to, enum store_url_kind *kind) {
    sqlite3_stmt *st = sqlite_sql(
        s, SQL_MAP_NEXT, "SELECT url, kind FROM url_map_row WHERE asked = ?1 AND until_us = 0 AND kind IN (1, 2)");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, id);
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc < 0 ? rc : TL_NOTFOUND;
    *to = col_int(st, 0);
    *kind = (enum store_url_kind)col_int(st, 1);
    sqlite3_reset(st);
    return TL_OK;
}

/* The URLs on the way from this one to its canonical one; a way in a circle ends where it would begin again. */
static int way_of(struct store *s, int64_t id, int64_t way[HOPS_MOST], size_t *n) {
    enum store_url_kind kind;
    int rc = TL_OK;
    way[0] = id;
    for (*n = 1; *n < HOPS_MOST; ++*n) {
        if ((rc = store_url_next(s, way[*n - 1], &way[*n], &kind)))
            break;
        for (size_t i = 0; i < *n; i++)
            if (way[i] == way[*n])
                return TL_OK;
    }
    return rc == TL_NOTFOUND ? TL_OK : rc;
}

static bool is_on(const int64_t *way, size_t n, int64_t id) {
    for (size_t i = 0; i < n; i++)
        if (way[i] == id)
            return true;
    return false;
}

int store_url_answer(struct store *s, struct store_url url, int64_t since_us, int64_t *run) {
    int64_t way[HOPS_MOST];
    size_t n = 0;
    int rc = store_url_find(s, url, &way[0]);
    if (!rc)
        rc = way_of(s, way[0], way, &n);
    if (rc)
        return rc;
    sqlite3_stmt *st = sqlite_sql(s, SQL_URL_ANSWER,
                                  "SELECT run, source, asked, plain AND seen_us >= ?2 FROM url_document WHERE url = ?1 "
                                  "ORDER BY at_us DESC LIMIT ?3");
    if (!st)
        return TL_FAILED;
    /* A page that names another as its canonical one is no answer for that other: many sites name their front page
     * everywhere. */
    for (size_t i = n; i-- > 0;) {
        bind_int(st, 1, way[i]);
        bind_int(st, 2, since_us);
        bind_int(st, 3, RECENT_MOST);
        while ((rc = sqlite_row(s, st)) == 1)
            if (col_int(st, 3) && (col_int(st, 2) == way[0] || is_on(way, n, col_int(st, 1)))) {
                *run = col_int(st, 0);
                sqlite3_reset(st);
                return TL_OK;
            }
        if (rc < 0)
            return rc;
    }
    return TL_NOTFOUND;
}

int store_url_near(struct store *s, uint64_t key, int (*each)(void *ctx, uint64_t key, struct tl_span url), void *ctx) {
    const int64_t first = (int64_t)(key & ~(((uint64_t)1 << 56) - 1)), last = first | (((int64_t)1 << 56) - 1);
    sqlite3_stmt *st =
        sqlite_sql(s, SQL_URL_NEAR, "SELECT key, url FROM url_row WHERE key BETWEEN ?1 AND ?2 ORDER BY key");
    int rc = st ? TL_OK : TL_FAILED, answer = 0;
    if (st) {
        bind_int(st, 1, first);
        bind_int(st, 2, last);
    }
    while (!rc && (rc = sqlite_row(s, st)) == 1) {
        rc = TL_OK;
        if ((answer = each(ctx, (uint64_t)col_int(st, 0), col_span(st, 1)))) {
            sqlite3_reset(st);
            break;
        }
    }
    return rc < 0 ? rc : answer < 0 ? answer : TL_OK;
}
