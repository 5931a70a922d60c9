/* cases.h - reads the tables under tests/data: tab-separated fields, one case a line, '#' lines are comments.
 *
 * A field is printable ASCII; any other byte, a space and the backslash are written \xHH; the field "\-" is absent (ptr
 * NULL). */
#ifndef TROTLINE_TESTS_CASES_H
#define TROTLINE_TESTS_CASES_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
/* After trotline.h: cmocka's macro fail() would take the name of a member there. */
#include <cmocka.h>

enum { CASE_FIELDS = 6 };
struct cases {
    struct buf text, decoded;
    size_t at;
    struct tl_span field[CASE_FIELDS]; /* of the current case; valid until the next */
    size_t count;
};

static inline void cases_file(struct buf *out, const char *name) {
    const char *root = getenv("TROTLINE_TEST_DATA");
    char path[4096], chunk[4096];
    snprintf(path, sizeof path, "%s/%s", root ? root : "tests/data", name);
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("cannot open %s", path);
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, f)) > 0;)
        buf_add(out, chunk, n);
    fclose(f);
}

static inline void cases_open(struct cases *c, const char *name) {
    *c = (struct cases){0};
    cases_file(&c->text, name);
}

static inline void cases_close(struct cases *c) {
    buf_free(&c->text);
    buf_free(&c->decoded);
}

static inline int cases_hex(char c) {
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

static inline bool cases_next(struct cases *c) {
    size_t start[CASE_FIELDS + 1];
    bool absent[CASE_FIELDS] = {false};

    while (c->at < c->text.len && c->text.data[c->at] == '#')
        c->at = (size_t)((char *)memchr(c->text.data + c->at, '\n', c->text.len - c->at) + 1 - c->text.data);
    if (c->at >= c->text.len)
        return false;
    buf_reset(&c->decoded);
    c->count = 0;
    start[0] = 0;
    for (bool more = true; more; c->at++) {
        const char *s = c->text.data + c->at;
        if (*s == '\t' || *s == '\n') {
            more = *s == '\t';
            start[++c->count] = c->decoded.len;
            assert_true(c->count < CASE_FIELDS || !more);
        } else if (*s == '\\' && s[1] == '-') {
            absent[c->count] = true;
            c->at++;
        } else if (*s == '\\') {
            buf_char(&c->decoded, (char)(cases_hex(s[2]) << 4 | cases_hex(s[3])));
            c->at += 3;
        } else {
            buf_char(&c->decoded, *s);
        }
    }
    const char *text = c->decoded.data ? c->decoded.data : "";
    for (size_t i = 0; i < c->count; i++)
        c->field[i] = (struct tl_span){absent[i] ? NULL : text + start[i], start[i + 1] - start[i]};
    return true;
}

static inline bool spans_equal(struct tl_span a, struct tl_span b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}
#define assert_span(span, text)                                                                                        \
    do {                                                                                                               \
        struct tl_span got_ = (span), want_ = span_of(text);                                                           \
        if (!spans_equal(got_, want_))                                                                                 \
            fail_msg("got %.*s, want %s", (int)got_.len, got_.ptr, text);                                              \
    } while (0)
#endif
