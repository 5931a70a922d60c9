/* fail.h - the reason of a failure, set once, at the line that detects it.
 *
 * Callers above only pass the status on. The text says what was attempted, on what, and why it failed, so that a person
 * can act on it. A NULL reason is allowed everywhere and drops the text. */
#ifndef TROTLINE_BASE_FAIL_H
#define TROTLINE_BASE_FAIL_H
#include "trotline.h"

struct fail {
    int status;     /* a negative TL_*, or 0 */
    int exit_code;  /* contracts: what the process should end with if nobody handles it; 0: not decided here */
    char text[800]; /* UTF-8, NUL-ended, no newline at the end */
};
#define FAIL_INIT                                                                                                      \
    { 0 }

/* Exit codes of trotline(1): what cron and scripts rely on. */
enum exit_code {
    EXIT_DONE = 0,
    EXIT_NEGATIVE = 1,   /* a negative answer: differences, check failed, lock lost */
    EXIT_USAGE = 2,      /* usage, or an unknown or ambiguous id */
    EXIT_CONFIG = 3,     /* configuration */
    EXIT_PLUGIN = 4,     /* a plugin could not be loaded */
    EXIT_LINE = 5,       /* a line's run failed, crashed, or was only partial */
    EXIT_ROOT = 6,       /* the root, or every line, failed or was refused */
    EXIT_TIMEOUT = 7,    /* --timeout reached */
    EXIT_LEASH = 8,      /* a leash reached and --fail-on leash given */
    EXIT_DISK = 9,       /* disk full, or the lake not writable */
    EXIT_RATE = 10,      /* rate-limited, resume later */
    EXIT_INTERRUPT = 11, /* interrupted, resumable */
    EXIT_LOCKED = 12,    /* another instance of this crawl holds the lock */
    EXIT_AUTH = 13,      /* credentials rejected */
    EXIT_DAMAGED = 14,   /* catalog or lake damaged */
    EXIT_INTERNAL = 70
};

/* Both return `status`, so that a failing function can end with `return fail_set(...)`. %m is not used: fail_errno
 * appends ": reason". */
TL_PRINTF(3, 4) int fail_set(struct fail *why, int status, const char *fmt, ...);
TL_PRINTF(4, 5) int fail_exit(struct fail *why, int status, int exit_code, const char *fmt, ...);
TL_PRINTF(3, 4)
int fail_errno(struct fail *why, int status, const char *fmt, ...); /* disk full and read-only set EXIT_DISK */
#endif
