/* link_header.h - Link header fields (RFC 8288): where each link leads, how it relates, what else is said of it.
 *
 * Invariant: never fails on a value, whatever it holds; reading ends at the first thing that is no link, as in the
 * RFC's appendix B.2, and what was read before counts. Targets are absolute and serialised (url.h); a target that is no
 * URL is left out. Everything lives in the arena or points into the value. */
#ifndef TROTLINE_NET_LINK_HEADER_H
#define TROTLINE_NET_LINK_HEADER_H
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "net/url.h"
#include "trotline.h"

enum { LINK_HEADER_LINKS_MAX = 1000, LINK_HEADER_PARAMS_MAX = 32 }; /* a value, a link; what comes after is not read */

struct link_header_param {
    struct tl_span name;  /* lower case; of one name only the first counts */
    struct tl_span value; /* unquoted; of a name that ends in "*" decoded to UTF-8 (RFC 8187); empty: there is none */
};
struct link_header_link {
    struct tl_span url;
    struct tl_span rel;                    /* as written, perhaps several words; ptr NULL: none given */
    const struct link_header_param *param; /* without rel; an "anchor" means that the link is not this resource's */
    size_t param_count;
};
struct link_header {
    const struct link_header_link *link;
    size_t count;
};

/* base: the URL of the response, or NULL: then only absolute targets count. TL_OK; TL_PARTIAL: the arena is full, and
 * links are missing. Several fields of one answer may be joined by commas first, or read one by one. */
int link_header_parse(struct arena *arena, struct tl_span value, const struct url *base, struct link_header *out);

/* The first link of this resource itself with this relation ("next"), case ignored; NULL: none. */
const struct link_header_link *link_header_find(const struct link_header *h, const char *rel);
#endif
