/* leash_test.c - limits tighten, hosts match whether they are few or many, and the JSON form comes back as it went. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/leash.h"
#include "net/url.h"

#include <cmocka.h> /* last: its macro fail() is also a field's name in trotline.h */

static uint32_t seed = 20261130;
static uint32_t any(uint32_t below) {
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)seed * below >> 32);
}

static void says(const struct leash *l, const char *json) {
    AUTO_BUF struct buf out = BUF_INIT;
    leash_json(&out, l);
    assert_string_equal(out.data, json);
}

static bool has(const struct leash *l, const char *host, int port) {
    return leash_has_host(l, span_of(host), port);
}

static void json_is_exact(void **state) {
    (void)state;
    struct leash l;
    leash_defaults(&l);
    says(&l, "{\"depth\":3,\"fanout\":1000,\"runs\":10000,\"bytes\":10737418240,\"time\":86400,\"hosts\":null}");
    leash_init(&l);
    says(&l, "{\"depth\":999,\"fanout\":null,\"runs\":null,\"bytes\":null,\"time\":null,\"hosts\":null}");
    l.time_us = 1500000;
    assert_int_equal(leash_add_host(&l, "Example.ORG", NULL), TL_OK);
    assert_int_equal(leash_add_host(&l, "*.example.com:8443", NULL), TL_OK);
    assert_int_equal(leash_add_host(&l, "example.org", NULL), TL_OK); /* a duplicate */
    says(&l, "{\"depth\":999,\"fanout\":null,\"runs\":null,\"bytes\":null,\"time\":1.5,"
             "\"hosts\":[\"*.example.com:8443\",\"example.org\"]}");
    AUTO_BUF struct buf given = BUF_INIT;
    leash_json_given(&given, &l, LEASH_DEPTH | LEASH_TIME);
    assert_string_equal(given.data, "{\"depth\":999,\"time\":1.5}");
    leash_free(&l);
}

static void json_comes_back(void **state) {
    (void)state;
    struct leash l, back;
    for (int i = 0; i < 300; i++) {
        leash_init(&l);
        leash_defaults(&back);
        l.depth = any(1000);
        l.fanout = any(3) ? (int64_t)any(1u << 31) << 20 : INT64_MAX;
        l.runs = any(3) ? any(100) : INT64_MAX;
        l.bytes = any(3) ? (int64_t)any(1u << 31) << 31 : INT64_MAX;
        l.time_us = any(3) ? 1 + (int64_t)any(1u << 31) * 1000 : INT64_MAX;
        l.hosts_set = any(2);
        for (uint32_t n = any(4); l.hosts_set && n; n--) {
            char name[32];
            snprintf(name, sizeof name, "h%u.example.org", any(100));
            assert_int_equal(leash_add_host(&l, name, NULL), TL_OK);
        }
        AUTO_BUF struct buf out = BUF_INIT;
        leash_json(&out, &l);
        assert_int_equal(leash_from_json(&back, buf_span(&out), NULL), TL_OK);
        says(&back, out.data);
        assert_int_equal(back.time_us, l.time_us);
        leash_free(&l);
        leash_free(&back);
    }
}

static void children_are_read(void **state) {
    (void)state;
    static const struct {
        const char *json;
        int64_t depth, fanout, bytes, time_us;
    } good[] = {
        {"{}", 3, 1000, 10737418240, 86400000000},
        {"{\"depth\":2,\"fanout\":0}", 2, 0, 10737418240, 86400000000},
        {"{\"bytes\":\"64KiB\",\"time\":\"90s\"}", 3, 1000, 65536, 90000000},
        {"{\"bytes\":\"none\",\"time\":null,\"fanout\":\"none\"}", 3, INT64_MAX, INT64_MAX, INT64_MAX},
        {"{\"time\":0.000001,\"bytes\":4096}", 3, 1000, 4096, 1},
        {"{\"time\":\"1h30m\",\"depth\":999}", 999, 1000, 10737418240, 5400000000},
    };
    static const char *const bad[] = {
        "",
        "[]",
        "3",
        "{\"depth\":2",
        "{\"depth\":1000}",
        "{\"depth\":-1}",
        "{\"depth\":\"none\"}",
        "{\"depth\":null}",
        "{\"depth\":1.5}",
        "{\"depth\":\"2\"}",
        "{\"depth\":true}",
        "{\"depth\":1,\"depth\":2}",
        "{\"dpeth\":1}",
        "{\"fanout\":99999999999999999999}",
        "{\"bytes\":\"64Kib\"}",
        "{\"time\":0}",
        "{\"time\":\"90\"}",
        "{\"time\":1e3}",
        "{\"time\":99999999999999}",
        "{\"hosts\":\"*\"}",
        "{\"hosts\":[1]}",
        "{\"hosts\":[\"\"]}",
        "{\"hosts\":[\"a\\u0000.example.org\"]}",
        "{\"hosts\":[\"https://example.org/\"]}",
        "{\"hosts\":[\"a.*.org\"]}",
    };
    struct leash l;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        leash_defaults(&l);
        assert_int_equal(leash_from_json(&l, span_of(good[i].json), NULL), TL_OK);
        assert_int_equal(l.depth, good[i].depth);
        assert_int_equal(l.fanout, good[i].fanout);
        assert_int_equal(l.bytes, good[i].bytes);
        assert_int_equal(l.time_us, good[i].time_us);
        assert_false(l.hosts_set);
        leash_free(&l);
    }
    leash_defaults(&l);
    leash_add_host(&l, "example.org", NULL);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct fail why = FAIL_INIT;
        assert_int_equal(leash_from_json(&l, span_of(bad[i]), &why), TL_INVALID);
        assert_int_equal(strncmp(why.text, "leash", 5) == 0 || strncmp(why.text, "hosts", 5) == 0, 1);
        says(&l, "{\"depth\":3,\"fanout\":1000,\"runs\":10000,\"bytes\":10737418240,\"time\":86400,"
                 "\"hosts\":[\"example.org\"]}");
    }
    struct fail why = FAIL_INIT;
    leash_from_json(&l, span_of("{\"dpeth\":1}"), &why);
    assert_non_null(strstr(why.text, "did you mean 'depth'?"));
    assert_int_equal(leash_from_json(&l, span_of("{\"hosts\":[\"*\"]}"), NULL), TL_OK); /* replaced, not added */
    assert_int_equal(l.host_count, 1);
    assert_string_equal(l.host[0], "*");
    assert_int_equal(leash_from_json(&l, span_of("{\"hosts\":[]}"), NULL), TL_OK);
    assert_false(has(&l, "example.org", 443));
    leash_free(&l);
}

