/* args_test.c - arguments: checked, typed, identified, filled in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "engine/args.h"
#include "engine/args_value.h"

#include <cmocka.h> /* last: its macro fail() would meet the host's names */

/* One argument of every type; the struct and the table that a collector would have, and what the host knows of it. */
struct typed {
    const char *url, *text, *choice, *json;
    int64_t number, size, wait;
    bool flag;
    const struct tl_secret *token;
    struct tl_list words, links;
};
#define AT(f) offsetof(struct typed, f)
static const struct tl_option table[] = {{"url", TL_URL, TL_REQUIRED, AT(url), NULL, NULL, NULL},
                                         {"text", TL_TEXT, 0, AT(text), NULL, NULL, NULL},
                                         {"choice", TL_TEXT, 0, AT(choice), "a", "a|b-c|d", NULL},
                                         {"number", TL_INT, 0, AT(number), "-5", NULL, NULL},
                                         {"size", TL_BYTES, 0, AT(size), "64KiB", NULL, NULL},
                                         {"wait", TL_MILLIS, 0, AT(wait), "90s", NULL, NULL},
                                         {"flag", TL_BOOL, 0, AT(flag), "true", NULL, NULL},
                                         {"token", TL_SECRET, 0, AT(token), NULL, NULL, NULL},
                                         {"words", TL_TEXT, TL_LIST, AT(words), "[page, text, \"a, b\"]", NULL, NULL},
                                         {"links", TL_URL, TL_LIST, AT(links), NULL, NULL, NULL},
                                         {"json", TL_JSON, 0, AT(json), "{a: [1, 2.50]}", NULL, NULL},
                                         {0}};
static struct plugin_option known[COUNT_OF(table) - 1];
static struct plugin typed = {.name = (char[]){"typed"}, .option = known, .option_count = 2, .argument = known};

static int setup(void **state) {
    (void)state;
    for (size_t i = 0; table[i].name; i++)
        known[typed.argument_count++] = (struct plugin_option){.name = (char *)(uintptr_t)table[i].name,
                                                               .dflt = (char *)(uintptr_t)table[i].dflt,
                                                               .choices = (char *)(uintptr_t)table[i].choices,
                                                               .type = table[i].type,
                                                               .flags = table[i].flags};
    return 0;
}

static struct args a;
static struct fail why;

static int check(const char *json, bool yaml) {
    why = (struct fail)FAIL_INIT;
    return args_check(&typed, span_of(json), yaml, &a, &why);
}

static void refused(const char *json, bool yaml, const char *sentence) {
    assert_int_equal(check(json, yaml), TL_INVALID);
    assert_string_equal(why.text, sentence);
}

static void payload(const char *json, bool yaml, const char *wanted) {
    if (check(json, yaml))
        fail_msg("%s: %s", json, why.text);
    assert_string_equal(a.payload.data, wanted);
}

#define URL "\"url\":\"http://x/\""

static void keeps_what_was_given_in_declared_order(void **state) {
    (void)state;
    payload("{\"number\": 9007199254740993, \"url\": \"HTTP://Example.org:80/a/../b#f\", \"text\":\"1.10\"}", false,
            "{\"url\":\"HTTP://Example.org:80/a/../b#f\",\"text\":\"1.10\",\"number\":9007199254740993}");
    assert_string_equal(a.url.data, "HTTP://Example.org:80/a/../b#f");
    assert_int_equal(a.host_count, 1);
    assert_string_equal(a.hosts.data, "example.org:80");
    payload("{" URL ",\"text\":null,\"json\":null}", false, "{" URL ",\"json\":null}");
}

