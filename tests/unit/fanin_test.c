/* fanin_test.c - weeks, run contexts and the merge, against examples that an independent program computed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "engine/sources.h"
#include "fanin/fanin.h"
#include "fanin/leg.h"

#include <cmocka.h> /* last: its macro fail() is also a field's name in trotline.h */

#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B64 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C64 "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
#define CONTEXT(id, week, since, until, more)                                                                          \
    "{\"schema_version\":\"run_context_v1\",\"run_id\":\"" id "\",\"week\":\"" week "\",\"since\":\"" since            \
    "T00:00:00Z\",\"until\":\"" until "T00:00:00Z\",\"source_config_checksum\":\"sha256:" A64                          \
    "\",\"topic_config_checksum\":\"sha256:" B64 "\",\"code_sha\":\"" C64                                              \
    "\",\"created_at\":\"2026-06-12T17:42:56Z\"" more "}"
#define OURS CONTEXT("2026-W24-1a854d408460", "2026-W24", "2026-06-08", "2026-06-15", "")
static const int64_t noon = (int64_t)1781524800 * 1000000; /* 2026-06-15T12:00:00Z */

/* ---- weeks ---- */

static int64_t day(const char *date) {
    int64_t us;
    AUTO_BUF struct buf text = BUF_INIT;
    buf_printf(&text, "%sT00:00:00Z", date);
    assert_int_equal(time_parse(buf_span(&text), &us), TL_OK);
    return us;
}

static void weeks_of_days(void **state) {
    static const char *const rows[][2] = {
        {"2020-12-27", "2020-W52"}, {"2020-12-28", "2020-W53"}, {"2021-01-03", "2020-W53"}, {"2021-01-04", "2021-W01"},
        {"2024-12-30", "2025-W01"}, {"2016-01-03", "2015-W53"}, {"2025-12-29", "2026-W01"}, {"2026-01-04", "2026-W01"},
        {"2026-12-28", "2026-W53"}, {"2027-01-01", "2026-W53"}, {"2027-01-04", "2027-W01"}, {"2032-12-31", "2032-W53"},
        {"1970-01-01", "1970-W01"}, {"1969-12-28", "1969-W52"}, {"1969-12-29", "1970-W01"}, {"2026-06-01", "2026-W23"},
    };
    char text[WEEK_TEXT];
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_string_equal(week_text(week_of(day(rows[i][0])), text), rows[i][1]);
        assert_string_equal(week_text(week_of(day(rows[i][0]) + time_seconds_us(86399)), text), rows[i][1]);
    }
}

static void windows_of_weeks(void **state) {
    static const char *const rows[][2] = {{"2020-W53", "2020-12-28"}, {"2026-W01", "2025-12-29"},
                                          {"2026-W23", "2026-06-01"}, {"2026-W53", "2026-12-28"},
                                          {"2032-W53", "2032-12-27"}, {"2025-W01", "2024-12-30"}};
    static const char *const bad[] = {"2025-W53", "2027-W53",  "2026-W00",  "2026-W54", "2026-W3",  "2026W23",
                                      "2026-w23", " 2026-W23", "2026-W023", "",         "0000-W01", "2026-W5 "};
    struct week w;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(week_parse(span_of(rows[i][0]), &w), TL_OK);
        assert_int_equal(week_start(w), day(rows[i][1]));
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(week_parse(span_of(bad[i]), &w), TL_INVALID);
    int long_years = 0; /* of 400 years 71 have 53 weeks */
    for (int year = 1900; year < 2300; year++) {
        char text[WEEK_TEXT];
        snprintf(text, sizeof text, "%04d-W53", year);
        long_years += week_parse(span_of(text), &w) == TL_OK;
    }
    assert_int_equal(long_years, 71);
}

/* ---- contexts ---- */

