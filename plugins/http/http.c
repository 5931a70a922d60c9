/* http - fetches one URL, keeps its body byte for byte, and follows its links as far as the leash allows.
 *
 * Datasets: `page` is the answer as it came; of a page in HTML also `text`, what there is to read, and `links`. A
 * sitemap is a page of the list that its site makes of itself: it counts for no depth and no fan-out, and its `links`
 * are what it lists. */
#include <string.h>
#include <trotline.h>

struct args {
    const char *url, *method, *body, *read;
    bool follow, revalidate, cookies, sitemaps;
    int64_t max_age; /* dealt with by the host, before the collector is called */
    struct tl_list keep, allow, deny, types, headers;
};
static const struct tl_option arguments[] = {
    {"url", TL_URL, TL_REQUIRED, offsetof(struct args, url), NULL, NULL, "what to fetch"},
    {"follow", TL_BOOL, 0, offsetof(struct args, follow), "true", NULL, "ask for what the page links to"},
    {"keep", TL_TEXT, TL_LIST, offsetof(struct args, keep), "[page, text, links]", "page|text|links",
     "datasets to make, in this order"},
    {"allow", TL_TEXT, TL_LIST, offsetof(struct args, allow), NULL, NULL,
     "follow only URLs that match one of these globs"},
    {"deny", TL_TEXT, TL_LIST, offsetof(struct args, deny), NULL, NULL,
     "never follow URLs that match one of these globs"},
    {"sitemaps", TL_BOOL, 0, offsetof(struct args, sitemaps), "false", NULL,
     "of a line: ask also for what the sitemaps of its site list"},
    {"read", TL_TEXT, 0, offsetof(struct args, read), "page", "page|sitemap|part|guess",
     "what the URL is; sitemap: a list of URLs to ask for"},
    {"revalidate", TL_BOOL, 0, offsetof(struct args, revalidate), "true", NULL,
     "ask only whether a page that is known has changed"},
    {"max_age", TL_MILLIS, 0, offsetof(struct args, max_age), "0", NULL,
     "a document of the URL that is no older answers without a request"},
    {"types", TL_TEXT, TL_LIST, offsetof(struct args, types), "[a, area]",
     "a|area|link|img|script|iframe|frame|form|meta|source|video|audio|embed|object|track",
     "follow links of these elements"},
    {"method", TL_TEXT, 0, offsetof(struct args, method), "GET", "GET|HEAD|POST|PUT", "request method"},
    {"cookies", TL_BOOL, 0, offsetof(struct args, cookies), "false", NULL,
     "keep the cookies that are set, and send them back, in a jar of the crawl"},
    {"headers", TL_TEXT, TL_LIST, offsetof(struct args, headers), NULL, NULL, "request headers, each \"Name: value\""},
    {"body", TL_TEXT, 0, offsetof(struct args, body), NULL, NULL, "request body"},
    {0}};
static const struct tl_dataset datasets[] = {
    {"page", TL_SIMPLE, "http,raw", "the answer, byte for byte"},
    {"text", TL_SIMPLE, "http,text", "readable text of a page, code removed"},
    {"links", TL_SIMPLE, "http,links", "links of a page: url, rel, text, source, position"},
    {"sitemaps", TL_SIMPLE, "http,sitemaps", "where the sitemaps of a line's site are, in the form of links"},
    {0}};

static bool lists(const struct tl_list *list, const char *word) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->item[i], word) == 0)
            return true;
    return false;
}

/* A glob with `*` (anything) and `?` (one byte); linear, since only the last star is ever gone back to. */
static bool matches(const char *glob, const char *text) {
    const char *star = NULL, *back = NULL;
    while (*text) {
        if (*glob == '*') {
            star = ++glob;
            back = text;
        } else if (*glob == '?' || *glob == *text) {
            glob++;
            text++;
        } else if (star) {
            glob = star;
            text = ++back;
        } else {
            return false;
        }
    }
    while (*glob == '*')
        glob++;
    return *glob == '\0';
}

static bool matches_any(const struct tl_list *globs, const char *url) {
    size_t len = globs->count ? strlen(url) : 0;
    for (size_t i = 0; i < globs->count; i++) {
        const char *glob = globs->item[i], *tail = glob + 1;
        size_t n = strlen(glob);
        if (*glob == '*' && !strpbrk(tail, "*?")) { /* most are endings */
            if (len >= n - 1 && memcmp(url + len - (n - 1), tail, n - 1) == 0)
                return true;
        } else if (matches(glob, url)) {
            return true;
        }
    }
    return false;
}

