/* xml_entities.c - references, and the document type as far as it declares texts for them.
 *
 * Invariant: a value is text, never markup, and is complete when it is stored: a reference in it to an earlier entity
 * was replaced then, one to a later or external entity stays as it was written. So there is no recursion, and no value
 * is longer than XML_ENTITY_TEXT_MAX. */
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "net/html_entities.h"
#include "net/xml_inside.h"

/* ---- names ---- */

static bool in_ranges(uint32_t c, const uint32_t (*ranges)[2], size_t count) {
    for (size_t i = 0; i < count; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return true;
    return false;
}
static bool may_begin(uint32_t c) { /* XML 1.0, fifth edition, NameStartChar beyond ASCII */
    static const uint32_t ranges[][2] = {{0xC0, 0xD6},     {0xD8, 0xF6},     {0xF8, 0x2FF},    {0x370, 0x37D},
                                         {0x37F, 0x1FFF},  {0x200C, 0x200D}, {0x2070, 0x218F}, {0x2C00, 0x2FEF},
                                         {0x3001, 0xD7FF}, {0xF900, 0xFDCF}, {0xFDF0, 0xFFFD}, {0x10000, 0xEFFFF}};
    return in_ranges(c, ranges, COUNT_OF(ranges));
}
static bool may_follow(uint32_t c) {
    static const uint32_t ranges[][2] = {{0xB7, 0xB7}, {0x300, 0x36F}, {0x203F, 0x2040}};
    return may_begin(c) || in_ranges(c, ranges, COUNT_OF(ranges));
}
static bool ascii_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
size_t xml_name(const char *at, const char *end) {
    const char *p = at;
    bool colon = false, fresh = true; /* fresh: at the beginning of the name or behind its colon */
    while (p < end) {
        const char *next = p + 1;
        uint32_t c;
        bool ok;
        if (*p == ':') {
            if (fresh || colon)
                break;
            colon = fresh = true;
            p++;
            continue;
        }
        if ((unsigned char)*p < 0x80)
            ok = ascii_letter(*p) || (!fresh && ((*p >= '0' && *p <= '9') || *p == '-' || *p == '.'));
        else if (next = p, utf8_next(&next, end, &c) == TL_OK)
            ok = fresh ? may_begin(c) : may_follow(c);
        else
            ok = false;
        if (!ok)
            break;
        fresh = false;
        p = next;
    }
    if (colon && fresh) /* a: is a */
        p--;
    return (size_t)(p - at);
}

/* ---- references ---- */

static size_t reference_name(const char *p, const char *end) { /* between & and ; */
    size_t n = 0, most = (size_t)(end - p) < 64 ? (size_t)(end - p) : 64;
    while (n < most && (ascii_letter(p[n]) || (n && ((p[n] >= '0' && p[n] <= '9') || strchr("-.:", p[n])) && p[n])))
        n++;
    return n && n < most && p[n] == ';' ? n : 0;
}
static bool is_one_of_five(struct tl_span name) {
    static const char *const five[] = {"amp", "lt", "gt", "quot", "apos"};
    for (size_t i = 0; i < COUNT_OF(five); i++)
        if (span_eq(name, five[i]))
            return true;
    return false;
}
bool xml_entities_find(struct xml_entities *e, struct tl_span name, struct tl_span *value, unsigned *findings) {
    for (size_t i = 0; i < e->count; i++) {
        struct tl_span n = e->list[i].name;
        if (n.len != name.len || memcmp(n.ptr, name.ptr, n.len) != 0)
            continue;
        if (e->list[i].len > XML_EXPANSION_MAX - e->expanded) {
            *findings |= XML_EXPANSION_STOPPED;
            return false;
        }
        e->expanded += e->list[i].len;
        *value = (struct tl_span){e->text.data ? e->text.data + e->list[i].at : "", e->list[i].len};
        return true;
    }
    return false;
}
/* A name of HTML that needs no longer match: found by halves, since hostile texts are made of names. 0: HTML has none.
 */
static size_t html_text(const char *name, size_t len, char room[8]) { /* len: with the semicolon */
    if (*name < 'A' || *name > 'z')
        return 0;
    size_t low = html_entities_first[*name - 'A'], high = html_entities_first[*name - 'A' + 1];
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct html_entities_row *row = &html_entities_rows[middle];
        size_t common = row->name_len < len ? row->name_len : len;
        int order = memcmp(name, html_entities_names + row->name_at, common);
        if (!order && row->name_len == len) {
            memcpy(room, html_entities_texts + row->text_at, row->text_len);
            return row->text_len;
        }
        if (order < 0 || (!order && len < row->name_len))
            high = middle;
        else
            low = middle + 1;
    }
    return 0;
}
size_t xml_reference(struct xml_entities *e, const char *p, const char *end, char room[8], struct tl_span *value,
                     unsigned *findings) {
    size_t len = 0;
    bool number = end - p > 2 && p[1] == '#';
    size_t n = number ? 0 : reference_name(p + 1, end);
    struct tl_span name = {p + 1, n};
    *value = (struct tl_span){NULL, 0};
    if (n && is_one_of_five(name))
        return n + 2;
    if (n && xml_entities_find(e, name, value, findings))
        return n + 2;
    size_t took = number ? html_entities_decode(p, end, false, room, &len) : 0;
    if (n && (len = html_text(p + 1, n + 1, room)))
        took = n + 2;
    if (took) {
        if (!number || p[took - 1] != ';')
            *findings |= XML_BAD_ENTITY;
        if (len && xml_forbidden(room, room + len)) {
            *findings |= XML_BAD_CHARACTER;
            len = 0;
        }
        *value = (struct tl_span){room, len};
        return took;
    }
    *findings |= n ? XML_BAD_ENTITY : XML_BAD_AMPERSAND;
    return 0;
}

