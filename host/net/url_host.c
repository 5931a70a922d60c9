/* url_host.c - hosts: the one serialised form of a domain, an IPv4 or an IPv6 address, and the leash's host patterns.
 *
 * Invariant: what url_host appends is ASCII, lower case, and read again gives itself. Domains go through UTS 46 without
 * transitional processing (libidn2), with WHATWG's leniencies: hyphens anywhere, empty labels, and an all-ASCII name is
 * never refused for its punycode. Known limits, all on the strict side: labels over 63 and names over 255 bytes that
 * are not plain ASCII, characters newer than the installed libidn2. */
#include <idn2.h>
#include <stdio.h>

#include "net/url.h"
#include "net/url_chars.h"

enum { NAME_MAX_BYTES = 1024, PIECES = 8 };

/* ---- IPv4 */

/* A decimal, octal (0…) or hexadecimal (0x…) number; false: not one. Too large values are cut to 2^33. */
static bool ipv4_number(struct tl_span s, uint64_t *out) {
    unsigned base = 10;
    *out = 0;
    if (s.len == 0)
        return false;
    if (s.len >= 2 && s.ptr[0] == '0') {
        bool hex = (s.ptr[1] | 32) == 'x';
        base = hex ? 16 : 8;
        s.ptr += hex ? 2 : 1;
        s.len -= hex ? 2 : 1;
    }
    for (size_t i = 0; i < s.len; i++) {
        if (!char_is(s.ptr[i], IS_HEX) || (unsigned)hex_value(s.ptr[i]) >= base)
            return false;
        *out = *out * base + (unsigned)hex_value(s.ptr[i]);
        if (*out >> 33)
            *out = (uint64_t)1 << 33;
    }
    return true;
}

static struct tl_span last_label(struct tl_span s) {
    const char *dot = memrchr(s.ptr, '.', s.len);
    return dot ? (struct tl_span){dot + 1, (size_t)(s.ptr + s.len - dot - 1)} : s;
}

/* The standard's "ends in a number": such a host is an IPv4 address or refused. */
static bool ends_in_number(struct tl_span s) {
    uint64_t n;
    if (s.len && s.ptr[s.len - 1] == '.')
        s.len--;
    struct tl_span last = last_label(s);
    size_t digits = 0;
    while (digits < last.len && is_digit(last.ptr[digits]))
        digits++;
    return last.len && (digits == last.len || ipv4_number(last, &n));
}

static int ipv4_host(struct buf *out, struct tl_span s) {
    uint64_t part[4], address;
    size_t count = 0;

    if (s.len && s.ptr[s.len - 1] == '.')
        s.len--;
    for (bool more = true; more; count++) {
        const char *dot = memchr(s.ptr, '.', s.len);
        struct tl_span piece = {s.ptr, dot ? (size_t)(dot - s.ptr) : s.len};
        if (count == 4 || !ipv4_number(piece, &part[count]))
            return TL_INVALID;
        more = dot != NULL;
        s.ptr += piece.len + more;
        s.len -= piece.len + more;
    }
    address = part[count - 1];
    if (address >= (uint64_t)1 << (8 * (5 - count)))
        return TL_INVALID;
    for (size_t i = 0; i + 1 < count; i++) {
        if (part[i] > 255)
            return TL_INVALID;
        address |= part[i] << (8 * (3 - i));
    }
    buf_printf(out, "%u.%u.%u.%u", (unsigned)(address >> 24), (unsigned)(address >> 16 & 255),
               (unsigned)(address >> 8 & 255), (unsigned)(address & 255));
    return 0;
}

/* ---- IPv6 */

/* The dotted end of an IPv6 address: four decimal numbers without leading zeros. */
static bool dotted_end(const char *s, const char *end, uint16_t piece[2]) {
    unsigned value[4];
    for (int i = 0; i < 4; i++) {
        const char *from = s;
        unsigned n = 0;
        while (s < end && is_digit(*s) && s - from < 3)
            n = n * 10 + (unsigned)(*s++ - '0');
        if (s == from || n > 255 || (s - from > 1 && *from == '0'))
            return false;
        value[i] = n;
        if (i < 3 && (s == end || *s++ != '.'))
            return false;
    }
    piece[0] = (uint16_t)(value[0] << 8 | value[1]);
    piece[1] = (uint16_t)(value[2] << 8 | value[3]);
    return s == end;
}

