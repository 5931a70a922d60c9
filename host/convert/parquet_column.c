/* parquet_column.c - a column's cells become pages.
 *
 * Invariant: a page begins with a row. While `coding`, values of the open page are numbers in the dictionary; a chunk
 * that stops coding never begins again, and one that never had a coded page has no dictionary. */
#include <string.h>

#include "convert/parquet_inside.h"

enum { WASTE_SAMPLE = 1024 }; /* values after which a dictionary that did not pay before is looked at again */

static bool is_text(const struct parquet_column *c) {
    return c->type == TYPE_BYTE_ARRAY;
}

static void begin_page(struct parquet_column *c) {
    buf_reset(&c->values);
    if (buf_reserve(&c->values, PAGE_HEAD))
        c->values.len = PAGE_HEAD;
    buf_reset(&c->indices);
    buf_reset(&c->define);
    buf_reset(&c->repeat);
    c->rows = c->plain = 0;
    c->bit = 0;
    c->page = (struct page){.first_row = c->first_row};
}

void column_open(struct parquet_column *c, const struct column *about) {
    static const int types[] = {
        [COLUMN_TEXT] = TYPE_BYTE_ARRAY, [COLUMN_INT] = TYPE_INT64,  [COLUMN_REAL] = TYPE_DOUBLE,
        [COLUMN_BOOL] = TYPE_BOOLEAN,    [COLUMN_TIME] = TYPE_INT64, [COLUMN_LIST] = TYPE_BYTE_ARRAY,
    };
    c->about = about;
    c->type = types[about->type];
    c->list = about->type == COLUMN_LIST;
    c->bounded = !about->payload;
    c->coding = c->bounded && about->type != COLUMN_BOOL;
    begin_page(c);
}

size_t column_cost(const struct parquet_column *c, const struct cell *cell) {
    if (cell->null)
        return 0;
    if (!c->list)
        return is_text(c) ? 4 + cell->text.len : 8;
    size_t cost = 0;
    for (size_t i = 0; i < cell->list.count && cost <= PARQUET_CELL_MAX; i++)
        cost += 4 + cell->list.items[i].len;
    return cost;
}

/* ---- values */

static void plain_text(struct parquet_column *c, struct tl_span text) {
    uint32_t len = (uint32_t)text.len;
    if (!buf_reserve(&c->values, sizeof len + text.len))
        return;
    memcpy(c->values.data + c->values.len, &len, sizeof len);
    c->values.len += sizeof len;
    buf_add(&c->values, text.ptr, text.len);
}

static void plain_bool(struct parquet_column *c, bool value) {
    if (c->bit == 0)
        buf_char(&c->values, 0);
    if (value)
        c->values.data[c->values.len - 1] |= (char)(1u << c->bit);
    c->bit = (c->bit + 1) % 8;
}

/* The open page's numbers become values: nothing has referred to the dictionary yet, or its pages stay as they are. */
static void uncode_page(struct parquet_column *c) {
    const uint32_t *numbers = (const uint32_t *)(const void *)c->indices.data;
    for (size_t i = 0; i < c->indices.len / sizeof *numbers; i++) {
        struct tl_span value = dictionary_value(&c->dictionary, numbers[i]);
        buf_add(&c->values, value.ptr, value.len);
    }
    buf_reset(&c->indices);
}

static unsigned width_of(size_t values) {
    unsigned width = 1; /* 0 is legal for one value, but not read everywhere */
    while (width < 32 && values > (size_t)1 << width)
        width++;
    return width;
}

/* Whether the dictionary saves a quarter or more of what has been seen, all of it in the open page. */
static bool pays(const struct parquet_column *c) {
    size_t numbers = c->indices.len / sizeof(uint32_t);
    size_t coded = c->dictionary.bytes.len + numbers * width_of(c->dictionary.count) / 8;
    return coded < c->plain - c->plain / 4;
}

static void stop_coding(struct parquet_column *c) {
    c->coding = false;
    if (c->pages_coded == 0) {
        uncode_page(c);
        dictionary_clear(&c->dictionary);
        c->wasteful = true;
    }
}

static bool code(struct parquet *w, struct parquet_column *c, const void *ptr, size_t len) {
    uint32_t number = dictionary_find(&c->dictionary, ptr, len, is_text(c), w->limits.dictionary_bytes);
    if (number == DICTIONARY_FULL)
        return false;
    buf_add(&c->indices, &number, sizeof number);
    return true;
}

