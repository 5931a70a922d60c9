/* json_test.c - UTF-8, the JSON tokenizer, the writer and the canonical form, against JSONTestSuite and naive
 * references. */
#include <dirent.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <cmocka.h> /* last: its macro fail() is also a field's name in trotline.h */

#define SPAN(literal) ((struct tl_span){"" literal, sizeof(literal) - 1})

static uint32_t seed = 20261130;
static uint32_t any(uint32_t below) {
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)seed * below >> 32);
}

/* A copy that ends where the text ends, so that a sanitizer sees a byte read too many. */
static char *exact(const void *ptr, size_t len) {
    char *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, ptr, len);
    return copy;
}

static int valid(const char *text) {
    return json_valid(span_of(text), NULL);
}

/* ---- UTF-8 ---- */

/* Table 3-7 of the Unicode standard, row by row. */
static size_t reference_sequence(const unsigned char *p, size_t left) {
    static const unsigned char rows[][9] = {
        {1, 0x00, 0x7F},
        {2, 0xC2, 0xDF, 0x80, 0xBF},
        {3, 0xE0, 0xE0, 0xA0, 0xBF, 0x80, 0xBF},
        {3, 0xE1, 0xEC, 0x80, 0xBF, 0x80, 0xBF},
        {3, 0xED, 0xED, 0x80, 0x9F, 0x80, 0xBF},
        {3, 0xEE, 0xEF, 0x80, 0xBF, 0x80, 0xBF},
        {4, 0xF0, 0xF0, 0x90, 0xBF, 0x80, 0xBF, 0x80, 0xBF},
        {4, 0xF1, 0xF3, 0x80, 0xBF, 0x80, 0xBF, 0x80, 0xBF},
        {4, 0xF4, 0xF4, 0x80, 0x8F, 0x80, 0xBF, 0x80, 0xBF},
    };
    for (size_t r = 0; r < COUNT_OF(rows); r++) {
        size_t n = rows[r][0], i = 0;
        while (i < n && i < left && p[i] >= rows[r][1 + 2 * i] && p[i] <= rows[r][2 + 2 * i])
            i++;
        if (i == n)
            return n;
    }
    return 0;
}

static bool reference_valid(const char *ptr, size_t len) {
    for (size_t at = 0, n; at < len; at += n)
        if ((n = reference_sequence((const unsigned char *)ptr + at, len - at)) == 0)
            return false;
    return true;
}

static void utf8_agrees_with_the_standard(void **state) {
    (void)state;
    static const unsigned char edge[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF,
                                         0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF};
    enum { N = COUNT_OF(edge) };
    /* Every four of the bytes where something changes, at every place relative to a block of 16. */
    for (unsigned i = 0; i < N * N * N * N; i++) {
        char text[40];
        size_t before = i % 18, len = before + 4 + (i % 3) * 8;
        memset(text, 'x', sizeof text);
        for (unsigned k = 0, rest = i; k < 4; k++, rest /= N)
            text[before + k] = (char)edge[rest % N];
        bool want = reference_valid(text, len);
        if (utf8_valid(text, len) != want)
            fail_msg("four bytes number %u at %zu: reference says %d", i, before, want);
        uint32_t cp;
        size_t n = reference_sequence((unsigned char *)text + before, 4);
        const char *at = text + before;
        assert_int_equal(utf8_sequence(at, at + 4), n);
        assert_int_equal(utf8_next(&at, at + 4, &cp), n ? TL_OK : TL_INVALID);
        char again[4];
        if (n) {
            assert_int_equal(utf8_put(again, cp), n);
            assert_memory_equal(again, text + before, n);
        }
    }
    for (int round = 0; round < 60000; round++) { /* denser text, mostly right, sometimes cut or changed */
        char text[96], part[4];
        size_t len = 0, to = any(80);
        while (len < to) {
            uint32_t cp = any(4) ? any(0x100) << any(13) : any(0x80);
            size_t n = utf8_put(part, cp);
            memcpy(text + len, part, n);
            len += n;
        }
        if (len && any(2))
            text[any((uint32_t)len)] = (char)edge[any(N)];
        if (len && !any(4))
            len -= 1;
        AUTO_FREE char *copy = exact(text, len);
        bool want = reference_valid(text, len);
        assert_int_equal(utf8_valid(copy, len), want);
        char quoted[100] = "\"";
        bool plain = true;
        for (size_t i = 0; i < len; i++) {
            quoted[1 + i] = text[i];
            plain = plain && (unsigned char)text[i] >= ' ' && text[i] != '"' && text[i] != '\\';
        }
        quoted[1 + len] = '"';
        if (plain)
            assert_int_equal(json_valid((struct tl_span){quoted, len + 2}, NULL), want ? TL_OK : TL_INVALID);
    }
}

