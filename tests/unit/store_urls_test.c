/* store_urls_test.c - what outlives a crawl: host states, validators, lasting redirects. */
#include "store_world.h"

static struct store_url url(const char *text) { /* the key is the store's to compare, not to make */
    return (struct store_url){span_of(text), 0x5900000000000000u |
                                                 (uint32_t)hash_sha256(text, strlen(text)).byte[0] << 8 | strlen(text)};
}

static void newest_validators_win(void **state) {
    struct world *w = *state;
    struct store_validator v = {.etag = "\"a\"",
                                .last_modified = "Fri, 02 Jan 2026 03:04:05 GMT",
                                .run = w->crawl.root,
                                .at_us = 1000},
                           got;
    assert_int_equal(store_validator_get(w->s, url("http://example.org/"), "", &got), TL_NOTFOUND);
    begin(w);
    OK(store_validator_put(w->s, url("http://example.org/"), "", &v));
    v.etag = "W/\"b\"";
    v.last_modified = NULL;
    v.at_us = 999; /* an answer that was on its way for longer */
    OK(store_validator_put(w->s, url("http://example.org/"), "", &v));
    OK(store_validator_unchanged(w->s, url("http://example.org/"), "", 1500));
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
    OK(store_host_robots(w->s, w->host, true, 1, span_of("User-agent: *\nDisallow: /x\n")));
    commit(w);
    OK(store_host_state(w->s, w->host, &got));
    assert_int_equal(got.delay_us, 300000);
    assert_int_equal(got.until_us, 7000000);
    assert_int_equal(got.robots, 1);
    assert_true(got.robots_tls);
    assert_true(got.robots_us > 0);
    assert_true(span_eq(got.robots_text, "User-agent: *\nDisallow: /x\n"));
    OK(store_host_state(w->s, w->other_host, &got));
    assert_int_equal(got.robots, 0);
    assert_int_equal(got.robots_text.len, 0);
}

static void redirects_have_a_history(void **state) {
    struct world *w = *state;
    begin(w);
    OK(store_url_map(w->s, url("http://example.org/old"), url("http://example.org/new"), STORE_URL_REDIRECT, 1000000));
    OK(store_url_map(w->s, url("http://example.org/old"), url("http://example.org/new"), STORE_URL_REDIRECT, 2000000));
    OK(store_url_map(w->s, url("http://example.org/old"), url("http://example.org/newer"), STORE_URL_REDIRECT,
                     3000000));
    OK(store_url_map(w->s, url("http://example.org/old"), url("http://example.org/new"), STORE_URL_REDIRECT,
                     2500000)); /* late news */
    commit(w);
    assert_string_equal(ask(w, "SELECT canonical_url, kind, since_at, until_at FROM url_map ORDER BY since_at"),
                        "http://example.org/new|redirect|1970-01-01T00:00:01.000000Z|1970-01-01T00:00:03.000000Z\n"
                        "http://example.org/newer|redirect|1970-01-01T00:00:03.000000Z|\n");
}

/* ---- documents by URL */

static int64_t run_of_url(struct world *w, const char *name) { /* a run with a document, by another name than its URL */
    struct uuid id;
    struct store_document d = document_of(&id);
    begin(w);
    int64_t key = put_line(w, name);
    commit(w);
    begin(w);
    claim(w);
    for (size_t i = 0; i < w->count; i++)
        if (w->got[i].key == key)
            assert_int_equal(end(w, key, w->got[i].token, STORE_SUCCESS, &d), TL_OK);
    commit(w);
    return key;
}

static int64_t fetched(struct world *w, const char *name, struct store_url asked, struct store_url source,
                       struct store_url canonical, int64_t at_s) {
    struct store_fetched f = {.asked = asked,
                              .source = source,
                              .url = canonical,
                              .run = run_of_url(w, name),
                              .at_us = at_s * 1000000,
                              .believed = true,
                              .plain = true};
    begin(w);
    OK(store_url_fetched(w->s, &f));
    commit(w);
    return f.run;
}

static int64_t answer(struct world *w, struct store_url u, int64_t since_s) {
    int64_t run = 0;
    int rc = store_url_answer(w->s, u, since_s * 1000000, &run);
    assert_true(rc == TL_OK || rc == TL_NOTFOUND);
    return rc ? 0 : run;
}

