/* parquet_bounds.h - least and greatest of a page's or a chunk's values, as Parquet's statistics want them.
 *
 * Invariant: whatever is given out as a minimum is not above any value, and as a maximum not below any, in the order of
 * the type (bytes unsigned); where no such text of BOUNDS_TEXT bytes exists, nothing is given out. Of texts only the
 * beginnings are kept. */
#ifndef TROTLINE_CONVERT_PARQUET_BOUNDS_H
#define TROTLINE_CONVERT_PARQUET_BOUNDS_H
#include "convert/row.h"

enum { BOUNDS_TEXT = 64, BOUNDS_MAX = BOUNDS_TEXT + 4 };

struct bounds_prefix {
    unsigned char len;
    bool cut; /* of the minimum: the value goes on behind it; of the maximum: one that begins with it does */
    char byte[BOUNDS_TEXT];
};

struct bounds {
    bool set; /* a value was seen, not counting NaN */
    bool nan;
    union {
        struct {
            int64_t min, max;
        } number;
        struct {
            double min, max;
        } real;
        struct {
            struct bounds_prefix min, max;
        } text;
    };
};

struct bound { /* as written: PLAIN without a length */
    size_t len;
    bool exact;
    char byte[BOUNDS_MAX];
};

void bounds_text_slow(struct bounds *b, struct tl_span text);
void bounds_real(struct bounds *b, double value);
void bounds_merge(struct bounds *b, enum column_type type, const struct bounds *more);

static inline void bounds_number(struct bounds *b, int64_t value) {
    if (!b->set || value < b->number.min)
        b->number.min = value;
    if (!b->set || value > b->number.max)
        b->number.max = value;
    b->set = true;
}

/* Most values lie strictly between, which their first byte tells. */
static inline void bounds_text(struct bounds *b, struct tl_span text) {
    if (b->set && text.len && b->text.min.len && b->text.max.len) {
        unsigned char c = (unsigned char)text.ptr[0];
        if (c > (unsigned char)b->text.min.byte[0] && c < (unsigned char)b->text.max.byte[0])
            return;
    }
    bounds_text_slow(b, text);
}

/* False: there is none to be given. */
bool bounds_min(const struct bounds *b, enum column_type type, struct bound *out);
bool bounds_max(const struct bounds *b, enum column_type type, struct bound *out);

/* As the type orders them: below 0, 0, above 0. */
int bounds_compare(enum column_type type, const struct bound *a, const struct bound *b);
#endif
