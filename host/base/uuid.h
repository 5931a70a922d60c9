/* uuid.h - UUIDv7 (RFC 9562): time-ordered ids for runs, results and owners.
 *
 * Invariant: ids made by one process are strictly increasing, also within a millisecond and when the clock is set back.
 * Safe after fork: a child reseeds itself. */
#ifndef TROTLINE_BASE_UUID_H
#define TROTLINE_BASE_UUID_H
#include <stdbool.h>
#include <stdint.h>

#include "trotline.h"

enum { UUID_TEXT = 37 };
struct uuid {
    uint8_t byte[16];
};
struct uuid uuid_new(void);
char *uuid_text(const struct uuid *u, char out[UUID_TEXT]); /* lower case, NUL-ended; returns out */
int uuid_parse(struct tl_span text, struct uuid *out); /* 36 characters, lower or upper case; TL_INVALID otherwise */
int64_t uuid_time_us(const struct uuid *u);            /* of a UUIDv7: its millisecond, in microseconds */
#endif
