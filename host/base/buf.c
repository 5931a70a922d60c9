/* buf.c - see buf.h. */
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

void buf_free(struct buf *b) {
    free(b->data);
    b->data = NULL;
    b->len = b->room = 0;
    b->full = false;
}

void buf_reset(struct buf *b) {
    b->len = 0;
    b->full = false;
    if (b->data)
        b->data[0] = '\0';
}

void buf_shrink(struct buf *b, size_t above) {
    if (b->room > above)
        buf_free(b);
    else
        buf_reset(b);
}

bool buf_reserve_slow(struct buf *b, size_t more) {
    size_t max = b->max ? b->max : BUF_MAX;
    if (more > max || b->len > max - more) {
        b->full = true;
        return false;
    }
    size_t room = b->room ? b->room : 64;
    while (room <= b->len + more)
        room += room < 1 << 20 ? room : room / 2;
    if (room > max + 1) /* so that the quick look in buf_reserve is the maximum's, too */
        room = max + 1;
    b->data = mem_array(b->data, room, 1);
    b->room = room;
    b->data[b->len] = '\0';
    return true;
}

char *buf_steal(struct buf *b) {
    char *text = b->data ? b->data : mem_text("");
    b->data = NULL;
    b->len = b->room = 0;
    b->full = false;
    return text;
}

void buf_vprintf(struct buf *b, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    char small[256];
    int n = vsnprintf(small, sizeof small, fmt, ap);
    if (n >= 0 && (size_t)n < sizeof small)
        buf_add(b, small, (size_t)n);
    else if (n >= 0 && buf_reserve(b, (size_t)n)) {
        vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

void buf_printf(struct buf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
}

void buf_int(struct buf *b, int64_t n) {
    char text[24], *at = text + sizeof text;
    uint64_t left = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    do
        *--at = (char)('0' + left % 10);
    while ((left /= 10) != 0);
    if (n < 0)
        *--at = '-';
    buf_add(b, at, (size_t)(text + sizeof text - at));
}
