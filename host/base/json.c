/* json.c - see json.h. */
#include "base/json.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/utf8.h"

struct scan {
    const char *at, *end; /* after a refusal, at is the byte that is wrong */
};
#define ONES  0x0101010101010101u
#define HIGHS 0x8080808080808080u

static struct scan scan_of(struct tl_span text) {
    const char *from = text.ptr ? text.ptr : "";
    return (struct scan){from, from + text.len};
}

static bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_hex(char c) {
    return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f');
}

static inline void skip_space(struct scan *s) {
    const char *at = s->at, *end = s->end;
    if (at < end && (unsigned char)*at > ' ')
        return;
#ifdef __SSE2__
    const __m128i blank = _mm_set1_epi8(' ');
#endif
    while (at < end && is_space(*at)) {
        at++;
#ifdef __SSE2__
        /* Indentation. */
        while (end - at >= 16) {
            unsigned same = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)at), blank));
            if (same != 0xFFFF) {
                at += __builtin_ctz(~same);
                break;
            }
            at += 16;
        }
#endif
    }
    s->at = at;
}

/* The first byte inside a string that is not simply text: quote, backslash, control, or no UTF-8; end when there is
 * none. */
static inline const char *text_end(const char *at, const char *end) {
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), last = _mm_set1_epi8(0x1F);
    while (end - at >= 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)at);
        __m128i stop = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, slash)),
                                    _mm_cmpeq_epi8(_mm_min_epu8(x, last), x)); /* unsigned x <= 0x1F */
        unsigned mask = (unsigned)_mm_movemask_epi8(stop), upto = mask ? (unsigned)__builtin_ctz(mask) : 16;
        if ((unsigned)_mm_movemask_epi8(x) & ((1u << upto) - 1)) {
            unsigned n = utf8_block(x, upto);
            if (!n)
                break; /* the loop below finds where */
            at += n;
        } else
            at += upto;
        if (mask)
            return at;
    }
#else
    const uint64_t ones = 0x0101010101010101u;
    while (end - at >= 8) {
        uint64_t x;
        memcpy(&x, at, 8);
        uint64_t quote = x ^ ones * '"', slash = x ^ ones * '\\';
        if (((x - ones * ' ') | (quote - ones) | (slash - ones) | x) & ones * 0x80)
            break; /* maybe; the loop below knows */
        at += 8;
    }
#endif
    while (at < end && (unsigned char)*at >= ' ' && *at != '"' && *at != '\\') {
        size_t n = utf8_sequence(at, end);
        if (!n)
            break;
        at += n;
    }
    return at;
}

/* Behind the backslash. */
static bool scan_escape(struct scan *s) {
    if (s->at == s->end)
        return false;
    switch (*s->at) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        s->at++;
        return true;
    case 'u':
        s->at++;
        for (int i = 0; i < 4; i++, s->at++)
            if (s->at == s->end || !is_hex(*s->at))
                return false;
        return true;
    default:
        return false;
    }
}

/* At the opening quote. */
static inline bool scan_string(struct scan *s) {
    s->at++;
    for (;;) {
        s->at = text_end(s->at, s->end);
        if (s->at == s->end)
            return false;
        char c = *s->at;
        if (c == '"') {
            s->at++;
            return true;
        }
        if (c != '\\')
            return false;
        s->at++;
        if (!scan_escape(s))
            return false;
    }
}

static const char *digits_end(const char *at, const char *end) {
    while (at < end && is_digit(*at))
        at++;
    return at;
}

static bool scan_number(struct scan *s) {
    if (s->at < s->end && *s->at == '-')
        s->at++;
    if (s->at == s->end || !is_digit(*s->at))
        return false;
    s->at = *s->at == '0' ? s->at + 1 : digits_end(s->at, s->end);
    if (s->at < s->end && *s->at == '.') {
        const char *digits = s->at + 1;
        s->at = digits_end(digits, s->end);
        if (s->at == digits)
            return false;
    }
    if (s->at < s->end && (*s->at | 32) == 'e') {
        s->at++;
        if (s->at < s->end && (*s->at == '+' || *s->at == '-'))
            s->at++;
        const char *digits = s->at;
        s->at = digits_end(digits, s->end);
        if (s->at == digits)
            return false;
    }
    return true;
}

