/* document_test.c - result documents: the exact bytes of a small one, every encoding and the way back, and what a check
 * must notice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "lake/lake.h"
/* After trotline.h: cmocka's macro fail() would take the name of a member there. */
#include <cmocka.h>

#define ROOT          "0198a000-0000-7000-8000-000000000001"
#define RUN           "0198a000-0000-7000-8000-000000000002"
#define RESULT        "0198a000-0000-7000-8000-000000000003"
#define SPAN(literal) ((struct tl_span){"" literal, sizeof(literal) - 1})

static const char *const path[] = {ROOT};

static struct document plain(const struct document_dataset *datasets, size_t count) {
    return (struct document){.result_id = RESULT,
                             .run_id = RUN,
                             .root_id = ROOT,
                             .parent_id = ROOT,
                             .depth = 1,
                             .path = path,
                             .path_count = 1,
                             .collector = "http",
                             .collector_version = "1.0",
                             .org = "Acme & Co",
                             .project = "w\xC3\xA4ter/7",
                             .result_context_name = "line",
                             .result_name = "http",
                             .payload = SPAN("{\"url\":\"https://example.org/\"}"),
                             .leash = SPAN("{\"depth\":3}"),
                             .status = "success",
                             .started_us = 1767323045000006,
                             .finished_us = 1767323046500000,
                             .dataset = datasets,
                             .dataset_count = count};
}

/* What was written, and what it says about itself. */
struct made {
    struct buf file, summary;
    struct document_sums sums;
};

static int make(struct made *m, const struct document *d) {
    struct hash *hash = hash_new();
    *m = (struct made){0};
    int rc = document_write(&m->file, d, hash, &m->sums, &m->summary);
    hash_free(hash);
    return rc;
}

static void made_free(struct made *m) {
    buf_free(&m->file);
    buf_free(&m->summary);
}

static void assert_whole(const struct made *m) {
    struct fail why = FAIL_INIT;
    if (document_check(buf_span(&m->file), &why))
        fail_msg("%s\n%s", why.text, m->file.data);
    struct sha256 sum = hash_sha256(m->file.data, m->file.len);
    assert_memory_equal(&sum, &m->sums.sha256, sizeof sum);
    assert_int_equal(m->sums.bytes, m->file.len);
}

static void assert_value(const struct made *m, const char *pointer, const char *raw) {
    struct tl_json value;
    if (json_find(buf_span(&m->file), pointer, &value))
        fail_msg("no %s in %s", pointer, m->file.data);
    AUTO_FREE char *text = mem_text_n(value.raw.ptr, value.raw.len);
    assert_string_equal(text, raw);
}

/* One SIMPLE dataset of this element, written and found whole. */
static void make_one(struct made *m, const struct document_element *e) {
    struct document_dataset set = {.id = "d1", .name = "page", .kind = TL_SIMPLE, .element = e, .count = 1};
    struct document d = plain(&set, 1);
    assert_int_equal(make(m, &d), TL_OK);
    assert_whole(m);
}

struct got {
    struct buf bytes;
    int rc;
    size_t parts;
};

static int get_bytes(void *ctx, const struct document_part *part) {
    struct got *g = ctx;
    g->parts++;
    g->rc = document_bytes(part, &g->bytes);
    return 0;
}

/* Written with this encoding, and from it come the same bytes back. */
static void assert_round_trip(const struct document_element *e, const char *encoding) {
    struct made m;
    make_one(&m, e);
    assert_value(&m, "/datasets/0/encoding", encoding);
    char hex[SHA256_HEX], quoted[SHA256_HEX + 2], bytes[24];
    struct sha256 sum = hash_sha256(e->data.ptr, e->data.len);
    snprintf(quoted, sizeof quoted, "\"%s\"", hash_hex(sum.byte, SHA256_BYTES, hex));
    assert_value(&m, "/datasets/0/sha256", quoted);
    snprintf(bytes, sizeof bytes, "%zu", e->data.len);
    assert_value(&m, "/datasets/0/bytes", bytes);
    assert_int_equal(m.sums.data_bytes, e->data.len);
    struct got g = {.rc = 1};
    assert_int_equal(document_each(buf_span(&m.file), get_bytes, &g), TL_OK);
    assert_int_equal(g.rc, TL_OK);
    assert_int_equal(g.bytes.len, e->data.len);
    assert_memory_equal(g.bytes.data ? g.bytes.data : "", e->data.ptr, e->data.len);
    buf_free(&g.bytes);
    made_free(&m);
}
#define ASSERT_ROUND_TRIP(literal, is_json, encoding)                                                                  \
    assert_round_trip(&(struct document_element){.data = SPAN(literal), .json = (is_json)}, "\"" encoding "\"")

