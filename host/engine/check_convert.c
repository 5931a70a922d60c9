/* check_convert.c - see check_convert.h. */
#include "engine/check_convert.h"

#include <string.h>

#include "convert/items.h"
#include "engine/convert_own.h"

struct counting {
    struct check_rows *rows;
    struct hash *hash;
};

static void add_span(struct hash *h, struct tl_span text) {
    hash_add(h, &text.len, sizeof text.len);
    hash_add(h, text.ptr, text.len);
}

static int add_row(void *ctx, const struct cell *cells) {
    struct counting *c = ctx;
    c->rows->count++;
    for (int i = 0; i < ITEMS_COLUMNS; i++) {
        hash_add(c->hash, &cells[i].null, sizeof cells[i].null);
        if (cells[i].null || i == ITEMS_CONVERTED_AT)
            continue;
        switch (items_table.columns[i].type) {
        case COLUMN_TEXT:
            add_span(c->hash, cells[i].text);
            break;
        case COLUMN_LIST:
            for (size_t n = 0; n < cells[i].list.count; n++)
                add_span(c->hash, cells[i].list.items[n]);
            break;
        default:
            hash_add(c->hash, &cells[i].number, sizeof cells[i].number);
        }
    }
    return TL_OK;
}

int check_convert(const char *file, struct tl_span options, int64_t deadline_us, struct tl_span document,
                  struct check_rows *out, struct fail *why) {
    const struct items_document doc = {.file = document, .path = "documents/check.json", .sha256 = ""};
    const struct convert_own_options how = {
        .file = file, .options = options, .memory = (int64_t)1 << 30, .deadline_us = deadline_us};
    struct convert_own *own = NULL;
    struct items *items = items_new();
    struct counting c = {out, hash_new()};
    *out = (struct check_rows){0};
    hash_start(c.hash);
    int rc = items_open(items, &doc, why);
    if (!rc && file)
        rc = convert_own_start(&how, &own, why);
    if (!rc)
        rc = file ? convert_own_rows(own, items, &doc, add_row, &c, why) : items_each(items, add_row, &c, why);
    out->sum = hash_end(c.hash);
    convert_own_stop(own);
    hash_free(c.hash);
    items_free(items);
    return rc;
}