/* How browsers replace what is no UTF-8 (Unicode 3.9, table 3-8 and its neighbours). */
static void utf8_is_repaired(void **state) {
    (void)state;
    char text[] = "a\xFF"
                  "\xC3\xA9"
                  "\xE2\x82"
                  "z\xF0\x9F\x98";
    utf8_repair(text);
    assert_string_equal(text, "a?\xC3\xA9??z???");
}

static void utf8_replaces_maximal_parts(void **state) {
    (void)state;
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64", "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd"},
        {"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA"},
        {"\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA"},
        {"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA\uFFFD\uFFFDB"},
        {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", "\uFFFD\uFFFD\uFFFD\uFFFDA"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF struct buf out = BUF_INIT;
        struct json_writer w = JSON_WRITER(&out);
        json_put_text(&w, rows[i].in);
        assert_int_equal(out.len, strlen(rows[i].out) + 2);
        assert_memory_equal(out.data + 1, rows[i].out, out.len - 2);
    }
    char part[4];
    assert_int_equal(utf8_put(part, 0xD800), 3);
    assert_memory_equal(part, UTF8_REPLACEMENT_TEXT, 3);
    assert_int_equal(utf8_put(part, 0x110000), 3);
}

/* ---- the tokenizer ---- */

static void suite_is_answered(void **state) {
    (void)state;
    const char *data = getenv("TROTLINE_TEST_DATA");
    char path[4096];
    snprintf(path, sizeof path, "%s/json", data ? data : "tests/data");
    DIR *dir = opendir(path);
    assert_non_null(dir);
    int yes = 0, no = 0, either = 0;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        size_t name_len = strlen(e->d_name);
        if (name_len < 6 || strcmp(e->d_name + name_len - 5, ".json") != 0)
            continue;
        snprintf(path, sizeof path, "%s/json/%s", data ? data : "tests/data", e->d_name);
        AUTO_FCLOSE FILE *f = fopen(path, "rb");
        assert_non_null(f);
        AUTO_FREE char *text = malloc(300000);
        size_t len = fread(text, 1, 300000, f);
        AUTO_FREE char *copy = exact(text, len);
        int rc = json_valid((struct tl_span){copy, len}, NULL);
        yes += e->d_name[0] == 'y';
        no += e->d_name[0] == 'n';
        either += e->d_name[0] == 'i';
        if (e->d_name[0] != 'i' && rc != (e->d_name[0] == 'y' ? TL_OK : TL_INVALID))
            fail_msg("%s: %d", e->d_name, rc);
        if (strcmp(e->d_name, "i_structure_500_nested_arrays.json") == 0 ||
            strcmp(e->d_name, "i_object_key_lone_2nd_surrogate.json") == 0)
            assert_int_equal(rc, TL_OK);
        if (strncmp(e->d_name, "i_structure_UTF-8_BOM", 21) == 0)
            assert_int_equal(rc, TL_INVALID);
    }
    closedir(dir);
    assert_true(yes == 62 && no == 121 && either == 14);
}