static void identity_is_canonical(void **state) {
    (void)state;
    static const char wanted[] =
        "{\"choice\":\"a\",\"flag\":true,\"json\":{\"a\":[1,2.50]},\"number\":-5,\"size\":65536,"
        "\"url\":\"http://example.org/b\",\"wait\":90000,\"words\":[\"page\",\"text\",\"a, b\"]}";
    AUTO_BUF struct buf again = BUF_INIT;
    struct args other = {0};
    payload("{\"url\":\"HTTP://Example.org:80/a/../b#f\"}", false, "{\"url\":\"HTTP://Example.org:80/a/../b#f\"}");
    assert_string_equal(a.identity.data, wanted);
    assert_int_equal(json_canonical(buf_span(&a.identity), &again), TL_OK);
    assert_string_equal(again.data, wanted);
    /* a default that is written out, another spelling of the URL, another order: the same run */
    static const char same[] =
        "{\"json\":{\"a\": [1 ,2.50]},\"choice\":\"a\",\"number\":-5,\"size\":\"64KiB\",\"wait\":90000,"
        "\"links\":[],\"url\":\"http://example.org/%62\"}";
    assert_int_equal(args_check(&typed, span_of(same), false, &other, &why), TL_OK);
    assert_string_equal(other.identity.data, wanted);
    assert_memory_equal(other.digest, a.digest, STORE_DIGEST);
    /* and what differs is another */
    assert_int_equal(
        args_check(&typed, span_of("{\"url\":\"http://example.org/b\",\"flag\":false}"), false, &other, &why), TL_OK);
    assert_memory_not_equal(other.digest, a.digest, STORE_DIGEST);
    args_free(&other);
}

/* head of SHA-256("orchestrator\0{}"), by sha256sum */
static void digest_is_a_known_value(void **state) {
    (void)state;
    struct plugin p = {.name = (char[]){"orchestrator"}};
    char hex[2 * STORE_DIGEST + 1];
    assert_int_equal(args_check(&p, span_of(""), false, &a, &why), TL_OK);
    assert_string_equal(a.payload.data, "{}");
    assert_string_equal(a.identity.data, "{}");
    assert_string_equal(hash_hex(a.digest, STORE_DIGEST, hex), "4343b4227c765c5689cc5c5e053479bc");
}

static void identity_without_default_leaves_zero_out(void **state) {
    (void)state;
    struct plugin_option o[] = {{.name = (char[]){"n"}, .type = TL_INT}, {.name = (char[]){"f"}, .type = TL_BOOL}};
    struct plugin p = {.name = (char[]){"p"}, .argument = o, .argument_count = 2};
    assert_int_equal(args_check(&p, span_of("{\"n\":0,\"f\":false}"), false, &a, &why), TL_OK);
    assert_string_equal(a.payload.data, "{\"n\":0,\"f\":false}");
    assert_string_equal(a.identity.data, "{}");
    assert_int_equal(args_check(&p, span_of("{\"n\":10,\"f\":true}"), false, &a, &why), TL_OK);
    assert_string_equal(a.identity.data, "{\"f\":true,\"n\":10}");
}

static void hosts_of_every_url(void **state) {
    (void)state;
    assert_int_equal(
        check("{\"links\":[\"https://b.org/\",\"http://[::1]:8080/\"],\"url\":\"https://M\xC3\xBCnchen.de/\"}", false),
        TL_OK);
    static const char wanted[] = "xn--mnchen-3ya.de:443\0b.org:443\0[::1]:8080";
    assert_int_equal(a.host_count, 3);
    assert_int_equal(a.hosts.len, sizeof wanted);
    assert_memory_equal(a.hosts.data, wanted, sizeof wanted);
    assert_string_equal(a.url.data, "https://M\xC3\xBCnchen.de/");
}

/* Texts that may be URLs: those of the web name hosts, and no text is changed by it. */
static void hosts_of_texts_that_may_be_urls(void **state) {
    static const char wanted[] = "a.org:443\0c.org:8080", more[] = "a.org:443\0b.org:80\0c.org:8443";
    (void)state;
    known[1].flags |= TL_NAMES_HOST;
    known[8].flags |= TL_NAMES_HOST;
    assert_int_equal(check("{\"url\":\"https://a.org/\",\"text\":\"http://C.org:8080/x\",\"words\":[\"ssh://git@d.org/"
                           "x\",\"file:///e\",\"f\"]}",
                           false),
                     TL_OK);
    assert_int_equal(a.host_count, 2);
    assert_memory_equal(a.hosts.data, wanted, sizeof wanted);
    assert_non_null(strstr(a.payload.data, "http://C.org:8080/x"));
    assert_int_equal(check("{\"url\":\"https://a.org/\",\"words\":[\"http://b.org\",\"https://c.org:8443/\"]}", false),
                     TL_OK);
    assert_int_equal(a.host_count, 3);
    assert_memory_equal(a.hosts.data, more, sizeof more);
    known[1].flags &= ~(unsigned)TL_NAMES_HOST;
    known[8].flags &= ~(unsigned)TL_NAMES_HOST;
    assert_int_equal(check("{\"url\":\"https://a.org/\",\"text\":\"http://c.org/\"}", false), TL_OK);
    assert_int_equal(a.host_count, 1);
}

