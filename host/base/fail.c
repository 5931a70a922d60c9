/* fail.c - see fail.h. */
#include "base/fail.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void vset(struct fail *why, int status, int exit_code, const char *fmt, va_list ap) {
    if (!why)
        return;
    why->status = status;
    why->exit_code = exit_code;
    vsnprintf(why->text, sizeof why->text, fmt, ap);
}

int fail_set(struct fail *why, int status, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vset(why, status, 0, fmt, ap);
    va_end(ap);
    return status;
}

int fail_exit(struct fail *why, int status, int exit_code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vset(why, status, exit_code, fmt, ap);
    va_end(ap);
    return status;
}

int fail_errno(struct fail *why, int status, const char *fmt, ...) {
    int error = errno;
    bool disk = error == ENOSPC || error == EDQUOT || error == EROFS;
    va_list ap;
    va_start(ap, fmt);
    vset(why, status, disk ? EXIT_DISK : 0, fmt, ap);
    va_end(ap);
    if (why) {
        char text[128];
        size_t at = strlen(why->text);
        snprintf(why->text + at, sizeof why->text - at, ": %s", strerror_r(error, text, sizeof text));
    }
    errno = error;
    return status;
}
