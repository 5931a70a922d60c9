/* refuse_default - a default that its own type refuses. */
#include <stddef.h>
#include <trotline.h>

struct args {
    int64_t wait;
};
static const struct tl_option arguments[] = {{"wait", TL_MILLIS, 0, offsetof(struct args, wait), "soon", NULL, NULL},
                                             {0}};

static int collect(void *self, struct tl_run *run, const void *given) {
    (void)self, (void)run, (void)given;
    return TL_OK;
}
TL_COLLECTOR(.name = "refuse_default", .version = "1.0.0", .arguments = arguments,
             .arguments_size = sizeof(struct args), .collect = collect);
