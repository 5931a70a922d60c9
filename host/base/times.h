/* times.h - clocks, civil time in UTC, and how times, durations and sizes are written.
 *
 * Wall-clock times are int64_t microseconds since 1970 UTC. Durations come from the monotonic clock. Local time is
 * never used. */
#ifndef TROTLINE_BASE_TIMES_H
#define TROTLINE_BASE_TIMES_H
#include <stdbool.h>
#include <stdint.h>

#include "trotline.h"

enum { TIME_TEXT = 32 };                        /* room for time_text's answer */
#define TIME_MAX_US INT64_C(253402300799999999) /* the end of the year 9999 */
int64_t time_now_us(void);                      /* wall clock */
int64_t time_mono_us(void);                     /* monotonic clock; only differences mean something */
static inline int64_t time_seconds_us(int64_t s) {
    return s * 1000000;
}

struct civil {
    int year, month, day, hour, minute, second, micro;
};
struct civil time_civil(int64_t us); /* proleptic Gregorian, UTC */
int64_t time_from_civil(const struct civil *c);
char *time_text(int64_t us, char out[TIME_TEXT]); /* 2026-01-02T03:04:05.000006Z; returns out */
int time_parse(struct tl_span text, int64_t *us); /* RFC 3339 with any fraction and zone; TL_INVALID otherwise */
int time_parse_duration(struct tl_span text,
                        int64_t *us); /* 500ms 90s 5m 1h 2d, also 1h30m; a bare number is refused; TL_INVALID */
int time_parse_size(struct tl_span text, int64_t *bytes); /* 4096 64KiB 2MiB 10GiB 1TiB, also kB MB GB; TL_INVALID */
void time_duration_text(int64_t us, char out[TIME_TEXT]); /* 1.2s, 3m04s, 2h05m: for people */
void time_size_text(int64_t bytes, char out[TIME_TEXT]);  /* 512 B, 23.8 KiB, 1.2 GiB: for people */
#endif
