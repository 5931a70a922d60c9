/* url.c - the general URL parser: every input, every scheme, step by step as the standard's state machine has it.
 *
 * Invariant: the result is written once, from left to right, into the caller's buffer; while that goes on, parts are
 * known by offset (the buffer moves), and become spans at the end. Plain cases take the short cuts of url_fast.c and
 * give the same answer. */
#include "net/url.h"

#include "net/url_chars.h"

struct range {
    size_t at, len;
};
struct work {
    struct buf *o;
    const struct url *base;
    const char *p, *end;
    bool special, file, keep_fragment;
    bool has_host, has_query, has_fragment, opaque_path;
    int port;
    struct range scheme, username, password, host, path, query, fragment;
};

static bool is_slash(const struct work *w, const char *at) {
    return at < w->end && (*at == '/' || (w->special && *at == '\\'));
}

static bool at_char(const struct work *w, const char *at, char c) {
    return at < w->end && *at == c;
}

int url_default_port(struct tl_span scheme) {
    if (span_eq(scheme, "http") || span_eq(scheme, "ws"))
        return 80;
    if (span_eq(scheme, "https") || span_eq(scheme, "wss"))
        return 443;
    return span_eq(scheme, "ftp") ? 21 : -1;
}

static void set_scheme(struct work *w, struct tl_span scheme) {
    w->scheme.len = scheme.len;
    for (size_t i = 0; i < scheme.len; i++)
        buf_char(w->o, to_lower(scheme.ptr[i]));
    struct tl_span lower = buf_span(w->o);
    w->file = span_eq(lower, "file");
    w->special = w->file || url_default_port(lower) >= 0;
    buf_char(w->o, ':');
}

/* ---- path */

static bool is_dot(const char *s, const char *end, size_t *len) {
    *len = 1;
    if (s < end && *s == '.')
        return true;
    *len = 3;
    return end - s >= 3 && s[0] == '%' && s[1] == '2' && (s[2] | 32) == 'e';
}

/* How many dots a segment is made of, %2e being one; 0: it is not a dot segment. */
static int dot_segment(const char *s, const char *end) {
    size_t len;
    int dots = 0;
    while (s < end && dots <= 2 && is_dot(s, end, &len)) {
        dots++;
        s += len;
    }
    return s == end && dots <= 2 ? dots : 0;
}

static bool is_drive(const char *s, const char *end) {
    return end - s == 2 && is_alpha(s[0]) && (s[1] == ':' || s[1] == '|');
}

static bool starts_with_drive(const struct work *w, const char *s) {
    return w->end - s >= 2 && is_drive(s, s + 2) &&
           (w->end - s == 2 || s[2] == '/' || s[2] == '\\' || s[2] == '?' || s[2] == '#');
}

/* Drops the last segment of the path written so far; a file URL's drive letter stays. */
static void shorten_path(struct work *w) {
    const char *path = w->o->data + w->path.at;
    size_t len = w->o->len - w->path.at;
    if (w->file && len == 3 && is_alpha(path[1]) && path[2] == ':')
        return;
    const char *slash = memrchr(path, '/', len);
    w->o->len = slash ? (size_t)(slash - w->o->data) : w->path.at;
}

static void add_segment(struct work *w, const char *s, const char *end) {
    bool first = w->o->len == w->path.at;
    buf_char(w->o, '/');
    if (w->file && first && is_drive(s, end)) {
        buf_char(w->o, s[0]);
        buf_char(w->o, ':');
    } else {
        url_encode(w->o, (struct tl_span){s, (size_t)(end - s)}, ENC_PATH);
    }
}

static void read_path(struct work *w) {
    for (;;) {
        const char *s = w->p;
        while (w->p < w->end && !is_slash(w, w->p) && *w->p != '?' && *w->p != '#')
            w->p++;
        bool more = is_slash(w, w->p);
        int dots = dot_segment(s, w->p);
        if (dots == 2)
            shorten_path(w);
        if (dots == 0)
            add_segment(w, s, w->p);
        else if (!more)
            buf_char(w->o, '/');
        if (!more)
            return;
        w->p++;
    }
}

static void start_path(struct work *w) {
    w->path.at = w->o->len;
    bool slash = is_slash(w, w->p);
    if (!w->special && !slash && (w->p == w->end || *w->p == '?' || *w->p == '#'))
        return;
    w->p += slash;
    read_path(w);
}

/* Spaces before a query or fragment would end up at the end of the path when that is taken away, so the last is
 * encoded. */
