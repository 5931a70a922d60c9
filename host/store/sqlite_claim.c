/* sqlite_claim.c - which runs are next, and to whom they belong meanwhile.
 *
 * Invariants: runs come in the order of (reach, key), and none that is more than one step farther than the nearest open
 * run of its root, so that a page is reached by its shortest way; a lease is an owner, whose lease time is one row, and
 * a token that grew.
 *
 * Runs that cannot start yet (their host is busy, their time has not come) may be many and stand first. What was passed
 * over is remembered per root as a hint, valid as long as those hosts stay blocked and nothing comes to stand there. */
#include <string.h>

#include "base/mem.h"
#include "store/sqlite.h"

enum { PARKED_US = 30 * 1000000, HINT_AFTER = 256 }; /* a hint is worth it when so many were passed over */

struct scan {
    struct store *s;
    const struct store_claim *spec;
    struct sqlite_root *r;
    int64_t now_us, limit, next_due_us; /* limit: largest reach that may be taken */
    struct sqlite_hint hint;            /* the one that this scan makes */
    size_t passed;
    bool hint_open; /* everything up to here was passed over for a reason that a hint can hold */
    struct taken {
        int64_t key, parent, token;
    } * taken;
    size_t count;
    struct keys { /* sorted */
        int64_t *key;
        size_t count, room;
    } hosts, collectors; /* that are blocked */
    int64_t last_host;
    bool last_blocked;
};

static bool among(const int64_t *list, size_t count, int64_t key) {
    for (size_t i = 0; key && i < count; i++)
        if (list[i] == key)
            return true;
    return false;
}

/* Where the key stands, or would stand. */
static size_t place_of(const struct keys *k, int64_t key) {
    size_t low = 0, high = k->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (k->key[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool in_keys(const struct keys *k, int64_t key) {
    size_t at = key ? place_of(k, key) : k->count;
    return at < k->count && k->key[at] == key;
}

static void add_key(struct keys *k, int64_t key) {
    if (!key || in_keys(k, key))
        return;
    size_t at = place_of(k, key);
    MEM_GROW(k->key, k->count, k->room);
    memmove(k->key + at + 1, k->key + at, (k->count - at) * sizeof *k->key);
    k->key[at] = key;
    k->count++;
}

/* Asked for every row that is passed; most are of the same host as the one before. */
static bool host_blocked(struct scan *c, int64_t host) {
    if (host != c->last_host) {
        c->last_host = host;
        c->last_blocked = in_keys(&c->hosts, host);
    }
    return c->last_blocked;
}

void sqlite_hint_drop(struct sqlite_root *r, int64_t reach, int64_t key) {
    if (r->hint.key && (reach < r->hint.reach || (reach == r->hint.reach && key <= r->hint.key)))
        r->hint = (struct sqlite_hint){0};
}

static bool hint_valid(struct scan *c) {
    const struct sqlite_hint *h = &c->r->hint;
    if (!h->key || h->due_us <= c->now_us + PARKED_US)
        return false;
    for (size_t i = 0; i < h->hosts; i++)
        if (!host_blocked(c, h->host[i]))
            return false;
    return true;
}

/* A row that is passed over; which of its host or its time held it back is what a hint must remember. */
static void pass(struct scan *c, int64_t reach, int64_t key, int64_t blocked_host, int64_t due_us) {
    struct sqlite_hint *h = &c->hint;
    if (!c->hint_open)
        return;
    if (blocked_host && !among(h->host, h->hosts, blocked_host)) {
        if (h->hosts == COUNT_OF(h->host)) {
            c->hint_open = false;
            return;
        }
        h->host[h->hosts++] = blocked_host;
    }
    if (due_us && due_us < h->due_us)
        h->due_us = due_us;
    h->reach = reach;
    h->key = key;
    c->passed++;
}

static int lease_owner(struct store *s, const struct store_claim *spec, int64_t now_us, int64_t *owner) {
    if (sqlite_owner(s, spec->owner, owner) < 0)
        return TL_FAILED;
    sqlite3_stmt *st = sqlite_sql(s, SQL_LEASE, "UPDATE owner SET lease_us = max(lease_us, ?2) WHERE key = ?1");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, *owner);
    bind_int(st, 2, now_us + spec->lease_us);
    return sqlite_done(s, st);
}

/* The smallest reach of what is leased, the root run aside: it may stay under way as long as its crawl. */
static int nearest_leased(struct store *s, int64_t root, int64_t *reach) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_CLAIM_LEASED,
                                  "SELECT reach FROM run WHERE root = ?1 AND state = 1 AND reach > 0 "
                                  "ORDER BY reach LIMIT 1");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, root);
    int rc = sqlite_row(s, st);
    if (rc == 1) {
        *reach = col_int(st, 0);
        sqlite3_reset(st);
    }
    return rc < 0 ? rc : TL_OK;
}

