/* shim.c - see shim.h. Nothing of ours is left in the process but what the kernel keeps: descriptors, limits, the
 * filter. */
#include "engine/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/confine.h"

enum { MODE = 2, PARENT, FOLDER, PROGRAM, ARGUMENTS };

static int report(const char *text) {
    ssize_t n = write(SHIM_REPORT_FD, text, strlen(text));
    return n < 0 ? SHIM_FAILED + 1 : SHIM_FAILED;
}

int shim_main(int argc, char **argv) {
    if (argc <= ARGUMENTS || fcntl(SHIM_REPORT_FD, F_SETFD, FD_CLOEXEC))
        return SHIM_FAILED;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != (pid_t)strtol(argv[PARENT], NULL, 10)) /* it died before it could be told of */
        return SHIM_FAILED;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (strcmp(argv[MODE], SHIM_OFFLINE) == 0 && !confine_offline(argv[FOLDER]))
        return report("this kernel has no system call filters (seccomp), so it cannot be kept off the network");
    execve(argv[PROGRAM], argv + ARGUMENTS, environ);
    return report(strerrordesc_np(errno));
}

static void mind(int32_t **group, size_t *count, size_t *room, int32_t what) {
    if (what > 0) {
        MEM_GROW(*group, *count, *room);
        (*group)[(*count)++] = what;
        return;
    }
    for (size_t i = 0; i < *count; i++)
        if ((*group)[i] == -what)
            (*group)[i--] = (*group)[--*count];
}

int shim_guard_main(void) {
    int32_t *group = NULL, what[64];
    size_t count = 0, room = 0;
    ssize_t n;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all,
                NULL); /* who kills the group of the terminal means the parent, and this waits for its end */
    while ((n = read(STDIN_FILENO, what, sizeof what)) != 0) {
        if (n < 0 && errno != EINTR)
            break;
        for (ssize_t i = 0; i < n / (ssize_t)sizeof *what; i++)
            mind(&group, &count, &room, what[i]);
    }
    for (size_t i = 0; i < count; i++)
        kill(-group[i], SIGKILL);
    free(group);
    return 0;
}
