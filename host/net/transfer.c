/* transfer.c - see transfer.h. */
#include "net/transfer.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/times.h"
#include "net/decode.h"
#include "net/guard.h"
#include "net/head.h"
#include "net/tls.h"

const char *const transfer_error_name[] = {"ok",    "resolve", "connect", "tls",  "timeout", "cut",
                                           "guard", "headers", "decode",  "disk", "proxy",   "transfer"};
enum {
    CONNECT_TIMEOUT_MS = 10000,
    LOW_SPEED_S = 30, /* an answer that has begun may not stand still for longer */
    LOW_SPEED = 10,   /* bytes a second: less is standing still */
    IDLE_HANDLES = 64,
    WIRE_SLACK = 65536, /* coded data may be longer than what it stands for by that and a 64th */
    CA_MAX = 4 << 20
};

struct transfer {
    struct transfer_pool *pool;
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
    bool body_began, stale;
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
    int epoll;          /* libcurl's sockets, and the caller's descriptor */
    int extra_fd;       /* that one, -1: none */
    short extra_events; /* what it waits for */
    int64_t timer_us;   /* when libcurl wants to be called; INT64_MAX: not by itself */
    struct transfer *idle;
    size_t idle_count, active;
    struct transfer_setup setup;
    char *user_agent, *proxy, *ca;
    struct buf ca_text;
};

/* Now, since a worker may later be unable to. What cannot be read makes every https request fail, with the file's name. */
static void read_ca(struct transfer_pool *p) {
    char block[16384];
    size_t n;
    AUTO_FCLOSE FILE *f = fopen(p->ca, "re");
    p->ca_text.max = CA_MAX;
    while (f && (n = fread(block, 1, sizeof block, f)) > 0)
        buf_add(&p->ca_text, block, n);
}

/* ---- what libcurl waits for. It is told which sockets are ready, so that a call costs the same however many are open. */

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *known) {
    struct transfer_pool *p = ctx;
    struct epoll_event e = {.events = (what & CURL_POLL_IN ? (unsigned)EPOLLIN : 0) | (what & CURL_POLL_OUT ? (unsigned)EPOLLOUT : 0), .data.fd = fd};
    (void)easy;
    (void)known;
    if (what == CURL_POLL_REMOVE)
        epoll_ctl(p->epoll, EPOLL_CTL_DEL, fd, NULL);
    else if (epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &e) && (errno != EEXIST || epoll_ctl(p->epoll, EPOLL_CTL_MOD, fd, &e)))
        return -1;
    return 0;
}

static int on_timer(CURLM *multi, long ms, void *ctx) {
    struct transfer_pool *p = ctx;
    (void)multi;
    p->timer_us = ms < 0 ? INT64_MAX : time_mono_us() + (int64_t)ms * 1000;
    return 0;
}

static void watch_extra(struct transfer_pool *p, int fd, short events) {
    struct epoll_event e = {.events = (events & POLLIN ? (unsigned)EPOLLIN : 0) | (events & POLLOUT ? (unsigned)EPOLLOUT : 0), .data.fd = fd};
    if (p->extra_fd == fd && p->extra_events == events)
        return;
    if (p->extra_fd >= 0 && p->extra_fd != fd)
        epoll_ctl(p->epoll, EPOLL_CTL_DEL, p->extra_fd, NULL);
    if (fd >= 0 && epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &e))
        epoll_ctl(p->epoll, EPOLL_CTL_MOD, fd, &e);
    p->extra_fd = fd;
    p->extra_events = events;
}

static void call_timer(struct transfer_pool *p) {
    int running;
    if (time_mono_us() < p->timer_us)
        return;
    p->timer_us = INT64_MAX; /* it says anew when */
    curl_multi_socket_action(p->multi, CURL_SOCKET_TIMEOUT, 0, &running);
}

