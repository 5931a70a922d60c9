/* retry_after_test.c - Retry-After: the cases of tests/data/own, the three forms of a date, centuries, the cap. */
#include "net/retry_after.h"

#include "base/times.h"
#include "cases.h"

/* -1: refused */
static int64_t wait_at(struct tl_span value, const char *now) {
    int64_t now_us, seconds;
    assert_int_equal(time_parse(span_of(now), &now_us), 0);
    return retry_after_parse(value, now_us, &seconds) == 0 ? seconds : -1;
}

static int64_t wait_of(const char *value) {
    return wait_at(span_of(value), "2026-01-15T12:00:00Z");
}

static void cases_of_the_field(void **state) {
    (void)state;
    struct cases c;
    size_t count = 0;
    cases_open(&c, "own/retry-after.tsv");
    for (; cases_next(&c); count++) {
        struct buf now = BUF_INIT;
        buf_add(&now, c.field[1].ptr, c.field[1].len);
        int64_t want = -1, got = wait_at(c.field[2], now.data);
        if (c.field[3].ptr) {
            want = 0;
            for (size_t i = 0; i < c.field[3].len; i++)
                want = want * 10 + (c.field[3].ptr[i] - '0');
        }
        if (got != want)
            fail_msg("%.*s: got %d, want %d", (int)c.field[0].len, c.field[0].ptr, (int)got, (int)want);
        buf_free(&now);
    }
    assert_int_equal(count, 20);
    cases_close(&c);
}

static void seconds_and_their_cap(void **state) {
    (void)state;
    assert_int_equal(wait_of("86399"), 86399);
    assert_int_equal(wait_of("86401"), RETRY_AFTER_MAX);
    assert_int_equal(wait_of("18446744073709551617"), RETRY_AFTER_MAX); /* 2^64 + 1 */
    assert_int_equal(wait_of("007"), 7);
    assert_int_equal(wait_of("\t9\t"), 9);
    assert_int_equal(wait_of("+5"), -1);
    assert_int_equal(wait_of("1 2"), -1);
    assert_int_equal(wait_of("0x10"), -1);
    assert_int_equal(wait_of("5s"), -1);
    assert_int_equal(wait_of("  "), -1);
    assert_int_equal(wait_at((struct tl_span){"5\0", 2}, "2026-01-15T12:00:00Z"), -1);
    assert_int_equal(wait_of("\xd9\xa3"), -1); /* an Arabic digit three */
}

static void dates(void **state) {
    (void)state;
    assert_int_equal(wait_of("Fri, 16 Jan 2026 11:59:59 GMT"), 86399);
    assert_int_equal(wait_of("Sat, 17 Jan 2026 12:00:00 GMT"), RETRY_AFTER_MAX);
    assert_int_equal(wait_of("Fri, 31 Dec 9999 23:59:59 GMT"), RETRY_AFTER_MAX);
    assert_int_equal(wait_of("Sat, 01 Jan 0000 00:00:00 GMT"), 0);
    assert_int_equal(wait_of("thu, 15 jan 2026 12:00:30 gmt"), 30);
    assert_int_equal(wait_of("Thu Jan 15 12:00:30 2026"), 30);
    assert_int_equal(wait_at(span_of("Mon Jun  1 00:00:05 2026"), "2026-06-01T00:00:00Z"), 5);
    /* a part of a second is waited for */
    assert_int_equal(wait_at(span_of("Thu, 15 Jan 2026 12:00:30 GMT"), "2026-01-15T12:00:00.000001Z"), 30);
    assert_int_equal(wait_at(span_of("Thu, 15 Jan 2026 12:00:30 GMT"), "2026-01-15T12:00:29.999999Z"), 1);
    assert_int_equal(wait_at(span_of("Thu, 15 Jan 2026 12:00:30 GMT"), "2026-01-15T12:00:30Z"), 0);
    assert_int_equal(wait_at(span_of("Thu, 29 Feb 2024 00:00:00 GMT"), "2024-02-28T23:59:00Z"), 60);
    assert_int_equal(wait_of("Thu, 29 Feb 2026 00:00:00 GMT"), -1);
    assert_int_equal(wait_of("Thu, 00 Jan 2026 12:02:00 GMT"), -1);
    assert_int_equal(wait_of("Thu, 15 Jan 2026 24:00:00 GMT"), -1);
    assert_int_equal(wait_of("Thu, 15 Jan 2026 12:60:00 GMT"), -1);
    assert_int_equal(wait_of("Thu, 15 Jan 2026 12:02:61 GMT"), -1);
    assert_int_equal(wait_of("Thu, 15 Jan 2026 12:02:00"), -1);
    assert_int_equal(wait_of("Thu, 15 Jan 2026 12:02:00 GMT,"), -1);
    assert_int_equal(wait_of("Thu, 15 Jan 2026 12:02:00 PST"), -1);
    assert_int_equal(wait_of("Thu, 15 Foo 2026 12:02:00 GMT"), -1);
    assert_int_equal(wait_of("15 Jan 2026 12:02:00 GMT"), -1);
    assert_int_equal(wait_of("2026-01-15T12:02:00Z"), -1);
}

/* RFC 9110: what seems more than 50 years ahead is in the past. */
static void years_of_two_digits(void **state) {
    (void)state;
    const char *soon = "Thursday, 01-Jan-00 00:00:10 GMT";
    assert_int_equal(wait_at(span_of(soon), "1999-12-31T23:59:59Z"), 11);
    assert_int_equal(wait_at(span_of(soon), "2099-12-31T23:59:59Z"), 11);
    assert_int_equal(wait_of("Wednesday, 01-Jan-76 00:00:00 GMT"), RETRY_AFTER_MAX); /* 2076 */
    assert_int_equal(wait_of("Saturday, 01-Jan-77 00:00:00 GMT"), 0);                /* 1977 */
}

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_of_the_field),
        cmocka_unit_test(seconds_and_their_cap),
        cmocka_unit_test(dates),
        cmocka_unit_test(years_of_two_digits),
    };
    return cmocka_run_group_tests_name("retry_after", tests, NULL, NULL);
}
