/* date_test.c - dates: cookie dates, the well-formed ones of feeds, the dialects, what is refused, what quality says.
 */
#include "net/date.h"

#include "cases.h"

static void is(const char *text, const char *utc, enum date_quality quality) {
    int64_t us;
    enum date_quality q;
    char out[TIME_TEXT];
    if (date_parse(span_of(text), &us, &q) != TL_OK)
        fail_msg("%s: refused, want %s", text, utc);
    if (strcmp(date_text(us, out), utc) != 0 || q != quality)
        fail_msg("%s: got %s %s, want %s %s", text, out, date_quality_name(q), utc, date_quality_name(quality));
}
static void refused(const char *text) {
    int64_t us;
    enum date_quality q;
    char out[TIME_TEXT];
    if (date_parse(span_of(text), &us, &q) != TL_INVALID)
        fail_msg("%s: got %s, want a refusal", text, date_text(us, out));
}

/* The tables are in whole seconds. */
static size_t table(const char *name) {
    struct cases c;
    size_t count = 0;
    char out[TIME_TEXT];
    cases_open(&c, name);
    for (; cases_next(&c); count++) {
        int64_t us;
        enum date_quality q;
        int rc = date_parse(c.field[0], &us, &q);
        if ((rc == TL_OK) != (c.field[1].ptr != NULL))
            fail_msg("%.*s: %s", (int)c.field[0].len, c.field[0].ptr, rc == TL_OK ? "read" : "refused");
        if (rc == TL_OK)
            assert_span(c.field[1], date_text(us - us % 1000000, out));
    }
    cases_close(&c);
    return count;
}
static void cookie_dates(void **state) {
    (void)state;
    assert_int_equal(table("http-dates/cookies.tsv"), 31);
    /* Two of the suite's cases ignore a zone that is there; a feed means it. */
    is("Sat, 15-Apr-17 21:01:22 -0400", "2017-04-16T01:01:22Z", DATE_EXACT);
    is("Sat, 15-Apr-17 21:01:22 GMT-0400 (EDT)", "2017-04-16T01:01:22Z", DATE_EXACT);
}
static void feed_dates(void **state) {
    (void)state;
    assert_true(table("http-dates/feeds.tsv") > 40);
}

