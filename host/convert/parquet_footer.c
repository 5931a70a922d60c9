/* parquet_footer.c - what a file says of its pages, chunks and columns.
 *
 * Invariant: sizes include the headers of pages; a chunk's description is encoded when its row group is written, and
 * only the places of its page indexes, which stand before the footer, are added at the end. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif
#include <string.h>

#include "convert/parquet_inside.h"
#include "convert/thrift.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0.0.0"
#endif
#ifndef TROTLINE_BUILD
#define TROTLINE_BUILD "release"
#endif
/* Readers take a file apart by this form, and distrust the statistics of those that do not have it. */
static const char created_by[] = "trotline version " PACKAGE_VERSION " (build " TROTLINE_BUILD ")";

enum { OPTIONAL = 1, REPEATED = 2 };
enum { CONVERTED_UTF8 = 0, CONVERTED_LIST = 3, CONVERTED_TIMESTAMP_MICROS = 10 };
enum { LOGICAL_STRING = 1, LOGICAL_LIST = 3, LOGICAL_TIMESTAMP = 8, UNIT_MICROS = 2 };
enum { ELEMENT_ID = 1000 }; /* the id of a list's elements is so much above the list's */
enum { ORDINAL_MAX = 32767 };

static struct thrift writer(struct buf *out) {
    return (struct thrift){.out = out};
}

void footer_page(const struct parquet_column *c, const struct job *job, size_t raw, struct buf *out) {
    bool dictionary = job->page == JOB_DICTIONARY;
    struct thrift t = writer(out);
    thrift_int(&t, 1, THRIFT_I32, dictionary ? PAGE_DICTIONARY : PAGE_DATA);
    thrift_int(&t, 2, THRIFT_I32, (int64_t)raw);
    thrift_int(&t, 3, THRIFT_I32, (int64_t)job->size);
    thrift_int(&t, 4, THRIFT_I32, (int32_t)job->crc);
    if (dictionary) {
        thrift_open(&t, 7);
        thrift_int(&t, 1, THRIFT_I32, (int64_t)c->dictionary.count);
        thrift_int(&t, 2, THRIFT_I32, ENCODING_PLAIN);
    } else {
        const struct page *page = &c->pages[job->page];
        thrift_open(&t, 5);
        thrift_int(&t, 1, THRIFT_I32, page->values);
        thrift_int(&t, 2, THRIFT_I32, page->coded ? ENCODING_RLE_DICTIONARY : ENCODING_PLAIN);
        thrift_int(&t, 3, THRIFT_I32, ENCODING_RLE);
        thrift_int(&t, 4, THRIFT_I32, ENCODING_RLE);
    }
    thrift_close(&t);
    thrift_close(&t);
}

/* ---- chunks */

static struct tl_span span_of_bound(const struct bound *b) {
    return (struct tl_span){b->byte, b->len};
}

static void statistics(struct thrift *t, const struct parquet_column *c) {
    struct bound min, max;
    bool has_min = c->bounded && bounds_min(&c->bounds, c->about->type, &min);
    bool has_max = c->bounded && bounds_max(&c->bounds, c->about->type, &max);
    bool old = c->type == TYPE_INT64 || c->type == TYPE_DOUBLE; /* where the old fields have the same order */
    thrift_open(t, 12);
    if (has_max && old)
        thrift_text(t, 1, span_of_bound(&max));
    if (has_min && old)
        thrift_text(t, 2, span_of_bound(&min));
    thrift_int(t, 3, THRIFT_I64, (int64_t)c->nulls);
    if (has_max)
        thrift_text(t, 5, span_of_bound(&max));
    if (has_min)
        thrift_text(t, 6, span_of_bound(&min));
    if (has_max)
        thrift_bool(t, 7, max.exact);
    if (has_min)
        thrift_bool(t, 8, min.exact);
    thrift_close(t);
}

