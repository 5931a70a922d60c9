/* verify.h - is the lake what the catalog says, and the catalog what the lake holds?
 *
 * Both directions: every document, attachment, closing record and table file of the catalog is in the lake with its
 * bytes, and every file below documents/, attachments/, crawls/, items/, l2ts/ and rejects/ is known to the catalog.
 * Each file is read once. Others may write meanwhile: what is committed but still in staging is no fault. Documents are
 * never removed, so the lake may hold those of earlier attempts of a run. */
#ifndef TROTLINE_ENGINE_VERIFY_H
#define TROTLINE_ENGINE_VERIFY_H
#include "lake/lake.h"
#include "store/store.h"

struct verify_sums {
    int64_t documents, attachments, records; /* looked at; records: closing records of crawls */
    int64_t tables, table_records, bytes;    /* files of tables, what is recorded of them; bytes read */
    int64_t earlier;                         /* documents and attachments of earlier attempts */
    int64_t staged;                          /* committed, on their way to their place */
    int64_t problems, warnings;
};
struct verify_options {
    struct store *store; /* may be open for reading */
    struct lake *lake;
    const struct uuid *root; /* NULL: all crawls, and the catalog itself */
    const char *catalog;     /* how it is named in problems */
    bool quick;              /* presence, size and mode only */
    void (*problem)(void *ctx, const char *file, const char *text);
    void (*warning)(void *ctx, const char *file, const char *text); /* worth knowing, but no damage */
    void (*progress)(void *ctx, const struct verify_sums *sums);    /* after each file; NULL: nobody looks */
    void *ctx;
};
/* A negative status means that the check itself came to an end before its time. */
int verify_lake(const struct verify_options *o, struct verify_sums *out, struct fail *why);
#endif
