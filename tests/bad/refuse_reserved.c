/* refuse_reserved - calls itself like the built-in collector. */
#include <trotline.h>

static int collect(void *self, struct tl_run *run, const void *given) {
    (void)self, (void)run, (void)given;
    return TL_OK;
}
TL_COLLECTOR(.name = "orchestrator", .version = "1.0.0", .collect = collect);
