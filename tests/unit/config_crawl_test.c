/* config_crawl_test.c - crawl files: what is read, where exactly what is refused is, and what makes a crawl the same
 * one. */
#include "config_help.h"

#define LINES "lines:\n  - collector: http\n    args: {url: \"https://example.org/\"}\n"
#define CRAWL "crawl: x\n" LINES

static void crawl(const char *text, struct crawl *c) {
    struct fail why = FAIL_INIT;
    int rc = config_crawl_text("x.yml", span_of(text), NULL, 0, c, &why);
    assert_string_equal(why.text, "");
    assert_int_equal(rc, TL_OK);
}

static void crawls_are_read(void **state) {
    (void)state;
    struct crawl c;
    crawl("crawl: 012\ntarget: {org: no, project: 1.10, name: kayaking in florida}\n"
          "leash: {depth: 5, bytes: none, hosts: [\"*.example.org\"]}\n"
          "lines:\n"
          "  - collector: http\n"
          "    args: {url: \"https://example.org/?q={target.name}\", n: 012, v: 1.10, b: no, t: true, x: \"1\",\n"
          "      deep: [{a: \"{crawl}/{target.org}/{target.project}/{other}{\"}]}\n"
          "    leash: {time: 90s, hosts: [api.example.com], fanout: none}\n"
          "    name: first\n"
          "  - {collector: feed}\n"
          "react:\n"
          "  - {on: {collector: github, type: repo}, collector: gitbackup, args: {wiki: true}}\n"
          "  - on: {collector: http}\n"
          "    collector: keep\n"
          "run_context: week.json\n"
          "fanin: {sources: /etc/sources.yml, out: digest}\n",
          &c);
    assert_string_equal(c.name, "012"); /* texts, whatever they look like */
    assert_string_equal(c.org, "no");
    assert_string_equal(c.project, "1.10");
    assert_string_equal(c.target, "kayaking in florida");
    assert_string_equal(c.run_context, "/week.json"); /* this text has no folder of its own */
    assert_string_equal(c.fanin.sources, "/etc/sources.yml");
    assert_string_equal(c.fanin.out, "/digest");
    assert_string_equal(c.file, "x.yml");
    assert_true(c.lock);
    AUTO_BUF struct buf leash = BUF_INIT;
    leash_json(&leash, &c.leash);
    assert_string_equal(leash.data, "{\"depth\":5,\"fanout\":1000,\"runs\":10000,\"bytes\":null,\"time\":86400,"
                                    "\"hosts\":[\"*.example.org\"]}");
    assert_int_equal(c.line_count, 2);
    assert_string_equal(c.line[0].collector, "http");
    assert_string_equal(c.line[0].name, "first");
    assert_true(span_eq(c.line[0].args,
                        "{\"url\":\"https://example.org/?q=kayaking in florida\",\"n\":\"012\",\"v\":1.10,"
                        "\"b\":\"no\",\"t\":true,\"x\":\"1\",\"deep\":[{\"a\":\"012/no/1.10/{other}{\"}]}"));
    assert_true(span_eq(c.line[0].leash_given, "{\"fanout\":null,\"time\":90,\"hosts\":[\"api.example.com\"]}"));
    assert_int_equal(c.line[0].leash.time_us, 90000000);
    assert_int_equal(c.line[0].leash.depth, LEASH_DEPTH_MAX);
    assert_int_equal(c.line[0].line, 5);
    assert_int_equal(c.line[0].column, 5);
    assert_string_equal(c.line[1].collector, "feed");
    assert_null(c.line[1].name);
    assert_int_equal(c.line[1].args.len, 0);
    assert_int_equal(c.line[1].leash_given.len, 0);
    assert_int_equal(c.route_count, 2);
    assert_string_equal(c.route[0].on_collector, "github");
    assert_string_equal(c.route[0].on_type, "repo");
    assert_string_equal(c.route[0].collector, "gitbackup");
    assert_true(span_eq(c.route[0].args, "{\"wiki\":true}"));
    assert_null(c.route[1].on_type);
    assert_int_equal(c.route[1].line, 13);
    config_crawl_free(&c);
    crawl(CRAWL, &c);
    assert_null(c.org);
    assert_null(c.target);
    assert_int_equal(c.leash.depth, 3);
    assert_int_equal(c.leash.time_us, 24 * 60 * MINUTE_US);
    config_crawl_free(&c);
}

