/* date.c - see date.h. Two readers: one for what begins with the year (ISO 8601 and its kin), and one that takes the
 * parts in any order, as RFC 6265 does for cookies, but believes zones. */
#include "net/date.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

enum { NONE = -1, NUMBERS = 4, WORD_MAX = 32 };

struct parts {
    int year, month, day; /* NONE: not said */
    int hour, minute, second, micro;
    bool time, zone;   /* said */
    int zone_minutes;  /* east of Greenwich */
    bool guessed;      /* something beyond the zone was assumed */
    bool zone_unknown; /* a zone was named that we do not know */
};

/* ---- names ---- */

struct name {
    const char *text;
    int value;
};
/* Whole names; three letters and more of one are enough. mar is French for Tuesday too. */
static const struct name months[] = {
    {"january", 1},   {"february", 2},   {"march", 3},     {"april", 4},     {"may", 5},        {"june", 6},
    {"july", 7},      {"august", 8},     {"september", 9}, {"october", 10},  {"november", 11},  {"december", 12},
    {"januar", 1},    {"jänner", 1},     {"februar", 2},   {"märz", 3},      {"maerz", 3},      {"mai", 5},
    {"juni", 6},      {"juli", 7},       {"oktober", 10},  {"dezember", 12}, {"janvier", 1},    {"février", 2},
    {"fevrier", 2},   {"mars", 3},       {"avril", 4},     {"juin", 6},      {"juillet", 7},    {"août", 8},
    {"aout", 8},      {"septembre", 9},  {"octobre", 10},  {"novembre", 11}, {"décembre", 12},  {"enero", 1},
    {"febrero", 2},   {"marzo", 3},      {"abril", 4},     {"mayo", 5},      {"junio", 6},      {"julio", 7},
    {"agosto", 8},    {"septiembre", 9}, {"setiembre", 9}, {"octubre", 10},  {"noviembre", 11}, {"diciembre", 12},
    {"gennaio", 1},   {"febbraio", 2},   {"aprile", 4},    {"maggio", 5},    {"giugno", 6},     {"luglio", 7},
    {"settembre", 9}, {"ottobre", 10},   {"dicembre", 12}, {"janeiro", 1},   {"fevereiro", 2},  {"março", 3},
    {"maio", 5},      {"junho", 6},      {"julho", 7},     {"setembro", 9},  {"outubro", 10},   {"novembro", 11},
    {"dezembro", 12}, {"januari", 1},    {"februari", 2},  {"maart", 3},     {"mrt", 3},        {"mei", 5},
    {"augustus", 8},  {"december", 12}};
