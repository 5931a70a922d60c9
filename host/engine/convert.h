/* convert.h - documents to dataset items: which are due, into which files, exactly once.
 *
 * Documents are taken in the order of (collector, hour of collection, run); the rows of one collector and hour go into
 * one pair of files, Parquet and Avro with the same rows and one id. Closing a pair is one transaction, which also says
 * of each document that it has been converted, as does a record in the lake (table_record.h); so whoever is killed in
 * the middle leaves nothing behind, and the next conversion does what is missing. One conversion at a time: others wait
 * (lock_tables). Documents are only read. */
#ifndef TROTLINE_ENGINE_CONVERT_H
#define TROTLINE_ENGINE_CONVERT_H
#include "engine/config.h"
#include "engine/plugin.h"
#include "lake/lake.h"
#include "store/tables.h"

struct convert_sums {
    int64_t documents, items, files, bytes, failed; /* of this conversion; bytes: of the files */
    int64_t of;                                     /* documents that were due */
};
struct convert_options {
    struct store *store; /* both open for writing */
    struct lake *lake;
    const struct config *config;
    const struct plugin_set *plugins;                               /* for those that convert themselves */
    struct store_selection which;                                   /* `unconverted` is set here */
    void (*progress)(void *ctx, const struct convert_sums *sums);   /* or NULL */
    void (*problem)(void *ctx, const char *path, const char *text); /* a document that could not be converted */
    void *ctx;
};
/* A document that cannot be converted is counted, said, and stays due; the others are converted all the same. */
int convert_documents(const struct convert_options *o, struct convert_sums *sums, struct fail *why);
#endif
