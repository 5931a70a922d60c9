/* process.c - see process.h.
 *
 * Invariant, of a program that is talked to: `unread` holds at most a line of LINE_MOST bytes and EXEC_WINDOW more,
 * because what came is acknowledged only while there is a use for more of it; and at most EXEC_WINDOW bytes are on
 * their way to the program, because process_write waits for EXEC_TAKEN. A line is handed out from a buffer of its own:
 * parts that arrive while the collector waits for something else do not move it. */
#include "engine/process.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/route.h"
#include "net/url.h"

enum { LINE_MOST = 16 << 20, ERR_TAIL = 16 * 1024, PART = 32 * 1024, KEPT = 64 * 1024, SECRETS_MOST = 5 };

struct process {
    struct buf unread, line, err, why;
    size_t at, scanned;           /* in unread: where the next line begins, and up to where no '\n' was found */
    int64_t unacknowledged, sent; /* bytes that came; bytes that the program has not taken */
    bool waiting, ended, closed;  /* waiting: whoever waits wants to hear of news; closed: its input has ended */
    bool whole;                   /* nobody talks to it: what it says is wanted as a whole, at its end */
    int status;
    char name[200];
    struct tl_span secret[SECRETS_MOST]; /* that it was given; they live as long as the worker */
};

void process_free(struct process_link *link) {
    struct process *x = link->process;
    if (!x)
        return;
    buf_free(&x->unread);
    buf_free(&x->line);
    buf_free(&x->err);
    buf_free(&x->why);
    free(x);
    link->process = NULL;
}

/* ---- what is heard of it */

/* Of the error output only the end is kept: there the reason of a failure stands. */
static void keep_tail(struct buf *err, struct tl_span part) {
    if (err->len > ERR_TAIL) {
        memmove(err->data, err->data + err->len - ERR_TAIL, ERR_TAIL);
        err->len = ERR_TAIL;
    }
    buf_add(err, part.ptr, part.len);
}

/* True: there is news that a wait of this run may end with. */
bool process_hear(struct process_link *link, struct message *m) {
    struct process *x = link->process;
    if (!x)
        return false;
    if (m->type == MESSAGE_EXEC_PART) {
        bool err = message_get_u8(m);
        struct tl_span part = message_get_span(m);
        if (x->whole) {
            buf_add(err ? &x->err : &x->unread, part.ptr, part.len);
            return false;
        }
        if (err) {
            keep_tail(&x->err, part);
            return false;
        }
        buf_add(&x->unread, part.ptr, part.len);
        x->unacknowledged += (int64_t)part.len;
    } else if (m->type == MESSAGE_EXEC_TAKEN) {
        x->sent -= message_get_i64(m);
    } else {
        x->status = (int)message_get_i64(m);
        buf_text(&x->why, message_get_text(m));
        x->ended = true;
    }
    return x->waiting;
}

/* ---- what it is told */

static void say(struct process_link *link, enum exec_input what, struct tl_span bytes) {
    struct buf *m = link->message;
    message_start(m, MESSAGE_EXEC_INPUT);
    message_i64(m, link->key);
    message_u8(m, (uint8_t)what);
    message_i64(m, link->process->unacknowledged);
    message_span(m, bytes);
    port_send(link->port, m);
    link->process->unacknowledged = 0;
}

static void acknowledge(struct process_link *link, int64_t from) {
    if (!link->process->ended && link->process->unacknowledged >= from)
        say(link, EXEC_BYTES, (struct tl_span){"", 0});
}

static int wait_for_news(struct process_link *link) {
    if (!*link->cancel) {
        link->process->waiting = true;
        link->wait(link->ctx);
        link->process->waiting = false;
    }
    return *link->cancel ? TL_CANCEL : TL_OK;
}

static int none(struct run *r, const char *call) {
    return run_fail(r, TL_INVALID, "invalid", "%s: no program was started", call);
}

static int failed(struct run *r, const struct process *x) {
    return run_fail(r, x->status, "exec", "%s: %s", x->name, x->why.data ? x->why.data : "it could not be run");
}

/* ---- secrets in a program's environment */

/* Adds those that are bound to where they are to be used; returns how many. The supervisor gets them as any other
 * variable, and shows none. */
static uint32_t put_secrets(struct run *r, struct process *x, const struct tl_program *p, struct buf *m) {
    uint32_t n = 0;
    for (size_t i = 0; i < p->secret_count && n < SECRETS_MOST - 1; i++) {
        const struct tl_program_secret *s = &p->secrets[i];
        AUTO_BUF struct buf href = BUF_INIT, origin = BUF_INIT, entry = BUF_INIT;
        struct url url;
        if (!s->secret || !s->name || !s->url || !r->backend->secret_at ||
            url_parse(&href, span_of(s->url), NULL, &url))
            continue;
        url_origin(&origin, &url);
        const char *value = r->backend->secret_at(r, s->secret, buf_span(&origin));
        if (!value || !*value)
            continue;
        buf_printf(&entry, "%s=%s", s->name, value);
        message_text(m, entry.data);
        explicit_bzero(entry.data, entry.len);
        x->secret[n++] = span_of(value);
    }
    return n;
}

