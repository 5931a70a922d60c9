/* retry - asks for another attempt, every time. */
#include <stddef.h>
#include <trotline.h>

struct args {
    bool always;
};
static const struct tl_option arguments[] = {
    {"always", TL_BOOL, 0, offsetof(struct args, always), "true", NULL, "false: succeed at once"}, {0}};
static const struct tl_dataset datasets[] = {{"text", TL_SIMPLE, NULL, "a few words"}, {0}};

static int collect(void *self, struct tl_run *run, const void *given) {
    static const char text[] = "at last";
    const struct args *a = given;
    (void)self;
    if (a->always)
        return tl_fail(run, TL_RETRY, "not now, as always");
    return tl_put(run, "text", TL_ELEMENT(.data = {text, sizeof text - 1}, .media_type = "text/plain"));
}
TL_COLLECTOR(.name = "retry", .version = "1.0.0", .summary = "wants to be tried again, every time",
             .arguments = arguments, .arguments_size = sizeof(struct args), .datasets = datasets, .collect = collect);
