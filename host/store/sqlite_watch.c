/* sqlite_watch.c - what is kept of watched columns: a row each time that a value changed. See targets.h.
 *
 * Invariant: rows of one key stand in the order of (time of collection, run), and no two that follow one another say
 * the same. Each knows how long it is known to hold (seen): what comes late, and says something else, goes in between.
 */
#include <string.h>

#include "base/mem.h"
#include "store/sqlite.h"
#include "store/targets.h"

enum { FOLD_MOST = 20000, KEYS_MAX = 10000 };

/* ---- what was read */

int store_watch_put(struct store *s, const struct store_watch *w) {
    sqlite3_stmt *st =
        sqlite_writing(s)
            ? sqlite_sql(
                  s, SQL_WATCH_PUT,
                  "INSERT INTO watched_new (crawl, type, name, of_row, at_us, run, value) SELECT c.name, ?2, ?3, "
                  "coalesce(?4, r.url, ''), coalesce(d.collected_us, r.finished_us), r.key, ?5 FROM run r JOIN "
                  "crawl c ON c.root = r.root LEFT JOIN document d ON d.run = r.key WHERE r.key = ?1 AND (?6 = 0 "
                  "OR r.line = 1) ON CONFLICT DO NOTHING")
            : NULL;
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, w->run);
    bind_text(st, 2, w->type);
    bind_text(st, 3, w->column);
    bind_text(st, 4, w->of);
    bind_text(st, 5, w->value);
    bind_int(st, 6, w->lines);
    return sqlite_done(s, st);
}

int store_reused(struct store *s, int (*each)(void *ctx, int64_t run, int64_t result_run), void *ctx,
                 struct fail *why) {
    sqlite3_stmt *st = sqlite_prepare(
        s, "SELECT r.key, r.result_ref FROM run r JOIN run q ON q.key = r.result_ref JOIN crawl c ON c.root = r.root "
           "JOIN crawl o ON o.root = q.root WHERE c.name <> o.name AND EXISTS (SELECT 1 FROM converted v WHERE v.run = "
           "q.key) AND NOT EXISTS (SELECT 1 FROM discovered x WHERE x.run = r.key) ORDER BY 2, 1");
    if (!st)
        return sqlite_answer(s, TL_FAILED, why);
    int rc;
    while ((rc = sqlite_row(s, st)) > 0 && (rc = each(ctx, col_int(st, 0), col_int(st, 1))) == TL_OK) {
    }
    sqlite3_finalize(st);
    return rc < 0 ? sqlite_answer(s, rc, why) : TL_OK;
}

/* ---- folding it in */

struct key { /* of rows of one crawl, type, column, row */
    struct buf text[4];
    int64_t watched; /* 0: the crawl has too many */
};
struct kept { /* a row of watched_value */
    int64_t at_us, run, seen_us, seen_run;
    struct buf value;
    bool null, there;
};
struct folding {
    struct store *s;
    struct key key;
    struct kept before, after; /* the last until the value at hand, the first behind it */
    struct buf text;           /* a copy of the value at hand */
    int64_t at_us, run, left_out;
    const char *value;
};

static bool is_key(const struct key *k, sqlite3_stmt *st) {
    for (int i = 0; i < 4; i++) {
        struct tl_span is = buf_span(&k->text[i]), text = col_span(st, i);
        if (is.len != text.len || memcmp(is.ptr, text.ptr, is.len) != 0)
            return false;
    }
    return true;
}

