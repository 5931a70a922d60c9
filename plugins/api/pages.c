/* pages.c - where a list goes on, and where it ends: each page is looked at once, no list goes in a circle. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api.h"

int64_t api_number(struct api *a, const char *pointer) {
    const char *text = api_says(a, pointer);
    return text ? strtoll(text, NULL, 10) : 0;
}

/* "https://host:port", of URLs as the host writes them. */
bool api_same_origin(const char *a, const char *b) {
    const char *host_a = strstr(a, "://"), *host_b = strstr(b, "://");
    if (!host_a || !host_b)
        return false;
    size_t len_a = (size_t)(host_a - a) + 3 + strcspn(host_a + 3, "/?#");
    size_t len_b = (size_t)(host_b - b) + 3 + strcspn(host_b + 3, "/?#");
    return len_a == len_b && strncasecmp(a, b, len_a) == 0;
}

/* ---- what stands in an answer ---- */

static const char *text_at(struct api *a, const struct tl_response *res, const char *said) {
    const char *pointer = api_says(a, said), *text = NULL;
    struct tl_json v;
    if (!pointer || a->answer == API_OTHER)
        return NULL;
    if (a->answer == API_XML)
        return api_xml(a->run, res->body, pointer, &text) > 0 ? text : NULL;
    bool there = a->run->host->json(a->run, res->body, pointer, &v) == TL_OK &&
                 (v.type == TL_JSON_STRING || v.type == TL_JSON_NUMBER);
    return there ? a->run->host->json_text(a->run, &v) : NULL;
}

int64_t api_whole(const char *text) {
    return *text && strspn(text, "0123456789") == strlen(text) && strlen(text) <= 15 ? strtoll(text, NULL, 10) : -1;
}

static int64_t number_at(struct api *a, const struct tl_response *res, const char *said) {
    const char *text = text_at(a, res, said);
    return text ? api_whole(text) : -1;
}

static uint64_t digest(struct tl_span bytes) {
    uint64_t h = 14695981039346656037u; /* FNV-1a: who makes two alike ends its own list */
    for (size_t i = 0; i < bytes.len; i++)
        h = (h ^ (unsigned char)bytes.ptr[i]) * 1099511628211u;
    return h;
}

static int count_items(struct api *a, const struct tl_response *res, int64_t *items, struct tl_span *what) {
    struct tl_json list, at = {0};
    *what = res->body;
    *items = -1;
    if (!a->items || a->answer == API_OTHER)
        return TL_OK;
    if (a->answer == API_XML) {
        *items = api_xml(a->run, res->body, a->items, NULL);
        return *items >= 0
                   ? TL_OK
                   : tl_fail(a->run, TL_FAILED, "the answer of %.300s is no XML%s", res->url, api_explained(a, 0));
    }
    if (a->run->host->json(a->run, res->body, a->items, &list) ||
        (list.type != TL_JSON_ARRAY && list.type != TL_JSON_OBJECT))
        return tl_fail(a->run, TL_FAILED, "the answer of %.300s has no list at \"%s\"", res->url, a->items);
    *what = list.raw;
    for (*items = 0; a->run->host->json_next(a->run, &list, &at) == TL_OK; ++*items)
        if (*items % 1000 == 999 && tl_yield(a->run))
            return TL_CANCEL;
    return TL_OK;
}

/* One value and nothing behind it. */
static bool is_json(struct api *a, struct tl_span body) {
    struct tl_json v;
    if (a->run->host->json(a->run, body, "", &v))
        return false;
    for (const char *c = v.raw.ptr + v.raw.len; c < body.ptr + body.len; c++)
        if (!memchr(" \t\r\n", *c, 4))
            return false;
    return true;
}

static int check_answer(struct api *a, const struct tl_response *res) {
    struct tl_json v;
    const char *pointer = api_says(a, "/error"), *said = NULL;
    if (res->truncated)
        return tl_fail(a->run, TL_FAILED, "the answer of %.300s is longer than %zu bytes; the rest was not read",
                       res->url, res->body.len);
    if (a->answer == API_JSON && !is_json(a, res->body))
        return tl_fail(a->run, TL_FAILED, "the answer of %.300s is no JSON%s", res->url, api_explained(a, 0));
    if (a->answer == API_JSON && pointer && a->run->host->json(a->run, res->body, pointer, &v) == TL_OK &&
        v.type != TL_JSON_NULL) {
        said = a->run->host->json_text(a->run, &v);
        return tl_fail(a->run, TL_FAILED, "%.300s answered with an error: %.300s", res->url, said ? said : pointer);
    }
    if (a->answer == API_XML && pointer && api_xml(a->run, res->body, pointer, &said) > 0)
        return tl_fail(a->run, TL_FAILED, "%.300s answered with an error: %.300s", res->url, said ? said : pointer);
    return TL_OK;
}

