/* route.c - see route.h. */
#include "engine/route.h"

#include <string.h>

#include "net/host_rule.h"
#include "net/url.h"

static void add(struct route *to, const char *name, const char *value) {
    buf_text(&to->name[to->count], name);
    buf_text(&to->value[to->count], value);
    to->count++;
}

/* For that origin alone, should git ever ask another. */
static void add_there(struct route *to, const char *origin, const char *name, const char *value) {
    if (value) {
        AUTO_BUF struct buf whole = BUF_INIT;
        buf_printf(&whole, "http.%s.%s", origin, name);
        add(to, whole.data, value);
    }
}

/* HOST:PORT:ADDRESS; the answer's address has its port behind it. An address that is written out leads nowhere else. */
static void pin(struct route *to, const struct url *u, const char *address) {
    const char *colon = strrchr(address, ':');
    if (!colon || *u->host.ptr == '[')
        return;
    AUTO_BUF struct buf value = BUF_INIT;
    buf_printf(&value, "%.*s:%d:%.*s", (int)u->host.len, u->host.ptr, url_effective_port(u), (int)(colon - address),
               address);
    add(to, "http.curloptResolve", value.data);
}

static struct tl_span password_of(const char *proxy) {
    const char *name = proxy ? strstr(proxy, "://") : NULL, *at = name ? strrchr(name, '@') : NULL;
    const char *colon = at ? memchr(name + 3, ':', (size_t)(at - name - 3)) : NULL;
    return colon && colon + 1 < at ? (struct tl_span){colon + 1, (size_t)(at - colon - 1)} : (struct tl_span){"", 0};
}

int route_find(struct run *r, const char *url, struct route *out) {
    AUTO_BUF struct buf href = BUF_INIT, origin = BUF_INIT;
    struct url u;
    *out = (struct route){0};
    if (url_parse(&href, span_of(url), NULL, &u) || !(span_eq(u.scheme, "http") || span_eq(u.scheme, "https")))
        return run_fail(r, TL_INVALID, "invalid", "exec: a program can be shown the way to a web server, not to %.200s",
                        url);
    url_origin(&origin, &u);
    const struct fetch_answer *a = run_answer_from(r, buf_span(&origin));
    if (!a)
        return run_fail(
            r, TL_REFUSED, "guard",
            "exec: nothing was answered from %.200s in this run, so a program cannot be shown the way there; "
            "fetch something from it first",
            origin.data);
    const struct host_rule *rule = a->rule;
    add(out, "http.proxy", rule->proxy ? rule->proxy : "");
    if (!rule->http2)
        add(out, "http.version", "HTTP/1.1");
    if (!rule->verify)
        add_there(out, origin.data, "sslVerify", "false");
    add_there(out, origin.data, "sslCAInfo", rule->ca);
    add_there(out, origin.data, "sslCert", rule->cert);
    add_there(out, origin.data, "sslKey", rule->key);
    if (!rule->proxy)
        pin(out, &u, a->result.address);
    out->password = password_of(rule->proxy);
    return TL_OK;
}

void route_free(struct route *route) {
    for (uint32_t i = 0; i < route->count; i++) {
        buf_free(&route->name[i]);
        buf_free(&route->value[i]);
    }
    route->count = 0;
}
