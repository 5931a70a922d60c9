/* robots_test.c - robots.txt: Google's specification cases, real files, the group rules, wildcards against a plain
 * matcher. */
#include "net/robots.h"

#include "cases.h"

static struct robots *compiled(struct tl_span body, struct tl_span agent) {
    struct buf name = BUF_INIT;
    struct robots *r = NULL;
    buf_add(&name, agent.ptr, agent.len);
    assert_int_equal(robots_parse(body, name.data ? name.data : "", &r), 0);
    buf_free(&name);
    return r;
}

static bool allows(const char *body, const char *agent, const char *path) {
    struct robots *r = compiled(span_of(body), span_of(agent));
    bool verdict = robots_allowed(r, span_of(path));
    robots_free(r);
    return verdict;
}

static void google_specification(void **state) {
    (void)state;
    struct cases c;
    struct buf body = BUF_INIT, path = BUF_INIT;
    size_t count = 0;
    cases_open(&c, "robots/google-spec.tsv");
    while (cases_next(&c)) {
        if (span_eq(c.field[0], "body")) {
            buf_reset(&body);
            buf_add(&body, c.field[2].ptr, c.field[2].len);
            continue;
        }
        struct robots *r = compiled(buf_span(&body), c.field[1]);
        buf_reset(&path);
        robots_path(&path, c.field[2]);
        if (robots_allowed(r, buf_span(&path)) != span_eq(c.field[3], "1"))
            fail_msg("%.*s %.*s in\n%s", (int)c.field[1].len, c.field[1].ptr, (int)c.field[2].len, c.field[2].ptr,
                     body.data);
        robots_free(r);
        count++;
    }
    assert_int_equal(count, 277);
    cases_close(&c);
    buf_free(&body);
    buf_free(&path);
}

static void real_files(void **state) {
    (void)state;
    struct cases c;
    struct buf body = BUF_INIT, file = BUF_INIT, last = BUF_INIT;
    size_t count = 0;
    cases_open(&c, "robots/real-expected.tsv");
    for (; cases_next(&c); count++) {
        buf_reset(&file);
        buf_printf(&file, "robots/%.*s", (int)c.field[0].len, c.field[0].ptr);
        if (!spans_equal(buf_span(&file), buf_span(&last))) {
            buf_reset(&body);
            cases_file(&body, file.data);
            buf_reset(&last);
            buf_add(&last, file.data, file.len);
        }
        struct robots *r = compiled(buf_span(&body), c.field[1]);
        if (robots_allowed(r, c.field[2]) != span_eq(c.field[3], "1"))
            fail_msg("%s: %.*s %.*s", file.data, (int)c.field[1].len, c.field[1].ptr, (int)c.field[2].len,
                     c.field[2].ptr);
        robots_free(r);
    }
    assert_int_equal(count, 1543);
    cases_close(&c);
    buf_free(&body);
    buf_free(&file);
    buf_free(&last);
}

static void groups_of_an_agent(void **state) {
    (void)state;
    static const char body[] = "user-agent: *\ndisallow: /zone\n\n"
                               "User-Agent: TrotLine/2.0 (like others)\nUser-agent: other\nDisallow: /a\n\n"
                               "user-agent: third\ndisallow: /\n\n"
                               "user-agent: trotline\ndisallow: /b\n";
    assert_false(allows(body, "trotline", "/a"));
    assert_false(allows(body, "trotline/1.0 (+https://example.org/)", "/b")); /* both groups, merged */
    assert_true(allows(body, "trotline", "/zone"));                           /* not the ones for others */
    assert_true(allows(body, "other", "/b"));
    assert_false(allows(body, "nobody", "/zone"));
    assert_true(allows(body, "nobody", "/a"));
    assert_true(allows("user-agent: trotline-images\ndisallow: /", "trotline", "/")); /* another token */
    assert_true(
        allows("user-agent: trotline\n\nuser-agent: *\nallow: /x\n", "trotline", "/")); /* one group of two names */
    assert_true(allows("user-agent: *\ndisallow: /\nuser-agent: trotline\ndisallow:\n", "trotline", "/"));
    assert_true(allows("disallow: /\n", "trotline", "/")); /* a rule before any group binds nobody */
    assert_true(allows("<html><body>Not found</body></html>", "trotline", "/"));
}