static void contexts(void **state) {
    static const struct {
        const char *text;
        int rc;
    } rows[] = {
        {OURS, TL_OK},
        {CONTEXT("2026-W23-cde21897114f", "2026-W23", "2026-06-01", "2026-06-08", ""), TL_OK},
        {CONTEXT("2026-W53-f462b2223b05", "2026-W53", "2026-12-28", "2027-01-04", ""), TL_OK},
        {CONTEXT("2026-W24-25706c1fe513", "2026-W24", "2026-06-08", "2026-06-15", ""), TL_INVALID}, /* prefix hashed */
        {CONTEXT("2026-W24-1a854d408460", "2026-W24", "2026-06-01", "2026-06-08", ""), TL_INVALID},
        {CONTEXT("2026-W24-1a854d408460", "2026-W24", "2026-06-08", "2026-06-16", ""), TL_INVALID},
        {CONTEXT("2026-W24-1a854d408460", "2026-W24", "2026-06-05", "2026-06-12", ""), TL_INVALID},
        {CONTEXT("2026-W24-1a854d408460", "2026-W24", "2026-06-05", "2026-06-12", ",\"window\":\"rolling\""), TL_OK},
        {CONTEXT("2026-W24-1a854d408460", "2026-W24", "2026-06-05", "2026-06-05", ",\"window\":\"rolling\""),
         TL_INVALID},
        {CONTEXT("2026-W24-1a854d408460", "2026-W24", "2026-06-08", "2026-06-15", ",\"week\":\"2026-W24\""),
         TL_INVALID},
        {"{}", TL_INVALID},
        {"[]", TL_INVALID},
        {"", TL_INVALID},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct context c;
        struct fail why = FAIL_INIT;
        assert_int_equal(context_read("x.json", span_of(rows[i].text), &c, &why), rows[i].rc);
        if (rows[i].rc)
            assert_int_equal(why.exit_code, EXIT_CONFIG);
        context_free(&c);
    }
}

/* What is written is what is read; sums from sha256sum. */
static void written_context(void **state) {
    struct sha256 source = hash_sha256("sources: []\n", 12), topic = hash_sha256("topic: x\n", 9);
    struct context_file code[2] = {{"b.c", hash_sha256("int b;\n", 7)}, {"a.c", hash_sha256("int a;\n", 7)}};
    struct context_file turned[2] = {code[1], code[0]};
    struct sha256 both = context_code(code, 2), again = context_code(turned, 2), one = context_code(turned, 1);
    char hex[SHA256_HEX];
    (void)state;
    assert_memory_equal(both.byte, again.byte, SHA256_BYTES);
    assert_memory_equal(one.byte, turned[0].digest.byte, SHA256_BYTES);
    assert_string_equal(hash_hex(both.byte, SHA256_BYTES, hex),
                        "b20a99423a36452ad0bee1ab99a509ec478fe4e97265ae663c9f9f58a0257b65");
    AUTO_BUF struct buf text = BUF_INIT;
    context_write(&text, (struct week){2026, 53}, &source, &topic, &both, noon);
    struct context c;
    struct fail why = FAIL_INIT;
    assert_int_equal(context_read("x", buf_span(&text), &c, &why), TL_OK);
    assert_string_equal(c.run_id, "2026-W53-3c5e90538db8");
    assert_int_equal(c.until_us, day("2027-01-04"));
    context_free(&c);
}

/* ---- legs ---- */

static void article(struct buf *out, const char *source, const char *url, const char *title, const char *published,
                    const char *score) {
    buf_printf(out,
               "%s{\"entities\":[],\"github_urls\":[],\"published\":\"%s\",\"relevance_score\":%s,\"source\":\"%s\","
               "\"title\":\"%s\",\"url\":\"%s\"}",
               out->len ? "," : "", published, score, source, title, url);
}

/* The checksum is that of the entries as they stand, so they must be sorted. */
static void leg_text(struct buf *out, const char *source, const char *articles, const char *status, const char *error) {
    AUTO_BUF struct buf array = BUF_INIT;
    char hex[SHA256_HEX];
    buf_printf(&array, "[%s]", articles);
    AUTO_BUF struct buf canonical = BUF_INIT;
    assert_int_equal(json_python(buf_span(&array), &canonical), TL_OK);
    struct sha256 digest = hash_sha256(canonical.data, canonical.len);
    buf_printf(out,
               "{\"status\":\"%s\",\"error\":%s,\"source_id\":\"%s\",\"schema_version\":2,\"articles\":%s,"
               "\"run_context\":" OURS ",\"checksum\":\"sha256:%s\"}",
               status, error, source, array.data, hash_hex(digest.byte, SHA256_BYTES, hex));
}

