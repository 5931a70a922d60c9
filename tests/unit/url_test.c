/* url_test.c - the URL parser against the web platform's tests, the short cuts against the general parser, identities,
 * hosts. */
#include "net/url.h"

#include "cases.h"

struct parsed {
    struct buf href;
    struct url u;
    int rc;
};

static struct parsed parse(struct tl_span input, const struct url *base) {
    struct parsed p = {.href = BUF_INIT};
    p.rc = url_parse(&p.href, input, base, &p.u);
    return p;
}

static void expect(struct tl_span input, const struct url *base, struct tl_span want, const char *what) {
    struct parsed p = parse(input, base);
    bool good = want.ptr ? p.rc == 0 && spans_equal(p.u.href, want) : p.rc == TL_INVALID;
    if (!good)
        fail_msg("%s: %.*s gives %.*s, want %.*s", what, (int)input.len, input.ptr, p.rc ? 7 : (int)p.u.href.len,
                 p.rc ? "refused" : p.u.href.ptr, want.ptr ? (int)want.len : 7, want.ptr ? want.ptr : "refused");
    buf_free(&p.href);
}

/* All of it, all schemes: there is no list of expected differences. */
static void web_platform_tests(void **state) {
    (void)state;
    struct cases c;
    size_t count = 0;
    cases_open(&c, "url/wpt-urltestdata.tsv");
    for (; cases_next(&c); count++) {
        char what[32];
        snprintf(what, sizeof what, "case %.*s", (int)c.field[0].len, c.field[0].ptr);
        struct parsed base = {.rc = 0};
        if (c.field[2].ptr)
            base = parse(c.field[2], NULL);
        assert_int_equal(base.rc, 0);
        expect(c.field[1], c.field[2].ptr ? &base.u : NULL, c.field[3], what);
        buf_free(&base.href);
    }
    assert_int_equal(count, 528);
    cases_close(&c);
}

static void domains_to_ascii(void **state) {
    (void)state;
    struct cases c;
    size_t count = 0;
    cases_open(&c, "url/wpt-toascii.tsv");
    for (; cases_next(&c); count++) {
        struct buf out = BUF_INIT;
        int rc = url_host(&out, c.field[1], true);
        if (c.field[2].ptr ? rc != 0 || !spans_equal(buf_span(&out), c.field[2]) : rc != TL_INVALID)
            fail_msg("case %.*s gives %s", (int)c.field[0].len, c.field[0].ptr, rc ? "refused" : out.data);
        buf_free(&out);
    }
    assert_int_equal(count, 51);
    cases_close(&c);
}

static void resolves_references(void **state) {
    (void)state;
    struct cases c;
    size_t count = 0;
    cases_open(&c, "url/resolve.tsv");
    for (; cases_next(&c); count++) {
        struct parsed base = {.rc = 0};
        if (c.field[1].ptr)
            base = parse(c.field[1], NULL);
        expect(c.field[0], c.field[1].ptr ? &base.u : NULL, c.field[2], "resolve");
        buf_free(&base.href);
    }
    assert_int_equal(count, 9);
    cases_close(&c);
}

static void names_the_parts(void **state) {
    (void)state;
    struct parsed p = parse(span_of("HTTPS://Us%65r:p w@B\xc3\xbc"
                                    "cher.Example:8443/a/./b?q=\xc3\xa9#f r"),
                            NULL);
    assert_int_equal(p.rc, 0);
    assert_span(p.u.href, "https://Us%65r:p%20w@xn--bcher-kva.example:8443/a/b?q=%C3%A9#f%20r");
    assert_span(p.u.scheme, "https");
    assert_span(p.u.username, "Us%65r");
    assert_span(p.u.password, "p%20w");
    assert_span(p.u.host, "xn--bcher-kva.example");
    assert_int_equal(p.u.port, 8443);
    assert_span(p.u.path, "/a/b");
    assert_span(p.u.query, "q=%C3%A9");
    assert_span(p.u.fragment, "f%20r");
    assert_true(p.u.special && p.u.has_host && p.u.has_query && p.u.has_fragment && !p.u.opaque_path);
    buf_free(&p.href);

    p = parse(span_of("http://example.org:80/?#"), NULL);
    assert_span(p.u.href, "http://example.org/?#");
    assert_int_equal(p.u.port, -1);
    assert_int_equal(url_effective_port(&p.u), 80);
    assert_true(p.u.has_query && p.u.query.len == 0 && p.u.has_fragment && p.u.fragment.len == 0);
    buf_free(&p.href);

    p = parse(span_of("mailto:a@example.org?subject=x"), NULL);
    assert_span(p.u.scheme, "mailto");
    assert_span(p.u.path, "a@example.org");
    assert_true(p.u.opaque_path && !p.u.has_host && !p.u.special);
    assert_int_equal(url_effective_port(&p.u), -1);
    buf_free(&p.href);

    p = parse(span_of("foo:/a/..//b?q"), NULL); /* without "/." its path would read as a host */
    assert_span(p.u.href, "foo:/.//b?q");
    assert_span(p.u.path, "//b");
    assert_span(p.u.query, "q");
    buf_free(&p.href);
}

