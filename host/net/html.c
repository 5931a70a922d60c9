/* html.c - see html.h. Reads the tokens of html_token.h; keeps no tree, only how deep it is in pre and template.
 *
 * Invariant: a separator (space, line, blank line) is remembered and written when something follows it, so texts have
 * none at their ends. An anchor's text is a part of the readable text, from where its start tag stood. */
#include "net/html.h"

#include <stdlib.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/mem.h"
#include "net/html_token.h"

enum gap { GAP_NONE, GAP_SPACE, GAP_LINE, GAP_BLANK };
struct sink {
    struct buf *out;
    enum gap gap;
};
struct scan {
    struct html_tokenizer t;
    struct html_page *page;
    struct arena *arena;
    size_t max_links, max_text;
    struct html_link *links;
    size_t count, room;
    struct sink text;
    struct buf value, collapsed, title;
    size_t pre, hidden; /* how many are open: pre and its like; template */
    size_t anchor_from; /* in the text */
    size_t anchor_link; /* in links */
    const char *agent;  /* a meta of this name is for us */
    bool in_anchor, no_text, arena_full;
    bool mute; /* in the text of a script, a textarea and their like */
    bool in_title, has_title;
    bool after_pre; /* a newline right behind <pre> does not count */
};

/* ---- text ---- */

static inline bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f';
}
static struct tl_span strip(struct tl_span s) {
    while (s.len && is_space(*s.ptr)) {
        s.ptr++;
        s.len--;
    }
    while (s.len && is_space(s.ptr[s.len - 1]))
        s.len--;
    return s;
}
/* The most of the first `max` bytes that does not cut a character. */
static size_t utf8_cut(const char *p, size_t len, size_t max) {
    if (len <= max)
        return len;
    while (max && ((unsigned char)p[max] & 0xc0) == 0x80)
        max--;
    return max;
}
static void gap(struct sink *s, enum gap at_least) {
    if (s->gap < at_least)
        s->gap = at_least;
}
static char *put_gap(struct sink *s, char *o) {
    if (s->out->data != o && s->gap) {
        if (s->gap == GAP_BLANK)
            *o++ = '\n';
        *o++ = s->gap == GAP_SPACE ? ' ' : '\n';
    }
    s->gap = GAP_NONE;
    return o;
}
/* Room for a gap, `len` bytes and a block of 16; fewer bytes when the maximum is near. */
static size_t sink_room(struct sink *s, size_t len, const char *p) {
    enum { SLACK = 24 };
    size_t max = s->out->max ? s->out->max : BUF_MAX;
    if (s->out->len + SLACK > max || len > max - s->out->len - SLACK) {
        s->out->full = true;
        len = s->out->len + SLACK > max ? 0 : utf8_cut(p, len, max - s->out->len - SLACK);
    }
    buf_reserve(s->out, len + SLACK - 1);
    return len;
}
/* Copies the beginning of p..end up to white space that is more than one space; both move on by at least one byte,
 * unless p is at such white space. Sixteen bytes may be read at p as long as `readable` is not passed, and written at
 * o. */
static inline void copy_words(const char **from, const char *end, const char *readable, char **to) {
    (void)readable;
    const char *p = *from;
    char *o = *to;
#ifdef __SSE2__
    while (readable - p >= 16 && p < end) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        unsigned space = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(' ')));
        unsigned low = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(' ')), v));
        unsigned stop = (low & ~space) | (space & space << 1) | 0x10000;
        if (end - p < 16)
            stop |= 1u << (end - p);
        unsigned n = (unsigned)__builtin_ctz(stop);
        _mm_storeu_si128((__m128i *)(void *)o, v);
        if (space & (1u << n >> 1)) /* a last space may be one of several */
            n--;
        p += n;
        o += n;
        if (stop & 0xffff)
            break;
    }
