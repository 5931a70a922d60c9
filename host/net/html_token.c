/* html_token.c - see html_token.h. The states are those of the standard (HTML, 13.2.5), but most are places in a
 * function instead of values: a construct that the file's end cuts off gives no token in most of them, so one can be
 * read from its start to its end.
 *
 * Invariant: t->pos never moves backwards, and every function looks ahead only as far as it then moves on, or a
 * constant distance; the ends of scripts and raw text are looked for once. */
#include "net/html_token.h"

#include <endian.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "net/html_entities.h"

/* What a byte ends or is. */
enum { SPACE = 1, ENDS_TAG = 2, ENDS_ATTR = 4, ENDS_BARE = 8, LETTER = 16, DIGIT = 32, HEX = 64 };
#define IS_SPACE (SPACE | ENDS_TAG | ENDS_ATTR | ENDS_BARE)
/* clang-format off */
static const uint8_t class_of[256] = {
    ['\t'] = IS_SPACE, ['\n'] = IS_SPACE, ['\f'] = IS_SPACE, ['\r'] = IS_SPACE, [' '] = IS_SPACE,
    ['/'] = ENDS_TAG | ENDS_ATTR, ['>'] = ENDS_TAG | ENDS_ATTR | ENDS_BARE, ['='] = ENDS_ATTR,
    ['0' ... '9'] = DIGIT | HEX, ['A' ... 'F'] = LETTER | HEX, ['G' ... 'Z'] = LETTER,
    ['a' ... 'f'] = LETTER | HEX, ['g' ... 'z'] = LETTER,
};
/* clang-format on */
static inline unsigned class_at(const char *p) {
    return class_of[(unsigned char)*p];
}
static inline char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}
static inline struct tl_span span(const char *from, const char *to) {
    return (struct tl_span){from, (size_t)(to - from)};
}
static inline const char *skip_space(const char *p, const char *end) {
    while (p < end && class_at(p) & SPACE)
        p++;
    return p;
}
static inline const char *find(const char *p, const char *end, char c) {
#ifdef __SSE2__
    const __m128i wanted = _mm_set1_epi8(c);
    for (; end - p >= 16; p += 16) {
        int hit = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)p), wanted));
        if (hit)
            return p + __builtin_ctz((unsigned)hit);
    }
#endif
    while (p < end && *p != c)
        p++;
    return p;
}
/* The first byte of the class `ends`. A block of 16 at a time finds it without a guess; what a block takes for an end,
 * a control character, is looked at again. */
static inline const char *find_end(const char *p, const char *end, unsigned ends) {
#ifdef __SSE2__
    for (; end - p >= 16; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i m =
            _mm_or_si128(_mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(' ')), v), _mm_cmpeq_epi8(v, _mm_set1_epi8('>')));
        if (ends != ENDS_BARE)
            m = _mm_or_si128(m, _mm_cmpeq_epi8(v, _mm_set1_epi8('/')));
        if (ends == ENDS_ATTR)
            m = _mm_or_si128(m, _mm_cmpeq_epi8(v, _mm_set1_epi8('=')));
        int hit = _mm_movemask_epi8(m);
        if (hit) {
            p += __builtin_ctz((unsigned)hit);
            break;
        }
    }
#endif
    while (p < end && !(class_at(p) & ends))
        p++;
    return p;
}
/* The first `<`, `&`, CR, or (only when asked) NUL. */
static inline const char *find_special(const char *p, const char *end, bool nul) {
#ifdef __SSE2__
    for (; end - p >= 16; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i m = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('<')), _mm_cmpeq_epi8(v, _mm_set1_epi8('&')));
        m = _mm_or_si128(m, _mm_cmpeq_epi8(v, _mm_set1_epi8('\r')));
        if (nul)
            m = _mm_or_si128(m, _mm_cmpeq_epi8(v, _mm_setzero_si128()));
        int hit = _mm_movemask_epi8(m);
        if (hit)
            return p + __builtin_ctz((unsigned)hit);
    }
#endif
    while (p < end && *p != '<' && *p != '&' && *p != '\r' && (*p != '\0' || !nul))
        p++;
    return p;
}

/* ---- names ---- */

/* A name's first eight bytes as a number, the first lowest. The multiplier spreads those of the list over the slots
 * without a collision: -Woverride-init (in -Wextra) reports it when a new name needs another one. */