static void refusals_say_where(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t where;
    } rows[] = {
        {"", 0},
        {"  ", 2},
        {"[1,]", 3},
        {"[1 2]", 3},
        {"{\"a\" 1}", 5},
        {"{\"a\":1,}", 7},
        {"nul", 3},
        {"nulL", 3},
        {"01", 1},
        {"1.", 2},
        {"1e+", 3},
        {"-", 1},
        {"\"a\nb\"", 2},
        {"\"\\x\"", 2},
        {"\"\\u12g4\"", 5},
        {"[1] x", 4},
        {"[1]]", 3},
        {"\"abc", 4},
        {"{1:2}", 1},
        {"[\"\xFF\"]", 2},
        {"\xEF\xBB\xBF{}", 0},
        {"[1}", 2},
        {"{\"a\":1]", 6},
        {"+1", 0},
        {"[\"0123456789abcdef0123\xC3(\"]", 22},
        {"\"0123456789abcde\xE2\x82", 16},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        size_t where = 999;
        assert_int_equal(json_valid(span_of(rows[i].text), &where), TL_INVALID);
        if (where != rows[i].where)
            fail_msg("%s: wrong at %zu, not %zu", rows[i].text, rows[i].where, where);
    }
    size_t where;
    assert_int_equal(json_valid(SPAN(" [1, {\"a\" : [ ] , \"b\":{ }} ]\r\n\t"), &where), TL_OK);
    assert_int_equal(json_valid(SPAN("[\"a\0b\"]"), &where), TL_INVALID);
    assert_int_equal(where, 3);
    assert_int_equal(json_valid((struct tl_span){NULL, 0}, NULL), TL_INVALID);
}

static void depth_has_a_limit(void **state) {
    (void)state;
    AUTO_BUF struct buf b = BUF_INIT;
    for (int i = 0; i < JSON_DEPTH; i++)
        buf_text(&b, i % 2 ? "[" : "{\"a\":");
    buf_text(&b, "1");
    for (int i = JSON_DEPTH; i-- > 0;)
        buf_text(&b, i % 2 ? "]" : "}");
    assert_int_equal(json_valid(buf_span(&b), NULL), TL_OK);
    AUTO_BUF struct buf deeper = BUF_INIT;
    buf_printf(&deeper, "[%s]", b.data);
    assert_int_equal(json_valid(buf_span(&deeper), NULL), TL_INVALID);
    AUTO_BUF struct buf same = BUF_INIT;
    assert_int_equal(json_canonical(buf_span(&b), &same), TL_OK);
    assert_string_equal(same.data, b.data);
}

static struct tl_json root_of(const char *text) {
    struct tl_json root;
    assert_int_equal(json_parse(span_of(text), &root), TL_OK);
    return root;
}

static void numbers_stay_exact(void **state) {
    (void)state;
    struct tl_json root = root_of("[9007199254740993,18446744073709551615,-9223372036854775808,9223372036854775807,-0,"
                                  "9223372036854775808,-9223372036854775809,1e3,1.0,1E400,\"5\",0.10]");
    static const char *const raw[] = {"9007199254740993",
                                      "18446744073709551615",
                                      "-9223372036854775808",
                                      "9223372036854775807",
                                      "-0",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "1e3",
                                      "1.0",
                                      "1E400",
                                      "\"5\"",
                                      "0.10"};
    static const int64_t value[] = {9007199254740993, -1, INT64_MIN, INT64_MAX, 0};
    struct tl_json at = {0};
    for (size_t i = 0; i < COUNT_OF(raw); i++) {
        assert_int_equal(json_next(&root, &at), TL_OK);
        assert_true(span_eq(at.raw, raw[i]));
        assert_int_equal(at.key.len, 0);
        int64_t n = -7;
        bool fits = i < 5 && i != 1;
        assert_int_equal(json_int(&at, &n), fits ? TL_OK : TL_INVALID);
        assert_true(n == (fits ? value[i] : -7));
    }
    assert_int_equal(json_next(&root, &at), TL_NOTFOUND);
}

