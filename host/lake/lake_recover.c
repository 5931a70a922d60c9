/* lake_recover.c - what the dead left in their staging folders: moved to its place when it was committed, removed when
 * not.
 *
 * Invariant: a folder is touched only while we hold its flock, which its owner holds for as long as it lives; so a
 * catalog that does not know a file there will never learn of it. Safe beside living neighbours, and beside another
 * recovery. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "lake/lake_backup.h"
#include "lake/lake_inside.h"

struct recovery {
    struct lake *l;
    int (*known)(void *ctx, const char *name, struct buf *to);
    void *ctx;
    struct buf to;
    int64_t moved, deleted;
    struct fail *why;
};

static int recover_file(struct recovery *r, int folder, const char *name) {
    buf_reset(&r->to);
    int rc = r->known(r->ctx, name, &r->to);
    if (rc == TL_OK) {
        rc = lake_move(r->l, folder, name, buf_span(&r->to).ptr, r->why);
        r->moved += rc == TL_OK;
        return rc;
    }
    if (rc != TL_NOTFOUND)
        return fail_set(r->why, rc,
                        "cannot tell where %.200s in %.300s/" LAKE_STAGING " belongs: the catalog did not answer", name,
                        r->l->path);
    if (unlinkat(folder, name, 0) < 0 && errno != ENOENT)
        return lake_broken(r->why, "remove the orphan", NULL, name);
    r->deleted++;
    return TL_OK;
}

static int recover_folder(struct recovery *r, int root, const char *owner) {
    AUTO_CLOSE int folder = openat(root, owner, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP
                   ? TL_OK
                   : lake_broken(r->why, "open the staging folder", NULL, owner);
    if (flock(folder, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? TL_OK : lake_broken(r->why, "lock the staging folder", NULL, owner);
    struct lake_names names;
    if (lake_list(folder, &names))
        return lake_broken(r->why, "list the staging folder", NULL, owner);
    int rc = TL_OK;
    for (size_t i = 0; i < names.count && !rc; i++)
        if (!names.folder[i])
            rc = recover_file(r, folder, names.name[i]);
    lake_names_free(&names);
    if (!rc)
        unlinkat(root, owner, AT_REMOVEDIR); /* stays when something is in it that is not ours */
    return rc;
}

int lake_recover(struct lake *l, int (*known)(void *ctx, const char *name, struct buf *to), void *ctx, int64_t *moved,
                 int64_t *deleted, struct fail *why) {
    struct recovery r = {.l = l, .known = known, .ctx = ctx, .why = why};
    AUTO_CLOSE int root = openat(l->fd, LAKE_STAGING, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct lake_names owners = {0};
    int rc = TL_OK;
    if (root >= 0 && lake_list(root, &owners))
        rc = lake_broken(why, "list", l, LAKE_STAGING);
    else if (root < 0 && errno != ENOENT)
        rc = lake_broken(why, "open", l, LAKE_STAGING);
    if (!rc && owners.count > 1 && faccessat(l->fd, LAKE_BACKUPS, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        rc = lake_backup_hold(l, why);
    for (size_t i = 0; i < owners.count && !rc; i++)
        if (owners.folder[i] && strcmp(owners.name[i], l->owner) != 0)
            rc = recover_folder(&r, root, owners.name[i]);
    lake_backup_release(l);
    lake_names_free(&owners);
    buf_free(&r.to);
    if (moved)
        *moved = r.moved;
    if (deleted)
        *deleted = r.deleted;
    return rc;
}

bool lake_owner_alive(struct lake *l, const char *owner) {
    struct uuid id;
    if (uuid_parse(span_of(owner), &id))
        return false;
    if (strcmp(owner, l->owner) == 0)
        return true;
    AUTO_BUF struct buf name = BUF_INIT;
    buf_printf(&name, LAKE_STAGING "/%s", owner);
    AUTO_CLOSE int folder = openat(l->fd, name.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return folder >= 0 && flock(folder, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}
