/* fetch_secret.c - what a request says only on the wire, and what of it an answer repeats.
 *
 * Invariant: parameters and form fields (tl_request.query, .form) are added to what is sent and to nothing else: the
 * URL of the exchange, by which everything is recorded, never has them. They go to the first origin only, those with a
 * secret only if it is bound to that origin. With TL_STRIKE an answer that repeats a credential has asterisks there, as
 * many as it had bytes, before anybody else reads it. */
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/mem.h"
#include "net/credential.h"
#include "net/fetch_inside.h"

enum { PARAMETERS_MOST = 100, STRIKE_LEAST = 4 }; /* a shorter credential is part of too many words */

static void encode(struct buf *out, const char *text) {
    static const char hex[] = "0123456789ABCDEF";
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if ((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || strchr("-._~", c)) {
            buf_char(out, (char)c);
        } else {
            buf_char(out, '%');
            buf_char(out, hex[c >> 4]);
            buf_char(out, hex[c & 15]);
        }
    }
}

static const char *secret_of(struct exchange *x, const struct tl_header *h) {
    return h->secret && x->env->secret ? x->env->secret(x->env->ctx, h->secret, span_of(x->first_origin)) : NULL;
}

static int add_fields(struct exchange *x, const struct tl_header *field, size_t count, struct buf *out) {
    for (size_t i = 0; i < count && i < PARAMETERS_MOST; i++) {
        const char *secret = secret_of(x, &field[i]);
        if (!field[i].name || (field[i].secret && !secret))
            continue; /* not for this origin: its name is not sent either */
        if (out->len && out->data[out->len - 1] != '?')
            buf_char(out, '&');
        encode(out, field[i].name);
        buf_char(out, '=');
        encode(out, field[i].value ? field[i].value : "");
        encode(out, secret ? secret : "");
    }
    return out->full ? TL_FAILED : TL_OK;
}

static bool is_given(const struct tl_request *q, const char *part, size_t len) {
    const char *equals = memchr(part, '=', len);
    size_t name_len = equals ? (size_t)(equals - part) : len;
    for (size_t i = 0; i < q->query_count && i < PARAMETERS_MOST; i++)
        if (q->query[i].name && strlen(q->query[i].name) == name_len && memcmp(q->query[i].name, part, name_len) == 0)
            return true;
    return false;
}

/* The URL without parameters of the same names: a server's own next page may have them, struck out. */
static int write_url(struct exchange *x, struct buf *out) {
    const char *at = x->href.data, *mark = strchr(at, '?'), *end = at + strcspn(at, "#");
    if (!mark || mark > end)
        mark = end;
    buf_add(out, at, (size_t)(mark - at));
    buf_char(out, '?');
    for (at = mark < end ? mark + 1 : end; at < end;) {
        const char *stop = memchr(at, '&', (size_t)(end - at));
        size_t len = (size_t)((stop ? stop : end) - at);
        if (len && !is_given(x->q, at, len)) {
            if (out->data[out->len - 1] != '?')
                buf_char(out, '&');
            buf_add(out, at, len);
        }
        at += len + (stop != NULL);
    }
    return add_fields(x, x->q->query, x->q->query_count, out);
}

int fetch_wire(struct exchange *x, struct buf *url, struct buf *form) {
    bool has_body = strcmp(x->method, "GET") != 0 && strcmp(x->method, "HEAD") != 0;
    int rc = TL_OK;
    if (x->left_origin)
        return TL_OK;
    if (x->q->query_count && x->q->query)
        rc = write_url(x, url);
    if (!rc && x->q->form_count && x->q->form && has_body)
        rc = add_fields(x, x->q->form, x->q->form_count, form);
    return rc;
}

/* ---- striking out */

static void strike_in(struct exchange *x, char *text, size_t len, struct tl_span word) {
    for (char *end = text + len, *at = text;
         word.len >= STRIKE_LEAST && (at = memmem(at, (size_t)(end - at), word.ptr, word.len)) != NULL;
         at += word.len) {
        memset(at, '*', word.len);
        x->struck++;
    }
}

static void strike_word(struct exchange *x, struct tl_span word) {
    struct fetch_answer *a = x->a;
    for (size_t i = 0; i < a->header_count; i++) /* in the arena, and ours */
        strike_in(x, (char *)(uintptr_t)a->header[i].value, strlen(a->header[i].value), word);
    if (a->result.body.len)
        strike_in(x, a->result.body.data, a->result.body.len, word);
}

/* As it is, as it stands in a URL, and as JSON may escape it. */
static void strike_text(struct exchange *x, const char *text) {
    AUTO_BUF struct buf url = BUF_INIT, json = BUF_INIT;
    encode(&url, text);
    for (const char *c = text; *c; c++) {
        if (strchr("\\/\"", *c))
            buf_char(&json, '\\');
        buf_char(&json, *c);
    }
    strike_word(x, span_of(text));
    if (url.len && !span_eq(buf_span(&url), text))
        strike_word(x, buf_span(&url));
    if (json.len && !span_eq(buf_span(&json), text))
        strike_word(x, buf_span(&json));
    if (url.len)
        explicit_bzero(url.data, url.len);
    if (json.len)
        explicit_bzero(json.data, json.len);
}

/* A name and a password that went encoded come back like that, too. */
static void strike_basic(struct exchange *x, const char *user, const char *secret) {
    AUTO_BUF struct buf plain = BUF_INIT, coded = BUF_INIT;
    buf_text(&plain, user);
    buf_text(&plain, secret);
    hash_base64(&coded, plain.data, plain.len);
    strike_word(x, buf_span(&coded));
    explicit_bzero(plain.data, plain.len);
    explicit_bzero(coded.data, coded.len);
}

static void strike_header(struct exchange *x, const struct tl_header *h) {
    const char *secret = secret_of(x, h), *value = h->value ? h->value : "";
    if (secret) {
        if (strncasecmp(value, "Basic ", 6) == 0 && value[6])
            strike_basic(x, value + 6, secret);
        strike_text(x, secret);
    } else if (!h->secret && h->name && credential_header(span_of(h->name)) && !strstr(value, "secret:")) {
        const char *blank = strrchr(value, ' ');
        strike_text(x, blank ? blank + 1 : value);
    }
}

void fetch_strike(struct exchange *x) {
    const struct tl_request *q = x->q;
    const char *secret;
    if (!(q->flags & TL_STRIKE))
        return;
    for (size_t i = 0; i < q->header_count; i++)
        strike_header(x, &q->headers[i]);
    for (size_t i = 0; i < q->query_count && i < PARAMETERS_MOST; i++)
        if ((secret = secret_of(x, &q->query[i])) != NULL)
            strike_text(x, secret);
    for (size_t i = 0; i < q->form_count && i < PARAMETERS_MOST; i++)
        if ((secret = secret_of(x, &q->form[i])) != NULL)
            strike_text(x, secret);
}