#define KEY(...) KEY_(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, 0)
#define KEY_(a, b, c, d, e, f, g, h, ...)                                                                              \
    ((uint64_t)(a) | (uint64_t)(b) << 8 | (uint64_t)(c) << 16 | (uint64_t)(d) << 24 | (uint64_t)(e) << 32 |            \
     (uint64_t)(f) << 40 | (uint64_t)(g) << 48 | (uint64_t)(h) << 56)
#define SLOT(key)               (((key)*0x79bf460678d3b455u) >> 55)
#define TAG_SLOT(id, name, ...) [SLOT(KEY(__VA_ARGS__))] = HTML_##id,
#define TAG_KEY(id, name, ...)  [HTML_##id] = KEY(__VA_ARGS__),
#define TAG_NAME(id, name, ...) [HTML_##id] = {name, sizeof(name) - 1},
static const uint8_t tag_slots[512] = {HTML_TAG_LIST(TAG_SLOT)};
static const uint64_t tag_keys[HTML_TAGS] = {HTML_TAG_LIST(TAG_KEY)};
static const struct {
    char text[15];
    uint8_t len;
} tag_names[HTML_TAGS] = {HTML_TAG_LIST(TAG_NAME)};
_Static_assert(HTML_TAGS <= 128, "html_tokenizer.wanted");

static bool same_name(const char *p, const char *name, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (lower(p[i]) != name[i])
            return false;
    return true;
}
static inline enum html_tag identify(const char *name, size_t len, const char *end) {
    const uint64_t ones = 0x0101010101010101u;
    uint64_t key = 0;
    if (len > sizeof tag_names[0].text)
        return HTML_OTHER;
    if (end - name >= 8) {
        memcpy(&key, name, 8);
        key = le64toh(key);
        if (len < 8)
            key &= ~0ull >> (64 - 8 * len);
    } else {
        for (size_t i = 0; i < len; i++)
            key |= (uint64_t)(unsigned char)name[i] << 8 * i;
    }
    uint64_t low = key & ones * 0x7f; /* all bytes from A to Z at once */
    uint64_t upper = (low + ones * (0x80 - 'A')) & ~(low + ones * (0x7f - 'Z')) & ~key & ones * 0x80;
    key |= upper >> 2;
    enum html_tag tag = tag_slots[SLOT(key)];
    if (tag_keys[tag] != key || tag_names[tag].len != len)
        return HTML_OTHER;
    return len <= 8 || same_name(name + 8, tag_names[tag].text + 8, len - 8) ? tag : HTML_OTHER;
}
const char *html_token_name(enum html_tag tag) {
    return tag_names[tag].text;
}
const struct tl_span *html_token_attr(const struct html_token *token, const char *name, size_t len) {
    for (size_t i = 0; i < token->attr_count; i++) {
        const struct tl_span *n = &token->attr[i].name;
        if (n->len == len && same_name(n->ptr, name, len))
            return &token->attr[i].value;
    }
    return NULL;
}

bool html_token_is_plain(struct tl_span value) {
    for (size_t i = 0; i < value.len; i++)
        if (value.ptr[i] == '&' || value.ptr[i] == '\r' || value.ptr[i] == '\0')
            return false;
    return true;
}
void html_token_decode(struct tl_span raw, enum html_decode how, struct buf *out) {
    const char *p = raw.ptr, *end = raw.ptr + raw.len;
    while (p < end) {
        const char *from = p;
        char text[8];
        size_t used = 0, len = 0;
        while (p < end && *p != '\0' && *p != '\r' && (*p != '&' || how != HTML_AS_VALUE) &&
               (*p < 'A' || *p > 'Z' || how != HTML_AS_NAME))
            p++;
        buf_add(out, from, (size_t)(p - from));
        if (p == end)
            return;
        if (*p == '\0') {
            buf_lit(out, "\xef\xbf\xbd");
        } else if (*p == '\r') {
            buf_char(out, '\n');
            p += end - p > 1 && p[1] == '\n';
        } else if (how == HTML_AS_NAME) {
            buf_char(out, lower(*p));
        } else if ((used = html_entities_decode(p, end, true, text, &len))) {
            buf_add(out, text, len);
            p += used - 1;
        } else {
            buf_char(out, '&');
        }
        p++;
    }
}

/* ---- svg and math ---- */

enum { SVG = 1, SVG_INFO, SVG_HTML, MATH, MATH_TEXT }; /* info: title, desc. info, html and text hold HTML */

