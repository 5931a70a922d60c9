/* codec.c - see codec.h. */
#include "convert/codec.h"

#include <libdeflate.h>
#include <snappy-c.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/mem.h"

enum {
    LEVEL = 3,
    DEFLATE_LEVEL_MAX = 12,
    ZSTD_LEVEL_MAX = 19,  /* above, a block needs more memory than a table of them should */
    ZSTD_WINDOW_LOG = 27, /* 128 MiB: what zstd itself allows a reader that says nothing */
    FIRST_GUESS = 4,      /* how many times larger than packed a block may be, before that is known */
    FIRST_GUESS_MIN = 64 << 10,
    PIECE = 16 << 10
};

/* The states are made when they are first needed: a writer needs one, a reader the other. */
struct codec {
    struct codec_options options;
    struct libdeflate_compressor *deflate;
    struct libdeflate_decompressor *inflate;
    ZSTD_CCtx *zstd;
    ZSTD_DCtx *unzstd;
};

int codec_new(const struct codec_options *options, struct codec **out, struct fail *why) {
    *out = NULL;
    int max = options->kind == CODEC_DEFLATE ? DEFLATE_LEVEL_MAX : options->kind == CODEC_ZSTD ? ZSTD_LEVEL_MAX : 0;
    if (options->level < 0 || options->level > max)
        return fail_set(why, TL_INVALID, "compression level %d is not possible: %s", options->level,
                        !max                       ? "snappy and uncompressed files have no level"
                        : max == DEFLATE_LEVEL_MAX ? "deflate has 1 to 12"
                                                   : "zstd has 1 to 19");
    struct codec *c = mem_alloc(sizeof *c);
    c->options = *options;
    if (max && !c->options.level)
        c->options.level = LEVEL;
    *out = c;
    return TL_OK;
}

void codec_free(struct codec *c) {
    if (!c)
        return;
    libdeflate_free_compressor(c->deflate);
    libdeflate_free_decompressor(c->inflate);
    ZSTD_freeCCtx(c->zstd);
    ZSTD_freeDCtx(c->unzstd);
    free(c);
}

static int no_memory(struct fail *why) {
    return fail_set(why, TL_FAILED, "cannot compress or decompress a block: out of memory");
}

static char *end_of(struct buf *b) {
    return b->data + b->len;
}

static void grown(struct buf *b, size_t by) {
    b->len += by;
    b->data[b->len] = '\0';
}

/* ---- packing ---- */

static int pack_deflate(struct codec *c, struct tl_span plain, char *to, size_t room, size_t *len, struct fail *why) {
    if (!c->deflate && !(c->deflate = libdeflate_alloc_compressor(c->options.level)))
        return no_memory(why);
    *len = libdeflate_deflate_compress(c->deflate, plain.ptr, plain.len, to, room);
    return *len ? TL_OK : fail_set(why, TL_FAILED, "deflate could not compress %zu bytes", plain.len);
}

static int pack_snappy(struct tl_span plain, char *to, size_t room, size_t *len, struct fail *why) {
    *len = room;
    if (snappy_compress(plain.ptr, plain.len, to, len) != SNAPPY_OK)
        return fail_set(why, TL_FAILED, "snappy could not compress %zu bytes", plain.len);
    return TL_OK;
}

static ZSTD_CCtx *zstd_of(struct codec *c) {
    if (!c->zstd && (c->zstd = ZSTD_createCCtx())) {
        ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_compressionLevel, c->options.level);
        ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_checksumFlag, c->options.checksum);
    }
    return c->zstd;
}

static int pack_zstd(struct codec *c, struct tl_span plain, char *to, size_t room, size_t *len, struct fail *why) {
    if (!zstd_of(c))
        return no_memory(why);
    *len = ZSTD_compress2(c->zstd, to, room, plain.ptr, plain.len);
    if (ZSTD_isError(*len))
        return fail_set(why, TL_FAILED, "zstd could not compress %zu bytes: %s", plain.len, ZSTD_getErrorName(*len));
    return TL_OK;
}

static size_t bound(const struct codec *c, size_t len) {
    switch (c->options.kind) {
    case CODEC_DEFLATE:
        return libdeflate_deflate_compress_bound(c->deflate, len);
    case CODEC_SNAPPY:
        return snappy_max_compressed_length(len);
    case CODEC_ZSTD:
        return ZSTD_compressBound(len);
    case CODEC_NONE:
        break;
    }
    return len;
}

