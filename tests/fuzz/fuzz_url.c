/* fuzz_url.c - any bytes as a base and a reference (a line each): what is accepted is well-formed and stable, and both
 * parsers agree. Canonical text is a fixed point; keys and cleaning take anything. */
#include <stdlib.h>

#include "net/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good) {
    if (!good)
        abort();
}

static bool same(struct tl_span a, struct tl_span b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static void check_inside(const struct url *u) {
    const struct tl_span part[] = {u->scheme, u->username, u->password, u->host, u->path, u->query, u->fragment};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        must(part[i].len == 0 ||
             (part[i].ptr >= u->href.ptr && part[i].ptr + part[i].len <= u->href.ptr + u->href.len));
    for (size_t i = 0; i < u->href.len; i++)
        must((unsigned char)u->href.ptr[i] >= ' ' && (unsigned char)u->href.ptr[i] < 0x7f);
}

static void check_reference(const struct url *base, struct tl_span ref) {
    AUTO_BUF struct buf slow = BUF_INIT, fast = BUF_INIT, again = BUF_INIT, origin = BUF_INIT;
    struct url s, f, a;
    int rc = url_resolve_slow(&slow, base, ref, true, &s);
    if (url_resolve_fast(&fast, base, ref, true, &f))
        must(rc == 0 && same(f.href, s.href) && same(f.host, s.host) && same(f.path, s.path));
    if (rc < 0)
        return;
    check_inside(&s);
    must(url_parse(&again, s.href, NULL, &a) == 0 && same(a.href, s.href));
    url_origin(&origin, &s);
    url_host_matches("*.example.org:8080", s.host, url_effective_port(&s));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    AUTO_BUF struct buf href = BUF_INIT, once = BUF_INIT, twice = BUF_INIT, clean = BUF_INIT, pattern = BUF_INIT,
                        text = BUF_INIT;
    struct tl_span all = {(const char *)data, size}, first = all, second = {"", 0};
    struct url base;

    const char *line = size ? memchr(all.ptr, '\n', all.len) : NULL;
    if (line) {
        first.len = (size_t)(line - all.ptr);
        second = (struct tl_span){line + 1, all.len - first.len - 1};
    }
    check_reference(NULL, first);
    if (url_parse(&href, first, NULL, &base) == 0)
        check_reference(&base, second);
    if (url_canonical(&once, first) == 0)
        must(url_canonical(&twice, buf_span(&once)) == 0 && same(buf_span(&once), buf_span(&twice)));
    url_clean(&clean, first);
    must(url_key(first) >> 63 == 0);
    buf_add(&text, first.ptr, first.len);
    if (text.data && url_host_pattern(&pattern, text.data) == 0)
        url_host_matches(pattern.data, second, 80);
    return 0;
}