static void yaml_scalars_are_typed_by_the_table(void **state) {
    (void)state;
    payload("{" URL ",\"text\":1.10}", true, "{" URL ",\"text\":\"1.10\"}");
    payload("{" URL ",\"text\":true,\"words\":[1,false,\"x\"]}", true,
            "{" URL ",\"text\":\"true\",\"words\":[\"1\",\"false\",\"x\"]}");
    payload("{" URL ",\"number\":\"7\",\"flag\":\"no\"}", true, "{" URL ",\"number\":7,\"flag\":false}");
    refused("{" URL ",\"text\":1.10}", false, "argument text of typed: wants text, not 1.10");
    refused("{" URL ",\"number\":\"7\"}", false, "argument number of typed: wants a whole number, not \"7\"");
    refused("{" URL ",\"flag\":\"no\"}", false, "argument flag of typed: wants true or false, not \"no\"");
    refused("{" URL ",\"number\":\"012\"}", true, "argument number of typed: wants a whole number, not \"012\"");
    refused("{" URL ",\"number\":1.5}", true, "argument number of typed: wants a whole number, not 1.5");
    refused("{" URL ",\"number\":9223372036854775808}", true,
            "argument number of typed: wants a whole number, not 9223372036854775808");
}

static void sizes_and_durations_become_numbers(void **state) {
    (void)state;
    payload("{" URL ",\"size\":\"2MiB\",\"wait\":\"1h30m\"}", false, "{" URL ",\"size\":2097152,\"wait\":5400000}");
    payload("{" URL ",\"size\":4096,\"wait\":250}", false, "{" URL ",\"size\":4096,\"wait\":250}");
    payload("{" URL ",\"size\":4096,\"wait\":0}", true, "{" URL ",\"size\":4096,\"wait\":0}");
    payload("{" URL ",\"wait\":\"1us\"}", true, "{" URL ",\"wait\":1}");
    static const char no_unit[] = "argument wait of typed: wants a duration with its unit, such as 90s or 500ms, not ";
    AUTO_BUF struct buf said = BUF_INIT;
    buf_printf(&said, "%s90", no_unit);
    refused("{" URL ",\"wait\":90}", true, said.data);
    buf_reset(&said);
    buf_printf(&said, "%s\"90\"", no_unit);
    refused("{" URL ",\"wait\":\"90\"}", false, said.data);
    refused("{" URL ",\"size\":-1}", false, "argument size of typed: wants a size such as 64KiB, not -1");
    refused("{" URL ",\"size\":\"64XiB\"}", false, "argument size of typed: wants a size such as 64KiB, not \"64XiB\"");
}

static void refusals_name_the_argument(void **state) {
    (void)state;
    refused("{}", false, "argument url of typed is missing: it must be given");
    refused("{" URL ",\"txet\":1}", false, "typed has no argument \"txet\": did you mean \"text\"?");
    refused("{" URL ",\"\\n\xE2\x82\xAC\":1}", false,
            "typed has no argument \"\\n\xE2\x82\xAC\": it takes url, text, choice, number, size, wait, flag, token, "
            "words, links, json");
    refused("{" URL "," URL "}", false, "argument url of typed is given twice");
    refused("{" URL ",\"\\u0075rl\":\"http://y/\"}", false, "argument url of typed is given twice");
    refused("{\"url\":\"ftp://x/\"}", false, "argument url of typed: wants an http or https URL, not \"ftp://x/\"");
    refused("{\"url\":\"/a\"}", false, "argument url of typed: wants an http or https URL, not \"/a\"");
    refused("{\"url\":[\"http://x/\"]}", false,
            "argument url of typed: wants an http or https URL, not [\"http://x/\"]");
    refused("{" URL ",\"choice\":\"b\"}", false, "argument choice of typed: \"b\" is none of a|b-c|d");
    refused("{" URL ",\"choice\":\"a|b-c\"}", false, "argument choice of typed: \"a|b-c\" is none of a|b-c|d");
    refused("{" URL ",\"words\":\"page\"}", true,
            "argument words of typed: wants a list, as in [ONE, TWO], not \"page\"");
    refused("{" URL ",\"words\":[\"a\",null]}", false, "argument words of typed: wants text, not null");
    refused("{" URL ",\"text\":\"a\\u0000b\"}", false, "argument text of typed: must not contain U+0000");
    refused("{" URL ",\"json\":{\"a\":1,\"a\":2}}", false,
            "argument json of typed has no canonical form: a name stands twice in an object, a surrogate stands alone, "
            "or it is too long");
    refused("[1]", false, "the arguments of typed must be an object: names and their values");
    refused("{" URL ",", false, "the arguments of typed are no JSON: wrong at byte 19");
}

