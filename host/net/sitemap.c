/* sitemap.c - see sitemap.h. */
#include "net/sitemap.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/hash.h"
#include "base/mem.h"
#include "net/feed.h"
#include "net/unzip.h"
#include "net/url.h"
#include "net/xml.h"

enum { SLOTS = 131072, LOC_MAX = 16 << 10 }; /* SLOTS: a power of two, more than twice SITEMAP_URLS_MAX */
enum { IN_ROOT, IN_PAGE, IN_SITEMAP, IN_OTHER };

/* URLs in order, each once: a hash table of places in the list. */
struct list {
    struct tl_span *items;
    size_t count, room;
    uint32_t *slots; /* place + 1; 0: free */
};
struct reader {
    struct arena *arena;
    struct sitemap *out;
    const struct url *base;
    struct list pages, sitemaps;
    struct hash_key key; /* random: nobody can choose URLs that collide */
    struct buf href, text;
    bool arena_full;
    /* XML */
    uint8_t place[XML_DEPTH_MAX + 1];
    char ns[256]; /* of the root */
    size_t depth;
    bool known_root, in_loc, loc_is_sitemap;
    size_t below; /* open elements inside of the loc */
};

/* ---- lists ---- */

static uint32_t *slot_of(const struct hash_key *key, struct list *l, struct tl_span url) {
    size_t at = (size_t)hash_sip(key, url.ptr, url.len) & (SLOTS - 1);
    for (; l->slots[at]; at = (at + 1) & (SLOTS - 1)) {
        struct tl_span have = l->items[l->slots[at] - 1];
        if (have.len == url.len && memcmp(have.ptr, url.ptr, url.len) == 0)
            break;
    }
    return &l->slots[at];
}
static void add(struct reader *r, struct list *l, struct tl_span ref) {
    struct url u;
    ref = xml_trim(ref);
    if (!ref.len || ref.len > LOC_MAX || url_resolve(&r->href, r->base, ref, true, &u) != TL_OK ||
        (!span_eq(u.scheme, "http") && !span_eq(u.scheme, "https")))
        return;
    if (!l->slots)
        l->slots = mem_alloc(SLOTS * sizeof *l->slots);
    uint32_t *slot = slot_of(&r->key, l, u.href);
    if (*slot)
        return;
    if (l->count == SITEMAP_URLS_MAX) {
        r->out->truncated = true;
        return;
    }
    char *copy = arena_span(r->arena, u.href);
    if (!copy) {
        r->arena_full = r->out->truncated = true;
        return;
    }
    MEM_GROW(l->items, l->count, l->room);
    l->items[l->count++] = (struct tl_span){copy, u.href.len};
    *slot = (uint32_t)l->count;
}
static const struct tl_span *settle(struct reader *r, struct list *l, size_t *count) {
    struct tl_span *copy = l->count ? arena_alloc(r->arena, l->count * sizeof *copy) : NULL;
    *count = copy ? l->count : 0;
    if (copy)
        memcpy(copy, l->items, l->count * sizeof *copy);
    else if (l->count)
        r->arena_full = r->out->truncated = true;
    free(l->items);
    free(l->slots);
    return copy;
}

/* ---- XML ---- */

static int on_start(void *arg, const struct xml_element *e) {
    struct reader *r = arg;
    if (r->in_loc) {
        r->below++;
        return TL_OK;
    }
    size_t at = r->depth++;
    if (!at) {
        r->known_root = xml_same(e->name, "urlset") || xml_same(e->name, "sitemapindex");
        if (e->ns.len < sizeof r->ns)
            memcpy(r->ns, e->ns.ptr, e->ns.len);
        r->place[0] = IN_ROOT;
        return r->known_root ? TL_OK : TL_INVALID;
    }
    bool own = !e->ns.len ? !e->prefix.len || !r->ns[0] : span_eq(e->ns, r->ns);
    uint8_t in = r->place[at - 1];
    r->place[at] = IN_OTHER;
    if (own && in == IN_ROOT && (xml_same(e->name, "url") || xml_same(e->name, "sitemap")))
        r->place[at] = xml_same(e->name, "url") ? IN_PAGE : IN_SITEMAP;
    if (own && (in == IN_PAGE || in == IN_SITEMAP) && xml_same(e->name, "loc")) {
        r->in_loc = true;
        r->loc_is_sitemap = in == IN_SITEMAP;
        buf_reset(&r->text);
    }
    return TL_OK;
}
static int on_end(void *arg, const struct xml_element *e) {
    struct reader *r = arg;
    (void)e;
    if (r->in_loc && r->below) {
        r->below--;
        return TL_OK;
    }
    if (r->in_loc && !r->text.full)
        add(r, r->loc_is_sitemap ? &r->sitemaps : &r->pages, buf_span(&r->text));
    r->in_loc = false;
    r->depth--;
    return TL_OK;
}
static int on_text(void *arg, struct tl_span text) {
    struct reader *r = arg;
    if (r->in_loc && !r->below)
        buf_add(&r->text, text.ptr, text.len);
    return TL_OK;
}

