/* fuzz_html.c - any bytes as a page: first byte chooses the encoding it is read in, the rest is the body. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "net/charset.h"
#include "net/html.h"
#include "net/html_token.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool what) {
    if (!what)
        abort();
}
static void must_be_text(struct tl_span s) {
    must(s.ptr && utf8_valid(s.ptr, s.len));
}

/* Decodes, and checks that a text which is said to give the bytes back stands for them. */
static void read_body(const char *name, struct tl_span body, struct buf *text) {
    bool lossy, again_lossy;
    must(charset_to_utf8(name, body, text, &lossy) == TL_OK);
    must_be_text(buf_span(text));
    must(text->len <= 3 * body.len + 3);
    bool round = charset_round_trips(name, buf_span(text), body);
    must(!round || !lossy);
    AUTO_BUF struct buf again = BUF_INIT;
    AUTO_BUF struct buf small = {.max = 100};
    must(charset_to_utf8(name, body, &again, &again_lossy) == TL_OK && again.len == text->len && again_lossy == lossy);
    must(charset_to_utf8(name, body, &small, &lossy) <= TL_OK && small.len <= 100);
}
/* Tokens move on, and what they hold decodes to at most three times its length. */
static void read_tokens(struct tl_span input, enum html_state state) {
    struct html_tokenizer t;
    struct html_token token;
    html_token_init(&t, input);
    t.state = state;
    t.last = span_of("script");
    const char *before = t.pos;
    AUTO_BUF struct buf text = BUF_INIT;
    while (html_token_next(&t, &token)) {
        must(t.pos > before || (token.kind == HTML_TEXT && t.pos >= before));
        before = t.pos;
        for (size_t i = 0; i < token.attr_count; i++) {
            buf_reset(&text);
            html_token_decode(token.attr[i].value, HTML_AS_VALUE, &text);
            must(text.len <= 3 * token.attr[i].value.len);
            must(!html_token_is_plain(token.attr[i].value) || text.len == token.attr[i].value.len);
        }
        if (token.kind == HTML_TEXT)
            must(token.text.len > 0);
    }
    must(t.pos == t.end);
}
static void check_page(const struct html_page *page) {
    const struct tl_span parts[] = {page->title,  page->description, page->language, page->canonical,
                                    page->og_url, page->base,        page->refresh};
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (parts[i].ptr)
            must_be_text(parts[i]);
    must_be_text(buf_span(&page->text));
    for (size_t i = 0; i < page->link_count; i++) {
        const struct html_link *l = &page->links[i];
        must(l->position == i && *l->source);
        must_be_text(l->ref);
        must_be_text(l->rel);
        must_be_text(l->text);
        must(l->text.len <= HTML_ANCHOR_MAX);
        must(!l->ref.len || (!strchr(" \t\n\f\r", l->ref.ptr[0]) && !strchr(" \t\n\f\r", l->ref.ptr[l->ref.len - 1])) ||
             !l->ref.ptr[0] || !l->ref.ptr[l->ref.len - 1]);
    }
}
static void read_page(struct tl_span utf8) {
    struct arena arena = ARENA_INIT, small = {.max = 200};
    struct html_page page = {0}, links = {0};
    must(html_scan(&arena, utf8, NULL, &page) == TL_OK);
    check_page(&page);
    must(html_scan(&arena, utf8, &(struct html_options){.no_text = true}, &links) == TL_OK);
    check_page(&links);
    must(links.text.len == 0 && links.link_count == page.link_count);
    for (size_t i = 0; i < links.link_count; i++) {
        struct tl_span a = page.links[i].ref, b = links.links[i].ref;
        must(a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0);
    }
    int rc = html_scan(&small, utf8, &(struct html_options){.max_text = 50, .max_links = 3}, &links);
    must((rc == TL_OK || rc == TL_PARTIAL) && links.link_count <= 3 && links.text.len <= 50);
    html_page_free(&page);
    html_page_free(&links);
    arena_free(&small);
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"utf-8",     "windows-1252", "gb18030", "big5",     "euc-jp",
                                        "shift_jis", "iso-2022-jp",  "euc-kr",  "utf-16le", "windows-1258"};
    struct charset found;
    if (size < 1)
        return 0;
    struct tl_span body = {(const char *)data + 1, size - 1};
    must(charset_decide(body, NULL, &found) == TL_OK && charset_name(span_of(found.name)));
    AUTO_BUF struct buf text = BUF_INIT;
    read_body(data[0] < COUNT_OF(names) ? names[data[0]] : found.name, body, &text);
    for (int state = HTML_DATA; state <= HTML_CDATA; state++)
        read_tokens(body, (enum html_state)state);
    read_page(buf_span(&text));
    return 0;
}
