/* releases.c - the source of x86_64/releases-1.N.so, each of which was compiled against <trotline.h> 1.N and is never compiled again:
 * that it still loads and gives the same document is the promise of the ABI. */
#include <trotline.h>

struct args {
    const char *url;
    int64_t max_pages;
};
static const struct tl_option arguments[] = {{"url", TL_URL, TL_REQUIRED, offsetof(struct args, url), NULL, NULL, "first page"},
                                             {"max_pages", TL_INT, 0, offsetof(struct args, max_pages), "5", NULL, "at most"},
                                             {0}};
static const struct tl_dataset datasets[] = {{"pages", TL_PAGED, "api", "pages as they came"}, {0}};

static int collect(void *self, struct tl_run *run, const void *arg) {
    const struct args *a = arg;
    const char *url = a->url;
    (void)self;
    for (int64_t n = 0; url && n < a->max_pages; n++) {
        struct tl_response res = TL_RESPONSE_INIT;
        int rc = tl_fetch(run, TL_REQUEST(.url = url, .kind = TL_API_REQUEST), &res);
        if (rc || (rc = tl_put(run, "pages", TL_ELEMENT(.from = &res))))
            return rc;
        url = tl_json_get(run, res.body, "/next");
    }
    return TL_OK;
}

static int react(void *self, struct tl_run *run, const struct tl_document *doc, const void *arg) {
    struct tl_element e = TL_ELEMENT_INIT;
    int rc = TL_OK;
    (void)self, (void)arg;
    for (size_t n = 0; !rc && run->host->element(run, doc, "pages", n, &e) == TL_OK; n++)
        rc = tl_spawn(run, TL_CHILD(.collector = "http", TL_ARGS(TL_ARG_TEXT("url", e.data_url))));
    return rc;
}

TL_COLLECTOR(.name = "releases", .version = "1.0.0", .summary = "compiled against 1.0", .arguments = arguments, .arguments_size = sizeof(struct args), .datasets = datasets,
             .collect = collect, .react = react);