/* Strikes out what it says of a secret it was given. */
static void redact(const struct process *x, char *text, size_t len) {
    for (size_t i = 0; i < SECRETS_MOST && x->secret[i].len; i++) {
        size_t n = x->secret[i].len;
        for (char *at = text; at && (at = memmem(at, len - (size_t)(at - text), x->secret[i].ptr, n)); at += n)
            memset(at, '*', n);
    }
}

/* ---- its environment */

#define COUNT_VARIABLE "GIT_CONFIG_COUNT="

/* The way to its server, behind the configuration that the collector gives it. Returns how many variables. */
static uint32_t put_route(const struct route *route, uint32_t from, struct buf *m) {
    AUTO_BUF struct buf entry = BUF_INIT;
    for (uint32_t i = 0; i < route->count; i++) {
        const struct {
            const char *kind;
            const struct buf *text;
        } half[] = {{"KEY", &route->name[i]}, {"VALUE", &route->value[i]}};
        for (size_t k = 0; k < COUNT_OF(half); k++) {
            buf_reset(&entry);
            buf_printf(&entry, "GIT_CONFIG_%s_%u=%s", half[k].kind, from + i,
                       half[k].text->len ? half[k].text->data : "");
            message_text(m, entry.data);
        }
    }
    buf_reset(&entry);
    buf_printf(&entry, COUNT_VARIABLE "%u", from + route->count);
    message_text(m, entry.data);
    explicit_bzero(entry.data, entry.len);
    return 2 * route->count + 1;
}

static void put_environment(struct run *r, struct process *x, const struct tl_program *p, const struct route *route,
                            struct buf *m) {
    size_t count_at = m->len;
    uint32_t n = 0, configured = 0;
    message_u32(m, n);
    for (const char *const *entry = p->env; entry && *entry; entry++)
        if (p->url && strncmp(*entry, COUNT_VARIABLE, strlen(COUNT_VARIABLE)) == 0) {
            configured = (uint32_t)strtoul(*entry + strlen(COUNT_VARIABLE), NULL, 10);
        } else {
            message_text(m, *entry);
            n++;
        }
    n += put_secrets(r, x, p, m);
    if (p->url)
        n += put_route(route, configured, m);
    for (size_t i = 0; i < SECRETS_MOST && route->password.len; i++)
        if (!x->secret[i].len) {
            x->secret[i] = route->password;
            break;
        }
    memcpy(m->data + count_at, &n, sizeof n);
}

/* ---- the services */

static int begin(struct run *r, struct process_link *link, const struct tl_program *p, uint8_t flags,
                 const char *call) {
    struct buf *m = link->message;
    struct route route = {0};
    int rc;
    if (*link->cancel)
        return TL_CANCEL;
    if (link->process)
        return run_fail(r, TL_INVALID, "invalid", "%s: one program at a time; the one before was not ended", call);
    if (p->url && (rc = route_find(r, p->url, &route)))
        return rc;
    message_start(m, MESSAGE_EXEC);
    message_i64(m, link->key);
    message_u8(m, (uint8_t)(flags | (p->flags & TL_OFFLINE ? EXEC_OFFLINE : 0)));
    message_text(m, p->cwd);
    message_i64(m, p->timeout_ms);
    message_i64(m, (int64_t)p->max_output);
    struct process *x = link->process = mem_alloc(sizeof *x);
    uint32_t argc = 0;
    while (p->argv && p->argv[argc])
        argc++;
    message_u32(m, argc);
    for (uint32_t i = 0; i < argc; i++)
        message_text(m, p->argv[i]);
    put_environment(r, x, p, &route, m);
    route_free(&route);
    message_span(m, p->input);
    if (m->len > MESSAGE_MAX || m->full || !p->argv || !p->argv[0]) {
        process_free(link);
        return run_fail(r, TL_INVALID, "invalid", "exec: no program, or its arguments and input are over %d KiB",
                        MESSAGE_MAX / 1024);
    }
    snprintf(x->name, sizeof x->name, "%s", p->argv[0]);
    x->whole = !(flags & EXEC_STREAM);
    x->sent = (int64_t)p->input.len; /* it goes the same way, so it counts */
    port_send(link->port, m);
    if (x->secret[0].len)
        explicit_bzero(m->data, m->len);
    return TL_OK;
}

int process_exec(struct run *r, struct process_link *link, struct tl_program *p) {
    int rc = begin(r, link, p, 0, "exec");
    while (!rc && !link->process->ended)
        rc = wait_for_news(link);
    if (rc)
        return rc;
    struct process *x = link->process;
    p->status = x->status;
    redact(x, x->unread.data, x->unread.len);
    redact(x, x->err.data, x->err.len);
    if (x->status < 0) {
        rc = failed(r, x);
    } else {
        p->out = (struct tl_span){arena_span(&r->arena, buf_span(&x->unread)), x->unread.len};
        p->err = (struct tl_span){arena_span(&r->arena, buf_span(&x->err)), x->err.len};
        if (!p->out.ptr || !p->err.ptr)
            rc = run_fail(r, TL_FAILED, "memory", "the run's memory is used up");
    }
    process_free(link);
    return rc;
}

