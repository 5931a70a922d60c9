/* fanin.h - many legs, one result: validation, policy, merge and the two documents that come of it.
 *
 * Invariant: the documents depend on the context, the plan and the set of artifacts alone, never on their order, on the
 * names of their files or on the clock; but for `merged_at`, which no checksum covers. A merge that fails closed gives
 * no document, only diagnostics. Inputs are never changed. */
#ifndef TROTLINE_FANIN_FANIN_H
#define TROTLINE_FANIN_FANIN_H
#include "base/buf.h"
#include "base/fail.h"
#include "fanin/context.h"

struct fanin_member {
    const char *id;
    bool required;
};
struct fanin_plan { /* what SOURCES.yml says; sources in the order of their priority */
    const struct fanin_member *source, *shard;
    size_t source_count, shard_count;
};
enum { FANIN_ARTIFACTS = 10000, FANIN_WARNINGS = 1000, FANIN_BYTES = 1 << 30 };

struct fanin;
/* Both are borrowed until fanin_free. */
struct fanin *fanin_new(const struct context *context, const struct fanin_plan *plan);
void fanin_free(struct fanin *f);
void fanin_add(struct fanin *f, const char *file, struct tl_span text); /* copied; what is wrong with it is noted */

/* Once, after the last fanin_add. False: closed. */
bool fanin_merge(struct fanin *f, int64_t now_us);
/* Writes the documents into the folder, which is made when it is not there: each appears as a whole or not at all.
 * After a closed merge only the diagnostics; after another one those of this run_id are removed. */
int fanin_publish(const struct fanin *f, const char *folder, struct fail *why);

struct tl_span fanin_news(const struct fanin *f), fanin_github(const struct fanin *f); /* empty after a closed merge */
struct tl_span fanin_diagnostics(const struct fanin *f);
/* For people. */
size_t fanin_warnings(const struct fanin *f, const char *const **text); /* about sources, then about shards */
const char *fanin_closed(const struct fanin *f);                        /* the first reason, or NULL */
struct fanin_sums {
    size_t articles, repositories, sources, shards; /* sources and shards: those that succeeded */
};
struct fanin_sums fanin_sums(const struct fanin *f);
#endif