struct merge {
    struct context context;
    struct fanin_member source[8], shard[4];
    struct fanin_plan plan;
    char *text[16];
    size_t count;
    struct fanin *fanin;
};

static void begin(struct merge *m, const char *sources, const char *shards) {
    struct fail why = FAIL_INIT;
    memset(m, 0, sizeof *m);
    assert_int_equal(context_read("ours", span_of(OURS), &m->context, &why), TL_OK);
    m->plan = (struct fanin_plan){m->source, m->shard, 0, 0};
    for (; *sources; sources++) /* "ab": optional sources a and b; "A" is required a */
        m->source[m->plan.source_count++] = (struct fanin_member){
            (const char *const[]){"a", "b", "c", "d", "e"}[(*sources | 32) - 'a'], *sources < 'a'};
    for (; *shards; shards++)
        m->shard[m->plan.shard_count++] = (struct fanin_member){*shards == '1' ? "one" : "two", *shards == '1'};
}

static void give(struct merge *m, const char *text) {
    m->text[m->count++] = mem_text(text);
}

static void give_leg(struct merge *m, const char *source, const char *articles, const char *status, const char *error) {
    AUTO_BUF struct buf text = BUF_INIT;
    leg_text(&text, source, articles, status, error);
    give(m, text.data);
}

static void give_one(struct merge *m, const char *source) {
    AUTO_BUF struct buf url = BUF_INIT, text = BUF_INIT;
    buf_printf(&url, "https://%s.example/1", source);
    article(&text, source, url.data, source, "2026-06-09T00:00:00Z", "0.5");
    give_leg(m, source, text.data, "success", "null");
}

/* From the artifact `first` on. */
static bool merge_from(struct merge *m, size_t first) {
    fanin_free(m->fanin);
    m->fanin = fanin_new(&m->context, &m->plan);
    for (size_t i = 0; i < m->count; i++)
        fanin_add(m->fanin, "leg.json", span_of(m->text[(first + i) % m->count]));
    return fanin_merge(m->fanin, noon);
}

static void end(struct merge *m) {
    fanin_free(m->fanin);
    for (size_t i = 0; i < m->count; i++)
        free(m->text[i]);
    context_free(&m->context);
}

static void assert_member(struct tl_span document, const char *pointer, const char *want) {
    struct tl_json value;
    if (json_find(document, pointer, &value))
        fail_msg("no %s in %.*s", pointer, (int)document.len, document.ptr);
    if (value.raw.len != strlen(want) || memcmp(value.raw.ptr, want, value.raw.len) != 0)
        fail_msg("%s: %.*s, not %s", pointer, (int)value.raw.len, value.raw.ptr, want);
}

static void assert_warning(const struct merge *m, const char *prefix) {
    const char *const *text;
    size_t n = fanin_warnings(m->fanin, &text);
    for (size_t i = 0; i < n; i++)
        if (strncmp(text[i], prefix, strlen(prefix)) == 0)
            return;
    fail_msg("no warning that begins with %s", prefix);
}

static void assert_closed(struct merge *m, const char *reason) {
    assert_false(merge_from(m, 0));
    assert_int_equal(fanin_news(m->fanin).len + fanin_github(m->fanin).len, 0);
    if (!memmem(fanin_diagnostics(m->fanin).ptr, fanin_diagnostics(m->fanin).len, reason, strlen(reason)))
        fail_msg("the diagnostics do not say: %s", reason);
    assert_int_equal(json_valid(fanin_diagnostics(m->fanin), NULL), TL_OK);
}

/* ---- the examples ---- */

