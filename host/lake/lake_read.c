/* lake_read.c - finding what is in the lake: one file by its path, all files in order.
 *
 * Invariant: nothing outside the lake is opened (a path has no ".." and no link is followed at its end), and a
 * committed document is found at any moment, also between its commit and its rename. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "lake/lake_inside.h"

/* ---- one file ---- */

static int open_regular(int at, const char *path) {
    int fd = openat(at, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat s;
    if (fd >= 0 && (fstat(fd, &s) < 0 || !S_ISREG(s.st_mode))) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

static int open_staged(struct lake *l, const char *path) {
    AUTO_CLOSE int root = openat(l->fd, LAKE_STAGING, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct lake_names owners = {0};
    if (root < 0 || lake_list(root, &owners))
        return -1;
    AUTO_BUF struct buf name = BUF_INIT;
    lake_staged_name(&name, path);
    const char *last = strrchr(path, '/');
    int fd = -1;
    for (size_t i = 0; i < owners.count && fd < 0; i++) {
        AUTO_CLOSE int folder =
            owners.folder[i] ? openat(root, owners.name[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        if (folder >= 0 && (fd = open_regular(folder, name.data)) < 0)
            fd = open_regular(folder, last ? last + 1 : path);
    }
    lake_names_free(&owners);
    return fd;
}

int lake_open_file(struct lake *l, const char *path, int *fd, struct fail *why) {
    *fd = -1;
    if (!lake_path_ok(path))
        return fail_set(why, TL_INVALID, "\"%.400s\" is no path in a lake", path);
    *fd = open_regular(l->fd, path);
    if (*fd < 0 && errno == ENOENT) {
        *fd = open_staged(l, path);
        if (*fd < 0)
            *fd = open_regular(l->fd, path); /* renamed while we looked */
    }
    if (*fd >= 0)
        return TL_OK;
    if (errno == ENOENT || errno == ENOTDIR)
        return fail_set(why, TL_NOTFOUND, "there is no file %.300s/%.400s", l->path, path);
    return fail_errno(why, TL_FAILED, "cannot open %.300s/%.400s", l->path, path);
}

int lake_read(struct lake *l, const char *path, struct buf *out, struct fail *why) {
    AUTO_CLOSE int fd = -1;
    int rc = lake_open_file(l, path, &fd, why);
    if (rc)
        return rc;
    struct stat s;
    if (fstat(fd, &s) < 0)
        return fail_errno(why, TL_FAILED, "cannot read %.300s/%.400s", l->path, path);
    if (!buf_reserve(out, (size_t)s.st_size + 1))
        return fail_set(why, TL_FAILED, "%.300s/%.400s is too large to be read into memory (%lld bytes)", l->path, path,
                        (long long)s.st_size);
    for (;;) {
        ssize_t n = read(fd, out->data + out->len, out->room - 1 - out->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(why, TL_FAILED, "cannot read %.300s/%.400s", l->path, path);
        out->len += (size_t)n;
        out->data[out->len] = '\0';
        if (n == 0)
            return TL_OK;
        if (!buf_reserve(out, 1))
            return fail_set(why, TL_FAILED, "%.300s/%.400s grows while it is read", l->path, path);
    }
}

/* ---- all files ---- */

struct entry {
    char *name;
    bool folder;
};

static int compare_entries(const void *left, const void *right) {
    const struct entry *a = left, *b = right;
    const unsigned char *p = (const unsigned char *)a->name, *q = (const unsigned char *)b->name;
    for (; *p && *p == *q; p++)
        q++;
    int one = *p ? *p : a->folder ? '/' : 0, other = *q ? *q : b->folder ? '/' : 0;
    return one - other;
}

/* Is it a regular file or a folder? Anything else is not for us, unless any is asked for. */
static bool classify(int folder, const struct dirent *e, bool any, bool *is_folder) {
    unsigned char type = e->d_type;
    if (type == DT_UNKNOWN) {
        struct stat s;
        if (fstatat(folder, e->d_name, &s, AT_SYMLINK_NOFOLLOW) < 0)
            return false;
        type = S_ISDIR(s.st_mode) ? DT_DIR : S_ISREG(s.st_mode) ? DT_REG : DT_UNKNOWN;
    }
    *is_folder = type == DT_DIR;
    return any || type == DT_DIR || type == DT_REG;
}

static int list(int folder, bool any, struct lake_names *out) {
    *out = (struct lake_names){0};
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    if (!dir) {
        if (again >= 0)
            close(again);
        return TL_FAILED;
    }
    struct entry *entries = NULL;
    size_t count = 0, room = 0;
    const struct dirent *e;
    while (errno = 0, (e = readdir(dir)) != NULL) {
        bool is_folder;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || !classify(folder, e, any, &is_folder))
            continue;
        MEM_GROW(entries, count, room);
        entries[count++] = (struct entry){mem_text(e->d_name), is_folder};
    }
    int error = errno;
    closedir(dir);
    if (count)
        qsort(entries, count, sizeof *entries, compare_entries);
    out->count = count;
    out->name = mem_array(NULL, count + 1, sizeof *out->name);
    out->folder = mem_array(NULL, count + 1, sizeof *out->folder);
    for (size_t i = 0; i < count; i++) {
        out->name[i] = entries[i].name;
        out->folder[i] = entries[i].folder;
    }
    free(entries);
    if (error)
        lake_names_free(out);
    errno = error;
    return error ? TL_FAILED : TL_OK;
}

int lake_list(int folder, struct lake_names *out) {
    return list(folder, false, out);
}

void lake_names_free(struct lake_names *n) {
    for (size_t i = 0; i < n->count; i++)
        free(n->name[i]);
    free(n->name);
    free(n->folder);
    *n = (struct lake_names){0};
}

struct walk {
    int (*each)(void *ctx, const char *path, int64_t bytes, unsigned mode);
    void *ctx;
    struct buf path; /* relative to the lake, of what is being looked at */
    const struct lake *l;
    bool any; /* also what is neither a file nor a folder */
    struct fail *why;
};

static int walk_folder(struct walk *w, int folder, int depth);

static int walk_entry(struct walk *w, int folder, const char *name, bool is_folder, int depth) {
    if (is_folder) {
        AUTO_CLOSE int below = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0 && errno == ENOENT)
            return 0;
        if (below < 0)
            return fail_errno(w->why, TL_FAILED, "cannot open %.300s/%.400s", w->l->path, w->path.data);
        return walk_folder(w, below, depth + 1);
    }
    struct stat s;
    if (fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT
                   ? 0
                   : fail_errno(w->why, TL_FAILED, "cannot look at %.300s/%.400s", w->l->path, w->path.data);
    bool regular = S_ISREG(s.st_mode);
    return regular || w->any ? w->each(w->ctx, w->path.data, regular ? (int64_t)s.st_size : -1, s.st_mode & 07777) : 0;
}

static int walk_folder(struct walk *w, int folder, int depth) {
    struct lake_names names;
    if (depth > LAKE_FOLDER_DEPTH)
        return fail_set(w->why, TL_INVALID, "%.300s/%.400s is nested too deep for a lake", w->l->path,
                        buf_span(&w->path).ptr);
    if (list(folder, w->any, &names))
        return fail_errno(w->why, TL_FAILED, "cannot list %.300s/%.400s", w->l->path, buf_span(&w->path).ptr);
    size_t before = w->path.len;
    int rc = 0;
    for (size_t i = 0; i < names.count && !rc; i++) {
        if (!before && strcmp(names.name[i], LAKE_STAGING) == 0)
            continue;
        buf_text(&w->path, before ? "/" : "");
        buf_text(&w->path, names.name[i]);
        rc = walk_entry(w, folder, names.name[i], names.folder[i], depth);
        w->path.len = before;
        w->path.data[before] = '\0';
    }
    lake_names_free(&names);
    return rc;
}

static int walk_below(struct lake *l, const char *sub, bool any,
                      int (*each)(void *ctx, const char *path, int64_t bytes, unsigned mode), void *ctx,
                      struct fail *why) {
    if (*sub && !lake_path_ok(sub))
        return fail_set(why, TL_INVALID, "\"%.400s\" is no path in a lake", sub);
    AUTO_CLOSE int folder = openat(l->fd, *sub ? sub : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return errno == ENOENT ? TL_OK : fail_errno(why, TL_FAILED, "cannot open %.300s/%.400s", l->path, sub);
    struct walk w = {.each = each, .ctx = ctx, .l = l, .any = any, .why = why};
    buf_text(&w.path, sub);
    int rc = walk_folder(&w, folder, 0);
    buf_free(&w.path);
    return rc > 0 ? TL_OK : rc;
}

int lake_walk(struct lake *l, const char *sub, int (*each)(void *ctx, const char *path, int64_t bytes, unsigned mode),
              void *ctx, struct fail *why) {
    return walk_below(l, sub, false, each, ctx, why);
}

int lake_walk_any(struct lake *l, const char *sub,
                  int (*each)(void *ctx, const char *path, int64_t bytes, unsigned mode), void *ctx, struct fail *why) {
    return walk_below(l, sub, true, each, ctx, why);
}
