/* feed_json.c - JSON Feed 1.0 and 1.1. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "net/feed_inside.h"
#include "net/xml.h"

/* A member as text; numbers count where people write them for texts (ids). Lives until the next call. */
static struct tl_span text_of(struct feed_build *b, const struct tl_json *object, const char *key, struct buf *room) {
    struct tl_json v;
    (void)b;
    buf_reset(room);
    if (json_get(object, key, &v) != TL_OK)
        return (struct tl_span){NULL, 0};
    if (v.type == TL_JSON_NUMBER)
        return v.raw;
    if (v.type != TL_JSON_STRING || json_text(&v, room) != TL_OK)
        return (struct tl_span){NULL, 0};
    return buf_span(room);
}
static struct tl_span kept(struct feed_build *b, const struct tl_json *object, const char *key) {
    AUTO_BUF struct buf room = BUF_INIT;
    return feed_keep(b, text_of(b, object, key, &room));
}
static struct tl_span plain(struct feed_build *b, const struct tl_json *object, const char *key) {
    AUTO_BUF struct buf room = BUF_INIT;
    return feed_plain(b, text_of(b, object, key, &room), FEED_PLAIN);
}
static struct tl_span link_of(struct feed_build *b, const struct tl_json *object, const char *key) {
    AUTO_BUF struct buf room = BUF_INIT;
    return feed_url(b, b->document, text_of(b, object, key, &room));
}
static void date_of(struct feed_build *b, const struct tl_json *object, const char *key, struct feed_date *out) {
    AUTO_BUF struct buf room = BUF_INIT;
    feed_date_set(b, out, text_of(b, object, key, &room));
}

static void add_author(struct feed_build *b, struct feed_lists *l, const struct tl_json *author) {
    struct tl_span name = plain(b, author, "name");
    feed_add_author(b, l, name.ptr ? name : plain(b, author, "url"));
}
/* authors (1.1), else author (1.0). */
static void add_authors(struct feed_build *b, struct feed_lists *l, const struct tl_json *object) {
    struct tl_json list, item = {0};
    if (json_get(object, "authors", &list) == TL_OK && list.type == TL_JSON_ARRAY)
        for (int i = 0; i < FEED_LIST_MAX && json_next(&list, &item) == TL_OK; i++)
            add_author(b, l, &item);
    if (!l->author_count && json_get(object, "author", &item) == TL_OK && item.type == TL_JSON_OBJECT)
        add_author(b, l, &item);
}
static void add_tags(struct feed_build *b, const struct tl_json *object) {
    AUTO_BUF struct buf room = BUF_INIT;
    struct tl_json list, item = {0};
    if (json_get(object, "tags", &list) != TL_OK || list.type != TL_JSON_ARRAY)
        return;
    for (int i = 0; i <= FEED_LIST_MAX && json_next(&list, &item) == TL_OK; i++) {
        buf_reset(&room);
        if (item.type == TL_JSON_STRING && json_text(&item, &room) == TL_OK) {
            struct feed_category c = {.term = feed_plain(b, buf_span(&room), FEED_PLAIN)};
            feed_add_category(b, &b->entry_lists, &c);
        }
    }
}
static void add_attachments(struct feed_build *b, const struct tl_json *object) {
    struct tl_json list, item = {0}, size;
    if (json_get(object, "attachments", &list) != TL_OK || list.type != TL_JSON_ARRAY)
        return;
    for (int i = 0; i <= FEED_LIST_MAX && json_next(&list, &item) == TL_OK; i++) {
        if (item.type != TL_JSON_OBJECT)
            continue;
        struct feed_enclosure x = {link_of(b, &item, "url"), kept(b, &item, "mime_type"), -1};
        if (json_get(&item, "size_in_bytes", &size) == TL_OK && (json_int(&size, &x.length) != TL_OK || x.length < 0))
            x.length = -1;
        feed_add_enclosure(b, &b->entry_lists, &x);
    }
}
static void add_item(struct feed_build *b, const struct tl_json *item) {
    struct feed_entry *e = &b->entry;
    e->id = kept(b, item, "id");
    e->link = link_of(b, item, "url");
    if (!e->link.ptr)
        e->link = link_of(b, item, "external_url");
    feed_add_link(b, &b->entry_lists, e->link);
    e->title = plain(b, item, "title");
    date_of(b, item, "date_published", &e->published);
    date_of(b, item, "date_modified", &e->updated);
    e->language = kept(b, item, "language");
    e->summary = kept(b, item, "summary");
    if (e->summary.ptr)
        e->summary_type = span_of("text/plain");
    e->content = kept(b, item, "content_html");
    e->content_type = span_of("text/html");
    if (!e->content.ptr) {
        e->content = kept(b, item, "content_text");
        e->content_type = span_of("text/plain");
    }
    if (!e->content.ptr)
        e->content_type = e->content;
    add_authors(b, &b->entry_lists, item);
    add_tags(b, item);
    add_attachments(b, item);
}

/* "https://jsonfeed.org/version/1.1", or only its end. NULL: another kind of JSON. */
static const char *format_of(struct feed_build *b, const struct tl_json *root) {
    AUTO_BUF struct buf room = BUF_INIT;
    struct tl_json items;
    struct tl_span version = xml_trim(text_of(b, root, "version", &room));
    bool has_items = json_get(root, "items", &items) == TL_OK && items.type == TL_JSON_ARRAY;
    bool named = version.len && memmem(version.ptr, version.len, "jsonfeed.org", 12);
    bool short_one = span_eq(version, "1") || span_eq(version, "1.0") || span_eq(version, "1.1");
    if (!named && !(short_one && has_items)) {
        struct tl_json title;
        if (!has_items || version.len || json_get(root, "title", &title) != TL_OK)
            return NULL;
        feed_warn(b, "the version is missing; it was taken for JSON Feed 1.1");
        return "json1.1";
    }
    bool first =
        version.ptr[version.len - 1] == '1' && (version.len < 2 || version.ptr[version.len - 2] != '.'); /* version/1 */
    return first || (version.len > 1 && version.ptr[version.len - 1] == '0') ? "json1.0" : "json1.1";
}
int feed_read_json(struct feed_build *b, struct tl_span utf8) {
    struct tl_json root, items, item = {0};
    struct feed *f = b->out;
    size_t where = 0;
    if (json_valid(utf8, &where) != TL_OK || json_parse(utf8, &root) != TL_OK) {
        snprintf(f->error, sizeof f->error, "the body begins like JSON, but is none from byte %zu on", where);
        return TL_INVALID;
    }
    f->format = root.type == TL_JSON_OBJECT ? format_of(b, &root) : NULL;
    if (!f->format) {
        snprintf(f->error, sizeof f->error, "the body is JSON, but no JSON Feed");
        return TL_INVALID;
    }
    f->title = plain(b, &root, "title");
    f->link = link_of(b, &root, "home_page_url");
    f->description = plain(b, &root, "description");
    f->language = kept(b, &root, "language");
    add_authors(b, &b->feed_lists, &root);
    if (json_get(&root, "items", &items) != TL_OK || items.type != TL_JSON_ARRAY)
        return TL_OK;
    while (json_next(&items, &item) == TL_OK) {
        if (item.type != TL_JSON_OBJECT)
            continue;
        if (!feed_entry_begin(b))
            break;
        add_item(b, &item);
        feed_entry_end(b);
    }
    return TL_OK;
}