static void read_opaque_path(struct work *w) {
    w->opaque_path = true;
    w->path.at = w->o->len;
    const char *s = w->p;
    while (w->p < w->end && *w->p != '?' && *w->p != '#')
        w->p++;
    size_t len = (size_t)(w->p - s);
    bool space = w->p < w->end && len && w->p[-1] == ' ';
    url_encode(w->o, (struct tl_span){s, len - space}, ENC_CONTROL);
    if (space)
        buf_lit(w->o, "%20");
}

/* ---- authority */

static void read_credentials(struct work *w, const char *s, const char *end) {
    const char *colon = memchr(s, ':', (size_t)(end - s));
    const char *name_end = colon ? colon : end;
    w->username.at = w->o->len;
    url_encode(w->o, (struct tl_span){s, (size_t)(name_end - s)}, ENC_USERINFO);
    w->username.len = w->o->len - w->username.at;
    if (colon && colon + 1 < end) {
        buf_char(w->o, ':');
        w->password.at = w->o->len;
        url_encode(w->o, (struct tl_span){colon + 1, (size_t)(end - colon - 1)}, ENC_USERINFO);
        w->password.len = w->o->len - w->password.at;
    }
    if (w->username.len || w->password.len)
        buf_char(w->o, '@');
}

static int read_port(struct work *w, const char *s, const char *end) {
    long port = -1;
    for (; s < end; s++) {
        if (!is_digit(*s))
            return TL_INVALID;
        port = (port < 0 ? 0 : port * 10) + (*s - '0');
        if (port > 65535)
            return TL_INVALID;
    }
    if (port < 0 || port == url_default_port((struct tl_span){w->o->data, w->scheme.len}))
        return 0;
    w->port = (int)port;
    buf_char(w->o, ':');
    buf_int(w->o, port);
    return 0;
}

static int read_host(struct work *w, const char *s, const char *end) {
    w->has_host = true;
    w->host.at = w->o->len;
    int rc = s == end ? 0 : url_host(w->o, (struct tl_span){s, (size_t)(end - s)}, w->special);
    w->host.len = w->o->len - w->host.at;
    return rc;
}

/* What follows the two slashes, up to the path. */
static int read_authority(struct work *w) {
    const char *s = w->p, *at = NULL, *colon = NULL;
    bool brackets = false;

    while (w->p < w->end && !is_slash(w, w->p) && *w->p != '?' && *w->p != '#') {
        if (*w->p == '@')
            at = w->p;
        w->p++;
    }
    const char *end = w->p, *host = at ? at + 1 : s;
    buf_lit(w->o, "//");
    if (at)
        read_credentials(w, s, at);
    for (const char *c = host; c < end && !colon; c++) {
        if (*c == '[' || *c == ']')
            brackets = *c == '[';
        else if (*c == ':' && !brackets)
            colon = c;
    }
    const char *host_end = colon ? colon : end;
    if (host == host_end && (w->special || at || colon))
        return TL_INVALID;
    int rc = read_host(w, host, host_end);
    if (rc == 0 && colon)
        rc = read_port(w, colon + 1, end);
    if (rc == 0)
        start_path(w);
    return rc;
}

/* ---- what comes from the base; our text so far is its scheme, so its offsets are ours too */

static struct range base_range(const struct work *w, struct tl_span part) {
    return (struct range){(size_t)(part.ptr - w->base->href.ptr), part.len};
}

static void copy_authority(struct work *w) {
    const struct url *b = w->base;
    size_t from = b->scheme.len + 1;
    if (b->has_host) {
        buf_add(w->o, b->href.ptr + from, base_range(w, b->path).at - from);
        w->has_host = true;
        w->username = base_range(w, b->username);
        w->password = base_range(w, b->password);
        w->host = base_range(w, b->host);
        w->port = b->port;
    }
    w->path.at = w->o->len;
}

static void copy_query(struct work *w) {
    if (!w->base->has_query)
        return;
    buf_char(w->o, '?');
    w->has_query = true;
    w->query.at = w->o->len;
    buf_add(w->o, w->base->query.ptr, w->base->query.len);
    w->query.len = w->base->query.len;
}

/* A reference without scheme and leading slash, at its first character. */
static void read_relative(struct work *w) {
    copy_authority(w);
    buf_add(w->o, w->base->path.ptr, w->base->path.len);
    if (at_char(w, w->p, '?'))
        return;
    if (w->p == w->end || *w->p == '#') {
        w->path.len = w->o->len - w->path.at;
        copy_query(w);
        return;
    }
    if (w->file && starts_with_drive(w, w->p))
        w->o->len = w->path.at;
    else
        shorten_path(w);
    read_path(w);
}

/* ---- file URLs, after "file:" */

