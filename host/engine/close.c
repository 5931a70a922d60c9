/* close.c - see close.h. */
#include "engine/close.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "engine/package.h"
#include "store/package.h"

struct record { /* one closing record on its way into the lake */
    struct store *s;
    struct lake *l;
    struct store_crawl crawl;    /* as the catalog has it; reason and finished_us as they are to be */
    struct buf path[2], name[2]; /* ROOT.jsonl, ROOT.json: below the lake, and in staging */
    struct package package;
    struct fail *why;
};

static void record_free(struct record *r) {
    for (int i = 0; i < 2; i++) {
        buf_free(&r->path[i]);
        buf_free(&r->name[i]);
    }
}

static void name_files(struct record *r) {
    static const char *const extension[2] = {"jsonl", "json"};
    for (int i = 0; i < 2; i++) {
        lake_crawl_file(&r->path[i], r->crawl.started_us, &r->crawl.root_id, extension[i]);
        lake_staged_name(&r->name[i], r->path[i].data);
    }
}

static void staged_path(const struct record *r, int which, struct buf *out) {
    buf_printf(out, "%s/%s", lake_staging(r->l), r->name[which].data);
}

static void unstage(const struct record *r) {
    for (int i = 0; i < 2; i++) {
        AUTO_BUF struct buf path = BUF_INIT;
        staged_path(r, i, &path);
        unlink(path.data);
    }
}

static int stage_package(struct record *r) {
    AUTO_BUF struct buf path = BUF_INIT;
    int fd;
    staged_path(r, 0, &path);
    int rc = lake_create(AT_FDCWD, path.data, &fd, r->why);
    if (rc)
        return rc;
    rc = package_write(r->s, &r->crawl, fd, &r->package, r->why);
    if (!rc && fdatasync(fd) < 0)
        rc = fail_errno(r->why, TL_FAILED, "cannot make durable the closing record %s", path.data);
    if (close(fd) < 0 && !rc)
        rc = fail_errno(r->why, TL_FAILED, "cannot write the closing record %s", path.data);
    return rc;
}

/* Both files, durable, in our staging folder. */
static int stage(struct record *r) {
    AUTO_BUF struct buf summary = BUF_INIT;
    unstage(r); /* of an attempt that failed */
    int rc = stage_package(r);
    if (!rc) {
        package_summary(&summary, r->s, &r->crawl, r->path[0].data, &r->package);
        rc = lake_stage(r->l, r->name[1].data, buf_span(&summary), r->why);
    }
    if (rc)
        unstage(r);
    return rc;
}

static int publish(struct record *r) {
    int rc = TL_OK;
    for (int i = 0; i < 2 && !rc; i++) {
        rc = lake_publish(r->l, r->name[i].data, r->path[i].data, r->why);
        FAULT_POINT("closing-published-one");
    }
    return rc;
}

static int withdraw(struct record *r) { /* the summary first: without it, there is no record */
    int rc = lake_withdraw(r->l, r->path[1].data, r->why);
    return rc ? rc : lake_withdraw(r->l, r->path[0].data, r->why);
}

/* ---- closing */

struct counts {
    int64_t runs, documents, bytes, open;
};

static int read_counts(void *ctx, const struct store_row *row) {
    const struct store_value *v = row->value;
    *(struct counts *)ctx = (struct counts){v[0].number, v[1].number, v[2].number, v[3].number};
    return 1;
}

/* Within the transaction: is the package what the catalog says at this moment? */
static int unchanged(struct record *r) {
    struct counts is = {0};
    char id[UUID_TEXT];
    const struct store_value root = store_text(uuid_text(&r->crawl.root_id, id));
    int rc = store_query(r->s, "SELECT runs, documents, bytes, queued + leased FROM crawls WHERE root_id = $1", &root,
                         1, read_counts, &is, r->why);
    if (rc)
        return rc;
    if (is.open)
        return fail_exit(r->why, TL_INVALID, EXIT_INTERNAL, "cannot close crawl %s: %lld of its runs are not over", id,
                         (long long)is.open);
    bool same = is.runs == r->package.runs && is.documents == r->package.documents && is.bytes == r->package.fetched;
    return same
               ? TL_OK
               : fail_exit(r->why, TL_RETRY, EXIT_INTERNAL, "cannot close crawl %s: it changes while it is closed", id);
}

