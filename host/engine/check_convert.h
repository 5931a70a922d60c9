/* check_convert.h - what becomes of a checked collector's document when it is converted. */
#ifndef TROTLINE_ENGINE_CHECK_CONVERT_H
#define TROTLINE_ENGINE_CHECK_CONVERT_H
#include "base/buf.h"
#include "base/fail.h"
#include "base/hash.h"

struct check_rows {
    int64_t count;
    struct sha256 sum; /* of all cells but the time of conversion */
};
/* The rows of a document: by the collector's own convert (in its own process), or, with file NULL, one for each data
 * element. */
int check_convert(const char *file, struct tl_span options, int64_t deadline_us, struct tl_span document,
                  struct check_rows *out, struct fail *why);
#endif