static void rfc_822(void **state) {
    (void)state;
    is("Thu, 01 Jan 2004 19:48:21 GMT", "2004-01-01T19:48:21Z", DATE_EXACT);
    is("1 Jan 04 19:48 EST", "2004-01-02T00:48:00Z", DATE_EXACT);
    is("Thu, 09 Feb 2006 16:59:45 pDt", "2006-02-09T23:59:45Z", DATE_EXACT);
    is("Thu, 09 Feb 2006 21:25:45 -0234", "2006-02-09T23:59:45Z", DATE_EXACT);
    is("Thu(oh how I hate thursdays), 9(th) Feb(ruary) 2006 23:59:45 +0000(GMT r0x0rz)", "2006-02-09T23:59:45Z",
       DATE_EXACT);
    is("09 (nested (comment) Mar)Feb(escaped comment\\) 2005) 2006()23:59:45 +0000", "2006-02-09T23:59:45Z",
       DATE_EXACT);
    is("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37Z", DATE_EXACT);
    is("Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37Z", DATE_ZONE_ASSUMED);
    is("Mon Jan 05 2004 10:00:00 GMT+0100 (CET)", "2004-01-05T09:00:00Z", DATE_EXACT);
    is("Thu, 01 Jan 2049 00:00:00 GMT", "2049-01-01T00:00:00Z", DATE_EXACT);
    is("01 Jan 49 00:00:00 GMT", "2049-01-01T00:00:00Z", DATE_EXACT);
    is("01 Jan 50 00:00:00 GMT", "1950-01-01T00:00:00Z", DATE_EXACT);
    is("Sat, 31 Dec 2016 23:59:60 GMT", "2017-01-01T00:00:00Z", DATE_EXACT);
}
static void iso_8601(void **state) {
    (void)state;
    is("2003-12-13T18:30:02Z", "2003-12-13T18:30:02Z", DATE_EXACT);
    is("2003-12-13t18:30:02.25z", "2003-12-13T18:30:02.250000Z", DATE_EXACT);
    is("2003-12-13T18:30:02,5+01:00", "2003-12-13T17:30:02.500000Z", DATE_EXACT);
    is("2003-12-13T18:30:02.1234567Z", "2003-12-13T18:30:02.123456Z", DATE_EXACT);
    is("2003-07-01T01:55:07-0500", "2003-07-01T06:55:07Z", DATE_EXACT);
    is("2003-07-01T01:55-05", "2003-07-01T06:55:00Z", DATE_EXACT);
    is("2003-07-01 T 01:55:07 -05:00", "2003-07-01T06:55:07Z", DATE_EXACT);
    is("2003-07-01 01:55:07 EST", "2003-07-01T06:55:07Z", DATE_EXACT);
    is("2003-07-01 1:55 PM", "2003-07-01T13:55:00Z", DATE_ZONE_ASSUMED);
    is("2002-12-31T192030+01:00", "2002-12-31T18:20:30Z", DATE_EXACT);
    is("20021231T192030Z", "2002-12-31T19:20:30Z", DATE_EXACT);
    is("20021231192030", "2002-12-31T19:20:30Z", DATE_ZONE_ASSUMED);
    is("2002-365", "2002-12-31T00:00:00Z", DATE_ZONE_ASSUMED);
    is("2004-366T12:00Z", "2004-12-31T12:00:00Z", DATE_EXACT);
    is("2009-W01-1", "2008-12-29T00:00:00Z", DATE_ZONE_ASSUMED);
    is("2009W537T10:00Z", "2010-01-03T10:00:00Z", DATE_EXACT);
    is("2003-07-01T24:00:00Z", "2003-07-02T00:00:00Z", DATE_EXACT);
    is("2003-12-31T10:14:55+01:00[Europe/Berlin]", "2003-12-31T09:14:55Z", DATE_EXACT);
    is("0103-12-13T18:30:02Z", "0103-12-13T18:30:02Z", DATE_EXACT);
    is("2003-12-31+01:00", "2003-12-30T23:00:00Z", DATE_ZONE_ASSUMED);
    is("\n 2003-12-31 \t", "2003-12-31T00:00:00Z", DATE_ZONE_ASSUMED);
}
static void what_is_missing_shows(void **state) {
    (void)state;
    is("2003-12-13T18:30:02", "2003-12-13T18:30:02Z", DATE_ZONE_ASSUMED);
    is("Thu, 09 Feb 2006 16:59:45 G", "2006-02-09T16:59:45Z", DATE_ZONE_ASSUMED); /* RFC 2822: says nothing */
    is("Thu, 09 Feb 2006 16:59:45 Elbonian", "2006-02-09T16:59:45Z", DATE_ZONE_ASSUMED);
    is("Thu, 09 Feb 2006 16:59:45 +9900", "2006-02-09T16:59:45Z", DATE_ZONE_ASSUMED);
    is("Mon, May 25 2020", "2020-05-25T00:00:00Z", DATE_ZONE_ASSUMED);
    is("2003-12", "2003-12-01T00:00:00Z", DATE_GUESSED);
    is("2003", "2003-01-01T00:00:00Z", DATE_GUESSED);
    is("Dec 2003", "2003-12-01T00:00:00Z", DATE_GUESSED);
    is("Thu, 09 Feb 2006 16:59:45 CEST", "2006-02-09T14:59:45Z", DATE_GUESSED); /* no name of RFC 822 */
    is("1136214245", "2006-01-02T15:04:05Z", DATE_GUESSED);
    is("1136214245678", "2006-01-02T15:04:05.678000Z", DATE_GUESSED);
}
static void dialects(void **state) {
    (void)state;
    is("25 Dec 2009, 5 pm", "2009-12-25T17:00:00Z", DATE_ZONE_ASSUMED);
    is("12:30 a.m. December 25th, 2009 UTC", "2009-12-25T00:30:00Z", DATE_EXACT);
    is("2004 Jan 5 10:00 GMT", "2004-01-05T10:00:00Z", DATE_EXACT);
    is("2004/1/5 10:00", "2004-01-05T10:00:00Z", DATE_ZONE_ASSUMED);
    is("25.12.2009 17:00", "2009-12-25T17:00:00Z", DATE_ZONE_ASSUMED);
    is("12/25/2009", "2009-12-25T00:00:00Z", DATE_ZONE_ASSUMED);
    is("01/02/2009", "2009-01-02T00:00:00Z", DATE_GUESSED);
    is("01.02.2009", "2009-02-01T00:00:00Z", DATE_GUESSED);
    is("Mi, 3 M\xC3\xA4rz 2010 12:00:00 +0100", "2010-03-03T11:00:00Z", DATE_EXACT);
    is("mar. 12 janv. 2010 10:00:00 +0000", "2010-01-12T10:00:00Z", DATE_EXACT);
    is("D\xC3\x89"
       "CEMBRE 5, 2010 10:00 Z",
       "2010-12-05T10:00:00Z", DATE_EXACT);
}
static void refusals(void **state) {
    (void)state;
    const char *const bad[] = {"",
                               " ",
                               "IAintNoDateFool",
                               "2003-13-01T15:51:30-05:00",
                               "2003-07-32T15:51:30-05:00",
                               "2003-02-29",
                               "2003-07-01T25:51:30-05:00",
                               "2003-07-01T01:61:30-05:00",
                               "07-01T01:55:07-05:00",
                               "Thu, 012-Aug-2008 20:49:07 GMT",
                               "Sat, 15-Apr-17 91:22:33 21:01:22",
                               "31 Apr 2004",
                               "10000-01-01",
                               "9999-12-31T23:59:59-01:00",
                               "0001-01-01T00:00:00+01:00",
                               "12:00",
                               "May",
                               "5 May",
                               "2004-001-01",
                               "2003-07-01T24:00:01Z",
                               "2004-367",
                               "2004-W60-1",
                               "0000-01-01",
                               "1/2/3/4",
                               "13/13/2004",
                               "((((",
                               "12 May 2010 10:00 junk 11:00"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(bad[i]);
    struct buf b = BUF_INIT;
    buf_text(&b, "Thu, 01 Jan 2004 19:48:21 GMT (");
    for (int i = 0; i < 300; i++)
        buf_char(&b, 'x');
    refused(b.data);
    buf_free(&b);
    int64_t us;
    enum date_quality q;
    assert_int_equal(date_parse((struct tl_span){"2004-01-01\0"
                                                 "T10:00:00Z",
                                                 21},
                                &us, &q),
                     TL_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cookie_dates), cmocka_unit_test(feed_dates), cmocka_unit_test(rfc_822),
        cmocka_unit_test(iso_8601),     cmocka_unit_test(dialects),   cmocka_unit_test(what_is_missing_shows),
        cmocka_unit_test(refusals),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
