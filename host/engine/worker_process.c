/* worker_process.c - a program that a run talks to while it lives: the worker's end, on the run's coroutine.
 *
 * The supervisor has the pipes (super_exec.c); here are the bytes on their way. Invariant: `unread` holds at most a
 * line of LINE_MOST bytes and EXEC_WINDOW more, because what came is acknowledged only while there is a use for more of
 * it; and at most EXEC_WINDOW bytes are on their way to the program, because process_write waits for EXEC_TAKEN. A line
 * is handed out from a buffer of its own: parts that arrive while the collector waits for something else do not move
 * it. */
#include <stdlib.h>

#include "base/mem.h"
#include "engine/worker_inside.h"

enum { LINE_MOST = 16 << 20, ERR_TAIL = 16 * 1024, PART = 32 * 1024, KEPT = 64 * 1024 };

struct worker_process {
    struct buf unread, line, err, why;
    size_t at, scanned;           /* in unread: where the next line begins, and up to where no '\n' was found */
    int64_t unacknowledged, sent; /* bytes that came; bytes that the program has not taken */
    bool waiting, ended, closed;  /* waiting: whoever waits wants to hear of news; closed: its input has ended */
    int status;
    char name[200];
};

static struct job *job_of(struct run *r) {
    return r->ctx;
}

void worker_process_free(struct job *j) {
    struct worker_process *x = j->process;
    if (!x)
        return;
    buf_free(&x->unread);
    buf_free(&x->line);
    buf_free(&x->err);
    buf_free(&x->why);
    free(x);
    j->process = NULL;
}

/* ---- what the supervisor says */

/* Of the error output only the end is kept: there the reason of a failure stands. */
static void keep_tail(struct buf *err, struct tl_span part) {
    if (err->len > ERR_TAIL) {
        memmove(err->data, err->data + err->len - ERR_TAIL, ERR_TAIL);
        err->len = ERR_TAIL;
    }
    buf_add(err, part.ptr, part.len);
}

/* True: there is news that a wait of this run may end with. */
bool worker_process_hear(struct job *j, struct message *m) {
    struct worker_process *x = j->process;
    if (m->type == MESSAGE_EXEC_PART) {
        bool err = message_get_u8(m);
        struct tl_span part = message_get_span(m);
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

static void say(struct job *j, enum exec_input what, struct tl_span bytes) {
    struct buf *m = &worker_self->message;
    message_start(m, MESSAGE_EXEC_INPUT);
    message_i64(m, j->key);
    message_u8(m, (uint8_t)what);
    message_i64(m, j->process->unacknowledged);
    message_span(m, bytes);
    port_send(&worker_self->port, m);
    j->process->unacknowledged = 0;
}

static void acknowledge(struct job *j, int64_t from) {
    if (!j->process->ended && j->process->unacknowledged >= from)
        say(j, EXEC_BYTES, (struct tl_span){"", 0});
}

static int wait_for_news(struct job *j) {
    if (!j->cancel) {
        j->process->waiting = true;
        coroutine_wait();
        j->process->waiting = false;
    }
    return j->cancel ? TL_CANCEL : TL_OK;
}

static int none(struct run *r, const char *call) {
    return run_fail(r, TL_INVALID, "invalid", "%s: no program was started", call);
}

static int failed(struct run *r, const struct worker_process *x) {
    return run_fail(r, x->status, "exec", "%s: %s", x->name, x->why.data ? x->why.data : "it could not be run");
}

/* ---- the services */

int worker_process_start(struct run *r, const struct tl_program *p) {
    struct job *j = job_of(r);
    if (j->cancel)
        return TL_CANCEL;
    if (j->process)
        return run_fail(r, TL_INVALID, "invalid", "process_start: one program at a time; the one before was not ended");
    int rc = worker_exec_message(r, p, EXEC_STREAM);
    if (rc)
        return rc;
    struct worker_process *x = j->process = mem_alloc(sizeof *x);
    snprintf(x->name, sizeof x->name, "%s", p->argv[0]);
    x->sent = (int64_t)p->input.len; /* it goes the same way, so it counts */
    port_send(&worker_self->port, &worker_self->message);
    return TL_OK;
}

static bool may_hold_more(const struct worker_process *x) {
    return x->unread.len - x->at < LINE_MOST;
}

int worker_process_write(struct run *r, struct tl_span text) {
    struct job *j = job_of(r);
    struct worker_process *x = j->process;
    if (!x)
        return j->cancel ? TL_CANCEL : none(r, "process_write");
    if (text.len == 0 && !x->closed) {
        x->closed = true;
        say(j, EXEC_CLOSE, text);
        return TL_OK;
    }
    if (x->closed)
        return run_fail(r, TL_INVALID, "invalid", "process_write: its input was ended");
    while (text.len && !x->ended) {
        size_t n = text.len < PART ? text.len : PART;
        if (x->sent + (int64_t)n > EXEC_WINDOW) { /* it may be busy talking: hear it meanwhile */
            if (may_hold_more(x))
                acknowledge(j, EXEC_WINDOW / 4);
            if (wait_for_news(j))
                return TL_CANCEL;
            continue;
        }
        if (j->cancel)
            return TL_CANCEL;
        say(j, EXEC_BYTES, (struct tl_span){text.ptr, n});
        x->sent += (int64_t)n;
        text.ptr += n;
        text.len -= n;
    }
    return x->ended ? TL_NOTFOUND : TL_OK;
}

static void take_line(struct worker_process *x, size_t len, size_t end) {
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
static bool find_line(struct worker_process *x) {
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

int worker_process_line(struct run *r, struct tl_span *line) {
    struct job *j = job_of(r);
    struct worker_process *x = j->process;
    if (!x)
        return j->cancel ? TL_CANCEL : none(r, "process_line");
    while (!j->cancel) {
        bool found = find_line(x);
        if (!found && !may_hold_more(x))
            return run_fail(r, TL_FAILED, "exec", "%s: a line of its output is over %d MiB", x->name, LINE_MOST >> 20);
        if (x->unread.len - x->at < EXEC_WINDOW || !found)
            acknowledge(j, EXEC_WINDOW / 4);
        if (found) {
            *line = buf_span(&x->line);
            return x->line.len > LINE_MOST ? run_fail(r, TL_FAILED, "exec", "%s: a line of its output is over %d MiB",
                                                      x->name, LINE_MOST >> 20)
                                           : TL_OK;
        }
        if (x->ended)
            return x->status < 0 ? failed(r, x) : TL_NOTFOUND;
        wait_for_news(j);
    }
    return TL_CANCEL;
}

int worker_process_end(struct run *r, int *status, struct tl_span *err) {
    struct job *j = job_of(r);
    struct worker_process *x = j->process;
    if (!x)
        return j->cancel ? TL_CANCEL : none(r, "process_end");
    if (!x->ended)
        say(j, EXEC_FAREWELL, (struct tl_span){"", 0});
    while (!x->ended) {
        buf_reset(&x->unread);
        x->at = x->scanned = 0;
        acknowledge(j, EXEC_WINDOW / 4);
        if (wait_for_news(j))
            return TL_CANCEL;
    }
    int rc = TL_OK;
    if (x->status < 0)
        rc = failed(r, x);
    if (status)
        *status = x->status;
    if (err) {
        size_t skip = x->err.len > ERR_TAIL ? x->err.len - ERR_TAIL : 0;
        err->ptr = arena_text(&r->arena, x->err.len ? x->err.data + skip : "", x->err.len - skip);
        err->len = err->ptr ? x->err.len - skip : 0;
    }
    worker_process_free(j);
    return rc;
}
