/* rebuild.h - the catalog from the lake: every closed crawl exactly as it was, from its closing record.
 *
 * So does what is in which table file, from the records that stand beside these (rebuild_tables.h).
 *
 * A crawl comes back whole or not at all. Where a record is damaged, that is said, and the others go on. Crawls that
 * were never closed have no record: their documents are whole, but what the catalog knew of them is gone; they are
 * named. */
#ifndef TROTLINE_ENGINE_REBUILD_H
#define TROTLINE_ENGINE_REBUILD_H
#include "engine/package.h"
#include "lake/lake.h"
#include "store/store.h"

struct rebuild_events {
    void (*restored)(void *ctx, const struct package_head *head);
    void (*problem)(void *ctx, const char *text); /* FILE: what is wrong, or FILE:LINE: */
    void (*unrecorded)(void *ctx, const char *root_id,
                       int64_t documents); /* documents of a crawl that cannot be restored */
    void *ctx;
};
struct rebuild_sums {
    int64_t crawls, runs, documents, problems, unrecorded;
    int64_t tables;  /* table files that records name */
    int64_t tracked; /* names that are backed up again and again */
};
/* `catalog` must not be there, or hold no crawl (TL_INVALID, EXIT_USAGE). One that is not there appears whole, at the
 * end. Damaged records are counted as problems; a negative status means that nothing could be rebuilt. */
int rebuild_catalog(const char *catalog, struct lake *l, const struct rebuild_events *to, struct rebuild_sums *out,
                    struct fail *why);

/* rebuild_read.c: one package into the catalog, in a transaction of its own. `file` is how faults name it. */
int rebuild_package(struct store *s, int fd, const char *file, const struct package_head *head, struct fail *why);
#endif