static void claimed(sqlite3_stmt *st, int64_t key, struct store_claimed *out) {
    *out = (struct store_claimed){.key = key,
                                  .token = col_int(st, 0),
                                  .parent = col_int(st, 1),
                                  .depth = col_int(st, 2),
                                  .reach = col_int(st, 3),
                                  .attempts = col_int(st, 4),
                                  .collector = col_int(st, 5),
                                  .target = col_int(st, 6),
                                  .scope = col_int(st, 7),
                                  .host = col_int(st, 8),
                                  .run_id = col_uuid(st, 9),
                                  .payload = col_span(st, 10),
                                  .url = col_span(st, 11),
                                  .context = col_text(st, 12),
                                  .edge = (enum store_edge)col_int(st, 13),
                                  .line = col_int(st, 15),
                                  .root = col_int(st, 16)};
    if (sqlite3_column_bytes(st, 14) == STORE_DIGEST)
        memcpy(out->digest, sqlite3_column_blob(st, 14), STORE_DIGEST);
}

int sqlite_claimed_load(struct store *s, int64_t key, struct store_claimed *out, sqlite3_stmt **held) {
    sqlite3_stmt *st =
        sqlite_sql(s, SQL_CLAIM_RUN,
                   "SELECT token, parent, depth, reach, attempts, collector, target, scope, host, run_id, "
                   "payload, url, context, edge, digest, line, root FROM run WHERE key = ?1");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, key);
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc < 0 ? rc : TL_NOTFOUND;
    claimed(st, key, out);
    *held = st;
    const struct sqlite_path *path;
    if (!out->parent)
        return TL_OK;
    if ((rc = sqlite_path(s, out->parent, &path)) < 0) {
        sqlite3_reset(st);
        return rc;
    }
    out->path = path->id;
    out->path_count = path->count;
    out->parent_id = path->id[path->count - 1];
    return TL_OK;
}

/* Asks for one candidate; 1 go on, 0 stop. */
static int candidate(struct scan *c, int64_t key) {
    struct store_claimed run;
    sqlite3_stmt *held = NULL;
    int rc = sqlite_claimed_load(c->s, key, &run, &held);
    if (rc < 0)
        return rc == TL_NOTFOUND ? 1 : rc;
    run.token++; /* what it will be */
    int verdict = c->spec->take(c->spec->ctx, &run);
    sqlite3_reset(held);
    c->hint_open = false;
    if (verdict == STORE_TAKE) {
        c->taken[c->count++] = (struct taken){key, run.parent, run.token};
    } else if (verdict == STORE_LEAVE_HOST) {
        add_key(&c->hosts, run.host);
        c->last_host = 0;
        c->last_blocked = false;
    } else if (verdict == STORE_LEAVE_COLLECTOR) {
        add_key(&c->collectors, run.collector);
    }
    return verdict != STORE_TAKE_STOP && c->count < c->spec->max;
}

static int scan_row(struct scan *c, sqlite3_stmt *st) {
    int64_t reach = col_int(st, 0), key = col_int(st, 1), host = col_int(st, 2), collector = col_int(st, 3),
            due_us = col_int(st, 4);
    bool open = due_us <= c->now_us + PARKED_US;
    if (open && reach + 1 < c->limit)
        c->limit = reach + 1;
    if (reach > c->limit)
        return 0;
    if (open && c->hint_open && reach < c->hint.open_reach)
        c->hint.open_reach = reach;
    if (in_keys(&c->collectors, collector)) {
        c->hint_open = false;
        return 1;
    }
    bool blocked = host_blocked(c, host);
    if (due_us > c->now_us && due_us < c->next_due_us)
        c->next_due_us = due_us;
    if (blocked || due_us > c->now_us) {
        pass(c, reach, key, blocked ? host : 0, due_us > c->now_us ? due_us : 0);
        return 1;
    }
    return candidate(c, key);
}