static const char *const weekdays[] = {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"};
static const char *const fillers[] = {"at", "on",  "of",  "the", "st",  "nd", "rd", "th",
                                      "de", "den", "der", "um",  "uhr", "le", "à",  "t"};

/* Minutes east. The first are RFC 822's; behind `guessed_from` stand names that others use, some for other zones too.
 */
static const struct name zones[] = {
    {"gmt", 0},    {"utc", 0},    {"ut", 0},      {"z", 0},       {"est", -300}, {"edt", -240}, {"cst", -360},
    {"cdt", -300}, {"mst", -420}, {"mdt", -360},  {"pst", -480},  {"pdt", -420}, {"et", -300},  {"ct", -360},
    {"mt", -420},  {"pt", -480},  {"akst", -540}, {"akdt", -480}, {"hst", -600}, {"ast", -240}, {"adt", -180},
    {"nst", -210}, {"ndt", -150}, {"wet", 0},     {"west", 60},   {"bst", 60},   {"cet", 60},   {"cest", 120},
    {"met", 60},   {"mest", 120}, {"mez", 60},    {"mesz", 120},  {"eet", 120},  {"eest", 180}, {"msk", 180},
    {"msd", 240},  {"ist", 330},  {"pkt", 300},   {"ict", 420},   {"wib", 420},  {"sgt", 480},  {"hkt", 480},
    {"pht", 480},  {"awst", 480}, {"jst", 540},   {"kst", 540},   {"acst", 570}, {"acdt", 630}, {"aest", 600},
    {"aedt", 660}, {"nzst", 720}, {"nzdt", 780},  {"sast", 120},  {"cat", 120},  {"eat", 180},  {"wat", 60},
    {"brt", -180}, {"art", -180}};
enum { GUESSED_FROM = 12 };

static bool begins(const char *name, const char *word, size_t least) {
    size_t len = strlen(word);
    return len >= least && strncmp(name, word, len) == 0;
}
static int month_of(const char *word) {
    for (size_t i = 0; i < COUNT_OF(months); i++)
        if (begins(months[i].text, word, 3))
            return months[i].value;
    return NONE;
}
static bool is_weekday(const char *word) {
    for (size_t i = 0; i < COUNT_OF(weekdays); i++)
        if (begins(weekdays[i], word, 2))
            return true;
    return false;
}
static bool is_filler(const char *word) {
    for (size_t i = 0; i < COUNT_OF(fillers); i++)
        if (strcmp(fillers[i], word) == 0)
            return true;
    return false;
}
static bool set_zone_name(struct parts *p, const char *word) {
    for (size_t i = 0; i < COUNT_OF(zones); i++)
        if (strcmp(zones[i].text, word) == 0) {
            p->zone = true;
            p->zone_unknown = false;
            p->zone_minutes = zones[i].value;
            p->guessed |= i >= GUESSED_FROM;
            return true;
        }
    return false;
}

/* ---- scanning ---- */

struct text {
    const char *at, *end;
};
static char peek(const struct text *t, size_t ahead) {
    return (size_t)(t->end - t->at) > ahead ? t->at[ahead] : '\0';
}
static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
static bool is_letter(char c) {
    return isalpha((unsigned char)c) || (unsigned char)c >= 0x80;
}
static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}
static void skip_blanks(struct text *t) {
    while (t->at < t->end && is_blank(*t->at))
        t->at++;
}
static size_t digits_ahead(const struct text *t, size_t from) {
    size_t n = 0;
    while (is_digit(peek(t, from + n)))
        n++;
    return n;
}
static int take(struct text *t, size_t count) { /* count digits, at most 9, which are there */
    int v = 0;
    for (; count; count--)
        v = v * 10 + (*t->at++ - '0');
    return v;
}
static void take_fraction(struct text *t, struct parts *p) {
    if ((peek(t, 0) != '.' && peek(t, 0) != ',') || !is_digit(peek(t, 1)))
        return;
    int scale = 100000;
    for (t->at++; is_digit(peek(t, 0)); t->at++, scale /= 10)
        p->micro += (*t->at - '0') * scale;
}
/* The next word in lower case, as far as it has room; what is longer is no name we know. */
static void take_word(struct text *t, char word[WORD_MAX]) {
    size_t n = 0;
    for (; t->at < t->end && is_letter(*t->at); t->at++) {
        unsigned char c = (unsigned char)*t->at;
        bool latin = n && (unsigned char)word[n - 1] == 0xC3 && c >= 0x80 && c <= 0x9E; /* capitals with accents */
        if (n < WORD_MAX - 1)
            word[n++] = (char)(latin ? c + 0x20 : c < 0x80 ? tolower(c) : c);
    }
    word[n] = '\0';
}
/* +hh:mm, +hhmm, +h, +hh; at is the sign. */
static bool take_offset(struct text *t, struct parts *p) {
    size_t n = digits_ahead(t, 1);
    int sign = peek(t, 0) == '-' ? -1 : 1, h, m = 0;
    if ((peek(t, 0) != '+' && peek(t, 0) != '-') || n < 1 || n > 4)
        return false;
    t->at++;
    h = take(t, n > 2 ? n - 2 : n);
    if (n > 2)
        m = take(t, 2);
    else if (peek(t, 0) == ':' && digits_ahead(t, 1) == 2) {
        t->at++;
        m = take(t, 2);
    }
    p->zone = h < 24 && m < 60;
    p->zone_unknown = !p->zone;
    p->zone_minutes = p->zone ? sign * (h * 60 + m) : 0;
    return true;
}
/* am, p.m. and the like behind a time. */
static void take_half(struct text *t, struct parts *p) {
    struct text s = *t;
    skip_blanks(&s);
    char c = (char)tolower((unsigned char)peek(&s, 0));
    size_t dot = peek(&s, 1) == '.', second = 1 + dot;
    if ((c != 'a' && c != 'p') || tolower((unsigned char)peek(&s, second)) != 'm' || is_letter(peek(&s, second + 1)) ||
        p->hour < 1 || p->hour > 12)
        return;
    s.at += second + 1 + (dot && peek(&s, second + 1) == '.');
    *t = s;
    p->hour = p->hour % 12 + (c == 'p' ? 12 : 0);
}
/* h:mm, h:mm:ss, with fraction and am or pm. False: not at a time. */
static bool take_time(struct text *t, struct parts *p) {
    size_t h = digits_ahead(t, 0), m = h && peek(t, h) == ':' ? digits_ahead(t, h + 1) : 0;
    if (h < 1 || h > 2 || m < 1 || m > 2)
        return false;
    p->hour = take(t, h);
    t->at++;
    p->minute = take(t, m);
    size_t s = peek(t, 0) == ':' ? digits_ahead(t, 1) : 0;
    if (s == 1 || s == 2) {
        t->at++;
        p->second = take(t, s);
        take_fraction(t, p);
    }
    p->time = true;
    take_half(t, p);
    return true;
}

