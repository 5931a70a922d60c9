/* tagset.h - tags of children that are known, each with the smallest distance at which it is known.
 *
 * A hit is final: such a child needs no second look. A miss means nothing. Beyond its maximum the set takes no more. */
#ifndef TROTLINE_ENGINE_TAGSET_H
#define TROTLINE_ENGINE_TAGSET_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tagset {
    struct tagset_entry {
        uint64_t tag; /* never 0 */
        uint32_t reach;
    } * entry;
    size_t count, room, most; /* most 0: 2 Mi */
};
bool tagset_known(const struct tagset *t, uint64_t tag, int64_t reach); /* at this distance or a smaller one? */
void tagset_learn(struct tagset *t, uint64_t tag, int64_t reach);
void tagset_free(struct tagset *t);
#endif