static void writes_origins(void **state) {
    (void)state;
    static const char *const cases[][2] = {{"http://u:p@Example.org:80/x", "http://example.org"},
                                           {"https://example.org:8443/", "https://example.org:8443"},
                                           {"wss://[::1]:443/", "wss://[::1]"},
                                           {"file:///etc/passwd", "null"},
                                           {"data:,x", "null"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct parsed p = parse(span_of(cases[i][0]), NULL);
        struct buf out = BUF_INIT;
        url_origin(&out, &p.u);
        assert_span(buf_span(&out), cases[i][1]);
        buf_free(&out);
        buf_free(&p.href);
    }
}

static void reads_bytes_that_are_not_utf8(void **state) {
    (void)state;
    /* Encoding standard: one U+FFFD for each maximal subpart. */
    expect(span_of("http://h/\xff|\xe4\xbd|\xf0\x9f\x92"), NULL, span_of("http://h/%EF%BF%BD|%EF%BF%BD|%EF%BF%BD"), "");
    expect(span_of("http://h/\xed\xa0\x80"), NULL, span_of("http://h/%EF%BF%BD%EF%BF%BD%EF%BF%BD"), "surrogate");
    expect(span_of("http://h\xff/"), NULL, (struct tl_span){NULL, 0}, "host");
    expect(span_of("http://h%ff/"), NULL, (struct tl_span){NULL, 0}, "host");
    expect((struct tl_span){"http://h/a\0b", 12}, NULL, span_of("http://h/a%00b"), "NUL");
}

static void refuses_long_ones(void **state) {
    (void)state;
    struct buf text = BUF_INIT;
    buf_lit(&text, "http://h/");
    while (text.len < URL_MAX)
        buf_char(&text, 'a');
    expect(buf_span(&text), NULL, buf_span(&text), "64 KiB");
    buf_char(&text, 'a');
    expect(buf_span(&text), NULL, (struct tl_span){NULL, 0}, "one more");
    text.len = 9;
    while (text.len < URL_MAX / 2)
        buf_char(&text, '"');
    expect(buf_span(&text), NULL, (struct tl_span){NULL, 0}, "the result is longer than the input");
    struct parsed base = parse(span_of("http://h/b"), NULL);
    text.len = 0;
    while (text.len < URL_MAX)
        buf_char(&text, 'a');
    expect(buf_span(&text), &base.u, (struct tl_span){NULL, 0}, "too long with its base");
    buf_free(&base.href);
    buf_free(&text);
}

/* ---- the short cuts */

static uint64_t seed = 1;
static size_t pick(size_t n) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (size_t)(seed >> 11) % n;
}

static void same_url(const struct url *a, const struct url *b, struct tl_span ref) {
    bool same = spans_equal(a->href, b->href) && spans_equal(a->scheme, b->scheme) &&
                spans_equal(a->username, b->username) && spans_equal(a->password, b->password) &&
                spans_equal(a->host, b->host) && spans_equal(a->path, b->path) && spans_equal(a->query, b->query) &&
                spans_equal(a->fragment, b->fragment) && a->port == b->port && a->special == b->special &&
                a->has_host == b->has_host && a->has_query == b->has_query && a->has_fragment == b->has_fragment &&
                a->opaque_path == b->opaque_path;
    if (!same)
        fail_msg("%.*s: fast %.*s, slow %.*s", (int)ref.len, ref.ptr, (int)a->href.len, a->href.ptr, (int)b->href.len,
                 b->href.ptr);
}

