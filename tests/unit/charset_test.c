/* charset_test.c - which encoding a body is in, and the way to UTF-8 and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "net/charset.h"
#include <cmocka.h> /* last: it has a macro named fail */

#define BYTES(literal) ((struct tl_span){"" literal, sizeof(literal) - 1})

static void read_data(const char *name, struct buf *out) {
    const char *folder = getenv("TROTLINE_TEST_DATA");
    AUTO_BUF struct buf path = BUF_INIT;
    buf_printf(&path, "%s/charset/%s", folder ? folder : "tests/data", name);
    AUTO_FCLOSE FILE *f = fopen(path.data, "rb");
    if (!f)
        fail_msg("cannot open %s", path.data);
    char part[4096];
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
        buf_add(out, part, n);
}
/* What the suite wants, or what we make of a page that says nothing in its first 1024 bytes. */
static void suite_case(struct tl_span body, const char *want, size_t *undeclared, size_t *late) {
    struct charset got;
    assert_int_equal(charset_decide(body, NULL, &got), TL_OK);
    if (strcmp(got.source, "guess") == 0 || strcmp(got.source, "default") == 0) {
        assert_string_equal(got.name, utf8_valid(body.ptr, body.len) ? "utf-8" : "windows-1252");
        if (strcasecmp(want, "windows-1252") == 0)
            ++*undeclared;
        else {
            AUTO_FREE char *text = mem_text_n(body.ptr, body.len);
            const char *meta = strstr(text, "<meta");
            if (!meta || meta - text < 1024)
                fail_msg("%s: not found", text);
            ++*late;
        }
    } else if (strcasecmp(got.name, want) != 0) {
        fail_msg("%.*s: got %s, want %s", (int)body.len, body.ptr, got.name, want);
    }
}
static void html5lib(void **state) {
    (void)state;
    static const char *const files[] = {"tests1.dat", "tests2.dat"};
    size_t cases = 0, undeclared = 0, late = 0;
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        AUTO_BUF struct buf text = BUF_INIT;
        read_data(files[i], &text);
        char *at = strstr(text.data, "#data\n");
        while (at) {
            char *body = at + 6, *mark = strstr(body, "\n#encoding\n");
            assert_non_null(mark);
            char *name = mark + 11;
            char *next = strstr(name, "\n#data\n");
            name[strcspn(name, "\n")] = '\0';
            suite_case((struct tl_span){body, (size_t)(mark - body)}, name, &undeclared, &late);
            cases++;
            at = next ? next + 1 : NULL;
        }
    }
    assert_int_equal(cases, 49);
    assert_int_equal(undeclared, 18);
    assert_int_equal(late, 1);
}

