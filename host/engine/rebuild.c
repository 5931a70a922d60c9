/* rebuild.c - see rebuild.h. Crawls come in the order of their start, so that what a crawl refers to is there before
 * it. */
#include "engine/rebuild.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/mem.h"
#include "engine/rebuild_tables.h"
#include "engine/tracker_record.h"
#include "lake/lake_tracked.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

struct rebuild {
    struct store *s;
    struct lake *l;
    const struct rebuild_events *to;
    struct rebuild_sums *sums;
    struct fail *why;
    char **later; /* records of tables to be tried again */
    size_t later_count, later_room;
    char summary[UUID_TEXT]; /* id of the last ROOT.json, which sorts before its ROOT.jsonl */
    struct uuid root;        /* whose documents are walked over */
    int64_t count;           /* documents of it that nothing records; -1: it is in the catalog */
};

static void problem(struct rebuild *r, const char *path, const char *text) {
    AUTO_BUF struct buf line = BUF_INIT;
    buf_printf(&line, "%s/%s: %s", lake_path(r->l), path, text);
    r->sums->problems++;
    r->to->problem(r->to->ctx, line.data);
}

/* ---- one closing record */

static int open_package(struct rebuild *r, const char *path, const struct package_head *head, int *fd,
                        struct fail *why) {
    struct sha256 sum;
    int64_t bytes;
    AUTO_BUF struct buf package = BUF_INIT;
    buf_printf(&package, "%sl", path);
    if (strcmp(package.data, head->path.data) != 0)
        return fail_exit(why, TL_INVALID, EXIT_DAMAGED, "its package should be %.300sl, not %.300s", path,
                         head->path.data);
    int rc = lake_open_file(r->l, package.data, fd, why);
    if (rc)
        return rc;
    if (hash_file(*fd, &sum, &bytes) || lseek(*fd, 0, SEEK_SET) < 0)
        return fail_errno(why, TL_FAILED, "its package cannot be read");
    if (bytes != head->package.bytes || memcmp(&sum, &head->package.sha256, sizeof sum) != 0)
        return fail_exit(why, TL_INVALID, EXIT_DAMAGED, "its package %.300s is damaged: the SHA-256 is another",
                         package.data);
    return TL_OK;
}

static int read_record(struct rebuild *r, const char *path, struct package_head *head, struct fail *why) {
    AUTO_BUF struct buf text = {.max = PACKAGE_SUMMARY_MAX}, file = BUF_INIT;
    AUTO_CLOSE int fd = -1;
    char id[UUID_TEXT], name[UUID_TEXT + 8];
    int rc = lake_read(r->l, path, &text, why);
    if (!rc)
        rc = package_head_read(buf_span(&text), head, why);
    if (rc)
        return rc;
    snprintf(name, sizeof name, "/%s.json", uuid_text(&head->root_id, id));
    if (!strstr(path, name))
        return fail_exit(why, TL_INVALID, EXIT_DAMAGED, "it is the record of crawl %s", id);
    if ((rc = open_package(r, path, head, &fd, why)))
        return rc;
    buf_printf(&file, "%s/%s", lake_path(r->l), head->path.data);
    rc = rebuild_package(r->s, fd, file.data, head, why);
    if (rc && why->exit_code == 0)
        why->exit_code = EXIT_DAMAGED;
    return rc;
}

/* FILE:LINE: may be said already. */
static void damaged(struct rebuild *r, const char *path, const struct fail *why) {
    size_t len = strlen(lake_path(r->l));
    if (strncmp(why->text, lake_path(r->l), len) == 0 && why->text[len] == '/') {
        r->sums->problems++;
        r->to->problem(r->to->ctx, why->text);
    } else
        problem(r, path, why->text);
}

static void restore(struct rebuild *r, const char *path, struct package_head *head, const struct fail *why, int rc) {
    if (!rc) {
        r->sums->crawls++;
        r->sums->runs += head->runs;
        r->sums->documents += head->package.documents;
        if (r->to->restored)
            r->to->restored(r->to->ctx, head);
        return;
    }
    damaged(r, path, why);
}

static bool ends_with(const char *path, const char *end) {
    size_t len = strlen(path), n = strlen(end);
    return len > n && strcmp(path + len - n, end) == 0;
}

/* A link, a pipe or the like in the place of a record. */
static int odd(struct rebuild *r, const char *path) {
    problem(r, path, LAKE_NO_FILE);
    return 0;
}

