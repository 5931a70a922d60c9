/* NAME.c - a collector for trotline: every page of a list that a JSON API gives, and its authors as children.
 *
 * Build it with `make`, test it with `trotline check ./NAME.so`. Everything that a collector may call stands in <trotline.h>. */
#include <string.h>
#include <trotline.h>

/* ---- arguments: what one run is asked for. Declared once: the host parses, checks, fills in defaults and documents them. */
struct args {
    const char *url;             /* text and URLs: const char * */
    int64_t max_pages;           /* numbers, sizes and times: int64_t */
    const struct tl_secret *token; /* a secret: a handle that only the host can look into */
};
static const struct tl_option arguments[] = {
    {"url", TL_URL, TL_REQUIRED, offsetof(struct args, url), NULL, NULL, "first page of the list"},
    {"max_pages", TL_INT, 0, offsetof(struct args, max_pages), "10", NULL, "stop after so many pages"},
    {"token", TL_SECRET, 0, offsetof(struct args, token), NULL, NULL, "name of the secret that is sent, if any"},
    {0}};

/* ---- datasets: what a run's document holds. SIMPLE one value, PAGED a page each, KEY_VALUE a pair each. */
static const struct tl_dataset datasets[] = {{"pages", TL_PAGED, "api,raw", "the pages as the API gave them"}, {0}};

/* collect fetches and puts. It reads like a plain loop: while tl_fetch waits, other runs go on. When a call fails, its reason is
 * recorded already, so `return rc` is always right. */
static int collect(void *self, struct tl_run *run, const void *arg) {
    const struct args *a = arg;
    const char *url = a->url;
    (void)self; /* what open() made; this collector keeps nothing between runs */
    for (int64_t page = 1; url && page <= a->max_pages; page++) {
        struct tl_response res = TL_RESPONSE_INIT;
        const struct tl_header auth[] = {{"Authorization", "Bearer ", a->token}};
        int rc = tl_fetch(run, TL_REQUEST(.url = url, .kind = TL_API_REQUEST, .headers = auth, .header_count = a->token ? 1 : 0), &res);
        if (rc)
            return rc;
        if (res.status != 200) /* an answer all the same: what it means is for the collector to say */
            return tl_fail(run, page > 1 ? TL_PARTIAL : TL_FAILED, "page %d answered %d", (int)page, res.status);
        if ((rc = tl_put(run, "pages", TL_ELEMENT(.from = &res)))) /* the bytes as they came, with their URL and headers */
            return rc;
        const char *next = tl_json_get(run, res.body, "/next"); /* a JSON pointer; NULL when there is none */
        if (next && strcmp(next, url) == 0)
            break; /* a list that leads to itself */
        url = next;
    }
    return TL_OK;
}

/* react reads the finished document and asks for more runs. It can only ask: the leash is the host's. */
static int react(void *self, struct tl_run *run, const struct tl_document *doc, const void *arg) {
    struct tl_element page = TL_ELEMENT_INIT;
    (void)self, (void)arg;
    for (size_t n = 0; run->host->element(run, doc, "pages", n, &page) == TL_OK; n++) {
        struct tl_json items, item = {0};
        if (run->host->json(run, page.data, "/items", &items) != TL_OK)
            continue;
        while (run->host->json_next(run, &items, &item) == TL_OK) {
            const char *author = tl_json_get(run, item.raw, "/author_url");
            int rc = author ? tl_spawn(run, TL_CHILD(.collector = "http", TL_ARGS(TL_ARG_TEXT("url", author)))) : TL_OK;
            if (rc)
                return rc;
        }
    }
    return TL_OK;
}

TL_COLLECTOR(.name = "NAME", .version = "0.1.0", .summary = "pages of a JSON list, and their authors", .arguments = arguments,
             .arguments_size = sizeof(struct args), .datasets = datasets, .collect = collect, .react = react);
