/* feed_write.c - see feed_write.h. */
#include "net/feed_write.h"

static void put_span(struct json_writer *w, const char *key, struct tl_span text) {
    if (text.ptr)
        json_member_span(w, key, text);
    else
        json_member_null(w, key);
}

static void put_categories(struct json_writer *w, const struct feed_entry *e) {
    json_put_key(w, "categories");
    json_array_begin(w);
    for (size_t i = 0; i < e->category_count; i++) {
        json_object_begin(w);
        put_span(w, "term", e->categories[i].term);
        put_span(w, "scheme", e->categories[i].scheme);
        put_span(w, "label", e->categories[i].label);
        json_object_end(w);
    }
    json_array_end(w);
}

static void put_enclosures(struct json_writer *w, const struct feed_entry *e) {
    json_put_key(w, "enclosures");
    json_array_begin(w);
    for (size_t i = 0; i < e->enclosure_count; i++) {
        json_object_begin(w);
        put_span(w, "url", e->enclosures[i].url);
        put_span(w, "type", e->enclosures[i].type);
        if (e->enclosures[i].length >= 0)
            json_member_int(w, "length", e->enclosures[i].length);
        else
            json_member_null(w, "length");
        json_object_end(w);
    }
    json_array_end(w);
}

/* "published": the date in UTC or null, "published_raw": as found, "published_quality": null where it says nothing. */
static void put_date(struct json_writer *w, const char *const keys[3], const struct feed_date *d) {
    put_span(w, keys[0], d->text);
    put_span(w, keys[1], d->raw);
    json_member_string(w, keys[2], d->text.ptr ? date_quality_name(d->quality) : NULL);
}

static void put_entry(struct json_writer *w, const struct feed_entry *e, const struct feed_identity *identity) {
    static const char *const published[3] = {"published", "published_raw", "published_quality"};
    static const char *const updated[3] = {"updated", "updated_raw", "updated_quality"};
    json_object_begin(w);
    put_span(w, "id", e->id);
    json_member_bool(w, "id_is_permalink", e->id_is_permalink);
    put_span(w, "link", e->link);
    json_member_spans(w, "links", e->links, e->link_count);
    put_span(w, "title", e->title);
    put_date(w, published, &e->published);
    put_date(w, updated, &e->updated);
    put_span(w, "summary", e->summary);
    put_span(w, "summary_type", e->summary_type);
    put_span(w, "content", e->content);
    put_span(w, "content_type", e->content_type);
    json_member_spans(w, "authors", e->authors, e->author_count);
    put_categories(w, e);
    put_enclosures(w, e);
    put_span(w, "comments", e->comments);
    put_span(w, "language", e->language);
    put_span(w, "base", e->base);
    if (identity) {
        json_member_span(w, "identity", identity->text);
        json_member_string(w, "identity_rung", feed_rung_name(identity->rung));
        json_member_bool(w, "doubled", identity->doubled);
    }
    json_object_end(w);
}

static void put_alternates(struct json_writer *w, const struct feed *f) {
    json_put_key(w, "alternates");
    json_array_begin(w);
    for (size_t i = 0; i < f->alternate_count; i++) {
        json_object_begin(w);
        put_span(w, "url", f->alternates[i].url);
        put_span(w, "type", f->alternates[i].type);
        put_span(w, "title", f->alternates[i].title);
        json_object_end(w);
    }
    json_array_end(w);
}

void feed_write(struct json_writer *w, const struct feed *f, const struct feed_identity *identity) {
    static const char *const updated[3] = {"updated", "updated_raw", "updated_quality"};
    json_member_string(w, "format", f->format);
    json_member_string(w, "charset", f->charset);
    put_span(w, "title", f->title);
    put_span(w, "link", f->link);
    put_span(w, "description", f->description);
    put_span(w, "language", f->language);
    put_date(w, updated, &f->updated);
    json_member_spans(w, "authors", f->authors, f->author_count);
    json_put_key(w, "entries");
    json_array_begin(w);
    for (size_t i = 0; i < f->entry_count; i++)
        put_entry(w, &f->entries[i], identity ? &identity[i] : NULL);
    json_array_end(w);
    put_alternates(w, f);
    json_put_key(w, "warnings");
    json_array_begin(w);
    for (size_t i = 0; i < f->warning_count; i++)
        json_put_text(w, f->warnings[i]);
    json_array_end(w);
    if (f->truncated)
        json_member_bool(w, "truncated", true);
}