static unsigned foreign_top(const struct html_tokenizer *t) {
    return t->foreign_depth ? t->foreign[t->foreign_depth - 1] : 0;
}
bool html_token_in_svg(const struct html_tokenizer *t) {
    unsigned top = foreign_top(t);
    return top == SVG || top == SVG_INFO;
}
static bool in_foreign(const struct html_tokenizer *t) {
    unsigned top = foreign_top(t);
    return top == SVG || top == MATH;
}
static unsigned foreign_kind(enum html_tag tag, unsigned top) {
    switch (tag) {
    case HTML_SVG:
        return SVG;
    case HTML_MATH:
        return MATH;
    case HTML_FOREIGNOBJECT:
        return top == SVG ? SVG_HTML : 0;
    case HTML_TITLE:
    case HTML_DESC:
        return top == SVG ? SVG_INFO : 0;
    case HTML_MI:
    case HTML_MN:
    case HTML_MO:
    case HTML_MS:
    case HTML_MTEXT:
        return top == MATH ? MATH_TEXT : 0;
    default:
        return 0;
    }
}
/* The start tags that end svg and math wherever they stand (13.2.6.5). */
static bool breaks_out(enum html_tag tag) {
/* clang-format off */
#define LOW(id)  | (HTML_##id < 64 ? 1ull << (HTML_##id & 63) : 0)
#define HIGH(id) | (HTML_##id < 64 ? 0 : 1ull << (HTML_##id & 63))
#define BREAKERS(X)                                                                                                  \
    X(B) X(BIG) X(BLOCKQUOTE) X(BODY) X(BR) X(CENTER) X(CODE) X(DD) X(DIV) X(DL) X(DT) X(EM) X(EMBED) X(H1)          \
    X(H2) X(H3) X(H4) X(H5) X(H6) X(HEAD) X(HR) X(I) X(IMG) X(LI) X(LISTING) X(MENU) X(META) X(NOBR) X(OL) X(P)      \
    X(PRE) X(RUBY) X(S) X(SMALL) X(SPAN) X(STRONG) X(STRIKE) X(SUB) X(SUP) X(TABLE) X(TT) X(U) X(UL) X(VAR)
    /* clang-format on */
    static const uint64_t set[2] = {0 BREAKERS(LOW), 0 BREAKERS(HIGH)};
    return set[tag >> 6] >> (tag & 63) & 1;
}
/* Returns whether the tag is one of svg or math, not of HTML. */
static bool foreign_start(struct html_tokenizer *t, enum html_tag tag, bool self_closing) {
    if (in_foreign(t) && breaks_out(tag))
        while (t->foreign_depth && in_foreign(t))
            t->foreign_depth--;
    bool foreign = in_foreign(t);
    unsigned kind = foreign_kind(tag, foreign_top(t));
    if (kind && !self_closing && t->foreign_depth < HTML_FOREIGN_MAX)
        t->foreign[t->foreign_depth++] = (uint8_t)kind;
    return foreign;
}
/* An end tag closes the nearest of its kind and what was left open in it. That of a block around an svg closes the svg.
 */
static void foreign_end(struct html_tokenizer *t, enum html_tag tag) {
    unsigned depth = t->foreign_depth;
    unsigned kind = foreign_kind(tag, SVG);
    if (!kind)
        kind = foreign_kind(tag, MATH);
    if (!kind && breaks_out(tag))
        while (t->foreign_depth && in_foreign(t))
            t->foreign_depth--;
    while (kind && depth)
        if (t->foreign[--depth] == kind) {
            t->foreign_depth = (uint8_t)depth;
            return;
        }
}

/* ---- tags ---- */

