/* cookies.h - a jar of cookies: what servers set, and what each request gets back. RFC 6265.
 *
 * Invariant: a cookie goes only to the host that set it, or to hosts below a domain that it named, which is one of its
 * own and no public suffix; what is marked secure only over https. Of RFC 6265bis also: prefixes, no secure cookie
 * from or under http, 400 days at most. The jar is bounded: COOKIES_MAX, COOKIES_PER_DOMAIN; those that were not used
 * for the longest time go first. SameSite and HttpOnly mean nothing here: there is no script, and no page embeds
 * another. Values are secrets: nothing of a jar is ever stored. */
#ifndef TROTLINE_NET_COOKIES_H
#define TROTLINE_NET_COOKIES_H
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "net/url.h"

enum {
    COOKIES_MAX = 3000,
    COOKIES_PER_DOMAIN = 50,
    COOKIES_PER_ANSWER = 50, /* Set-Cookie lines that are looked at */
    COOKIE_PAIR_MAX = 4096,  /* bytes of name and value */
    COOKIE_VALUE_MAX = 1024, /* of an attribute */
    COOKIE_HEADER_MAX = 8000 /* of a Cookie line; what does not fit is not sent */
};
struct cookie {
    const char *name, *value, *domain, *path;
    bool host_only, secure;
    int64_t expires_us; /* wall clock; INT64_MAX: with the crawl. Passed: it is taken back */
};
struct cookies;
struct cookies *cookies_new(void);
void cookies_free(struct cookies *jar); /* NULL: nothing */

/* The value of one Set-Cookie line of an answer of `from`. What it changed, until the next call; NULL: nothing that
 * others need to know. */
const struct cookie *cookies_hear(struct cookies *jar, const struct url *from, struct tl_span line, int64_t now_us);
/* One that another jar of the crawl has heard. TL_INVALID: it cannot be one. */
int cookies_put(struct cookies *jar, const struct cookie *c, int64_t now_us);
/* Appends what a request to `to` gets, as the value of a Cookie line; nothing: no line. */
void cookies_header(struct cookies *jar, const struct url *to, int64_t now_us, struct buf *out);
size_t cookies_count(const struct cookies *jar);
const struct cookie *cookies_at(const struct cookies *jar, size_t i);
#endif
