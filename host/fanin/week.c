/* week.c - see week.h. */
#include "fanin/week.h"

#include <stdio.h>
#include <string.h>

static const int64_t day_us = (int64_t)86400 * 1000000;

/* Monday is 0; 1970-01-01 was a Thursday. */
static int weekday(int64_t us) {
    int64_t days = us / day_us - (us % day_us < 0);
    return (int)(((days + 3) % 7 + 7) % 7);
}

static int64_t january(int year, int day) {
    return time_from_civil(&(struct civil){.year = year, .month = 1, .day = day});
}

/* The 4th of January is always in week 1. */
int64_t week_start(struct week w) {
    int64_t fourth = january(w.year, 4);
    return fourth - weekday(fourth) * day_us + (w.number - 1) * WEEK_US;
}

struct week week_of(int64_t us) {
    int64_t monday = us - (us % day_us + day_us) % day_us - weekday(us) * day_us;
    struct week w = {.year = time_civil(monday + 3 * day_us).year};
    w.number = (int)((monday - week_start((struct week){w.year, 1})) / WEEK_US) + 1;
    return w;
}

int week_parse(struct tl_span text, struct week *out) {
    static const char form[] = "dddd-Wdd";
    if (text.len != sizeof form - 1)
        return TL_INVALID;
    int number[2] = {0, 0};
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (form[i] == 'd' ? c < '0' || c > '9' : c != form[i])
            return TL_INVALID;
        if (form[i] == 'd')
            number[i > 4] = number[i > 4] * 10 + (c - '0');
    }
    struct week w = {number[0], number[1]};
    if (w.year < 1 || w.number < 1 || week_of(week_start(w)).number != w.number)
        return TL_INVALID;
    *out = w;
    return TL_OK;
}

char *week_text(struct week w, char out[WEEK_TEXT]) {
    snprintf(out, WEEK_TEXT, "%04d-W%02d", w.year % 10000, w.number % 100);
    return out;
}
