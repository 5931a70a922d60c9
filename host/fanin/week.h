/* week.h - ISO 8601 weeks, and the window of time that a week names.
 *
 * Invariant: a week begins on Monday 00:00:00 UTC and belongs to the year of its Thursday, so 2026-W01 begins in 2025.
 * Local time is never looked at. */
#ifndef TROTLINE_FANIN_WEEK_H
#define TROTLINE_FANIN_WEEK_H
#include "base/times.h"

enum { WEEK_TEXT = 16 };
#define WEEK_US (time_seconds_us(7 * 86400))

struct week {
    int year, number;
};
struct week week_of(int64_t us);
int64_t week_start(struct week w);                     /* inclusive; the end, which is not, is WEEK_US later */
int week_parse(struct tl_span text, struct week *out); /* 2026-W23; TL_INVALID, also for a week that does not exist */
char *week_text(struct week w, char out[WEEK_TEXT]);   /* returns out */
#endif
