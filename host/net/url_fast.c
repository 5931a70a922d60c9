/* url_fast.c - short cuts for the URLs that pages are full of: plain ASCII, nothing to encode, to decode or to map.
 *
 * Invariant: what is answered here is byte for byte what url_resolve_slow answers; whatever is not plain is left to it.
 * The text of a plain reference is copied as it stands behind a part of the base. */
#include "net/url.h"

#include "net/url_chars.h"

/* Where the parts of a plain text end, as offsets into it. */
struct tail {
    size_t path, query, end;
    bool has_query, has_fragment;
};

static size_t skip_plain(struct tl_span s, size_t i, unsigned encode_bit, char stop) {
    while (i < s.len && !char_is(s.ptr[i], encode_bit) && s.ptr[i] != stop)
        i++;
    return i;
}

/* A segment that may be "." or ".." however written: the dots, or an escape that may be one. */
static bool maybe_dots(struct tl_span s, size_t i) {
    if (i >= s.len)
        return false;
    if (s.ptr[i] == '%')
        return i + 1 < s.len && s.ptr[i + 1] == '2';
    return s.ptr[i] == '.' &&
           (i + 1 == s.len || s.ptr[i + 1] == '.' || s.ptr[i + 1] == '%' || !char_is(s.ptr[i + 1], IS_PLAIN_PATH));
}

static bool plain_path(struct tl_span s, size_t i, size_t *end) {
    for (;;) {
        if (maybe_dots(s, i))
            return false;
        while (i < s.len && char_is(s.ptr[i], IS_PLAIN_PATH))
            i++;
        if (i == s.len || s.ptr[i] != '/')
            break;
        i++;
    }
    *end = i;
    return i == s.len || s.ptr[i] == '?' || s.ptr[i] == '#';
}

/* The query and the fragment from t->path on. */
static bool plain_rest(struct tl_span s, bool keep_fragment, struct tail *t) {
    size_t i = t->path;
    t->has_query = i < s.len && s.ptr[i] == '?';
    if (t->has_query)
        i = skip_plain(s, i + 1, ENC_SPECIAL_QUERY, '#');
    t->query = t->end = i;
    t->has_fragment = keep_fragment && i < s.len && s.ptr[i] == '#';
    if (t->has_fragment)
        t->end = i = skip_plain(s, i + 1, ENC_FRAGMENT, '\0');
    else if (i < s.len && s.ptr[i] == '#')
        return true;
    return i == s.len;
}

static struct tl_span between(const char *text, size_t from, size_t to) {
    return to > from ? (struct tl_span){text + from, to - from} : (struct tl_span){"", 0};
}

/* The spans of the path and what follows: the tail's text starts at `at` in the result. */
static void set_tail(struct url *u, struct buf *href, size_t path_at, size_t at, const struct tail *t) {
    const char *text = href->data;
    u->href = buf_span(href);
    u->path = (struct tl_span){text + path_at, at + t->path - path_at};
    u->has_query = t->has_query;
    u->query = between(text, at + t->path + 1, at + t->query);
    u->has_fragment = t->has_fragment;
    u->fragment = between(text, at + t->query + 1, at + t->end);
}

static struct tl_span moved(const struct url *base, const char *text, struct tl_span part) {
    return part.len ? (struct tl_span){text + (part.ptr - base->href.ptr), part.len} : part;
}

/* The first `keep` bytes of the base's text and then the tail: same scheme, same authority. */
static bool join(struct buf *href, const struct url *base, size_t keep, struct tl_span ref, const struct tail *t,
                 struct url *out) {
    size_t path_at = (size_t)(base->path.ptr - base->href.ptr);
    if (keep + t->end > URL_MAX || !buf_reserve(href, keep + t->end))
        return false;
    memcpy(href->data, base->href.ptr, keep);
    memcpy(href->data + keep, ref.ptr, t->end);
    href->len = keep + t->end;
    href->data[href->len] = '\0';
    struct url u = {.port = base->port, .special = true, .has_host = true};
    u.scheme = moved(base, href->data, base->scheme);
    u.host = moved(base, href->data, base->host);
    u.username = moved(base, href->data, base->username);
    u.password = moved(base, href->data, base->password);
    set_tail(&u, href, path_at, keep, t);
    *out = u;
    return true;
}

/* "", "?query" and "#fragment": the base with its end replaced. */
static bool resolve_end(struct buf *href, const struct url *base, struct tl_span ref, bool keep_fragment,
                        struct url *out) {
    struct tail t = {0};
    if (!plain_rest(ref, keep_fragment, &t))
        return false;
    size_t keep = (size_t)(base->path.ptr - base->href.ptr) + base->path.len;
    if (t.has_query || !base->has_query)
        return join(href, base, keep, ref, &t, out);
    size_t query = base->query.len;
    if (!join(href, base, keep + 1 + query, ref, &t, out))
        return false;
    out->path.len = base->path.len; /* join has taken the base's query for a part of the path */
    out->has_query = true;
    out->query = between(href->data, keep + 1, keep + 1 + query);
    return true;
}

