/* link_header_test.c - Link header fields: the cases of tests/data/own, parameters, and values made to be trouble. */
#include "net/link_header.h"

#include "cases.h"

static struct arena arena;

static struct link_header parsed(struct tl_span value, const char *base) {
    struct buf href = BUF_INIT;
    struct url url;
    struct link_header h;
    if (base)
        assert_int_equal(url_parse(&href, span_of(base), NULL, &url), 0);
    assert_int_equal(link_header_parse(&arena, value, base ? &url : NULL, &h), 0);
    buf_free(&href);
    return h;
}

static struct link_header of(const char *value) {
    return parsed(span_of(value), "https://api.example/base");
}

/* The value of a parameter, or a ptr of NULL. */
static struct tl_span param(const struct link_header_link *link, const char *name) {
    for (size_t i = 0; i < link->param_count; i++)
        if (span_eq(link->param[i].name, name))
            return link->param[i].value;
    return (struct tl_span){NULL, 0};
}

static void cases_of_the_field(void **state) {
    (void)state;
    struct cases c;
    size_t count = 0;
    cases_open(&c, "own/link-header.tsv");
    for (; cases_next(&c); count++) {
        struct buf got = BUF_INIT, base = BUF_INIT;
        buf_add(&base, c.field[1].ptr, c.field[1].len);
        struct link_header h = parsed(c.field[2], base.data);
        for (size_t i = 0; i < h.count; i++) {
            buf_add(&got, h.link[i].url.ptr, h.link[i].url.len);
            buf_char(&got, ' ');
            for (size_t k = 0; k < h.link[i].rel.len; k++) {
                char x = h.link[i].rel.ptr[k];
                buf_char(&got, x >= 'A' && x <= 'Z' ? (char)(x + 32) : x);
            }
            buf_char(&got, '\n');
        }
        if (!spans_equal(buf_span(&got), c.field[3]))
            fail_msg("%.*s: got %s, want %.*s", (int)c.field[0].len, c.field[0].ptr, got.data, (int)c.field[3].len,
                     c.field[3].ptr);
        buf_free(&got);
        buf_free(&base);
    }
    assert_int_equal(count, 22);
    cases_close(&c);
    arena_free(&arena);
}

static void parameters(void **state) {
    (void)state;
    struct link_header h = of("</x>; Title=\"a \\\"b\\\\ c\"; rel=\"Next  PREV\"; flag; n = 7 ; title=second; =x,"
                              "</y>;title*=UTF-8'en'%e2%82%ac%20rates;title*=bad;rel=a");
    assert_int_equal(h.count, 2);
    assert_span(h.link[0].rel, "Next  PREV"); /* as written */
    assert_span(param(&h.link[0], "title"), "a \"b\\ c");
    assert_span(param(&h.link[0], "flag"), "");
    assert_non_null(param(&h.link[0], "flag").ptr);
    assert_span(param(&h.link[0], "n"), "7");
    assert_null(param(&h.link[0], "rel").ptr);
    assert_int_equal(h.link[0].param_count, 3);
    assert_span(h.link[1].url, "https://api.example/y");
    assert_span(param(&h.link[1], "title*"), "\xe2\x82\xac rates");

    /* what is no RFC 8187 value in UTF-8 is not there */
    h = of("<a>; x*=utf-8''%ff; y*=utf-8''%4; z*=iso-8859-1''a; ok*=utf-8''; w*=abc");
    assert_int_equal(h.link[0].param_count, 1);
    assert_span(param(&h.link[0], "ok*"), "");
    assert_null(h.link[0].rel.ptr);
    arena_free(&arena);
}

static void targets(void **state) {
    (void)state;
    struct link_header h =
        of("<https://other.example/%C3%A9?q#f>;rel=a,<>;rel=b,<http://[x>;rel=c,<mailto:a@b.example>;rel=d");
    assert_int_equal(h.count, 3); /* http://[x is no URL */
    assert_span(h.link[0].url, "https://other.example/%C3%A9?q#f");
    assert_span(h.link[1].url, "https://api.example/base");
    assert_span(h.link[2].url, "mailto:a@b.example");
    h = parsed(span_of("</x>;rel=a,<https://api.example/y>;rel=a"), NULL);
    assert_int_equal(h.count, 1);
    assert_span(h.link[0].url, "https://api.example/y");
    arena_free(&arena);
}

static void reading_ends_at_what_is_no_link(void **state) {
    (void)state;
    assert_int_equal(of("</a>;rel=x, b, </c>;rel=x").count, 1);
    assert_int_equal(of("</a>;rel=\"x\"y, </c>;rel=x").count, 1);
    assert_int_equal(of("</a>;rel=x, </c").count, 1);
    assert_int_equal(of("</a>;rel=x </c>;rel=x").count, 1); /* the value goes on up to the comma */
    struct link_header h = of("</a>; rel=\"never closed, </b>; rel=x");
    assert_int_equal(h.count, 1);
    assert_span(h.link[0].rel, "never closed, </b>; rel=x");
    h = of("</a>;rel=\"x\\");
    assert_span(h.link[0].rel, "x\\");
    arena_free(&arena);
}

static void found_by_relation(void **state) {
    (void)state;
    struct link_header h =
        of("</o>;rel=next;anchor=\"/other\",</p>;rel=\"prev nextpage\",</n>;rel=\"last NEXT\",</m>;rel=next");
    assert_span(link_header_find(&h, "next")->url, "https://api.example/n"); /* not the one of another resource */
    assert_span(link_header_find(&h, "prev")->url, "https://api.example/p");
    assert_null(link_header_find(&h, "first"));
    assert_null(link_header_find(&h, ""));
    arena_free(&arena);
}

static void bounds(void **state) {
    (void)state;
    struct buf value = BUF_INIT;
    for (int i = 0; i < LINK_HEADER_LINKS_MAX + 5; i++)
        buf_printf(&value, "<%d>,", i);
    struct link_header h = parsed(buf_span(&value), "https://api.example/");
    assert_int_equal(h.count, LINK_HEADER_LINKS_MAX);
    assert_span(h.link[LINK_HEADER_LINKS_MAX - 1].url, "https://api.example/999");
    buf_reset(&value);
    buf_lit(&value, "</a>");
    for (int i = 0; i < LINK_HEADER_PARAMS_MAX + 5; i++)
        buf_printf(&value, ";p%d=v", i);
    buf_lit(&value, ";rel=late,</b>;rel=x");
    h = parsed(buf_span(&value), "https://api.example/");
    assert_int_equal(h.count, 2);
    assert_int_equal(h.link[0].param_count, LINK_HEADER_PARAMS_MAX);
    assert_span(h.link[0].rel, "late");
    h = parsed((struct tl_span){"</\0a>;\0b=\0c", 12}, "https://api.example/");
    assert_int_equal(h.count, 1);
    assert_span(h.link[0].url, "https://api.example/%00a");
    arena_free(&arena);

    struct arena small = {.max = 4096};
    buf_reset(&value);
    for (int i = 0; i < 100; i++)
        buf_printf(&value, "<https://api.example/a/rather/long/path/%d>,", i);
    assert_int_equal(link_header_parse(&small, buf_span(&value), NULL, &h), TL_PARTIAL);
    arena_free(&small);
    buf_free(&value);
}

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_of_the_field),
        cmocka_unit_test(parameters),
        cmocka_unit_test(targets),
        cmocka_unit_test(reading_ends_at_what_is_no_link),
        cmocka_unit_test(found_by_relation),
        cmocka_unit_test(bounds),
    };
    return cmocka_run_group_tests_name("link_header", tests, NULL, NULL);
}
