/* url.h - URLs as the WHATWG standard reads and writes them, and the two identities we give them.
 *
 * Invariant: a parsed URL is one serialised text (`href`) and spans into it, so whatever was accepted is already in its
 * final form, is ASCII, and is at most URL_MAX bytes. Everything is reentrant; the caller owns the buffers. The text of
 * `base` must not be in the buffer that receives the result. Input is bytes meant to be UTF-8: an invalid sequence is
 * read as U+FFFD, as browsers do. TL_INVALID is the only refusal, and nothing in `out` may be used after it. Source:
 * https://url.spec.whatwg.org/, UTS 46. */
#ifndef TROTLINE_NET_URL_H
#define TROTLINE_NET_URL_H
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "trotline.h"

enum { URL_MAX = 64 * 1024 };   /* bytes of an input, and of a result */
enum { URL_RULES_VERSION = 1 }; /* of url_canonical; another version gives other identities */

/* Spans live in the buffer given to url_parse and die when it changes. */
struct url {
    struct tl_span href;
    struct tl_span scheme; /* lower case, without ':' */
    struct tl_span username, password, host, path, query,
        fragment;                           /* as serialised, without their marks; IPv6 with brackets */
    int port;                               /* -1: none written (the default, or no port at all) */
    bool special;                           /* http, https, ws, wss, ftp, file */
    bool has_host, has_query, has_fragment; /* there, though perhaps empty */
    bool opaque_path;                       /* mailto:, data:, javascript: nothing resolves against it */
};

/* base: NULL, or what a relative `input` is resolved against. Empties href first. */
int url_parse(struct buf *href, struct tl_span input, const struct url *base, struct url *out);
/* The same, with the choice to leave the fragment away. */
int url_resolve(struct buf *href, const struct url *base, struct tl_span ref, bool keep_fragment, struct url *out);
/* url_resolve without its short cuts: always the same answer. Tests compare the two. */
int url_resolve_slow(struct buf *href, const struct url *base, struct tl_span ref, bool keep_fragment, struct url *out);
/* The short cuts: false when the case is not a plain one, and then nothing is said about it. */
bool url_resolve_fast(struct buf *href, const struct url *base, struct tl_span ref, bool keep_fragment,
                      struct url *out);

int url_effective_port(const struct url *u); /* the port written, or the scheme's; -1: the scheme has none */
void url_origin(struct buf *out,
                const struct url *u); /* appends "https://host[:port]", or "null" where there is no origin */

/* Appends the serialised host: lower case, IDNA A-labels, IPv4 and IPv6 in their one form. special: a domain or an
 * address; else an opaque host. */
int url_host(struct buf *out, struct tl_span text, bool special);
/* Leash patterns: `example.org`, `*.example.org` (which includes example.org), `*`, each perhaps with `:port`;
 * `[::1]:8080`. url_host_pattern appends the form that url_host_matches takes, once per pattern; it refuses what can
 * match nothing. */
int url_host_pattern(struct buf *out, const char *text);
bool url_host_matches(const char *pattern, struct tl_span host,
                      int port); /* host as in struct url, port: the effective one */

/* Identity, rules version 1: http and https only; appends the serialisation without fragment, user information and an
 * empty query, escapes of unreserved characters undone and the others in upper case. Its own result is a fixed point.
 */
int url_canonical(struct buf *out, struct tl_span url);
/* The key of efixler/scrape: bits 0 to 55 FNV-1a-64 of the text, xor-folded; 56 to 62 the byte sum of its host modulo
 * 128; 63 zero. `url` is a canonical or a cleaned text. Keys may collide: the text decides. */
uint64_t url_key(struct tl_span url);
/* scrape's level-1 cleaning, with the habits of Go's net/url 1.19 (sorted query, utm_* dropped). Not for our own
 * identities. */
int url_clean(struct buf *out, struct tl_span url);
#endif
