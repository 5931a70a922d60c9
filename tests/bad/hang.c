/* hang - sleeps in a system call for ever, so the whole worker stands still without using the CPU. */
#include <trotline.h>
#include <unistd.h>

static int collect(void *self, struct tl_run *run, const void *given) {
    (void)self, (void)run, (void)given;
    while (pause())
        ; /* a signal that is handled wakes it, and it goes on */
    return TL_OK;
}
TL_COLLECTOR(.name = "hang", .version = "1.0.0", .summary = "never comes back, asleep", .collect = collect);
