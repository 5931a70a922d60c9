/* refine.c - see refine.h. */
#include "engine/refine.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/mem.h"
#include "base/times.h"
#include "engine/delta.h"
#include "engine/item_keep.h"
#include "engine/lock.h"
#include "engine/table_record.h"
#include "net/site.h"

#define DAY_US ((int64_t)24 * 3600 * 1000000)

struct wanted { /* a document whose items are to be looked at */
    struct uuid result, run_id;
    int64_t run, root, file, day_us;
    int64_t *rows, *rejected; /* of each type that writes here; NULL: none does */
};
struct output { /* of one type, or of the rejects */
    struct table_file file;
    int64_t key; /* of the type in the catalog */
    bool open;
};
struct refining {
    const struct refine_options *o;
    struct refine_sums *sums;
    struct fail *why;
    struct wanted *want;
    size_t count, room;
    struct output *output; /* one a type, then rejects */
    struct types *types;
    /* the document at hand */
    struct wanted *at;
    struct item_keep keep; /* what others of its items are made of */
    bool writes;           /* the type at hand writes rows of this document */
    size_t type;
    int64_t day_us;
};

static size_t type_count(const struct refining *r) {
    return r->o->types->count;
}

/* ---- which documents */

struct gather {
    struct refining *r;
    int64_t *run;
    size_t count, room;
};

static int add_run(void *ctx, const struct store_source *d) {
    struct gather *g = ctx;
    MEM_GROW(g->run, g->count, g->room);
    g->run[g->count++] = d->run;
    return 0;
}

static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Runs whose documents are meant, each once: all of a crawl; else those that some type has not looked at. */
static int gather_runs(struct refining *r, struct gather *g) {
    struct store_selection which = r->o->which;
    int rc = TL_OK;
    if (which.root)
        rc = store_sources(r->o->store, &which, add_run, g, r->why);
    for (size_t i = 0; !which.root && !rc && i < type_count(r); i++) {
        which.collector = r->o->types->type[i].collector;
        which.unrefined = r->output[i].key;
        rc = store_sources(r->o->store, &which, add_run, g, r->why);
    }
    if (g->count)
        qsort(g->run, g->count, sizeof *g->run, by_number);
    size_t n = 0;
    for (size_t i = 0; i < g->count; i++)
        if (!n || g->run[n - 1] != g->run[i])
            g->run[n++] = g->run[i];
    g->count = n;
    return rc;
}

static int in_order(const void *left, const void *right) {
    const struct wanted *a = left, *b = right;
    if (a->day_us != b->day_us)
        return a->day_us < b->day_us ? -1 : 1;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return memcmp(&a->result, &b->result, sizeof a->result);
}

static int gather_documents(struct refining *r) {
    struct gather g = {.r = r};
    int rc = gather_runs(r, &g);
    for (size_t i = 0; !rc && i < g.count; i++) {
        struct store_source d;
        rc = store_source_get(r->o->store, g.run[i], &d, r->why);
        if (rc || !d.converted_avro)
            continue;
        MEM_GROW(r->want, r->count, r->room);
        r->want[r->count++] = (struct wanted){.result = d.result_id,
                                              .run_id = d.run_id,
                                              .run = d.run,
                                              .root = d.root,
                                              .file = d.converted_avro,
                                              .day_us = d.collected_us - d.collected_us % DAY_US};
    }
    free(g.run);
    if (r->count)
        qsort(r->want, r->count, sizeof *r->want, in_order);
    return rc;
}

/* ---- rows into files */

static int open_output(struct refining *r, size_t at) {
    bool rejects = at == type_count(r);
    const struct types_type *t = rejects ? NULL : &r->o->types->type[at];
    const struct table_place place = {.id = uuid_new(),
                                      .kind = rejects ? STORE_REJECTS : STORE_TYPED,
                                      .name = rejects ? types_rejects.name : t->name,
                                      .version = rejects ? TYPES_REJECTS_VERSION : t->version,
                                      .environment = r->o->config->environment,
                                      .hour_us = r->day_us};
    struct output *out = &r->output[at];
    int rc = table_file_open(r->o->lake, &r->o->config->convert, rejects ? &types_rejects : &t->table, &place, false,
                             NULL, &out->file, r->why);
    out->open = rc == TL_OK;
    return rc;
}

static int write_row(struct refining *r, size_t at, const struct cell *cells) {
    int rc = r->output[at].open ? TL_OK : open_output(r, at);
    if (!rc)
        rc = table_file_row(&r->output[at].file, cells, r->why);
    return rc;
}

