/* xml_clean.c - see xml.h: any text becomes well-formed XML with the same elements, attributes and text.
 *
 * Invariant: what is written is well-formed at every moment but for the end tags of what is open; a tag is written only
 * when its end has been seen. No part of the input is searched twice for the same thing: what was not found once is
 * known to be missing. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/hash.h"
#include "base/mem.h"
#include "net/html_entities.h"
#include "net/xml_inside.h"

enum { NAME_MAX_BYTES = 256, STRAYS_MAX = 1 << 16, SLOTS = 2 * XML_NAMES_MAX };
enum where { IN_TEXT, IN_CDATA, IN_VALUE };
enum mark { COMMENT_END, CDATA_END, PI_END, DOUBLE_QUOTE, SINGLE_QUOTE, MARKS };
static const char *const mark_text[MARKS] = {"-->", "]]>", "?>", "\"", "'"};

struct cleaner {
    const char *start, *at, *end;
    struct buf *out;
    unsigned found;
    bool root_closed;
    bool missing[MARKS];                /* no such mark from here on */
    size_t depth, too_deep;             /* open elements that were written, and that were not */
    size_t strays;                      /* end tags that were looked for in vain; beyond STRAYS_MAX nobody looks */
    struct tl_span open[XML_DEPTH_MAX]; /* their names, in the input */
    uint8_t declares[XML_DEPTH_MAX];    /* namespaces that each of them declares */
    size_t in_scope;
    /* Names and namespaces seen, a hash table: libxml2 keeps them all, and slows down when there are too many. */
    struct tl_span *seen; /* SLOTS of them */
    size_t seen_count;
    struct hash_key key;
    size_t attr_count;
    struct {
        struct tl_span name, value;
    } attr[XML_ATTRS_MAX];
    struct xml_entities entities;
};

/* ---- texts ---- */

static void put_literal(struct cleaner *c, struct tl_span s, enum where where) {
    for (const char *p = s.ptr, *end = p + s.len; p < end; p++) {
        size_t bad = xml_forbidden(p, end);
        if (bad) {
            c->found |= XML_BAD_CHARACTER;
            p += bad - 1;
        } else if (where == IN_VALUE && (unsigned char)*p < 0x20) {
            buf_printf(c->out, "&#%d;", *p); /* else it would become a space */
        } else if (strchr("&<>\"", *p)) {
            xml_escape(c->out, (struct tl_span){p, 1}, true);
        } else {
            buf_char(c->out, *p);
        }
    }
}
static const char *put_reference(struct cleaner *c, const char *p, const char *end, enum where where) {
    char room[8];
    struct tl_span value;
    size_t n = xml_reference(&c->entities, p, end, room, &value, &c->found);
    if (!n)
        buf_lit(c->out, "&amp;");
    else if (value.ptr)
        put_literal(c, value, where);
    else
        buf_add(c->out, p, n);
    return p + (n ? n : 1);
}
static bool is_special(char c) {
    return (unsigned char)c < 0x20 || c == '&' || c == '<' || c == '>' || (unsigned char)c == 0xEF ||
           (unsigned char)c == 0xC2;
}
/* U+0080 to U+009F are nobody's text: they are windows-1252 that went through the wrong decoder. HTML's numeric
 * references know what was meant. False: at another character. */
static bool put_misread(struct cleaner *c, const char *p, const char *end) {
    char reference[8], room[8];
    size_t len = 0;
    if (end - p < 2 || (unsigned char)p[0] != 0xC2 || (unsigned char)p[1] > 0x9F)
        return false;
    int n = snprintf(reference, sizeof reference, "&#%d;", (unsigned char)p[1]);
    html_entities_decode(reference, reference + n, false, room, &len);
    if (len == 2 && memcmp(room, p, 2) == 0)
        return false; /* windows-1252 has nothing there either */
    buf_add(c->out, room, len);
    c->found |= XML_MISREAD;
    return true;
}
static bool ends_in_brackets(const struct buf *out) { /* ]]> is forbidden in a text */
    return out->len >= 2 && out->data[out->len - 1] == ']' && out->data[out->len - 2] == ']';
}
static void put_text(struct cleaner *c, struct tl_span s, enum where where) {
    const char *p = s.ptr, *end = p + s.len;
    while (p < end) {
        const char *from = p;
        while (p < end && !is_special(*p) && (*p != '"' || where != IN_VALUE))
            p++;
        buf_add(c->out, from, (size_t)(p - from));
        if (p == end)
            break;
        size_t bad = xml_forbidden(p, end);
        if (bad) {
            c->found |= XML_BAD_CHARACTER;
            p += bad;
        } else if (put_misread(c, p, end)) {
            p += 2;
        } else if (*p == '&' && where != IN_CDATA) {
            p = put_reference(c, p, end, where);
        } else if (*p == '&' || *p == '<' || *p == '"' || (*p == '>' && ends_in_brackets(c->out))) {
            if (*p == '<' && where == IN_VALUE)
                c->found |= XML_BAD_TAG;
            xml_escape(c->out, (struct tl_span){p++, 1}, true);
        } else {
            buf_char(c->out, *p++);
        }
    }
}
static bool is_blank(struct tl_span s) {
    for (size_t i = 0; i < s.len; i++)
        if (!xml_is_space(s.ptr[i]))
            return false;
    return true;
}
static void add_text(struct cleaner *c, struct tl_span s, enum where where) {
    if (c->depth)
        put_text(c, s, where);
    else if (!is_blank(s))
        c->found |= XML_JUNK;
}

