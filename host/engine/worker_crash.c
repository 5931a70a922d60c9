/* worker_crash.c - last words: which signal, was it the stack, and a backtrace, left where the supervisor finds them.
 */
#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "engine/worker_inside.h"

static void on_crash(int sig, siginfo_t *info, void *context) {
    (void)context;
    void *frame[40];
    struct shared_slot *me = worker_self ? worker_self->me : NULL;
    if (me && atomic_load(&me->signal) == 0) {
        atomic_store(&me->signal, sig);
        if (sig == SIGSEGV && coroutine_overflowed(info->si_addr))
            atomic_store(&me->overflow, 1);
        int n = backtrace(frame, 40);
        backtrace_symbols_fd(frame, n, SHARED_TRACE_FD);
    }
    signal(sig, SIG_DFL);
    raise(sig);
}

void worker_crash_setup(struct worker *w) {
    (void)w;
    static _Alignas(16) char stack[128 * 1024];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&alternate, NULL);
    struct sigaction crash = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER},
                     ignore = {.sa_handler = SIG_IGN};
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS},
                     ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &crash, NULL);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        sigaction(ignored[i], &ignore, NULL); /* when to stop is the supervisor's word */
    void *frame[4];
    backtrace(frame, 4); /* loads what it needs now, not in the handler */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}
