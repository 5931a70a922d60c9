/* lake_backup.c - see lake_backup.h.
 *
 * Invariant: every part of such a path is a partition value (lake_value), so that no name leads out of the backups, and
 * a folder of copies is never called like a name that leads to one. */
#include "lake/lake_backup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/times.h"
#include "lake/lake_inside.h"

static const char *const kind_name[] = {"bundle", "zip", "error", "refs", "lfs", "json"};

static bool is_kind(const char *text) {
    for (size_t i = 0; i < COUNT_OF(kind_name); i++)
        if (strcmp(text, kind_name[i]) == 0)
            return true;
    return false;
}

static struct sha256 digest_of(const char *owner) {
    AUTO_BUF struct buf small = BUF_INIT;
    for (const char *c = owner; *c; c++) /* ASCII alone: owners on other servers may be spelt in others */
        buf_char(&small, *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c);
    return hash_sha256(small.data ? small.data : "", small.len);
}

int lake_backup_byte(const char *owner) {
    return digest_of(owner).byte[0];
}

void lake_backup_folder(struct buf *out, const struct lake_backup *b) {
    struct sha256 d = digest_of(b->owner);
    buf_lit(out, LAKE_BACKUPS "/shard=");
    lake_value(out, span_of(b->shard));
    buf_char(out, '/');
    lake_value(out, span_of(b->server));
    buf_printf(out, "/%02x/%02x/%02x/%02x/", d.byte[0], d.byte[1], d.byte[2], d.byte[3]);
    lake_value(out, span_of(b->owner));
}

/* A repository may be called like the bundle of another one: its folder is then spelt with %2E for the last dot. */
void lake_backup_copies(struct buf *out, const struct lake_backup *b) {
    AUTO_BUF struct buf name = BUF_INIT;
    lake_backup_folder(out, b);
    buf_char(out, '/');
    lake_value(&name, span_of(b->name));
    const char *dot = strrchr(name.data, '.');
    if (dot && is_kind(dot + 1))
        buf_printf(out, "%.*s%%2E%s", (int)(dot - name.data), name.data, dot + 1);
    else
        buf_text(out, name.data);
}

const char *lake_backup_date(int64_t at_us, char out[LAKE_BACKUP_DATE]) {
    char text[TIME_TEXT];
    memcpy(out, time_text(at_us, text), LAKE_BACKUP_DATE);
    out[13] = out[16] = '-'; /* no ':' in the name of a file */
    out[LAKE_BACKUP_DATE - 2] = 'Z';
    out[LAKE_BACKUP_DATE - 1] = '\0';
    return out;
}

int lake_backup_time(struct tl_span date, int64_t *at_us) {
    char text[LAKE_BACKUP_DATE];
    if (date.len < LAKE_BACKUP_DATE - 1)
        return TL_INVALID;
    memcpy(text, date.ptr, LAKE_BACKUP_DATE - 1);
    text[LAKE_BACKUP_DATE - 1] = '\0';
    if (text[13] != '-' || text[16] != '-')
        return TL_INVALID;
    text[13] = text[16] = ':';
    return time_parse(span_of(text), at_us) ? TL_INVALID : TL_OK;
}

void lake_backup_copy(struct buf *out, const struct lake_backup *b) {
    char date[LAKE_BACKUP_DATE];
    lake_backup_copies(out, b);
    buf_printf(out, "/%s.%s", lake_backup_date(b->at_us, date), b->kind);
}

void lake_backup_newest(struct buf *out, const struct lake_backup *b) {
    lake_backup_folder(out, b);
    buf_char(out, '/');
    lake_value(out, span_of(b->name));
    buf_printf(out, ".%s", b->kind);
}

void lake_backup_object(struct buf *out, const struct lake_backup *b, const char *oid) {
    lake_backup_copies(out, b);
    buf_printf(out, "/lfs/%.2s/%.2s/%s", oid, oid + 2, oid);
}

static size_t split(const char *path, const char **part, size_t *len, size_t most) {
    size_t n = 0;
    for (const char *c = path; n < most; c++) {
        part[n] = c;
        len[n++] = strcspn(c, "/");
        c += strcspn(c, "/");
        if (!*c)
            break;
    }
    return n;
}

static bool is_plain(const char *path) { /* as lake_value writes them */
    for (const char *c = path; *c; c++)
        if ((unsigned char)*c < 0x21 || (unsigned char)*c > 0x7e || *c == '\\')
            return false;
    return true;
}

bool lake_backup_is_object(const char *path) {
    enum { PARTS = 13, OID = 64 }; /* those of a copy up to its name, lfs, two folders, the object */
    const char *part[PARTS + 1];
    size_t len[PARTS + 1];
    return lake_path_ok(path) && is_plain(path) && split(path, part, len, PARTS + 1) == PARTS &&
           span_eq((struct tl_span){part[0], len[0]}, LAKE_BACKUPS) && strncmp(part[1], "shard=", 6) == 0 &&
           span_eq((struct tl_span){part[9], len[9]}, "lfs") && len[10] == 2 && len[11] == 2 && len[12] == OID &&
           strspn(part[12], "0123456789abcdef") == OID && memcmp(part[10], part[12], 2) == 0 &&
           memcmp(part[11], part[12] + 2, 2) == 0;
}