/* ---- the document type ---- */

static void skip_spaces(const char **at, const char *end) {
    while (*at < end && xml_is_space(**at))
        ++*at;
}
/* Behind the next quote of the same kind; false: there is none. */
static bool take_quoted(const char **at, const char *end, struct tl_span *inside) {
    if (*at == end || (**at != '"' && **at != '\''))
        return false;
    const char *close = memchr(*at + 1, **at, (size_t)(end - *at - 1));
    if (!close)
        return false;
    *inside = (struct tl_span){*at + 1, (size_t)(close - *at - 1)};
    *at = close + 1;
    return true;
}
/* Behind the > of a declaration; quoted texts may hold one. A quote without its end counts as a letter. */
static void skip_declaration(const char **at, const char *end) {
    struct tl_span quoted;
    while (*at < end && **at != '>')
        if (!take_quoted(at, end, &quoted))
            ++*at;
    *at += *at < end;
}
static void store_value(struct xml_entities *e, struct tl_span name, struct tl_span raw, unsigned *findings) {
    char room[8];
    struct tl_span value;
    size_t start = e->text.len;
    if (e->count == XML_ENTITIES_MAX)
        return;
    for (const char *p = raw.ptr, *end = p + raw.len; p < end;) {
        unsigned ignored = 0; /* what is wrong in a value matters where it is used */
        size_t n = *p == '&' ? xml_reference(e, p, end, room, &value, &ignored) : 0;
        *findings |= ignored & XML_EXPANSION_STOPPED;
        if (n && !value.ptr) { /* one of the five, which is text here */
            size_t len;
            html_entities_decode(p, end, false, room, &len);
            value = (struct tl_span){room, len};
        }
        /* A value may lie in this very buffer, which moves when it grows. */
        AUTO_FREE char *copy = n ? mem_text_n(value.ptr, value.len) : NULL;
        buf_add(&e->text, n ? copy : p, n ? value.len : 1);
        p += n ? n : 1;
        if (e->text.len - start > XML_ENTITY_TEXT_MAX) {
            *findings |= XML_EXPANSION_STOPPED;
            e->text.len = start;
            return;
        }
    }
    e->list[e->count].name = name;
    e->list[e->count].at = start;
    e->list[e->count++].len = e->text.len - start;
}
/* *at is behind "<!ENTITY". */
static void read_entity(struct xml_entities *e, const char **at, const char *end, unsigned *findings) {
    struct tl_span raw;
    skip_spaces(at, end);
    bool parameter = *at < end && **at == '%';
    struct tl_span name = {*at, parameter ? 0 : xml_name(*at, end)};
    *at += name.len;
    skip_spaces(at, end);
    if (name.len && take_quoted(at, end, &raw))
        store_value(e, name, raw, findings);
    else if (*at < end && (**at == 'S' || **at == 'P') && !parameter)
        *findings |= XML_EXTERNAL_ENTITY;
    skip_declaration(at, end);
}
static void skip_past(const char **at, const char *end, const char *what) {
    size_t n = strlen(what);
    const char *found = memmem(*at, (size_t)(end - *at), what, n);
    *at = found ? found + n : end;
}
static void read_subset(struct xml_entities *e, const char **at, const char *end, unsigned *findings) {
    while (*at < end && **at != ']') {
        size_t left = (size_t)(end - *at);
        if (left >= 4 && memcmp(*at, "<!--", 4) == 0) {
            skip_past(at, end, "-->");
        } else if (left >= 2 && memcmp(*at, "<?", 2) == 0) {
            skip_past(at, end, "?>");
        } else if (left >= 9 && memcmp(*at, "<!ENTITY", 8) == 0 && xml_is_space((*at)[8])) {
            *at += 8;
            read_entity(e, at, end, findings);
        } else if (**at == '<') {
            skip_declaration(at, end);
        } else {
            ++*at;
        }
    }
    *at += *at < end;
}
void xml_entities_read(struct xml_entities *e, const char **at, const char *end, unsigned *findings) {
    struct tl_span quoted;
    *findings |= XML_DOCTYPE;
    while (*at < end && **at != '>' && **at != '[')
        if (!take_quoted(at, end, &quoted))
            ++*at;
    if (*at < end && **at == '[') {
        ++*at;
        read_subset(e, at, end, findings);
    }
    skip_declaration(at, end);
}
