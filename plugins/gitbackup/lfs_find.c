/* lfs_find.c - pointers of Git LFS: which there are in all of the history of a repository.
 *
 * Pointers are small, and read as the specification has them, line by line; what looks like one and is none is passed
 * over. https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md */
#include <stdlib.h>
#include <string.h>

#include "gitbackup.h"

enum {
    NAMES_MOST = 2 << 20, /* bytes of names of blobs that are looked at in one go */
    POINTER_LEAST = 120,  /* bytes */
    POINTER_MOST = 1023,
    OID = 64
};

static int no_memory(struct tl_run *run) {
    return tl_fail(run, TL_FAILED, "the run's memory is used up");
}

bool lfs_all_of(struct tl_span s, const char *set) {
    for (size_t i = 0; i < s.len; i++)
        if (!s.ptr[i] || !strchr(set, s.ptr[i]))
            return false;
    return s.len > 0;
}

bool lfs_is_oid(struct tl_span s) {
    return s.len == OID && lfs_all_of(s, "0123456789abcdef");
}

bool lfs_is_size(struct tl_span s) {
    return s.len < 19 && lfs_all_of(s, "0123456789") && (*s.ptr != '0' || s.len == 1);
}

/* Names of blobs that are as small as pointers, in order, behind *after, as many as are read at once; the last of them
 * is the next *after, or NULL when there are no more: a repository may have millions, a run's memory has an end. */
static int list_blobs(struct mirror *m, const char **after, struct text *out) {
    const char *const argv[] = {"git",
                                "-C",
                                m->git,
                                "cat-file",
                                "--batch-all-objects",
                                "--batch-check=%(objecttype) %(objectsize) %(objectname)",
                                NULL};
    struct tl_program p;
    struct tl_span line;
    int status = 0, rc;
    bool more = false;
    size_t last = 0; /* where the last name begins */
    mirror_begin(m, argv, &p);
    p.max_output = 0;
    if (!p.env)
        return no_memory(m->run);
    out->len = 0;
    rc = tl_process_start(m->run, &p);
    while (!rc && !(rc = tl_process_line(m->run, &line))) {
        char *name = NULL;
        if (line.len < 8 || memcmp(line.ptr, "blob ", 5) != 0)
            continue;
        long size = strtol(line.ptr + 5, &name, 10);
        if (size < POINTER_LEAST || size > POINTER_MOST || !name || *name++ != ' ' ||
            (*after && strcmp(name, *after) <= 0))
            continue;
        more = out->len >= NAMES_MOST;
        if (more)
            continue;
        last = out->len;
        text_word(out, name);
        text_add(out, "\n", 1);
        if (out->lost)
            return no_memory(m->run);
    }
    *after = more ? text_copy(m->run, (struct tl_span){out->ptr + last, out->len - last - 1}) : NULL;
    return rc == TL_NOTFOUND ? tl_process_end(m->run, &status, NULL) : rc;
}

struct reading {
    int (*each)(void *ctx, struct tl_span oid, struct tl_span size);
    void *ctx;
    int64_t left; /* bytes of the blob that are still to come */
    int at;       /* lines of it that were right: version, oid */
    char oid[OID];
};

/* What cat-file --batch says: "OID blob SIZE", the blob, a newline. */
static int read_line(struct reading *r, struct tl_span line) {
    static const char version[] = "version https://git-lfs.github.com/spec/v1";
    if (r->left <= 0) {
        const char *size = memrchr(line.ptr, ' ', line.len); /* or "OID missing" */
        bool known = size && lfs_is_size((struct tl_span){size + 1, (size_t)(line.ptr + line.len - size - 1)});
        r->left = known ? strtoll(size + 1, NULL, 10) + 1 : 0;
        r->at = 0;
        return TL_OK;
    }
    r->left -= (int64_t)line.len + 1;
    if (r->at == 0) {
        r->at = line.len == sizeof version - 1 && memcmp(line.ptr, version, line.len) == 0 ? 1 : -1;
    } else if (r->at == 1 && line.len == 11 + OID && memcmp(line.ptr, "oid sha256:", 11) == 0 &&
               lfs_is_oid((struct tl_span){line.ptr + 11, OID})) {
        memcpy(r->oid, line.ptr + 11, OID);
        r->at = 2;
    } else if (r->at == 1 && line.len > 4 && memcmp(line.ptr, "ext-", 4) == 0) {
        return TL_OK; /* lines of extensions stand before the oid */
    } else {
        bool sized = r->at == 2 && line.len > 5 && memcmp(line.ptr, "size ", 5) == 0 &&
                     lfs_is_size((struct tl_span){line.ptr + 5, line.len - 5});
        r->at = -1;
        return sized ? r->each(r->ctx, (struct tl_span){r->oid, OID}, (struct tl_span){line.ptr + 5, line.len - 5})
                     : TL_OK;
    }
    return TL_OK;
}

/* Some at a time, for what a program is given at its start is bounded. */
static int read_blobs(struct mirror *m, const struct text *names,
                      int (*each)(void *ctx, struct tl_span oid, struct tl_span size), void *ctx) {
    enum { PART = 32768 };
    const char *const argv[] = {"git", "-C", m->git, "cat-file", "--batch", "--buffer", NULL};
    struct reading r = {.each = each, .ctx = ctx};
    struct tl_program p;
    struct tl_span line;
    int status = 0, rc = TL_OK;
    for (size_t at = 0; at < names->len && !rc;) {
        size_t n = names->len - at > PART ? PART : names->len - at;
        while (at + n < names->len && names->ptr[at + n - 1] != '\n')
            n++;
        mirror_begin(m, argv, &p);
        p.max_output = 0;
        p.input = (struct tl_span){names->ptr + at, n};
        if (!p.env)
            return no_memory(m->run);
        r.left = 0;
        rc = tl_process_start(m->run, &p);
        if (!rc)
            rc = tl_process_write(m->run, (struct tl_span){"", 0});
        while (!rc && !(rc = tl_process_line(m->run, &line)))
            rc = read_line(&r, line);
        if (rc == TL_NOTFOUND)
            rc = tl_process_end(m->run, &status, NULL);
        at += n;
    }
    return rc;
}

int lfs_find(struct mirror *m, int (*each)(void *ctx, struct tl_span oid, struct tl_span size), void *ctx) {
    struct text names = {.run = m->run};
    const char *after = NULL;
    int rc;
    do {
        rc = list_blobs(m, &after, &names);
        if (!rc && names.len)
            rc = read_blobs(m, &names, each, ctx);
    } while (!rc && after);
    return rc;
}
