/* transfer_inside.h - what transfer.c and transfer_answer.c share: a transfer and the pool that it belongs to. */
#ifndef TROTLINE_NET_TRANSFER_INSIDE_H
#define TROTLINE_NET_TRANSFER_INSIDE_H
#include <curl/curl.h>

#include "net/decode.h"
#include "net/head.h"
#include "net/transfer.h"

struct transfer_route { /* what handles are set up for once: a host rule, with the files that it names */
    const struct host_rule *rule;
    struct buf ca, cert, key; /* empty: there is none, or it cannot be read */
    struct transfer *idle;
    size_t idle_count;
};
struct transfer {
    struct transfer_pool *pool;
    struct transfer_route *route;
    CURL *easy;
    struct curl_slist *list;
    struct transfer_request q;
    struct transfer_result *r;
    void (*done)(void *ctx);
    void *ctx;
    char error[CURL_ERROR_SIZE];
    enum transfer_error fault; /* why we broke it off, and in words */
    char fault_text[200];
    struct head head;
    bool body_began, stale, tried_public;
    struct decode *decode;
    struct transfer *next;
};
struct open_socket {
    curl_socket_t fd;
    int local_port; /* 0: not looked up yet */
};
struct transfer_pool {
    CURLM *multi;
    struct open_socket *socket; /* of all connections, in no order: libcurl names the one in use by its ports only */
    size_t sockets, socket_room;
    int epoll;                    /* libcurl's sockets, and the caller's descriptor */
    int extra_fd;                 /* that one, -1: none */
    short extra_events;           /* what it waits for */
    int64_t timer_us;             /* when libcurl wants to be called; INT64_MAX: not by itself */
    struct transfer_route *route; /* one for each rule, in their order */
    size_t active;
    struct transfer_setup setup;
    char *user_agent;
};

/* transfer_answer.c. Why a transfer is broken off; the first reason stays. 0 is what libcurl's callbacks return for
 * that. */
TL_PRINTF(3, 4) size_t transfer_break_off(struct transfer *t, enum transfer_error why, const char *fmt, ...);
size_t transfer_on_header(char *line, size_t size, size_t n, void *transfer); /* CURLOPT_HEADERFUNCTION */
size_t transfer_on_body(char *ptr, size_t size, size_t n, void *transfer);    /* CURLOPT_WRITEFUNCTION */
void transfer_judge(struct transfer *t, CURLcode code); /* fills the result when libcurl is done */
#endif
