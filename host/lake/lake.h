/* lake.h - where documents live: staged privately, made durable, published read-only under their final name.
 *
 * Order that nothing may change (nothing lost, nothing twice): a worker writes into the owner's staging folder; the
 * supervisor makes the batch durable (lake_sync); the catalog commits; lake_publish renames. A staging folder is
 * flocked for its owner's life, so that recovery knows whose files are orphans. Everything published is mode 0444 and
 * is never replaced. This is the file-system lake. */
#ifndef TROTLINE_LAKE_LAKE_H
#define TROTLINE_LAKE_LAKE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/hash.h"
#include "base/uuid.h"

struct lake;

/* ---- paths (lake_path.c) */
enum { LAKE_VALUE_MAX = 200 };
/* A partition value: percent-escaped outside [A-Za-z0-9._-] with upper-case hex; empty or NULL:
 * __HIVE_DEFAULT_PARTITION__; over 200 bytes: cut at an escape border (and no UTF-8 character in two), then "-" and 16
 * hex digits of the SHA-256 of the whole value. "." and
 * ".." are escaped (%2E), so is the first byte of a value that reads __HIVE_DEFAULT_PARTITION__. */
void lake_value(struct buf *out, struct tl_span value);
struct lake_place {
    int64_t root_started_us;
    struct uuid root_id;
    const char *version, *org, *project, *context,
        *result;              /* clct_version, org, project, result_context_name, result_name */
    const char *const *order; /* NULL, or the free levels (clct_version org project result_context_name result_name) in
                                 another order, NULL-ended */
};
/* documents/year=/month=/day=/hour=/clct_uuid=/.../result_name=VALUE, or attachments/... when attachments is set; no
 * slash at the end */
void lake_folder(struct buf *out, const struct lake_place *place, bool attachments);
int lake_order_check(const char *const *order, struct fail *why); /* every free level exactly once */
void lake_tables_file(struct buf *out, const struct uuid *id); /* tables/year=/month=/day=/ID.jsonl, of the id's day */
void lake_crawl_file(struct buf *out, int64_t root_started_us, const struct uuid *root_id,
                     const char *extension); /* crawls/year=/month=/day=/ROOT.json[l] */

/* The name in the staging folder of what belongs at `path` below the lake, which is where readers look for it until it
 * is published: RESULT_ID.part for a document, RESULT_ID=NAME.part for an attachment (the last two parts of the path),
 * ROOT.jsonl.part for a closing record, ID.parquet.part, ID.jsonl.part for a table's file, a record of tables.
 * Unfinished names never end in .json; the first UUID_TEXT - 1 bytes are an id.
 */
#define LAKE_ITEMS   "items"
#define LAKE_TYPED   "l2ts"
#define LAKE_REJECTS "rejects"
#define LAKE_TABLES  "tables"
void lake_staged_name(struct buf *out, const char *path);
/* What comes with a document is called so in staging, wherever it belongs; and where that may be: attachments/..., or a
 * copy below backups/ (lake_backup.h). */
void lake_staged_attachment(struct buf *out, const char *result_id, struct tl_span name);
bool lake_attachment_ok(const char *path);

/* ---- the lake and its staging folder (lake.c) */
/* Opens (and with `write` makes) the lake and this owner's staging folder LAKE/.staging/OWNER, flocked. Failures of
 * making or writing set EXIT_DISK and name the path. */
int lake_open(const char *path, bool write, struct lake **out, struct fail *why);
void lake_close(struct lake *l); /* removes the staging folder when it is empty */
const char *lake_path(const struct lake *l);
const char *lake_owner(const struct lake *l);   /* UUID text; NULL when opened for reading */
const char *lake_staging(const struct lake *l); /* absolute path of the staging folder */
/* For workers, who have no struct lake but an fd of the owner's staging folder (or AT_FDCWD and absolute names): a new
 * file of mode 0444 that must not exist yet; and one with its bytes, whole or not at all. Not synced. Disk full:
 * EXIT_DISK, "no space left". */
int lake_create(int folder, const char *name, int *fd, struct fail *why);
int lake_write_all(int fd, struct tl_span bytes); /* TL_FAILED with errno */
int lake_write(int folder, const char *name, struct tl_span bytes, struct fail *why);
/* Makes everything staged so far durable, with the policy of architecture 3: syncfs; once one takes over 100 ms, the
 * next 100 batches sync_file_range on all names, then fdatasync each and one fsync of the folder. Names are relative to
 * the staging folder. */
int lake_sync(struct lake *l, const char *const *names, size_t n, struct fail *why);
/* Renames STAGING/name to LAKE/to (no-replace): one system call where the folder is there, else it is made. An existing
 * identical target is success (another one: EXIT_DAMAGED), so is a name that is gone when `to` is there. No sync is
 * needed: lake_recover finishes what a crash undoes. */
int lake_publish(struct lake *l, const char *name, const char *to, struct fail *why);
void lake_unstage(struct lake *l, const char *name); /* removes it again, when it is not to be published after all */
/* Removes a closing record of a crawl that was opened again, or a table file whose rows are in another by now: paths
 * below crawls/, items/, l2ts/ and rejects/, nothing else. One that is not there is success. */
int lake_withdraw(struct lake *l, const char *path, struct fail *why);
/* Writes a small file of ours (closing records) into staging as 0444 and syncs it. */
int lake_stage(struct lake *l, const char *name, struct tl_span text, struct fail *why);
bool lake_owner_alive(struct lake *l, const char *owner); /* is that staging folder flocked by someone? */
/* Staging folders whose flock is free: `known` is asked for each file (its name) and answers with the path below the
 * lake where it belongs (in `to`) or TL_NOTFOUND; it is moved there or deleted; empty folders are removed. Living
 * neighbours are left alone. */