/* ---- the bytes ---- */

static void test_exact(void **state) {
    (void)state;
    struct document_element e = {.http = SPAN("{\"status\":200}"),
                                 .data_url = "https://example.org/",
                                 .media_type = "text/html",
                                 .data = SPAN("<p>\"\xC3\xBC\"\n")};
    struct document_dataset set = {.id = "d1",
                                   .name = "page",
                                   .tags = "http, page ,",
                                   .kind = TL_SIMPLE,
                                   .element = &e,
                                   .count = 1,
                                   .metadata = SPAN("{\"more\": [1, 2]}")};
    struct document d = plain(&set, 1);
    struct made m;
    assert_int_equal(make(&m, &d), TL_OK);
    /* Both digests were computed by sha256sum: of the data, and of what stands before ,"checksum" with a brace behind
     * it. */
    assert_string_equal(
        m.file.data,
        "{\"schema_version\":\"result_v1\",\"result_id\":\"" RESULT "\",\"run_id\":\"" RUN
        "\",\"lineage\":{\"root_id\":\"" ROOT "\",\"parent_id\":\"" ROOT "\",\"depth\":1,\"path\":[\"" ROOT
        "\"]},\"collector\":{\"name\":\"http\",\"version\":\"1.0\"},"
        "\"target\":{\"org\":\"Acme & "
        "Co\",\"project\":\"w\xC3\xA4ter/7\",\"name\":null},\"result_context_name\":\"line\","
        "\"result_name\":\"http\",\"run_context\":null,\"payload\":{\"url\":\"https://example.org/"
        "\"},\"leash\":{\"depth\":3},"
        "\"status\":\"success\",\"error\":null,\"started_at\":\"2026-01-02T03:04:05.000006Z\","
        "\"finished_at\":\"2026-01-02T03:04:06.500000Z\",\"datasets\":[{\"id\":\"d1\",\"name\":\"page\",\"type\":"
        "\"SIMPLE\","
        "\"tags\":[\"http\",\"page\"],\"metadata\":{\"http\":{\"status\":200},\"charset\":\"utf-8\",\"more\":[1, 2]},"
        "\"data_url\":\"https://example.org/\",\"media_type\":\"text/html\",\"encoding\":\"text\",\"bytes\":8,"
        "\"sha256\":\"5818bc95a785125047295e93261e39b9d03e26ed29108faadc078c935037c237\",\"data\":\"<p>"
        "\\\"\xC3\xBC\\\"\\n\"}],"
        "\"checksum\":\"sha256:e7d830092e930c5c9a8fc1248c6675ce1c71133b114fc96c1364df05a32857f4\"}");
    assert_string_equal(m.summary.data,
                        "[[\"page\",\"SIMPLE\",1,8,\"text/"
                        "html\",\"text\",\"5818bc95a785125047295e93261e39b9d03e26ed29108faadc078c935037c237\"]]");
    assert_whole(&m);
    made_free(&m);
}

static void test_root(void **state) {
    (void)state;
    struct document d = plain(NULL, 0);
    struct made m;
    d.parent_id = NULL;
    d.depth = 0;
    d.path_count = 0;
    d.status = "failed";
    d.error = SPAN("{\"kind\":\"crashed\",\"message\":\"signal 11\"}");
    d.run_context = SPAN(" {\"week\": \"2026-W23\"}\n");
    assert_int_equal(make(&m, &d), TL_OK);
    assert_whole(&m);
    assert_value(&m, "/lineage/parent_id", "null");
    assert_value(&m, "/lineage/path", "[]");
    assert_value(&m, "/datasets", "[]");
    assert_value(&m, "/run_context/week", "\"2026-W23\"");
    assert_value(&m, "/error/kind", "\"crashed\"");
    assert_string_equal(m.summary.data, "[]");
    made_free(&m);
}

