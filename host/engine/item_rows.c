/* item_rows.c - see item_rows.h. */
#include "engine/item_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "convert/avro.h"
#include "engine/item_keep.h"
#include "engine/table_file.h"
#include "net/site.h"

enum { PASSES_MAX = 100 }; /* each finds some files joined since: more is no compaction */

struct wanted { /* a document */
    struct uuid result;
    int64_t run, file;
    bool done;
};
struct reading {
    const struct item_rows_options *o;
    struct fail *why;
    struct wanted *want;
    size_t count, room;
    struct wanted *at; /* the document at hand */
    size_t gone;       /* documents whose file was not there */
};

/* ---- which documents */

static int add_document(void *ctx, const struct store_source *d) {
    struct reading *r = ctx;
    MEM_GROW(r->want, r->count, r->room);
    r->want[r->count++] = (struct wanted){.run = d->run};
    return 0;
}

/* Where their items are now. */
static int find_files(struct reading *r) {
    size_t n = 0;
    for (size_t i = 0; i < r->count; i++) {
        struct store_source d;
        if (r->want[i].done)
            continue;
        int rc = store_source_get(r->o->store, r->want[i].run, &d, r->why);
        if (rc && rc != TL_NOTFOUND)
            return rc;
        if (!rc && d.converted_avro)
            r->want[n++] = (struct wanted){.result = d.result_id, .run = d.run, .file = d.converted_avro};
    }
    r->count = n;
    return TL_OK;
}

static int in_order(const void *left, const void *right) {
    const struct wanted *a = left, *b = right;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return memcmp(&a->result, &b->result, sizeof a->result);
}

/* ---- one file */

static int by_result(const void *key, const void *element) {
    return memcmp(key, &((const struct wanted *)element)->result, sizeof(struct uuid));
}

static int end_document(struct reading *r) {
    int rc = r->at && r->o->end ? r->o->end(r->o->ctx) : TL_OK;
    r->at = NULL;
    return rc;
}

static int each_item(struct reading *r, const struct cell *item, const char *path, size_t first, size_t count) {
    struct uuid id;
    if (item[ITEMS_RESULT_ID].null || uuid_parse(item[ITEMS_RESULT_ID].text, &id))
        return fail_exit(r->why, TL_INVALID, EXIT_DAMAGED, "%s: an item has no result_id, so its document is not known",
                         path);
    if (r->at && memcmp(&r->at->result, &id, sizeof id) != 0) {
        int rc = end_document(r);
        if (rc)
            return rc;
    }
    if (!r->at)
        r->at = bsearch(&id, r->want + first, count, sizeof *r->want, by_result);
    return r->at ? r->o->row(r->o->ctx, item) : TL_OK;
}

static int read_file(struct reading *r, const char *path, int fd, int64_t said, size_t first, size_t count) {
    struct avro_reader *reader;
    struct cell cells[ITEMS_COLUMNS];
    int64_t rows = 0;
    int rc = avro_open(fd, path, &items_table, &reader, r->why);
    if (rc)
        return rc;
    while ((rc = avro_next(reader, cells, r->why)) > 0 && (rc = each_item(r, cells, path, first, count)) == TL_OK)
        rows++;
    avro_end(reader);
    if (!rc)
        rc = table_file_whole(path, rows, said, r->why);
    if (!rc)
        rc = end_document(r);
    for (size_t i = first; i < first + count; i++)
        r->want[i].done = true;
    return rc;
}

static int take_file(struct reading *r, size_t first, size_t count) {
    struct store_table file;
    AUTO_CLOSE int fd = -1;
    int rc = store_table_get(r->o->store, r->want[first].file, &file, r->why);
    AUTO_FREE char *path = rc ? NULL : mem_text(file.path);
    int64_t said = rc ? 0 : file.rows;
    if (!rc)
        rc = lake_open_file(r->o->lake, path, &fd, r->why);
    if (rc == TL_NOTFOUND) {
        r->gone += count;
        return TL_OK;
    }
    return rc ? rc : read_file(r, path, fd, said, first, count);
}

/* ---- the whole */

static int read_all(struct reading *r) {
    for (int pass = 0; pass < PASSES_MAX; pass++) {
        int rc = find_files(r);
        if (rc || !r->count)
            return rc;
        qsort(r->want, r->count, sizeof *r->want, in_order);
        r->gone = 0;
        for (size_t i = 0, n; !rc && i < r->count; i += n) {
            for (n = 1; i + n < r->count && r->want[i + n].file == r->want[i].file; n++) {
            }
            rc = take_file(r, i, n);
        }
        if (rc || !r->gone)
            return rc;
        if (r->gone == r->count && pass)
            break;
        if (r->why)
            *r->why = (struct fail)FAIL_INIT;
    }
    return fail_exit(r->why, TL_NOTFOUND, EXIT_DAMAGED,
                     "the items of %zu documents are in files that are not in the lake (trotline verify names them)",
                     r->gone);
}

int item_rows(const struct item_rows_options *o, struct fail *why) {
    struct reading r = {.o = o, .why = why};
    int rc = store_sources(o->store, &o->which, add_document, &r, why);
    if (!rc)
        rc = read_all(&r);
    free(r.want);
    return rc;
}

/* ---- as rows of a type */

struct typing {
    const struct item_rows_options *o;
    const struct types_type *type;
    struct types *types;
    struct item_keep keep;
};

static const struct cell *find_item(void *ctx, const char *dataset) {
    return item_keep_find(&((struct typing *)ctx)->keep, dataset);
}

static int give_row(void *ctx, const struct types_type *t, const struct cell *cells) {
    struct typing *x = ctx;
    (void)t;
    return x->o->row(x->o->ctx, cells);
}

static int leave_out(void *ctx, const struct types_type *t, const struct cell *cells) {
    (void)ctx, (void)t, (void)cells;
    return TL_OK;
}

static int look_at(struct typing *x, const struct cell *item) {
    const struct types_document doc = {find_item, site_same_text, x};
    const struct types_sink sink = {give_row, leave_out, x};
    int64_t rows, rejected;
    return types_takes(x->type, item) ? types_rows(x->types, x->type, item, &doc, &sink, &rows, &rejected) : TL_OK;
}

static int take_item(void *ctx, const struct cell *item) {
    struct typing *x = ctx;
    if (item[ITEMS_COLLECTOR_NAME].null || !span_eq(item[ITEMS_COLLECTOR_NAME].text, x->type->collector))
        return TL_OK;
    return x->type->siblings && item_keep_add(&x->keep, item) ? TL_OK : look_at(x, item);
}

static int end_typing(void *ctx) {
    struct typing *x = ctx;
    int rc = TL_OK;
    for (const struct kept *k = x->keep.first; k && !rc; k = k->next)
        rc = look_at(x, k->cells);
    item_keep_empty(&x->keep);
    return rc;
}

int item_rows_typed(const struct item_rows_options *o, const struct types_type *type, struct fail *why) {
    struct typing x = {.o = o, .type = type, .types = types_new()};
    const struct item_rows_options inner = {
        .store = o->store, .lake = o->lake, .which = o->which, .row = take_item, .end = end_typing, .ctx = &x};
    int rc = item_rows(&inner, why);
    item_keep_empty(&x.keep);
    types_free(x.types);
    return rc;
}
