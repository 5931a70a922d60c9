/* lock.c - see lock.h. One file for all names: each locks the byte at the offset that its name hashes to (an
 * open-file-description lock, so it is released when the process ends, however it ends). */
#include "engine/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hash.h"

int lock_crawl(const char *catalog, const char *name, int *fd, struct fail *why) {
    AUTO_BUF struct buf path = BUF_INIT;
    struct sha256 digest = hash_sha256(name, strlen(name));
    uint64_t offset;
    memcpy(&offset, digest.byte, sizeof offset);
    buf_printf(&path, "%s.locks", catalog);
    *fd = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (*fd < 0)
        return fail_errno(why, TL_FAILED, "cannot open the lock file %s", path.data);
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
