/* buf.h - a growing byte buffer with a maximum.
 *
 * Invariant: when data is not NULL, data[len] is '\0', so a buffer that holds text can be used as a C string. Appending
 * beyond the maximum does not grow it: it sets `full` and drops what was appended, so that a long chain of appends
 * needs one check at its end. */
#ifndef TROTLINE_BASE_BUF_H
#define TROTLINE_BASE_BUF_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "trotline.h"

struct buf {
    char *data;
    size_t len, room;
    size_t max; /* bytes; 0: BUF_MAX */
    bool full;  /* something did not fit and was dropped */
};
#define BUF_MAX ((size_t)1 << 30)
#define BUF_INIT                                                                                                       \
    { 0 }

void buf_free(struct buf *b);  /* releases the memory; the buffer can be used again */
void buf_reset(struct buf *b); /* empties it, keeps the memory */
void buf_shrink(struct buf *b,
                size_t above); /* empties it, and gives the memory back if it holds more than `above` bytes */
bool buf_reserve_slow(struct buf *b, size_t more);
char *buf_steal(struct buf *b); /* the text, to be freed by the caller; never NULL; the buffer is empty afterwards */

/* Makes sure that `more` bytes and a NUL fit behind len; false (and full) when they may not. */
static inline bool buf_reserve(struct buf *b, size_t more) {
    return b->room > b->len && b->room - b->len > more ? true : buf_reserve_slow(b, more);
}
static inline void buf_add(struct buf *b, const void *ptr, size_t len) {
    if (len && buf_reserve(b, len)) {
        memcpy(b->data + b->len, ptr, len);
        b->len += len;
        b->data[b->len] = '\0';
    }
}
static inline void buf_char(struct buf *b, char c) {
    buf_add(b, &c, 1);
}
static inline void buf_text(struct buf *b, const char *text) {
    if (text)
        buf_add(b, text, strlen(text));
}
#define buf_lit(b, literal) buf_add((b), "" literal, sizeof(literal) - 1)
TL_PRINTF(2, 3) void buf_printf(struct buf *b, const char *fmt, ...);
TL_PRINTF(2, 0) void buf_vprintf(struct buf *b, const char *fmt, va_list ap);
void buf_int(struct buf *b, int64_t n); /* decimal */

static inline struct tl_span buf_span(const struct buf *b) {
    return (struct tl_span){b->data ? b->data : "", b->len};
}
static inline struct tl_span span_of(const char *text) {
    return (struct tl_span){text ? text : "", text ? strlen(text) : 0};
}
static inline bool span_eq(struct tl_span s, const char *text) {
    return s.len == strlen(text) && memcmp(s.ptr, text, s.len) == 0;
}
static inline void buf_free_auto(struct buf *b) {
    buf_free(b);
}
#define AUTO_BUF __attribute__((cleanup(buf_free_auto)))
#endif