int lake_recover(struct lake *l, int (*known)(void *ctx, const char *name, struct buf *to), void *ctx, int64_t *moved,
                 int64_t *deleted, struct fail *why);
/* Reads a file of the lake, looking in every staging folder when it is not (yet) under its path. */
int lake_read(struct lake *l, const char *path, struct buf *out, struct fail *why);
int lake_open_file(struct lake *l, const char *path, int *fd, struct fail *why);
int64_t lake_free_bytes(struct lake *l);
/* Calls each for every regular file below LAKE/sub in sorted order; a positive answer ends the walk. Symlinks are not
 * followed. */
int lake_walk(struct lake *l, const char *sub, int (*each)(void *ctx, const char *path, int64_t bytes, unsigned mode),
              void *ctx, struct fail *why);
#define LAKE_NO_FILE "it is no file: a link, a pipe or the like is in its place"
/* The same, and also for what is neither a file nor a folder, as -1 bytes: for records that nothing else names. */
int lake_walk_any(struct lake *l, const char *sub,
                  int (*each)(void *ctx, const char *path, int64_t bytes, unsigned mode), void *ctx, struct fail *why);

/* ---- documents (document.c writes, document_read.c reads) */
struct document_element { /* one SIMPLE value, page or pair, with its bytes where they are */
    const char *id, *key; /* key: KEY_VALUE */
    int64_t page_number;
    struct tl_span metadata;         /* a JSON object, or empty for {} */
    struct tl_span entity, entities; /* _metadata and _entities beside the data: an object, an array; or empty */
    struct tl_span http;             /* JSON object for metadata.http, or empty */
    const char *data_url, *media_type, *charset; /* charset: decided one (lower-case WHATWG name) or NULL */
    struct tl_span data;                         /* original bytes */
    struct tl_span
        text;  /* UTF-8 of data when it is text in another charset that round-trips; else empty. Goes before data
                * even if that is valid UTF-8 too, as UTF-16 and ISO-2022 may be; ignored when charset is utf-8 */
    bool json; /* media type says JSON: splice when valid (and at most some 500 deep) */
    bool sure; /* with json: our own writer made it (links), so it is; not checked again (saves 18 us of 15 kB) */
    bool utf8; /* data is known to be UTF-8: not checked again */
    const char
        *attachment; /* not NULL: bytes lie beside the document under this name; then bytes and sha256 below count */
    int64_t bytes;
    struct sha256 sha256;
};
struct document_dataset {
    const char *id, *name, *tags; /* tags: comma separated or NULL */
    enum tl_kind kind;
    struct tl_span metadata; /* JSON object or empty */
    const struct document_element *element;
    size_t count;
};
struct document_attachment {
    const char *name, *path, *media_type;
    int64_t bytes;
    struct sha256 sha256;
};
struct document {
    const char *result_id, *run_id, *root_id, *parent_id; /* parent_id NULL: the root */
    int depth;
    const char *const
        *path; /* root .. parent; a continuation (TL_PAGE) has its parent's depth, so these may be more than depth */
    size_t path_count; /* 0 for the root only */
    const char *collector, *collector_version;
    const char *org, *project, *target; /* NULL: null */
    const char *result_context_name, *result_name;
    struct tl_span run_context, payload, leash; /* JSON, verbatim; empty: null */
    const char *status;                         /* success, partial, failed */
    struct tl_span error;                       /* JSON object {kind, message, ...} or empty: null */
    int64_t started_us, finished_us;
    const struct document_dataset *dataset;
    size_t dataset_count;
    const struct document_attachment *attachment;
    size_t attachment_count;
};
struct document_sums {
    struct sha256 sha256; /* of the whole file */
    int64_t bytes;
    int64_t data_bytes; /* sum of the elements' original bytes */
};
/* Appends result_v1 (contracts 3) to out, keys in order, one pass, and the catalog's datasets JSON (store.h) to
 * summary. TL_INVALID, nothing appended: a required text is NULL; a span that should be JSON is none; a SIMPLE dataset
 * has not one element; an id is there twice in a dataset; page numbers are not 1 to count. TL_FAILED: a buffer is full.
 */
int document_write(struct buf *out, const struct document *d, struct hash *hash, struct document_sums *sums,
                   struct buf *summary);
/* Is the file whole: strict JSON, result_v1 keys in order, every element's bytes and sha256 (but for text of another
 * charset, which the checksum covers), checksum right? TL_INVALID with EXIT_DAMAGED: why says what is not. */
int document_check(struct tl_span file, struct fail *why);

/* One data element of a stored document, as spans of its text. */
struct document_part {
    enum tl_kind kind;
    struct tl_json dataset; /* the dataset's object: id, name, tags, metadata */
    struct tl_json element; /* the object that holds `data`: the dataset's own for SIMPLE, else the page or pair */
    size_t number;          /* of the element within its dataset, from 0 */
    struct tl_json data;    /* without the white space around it; null for an attachment */
    struct tl_span outer;   /* with it: the original bytes where encoding is json */
};
/* Calls each for every element in order; a positive answer ends the walk (TL_OK), a negative one is returned.
 * TL_INVALID: no document. */
int document_each(struct tl_span file, int (*each)(void *ctx, const struct document_part *part), void *ctx);
/* Appends the original bytes. TL_UNSUPPORTED: they were text in another charset (metadata.charset), out gets it as
 * UTF-8; TL_NOTFOUND: an attachment; TL_INVALID: damaged; TL_FAILED: out is full. */
int document_bytes(const struct document_part *part, struct buf *out);
#endif
