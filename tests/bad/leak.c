/* leak - takes 64 MiB after 64 MiB and writes to it, well-behaved otherwise: it gives way between the steps. */
#include <stdlib.h>
#include <trotline.h>

static int collect(void *self, struct tl_run *run, const void *given) {
    const size_t step = (size_t)64 << 20;
    (void)self, (void)given;
    for (;;) {
        volatile char *taken = malloc(step);
        for (size_t at = 0; taken && at < step; at += 4096)
            taken[at] = 1;
        int rc = taken ? tl_yield(run) : tl_sleep(run, 50);
        if (rc)
            return rc;
    }
}
TL_COLLECTOR(.name = "leak", .version = "1.0.0", .summary = "eats memory", .collect = collect);
