/* unzip.c - see unzip.h. */
#include "net/unzip.h"

#include <zlib.h>

bool unzip_is_gzip(struct tl_span body) {
    return body.len > 2 && (unsigned char)body.ptr[0] == 0x1f && (unsigned char)body.ptr[1] == 0x8b;
}

static int inflate_all(z_stream *z, size_t packed, struct buf *out) {
    size_t start = out->len;
    for (;;) {
        if (!buf_reserve(out, 64 << 10))
            return TL_REFUSED;
        z->next_out = (unsigned char *)out->data + out->len;
        z->avail_out = 64 << 10;
        int rc = inflate(z, Z_NO_FLUSH);
        out->len += (64u << 10) - z->avail_out;
        out->data[out->len] = '\0';
        size_t came = out->len - start;
        if (came > UNZIP_MAX || (came > UNZIP_RATIO_FREE && came / UNZIP_RATIO > packed))
            return TL_REFUSED;
        if (rc == Z_STREAM_END && z->avail_in > 2 && z->next_in[0] == 0x1f && z->next_in[1] == 0x8b)
            rc = inflateReset(z);
        else if (rc == Z_STREAM_END)
            return TL_OK;
        if (rc != Z_OK || (!z->avail_in && z->avail_out))
            return came ? TL_PARTIAL : TL_INVALID;
    }
}

int unzip_gzip(struct tl_span body, struct buf *out) {
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)body.ptr, .avail_in = (unsigned)body.len};
    if (!unzip_is_gzip(body) || body.len > UNZIP_MAX || inflateInit2(&z, 15 + 16) != Z_OK)
        return TL_INVALID;
    int rc = inflate_all(&z, body.len, out);
    inflateEnd(&z);
    return rc;
}
