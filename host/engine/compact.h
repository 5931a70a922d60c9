/* compact.h - many small item files of hours that are over become one pair each.
 *
 * Order: the new pair is durable and known, and what it holds is said of it, in one transaction that marks the old
 * files as replaced; it is published; then the old files are removed, and the catalog forgets them. So at no time a
 * row is missing, and whoever dies in between leaves work for compact_sweep, not damage. Rows are taken from the Avro
 * files, which hold the same as the Parquet files, ids and times of conversion included. */
#ifndef TROTLINE_ENGINE_COMPACT_H
#define TROTLINE_ENGINE_COMPACT_H
#include "engine/config.h"
#include "lake/lake.h"
#include "store/tables.h"

struct compact_sums {
    int64_t hours, before, after, rows, bytes; /* files before and after, of those hours; bytes of the new ones */
};
struct compact_options {
    struct store *store; /* both open for writing */
    struct lake *lake;
    const struct config *config;
    int64_t now_us;                                               /* hours that ended before are closed */
    void (*progress)(void *ctx, const struct compact_sums *sums); /* or NULL */
    void *ctx;
};
int compact_items(const struct compact_options *o, struct compact_sums *sums, struct fail *why);
/* Removes the files that others took the place of. */
int compact_sweep(struct store *s, struct lake *l, struct fail *why);
#endif
