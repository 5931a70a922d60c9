/* compact.c - see compact.h. */
#include "engine/compact.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/mem.h"
#include "convert/items.h"
#include "engine/delta.h"
#include "engine/lock.h"
#include "engine/table_record.h"

#define HOUR_US ((int64_t)3600 * 1000000)
enum { FILE_BYTES = 512 << 20, FILES_MAX = 10000, FORMATS = 2 }; /* FILES_MAX: their ids stand in the new file */
static const char *const format_name[FORMATS] = {"parquet", "avro"};

struct small { /* a file that is there */
    int64_t key, hour_us, bytes, rows;
    struct uuid id;
    char *name, *path, *version;
};
struct list {
    struct small *file;
    size_t count, room;
};
struct compacting {
    const struct compact_options *o;
    struct compact_sums *sums;
    struct fail *why;
    struct list list[FORMATS];
    struct fail damaged;
};

static int add_file(void *ctx, const struct store_table *f) {
    struct list *l = ctx;
    MEM_GROW(l->file, l->count, l->room);
    l->file[l->count++] = (struct small){.key = f->key,
                                         .hour_us = f->hour_us,
                                         .bytes = f->bytes,
                                         .rows = f->rows,
                                         .id = f->id,
                                         .name = mem_text(f->name),
                                         .path = mem_text(f->path),
                                         .version = mem_text(f->version)};
    return 0;
}

static void list_free(struct list *l) {
    for (size_t i = 0; i < l->count; i++) {
        free(l->file[i].name);
        free(l->file[i].path);
        free(l->file[i].version);
    }
    free(l->file);
}

/* ---- removing */

static int remove_files(struct store *s, struct lake *l, const struct list *list, struct fail *why) {
    int rc = TL_OK;
    for (size_t i = 0; !rc && i < list->count; i++)
        rc = lake_withdraw(l, list->file[i].path, why);
    FAULT_POINT("compact-removed");
    if (rc || !list->count || (rc = store_begin(s, why)))
        return rc;
    for (size_t i = 0; !rc && i < list->count; i++)
        rc = store_table_forget(s, list->file[i].key);
    if (!rc)
        return store_commit(s, why);
    store_rollback(s);
    return rc;
}

int compact_sweep(struct store *s, struct lake *l, struct fail *why) {
    static const enum store_table_kind kind[] = {STORE_ITEMS, STORE_TYPED, STORE_REJECTS};
    struct list list = {0};
    int rc = TL_OK;
    for (size_t i = 0; i < COUNT_OF(kind); i++)
        for (int f = 0; !rc && f < FORMATS; f++)
            rc = store_table_each(s, kind[i], format_name[f], true, add_file, &list, why);
    if (!rc)
        rc = remove_files(s, l, &list, why);
    list_free(&list);
    return rc;
}

/* ---- joining */

struct joined {
    struct table_file file[FORMATS];
    size_t first, count; /* of the Avro files whose rows it has */
    struct table_record record;
};

static int copy_rows(struct compacting *c, const struct small *from, struct joined *to) {
    struct avro_reader *reader;
    struct cell cells[ITEMS_COLUMNS];
    AUTO_CLOSE int fd = -1;
    int64_t rows = 0;
    int rc = lake_open_file(c->o->lake, from->path, &fd, c->why);
    if (!rc)
        rc = avro_open(fd, from->path, &items_table, &reader, c->why);
    if (rc)
        return rc;
    while ((rc = avro_next(reader, cells, c->why)) > 0) {
        rows++;
        for (int f = 0; rc >= 0 && f < FORMATS; f++)
            rc = table_file_row(&to->file[f], cells, c->why);
        if (rc < 0)
            break;
    }
    avro_end(reader);
    return rc ? rc : table_file_whole(from->path, rows, from->rows, c->why);
}

static void list_ids(const struct list *l, size_t first, size_t count, struct buf *out) {
    char id[UUID_TEXT];
    for (size_t i = first; i < first + count; i++)
        buf_printf(out, "%s%s", i > first ? " " : "", uuid_text(&l->file[i].id, id));
}

static int open_joined(struct compacting *c, struct joined *j) {
    const struct small *first = &c->list[1].file[j->first];
    const struct table_place place = {.id = uuid_new(),
                                      .kind = STORE_ITEMS,
                                      .name = first->name,
                                      .version = first->version,
                                      .environment = c->o->config->environment,
                                      .hour_us = first->hour_us};
    AUTO_BUF struct buf replaces = BUF_INIT;
    list_ids(&c->list[1], j->first, j->count, &replaces);
    for (int f = 0; f < FORMATS; f++) {
        int rc = table_file_open(c->o->lake, &c->o->config->convert, &items_table, &place, f == 1, replaces.data,
                                 &j->file[f], c->why);
        if (rc && f)
            table_file_drop(&j->file[0], c->o->lake);
        if (rc)
            return rc;
    }
    return TL_OK;
}

/* What is to be committed, for a catalog that is made anew. */
static int stage_record(struct compacting *c, struct joined *j) {
    struct table_record *r = &j->record;
    int rc = table_record_open(c->o->lake, "compact", j->file[0].at.written_us, r, c->why);
    for (int f = 0; !rc && f < FORMATS; f++)
        table_record_file(r, &j->file[f].at);
    for (size_t i = 0; !rc && i < j->count; i++)
        table_record_replaced(r, &c->list[1].file[j->first + i].id, &j->file[0].at.id);
    return rc ? rc : table_record_close(r, c->o->lake, c->why);
}