/* ---- encodings ---- */

static void test_text(void **state) {
    (void)state;
    ASSERT_ROUND_TRIP("", false, "text");
    ASSERT_ROUND_TRIP("", true, "text");
    ASSERT_ROUND_TRIP("nul \0 byte, \x01\x1F\x7F, \\ and \"", false, "text");
    ASSERT_ROUND_TRIP("\xEF\xBB\xBFwith a byte order mark", false, "text");
    ASSERT_ROUND_TRIP("\xF0\x9F\x9B\xB6 \xE2\x80\xA8 \xEF\xBF\xBD", false, "text");
    ASSERT_ROUND_TRIP("{\"not\": valid}", true, "text");
    ASSERT_ROUND_TRIP("{\"valid\": 1}", false, "text");
}

static void test_base64(void **state) {
    (void)state;
    ASSERT_ROUND_TRIP("\xFF", false, "base64");
    ASSERT_ROUND_TRIP("\x89PNG\r\n\x1A\n\0", false, "base64");
    ASSERT_ROUND_TRIP("\xED\xA0\x80", false, "base64"); /* a surrogate is no UTF-8 */
    ASSERT_ROUND_TRIP("\xC0\xAF", false, "base64");     /* overlong */
    ASSERT_ROUND_TRIP("{\"bad\": \"\xFC\"}", true, "base64");
    struct made m;
    make_one(&m, &(struct document_element){.data = SPAN("\xFF"), .charset = "windows-1252"});
    assert_value(&m, "/datasets/0/metadata", "{}");
    made_free(&m);
}

static void test_json(void **state) {
    (void)state;
    ASSERT_ROUND_TRIP("\n\t {\"n\": 9007199254740993, \"a\": 1.0, \"a\": \"x\\u0000y\", \"s\": \"\\/\\ud800\"} \r\n",
                      true, "json");
    ASSERT_ROUND_TRIP("[]", true, "json");
    ASSERT_ROUND_TRIP("1e400", true, "json");
    struct made m;
    make_one(&m, &(struct document_element){.data = SPAN("{\"a\": 1.0,\"a\":2}"), .json = true});
    assert_value(&m, "/datasets/0/data", "{\"a\": 1.0,\"a\":2}");
    assert_value(&m, "/datasets/0/metadata", "{}");
    made_free(&m);
    make_one(&m, &(struct document_element){.data = SPAN("[1]"), .json = true, .sure = true});
    assert_value(&m, "/datasets/0/data/0", "1");
    made_free(&m);
}

static void nested(struct buf *out, int depth, const char *inside) {
    for (int i = 0; i < depth; i++)
        buf_char(out, '[');
    buf_text(out, inside);
    for (int i = 0; i < depth; i++)
        buf_char(out, ']');
}

/* A body that our reader takes by itself must not make a document that it does not take. */
static void test_deep_json(void **state) {
    (void)state;
    for (int depth = JSON_DEPTH - 12; depth <= JSON_DEPTH; depth++) {
        AUTO_BUF struct buf body = BUF_INIT;
        nested(&body, depth, "\"]]\\\"\"");
        assert_int_equal(json_valid(buf_span(&body), NULL), TL_OK);
        struct document_element e = {.id = "1", .page_number = 1, .data = buf_span(&body), .json = true};
        struct document_dataset set = {.id = "d", .name = "pages", .kind = TL_PAGED, .element = &e, .count = 1};
        struct document d = plain(&set, 1);
        struct made m;
        assert_int_equal(make(&m, &d), TL_OK);
        assert_whole(&m);
        assert_value(&m, "/datasets/0/pages/1/encoding", depth <= JSON_DEPTH - 6 ? "\"json\"" : "\"text\"");
        made_free(&m);
    }
    /* Many brackets side by side are not deep, nor are those inside strings. */
    AUTO_BUF struct buf wide = BUF_INIT;
    buf_char(&wide, '[');
    for (int i = 0; i < 2000; i++)
        buf_text(&wide, i ? ",{\"[[{\\\\\": [\"\\\"{{\"]}" : "{}");
    buf_char(&wide, ']');
    assert_round_trip(&(struct document_element){.data = buf_span(&wide), .json = true}, "\"json\"");
}