static void one_key_of_two_urls(void **state) {
    struct world *w = *state;
    const struct store_url a = {span_of("http://example.org/a"), 42}, b = {span_of("http://example.org/b"), 42},
                           c = {span_of("http://example.org/c"), 42};
    struct store_validator v = {.etag = "\"a\"", .at_us = 1}, got;
    int64_t ida = 0, idb = 0;
    int64_t ra = fetched(w, "ra", a, a, a, 10);
    assert_int_equal(answer(w, b, 0), 0); /* the key is known, the text is not */
    assert_int_equal(store_url_find(w->s, b, &idb), TL_NOTFOUND);
    int64_t rb = fetched(w, "rb", b, b, b, 20);
    assert_int_equal(answer(w, a, 0), ra);
    assert_int_equal(answer(w, b, 0), rb);
    assert_int_equal(answer(w, c, 0), 0);
    OK(store_url_find(w->s, a, &ida));
    OK(store_url_find(w->s, b, &idb));
    assert_int_not_equal(ida, idb);
    v.run = ra;
    begin(w);
    OK(store_validator_put(w->s, a, "", &v));
    commit(w);
    assert_int_equal(store_validator_get(w->s, b, "", &got), TL_NOTFOUND);
    OK(store_validator_get(w->s, a, "", &got));
    begin(w);
    OK(store_url_forget(w->s, ida));
    commit(w);
    assert_int_equal(answer(w, a, 0), 0);
    assert_int_equal(answer(w, b, 0), rb);
    assert_string_equal(ask(w, "SELECT count(*) FROM documents"), "2\n"); /* they stay */
}

static void canonical_urls(void **state) {
    struct world *w = *state;
    const struct store_url r = url("http://example.org/r"), r2 = url("http://example.org/r2"),
                           c = url("http://example.org/c"), d = url("http://example.org/dd");
    int64_t first = fetched(w, "first", r, r, c, 10), itself, other, later;
    assert_string_equal(ask(w, "SELECT requested_url, canonical_url, kind FROM url_map"),
                        "http://example.org/r|http://example.org/c|canonical\n");
    assert_int_equal(answer(w, r, 10), first);
    assert_int_equal(answer(w, r, 11), 0);
    assert_int_equal(answer(w, c, 0), 0); /* what R says it is, C did not say */
    itself = fetched(w, "itself", c, c, c, 20);
    assert_string_equal(ask(w, "SELECT (SELECT url FROM runs WHERE run_id = parent_id_), (SELECT url FROM runs WHERE "
                               "run_id = child_id) FROM "
                               "(SELECT parent_id AS parent_id_, child_id FROM edges WHERE kind = 'canonical_of')"),
                        "itself|first\n");
    assert_int_equal(answer(w, r, 15), itself); /* R is C: so it says */
    other = fetched(w, "other", r2, r2, c, 30);
    assert_string_equal(ask(w, "SELECT count(*) FROM edges WHERE kind = 'canonical_of'"), "2\n");
    assert_int_equal(answer(w, r2, 0), other);
    assert_int_equal(answer(w, c, 0), itself);
    assert_string_equal(
        ask(w, "SELECT requested_url FROM url_documents WHERE url = 'http://example.org/c' ORDER BY collected_at DESC"),
        "http://example.org/r2\nhttp://example.org/c\nhttp://example.org/r\n");
    later = fetched(w, "later", r, r, d, 40); /* R is another's now */
    assert_int_equal(answer(w, r, 0), later);
    assert_string_equal(ask(w, "SELECT canonical_url, until_at IS NULL FROM url_map WHERE requested_url = "
                               "'http://example.org/r' ORDER BY since_at"),
                        "http://example.org/c|0\nhttp://example.org/dd|1\n");
    fetched(w, "back", d, d, r, 50); /* a circle */
    assert_int_equal(answer(w, r, 45), answer(w, d, 45));
    begin(w);
    OK(store_url_seen(w->s, itself, 90000000)); /* 304 */
    commit(w);
    assert_int_equal(answer(w, c, 85), itself);
}

static void what_is_old_goes(void **state) {
    struct world *w = *state;
    const struct store_url a = url("http://example.org/a"), b = url("http://example.org/bb"),
                           old = url("http://example.org/old");
    struct store_expiry x = {.before_us = 15000000};
    fetched(w, "one", old, old, a, 10);
    int64_t kept = fetched(w, "two", b, b, b, 20);
    begin(w);
    OK(store_expire(w->s, &x, &why));
    commit(w);
    assert_int_equal(x.documents, 1);
    assert_int_equal(x.mappings, 1);
    assert_int_equal(x.urls, 2);
    assert_string_equal(ask(w, "SELECT url FROM urls"), "http://example.org/bb\n");
    assert_int_equal(answer(w, b, 0), kept);
    assert_string_equal(ask(w, "SELECT count(*) FROM documents"), "2\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(newest_validators_win, setup, teardown),
                                       cmocka_unit_test_setup_teardown(hosts_are_remembered, setup, teardown),
                                       cmocka_unit_test_setup_teardown(redirects_have_a_history, setup, teardown),
                                       cmocka_unit_test_setup_teardown(one_key_of_two_urls, setup, teardown),
                                       cmocka_unit_test_setup_teardown(canonical_urls, setup, teardown),
                                       cmocka_unit_test_setup_teardown(what_is_old_goes, setup, teardown)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("store_urls", tests, NULL, NULL);
}
