/* parquet_bounds.c - see parquet_bounds.h. */
#include "convert/parquet_bounds.h"

#include <math.h>
#include <string.h>

#include "base/utf8.h"

static int compare(const char *a, size_t a_len, const char *b, size_t b_len) {
    size_t both = a_len < b_len ? a_len : b_len;
    int order = both ? memcmp(a, b, both) : 0;
    return order ? order : a_len < b_len ? -1 : a_len > b_len;
}

static void keep(struct bounds_prefix *p, struct tl_span text, size_t len, bool cut) {
    p->len = (unsigned char)len;
    p->cut = cut;
    if (len)
        memcpy(p->byte, text.ptr, len);
}

static void add(struct bounds *b, struct tl_span text, bool cut) {
    size_t len = text.len < BOUNDS_TEXT ? text.len : BOUNDS_TEXT;
    cut = cut || text.len > len;
    struct bounds_prefix *min = &b->text.min, *max = &b->text.max;
    int low = b->set ? compare(text.ptr, len, min->byte, min->len) : -1;
    int high = b->set ? compare(text.ptr, len, max->byte, max->len) : 1;
    if (low < 0)
        keep(min, text, len, cut);
    else if (low == 0)
        min->cut = min->cut && cut; /* one value that ends there is the least of those that begin so */
    if (high > 0)
        keep(max, text, len, cut);
    else if (high == 0)
        max->cut = max->cut || cut; /* one that goes on is the greatest */
    b->set = true;
}

void bounds_text_slow(struct bounds *b, struct tl_span text) {
    add(b, text, false);
}

void bounds_real(struct bounds *b, double value) {
    if (isnan(value)) {
        b->nan = true;
        return;
    }
    if (!b->set || value < b->real.min)
        b->real.min = value;
    if (!b->set || value > b->real.max)
        b->real.max = value;
    b->set = true;
}

void bounds_merge(struct bounds *b, enum column_type type, const struct bounds *more) {
    b->nan = b->nan || more->nan;
    if (!more->set)
        return;
    switch (type) {
    case COLUMN_TEXT:
    case COLUMN_LIST:
        add(b, (struct tl_span){more->text.min.byte, more->text.min.len}, more->text.min.cut);
        add(b, (struct tl_span){more->text.max.byte, more->text.max.len}, more->text.max.cut);
        break;
    case COLUMN_REAL:
        bounds_real(b, more->real.min);
        bounds_real(b, more->real.max);
        break;
    default:
        bounds_number(b, more->number.min);
        bounds_number(b, more->number.max);
    }
}

/* The length of the whole characters among the first `len` bytes, of which the last may have been cut. */
static size_t whole(const char *text, size_t len) {
    size_t at = len;
    for (int back = 0; at && back < 3 && ((unsigned char)text[at - 1] & 0xC0) == 0x80; back++)
        at--;
    if (!at)
        return 0;
    at--; /* where the last character begins */
    size_t size = utf8_sequence(text + at, text + len);
    return size && at + size == len ? len : at;
}

/* The least text that is above all that begin with this one, by raising its last character that can be raised. */
static bool raise(struct bound *b) {
    while (b->len) {
        size_t at = b->len - 1;
        for (int back = 0; at && back < 3 && ((unsigned char)b->byte[at] & 0xC0) == 0x80; back++)
            at--;
        const char *from = b->byte + at;
        uint32_t cp;
        if (utf8_next(&from, b->byte + b->len, &cp) != TL_OK || from != b->byte + b->len)
            return false;
        b->len = at;
        if (cp == 0x10FFFF)
            continue;
        cp = cp == 0xD7FF ? 0xE000 : cp + 1;
        b->len += utf8_put(b->byte + at, cp);
        return true;
    }
    return false;
}

static void fixed(struct bound *out, const void *value, size_t len) {
    memcpy(out->byte, value, len);
    out->len = len;
    out->exact = true;
}

static void number(struct bound *out, enum column_type type, int64_t value) {
    char bit = value != 0;
    if (type == COLUMN_BOOL)
        fixed(out, &bit, 1);
    else
        fixed(out, &value, sizeof value); /* little-endian, as this machine */
}

bool bounds_min(const struct bounds *b, enum column_type type, struct bound *out) {
    if (!b->set)
        return false;
    if (type == COLUMN_REAL) { /* 0 and -0 are equal to us, but the reader's order may tell them apart */
        double least = b->real.min == 0 ? -0.0 : b->real.min;
        fixed(out, &least, sizeof least);
    } else if (type == COLUMN_TEXT || type == COLUMN_LIST) {
        const struct bounds_prefix *p = &b->text.min;
        out->len = p->cut ? whole(p->byte, p->len) : p->len;
        out->exact = !p->cut;
        memcpy(out->byte, p->byte, out->len);
    } else
        number(out, type, b->number.min);
    return true;
}

bool bounds_max(const struct bounds *b, enum column_type type, struct bound *out) {
    if (!b->set)
        return false;
    if (type == COLUMN_REAL) {
        double most = b->real.max == 0 ? 0.0 : b->real.max;
        fixed(out, &most, sizeof most);
    } else if (type == COLUMN_TEXT || type == COLUMN_LIST) {
        const struct bounds_prefix *p = &b->text.max;
        out->len = p->cut ? whole(p->byte, p->len) : p->len;
        out->exact = !p->cut;
        memcpy(out->byte, p->byte, out->len);
        return out->exact || raise(out);
    } else
        number(out, type, b->number.max);
    return true;
}

int bounds_compare(enum column_type type, const struct bound *a, const struct bound *b) {
    if (type == COLUMN_TEXT || type == COLUMN_LIST || type == COLUMN_BOOL)
        return compare(a->byte, a->len, b->byte, b->len);
    if (type == COLUMN_REAL) {
        double x, y;
        memcpy(&x, a->byte, sizeof x);
        memcpy(&y, b->byte, sizeof y);
        return (x > y) - (x < y);
    }
    int64_t x, y;
    memcpy(&x, a->byte, sizeof x);
    memcpy(&y, b->byte, sizeof y);
    return (x > y) - (x < y);
}