#endif
    for (; p < end && (unsigned char)*p > ' '; p++)
        *o++ = *p;
    *from = p;
    *to = o;
}
static void add_text(struct sink *s, const char *p, size_t len, const char *readable) {
    const char *end = p + sink_room(s, len, p);
    if (p == end)
        return;
    char *o = s->out->data + s->out->len;
    while (p < end) {
        if (is_space(*p)) {
            do
                p++;
            while (p < end && is_space(*p));
            gap(s, GAP_SPACE);
            continue;
        }
        if (*p == '\0') {
            p++;
            continue;
        }
        o = put_gap(s, o);
        *o++ = *p++;
        copy_words(&p, end, readable, &o);
    }
    *o = '\0';
    s->out->len = (size_t)(o - s->out->data);
}
static void add_plain(struct sink *s, struct tl_span text) {
    add_text(s, text.ptr, text.len, text.ptr + text.len);
}
static void add_verbatim(struct sink *s, const char *p, size_t len) {
    const char *end = p + sink_room(s, len, p);
    if (p == end)
        return;
    char *o = s->out->data + s->out->len;
    o = put_gap(s, o);
    for (; p < end; p++)
        if (*p)
            *o++ = *p;
    *o = '\0';
    s->out->len = (size_t)(o - s->out->data);
}

/* ---- values ---- */

static struct tl_span keep(struct scan *s, struct tl_span text) {
    char *copy = arena_span(s->arena, text);
    if (!copy)
        s->arena_full = true;
    return copy ? (struct tl_span){copy, text.len} : (struct tl_span){"", 0};
}
/* Decoded, stripped: in the input, or in s->value until the next call. Too long: cut, and truncated. */
static struct tl_span value_of(struct scan *s, const struct tl_span *raw) {
    if (!raw)
        return (struct tl_span){"", 0};
    struct tl_span v = {raw->ptr, utf8_cut(raw->ptr, raw->len, HTML_VALUE_MAX)};
    if (v.len < raw->len)
        s->page->truncated = true;
    if (!html_token_is_plain(v)) {
        buf_reset(&s->value);
        html_token_decode(v, HTML_AS_VALUE, &s->value);
        v = buf_span(&s->value);
    }
    return strip(v);
}
static bool is_in_value(const struct scan *s, struct tl_span v) {
    return s->value.data && (uintptr_t)v.ptr - (uintptr_t)s->value.data <= s->value.len;
}
/* The same, to stay. */
static struct tl_span kept_value(struct scan *s, const struct tl_span *raw) {
    struct tl_span v = value_of(s, raw);
    return is_in_value(s, v) ? keep(s, v) : v;
}
/* At most `max` bytes of a text, collapsed, to stay. */
static struct tl_span kept_collapsed(struct scan *s, struct tl_span text, size_t max) {
    struct sink sink = {.out = &s->collapsed};
    buf_reset(sink.out);
    add_plain(&sink, text);
    struct tl_span b = buf_span(sink.out);
    return keep(s, (struct tl_span){b.ptr, utf8_cut(b.ptr, b.len, max)});
}
static bool same(struct tl_span s, const char *name) {
    size_t i = 0;
    for (; i < s.len && name[i]; i++)
        if ((s.ptr[i] >= 'A' && s.ptr[i] <= 'Z' ? s.ptr[i] | 0x20 : s.ptr[i]) != name[i])
            return false;
    return i == s.len && !name[i];
}
/* The next token of a list parted by white space and, if asked, commas; false: the list is over. */
static bool next_token(struct tl_span *list, bool commas, struct tl_span *token) {
    const char *p = list->ptr, *end = p + list->len;
    while (p < end && (is_space(*p) || (commas && *p == ',')))
        p++;
    token->ptr = p;
    while (p < end && !is_space(*p) && !(commas && *p == ','))
        p++;
    token->len = (size_t)(p - token->ptr);
    *list = (struct tl_span){p, (size_t)(end - p)};
    return token->len > 0;
}
/* rel, and whether it has the token "canonical". */
static struct tl_span rel_of(struct scan *s, const struct tl_span *raw, bool *canonical) {
    struct tl_span list = value_of(s, raw), token;
    char *out = list.len ? arena_alloc(s->arena, list.len) : NULL;
    size_t len = 0;
    *canonical = false;
    while (out && next_token(&list, false, &token)) {
        *canonical |= same(token, "canonical");
        if (len)
            out[len++] = ' ';
        for (size_t i = 0; i < token.len; i++)
            out[len++] = (char)(token.ptr[i] >= 'A' && token.ptr[i] <= 'Z' ? token.ptr[i] | 0x20 : token.ptr[i]);
    }
    return len ? (struct tl_span){out, len} : (struct tl_span){"", 0};
}

/* ---- links ---- */

