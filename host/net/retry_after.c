/* retry_after.c - see retry_after.h. A date is one of the three forms of RFC 9110, 5.6.7, and nothing near them: a
 * wrong guess here is a server that is asked too early. The day of the week is not compared with the date. */
#include "net/retry_after.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/times.h"

/* w: weekday, short or long; d: two digits, e: a blank may stand for the first; b: month; Y, y: year of four or two
 * digits; h, m, s: two digits; the rest stands for itself. */
static const char *const forms[] = {"w, d b Y h:m:s GMT", "w, d-b-y h:m:s GMT", "w b e h:m:s Y"};
static const char *const weekdays[] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

static bool number(struct tl_span *s, size_t digits, int *out) {
    if (s->len < digits)
        return false;
    *out = 0;
    for (size_t i = 0; i < digits; i++) {
        if (s->ptr[i] < '0' || s->ptr[i] > '9')
            return false;
        *out = *out * 10 + (s->ptr[i] - '0');
    }
    *s = (struct tl_span){s->ptr + digits, s->len - digits};
    return true;
}

static bool word(struct tl_span *s, const char *text, size_t len) {
    if (s->len < len || strncasecmp(s->ptr, text, len) != 0)
        return false;
    *s = (struct tl_span){s->ptr + len, s->len - len};
    return true;
}

static bool weekday(struct tl_span *s) {
    for (size_t i = 0; i < COUNT_OF(weekdays); i++)
        if (word(s, weekdays[i], strlen(weekdays[i])) || word(s, weekdays[i], 3))
            return true;
    return false;
}

static bool month(struct tl_span *s, int *out) {
    for (*out = 1; *out <= 12; ++*out)
        if (word(s, months + (*out - 1) * 3, 3))
            return true;
    return false;
}

/* Two digits are the year of that end that is not more than 50 years ahead. */
static bool short_year(struct tl_span *s, int this_year, int *out) {
    if (!number(s, 2, out))
        return false;
    *out += this_year - this_year % 100;
    if (*out > this_year + 50)
        *out -= 100;
    else if (*out <= this_year - 50)
        *out += 100;
    return true;
}

static bool read_form(struct tl_span s, const char *form, int this_year, struct civil *c) {
    for (; *form; form++) {
        bool ok;
        switch (*form) {
        case 'w':
            ok = weekday(&s);
            break;
        case 'd':
            ok = number(&s, 2, &c->day);
            break;
        case 'e':
            ok = word(&s, " ", 1) ? number(&s, 1, &c->day) : number(&s, 2, &c->day);
            break;
        case 'b':
            ok = month(&s, &c->month);
            break;
        case 'Y':
            ok = number(&s, 4, &c->year);
            break;
        case 'y':
            ok = short_year(&s, this_year, &c->year);
            break;
        case 'h':
            ok = number(&s, 2, &c->hour);
            break;
        case 'm':
            ok = number(&s, 2, &c->minute);
            break;
        case 's':
            ok = number(&s, 2, &c->second);
            break;
        default:
            ok = word(&s, form, 1);
        }
        if (!ok)
            return false;
    }
    return s.len == 0;
}

/* False: there is no such day or time. A leap second counts as the one after. */
static bool civil_us(const struct civil *c, int64_t *us) {
    if (c->hour > 23 || c->minute > 59 || c->second > 60)
        return false;
    *us = time_from_civil(c);
    struct civil back = time_civil(*us - (c->second == 60 ? 1 : 0));
    return back.year == c->year && back.month == c->month && back.day == c->day;
}

static bool http_date(struct tl_span s, int64_t now_us, int64_t *us) {
    int this_year = time_civil(now_us).year;
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        struct civil c = {0};
        if (read_form(s, forms[i], this_year, &c))
            return civil_us(&c, us);
    }
    return false;
}

static bool whole_seconds(struct tl_span s, int64_t *seconds) {
    *seconds = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
        *seconds = *seconds * 10 + (s.ptr[i] - '0');
        if (*seconds > RETRY_AFTER_MAX)
            *seconds = RETRY_AFTER_MAX;
    }
    return s.len > 0;
}

int retry_after_parse(struct tl_span value, int64_t now_us, int64_t *seconds) {
    int64_t until_us;
    while (value.len && (*value.ptr == ' ' || *value.ptr == '\t'))
        value = (struct tl_span){value.ptr + 1, value.len - 1};
    while (value.len && (value.ptr[value.len - 1] == ' ' || value.ptr[value.len - 1] == '\t'))
        value.len--;
    if (whole_seconds(value, seconds))
        return TL_OK;
    if (!http_date(value, now_us, &until_us))
        return TL_INVALID;
    int64_t wait_us = until_us > now_us ? until_us - now_us : 0;
    *seconds = wait_us / 1000000 + (wait_us % 1000000 != 0);
    if (*seconds > RETRY_AFTER_MAX)
        *seconds = RETRY_AFTER_MAX;
    return TL_OK;
}
