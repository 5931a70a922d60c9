/* shim.h - trotline as the parent's hand on a program: what has to be done in the new process, before it becomes the
 * program.
 *
 * `trotline --exec-shim MODE PARENT FOLDER FILE ARG...` becomes FILE with the arguments ARG..., after it has seen to it
 * that it dies with PARENT and gains no privileges; MODE "offline": and that it has no network, and writes below FOLDER
 * only. When that cannot be had, it does not start: the reason goes to SHIM_REPORT_FD, which closes by itself when all
 * is well.
 *
 * `trotline --exec-guard` reads process groups from its input, each an int32_t, negative when it is no more, and kills
 * those that are left when its input ends: with its parent, however that died. A program's own death leaves its
 * children; this does not. */
#ifndef TROTLINE_ENGINE_SHIM_H
#define TROTLINE_ENGINE_SHIM_H

enum { SHIM_REPORT_FD = 3, SHIM_FAILED = 127 };
#define SHIM_ARGUMENT       "--exec-shim"
#define SHIM_GUARD_ARGUMENT "--exec-guard"
#define SHIM_OFFLINE        "offline"
#define SHIM_ONLINE         "online"

int shim_main(int argc, char **argv); /* returns only when it failed: the exit code */
int shim_guard_main(void);
#endif
