/* date.h - dates as servers, feeds and sitemaps write them.
 *
 * Invariant: a date is what the text says or it is refused; nothing is filled in from the clock. What had to be assumed
 * shows in the quality. Reads RFC 822, 2822 and 850, asctime, cookie dates, RFC 3339, ISO 8601, W3CDTF and what people
 * make of them; linear, without allocation. */
#ifndef TROTLINE_NET_DATE_H
#define TROTLINE_NET_DATE_H
#include <stdint.h>

#include "base/times.h"
#include "trotline.h"

enum { DATE_MAX = 256 }; /* bytes of a date, white space around it not counted */
enum date_quality {
    DATE_EXACT,        /* day, time and zone are all said */
    DATE_ZONE_ASSUMED, /* day and perhaps time are said, the zone is none or unknown: UTC */
    DATE_GUESSED       /* the order of the numbers, the day of a month, or what a word means is our guess */
};

/* *us: microseconds since 1970, UTC, of the years 1 to 9999. TL_INVALID: no date. A second 60 is the next minute. Two
 * digits of a year: 00 to 49 are 2000 to 2049 (RFC 2822). A day of the week is not compared. */
int date_parse(struct tl_span text, int64_t *us, enum date_quality *quality);

/* RFC 3339 in UTC, the fraction only where there is one: 2026-01-02T03:04:05Z. Returns out. */
char *date_text(int64_t us, char out[TIME_TEXT]);
const char *date_quality_name(enum date_quality q); /* "exact", "zone-assumed", "guessed" */
#endif