/* 5 pm. False: not at one. */
static bool take_hour(struct text *t, struct parts *p) {
    struct text s = *t;
    struct parts with = *p;
    size_t n = digits_ahead(&s, 0);
    if (n < 1 || n > 2)
        return false;
    with.hour = take(&s, n);
    const char *before = s.at;
    take_half(&s, &with);
    if (s.at == before)
        return false;
    with.time = true;
    *t = s;
    *p = with;
    return true;
}

/* ---- the calendar ---- */

static bool leap(int y) {
    return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
}
static int days_in(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && leap(year));
}
static int finish(const struct parts *p, int64_t *us, enum date_quality *quality) {
    if (p->year < 1 || p->year > 9999 || p->month < 1 || p->month > 12 || p->day < 1 ||
        p->day > days_in(p->year, p->month))
        return TL_INVALID;
    if (p->hour > 24 || p->minute > 59 || p->second > 60 || (p->hour == 24 && (p->minute || p->second || p->micro)))
        return TL_INVALID;
    struct civil c = {p->year, p->month, p->day, p->hour, p->minute, p->second, p->micro};
    int64_t at = time_from_civil(&c) - time_seconds_us(p->zone_minutes * 60);
    int year = time_civil(at).year;
    if (year < 1 || year > 9999)
        return TL_INVALID;
    *us = at;
    *quality = p->guessed ? DATE_GUESSED : p->time && p->zone ? DATE_EXACT : DATE_ZONE_ASSUMED;
    return TL_OK;
}
/* The day of a year as month and day. */
static bool set_ordinal(struct parts *p, int day) {
    for (p->month = 1; p->month <= 12; p->month++) {
        int n = days_in(p->year, p->month);
        if (day <= n)
            break;
        day -= n;
    }
    p->day = day;
    return p->month <= 12 && day >= 1;
}
/* ISO 8601 weeks: week 1 is the one with 4 January. */
static bool set_week(struct parts *p, int week, int weekday) {
    struct civil fourth = {.year = p->year, .month = 1, .day = 4};
    int64_t days = time_from_civil(&fourth) / time_seconds_us(86400);
    int64_t monday = days - ((days + 3) % 7 + 7) % 7; /* 1970-01-01 was a Thursday */
    if (week < 1 || week > 53 || weekday < 1 || weekday > 7 || p->year < 1)
        return false;
    struct civil c = time_civil(time_seconds_us((monday + (week - 1) * 7 + weekday - 1) * 86400));
    p->year = c.year, p->month = c.month, p->day = c.day;
    return true;
}

/* ---- what begins with the year ---- */