static int read_file_host(struct work *w) {
    const char *s = w->p;
    while (w->p < w->end && *w->p != '/' && *w->p != '\\' && *w->p != '?' && *w->p != '#')
        w->p++;
    const char *end = w->p;
    buf_lit(w->o, "//");
    if (is_drive(s, end)) { /* a path after all */
        w->p = s;
        end = s;
    }
    int rc = read_host(w, s, end);
    if (rc < 0)
        return rc;
    if (span_eq((struct tl_span){w->o->data + w->host.at, w->host.len}, "localhost")) {
        w->o->len = w->host.at;
        w->host.len = 0;
    }
    start_path(w);
    return 0;
}

static int read_file(struct work *w) {
    const struct url *b = w->base && span_eq(w->base->scheme, "file") ? w->base : NULL;
    w->base = b;
    if (is_slash(w, w->p) && is_slash(w, w->p + 1)) {
        w->p += 2;
        return read_file_host(w);
    }
    if (is_slash(w, w->p)) {
        if (b)
            copy_authority(w);
        else
            buf_lit(w->o, "//");
        w->p++;
        w->path.at = w->o->len;
        bool base_drive = b && b->path.len >= 3 && is_alpha(b->path.ptr[1]) && b->path.ptr[2] == ':' &&
                          (b->path.len == 3 || b->path.ptr[3] == '/');
        if (base_drive && !starts_with_drive(w, w->p))
            buf_add(w->o, b->path.ptr, 3);
        read_path(w);
    } else if (b) {
        read_relative(w);
    } else {
        buf_lit(w->o, "//");
        w->path.at = w->o->len;
        read_path(w);
    }
    if (!w->has_host)
        w->host.at = w->path.at; /* the empty host */
    w->has_host = true;
    return 0;
}

/* ---- the whole */

/* A letter, then letters, digits, "+", "-", ".", and a colon. */
static bool find_scheme(const struct work *w, struct tl_span *scheme) {
    const char *s = w->p;
    if (s == w->end || !is_alpha(*s))
        return false;
    while (s < w->end && char_is(*s, IS_SCHEME))
        s++;
    *scheme = (struct tl_span){w->p, (size_t)(s - w->p)};
    return at_char(w, s, ':');
}

static int read_absolute(struct work *w, struct tl_span scheme) {
    set_scheme(w, scheme);
    w->p += scheme.len + 1;
    if (w->o->full)
        return TL_INVALID;
    if (w->file)
        return read_file(w);
    struct tl_span lower = {w->o->data, w->scheme.len};
    bool two = at_char(w, w->p, '/') && at_char(w, w->p + 1, '/');
    if (w->special && !two && w->base && w->base->scheme.len == lower.len &&
        memcmp(w->base->scheme.ptr, lower.ptr, lower.len) == 0) {
        if (!is_slash(w, w->p)) {
            read_relative(w);
            return 0;
        }
        if (!is_slash(w, w->p + 1)) {
            copy_authority(w);
            start_path(w);
            return 0;
        }
    }
    if (w->special) {
        while (is_slash(w, w->p))
            w->p++;
        return read_authority(w);
    }
    if (two) {
        w->p += 2;
        return read_authority(w);
    }
    if (at_char(w, w->p, '/'))
        start_path(w);
    else
        read_opaque_path(w);
    return 0;
}

static int read_reference(struct work *w) {
    const struct url *b = w->base;
    if (!b || (b->opaque_path && !at_char(w, w->p, '#')))
        return TL_INVALID;
    set_scheme(w, b->scheme);
    if (w->o->full)
        return TL_INVALID;
    if (w->file)
        return read_file(w);
    if (b->opaque_path) {
        w->opaque_path = true;
        w->path.at = w->o->len;
        buf_add(w->o, b->path.ptr, b->path.len);
        w->path.len = b->path.len;
        copy_query(w);
        return 0;
    }
    if (!is_slash(w, w->p)) {
        read_relative(w);
        return 0;
    }
    if (is_slash(w, w->p + 1)) {
        w->p += 2;
        while (w->special && is_slash(w, w->p))
            w->p++;
        return read_authority(w);
    }
    copy_authority(w);
    start_path(w);
    return 0;
}

static void read_query_and_fragment(struct work *w) {
    if (!w->has_query)
        w->path.len = w->o->len - w->path.at;
    if (at_char(w, w->p, '?')) {
        const char *s = ++w->p;
        while (w->p < w->end && *w->p != '#')
            w->p++;
        buf_char(w->o, '?');
        w->has_query = true;
        w->query.at = w->o->len;
        url_encode(w->o, (struct tl_span){s, (size_t)(w->p - s)}, w->special ? ENC_SPECIAL_QUERY : ENC_QUERY);
        w->query.len = w->o->len - w->query.at;
    }
    if (at_char(w, w->p, '#') && w->keep_fragment) {
        buf_char(w->o, '#');
        w->has_fragment = true;
        w->fragment.at = w->o->len;
        url_encode(w->o, (struct tl_span){w->p + 1, (size_t)(w->end - w->p - 1)}, ENC_FRAGMENT);
        w->fragment.len = w->o->len - w->fragment.at;
    }
}

