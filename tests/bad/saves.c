/* saves - fetches one URL after another into attachments, as a collector of large files does; what cannot be had ends
 * it. */
#include <stddef.h>
#include <stdio.h>
#include <trotline.h>

struct args {
    struct tl_list url;
    bool go_on;
};
static const struct tl_option arguments[] = {
    {"url", TL_URL, TL_LIST | TL_REQUIRED, offsetof(struct args, url), NULL, NULL, "what to fetch, in this order"},
    {"go_on", TL_BOOL, 0, offsetof(struct args, go_on), "false", NULL, "whatever becomes of one, keep the others"},
    {0}};
static const struct tl_dataset datasets[] = {{"files", TL_PAGED, NULL, "one page a file"}, {0}};

static int collect(void *self, struct tl_run *run, const void *given) {
    const struct args *a = given;
    int missing = 0;
    (void)self;
    for (size_t i = 0; i < a->url.count; i++) {
        struct tl_response res = TL_RESPONSE_INIT;
        char name[40];
        snprintf(name, sizeof name, "file-%zu", i);
        int rc = tl_fetch(run, TL_REQUEST(.url = a->url.item[i], .attach = name), &res);
        if (rc == TL_OK)
            rc = tl_put(run, "files", TL_ELEMENT(.from = &res));
        if (rc != TL_OK && !a->go_on)
            return rc;
        missing += rc != TL_OK || res.truncated;
    }
    return missing ? tl_fail(run, TL_PARTIAL, "%d files are not whole", missing) : TL_OK;
}
TL_COLLECTOR(.name = "saves", .version = "1.0.0", .summary = "fetches into attachments", .arguments = arguments,
             .arguments_size = sizeof(struct args), .datasets = datasets, .collect = collect);
