/* json_number.h - a JSON number in the one spelling that Python gives it (pyjson-v1).
 *
 * Invariant: two texts of the same integer, or of the same double, become the same bytes, and these read back as that
 * value; an integer (no point, no exponent) stays one, of whatever size, and is never taken for a double. */
#ifndef TROTLINE_BASE_JSON_NUMBER_H
#define TROTLINE_BASE_JSON_NUMBER_H
#include "base/buf.h"

enum { JSON_INTEGER_DIGITS = 4300 }; /* what Python reads at most */

/* Appends a valid JSON number. An integer keeps its digits (-0 is 0). A double is the shortest text that reads back
 * equal, the one nearest to it where there are several: with ".0" when it is a whole number, with an exponent of at
 * least two digits when that is below -4 or above 15. TL_INVALID: beyond the range of a double, or an integer of more
 * than JSON_INTEGER_DIGITS digits. */
int json_number_python(struct tl_span number, struct buf *out);
void json_double_python(double finite, struct buf *out);
#endif