static int parse_ipv6(const char *s, const char *end, uint16_t piece[PIECES]) {
    int count = 0, gap = -1;

    memset(piece, 0, PIECES * sizeof *piece);
    if (s < end && *s == ':') {
        if (end - s < 2 || s[1] != ':')
            return TL_INVALID;
        s += 2;
        gap = 0;
    }
    while (s < end) {
        if (count == PIECES)
            return TL_INVALID;
        if (*s == ':') {
            if (gap >= 0)
                return TL_INVALID;
            s++;
            gap = count;
            continue;
        }
        const char *from = s;
        unsigned n = 0;
        while (s < end && s - from < 4 && char_is(*s, IS_HEX))
            n = n << 4 | (unsigned)hex_value(*s++);
        if (s < end && *s == '.') {
            if (count > PIECES - 2 || !dotted_end(from, end, piece + count))
                return TL_INVALID;
            count += 2;
            s = end;
            break;
        }
        if (s == from || (s < end && *s != ':'))
            return TL_INVALID;
        piece[count++] = (uint16_t)n;
        if (s < end && ++s == end) /* a single colon at the end */
            return TL_INVALID;
    }
    if (gap < 0)
        return count == PIECES ? 0 : TL_INVALID;
    if (count == PIECES)
        return TL_INVALID;
    size_t moved = (size_t)(count - gap);
    memmove(piece + PIECES - moved, piece + gap, moved * sizeof *piece);
    memset(piece + gap, 0, (size_t)(PIECES - count) * sizeof *piece);
    return 0;
}

/* With the first longest run of zero pieces, if longer than one, written as "::". */
static void write_ipv6(struct buf *out, const uint16_t piece[PIECES]) {
    int best = -1, best_len = 1;
    for (int i = 0, run = 0; i < PIECES; i++) {
        run = piece[i] ? 0 : run + 1;
        if (run > best_len) {
            best_len = run;
            best = i + 1 - run;
        }
    }
    buf_char(out, '[');
    for (int i = 0; i < PIECES; i++) {
        if (i == best) {
            buf_text(out, i == 0 ? "::" : ":");
            i += best_len - 1;
            continue;
        }
        buf_printf(out, i < PIECES - 1 ? "%x:" : "%x", piece[i]);
    }
    buf_char(out, ']');
}

/* ---- domains */

/* Mappings of UTS 46 that the installed libidn2 (Unicode 11) does not have, or that must be made before it is called:
 * it refuses hyphens where WHATWG does not, so they travel as U+0001. To 0: ignored. */
enum { HYPHEN = 1 };
static const struct {
    uint32_t from, to;
} early[] = {{'-', HYPHEN},      {0xfe63, HYPHEN},  {0xff0d, HYPHEN}, {0x1e9e, 0xdf},    {0x04c0, 0x04cf},
             {0x2132, 0x214e},   {0x2183, 0x2184},  {0x206a, 0},      {0x206b, 0},       {0x206c, 0},
             {0x206d, 0},        {0x206e, 0},       {0x206f, 0},      {0x2f868, 0x36fc}, {0x2f874, 0x5f53},
             {0x2f91f, 0x243ab}, {0x2f95f, 0x7aee}, {0x2f9bf, 0x45d7}};

static uint32_t decode(const char *s, size_t len) {
    const unsigned char *u = (const unsigned char *)s;
    switch (len) {
    case 1:
        return u[0];
    case 2:
        return (u[0] & 0x1fu) << 6 | (u[1] & 0x3fu);
    case 3:
        return (u[0] & 0x0fu) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu);
    default:
        return (u[0] & 0x07u) << 18 | (u[1] & 0x3fu) << 12 | (u[2] & 0x3fu) << 6 | (u[3] & 0x3fu);
    }
}

static void add_utf8(struct buf *b, uint32_t c) {
    if (c < 0x80) {
        buf_char(b, (char)c);
    } else if (c < 0x800) {
        buf_add(b, (char[]){(char)(0xc0 | c >> 6), (char)(0x80 | (c & 0x3f))}, 2);
    } else if (c < 0x10000) {
        buf_add(b, (char[]){(char)(0xe0 | c >> 12), (char)(0x80 | (c >> 6 & 0x3f)), (char)(0x80 | (c & 0x3f))}, 3);
    } else {
        buf_add(b,
                (char[]){(char)(0xf0 | c >> 18), (char)(0x80 | (c >> 12 & 0x3f)), (char)(0x80 | (c >> 6 & 0x3f)),
                         (char)(0x80 | (c & 0x3f))},
                4);
    }
}

static bool is_label_dot(uint32_t c) {
    return c == '.' || c == 0x3002 || c == 0xff0e || c == 0xff61;
}

/* ß, ς and the joiners: what transitional processing would take away. */
static bool is_deviation(uint32_t c) {
    return c == 0xdf || c == 0x3c2 || c == 0x200c || c == 0x200d;
}

static bool is_ascii(struct tl_span s) {
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] >= 0x80)
            return false;
    return true;
}

