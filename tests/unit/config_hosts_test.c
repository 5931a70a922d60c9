/* config_hosts_test.c - fetch.hosts: which rule holds for a host, what it leaves open, and what is refused. */
#include "config_help.h"

#define KEY    "-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n"
#define LOCKED "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMC4=\n-----END ENCRYPTED PRIVATE KEY-----\n"
#define CERT   "-----BEGIN CERTIFICATE-----\nMC4=\n-----END CERTIFICATE-----\n"

static void load(const char *text, struct config *c) {
    struct fail why = FAIL_INIT;
    int rc = config_text("/srv/t/trotline.yml", folder, span_of(text), NULL, 0, c, &why);
    assert_string_equal(why.text, "");
    assert_int_equal(rc, TL_OK);
}

static const struct host_rule *rule_of(const struct config *c, const char *host_port) {
    return host_rule_named(&c->fetch.rules, span_of(host_port));
}

static void the_most_specific_holds(void **state) {
    static const struct {
        const char *host_port;
        int retries;
    } cases[] = {
        {"example.org:443", 2},
        {"example.org:8080", 2},
        {"www.example.org:443", 4},
        {"www.example.org:8443", 5},
        {"a.b.example.org:80", 3},
        {"x.b.example.org:80", 3},
        {"b.example.org:80", 3},
        {"badexample.org:80", 1},
        {"example.org.uk:80", 1},
        {"127.0.0.1:80", 6},
        {"127.0.0.2:80", 1},
        {"[::1]:8080", 7},
        {"[::1]:80", 1},
        {"other:9000", 1},
        {"xn--bcher-kva.example:80", 8},
        {"EXAMPLE.org.:80", 2},
    };
    struct config c;
    (void)state;
    load("fetch:\n"
         "  hosts:\n"
         "    \"*.example.org\": {retries: 2}\n"
         "    \"*.b.example.org\": {retries: 3}\n"
         "    www.example.org: {retries: 4}\n"
         "    \"www.example.org:8443\": {retries: 5}\n"
         "    127.0.0.1: {retries: 6}\n"
         "    \"[::1]:8080\": {retries: 7}\n"
         "    \"*.b\xC3\xBC"
         "cher.example\": {retries: 8}\n"
         "  retries: 1\n",
         &c);
    assert_int_equal(c.fetch.rules.count, 8);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (rule_of(&c, cases[i].host_port)->retries != cases[i].retries)
            fail_msg("%s: the rule with %d", cases[i].host_port, (int)rule_of(&c, cases[i].host_port)->retries);
    config_free(&c);
}

static void what_is_open_is_as_usual(void **state) {
    struct config c;
    (void)state;
    load("fetch: {hosts: {a.example: {delay: 2s}, b.example: {proxy: none, delay: auto, robots: false, http2: false},\n"
         "  c.example: {timeout: 1m, max_body: 1MiB, retries: 0, per_host: 9, proxy: \"socks5h://p.example:1\"}},\n"
         "  timeout: 7s, max_body: 5KiB, per_host: 2, delay: 3s, retries: 9, proxy: \"http://q.example:2\"}\n",
         &c);
    const struct host_rule *a = rule_of(&c, "a.example:80"), *b = rule_of(&c, "b.example:80");
    const struct host_rule *third = rule_of(&c, "c.example:443"), *all = rule_of(&c, "d.example:443");
    assert_null(all->pattern);
    assert_int_equal(a->delay_us, 2000000);
    assert_int_equal(a->timeout_us, 7000000);
    assert_int_equal(a->max_body, 5 << 10);
    assert_int_equal(a->per_host, 2);
    assert_int_equal(a->retries, 9);
    assert_string_equal(a->proxy, "http://q.example:2");
    assert_true(a->robots && a->http2 && a->verify);
    assert_null(b->proxy); /* asked directly */
    assert_int_equal(b->delay_us, -1);
    assert_true(!b->robots && !b->http2);
    assert_int_equal(third->timeout_us, 60000000);
    assert_int_equal(third->retries, 0);
    assert_int_equal(third->delay_us, 3000000);
    assert_string_equal(third->proxy, "socks5h://p.example:1");
    assert_int_equal(all->delay_us, 3000000);
    assert_int_equal(host_rules_most_at_once(&c.fetch.rules), 9);
    config_free(&c);
}