/* A secret that was written where its name belongs must not get into a log. */
static void a_secret_is_not_shown(void **state) {
    (void)state;
    payload("{" URL ",\"token\":\"github\"}", false, "{" URL ",\"token\":\"github\"}");
    refused("{" URL ",\"token\":\"gh_pat 1234!\"}", false, "argument token of typed: wants the name of a secret");
    refused("{" URL ",\"token\":[\"hunter2\"]}", false, "argument token of typed: wants the name of a secret");
}

static void long_values_are_cut_in_messages(void **state) {
    (void)state;
    AUTO_BUF struct buf json = BUF_INIT;
    buf_text(&json, "{" URL ",\"number\":\"");
    for (int i = 0; i < 1000; i++)
        buf_text(&json, "\xC3\xA9");
    buf_text(&json, "\"}");
    assert_int_equal(check(json.data, false), TL_INVALID);
    assert_true(strlen(why.text) < 140);
    assert_non_null(strstr(why.text, "\xC3\xA9..."));
}

static void too_long_is_refused(void **state) {
    (void)state;
    AUTO_BUF struct buf json = BUF_INIT;
    buf_text(&json, "{" URL ",\"text\":\"");
    while (json.len < ARGS_MAX)
        buf_text(&json, "0123456789abcdef");
    buf_text(&json, "\"}");
    refused(json.data, false, "the arguments of typed are longer than 1048576 bytes");
}

static void options_are_checked_the_same_way(void **state) {
    (void)state;
    AUTO_BUF struct buf out = BUF_INIT;
    assert_int_equal(args_check_options(&typed, span_of("{" URL ",\"text\":3}"), true, &out, &why), TL_OK);
    assert_string_equal(out.data, "{" URL ",\"text\":\"3\"}");
    assert_int_equal(args_check_options(&typed, span_of("{" URL ",\"number\":3}"), true, &out, &why), TL_INVALID);
    assert_string_equal(why.text, "typed has no option \"number\": it takes url, text");
}

static void merge_overlays(void **state) {
    (void)state;
    AUTO_BUF struct buf out = BUF_INIT;
    assert_int_equal(args_merge(&out, span_of("{\"a\": 1, \"b\": [2 ],\"c\":3}"), span_of("{\"d\":4,\"\\u0061\":10}")),
                     TL_OK);
    assert_string_equal(out.data, "{\"a\":10,\"b\":[2 ],\"c\":3,\"d\":4}");
    assert_int_equal(args_merge(&out, span_of(""), span_of("{}")), TL_OK);
    assert_string_equal(out.data, "{}");
    assert_int_equal(args_merge(&out, span_of("{}"), span_of("[]")), TL_INVALID);
    assert_int_equal(args_merge(&out, span_of("{"), span_of("{}")), TL_INVALID);
}

