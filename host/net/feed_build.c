/* feed_build.c - see feed_inside.h. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "net/feed_inside.h"
#include "net/html_token.h"
#include "net/xml.h"

void feed_warn(struct feed_build *b, const char *sentence) {
    for (size_t i = 0; i < b->warning_count; i++)
        if (strcmp(b->warnings[i], sentence) == 0)
            return;
    if (b->warning_count < FEED_WARNINGS_MAX)
        b->warnings[b->warning_count++] = sentence;
}
static void cut(struct feed_build *b, const char *sentence) {
    b->out->truncated = true;
    feed_warn(b, sentence);
}

/* ---- texts ---- */

struct tl_span feed_keep(struct feed_build *b, struct tl_span text) {
    struct tl_span none = {NULL, 0};
    if (text.len > FEED_TEXT_MAX) {
        cut(b, "a text longer than 8 MiB was cut");
        for (text.len = FEED_TEXT_MAX; text.len && ((unsigned char)text.ptr[text.len] & 0xC0) == 0x80;)
            text.len--;
    }
    if (!text.len)
        return none;
    if (text.len > FEED_TOTAL_MAX - b->total) {
        cut(b, "more than 128 MiB of text: the rest was left out");
        return none;
    }
    char *copy = arena_span(b->arena, text);
    if (!copy) {
        b->arena_full = true;
        cut(b, "no more memory is allowed: the rest was left out");
        return none;
    }
    b->total += text.len;
    return (struct tl_span){copy, text.len};
}
static void add_collapsed(struct buf *out, struct tl_span text, bool *gap) {
    for (const char *p = text.ptr, *end = p + text.len; p < end;) {
        const char *from = p;
        while (p < end && (unsigned char)*p > ' ')
            p++;
        if (p > from) {
            if (*gap && out->len)
                buf_char(out, ' ');
            *gap = false;
            buf_add(out, from, (size_t)(p - from));
        }
        for (; p < end && (unsigned char)*p <= ' '; p++)
            *gap = true;
    }
}
static bool looks_like_html(struct tl_span text) {
    const char *end = text.ptr + text.len;
    for (const char *p = text.ptr; p < end; p++) {
        char next = p + 1 < end ? p[1] : ' ';
        bool letter = (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z');
        if (*p == '<' && (letter || next == '/' || next == '!'))
            return memchr(p, '>', (size_t)(end - p)) != NULL || memchr(text.ptr, '&', text.len) != NULL;
        if (*p == '&' && (letter || next == '#'))
            return true;
    }
    return false;
}
static bool is_inline_name(struct tl_span name) { /* elements that the tokenizer does not know by name */
    static const char *const names[] = {"abbr", "acronym", "bdi",  "bdo", "blink", "cite", "data", "del", "dfn",
                                        "ins",  "kbd",     "mark", "q",   "rp",    "rt",   "samp", "wbr"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (xml_same(name, names[i]))
            return true;
    return false;
}
static bool is_block(enum html_tag tag) {
    static const enum html_tag blocks[] = {HTML_BR, HTML_P,  HTML_DIV, HTML_LI, HTML_TD,  HTML_TH,   HTML_TR,
                                           HTML_H1, HTML_H2, HTML_H3,  HTML_H4, HTML_H5,  HTML_H6,   HTML_BLOCKQUOTE,
                                           HTML_DT, HTML_DD, HTML_UL,  HTML_OL, HTML_PRE, HTML_TABLE};
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        if (blocks[i] == tag)
            return true;
    return false;
}
static void add_words(struct buf *out, struct tl_span text, enum feed_text how) {
    struct html_tokenizer t;
    struct html_token token;
    bool gap = false;
    html_token_init(&t, text);
    t.skip_raw = true;
    for (const char *before = t.pos; html_token_next(&t, &token); before = t.pos) {
        bool tag = token.kind == HTML_TAG_START || token.kind == HTML_TAG_END;
        if (token.kind == HTML_TEXT)
            add_collapsed(out, token.text, &gap);
        else if (tag && how == FEED_RSS && token.tag == HTML_OTHER && !is_inline_name(token.text))
            add_collapsed(out, (struct tl_span){before, (size_t)(t.pos - before)}, &gap);
        else if (tag && is_block(token.tag))
            gap = true;
    }
}
struct tl_span feed_plain(struct feed_build *b, struct tl_span text, enum feed_text how) {
    bool gap = false;
    buf_reset(&b->scratch);
    if (!text.len)
        return (struct tl_span){NULL, 0};
    if (how == FEED_PLAIN || (how == FEED_RSS && !looks_like_html(text)))
        add_collapsed(&b->scratch, text, &gap);
    else
        add_words(&b->scratch, text, how);
    return feed_keep(b, buf_span(&b->scratch));
}
struct tl_span feed_url(struct feed_build *b, const struct url *base, struct tl_span ref) {
    struct url u;
    ref = xml_trim(ref);
    if (!ref.len)
        return (struct tl_span){NULL, 0};
    if (url_resolve(&b->href, base, ref, true, &u) != TL_OK) {
        feed_warn(b, "a link that is no URL was left out");
        return (struct tl_span){NULL, 0};
    }
    return feed_keep(b, u.href);
}
void feed_date_set(struct feed_build *b, struct feed_date *date, struct tl_span raw) {
    char text[TIME_TEXT];
    raw = xml_trim(raw);
    *date = (struct feed_date){0};
    if (!raw.len)
        return;
    if (date_parse(raw, &date->us, &date->quality) == TL_OK)
        date->text = feed_keep(b, span_of(date_text(date->us, text)));
    else
        feed_warn(b, "a date could not be read");
    if (raw.len > DATE_MAX)
        for (raw.len = DATE_MAX; raw.len && ((unsigned char)raw.ptr[raw.len] & 0xC0) == 0x80;)
            raw.len--;
    date->raw = feed_keep(b, raw);
}

/* ---- lists ---- */

#define ADD(b, array, count, room, value)                                                                              \
    do {                                                                                                               \
        if ((count) == FEED_LIST_MAX) {                                                                                \
            cut(b, "an entry has more than 256 authors, categories, enclosures or links");                             \
            break;                                                                                                     \
        }                                                                                                              \
        MEM_GROW(array, count, room);                                                                                  \
        (array)[(count)++] = (value);                                                                                  \
    } while (0)

void feed_add_author(struct feed_build *b, struct feed_lists *l, struct tl_span kept) {
    if (kept.ptr)
        ADD(b, l->authors, l->author_count, l->author_room, kept);
}
void feed_add_link(struct feed_build *b, struct feed_lists *l, struct tl_span kept) {
    if (kept.ptr)
        ADD(b, l->links, l->link_count, l->link_room, kept);
}
void feed_add_category(struct feed_build *b, struct feed_lists *l, const struct feed_category *kept) {
    if (kept->term.ptr || kept->label.ptr)
        ADD(b, l->categories, l->category_count, l->category_room, *kept);
}
void feed_add_enclosure(struct feed_build *b, struct feed_lists *l, const struct feed_enclosure *kept) {
    if (kept->url.ptr)
        ADD(b, l->enclosures, l->enclosure_count, l->enclosure_room, *kept);
}
/* A copy in the arena; NULL and *count 0: nothing, or no room. */
static const void *settle(struct feed_build *b, const void *items, size_t size, size_t *count) {
    void *copy = *count ? arena_alloc(b->arena, size * *count) : NULL;
    if (copy)
        memcpy(copy, items, size * *count);
    else if (*count) {
        *count = 0;
        b->arena_full = b->out->truncated = true;
    }
    return copy;
}
static void lists_free(struct feed_lists *l) {
    free(l->authors);
    free(l->links);
    free(l->categories);
    free(l->enclosures);
}

bool feed_entry_begin(struct feed_build *b) {
    if (b->entry_count == FEED_ENTRIES_MAX) {
        cut(b, "more than 10000 entries: the rest was left out");
        return false;
    }
    struct feed_lists *l = &b->entry_lists;
    b->entry = (struct feed_entry){0};
    l->author_count = l->link_count = l->category_count = l->enclosure_count = 0;
    return true;
}
void feed_entry_end(struct feed_build *b) {
    struct feed_lists *l = &b->entry_lists;
    struct feed_entry *e = &b->entry;
    e->author_count = l->author_count;
    e->authors = settle(b, l->authors, sizeof *l->authors, &e->author_count);
    e->link_count = l->link_count;
    e->links = settle(b, l->links, sizeof *l->links, &e->link_count);
    e->category_count = l->category_count;
    e->categories = settle(b, l->categories, sizeof *l->categories, &e->category_count);
    e->enclosure_count = l->enclosure_count;
    e->enclosures = settle(b, l->enclosures, sizeof *l->enclosures, &e->enclosure_count);
    MEM_GROW(b->entries, b->entry_count, b->entry_room);
    b->entries[b->entry_count++] = *e;
}

void feed_finish(struct feed_build *b) {
    struct feed *f = b->out;
    f->author_count = b->feed_lists.author_count;
    f->authors = settle(b, b->feed_lists.authors, sizeof *f->authors, &f->author_count);
    f->entry_count = b->entry_count;
    f->entries = settle(b, b->entries, sizeof *f->entries, &f->entry_count);
    f->warning_count = b->warning_count;
    f->warnings = settle(b, b->warnings, sizeof *b->warnings, &f->warning_count);
    lists_free(&b->feed_lists);
    lists_free(&b->entry_lists);
    free(b->entries);
    buf_free(&b->scratch);
    buf_free(&b->href);
}