/* Without a host a path of "//x" would be read as one when parsed again: "/." goes before it. */
static void mark_path(struct work *w) {
    size_t at = w->path.at;
    if (w->has_host || w->opaque_path || w->path.len < 2 || w->o->data[at + 1] != '/' || !buf_reserve(w->o, 2))
        return;
    memmove(w->o->data + at + 2, w->o->data + at, w->o->len - at + 1);
    memcpy(w->o->data + at, "/.", 2);
    w->o->len += 2;
    w->path.at += 2;
    w->query.at += 2;
    w->fragment.at += 2;
}

static struct tl_span span_at(const struct work *w, struct range r) {
    return r.len ? (struct tl_span){w->o->data + r.at, r.len} : (struct tl_span){"", 0};
}

/* Removes tabs and line ends and puts U+FFFD where the bytes are not UTF-8. False: nothing to do, `into` is unused. */
static bool tidy(struct buf *into, struct tl_span in) {
    size_t i = 0, bad;
    while (i < in.len && (signed char)in.ptr[i] > 0x1f)
        i++;
    if (i == in.len)
        return false;
    buf_add(into, in.ptr, i);
    while (i < in.len) {
        size_t len = url_utf8(in.ptr + i, in.len - i, &bad);
        if (!len)
            buf_lit(into, "\xef\xbf\xbd");
        else if (!char_is(in.ptr[i], IS_STRIPPED))
            buf_add(into, in.ptr + i, len);
        i += len ? len : bad;
    }
    return true;
}

int url_resolve_slow(struct buf *href, const struct url *base, struct tl_span ref, bool keep_fragment,
                     struct url *out) {
    AUTO_BUF struct buf tidied = BUF_INIT;
    struct tl_span scheme;

    while (ref.len && (unsigned char)ref.ptr[0] <= ' ')
        ref.ptr++, ref.len--;
    while (ref.len && (unsigned char)ref.ptr[ref.len - 1] <= ' ')
        ref.len--;
    if (ref.len > URL_MAX)
        return TL_INVALID;
    if (tidy(&tidied, ref))
        ref = buf_span(&tidied);
    struct work w = {.o = href, .base = base, .keep_fragment = keep_fragment, .port = -1};
    w.p = ref.ptr;
    w.end = ref.ptr + ref.len;
    buf_reset(href);
    int rc = find_scheme(&w, &scheme) ? read_absolute(&w, scheme) : read_reference(&w);
    if (rc < 0)
        return TL_INVALID;
    read_query_and_fragment(&w);
    mark_path(&w);
    if (href->full || href->len > URL_MAX)
        return TL_INVALID;
    href->data[href->len] = '\0';
    *out = (struct url){.href = buf_span(href),
                        .scheme = span_at(&w, w.scheme),
                        .username = span_at(&w, w.username),
                        .password = span_at(&w, w.password),
                        .host = span_at(&w, w.host),
                        .path = {href->data + w.path.at, w.path.len},
                        .query = span_at(&w, w.query),
                        .fragment = span_at(&w, w.fragment),
                        .port = w.port,
                        .special = w.special,
                        .has_host = w.has_host,
                        .has_query = w.has_query,
                        .has_fragment = w.has_fragment,
                        .opaque_path = w.opaque_path};
    return 0;
}

int url_resolve(struct buf *href, const struct url *base, struct tl_span ref, bool keep_fragment, struct url *out) {
    if (url_resolve_fast(href, base, ref, keep_fragment, out))
        return 0;
    return url_resolve_slow(href, base, ref, keep_fragment, out);
}

int url_parse(struct buf *href, struct tl_span input, const struct url *base, struct url *out) {
    return url_resolve(href, base, input, true, out);
}

int url_effective_port(const struct url *u) {
    return u->port >= 0 ? u->port : url_default_port(u->scheme);
}

void url_origin(struct buf *out, const struct url *u) {
    if (url_default_port(u->scheme) < 0) { /* file and the schemes without hosts: an origin of its own each time */
        buf_lit(out, "null");
        return;
    }
    buf_add(out, u->scheme.ptr, u->scheme.len);
    buf_lit(out, "://");
    buf_add(out, u->host.ptr, u->host.len);
    if (u->port >= 0) {
        buf_char(out, ':');
        buf_int(out, u->port);
    }
}
