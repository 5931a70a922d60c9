/* tracker.h - the tracked set as commands see it: kept in the catalog, or where the configuration says, in Redis.
 *
 * The catalog has the names and when they were done in either case: Redis can be filled from it again, and the catalog
 * from the lake (tracker_record.h). */
#ifndef TROTLINE_ENGINE_TRACKER_H
#define TROTLINE_ENGINE_TRACKER_H
#include "engine/config.h"
#include "lake/lake.h"
#include "store/tracked.h"

struct tracker;
/* [github.com/]LOGIN[/REPO] as github.com/login[/repo]; TL_INVALID */
int tracker_name(const char *given, struct buf *out);
/* l: where each name that is added or completed leaves a record; NULL: nowhere */
int tracker_open(const struct config *c, struct store *s, struct lake *l, struct tracker **out, struct fail *why);
void tracker_close(struct tracker *t);
int tracker_add(struct tracker *t, const char *name, bool *added, struct fail *why);
int tracker_remove(struct tracker *t, const char *name, bool *removed, struct fail *why); /* its backups stay */
/* As the functions of store/tracked.h. */
int tracker_next(struct tracker *t, const char *owner, int64_t ttl_us, struct buf *name, int64_t *token,
                 struct fail *why);
int tracker_renew(struct tracker *t, const char *name, int64_t token, int64_t ttl_us, struct fail *why);
int tracker_complete(struct tracker *t, const char *name, int64_t token, const char *error, struct fail *why);
/* Who holds a name; false: nobody. With Redis, the catalog does not know. */
bool tracker_is_remote(const struct tracker *t);
int tracker_holder(struct tracker *t, const char *name, struct buf *owner, int64_t *left_us, struct fail *why);
#endif
