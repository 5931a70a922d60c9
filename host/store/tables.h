/* tables.h - what the catalog knows of tables: files of dataset items and typed rows, and which documents are in them.
 *
 * Invariants: a document is in one pair of item files at most, and has been looked at once for a version of a type; the
 * row that says so is written in the transaction that makes the file known, so that a file without a row was never
 * finished. A file that another took the place of stays known, as replaced, until it has been removed. */
#ifndef TROTLINE_STORE_TABLES_H
#define TROTLINE_STORE_TABLES_H
#include "store/store.h"

enum store_table_kind { STORE_ITEMS, STORE_TYPED, STORE_REJECTS, STORE_RECORDS };
struct store_table {
    int64_t key;      /* filled in by store_table_put */
    struct uuid id;   /* the Parquet and the Avro file of a pair have the same */
    const char *path; /* below the lake */
    enum store_table_kind kind;
    const char *format, *name, *version;
    int64_t hour_us, rows, bytes, written_us;
    bool replaced;
    struct sha256 sha256;
};
/* Inside a transaction. */
int store_table_put(struct store *s, struct store_table *f, struct fail *why);
int store_table_source(struct store *s, int64_t root, int64_t file); /* known already: nothing */
int store_converted_put(struct store *s, int64_t run, int64_t parquet, int64_t avro, int64_t items, int64_t at_us);
/* The rows of old files are in these now: documents and sources lead there, the old are marked as replaced. */
int store_table_replace(struct store *s, const int64_t *old_parquet, const int64_t *old_avro, size_t n, int64_t parquet,
                        int64_t avro, int64_t at_us);
int store_table_forget(struct store *s, int64_t file); /* its file is gone */

/* Texts live until the callback returns, which must not write; a positive answer ends it. */
int store_table_each(struct store *s, enum store_table_kind kind, const char *format, bool replaced,
                     int (*each)(void *ctx, const struct store_table *f), void *ctx, struct fail *why);
/* Those that hold rows of a crawl's documents (0: of any), replaced ones left out. */
int store_table_of(struct store *s, int64_t root, int (*each)(void *ctx, const struct store_table *f), void *ctx,
                   struct fail *why);
int store_table_get(struct store *s, int64_t key, struct store_table *out, struct fail *why); /* likewise, by its key */
/* By id and format, as in its name. Texts live until the next call. TL_NOTFOUND. */
int store_table_find(struct store *s, const struct uuid *id, const char *format, struct store_table *out,
                     struct fail *why);

/* ---- documents, for who makes tables of them */
struct store_source {
    int64_t run, root; /* keys */
    int64_t collected_us;
    const char *collector;
    /* of store_source_get only */
    struct uuid run_id, result_id, root_id;
    const char *folder; /* the file is FOLDER/RESULT_ID.json */
    struct sha256 sha256;
    int64_t bytes, converted_avro; /* file of its items, 0: none */
    bool converted;
};
struct store_selection {
    int64_t root;               /* members of this crawl, results that it reused included; 0: all documents */
    int64_t since_us, until_us; /* collected then; 0: any time */
    bool unconverted;           /* only those that are not in item files yet */
    bool undiscovered;     /* only those that are in item files, and were not looked at for candidates (targets.h) */
    bool reused;           /* only those that were, and whose result a run of another crawl stands for that was not */
    const char *collector; /* only of this one, or NULL */
    int64_t unrefined;     /* only those that were not looked at for this type (key); 0: any */
};
/* In no order. */
int store_sources(struct store *s, const struct store_selection *which,
                  int (*each)(void *ctx, const struct store_source *d), void *ctx, struct fail *why);
int store_source_get(struct store *s, int64_t run, struct store_source *out, struct fail *why); /* texts: next call */
/* Run and root as keys, and the id of the document, 0 where there is none. TL_NOTFOUND: no such run. */
int store_source_find(struct store *s, const struct uuid *run_id, int64_t *run, int64_t *root, struct uuid *result_id);

/* ---- types */
/* The key of a version of a type; a new one is remembered as used since then (inside a transaction), or with 0:
 * TL_NOTFOUND. TL_INVALID, EXIT_CONFIG: it was used with another declaration. */
int store_type(struct store *s, const char *name, const char *version, const char *sha256, const char *columns,
               int64_t first_us, int64_t *key, struct fail *why);
/* Of a type that is known. TL_NOTFOUND. */
int store_type_find(struct store *s, const char *name, const char *version, int64_t *key);
int store_refined(struct store *s, int64_t run, int64_t type, bool *done, struct fail *why);
int store_refined_put(struct store *s, int64_t run, int64_t type, int64_t rows, int64_t rejected, int64_t file,
                      int64_t rejects);
#endif
