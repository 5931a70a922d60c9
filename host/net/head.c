/* head.c - see head.h. */
#include "net/head.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

void head_begin(struct head *h, struct buf *lines) {
    *h = (struct head){.lines = lines, .length = -1};
    buf_reset(lines);
}

TL_PRINTF(2, 3) static int fault(struct head *h, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(h->fault, sizeof h->fault, fmt, ap);
    va_end(ap);
    for (char *c = h->fault; *c; c++) /* part of it came from outside */
        if (*c < ' ' || *c > '~')
            *c = '?';
    return TL_INVALID;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static struct tl_span trim(struct tl_span s) {
    while (s.len && is_blank(s.ptr[0])) {
        s.ptr++;
        s.len--;
    }
    while (s.len && is_blank(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

static bool is_named(struct tl_span name, const char *lower) {
    return name.len == strlen(lower) && strncasecmp(name.ptr, lower, name.len) == 0;
}

/* The next part of a list with commas; false at its end. */
static bool next_part(struct tl_span *list, struct tl_span *part) {
    if (!list->ptr)
        return false;
    const char *comma = memchr(list->ptr, ',', list->len);
    size_t len = comma ? (size_t)(comma - list->ptr) : list->len;
    *part = trim((struct tl_span){list->ptr, len});
    *list = comma ? (struct tl_span){comma + 1, list->len - len - 1} : (struct tl_span){NULL, 0};
    return true;
}

static int read_length(struct head *h, struct tl_span value) {
    struct tl_span part;
    while (next_part(&value, &part)) {
        int64_t n = 0;
        if (part.len == 0 || part.len > 18)
            return fault(h, "its Content-Length is no length: %.*s", (int)(part.len < 40 ? part.len : 40), part.ptr);
        for (size_t i = 0; i < part.len; i++) {
            if (part.ptr[i] < '0' || part.ptr[i] > '9')
                return fault(h, "its Content-Length is no length: %.*s", (int)part.len, part.ptr);
            n = n * 10 + (part.ptr[i] - '0');
        }
        if (h->length >= 0 && h->length != n)
            return fault(h, "it has two lengths: Content-Length says %lld and %lld", (long long)h->length,
                         (long long)n);
        h->length = n;
    }
    return TL_OK;
}

static int read_coding(struct head *h, struct tl_span value) {
    struct tl_span part;
    while (next_part(&value, &part)) {
        if (h->chunked || !(is_named(part, "chunked") || is_named(part, "identity")))
            return fault(h, "its Transfer-Encoding was not asked for: %.*s", (int)(part.len < 60 ? part.len : 60),
                         part.ptr);
        h->chunked = is_named(part, "chunked");
    }
    return TL_OK;
}

static int status_line(struct head *h, const char *line, size_t len) {
    const char *blank = memchr(line, ' ', len);
    size_t at = blank ? (size_t)(blank - line) : len;
    while (at < len && line[at] == ' ')
        at++;
    h->status = 0;
    h->inside = true;
    for (size_t i = 0; i < 3 && at < len && line[at] >= '0' && line[at] <= '9'; i++, at++)
        h->status = h->status * 10 + (line[at] - '0');
    h->length = -1;
    h->chunked = h->folded = false;
    buf_reset(h->lines);
    if (h->status >= 100 && h->status < 200 && ++h->interim > HEAD_INTERIM_MAX)
        return fault(h, "more than %d interim answers came before the answer", HEAD_INTERIM_MAX);
    return h->status == 101 ? fault(h, "it changes to another protocol unasked (101)") : TL_OK;
}

/* Control characters, which no value may hold, become blanks. */
static void add_value(struct head *h, struct tl_span value) {
    size_t at = h->lines->len;
    buf_add(h->lines, value.ptr, value.len);
    for (size_t i = at; i < h->lines->len; i++)
        if ((unsigned char)h->lines->data[i] < ' ' || h->lines->data[i] == 0x7f)
            h->lines->data[i] = ' ';
}

static bool is_name(struct tl_span name) {
    for (size_t i = 0; i < name.len; i++)
        if ((unsigned char)name.ptr[i] < ' ' || name.ptr[i] == 0x7f)
            return false;
    return name.len > 0;
}

static int field(struct head *h, const char *line, size_t len) {
    const char *colon = memchr(line, ':', len);
    struct tl_span raw = {line, colon ? (size_t)(colon - line) : 0}, name = trim(raw);
    if (!is_name(name))
        return fault(h, "a line of its head is no header: %.*s", (int)(len < 60 ? len : 60), line);
    struct tl_span value = trim((struct tl_span){colon + 1, len - raw.len - 1});
    bool length = is_named(name, "content-length"), coding = is_named(name, "transfer-encoding");
    if ((length || coding) && name.len != raw.len)
        return fault(h, "a blank stands before the colon of its %s", length ? "Content-Length" : "Transfer-Encoding");
    int rc = length ? read_length(h, value) : coding ? read_coding(h, value) : TL_OK;
    if (rc)
        return rc;
    h->folded = !length && !coding;
    buf_add(h->lines, name.ptr, name.len);
    buf_lit(h->lines, ": ");
    add_value(h, value);
    buf_char(h->lines, '\n');
    return TL_OK;
}

/* A line that begins with a blank continues the one before it: obsolete, and one space to us. */
static int fold(struct head *h, const char *line, size_t len) {
    struct tl_span more = trim((struct tl_span){line, len});
    if (!h->folded)
        return fault(h, "a line of its head continues what cannot be continued");
    if (more.len == 0)
        return TL_OK;
    h->lines->data[h->lines->len - 1] = ' ';
    add_value(h, more);
    buf_char(h->lines, '\n');
    return TL_OK;
}

int head_line(struct head *h, const char *line, size_t len) {
    h->bytes += len;
    if (h->bytes > HEAD_MAX)
        return fault(h, "its headers are larger than %d KiB", HEAD_MAX / 1024);
    while (len && (line[len - 1] == '\r' || line[len - 1] == '\n'))
        len--;
    if (h->ended)
        return TL_OK; /* a trailer: it cannot change what was said */
    if (len == 0) {
        h->ended = h->status >= 200;
        h->inside = false;
        return TL_OK;
    }
    if (is_blank(line[0]))
        return fold(h, line, len);
    if (!h->inside && len >= 5 && strncasecmp(line, "HTTP/", 5) == 0)
        return status_line(h, line, len);
    return field(h, line, len);
}

bool head_find(struct tl_span lines, const char *name, size_t *at, struct tl_span *value) {
    size_t len = strlen(name);
    while (*at < lines.len) {
        const char *line = lines.ptr + *at, *stop = memchr(line, '\n', lines.len - *at);
        size_t n = stop ? (size_t)(stop - line) : lines.len - *at;
        *at += n + 1;
        if (n > len && line[len] == ':' && strncasecmp(line, name, len) == 0) {
            *value = trim((struct tl_span){line + len + 1, n - len - 1});
            return true;
        }
    }
    return false;
}

void head_list(struct tl_span lines, const char *name, struct buf *out) {
    struct tl_span value;
    for (size_t at = 0, first = out->len; head_find(lines, name, &at, &value);) {
        if (out->len > first)
            buf_lit(out, ", ");
        buf_add(out, value.ptr, value.len);
    }
}
