/* json_number_test.c - numbers as Python spells them: 12,044 doubles with what its json module made of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_number.h"
#include "base/json_write.h"

#include "cases.h"

static void as_python_has_it(void **state) {
    struct cases c;
    size_t n = 0, wrong = 0;
    AUTO_BUF struct buf out = BUF_INIT;
    (void)state;
    cases_open(&c, "fanin/doubles.tsv");
    while (cases_next(&c)) {
        char hex[17], want[64];
        snprintf(hex, sizeof hex, "%.*s", (int)c.field[0].len, c.field[0].ptr);
        uint64_t bits = strtoull(hex, NULL, 16);
        double value;
        memcpy(&value, &bits, sizeof value);
        snprintf(want, sizeof want, "%.*s", (int)c.field[1].len, c.field[1].ptr);
        buf_reset(&out);
        json_double_python(value, &out);
        if (strcmp(out.data, want) != 0 && wrong++ < 10)
            print_error("%016llx: %s, not %s\n", (unsigned long long)bits, out.data, want);
        buf_reset(&out);
        assert_int_equal(json_number_python(span_of(want), &out), TL_OK); /* a fixed point */
        assert_string_equal(out.data, want);
        char spelt[64]; /* the same double with more digits than it needs */
        snprintf(spelt, sizeof spelt, "%.25e", value);
        buf_reset(&out);
        assert_int_equal(json_number_python(span_of(spelt), &out), TL_OK);
        assert_string_equal(out.data, want);
        n++;
    }
    assert_int_equal(wrong, 0);
    assert_true(n > 12000);
    cases_close(&c);
}

static void spellings(void **state) {
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"0", "0"},
        {"-0", "0"}, /* an integer has no negative zero */
        {"-0.0", "-0.0"},
        {"0e5", "0.0"},
        {"0E0", "0.0"},
        {"1", "1"},
        {"1.00", "1.0"},
        {"1e0", "1.0"},
        {"1E+2", "100.0"},
        {"1e15", "1000000000000000.0"},
        {"1e16", "1e+16"},
        {"123456789012345680.0", "1.2345678901234568e+17"},
        {"0.0001", "0.0001"},
        {"0.00001", "1e-05"},
        {"25E-6", "2.5e-05"},
        {"1e-7", "1e-07"},
        {"4.94065645841247e-324", "5e-324"},
        {"2.2250738585072014e-308", "2.2250738585072014e-308"},
        {"1e-400", "0.0"},
        {"-1e-400", "-0.0"},
        {"0.1000000000000000055511151231257827", "0.1"},
        {"0.79999999999999993", "0.7999999999999999"},
        {"9007199254740993", "9007199254740993"},     /* no double: stays an integer */
        {"9007199254740993.0", "9007199254740992.0"}, /* rounds to even */
        {"18446744073709551616", "18446744073709551616"},
        {"5.684341886080801e-14", "5.684341886080801e-14"},
        {"0.00000000000005684341886080801486968994140625", "5.684341886080802e-14"}, /* 2^-44 */
    };
    AUTO_BUF struct buf out = BUF_INIT;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        buf_reset(&out);
        assert_int_equal(json_number_python(span_of(rows[i].in), &out), TL_OK);
        assert_string_equal(out.data, rows[i].out);
    }
}

static void refused(void **state) {
    AUTO_BUF struct buf out = BUF_INIT, longest = BUF_INIT, zeros = BUF_INIT;
    (void)state;
    assert_int_equal(json_number_python(span_of("1e400"), &out), TL_INVALID);
    assert_int_equal(json_number_python(span_of("-1e309"), &out), TL_INVALID);
    assert_int_equal(json_number_python(span_of("1e99999999999999999999"), &out), TL_INVALID);
    for (int i = 0; i < JSON_INTEGER_DIGITS; i++)
        buf_char(&longest, '9');
    assert_int_equal(json_number_python(buf_span(&longest), &out), TL_OK);
    buf_char(&longest, '9');
    assert_int_equal(json_number_python(buf_span(&longest), &out), TL_INVALID);
    /* a text longer than its exponent is small: 0.000...01e5000 is 10 */
    buf_lit(&zeros, "0.");
    for (int i = 0; i < 4998; i++)
        buf_char(&zeros, '0');
    buf_lit(&zeros, "1e5000");
    buf_reset(&out);
    assert_int_equal(json_number_python(buf_span(&zeros), &out), TL_OK);
    assert_string_equal(out.data, "10.0");
}

static void whole_values(void **state) {
    static const struct {
        const char *in, *out;
    } rows[] = {
        {" { \"b\" : 1.0 , \"a\" : [ 1e2 , -0 ] } ", "{\"a\":[100.0,0],\"b\":1.0}"},
        {"[0.50,{\"z\":2E3}]", "[0.5,{\"z\":2000.0}]"},
        {"{\"\xEF\xBD\xA1\":1,\"\xF0\x9F\x98\x80\":2,\"A\":true}", /* by code point, not by UTF-16 unit */
         "{\"A\":true,\"\xEF\xBD\xA1\":1,\"\xF0\x9F\x98\x80\":2}"},
        {"\"\\u00e9\\/\\u007f\\u001F\\b\"", "\"\xC3\xA9/\x7F\\u001f\\b\""},
    };
    static const char *const bad[] = {"{\"a\":1,\"a\":1}", "[NaN]", "[1e999]", "\"\\ud800\"", "[1,]", ""};
    AUTO_BUF struct buf out = BUF_INIT;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        buf_reset(&out);
        assert_int_equal(json_python(span_of(rows[i].in), &out), TL_OK);
        assert_string_equal(out.data, rows[i].out);
    }
    buf_reset(&out);
    buf_text(&out, "before");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(json_python(span_of(bad[i]), &out), TL_INVALID);
        assert_string_equal(out.data, "before");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_python_has_it),
        cmocka_unit_test(spellings),
        cmocka_unit_test(refused),
        cmocka_unit_test(whole_values),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("json_number", tests, NULL, NULL);
}
