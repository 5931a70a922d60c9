/* store_links_test.c - links of entities: which are the latest, whatever comes when; which document speaks of an
 * entity; what a crawl has not seen; and that a package gives them back. */
#include "store_world.h"

#include "store/package.h"

#define L(urn, name, href, type)                                                                                       \
    { urn, name, href, type, 0 }

/* A run that ended with a document at this time, and what it says. */
static int64_t said(struct world *w, const char *url, const struct store_link *l, size_t n, int64_t at_us) {
    struct uuid id;
    struct store_document d = document_of(&id);
    begin(w);
    put_line(w, url);
    claim(w);
    assert_int_equal(w->count, 1);
    int64_t run = w->got[0].key;
    d.collected_us = at_us;
    assert_int_equal(end(w, run, w->got[0].token, STORE_SUCCESS, &d), TL_OK);
    OK(store_links_put(w->s, run, l, n, at_us));
    commit(w);
    return run;
}
#define SAID(w, url, at, ...)                                                                                          \
    said(w, url, (const struct store_link[]){__VA_ARGS__},                                                             \
         sizeof((const struct store_link[]){__VA_ARGS__}) / sizeof(struct store_link), at)

static const char *latest(struct world *w) {
    return ask(w, "SELECT urn, name, href FROM links WHERE is_latest ORDER BY urn, name, href");
}

static void newest_wins(void **state) {
    struct world *w = *state;
    SAID(w, "http://a/1", 2000, L("urn:a:1", "self", "urn:a:1", "resource"), L("urn:a:1", "x", "urn:b:1", "resource"),
         L("urn:a:2", "self", "urn:a:2", "resource"));
    assert_string_equal(latest(w), "urn:a:1|self|urn:a:1\nurn:a:1|x|urn:b:1\nurn:a:2|self|urn:a:2\n");
    int64_t newer = SAID(w, "http://a/2", 3000, L("urn:a:1", "self", "urn:a:1", "resource"));
    assert_string_equal(latest(w), "urn:a:1|self|urn:a:1\nurn:a:2|self|urn:a:2\n");
    SAID(w, "http://a/3", 1000, L("urn:a:1", "self", "urn:a:1", "resource"),
         L("urn:a:1", "old", "urn:b:9", "resource"));
    assert_string_equal(latest(w), "urn:a:1|self|urn:a:1\nurn:a:2|self|urn:a:2\n"); /* an older one that comes late */
    assert_string_equal(ask(w, "SELECT count(*) FROM links WHERE urn = 'urn:a:1'"), "5\n");
    begin(w); /* the same run, ended again */
    const struct store_link again[] = {L("urn:a:1", "self", "urn:a:1", "resource"),
                                       L("urn:a:1", "y", "urn:b:2", "resource")};
    OK(store_links_put(w->s, newer, again, 2, 3000));
    commit(w);
    assert_string_equal(latest(w), "urn:a:1|self|urn:a:1\nurn:a:1|y|urn:b:2\nurn:a:2|self|urn:a:2\n");
}

