/* url_chars.c - the table behind url_chars.h, and percent-encoding with it. */
#include "net/url_chars.h"

#define CONTROL(c)  ((c) < 0x20 || (c) > 0x7e)
#define ALPHA(c)    (((c) >= 'a' && (c) <= 'z') || ((c) >= 'A' && (c) <= 'Z'))
#define DIGIT(c)    ((c) >= '0' && (c) <= '9')
#define HEX(c)      (DIGIT(c) || ((c) >= 'a' && (c) <= 'f') || ((c) >= 'A' && (c) <= 'F'))
#define QUERY(c)    (CONTROL(c) || (c) == ' ' || (c) == '"' || (c) == '#' || (c) == '<' || (c) == '>')
#define FRAGMENT(c) (CONTROL(c) || (c) == ' ' || (c) == '"' || (c) == '<' || (c) == '>' || (c) == '`')
#define PATH(c)     (QUERY(c) || (c) == '?' || (c) == '^' || (c) == '`' || (c) == '{' || (c) == '}')
#define USERINFO(c)                                                                                                    \
    (PATH(c) || (c) == '/' || (c) == ':' || (c) == ';' || (c) == '=' || (c) == '@' || (c) == '[' || (c) == '\\' ||     \
     (c) == ']' || (c) == '|')
#define HOST(c)                                                                                                        \
    ((c) == 0 || (c) == '\t' || (c) == '\n' || (c) == '\r' || (c) == ' ' || (c) == '#' || (c) == '/' || (c) == ':' ||  \
     (c) == '<' || (c) == '>' || (c) == '?' || (c) == '@' || (c) == '[' || (c) == '\\' || (c) == ']' || (c) == '^' ||  \
     (c) == '|')
#define DOMAIN(c)     (HOST(c) || (c) < 0x20 || (c) == '%' || (c) == 0x7f)
#define UNRESERVED(c) (ALPHA(c) || DIGIT(c) || (c) == '-' || (c) == '.' || (c) == '_' || (c) == '~')

#define BIT(test, bit) ((test) ? (bit) : 0)
#define C(c)                                                                                                           \
    (BIT(CONTROL(c), ENC_CONTROL) | BIT(FRAGMENT(c), ENC_FRAGMENT) | BIT(QUERY(c), ENC_QUERY) |                        \
     BIT(QUERY(c) || (c) == '\'', ENC_SPECIAL_QUERY) | BIT(PATH(c), ENC_PATH) | BIT(USERINFO(c), ENC_USERINFO) |       \
     BIT(HOST(c), BAD_HOST) | BIT(DOMAIN(c), BAD_DOMAIN) |                                                             \
     BIT(ALPHA(c) || DIGIT(c) || (c) == '+' || (c) == '-' || (c) == '.', IS_SCHEME) | BIT(HEX(c), IS_HEX) |            \
     BIT(UNRESERVED(c), IS_UNRESERVED) |                                                                               \
     BIT(ALPHA(c) || DIGIT(c) || (c) == '-' || (c) == '.' || (c) == '_', IS_PLAIN_HOST) |                              \
     BIT(!PATH(c) && (c) != '/' && (c) != '\\', IS_PLAIN_PATH) |                                                       \
     BIT((c) == '\t' || (c) == '\n' || (c) == '\r', IS_STRIPPED))
#define C4(c)  C(c), C((c) + 1), C((c) + 2), C((c) + 3)
#define C16(c) C4(c), C4((c) + 4), C4((c) + 8), C4((c) + 12)
#define C64(c) C16(c), C16((c) + 16), C16((c) + 32), C16((c) + 48)

const uint16_t url_chars[256] = {C64(0), C64(64), C64(128), C64(192)};

void url_encode_byte(struct buf *out, unsigned char byte) {
    static const char digits[] = "0123456789ABCDEF";
    char text[3] = {'%', digits[byte >> 4], digits[byte & 15]};
    buf_add(out, text, sizeof text);
}

void url_encode(struct buf *out, struct tl_span text, unsigned encode_bit) {
    size_t from = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (!char_is(text.ptr[i], encode_bit))
            continue;
        buf_add(out, text.ptr + from, i - from);
        url_encode_byte(out, (unsigned char)text.ptr[i]);
        from = i + 1;
    }
    buf_add(out, text.ptr + from, text.len - from);
}

size_t url_utf8(const char *ptr, size_t len, size_t *bad) {
    const unsigned char *s = (const unsigned char *)ptr;
    unsigned low = 0x80, high = 0xbf;
    size_t need;

    *bad = 1;
    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xc2 && s[0] <= 0xdf) {
        need = 2;
    } else if ((s[0] & 0xf0) == 0xe0) {
        need = 3;
        low = s[0] == 0xe0 ? 0xa0 : low;
        high = s[0] == 0xed ? 0x9f : high;
    } else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
        need = 4;
        low = s[0] == 0xf0 ? 0x90 : low;
        high = s[0] == 0xf4 ? 0x8f : high;
    } else {
        return 0;
    }
    for (size_t i = 1; i < need; i++) {
        if (i >= len || s[i] < low || s[i] > high) {
            *bad = i;
            return 0;
        }
        low = 0x80;
        high = 0xbf;
    }
    return need;
}