static struct html_link *add_link(struct scan *s, struct tl_span ref, const char *source) {
    if (s->count >= s->max_links) {
        s->page->truncated = true;
        return NULL;
    }
    if (is_in_value(s, ref))
        ref = keep(s, ref);
    if (s->arena_full)
        return NULL;
    MEM_GROW(s->links, s->count, s->room);
    struct html_link *link = &s->links[s->count];
    *link = (struct html_link){
        .ref = ref, .rel = {"", 0}, .text = {"", 0}, .source = source, .position = (uint32_t)s->count};
    s->count++;
    return link;
}
/* The link that an attribute makes; NULL: none. */
static struct html_link *value_link(struct scan *s, const struct tl_span *raw, const char *source, bool empty_too) {
    if (raw && raw->len > HTML_VALUE_MAX) {
        s->page->truncated = true;
        return NULL;
    }
    struct tl_span ref = value_of(s, raw);
    return raw && (ref.len || empty_too) ? add_link(s, ref, source) : NULL;
}
/* The candidates of a srcset (HTML, 4.8.4.3.11): a URL, then descriptors up to a comma outside of parentheses. */
static void srcset_links(struct scan *s, const struct tl_span *raw, const char *source, struct tl_span text) {
    if (raw->len > HTML_VALUE_MAX) {
        s->page->truncated = true;
        return;
    }
    struct tl_span list = kept_value(s, raw);
    const char *p = list.ptr, *end = p + list.len;
    for (;;) {
        while (p < end && (is_space(*p) || *p == ','))
            p++;
        if (p == end)
            return;
        const char *from = p;
        while (p < end && !is_space(*p))
            p++;
        const char *to = p;
        while (to > from && to[-1] == ',')
            to--;
        struct html_link *link = add_link(s, (struct tl_span){from, (size_t)(to - from)}, source);
        if (!link)
            return;
        link->text = text;
        if (to < p)
            continue;
        for (bool inside = false; p < end && (inside || *p != ','); p++)
            inside = *p == '(' || (inside && *p != ')');
    }
}
static void anchor_close(struct scan *s) {
    if (!s->in_anchor)
        return;
    s->in_anchor = false;
    struct buf *text = s->text.out;
    if (s->anchor_from < text->len) {
        /* Twice the cap, for in pre it may hold runs of white space. */
        size_t len = utf8_cut(text->data + s->anchor_from, text->len - s->anchor_from, (size_t)2 * HTML_ANCHOR_MAX);
        s->links[s->anchor_link].text =
            kept_collapsed(s, (struct tl_span){text->data + s->anchor_from, len}, HTML_ANCHOR_MAX);
    }
    if (s->no_text)
        buf_reset(text);
}
static void anchor_open(struct scan *s, const struct html_token *token) {
    bool canonical;
    anchor_close(s); /* they do not nest */
    const struct tl_span *href = HTML_ATTR(token, "href");
    if (!href && html_token_in_svg(&s->t))
        href = HTML_ATTR(token, "xlink:href");
    struct html_link *link = value_link(s, href, "a", true);
    if (!link)
        return;
    link->rel = rel_of(s, HTML_ATTR(token, "rel"), &canonical);
    s->anchor_link = s->count - 1;
    s->anchor_from = s->text.out->len;
    s->in_anchor = true;
}
static void link_element(struct scan *s, const struct html_token *token) {
    bool canonical;
    struct html_link *link = value_link(s, HTML_ATTR(token, "href"), "link", false);
    if (!link)
        return;
    link->rel = rel_of(s, HTML_ATTR(token, "rel"), &canonical);
    if (canonical && !s->page->canonical.ptr)
        s->page->canonical = link->ref;
}
static void image(struct scan *s, const struct html_token *token) {
    const struct tl_span *alt_raw = HTML_ATTR(token, "alt"), *srcset = HTML_ATTR(token, "srcset");
    struct tl_span alt = {"", 0};
    if (alt_raw && alt_raw->len) {
        alt = kept_collapsed(s, value_of(s, alt_raw), HTML_ANCHOR_MAX);
        if ((!s->no_text || s->in_anchor) && alt.len) {
            gap(&s->text, GAP_SPACE);
            add_plain(&s->text, alt);
            gap(&s->text, GAP_SPACE);
        }
    }
    struct html_link *link = value_link(s, HTML_ATTR(token, "src"), "img", false);
    if (link)
        link->text = alt;
    if (srcset)
        srcset_links(s, srcset, "img", alt);
}

/* ---- meta ---- */

