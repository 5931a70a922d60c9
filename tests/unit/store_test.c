/* store_test.c - put, the leash, claim and finish: what may run, where it stands, and who has it. */
#include "store_world.h"

/* ---- put */

static void test_put_known(void **state) {
    struct world *w = *state;
    begin(w);
    int64_t a = put_line(w, "a");
    struct store_put_result first = put(w, a, 1, "b"), second = put(w, a, 1, "b");
    assert_int_equal(first.verdict, STORE_NEW);
    assert_int_equal(first.reach, 2);
    assert_int_equal(second.verdict, STORE_KNOWN);
    assert_int_equal(second.run, first.run);
    struct store_wish far = wish_of(w, first.run, 2, "c");
    int64_t c = put_wish(w, &far).run;
    assert_int_equal(put(w, first.run, 2, "a").verdict, STORE_KNOWN); /* farther than it is: a cycle */
    /* c stood at 3 below b; a knows it too */
    struct store_put_result nearer = put(w, a, 1, "c");
    assert_int_equal(nearer.verdict, STORE_NEARER);
    assert_int_equal(nearer.run, c);
    assert_int_equal(nearer.reach, 2);
    commit(w);
    assert_string_equal(
        ask(w, "SELECT r.url, r.depth, r.reach, p.url FROM runs r JOIN runs p ON p.run_id = r.parent_id ORDER BY 1"),
        "a|1|1|\nb|2|2|a\nc|2|2|a\n");
    assert_string_equal(ask(w, "SELECT runs, queued, leased, leashed FROM crawls"), "4|3|1|0\n");
}

static void test_put_again(void **state) {
    struct world *w = *state;
    struct uuid id;
    struct store_document document = document_of(&id);
    begin(w);
    int64_t a = put_line(w, "a"), b = put_line(w, "b");
    struct store_wish page = wish_of(w, a, 1, "a2");
    page.edge = STORE_PAGE;
    int64_t c = put(w, put(w, put_wish(w, &page).run, 1, "x").run, 2, "c").run;
    for (int i = 0; i < 3; i++) {
        claim(w);
        for (size_t k = 0; k < w->count; k++)
            assert_int_equal(
                end(w, w->got[k].key, w->got[k].token, STORE_SUCCESS, w->got[k].key == c ? &document : NULL), TL_OK);
    }
    int64_t events, reach, due;
    struct store_put_result again = put(w, b, 1, "c");
    assert_int_equal(again.verdict, STORE_AGAIN);
    assert_int_equal(again.run, c);
    assert_int_equal(again.reach, 2);
    OK(store_events_open(w->s, w->crawl.root, &events, &reach, &due));
    assert_int_equal(events, 1);
    assert_int_equal(reach, 2);
    assert_int_equal(put(w, a, 1, "c").verdict, STORE_KNOWN); /* no nearer than now */
    /* x has no document: nearer, but nobody is told */
    assert_int_equal(put(w, w->crawl.root, 0, "x").verdict, STORE_AGAIN);
    OK(store_events_open(w->s, w->crawl.root, &events, &reach, &due));
    assert_int_equal(events, 1);
    commit(w);
    assert_string_equal(ask(w, "SELECT url, depth, reach FROM runs WHERE url IN ('c', 'x') ORDER BY 1"),
                        "c|3|2\nx|2|1\n");
    assert_string_equal(ask(w, "SELECT kind, status, reactor FROM events"), "again|waiting|http\n");
}

static void test_leash_order(void **state) {
    struct world *w = *state;
    world_crawl(w, (struct store_scope){.depth = 2, .fanout = 1, .runs = 4, .bytes = 1000, .time_us = INT64_MAX});
    begin(w);
    int64_t a = put_line(w, "a"), b = put(w, a, 1, "b").run; /* with the root: 3 */
    struct store_wish wish = wish_of(w, b, 2, "far");
    wish.refuse = STORE_HOSTS;
    assert_int_equal(put_wish(w, &wish).reason, STORE_DEPTH); /* depth before hosts */
    wish = wish_of(w, a, 1, "elsewhere");
    wish.refuse = STORE_HOSTS;
    assert_int_equal(put_wish(w, &wish).reason, STORE_HOSTS); /* hosts before fan-out */
    assert_int_equal(put(w, a, 1, "second").reason, STORE_FANOUT);
    int64_t last = put_line(w, "c");
    assert_int_equal(put(w, a, 1, "second").reason, STORE_FANOUT); /* fan-out before runs */
    assert_int_equal(put(w, last, 1, "d").reason, STORE_RUNS);
    assert_int_equal(put(w, last, 1, "b").verdict, STORE_KNOWN); /* what is known is never refused */
    struct store_put_result refused = put(w, last, 1, "d");
    assert_int_equal(refused.verdict, STORE_LEASHED);
    assert_int_equal(refused.run, 0);
    commit(w);
    assert_string_equal(ask(w, "SELECT l.url, l.reason, l.times, l.collector, p.url FROM leashed l JOIN runs p ON "
                               "p.run_id = l.parent_id ORDER BY 1"),
                        "d|runs|2|http|c\nelsewhere|hosts|1|http|a\nfar|depth|1|http|b\nsecond|fanout|2|http|a\n");
    assert_string_equal(ask(w, "SELECT runs, leashed FROM crawls WHERE leashed"), "4|4\n");
    assert_string_equal(ask(w, "SELECT length(payload_digest), at GLOB '20*-*-*T*:*:*.??????Z' FROM leashed LIMIT 1"),
                        "32|1\n");
}