static void lines_and_their_ends(void **state) {
    (void)state;
    assert_false(allows("user-agent:*\rdisallow:/a\r", "x", "/a"));
    assert_false(allows("user-agent: *\r\n\r\ndisallow: /a", "x", "/a"));
    assert_false(allows("\xef\xbb\xbfuser-agent: *\ndisallow: /a", "x", "/a"));
    assert_false(allows("user-agent *\ndisallow /a", "x", "/a"));    /* forgotten colons */
    assert_true(allows("user-agent: *\ndisallow /a /b", "x", "/a")); /* three words: no */
    assert_false(allows("useragent: *\ndissalow: /a # no", "x", "/a"));
    assert_true(allows("user-agent: *\n# disallow: /a", "x", "/a"));

    struct buf body = BUF_INIT;
    buf_lit(&body, "user-agent: *\ndisallow: /a");
    size_t start = body.len - 2;
    while (body.len < 20000)
        buf_char(&body, 'a');
    buf_lit(&body, "\ndisallow: /b");
    struct robots *r = compiled(buf_span(&body), span_of("x"));
    body.data[start + ROBOTS_LINE_MAX] = '\0'; /* the pattern as cut, and a little more */
    assert_false(robots_allowed(r, span_of(body.data + start)));
    assert_true(robots_allowed(r, span_of("/aaa")));
    assert_false(robots_allowed(r, span_of("/b"))); /* the line after is read */
    robots_free(r);

    buf_reset(&body);
    buf_lit(&body, "user-agent: *\ndisallow: /first\n");
    while (body.len < ROBOTS_MAX)
        buf_lit(&body, "# nothing\n");
    buf_lit(&body, "disallow: /last\n");
    r = compiled(buf_span(&body), span_of("x"));
    assert_false(robots_allowed(r, span_of("/first")));
    assert_true(robots_allowed(r, span_of("/last")));
    robots_free(r);
    buf_free(&body);
}

static void longest_match_and_octets(void **state) {
    (void)state;
    assert_true(allows("user-agent: *\nallow: /p\ndisallow: /p", "x", "/page")); /* a tie: Allow */
    assert_false(allows("user-agent: *\nallow: /p\ndisallow: /pa", "x", "/page"));
    assert_false(allows("user-agent: *\ndisallow: /a%c3%a9", "x", "/a%C3%A9"));
    assert_false(allows("user-agent: *\ndisallow: /a\xc3\xa9", "x", "/a%c3%a9"));
    assert_true(allows("user-agent: *\ndisallow: /%62", "x", "/b"));
    assert_true(allows("user-agent: *\ndisallow: /A", "x", "/a"));
    assert_false(allows("user-agent: *\ndisallow: /*.pdf$", "x", "/x/y.pdf"));
    assert_true(allows("user-agent: *\ndisallow: /*.pdf$", "x", "/x/y.pdf?z"));
    assert_false(allows("user-agent: *\ndisallow: /a$b", "x", "/a$b")); /* "$" only ends a pattern at its end */
    assert_false(allows("user-agent: *\ndisallow: /", "x", ""));
}

/* Google's matcher in its plainest form: all places where the pattern so far may end. */
static bool plain_match(const char *pattern, const char *path) {
    bool at[64] = {true}, next[64];
    size_t len = strlen(path);
    for (const char *p = pattern; *p; p++) {
        if (*p == '$' && !p[1])
            return at[len];
        memset(next, 0, sizeof next);
        for (size_t i = 0, seen = 0; i <= len; i++) {
            seen |= at[i];
            if (*p == '*')
                next[i] = seen;
            else if (at[i] && path[i] == *p)
                next[i + 1] = true;
        }
        memcpy(at, next, sizeof at);
    }
    for (size_t i = 0; i <= len; i++)
        if (at[i])
            return true;
    return false;
}

static void wildcards_against_a_plain_matcher(void **state) {
    (void)state;
    uint32_t seed = 7;
    size_t matched = 0;
    for (int n = 0; n < 30000; n++) {
        char pattern[16] = "/", path[32] = "/", body[64];
        seed = seed * 1664525 + 1013904223;
        size_t len = 1 + (seed >> 16) % 10;
        for (size_t i = 1; i < len; i++, seed = seed * 1664525 + 1013904223)
            pattern[i] = "aab**/$"[(seed >> 16) % 7];
        len = 1 + (seed >> 20) % 20;
        for (size_t i = 1; i < len; i++, seed = seed * 1664525 + 1013904223)
            path[i] = "aaab/$"[(seed >> 16) % 6];
        snprintf(body, sizeof body, "user-agent: *\ndisallow: %s", pattern);
        bool want = plain_match(pattern, path);
        matched += want;
        if (allows(body, "x", path) == want)
            fail_msg("%s against %s: want %s", pattern, path, want ? "a match" : "none");
    }
    assert_in_range(matched, 3000, 27000);
}

