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
enum { FIRST_BLOCK = 4096, LARGEST_BLOCK = 65536, SIZES = 5, SPARE_MOST = 16 };
_Static_assert(FIRST_BLOCK << (SIZES - 1) == LARGEST_BLOCK, "blocks double");

/* Blocks of the usual sizes that nobody uses, by size: runs come and go by the thousand, and the allocator would join
 * and part their blocks each time. Only one thread of a process has arenas. */
static struct {
    struct arena_block *first;
    size_t count;
} spare[SIZES];

/* -1: an unusual size. Under a sanitizer none is usual, so that it sees every use after free. */
static int size_index(size_t room) {
#if !defined(__SANITIZE_ADDRESS__)
    for (int i = 0; i < SIZES; i++)
        if (room == (size_t)FIRST_BLOCK << i)
            return i;
#endif
    (void)room;
    return -1;
}

static struct arena_block *new_block(size_t room) {
    int i = size_index(room);
    struct arena_block *b = i >= 0 ? spare[i].first : NULL;
    if (!b)
        return mem_array(NULL, sizeof *b + room, 1);
    spare[i].first = b->before;
    spare[i].count--;
    return b;
}

static void free_block(struct arena_block *b) {
    int i = size_index(b->room);
    if (i < 0 || spare[i].count >= SPARE_MOST) {
        free(b);
        return;
    }
    b->before = spare[i].first;
    spare[i].first = b;
    spare[i].count++;
}

static struct arena_block *add_block(struct arena *a, size_t room) {
    struct arena_block *b = new_block(room);
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
        free_block(b);
    }
    a->last = NULL;
    a->used = 0;
}