/* The name of a repository from that of the folder of its copies. */
static void add_name(struct buf *out, struct tl_span folder) {
    for (size_t i = 0; i < COUNT_OF(kind_name); i++) {
        size_t n = strlen(kind_name[i]);
        if (folder.len > n + 3 && memcmp(folder.ptr + folder.len - n - 3, "%2E", 3) == 0 &&
            memcmp(folder.ptr + folder.len - n, kind_name[i], n) == 0) {
            buf_printf(out, "%.*s.%s", (int)(folder.len - n - 3), folder.ptr, kind_name[i]);
            return;
        }
    }
    buf_add(out, folder.ptr, folder.len);
}

bool lake_backup_is_copy(const char *path, struct buf *newest) {
    enum { PARTS = 10 }; /* backups, shard=, server, four bytes, owner, name, date.kind */
    const char *part[PARTS + 1];
    size_t len[PARTS + 1];
    int64_t at;
    if (!lake_path_ok(path) || !is_plain(path))
        return false;
    size_t n = split(path, part, len, PARTS + 1);
    if (n != PARTS || !span_eq((struct tl_span){part[0], len[0]}, LAKE_BACKUPS) || strncmp(part[1], "shard=", 6) != 0 ||
        len[9] < LAKE_BACKUP_DATE + 1 || lake_backup_time((struct tl_span){part[9], len[9]}, &at) ||
        part[9][LAKE_BACKUP_DATE - 1] != '.' ||
        (!is_kind(part[9] + LAKE_BACKUP_DATE) && strcmp(part[9] + LAKE_BACKUP_DATE - 1, LAKE_BACKUP_DROPPED) != 0))
        return false;
    if (!newest)
        return true;
    buf_add(newest, path, (size_t)(part[8] - path));
    add_name(newest, (struct tl_span){part[8], len[8]});
    buf_printf(newest, ".%s", part[9] + LAKE_BACKUP_DATE);
    return true;
}

/* ---- publishing */

bool lake_backup_is_full(int folder, const char *name) {
    enum { HEAD = 512 };
    static const char sign[] = "# v3 git bundle\n";
    char head[HEAD + 1];
    AUTO_CLOSE int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : pread(fd, head, HEAD, 0);
    if (n < (ssize_t)sizeof sign || memcmp(head, sign, 3) != 0 || memcmp(head + 4, sign + 4, sizeof sign - 5) != 0)
        return fd >= 0; /* no bundle that git made: it builds on nothing */
    head[n] = '\0';
    const char *line = head + sizeof sign - 1;
    while (*line == '@' && (line = strchr(line, '\n'))) /* capabilities stand before what it builds on */
        line++;
    return !line || *line != '-';
}

/* Is there a later copy of this kind, whose name may be there already? */
static bool is_outdone(struct lake *l, const char *to) {
    AUTO_FREE char *folder = mem_text(to);
    char *slash = strrchr(folder, '/');
    const char *own = slash + 1, *kind = strrchr(own, '.');
    struct lake_names names;
    bool later = false;
    *slash = '\0';
    AUTO_CLOSE int fd = openat(l->fd, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || lake_list(fd, &names))
        return false;
    for (size_t i = names.count; i > 0 && !later; i--) {
        const char *name = names.name[i - 1], *dot = strrchr(name, '.');
        later = !names.folder[i - 1] && dot && strcmp(dot, kind) == 0 && strcmp(name, own) > 0 &&
                (strcmp(kind, ".bundle") != 0 || lake_backup_is_full(fd, name));
    }
    lake_names_free(&names);
    return later;
}

/* A second name for the staged file, or where there can be none, a symlink to what it will be called. */
static int second_name(int from, const char *name, const char *to, const char *second) {
    unlinkat(from, second, 0);
    if (linkat(from, name, from, second, 0) == 0)
        return 0;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != EMLINK && errno != ENOSYS)
        return -1;
    const char *file = strrchr(to, '/');
    while (file > to && file[-1] != '/')
        file--;
    return symlinkat(file, from, second);
}

int lake_backup_lead(struct lake *l, int from, const char *name, const char *to, struct fail *why) {
    AUTO_BUF struct buf newest = BUF_INIT, second = BUF_INIT;
    struct stat st;
    if (lake_backup_is_object(to))
        return TL_OK; /* it is called by what it is */
    if (!lake_backup_is_copy(to, &newest))
        return fail_set(why, TL_INVALID, "\"%.400s\" is no path of a backup", to);
    if (strcmp(strrchr(to, '.'), LAKE_BACKUP_DROPPED) == 0) { /* a mark: what it lets go is removed later */
        buf_printf(&l->marked, "%.*s\n", (int)(strrchr(to, '/') - to), to);
        return TL_OK;
    }
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || is_outdone(l, to) ||
        (st.st_size && strcmp(strrchr(to, '.'), ".bundle") == 0 && !lake_backup_is_full(from, name)))
        return TL_OK; /* it has its name already, or need not get it */
    if (st.st_size == 0)
        return unlinkat(l->fd, newest.data, 0) < 0 && errno != ENOENT ? lake_broken(why, "remove", l, newest.data)
                                                                      : TL_OK;
    buf_printf(&second, "%s.newest", name);
    if (lake_folders(l->fd, to) || second_name(from, name, to, second.data) ||
        renameat(from, second.data, l->fd, newest.data))
        return lake_broken(why, "give its name to", l, newest.data);
    unlinkat(from, second.data, 0); /* still there when it was the same file already */
    return TL_OK;
}
