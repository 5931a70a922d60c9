/* targets_test.c - files of targets and of rules: what is read, where what is refused is; templates; patterns; what a
 * value names; and that the examples are good. */
#include "config_help.h"

#include "engine/config_target.h"
#include "engine/targets.h"

/* ---- files */

static void a_file_is_a_crawl(void **state) {
    (void)state;
    static const char text[] =
        "id: kayaks\nname: kayaking in florida\norg: acme\nkinds: [topic, sport]\nevery: 90m\n"
        "leash: {depth: 2}\nurl: https://k.test/\n"
        "lines:\n  - {collector: http, args: {url: \"{target.url}?q={target.name}&c={crawl}\"}}\n";
    static const char crawl[] =
        "crawl: kayaks\ntarget: {org: acme, name: kayaking in florida, url: \"https://k.test/\"}\nleash: {depth: 2}\n"
        "lines:\n  - {collector: http, args: {url: \"{target.url}?q={target.name}&c={crawl}\"}}\n";
    struct fail why = FAIL_INIT;
    struct target t;
    struct crawl c;
    assert_int_equal(config_target_text("k.yml", span_of(text), &t, &why), TL_OK);
    assert_string_equal(t.crawl.name, "kayaks");
    assert_string_equal(t.crawl.target, "kayaking in florida");
    assert_int_equal(t.every_us, 90 * MINUTE_US);
    assert_int_equal(t.kind_count, 2);
    assert_true(t.crawl.lock);
    assert_true(span_eq(t.crawl.line[0].args, "{\"url\":\"https://k.test/?q=kayaking in florida&c=kayaks\"}"));
    assert_int_equal(config_crawl_text("c.yml", span_of(crawl), NULL, 0, &c, &why), TL_OK);
    assert_string_equal(t.crawl.sha256, c.sha256); /* what it is resumed by says nothing of `every` and `kinds` */
    config_target_free(&t);
    config_crawl_free(&c);
}