static void robots(struct scan *s, struct tl_span list) {
    struct tl_span token;
    while (next_token(&list, true, &token)) {
        bool none = same(token, "none");
        s->page->noindex |= none || same(token, "noindex");
        s->page->nofollow |= none || same(token, "nofollow");
    }
}
/* "5; url='there'" (HTML, 4.2.5.3). */
static void refresh(struct scan *s, struct tl_span content) {
    const char *p = content.ptr, *end = p + content.len, *from = p;
    while (p < end && ((*p >= '0' && *p <= '9') || *p == '.'))
        p++;
    if (p == from || p == end || !(is_space(*p) || *p == ';' || *p == ','))
        return;
    while (p < end && is_space(*p))
        p++;
    if (p < end && (*p == ';' || *p == ','))
        p++;
    while (p < end && is_space(*p))
        p++;
    if (end - p >= 3 && same((struct tl_span){p, 3}, "url")) {
        const char *q = p + 3;
        while (q < end && is_space(*q))
            q++;
        if (q < end && *q == '=') {
            p = q + 1;
            while (p < end && is_space(*p))
                p++;
        }
    }
    if (p < end && (*p == '"' || *p == '\'')) {
        const char *close = memchr(p + 1, *p, (size_t)(end - p - 1));
        p++;
        end = close ? close : end;
    }
    struct tl_span url = strip((struct tl_span){p, (size_t)(end - p)});
    if (!url.len)
        return;
    struct html_link *link = add_link(s, url, "meta");
    if (link && !s->page->refresh.ptr)
        s->page->refresh = link->ref;
}
static void meta(struct scan *s, const struct html_token *token) {
    const struct tl_span *content = HTML_ATTR(token, "content"), *name = HTML_ATTR(token, "name");
    const struct tl_span *property = HTML_ATTR(token, "property"), *equiv = HTML_ATTR(token, "http-equiv");
    struct html_page *page = s->page;
    if (!content)
        return;
    if (name) {
        struct tl_span n = strip(*name);
        if (same(n, "robots") || same(n, s->agent))
            robots(s, value_of(s, content));
        else if (same(n, "description") && !page->description.ptr)
            page->description = kept_collapsed(s, value_of(s, content), HTML_VALUE_MAX);
    }
    if (equiv && same(strip(*equiv), "refresh"))
        refresh(s, value_of(s, content));
    if (!page->og_url.ptr && ((property && same(strip(*property), "og:url")) || (name && same(strip(*name), "og:url"))))
        page->og_url = kept_value(s, content);
}

/* ---- tags ---- */

