/* refuse_abi - built for a plugin interface that does not exist yet. */
#include <trotline.h>

static int collect(void *self, struct tl_run *run, const void *given) {
    (void)self, (void)run, (void)given;
    return TL_OK;
}

TL_C TL_EXPORT const struct tl_collector *trotline_collector_v1(void);
const struct tl_collector *trotline_collector_v1(void) {
    static const struct tl_collector c = {.struct_size = sizeof c,
                                          .abi_major = 7,
                                          .abi_minor = 3,
                                          .name = "refuse_abi",
                                          .version = "1.0.0",
                                          .collect = collect};
    return &c;
}
