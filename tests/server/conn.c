/* conn.c - connections and gates: takes requests off connections and puts replies onto them.
 *
 * Invariant: a connection has one request under way at most (what is pipelined behind it waits in `in`), at most one
 * timer, and is freed in one place only, conn_close; whoever calls something that may close it does not touch it
 * afterwards. */
#include "fixture.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

#define IN_MAX   ((size_t)128 << 10)
#define OUT_STEP ((size_t)64 << 10)
#define DRAIN_US 2000000 /* how long a closed connection may still send */

enum state { READ_HEAD, READ_BODY, WAIT, SEND, STALLED, RESETTING, DRAIN };
struct conn {
    int fd;
    enum state state;
    uint32_t interest; /* epoll events asked for */
    bool eof;          /* the client will send nothing more */
    bool counted;      /* in stats.in_flight */
    uint64_t timer;    /* the one that counts; 0: none */
    struct conn *next_at_gate;
    struct buf in, head; /* head: text of the current request, where its spans point */
    size_t scanned;      /* of `in`: no end of a head before it */
    struct request request;
    struct reply reply;
    struct buf out;
    size_t out_at;
    size_t piece; /* next piece of the body, and how much of it is in `out` already */
    uint64_t piece_at;
    bool ended;    /* everything is in `out` */
    uint64_t sent; /* wire bytes of this reply */
    unsigned tries;
};
struct gate {
    char *name;
    bool open;
    struct conn *waiting;
};
#define GATES_MAX 1024
static struct gate gates[GATES_MAX];
static size_t gate_count;
static struct conn **conns;
static size_t conn_room;
static int loop = -1, listeners[LISTENERS_MAX];
static size_t listener_count;
static bool listening, over, stdin_watched;
static const struct site *site;
static volatile sig_atomic_t stop;

static void conn_run(struct conn *c);

static void timer_set(struct conn *c, uint64_t in_us) {
    c->timer = timer_add(c->fd, in_us);
}

/* ---- connections */

static void listen_for(bool on) {
    for (size_t i = 0; i < listener_count && listening != on; i++) {
        struct epoll_event e = {.events = EPOLLIN, .data.fd = listeners[i]};
        epoll_ctl(loop, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, listeners[i], &e);
    }
    listening = on;
}

static void interest(struct conn *c) {
    uint32_t want = (c->eof || (c->state != DRAIN && c->in.len >= IN_MAX) ? 0 : EPOLLIN) |
                    (c->state == SEND && c->out_at < c->out.len && !c->timer ? EPOLLOUT : 0);
    if (want == c->interest)
        return;
    struct epoll_event e = {.events = want, .data.fd = c->fd};
    epoll_ctl(loop, EPOLL_CTL_MOD, c->fd, &e);
    c->interest = want;
}

static void in_flight(struct conn *c, bool yes) {
    if (yes && !c->counted && ++stats.in_flight > stats.peak_in_flight)
        stats.peak_in_flight = stats.in_flight;
    if (!yes && c->counted)
        stats.in_flight--;
    c->counted = yes;
}

static void leave_gate(struct conn *c) {
    if (c->state != WAIT || !c->reply.gate)
        return;
    for (struct conn **at = &c->reply.gate->waiting; *at; at = &(*at)->next_at_gate)
        if (*at == c) {
            *at = c->next_at_gate;
            break;
        }
}

static void conn_close(struct conn *c) {
    leave_gate(c);
    in_flight(c, false);
    stats.connections--;
    close(c->fd);
    conns[c->fd] = NULL;
    buf_free(&c->in);
    buf_free(&c->head);
    buf_free(&c->out);
    reply_free(&c->reply);
    free(c);
    listen_for(true);
}

static void conn_open(int fd) {
    int on = 1;
    if ((size_t)fd >= conn_room) {
        size_t room = (size_t)fd * 2 + 64;
        conns = mem_array(conns, room, sizeof *conns);
        memset(conns + conn_room, 0, (room - conn_room) * sizeof *conns);
        conn_room = room;
    }
    struct conn *c = mem_alloc(sizeof *c);
    c->fd = fd;
    c->interest = EPOLLIN;
    reply_reset(&c->reply);
    conns[fd] = c;
    stats.connections++;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
    epoll_ctl(loop, EPOLL_CTL_ADD, fd, &e);
}

static void accept_all(int listener) {
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            conn_open(fd);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
            listen_for(false); /* until a connection is closed */
        if (errno != ECONNABORTED && errno != EINTR)
            return;
    }
}

/* ---- gates */

struct gate *conn_gate(const char *name, size_t len) {
    for (size_t i = 0; i < gate_count; i++)
        if (strlen(gates[i].name) == len && memcmp(gates[i].name, name, len) == 0)
            return &gates[i];
    if (!len || memchr(name, ' ', len) || gate_count == GATES_MAX)
        return NULL;
    gates[gate_count].name = mem_text_n(name, len);
    return &gates[gate_count++];
}

