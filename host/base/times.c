/* times.c - see times.h. */
#include "base/times.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t clock_us(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t time_now_us(void) {
    return clock_us(CLOCK_REALTIME);
}

int64_t time_mono_us(void) {
    return clock_us(CLOCK_MONOTONIC);
}

/* Days since 1970 of a civil date and back, by eras of 400 years counted from 1 March (Hinnant's algorithm). */
static int64_t days_from_civil(int64_t y, int m, int d) {
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + doe - 719468;
}

struct civil time_civil(int64_t us) {
    int64_t seconds = us / 1000000, micro = us % 1000000;
    if (micro < 0) {
        micro += 1000000;
        seconds--;
    }
    int64_t days = seconds / 86400, rest = seconds % 86400;
    if (rest < 0) {
        rest += 86400;
        days--;
    }
    int64_t z = days + 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    struct civil c = {.day = (int)(doy - (153 * mp + 2) / 5 + 1), .month = (int)(mp < 10 ? mp + 3 : mp - 9)};
    c.year = (int)(yoe + era * 400 + (c.month <= 2));
    c.hour = (int)(rest / 3600);
    c.minute = (int)(rest % 3600 / 60);
    c.second = (int)(rest % 60);
    c.micro = (int)micro;
    return c;
}

int64_t time_from_civil(const struct civil *c) {
    return (days_from_civil(c->year, c->month, c->day) * 86400 + c->hour * 3600 + c->minute * 60 + c->second) *
               1000000 +
           c->micro;
}

/* The number in so many digits, and what parts it from the next. */
static char *put_number(char *at, int number, int count, char then) {
    for (int i = count; i-- > 0; number /= 10)
        at[i] = (char)('0' + number % 10);
    at[count] = then;
    return at + count + 1;
}

char *time_text(int64_t us, char out[TIME_TEXT]) {
    struct civil c = time_civil(us);
    char *at = put_number(out, c.year < 0 ? 0 : c.year % 10000, 4, '-');
    at = put_number(at, c.month, 2, '-');
    at = put_number(at, c.day, 2, 'T');
    at = put_number(at, c.hour, 2, ':');
    at = put_number(at, c.minute, 2, ':');
    at = put_number(at, c.second, 2, '.');
    at = put_number(at, c.micro, 6, 'Z');
    *at = '\0';
    return out;
}

static int digits(const char **at, const char *end, int count, int *value) {
    *value = 0;
    for (int i = 0; i < count; i++, (*at)++) {
        if (*at == end || **at < '0' || **at > '9')
            return TL_INVALID;
        *value = *value * 10 + (**at - '0');
    }
    return TL_OK;
}

static int expect(const char **at, const char *end, const char *one_of) {
    if (*at == end || !strchr(one_of, **at) || **at == '\0')
        return TL_INVALID;
    (*at)++;
    return TL_OK;
}

static int parse_zone(const char **at, const char *end, int *offset_minutes) {
    *offset_minutes = 0;
    if (*at == end)
        return TL_INVALID;
    char sign = *(*at)++;
    if (sign == 'Z' || sign == 'z')
        return TL_OK;
    int h, m;
    if ((sign != '+' && sign != '-') || digits(at, end, 2, &h) || expect(at, end, ":") || digits(at, end, 2, &m) ||
        h > 23 || m > 59)
        return TL_INVALID;
    *offset_minutes = (sign == '-' ? -1 : 1) * (h * 60 + m);
    return TL_OK;
}