static void child_arguments_become_json(void **state) {
    (void)state;
    AUTO_BUF struct buf out = BUF_INIT;
    const struct tl_child *c =
        TL_CHILD(TL_ARGS(TL_ARG_TEXT("url", "http://x/?\"\\"), TL_ARG_INT("n", INT64_MIN), TL_ARG_BOOL("f", 1),
                         TL_ARG_JSON("j", " [1.0, 9007199254740993] "), TL_ARG_TEXT("none", NULL)));
    assert_int_equal(args_of_child(&out, c), TL_OK);
    assert_string_equal(
        out.data,
        "{\"url\":\"http://x/?\\\"\\\\\",\"n\":-9223372036854775808,\"f\":true,\"j\":[1.0, 9007199254740993]}");
    assert_int_equal(args_of_child(&out, TL_CHILD(.args_json = " {\"a\":1} ")), TL_OK);
    assert_string_equal(out.data, "{\"a\":1}");
    assert_int_equal(args_of_child(&out, TL_CHILD(.name = "x")), TL_OK);
    assert_string_equal(out.data, "{}");
    assert_int_equal(args_of_child(&out, TL_CHILD(.args_json = "[1]")), TL_INVALID);
    assert_int_equal(args_of_child(&out, TL_CHILD(.args_json = "{\"a\":1}}")), TL_INVALID);
    assert_int_equal(args_of_child(&out, TL_CHILD(TL_ARGS(TL_ARG_JSON("j", "{]")))), TL_INVALID);
    assert_int_equal(args_of_child(&out, TL_CHILD(TL_ARGS(TL_ARG_INT("n", 1)), .args_json = "{}")), TL_INVALID);
    assert_int_equal(args_of_child(&out, TL_CHILD(TL_ARGS(TL_ARG_TEXT(NULL, "x")))), TL_INVALID);
}

/* ---- filling structs */

static int the_secret;
static const struct tl_secret *find_secret(void *ctx, const char *name) {
    return strcmp(name, "github") == 0 ? ctx : NULL;
}
static const struct args_secrets secrets = {find_secret, &the_secret};

static void fill_puts_values_at_their_offsets(void **state) {
    (void)state;
    struct arena arena = ARENA_INIT;
    void *out;
    static const char given[] =
        "{\"url\":\"http://x/\",\"text\":\"caf\\u00e9\",\"number\":9007199254740993,\"size\":1,\"wait\":2,"
        "\"flag\":false,\"token\":\"github\",\"words\":[\"u\"],\"links\":[\"http://a/\",\"http://b/\"],"
        "\"json\":{\"k\": 1.0}}";
    assert_int_equal(args_fill(table, sizeof(struct typed), span_of(given), &arena, &secrets, &out, &why), TL_OK);
    const struct typed *t = out;
    assert_string_equal(t->url, "http://x/");
    assert_string_equal(t->text, "caf\xC3\xA9");
    assert_string_equal(t->choice, "a");
    assert_true(t->number == 9007199254740993);
    assert_true(t->size == 1 && t->wait == 2 && !t->flag);
    assert_ptr_equal(t->token, &the_secret);
    assert_int_equal(t->words.count, 1);
    assert_int_equal(t->links.count, 2);
    assert_string_equal(t->links.item[1], "http://b/");
    assert_string_equal(t->json, "{\"k\": 1.0}");
    arena_free(&arena);
}

static void fill_takes_defaults(void **state) {
    (void)state;
    struct arena arena = ARENA_INIT;
    void *out;
    assert_int_equal(
        args_fill(table, sizeof(struct typed), span_of("{\"url\":\"http://x/\"}"), &arena, NULL, &out, &why), TL_OK);
    const struct typed *t = out;
    assert_null(t->text);
    assert_null(t->token);
    assert_true(t->number == -5 && t->size == 65536 && t->wait == 90000 && t->flag);
    assert_int_equal(t->words.count, 3);
    assert_string_equal(t->words.item[2], "a, b");
    assert_int_equal(t->links.count, 0);
    assert_string_equal(t->json, "{\"a\":[1,2.50]}");
    assert_int_equal(args_fill(NULL, 0, span_of(""), &arena, NULL, &out, &why), TL_OK);
    assert_non_null(out);
    arena_free(&arena);
}

