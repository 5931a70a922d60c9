/* avro.h - Avro object container files (specification 1.11) of rows: written row by row, and read back.
 *
 * One record a row, one field a column, each a union of null and its type: string, long, double, boolean, long with
 * timestamp-micros, array of string; null is the default. A block is compressed by itself and ends with the file's
 * random sync marker. What is written is read back cell by cell, exactly.
 *
 * The reader reads what the writer writes, also when the columns have changed since: they are found by their names.
 * It is safe on any bytes: every length is bounded before anything is allocated for it, and text is checked to be
 * UTF-8. It refuses the records of others (other types, nested records) rather than guess what their rows would be. */
#ifndef TROTLINE_CONVERT_AVRO_H
#define TROTLINE_CONVERT_AVRO_H
#include "base/fail.h"
#include "convert/row.h"

enum {
    AVRO_ROW_MAX = 256 << 20,    /* bytes of a row, and of a block when unpacked */
    AVRO_LIST_MAX = 1 << 20,     /* elements of all lists of a row */
    AVRO_HEADER_MAX = 4 << 20,   /* bytes of a file's header: schema and metadata */
    AVRO_PAIRS_MAX = 256,        /* of metadata */
    AVRO_BLOCK_BYTES = 256 << 10 /* of a block before compression, unless options say otherwise */
};

/* ---- writing ---- */

enum avro_codec { AVRO_DEFLATE, AVRO_SNAPPY, AVRO_ZSTANDARD, AVRO_NULL };

struct avro_pair { /* of the file's metadata; names that begin with "avro." are Avro's */
    const char *key, *value;
};

/* Zero is a default everywhere. */
struct avro_options {
    const char *name; /* of the file, as failures call it; NULL: "(unnamed)" */
    enum avro_codec codec;
    int level;          /* deflate: 1 to 12, zstandard: 1 to 19, 0: 3 for both; others have none */
    size_t block_bytes; /* a block ends before it holds more, but always holds a row; 0: AVRO_BLOCK_BYTES */
    const char *record, *name_space; /* of the schema; NULL: the table's name; "trotline" */
    const struct avro_pair *pairs;
    size_t pair_count;
};

struct avro_writer;

/* Writes from the descriptor's present offset, which must be the beginning of an empty file; it stays the caller's, who
 * also makes it durable. The table must live as long as the writer; options are copied. TL_INVALID: options that cannot
 * be. */
int avro_create(int fd, const struct table *table, const struct avro_options *options, struct avro_writer **out,
                struct fail *why);

/* One cell a column; copied. TL_INVALID: a row larger than AVRO_ROW_MAX or AVRO_LIST_MAX allow; nothing of it was
 * taken, and the writer goes on. TL_FAILED: the file could not be written (a full disk sets EXIT_DISK), and stays so.
 */
int avro_row(struct avro_writer *w, const struct cell *cells, struct fail *why);

uint64_t avro_size(const struct avro_writer *w); /* bytes written so far: what waits in memory is not among them */

/* Writes what waits. The writer is gone afterwards, however it ended; unless this returned 0 the file is not whole, and
 * the caller removes it. Without a row nothing at all is written (facts->rows is 0). */
int avro_close(struct avro_writer *w, struct table_facts *facts, struct fail *why);
void avro_drop(struct avro_writer *w); /* gives up; NULL is nothing */

/* ---- reading ---- */

struct avro_reader;

/* Reads a regular file from its beginning, wherever the descriptor's offset is, and leaves that alone; the descriptor
 * stays the caller's. `name` is the file in failures. Columns of the table that the file does not have are null in
 * every row, those that only the file has are passed over. NULL: all columns of the file, see avro_table.
 * TL_INVALID: damaged, cut, or not written by us (EXIT_DAMAGED); TL_FAILED: it cannot be read. */
int avro_open(int fd, const char *name, const struct table *table, struct avro_reader **out, struct fail *why);

/* 1: a row, one cell a column of the table (cells may be NULL when only the count matters: everything is checked all
 * the same); 0: the end; negative: as avro_open, and again at every further call. What cells point at is good until the
 * next call. */
int avro_next(struct avro_reader *r, struct cell *cells, struct fail *why);

const struct table *avro_table(const struct avro_reader *r); /* the file's own columns; lives as long as the reader */
bool avro_meta(const struct avro_reader *r, const char *key, struct tl_span *value); /* likewise */
void avro_end(struct avro_reader *r);                                                /* NULL is nothing */

/* Reads the whole file and checks every row. */
int avro_check(int fd, const char *name, struct table_facts *facts, struct fail *why);
#endif
