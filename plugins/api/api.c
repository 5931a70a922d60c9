/* api.c - asks an HTTP API as its description says (trotline-api(7)), page after page; each answer is kept as it came.
 *
 * A description is data: the host reads it from YAML and hands it over as JSON, argument `description`. What an answer
 * says decides only how far the list is followed, within the pages that the line allows. */
#include <stdio.h>
#include <string.h>

#include "api.h"

#define ARG(field) offsetof(struct api_args, field)
static const struct tl_option arguments[] = {
    {"base", TL_URL, 0, ARG(base), NULL, NULL, "where the API is; the description's when not given"},
    {"api", TL_TEXT, TL_REQUIRED, ARG(api), NULL, NULL, "name of its description; other arguments are as that says"},
    {"secret", TL_SECRET, 0, ARG(secret), NULL, NULL, "name of a secret, if the API wants one"},
    {"pages", TL_INT, 0, ARG(pages), NULL, NULL, "pages to ask for at the most, 1 to 1000; the description's"},
    {"follow", TL_BOOL, 0, ARG(follow), "false", NULL, "ask for what the items lead to"},
    {"token_url", TL_URL, 0, ARG(token_url), NULL, NULL, "of OAuth2: where tokens are; the description's"},
    {"with", TL_JSON, 0, ARG(with), NULL, NULL, "the arguments that its description names; put here by trotline"},
    {"description", TL_JSON, TL_HINT, ARG(description), NULL, NULL, "the description; put here by trotline"},
    {0}};
static const struct tl_dataset datasets[] = {
    {"answers", TL_PAGED, "api,raw", "the answers, byte for byte; metadata.api says how the list went on"}, {0}};

static int choice(const char *text, const char *const *words, int usual) {
    for (int i = 0; text && words[i]; i++)
        if (strcmp(text, words[i]) == 0)
            return i;
    return usual;
}

static int begin(struct api *a, struct tl_run *run, const struct api_args *args) {
    static const char *const answers[] = {"json", "xml", "text", NULL};
    static const char *const ways[] = {"none", "link", "next", "cursor", "page", "offset", NULL};
    struct tl_json v;
    a->run = run;
    a->args = args;
    if (!args->description || !args->base)
        return tl_fail(run, TL_FAILED, "there is no description of API %.64s: it runs from crawl files and by collect",
                       args->api);
    a->description = (struct tl_span){args->description, strlen(args->description)};
    a->with = args->with ? (struct tl_span){args->with, strlen(args->with)} : (struct tl_span){"{}", 2};
    if (run->host->json(run, a->description, "", &v) || v.type != TL_JSON_OBJECT)
        return tl_fail(run, TL_FAILED, "the description of API %.64s is no object", args->api);
    a->name = api_says(a, "/name") ? api_says(a, "/name") : args->api;
    a->answer = (enum api_answer)choice(api_says(a, "/answer"), answers, API_JSON);
    a->by = (enum api_paging)choice(api_says(a, "/pages/by"), ways, API_NONE);
    a->items = api_says(a, "/items");
    a->most = args->pages ? args->pages : api_number(a, "/pages/most");
    a->size = api_number(a, "/pages/size");
    a->cursor = api_says(a, "/pages/start");
    a->page = a->offset = api_number(a, "/pages/first");
    if (args->pages < 0 || a->most > API_PAGES_MAX)
        return tl_fail(run, TL_FAILED, "the argument `pages` is 1 to %d", API_PAGES_MAX);
    a->most = a->most < 1 ? 1 : a->most;
    return TL_OK;
}

