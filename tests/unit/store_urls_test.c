/* store_urls_test.c - what outlives a crawl: host states, validators, lasting redirects. */
#include "store_world.h"

static struct tl_span url(const char *text) {
    return span_of(text);
}

static void newest_validators_win(void **state) {
    struct world *w = *state;
    struct store_validator v = {.etag = "\"a\"", .last_modified = "Fri, 02 Jan 2026 03:04:05 GMT", .run = w->crawl.root, .at_us = 1000}, got;
    assert_int_equal(store_validator_get(w->s, url("http://example.org/"), "", &got), TL_NOTFOUND);
    begin(w);
    OK(store_validator_put(w->s, url("http://example.org/"), "", &v));
    v.etag = "W/\"b\"";
    v.last_modified = NULL;
    v.at_us = 999; /* an answer that was on its way for longer */
    OK(store_validator_put(w->s, url("http://example.org/"), "", &v));
    OK(store_validator_unchanged(w->s, url("http://example.org/"), ""));
    v.at_us = 2000;
    OK(store_validator_put(w->s, url("http://example.org/"), "token", &v)); /* another credential, another answer */
    commit(w);
    OK(store_validator_get(w->s, url("http://example.org/"), "", &got));
    assert_string_equal(got.etag, "\"a\"");
    assert_string_equal(got.last_modified, "Fri, 02 Jan 2026 03:04:05 GMT");
    assert_int_equal(got.unchanged, 1);
    OK(store_validator_get(w->s, url("http://example.org/"), "token", &got));
    assert_string_equal(got.etag, "W/\"b\"");
    assert_null(got.last_modified);
    begin(w);
    OK(store_validator_put(w->s, url("http://example.org/"), "", &v));
    OK(store_validator_forget(w->s, url("http://example.org/"), "token"));
    commit(w);
    OK(store_validator_get(w->s, url("http://example.org/"), "", &got));
    assert_string_equal(got.etag, "W/\"b\"");
    assert_int_equal(got.unchanged, 0);
    assert_int_equal(store_validator_get(w->s, url("http://example.org/"), "token", &got), TL_NOTFOUND);
}

static void hosts_are_remembered(void **state) {
    struct world *w = *state;
    struct store_host_state got;
    begin(w);
    OK(store_host_pace(w->s, w->host, 250000, 7000000));
    OK(store_host_pace(w->s, w->host, 300000, 5000000)); /* until only ever later */
    OK(store_host_robots(w->s, w->host, 1, url("User-agent: *\nDisallow: /x\n")));
    commit(w);
    OK(store_host_state(w->s, w->host, &got));
    assert_int_equal(got.delay_us, 300000);
    assert_int_equal(got.until_us, 7000000);
    assert_int_equal(got.robots, 1);
    assert_true(got.robots_us > 0);
    assert_true(span_eq(got.robots_text, "User-agent: *\nDisallow: /x\n"));
    OK(store_host_state(w->s, w->other_host, &got));
    assert_int_equal(got.robots, 0);
    assert_int_equal(got.robots_text.len, 0);
}

static int count(void *ctx, const struct store_row *row) {
    int *n = ctx;
    (*n) += row->value[0].type == STORE_NULL ? 1 : 100; /* mappings that hold, and a hundred for each that ended */
    return 0;
}

static void redirects_have_a_history(void **state) {
    struct world *w = *state;
    int n = 0;
    begin(w);
    OK(store_url_map(w->s, url("http://example.org/old"), url("http://example.org/new"), "redirect"));
    OK(store_url_map(w->s, url("http://example.org/old"), url("http://example.org/new"), "redirect"));
    commit(w);
    begin(w);
    OK(store_url_map(w->s, url("http://example.org/old"), url("http://example.org/newer"), "redirect"));
    commit(w);
    OK(store_query(w->s, "SELECT until_at FROM url_map WHERE requested_url = 'http://example.org/old'", NULL, 0, count, &n, &why));
    assert_int_equal(n, 101);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(newest_validators_win, setup, teardown),
                                       cmocka_unit_test_setup_teardown(hosts_are_remembered, setup, teardown),
                                       cmocka_unit_test_setup_teardown(redirects_have_a_history, setup, teardown)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("store_urls", tests, NULL, NULL);
}
