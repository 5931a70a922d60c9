/* store_targets_test.c - candidates count a page once in a target; rules that change begin anew; entities that links
 * lead to; promotions, what they bound, and what reactions still want. */
#include "store_world.h"

#include "store/targets.h"

/* A run of the crawl at hand that ended with a document. */
static int64_t page(struct world *w, const char *url, int64_t at_us) {
    struct uuid id;
    struct store_document d = document_of(&id);
    begin(w);
    put_line(w, url);
    claim(w);
    int64_t run = w->got[0].key;
    d.collected_us = at_us;
    assert_int_equal(end(w, run, w->got[0].token, STORE_SUCCESS, &d), TL_OK);
    commit(w);
    return run;
}

static void find(struct world *w, int64_t run, enum store_kind kind, const char *text, int64_t weight,
                 const char *reaction) {
    const struct store_find f = {.run = run, .weight = weight, .kind = kind, .text = text, .reaction = reaction};
    begin(w);
    OK(store_find_put(w->s, &f, 7));
    commit(w);
}

#define SCORES "SELECT kind, text, score, documents, targets FROM candidates ORDER BY kind, text"

static void a_page_counts_once(void **state) {
    struct world *w = *state;
    int64_t a = page(w, "http://a/", 1000), b = page(w, "http://b/", 2000);
    find(w, a, STORE_A_HOST, "x.test", 2, NULL);
    find(w, a, STORE_A_HOST, "x.test", 3, NULL); /* another rule: the larger weight holds */
    find(w, a, STORE_A_HOST, "x.test", 2, NULL);
    find(w, b, STORE_A_HOST, "x.test", 2, NULL);
    find(w, b, STORE_A_NAME, "x.test", 1, NULL);
    assert_string_equal(ask(w, SCORES), "host|x.test|5|2|1\nname|x.test|1|1|1\n");
    world_crawl(w, no_limit); /* of the same name: the same page */
    int64_t again = page(w, "http://a/", 9000);
    find(w, again, STORE_A_HOST, "x.test", 2, NULL);
    assert_string_equal(ask(w, SCORES), "host|x.test|5|2|1\nname|x.test|1|1|1\n");
    assert_string_equal(ask(w, "SELECT last_seen_at FROM candidates WHERE kind = 'host'"),
                        "1970-01-01T00:00:00.009000Z\n");
    struct store_candidate c;
    assert_int_equal(store_candidate_get(w->s, 0, "x.test", &c, &why), TL_INVALID); /* two kinds */
    assert_int_equal(store_candidate_get(w->s, 0, "y.test", &c, &why), TL_NOTFOUND);
    OK(store_candidate_get(w->s, 1, NULL, &c, &why));
    assert_int_equal(c.run, a);
    assert_int_equal(c.score, 5);
}

static void other_rules_begin_anew(void **state) {
    struct world *w = *state;
    int64_t a = page(w, "http://a/", 1000);
    begin(w);
    OK(store_discovery_rules(w->s, "one", &why));
    OK(store_discovered_put(w->s, a));
    commit(w);
    find(w, a, STORE_A_HOST, "x.test", 2, "r");
    begin(w);
    OK(store_discovery_rules(w->s, "one", &why));
    commit(w);
    assert_string_equal(ask(w, SCORES), "host|x.test|2|1|1\n");
    begin(w);
    OK(store_discovery_rules(w->s, "two", &why));
    commit(w);
    assert_string_equal(ask(w, SCORES), "");
    assert_string_equal(ask(w, "SELECT (SELECT count(*) FROM discovered), (SELECT count(*) FROM wanted)"), "0|0\n");
}

static int each_link(void *ctx, const char *urn, const char *url) {
    buf_printf(ctx, "%s %s\n", urn, url ? url : "-");
    return 0;
}

static void links_lead_to_entities(void **state) {
    struct world *w = *state;
    int64_t a = page(w, "http://a/", 1000), b = page(w, "http://b/", 2000);
    static const struct store_link says[] = {{"urn:repo:1", "self", "urn:repo:1", "resource", 0},
                                             {"urn:repo:1", "owner", "urn:user:2", "resource", 0},
                                             {"urn:repo:1", "again", "urn:user:2", "resource", 0},
                                             {"urn:repo:1", "issues", "urn:repo:1:issues", "collection", 0},
                                             {"urn:repo:1", "team", "urn:repo:1:team", "relation", 0},
                                             {"urn:repo:1", "url", "http://a/", "", 0}};
    static const struct store_link other[] = {{"urn:user:2", "self", "urn:user:2", "resource", 0},
                                              {"urn:user:2", "url", "http://b/", "", 0}};
    begin(w);
    OK(store_links_put(w->s, a, says, COUNT_OF(says), 1000));
    OK(store_links_put(w->s, b, other, COUNT_OF(other), 2000));
    commit(w);
    AUTO_BUF struct buf out = BUF_INIT;
    OK(store_find_links(w->s, a, each_link, &out, &why));
    assert_string_equal(out.data, "urn:repo:1:team -\nurn:user:2 http://b/\n");
}

