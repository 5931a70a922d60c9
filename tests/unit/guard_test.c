/* guard_test.c - which addresses may be connected to: every special range at both of its ends, and what hides one in
 * another. */
#include "net/guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "cases.h"

static enum guard_class class_of(const char *text) {
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
        return guard_classify((const struct sockaddr *)&in);
    assert_int_equal(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
    return guard_classify((const struct sockaddr *)&in6);
}

static void all_are(const char *const *text, size_t n, enum guard_class want) {
    for (size_t i = 0; i < n; i++)
        if (class_of(text[i]) != want)
            fail_msg("%s is %d, wanted %d", text[i], class_of(text[i]), want);
}
#define ALL_ARE(want, ...)                                                                                             \
    all_are((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), want)

static void special_ranges_of_ipv4(void **state) {
    (void)state;
    ALL_ARE(GUARD_PRIVATE, "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255",
            "127.0.0.0", "127.0.0.1", "127.255.255.255", "169.254.0.0", "169.254.255.255", "172.16.0.0",
            "172.31.255.255", "192.0.0.0", "192.0.0.255", "192.0.2.0", "192.0.2.255", "192.88.99.1", "192.168.0.0",
            "192.168.255.255", "198.18.0.0", "198.19.255.255", "198.51.100.7", "203.0.113.255", "224.0.0.1",
            "239.255.255.255", "240.0.0.1", "255.255.255.255");
    ALL_ARE(GUARD_PUBLIC, "1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
            "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255",
            "192.0.1.0", "192.0.3.0", "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0",
            "198.17.255.255", "198.20.0.0", "198.51.99.255", "203.0.112.255", "203.0.114.0", "223.255.255.255",
            "8.8.8.8", "93.184.216.34");
}

static void special_ranges_of_ipv6(void **state) {
    (void)state;
    ALL_ARE(GUARD_PRIVATE, "::", "::1", "::2", "fc00::1", "fdff:ffff::1", "fe80::1", "febf::1", "fec0::1", "feff::1",
            "ff02::1", "ff0e::1", "100::1", "2001:db8::1", "2001:db8:ffff::1", "3fff::1", "3fff:fff::1", "2001::1",
            "2001:2::1", "2001:10::1", "2001:1ff::1", "5f00::1", "4000::1", "1fff::1", "64:ff9b:1::1",
            "::ffff:0:8.8.8.8");
    ALL_ARE(GUARD_PUBLIC, "2001:200::1", "2001:4860:4860::8888", "2606:4700::1111", "2000::1", "3ffe::1",
            "3fff:1000::1", "2001:db7::1", "2001:db9::1", "2a00::1");
}

static void an_address_inside_another(void **state) {
    (void)state;
    ALL_ARE(GUARD_PRIVATE, "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:192.168.1.1", "::127.0.0.1", "::8.8.8.8",
            "64:ff9b::127.0.0.1", "64:ff9b::10.1.2.3", "2002:7f00:1::", "2002:a00:1::1", "2002:c0a8:101::1",
            "2600::5efe:10.0.0.1", "2600::200:5efe:127.0.0.1");
    ALL_ARE(GUARD_PUBLIC, "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1", "2600::5efe:8.8.8.8");
    ALL_ARE(GUARD_METADATA, "::ffff:169.254.169.254", "64:ff9b::169.254.169.254", "2002:a9fe:a9fe::1",
            "2600::5efe:169.254.169.254");
}

static void metadata_needs_more_than_a_name(void **state) {
    (void)state;
    ALL_ARE(GUARD_METADATA, "169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.0.23", "169.254.42.42",
            "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254",
            "fd00:42::42");
    assert_false(guard_allows(GUARD_METADATA, true, false));
    assert_true(guard_allows(GUARD_METADATA, false, true));
    assert_true(guard_allows(GUARD_PRIVATE, true, false));
    assert_false(guard_allows(GUARD_PRIVATE, false, false));
    assert_true(guard_allows(GUARD_PUBLIC, false, false));
}

static void hosts_as_urls_have_them(void **state) {
    (void)state;
    static const struct {
        const char *host;
        enum guard_class want;
    } cases[] = {{"127.0.0.1", GUARD_PRIVATE},
                 {"[::1]", GUARD_PRIVATE},
                 {"[::ffff:a9fe:a9fe]", GUARD_METADATA},
                 {"169.254.169.254", GUARD_METADATA},
                 {"localhost", GUARD_PRIVATE},
                 {"localhost.", GUARD_PRIVATE},
                 {"a.localhost", GUARD_PRIVATE},
                 {"8.8.8.8", GUARD_PUBLIC},
                 {"[2606:4700::1111]", GUARD_PUBLIC},
                 {"example.org", GUARD_PUBLIC},
                 {"notlocalhost", GUARD_PUBLIC},
                 {"localhost.example.org", GUARD_PUBLIC},
                 {"10.example.org", GUARD_PUBLIC},
                 {"1and1.example", GUARD_PUBLIC},
                 {"[::1", GUARD_PRIVATE},
                 {"", GUARD_PUBLIC}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (guard_literal(span_of(cases[i].host)) != cases[i].want)
            fail_msg("%s", cases[i].host);
    struct sockaddr other = {.sa_family = AF_UNIX};
    assert_int_equal(guard_classify(&other), GUARD_PRIVATE);
}

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(special_ranges_of_ipv4),    cmocka_unit_test(special_ranges_of_ipv6),
        cmocka_unit_test(an_address_inside_another), cmocka_unit_test(metadata_needs_more_than_a_name),
        cmocka_unit_test(hosts_as_urls_have_them),
    };
    return cmocka_run_group_tests_name("guard", tests, NULL, NULL);
}
