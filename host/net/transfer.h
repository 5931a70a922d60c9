/* transfer.h - one exchange with a server by libcurl's multi interface: bytes out, bytes in, and how it went.
 *
 * Knows connections, time-outs and size caps; knows nothing of robots, redirects, retries or pacing (fetch.h). All
 * transfers of a worker share one pool: keep-alive connections, DNS and TLS sessions. Callbacks only collect; `done` is
 * called from transfer_poll, outside libcurl. TRANSFER_OK means an answer whose body is complete, or cut by us at
 * max_bytes (`truncated`): heads are read by head.h, codings undone by decode.h, both of which see what libcurl lets
 * pass. */
#ifndef TROTLINE_NET_TRANSFER_H
#define TROTLINE_NET_TRANSFER_H
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "net/host_rule.h"
#include "trotline.h"

struct transfer_pool;
struct transfer;
struct transfer_setup {
    const char *user_agent;
    struct host_rules rules; /* they live as long as the pool; the files that they name are read at once */
    int max_connections_per_host, max_connections;
};
struct transfer_pool *transfer_pool_new(const struct transfer_setup *setup);
void transfer_pool_free(struct transfer_pool *p);

struct transfer_header {
    const char *name, *value;
};
struct transfer_request {
    const char *method, *url;
    const struct transfer_header *header;
    size_t header_count;
    struct tl_span body;
    int64_t timeout_us, max_bytes;    /* of the body after decoding */
    int64_t attach_base;              /* what is in that file before the body */
    int attach_fd;                    /* -1: the body goes into memory */
    bool host_named, private_allowed; /* guard.h */
    bool fresh;                       /* over a connection of its own */
    const struct host_rule *rule;     /* one of the pool's */
};
enum transfer_error {
    TRANSFER_OK,
    TRANSFER_RESOLVE,
    TRANSFER_CONNECT,
    TRANSFER_TLS,
    TRANSFER_TIMEOUT,
    TRANSFER_CUT, /* the answer broke off */
    TRANSFER_GUARD,
    TRANSFER_HEADERS,
    /* too large, malformed, contradictory */ TRANSFER_DECODE,
    TRANSFER_DISK,
    TRANSFER_PROXY,
    TRANSFER_OTHER
};
extern const char *const transfer_error_name[];
struct transfer_result {
    enum transfer_error error;
    char text[256];      /* of the error */
    int status;          /* 0: no answer */
    const char *version; /* "1.1", "2" */
    char address[64];    /* "127.0.0.1:8080"; of the proxy, if there is one */
    bool private_address, reused, truncated;
    bool dead;          /* with TRANSFER_CUT: a connection that stood before ended without one byte of an answer */
    struct buf headers; /* header lines of the last answer, each "Name: value\n", the status line not included */
    struct buf body;
    int64_t body_bytes, wire_bytes; /* of the body: as stored, as sent */
    char coding[64];                /* a Content-Encoding that is not known here: the body is as it came; or "" */
    int64_t dns_us, connect_us, tls_us, first_byte_us, total_us; /* since the start, as libcurl counts them */
    struct buf tls;                                              /* tls.h; empty: none */
};
void transfer_result_free(struct transfer_result *r);
/* Texts of the request must live until done is called or the transfer is cancelled. */
struct transfer *transfer_start(struct transfer_pool *p, const struct transfer_request *q, struct transfer_result *into,
                                void (*done)(void *ctx), void *ctx);
void transfer_cancel(struct transfer *t); /* done is not called */
/* Waits for network, the extra descriptor (or -1) or the time-out, and finishes what is finished. */
void transfer_poll(struct transfer_pool *p, int extra_fd, short extra_events, int64_t timeout_us);
size_t transfer_count(const struct transfer_pool *p);
#endif