enum { BLOCK = 1, CELL = 2, VERBATIM = 4, ACTS = 8 }; /* ACTS: start_tag knows it */
/* clang-format off */
static const uint8_t layout[HTML_TAGS] = {
    [HTML_ADDRESS] = BLOCK, [HTML_ARTICLE] = BLOCK, [HTML_ASIDE] = BLOCK, [HTML_BLOCKQUOTE] = BLOCK,
    [HTML_BODY] = BLOCK, [HTML_CAPTION] = BLOCK, [HTML_CENTER] = BLOCK, [HTML_DD] = BLOCK, [HTML_DETAILS] = BLOCK,
    [HTML_DIALOG] = BLOCK, [HTML_DIR] = BLOCK, [HTML_DIV] = BLOCK, [HTML_DL] = BLOCK, [HTML_DT] = BLOCK,
    [HTML_FIELDSET] = BLOCK, [HTML_FIGCAPTION] = BLOCK, [HTML_FIGURE] = BLOCK, [HTML_FOOTER] = BLOCK,
    [HTML_FORM] = BLOCK | ACTS, [HTML_FRAMESET] = BLOCK, [HTML_H1] = BLOCK, [HTML_H2] = BLOCK, [HTML_H3] = BLOCK,
    [HTML_H4] = BLOCK, [HTML_H5] = BLOCK, [HTML_H6] = BLOCK, [HTML_HEAD] = BLOCK, [HTML_HEADER] = BLOCK,
    [HTML_HGROUP] = BLOCK, [HTML_HR] = BLOCK, [HTML_HTML] = BLOCK | ACTS, [HTML_LEGEND] = BLOCK, [HTML_LI] = BLOCK,
    [HTML_LISTING] = BLOCK | VERBATIM, [HTML_MAIN] = BLOCK, [HTML_MENU] = BLOCK, [HTML_NAV] = BLOCK,
    [HTML_OL] = BLOCK, [HTML_OPTGROUP] = BLOCK, [HTML_OPTION] = BLOCK, [HTML_P] = BLOCK,
    [HTML_PLAINTEXT] = BLOCK | VERBATIM, [HTML_PRE] = BLOCK | VERBATIM, [HTML_SEARCH] = BLOCK, [HTML_SECTION] = BLOCK,
    [HTML_SELECT] = BLOCK, [HTML_SUMMARY] = BLOCK, [HTML_TABLE] = BLOCK, [HTML_TBODY] = BLOCK, [HTML_TD] = CELL,
    [HTML_TFOOT] = BLOCK, [HTML_TH] = CELL, [HTML_THEAD] = BLOCK, [HTML_TR] = BLOCK, [HTML_UL] = BLOCK,
    [HTML_XMP] = BLOCK | VERBATIM, [HTML_A] = ACTS, [HTML_AREA] = ACTS, [HTML_AUDIO] = ACTS, [HTML_BASE] = ACTS,
    [HTML_BR] = ACTS, [HTML_EMBED] = ACTS, [HTML_FRAME] = ACTS, [HTML_IFRAME] = ACTS, [HTML_IMG] = ACTS,
    [HTML_LINK] = ACTS, [HTML_META] = ACTS, [HTML_OBJECT] = ACTS, [HTML_SCRIPT] = ACTS, [HTML_SOURCE] = ACTS,
    [HTML_TITLE] = ACTS, [HTML_TRACK] = ACTS, [HTML_VIDEO] = ACTS,
};
/* clang-format on */
static void start_tag(struct scan *s, const struct html_token *token) {
    struct html_page *page = s->page;
    struct html_link *link;
    const struct tl_span *v;
    switch (token->tag) {
    case HTML_A:
        anchor_open(s, token);
        break;
    case HTML_AREA:
        link = value_link(s, HTML_ATTR(token, "href"), "area", true);
        if (link) {
            bool canonical;
            link->rel = rel_of(s, HTML_ATTR(token, "rel"), &canonical);
            link->text = kept_collapsed(s, value_of(s, HTML_ATTR(token, "alt")), HTML_ANCHOR_MAX);
        }
        break;
    case HTML_LINK:
        link_element(s, token);
        break;
    case HTML_IMG:
        image(s, token);
        break;
    case HTML_META:
        meta(s, token);
        break;
    case HTML_BASE:
        v = HTML_ATTR(token, "href");
        if (v && !page->base.ptr)
            page->base = kept_value(s, v);
        break;
    case HTML_HTML:
        v = HTML_ATTR(token, "lang");
        if (v && !page->language.ptr)
            page->language = kept_value(s, v);
        break;
    case HTML_SOURCE:
    case HTML_VIDEO:
    case HTML_AUDIO:
    case HTML_TRACK:
    case HTML_EMBED:
    case HTML_SCRIPT:
    case HTML_IFRAME:
    case HTML_FRAME:
        value_link(s, HTML_ATTR(token, "src"), html_token_name(token->tag), false);
        if (token->tag == HTML_VIDEO)
            value_link(s, HTML_ATTR(token, "poster"), "video", false);
        v = token->tag == HTML_SOURCE ? HTML_ATTR(token, "srcset") : NULL;
        if (v)
            srcset_links(s, v, "source", (struct tl_span){"", 0});
        break;
    case HTML_OBJECT:
        value_link(s, HTML_ATTR(token, "data"), "object", false);
        break;
    case HTML_FORM:
        v = HTML_ATTR(token, "method");
        if (!v || !(same(*v, "post") || same(*v, "dialog")))
            value_link(s, HTML_ATTR(token, "action"), "form", false);
        break;
    case HTML_BR:
        s->text.gap = s->text.gap < GAP_LINE ? GAP_LINE : GAP_BLANK;
        break;
    case HTML_TITLE:
        s->in_title = s->t.state == HTML_RCDATA && !s->has_title;
        break;
    default:
        break;
    }
}
static void on_start(struct scan *s, const struct html_token *token) {
    /* Only their own end tag ends them, so the next tag is it. */
    s->mute = s->t.state != HTML_DATA && !(layout[token->tag] & VERBATIM);
    if (token->tag == HTML_TEMPLATE)
        s->hidden++;
    if (s->hidden)
        return;
    unsigned how = layout[token->tag];
    if (how & BLOCK)
        gap(&s->text, GAP_LINE);
    else if (how & CELL)
        gap(&s->text, GAP_SPACE);
    if (how & ACTS)
        start_tag(s, token);
    if (how & VERBATIM) {
        s->pre++;
        s->after_pre = true;
    }
}
static void title_close(struct scan *s) {
    if (!s->in_title)
        return;
    s->in_title = false;
    s->has_title = true;
    s->page->truncated |= s->title.full;
    s->page->title = kept_collapsed(s, buf_span(&s->title), s->title.len);
}
static void on_end(struct scan *s, const struct html_token *token) {
    s->mute = false;
    if (token->tag == HTML_TEMPLATE && s->hidden)
        s->hidden--;
    if (s->hidden)
        return;
    unsigned how = layout[token->tag];
    if (how & BLOCK)
        gap(&s->text, GAP_LINE);
    else if (how & CELL)
        gap(&s->text, GAP_SPACE);
    if (how & VERBATIM && s->pre)
        s->pre--;
    if (token->tag == HTML_A)
        anchor_close(s);
    else if (token->tag == HTML_TITLE)
        title_close(s);
}
static void on_text(struct scan *s, struct tl_span text, bool decoded, bool newline_drops) {
    if (s->in_title)
        buf_add(&s->title, text.ptr, text.len);
    if (s->in_title || s->mute || s->hidden || (s->no_text && !s->in_anchor) || html_token_in_svg(&s->t))
        return;
    if (newline_drops && text.len && *text.ptr == '\n') {
        text.ptr++;
        text.len--;
    }
    if (s->pre)
        add_verbatim(&s->text, text.ptr, text.len);
    else
        add_text(&s->text, text.ptr, text.len, decoded ? text.ptr + text.len : s->t.end);
}

