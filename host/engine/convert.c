/* convert.c - see convert.h. */
#include "engine/convert.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/mem.h"
#include "base/times.h"
#include "convert/items.h"
#include "engine/convert_own.h"
#include "engine/delta.h"
#include "engine/lock.h"
#include "engine/table_record.h"

#define HOUR_US ((int64_t)3600 * 1000000)
enum { FILE_BYTES = 256 << 20, FILE_DOCUMENTS = 200000, KEEP_BYTES = 4 << 20, NAME_MAX_ = 64 };

struct due { /* a document to be converted */
    int64_t run, hour_us;
    size_t collector; /* index into names */
    bool bad;         /* it was tried */
};
struct done { /* one whose rows are in the open pair */
    int64_t run, root, items;
    struct uuid run_id, result_id;
};
struct converting {
    const struct convert_options *o;
    struct convert_sums *sums;
    struct fail *why;
    struct due *due;
    size_t due_count, due_room;
    char **name;
    size_t name_count, name_room;
    struct items *items;
    struct convert_own *own; /* the process of a collector that converts itself, or NULL */
    size_t own_for;
    struct buf file;
    int64_t now_us;
    struct table_file pair[2]; /* Parquet, Avro */
    bool open;
    struct done *done;
    size_t done_count, done_room;
    int64_t rows; /* of the document at hand */
    bool touched; /* some of it may be in the pair */
    const struct due *at;
};

/* ---- what is due */

static size_t name_index(struct converting *c, const char *name) {
    for (size_t i = c->name_count; i > 0; i--)
        if (strcmp(c->name[i - 1], name) == 0)
            return i - 1;
    MEM_GROW(c->name, c->name_count, c->name_room);
    c->name[c->name_count] = mem_text(name);
    return c->name_count++;
}

static int add_due(void *ctx, const struct store_source *d) {
    struct converting *c = ctx;
    MEM_GROW(c->due, c->due_count, c->due_room);
    c->due[c->due_count++] = (struct due){.run = d->run,
                                          .hour_us = d->collected_us - d->collected_us % HOUR_US,
                                          .collector = name_index(c, d->collector)};
    return 0;
}

static int in_order(const void *left, const void *right) {
    const struct due *a = left, *b = right;
    if (a->collector != b->collector)
        return a->collector < b->collector ? -1 : 1;
    if (a->hour_us != b->hour_us)
        return a->hour_us < b->hour_us ? -1 : 1;
    return (a->run > b->run) - (a->run < b->run);
}

/* ---- the open pair */

static int open_pair(struct converting *c) {
    const struct table_place place = {.id = uuid_new(),
                                      .kind = STORE_ITEMS,
                                      .name = c->name[c->at->collector],
                                      .version = ITEMS_SCHEMA_VERSION,
                                      .environment = c->o->config->environment,
                                      .hour_us = c->at->hour_us};
    for (int i = 0; i < 2; i++) {
        int rc = table_file_open(c->o->lake, &c->o->config->convert, &items_table, &place, i == 1, NULL, &c->pair[i],
                                 c->why);
        if (rc && i)
            table_file_drop(&c->pair[0], c->o->lake);
        if (rc)
            return rc;
    }
    c->open = true;
    return TL_OK;
}

static void drop_pair(struct converting *c) {
    for (int i = 0; c->open && i < 2; i++)
        table_file_drop(&c->pair[i], c->o->lake);
    c->open = false;
    c->done_count = 0;
}

static int add_row(void *ctx, const struct cell *cells) {
    struct converting *c = ctx;
    int rc = c->open ? TL_OK : open_pair(c);
    c->touched = true;
    for (int i = 0; !rc && i < 2; i++)
        rc = table_file_row(&c->pair[i], cells, c->why);
    c->rows += rc == TL_OK;
    return rc;
}

/* What is to be committed, for a catalog that is made anew. */
static int stage_record(struct converting *c, struct table_record *r) {
    int rc = table_record_open(c->o->lake, "convert", c->now_us, r, c->why);
    for (int i = 0; c->open && !rc && i < 2; i++)
        table_record_file(r, &c->pair[i].at);
    for (size_t n = 0; !rc && n < c->done_count; n++) {
        const struct done *d = &c->done[n];
        table_record_converted(r, &d->run_id, &d->result_id, d->items, d->items ? &c->pair[0].at.id : NULL);
    }
    return rc ? rc : table_record_close(r, c->o->lake, c->why);
}

