/* spin - keeps the CPU for ever and never gives way to other runs. */
#include <trotline.h>

static int collect(void *self, struct tl_run *run, const void *given) {
    volatile uint64_t turns = 1;
    (void)self, (void)run, (void)given;
    while (turns)
        turns += 2;
    return TL_OK;
}
TL_COLLECTOR(.name = "spin", .version = "1.0.0", .summary = "never comes back, at full speed", .collect = collect);
