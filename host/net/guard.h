/* guard.h - which addresses may be connected to.
 *
 * The address checked is the address connected to: the check runs on the socket address that libcurl is about to open,
 * on every hop. Private, loopback, link-local, multicast, mapped and other special addresses are refused unless the
 * crawl itself names the host, and the host has not answered from a public address before (pacing.h); cloud metadata
 * addresses always need fetch.private: allow. RFC 6890. */
#ifndef TROTLINE_NET_GUARD_H
#define TROTLINE_NET_GUARD_H
#include <stdbool.h>
#include <sys/socket.h>

#include "trotline.h"

enum guard_class { GUARD_PUBLIC, GUARD_PRIVATE, GUARD_METADATA };
enum guard_class guard_classify(const struct sockaddr *address);
/* Of a host as it stands in a serialised URL: an address, or a name that always means the machine itself; GUARD_PUBLIC
 * for all others, of which nothing is known before they are resolved. */
enum guard_class guard_literal(struct tl_span host);
/* May a connection be opened? named: the crawl names this host literally; all: fetch.private is allow. */
static inline bool guard_allows(enum guard_class c, bool named, bool all) {
    return all || c == GUARD_PUBLIC || (c == GUARD_PRIVATE && named);
}
#endif
