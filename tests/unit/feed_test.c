/* feed_test.c - feeds: what three public suites expect, then our own cases: kinds, links, encodings, faults, hostile
 * bodies, caps. */
#include "net/feed.h"

#include <pthread.h>

#include "cases.h"
#include "net/xml.h"

#define ADDRESS "http://h.example/d/feed.xml"
#define ATOM    "<feed xmlns='http://www.w3.org/2005/Atom'>"
#define RSS     "<rss version='2.0'><channel><title>T</title>"
#define RSS_END "</channel></rss>"

static struct arena arena;
static int clear(void **state) {
    (void)state;
    arena_free(&arena);
    return 0;
}

static struct feed read_as(struct tl_span body, const char *content_type) {
    struct feed f;
    if (feed_parse(&arena, body, ADDRESS, content_type, &f) != TL_OK)
        fail_msg("%.*s: refused: %s", (int)body.len, body.ptr, f.error);
    return f;
}
static struct feed read_text(const char *body) {
    return read_as(span_of(body), NULL);
}
static struct feed_entry first_of(const char *body) {
    struct feed f = read_text(body);
    assert_true(f.entry_count > 0);
    return f.entries[0];
}
static bool warned(const struct feed *f, const char *word) {
    for (size_t i = 0; i < f->warning_count; i++)
        if (strstr(f->warnings[i], word))
            return true;
    return false;
}
static void refuses(const char *body, const char *word) {
    struct feed f;
    assert_int_equal(feed_parse(&arena, span_of(body), ADDRESS, NULL, &f), TL_INVALID);
    assert_null(f.format);
    if (!strstr(f.error, word))
        fail_msg("got '%s', want something about '%s'", f.error, word);
}

/* ---- the public suites ---- */

static struct tl_span field_of(const struct feed *f, struct tl_span at, struct tl_span name) {
    struct tl_span none = {NULL, 0};
    if (span_eq(at, "-"))
        return f->title;
    size_t n = 0;
    for (size_t i = 0; i < at.len; i++)
        n = n * 10 + (size_t)(at.ptr[i] - '0');
    if (n >= f->entry_count)
        return none;
    const struct feed_entry *e = &f->entries[n];
    return span_eq(name, "id")          ? e->id
           : span_eq(name, "link")      ? e->link
           : span_eq(name, "title")     ? e->title
           : span_eq(name, "summary")   ? e->summary
           : span_eq(name, "content")   ? e->content
           : span_eq(name, "published") ? e->published.text
           : span_eq(name, "updated")   ? e->updated.text
                                        : none;
}
static void public_suites(void **state) {
    (void)state;
    struct cases c;
    struct feed f = {0};
    struct buf body = BUF_INIT, name = BUF_INIT, type = BUF_INIT, url = BUF_INIT;
    size_t files = 0, fields = 0;
    cases_open(&c, "feeds/expected.tsv");
    while (cases_next(&c)) {
        if (span_eq(c.field[0], "is")) {
            struct tl_span got = field_of(&f, c.field[1], c.field[2]);
            if (!got.ptr || !spans_equal(got, c.field[3]))
                fail_msg("%s: %.*s: got %.*s, want %.*s", name.data, (int)c.field[2].len, c.field[2].ptr, (int)got.len,
                         got.ptr ? got.ptr : "", (int)c.field[3].len, c.field[3].ptr);
            fields++;
            continue;
        }
        buf_reset(&name), buf_reset(&body), buf_reset(&type), buf_reset(&url);
        buf_printf(&name, "feeds/%.*s", (int)c.field[1].len, c.field[1].ptr);
        buf_add(&type, c.field[3].ptr, c.field[3].len);
        buf_add(&url, c.field[4].ptr, c.field[4].len);
        cases_file(&body, name.data);
        arena_free(&arena);
        int rc = feed_parse(&arena, buf_span(&body), url.data, c.field[3].ptr ? type.data : NULL, &f);
        if (rc != TL_OK)
            fail_msg("%s: %s", name.data, f.error);
        assert_span(c.field[2], f.format);
        files++;
    }
    assert_true(files > 200 && fields > 250);
    cases_close(&c);
    buf_free(&body), buf_free(&name), buf_free(&type), buf_free(&url);
}