/* ---- the kinds of bodies ---- */

static int refuse(struct sitemap *out, const char *why) {
    snprintf(out->error, sizeof out->error, "%s", why);
    return TL_INVALID;
}
static int read_xml(struct reader *r, struct tl_span text) {
    static const struct xml_events events = {on_start, on_end, on_text};
    AUTO_BUF struct buf clean = BUF_INIT;
    unsigned findings = 0;
    r->text.max = LOC_MAX;
    xml_clean(text, &clean, &findings);
    r->out->truncated |= xml_read(buf_span(&clean), &events, r) < 0;
    r->out->repaired |= findings >= XML_REPAIRED;
    return TL_OK;
}
/* The links of the entries. */
static int read_feed(struct reader *r, struct tl_span body, const char *url) {
    struct arena arena = {.max = 256u << 20};
    struct feed feed;
    int rc = feed_parse(&arena, body, url, NULL, &feed);
    if (rc == TL_OK || rc == TL_PARTIAL) {
        for (size_t i = 0; i < feed.entry_count; i++)
            for (size_t n = 0; n < feed.entries[i].link_count; n++)
                add(r, &r->pages, feed.entries[i].links[n]);
        r->out->truncated |= feed.truncated;
        rc = TL_OK;
    } else {
        snprintf(r->out->error, sizeof r->out->error, "no sitemap: %.200s", feed.error);
    }
    arena_free(&arena);
    return rc;
}
/* One URL a line; only what says so itself. */
static int read_lines(struct reader *r, struct tl_span text) {
    const struct url *base = r->base;
    r->base = NULL;
    for (const char *p = text.ptr, *end = p + text.len; p < end;) {
        const char *from = p;
        while (p < end && *p != '\n' && *p != '\r')
            p++;
        add(r, &r->pages, (struct tl_span){from, (size_t)(p - from)});
        p += p < end;
    }
    r->base = base;
    return r->pages.count ? TL_OK : refuse(r->out, "no sitemap: neither XML, nor a feed, nor one URL a line");
}
static int read_body(struct reader *r, struct tl_span body, const char *url) {
    AUTO_BUF struct buf utf8 = BUF_INIT;
    const char *charset;
    unsigned findings = 0;
    bool html;
    if (xml_decode(body, NULL, &utf8, &charset, &findings) < 0)
        return refuse(r->out, "the body is longer than a sitemap may be");
    r->out->repaired |= (findings & XML_BAD_ENCODING) != 0;
    struct tl_span text = xml_trim(buf_span(&utf8));
    if (!text.len)
        return refuse(r->out, "the body is empty");
    if (*text.ptr == '{')
        return read_feed(r, body, url);
    struct tl_span root = xml_root(text, &html);
    const char *colon = root.len ? memchr(root.ptr, ':', root.len) : NULL;
    if (colon)
        root = (struct tl_span){colon + 1, root.len - (size_t)(colon + 1 - root.ptr)};
    if (xml_same(root, "urlset") || xml_same(root, "sitemapindex"))
        return read_xml(r, text);
    if (*text.ptr == '<' || html)
        return read_feed(r, body, url);
    return read_lines(r, text);
}

int sitemap_parse(struct arena *arena, struct tl_span body, const char *url, struct sitemap *out) {
    AUTO_BUF struct buf plain = BUF_INIT, href = BUF_INIT;
    AUTO_FREE struct reader *r = mem_alloc(sizeof *r);
    struct url base;
    int rc = TL_OK;
    *out = (struct sitemap){0};
    r->arena = arena;
    r->out = out;
    if (getrandom(&r->key, sizeof r->key, GRND_NONBLOCK) < 0)
        r->key = (struct hash_key){(uintptr_t)r, (uintptr_t)body.ptr};
    if (url && url_parse(&href, span_of(url), NULL, &base) == TL_OK)
        r->base = &base;
    if (unzip_is_gzip(body)) {
        rc = unzip_gzip(body, &plain);
        if (rc == TL_REFUSED)
            rc = refuse(out, "the gzip data would grow beyond all measure");
        else if (rc == TL_INVALID)
            rc = refuse(out, "damaged gzip data");
        out->repaired = rc == TL_PARTIAL;
        body = buf_span(&plain);
    }
    if (rc != TL_INVALID)
        rc = read_body(r, body, url);
    out->urls = settle(r, &r->pages, &out->url_count);
    out->sitemaps = settle(r, &r->sitemaps, &out->sitemap_count);
    buf_free(&r->href);
    buf_free(&r->text);
    return rc == TL_OK && r->arena_full ? TL_PARTIAL : rc;
}