/* Reads attributes up to and with the `>`. NULL: the input ends before it. */
static inline const char *attributes(struct html_tokenizer *t, const char *p, bool keep, struct html_token *token) {
    const char *end = t->end;
    size_t count = 0;
    for (;;) {
        p = skip_space(p, end);
        if (p == end)
            return NULL;
        if (*p == '>') {
            token->attr_count = count;
            return p + 1;
        }
        if (*p == '/') {
            p++;
            token->self_closing = p < end && *p == '>';
            continue;
        }
        const char *name = p++, *name_end, *value = p;
        name_end = p = find_end(p, end, ENDS_ATTR);
        size_t value_len = 0;
        p = skip_space(p, end);
        if (p < end && *p == '=') {
            value = p = skip_space(p + 1, end);
            if (p == end)
                return NULL;
            if (*p == '"' || *p == '\'') {
                value = p + 1;
                p = find(value, end, *p);
                value_len = (size_t)(p - value);
                if (p++ == end)
                    return NULL;
            } else {
                p = find_end(p, end, ENDS_BARE);
                value_len = (size_t)(p - value);
            }
        }
        if (!keep)
            continue;
        if (count == HTML_ATTRS_MAX)
            t->truncated = true;
        else
            t->attr[count++] = (struct html_attr){span(name, name_end), {value, value_len}};
    }
}
static void enter(struct html_tokenizer *t, enum html_tag tag) {
    switch (tag) {
    case HTML_TITLE:
    case HTML_TEXTAREA:
        t->state = HTML_RCDATA;
        break;
    case HTML_STYLE:
    case HTML_XMP:
    case HTML_IFRAME:
    case HTML_NOEMBED:
    case HTML_NOFRAMES:
        t->state = HTML_RAWTEXT;
        break;
    case HTML_SCRIPT:
        t->state = HTML_SCRIPTDATA;
        break;
    case HTML_PLAINTEXT:
        t->state = HTML_PLAIN;
        break;
    default:
        return;
    }
    t->raw_end = NULL;
}
static bool tag_token(struct html_tokenizer *t, const char *name, enum html_kind kind, struct html_token *token) {
    const char *p = find_end(name + 1, t->end, ENDS_TAG);
    token->kind = kind;
    token->self_closing = false;
    token->text = span(name, p);
    token->tag = identify(name, token->text.len, t->end);
    bool start = kind == HTML_TAG_START;
    p = attributes(t, p, start && t->wanted[token->tag >> 6] >> (token->tag & 63) & 1, token);
    if (!p) {
        t->pos = t->end;
        return false;
    }
    t->pos = p;
    if (!start) {
        if (t->foreign_depth)
            foreign_end(t, token->tag);
        return true;
    }
    token->attr = t->attr;
    t->last = token->text;
    bool maybe_foreign = t->foreign_depth || token->tag == HTML_SVG || token->tag == HTML_MATH;
    if (!maybe_foreign || !foreign_start(t, token->tag, token->self_closing))
        enter(t, token->tag);
    return true;
}

/* ---- what begins with <! ---- */

