/* url_chars.h - what each byte means inside a URL; for the url_*.c files and robots.c only.
 *
 * Invariant: an ENC_ bit says "this byte is percent-encoded in that component" (the standard's percent-encode sets), so
 * a byte outside ASCII has all of them; an IS_ bit says what a byte may be part of. */
#ifndef TROTLINE_NET_URL_CHARS_H
#define TROTLINE_NET_URL_CHARS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum {
    ENC_CONTROL = 1 << 0,
    ENC_FRAGMENT = 1 << 1,
    ENC_QUERY = 1 << 2,
    ENC_SPECIAL_QUERY = 1 << 3,
    ENC_PATH = 1 << 4,
    ENC_USERINFO = 1 << 5,
    BAD_HOST = 1 << 6,       /* forbidden host code point */
    BAD_DOMAIN = 1 << 7,     /* forbidden domain code point */
    IS_SCHEME = 1 << 8,      /* after the first letter */
    IS_HEX = 1 << 9,         /* hexadecimal digit */
    IS_UNRESERVED = 1 << 10, /* RFC 3986 2.3 */
    IS_PLAIN_HOST = 1 << 11, /* stands for itself in a domain, upper case apart */
    IS_PLAIN_PATH = 1 << 12, /* stands for itself within a segment of a special URL's path */
    IS_STRIPPED = 1 << 13    /* tab, LF, CR */
};
extern const uint16_t url_chars[256];

static inline unsigned char_is(char c, unsigned bits) {
    return url_chars[(unsigned char)c] & bits;
}
static inline bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
static inline bool is_alpha(char c) {
    return (unsigned char)((c | 32) - 'a') < 26;
}
static inline char to_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}
static inline char to_upper(char c) {
    return c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
}
static inline int hex_value(char c) { /* of a hexadecimal digit */
    return is_digit(c) ? c - '0' : (c | 32) - 'a' + 10;
}
/* Does an escape (%41) start at `at`? */
static inline bool is_escape(struct tl_span s, size_t at) {
    return s.len - at > 2 && s.ptr[at] == '%' && char_is(s.ptr[at + 1], IS_HEX) && char_is(s.ptr[at + 2], IS_HEX);
}
static inline unsigned char escape_value(const char *at) {
    return (unsigned char)(hex_value(at[1]) << 4 | hex_value(at[2]));
}

int url_default_port(struct tl_span scheme);                                /* -1: none */
void url_encode(struct buf *out, struct tl_span text, unsigned encode_bit); /* appends */
void url_encode_byte(struct buf *out, unsigned char byte);                  /* appends %XX */
/* Length of the well-formed UTF-8 sequence at ptr, else 0 and *bad: the length of the maximal subpart that one U+FFFD
 * replaces. */
size_t url_utf8(const char *ptr, size_t len, size_t *bad);
#endif
