/* sources.h - SOURCES.yml: which sources and shards a fan-in expects, and which of them it cannot do without.
 *
 * Invariant: every id stands once in its list, and there is at least one source. */
#ifndef TROTLINE_ENGINE_SOURCES_H
#define TROTLINE_ENGINE_SOURCES_H
#include "base/arena.h"
#include "base/fail.h"
#include "fanin/fanin.h"

struct sources {
    struct arena arena;
    struct fanin_member *source, *shard; /* sources in the order of their priority */
    size_t source_count, shard_count;
};
/* TL_INVALID, TL_FAILED with EXIT_CONFIG: FILE:LINE:COLUMN and what is wrong. */
int sources_read(const char *path, struct sources *out, struct fail *why);
int sources_text(const char *file, struct tl_span text, struct sources *out, struct fail *why);
void sources_free(struct sources *s);
struct fanin_plan sources_plan(const struct sources *s); /* borrows */
#endif