static void test_charset(void **state) {
    (void)state;
    struct made m;
    /* "мир" in windows-1251 */
    make_one(&m, &(struct document_element){.data = SPAN("\xEC\xE8\xF0"),
                                            .charset = "windows-1251",
                                            .text = SPAN("\xD0\xBC\xD0\xB8\xD1\x80"),
                                            .metadata = SPAN("{\"charset\":\"mine\",\"k\":1}")});
    assert_value(&m, "/datasets/0/encoding", "\"text\"");
    assert_value(&m, "/datasets/0/data", "\"\xD0\xBC\xD0\xB8\xD1\x80\"");
    assert_value(&m, "/datasets/0/metadata", "{\"charset\":\"windows-1251\",\"k\":1}");
    assert_value(&m, "/datasets/0/bytes", "3");
    struct got g = {.rc = 1};
    assert_int_equal(document_each(buf_span(&m.file), get_bytes, &g), TL_OK);
    assert_int_equal(g.rc, TL_UNSUPPORTED);
    assert_string_equal(g.bytes.data, "\xD0\xBC\xD0\xB8\xD1\x80");
    buf_free(&g.bytes);
    made_free(&m);
    /* UTF-16 without a mark is valid UTF-8 with zeros; the text goes first. */
    make_one(&m, &(struct document_element){.data = SPAN("h\0i\0"), .charset = "utf-16le", .text = SPAN("hi")});
    assert_value(&m, "/datasets/0/data", "\"hi\"");
    made_free(&m);
    /* Text that does not round-trip is not given: the bytes are kept. */
    make_one(&m, &(struct document_element){.data = SPAN("\x81\xFF"), .charset = "shift_jis"});
    assert_value(&m, "/datasets/0/encoding", "\"base64\"");
    made_free(&m);
}

static void test_metadata(void **state) {
    (void)state;
    struct document_element e = {.http = SPAN("{\"status\":200}"),
                                 .metadata = SPAN("{\"http\":1,\"\\u0063harset\":2,\"own\":{\"a\":\"\\u00e4\"}}"),
                                 .data = SPAN("x")};
    struct made m;
    make_one(&m, &e);
    assert_value(&m, "/datasets/0/metadata",
                 "{\"http\":{\"status\":200},\"charset\":\"utf-8\",\"own\":{\"a\":\"\\u00e4\"}}");
    made_free(&m);
}

/* ---- kinds ---- */

static void test_paged(void **state) {
    (void)state;
    struct document_element e[] = {{.id = "b", .page_number = 2, .media_type = "text/plain", .data = SPAN("second")},
                                   {.id = "a", .page_number = 1, .data = SPAN("[1]"), .json = true},
                                   {.id = "c/~", .page_number = 3, .data = SPAN("\xFF")}};
    struct document_dataset set = {.id = "d",
                                   .name = "list",
                                   .kind = TL_PAGED,
                                   .element = e,
                                   .count = 3,
                                   .metadata = SPAN("{\"pages_by_number\":0,\"total\":3}")};
    struct document d = plain(&set, 1);
    struct made m;
    assert_int_equal(make(&m, &d), TL_OK);
    assert_whole(&m);
    assert_value(&m, "/datasets/0/metadata",
                 "{\"pages_by_number\":{\"1\":\"a\",\"2\":\"b\",\"3\":\"c/~\"},\"total\":3}");
    assert_value(&m, "/datasets/0/pages/b/page_number", "2");
    assert_value(&m, "/datasets/0/pages/a/data", "[1]");
    assert_value(&m, "/datasets/0/pages/c~1~0/id", "\"c/~\"");
    assert_string_equal(m.summary.data, "[[\"list\",\"PAGED\",3,10,\"text/plain\",\"text\",null]]");
    assert_int_equal(m.sums.data_bytes, 10);
    struct got g = {.rc = 1};
    assert_int_equal(document_each(buf_span(&m.file), get_bytes, &g), TL_OK);
    assert_int_equal(g.parts, 3);
    assert_string_equal(g.bytes.data, "second[1]\xFF");
    buf_free(&g.bytes);
    made_free(&m);

    e[1].page_number = 4; /* a hole */
    assert_int_equal(make(&m, &d), TL_INVALID);
    made_free(&m);
    e[1].page_number = 2; /* twice */
    assert_int_equal(make(&m, &d), TL_INVALID);
    made_free(&m);
    e[1].page_number = 1;
    e[1].id = "b";
    assert_int_equal(make(&m, &d), TL_INVALID);
    assert_int_equal(m.file.len, 0);
    made_free(&m);
}

