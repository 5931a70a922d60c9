/* transfer.c - see transfer.h. */
#include "net/transfer.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/guard.h"

const char *const transfer_error_name[] = {"ok",  "resolve", "connect", "tls",  "timeout", "cut",
                                           "guard", "headers", "decode",  "disk", "transfer"};
enum { HEADERS_MAX = 256 * 1024, CONNECT_TIMEOUT_MS = 10000, LOW_SPEED_S = 30, IDLE_HANDLES = 64, BODY_KEEP = 65536 };

struct transfer {
    struct transfer_pool *pool;
    CURL *easy;
    struct curl_slist *list;
    struct transfer_request q;
    struct transfer_result *r;
    void (*done)(void *ctx);
    void *ctx;
    char error[CURL_ERROR_SIZE];
    bool guarded, headers_full, disk_failed;
    struct transfer *next;
};
struct transfer_pool {
    CURLM *multi;
    struct transfer *idle;
    size_t idle_count, active;
    struct transfer_setup setup;
    char *user_agent, *proxy;
};

struct transfer_pool *transfer_pool_new(const struct transfer_setup *setup) {
    if (curl_global_init(CURL_GLOBAL_DEFAULT))
        abort();
    struct transfer_pool *p = mem_alloc(sizeof *p);
    p->setup = *setup;
    p->user_agent = mem_text(setup->user_agent);
    p->proxy = mem_text(setup->proxy);
    if (!(p->multi = curl_multi_init()))
        abort();
    curl_multi_setopt(p->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)setup->max_connections_per_host);
    curl_multi_setopt(p->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)setup->max_connections);
    curl_multi_setopt(p->multi, CURLMOPT_MAXCONNECTS, (long)setup->max_connections);
    curl_multi_setopt(p->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
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
    free(p->user_agent);
    free(p->proxy);
    free(p);
}

void transfer_result_free(struct transfer_result *r) {
    buf_free(&r->headers);
    buf_free(&r->body);
}

static size_t on_header(char *line, size_t size, size_t n, void *ctx) {
    struct transfer *t = ctx;
    size_t len = size * n, whole = len;
    while (len && (line[len - 1] == '\r' || line[len - 1] == '\n'))
        len--;
    if (len >= 5 && strncasecmp(line, "HTTP/", 5) == 0) { /* a new answer: an interim one, or the final one after it */
        buf_reset(&t->r->headers);
        return whole;
    }
    if (len == 0)
        return whole;
    if (t->r->headers.len + len + 1 > HEADERS_MAX) {
        t->headers_full = true;
        return 0;
    }
    buf_add(&t->r->headers, line, len);
    buf_char(&t->r->headers, '\n');
    return whole;
}

static size_t on_body(char *ptr, size_t size, size_t n, void *ctx) {
    struct transfer *t = ctx;
    struct transfer_result *r = t->r;
    size_t len = size * n, take = len;
    if (r->body_bytes + (int64_t)len > t->q.max_bytes) {
        take = (size_t)(t->q.max_bytes - r->body_bytes);
        r->truncated = true;
    }
    if (t->q.attach_fd < 0) {
        if (r->body_bytes == 0) {
            curl_off_t announced = 0;
            curl_easy_getinfo(t->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced);
            if (announced > 0 && announced < t->q.max_bytes && announced < 1 << 24)
                buf_reserve(&r->body, (size_t)announced);
        }
        buf_add(&r->body, ptr, take);
    } else {
        for (size_t at = 0; at < take;) {
            ssize_t w = write(t->q.attach_fd, ptr + at, take - at);
            if (w < 0 && errno == EINTR)
                continue;
            if (w < 0) {
                snprintf(t->error, sizeof t->error, "cannot write the attachment (errno %d)", errno);
                t->disk_failed = true;
                return 0;
            }
            at += (size_t)w;
        }
    }
    r->body_bytes += (int64_t)take;
    return r->truncated ? 0 : len;
}

