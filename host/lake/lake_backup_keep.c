/* lake_backup_keep.c - which dated copies of a repository a policy can do without, and letting them go.
 *
 * Invariant: the newest copy stays, what a name leads to, and with each that stays all that it builds on, whatever the
 * policy says; a copy whose manifest cannot be read lets nothing go. Runs choose at their leisure, and several may be
 * under way: so a choice is only a mark, published with the copy that made it possible. What is marked is removed by
 * whoever holds the backups, when all that was recorded is in its place, and only if nothing builds on it; what is
 * recorded is asked before, still holding them, whether all that it builds on is there. A mark whose copy could not go
 * yet is chosen again with the next copy. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/times.h"
#include "lake/lake_backup.h"
#include "lake/lake_inside.h"

enum { HEAD_MOST = 16384 };

struct copy {
    char date[LAKE_BACKUP_DATE], base[LAKE_BACKUP_DATE]; /* base: "" of a full one */
    int64_t at_us;
    bool stays;
};

/* ---- choosing */

static bool base_of(struct tl_span manifest, char out[LAKE_BACKUP_DATE]) {
    static const char key[] = "\n# base ";
    int64_t at;
    const char *found = memmem(manifest.ptr, manifest.len, key, sizeof key - 1);
    out[0] = '\0';
    if (!found)
        return true;
    found += sizeof key - 1;
    if (lake_backup_time((struct tl_span){found, (size_t)(manifest.ptr + manifest.len - found)}, &at))
        return false;
    memcpy(out, found, LAKE_BACKUP_DATE - 1);
    out[LAKE_BACKUP_DATE - 1] = '\0';
    return true;
}

/* A bundle without manifest is a full one. */
static bool read_base(int folder, struct copy *c) {
    char name[LAKE_BACKUP_DATE + 8], head[HEAD_MOST];
    memcpy(name, c->date, LAKE_BACKUP_DATE - 1);
    memcpy(name + LAKE_BACKUP_DATE - 1, ".refs", sizeof ".refs");
    AUTO_CLOSE int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
    ssize_t n = read(fd, head, sizeof head);
    return n >= 0 && base_of((struct tl_span){head, (size_t)n}, c->base);
}

static int64_t period_of(int64_t at_us, bool month) {
    enum { DAY = 86400, MONDAY = 3 };
    struct civil c = time_civil(at_us);
    return month ? (int64_t)c.year * 12 + c.month : (at_us / time_seconds_us(DAY) + MONDAY) / 7;
}

/* The newest of each of the last so many periods that have one. */
static void keep_periods(struct copy *c, size_t n, int64_t most, bool month) {
    int64_t before = -1;
    for (size_t i = n; i > 0 && most > 0; i--) {
        int64_t period = period_of(c[i - 1].at_us, month);
        if (period == before)
            continue;
        c[i - 1].stays = true;
        before = period;
        most--;
    }
}

/* The name without a date leads to it. */
static void keep_newest_full(struct copy *c, size_t n) {
    while (n > 0 && c[n - 1].base[0])
        n--;
    if (n > 0)
        c[n - 1].stays = true;
}

/* What is built on is older: one pass from the newest on is enough. */
static void keep_bases(struct copy *c, size_t n) {
    for (size_t i = n; i > 0; i--)
        for (size_t j = i - 1; c[i - 1].stays && c[i - 1].base[0] && j > 0; j--)
            if (strcmp(c[j - 1].date, c[i - 1].base) == 0)
                c[j - 1].stays = true;
}

static bool add(struct copy *c, const char *date, int64_t at_us) {
    *c = (struct copy){.at_us = at_us};
    memcpy(c->date, date, LAKE_BACKUP_DATE - 1);
    return true;
}

size_t lake_backup_spare(int folder, const struct lake_keep *keep, int64_t at_us, struct tl_span manifest,
                         char (*out)[LAKE_BACKUP_DATE], size_t most) {
    struct lake_names names;
    char date[LAKE_BACKUP_DATE];
    size_t n = 0, count = 0;
    bool sound = true;
    if ((keep->last <= 0 && keep->weekly <= 0 && keep->monthly <= 0) || lake_list(folder, &names))
        return 0;
    struct copy *c = mem_alloc((names.count + 1) * sizeof *c);
    lake_backup_date(at_us, date);
    for (size_t i = 0; i < names.count && sound; i++) { /* in the order of their dates */
        int64_t at;
        if (names.folder[i] || lake_backup_time(span_of(names.name[i]), &at) ||
            strcmp(names.name[i] + LAKE_BACKUP_DATE - 1, ".bundle") != 0 ||
            strncmp(names.name[i], date, LAKE_BACKUP_DATE - 1) >= 0)
            continue;
        sound = add(&c[n], names.name[i], at) && read_base(folder, &c[n]);
        n++;
    }
    add(&c[n], date, at_us);
    sound = sound && base_of(manifest, c[n++].base);
    for (size_t i = 0; i < n; i++)
        c[i].stays = (int64_t)(n - i) <= keep->last || i == n - 1;
    keep_periods(c, n, keep->weekly, false);
    keep_periods(c, n, keep->monthly, true);
    keep_newest_full(c, n);
    keep_bases(c, n);
    for (size_t i = n; i > 0 && sound && count < most; i--) /* the newest first: nothing loses what it builds on */
        if (!c[i - 1].stays)
            memcpy(out[count++], c[i - 1].date, LAKE_BACKUP_DATE);
    free(c);
    lake_names_free(&names);
    return count;
}