static void give_third(struct merge *m, const char *c_status) {
    AUTO_BUF struct buf a = BUF_INIT, b = BUF_INIT, c = BUF_INIT;
    article(&a, "a", "https://a.example/1", "a1", "2026-06-02T00:00:00Z", "1.0");
    article(&b, "b", "https://b.example/1", "b1", "2026-06-02T00:00:00Z", "0.0");
    article(&c, "c", "https://c.example/1", "c1", "2026-06-02T00:00:00Z", "0.0000001");
    give_leg(m, "a", a.data, "success", "null");
    give_leg(m, "b", b.data, "success", "null");
    if (strcmp(c_status, "failed") == 0)
        give_leg(m, "c", "", "failed", "\"timeout\"");
    else
        give_leg(m, "c", c.data, c_status, "null");
    give_leg(m, "d", "", "failed", "\"timeout\"");
    give_leg(m, "e", "", "failed", "{\"message\":\"http 503\",\"class\":\"http\"}");
}

static void three_of_five(void **state) {
    static const char want[] =
        "{\"articles\":["
        "{\"entities\":[],\"github_urls\":[],\"published\":\"2026-06-02T00:00:00Z\",\"relevance_score\":1.0,\"source\":"
        "\"a\",\"title\":\"a1\",\"url\":\"https://a.example/1\"},"
        "{\"entities\":[],\"github_urls\":[],\"published\":\"2026-06-02T00:00:00Z\",\"relevance_score\":0.0,\"source\":"
        "\"b\",\"title\":\"b1\",\"url\":\"https://b.example/1\"},"
        "{\"entities\":[],\"github_urls\":[],\"published\":\"2026-06-02T00:00:00Z\",\"relevance_score\":1e-07,"
        "\"source\":\"c\",\"title\":\"c1\",\"url\":\"https://c.example/1\"}],"
        "\"checksum\":\"sha256:ccaa1fd945c5fd9fa51d455a29760599ba76b54aa930e3be2ae6004f2ed878be\","
        "\"checksum_form\":\"pyjson-v1\",\"merged_at\":\"2026-06-15T12:00:00Z\",\"metrics\":{\"dedupe_count\":0,"
        "\"sources_failed\":2,\"sources_succeeded\":3,\"total_articles\":3,\"total_relevant\":1},\"run_context\":";
    static const char tail[] =
        ",\"schema_version\":2,\"sources\":{\"a\":{\"articles_count\":1,\"status\":\"success\"},"
        "\"b\":{\"articles_count\":1,\"status\":\"success\"},\"c\":{\"articles_count\":1,\"status\":\"partial\"},"
        "\"d\":{\"error\":\"timeout\",\"status\":\"failed\"},\"e\":{\"error\":\"http 503\",\"status\":\"failed\"}},"
        "\"warnings\":[\"c: partial (1 of 1 entries)\",\"d: timeout\",\"e: http 503\"]}";
    struct merge m;
    AUTO_BUF struct buf whole = BUF_INIT, canonical = BUF_INIT;
    (void)state;
    begin(&m, "abcde", "");
    give_third(&m, "partial");
    buf_text(&whole, want);
    buf_add(&whole, m.context.json.ptr, m.context.json.len);
    buf_text(&whole, tail);
    for (size_t first = 0; first < m.count; first++) {
        assert_true(merge_from(&m, first));
        assert_int_equal(fanin_news(m.fanin).len, whole.len);
        assert_memory_equal(fanin_news(m.fanin).ptr, whole.data, whole.len);
    }
    assert_int_equal(json_python(fanin_news(m.fanin), &canonical), TL_OK); /* it is its own canonical form */
    assert_string_equal(canonical.data, whole.data);
    buf_reset(&canonical);
    assert_int_equal(json_python(fanin_github(m.fanin), &canonical), TL_OK);
    assert_int_equal(canonical.len, fanin_github(m.fanin).len);
    end(&m);
    begin(&m, "abcde", "");
    give_third(&m, "failed");
    assert_closed(&m, "2 of 5 sources succeeded, at least 3 are needed");
    end(&m);
}