static int record_files(struct converting *c, struct table_record *r) {
    struct store *s = c->o->store;
    int rc = store_table_put(s, &r->file.at, c->why);
    for (int i = 0; c->open && !rc && i < 2; i++)
        rc = store_table_put(s, &c->pair[i].at, c->why);
    for (size_t n = 0; !rc && n < c->done_count; n++) {
        const struct done *d = &c->done[n];
        bool rows = d->items > 0;
        for (int i = 0; rows && !rc && i < 2; i++)
            if (n == 0 || !c->done[n - 1].items || c->done[n - 1].root != d->root)
                rc = store_table_source(s, d->root, c->pair[i].at.key);
        if (!rc)
            rc = store_converted_put(s, d->run, rows ? c->pair[0].at.key : 0, rows ? c->pair[1].at.key : 0, d->items,
                                     c->now_us);
    }
    return rc;
}

static int by_root(const void *left, const void *right) {
    const struct done *a = left, *b = right;
    /* those without rows first, so that a root's first row leads to a source */
    if ((a->items > 0) != (b->items > 0))
        return a->items > 0 ? 1 : -1;
    return a->root != b->root ? (a->root < b->root ? -1 : 1) : (a->run > b->run) - (a->run < b->run);
}

static int commit(struct converting *c, struct table_record *r) {
    struct store *s = c->o->store;
    int rc = store_begin(s, c->why);
    if (rc)
        return rc;
    rc = record_files(c, r);
    if (rc) {
        store_rollback(s);
        if (!c->why->status)
            fail_set(c->why, rc, "the catalog did not take the item files");
        return rc;
    }
    return store_commit(s, c->why);
}

/* Everything converted since the last time is in the lake and the catalog says so; or nothing of it. */
static int close_pair(struct converting *c) {
    struct table_record record = TABLE_RECORD_INIT;
    int rc = TL_OK;
    if (!c->done_count)
        return TL_OK;
    qsort(c->done, c->done_count, sizeof *c->done, by_root);
    for (int i = 0; c->open && !rc && i < 2; i++)
        rc = table_file_close(&c->pair[i], c->o->lake, c->why);
    FAULT_POINT("convert-staged");
    if (!rc)
        rc = stage_record(c, &record);
    if (!rc)
        rc = commit(c, &record);
    if (rc) {
        table_record_drop(&record, c->o->lake);
        drop_pair(c);
        return rc;
    }
    FAULT_POINT("convert-committed");
    for (size_t n = 0; n < c->done_count; n++)
        c->sums->items += c->done[n].items;
    c->sums->documents += (int64_t)c->done_count;
    rc = table_record_publish(&record, c->o->lake, c->why);
    for (int i = 0; c->open && !rc && i < 2; i++) {
        c->sums->files++;
        c->sums->bytes += c->pair[i].at.bytes;
        rc = table_file_publish(&c->pair[i], c->o->lake, c->why);
        FAULT_POINT("convert-published-one");
    }
    c->open = false;
    c->done_count = 0;
    if (c->o->progress)
        c->o->progress(c->o->ctx, c->sums);
    return rc;
}

/* ---- one document */

static int read_attachment(void *ctx, const char *path, struct buf *out, struct fail *why) {
    struct converting *c = ctx;
    return lake_read(c->o->lake, path, out, why);
}

static int rows_of(struct converting *c, const struct items_document *doc, struct fail *why) {
    const struct plugin *p = plugin_find(c->o->plugins, c->name[c->at->collector]);
    int rc = items_open(c->items, doc, why);
    if (rc)
        return rc;
    if (!p || !p->can_convert)
        return items_each(c->items, add_row, c, why);
    if (c->own && c->own_for != c->at->collector) {
        convert_own_stop(c->own);
        c->own = NULL;
    }
    const struct config_collector *own = config_collector(c->o->config, p->name);
    const struct convert_own_options options = {.file = p->file,
                                                .options = own ? own->options : (struct tl_span){"", 0},
                                                .memory = c->o->config->workers.memory,
                                                .deadline_us = c->o->config->workers.run_us};
    if (!c->own && (rc = convert_own_start(&options, &c->own, why)))
        return rc;
    c->own_for = c->at->collector;
    rc = convert_own_rows(c->own, c->items, doc, add_row, c, why);
    if (rc) { /* it may have died: the next document gets another */
        convert_own_stop(c->own);
        c->own = NULL;
    }
    return rc;
}

