/* refuse_entry - a shared object that is no collector. */
#include <trotline.h>

TL_EXPORT int some_function(void);
int some_function(void) {
    return 7;
}