static bool comment(struct html_tokenizer *t, const char *p, struct html_token *token) {
    const char *end = t->end, *from = p;
    token->kind = HTML_COMMENT;
    if (p < end && *p == '>') {
        token->text = span(p, p);
        t->pos = p + 1;
        return true;
    }
    if (end - p >= 2 && p[0] == '-' && p[1] == '>') {
        token->text = span(p, p);
        t->pos = p + 2;
        return true;
    }
    for (; (p = find(p, end, '>')) < end; p++) {
        size_t n = (size_t)(p - from);
        size_t cut = n >= 2 && p[-1] == '-' && p[-2] == '-'                   ? 2
                     : n >= 3 && p[-1] == '!' && p[-2] == '-' && p[-3] == '-' ? 3
                                                                              : 0;
        if (cut) {
            token->text = span(from, p - cut);
            t->pos = p + 1;
            return true;
        }
    }
    size_t n = (size_t)(end - from); /* the input ends: what may have been the comment's end is none of its data */
    if (n >= 3 && memcmp(end - 3, "--!", 3) == 0)
        n -= 3;
    else if (n >= 1 && end[-1] == '-')
        n -= n >= 2 && end[-2] == '-' ? 2 : 1;
    token->text = (struct tl_span){from, n};
    t->pos = end;
    return true;
}
static bool bogus_comment(struct html_tokenizer *t, const char *from, struct html_token *token) {
    const char *p = find(from, t->end, '>');
    token->kind = HTML_COMMENT;
    token->text = span(from, p);
    t->pos = p + (p < t->end);
    return true;
}
/* A quoted identifier at *p; false: its end is missing, and with it the rest of the doctype. */
static bool doctype_id(const char **p, const char *end, struct tl_span *out) {
    const char *from = *p + 1, *q = from;
    while (q < end && *q != **p && *q != '>')
        q++;
    bool closed = q < end && *q == **p;
    *out = span(from, q);
    *p = q + closed;
    return closed;
}
/* p is behind the name. Leaves p where the rest, up to `>`, says nothing; true: as it should be. */
static bool doctype_ids(const char **at, const char *end, struct html_token *token) {
    const char *p = *at = skip_space(*at, end);
    if (p < end && *p == '>')
        return true;
    bool public = end - p >= 6 && same_name(p, "public", 6);
    if (!public && !(end - p >= 6 && same_name(p, "system", 6)))
        return false;
    p = *at = skip_space(p + 6, end);
    if (p == end || (*p != '"' && *p != '\'') || !doctype_id(at, end, public ? &token->public_id : &token->system_id))
        return false;
    p = *at = skip_space(*at, end);
    if (public && p < end && (*p == '"' || *p == '\'')) {
        if (!doctype_id(at, end, &token->system_id))
            return false;
        p = *at = skip_space(*at, end);
    }
    if (p == end || (*p != '>' && !token->system_id.ptr))
        return false;
    return true;
}
static bool doctype(struct html_tokenizer *t, const char *p, struct html_token *token) {
    const char *end = t->end;
    *token = (struct html_token){.kind = HTML_DOCTYPE};
    const char *name = p = skip_space(p, end);
    while (p < end && !(class_at(p) & SPACE) && *p != '>')
        p++;
    token->text = name < p ? span(name, p) : (struct tl_span){NULL, 0};
    token->quirks = p == end || name == p || !doctype_ids(&p, end, token);
    p = find(p, end, '>');
    t->pos = p + (p < end);
    return true;
}
static bool declaration(struct html_tokenizer *t, struct html_token *token) {
    const char *p = t->pos + 2;
    if (t->end - p >= 2 && p[0] == '-' && p[1] == '-')
        return comment(t, p + 2, token);
    if (t->end - p >= 7 && same_name(p, "doctype", 7))
        return doctype(t, p + 7, token);
    if (t->end - p >= 7 && memcmp(p, "[CDATA[", 7) == 0 && in_foreign(t)) {
        t->pos = p + 7;
        t->state = HTML_CDATA;
        t->raw_end = NULL;
        return false;
    }
    return bogus_comment(t, p, token);
}

/* ---- text ---- */

/* Whether the `<` at p begins something else than text. */
static inline bool begins_markup(const char *p, const char *end) {
    return end - p >= 2 && (class_at(p + 1) & LETTER || p[1] == '!' || p[1] == '?' || (p[1] == '/' && end - p >= 3));
}
static bool fixed_text(struct html_tokenizer *t, const char *text, size_t used, struct html_token *token) {
    token->kind = HTML_TEXT;
    token->decoded = true;
    token->text = span_of(text);
    t->pos += used;
    return true;
}
/* A piece of text that needs no decoding, or else one decoded thing. */
static inline bool text(struct html_tokenizer *t, const char *end, bool data, bool references,
                        struct html_token *token) {
    const char *from = t->pos, *p = from;
    size_t used = 0, len = 0;
    for (;; p++) {
        p = find_special(p, end, !data);
        if (p == end)
            break;
        if (*p == '<' && data && begins_markup(p, end))
            break;
        if (*p == '<' || (*p == '&' && (!references || end - p < 2 || !(class_at(p + 1) & LETTER || p[1] == '#'))))
            continue;
        if (p > from)
            break;
        if (*p == '\0')
            return fixed_text(t, "\xef\xbf\xbd", 1, token);
        if (*p == '\r')
            return fixed_text(t, "\n", end - p > 1 && p[1] == '\n' ? 2 : 1, token);
        if ((used = html_entities_decode(p, end, false, t->decoded, &len))) {
            token->kind = HTML_TEXT;
            token->decoded = true;
            token->text = (struct tl_span){t->decoded, len};
            t->pos = p + used;
            return true;
        }
    }
    token->kind = HTML_TEXT;
    token->text = span(from, p);
    /* The LF of a CR LF begins the next piece by itself. */
    t->pos = p + (end - p > 1 && p[0] == '\r' && p[1] == '\n');
    return true;
}

/* Whether an end tag of this name is at p, which is at `<`. */
static bool ends_element(const char *p, const char *end, struct tl_span name) {
    if (!name.len || (size_t)(end - p) < name.len + 3 || p[1] != '/' || !(class_at(p + 2 + name.len) & ENDS_TAG))
        return false;
    for (size_t i = 0; i < name.len; i++)
        if (lower(p[2 + i]) != lower(name.ptr[i]))
            return false;
    return true;
}
/* The end of a script: `<!--` hides nothing yet, but `<script` behind it hides the next end tag (13.2.5.15 and what
 * follows). */
