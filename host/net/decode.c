/* decode.c - see decode.h. */
#include "net/decode.h"

#include <brotli/decode.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"

enum {
    BLOCK = 32 * 1024,
    ZSTD_WINDOW_LOG = 23 /* 8 MiB: all that RFC 9659 allows on the web */,
    GZIP_WINDOW = MAX_WBITS + 16
};

enum kind { GZIP, DEFLATE, BROTLI, ZSTD };
struct layer {
    enum kind kind;
    bool began, ended;
    int64_t out;
    unsigned char first[4]; /* deflate: its first two bytes say which of two kinds it is; else: of a further member */
    int firsts;
    union {
        z_stream z;
        BrotliDecoderState *brotli;
        ZSTD_DStream *zstd;
    };
    char *block;
};
struct decode {
    struct layer layer[DECODE_LAYERS]; /* the first takes what comes from the network */
    size_t count;
    decode_sink *sink;
    void *ctx;
    int64_t before, in; /* bytes put before this put; bytes that the first layer has read */
    const char *start;  /* of this put */
    char fault[120];
};

static const char *const kind_name[] = {"gzip", "deflate", "br", "zstd"};

static int kind_of(struct tl_span name) {
    static const struct {
        const char *name;
        enum kind kind;
    } known[] = {{"gzip", GZIP}, {"x-gzip", GZIP}, {"deflate", DEFLATE}, {"br", BROTLI}, {"zstd", ZSTD}};
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (name.len == strlen(known[i].name) && strncasecmp(name.ptr, known[i].name, name.len) == 0)
            return (int)known[i].kind;
    return -1;
}

static int fault(struct decode *d, int rc, const struct layer *l, const char *what) {
    snprintf(d->fault, sizeof d->fault, "the %s data %s", kind_name[l->kind], what);
    return rc;
}

int decode_new(struct tl_span codings, decode_sink *sink, void *ctx, struct decode **out) {
    enum kind found[DECODE_LAYERS];
    size_t count = 0;
    *out = NULL;
    for (const char *at = codings.ptr, *end = at + codings.len; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        struct tl_span name = {at, (size_t)((comma ? comma : end) - at)};
        at += name.len + 1;
        while (name.len && (name.ptr[0] == ' ' || name.ptr[0] == '\t'))
            name = (struct tl_span){name.ptr + 1, name.len - 1};
        while (name.len && (name.ptr[name.len - 1] == ' ' || name.ptr[name.len - 1] == '\t'))
            name.len--;
        if (name.len == 0 || (name.len == 8 && strncasecmp(name.ptr, "identity", 8) == 0))
            continue;
        int kind = kind_of(name);
        if (kind < 0)
            return TL_UNSUPPORTED;
        if (count == DECODE_LAYERS)
            return TL_INVALID;
        found[count++] = (enum kind)kind;
    }
    if (count == 0)
        return TL_OK;
    struct decode *d = mem_alloc(sizeof *d);
    d->sink = sink;
    d->ctx = ctx;
    d->count = count;
    for (size_t i = 0; i < count; i++)
        d->layer[i].kind = found[count - 1 - i]; /* the last applied is the first to be undone */
    *out = d;
    return TL_OK;
}

static int layer_begin(struct decode *d, struct layer *l, int window) {
    l->began = true;
    l->block = mem_alloc(BLOCK);
    switch (l->kind) {
    case GZIP:
    case DEFLATE:
        return inflateInit2(&l->z, window) == Z_OK ? TL_OK : fault(d, TL_INVALID, l, "found no memory");
    case BROTLI:
        l->brotli = BrotliDecoderCreateInstance(NULL, NULL, NULL);
        return l->brotli ? TL_OK : fault(d, TL_INVALID, l, "found no memory");
    case ZSTD:
        l->zstd = ZSTD_createDStream();
        if (!l->zstd || ZSTD_isError(ZSTD_DCtx_setParameter(l->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG)))
            return fault(d, TL_INVALID, l, "found no memory");
        return TL_OK;
    }
    return TL_INVALID;
}

void decode_free(struct decode *d) {
    if (!d)
        return;
    for (size_t i = 0; i < d->count; i++) {
        struct layer *l = &d->layer[i];
        if (!l->began)
            continue;
        if (l->kind == BROTLI)
            BrotliDecoderDestroyInstance(l->brotli);
        else if (l->kind == ZSTD)
            ZSTD_freeDStream(l->zstd);
        else
            inflateEnd(&l->z);
        free(l->block);
    }
    free(d);
}