/* The waiting are woken by a timer that has run out: they are not touched while another connection is being served. */
static void gate_open(struct gate *g) {
    g->open = true;
    for (struct conn *c = g->waiting, *next; c; c = next) {
        next = c->next_at_gate;
        c->next_at_gate = NULL;
        c->reply.gate = NULL;
        timer_set(c, c->reply.delay_us);
    }
    g->waiting = NULL;
}

/* ---- sending */

/* Puts the next part of the body into `out`, as one chunk where the coding is chunked. */
static void add_piece(struct conn *c) {
    struct reply *r = &c->reply;
    const struct piece *p = &r->pieces[c->piece];
    uint64_t left = p->total - c->piece_at;
    size_t step = r->chunk && r->chunk < OUT_STEP ? r->chunk : OUT_STEP;
    step = left < step ? (size_t)left : step;
    if (r->chunk && step)
        buf_printf(&c->out, "%zx\r\n", step);
    if (p->kind == PIECE_FILL) {
        for (size_t done = 0; done < step;) {
            size_t at = (size_t)((c->piece_at + done) % p->len), n = p->len - at;
            n = n < step - done ? n : step - done;
            buf_add(&c->out, p->ptr + at, n);
            done += n;
        }
    } else
        buf_add(&c->out, (p->kind == PIECE_OWN ? r->own.data + p->at : p->ptr) + c->piece_at, step);
    if (r->chunk && step)
        buf_lit(&c->out, "\r\n");
    c->piece_at += step;
    if (p->total != ENDLESS && c->piece_at == p->total) {
        c->piece++;
        c->piece_at = 0;
    }
}

static void fill_out(struct conn *c) {
    struct reply *r = &c->reply;
    if (c->out_at == c->out.len) {
        buf_reset(&c->out);
        c->out_at = 0;
    }
    while (!c->ended && c->out.len - c->out_at < OUT_STEP) {
        if (c->piece < r->count) {
            add_piece(c);
            continue;
        }
        if (r->chunk) {
            buf_lit(&c->out, "0\r\n");
            if (r->trailer)
                buf_add(&c->out, r->trailer->data, r->trailer->len);
            buf_lit(&c->out, "\r\n");
        }
        c->ended = true;
    }
}

/* How many bytes of `out` may go now; 0 when the limit is reached. */
static size_t may_send(const struct conn *c) {
    const struct reply *r = &c->reply;
    uint64_t n = c->out.len - c->out_at, head = r->head.len;
    if (r->at_once)
        return 0;
    if (r->limit != ENDLESS && n > head + r->limit - c->sent)
        n = head + r->limit - c->sent;
    if (r->drip && c->sent < head && !r->drip_head)
        n = n < head - c->sent ? n : head - c->sent;
    else if (r->drip)
        n = n < r->drip ? n : r->drip;
    return (size_t)n;
}

enum sent { SENT_ALL, SENT_LATER, SENT_BROKEN };
static enum sent send_reply(struct conn *c) {
    for (;;) {
        fill_out(c);
        size_t n = may_send(c);
        if (!n)
            return SENT_ALL;
        ssize_t w = send(c->fd, c->out.data + c->out_at, n, MSG_NOSIGNAL);
        if (w < 0)
            return errno == EAGAIN ? SENT_LATER : SENT_BROKEN;
        bool body = c->sent >= c->reply.head.len || c->reply.drip_head;
        c->out_at += (size_t)w;
        c->sent += (uint64_t)w;
        if (c->reply.drip && body && (c->out_at < c->out.len || !c->ended)) {
            timer_set(c, c->reply.drip_us);
            return SENT_LATER;
        }
    }
}

static void half_close(struct conn *c) {
    in_flight(c, false);
    shutdown(c->fd, SHUT_WR);
    c->state = DRAIN;
    buf_reset(&c->in);
    timer_set(c, DRAIN_US);
}

/* The reset must not overtake bytes that the client is to get: wait until it has acknowledged them, but not for ever.
 */
static bool try_reset(struct conn *c) {
    int unsent = 0;
    struct linger now = {1, 0};
    c->state = RESETTING;
    ioctl(c->fd, SIOCOUTQ, &unsent);
    if (unsent && !c->eof && c->tries++ < 2000) {
        timer_set(c, 1000);
        return false;
    }
    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    conn_close(c);
    return true;
}

/* ---- answering */

