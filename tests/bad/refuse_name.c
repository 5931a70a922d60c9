/* refuse_name - a name that could not stand in a path. */
#include <trotline.h>

static int collect(void *self, struct tl_run *run, const void *given) {
    (void)self, (void)run, (void)given;
    return TL_OK;
}
TL_COLLECTOR(.name = "../Name\n", .version = "1.0.0", .collect = collect);
