/* site.h - which hosts are one site: those below one registrable domain, by the public suffix list.
 *
 * An address, or a name that no list knows a registrable domain of, is a site of its own with its port. A shared
 * hoster's customers are sites of their own only as far as the list has the hoster. Source: https://publicsuffix.org/.
 */
#ifndef TROTLINE_NET_SITE_H
#define TROTLINE_NET_SITE_H
#include "net/url.h"

bool site_is_address(struct tl_span host);                 /* a serialised one: IPv4, or IPv6 in brackets */
bool site_is_public_suffix(struct tl_span host);           /* com, co.uk; without a list, everything */
bool site_same_domain(struct tl_span a, struct tl_span b); /* hosts; false where one has no registrable domain */
bool site_same(const struct url *a, const struct url *b);
bool site_same_text(struct tl_span a, struct tl_span b); /* of two canonical texts */
#endif
