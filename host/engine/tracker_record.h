/* tracker_record.h - a tracked name in the lake: what the catalog has of it, and the catalog's row again from that. */
#ifndef TROTLINE_ENGINE_TRACKER_RECORD_H
#define TROTLINE_ENGINE_TRACKER_RECORD_H
#include "lake/lake.h"
#include "store/store.h"

/* As the catalog has it now. That of a name which the catalog has not stays: it may be a new one, before a rebuild. */
int tracker_record_write(struct lake *l, struct store *s, const char *name, struct fail *why);
/* The same of a name that was removed: unless it was added meanwhile, its record goes. */
int tracker_record_remove(struct lake *l, struct store *s, const char *name, struct fail *why);
/* Of the file at that path below the lake. A name that the catalog has stays as it is; without a store it is only
 * looked at. TL_INVALID, EXIT_DAMAGED: it is none. */
int tracker_record_read(struct lake *l, struct store *s, const char *path, struct fail *why);
#endif
