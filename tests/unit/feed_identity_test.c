/* feed_identity_test.c - by what entries are known: nothing lost, nothing doubled, whatever a feed does to its guids.
 */
#include "net/feed_identity.h"

#include "cases.h"

#define RSS     "<rss version='2.0'><channel><title>T</title>"
#define RSS_END "</channel></rss>"

static struct arena arena;
static int clear(void **state) {
    (void)state;
    arena_free(&arena);
    return 0;
}

/* The text of each entry's identity; of a digest only what stands before it. One that is doubled has a star. */
static void identities_are(const char *body, size_t n, const char *const *want) {
    struct feed f;
    assert_int_equal(feed_parse(&arena, span_of(body), "http://h.example/feed", NULL, &f), TL_OK);
    assert_int_equal(f.entry_count, n);
    struct feed_identity *id = feed_identities(&arena, &f);
    assert_non_null(id);
    for (size_t i = 0; i < n; i++) {
        AUTO_BUF struct buf got = BUF_INIT;
        bool digest = id[i].rung >= FEED_BY_TITLE_AND_DATE;
        buf_text(&got, id[i].doubled ? "*" : "");
        buf_add(&got, id[i].text.ptr, digest ? strcspn(id[i].text.ptr, ":") + 1 : id[i].text.len);
        assert_string_equal(got.data, want[i]);
        for (size_t k = 0; k < i; k++) /* equal only where the document says the very same */
            assert_int_equal(spans_equal(id[i].text, id[k].text), id[i].doubled && strcmp(want[k], want[i] + 1) == 0);
    }
}

static void the_first_rung_that_is_there(void **state) {
    static const char *const want[] = {"guid:g1", "link:http://h.example/2", "title:", "content:", "content:"};
    (void)state;
    identities_are(RSS "<item><guid isPermaLink='false'>g1</guid><link>/1</link></item>"
                       "<item><link>/2</link><title>two</title></item>"
                       "<item><title>three</title><pubDate>Tue, 09 Jun 2026 10:00:00 GMT</pubDate></item>"
                       "<item><title>four</title></item>"
                       "<item><description>five</description></item>" RSS_END,
                   5, want);
}

/* One guid for all of ten articles: in a reader that believes it nine are lost. */
static void one_guid_for_all(void **state) {
    static const char *const want[] = {"link:http://h.example/1", "link:http://h.example/2", "link:http://h.example/3"};
    (void)state;
    identities_are(RSS "<item><guid isPermaLink='false'>x</guid><link>/1</link></item>"
                       "<item><guid isPermaLink='false'>x</guid><link>/2</link></item>"
                       "<item><guid isPermaLink='false'>other</guid><link>/3</link></item>" RSS_END,
                   3, want);
}

/* No guid, one link, one date to the second: only the titles differ. */
static void one_link_and_date_for_all(void **state) {
    static const char *const want[] = {"title:", "title:", "content:", "content:"};
    (void)state;
    identities_are(RSS "<item><title>a</title><link>/x</link><pubDate>Tue, 09 Jun 2026 10:00:00 GMT</pubDate></item>"
                       "<item><title>b</title><link>/x</link><pubDate>Tue, 09 Jun 2026 10:00:00 GMT</pubDate></item>"
                       "<item><description>c</description><link>/x</link></item>"
                       "<item><description>d</description><link>/x</link></item>" RSS_END,
                   4, want);
}

/* The same entry twice does not make its guid worth less. */
static void said_twice(void **state) {
    static const char *const want[] = {"guid:a", "*guid:a", "guid:b"};
    (void)state;
    identities_are(RSS "<item><guid>a</guid><title>t</title></item><item><guid>a</guid><title>t</title></item>"
                       "<item><guid>b</guid><title>t</title></item>" RSS_END,
                   3, want);
}

/* A guid with a headline in it, or one of 2 KiB, is still one; the long one is a digest. */
static void long_guids(void **state) {
    AUTO_BUF struct buf body = BUF_INIT;
    struct feed f;
    (void)state;
    buf_text(&body, RSS "<item><guid isPermaLink='false'>");
    for (int i = 0; i < 2048; i++)
        buf_char(&body, 'g');
    buf_text(&body, "</guid></item>" RSS_END);
    assert_int_equal(feed_parse(&arena, buf_span(&body), NULL, NULL, &f), TL_OK);
    struct feed_identity *id = feed_identities(&arena, &f);
    assert_non_null(id);
    assert_int_equal(id[0].rung, FEED_BY_GUID);
    assert_int_equal(id[0].text.len, strlen("guid:") + 64);
}

static void empty_feed(void **state) {
    struct feed f;
    (void)state;
    assert_int_equal(feed_parse(&arena, span_of(RSS RSS_END), NULL, NULL, &f), TL_OK);
    assert_int_equal(f.entry_count, 0);
    assert_non_null(feed_identities(&arena, &f));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_first_rung_that_is_there, clear),
        cmocka_unit_test_teardown(one_guid_for_all, clear),
        cmocka_unit_test_teardown(one_link_and_date_for_all, clear),
        cmocka_unit_test_teardown(said_twice, clear),
        cmocka_unit_test_teardown(long_guids, clear),
        cmocka_unit_test_teardown(empty_feed, clear),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("feed_identity", tests, NULL, NULL);
}