static void page_encoding(struct thrift *t, int type, int encoding, size_t count) {
    thrift_item_open(t);
    thrift_int(t, 1, THRIFT_I32, type);
    thrift_int(t, 2, THRIFT_I32, encoding);
    thrift_int(t, 3, THRIFT_I32, (int64_t)count);
    thrift_close(t);
}

static void encodings(struct thrift *t, const struct parquet_column *c) {
    size_t coded = c->pages_coded, plain = c->page_count - coded;
    thrift_list(t, 13, THRIFT_STRUCT, (size_t)(coded ? 2 : 0) + (plain ? 1 : 0));
    if (coded) {
        page_encoding(t, PAGE_DICTIONARY, ENCODING_PLAIN, 1);
        page_encoding(t, PAGE_DATA, ENCODING_RLE_DICTIONARY, coded);
    }
    if (plain)
        page_encoding(t, PAGE_DATA, ENCODING_PLAIN, plain);
}

static void chunk_meta(struct parquet *w, const struct parquet_column *c, uint64_t at) {
    static const int codecs[] = {[PARQUET_ZSTD] = 6, [PARQUET_SNAPPY] = 1, [PARQUET_NONE] = 0};
    struct thrift t = writer(&w->metas);
    thrift_int(&t, 1, THRIFT_I32, c->type);
    thrift_list(&t, 2, THRIFT_I32, c->pages_coded ? 3 : 2);
    thrift_item_int(&t, ENCODING_PLAIN);
    thrift_item_int(&t, ENCODING_RLE);
    if (c->pages_coded)
        thrift_item_int(&t, ENCODING_RLE_DICTIONARY);
    thrift_list(&t, 3, THRIFT_TEXT, c->list ? 3 : 1);
    thrift_item_text(&t, span_of(c->about->name));
    if (c->list) {
        thrift_item_text(&t, span_of("list"));
        thrift_item_text(&t, span_of("element"));
    }
    thrift_int(&t, 4, THRIFT_I32, codecs[w->limits.codec]);
    thrift_int(&t, 5, THRIFT_I64, (int64_t)c->count);
    thrift_int(&t, 6, THRIFT_I64, (int64_t)c->raw);
    thrift_int(&t, 7, THRIFT_I64, (int64_t)(c->dictionary_pile.bytes + c->pile.bytes));
    thrift_int(&t, 9, THRIFT_I64, (int64_t)(at + c->dictionary_pile.bytes));
    if (c->pages_coded)
        thrift_int(&t, 11, THRIFT_I64, (int64_t)at);
    statistics(&t, c);
    encodings(&t, c);
    thrift_close(&t);
}

/* ---- page index */

static bool page_bounds(const struct parquet_column *c, size_t i, struct bound *min, struct bound *max) {
    const struct bounds *b = &c->pages[i].bounds;
    return bounds_min(b, c->about->type, min) && bounds_max(b, c->about->type, max);
}

static bool null_page(const struct page *page) {
    return page->nulls == page->values;
}

/* 0: no order, 1: rising, 2: falling; -1: a page has values but no bounds, so there can be no index. */
static int page_order(const struct parquet_column *c) {
    bool rises = true, falls = true, first = true;
    struct bound min, max, min_before = {0}, max_before = {0};
    for (size_t i = 0; i < c->page_count; i++) {
        if (null_page(&c->pages[i]))
            continue;
        if (!c->bounded || !page_bounds(c, i, &min, &max))
            return -1;
        if (!first) {
            int low = bounds_compare(c->about->type, &min_before, &min);
            int high = bounds_compare(c->about->type, &max_before, &max);
            rises = rises && low <= 0 && high <= 0;
            falls = falls && low >= 0 && high >= 0;
        }
        first = false;
        min_before = min;
        max_before = max;
    }
    return rises ? 1 : falls ? 2 : 0;
}