static int each_wanted(void *ctx, const struct store_candidate *c) {
    buf_printf(ctx, "%s %s %lld\n", c->text, c->reaction, (long long)c->score);
    return 0;
}

static const char *wanted(struct world *w, struct buf *out) {
    buf_reset(out);
    buf_text(out, "");
    OK(store_wanted(w->s, each_wanted, out, &why));
    return out->len ? out->data : "";
}

static void promotions(void **state) {
    struct world *w = *state;
    AUTO_BUF struct buf out = BUF_INIT;
    int64_t a = page(w, "http://a/", 1000), b = page(w, "http://b/", 2000), count = 0;
    bool ever = false;
    find(w, a, STORE_A_HOST, "few.test", 1, "r");
    find(w, a, STORE_A_HOST, "many.test", 1, "r");
    find(w, b, STORE_A_HOST, "many.test", 1, NULL);
    find(w, b, STORE_A_HOST, "none.test", 9, NULL);
    assert_string_equal(wanted(w, &out), "many.test r 2\nfew.test r 1\n");
    struct store_promotion p = {.uid = uuid_new(),
                                .id = "many",
                                .what = "many.test",
                                .yaml = "id: many\n",
                                .reaction = "r",
                                .kind = STORE_A_HOST,
                                .run = a,
                                .at_us = 5000};
    begin(w);
    OK(store_promotion_put(w->s, &p, &why));
    assert_int_equal(store_promotion_put(w->s, &p, &why), TL_INVALID);
    assert_int_equal(why.exit_code, EXIT_USAGE);
    p.uid = uuid_new();
    p.id = "hand";
    p.what = "none.test";
    p.reaction = NULL;
    OK(store_promotion_put(w->s, &p, &why));
    commit(w);
    assert_string_equal(wanted(w, &out), "few.test r 1\n");
    OK(store_reacted_since(w->s, 4999, &count, &why));
    assert_int_equal(count, 1); /* what is promoted by hand does not count */
    OK(store_reacted_since(w->s, 5000, &count, &why));
    assert_int_equal(count, 0);
    begin(w);
    OK(store_promotion_end(w->s, "many", 6000));
    assert_int_equal(store_promotion_end(w->s, "many", 6000), TL_NOTFOUND);
    commit(w);
    assert_string_equal(wanted(w, &out), "few.test r 1\n"); /* taken back: not wanted again */
    OK(store_reacted_since(w->s, 4999, &count, &why));
    assert_int_equal(count, 1); /* and counts all the same */
    OK(store_promoted(w->s, STORE_A_HOST, "many.test", &ever, &why));
    assert_true(ever);
    OK(store_promoted(w->s, STORE_A_NAME, "many.test", &ever, &why));
    assert_false(ever);
    begin(w);
    p.uid = uuid_new();
    p.id = "many"; /* the id is free again */
    OK(store_promotion_put(w->s, &p, &why));
    commit(w);
}

static void the_last_turn(void **state) {
    struct world *w = *state;
    struct store_turn turn;
    int64_t first = w->crawl.root;
    assert_int_equal(store_target_turn(w->s, "kayaking", &turn), TL_NOTFOUND);
    world_crawl(w, no_limit);
    begin(w);
    OK(store_target_turn_put(w->s, first, &(struct store_turn){8000, 7000}));
    commit(w);
    OK(store_target_turn(w->s, "kayaking", &turn)); /* the newer crawl was none */
    assert_true(turn.at_us == 8000 && turn.due_us == 7000);
    begin(w);
    OK(store_target_turn_put(w->s, w->crawl.root, &(struct store_turn){6000, 5000})); /* the clock was set back */
    commit(w);
    OK(store_target_turn(w->s, "kayaking", &turn));
    assert_true(turn.at_us == 6000 && turn.due_us == 5000);
    assert_int_equal(store_target_turn(w->s, "none", &turn), TL_NOTFOUND);
    assert_string_equal(ask(w, "SELECT turn_at, due_at FROM crawls ORDER BY root_id LIMIT 1"),
                        "1970-01-01T00:00:00.008000Z|1970-01-01T00:00:00.007000Z\n");
}

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_page_counts_once, setup, teardown),
        cmocka_unit_test_setup_teardown(other_rules_begin_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(links_lead_to_entities, setup, teardown),
        cmocka_unit_test_setup_teardown(promotions, setup, teardown),
        cmocka_unit_test_setup_teardown(the_last_turn, setup, teardown),
    };
    return cmocka_run_group_tests_name("store_targets", tests, NULL, NULL);
}