static void end_coding(struct parquet *w, struct parquet_column *c, bool torn) {
    if (c->pages_coded == 0 && (torn || !pays(c))) {
        stop_coding(c);
        return;
    }
    if (torn) /* a page cannot end within a row: its numbers become values */
        uncode_page(c);
    else
        column_end_page(w, c);
    c->coding = false;
}

/* Bounds come last: what ends the page is not of it. */
static void put_text(struct parquet *w, struct parquet_column *c, struct tl_span text) {
    if (!c->coding || !code(w, c, text.ptr, text.len)) {
        if (c->coding)
            end_coding(w, c, c->list);
        plain_text(c, text);
    }
    c->plain += 4 + text.len;
    if (c->bounded)
        bounds_text(&c->page.bounds, text);
}

static void put_number(struct parquet *w, struct parquet_column *c, const struct cell *cell) {
    bool real = c->about->type == COLUMN_REAL;
    const void *bytes = real ? (const void *)&cell->real : &cell->number;
    if (!c->coding || !code(w, c, bytes, 8)) {
        if (c->coding)
            end_coding(w, c, false);
        buf_add(&c->values, bytes, 8);
    }
    c->plain += 8;
    if (real)
        bounds_real(&c->page.bounds, cell->real);
    else
        bounds_number(&c->page.bounds, cell->number);
}

/* ---- cells */

static void level(struct parquet_column *c, int define, int repeat) {
    buf_char(&c->define, (char)define);
    if (c->list)
        buf_char(&c->repeat, (char)repeat);
    c->page.values++;
}

static void put_list(struct parquet *w, struct parquet_column *c, const struct cell *cell) {
    if (cell->null || cell->list.count == 0) {
        level(c, cell->null ? 0 : 1, 0);
        c->page.nulls++;
        return;
    }
    /* Beforehand, for a page cannot end within a row. */
    if (c->coding && c->dictionary.bytes.len + column_cost(c, cell) > w->limits.dictionary_bytes)
        end_coding(w, c, false);
    for (size_t i = 0; i < cell->list.count; i++) {
        put_text(w, c, cell->list.items[i]);
        level(c, 3, i > 0);
    }
}

static void put_flat(struct parquet *w, struct parquet_column *c, const struct cell *cell) {
    if (cell->null)
        c->page.nulls++;
    else if (c->about->type == COLUMN_TEXT)
        put_text(w, c, cell->text);
    else if (c->about->type == COLUMN_BOOL) {
        bounds_number(&c->page.bounds, cell->number != 0);
        plain_bool(c, cell->number != 0);
        c->plain++;
    } else
        put_number(w, c, cell);
    level(c, !cell->null, 0);
}

/* A page of its own, whose bytes are compressed where they are. */
static void put_large(struct parquet *w, struct parquet_column *c, struct tl_span text) {
    column_end_page(w, c);
    if (c->coding)
        c->coding = false;
    uint32_t len = (uint32_t)text.len;
    buf_add(&c->values, &len, sizeof len);
    if (c->bounded)
        bounds_text(&c->page.bounds, text);
    level(c, 1, 0);
    c->rows = 1;
    c->large = text;
    column_end_page(w, c);
}

/* What the open page takes in memory, roughly, but the same on every machine. */
static size_t open_bytes(const struct parquet_column *c) {
    return c->values.len + c->indices.len + c->define.len + c->repeat.len + dictionary_memory(&c->dictionary);
}

void column_put(struct parquet *w, struct parquet_column *c, const struct cell *cell) {
    const struct parquet_options *limits = &w->limits;
    size_t before = open_bytes(c), cost = column_cost(c, cell);
    if (c->rows && c->plain + cost > limits->page_bytes && !(c->coding && c->pages_coded))
        column_end_page(w, c);
    if (!cell->null && c->about->type == COLUMN_TEXT && cost > limits->page_bytes)
        put_large(w, c, cell->text);
    else {
        if (c->list)
            put_list(w, c, cell);
        else
            put_flat(w, c, cell);
        c->rows++;
        if (c->coding && c->wasteful && c->pages_coded == 0 && c->page.values >= WASTE_SAMPLE && !pays(c))
            stop_coding(c);
        size_t size = c->coding && c->pages_coded ? c->indices.len + c->plain / 16 : c->plain;
        if (c->rows >= limits->page_rows || size >= limits->page_bytes)
            column_end_page(w, c);
    }
    w->open += open_bytes(c) - before;
}