static void edits_are_known(void **state) {
    (void)state;
    static const char *const set[] = {"leash.depth=2", "lake=elsewhere"};
    struct crawl a, b, c;
    crawl("crawl: x\nlines: [{collector: http, args: {url: \"https://example.org/\", v: 1.0}}]\n", &a);
    crawl("# a remark\nlines:\n- args:\n    v:   1.0\n    url: 'https://example.org/'\n  collector: \"http\"\ncrawl: "
          "'x'\n",
          &b);
    const char *json =
        "{\"crawl\":\"x\",\"lines\":[{\"args\":{\"url\":\"https://example.org/\",\"v\":1.0},\"collector\":\"http\"}]}";
    assert_true(span_eq(a.json, json));
    assert_true(span_eq(b.json, json));
    assert_string_equal(a.sha256, b.sha256);
    /* printf '%s' JSON | sha256sum */
    assert_string_equal(a.sha256, "6e9d2e3caac968f22c6ea4fef272dacccdddbaa941d124cbc8c91bca15c73750");
    config_crawl_free(&b);
    assert_int_equal(config_crawl_text("x.yml", span_of(CRAWL), set, 2, &b, NULL), TL_OK);
    crawl(CRAWL "leash: {depth: 2}\n", &c);
    assert_int_equal(b.leash.depth, 2);
    assert_string_equal(b.sha256, c.sha256);
    assert_string_not_equal(b.sha256, a.sha256);
    config_crawl_free(&a);
    config_crawl_free(&b);
    config_crawl_free(&c);
    /* Filled in or not, the file is the same. */
    static const char *const other[] = {"target.name=a b", "lines.1={collector: feed}",
                                        "lines.0.args.url=https://e.example/{target.name}"};
    assert_int_equal(config_crawl_text("x.yml", span_of(CRAWL), other, 3, &b, NULL), TL_OK);
    assert_true(span_eq(b.json, "{\"crawl\":\"x\",\"lines\":[{\"args\":{\"url\":\"https://e.example/{target.name}\"},"
                                "\"collector\":\"http\"},{\"collector\":\"feed\"}],\"target\":{\"name\":\"a b\"}}"));
    assert_true(span_eq(b.line[0].args, "{\"url\":\"https://e.example/a b\"}"));
    assert_int_equal(b.line[1].line, 1);
    config_crawl_free(&b);
}

