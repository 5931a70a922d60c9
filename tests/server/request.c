/* request.c - one HTTP/1.x request: its head, and the framing of its body.
 *
 * Invariant: lines end with CRLF, and a head that is not plainly a request is refused rather than guessed at; a test
 * wants to know. */
#include "fixture.h"

#include <strings.h>

static bool is(struct tl_span s, const char *text) {
    return s.len == strlen(text) && strncasecmp(s.ptr, text, s.len) == 0;
}

static bool has_token(struct tl_span list, const char *token) {
    while (list.len) {
        const char *comma = memchr(list.ptr, ',', list.len);
        size_t n = comma ? (size_t)(comma - list.ptr) : list.len;
        struct tl_span item = {list.ptr, n};
        while (item.len && item.ptr[0] == ' ')
            item.ptr++, item.len--;
        while (item.len && item.ptr[item.len - 1] == ' ')
            item.len--;
        if (is(item, token))
            return true;
        n += comma ? 1 : 0;
        list.ptr += n, list.len -= n;
    }
    return false;
}

static int decimal(struct tl_span s, uint64_t *out) {
    uint64_t n = 0;
    if (!s.len || s.len > 18)
        return TL_INVALID;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return TL_INVALID;
        n = n * 10 + (uint64_t)(s.ptr[i] - '0');
    }
    *out = n;
    return TL_OK;
}

/* Takes one line off; false at the end or when no CRLF is left. */
static bool take_line(struct tl_span *from, struct tl_span *line) {
    const char *end = from->len ? memmem(from->ptr, from->len, "\r\n", 2) : NULL;
    if (!end)
        return false;
    *line = (struct tl_span){from->ptr, (size_t)(end - from->ptr)};
    from->len -= line->len + 2;
    from->ptr = end + 2;
    return true;
}

bool request_next_field(struct tl_span *fields, struct tl_span *name, struct tl_span *value) {
    struct tl_span line;
    if (!take_line(fields, &line) || !line.len)
        return false;
    const char *colon = memchr(line.ptr, ':', line.len);
    size_t n = colon ? (size_t)(colon - line.ptr) : line.len;
    *name = (struct tl_span){line.ptr, n};
    n += colon ? 1 : 0;
    *value = (struct tl_span){line.ptr + n, line.len - n};
    while (value->len && (value->ptr[0] == ' ' || value->ptr[0] == '\t'))
        value->ptr++, value->len--;
    while (value->len && (value->ptr[value->len - 1] == ' ' || value->ptr[value->len - 1] == '\t'))
        value->len--;
    return true;
}

static int read_fields(struct request *r, bool old) {
    struct tl_span left = r->fields, name, value;
    bool keep = false, has_length = false;
    while (request_next_field(&left, &name, &value)) {
        if (!name.len || memchr(name.ptr, ' ', name.len) || name.ptr[name.len] != ':')
            return TL_INVALID;
        if (is(name, "host"))
            r->host = value;
        else if (is(name, "if-none-match"))
            r->none_match = value;
        else if (is(name, "if-modified-since"))
            r->modified_since = value;
        else if (is(name, "expect"))
            r->expects = is(value, "100-continue");
        else if (is(name, "transfer-encoding"))
            r->chunked = has_token(value, "chunked");
        else if (is(name, "connection")) {
            r->close = r->close || has_token(value, "close");
            keep = keep || has_token(value, "keep-alive");
        } else if (is(name, "content-length")) {
            uint64_t n;
            if (decimal(value, &n) < 0 || (has_length && n != r->body_left))
                return TL_INVALID;
            r->body_left = n;
            has_length = true;
        }
    }
    if (old && !keep)
        r->close = true;
    return r->chunked && has_length ? TL_INVALID : TL_OK;
}

int request_parse(const char *ptr, size_t len, struct request *out) {
    struct tl_span all = {ptr, len}, line;
    struct request r = {0};
    if (!take_line(&all, &line))
        return TL_INVALID;
    const char *one = memchr(line.ptr, ' ', line.len);
    if (!one || one == line.ptr)
        return TL_INVALID;
    r.method = (struct tl_span){line.ptr, (size_t)(one - line.ptr)};
    struct tl_span rest = {one + 1, line.len - r.method.len - 1};
    const char *two = memchr(rest.ptr, ' ', rest.len);
    if (!two || two == rest.ptr)
        return TL_INVALID;
    r.target = (struct tl_span){rest.ptr, (size_t)(two - rest.ptr)};
    struct tl_span version = {two + 1, rest.len - r.target.len - 1};
    bool old = span_eq(version, "HTTP/1.0");
    if (!old && !span_eq(version, "HTTP/1.1"))
        return TL_INVALID;
    r.fields = all;
    int rc = read_fields(&r, old);
    if (rc == TL_OK)
        *out = r;
    return rc;
}

static void body_bytes(struct request *r, const char *ptr, size_t len) {
    if (r->body_seen < sizeof r->body_head) {
        size_t room = sizeof r->body_head - (size_t)r->body_seen;
        memcpy(r->body_head + r->body_seen, ptr, len < room ? len : room);
    }
    r->body_seen += len;
}

/* Takes as much of the current chunk or of a Content-Length as has come. */
static void body_data(struct request *r, struct tl_span *left) {
    size_t n = left->len < r->body_left ? left->len : (size_t)r->body_left;
    if (n)
        body_bytes(r, left->ptr, n);
    left->ptr += n, left->len -= n;
    r->body_left -= n;
}

static int chunk_size(struct tl_span line, uint64_t *out) {
    uint64_t n = 0;
    size_t i = 0;
    for (; i < line.len && i < 15; i++) {
        char c = line.ptr[i];
        int d = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
        if (d < 0)
            break;
        n = n << 4 | (uint64_t)d;
    }
    if (!i || (i < line.len && line.ptr[i] != ';' && line.ptr[i] != ' '))
        return TL_INVALID;
    *out = n;
    return TL_OK;
}

int request_body(struct request *r, struct tl_span in, size_t *taken) {
    struct tl_span left = in, line;
    int rc = 0;
    if (!r->chunked) {
        body_data(r, &left);
        rc = r->body_left == 0;
    }
    while (r->chunked && rc == 0) {
        if (r->chunk_state == CHUNK_DATA) {
            body_data(r, &left);
            if (r->body_left)
                break;
            r->chunk_state = CHUNK_END;
        }
        if (!take_line(&left, &line)) {
            rc = left.len > 4096 ? TL_INVALID : 0;
            break;
        }
        if (r->chunk_state == CHUNK_SIZE) {
            if (chunk_size(line, &r->body_left) < 0)
                return TL_INVALID;
            r->chunk_state = r->body_left ? CHUNK_DATA : CHUNK_TRAILER;
        } else if (r->chunk_state == CHUNK_END) {
            if (line.len)
                return TL_INVALID;
            r->chunk_state = CHUNK_SIZE;
        } else if (!line.len)
            rc = 1;
    }
    *taken = in.len - left.len;
    return rc;
}
