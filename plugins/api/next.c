/* next.c - where a list goes on: told with each page, and with `continue` kept for the next crawl.
 *
 * Invariant: what is kept is where the first page lies that is in no document; a list that ended leaves nothing. */
#include <stdio.h>
#include <string.h>

#include "api.h"

enum { NEXT_MAX = 8 * 1024 };

static const char *number(struct api *a, const char *name, int64_t n) {
    char *text = tl_alloc(a->run, 48);
    if (text)
        snprintf(text, 48, "{\"%s\":%lld}", name, (long long)n);
    return text;
}

static const char *quoted(struct api *a, const char *name, const char *value) {
    struct api_text t = {.run = a->run};
    size_t len = value ? strlen(value) : 0;
    const char *quote = len && len <= NEXT_MAX ? tl_json_quote(a->run, (struct tl_span){value, len}) : NULL;
    if (!quote)
        return NULL;
    api_add(&t, "{\"", 2);
    api_add(&t, name, strlen(name));
    api_add(&t, "\":", 2);
    api_add(&t, quote, strlen(quote));
    api_add(&t, "}", 1);
    return api_end(&t);
}

const char *api_next(struct api *a, const struct api_page *page) {
    static const char *const cuts[] = {"pages", "failed", API_TOO_LARGE};
    bool more = !page->ended;
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts && !more; i++)
        more = strcmp(page->ended, cuts[i]) == 0;
    if (!more)
        return NULL;
    switch (a->by) {
    case API_LINK:
    case API_NEXT:
        return quoted(a, "url", a->next);
    case API_CURSOR:
        return quoted(a, "cursor", a->cursor);
    case API_PAGE:
        return number(a, "page", a->page);
    case API_OFFSET:
        return number(a, "offset", a->offset);
    case API_NONE:
        break;
    }
    return NULL;
}

/* ---- from crawl to crawl ---- */

/* Of this question: what else is asked goes on elsewhere. */
static const char *key_of(struct api *a) {
    const char *parts[] = {a->args->base, a->args->with ? a->args->with : ""};
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    char *key = tl_alloc(a->run, 100);
    for (size_t i = 0; i < 2; i++)
        for (const char *c = parts[i];; c++) { /* its NUL, too */
            h = (h ^ (unsigned char)*c) * 1099511628211u;
            if (!*c)
                break;
        }
    if (key)
        snprintf(key, 100, "next:%.64s:%016llx", a->name, (unsigned long long)h);
    return key;
}

/* A text that was kept; what does not fit the way that the list goes is as good as nothing. */
static void stand_at(struct api *a, struct tl_span json) {
    static const char *const pointers[] = {[API_LINK] = "/url",
                                           [API_NEXT] = "/url",
                                           [API_CURSOR] = "/cursor",
                                           [API_PAGE] = "/page",
                                           [API_OFFSET] = "/offset"};
    const char *text = a->by == API_NONE ? NULL : tl_json_get(a->run, json, pointers[a->by]);
    int64_t n = text ? api_whole(text) : -1;
    if (!text || !*text)
        return;
    a->continued = true;
    if (a->by == API_CURSOR)
        a->cursor = text;
    else if (a->by == API_PAGE && n >= 0)
        a->page = n;
    else if (a->by == API_OFFSET && n >= 0)
        a->offset = n;
    else if ((a->by == API_LINK || a->by == API_NEXT) && api_same_origin(text, a->args->base))
        a->next = text;
    else
        a->continued = false;
}

int api_continue(struct api *a) {
    struct tl_span kept = {0};
    const char *says = api_says(a, "/pages/continue");
    if (!says || strcmp(says, "true") != 0)
        return TL_OK;
    a->key = key_of(a);
    if (!a->key)
        return TL_FAILED;
    int rc = tl_state_get(a->run, a->key, &kept);
    if (rc == TL_OK && kept.len)
        stand_at(a, kept);
    return rc == TL_NOTFOUND || rc == TL_UNSUPPORTED ? TL_OK : rc;
}

/* rc: how the run ends. What is gone where it was to go on is given up, or no crawl would ever begin anew. */
int api_keep(struct api *a, const struct api_page *page, int rc) {
    bool gone = a->continued && a->gone && !a->read;
    if (!a->key || (rc != TL_OK && rc != TL_PARTIAL && !gone))
        return rc;
    const char *next = gone ? NULL : api_next(a, page);
    int kept = tl_state_put(a->run, a->key, (struct tl_span){next ? next : "{}", next ? strlen(next) : 2});
    return kept ? kept : gone ? TL_PARTIAL : rc;
}