/* One page found by two sources: the first in the plan has it. */
static void shared_page(void **state) {
    AUTO_BUF struct buf t = BUF_INIT, n = BUF_INIT;
    struct merge m;
    (void)state;
    article(&t, "a", "https://Shared.example/x?utm=1", "Same", "2026-06-03T10:00:00Z", "0.4");
    article(&t, "a", "https://tc.example/a", "Caf\xC3\xA9 \xE2\x98\x95", "2026-06-02T10:00:00Z", "0.85");
    article(&n, "b", "https://shared.example/x", "Same", "2026-06-03T09:00:00Z", "0.9");
    for (int turn = 0; turn < 2; turn++) {
        begin(&m, turn ? "ba" : "ab", "");
        give_leg(&m, "a", t.data, "success", "null");
        give_leg(&m, "b", n.data, "success", "null");
        assert_true(merge_from(&m, 0));
        assert_member(fanin_news(m.fanin), "/sources/a/articles_count", turn ? "1" : "2");
        assert_member(fanin_news(m.fanin), "/sources/b/articles_count", turn ? "1" : "0");
        assert_member(fanin_news(m.fanin), "/metrics/dedupe_count", "1");
        assert_member(fanin_news(m.fanin), "/articles/0/relevance_score", turn ? "0.85" : "0.4");
        end(&m);
    }
}

static void url_keys(void **state) {
    static const char *const rows[][2] = {
        {"https://Ex.example/A?x=1", "https://ex.example/A"},
        {"https://ex.example/A#f", "https://ex.example/A"},
        {"https://ex.example:443/A", "https://ex.example/A"},
        {"https://ex.example:8443/A", "https://ex.example:8443/A"},
        {"https://u:P@ex.example/A", "https://ex.example/A"},
        {"https://ex.example", "https://ex.example/"},
        {"https://ex.example?x", "https://ex.example/"},
        {"HTTPS://ex.example/A/", "https://ex.example/A/"},
        {"https://ex.example/a;v=1", "https://ex.example/a;v=1"},
        {"https://ex.example/%7Eu", "https://ex.example/%7Eu"},
        {"https://ex.example/a/../b", "https://ex.example/a/../b"},
        {"https://b\xC3\xBC"
         "cher.example/\xC3\xA9",
         "https://xn--bcher-kva.example/\xC3\xA9"},
        {"  https://ex.example/A  ", "https://ex.example/A"},
        {"", NULL},
        {"/relative", NULL},
        {"mailto:a@b.example", NULL},
        {"ftp://ex.example/a", NULL},
        {"https:ex.example/a", NULL},
        {"https://", NULL},
        {"https://ex ample/", NULL},
    };
    AUTO_BUF struct buf out = BUF_INIT;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        buf_reset(&out);
        assert_int_equal(leg_url_key(span_of(rows[i][0]), &out), rows[i][1] ? TL_OK : TL_INVALID);
        if (rows[i][1])
            assert_string_equal(out.data, rows[i][1]);
    }
}

static void lost_articles_are_told(void **state) {
    AUTO_BUF struct buf a = BUF_INIT;
    struct merge m;
    (void)state;
    article(&a, "a", "", "no url", "2026-06-03T10:00:00Z", "0.4");
    article(&a, "a", "https://a.example/?p=1", "one", "2026-06-03T10:00:00Z", "0.4");
    article(&a, "a", "https://a.example/?p=2", "two", "2026-06-03T10:00:00Z", "0.4");
    begin(&m, "a", "");
    give_leg(&m, "a", a.data, "success", "null");
    assert_true(merge_from(&m, 0));
    assert_member(fanin_news(m.fanin), "/metrics/total_articles", "2");
    assert_warning(&m, "a: 2 articles share URL path https://a.example/");
    assert_warning(&m, "a: 1 articles without an http URL");
    end(&m);
}

/* ---- who is refused ---- */

