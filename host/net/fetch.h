/* fetch.h - the manners of a request: scheme, leash, robots.txt, guard, pacing, redirects by our own hand, retries.
 *
 * fetch_get looks blocking: whatever waits is asked of the environment, which suspends a coroutine or really blocks.
 * One fetcher serves all runs of a worker and holds the robots verdicts of a crawl. Every hop is checked as if it were
 * the first request. */
#ifndef TROTLINE_NET_FETCH_H
#define TROTLINE_NET_FETCH_H
#include "base/arena.h"
#include "base/fail.h"
#include "net/cookies.h"
#include "net/host_rule.h"
#include "net/transfer.h"
#include "trotline.h"

struct fetch_policy {
    const char *user_agent, *from; /* from: NULL or a mail address for the From header */
    int64_t max_redirects;
    struct host_rules rules; /* they live as long as the fetcher */
    bool private_allowed;
};
struct fetch_env {                       /* what waits, and what only the crawl knows */
    void *ctx;                           /* of the run that fetches */
    bool first;                          /* the run has fetched nothing before: it can be put back without loss */
    int (*sleep)(void *ctx, int64_t us); /* TL_OK or TL_CANCEL */
    int (*exchange)(void *ctx, const struct transfer_request *q,
                    struct transfer_result *r); /* TL_OK, whatever became of it, or TL_CANCEL */
    bool (*host_allowed)(void *ctx, struct tl_span host, int port, bool redirected); /* the leash */
    bool (*host_named)(void *ctx, struct tl_span host); /* does the crawl name it literally? (guard.h) */
    const struct tl_secret *(*secret_named)(
        void *ctx, const char *name); /* "Name: Bearer secret:KEY" in a header; NULL: there is none */
    /* What is remembered of robots.txt from earlier crawls, asked once an origin: 1 rules (text), 2 there are none; 0
     * nothing. age_us: since it was read. The text lives until the next call. And what was learned now. All may be
     * NULL. */
    int (*robots_recall)(void *ctx, const char *origin, struct tl_span *text, int64_t *age_us);
    void (*robots_learned)(void *ctx, const char *origin, int robots, struct tl_span text);
    void (*moved)(void *ctx, const char *from, const char *to); /* a lasting redirect: 301, 308 */
    struct cookies *cookies; /* the crawl's jar, for requests that want it (TL_COOKIES); NULL: there is none */
    void (*cookie_heard)(void *ctx, const struct cookie *c); /* news for its other copies; or NULL */
    const char *etag, *last_modified; /* NULL, or conditions of the first hop: If-None-Match, If-Modified-Since */
    /* The value of a secret for an origin, or NULL: it is not bound to it. */
    const char *(*secret)(void *ctx, const struct tl_secret *secret, struct tl_span origin);
};
struct fetcher;
struct fetcher *fetch_new(const struct fetch_policy *policy, struct pacing *pacing, int worker);
void fetch_free(struct fetcher *f);

enum fetch_outcome {
    FETCH_ANSWER,  /* there is a status */
    FETCH_REFUSED, /* `refusal` says by what */
    FETCH_FAILED,  /* no answer after all retries */
    FETCH_LATER,   /* worth another try at `not_before_us` (wall clock); 0: an attempt of the run that failed */
    FETCH_CANCELLED
};
struct fetch_answer {
    enum fetch_outcome outcome;
    const char *refusal; /* hosts, robots, guard, scheme */
    const char *reason;  /* one word: resolve, connect, tls, timeout, cut, ... robots_unreachable, redirects */
    char text[400];      /* a sentence for people */
    int64_t not_before_us;
    struct transfer_result result;    /* of the last hop; owned: fetch_answer_free */
    const struct host_rule *rule;     /* of the last hop; lives as long as the fetcher. NULL: no hop was asked */
    const char *url;                  /* final, in the arena */
    char *media_type, *charset_given; /* from Content-Type, lower case, in the arena; NULL */
    struct tl_span metadata;          /* metadata.http as a JSON object, in the arena */
    struct tl_header *header;         /* of the last hop, in the arena */
    size_t header_count;
    int64_t wire_bytes; /* of all hops and tries, for the leash */
    int requests;
    const char *agent; /* our product token, by which robots are told apart; lives as long as the fetcher; or NULL */
    bool conditional;  /* the last hop was asked on condition: its 304 means what it says */
};
/* q as the collector gave it. The answer is always filled in. Returns 0, or TL_CANCEL. */
int fetch_get(struct fetcher *f, const struct fetch_env *env, const struct tl_request *q, int attach_fd,
              struct arena *arena, struct fetch_answer *a);
void fetch_answer_free(struct fetch_answer *a);
/* The Sitemap lines in robots.txt of a URL's origin, absolute; none where it was not read. TL_FAILED: the arena is
 * full. */
int fetch_sitemaps(struct fetcher *f, const char *url, struct arena *arena, struct tl_list *out);
#endif
