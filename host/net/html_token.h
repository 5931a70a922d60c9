/* html_token.h - the tokenizer of the WHATWG HTML standard: one pass over a UTF-8 text, without a tree.
 *
 * Invariant: every span of a token points into the input or into constant data, and lives as long as the input, except
 * that text decoded from a character reference lives until the next call. Names, attribute values and comments are
 * handed out as they stand in the input; html_token_decode gives what the standard makes of them, for those that the
 * caller wants. Nothing is allocated, and the work is linear in the input, whatever it holds.
 *
 * Since there is no tree builder, the tokenizer itself does what one would tell it: it changes its state after the
 * start tags of title, textarea, style, xmp, iframe, noembed, noframes, script and plaintext, knows when it is inside
 * of svg or math (where these names mean nothing, and CDATA does) and which start tags leave them. noscript holds
 * ordinary content: we do not run scripts. */
#ifndef TROTLINE_NET_HTML_TOKEN_H
#define TROTLINE_NET_HTML_TOKEN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "trotline.h"

/* The elements that something here cares for; the characters are the first eight of the name. */
/* clang-format off */
#define HTML_TAG_LIST(X)                                                                                              \
    X(A, "a", 'a') X(ADDRESS, "address", 'a', 'd', 'd', 'r', 'e', 's', 's') X(AREA, "area", 'a', 'r', 'e', 'a')       \
    X(ARTICLE, "article", 'a', 'r', 't', 'i', 'c', 'l', 'e') X(ASIDE, "aside", 'a', 's', 'i', 'd', 'e')               \
    X(AUDIO, "audio", 'a', 'u', 'd', 'i', 'o') X(B, "b", 'b') X(BASE, "base", 'b', 'a', 's', 'e')                     \
    X(BIG, "big", 'b', 'i', 'g') X(BLOCKQUOTE, "blockquote", 'b', 'l', 'o', 'c', 'k', 'q', 'u', 'o')                  \
    X(BODY, "body", 'b', 'o', 'd', 'y') X(BR, "br", 'b', 'r') X(BUTTON, "button", 'b', 'u', 't', 't', 'o', 'n')       \
    X(CAPTION, "caption", 'c', 'a', 'p', 't', 'i', 'o', 'n') X(CENTER, "center", 'c', 'e', 'n', 't', 'e', 'r')        \
    X(CODE, "code", 'c', 'o', 'd', 'e') X(COL, "col", 'c', 'o', 'l')                                                  \
    X(COLGROUP, "colgroup", 'c', 'o', 'l', 'g', 'r', 'o', 'u', 'p') X(DD, "dd", 'd', 'd')                             \
    X(DESC, "desc", 'd', 'e', 's', 'c') X(DETAILS, "details", 'd', 'e', 't', 'a', 'i', 'l', 's')                      \
    X(DIALOG, "dialog", 'd', 'i', 'a', 'l', 'o', 'g') X(DIR, "dir", 'd', 'i', 'r') X(DIV, "div", 'd', 'i', 'v')       \
    X(DL, "dl", 'd', 'l') X(DT, "dt", 'd', 't') X(EM, "em", 'e', 'm') X(EMBED, "embed", 'e', 'm', 'b', 'e', 'd')      \
    X(FIELDSET, "fieldset", 'f', 'i', 'e', 'l', 'd', 's', 'e', 't')                                                   \
    X(FIGCAPTION, "figcaption", 'f', 'i', 'g', 'c', 'a', 'p', 't', 'i')                                               \
    X(FIGURE, "figure", 'f', 'i', 'g', 'u', 'r', 'e') X(FONT, "font", 'f', 'o', 'n', 't')                             \
    X(FOOTER, "footer", 'f', 'o', 'o', 't', 'e', 'r')                                                                 \
    X(FOREIGNOBJECT, "foreignobject", 'f', 'o', 'r', 'e', 'i', 'g', 'n', 'o')                                         \
    X(FORM, "form", 'f', 'o', 'r', 'm') X(FRAME, "frame", 'f', 'r', 'a', 'm', 'e')                                    \
    X(FRAMESET, "frameset", 'f', 'r', 'a', 'm', 'e', 's', 'e', 't') X(H1, "h1", 'h', '1') X(H2, "h2", 'h', '2')       \
    X(H3, "h3", 'h', '3') X(H4, "h4", 'h', '4') X(H5, "h5", 'h', '5') X(H6, "h6", 'h', '6')                           \
    X(HEAD, "head", 'h', 'e', 'a', 'd') X(HEADER, "header", 'h', 'e', 'a', 'd', 'e', 'r')                             \
    X(HGROUP, "hgroup", 'h', 'g', 'r', 'o', 'u', 'p') X(HR, "hr", 'h', 'r') X(HTML, "html", 'h', 't', 'm', 'l')       \
    X(I, "i", 'i') X(IFRAME, "iframe", 'i', 'f', 'r', 'a', 'm', 'e') X(IMAGE, "image", 'i', 'm', 'a', 'g', 'e')       \
    X(IMG, "img", 'i', 'm', 'g') X(INPUT, "input", 'i', 'n', 'p', 'u', 't')                                           \
    X(LABEL, "label", 'l', 'a', 'b', 'e', 'l') X(LEGEND, "legend", 'l', 'e', 'g', 'e', 'n', 'd')                      \
    X(LI, "li", 'l', 'i') X(LINK, "link", 'l', 'i', 'n', 'k')                                                         \
    X(LISTING, "listing", 'l', 'i', 's', 't', 'i', 'n', 'g') X(MAIN, "main", 'm', 'a', 'i', 'n')                      \
    X(MATH, "math", 'm', 'a', 't', 'h') X(MENU, "menu", 'm', 'e', 'n', 'u') X(META, "meta", 'm', 'e', 't', 'a')       \
    X(MI, "mi", 'm', 'i') X(MN, "mn", 'm', 'n') X(MO, "mo", 'm', 'o') X(MS, "ms", 'm', 's')                           \
    X(MTEXT, "mtext", 'm', 't', 'e', 'x', 't') X(NAV, "nav", 'n', 'a', 'v') X(NOBR, "nobr", 'n', 'o', 'b', 'r')       \
    X(NOEMBED, "noembed", 'n', 'o', 'e', 'm', 'b', 'e', 'd')                                                          \
    X(NOFRAMES, "noframes", 'n', 'o', 'f', 'r', 'a', 'm', 'e', 's')                                                   \
    X(NOSCRIPT, "noscript", 'n', 'o', 's', 'c', 'r', 'i', 'p', 't')                                                   \
    X(OBJECT, "object", 'o', 'b', 'j', 'e', 'c', 't') X(OL, "ol", 'o', 'l')                                           \
    X(OPTGROUP, "optgroup", 'o', 'p', 't', 'g', 'r', 'o', 'u', 'p')                                                   \
    X(OPTION, "option", 'o', 'p', 't', 'i', 'o', 'n') X(P, "p", 'p') X(PARAM, "param", 'p', 'a', 'r', 'a', 'm')       \
    X(PICTURE, "picture", 'p', 'i', 'c', 't', 'u', 'r', 'e')                                                          \
    X(PLAINTEXT, "plaintext", 'p', 'l', 'a', 'i', 'n', 't', 'e', 'x') X(PRE, "pre", 'p', 'r', 'e')                    \
    X(RUBY, "ruby", 'r', 'u', 'b', 'y') X(S, "s", 's') X(SCRIPT, "script", 's', 'c', 'r', 'i', 'p', 't')              \
    X(SEARCH, "search", 's', 'e', 'a', 'r', 'c', 'h') X(SECTION, "section", 's', 'e', 'c', 't', 'i', 'o', 'n')        \
    X(SELECT, "select", 's', 'e', 'l', 'e', 'c', 't') X(SMALL, "small", 's', 'm', 'a', 'l', 'l')                      \
    X(SOURCE, "source", 's', 'o', 'u', 'r', 'c', 'e') X(SPAN, "span", 's', 'p', 'a', 'n')                             \
    X(STRIKE, "strike", 's', 't', 'r', 'i', 'k', 'e') X(STRONG, "strong", 's', 't', 'r', 'o', 'n', 'g')               \
    X(STYLE, "style", 's', 't', 'y', 'l', 'e') X(SUB, "sub", 's', 'u', 'b')                                           \
    X(SUMMARY, "summary", 's', 'u', 'm', 'm', 'a', 'r', 'y') X(SUP, "sup", 's', 'u', 'p')                             \
    X(SVG, "svg", 's', 'v', 'g') X(TABLE, "table", 't', 'a', 'b', 'l', 'e')                                           \
    X(TBODY, "tbody", 't', 'b', 'o', 'd', 'y') X(TD, "td", 't', 'd')                                                  \
    X(TEMPLATE, "template", 't', 'e', 'm', 'p', 'l', 'a', 't', 'e')                                                   \
    X(TEXTAREA, "textarea", 't', 'e', 'x', 't', 'a', 'r', 'e', 'a') X(TFOOT, "tfoot", 't', 'f', 'o', 'o', 't')        \
    X(TH, "th", 't', 'h') X(THEAD, "thead", 't', 'h', 'e', 'a', 'd') X(TIME, "time", 't', 'i', 'm', 'e')              \
    X(TITLE, "title", 't', 'i', 't', 'l', 'e') X(TR, "tr", 't', 'r') X(TRACK, "track", 't', 'r', 'a', 'c', 'k')       \
    X(TT, "tt", 't', 't') X(U, "u", 'u') X(UL, "ul", 'u', 'l') X(VAR, "var", 'v', 'a', 'r')                           \
    X(VIDEO, "video", 'v', 'i', 'd', 'e', 'o') X(XMP, "xmp", 'x', 'm', 'p')