static void test_key_value(void **state) {
    (void)state;
    struct document_element e[] = {{.id = "1", .key = "name", .data = SPAN("x")},
                                   {.id = "2", .key = "name", .data = SPAN("y")}};
    struct document_dataset set = {.id = "d", .name = "pairs", .kind = TL_KEY_VALUE, .element = e, .count = 2};
    struct document d = plain(&set, 1);
    struct made m;
    assert_int_equal(make(&m, &d), TL_OK);
    assert_whole(&m);
    assert_value(&m, "/datasets/0/metadata", "{}");
    assert_value(&m, "/datasets/0/key_values/2/key", "\"name\"");
    assert_value(&m, "/datasets/0/key_values/2/data", "\"y\"");
    made_free(&m);
    set.count = 0;
    assert_int_equal(make(&m, &d), TL_OK);
    assert_whole(&m);
    assert_value(&m, "/datasets/0/key_values", "{}");
    assert_string_equal(m.summary.data, "[[\"pairs\",\"KEY_VALUE\",0,0,null,null,null]]");
    made_free(&m);
}

static void test_attachments(void **state) {
    (void)state;
    struct document_element e = {
        .attachment = "repo.bundle", .bytes = 1LL << 40, .media_type = "application/x-git-bundle"};
    memset(&e.sha256, 0xAB, sizeof e.sha256);
    struct document_dataset set = {.id = "d", .name = "bundle", .kind = TL_SIMPLE, .element = &e, .count = 1};
    struct document_attachment a = {
        .name = "repo.bundle", .path = "attachments/x/repo.bundle", .bytes = e.bytes, .sha256 = e.sha256};
    struct document d = plain(&set, 1);
    d.attachment = &a;
    d.attachment_count = 1;
    struct made m;
    assert_int_equal(make(&m, &d), TL_OK);
    assert_whole(&m);
    assert_value(&m, "/datasets/0/encoding", "\"attachment\"");
    assert_value(&m, "/datasets/0/data", "null");
    assert_value(&m, "/datasets/0/attachment", "\"repo.bundle\"");
    assert_value(&m, "/datasets/0/bytes", "1099511627776");
    assert_value(&m, "/attachments/0/path", "\"attachments/x/repo.bundle\"");
    assert_non_null(strstr(m.file.data, "abab\",\"media_type\":null}],\"checksum\":\"sha256:"));
    struct got g = {.rc = 1};
    assert_int_equal(document_each(buf_span(&m.file), get_bytes, &g), TL_OK);
    assert_int_equal(g.rc, TL_NOTFOUND);
    made_free(&m);
}

/* ---- refusals ---- */

