/* late - is told to stop (TL_CANCEL) and does not listen. */
#include <trotline.h>

static int collect(void *self, struct tl_run *run, const void *given) {
    (void)self, (void)given;
    for (volatile bool go_on = true; go_on;)
        tl_sleep(run, 50);
    return TL_OK;
}
TL_COLLECTOR(.name = "late", .version = "1.0.0", .summary = "ignores TL_CANCEL", .collect = collect);
