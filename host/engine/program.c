/* program.c - see program.h. */
#include "engine/program.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

static char path[PATH_MAX] = "/proc/self/exe";
static char *environment[10];

void program_setup(void) {
    static const char *const passed[] = {"ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "LD_PRELOAD",
                                         "TROTLINE_FAULT"};
    char found[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", found, sizeof found - 1);
    if (n > 0) {
        found[n] = '\0';
        snprintf(path, sizeof path, "%s", found);
    }
    size_t count = 0;
    environment[count++] = mem_text("LC_ALL=C.UTF-8");
    environment[count++] = mem_text("TZ=UTC");
    for (size_t i = 0; i < COUNT_OF(passed); i++) {
        const char *value = getenv(passed[i]);
        if (!value)
            continue;
        size_t room = strlen(passed[i]) + strlen(value) + 2;
        char *entry = mem_alloc(room);
        snprintf(entry, room, "%s=%s", passed[i], value);
        environment[count++] = entry;
    }
}

const char *program_path(void) {
    return path;
}

char *const *program_environment(void) {
    return environment;
}
