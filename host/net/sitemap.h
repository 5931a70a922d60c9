/* sitemap.h - the page URLs that a sitemap names, and the sitemaps that an index names.
 *
 * Invariant: every URL is absolute, http or https, stands once, and in the order of the document. Reads the protocol of
 * sitemaps.org whatever the namespace says, text with one URL a line, RSS, Atom and JSON Feed (the links of the
 * entries), and all of these as gzip, however they were announced. Images, videos and translations are no pages. */
#ifndef TROTLINE_NET_SITEMAP_H
#define TROTLINE_NET_SITEMAP_H
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "trotline.h"

enum { SITEMAP_URLS_MAX = 50000 }; /* of each kind, as the protocol has it */
struct sitemap {
    const struct tl_span *urls, *sitemaps; /* in the arena */
    size_t url_count, sitemap_count;
    bool repaired;   /* it was no well-formed XML, or the gzip data were damaged */
    bool truncated;  /* more than SITEMAP_URLS_MAX, or no room: the rest is missing */
    char error[256]; /* why it is no sitemap */
};

/* url: the address of the sitemap, the base of relative URLs (which the protocol forbids), or NULL. TL_OK; TL_PARTIAL:
 * the arena is full; TL_INVALID: no sitemap, see error. */
int sitemap_parse(struct arena *arena, struct tl_span body, const char *url, struct sitemap *out);
#endif