static int read_headers(struct tl_run *run, const struct args *a, struct tl_header **out) {
    struct tl_header *h = tl_alloc(run, (a->headers.count + 1) * sizeof *h);
    if (!h)
        return tl_fail(run, TL_FAILED, "too many headers");
    for (size_t i = 0; i < a->headers.count; i++) {
        const char *line = a->headers.item[i], *colon = strchr(line, ':');
        if (!colon)
            return tl_fail(run, TL_FAILED, "a header is written \"Name: value\", not \"%.60s\"", line);
        char *name = tl_alloc(run, (size_t)(colon - line) + 1);
        if (!name)
            return tl_fail(run, TL_FAILED, "too many headers");
        memcpy(name, line, (size_t)(colon - line));
        h[i] = (struct tl_header){name, colon + 1 + strspn(colon + 1, " \t"), NULL};
    }
    *out = h;
    return TL_OK;
}

static int keep_page(struct tl_run *run, const struct args *a, const struct tl_response *res) {
    struct tl_html page = TL_HTML_INIT;
    int html =
        lists(&a->keep, "text") || lists(&a->keep, "links") || a->follow ? tl_html(run, res, &page) : TL_NOTFOUND;
    int rc = TL_OK;
    if (html != TL_OK && html != TL_NOTFOUND)
        return html;
    if (lists(&a->keep, "page") || html == TL_NOTFOUND)
        rc = tl_put(run, "page", TL_ELEMENT(.from = res));
    if (html == TL_OK && !rc && lists(&a->keep, "text"))
        rc = tl_put(run, "text", TL_ELEMENT(.data = page.text, .media_type = "text/plain", .data_url = res->url));
    if (html == TL_OK && !rc && (lists(&a->keep, "links") || a->follow))
        rc = tl_put_links(run, "links", &page);
    return rc;
}

/* A sitemap that only might be there (`guess`) and is not, is no failure. */
static int keep_sitemap(struct tl_run *run, const struct args *a, const struct tl_response *res) {
    struct tl_html map = TL_HTML_INIT;
    int rc = lists(&a->keep, "page") ? tl_put(run, "page", TL_ELEMENT(.from = res)) : TL_OK;
    if (rc || res->status >= 400)
        return rc;
    rc = tl_sitemap(run, res, &map);
    if (rc == TL_FAILED && strcmp(a->read, "guess") == 0) {
        tl_reason(run);
        return TL_OK;
    }
    return rc ? rc : tl_put_links(run, "links", &map);
}

/* Where the sitemaps of the site are: robots.txt says it, else there may be one at the usual place. */
static int keep_sitemaps(struct tl_run *run, const char *url) {
    struct tl_list named;
    const char *usual = "";
    int rc = tl_sitemaps(run, url, &named);
    if (!rc && !named.count)
        rc = tl_url(run, url, "/sitemap.xml", &usual);
    if (rc)
        return rc;
    size_t count = named.count ? named.count : 1;
    struct tl_link *link = tl_alloc(run, count * sizeof *link);
    if (!link)
        return tl_fail(run, TL_FAILED, "too many sitemaps");
    for (size_t i = 0; i < count; i++)
        link[i] = (struct tl_link){named.count ? named.item[i] : usual, "", "", named.count ? "sitemap" : "guess",
                                   (int64_t)i};
    struct tl_html list = TL_HTML_INIT;
    list.link = link;
    list.link_count = count;
    return tl_put_links(run, "sitemaps", &list);
}