static void faults_have_a_place(void **state) {
    (void)state;
#define GOOD "id: a\nname: b\nlines: [{collector: http}]\n"
    static const struct {
        const char *text, *begin, *says;
    } bad[] = {
        {"", "t.yml:1:1: ", "a target is a map"},
        {"id: a\nname: b\n", "t.yml:1:1: ", "needs the key 'lines'"},
        {"name: b\nlines: [{collector: http}]\n", "t.yml:1:1: ", "needs the key 'id'"},
        {"id: a b\nname: b\nlines: [{collector: http}]\n", "t.yml:1:5: ", "no id"},
        {GOOD "evry: 1d\n", "t.yml:4:1: ", "did you mean 'every'?"},
        {GOOD "leesh: {}\n", "t.yml:4:1: ", "did you mean 'leash'?"},
        {GOOD "crawl: x\n", "t.yml:4:1: ", "unknown key 'crawl'"},
        {GOOD "every: often\n", "t.yml:4:8: ", "a duration"},
        {GOOD "every: 0s\n", "t.yml:4:8: ", "at least"},
        {GOOD "leash: {depht: 1}\n", "t.yml:4:9: ", "did you mean 'depth'?"},
        {"id: a\nname: b\nlines: [{collector: http, args: {url: \"{target.url}\"}}]\n", "t.yml:3:", "does not say it"},
        {"id: a\nname: b\nlines: [{collector: http, args: {headers: {Cookie: a}}}]\n", "t.yml:3:", "secret:NAME"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct fail why = FAIL_INIT;
        struct target t;
        assert_int_not_equal(config_target_text("t.yml", span_of(bad[i].text), &t, &why), TL_OK);
        begins_and_says(&why, bad[i].begin, bad[i].says, bad[i].text);
    }
}

static void templates_are_filled(void **state) {
    (void)state;
    static const char name[] = "a \"quoted\": {name}, # none\n\\";
    struct fail why = FAIL_INIT;
    AUTO_BUF struct buf made = BUF_INIT;
    struct target t;
    write_file("template",
               "id: ignored\nevery: none\nleash: {runs: none, bytes: \"1KiB\"}\norg: \"012\"\n"
               "lines:\n  - {collector: http, args: {a: [x, 'true', 2], t: \"{target.url}\"}, name: 'no'}\n",
               0644);
    const struct target_wish wish = {
        .id = "x", .name = "none", .url = "https://x.test/\"", .template_file = "template"};
    assert_int_equal(config_target_make(&wish, &made, &why), TL_OK);
    assert_int_equal(config_target_text("made", buf_span(&made), &t, &why), TL_OK);
    assert_string_equal(t.crawl.name, "x");
    assert_string_equal(t.crawl.target, "none"); /* the text, not the word */
    assert_string_equal(t.crawl.org, "012");
    assert_int_equal(t.every_us, INT64_MAX);
    assert_int_equal(t.crawl.leash.runs, INT64_MAX);
    assert_int_equal(t.crawl.leash.bytes, 1024);
    assert_true(span_eq(t.crawl.line[0].args, "{\"a\":[\"x\",\"true\",2],\"t\":\"https://x.test/\\\"\"}"));
    config_target_free(&t);
    buf_reset(&made);
    const struct target_wish odd = {.id = "y", .name = name, .url = "https://x.test/", .every = "none"};
    assert_int_not_equal(config_target_make(&odd, &made, &why), TL_OK); /* a line feed is no part of a name */
    buf_reset(&made);
    const struct target_wish fine = {.id = "y", .name = "a \"quoted\": {name}, # none \\", .url = "https://x.test/"};
    assert_int_equal(config_target_make(&fine, &made, &why), TL_OK);
    assert_int_equal(config_target_text("made", buf_span(&made), &t, &why), TL_OK);
    assert_string_equal(t.crawl.target, fine.name);
    assert_true(span_eq(t.crawl.line[0].args, "{\"url\":\"https://x.test/\"}"));
    config_target_free(&t);
    why = (struct fail)FAIL_INIT;
    const struct target_wish nowhere = {.id = "y", .name = "somebody"};
    assert_int_not_equal(config_target_make(&nowhere, &made, &why), TL_OK);
    assert_int_equal(why.exit_code, EXIT_USAGE);
}

/* ---- rules */

static void patterns(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool good;
    } cases[] = {
        {"a", "a", true},
        {"a", "ab", false},
        {"a", "A", false},
        {"*", "", true},
        {"", "", true},
        {"", "a", false},
        {"a*c", "abbc", true},
        {"a*c", "abcb", false},
        {"*.x.test", "x.test", true},
        {"*.x.test", "a.x.test", true},
        {"*.x.test", "ax.test", false},
        {"*a*b*", "xaxxb", true},
        {"**", "abc", true},
        {"*ab", "aab", true},
        {"*aab", "aaab", true},
        {"urn:*:1", "urn:user:1", true},
        {"a*", "b", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (discovery_matches(cases[i].pattern, span_of(cases[i].text)) != cases[i].good)
            fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].text);
}