static int take_row(void *ctx, const struct types_type *t, const struct cell *cells) {
    struct refining *r = ctx;
    (void)t;
    if (!r->writes)
        return TL_OK;
    r->at->rows[r->type]++;
    r->sums->written++;
    return write_row(r, r->type, cells);
}

static int take_reject(void *ctx, const struct types_type *t, const struct cell *cells) {
    struct refining *r = ctx;
    (void)t;
    if (!r->writes)
        return TL_OK;
    r->at->rejected[r->type]++;
    return write_row(r, type_count(r), cells);
}

/* ---- closing a day */

static void drop_outputs(struct refining *r) {
    for (size_t i = 0; i <= type_count(r); i++) {
        if (r->output[i].open)
            table_file_drop(&r->output[i].file, r->o->lake);
        r->output[i].open = false;
    }
}

static int record_document(struct refining *r, const struct wanted *w) {
    struct store *s = r->o->store;
    const struct output *rejects = &r->output[type_count(r)];
    int rc = TL_OK;
    for (size_t i = 0; !rc && w->rows && i < type_count(r); i++) {
        if (w->rows[i] < 0)
            continue; /* it was looked at before, or is none of the type's */
        int64_t file = w->rows[i] ? r->output[i].file.at.key : 0;
        int64_t refused = w->rejected[i] ? rejects->file.at.key : 0;
        rc = store_refined_put(s, w->run, r->output[i].key, w->rows[i], w->rejected[i], file, refused);
        if (!rc && file)
            rc = store_table_source(s, w->root, file);
        if (!rc && refused)
            rc = store_table_source(s, w->root, refused);
    }
    return rc;
}

static void record_lines(struct refining *r, const struct wanted *w, struct table_record *to) {
    for (size_t i = 0; w->rows && i < type_count(r); i++) {
        if (w->rows[i] < 0)
            continue;
        const struct types_type *t = &r->o->types->type[i];
        const struct table_refined what = {.type = t->name,
                                           .version = t->version,
                                           .rows = w->rows[i],
                                           .rejected = w->rejected[i],
                                           .file = w->rows[i] ? &r->output[i].file.at.id : NULL,
                                           .rejects = w->rejected[i] ? &r->output[type_count(r)].file.at.id : NULL};
        table_record_refined(to, &w->run_id, &w->result, &what);
    }
}

/* What is to be committed, for a catalog that is made anew. */
static int stage_record(struct refining *r, size_t first, size_t end, struct table_record *to) {
    int rc = table_record_open(r->o->lake, "refine", time_now_us(), to, r->why);
    for (size_t i = 0; !rc && i <= type_count(r); i++)
        if (r->output[i].open && r->output[i].file.at.rows)
            table_record_file(to, &r->output[i].file.at);
    for (size_t i = first; !rc && i < end; i++)
        record_lines(r, &r->want[i], to);
    return rc ? rc : table_record_close(to, r->o->lake, r->why);
}

/* Is there anything that the catalog does not know? */
static bool is_new(const struct refining *r, size_t first, size_t end) {
    for (size_t i = first; i < end; i++)
        for (size_t t = 0; r->want[i].rows && t < type_count(r); t++)
            if (r->want[i].rows[t] >= 0)
                return true;
    return false;
}

static int record(struct refining *r, size_t first, size_t end, struct table_record *known) {
    int rc = store_table_put(r->o->store, &known->file.at, r->why);
    for (size_t i = 0; !rc && i <= type_count(r); i++)
        if (r->output[i].open && r->output[i].file.at.rows)
            rc = store_table_put(r->o->store, &r->output[i].file.at, r->why);
    for (size_t i = first; !rc && i < end; i++)
        rc = record_document(r, &r->want[i]);
    return rc;
}

static int close_day(struct refining *r, size_t first, size_t end) {
    struct table_record to = TABLE_RECORD_INIT;
    int rc = TL_OK;
    if (!is_new(r, first, end))
        return TL_OK;
    for (size_t i = 0; !rc && i <= type_count(r); i++)
        if (r->output[i].open)
            rc = table_file_close(&r->output[i].file, r->o->lake, r->why);
    FAULT_POINT("refine-staged");
    if (!rc)
        rc = stage_record(r, first, end, &to);
    if (!rc && (rc = store_begin(r->o->store, r->why)) == TL_OK) {
        rc = record(r, first, end, &to);
        if (rc) {
            store_rollback(r->o->store);
            if (!r->why->status)
                fail_set(r->why, rc, "the catalog did not take the typed tables");
        } else
            rc = store_commit(r->o->store, r->why);
    }
    if (rc) {
        table_record_drop(&to, r->o->lake);
        drop_outputs(r);
        return rc;
    }
    FAULT_POINT("refine-committed");
    rc = table_record_publish(&to, r->o->lake, r->why);
    for (size_t i = 0; i <= type_count(r); i++) {
        if (r->output[i].open && !rc) {
            r->sums->files += r->output[i].file.at.rows > 0;
            rc = table_file_publish(&r->output[i].file, r->o->lake, r->why);
            FAULT_POINT("refine-published-one");
        }
        r->output[i].open = false;
    }
    return rc;
}

