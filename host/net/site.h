/* site.h - which hosts are one site: those below one registrable domain, by the public suffix list.
 *
 * An address, or a name that no list knows a registrable domain of, is a site of its own with its port. A shared
 * hoster's customers are sites of their own only as far as the list has the hoster. Source: https://publicsuffix.org/.
 */
#ifndef TROTLINE_NET_SITE_H
#define TROTLINE_NET_SITE_H
#include "net/url.h"

bool site_same(const struct url *a, const struct url *b);
bool site_same_text(struct tl_span a, struct tl_span b); /* of two canonical texts */
#endif
