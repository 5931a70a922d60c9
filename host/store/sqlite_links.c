/* sqlite_links.c - links of entities, and which document is the newest of an entity.
 *
 * Invariant: of the rows of an entity those of its newest document alone are the latest, whatever the order in which
 * documents come (a rebuild brings them crawl by crawl). Of the pages of a relation it is those of the newest set, up
 * to the page that ends it. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/package.h"
#include "store/sqlite.h"

/* One statement with two texts and two numbers, as far as it names them. */
static sqlite3_stmt *with(struct store *s, enum sqlite_id id, const char *sql, const char *a, const char *b, int64_t n,
                          int64_t k) {
    sqlite3_stmt *st = sqlite_sql(s, id, sql);
    if (!st)
        return NULL;
    int count = sqlite3_bind_parameter_count(st);
    if (count >= 1)
        bind_text(st, 1, a);
    if (count >= 2)
        bind_text(st, 2, b);
    if (count >= 3)
        bind_int(st, 3, n);
    if (count >= 4)
        bind_int(st, 4, k);
    return st;
}

static int alter(struct store *s, enum sqlite_id id, const char *sql, const char *a, const char *b, int64_t n,
                 int64_t k) {
    sqlite3_stmt *st = with(s, id, sql, a, b, n, k);
    return st ? sqlite_done(s, st) : TL_FAILED;
}

/* Is there a newer document of it? If not, what there is is the latest no more. */
static int supersede(struct store *s, int64_t run, const char *urn, int64_t at_us, bool *newest) {
    sqlite3_stmt *st =
        with(s, SQL_LINK_NEWER,
             "SELECT 1 FROM link_row WHERE urn = ?1 AND name = ?2 AND run <> ?3 AND is_latest AND collected_us > ?4",
             urn, "self", run, at_us);
    int rc = st ? sqlite_row(s, st) : TL_FAILED;
    if (rc < 0)
        return rc;
    *newest = rc == 0;
    sqlite3_reset(st);
    if (!*newest)
        return TL_OK;
    return alter(s, SQL_LINK_OLDER, "UPDATE link_row SET is_latest = 0 WHERE urn = ?1 AND is_latest AND run <> ?3", urn,
                 "self", run, 0);
}

static int insert(struct store *s, int64_t run, int64_t ordinal, const struct store_link *l, bool latest,
                  int64_t at_us) {
    sqlite3_stmt *st =
        sqlite_sql(s, SQL_LINK_ADD,
                   "INSERT INTO link_row (run, ordinal, urn, name, href, type, is_latest, collected_us, deleted_us) "
                   "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, run);
    bind_int(st, 2, ordinal);
    bind_text(st, 3, l->urn);
    bind_text(st, 4, l->name);
    bind_text(st, 5, l->href);
    bind_text(st, 6, l->type);
    bind_int(st, 7, latest);
    bind_int(st, 8, at_us);
    bind_int(st, 9, l->deleted_us);
    return sqlite_done(s, st);
}

/* A page of a relation: pages of other sets of the same relation are over; so are, when this one ends its set, those
 * behind it. */
static int end_sets(struct store *s, const struct store_link *l, size_t n) {
    const char *set = NULL, *siblings = NULL;
    bool last = false;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(l[i].name, "unique") == 0)
            set = l[i].href;
        else if (strcmp(l[i].name, "siblings") == 0)
            siblings = l[i].href;
        last = last || (strcmp(l[i].name, "last") == 0 && !*l[i].type);
    }
    if (!set || !siblings)
        return TL_OK;
    int rc = alter(s, SQL_LINK_SETS,
                   "UPDATE link_row SET is_latest = 0 WHERE is_latest AND urn IN (SELECT a.urn FROM link_row a JOIN "
                   "link_row b ON b.run = a.run AND b.urn = a.urn AND b.name = 'unique' WHERE a.href = ?1 AND "
                   "a.name = 'siblings' AND a.is_latest AND b.href <> ?2)",
                   siblings, set, 0, 0);
    const char *number = strrchr(l[0].urn, ':');
    if (rc || !last || !number)
        return rc;
    return alter(s, SQL_LINK_BEHIND,
                 "UPDATE link_row SET is_latest = 0 WHERE is_latest AND urn IN (SELECT urn FROM link_row "
                 "WHERE href = ?1 AND name = 'unique' AND is_latest AND CAST(substr(urn, ?3) AS INTEGER) > ?4)",
                 set, "unique", number - l[0].urn + 2, strtoll(number + 1, NULL, 10));
}

int store_links_put(struct store *s, int64_t run, const struct store_link *l, size_t n, int64_t at_us) {
    bool newest = true;
    int rc = sqlite_writing(s) ? TL_OK : TL_FAILED;
    if (!rc) { /* of an earlier end of the same run */
        sqlite3_stmt *st = sqlite_sql(s, SQL_LINK_DROP, "DELETE FROM link_row WHERE run = ?1");
        if (!st)
            return TL_FAILED;
        bind_int(st, 1, run);
        rc = sqlite_done(s, st);
    }
    for (size_t i = 0, end; i < n && !rc; i = end) {
        for (end = i + 1; end < n && strcmp(l[end].urn, l[i].urn) == 0;)
            end++;
        rc = supersede(s, run, l[i].urn, at_us, &newest);
        for (size_t k = i; k < end && !rc; k++)
            rc = insert(s, run, (int64_t)k, &l[k], newest, at_us);
        if (!rc && newest)
            rc = end_sets(s, l + i, end - i);
    }
    return rc;
}

