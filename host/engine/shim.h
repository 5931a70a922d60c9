/* shim.h - our hand on a program: what has to be done in the new process, before it becomes the program.
 *
 * shim_start makes a process in a session of its own, with a clean signal state and no descriptors but those it is
 * given; it dies with us and gains no privileges; offline: it has no network, and writes below a folder only. Where
 * that cannot be had, it does not become the program: the reason goes to SHIM_REPORT_FD, which closes by itself when
 * all is well. Only for a process of one thread.
 *
 * `trotline --exec-guard` reads process groups from its input, each an int32_t, negative when it is no more, and kills
 * those that are left when its input ends: with its parent, however that died. A program's own death leaves its
 * children; this does not. */
#ifndef TROTLINE_ENGINE_SHIM_H
#define TROTLINE_ENGINE_SHIM_H
#include <stdbool.h>
#include <sys/types.h>

enum { SHIM_REPORT_FD = 3, SHIM_ENDS = 4, SHIM_FAILED = 127 };
#define SHIM_GUARD_ARGUMENT "--exec-guard"

struct shim {
    const char *file, *const *argv, *const *env;
    int folder;             /* where it starts */
    int end[SHIM_ENDS];     /* what become its descriptors 0, 1, 2 and SHIM_REPORT_FD; all above 2 */
    const char *write_only; /* NULL; else it is offline, and this is the folder */
};
int shim_start(const struct shim *s, pid_t *pid); /* 0, or an errno */
int shim_guard_main(void);
#endif
