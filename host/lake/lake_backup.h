/* lake_backup.h - where the copies of a repository lie in the lake, and which names lead to the newest of them.
 *
 * FOLDER = backups/shard=SHARD/SERVER/aa/bb/cc/dd/OWNER, aa to dd being the first bytes of the SHA-256 of the owner in
 * small letters. A copy is FOLDER/NAME/2026-11-30T02-00-00Z.KIND; it is published once and never changes.
 * FOLDER/NAME.KIND leads to the newest of its kind; of bundles, to the newest that builds on no other. */
#ifndef TROTLINE_LAKE_LAKE_BACKUP_H
#define TROTLINE_LAKE_LAKE_BACKUP_H
#include "lake/lake.h"

enum { LAKE_BACKUP_DATE = sizeof "2026-11-30T02-00-00Z" };
#define LAKE_BACKUPS "backups"

struct lake_backup {
    const char *shard, *server, *owner;
    const char *name,
        *kind;     /* a repository's, and bundle, zip, error, refs, lfs; or of the owner itself, such as .listing */
    int64_t at_us; /* counted in whole seconds */
};
int lake_backup_byte(const char *owner); /* the first byte of its digest, which decides about its shard */
void lake_backup_folder(struct buf *out, const struct lake_backup *b);
void lake_backup_copies(struct buf *out, const struct lake_backup *b); /* the folder of its dated copies */
void lake_backup_copy(struct buf *out, const struct lake_backup *b);
void lake_backup_newest(struct buf *out, const struct lake_backup *b); /* the name that leads to the newest */
const char *lake_backup_date(int64_t at_us, char out[LAKE_BACKUP_DATE]);
int lake_backup_time(struct tl_span date, int64_t *at_us); /* of such a date, whatever follows; TL_INVALID */
/* A large file of a repository, by its SHA-256: FOLDER/NAME/lfs/aa/bb/OID. It belongs to no date, and is never let go.
 */
void lake_backup_object(struct buf *out, const struct lake_backup *b, const char *oid);
bool lake_backup_is_object(const char *path);
/* Is it the path of a copy? newest, when not NULL, gets the name that leads to it. */
bool lake_backup_is_copy(const char *path, struct buf *newest);

bool lake_backup_is_full(int folder, const char *name); /* a bundle that builds on no other? */

/* A policy about dated copies: the newest so many, one for each of the last so many weeks and months that have one. */
struct lake_keep {
    int64_t last, weekly, monthly; /* all 0: everything stays */
};
#define LAKE_BACKUP_DROPPED ".dropped" /* DATE.dropped, empty: the copy of that date may be removed */
/* The dates of copies that it can do without once there is one of at_us with that manifest; at most `most`. */
size_t lake_backup_spare(int folder, const struct lake_keep *keep, int64_t at_us, struct tl_span manifest,
                         char (*out)[LAKE_BACKUP_DATE], size_t most);
bool lake_backup_let_go(struct lake *l, const char *path); /* was that copy? */

/* Between hold and release no other process publishes or removes copies. What is to be recorded is asked before: does
 * it fit, or is there another copy of that second, or one gone that it builds on? Release removes what was marked
 * meanwhile. */
int lake_backup_hold(struct lake *l, struct fail *why);
bool lake_backup_fits(struct lake *l, const char *staged, const char *to);
void lake_backup_release(struct lake *l);
#endif
