/* site.c - the built-in sites tree and graph, and what all sites have in common.
 *
 * Invariant: the same options give the same bytes, and no request changes what a later one gets (the one page of the
 * linked site that fails at first excepted). */
#include "fixture.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"

#define HTML "text/html; charset=utf-8"

uint64_t site_mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

int site_prepare(struct site *s, const char **why) {
    *why = NULL;
    if (s->kind == SITE_TREE && (s->arity < 1 || s->arity > 10000 || s->depth > 60))
        *why = "--arity must be 1 to 10000, --depth at most 60";
    if (s->kind == SITE_LINKED && (s->pages < KAYAK_MIN || s->pages > KAYAK_MAX))
        *why = "--pages must be 16 to 10000";
    if (s->kind == SITE_GRAPH && (s->kids < 1 || s->kids > 10000 || s->cross > 10000 || s->nodes > (uint64_t)1 << 48))
        *why = "--kids must be 1 to 10000, --cross at most 10000";
    if (s->filler > 64 << 20 || s->bytes > 64 << 20)
        *why = "--filler and --bytes are at most 64M";
    if (!*why && s->kind == SITE_LINKED)
        kayak_prepare(s);
    return *why ? TL_INVALID : TL_OK;
}

void site_missing(const struct request *q, struct reply *r) {
    buf_lit(&r->own, "<!DOCTYPE html>\n<title>no such page</title>\n<p>There is no such page.</p>\n");
    reply_simple(r, q, 404, HTML, "");
}

/* A decimal number without needless zeros, below `below`; *s moves behind it. */
static bool take_number(struct tl_span *s, uint64_t below, uint64_t *out) {
    uint64_t n = 0;
    size_t i = 0;
    for (; i < s->len && i < 18 && s->ptr[i] >= '0' && s->ptr[i] <= '9'; i++)
        n = n * 10 + (uint64_t)(s->ptr[i] - '0');
    if (!i || (i > 1 && s->ptr[0] == '0') || n >= below)
        return false;
    s->ptr += i, s->len -= i;
    *out = n;
    return true;
}

static void filler(struct buf *out, uint64_t n) {
    static const char text[] = "lorem ipsum dolor sit amet, \n";
    static struct buf block; /* many of them: appended line by line it would be half the cost of a page */
    while (block.len < 4096)
        buf_add(&block, text, sizeof text - 1);
    for (uint64_t left = n; left;) {
        size_t step = left < block.len ? (size_t)left : block.len;
        buf_add(out, block.data, step);
        left -= step;
    }
}

/* ---- tree: /, /n-0 … /n-0-1 …; every page links its children and the start */

/* The level of a path of the tree; false when there is no such page. */
static bool tree_level(const struct site *s, struct tl_span path, uint64_t *level) {
    uint64_t n;
    *level = 0;
    if (span_eq(path, "/"))
        return true;
    if (path.len < 4 || memcmp(path.ptr, "/n", 2) != 0)
        return false;
    path.ptr += 2, path.len -= 2;
    while (path.len) {
        if (*path.ptr != '-' || *level == s->depth)
            return false;
        path.ptr++, path.len--;
        ++*level;
        if (!take_number(&path, s->arity, &n))
            return false;
    }
    return true;
}

static void tree_answer(const struct site *s, const struct request *q, struct reply *r) {
    uint64_t level;
    struct buf *b = &r->own;
    struct tl_span path = q->target, stem = span_eq(path, "/") ? span_of("/n") : path;
    if (!tree_level(s, path, &level)) {
        site_missing(q, r);
        return;
    }
    buf_lit(b, "<!DOCTYPE html>\r\n<html><head><meta charset=\"utf-8\"><title>page ");
    buf_add(b, path.ptr, path.len);
    buf_lit(b, "</title></head><body>\n<h1>page ");
    buf_add(b, path.ptr, path.len);
    buf_lit(b, "</h1>\n<p>");
    filler(b, s->filler);
    buf_lit(b, "</p>\n");
    for (uint64_t i = 0; level < s->depth && i < s->arity; i++)
        buf_printf(b, "<p><a href=\"%.*s-%" PRIu64 "\">to %" PRIu64 "</a></p>\n", (int)stem.len, stem.ptr, i, i);
    buf_lit(b, "<p><a href=\"/\">to /</a></p>\n</body></html>\n");
    r->delay_us = s->delay_us;
    reply_simple(r, q, 200, HTML, "Cache-Control: no-store\r\n");
}

/* ---- graph: node ID links its children ID*kids+1 … and some nodes anywhere; / is node 0 */

static void graph_body(const struct site *s, uint64_t id, struct buf *b) {
    buf_printf(
        b, "<!DOCTYPE html><html><head><meta charset=\"utf-8\"><title>node %" PRIu64 "</title></head><body><ul>\n", id);
    for (uint64_t i = 1; i <= s->kids; i++) {
        uint64_t to = id * s->kids + i;
        if (s->nodes && to >= s->nodes)
            break;
        buf_lit(b, "<li><a href=\"/n/");
        buf_int(b, (int64_t)to);
        buf_lit(b, ".html\">c");
        buf_int(b, (int64_t)i);
        buf_lit(b, "</a></li>\n");
    }
    for (uint64_t i = 0; i < s->cross; i++) {
        uint64_t to = site_mix(id * 131 + i), below = s->nodes ? s->nodes : id;
        to = below ? to % below : 0;
        buf_lit(b, "<li><a href=\"/n/");
        buf_int(b, (int64_t)to);
        buf_lit(b, ".html#s");
        buf_int(b, (int64_t)i);
        buf_lit(b, "\">x");
        buf_int(b, (int64_t)i);
        buf_lit(b, "</a></li>\n");
    }
    buf_lit(b, "</ul><p>");
    if (b->len + 20 < s->bytes)
        filler(b, s->bytes - 20 - b->len);
    buf_lit(b, "</p></body></html>\n");
}

static void graph_answer(const struct site *s, const struct request *q, struct reply *r) {
    struct tl_span path = q->target;
    uint64_t id = 0, below = s->nodes ? s->nodes : (uint64_t)1 << 48;
    char etag[32], fields[64];
    if (!span_eq(path, "/")) {
        if (path.len < 9 || memcmp(path.ptr, "/n/", 3) != 0) {
            site_missing(q, r);
            return;
        }
        path.ptr += 3, path.len -= 3;
        if (!take_number(&path, below, &id) || !span_eq(path, ".html")) {
            site_missing(q, r);
            return;
        }
    }
    snprintf(etag, sizeof etag, "\"g%" PRIx64 "\"", site_mix(id));
    snprintf(fields, sizeof fields, "ETag: %s\r\n", etag);
    r->delay_us = s->delay_us;
    if (span_eq(q->none_match, etag)) {
        reply_simple(r, q, 304, HTML, fields);
        return;
    }
    graph_body(s, id, &r->own);
    reply_simple(r, q, 200, HTML, fields);
}

void site_answer(const struct site *s, const struct request *q, uint64_t nth, struct reply *r) {
    switch (s->kind) {
    case SITE_TREE:
        tree_answer(s, q, r);
        break;
    case SITE_LINKED:
        kayak_answer(s, q, nth, r);
        break;
    case SITE_GRAPH:
        graph_answer(s, q, r);
        break;
    case SITE_NONE:
        site_missing(q, r);
        break;
    }
}
