/* feed_json.c - JSON Feed 1.0 and 1.1. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "net/feed_inside.h"
#include "net/xml.h"

/* The members that a feed may have; one pass over an object finds them all. */
enum key {
    ID,
    URL,
    EXTERNAL_URL,
    TITLE,
    CONTENT_HTML,
    CONTENT_TEXT,
    SUMMARY,
    DATE_PUBLISHED,
    DATE_MODIFIED,
    LANGUAGE,
    AUTHORS,
    AUTHOR,
    TAGS,
    ATTACHMENTS,
    MIME_TYPE,
    SIZE_IN_BYTES,
    NAME,
    VERSION,
    HOME_PAGE_URL,
    DESCRIPTION,
    ITEMS,
    KEYS
};
static const char *const key_names[KEYS] = {"id",
                                            "url",
                                            "external_url",
                                            "title",
                                            "content_html",
                                            "content_text",
                                            "summary",
                                            "date_published",
                                            "date_modified",
                                            "language",
                                            "authors",
                                            "author",
                                            "tags",
                                            "attachments",
                                            "mime_type",
                                            "size_in_bytes",
                                            "name",
                                            "version",
                                            "home_page_url",
                                            "description",
                                            "items"};
struct members {
    struct tl_json of[KEYS];
    bool has[KEYS];
};
static void read_members(const struct tl_json *object, struct members *m) {
    struct tl_json at = {0};
    memset(m->has, 0, sizeof m->has);
    if (object->type != TL_JSON_OBJECT)
        return;
    while (json_next(object, &at) == TL_OK)
        for (int k = 0; k < KEYS; k++) {
            size_t n = strlen(key_names[k]);
            bool same = at.key.len == n + 2 && memcmp(at.key.ptr + 1, key_names[k], n) == 0;
            if (same && !m->has[k]) { /* the first counts */
                m->of[k] = at;
                m->has[k] = true;
            }
        }
}
static const struct tl_json *array_of(const struct members *m, enum key k) {
    return m->has[k] && m->of[k].type == TL_JSON_ARRAY ? &m->of[k] : NULL;
}

/* A member as text; a number counts where people write one for a text (ids). Lives until the next call. */
static struct tl_span text_of(const struct members *m, enum key k, struct buf *room) {
    struct tl_span none = {NULL, 0};
    buf_reset(room);
    if (!m->has[k])
        return none;
    if (m->of[k].type == TL_JSON_NUMBER)
        return m->of[k].raw;
    if (m->of[k].type != TL_JSON_STRING || json_text(&m->of[k], room) != TL_OK)
        return none;
    return buf_span(room);
}
static struct tl_span kept(struct feed_build *b, const struct members *m, enum key k) {
    AUTO_BUF struct buf room = BUF_INIT;
    return feed_keep(b, text_of(m, k, &room));
}
static struct tl_span plain(struct feed_build *b, const struct members *m, enum key k) {
    AUTO_BUF struct buf room = BUF_INIT;
    return feed_plain(b, text_of(m, k, &room), FEED_PLAIN);
}
static struct tl_span link_of(struct feed_build *b, const struct members *m, enum key k) {
    AUTO_BUF struct buf room = BUF_INIT;
    return feed_url(b, b->document, text_of(m, k, &room));
}
static void date_of(struct feed_build *b, const struct members *m, enum key k, struct feed_date *out) {
    AUTO_BUF struct buf room = BUF_INIT;
    feed_date_set(b, out, text_of(m, k, &room));
}

