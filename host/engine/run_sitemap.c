/* run_sitemap.c - sitemaps as collectors see them: the URLs that one lists, and the sitemaps that robots.txt names. */
#include "base/mem.h"
#include "engine/run.h"
#include "net/sitemap.h"

static int add_links(struct run *r, const struct tl_span *urls, size_t count, const char *source, struct tl_link *link,
                     size_t *at) {
    for (size_t i = 0; i < count; i++, (*at)++) {
        link[*at] = (struct tl_link){arena_span(&r->arena, urls[i]), "", "", source, (int64_t)*at};
        if (!link[*at].url)
            return TL_FAILED;
    }
    return TL_OK;
}

int run_sitemap(struct tl_run *pub, const struct tl_response *res, struct tl_html *into) {
    struct run *r = run_of(pub);
    struct fetch_answer *a = run_answer(res);
    struct tl_html out = TL_HTML_INIT;
    struct sitemap map;
    size_t count = 0;
    if (!a)
        return run_fail(r, TL_INVALID, "invalid", "sitemap: this response was not fetched");
    int rc = sitemap_parse(&r->arena, buf_span(&a->result.body), a->url, &map);
    if (rc == TL_INVALID)
        return run_fail(r, TL_FAILED, "sitemap", "%s: %s", a->url, map.error);
    struct tl_link *link = arena_alloc(&r->arena, (map.url_count + map.sitemap_count + 1) * sizeof *link);
    if (rc || !link || add_links(r, map.sitemaps, map.sitemap_count, "sitemap", link, &count) ||
        add_links(r, map.urls, map.url_count, "url", link, &count))
        return run_fail(r, TL_FAILED, "memory", "the run's memory is used up by the URLs of a sitemap");
    out.link = link;
    out.link_count = count;
    RUN_GIVE(into, out);
    return TL_OK;
}

int run_sitemaps(struct tl_run *pub, const char *url, struct tl_list *into) {
    struct run *r = run_of(pub);
    *into = (struct tl_list){NULL, 0};
    if (!url)
        return run_fail(r, TL_INVALID, "invalid", "sitemaps: no URL");
    return r->backend->sitemaps ? r->backend->sitemaps(r, url, into) : TL_OK;
}