#define PAGE(n, set, ...)                                                                                              \
    L("urn:t:9:m:page:" #n, "self", "urn:t:9:m:page:" #n, "resource"),                                                 \
        L("urn:t:9:m:page:" #n, "siblings", "urn:t:9:m:pages", "collection"),                                          \
        L("urn:t:9:m:page:" #n, "unique", "urn:t:9:m:pages:" set, "collection"),                                       \
        L("urn:t:9:m:page:" #n, "resources", "urn:u:" #n set, "resource")
#define LAST(n) L("urn:t:9:m:page:" #n, "last", "", "")

static const char *members(struct world *w) {
    return ask(w, "SELECT href FROM links WHERE is_latest AND name = 'resources' ORDER BY urn");
}

static void sets_of_pages(void **state) {
    struct world *w = *state;
    SAID(w, "http://p/1", 1000, PAGE(1, "a"));
    SAID(w, "http://p/2", 1001, PAGE(2, "a"));
    SAID(w, "http://p/10", 1002, PAGE(10, "a"), LAST(10));
    assert_string_equal(members(w), "urn:u:1a\nurn:u:10a\nurn:u:2a\n");
    SAID(w, "http://p/2b", 2000, PAGE(2, "a"), LAST(2)); /* the same set, shorter: page 10 lies behind its end */
    assert_string_equal(members(w), "urn:u:1a\nurn:u:2a\n");
    SAID(w, "http://p/1b", 3000, PAGE(1, "b")); /* another set: all of the old one is over */
    assert_string_equal(members(w), "urn:u:1b\n");
    assert_string_equal(ask(w, "SELECT count(*) FROM links WHERE name = 'last'"), "0\n"); /* the catalog's own */
}

static int two(void *ctx, const char *urn, const char *url) {
    buf_printf(ctx, "%s %s\n", urn, url);
    return 0;
}

static void which_document(void **state) {
    struct world *w = *state;
    struct store_earlier e;
    int64_t run;
    const struct store_url none = {span_of("http://a/old"), 5};
    assert_int_equal(store_entity_document(w->s, "urn:a:1", &e), TL_NOTFOUND);
    SAID(w, "http://a/1", 1000, L("urn:a:1", "self", "urn:a:1", "resource"),
         L("urn:a:1", "alias", "http://a/old", "alias"));
    run = SAID(w, "http://a/2", 2000, L("urn:a:1", "self", "urn:a:1", "resource"),
               L("urn:a:1", "url", "http://a/2", ""), L("urn:a:1", "siblings", "urn:as", "collection"));
    OK(store_entity_document(w->s, "urn:a:1", &e));
    assert_string_equal(e.url, "http://a/2");
    int64_t found;
    OK(store_result_run(w->s, e.result_id, &found));
    assert_int_equal(found, run);
    OK(store_url_document(w->s, "http://a/old", none, &e)); /* by the name that it had */
    assert_string_equal(e.url, "http://a/2");
    assert_int_equal(store_url_document(w->s, "http://a/never", none, &e), TL_NOTFOUND);
    AUTO_BUF struct buf unseen = BUF_INIT;
    OK(store_links_unseen(w->s, w->crawl.root, "urn:as", 10, two, &unseen));
    assert_int_equal(unseen.len, 0); /* this crawl's own */
    world_crawl(w, no_limit);
    OK(store_links_unseen(w->s, w->crawl.root, "urn:as", 10, two, &unseen));
    assert_string_equal(unseen.data, "urn:a:1 http://a/2\n");
}

static int each_link(void *ctx, const struct store_export_link *x) {
    buf_printf(ctx, "%s %s %s %s %lld\n", x->link.urn, x->link.name, x->link.href, x->link.type,
               (long long)x->link.deleted_us);
    return 0;
}
static int any_collector(void *ctx, int64_t key, const char *name, const char *version, const char *summary,
                         const char *sha256, int64_t first_us) {
    (void)ctx, (void)key, (void)name, (void)version, (void)summary, (void)sha256, (void)first_us;
    return 0;
}
static int any_target(void *ctx, int64_t key, const char *org, const char *project, const char *name) {
    (void)ctx, (void)key, (void)org, (void)project, (void)name;
    return 0;
}
static int any_scope(void *ctx, const struct store_scope *scope, const char *given) {
    (void)ctx, (void)scope, (void)given;
    return 0;
}
static int any_run(void *ctx, const struct store_export_run *run) {
    (void)ctx, (void)run;
    return 0;
}

static void handed_out(void **state) {
    struct world *w = *state;
    AUTO_BUF struct buf out = BUF_INIT;
    const struct store_exporter to = {.collector = any_collector,
                                      .target = any_target,
                                      .scope = any_scope,
                                      .run = any_run,
                                      .link = each_link,
                                      .ctx = &out};
    SAID(w, "http://a/1", 1000, {"urn:a:1", "self", "urn:a:1", "resource", 77}, LAST(1));
    OK(store_export(w->s, w->crawl.root, &to, &why));
    assert_string_equal(out.data, "urn:a:1 self urn:a:1 resource 77\nurn:t:9:m:page:1 last   0\n");
    assert_string_equal(ask(w, "SELECT deleted_at FROM links"), "1970-01-01T00:00:00.000077Z\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(newest_wins, setup, teardown),
                                       cmocka_unit_test_setup_teardown(sets_of_pages, setup, teardown),
                                       cmocka_unit_test_setup_teardown(which_document, setup, teardown),
                                       cmocka_unit_test_setup_teardown(handed_out, setup, teardown)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
