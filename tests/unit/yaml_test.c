/* yaml_test.c - what the configuration reader makes of YAML, where it says things stand, and what it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/yaml.h"

#include <cmocka.h> /* last: its macro fail() is also a field's name in trotline.h */

static struct arena arena;
static struct yaml_error error;

static int reset(void **state) {
    (void)state;
    arena_free(&arena);
    return 0;
}

static struct yaml_node *parse(const char *text) {
    struct yaml_node *root;
    int rc = yaml_parse(&arena, "t.yml", span_of(text), &root, &error);
    if (rc)
        fail_msg("%s\nrefused at %u:%u: %s", text, error.line, error.column, error.text);
    return root;
}

static void becomes(const char *text, const char *json) {
    AUTO_BUF struct buf out = BUF_INIT;
    assert_int_equal(yaml_to_json(parse(text), &out), TL_OK);
    assert_string_equal(out.data, json);
}

static void refused_n(struct tl_span text, unsigned line, unsigned column, const char *words) {
    struct yaml_node *root = (struct yaml_node *)&root;
    if (yaml_parse(&arena, "t.yml", text, &root, &error) != TL_INVALID)
        fail_msg("not refused: %.*s", (int)text.len, text.ptr);
    assert_null(root);
    assert_string_equal(error.file, "t.yml");
    if (error.line != line || error.column != column || !strstr(error.text, words))
        fail_msg("%.*s\n%u:%u %s, not %u:%u %s", (int)text.len, text.ptr, error.line, error.column, error.text, line,
                 column, words);
}

static void refused(const char *text, unsigned line, unsigned column, const char *words) {
    refused_n(span_of(text), line, column, words);
}

static void at(const struct yaml_node *n, unsigned line, unsigned column) {
    assert_non_null(n);
    if (n->line != line || n->column != column)
        fail_msg("'%s' at %u:%u, not %u:%u", n->text ? n->text : "", n->line, n->column, line, column);
}

static void places_of_keys_and_values(void **state) {
    (void)state;
    const struct yaml_node *root = parse("crawl: x\n"
                                         "# comment\n"
                                         "leash: {dpeth: 3, b: [x,  y]}\n"
                                         "block:\n"
                                         "  depth:  many\n"
                                         "  empty:\n"
                                         "  list:\n"
                                         "  - one\n"
                                         "  -  k: v\n"
                                         "  \"q\": 'é' \n"
                                         "é: {a: 1}\n");
    at(root, 1, 1);
    const struct yaml_node *leash = yaml_get(root, "leash"), *block = yaml_get(root, "block");
    at(leash, 3, 8);
    at(leash->key, 3, 1);
    at(leash->first->key, 3, 9);
    at(leash->first, 3, 16);
    at(yaml_get(leash, "b"), 3, 22);
    at(yaml_get(leash, "b")->first->next, 3, 27);
    at(block, 5, 3);
    at(block->key, 4, 1);
    at(yaml_get(block, "depth"), 5, 11);
    at(yaml_get(block, "depth")->key, 5, 3);
    at(yaml_get(block, "empty")->key, 6, 3);
    at(yaml_get(block, "empty"), 6, 9);
    at(yaml_get(block, "list"), 8, 3);
    at(yaml_get(block, "list")->first, 8, 5);
    at(yaml_get(block, "list")->first->next->first, 9, 9);
    at(yaml_get(block, "q"), 10, 8);
    at(yaml_get(root, "é")->first->key, 11, 5); /* characters, not bytes */
    assert_int_equal(root->count, 4);
    assert_int_equal(yaml_get(block, "list")->count, 2);
    assert_null(yaml_get(root, "dpeth"));
    assert_null(yaml_get(yaml_get(root, "crawl"), "x"));
    at(yaml_get(parse("\xEF\xBB\xBF"
                      "a: 1\n"),
                "a")
           ->key,
       1, 1);
    at(yaml_get(parse("\r\n\r\n a: 1\r\n"), "a"), 3, 5);
    assert_int_equal(yaml_fail(&error, leash->first->key, "no key '%s'", "dpeth"), TL_INVALID);
    assert_true(error.line == 3 && error.column == 9);
    assert_string_equal(error.text, "no key 'dpeth'");
}

