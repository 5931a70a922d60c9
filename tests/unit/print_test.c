/* print_test.c - text from outside in every form in which commands print it: what a terminal, a CSV reader, an XML
 * parser, Graphviz and a Cypher shell make of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/lineage.h"

#include <cmocka.h>

static struct buf out;

static const char *plain(const char *text, size_t most) {
    buf_reset(&out);
    print_plain(&out, span_of(text), most);
    return out.data ? out.data : "";
}

static void test_plain(void **state) {
    (void)state;
    assert_string_equal(plain("kayak", 0), "kayak");
    assert_string_equal(plain("a\x1b[2Jb", 0), "a?[2Jb");              /* ESC */
    assert_string_equal(plain("a\r\nb\tc", 0), "a  b c");              /* one line stays one line */
    assert_string_equal(plain("a\xc2\x9bJ", 0), "a?J");                /* CSI as one character, U+009B */
    assert_string_equal(plain("a\xc2\x85z\xe2\x80\xa8z", 0), "a?z?z"); /* NEL and LINE SEPARATOR end lines, too */
    assert_string_equal(plain("\xe2\x80\xaegpj.exe", 0), "?gpj.exe");  /* RIGHT-TO-LEFT OVERRIDE */
    assert_string_equal(plain("a\xffz\xc3", 0), "a\xef\xbf\xbdz\xef\xbf\xbd");
    assert_string_equal(plain("Перемёт", 0), "Перемёт");
    assert_string_equal(plain("Перемёт", 7), "Перемёт"); /* fits */
    assert_string_equal(plain("Перемёт", 4), "Пер…");
    buf_reset(&out);
    print_plain(&out, (struct tl_span){"a\0b", 3}, 0);
    assert_string_equal(out.data, "a?b");
}

static void test_width(void **state) {
    (void)state;
    assert_int_equal(print_width(span_of("kayak")), 5);
    assert_int_equal(print_width(span_of("ёж")), 2);
    assert_int_equal(print_width(span_of("e\xcc\x81")), 1); /* with a combining accent */
    assert_int_equal(print_width(span_of("日本語")), 6);
    assert_int_equal(print_width(span_of("\xff")), 1);
}

static const char *csv(struct tl_span text) {
    buf_reset(&out);
    print_csv(&out, text);
    return out.data ? out.data : "";
}

static void test_csv(void **state) {
    (void)state;
    assert_string_equal(csv(span_of("plain text")), "plain text");
    assert_string_equal(csv(span_of("")), "");
    assert_string_equal(csv(span_of("a,b")), "\"a,b\"");
    assert_string_equal(csv(span_of("say \"no\"")), "\"say \"\"no\"\"\"");
    assert_string_equal(csv(span_of("a\nb")), "\"a\nb\"");
    assert_string_equal(csv((struct tl_span){"a\0b", 3}), "\"a\xef\xbf\xbd"
                                                          "b\"");
}

static void test_xml(void **state) {
    (void)state;
    print_xml((buf_reset(&out), &out), span_of("<a href=\"x\">&amp;\x01\n\xff\xef\xbf\xbf"));
    assert_string_equal(out.data, "&lt;a href=&quot;x&quot;&gt;&amp;amp;\xef\xbf\xbd&#10;\xef\xbf\xbd\xef\xbf\xbd");
}

/* ---- a lineage of two runs, the second with everything that could break out of a format */

static void write_lineage(const struct lineage_format *format, const char *hostile) {
    char *text = NULL;
    size_t len = 0;
    struct store_value root[LINEAGE_FIELDS] = {0}, child[LINEAGE_FIELDS] = {0};
    struct lineage l = {.out = open_memstream(&text, &len), .spool = tmpfile(), .crawl = hostile, .lake = "/lake"};
    assert_non_null(l.out);
    assert_non_null(l.spool);
    root[LINEAGE_RUN_ID] = child[LINEAGE_PARENT_ID] = child[LINEAGE_ROOT_ID] = store_text("r");
    child[LINEAGE_RUN_ID] = store_text("c");
    child[LINEAGE_URL] = child[LINEAGE_ERROR] = child[LINEAGE_COLLECTOR] = store_text(hostile);
    child[LINEAGE_STATUS] = store_text("failed");
    format->begin(&l);
    lineage_flush(&l);
    format->node(&l, &(struct lineage_node){.field = root, .children = 1});
    l.count++;
    format->node(&l, &(struct lineage_node){.field = child, .level = 1, .linked = true});
    format->end(&l);
    lineage_flush(&l);
    fclose(l.out);
    fclose(l.spool);
    free(l.left);
    buf_free(&l.line);
    buf_free(&l.batch);
    buf_reset(&out);
    buf_add(&out, text, len);
    free(text);
}

