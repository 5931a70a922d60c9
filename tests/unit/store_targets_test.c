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
    p.id = "many"; /* the id is free again, but somebody has promoted the same meanwhile */
    assert_int_equal(store_promotion_put(w->s, &p, &why), TL_INVALID);
    assert_string_equal(why.text, "'none.test' is the target 'hand' already");
    assert_int_equal(why.exit_code, EXIT_USAGE);
    p.what = "many.test";
    OK(store_promotion_put(w->s, &p, &why));
    commit(w);
}

/* ---- what is watched */

static void saw(struct world *w, int64_t run, const char *of, const char *value) {
    const struct store_watch put = {.run = run, .type = "http_page", .column = "title", .of = of, .value = value};
    begin(w);
    OK(store_watch_put(w->s, &put));
    commit(w);
}

static int64_t fold(struct world *w) {
    int64_t folded = 1, left_out = 0;
    while (folded) {
        begin(w);
        OK(store_watch_fold(w->s, &folded, &left_out));
        commit(w);
    }
    assert_string_equal(ask(w, "SELECT count(*) FROM watched_new"), "0\n");
    return left_out;
}

#define HISTORY "SELECT substr(at, 24, 3), value, was, is_first, substr(seen_at, 24, 3) FROM history WHERE of = 'p'"

static void only_changes_stand(void **state) {
    struct world *w = *state;
    int64_t run[10];
    for (int i = 1; i < 10; i++) {
        char url[20];
        snprintf(url, sizeof url, "http://a/%d", i);
        run[i] = page(w, url, i);
    }
    saw(w, run[5], "p", "a"); /* in any order: it is folded in by time */
    saw(w, run[3], "p", "a");
    saw(w, run[7], "p", NULL);
    saw(w, run[8], "p", "");
    saw(w, run[3], "p", "x"); /* of one document the first counts */
    assert_int_equal(fold(w), 0);
    assert_string_equal(ask(w, HISTORY), "003|a||1|005\n007||a|0|007\n008|||0|008\n");
    saw(w, run[4], "p", "b"); /* late, and another: what held before holds again behind it; of what
                               * was seen in between, only the ends are known */
    saw(w, run[2], "p", "a"); /* late, and the same: it was so earlier */
    saw(w, run[9], "p", "");
    assert_int_equal(fold(w), 0);
    assert_string_equal(ask(w, HISTORY), "002|a||1|002\n004|b|a|0|004\n005|a|b|0|005\n007||a|0|007\n008|||0|009\n");
    saw(w, run[4], "p", "b");
    saw(w, run[5], "p", "a");
    assert_int_equal(fold(w), 0); /* looked at again, nothing is another */
    assert_string_equal(ask(w, HISTORY), "002|a||1|002\n004|b|a|0|004\n005|a|b|0|005\n007||a|0|007\n008|||0|009\n");
    saw(w, run[1], NULL, "9007199254740993"); /* which row: the one of the run's URL */
    assert_int_equal(fold(w), 0);
    assert_string_equal(ask(w, "SELECT target, column, value, of FROM history WHERE at < '1970-01-01T00:00:00.000002'"),
                        "kayaking|title|9007199254740993|http://a/1\n");
    begin(w);
    OK(store_discovery_rules(w->s, "others", &why));
    commit(w);
    assert_string_equal(ask(w, "SELECT count(*) FROM history"), "0\n");
}

static void only_so_many_rows(void **state) {
    struct world *w = *state;
    int64_t a = page(w, "http://a/", 1);
    char of[16];
    begin(w);
    for (int i = 0; i < 10003; i++) {
        snprintf(of, sizeof of, "%d", i);
        const struct store_watch put = {.run = a, .type = "t", .column = "c", .of = of, .value = "v"};
        OK(store_watch_put(w->s, &put));
    }
    commit(w);
    assert_int_equal(fold(w), 3);
    assert_string_equal(ask(w, "SELECT count(*) FROM history"), "10000\n");
}

/* ---- promotions that come back */

static void promotions_come_back(void **state) {
    struct world *w = *state;
    static const int order[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        char id[8], sql[200];
        snprintf(id, sizeof id, "x%zu", i);
        snprintf(sql, sizeof sql,
                 "SELECT text, substr(promoted_at, 24, 3), substr(removed_at, 24, 3) FROM promotions WHERE target = "
                 "'%s' ORDER BY 2",
                 id);
        struct store_promotion a = {.uid = uuid_new(), .id = id, .what = "a", .yaml = "y", .at_us = 1}, a_end = a,
                               b = {.uid = uuid_new(), .id = id, .what = "b", .yaml = "y", .at_us = 3};
        a_end.removed_us = 2;
        const struct store_promotion *const records[] = {&a, &a_end, &b};
        for (int again = 0; again < 2; again++) {
            begin(w);
            for (int k = 0; k < 3; k++)
                OK(store_promotion_import(w->s, records[order[i][k]]));
            commit(w);
            assert_string_equal(ask(w, sql), "a|001|002\nb|003|\n"); /* whatever came first */
        }
    }
}

/* ---- turns */

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
        cmocka_unit_test_setup_teardown(only_changes_stand, setup, teardown),
        cmocka_unit_test_setup_teardown(only_so_many_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(promotions_come_back, setup, teardown),
    };
    return cmocka_run_group_tests_name("store_targets", tests, NULL, NULL);
}
