/* json_write.c - see json_write.h. */
#include "base/json_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"

/* ---- escaping ---- */

enum { LONGEST_ESCAPE = 6, CHUNK = 4096 };

/* The escape, padded to 8 bytes so that it can be stored at once; the last byte is its length, 0 when there is none. */
#define LONG_ESCAPE(n)  [0x##n] = "\\u00" #n "\0\6"
#define SHORT_ESCAPE(c) "\\" c "\0\0\0\0\0\2"
static const char escapes[128][8] = {
    LONG_ESCAPE(00),
    LONG_ESCAPE(01),
    LONG_ESCAPE(02),
    LONG_ESCAPE(03),
    LONG_ESCAPE(04),
    LONG_ESCAPE(05),
    LONG_ESCAPE(06),
    LONG_ESCAPE(07),
    LONG_ESCAPE(0b),
    LONG_ESCAPE(0e),
    LONG_ESCAPE(0f),
    LONG_ESCAPE(10),
    LONG_ESCAPE(11),
    LONG_ESCAPE(12),
    LONG_ESCAPE(13),
    LONG_ESCAPE(14),
    LONG_ESCAPE(15),
    LONG_ESCAPE(16),
    LONG_ESCAPE(17),
    LONG_ESCAPE(18),
    LONG_ESCAPE(19),
    LONG_ESCAPE(1a),
    LONG_ESCAPE(1b),
    LONG_ESCAPE(1c),
    LONG_ESCAPE(1d),
    LONG_ESCAPE(1e),
    LONG_ESCAPE(1f),
    ['\b'] = SHORT_ESCAPE("b"),
    ['\f'] = SHORT_ESCAPE("f"),
    ['\n'] = SHORT_ESCAPE("n"),
    ['\r'] = SHORT_ESCAPE("r"),
    ['\t'] = SHORT_ESCAPE("t"),
    ['"'] = SHORT_ESCAPE("\""),
    ['\\'] = SHORT_ESCAPE("\\"),
};

static inline char *put_escape(char *to, unsigned char c) {
    memcpy(to, escapes[c & 127], 8);
    return to + escapes[c & 127][7];
}

static inline bool needs_escape(unsigned char c) {
    return c < ' ' || c == '"' || c == '\\';
}

/* Escapes len bytes to where there is room for LONGEST_ESCAPE * len + 16. Copies whole words first and looks at them
 * then: what was copied too much is written over. */
static char *escape_into(char *to, const char *ptr, const char *end) {
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), last = _mm_set1_epi8(0x1F);
    while (end - ptr >= 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)ptr);
        _mm_storeu_si128((__m128i *)to, x);
        __m128i stop = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, slash)),
                                    _mm_cmpeq_epi8(_mm_min_epu8(x, last), x)); /* unsigned x <= 0x1F */
        unsigned mask = (unsigned)_mm_movemask_epi8(stop);
        if (!mask) {
            ptr += 16;
            to += 16;
            continue;
        }
        unsigned plain = (unsigned)__builtin_ctz(mask);
        to = put_escape(to + plain, (unsigned char)ptr[plain]);
        ptr += plain + 1;
    }
#else
    const uint64_t ones = 0x0101010101010101u;
    while (end - ptr >= 8) {
        uint64_t x;
        memcpy(&x, ptr, 8);
        memcpy(to, &x, 8);
        uint64_t quote = x ^ ones * '"', slash = x ^ ones * '\\';
        if (((((x - ones * ' ') & ~x) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & ones * 0x80) == 0) {
            ptr += 8;
            to += 8;
            continue;
        }
        while (!needs_escape((unsigned char)*ptr)) {
            ptr++;
            to++;
        }
        to = put_escape(to, (unsigned char)*ptr++);
    }
#endif
    for (; ptr < end; ptr++) {
        if (needs_escape((unsigned char)*ptr))
            to = put_escape(to, (unsigned char)*ptr);
        else
            *to++ = *ptr;
    }
    return to;
}

/* For what could come near the buffer's maximum: no byte of room is asked for that is not needed. */
static void escape_exactly(struct buf *out, const char *ptr, const char *end) {
    while (ptr < end) {
        const char *run = ptr;
        while (ptr < end && !needs_escape((unsigned char)*ptr))
            ptr++;
        buf_add(out, run, (size_t)(ptr - run));
        if (ptr < end) {
            const char *escape = escapes[*ptr++ & 127];
            buf_add(out, escape, (size_t)escape[7]);
        }
    }
}

void json_escape(struct buf *out, const char *ptr, size_t len) {
    if (!len)
        return;
    const char *end = ptr + len;
    size_t max = out->max ? out->max : BUF_MAX;
    if (len < max - (out->len < max ? out->len : max))
        buf_reserve(out, len); /* most texts grow little: one growth, not one a chunk */
    while (ptr < end) {
        size_t n = end - ptr < CHUNK ? (size_t)(end - ptr) : CHUNK, most = n * LONGEST_ESCAPE + 16;
        if (out->len >= max || max - out->len < most) {
            escape_exactly(out, ptr, ptr + n);
        } else if (buf_reserve(out, most)) {
            out->len = (size_t)(escape_into(out->data + out->len, ptr, ptr + n) - out->data);
            out->data[out->len] = '\0';
        }
        ptr += n;
    }
}