static const struct {
    const char *type;
    struct tl_span body;
    const char *name, *source;
} decisions[] = {
    {NULL, BYTES("\xef\xbb\xbf<meta charset=koi8-r>"), "utf-8", "bom"},
    {"text/html; charset=koi8-r", BYTES("\xff\xfex\0"), "utf-16le", "bom"},
    {"text/html; charset=koi8-r", BYTES("\xfe\xff\0x"), "utf-16be", "bom"},
    {"text/html; charset=ISO-8859-1", BYTES("<meta charset=utf-8>"), "windows-1252", "header"},
    {"text/html;x=\"y\" ; Charset = \" latin2 \"; charset=utf-8", BYTES(""), "iso-8859-2", "header"},
    {"text/html; charset='sjis'", BYTES(""), "shift_jis", "header"},
    {"text/html; charset=UTF-16", BYTES(""), "utf-16le", "header"},
    {"text/html; charset=iso-2022-cn", BYTES(""), "replacement", "header"},
    {"text/html; charset=nonsense", BYTES("<meta charset=gb2312>"), "gbk", "meta"},
    {"text/html; xcharset=koi8-r", BYTES("\x80"), "windows-1252", "default"},
    {"text/html", BYTES("<meta charset=utf-16be>"), "utf-8", "meta"},
    {"text/html", BYTES("<meta charset=x-user-defined>"), "windows-1252", "meta"},
    {"text/html", BYTES("<meta http-equiv=content-type content='a charset b; charset = \"euc-kr\"'>"), "euc-kr",
     "meta"},
    {"text/html", BYTES("<meta content='charset=euc-kr'>"), "utf-8", "guess"},
    {"text/html", BYTES("<meta content='charset=euc-kr' charset=big5>"), "big5", "meta"},
    {"text/html", BYTES("<meta charset=big5 charset=koi8-r>"), "big5", "meta"},
    {"text/html", BYTES("<!-- <meta charset=big5> --><meta charset=koi8-r>"), "koi8-r", "meta"},
    {"text/html", BYTES("<!--><meta charset=big5><!-- -->"), "big5", "meta"},
    {"text/html", BYTES("<a title='<meta charset=big5>'><meta charset=koi8-r>"), "koi8-r", "meta"},
    {"text/html", BYTES("<meta charset=nonsense><meta charset=koi8-r>"), "koi8-r", "meta"},
    {"text/html", BYTES("<meta charset=koi8-r"), "utf-8", "guess"},
    {"text/html", BYTES("<meta charset\0=big5><meta charset=koi8-r\0><meta charset=euc-kr>"), "euc-kr", "meta"},
    {"text/plain", BYTES("<meta charset=koi8-r>"), "utf-8", "guess"},
    {"application/json", BYTES("\"<meta charset=koi8-r>\""), "utf-8", "guess"},
    {"application/xhtml+xml", BYTES("<?xml version='1.0' encoding = 'koi8-r'?><a>"), "koi8-r", "meta"},
    {NULL, BYTES("<?xml encoding='utf-16'?>"), "utf-8", "meta"},
    {NULL, BYTES("<\0?\0x\0m\0l\0"), "utf-16le", "meta"},
    {NULL, BYTES("\0<\0?\0x\0m\0l"), "utf-16be", "meta"},
    {NULL, BYTES(""), "utf-8", "guess"},
    {NULL, BYTES("caf\xc3\xa9"), "utf-8", "guess"},
    {NULL, BYTES("caf\xc3\xa9 \xe2\x82"), "utf-8", "guess"},
    {NULL, BYTES("caf\xc3\xa9 \xe2\x28"), "windows-1252", "default"},
    {NULL, BYTES("caf\xe9"), "windows-1252", "default"}, /* not a cut character: nothing else speaks for UTF-8 */
    {NULL, BYTES("\xed\xa0\x80"), "windows-1252", "default"},
};
static void decides(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(decisions); i++) {
        struct charset got;
        AUTO_FREE char *exact = malloc(decisions[i].body.len ? decisions[i].body.len : 1);
        memcpy(exact, decisions[i].body.ptr, decisions[i].body.len);
        assert_int_equal(charset_decide((struct tl_span){exact, decisions[i].body.len}, decisions[i].type, &got),
                         TL_OK);
        if (strcmp(got.name, decisions[i].name) != 0 || strcmp(got.source, decisions[i].source) != 0)
            fail_msg("%zu: got %s (%s), want %s (%s)", i, got.name, got.source, decisions[i].name, decisions[i].source);
    }
}
static void labels(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"ascii", "windows-1252"},
        {" Latin1\n", "windows-1252"},
        {"iso-8859-9", "windows-1254"},
        {"tis-620", "windows-874"},
        {"x-x-big5", "big5"},
        {"unicode-1-1-utf-8", "utf-8"},
        {"ks_c_5601-1987", "euc-kr"},
        {"csiso88598i", "iso-8859-8-i"},
        {"ucs-2", "utf-16le"},
        {"866", "ibm866"},
        {"x-user-defined", "x-user-defined"},
        {"iso-8859-16", "iso-8859-16"},
        {"hz-gb-2312", "replacement"},
        {"utf-7", NULL},
        {"", NULL},
        {"utf-32", NULL},
        {"iso-8859-1x", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        const char *got = charset_name(span_of(pairs[i][0]));
        if (!pairs[i][1])
            assert_null(got);
        else
            assert_string_equal(got, pairs[i][1]);
    }
}