/* The number of the key at hand; a new one counts on from the last of its crawl. */
static int find_watched(struct folding *f, bool add) {
    sqlite3_stmt *st =
        add ? sqlite_sql(
                  f->s, SQL_WATCH_ADD,
                  "INSERT INTO watched (crawl, type, name, of_row, number) SELECT ?1, ?2, ?3, ?4, n FROM (SELECT "
                  "coalesce((SELECT number FROM watched WHERE crawl = ?1 ORDER BY number DESC LIMIT 1), 0) + 1 AS n) "
                  "WHERE n <= ?5 RETURNING key") /* max() would go through all of them */
            : sqlite_sql(f->s, SQL_WATCH_FIND,
                         "SELECT key FROM watched WHERE crawl = ?1 AND type = ?2 AND name = ?3 AND of_row = ?4");
    if (!st)
        return TL_FAILED;
    for (int i = 0; i < 4; i++)
        bind_text(st, i + 1, f->key.text[i].data);
    if (add)
        bind_int(st, 5, KEYS_MAX);
    int rc = sqlite_row(f->s, st);
    f->key.watched = rc > 0 ? col_int(st, 0) : 0;
    if (rc > 0)
        rc = sqlite_row(f->s, st); /* to its end, or nothing is written */
    sqlite3_reset(st);
    return rc < 0 ? rc : TL_OK;
}

static int take_key(struct folding *f, sqlite3_stmt *st) {
    if (f->key.text[0].data && is_key(&f->key, st))
        return TL_OK;
    for (int i = 0; i < 4; i++) {
        buf_reset(&f->key.text[i]);
        buf_text(&f->key.text[i], col_text(st, i));
        buf_add(&f->key.text[i], "", 0);
    }
    int rc = find_watched(f, false);
    return rc || f->key.watched ? rc : find_watched(f, true);
}

static int find_kept(struct folding *f, bool after, struct kept *out) {
    sqlite3_stmt *st =
        after ? sqlite_sql(f->s, SQL_WATCH_AFTER,
                           "SELECT at_us, run, seen_us, seen_run, value FROM watched_value WHERE watched = ?1 AND "
                           "(at_us, run) > (?2, ?3) ORDER BY at_us, run LIMIT 1")
              : sqlite_sql(f->s, SQL_WATCH_BEFORE,
                           "SELECT at_us, run, seen_us, seen_run, value FROM watched_value WHERE watched = ?1 AND "
                           "(at_us, run) <= (?2, ?3) ORDER BY at_us DESC, run DESC LIMIT 1");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, f->key.watched);
    bind_int(st, 2, f->at_us);
    bind_int(st, 3, f->run);
    int rc = sqlite_row(f->s, st);
    out->there = rc > 0;
    if (rc <= 0)
        return rc;
    out->at_us = col_int(st, 0);
    out->run = col_int(st, 1);
    out->seen_us = col_int(st, 2);
    out->seen_run = col_int(st, 3);
    out->null = sqlite3_column_type(st, 4) == SQLITE_NULL;
    buf_reset(&out->value);
    buf_text(&out->value, col_text(st, 4));
    sqlite3_reset(st);
    return TL_OK;
}

static bool says(const struct kept *k, const char *value) {
    return k->there && k->null == !value && (!value || strcmp(k->value.data ? k->value.data : "", value) == 0);
}

static int put_kept(struct folding *f, int64_t at_us, int64_t run, int64_t seen_us, int64_t seen_run,
                    const char *value) {
    sqlite3_stmt *st =
        sqlite_sql(f->s, SQL_WATCH_VALUE,
                   "INSERT INTO watched_value (watched, at_us, run, value, seen_us, seen_run) VALUES (?1, "
                   "?2, ?3, ?4, ?5, ?6)");
    if (!st)
        return TL_FAILED;
    const int64_t number[] = {f->key.watched, at_us, run};
    for (int i = 0; i < 3; i++)
        bind_int(st, i + 1, number[i]);
    bind_text(st, 4, value);
    bind_int(st, 5, seen_us);
    bind_int(st, 6, seen_run);
    return sqlite_done(f->s, st);
}