static void values_name_candidates(void **state) {
    (void)state;
    static const struct {
        enum store_kind as;
        const char *value, *text, *url; /* text NULL: none */
    } cases[] = {
        {STORE_A_HOST, "HTTP://Ex.Test:80/a?b", "ex.test", "http://ex.test/"},
        {STORE_A_HOST, "https://ex.test:8443/", "ex.test:8443", "https://ex.test:8443/"},
        {STORE_A_HOST,
         "https://b\xC3\xBC"
         "cher.test/",
         "xn--bcher-kva.test", "https://xn--bcher-kva.test/"},
        {STORE_A_HOST, "https://u:p@[::1]/", "[::1]", "https://[::1]/"},
        {STORE_A_HOST, "mailto:a@b.test", NULL, NULL},
        {STORE_A_HOST, "ftp://a.test/", NULL, NULL},
        {STORE_A_HOST, "ex.test", NULL, NULL},
        {STORE_A_URL, "https://u:p@ex.test/%7Ea?#f", "https://ex.test/~a", "https://ex.test/~a"},
        {STORE_A_URL, "javascript:1", NULL, NULL},
        {STORE_AN_URN, "urn:user:1", "urn:user:1", ""},
        {STORE_AN_URN, "user:1", NULL, NULL},
        {STORE_AN_URN, "urn:a b", NULL, NULL},
        {STORE_A_NAME, " \t Jane \n  Doe ", "Jane Doe", ""},
        {STORE_A_NAME, " ", NULL, NULL},
        {STORE_A_NAME, "\xFF", NULL, NULL},
    };
    AUTO_BUF struct buf text = BUF_INIT, url = BUF_INIT;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        bool good = discovery_candidate(cases[i].as, span_of(cases[i].value), &text, &url);
        if (good != (cases[i].text != NULL))
            fail_msg("'%s' %s", cases[i].value, good ? text.data : "gave none");
        if (good && (strcmp(text.data, cases[i].text) != 0 || !span_eq(buf_span(&url), cases[i].url)))
            fail_msg("'%s' gave '%s', '%s'", cases[i].value, text.data, url.data ? url.data : "");
    }
}

static int read_rules(const char *text, struct discovery *d, struct fail *why) {
    struct config c;
    assert_int_equal(config_text(NULL, "/srv/t", span_of(""), NULL, 0, &c, why), TL_OK);
    int rc = discovery_text(&c, "r.yml", "/srv/rules", span_of(text), d, why);
    config_free(&c);
    return rc;
}

