/* crash - writes through a null pointer while it collects. */
#include <trotline.h>

static int collect(void *self, struct tl_run *run, const void *given) {
    volatile int *volatile nowhere = NULL;
    (void)self, (void)run, (void)given;
    *nowhere = 1;
    return TL_OK;
}
TL_COLLECTOR(.name = "crash", .version = "1.0.0", .summary = "dies of SIGSEGV", .collect = collect);
