/* arena.h - memory that lives as long as its owner (a run, a parsed document) and is released at once.
 *
 * Blocks grow from 4 KiB to 64 KiB; a request larger than a block gets its own. The arena has a maximum: beyond it
 * arena_alloc returns NULL, which is how a greedy run is stopped. Memory is aligned to 16 bytes and not zeroed. */
#ifndef TROTLINE_BASE_ARENA_H
#define TROTLINE_BASE_ARENA_H
#include <stddef.h>

#include "trotline.h"

struct arena_block;
struct arena {
    struct arena_block *last;
    size_t used, max; /* bytes handed out; max 0: no limit */
};
#define ARENA_INIT                                                                                                     \
    { 0 }

void *arena_alloc(struct arena *a, size_t size);                /* NULL: beyond the maximum */
char *arena_text(struct arena *a, const char *ptr, size_t len); /* NUL-ended copy; NULL as above */
void arena_free(struct arena *a);                               /* everything at once; can be used again */
static inline char *arena_span(struct arena *a, struct tl_span s) {
    return arena_text(a, s.ptr, s.len);
}
#endif