/* ---- kinds ---- */

static void formats(void **state) {
    (void)state;
    static const char *const known[][2] = {
        {"<rss version='0.91'/>", "rss0.9x"},
        {"<rss version='2.0'/>", "rss2.0"},
        {"<rss/>", "rss2.0"},
        {"<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'>"
         "<channel/></rdf:RDF>",
         "rss1.0"},
        {"<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' "
         "xmlns='http://my.netscape.com/rdf/simple/0.9/'><channel/></rdf:RDF>",
         "rss0.9x"},
        {"<feed version='0.3' xmlns='http://purl.org/atom/ns#'/>", "atom0.3"},
        {"<a:feed xmlns:a='http://www.w3.org/2005/Atom'/>", "atom1.0"},
        {"<entry xmlns='http://www.w3.org/2005/Atom'/>", "atom1.0"},
        {"{\"version\":\"https://jsonfeed.org/version/1\",\"items\":[]}", "json1.0"},
        {"{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":[]}", "json1.1"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_string_equal(read_text(known[i][0]).format, known[i][1]);
}
static void rss_entry(void **state) {
    (void)state;
    struct feed f = read_text(
        "<rss version='2.0' xmlns:dc='http://purl.org/dc/elements/1.1/' "
        "xmlns:c='http://purl.org/rss/1.0/modules/content/'>"
        "<channel><title>AT&amp;amp;T "
        "&lt;b>news&lt;/b></title><link>/home</link><image><title>no</title><link>/no</link>"
        "</image><item><title>1 &lt; 2 &amp;amp; &lt;i>so&lt;/i> on &lt;stdio.h></title><guid>x1</guid><link> /1?a=b "
        "</link>"
        "<description>&lt;p>short&lt;/p></description><c:encoded><![CDATA[<p>long & <b>bold</b></p>]]></c:encoded>"
        "<pubDate>Thu, 01 Jan 2004 19:48:21 GMT</pubDate><author>a@h.example (A)</author><dc:creator>B</dc:creator>"
        "<category domain='d'>one</category><category>two</category><comments>1#c</comments>"
        "<enclosure url='/a.mp3' length='123' type='audio/mpeg'/><enclosure url='b.mp3' "
        "length='many'/></item></channel></rss>");
    assert_span(f.title, "AT&T news");
    assert_span(f.link, "http://h.example/home");
    assert_int_equal(f.entry_count, 1);
    const struct feed_entry *e = &f.entries[0];
    assert_span(e->id, "x1");
    assert_span(e->link, "http://h.example/1?a=b");
    assert_span(e->title, "1 < 2 & so on <stdio.h>");
    assert_span(e->summary, "<p>short</p>");
    assert_span(e->summary_type, "text/html");
    assert_span(e->content, "<p>long & <b>bold</b></p>");
    assert_span(e->published.text, "2004-01-01T19:48:21Z");
    assert_span(e->published.raw, "Thu, 01 Jan 2004 19:48:21 GMT");
    assert_null(e->updated.text.ptr);
    assert_int_equal(e->author_count, 2);
    assert_span(e->authors[0], "a@h.example (A)");
    assert_span(e->authors[1], "B");
    assert_int_equal(e->category_count, 2);
    assert_span(e->categories[0].scheme, "d");
    assert_span(e->categories[1].term, "two");
    assert_span(e->comments, "http://h.example/d/1#c");
    assert_int_equal(e->enclosure_count, 2);
    assert_span(e->enclosures[0].url, "http://h.example/a.mp3");
    assert_int_equal(e->enclosures[0].length, 123);
    assert_int_equal(e->enclosures[1].length, -1);
    assert_int_equal(f.warning_count, 0);
}
static void atom_entry(void **state) {
    (void)state;
    struct feed f = read_text(
        ATOM "<title type='html'>&lt;b>F&lt;/b>&amp;amp;G</title><link rel='self' href='self'/><link href='/home'/>"
             "<author><name>Chief</name></author><subtitle>s</subtitle><entry><id>URN:x</id><title>a &lt;b> c</title>"
             "<link rel='enclosure' href='x.ogg' type='audio/ogg' length='9'/><link rel='edit' href='/edit'/>"
             "<link href='/1'/><link rel='http://www.iana.org/assignments/relation/alternate' href='/1.pdf'/>"
             "<published>2003-12-13T18:30:02+01:00</published><updated>2003-12-13</updated>"
             "<author><email>m@h.example</email><name>M</name></author><author><email>n@h.example</email></author>"
             "<category term='t' scheme='s' label='L'/><source><title>other</title><id>o</id></source>"
             "<summary>5 &lt; 6</summary><content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>"
             "<p class='a&quot;b'>x &amp; y<br/></p><i></i></div></content></entry></feed>");
    assert_span(f.title, "F&G");
    assert_span(f.link, "http://h.example/home");
    assert_span(f.description, "s");
    assert_int_equal(f.author_count, 1);
    const struct feed_entry *e = &f.entries[0];
    assert_span(e->id, "URN:x");
    assert_span(e->title, "a <b> c"); /* text is text */
    assert_span(e->link, "http://h.example/1");
    assert_int_equal(e->link_count, 2);
    assert_span(e->links[1], "http://h.example/1.pdf");
    assert_span(e->published.text, "2003-12-13T17:30:02Z");
    assert_int_equal(e->published.quality, DATE_EXACT);
    assert_span(e->updated.text, "2003-12-13T00:00:00Z");
    assert_int_equal(e->updated.quality, DATE_ZONE_ASSUMED);
    assert_int_equal(e->author_count, 2);
    assert_span(e->authors[0], "M");
    assert_span(e->authors[1], "n@h.example");
    assert_span(e->categories[0].label, "L");
    assert_span(e->summary, "5 < 6");
    assert_span(e->summary_type, "text/plain");
    assert_span(e->content, "<p class=\"a&quot;b\">x &amp; y<br/></p><i></i>");
    assert_span(e->content_type, "application/xhtml+xml");
    assert_int_equal(e->enclosure_count, 1);
    assert_int_equal(e->enclosures[0].length, 9);
    assert_int_equal(f.warning_count, 0);
}
static void atom_contents(void **state) {
    (void)state;
    struct feed_entry e = first_of(ATOM "<entry><content type='image/png'>iVBORw0K</content></entry></feed>");
    assert_span(e.content, "iVBORw0K"); /* no text: stays base64 */
    assert_span(e.content_type, "image/png");
    e = first_of(ATOM "<entry><content type='application/json'>eyJh\n IjoxfQ==</content></entry></feed>");
    assert_span(e.content, "{\"a\":1}");
    e = first_of(ATOM
                 "<entry><content type='image/svg+xml'><svg xmlns='http://www.w3.org/2000/svg'><g/></svg></content>"
                 "<summary type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>a</div> b</summary></entry></feed>");
    assert_span(e.content, "<svg xmlns=\"http://www.w3.org/2000/svg\"><g></g></svg>");
    assert_span(e.summary, "<div>a</div> b");
    e = first_of(ATOM
                 "<entry><summary>a &amp;amp; <b>bold</b></summary></entry></feed>"); /* markup without saying so */
    assert_span(e.summary, "a &amp;amp; <b>bold</b>");
    assert_span(e.summary_type, "application/xhtml+xml");
    e = first_of("<feed version='0.3' xmlns='http://purl.org/atom/ns#'><entry><title mode='escaped' type='text/html'>"
                 "a&lt;br>b</title><issued>2004-01-01T00:00:00Z</issued><modified>2004-01-02T00:00:00Z</modified>"
                 "<content mode='base64' type='text/html'>PGI+eDwvYj4=</content></entry></feed>");
    assert_span(e.title, "a b");
    assert_span(e.content, "<b>x</b>");
    assert_span(e.published.text, "2004-01-01T00:00:00Z");
    assert_span(e.updated.text, "2004-01-02T00:00:00Z");
}
static void json_feed(void **state) {
    (void)state;
    struct feed f = read_text(
        "\xEF\xBB\xBF{\"version\":\"https://jsonfeed.org/version/1.1\",\"title\":\"T \\u00e4\",\"home_page_url\":\"/\","
        "\"authors\":[{\"name\":\"A\"}],\"items\":[{\"id\":17,\"url\":\"/1\",\"title\":\"t\",\"content_html\":\"<p>x\","
        "\"content_text\":\"x\",\"summary\":\"s\",\"date_published\":\"2004-01-01T00:00:00-05:00\",\"tags\":[\"a\",1,"
        "\"b\"],"
        "\"author\":{\"name\":\"old\"},\"authors\":[{\"url\":\"http://b.example/\"}],"
        "\"attachments\":[{\"url\":\"a.mp3\",\"mime_type\":\"audio/mpeg\",\"size_in_bytes\":5},{\"mime_type\":\"x\"}]},"
        "{\"id\":\"2\",\"external_url\":\"http://e.example/\",\"content_text\":\" a\\n b\"},3]}");
    assert_string_equal(f.format, "json1.1");
    assert_span(f.title, "T \xC3\xA4");
    assert_span(f.link, "http://h.example/");
    assert_int_equal(f.entry_count, 2);
    const struct feed_entry *e = f.entries;
    assert_span(e->id, "17");
    assert_span(e->link, "http://h.example/1");
    assert_span(e->content, "<p>x");
    assert_span(e->summary_type, "text/plain");
    assert_span(e->published.text, "2004-01-01T05:00:00Z");
    assert_int_equal(e->author_count, 1);
    assert_span(e->authors[0], "http://b.example/");
    assert_int_equal(e->category_count, 2);
    assert_int_equal(e->enclosure_count, 1);
    assert_int_equal(e->enclosures[0].length, 5);
    assert_span(e[1].link, "http://e.example/");
    assert_span(e[1].content, " a\n b");
    refuses("{\"version\":\"1.0\",\"name\":\"package\"}", "no JSON Feed");
    refuses("{\"items\":[", "from byte 10");
    refuses("[1]", "no JSON Feed");
}

/* ---- names and links ---- */

static void vocabularies(void **state) {
    (void)state;
    struct feed_entry e = first_of(
        "<rss version='2.0' xmlns:a='http://www.w3.org/2005/Atom' xmlns:x='urn:x' "
        "xmlns:m='http://search.yahoo.com/mrss/'>"
        "<channel><item><x:title>wrong</x:title><m:title>wrong too</m:title><title>right</title><x:link>/no</x:link>"
        "<a:link rel='alternate' "
        "href='/atom'/><a:updated>2004-01-02T00:00:00Z</a:updated><x:description>no</x:description>"
        "<a:author><a:name>N</a:name></a:author></item></channel></rss>");
    assert_span(e.title, "right");
    assert_span(e.link, "http://h.example/atom");
    assert_span(e.updated.text, "2004-01-02T00:00:00Z");
    assert_null(e.summary.ptr);
    assert_span(e.authors[0], "N");
    e = first_of("<rss version='2.0'><channel><item><dc:date>2004-01-01</dc:date><content:encoded>c</content:encoded>"
                 "</item></channel></rss>"); /* undeclared, but everybody knows them */
    assert_span(e.published.text, "2004-01-01T00:00:00Z");
    assert_span(e.content, "c");
    e = first_of("<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'>"
                 "<channel><items><rdf:Seq><rdf:li/></rdf:Seq></items></channel><item rdf:about='http://h.example/a'>"
                 "<title>t</title></item></rdf:RDF>");
    assert_span(e.id, "http://h.example/a");
    assert_null(e.link.ptr);
}
static void guid_as_link(void **state) {
    (void)state;
    struct feed_entry e = first_of(RSS "<item><guid>http://h.example/p</guid></item>" RSS_END);
    assert_span(e.link, "http://h.example/p");
    assert_true(e.id_is_permalink);
    e = first_of(RSS "<item><guid isPermaLink='false'>http://h.example/p</guid></item>" RSS_END);
    assert_null(e.link.ptr);
    assert_false(e.id_is_permalink);
    e = first_of(RSS "<item><guid>17</guid></item>" RSS_END);
    assert_null(e.link.ptr);
    assert_span(e.id, "17");
}
static void xml_base_chain(void **state) {
    (void)state;
    struct feed f = read_text(
        "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='http://b.example/x/'><link href='home'/>"
        "<entry xml:base='y/'><link href='1'/><id>rel</id><content type='html' xml:base='z/'>c</content></entry>"
        "<entry><link href='2'/></entry><entry xml:base='javascript:alert(1)'><link href='3'/></entry></feed>");
    assert_span(f.link, "http://b.example/x/home");
    assert_span(f.entries[0].link, "http://b.example/x/y/1");
    assert_span(f.entries[0].id, "rel");
    assert_span(f.entries[0].base, "http://b.example/x/y/z/");
    assert_span(f.entries[1].link, "http://b.example/x/2"); /* the entry before took its base with it */
    assert_span(f.entries[2].link, "http://b.example/x/3");
    assert_true(warned(&f, "xml:base"));
}

/* ---- encodings ---- */

static const char *title_of(const char *bytes, size_t len, const char *content_type, struct feed *f) {
    *f = read_as((struct tl_span){bytes, len}, content_type);
    return f->title.ptr ? f->title.ptr : "(none)";
}
#define TITLE_IS(want, name, type, literal)                                                                            \
    do {                                                                                                               \
        assert_string_equal(title_of("" literal, sizeof(literal) - 1, type, &f), want);                                \
        assert_string_equal(f.charset, name);                                                                          \
    } while (0)
static void encodings(void **state) {
    (void)state;
    struct feed f;
    TITLE_IS("\xC3\xA4", "windows-1252", NULL,
             "<?xml version='1.0' encoding='iso-8859-1'?><rss><channel><title>\xE4</title></channel></rss>");
    TITLE_IS("\xD0\x96", "windows-1251", "text/xml; charset=windows-1251", /* the header knows better */
             "<?xml version='1.0' encoding='koi8-r'?><rss><channel><title>\xC6</title></channel></rss>");
    TITLE_IS("\xD0\x96", "utf-8", "text/xml; charset=koi8-r", /* and the mark best */
             "\xEF\xBB\xBF<rss><channel><title>\xD0\x96</title></channel></rss>");
    assert_int_equal(f.warning_count, 0);
    TITLE_IS("\xD0\x96", "utf-8", "text/xml; charset=iso-8859-1",
             "<rss><channel><title>\xD0\x96</title></channel></rss>");
    assert_true(warned(&f, "UTF-8"));
    TITLE_IS("\xC3\xA4", "windows-1252", NULL, /* says UTF-8, and nothing in it is */
             "<?xml version='1.0' encoding='utf-8'?><rss><channel><title>\xE4</title></channel></rss>");
    assert_true(warned(&f, "encoding"));
    TITLE_IS("\xC3\xA4\xEF\xBF\xBD", "utf-8", NULL, "<rss><channel><title>\xC3\xA4\xE4</title></channel></rss>");
    assert_true(warned(&f, "encoding"));
    TITLE_IS("\xC3\xA4", "utf-16le", NULL,
             "<\0r\0s\0s\0>\0<\0c\0h\0a\0n\0n\0e\0l\0>\0<\0t\0i\0t\0l\0e\0>\0\xE4\0<\0/\0t\0i\0t\0l\0e\0>\0<\0/"
             "\0c\0h\0a\0n\0"
             "n\0e\0l\0>\0<\0/\0r\0s\0s\0>\0");
    TITLE_IS(
        "\xF0\x9F\x98\x80", "utf-32", NULL,
        "\0\0\xFE\xFF\0\0\0<\0\0\0r\0\0\0s\0\0\0s\0\0\0>\0\0\0<\0\0\0t\0\0\0i\0\0\0t\0\0\0l\0\0\0e\0\0\0>\0\x01\xF6\0");
    TITLE_IS("don\xE2\x80\x99t", "utf-8", NULL, "<rss><channel><title>don\xC2\x92t</title></channel></rss>");
    TITLE_IS("T", "utf-8", "text/html; charset=bogus", "<rss><channel><title>T</title></channel></rss>");
}

/* ---- faults ---- */

/* Well-formed XML is never said to be repaired. */
static void nothing_to_repair(void **state) {
    (void)state;
    static const char *const good[] = {
        RSS RSS_END,
        "<?xml version='1.0'?><!-- a -- b --><!DOCTYPE rss [<!ENTITY e 'x&amp;y'>]><?pi?>\n" RSS
        "<item><title>&e;&#228;&#x41;]] ></title></item>" RSS_END "<!-- end -->\n",
        RSS "<item><description>a<br></br><img src='x'/>&lt;br></description></item >" RSS_END};
    for (size_t i = 0; i < 3; i++) {
        struct feed f = read_text(good[i]);
        if (f.warning_count)
            fail_msg("%s: %s", good[i], f.warnings[0]);
    }
}
static void repairs(void **state) {
    (void)state;
    struct {
        const char *body, *title, *word;
    } bad[] = {
        {RSS "<item><title>a & b &nbsp;&copy x &bogus; &lt;</title></item>" RSS_END,
         "a & b \xC2\xA0\xC2\xA9 x &bogus; <", "ampersand"},
        {RSS "<item><title>a\x08\x1C"
             "b&#4;c</title></item>" RSS_END,
         "abc", "forbids"},
        {RSS "<item><title>a<b>c</title><link>/x</link></item>" RSS_END, "ac", "match"},
        {RSS "<item><title>a</Title></item></title>" RSS_END, "a", "match"},
        {RSS "<item a=1 b c='x' a='2'><title>a</title></item>" RSS_END, "a", "tags"},
        {RSS "<item><title>1 < 2</title></item>" RSS_END, "1 < 2", "tags"},
        {"junk " RSS "<item><title>a</title></item>" RSS_END " more", "a", "outside"},
        {RSS "<item><title>a</title><descr", "a", "ends in the middle"},
        {RSS "<item><title>a <![CDATA[b", "a b", "ends in the middle"},
        {RSS "<item><title>a</title><![CDATA[ x ]]></item><item" RSS_END, "a", "tags"},
        {"\n \xEF\xBB\xBF<?xml version='1.0'?>" RSS "<item><title>a</title></item>" RSS_END, "a", "outside"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct feed f = read_text(bad[i].body);
        assert_true(f.entry_count > 0);
        if (!f.entries[0].title.ptr || strcmp(f.entries[0].title.ptr, bad[i].title))
            fail_msg("%s: got %s, want %s", bad[i].body, f.entries[0].title.ptr, bad[i].title);
        if (!warned(&f, bad[i].word))
            fail_msg("%s: no warning about '%s' (%zu others)", bad[i].body, bad[i].word, f.warning_count);
    }
}
static void unreadable_dates(void **state) {
    (void)state;
    struct feed f = read_text(RSS "<item><pubDate>yesterday</pubDate></item>" RSS_END);
    assert_null(f.entries[0].published.text.ptr);
    assert_span(f.entries[0].published.raw, "yesterday");
    assert_true(warned(&f, "date"));
}

/* ---- hostile bodies ---- */

static void entities_of_the_document(void **state) {
    (void)state;
    struct feed f =
        read_text("<!DOCTYPE rss SYSTEM 'x>y' [<!-- ]> --><!ENTITY % p SYSTEM 'http://h.example/p.ent'> %p; "
                  "<!ENTITY a \"1 &#60;b> &amp;\"><!ENTITY b '&a;&a;'><!ELEMENT rss ANY>"
                  "<!ENTITY file SYSTEM 'file:///etc/passwd'>]>" RSS
                  "<item><title>&b;|&file;|&p;</title><link>/&a;</link></item>" RSS_END);
    assert_span(f.entries[0].title, "1 &1 &|&file;|&p;"); /* markup in an entity is a text's, not the document's */
    assert_true(warned(&f, "external"));
    assert_int_equal(f.entry_count, 1);
}
static void amplification(void **state) {
    (void)state;
    struct buf b = BUF_INIT;
    buf_text(&b, "<!DOCTYPE rss [<!ENTITY a 'lol'>");
    for (int c = 'b'; c <= 'j'; c++) {
        buf_printf(&b, "<!ENTITY %c '", c);
        for (int i = 0; i < 10; i++)
            buf_printf(&b, "&%c;", c - 1);
        buf_text(&b, "'>");
    }
    buf_text(&b, "]>" RSS "<item><title>&j;</title></item>" RSS_END);
    struct feed f = read_text(b.data);
    assert_true(f.entries[0].title.len < 100000 && warned(&f, "stopped"));
    buf_reset(&b); /* one large entity, many times */
    buf_text(&b, "<!DOCTYPE rss [<!ENTITY a '");
    for (int i = 0; i < 4000; i++)
        buf_char(&b, 'x');
    buf_text(&b, "'>]>" RSS "<item><description>");
    for (int i = 0; i < 10000; i++)
        buf_text(&b, "&a;");
    buf_text(&b, "</description></item>" RSS_END);
    f = read_text(b.data);
    assert_true(f.entries[0].summary.len < XML_EXPANSION_MAX + 10000 * 3 && warned(&f, "stopped"));
    buf_free(&b);
}
static void *deep_feed(void *arg) {
    struct buf b = BUF_INIT;
    buf_text(&b, RSS "<item><title>a</title><description>");
    for (int i = 0; i < 5000; i++)
        buf_text(&b, "<div xml:base='x/'>");
    buf_text(&b, "deep");
    for (int i = 0; i < 5000; i++)
        buf_text(&b, "</div>");
    buf_text(&b, "</description><link>/x</link></item>" RSS_END);
    struct feed *f = arg;
    *f = read_text(b.data);
    buf_free(&b);
    return NULL;
}
/* On a stack as small as a coroutine's. */
static void deep_nesting(void **state) {
    (void)state;
    pthread_t thread;
    pthread_attr_t attr;
    struct feed f;
    pthread_attr_init(&attr);
    assert_int_equal(pthread_attr_setstacksize(&attr, 256 << 10), 0);
    assert_int_equal(pthread_create(&thread, &attr, deep_feed, &f), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    assert_true(warned(&f, "deep"));
    assert_span(f.entries[0].title, "a");
    assert_span(f.entries[0].link, "http://h.example/x");
    assert_non_null(strstr(f.entries[0].summary.ptr, "deep</div>"));
}
static void many_names(void **state) {
    (void)state;
    struct buf b = BUF_INIT;
    buf_text(&b, RSS);
    for (int i = 0; i < 3 * XML_NAMES_MAX; i++)
        buf_printf(&b, "<n%d a%d='1'/>", i, i);
    buf_text(&b, "<item><title>a</title></item>" RSS_END);
    struct feed f = read_text(b.data);
    assert_true(warned(&f, "names"));
    buf_free(&b);
}

/* ---- other bodies, and caps ---- */

static void pages(void **state) {
    (void)state;
    struct feed f;
    const char *page =
        "<!DOCTYPE html><html><head><base href='/b/'><link rel='alternate' type='application/rss+xml' "
        "href='rss.xml' title='News &amp; more'><link rel='ALTERNATE feed' href='x'><link rel=stylesheet "
        "href=s.css><link rel=alternate hreflang=de href=de><link rel=alternate type='application/atom+xml;"
        "charset=utf-8' href='https://o.example/atom'></head><body><rss/></body></html>";
    assert_int_equal(feed_parse(&arena, span_of(page), ADDRESS, "application/rss+xml", &f), TL_INVALID);
    assert_int_equal(f.alternate_count, 3);
    assert_span(f.alternates[0].url, "http://h.example/b/rss.xml");
    assert_span(f.alternates[0].title, "News & more");
    assert_span(f.alternates[1].url, "http://h.example/b/x");
    assert_span(f.alternates[2].url, "https://o.example/atom");
    assert_non_null(strstr(f.error, "names 3 feeds"));
    assert_string_equal(read_as(span_of(RSS RSS_END), "text/html").format, "rss2.0"); /* the wrong type is no matter */
}
static void no_feed(void **state) {
    (void)state;
    refuses("", "empty");
    refuses("\xEF\xBB\xBF \n", "empty");
    refuses("just text", "neither");
    refuses("<opml/>", "<opml>");
    refuses("<", "neither");
    refuses("\x1f\x8b\x08zzzz", "gzip");
}
static void without_an_address(void **state) {
    (void)state;
    struct feed f;
    const char *body = RSS "<item><link>/x</link></item><item><link>http://h.example</link></item>" RSS_END;
    assert_int_equal(feed_parse(&arena, span_of(body), NULL, NULL, &f), TL_OK);
    assert_null(f.entries[0].link.ptr);
    assert_span(f.entries[1].link, "http://h.example/");
    assert_true(warned(&f, "link"));
}
static void caps(void **state) {
    (void)state;
    struct buf b = BUF_INIT;
    struct arena small = {.max = 3000};
    struct feed f;
    buf_text(&b, RSS "<item>");
    for (int i = 0; i < 300; i++)
        buf_printf(&b, "<category>%d</category>", i);
    buf_text(&b, "</item>");
    for (int i = 1; i < FEED_ENTRIES_MAX + 5; i++)
        buf_printf(&b, "<item><title>%d</title></item>", i);
    buf_text(&b, RSS_END);
    f = read_text(b.data);
    assert_int_equal(f.entry_count, FEED_ENTRIES_MAX);
    assert_int_equal(f.entries[0].category_count, FEED_LIST_MAX);
    assert_span(f.entries[FEED_ENTRIES_MAX - 1].title, "9999");
    assert_true(f.truncated && warned(&f, "10000") && warned(&f, "256"));
    assert_int_equal(feed_parse(&small, buf_span(&b), ADDRESS, NULL, &f), TL_PARTIAL);
    assert_true(f.truncated);
    buf_reset(&b);
    buf_text(&b, RSS "<item><description>");
    while (b.len < FEED_TEXT_MAX + 100)
        buf_text(&b, "\xC3\xA4");
    buf_text(&b, "</description></item>" RSS_END);
    f = read_text(b.data);
    assert_true(f.truncated && f.entries[0].summary.len <= FEED_TEXT_MAX &&
                f.entries[0].summary.len > FEED_TEXT_MAX - 1000 && f.entries[0].summary.len % 2 == 0);
    arena_free(&small);
    buf_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(public_suites, clear),
        cmocka_unit_test_teardown(formats, clear),
        cmocka_unit_test_teardown(rss_entry, clear),
        cmocka_unit_test_teardown(atom_entry, clear),
        cmocka_unit_test_teardown(atom_contents, clear),
        cmocka_unit_test_teardown(json_feed, clear),
        cmocka_unit_test_teardown(vocabularies, clear),
        cmocka_unit_test_teardown(guid_as_link, clear),
        cmocka_unit_test_teardown(xml_base_chain, clear),
        cmocka_unit_test_teardown(encodings, clear),
        cmocka_unit_test_teardown(nothing_to_repair, clear),
        cmocka_unit_test_teardown(repairs, clear),
        cmocka_unit_test_teardown(unreadable_dates, clear),
        cmocka_unit_test_teardown(entities_of_the_document, clear),
        cmocka_unit_test_teardown(amplification, clear),
        cmocka_unit_test_teardown(deep_nesting, clear),
        cmocka_unit_test_teardown(many_names, clear),
        cmocka_unit_test_teardown(pages, clear),
        cmocka_unit_test_teardown(no_feed, clear),
        cmocka_unit_test_teardown(without_an_address, clear),
        cmocka_unit_test_teardown(caps, clear),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
