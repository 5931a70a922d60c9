/* pacing.h - how often and how much at once a host is asked: one table in shared memory between a supervisor and its
 * workers.
 *
 * The delay adapts: an answer of 429 or 503 doubles it, up to a minute, and so does an answer that takes far longer
 * than they used to, up to five seconds; every good answer takes an eighth of that back. A start takes a slot of the
 * host (in-flight counts stand in a column per worker, so that a dead worker's can be given back) and the next start
 * time (GCRA, by compare-and-swap). Hosts are known by a hash of "host:port"; two hosts that share a row share its
 * pace, which is slow but safe. Times are monotonic microseconds. */
#ifndef TROTLINE_NET_PACING_H
#define TROTLINE_NET_PACING_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "trotline.h"

enum { PACING_HOSTS = 1024, PACING_WORKERS = 64, PACING_CRAWL_DELAY_MAX = 300000000, PACING_PUBLIC_WORDS = 8192 };
enum pacing_kind { PACING_UNKNOWN, PACING_PUBLIC, PACING_PRIVATE };
struct pacing_host {
    _Atomic uint64_t hash;      /* 0: free */
    _Atomic int64_t next_us;    /* no start before */
    _Atomic int64_t until_us;   /* Retry-After and the like: nothing before */
    _Atomic int64_t latency_us; /* of the last answer */
    _Atomic int64_t crawl_delay_us;
    _Atomic int64_t penalty_us; /* the delay that the host has earned by pushing back; 0: none */
    _Atomic int64_t pushed_us;  /* when it last grew: answers to what was under way then say nothing new */
    _Atomic int64_t mean_us;    /* running mean of the time to the first byte */
    _Atomic int samples;
    _Atomic int kind; /* enum pacing_kind: where the last answer came from */
    _Atomic int in_flight[PACING_WORKERS];
};
struct pacing {
    struct pacing_host host[PACING_HOSTS];
    _Atomic uint64_t was_public[PACING_PUBLIC_WORDS]; /* a filter of names, whatever the port: two bits each */
};
struct pacing_rule {
    int per_host;
    int64_t delay_us; /* -1: auto */
};
/* Hosts that have answered from a public address: one that then moves to a private one is not the host that the crawl
 * named. Never forgotten; of ten thousand, one in a thousand is taken for another. */
void pacing_saw_public(struct pacing *p, struct tl_span host);
bool pacing_was_public(const struct pacing *p, struct tl_span host);
struct pacing_host *pacing_find(struct pacing *p, struct tl_span host_port); /* never NULL */
/* 0: started (pacing_end must follow); else microseconds after which to ask again. */
int64_t pacing_start(struct pacing_host *h, int worker, const struct pacing_rule *rule, int64_t now_us);
enum pacing_verdict { PACING_GOOD, PACING_NEUTRAL, PACING_PUSHED_BACK };
struct pacing_seen {
    int64_t total_us, first_byte_us; /* -1: there was no answer */
    bool private_address;
    enum pacing_verdict verdict;
};
void pacing_end(struct pacing_host *h, int worker, const struct pacing_rule *rule, const struct pacing_seen *seen,
                int64_t now_us);
void pacing_hold(struct pacing_host *h, int64_t until_us);        /* only ever later */
void pacing_crawl_delay(struct pacing_host *h, int64_t delay_us); /* cut to PACING_CRAWL_DELAY_MAX */
int64_t pacing_delay(const struct pacing_host *h,
                     const struct pacing_rule *rule);              /* between two starts, as things stand */
int64_t pacing_pause(const struct pacing_host *h, int64_t now_us); /* until the next start, slots left aside */
int64_t pacing_held(const struct pacing_host *h, int64_t now_us);  /* how long nothing may start at all; 0: it may */
void pacing_forget_worker(struct pacing *p, int worker);           /* a dead worker's slots */
/* How many runs of this host can start within `span_us` from now, at the present pace; and when nothing can start
 * before. */
int64_t pacing_capacity(const struct pacing_host *h, const struct pacing_rule *rule, int64_t now_us, int64_t span_us,
                        int64_t *until_us);
#endif