static void rules_are_looked_up(void **state) {
    (void)state;
    struct fail why = FAIL_INIT;
    struct discovery d;
    assert_int_equal(
        read_rules("count:\n  - {type: http_link, column: to_url, where: {rel: [a, b], same_site: false}}\n"
                   "  - {urn: \"urn:user:*\", score: 7}\nallow: [\"*.test\", \"urn:*\"]\ndeny: [b.test]\n"
                   "react:\n  - {name: r, on: {type: http_page}, column: canonical_url, template: t.yml}\n"
                   "watch:\n  - {type: http_page, column: title}\n  - {type: http_link, column: text, of: to_url, "
                   "lines: true, where: {rel: a}}\n",
                   &d, &why),
        TL_OK);
    assert_string_equal(d.count[0].type->name, "http_link");
    assert_string_equal(d.count[0].type->table.columns[d.count[0].column].name, "to_url");
    assert_int_equal(d.count[0].where_count, 2);
    assert_int_equal(d.count[0].where[0].count, 2);
    assert_int_equal(d.count[1].as, STORE_AN_URN);
    assert_int_equal(d.count[1].score, 7);
    assert_string_equal(d.react[0].rule.reaction, "r");
    assert_string_equal(d.react[0].template_file, "/srv/rules/t.yml");
    assert_string_equal(d.watch[0].rule.type->table.columns[d.watch[0].of].name, "row_key");
    assert_string_equal(d.watch[1].rule.type->table.columns[d.watch[1].of].name, "to_url");
    assert_true(!d.watch[0].lines && d.watch[1].lines && d.watch[1].rule.where_count == 1);
    assert_true(discovery_allows(&d, "a.test") && !discovery_allows(&d, "b.test") && !discovery_allows(&d, "a.org"));
    discovery_free(&d);
    static const struct {
        const char *text, *begin, *says;
    } bad[] = {
        {"count: [{type: http_link}]\n", "r.yml:1:9: ", "needs 'type' and 'column', or 'urn'"},
        {"count: [{urn: \"urn:*\", column: x}]\n", "r.yml:1:9: ", "has no 'type'"},
        {"count: [{type: http_link, column: to, as: host}]\n", "r.yml:1:35: ", "has no column 'to'"},
        {"count: [{type: http_link, column: to_url, as: hots}]\n", "r.yml:1:47: ", "host, url, urn or name"},
        {"count: [{type: http_link, column: to_url, where: {relation: x}}]\n", "r.yml:1:51: ", "no column 'relation'"},
        {"count: [{type: http_link, column: to_url, where: {rel: {}}}]\n", "r.yml:1:56: ", "a value for each column"},
        {"count: [{type: http_link, column: to_url, where: {rel: [a, ~]}}]\n", "r.yml:1:60: ", "stands in quotes"},
        {"count: [{type: http_link, column: to_url, where: {rel: null}}]\n", "r.yml:1:56: ", "stands in quotes"},
        {"react: [{name: a, on: {type: http_link}, column: to_url}, {name: a, on: {type: http_link}, column: "
         "to_url}]\n",
         "r.yml:1:", "two reactions"},
        {"react: [{name: a, on: {type: http_link}, column: text, as: name}]\n", "r.yml:1:9: ", "needs a 'template'"},
        {"react: [{name: a, on: {type: http_link}, column: to_url, every: often}]\n", "r.yml:1:65: ", "no time"},
        {"react: [{name: a, on: {type: http_link}, column: to_url, every: 7}]\n", "r.yml:1:65: ", "no time"},
        {"watch: [{type: http_page, column: titel}]\n", "r.yml:1:35: ", "did you mean 'title'?"},
        {"watch: [{type: http_page, column: title, of: x}]\n", "r.yml:1:46: ", "has no column 'x'"},
        {"watch: [{type: http_page, column: title, score: 1}]\n", "r.yml:1:42: ", "unknown key 'score'"},
        {"watch: [{column: title}]\n", "r.yml:1:9: ", "'type'"},
        {"cuont: []\n", "r.yml:1:1: ", "did you mean 'count'?"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        why = (struct fail)FAIL_INIT;
        assert_int_not_equal(read_rules(bad[i].text, &d, &why), TL_OK);
        begins_and_says(&why, bad[i].begin, bad[i].says, bad[i].text);
    }
}

static char *conf(const char *name) {
    const char *data = getenv("TROTLINE_TEST_DATA");
    struct buf out = BUF_INIT;
    buf_printf(&out, "%s/../../conf/%s", data ? data : "tests/data", name);
    return buf_steal(&out);
}

static void examples_are_good(void **state) {
    (void)state;
    struct fail why = FAIL_INIT;
    struct target t;
    struct discovery d;
    AUTO_FREE char *file = conf("targets/kayaking-florida.yml");
    AUTO_FREE char *template = conf("targets/site.template");
    AUTO_FREE char *rules = conf("discovery.yml");
    AUTO_BUF struct buf made = BUF_INIT, text = BUF_INIT;
    assert_int_equal(chdir(source_folder), 0);
    assert_int_equal(config_target(file, &t, &why), TL_OK);
    assert_true(span_eq(t.crawl.line[0].args, "{\"url\":\"https://www.example.org/search?q=kayaking in florida\"}"));
    config_target_free(&t);
    const struct target_wish wish = {.id = "x", .name = "x.test", .url = "https://x.test/", .template_file = template};
    assert_int_equal(config_target_make(&wish, &made, &why), TL_OK);
    assert_int_equal(config_read(rules, &text, &why), TL_OK);
    int rc = read_rules(text.data, &d, &why);
    assert_string_equal(why.text, "");
    assert_int_equal(rc, TL_OK);
    discovery_free(&d);
    assert_int_equal(chdir(folder), 0);
}

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_a_crawl),      cmocka_unit_test(faults_have_a_place),
        cmocka_unit_test(templates_are_filled),   cmocka_unit_test(patterns),
        cmocka_unit_test(values_name_candidates), cmocka_unit_test(rules_are_looked_up),
        cmocka_unit_test(examples_are_good),
    };
    return cmocka_run_group_tests_name("targets", tests, set_up, tear_down);
}
