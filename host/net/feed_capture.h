/* feed_capture.h - the content of one element as one text, whatever way a feed has put markup into it.
 *
 * Invariant: the text is either what stood there (plain, or HTML that was escaped) or markup written out again; `type`
 * says which. It never grows beyond FEED_TEXT_MAX, and ends at a character. */
#ifndef TROTLINE_NET_FEED_CAPTURE_H
#define TROTLINE_NET_FEED_CAPTURE_H
#include "net/feed_fields.h"

enum { FEED_TYPE_MAX = 100 };
struct feed_capture {
    const struct feed_rule *rule;
    struct buf text;
    size_t depth;  /* open elements inside */
    bool markup;   /* text is escaped */
    bool child;    /* there was an element inside */
    bool unclosed; /* the last start tag lacks its end */
    bool base64;
    bool wrapped;                /* all of it is in one div, which is no part of the content (RFC 4287, 3.1.1.3) */
    size_t inner_from, inner_to; /* what is inside of it */
    char type[FEED_TYPE_MAX];    /* text/plain, text/html, application/xhtml+xml, or as the feed says */
};
void feed_capture_begin(struct feed_capture *c, const struct feed_rule *rule, const struct xml_element *e);
void feed_capture_start(struct feed_capture *c, const struct xml_element *e);
void feed_capture_end(struct feed_capture *c, const struct xml_element *e);
void feed_capture_text(struct feed_capture *c, struct tl_span text);
/* The text without white space around it; lives until the next beginning. */
struct tl_span feed_capture_result(struct feed_capture *c);
#endif