static int each_record(void *ctx, const char *path, int64_t bytes, unsigned mode) {
    struct rebuild *r = ctx;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    (void)mode;
    if (bytes < 0)
        return odd(r, path);
    if (ends_with(path, ".jsonl")) {
        if (strncmp(name, r->summary, UUID_TEXT - 1) != 0 || !*r->summary)
            problem(r, path, "it has no summary beside it, so it is no closing record (or was not finished)");
        return 0;
    }
    if (!ends_with(path, ".json"))
        return 0; /* not ours; verify names it */
    snprintf(r->summary, sizeof r->summary, "%.36s", name);
    struct fail why = FAIL_INIT;
    struct package_head head = {0};
    int rc = read_record(r, path, &head, &why);
    bool over = rc && why.exit_code == EXIT_DISK; /* the others would fail as well */
    if (over)
        *r->why = why;
    else
        restore(r, path, &head, &why, rc);
    package_head_free(&head);
    return over ? TL_FAILED : 0;
}

/* A negative status ends the rebuild; 1: it is not what it should be, or builds on records that did not come yet. */
static int try_tables(struct rebuild *r, const char *path, struct fail *why) {
    int64_t files;
    FAULT_POINT("record-tried");
    int rc = rebuild_tables(r->s, r->l, path, &files, why);
    if (rc && why->exit_code == EXIT_DISK) {
        *r->why = *why;
        return rc;
    }
    r->sums->tables += files;
    return rc != 0;
}

static int each_tables(void *ctx, const char *path, int64_t bytes, unsigned mode) {
    struct rebuild *r = ctx;
    struct fail why = FAIL_INIT;
    (void)mode;
    if (bytes < 0)
        return odd(r, path);
    int rc = try_tables(r, path, &why);
    if (rc > 0) {
        MEM_GROW(r->later, r->later_count, r->later_room);
        r->later[r->later_count++] = mem_text(path);
    }
    return rc < 0 ? rc : 0;
}

/* Ids go by the clock of whoever made them: where it was set back, a record may stand before one that it builds on. One
 * pass goes from the last to the first, the next the other way, so that it takes as many as the clock was set, however
 * many records there are; and there is an end to them, for a lake can be made in which that is as often. */
static int tables_of_later(struct rebuild *r) {
    enum { PASSES_MOST = 50 };
    size_t left = r->later_count, before = left + 1;
    int rc = 0;
    for (int pass = 0; left && left < before && pass < PASSES_MOST && rc >= 0; pass++) {
        before = left;
        left = 0;
        for (size_t i = 0; i < before / 2; i++) {
            char *path = r->later[i];
            r->later[i] = r->later[before - 1 - i];
            r->later[before - 1 - i] = path;
        }
        for (size_t i = 0; i < before && rc >= 0; i++) {
            struct fail why = FAIL_INIT;
            char *path = r->later[i];
            r->later[i] = r->later[left];
            r->later[left] = path;
            rc = try_tables(r, path, &why);
            left += rc > 0;
        }
    }
    for (size_t i = 0; i < left && rc >= 0; i++) {
        struct fail why = FAIL_INIT;
        if ((rc = try_tables(r, r->later[i], &why)) > 0)
            damaged(r, r->later[i], &why);
    }
    for (size_t i = 0; i < r->later_count; i++)
        free(r->later[i]);
    free(r->later);
    return rc < 0 ? rc : 0;
}

static int each_tracked(void *ctx, const char *path, int64_t bytes, unsigned mode) {
    struct rebuild *r = ctx;
    struct fail why = FAIL_INIT;
    (void)mode;
    if (bytes < 0)
        return odd(r, path);
    int rc = tracker_record_read(r->l, r->s, path, &why);
    if (rc && why.exit_code == EXIT_DISK) {
        *r->why = why;
        return rc;
    }
    r->sums->tracked += rc == TL_OK;
    if (rc)
        damaged(r, path, &why);
    return 0;
}

/* ---- documents of crawls that have none */

static void leave_root(struct rebuild *r) {
    char id[UUID_TEXT];
    if (r->count <= 0)
        return;
    r->sums->unrecorded++;
    r->to->unrecorded(r->to->ctx, uuid_text(&r->root, id), r->count);
}

