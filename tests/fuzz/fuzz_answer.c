/* fuzz_answer.c - any bytes as the answer of a server: lines of a head, then a body in whatever coding the head names.
 *
 * What is kept must be sound lines, the body must be bounded by its input, and the size of the pieces must not matter.
 */
#include <stdlib.h>

#include "net/decode.h"
#include "net/head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sum {
    int64_t bytes;
    uint64_t hash;
};

static int take(void *ctx, const char *ptr, size_t len) {
    struct sum *s = ctx;
    if (len == 0 || len > 32768)
        abort();
    s->bytes += (int64_t)len;
    for (size_t i = 0; i < len; i++)
        s->hash = (s->hash ^ (unsigned char)ptr[i]) * 1099511628211u;
    return s->bytes > 64 << 20 ? TL_PARTIAL : TL_OK;
}

static int decode_in(struct tl_span codings, struct tl_span body, size_t step, struct sum *s, bool *whole) {
    struct decode *d;
    *s = (struct sum){0};
    int rc = decode_new(codings, take, s, &d);
    *whole = false;
    if (rc || !d)
        return rc;
    for (size_t at = 0; at < body.len && !rc; at += step)
        rc = decode_put(d, body.ptr + at, body.len - at < step ? body.len - at : step);
    if (s->bytes > DECODE_FREE + 32768 + DECODE_RATIO * (int64_t)body.len)
        abort();
    *whole = rc == TL_OK && decode_whole(d);
    decode_free(d);
    return rc;
}

static void check_lines(const struct buf *lines) {
    for (size_t i = 0, start = 0; i < lines->len; i++) {
        unsigned char c = (unsigned char)lines->data[i];
        if (c == '\n') {
            const char *colon = memchr(lines->data + start, ':', i - start);
            if (!colon || colon == lines->data + start || colon[1] != ' ')
                abort();
            start = i + 1;
        } else if (c == '\r' || c == '\0') {
            abort();
        }
    }
    if (lines->len && lines->data[lines->len - 1] != '\n')
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    AUTO_BUF struct buf lines = BUF_INIT;
    AUTO_BUF struct buf codings = BUF_INIT;
    struct tl_span rest = {(const char *)data, size};
    struct head h;
    head_begin(&h, &lines);
    while (rest.len && !h.ended) {
        const char *stop = memchr(rest.ptr, '\n', rest.len);
        size_t n = stop ? (size_t)(stop - rest.ptr) + 1 : rest.len;
        if (head_line(&h, rest.ptr, n)) {
            if (!h.fault[0])
                abort();
            return 0;
        }
        rest = (struct tl_span){rest.ptr + n, rest.len - n};
    }
    check_lines(&lines);
    head_list(buf_span(&lines), "content-encoding", &codings);
    struct sum one, all;
    bool one_whole, all_whole;
    int rc = decode_in(buf_span(&codings), rest, 1, &one, &one_whole);
    int other = decode_in(buf_span(&codings), rest, rest.len + 1, &all, &all_whole);
    if (rc == TL_REFUSED || other == TL_REFUSED) /* close to the limit it matters how much is looked at together */
        return 0;
    if (other != rc || one_whole != all_whole || (one_whole && (one.bytes != all.bytes || one.hash != all.hash)))
        abort();
    return 0;
}
