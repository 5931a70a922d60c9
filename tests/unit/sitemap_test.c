/* sitemap_test.c - sitemaps: the files of crawler-commons, indexes, text, feeds, gzip and its bombs, caps. */
#include "net/sitemap.h"

#include <zlib.h>

#include "cases.h"
#include "net/unzip.h"

#define ADDRESS "http://www.example.com/dir/sitemap.xml"

static int parse(struct arena *arena, struct tl_span body, struct sitemap *out) {
    return sitemap_parse(arena, body, ADDRESS, out);
}
static void reads(const char *body, const char *urls, const char *sitemaps) {
    struct arena arena = ARENA_INIT;
    struct sitemap s;
    struct buf got = BUF_INIT;
    if (parse(&arena, span_of(body), &s) != TL_OK)
        fail_msg("%s: refused: %s", body, s.error);
    for (size_t i = 0; i < s.url_count; i++)
        buf_printf(&got, "%s%s", i ? " " : "", s.urls[i].ptr);
    assert_span(buf_span(&got), urls);
    buf_reset(&got);
    for (size_t i = 0; i < s.sitemap_count; i++)
        buf_printf(&got, "%s%s", i ? " " : "", s.sitemaps[i].ptr);
    assert_span(buf_span(&got), sitemaps);
    buf_free(&got);
    arena_free(&arena);
}
static void refuses(struct tl_span body, const char *word) {
    struct arena arena = ARENA_INIT;
    struct sitemap s;
    assert_int_equal(parse(&arena, body, &s), TL_INVALID);
    if (!strstr(s.error, word))
        fail_msg("got '%s', want something about '%s'", s.error, word);
    assert_int_equal(s.url_count + s.sitemap_count, 0);
    arena_free(&arena);
}
static void pack(struct buf *out, struct tl_span in) {
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)in.ptr, .avail_in = (unsigned)in.len};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_true(buf_reserve(out, deflateBound(&z, in.len)));
    z.next_out = (unsigned char *)out->data + out->len;
    z.avail_out = (unsigned)deflateBound(&z, in.len);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out->len += z.total_out;
    deflateEnd(&z);
}