static void who_we_are(void **state) {
    struct config c;
    (void)state;
    write_file("own.pem", CERT, 0644);
    write_file("own.key", KEY, 0600);
    write_file("ca.pem", CERT, 0644);
    load("fetch: {ca: ca.pem, hosts: {a.example: {tls: {cert: own.pem, key: own.key}}, b.example: {tls: {verify: "
         "false}},\n"
         "  c.example: {tls: {ca: there.pem}}}}\n",
         &c);
    const struct host_rule *a = rule_of(&c, "a.example:443"), *b = rule_of(&c, "b.example:443");
    AUTO_BUF struct buf want = BUF_INIT;
    buf_printf(&want, "%s/own.key", folder);
    assert_string_equal(a->key, want.data);
    assert_non_null(strstr(a->cert, "/own.pem"));
    assert_non_null(strstr(a->ca, "/ca.pem"));
    assert_true(a->verify && !b->verify);
    assert_non_null(strstr(rule_of(&c, "c.example:443")->ca, "/there.pem"));
    assert_null(rule_of(&c, "c.example:443")->cert);
    config_free(&c);
}

static void keys_are_not_for_others(void **state) {
    static const struct {
        const char *key, *says;
        unsigned mode;
    } cases[] = {
        {KEY, "chmod 600 'own.key'", 0644},
        {CERT, "a private key in PEM form", 0600},
        {LOCKED, "is encrypted", 0600},
    };
    (void)state;
    write_file("own.pem", CERT, 0644);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        static const char text[] = "fetch: {hosts: {a.example: {tls: {cert: own.pem, key: own.key}}}}\n";
        struct config c;
        struct fail why = FAIL_INIT;
        write_file("own.key", cases[i].key, cases[i].mode);
        assert_int_equal(config_text("x.yml", folder, span_of(text), NULL, 0, &c, &why), TL_INVALID);
        begins_and_says(&why, "x.yml:1:55: ", cases[i].says, text);
    }
}

static void nonsense_has_a_place(void **state) {
    static const struct refusal bad[] = {
        {"fetch: {hosts: [a.example]}\n", "1:16", "'hosts' wants a map"},
        {"fetch: {hosts: {a.example: 5s}}\n", "1:28", "a map for each name"},
        {"fetch: {hosts: {\"*\": {delay: 1s}}}\n", "1:17", "stands under 'fetch' itself"},
        {"fetch: {hosts: {\"*:80\": {delay: 1s}}}\n", "1:17", "stands under 'fetch' itself"},
        {"fetch: {hosts: {\"http://a.example/\": {}}}\n", "1:17", "such as example.org"},
        {"fetch: {hosts: {\"a.*.example\": {}}}\n", "1:17", "such as example.org"},
        {"fetch: {hosts: {\"a.example:99999\": {}}}\n", "1:17", "such as example.org"},
        {"fetch: {hosts: {a.example: {}, A.Example: {}}}\n", "1:32", "the same host as another"},
        {"fetch: {hosts: {a.example: {deley: 1s}}}\n", "1:29", "did you mean 'delay'?"},
        {"fetch: {hosts: {a.example: {user_agent: x}}}\n", "1:29", "unknown key 'user_agent'"},
        {"fetch: {hosts: {a.example: {per_host: 0}}}\n", "1:39", "from 1 to 1000"},
        {"fetch: {hosts: {a.example: {timeout: 5}}}\n", "1:38", "a duration"},
        {"fetch: {hosts: {a.example: {proxy: p}}}\n", "1:36", "http://HOST:PORT"},
        {"fetch: {proxy: none}\n", "1:16", "http://HOST:PORT"},
        {"fetch: {tls: {verify: false}}\n", "1:9", "unknown key 'tls'"},
        {"fetch: {hosts: {a.example: {tls: {verify: no}}}}\n", "1:43", "true or false"},
        {"fetch: {hosts: {a.example: {tls: {cert: x.pem}}}}\n", "1:34", "both 'cert' and 'key'"},
        {"fetch: {hosts: {a.example: {tls: {key: x.pem}}}}\n", "1:34", "both 'cert' and 'key'"},
        {"fetch: {hosts: {a.example: {tls: {verify: false, ca: x.pem}}}}\n", "1:34", "one of them"},
    };
    (void)state;
    check_refusals(bad, COUNT_OF(bad), false);
}

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_specific_holds),
        cmocka_unit_test(what_is_open_is_as_usual),
        cmocka_unit_test(who_we_are),
        cmocka_unit_test(keys_are_not_for_others),
        cmocka_unit_test(nonsense_has_a_place),
    };
    return cmocka_run_group_tests_name("config_hosts", tests, set_up, tear_down);
}