static void plain_scalars_are_typed_as_json(void **state) {
    (void)state;
    static const struct {
        const char *yaml, *json;
    } rows[] = {
        {"no", "\"no\""},
        {"yes", "\"yes\""},
        {"on", "\"on\""},
        {"off", "\"off\""},
        {"y", "\"y\""},
        {"True", "\"True\""},
        {"NULL", "\"NULL\""},
        {"012", "\"012\""},
        {"0x1F", "\"0x1F\""},
        {"0o17", "\"0o17\""},
        {"1_000", "\"1_000\""},
        {".5", "\".5\""},
        {"5.", "\"5.\""},
        {"+1", "\"+1\""},
        {"2026-11-30", "\"2026-11-30\""},
        {"1:30", "\"1:30\""},
        {".inf", "\".inf\""},
        {".nan", "\".nan\""},
        {"-", "[null]"},
        {"90s", "\"90s\""},
        {"1.10", "1.10"},
        {"0", "0"},
        {"-0", "-0"},
        {"-12", "-12"},
        {"1e3", "1e3"},
        {"1.5E-2", "1.5E-2"},
        {"18446744073709551616", "18446744073709551616"},
        {"9007199254740993", "9007199254740993"},
        {"0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"},
        {"true", "true"},
        {"false", "false"},
        {"null", "null"},
        {"~", "null"},
        {"''", "\"\""},
        {"'1'", "\"1\""},
        {"\"true\"", "\"true\""},
        {"'~'", "\"~\""},
        {"|-\n  12", "\"12\""},
        {"- - 1\n- >-\n  null", "[[1],\"null\"]"},
        {"{a: , b: no, 1: 2, ~: 3}", "{\"a\":null,\"b\":\"no\",\"1\":2,\"~\":3}"},
        {"[]", "[]"},
        {"{}", "{}"},
        {"1 2", "\"1 2\""},
        {"\"\\x41\\u00e9\\U0001F600\\n\"", "\"Aé😀\\n\""},
        {"a: 'it''s'\n", "{\"a\":\"it's\"}"},
        {"[1, 2 ,]", "[1,2]"},
        {"[a: 1, b]", "[{\"a\":1},\"b\"]"},
        {"url: http://h/x?y#z\n", "{\"url\":\"http://h/x?y#z\"}"},
        {"%YAML 1.2\n---\na: 1\n...\n", "{\"a\":1}"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        becomes(rows[i].yaml, rows[i].json);
    AUTO_BUF struct buf small = {.max = 4};
    assert_int_equal(
        yaml_to_json(parse("a text of more than sixty-four bytes, which is what a new buffer has room for"), &small),
        TL_FAILED);
    assert_true(yaml_is_null(NULL) && yaml_is_null(parse("{a: }")->first) && !yaml_is_null(parse("''")));
}

static void nothing_is_no_root(void **state) {
    (void)state;
    static const char *const empty[] = {"",           "\n\n",      "# only a comment", "---\n",
                                        "---\n...\n", "--- # x\n", "\xEF\xBB\xBF"};
    for (size_t i = 0; i < COUNT_OF(empty); i++)
        assert_null(parse(empty[i]));
    struct yaml_node *root;
    assert_int_equal(yaml_parse(&arena, "t.yml", (struct tl_span){NULL, 0}, &root, &error), TL_OK);
    assert_null(root);
    assert_non_null(parse("''"));
    becomes("", "null");
}

static void refusals_say_where_and_why(void **state) {
    (void)state;
    refused("a: &x 1\n", 1, 4, "anchors (&x)");
    refused("a:\n  - &x {b: 1}\n", 2, 5, "anchors");
    refused("&x a: 1\n", 1, 1, "anchors");
    refused("a: *x\n", 1, 4, "aliases (*x)");
    refused("a: !!str 1\n", 1, 4, "tags");
    refused("a: ! 1\n", 1, 4, "tags");
    refused("a: !secret x\n", 1, 4, "tags (!secret)");
    refused("- !!set {a}\n", 1, 3, "tags");
    refused("%TAG ! tag:x,2000:\n---\na\n", 1, 1, "%TAG");
    refused("a: 1\n---\nb: 2\n", 2, 1, "second document");
    refused("--- a\n--- b\n", 2, 1, "second document");
    refused("a: 1\nb: 2\na: 3\n", 3, 1, "'a' stands twice; first at line 1, column 1");
    refused("x: {b: 1, c: 2, c: 3, b: 4}\n", 1, 17, "'c' stands twice");
    refused("a: 1\n'a': 2\n", 2, 1, "stands twice");
    refused("x:\n  - {k: 1}\n  - k: 1\n    z: 2\n    k: 3\n", 5, 5, "'k' stands twice; first at line 3, column 5");
    refused("? [a]\n: b\n", 1, 3, "a key must be");
    refused("{a: {[x]: y}}\n", 1, 6, "a key must be");
    refused("a:\n  <<: {b: 1}\n", 2, 3, "merge key");
    refused_n((struct tl_span){"a: 1\nb\0: 2\n", 11}, 2, 2, "NUL");
    refused("a: \"x\\0y\"\n", 1, 4, "NUL");
    refused("a: é\nb: \xC3(\n", 2, 4, "UTF-8");
    refused("é: \xED\xA0\x80\n", 1, 4, "UTF-8");
    refused("\xFF\xFE"
            "a\n",
            1, 1, "UTF-8");
    refused("a: 1\n\tb: 2\n", 2, 1, "tab");
    refused("é: 1\nb:\n\t- x\n", 3, 1, "tab");
    refused("a: b: c\n", 1, 5, "mapping values are not allowed");
    refused("a: [1, 2\nb: 3\n", 2, 2, "that began at line 1");
    refused("a: \"b\n", 2, 1, "that began at line 1");
    refused("a: @b\n", 1, 4, "cannot start any token");
    refused("a: x\n b: y\n", 2, 3, "mapping values are not allowed");
    refused("a: \"\\q\"\n", 1, 5, "unknown escape");
    refused("a: \"\\ud800\"\n", 1, 7, "invalid Unicode");
    refused("a: é\x01\n", 1, 5, "control characters");
    refused("a: 1\nb: \x7f\n", 2, 4, "control characters");
    becomes("a: '<<'\n'<<': 1\n", "{\"a\":\"<<\",\"<<\":1}");
    /* A word of the file cannot move the cursor of whoever reads the message, nor end it in half a character. */
    refused("{\"\\e[31m\\x9b\": 1, \"\\e[31m\\x9b\": 2}", 1, 19, "'?[31m?\?' stands twice");
    AUTO_BUF struct buf b = BUF_INIT;
    for (int twice = 0; twice < 2; twice++) {
        for (int i = 0; i < 100; i++)
            buf_text(&b, "é");
        buf_text(&b, "x: 1\n");
    }
    refused(b.data, 2, 1, "stands twice");
}

static void bounds_hold(void **state) {
    (void)state;
    AUTO_BUF struct buf b = BUF_INIT;
    for (int i = 0; i < YAML_DEPTH; i++)
        buf_char(&b, '[');
    for (int i = 0; i < YAML_DEPTH; i++)
        buf_char(&b, ']');
    assert_non_null(parse(b.data));
    buf_reset(&b);
    for (int i = 0; i < 5000; i++)
        buf_char(&b, '[');
    refused(b.data, 1, YAML_DEPTH + 1, "64 levels");
    buf_reset(&b);
    for (int i = 0; i < YAML_NODES - 1; i++)
        buf_lit(&b, "- x\n");
    assert_int_equal(parse(b.data)->count, YAML_NODES - 1);
    buf_lit(&b, "- x\n");
    refused(b.data, YAML_NODES, 3, "more than 100000");
    buf_reset(&b);
    while (b.len < YAML_TEXT_MAX)
        buf_lit(&b, "# comment comment comment comme\n");
    assert_int_equal(b.len, YAML_TEXT_MAX);
    assert_null(parse(b.data));
    buf_char(&b, '\n');
    refused(b.data, 1, 1, "1048577 bytes");
    buf_reset(&b);
    for (int i = 0; i < 40000; i++) /* many keys are no trouble, and the one that is there twice is found */
        buf_printf(&b, "k%d: 1\n", i * 7919 % 40000);
    assert_int_equal(parse(b.data)->count, 40000);
    buf_lit(&b, "k7919: 1\n");
    refused(b.data, 40001, 1, "'k7919' stands twice; first at line 2, column 1");
    struct arena small = {.max = 300};
    struct yaml_node *root;
    assert_int_equal(yaml_parse(&small, "t.yml", span_of("[a, b, c, d, e, f]"), &root, &error), TL_FAILED);
    assert_non_null(strstr(error.text, "memory"));
    arena_free(&small);
}

static void nearest_word(void **state) {
    (void)state;
    static const char *const words[] = {"depth", "time", "hosts", "requests", "bytes", "same_host", "max_body"};
    static const struct {
        const char *word, *nearest;
    } rows[] = {
        {"dpeth", "depth"},
        {"dept", "depth"},
        {"deepth", "depth"},
        {"Depth", "depth"},
        {"depht", "depth"},
        {"tims", "time"},
        {"host", "hosts"},
        {"request", "requests"},
        {"reqeusts", "requests"},
        {"samehost", "same_host"},
        {"max-body", "max_body"},
        {"x", NULL},
        {"", NULL},
        {"colour", NULL},
        {"dehtp", "depth"},
        {"htped", NULL},
        {"bits", "bytes"},
        {"maxbdoyy", "max_body"},
        {"mxbdyo_", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *got = yaml_nearest(rows[i].word, words, COUNT_OF(words));
        if (got != rows[i].nearest && (!got || !rows[i].nearest || strcmp(got, rows[i].nearest) != 0))
            fail_msg("%s: %s", rows[i].word, got ? got : "none");
    }
    AUTO_BUF struct buf b = BUF_INIT;
    for (int i = 0; i < 3000; i++)
        buf_char(&b, 'd');
    assert_null(yaml_nearest(b.data, words, COUNT_OF(words)));
    assert_null(yaml_nearest("depth", NULL, 0));
}

/* ---- yaml-test-suite ---- */

static struct tl_span load(const char *name, const char *suffix) {
    const char *data = getenv("TROTLINE_TEST_DATA");
    char path[4096];
    snprintf(path, sizeof path, "%s/yaml/%s%s", data ? data : "tests/data", name, suffix);
    AUTO_FCLOSE FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s is not there", path);
    char *text = arena_alloc(&arena, 65536);
    size_t len = fread(text, 1, 65535, f);
    text[len] = '\0';
    return (struct tl_span){text, len};
}

/* One line of INDEX: see the README there. */
static void run_case(const char *id, const char *kind, const char *detail) {
    struct yaml_node *root;
    int rc = yaml_parse(&arena, id, load(id, ".yaml"), &root, &error);
    bool refusal = strcmp(kind, "refused") == 0 || strcmp(kind, "limit") == 0;
    if (rc != (refusal ? TL_INVALID : TL_OK))
        fail_msg("%s %s: %d %u:%u %s", id, kind, rc, error.line, error.column, error.text);
    if (refusal) {
        unsigned line, column;
        char words[64];
        if (sscanf(detail, "%u:%u %63[^\n]", &line, &column, words) == 3 &&
            (error.line != line || error.column != column || !strstr(error.text, words)))
            fail_msg("%s: %u:%u %s", id, error.line, error.column, error.text);
        assert_true(error.line > 0 && error.column > 0 && error.text[0]);
        return;
    }
    AUTO_BUF struct buf json = BUF_INIT;
    AUTO_BUF struct buf ours = BUF_INIT;
    AUTO_BUF struct buf want = BUF_INIT;
    assert_int_equal(yaml_to_json(root, &json), TL_OK);
    assert_int_equal(json_canonical(buf_span(&json), &ours), TL_OK);
    struct tl_span expected = strcmp(kind, "same") == 0 ? load(id, ".json") : span_of(detail);
    assert_int_equal(json_canonical(expected, &want), TL_OK);
    if (strcmp(ours.data, want.data) != 0)
        fail_msg("%s: %s, not %s", id, ours.data, want.data);
}

static void suite_is_answered(void **state) {
    (void)state;
    struct tl_span index = load("INDEX", "");
    int cases = 0, bad = 0;
    for (const char *line = index.ptr; *line;) {
        char id[16], kind[16], detail[128] = "";
        size_t len = strcspn(line, "\n");
        char text[256];
        snprintf(text, sizeof text, "%.*s", (int)len, line);
        assert_true(sscanf(text, "%15s %15s %127[^\n]", id, kind, detail) >= 2);
        run_case(id, kind, detail);
        cases++;
        bad += strcmp(kind, "refused") == 0;
        line += len + (line[len] == '\n');
    }
    assert_true(cases == 139 && bad == 73);
}

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(places_of_keys_and_values, reset),
        cmocka_unit_test_teardown(plain_scalars_are_typed_as_json, reset),
        cmocka_unit_test_teardown(nothing_is_no_root, reset),
        cmocka_unit_test_teardown(refusals_say_where_and_why, reset),
        cmocka_unit_test_teardown(bounds_hold, reset),
        cmocka_unit_test_teardown(nearest_word, reset),
        cmocka_unit_test_teardown(suite_is_answered, reset),
    };
    return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
