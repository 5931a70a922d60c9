/* sqlite_targets.c - see targets.h. */
#include "store/targets.h"

#include <string.h>

#include "base/mem.h"
#include "store/sqlite.h"

const char *const store_kind_name[STORE_KINDS] = {"host", "url", "urn", "name"};

static int alter(struct store *s, const char *sql) {
    return sqlite_writing(s) ? sqlite_finish(s, sqlite_prepare(s, sql)) : TL_FAILED;
}

/* ---- candidates */

int store_discovery_rules(struct store *s, const char *sha256, struct fail *why) {
    static const char *const forget[] = {
        "DELETE FROM wanted",        "DELETE FROM sighting",    "DELETE FROM candidate", "DELETE FROM discovered",
        "DELETE FROM watched_value", "DELETE FROM watched_new", "DELETE FROM watched"};
    sqlite3_stmt *st = sqlite_prepare(s, "SELECT 1 FROM meta WHERE name = 'discovery' AND value = ?1");
    if (!st)
        return sqlite_answer(s, TL_FAILED, why);
    bind_text(st, 1, sha256);
    int rc = sqlite_row(s, st);
    sqlite3_finalize(st);
    if (rc > 0)
        return TL_OK;
    for (size_t i = 0; !rc && i < COUNT_OF(forget); i++)
        rc = alter(s, forget[i]);
    if (rc)
        return sqlite_answer(s, rc, why);
    st = sqlite_writing(s) ? sqlite_prepare(s, "INSERT OR REPLACE INTO meta (name, value) VALUES ('discovery', ?1)")
                           : NULL;
    if (st)
        bind_text(st, 1, sha256);
    return sqlite_answer(s, sqlite_finish(s, st), why);
}

/* The key of a candidate, which is added when it is not known; an URL that was not known before is kept. */
static int candidate(struct store *s, const struct store_find *f, int64_t *key) {
    sqlite3_stmt *st =
        sqlite_sql(s, SQL_CANDIDATE,
                   "INSERT INTO candidate (kind, text, url) VALUES (?1, ?2, ?3) ON CONFLICT (kind, text) "
                   "DO UPDATE SET url = coalesce(url, excluded.url) RETURNING key");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, f->kind);
    bind_text(st, 2, f->text);
    bind_text(st, 3, f->url);
    int rc = sqlite_row(s, st);
    *key = rc > 0 ? col_int(st, 0) : 0;
    if (rc > 0)
        rc = sqlite_row(s, st); /* to its end, or nothing is written */
    sqlite3_reset(st);
    return rc < 0 ? rc : *key ? TL_OK : TL_FAILED;
}

int store_find_put(struct store *s, const struct store_find *f, int64_t now_us) {
    int64_t key = 0;
    int rc = sqlite_writing(s) ? candidate(s, f, &key) : TL_FAILED;
    sqlite3_stmt *st =
        rc ? NULL
           : sqlite_sql(
                 s, SQL_SIGHTING,
                 "INSERT INTO sighting (candidate, crawl, digest, run, weight, first_us, last_us) "
                 "SELECT ?1, c.name, r.digest, r.key, ?2, d.collected_us, d.collected_us FROM run r JOIN crawl c "
                 "ON c.root = r.root JOIN document d ON d.run = r.key WHERE r.key = ?3 ON CONFLICT DO UPDATE SET "
                 "weight = max(weight, excluded.weight), first_us = min(first_us, excluded.first_us), "
                 "last_us = max(last_us, excluded.last_us)");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, key);
    bind_int(st, 2, f->weight);
    bind_int(st, 3, f->run);
    if ((rc = sqlite_done(s, st)) != TL_OK || !f->reaction)
        return rc;
    st = sqlite_sql(s, SQL_WANTED,
                    "INSERT INTO wanted (candidate, reaction, since_us) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, key);
    bind_text(st, 2, f->reaction);
    bind_int(st, 3, now_us);
    return sqlite_done(s, st);
}

int store_discovered_put(struct store *s, int64_t run) {
    sqlite3_stmt *st = sqlite_writing(s) ? sqlite_sql(s, SQL_DISCOVERED,
                                                      "INSERT INTO discovered (run) VALUES (?1) ON CONFLICT DO NOTHING")
                                         : NULL;
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, run);
    return sqlite_done(s, st);
}

