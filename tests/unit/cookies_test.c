/* cookies_test.c - the jar: RFC 6265's examples and rules, those of 6265bis, and what a hostile server may try. */
#include "net/cookies.h"

#include "base/mem.h"
#include "cases.h"

#define NOW ((int64_t)1767225600 * 1000000) /* 2026-01-01T00:00:00Z */

static struct cookies *jar;

static struct url parse(struct buf *href, const char *text) {
    struct url u;
    assert_int_equal(url_parse(href, span_of(text), NULL, &u), TL_OK);
    return u;
}

static const struct cookie *hear_at(const char *from, const char *line, int64_t now) {
    AUTO_BUF struct buf href = BUF_INIT;
    struct url u = parse(&href, from);
    return cookies_hear(jar, &u, span_of(line), now);
}

static const struct cookie *hear(const char *from, const char *line) {
    return hear_at(from, line, NOW);
}

static char *sent_at(const char *to, int64_t now) {
    static struct buf out;
    AUTO_BUF struct buf href = BUF_INIT;
    struct url u = parse(&href, to);
    buf_reset(&out);
    cookies_header(jar, &u, now, &out);
    return out.len ? out.data : (char *)(uintptr_t) "";
}

static char *sent(const char *to) {
    return sent_at(to, NOW);
}

static int fresh(void **state) {
    (void)state;
    jar = cookies_new();
    return 0;
}

static int done(void **state) {
    (void)state;
    cookies_free(jar);
    return 0;
}

/* RFC 6265, 3.1 */
static void examples_of_the_rfc(void **state) {
    (void)state;
    hear("https://www.example.com/", "SID=31d4d96e407aad42");
    assert_string_equal(sent("https://www.example.com/x"), "SID=31d4d96e407aad42");
    assert_string_equal(sent("https://example.com/"), "");
    hear("https://www.example.com/", "SID=31d4d96e407aad42; Path=/; Domain=example.com");
    assert_string_equal(sent("https://www.example.com/"), "SID=31d4d96e407aad42; SID=31d4d96e407aad42");
    assert_string_equal(sent("https://example.com/"), "SID=31d4d96e407aad42");
    hear("https://other.net/", "SID=31d4d96e407aad42; Path=/; Secure; HttpOnly");
    hear("https://other.net/", "lang=en-US; Path=/; Domain=other.net");
    assert_string_equal(sent("https://other.net/"), "SID=31d4d96e407aad42; lang=en-US");
    assert_string_equal(sent("http://other.net/"), "lang=en-US");
    hear("https://other.net/", "lang=; Expires=Sun, 06 Nov 1994 08:49:37 GMT; domain=other.net");
    assert_string_equal(sent("https://other.net/"), "SID=31d4d96e407aad42");
}

struct where {
    const char *from, *line, *to;
    bool goes;
};

