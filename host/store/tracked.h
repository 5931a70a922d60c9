/* tracked.h - names that are to be looked after again and again, such as the logins that are backed up, and the locks
 * by which several workers share them.
 *
 * A lock has an owner, a time to live and a token that grows each time it is taken; it ends by itself, and a holder
 * that comes too late is told. Each call is a transaction of its own. */
#ifndef TROTLINE_STORE_TRACKED_H
#define TROTLINE_STORE_TRACKED_H
#include "store/store.h"

int store_track_add(struct store *s, const char *name, bool *added, struct fail *why);
/* It is tracked no more; whoever has its lock has lost it. */
int store_track_remove(struct store *s, const char *name, bool *removed, struct fail *why);
/* The next one that is not locked, and locks it: those that were never completed first, then by when they were taken
 * last. TL_NOTFOUND: all are locked, or there are none. */
int store_track_next(struct store *s, const char *owner, int64_t ttl_us, struct buf *name, int64_t *token,
                     struct fail *why);
/* TL_NOTFOUND: the token is not that of the lock now; an expired lock is nobody's. */
int store_track_renew(struct store *s, const char *name, int64_t token, int64_t ttl_us, struct fail *why);
int store_track_complete(struct store *s, const char *name, int64_t token, const char *error, struct fail *why);
/* A name with all that was known of it, unless it is there. */
struct store_tracked {
    const char *name, *error;            /* error: NULL when the last time went well */
    int64_t added_us, done_us, taken_us; /* 0: never */
};
int store_track_put(struct store *s, const struct store_tracked *t, struct fail *why);
/* What became of a name elsewhere (Redis): when it was done, and what was wrong. */
int store_track_note(struct store *s, const char *name, const char *error, struct fail *why);
#endif
