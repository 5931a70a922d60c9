/* feed_capture.c - see feed_capture.h. */
#include "net/feed_capture.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "net/feed.h"

static bool ends_with(struct tl_span s, const char *end) {
    size_t n = strlen(end);
    return s.len >= n && xml_same((struct tl_span){s.ptr + s.len - n, n}, end);
}
static bool begins_with(struct tl_span s, const char *start) {
    size_t n = strlen(start);
    return s.len >= n && xml_same((struct tl_span){s.ptr, n}, start);
}
static void set_type(struct feed_capture *c, struct tl_span type) {
    snprintf(c->type, sizeof c->type, "%.*s", (int)type.len, type.ptr);
}
/* Atom: `type` is text, html, xhtml or a media type; `mode` is of 0.3. What is neither text nor XML is base64. */
static void read_type(struct feed_capture *c, const struct xml_element *e) {
    struct tl_span type = xml_trim(xml_attr(e, "type")), mode = xml_trim(xml_attr(e, "mode"));
    bool html = xml_same(type, "html") || xml_same(type, "text/html");
    bool xml = xml_same(type, "xhtml") || ends_with(type, "+xml") || ends_with(type, "/xml");
    bool media = type.len && memchr(type.ptr, '/', type.len) && type.len < FEED_TYPE_MAX;
    if (html)
        set_type(c, span_of("text/html"));
    else if (xml_same(type, "xhtml"))
        set_type(c, span_of("application/xhtml+xml"));
    else
        set_type(c, media ? type : span_of("text/plain"));
    c->base64 = xml_same(mode, "base64") || (media && !xml && !begins_with(type, "text/") && !mode.len);
    c->markup = (xml && !xml_same(mode, "escaped") && !c->base64) || (html && xml_same(mode, "xml"));
}

void feed_capture_begin(struct feed_capture *c, const struct feed_rule *rule, const struct xml_element *e) {
    struct buf text = c->text;
    buf_shrink(&text, 64 << 10);
    *c = (struct feed_capture){.rule = rule, .text = text, .markup = rule->markup};
    c->text.max = FEED_TEXT_MAX;
    c->text.full = false;
    if (rule->atom_typed)
        read_type(c, e);
    else
        set_type(c, span_of(rule->markup ? "application/xhtml+xml" : "text/html"));
}

/* Pieces that do not fit are dropped, and all that follow, so that the text is a beginning of the whole. */
static void add(struct feed_capture *c, struct tl_span s) {
    if (!c->text.full)
        buf_add(&c->text, s.ptr, s.len);
}
static void add_escaped(struct feed_capture *c, struct tl_span s, bool quotes) {
    if (!c->text.full && buf_reserve(&c->text, s.len))
        xml_escape(&c->text, s, quotes);
}
static void close_tag(struct feed_capture *c) {
    if (c->unclosed)
        add(c, span_of(">"));
    if (c->unclosed && c->wrapped && c->depth == 1)
        c->inner_from = c->text.len;
    c->unclosed = false;
}
/* XHTML goes without prefix and namespace, as HTML has it. */
static bool is_xhtml(struct tl_span uri) {
    return span_eq(uri, "http://www.w3.org/1999/xhtml");
}
static void add_name(struct feed_capture *c, const struct xml_element *e) {
    if (e->prefix.len && !is_xhtml(e->ns)) {
        add(c, e->prefix);
        add(c, span_of(":"));
    }
    add(c, e->name);
}
static void add_attr(struct feed_capture *c, struct tl_span prefix, struct tl_span name, struct tl_span value) {
    add(c, span_of(" "));
    add(c, prefix);
    add(c, span_of(prefix.len && name.len ? ":" : ""));
    add(c, name);
    add(c, span_of("=\""));
    add_escaped(c, value, true);
    add(c, span_of("\""));
}
/* The first element makes markup of what was taken for plain text so far. */
static void first_child(struct feed_capture *c) {
    if (!c->child && !c->markup && strcmp(c->type, "text/plain") == 0) {
        AUTO_BUF struct buf before = c->text;
        c->text = (struct buf){.max = FEED_TEXT_MAX};
        add_escaped(c, buf_span(&before), false);
        set_type(c, span_of("application/xhtml+xml"));
        c->markup = true;
    }
    c->child = true;
}
void feed_capture_start(struct feed_capture *c, const struct xml_element *e) {
    if (!c->depth)
        c->wrapped = !c->child && c->rule->atom_typed && xml_same(e->name, "div") &&
                     !xml_trim(buf_span(&c->text)).len && strcmp(c->type, "application/xhtml+xml") == 0;
    first_child(c);
    close_tag(c);
    c->depth++;
    add(c, span_of("<"));
    add_name(c, e);
    for (size_t i = 0; i < e->declared_count; i++)
        if (!is_xhtml(e->declared[i].uri))
            add_attr(c, span_of("xmlns"), e->declared[i].prefix, e->declared[i].uri);
    for (size_t i = 0; i < e->attr_count; i++)
        add_attr(c, e->attrs[i].prefix, e->attrs[i].name, e->attrs[i].value);
    c->unclosed = true;
}
static bool is_void(struct tl_span name) {
    static const char *const names[] = {"area",  "base", "br",   "col",   "embed",  "hr",    "img",
                                        "input", "link", "meta", "param", "source", "track", "wbr"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (xml_same(name, names[i]))
            return true;
    return false;
}
void feed_capture_end(struct feed_capture *c, const struct xml_element *e) {
    if (c->unclosed && is_void(e->name)) {
        c->depth--;
        c->unclosed = false;
        add(c, span_of("/>"));
        return;
    }
    close_tag(c);
    c->depth--;
    if (!c->depth)
        c->inner_to = c->text.len;
    add(c, span_of("</"));
    add_name(c, e);
    add(c, span_of(">"));
}
void feed_capture_text(struct feed_capture *c, struct tl_span text) {
    close_tag(c);
    if (!c->depth && xml_trim(text).len)
        c->wrapped = false;
    if (c->markup || c->depth)
        add_escaped(c, text, false);
    else
        add(c, text);
}

static void decode_base64(struct feed_capture *c) {
    AUTO_BUF struct buf dense = BUF_INIT, plain = BUF_INIT;
    for (size_t i = 0; i < c->text.len; i++)
        if ((unsigned char)c->text.data[i] > ' ')
            buf_char(&dense, c->text.data[i]);
    if (!dense.len || hash_unbase64(&plain, buf_span(&dense)) != TL_OK || !utf8_valid(plain.data, plain.len) ||
        memchr(plain.data, '\0', plain.len))
        return; /* bytes that are no text stay as they are written */
    buf_reset(&c->text);
    buf_add(&c->text, plain.data, plain.len);
}
struct tl_span feed_capture_result(struct feed_capture *c) {
    if (c->base64 && !c->child)
        decode_base64(c);
    struct tl_span all = buf_span(&c->text);
    if (c->wrapped && !c->text.full && c->inner_to >= c->inner_from)
        all = (struct tl_span){all.ptr + c->inner_from, c->inner_to - c->inner_from};
    return xml_trim(all);
}
