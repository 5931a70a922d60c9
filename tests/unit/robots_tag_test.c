/* robots_tag_test.c - X-Robots-Tag: which of its rules are for us. */
#include "net/robots_tag.h"

#include "base/mem.h"
#include "cases.h"

struct tag_case {
    const char *value;
    bool noindex, nofollow;
};

static void rules_for_us_count(void **state) {
    static const struct tag_case cases[] = {
        {"nofollow", false, true},
        {"noindex", true, false},
        {"none", true, true},
        {"NoIndex , NOFOLLOW", true, true},
        {"all", false, false},
        {"", false, false},
        {",,nofollow,", false, true},
        {"nofollow-me, xnofollow, nofollow x", false, false},
        /* Google's own examples */
        {"unavailable_after: 25 Jun 2010 15:00:00 PST", false, false},
        {"noarchive, unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow", false, true},
        {"googlebot: nofollow", false, false},
        {"otherbot: noindex, nofollow", false, false},
        {"trotline: nofollow", false, true},
        {"Trotline:noindex, nofollow", true, true},
        {"*: nofollow", false, true},
        {"robots: noindex", true, false},
        /* a name holds up to the next; without one, for all */
        {"noindex, googlebot: nofollow", true, false},
        {"googlebot: nofollow, trotline: noindex", true, false},
        {"trotline: noindex, otherbot: none", true, false},
        {"googlebot: max-snippet: 20, nofollow", false, false},
        {"max-snippet: -1, nofollow", false, true},
        {"trotline-news: nofollow", false, false},
        {"unavailable_after: Sat, 25 Jun 2010 15:00:00 PST, nofollow", false, true},
        {": nofollow", false, false},
        {"nofollow: x", false, false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct robots_tag tag = {0};
        robots_tag_add(&tag, span_of(cases[i].value), "trotline");
        if (tag.noindex != cases[i].noindex || tag.nofollow != cases[i].nofollow)
            fail_msg("\"%s\": noindex %d, nofollow %d", cases[i].value, tag.noindex, tag.nofollow);
    }
}

static void lines_add_up(void **state) {
    struct robots_tag tag = {0};
    (void)state;
    robots_tag_add(&tag, span_of("otherbot: noindex"), "trotline");
    robots_tag_add(&tag, span_of("nofollow"), "trotline"); /* a new line, no name */
    assert_false(tag.noindex);
    assert_true(tag.nofollow);
}

static void agents_are_product_tokens(void **state) {
    AUTO_BUF struct buf a = BUF_INIT;
    (void)state;
    robots_tag_agent(&a, "Example-Bot/1.0 (+https://example.org/bot)");
    assert_string_equal(a.data, "example-bot");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_for_us_count),
        cmocka_unit_test(lines_add_up),
        cmocka_unit_test(agents_are_product_tokens),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("robots_tag", tests, NULL, NULL);
}
