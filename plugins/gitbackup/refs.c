/* refs.c - the refs of a repository: from what its server offers, from a bundle, from a manifest; and what has changed.
 *
 * Names of refs are bytes; what decides is the digest over the sorted lines "OID REF". HEAD and peeled tags are no refs
 * of their own. A manifest is these lines, behind a few that begin with '#'. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gitbackup.h"

enum { REFS_MOST = 2000000, LINE_MOST = 4096 };
#define HEX "0123456789abcdef"

int refs_add(struct tl_run *run, struct refs *r, struct tl_span oid, struct tl_span name) {
    if (r->count >= REFS_MOST)
        return tl_fail(run, TL_FAILED, "it has over %d refs", REFS_MOST);
    if (r->count == r->room) {
        size_t room = r->room ? r->room * 2 : 64;
        struct ref *wider = tl_alloc(run, room * sizeof *wider);
        if (!wider)
            return tl_fail(run, TL_FAILED, "the run's memory is used up");
        if (r->count)
            memcpy(wider, r->item, r->count * sizeof *wider);
        r->item = wider;
        r->room = room;
    }
    struct ref *x = &r->item[r->count++];
    x->oid = text_copy(run, oid);
    x->name = text_copy(run, name);
    return x->oid && x->name ? TL_OK : tl_fail(run, TL_FAILED, "the run's memory is used up");
}

static int by_line(const void *a, const void *b) {
    const struct ref *x = a, *y = b;
    int order = strcmp(x->oid, y->oid);
    return order ? order : strcmp(x->name, y->name);
}

static void add_lines(struct text *t, const struct refs *r) {
    for (size_t i = 0; i < r->count; i++) {
        text_word(t, r->item[i].oid);
        text_add(t, " ", 1);
        text_word(t, r->item[i].name);
        text_add(t, "\n", 1);
    }
}

int refs_finish(struct tl_run *run, struct refs *r) {
    struct text t = {.run = run};
    if (r->count)
        qsort(r->item, r->count, sizeof *r->item, by_line);
    add_lines(&t, r);
    if (t.lost)
        return tl_fail(run, TL_FAILED, "the run's memory is used up");
    return tl_sha256(run, (struct tl_span){t.ptr ? t.ptr : "", t.len}, r->digest);
}

/* ---- reading */

static bool is_oid(struct tl_span s) {
    size_t i = 0;
    while (i < s.len && strchr(HEX, s.ptr[i]) && s.ptr[i])
        i++;
    return i == s.len && (s.len == 40 || s.len == 64);
}

/* A name that stands in paths and arguments after "refs/": no control characters, no part that leads elsewhere. */
static bool is_name(struct tl_span s) {
    if (s.len < 6 || s.len > LINE_MOST || memcmp(s.ptr, "refs/", 5) != 0)
        return false;
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] <= ' ' || s.ptr[i] == 0x7f ||
            (s.ptr[i] == '.' && i + 1 < s.len && s.ptr[i + 1] == '.'))
            return false;
    return true;
}

static bool ends_in(struct tl_span s, const char *tail) {
    size_t n = strlen(tail);
    return s.len >= n && memcmp(s.ptr + s.len - n, tail, n) == 0;
}

/* One of "OID REF"; peeled ones are passed over, and what cannot be a ref is counted. */
static int take(struct tl_run *run, struct refs *r, struct tl_span oid, struct tl_span name) {
    bool head = name.len == 4 && memcmp(name.ptr, "HEAD", 4) == 0, good = is_oid(oid);
    if (good && head)
        r->head_oid = text_copy(run, oid);
    if (head || ends_in(name, "^{}"))
        return TL_OK;
    if (good && is_name(name))
        return refs_add(run, r, oid, name);
    r->refused += good || (name.len > 5 && memcmp(name.ptr, "refs/", 5) == 0); /* others are of the protocol */
    return TL_OK;
}

static struct tl_span cut(struct tl_span *rest, char at) {
    const char *end = memchr(rest->ptr, at, rest->len);
    struct tl_span part = {rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len};
    size_t skip = part.len + (end ? 1 : 0);
    rest->ptr += skip;
    rest->len -= skip;
    return part;
}

