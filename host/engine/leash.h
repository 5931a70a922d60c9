/* leash.h - what the host refuses: limits, how they tighten, and which hosts are in.
 *
 * Invariant: a leash is only ever tightened on the way down (global, crawl, line, child). Counting is the store's part.
 */
#ifndef TROTLINE_ENGINE_LEASH_H
#define TROTLINE_ENGINE_LEASH_H
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"
#include "trotline.h"

enum { LEASH_DEPTH_MAX = 999, LEASH_HOSTS_MAX = 100000 };
enum { /* which keys were given; in the order in which they are written */
       LEASH_DEPTH = 1u,
       LEASH_FANOUT = 2u,
       LEASH_RUNS = 4u,
       LEASH_BYTES = 8u,
       LEASH_TIME = 16u,
       LEASH_HOSTS = 32u,
       LEASH_ALL = 63u
};
struct leash {
    int64_t depth, fanout, runs, bytes, time_us; /* INT64_MAX: none (depth never) */
    char **host;                                 /* patterns in canonical form (url_host_pattern), sorted; malloc'ed */
    size_t host_count;
    bool hosts_set; /* false: nothing was said about hosts */
};
void leash_init(struct leash *l);     /* no limits but depth LEASH_DEPTH_MAX, hosts not set */
void leash_defaults(struct leash *l); /* depth 3, fanout 1000, runs 10000, bytes 10GiB, time 24h */
void leash_free(struct leash *l);
void leash_copy(struct leash *to, const struct leash *from);
/* child := the tightest of both limits; hosts are not merged (every leash of a chain is asked). */
void leash_tighten(struct leash *child, const struct leash *parent);
int leash_add_host(struct leash *l, const char *pattern, struct fail *why); /* duplicates are dropped */
bool leash_has_host(const struct leash *l, struct tl_span host, int port);  /* hosts not set: true */
/* {"depth":3,"fanout":1000,"runs":10000,"bytes":...,"time":3600,"hosts":[...]}; a limit that is none is null; hosts
 * null: not set. time in seconds as a JSON number with fraction if needed. Keys in this order. */
void leash_json(struct buf *out, const struct leash *l);
void leash_words(struct buf *out, const struct leash *l); /* the same for people: depth 3, runs 200, time 1h00m */
void leash_json_given(struct buf *out, const struct leash *l,
                      unsigned given); /* the same of some keys only: LEASH_DEPTH | ... */
/* The same form, or a child's {"depth":2,"hosts":["*"]}: missing keys leave `l` as it is; numbers, "64KiB", "90s" and
 * "none" are understood. Unknown and repeated keys, a depth of none, a time of 0, more than 1000 hosts: TL_INVALID, and
 * `l` is as it was. */
int leash_from_json(struct leash *l, struct tl_span json, struct fail *why);
#endif