static int scan_queue(struct scan *c) {
    sqlite3_stmt *st = sqlite_sql(c->s, SQL_CLAIM_SCAN,
                                  "SELECT reach, key, host, collector, not_before_us FROM run "
                                  "WHERE root = ?1 AND state = 0 AND (reach, key) > (?2, ?3) ORDER BY reach, key");
    if (!st)
        return TL_FAILED;
    struct sqlite_hint from = {.reach = -1, .due_us = INT64_MAX, .open_reach = INT64_MAX};
    if (hint_valid(c)) {
        from = c->r->hint;
        c->passed = HINT_AFTER; /* stays one */
        if (from.due_us < c->next_due_us)
            c->next_due_us = from.due_us;
        if (from.open_reach < INT64_MAX && from.open_reach + 1 < c->limit)
            c->limit = from.open_reach + 1;
    }
    c->hint = from;
    c->hint_open = true;
    bind_int(st, 1, c->spec->root);
    bind_int(st, 2, from.reach);
    bind_int(st, 3, from.key);
    int rc = 0, go = 1;
    while (go == 1 && (rc = sqlite_row(c->s, st)) == 1)
        go = scan_row(c, st);
    sqlite3_reset(st);
    c->r->hint = c->passed >= HINT_AFTER ? c->hint : (struct sqlite_hint){0};
    return go < 0 ? go : rc < 0 ? rc : TL_OK;
}

static int take(struct scan *c, int64_t owner) {
    sqlite3_stmt *st = sqlite_sql(c->s, SQL_CLAIM_TAKE,
                                  "UPDATE run SET state = 1, token = ?2, owner = ?3, started_us = ?4 WHERE key = ?1");
    if (!st)
        return TL_FAILED;
    for (size_t i = 0; i < c->count; i++) {
        bind_int(st, 1, c->taken[i].key);
        bind_int(st, 2, c->taken[i].token);
        bind_int(st, 3, owner);
        bind_int(st, 4, c->now_us);
        if (sqlite_done(c->s, st) < 0)
            return TL_FAILED;
        if (c->taken[i].token == 1 && sqlite_ancestors(c->s, c->taken[i].key, c->taken[i].parent) < 0)
            return TL_FAILED;
    }
    c->r->queued -= (int64_t)c->count;
    c->r->leased += (int64_t)c->count;
    return TL_OK;
}

int store_claim(struct store *s, const struct store_claim *spec, size_t *taken, int64_t *next_due_us,
                struct fail *why) {
    struct scan c = {.s = s,
                     .spec = spec,
                     .r = sqlite_root(s, spec->root),
                     .now_us = store_now_us(s),
                     .next_due_us = INT64_MAX,
                     .limit = INT64_MAX};
    int64_t owner = 0, open_reach = spec->open_reach;
    *taken = 0;
    *next_due_us = INT64_MAX;
    if (!sqlite_writing(s) || lease_owner(s, spec, c.now_us, &owner) < 0 ||
        nearest_leased(s, spec->root, &open_reach) < 0)
        return sqlite_answer(s, TL_FAILED, why);
    if (spec->open_reach < open_reach)
        open_reach = spec->open_reach;
    if (open_reach < INT64_MAX)
        c.limit = open_reach + 1;
    c.taken = mem_array(NULL, spec->max ? spec->max : 1, sizeof *c.taken);
    for (size_t i = 0; i < spec->blocked_host_count; i++)
        add_key(&c.hosts, spec->blocked_hosts[i]);
    for (size_t i = 0; i < spec->blocked_collector_count; i++)
        add_key(&c.collectors, spec->blocked_collectors[i]);
    int rc = spec->max ? scan_queue(&c) : TL_OK;
    if (rc == TL_OK)
        rc = take(&c, owner);
    free(c.taken);
    free(c.hosts.key);
    free(c.collectors.key);
    *taken = rc == TL_OK ? c.count : 0;
    *next_due_us = c.next_due_us;
    return sqlite_answer(s, rc, why);
}

