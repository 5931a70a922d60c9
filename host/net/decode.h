/* decode.h - content codings undone while the bytes come: gzip, deflate, br, zstd, stacked up to three deep.
 *
 * Invariant: what has been given out is bounded by what came in (a bomb stops at DECODE_FREE bytes or at DECODE_RATIO
 * times the input, whichever is more), and decode_whole is true only when every layer saw its own end mark and check
 * sum. RFC 9110, 8.4; RFC 9659. */
#ifndef TROTLINE_NET_DECODE_H
#define TROTLINE_NET_DECODE_H
#include <stdbool.h>

#include "base/buf.h"

enum { DECODE_LAYERS = 3, DECODE_FREE = 1 << 20, DECODE_RATIO = 1000 };
#define DECODE_ACCEPT "gzip, deflate, br, zstd"

struct decode;
/* Takes decoded bytes, at most 32 KiB at a time; a negative answer ends the decoding and is handed on. */
typedef int decode_sink(void *ctx, const char *ptr, size_t len);

/* codings: the value of Content-Encoding. *out is NULL when nothing is to be undone (identity, nothing).
 * TL_UNSUPPORTED: one of them is not known here, the bytes are to be kept as they came. TL_INVALID: more than
 * DECODE_LAYERS. */
int decode_new(struct tl_span codings, decode_sink *sink, void *ctx, struct decode **out);
void decode_free(struct decode *d);
/* TL_INVALID: no such data; TL_REFUSED: a bomb; else what the sink said. What stands behind the end of the data is
 * passed over. */
int decode_put(struct decode *d, const char *ptr, size_t len);
bool decode_whole(const struct decode *d);        /* complete, or nothing came at all */
const char *decode_fault(const struct decode *d); /* a sentence, after TL_INVALID and TL_REFUSED */
#endif