bool lake_backup_let_go(struct lake *l, const char *path) {
    AUTO_BUF struct buf mark = BUF_INIT;
    const char *dot = strrchr(path, '.');
    if (!lake_backup_is_copy(path, NULL))
        return false;
    buf_printf(&mark, "%.*s" LAKE_BACKUP_DROPPED, (int)(dot - path), path);
    return faccessat(l->fd, mark.data, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- removing */

static const char *const part_of_copy[] = {"bundle", "zip", "refs"};

static bool is_same_file(int a, const char *left, int b, const char *right) {
    struct stat l, r;
    return fstatat(a, left, &l, 0) == 0 && fstatat(b, right, &r, 0) == 0 && l.st_dev == r.st_dev &&
           l.st_ino == r.st_ino;
}

/* Does a name still lead to a part of the copy of that date? */
static bool is_led_to(struct lake *l, int fd, const char *folder, const char *date) {
    for (size_t i = 0; i < COUNT_OF(part_of_copy); i++) {
        AUTO_BUF struct buf path = BUF_INIT, newest = BUF_INIT;
        buf_printf(&path, "%s/%s.%s", folder, date, part_of_copy[i]);
        if (lake_backup_is_copy(path.data, &newest) &&
            is_same_file(fd, path.data + strlen(folder) + 1, l->fd, newest.data))
            return true;
    }
    return false;
}

static void remove_copy(int fd, const char *date) {
    char name[LAKE_BACKUP_DATE + 8];
    for (size_t i = 0; i < COUNT_OF(part_of_copy); i++) {
        snprintf(name, sizeof name, "%s.%s", date, part_of_copy[i]);
        unlinkat(fd, name, 0);
    }
}

static bool is_built_on(const struct copy *c, size_t n, const char *date) {
    for (size_t i = 0; i < n; i++)
        if (c[i].stays && strcmp(c[i].base, date) == 0)
            return true;
    return false;
}

/* The newest first, so that what only a marked copy builds on goes with it. */
static void sweep(struct lake *l, const char *folder) {
    struct lake_names names;
    AUTO_CLOSE int fd = openat(l->fd, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || lake_list(fd, &names))
        return;
    struct copy *c = mem_alloc((names.count + 1) * sizeof *c);
    size_t n = 0;
    bool sound = true;
    for (size_t i = 0; i < names.count && sound; i++) {
        int64_t at;
        if (names.folder[i] || lake_backup_time(span_of(names.name[i]), &at) ||
            strcmp(names.name[i] + LAKE_BACKUP_DATE - 1, ".bundle") != 0)
            continue;
        sound = add(&c[n], names.name[i], at) && read_base(fd, &c[n]);
        c[n++].stays = true;
    }
    for (size_t i = n; i > 0 && sound; i--) {
        char mark[LAKE_BACKUP_DATE + sizeof LAKE_BACKUP_DROPPED];
        snprintf(mark, sizeof mark, "%s" LAKE_BACKUP_DROPPED, c[i - 1].date);
        if (faccessat(fd, mark, F_OK, AT_SYMLINK_NOFOLLOW) == 0 && !is_built_on(c, n, c[i - 1].date) &&
            !is_led_to(l, fd, folder, c[i - 1].date)) {
            remove_copy(fd, c[i - 1].date);
            c[i - 1].stays = false;
        }
    }
    free(c);
    lake_names_free(&names);
}

/* What the dead have recorded and not published may build on anything: recovery comes first. */
static bool left_by_the_dead(struct lake *l) {
    struct lake_names owners = {0};
    bool found = false;
    AUTO_CLOSE int root = openat(l->fd, LAKE_STAGING, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (root < 0 || lake_list(root, &owners))
        return root >= 0;
    for (size_t i = 0; i < owners.count && !found; i++)
        found = owners.folder[i] && !lake_owner_alive(l, owners.name[i]);
    lake_names_free(&owners);
    return found;
}

int lake_backup_hold(struct lake *l, struct fail *why) {
    if (l->backups >= 0)
        return TL_OK;
    if (mkdirat(l->fd, LAKE_BACKUPS, 0755) < 0 && errno != EEXIST)
        return lake_broken(why, "make", l, LAKE_BACKUPS);
    l->backups = openat(l->fd, LAKE_BACKUPS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (l->backups < 0)
        return lake_broken(why, "open", l, LAKE_BACKUPS);
    while (flock(l->backups, LOCK_EX) < 0)
        if (errno != EINTR)
            return lake_broken(why, "lock", l, LAKE_BACKUPS);
    return TL_OK;
}

bool lake_backup_fits(struct lake *l, const char *staged, const char *to) {
    struct copy c = {0};
    char head[HEAD_MOST];
    const char *kind = strrchr(to, '.');
    if (!lake_backup_is_copy(to, NULL) || strcmp(kind, LAKE_BACKUP_DROPPED) == 0)
        return true;
    if (faccessat(l->fd, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return false;
    if (strcmp(kind, ".refs") != 0)
        return true;
    AUTO_CLOSE int fd = openat(l->own, staged, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof head, 0);
    AUTO_BUF struct buf base = BUF_INIT;
    if (n < 0 || !base_of((struct tl_span){head, (size_t)n}, c.base) || !c.base[0])
        return true;
    buf_printf(&base, "%.*s/%s.bundle", (int)(strrchr(to, '/') - to), to, c.base);
    return faccessat(l->fd, base.data, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void lake_backup_release(struct lake *l) {
    if (l->backups >= 0 && l->marked.len && !left_by_the_dead(l))
        for (char *line = l->marked.data, *end; (end = strchr(line, '\n')); line = end + 1) {
            *end = '\0';
            if (strncmp(end + 1, line, strlen(line)) != 0 || end[1 + strlen(line)] != '\n') /* each once, mostly */
                sweep(l, line);
        }
    buf_reset(&l->marked);
    if (l->backups >= 0)
        close(l->backups);
    l->backups = -1;
}