static curl_socket_t on_open(void *ctx, curlsocktype purpose, struct curl_sockaddr *address) {
    struct transfer *t = ctx;
    enum guard_class c = guard_classify(&address->addr);
    if (purpose != CURLSOCKTYPE_IPCXN)
        return CURL_SOCKET_BAD;
    if (!t->pool->proxy && !guard_allows(c, t->q.host_named, t->q.private_allowed)) {
        t->guarded = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
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
    curl_easy_setopt(e, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(e, CURLOPT_USERAGENT, p->user_agent);
    curl_easy_setopt(e, CURLOPT_PROXY, p->proxy ? p->proxy : "");
    curl_easy_setopt(e, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(e, CURLOPT_HTTP_VERSION, p->setup.http2 ? (long)CURL_HTTP_VERSION_2TLS : (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(e, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(e, CURLOPT_HTTP09_ALLOWED, 0L);
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    curl_easy_setopt(e, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(e, CURLOPT_LOW_SPEED_TIME, (long)LOW_SPEED_S);
    curl_easy_setopt(e, CURLOPT_BUFFERSIZE, 65536L);
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_open);
    curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, t);
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
    t->guarded = t->headers_full = t->disk_failed = false;
    t->error[0] = '\0';
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
    if (t->guarded)
        return TRANSFER_GUARD;
    if (t->headers_full)
        return TRANSFER_HEADERS;
    if (t->disk_failed)
        return TRANSFER_DISK;
    switch (code) {
    case CURLE_OK:
        return TRANSFER_OK;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return TRANSFER_RESOLVE;
    case CURLE_COULDNT_CONNECT:
        return TRANSFER_CONNECT;
    case CURLE_OPERATION_TIMEDOUT:
        return TRANSFER_TIMEOUT;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return TRANSFER_CUT;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
        return TRANSFER_TLS;
    case CURLE_BAD_CONTENT_ENCODING:
        return TRANSFER_DECODE;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return TRANSFER_HEADERS;
    default:
        return TRANSFER_OTHER;
    }
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
        r->private_address = is_private(text);
    }
    curl_easy_getinfo(e, CURLINFO_NUM_CONNECTS, &n);
    r->reused = n == 0;
    curl_easy_getinfo(e, CURLINFO_SIZE_DOWNLOAD_T, &us);
    r->wire_bytes = us;
    static const CURLINFO what[] = {CURLINFO_NAMELOOKUP_TIME_T, CURLINFO_CONNECT_TIME_T, CURLINFO_APPCONNECT_TIME_T,
                                    CURLINFO_STARTTRANSFER_TIME_T, CURLINFO_TOTAL_TIME_T};
    int64_t *where[] = {&r->dns_us, &r->connect_us, &r->tls_us, &r->first_byte_us, &r->total_us};
    for (size_t i = 0; i < COUNT_OF(what); i++)
        if (curl_easy_getinfo(e, what[i], &us) == CURLE_OK)
            *where[i] = us;
}

static void finish(struct transfer *t, CURLcode code) {
    struct transfer_result *r = t->r;
    read_info(t);
    r->error = r->truncated ? TRANSFER_OK : classify(t, code);
    if (r->error == TRANSFER_GUARD)
        snprintf(r->text, sizeof r->text, "the address is private and the crawl does not name this host");
    else if (r->error == TRANSFER_HEADERS && t->headers_full)
        snprintf(r->text, sizeof r->text, "the headers are larger than %d KiB", HEADERS_MAX / 1024);
    else if (r->error != TRANSFER_OK)
        snprintf(r->text, sizeof r->text, "%s", t->error[0] ? t->error : curl_easy_strerror(code));
    void (*done)(void *) = t->done;
    void *ctx = t->ctx;
    park(t);
    done(ctx);
}

void transfer_poll(struct transfer_pool *p, int extra_fd, short extra_events, int64_t timeout_us) {
    int running = 0, left = 0;
    struct curl_waitfd extra = {.fd = extra_fd, .events = (short)((extra_events & POLLIN ? CURL_WAIT_POLLIN : 0) |
                                                                  (extra_events & POLLOUT ? CURL_WAIT_POLLOUT : 0))};
    curl_multi_perform(p->multi, &running);
    CURLMsg *m;
    bool some = false;
    while ((m = curl_multi_info_read(p->multi, &left)))
        if (m->msg == CURLMSG_DONE) {
            struct transfer *t = NULL;
            curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t);
            some = true;
            finish(t, m->data.result);
        }
    if (!some && timeout_us > 0)
        curl_multi_poll(p->multi, &extra, extra_fd >= 0 ? 1 : 0, (int)((timeout_us + 999) / 1000), NULL);
}

size_t transfer_count(const struct transfer_pool *p) {
    return p->active;
}
