/* robots.h - robots.txt (RFC 9309) compiled for one agent, with the leniencies of Google's published matcher.
 *
 * Invariant: a struct robots holds only the rules that bind the agent it was compiled for (its own groups merged, else
 * those of
 * `*`), the most specific first, so the first that matches is the verdict. It never changes and is safe to share. A
 * verdict's cost has a bound (ROBOTS_WORK_MAX), whatever the wildcards. */
#ifndef TROTLINE_NET_ROBOTS_H
#define TROTLINE_NET_ROBOTS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "trotline.h"

enum {
    ROBOTS_MAX = 500 * 1024,     /* bytes read of a file; the rest is as if it were not there (RFC 9309 2.5) */
    ROBOTS_LINE_MAX = 16 * 1024, /* bytes read of a line */
    ROBOTS_WORK_MAX =
        16 << 20 /* bytes searched behind wildcards for one verdict; a file that asks for more has said no */
};
struct robots;

/* agent: the product token, or a user agent text of which the part before "/" is the token. Any body gives an answer:
 * an empty or senseless one allows everything. The body may go away afterwards. Returns 0. */
int robots_parse(struct tl_span body, const char *agent, struct robots **out);
void robots_free(struct robots *r); /* NULL: nothing */

/* path_and_query: as sent to the server ("/a?b"), percent-encoded; empty means "/". Nothing is decoded, only the case
 * of escapes is made equal: "%62" is not "b" for the rules, as Google has it. */
bool robots_allowed(const struct robots *r, struct tl_span path_and_query);
/* The path and query of a URL that was not parsed before, by Google's rules; appends. */
void robots_path(struct buf *out, struct tl_span url);

int64_t robots_delay_ms(const struct robots *r); /* Crawl-delay of the agent's groups (the longest named); -1: none */
size_t robots_sitemap_count(const struct robots *r);             /* Sitemap lines bind every agent */
struct tl_span robots_sitemap(const struct robots *r, size_t i); /* as written: it may be relative, or no URL at all */
#endif
