/* html_test.c - the HTML tokenizer on html5lib's cases, and what html_scan makes of pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "net/html.h"
#include "net/html_entities.h"
#include "net/html_token.h"
#include "net/url.h"
#include <cmocka.h> /* last: it has a macro named fail */

static FILE *open_data(const char *name) {
    const char *folder = getenv("TROTLINE_TEST_DATA");
    AUTO_BUF struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%s", folder ? folder : "tests/data", name);
    FILE *f = fopen(path.data, "r");
    if (!f)
        fail_msg("cannot open %s", path.data);
    return f;
}
/* The next field of a line, which is cut at its end; NULL: no more. */
static char *field(char **line) {
    char *from = *line;
    if (!from)
        return NULL;
    char *tab = strchr(from, '\t');
    if (tab)
        *tab = '\0';
    else
        from[strcspn(from, "\n")] = '\0';
    *line = tab ? tab + 1 : NULL;
    return from;
}
static void unescape(const char *text, struct buf *out) {
    buf_reset(out);
    for (; *text; text++) {
        if (text[0] == '\\' && text[1] == 'x') {
            char hex[3] = {text[2], text[3], 0};
            buf_char(out, (char)strtoul(hex, NULL, 16));
            text += 3;
        } else {
            buf_char(out, *text);
        }
    }
}
static void escape(struct tl_span s, struct buf *out) {
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c < 32 || c >= 127 || c == '\\')
            buf_printf(out, "\\x%02x", c);
        else
            buf_char(out, (char)c);
    }
}
static void decoded(struct tl_span raw, enum html_decode how, struct buf *out) {
    AUTO_BUF struct buf text = BUF_INIT;
    html_token_decode(raw, how, &text);
    escape(buf_span(&text), out);
}

/* ---- the tokenizer ---- */