/* The texts are what Python's codecs make of the bytes. round: whether they come back. */
static const struct {
    const char *name;
    struct tl_span body, text;
    bool lossy, round;
} decodings[] = {
    {"utf-8", BYTES("caf\xc3\xa9"), BYTES("caf\xc3\xa9"), false, true},
    {"utf-8", BYTES("\xef\xbb\xbfx"), BYTES("x"), false, false},
    {"utf-8", BYTES("a\xf0\x90\x80z\xe2\x82"), BYTES("a\xef\xbf\xbdz\xef\xbf\xbd"), true, false},
    {"windows-1252", BYTES("\x80 caf\xe9 \x93"), BYTES("\xe2\x82\xac caf\xc3\xa9 \xe2\x80\x9c"), false, true},
    {"windows-1252", BYTES("a\x81z"), BYTES("a\xef\xbf\xbdz"), true, false},
    {"windows-1252", BYTES("\x8d\x8f\x90\x9d"), BYTES("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"), true, false},
    {"koi8-r", BYTES("\xf0\xd2\xc9"), BYTES("\xd0\x9f\xd1\x80\xd0\xb8"), false, true},
    {"iso-8859-2", BYTES("\xb1"), BYTES("\xc4\x85"), false, true},
    {"windows-1258", BYTES("a\xcc"), BYTES("a\xcc\x80"), false, true}, /* letter and accent stay two */
    {"windows-1255", BYTES("\xe0\xc8"), BYTES("\xd7\x90\xd6\xb8"), false, true},
    {"macintosh", BYTES("\xc6\xf0"), BYTES("\xe2\x88\x86\xef\xa3\xbf"), false, true},
    {"x-mac-cyrillic", BYTES("\xff"), BYTES("\xe2\x82\xac"), false, false},
    {"x-user-defined", BYTES("a\x80\xff"), BYTES("a\xef\x9e\x80\xef\x9f\xbf"), false, false},
    {"shift_jis", BYTES("\x83\x65\x83\x58\\"), BYTES("\xe3\x83\x86\xe3\x82\xb9\\"), false, true},
    {"shift_jis", BYTES("\x87\x40"), BYTES("\xe2\x91\xa0"), false,
     false}, /* Microsoft's: shift_jis elsewhere has it not */
    {"shift_jis", BYTES("\x81\x91"), BYTES("\xef\xbf\xa0"), false, false},
    {"euc-jp", BYTES("\xa5\xc6\xa5\xb9"), BYTES("\xe3\x83\x86\xe3\x82\xb9"), false, true},
    {"iso-2022-jp", BYTES("\x1b$B%F\x1b(Bx"), BYTES("\xe3\x83\x86x"), false, true},
    {"iso-2022-jp", BYTES("\x1b(Bx"), BYTES("x"), false, false},
    {"gbk", BYTES("\xc4\xe3\xba\xc3"), BYTES("\xe4\xbd\xa0\xe5\xa5\xbd"), false, true},
    {"gbk", BYTES("\x80"), BYTES("\xe2\x82\xac"), false, false},
    {"gbk", BYTES("\x81\x30\x81\x30"), BYTES("\xc2\x80"), false, false},
    {"gb18030", BYTES("\x90\x30\x81\x30"), BYTES("\xf0\x90\x80\x80"), false, true},
    {"big5", BYTES("\xa7\x41\xa6\x6e"), BYTES("\xe4\xbd\xa0\xe5\xa5\xbd"), false, true},
    {"euc-kr", BYTES("\xb0\xa1"), BYTES("\xea\xb0\x80"), false, true},
    {"euc-kr", BYTES("\x81\x41"), BYTES("\xea\xb0\x82"), false, false}, /* windows-949's */
    {"euc-kr", BYTES("\xff<\xb0"), BYTES("\xef\xbf\xbd<\xef\xbf\xbd"), true, false},
    {"euc-kr", BYTES("\xb0<a>"), BYTES("\xef\xbf\xbd<a>"), true, false}, /* an ASCII byte is never swallowed */
    {"utf-16le", BYTES("\xff\xfe\x3d\xd8\x00\xdez\0"), BYTES("\xf0\x9f\x98\x80z"), false, false},
    {"utf-16be", BYTES("\0a\xd8\x3d\xde\0"), BYTES("a\xf0\x9f\x98\x80"), false, true},
    {"utf-16le", BYTES("\x00\xd8z\0q"), BYTES("\xef\xbf\xbdz\xef\xbf\xbd"), true, false},
    {"iso-8859-8-i", BYTES("\xe0"), BYTES("\xd7\x90"), false, false},
    {"windows-874", BYTES("\xa1"), BYTES("\xe0\xb8\x81"), false, false},
    {"replacement", BYTES("<a>"), BYTES("\xef\xbf\xbd"), true, false},
    {"replacement", BYTES(""), BYTES(""), false, false},
};
static void decodes(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(decodings); i++) {
        AUTO_BUF struct buf text = BUF_INIT;
        bool lossy;
        AUTO_FREE char *exact = malloc(decodings[i].body.len ? decodings[i].body.len : 1);
        memcpy(exact, decodings[i].body.ptr, decodings[i].body.len);
        struct tl_span body = {exact, decodings[i].body.len};
        assert_int_equal(charset_to_utf8(decodings[i].name, body, &text, &lossy), TL_OK);
        if (text.len != decodings[i].text.len || memcmp(text.data, decodings[i].text.ptr, text.len) != 0)
            fail_msg("%zu, %s: got %s", i, decodings[i].name, text.data);
        bool round = charset_round_trips(decodings[i].name, buf_span(&text), body);
        if (lossy != decodings[i].lossy || round != decodings[i].round)
            fail_msg("%zu, %s: lossy %d, comes back %d", i, decodings[i].name, lossy, round);
    }
    AUTO_BUF struct buf text = BUF_INIT;
    bool lossy;
    assert_int_equal(charset_to_utf8("ISO-8859-1", BYTES("x"), &text, &lossy), TL_INVALID);
    assert_false(charset_round_trips("nonsense", BYTES("x"), BYTES("x")));
}
/* Long bodies, in encodings of every kind: across all blocks, and with a maximum. */
static void long_bodies(void **state) {
    (void)state;
    static const char *const names[] = {"utf-8",   "koi8-r",    "windows-1252", "utf-16be",
                                        "gb18030", "shift_jis", "euc-jp"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        AUTO_BUF struct buf body = BUF_INIT, text = BUF_INIT, small = {.max = 5000};
        bool lossy;
        for (int n = 0; n < 20011; n++)
            buf_add(&body, strcmp(names[i], "utf-16be") == 0 ? "\0a" : "ab", 2);
        assert_int_equal(charset_to_utf8(names[i], buf_span(&body), &text, &lossy), TL_OK);
        assert_int_equal(text.len, strcmp(names[i], "utf-16be") == 0 ? 20011 : 40022);
        assert_false(lossy);
        assert_true(charset_round_trips(names[i], buf_span(&text), buf_span(&body)));
        text.data[30000 % text.len] = 'x';
        assert_false(charset_round_trips(names[i], buf_span(&text), buf_span(&body)));
        assert_false(charset_round_trips(names[i], (struct tl_span){text.data, text.len - 1}, buf_span(&body)));
        assert_int_equal(charset_to_utf8(names[i], buf_span(&body), &small, &lossy), TL_PARTIAL);
        assert_true(lossy);
        assert_true(small.len <= 5000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(html5lib), cmocka_unit_test(decides),     cmocka_unit_test(labels),
        cmocka_unit_test(decodes),  cmocka_unit_test(long_bodies),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("charset", tests, NULL, NULL);
}