/* Returns whether the short cuts had an answer. */
static bool compare(const struct url *base, struct tl_span ref) {
    struct buf fast = BUF_INIT, slow = BUF_INIT;
    struct url f, s;
    bool answered = false;
    for (int keep = 0; keep <= 1; keep++) {
        int rc = url_resolve_slow(&slow, base, ref, keep, &s);
        if (url_resolve_fast(&fast, base, ref, keep, &f)) {
            answered = true;
            if (rc != 0)
                fail_msg("%.*s: fast %s, slow refuses", (int)ref.len, ref.ptr, fast.data);
            same_url(&f, &s, ref);
        }
        if (rc == 0) { /* what was written reads as itself */
            struct buf again = BUF_INIT;
            struct url a;
            assert_int_equal(url_parse(&again, s.href, NULL, &a), 0);
            same_url(&a, &s, s.href);
            buf_free(&again);
        }
    }
    buf_free(&fast);
    buf_free(&slow);
    return answered;
}

static void short_cuts_agree_on_the_cases(void **state) {
    (void)state;
    struct cases c;
    cases_open(&c, "url/wpt-urltestdata.tsv");
    while (cases_next(&c)) {
        struct parsed base = {.rc = 0};
        if (c.field[2].ptr)
            base = parse(c.field[2], NULL);
        compare(c.field[2].ptr ? &base.u : NULL, c.field[1]);
        buf_free(&base.href);
    }
    cases_close(&c);
    cases_open(&c, "url/canon-inputs.tsv");
    while (cases_next(&c))
        compare(NULL, c.field[1]);
    cases_close(&c);
}

static void short_cuts_agree_on_random_references(void **state) {
    (void)state;
    static const char *const token[] = {
        "http://", "https://", "//",          "/",    "/",   "/",  "a",  "b.c",  "index.html",  ".",       "..",
        "./",      "../",      "?",           "?x=1", "#",   "#f", ":",  ":80",  ":443",        ":8080",   ":080",
        "@",       "%2e",      "%2E",         "%2f",  "%",   " ",  "\t", "\\",   "example.org", "EXAMPLE", "1.2.3.4",
        "0x1",     "[::1]",    "\xc3\xa9",    "\xff", "-",   "_",  "~",  "'",    "\"",          "<",       "^",
        "`",       "{",        "|",           ";",    "=",   "&",  "+",  "www.", "ftp:",        "mailto:", "http:",
        "xn--a",   "...",      ".well-known", "*",    "\x7f"};
    static const char *const bases[] = {"http://h.example/",
                                        "https://h.example:8443/a/b/c?q=1",
                                        "http://u:p@h.example/a//b",
                                        "https://h.example?q",
                                        "http://h.example/a/b/",
                                        "http://h.example/a/?",
                                        "ftp://h.example/a",
                                        "file:///C:/a/b",
                                        "foo://h/a/b",
                                        "foo:/.//a",
                                        "mailto:a"};
    struct parsed base[sizeof bases / sizeof *bases];
    struct buf ref = BUF_INIT;
    size_t answered = 0;

    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        base[i] = parse(span_of(bases[i]), NULL);
    for (int n = 0; n < 60000; n++) {
        buf_reset(&ref);
        for (size_t k = pick(7); k > 0; k--)
            buf_text(&ref, token[pick(sizeof token / sizeof *token)]);
        size_t b = pick(sizeof bases / sizeof *bases + 1);
        answered += compare(b ? &base[b - 1].u : NULL, buf_span(&ref));
    }
    assert_true(answered > 5000); /* else the comparison says little */
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        buf_free(&base[i].href);
    buf_free(&ref);
}