static int collect(void *self, struct tl_run *run, const void *arg) {
    const struct args *a = arg;
    struct tl_response res = TL_RESPONSE_INIT;
    struct tl_header *headers = NULL;
    bool page = strcmp(a->read, "page") == 0;
    bool begins =
        page && a->sitemaps && run->host->lineage(run)->depth == 1; /* the sitemaps are looked for from here */
    int rc = read_headers(run, a, &headers);
    (void)self;
    if (!rc)
        rc = tl_fetch(run,
                      TL_REQUEST(.url = a->url, .method = a->method, .headers = headers,
                                 .header_count = a->headers.count, .body = {a->body, a->body ? strlen(a->body) : 0},
                                 /* an earlier document need not have its lists */
                                 .revalidate = a->revalidate && page && !begins, .flags = a->cookies ? TL_COOKIES : 0),
                      &res);
    if (rc)
        return rc;
    if (res.not_modified)
        return TL_UNCHANGED; /* the earlier document stands, and is reacted to */
    if (res.status == 304)
        return tl_fail(run, TL_FAILED, "%s says that it is not modified, and was not asked", res.url);
    if (res.status >= 400 && strcmp(a->read, "guess") != 0) {
        if (res.body.len && (rc = tl_put(run, "page", TL_ELEMENT(.from = &res))))
            return rc;
        return tl_fail(run, TL_FAILED, "%s answered %d", res.url, res.status);
    }
    if ((rc = page ? keep_page(run, a, &res) : keep_sitemap(run, a, &res)))
        return rc;
    if (begins && (rc = keep_sitemaps(run, res.url)))
        return rc;
    return res.truncated ? tl_fail(run, TL_PARTIAL, "%s is longer than %lld bytes; the rest was not read", res.url,
                                   (long long)res.body.len)
                         : TL_OK;
}

/* Links without their fragment, http and https only, in the order of the page. */
static int follow(struct tl_run *run, const struct args *a, const struct tl_link *link) {
    const char *url = link->url, *hash = strchr(url, '#');
    if ((strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) || !lists(&a->types, link->source))
        return TL_OK;
    if (hash) {
        char *cut = tl_alloc(run, (size_t)(hash - url) + 1);
        if (!cut)
            return tl_fail(run, TL_FAILED, "too many links");
        memcpy(cut, url, (size_t)(hash - url));
        url = cut;
    }
    if ((a->allow.count && !matches_any(&a->allow, url)) || matches_any(&a->deny, url))
        return TL_OK;
    return tl_spawn(run, TL_CHILD(.flags = TL_SAME, TL_ARGS(TL_ARG_TEXT("url", url))));
}

/* What a sitemap lists: pages are children, sitemaps more of the same list. An index is no part of an index. */
static int follow_listed(struct tl_run *run, const struct args *a, const struct tl_link *link) {
    bool listed = strcmp(link->source, "url") == 0, guess = strcmp(link->source, "guess") == 0;
    const char *read = listed ? "page" : guess ? "guess" : strcmp(a->read, "page") == 0 ? "sitemap" : "part";
    if (listed && ((a->allow.count && !matches_any(&a->allow, link->url)) || matches_any(&a->deny, link->url)))
        return TL_OK;
    if (!listed && strcmp(a->read, "part") == 0)
        return TL_OK;
    return tl_spawn(run, TL_CHILD(.flags = TL_SAME | (listed ? 0 : TL_PAGE),
                                  TL_ARGS(TL_ARG_TEXT("url", link->url), TL_ARG_TEXT("read", read))));
}

static int react_to_list(struct tl_run *run, const struct args *a, const struct tl_document *doc, const char *dataset) {
    struct tl_element links = TL_ELEMENT_INIT;
    struct tl_link link;
    int rc = TL_OK;
    if (run->host->element(run, doc, dataset, 0, &links) != TL_OK)
        return TL_OK;
    for (size_t n = 0; !rc && (rc = run->host->link(run, doc, dataset, n, &link)) == TL_OK; n++)
        rc = follow_listed(run, a, &link);
    return rc == TL_NOTFOUND ? TL_OK : rc;
}

static int react(void *self, struct tl_run *run, const struct tl_document *doc, const void *arg) {
    const struct args *a = arg;
    struct tl_element links = TL_ELEMENT_INIT;
    struct tl_link link;
    int rc = TL_OK;
    (void)self;
    if (strcmp(a->read, "page") != 0)
        return react_to_list(run, a, doc, "links");
    if (a->sitemaps && (rc = react_to_list(run, a, doc, "sitemaps")))
        return rc;
    if (!a->follow || run->host->element(run, doc, "links", 0, &links) != TL_OK)
        return TL_OK; /* not a page */
    if (links.metadata && strstr(links.metadata, "\"nofollow\":true"))
        return TL_OK;
    for (size_t n = 0; !rc && (rc = run->host->link(run, doc, "links", n, &link)) == TL_OK; n++)
        rc = follow(run, a, &link);
    return rc == TL_NOTFOUND ? TL_OK : rc;
}

TL_COLLECTOR(.name = "http", .version = "1.0.0", .summary = "fetches a URL and follows its links",
             .arguments = arguments, .arguments_size = sizeof(struct args), .datasets = datasets, .collect = collect,
             .react = react);
