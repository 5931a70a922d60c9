/* json_number.c - see json_number.h. */
#include "base/json_number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DIGITS_MAX = 17, NUMBER_TEXT = 64 };

/* 0.DIGITS times 10 to the power of `point`. */
struct decimal {
    char digit[DIGITS_MAX + 1];
    int count, point;
};

/* Our own reading of "%.*e", whose decimal point is the locale's. */
static void scan_decimal(const char *text, struct decimal *d) {
    d->count = 0;
    for (; *text && *text != 'e'; text++)
        if (*text >= '0' && *text <= '9')
            d->digit[d->count++] = *text;
    d->point = (int)strtol(*text ? text + 1 : text, NULL, 10) + 1;
    while (d->count > 1 && d->digit[d->count - 1] == '0')
        d->count--;
    d->digit[d->count] = '\0';
}

/* As an integer with an exponent: no decimal point that a locale could spell otherwise. */
static double value_of(const struct decimal *d) {
    char text[NUMBER_TEXT];
    snprintf(text, sizeof text, "%se%d", d->digit, d->point - d->count);
    return strtod(text, NULL);
}

/* The next decimal above of the same number of digits. */
static void step_up(struct decimal *d, int digits) {
    while (d->count < digits)
        d->digit[d->count++] = '0';
    int at = d->count - 1;
    while (at >= 0 && d->digit[at] == '9')
        d->digit[at--] = '0';
    if (at >= 0) {
        d->digit[at]++;
    } else {
        d->digit[0] = '1';
        d->point++;
    }
    while (d->count > 1 && d->digit[d->count - 1] == '0')
        d->count--;
    d->digit[d->count] = '\0';
}

/* n is finite and above 0. Among the decimals of so many digits the nearest is tried, and then, since a power of two
 * has less room below than above, the one above it. 15 digits are always kept by a normal double, so that all shorter
 * texts are found there. */
static void shortest(double n, struct decimal *d) {
    char text[NUMBER_TEXT];
    int exponent;
    bool power = frexp(n, &exponent) == 0.5;
    for (int digits = n < DBL_MIN ? 1 : 15; digits <= DIGITS_MAX; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, n);
        scan_decimal(text, d);
        if (value_of(d) == n)
            return;
        if (power) {
            step_up(d, digits);
            if (value_of(d) == n)
                return;
        }
    }
}

static void zeros(struct buf *out, int count) {
    while (count-- > 0)
        buf_char(out, '0');
}

static void lay_out(struct buf *out, const struct decimal *d) {
    if (d->point < -3 || d->point > 16) {
        buf_char(out, d->digit[0]);
        if (d->count > 1)
            buf_printf(out, ".%s", d->digit + 1);
        buf_printf(out, "e%c%02d", d->point > 0 ? '+' : '-', abs(d->point - 1));
    } else if (d->point <= 0) {
        buf_lit(out, "0.");
        zeros(out, -d->point);
        buf_text(out, d->digit);
    } else if (d->count <= d->point) {
        buf_text(out, d->digit);
        zeros(out, d->point - d->count);
        buf_lit(out, ".0");
    } else {
        buf_add(out, d->digit, (size_t)d->point);
        buf_char(out, '.');
        buf_text(out, d->digit + d->point);
    }
}

void json_double_python(double finite, struct buf *out) {
    struct decimal d;
    if (signbit(finite))
        buf_char(out, '-');
    if (finite == 0) {
        buf_lit(out, "0.0");
        return;
    }
    shortest(fabs(finite), &d);
    lay_out(out, &d);
}

/* The decimal point is written as part of the exponent, for the locale's own may be another. */
static double read_double(struct tl_span number) {
    AUTO_BUF struct buf given = BUF_INIT, text = BUF_INIT;
    buf_add(&given, number.ptr, number.len);
    const long far = 1L << 40; /* farther than any text could make up for */
    long after = 0, exponent = 0;
    bool point = false;
    for (const char *at = given.data; *at; at++) {
        if (*at == 'e' || *at == 'E') {
            exponent = strtol(at + 1, NULL, 10); /* saturates */
            break;
        }
        if (*at == '.') {
            point = true;
        } else {
            buf_char(&text, *at);
            after += point;
        }
    }
    exponent = exponent > far ? far : exponent < -far ? -far : exponent;
    buf_printf(&text, "e%ld", exponent - after);
    return strtod(text.data, NULL);
}

int json_number_python(struct tl_span number, struct buf *out) {
    bool real = false;
    for (size_t i = 0; i < number.len && !real; i++)
        real = number.ptr[i] == '.' || number.ptr[i] == 'e' || number.ptr[i] == 'E';
    if (real) {
        double n = read_double(number);
        if (!isfinite(n))
            return TL_INVALID;
        json_double_python(n, out);
        return TL_OK;
    }
    if (span_eq(number, "-0"))
        number = span_of("0");
    if (number.len > JSON_INTEGER_DIGITS + (size_t)(number.ptr[0] == '-'))
        return TL_INVALID;
    buf_add(out, number.ptr, number.len);
    return TL_OK;
}
