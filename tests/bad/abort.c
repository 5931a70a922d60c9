/* abort - calls abort() while it collects. */
#include <stdlib.h>
#include <trotline.h>

static int collect(void *self, struct tl_run *run, const void *given) {
    (void)self, (void)run, (void)given;
    abort();
}
TL_COLLECTOR(.name = "abort", .version = "1.0.0", .summary = "dies of SIGABRT", .collect = collect);