static void crawl_faults_have_a_place(void **state) {
    (void)state;
#define WITH(args) "crawl: x\ntarget: {org: o}\nlines:\n  - collector: http\n    args: " args "\n"
    static const struct refusal bad[] = {
        {"", "1:1", "'crawl' and 'lines'"},
        {"crawl: x\n", "1:1", "a crawl needs the key 'lines'"},
        {LINES, "1:1", "a crawl needs the key 'crawl'"},
        {CRAWL "leash: {dpeth: 3}\n", "5:9", "unknown key 'dpeth'; did you mean 'depth'?"},
        {CRAWL "laesh: {depth: 3}\n", "5:1", "did you mean 'leash'?"},
        {CRAWL "leash: {depth: many}\n", "5:16", "'depth' wants a whole number from 0 to 999, not 'many'"},
        {CRAWL "crawl: y\n", "5:1", "'crawl' stands twice"},
        {"crawl: x\nlines:\n  - collector: http\n    agrs: {}\n", "4:5", "did you mean 'args'?"},
        {CRAWL "schedule: daily\n", "5:1", "unknown key 'schedule'"},
        {CRAWL "lake: x\n", "5:1", "unknown key 'lake'"},
        {CRAWL "target: {name: \"\"}\n", "5:16", "1 to 1000 bytes, not 0"},
        {CRAWL "target: x\n", "5:9", "'target' wants a map"},
        {"crawl: \"a\\tb\"\n" LINES, "1:8", "control character"},
        {"crawl: null\n" LINES, "1:8", "put it in quotes"},
        {"crawl: x\nlines: []\n", "2:8", "1 to 100000 entries, not 0"},
        {"crawl: x\nlines: {collector: http}\n", "2:8", "'lines' wants a list, not a map"},
        {"crawl: x\nlines:\n  - http\n", "3:5", "'lines' wants a list of maps, not 'http'"},
        {"crawl: x\nlines:\n  - args: {}\n", "3:5", "a line needs the key 'collector'"},
        {"crawl: x\nlines:\n  - collector: a b\n", "3:16", "no collector's name"},
        {"crawl: x\nlines:\n  - collector: http\n    args: [a]\n", "4:11", "'args' wants a map"},
        {"crawl: x\nlines:\n  - collector: http\n    leash: {time: 0s}\n", "4:19", "above 0"},
        {CRAWL "react: [{collector: a}]\n", "5:9", "an entry of 'react' needs the key 'on'"},
        {CRAWL "react: [{on: {type: b}, collector: a}]\n", "5:14", "'on' needs the key 'collector'"},
        {CRAWL "fanin: week\n", "5:8", "'fanin' wants a map"},
        {CRAWL "fanin: {anything: [1]}\n", "5:9", "unknown key 'anything'"},
        {CRAWL "fanin: {sources: a}\n", "5:8", "'fanin' needs the key 'out'"},
        {CRAWL "fanin: {sources: a, out: b}\n", "5:8", "'fanin' needs a run context"},
        {CRAWL "fanin: {sources: a, out: b, week: last}\n", "5:8", "'fanin' needs a run context"},
        {CRAWL "fanin: {sources: a, out: b, week: 2025-W53, topic: t}\n", "5:35", "an ISO week that exists"},
        {CRAWL "run_context: c\nfanin: {sources: a, out: b, week: last, topic: t}\n", "6:8",
         "no 'week', 'topic' or 'code' where the crawl has a 'run_context'"},
        {WITH("{url: \"{target.nmae}\"}"), "5:17", "did you mean {target.name}"},
        {WITH("{url: \"{target.name}\"}"), "5:17", "does not say it"},
        {WITH("{a: [b, {c: \"x{target.project}\"}]}"), "5:23", "{target.project}"},
        {WITH("{headers: {Authorization: \"Bearer abc\"}}"), "5:37", "secret:NAME"},
        {WITH("{headers: [\"authorization: Bearer abc\"]}"), "5:22", "secret:NAME"},
        {WITH("{headers: [\"Accept: */*\", \"X-API-Key : abc\"]}"), "5:37", "secret:NAME"},
        {WITH("{headers: [{Cookie: a=b}]}"), "5:31", "secret:NAME"},
        {WITH("{headers: [{name: Cookie, value: a=b}]}"), "5:44", "secret:NAME"},
        {WITH("{headers: {Cookie: [secret:A, b=c]}}"), "5:41", "secret:NAME"},
        {WITH("{headers: \"Accept: x\\nProxy-Authorization: Basic abc\"}"), "5:21", "Proxy-Authorization: secret:NAME"},
        {WITH("{headers: {Cookie: \"session=secret:A\"}}"), "5:30", "secret:NAME"},
        {WITH("{headers: {Cookie: \"secret:\"}}"), "5:30", "secret:NAME"},
        {WITH("{headers: {Cookie: }}"), "5:30", "secret:NAME"},
        {"crawl: {depth: 3\n", "2:1", ""},
    };
    check_refusals(bad, COUNT_OF(bad), true);
    struct fail why = FAIL_INIT;
    struct crawl c;
    config_crawl_text("x.yml", span_of(WITH("{headers: {Cookie: hunter2}}")), NULL, 0, &c, &why);
    assert_null(strstr(why.text, "hunter2"));
    crawl(WITH("{headers: {Authorization: \"Bearer secret:TOKEN\", cookie: secret:C, Accept: text/html}}"), &c);
    config_crawl_free(&c);
    crawl(WITH("{headers: [\"Authorization: secret:TOKEN\", \"X-Other: Bearer abc\"], body: \"Cookie: a=b\"}"), &c);
    config_crawl_free(&c);
}