static bool scan_word(struct scan *s, const char *word) {
    for (; *word; word++, s->at++)
        if (s->at == s->end || *s->at != *word)
            return false;
    return true;
}

static bool scan_scalar(struct scan *s) {
    switch (*s->at) {
    case '"':
        return scan_string(s);
    case 't':
        return scan_word(s, "true");
    case 'f':
        return scan_word(s, "false");
    case 'n':
        return scan_word(s, "null");
    default:
        return scan_number(s);
    }
}

static bool scan_byte(struct scan *s, char c) {
    skip_space(s);
    if (s->at == s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

/* "name" : with white space before each of the parts. */
static inline bool scan_key(struct scan *s, struct tl_span *key) {
    skip_space(s);
    if (s->at == s->end || *s->at != '"')
        return false;
    key->ptr = s->at;
    if (!scan_string(s))
        return false;
    key->len = (size_t)(s->at - key->ptr);
    return scan_byte(s, ':');
}

/* At white space before a value; ends behind it. What is open is one bit a level: 1 for an object. */
static bool scan_value(struct scan *s) {
    uint64_t objects[JSON_DEPTH / 64] = {0};
    unsigned depth = 0;
    bool object = false; /* the innermost */
    struct tl_span key;
    for (;;) {
        skip_space(s);
        if (s->at == s->end)
            return false;
        if (*s->at == '{' || *s->at == '[') {
            if (depth == JSON_DEPTH)
                return false;
            object = *s->at == '{';
            uint64_t bit = (uint64_t)1 << depth % 64;
            objects[depth / 64] = object ? objects[depth / 64] | bit : objects[depth / 64] & ~bit;
            depth++;
            s->at++;
            skip_space(s);
            if (s->at == s->end || *s->at != (object ? '}' : ']')) {
                if (object && !scan_key(s, &key))
                    return false;
                continue;
            }
        } else if (!scan_scalar(s))
            return false;
        else if (!depth)
            return true;
        for (;;) { /* behind a value, or at the bracket of an empty one: close what ends here */
            skip_space(s);
            if (s->at == s->end)
                return false;
            if (*s->at != (object ? '}' : ']'))
                break;
            s->at++;
            if (!--depth)
                return true;
            object = objects[(depth - 1) / 64] >> (depth - 1) % 64 & 1;
        }
        if (*s->at != ',')
            return false;
        s->at++;
        if (object && !scan_key(s, &key))
            return false;
    }
}

/* One value into *out, which begins at s->at. */
static bool take_value(struct scan *s, struct tl_span key, struct tl_json *out) {
    skip_space(s);
    const char *from = s->at;
    if (!scan_value(s))
        return false;
    enum tl_json_type type = TL_JSON_NUMBER;
    switch (*from) {
    case '"':
        type = TL_JSON_STRING;
        break;
    case '{':
        type = TL_JSON_OBJECT;
        break;
    case '[':
        type = TL_JSON_ARRAY;
        break;
    case 't':
    case 'f':
        type = TL_JSON_BOOL;
        break;
    case 'n':
        type = TL_JSON_NULL;
        break;
    default:
        break;
    }
    *out = (struct tl_json){.type = type, .raw = {from, (size_t)(s->at - from)}, .key = key};
    return true;
}

int json_valid(struct tl_span text, size_t *where) {
    struct scan s = scan_of(text);
    const char *from = s.at;
    bool ok = scan_value(&s);
    if (ok)
        skip_space(&s);
    if (where)
        *where = (size_t)(s.at - from);
    return ok && s.at == s.end ? TL_OK : TL_INVALID;
}

int json_parse(struct tl_span text, struct tl_json *root) {
    struct scan s = scan_of(text);
    struct tl_json value;
    if (!take_value(&s, (struct tl_span){0}, &value))
        return TL_INVALID;
    skip_space(&s);
    if (s.at != s.end)
        return TL_INVALID;
    *root = value;
    return TL_OK;
}

static unsigned hex4(const char *at) {
    unsigned n = 0;
    for (int i = 0; i < 4; i++)
        n = n << 4 | (is_digit(at[i]) ? (unsigned)(at[i] - '0') : (unsigned)(at[i] | 32) - 'a' + 10);
    return n;
}

size_t json_char(const char **at, const char *end, char out[4], bool *lone) {
    const char *p = *at;
    if (*p != '\\' || end - p < 2) {
        size_t n = utf8_sequence(p, end);
        n = n ? n : 1;
        memcpy(out, p, n);
        *at = p + n;
        return n;
    }
    *at = p + 2;
    switch (p[1]) {
    case 'b':
        out[0] = '\b';
        return 1;
    case 'f':
        out[0] = '\f';
        return 1;
    case 'n':
        out[0] = '\n';
        return 1;
    case 'r':
        out[0] = '\r';
        return 1;
    case 't':
        out[0] = '\t';
        return 1;
    case 'u':
        break;
    default:
        out[0] = p[1];
        return 1;
    }
    *at = end - p < 6 ? end : p + 6;
    uint32_t cp = end - p < 6 ? UTF8_REPLACEMENT : hex4(p + 2);
    if (cp >= 0xD800 && cp <= 0xDBFF && end - p >= 12 && p[6] == '\\' && p[7] == 'u') {
        uint32_t low = hex4(p + 8);
        if (low >= 0xDC00 && low <= 0xDFFF) {
            *at = p + 12;
            return utf8_put(out, 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00));
        }
    }
    if (cp >= 0xD800 && cp <= 0xDFFF)
        *lone = true;
    return utf8_put(out, cp);
}

/* Next byte of a pointer's reference token; -1 at its end. */
static int token_byte(const char **at) {
    char c = **at;
    if (!c || c == '/')
        return -1;
    *at += 1;
    if (c != '~')
        return (unsigned char)c;
    c = **at;
    *at += 1;
    return c == '0' ? '~' : '/';
}

static int plain_byte(const char **at) {
    char c = **at;
    if (!c)
        return -1;
    *at += 1;
    return (unsigned char)c;
}

/* Does a name as written (with quotes) read like the text that `next` yields? */
static bool name_is(struct tl_span raw, const char *text, int (*next)(const char **)) {
    if (raw.len < 2)
        return false;
    const char *at = raw.ptr + 1, *end = raw.ptr + raw.len - 1;
    bool lone = false;
    while (at < end) {
        char part[4];
        size_t n = json_char(&at, end, part, &lone);
        for (size_t i = 0; i < n; i++)
            if (next(&text) != (unsigned char)part[i])
                return false;
    }
    return next(&text) == -1;
}

bool json_key_is(const struct tl_json *member, const char *key) {
    return name_is(member->key, key, plain_byte);
}

/* "0", "12", never "01": the number of an item. */
static bool token_index(const char *token, size_t len, size_t *n) {
    if (!len || len > 18 || (token[0] == '0' && len > 1))
        return false;
    *n = 0;
    for (size_t i = 0; i < len; i++) {
        if (!is_digit(token[i]))
            return false;
        *n = *n * 10 + (size_t)(token[i] - '0');
    }
    return true;
}

static bool pointer_ok(const char *pointer) {
    if (*pointer && *pointer != '/')
        return false;
    for (const char *at = pointer; (at = strchr(at, '~')) != NULL; at++)
        if (at[1] != '0' && at[1] != '1')
            return false;
    return true;
}

/* At the opening bracket of a container: moves to the value of the token's member or item. */
static int enter(struct scan *s, const char *token, size_t len, struct tl_span *key) {
    bool object = *s->at++ == '{';
    size_t wanted = 0;
    bool possible = object || token_index(token, len, &wanted);
    *key = (struct tl_span){0};
    skip_space(s);
    if (s->at < s->end && *s->at == (object ? '}' : ']'))
        return TL_NOTFOUND;
    for (size_t n = 0;; n++) {
        if (object && !scan_key(s, key))
            return TL_INVALID;
        if (object ? name_is(*key, token, token_byte) : possible && n == wanted)
            return TL_OK;
        if (!scan_value(s))
            return TL_INVALID;
        skip_space(s);
        if (s->at < s->end && *s->at == (object ? '}' : ']'))
            return TL_NOTFOUND;
        if (!scan_byte(s, ','))
            return TL_INVALID;
    }
}

int json_find(struct tl_span text, const char *pointer, struct tl_json *value) {
    if (!pointer_ok(pointer))
        return TL_INVALID;
    struct scan s = scan_of(text);
    struct tl_span key = {0};
    for (unsigned depth = 0; *pointer; depth++) {
        const char *token = pointer + 1;
        size_t len = strcspn(token, "/");
        skip_space(&s);
        if (s.at == s.end || depth == JSON_DEPTH)
            return TL_INVALID;
        if (*s.at != '{' && *s.at != '[')
            return scan_scalar(&s) ? TL_NOTFOUND : TL_INVALID;
        int rc = enter(&s, token, len, &key);
        if (rc)
            return rc;
        pointer = token + len;
    }
    return take_value(&s, key, value) ? TL_OK : TL_INVALID;
}

int json_next(const struct tl_json *container, struct tl_json *at) {
    struct tl_span raw = container->raw;
    if ((container->type != TL_JSON_OBJECT && container->type != TL_JSON_ARRAY) || raw.len < 2 || at->at >= raw.len)
        return TL_INVALID;
    bool object = container->type == TL_JSON_OBJECT, first = at->at == 0;
    struct scan s = {raw.ptr + (first ? 1 : at->at), raw.ptr + raw.len};
    skip_space(&s);
    if (s.end - s.at == 1 && *s.at == (object ? '}' : ']'))
        return TL_NOTFOUND;
    struct tl_span key = {0};
    if ((!first && !scan_byte(&s, ',')) || (object && !scan_key(&s, &key)))
        return TL_INVALID;
    struct tl_json value;
    if (!take_value(&s, key, &value))
        return TL_INVALID;
    value.at = (uint64_t)(s.at - raw.ptr);
    *at = value;
    return TL_OK;
}

int json_get(const struct tl_json *object, const char *key, struct tl_json *out) {
    if (object->type != TL_JSON_OBJECT)
        return TL_INVALID;
    struct tl_json at = {0};
    int rc;
    while ((rc = json_next(object, &at)) == TL_OK)
        if (json_key_is(&at, key)) {
            *out = at;
            out->at = 0;
            return TL_OK;
        }
    return rc;
}

/* A string as written, quotes included. */
static int unescape(struct tl_span raw, struct buf *out) {
    const char *at = raw.ptr + 1, *end = raw.ptr + raw.len - 1;
    bool lone = false;
    buf_reserve(out, 0); /* an empty text is a C string, too */
    while (at < end) {
        const char *slash = memchr(at, '\\', (size_t)(end - at));
        buf_add(out, at, (size_t)((slash ? slash : end) - at));
        at = slash ? slash : end;
        if (slash) {
            char part[4];
            buf_add(out, part, json_char(&at, end, part, &lone));
        }
    }
    return out->full ? TL_FAILED : TL_OK;
}

int json_text(const struct tl_json *string, struct buf *out) {
    return string->type == TL_JSON_STRING && string->raw.len >= 2 ? unescape(string->raw, out) : TL_INVALID;
}

int json_key(const struct tl_json *member, struct buf *out) {
    return member->key.len >= 2 ? unescape(member->key, out) : TL_INVALID;
}

int json_int(const struct tl_json *number, int64_t *out) {
    if (number->type != TL_JSON_NUMBER || !number->raw.len)
        return TL_INVALID;
    const char *at = number->raw.ptr, *end = at + number->raw.len;
    bool minus = *at == '-';
    uint64_t n = 0, most = minus ? (uint64_t)INT64_MAX + 1 : INT64_MAX;
    at += minus;
    if (at == end)
        return TL_INVALID;
    for (; at < end; at++) {
        if (!is_digit(*at))
            return TL_INVALID;
        uint64_t digit = (uint64_t)(*at - '0');
        if (n > (most - digit) / 10)
            return TL_INVALID;
        n = n * 10 + digit;
    }
    *out = minus ? (n ? -(int64_t)(n - 1) - 1 : 0) : (int64_t)n;
    return TL_OK;
}

int json_bool(const struct tl_json *value, bool *out) {
    if (value->type != TL_JSON_BOOL || !value->raw.len)
        return TL_INVALID;
    *out = value->raw.ptr[0] == 't';
    return TL_OK;
}
