/* config_apis_test.c - descriptions of APIs: what is refused and where, the form that collectors get, and how a line's
 * arguments are made whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "engine/args.h"
#include "engine/config_apis.h"

#include <cmocka.h> /* last: its macro fail() is also a field's name in trotline.h */

static struct plugin_option known[] = {{.name = (char[]){"base"}, .type = TL_URL},
                                       {.name = (char[]){"api"}, .type = TL_TEXT, .flags = TL_REQUIRED},
                                       {.name = (char[]){"secret"}, .type = TL_SECRET},
                                       {.name = (char[]){"token_url"}, .type = TL_URL},
                                       {.name = (char[]){"with"}, .type = TL_JSON},
                                       {.name = (char[]){"pages"}, .type = TL_INT},
                                       {.name = (char[]){"description"}, .type = TL_JSON, .flags = TL_HINT}};
static struct plugin api = {.name = (char[]){"api"}, .argument = known, .argument_count = COUNT_OF(known)};
static struct config_apis apis;

static void read_one(const char *text) {
    struct fail why = FAIL_INIT;
    config_apis_free(&apis);
    if (config_apis_text(&apis, "x.yml", span_of(text), &why))
        fail_msg("%s", why.text);
    api.apis = &apis;
}

static void nonsense_has_a_place(void **state) {
    static const struct {
        const char *text, *place, *says; /* place: LINE:COL */
    } bad[] = {
        {"", "1:1", "a description is a map"},
        {"about: x\n", "1:1", "needs the key 'api'"},
        {"api: X\n", "1:6", "small letters"},
        {"api: x\nbase: ftp://a/\n", "2:7", "http or https URL"},
        {"api: x\nbase: https://u:p@a/\n", "2:7", "http or https URL"},
        {"api: x\nurl: https://a/\n", "2:6", "without a slash"},
        {"api: x\nurl: a?b=c\n", "2:6", "under 'query'"},
        {"api: x\nquery: {a: [1]}\n", "2:12", "one value for each name"},
        {"api: x\nquery: {a: \"{b}\"}\n", "2:12", "no argument of this API"},
        {"api: x\nheaders: {Cookie: a=b}\n", "2:19", "a credential must not stand here"},
        {"api: x\nheaders: {X: \"{curser}\"}\n", "2:14", "did you mean {cursor}?"},
        {"api: x\nbody: \"{a}\"\n", "2:7", "no argument of this API"},
        {"api: x\narguments: {A: {}}\n", "2:13", "small letters"},
        {"api: x\narguments: {with: {}}\n", "2:13", "every API has"},
        {"api: x\narguments: {a: {default: \"{page}\"}}\n", "2:26", "{page}"},
        {"api: x\nitems: a\n", "2:8", "JSON pointer"},
        {"api: x\npages: {size: 1}\n", "2:8", "needs the key 'by'"},
        {"api: x\npages: {by: cursor}\n", "2:8", "'at' is missing"},
        {"api: x\npages: {by: page, most: 1001}\n", "2:25", "1000"},
        {"api: x\nsecret: {as: header}\n", "2:9", "needs its 'name'"},
        {"api: x\nsecret: {as: basic}\n", "2:9", "needs the 'user'"},
        {"api: x\nlimits: {reset: \"a b\"}\n", "2:17", "name of a header"},
        {"api: x\nchildren: {collector: http}\n", "2:11", "needs the key 'args'"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct fail why = FAIL_INIT;
        struct config_apis none = {0};
        char begin[64];
        snprintf(begin, sizeof begin, "x.yml:%s: ", bad[i].place);
        if (config_apis_text(&none, "x.yml", span_of(bad[i].text), &why) == TL_OK)
            fail_msg("accepted: %s", bad[i].text);
        if (strncmp(why.text, begin, strlen(begin)) != 0 || !strstr(why.text, bad[i].says))
            fail_msg("\"%s\" is no refusal at %s with %s, of: %s", why.text, begin, bad[i].says, bad[i].text);
        assert_int_equal(why.exit_code, EXIT_CONFIG);
        assert_int_equal(none.count, 0);
        config_apis_free(&none);
    }
}

static void the_collectors_form(void **state) {
    (void)state;
    read_one("api: x\nquery: {b: \"{q}\", a: 1.50}\narguments: {q: {default: \"{target.name}\", about: x}}\n"
             "items: \"\"\npages: {by: offset, size: 10}\nsecret: {as: query, name: key, required: false}\n");
    assert_string_equal(
        apis.api[0].json.ptr,
        "{\"name\":\"x\",\"method\":\"GET\",\"query\":{\"b\":\"{q}\",\"a\":1.50},\"body_type\":\"json\",\"answer\":"
        "\"json\","
        "\"items\":\"\",\"arguments\":{\"q\":{\"default\":\"{target.name}\"}},"
        "\"secret\":{\"as\":\"query\",\"name\":\"key\",\"required\":false},"
        "\"pages\":{\"by\":\"offset\",\"first\":0,\"size\":10,\"most\":10},\"limits\":{\"reset_is\":\"seconds\"}}");
}

static void arguments_are_made_whole(void **state) {
    struct args a = {0}, again = {0};
    struct fail why = FAIL_INIT;
    (void)state;
    read_one("api: x\nbase: https://A.example/v1/\narguments: {q: {required: true}, n: {}}\n");
    assert_int_equal(args_check(&api, span_of("{\"q\":1.10,\"api\":\"x\",\"pages\":2}"), true, &a, &why), TL_OK);
    assert_non_null(strstr(a.payload.data, "{\"base\":\"https://A.example/v1/\",\"api\":\"x\",\"with\":{\"q\":1.10},"
                                           "\"pages\":2,\"description\":{\"name\":\"x\","));
    assert_string_equal(a.identity.data,
                        "{\"api\":\"x\",\"base\":\"https://a.example/v1/\",\"pages\":2,\"with\":{\"q\":1.10}}");
    assert_string_equal(a.hosts.data, "a.example:443"); /* by which the leash goes */
    /* What was made whole stays so, whatever the description says by then. */
    read_one("api: x\nbase: https://b.example/\narguments: {other: {required: true}}\n");
    assert_int_equal(args_check(&api, buf_span(&a.payload), false, &again, &why), TL_OK);
    assert_string_equal(again.payload.data, a.payload.data);
    assert_string_equal(again.identity.data, a.identity.data);
    args_free(&a);
    args_free(&again);
}

static void what_does_not_fit_is_refused(void **state) {
    static const struct {
        const char *given, *says;
    } bad[] = {
        {"{}", "argument api of api is missing: it must be given"},
        {"{\"api\":\"y\"}", "there is no API \"y\""},
        {"{\"api\":[]}", "argument api wants the name of an API"},
        {"{\"api\":\"x\",\"qq\":1}", "API x has no argument \"qq\": did you mean \"q\"?"},
        {"{\"api\":\"x\",\"zzzzzz\":1}", "API x has no argument \"zzzzzz\": it takes q"},
        {"{\"api\":\"x\",\"base\":\"https://a/\"}", "argument q of API x is missing: it must be given"},
        {"{\"api\":\"x\",\"q\":null,\"base\":\"https://a/\"}", "argument q of API x is missing: it must be given"},
        {"{\"api\":\"x\",\"q\":1,\"with\":{\"q\":2}}", "argument q of API x is given twice"},
        {"{\"api\":\"x\",\"q\":[1]}", "argument q of API x wants one value"},
        {"{\"api\":\"x\",\"q\":1}", "API x has no address of its own: give 'base', such as"},
        {"{\"api\":\"x\",\"q\":1,\"base\":\"https://a/\"}", "API x wants a credential: give 'secret'"},
        {"{\"api\":\"x\",\"q\":1,\"base\":\"nowhere\",\"secret\":\"K\"}",
         "argument base of api: wants an http or https URL"},
    };
    (void)state;
    read_one("api: x\narguments: {q: {required: true}}\nsecret: {as: bearer}\n");
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct fail why = FAIL_INIT;
        struct args a = {0};
        assert_int_equal(args_check(&api, span_of(bad[i].given), true, &a, &why), TL_INVALID);
        if (strncmp(why.text, bad[i].says, strlen(bad[i].says)) != 0)
            fail_msg("%s: \"%s\", not \"%s\"", bad[i].given, why.text, bad[i].says);
        args_free(&a);
    }
}

static void those_that_are_built_in(void **state) {
    static const char *const names[] = {"crossref",         "crt_sh",  "hn_algolia",
                                        "mediawiki_search", "searxng", "wayback_cdx"};
    const struct config c = {0};
    struct config_apis all;
    (void)state;
    config_apis(&c, &all);
    assert_int_equal(all.broken_count, 0);
    assert_int_equal(all.count, COUNT_OF(names));
    for (size_t i = 0; i < all.count; i++) {
        assert_string_equal(all.api[i].name, names[i]);
        assert_false(all.api[i].secret_required);
    }
    config_apis_free(&all);
}

static int end(void **state) {
    (void)state;
    config_apis_free(&apis);
    return 0;
}

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nonsense_has_a_place),     cmocka_unit_test(the_collectors_form),
        cmocka_unit_test(arguments_are_made_whole), cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(those_that_are_built_in),
    };
    return cmocka_run_group_tests_name("config_apis", tests, NULL, end);
}
