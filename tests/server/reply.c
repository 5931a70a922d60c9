/* reply.c - one answer: its head, the pieces of its body, and how it is to go wrong.
 *
 * Invariant: pieces that point elsewhere point at memory that lives as long as the process; everything else is in
 * `own`. */
#include "fixture.h"

#include <strings.h>

#include "base/mem.h"

void reply_reset(struct reply *r) {
    struct reply fresh = {.head = r->head, .own = r->own, .pieces = r->pieces, .room = r->room, .limit = ENDLESS};
    *r = fresh;
    buf_shrink(&r->head, 64 << 10);
    buf_shrink(&r->own, 64 << 10);
}

void reply_free(struct reply *r) {
    buf_free(&r->head);
    buf_free(&r->own);
    free(r->pieces);
    *r = (struct reply){0};
}

void reply_piece(struct reply *r, struct piece p) {
    MEM_GROW(r->pieces, r->count, r->room);
    r->pieces[r->count++] = p;
}

uint64_t reply_total(const struct reply *r) {
    uint64_t sum = 0;
    for (size_t i = 0; i < r->count; i++) {
        if (r->pieces[i].total > ENDLESS - 1 - sum)
            return ENDLESS;
        sum += r->pieces[i].total;
    }
    return sum;
}

static const struct {
    int status;
    const char *reason;
} reasons[] = {
    {200, "OK"},
    {201, "Created"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {410, "Gone"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {451, "Unavailable For Legal Reasons"},
    {500, "Internal Server Error"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
};

const char *reply_reason(int status) {
    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Unnamed";
}

void reply_simple(struct reply *r, const struct request *q, int status, const char *type, const char *fields) {
    r->status = status;
    r->page = strncasecmp(type, "text/html", 9) == 0;
    r->end = q->close ? END_CLOSE : END_KEEP;
    buf_lit(&r->head, "HTTP/1.1 ");
    buf_int(&r->head, status);
    buf_char(&r->head, ' ');
    buf_text(&r->head, reply_reason(status));
    if (status != 304) {
        buf_lit(&r->head, "\r\nContent-Type: ");
        buf_text(&r->head, type);
        buf_lit(&r->head, "\r\nContent-Length: ");
        buf_int(&r->head, (int64_t)r->own.len);
        if (r->own.len && !span_eq(q->method, "HEAD"))
            reply_piece(r, (struct piece){PIECE_OWN, NULL, 0, r->own.len, r->own.len});
    }
    buf_lit(&r->head, "\r\n");
    buf_text(&r->head, fields);
    if (q->close)
        buf_lit(&r->head, "Connection: close\r\n");
    buf_lit(&r->head, "\r\n");
}

void reply_json_text(struct buf *out, struct tl_span text) {
    buf_char(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c < 32 || c > 126)
            buf_printf(out, "\\u%04x", (unsigned)c); /* bytes above 126 as Latin-1: no test needs more */
        else
            buf_char(out, (char)c);
    }
    buf_char(out, '"');
}
