/* lake_tracked.h - what the lake keeps of names that are tracked, so that neither catalog nor Redis is the only place.
 *
 * tracked/SERVER/aa/bb/cc/dd/LOGIN.json, or LOGIN%2FREPO.json; aa to dd are the first bytes of the SHA-256 of the
 * login. These files alone are written anew, each time that something has become of the name: whole, or not at all. */
#ifndef TROTLINE_LAKE_LAKE_TRACKED_H
#define TROTLINE_LAKE_LAKE_TRACKED_H
#include "lake/lake.h"

#define LAKE_TRACKED "tracked"

void lake_tracked_path(struct buf *out, const char *name); /* of SERVER/LOGIN[/REPO] */
/* One at a time writes: between lock and unlock, what is written can be read from where it comes. -1, said: no lock. */
int lake_tracked_lock(struct lake *l, struct fail *why);
int lake_tracked_write(struct lake *l, const char *name, struct tl_span text, struct fail *why);
int lake_tracked_remove(struct lake *l, const char *name, struct fail *why); /* one that is not there is no fault */
#endif