static void members_are_iterated(void **state) {
    (void)state;
    struct tl_json root = root_of(" { \"a\" : {\"x\":[1,2]} , \"b\\n\":[ ] ,\"a\":true,\"\":null } ");
    assert_int_equal(root.type, TL_JSON_OBJECT);
    assert_true(root.raw.ptr[0] == '{' && root.raw.ptr[root.raw.len - 1] == '}');
    static const struct {
        const char *key, *raw;
        enum tl_json_type type;
    } rows[] = {
        {"\"a\"", "{\"x\":[1,2]}", TL_JSON_OBJECT},
        {"\"b\\n\"", "[ ]", TL_JSON_ARRAY},
        {"\"a\"", "true", TL_JSON_BOOL},
        {"\"\"", "null", TL_JSON_NULL},
    };
    struct tl_json at = {0}, out;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(json_next(&root, &at), TL_OK);
        assert_true(span_eq(at.key, rows[i].key) && span_eq(at.raw, rows[i].raw) && at.type == rows[i].type);
    }
    assert_int_equal(json_next(&root, &at), TL_NOTFOUND);
    assert_int_equal(json_next(&root, &at), TL_NOTFOUND);
    assert_int_equal(json_get(&root, "a", &out), TL_OK); /* the first of a name */
    assert_true(span_eq(out.raw, "{\"x\":[1,2]}"));
    assert_int_equal(json_get(&root, "b\n", &out), TL_OK);
    assert_int_equal(json_get(&root, "c", &out), TL_NOTFOUND);
    assert_int_equal(json_get(&out, "c", &out), TL_INVALID); /* an array has no names */
    struct tl_json empty = root_of("[ ]"), none = {0};
    assert_int_equal(json_next(&empty, &none), TL_NOTFOUND);
    struct tl_json forged = {.type = TL_JSON_ARRAY, .raw = SPAN("[1,\"x]")}, item = {0};
    assert_int_equal(json_next(&forged, &item), TL_OK);
    assert_int_equal(json_next(&forged, &item), TL_INVALID);
    bool b = false;
    struct tl_json yes = root_of("true"), one = root_of("1");
    assert_int_equal(json_bool(&yes, &b), TL_OK);
    assert_true(b);
    assert_int_equal(json_bool(&one, &b), TL_INVALID);
}

/* RFC 6901, section 5, and what it leaves to us. */
static void pointers_find(void **state) {
    (void)state;
    static const char doc[] =
        "{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,\"g|h\":4,\"i\\\\j\":5,"
        "\"k\\\"l\":6,\" \":7,\"m~n\":8,\"\\u00e9\\ud83d\\ude00\":9,\"foo\":10,\"o\":{\"p\":{\"q\":[[11]]}},"
        "\"01\":12,\"~1\":13,\"esc\\u0061pe\":14}";
    static const struct {
        const char *pointer, *raw;
    } rows[] = {
        {"", doc},
        {"/foo", "[\"bar\",\"baz\"]"},
        {"/foo/0", "\"bar\""},
        {"/foo/1", "\"baz\""},
        {"/", "0"},
        {"/a~1b", "1"},
        {"/c%d", "2"},
        {"/e^f", "3"},
        {"/g|h", "4"},
        {"/i\\j", "5"},
        {"/k\"l", "6"},
        {"/ ", "7"},
        {"/m~0n", "8"},
        {"/é😀", "9"},
        {"/o/p/q/0/0", "11"},
        {"/01", "12"},
        {"/~01", "13"},
        {"/escape", "14"},
    };
    struct tl_json v;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(json_find(span_of(doc), rows[i].pointer, &v), TL_OK);
        if (!span_eq(v.raw, rows[i].raw))
            fail_msg("%s", rows[i].pointer);
    }
    static const char *const none[] = {"/fo",     "/fooo",   "/foo/2",  "/foo/-",
                                       "/foo/01", "/foo/00", "/foo/+1", "/foo/0/x",
                                       "/x",      "//",      "/foo/",   "/foo/18446744073709551616",
                                       "/o/p/r",  "/é"};
    for (size_t i = 0; i < COUNT_OF(none); i++)
        if (json_find(span_of(doc), none[i], &v) != TL_NOTFOUND)
            fail_msg("%s", none[i]);
    assert_int_equal(json_find(span_of(doc), "foo", &v), TL_INVALID);
    assert_int_equal(json_find(span_of(doc), "/m~n", &v), TL_INVALID);
    assert_int_equal(json_find(span_of(doc), "/m~", &v), TL_INVALID);
    /* Up to the value the text must be right; what is behind it is not looked at. */
    assert_int_equal(json_find(SPAN("{\"a\":[1,2,"), "/a/1", &v), TL_OK);
    assert_int_equal(json_find(SPAN("{\"b\":tru,\"a\":1}"), "/a", &v), TL_INVALID);
    assert_int_equal(json_find(SPAN(""), "", &v), TL_INVALID);
    assert_int_equal(json_find(SPAN("[1"), "/1", &v), TL_INVALID);
}