/* "dir/page", "./page", "../page": below the directory of the base. */
static bool resolve_below(struct buf *href, const struct url *base, struct tl_span ref, bool keep_fragment,
                          struct url *out) {
    struct tail t = {0};
    const char *path = base->path.ptr, *slash = memrchr(path, '/', base->path.len);

    for (size_t i = 0; i < ref.len && ref.ptr[i] != '/'; i++) {
        if (ref.ptr[i] == '?' || ref.ptr[i] == '#')
            break;
        if (ref.ptr[i] == ':') /* perhaps a scheme */
            return false;
    }
    while (ref.len > 1 && ref.ptr[0] == '.') {
        size_t dots = ref.ptr[1] == '.' ? 2 : 1;
        if (ref.len <= dots || ref.ptr[dots] != '/')
            break;
        if (dots == 2 && slash > path)
            slash = memrchr(path, '/', (size_t)(slash - path));
        ref.ptr += dots + 1;
        ref.len -= dots + 1;
    }
    if (!slash || !plain_path(ref, 0, &t.path) || !plain_rest(ref, keep_fragment, &t))
        return false;
    return join(href, base, (size_t)(slash + 1 - base->href.ptr), ref, &t, out);
}

/* A plain port, if any, at *i. default_port is not written. */
static bool plain_port(struct tl_span s, size_t *i, int *port) {
    size_t from = *i + 1;
    *port = -1;
    if (*i >= s.len || s.ptr[*i] != ':')
        return true;
    int value = 0;
    size_t at = from;
    while (at < s.len && at - from < 5 && is_digit(s.ptr[at]))
        value = value * 10 + (s.ptr[at++] - '0');
    if (at == from || s.ptr[from] == '0' || value > 65535)
        return false;
    *i = at;
    *port = value;
    return true;
}

/* A plain domain: its last label starts with a letter, so it is no IPv4 address in disguise. */
static size_t plain_host(struct tl_span s) {
    size_t i = 0, label = 0;
    while (i < s.len && char_is(s.ptr[i], IS_PLAIN_HOST)) {
        if (s.ptr[i] == '.')
            label = i + 1;
        i++;
    }
    return i > label && is_alpha(s.ptr[label]) ? i : 0;
}

/* `s` follows the two slashes. */
static bool read_plain(struct buf *href, struct tl_span scheme, struct tl_span s, bool keep_fragment, struct url *out) {
    struct tail t = {0};
    int port;
    size_t host = plain_host(s), i = host;

    if (!host || !plain_port(s, &i, &port))
        return false;
    struct tl_span authority = {s.ptr, i}, rest = {s.ptr + i, s.len - i};
    if (rest.len && rest.ptr[0] != '/' && rest.ptr[0] != '?' && rest.ptr[0] != '#')
        return false;
    bool rootless = !rest.len || rest.ptr[0] != '/';

    if ((!rootless && !plain_path(rest, 1, &t.path)) || !plain_rest(rest, keep_fragment, &t))
        return false;
    if (port == url_default_port(scheme)) {
        port = -1;
        authority.len = host;
    }
    size_t at = scheme.len + 3, path_at = at + authority.len, len = path_at + rootless + t.end;
    if (len > URL_MAX || !buf_reserve(href, len))
        return false;
    char *o = href->data;
    memcpy(o, scheme.ptr, scheme.len);
    memcpy(o + scheme.len, "://", 3);
    for (size_t k = 0; k < authority.len; k++)
        o[at + k] = to_lower(authority.ptr[k]);
    o[path_at] = '/';
    memcpy(o + path_at + rootless, rest.ptr, t.end);
    href->len = len;
    o[len] = '\0';
    struct url u = {.port = port, .special = true, .has_host = true};
    u.scheme = (struct tl_span){o, scheme.len};
    u.host = (struct tl_span){o + at, host};
    u.username = u.password = (struct tl_span){"", 0};
    set_tail(&u, href, path_at, path_at + rootless, &t);
    *out = u;
    return true;
}

bool url_resolve_fast(struct buf *href, const struct url *base, struct tl_span ref, bool keep_fragment,
                      struct url *out) {
    while (ref.len && (unsigned char)ref.ptr[0] <= ' ')
        ref.ptr++, ref.len--;
    while (ref.len && (unsigned char)ref.ptr[ref.len - 1] <= ' ')
        ref.len--;
    if (ref.len > URL_MAX)
        return false;
    buf_reset(href);
    if (ref.len > 8 && memcmp(ref.ptr, "http", 4) == 0) {
        size_t scheme = ref.ptr[4] == 's' ? 5 : 4;
        if (memcmp(ref.ptr + scheme, "://", 3) == 0)
            return read_plain(href, (struct tl_span){ref.ptr, scheme},
                              (struct tl_span){ref.ptr + scheme + 3, ref.len - scheme - 3}, keep_fragment, out);
    }
    if (!base || !base->special || !base->host.len || !base->path.len || base->scheme.ptr[0] == 'f')
        return false; /* file has rules of its own; ftp is rare */
    if (!ref.len || ref.ptr[0] == '?' || ref.ptr[0] == '#')
        return resolve_end(href, base, ref, keep_fragment, out);
    if (ref.ptr[0] != '/')
        return resolve_below(href, base, ref, keep_fragment, out);
    if (ref.len > 1 && ref.ptr[1] == '/')
        return read_plain(href, base->scheme, (struct tl_span){ref.ptr + 2, ref.len - 2}, keep_fragment, out);
    struct tail t = {0};
    if (!plain_path(ref, 1, &t.path) || !plain_rest(ref, keep_fragment, &t))
        return false;
    return join(href, base, (size_t)(base->path.ptr - base->href.ptr), ref, &t, out);
}
