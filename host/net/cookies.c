/* cookies.c - see cookies.h. */
#include "net/cookies.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "net/date.h"
#include "net/site.h"

#define DAY_US     ((int64_t)86400 * 1000000)
#define LONGEST_US (400 * DAY_US)
#define NEARLY_US  ((int64_t)60 * 1000000) /* an end that moved by less is no news */

struct kept {
    struct cookie c;     /* its texts are ours */
    uint64_t made, used; /* turns of the jar */
};
struct cookies {
    struct kept *kept;
    size_t count, room;
    uint64_t turn;
    struct buf pair, domain, path; /* of the one that is being heard */
    struct cookie heard;
};

struct cookies *cookies_new(void) {
    return mem_alloc(sizeof(struct cookies));
}

static void empty(struct kept *k) {
    explicit_bzero((char *)(uintptr_t)k->c.value, strlen(k->c.value));
    free((char *)(uintptr_t)k->c.name);
    free((char *)(uintptr_t)k->c.value);
    free((char *)(uintptr_t)k->c.domain);
    free((char *)(uintptr_t)k->c.path);
}

void cookies_free(struct cookies *jar) {
    if (!jar)
        return;
    for (size_t i = 0; i < jar->count; i++)
        empty(&jar->kept[i]);
    free(jar->kept);
    buf_free(&jar->pair);
    buf_free(&jar->domain);
    buf_free(&jar->path);
    free(jar);
}

size_t cookies_count(const struct cookies *jar) {
    return jar->count;
}

const struct cookie *cookies_at(const struct cookies *jar, size_t i) {
    return &jar->kept[i].c;
}

/* ---- matching: RFC 6265, 5.1.3 and 5.1.4 */

static bool is_host(struct tl_span host, const char *domain) {
    return span_eq(host, domain);
}

static bool below(struct tl_span host, const char *domain) {
    size_t n = strlen(domain);
    return is_host(host, domain) || (host.len > n && host.ptr[host.len - n - 1] == '.' &&
                                     memcmp(host.ptr + host.len - n, domain, n) == 0 && !site_is_address(host));
}

static bool path_matches(struct tl_span path, const char *with) {
    size_t n = strlen(with);
    return path.len >= n && memcmp(path.ptr, with, n) == 0 &&
           (path.len == n || (n && with[n - 1] == '/') || path.ptr[n] == '/');
}

/* ---- keeping */

static void take_out(struct cookies *jar, size_t i) {
    empty(&jar->kept[i]);
    jar->kept[i] = jar->kept[--jar->count];
}

static struct kept *find(struct cookies *jar, const struct cookie *c) {
    for (size_t i = 0; i < jar->count; i++) {
        const struct cookie *k = &jar->kept[i].c;
        if (strcmp(k->name, c->name) == 0 && strcmp(k->domain, c->domain) == 0 && strcmp(k->path, c->path) == 0)
            return &jar->kept[i];
    }
    return NULL;
}

/* Makes room for one more of this domain: what has ended goes, then what was not used for the longest time. */
static void make_room(struct cookies *jar, const char *domain, int64_t now_us) {
    size_t of_domain = 0, oldest = SIZE_MAX, oldest_there = SIZE_MAX;
    for (size_t i = 0; i < jar->count;) {
        if (jar->kept[i].c.expires_us <= now_us)
            take_out(jar, i);
        else
            i++;
    }
    for (size_t i = 0; i < jar->count; i++) {
        if (oldest == SIZE_MAX || jar->kept[i].used < jar->kept[oldest].used)
            oldest = i;
        if (strcmp(jar->kept[i].c.domain, domain) != 0)
            continue;
        of_domain++;
        if (oldest_there == SIZE_MAX || jar->kept[i].used < jar->kept[oldest_there].used)
            oldest_there = i;
    }
    if (of_domain >= COOKIES_PER_DOMAIN)
        take_out(jar, oldest_there);
    else if (jar->count >= COOKIES_MAX)
        take_out(jar, oldest);
}

/* true: it is news. */
static bool keep(struct cookies *jar, const struct cookie *c, int64_t now_us) {
    struct kept *k = find(jar, c);
    bool over = c->expires_us <= now_us;
    uint64_t made = k ? k->made : ++jar->turn;
    if (over) {
        if (k)
            take_out(jar, (size_t)(k - jar->kept));
        return k != NULL;
    }
    bool same = k && strcmp(k->c.value, c->value) == 0 && k->c.secure == c->secure && k->c.host_only == c->host_only &&
                llabs(k->c.expires_us / 2 - c->expires_us / 2) < NEARLY_US / 2;
    if (same) {
        k->c.expires_us = c->expires_us;
        return false;
    }
    if (k) {
        empty(k);
    } else {
        make_room(jar, c->domain, now_us);
        MEM_GROW(jar->kept, jar->count, jar->room);
        k = &jar->kept[jar->count++];
    }
    *k = (struct kept){.c = *c, .made = made, .used = ++jar->turn};
    k->c.name = mem_text(c->name);
    k->c.value = mem_text(c->value);
    k->c.domain = mem_text(c->domain);
    k->c.path = mem_text(c->path);
    return true;
}