/* What a page is full of must not fall back to the general parser. */
static void short_cuts_take_the_plain_ones(void **state) {
    (void)state;
    static const char *const plain[] = {"https://www.example.org/wiki/Main_Page",
                                        "http://Example.com",
                                        "https://example.org:8443/a?b=c#d",
                                        "//cdn.example.net/x.js",
                                        "/a/b/c.html",
                                        "page2.html?x=1",
                                        "../img/logo.png",
                                        "./x",
                                        "?page=2",
                                        "#top",
                                        "",
                                        "/.well-known/security.txt",
                                        "/caf%C3%A9/",
                                        " /trimmed "};
    struct parsed base = parse(span_of("https://www.example.org/dir/page?x=1#y"), NULL);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (!compare(&base.u, span_of(plain[i])))
            fail_msg("%s takes the long way", plain[i]);
    buf_free(&base.href);
}

static void drops_the_fragment(void **state) {
    (void)state;
    static const char *const cases[][2] = {{"#x", "http://h/a?q"},
                                           {"", "http://h/a?q"},
                                           {"b#", "http://h/b"},
                                           {"?#\xff", "http://h/a?"},
                                           {"\"#x", "http://h/%22"}};
    struct parsed base = parse(span_of("http://h/a?q#f"), NULL);
    struct buf href = BUF_INIT;
    struct url u;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(url_resolve(&href, &base.u, span_of(cases[i][0]), false, &u), 0);
        assert_span(u.href, cases[i][1]);
        assert_false(u.has_fragment);
    }
    buf_free(&href);
    buf_free(&base.href);
}

/* ---- identities */

static void expect_canonical(struct tl_span url, struct tl_span want) {
    struct buf out = BUF_INIT;
    int rc = url_canonical(&out, url);
    if (want.ptr ? rc != 0 || !spans_equal(buf_span(&out), want) : rc != TL_INVALID)
        fail_msg("%.*s gives %s", (int)url.len, url.ptr, rc ? "refused" : out.data);
    buf_free(&out);
}

static void canonical_forms(void **state) {
    (void)state;
    static const char *const own[][2] = {
        {"HTTP://user:pw@Example.ORG:80/%7euser/?#top", "http://example.org/~user/"},
        {"https://example.org:443", "https://example.org/"},
        {"https://example.org:80/", "https://example.org:80/"},
        {"http://example.org./a", "http://example.org./a"},
        {"http://example.org/a%2fb%3f%c3%a9", "http://example.org/a%2Fb%3F%C3%A9"},
        {"http://example.org/?q=%61%2B%20%2f", "http://example.org/?q=a%2B%20%2F"},
        {"http://example.org/?b=2&a=1", "http://example.org/?b=2&a=1"}, /* order means something */
        {"http://example.org/%%34%31", "http://example.org/A"},         /* undoing makes an escape */
        {"http://example.org/%4%3%3%31", "http://example.org/A"},       /* and again */
        {"http://example.org/a/%2%65%2%45/b", "http://example.org/b"},  /* or a dot segment */
        {"http://example.org/a/b/%%32%65", "http://example.org/a/b/"},
        {"http://example.org/%25%34%31", "http://example.org/%2541"}, /* an escaped percent sign stays one */
        {"http://example.org/%zz%", "http://example.org/%zz%"},
        {"http://example.org/a;b=%2d", "http://example.org/a;b=-"},
        {"ftp://example.org/", NULL},
        {"mailto:a@example.org", NULL},
        {"/a", NULL},
        {"http://exa mple.org/", NULL}};
    struct cases c;
    size_t count = 0;

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        expect_canonical(span_of(own[i][0]), own[i][1] ? span_of(own[i][1]) : (struct tl_span){NULL, 0});
    cases_open(&c, "url/canon-equal.tsv");
    for (; cases_next(&c); count++)
        expect_canonical(c.field[0], c.field[1]);
    assert_int_equal(count, 276);
    cases_close(&c);
}

