/* fetch_metadata.c - what is recorded of an exchange: the headers of the answer, and metadata.http.
 *
 * Secrets are struck out here, once for everything that is kept. */
#include <strings.h>

#include "net/credential.h"
#include "net/fetch_inside.h"
#include "net/head.h"

enum { HEADERS_MOST = 1000 };

const char *fetch_header(const struct fetch_answer *a, const char *name) {
    for (size_t i = 0; i < a->header_count; i++)
        if (strcasecmp(a->header[i].name, name) == 0)
            return a->header[i].value;
    return NULL;
}

int fetch_split_headers(struct exchange *x) {
    struct fetch_answer *a = x->a;
    const struct buf *lines = &a->result.headers;
    size_t most = 0;
    for (size_t i = 0; i < lines->len && most < HEADERS_MOST; i++)
        most += lines->data[i] == '\n';
    a->header = arena_alloc(x->arena, (most + 1) * sizeof *a->header);
    a->header_count = 0;
    if (!a->header)
        return TL_FAILED;
    const char *at = lines->data, *end = lines->data + lines->len;
    while (at < end && a->header_count < most) { /* lines as head.h makes them */
        const char *stop = memchr(at, '\n', (size_t)(end - at)), *colon = memchr(at, ':', (size_t)(stop - at));
        const char *value = colon + 2 < stop ? colon + 2 : stop;
        struct tl_header *h = &a->header[a->header_count++];
        h->name = arena_text(x->arena, at, (size_t)(colon - at));
        h->value = arena_text(x->arena, value, (size_t)(stop - value));
        h->secret = NULL;
        if (!h->name || !h->value)
            return TL_FAILED;
        at = stop + 1;
    }
    return TL_OK;
}

void fetch_read_content_type(struct exchange *x) {
    const char *value = fetch_header(x->a, "content-type");
    if (!value)
        return;
    size_t len = strcspn(value, ";, \t");
    char *type = arena_text(x->arena, value, len);
    for (char *c = type; c && *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c + 32);
    x->a->media_type = type && *type ? type : NULL;
    x->a->charset_given = arena_text(x->arena, value, strlen(value)); /* the whole value: charset.h reads it */
}

void fetch_add_header(struct json_writer *w, const char *name, const char *value) {
    json_array_begin(w);
    json_put_text(w, name);
    json_put_text(w, value);
    json_array_end(w);
}

static void add_headers(struct json_writer *w, const struct fetch_answer *a) {
    json_put_key(w, "response_headers");
    json_array_begin(w);
    for (size_t i = 0; i < a->header_count; i++)
        fetch_add_header(w, a->header[i].name,
                         credential_header(span_of(a->header[i].name)) ? "***" : a->header[i].value);
    json_array_end(w);
}

static void add_timings(struct json_writer *w, const struct transfer_result *r) {
    json_put_key(w, "timings_us");
    json_object_begin(w);
    json_member_int(w, "dns", r->dns_us);
    json_member_int(w, "connect", r->connect_us);
    json_member_int(w, "tls", r->tls_us);
    json_member_int(w, "first_byte", r->first_byte_us);
    json_member_int(w, "total", r->total_us);
    json_object_end(w);
}

int fetch_write_metadata(struct exchange *x, const char *requested) {
    struct fetch_answer *a = x->a;
    const struct transfer_result *r = &a->result;
    static const char *const classes[] = {"page", "api", "feed"};
    AUTO_BUF struct buf out = BUF_INIT;
    struct json_writer w = JSON_WRITER(&out);
    buf_reserve(&out, 2000); /* most are shorter */
    json_object_begin(&w);
    json_member_string(&w, "method", x->method);
    json_member_string(&w, "requested_url", requested);
    json_member_string(&w, "final_url", a->url);
    json_member_raw(&w, "chain", buf_span(&x->chain_text));
    json_put_key(&w, "status");
    r->status ? json_put_int(&w, r->status) : json_put_null(&w);
    json_member_string(&w, "version", r->version);
    json_member_string(&w, "class", classes[x->q->kind <= TL_FEED_REQUEST ? x->q->kind : 0]);
    json_member_int(&w, "requests", a->requests);
    json_member_raw(&w, "request_headers", x->sent.len ? buf_span(&x->sent) : span_of("[]"));
    add_headers(&w, a);
    json_member_string(&w, x->rule->proxy ? "proxy_address" : "remote_address", r->address[0] ? r->address : NULL);
    json_member_raw(&w, "tls", r->tls.len ? buf_span(&r->tls) : span_of("null"));
    json_member_int(&w, "wire_bytes", r->wire_bytes);
    if (r->truncated)
        json_member_bool(&w, "truncated", true);
    if (x->struck)
        json_member_int(&w, "struck_out", x->struck);
    if (r->coding[0]) /* the bytes are as they came: nobody here knows how to undo it */
        json_member_string(&w, "coding_kept", r->coding);
    add_timings(&w, r);
    json_member_string(&w, "etag", fetch_header(a, "etag"));
    json_member_string(&w, "last_modified", fetch_header(a, "last-modified"));
    json_object_end(&w);
    char *copy = arena_text(x->arena, out.data, out.len);
    a->metadata = (struct tl_span){copy, copy ? out.len : 0};
    return copy ? TL_OK : TL_FAILED;
}
