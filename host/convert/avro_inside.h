/* avro_inside.h - what the writer and the reader of Avro share: the words of the format, and its integers. */
#ifndef TROTLINE_CONVERT_AVRO_INSIDE_H
#define TROTLINE_CONVERT_AVRO_INSIDE_H
#include "convert/avro.h"
#include "convert/codec.h"

#define AVRO_MAGIC      "Obj\1"
#define AVRO_KEY_SCHEMA "avro.schema"
#define AVRO_KEY_CODEC  "avro.codec"
enum {
    AVRO_MAGIC_BYTES = 4,
    AVRO_SYNC_BYTES = 16,
    AVRO_CRC_BYTES = 4,   /* behind a Snappy block: CRC-32 of the plain bytes, big-endian */
    AVRO_LONG_BYTES = 10, /* of the longest integer */
    AVRO_KEEP = 8 << 20   /* bytes of a buffer that are kept for the next block */
};

/* How a column's type stands in the schema, in canonical JSON (json_write.h): written so, and compared so. */
static const char *const avro_types[] = {
    [COLUMN_TEXT] = "[\"null\",\"string\"]",
    [COLUMN_INT] = "[\"null\",\"long\"]",
    [COLUMN_REAL] = "[\"null\",\"double\"]",
    [COLUMN_BOOL] = "[\"null\",\"boolean\"]",
    [COLUMN_TIME] = "[\"null\",{\"logicalType\":\"timestamp-micros\",\"type\":\"long\"}]",
    [COLUMN_LIST] = "[\"null\",{\"items\":\"string\",\"type\":\"array\"}]",
};

static const struct {
    const char *name;
    enum codec_kind kind;
} avro_codecs[] = {
    [AVRO_DEFLATE] = {"deflate", CODEC_DEFLATE},
    [AVRO_SNAPPY] = {"snappy", CODEC_SNAPPY},
    [AVRO_ZSTANDARD] = {"zstandard", CODEC_ZSTD},
    [AVRO_NULL] = {"null", CODEC_NONE},
};

/* Integers: zigzag, then 7 bits a byte, the least first. */
static inline char *avro_put_long(char *to, int64_t n) {
    uint64_t z = (uint64_t)n << 1 ^ (n < 0 ? UINT64_MAX : 0);
    for (; z > 0x7F; z >>= 7)
        *to++ = (char)(z | 0x80);
    *to++ = (char)z;
    return to;
}

/* Moves *at behind the integer. False: it does not end before `end`, or is longer than 64 bits. */
static inline bool avro_get_long(const char **at, const char *end, int64_t *n) {
    const char *p = *at;
    uint64_t z = 0;
    for (unsigned shift = 0; p < end && shift < 64; shift += 7) {
        uint64_t byte = (unsigned char)*p++;
        if (shift == 63 && byte > 1)
            return false;
        z |= (byte & 0x7F) << shift;
        if (byte < 0x80) {
            *at = p;
            *n = (int64_t)(z >> 1 ^ -(z & 1));
            return true;
        }
    }
    return false;
}
#endif