static void control(struct conn *c, struct tl_span path) {
    struct reply *r = &c->reply;
    const char *type = "text/plain";
    int status = 200;
    static const char prefix[] = "/__open/";
    if (span_eq(path, "/__stats") || span_eq(path, "/__stats?brief")) {
        stats_json(&r->own, path.len > 8);
        type = "application/json";
    } else if (span_eq(path, "/__reset")) {
        stats_reset();
        script_reset();
        for (size_t i = 0; i < gate_count; i++)
            gates[i].open = false;
        buf_lit(&r->own, "ok\n");
    } else if (path.len > 8 && memcmp(path.ptr, prefix, 8) == 0) {
        struct gate *g = conn_gate(path.ptr + 8, path.len - 8);
        if (g)
            gate_open(g);
        status = g ? 200 : 404;
        buf_text(&r->own, g ? "open\n" : "no more gates\n");
    } else {
        status = 404;
        buf_lit(&r->own, "no such control\n");
    }
    reply_simple(r, &c->request, status, type, "Cache-Control: no-store\r\n");
}

static void refuse(struct conn *c, int status) {
    c->request = (struct request){.close = true, .method = span_of("?"), .target = span_of("?")};
    buf_printf(&c->reply.own, "%s\n", reply_reason(status));
    reply_simple(&c->reply, &c->request, status, "text/plain", "");
    stats_path(c->request.target);
    stats_answer(&c->request, &c->reply);
}

/* The request is complete: decide on the answer and count it. */
static void answer(struct conn *c) {
    struct request *q = &c->request;
    if (q->target.len >= 3 && memcmp(q->target.ptr, "/__", 3) == 0) {
        control(c, q->target);
        return;
    }
    in_flight(c, true);
    uint64_t nth = stats_path(q->target);
    if (!script_answer(q, nth, &c->reply))
        site_answer(site, q, nth ? nth : 1, &c->reply);
    stats_answer(q, &c->reply);
}

/* Goes over to answering: by a gate, by a delay, or at once. */
static void begin(struct conn *c) {
    struct reply *r = &c->reply;
    buf_add(&c->out, r->head.data, r->head.len);
    c->state = WAIT;
    if (r->gate && !r->gate->open) {
        c->next_at_gate = r->gate->waiting;
        r->gate->waiting = c;
        return;
    }
    r->gate = NULL;
    if (r->delay_us)
        timer_set(c, r->delay_us);
    else
        c->state = SEND;
}

/* The reply is over as far as it goes: what becomes of the connection. False when it is closed or nothing is left to do
 * for now. */
static bool finish(struct conn *c) {
    struct reply *r = &c->reply;
    if (r->end == END_STALL) {
        c->state = STALLED;
        if (c->eof)
            conn_close(c);
        else
            interest(c);
        return false;
    }
    if (r->end == END_RESET) {
        if (!try_reset(c))
            interest(c);
        return false;
    }
    if (r->end != END_KEEP) {
        if (c->eof) {
            conn_close(c);
            return false;
        }
        half_close(c);
        interest(c);
        return false;
    }
    in_flight(c, false);
    reply_reset(r);
    buf_shrink(&c->out, 256 << 10);
    c->out_at = c->piece = 0;
    c->piece_at = c->sent = 0;
    c->ended = false;
    c->state = READ_HEAD;
    return true;
}

/* ---- receiving */

static void take_in(struct conn *c, size_t n) {
    memmove(c->in.data, c->in.data + n, c->in.len - n);
    c->in.len -= n;
    c->scanned = 0;
}

/* True when a whole head (or a refusal) was taken off `in`. */
static bool take_head(struct conn *c) {
    while (c->in.len >= 2 && memcmp(c->in.data, "\r\n", 2) == 0)
        take_in(c, 2);
    size_t from = c->scanned > 3 ? c->scanned - 3 : 0;
    char *end = c->in.len ? memmem(c->in.data + from, c->in.len - from, "\r\n\r\n", 4) : NULL;
    c->scanned = c->in.len;
    if (!end) {
        if (c->in.len < REQUEST_HEAD_MAX)
            return false;
        refuse(c, 431);
        buf_reset(&c->in);
        begin(c);
        return true;
    }
    buf_reset(&c->head);
    buf_add(&c->head, c->in.data, (size_t)(end - c->in.data) + 4);
    take_in(c, c->head.len);
    if (request_parse(c->head.data, c->head.len, &c->request) < 0) {
        refuse(c, 400);
        begin(c);
        return true;
    }
    c->state = READ_BODY;
    if (c->request.expects && (c->request.body_left || c->request.chunked)) {
        static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
        if (send(c->fd, go_on, sizeof go_on - 1, MSG_NOSIGNAL) < 0) { /* the next read says so */
        }
    }
    return true;
}

/* True when the body is complete (or refused). */
static bool take_body(struct conn *c) {
    size_t taken = 0;
    int rc = 1;
    if (c->request.body_left || c->request.chunked) {
        rc = request_body(&c->request, buf_span(&c->in), &taken);
        if (taken)
            take_in(c, taken);
    }
    if (rc == 0)
        return false;
    if (rc < 0)
        refuse(c, 400);
    else
        answer(c);
    begin(c);
    return true;
}