static void refused_legs(void **state) {
    static const struct {
        const char *from, *to, *warning;
    } rows[] = {
        {"\"schema_version\":2", "\"schema_version\":1", "e: schema_version mismatch (expected 2, got 1)"},
        {"\"schema_version\":2", "\"schema_version\":2.0", "e: schema_version mismatch"},
        {"\"schema_version\":2,", "", "e: schema_version mismatch (expected 2, got none)"},
        {"run_context_v1", "run_context_v2", "e: schema_version mismatch"},
        {"\"week\":\"2026-W24\"", "\"week\":\"2026-W23\"",
         "e: window mismatch (week: expected 2026-W24, got 2026-W23)"},
        {"\"week\":\"2026-W24\",", "", "e: window mismatch"},
        {"06-15T00", "06-16T00", "e: window mismatch (until"},
        {"06-08T00", "06-08T01", "e: window mismatch (since"},
        {A64, B64, "e: source_config_checksum mismatch"},
        {B64, A64, "e: topic_config_checksum mismatch"},
        {"\"title\":\"e\"", "\"title\":\"f\"", "e: checksum mismatch"},
        {"\"checksum\":", "\"check_sum\":", "e: checksum mismatch (it gives none)"},
        {"\"status\":\"success\"", "\"status\":\"failed\"", "e: it says that it failed, but carries articles"},
        {"\"status\":\"success\"", "\"status\":\"mostly\"", "e: status 'mostly'"},
        {"\"articles\":[", "\"articles\":[],\"others\":[", "e: checksum mismatch"},
        {"\"source_id\"", "\"source\"", "e: artifact not found"},
        {"\"title\":\"e\"", "\"title\":\"\\ud800\"", "e: artifact not found"},
        {"\"title\":\"e\"", "\"title\":\"e\",\"title\":\"e\"", "e: artifact not found"},
        {":0.5", ":1e999", "e: artifact not found"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct merge m;
        AUTO_BUF struct buf text = BUF_INIT;
        begin(&m, "abcde", "");
        for (const char *const *s = (const char *const[]){"a", "b", "c", "d", "e", NULL}; *s; s++)
            give_one(&m, *s);
        char *leg = m.text[4], *at = strstr(leg, rows[i].from);
        assert_non_null(at);
        buf_add(&text, leg, (size_t)(at - leg));
        buf_text(&text, rows[i].to);
        buf_text(&text, at + strlen(rows[i].from));
        free(leg);
        m.text[4] = buf_steal(&text);
        assert_true(merge_from(&m, 0));
        assert_warning(&m, rows[i].warning);
        assert_member(fanin_news(m.fanin), "/sources/e/status", "\"failed\"");
        assert_member(fanin_news(m.fanin), "/metrics/total_articles", "4");
        end(&m);
    }
}

static void closed_merges(void **state) {
    struct merge m;
    (void)state;
    begin(&m, "aB", ""); /* a required source that is not there */
    give_one(&m, "a");
    assert_closed(&m, "required source b: artifact not found");
    end(&m);
    begin(&m, "ab", ""); /* two legs of one source */
    give_one(&m, "a");
    give_one(&m, "a");
    give_one(&m, "b");
    assert_closed(&m, "a: more than one artifact for this source");
    end(&m);
    begin(&m, "a", "1"); /* a required shard that is not there, or of another version */
    give_one(&m, "a");
    assert_closed(&m, "required shard one: artifact not found");
    give(&m, "{\"shard_id\":\"one\",\"schema_version\":\"github_shard_v2\",\"repositories\":[]}");
    assert_closed(&m, "required shard one: schema_version mismatch");
    end(&m);
    begin(&m, "ab", ""); /* nothing at all */
    assert_closed(&m, "0 of 2 sources");
    end(&m);
    begin(&m, "a", ""); /* partial, and nothing in it */
    give_leg(&m, "a", "", "partial", "null");
    assert_closed(&m, "0 of 1 sources");
    end(&m);
}

static void minimum(void **state) {
    static const size_t needed[] = {1, 2, 2, 3, 3};
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    (void)state;
    for (size_t n = 1; n <= 5; n++)
        for (size_t good = 0; good <= n; good++) {
            struct merge m;
            char sources[6] = "abcde";
            sources[n] = '\0';
            begin(&m, sources, "");
            for (size_t i = 0; i < good; i++)
                give_one(&m, names[i]);
            assert_int_equal(merge_from(&m, 0), good >= needed[n - 1]);
            end(&m);
        }
}

/* ---- repositories ---- */

static void give_shard(struct merge *m, const char *id, const char *repositories) {
    AUTO_BUF struct buf array = BUF_INIT, canonical = BUF_INIT, text = BUF_INIT;
    char hex[SHA256_HEX];
    buf_printf(&array, "[%s]", repositories);
    assert_int_equal(json_python(buf_span(&array), &canonical), TL_OK);
    struct sha256 digest = hash_sha256(canonical.data, canonical.len);
    buf_printf(&text,
               "{\"schema_version\":\"github_shard_v1\",\"shard_id\":\"%s\",\"run_context\":" OURS
               ",\"repositories\":%s,\"checksum\":\"%s\"}",
               id, array.data, hash_hex(digest.byte, SHA256_BYTES, hex));
    give(m, text.data);
}

static void repositories(void **state) {
    struct merge m;
    (void)state;
    begin(&m, "a", "12");
    give_one(&m, "a");
    give_shard(&m, "two",
               "{\"full_name\":\"A/x\",\"stars_gained\":9,\"n\":1},{\"full_name\":\"b/x\",\"stars_gained\":5,"
               "\"n\":2},{\"full_name\":\"n/none\",\"stars_gained\":0,\"n\":3}");
    give_shard(&m, "one",
               "{\"full_name\":\"a/x\",\"stars_gained\":-3,\"n\":4},{\"full_name\":\"b/x\",\"stars_gained\":5,"
               "\"n\":5},{\"full_name\":\"n/none\",\"n\":9007199254740993}");
    for (size_t first = 0; first < m.count; first++) {
        assert_true(merge_from(&m, first));
        struct tl_span d = fanin_github(m.fanin);
        assert_member(d, "/repositories/0/full_name", "\"A/x\"");
        assert_member(d, "/repositories/1/n", "4");
        assert_member(d, "/repositories/2/n", "5"); /* equal gain: the smaller shard */
        assert_member(d, "/repositories/3/n", "3"); /* none is less than 0 */
        assert_member(d, "/shards/one/count", "2");
        assert_member(d, "/shards/two/count", "2");
        assert_member(d, "/metrics/total_repositories", "4");
        assert_warning(&m, "one: A/x and a/x differ only in their case");
    }
    end(&m);
    begin(&m, "a", "12"); /* an optional shard that is not there */
    give_one(&m, "a");
    give_shard(&m, "one", "");
    assert_true(merge_from(&m, 0));
    assert_member(fanin_github(m.fanin), "/shards/two/status", "\"missing\"");
    assert_member(fanin_github(m.fanin), "/checksum",
                  "\"sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945\"");
    assert_member(fanin_github(m.fanin), "/warnings/0", "\"two: artifact not found\"");
    end(&m);
}

/* ---- artifacts in the making ---- */

/* What a collector gives comes in any order and spelling; what comes out passes, and is the same each time. */
static void completed_artifacts(void **state) {
    static const char *const rows[][2] = {
        {"{\"source_id\":\"a\",\"status\":\"success\",\"error\":null,\"articles\":[{\"url\":\"b\",\"title\":\"2\"},{"
         "\"title\":"
         "\"1\",\"url\":\"a\",\"relevance_score\":1.50}]}",
         "/articles/0/title"},
        {" { \"articles\" : [ {\"relevance_score\":1.5,\"url\":\"a\",\"title\":\"\\u0031\"}, "
         "{\"url\":\"b\",\"title\":\"2\"} ],"
         "\"checksum\":\"mine\",\"schema_version\":9,\"run_context\":{},\"error\":null,\"status\":\"success\",\"source_"
         "id\":\"a\"}",
         "/articles/0/title"},
    };
    AUTO_BUF struct buf out = BUF_INIT, other = BUF_INIT;
    struct context c;
    struct fail why = FAIL_INIT;
    struct tl_span none = {"", 0};
    (void)state;
    assert_int_equal(context_read("ours", span_of(OURS), &c, &why), TL_OK);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf *to = i ? &other : &out;
        assert_int_equal(leg_complete(&c, span_of(rows[i][0]), none, to, &why), TL_OK);
        assert_member(buf_span(to), rows[i][1], "\"1\"");
        assert_member(buf_span(to), "/run_context/run_id", "\"2026-W24-1a854d408460\"");
    }
    assert_string_equal(out.data, other.data);
    buf_reset(&out);
    assert_int_equal(leg_complete(&c, span_of("{\"shard_id\":\"x\"}"), none, &out, &why), TL_OK);
    assert_member(buf_span(&out), "/checksum",
                  "\"sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945\"");
    buf_reset(&out);
    assert_int_equal(leg_complete(&c, span_of("{\"source_id\":\"a\",\"status\":\"failed\"}"),
                                  span_of("{\"message\":\"timeout\"}"), &out, &why),
                     TL_OK);
    assert_member(buf_span(&out), "/error/message", "\"timeout\"");
    context_free(&c);
}

