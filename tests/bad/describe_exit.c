/* describe_exit - ends the process from its constructor. */
#include <stdlib.h>
#include <trotline.h>
#include <unistd.h>

__attribute__((constructor)) static void start(void) {
#ifdef __SANITIZE_ADDRESS__ /* at exit it would look for leaks, and end with a code of its own */
    _exit(0);
#else
    exit(0);
#endif
}
static int collect(void *self, struct tl_run *run, const void *given) {
    (void)self, (void)run, (void)given;
    return TL_OK;
}
TL_COLLECTOR(.name = "describe_exit", .version = "1.0.0", .summary = "exits in its constructor", .collect = collect);
