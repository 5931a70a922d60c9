/* tracker_redis.c - see tracker_redis.h.
 *
 * What must not be torn apart is a script, which Redis carries out as one step: to take the next name, to make its lock
 * last, to free it. The value of a lock is its token and its owner; only who names the token can do either. Tokens come
 * from one counter, so that they grow whatever becomes of the locks. Without hiredis, opening says what is missing. */
#include "engine/tracker_redis.h"

#ifdef HAVE_HIREDIS
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { ANSWER_S = 10 };

struct tracker_redis {
    redisContext *c;
};

/* ---- connecting */

struct place {
    char host[256], user[128], password[256];
    int port, database;
};

static bool copy_part(char *to, size_t room, const char *from, size_t len) {
    if (len >= room)
        return false;
    memcpy(to, from, len);
    to[len] = '\0';
    return true;
}

/* redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE] */
static bool read_url(const char *url, struct place *p) {
    *p = (struct place){.port = 6379};
    if (strncmp(url, "redis://", 8) != 0)
        return false;
    const char *rest = url + 8, *at = strrchr(rest, '@');
    if (at) {
        size_t user = strcspn(rest, ":@");
        if (rest + user == at || !copy_part(p->user, sizeof p->user, rest, user) ||
            !copy_part(p->password, sizeof p->password, rest + user + 1, (size_t)(at - rest) - user - 1))
            return false;
        rest = at + 1;
    }
    size_t host = strcspn(rest, ":/");
    char *end = NULL;
    if (host == 0 || !copy_part(p->host, sizeof p->host, rest, host))
        return false;
    rest += host;
    if (*rest == ':') {
        long port = strtol(rest + 1, &end, 10);
        if (end == rest + 1 || port < 1 || port > 65535)
            return false;
        p->port = (int)port;
        rest = end;
    }
    if (*rest == '/' && rest[1]) {
        long database = strtol(rest + 1, &end, 10);
        if (*end || database < 0 || database > 10000)
            return false;
        p->database = (int)database;
        rest = end;
    }
    return !*rest || strcmp(rest, "/") == 0;
}

static int broken(struct tracker_redis *r, const redisReply *a, const char *attempt, struct fail *why) {
    return fail_exit(why, TL_FAILED, EXIT_DISK, "cannot %s in Redis: %s", attempt,
                     a && a->type == REDIS_REPLY_ERROR ? a->str
                     : r->c->err                       ? r->c->errstr
                                                       : "its answer is not what it should be");
}

/* An answer of that type, or NULL, said. */
static redisReply *ask(struct tracker_redis *r, int type, const char *attempt, struct fail *why, int argc,
                       const char **argv) {
    redisReply *a = redisCommandArgv(r->c, argc, argv, NULL);
    if (a && (a->type == type || (a->type == REDIS_REPLY_NIL && type == REDIS_REPLY_ARRAY)))
        return a;
    broken(r, a, attempt, why);
    if (a)
        freeReplyObject(a);
    return NULL;
}

static int greet(struct tracker_redis *r, const struct place *p, struct fail *why) {
    char database[16];
    const char *auth[] = {"AUTH", p->user, p->password}, *auth_one[] = {"AUTH", p->password};
    snprintf(database, sizeof database, "%d", p->database);
    const char *choose[] = {"SELECT", database};
    redisReply *a = NULL;
    if (p->password[0] && !(a = p->user[0] ? ask(r, REDIS_REPLY_STATUS, "log in", why, 3, auth)
                                           : ask(r, REDIS_REPLY_STATUS, "log in", why, 2, auth_one)))
        return why->status;
    if (a)
        freeReplyObject(a);
    if (p->database && !(a = ask(r, REDIS_REPLY_STATUS, "choose the database", why, 2, choose)))
        return why->status;
    if (p->database)
        freeReplyObject(a);
    return TL_OK;
}

int tracker_redis_open(const char *url, struct tracker_redis **out, struct fail *why) {
    struct place p;
    const struct timeval patience = {.tv_sec = ANSWER_S};
    *out = NULL;
    if (!read_url(url, &p))
        return fail_exit(why, TL_INVALID, EXIT_CONFIG,
                         "tracked.backend: wanted redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]");
    redisContext *c = redisConnectWithTimeout(p.host, p.port, patience);
    if (!c || c->err) {
        fail_exit(why, TL_FAILED, EXIT_DISK,
                  "cannot reach the Redis at %s port %d, which tracked.backend names: %s. Start it, or set "
                  "tracked.backend to catalog",
                  p.host, p.port, c ? c->errstr : "out of memory");
        redisFree(c);
        return why->status;
    }
    redisSetTimeout(c, patience);
    struct tracker_redis *r = mem_alloc(sizeof *r);
    r->c = c;
    int rc = greet(r, &p, why);
    explicit_bzero(&p, sizeof p);
    if (rc)
        tracker_redis_close(r);
    else
        *out = r;
    return rc;
}