static void column_index(struct parquet *w, const struct parquet_column *c) {
    int order = page_order(c);
    if (order < 0)
        return;
    struct thrift t = writer(&w->column_indexes);
    thrift_list(&t, 1, THRIFT_TRUE, c->page_count);
    for (size_t i = 0; i < c->page_count; i++)
        thrift_item_bool(&t, null_page(&c->pages[i]));
    for (int which = 0; which < 2; which++) {
        thrift_list(&t, 2 + which, THRIFT_TEXT, c->page_count);
        for (size_t i = 0; i < c->page_count; i++) {
            struct bound bound[2] = {{0}, {0}};
            if (!null_page(&c->pages[i]))
                page_bounds(c, i, &bound[0], &bound[1]);
            thrift_item_text(&t, span_of_bound(&bound[which]));
        }
    }
    thrift_int(&t, 4, THRIFT_I32, order);
    thrift_list(&t, 5, THRIFT_I64, c->page_count);
    for (size_t i = 0; i < c->page_count; i++)
        thrift_item_int(&t, (int64_t)c->pages[i].nulls);
    thrift_close(&t);
}

static void offset_index(struct parquet *w, const struct parquet_column *c, uint64_t at) {
    struct thrift t = writer(&w->offset_indexes);
    thrift_list(&t, 1, THRIFT_STRUCT, c->page_count);
    for (size_t i = 0; i < c->page_count; i++) {
        thrift_item_open(&t);
        thrift_int(&t, 1, THRIFT_I64, (int64_t)(at + c->dictionary_pile.bytes + c->pages[i].at));
        thrift_int(&t, 2, THRIFT_I32, c->pages[i].bytes);
        thrift_int(&t, 3, THRIFT_I64, (int64_t)c->pages[i].first_row);
        thrift_close(&t);
    }
    thrift_close(&t);
}

void footer_chunk(struct parquet *w, struct parquet_column *c, uint64_t at) {
    size_t meta = w->metas.len, column = w->column_indexes.len, offset = w->offset_indexes.len;
    chunk_meta(w, c, at);
    column_index(w, c);
    offset_index(w, c, at);
    MEM_GROW(w->chunks, w->chunk_count, w->chunk_room);
    w->chunks[w->chunk_count++] = (struct chunk){.meta = (uint32_t)(w->metas.len - meta),
                                                 .column_index = (uint32_t)(w->column_indexes.len - column),
                                                 .offset_index = (uint32_t)(w->offset_indexes.len - offset)};
}

/* ---- the file */

static void element(struct thrift *t, const char *name, int type, int repetition, int children, int converted, int id,
                    int logical) {
    thrift_item_open(t);
    if (type >= 0)
        thrift_int(t, 1, THRIFT_I32, type);
    if (repetition >= 0)
        thrift_int(t, 3, THRIFT_I32, repetition);
    thrift_text(t, 4, span_of(name));
    if (children)
        thrift_int(t, 5, THRIFT_I32, children);
    if (converted >= 0)
        thrift_int(t, 6, THRIFT_I32, converted);
    if (id)
        thrift_int(t, 9, THRIFT_I32, id);
    if (logical) {
        thrift_open(t, 10);
        thrift_open(t, logical);
        if (logical == LOGICAL_TIMESTAMP) {
            thrift_bool(t, 1, true); /* UTC */
            thrift_open(t, 2);
            thrift_open(t, UNIT_MICROS);
            thrift_close(t);
            thrift_close(t);
        }
        thrift_close(t);
        thrift_close(t);
    }
    thrift_close(t);
}

