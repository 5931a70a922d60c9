/* fetch_inside.h - what fetch.c, fetch_ask.c, fetch_redirect.c and fetch_metadata.c share: one fetch under way. */
#ifndef TROTLINE_NET_FETCH_INSIDE_H
#define TROTLINE_NET_FETCH_INSIDE_H
#include "base/json_write.h"
#include "net/fetch.h"
#include "net/url.h"

struct fetch_robots;
struct fetcher {
    struct fetch_policy policy;
    struct pacing *pacing;
    int worker;
    char *user_agent, *from, *agent;
    struct fetch_robots *robots;
    uint64_t jitter;
};

/* The request as it stands at this hop. */
struct exchange {
    struct fetcher *f;
    const struct fetch_env *env;
    const struct tl_request *q;
    struct arena *arena;
    struct fetch_answer *a;
    struct buf href;
    struct url url;
    const struct host_rule *rule; /* of this hop's host */
    char host_port[300];
    struct cookies *cookies; /* NULL: none are sent or kept */
    const char *method, *first_origin;
    struct tl_span body;
    int attach_fd;
    int64_t attach_base; /* where this body begins in it */
    bool asked_robots;   /* for this fetch: put back now, it would ask for robots.txt again, and never come further */
    bool left_origin;    /* it has been sent elsewhere: what was configured for the first origin is sent no more */
    struct json_writer chain;
    struct buf chain_text;
    struct buf hop;     /* "METHOD URL COOKIES\n" of this one, as it was asked */
    struct buf visited; /* of those before */
    struct buf sent;    /* request headers of the last hop as JSON */
    int64_t struck;     /* places in answers where a credential stood */
};

/* What the collector asks for, as far as the host's rule goes. */
int64_t fetch_timeout_us(const struct exchange *x);
int64_t fetch_max_bytes(const struct exchange *x);
int fetch_refuse(struct exchange *x, const char *by, const char *sentence, const char *what);
TL_PRINTF(3, 4) int fetch_fail(struct exchange *x, const char *reason, const char *fmt, ...);
const char *fetch_header(const struct fetch_answer *a, const char *name);

/* fetch_ask.c: one hop, through pacing and retries; the answer in a->result, its headers in a->header. TL_RETRY: put
 * back. */
struct pacing_host *fetch_pace_row(struct exchange *x);
int fetch_ask(struct exchange *x);
void fetch_add_hop(struct exchange *x, struct buf *out); /* what is asked as things stand, for `hop` */
/* The same without what the collector wants: for robots.txt. max_bytes of it, in memory. */
int fetch_ask_plainly(struct exchange *x, int64_t max_bytes);

/* fetch_redirect.c. TL_OK: go on with the new URL; TL_NOTFOUND: this was the last hop. */
bool fetch_is_redirect(int status);
int fetch_follow(struct exchange *x, int64_t hops);
/* Replaces the URL by one that is given, without user information and fragment. TL_INVALID: it is none. */
int fetch_set_url(struct exchange *x, struct tl_span ref, const struct url *base);

/* fetch_secret.c. The URL and the body as they go over the wire; empty where they are those of the exchange. */
int fetch_wire(struct exchange *x, struct buf *url, struct buf *form);
void fetch_strike(struct exchange *x); /* TL_STRIKE: in the answer's headers and its body in memory */

/* fetch_metadata.c */
void fetch_add_header(struct json_writer *w, const char *name, const char *value);
int fetch_split_headers(struct exchange *x);
void fetch_read_content_type(struct exchange *x);
int fetch_write_metadata(struct exchange *x, const char *requested);
#endif
