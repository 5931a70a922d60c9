/* fuzz_feed.c - any bytes as a feed; a first byte of 0 to 3 is none of it, but chooses the content type. What is
 * cleaned is well-formed for libxml2, and stays as it is when it is cleaned again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "net/feed.h"
#include "net/url.h"
#include "net/xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool what) {
    if (!what)
        abort();
}
static void must_be_text(struct tl_span s) {
    must(!s.ptr || (s.len && utf8_valid(s.ptr, s.len)));
}
static void must_be_url(struct tl_span s) {
    struct buf href = BUF_INIT;
    struct url u;
    must(!s.ptr || (url_parse(&href, s, NULL, &u) == TL_OK && u.href.len == s.len));
    buf_free(&href);
}
static void check_date(const struct feed_date *d) {
    must_be_text(d->raw);
    must_be_text(d->text);
    must(!d->text.ptr || d->raw.ptr);
}
static void check_entry(const struct feed_entry *e) {
    const struct tl_span texts[] = {e->id,      e->title,        e->summary, e->summary_type,
                                    e->content, e->content_type, e->language};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        must_be_text(texts[i]);
    must(!e->summary.ptr == !e->summary_type.ptr && !e->content.ptr == !e->content_type.ptr);
    must_be_url(e->link);
    must_be_url(e->comments);
    check_date(&e->published);
    check_date(&e->updated);
    for (size_t i = 0; i < e->author_count; i++)
        must_be_text(e->authors[i]);
    for (size_t i = 0; i < e->link_count; i++)
        must_be_url(e->links[i]);
    for (size_t i = 0; i < e->category_count; i++)
        must_be_text(e->categories[i].term);
    for (size_t i = 0; i < e->enclosure_count; i++)
        must_be_url(e->enclosures[i].url);
    must(e->author_count <= FEED_LIST_MAX && e->link_count <= FEED_LIST_MAX && e->enclosure_count <= FEED_LIST_MAX);
}

static int count_start(void *arg, const struct xml_element *e) {
    must(e->name.len > 0 && e->attr_count <= XML_ATTRS_MAX);
    size_t *depth = arg;
    must(++*depth <= XML_DEPTH_MAX);
    return TL_OK;
}
static int count_end(void *arg, const struct xml_element *e) {
    size_t *depth = arg;
    must(e->name.len > 0 && (*depth)-- > 0);
    return TL_OK;
}
static int count_text(void *arg, struct tl_span text) {
    size_t *depth = arg;
    must(*depth > 0 && text.len > 0);
    return TL_OK;
}
static void check_cleaning(struct tl_span body) {
    static const struct xml_events events = {count_start, count_end, count_text};
    AUTO_BUF struct buf utf8 = BUF_INIT, once = BUF_INIT, twice = BUF_INIT;
    const char *charset;
    unsigned findings = 0;
    size_t depth = 0;
    must(xml_decode(body, NULL, &utf8, &charset, &findings) == TL_OK && utf8_valid(utf8.data, utf8.len));
    xml_clean(buf_span(&utf8), &once, &findings);
    if (!once.len)
        return;
    must(xml_read(buf_span(&once), &events, &depth) == TL_OK && depth == 0);
    findings = 0;
    xml_clean(buf_span(&once), &twice, &findings);
    must(twice.len == once.len && memcmp(twice.data, once.data, once.len) == 0 && findings == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const types[] = {"text/xml; charset=iso-8859-1", "application/xml; charset=utf-8",
                                        "text/xml; charset=gb2312", "application/feed+json"};
    if (size < 1)
        return 0;
    bool chosen = data[0] < COUNT_OF(types);
    struct tl_span body = {(const char *)data + chosen, size - chosen};
    struct arena arena = {.max = 64u << 20}, small = {.max = 300};
    struct feed feed;
    int rc = feed_parse(&arena, body, "http://h.example/d/feed", chosen ? types[data[0]] : NULL, &feed);
    must(rc == TL_OK || rc == TL_PARTIAL || rc == TL_INVALID);
    must((rc == TL_INVALID) == (feed.format == NULL) && (rc == TL_INVALID) == (feed.error[0] != '\0'));
    must_be_text(feed.title);
    must_be_url(feed.link);
    for (size_t i = 0; i < feed.entry_count; i++)
        check_entry(&feed.entries[i]);
    for (size_t i = 0; i < feed.alternate_count; i++)
        must_be_url(feed.alternates[i].url);
    rc = feed_parse(&small, body, NULL, NULL, &feed);
    must(rc == TL_OK || rc == TL_PARTIAL || rc == TL_INVALID);
    check_cleaning(body);
    arena_free(&small);
    arena_free(&arena);
    return 0;
}
