/* fetch_robots.h - robots.txt verdicts of the origins that a worker meets, remembered for the crawl. RFC 9309.
 *
 * 2xx: its rules hold; 4xx: everything is allowed; 5xx or no answer: nothing is, and the reason is kept; that verdict
 * is asked for anew after half a minute, the others after a day. */
#ifndef TROTLINE_NET_FETCH_ROBOTS_H
#define TROTLINE_NET_FETCH_ROBOTS_H
#include "net/transfer.h"
#include "net/url.h"

enum { FETCH_ROBOTS_MAX = 500 * 1024 };
struct fetch_robots;
struct robots;
struct fetch_robots_entry;
enum fetch_robots_state { FETCH_ROBOTS_UNKNOWN, FETCH_ROBOTS_UNDER_WAY, FETCH_ROBOTS_KNOWN };
enum fetch_robots_verdict {
    FETCH_ROBOTS_ALLOWED,
    FETCH_ROBOTS_FORBIDDEN,
    FETCH_ROBOTS_UNREACHABLE,
    FETCH_ROBOTS_GUARDED /* the address may not be asked at all */,
    FETCH_ROBOTS_UNTRUSTED /* its certificate is refused */
};

struct fetch_robots *fetch_robots_new(const char *agent); /* the product token */
void fetch_robots_free(struct fetch_robots *r);
struct fetch_robots_entry *fetch_robots_of(struct fetch_robots *r,
                                           struct tl_span origin); /* never NULL, lives as long as r */
enum fetch_robots_state fetch_robots_state(struct fetch_robots_entry *e, int64_t now_us);
void fetch_robots_begin(struct fetch_robots_entry *e);
void fetch_robots_give_up(struct fetch_robots_entry *e);                                /* unknown again */
void fetch_robots_learn(struct fetch_robots_entry *e, const struct transfer_result *r); /* known now */
/* Known from an earlier crawl; with rules (or without: none), for what is left of their day. */
void fetch_robots_remember(struct fetch_robots_entry *e, bool rules, struct tl_span text, int64_t left_us);
const struct robots *fetch_robots_rules(const struct fetch_robots_entry *e); /* NULL: there are none, or not yet */
int64_t fetch_robots_delay_us(const struct fetch_robots_entry *e);           /* Crawl-delay; -1: none */
enum fetch_robots_verdict fetch_robots_verdict(const struct fetch_robots_entry *e, const struct url *url,
                                               const char **why);
#endif