/* ---- pages */

static void put_levels(struct buf *out, const struct buf *levels, unsigned width) {
    size_t at = out->len;
    uint32_t len = 0;
    buf_add(out, &len, sizeof len);
    levels_write(out, levels->data, levels->len, false, width);
    len = (uint32_t)(out->len - at - sizeof len);
    if (!out->full)
        memcpy(out->data + at, &len, sizeof len);
}

/* The levels go in front of the values, into the room kept there if they fit. Returns where the page begins. */
static size_t prepend_levels(struct parquet *w, struct parquet_column *c) {
    struct buf *levels = &w->levels;
    buf_reset(levels);
    if (c->list)
        put_levels(levels, &c->repeat, 1);
    put_levels(levels, &c->define, c->list ? 2 : 1);
    if (levels->len > PAGE_HEAD) {
        size_t more = levels->len - PAGE_HEAD;
        if (!buf_reserve(&c->values, more))
            return 0;
        memmove(c->values.data + levels->len, c->values.data + PAGE_HEAD, c->values.len - PAGE_HEAD);
        c->values.len += more;
    }
    size_t start = levels->len > PAGE_HEAD ? 0 : PAGE_HEAD - levels->len;
    memcpy(c->values.data + start, levels->data, levels->len);
    return start;
}

void column_end_page(struct parquet *w, struct parquet_column *c) {
    if (!c->rows)
        return;
    if (c->coding && c->pages_coded == 0 && c->plain && !pays(c))
        stop_coding(c);
    c->page.coded = c->coding && c->indices.len > 0;
    if (c->coding && c->page.coded) {
        unsigned width = width_of(c->dictionary.count);
        buf_char(&c->values, (char)width);
        levels_write(&c->values, c->indices.data, c->indices.len / sizeof(uint32_t), true, width);
        c->pages_coded++;
    }
    size_t start = prepend_levels(w, c);
    w->pages.failed = w->pages.failed || c->values.full || c->indices.full || c->define.full || c->repeat.full;
    MEM_GROW(c->pages, c->page_count, c->page_room);
    c->pages[c->page_count] = c->page;
    c->first_row += c->rows;
    c->count += c->page.values;
    c->nulls += c->page.nulls;
    bounds_merge(&c->bounds, c->about->type, &c->page.bounds);
    pages_put(&w->pages, c, c->page_count++, &c->values, start, c->large);
    c->large = (struct tl_span){0};
    size_t usual = 2 * w->limits.page_bytes; /* what one long row has made larger does not stay so */
    buf_shrink(&c->values, usual + PAGE_HEAD);
    buf_shrink(&c->define, usual);
    buf_shrink(&c->repeat, usual);
    buf_shrink(&c->indices, usual);
    begin_page(c);
}

void column_end_chunk(struct parquet *w, struct parquet_column *c) {
    column_end_page(w, c);
    if (!c->pages_coded)
        return;
    buf_add(&c->values, c->dictionary.bytes.data, c->dictionary.bytes.len);
    pages_put(&w->pages, c, JOB_DICTIONARY, &c->values, PAGE_HEAD, (struct tl_span){0});
    begin_page(c);
}

void column_next_chunk(struct parquet *w, struct parquet_column *c) {
    c->wasteful = c->wasteful && !c->pages_coded;
    dictionary_clear(&c->dictionary);
    pile_clear(&c->pile, &w->pages.blocks);
    pile_clear(&c->dictionary_pile, &w->pages.blocks);
    c->page_count = c->pages_coded = 0;
    c->first_row = c->count = c->nulls = c->dictionary_raw = c->raw = 0;
    c->bounds = (struct bounds){0};
    c->coding = c->bounded && c->about->type != COLUMN_BOOL;
    begin_page(c);
}

void column_free(struct parquet_column *c, struct blocks *blocks) {
    pile_clear(&c->pile, blocks);
    pile_clear(&c->dictionary_pile, blocks);
    dictionary_free(&c->dictionary);
    buf_free(&c->values);
    buf_free(&c->indices);
    buf_free(&c->define);
    buf_free(&c->repeat);
    free(c->pages);
}