/* clang-format on */
#define HTML_TAG_ID(id, ...) HTML_##id,
enum html_tag { HTML_OTHER, HTML_TAG_LIST(HTML_TAG_ID) HTML_TAGS };
#undef HTML_TAG_ID

enum html_kind { HTML_EOF, HTML_TEXT, HTML_TAG_START, HTML_TAG_END, HTML_COMMENT, HTML_DOCTYPE };
enum html_state { HTML_DATA, HTML_RCDATA, HTML_RAWTEXT, HTML_SCRIPTDATA, HTML_PLAIN, HTML_CDATA };
enum html_decode {
    HTML_AS_VALUE, /* attribute values: character references, newlines, NUL */
    HTML_AS_NAME,  /* names: ASCII lower case, NUL */
    HTML_AS_DATA   /* comments, public and system identifiers: newlines, NUL */
};

struct html_attr {
    struct tl_span name, value; /* as in the input; a later attribute of the same name does not count */
};
struct html_token {
    enum html_kind kind;
    enum html_tag tag;         /* TAG_START, TAG_END */
    bool self_closing, quirks; /* TAG_START, TAG_END; DOCTYPE */
    bool decoded;              /* TEXT: not a part of the input */
    struct tl_span text;       /* TEXT: decoded, in pieces. TAG_START, TAG_END, DOCTYPE: the name. COMMENT: the data */
    const struct html_attr *attr; /* TAG_START: in order, of the wanted tags; until the next call */
    size_t attr_count;
    struct tl_span public_id, system_id; /* DOCTYPE; ptr NULL: missing */
};