static void where_it_goes(void **state) {
    static const struct where cases[] = {
        {"http://a.example.org/", "a=b", "http://a.example.org/", true},
        {"http://a.example.org/", "a=b", "http://a.example.org:8080/",
         true}, /* ports make no difference: RFC 6265, 8.5 */
        {"http://a.example.org/", "a=b", "http://b.a.example.org/", false},
        {"http://a.example.org/", "a=b; Domain=example.org", "http://b.example.org/", true},
        {"http://a.example.org/", "a=b; Domain=.Example.ORG", "http://example.org/", true},
        {"http://a.example.org/", "a=b; Domain=example.org", "http://badexample.org/", false},
        {"http://a.example.org/", "a=b; Domain=a.example.org", "http://x.a.example.org/", true},
        {"http://a.example.org/", "a=b; Domain=b.example.org", "http://b.example.org/", false},
        {"http://a.example.org/", "a=b; Domain=x.a.example.org", "http://x.a.example.org/", false},
        {"http://a.example.org/", "a=b; Domain=other.net", "http://other.net/", false},
        /* public suffixes */
        {"http://a.example.org/", "a=b; Domain=org", "http://other.org/", false},
        {"http://a.example.co.uk/", "a=b; Domain=co.uk", "http://other.co.uk/", false},
        {"http://a.github.io/", "a=b; Domain=github.io", "http://b.github.io/", false},
        {"http://github.io/", "a=b; Domain=github.io", "http://github.io/", true},
        {"http://github.io/", "a=b; Domain=github.io", "http://b.github.io/", false},
        {"http://localhost/", "a=b; Domain=localhost", "http://localhost/", true},
        /* addresses have no domains */
        {"http://127.0.0.1/", "a=b; Domain=127.0.0.1", "http://127.0.0.1/", true},
        {"http://127.0.0.1/", "a=b; Domain=0.0.1", "http://127.0.0.1/", false},
        {"http://[::1]/", "a=b", "http://[::1]/", true},
        {"http://1.example.org/", "a=b; Domain=example.org", "http://2.example.org/", true},
        /* paths */
        {"http://x.org/a/b", "a=b", "http://x.org/a/c", true},
        {"http://x.org/a/b", "a=b", "http://x.org/a", true},
        {"http://x.org/a/b", "a=b", "http://x.org/ab", false},
        {"http://x.org/a/b", "a=b", "http://x.org/", false},
        {"http://x.org/", "a=b; Path=/a/", "http://x.org/a", false},
        {"http://x.org/", "a=b; Path=/a/", "http://x.org/a/x", true},
        {"http://x.org/", "a=b; Path=/a", "http://x.org/a?q", true},
        {"http://x.org/q", "a=b; Path=no", "http://x.org/x", true},
        /* secure */
        {"https://x.org/", "a=b; Secure", "http://x.org/", false},
        {"https://x.org/", "a=b; secure", "https://x.org/", true},
        {"http://x.org/", "a=b; Secure", "https://x.org/", false},
        {"https://x.org/", "__Secure-a=b", "https://x.org/", false},
        {"https://x.org/", "__Secure-a=b; Secure", "https://x.org/", true},
        {"https://x.org/", "__Host-a=b; Secure; Path=/", "https://x.org/", true},
        {"https://x.org/", "__host-a=b; Secure; Path=/; Domain=x.org", "https://x.org/", false},
        {"https://x.org/a/", "__Host-a=b; Secure", "https://x.org/a/", false},
        /* forms */
        {"http://x.org/", "a", "http://x.org/", false},
        {"http://x.org/", "a; b=c", "http://x.org/", false},
        {"http://x.org/", "=b", "http://x.org/", false},
        {"http://x.org/", "", "http://x.org/", false},
        {"http://x.org/", ";;;", "http://x.org/", false},
        {"http://x.org/", "a=b\x01", "http://x.org/", false},
        {"http://x.org/", "a=b\r\nX: y", "http://x.org/", false},
        {"http://x.org/", "a=b; Path=/\x07", "http://x.org/", false},
        {"http://x.org/", "a=b; Max-Age=0", "http://x.org/", false},
        {"http://x.org/", "a=b; Max-Age=-1; Expires=Fri, 01 Jan 2027 00:00:00 GMT", "http://x.org/", false},
        {"http://x.org/", "a=b; Max-Age=60; Expires=Fri, 01 Jan 2016 00:00:00 GMT", "http://x.org/", true},
        {"http://x.org/", "a=b; Expires=Fri, 01 Jan 2016 00:00:00 GMT; Max-Age=60", "http://x.org/", true},
        {"http://x.org/", "a=b; Max-Age=soon; Expires=never", "http://x.org/", true},
        {"http://x.org/", "a=b; Max-Age=99999999999999999999999", "http://x.org/", true},
        {"http://x.org/", "a=b; Expires=Thu, 31-Dec-26 23:59:59 GMT", "http://x.org/", true},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        jar = cookies_new();
        hear(cases[i].from, cases[i].line);
        if ((strchr(sent(cases[i].to), 'b') != NULL) != cases[i].goes)
            fail_msg("%s sets %s; %s gets \"%s\"", cases[i].from, cases[i].line, cases[i].to, sent(cases[i].to));
        cookies_free(jar);
    }
    jar = NULL;
}

static void values_stay_as_they_are(void **state) {
    (void)state;
    hear("http://x.org/", "a = \"quoted; Path=/\" ; Path=/");
    hear("http://x.org/", "b=c=d, e==");
    hear("http://x.org/", "empty=");
    hear("http://x.org/", "latin=\xE9");
    assert_string_equal(sent("http://x.org/"), "a=\"quoted; b=c=d, e==; empty=; latin=\xE9");
}

/* Longer paths first, then what was made first; a new value keeps its place. */
static void order(void **state) {
    (void)state;
    hear("http://x.org/a/b/", "one=1; Path=/");
    hear("http://x.org/a/b/", "two=2; Path=/");
    hear("http://x.org/a/b/", "deep=3");
    hear("http://x.org/a/b/", "one=4; Path=/");
    assert_string_equal(sent("http://x.org/a/b/"), "deep=3; one=4; two=2");
}

static void time_passes(void **state) {
    const int64_t hour = (int64_t)3600 * 1000000, day = 24 * hour;
    (void)state;
    hear("http://x.org/", "a=1; Max-Age=3600");
    hear("http://x.org/", "b=2");
    hear("http://x.org/", "c=3; Expires=Fri, 01 Jan 2100 00:00:00 GMT");
    assert_string_equal(sent_at("http://x.org/", NOW + hour - 1), "a=1; b=2; c=3");
    assert_string_equal(sent_at("http://x.org/", NOW + hour), "b=2; c=3");
    assert_string_equal(sent_at("http://x.org/", NOW + 400 * day), "b=2"); /* no longer than 400 days */
}