static void test_refused(void **state) {
    (void)state;
    struct document_element e[2] = {{.data = SPAN("x")}, {.data = SPAN("y")}};
    struct document_dataset set = {.id = "d", .name = "page", .kind = TL_SIMPLE, .element = e, .count = 1};
    const struct document good = plain(&set, 1);
    struct document bad[7];
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        bad[i] = good;
    bad[0].payload = SPAN("{");
    bad[1].error = SPAN("\"no object\"");
    bad[2].run_id = NULL;
    bad[3].parent_id = NULL; /* but a path */
    bad[4].leash = SPAN("{\"a\":\"\xFF\"}");
    bad[5].run_context = SPAN("{} {}");
    bad[6].path_count = 0;
    struct hash *hash = hash_new();
    AUTO_BUF struct buf out = BUF_INIT;
    AUTO_BUF struct buf summary = BUF_INIT;
    struct document_sums sums;
    buf_text(&out, "before");
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(document_write(&out, &bad[i], hash, &sums, &summary), TL_INVALID);
        assert_string_equal(out.data, "before");
        assert_int_equal(summary.len, 0);
    }
    e[0].metadata = SPAN("[1]");
    assert_int_equal(document_write(&out, &good, hash, &sums, &summary), TL_INVALID);
    e[0].metadata = SPAN("");
    e[0].http = SPAN("nothing");
    assert_int_equal(document_write(&out, &good, hash, &sums, &summary), TL_INVALID);
    e[0].http = SPAN("");
    set.count = 2;
    assert_int_equal(document_write(&out, &good, hash, &sums, &summary), TL_INVALID);
    set.count = 1;
    struct buf small = {.max = 500};
    assert_int_equal(document_write(&small, &good, hash, &sums, &summary), TL_FAILED);
    assert_int_equal(small.len, 0);
    buf_free(&small);
    assert_int_equal(document_write(&out, &good, hash, &sums, &summary), TL_OK);
    assert_int_equal(document_check((struct tl_span){out.data + 6, out.len - 6}, NULL), TL_OK); /* appended */
    hash_free(hash);
}

/* ---- the check ---- */

/* Replaces a text, gives the result a right checksum again when `seal` is set, and says what the check answers. */
static void assert_damaged(const struct made *m, const char *from, const char *to, bool seal, const char *says) {
    AUTO_BUF struct buf file = BUF_INIT;
    const char *at = strstr(m->file.data, from);
    assert_non_null(at);
    buf_add(&file, m->file.data, (size_t)(at - m->file.data));
    buf_text(&file, to);
    buf_text(&file, at + strlen(from));
    if (seal) {
        char hex[SHA256_HEX];
        size_t tail = strlen(",\"checksum\":\"sha256:\"}") + 64;
        file.len -= tail;
        buf_char(&file, '}');
        struct sha256 sum = hash_sha256(file.data, file.len);
        file.len--;
        buf_printf(&file, ",\"checksum\":\"sha256:%s\"}", hash_hex(sum.byte, SHA256_BYTES, hex));
    }
    struct fail why = FAIL_INIT;
    int rc = document_check(buf_span(&file), &why);
    if (rc != TL_INVALID || why.exit_code != EXIT_DAMAGED || !strstr(why.text, says))
        fail_msg("%s -> %s: %d, \"%s\"", from, to, rc, why.text);
}