static void public_files(void **state) {
    (void)state;
    struct cases c;
    struct arena arena = ARENA_INIT;
    struct sitemap s = {0};
    struct buf body = BUF_INIT, name = BUF_INIT;
    size_t files = 0, url = 0;
    cases_open(&c, "sitemap/expected.tsv");
    while (cases_next(&c)) {
        if (span_eq(c.field[0], "file")) {
            assert_int_equal(url, s.url_count);
            assert_int_equal(s.sitemap_count, 0);
            buf_reset(&name);
            buf_printf(&name, "sitemap/%.*s", (int)c.field[1].len, c.field[1].ptr);
            buf_reset(&body);
            cases_file(&body, name.data);
            assert_int_equal(parse(&arena, buf_span(&body), &s), TL_OK);
            assert_false(s.repaired || s.truncated);
            files++;
            url = 0;
        } else {
            assert_true(url < s.url_count);
            if (!spans_equal(s.urls[url], c.field[1]))
                fail_msg("%s: got %s, want %.*s", name.data, s.urls[url].ptr, (int)c.field[1].len, c.field[1].ptr);
            url++;
        }
    }
    assert_int_equal(url, s.url_count);
    assert_int_equal(files, 11);
    cases_close(&c);
    buf_free(&body);
    buf_free(&name);
    arena_free(&arena);
}
static void index_and_pages(void **state) {
    (void)state;
    reads("<?xml version='1.0'?><sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
          "<sitemap><loc>http://a.example/1.xml.gz</loc><lastmod>2004-10-01</lastmod></sitemap>"
          "<sitemap><loc> /2.xml\n</loc></sitemap></sitemapindex>",
          "", "http://a.example/1.xml.gz http://www.example.com/2.xml");
    reads("<urlset><url><loc>http://a.example/x?a=1&amp;b=2</loc></url>"
          "<url><loc><![CDATA[http://a.example/y?a=1&b=2]]></loc></url></urlset>",
          "http://a.example/x?a=1&b=2 http://a.example/y?a=1&b=2", "");
    /* each once, only the web's schemes, in the order of the document */
    reads("<urlset><url><loc>http://a.example/b</loc></url><url><loc>HTTP://A.example:80/a/../b</loc></url>"
          "<url><loc>ftp://a.example/</loc></url><url><loc>javascript:alert(1)</loc></url><url><loc/></url>"
          "<url><loc>a</loc></url></urlset>",
          "http://a.example/b http://www.example.com/dir/a", "");
}
static void foreign_elements_do_not_count(void **state) {
    (void)state;
    reads("<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:i='urn:i' "
          "xmlns:x='http://www.w3.org/1999/xhtml'>"
          "<loc>http://a.example/outside</loc><url><i:loc>http://a.example/i1</i:loc><loc>http://a.example/1</loc>"
          "<i:image><i:loc>http://a.example/i2</i:loc><loc>http://a.example/i3</loc></i:image>"
          "<x:link href='http://a.example/de'/></url></urlset>",
          "http://a.example/1", "");
}
static void damaged(void **state) {
    (void)state;
    struct arena arena = ARENA_INIT;
    struct sitemap s;
    const char *body =
        "<urlset><url><loc>http://a.example/?a=1&b=2</loc></url>\x01<url><loc>http://a.example/2</loc><url>"
        "<url><loc>http://a.example/3</lo";
    assert_int_equal(parse(&arena, span_of(body), &s), TL_OK);
    assert_true(s.repaired);
    assert_int_equal(s.url_count, 2);
    assert_span(s.urls[0], "http://a.example/?a=1&b=2");
    assert_span(s.urls[1], "http://a.example/2");
    arena_free(&arena);
}
static void text_and_feeds(void **state) {
    (void)state;
    reads("\xEF\xBB\xBFhttp://a.example/1\r\nhttp://a.example/2\r\rnot a URL\nhttps://b.example/\n/relative",
          "http://a.example/1 http://a.example/2 https://b.example/", "");
    reads("<rss version='2.0'><channel><link>http://a.example/home</link><item><link>/1</link></item>"
          "<item><guid>http://a.example/2</guid></item></channel></rss>",
          "http://www.example.com/1 http://a.example/2", "");
    reads("{\"version\":\"https://jsonfeed.org/version/1\",\"items\":[{\"id\":\"1\",\"url\":\"http://a.example/1\"}]}",
          "http://a.example/1", "");
    reads("<urlset/>", "", "");
}
static void no_sitemap(void **state) {
    (void)state;
    refuses(span_of(""), "empty");
    refuses(span_of(" \n"), "empty");
    refuses(span_of("nothing here\nat all"), "neither");
    refuses(span_of("<!doctype html><title>404</title><a href='http://a.example/'>x</a>"), "HTML");
    refuses(span_of("<kml><loc>http://a.example/</loc></kml>"), "kml");
    refuses(span_of("\x1f\x8b not gzip"), "gzip");
}
static void gzip(void **state) {
    (void)state;
    struct arena arena = ARENA_INIT;
    struct sitemap s;
    struct buf plain = BUF_INIT, packed = BUF_INIT;
    buf_lit(&plain, "<urlset>");
    for (int i = 0; i < 2000; i++)
        buf_printf(&plain, "<url><loc>http://a.example/%d</loc></url>", i * 7919 % 10007);
    buf_lit(&plain, "</urlset>");
    pack(&packed, buf_span(&plain));
    assert_int_equal(parse(&arena, buf_span(&packed), &s), TL_OK);
    assert_int_equal(s.url_count, 2000);
    assert_false(s.repaired);
    /* two members, then one cut in the middle */
    size_t one = packed.len;
    buf_add(&packed, packed.data, one);
    struct buf out = BUF_INIT;
    assert_int_equal(unzip_gzip(buf_span(&packed), &out), TL_OK);
    assert_int_equal(out.len, 2 * plain.len);
    assert_int_equal(parse(&arena, (struct tl_span){packed.data, one / 2}, &s), TL_OK);
    assert_true(s.repaired && s.url_count > 500 && s.url_count < 2000);
    buf_free(&out);
    buf_free(&plain);
    buf_free(&packed);
    arena_free(&arena);
}
static void gzip_bombs(void **state) {
    (void)state;
    struct buf zeros = BUF_INIT, packed = BUF_INIT, out = BUF_INIT;
    assert_true(buf_reserve(&zeros, 60 << 20));
    memset(zeros.data, ' ', 60 << 20);
    pack(&packed, (struct tl_span){zeros.data, 60 << 20});
    refuses(buf_span(&packed), "measure");
    assert_int_equal(unzip_gzip(buf_span(&packed), &out), TL_REFUSED);
    assert_true(out.len < (size_t)UNZIP_RATIO_FREE + (1 << 20) + UNZIP_RATIO * packed.len);
    /* a little that packs well is nothing bad */
    buf_reset(&packed);
    buf_reset(&out);
    pack(&packed, (struct tl_span){zeros.data, 2 << 20});
    assert_int_equal(unzip_gzip(buf_span(&packed), &out), TL_OK);
    assert_int_equal(out.len, 2 << 20);
    buf_free(&out);
    buf_free(&zeros);
    buf_free(&packed);
}
static void caps(void **state) {
    (void)state;
    struct arena arena = ARENA_INIT, small = {.max = 1000};
    struct sitemap s;
    struct buf body = BUF_INIT;
    for (int i = 0; i < SITEMAP_URLS_MAX + 10; i++)
        buf_printf(&body, "http://a.example/%d\n", i);
    assert_int_equal(parse(&arena, buf_span(&body), &s), TL_OK);
    assert_int_equal(s.url_count, SITEMAP_URLS_MAX);
    assert_true(s.truncated);
    assert_span(s.urls[SITEMAP_URLS_MAX - 1], "http://a.example/49999");
    assert_int_equal(parse(&small, buf_span(&body), &s), TL_PARTIAL);
    assert_true(s.truncated);
    buf_free(&body);
    arena_free(&small);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(public_files),
        cmocka_unit_test(index_and_pages),
        cmocka_unit_test(foreign_elements_do_not_count),
        cmocka_unit_test(damaged),
        cmocka_unit_test(text_and_feeds),
        cmocka_unit_test(no_sitemap),
        cmocka_unit_test(gzip),
        cmocka_unit_test(gzip_bombs),
        cmocka_unit_test(caps),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
