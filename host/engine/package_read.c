/* package_read.c - reads a closing record that may be damaged: the summary with its checksum, the package line by line.
 *
 * Invariant: one line is in memory at a time, and none is longer than PACKAGE_LINE_MAX. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "engine/package.h"

/* ---- ROOT.json */

/* The checksum is the last member: it covers the bytes before it, and a closing brace. */
static bool checksum_right(struct tl_span text) {
    enum { TAIL = sizeof ",\"checksum\":\"sha256:\"}" - 1 + 2 * SHA256_BYTES };
    static const char mark[] = ",\"checksum\":\"sha256:";
    struct sha256 said, is;
    if (text.len < TAIL || memcmp(text.ptr + text.len - TAIL, mark, sizeof mark - 1) != 0)
        return false;
    const char *hex = text.ptr + text.len - TAIL + sizeof mark - 1;
    if (hash_unhex((struct tl_span){hex, (size_t)2 * SHA256_BYTES}, said.byte, SHA256_BYTES) ||
        memcmp(hex + (size_t)2 * SHA256_BYTES, "\"}", 2) != 0)
        return false;
    struct hash *h = hash_new();
    hash_start(h);
    hash_add(h, text.ptr, text.len - TAIL);
    hash_add(h, "}", 1);
    is = hash_end(h);
    hash_free(h);
    return memcmp(&said, &is, sizeof is) == 0;
}

static bool text_at(struct tl_span text, const char *pointer, struct buf *out) {
    struct tl_json value;
    buf_reset(out);
    return json_find(text, pointer, &value) == TL_OK && json_text(&value, out) == TL_OK && out->data &&
           strlen(out->data) == out->len;
}

static bool int_at(struct tl_span text, const char *pointer, int64_t *out) {
    struct tl_json value;
    return json_find(text, pointer, &value) == TL_OK && json_int(&value, out) == TL_OK && *out >= 0;
}

/* An object of numbers by name: what stands there is added up. */
static bool counts_at(struct tl_span text, const char *pointer, const char *const *names, int count, int64_t *n,
                      int64_t *sum) {
    struct tl_json counts, at = {0};
    int rc = json_find(text, pointer, &counts);
    while (!rc && (rc = json_next(&counts, &at)) == TL_OK) {
        int i = 0;
        while (i < count && !(names[i] && json_key_is(&at, names[i])))
            i++;
        if (i == count || json_int(&at, &n[i]) || n[i] < 0 || n[i] > INT64_MAX - *sum)
            return false;
        *sum += n[i];
    }
    return rc == TL_NOTFOUND;
}

int package_head_read(struct tl_span text, struct package_head *out, struct fail *why) {
    AUTO_BUF struct buf word = BUF_INIT;
    size_t where = 0;
    *out = (struct package_head){0};
    const char *wrong = NULL;
    if (json_valid(text, &where))
        return fail_exit(why, TL_INVALID, EXIT_DAMAGED, "it is not JSON, from byte %zu on", where);
    if (!text_at(text, "/schema_version", &word) || strcmp(word.data, "crawl_v1") != 0)
        wrong = "its schema_version is not crawl_v1";
    else if (!checksum_right(text))
        wrong = "its checksum is wrong";
    else if (!text_at(text, "/root_id", &word) || uuid_parse(buf_span(&word), &out->root_id))
        wrong = "its root_id is none";
    else if (!text_at(text, "/package/sha256", &word) ||
             hash_unhex(buf_span(&word), out->package.sha256.byte, SHA256_BYTES))
        wrong = "its package.sha256 is none";
    else if (!text_at(text, "/package/path", &out->path) || !int_at(text, "/package/bytes", &out->package.bytes) ||
             !int_at(text, "/package/lines", &out->package.lines))
        wrong = "its package is not described";
    else if (!int_at(text, "/documents", &out->package.documents) ||
             !counts_at(text, "/counts", store_state_name, STORE_STATES, out->package.by_state, &out->runs) ||
             !counts_at(text, "/leashed", store_reason_name, STORE_REASONS, out->package.leashed, &out->refusals))
        wrong = "its counts cannot be read";
    if (!wrong)
        return TL_OK;
    package_head_free(out);
    return fail_exit(why, TL_INVALID, EXIT_DAMAGED, "%s", wrong);
}

void package_head_free(struct package_head *h) {
    buf_free(&h->path);
}

/* ---- ROOT.jsonl */

struct reading {
    const char *file;
    int64_t number;
    int (*each)(void *ctx, struct tl_span kind, const struct tl_json *line);
    void *ctx;
    struct fail *why;
};

static int bad_line(struct reading *r, const char *reason) {
    return fail_exit(r->why, TL_INVALID, EXIT_DAMAGED, "%.500s:%lld: %.250s", r->file, (long long)r->number, reason);
}

static int one_line(struct reading *r, struct tl_span text) {
    struct tl_json line, kind;
    r->number++;
    if (json_parse(text, &line) || line.type != TL_JSON_OBJECT)
        return bad_line(r, "the line is no JSON object");
    if (json_get(&line, "kind", &kind) || kind.type != TL_JSON_STRING)
        return bad_line(r, "the line has no kind");
    int rc = r->each(r->ctx, (struct tl_span){kind.raw.ptr + 1, kind.raw.len - 2}, &line);
    if (rc < 0 && r->why && r->why->status) {
        struct fail inner = *r->why;
        fail_exit(r->why, rc, inner.exit_code, "%.300s:%lld: %.450s", r->file, (long long)r->number, inner.text);
    }
    return rc;
}

/* Takes whole lines off the front of b. */
static int whole_lines(struct reading *r, struct buf *b) {
    size_t start = 0;
    int rc = TL_OK;
    const char *end;
    while (!rc && start < b->len && (end = memchr(b->data + start, '\n', b->len - start)) != NULL) {
        rc = one_line(r, (struct tl_span){b->data + start, (size_t)(end - b->data) - start});
        start = (size_t)(end - b->data) + 1;
    }
    if (start) {
        memmove(b->data, b->data + start, b->len - start);
        b->len -= start;
        b->data[b->len] = '\0';
    }
    return rc;
}

int package_read(int fd, const char *file, int (*each)(void *ctx, struct tl_span kind, const struct tl_json *line),
                 void *ctx, struct fail *why) {
    enum { CHUNK = 256 << 10 };
    struct fail spare = FAIL_INIT;
    struct reading r = {.file = file, .each = each, .ctx = ctx, .why = why ? why : &spare};
    AUTO_BUF struct buf b = {.max = PACKAGE_LINE_MAX};
    int rc = TL_OK;
    while (!rc) {
        size_t seen = b.len;
        if (!buf_reserve(&b, CHUNK)) {
            r.number++;
            return bad_line(&r, "the line is too long");
        }
        ssize_t n = read(fd, b.data + b.len, CHUNK);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(r.why, TL_FAILED, "cannot read %.500s", file);
        if (n == 0)
            break;
        b.len += (size_t)n;
        b.data[b.len] = '\0';
        if (memchr(b.data + seen, '\n', (size_t)n))
            rc = whole_lines(&r, &b);
    }
    if (!rc && b.len) {
        r.number++;
        rc = bad_line(&r, "the last line is cut off");
    }
    return rc;
}
