/* table_record.h - what one commit of convert, refine, compact or promote did, as a file of the lake: so that a rebuilt
 * catalog knows which documents are in which table files, and what is watched.
 *
 * LAKE/tables/year=/month=/day=/ID.jsonl, a JSON object a line with `kind`; null, 0 and false are left out:
 *
 *   tables_v1   the first: id, did (convert, refine, compact, promote), version (of Trotline), at_us
 *   file        id, path, table (items, typed, rejects), format, name, version, hour_us, rows, bytes, sha256,
 * written_us type        name, version, sha256 (of its declaration), columns, first_us: it was used for the first time
 *   converted   run_id, result_id, items, and the id of the pair of files that has them
 *   refined     run_id, result_id, type, version, rows, rejected, and the ids file and rejects
 *   replaced    id of a pair whose rows are in the pair `by` now
 *   promoted    uid, id (of the target), as (host, url, urn, name), what, yaml, run_id, reaction, at_us, and, when it
 * was taken back, removed_us: targets that the catalog alone has (targets.h) end         the last: lines before it and
 * their SHA-256, LF included
 *
 * Invariants: a record is durable before the transaction that it tells of, which also makes it known to the catalog,
 * and is published before the table files: so whoever has a published table file has its record. In the order of their
 * ids records lead to what the catalog says. */
#ifndef TROTLINE_ENGINE_TABLE_RECORD_H
#define TROTLINE_ENGINE_TABLE_RECORD_H
#include "engine/table_file.h"
#include "store/targets.h"

#define TABLE_RECORD_KIND "tables_v1"
struct table_record {
    struct table_file file; /* file.at: for store_table_put */
    struct buf text;        /* not written yet */
    struct hash *hash;
    bool open;
    int error; /* errno of the first write that failed */
};
#define TABLE_RECORD_INIT                                                                                              \
    { .file = TABLE_FILE_INIT }
extern const char *const table_record_table[3]; /* words for items, typed, rejects */

/* Lines fail only when the record is closed. */
int table_record_open(struct lake *l, const char *did, int64_t at_us, struct table_record *r, struct fail *why);
void table_record_file(struct table_record *r, const struct store_table *f);
void table_record_type(struct table_record *r, const char *name, const char *version, const char *sha256,
                       const char *columns, int64_t first_us);
void table_record_converted(struct table_record *r, const struct uuid *run_id, const struct uuid *result_id,
                            int64_t items, const struct uuid *file);
struct table_refined {
    const char *type, *version;
    int64_t rows, rejected;
    const struct uuid *file, *rejects; /* NULL: none */
};
void table_record_refined(struct table_record *r, const struct uuid *run_id, const struct uuid *result_id,
                          const struct table_refined *what);
void table_record_replaced(struct table_record *r, const struct uuid *old, const struct uuid *by);
void table_record_promoted(struct table_record *r, const struct store_promotion *p, const struct uuid *run_id);
/* Whole and durable in staging. */
int table_record_close(struct table_record *r, struct lake *l, struct fail *why);
/* After the commit of store_table_put(&r->file.at), before the table files. */
int table_record_publish(struct table_record *r, struct lake *l, struct fail *why);
void table_record_drop(struct table_record *r, struct lake *l); /* away with it, if it is open */
#endif
