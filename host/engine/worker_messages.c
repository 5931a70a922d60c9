/* worker_messages.c - what the supervisor says: who we are, what to run, what is known, what was asked for. */
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/times.h"
#include "engine/worker_inside.h"

static struct worker_scope *find_scope(struct worker *w, int64_t key) {
    for (size_t i = 0; i < w->scope_count; i++)
        if (w->scope[i]->key == key)
            return w->scope[i];
    return NULL;
}

/* A leash: its text, and the host patterns of every leash of its chain, perhaps in parts. Comes again when a host was
 * learned. */
static void hear_scope(struct worker *w, struct message *m) {
    int64_t key = message_get_i64(m);
    bool first = message_get_u8(m);
    struct worker_scope *s = find_scope(w, key);
    if (!s) {
        s = mem_alloc(sizeof *s);
        s->key = key;
        MEM_GROW(w->scope, w->scope_count, w->scope_room);
        w->scope[w->scope_count++] = s;
    }
    struct tl_span leash = message_get_span(m);
    s->hosts_auto = message_get_u8(m);
    uint32_t n = message_get_u32(m);
    if (first) {
        buf_reset(&s->leash);
        buf_add(&s->leash, leash.ptr, leash.len);
        for (size_t i = 0; i < s->pattern_count; i++)
            free(s->pattern[i]);
        s->pattern_count = 0;
    }
    s->pattern = mem_array(s->pattern, s->pattern_count + n + 1, sizeof *s->pattern);
    for (uint32_t i = 0; i < n && !m->bad; i++)
        s->pattern[s->pattern_count++] = mem_text(message_get_text(m)); /* NULL ends a list */
}

static const char *job_text(struct job *j, struct message *m) {
    const char *text = message_get_text(m);
    return text ? arena_text(&j->run->arena, text, strlen(text)) : NULL;
}

static struct tl_span job_span(struct job *j, struct message *m) {
    struct tl_span s = message_get_span(m);
    return (struct tl_span){arena_span(&j->run->arena, s), s.len};
}

static void read_path(struct job *j, struct message *m) {
    struct run *r = j->run;
    uint32_t n = message_get_u32(m);
    const char **path = arena_alloc(&r->arena, ((size_t)n + 1) * sizeof *path);
    r->path = path;
    r->path_count = n;
    for (uint32_t i = 0; i < n && path && !m->bad; i++) {
        const void *bytes = message_get_bytes(m, sizeof(struct uuid));
        char *text = arena_alloc(&r->arena, UUID_TEXT);
        struct uuid u = {0};
        if (bytes)
            memcpy(&u, bytes, sizeof u);
        path[i] = text ? uuid_text(&u, text) : "";
    }
}

static void hear_job(struct worker *w, struct message *m, bool is_event) {
    struct job *j = mem_alloc(sizeof *j);
    struct run *r = run_new(&worker_backend, j, w->collector, w->hash);
    j->run = r;
    j->key = message_get_i64(m);
    j->is_event = is_event;
    j->line = message_get_u8(m);
    j->no_fuse = message_get_u8(m);
    j->depth = message_get_i64(m);
    j->reach = message_get_i64(m);
    j->scope = find_scope(w, message_get_i64(m));
    r->run_id = job_text(j, m);
    r->result_id = job_text(j, m);
    r->parent_id = job_text(j, m);
    read_path(j, m);
    r->payload = job_span(j, m);
    r->context = job_text(j, m);
    r->org = job_text(j, m);
    r->project = job_text(j, m);
    r->target = job_text(j, m);
    if (is_event) {
        j->document_path = job_text(j, m);
        j->document_collector = job_text(j, m);
    }
    j->document_url = job_text(j, m);
    j->ask_validators = message_get_u8(m);
    j->conditions = job_span(j, m);
    r->key = w->key;
    r->root_id = w->root_id;
    r->crawl = w->crawl;
    r->collector_version = w->version;
    r->run_context = w->run_context;
    r->depth = (int)j->depth;
    if (j->scope)
        r->leash = (struct tl_span){arena_span(&r->arena, buf_span(&j->scope->leash)), j->scope->leash.len};
    if (m->bad)
        _exit(70);
    *w->waiting_end = j;
    w->waiting_end = &j->next;
}

static struct job *find_job(struct worker *w, int64_t key) {
    for (struct job *j = w->job; j; j = j->next)
        if (j->key == key)
            return j;
    for (struct job *j = w->waiting; j; j = j->next)
        if (j->key == key)
            return j;
    return NULL;
}

static void wake(struct worker *w, struct job *j) {
    if (j->coroutine && !j->ready) {
        j->ready = true;
        w->ready++;
    }
}

static void hear_answer(struct worker *w, struct message *m) {
    struct job *j = find_job(w, message_get_i64(m));
    if (!j || !j->awaiting)
        return;
    j->answer_status = (int)message_get_i64(m);
    struct tl_span value = message_get_span(m);
    buf_add(&j->answer, value.ptr, value.len);
    j->answered = true;
    wake(w, j);
}

static void hear_of_program(struct worker *w, struct message *m) {
    struct job *j = find_job(w, message_get_i64(m));
    if (j && process_hear(&j->programs, m))
        wake(w, j);
}

static void hear_one(struct worker *w, struct message *m) {
    struct job *j;
    switch (m->type) {
    case MESSAGE_SCOPE:
        hear_scope(w, m);
        break;
    case MESSAGE_RUN:
    case MESSAGE_REACT:
        hear_job(w, m, m->type == MESSAGE_REACT);
        break;
    case MESSAGE_CANCEL:
        if ((j = find_job(w, message_get_i64(m)))) {
            j->cancel = j->run->cancelled = true;
            wake(w, j);
        }
        break;
    case MESSAGE_KNOWN:
        for (uint32_t n = message_get_u32(m); n > 0 && !m->bad; n--) {
            uint64_t tag = (uint64_t)message_get_i64(m);
            tagset_learn(&w->known, tag, message_get_u32(m));
        }
        break;
    case MESSAGE_COOKIE: {
        const struct cookie c = message_get_cookie(m);
        m->bad = m->bad || cookies_put(w->cookies, &c, time_now_us());
        break;
    }
    case MESSAGE_STATE:
        hear_answer(w, m);
        break;
    case MESSAGE_EXEC_PART:
    case MESSAGE_EXEC_END:
    case MESSAGE_EXEC_TAKEN:
        hear_of_program(w, m);
        break;
    case MESSAGE_QUIT:
        w->quit = true;
        break;
    default: /* HELLO comes once, at the start (worker.c) */
        m->bad = true;
    }
}

void worker_hear(struct worker *w) {
    size_t len;
    int got;
    port_flush(&w->port);
    while ((got = port_receive(&w->port, w->inbox, &len)) > 0) {
        struct message m;
        if (!message_open(&m, w->inbox, len))
            continue;
        do
            hear_one(w, &m);
        while (message_next(&m));
        if (m.bad)
            _exit(70);
    }
    if (got < 0 || w->port.broken) /* the supervisor is gone: nothing here is worth finishing */
        _exit(0);
}