int process_start(struct run *r, struct process_link *link, const struct tl_program *p) {
    return begin(r, link, p, EXEC_STREAM, "process_start");
}

static bool may_hold_more(const struct process *x) {
    return x->unread.len - x->at < LINE_MOST;
}

int process_write(struct run *r, struct process_link *link, struct tl_span text) {
    struct process *x = link->process;
    if (!x)
        return *link->cancel ? TL_CANCEL : none(r, "process_write");
    if (text.len == 0 && !x->closed) {
        x->closed = true;
        say(link, EXEC_CLOSE, text);
        return TL_OK;
    }
    if (x->closed)
        return run_fail(r, TL_INVALID, "invalid", "process_write: its input was ended");
    while (text.len && !x->ended) {
        size_t n = text.len < PART ? text.len : PART;
        if (x->sent + (int64_t)n > EXEC_WINDOW) { /* it may be busy talking: hear it meanwhile */
            if (may_hold_more(x))
                acknowledge(link, EXEC_WINDOW / 4);
            if (wait_for_news(link))
                return TL_CANCEL;
            continue;
        }
        if (*link->cancel)
            return TL_CANCEL;
        say(link, EXEC_BYTES, (struct tl_span){text.ptr, n});
        x->sent += (int64_t)n;
        text.ptr += n;
        text.len -= n;
    }
    if (!x->ended)
        return TL_OK;
    return x->status < 0 ? failed(r, x) : TL_NOTFOUND;
}

static void take_line(struct process *x, size_t len, size_t end) {
    buf_shrink(&x->line, KEPT);
    buf_add(&x->line, x->unread.data + x->at, len);
    x->at += len + end;
    x->scanned = x->at;
    if (x->at == x->unread.len) {
        buf_shrink(&x->unread, KEPT);
        x->at = x->scanned = 0;
    } else if (x->at > x->unread.len / 2) {
        memmove(x->unread.data, x->unread.data + x->at, x->unread.len - x->at);
        x->unread.len -= x->at;
        x->at = x->scanned = 0;
    }
}

/* A line that stands in `unread` as a whole; at the program's end also the last one without '\n'. */
static bool find_line(struct process *x) {
    const char *text = x->unread.data;
    const char *end = text ? memchr(text + x->scanned, '\n', x->unread.len - x->scanned) : NULL;
    x->scanned = x->unread.len;
    if (end)
        take_line(x, (size_t)(end - text) - x->at, 1);
    else if (x->ended && x->status == 0 && x->at < x->unread.len) /* of one that broke off, half a line says nothing */
        take_line(x, x->unread.len - x->at, 0);
    else
        return false;
    return true;
}

int process_line(struct run *r, struct process_link *link, struct tl_span *line) {
    struct process *x = link->process;
    if (!x)
        return *link->cancel ? TL_CANCEL : none(r, "process_line");
    while (!*link->cancel) {
        if (x->ended && x->status < 0) /* stopped: what it had said and nobody took is void */
            return failed(r, x);
        bool found = find_line(x);
        if (!found && !may_hold_more(x))
            return run_fail(r, TL_FAILED, "exec", "%s: a line of its output is over %d MiB", x->name, LINE_MOST >> 20);
        if (x->unread.len - x->at < EXEC_WINDOW || !found)
            acknowledge(link, EXEC_WINDOW / 4);
        if (found) {
            redact(x, x->line.data, x->line.len);
            *line = buf_span(&x->line);
            return x->line.len > LINE_MOST ? run_fail(r, TL_FAILED, "exec", "%s: a line of its output is over %d MiB",
                                                      x->name, LINE_MOST >> 20)
                                           : TL_OK;
        }
        if (x->ended)
            return TL_NOTFOUND;
        wait_for_news(link);
    }
    return TL_CANCEL;
}

int process_end(struct run *r, struct process_link *link, int *status, struct tl_span *err) {
    struct process *x = link->process;
    if (!x)
        return *link->cancel ? TL_CANCEL : none(r, "process_end");
    if (!x->ended)
        say(link, EXEC_FAREWELL, (struct tl_span){"", 0});
    while (!x->ended) {
        buf_reset(&x->unread);
        x->at = x->scanned = 0;
        acknowledge(link, EXEC_WINDOW / 4);
        if (wait_for_news(link))
            return TL_CANCEL;
    }
    int rc = TL_OK;
    redact(x, x->err.data, x->err.len);
    if (x->status < 0)
        rc = failed(r, x);
    if (status)
        *status = x->status;
    if (err) {
        size_t skip = x->err.len > ERR_TAIL ? x->err.len - ERR_TAIL : 0;
        err->ptr = arena_text(&r->arena, x->err.len ? x->err.data + skip : "", x->err.len - skip);
        err->len = err->ptr ? x->err.len - skip : 0;
    }
    process_free(link);
    return rc;
}
