/* noop - one tiny dataset and nothing else: what a run costs when its collector costs nothing. */
#include <stddef.h>
#include <trotline.h>

struct args {
    int64_t n, children;
};
static const struct tl_option arguments[] = {{"n", TL_INT, 0, offsetof(struct args, n), "0", NULL, "tells runs apart"},
                                             {"children", TL_INT, 0, offsetof(struct args, children), "0", NULL,
                                              "put out so many runs, each with an n of its own"},
                                             {0}};
static const struct tl_dataset datasets[] = {{"nothing", TL_SIMPLE, NULL, "two bytes"}, {0}};

static int collect(void *self, struct tl_run *run, const void *given) {
    const struct args *a = given;
    (void)self;
    int rc = tl_put(run, "nothing", TL_ELEMENT(.data = {"{}", 2}, .media_type = "application/json"));
    for (int64_t i = 1; !rc && i <= a->children; i++)
        rc = tl_spawn(run, TL_CHILD(TL_ARGS(TL_ARG_INT("n", a->n + i))));
    return rc;
}
TL_COLLECTOR(.name = "noop", .version = "1.0.0", .summary = "does nothing, and may put out runs that do nothing",
             .arguments = arguments, .arguments_size = sizeof(struct args), .datasets = datasets, .collect = collect);
