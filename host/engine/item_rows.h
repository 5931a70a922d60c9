/* item_rows.h - the items of chosen documents, read back from the Avro files that the catalog names.
 *
 * Every item comes once, those of one document one after the other in their order, whatever is joined meanwhile
 * (compact.h): a file that is gone when its turn comes is asked for again in the catalog, which knows where its rows
 * are by then. Memory is that of a list of the documents, and of one row. */
#ifndef TROTLINE_ENGINE_ITEM_ROWS_H
#define TROTLINE_ENGINE_ITEM_ROWS_H
#include "convert/items.h"
#include "convert/types.h"
#include "lake/lake.h"
#include "store/tables.h"

struct item_rows_options {
    struct store *store; /* may be open for reading */
    struct lake *lake;
    struct store_selection which;                   /* documents that are not converted are passed over */
    int (*row)(void *ctx, const struct cell *item); /* a negative answer ends it and is returned, a positive too */
    int (*end)(void *ctx);                          /* behind the last item of a document; or NULL */
    void *ctx;
};
int item_rows(const struct item_rows_options *o, struct fail *why);

/* The same as rows of a type: those that refine would write of these documents (rejects left out). */
int item_rows_typed(const struct item_rows_options *o, const struct types_type *type, struct fail *why);
#endif
