/* site.c - see site.h. */
#include "net/site.h"

#include <libpsl.h>
#include <string.h>

enum { HOST_MOST = 255 };

bool site_is_address(struct tl_span host) {
    const char *dot = host.len ? memrchr(host.ptr, '.', host.len) : NULL;
    const char *last = dot ? dot + 1 : host.ptr;
    return host.len && (host.ptr[0] == '[' ||
                        (last < host.ptr + host.len && *last >= '0' && *last <= '9')); /* WHATWG: such a host is IPv4 */
}

static const psl_ctx_t *suffixes(void) {
    static psl_ctx_t *list;
    if (!list)
        list = psl_latest(NULL);
    return list;
}

bool site_is_public_suffix(struct tl_span host) {
    char text[HOST_MOST + 1];
    if (!host.len || host.len > HOST_MOST || site_is_address(host))
        return false;
    memcpy(text, host.ptr, host.len);
    text[host.len] = '\0';
    return !suffixes() || psl_is_public_suffix(suffixes(), text);
}

static const char *registrable(struct tl_span host, char text[HOST_MOST + 1]) {
    const psl_ctx_t *list = suffixes();
    if (host.len && host.ptr[host.len - 1] == '.')
        host.len--;
    if (!list || !host.len || host.len > HOST_MOST || site_is_address(host))
        return NULL;
    memcpy(text, host.ptr, host.len);
    text[host.len] = '\0';
    return psl_registrable_domain(list, text);
}

bool site_same_domain(struct tl_span a, struct tl_span b) {
    char one[HOST_MOST + 1], two[HOST_MOST + 1];
    const char *x = registrable(a, one), *y = registrable(b, two);
    return x && y && strcmp(x, y) == 0;
}

bool site_same(const struct url *a, const struct url *b) {
    bool same_host = a->host.len == b->host.len && memcmp(a->host.ptr, b->host.ptr, a->host.len) == 0;
    if (same_host && (a->port == b->port || !site_is_address(a->host)))
        return true;
    return site_same_domain(a->host, b->host);
}

bool site_same_text(struct tl_span a, struct tl_span b) {
    AUTO_BUF struct buf one = BUF_INIT, two = BUF_INIT;
    struct url x, y;
    return url_parse(&one, a, NULL, &x) == TL_OK && url_parse(&two, b, NULL, &y) == TL_OK && site_same(&x, &y);
}