/* ---- moving on ---- */

static void end(struct api_page *page, const char *why, bool broken) {
    page->ended = why;
    page->broken = broken;
}

/* A URL that the server gives: of this API's origin, since what we carry is for that, and not one that was asked. */
static int go_to(struct api *a, const char *base, const char *ref, struct api_page *page) {
    const char *url;
    if (tl_url(a->run, base, ref, &url))
        return end(page, "next is no URL", true), TL_OK;
    if (!api_same_origin(url, a->args->base) && (a->token || !api_same_origin(url, base)))
        return end(page, "next lies at another origin", true), TL_OK;
    for (size_t i = 0; i < a->done + 1; i++)
        if (a->asked[i] && strcmp(a->asked[i], url) == 0)
            return end(page, "circle", true), TL_OK;
    a->next = url;
    return TL_OK;
}

static int follow_link(struct api *a, const struct tl_response *res, struct api_page *page) {
    const char *url = NULL;
    for (size_t i = 0; i < res->header_count && !url; i++)
        if (strcasecmp(res->headers[i].name, "link") == 0 &&
            tl_link_header(a->run, res->headers[i].value, res->url, "next", &url))
            url = NULL;
    return url ? go_to(a, res->url, url, page) : (end(page, "last", false), TL_OK);
}

static void step(struct api *a, struct api_page *page) {
    int64_t first = api_number(a, "/pages/first"), stride = a->size > 0 ? a->size : page->items;
    bool told = page->total >= 0;
    if (page->items == 0)
        end(page, "empty", false);
    else if (told && a->got >= page->total)
        end(page, "total", false);
    else if (a->by == API_OFFSET && stride <= 0)
        end(page, "its items cannot be counted", true);
    else if (!told && a->size > 0 && page->items >= 0 && page->items < a->size)
        end(page, "short", false);
    a->page++;
    a->offset += stride > 0 ? stride : 0;
    if (!page->ended && told && a->by == API_OFFSET && a->offset - first >= page->total)
        end(page, "total", false);
}

static int move_on(struct api *a, const struct tl_response *res, struct api_page *page) {
    const char *text;
    int64_t pages;
    switch (a->by) {
    case API_LINK:
        return follow_link(a, res, page);
    case API_NEXT:
        text = text_at(a, res, "/pages/at");
        return text && *text ? go_to(a, res->url, text, page) : (end(page, "last", false), TL_OK);
    case API_CURSOR:
        text = text_at(a, res, "/pages/at");
        if (!text || !*text || page->items == 0 || (page->total >= 0 && page->items >= 0 && a->got >= page->total))
            return end(page, text && *text ? (page->items == 0 ? "empty" : "total") : "last", false), TL_OK;
        a->cursor = text;
        return TL_OK;
    case API_PAGE:
        pages = number_at(a, res, "/pages/count");
        if (pages >= 0 && a->page - api_number(a, "/pages/first") + 1 >= pages)
            return end(page, "count", false), TL_OK;
        if (pages >= 0 && page->items != 0)
            return a->page++, TL_OK;
        return step(a, page), TL_OK;
    case API_OFFSET:
        return step(a, page), TL_OK;
    case API_NONE:
        break;
    }
    return end(page, "last", false), TL_OK;
}

int api_read(struct api *a, const struct tl_response *res, struct api_page *page) {
    struct tl_span what;
    *page = (struct api_page){.items = -1, .total = -1};
    int rc = check_answer(a, res);
    if (!rc)
        rc = count_items(a, res, &page->items, &what);
    if (rc)
        return rc;
    uint64_t own = digest(what);
    for (size_t i = 0; page->items != 0 && i < a->done; i++)
        page->again = page->again || a->seen[i] == own;
    if (page->again) /* who counts pages has come behind the last one; who is led there is led in a circle */
        return end(page, "again", a->by != API_PAGE && a->by != API_OFFSET), TL_OK;
    a->read++;
    a->seen[a->done] = page->items != 0 ? own : 0;
    a->got += page->items > 0 ? page->items : 0;
    page->total = number_at(a, res, "/pages/total");
    rc = move_on(a, res, page);
    if (!rc && !page->ended && (int64_t)a->done + 1 >= a->most)
        end(page, "pages", false);
    a->bytes += res->body.len;
    if (!rc && !page->ended && a->bytes > API_BYTES_MAX)
        end(page, API_TOO_LARGE, true);
    return rc;
}
