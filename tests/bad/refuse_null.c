/* refuse_null - has an entry that gives nothing. */
#include <trotline.h>

TL_EXPORT const struct tl_collector *trotline_collector_v1(void);
const struct tl_collector *trotline_collector_v1(void) {
    return NULL;
}
