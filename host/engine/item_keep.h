/* item_keep.h - items of one document that are kept until its end, because rows of others are made of them.
 *
 * What is kept is a copy: cells of a reader last until its next row only. Memory is bounded; of a document that has
 * more, the beginning is kept. */
#ifndef TROTLINE_ENGINE_ITEM_KEEP_H
#define TROTLINE_ENGINE_ITEM_KEEP_H
#include "convert/types.h"

struct kept {
    struct cell cells[ITEMS_COLUMNS];
    struct kept *next;
};
struct item_keep { /* zeroed: empty */
    struct arena memory;
    struct kept *first, *last;
    bool full; /* something did not fit: nothing more is taken until it is emptied */
};
bool item_keep_add(struct item_keep *k, const struct cell *cells);                 /* false: it is full */
const struct cell *item_keep_find(const struct item_keep *k, const char *dataset); /* the first of that name, or NULL */
void item_keep_empty(struct item_keep *k);
#endif
