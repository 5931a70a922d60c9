/* table_file.c - see table_file.h. */
#include "engine/table_file.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/times.h"
#include "engine/version.h"

enum { ITEMS_MEMORY = 24 << 20, TYPED_MEMORY = 8 << 20 };

const char *table_file_codec(const struct config_convert *how, bool avro) {
    static const char *const of_parquet[] = {"zstd", "snappy", "none"}, *const of_avro[] = {"deflate", "snappy",
                                                                                            "zstandard", "null"};
    return avro ? of_avro[how->avro] : of_parquet[how->parquet];
}

/* ---- paths */

static void put_day(struct buf *out, const struct civil *c) {
    buf_printf(out, "/p_year=%04d/p_month=%02d/p_day=%02d/", c->year, c->month, c->day);
}

static void put_path(struct table_file *f, const struct config_convert *how, const struct table_place *place,
                     bool avro) {
    struct civil c = time_civil(place->hour_us);
    char id[UUID_TEXT];
    uuid_text(&f->at.id, id);
    switch (place->kind) {
    case STORE_ITEMS:
        buf_printf(&f->path,
                   LAKE_ITEMS "/%s/compression=%s/dataset_items/p_schema_version=%s/p_environment=", f->at.format,
                   table_file_codec(how, avro), place->version);
        lake_value(&f->path, span_of(place->environment));
        buf_lit(&f->path, "/p_producer_name=");
        lake_value(&f->path, span_of(place->name));
        put_day(&f->path, &c);
        buf_printf(&f->path, "p_hour=%02d/collector_", c.hour);
        lake_value(&f->path, span_of(place->environment));
        buf_printf(&f->path, "_dataset_items_%s.%s", id, f->at.format);
        break;
    case STORE_TYPED:
        buf_printf(&f->path, LAKE_TYPED "/type=%s/p_type_version=", place->name);
        lake_value(&f->path, span_of(place->version));
        put_day(&f->path, &c);
        buf_printf(&f->path, "%s_%s.%s", place->name, id, f->at.format);
        break;
    case STORE_REJECTS:
        buf_lit(&f->path, LAKE_REJECTS);
        put_day(&f->path, &c);
        buf_printf(&f->path, "rejects_%s.%s", id, f->at.format);
        break;
    case STORE_RECORDS:
        lake_tables_file(&f->path, &f->at.id);
    }
}

/* ---- writing */

static int open_writer(struct table_file *f, const struct config_convert *how, const struct table *table, bool avro,
                       const char *replaces, struct fail *why) {
    const char *const key[] = {"trotline.version", "trotline.table", "trotline.table_version", "trotline.replaces"};
    const char *const value[] = {TROTLINE_VERSION, f->at.kind == STORE_ITEMS ? table->name : f->at.name, f->version,
                                 replaces};
    struct parquet_pair parquet[COUNT_OF(key)];
    struct avro_pair pair[COUNT_OF(key)];
    size_t n = 0;
    for (size_t i = 0; i < COUNT_OF(key); i++)
        if (value[i]) {
            parquet[n] = (struct parquet_pair){key[i], value[i]};
            pair[n++] = (struct avro_pair){key[i], value[i]};
        }
    if (avro) {
        const struct avro_options options = {.name = f->path.data,
                                             .codec = (enum avro_codec)how->avro,
                                             .level = (int)how->avro_level,
                                             .pairs = pair,
                                             .pair_count = n};
        return avro_create(f->fd, table, &options, &f->avro, why);
    }
    const struct parquet_options options = {.codec = (enum parquet_codec)how->parquet,
                                            .level = (int)how->parquet_level,
                                            .threads = (unsigned)how->threads,
                                            .memory = f->at.kind == STORE_ITEMS ? ITEMS_MEMORY : TYPED_MEMORY,
                                            .pairs = parquet,
                                            .pair_count = n};
    return parquet_open(f->fd, table, &options, why, &f->parquet);
}