static const char *script_end(const char *p, const char *end, struct tl_span name) {
    static const struct tl_span script = {"script", 6};
    enum { PLAIN, ESCAPED, DOUBLED } mode = PLAIN;
    while (p < end) {
        if (mode == PLAIN) {
            p = find(p, end, '<');
            if (p == end || ends_element(p, end, name))
                return p;
            bool escape = end - p >= 4 && memcmp(p, "<!--", 4) == 0;
            mode = escape ? ESCAPED : PLAIN;
            p += escape ? 2 : 1;
        } else if (*p == '-') {
            const char *dashes = p;
            while (p < end && *p == '-')
                p++;
            if (p - dashes >= 2 && p < end && *p == '>')
                mode = PLAIN;
        } else if (*p != '<') {
            p++;
        } else if (mode == DOUBLED) {
            if (ends_element(p, end, script))
                mode = ESCAPED;
            p++;
        } else {
            if (ends_element(p, end, name))
                return p;
            if (end - p >= 8 && same_name(p + 1, "script", 6) && class_at(p + 7) & ENDS_TAG)
                mode = DOUBLED;
            p++;
        }
    }
    return end;
}
static const char *raw_end(const struct html_tokenizer *t) {
    const char *p = t->pos, *end = t->end;
    if (t->state == HTML_PLAIN)
        return end;
    if (t->state == HTML_SCRIPTDATA)
        return script_end(p, end, t->last);
    if (t->state == HTML_CDATA) {
        while ((p = find(p, end, ']')) < end && !(end - p >= 3 && p[1] == ']' && p[2] == '>'))
            p++;
        return p;
    }
    while ((p = find(p, end, '<')) < end && !ends_element(p, end, t->last))
        p++;
    return p;
}
/* One piece of the text of a state other than data; false: it is over. */
static bool raw_text(struct html_tokenizer *t, struct html_token *token) {
    if (!t->raw_end) {
        bool skip = t->skip_raw && (t->state == HTML_SCRIPTDATA || t->state == HTML_RAWTEXT) &&
                    !(t->last.len == 3 && same_name(t->last.ptr, "xmp", 3));
        t->raw_end = raw_end(t);
        if (skip)
            t->pos = t->raw_end;
    }
    if (t->pos < t->raw_end) {
        if (t->state != HTML_CDATA)
            return text(t, t->raw_end, false, t->state == HTML_RCDATA, token);
        const char *p = find(t->pos, t->raw_end, '\r');
        if (p == t->pos)
            return fixed_text(t, "\n", t->raw_end - p > 1 && p[1] == '\n' ? 2 : 1, token);
        token->kind = HTML_TEXT;
        token->text = span(t->pos, p);
        t->pos = p;
        return true;
    }
    if (t->state == HTML_CDATA && t->pos < t->end)
        t->pos += 3;
    t->state = HTML_DATA;
    return false;
}

void html_token_init(struct html_tokenizer *t, struct tl_span utf8) {
    memset(t, 0, offsetof(struct html_tokenizer, attr));
    t->pos = utf8.ptr;
    t->end = utf8.ptr + utf8.len;
    t->wanted[0] = t->wanted[1] = ~0ull;
}
bool html_token_next(struct html_tokenizer *t, struct html_token *token) {
    token->attr_count = 0;
    token->decoded = false;
    while (t->pos < t->end) {
        const char *p = t->pos;
        if (t->state != HTML_DATA) {
            if (raw_text(t, token))
                return true;
            continue;
        }
        if (*p != '<' || !begins_markup(p, t->end))
            return text(t, t->end, true, true, token);
        bool given;
        if (class_at(p + 1) & LETTER)
            given = tag_token(t, p + 1, HTML_TAG_START, token);
        else if (p[1] == '!')
            given = declaration(t, token);
        else if (p[1] == '?')
            given = bogus_comment(t, p + 1, token);
        else if (class_at(p + 2) & LETTER)
            given = tag_token(t, p + 2, HTML_TAG_END, token);
        else if (p[2] != '>')
            given = bogus_comment(t, p + 2, token);
        else {
            t->pos += 3; /* </> is nothing */
            continue;
        }
        if (given)
            return true;
    }
    token->kind = HTML_EOF;
    return false;
}
