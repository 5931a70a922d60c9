/* deep - calls itself until its stack is used up: the guard page must stop it, not the neighbour's stack. */
#include <trotline.h>

static volatile uint64_t levels = UINT64_MAX; /* the compiler must not know that this never ends */

static uint64_t __attribute__((noinline)) down(uint64_t level) {
    volatile char room[512];
    for (size_t i = 0; i < sizeof room; i += 64)
        room[i] = (char)level;
    if (level >= levels)
        return (uint64_t)room[level % sizeof room];
    return down(level + 1) + (uint64_t)room[level % sizeof room];
}

static int collect(void *self, struct tl_run *run, const void *given) {
    (void)self, (void)run, (void)given;
    return down(1) ? TL_OK : TL_FAILED;
}
TL_COLLECTOR(.name = "deep", .version = "1.0.0", .summary = "overflows its stack", .collect = collect);