int store_open_runs(struct store *s, int64_t root, int64_t *queued, int64_t *leased) {
    if (sqlite_flush(s) < 0)
        return TL_FAILED;
    sqlite3_stmt *st = sqlite_sql(s, SQL_OPEN_RUNS, "SELECT queued, leased FROM crawl WHERE root = ?1");
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, root);
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc < 0 ? rc : TL_NOTFOUND;
    *queued = col_int(st, 0);
    *leased = col_int(st, 1);
    sqlite3_reset(st);
    return TL_OK;
}

int store_beat(struct store *s, const char *owner, int64_t lease_us) {
    int64_t key = 0;
    const struct store_claim spec = {.owner = owner, .lease_us = lease_us};
    return sqlite_writing(s) ? lease_owner(s, &spec, store_now_us(s), &key) : TL_FAILED;
}

/* ---- leases of the dead */

struct dead {
    int64_t key[256];
    size_t count;
};

/* Those of the owners that the statement names whose lease ran out or who are not alive. */
static int find_dead(struct store *s, int64_t root, sqlite3_stmt *st, bool (*alive)(void *ctx, const char *owner),
                     void *ctx, struct dead *dead) {
    int64_t now_us = store_now_us(s);
    dead->count = 0;
    bind_int(st, 1, root);
    int rc;
    while ((rc = sqlite_row(s, st)) == 1)
        if (dead->count < COUNT_OF(dead->key) && (col_int(st, 1) < now_us || !alive || !alive(ctx, col_text(st, 2))))
            dead->key[dead->count++] = col_int(st, 0);
    return rc;
}

static int give_back(struct store *s, int64_t root, sqlite3_stmt *st, const struct dead *dead, int64_t *count) {
    for (size_t i = 0; i < dead->count; i++) {
        bind_int(st, 1, root);
        bind_int(st, 2, dead->key[i]);
        if (sqlite_done(s, st) < 0)
            return TL_FAILED;
        *count += sqlite3_changes(s->db);
    }
    return TL_OK;
}

int store_recover(struct store *s, int64_t root, bool (*alive)(void *ctx, const char *owner), void *ctx,
                  int64_t *count) {
    struct dead dead;
    int64_t events = 0;
    *count = 0;
    if (!sqlite_writing(s))
        return TL_FAILED;
    sqlite3_stmt *find = sqlite_sql(s, SQL_RECOVER_OWNERS,
                                    "SELECT key, lease_us, name FROM owner WHERE key IN (SELECT owner FROM run "
                                    "WHERE root = ?1 AND state = 1)");
    sqlite3_stmt *back = sqlite_sql(s, SQL_RECOVER_RUNS,
                                    "UPDATE run SET state = 0, owner = NULL, started_us = 0 "
                                    "WHERE root = ?1 AND state = 1 AND owner = ?2");
    if (!find || !back || find_dead(s, root, find, alive, ctx, &dead) < 0 || give_back(s, root, back, &dead, count) < 0)
        return TL_FAILED;
    struct sqlite_root *r = sqlite_root(s, root);
    r->leased -= *count;
    r->queued += *count;
    if (*count)
        r->hint = (struct sqlite_hint){0};
    find = sqlite_sql(s, SQL_RECOVER_EVENT_OWNERS,
                      "SELECT key, lease_us, name FROM owner WHERE key IN (SELECT owner FROM event "
                      "WHERE root = ?1 AND state < 2 AND state = 1)");
    back = sqlite_sql(
        s, SQL_RECOVER_EVENTS,
        "UPDATE event SET state = 0, owner = NULL WHERE root = ?1 AND state < 2 AND state = 1 AND owner = ?2");
    if (!find || !back || find_dead(s, root, find, alive, ctx, &dead) < 0)
        return TL_FAILED;
    return give_back(s, root, back, &dead, &events);
}
