/* message.c - see message.h. */
#include "engine/message.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/cookies.h"

void message_start(struct buf *m, enum message_type type) {
    buf_reset(m);
    message_u8(m, (uint8_t)type);
}

void message_span(struct buf *m, struct tl_span s) {
    message_u32(m, (uint32_t)s.len);
    buf_add(m, s.ptr, s.len);
}

void message_text(struct buf *m, const char *text) {
    if (!text) {
        message_u32(m, UINT32_MAX);
        return;
    }
    size_t len = strlen(text);
    message_u32(m, (uint32_t)len);
    buf_add(m, text, len + 1);
}

bool message_open(struct message *m, const char *ptr, size_t len) {
    *m = (struct message){.at = ptr, .end = ptr + len};
    if (len == 0)
        return false;
    m->type = (enum message_type)(uint8_t)*m->at++;
    return true;
}

bool message_next(struct message *m) {
    if ((m->type != MESSAGE_RUN && m->type != MESSAGE_REACT) || m->bad || m->at == m->end)
        return false;
    m->type = (enum message_type)(uint8_t)*m->at++;
    return true;
}

const void *message_get_bytes(struct message *m, size_t len) {
    if (m->bad || (size_t)(m->end - m->at) < len) {
        m->bad = true;
        return NULL;
    }
    const char *at = m->at;
    m->at += len;
    return at;
}

uint8_t message_get_u8(struct message *m) {
    const uint8_t *at = message_get_bytes(m, 1);
    return at ? *at : 0;
}

uint32_t message_get_u32(struct message *m) {
    uint32_t v = 0;
    const void *at = message_get_bytes(m, sizeof v);
    if (at)
        memcpy(&v, at, sizeof v);
    return v;
}

int64_t message_get_i64(struct message *m) {
    int64_t v = 0;
    const void *at = message_get_bytes(m, sizeof v);
    if (at)
        memcpy(&v, at, sizeof v);
    return v;
}

struct tl_span message_get_span(struct message *m) {
    uint32_t len = message_get_u32(m);
    const char *at = message_get_bytes(m, len);
    return at ? (struct tl_span){at, len} : (struct tl_span){"", 0};
}

const char *message_get_text(struct message *m) {
    uint32_t len = message_get_u32(m);
    if (len == UINT32_MAX)
        return NULL;
    const char *at = message_get_bytes(m, (size_t)len + 1);
    if (!at)
        return "";
    if (at[len] != '\0' || memchr(at, '\0', len)) {
        m->bad = true;
        return "";
    }
    return at;
}

void message_cookie(struct buf *m, const struct cookie *c) {
    message_text(m, c->name);
    message_text(m, c->value);
    message_text(m, c->domain);
    message_text(m, c->path);
    message_u8(m, c->host_only);
    message_u8(m, c->secure);
    message_i64(m, c->expires_us);
}

struct cookie message_get_cookie(struct message *m) {
    struct cookie c;
    c.name = message_get_text(m);
    c.value = message_get_text(m);
    c.domain = message_get_text(m);
    c.path = message_get_text(m);
    c.host_only = message_get_u8(m);
    c.secure = message_get_u8(m);
    c.expires_us = message_get_i64(m);
    return c;
}

void port_init(struct port *p, int fd) {
    *p = (struct port){.fd = fd};
}

void port_free(struct port *p) {
    if (p->fd >= 0)
        close(p->fd);
    free(p->queue);
    *p = (struct port){.fd = -1};
}

/* true: taken by the socket (or the socket is gone); false: try later. */
static bool send_now(struct port *p, const char *ptr, size_t len) {
    for (;;) {
        if (p->broken || send(p->fd, ptr, len, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
            return true;
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS)
            return false;
        if (errno != EINTR)
            p->broken = true;
    }
}

void port_send(struct port *p, const struct buf *m) {
    if (m->len == 0 || m->len > MESSAGE_MAX || m->full)
        abort();
    if (!port_waiting(p) && send_now(p, m->data, m->len))
        return;
    uint32_t len = (uint32_t)m->len;
    if (p->sent > p->room / 2 && p->sent) {
        memmove(p->queue, p->queue + p->sent, p->queued - p->sent);
        p->queued -= p->sent;
        p->sent = 0;
    }
    while (p->room < p->queued + sizeof len + len) {
        p->room = p->room ? p->room * 2 : 65536;
        p->queue = mem_array(p->queue, p->room, 1);
    }
    memcpy(p->queue + p->queued, &len, sizeof len);
    memcpy(p->queue + p->queued + sizeof len, m->data, len);
    p->queued += sizeof len + len;
}

void port_flush(struct port *p) {
    while (port_waiting(p)) {
        uint32_t len;
        memcpy(&len, p->queue + p->sent, sizeof len);
        if (!send_now(p, p->queue + p->sent + sizeof len, len))
            return;
        p->sent += sizeof len + len;
    }
    p->queued = p->sent = 0;
    if (p->room > 1 << 20) {
        free(p->queue);
        p->queue = NULL;
        p->room = 0;
    }
}

int port_receive(struct port *p, char *into, size_t *len) {
    for (;;) {
        ssize_t n = recv(p->fd, into, MESSAGE_MAX, MSG_DONTWAIT);
        if (n > 0) {
            *len = (size_t)n;
            return 1;
        }
        if (n == 0)
            return -1;
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return 0;
        if (errno != EINTR)
            return -1;
    }
}
