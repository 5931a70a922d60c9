/* url_key.c - the identities of a URL: our canonical text, and the key and cleaning of efixler/scrape.
 *
 * Invariant: url_canonical of its own result is that result. url_clean keeps the behaviour of Go's net/url 1.19 on
 * purpose, errors included, because keys made elsewhere must be found again; it must not be "repaired". */
#include <stdlib.h>

#include "base/mem.h"
#include "net/url.h"
#include "net/url_chars.h"

/* ---- canonical text */

/* Appends s with escapes of unreserved characters undone, again where that makes a new escape (%%34%31), the rest in
 * upper case. One pass: what was just written is looked at again after every byte. True: something changed. */
static bool reduce_escapes(struct buf *out, struct tl_span s) {
    size_t from = out->len;
    for (size_t i = 0; i < s.len; i++) {
        buf_char(out, s.ptr[i]);
        while (out->len - from >= 3 && is_escape((struct tl_span){out->data + out->len - 3, 3}, 0)) {
            char *at = out->data + out->len - 3;
            unsigned char value = escape_value(at);
            if (char_is((char)value, IS_UNRESERVED)) {
                at[0] = (char)value;
                out->len -= 2;
                continue;
            }
            for (int k = 1; k <= 2; k++)
                at[k] = to_upper(at[k]);
            break;
        }
    }
    if (out->data)
        out->data[out->len] = '\0';
    return out->len - from != s.len || (s.len && memcmp(out->data + from, s.ptr, s.len) != 0);
}

int url_canonical(struct buf *out, struct tl_span url) {
    AUTO_BUF struct buf href = BUF_INIT, reduced = BUF_INIT, again = BUF_INIT;
    struct url u;

    int rc = url_resolve(&href, NULL, url, false, &u);
    if (rc < 0)
        return rc;
    if (!span_eq(u.scheme, "http") && !span_eq(u.scheme, "https"))
        return TL_INVALID;
    url_origin(&reduced, &u);
    bool changed = reduce_escapes(&reduced, u.path);
    if (u.query.len) {
        buf_char(&reduced, '?');
        reduce_escapes(&reduced, u.query);
    }
    if (changed) { /* %2%45 may have become a dot segment; its removal makes no new escape */
        rc = url_resolve(&again, NULL, buf_span(&reduced), false, &u);
        if (rc < 0)
            return rc;
        buf_add(out, again.data, again.len);
    } else {
        buf_add(out, reduced.data, reduced.len);
    }
    return out->full ? TL_INVALID : 0;
}

/* ---- key */

/* Go's URL.Scheme: the length of the scheme, its colon not counted; 0: none. */
static size_t scheme_len(struct tl_span s) {
    size_t i = 0;
    if (!s.len || !is_alpha(s.ptr[0]))
        return 0;
    while (i < s.len && char_is(s.ptr[i], IS_SCHEME))
        i++;
    return i < s.len && s.ptr[i] == ':' ? i : 0;
}

static struct tl_span cut_from(struct tl_span s, size_t at) {
    return (struct tl_span){s.ptr + at, s.len - at};
}

/* The part before the first of `stops`, or all. */
static struct tl_span cut_at(struct tl_span s, const char *stops) {
    size_t i = 0;
    while (i < s.len && (!s.ptr[i] || !strchr(stops, s.ptr[i])))
        i++;
    return (struct tl_span){s.ptr, i};
}

/* Go's URL.Hostname() of an authority: without user information, port and brackets. */
static struct tl_span host_name(struct tl_span authority) {
    const char *at = memrchr(authority.ptr, '@', authority.len);
    if (at)
        authority = cut_from(authority, (size_t)(at + 1 - authority.ptr));
    const char *colon = memrchr(authority.ptr, ':', authority.len);
    const char *bracket = memrchr(authority.ptr, ']', authority.len);
    if (colon && (!bracket || colon > bracket))
        authority.len = (size_t)(colon - authority.ptr);
    if (authority.len >= 2 && authority.ptr[0] == '[' && authority.ptr[authority.len - 1] == ']')
        return (struct tl_span){authority.ptr + 1, authority.len - 2};
    return authority;
}

uint64_t url_key(struct tl_span url) {
    uint64_t hash = 0xcbf29ce484222325u;
    unsigned sum = 0;

    for (size_t i = 0; i < url.len; i++)
        hash = (hash ^ (unsigned char)url.ptr[i]) * 0x100000001b3u;
    size_t scheme = scheme_len(url);
    struct tl_span rest = cut_from(url, scheme ? scheme + 1 : 0);
    if (rest.len >= 2 && memcmp(rest.ptr, "//", 2) == 0) {
        struct tl_span host = host_name(cut_at(cut_from(rest, 2), "/?#"));
        for (size_t i = 0; i < host.len; i++) { /* the bytes of the name, so escapes are undone */
            bool escape = is_escape(host, i);
            sum += escape ? escape_value(host.ptr + i) : (unsigned char)host.ptr[i];
            i += escape ? 2 : 0;
        }
    }
    return (uint64_t)(sum & 127) << 56 | (hash >> 56 ^ (hash & (((uint64_t)1 << 56) - 1)));
}