static void wait_for_events(struct transfer_pool *p, int64_t timeout_us) {
    enum { AT_ONCE = 64 };
    struct epoll_event e[AT_ONCE];
    int running;
    int64_t timer = p->timer_us == INT64_MAX ? INT64_MAX : p->timer_us - time_mono_us();
    if (timer < timeout_us)
        timeout_us = timer > 0 ? timer : 0;
    int n = epoll_wait(p->epoll, e, AT_ONCE, (int)((timeout_us + 999) / 1000));
    for (int i = 0; i < n; i++)
        if (e[i].data.fd != p->extra_fd) {
            int how = (e[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) | (e[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                      (e[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
            curl_multi_socket_action(p->multi, e[i].data.fd, how, &running);
        }
}

struct transfer_pool *transfer_pool_new(const struct transfer_setup *setup) {
    if (curl_global_init(CURL_GLOBAL_DEFAULT))
        abort();
    struct transfer_pool *p = mem_alloc(sizeof *p);
    p->setup = *setup;
    p->user_agent = mem_text(setup->user_agent);
    p->proxy = mem_text(setup->proxy);
    p->ca = mem_text(setup->ca);
    if (p->ca)
        read_ca(p);
    if (!(p->multi = curl_multi_init()))
        abort();
    curl_multi_setopt(p->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)setup->max_connections_per_host);
    curl_multi_setopt(p->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)setup->max_connections);
    curl_multi_setopt(p->multi, CURLMOPT_MAXCONNECTS, (long)setup->max_connections);
    curl_multi_setopt(p->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(p->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(p->multi, CURLMOPT_SOCKETDATA, p);
    curl_multi_setopt(p->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(p->multi, CURLMOPT_TIMERDATA, p);
    p->timer_us = INT64_MAX;
    p->extra_fd = -1;
    if ((p->epoll = epoll_create1(EPOLL_CLOEXEC)) < 0)
        abort();
    return p;
}

static void transfer_free(struct transfer *t) {
    curl_slist_free_all(t->list);
    curl_easy_cleanup(t->easy);
    free(t);
}

void transfer_pool_free(struct transfer_pool *p) {
    if (!p)
        return;
    while (p->idle) {
        struct transfer *t = p->idle;
        p->idle = t->next;
        transfer_free(t);
    }
    curl_multi_cleanup(p->multi);
    close(p->epoll);
    buf_free(&p->ca_text);
    free(p->user_agent);
    free(p->proxy);
    free(p->ca);
    free(p->socket);
    free(p);
}

void transfer_result_free(struct transfer_result *r) {
    buf_free(&r->headers);
    buf_free(&r->body);
    buf_free(&r->tls);
}

/* Why a transfer is broken off; the first reason stays. 0 is what libcurl's callbacks return for that. */
TL_PRINTF(3, 4) static size_t break_off(struct transfer *t, enum transfer_error why, const char *fmt, ...) {
    va_list ap;
    if (t->fault != TRANSFER_OK)
        return 0;
    t->fault = why;
    va_start(ap, fmt);
    vsnprintf(t->fault_text, sizeof t->fault_text, fmt, ap);
    va_end(ap);
    return 0;
}

static void describe_tls(struct transfer *t) {
    struct curl_tlssessioninfo *info = NULL;
    if (curl_easy_getinfo(t->easy, CURLINFO_TLS_SSL_PTR, &info) == CURLE_OK && info && info->backend == CURLSSLBACKEND_OPENSSL)
        tls_describe(info->internals, &t->r->tls);
}

static size_t on_header(char *line, size_t size, size_t n, void *ctx) {
    struct transfer *t = ctx;
    if (t->head.bytes == 0 && strncmp(t->q.url, "https:", 6) == 0)
        describe_tls(t);
    return head_line(&t->head, line, size * n) ? break_off(t, TRANSFER_HEADERS, "the answer cannot be trusted: %s", t->head.fault) : size * n;
}

/* The decoded body, up to max_bytes of it. */
static int on_decoded(void *ctx, const char *ptr, size_t len) {
    struct transfer *t = ctx;
    struct transfer_result *r = t->r;
    size_t take = len;
    if (r->body_bytes + (int64_t)len > t->q.max_bytes) {
        take = (size_t)(t->q.max_bytes - r->body_bytes);
        r->truncated = true;
    }
    if (t->q.attach_fd < 0) {
        buf_add(&r->body, ptr, take);
    } else {
        for (size_t at = 0; at < take;) {
            ssize_t w = write(t->q.attach_fd, ptr + at, take - at);
            if (w < 0 && errno == EINTR)
                continue;
            if (w < 0) {
                break_off(t, TRANSFER_DISK, "cannot write the attachment (errno %d)", errno);
                return TL_FAILED;
            }
            at += (size_t)w;
        }
    }
    r->body_bytes += (int64_t)take;
    return r->truncated ? TL_PARTIAL : TL_OK;
}

static int begin_body(struct transfer *t) {
    struct transfer_result *r = t->r;
    AUTO_BUF struct buf codings = BUF_INIT;
    t->body_began = true;
    curl_easy_setopt(t->easy, CURLOPT_LOW_SPEED_TIME, (long)LOW_SPEED_S);
    if (t->head.chunked && t->head.length >= 0)
        curl_easy_setopt(t->easy, CURLOPT_FORBID_REUSE, 1L); /* where this answer ends, others may see otherwise */
    head_list(buf_span(&r->headers), "content-encoding", &codings);
    int rc = codings.len ? decode_new(buf_span(&codings), on_decoded, t, &t->decode) : TL_OK;
    if (rc == TL_INVALID) {
        break_off(t, TRANSFER_DECODE, "the body is coded more than %d times over", DECODE_LAYERS);
        return rc;
    }
    if (rc == TL_UNSUPPORTED)
        snprintf(r->coding, sizeof r->coding, "%s", codings.data);
    if (!t->decode && t->q.attach_fd < 0 && t->head.length > 0 && t->head.length < t->q.max_bytes && t->head.length < 1 << 24)
        buf_reserve(&r->body, (size_t)t->head.length);
    return TL_OK;
}

static size_t on_body(char *ptr, size_t size, size_t n, void *ctx) {
    struct transfer *t = ctx;
    size_t len = size * n;
    if (!t->body_began && begin_body(t))
        return 0;
    t->r->wire_bytes += (int64_t)len;
    if (!t->decode)
        return on_decoded(t, ptr, len) ? 0 : len;
    if (t->r->wire_bytes > t->q.max_bytes + t->q.max_bytes / 64 + WIRE_SLACK)
        return break_off(t, TRANSFER_DECODE, "the body is longer as it is sent than it may be decoded");
    int rc = decode_put(t->decode, ptr, len);
    if (rc == TL_INVALID || rc == TL_REFUSED)
        return break_off(t, TRANSFER_DECODE, "%s", decode_fault(t->decode));
    return rc ? 0 : len;
}

static curl_socket_t on_open(void *ctx, curlsocktype purpose, struct curl_sockaddr *address) {
    struct transfer *t = ctx;
    enum guard_class c = guard_classify(&address->addr);
    if (purpose != CURLSOCKTYPE_IPCXN)
        return CURL_SOCKET_BAD;
    if (!t->pool->proxy && !guard_allows(c, t->q.host_named, t->q.private_allowed)) {
        break_off(t, TRANSFER_GUARD, "the address is private and the crawl does not name this host");
        return CURL_SOCKET_BAD;
    }
    curl_socket_t fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    struct transfer_pool *p = t->pool;
    if (fd < 0)
        return CURL_SOCKET_BAD;
    MEM_GROW(p->socket, p->sockets, p->socket_room);
    p->socket[p->sockets++] = (struct open_socket){fd, 0};
    return fd;
}

static int on_close(void *ctx, curl_socket_t fd) {
    struct transfer_pool *p = ctx;
    for (size_t i = 0; i < p->sockets; i++)
        if (p->socket[i].fd == fd) {
            p->socket[i] = p->socket[--p->sockets];
            break;
        }
    return close(fd);
}

static int local_port_of(curl_socket_t fd) {
    struct sockaddr_storage own;
    socklen_t len = sizeof own;
    uint16_t port = 0;
    if (getsockname(fd, (struct sockaddr *)&own, &len) == 0)
        memcpy(&port, (const char *)&own + offsetof(struct sockaddr_in, sin_port), sizeof port); /* at the same place for IPv6 */
    return ntohs(port);
}

static curl_socket_t socket_of(struct transfer_pool *p, int local_port) {
    for (size_t i = 0; i < p->sockets; i++) {
        struct open_socket *s = &p->socket[i];
        if (!s->local_port)
            s->local_port = local_port_of(s->fd);
        if (s->local_port == local_port)
            return s->fd;
    }
    return CURL_SOCKET_BAD;
}

/* The system's certificates from one file, which libcurl then reads once for all connections; with ours beside them, they are looked up
 * in the system's folder. */
static void set_trust(struct transfer *t) {
    struct transfer_pool *p = t->pool;
    if (!p->ca) {
        curl_easy_setopt(t->easy, CURLOPT_CAPATH, NULL);
    } else if (p->ca_text.len) {
        struct curl_blob blob = {p->ca_text.data, p->ca_text.len, CURL_BLOB_NOCOPY};
        curl_easy_setopt(t->easy, CURLOPT_CAINFO_BLOB, &blob);
    } else {
        curl_easy_setopt(t->easy, CURLOPT_CAINFO, p->ca);
    }
}

/* Just before the request goes out, over a new connection or one that stood. What an HTTP/1.1 server said before it was asked would be
 * taken for the answer: libcurl looks for the end of a connection, not for that. */
static int on_ready(void *ctx, char *remote, char *local, int remote_port, int local_port) {
    struct transfer *t = ctx;
    curl_socket_t s = strncmp(t->q.url, "http:", 5) == 0 ? socket_of(t->pool, local_port) : CURL_SOCKET_BAD;
    char byte;
    (void)remote, (void)local, (void)remote_port;
    if (s == CURL_SOCKET_BAD || recv(s, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0)
        return CURL_PREREQFUNC_OK;
    t->stale = true;
    break_off(t, TRANSFER_CUT, "the connection ended, or spoke, before it was asked anything");
    return CURL_PREREQFUNC_ABORT;
}

static struct transfer *transfer_new(struct transfer_pool *p) {
    struct transfer *t = mem_alloc(sizeof *t);
    t->pool = p;
    if (!(t->easy = curl_easy_init()))
        abort();
    CURL *e = t->easy;
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(e, CURLOPT_USERAGENT, p->user_agent);
    curl_easy_setopt(e, CURLOPT_PROXY, p->proxy ? p->proxy : "");
    curl_easy_setopt(e, CURLOPT_NOPROXY, "");
    curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set_trust(t);
    curl_easy_setopt(e, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(e, CURLOPT_HTTP09_ALLOWED, 0L);
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    curl_easy_setopt(e, CURLOPT_LOW_SPEED_LIMIT, (long)LOW_SPEED);
    curl_easy_setopt(e, CURLOPT_BUFFERSIZE, 32768L); /* libcurl allocates it for each transfer */
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, on_ready);
    curl_easy_setopt(e, CURLOPT_PREREQDATA, t);
    curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_open);
    curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, t);
    curl_easy_setopt(e, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    curl_easy_setopt(e, CURLOPT_CLOSESOCKETDATA, p);
    curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->error);
    curl_easy_setopt(e, CURLOPT_PRIVATE, t);
    return t;
}

static void set_method(struct transfer *t) {
    CURL *e = t->easy;
    const char *method = t->q.method;
    bool head = strcmp(method, "HEAD") == 0, body = t->q.body.len > 0 || strcmp(method, "POST") == 0;
    curl_easy_setopt(e, CURLOPT_HTTPGET, 1L);
    if (head)
        curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
    if (body) {
        curl_easy_setopt(e, CURLOPT_POST, 1L);
        curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->q.body.len);
        curl_easy_setopt(e, CURLOPT_POSTFIELDS, t->q.body.len ? t->q.body.ptr : "");
    }
    curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, head || strcmp(method, "GET") == 0 ? NULL : method);
}

struct transfer *transfer_start(struct transfer_pool *p, const struct transfer_request *q, struct transfer_result *into,
                                void (*done)(void *ctx), void *ctx) {
    struct transfer *t = p->idle;
    if (t) {
        p->idle = t->next;
        p->idle_count--;
    } else {
        t = transfer_new(p);
    }
    t->q = *q;
    t->r = into;
    t->done = done;
    t->ctx = ctx;
    t->fault = TRANSFER_OK;
    t->body_began = t->stale = false;
    t->error[0] = '\0';
    head_begin(&t->head, &into->headers);
    AUTO_BUF struct buf line = BUF_INIT;
    for (size_t i = 0; i < q->header_count; i++) {
        buf_reset(&line);
        /* "Name;" is how libcurl is told to send a header without a value */
        buf_printf(&line, q->header[i].value[0] ? "%s: %s" : "%s;", q->header[i].name, q->header[i].value);
        struct curl_slist *more = curl_slist_append(t->list, line.data);
        if (!more)
            abort();
        t->list = more;
    }
    curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->list);
    curl_easy_setopt(t->easy, CURLOPT_URL, q->url);
    /* Where HTTP/2 may be, the first connection's word is waited for. Without TLS it cannot be, and the wait would last till the first answer. */
    bool multiplex = p->setup.http2 && strncmp(q->url, "https:", 6) == 0;
    curl_easy_setopt(t->easy, CURLOPT_HTTP_VERSION, multiplex ? (long)CURL_HTTP_VERSION_2TLS : (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(t->easy, CURLOPT_PIPEWAIT, multiplex ? 1L : 0L);
    curl_easy_setopt(t->easy, CURLOPT_FRESH_CONNECT, q->fresh ? 1L : 0L);
    curl_easy_setopt(t->easy, CURLOPT_FORBID_REUSE, 0L);
    curl_easy_setopt(t->easy, CURLOPT_LOW_SPEED_TIME, 0L); /* till the body begins: a server may think as long as the time-out lets it */
    curl_easy_setopt(t->easy, CURLOPT_TIMEOUT_MS, (long)(q->timeout_us / 1000 > 0 ? q->timeout_us / 1000 : 1));
    set_method(t);
    if (curl_multi_add_handle(p->multi, t->easy))
        abort();
    p->active++;
    return t;
}

static void park(struct transfer *t) {
    struct transfer_pool *p = t->pool;
    curl_multi_remove_handle(p->multi, t->easy);
    curl_slist_free_all(t->list);
    t->list = NULL;
    decode_free(t->decode);
    t->decode = NULL;
    p->active--;
    if (p->idle_count >= IDLE_HANDLES) {
        transfer_free(t);
        return;
    }
    t->next = p->idle;
    p->idle = t;
    p->idle_count++;
}

void transfer_cancel(struct transfer *t) {
    park(t);
}

static enum transfer_error classify(const struct transfer *t, CURLcode code) {
    long proxy_status = 0;
    switch (code) {
    case CURLE_OK:
        return TRANSFER_OK;
    case CURLE_COULDNT_RESOLVE_HOST:
        return TRANSFER_RESOLVE;
    case CURLE_COULDNT_CONNECT:
        return TRANSFER_CONNECT;
    case CURLE_PROXY:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return TRANSFER_PROXY;
    case CURLE_OPERATION_TIMEDOUT:
        return TRANSFER_TIMEOUT;
    case CURLE_RECV_ERROR:
        if (t->head.bytes == 0 && curl_easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &proxy_status) == CURLE_OK && proxy_status >= 300)
            return TRANSFER_PROXY;
        return TRANSFER_CUT;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return TRANSFER_CUT;
    case CURLE_SSL_CONNECT_ERROR: /* the handshake broke off, or it was refused */
        return strstr(t->error, "SSL_ERROR_SYSCALL") || strstr(t->error, "Connection reset") ? TRANSFER_CONNECT : TRANSFER_TLS;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
        return TRANSFER_TLS;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_OUT_OF_MEMORY: /* our own allocations do not fail: a header line beyond libcurl's maximum */
        return TRANSFER_HEADERS;
    default:
        return TRANSFER_OTHER;
    }
}

static bool has_body(const struct transfer *t) {
    return strcmp(t->q.method, "HEAD") != 0 && t->head.status != 204 && t->head.status != 304;
}

/* What libcurl takes for complete: is it? */
static enum transfer_error check_whole(struct transfer *t) {
    struct transfer_result *r = t->r;
    if (!t->head.ended)
        break_off(t, TRANSFER_CUT, "the answer ends amid its headers");
    else if (!has_body(t))
        return TRANSFER_OK;
    else if (t->head.length >= 0 && t->head.length != r->wire_bytes)
        break_off(t, t->head.chunked ? TRANSFER_HEADERS : TRANSFER_CUT, "Content-Length announces %lld bytes, %lld came", (long long)t->head.length,
                  (long long)r->wire_bytes);
    else if (t->decode && !decode_whole(t->decode))
        break_off(t, TRANSFER_CUT, "the body ends before the end of its compressed data");
    return t->fault;
}

static void set_error(struct transfer *t, CURLcode code) {
    struct transfer_result *r = t->r;
    if (r->truncated && t->fault == TRANSFER_OK)
        return;
    if (code == CURLE_OK) {
        t->fault = TRANSFER_OK; /* one of several addresses was refused by the guard, another was not */
        r->error = check_whole(t);
    } else {
        r->error = t->fault != TRANSFER_OK ? t->fault : classify(t, code);
    }
    if (r->error == TRANSFER_OK)
        return;
    if (r->error == TRANSFER_CUT && r->wire_bytes == 0 && t->head.bytes == 0)
        r->dead = t->stale || r->reused || code == CURLE_SEND_ERROR || code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM;
    if (code == CURLE_OUT_OF_MEMORY && t->head.inside)
        snprintf(r->text, sizeof r->text, "one of its headers is larger than 100 KiB");
    else
        snprintf(r->text, sizeof r->text, "%s", t->fault != TRANSFER_OK ? t->fault_text : t->error[0] ? t->error : curl_easy_strerror(code));
}

static bool is_private(const char *ip) {
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, ip, &in.sin_addr) == 1)
        return guard_classify((const struct sockaddr *)&in) != GUARD_PUBLIC;
    return inet_pton(AF_INET6, ip, &in6.sin6_addr) != 1 || guard_classify((const struct sockaddr *)&in6) != GUARD_PUBLIC;
}

static void read_info(struct transfer *t) {
    struct transfer_result *r = t->r;
    CURL *e = t->easy;
    long n = 0;
    curl_off_t us = 0;
    char *text = NULL;
    if (curl_easy_getinfo(e, CURLINFO_RESPONSE_CODE, &n) == CURLE_OK)
        r->status = (int)n;
    curl_easy_getinfo(e, CURLINFO_HTTP_VERSION, &n);
    r->version = n == CURL_HTTP_VERSION_1_0 ? "1.0" : n == CURL_HTTP_VERSION_2_0 ? "2" : n == CURL_HTTP_VERSION_3 ? "3" : "1.1";
    if (curl_easy_getinfo(e, CURLINFO_PRIMARY_IP, &text) == CURLE_OK && text && *text) {
        curl_easy_getinfo(e, CURLINFO_PRIMARY_PORT, &n);
        snprintf(r->address, sizeof r->address, strchr(text, ':') ? "[%s]:%ld" : "%s:%ld", text, n);
        r->private_address = !t->pool->proxy && is_private(text); /* of a proxy nothing can be concluded */
    }
    curl_easy_getinfo(e, CURLINFO_NUM_CONNECTS, &n);
    r->reused = n == 0;
    static const CURLINFO what[] = {CURLINFO_NAMELOOKUP_TIME_T, CURLINFO_CONNECT_TIME_T, CURLINFO_APPCONNECT_TIME_T,
                                    CURLINFO_STARTTRANSFER_TIME_T, CURLINFO_TOTAL_TIME_T};
    int64_t *where[] = {&r->dns_us, &r->connect_us, &r->tls_us, &r->first_byte_us, &r->total_us};
    for (size_t i = 0; i < COUNT_OF(what); i++)
        if (curl_easy_getinfo(e, what[i], &us) == CURLE_OK)
            *where[i] = us;
}

static void finish(struct transfer *t, CURLcode code) {
    read_info(t);
    set_error(t, code);
    void (*done)(void *) = t->done;
    void *ctx = t->ctx;
    park(t);
    done(ctx);
}

static bool finish_some(struct transfer_pool *p) {
    int left = 0;
    CURLMsg *m;
    bool some = false;
    while ((m = curl_multi_info_read(p->multi, &left)))
        if (m->msg == CURLMSG_DONE) {
            struct transfer *t = NULL;
            curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t);
            some = true;
            finish(t, m->data.result);
        }
    return some;
}

void transfer_poll(struct transfer_pool *p, int extra_fd, short extra_events, int64_t timeout_us) {
    watch_extra(p, extra_fd, extra_events);
    call_timer(p); /* what was started since begins here, too */
    wait_for_events(p, finish_some(p) ? 0 : timeout_us);
    call_timer(p);
    finish_some(p);
}

size_t transfer_count(const struct transfer_pool *p) {
    return p->active;
}
