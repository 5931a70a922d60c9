/* transfer.c - see transfer.h. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/times.h"
#include "net/guard.h"
#include "net/transfer_inside.h"

enum {
    CONNECT_TIMEOUT_MS = 10000,
    LOW_SPEED = 10, /* bytes a second: less is standing still */
    IDLE_HANDLES = 64,
    PEM_MAX = 4 << 20
};

/* Now, since a worker may later be unable to. What cannot be read makes every https request fail, with the file's name.
 */
static void read_file(const char *path, struct buf *out) {
    char block[16384];
    size_t n;
    if (!path)
        return;
    AUTO_FCLOSE FILE *f = fopen(path, "re");
    out->max = PEM_MAX;
    while (f && (n = fread(block, 1, sizeof block, f)) > 0)
        buf_add(out, block, n);
    explicit_bzero(block, sizeof block);
}

static void open_routes(struct transfer_pool *p) {
    const struct host_rules *rules = &p->setup.rules;
    p->route = mem_array(NULL, rules->count, sizeof *p->route);
    memset(p->route, 0, rules->count * sizeof *p->route);
    for (size_t i = 0; i < rules->count; i++) {
        struct transfer_route *r = &p->route[i];
        r->rule = &rules->item[i];
        read_file(r->rule->ca, &r->ca);
        read_file(r->rule->cert, &r->cert);
        read_file(r->rule->key, &r->key);
    }
}

/* ---- what libcurl waits for. It is told which sockets are ready, so that a call costs the same however many are open.
 */

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *known) {
    struct transfer_pool *p = ctx;
    struct epoll_event e = {.events = (what & CURL_POLL_IN ? (unsigned)EPOLLIN : 0) |
                                      (what & CURL_POLL_OUT ? (unsigned)EPOLLOUT : 0),
                            .data.fd = fd};
    (void)easy;
    (void)known;
    if (what == CURL_POLL_REMOVE)
        epoll_ctl(p->epoll, EPOLL_CTL_DEL, fd, NULL);
    else if (epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &e) &&
             (errno != EEXIST || epoll_ctl(p->epoll, EPOLL_CTL_MOD, fd, &e)))
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
    struct epoll_event e = {.events =
                                (events & POLLIN ? (unsigned)EPOLLIN : 0) | (events & POLLOUT ? (unsigned)EPOLLOUT : 0),
                            .data.fd = fd};
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
    open_routes(p);
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

static void close_route(struct transfer_route *r) {
    while (r->idle) {
        struct transfer *t = r->idle;
        r->idle = t->next;
        transfer_free(t);
    }
    if (r->key.len)
        explicit_bzero(r->key.data, r->key.len);
    buf_free(&r->ca);
    buf_free(&r->cert);
    buf_free(&r->key);
}

void transfer_pool_free(struct transfer_pool *p) {
    if (!p)
        return;
    for (size_t i = 0; i < p->setup.rules.count; i++)
        close_route(&p->route[i]);
    free(p->route);
    curl_multi_cleanup(p->multi);
    close(p->epoll);
    free(p->user_agent);
    free(p->socket);
    free(p);
}