static bool is_clean(const char *text) {
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return false;
    return true;
}

int cookies_put(struct cookies *jar, const struct cookie *c, int64_t now_us) {
    if (!c->name || !c->value || !c->domain || !c->path || !*c->name || !*c->domain || c->path[0] != '/' ||
        strlen(c->name) + strlen(c->value) > COOKIE_PAIR_MAX || strlen(c->domain) > COOKIE_VALUE_MAX ||
        strlen(c->path) > COOKIE_VALUE_MAX || !is_clean(c->name) || !is_clean(c->value) || strpbrk(c->name, ";=") ||
        strchr(c->value, ';') || !is_clean(c->domain))
        return TL_INVALID;
    keep(jar, c, now_us);
    return TL_OK;
}

/* ---- hearing: RFC 6265, 5.2 and 5.3 */

static struct tl_span strip(struct tl_span s) {
    while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t')) {
        s.ptr++;
        s.len--;
    }
    while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
        s.len--;
    return s;
}

static bool is_word(struct tl_span s, const char *word) {
    return s.len == strlen(word) && strncasecmp(s.ptr, word, s.len) == 0;
}

/* The part before the next ';', cut off the rest; its name and, behind '=', its value. */
static bool next_part(struct tl_span *rest, struct tl_span *name, struct tl_span *value) {
    if (!rest->len)
        return false;
    const char *end = memchr(rest->ptr, ';', rest->len);
    struct tl_span part = {rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len};
    size_t used = part.len + (end != NULL);
    rest->ptr += used;
    rest->len -= used;
    const char *sign = memchr(part.ptr, '=', part.len);
    size_t n = sign ? (size_t)(sign - part.ptr) : part.len;
    *name = strip((struct tl_span){part.ptr, n});
    *value = sign ? strip((struct tl_span){sign + 1, part.len - n - 1}) : (struct tl_span){"", 0};
    return true;
}

static int64_t end_of_age(struct tl_span digits, int64_t now_us, int64_t or_else) {
    int64_t seconds = 0;
    size_t i = digits.len && digits.ptr[0] == '-';
    if (i == digits.len)
        return or_else;
    for (size_t k = i; k < digits.len; k++) {
        if (digits.ptr[k] < '0' || digits.ptr[k] > '9')
            return or_else;
        seconds = seconds < LONGEST_US ? seconds * 10 + (digits.ptr[k] - '0') : seconds;
    }
    if (i || seconds == 0)
        return 0;
    return seconds < LONGEST_US / 1000000 ? now_us + seconds * 1000000 : now_us + LONGEST_US;
}

struct attributes {
    struct tl_span domain, path;
    int64_t expires_us; /* -1: not said */
    bool aged;          /* by Max-Age, which Expires does not change */
    bool secure, domain_given;
};

static void read_attribute(struct attributes *a, struct tl_span name, struct tl_span value, int64_t now_us) {
    enum date_quality quality;
    int64_t at;
    if (value.len > COOKIE_VALUE_MAX)
        return;
    if (is_word(name, "max-age")) {
        int64_t end = end_of_age(value, now_us, -1);
        a->aged = a->aged || end >= 0;
        a->expires_us = end >= 0 ? end : a->expires_us;
    } else if (is_word(name, "expires") && !a->aged && date_parse(value, &at, &quality) == TL_OK) {
        a->expires_us = at < 0 ? 0 : at > now_us + LONGEST_US ? now_us + LONGEST_US : at;
    } else if (is_word(name, "domain")) {
        a->domain = value;
        a->domain_given = value.len > 0;
    } else if (is_word(name, "path")) {
        a->path = value;
    } else if (is_word(name, "secure")) {
        a->secure = true;
    }
}

/* The domain that it is for: one of the host's own, and no public suffix. */
static bool settle_domain(struct cookies *jar, const struct attributes *a, struct tl_span host) {
    struct tl_span d = a->domain;
    buf_reset(&jar->domain);
    jar->heard.host_only = true;
    if (d.len && d.ptr[0] == '.') {
        d.ptr++;
        d.len--;
    }
    if (!d.len) {
        buf_add(&jar->domain, host.ptr, host.len);
        return host.len > 0;
    }
    for (size_t i = 0; i < d.len; i++)
        buf_char(&jar->domain, d.ptr[i] >= 'A' && d.ptr[i] <= 'Z' ? (char)(d.ptr[i] | 0x20) : d.ptr[i]);
    if (!below(host, jar->domain.data))
        return false;
    bool suffix = site_is_public_suffix(buf_span(&jar->domain)), address = site_is_address(host);
    if (suffix && !is_host(host, jar->domain.data))
        return false;
    jar->heard.host_only = suffix || address;
    return true;
}