/* The row begins, and was seen last, at other times. */
static int move_kept(struct folding *f, const struct kept *k, int64_t at_us, int64_t run, int64_t seen_us,
                     int64_t seen_run) {
    sqlite3_stmt *st = sqlite_sql(f->s, SQL_WATCH_MOVE,
                                  "UPDATE watched_value SET at_us = ?4, run = ?5, seen_us = ?6, seen_run = ?7 WHERE "
                                  "watched = ?1 AND at_us = ?2 AND run = ?3");
    if (!st)
        return TL_FAILED;
    const int64_t number[] = {f->key.watched, k->at_us, k->run, at_us, run, seen_us, seen_run};
    for (int i = 0; i < 7; i++)
        bind_int(st, i + 1, number[i]);
    return sqlite_done(f->s, st);
}

static int fold_value(struct folding *f) {
    struct kept *b = &f->before, *a = &f->after;
    int rc = find_kept(f, false, b);
    if (rc)
        return rc;
    bool later = b->there && (b->seen_us > f->at_us || (b->seen_us == f->at_us && b->seen_run > f->run));
    if (says(b, f->value))
        return later ? TL_OK : move_kept(f, b, b->at_us, b->run, f->at_us, f->run);
    if (later) { /* in between: what held before is seen again behind it */
        const char *value = b->null ? NULL : b->value.data ? b->value.data : "";
        rc = move_kept(f, b, b->at_us, b->run, b->at_us, b->run);
        if (!rc)
            rc = put_kept(f, b->seen_us, b->seen_run, b->seen_us, b->seen_run, value);
        return rc ? rc : put_kept(f, f->at_us, f->run, f->at_us, f->run, f->value);
    }
    if ((rc = find_kept(f, true, a)) != TL_OK)
        return rc;
    if (says(a, f->value)) /* it was so earlier than was known */
        return move_kept(f, a, f->at_us, f->run, a->seen_us, a->seen_run);
    return put_kept(f, f->at_us, f->run, f->at_us, f->run, f->value);
}

static int fold_row(struct folding *f, sqlite3_stmt *st) {
    int rc = take_key(f, st);
    f->left_out += !rc && !f->key.watched;
    if (rc || !f->key.watched)
        return rc;
    f->at_us = col_int(st, 4);
    f->run = col_int(st, 5);
    buf_reset(&f->text);
    buf_text(&f->text, col_text(st, 6));
    f->value = sqlite3_column_type(st, 6) == SQLITE_NULL ? NULL : f->text.data ? f->text.data : "";
    return fold_value(f);
}

static int forget_folded(struct folding *f) {
    sqlite3_stmt *st =
        sqlite_sql(f->s, SQL_WATCH_FOLDED,
                   "DELETE FROM watched_new WHERE (crawl, type, name, of_row, at_us, run) <= (?1, ?2, ?3, "
                   "?4, ?5, ?6)");
    if (!st)
        return TL_FAILED;
    for (int i = 0; i < 4; i++)
        bind_text(st, i + 1, f->key.text[i].data ? f->key.text[i].data : "");
    bind_int(st, 5, f->at_us);
    bind_int(st, 6, f->run);
    return sqlite_done(f->s, st);
}

int store_watch_fold(struct store *s, int64_t *folded, int64_t *left_out) {
    struct folding f = {.s = s};
    sqlite3_stmt *st = sqlite_writing(s)
                           ? sqlite_prepare(s, "SELECT crawl, type, name, of_row, at_us, run, value FROM watched_new "
                                               "ORDER BY crawl, type, name, of_row, at_us, run LIMIT ?1")
                           : NULL;
    int rc = st ? TL_OK : TL_FAILED;
    *folded = 0;
    if (st)
        bind_int(st, 1, FOLD_MOST);
    while (st && (rc = sqlite_row(s, st)) > 0) {
        f.at_us = col_int(st, 4);
        f.run = col_int(st, 5);
        if ((rc = fold_row(&f, st)) != TL_OK)
            break;
        ++*folded;
    }
    sqlite3_finalize(st);
    if (!rc && *folded)
        rc = forget_folded(&f);
    *left_out += f.left_out;
    for (int i = 0; i < 4; i++)
        buf_free(&f.key.text[i]);
    buf_free(&f.before.value);
    buf_free(&f.after.value);
    buf_free(&f.text);
    return rc;
}
