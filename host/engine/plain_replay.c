/* plain_replay.c - recorded answers: read from a folder, given back as if they had been fetched, whole or with a fault.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "engine/plain_inside.h"

enum { FIXTURE_MAX = 32 << 20, FIXTURES_MAX = 10000, HUGE_BYTES = 4 << 20, LOOP_MOST = 10000 };

/* ---- reading */

static int read_file(int folder, const char *name, struct buf *out) {
    AUTO_CLOSE int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    char block[65536];
    ssize_t n = -1;
    out->max = FIXTURE_MAX;
    while (fd >= 0 && (n = read(fd, block, sizeof block)) > 0)
        buf_add(out, block, (size_t)n);
    return n < 0 || out->full ? TL_FAILED : TL_OK;
}

static int add_fixture(struct plain_fixtures *f, int folder, const char *name, const char *path, struct fail *why) {
    AUTO_BUF struct buf text = BUF_INIT;
    if (f->count >= FIXTURES_MAX || read_file(folder, name, &text))
        return fail_errno(why, TL_FAILED, "cannot read the fixture %s/%s", path, name);
    char *line = text.data ? memchr(text.data, '\n', text.len) : NULL;
    if (!line || strncmp(line + 1, "HTTP/", 5) != 0)
        return fail_set(why, TL_INVALID,
                        "%s/%s: a fixture begins with its URL on a line of its own, then the answer, from HTTP/1.1 on",
                        path, name);
    f->item = mem_array(f->item, f->count + 1, sizeof *f->item);
    struct plain_fixture *x = &f->item[f->count++];
    size_t len = (size_t)(line - text.data);
    *x = (struct plain_fixture){.url = mem_text_n(text.data, len && line[-1] == '\r' ? len - 1 : len)};
    buf_add(&x->raw, line + 1, text.len - len - 1);
    return TL_OK;
}

static int is_fixture(const struct dirent *e) {
    size_t n = strlen(e->d_name);
    return n > 5 && strcmp(e->d_name + n - 5, ".http") == 0;
}

int plain_fixtures_read(const char *folder, struct plain_fixtures *out, struct fail *why) {
    struct dirent **list = NULL;
    int n = scandir(folder, &list, is_fixture, alphasort), rc = TL_OK;
    if (n < 0)
        return fail_errno(why, TL_NOTFOUND, "cannot read the folder %s", folder);
    AUTO_CLOSE int fd = open(folder, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < n; i++) {
        if (!rc)
            rc = add_fixture(out, fd, list[i]->d_name, folder, why);
        free(list[i]);
    }
    free(list);
    return rc;
}

void plain_fixtures_free(struct plain_fixtures *f) {
    for (size_t i = 0; i < f->count; i++) {
        free(f->item[i].url);
        buf_free(&f->item[i].raw);
    }
    free(f->item);
    *f = (struct plain_fixtures){0};
}

/* ---- giving back */

static const struct plain_fixture *find(const struct plain_fixtures *f, const char *url) {
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->item[i].url, url) == 0)
            return &f->item[i];
    return NULL;
}

/* Headers into the answer, as fetch.c does; returns where the body begins. */
static const char *take_head(struct run *r, struct fetch_answer *a, const struct buf *raw) {
    const char *at = raw->data, *end = raw->data + raw->len;
    size_t room = 0;
    for (const char *c = at; c < end; c++)
        room += *c == '\n';
    a->header = arena_alloc(&r->arena, (room + 1) * sizeof *a->header);
    const char *space = memchr(at, ' ', raw->len);
    a->result.status = space ? (int)strtol(space + 1, NULL, 10) : 0;
    while (a->header && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at)), *next = stop ? stop + 1 : end;
        size_t len = (size_t)((stop ? stop : end) - at);
        if (len && at[len - 1] == '\r')
            len--;
        const char *colon = memchr(at, ':', len);
        if (len == 0)
            return next;
        if (colon && at != raw->data) {
            const char *value = colon + 1 + strspn(colon + 1, " \t");
            struct tl_header *h = &a->header[a->header_count++];
            *h = (struct tl_header){arena_text(&r->arena, at, (size_t)(colon - at)),
                                    arena_text(&r->arena, value, (size_t)(at + len - value)), NULL};
            if (!h->name || !h->value)
                return NULL;
        }
        at = next;
    }
    return a->header ? end : NULL;
}

static void spoil(struct plain *p, struct fetch_answer *a, struct buf *body) {
    switch (p->o->fault) {
    case PLAIN_CUT:
        body->len /= 2;
        break;
    case PLAIN_EMPTY:
        body->len = 0;
        break;
    case PLAIN_500:
        a->result.status = 500;
        break;
    case PLAIN_HUGE:
        for (size_t i = 0; i < HUGE_BYTES / 16; i++)
            buf_lit(body, "0123456789abcdef");
        break;
    case PLAIN_GARBAGE:
        for (size_t i = 0; i < body->len; i++)
            body->data[i] = (char)(body->data[i] * 31 + (char)i);
        break;
    default:
        break;
    }
    if (body->data)
        body->data[body->len] = '\0';
}

static int no_memory(struct fetch_answer *a) {
    a->outcome = FETCH_FAILED;
    a->reason = "memory";
    snprintf(a->text, sizeof a->text, "the run's memory is used up");
    return TL_OK;
}

int plain_replay(struct plain *p, struct run *r, const struct tl_request *q, int attach_fd, struct fetch_answer *a) {
    const struct plain_fixture *x =
        p->o->fault == PLAIN_LOOP && p->o->fixtures->count ? &p->o->fixtures->item[0] : find(p->o->fixtures, q->url);
    memset(a, 0, sizeof *a);
    if (p->o->fault == PLAIN_CANCEL || p->fetches > LOOP_MOST) {
        p->cancelled = true;
        a->outcome = FETCH_CANCELLED;
        return TL_CANCEL;
    }
    if (!x) {
        a->outcome = FETCH_FAILED;
        a->reason = "fixture";
        snprintf(a->text, sizeof a->text, "no fixture answers %.300s", q->url);
        return TL_OK;
    }
    a->url = arena_text(&r->arena, q->url, strlen(q->url));
    const char *body = take_head(r, a, &x->raw);
    if (!a->url || !body)
        return no_memory(a);
    buf_add(&a->result.body, body, (size_t)(x->raw.data + x->raw.len - body));
    spoil(p, a, &a->result.body);
    a->result.version = "1.1";
    a->result.body_bytes = (int64_t)a->result.body.len;
    if (attach_fd >= 0 && write(attach_fd, a->result.body.data ? a->result.body.data : "", a->result.body.len) < 0)
        return no_memory(a);
    for (size_t i = 0; i < a->header_count; i++)
        if (strcasecmp(a->header[i].name, "content-type") == 0) {
            a->charset_given = arena_text(&r->arena, a->header[i].value, strlen(a->header[i].value));
            a->media_type = arena_text(&r->arena, a->header[i].value, strcspn(a->header[i].value, "; "));
        }
    AUTO_BUF struct buf meta = BUF_INIT;
    struct json_writer w = JSON_WRITER(&meta);
    json_object_begin(&w);
    json_member_string(&w, "requested_url", q->url);
    json_member_int(&w, "status", a->result.status);
    json_member_string(&w, "source", "fixture");
    json_object_end(&w);
    a->metadata = (struct tl_span){arena_text(&r->arena, meta.data, meta.len), meta.len};
    a->outcome = FETCH_ANSWER;
    a->requests = 1;
    return a->metadata.ptr ? TL_OK : no_memory(a);
}