static void strings_are_unescaped(void **state) {
    (void)state;
    static const struct {
        const char *json, *text;
        size_t len;
    } rows[] = {
        {"\"\"", "", 0},
        {"\"\"", "", 0},
        {"\"plain\"", "plain", 5},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8},
        {"\"a\\u0000b\"", "a\0b", 3},
        {"\"\\uD83D\\uDE00 \\uFfFf\"", "😀 \uFFFF", 8},
        {"\"\\ud83d\"", "\uFFFD", 3},
        {"\"\\ude00x\"", "\uFFFDx", 4},
        {"\"\\ud83d\\ud83d\\ude00\"", "\uFFFD😀", 7},
        {"\"\\ud83dA\\n\"", "\uFFFDA\n", 5},
        {"\"\\ud83d\\u0041\"", "\uFFFDA", 4},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF struct buf out = BUF_INIT;
        struct tl_json v = root_of(rows[i].json);
        assert_int_equal(json_text(&v, &out), TL_OK);
        assert_int_equal(out.len, rows[i].len);
        assert_non_null(out.data);
        assert_memory_equal(out.data, rows[i].text, out.len + 1);
    }
    AUTO_BUF struct buf small = {.max = 3};
    struct tl_json v = root_of("\"abcd\""), n = root_of("12");
    assert_int_equal(json_text(&v, &small), TL_FAILED);
    assert_int_equal(json_text(&n, &small), TL_INVALID);
}

/* ---- the writer ---- */

static void reference_escape(struct buf *out, const char *ptr, size_t len) {
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)ptr[i];
        const char *at = c ? strchr("\"\\\n\r\t\b\f", c) : NULL;
        if (at)
            buf_printf(out, "\\%c", "\"\\nrtbf"[at - "\"\\\n\r\t\b\f"]);
        else if (c < 0x20)
            buf_printf(out, "\\u%04x", c);
        else
            buf_char(out, (char)c);
    }
}

static void escape_agrees_with_the_naive(void **state) {
    (void)state;
    for (int round = 0; round < 6000; round++) {
        char text[9000];
        size_t len = round % 50 ? any(120) : any(sizeof text);
        uint32_t kind = any(4);
        for (size_t i = 0; i < len; i++)
            text[i] = (char)(kind == 0 ? any(256) : kind == 1 ? any(0x24) : any(30) ? 'a' + any(26) : any(256));
        AUTO_FREE char *copy = exact(text, len);
        AUTO_BUF struct buf want = BUF_INIT;
        reference_escape(&want, text, len);
        AUTO_BUF struct buf got = BUF_INIT;
        buf_lit(&got, "before");
        json_escape(&got, copy, len);
        assert_int_equal(got.len, want.len + 6);
        assert_memory_equal(got.data + 6, buf_span(&want).ptr, want.len);
        assert_int_equal(got.data[got.len], 0);
        /* At the maximum: what fits exactly is written; with one byte less, either all of it is there or the buffer
         * says so. */
        AUTO_BUF struct buf fits = {.max = want.len ? want.len : 1};
        json_escape(&fits, copy, len);
        assert_false(fits.full);
        assert_int_equal(fits.len, want.len);
        assert_memory_equal(buf_span(&fits).ptr, buf_span(&want).ptr, want.len);
        if (want.len > 1) {
            AUTO_BUF struct buf full = {.max = want.len - 1};
            json_escape(&full, copy, len);
            assert_true(full.full ? full.len < want.len : full.len == want.len);
        }
    }
    AUTO_BUF struct buf b = BUF_INIT;
    json_escape(&b, "\x01\x1f\x7f/\xC3\xA9\xFF", 7);
    assert_string_equal(b.data, "\\u0001\\u001f\x7f/\xC3\xA9\xFF");
}

