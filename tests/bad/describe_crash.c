/* describe_crash - dies in its constructor, after printing what nobody asked for. */
#include <stdio.h>
#include <trotline.h>

__attribute__((constructor)) static void start(void) {
    volatile int *volatile nowhere = NULL;
    puts("{\"name\":\"forged\"}");
    fflush(stdout);
    *nowhere = 1;
}
static int collect(void *self, struct tl_run *run, const void *given) {
    (void)self, (void)run, (void)given;
    return TL_OK;
}
TL_COLLECTOR(.name = "describe_crash", .version = "1.0.0", .summary = "crashes in its constructor", .collect = collect);