static size_t times(const char *what) {
    size_t n = 0;
    for (const char *at = out.data; (at = strstr(at, what)); at += strlen(what))
        n++;
    return n;
}

static void test_tree(void **state) {
    (void)state;
    write_lineage(&lineage_tree, "x\n└── y\x1b");
    assert_string_equal(out.data, "x └── y?    r\n└── x └── y? x └── y?  failed  c\n");
}

static void test_dot(void **state) {
    (void)state;
    write_lineage(&lineage_dot, "\"; evil -> good [x=\"\\\" &<b>");
    assert_int_equal(times("->"), 1);
    assert_int_equal(times("  \"r\" -> \"c\";\n"), 1);
    assert_int_equal(times("[label=\"&quot;; evil -&gt; good [x=&quot;&#92;&quot; &amp;&lt;b&gt; "
                           "&quot;; evil -&gt; good [x=&quot;&#92;&quot; &amp;&lt;b&gt;\\nfailed\""),
                     1);
}

static void test_cypher(void **state) {
    (void)state;
    write_lineage(&lineage_cypher, "\"}) DETACH DELETE r //");
    assert_int_equal(times("url: \"\\\"}) DETACH DELETE r //\""), 1);
    write_lineage(&lineage_cypher, "\\u0022}) DETACH"); /* some versions read \u0022 as a quote, wherever it stands */
    assert_int_equal(times("\\u"), 0);
    assert_int_equal(times("url: \"\\\\\"+\"u0022}) DETACH\""), 1);
    write_lineage(&lineage_cypher, "\\\\u0022 \\n");
    assert_int_equal(times("url: \"\\\\\\\\\"+\"u0022 \\\\n\""), 1);
}

static void test_json(void **state) {
    (void)state;
    write_lineage(&lineage_json, "\"]}\n\xff");
    assert_int_equal(times("\"url\":\"\\\"]}\\n\xef\xbf\xbd\""), 1);
    assert_int_equal(times("],\"edges\":[\n{\"source\":\"r\",\"target\":\"c\",\"kind\":\"\"}\n]}\n"), 1);
}

static void test_openlineage(void **state) {
    (void)state;
    write_lineage(&lineage_openlineage, "https://kayak.test:8443?q=\n");
    assert_int_equal(times("\n"), 2); /* a line a run */
    assert_int_equal(times("\"inputs\":[{\"namespace\":\"https://kayak.test:8443\",\"name\":\"?q=\\n\"}]"), 1);
    assert_int_equal(times("\"eventType\":\"FAIL\""), 1);
    write_lineage(&lineage_openlineage, "no url");
    assert_int_equal(times("\"inputs\":[]"), 2);
}

static void test_graphml(void **state) {
    (void)state;
    write_lineage(&lineage_graphml, "</data><node id=\"x\"/>");
    assert_int_equal(times("<node "), 2);
    assert_int_equal(times("<data key=\"url\">&lt;/data&gt;&lt;node id=&quot;x&quot;/&gt;</data>"), 1);
}

static int teardown(void **state) {
    (void)state;
    buf_free(&out);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),   cmocka_unit_test(test_width), cmocka_unit_test(test_csv),
        cmocka_unit_test(test_xml),     cmocka_unit_test(test_tree),  cmocka_unit_test(test_dot),
        cmocka_unit_test(test_cypher),  cmocka_unit_test(test_json),  cmocka_unit_test(test_openlineage),
        cmocka_unit_test(test_graphml),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("print", tests, NULL, teardown);
}
