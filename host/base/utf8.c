/* utf8.c - see utf8.h. */
#include "base/utf8.h"

#include <string.h>

#include "trotline.h"

bool utf8_valid(const char *ptr, size_t len) {
    const char *end = ptr + len;
    while (ptr < end) {
        uint64_t word;
        while (end - ptr >= 8 && (memcpy(&word, ptr, 8), (word & 0x8080808080808080u) == 0))
            ptr += 8;
        while (ptr < end && (unsigned char)*ptr < 0x80)
            ptr++;
#ifdef __SSE2__
        /* As long as there are such characters, in whole blocks. */
        while (end - ptr >= 16) {
            __m128i x = _mm_loadu_si128((const __m128i *)ptr);
            if (!_mm_movemask_epi8(x))
                break;
            unsigned n = utf8_block(x, 16);
            if (!n)
                return false;
            ptr += n;
        }
#endif
        while (ptr < end && (unsigned char)*ptr >= 0x80) {
            size_t n = utf8_sequence(ptr, end);
            if (!n)
                return false;
            ptr += n;
        }
    }
    return true;
}

size_t utf8_put(char out[4], uint32_t cp) {
    if (cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF))
        cp = UTF8_REPLACEMENT;
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xC0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 63));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xE0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 63));
        out[2] = (char)(0x80 | (cp & 63));
        return 3;
    }
    out[0] = (char)(0xF0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 63));
    out[2] = (char)(0x80 | (cp >> 6 & 63));
    out[3] = (char)(0x80 | (cp & 63));
    return 4;
}

/* The length of the longest prefix of `at` that begins some well-formed sequence; `at` begins none that is complete. */
static size_t broken_length(const char *at, const char *end) {
    const unsigned char *p = (const unsigned char *)at;
    size_t left = (size_t)(end - at), need = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    if (p[0] < 0xC2 || p[0] > 0xF4 || left < 2)
        return 1;
    unsigned low = p[0] == 0xE0 ? 0xA0 : p[0] == 0xF0 ? 0x90 : 0x80;
    unsigned high = p[0] == 0xED ? 0x9F : p[0] == 0xF4 ? 0x8F : 0xBF;
    if (p[1] < low || p[1] > high)
        return 1;
    size_t n = 2;
    while (n < left && n < need && (p[n] & 0xC0) == 0x80)
        n++;
    return n;
}

int utf8_next(const char **at, const char *end, uint32_t *cp) {
    if (*at >= end)
        return TL_NOTFOUND;
    const unsigned char *p = (const unsigned char *)*at;
    size_t n = utf8_sequence(*at, end);
    switch (n) {
    case 1:
        *cp = p[0];
        break;
    case 2:
        *cp = (p[0] & 31u) << 6 | (p[1] & 63u);
        break;
    case 3:
        *cp = (p[0] & 15u) << 12 | (p[1] & 63u) << 6 | (p[2] & 63u);
        break;
    case 4:
        *cp = (p[0] & 7u) << 18 | (p[1] & 63u) << 12 | (p[2] & 63u) << 6 | (p[3] & 63u);
        break;
    default:
        *cp = UTF8_REPLACEMENT;
        *at += broken_length(*at, end);
        return TL_INVALID;
    }
    *at += n;
    return TL_OK;
}

void utf8_repair(char *text) {
    const char *end = text + strlen(text);
    while (text < end) {
        size_t n = utf8_sequence(text, end);
        if (n == 0)
            *text = '?';
        text += n ? n : 1;
    }
}

bool utf8_is_hostile(uint32_t cp) {
    return cp < 0x20 || (cp >= 0x7F && cp < 0xA0) || cp == 0x061C || (cp >= 0x200E && cp <= 0x200F) ||
           (cp >= 0x2028 && cp <= 0x202E) || (cp >= 0x2066 && cp <= 0x2069) || cp == 0xFEFF ||
           (cp >= 0xFFF9 && cp <= 0xFFFB) || (cp >= 0xE0000 && cp <= 0xE007F);
}