/* Goes on with a connection as far as it can. */
static void conn_run(struct conn *c) {
    for (;;) {
        if ((c->state == READ_HEAD && !take_head(c)) || (c->state == READ_BODY && !take_body(c))) {
            if (c->eof)
                conn_close(c);
            else
                interest(c);
            return;
        }
        if (c->state == WAIT) {
            if (c->eof && (c->reply.gate || !c->in.len))
                conn_close(c); /* nobody waits for it any more */
            else
                interest(c);
            return;
        }
        if (c->state != SEND)
            continue;
        enum sent s = send_reply(c);
        if (s == SENT_BROKEN) {
            conn_close(c);
            return;
        }
        if (s == SENT_LATER) {
            interest(c);
            return;
        }
        if (!finish(c))
            return;
    }
}

static void on_readable(struct conn *c) {
    static char sink[65536];
    bool drain = c->state == DRAIN || c->state == STALLED || c->state == RESETTING;
    ssize_t n;
    if (drain)
        n = recv(c->fd, sink, sizeof sink, 0);
    else {
        size_t want = IN_MAX - c->in.len < 16384 ? IN_MAX - c->in.len : c->in.len ? 16384 : 2048;
        if (!want || !buf_reserve(&c->in, want))
            return;
        n = recv(c->fd, c->in.data + c->in.len, want, 0);
        if (n > 0)
            c->in.len += (size_t)n;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0 || (n == 0 && drain && c->state != RESETTING)) {
        conn_close(c);
        return;
    }
    c->eof = c->eof || n == 0;
    if (c->state == READ_HEAD || c->state == READ_BODY || (c->eof && c->state == WAIT))
        conn_run(c);
    else
        interest(c);
}

static void on_event(struct conn *c, uint32_t events) {
    if ((events & (EPOLLHUP | EPOLLERR)) && (c->eof || !(events & EPOLLIN))) {
        conn_close(c);
        return;
    }
    if ((events & EPOLLOUT) && c->state == SEND && !c->timer) {
        conn_run(c);
        return; /* what came in is reported again */
    }
    if (events & EPOLLIN)
        on_readable(c);
}

static void on_timer(struct conn *c) {
    c->timer = 0;
    if (c->state == WAIT)
        c->state = SEND;
    if (c->state == SEND)
        conn_run(c);
    else if (c->state == RESETTING)
        try_reset(c);
    else if (c->state == DRAIN)
        conn_close(c);
}

static void run_timers(void) {
    struct timer t;
    while (timer_due(&t)) {
        struct conn *c = (size_t)t.fd < conn_room ? conns[t.fd] : NULL;
        if (c && c->timer == t.id)
            on_timer(c);
    }
}

/* ---- the loop */

void conn_watch_stdin(void) {
    stdin_watched = true;
}

static void on_stdin(void) {
    char sink[4096];
    ssize_t n = read(STDIN_FILENO, sink, sizeof sink);
    over = over || n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
}

static void on_signal(int number) {
    (void)number;
    stop = 1;
}

static void prepare(sigset_t *waiting) {
    struct sigaction a = {.sa_handler = on_signal}, ignore = {.sa_handler = SIG_IGN};
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGINT);
    sigprocmask(SIG_BLOCK, &blocked, waiting);
    sigdelset(waiting, SIGTERM);
    sigdelset(waiting, SIGINT);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
    loop = epoll_create1(EPOLL_CLOEXEC);
    listen_for(true);
    struct epoll_event e = {.events = EPOLLIN, .data.fd = STDIN_FILENO};
    if (stdin_watched && epoll_ctl(loop, EPOLL_CTL_ADD, STDIN_FILENO, &e) < 0)
        over = true; /* a file or /dev/null: it has no other end that could stay open */
}

static bool is_listener(int fd) {
    for (size_t i = 0; i < listener_count; i++)
        if (listeners[i] == fd)
            return true;
    return false;
}

void conn_serve(const struct site *s, const int *fds, size_t count) {
    struct epoll_event events[256];
    sigset_t waiting;
    site = s;
    for (; listener_count < count && listener_count < LISTENERS_MAX; listener_count++)
        listeners[listener_count] = fds[listener_count];
    prepare(&waiting);
    while (!stop && !over) {
        int n = epoll_pwait(loop, events, COUNT_OF(events), timer_wait_ms(), &waiting);
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;
            if (is_listener(fd))
                accept_all(fd);
            else if (fd == STDIN_FILENO && stdin_watched)
                on_stdin();
            else if (conns[fd])
                on_event(conns[fd], events[i].events);
        }
        run_timers();
    }
    for (size_t i = 0; i < conn_room; i++)
        if (conns[i])
            conn_close(conns[i]);
}