static void scan_all(struct scan *s) {
    struct html_token token;
    while (html_token_next(&s->t, &token)) {
        bool after_pre = s->after_pre;
        s->after_pre = false;
        if (token.kind == HTML_TEXT)
            on_text(s, token.text, token.decoded, after_pre);
        else if (token.kind == HTML_TAG_START)
            on_start(s, &token);
        else if (token.kind == HTML_TAG_END)
            on_end(s, &token);
    }
    title_close(s);
    anchor_close(s);
}
int html_scan(struct arena *arena, struct tl_span utf8, const struct html_options *options, struct html_page *out) {
    enum { LINKS_KEPT = 4096 };
    /* The last page's array of links, which grew to its size; what is handed out is a copy. */
    static struct html_link *kept;
    static size_t kept_room;
    struct scan s = {.page = out,
                     .arena = arena,
                     .max_links = HTML_LINKS_MAX,
                     .title.max = HTML_VALUE_MAX,
                     .links = kept,
                     .room = kept_room};
    size_t max_text = options && options->max_text ? options->max_text : HTML_TEXT_MAX;
    if (options && options->max_links)
        s.max_links = options->max_links;
    s.no_text = options && options->no_text;
    s.agent = options && options->agent ? options->agent : "trotline";
    struct buf text = out->text;
    *out = (struct html_page){.text = text};
    buf_reset(&out->text);
    out->text.max = max_text;
    s.text.out = &out->text;
    if (!s.no_text) /* of most pages a third to a half is text: no growing by halves, with a copy each time */
        buf_reserve(&out->text, utf8.len / 2 < max_text ? utf8.len / 2 : max_text);

    html_token_init(&s.t, utf8);
    s.t.skip_raw = true;
    s.t.wanted[0] = s.t.wanted[1] = 0;
    for (unsigned tag = 0; tag < HTML_TAGS; tag++)
        if (layout[tag] & ACTS && tag != HTML_BR)
            html_token_want(&s.t, (enum html_tag)tag);
    scan_all(&s);

    if (s.count) {
        struct html_link *links = arena_alloc(arena, s.count * sizeof *links);
        if (links) {
            memcpy(links, s.links, s.count * sizeof *links);
            out->links = links;
            out->link_count = s.count;
        }
        s.arena_full |= !links;
    }
    out->truncated |= out->text.full || s.t.truncated || s.arena_full;
    bool keeps = s.room <= LINKS_KEPT;
    if (!keeps)
        free(s.links);
    kept = keeps ? s.links : NULL;
    kept_room = keeps ? s.room : 0;
    buf_free(&s.value);
    buf_free(&s.collapsed);
    buf_free(&s.title);
    return s.arena_full ? TL_PARTIAL : TL_OK;
}
void html_page_free(struct html_page *page) {
    buf_free(&page->text);
}
