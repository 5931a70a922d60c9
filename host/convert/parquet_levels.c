/* parquet_levels.c - RLE and bit packing in turn, as Parquet stores levels and dictionary indices.
 *
 * Invariant: packed values come in groups of eight, and only the last group is filled up. */
#include "convert/parquet_inside.h"

static inline uint32_t value_at(const void *values, size_t i, bool wide) {
    return wide ? ((const uint32_t *)values)[i] : ((const unsigned char *)values)[i];
}

static void varint(struct buf *out, uint64_t value) {
    for (; value > 0x7F; value >>= 7)
        buf_char(out, (char)(value | 0x80));
    buf_char(out, (char)value);
}

static inline void pack(struct buf *out, const void *values, size_t from, size_t to, bool wide, unsigned width) {
    size_t groups = (to - from + 7) / 8;
    if (!groups)
        return;
    varint(out, groups << 1 | 1);
    if (!buf_reserve(out, groups * width))
        return;
    unsigned char *at = (unsigned char *)out->data + out->len;
    uint64_t bits = 0;
    unsigned have = 0;
    for (size_t i = from; i < from + groups * 8; i++) {
        bits |= (uint64_t)(i < to ? value_at(values, i, wide) : 0) << have;
        for (have += width; have >= 8; have -= 8, bits >>= 8)
            *at++ = (unsigned char)bits;
    }
    out->len += groups * width;
    out->data[out->len] = '\0';
}

static inline void encode(struct buf *out, const void *values, size_t count, bool wide, unsigned width) {
    size_t packed = 0; /* where the values begin that will be packed */
    for (size_t i = 0; i < count;) {
        uint32_t value = value_at(values, i, wide);
        size_t end = i + 1;
        while (end < count && value_at(values, end, wide) == value)
            end++;
        if (end - i < 8 && end < count) {
            i += 8;
            continue;
        }
        if (end - i < 8 && i > packed) /* a short end goes with what is packed before it */
            break;
        pack(out, values, packed, i, wide, width);
        varint(out, (uint64_t)(end - i) << 1);
        for (unsigned byte = 0; byte < (width + 7) / 8; byte++)
            buf_char(out, (char)(value >> 8 * byte));
        packed = i = end;
    }
    if (packed < count)
        pack(out, values, packed, count, wide, width);
}

void levels_write(struct buf *out, const void *values, size_t count, bool wide, unsigned width) {
    if (wide)
        encode(out, values, count, true, width);
    else
        encode(out, values, count, false, width);
}