/* ---- scrape's cleaning: Go's url.Parse, Query, Encode and String in one */

static const char host_safe[] = "!$&'()*+,;=:[]<>\"";
static const char path_safe[] = "$&+,/:;=@";
static const char path_kept[] =
    "!$&'()*+,;=:@[]/%"; /* Go's validEncoded: a path of these keeps its escapes as they are */
static const char user_safe[] = "$&+,;=";

static bool is_safe(char c, const char *also) {
    return char_is(c, IS_UNRESERVED) || (c && strchr(also, c));
}

static bool good_escapes(struct tl_span s) {
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] == '%' && !is_escape(s, i))
            return false;
    return true;
}

/* Undoes the escapes ('+' too in a query) and encodes again by Go's rules. False: a bad escape. */
static bool recode(struct buf *out, struct tl_span s, const char *safe, bool query) {
    if (!good_escapes(s))
        return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (c == '%') {
            c = (char)escape_value(s.ptr + i);
            i += 2;
        } else if (query && c == '+') {
            c = ' ';
        }
        if (query && c == ' ')
            buf_char(out, '+');
        else if (is_safe(c, safe))
            buf_char(out, c);
        else
            url_encode_byte(out, (unsigned char)c);
    }
    return true;
}

static bool good_port(struct tl_span s) {
    for (size_t i = 1; i < s.len; i++)
        if (!is_digit(s.ptr[i]))
            return false;
    return s.len == 0 || s.ptr[0] == ':';
}

/* In a host only bytes outside ASCII, and the "%25" of an IPv6 zone, may be escaped. */
static int clean_host(struct buf *out, struct tl_span host) {
    bool brackets = host.len && host.ptr[0] == '[';
    const char *port = memrchr(host.ptr, brackets ? ']' : ':', host.len);
    if (brackets && !port)
        return TL_INVALID;
    if (port && !good_port(cut_from(host, (size_t)(port - host.ptr) + brackets)))
        return TL_INVALID;
    for (size_t i = 0; i < host.len; i++) {
        char c = host.ptr[i];
        if (c == '%') {
            if (!is_escape(host, i) || (escape_value(host.ptr + i) < 0x80 && escape_value(host.ptr + i) != '%'))
                return TL_INVALID;
            i += 2;
        } else if ((unsigned char)c < 0x80 && !is_safe(c, host_safe)) {
            return TL_INVALID;
        }
    }
    return recode(out, host, host_safe, false) ? 0 : TL_INVALID;
}

static int clean_user(struct buf *out, struct tl_span user) {
    for (size_t i = 0; i < user.len; i++)
        if (!is_safe(user.ptr[i], ":!$&'()*+,;=%@"))
            return TL_INVALID;
    struct tl_span name = cut_at(user, ":");
    if (!recode(out, name, user_safe, false))
        return TL_INVALID;
    if (name.len < user.len) {
        buf_char(out, ':');
        if (!recode(out, cut_from(user, name.len + 1), user_safe, false))
            return TL_INVALID;
    }
    buf_char(out, '@');
    return 0;
}

static int clean_authority(struct buf *out, struct tl_span authority) {
    const char *at = memrchr(authority.ptr, '@', authority.len);
    if (!at)
        return clean_host(out, authority);
    size_t user = (size_t)(at - authority.ptr);
    if (clean_user(out, (struct tl_span){authority.ptr, user}) < 0)
        return TL_INVALID;
    return clean_host(out, cut_from(authority, user + 1));
}

static int clean_path(struct buf *out, struct tl_span path) {
    bool kept = good_escapes(path);
    for (size_t i = 0; kept && i < path.len; i++)
        kept = is_safe(path.ptr[i], path_kept);
    if (kept) {
        buf_add(out, path.ptr, path.len);
        return 0;
    }
    return recode(out, path, path_safe, false) ? 0 : TL_INVALID;
}

struct pair {
    size_t at, key, end; /* offsets into the recoded text: key is its end, end the pair's */
    struct tl_span raw;  /* the key before recoding, for its order */
    size_t order;
};

