/* probe_parsers.c - which parsers `trotline probe` has, and the shape of their answers.
 *
 * Invariant: a parser answers from its line alone; what it does not say is not there ("truncated" stands only where it
 * is true). */
#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/times.h"
#include "base/yaml.h"
#include "cmd/probe.h"
#include "net/charset.h"
#include "net/date.h"
#include "net/feed_write.h"
#include "net/html.h"
#include "net/link_header.h"
#include "net/retry_after.h"
#include "net/robots.h"
#include "net/sitemap.h"
#include "net/url.h"

enum { ARENA_MAX = 768 << 20 };

/* ---- URLs */

/* The URL of a member, in href. */
static int own_url(struct probe *p, const char *key, struct buf *href, struct url *url) {
    struct tl_span text;
    int rc = probe_text(p, key, &text);
    if (!rc && url_parse(href, text, NULL, url))
        rc = fail_set(&p->why, TL_INVALID, "\"%s\" is no absolute URL", key);
    return rc;
}

/* The same of a "base" that need not be there: *base is NULL then. */
static int base_url(struct probe *p, struct buf *href, struct url *url, const struct url **base) {
    struct tl_span text;
    int rc = probe_text_optional(p, "base", &text);
    *base = NULL;
    if (rc || !text.ptr)
        return rc;
    if (url_parse(href, text, NULL, url))
        return fail_set(&p->why, TL_INVALID, "\"base\" is no absolute URL");
    *base = url;
    return TL_OK;
}

static int run_url(struct probe *p, struct json_writer *w) {
    AUTO_BUF struct buf href = BUF_INIT, base_href = BUF_INIT;
    struct url url, base_room;
    const struct url *base;
    struct tl_span input;
    if (probe_text(p, "input", &input) || base_url(p, &base_href, &base_room, &base))
        return TL_INVALID;
    if (url_parse(&href, input, base, &url))
        return fail_set(&p->why, TL_INVALID, "no URL");
    json_member_span(w, "href", url.href);
    return TL_OK;
}

static int run_canon(struct probe *p, struct json_writer *w) {
    AUTO_BUF struct buf canonical = BUF_INIT;
    char key[24];
    struct tl_span url;
    if (probe_text(p, "url", &url))
        return TL_INVALID;
    if (url_canonical(&canonical, url))
        return fail_set(&p->why, TL_INVALID, "no http or https URL");
    snprintf(key, sizeof key, "%" PRIu64, url_key(buf_span(&canonical)));
    json_member_span(w, "canonical", buf_span(&canonical));
    json_member_string(w, "key", key);
    return TL_OK;
}

static int run_link_header(struct probe *p, struct json_writer *w) {
    AUTO_BUF struct buf href = BUF_INIT;
    struct url room;
    const struct url *base;
    struct tl_span value;
    struct link_header h;
    if (probe_text(p, "value", &value) || base_url(p, &href, &room, &base))
        return TL_INVALID;
    if (link_header_parse(&p->arena, value, base, &h))
        return fail_set(&p->why, TL_FAILED, "too much for the memory");
    json_put_key(w, "links");
    json_array_begin(w);
    for (size_t i = 0; i < h.count; i++) {
        const struct link_header_link *link = &h.link[i];
        json_object_begin(w);
        json_member_span(w, "url", link->url);
        if (link->rel.ptr)
            json_member_span(w, "rel", link->rel);
        else
            json_member_null(w, "rel");
        json_put_key(w, "params");
        json_object_begin(w);
        for (size_t k = 0; k < link->param_count; k++) {
            json_put_key_span(w, link->param[k].name);
            json_put_string(w, link->param[k].value);
        }
        json_object_end(w);
        json_object_end(w);
    }
    json_array_end(w);
    return TL_OK;
}

static int run_date(struct probe *p, struct json_writer *w) {
    enum date_quality quality;
    char utc[TIME_TEXT];
    struct tl_span text;
    int64_t us;
    if (probe_text(p, "text", &text))
        return TL_INVALID;
    if (date_parse(text, &us, &quality))
        return fail_set(&p->why, TL_INVALID, "no date");
    json_member_string(w, "utc", date_text(us, utc));
    json_member_string(w, "quality", date_quality_name(quality));
    return TL_OK;
}

