/* lake.c - the lake's folder and one owner's staging folder in it: opening, locking, writing, making durable,
 * publishing.
 *
 * Invariant: what lies under a final name is whole, was durable and committed before it got that name, and never
 * changes: a file is written under a private name in a folder that one living process holds locked, and a rename that
 * replaces nothing gives it its place. A rename needs no sync of its own: its bytes are durable already, file systems
 * with a journal keep either the old name or the new one, and lake_recover finishes what a crash left under the old one
 * (the catalog knows where it belongs). */
#include "lake/lake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/mem.h"
#include "base/times.h"
#include "lake/lake_backup.h"
#include "lake/lake_inside.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

int lake_broken(struct fail *why, const char *attempt, const struct lake *l, const char *name) {
    int error = errno;
    char text[128];
    const char *reason = error == ENOSPC   ? "no space left on the disk"
                         : error == EDQUOT ? "no space left, the disk quota is used up"
                                           : strerror_r(error, text, sizeof text);
    fail_exit(why, TL_FAILED, EXIT_DISK, "cannot %s %.300s%s%.300s: %s", attempt, l ? l->path : "",
              l && *name ? "/" : "", name, reason);
    errno = error;
    return TL_FAILED;
}

bool lake_path_ok(const char *path) {
    size_t len = strlen(path);
    if (!len || len > LAKE_PATH_MAX)
        return false;
    for (const char *part = path;; part++) {
        size_t n = strcspn(part, "/");
        if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.'))
            return false;
        part += n;
        if (!*part)
            return true;
    }
}

/* Makes the folders that lead to the last part of `path`. */
int lake_folders(int at, const char *path) {
    AUTO_FREE char *part = mem_text(path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdirat(at, part, 0755) < 0 && errno != EEXIST)
            return TL_FAILED;
        *slash = '/';
    }
    return TL_OK;
}

/* ---- opening ---- */

