/* html.h - what a page says: its title, what it says of itself, its readable text and its links, in one pass over its
 * tokens.
 *
 * Invariant: never fails on a page, whatever it holds; what does not fit a cap is left out and `truncated` is set.
 * Every text is valid UTF-8 as long as the input is (charset.h sees to that). Spans point into the input or the arena
 * and live as long as both; they are not NUL-ended. Nothing is resolved: references are as found, after decoding,
 * without ASCII white space around them. */
#ifndef TROTLINE_NET_HTML_H
#define TROTLINE_NET_HTML_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "trotline.h"

enum {
    HTML_LINKS_MAX = 200000,          /* a page */
    HTML_TEXT_MAX = 16 * 1024 * 1024, /* bytes of readable text */
    HTML_VALUE_MAX =
        64 * 1024, /* bytes of a reference, as in the input; a longer one is no link: half a URL is another URL */
    HTML_ANCHOR_MAX = 512 /* bytes of a link's text */
};
struct html_options {
    size_t max_links, max_text; /* 0: as above */
    bool no_text;               /* no readable text; links have theirs all the same */
    const char *agent; /* in lower case: a meta of this name speaks to us as one of `robots` does; NULL: trotline */
};
struct html_link {
    struct tl_span ref;
    struct tl_span rel;  /* tokens in lower case, one space between them; empty: none */
    struct tl_span text; /* collapsed; of an area, img or a svg's a: its alt or nothing */
    const char *source;  /* the name of the element, "a" to "video" */
    uint32_t position;   /* 0-based, in the order of the document */
};
struct html_page {
    struct tl_span title, description, language, canonical, og_url, base, refresh; /* ptr NULL: the page has none */
    bool noindex, nofollow; /* by a meta of the name robots, or of ours */
    bool truncated;
    struct buf text; /* blocks on lines of their own, white space collapsed except in pre, at most one blank line */
    const struct html_link *links; /* in the arena */
    size_t link_count;
};

/* options may be NULL. *out is zero, or from an earlier scan whose memory for text is used again. Links: href of a,
 * area and link; src of img, script, iframe, frame, source, video, audio, track and embed; srcset of img and source;
 * poster of video; data of object; action of a form that sends by GET; the target of a refresh by meta. Nothing in a
 * template, comment or script counts; noscript does. An empty reference counts for a and area only. TL_OK; TL_PARTIAL:
 * the arena is full and links are missing. */
int html_scan(struct arena *arena, struct tl_span utf8, const struct html_options *options, struct html_page *out);
void html_page_free(struct html_page *page); /* the text; the rest is the arena's */
#endif
