/* transfer_answer.c - an answer as it comes, and what is to be thought of it when it ends.
 *
 * libcurl's word is not enough for a complete body: what it lets pass (an answer that ends amid its headers, two
 * lengths, compressed data without their end) is found here. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/guard.h"
#include "net/tls.h"
#include "net/transfer_inside.h"

enum {
    LOW_SPEED_S = 30,  /* an answer that has begun may not stand still for longer */
    WIRE_SLACK = 65536 /* coded data may be longer than what it stands for by that and a 64th */
};

const char *const transfer_error_name[] = {"ok",    "resolve", "connect", "tls",  "timeout", "cut",
                                           "guard", "headers", "decode",  "disk", "proxy",   "transfer"};

void transfer_result_free(struct transfer_result *r) {
    buf_free(&r->headers);
    buf_free(&r->body);
    buf_free(&r->tls);
}

size_t transfer_break_off(struct transfer *t, enum transfer_error why, const char *fmt, ...) {
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
    if (curl_easy_getinfo(t->easy, CURLINFO_TLS_SSL_PTR, &info) == CURLE_OK && info &&
        info->backend == CURLSSLBACKEND_OPENSSL)
        tls_describe(info->internals, t->route->rule->verify, &t->r->tls);
}

size_t transfer_on_header(char *line, size_t size, size_t n, void *ctx) {
    struct transfer *t = ctx;
    if (t->head.bytes == 0 && strncmp(t->q.url, "https:", 6) == 0)
        describe_tls(t);
    return head_line(&t->head, line, size * n)
               ? transfer_break_off(t, TRANSFER_HEADERS, "the answer cannot be trusted: %s", t->head.fault)
               : size * n;
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
                transfer_break_off(t, TRANSFER_DISK, "cannot write the attachment: %s", strerrordesc_np(errno));
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
        transfer_break_off(t, TRANSFER_DECODE, "the body is coded more than %d times over", DECODE_LAYERS);
        return rc;
    }
    if (rc == TL_UNSUPPORTED)
        snprintf(r->coding, sizeof r->coding, "%s", codings.data);
    if (!t->decode && t->q.attach_fd < 0 && t->head.length > 0 && t->head.length < t->q.max_bytes &&
        t->head.length < 1 << 24)
        buf_reserve(&r->body, (size_t)t->head.length);
    return TL_OK;
}

size_t transfer_on_body(char *ptr, size_t size, size_t n, void *ctx) {
    struct transfer *t = ctx;
    size_t len = size * n;
    if (!t->body_began && begin_body(t))
        return 0;
    t->r->wire_bytes += (int64_t)len;
    if (!t->decode)
        return on_decoded(t, ptr, len) ? 0 : len;
    if (t->r->wire_bytes > t->q.max_bytes + t->q.max_bytes / 64 + WIRE_SLACK)
        return transfer_break_off(t, TRANSFER_DECODE, "the body is longer as it is sent than it may be decoded");
    int rc = decode_put(t->decode, ptr, len);
    if (rc == TL_INVALID || rc == TL_REFUSED)
        return transfer_break_off(t, TRANSFER_DECODE, "%s", decode_fault(t->decode));
    return rc ? 0 : len;
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
        if (t->head.bytes == 0 && curl_easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &proxy_status) == CURLE_OK &&
            proxy_status >= 300)
            return TRANSFER_PROXY;
        return TRANSFER_CUT;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return TRANSFER_CUT;
    case CURLE_SSL_CONNECT_ERROR: /* the handshake broke off, or it was refused */
        return strstr(t->error, "SSL_ERROR_SYSCALL") || strstr(t->error, "Connection reset") ? TRANSFER_CONNECT
                                                                                             : TRANSFER_TLS;
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

static bool asked_for_a_part(const struct transfer *t) {
    for (size_t i = 0; i < t->q.header_count; i++)
        if (strcasecmp(t->q.header[i].name, "range") == 0)
            return true;
    return false;
}

/* What libcurl takes for complete: is it? */
static enum transfer_error check_whole(struct transfer *t) {
    struct transfer_result *r = t->r;
    if (!t->head.ended)
        transfer_break_off(t, TRANSFER_CUT, "the answer ends amid its headers");
    else if (!has_body(t))
        return TRANSFER_OK;
    else if (t->head.status == 206 && !asked_for_a_part(t))
        transfer_break_off(t, TRANSFER_CUT, "the server sent a part (206) where the whole was asked for");
    else if (t->head.length >= 0 && t->head.length != r->wire_bytes)
        transfer_break_off(t, t->head.chunked ? TRANSFER_HEADERS : TRANSFER_CUT,
                           "Content-Length announces %lld bytes, %lld came", (long long)t->head.length,
                           (long long)r->wire_bytes);
    else if (t->decode && !decode_whole(t->decode))
        transfer_break_off(t, TRANSFER_CUT, "the body ends before the end of its compressed data");
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
        r->dead =
            t->stale || r->reused || code == CURLE_SEND_ERROR || code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM;
    if (code == CURLE_OUT_OF_MEMORY && t->head.inside)
        snprintf(r->text, sizeof r->text, "one of its headers is larger than 100 KiB");
    else
        snprintf(r->text, sizeof r->text, "%s",
                 t->fault != TRANSFER_OK ? t->fault_text
                 : t->error[0]           ? t->error
                                         : curl_easy_strerror(code));
}

static bool is_private(const char *ip) {
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, ip, &in.sin_addr) == 1)
        return guard_classify((const struct sockaddr *)&in) != GUARD_PUBLIC;
    return inet_pton(AF_INET6, ip, &in6.sin6_addr) != 1 ||
           guard_classify((const struct sockaddr *)&in6) != GUARD_PUBLIC;
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
    r->version = n == CURL_HTTP_VERSION_1_0   ? "1.0"
                 : n == CURL_HTTP_VERSION_2_0 ? "2"
                 : n == CURL_HTTP_VERSION_3   ? "3"
                                              : "1.1";
    if (curl_easy_getinfo(e, CURLINFO_PRIMARY_IP, &text) == CURLE_OK && text && *text) {
        curl_easy_getinfo(e, CURLINFO_PRIMARY_PORT, &n);
        snprintf(r->address, sizeof r->address, strchr(text, ':') ? "[%s]:%ld" : "%s:%ld", text, n);
        r->private_address = !t->route->rule->proxy && is_private(text); /* of a proxy nothing can be concluded */
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

void transfer_judge(struct transfer *t, CURLcode code) {
    read_info(t);
    set_error(t, code);
}