static void fill_refuses(void **state) {
    (void)state;
    struct arena arena = ARENA_INIT, small = {.max = 64};
    void *out;
    assert_int_equal(
        args_fill(table, sizeof(struct typed), span_of("{\"token\":\"other\"}"), &arena, &secrets, &out, &why),
        TL_INVALID);
    assert_string_equal(
        why.text,
        "argument token: there is no secret \"other\" in the configuration that can be read: trotline.yml names "
        "them below 'secrets', and trotline doctor tells which cannot be read");
    assert_int_equal(
        args_fill(table, sizeof(struct typed), span_of("{\"token\":\"github\"}"), &arena, NULL, &out, &why),
        TL_INVALID);
    assert_int_equal(args_fill(table, sizeof(struct typed), span_of("{\"flag\":1}"), &arena, &secrets, &out, &why),
                     TL_INVALID);
    assert_int_equal(args_fill(table, sizeof(struct typed), span_of("{\"url\":{}}"), &arena, &secrets, &out, &why),
                     TL_INVALID);
    assert_int_equal(args_fill(table, sizeof(struct typed), span_of("{}"), &small, &secrets, &out, &why), TL_FAILED);
    arena_free(&arena);
}

/* What args_check lets through is what args_fill can fill in. */
static void what_is_checked_can_be_filled(void **state) {
    (void)state;
    struct arena arena = ARENA_INIT;
    void *out;
    assert_int_equal(
        check("{" URL ",\"size\":\"1kB\",\"wait\":\"2s\",\"words\":[1,2],\"text\":7,\"flag\":\"on\"}", true), TL_OK);
    assert_int_equal(args_fill(table, sizeof(struct typed), buf_span(&a.payload), &arena, &secrets, &out, &why), TL_OK);
    const struct typed *t = out;
    assert_true(t->size == 1000 && t->wait == 2000 && t->flag && t->words.count == 2);
    assert_string_equal(t->text, "7");
    assert_string_equal(t->words.item[0], "1");
    arena_free(&arena);
}

/* How a thing was reached is no part of what it is. */
static void a_hint_changes_no_identity(void **state) {
    uint8_t digest[STORE_DIGEST];
    (void)state;
    assert_int_equal(check("{\"url\":\"https://a/\",\"text\":\"by one way\"}", false), TL_OK);
    memcpy(digest, a.digest, sizeof digest);
    assert_int_equal(check("{\"url\":\"https://a/\",\"text\":\"by another\"}", false), TL_OK);
    assert_memory_not_equal(digest, a.digest, sizeof digest);
    known[1].flags |= TL_HINT;
    assert_int_equal(check("{\"url\":\"https://a/\",\"text\":\"by one way\"}", false), TL_OK);
    assert_null(strstr(a.identity.data, "by one way"));
    assert_non_null(strstr(a.payload.data, "by one way"));
    memcpy(digest, a.digest, sizeof digest);
    assert_int_equal(check("{\"url\":\"https://a/\"}", false), TL_OK);
    assert_memory_equal(digest, a.digest, sizeof digest);
    known[1].flags &= ~(unsigned)TL_HINT;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(keeps_what_was_given_in_declared_order),
                                       cmocka_unit_test(identity_is_canonical),
                                       cmocka_unit_test(digest_is_a_known_value),
                                       cmocka_unit_test(identity_without_default_leaves_zero_out),
                                       cmocka_unit_test(hosts_of_every_url),
                                       cmocka_unit_test(hosts_of_texts_that_may_be_urls),
                                       cmocka_unit_test(yaml_scalars_are_typed_by_the_table),
                                       cmocka_unit_test(sizes_and_durations_become_numbers),
                                       cmocka_unit_test(refusals_name_the_argument),
                                       cmocka_unit_test(a_secret_is_not_shown),
                                       cmocka_unit_test(long_values_are_cut_in_messages),
                                       cmocka_unit_test(too_long_is_refused),
                                       cmocka_unit_test(options_are_checked_the_same_way),
                                       cmocka_unit_test(merge_overlays),
                                       cmocka_unit_test(child_arguments_become_json),
                                       cmocka_unit_test(fill_puts_values_at_their_offsets),
                                       cmocka_unit_test(fill_takes_defaults),
                                       cmocka_unit_test(fill_refuses),
                                       cmocka_unit_test(what_is_checked_can_be_filled),
                                       cmocka_unit_test(a_hint_changes_no_identity)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    int failed = cmocka_run_group_tests(tests, setup, NULL);
    args_free(&a);
    return failed;
}