static void take_head(struct tl_run *run, struct refs *r, struct tl_span name) {
    if (is_name(name))
        r->head = text_copy(run, name);
}

static void take_capabilities(struct tl_run *run, struct refs *r, struct tl_span words) {
    while (words.len) {
        struct tl_span word = cut(&words, ' ');
        if (word.len > 12 && memcmp(word.ptr, "symref=HEAD:", 12) == 0)
            take_head(run, r, (struct tl_span){word.ptr + 12, word.len - 12});
    }
}

/* The length of the packet at the beginning: 0 for a flush; -1: there is none, or it is cut off. */
static int packet(struct tl_span s, struct tl_span *line) {
    int n = 0;
    for (size_t i = 0; i < 4; i++) {
        const char *digit =
            i < s.len && s.ptr[i] ? strchr(HEX, s.ptr[i] >= 'A' && s.ptr[i] <= 'F' ? s.ptr[i] + 32 : s.ptr[i]) : NULL;
        if (!digit)
            return -1;
        n = n * 16 + (int)(digit - HEX);
    }
    if (n == 0)
        return 0;
    if (n < 4 || (size_t)n > s.len)
        return -1;
    *line = (struct tl_span){s.ptr + 4, (size_t)n - 4};
    if (line->len && line->ptr[line->len - 1] == '\n')
        line->len--;
    return n;
}

int refs_of_advertisement(struct tl_run *run, struct tl_span body, struct refs *out) {
    static const char service[] = "# service=git-upload-pack";
    struct tl_span line = {0};
    int n = packet(body, &line), rc = TL_OK;
    bool first = true;
    *out = (struct refs){0};
    if (n <= 0 || line.len != sizeof service - 1 || memcmp(line.ptr, service, line.len) != 0)
        return TL_INVALID;
    body = (struct tl_span){body.ptr + n, body.len - (size_t)n};
    if (packet(body, &line) != 0)
        return TL_INVALID;
    body = (struct tl_span){body.ptr + 4, body.len - 4};
    while (!rc && (n = packet(body, &line)) > 0) {
        body = (struct tl_span){body.ptr + n, body.len - (size_t)n};
        struct tl_span name = cut(&line, '\0');
        if (first)
            take_capabilities(run, out, line);
        first = false;
        struct tl_span oid = cut(&name, ' ');
        rc = take(run, out, oid, name);
    }
    if (rc)
        return rc;
    return n < 0 ? TL_INVALID : refs_finish(run, out);
}

int refs_of_list(struct tl_run *run, struct tl_span text, struct refs *out) {
    int rc = TL_OK;
    *out = (struct refs){0};
    while (text.len && !rc) {
        struct tl_span name = cut(&text, '\n');
        struct tl_span oid = cut(&name, '\t');
        if (oid.len > 5 && memcmp(oid.ptr, "ref: ", 5) == 0 && name.len == 4 && memcmp(name.ptr, "HEAD", 4) == 0)
            take_head(run, out, (struct tl_span){oid.ptr + 5, oid.len - 5});
        else
            rc = take(run, out, oid, name);
    }
    return rc ? rc : refs_finish(run, out);
}

int refs_of_bundle(struct tl_run *run, const char *path, struct refs *out) {
    static const char sign[] = "# v2 git bundle\n", sign3[] = "# v3 git bundle\n";
    char *line = tl_alloc(run, LINE_MOST + 100);
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = TL_OK;
    FILE *f = fd < 0 || !line ? NULL : fdopen(fd, "rb");
    *out = (struct refs){0};
    if (!f) {
        if (fd >= 0)
            close(fd);
        return TL_INVALID;
    }
    bool bad = !fgets(line, LINE_MOST + 100, f) || (strcmp(line, sign) != 0 && strcmp(line, sign3) != 0), end = false;
    while (!bad && !end && !rc) {
        bad = !fgets(line, LINE_MOST + 100, f);
        end = !bad && strcmp(line, "\n") == 0;
        struct tl_span name = {line, bad ? 0 : strcspn(line, "\n")}, oid;
        if (bad || end || *line == '-' || *line == '@') /* what it builds on; capabilities */
            continue;
        oid = cut(&name, ' ');
        rc = take(run, out, oid, name);
    }
    fclose(f);
    if (rc || bad)
        return rc ? rc : TL_INVALID;
    return refs_finish(run, out);
}