/* ---- which document */

#define EARLIER                                                                                                        \
    "SELECT f.path || '/' || d.result_id || '.json', d.result_id, r.run_id, c.name, r.url FROM document d "            \
    "JOIN folder f ON f.key = d.folder JOIN run r ON r.key = d.run JOIN collector c ON c.key = r.collector "

static int answer(struct store *s, sqlite3_stmt *st, struct store_earlier *out) {
    int rc = st ? sqlite_row(s, st) : TL_FAILED;
    if (rc <= 0)
        return rc < 0 ? rc : TL_NOTFOUND;
    size_t at[5];
    buf_reset(&s->url_text);
    for (int i = 0; i < 5; i++) {
        at[i] = s->url_text.len;
        buf_text(&s->url_text, col_text(st, i));
        buf_char(&s->url_text, '\0');
    }
    *out = (struct store_earlier){s->url_text.data + at[0], s->url_text.data + at[1], s->url_text.data + at[2],
                                  s->url_text.data + at[3], s->url_text.data + at[4]};
    sqlite3_reset(st);
    return TL_OK;
}

int store_entity_document(struct store *s, const char *urn, struct store_earlier *out) {
    return answer(s,
                  with(s, SQL_LINK_ENTITY,
                       EARLIER "WHERE d.run = (SELECT run FROM link_row WHERE urn = ?1 AND name = 'self' "
                               "ORDER BY is_latest DESC, collected_us DESC LIMIT 1)",
                       urn, NULL, 0, 0),
                  out);
}

/* Where the URL leads by now, and the newest document from there that holds what it should; of an entity that was asked
 * for by it once, its newest document. */
int store_url_document(struct store *s, const char *given, struct store_url url, struct store_earlier *out) {
    enum { HOPS = 5 };
    enum store_url_kind kind;
    int64_t id = 0;
    int rc = answer(s,
                    with(s, SQL_LINK_ALIAS,
                         EARLIER "WHERE d.run = (SELECT e.run FROM link_row a JOIN link_row e ON e.urn = a.urn AND "
                                 "e.name = 'self' WHERE a.href = ?1 AND a.name IN ('url', 'alias') "
                                 "ORDER BY a.collected_us DESC, e.is_latest DESC, e.collected_us DESC LIMIT 1)",
                         given, NULL, 0, 0),
                    out);
    if (rc != TL_NOTFOUND)
        return rc;
    rc = store_url_find(s, url, &id);
    for (int i = 0; i < HOPS && !rc && !(rc = store_url_next(s, id, &id, &kind)); i++)
        ;
    if (rc && rc != TL_NOTFOUND)
        return rc;
    sqlite3_stmt *st = !id ? NULL
                           : sqlite_sql(s, SQL_LINK_URL,
                                        EARLIER "JOIN url_document x ON x.run = d.run WHERE x.url = ?1 AND "
                                                "r.state IN (2, 3) ORDER BY x.at_us DESC LIMIT 1");
    if (!id)
        return TL_NOTFOUND;
    if (st)
        bind_int(st, 1, id);
    return answer(s, st, out);
}

int store_result_run(struct store *s, const char *result_id, int64_t *run) {
    sqlite3_stmt *st = with(s, SQL_LINK_RESULT, "SELECT run FROM document WHERE result_id = ?1", result_id, NULL, 0, 0);
    int rc = st ? sqlite_row(s, st) : TL_FAILED;
    if (rc <= 0)
        return rc < 0 ? rc : TL_NOTFOUND;
    *run = col_int(st, 0);
    sqlite3_reset(st);
    return TL_OK;
}

int store_links_unseen(struct store *s, int64_t root, const char *siblings, int64_t most,
                       int (*each)(void *ctx, const char *urn, const char *url), void *ctx) {
    sqlite3_stmt *st = with(
        s, SQL_LINK_UNSEEN,
        "SELECT l.urn, u.href FROM link_row l JOIN link_row u ON u.run = l.run AND u.urn = l.urn AND u.name = 'url' "
        "JOIN run r ON r.key = l.run WHERE l.href = ?1 AND l.name = ?2 AND l.is_latest AND l.deleted_us = 0 AND "
        "r.root <> ?3 AND l.run NOT IN (SELECT result_ref FROM run WHERE root = ?3 AND result_ref IS NOT NULL) "
        "ORDER BY l.urn LIMIT ?4",
        siblings, "siblings", root, most);
    int rc = st ? TL_OK : TL_FAILED, answer = 0;
    while (!rc && (rc = sqlite_row(s, st)) == 1) {
        rc = TL_OK;
        if ((answer = each(ctx, col_text(st, 0), col_text(st, 1)))) {
            sqlite3_reset(st);
            break;
        }
    }
    return rc < 0 ? rc : answer < 0 ? answer : TL_OK;
}