static int layer_put(struct decode *d, size_t i, const char *ptr, size_t len);

/* Hands a block of layer i on, unless it is far more than what was read for it. `at`: how far the layer has read. */
static int hand_on(struct decode *d, size_t i, const void *at, size_t len) {
    struct layer *l = &d->layer[i];
    if (i == 0) /* the first two bytes of deflate come from elsewhere */
        d->in = l->kind == DEFLATE ? (int64_t)l->z.total_in : d->before + ((const char *)at - d->start);
    if (len == 0)
        return TL_OK;
    l->out += (int64_t)len;
    if (l->out > DECODE_FREE && l->out / DECODE_RATIO > d->in)
        return fault(d, TL_REFUSED, l, "are a bomb: they grow to more than 1000 times their size");
    return i + 1 < d->count ? layer_put(d, i + 1, l->block, len) : d->sink(d->ctx, l->block, len);
}

/* A gzip file may have several members; zeros and other bytes behind the last are nobody's. */
static int next_member(struct decode *d, struct layer *l, const char **ptr, size_t *len) {
    static const unsigned char magic[2] = {0x1f, 0x8b};
    while (*len && l->firsts < 2) {
        if ((unsigned char)**ptr != magic[l->firsts]) {
            *len = 0;
            l->firsts = -1; /* no member: nothing that follows is read */
            return TL_OK;
        }
        l->first[l->firsts++] = (unsigned char)**ptr;
        (*ptr)++;
        (*len)--;
    }
    if (l->firsts < 2)
        return TL_OK;
    l->firsts = 0;
    l->ended = false;
    if (inflateReset(&l->z) != Z_OK)
        return fault(d, TL_INVALID, l, "are damaged");
    l->z.next_in = l->first;
    l->z.avail_in = 2;
    l->z.next_out = (unsigned char *)l->block;
    l->z.avail_out = BLOCK;
    return inflate(&l->z, Z_NO_FLUSH) == Z_OK ? TL_OK : fault(d, TL_INVALID, l, "are damaged");
}

static int inflate_put(struct decode *d, size_t i, const char *ptr, size_t len) {
    struct layer *l = &d->layer[i];
    int rc = TL_OK;
    while (len && !rc) {
        if (l->ended) {
            if (l->kind == DEFLATE || l->firsts < 0)
                return TL_OK;
            if ((rc = next_member(d, l, &ptr, &len)) || l->ended)
                return rc;
            continue;
        }
        l->z.next_in = (unsigned char *)(uintptr_t)ptr;
        l->z.avail_in = (unsigned)len;
        int z;
        do {
            l->z.next_out = (unsigned char *)l->block;
            l->z.avail_out = BLOCK;
            z = inflate(&l->z, Z_NO_FLUSH);
            if (z != Z_OK && z != Z_STREAM_END && z != Z_BUF_ERROR)
                return fault(d, TL_INVALID, l, l->out || l->z.total_in > 10 ? "are damaged" : "are none");
            rc = hand_on(d, i, l->z.next_in, BLOCK - l->z.avail_out);
        } while (!rc && z == Z_OK && (l->z.avail_in || l->z.avail_out == 0));
        ptr = (const char *)l->z.next_in;
        len = l->z.avail_in;
        l->ended = z == Z_STREAM_END;
        if (!l->ended && len && !rc)
            return fault(d, TL_INVALID, l, "are damaged");
    }
    return rc;
}

/* "deflate" is zlib's format; many servers send the naked one. Which it is can be told from two bytes. */
static int deflate_put(struct decode *d, size_t i, const char *ptr, size_t len) {
    struct layer *l = &d->layer[i];
    while (l->firsts < 2 && len) {
        l->first[l->firsts++] = (unsigned char)*ptr++;
        len--;
    }
    if (l->firsts < 2)
        return TL_OK;
    if (!l->began) {
        bool zlib = (l->first[0] & 0x0f) == 8 && l->first[0] >> 4 <= 7 && (l->first[0] * 256 + l->first[1]) % 31 == 0;
        int rc = layer_begin(d, l, zlib ? MAX_WBITS : -MAX_WBITS);
        if (!rc)
            rc = inflate_put(d, i, (const char *)l->first, 2);
        if (rc)
            return rc;
    }
    return inflate_put(d, i, ptr, len);
}

