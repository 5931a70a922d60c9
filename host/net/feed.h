/* feed.h - syndication feeds of every kind, as one shape: RSS 0.9x, 1.0 and 2.0, Atom 0.3 and 1.0, JSON Feed 1.x.
 *
 * Invariant: what a feed does not say is absent (ptr NULL), never made up: no date is today's, no id is computed. Texts
 * are valid UTF-8 and live as long as the arena. Elements are told apart by namespace and name, not by prefix. A feed
 * with faults is read; what had to be repaired or left out is among the warnings. */
#ifndef TROTLINE_NET_FEED_H
#define TROTLINE_NET_FEED_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "net/date.h"
#include "trotline.h"

enum {
    FEED_ENTRIES_MAX = 10000,
    FEED_TEXT_MAX = 8 << 20,    /* bytes of one text; a longer one is cut at a character */
    FEED_TOTAL_MAX = 128 << 20, /* bytes of all texts together */
    FEED_LIST_MAX = 256,        /* authors, categories, enclosures or links of one entry */
    FEED_WARNINGS_MAX = 32,
    FEED_ALTERNATES_MAX = 32,
    FEED_BASE_MAX = 4096 /* bytes of a base URL; a longer one is ignored */
};

struct feed_date {
    struct tl_span raw;  /* as found */
    struct tl_span text; /* RFC 3339, UTC; ptr NULL: none, or none that could be read */
    int64_t us;          /* where text is */
    enum date_quality quality;
};
struct feed_category {
    struct tl_span term, scheme, label;
};
struct feed_enclosure {
    struct tl_span url, type;
    int64_t length; /* -1: not said */
};
struct feed_entry {
    struct tl_span id;    /* guid, atom:id, rdf:about, as found */
    bool id_is_permalink; /* RSS: the guid is meant as a URL */
    struct tl_span link;  /* resolved; else the id where that is a permalink */
    struct tl_span title; /* plain text, white space collapsed */
    struct feed_date published, updated;
    struct tl_span summary,
        summary_type; /* as given; text/plain, text/html, application/xhtml+xml or as the feed says */
    struct tl_span content, content_type;
    struct tl_span base; /* of relative links in summary and content, by xml:base; ptr NULL: the document's address */
    struct tl_span comments, language;
    const struct tl_span *authors; /* the name, else the address as given */
    size_t author_count;
    const struct feed_category *categories;
    size_t category_count;
    const struct feed_enclosure *enclosures;
    size_t enclosure_count;
    const struct tl_span *links; /* all alternates, link among them */
    size_t link_count;
};
struct feed_alternate {
    struct tl_span url, type, title;
};
struct feed {
    const char *format;  /* rss0.9x rss1.0 rss2.0 atom0.3 atom1.0 json1.0 json1.1; NULL: no feed */
    const char *charset; /* what it was read as */
    struct tl_span title, link, description, language;
    struct feed_date updated;
    const struct tl_span *authors;
    size_t author_count;
    const struct feed_entry *entries; /* in the order of the document */
    size_t entry_count;
    const char *const *warnings; /* one sentence each */
    size_t warning_count;
    bool truncated;                          /* a cap was reached; a warning says which */
    const struct feed_alternate *alternates; /* of a page: the feeds that it names */
    size_t alternate_count;
    char error[256]; /* why it is no feed */
};

/* body: as fetched, gzip even if nobody said so. url: the document's address, after redirects or by its
 * Content-Location; the last base of relative links, NULL: none. content_type: the header's value, or NULL. TL_OK;
 * TL_PARTIAL: the arena is full, what fits is there; TL_INVALID: no feed, see error and alternates. */
int feed_parse(struct arena *arena, struct tl_span body, const char *url, const char *content_type, struct feed *out);
#endif
