/* crawl_fanin.h - the run context that a crawl gives all its runs, and the merge that stands at its end.
 *
 * Invariant: a crawl has one context from its first run to its last, resumed or not; and the merge of its own legs
 * gives the bytes that `trotline fanin` gives of the same artifacts. */
#ifndef TROTLINE_ENGINE_CRAWL_FANIN_H
#define TROTLINE_ENGINE_CRAWL_FANIN_H
#include "engine/config.h"
#include "fanin/context.h"
#include "fanin/fanin.h"
#include "lake/lake.h"
#include "store/store.h"

/* Appends the context of a crawl that begins now, canonical; nothing when it has none. EXIT_CONFIG, also for a run_id
 * that the catalog knows with another window. */
int crawl_context(const struct crawl *c, struct store *s, int64_t now_us, struct buf *json, struct fail *why);
/* May a crawl that began with this context (NULL: none) go on? Its file must still be the same run. */
int crawl_context_same(const struct crawl *c, const char *began_with, struct fail *why);
int crawl_fanin_check(const struct crawl *c, struct fail *why); /* what can be known before anything is fetched */
/* Merges the artifacts of a crawl into fanin.out and logs what came of it. EXIT_ROOT: closed; EXIT_DISK. */
int crawl_fanin(const struct crawl *c, struct store *s, struct lake *lake, const char *root_id, const char *context,
                int64_t now_us, struct fail *why);

/* Merges what was added, publishes it and logs what came of it. */
int crawl_fanin_end(struct fanin *f, const struct context *context, const char *folder, int64_t now_us,
                    struct fail *why);

/* The digests that a new context goes by. */
int crawl_context_make(struct week week, const char *source, const char *topic, const char *const *code, size_t count,
                       int64_t now_us, struct buf *out, struct fail *why);
int crawl_context_week(const char *text, int64_t now_us, struct week *out); /* `last`, or a week that exists */
#endif
