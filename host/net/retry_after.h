/* retry_after.h - how long a server asks to be left alone (RFC 9110, 10.2.3).
 *
 * Invariant: an answer is between 0 and RETRY_AFTER_MAX seconds. What is neither a number of seconds nor an HTTP date,
 * several values among it, is none: the caller then waits by its own rules. */
#ifndef TROTLINE_NET_RETRY_AFTER_H
#define TROTLINE_NET_RETRY_AFTER_H
#include <stdint.h>

#include "trotline.h"

enum { RETRY_AFTER_MAX = 86400 }; /* seconds; longer ones are cut to it */

/* now_us: wall clock, against which a date is measured; one that is over gives 0, a part of a second counts as one.
 * TL_INVALID: not understood. */
int retry_after_parse(struct tl_span value, int64_t now_us, int64_t *seconds);
#endif