void tracker_redis_close(struct tracker_redis *r) {
    if (!r)
        return;
    redisFree(r->c);
    free(r);
}

/* ---- the verbs */

int tracker_redis_count(struct tracker_redis *r, int64_t *count, struct fail *why) {
    const char *argv[] = {"ZCARD", "tracked"};
    redisReply *a = ask(r, REDIS_REPLY_INTEGER, "count the tracked set", why, 2, argv);
    if (!a)
        return why->status;
    *count = a->integer;
    freeReplyObject(a);
    return TL_OK;
}

int tracker_redis_add(struct tracker_redis *r, const char *name, int64_t score, bool *added, struct fail *why) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)score);
    const char *argv[] = {"ZADD", "tracked", "NX", text, name};
    redisReply *a = ask(r, REDIS_REPLY_INTEGER, "add a name to the tracked set", why, 5, argv);
    if (!a)
        return why->status;
    *added = a->integer > 0;
    freeReplyObject(a);
    return TL_OK;
}

/* *removed is set, never reset. */
int tracker_redis_remove(struct tracker_redis *r, const char *name, bool *removed, struct fail *why) {
    AUTO_BUF struct buf lock = BUF_INIT;
    buf_printf(&lock, "lock:%s", name);
    const char *argv[] = {"EVAL",    "redis.call('DEL', KEYS[2]) return redis.call('ZREM', KEYS[1], ARGV[1])",
                          "2",       "tracked",
                          lock.data, name};
    redisReply *a = ask(r, REDIS_REPLY_INTEGER, "take a name out of the tracked set", why, 6, argv);
    if (!a)
        return why->status;
    *removed = *removed || a->integer > 0;
    freeReplyObject(a);
    return TL_OK;
}

/* Times are the server's: the clocks of workers may differ. One that failed has had its turn, too. */
#define TAKE                                                                                                           \
    "local at = 0 "                                                                                                    \
    "while true do "                                                                                                   \
    "local names = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '+inf', 'LIMIT', at, 100) "                            \
    "if #names == 0 then return nil end "                                                                              \
    "for _, name in ipairs(names) do local lock = 'lock:' .. name "                                                    \
    "if redis.call('EXISTS', lock) == 0 then local token = redis.call('INCR', 'lock-token') "                          \
    "redis.call('SET', lock, token .. ' ' .. ARGV[1], 'NX', 'PX', ARGV[2]) "                                           \
    "return {name, token} end end "                                                                                    \
    "at = at + #names end"
#define MINE                                                                                                           \
    "local held = redis.call('GET', KEYS[1]) "                                                                         \
    "if not held or string.match(held, '^%d+') ~= ARGV[1] then return 0 end "
#define RENEW MINE "return redis.call('PEXPIRE', KEYS[1], ARGV[2])"
#define COMPLETE                                                                                                       \
    MINE "redis.call('DEL', KEYS[1]) redis.call('ZADD', 'tracked', 'XX', redis.call('TIME')[1], ARGV[2]) return 1"

int tracker_redis_next(struct tracker_redis *r, const char *owner, int64_t ttl_ms, struct buf *name, int64_t *token,
                       struct fail *why) {
    char ttl[24];
    snprintf(ttl, sizeof ttl, "%lld", (long long)ttl_ms);
    const char *argv[] = {"EVAL", TAKE, "1", "tracked", owner, ttl};
    redisReply *a = ask(r, REDIS_REPLY_ARRAY, "take the next name", why, 6, argv);
    if (!a)
        return why->status;
    int rc = a->type == REDIS_REPLY_NIL ? TL_NOTFOUND : TL_OK;
    if (!rc && a->elements == 2 && a->element[0]->type == REDIS_REPLY_STRING &&
        a->element[1]->type == REDIS_REPLY_INTEGER) {
        buf_add(name, a->element[0]->str, a->element[0]->len);
        *token = a->element[1]->integer;
    } else if (!rc) {
        rc = broken(r, NULL, "take the next name", why);
    }
    freeReplyObject(a);
    return rc;
}