/* The hyphens as the stand-ins that came in: those which the punycode encoder writes are real ones and do not count. */
static bool has_ace_prefix(struct tl_span s) {
    return s.len >= 4 && (s.ptr[0] | 32) == 'x' && (s.ptr[1] | 32) == 'n' && s.ptr[2] == HYPHEN && s.ptr[3] == HYPHEN;
}

/* An A-label in a name that is not all ASCII must be the punycode of something valid. */
static int check_a_label(const char *label) {
    uint8_t *ascii = NULL;
    int rc = idn2_lookup_u8((const uint8_t *)label, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
    if (rc != IDN2_OK)
        rc = idn2_lookup_u8((const uint8_t *)label, &ascii, IDN2_NFC_INPUT | IDN2_TRANSITIONAL);
    if (rc != IDN2_OK)
        return TL_INVALID;
    idn2_free(ascii);
    return 0;
}

/* libidn2 tests an IDNA2008 label where WHATWG asks for UTS 46 only: symbols such as U+2665 are refused by the first
 * alone. In its transitional mode libidn2 leaves that test out, which is the same mapping where there is no deviation
 * character. */
static int map_label(uint8_t **ascii, const char *label, bool deviation) {
    const int flags = IDN2_NFC_INPUT | IDN2_NO_ALABEL_ROUNDTRIP; /* the round trip would refuse the stand-in */
    int rc = idn2_lookup_u8((const uint8_t *)label, ascii, flags | IDN2_NONTRANSITIONAL);
    if (!deviation && (rc == IDN2_DISALLOWED || rc == IDN2_UNASSIGNED || rc == IDN2_CONTEXTO ||
                       rc == IDN2_CONTEXTO_NO_RULE || rc == IDN2_INVALID_NONTRANSITIONAL))
        rc = idn2_lookup_u8((const uint8_t *)label, ascii, flags | IDN2_TRANSITIONAL);
    return rc == IDN2_OK ? 0 : TL_INVALID;
}

static int add_label(struct buf *out, struct tl_span label, bool deviation) {
    size_t at = out->len;
    uint8_t *ascii = NULL;
    if (!is_ascii(label)) {
        if (map_label(&ascii, label.ptr, deviation) < 0)
            return TL_INVALID;
        label = span_of((const char *)ascii);
    }
    bool a_label = has_ace_prefix(label);
    for (size_t i = 0; i < label.len; i++)
        buf_char(out, label.ptr[i] == HYPHEN ? '-' : to_lower(label.ptr[i]));
    idn2_free(ascii);
    if (out->full)
        return TL_INVALID;
    return a_label ? check_a_label(out->data + at) : 0;
}

static int idna(struct buf *out, struct tl_span name) {
    AUTO_BUF struct buf label = BUF_INIT;
    bool deviation = false;
    size_t bad;

    if (name.len > NAME_MAX_BYTES)
        return TL_INVALID;
    for (size_t i = 0; i < name.len;) {
        size_t len = url_utf8(name.ptr + i, name.len - i, &bad);
        if (!len)
            return TL_INVALID;
        uint32_t c = decode(name.ptr + i, len);
        i += len;
        if (is_label_dot(c)) {
            if (add_label(out, buf_span(&label), deviation) < 0)
                return TL_INVALID;
            buf_char(out, '.');
            buf_reset(&label);
            deviation = false;
            continue;
        }
        bool drop = false;
        for (size_t k = 0; k < sizeof early / sizeof *early; k++) {
            if (early[k].from == c) {
                c = early[k].to;
                drop = c == 0;
                break;
            }
        }
        deviation |= is_deviation(c);
        if (!drop)
            add_utf8(&label, c);
    }
    return add_label(out, buf_span(&label), deviation);
}

/* The bytes of a domain with its escapes undone. A byte order mark at the start stays, and is ignored by UTS 46. */
static void decode_escapes(struct buf *out, struct tl_span s) {
    for (size_t i = 0; i < s.len; i++) {
        if (is_escape(s, i)) {
            buf_char(out, (char)escape_value(s.ptr + i));
            i += 2;
        } else {
            buf_char(out, s.ptr[i]);
        }
    }
}

static int domain_host(struct buf *out, struct tl_span text) {
    AUTO_BUF struct buf decoded = BUF_INIT, name = BUF_INIT;
    decode_escapes(&decoded, text);
    text = buf_span(&decoded);
    for (size_t i = 0; i < text.len; i++) /* the others wait: "<" may become a part of U+226E */
        if ((unsigned char)text.ptr[i] < ' ')
            return TL_INVALID;
    if (is_ascii(text)) {
        for (size_t i = 0; i < text.len; i++)
            decoded.data[i] = to_lower(decoded.data[i]);
    } else {
        if (idna(&name, text) < 0)
            return TL_INVALID;
        text = buf_span(&name);
    }
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] >= 0x80 || char_is(text.ptr[i], BAD_DOMAIN)) /* mapped to one: U+2100, U+00A0 */
            return TL_INVALID;
    if (text.len == 0)
        return TL_INVALID;
    if (ends_in_number(text))
        return ipv4_host(out, text);
    buf_add(out, text.ptr, text.len);
    return 0;
}