static bool iso_digits(struct text *t, struct parts *p, size_t n) {
    if (n != 4 && n != 6 && n != 7 && n != 8 && n != 12 && n != 14)
        return false;
    p->year = take(t, 4);
    if (n == 7)
        return set_ordinal(p, take(t, 3));
    p->month = n > 4 ? take(t, 2) : NONE;
    p->day = n > 6 ? take(t, 2) : NONE;
    if (n > 8) {
        p->time = true;
        p->hour = take(t, 2);
        p->minute = take(t, 2);
        p->second = n > 12 ? take(t, 2) : 0;
    }
    return true;
}
static bool iso_week(struct text *t, struct parts *p) {
    int day = 1;
    t->at++;
    if (digits_ahead(t, 0) != 2 && digits_ahead(t, 0) != 3)
        return false;
    int week = take(t, 2);
    if (peek(t, 0) == '-' && digits_ahead(t, 1) == 1)
        t->at++;
    if (digits_ahead(t, 0) == 1)
        day = take(t, 1);
    else
        p->guessed = true;
    return set_week(p, week, day);
}
static bool iso_date(struct text *t, struct parts *p) {
    size_t n = digits_ahead(t, 0);
    if (!iso_digits(t, p, n))
        return false;
    char mark = peek(t, 0);
    if (n == 4 && (mark == 'W' || (mark == '-' && peek(t, 1) == 'W'))) {
        t->at += mark == '-';
        return iso_week(t, p);
    }
    if (n != 4 || (mark != '-' && mark != '/' && mark != '.') || !is_digit(peek(t, 1)))
        return true;
    t->at++;
    n = digits_ahead(t, 0);
    if (n == 3)
        return set_ordinal(p, take(t, 3));
    if (n > 2)
        return false;
    p->month = take(t, n);
    if (peek(t, 0) != mark || !is_digit(peek(t, 1)))
        return true;
    t->at++;
    n = digits_ahead(t, 0);
    if (n > 2)
        return false;
    p->day = take(t, n);
    return true;
}
static bool iso_time(struct text *t, struct parts *p) {
    size_t n = digits_ahead(t, 0);
    if (take_time(t, p) || n == 0)
        return true;
    if (n != 2 && n != 4 && n != 6)
        return false;
    p->time = true;
    p->hour = take(t, 2);
    p->minute = n > 2 ? take(t, 2) : 0;
    p->second = n > 4 ? take(t, 2) : 0;
    take_fraction(t, p);
    return true;
}
static bool iso_zone(struct text *t, struct parts *p) {
    char word[WORD_MAX];
    skip_blanks(t);
    if (is_letter(peek(t, 0))) {
        take_word(t, word);
        if (!set_zone_name(p, word)) {
            if (!p->time)
                return false; /* the name of a month, or no date */
            p->zone_unknown = true;
        }
        skip_blanks(t);
    }
    if (p->time || (digits_ahead(t, 1) == 2 && peek(t, 3) == ':')) /* a date alone may have one too: 2003-12-31+01:00 */
        take_offset(t, p);
    skip_blanks(t);
    if (peek(t, 0) == '[') /* java.time's name of the zone */
        while (t->at < t->end && *t->at++ != ']')
            ;
    skip_blanks(t);
    return t->at == t->end;
}
/* False: another form. */
static bool read_iso(struct text t, struct parts *p) {
    if (!iso_date(&t, p))
        return false;
    skip_blanks(&t);
    if (!p->time) {
        char c = peek(&t, 0);
        if ((c == 'T' || c == 't' || c == '_' || c == ',') && (is_digit(peek(&t, 1)) || is_blank(peek(&t, 1))))
            t.at++;
        skip_blanks(&t);
        if (p->day == NONE && is_digit(peek(&t, 0)))
            return false;
        if (!iso_time(&t, p))
            return false;
    }
    if (!iso_zone(&t, p))
        return false;
    if (p->day == NONE) {
        p->guessed = true;
        p->day = 1;
    }
    if (p->month == NONE)
        p->month = 1;
    return true;
}

/* ---- parts in any order ---- */

struct loose {
    struct parts *p;
    struct {
        int value;
        size_t digits;
    } number[NUMBERS];
    size_t numbers, words_unknown;
    char between;           /* the mark behind the first number */
    bool mar;               /* the month is "mar", which may have been a Tuesday */
    bool offset_may_follow; /* right behind a time, or a zone that an offset corrects */
};

static void loose_word(struct loose *l, struct text *t) {
    char word[WORD_MAX];
    struct parts *p = l->p;
    bool glued = t->at[-1] != ' ';
    take_word(t, word);
    l->offset_may_follow = false;
    int month = month_of(word);
    if (month != NONE && (p->month == NONE || l->mar)) {
        p->month = month;
        l->mar = strcmp(word, "mar") == 0;
    } else if (set_zone_name(p, word)) {
        l->offset_may_follow = true;
    } else if (p->time && word[0] && !word[1]) { /* RFC 2822: a military letter says nothing */
        p->zone_unknown = true;
    } else if (!is_weekday(word) && !is_filler(word) && month == NONE) {
        skip_blanks(t);
        bool first = !l->numbers && p->month == NONE && !p->time && (peek(t, 0) == ',' || peek(t, 0) == '.');
        if (p->time && !glued)
            p->zone_unknown = true;
        l->words_unknown += !first && !p->time;
    }
}
static bool loose_number(struct loose *l, struct text *t) {
    size_t n = digits_ahead(t, 0);
    if (n > 4 || n == 3 || l->numbers == NUMBERS)
        return false;
    l->number[l->numbers].value = take(t, n);
    l->number[l->numbers].digits = n;
    if (l->numbers++ == 0)
        l->between = peek(t, 0);
    l->offset_may_follow = false;
    return true;
}
static int full_year(int year, size_t digits) {
    return digits > 2 ? year : year < 50 ? year + 2000 : year + 1900;
}
/* With the name of the month: one number is the day, one the year. */
static bool by_name(struct loose *l) {
    struct parts *p = l->p;
    if (l->numbers == 1 && l->number[0].digits == 4) {
        p->year = l->number[0].value;
        p->day = 1;
        return p->guessed = true;
    }
    if (l->numbers != 2)
        return false;
    size_t year = l->number[0].digits == 4 || l->number[0].value > 31 ? 0 : 1;
    p->year = full_year(l->number[year].value, l->number[year].digits);
    p->day = l->number[!year].value;
    return l->number[!year].digits <= 2;
}
/* Three numbers: dots mean day first, slashes month first where both could be. */
static bool by_number(struct loose *l) {
    struct parts *p = l->p;
    if (l->numbers != 3 || !strchr("/.-", l->between) || !l->between)
        return false;
    int a = l->number[0].value, b = l->number[1].value;
    if (l->number[0].digits == 4) {
        p->year = a, p->month = b, p->day = l->number[2].value;
        return l->number[1].digits <= 2 && l->number[2].digits <= 2;
    }
    if (l->number[0].digits > 2 || l->number[1].digits > 2)
        return false;
    bool day_first = a > 12 || (b <= 12 && l->between != '/');
    p->day = day_first ? a : b;
    p->month = day_first ? b : a;
    p->year = full_year(l->number[2].value, l->number[2].digits);
    p->guessed |= a <= 12 && b <= 12 && a != b;
    p->guessed |= l->number[2].digits == 2;
    return true;
}
static bool read_loose(struct text t, struct parts *p) {
    struct loose l = {.p = p};
    while (t.at < t.end) {
        char c = *t.at;
        if (is_digit(c)) {
            if (!p->time && (take_time(&t, p) || take_hour(&t, p)))
                l.offset_may_follow = true;
            else if (digits_ahead(&t, 0) <= 2 && peek(&t, digits_ahead(&t, 0)) == ':')
                return false; /* a second time, or a senseless one */
            else if (!loose_number(&l, &t))
                return false;
        } else if (is_letter(c)) {
            loose_word(&l, &t);
        } else if ((c == '+' || c == '-') && l.offset_may_follow && take_offset(&t, p)) {
            l.offset_may_follow = false;
        } else {
            t.at++;
        }
    }
    p->guessed |= l.words_unknown > 0;
    return p->month != NONE ? by_name(&l) : by_number(&l);
}

