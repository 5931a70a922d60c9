/* fetch_sitemaps.c - the sitemaps that robots.txt names: they bind nobody, and may lie anywhere. */
#include "net/fetch_inside.h"
#include "net/fetch_robots.h"
#include "net/robots.h"

int fetch_sitemaps(struct fetcher *f, const char *url, struct arena *arena, struct tl_list *out) {
    enum { MOST = 1000 };
    AUTO_BUF struct buf href = BUF_INIT, origin = BUF_INIT, at = BUF_INIT;
    struct url base, u;
    *out = (struct tl_list){NULL, 0};
    if (url_parse(&href, span_of(url), NULL, &base) || !base.host.len)
        return TL_OK;
    url_origin(&origin, &base);
    const struct robots *rules = fetch_robots_rules(fetch_robots_of(f->robots, buf_span(&origin)));
    size_t count = rules ? robots_sitemap_count(rules) : 0;
    count = count < MOST ? count : MOST;
    const char **list = arena_alloc(arena, (count + 1) * sizeof *list);
    if (!list)
        return TL_FAILED;
    for (size_t i = 0; i < count; i++) {
        if (url_resolve(&at, &base, robots_sitemap(rules, i), false, &u) ||
            !(span_eq(u.scheme, "http") || span_eq(u.scheme, "https")))
            continue;
        if (!(list[out->count++] = arena_text(arena, at.data, at.len)))
            return TL_FAILED;
    }
    out->item = list;
    return TL_OK;
}