static int opaque_host(struct buf *out, struct tl_span text) {
    for (size_t i = 0; i < text.len; i++)
        if (char_is(text.ptr[i], BAD_HOST))
            return TL_INVALID;
    url_encode(out, text, ENC_CONTROL);
    return 0;
}

int url_host(struct buf *out, struct tl_span text, bool special) {
    if (text.len == 0)
        return TL_INVALID;
    if (text.ptr[0] == '[') {
        uint16_t piece[PIECES];
        const char *end = text.ptr + text.len - 1;
        if (text.len < 4 || *end != ']' || parse_ipv6(text.ptr + 1, end, piece) < 0)
            return TL_INVALID;
        write_ipv6(out, piece);
        return 0;
    }
    return special ? domain_host(out, text) : opaque_host(out, text);
}

/* ---- leash patterns */

static int pattern_port(struct tl_span s, int *port) {
    *port = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (!is_digit(s.ptr[i]) || *port > 6553)
            return TL_INVALID;
        *port = *port * 10 + (s.ptr[i] - '0');
    }
    return *port >= 1 && *port <= 65535 ? 0 : TL_INVALID;
}

/* Appends the host of a pattern; `below`: it stands behind "*." and must be a name. */
static int pattern_host(struct buf *out, struct tl_span host, bool below) {
    size_t at = out->len;
    if (host.len == 0 || host.ptr[0] == '.' || url_host(out, host, true) < 0 || out->full)
        return TL_INVALID;
    struct tl_span made = {out->data + at, out->len - at};
    if (memchr(made.ptr, '*', made.len) || memmem(made.ptr, made.len, "..", 2))
        return TL_INVALID;
    if (below && (made.ptr[0] == '[' || ends_in_number(made)))
        return TL_INVALID;
    if (made.ptr[made.len - 1] == '.') /* the root's dot means the same host */
        out->data[--out->len] = '\0';
    return 0;
}

int url_host_pattern(struct buf *out, const char *text) {
    AUTO_BUF struct buf made = BUF_INIT;
    struct tl_span host = span_of(text);
    int port = 0;

    const char *bracket = memrchr(host.ptr, ']', host.len);
    size_t after = bracket ? (size_t)(bracket - host.ptr) : 0;
    const char *colon = memchr(host.ptr + after, ':', host.len - after);
    if (colon) {
        struct tl_span digits = {colon + 1, (size_t)(host.ptr + host.len - colon - 1)};
        host.len = (size_t)(colon - host.ptr);
        if (pattern_port(digits, &port) < 0)
            return TL_INVALID;
    }
    if (span_eq(host, "*")) {
        buf_char(&made, '*');
    } else {
        bool below = host.len > 2 && memcmp(host.ptr, "*.", 2) == 0;
        if (below) {
            buf_lit(&made, "*.");
            host.ptr += 2;
            host.len -= 2;
        }
        if (pattern_host(&made, host, below) < 0)
            return TL_INVALID;
    }
    if (port) {
        buf_char(&made, ':');
        buf_int(&made, port);
    }
    buf_add(out, made.data, made.len);
    return out->full ? TL_INVALID : 0;
}

bool url_host_matches(const char *pattern, struct tl_span host, int port) {
    struct tl_span want = span_of(pattern);
    const char *colon = memrchr(want.ptr, ':', want.len);
    int only = 0;

    if (colon && !memchr(colon, ']', (size_t)(want.ptr + want.len - colon))) {
        struct tl_span digits = {colon + 1, (size_t)(want.ptr + want.len - colon - 1)};
        if (pattern_port(digits, &only) < 0 || only != port)
            return false;
        want.len = (size_t)(colon - want.ptr);
    }
    if (span_eq(want, "*"))
        return true;
    if (host.len && host.ptr[host.len - 1] == '.')
        host.len--;
    if (want.len > 2 && memcmp(want.ptr, "*.", 2) == 0) {
        size_t name = want.len - 2;
        if (host.len > name && host.ptr[host.len - name - 1] == '.') {
            host.ptr += host.len - name;
            host.len = name;
        }
        want.ptr += 2;
        want.len = name;
    }
    return host.len && host.len == want.len && strncasecmp(host.ptr, want.ptr, want.len) == 0;
}
