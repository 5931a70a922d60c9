/* refine.h - dataset items to typed tables: each item, once for each version of a type.
 *
 * Items are read from the Avro files, in the order of their hours; the rows of one day and type go into one Parquet
 * file, what was refused into one of rejects. Closing a day is one transaction, which also says of each document and
 * type that it has been looked at. What is counted is what the items give now, whether their rows were written before
 * or are written here; so the same question has the same answer each time. */
#ifndef TROTLINE_ENGINE_REFINE_H
#define TROTLINE_ENGINE_REFINE_H
#include "engine/config_types.h"
#include "lake/lake.h"
#include "store/tables.h"

struct refine_type_sums {
    int64_t rows, rejected;
};
struct refine_sums {
    int64_t items, typed, rejected, skipped; /* of the documents that were asked for; items = the sum of the others */
    int64_t documents, files, written;       /* rows that were written here, and their files */
    struct refine_type_sums *type;           /* one for each of the types, in their order */
};
struct refine_options {
    struct store *store; /* both open for writing */
    struct lake *lake;
    const struct config *config;
    const struct config_types *types;
    struct store_selection which; /* root 0: only documents that some type has not looked at */
    void (*progress)(void *ctx, const struct refine_sums *sums); /* or NULL */
    void *ctx;
};
/* sums->type: room for all types, the caller's. Documents that are not converted are passed over. */
int refine_items(const struct refine_options *o, struct refine_sums *sums, struct fail *why);
#endif