static int brotli_put(struct decode *d, size_t i, const char *ptr, size_t len) {
    struct layer *l = &d->layer[i];
    const uint8_t *in = (const uint8_t *)ptr;
    while (!l->ended) {
        uint8_t *out = (uint8_t *)l->block;
        size_t room = BLOCK;
        BrotliDecoderResult z = BrotliDecoderDecompressStream(l->brotli, &len, &in, &room, &out, NULL);
        if (z == BROTLI_DECODER_RESULT_ERROR)
            return fault(d, TL_INVALID, l, "are damaged");
        int rc = hand_on(d, i, in, BLOCK - room);
        if (rc)
            return rc;
        l->ended = z == BROTLI_DECODER_RESULT_SUCCESS;
        if (z == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT)
            return TL_OK;
    }
    return TL_OK;
}

/* Is this how a further frame begins, or one to be skipped? `n`: bytes of it that are there. */
static bool is_zstd_magic(const unsigned char *at, int n) {
    static const unsigned char data[4] = {0x28, 0xb5, 0x2f, 0xfd}, skip[3] = {0x2a, 0x4d, 0x18};
    return memcmp(at, data, (size_t)n) == 0 || (at[0] >> 4 == 5 && memcmp(at + 1, skip, (size_t)n - 1) == 0);
}

static int zstd_run(struct decode *d, size_t i, const char *ptr, size_t len, const char *at) {
    struct layer *l = &d->layer[i];
    ZSTD_inBuffer in = {ptr, len, 0};
    for (;;) {
        ZSTD_outBuffer out = {l->block, BLOCK, 0};
        size_t z = ZSTD_decompressStream(l->zstd, &out, &in);
        if (ZSTD_isError(z))
            return fault(d, TL_INVALID, l, l->out ? "are damaged" : "are none, or want too large a window");
        l->ended = z == 0;
        int rc = hand_on(d, i, at ? at : ptr + in.pos, out.pos);
        if (rc)
            return rc;
        if (l->ended && in.pos < in.size)
            return (int)(in.size - in.pos); /* so many bytes are left */
        if (in.pos == in.size && (l->ended || out.pos < BLOCK))
            return 0;
    }
}

static int zstd_put(struct decode *d, size_t i, const char *ptr, size_t len) {
    struct layer *l = &d->layer[i];
    while (len) {
        int rc = 0;
        if (!l->ended) {
            if ((rc = zstd_run(d, i, ptr, len, NULL)) < 0)
                return rc;
            ptr += len - (size_t)rc;
            len = (size_t)rc;
            continue;
        }
        if (l->firsts < 0)
            return TL_OK;
        l->first[l->firsts++] = (unsigned char)*ptr++;
        len--;
        if (!is_zstd_magic(l->first, l->firsts)) {
            l->firsts = -1; /* what is behind the last frame is nobody's */
        } else if (l->firsts == 4) {
            l->firsts = 0;
            if ((rc = zstd_run(d, i, (const char *)l->first, 4, ptr)) < 0)
                return rc;
        }
    }
    return TL_OK;
}

static int layer_put(struct decode *d, size_t i, const char *ptr, size_t len) {
    struct layer *l = &d->layer[i];
    if (l->kind == DEFLATE)
        return deflate_put(d, i, ptr, len);
    if (!l->began) {
        int rc = layer_begin(d, l, GZIP_WINDOW);
        if (rc)
            return rc;
    }
    return l->kind == GZIP     ? inflate_put(d, i, ptr, len)
           : l->kind == BROTLI ? brotli_put(d, i, ptr, len)
                               : zstd_put(d, i, ptr, len);
}

int decode_put(struct decode *d, const char *ptr, size_t len) {
    int rc = TL_OK;
    d->start = ptr;
    if (len)
        rc = layer_put(d, 0, ptr, len);
    d->in = d->before += (int64_t)len;
    return rc;
}

bool decode_whole(const struct decode *d) {
    for (size_t i = 0; i < d->count && d->in > 0; i++)
        if (!d->layer[i].ended)
            return false;
    return true;
}

const char *decode_fault(const struct decode *d) {
    return d->fault;
}
