/* codec.h - packing and unpacking the blocks and pages of table files, with memory that is used again.
 *
 * A codec is one algorithm at one level, with whatever state it keeps between calls; one owner, one thread. What goes
 * in and out is whole blocks, so every block can be read without the others. The forms are those of the libraries: a
 * bare DEFLATE stream (RFC 1951: no zlib or gzip around it), bare Snappy (no framing), one zstd frame that tells its
 * size. What a file format puts around them (Avro's checksum behind Snappy) is the format's business. */
#ifndef TROTLINE_CONVERT_CODEC_H
#define TROTLINE_CONVERT_CODEC_H
#include "base/buf.h"
#include "base/fail.h"

enum codec_kind { CODEC_NONE, CODEC_DEFLATE, CODEC_SNAPPY, CODEC_ZSTD };

struct codec_options {
    enum codec_kind kind;
    int level;     /* deflate: 1 to 12, zstd: 1 to 19; 0: 3 for both; Snappy and none know no levels */
    bool checksum; /* zstd: its frames end with a checksum of the plain bytes, which every reader may check */
};

struct codec;
/* TL_INVALID: no such level. codec_free takes NULL. */
int codec_new(const struct codec_options *options, struct codec **out, struct fail *why);
void codec_free(struct codec *c);

/* Append the packed bytes of one block to `out`. TL_FAILED: `out` may not grow that far. */
int codec_pack(struct codec *c, struct tl_span plain, struct buf *out, struct fail *why);

/* The same for a block in parts, whose packed bytes are handed out piece by piece: with zstd and none nothing of the
 * block's size is allocated. */
int codec_pack_parts(struct codec *c, const struct tl_span *parts, size_t count,
                     void (*sink)(void *to, struct tl_span packed), void *to, struct fail *why);

/* Append the plain bytes of one block to `out`, `max` at most. Safe on any bytes. TL_INVALID: damaged, or more than
 * `max`; `out` is as before. Memory grows with what comes out, not with what a header promises beyond `max`. */
int codec_unpack(struct codec *c, struct tl_span packed, size_t max, struct buf *out, struct fail *why);

/* CRC-32 (ISO-HDLC: zlib, gzip, Parquet's pages, Avro's Snappy blocks). */
uint32_t codec_crc32(struct tl_span bytes);
uint32_t codec_crc32_more(uint32_t crc, struct tl_span bytes); /* of what was before, and these; 0 to begin */
#endif