static void canonical_is_a_fixed_point(void **state) {
    (void)state;
    static const char *const token[] = {"%", "2",  "5", "e",   "E",   "4",   "1", "/",
                                        ".", "..", "a", "%25", "%2e", "%41", "?", "&"};
    struct cases c;
    struct buf url = BUF_INIT, once = BUF_INIT;

    cases_open(&c, "url/canon-inputs.tsv");
    while (cases_next(&c)) {
        buf_reset(&once);
        int rc = url_canonical(&once, c.field[1]);
        if (rc == 0)
            expect_canonical(buf_span(&once), buf_span(&once));
        else if (c.field[0].ptr[0] == '1')
            fail_msg("%.*s is refused", (int)c.field[1].len, c.field[1].ptr);
    }
    cases_close(&c);
    for (int n = 0; n < 20000; n++) {
        buf_reset(&url);
        buf_reset(&once);
        buf_lit(&url, "http://h.example/");
        for (size_t k = pick(16); k > 0; k--)
            buf_text(&url, token[pick(sizeof token / sizeof *token)]);
        assert_int_equal(url_canonical(&once, buf_span(&url)), 0);
        expect_canonical(buf_span(&once), buf_span(&once));
    }
    buf_free(&url);
    buf_free(&once);
}

static void keys_of_scrape(void **state) {
    (void)state;
    struct cases c;
    size_t count = 0;
    cases_open(&c, "url/keys.tsv");
    for (; cases_next(&c); count++) {
        struct buf clean = BUF_INIT;
        char key[32];
        int rc = url_clean(&clean, c.field[1]);
        snprintf(key, sizeof key, "%llu", (unsigned long long)(rc ? 0 : url_key(buf_span(&clean))));
        if (span_eq(c.field[0], "refused")) {
            assert_int_equal(rc, TL_INVALID);
            assert_int_equal(clean.len, 0);
        } else if (span_eq(c.field[0], "not")) { /* the answer of code that masks where it must fold */
            assert_false(span_eq(c.field[3], key));
        } else {
            assert_int_equal(rc, 0);
            if (!spans_equal(buf_span(&clean), c.field[2]) || !span_eq(c.field[3], key))
                fail_msg("%.*s gives %s, %s", (int)c.field[1].len, c.field[1].ptr, clean.data, key);
        }
        buf_free(&clean);
    }
    assert_int_equal(count, 47);
    cases_close(&c);
    assert_true(url_key(span_of("http://\xff/")) >> 63 == 0);
}

/* ---- hosts */

static void expect_host(const char *text, const char *want) {
    struct buf out = BUF_INIT;
    int rc = url_host(&out, span_of(text), true);
    if (want ? rc != 0 || !span_eq(buf_span(&out), want) : rc != TL_INVALID)
        fail_msg("%s gives %s", text, rc ? "refused" : out.data);
    buf_free(&out);
}