static void writer_puts_commas(void **state) {
    (void)state;
    AUTO_BUF struct buf out = BUF_INIT;
    struct json_writer w = JSON_WRITER(&out);
    json_object_begin(&w);
    json_member_string(&w, "a\"b", "x\ny");
    json_member_string(&w, "none", NULL);
    json_member_int(&w, "least", INT64_MIN);
    json_member_uint(&w, "most", UINT64_MAX);
    json_member_uint(&w, "low", 9223372036854775808u);
    json_member_bool(&w, "yes", true);
    json_member_null(&w, "nil");
    json_member_real(&w, "r", 0.1);
    json_member_raw(&w, "raw", SPAN("[1.10]"));
    json_member_span(&w, "nul", SPAN("a\0b"));
    json_put_key(&w, "list");
    json_array_begin(&w);
    json_array_begin(&w);
    json_array_end(&w);
    json_object_begin(&w);
    json_object_end(&w);
    json_put_int(&w, -1);
    json_put_bool(&w, false);
    json_put_string(&w, SPAN("bad \xC3"));
    json_array_end(&w);
    json_member_int(&w, "end", 0);
    json_object_end(&w);
    assert_string_equal(out.data,
                        "{\"a\\\"b\":\"x\\ny\",\"none\":null,\"least\":-9223372036854775808,"
                        "\"most\":18446744073709551615,\"low\":9223372036854775808,\"yes\":true,\"nil\":null,"
                        "\"r\":0.1,\"raw\":[1.10],\"nul\":\"a\\u0000b\",\"list\":[[],{},-1,false,\"bad \uFFFD\"],"
                        "\"end\":0}");
    assert_int_equal(json_valid(buf_span(&out), NULL), TL_OK);
}