static curl_socket_t on_open(void *ctx, curlsocktype purpose, struct curl_sockaddr *address) {
    struct transfer *t = ctx;
    enum guard_class c = guard_classify(&address->addr);
    if (purpose != CURLSOCKTYPE_IPCXN)
        return CURL_SOCKET_BAD;
    /* A name with public and private addresses at once is as one that moves. */
    if (!t->route->rule->proxy && !guard_allows(c, t->q.host_named && !t->tried_public, t->q.private_allowed)) {
        transfer_break_off(t, TRANSFER_GUARD, "the address is private and the crawl does not name this host");
        return CURL_SOCKET_BAD;
    }
    t->tried_public = t->tried_public || c == GUARD_PUBLIC;
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
        memcpy(&port, (const char *)&own + offsetof(struct sockaddr_in, sin_port),
               sizeof port); /* at the same place for IPv6 */
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

static void set_blob(struct transfer *t, CURLoption option, const struct buf *text) {
    struct curl_blob blob = {text->data, text->len, CURL_BLOB_NOCOPY};
    curl_easy_setopt(t->easy, option, &blob);
}

/* The system's certificates from one file, which libcurl then reads once for all connections; with ours beside them,
 * they are looked up in the system's folder. */
static void set_trust(struct transfer *t) {
    const struct transfer_route *r = t->route;
    curl_easy_setopt(t->easy, CURLOPT_SSL_VERIFYPEER, r->rule->verify ? 1L : 0L);
    curl_easy_setopt(t->easy, CURLOPT_SSL_VERIFYHOST, r->rule->verify ? 2L : 0L);
    if (!r->rule->ca)
        curl_easy_setopt(t->easy, CURLOPT_CAPATH, NULL);
    else if (r->ca.len)
        set_blob(t, CURLOPT_CAINFO_BLOB, &r->ca);
    else
        curl_easy_setopt(t->easy, CURLOPT_CAINFO, r->rule->ca);
}

/* Who we are. A key that wants a password fails instead of asking the terminal for it. */
static void set_identity(struct transfer *t) {
    const struct transfer_route *r = t->route;
    if (!r->rule->cert)
        return;
    curl_easy_setopt(t->easy, CURLOPT_KEYPASSWD, "");
    if (r->cert.len)
        set_blob(t, CURLOPT_SSLCERT_BLOB, &r->cert);
    else
        curl_easy_setopt(t->easy, CURLOPT_SSLCERT, r->rule->cert);
    if (r->key.len)
        set_blob(t, CURLOPT_SSLKEY_BLOB, &r->key);
    else
        curl_easy_setopt(t->easy, CURLOPT_SSLKEY, r->rule->key);
}

/* Just before the request goes out, over a new connection or one that stood. What an HTTP/1.1 server said before it was
 * asked would be taken for the answer: libcurl looks for the end of a connection, not for that. */
static int on_ready(void *ctx, char *remote, char *local, int remote_port, int local_port) {
    struct transfer *t = ctx;
    curl_socket_t s = strncmp(t->q.url, "http:", 5) == 0 ? socket_of(t->pool, local_port) : CURL_SOCKET_BAD;
    char byte;
    (void)remote, (void)local, (void)remote_port;
    if (s == CURL_SOCKET_BAD || recv(s, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0)
        return CURL_PREREQFUNC_OK;
    t->stale = true;
    transfer_break_off(t, TRANSFER_CUT, "the connection ended, or spoke, before it was asked anything");
    return CURL_PREREQFUNC_ABORT;
}

static struct transfer *transfer_new(struct transfer_pool *p, struct transfer_route *route) {
    struct transfer *t = mem_alloc(sizeof *t);
    t->pool = p;
    t->route = route;
    if (!(t->easy = curl_easy_init()))
        abort();
    CURL *e = t->easy;
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(e, CURLOPT_USERAGENT, p->user_agent);
    curl_easy_setopt(e, CURLOPT_PROXY, route->rule->proxy ? route->rule->proxy : "");
    curl_easy_setopt(e, CURLOPT_NOPROXY, "");
    curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set_trust(t);
    set_identity(t);
    curl_easy_setopt(e, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(e, CURLOPT_HTTP09_ALLOWED, 0L);
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    curl_easy_setopt(e, CURLOPT_LOW_SPEED_LIMIT, (long)LOW_SPEED);
    curl_easy_setopt(e, CURLOPT_BUFFERSIZE, 32768L); /* libcurl allocates it for each transfer */
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, transfer_on_header);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, transfer_on_body);
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
    struct transfer_route *route = &p->route[q->rule - p->setup.rules.item];
    struct transfer *t = route->idle;
    if (t) {
        route->idle = t->next;
        route->idle_count--;
    } else {
        t = transfer_new(p, route);
    }
    t->q = *q;
    t->r = into;
    t->done = done;
    t->ctx = ctx;
    t->fault = TRANSFER_OK;
    t->body_began = t->stale = t->tried_public = false;
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
    /* Where HTTP/2 may be, the first connection's word is waited for. Without TLS it cannot be, and the wait would last
     * till the first answer. */
    bool multiplex = q->rule->http2 && strncmp(q->url, "https:", 6) == 0;
    curl_easy_setopt(t->easy, CURLOPT_HTTP_VERSION,
                     multiplex ? (long)CURL_HTTP_VERSION_2TLS : (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(t->easy, CURLOPT_PIPEWAIT, multiplex ? 1L : 0L);
    curl_easy_setopt(t->easy, CURLOPT_FRESH_CONNECT, q->fresh ? 1L : 0L);
    curl_easy_setopt(t->easy, CURLOPT_FORBID_REUSE, 0L);
    curl_easy_setopt(t->easy, CURLOPT_LOW_SPEED_TIME,
                     0L); /* till the body begins: a server may think as long as the time-out lets it */
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
    if (t->route->idle_count >= IDLE_HANDLES) {
        transfer_free(t);
        return;
    }
    t->next = t->route->idle;
    t->route->idle = t;
    t->route->idle_count++;
}

void transfer_cancel(struct transfer *t) {
    park(t);
}

static void finish(struct transfer *t, CURLcode code) {
    transfer_judge(t, code);
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