int codec_pack(struct codec *c, struct tl_span plain, struct buf *out, struct fail *why) {
    size_t room = bound(c, plain.len), len = plain.len;
    if (ZSTD_isError(room) || !buf_reserve(out, room))
        return fail_set(why, TL_FAILED, "cannot compress %zu bytes at once: too many", plain.len);
    int rc = TL_OK;
    switch (c->options.kind) {
    case CODEC_NONE:
        if (len)
            memcpy(end_of(out), plain.ptr, len);
        break;
    case CODEC_DEFLATE:
        rc = pack_deflate(c, plain, end_of(out), room, &len, why);
        break;
    case CODEC_SNAPPY:
        rc = pack_snappy(plain, end_of(out), room, &len, why);
        break;
    case CODEC_ZSTD:
        rc = pack_zstd(c, plain, end_of(out), room, &len, why);
        break;
    }
    if (rc == TL_OK)
        grown(out, len);
    return rc;
}

static int pack_zstd_parts(struct codec *c, const struct tl_span *parts, size_t count,
                           void (*sink)(void *, struct tl_span), void *to, struct fail *why) {
    char out[PIECE];
    unsigned long long size = 0;
    if (!zstd_of(c))
        return no_memory(why);
    for (size_t i = 0; i < count; i++)
        size += parts[i].len;
    ZSTD_CCtx_reset(c->zstd, ZSTD_reset_session_only);
    ZSTD_CCtx_setPledgedSrcSize(c->zstd, size);
    for (size_t i = 0; i < count; i++) {
        ZSTD_inBuffer in = {parts[i].ptr, parts[i].len, 0};
        bool last = i + 1 == count;
        size_t left = 1;
        while (last ? left != 0 : in.pos < in.size) {
            ZSTD_outBuffer piece = {out, sizeof out, 0};
            left = ZSTD_compressStream2(c->zstd, &piece, &in, last ? ZSTD_e_end : ZSTD_e_continue);
            if (ZSTD_isError(left))
                return fail_set(why, TL_FAILED, "zstd could not compress %llu bytes: %s", size,
                                ZSTD_getErrorName(left));
            sink(to, (struct tl_span){out, piece.pos});
        }
    }
    return TL_OK;
}

int codec_pack_parts(struct codec *c, const struct tl_span *parts, size_t count,
                     void (*sink)(void *to, struct tl_span packed), void *to, struct fail *why) {
    AUTO_BUF struct buf plain = BUF_INIT, packed = BUF_INIT;
    if (c->options.kind == CODEC_ZSTD)
        return pack_zstd_parts(c, parts, count, sink, to, why);
    for (size_t i = 0; i < count; i++)
        if (c->options.kind == CODEC_NONE)
            sink(to, parts[i]);
        else
            buf_add(&plain, parts[i].ptr, parts[i].len);
    if (c->options.kind == CODEC_NONE)
        return TL_OK;
    if (plain.full)
        return fail_set(why, TL_FAILED, "cannot compress a block at once: it is too large");
    int rc = codec_pack(c, buf_span(&plain), &packed, why);
    if (rc == TL_OK)
        sink(to, buf_span(&packed));
    return rc;
}

/* ---- unpacking ---- */

static int damaged(struct fail *why, const char *algorithm, const char *reason) {
    return fail_set(why, TL_INVALID, "the %s data are damaged%s%s", algorithm, reason ? ": " : "",
                    reason ? reason : "");
}

static int too_large(struct fail *why, size_t max) {
    return fail_set(why, TL_INVALID, "it is larger than %zu bytes when unpacked", max);
}

/* One try at unpacking into exactly `room` bytes. TL_PARTIAL: they were too few. */
static int try_inflate(struct codec *c, struct tl_span packed, char *to, size_t room, size_t *len, struct fail *why) {
    if (!c->inflate && !(c->inflate = libdeflate_alloc_decompressor()))
        return no_memory(why);
    size_t used = 0;
    enum libdeflate_result r =
        libdeflate_deflate_decompress_ex(c->inflate, packed.ptr, packed.len, to, room, &used, len);
    if (r == LIBDEFLATE_INSUFFICIENT_SPACE)
        return TL_PARTIAL;
    if (r != LIBDEFLATE_SUCCESS)
        return damaged(why, "deflate", NULL);
    return used == packed.len ? TL_OK : damaged(why, "deflate", "something stands behind their end");
}