static int each_document(void *ctx, const char *path, int64_t bytes, unsigned mode) {
    static const char mark[] = "/clct_uuid=";
    struct rebuild *r = ctx;
    struct uuid root;
    struct store_crawl crawl;
    const char *at = strstr(path, mark);
    (void)bytes;
    (void)mode;
    if (!at || strlen(at) < sizeof mark - 1 + UUID_TEXT ||
        uuid_parse((struct tl_span){at + sizeof mark - 1, UUID_TEXT - 1}, &root))
        return 0;
    if (memcmp(&root, &r->root, sizeof root) != 0) {
        leave_root(r);
        r->root = root;
        int rc = store_crawl_by_id(r->s, &root, &crawl);
        if (rc && rc != TL_NOTFOUND)
            return fail_set(r->why, rc, "the rebuilt catalog cannot be read");
        r->count = rc ? 0 : -1;
    }
    r->count += r->count >= 0;
    return 0;
}

/* ---- the catalog */

static int read_number(void *ctx, const struct store_row *row) {
    *(int64_t *)ctx = row->value[0].number;
    return 1;
}

static int must_be_empty(struct store *s, const char *catalog, struct fail *why) {
    int64_t crawls = 0;
    int rc = store_query(s, "SELECT count(*) FROM crawls", NULL, 0, read_number, &crawls, why);
    if (rc || !crawls)
        return rc;
    return fail_exit(why, TL_INVALID, EXIT_USAGE,
                     "the catalog %s is there and knows %lld crawl%s: nothing was changed. Move it away, or name "
                     "another with --catalog",
                     catalog, (long long)crawls, crawls == 1 ? "" : "s");
}

static void remove_catalog(const char *path) {
    static const char *const tail[] = {"", "-wal", "-shm", "-journal", ".turn"};
    for (size_t i = 0; i < COUNT_OF(tail); i++) {
        AUTO_BUF struct buf name = BUF_INIT;
        buf_printf(&name, "%s%s", path, tail[i]);
        unlink(name.data);
    }
}

/* From its private name to its own, unless somebody has made another one meanwhile. */
static int take_place(const char *from, const char *catalog, struct fail *why) {
    int rc = renameat2(AT_FDCWD, from, AT_FDCWD, catalog, RENAME_NOREPLACE);
    if (rc < 0 && (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP))
        rc = link(from, catalog);
    if (rc < 0)
        return fail_errno(why, TL_FAILED, "cannot give the rebuilt catalog its name %s", catalog);
    remove_catalog(from);
    return TL_OK;
}

static int fill(struct rebuild *r, const char *where, const char *catalog) {
    int rc = store_open(where, STORE_WRITE, &r->s, r->why);
    if (!rc)
        rc = must_be_empty(r->s, catalog, r->why);
    if (!rc)
        rc = lake_walk_any(r->l, "crawls", each_record, r, r->why);
    if (!rc)
        rc = lake_walk_any(r->l, LAKE_TABLES, each_tables, r, r->why);
    int late = tables_of_later(r);
    rc = rc ? rc : late;
    if (!rc)
        rc = rebuild_tables_end(r->s, r->l, r->why);
    if (!rc)
        rc = lake_walk_any(r->l, LAKE_TRACKED, each_tracked, r, r->why);
    r->count = -1;
    if (!rc)
        rc = lake_walk(r->l, "documents", each_document, r, r->why);
    if (!rc)
        leave_root(r);
    store_close(r->s);
    r->s = NULL;
    return rc;
}

int rebuild_catalog(const char *catalog, struct lake *l, const struct rebuild_events *to, struct rebuild_sums *out,
                    struct fail *why) {
    struct stat st;
    *out = (struct rebuild_sums){0};
    struct rebuild r = {.l = l, .to = to, .sums = out, .why = why};
    if (strstr(catalog, "://"))
        return fail_exit(why, TL_UNSUPPORTED, EXIT_CONFIG, "only catalogs in files can be rebuilt, not %s", catalog);
    if (lstat(catalog, &st) == 0)
        return fill(&r, catalog, catalog);
    AUTO_BUF struct buf beside = BUF_INIT, lock = BUF_INIT;
    buf_printf(&beside, "%s.rebuild", catalog);
    buf_printf(&lock, "%s.lock", beside.data);
    AUTO_CLOSE int held = open(lock.data, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (held < 0)
        return fail_exit(why, TL_FAILED, EXIT_DISK, "cannot write beside the catalog: %s: %s", lock.data,
                         strerrordesc_np(errno));
    if (flock(held, LOCK_EX | LOCK_NB) < 0)
        return fail_exit(why, TL_REFUSED, EXIT_LOCKED, "another rebuild of the catalog %s is under way", catalog);
    remove_catalog(beside.data); /* of a rebuild that was cut off */
    int rc = fill(&r, beside.data, catalog);
    if (!rc)
        rc = take_place(beside.data, catalog, why);
    if (rc)
        remove_catalog(beside.data);
    unlink(lock.data);
    return rc;
}
