/* restore_lfs.c - see restore_lfs.h. */
#include "engine/restore_lfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "lake/lake_backup.h"
#include "lake/lake_inside.h"

enum { LIST_MOST = 32 << 20, OID = SHA256_BYTES * 2 };

struct files {
    struct lake *l;
    const char *copies;
    int to; /* the folder of the repository */
    struct fail *why;
};

/* The name of the newest list that is late enough; false: there is none. */
static bool newest_list(const struct files *f, int64_t at_us, struct buf *out) {
    struct lake_names names;
    AUTO_CLOSE int fd = openat(f->l->fd, f->copies, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || lake_list(fd, &names))
        return false;
    for (size_t i = 0; i < names.count; i++) { /* in the order of their dates */
        int64_t at;
        if (names.folder[i] || lake_backup_time(span_of(names.name[i]), &at) || at > at_us ||
            strcmp(names.name[i] + LAKE_BACKUP_DATE - 1, ".lfs") != 0)
            continue;
        buf_reset(out);
        buf_printf(out, "%s/%s", f->copies, names.name[i]);
    }
    lake_names_free(&names);
    return out->len > 0;
}

static int copy_bytes(int from, int to) {
    char block[65536];
    for (;;) {
        ssize_t n = copy_file_range(from, NULL, to, NULL, 1 << 24, 0);
        if (n == 0)
            return 0;
        if (n > 0 || errno == EINTR)
            continue;
        if ((n = read(from, block, sizeof block)) <= 0) /* another file system */
            return (int)n;
        if (lake_write_all(to, (struct tl_span){block, (size_t)n}))
            return -1;
    }
}

static int damaged(const struct files *f, const char *oid, const char *how) {
    return fail_exit(f->why, TL_FAILED, EXIT_DAMAGED,
                     "the large file %.64s of %s %s; `trotline verify` says more, an earlier --at may do without it",
                     oid, f->copies, how);
}

static int put_one(const struct files *f, const char *oid) {
    AUTO_BUF struct buf from = BUF_INIT, to = BUF_INIT;
    char hex[OID + 1] = "";
    struct sha256 sum;
    int64_t bytes;
    AUTO_CLOSE int in = -1;
    buf_printf(&from, "%s/lfs/%.2s/%.2s/%.64s", f->copies, oid, oid + 2, oid);
    buf_printf(&to, "lfs/objects/%.2s/%.2s/%.64s", oid, oid + 2, oid);
    int rc = lake_open_file(f->l, from.data, &in, f->why);
    if (rc)
        return damaged(f, oid, rc == TL_NOTFOUND ? "is gone" : "cannot be opened, or is no file");
    if (lake_folders(f->to, to.data))
        return fail_errno(f->why, TL_FAILED, "cannot make the folder of %s", to.data);
    if (faccessat(f->to, to.data, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return TL_OK; /* a list that was edited names it twice */
    AUTO_CLOSE int out = openat(f->to, to.data, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (out < 0 || copy_bytes(in, out) || hash_file(out, &sum, &bytes))
        return fail_errno(f->why, TL_FAILED, "cannot write %s", to.data);
    hash_hex(sum.byte, SHA256_BYTES, hex);
    return memcmp(hex, oid, OID) == 0 ? TL_OK : damaged(f, oid, "is damaged: its SHA-256 is another");
}

int restore_lfs(struct lake *l, const char *copies, int64_t at_us, const char *to, int64_t *files, int64_t *lacking,
                struct fail *why) {
    AUTO_BUF struct buf path = BUF_INIT, text = {.max = LIST_MOST};
    AUTO_CLOSE int folder = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct files f = {.l = l, .copies = copies, .to = folder, .why = why};
    *files = *lacking = 0;
    if (folder < 0)
        return fail_errno(why, TL_FAILED, "cannot open %s", to);
    if (!newest_list(&f, at_us, &path))
        return TL_OK;
    int rc = lake_read(l, path.data, &text, why);
    for (const char *line = text.data; line && *line && !rc; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *oid = line + (*line == '-');
        if (strspn(oid, "0123456789abcdef") != OID || oid[OID] != ' ')
            continue;
        if (*line == '-')
            ++*lacking;
        else if (!(rc = put_one(&f, oid)))
            ++*files;
    }
    return rc;
}