static void test_check(void **state) {
    (void)state;
    struct document_element page[] = {{.id = "p1", .page_number = 1, .data = SPAN("one")},
                                      {.id = "p2", .page_number = 2, .data = SPAN("two")}};
    struct document_element one = {.data = SPAN("\xFF\xFE")};
    struct document_dataset set[] = {{.id = "d1", .name = "blob", .kind = TL_SIMPLE, .element = &one, .count = 1},
                                     {.id = "d2", .name = "list", .kind = TL_PAGED, .element = page, .count = 2}};
    struct document d = plain(set, 2);
    struct made m;
    assert_int_equal(make(&m, &d), TL_OK);
    assert_whole(&m);
    for (size_t i = 0; i < m.file.len; i++) /* no byte can be lost at the end */
        assert_int_equal(document_check((struct tl_span){m.file.data, i}, NULL), TL_INVALID);
    for (size_t i = 0; i < m.file.len; i++) { /* none can be another anywhere */
        m.file.data[i] ^= 1;
        assert_int_equal(document_check(buf_span(&m.file), NULL), TL_INVALID);
        m.file.data[i] ^= 1;
    }
    assert_damaged(&m, "one", "two", false, "checksum");
    assert_damaged(&m, "one", "two", true, "SHA-256");
    assert_damaged(&m, "\"bytes\":2", "\"bytes\":3", true, "3");
    assert_damaged(&m, "//4=", "//5=", true, "cannot be read"); /* bits behind the end */
    assert_damaged(&m, "\"run_id\":", "\"run\":", true, "run_id");
    assert_damaged(&m, "result_v1", "result_v2", true, "schema_version");
    assert_damaged(&m, ",\"status\":\"success\"", ",\"status\":\"success\",\"status\":\"success\"", true, "error");
    assert_damaged(&m, "\"status\":\"success\"", "\"status\":\"done\"", true, "status");
    assert_damaged(&m, "\"error\":null", "\"error\":{}", true, "agree");
    assert_damaged(&m, "2026-01-02T03:04:05.000006Z", "2026-01-02T03:04:05Z", true, "started_at");
    assert_damaged(&m, "2026-01-02T03:04:05", "2026-01-02T04:04:05", true, "started_at");
    assert_damaged(&m, "\"2\":\"p2\"", "\"3\":\"p2\"", true, "pages_by_number");
    assert_damaged(&m, "\"2\":\"p2\"", "\"2\":\"p1\"", true, "pages_by_number");
    assert_damaged(&m, ",\"2\":\"p2\"", "", true, "1 of 2");
    assert_damaged(&m, "\"p2\":{\"id\":\"p2\"", "\"p1\":{\"id\":\"p1\"", true, "twice");
    assert_damaged(&m, "\"p2\":{\"id\":\"p2\"", "\"p2\":{\"id\":\"p3\"", true, "its id");
    assert_damaged(&m, "\"PAGED\"", "\"PAGES\"", true, "type");
    assert_damaged(&m, "\"depth\":1", "\"depth\":-1", true, "depth");
    assert_damaged(&m, "\"project\"", "\"projects\"", true, "project");
    assert_damaged(&m, "\"}", "\"}\n", false, ""); /* nothing follows the brace */
    made_free(&m);
}

/* What an element says of entities stands behind its data, and nowhere else. */
static void test_entities(void **state) {
    struct made m;
    struct document_element e = {.id = "repo",
                                 .media_type = "application/json",
                                 .json = true,
                                 .data = SPAN("{\"id\":9007199254740993}"),
                                 .entity = SPAN(" {\"links\":{}} "),
                                 .entities = SPAN("[{\"pointer\":\"/0\"}]")};
    const struct document_dataset one = {.id = "repo", .name = "repo", .kind = TL_SIMPLE, .element = &e, .count = 1};
    const struct document d = plain(&one, 1);
    (void)state;
    assert_int_equal(make(&m, &d), TL_OK);
    assert_whole(&m);
    assert_non_null(strstr(m.file.data,
                           "\"data\":{\"id\":9007199254740993},\"_metadata\":{\"links\":{}},\"_entities\":["
                           "{\"pointer\":\"/0\"}]}"));
    assert_damaged(&m, "\"_metadata\"", "\"_metadatas\"", true, "");
    assert_damaged(&m, "\"_entities\":[{\"pointer\":\"/0\"}]", "\"_entities\":{}", true, "");
    made_free(&m);
    e.entity = SPAN("[]");
    assert_int_equal(make(&m, &d), TL_INVALID);
    made_free(&m);
    e.entity = SPAN("{\"a\":1,}");
    assert_int_equal(make(&m, &d), TL_INVALID);
    made_free(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),     cmocka_unit_test(test_root),        cmocka_unit_test(test_text),
        cmocka_unit_test(test_base64),    cmocka_unit_test(test_json),        cmocka_unit_test(test_deep_json),
        cmocka_unit_test(test_charset),   cmocka_unit_test(test_metadata),    cmocka_unit_test(test_paged),
        cmocka_unit_test(test_key_value), cmocka_unit_test(test_attachments), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_check),     cmocka_unit_test(test_entities),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("document", tests, NULL, NULL);
}
