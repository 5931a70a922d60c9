/* link_header.c - see link_header.h. The steps are those of RFC 8288, appendix B.2 to B.4. */
#include "net/link_header.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "net/url_chars.h"

struct reader {
    struct arena *arena;
    const char *at, *end;
    bool full; /* the arena is */
};

static void skip_blanks(struct reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
        r->at++;
}

static bool take(struct reader *r, char c) {
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static struct tl_span until(struct reader *r, const char *stops) {
    const char *from = r->at;
    while (r->at < r->end && (!*r->at || !strchr(stops, *r->at)))
        r->at++;
    return (struct tl_span){from, (size_t)(r->at - from)};
}

static struct tl_span trimmed(struct tl_span s) {
    while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
        s.len--;
    return s;
}

/* Room for text that is shorter than what it is read from. */
static char *room(struct reader *r, size_t len) {
    char *to = arena_alloc(r->arena, len + 1);
    r->full |= !to;
    return to;
}

/* Behind the opening quote; an end that is missing is at the end. */
static struct tl_span quoted(struct reader *r) {
    const char *from = r->at;
    size_t escapes = 0;
    for (; r->at < r->end && *r->at != '"'; r->at++)
        if (*r->at == '\\' && r->at + 1 < r->end) {
            r->at++;
            escapes++;
        }
    struct tl_span raw = {from, (size_t)(r->at - from)};
    take(r, '"');
    if (!escapes)
        return raw;
    char *to = room(r, raw.len);
    if (!to)
        return (struct tl_span){"", 0};
    size_t len = 0;
    for (size_t i = 0; i < raw.len; i++) {
        if (raw.ptr[i] == '\\' && i + 1 < raw.len)
            i++;
        to[len++] = raw.ptr[i];
    }
    return (struct tl_span){to, len};
}

static struct tl_span lower(struct reader *r, struct tl_span s) {
    char *to = room(r, s.len);
    if (!to)
        return (struct tl_span){"", 0};
    for (size_t i = 0; i < s.len; i++)
        to[i] = to_lower(s.ptr[i]);
    return (struct tl_span){to, s.len};
}

/* UTF-8'en'%e2%82%ac (RFC 8187). False: it is none, or in another charset. */
static bool decode_extended(struct reader *r, struct tl_span *value) {
    const char *charset_end = value->len ? memchr(value->ptr, '\'', value->len) : NULL, *end = value->ptr + value->len;
    const char *from = charset_end ? memchr(charset_end + 1, '\'', (size_t)(end - charset_end - 1)) : NULL;
    if (!from || charset_end - value->ptr != 5 || strncasecmp(value->ptr, "utf-8", 5) != 0)
        return false;
    struct tl_span raw = {from + 1, (size_t)(end - from - 1)};
    char *to = room(r, raw.len);
    size_t len = 0;
    for (size_t i = 0; to && i < raw.len; i++) {
        if (raw.ptr[i] == '%' && !is_escape(raw, i))
            return false;
        bool escape = raw.ptr[i] == '%';
        to[len++] = escape ? (char)escape_value(raw.ptr + i) : raw.ptr[i];
        i += escape ? 2 : 0;
    }
    if (!to || !utf8_valid(to, len))
        return false;
    *value = (struct tl_span){to, len};
    return true;
}

struct found {
    struct link_header_param param[LINK_HEADER_PARAMS_MAX];
    size_t count;
    struct tl_span rel;
    bool more; /* a comma, or the end, follows: another link may */
};

static bool is_known(const struct found *f, struct tl_span name) {
    for (size_t i = 0; i < f->count; i++)
        if (f->param[i].name.len == name.len && memcmp(f->param[i].name.ptr, name.ptr, name.len) == 0)
            return true;
    return false;
}

static void keep_param(struct reader *r, struct found *f, struct tl_span name, struct tl_span value) {
    if (name.len == 3 && strncasecmp(name.ptr, "rel", 3) == 0) {
        if (!f->rel.ptr)
            f->rel = value;
        return;
    }
    if (!name.len || f->count == LINK_HEADER_PARAMS_MAX)
        return;
    name = lower(r, name);
    if (!name.len || is_known(f, name) || (name.ptr[name.len - 1] == '*' && !decode_extended(r, &value)))
        return;
    f->param[f->count++] = (struct link_header_param){name, value};
}

static void read_params(struct reader *r, struct found *f) {
    f->count = 0;
    f->rel = (struct tl_span){NULL, 0};
    for (;;) {
        skip_blanks(r);
        f->more = r->at == r->end || *r->at == ',';
        if (!take(r, ';'))
            return;
        skip_blanks(r);
        struct tl_span name = until(r, " \t=;,"), value = {"", 0};
        skip_blanks(r);
        if (take(r, '=')) {
            skip_blanks(r);
            value = take(r, '"') ? quoted(r) : trimmed(until(r, ";,"));
        }
        keep_param(r, f, name, value);
    }
}

/* False: the arena is full. */
static bool keep_link(struct reader *r, const struct found *f, struct tl_span href, struct link_header_link *to) {
    struct link_header_param *param = NULL;
    if (f->count && !(param = arena_alloc(r->arena, f->count * sizeof *param)))
        return false;
    if (f->count)
        memcpy(param, f->param, f->count * sizeof *param);
    *to = (struct link_header_link){{arena_span(r->arena, href), href.len}, f->rel, param, f->count};
    return to->url.ptr != NULL;
}

int link_header_parse(struct arena *arena, struct tl_span value, const struct url *base, struct link_header *out) {
    AUTO_BUF struct buf href = BUF_INIT;
    AUTO_FREE struct link_header_link *link = NULL;
    struct reader r = {arena, value.ptr, value.ptr + value.len, false};
    struct found f;
    struct url url;
    size_t count = 0, size = 0;
    *out = (struct link_header){NULL, 0};
    if (!value.len)
        return TL_OK;
    for (f.more = true; f.more && !r.full && count < LINK_HEADER_LINKS_MAX;) {
        while (r.at < r.end && (*r.at == ',' || *r.at == ' ' || *r.at == '\t')) /* members of the list may be empty */
            r.at++;
        if (!take(&r, '<'))
            break;
        struct tl_span target = until(&r, ">");
        if (!take(&r, '>'))
            break;
        read_params(&r, &f);
        if (r.full || url_resolve(&href, base, target, true, &url))
            continue;
        MEM_GROW(link, count, size);
        if (!keep_link(&r, &f, url.href, &link[count]))
            r.full = true;
        else
            count++;
    }
    if (count) {
        struct link_header_link *kept = arena_alloc(arena, count * sizeof *kept);
        if (!kept)
            return TL_PARTIAL;
        memcpy(kept, link, count * sizeof *kept);
        *out = (struct link_header){kept, count};
    }
    return r.full ? TL_PARTIAL : TL_OK;
}

static bool has_word(struct tl_span words, const char *word) {
    size_t len = strlen(word);
    for (size_t i = 0; i < words.len;) {
        size_t from = i;
        while (i < words.len && words.ptr[i] != ' ' && words.ptr[i] != '\t')
            i++;
        if (i - from == len && strncasecmp(words.ptr + from, word, len) == 0)
            return true;
        while (i < words.len && (words.ptr[i] == ' ' || words.ptr[i] == '\t'))
            i++;
    }
    return false;
}

static bool is_anchored(const struct link_header_link *link) {
    for (size_t i = 0; i < link->param_count; i++)
        if (span_eq(link->param[i].name, "anchor"))
            return true;
    return false;
}

const struct link_header_link *link_header_find(const struct link_header *h, const char *rel) {
    for (size_t i = 0; i < h->count; i++)
        if (has_word(h->link[i].rel, rel) && !is_anchored(&h->link[i]))
            return &h->link[i];
    return NULL;
}