static int convert_one(struct converting *c, struct buf *path, struct fail *why) {
    struct store_source d;
    char id[UUID_TEXT], hex[SHA256_HEX];
    int rc = store_source_get(c->o->store, c->at->run, &d, why);
    if (rc)
        return rc;
    buf_printf(path, "%s/%s.json", d.folder, uuid_text(&d.result_id, id));
    buf_shrink(&c->file, KEEP_BYTES);
    rc = lake_read(c->o->lake, path->data, &c->file, why);
    c->touched = false;
    if (rc)
        return rc;
    struct sha256 sum = hash_sha256(buf_span(&c->file).ptr, c->file.len);
    if (memcmp(&sum, &d.sha256, sizeof sum) != 0)
        return fail_exit(why, TL_INVALID, EXIT_DAMAGED,
                         "its SHA-256 is not what the catalog says: it is damaged (trotline verify tells more)");
    const struct items_document doc = {.file = buf_span(&c->file),
                                       .path = path->data,
                                       .sha256 = hash_hex(sum.byte, SHA256_BYTES, hex),
                                       .converted_us = c->now_us > d.collected_us ? c->now_us : d.collected_us,
                                       .attachment = read_attachment,
                                       .ctx = c};
    c->rows = 0;
    rc = rows_of(c, &doc, why);
    if (rc)
        return rc;
    MEM_GROW(c->done, c->done_count, c->done_room);
    c->done[c->done_count++] = (struct done){c->at->run, d.root, c->rows, d.run_id, d.result_id};
    return TL_OK;
}

/* A fault of the disk or the catalog ends the conversion; one of a document or its collector, a cell that is too large
 * for a row among them, only leaves it out. */
static bool is_fatal(struct converting *c, struct fail *why) {
    if (!c->why->status)
        return why->exit_code == EXIT_DISK;
    bool fatal = c->why->status != TL_INVALID;
    *why = *c->why;
    if (!fatal)
        *c->why = (struct fail)FAIL_INIT;
    return fatal;
}

/* Documents from `first` that belong into one pair; stops early when the pair is large enough. Returns in *next where
 * to go on. A document that fails in the middle of its rows takes the pair with it: it is begun anew without it. */
static int convert_group(struct converting *c, size_t first, size_t *next) {
    size_t i = first;
    while (i < c->due_count && c->due[i].collector == c->due[first].collector &&
           c->due[i].hour_us == c->due[first].hour_us && c->done_count < FILE_DOCUMENTS &&
           (!c->open || table_file_size(&c->pair[0]) < FILE_BYTES)) {
        AUTO_BUF struct buf path = BUF_INIT;
        struct fail reason = FAIL_INIT;
        c->at = &c->due[i];
        int rc = c->due[i].bad ? TL_OK : convert_one(c, &path, &reason);
        if (rc && is_fatal(c, &reason)) {
            if (!c->why->status)
                *c->why = reason;
            return rc;
        }
        if (rc) {
            c->due[i].bad = true;
            c->sums->failed++;
            c->o->problem(c->o->ctx, path.data ? path.data : "a document", reason.text);
            if (c->touched) {
                drop_pair(c);
                i = first;
                continue;
            }
        }
        i++;
    }
    *next = i;
    return close_pair(c);
}

int convert_documents(const struct convert_options *o, struct convert_sums *sums, struct fail *why) {
    struct fail reason = FAIL_INIT;
    struct store_selection which = o->which;
    struct converting c = {.o = o, .sums = sums, .why = &reason, .items = items_new()};
    AUTO_CLOSE int lock = -1;
    *sums = (struct convert_sums){0};
    which.unconverted = true;
    int rc = lock_tables(o->config->catalog, &lock, &reason);
    if (!rc)
        rc = store_sources(o->store, &which, add_due, &c, &reason);
    if (c.due_count)
        qsort(c.due, c.due_count, sizeof *c.due, in_order);
    sums->of = (int64_t)c.due_count;
    c.now_us = time_now_us();
    for (size_t i = 0; !rc && i < c.due_count;)
        rc = convert_group(&c, i, &i);
    drop_pair(&c);
    if (!rc && sums->files && delta_update(o->store, o->lake, &reason) < 0)
        rc = reason.status;
    convert_own_stop(c.own);
    items_free(c.items);
    buf_free(&c.file);
    for (size_t i = 0; i < c.name_count; i++)
        free(c.name[i]);
    free(c.name);
    free(c.due);
    free(c.done);
    if (rc && why)
        *why = reason;
    return rc;
}