/* The next byte of a key as it is when decoded. */
static int key_byte(struct tl_span s, size_t *i) {
    int c = (unsigned char)s.ptr[*i];
    if (c == '%') {
        c = escape_value(s.ptr + *i);
        *i += 2;
    }
    ++*i;
    return c == '+' && s.ptr[*i - 1] == '+' ? ' ' : c;
}

static int by_key(const void *left, const void *right) {
    const struct pair *a = left, *b = right;
    size_t i = 0, k = 0;
    while (i < a->raw.len && k < b->raw.len) {
        int diff = key_byte(a->raw, &i) - key_byte(b->raw, &k);
        if (diff)
            return diff;
    }
    if (i < a->raw.len || k < b->raw.len)
        return i < a->raw.len ? 1 : -1;
    return a->order < b->order ? -1 : 1;
}

static bool is_tracker(struct tl_span recoded_key) {
    static const char *const dropped[] = {"utm_source", "utm_medium",  "utm_campaign",
                                          "utm_term",   "utm_content", "utm_brand"};
    for (size_t i = 0; i < COUNT_OF(dropped); i++)
        if (span_eq(recoded_key, dropped[i]))
            return true;
    return false;
}

/* Appends the pairs, sorted by key; those with ';' or a bad escape vanish, as they do in Go. Returns how many. */
static size_t clean_query(struct buf *out, struct tl_span query) {
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE struct pair *pairs = NULL;
    size_t count = 0, room = 0;

    for (;;) {
        struct tl_span part = cut_at(query, "&"), key = cut_at(part, "=");
        struct pair p = {.at = text.len, .raw = key, .order = count};
        struct tl_span value = cut_from(part, key.len + (key.len < part.len));
        bool good = part.len && !memchr(part.ptr, ';', part.len) && recode(&text, key, "", true);
        p.key = text.len;
        if (good) {
            good = !is_tracker((struct tl_span){text.data ? text.data + p.at : "", p.key - p.at});
            buf_char(&text, '=');
            good = good && recode(&text, value, "", true);
        }
        p.end = text.len;
        if (good) {
            MEM_GROW(pairs, count, room);
            pairs[count++] = p;
        } else if (text.data) {
            text.len = p.at;
        }
        if (part.len == query.len)
            break;
        query = cut_from(query, part.len + 1);
    }
    if (count)
        qsort(pairs, count, sizeof *pairs, by_key);
    for (size_t i = 0; i < count; i++) {
        buf_char(out, i ? '&' : '?');
        buf_add(out, text.data + pairs[i].at, pairs[i].end - pairs[i].at);
    }
    return count;
}

/* Scheme, authority and path; `s` has neither query nor fragment. */
static int clean_hierarchy(struct buf *out, struct tl_span s) {
    size_t scheme = scheme_len(s);
    for (size_t i = 0; i < scheme; i++)
        buf_char(out, to_lower(s.ptr[i]));
    if (scheme) {
        buf_char(out, ':');
        s = cut_from(s, scheme + 1);
    } else if (s.len && s.ptr[0] == ':') {
        return TL_INVALID;
    }
    if (!s.len || s.ptr[0] != '/') {
        struct tl_span segment = cut_at(s, "/");
        if (scheme) { /* Go's opaque URL: kept as it is */
            buf_add(out, s.ptr, s.len);
            return 0;
        }
        return memchr(segment.ptr, ':', segment.len) ? TL_INVALID : clean_path(out, s);
    }
    bool authority = s.len >= 2 && s.ptr[1] == '/' && (scheme || s.len == 2 || s.ptr[2] != '/');
    if (authority) {
        struct tl_span host = cut_at(cut_from(s, 2), "/");
        s = cut_from(s, 2 + host.len);
        if (host.len || s.len)
            buf_lit(out, "//");
        if (clean_authority(out, host) < 0)
            return TL_INVALID;
    }
    return clean_path(out, s);
}

int url_clean(struct buf *out, struct tl_span url) {
    size_t from = out->len;
    struct tl_span head = cut_at(url, "#"), rest = cut_at(head, "?");

    if (url.len > URL_MAX)
        return TL_INVALID;
    for (size_t i = 0; i < head.len; i++)
        if ((unsigned char)head.ptr[i] < ' ' || head.ptr[i] == 0x7f)
            goto invalid;
    if (!good_escapes(cut_from(url, head.len)) || clean_hierarchy(out, rest) < 0)
        goto invalid;
    if (rest.len + 1 == head.len)
        buf_char(out, '?'); /* "a?" keeps it, so it is another key than "a" */
    else if (rest.len < head.len)
        clean_query(out, cut_from(head, rest.len + 1));
    if (!out->full)
        return 0;
invalid:
    if (out->data) {
        out->len = from;
        out->data[from] = '\0';
    }
    return TL_INVALID;
}