static void host_forms(void **state) {
    (void)state;
    static const char *const cases[][2] = {{"0300.0xa8.1", "192.168.0.1"},
                                           {"4294967295", "255.255.255.255"},
                                           {"4294967296", NULL},
                                           {"1.2.3.4.", "1.2.3.4"},
                                           {"1.2.3.4.5", NULL},
                                           {"1..2", NULL},
                                           {"a.09", NULL},
                                           {"a.0x", NULL},
                                           {"0x", "0.0.0.0"},
                                           {"1.2.3.a4", "1.2.3.a4"},
                                           {"0x100000000000000000", NULL},
                                           {"\xef\xbc\x91.1.1.1", "1.1.1.1"},
                                           {"[1:0:0:2:0:0:0:3]", "[1:0:0:2::3]"},
                                           {"[::ffff:1.2.3.4]", "[::ffff:102:304]"},
                                           {"[1:2:3:4:5:6:7::]", "[1:2:3:4:5:6:7:0]"},
                                           {"[1::2::3]", NULL},
                                           {"[1:2:3:4:5:6:7:8:9]", NULL},
                                           {"[1:2:3:4:5:6:7]", NULL},
                                           {"[12345::]", NULL},
                                           {"[::1.2.3]", NULL},
                                           {"[::1.2.3.04]", NULL},
                                           {"[::1]x", NULL},
                                           {"[]", NULL},
                                           {"[:]", NULL},
                                           {"[fe80::1%25eth0]", NULL},
                                           {"exa%6Dple.org", "example.org"},
                                           {"a%00b", NULL},
                                           {"a%", NULL},
                                           {"a..b", "a..b"},
                                           {"a_b.org", "a_b.org"},
                                           {"stra\xc3\x9f"
                                            "e.de",
                                            "xn--strae-oqa.de"},
                                           {"\xe2\x99\xa5-\xe2\x99\xa5.example", "xn----m3pb.example"},
                                           {"\xc2\xad", NULL},
                                           {"a\xe3\x80\x82"
                                            "b",
                                            "a.b"},
                                           {"\xef\xbd\x98\xef\xbd\x8e--a.de", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_host(cases[i][0], cases[i][1]);
}

static void leash_patterns(void **state) {
    (void)state;
    static const char *const forms[][2] = {{"Example.ORG", "example.org"},
                                           {"*.b\xc3\xbc"
                                            "cher.de:8080",
                                            "*.xn--bcher-kva.de:8080"},
                                           {"*", "*"},
                                           {"*:443", "*:443"},
                                           {"[::0001]:80", "[::1]:80"},
                                           {"[::1]", "[::1]"},
                                           {"127.1", "127.0.0.1"},
                                           {"example.org.", "example.org"},
                                           {"", NULL},
                                           {"*.", NULL},
                                           {"*.*", NULL},
                                           {"a*.org", NULL},
                                           {"**", NULL},
                                           {"*.*.org", NULL},
                                           {"http://example.org", NULL},
                                           {"example.org/x", NULL},
                                           {"example.org:", NULL},
                                           {"example.org:0", NULL},
                                           {"example.org:65536", NULL},
                                           {"example.org:http", NULL},
                                           {"::1", NULL},
                                           {".org", NULL},
                                           {"*.1.2.3.4", NULL},
                                           {"*.[::1]", NULL},
                                           {"u@example.org", NULL},
                                           {"a b", NULL},
                                           {"a..b", NULL},
                                           {":80", NULL}};
    static const struct {
        const char *pattern, *host;
        int port;
        bool match;
    } cases[] = {{"example.org", "example.org", 443, true},
                 {"example.org", "EXAMPLE.org", 443, true},
                 {"example.org", "www.example.org", 443, false},
                 {"example.org", "xexample.org", 443, false},
                 {"*.example.org", "example.org", 80, true},
                 {"*.example.org", "a.b.example.org", 80, true},
                 {"*.example.org", "badexample.org", 80, false},
                 {"*.example.org", "example.org.evil.net", 80, false},
                 {"example.org:8080", "example.org", 8080, true},
                 {"example.org:8080", "example.org", 80, false},
                 {"example.org", "example.org.", 80, true},
                 {"*", "anything", 1, true},
                 {"*:443", "anything", 443, true},
                 {"*:443", "anything", 80, false},
                 {"[::1]:80", "[::1]", 80, true},
                 {"[::1]:80", "[::1]", 81, false},
                 {"[::1]", "[::1]", 81, true},
                 {"[::1]", "[::2]", 81, false},
                 {"example.org", "", 80, false},
                 {"*.example.org", ".example.org", 80, true}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct buf out = BUF_INIT;
        int rc = url_host_pattern(&out, forms[i][0]);
        if (forms[i][1] ? rc != 0 || !span_eq(buf_span(&out), forms[i][1]) : rc != TL_INVALID || out.len)
            fail_msg("%s gives %s", forms[i][0], rc ? "refused" : out.data);
        buf_free(&out);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (url_host_matches(cases[i].pattern, span_of(cases[i].host), cases[i].port) != cases[i].match)
            fail_msg("%s against %s:%d", cases[i].pattern, cases[i].host, cases[i].port);
}

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(web_platform_tests),
        cmocka_unit_test(domains_to_ascii),
        cmocka_unit_test(resolves_references),
        cmocka_unit_test(names_the_parts),
        cmocka_unit_test(writes_origins),
        cmocka_unit_test(reads_bytes_that_are_not_utf8),
        cmocka_unit_test(refuses_long_ones),
        cmocka_unit_test(short_cuts_agree_on_the_cases),
        cmocka_unit_test(short_cuts_agree_on_random_references),
        cmocka_unit_test(short_cuts_take_the_plain_ones),
        cmocka_unit_test(drops_the_fragment),
        cmocka_unit_test(canonical_forms),
        cmocka_unit_test(canonical_is_a_fixed_point),
        cmocka_unit_test(keys_of_scrape),
        cmocka_unit_test(host_forms),
        cmocka_unit_test(leash_patterns),
    };
    return cmocka_run_group_tests_name("url", tests, NULL, NULL);
}
