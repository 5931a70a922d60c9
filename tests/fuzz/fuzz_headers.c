/* fuzz_headers.c - each line as the value of a header that we read: Set-Cookie, Link, Retry-After, X-Robots-Tag.
 *
 * A cookie never leaves the registrable domain of who set it, what a jar sends cannot break out of its line, and a jar
 * is bounded; a link is absolute; a wait is within its cap. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "net/cookies.h"
#include "net/link_header.h"
#include "net/retry_after.h"
#include "net/robots_tag.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW ((int64_t)1767225600 * 1000000)

static void must(bool what) {
    if (!what)
        abort();
}

static void sent(struct cookies *jar, const char *to, struct buf *out) {
    AUTO_BUF struct buf href = BUF_INIT;
    struct url u;
    buf_reset(out);
    must(url_parse(&href, span_of(to), NULL, &u) == TL_OK);
    cookies_header(jar, &u, NOW, out);
    must(out->len <= COOKIE_HEADER_MAX);
    for (size_t i = 0; i < out->len; i++)
        must((unsigned char)out->data[i] >= 0x20 && out->data[i] != 0x7f);
}

static void cookie_line(struct cookies *jar, struct cookies *copy, const struct url *from, struct tl_span line) {
    const struct cookie *c = cookies_hear(jar, from, line, NOW);
    must(!c || cookies_put(copy, c, NOW) == TL_OK); /* what one jar tells, another takes */
    must(cookies_count(jar) <= 2 * COOKIES_PER_DOMAIN + COOKIES_PER_DOMAIN);
}

static void link_line(const struct url *base, struct tl_span line) {
    struct arena arena = ARENA_INIT;
    struct link_header links;
    must(link_header_parse(&arena, line, base, &links) == TL_OK);
    must(links.count <= LINK_HEADER_LINKS_MAX);
    for (size_t i = 0; i < links.count; i++)
        must(links.link[i].url.len > 0 && memchr(links.link[i].url.ptr, ':', links.link[i].url.len));
    arena_free(&arena);
}

static void other_lines(struct tl_span line) {
    struct robots_tag tag = {0};
    int64_t wait = -1;
    must(retry_after_parse(line, NOW, &wait) == TL_INVALID || (wait >= 0 && wait <= RETRY_AFTER_MAX));
    robots_tag_add(&tag, line, "trotline");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    AUTO_BUF struct buf href = BUF_INIT, out = BUF_INIT;
    struct cookies *jar = cookies_new(), *copy = cookies_new();
    struct url from;
    must(url_parse(&href, span_of("https://a.b.example.org/one/two"), NULL, &from) == TL_OK);
    for (size_t at = 0; at < size;) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        size_t len = end ? (size_t)(end - data) - at : size - at;
        struct tl_span line = {(const char *)data + at, len};
        cookie_line(jar, copy, &from, line);
        link_line(&from, line);
        other_lines(line);
        at += len + 1;
    }
    must(cookies_count(copy) <= cookies_count(jar));
    static const char *const never[] = {"https://org/", "https://other.org/", "https://badexample.org/",
                                        "http://127.0.0.1/"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        sent(jar, never[i], &out);
        must(out.len == 0);
    }
    sent(jar, "https://a.b.example.org/one/two", &out);
    sent(jar, "http://b.example.org/", &out);
    cookies_free(jar);
    cookies_free(copy);
    return 0;
}