static int run_retry_after(struct probe *p, struct json_writer *w) {
    struct tl_span value, now;
    int64_t now_us, seconds;
    if (probe_text(p, "value", &value) || probe_text(p, "now", &now))
        return TL_INVALID;
    if (time_parse(now, &now_us))
        return fail_set(&p->why, TL_INVALID, "\"now\" is no RFC 3339 time");
    if (retry_after_parse(value, now_us, &seconds))
        return fail_set(&p->why, TL_INVALID, "neither seconds nor an HTTP date");
    json_member_int(w, "seconds", seconds);
    return TL_OK;
}

/* ---- what stands on a page, and beside it */

static int run_robots(struct probe *p, struct json_writer *w) {
    AUTO_BUF struct buf path = BUF_INIT;
    struct tl_span body, url;
    const char *agent;
    struct robots *r;
    if (probe_bytes(p, "robots_b64", &body) || probe_name_optional(p, "agent", &agent) || probe_text(p, "url", &url))
        return TL_INVALID;
    if (robots_parse(body, agent ? agent : "", &r))
        return fail_set(&p->why, TL_FAILED, "cannot be read");
    robots_path(&path, url);
    int64_t delay_ms = robots_delay_ms(r);
    json_member_bool(w, "allowed", robots_allowed(r, buf_span(&path)));
    if (delay_ms < 0)
        json_member_null(w, "crawl_delay");
    else
        json_member_real(w, "crawl_delay", (double)delay_ms / 1000);
    json_put_key(w, "sitemaps");
    json_array_begin(w);
    for (size_t i = 0; i < robots_sitemap_count(r); i++)
        json_put_string(w, robots_sitemap(r, i));
    json_array_end(w);
    robots_free(r);
    return TL_OK;
}

static int run_charset(struct probe *p, struct json_writer *w) {
    struct tl_span body;
    const char *type;
    struct charset c;
    if (probe_bytes(p, "body_b64", &body) || probe_name_optional(p, "content_type", &type))
        return TL_INVALID;
    charset_decide(body, type, &c);
    json_member_string(w, "charset", c.name);
    json_member_string(w, "source", c.source);
    return TL_OK;
}

static void put_reference(struct json_writer *w, const char *key, struct tl_span ref, const struct url *base) {
    AUTO_BUF struct buf href = BUF_INIT;
    struct url u;
    json_put_key(w, key);
    if (ref.ptr && url_resolve(&href, base, ref, true, &u) == TL_OK)
        json_put_string(w, u.href);
    else
        json_put_null(w);
}

/* References that make no URL are left out. */
static void put_links(struct json_writer *w, const struct html_page *page, const struct url *base) {
    AUTO_BUF struct buf href = BUF_INIT;
    struct url u;
    json_put_key(w, "links");
    json_array_begin(w);
    for (size_t i = 0; i < page->link_count && !w->out->full; i++) {
        const struct html_link *link = &page->links[i];
        if (url_resolve(&href, base, link->ref, true, &u))
            continue;
        json_object_begin(w);
        json_member_span(w, "url", u.href);
        json_member_span(w, "rel", link->rel);
        json_member_span(w, "text", link->text);
        json_member_string(w, "source", link->source);
        json_object_end(w);
    }
    json_array_end(w);
}

