/* tagset.c - see tagset.h. Open addressing at most half full; tags are hashes already. */
#include "engine/tagset.h"

#include <stdlib.h>

#include "base/mem.h"

enum { TAGSET_MOST = 2 << 20, FIRST_ROOM = 1024 };

static struct tagset_entry *find(const struct tagset *t, uint64_t tag) {
    size_t at = tag & (t->room - 1);
    while (t->entry[at].tag && t->entry[at].tag != tag)
        at = (at + 1) & (t->room - 1);
    return &t->entry[at];
}

bool tagset_known(const struct tagset *t, uint64_t tag, int64_t reach) {
    if (!t->room)
        return false;
    const struct tagset_entry *e = find(t, tag);
    return e->tag && (int64_t)e->reach <= reach;
}

static void grow(struct tagset *t) {
    struct tagset old = *t;
    t->room = old.room ? old.room * 2 : FIRST_ROOM;
    t->entry = mem_alloc(t->room * sizeof *t->entry);
    for (size_t i = 0; i < old.room; i++)
        if (old.entry[i].tag)
            *find(t, old.entry[i].tag) = old.entry[i];
    free(old.entry);
}

void tagset_learn(struct tagset *t, uint64_t tag, int64_t reach) {
    if (!tag || reach < 0)
        return;
    if (t->count * 2 >= t->room) {
        if (t->count >= (t->most ? t->most : TAGSET_MOST))
            return;
        grow(t);
    }
    struct tagset_entry *e = find(t, tag);
    if (!e->tag) {
        *e = (struct tagset_entry){tag, (uint32_t)reach};
        t->count++;
    } else if ((int64_t)e->reach > reach) {
        e->reach = (uint32_t)reach;
    }
}

void tagset_free(struct tagset *t) {
    free(t->entry);
    *t = (struct tagset){0};
}