int store_discovered_again(struct store *s) {
    static const char due[] = "r.result_ref IS NOT NULL AND EXISTS (SELECT 1 FROM discovered x WHERE x.run = "
                              "r.result_ref) AND NOT EXISTS (SELECT 1 FROM discovered x WHERE x.run = r.key)";
    AUTO_BUF struct buf sql = BUF_INIT;
    buf_printf(&sql,
               "INSERT INTO sighting (candidate, crawl, digest, run, weight, first_us, last_us) "
               "SELECT s.candidate, c.name, r.digest, r.key, s.weight, r.finished_us, r.finished_us FROM run r "
               "CROSS JOIN crawl c ON c.root = r.root CROSS JOIN run q ON q.key = r.result_ref CROSS JOIN crawl o ON "
               "o.root = q.root CROSS JOIN sighting s ON s.crawl = o.name AND s.digest = q.digest WHERE %s ON CONFLICT "
               "DO UPDATE SET weight = max(weight, excluded.weight), last_us = max(last_us, excluded.last_us)",
               due);
    int rc = alter(s, sql.data);
    buf_reset(&sql);
    buf_printf(&sql, "INSERT INTO discovered (run) SELECT r.key FROM run r WHERE %s", due);
    return rc ? rc : alter(s, sql.data);
}

int store_find_links(struct store *s, int64_t run, int (*each)(void *ctx, const char *urn, const char *url), void *ctx,
                     struct fail *why) {
    sqlite3_stmt *st = sqlite_prepare(
        s,
        "SELECT DISTINCT l.href, (SELECT u.href FROM link_row u WHERE u.urn = l.href AND u.name = 'url' AND u.type = "
        "'' LIMIT 1) FROM link_row l WHERE l.run = ?1 AND l.type IN ('resource', 'relation') AND l.href <> l.urn "
        "ORDER BY 1");
    if (!st)
        return sqlite_answer(s, TL_FAILED, why);
    bind_int(st, 1, run);
    int rc;
    while ((rc = sqlite_row(s, st)) > 0 && (rc = each(ctx, col_text(st, 0), col_text(st, 1))) == TL_OK) {
    }
    sqlite3_finalize(st);
    return rc < 0 ? sqlite_answer(s, rc, why) : TL_OK;
}

#define CANDIDATE                                                                                                      \
    "SELECT c.key, c.kind, c.text, c.url, (SELECT sum(x.weight) * count(DISTINCT x.crawl) FROM sighting x WHERE "      \
    "x.candidate = c.key) AS score, (SELECT x.run FROM sighting x WHERE x.candidate = c.key ORDER BY x.first_us, "     \
    "x.run LIMIT 1)"

static struct store_candidate candidate_row(sqlite3_stmt *st) {
    return (struct store_candidate){.key = col_int(st, 0),
                                    .kind = (enum store_kind)col_int(st, 1),
                                    .text = col_text(st, 2),
                                    .url = col_text(st, 3),
                                    .score = col_int(st, 4),
                                    .run = col_int(st, 5)};
}

int store_candidate_get(struct store *s, int64_t key, const char *text, struct store_candidate *out, struct fail *why) {
    sqlite3_stmt *st =
        sqlite_prepare(s, CANDIDATE " FROM candidate c WHERE CASE WHEN ?1 > 0 THEN c.key = ?1 ELSE c.text = ?2 "
                                    "END ORDER BY c.kind");
    if (!st)
        return sqlite_answer(s, TL_FAILED, why);
    bind_int(st, 1, key);
    bind_text(st, 2, text);
    int rc = sqlite_row(s, st);
    if (rc > 0) {
        *out = candidate_row(st);
        buf_reset(&s->name_text);
        buf_add(&s->name_text, out->text, strlen(out->text) + 1);
        size_t url = s->name_text.len;
        buf_text(&s->name_text, out->url);
        out->url = out->url ? s->name_text.data + url : NULL;
        out->text = s->name_text.data;
        if (sqlite_row(s, st) > 0)
            rc = fail_exit(why, TL_INVALID, EXIT_USAGE,
                           "there are several candidates '%.200s', of different kinds: name one by its number, such as "
                           "c%lld (trotline targets --candidates)",
                           text, (long long)out->key);
    } else if (!rc)
        rc = TL_NOTFOUND;
    sqlite3_finalize(st);
    return rc > 0 ? TL_OK : rc == TL_FAILED ? sqlite_answer(s, rc, why) : rc;
}

