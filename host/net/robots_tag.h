/* robots_tag.h - what X-Robots-Tag lines of an answer say to us.
 *
 * A line is a list of rules; "NAME: rule, rule" speaks to that robot alone, up to the next name or the end of the line.
 * Only rules without a name count, and those for `robots`, `*` or our own product token. Source: Google's
 * specification of the header, which has no RFC; names are compared as in robots.txt, without case. */
#ifndef TROTLINE_NET_ROBOTS_TAG_H
#define TROTLINE_NET_ROBOTS_TAG_H
#include <stdbool.h>

#include "base/buf.h"
#include "trotline.h"

struct robots_tag {
    bool noindex, nofollow;
};
/* Adds what one line's value says to the agent (a product token). Any value is understood: what is no rule says
 * nothing. */
void robots_tag_add(struct robots_tag *tag, struct tl_span value, const char *agent);
/* The product token of a User-Agent: what stands before the first slash or space, in lower case; appends. */
void robots_tag_agent(struct buf *out, const char *user_agent);
#endif
