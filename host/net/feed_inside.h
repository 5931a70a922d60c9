/* feed_inside.h - a feed while it is built: what the readers of XML and JSON share.
 *
 * Invariant: texts go into the arena once, through feed_keep, which counts them; lists grow on the heap and are copied
 * when their entry ends. */
#ifndef TROTLINE_NET_FEED_INSIDE_H
#define TROTLINE_NET_FEED_INSIDE_H
#include "base/buf.h"
#include "net/feed.h"
#include "net/url.h"

struct feed_lists {
    struct tl_span *authors, *links;
    struct feed_category *categories;
    struct feed_enclosure *enclosures;
    size_t author_count, author_room, link_count, link_room, category_count, category_room, enclosure_count,
        enclosure_room;
};
struct feed_build {
    struct arena *arena;
    struct feed *out;
    size_t total; /* bytes of texts kept, of at most FEED_TOTAL_MAX */
    bool arena_full;
    const struct url *document; /* NULL: no address */
    struct feed_lists feed_lists, entry_lists;
    struct feed_entry *entries, entry;
    size_t entry_count, entry_room;
    const char *warnings[FEED_WARNINGS_MAX];
    size_t warning_count;
    struct buf scratch, href;
};
enum feed_text { FEED_PLAIN, FEED_HTML, FEED_RSS /* HTML if it looks like it; unknown tags are text */ };

void feed_warn(struct feed_build *b, const char *sentence);          /* constant, or of the arena; each is kept once */
struct tl_span feed_keep(struct feed_build *b, struct tl_span text); /* ptr NULL: empty, or no room */
/* The text as people read it: without markup, white space collapsed. */
struct tl_span feed_plain(struct feed_build *b, struct tl_span text, enum feed_text how);
struct tl_span feed_url(struct feed_build *b, const struct url *base, struct tl_span ref); /* ptr NULL: no URL */
void feed_date_set(struct feed_build *b, struct feed_date *date, struct tl_span raw);

void feed_add_author(struct feed_build *b, struct feed_lists *l, struct tl_span kept);
void feed_add_link(struct feed_build *b, struct feed_lists *l, struct tl_span kept);
void feed_add_category(struct feed_build *b, struct feed_lists *l, const struct feed_category *kept);
void feed_add_enclosure(struct feed_build *b, struct feed_lists *l, const struct feed_enclosure *kept);

/* False: FEED_ENTRIES_MAX is reached. */
bool feed_entry_begin(struct feed_build *b);
void feed_entry_end(struct feed_build *b);
void feed_finish(struct feed_build *b); /* what was collected goes to out; the heap is given back */

/* The readers. They fill b and return as feed_parse does; on TL_INVALID out->error is set. */
int feed_read_xml(struct feed_build *b, struct tl_span utf8);
int feed_read_json(struct feed_build *b, struct tl_span utf8);
#endif