static int settle(struct tracker_redis *r, const char *script, const char *name, int64_t token, const char *more,
                  const char *attempt, struct fail *why) {
    AUTO_BUF struct buf lock = BUF_INIT;
    char text[24];
    buf_printf(&lock, "lock:%s", name);
    snprintf(text, sizeof text, "%lld", (long long)token);
    const char *argv[] = {"EVAL", script, "1", lock.data, text, more};
    redisReply *a = ask(r, REDIS_REPLY_INTEGER, attempt, why, 6, argv);
    if (!a)
        return why->status;
    int rc = a->integer == 1 ? TL_OK : TL_NOTFOUND;
    freeReplyObject(a);
    return rc;
}

int tracker_redis_renew(struct tracker_redis *r, const char *name, int64_t token, int64_t ttl_ms, struct fail *why) {
    char ttl[24];
    snprintf(ttl, sizeof ttl, "%lld", (long long)ttl_ms);
    return settle(r, RENEW, name, token, ttl, "renew a lock", why);
}

int tracker_redis_complete(struct tracker_redis *r, const char *name, int64_t token, struct fail *why) {
    return settle(r, COMPLETE, name, token, name, "free a lock", why);
}

int tracker_redis_holder(struct tracker_redis *r, const char *name, struct buf *owner, int64_t *left_ms,
                         struct fail *why) {
    AUTO_BUF struct buf lock = BUF_INIT;
    buf_printf(&lock, "lock:%s", name);
    const char *argv[] = {"EVAL",
                          "local held = redis.call('GET', KEYS[1]) if not held then return nil end "
                          "return {held, redis.call('PTTL', KEYS[1])}",
                          "1", lock.data};
    redisReply *a = ask(r, REDIS_REPLY_ARRAY, "look at a lock", why, 4, argv);
    if (!a)
        return why->status;
    int rc = a->type == REDIS_REPLY_NIL || a->elements != 2 || a->element[0]->type != REDIS_REPLY_STRING ? TL_NOTFOUND
                                                                                                         : TL_OK;
    if (!rc) {
        const char *held = a->element[0]->str, *space = memchr(held, ' ', a->element[0]->len); /* TOKEN OWNER */
        held = space ? space + 1 : held;
        buf_add(owner, held, a->element[0]->len - (size_t)(held - a->element[0]->str));
        *left_ms = a->element[1]->type == REDIS_REPLY_INTEGER ? a->element[1]->integer : 0;
    }
    freeReplyObject(a);
    return rc;
}

#else

int tracker_redis_open(const char *url, struct tracker_redis **out, struct fail *why) {
    (void)url;
    *out = NULL;
    return fail_exit(why, TL_UNSUPPORTED, EXIT_CONFIG,
                     "tracked.backend: this trotline was built without hiredis and cannot speak to Redis; set it to "
                     "catalog, or install libhiredis-dev and build it again");
}

void tracker_redis_close(struct tracker_redis *r) {
    (void)r;
}

static int none(struct fail *why) {
    return fail_set(why, TL_UNSUPPORTED, "there is no Redis");
}

int tracker_redis_count(struct tracker_redis *r, int64_t *count, struct fail *why) {
    (void)r;
    (void)count;
    return none(why);
}

int tracker_redis_add(struct tracker_redis *r, const char *name, int64_t score, bool *added, struct fail *why) {
    (void)r;
    (void)name;
    (void)score;
    (void)added;
    return none(why);
}

int tracker_redis_remove(struct tracker_redis *r, const char *name, bool *removed, struct fail *why) {
    (void)r;
    (void)name;
    (void)removed;
    return none(why);
}

int tracker_redis_next(struct tracker_redis *r, const char *owner, int64_t ttl_ms, struct buf *name, int64_t *token,
                       struct fail *why) {
    (void)r;
    (void)owner;
    (void)ttl_ms;
    (void)name;
    (void)token;
    return none(why);
}

int tracker_redis_renew(struct tracker_redis *r, const char *name, int64_t token, int64_t ttl_ms, struct fail *why) {
    (void)r;
    (void)name;
    (void)token;
    (void)ttl_ms;
    return none(why);
}

int tracker_redis_complete(struct tracker_redis *r, const char *name, int64_t token, struct fail *why) {
    (void)r;
    (void)name;
    (void)token;
    return none(why);
}

int tracker_redis_holder(struct tracker_redis *r, const char *name, struct buf *owner, int64_t *left_ms,
                         struct fail *why) {
    (void)r;
    (void)name;
    (void)owner;
    (void)left_ms;
    return none(why);
}
#endif