static void leashes_only_tighten(void **state) {
    (void)state;
    struct leash child, parent;
    leash_defaults(&parent);
    leash_init(&child);
    child.depth = 9;
    child.fanout = 5;
    leash_add_host(&parent, "example.org", NULL);
    leash_tighten(&child, &parent);
    says(&child, "{\"depth\":3,\"fanout\":5,\"runs\":10000,\"bytes\":10737418240,\"time\":86400,\"hosts\":null}");
    leash_free(&parent);
}

static void hosts_are_matched(void **state) {
    (void)state;
    struct leash l;
    leash_init(&l);
    assert_true(has(&l, "anything.example", 1));
    leash_add_host(&l, "*.example.org", NULL);
    leash_add_host(&l, "api.example.com:8443", NULL);
    leash_add_host(&l, "[::1]", NULL);
    for (int many = 0; many < 2; many++) {
        assert_true(has(&l, "example.org", 80));
        assert_true(has(&l, "EXAMPLE.org.", 80));
        assert_true(has(&l, "a.b.example.org", 443));
        assert_false(has(&l, "badexample.org", 80));
        assert_false(has(&l, "example.org.evil.example", 80));
        assert_true(has(&l, "api.example.com", 8443));
        assert_false(has(&l, "api.example.com", 443));
        assert_false(has(&l, "www.api.example.com", 8443));
        assert_true(has(&l, "[::1]", 8080));
        assert_false(has(&l, "", 80));
        for (int i = 0; i < 50; i++) { /* the second time round there are many */
            char name[32];
            snprintf(name, sizeof name, "n%d.example.net", i);
            leash_add_host(&l, name, NULL);
        }
    }
    leash_add_host(&l, "*:8080", NULL);
    assert_true(has(&l, "anything.example", 8080));
    assert_false(has(&l, "anything.example", 8081));
    struct leash copy;
    leash_copy(&copy, &l);
    leash_add_host(&copy, "*", NULL);
    assert_true(has(&copy, "anything.example", 8081));
    assert_false(has(&l, "anything.example", 8081));
    leash_free(&copy);
    leash_free(&l);
}

/* A name of few letters, so that patterns and hosts meet often. */
static void some_name(char out[64], bool pattern) {
    static const char *const labels[] = {"a", "b", "ab", "c-d"};
    size_t at = 0;
    if (pattern && any(3) == 0)
        at += (size_t)snprintf(out, 64, "*.");
    for (uint32_t n = 1 + any(3); n; n--)
        at += (size_t)snprintf(out + at, 64 - at, "%s.", labels[any(4)]);
    at += (size_t)snprintf(out + at, 64 - at, "example");
    if (pattern && any(4) == 0)
        snprintf(out + at, 64 - at, ":%u", 80 + any(3));
}

static void many_hosts_match_as_few_do(void **state) {
    (void)state;
    int in = 0, all = 0;
    for (int round = 0; round < 40; round++) {
        struct leash l;
        char name[64];
        leash_init(&l);
        for (int i = 0; i < 30; i++) {
            some_name(name, true);
            assert_int_equal(leash_add_host(&l, name, NULL), TL_OK);
        }
        for (size_t i = 1; i < l.host_count; i++)
            assert_true(strcmp(l.host[i - 1], l.host[i]) < 0);
        for (int i = 0; i < 200; i++, all++) {
            some_name(name, false);
            int port = 80 + (int)any(3);
            bool want = false;
            for (size_t k = 0; k < l.host_count; k++)
                want = want || url_host_matches(l.host[k], span_of(name), port);
            assert_int_equal(has(&l, name, port), want);
            in += want;
        }
        leash_free(&l);
    }
    assert_in_range(in, all / 5, all * 4 / 5); /* the comparison says something about both answers */
}

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_is_exact),     cmocka_unit_test(json_comes_back),
        cmocka_unit_test(children_are_read), cmocka_unit_test(leashes_only_tighten),
        cmocka_unit_test(hosts_are_matched), cmocka_unit_test(many_hosts_match_as_few_do),
    };
    return cmocka_run_group_tests_name("leash", tests, NULL, NULL);
}