static void artifacts_that_a_merge_would_reject(void **state) {
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"source_id\":\"a\"}",
        "{\"source_id\":\"a\",\"status\":\"failed\"}",
        "{\"source_id\":\"a\",\"status\":\"failed\",\"error\":\"x\",\"articles\":[{\"url\":\"u\"}]}",
        "{\"source_id\":\"a\",\"status\":\"success\",\"articles\":[{\"title\":\"no url\"}]}",
        "{\"source_id\":\"a\",\"status\":\"success\",\"articles\":[{\"url\":\"u\",\"source\":\"b\"}]}",
        "{\"shard_id\":\"a\",\"repositories\":[{\"stars\":1}]}",
        "{\"shard_id\":\"\",\"repositories\":[]}",
    };
    AUTO_BUF struct buf out = BUF_INIT;
    struct context c;
    struct fail why = FAIL_INIT;
    (void)state;
    assert_int_equal(context_read("ours", span_of(OURS), &c, &why), TL_OK);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(leg_complete(&c, span_of(bad[i]), (struct tl_span){"", 0}, &out, &why), TL_INVALID);
    context_free(&c);
}

/* ---- SOURCES.yml ---- */

static void sources_are_read(void **state) {
    struct sources s;
    struct fail why = FAIL_INIT;
    (void)state;
    assert_int_equal(sources_text("s.yml",
                                  span_of("sources: [{id: z}, {id: a, required: true}]\nshards: [{id: n}, {id: m, "
                                          "required: false}]\n"),
                                  &s, &why),
                     TL_OK);
    struct fanin_plan p = sources_plan(&s);
    assert_int_equal(p.source_count, 2);
    assert_string_equal(p.source[0].id, "z"); /* the order is the priority */
    assert_false(p.source[0].required);
    assert_true(p.source[1].required);
    assert_true(p.shard[0].required); /* shards are, where nothing is said */
    assert_false(p.shard[1].required);
    sources_free(&s);
    static const char *const bad[][2] = {
        {"", "s.yml:1:1: a file of sources"},
        {"sources: []\n", "s.yml:1:10: 'sources' wants 1 to 1000"},
        {"shards: [{id: a}]\n", "s.yml:1:1: a file of sources needs the key 'sources'"},
        {"sources: [{id: a}, {id: a}]\n", "s.yml:1:20: the id 'a' stands twice"},
        {"sources: [{id: a/b}]\n", "s.yml:1:16: 'a/b' is no id"},
        {"sources: [{required: true}]\n", "s.yml:1:11: a source needs the key 'id'"},
        {"sources: [{id: a, requred: true}]\n", "s.yml:1:19: unknown key 'requred'; did you mean 'required'?"},
        {"sources: [{id: a, required: yes}]\n", "s.yml:1:29: 'required' wants true or false"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        why = (struct fail)FAIL_INIT;
        assert_int_not_equal(sources_text("s.yml", span_of(bad[i][0]), &s, &why), TL_OK);
        assert_int_equal(why.exit_code, EXIT_CONFIG);
        if (strncmp(why.text, bad[i][1], strlen(bad[i][1])) != 0)
            fail_msg("%s, not %s", why.text, bad[i][1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weeks_of_days),
        cmocka_unit_test(windows_of_weeks),
        cmocka_unit_test(contexts),
        cmocka_unit_test(written_context),
        cmocka_unit_test(three_of_five),
        cmocka_unit_test(shared_page),
        cmocka_unit_test(url_keys),
        cmocka_unit_test(lost_articles_are_told),
        cmocka_unit_test(refused_legs),
        cmocka_unit_test(closed_merges),
        cmocka_unit_test(minimum),
        cmocka_unit_test(repositories),
        cmocka_unit_test(completed_artifacts),
        cmocka_unit_test(artifacts_that_a_merge_would_reject),
        cmocka_unit_test(sources_are_read),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("fanin", tests, NULL, NULL);
}
