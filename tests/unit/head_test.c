/* head_test.c - the lines of an answer's head: what is kept, what is dropped, and what cannot be trusted. */
#include "net/head.h"

#include "cases.h"

static struct buf lines;
static struct head head;

/* Feeds lines that are separated by '\n'; "\n\n" ends a head. TL_OK, or the first that is refused. */
static int feed(const char *text) {
    int rc = TL_OK;
    head_begin(&head, &lines);
    while (*text && !rc) {
        size_t n = strcspn(text, "\n") + 1;
        AUTO_BUF struct buf line = BUF_INIT;
        buf_add(&line, text, n - 1);
        buf_lit(&line, "\r\n");
        rc = head_line(&head, line.data, line.len);
        text += n;
    }
    return rc;
}

static void kept(const char *text, const char *want) {
    assert_int_equal(feed(text), TL_OK);
    assert_true(head.ended);
    assert_string_equal(lines.len ? lines.data : "", want);
}

static void refused(const char *text, const char *why) {
    if (feed(text) != TL_INVALID)
        fail_msg("not refused: %s", text);
    if (!strstr(head.fault, why))
        fail_msg("%s: %s", text, head.fault);
}

static void what_is_kept(void **state) {
    (void)state;
    kept("HTTP/1.1 200 OK\nA: b\nC:d\nE:  f \t\n\n", "A: b\nC: d\nE: f\n");
    kept("HTTP/1.1 200 OK\n\n", "");
    kept("HTTP/2 204 \na: b\n\n", "a: b\n");
    kept("HTTP/1.1 200 OK\nA:\nB: :\nC: a:b\n\n", "A: \nB: :\nC: a:b\n");
    kept("HTTP/1.1 200 OK\nSpaced : x\n\n", "Spaced: x\n");
    assert_int_equal(head.status, 200);
    assert_int_equal(head.length, -1);
    kept("HTTP/1.1 200 OK\nA: a\rb\x01\x7f"
         "c\xe9\n\n",
         "A: a b  c\xe9\n");
}

static void folded_lines(void **state) {
    (void)state;
    kept("HTTP/1.1 200 OK\nA: b\n  c\n\td\nE: f\n\n", "A: b c d\nE: f\n");
    kept("HTTP/1.1 200 OK\nA: b\n \nE: f\n\n", "A: b\nE: f\n");
    kept("HTTP/1.1 200 OK\nA:\n b\n\n", "A:  b\n");
    refused("HTTP/1.1 200 OK\n first\n\n", "continues");
    refused("HTTP/1.1 200 OK\nContent-Length: 1\n 0\n\n", "continues");
    refused("HTTP/1.1 200 OK\nTransfer-Encoding:\n chunked\n\n", "not asked for");
}

static void only_the_last_answer_counts(void **state) {
    (void)state;
    kept("HTTP/1.1 103 Early\nLink: x\nContent-Length: 7\n\nHTTP/1.1 200 OK\nA: b\n\n", "A: b\n");
    assert_int_equal(head.interim, 1);
    assert_int_equal(head.length, -1);
    kept("HTTP/1.1 200 OK\nA: b\n\nTrailer: x\nContent-Length: 99\nHTTP/1.1 500 no: way\n\n", "A: b\n");
    assert_int_equal(head.status, 200);
    assert_int_equal(head.length, -1);
    kept("HTTP/1.1 200 OK\nHTTP/1.1 500 not: a status line\n\n", "HTTP/1.1 500 not: a status line\n");
    assert_int_equal(head.status, 200);
    refused("HTTP/1.1 101 Switching\n\n", "protocol");
    AUTO_BUF struct buf many = BUF_INIT;
    for (int i = 0; i < HEAD_INTERIM_MAX; i++)
        buf_lit(&many, "HTTP/1.1 100 Continue\n\n");
    buf_lit(&many, "HTTP/1.1 200 OK\n\n");
    assert_int_equal(feed(many.data), TL_OK);
    many.len -= strlen("HTTP/1.1 200 OK\n\n");
    buf_lit(&many, "HTTP/1.1 100 Continue\n\n");
    refused(many.data, "interim");
}

