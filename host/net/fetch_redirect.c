/* fetch_redirect.c - redirects by our own hand: every hop is a request that is checked like the first, and none is made
 * twice. */
#include <stdio.h>

#include "net/fetch_inside.h"

bool fetch_is_redirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* A Location in another character set than UTF-8 names what its bytes name: those that are not ASCII are escaped one by
 * one. */
static struct tl_span escaped(const char *location, struct buf *out) {
    struct tl_span plain = span_of(location);
    bool ascii = true;
    for (const char *c = location; *c; c++)
        ascii = ascii && (unsigned char)*c < 0x80;
    if (ascii)
        return plain;
    for (const char *c = location; *c; c++)
        buf_printf(out, (unsigned char)*c < 0x80 ? "%c" : "%%%02X", (unsigned char)*c);
    return buf_span(out);
}

/* User information is never sent: credentials are secrets, and those go where they are configured to go. */
static int without_user(struct buf *href, struct url *url) {
    AUTO_BUF struct buf text = BUF_INIT;
    if (url->username.len == 0 && url->password.len == 0)
        return TL_OK;
    url_origin(&text, url);
    buf_add(&text, url->path.ptr, (size_t)(url->href.ptr + url->href.len - url->path.ptr));
    return url_parse(href, buf_span(&text), NULL, url);
}

int fetch_set_url(struct exchange *x, struct tl_span ref, const struct url *base) {
    struct buf href = BUF_INIT;
    struct url url;
    int rc = url_resolve(&href, base, ref, false, &url);
    if (!rc && (span_eq(url.scheme, "http") || span_eq(url.scheme, "https")))
        rc = without_user(&href, &url);
    if (rc) {
        buf_free(&href);
        return TL_INVALID;
    }
    buf_free(&x->href);
    x->href = href;
    x->url = url;
    x->rule = host_rule_find(&x->f->policy.rules, url.host, url_effective_port(&url));
    return TL_OK;
}

/* POST becomes GET where it always did; 303 makes everything a GET but HEAD. RFC 9110, 15.4. */
static void change_method(struct exchange *x, int status) {
    bool post = strcmp(x->method, "POST") == 0, head = strcmp(x->method, "HEAD") == 0;
    if ((status == 303 && !head) || ((status == 301 || status == 302) && post)) {
        x->method = "GET";
        x->body = (struct tl_span){"", 0};
    }
}

static bool visited(struct exchange *x) {
    AUTO_BUF struct buf hop = BUF_INIT;
    fetch_add_hop(x, &hop);
    for (const char *at = x->visited.data, *end; at && *at; at = end + 1) {
        end = strchr(at, '\n');
        if ((size_t)(end - at) + 1 == hop.len && memcmp(at, hop.data, hop.len) == 0)
            return true;
    }
    return false;
}

int fetch_follow(struct exchange *x, int64_t hops) {
    struct fetch_answer *a = x->a;
    const char *location = fetch_header(a, "location");
    int status = a->result.status;
    if (a->result.error != TRANSFER_OK || !fetch_is_redirect(status) || !location)
        return TL_NOTFOUND;
    json_object_begin(&x->chain);
    json_member_string(&x->chain, "url", x->href.data);
    json_member_int(&x->chain, "status", status);
    json_member_string(&x->chain, "location", location);
    json_object_end(&x->chain);
    buf_add(&x->visited, x->hop.data, x->hop.len);
    if (hops >= x->f->policy.max_redirects)
        return fetch_fail(x, "redirects", "more than %d redirects, the last to %.200s", (int)x->f->policy.max_redirects,
                          location);
    AUTO_BUF struct buf own = BUF_INIT, text = BUF_INIT, origin = BUF_INIT;
    struct url base;
    if (url_parse(&own, buf_span(&x->href), NULL, &base) || fetch_set_url(x, escaped(location, &text), &base))
        return fetch_fail(x, "redirects", "redirected to what is no URL: %.200s", location);
    change_method(x, status);
    if ((status == 301 || status == 308) && x->env->moved)
        x->env->moved(x->env->ctx, own.data, x->href.data);
    if (visited(x))
        return fetch_fail(x, "redirects", "the redirects lead in a circle: %.200s was asked for before", x->href.data);
    url_origin(&origin, &x->url);
    x->left_origin = x->left_origin || strcmp(origin.data ? origin.data : "", x->first_origin) != 0;
    return TL_OK;
}
