/* arena.c - see arena.h. */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct arena_block {
    struct arena_block *before;
    size_t used, room;
    _Alignas(16) char data[];
};
enum { FIRST_BLOCK = 4096, LARGEST_BLOCK = 65536 };

static struct arena_block *add_block(struct arena *a, size_t room) {
    struct arena_block *b = mem_array(NULL, sizeof *b + room, 1);
    b->used = 0;
    b->room = room;
    b->before = a->last;
    a->last = b;
    return b;
}

void *arena_alloc(struct arena *a, size_t size) {
    if (size > SIZE_MAX / 4 || (a->max && (size > a->max || a->used > a->max - size)))
        return NULL;
    size = (size + 15) & ~(size_t)15;
    struct arena_block *b = a->last;
    if (!b || b->room - b->used < size) {
        size_t room = !b ? FIRST_BLOCK : b->room * 2 > LARGEST_BLOCK ? LARGEST_BLOCK : b->room * 2;
        b = add_block(a, size > room ? size : room);
    }
    void *ptr = b->data + b->used;
    b->used += size;
    a->used += size;
    return ptr;
}

char *arena_text(struct arena *a, const char *ptr, size_t len) {
    char *copy = len < SIZE_MAX ? arena_alloc(a, len + 1) : NULL;
    if (copy) {
        if (len)
            memcpy(copy, ptr, len);
        copy[len] = '\0';
    }
    return copy;
}

void arena_free(struct arena *a) {
    for (struct arena_block *b = a->last, *before; b; b = before) {
        before = b->before;
        free(b);
    }
    a->last = NULL;
    a->used = 0;
}