static int open_folder(int at, const char *name) {
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* A recovering neighbour may take a folder that we have made but not yet locked for an orphan, and remove it: then
 * another try. */
static int lock_staging(struct lake *l, struct fail *why) {
    char name[sizeof LAKE_STAGING + UUID_TEXT];
    snprintf(name, sizeof name, LAKE_STAGING "/%s", l->owner);
    for (int tries = 0; tries < 100; tries++) {
        struct stat at, there;
        if ((mkdirat(l->fd, LAKE_STAGING, 0755) < 0 && errno != EEXIST) ||
            (mkdirat(l->fd, name, 0755) < 0 && errno != EEXIST))
            return lake_broken(why, "make the folder", l, name);
        l->own = open_folder(l->fd, name);
        if (l->own < 0 && errno == ENOENT)
            continue;
        if (l->own < 0)
            return lake_broken(why, "open the folder", l, name);
        if (flock(l->own, LOCK_EX) < 0 || fstat(l->own, &at) < 0)
            return lake_broken(why, "lock the folder", l, name);
        if (fstatat(l->fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && at.st_ino == there.st_ino &&
            at.st_dev == there.st_dev)
            return TL_OK;
        close(l->own);
        l->own = -1;
    }
    errno = EBUSY;
    return lake_broken(why, "lock the folder", l, name);
}

static int open_parts(struct lake *l, const char *path, bool write, struct fail *why) {
    if (write && (lake_folders(AT_FDCWD, path) || (mkdir(path, 0755) < 0 && errno != EEXIST)))
        return lake_broken(why, "make the lake", NULL, path);
    l->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    l->path = l->fd < 0 ? NULL : realpath(path, NULL);
    if (!l->path) {
        if (!write && errno == ENOENT)
            return fail_set(why, TL_NOTFOUND, "there is no lake at %.400s", path);
        return lake_broken(why, "open the lake", NULL, path);
    }
    if (!write)
        return TL_OK;
    struct uuid owner = uuid_new();
    uuid_text(&owner, l->owner);
    AUTO_BUF struct buf staging = BUF_INIT;
    buf_printf(&staging, "%s/" LAKE_STAGING "/%s", l->path, l->owner);
    l->staging = buf_steal(&staging);
    return lock_staging(l, why);
}

int lake_open(const char *path, bool write, struct lake **out, struct fail *why) {
    struct lake *l = mem_alloc(sizeof *l);
    l->fd = l->own = l->backups = -1;
    int rc =
        *path ? open_parts(l, path, write, why) : fail_exit(why, TL_INVALID, EXIT_CONFIG, "lake: the path is empty");
    if (rc) {
        lake_close(l);
        l = NULL;
    }
    *out = l;
    return rc;
}

void lake_close(struct lake *l) {
    if (!l)
        return;
    if (l->own >= 0) {
        rmdir(l->staging); /* still locked; not when something is in it: that is for lake_recover */
        close(l->own);
    }
    if (l->fd >= 0)
        close(l->fd);
    if (l->backups >= 0)
        close(l->backups);
    buf_free(&l->marked);
    free(l->path);
    free(l->staging);
    free(l);
}

const char *lake_path(const struct lake *l) {
    return l->path;
}

const char *lake_owner(const struct lake *l) {
    return l->staging ? l->owner : NULL;
}

const char *lake_staging(const struct lake *l) {
    return l->staging;
}

int64_t lake_free_bytes(struct lake *l) {
    struct statvfs s;
    return fstatvfs(l->fd, &s) == 0 ? (int64_t)s.f_bavail * (int64_t)s.f_frsize : 0;
}

/* ---- writing ---- */

int lake_create(int folder, const char *name, int *fd, struct fail *why) {
    *fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
    return *fd < 0 ? lake_broken(why, "create the staged file", NULL, name) : TL_OK;
}

int lake_write_all(int fd, struct tl_span bytes) {
    while (bytes.len) {
        ssize_t n = write(fd, bytes.ptr, bytes.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return TL_FAILED;
        bytes.ptr += n;
        bytes.len -= (size_t)n;
    }
    return TL_OK;
}

static int write_file(int folder, const char *name, struct tl_span bytes, bool sync, struct fail *why) {
    int fd, rc = lake_create(folder, name, &fd, why);
    if (rc)
        return rc;
    bool ok = lake_write_all(fd, bytes) == TL_OK && (!sync || fdatasync(fd) == 0);
    int error = errno;
    if (close(fd) < 0 && ok) { /* where a network file system says that the disk is full */
        error = errno;
        ok = false;
    }
    if (ok)
        return TL_OK;
    unlinkat(folder, name, 0);
    errno = error;
    return lake_broken(why, "write the staged file", NULL, name);
}

int lake_write(int folder, const char *name, struct tl_span bytes, struct fail *why) {
    return write_file(folder, name, bytes, false, why);
}

static bool staged_name_ok(const struct lake *l, const char *name) {
    return l->own >= 0 && lake_path_ok(name) && !strchr(name, '/');
}

/* ---- making durable ---- */

static int sync_all(struct lake *l, struct fail *why) {
    int64_t start = time_mono_us();
    if (syncfs(l->own) < 0)
        return lake_broken(why, "make durable what is in", l, LAKE_STAGING);
    if (time_mono_us() - start > LAKE_SLOW_US)
        l->slow_left = LAKE_SLOW_BATCHES;
    l->rooted = true;
    return TL_OK;
}

static int sync_file(struct lake *l, const char *name, bool wait, struct fail *why) {
    AUTO_CLOSE int fd = staged_name_ok(l, name) ? openat(l->own, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (fd < 0)
        return lake_broken(why, "open the staged file", NULL, name);
    if (wait ? fdatasync(fd) < 0
             : sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE) < 0 && errno != ESPIPE && errno != ENOSYS)
        return lake_broken(why, "make durable the staged file", NULL, name);
    return TL_OK;
}

int lake_sync(struct lake *l, const char *const *names, size_t n, struct fail *why) {
    if (!n)
        return TL_OK;
    if (!l->rooted || l->slow_left == 0)
        return sync_all(l, why);
    l->slow_left--;
    for (int wait = 0; wait < 2; wait++) /* first all on their way, then wait for each */
        for (size_t i = 0; i < n; i++) {
            int rc = sync_file(l, names[i], wait, why);
            if (rc)
                return rc;
        }
    if (fsync(l->own) < 0)
        return lake_broken(why, "make durable what is in", l, LAKE_STAGING);
    return TL_OK;
}

int lake_stage(struct lake *l, const char *name, struct tl_span text, struct fail *why) {
    if (!staged_name_ok(l, name))
        return fail_set(why, TL_INVALID, "\"%.200s\" is no name for a staged file", name);
    int rc = write_file(l->own, name, text, true, why);
    if (rc)
        return rc;
    if (!l->rooted)
        return sync_all(l, why);
    return fsync(l->own) < 0 ? lake_broken(why, "make durable what is in", l, LAKE_STAGING) : TL_OK;
}

/* ---- publishing ---- */

static bool same_bytes(int a, int b) {
    struct stat left, right;
    if (fstat(a, &left) < 0 || fstat(b, &right) < 0 || !S_ISREG(left.st_mode) || !S_ISREG(right.st_mode) ||
        left.st_size != right.st_size)
        return false;
    if (left.st_ino == right.st_ino && left.st_dev == right.st_dev)
        return true;
    struct sha256 one, other;
    return hash_file(a, &one, NULL) == TL_OK && hash_file(b, &other, NULL) == TL_OK &&
           memcmp(&one, &other, sizeof one) == 0;
}

/* Something stands under the final name already: fine when it is the same, as after a crash between link and unlink. */
static int settle(struct lake *l, int from, const char *name, const char *to, struct fail *why) {
    AUTO_CLOSE int staged = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    AUTO_CLOSE int there = openat(l->fd, to, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (staged < 0 || there < 0 || !same_bytes(staged, there))
        return fail_exit(why, TL_FAILED, EXIT_DAMAGED,
                         "cannot publish %.200s as %.300s/%.300s: another file stands there, and what is published is "
                         "never replaced",
                         name, l->path, to);
    return unlinkat(from, name, 0) < 0 ? lake_broken(why, "remove the staged file", NULL, name) : TL_OK;
}

static int rename_once(struct lake *l, int from, const char *name, const char *to) {
    if (!l->no_rename) {
        if (renameat2(from, name, l->fd, to, RENAME_NOREPLACE) == 0)
            return 0;
        if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
            return -1;
    }
    if (linkat(from, name, l->fd, to, 0) < 0)
        return -1;
    l->no_rename = true;
    return unlinkat(from, name, 0);
}

/* The rename itself tells whether the folder is there: no folder needs to be remembered, and one that was removed is
 * made again. What leads to the newest backup leads to it before that has its own name: a crash in between leaves it in
 * staging, where recovery finds it. */
int lake_move(struct lake *l, int from, const char *name, const char *to, struct fail *why) {
    if (!lake_path_ok(to) || strncmp(to, LAKE_STAGING "/", sizeof LAKE_STAGING) == 0)
        return fail_set(why, TL_INVALID, "\"%.400s\" is no path in a lake", to);
    if (strncmp(to, LAKE_BACKUPS "/", sizeof LAKE_BACKUPS) == 0 && lake_backup_lead(l, from, name, to, why))
        return why->status;
    if (rename_once(l, from, name, to) == 0)
        return TL_OK;
    if (errno == ENOENT) {
        if (lake_folders(l->fd, to))
            return lake_broken(why, "make the folder of", l, to);
        if (rename_once(l, from, name, to) == 0)
            return TL_OK;
    }
    if (errno == EEXIST)
        return settle(l, from, name, to, why);
    if (errno == ENOENT && faccessat(l->fd, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return TL_OK; /* published before */
    return lake_broken(why, "publish", l, to);
}

int lake_publish(struct lake *l, const char *name, const char *to, struct fail *why) {
    if (!staged_name_ok(l, name))
        return fail_set(why, TL_INVALID, "\"%.200s\" is no name of a staged file", name);
    return lake_move(l, l->own, name, to, why);
}

void lake_unstage(struct lake *l, const char *name) {
    if (staged_name_ok(l, name))
        unlinkat(l->own, name, 0);
}