/* ---- marks ---- */

static const char *find(struct cleaner *c, enum mark mark) {
    if (c->missing[mark])
        return NULL;
    size_t n = strlen(mark_text[mark]);
    const char *found = n == 1 ? memchr(c->at, *mark_text[mark], (size_t)(c->end - c->at))
                               : memmem(c->at, (size_t)(c->end - c->at), mark_text[mark], n);
    c->missing[mark] = !found;
    return found;
}
static void skip_to_close(struct cleaner *c) {
    const char *close = memchr(c->at, '>', (size_t)(c->end - c->at));
    if (!close)
        c->found |= XML_TRUNCATED;
    c->at = close ? close + 1 : c->end;
}
static bool ahead(const struct cleaner *c, const char *what) {
    size_t n = strlen(what);
    return (size_t)(c->end - c->at) >= n && strncasecmp(c->at, what, n) == 0;
}

/* ---- tags ---- */

/* False: one name too many. */
static bool note(struct cleaner *c, struct tl_span name) {
    size_t at = (size_t)hash_sip(&c->key, name.ptr, name.len) & (SLOTS - 1);
    for (; c->seen[at].ptr; at = (at + 1) & (SLOTS - 1))
        if (c->seen[at].len == name.len && memcmp(c->seen[at].ptr, name.ptr, name.len) == 0)
            return true;
    if (c->seen_count == XML_NAMES_MAX)
        return false;
    c->seen[at] = name;
    c->seen_count++;
    return true;
}
static struct tl_span known_name(struct cleaner *c, struct tl_span name) {
    if (note(c, name))
        return name;
    c->found |= XML_TOO_MANY_NAMES;
    return span_of("_");
}
static bool is_declaration(struct tl_span name) {
    return name.len >= 5 && memcmp(name.ptr, "xmlns", 5) == 0 && (name.len == 5 || name.ptr[5] == ':');
}
static void close_top(struct cleaner *c) {
    struct tl_span name = known_name(c, c->open[--c->depth]);
    c->in_scope -= c->declares[c->depth];
    buf_lit(c->out, "</");
    buf_add(c->out, name.ptr, name.len);
    buf_char(c->out, '>');
    c->root_closed = c->depth == 0;
}
static bool same_name(struct tl_span a, struct tl_span b, bool exactly) {
    return a.len == b.len && (exactly ? memcmp(a.ptr, b.ptr, a.len) == 0 : strncasecmp(a.ptr, b.ptr, a.len) == 0);
}
/* How many elements an end tag of this name closes; 0: none is open. */
static size_t closes(struct cleaner *c, struct tl_span name) {
    if (c->depth && same_name(c->open[c->depth - 1], name, true))
        return 1;
    if (c->strays > STRAYS_MAX)
        return 0;
    c->strays++;
    for (int exactly = 1; exactly >= 0; exactly--)
        for (size_t i = c->depth; i > 0; i--)
            if (same_name(c->open[i - 1], name, exactly))
                return c->depth - i + 1;
    return 0;
}
static void end_tag(struct cleaner *c) {
    struct tl_span name = {c->at + 2, xml_name(c->at + 2, c->end)};
    c->at += 2 + name.len;
    const char *from = c->at;
    skip_to_close(c);
    if (c->at > from && c->at[-1] == '>' && !is_blank((struct tl_span){from, (size_t)(c->at - from - 1)}))
        c->found |= XML_BAD_TAG;
    if (c->too_deep) {
        c->too_deep--;
        return;
    }
    size_t n = closes(c, name);
    if (n != 1 || !same_name(c->open[c->depth - 1], name, true))
        c->found |= c->root_closed || !c->depth ? XML_JUNK : XML_BAD_NESTING;
    for (; n; n--)
        close_top(c);
}
/* HTML elements that have no content, when nobody closes them. */
static bool is_void(const struct cleaner *c, struct tl_span name) {
    static const char *const names[] = {"br", "hr", "img", "wbr", "input"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (xml_same(name, names[i]))
            return !((size_t)(c->end - c->at) > name.len + 2 && c->at[0] == '<' && c->at[1] == '/' &&
                     strncasecmp(c->at + 2, name.ptr, name.len) == 0);
    return false;
}
/* at is behind '='. False: the input ends. */
static bool attr_value(struct cleaner *c, struct tl_span *value) {
    while (c->at < c->end && xml_is_space(*c->at))
        c->at++;
    if (c->at == c->end)
        return false;
    char quote = *c->at;
    if (quote == '"' || quote == '\'') {
        c->at++;
        const char *close = find(c, quote == '"' ? DOUBLE_QUOTE : SINGLE_QUOTE);
        if (close) {
            *value = (struct tl_span){c->at, (size_t)(close - c->at)};
            c->at = close + 1;
            return true;
        }
    }
    const char *from = c->at;
    c->found |= XML_BAD_TAG;
    while (c->at < c->end && !xml_is_space(*c->at) && *c->at != '>' && *c->at != '<' &&
           !(*c->at == '/' && c->end - c->at > 1 && c->at[1] == '>'))
        c->at++;
    *value = (struct tl_span){from, (size_t)(c->at - from)};
    return c->at < c->end;
}
static void add_attr(struct cleaner *c, struct tl_span name, struct tl_span value) {
    if (c->attr_count == XML_ATTRS_MAX || name.len > NAME_MAX_BYTES || value.len > XML_ATTR_MAX) {
        c->found |= XML_ATTR_DROPPED;
        return;
    }
    for (size_t i = 0; i < c->attr_count; i++)
        if (same_name(c->attr[i].name, name, true)) {
            c->found |= XML_BAD_TAG;
            return;
        }
    c->attr[c->attr_count].name = name;
    c->attr[c->attr_count++].value = value;
}
/* at is behind the name; collects attributes and moves behind the tag. False: the input ends first. */
static bool read_attrs(struct cleaner *c, bool *empty) {
    c->attr_count = 0;
    *empty = false;
    while (c->at < c->end) {
        bool spaced = xml_is_space(*c->at);
        while (c->at < c->end && xml_is_space(*c->at))
            c->at++;
        if (c->at == c->end)
            return false;
        if (*c->at == '>') {
            c->at++;
            return true;
        }
        if (*c->at == '<') { /* the next tag begins in this one */
            c->found |= XML_BAD_TAG;
            return true;
        }
        if (*c->at == '/' && c->end - c->at > 1 && c->at[1] == '>') {
            c->at += 2;
            return *empty = true;
        }
        struct tl_span name = {c->at, xml_name(c->at, c->end)}, value = name;
        if (!name.len) {
            c->found |= XML_BAD_TAG;
            c->at++;
            continue;
        }
        c->at += name.len;
        if (!spaced)
            c->found |= XML_BAD_TAG;
        while (c->at < c->end && xml_is_space(*c->at))
            c->at++;
        if (c->at < c->end && *c->at == '=') {
            c->at++;
            if (!attr_value(c, &value))
                return false;
        } else {
            c->found |= XML_BAD_TAG;
        }
        add_attr(c, name, value);
    }
    return false;
}
/* Returns how many namespaces it declares. */
static uint8_t write_tag(struct cleaner *c, struct tl_span name, bool empty) {
    uint8_t declares = 0;
    name = known_name(c, name);
    buf_char(c->out, '<');
    buf_add(c->out, name.ptr, name.len);
    for (size_t i = 0; i < c->attr_count; i++) {
        bool declaration = is_declaration(c->attr[i].name);
        if ((declaration && (c->in_scope + declares >= XML_SCOPE_MAX || !note(c, c->attr[i].value))) ||
            !note(c, c->attr[i].name)) {
            c->found |= XML_ATTR_DROPPED;
            continue;
        }
        declares += declaration;
        buf_char(c->out, ' ');
        buf_add(c->out, c->attr[i].name.ptr, c->attr[i].name.len);
        buf_lit(c->out, "=\"");
        put_text(c, c->attr[i].value, IN_VALUE);
        buf_char(c->out, '"');
    }
    buf_text(c->out, empty ? "/>" : ">");
    return declares;
}
static void start_tag(struct cleaner *c, struct tl_span name) {
    bool empty;
    c->at += 1 + name.len;
    if (!read_attrs(c, &empty)) {
        c->found |= XML_TRUNCATED;
        return;
    }
    if (c->root_closed) {
        c->found |= XML_JUNK;
        return;
    }
    if (!empty && is_void(c, name)) {
        c->found |= XML_BAD_NESTING;
        empty = true;
    }
    if (c->depth == XML_DEPTH_MAX || c->too_deep) {
        c->found |= XML_TOO_DEEP;
        c->too_deep += !empty;
        return;
    }
    uint8_t declares = write_tag(c, name, empty);
    if (!empty) {
        c->in_scope += declares;
        c->declares[c->depth] = declares;
        c->open[c->depth++] = name;
    } else if (!c->depth) {
        c->root_closed = true;
    }
}

/* ---- the rest ---- */

static void cdata(struct cleaner *c) {
    c->at += 9;
    const char *close = find(c, CDATA_END);
    if (!close)
        c->found |= XML_TRUNCATED;
    const char *end = close ? close : c->end;
    add_text(c, (struct tl_span){c->at, (size_t)(end - c->at)}, IN_CDATA);
    c->at = close ? close + 3 : end;
}
static void skip_mark(struct cleaner *c, enum mark mark) {
    const char *close = find(c, mark);
    if (close) {
        c->at = close + strlen(mark_text[mark]);
        return;
    }
    c->found |= XML_BAD_TAG;
    skip_to_close(c);
}
static void markup(struct cleaner *c) {
    size_t n = xml_name(c->at + 1, c->end);
    if (n && n <= NAME_MAX_BYTES) {
        start_tag(c, (struct tl_span){c->at + 1, n});
    } else if (ahead(c, "</") && xml_name(c->at + 2, c->end)) {
        end_tag(c);
    } else if (ahead(c, "<!--")) {
        c->at += 4;
        skip_mark(c, COMMENT_END);
    } else if (ahead(c, "<![CDATA[")) {
        cdata(c);
    } else if (ahead(c, "<?")) {
        if (ahead(c, "<?xml ") && c->at != c->start)
            c->found |= XML_JUNK;
        c->at += 2;
        skip_mark(c, PI_END);
    } else if (ahead(c, "<!DOCTYPE") && !c->depth && !c->root_closed) {
        xml_entities_read(&c->entities, &c->at, c->end, &c->found);
    } else if (ahead(c, "<!")) {
        c->found |= XML_BAD_TAG;
        skip_to_close(c);
    } else {
        c->found |= XML_BAD_TAG;
        add_text(c, (struct tl_span){c->at++, 1}, IN_TEXT);
    }
}

void xml_clean(struct tl_span utf8, struct buf *out, unsigned *findings) {
    AUTO_FREE struct cleaner *c = mem_alloc(sizeof *c);
    c->start = c->at = utf8.ptr;
    c->end = utf8.ptr + utf8.len;
    c->out = out;
    c->seen = mem_alloc(SLOTS * sizeof *c->seen);
    if (getrandom(&c->key, sizeof c->key, GRND_NONBLOCK) < 0)
        c->key = (struct hash_key){(uintptr_t)c, (uintptr_t)out};
    while (c->at < c->end) {
        const char *next = memchr(c->at, '<', (size_t)(c->end - c->at));
        add_text(c, (struct tl_span){c->at, (size_t)((next ? next : c->end) - c->at)}, IN_TEXT);
        c->at = next ? next : c->end;
        if (next)
            markup(c);
    }
    if (c->depth)
        c->found |= XML_TRUNCATED;
    while (c->depth)
        close_top(c);
    free(c->seen);
    buf_free(&c->entities.text);
    *findings |= c->found;
}

struct tl_span xml_root(struct tl_span utf8, bool *html) {
    AUTO_FREE struct cleaner *c = mem_alloc(sizeof *c);
    struct tl_span name = {"", 0};
    c->at = utf8.ptr;
    c->end = utf8.ptr + utf8.len;
    *html = false;
    while (!name.len && (c->at = memchr(c->at, '<', (size_t)(c->end - c->at)))) {
        name = (struct tl_span){c->at + 1, xml_name(c->at + 1, c->end)};
        char next = c->end - c->at > 1 ? c->at[1] : ' ';
        if (name.len) {
            *html |= xml_same(name, "html") || xml_same(name, "head") || xml_same(name, "body");
        } else if (next != '!' && next != '?') {
            c->at++;
        } else if (ahead(c, "<!--")) {
            c->at += 4;
            skip_mark(c, COMMENT_END);
        } else if (ahead(c, "<?")) {
            skip_mark(c, PI_END);
        } else if (ahead(c, "<!DOCTYPE")) {
            *html |= ahead(c, "<!DOCTYPE html");
            unsigned ignored = 0;
            xml_entities_read(&c->entities, &c->at, c->end, &ignored);
        } else {
            c->at++;
        }
    }
    buf_free(&c->entities.text);
    return name;
}