static void files_are_bounded(void **state) {
    (void)state;
    struct fail why = FAIL_INIT;
    struct crawl c;
    AUTO_BUF struct buf text = BUF_INIT;
    buf_text(&text, "crawl: x\nlines:\n");
    for (int i = 0; i < 9000; i++)
        buf_printf(&text, "  - {collector: http, args: {url: \"https://h%d.example.org/{crawl}\"}}\n", i);
    crawl(text.data, &c);
    assert_int_equal(c.line_count, 9000);
    assert_true(span_eq(c.line[8999].args, "{\"url\":\"https://h8999.example.org/x\"}"));
    config_crawl_free(&c);

    /* A name of 200 bytes filled in 200,000 times. */
    buf_reset(&text);
    buf_printf(&text, "crawl: %0200d\nlines:\n", 7);
    for (int i = 0; i < 400; i++) {
        buf_text(&text, "  - {collector: http, args: {url: \"");
        for (int k = 0; k < 300; k++)
            buf_text(&text, "{crawl}");
        buf_text(&text, "\"}}\n");
    }
    crawl(text.data, &c);
    assert_int_equal(c.line[399].args.len, 300 * 200 + 10);
    config_crawl_free(&c);
    buf_reset(&text);
    buf_printf(&text, "crawl: %0200d\nlines:\n  - {collector: http, args: {url: \"", 7);
    for (int k = 0; k < 400; k++)
        buf_text(&text, "{crawl}");
    buf_text(&text, "\"}}\n");
    assert_int_equal(config_crawl_text("x.yml", buf_span(&text), NULL, 0, &c, &why), TL_INVALID);
    begins_and_says(&why, "x.yml:3:35: ", "over 64 KiB", "");

    buf_reset(&text);
    buf_text(&text, "crawl: x\nlines: [{collector: http, args: {a: \"");
    while (text.len < 700000)
        buf_text(&text, "\\\""); /* two bytes here and there, one in memory */
    buf_text(&text, "\", b: '");
    while (text.len < 1040000)
        buf_text(&text, "\""); /* one byte here, two in JSON */
    buf_text(&text, "'}}]\n");
    assert_int_equal(config_crawl_text("x.yml", buf_span(&text), NULL, 0, &c, &why), TL_INVALID);
    begins_and_says(&why, "x.yml:1:1: ", "over 1 MiB as JSON", "");
    while (text.len <= YAML_TEXT_MAX)
        buf_char(&text, '\n');
    assert_int_equal(config_crawl_text("x.yml", buf_span(&text), NULL, 0, &c, &why), TL_INVALID);
    begins_and_says(&why, "x.yml:1:1: ", "at most 1048576", "");

    write_file("big.yml", text.data, 0600);
    assert_int_equal(config_crawl("big.yml", NULL, 0, &c, &why), TL_INVALID);
    begins_and_says(&why, "big.yml:1:1: ", "at most 1048576", "");
    assert_int_equal(config_crawl("not-there.yml", NULL, 0, &c, &why), TL_FAILED);
    assert_int_equal(why.exit_code, EXIT_CONFIG);
    assert_non_null(strstr(why.text, "not-there.yml: No such file"));
    assert_int_equal(config_crawl(".", NULL, 0, &c, &why), TL_FAILED);
    assert_int_equal(why.exit_code, EXIT_CONFIG);
}

static void urls_make_a_crawl(void **state) {
    (void)state;
    static const char *const urls[] = {"HTTPS://Example.org:443/a/../docs/?x#y", "http://other.example"};
    static const char *const bad[] = {"example.org", "ftp://example.org/", "/etc/passwd",       "",
                                      "https://",    "http://[::1",        "mailto:a@b.example"};
    struct leash leash;
    struct crawl c;
    struct fail why = FAIL_INIT;
    leash_defaults(&leash);
    leash.depth = 1;
    leash_add_host(&leash, "*", NULL);
    int rc = config_crawl_urls(urls, 2, &leash, span_of("{\"follow\":false,\"url\":\"x\"}"), &c, &why);
    leash_free(&leash);
    assert_int_equal(rc, TL_OK);
    assert_string_equal(c.name, "example.org/docs");
    assert_null(c.file);
    assert_false(c.lock);
    assert_int_equal(c.line_count, 2);
    assert_string_equal(c.line[1].collector, "http");
    assert_true(span_eq(c.line[0].args, "{\"url\":\"HTTPS://Example.org:443/a/../docs/?x#y\",\"follow\":false}"));
    assert_int_equal(c.leash.depth, 1);
    assert_true(span_eq(
        c.json, "{\"crawl\":\"example.org/docs\",\"leash\":{\"bytes\":10737418240,\"depth\":1,\"fanout\":1000,"
                "\"hosts\":[\"*\"],\"runs\":10000,\"time\":86400},\"lines\":[{\"args\":{\"follow\":false,\"url\":"
                "\"HTTPS://Example.org:443/a/../docs/?x#y\"},\"collector\":\"http\"},{\"args\":{\"follow\":false,"
                "\"url\":\"http://other.example\"},\"collector\":\"http\"}]}"));
    config_crawl_free(&c);
    assert_int_equal(config_crawl_urls(urls + 1, 1, NULL, (struct tl_span){0}, &c, &why), TL_OK);
    assert_string_equal(c.name, "other.example");
    assert_int_equal(c.leash.depth, 3);
    config_crawl_free(&c);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(config_crawl_urls(&bad[i], 1, NULL, (struct tl_span){0}, &c, &why), TL_INVALID);
        assert_int_equal(why.exit_code, EXIT_USAGE);
        assert_int_equal(!!strstr(why.text, "did you mean https://example.org"), i == 0);
    }
    assert_int_equal(config_crawl_urls(urls, 0, NULL, (struct tl_span){0}, &c, &why), TL_INVALID);
}

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crawls_are_read),           cmocka_unit_test(edits_are_known),
        cmocka_unit_test(crawl_faults_have_a_place), cmocka_unit_test(files_are_bounded),
        cmocka_unit_test(urls_make_a_crawl),
    };
    return cmocka_run_group_tests_name("config_crawl", tests, set_up, tear_down);
}