static void reals_are_short_and_exact(void **state) {
    (void)state;
    static const struct {
        double n;
        const char *text;
    } rows[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {0.1, "0.1"},
        {0.3, "0.3"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1e21, "1e+21"},
        {1.0 / 3, "0.3333333333333333"},
        {5e-324, "5e-324"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {9007199254740993.0, "9007199254740992"},
        {123456789.125, "123456789.125"},
        {2.5e-7, "2.5e-07"},
        {(double)NAN, "null"},
        {(double)INFINITY, "null"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF struct buf out = BUF_INIT;
        struct json_writer w = JSON_WRITER(&out);
        json_put_real(&w, rows[i].n);
        assert_string_equal(out.data, rows[i].text);
    }
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = (uint64_t)any(UINT32_MAX) << 32 | any(UINT32_MAX);
        double n;
        memcpy(&n, &bits, sizeof n);
        if (!isfinite(n))
            continue;
        AUTO_BUF struct buf out = BUF_INIT;
        struct json_writer w = JSON_WRITER(&out);
        json_put_real(&w, n);
        assert_true(strtod(out.data, NULL) == n);
        assert_int_equal(valid(out.data), TL_OK);
    }
}

static void canonical_form(void **state) {
    (void)state;
    static const struct {
        const char *in, *out;
    } rows[] = {
        {" { \"b\" : 1 , \"a\" : [ 1.10 , 1e3, { \"z\":{},\"y\":[ ] } ] } ",
         "{\"a\":[1.10,1e3,{\"y\":[],\"z\":{}}],\"b\":1}"},
        {"{\"\\u0062\":1,\"a\\/\":\"\\u00e9\\u0041\\/\\u001F\\n\\u000a\\ud83d\\ude00\"}",
         "{\"a/\":\"éA/\\u001f\\n\\n😀\",\"b\":1}"},
        {"{\"aa\":1,\"a\":2,\"\":3,\"b\":4,\"B\":5}", "{\"\":3,\"B\":5,\"a\":2,\"aa\":1,\"b\":4}"},
        /* By the bytes of UTF-8: U+FB33 comes before U+1F600, unlike in UTF-16. */
        {"{\"\\ud83d\\ude00\":1,\"\\ufb33\":2,\"\\u0000\":3}", "{\"\\u0000\":3,\"\uFB33\":2,\"😀\":1}"},
        {"[{\"b\":{\"d\":1,\"c\":2},\"a\":{\"d\":1}},{\"b\":1}]",
         "[{\"a\":{\"d\":1},\"b\":{\"c\":2,\"d\":1}},{\"b\":1}]"},
        {"\"x\"", "\"x\""},
        {" null ", "null"},
        {"-0.0E+5", "-0.0E+5"},
        {"{\"a\":{\"k\":1},\"b\":{\"k\":1}}", "{\"a\":{\"k\":1},\"b\":{\"k\":1}}"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF struct buf out = BUF_INIT;
        buf_char(&out, '>');
        assert_int_equal(json_canonical(span_of(rows[i].in), &out), TL_OK);
        assert_string_equal(out.data + 1, rows[i].out);
        AUTO_BUF struct buf again = BUF_INIT;
        assert_int_equal(json_canonical(span_of(rows[i].out), &again), TL_OK);
        assert_string_equal(again.data, rows[i].out);
    }
    static const char *const refused[] = {"{\"a\":1,\"a\":1}",
                                          "{\"b\":0,\"a\":1,\"\\u0061\":1}",
                                          "[{\"x\":{\"\":1,\"\":2}}]",
                                          "[\"\\ud800\"]",
                                          "{\"\\udc00\":1}",
                                          "[1,]",
                                          "",
                                          "{\"a\":1} {}"};
    AUTO_BUF struct buf out = BUF_INIT;
    buf_lit(&out, "kept");
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        assert_int_equal(json_canonical(span_of(refused[i]), &out), TL_INVALID);
        assert_string_equal(out.data, "kept");
    }
    AUTO_BUF struct buf small = {.max = 100};
    AUTO_BUF struct buf long_one = BUF_INIT;
    buf_printf(&long_one, "{\"b\":\"%0200d\",\"a\":2}", 0);
    assert_int_equal(json_canonical(buf_span(&long_one), &small), TL_FAILED);
    assert_int_equal(small.len, 0);
    AUTO_BUF struct buf big = BUF_INIT;
    buf_char(&big, '"');
    while (big.len < JSON_CANONICAL_MAX)
        buf_char(&big, 'x');
    buf_char(&big, '"');
    assert_int_equal(json_canonical(buf_span(&big), &out), TL_INVALID);
}

/* A thousand names in random order, against qsort of the plain texts. */
static void canonical_sorts_many(void **state) {
    (void)state;
    enum { N = 1000 };
    unsigned order[N];
    for (unsigned i = 0; i < N; i++) {
        unsigned j = any(i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    AUTO_BUF struct buf in = BUF_INIT;
    AUTO_BUF struct buf want = BUF_INIT;
    AUTO_BUF struct buf got = BUF_INIT;
    for (unsigned i = 0; i < N; i++) {
        buf_printf(&in, "%s \"k%04u\": {\"v\":[%u]}", i ? "," : "{", order[i], order[i]);
        buf_printf(&want, "%s\"k%04u\":{\"v\":[%u]}", i ? "," : "{", i, i);
    }
    buf_char(&in, '}');
    buf_char(&want, '}');
    assert_int_equal(json_canonical(buf_span(&in), &got), TL_OK);
    assert_string_equal(got.data, want.data);
}

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_agrees_with_the_standard),
        cmocka_unit_test(utf8_replaces_maximal_parts),
        cmocka_unit_test(utf8_is_repaired),
        cmocka_unit_test(suite_is_answered),
        cmocka_unit_test(refusals_say_where),
        cmocka_unit_test(depth_has_a_limit),
        cmocka_unit_test(numbers_stay_exact),
        cmocka_unit_test(members_are_iterated),
        cmocka_unit_test(pointers_find),
        cmocka_unit_test(strings_are_unescaped),
        cmocka_unit_test(escape_agrees_with_the_naive),
        cmocka_unit_test(writer_puts_commas),
        cmocka_unit_test(reals_are_short_and_exact),
        cmocka_unit_test(canonical_form),
        cmocka_unit_test(canonical_sorts_many),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
