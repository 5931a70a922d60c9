/* parquet.h - one Parquet file, written row by row.
 *
 * Invariant: memory does not grow with the file (`memory` bounds what waits to be written; cells are copied or
 * compressed before parquet_row returns), and the bytes of the file depend on the rows and the options alone, not on
 * the number of threads. The file is whole only after parquet_close returned 0; whatever else happens, the caller
 * removes what it made. The descriptor stays the caller's, who also makes it durable.
 *
 * Format version 1, data pages of version 1, PLAIN and RLE_DICTIONARY; column chunks in the order of the columns. */
#ifndef TROTLINE_CONVERT_PARQUET_H
#define TROTLINE_CONVERT_PARQUET_H

#include "base/fail.h"
#include "convert/row.h"

enum parquet_codec { PARQUET_ZSTD, PARQUET_SNAPPY, PARQUET_NONE };

struct parquet_pair { /* of the file's key-value metadata; both are UTF-8 */
    const char *key;
    const char *value; /* NULL: a key without a value */
};

/* Zero is a default everywhere. */
struct parquet_options {
    enum parquet_codec codec;
    int level;                        /* of zstd, 1 to 19; 0: 3; the others have none */
    unsigned threads;                 /* that compress, the caller's included; at most PARQUET_THREADS_MAX; 0: 1 */
    uint64_t group_rows, group_bytes; /* a row group ends at so many rows (1 Mi) or bytes before compression (128 Mi) */
    size_t memory;                    /* or when so many bytes wait in memory (32 Mi) */
    size_t page_bytes, page_rows;     /* a page ends at so many bytes (1 Mi) or rows (20,000) */
    size_t dictionary_bytes;          /* where a dictionary is given up (1 Mi) */
    const struct parquet_pair *pairs;
    size_t pair_count;
};

#define PARQUET_THREADS_MAX 4u
#define PARQUET_CELL_MAX    ((size_t)64 << 20) /* bytes of a cell: its text, or a list's texts and 4 an element */

struct parquet;

/* Writes from the descriptor's present offset, which must be the beginning of an empty file. The table and its names
 * must live as long as the writer; options and pairs are copied. */
int parquet_open(int fd, const struct table *table, const struct parquet_options *options, struct fail *why,
                 struct parquet **out);

/* One cell a column. TL_INVALID: a cell that is too large, nothing of the row was taken and the writer goes on.
 * TL_FAILED: the file could not be written (a full disk sets EXIT_DISK); parquet_drop is all that is left. */
int parquet_row(struct parquet *w, const struct cell *cells, struct fail *why);

uint64_t parquet_size(const struct parquet *w); /* bytes written so far: what waits in memory is not among them */

/* Writes what waits and the footer. The writer is gone afterwards, however it ended. Without a row nothing is written
 * (facts->rows is 0): an empty file is no Parquet file, so the caller removes it. */
int parquet_close(struct parquet *w, struct fail *why, struct table_facts *facts);

void parquet_drop(struct parquet *w); /* gives up; NULL is nothing */

#endif
