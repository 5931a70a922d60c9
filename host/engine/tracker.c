/* tracker.c - see tracker.h. */
#include "engine/tracker.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "engine/tracker_record.h"
#include "engine/tracker_redis.h"

enum { STRANGE_MOST = 100 };

struct tracker {
    struct store *store;
    struct lake *lake;           /* NULL: nothing is written */
    struct tracker_redis *redis; /* NULL: the catalog does it all */
};

/* ---- names */

static bool part_ok(struct tl_span s, bool login) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    bool dots = true;
    if (s.len == 0 || s.len > 100)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (!s.ptr[i] || (!strchr(letters, s.ptr[i]) && (login || s.ptr[i] != '.')))
            return false;
        dots = dots && s.ptr[i] == '.' && s.len < 3;
    }
    return !dots;
}

int tracker_name(const char *given, struct buf *out) {
    static const char server[] = "github.com/";
    if (strncasecmp(given, server, sizeof server - 1) == 0)
        given += sizeof server - 1;
    size_t login = strcspn(given, "/");
    if (!part_ok((struct tl_span){given, login}, true) || (given[login] && !part_ok(span_of(given + login + 1), false)))
        return TL_INVALID;
    buf_text(out, server);
    for (const char *c = given; *c; c++) /* GitHub tells names apart whatever their case */
        buf_char(out, *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c);
    return TL_OK;
}

/* ---- Redis, filled from the catalog */

struct filling {
    struct tracker *t;
    int64_t count;
    struct fail *why;
};

static int fill_one(void *ctx, const struct store_row *row) {
    struct filling *f = ctx;
    bool added;
    int64_t us = -1;
    AUTO_FREE char *name = mem_text_n(row->value[0].text.ptr, row->value[0].text.len);
    if (row->value[1].type == STORE_TEXT)
        time_parse(row->value[1].text, &us);
    f->count++;
    return tracker_redis_add(f->t->redis, name, us > 0 ? us / 1000000 : -1, &added, f->why);
}

/* A Redis without the set was started afresh, or somebody emptied it. */
static int fill(struct tracker *t, struct fail *why) {
    struct filling f = {.t = t, .why = why};
    int64_t there = 0;
    int rc = tracker_redis_count(t->redis, &there, why);
    if (rc || there)
        return rc;
    rc = store_query(t->store, "SELECT name, completed_at FROM tracked", NULL, 0, fill_one, &f, why);
    if (!rc && f.count)
        log_info("the tracked set in Redis was empty: %lld names were put there from the catalog", (long long)f.count);
    return rc;
}

int tracker_open(const struct config *c, struct store *s, struct lake *l, struct tracker **out, struct fail *why) {
    struct tracker *t = mem_alloc(sizeof *t);
    int rc = TL_OK;
    t->store = s;
    t->lake = l;
    if (strcmp(c->tracked_backend, "catalog") != 0 && !(rc = tracker_redis_open(c->tracked_backend, &t->redis, why)))
        rc = fill(t, why);
    if (rc) {
        tracker_close(t);
        t = NULL;
    }
    *out = t;
    return rc;
}

void tracker_close(struct tracker *t) {
    if (!t)
        return;
    tracker_redis_close(t->redis);
    free(t);
}

/* ---- the verbs */

/* Whoever died between the row and its record gives the same command again. */
static int keep_record(struct tracker *t, const char *name, struct fail *why) {
    FAULT_POINT("tracked");
    return t->lake ? tracker_record_write(t->lake, t->store, name, why) : TL_OK;
}

int tracker_add(struct tracker *t, const char *name, bool *added, struct fail *why) {
    bool there;
    int rc = store_track_add(t->store, name, added, why);
    if (!rc)
        rc = keep_record(t, name, why);
    return rc || !t->redis ? rc : tracker_redis_add(t->redis, name, -1, &there, why);
}

int tracker_remove(struct tracker *t, const char *name, bool *removed, struct fail *why) {
    int rc = store_track_remove(t->store, name, removed, why);
    if (!rc && t->redis)
        rc = tracker_redis_remove(t->redis, name, removed, why);
    FAULT_POINT("tracked");
    return rc || !t->lake ? rc : tracker_record_remove(t->lake, t->store, name, why);
}

static int64_t ms_of(int64_t us) {
    return us < 1000 ? 1 : us / 1000;
}

/* As tracker_name makes them; others may have put anything into the set, and scripts read what we print. */
static bool is_one_of_ours(const struct buf *name) {
    AUTO_BUF struct buf same = BUF_INIT;
    return name->len && strlen(name->data) == name->len && tracker_name(name->data, &same) == TL_OK &&
           strcmp(same.data, name->data) == 0;
}

/* What is no name has had its turn, or nobody else would ever have one. */
static int next_remote(struct tracker *t, const char *owner, int64_t ttl_ms, struct buf *name, int64_t *token,
                       struct fail *why) {
    for (int i = 0; i < STRANGE_MOST; i++) {
        buf_reset(name);
        int rc = tracker_redis_next(t->redis, owner, ttl_ms, name, token, why);
        if (rc || is_one_of_ours(name))
            return rc;
        log_warn("the tracked set in Redis has '%.100s', which is no name, and is passed over", buf_span(name).ptr);
        rc = tracker_redis_complete(t->redis, buf_span(name).ptr, *token, why);
        if (rc && rc != TL_NOTFOUND)
            return rc;
    }
    return fail_exit(why, TL_INVALID, EXIT_DAMAGED, "the tracked set in Redis has over %d that are no names",
                     STRANGE_MOST);
}

int tracker_next(struct tracker *t, const char *owner, int64_t ttl_us, struct buf *name, int64_t *token,
                 struct fail *why) {
    return t->redis ? next_remote(t, owner, ms_of(ttl_us), name, token, why)
                    : store_track_next(t->store, owner, ttl_us, name, token, why);
}

int tracker_renew(struct tracker *t, const char *name, int64_t token, int64_t ttl_us, struct fail *why) {
    return t->redis ? tracker_redis_renew(t->redis, name, token, ms_of(ttl_us), why)
                    : store_track_renew(t->store, name, token, ttl_us, why);
}

int tracker_complete(struct tracker *t, const char *name, int64_t token, const char *error, struct fail *why) {
    int rc = t->redis ? tracker_redis_complete(t->redis, name, token, why)
                      : store_track_complete(t->store, name, token, error, why);
    if (!rc && t->redis)
        rc = store_track_note(t->store, name, error, why);
    if (rc && rc != TL_NOTFOUND)
        return rc;
    int kept = keep_record(t, name, why); /* also when it was completed before, which lost the lock */
    return kept ? kept : rc;
}

bool tracker_is_remote(const struct tracker *t) {
    return t->redis != NULL;
}

int tracker_holder(struct tracker *t, const char *name, struct buf *owner, int64_t *left_us, struct fail *why) {
    int64_t ms = 0;
    int rc = t->redis ? tracker_redis_holder(t->redis, name, owner, &ms, why) : TL_NOTFOUND;
    *left_us = ms * 1000;
    return rc;
}