static int commit(struct record *r) {
    char hex[SHA256_HEX];
    int rc = store_begin(r->s, r->why);
    if (rc)
        return rc;
    if ((rc = unchanged(r)) ||
        (rc = store_crawl_close(r->s, r->crawl.root, r->crawl.reason,
                                hash_hex(r->package.sha256.byte, SHA256_BYTES, hex))) ||
        (rc = store_package_finished(r->s, r->crawl.root, r->crawl.finished_us))) {
        store_rollback(r->s);
        if (!r->why || !r->why->status)
            fail_set(r->why, rc, "cannot close the crawl in the catalog");
        return rc;
    }
    return store_commit(r->s, r->why);
}

static int attempt(struct record *r) {
    int rc = stage(r);
    if (!rc) {
        FAULT_POINT("closing-staged");
        rc = withdraw(r);
    }
    if (!rc)
        rc = commit(r);
    if (rc) {
        unstage(r);
        return rc;
    }
    FAULT_POINT("closing-committed");
    return publish(r);
}

static bool is_published(const struct record *r, int which) {
    AUTO_BUF struct buf path = BUF_INIT;
    struct stat st;
    buf_printf(&path, "%s/%s", lake_path(r->l), r->path[which].data);
    return lstat(path.data, &st) == 0 && S_ISREG(st.st_mode);
}

/* A crawl that is closed, but of which something is missing in the lake. */
static int write_again(struct record *r) {
    char hex[SHA256_HEX];
    int rc = stage(r);
    if (rc)
        return rc;
    rc = store_begin(r->s, r->why);
    if (!rc) {
        rc = store_package_sha256(r->s, r->crawl.root, hash_hex(r->package.sha256.byte, SHA256_BYTES, hex));
        if (rc)
            store_rollback(r->s);
        else
            rc = store_commit(r->s, r->why);
    }
    if (!rc) /* a package without summary is what a crash left, of this record or of an earlier one */
        rc = withdraw(r);
    if (!rc && publish(r) && !is_published(r, 1)) /* a neighbour may have been faster */
        rc = TL_FAILED;
    unstage(r);
    return rc;
}

int close_crawl(struct store *s, struct lake *l, const struct store_crawl *root, const char *reason, struct fail *why) {
    enum { ATTEMPTS = 3 };
    struct record r = {.s = s, .l = l, .why = why};
    struct uuid root_id = root->root_id;
    AUTO_FREE char *word = mem_text(reason); /* may point into the texts that the next call replaces */
    int rc = store_crawl_by_id(s, &root_id, &r.crawl);
    if (rc)
        return fail_set(why, rc, "the crawl that was to be closed is not in the catalog");
    name_files(&r);
    if (r.crawl.closed) {
        rc = is_published(&r, 1) && is_published(&r, 0) ? TL_OK : write_again(&r);
    } else {
        rc = TL_RETRY;
        for (int i = 0; rc == TL_RETRY && i < ATTEMPTS; i++) {
            r.crawl.reason = word;
            r.crawl.finished_us = store_now_us(s);
            rc = attempt(&r);
        }
    }
    record_free(&r);
    return rc;
}

/* ---- after a crash */

struct missing {
    struct lake *l;
    struct uuid *root;
    size_t count, room;
};

static int look_for_record(void *ctx, const struct store_row *row) {
    struct missing *m = ctx;
    struct record r = {.l = m->l};
    if (uuid_parse(row->value[0].text, &r.crawl.root_id) || time_parse(row->value[1].text, &r.crawl.started_us))
        return 0;
    name_files(&r);
    if (!is_published(&r, 1) || !is_published(&r, 0)) {
        MEM_GROW(m->root, m->count, m->room);
        m->root[m->count++] = r.crawl.root_id;
    }
    record_free(&r);
    return 0;
}

int close_recover(struct store *s, struct lake *l, int64_t *count, struct fail *why) {
    struct missing m = {.l = l};
    int rc = store_query(s, "SELECT root_id, started_at FROM crawls WHERE status <> 'open'", NULL, 0, look_for_record,
                         &m, why);
    *count = 0;
    for (size_t i = 0; i < m.count && !rc; i++) {
        struct record r = {.s = s, .l = l, .why = why};
        if (store_crawl_by_id(s, &m.root[i], &r.crawl) || !r.crawl.closed)
            continue;
        name_files(&r);
        if (!is_published(&r, 1) || !is_published(&r, 0)) {
            rc = write_again(&r);
            *count += rc == TL_OK;
        }
        record_free(&r);
    }
    free(m.root);
    return rc;
}