static void settle_path(struct cookies *jar, const struct attributes *a, struct tl_span path) {
    buf_reset(&jar->path);
    if (a->path.len && a->path.ptr[0] == '/') {
        buf_add(&jar->path, a->path.ptr, a->path.len);
        return;
    }
    const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
    buf_add(&jar->path, slash > path.ptr ? path.ptr : "/", slash > path.ptr ? (size_t)(slash - path.ptr) : 1);
}

static bool has_prefix(const char *name, const char *prefix) {
    return strncasecmp(name, prefix, strlen(prefix)) == 0;
}

/* What a name promises, and what http may not do to https. */
static bool may_be(struct cookies *jar, const struct attributes *a, bool https) {
    const struct cookie *c = &jar->heard;
    if (c->secure && !https)
        return false;
    if (has_prefix(c->name, "__Secure-") && !c->secure)
        return false;
    if (has_prefix(c->name, "__Host-") && (!c->secure || a->domain_given || strcmp(c->path, "/") != 0))
        return false;
    for (size_t i = 0; !https && i < jar->count; i++) {
        const struct cookie *k = &jar->kept[i].c;
        if (k->secure && strcmp(k->name, c->name) == 0 &&
            (below(span_of(k->domain), c->domain) || below(span_of(c->domain), k->domain)) &&
            path_matches(span_of(c->path), k->path))
            return false;
    }
    return true;
}

const struct cookie *cookies_hear(struct cookies *jar, const struct url *from, struct tl_span line, int64_t now_us) {
    struct attributes a = {.expires_us = -1};
    struct tl_span name, value, rest = line;
    for (size_t i = 0; i < line.len; i++)
        if (((unsigned char)line.ptr[i] < 0x20 && line.ptr[i] != '\t') || line.ptr[i] == 0x7f)
            return NULL;
    const char *sign = line.len ? memchr(line.ptr, '=', line.len) : NULL;
    if (!sign || !next_part(&rest, &name, &value) || rest.ptr <= sign || !name.len ||
        name.len + value.len > COOKIE_PAIR_MAX || memchr(value.len ? value.ptr : "", '\t', value.len) ||
        memchr(name.ptr, '\t', name.len))
        return NULL;
    buf_reset(&jar->pair);
    buf_add(&jar->pair, name.ptr, name.len);
    buf_char(&jar->pair, '\0');
    buf_add(&jar->pair, value.ptr, value.len);
    for (struct tl_span attribute; next_part(&rest, &attribute, &value);)
        read_attribute(&a, attribute, value, now_us);
    settle_path(jar, &a, from->path);
    if (!settle_domain(jar, &a, from->host) || strpbrk(jar->path.data, "\t"))
        return NULL;
    jar->heard.name = jar->pair.data;
    jar->heard.value = jar->pair.data + name.len + 1;
    jar->heard.domain = jar->domain.data;
    jar->heard.path = jar->path.data;
    jar->heard.secure = a.secure;
    jar->heard.expires_us = a.expires_us < 0 ? INT64_MAX : a.expires_us;
    if (jar->path.len > COOKIE_VALUE_MAX || !may_be(jar, &a, span_eq(from->scheme, "https")))
        return NULL;
    return keep(jar, &jar->heard, now_us) ? &jar->heard : NULL;
}

/* ---- sending: RFC 6265, 5.4 */

static int by_path_and_age(const void *a, const void *b) {
    const struct kept *x = *(const struct kept *const *)a, *y = *(const struct kept *const *)b;
    size_t m = strlen(x->c.path), n = strlen(y->c.path);
    return m != n ? (m < n ? 1 : -1) : x->made < y->made ? -1 : x->made > y->made;
}

void cookies_header(struct cookies *jar, const struct url *to, int64_t now_us, struct buf *out) {
    enum { MOST = 4 * COOKIES_PER_DOMAIN };
    struct kept *fit[MOST];
    size_t n = 0, begin = out->len;
    bool https = span_eq(to->scheme, "https");
    for (size_t i = 0; i < jar->count && n < MOST; i++) {
        struct kept *k = &jar->kept[i];
        if ((k->c.host_only ? is_host(to->host, k->c.domain) : below(to->host, k->c.domain)) &&
            path_matches(to->path, k->c.path) && (https || !k->c.secure) && k->c.expires_us > now_us)
            fit[n++] = k;
    }
    if (n)
        qsort(fit, n, sizeof *fit, by_path_and_age);
    for (size_t i = 0; i < n; i++) {
        const struct cookie *c = &fit[i]->c;
        if (out->len - begin + strlen(c->name) + strlen(c->value) + 3 > COOKIE_HEADER_MAX)
            continue;
        buf_printf(out, "%s%s=%s", out->len > begin ? "; " : "", c->name, c->value);
        fit[i]->used = ++jar->turn;
    }
}