int time_parse(struct tl_span text, int64_t *us) {
    static const int days_of[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const char *at = text.ptr, *end = text.ptr + text.len;
    struct civil c = {0};
    if (digits(&at, end, 4, &c.year) || expect(&at, end, "-") || digits(&at, end, 2, &c.month) ||
        expect(&at, end, "-") || digits(&at, end, 2, &c.day) || expect(&at, end, "Tt ") ||
        digits(&at, end, 2, &c.hour) || expect(&at, end, ":") || digits(&at, end, 2, &c.minute) ||
        expect(&at, end, ":") || digits(&at, end, 2, &c.second))
        return TL_INVALID;
    if (at < end && *at == '.') {
        int scale = 100000;
        const char *first = ++at;
        for (; at < end && *at >= '0' && *at <= '9'; at++, scale /= 10)
            c.micro += (*at - '0') * scale;
        if (at == first)
            return TL_INVALID;
    }
    int offset;
    if (parse_zone(&at, end, &offset) || at != end)
        return TL_INVALID;
    bool leap = (c.year % 4 == 0 && c.year % 100 != 0) || c.year % 400 == 0;
    if (c.month < 1 || c.month > 12 || c.day < 1 || c.day > days_of[c.month - 1] ||
        (c.month == 2 && c.day == 29 && !leap) || c.hour > 23 || c.minute > 59 || c.second > 60)
        return TL_INVALID;
    *us = time_from_civil(&c) - (int64_t)offset * 60 * 1000000;
    return TL_OK;
}

struct unit {
    const char *name;
    int64_t factor;
};

static int parse_units(const char **at, const char *end, const struct unit *units, int64_t *value) {
    int64_t n = 0, fraction = 0, scale = 1;
    const char *first = *at;
    for (; *at < end && **at >= '0' && **at <= '9'; (*at)++) {
        if (n > (INT64_MAX - 9) / 10)
            return TL_INVALID;
        n = n * 10 + (**at - '0');
    }
    if (*at == first)
        return TL_INVALID;
    if (*at < end && **at == '.') {
        first = ++*at;
        for (; *at < end && **at >= '0' && **at <= '9'; (*at)++)
            if (scale < 1000000) {
                fraction = fraction * 10 + (**at - '0');
                scale *= 10;
            }
        if (*at == first)
            return TL_INVALID;
    }
    const char *word = *at;
    while (*at < end && ((**at >= 'a' && **at <= 'z') || (**at >= 'A' && **at <= 'Z')))
        (*at)++;
    size_t len = (size_t)(*at - word);
    for (const struct unit *u = units; u->name; u++)
        if (strlen(u->name) == len && memcmp(u->name, word, len) == 0) {
            if (n > INT64_MAX / 2 / u->factor)
                return TL_INVALID;
            *value = n * u->factor + fraction * u->factor / scale;
            return TL_OK;
        }
    return TL_INVALID;
}

int time_parse_duration(struct tl_span text, int64_t *us) {
    static const struct unit units[] = {{"us", 1},         {"ms", 1000},       {"s", 1000000},      {"m", 60000000},
                                        {"h", 3600000000}, {"d", 86400000000}, {"w", 604800000000}, {NULL, 0}};
    const char *at = text.ptr, *end = text.ptr + text.len;
    int64_t sum = 0, part;
    do {
        if (parse_units(&at, end, units, &part) || part > INT64_MAX / 4 - sum)
            return TL_INVALID;
        sum += part;
    } while (at < end);
    *us = sum;
    return TL_OK;
}

int time_parse_size(struct tl_span text, int64_t *bytes) {
    static const struct unit units[] = {
        {"", 1},      {"B", 1},     {"KiB", 1024},   {"MiB", 1024 * 1024}, {"GiB", 1 << 30},      {"TiB", 1LL << 40},
        {"kB", 1000}, {"KB", 1000}, {"MB", 1000000}, {"GB", 1000000000},   {"TB", 1000000000000}, {NULL, 0}};
    const char *at = text.ptr, *end = text.ptr + text.len;
    return parse_units(&at, end, units, bytes) || at != end ? TL_INVALID : TL_OK;
}

void time_duration_text(int64_t us, char out[TIME_TEXT]) {
    int64_t s = us / 1000000;
    if (s < 60)
        snprintf(out, TIME_TEXT, "%.1fs", (double)us / 1e6);
    else if (s < 3600)
        snprintf(out, TIME_TEXT, "%dm%02ds", (int)(s / 60), (int)(s % 60));
    else
        snprintf(out, TIME_TEXT, "%lldh%02dm", (long long)(s / 3600), (int)(s % 3600 / 60));
}

void time_size_text(int64_t bytes, char out[TIME_TEXT]) {
    static const char *const names[] = {"KiB", "MiB", "GiB", "TiB"};
    double n = (double)bytes;
    int i = -1;
    while (n >= 1024 && i < 3) {
        n /= 1024;
        i++;
    }
    if (i < 0)
        snprintf(out, TIME_TEXT, "%lld B", (long long)bytes);
    else
        snprintf(out, TIME_TEXT, "%.1f %s", n, names[i]);
}