static int try_zstd(struct codec *c, struct tl_span packed, char *to, size_t room, size_t *len, struct fail *why) {
    if (!c->unzstd) {
        if (!(c->unzstd = ZSTD_createDCtx()))
            return no_memory(why);
        ZSTD_DCtx_setParameter(c->unzstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG);
    }
    *len = ZSTD_decompressDCtx(c->unzstd, to, room, packed.ptr, packed.len);
    if (!ZSTD_isError(*len))
        return TL_OK;
    if (ZSTD_getErrorCode(*len) == ZSTD_error_dstSize_tooSmall)
        return TL_PARTIAL;
    return damaged(why, "zstd", ZSTD_getErrorName(*len));
}

/* How large the block says that it will be; SIZE_MAX: it does not say. */
static int promised(const struct codec *c, struct tl_span packed, size_t *size, struct fail *why) {
    *size = SIZE_MAX;
    if (c->options.kind == CODEC_SNAPPY && snappy_uncompressed_length(packed.ptr, packed.len, size) != SNAPPY_OK)
        return damaged(why, "snappy", NULL);
    if (c->options.kind == CODEC_ZSTD) {
        unsigned long long n = ZSTD_getFrameContentSize(packed.ptr, packed.len);
        if (n == ZSTD_CONTENTSIZE_ERROR)
            return damaged(why, "zstd", "no frame begins here");
        if (n < SIZE_MAX && n != ZSTD_CONTENTSIZE_UNKNOWN &&
            ZSTD_findFrameCompressedSize(packed.ptr, packed.len) == packed.len)
            *size = (size_t)n;
    }
    return TL_OK;
}

static int try_once(struct codec *c, struct tl_span packed, char *to, size_t room, size_t *len, struct fail *why) {
    if (c->options.kind == CODEC_DEFLATE)
        return try_inflate(c, packed, to, room, len, why);
    if (c->options.kind == CODEC_ZSTD)
        return try_zstd(c, packed, to, room, len, why);
    *len = room;
    if (snappy_uncompress(packed.ptr, packed.len, to, len) != SNAPPY_OK)
        return damaged(why, "snappy", NULL);
    return TL_OK;
}

int codec_unpack(struct codec *c, struct tl_span packed, size_t max, struct buf *out, struct fail *why) {
    size_t room, len = 0, size;
    if (c->options.kind == CODEC_NONE) {
        if (packed.len > max || !buf_reserve(out, packed.len))
            return too_large(why, max);
        buf_add(out, packed.ptr, packed.len);
        return TL_OK;
    }
    int rc = promised(c, packed, &size, why);
    if (rc != TL_OK)
        return rc;
    if (size != SIZE_MAX && size > max)
        return too_large(why, max);
    if (size != SIZE_MAX)
        room = size;
    else
        room = packed.len > max / FIRST_GUESS ? max : packed.len * FIRST_GUESS;
    if (size == SIZE_MAX && room < FIRST_GUESS_MIN)
        room = max < FIRST_GUESS_MIN ? max : FIRST_GUESS_MIN;
    for (;;) { /* twice as much each time: all tries together cost at most twice the last one */
        if (!buf_reserve(out, room))
            return too_large(why, max);
        rc = try_once(c, packed, end_of(out), room, &len, why);
        if (rc != TL_PARTIAL)
            break;
        if (size != SIZE_MAX)
            return damaged(why, "zstd", "more comes out than it says");
        if (room == max)
            return too_large(why, max);
        room = room > max / 2 ? max : room * 2;
    }
    if (rc == TL_OK)
        grown(out, len);
    else
        out->data[out->len] = '\0';
    return rc;
}

uint32_t codec_crc32(struct tl_span bytes) {
    return codec_crc32_more(0, bytes);
}

uint32_t codec_crc32_more(uint32_t crc, struct tl_span bytes) {
    return libdeflate_crc32(crc, bytes.ptr, bytes.len);
}