/* ---- one document's items */

static const struct cell *find_item(void *ctx, const char *dataset) {
    return item_keep_find(&((struct refining *)ctx)->keep, dataset);
}

static bool needs_siblings(const struct refining *r, const struct cell *item) {
    for (size_t i = 0; i < type_count(r); i++)
        if (r->o->types->type[i].siblings && span_eq(item[ITEMS_COLLECTOR_NAME].text, r->o->types->type[i].collector))
            return true;
    return false;
}

static int apply(struct refining *r, const struct cell *item, bool *typed, bool *rejected) {
    const struct types_type *t = &r->o->types->type[r->type];
    const struct types_document doc = {find_item, site_same_text, r};
    const struct types_sink sink = {take_row, take_reject, r};
    int64_t rows = 0, refused = 0;
    r->writes = r->at->rows && r->at->rows[r->type] >= 0;
    int rc = types_rows(r->types, t, item, &doc, &sink, &rows, &refused);
    *typed = *typed || rows > 0;
    *rejected = *rejected || refused > 0;
    r->sums->type[r->type].rows += rows;
    r->sums->type[r->type].rejected += refused;
    return rc;
}

static int look_at(struct refining *r, const struct cell *item) {
    bool typed = false, rejected = false;
    int rc = TL_OK;
    for (r->type = 0; !rc && r->type < type_count(r); r->type++)
        if (types_takes(&r->o->types->type[r->type], item))
            rc = apply(r, item, &typed, &rejected);
    r->sums->items++;
    r->sums->typed += typed;
    r->sums->rejected += !typed && rejected;
    r->sums->skipped += !typed && !rejected;
    return rc;
}

static int end_document(struct refining *r) {
    int rc = TL_OK;
    for (const struct kept *k = r->keep.first; k && !rc; k = k->next)
        rc = look_at(r, k->cells);
    item_keep_empty(&r->keep);
    r->at = NULL;
    return rc;
}

/* Which types write rows of it: those that take documents of this collector and have not looked at it. */
static int begin_document(struct refining *r, struct wanted *w, const struct cell *item) {
    size_t n = type_count(r);
    r->at = w;
    r->sums->documents++;
    w->rows = mem_alloc(2 * (n + 1) * sizeof *w->rows);
    w->rejected = w->rows + n + 1;
    for (size_t i = 0; i < n; i++) {
        bool done = true;
        if (span_eq(item[ITEMS_COLLECTOR_NAME].text, r->o->types->type[i].collector)) {
            int rc = store_refined(r->o->store, w->run, r->output[i].key, &done, r->why);
            if (rc)
                return rc;
        }
        w->rows[i] = done ? -1 : 0;
    }
    return TL_OK;
}

static int by_result(const void *key, const void *element) {
    return memcmp(key, &((const struct wanted *)element)->result, sizeof(struct uuid));
}

static int each_item(struct refining *r, const struct cell *item, size_t first, size_t count) {
    struct uuid id;
    if (item[ITEMS_RESULT_ID].null || item[ITEMS_COLLECTOR_NAME].null || uuid_parse(item[ITEMS_RESULT_ID].text, &id))
        return fail_exit(r->why, TL_INVALID, EXIT_DAMAGED, "an item has no result_id: it was not refined");
    int rc = TL_OK;
    if (r->at && memcmp(&r->at->result, &id, sizeof id) != 0)
        rc = end_document(r);
    if (!rc && !r->at) {
        struct wanted *w = bsearch(&id, r->want + first, count, sizeof *r->want, by_result);
        if (!w)
            return TL_OK;
        rc = begin_document(r, w, item);
    }
    if (rc)
        return rc;
    /* of a document that is too large the rest is not kept: what others are made of comes first */
    return needs_siblings(r, item) && item_keep_add(&r->keep, item) ? TL_OK : look_at(r, item);
}