static void lengths(void **state) {
    (void)state;
    kept("HTTP/1.1 200 OK\nContent-Length: 12\n\n", "Content-Length: 12\n");
    assert_int_equal(head.length, 12);
    kept("HTTP/1.1 200 OK\ncontent-length: 007\nCONTENT-LENGTH: 7, 7\n\n",
         "content-length: 007\nCONTENT-LENGTH: 7, 7\n");
    assert_int_equal(head.length, 7);
    kept("HTTP/1.1 200 OK\nContent-Length: 999999999999999999\n\n", "Content-Length: 999999999999999999\n");
    assert_true(head.length == 999999999999999999);
    refused("HTTP/1.1 200 OK\nContent-Length: 1\nContent-Length: 2\n\n", "1 and 2");
    refused("HTTP/1.1 200 OK\nContent-Length: 1, 2\n\n", "1 and 2");
    refused("HTTP/1.1 200 OK\nContent-Length: 1,\n\n", "no length");
    refused("HTTP/1.1 200 OK\nContent-Length:\n\n", "no length");
    refused("HTTP/1.1 200 OK\nContent-Length: -1\n\n", "no length");
    refused("HTTP/1.1 200 OK\nContent-Length: +1\n\n", "no length");
    refused("HTTP/1.1 200 OK\nContent-Length: 0x10\n\n", "no length");
    refused("HTTP/1.1 200 OK\nContent-Length: 1 2\n\n", "no length");
    refused("HTTP/1.1 200 OK\nContent-Length: 18446744073709551617\n\n", "no length");
    refused("HTTP/1.1 200 OK\nContent-Length : 1\n\n", "blank");
    refused("HTTP/1.1 200 OK\nContent-Length: \x1b[31m\xff\n\n", "?[31m?"); /* what is told is printable */
}

static void transfer_codings(void **state) {
    (void)state;
    kept("HTTP/1.1 200 OK\nTransfer-Encoding: Chunked\n\n", "Transfer-Encoding: Chunked\n");
    assert_true(head.chunked);
    kept("HTTP/1.1 200 OK\nTransfer-Encoding: identity, chunked\n\n", "Transfer-Encoding: identity, chunked\n");
    refused("HTTP/1.1 200 OK\nTransfer-Encoding: gzip, chunked\n\n", "gzip");
    refused("HTTP/1.1 200 OK\nTransfer-Encoding: chunked, chunked\n\n", "chunked");
    refused("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nTransfer-Encoding: identity\n\n", "identity");
    refused("HTTP/1.1 200 OK\nTransfer-Encoding: xchunked\n\n", "xchunked");
    refused("HTTP/1.1 200 OK\nTransfer-Encoding\t: chunked\n\n", "blank");
}

static void no_headers(void **state) {
    (void)state;
    refused("HTTP/1.1 200 OK\nno colon here\n\n", "no header");
    refused("HTTP/1.1 200 OK\n: no name\n\n", "no header");
    refused("HTTP/1.1 200 OK\nA\x01: b\n\n", "no header");
}

static void the_size_of_all(void **state) {
    (void)state;
    AUTO_BUF struct buf big = BUF_INIT;
    buf_lit(&big, "HTTP/1.1 200 OK\n");
    while (big.len < HEAD_MAX - 2000)
        buf_lit(&big, "X-Filler: 0123456789012345678901234567890123456789012345678901234567890123456789\n");
    assert_int_equal(feed(big.data), TL_INVALID); /* two bytes a line more than here */
    assert_non_null(strstr(head.fault, "256 KiB"));
    assert_true(lines.len <= HEAD_MAX);
    head_begin(&head, &lines); /* interim answers count, too */
    char early[1000];
    memset(early, 'x', sizeof early);
    memcpy(early, "X: ", 3);
    int rc = TL_OK, n = 0;
    for (; !rc && n < 1000; n++) {
        if (n % 50 == 0)
            rc = head_line(&head, "HTTP/1.1 103 E\r\n", 16);
        if (!rc)
            rc = head_line(&head, early, sizeof early);
        if (!rc && n % 50 == 49)
            rc = head_line(&head, "\r\n", 2);
    }
    assert_int_equal(rc, TL_INVALID);
    assert_in_range(n, 200, 270);
}

static void lookups(void **state) {
    (void)state;
    struct tl_span all = span_of("A: one\nB: two\na: three\nAB: four\n"), value;
    size_t at = 0;
    assert_true(head_find(all, "a", &at, &value));
    assert_true(span_eq(value, "one"));
    assert_true(head_find(all, "a", &at, &value));
    assert_true(span_eq(value, "three"));
    assert_false(head_find(all, "a", &at, &value));
    AUTO_BUF struct buf list = BUF_INIT;
    head_list(all, "a", &list);
    assert_string_equal(list.data, "one, three");
    head_list(all, "none", &list);
    assert_string_equal(list.data, "one, three");
}

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept),
        cmocka_unit_test(folded_lines),
        cmocka_unit_test(only_the_last_answer_counts),
        cmocka_unit_test(lengths),
        cmocka_unit_test(transfer_codings),
        cmocka_unit_test(no_headers),
        cmocka_unit_test(the_size_of_all),
        cmocka_unit_test(lookups),
    };
    int rc = cmocka_run_group_tests_name("head", tests, NULL, NULL);
    buf_free(&lines);
    return rc;
}
