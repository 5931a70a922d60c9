/* html_entities.c - character references, `&amp;`, `&#8364;`, `&#x20ac;`, as the HTML standard has them (13.2.5.72 to
 * 80).
 *
 * Invariant: whatever follows the `&`, the work is bounded by the longest name, and the answer is valid UTF-8. */
#include "net/html_entities.h"

#include <string.h>

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
static bool is_alpha(char c) {
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}
static bool is_alnum(char c) {
    return is_alpha(c) || is_digit(c);
}
static size_t put_utf8(uint32_t c, char *out) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}
/* p is behind `&#`. Returns how many bytes were used, 0: not a reference. */
static size_t numeric(const char *p, const char *end, char *out, size_t *out_len) {
    static const uint16_t c1[32] = {0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
                                    0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017d, 0,
                                    0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                    0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178};
    const char *from = p;
    bool hex = p < end && (*p | 0x20) == 'x';
    const char *digits = p += hex;
    uint32_t c = 0;
    for (; p < end && (is_digit(*p) || (hex && (*p | 0x20) >= 'a' && (*p | 0x20) <= 'f')); p++) {
        uint32_t digit = is_digit(*p) ? (uint32_t)(*p - '0') : (uint32_t)((*p | 0x20) - 'a' + 10);
        if (c < 0x110000)
            c = c * (hex ? 16 : 10) + digit;
    }
    if (p == digits)
        return 0;
    if (p < end && *p == ';')
        p++;
    if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        c = 0xfffd;
    else if (c >= 0x80 && c <= 0x9f && c1[c - 0x80])
        c = c1[c - 0x80];
    *out_len = put_utf8(c, out);
    return (size_t)(p - from);
}
/* The longest name at p, which is behind `&`; NULL: none. The rows that share what was read so far shrink with every
 * byte. */
static const struct html_entities_row *named(const char *p, const char *end) {
    const struct html_entities_row *found = NULL;
    unsigned first = (unsigned char)*p - (unsigned)'A';
    size_t low = html_entities_first[first], high = html_entities_first[first + 1];
    for (size_t at = 1; low < high; at++) {
        if (html_entities_rows[low].name_len == at)
            found = &html_entities_rows[low++];
        if (p + at == end || !(is_alnum(p[at]) || p[at] == ';'))
            return found;
        for (int side = 0; side < 2; side++) { /* the first row with at least, then with more than this byte */
            size_t a = low, b = high;
            while (a < b) {
                size_t mid = a + (b - a) / 2;
                if (html_entities_names[html_entities_rows[mid].name_at + at] < p[at] + side)
                    a = mid + 1;
                else
                    b = mid;
            }
            *(side ? &high : &low) = a;
        }
    }
    return found;
}
size_t html_entities_decode(const char *p, const char *end, bool in_value, char out[8], size_t *out_len) {
    static const struct {
        char name[7], text;
        size_t len;
    } common[] = {{"&lt;", '<', 4}, {"&gt;", '>', 4}, {"&amp;", '&', 5}, {"&quot;", '"', 6}}; /* for speed only */
    if (end - p < 2)
        return 0;
    if (p[1] == '#') {
        size_t used = numeric(p + 2, end, out, out_len);
        return used ? used + 2 : 0;
    }
    if (!(is_alpha(p[1])))
        return 0;
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if ((size_t)(end - p) >= common[i].len && memcmp(p, common[i].name, common[i].len) == 0) {
            *out = common[i].text;
            *out_len = 1;
            return common[i].len;
        }
    const struct html_entities_row *e = named(p + 1, end);
    if (!e)
        return 0;
    const char *after = p + 1 + e->name_len;
    /* "for historical reasons": href="?a=1&copy=2" */
    if (in_value && after[-1] != ';' && after < end && (*after == '=' || is_alnum(*after)))
        return 0;
    memcpy(out, html_entities_texts + e->text_at, e->text_len);
    *out_len = e->text_len;
    return (size_t)e->name_len + 1;
}