/* ---- the whole ---- */

/* Comments in parentheses, nested ones too, become a blank. */
static size_t without_comments(struct tl_span in, char out[DATE_MAX + 1]) {
    size_t n = 1, depth = 0;
    out[0] = ' '; /* there is always a byte before a word */
    for (size_t i = 0; i < in.len; i++) {
        char c = in.ptr[i];
        if (c == '\\' && depth)
            i++;
        else if (c == '(')
            depth++;
        else if (c == ')' && depth)
            out[n] = ' ', n += --depth == 0;
        else if (!depth)
            out[n++] = is_blank(c) ? ' ' : c;
    }
    return n;
}
static int parse_epoch(struct text t, int64_t *us, enum date_quality *quality) {
    size_t n = digits_ahead(&t, 0);
    int64_t v = 0;
    if (n != (size_t)(t.end - t.at) || (n != 9 && n != 10 && n != 13))
        return TL_INVALID;
    while (t.at < t.end)
        v = v * 10 + (*t.at++ - '0');
    *us = n == 13 ? v * 1000 : time_seconds_us(v);
    *quality = DATE_GUESSED;
    return TL_OK;
}

int date_parse(struct tl_span text, int64_t *us, enum date_quality *quality) {
    static const struct parts nothing = {.year = NONE, .month = NONE, .day = NONE};
    char plain[DATE_MAX + 1];
    while (text.len && is_blank(text.ptr[0]))
        text.ptr++, text.len--;
    while (text.len && is_blank(text.ptr[text.len - 1]))
        text.len--;
    if (text.len > DATE_MAX)
        return TL_INVALID;
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < ' ' && !is_blank(text.ptr[i]))
            return TL_INVALID;
    struct text t = {plain, plain + without_comments(text, plain)};
    while (t.end > t.at && is_blank(t.end[-1]))
        t.end--;
    skip_blanks(&t);
    struct parts p = nothing;
    if (is_digit(peek(&t, 0)) && parse_epoch(t, us, quality) == TL_OK)
        return TL_OK;
    if (is_digit(peek(&t, 0)) && read_iso(t, &p))
        return finish(&p, us, quality);
    p = nothing;
    return read_loose(t, &p) ? finish(&p, us, quality) : TL_INVALID;
}

char *date_text(int64_t us, char out[TIME_TEXT]) {
    time_text(us, out);
    char *dot = strchr(out, '.');
    if (dot && us % 1000000 == 0)
        memcpy(dot, "Z", 2);
    return out;
}

const char *date_quality_name(enum date_quality q) {
    return q == DATE_EXACT ? "exact" : q == DATE_ZONE_ASSUMED ? "zone-assumed" : "guessed";
}