static void test_bytes_and_chain(void **state) {
    struct world *w = *state;
    begin(w);
    struct store_scope line = {.parent = w->scope.key,
                               .depth = 9,
                               .fanout = 99,
                               .runs = 2,
                               .bytes = 250,
                               .time_us = INT64_MAX,
                               .json = "{\"runs\":2}"};
    OK(store_scope_put(w->s, w->crawl.root, &line));
    struct store_scope same = {.parent = w->scope.key, .json = "{\"runs\":2}"};
    OK(store_scope_put(w->s, w->crawl.root, &same));
    assert_int_equal(same.key, line.key);
    assert_int_equal(same.runs, 2);
    struct store_wish a = wish_of(w, w->crawl.root, 0, "a"), b = a, c;
    a.scope = line.key;
    a.line = true;
    int64_t run = put_wish(w, &a).run;
    claim(w);
    assert_int_equal(end(w, run, w->got[0].token, STORE_SUCCESS, NULL), TL_OK); /* 100 bytes */
    b = wish_of(w, run, 1, "b");
    b.scope = line.key;
    assert_int_equal(put_wish(w, &b).verdict, STORE_NEW);
    c = wish_of(w, run, 1, "c");
    c.scope = line.key;
    assert_int_equal(put_wish(w, &c).reason, STORE_RUNS); /* of the line; the crawl has room */
    commit(w);
    store_close(w->s);
    world_open(w); /* what was spent is in the catalog */
    begin(w);
    assert_int_equal(put_wish(w, &c).reason, STORE_RUNS);
    same = (struct store_scope){.parent = w->scope.key, .json = "{\"runs\":2}"};
    OK(store_scope_put(w->s, w->crawl.root, &same));
    assert_int_equal(same.runs_spent, 2);
    assert_int_equal(same.bytes_spent, 100);
    /* hosts learned later change the leash, not its identity */
    OK(store_scope_json(w->s, line.key, "{\"hosts\":[\"x\"]}"));
    same = (struct store_scope){.parent = w->scope.key, .json = "{\"runs\":2}"};
    OK(store_scope_put(w->s, w->crawl.root, &same));
    assert_int_equal(same.key, line.key);
    assert_string_equal(same.json, "{\"hosts\":[\"x\"]}");
    struct store_scope small = {.parent = w->scope.key,
                                .depth = 9,
                                .fanout = 99,
                                .runs = 99,
                                .bytes = 100,
                                .time_us = INT64_MAX,
                                .json = "{\"bytes\":100}"};
    OK(store_scope_put(w->s, w->crawl.root, &small));
    c.scope = small.key;
    c.line = true;
    run = put_wish(w, &c).run;
    claim(w);
    end_all(w);
    struct store_wish d = wish_of(w, run, 1, "d");
    d.scope = small.key;
    assert_int_equal(put_wish(w, &d).reason, STORE_BYTES);
    commit(w);
}

