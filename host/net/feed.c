/* feed.c - see feed.h: which kind of body it is, and what a page says about feeds. */
#include "net/feed.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "net/feed_inside.h"
#include "net/html_token.h"
#include "net/unzip.h"
#include "net/xml.h"

/* ---- pages ---- */

static bool has_token(struct tl_span list, const char *token) {
    const char *p = list.ptr, *end = p + list.len;
    while (p < end) {
        while (p < end && (unsigned char)*p <= ' ')
            p++;
        const char *from = p;
        while (p < end && (unsigned char)*p > ' ')
            p++;
        if (xml_same((struct tl_span){from, (size_t)(p - from)}, token))
            return true;
    }
    return false;
}
static bool is_feed_type(struct tl_span type) {
    static const char *const types[] = {
        "application/rss+xml", "application/atom+xml", "application/feed+json",  "application/rdf+xml",
        "application/json",    "text/rss+xml",         "application/x.atom+xml", "text/xml",
        "application/xml"};
    const char *semicolon = memchr(type.ptr, ';', type.len);
    if (semicolon)
        type.len = (size_t)(semicolon - type.ptr);
    type = xml_trim(type);
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (xml_same(type, types[i]))
            return true;
    return false;
}
static struct tl_span value(struct feed_build *b, const struct tl_span *raw) {
    buf_reset(&b->scratch);
    if (raw)
        html_token_decode(*raw, HTML_AS_VALUE, &b->scratch);
    return xml_trim(buf_span(&b->scratch));
}
static struct tl_span kept_value(struct feed_build *b, const struct tl_span *raw) {
    return feed_keep(b, value(b, raw));
}
static void add_alternate(struct feed_build *b, const struct html_token *token, const struct url *base,
                          struct feed_alternate *list, size_t *count) {
    const struct tl_span *rel = HTML_ATTR(token, "rel"), *href = HTML_ATTR(token, "href");
    struct tl_span rels = value(b, rel);
    bool feed = has_token(rels, "feed");
    if ((!feed && !has_token(rels, "alternate")) || !href || *count == FEED_ALTERNATES_MAX)
        return;
    struct tl_span type = kept_value(b, HTML_ATTR(token, "type"));
    if (!feed && (!type.ptr || !is_feed_type(type)))
        return;
    struct feed_alternate a = {.type = type, .url = feed_url(b, base, value(b, href))};
    a.title = feed_plain(b, kept_value(b, HTML_ATTR(token, "title")), FEED_PLAIN);
    if (a.url.ptr)
        list[(*count)++] = a;
}
/* The feeds that a page links to. */
static void read_page(struct feed_build *b, struct tl_span utf8) {
    AUTO_FREE struct html_tokenizer *t = mem_alloc(sizeof *t);
    AUTO_BUF struct buf base_href = BUF_INIT;
    struct feed_alternate list[FEED_ALTERNATES_MAX];
    const struct url *base = b->document;
    struct url page_base;
    struct html_token token;
    size_t count = 0;
    html_token_init(t, utf8);
    t->skip_raw = true;
    while (html_token_next(t, &token)) {
        if (token.kind != HTML_TAG_START)
            continue;
        const struct tl_span *href = token.tag == HTML_BASE ? HTML_ATTR(&token, "href") : NULL;
        if (href && base == b->document && url_parse(&base_href, value(b, href), base, &page_base) == TL_OK)
            base = &page_base;
        if (token.tag == HTML_LINK)
            add_alternate(b, &token, base, list, &count);
    }
    struct feed_alternate *copy = count ? arena_alloc(b->arena, sizeof *copy * count) : NULL;
    if (copy) {
        memcpy(copy, list, sizeof *copy * count);
        b->out->alternates = copy;
        b->out->alternate_count = count;
    }
    snprintf(b->out->error, sizeof b->out->error, "this is an HTML page, not a feed; it names %zu feed%s", count,
             count == 1 ? "" : "s");
}

/* ---- any body ---- */

static int refuse(struct feed *out, const char *why) {
    snprintf(out->error, sizeof out->error, "%s", why);
    return TL_INVALID;
}
static int read_body(struct feed_build *b, struct tl_span body, const char *content_type) {
    AUTO_BUF struct buf utf8 = BUF_INIT;
    unsigned findings = 0;
    bool html;
    int rc = xml_decode(body, content_type, &utf8, &b->out->charset, &findings);
    if (rc < 0)
        return refuse(b->out, "the body is longer than a feed may be (64 MiB)");
    struct tl_span text = xml_trim(buf_span(&utf8));
    if (!text.len)
        return refuse(b->out, "the body is empty");
    if (findings & XML_BAD_ENCODING)
        feed_warn(b, xml_finding_text(XML_BAD_ENCODING));
    if (findings & XML_ENCODING_OVERRULED)
        feed_warn(b, xml_finding_text(XML_ENCODING_OVERRULED));
    if (*text.ptr == '{' || *text.ptr == '[')
        return feed_read_json(b, text);
    struct tl_span root = xml_root(text, &html);
    if (html) {
        read_page(b, text);
        return TL_INVALID;
    }
    if (!root.len)
        return refuse(b->out, "the body is no feed: it is neither XML nor JSON");
    return feed_read_xml(b, text);
}

int feed_parse(struct arena *arena, struct tl_span body, const char *url, const char *content_type, struct feed *out) {
    AUTO_BUF struct buf plain = BUF_INIT, href = BUF_INIT;
    AUTO_FREE struct feed_build *b = mem_alloc(sizeof *b);
    struct url document;
    *out = (struct feed){0};
    *b = (struct feed_build){.arena = arena, .out = out};
    if (url && url_parse(&href, span_of(url), NULL, &document) == TL_OK)
        b->document = &document;
    if (unzip_is_gzip(body)) {
        int rc = unzip_gzip(body, &plain);
        if (rc == TL_REFUSED || rc == TL_INVALID)
            return refuse(out, rc == TL_REFUSED ? "the gzip data would grow beyond all measure" : "damaged gzip data");
        if (rc == TL_PARTIAL)
            feed_warn(b, "repaired: the gzip data is damaged or ends in the middle");
        body = buf_span(&plain);
    }
    int rc = read_body(b, body, content_type);
    if (rc == TL_INVALID)
        out->format = NULL;
    feed_finish(b);
    return rc == TL_OK && b->arena_full ? TL_PARTIAL : rc;
}