/* What http may not do to a cookie that https set. */
static void secure_ones_are_left_alone(void **state) {
    (void)state;
    hear("https://x.org/", "sid=good; Secure; Domain=x.org");
    hear("http://x.org/", "sid=evil");
    hear("http://a.x.org/", "sid=evil; Domain=x.org");
    hear("http://a.x.org/", "sid=evil");
    hear("http://x.org/", "other=fine");
    assert_string_equal(sent("https://x.org/"), "sid=good; other=fine");
    assert_string_equal(sent("https://a.x.org/"), "sid=good");
}

static void only_news_are_told(void **state) {
    (void)state;
    const struct cookie *c = hear("http://x.org/a/b", "a=1; Max-Age=3600");
    assert_non_null(c);
    assert_string_equal(c->name, "a");
    assert_string_equal(c->path, "/a");
    assert_true(c->host_only && !c->secure);
    assert_null(hear_at("http://x.org/a/b", "a=1; Max-Age=3600", NOW + 1000000)); /* as good as the same */
    assert_string_equal(sent_at("http://x.org/a/b", NOW + (int64_t)3600 * 1000000), "a=1");
    assert_non_null(hear("http://x.org/a/b", "a=2; Max-Age=3600"));
    assert_null(hear("http://x.org/a/b", "gone=1; Max-Age=0")); /* nobody had it */
    c = hear("http://x.org/a/b", "a=; Max-Age=0");
    assert_non_null(c);
    struct cookies *other = cookies_new(); /* a copy elsewhere */
    assert_int_equal(cookies_put(other, &(struct cookie){"a", "2", "x.org", "/a", true, false, INT64_MAX}, NOW), TL_OK);
    assert_int_equal(cookies_put(other, c, NOW), TL_OK);
    assert_int_equal(cookies_count(other), 0);
    cookies_free(other);
}

static void what_cannot_be_one_is_refused(void **state) {
    static const struct cookie bad[] = {
        {"", "v", "x.org", "/", true, false, INT64_MAX},     {"n", "v", "", "/", true, false, INT64_MAX},
        {"n", "v", "x.org", "", true, false, INT64_MAX},     {"n", "a\r\nb", "x.org", "/", true, false, INT64_MAX},
        {"n\n", "v", "x.org", "/", true, false, INT64_MAX},  {"n;", "v", "x.org", "/", true, false, INT64_MAX},
        {"n", "v; w", "x.org", "/", true, false, INT64_MAX}, {NULL, "v", "x.org", "/", true, false, INT64_MAX},
        {"n", "v", "x.org\t", "/", true, false, INT64_MAX},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(cookies_put(jar, &bad[i], NOW), TL_INVALID);
    assert_int_equal(cookies_count(jar), 0);
}

static void the_jar_is_bounded(void **state) {
    char text[COOKIE_PAIR_MAX + 100];
    (void)state;
    for (int i = 0; i < 200; i++) {
        snprintf(text, sizeof text, "c%d=%d", i, i);
        hear("http://greedy.org/", text);
        hear("http://modest.org/", "one=1");
    }
    assert_int_equal(cookies_count(jar), COOKIES_PER_DOMAIN + 1);
    assert_string_equal(sent("http://modest.org/"), "one=1");
    assert_null(strstr(sent("http://greedy.org/"), "c149=")); /* the newest are kept */
    assert_non_null(strstr(sent("http://greedy.org/"), "c150="));
    for (int i = 0; i < 2 * COOKIES_MAX; i++) {
        snprintf(text, sizeof text, "http://h%d.org/", i);
        hear(text, "a=b");
    }
    assert_int_equal(cookies_count(jar), COOKIES_MAX);
    memset(text, 'x', sizeof text);
    text[1] = '=';
    text[COOKIE_PAIR_MAX + 1] = '\0';
    assert_non_null(hear("http://long.org/", text)); /* name and value: as long as may be */
    text[COOKIE_PAIR_MAX + 1] = 'x';
    text[COOKIE_PAIR_MAX + 2] = '\0';
    assert_null(hear("http://longer.org/", text));
    for (int i = 0; i < 10; i++) {
        snprintf(text, 10, "n%d=", i);
        memset(text + 3, 'y', 2000);
        text[2000] = '\0';
        hear("http://wide.org/", text);
    }
    assert_true(strlen(sent("http://wide.org/")) <= COOKIE_HEADER_MAX);
    assert_true(strlen(sent("http://wide.org/")) > COOKIE_HEADER_MAX / 2);
}

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
#define WITH_JAR(test) cmocka_unit_test_setup_teardown(test, fresh, done)
    const struct CMUnitTest tests[] = {
        WITH_JAR(examples_of_the_rfc),
        cmocka_unit_test(where_it_goes),
        WITH_JAR(values_stay_as_they_are),
        WITH_JAR(order),
        WITH_JAR(time_passes),
        WITH_JAR(secure_ones_are_left_alone),
        WITH_JAR(only_news_are_told),
        WITH_JAR(what_cannot_be_one_is_refused),
        WITH_JAR(the_jar_is_bounded),
    };
    return cmocka_run_group_tests_name("cookies", tests, NULL, NULL);
}
