/* plain_programs.c - see plain_programs.h. */
#include "engine/plain_programs.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/times.h"
#include "engine/super_inside.h"

enum { FDS = 64, TURN_MS = 100 /* the longest until its deadlines are looked at */ };

/* ---- in the helper */

/* A supervisor of a single run, as far as programs are concerned. */
struct helper {
    struct super super;
    struct config config;
    struct config_collector own;
    struct super_collector collector;
    struct super_worker worker;
    struct super_job *job;
};

static void obey(struct helper *h, const char *packet, size_t len) {
    struct message m;
    if (!message_open(&m, packet, len))
        return;
    message_get_i64(&m); /* there is one run */
    if (m.type == MESSAGE_EXEC)
        super_exec_start(&h->super, &h->worker, h->job, &m);
    else if (m.type == MESSAGE_EXEC_INPUT)
        super_exec_input(&h->super, h->job, &m);
    else
        m.bad = true;
    h->worker.port.broken = h->worker.port.broken || m.bad;
}

static void turn(struct helper *h, char *inbox) {
    struct pollfd p[FDS] = {
        {h->worker.port.fd, (short)(POLLIN | (port_waiting(&h->worker.port) ? POLLOUT : 0)), 0},
        {h->super.signal_fd, POLLIN, 0},
    };
    struct signalfd_siginfo info;
    size_t len;
    int got;
    size_t n = 2 + super_exec_fds(&h->super, p + 2, FDS - 2);
    poll(p, n, h->super.exec ? TURN_MS : -1);
    if (p[1].revents && read(h->super.signal_fd, &info, sizeof info) < 0 && errno != EAGAIN)
        h->worker.port.broken = true;
    port_flush(&h->worker.port);
    while ((got = port_receive(&h->worker.port, inbox, &len)) > 0)
        obey(h, inbox, len);
    if (got < 0)
        h->worker.port.broken = true;
    super_exec_poll(&h->super);
}

/* Signals wait, those of the terminal too: its end is that of the run. */
static _Noreturn void serve(struct helper *h, int fd) {
    sigset_t all, child;
    char *inbox = mem_alloc(MESSAGE_MAX);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    signal(SIGCHLD, SIG_DFL); /* where it is ignored, nobody learns how a program ended */
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    h->super.signal_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    prctl(PR_SET_NAME, "trotline-exec", 0, 0, 0);
    port_init(&h->worker.port, fd);
    while (!h->worker.port.broken)
        turn(h, inbox);
    super_exec_end(&h->super);
    _exit(0);
}

/* ---- in the run's process */

int plain_programs_start(const struct plugin *p, struct tl_span options, const char *cache_folder, int64_t time_us,
                         struct plain_programs *out, struct fail *why) {
    int pair[2];
    *out = (struct plain_programs){.port = {.fd = -1}};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
        return fail_errno(why, TL_FAILED, "no way to run programs for %s can be opened", p->name);
    out->pid = fork();
    if (out->pid < 0) {
        fail_errno(why, TL_FAILED, "no process could be started that runs programs for %s", p->name);
        close(pair[0]);
        close(pair[1]);
        return TL_FAILED;
    }
    if (out->pid == 0) {
        struct helper *h = mem_alloc(sizeof *h);
        close(pair[0]);
        h->own = (struct config_collector){.name = p->name, .options = options};
        h->config.collector = &h->own;
        h->config.collector_count = 1;
        h->super.config = &h->config;
        h->collector.plugin = p;
        h->collector.cache_dir = mem_text(cache_folder);
        h->worker.collector = &h->collector;
        h->job = super_job_new(&h->super);
        h->job->collector = &h->collector;
        h->job->worker = &h->worker;
        h->job->deadline_us = time_mono_us() + time_us;
        serve(h, pair[1]);
    }
    close(pair[1]);
    port_init(&out->port, pair[0]);
    return TL_OK;
}

static void hear(struct process_link *link, const char *packet, size_t len) {
    struct message m;
    if (message_open(&m, packet, len)) {
        message_get_i64(&m); /* whose it is: the only one's */
        process_hear(link, &m);
    }
}

void plain_programs_hear(struct plain_programs *p, struct process_link *link) {
    struct pollfd fd = {p->port.fd, (short)(POLLIN | (port_waiting(&p->port) ? POLLOUT : 0)), 0};
    AUTO_FREE char *inbox = mem_alloc(MESSAGE_MAX);
    size_t len;
    int got;
    poll(&fd, 1, -1);
    port_flush(&p->port);
    while ((got = port_receive(&p->port, inbox, &len)) > 0)
        hear(link, inbox, len);
    if (got < 0) { /* so that nobody waits for ever */
        AUTO_BUF struct buf end = BUF_INIT;
        message_start(&end, MESSAGE_EXEC_END);
        message_i64(&end, 0);
        message_i64(&end, TL_FAILED);
        message_text(&end, "the process that runs programs has ended");
        hear(link, end.data, end.len);
    }
}

void plain_programs_end(struct plain_programs *p) {
    if (p->pid <= 0)
        return;
    port_free(&p->port);
    while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    p->pid = 0;
}