#define HTML_ATTRS_MAX   128 /* a tag; those beyond it are parsed and dropped */
#define HTML_FOREIGN_MAX 32
struct html_tokenizer {
    const char *pos, *end;
    const char *raw_end; /* where the text of the state ends; NULL: not looked for yet */
    enum html_state state;
    struct tl_span last;   /* the name of the last start tag: only its end tag ends RCDATA, RAWTEXT and script data */
    uint64_t wanted[2];    /* bit set of enum html_tag: whose attributes are kept */
    bool skip_raw;         /* no text tokens for scripts and for RAWTEXT other than xmp */
    bool truncated;        /* an attribute beyond HTML_ATTRS_MAX was dropped */
    uint8_t foreign_depth; /* how deep in svg and math, and what they lie in */
    uint8_t foreign[HTML_FOREIGN_MAX];
    char decoded[8];
    struct html_attr attr[HTML_ATTRS_MAX];
};

/* All attributes are wanted, all text is given. For a fragment, set state and last after it. */
void html_token_init(struct html_tokenizer *t, struct tl_span utf8);
bool html_token_next(struct html_tokenizer *t, struct html_token *token); /* false: HTML_EOF */

/* Whether text is the drawing and metadata of an svg: inside of svg and not of foreignObject. */
bool html_token_in_svg(const struct html_tokenizer *t);
const char *html_token_name(enum html_tag tag); /* lower case; "" for HTML_OTHER */
/* The first attribute of a (lower-case) name, as in the input, or NULL. */
const struct tl_span *html_token_attr(const struct html_token *token, const char *name, size_t len);
#define HTML_ATTR(token, literal) html_token_attr((token), "" literal, sizeof(literal) - 1)
/* Whether a value is what it says already. */
bool html_token_is_plain(struct tl_span value);
/* Appends the decoded text to `out`, which grows to at most three times the input. */
void html_token_decode(struct tl_span raw, enum html_decode how, struct buf *out);
static inline void html_token_want(struct html_tokenizer *t, enum html_tag tag) {
    t->wanted[tag >> 6] |= 1ull << (tag & 63);
}
#endif