static void test_fanout(void **state) {
    struct world *w = *state;
    world_crawl(
        w, (struct store_scope){.depth = 9, .fanout = 2, .runs = INT64_MAX, .bytes = INT64_MAX, .time_us = INT64_MAX});
    begin(w);
    int64_t a = put_line(w, "a"), b = put_line(w, "b");
    put_line(w, "c"); /* lines are free of it */
    struct store_wish many[5] = {wish_of(w, a, 1, "1"), wish_of(w, a, 1, "1"), wish_of(w, a, 1, "2"),
                                 wish_of(w, a, 1, "3"), wish_of(w, a, 1, "next")};
    many[4].edge = STORE_PAGE;
    struct store_put_result out[5];
    OK(store_put(w->s, many, 5, out, &why));
    static const enum store_verdict expected[] = {STORE_NEW, STORE_KNOWN, STORE_NEW, STORE_LEASHED, STORE_NEW};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(out[i].verdict, expected[i]);
    assert_int_equal(put(w, a, 1, "4").reason, STORE_FANOUT); /* also in a later call */
    /* a run that moves to a nearer parent takes a place there and leaves one behind */
    int64_t deep = put(w, out[0].run, 2, "deep").run;
    put(w, b, 1, "b1");
    assert_int_equal(put(w, b, 1, "deep").verdict, STORE_NEARER);
    assert_int_equal(put(w, b, 1, "b2").reason, STORE_FANOUT);
    assert_int_equal(put(w, out[0].run, 2, "x").verdict, STORE_NEW);
    assert_int_equal(put(w, out[0].run, 2, "y").verdict, STORE_NEW);
    assert_int_equal(put(w, out[0].run, 2, "z").reason, STORE_FANOUT);
    /* where there is no place, it stays */
    assert_int_equal(put(w, a, 1, "x").verdict, STORE_KNOWN);
    commit(w);
    assert_true(deep > 0);
    assert_string_equal(ask(w, "SELECT r.url, r.depth, r.edge FROM runs r JOIN runs p ON p.run_id = r.parent_id WHERE "
                               "p.url = 'a' ORDER BY 1"),
                        "1|2|react\n2|2|react\nnext|1|page\n");
}

static void test_move_across_leashes(void **state) {
    struct world *w = *state;
    begin(w);
    struct store_scope tight = {.parent = w->scope.key,
                                .depth = 1,
                                .fanout = 99,
                                .runs = 9,
                                .bytes = 999,
                                .time_us = INT64_MAX,
                                .json = "{\"depth\":1}"};
    struct store_scope one = {.parent = w->scope.key,
                              .depth = 9,
                              .fanout = 99,
                              .runs = 2,
                              .bytes = 999,
                              .time_us = INT64_MAX,
                              .json = "{\"runs\":2}"};
    OK(store_scope_put(w->s, w->crawl.root, &tight));
    OK(store_scope_put(w->s, w->crawl.root, &one));
    int64_t a = put_line(w, "a"), x = put(w, put(w, a, 1, "b").run, 2, "x").run;
    struct store_wish near = wish_of(w, a, 1, "x");
    near.scope = tight.key;
    assert_int_equal(put_wish(w, &near).verdict, STORE_KNOWN); /* nearer, but that leash ends before it */
    near.scope = one.key;
    assert_int_equal(put_wish(w, &near).verdict, STORE_NEARER);
    commit(w);
    store_close(w->s);
    world_open(w);
    begin(w);
    struct store_scope now = {.parent = w->scope.key, .json = "{\"runs\":2}"};
    OK(store_scope_put(w->s, w->crawl.root, &now));
    assert_int_equal(now.runs_spent, 1); /* the run belongs there now */
    now = (struct store_scope){.json = "{}"};
    OK(store_scope_put(w->s, w->crawl.root, &now));
    assert_int_equal(now.runs_spent, 4); /* root, a, b, x */
    assert_int_equal(now.key, w->scope.key);
    commit(w);
    assert_true(x > 0);
}

/* ---- claim */

static void test_depth_does_not_race(void **state) {
    struct world *w = *state;
    begin(w);
    int64_t a = put_line(w, "a"), b = put_line(w, "b");
    int64_t x = put(w, a, 1, "x").run, y = put(w, x, 2, "y").run;
    put(w, y, 3, "z");
    /* reach 2 may run beside reach 1, reach 3 must wait; the root, still leased, holds nobody up */
    assert_string_equal(claim(w), "a b x ");
    assert_string_equal(claim(w), "");
    struct store_claimed got[3];
    memcpy(got, w->got, sizeof got);
    w->count = 0;
    claim(w);
    assert_int_equal(end(w, a, 1, STORE_SUCCESS, NULL), TL_OK);
    assert_string_equal(claim(w), ""); /* b is open at 1 */
    /* b goes back to the queue for a minute: parked for so long it does not hold up the others */
    OK(store_retry(w->s, b, 1, store_now_us(w->s) + 60000000, true, "busy"));
    int64_t due;
    assert_string_equal(claim_as(w, "me", 100, NULL, 0, &due), "y ");
    assert_true(due < INT64_MAX && due > store_now_us(w->s) + 50000000);
    assert_int_equal(end(w, x, 1, STORE_SUCCESS, NULL), TL_OK);
    OK(store_retry(w->s, y, 1, store_now_us(w->s) + 10000000, true, "busy")); /* parked for less: open */
    assert_string_equal(claim(w), "z ");                                      /* one step behind y */
    commit(w);
}