int store_wanted(struct store *s, int (*each)(void *ctx, const struct store_candidate *c), void *ctx,
                 struct fail *why) {
    sqlite3_stmt *st = sqlite_prepare(
        s,
        CANDIDATE ", w.reaction FROM wanted w JOIN candidate c ON c.key = w.candidate WHERE NOT EXISTS (SELECT 1 FROM "
                  "promotion p WHERE p.kind = c.kind AND p.what = c.text) ORDER BY score DESC, w.since_us, c.key");
    if (!st)
        return sqlite_answer(s, TL_FAILED, why);
    int rc;
    while ((rc = sqlite_row(s, st)) > 0) {
        struct store_candidate c = candidate_row(st);
        c.reaction = col_text(st, 6);
        if ((rc = each(ctx, &c)) != TL_OK)
            break;
    }
    sqlite3_finalize(st);
    return rc < 0 ? sqlite_answer(s, rc, why) : TL_OK;
}

/* ---- promotions */

static int put_promotion(struct store *s, const struct store_promotion *p) {
    char uid[UUID_TEXT];
    sqlite3_stmt *st =
        sqlite_writing(s)
            ? sqlite_prepare(s, "INSERT INTO promotion (id, kind, what, yaml, run, reaction, at_us, removed_us, uid) "
                                "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")
            : NULL;
    if (!st)
        return TL_FAILED;
    bind_text(st, 1, p->id);
    bind_int(st, 2, p->kind);
    bind_text(st, 3, p->what);
    bind_text(st, 4, p->yaml);
    bind_key(st, 5, p->run);
    bind_text(st, 6, p->reaction);
    bind_int(st, 7, p->at_us);
    bind_int(st, 8, p->removed_us);
    bind_text(st, 9, uuid_text(&p->uid, uid));
    return sqlite_finish(s, st);
}

/* In the transaction that puts it: others may have promoted since the targets were looked at. */
int store_promotion_put(struct store *s, const struct store_promotion *p, struct fail *why) {
    sqlite3_stmt *st = sqlite_prepare(s, "SELECT id FROM promotion WHERE removed_us = 0 AND (id = ?1 OR (kind = ?2 AND "
                                         "what = ?3)) ORDER BY id = ?1 DESC LIMIT 1");
    if (!st)
        return sqlite_answer(s, TL_FAILED, why);
    bind_text(st, 1, p->id);
    bind_int(st, 2, p->kind);
    bind_text(st, 3, p->what);
    int rc = sqlite_row(s, st);
    const bool held = rc > 0;
    if (held && strcmp(col_text(st, 0), p->id) == 0)
        rc = fail_exit(why, TL_INVALID, EXIT_USAGE,
                       "there is a target '%s' already: give this one another id, --as NAME", p->id);
    else if (held)
        rc = fail_exit(why, TL_INVALID, EXIT_USAGE, "'%.1000s' is the target '%s' already", p->what, col_text(st, 0));
    sqlite3_finalize(st);
    return held ? rc : sqlite_answer(s, rc < 0 ? rc : put_promotion(s, p), why);
}

int store_promotion_end(struct store *s, const char *id, int64_t at_us) {
    sqlite3_stmt *st = sqlite_writing(s)
                           ? sqlite_prepare(s, "UPDATE promotion SET removed_us = ?2 WHERE id = ?1 AND removed_us = 0")
                           : NULL;
    if (!st)
        return TL_FAILED;
    bind_text(st, 1, id);
    bind_int(st, 2, at_us);
    int rc = sqlite_finish(s, st);
    return rc ? rc : sqlite3_changes(s->db) ? TL_OK : TL_NOTFOUND;
}

static int find_promotion(struct store *s, const struct uuid *uid) { /* TL_OK, TL_NOTFOUND */
    char text[UUID_TEXT];
    sqlite3_stmt *st = sqlite_prepare(s, "SELECT 1 FROM promotion WHERE uid = ?1");
    if (!st)
        return TL_FAILED;
    bind_text(st, 1, uuid_text(uid, text));
    int rc = sqlite_row(s, st);
    sqlite3_finalize(st);
    return rc < 0 ? rc : rc ? TL_OK : TL_NOTFOUND;
}

static int end_promotion(struct store *s, const struct uuid *uid, int64_t at_us) {
    char text[UUID_TEXT];
    sqlite3_stmt *st =
        sqlite_writing(s) ? sqlite_prepare(s, "UPDATE promotion SET removed_us = ?2 WHERE uid = ?1") : NULL;
    if (!st)
        return TL_FAILED;
    bind_text(st, 1, uuid_text(uid, text));
    bind_int(st, 2, at_us);
    return sqlite_finish(s, st);
}

struct holder { /* of an id */
    const char *id;
    struct uuid uid;
    int64_t at_us;
};

