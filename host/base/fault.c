/* fault.c - see fault.h. */
#include "base/fault.h"

#ifdef TROTLINE_FAULTS
#include <signal.h>
#include <stdlib.h>
#include <string.h>

void fault_point(const char *name) {
    static const char *wanted;
    static long left;
    if (!wanted) {
        wanted = getenv("TROTLINE_FAULT");
        const char *colon = wanted ? strrchr(wanted, ':') : NULL;
        left = colon ? strtol(colon + 1, NULL, 10) : 1;
        if (!wanted)
            wanted = "";
    }
    size_t len = strlen(name);
    if (strncmp(wanted, name, len) == 0 && (wanted[len] == ':' || wanted[len] == '\0') && --left == 0)
        raise(SIGKILL);
}
#else
typedef int fault_is_compiled_out; /* an empty file is no C */
#endif
