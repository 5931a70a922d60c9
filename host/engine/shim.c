/* shim.c - see shim.h.
 *
 * The process is made by vfork: until it is the program, it lives in our memory while we stand still, so that starting
 * one costs the same however large we are, and nothing is loaded twice. Hence the rule for everything below become():
 * system calls alone, no memory from the heap, no return. */
#include "engine/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/confine.h"

static _Noreturn void report(const char *text) {
    ssize_t n = write(SHIM_REPORT_FD, text, strlen(text));
    _exit(n < 0 ? SHIM_FAILED + 1 : SHIM_FAILED);
}

/* Handlers of ours would run in our memory, and what we ignore the program would ignore, too. All are blocked still. */
static void clean_signals(void) {
    const struct sigaction normal = {.sa_handler = SIG_DFL};
    for (int i = 1; i < NSIG; i++)
        sigaction(i, &normal, NULL);
}

static bool take_ends(const int end[SHIM_ENDS]) {
    bool ok = true;
    for (int i = 0; i < SHIM_ENDS; i++) /* 3, which may be one of them, comes last */
        ok = ok && dup2(end[i], i) == i;
    closefrom(SHIM_ENDS);
    return ok && fcntl(SHIM_REPORT_FD, F_SETFD, FD_CLOEXEC) == 0;
}

static _Noreturn void become(const struct shim *s, pid_t parent) {
    sigset_t none;
    clean_signals();
    setsid();
    int moved = fchdir(s->folder) ? errno : 0; /* while it is open still */
    if (!take_ends(s->end))
        _exit(SHIM_FAILED);
    if (moved)
        report(strerrordesc_np(moved));
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before it could be told of */
        _exit(SHIM_FAILED);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (s->write_only && !confine_offline(s->write_only))
        report("this kernel has no system call filters (seccomp), so it cannot be kept off the network");
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(s->file, (char *const *)(uintptr_t)s->argv, (char *const *)(uintptr_t)s->env);
    report(strerrordesc_np(errno));
}

int shim_start(const struct shim *s, pid_t *pid) {
    sigset_t all, before;
    pid_t parent = getpid();
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    *pid = vfork();
    if (*pid == 0)
        become(s, parent);
    int failed = *pid < 0 ? errno : 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return failed;
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
