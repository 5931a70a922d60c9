/* lake_backup_keep.c - which dated copies of a repository a policy can do without, and letting them go.
 *
 * Invariant: the newest copy stays, and with each that stays all that it builds on, whatever the policy says; a copy
 * whose manifest cannot be read lets nothing go. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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