static void write_start(const struct html_token *token, struct buf *out) {
    buf_lit(out, "\tS ");
    decoded(token->text, HTML_AS_NAME, out);
    if (token->self_closing)
        buf_lit(out, " /");
    AUTO_BUF struct buf seen = BUF_INIT;
    for (size_t i = 0; i < token->attr_count; i++) {
        AUTO_BUF struct buf name = BUF_INIT, mark = BUF_INIT;
        decoded(token->attr[i].name, HTML_AS_NAME, &name);
        buf_printf(&mark, "\t%s\t", name.data);
        if (seen.len && strstr(seen.data, mark.data))
            continue; /* the first one counts */
        buf_add(&seen, mark.data, mark.len);
        buf_printf(out, "\tA %s=", name.data);
        decoded(token->attr[i].value, HTML_AS_VALUE, out);
    }
}
static void write_doctype(const struct html_token *token, struct buf *out) {
    const struct tl_span part[3] = {token->text, token->public_id, token->system_id};
    buf_lit(out, "\tD ");
    for (size_t i = 0; i < 3; i++) {
        if (part[i].ptr)
            decoded(part[i], i ? HTML_AS_DATA : HTML_AS_NAME, out);
        else
            buf_char(out, '-');
        buf_char(out, '|');
    }
    if (token->quirks)
        buf_lit(out, "quirks");
}
/* The tokens as convert.py writes them; every one after a TAB. */
static void write_tokens(struct html_tokenizer *t, struct buf *out) {
    struct html_token token;
    bool in_text = false;
    while (html_token_next(t, &token)) {
        if (token.kind == HTML_TEXT && !in_text)
            buf_lit(out, "\tC ");
        in_text = token.kind == HTML_TEXT;
        if (in_text)
            escape(token.text, out);
        else if (token.kind == HTML_TAG_START)
            write_start(&token, out);
        else if (token.kind == HTML_DOCTYPE)
            write_doctype(&token, out);
        else {
            buf_text(out, token.kind == HTML_TAG_END ? "\tE " : "\t! ");
            decoded(token.text, token.kind == HTML_TAG_END ? HTML_AS_NAME : HTML_AS_DATA, out);
        }
    }
}
static enum html_state state_of(const char *name) {
    static const char *const names[] = {
        [HTML_DATA] = "Data state",       [HTML_RCDATA] = "RCDATA state",
        [HTML_RAWTEXT] = "RAWTEXT state", [HTML_SCRIPTDATA] = "Script data state",
        [HTML_PLAIN] = "PLAINTEXT state", [HTML_CDATA] = "CDATA section state",
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return (enum html_state)i;
    fail_msg("unknown state %s", name);
    return HTML_DATA;
}
/* An exact copy on the heap, so that a sanitizer sees a read behind the end. */
static void tokenize(struct tl_span input, enum html_state state, const char *last, struct buf *out) {
    AUTO_FREE char *copy = mem_text_n(input.ptr, input.len);
    AUTO_FREE char *exact = malloc(input.len ? input.len : 1);
    memcpy(exact, copy, input.len);
    struct html_tokenizer t;
    html_token_init(&t, (struct tl_span){exact, input.len});
    t.state = state;
    t.last = span_of(last);
    write_tokens(&t, out);
}
static void html5lib(void **state) {
    (void)state;
    AUTO_FCLOSE FILE *f = open_data("html-tokenizer/cases.tsv");
    AUTO_FREE char *line = NULL;
    size_t room = 0, cases = 0;
    while (getline(&line, &room, f) > 0) {
        AUTO_BUF struct buf input = BUF_INIT, want = BUF_INIT, got = BUF_INIT;
        char *rest = line;
        const char *name = field(&rest), *from = field(&rest), *last = field(&rest);
        unescape(field(&rest), &input);
        for (const char *token; (token = field(&rest));)
            buf_printf(&want, "\t%s", token);
        tokenize(buf_span(&input), state_of(from), last, &got);
        if (strcmp(buf_span(&got).ptr, buf_span(&want).ptr) != 0)
            fail_msg("%s (%s): got %s, want %s", name, from, buf_span(&got).ptr, buf_span(&want).ptr);
        cases++;
    }
    assert_int_equal(cases, 392);
}
static void tokens_are(const char *html, const char *want) {
    AUTO_BUF struct buf got = BUF_INIT;
    tokenize(span_of(html), HTML_DATA, "", &got);
    assert_string_equal(buf_span(&got).ptr, want);
}
static void states_without_a_tree(void **state) {
    (void)state;
    tokens_are("<TITLE>a<b>&lt;</b></title ><b>", "\tS title\tC a<b><</b>\tE title\tS b");
    tokens_are("<style><!--</style>--><i>", "\tS style\tC <!--\tE style\tC -->\tS i");
    tokens_are("<script><!--<script></script>x</script>y", "\tS script\tC <!--<script></script>x\tE script\tC y");
    tokens_are("<script><!--></script>y", "\tS script\tC <!-->\tE script\tC y");
    tokens_are("<noscript><i></noscript>", "\tS noscript\tS i\tE noscript");
    tokens_are("<iframe><a></iframe><a>", "\tS iframe\tC <a>\tE iframe\tS a");
    tokens_are("<plaintext></plaintext>&amp;", "\tS plaintext\tC </plaintext>&amp;");
    tokens_are("<titles>&amp;<b>", "\tS titles\tC &\tS b");
    tokens_are("<blockquote><plaintex><b>", "\tS blockquote\tS plaintex\tS b");
    tokens_are("<title>x", "\tS title\tC x");
}
static void foreign_content(void **state) {
    (void)state;
    tokens_are("<svg><title>a<b></b></title></svg>", "\tS svg\tS title\tC a\tS b\tE b\tE title\tE svg");
    tokens_are("<svg><script/><a></a></svg><script/><a>", "\tS svg\tS script /\tS a\tE a\tE svg\tS script /\tC <a>");
    tokens_are("<svg><![CDATA[<a>]]>b]]></svg>", "\tS svg\tC <a>b]]>\tE svg");
    tokens_are("<svg><![CDATA[<a>", "\tS svg\tC <a>");
    tokens_are("<svg/><![CDATA[a]]>", "\tS svg /\t! [CDATA[a]]");
    tokens_are("<svg><foreignObject><style><a></style></foreignObject><style><a>",
               "\tS svg\tS foreignobject\tS style\tC <a>\tE style\tE foreignobject\tS style\tS a");
    tokens_are("<svg><p><style><a></style>", "\tS svg\tS p\tS style\tC <a>\tE style");
    tokens_are("<div><svg></div><style><a></style>", "\tS div\tS svg\tE div\tS style\tC <a>\tE style");
    tokens_are("<math><mi><title><a></title></mi><title><a>",
               "\tS math\tS mi\tS title\tC <a>\tE title\tE mi\tS title\tS a");
}
static void newlines_and_nul(void **state) {
    (void)state;
    tokens_are("a\r\nb\rc\n\r\n<i t='\r\n\r'>", "\tC a\\x0ab\\x0ac\\x0a\\x0a\tS i\tA t=\\x0a\\x0a");
    AUTO_BUF struct buf got = BUF_INIT;
    tokenize((struct tl_span){"a\0b<i\0 x\0=\0><!--\0-->", 20}, HTML_DATA, "", &got);
    assert_string_equal(got.data,
                        "\tC a\\x00b\tS i\\xef\\xbf\\xbd\tA x\\xef\\xbf\\xbd=\\xef\\xbf\\xbd\t! \\xef\\xbf\\xbd");
}
static void references(void **state) {
    (void)state;
    tokens_are("&notit;&notin;&AMP&nGt;&#x80;&#xD800;&#1114112;&#x;&nosuch;&",
               "\tC "
               "\\xc2\\xacit;\\xe2\\x88\\x89&"
               "\\xe2\\x89\\xab\\xe2\\x83\\x92\\xe2\\x82\\xac\\xef\\xbf\\xbd\\xef\\xbf\\xbd&#x;&nosuch;&");
    tokens_are("<a b='&notit;&not=&not;&amp &#65b&lt'>", "\tS a\tA b=&notit;&not=\\xc2\\xac& Ab<");
    for (size_t i = 0; i < HTML_ENTITIES; i++) {
        const struct html_entities_row *row = &html_entities_rows[i];
        AUTO_BUF struct buf name = BUF_INIT;
        char out[8];
        size_t len = 0;
        buf_char(&name, '&');
        buf_add(&name, html_entities_names + row->name_at, row->name_len);
        assert_int_equal(html_entities_decode(name.data, name.data + name.len, false, out, &len), name.len);
        assert_int_equal(len, row->text_len);
        assert_memory_equal(out, html_entities_texts + row->text_at, len);
    }
}
static void many_attributes(void **state) {
    (void)state;
    AUTO_BUF struct buf html = BUF_INIT;
    buf_lit(&html, "<a");
    for (int i = 0; i < 1000; i++)
        buf_printf(&html, " a%d", i);
    buf_lit(&html, " href=x><i>");
    struct html_tokenizer t;
    struct html_token token;
    html_token_init(&t, buf_span(&html));
    assert_true(html_token_next(&t, &token));
    assert_int_equal(token.attr_count, HTML_ATTRS_MAX);
    assert_true(t.truncated);
    assert_true(html_token_next(&t, &token));
    assert_int_equal(token.tag, HTML_I);
}

/* ---- pages ---- */

static struct arena arena;
static struct html_page page;

static void scan_n(struct tl_span html, const struct html_options *options) {
    arena_free(&arena);
    AUTO_FREE char *again = mem_text_n(html.ptr, html.len);
    char *exact = arena_alloc(&arena, html.len + 16); /* lives as long as the spans into it */
    memcpy(exact, again, html.len);
    assert_int_equal(html_scan(&arena, (struct tl_span){exact, html.len}, options, &page), TL_OK);
    assert_true(utf8_valid(buf_span(&page.text).ptr, page.text.len));
}
static void scan(const char *html) {
    scan_n(span_of(html), NULL);
}
static void span_is(struct tl_span s, const char *want) {
    if (!span_eq(s, want))
        fail_msg("got \"%.*s\", want \"%s\"", (int)s.len, s.ptr, want);
}
static void text_is(const char *html, const char *want) {
    scan(html);
    span_is(buf_span(&page.text), want);
}
/* "source ref rel text" of every link, each on a line. */
static void links_are(const char *html, const char *want) {
    AUTO_BUF struct buf got = BUF_INIT;
    scan(html);
    for (size_t i = 0; i < page.link_count; i++) {
        const struct html_link *l = &page.links[i];
        assert_int_equal(l->position, i);
        buf_printf(&got, "%s|%.*s|%.*s|%.*s\n", l->source, (int)l->ref.len, l->ref.ptr, (int)l->rel.len, l->rel.ptr,
                   (int)l->text.len, l->text.ptr);
    }
    assert_string_equal(buf_span(&got).ptr, want);
}

static void links_of_cases(void **state) {
    (void)state;
    AUTO_FCLOSE FILE *f = open_data("html-links/cases.tsv");
    AUTO_FREE char *line = NULL;
    size_t room = 0, cases = 0;
    while (getline(&line, &room, f) > 0) {
        AUTO_BUF struct buf html = BUF_INIT, got = BUF_INIT, want = BUF_INIT, href = BUF_INIT, base_href = BUF_INIT;
        AUTO_BUF struct buf page_href = BUF_INIT;
        struct url address, base, url;
        char *rest = line;
        const char *name = field(&rest);
        assert_int_equal(url_parse(&page_href, span_of(field(&rest)), NULL, &address), TL_OK);
        unescape(field(&rest), &html);
        for (const char *link; (link = field(&rest));)
            buf_printf(&want, "%s\n", link);
        scan_n(buf_span(&html), NULL);
        if (!page.base.ptr || url_parse(&base_href, page.base, &address, &base) != TL_OK)
            base = address;
        for (size_t i = 0; i < page.link_count; i++)
            if (url_resolve(&href, &base, page.links[i].ref, true, &url) == TL_OK &&
                (span_eq(url.scheme, "http") || span_eq(url.scheme, "https")))
                buf_printf(&got, "%.*s\n", (int)url.href.len, url.href.ptr);
        if (strcmp(buf_span(&got).ptr, buf_span(&want).ptr) != 0)
            fail_msg("%s: %s: got %s, want %s", name, html.data, buf_span(&got).ptr, buf_span(&want).ptr);
        cases++;
    }
    assert_int_equal(cases, 36);
}
static void links_of_elements(void **state) {
    (void)state;
    links_are(
        "<link rel=' Canonical  NEXT ' href=c><script src=s></script><img src=i alt=' a\n b'><iframe src=f></iframe>"
        "<frame src=r><video src=v poster=p><source src=o><track src=t></video><audio src=u></audio><embed src=e>"
        "<object data=d></object><area href=x alt=y><form action=q></form><form method=POST action=no></form>"
        "<form method=get action=g></form>",
        "link|c|canonical next|\nscript|s||\nimg|i||a b\niframe|f||\nframe|r||\nvideo|v||\nvideo|p||\nsource|o||\n"
        "track|t||\naudio|u||\nembed|e||\nobject|d||\narea|x||y\nform|q||\nform|g||\n");
    links_are("<img srcset='a.png 1x, b,c.png 2x,d.png (x,y) 3x , e.png,, f.png' src=z><source srcset='g 100w'>",
              "img|z||\nimg|a.png||\nimg|b,c.png||\nimg|d.png||\nimg|e.png||\nimg|f.png||\nsource|g||\n");
    links_are("<img src=''><script src></script><link href><a href></a><a name=x></a>", "a|||\n");
    links_are("<meta http-equiv=Refresh content='5; url=\" a&amp;b \"x'>", "meta|a&b||\n");
    span_is(page.refresh, "a&b");
    links_are("<meta http-equiv=refresh content='0,URL = /n'><meta http-equiv=refresh content=7>", "meta|/n||\n");
    links_are("<meta http-equiv=refresh content='0;/m'>", "meta|/m||\n");
    links_are("<meta http-equiv=refresh content='x;url=/m'>", "");
    links_are("<svg><a xlink:href=s><text>t</text></a></svg><svg><script/></svg><a href=u>", "a|s||\na|u||\n");
}
static void anchors(void **state) {
    (void)state;
    links_are(
        "<a rel='NoFollow\n me' href=1> one <b>two</b>\n<br>three<img src=i alt=four></a>five <a href=2>x<a href=3>y",
        "a|1|nofollow me|one two three four\nimg|i||four\na|2||x\na|3||y\n");
    links_are("<template><a href=no>n</a><template></template><a href=no></template><a href=yes>y</a>", "a|yes||y\n");
    links_are(
        "<noscript><a href=1>n</a></noscript><!--<a href=2>--><textarea><a href=3></textarea><xmp><a href=4></xmp>",
        "a|1||n\n");
    links_are("<a href=1>&lt;&eacute;&nbsp;</a><a href='&#32;x&#10;'>z</a>", "a|1||<\xc3\xa9\xc2\xa0\na|x||z\n");
    AUTO_BUF struct buf html = BUF_INIT;
    buf_lit(&html, "<a href=1>x");
    for (int i = 0; i < 400; i++)
        buf_lit(&html, "\xc3\xa9");
    scan(html.data);
    assert_int_equal(page.links[0].text.len, 511); /* not the half of a character */
    assert_int_equal(page.text.len, 801);
}
static void head(void **state) {
    (void)state;
    scan("<!doctype html><html lang=' de-AT '><head><title> A &amp;\n B </title><title>no</title>"
         "<meta name=DESCRIPTION content=' d\n e '><meta name=description content=no><meta property=og:url content=' "
         "/o '>"
         "<link rel='alternate canonical' href=' /c '><link rel=canonical href=no><base target=x><base href=' /b/ "
         "'><base href=no>"
         "<svg><title>no</title></svg>");
    span_is(page.title, "A & B");
    span_is(page.description, "d e");
    span_is(page.language, "de-AT");
    span_is(page.og_url, "/o");
    span_is(page.canonical, "/c");
    span_is(page.base, "/b/");
    assert_false(page.noindex || page.nofollow || page.truncated);
    scan("<p><svg><title>drawing</title></svg><template><title>no</title></template>");
    assert_null(page.title.ptr);
    assert_null(page.description.ptr);
    assert_null(page.base.ptr);
    assert_null(page.language.ptr);
    scan("<title>cut by the end");
    span_is(page.title, "cut by the end");
}
static void robots_meta(void **state) {
    (void)state;
    static const struct {
        const char *html;
        bool noindex, nofollow;
    } cases[] = {
        {"<meta name=robots content='index, follow'>", false, false},
        {"<meta name=ROBOTS content='NOINDEX,Follow'>", true, false},
        {"<meta content=' nofollow ' name=trotline>", false, true},
        {"<meta name=robots content=noindex><meta name=trotline content=nofollow>", true, true},
        {"<meta name=robots content='all none'>", true, true},
        {"<meta name=googlebot content=none>", false, false},
        {"<meta name=robots content=noindexx>", false, false},
        {"<template><meta name=robots content=none></template>", false, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        scan(cases[i].html);
        assert_int_equal(page.noindex, cases[i].noindex);
        assert_int_equal(page.nofollow, cases[i].nofollow);
    }
    const struct html_options other = {.agent = "example-bot"};
    scan_n(span_of("<meta name=Example-Bot content=nofollow><meta name=trotline content=noindex>"), &other);
    assert_true(page.nofollow && !page.noindex);
}
static void readable_text(void **state) {
    (void)state;
    text_is("<head><title>no</title><style>no</style><script>no</script></head><body>\n <h1>One</h1>\n<p>two  "
            "<b>three</b>\n four</p>",
            "One\ntwo three four");
    text_is("a<br>b<br><br><br>c<p><br></p><div></div>d", "a\nb\n\nc\n\nd");
    text_is("<ul><li>a<li>b</ul><table><tr><td>1<td>2<tr><td>3</table>", "a\nb\n1 2\n3");
    text_is("x<pre>\n\n a  b\n\n\tc </pre> y", "x\n\n a  b\n\n\tc \ny");
    text_is("a<svg><text>no</text><foreignObject>yes</foreignObject></svg><noscript>n</"
            "noscript><select><option>o<option>p</select>",
            "ayesn\no\np");
    text_is(
        "<textarea>no</textarea><iframe>no</iframe><noframes>no</noframes><template>no</template>x<xmp>&lt;<b></xmp>",
        "x\n&lt;<b>");
    text_is("a&nbsp; &amp;lt;b &#x41;\xc3\xa9 \xe2\x82\xac", "a\xc2\xa0 &lt;b A\xc3\xa9 \xe2\x82\xac");
    text_is("<img alt='A  B'><img alt=C><img alt=''>d", "A B C d");
    text_is("in<i>si</i>de 0123456789abcdef  0123456789abcde f\t0123456789 abcdef \x01 z  ",
            "inside 0123456789abcdef 0123456789abcde f 0123456789 abcdef \x01 z");
    scan_n((struct tl_span){"a\0b<pre>c\0d", 11}, NULL);
    span_is(buf_span(&page.text), "ab\ncd");
}
/* The block-wise copy against the plain rule, at every length and place of white space. */
static void collapsing(void **state) {
    (void)state;
    unsigned seed = 1;
    for (int round = 0; round < 3000; round++) {
        char html[64], want[64];
        size_t len = 1 + (size_t)round % 60, n = 0;
        bool space = false;
        for (size_t i = 0; i < len; i++) {
            seed = seed * 1103515245 + 12345;
            html[i] = (seed >> 16) % 5 ? (char)('a' + (seed >> 20) % 26) : (seed >> 20) % 8 ? ' ' : '\n';
            bool is_space = html[i] == ' ' || html[i] == '\n';
            if (!is_space && space && n)
                want[n++] = ' ';
            if (!is_space)
                want[n++] = html[i];
            space = is_space;
        }
        scan_n((struct tl_span){html, len}, NULL);
        assert_int_equal(page.text.len, n);
        assert_memory_equal(buf_span(&page.text).ptr, want, n);
    }
}
static void caps(void **state) {
    (void)state;
    AUTO_BUF struct buf html = BUF_INIT;
    for (int i = 0; i < 10; i++)
        buf_printf(&html, "<a href=%d>t</a>", i);
    scan_n(buf_span(&html), &(struct html_options){.max_links = 7});
    assert_int_equal(page.link_count, 7);
    assert_true(page.truncated);
    scan_n(buf_span(&html), &(struct html_options){.no_text = true});
    assert_int_equal(page.link_count, 10);
    span_is(page.links[9].text, "t");
    assert_int_equal(page.text.len, 0);
    assert_false(page.truncated);

    buf_reset(&html);
    for (int i = 0; i < 1000; i++)
        buf_lit(&html, "\xe2\x82\xac");
    scan_n(buf_span(&html), &(struct html_options){.max_text = 100});
    assert_in_range(page.text.len, 60, 100);
    assert_int_equal(page.text.len % 3, 0);
    assert_true(page.truncated);

    buf_reset(&html);
    buf_lit(&html, "<a href=");
    for (int i = 0; i < HTML_VALUE_MAX; i++)
        buf_char(&html, 'x');
    AUTO_FREE char *longer = NULL;
    assert_true(asprintf(&longer, "%sx>t</a><a href=y>", html.data) > 0);
    buf_lit(&html, ">t</a>");
    scan_n(buf_span(&html), NULL);
    assert_int_equal(page.links[0].ref.len, HTML_VALUE_MAX);
    assert_false(page.truncated);
    scan(longer);
    assert_int_equal(page.link_count, 1);
    span_is(page.links[0].ref, "y");
    assert_true(page.truncated);

    struct arena small = {.max = 64};
    struct html_page none = {0};
    assert_int_equal(html_scan(&small, span_of("<a href='&amp;'>x</a><a href=b>y</a>"), NULL, &none), TL_PARTIAL);
    assert_int_equal(none.link_count, 0);
    assert_true(none.truncated);
    html_page_free(&none);
    arena_free(&small);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(html5lib),        cmocka_unit_test(states_without_a_tree),
        cmocka_unit_test(foreign_content), cmocka_unit_test(newlines_and_nul),
        cmocka_unit_test(references),      cmocka_unit_test(many_attributes),
        cmocka_unit_test(links_of_cases),  cmocka_unit_test(links_of_elements),
        cmocka_unit_test(anchors),         cmocka_unit_test(head),
        cmocka_unit_test(robots_meta),     cmocka_unit_test(readable_text),
        cmocka_unit_test(collapsing),      cmocka_unit_test(caps),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    int rc = cmocka_run_group_tests_name("html", tests, NULL, NULL);
    html_page_free(&page);
    arena_free(&arena);
    return rc;
}
