/* greedy - collects a little and asks for far more than any leash allows: depth, fan-out, foreign hosts, and itself. */
#include <stdio.h>
#include <trotline.h>

static const char wish[] = "{\"depth\":999,\"hosts\":[\"*\"]}";
static const struct tl_dataset datasets[] = {{"greed", TL_SIMPLE, NULL, "how many children were asked for"}, {0}};
enum { CHILDREN = 500 };

static int collect(void *self, struct tl_run *run, const void *given) {
    static const char text[] = "500 children";
    (void)self, (void)given;
    int rc = tl_put(
        run, "greed",
        TL_ELEMENT(.data = {text, sizeof text - 1}, .media_type = "text/plain", .data_url = "https://greedy.example/"));
    if (rc)
        return rc;
    for (int i = 0; i < CHILDREN; i++) {
        char url[64];
        snprintf(url, sizeof url, "http://foreign-%d.example/", i);
        rc = tl_spawn(run, TL_CHILD(.collector = "http", TL_ARGS(TL_ARG_TEXT("url", url)), .leash_json = wish));
        if (rc)
            return rc;
    }
    return tl_spawn(run, TL_CHILD(.leash_json = wish));
}
TL_COLLECTOR(.name = "greedy", .version = "1.0.0", .summary = "asks for 500 children beyond its leash",
             .datasets = datasets, .collect = collect);
