/* refuse_size - a description so short that it has no name. */
#include <trotline.h>

TL_EXPORT const struct tl_collector *trotline_collector_v1(void);
const struct tl_collector *trotline_collector_v1(void) {
    static const uint32_t c[4] = {sizeof c, TL_ABI_MAJOR, TL_ABI_MINOR, 0};
    return (const struct tl_collector *)(const void *)c;
}
