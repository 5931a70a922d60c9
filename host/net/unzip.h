/* unzip.h - gzip that nobody announced: what begins with 1f 8b is unpacked once, with a bound on what comes out. */
#ifndef TROTLINE_NET_UNZIP_H
#define TROTLINE_NET_UNZIP_H
#include <stdbool.h>

#include "base/buf.h"
#include "trotline.h"

enum {
    UNZIP_MAX = 50 << 20,      /* bytes that come out */
    UNZIP_RATIO = 200,         /* times what went in, ... */
    UNZIP_RATIO_FREE = 4 << 20 /* ... once more than this has come out */
};
bool unzip_is_gzip(struct tl_span body);
/* Appends the content of all members. TL_PARTIAL: it ends in the middle, or is damaged behind what came out.
 * TL_REFUSED: more than UNZIP_MAX, or packed tighter than UNZIP_RATIO. TL_INVALID: nothing could be read. */
int unzip_gzip(struct tl_span body, struct buf *out);
#endif