/* ---- the writer ---- */

static void before_value(struct json_writer *w) {
    if (w->comma)
        buf_char(w->out, ',');
    w->comma = true;
}

static void begin(struct json_writer *w, char bracket) {
    before_value(w);
    buf_char(w->out, bracket);
    w->comma = false;
}

static void end(struct json_writer *w, char bracket) {
    buf_char(w->out, bracket);
    w->comma = true;
}

void json_object_begin(struct json_writer *w) {
    begin(w, '{');
}

void json_object_end(struct json_writer *w) {
    end(w, '}');
}

void json_array_begin(struct json_writer *w) {
    begin(w, '[');
}

void json_array_end(struct json_writer *w) {
    end(w, ']');
}

/* Escapes text of any bytes; the unbroken runs between bytes that are no UTF-8 as a whole. */
static void escape_any(struct buf *out, struct tl_span text) {
    if (!text.len || utf8_valid(text.ptr, text.len)) {
        json_escape(out, text.ptr, text.len);
        return;
    }
    const char *at = text.ptr, *stop = text.ptr + text.len, *run = at;
    while (at < stop) {
        const char *from = at;
        uint32_t cp;
        if (utf8_next(&at, stop, &cp) == TL_OK)
            continue;
        json_escape(out, run, (size_t)(from - run));
        buf_lit(out, UTF8_REPLACEMENT_TEXT);
        run = at;
    }
    json_escape(out, run, (size_t)(stop - run));
}

void json_put_string(struct json_writer *w, struct tl_span text) {
    before_value(w);
    buf_char(w->out, '"');
    escape_any(w->out, text);
    buf_char(w->out, '"');
}

void json_put_key_span(struct json_writer *w, struct tl_span key) {
    json_put_string(w, key);
    buf_char(w->out, ':');
    w->comma = false;
}

void json_put_key(struct json_writer *w, const char *key) {
    json_put_key_span(w, span_of(key));
}

void json_put_text(struct json_writer *w, const char *text) {
    if (text)
        json_put_string(w, span_of(text));
    else
        json_put_null(w);
}

void json_put_int(struct json_writer *w, int64_t n) {
    before_value(w);
    buf_int(w->out, n);
}

void json_put_uint(struct json_writer *w, uint64_t n) {
    before_value(w);
    if (n > INT64_MAX)
        buf_int(w->out, (int64_t)(n / 10));
    buf_int(w->out, (int64_t)(n > INT64_MAX ? n % 10 : n));
}

void json_put_real(struct json_writer *w, double n) {
    if (!isfinite(n)) {
        json_put_null(w);
        return;
    }
    /* 15 digits are always kept by a double and 17 always give it back; only subnormal numbers may need less than 15.
     */
    char text[40];
    for (int digits = fpclassify(n) == FP_SUBNORMAL ? 1 : 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, n);
        if (strtod(text, NULL) == n)
            break;
    }
    before_value(w);
    bool point = false;
    for (const char *at = text; *at; at++) { /* a locale may have another decimal point, even one of several bytes */
        bool own = (*at >= '0' && *at <= '9') || *at == 'e' || *at == '+' || *at == '-';
        if (own || !point)
            buf_char(w->out, own ? *at : '.');
        point = point || !own;
    }
}

void json_put_bool(struct json_writer *w, bool b) {
    json_put_raw(w, span_of(b ? "true" : "false"));
}

void json_put_null(struct json_writer *w) {
    json_put_raw(w, span_of("null"));
}

void json_put_raw(struct json_writer *w, struct tl_span value) {
    before_value(w);
    buf_add(w->out, value.ptr, value.len);
}

void json_member_string(struct json_writer *w, const char *key, const char *text) {
    json_put_key(w, key);
    json_put_text(w, text);
}

void json_member_span(struct json_writer *w, const char *key, struct tl_span text) {
    json_put_key(w, key);
    json_put_string(w, text);
}

void json_member_spans(struct json_writer *w, const char *key, const struct tl_span *text, size_t count) {
    json_put_key(w, key);
    json_array_begin(w);
    for (size_t i = 0; i < count; i++)
        json_put_string(w, text[i]);
    json_array_end(w);
}

void json_member_int(struct json_writer *w, const char *key, int64_t n) {
    json_put_key(w, key);
    json_put_int(w, n);
}

void json_member_uint(struct json_writer *w, const char *key, uint64_t n) {
    json_put_key(w, key);
    json_put_uint(w, n);
}

void json_member_real(struct json_writer *w, const char *key, double n) {
    json_put_key(w, key);
    json_put_real(w, n);
}

void json_member_bool(struct json_writer *w, const char *key, bool b) {
    json_put_key(w, key);
    json_put_bool(w, b);
}

void json_member_null(struct json_writer *w, const char *key) {
    json_put_key(w, key);
    json_put_null(w);
}

void json_member_raw(struct json_writer *w, const char *key, struct tl_span value) {
    json_put_key(w, key);
    json_put_raw(w, value);
}
