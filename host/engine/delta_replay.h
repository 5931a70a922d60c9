/* delta_replay.h - the state of a Delta Lake log, by reading all of it: which files it says there are.
 *
 * A log that others have written into is read as well, as long as it begins at version 0 and wants no more of a writer
 * than protocol 2; otherwise it is refused rather than continued wrongly. */
#ifndef TROTLINE_ENGINE_DELTA_REPLAY_H
#define TROTLINE_ENGINE_DELTA_REPLAY_H
#include "lake/lake.h"

#define DELTA_LOG "_delta_log"
struct delta_file {
    char *path; /* below the table's root, unescaped */
    int64_t bytes, rows;
};
struct delta_replay {
    int64_t version;         /* the last; -1: no log */
    struct delta_file *file; /* those that count, in the order of their paths */
    size_t count;
    struct buf id, schema; /* of the table: its metaData */
};
/* out: zeroed or freed. TL_INVALID, EXIT_DAMAGED: it is no log that we could go on with. */
int delta_replay_read(struct lake *l, const char *root, struct delta_replay *out, struct fail *why);
void delta_replay_free(struct delta_replay *r);

void delta_replay_name(struct buf *out, const char *root, int64_t version); /* path of a commit below the lake */
void delta_replay_escape(struct buf *out, const char *path);                /* as a relative URI (RFC 3986) */
#endif