/* ---- manifests */

struct tl_span refs_manifest(struct tl_run *run, const struct repository *r, const struct refs *refs) {
    struct text t = {.run = run};
    text_word(&t, "# refs of a repository: OID REF, sorted; refs_digest is the SHA-256 of these lines\n");
    text_word(&t, text_format(run, "# repository %s %s\n", r->id ? r->id : "-", r->full_name));
    if (refs->head)
        text_word(&t, text_format(run, "# head %s\n", refs->head));
    if (refs->bundle)
        text_word(&t, text_format(run, "# bundle %s\n", refs->bundle));
    if (refs->base)
        text_word(&t, text_format(run, "# base %s %lld\n", refs->base, (long long)refs->chain));
    add_lines(&t, refs);
    return t.lost ? (struct tl_span){0} : (struct tl_span){t.ptr, t.len};
}

static bool says(struct tl_span line, const char *key, struct tl_span *value) {
    size_t n = strlen(key);
    if (line.len <= n || memcmp(line.ptr, key, n) != 0)
        return false;
    *value = (struct tl_span){line.ptr + n, line.len - n};
    return true;
}

int refs_of_manifest(struct tl_run *run, struct tl_span text, struct refs *out) {
    int rc = TL_OK;
    *out = (struct refs){0};
    while (text.len && !rc) {
        struct tl_span line = cut(&text, '\n'), value;
        if (says(line, "# head ", &value)) {
            take_head(run, out, value);
        } else if (says(line, "# bundle ", &value)) {
            out->bundle = text_copy(run, value);
        } else if (says(line, "# base ", &value)) {
            out->base = text_copy(run, cut(&value, ' '));
            const char *chain = text_copy(run, value);
            out->chain = chain ? strtoll(chain, NULL, 10) : 0;
        } else if (line.len && *line.ptr != '#') {
            struct tl_span oid = cut(&line, ' ');
            rc = take(run, out, oid, line);
        }
    }
    return rc ? rc : refs_finish(run, out);
}

/* ---- changes */

const struct ref *refs_find(const struct refs *r, const char *name) {
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->item[i].name, name) == 0)
            return &r->item[i];
    return NULL;
}

static int by_name(const void *a, const void *b) {
    const struct ref *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static struct ref *sorted(struct tl_run *run, const struct refs *r) {
    struct ref *copy = tl_alloc(run, (r->count + 1) * sizeof *copy);
    if (copy && r->count) {
        memcpy(copy, r->item, r->count * sizeof *copy);
        qsort(copy, r->count, sizeof *copy, by_name);
    }
    return copy;
}

int refs_compare(struct tl_run *run, const struct refs *was, const struct refs *is,
                 int (*each)(void *ctx, const char *name, const char *old, const char *now), void *ctx) {
    struct ref *a = sorted(run, was), *b = sorted(run, is);
    size_t i = 0, k = 0;
    int rc = a && b ? TL_OK : tl_fail(run, TL_FAILED, "the run's memory is used up");
    while (!rc && (i < was->count || k < is->count)) {
        int order = i == was->count ? 1 : k == is->count ? -1 : strcmp(a[i].name, b[k].name);
        if (order < 0)
            rc = each(ctx, a[i].name, a[i].oid, NULL);
        else if (order > 0)
            rc = each(ctx, b[k].name, NULL, b[k].oid);
        else if (strcmp(a[i].oid, b[k].oid) != 0)
            rc = each(ctx, b[k].name, a[i].oid, b[k].oid);
        i += order <= 0;
        k += order >= 0;
    }
    return rc;
}
