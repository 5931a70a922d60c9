/* fuzz_sitemap.c - any bytes as a sitemap: what comes out are http URLs in their one form, each once. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "net/sitemap.h"
#include "net/unzip.h"
#include "net/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool what) {
    if (!what)
        abort();
}
static void check(const struct tl_span *list, size_t count) {
    struct buf href = BUF_INIT;
    struct url u;
    must(count <= SITEMAP_URLS_MAX);
    for (size_t i = 0; i < count; i++) {
        must(url_parse(&href, list[i], NULL, &u) == TL_OK && u.href.len == list[i].len);
        must(span_eq(u.scheme, "http") || span_eq(u.scheme, "https"));
        for (size_t k = 0; k < i && i < 100; k++)
            must(list[k].len != list[i].len || memcmp(list[k].ptr, list[i].ptr, list[i].len) != 0);
    }
    buf_free(&href);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct tl_span body = {(const char *)data, size};
    struct arena arena = {.max = 64u << 20}, small = {.max = 100};
    struct sitemap s;
    int rc = sitemap_parse(&arena, body, "http://h.example/d/sitemap.xml", &s);
    must(rc == TL_OK || rc == TL_PARTIAL || rc == TL_INVALID);
    must((rc == TL_INVALID) == (s.error[0] != '\0'));
    check(s.urls, s.url_count);
    check(s.sitemaps, s.sitemap_count);
    rc = sitemap_parse(&small, body, NULL, &s);
    must(rc == TL_OK || rc == TL_PARTIAL || rc == TL_INVALID);
    AUTO_BUF struct buf out = {.max = 1 << 20};
    rc = unzip_gzip(body, &out);
    must(rc == TL_OK || rc == TL_PARTIAL || rc == TL_REFUSED || rc == TL_INVALID);
    arena_free(&small);
    arena_free(&arena);
    return 0;
}
