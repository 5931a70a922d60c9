/* describe_spin - never comes back from its constructor, so it cannot be described. */
#include <trotline.h>

__attribute__((constructor)) static void start(void) {
    volatile uint64_t turns = 0;
    for (;;)
        turns++;
}
static int collect(void *self, struct tl_run *run, const void *given) {
    (void)self, (void)run, (void)given;
    return TL_OK;
}
TL_COLLECTOR(.name = "describe_spin", .version = "1.0.0", .summary = "spins in its constructor", .collect = collect);
