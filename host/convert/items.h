/*
 * Dataset items: one flat row for each data element of a result document, with full copies of what the document says of
 * itself and its lineage, so that any row stands alone. The payload is carried, never opened.
 *
 * Invariant: the rows of a document depend on its bytes alone, but for converted_at: converted again, they have the
 * same ids, the same values and the same order.
 */
#ifndef TROTLINE_CONVERT_ITEMS_H
#define TROTLINE_CONVERT_ITEMS_H

#include "base/buf.h"
#include "base/fail.h"
#include "convert/row.h"

/* The columns, in order (trotline-items(5)). */
enum items_column {
    ITEMS_ITEM_ID,
    ITEMS_RESULT_ID,
    ITEMS_RUN_ID,
    ITEMS_ROOT_ID,
    ITEMS_PARENT_ID,
    ITEMS_DEPTH,
    ITEMS_LINEAGE_PATH,
    ITEMS_COLLECTOR_NAME,
    ITEMS_COLLECTOR_VERSION,
    ITEMS_ORG,
    ITEMS_PROJECT,
    ITEMS_TARGET,
    ITEMS_RESULT_CONTEXT_NAME,
    ITEMS_RESULT_NAME,
    ITEMS_DATASET_ID,
    ITEMS_DATASET_NAME,
    ITEMS_DATASET_TYPE,
    ITEMS_DATASET_TAGS,
    ITEMS_DATASET_METADATA,
    ITEMS_ELEMENT_KIND,
    ITEMS_ELEMENT_ID,
    ITEMS_PAGE_NUMBER,
    ITEMS_PAGE_COUNT,
    ITEMS_KEY_NAME,
    ITEMS_ELEMENT_METADATA,
    ITEMS_DATA_URL,
    ITEMS_MEDIA_TYPE,
    ITEMS_ENCODING,
    ITEMS_DATA_BYTES,
    ITEMS_DATA_SHA256,
    ITEMS_COLLECTED_AT,
    ITEMS_CONVERTED_AT,
    ITEMS_DOCUMENT_PATH,
    ITEMS_DOCUMENT_SHA256,
    ITEMS_DATA,
    ITEMS_COLUMNS
};
extern const struct table items_table;
#define ITEMS_SCHEMA_VERSION "v1"

/* Bodies beside a document that are longer than this are not copied into rows: encoding says attachment, data is null,
 * and the row's element says where they are. */
enum { ITEMS_ATTACHMENT_MAX = 32 << 20 };

struct items_document {
    struct tl_span file; /* the document's bytes */
    const char *path;    /* below the lake */
    const char *sha256;  /* of the file, in hex */
    int64_t converted_us;
    /* Appends the bytes of a file beside the document, at a path below the lake. NULL: none can be read. */
    int (*attachment)(void *ctx, const char *path, struct buf *out, struct fail *why);
    void *ctx;
};

/* What a collector's own convert gives for one row; all texts but data may be NULL. */
struct items_own {
    const char *id, *key, *media_type, *data_url, *dataset, *metadata;
    int64_t page_number; /* 0: none */
    struct tl_span data;
};

struct items; /* memory for one document at a time, used again for the next */
struct items *items_new(void);
void items_free(struct items *x);

/* Reads what all rows of a document share. It must stay where it is until the last row is made.
 * TL_INVALID, EXIT_DAMAGED: it is no result document. */
int items_open(struct items *x, const struct items_document *doc, struct fail *why);
int64_t items_collected_us(const struct items *x);
/* Calls row for each element of the document in order; its cells live until it returns. A negative answer ends it and
 * is returned. */
int items_each(struct items *x, int (*row)(void *ctx, const struct cell *cells), void *ctx, struct fail *why);
/* The row of what a collector's own convert made; the n-th of the document, from 0. */
int items_own(struct items *x, uint64_t n, const struct items_own *own, int (*row)(void *ctx, const struct cell *cells),
              void *ctx, struct fail *why);
#endif
