/* tracker_redis.h - the tracked set in Redis: a sorted set `tracked` of names by when they were taken last (-1: never
 * done), and a key `lock:NAME` for each that is taken, which ends by itself. Only tracker.c uses it. */
#ifndef TROTLINE_ENGINE_TRACKER_REDIS_H
#define TROTLINE_ENGINE_TRACKER_REDIS_H
#include "base/buf.h"
#include "base/fail.h"

struct tracker_redis;
int tracker_redis_open(const char *url, struct tracker_redis **out, struct fail *why);
void tracker_redis_close(struct tracker_redis *r);
int tracker_redis_count(struct tracker_redis *r, int64_t *count, struct fail *why); /* of names */
/* score: seconds since 1970, -1: never. A name that is there stays as it is. */
int tracker_redis_add(struct tracker_redis *r, const char *name, int64_t score, bool *added, struct fail *why);
int tracker_redis_remove(struct tracker_redis *r, const char *name, bool *removed, struct fail *why); /* and its lock */
int tracker_redis_next(struct tracker_redis *r, const char *owner, int64_t ttl_ms, struct buf *name, int64_t *token,
                       struct fail *why);
int tracker_redis_renew(struct tracker_redis *r, const char *name, int64_t token, int64_t ttl_ms, struct fail *why);
int tracker_redis_complete(struct tracker_redis *r, const char *name, int64_t token, struct fail *why);
int tracker_redis_holder(struct tracker_redis *r, const char *name, struct buf *owner, int64_t *left_ms,
                         struct fail *why);
#endif