static int refine_file(struct refining *r, size_t first, size_t count) {
    struct store_table file;
    struct avro_reader *reader;
    struct cell cells[ITEMS_COLUMNS];
    AUTO_CLOSE int fd = -1;
    int rc = store_table_get(r->o->store, r->want[first].file, &file, r->why);
    AUTO_FREE char *path = rc ? NULL : mem_text(file.path);
    int64_t rows = 0, said = rc ? 0 : file.rows;
    if (!rc)
        rc = lake_open_file(r->o->lake, path, &fd, r->why);
    if (!rc)
        rc = avro_open(fd, path, &items_table, &reader, r->why);
    if (rc)
        return rc;
    while ((rc = avro_next(reader, cells, r->why)) > 0 && (rc = each_item(r, cells, first, count)) == TL_OK)
        rows++;
    avro_end(reader);
    if (!rc)
        rc = table_file_whole(path, rows, said, r->why);
    return rc ? rc : end_document(r);
}

static int refine_day(struct refining *r, size_t first, size_t *end) {
    size_t i = first;
    int rc = TL_OK;
    r->day_us = r->want[first].day_us;
    while (!rc && i < r->count && r->want[i].day_us == r->day_us) {
        size_t n = 1;
        while (i + n < r->count && r->want[i + n].day_us == r->day_us && r->want[i + n].file == r->want[i].file)
            n++;
        rc = refine_file(r, i, n);
        i += n;
        if (r->o->progress)
            r->o->progress(r->o->ctx, r->sums);
    }
    *end = i;
    if (!rc)
        rc = close_day(r, first, i);
    else
        drop_outputs(r);
    for (size_t n = first; n < i; n++) {
        free(r->want[n].rows);
        r->want[n].rows = NULL;
    }
    return rc;
}

/* ---- the whole */

/* Types that are used for the first time are remembered, with a record of their own. */
static int new_types(struct refining *r, struct table_record *to) {
    struct store *s = r->o->store;
    int64_t now_us = time_now_us();
    int rc = TL_OK;
    for (size_t i = 0; !rc && i < type_count(r); i++) {
        const struct types_type *t = &r->o->types->type[i];
        rc = store_type(s, t->name, t->version, t->sha256, t->columns_json, 0, &r->output[i].key, r->why);
        if (rc != TL_NOTFOUND)
            continue;
        rc = to->open ? TL_OK : table_record_open(r->o->lake, "refine", now_us, to, r->why);
        if (!rc)
            rc = store_type(s, t->name, t->version, t->sha256, t->columns_json, now_us, &r->output[i].key, r->why);
        if (!rc)
            table_record_type(to, t->name, t->version, t->sha256, t->columns_json, now_us);
    }
    if (!rc && to->open)
        rc = table_record_close(to, r->o->lake, r->why);
    return rc || !to->open ? rc : store_table_put(s, &to->file.at, r->why);
}

static int know_types(struct refining *r) {
    struct table_record to = TABLE_RECORD_INIT;
    int rc = store_begin(r->o->store, r->why);
    if (rc)
        return rc;
    rc = new_types(r, &to);
    if (rc)
        store_rollback(r->o->store);
    else
        rc = store_commit(r->o->store, r->why);
    if (rc || !to.open) {
        table_record_drop(&to, r->o->lake);
        return rc;
    }
    FAULT_POINT("refine-types-committed");
    return table_record_publish(&to, r->o->lake, r->why);
}

int refine_items(const struct refine_options *o, struct refine_sums *sums, struct fail *why) {
    struct fail reason = FAIL_INIT;
    struct refining r = {.o = o, .sums = sums, .why = &reason, .types = types_new()};
    struct refine_type_sums *type = sums->type;
    AUTO_CLOSE int lock = -1;
    *sums = (struct refine_sums){.type = type};
    memset(type, 0, o->types->count * sizeof *type);
    r.output = mem_alloc((o->types->count + 1) * sizeof *r.output);
    int rc = lock_tables(o->config->catalog, &lock, &reason);
    if (!rc)
        rc = know_types(&r);
    if (!rc)
        rc = gather_documents(&r);
    for (size_t i = 0; !rc && i < r.count;)
        rc = refine_day(&r, i, &i);
    if (!rc && sums->files && delta_update(o->store, o->lake, &reason) < 0)
        rc = reason.status;
    for (size_t i = 0; i < r.count; i++)
        free(r.want[i].rows);
    free(r.want);
    free(r.output);
    item_keep_empty(&r.keep);
    types_free(r.types);
    if (rc && why)
        *why = reason;
    return rc;
}