static int commit(struct compacting *c, struct joined *j) {
    struct store *s = c->o->store;
    AUTO_FREE int64_t *old = mem_alloc(2 * j->count * sizeof *old);
    for (size_t i = 0; i < j->count; i++) {
        old[i] = c->list[0].file[j->first + i].key;
        old[j->count + i] = c->list[1].file[j->first + i].key;
    }
    int rc = store_begin(s, c->why);
    if (rc)
        return rc;
    rc = store_table_put(s, &j->record.file.at, c->why);
    for (int f = 0; !rc && f < FORMATS; f++)
        rc = store_table_put(s, &j->file[f].at, c->why);
    if (!rc)
        rc = store_table_replace(s, old, old + j->count, j->count, j->file[0].at.key, j->file[1].at.key,
                                 j->file[0].at.written_us);
    if (!rc)
        return store_commit(s, c->why);
    store_rollback(s);
    return c->why->status ? rc : fail_set(c->why, rc, "the catalog did not take the joined files");
}

static int join(struct compacting *c, size_t first, size_t count) {
    struct joined j = {.first = first, .count = count, .record = TABLE_RECORD_INIT};
    int rc = open_joined(c, &j);
    if (rc)
        return rc;
    for (size_t i = first; !rc && i < first + count; i++)
        rc = copy_rows(c, &c->list[1].file[i], &j);
    for (int f = 0; !rc && f < FORMATS; f++)
        rc = table_file_close(&j.file[f], c->o->lake, c->why);
    FAULT_POINT("compact-staged");
    if (!rc)
        rc = stage_record(c, &j);
    if (!rc)
        rc = commit(c, &j);
    if (rc) {
        table_record_drop(&j.record, c->o->lake);
        for (int f = 0; f < FORMATS; f++)
            table_file_drop(&j.file[f], c->o->lake);
        return rc;
    }
    FAULT_POINT("compact-committed");
    c->sums->hours++;
    c->sums->before += (int64_t)count * FORMATS;
    c->sums->after += FORMATS;
    c->sums->rows += j.file[0].at.rows;
    c->sums->bytes += j.file[0].at.bytes + j.file[1].at.bytes;
    rc = table_record_publish(&j.record, c->o->lake, c->why);
    for (int f = 0; !rc && f < FORMATS; f++)
        rc = table_file_publish(&j.file[f], c->o->lake, c->why);
    FAULT_POINT("compact-published");
    return rc;
}

static int in_order(const void *left, const void *right) {
    const struct small *a = left, *b = right;
    if (a->hour_us != b->hour_us)
        return a->hour_us < b->hour_us ? -1 : 1;
    int order = strcmp(a->name, b->name);
    if (!order)
        order = strcmp(a->version, b->version);
    return order ? order : memcmp(&a->id, &b->id, sizeof a->id);
}

/* Both lists in the same order: the Parquet and the Avro file of a pair have one id. */
static bool pairs(struct list *parquet, struct list *avro) {
    bool same = parquet->count == avro->count;
    struct list *const list[FORMATS] = {parquet, avro};
    for (int f = 0; f < FORMATS; f++)
        if (list[f]->count)
            qsort(list[f]->file, list[f]->count, sizeof *list[f]->file, in_order);
    for (size_t i = 0; same && i < avro->count; i++)
        same = in_order(&parquet->file[i], &avro->file[i]) == 0 && parquet->file[i].rows == avro->file[i].rows;
    return same;
}

static bool together(const struct small *a, const struct small *b) {
    return a->hour_us == b->hour_us && strcmp(a->name, b->name) == 0 && strcmp(a->version, b->version) == 0;
}

static int join_all(struct compacting *c) {
    const struct list *avro = &c->list[1];
    int rc = TL_OK;
    for (size_t i = 0; !rc && i < avro->count;) {
        int64_t bytes = 0;
        size_t n = 0;
        while (i + n < avro->count && together(&avro->file[i], &avro->file[i + n]) && n < FILES_MAX &&
               (n < 2 || bytes < FILE_BYTES))
            bytes += avro->file[i + n++].bytes;
        if (n > 1 && avro->file[i].hour_us + HOUR_US <= c->o->now_us)
            rc = join(c, i, n);
        if (rc && c->why->exit_code == EXIT_DAMAGED) { /* that hour stays as it is, the others are none the worse */
            c->damaged = *c->why;
            *c->why = (struct fail)FAIL_INIT;
            rc = TL_OK;
        }
        if (!rc && c->o->progress)
            c->o->progress(c->o->ctx, c->sums);
        i += n;
    }
    return rc;
}

int compact_items(const struct compact_options *o, struct compact_sums *sums, struct fail *why) {
    struct fail reason = FAIL_INIT;
    struct compacting c = {.o = o, .sums = sums, .why = &reason};
    AUTO_CLOSE int lock = -1;
    *sums = (struct compact_sums){0};
    int rc = lock_tables(o->config->catalog, &lock, &reason);
    for (int f = 0; !rc && f < FORMATS; f++)
        rc = store_table_each(o->store, STORE_ITEMS, format_name[f], false, add_file, &c.list[f], &reason);
    if (!rc && !pairs(&c.list[0], &c.list[1]))
        rc = fail_exit(&reason, TL_INVALID, EXIT_DAMAGED,
                       "the catalog's Parquet and Avro files are no pairs: nothing was joined");
    if (!rc)
        rc = join_all(&c);
    if (!rc) /* before anything is removed, so that a Delta log names no file that is gone */
        rc = delta_update(o->store, o->lake, &reason);
    FAULT_POINT("compact-logged");
    if (!rc)
        rc = compact_sweep(o->store, o->lake, &reason);
    if (rc > 0)
        rc = TL_OK; /* a log is not up to date: who removes the old files is the next writer */
    for (int f = 0; f < FORMATS; f++)
        list_free(&c.list[f]);
    if (!rc && c.damaged.status) {
        reason = c.damaged;
        rc = reason.status;
    }
    if (rc && why)
        *why = reason;
    return rc;
}
