/* utf8.h - UTF-8 as RFC 3629 has it: no surrogates, no overlong forms, nothing above U+10FFFF.
 *
 * Invariant: nothing here reads at or behind the given end, and a byte sequence is accepted by all of these functions
 * or by none. */
#ifndef TROTLINE_BASE_UTF8_H
#define TROTLINE_BASE_UTF8_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define UTF8_REPLACEMENT      0xFFFDu
#define UTF8_REPLACEMENT_TEXT "\xEF\xBF\xBD"

bool utf8_valid(const char *ptr, size_t len);

/* In place: every byte that belongs to no well-formed sequence becomes '?'. */
void utf8_repair(char *text);
/* Nothing to be shown to people: it steers a terminal, or turns the order of what is read around. */
bool utf8_is_hostile(uint32_t cp);

/* Writes one code point and returns its length, 1 to 4; what is none (a surrogate, above U+10FFFF) is written as
 * U+FFFD. */
size_t utf8_put(char out[4], uint32_t cp);

/* Reads the code point at *at and moves *at behind it. TL_NOTFOUND at the end. Where the bytes are no UTF-8:
 * TL_INVALID, *cp is U+FFFD, and *at moves over the longest part that could have begun a character (at least one byte),
 * as browsers replace them. */
int utf8_next(const char **at, const char *end, uint32_t *cp);

/* The length of the well-formed sequence at `at` (1 to 4), 0 when there is none. */
static inline size_t utf8_sequence(const char *at, const char *end) {
    const unsigned char *p = (const unsigned char *)at;
    size_t left = (size_t)(end - at);
    if (!left)
        return 0;
    unsigned c = p[0];
    if (c < 0x80)
        return 1;
    if (c < 0xE0)
        return c >= 0xC2 && left >= 2 && (p[1] & 0xC0) == 0x80 ? 2 : 0;
    if (c < 0xF0) {
        if (left < 3 || (p[1] & 0xC0) != 0x80 || (p[2] & 0xC0) != 0x80)
            return 0;
        uint32_t cp = (c & 15) << 12 | (p[1] & 63u) << 6 | (p[2] & 63u);
        return cp >= 0x800 && (cp < 0xD800 || cp > 0xDFFF) ? 3 : 0;
    }
    if (c > 0xF4 || left < 4 || (p[1] & 0xC0) != 0x80 || (p[2] & 0xC0) != 0x80 || (p[3] & 0xC0) != 0x80)
        return 0;
    uint32_t top = (c & 7) << 6 | (p[1] & 63u); /* the code point >> 12 */
    return top >= 0x10 && top <= 0x10F ? 4 : 0;
}

#ifdef __SSE2__
/* Sixteen bytes at once, from the beginning of a character up to the byte `upto`, which must be ASCII, or 16. Returns
 * how many of them are whole well-formed sequences (fewer than 16 when the last one goes on behind the block), or 0:
 * something is wrong. */
static inline unsigned utf8_block(__m128i x, unsigned upto) {
#define UTF8_BELOW(n)                                                                                                  \
    (unsigned)_mm_movemask_epi8(_mm_cmplt_epi8(x, _mm_set1_epi8((char)(n)))) /* signed: 0x80 is least */
#define UTF8_IS(n) (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8((char)(n))))
    unsigned seen = ((2u << upto) - 1) & 0xFFFF, high = (unsigned)_mm_movemask_epi8(x) & seen;
    unsigned follow = UTF8_BELOW(0xC0) & seen, lead = high & ~follow;
    unsigned lead3 = high & ~UTF8_BELOW(0xE0), lead4 = high & ~UTF8_BELOW(0xF0);
    unsigned wanted = lead << 1 | lead3 << 2 | lead4 << 3;
    unsigned wrong = ((wanted ^ follow) & seen) | (lead & (UTF8_IS(0xC0) | UTF8_IS(0xC1)));
    if (lead3) {
        unsigned low = UTF8_BELOW(0xA0);
        wrong |= follow & ((UTF8_IS(0xE0) << 1 & low) | (UTF8_IS(0xED) << 1 & ~low));
    }
    if (lead4) {
        unsigned low = UTF8_BELOW(0x90);
        wrong |= (lead4 & ~UTF8_BELOW(0xF5)) | (follow & ((UTF8_IS(0xF0) << 1 & low) | (UTF8_IS(0xF4) << 1 & ~low)));
    }
#undef UTF8_BELOW
#undef UTF8_IS
    if (wrong)
        return 0;
    return upto < 16 || !(wanted >> 16) ? upto : 31u - (unsigned)__builtin_clz(lead);
}
#endif
#endif
