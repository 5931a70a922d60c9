/* script_answer.c - answers requests by the script.
 *
 * Invariant: the n-th request gets the n-th answer of its rule, the last one for ever after; under a prefix every path
 * counts by itself. */
#include <inttypes.h>
#include <strings.h>

#include "script.h"

static bool fits(const struct rule *r, const struct request *q) {
    size_t n = strlen(r->path);
    if (r->prefix ? q->target.len < n : q->target.len != n)
        return false;
    if (memcmp(r->path, q->target.ptr, n) != 0 || (r->method && !span_eq(q->method, r->method)))
        return false;
    if (!r->host)
        return true;
    const char *colon = q->host.len ? memrchr(q->host.ptr, ':', q->host.len) : NULL;
    size_t len = colon ? (size_t)(colon - q->host.ptr) : q->host.len;
    return strlen(r->host) == len && strncasecmp(r->host, q->host.ptr, len) == 0;
}

static const struct field *own_field(const struct answer *a, const char *name) {
    for (size_t i = 0; i < a->field_count; i++)
        if (strcasecmp(a->fields[i].name, name) == 0)
            return &a->fields[i];
    return NULL;
}

/* The value of a header of the answer; empty when it has none. */
static struct tl_span field_value(const struct field *f, const struct filling *with, struct buf *out) {
    if (!f)
        return span_of("");
    template_text(&f->value, with, out);
    struct tl_span s = buf_span(out);
    size_t skip = strlen(f->name) + 1;
    skip += skip < s.len && s.ptr[skip] == ' ';
    return skip < s.len ? (struct tl_span){s.ptr + skip, s.len - skip} : span_of("");
}

/* Whether a `validate` answer is the one that the client has already. */
static bool unchanged(const struct answer *a, const struct request *q, const struct filling *f) {
    AUTO_BUF struct buf etag = BUF_INIT, date = BUF_INIT;
    struct tl_span e = field_value(own_field(a, "ETag"), f, &etag),
                   d = field_value(own_field(a, "Last-Modified"), f, &date);
    if (q->none_match.len)
        return e.len == q->none_match.len && memcmp(e.ptr, q->none_match.ptr, e.len) == 0;
    return d.len && d.len == q->modified_since.len && memcmp(d.ptr, q->modified_since.ptr, d.len) == 0;
}

static void echo_body(const struct request *q, struct buf *out) {
    struct tl_span left = q->fields, name, value;
    buf_lit(out, "{\"method\":");
    reply_json_text(out, q->method);
    buf_lit(out, ",\"target\":");
    reply_json_text(out, q->target);
    buf_lit(out, ",\"headers\":[");
    for (bool first = true; request_next_field(&left, &name, &value); first = false) {
        buf_text(out, first ? "[" : ",[");
        reply_json_text(out, name);
        buf_char(out, ',');
        reply_json_text(out, value);
        buf_char(out, ']');
    }
    buf_printf(out, "],\"body_bytes\":%" PRIu64 ",\"body_head\":\"", q->body_seen);
    for (size_t i = 0; i < sizeof q->body_head && i < q->body_seen; i++)
        buf_printf(out, "%02x", (unsigned)q->body_head[i]);
    buf_lit(out, "\"}\n");
}

/* Pareto with exponent 1: min/u, cut at max. It depends on the request alone, not on when it comes. */
static uint64_t tail_us(const struct answer *a, const struct filling *f) {
    uint64_t h = a->tail_seed ^ f->count * 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < f->path.len; i++)
        h = (h ^ (unsigned char)f->path.ptr[i]) * 0x100000001b3u;
    double u = (double)((site_mix(h) >> 11) + 1) / 9007199254740992.0, ms = (double)a->tail_min / u;
    return (uint64_t)((ms < (double)a->tail_max ? ms : (double)a->tail_max) * 1000);
}