static int run_links(struct probe *p, struct json_writer *w) {
    AUTO_BUF struct buf utf8 = BUF_INIT, own_href = BUF_INIT, base_href = BUF_INIT;
    static const struct html_options no_text = {.no_text = true};
    struct html_page page = {0};
    struct url own, base;
    struct charset charset;
    struct tl_span body;
    const char *type;
    bool lossy;
    if (own_url(p, "url", &own_href, &own) || probe_bytes(p, "html_b64", &body) ||
        probe_name_optional(p, "content_type", &type))
        return TL_INVALID;
    charset_decide(body, type, &charset);
    if (charset_to_utf8(charset.name, body, &utf8, &lossy))
        return fail_set(&p->why, TL_FAILED, "cannot be decoded as %s", charset.name);
    p->arena.max = ARENA_MAX;
    if (html_scan(&p->arena, buf_span(&utf8), &no_text, &page))
        return fail_set(&p->why, TL_FAILED, "too much for the memory");
    if (!page.base.ptr || url_resolve(&base_href, &own, page.base, false, &base))
        base = own;
    put_links(w, &page, &base);
    put_reference(w, "canonical", page.canonical, &base);
    json_member_span(w, "base", base.href);
    json_put_key(w, "title");
    if (page.title.ptr)
        json_put_string(w, page.title);
    else
        json_put_null(w);
    if (page.truncated)
        json_member_bool(w, "truncated", true);
    html_page_free(&page);
    return TL_OK;
}

/* ---- feeds and sitemaps */

static int run_feed(struct probe *p, struct json_writer *w) {
    struct tl_span body;
    const char *url, *type;
    struct feed feed;
    if (probe_bytes(p, "body_b64", &body) || probe_name_optional(p, "url", &url) ||
        probe_name_optional(p, "content_type", &type))
        return TL_INVALID;
    p->arena.max = ARENA_MAX;
    int rc = feed_parse(&p->arena, body, url, type, &feed);
    if (rc && rc != TL_PARTIAL)
        return fail_set(&p->why, rc, "%s", feed.error[0] ? feed.error : "no feed");
    feed.truncated = feed.truncated || rc;
    feed_write(w, &feed, feed_identities(&p->arena, &feed));
    return TL_OK;
}

static int run_sitemap(struct probe *p, struct json_writer *w) {
    struct tl_span body;
    const char *url;
    struct sitemap map;
    if (probe_bytes(p, "body_b64", &body) || probe_name_optional(p, "url", &url))
        return TL_INVALID;
    p->arena.max = ARENA_MAX;
    int rc = sitemap_parse(&p->arena, body, url, &map);
    if (rc && rc != TL_PARTIAL)
        return fail_set(&p->why, rc, "%s", map.error[0] ? map.error : "no sitemap");
    json_member_spans(w, "urls", map.urls, map.url_count);
    json_member_spans(w, "sitemaps", map.sitemaps, map.sitemap_count);
    if (map.truncated || rc)
        json_member_bool(w, "truncated", true);
    return TL_OK;
}

/* ---- texts that are data */

static int run_json(struct probe *p, struct json_writer *w) {
    struct tl_span text;
    size_t where;
    if (probe_bytes(p, "text_b64", &text))
        return TL_INVALID;
    bool valid = json_valid(text, &where) == TL_OK;
    json_member_bool(w, "valid", valid);
    if (!valid)
        json_member_uint(w, "offset", where);
    return TL_OK;
}

static int run_yaml(struct probe *p, struct json_writer *w) {
    AUTO_BUF struct buf json = BUF_INIT;
    struct tl_span text;
    struct yaml_node *root;
    struct yaml_error err;
    if (probe_bytes(p, "text_b64", &text))
        return TL_INVALID;
    p->arena.max = ARENA_MAX;
    if (yaml_parse(&p->arena, "", text, &root, &err))
        return fail_set(&p->why, TL_INVALID, "%u:%u: %s", err.line, err.column, err.text);
    if (yaml_to_json(root, &json))
        return fail_set(&p->why, TL_FAILED, "too much for the memory");
    json_member_raw(w, "json", buf_span(&json));
    return TL_OK;
}

const struct probe_parser probe_parsers[] = {
    {"url", run_url},
    {"canon", run_canon},
    {"robots", run_robots},
    {"links", run_links},
    {"charset", run_charset},
    {"feed", run_feed},
    {"sitemap", run_sitemap},
    {"date", run_date},
    {"link-header", run_link_header},
    {"retry-after", run_retry_after},
    {"json", run_json},
    {"yaml", run_yaml},
    {NULL, NULL},
};
