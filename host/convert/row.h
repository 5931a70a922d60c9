/*
 * Rows and their columns: what the writers of Parquet and Avro, the reader of Avro and the typed tables share.
 *
 * A table is a name and a list of columns; every column may be null. A row is an array of cells, one a column, in the
 * order of the columns. Cells own nothing: the bytes they point at belong to whoever made the row, and a writer copies
 * what it keeps before it returns.
 */
#ifndef TROTLINE_CONVERT_ROW_H
#define TROTLINE_CONVERT_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trotline.h"

enum column_type {
    COLUMN_TEXT, /* valid UTF-8, NUL bytes included */
    COLUMN_INT,  /* signed, 64 bits */
    COLUMN_REAL, /* IEEE double */
    COLUMN_BOOL, /* 0 or 1 in `number` */
    COLUMN_TIME, /* microseconds since 1970-01-01T00:00:00Z, in `number` */
    COLUMN_LIST, /* of text; no element is null */
};

struct column {
    const char *name; /* [a-z][a-z0-9_]*; the writers trust it */
    enum column_type type;
    bool payload;    /* large and not worth statistics or a dictionary */
    const char *doc; /* one line for schemas that can hold it, or NULL */
};

struct table {
    const char *name; /* [a-z][a-z0-9_]* */
    const struct column *columns;
    size_t count; /* 1 to ROW_COLUMNS_MAX */
};

#define ROW_COLUMNS_MAX 128

struct cell {
    bool null;
    union {
        struct tl_span text;
        int64_t number;
        double real;
        struct {
            const struct tl_span *items;
            size_t count;
        } list;
    };
};

/* What a writer says of a file it has closed. */
struct table_facts {
    uint64_t rows;
    uint64_t bytes;
};

#endif