static void add_author(struct feed_build *b, struct feed_lists *l, const struct tl_json *author) {
    struct members m;
    read_members(author, &m);
    struct tl_span name = plain(b, &m, NAME);
    feed_add_author(b, l, name.ptr ? name : plain(b, &m, URL));
}
/* authors (1.1), else author (1.0). */
static void add_authors(struct feed_build *b, struct feed_lists *l, const struct members *m) {
    const struct tl_json *list = array_of(m, AUTHORS);
    struct tl_json item = {0};
    for (int i = 0; list && i <= FEED_LIST_MAX && json_next(list, &item) == TL_OK; i++)
        add_author(b, l, &item);
    if (!l->author_count && m->has[AUTHOR])
        add_author(b, l, &m->of[AUTHOR]);
}
static void add_tags(struct feed_build *b, const struct members *m) {
    AUTO_BUF struct buf room = BUF_INIT;
    const struct tl_json *list = array_of(m, TAGS);
    struct tl_json item = {0};
    for (int i = 0; list && i <= FEED_LIST_MAX && json_next(list, &item) == TL_OK; i++) {
        buf_reset(&room);
        if (item.type == TL_JSON_STRING && json_text(&item, &room) == TL_OK) {
            struct feed_category c = {.term = feed_plain(b, buf_span(&room), FEED_PLAIN)};
            feed_add_category(b, &b->entry_lists, &c);
        }
    }
}
static void add_attachments(struct feed_build *b, const struct members *m) {
    const struct tl_json *list = array_of(m, ATTACHMENTS);
    struct tl_json item = {0};
    struct members a;
    for (int i = 0; list && i <= FEED_LIST_MAX && json_next(list, &item) == TL_OK; i++) {
        read_members(&item, &a);
        struct feed_enclosure x = {link_of(b, &a, URL), kept(b, &a, MIME_TYPE), -1};
        if (a.has[SIZE_IN_BYTES] && (json_int(&a.of[SIZE_IN_BYTES], &x.length) != TL_OK || x.length < 0))
            x.length = -1;
        feed_add_enclosure(b, &b->entry_lists, &x);
    }
}
static void add_item(struct feed_build *b, const struct tl_json *item) {
    struct feed_entry *e = &b->entry;
    struct members m;
    read_members(item, &m);
    e->id = kept(b, &m, ID);
    e->link = link_of(b, &m, URL);
    if (!e->link.ptr)
        e->link = link_of(b, &m, EXTERNAL_URL);
    feed_add_link(b, &b->entry_lists, e->link);
    e->title = plain(b, &m, TITLE);
    date_of(b, &m, DATE_PUBLISHED, &e->published);
    date_of(b, &m, DATE_MODIFIED, &e->updated);
    e->language = kept(b, &m, LANGUAGE);
    e->summary = kept(b, &m, SUMMARY);
    if (e->summary.ptr)
        e->summary_type = span_of("text/plain");
    e->content = kept(b, &m, CONTENT_HTML);
    e->content_type = span_of("text/html");
    if (!e->content.ptr) {
        e->content = kept(b, &m, CONTENT_TEXT);
        e->content_type = span_of("text/plain");
    }
    if (!e->content.ptr)
        e->content_type = e->content;
    add_authors(b, &b->entry_lists, &m);
    add_tags(b, &m);
    add_attachments(b, &m);
}

/* "https://jsonfeed.org/version/1.1", or only its end. NULL: another kind of JSON. */
static const char *format_of(struct feed_build *b, const struct members *m) {
    AUTO_BUF struct buf room = BUF_INIT;
    struct tl_span version = xml_trim(text_of(m, VERSION, &room));
    bool has_items = array_of(m, ITEMS) != NULL;
    bool named = version.len && memmem(version.ptr, version.len, "jsonfeed.org", 12);
    bool short_one = span_eq(version, "1") || span_eq(version, "1.0") || span_eq(version, "1.1");
    if (named || (short_one && has_items)) {
        char last = version.ptr[version.len - 1], before = version.len > 1 ? version.ptr[version.len - 2] : '/';
        return last == '0' || (last == '1' && before != '.') ? "json1.0" : "json1.1"; /* .../version/1 is 1.0 */
    }
    if (!has_items || version.len || !m->has[TITLE])
        return NULL;
    feed_warn(b, "the version is missing; it was taken for JSON Feed 1.1");
    return "json1.1";
}
int feed_read_json(struct feed_build *b, struct tl_span utf8) {
    struct tl_json root, item = {0};
    struct members m;
    struct feed *f = b->out;
    size_t where = 0;
    if (json_valid(utf8, &where) != TL_OK || json_parse(utf8, &root) != TL_OK) {
        snprintf(f->error, sizeof f->error, "the body begins like JSON, but is none from byte %zu on", where);
        return TL_INVALID;
    }
    read_members(&root, &m);
    f->format = format_of(b, &m);
    if (!f->format) {
        snprintf(f->error, sizeof f->error, "the body is JSON, but no JSON Feed");
        return TL_INVALID;
    }
    f->title = plain(b, &m, TITLE);
    f->link = link_of(b, &m, HOME_PAGE_URL);
    f->description = plain(b, &m, DESCRIPTION);
    f->language = kept(b, &m, LANGUAGE);
    add_authors(b, &b->feed_lists, &m);
    const struct tl_json *items = array_of(&m, ITEMS);
    while (items && json_next(items, &item) == TL_OK) {
        if (item.type != TL_JSON_OBJECT)
            continue;
        if (!feed_entry_begin(b))
            break;
        add_item(b, &item);
        feed_entry_end(b);
    }
    return TL_OK;
}