/* The headers that a proper answer has and the script did not give. */
static void own_headers(const struct answer *a, const struct request *q, const struct filling *f, struct reply *r) {
    bool bodiless = r->status == 204 || r->status == 304 || r->status < 200;
    uint64_t total = reply_total(r);
    for (size_t i = 0; i < a->field_count; i++) {
        template_text(&a->fields[i].value, f, &r->head);
        buf_lit(&r->head, "\r\n");
    }
    if (a->bare)
        return;
    if (!bodiless && !own_field(a, "Content-Type"))
        buf_text(&r->head,
                 a->echo ? "Content-Type: application/json\r\n" : "Content-Type: text/html; charset=utf-8\r\n");
    if (r->chunk && !own_field(a, "Transfer-Encoding"))
        buf_lit(&r->head, "Transfer-Encoding: chunked\r\n");
    if (!bodiless && !r->chunk && total != ENDLESS && !own_field(a, "Content-Length"))
        buf_printf(&r->head, "Content-Length: %" PRId64 "\r\n", (int64_t)total + a->length_shift);
    if ((a->close || q->close) && !own_field(a, "Connection"))
        buf_lit(&r->head, "Connection: close\r\n");
}

static void compose(const struct answer *a, const struct request *q, const struct filling *f, struct reply *r) {
    r->status = a->validate && unchanged(a, q, f) ? 304 : (int)a->status;
    if (a->echo)
        echo_body(q, &r->own);
    if (a->echo)
        reply_piece(r, (struct piece){PIECE_OWN, NULL, 0, r->own.len, r->own.len});
    if (r->status != 304 && r->status != 204)
        template_body(&a->body, f, r);
    r->chunk = r->status == 304 || r->status == 204 ? 0 : (size_t)a->chunk;
    buf_text(&r->head, a->version);
    buf_printf(&r->head, " %d ", r->status);
    buf_text(&r->head, a->reason ? a->reason : reply_reason(r->status));
    buf_lit(&r->head, "\r\n");
    own_headers(a, q, f, r);
    buf_lit(&r->head, "\r\n");
    AUTO_BUF struct buf type = BUF_INIT;
    const struct field *given = own_field(a, "Content-Type");
    struct tl_span t = field_value(given, f, &type);
    r->page = given ? t.len >= 9 && strncasecmp(t.ptr, "text/html", 9) == 0 : !a->bare && !a->echo;
    if (span_eq(q->method, "HEAD")) {
        r->count = 0;
        r->chunk = 0;
    }
}

/* The status that raw bytes begin with; 0 when they begin with something else. */
static int raw_status(const struct template *t) {
    const char *p = t->count && t->parts[0].kind == PART_TEXT && t->parts[0].len >= 12 ? t->parts[0].text : "";
    uint64_t n;
    char text[4] = "";
    if (strncmp(p, "HTTP/1.", 7) != 0)
        return 0;
    memcpy(text, p + 9, 3);
    return script_number(text, 999, &n) < 0 ? 0 : (int)n;
}

static void give(const struct answer *a, const struct request *q, const struct filling *f, struct reply *r) {
    r->chunk = 0;
    r->end = END_KEEP;
    if (a->raw) {
        template_body(&a->body, f, r);
        r->status = raw_status(&a->body);
        r->end = a->keep ? END_KEEP : END_CLOSE;
    } else {
        compose(a, q, f, r);
        /* without a length only the end of the connection ends the body */
        bool open = !own_field(a, "Content-Length") && !r->chunk && a->bare && r->count;
        r->end = a->close || q->close || a->length_shift > 0 || (open && !a->keep) ? END_CLOSE : END_KEEP;
    }
    r->trailer = a->trailer.len ? &a->trailer : NULL;
    r->limit = a->limit;
    if (a->end)
        r->end = a->end;
    r->at_once = a->at_once;
    if (a->at_once)
        r->status = 0;
    r->delay_us = a->delay_ms * 1000 + (a->tail_max ? tail_us(a, f) : 0);
    r->gate = a->gate;
    r->drip = (size_t)a->drip;
    r->drip_us = a->drip_ms * 1000;
    r->drip_head = a->drip_head;
}

bool script_answer(struct request *q, uint64_t nth, struct reply *r) {
    for (size_t i = 0; i < script_rule_count; i++) {
        struct rule *rule = &script_rules[i];
        if (!fits(rule, q))
            continue;
        size_t n = strlen(rule->path);
        struct filling f = {q->target, {q->target.ptr + n, q->target.len - n}, q->host, ++rule->asked};
        if (rule->prefix && nth)
            f.count = nth;
        size_t at = f.count > rule->count ? rule->count : (size_t)f.count;
        give(&rule->answers[at - 1], q, &f, r);
        return true;
    }
    return false;
}

void script_reset(void) {
    for (size_t i = 0; i < script_rule_count; i++)
        script_rules[i].asked = 0;
}
