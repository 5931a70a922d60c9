/* xml_decode.c - see xml.h: which encoding XML (or JSON) from the net is in, and its text as UTF-8. */
#include <string.h>

#include "base/utf8.h"
#include "net/charset.h"
#include "net/xml.h"

static bool starts(struct tl_span s, const char *bytes, size_t len) {
    return s.len >= len && memcmp(s.ptr, bytes, len) == 0;
}
#define STARTS(s, literal) starts((s), "" literal, sizeof(literal) - 1)

/* UTF-32 and UTF-16 by their mark, or by the < they begin with. NULL: neither. */
static const char *wide(struct tl_span body, bool *big) {
    *big = STARTS(body, "\0\0\xFE\xFF") || STARTS(body, "\0\0\0<");
    if (*big || STARTS(body, "\xFF\xFE\0\0") || STARTS(body, "<\0\0\0"))
        return "utf-32";
    if (STARTS(body, "\xFE\xFF") || STARTS(body, "\0<\0") || STARTS(body, "\0{\0"))
        return "utf-16be";
    if (STARTS(body, "\xFF\xFE") || (STARTS(body, "<\0") && body.len > 3 && !body.ptr[3]) ||
        (STARTS(body, "{\0") && body.len > 3 && !body.ptr[3]))
        return "utf-16le";
    return NULL;
}
static void utf32(struct tl_span body, bool big, struct buf *utf8, unsigned *findings) {
    const unsigned char *p = (const unsigned char *)body.ptr;
    for (size_t i = 0; i + 4 <= body.len; i += 4) {
        uint32_t c = big ? (uint32_t)p[i] << 24 | (uint32_t)p[i + 1] << 16 | (uint32_t)p[i + 2] << 8 | p[i + 3]
                         : (uint32_t)p[i + 3] << 24 | (uint32_t)p[i + 2] << 16 | (uint32_t)p[i + 1] << 8 | p[i];
        char out[4];
        if (i == 0 && c == 0xFEFF)
            continue;
        if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
            *findings |= XML_BAD_ENCODING;
        buf_add(utf8, out, utf8_put(out, c));
    }
    if (body.len % 4)
        *findings |= XML_BAD_ENCODING;
}

/* The encoding that an XML declaration in ASCII names, or NULL. What is wider than a byte cannot have been read so. */
static const char *declared(struct tl_span body) {
    const char *p = body.ptr, *end = p + (body.len < 1024 ? body.len : 1024);
    while (p < end && strchr(" \t\r\n", *p) && *p)
        p++;
    if ((size_t)(end - p) < 6 || memcmp(p, "<?xml", 5) != 0)
        return NULL;
    const char *close = memchr(p, '>', (size_t)(end - p));
    const char *at = memmem(p, (size_t)((close ? close : end) - p), "encoding", 8);
    if (!at)
        return NULL;
    end = close ? close : end;
    for (at += 8; at < end && strchr(" \t\r\n=", *at) && *at; at++)
        ;
    if (at == end || (*at != '"' && *at != '\''))
        return NULL;
    const char *quote = memchr(at + 1, *at, (size_t)(end - at - 1));
    const char *name = quote ? charset_name((struct tl_span){at + 1, (size_t)(quote - at - 1)}) : NULL;
    return name && strncmp(name, "utf-16", 6) == 0 ? "utf-8" : name;
}
/* How many characters beyond ASCII, and how many faults. */
static void count(struct tl_span body, size_t *good, size_t *bad) {
    const char *at = body.ptr, *end = at + body.len;
    uint32_t c;
    *good = *bad = 0;
    while (at < end) {
        if ((unsigned char)*at < 0x80)
            at++;
        else if (utf8_next(&at, end, &c) == TL_OK)
            ++*good;
        else
            ++*bad;
    }
}

int xml_decode(struct tl_span body, const char *content_type, struct buf *utf8, const char **charset,
               unsigned *findings) {
    bool big, lossy = false;
    size_t good, bad;
    struct charset header;
    if (body.len > XML_BODY_MAX)
        return TL_INVALID;
    const char *name = wide(body, &big);
    if (name && strcmp(name, "utf-32") == 0) {
        utf32(body, big, utf8, findings);
        *charset = name;
        return TL_OK;
    }
    if (!name) {
        bool mark = STARTS(body, "\xEF\xBB\xBF");
        charset_decide((struct tl_span){"", 0}, content_type, &header);
        name = mark ? "utf-8" : strcmp(header.source, "header") == 0 ? header.name : declared(body);
        if (!name || strcmp(name, "replacement") == 0 || strncmp(name, "utf-16", 6) == 0)
            name = "utf-8";
        count(body, &good, &bad);
        if (strcmp(name, "utf-8") == 0 && bad && !good && !mark) {
            name = "windows-1252";
            *findings |= XML_BAD_ENCODING;
        } else if (strcmp(name, "windows-1252") == 0 && good && !bad) {
            name = "utf-8";
            *findings |= XML_ENCODING_OVERRULED;
        }
    }
    int rc = charset_to_utf8(name, body, utf8, &lossy);
    if (rc == TL_FAILED || rc == TL_INVALID) {
        buf_reset(utf8);
        rc = charset_to_utf8(name = "utf-8", body, utf8, &lossy);
    }
    *findings |= lossy ? XML_BAD_ENCODING : 0;
    *charset = name;
    return rc;
}
