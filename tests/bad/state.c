/* state - counts its successful runs in the state that lasts from crawl to crawl; with fail it counts and then fails,
 * so the count must stay where it was. */
#include <stddef.h>
#include <stdio.h>
#include <trotline.h>

struct args {
    const char *key;
    bool fail;
};
static const struct tl_option arguments[] = {
    {"key", TL_TEXT, 0, offsetof(struct args, key), "count", NULL, "where the count is kept"},
    {"fail", TL_BOOL, 0, offsetof(struct args, fail), "false", NULL, "fail after counting"},
    {0}};
static const struct tl_dataset datasets[] = {
    {"count", TL_SIMPLE, NULL, "how many runs have succeeded, this one included"}, {0}};

static int collect(void *self, struct tl_run *run, const void *given) {
    const struct args *a = given;
    struct tl_span before;
    uint64_t n = 0;
    char text[64];
    (void)self;
    int rc = tl_state_get(run, a->key, &before);
    if (rc && rc != TL_NOTFOUND)
        return rc;
    for (size_t i = 0; !rc && i < before.len && before.ptr[i] >= '0' && before.ptr[i] <= '9'; i++)
        n = n * 10 + (uint64_t)(before.ptr[i] - '0');
    struct tl_span after = {text, (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)n + 1)};
    if ((rc = tl_state_put(run, a->key, after)))
        return rc;
    if (a->fail)
        return tl_fail(run, TL_FAILED, "counted to %s, and failed", text);
    return tl_put(run, "count", TL_ELEMENT(.data = after, .media_type = "application/json"));
}
TL_COLLECTOR(.name = "state", .version = "1.0.0", .summary = "counts its runs", .arguments = arguments,
             .arguments_size = sizeof(struct args), .datasets = datasets, .collect = collect);
