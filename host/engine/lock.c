/* lock.c - see lock.h. One file for all names: each locks the byte at the offset that its name hashes to (an
 * open-file-description lock, so it is released when the process ends, however it ends). */
#include "engine/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hash.h"

/* The byte is beyond those of names: they end at a quarter of the offsets. */
#define TABLES_AT ((off_t)1 << 62)

static int open_locks(const char *catalog, struct buf *path, int *fd, struct fail *why) {
    buf_printf(path, "%s.locks", catalog);
    *fd = open(path->data, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    return *fd < 0 ? fail_errno(why, TL_FAILED, "cannot open the lock file %s", path->data) : TL_OK;
}

int lock_tables(const char *catalog, int *fd, struct fail *why) {
    AUTO_BUF struct buf path = BUF_INIT;
    int rc = open_locks(catalog, &path, fd, why);
    if (rc)
        return rc;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = TABLES_AT, .l_len = 1};
    while (fcntl(*fd, F_OFD_SETLKW, &lock) < 0)
        if (errno != EINTR)
            return fail_errno(why, TL_FAILED, "cannot lock %s", path.data);
    return TL_OK;
}

int lock_crawl(const char *catalog, const char *name, int *fd, struct fail *why) {
    AUTO_BUF struct buf path = BUF_INIT;
    struct sha256 digest = hash_sha256(name, strlen(name));
    uint64_t offset;
    memcpy(&offset, digest.byte, sizeof offset);
    int rc = open_locks(catalog, &path, fd, why);
    if (rc)
        return rc;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)(offset >> 2), .l_len = 1};
    if (fcntl(*fd, F_OFD_SETLK, &lock) == 0)
        return TL_OK;
    int error = errno;
    close(*fd);
    *fd = -1;
    errno = error;
    if (error == EAGAIN || error == EACCES)
        return fail_exit(why, TL_REFUSED, EXIT_LOCKED,
                         "another trotline is running the crawl '%s' on this catalog; wait for it, or stop it with: "
                         "trotline stop ROOT (trotline ls shows ROOT)",
                         name);
    return fail_errno(why, TL_FAILED, "cannot lock %s", path.data);
}
