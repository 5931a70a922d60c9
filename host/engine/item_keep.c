/* item_keep.c - see item_keep.h. */
#include "engine/item_keep.h"

#include <string.h>

enum { KEPT_MAX = 64 << 20 };

static struct tl_span copy_text(struct item_keep *k, struct tl_span text) {
    return (struct tl_span){arena_span(&k->memory, text), text.len};
}

static bool copy_cell(struct item_keep *k, enum column_type type, struct cell *c) {
    if (c->null)
        return true;
    if (type == COLUMN_TEXT)
        return (c->text = copy_text(k, c->text)).ptr != NULL;
    if (type != COLUMN_LIST)
        return true;
    struct tl_span *list = arena_alloc(&k->memory, (c->list.count + 1) * sizeof *list);
    for (size_t n = 0; list && n < c->list.count; n++)
        if (!(list[n] = copy_text(k, c->list.items[n])).ptr)
            return false;
    c->list.items = list;
    return list != NULL;
}

bool item_keep_add(struct item_keep *k, const struct cell *cells) {
    k->memory.max = KEPT_MAX;
    struct kept *one = k->full ? NULL : arena_alloc(&k->memory, sizeof *one);
    k->full = !one;
    if (!one)
        return false;
    memcpy(one->cells, cells, sizeof one->cells);
    one->next = NULL;
    for (int i = 0; i < ITEMS_COLUMNS && !k->full; i++)
        k->full = !copy_cell(k, items_table.columns[i].type, &one->cells[i]);
    if (k->full)
        return false;
    if (k->last)
        k->last->next = one;
    else
        k->first = one;
    k->last = one;
    return true;
}

const struct cell *item_keep_find(const struct item_keep *k, const char *dataset) {
    for (const struct kept *one = k->first; one; one = one->next)
        if (!one->cells[ITEMS_DATASET_NAME].null && span_eq(one->cells[ITEMS_DATASET_NAME].text, dataset))
            return one->cells;
    return NULL;
}

void item_keep_empty(struct item_keep *k) {
    arena_free(&k->memory);
    *k = (struct item_keep){0};
}
