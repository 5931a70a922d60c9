/* table_file.h - one file of a table on its way into the lake: staged, filled row by row, made durable, known to the
 * catalog, published.
 *
 * The same order as for documents, so the same holds: a file without a row in the catalog was never finished and is
 * removed from staging by the next start; one with a row that is still in staging is moved to its place. */
#ifndef TROTLINE_ENGINE_TABLE_FILE_H
#define TROTLINE_ENGINE_TABLE_FILE_H
#include "convert/avro.h"
#include "convert/parquet.h"
#include "engine/config.h"
#include "lake/lake.h"
#include "store/tables.h"

struct table_place { /* where a file belongs */
    struct uuid id;  /* in its name; the same for both files of a pair */
    enum store_table_kind kind;
    const char *name;        /* collector's (items), type's (typed) */
    const char *version;     /* of the columns or the type */
    const char *environment; /* items */
    int64_t hour_us;         /* start of the hour or day */
};
struct table_file {
    struct store_table at; /* rows, bytes, sha256 and key are filled in on the way */
    struct buf path, staged;
    char *name, *version;
    int fd; /* -1: not open */
    struct parquet *parquet;
    struct avro_writer *avro;
};
#define TABLE_FILE_INIT                                                                                                \
    { .fd = -1 }

/* Without a table (records): only staged, the caller writes into fd and counts at.rows. avro: else Parquet. replaces:
 * ids of the files that this one takes the place of, space separated, or NULL. */
int table_file_open(struct lake *l, const struct config_convert *how, const struct table *table,
                    const struct table_place *place, bool avro, const char *replaces, struct table_file *f,
                    struct fail *why);
int table_file_row(struct table_file *f, const struct cell *cells, struct fail *why);
uint64_t table_file_size(const struct table_file *f); /* bytes written so far, about */
/* Whole and durable in staging. Without rows it is removed, and at.rows is 0. */
int table_file_close(struct table_file *f, struct lake *l, struct fail *why);
/* After the commit of store_table_put(&f->at). */
int table_file_publish(struct table_file *f, struct lake *l, struct fail *why);
void table_file_drop(struct table_file *f, struct lake *l); /* away with it, or with what is left of it */

/* Of a file that was read to its end: a whole Avro file may be cut between two blocks. EXIT_DAMAGED unless it had as
 * many rows as the catalog says. */
int table_file_whole(const char *path, int64_t rows, int64_t said, struct fail *why);

/* Makes the names of a codec for paths: zstd, snappy, none, deflate, zstandard, null. */
const char *table_file_codec(const struct config_convert *how, bool avro);
#endif