static void test_open_reach_of_the_caller(void **state) {
    struct world *w = *state;
    begin(w);
    int64_t a = put_line(w, "a");
    put(w, put(w, a, 1, "b").run, 2, "c");
    claim(w);
    end_all(w); /* a and b are done, but their links may be under way */
    struct store_claim spec = {
        .root = w->crawl.root, .owner = "me", .lease_us = 1000, .open_reach = 1, .max = 9, .take = take_all, .ctx = w};
    size_t taken;
    int64_t due;
    OK(store_claim(w->s, &spec, &taken, &due, &why));
    assert_int_equal(taken, 0);
    spec.open_reach = 2;
    OK(store_claim(w->s, &spec, &taken, &due, &why));
    assert_int_equal(taken, 1);
    commit(w);
}

static void test_blocked_hosts(void **state) {
    struct world *w = *state;
    begin(w);
    int64_t a = put_line(w, "a");
    for (int i = 0; i < 600; i++) {
        char url[20];
        snprintf(url, sizeof url, "slow%d", i);
        struct store_wish wish = wish_of(w, a, 1, url);
        wish.host = w->other_host;
        put_wish(w, &wish);
    }
    put(w, a, 1, "quick1");
    put(w, a, 1, "quick2");
    const int64_t blocked[] = {w->other_host};
    assert_string_equal(claim_as(w, "me", 2, blocked, 1, NULL), "a quick1 ");
    end_all(w);
    /* what was passed over is remembered; the answers are the same */
    assert_string_equal(claim_as(w, "me", 2, blocked, 1, NULL), "quick2 ");
    end_all(w);
    assert_string_equal(claim_as(w, "me", 2, blocked, 1, NULL), "");
    assert_string_equal(claim_as(w, "me", 2, blocked, 1, NULL), "");
    put(w, a, 1, "quick3"); /* behind them */
    assert_string_equal(claim_as(w, "me", 2, blocked, 1, NULL), "quick3 ");
    put(w, a, 1, "quick4");
    assert_string_equal(claim_as(w, "me", 2, blocked, 1, NULL), "quick4 ");
    struct store_wish line = wish_of(w, w->crawl.root, 0, "line"); /* before them */
    line.line = true;
    put_wish(w, &line);
    assert_string_equal(claim_as(w, "me", 2, blocked, 1, NULL), "line ");
    put(w, put(w, a, 1, "quick5").run, 2, "deep"); /* the slow ones are open at 2: deep, at 3, is not too far */
    assert_string_equal(claim_as(w, "me", 9, blocked, 1, NULL), "quick5 ");
    end(w, line.parent, 1, STORE_SUCCESS, NULL);
    assert_string_equal(claim_as(w, "me", 2, NULL, 0, NULL), "slow0 slow1 "); /* no longer blocked */
    commit(w);
}

static void test_claimed_run(void **state) {
    struct world *w = *state;
    begin(w);
    int64_t a = put_line(w, "a");
    struct store_wish page = wish_of(w, a, 1, "a2"), child;
    page.edge = STORE_PAGE;
    int64_t a2 = put_wish(w, &page).run;
    child = wish_of(w, a2, 1, "child");
    child.context = "branch";
    put_wish(w, &child);
    claim(w);
    const struct store_claimed *run = &w->got[2];
    assert_int_equal(w->count, 3);
    assert_int_equal(run->token, 1);
    assert_int_equal(run->depth, 2);
    assert_int_equal(run->reach, 2);
    assert_int_equal(run->path_count, 3); /* root, a, its next page */
    assert_int_equal(run->edge, STORE_REACT);
    assert_int_equal(run->host, w->host);
    assert_int_equal(run->scope, w->scope.key);
    assert_memory_equal(run->digest, child.digest, STORE_DIGEST);
    assert_memory_equal(&run->parent_id, &w->got[1].run_id, sizeof run->parent_id);
    assert_true(w->got[0].line);
    commit(w);
    assert_string_equal(ask(w, "SELECT r.url, a.depth, l.hops FROM lineage l JOIN runs r USING (run_id) JOIN runs a ON "
                               "a.run_id = l.ancestor_id "
                               "WHERE r.url IS NOT NULL ORDER BY r.url, l.hops"),
                        "a|1|0\na|0|1\na2|1|0\na2|1|1\na2|0|2\nchild|2|0\nchild|1|1\nchild|1|2\nchild|0|3\n");
    assert_string_equal(ask(w, "SELECT p.url, c.url, e.kind FROM edges e JOIN runs p ON p.run_id = e.parent_id JOIN "
                               "runs c ON c.run_id = e.child_id ORDER BY 2"),
                        "|a|spawn\na|a2|page\na2|child|react\n");
    assert_string_equal(ask(w, "SELECT collector, collector_version, target, status, attempts, result_context_name "
                               "FROM runs WHERE url = 'child'"),
                        "http|1.0|water|leased|0|branch\n");
}

