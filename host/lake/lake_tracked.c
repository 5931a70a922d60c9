/* lake_tracked.c - see lake_tracked.h. */
#include "lake/lake_tracked.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "lake/lake_inside.h"

void lake_tracked_path(struct buf *out, const char *name) {
    const char *rest = strchr(name, '/');
    size_t server = rest ? (size_t)(rest - name) : 0;
    rest = rest ? rest + 1 : name;
    struct sha256 d = hash_sha256(rest, strcspn(rest, "/"));
    buf_lit(out, LAKE_TRACKED "/");
    lake_value(out, (struct tl_span){name, server});
    buf_printf(out, "/%02x/%02x/%02x/%02x/", d.byte[0], d.byte[1], d.byte[2], d.byte[3]);
    lake_value(out, span_of(rest));
    buf_lit(out, ".json");
}

int lake_tracked_lock(struct lake *l, struct fail *why) {
    if (mkdirat(l->fd, LAKE_TRACKED, 0755) < 0 && errno != EEXIST) {
        lake_broken(why, "make", l, LAKE_TRACKED);
        return -1;
    }
    int fd = openat(l->fd, LAKE_TRACKED, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc = fd < 0 ? -1 : 0;
    while (fd >= 0 && (rc = flock(fd, LOCK_EX)) < 0 && errno == EINTR) {
    }
    if (rc < 0) {
        lake_broken(why, "lock", l, LAKE_TRACKED);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    return fd;
}

int lake_tracked_write(struct lake *l, const char *name, struct tl_span text, struct fail *why) {
    static const char staged[] = "tracked.part";
    AUTO_BUF struct buf path = BUF_INIT;
    lake_tracked_path(&path, name);
    lake_unstage(l, staged);
    int rc = lake_stage(l, staged, text, why);
    if (rc)
        return rc;
    if (lake_folders(l->fd, path.data) == TL_OK && renameat(l->own, staged, l->fd, path.data) == 0)
        return TL_OK;
    rc = lake_broken(why, "write", l, path.data);
    lake_unstage(l, staged);
    return rc;
}

int lake_tracked_remove(struct lake *l, const char *name, struct fail *why) {
    AUTO_BUF struct buf path = BUF_INIT;
    lake_tracked_path(&path, name);
    if (unlinkat(l->fd, path.data, 0) == 0 || errno == ENOENT)
        return TL_OK;
    return lake_broken(why, "remove", l, path.data);
}