int table_file_open(struct lake *l, const struct config_convert *how, const struct table *table,
                    const struct table_place *place, bool avro, const char *replaces, struct table_file *f,
                    struct fail *why) {
    AUTO_BUF struct buf file = BUF_INIT;
    *f = (struct table_file)TABLE_FILE_INIT;
    f->name = mem_text(place->name);
    f->version = mem_text(place->version);
    f->at = (struct store_table){.id = place->id,
                                 .kind = place->kind,
                                 .format = !table ? "jsonl"
                                           : avro ? "avro"
                                                  : "parquet",
                                 .name = f->name,
                                 .version = f->version,
                                 .hour_us = place->hour_us};
    put_path(f, how, place, avro);
    f->at.path = f->path.data;
    lake_staged_name(&f->staged, f->path.data);
    buf_printf(&file, "%s/%s", lake_staging(l), f->staged.data);
    int rc = lake_create(AT_FDCWD, file.data, &f->fd, why);
    if (!rc && table)
        rc = open_writer(f, how, table, avro, replaces, why);
    if (rc)
        table_file_drop(f, l);
    return rc;
}

int table_file_row(struct table_file *f, const struct cell *cells, struct fail *why) {
    return f->parquet ? parquet_row(f->parquet, cells, why) : avro_row(f->avro, cells, why);
}

uint64_t table_file_size(const struct table_file *f) {
    return f->parquet ? parquet_size(f->parquet) : avro_size(f->avro);
}

static int finish(struct table_file *f, struct fail *why) {
    struct table_facts facts = {.rows = (uint64_t)f->at.rows};
    int rc = f->parquet ? parquet_close(f->parquet, why, &facts) : f->avro ? avro_close(f->avro, &facts, why) : TL_OK;
    f->parquet = NULL;
    f->avro = NULL;
    if (rc || !facts.rows)
        return rc;
    if (fdatasync(f->fd) < 0)
        return fail_errno(why, TL_FAILED, "cannot make durable the table file %s", f->path.data);
    f->at.rows = (int64_t)facts.rows;
    f->at.written_us = time_now_us();
    return TL_OK;
}

static void unstage(struct table_file *f, struct lake *l) {
    AUTO_BUF struct buf file = BUF_INIT;
    if (!f->staged.len)
        return;
    buf_printf(&file, "%s/%s", lake_staging(l), f->staged.data);
    unlink(file.data);
}

/* What the catalog will say of it is what stands in the file, not what was meant to. */
static int read_back(struct table_file *f, struct lake *l, struct fail *why) {
    AUTO_BUF struct buf file = BUF_INIT;
    buf_printf(&file, "%s/%s", lake_staging(l), f->staged.data);
    AUTO_CLOSE int fd = open(file.data, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && hash_file(fd, &f->at.sha256, &f->at.bytes) == TL_OK
               ? TL_OK
               : fail_errno(why, TL_FAILED, "cannot read back the table file %s", file.data);
}

int table_file_close(struct table_file *f, struct lake *l, struct fail *why) {
    int rc = finish(f, why);
    if (close(f->fd) < 0 && !rc)
        rc = fail_errno(why, TL_FAILED, "cannot write the table file %s", f->path.data);
    f->fd = -1;
    if (!rc && f->at.rows)
        rc = read_back(f, l, why);
    if (rc)
        table_file_drop(f, l);
    else if (!f->at.rows)
        unstage(f, l);
    return rc;
}

static void let_go(struct table_file *f) {
    buf_free(&f->path);
    buf_free(&f->staged);
    free(f->name);
    free(f->version);
    *f = (struct table_file)TABLE_FILE_INIT;
}

int table_file_publish(struct table_file *f, struct lake *l, struct fail *why) {
    int rc = f->at.rows ? lake_publish(l, f->staged.data, f->path.data, why) : TL_OK;
    let_go(f); /* whatever is left in staging goes to its place at the next start: the catalog knows it */
    return rc;
}

void table_file_drop(struct table_file *f, struct lake *l) {
    parquet_drop(f->parquet);
    avro_drop(f->avro);
    if (f->fd >= 0)
        close(f->fd);
    unstage(f, l);
    let_go(f);
}

int table_file_whole(const char *path, int64_t rows, int64_t said, struct fail *why) {
    return rows == said ? TL_OK
                        : fail_exit(why, TL_INVALID, EXIT_DAMAGED,
                                    "%s has %lld rows, the catalog says %lld: it is not used (trotline verify tells "
                                    "more)",
                                    path, (long long)rows, (long long)said);
}