static void test_fencing(void **state) {
    struct world *w = *state;
    begin(w);
    int64_t a = put_line(w, "a");
    claim(w);
    OK(store_retry(w->s, a, 1, 0, false, "connect"));
    assert_int_equal(store_retry(w->s, a, 1, 0, false, "connect"), TL_NOTFOUND);
    assert_int_equal(end(w, a, 1, STORE_SUCCESS, NULL), TL_NOTFOUND);
    claim(w);
    assert_int_equal(w->got[0].token, 2);
    assert_int_equal(w->got[0].attempts, 1);
    assert_int_equal(end(w, a, 1, STORE_SUCCESS, NULL), TL_NOTFOUND); /* the claim before this one */
    assert_int_equal(end(w, a, 2, STORE_CRASHED, NULL), TL_OK);
    assert_int_equal(end(w, a, 2, STORE_SUCCESS, NULL), TL_NOTFOUND);
    assert_int_equal(end(w, 4711, 1, STORE_SUCCESS, NULL), TL_NOTFOUND);
    commit(w);
    assert_string_equal(ask(w, "SELECT status, attempts, seconds, http_status, bytes FROM runs WHERE url = 'a'"),
                        "crashed|2|1.5|200|100\n");
    assert_string_equal(ask(w, "SELECT runs, failed, bytes, queued, leased FROM crawls"), "2|1|100|0|1\n");
}

static bool not_dead(void *ctx, const char *owner) {
    (void)ctx;
    return strcmp(owner, "dead") != 0;
}
static int no_event(void *ctx, const struct store_event *e, const struct store_claimed *run, const char *path) {
    (void)run;
    (void)path;
    *(struct store_event *)ctx = *e;
    return 0;
}

static void test_recover(void **state) {
    struct world *w = *state;
    int64_t count, queued, leased;
    struct store_event event = {0};
    begin(w);
    int64_t a = put_line(w, "a");
    put_line(w, "b");
    put_line(w, "c");
    assert_string_equal(claim_as(w, "dead", 1, NULL, 0, NULL), "a ");
    assert_string_equal(claim_as(w, "alive", 1, NULL, 0, NULL), "b ");
    OK(store_event_put(w->s, w->crawl.root, a, w->git, span_of("{}"), STORE_EVENT_REACT));
    OK(store_event_claim(w->s, w->crawl.root, "dead", 9, no_event, &event));
    OK(store_beat(w->s, "me", 60000000)); /* who has the root */
    OK(store_recover(w->s, w->crawl.root, not_dead, NULL, &count));
    assert_int_equal(count, 1);
    OK(store_open_runs(w->s, w->crawl.root, &queued, &leased));
    assert_int_equal(queued, 2);
    assert_int_equal(leased, 2); /* the root, b */
    assert_string_equal(claim(w), "a c ");
    assert_int_equal(w->got[0].token, 2);
    assert_int_equal(w->got[0].attempts, 0);
    event.key = 0;
    OK(store_event_claim(w->s, w->crawl.root, "me", 9, no_event, &event));
    assert_int_not_equal(event.key, 0);
    /* a lease that ran out, whoever says that it lives */
    struct store_claim spec = {.root = w->crawl.root,
                               .owner = "late",
                               .lease_us = -1000000,
                               .open_reach = INT64_MAX,
                               .max = 9,
                               .take = take_all,
                               .ctx = w};
    size_t taken;
    put_line(w, "d");
    OK(store_claim(w->s, &spec, &taken, &queued, &why));
    assert_int_equal(taken, 1);
    OK(store_recover(w->s, w->crawl.root, not_dead, NULL, &count));
    assert_int_equal(count, 1);
    commit(w);
    assert_string_equal(ask(w, "SELECT count(*) FROM lineage WHERE hops = 1"), "4\n"); /* claimed twice, written once */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_put_known),
        TEST(test_put_again),
        TEST(test_leash_order),
        TEST(test_bytes_and_chain),
        TEST(test_fanout),
        TEST(test_move_across_leashes),
        TEST(test_depth_does_not_race),
        TEST(test_open_reach_of_the_caller),
        TEST(test_blocked_hosts),
        TEST(test_claimed_run),
        TEST(test_fencing),
        TEST(test_recover),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