static int put(struct api *a, const struct tl_response *res, const struct api_page *page) {
    char numbers[80], items[24] = "null", total[24] = "null";
    const char *next = api_next(a, page), *name = tl_json_quote(a->run, (struct tl_span){a->name, strlen(a->name)});
    struct api_text text = {.run = a->run};
    if (page->items >= 0)
        snprintf(items, sizeof items, "%lld", (long long)page->items);
    if (page->total >= 0)
        snprintf(total, sizeof total, "%lld", (long long)page->total);
    snprintf(numbers, sizeof numbers, ",\"items\":%s,\"total\":%s,\"ended\":", items, total);
    const char *const ended[] = {page->ended ? "\"" : "null", page->ended ? page->ended : "", page->ended ? "\"" : ""};
    const char *const parts[] = {"{\"api\":{\"name\":", name ? name : "null", numbers, ended[0], ended[1], ended[2],
                                 ",\"next\":",          next ? next : "null", "}}"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        api_add(&text, parts[i], strlen(parts[i]));
    const char *metadata = api_end(&text);
    int rc = metadata ? tl_put(a->run, "answers", TL_ELEMENT(.from = res, .metadata = metadata)) : TL_FAILED;
    if (!rc)
        a->done++;
    return rc;
}

/* What is no answer is kept, too: it is what the server said. With pages before it the run has something. */
static int give_up(struct api *a, const struct tl_response *res, int rc) {
    struct api_page page = {.items = -1, .total = -1, .ended = "failed"};
    bool something = a->done > 0;
    if (rc == TL_CANCEL || rc == TL_RETRY)
        return rc;
    if (res && res->body.len && put(a, res, &page))
        return TL_FAILED;
    return something ? TL_PARTIAL : rc;
}

static int one_page(struct api *a, struct api_page *page) {
    struct tl_response res = TL_RESPONSE_INIT;
    const char *url = a->next;
    int rc = url ? TL_OK : api_url(a, &url);
    if (rc)
        return give_up(a, NULL, rc);
    a->asked[a->done] = url;
    if ((rc = api_ask(a, url, &res)))
        return give_up(a, res.status ? &res : NULL, rc);
    if ((rc = api_read(a, &res, page)))
        return give_up(a, &res, rc);
    return page->again ? TL_OK : put(a, &res, page);
}

static int collect(void *self, struct tl_run *run, const void *arg) {
    struct api_page page = {0};
    struct api *a = tl_alloc(run, sizeof *a); /* too large for the stack */
    (void)self;
    if (!a)
        return TL_FAILED;
    memset(a, 0, sizeof *a);
    int rc = begin(a, run, arg);
    if (!rc)
        rc = api_continue(a);
    if (!rc)
        rc = api_token(a);
    while (!rc && !page.ended)
        rc = one_page(a, &page);
    if (!rc && page.broken)
        rc = tl_fail(run, TL_PARTIAL, "the list of %s ends after %zu pages, though there may be more: %s", a->name,
                     a->done,
                     strcmp(page.ended, "again") == 0 || strcmp(page.ended, "circle") == 0
                         ? "it leads to a page that was asked for before"
                         : page.ended);
    return api_keep(a, &page, rc);
}

/* ---- children ---- */

/* {/POINTER} and nothing else is the value itself; in a longer text it is encoded. TL_NOTFOUND: the item has none. */
static int add_argument(struct api *a, struct api_text *t, const struct tl_json *value, const struct tl_span *item) {
    struct tl_json found;
    const char *text = value->type == TL_JSON_STRING ? a->run->host->json_text(a->run, value) : NULL, *filled;
    size_t len = text ? strlen(text) : 0;
    if (!text) {
        api_add(t, value->raw.ptr, value->raw.len);
        return TL_OK;
    }
    if (len > 2 && len < 300 && text[0] == '{' && text[1] == '/' && strchr(text, '}') == text + len - 1) {
        char pointer[300];
        snprintf(pointer, sizeof pointer, "%.*s", (int)len - 2, text + 1);
        if (a->run->host->json(a->run, *item, pointer, &found) || found.type == TL_JSON_NULL)
            return TL_NOTFOUND;
        api_add(t, found.raw.ptr, found.raw.len);
        return TL_OK;
    }
    int rc = api_fill(a, text, API_IN_URL, item, &filled);
    const char *quoted = rc ? NULL : tl_json_quote(a->run, (struct tl_span){filled, strlen(filled)});
    if (quoted)
        api_add(t, quoted, strlen(quoted));
    return rc ? rc : quoted ? TL_OK : TL_FAILED;
}

static int spawn(struct api *a, const struct tl_span *item) {
    struct api_text t = {.run = a->run};
    struct tl_json args, leash, at = {0};
    const char *collector = api_says(a, "/children/collector"), *limits = NULL;
    if (a->run->host->json(a->run, a->description, "/children/args", &args) || args.type != TL_JSON_OBJECT)
        return TL_OK;
    api_add(&t, "{", 1);
    while (a->run->host->json_next(a->run, &args, &at) == TL_OK) {
        api_add(&t, t.len > 1 ? "," : "", t.len > 1);
        api_add(&t, at.key.ptr, at.key.len);
        api_add(&t, ":", 1);
        int rc = add_argument(a, &t, &at, item);
        if (rc)
            return rc == TL_NOTFOUND ? TL_OK : rc; /* an item that leads nowhere */
    }
    api_add(&t, "}", 1);
    const char *json = api_end(&t);
    if (!json)
        return TL_FAILED;
    if (a->run->host->json(a->run, a->description, "/children/leash", &leash) == TL_OK) {
        struct api_text l = {.run = a->run};
        api_add(&l, leash.raw.ptr, leash.raw.len);
        limits = api_end(&l);
    }
    return tl_spawn(a->run, TL_CHILD(.collector = collector, .args_json = json, .leash_json = limits));
}

static int spawn_items(struct api *a, struct tl_span answer) {
    struct tl_json list, item = {0};
    int rc = TL_OK;
    if (!a->items || a->run->host->json(a->run, answer, a->items, &list))
        return TL_OK;
    for (int n = 0; !rc && (rc = a->run->host->json_next(a->run, &list, &item)) == TL_OK; n++) {
        rc = n % 1000 == 999 ? tl_yield(a->run) : TL_OK;
        if (rc || (rc = spawn(a, &item.raw)) == TL_OK || rc == TL_CANCEL)
            continue;
        const char *why = tl_reason(a->run); /* what one item says costs no other one its run */
        if (!a->lost++)
            tl_log(a->run, TL_WARN, "an item of %s leads to no run: %.300s", a->name,
                   why ? why : "it cannot be asked for");
        rc = TL_OK;
    }
    return rc == TL_NOTFOUND ? TL_OK : rc;
}

static int react(void *self, struct tl_run *run, const struct tl_document *doc, const void *arg) {
    const struct api_args *args = arg;
    struct tl_element e = TL_ELEMENT_INIT;
    int rc = TL_OK;
    (void)self;
    if (!args->follow)
        return TL_OK;
    struct api *a = tl_alloc(run, sizeof *a);
    if (!a)
        return TL_FAILED;
    memset(a, 0, sizeof *a);
    rc = begin(a, run, args);
    if (rc || a->answer != API_JSON || !api_says(a, "/children/collector"))
        return rc;
    for (size_t n = 0; !rc && run->host->element(run, doc, "answers", n, &e) == TL_OK; n++)
        rc = spawn_items(a, e.data);
    return rc;
}

TL_COLLECTOR(.name = "api", .version = "1.0.0", .summary = "asks an HTTP API as a description says, page after page",
             .arguments = arguments, .arguments_size = sizeof(struct api_args), .datasets = datasets,
             .collect = collect, .react = react);
