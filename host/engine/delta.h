/* delta.h - a Delta Lake log beside the files of a table, for readers who want whole states of it.
 *
 * The log is a copy of what the catalog says, never a source: delta_update replays it, compares, and appends one commit
 * with what is missing and what has gone. So it may be late after an interruption, but never wrong in part, and the
 * next update mends it. A table without a log gets none until it is asked for. Files that others took the place of are
 * taken out of the log before they are removed (compact.h). Log files are ROOT/_delta_log/VERSION.json, protocol 1/2,
 * JSON only: no checkpoints. */
#ifndef TROTLINE_ENGINE_DELTA_H
#define TROTLINE_ENGINE_DELTA_H
#include "engine/table_list.h"
#include "lake/lake.h"

struct delta_state {
    int64_t version; /* of the log now; -1: there is none */
    int64_t added, removed;
};
/* Makes the log of one table, or brings it up to date. TL_INVALID: what stands there is no log that we could go on
 * with. */
int delta_make(struct store *s, struct lake *l, const struct table_entry *e, struct delta_state *out, struct fail *why);
/* Brings all logs that exist up to date. 1: some log waits for another process, which is about to publish files and
 * will do it; until then nothing that a log names may be removed. */
int delta_update(struct store *s, struct lake *l, struct fail *why);
#endif