static void schema(struct thrift *t, const struct parquet *w) {
    size_t elements = 1 + w->table->count;
    for (size_t i = 0; i < w->table->count; i++)
        elements += w->columns[i].list ? 2 : 0;
    thrift_list(t, 2, THRIFT_STRUCT, elements);
    element(t, w->table->name, -1, -1, (int)w->table->count, -1, 0, 0);
    for (size_t i = 0; i < w->table->count; i++) {
        const struct parquet_column *c = &w->columns[i];
        const char *name = c->about->name;
        int id = (int)i + 1;
        if (c->list) {
            element(t, name, -1, OPTIONAL, 1, CONVERTED_LIST, id, LOGICAL_LIST);
            element(t, "list", -1, REPEATED, 1, -1, 0, 0);
            element(t, "element", c->type, OPTIONAL, 0, CONVERTED_UTF8, id + ELEMENT_ID, LOGICAL_STRING);
        } else if (c->about->type == COLUMN_TEXT)
            element(t, name, c->type, OPTIONAL, 0, CONVERTED_UTF8, id, LOGICAL_STRING);
        else if (c->about->type == COLUMN_TIME)
            element(t, name, c->type, OPTIONAL, 0, CONVERTED_TIMESTAMP_MICROS, id, LOGICAL_TIMESTAMP);
        else
            element(t, name, c->type, OPTIONAL, 0, -1, id, 0);
    }
}

struct places { /* how far the footer's own buffers were read */
    size_t chunk, meta;
    uint64_t column_index, offset_index;
};

static void row_group(struct thrift *t, const struct parquet *w, size_t number, struct places *at) {
    const struct group *group = &w->groups[number];
    thrift_item_open(t);
    thrift_list(t, 1, THRIFT_STRUCT, w->table->count);
    for (size_t i = 0; i < w->table->count; i++) {
        const struct chunk *chunk = &w->chunks[at->chunk++];
        thrift_item_open(t);
        thrift_int(t, 2, THRIFT_I64, 0); /* deprecated, but required */
        thrift_open(t, 3);
        buf_add(t->out, w->metas.data + at->meta, chunk->meta - 1);
        thrift_close(t);
        thrift_int(t, 4, THRIFT_I64, (int64_t)at->offset_index);
        thrift_int(t, 5, THRIFT_I32, chunk->offset_index);
        if (chunk->column_index) {
            thrift_int(t, 6, THRIFT_I64, (int64_t)at->column_index);
            thrift_int(t, 7, THRIFT_I32, chunk->column_index);
        }
        thrift_close(t);
        at->meta += chunk->meta;
        at->column_index += chunk->column_index;
        at->offset_index += chunk->offset_index;
    }
    thrift_int(t, 2, THRIFT_I64, (int64_t)group->raw);
    thrift_int(t, 3, THRIFT_I64, (int64_t)group->rows);
    thrift_int(t, 5, THRIFT_I64, (int64_t)group->at);
    thrift_int(t, 6, THRIFT_I64, (int64_t)group->stored);
    if (number <= ORDINAL_MAX)
        thrift_int(t, 7, THRIFT_I16, (int64_t)number);
    thrift_close(t);
}

void footer_file(struct parquet *w, uint64_t column_index_at, uint64_t offset_index_at, struct buf *out) {
    struct thrift t = writer(out);
    struct places at = {.column_index = column_index_at, .offset_index = offset_index_at};
    thrift_int(&t, 1, THRIFT_I32, 1);
    schema(&t, w);
    thrift_int(&t, 3, THRIFT_I64, (int64_t)w->rows);
    thrift_list(&t, 4, THRIFT_STRUCT, w->group_count);
    for (size_t i = 0; i < w->group_count; i++)
        row_group(&t, w, i, &at);
    if (w->limits.pair_count) {
        thrift_list(&t, 5, THRIFT_STRUCT, w->limits.pair_count);
        for (size_t i = 0; i < w->limits.pair_count; i++) {
            thrift_item_open(&t);
            thrift_text(&t, 1, span_of(w->pairs[i].key));
            if (w->pairs[i].value)
                thrift_text(&t, 2, span_of(w->pairs[i].value));
            thrift_close(&t);
        }
    }
    thrift_text(&t, 6, span_of(created_by));
    thrift_list(&t, 7, THRIFT_STRUCT, w->table->count); /* one a leaf, and every column has one */
    for (size_t i = 0; i < w->table->count; i++) {
        thrift_item_open(&t);
        thrift_open(&t, 1);
        thrift_close(&t);
        thrift_close(&t);
    }
    thrift_close(&t);
}