/* A file made to be slow is a no, not a stall: the work is counted, not the time. */
static void hostile_wildcards(void **state) {
    (void)state;
    struct buf body = BUF_INIT, path = BUF_INIT;
    buf_lit(&body, "user-agent: *\n");
    while (body.len < 400 * 1024)
        buf_lit(&body, "allow: /*ab*ab*b*bbb\n");
    buf_lit(&path, "/abab");
    while (path.len < 60000)
        buf_char(&path, 'a');
    struct robots *r = compiled(buf_span(&body), span_of("x"));
    assert_false(robots_allowed(r, buf_span(&path)));
    assert_true(robots_allowed(r, span_of("/abab"))); /* nothing matches, at little cost */
    robots_free(r);
    buf_free(&body);
    buf_free(&path);
}

static int64_t delay(const char *body, const char *agent) {
    struct robots *r = compiled(span_of(body), span_of(agent));
    int64_t ms = robots_delay_ms(r);
    robots_free(r);
    return ms;
}

static void crawl_delays(void **state) {
    (void)state;
    assert_int_equal(delay("user-agent: *\ncrawl-delay: 2.5\n", "x"), 2500);
    assert_int_equal(delay("user-agent: *\ncrawl-delay: .25\n", "x"), 250);
    assert_int_equal(delay("user-agent: *\nCrawl-Delay:10 # s\n", "x"), 10000);
    assert_int_equal(delay("user-agent: *\ncrawl-delay: 0\n", "x"), 0);
    assert_int_equal(delay("user-agent: *\ncrawl-delay: 99999999999999999999\n", "x"), 86400000);
    assert_int_equal(delay("user-agent: *\ncrawl-delay: -1\n", "x"), -1);
    assert_int_equal(delay("user-agent: *\ncrawl-delay: 1h\n", "x"), -1);
    assert_int_equal(delay("user-agent: *\ncrawl-delay:\n", "x"), -1);
    assert_int_equal(delay("crawl-delay: 3\n", "x"), -1);
    /* per group: the agent's own groups, not those of "*" */
    static const char body[] = "user-agent: *\ncrawl-delay: 9\ndisallow: /q\n\nuser-agent: a\ncrawl-delay: 1\n"
                               "disallow: /x\n\nuser-agent: a\ncrawl-delay: 4\ndisallow: /y\n\nuser-agent: b\n"
                               "disallow: /z\n";
    assert_int_equal(delay(body, "a"), 4000);
    assert_int_equal(delay(body, "b"), -1);
    assert_int_equal(delay(body, "c"), 9000);
}

static void sitemaps_for_all(void **state) {
    (void)state;
    struct robots *r = compiled(span_of("Sitemap: https://example.org/a.xml\nuser-agent: other\ndisallow: /\n"
                                        "SITEMAP:/b.xml\nsite-map: c # d\nsitemap:\n"),
                                span_of("trotline"));
    assert_int_equal(robots_sitemap_count(r), 3);
    assert_span(robots_sitemap(r, 0), "https://example.org/a.xml");
    assert_span(robots_sitemap(r, 1), "/b.xml");
    assert_span(robots_sitemap(r, 2), "c");
    assert_int_equal(robots_sitemap(r, 3).len, 0);
    robots_free(r);
}

static void paths_of_urls(void **state) {
    (void)state;
    static const char *const cases[][2] = {{"", "/"},
                                           {"http://www.example.com", "/"},
                                           {"http://www.example.com/", "/"},
                                           {"http://www.example.com/a", "/a"},
                                           {"http://www.example.com/a/b?c=http://d.e/#f", "/a/b?c=http://d.e/"},
                                           {"example.com?a", "/?a"},
                                           {"//a/b/c", "/b/c"},
                                           {"http://example.com#/a", "/"},
                                           {"http://example.com;p", "/;p"},
                                           {"/a?u=http://b/c", "/a?u=http://b/c"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = BUF_INIT;
        robots_path(&out, span_of(cases[i][0]));
        assert_span(buf_span(&out), cases[i][1]);
        buf_free(&out);
    }
}

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(google_specification),     cmocka_unit_test(real_files),
        cmocka_unit_test(groups_of_an_agent),       cmocka_unit_test(lines_and_their_ends),
        cmocka_unit_test(longest_match_and_octets), cmocka_unit_test(wildcards_against_a_plain_matcher),
        cmocka_unit_test(hostile_wildcards),        cmocka_unit_test(crawl_delays),
        cmocka_unit_test(sitemaps_for_all),         cmocka_unit_test(paths_of_urls),
    };
    return cmocka_run_group_tests_name("robots", tests, NULL, NULL);
}