static int is_holder(void *ctx, const struct store_promotion *p) {
    struct holder *h = ctx;
    if (strcmp(p->id, h->id) != 0)
        return TL_OK;
    h->uid = p->uid;
    h->at_us = p->at_us;
    return 1;
}

int store_promotion_import(struct store *s, const struct store_promotion *p) {
    struct store_promotion row = *p;
    struct holder h = {.id = p->id};
    int rc = find_promotion(s, &p->uid);
    if (rc == TL_OK)
        return p->removed_us ? end_promotion(s, &p->uid, p->removed_us) : TL_OK;
    if (rc == TL_NOTFOUND)
        rc = p->removed_us ? TL_OK : store_promotions(s, is_holder, &h, NULL);
    if (!rc && h.at_us > p->at_us) /* the record that took this one back comes later */
        row.removed_us = h.at_us;
    else if (!rc && h.at_us)
        rc = end_promotion(s, &h.uid, p->at_us);
    return rc ? rc : put_promotion(s, &row);
}

int store_promotions(struct store *s, int (*each)(void *ctx, const struct store_promotion *p), void *ctx,
                     struct fail *why) {
    sqlite3_stmt *st =
        sqlite_prepare(s, "SELECT id, kind, what, yaml, run, reaction, at_us, uid FROM promotion WHERE removed_us = 0 "
                          "ORDER BY id");
    if (!st)
        return sqlite_answer(s, TL_FAILED, why);
    int rc;
    while ((rc = sqlite_row(s, st)) > 0) {
        const struct store_promotion p = {.uid = col_uuid(st, 7),
                                          .id = col_text(st, 0),
                                          .kind = (enum store_kind)col_int(st, 1),
                                          .what = col_text(st, 2),
                                          .yaml = col_text(st, 3),
                                          .run = col_int(st, 4),
                                          .reaction = col_text(st, 5),
                                          .at_us = col_int(st, 6)};
        if ((rc = each(ctx, &p)) != TL_OK)
            break;
    }
    sqlite3_finalize(st);
    return rc < 0 ? sqlite_answer(s, rc, why) : TL_OK;
}

int store_promoted(struct store *s, enum store_kind kind, const char *what, bool *ever, struct fail *why) {
    sqlite3_stmt *st = sqlite_prepare(s, "SELECT 1 FROM promotion WHERE kind = ?1 AND what = ?2");
    if (!st)
        return sqlite_answer(s, TL_FAILED, why);
    bind_int(st, 1, kind);
    bind_text(st, 2, what);
    int rc = sqlite_row(s, st);
    sqlite3_finalize(st);
    *ever = rc > 0;
    return rc < 0 ? sqlite_answer(s, rc, why) : TL_OK;
}

int store_reacted_since(struct store *s, int64_t us, int64_t *count, struct fail *why) {
    sqlite3_stmt *st = sqlite_prepare(s, "SELECT count(*) FROM promotion WHERE reaction IS NOT NULL AND at_us > ?1");
    if (!st)
        return sqlite_answer(s, TL_FAILED, why);
    bind_int(st, 1, us);
    int rc = sqlite_row(s, st);
    *count = rc > 0 ? col_int(st, 0) : 0;
    sqlite3_finalize(st);
    return rc < 0 ? sqlite_answer(s, rc, why) : TL_OK;
}

/* ---- turns */

int store_target_turn(struct store *s, const char *id, struct store_turn *out) {
    sqlite3_stmt *st = sqlite_prepare(s, "SELECT turn_us, due_us FROM crawl WHERE name = ?1 AND turn_us > 0 ORDER BY "
                                         "root DESC LIMIT 1");
    if (!st)
        return TL_FAILED;
    bind_text(st, 1, id);
    int rc = sqlite_row(s, st);
    if (rc > 0)
        *out = (struct store_turn){.at_us = col_int(st, 0), .due_us = col_int(st, 1)};
    sqlite3_finalize(st);
    return rc < 0 ? rc : rc ? TL_OK : TL_NOTFOUND;
}

int store_target_turn_put(struct store *s, int64_t root, const struct store_turn *turn) {
    sqlite3_stmt *st =
        sqlite_writing(s) ? sqlite_prepare(s, "UPDATE crawl SET turn_us = ?2, due_us = ?3 WHERE root = ?1") : NULL;
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, root);
    bind_int(st, 2, turn->at_us);
    bind_int(st, 3, turn->due_us);
    return sqlite_finish(s, st);
}
