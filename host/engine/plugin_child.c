/* plugin_child.c - see plugin_child.h; and plugin_describe_main, which is what runs in the child. */
#include "engine/plugin_child.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/times.h"
#include "engine/confine.h"
#include "engine/plugin_json.h"

enum { LOADER_GAVE_UP = 127 /* ld.so's exit code for a file that it cannot make sense of */ };

static char self[PATH_MAX];

void plugin_self(const char *path) {
    snprintf(self, sizeof self, "%s", path ? path : "");
}

/* ---- in the parent */

struct running {
    struct plugin_child *child; /* NULL: the place is free */
    pid_t pid;
    int from; /* the reading end; -1: at its end */
    int64_t deadline_us;
    bool killed;
};

static void environment(char *out[8], struct buf text[2]) {
    static const char *const taken[] = {"ASAN_OPTIONS", "LD_PRELOAD"};
    static char locale[] = "LC_ALL=C.UTF-8", zone[] = "TZ=UTC";
    size_t n = 0;
    out[n++] = locale;
    out[n++] = zone;
    for (size_t i = 0; i < COUNT_OF(taken); i++) {
        const char *value = getenv(taken[i]);
        if (value) {
            buf_printf(&text[i], "%s=%s", taken[i], value);
            out[n++] = text[i].data;
        }
    }
    out[n] = NULL;
}

static int spawn(const char *program, const char *file, int to, pid_t *pid) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t all, none;
    char name[] = "trotline", flag[] = "--describe", *env[8];
    struct buf text[2] = {BUF_INIT, BUF_INIT};
    AUTO_FREE char *copy = mem_text(file);
    char *argv[] = {name, flag, copy, NULL};
    sigfillset(&all);
    sigemptyset(&none);
    environment(env, text);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, to, 1);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&files, 3);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setsigmask(&attr, &none);
    int rc = posix_spawn(pid, program, &files, &attr, argv, env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    buf_free(&text[0]);
    buf_free(&text[1]);
    return rc;
}

/* to must not be 0 to 2: the actions above would overwrite it. */
static int spawn_somewhere(const char *file, int to, pid_t *pid) {
    AUTO_CLOSE int high = fcntl(to, F_DUPFD_CLOEXEC, 10);
    if (high < 0)
        return errno;
    int rc = self[0] ? spawn(self, file, high, pid) : ENOENT;
    return rc ? spawn("/proc/self/exe", file, high, pid) : 0;
}

static void start(struct running *r, struct plugin_child *child, int deadline_ms) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) {
        fail_errno(&child->why, TL_FAILED, "no process could be started to describe it");
        return;
    }
    errno = spawn_somewhere(child->file, ends[1], &r->pid);
    close(ends[1]);
    if (errno) {
        fail_errno(&child->why, TL_FAILED, "no process could be started to describe it");
        close(ends[0]);
        return;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    child->out.max = PLUGIN_JSON_MAX;
    r->child = child;
    r->from = ends[0];
    r->deadline_us = time_mono_us() + (int64_t)deadline_ms * 1000;
    r->killed = false;
}

static void stop(struct running *r, const char *because) {
    if (!r->killed)
        fail_set(&r->child->why, TL_FAILED, "%s", because);
    r->killed = true;
    kill(-r->pid, SIGKILL);
}

static void drain(struct running *r) {
    char block[8192];
    ssize_t n;
    while (r->from >= 0 && (n = read(r->from, block, sizeof block)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0)
            break;
        buf_add(&r->child->out, block, (size_t)n);
        if (r->child->out.full) {
            stop(r, "it describes itself in more than 1 MiB");
            break;
        }
    }
    if (r->from >= 0)
        close(r->from);
    r->from = -1;
}

static void judge(struct running *r, const siginfo_t *end) {
    struct fail *why = &r->child->why;
    if (r->killed)
        return;
    if (end->si_code != CLD_EXITED) {
        const char *name = sigabbrev_np(end->si_status);
        fail_set(why, TL_FAILED, "it died of signal %d (SIG%s) while describing itself", end->si_status,
                 name ? name : "?");
    } else if (!r->child->out.len && end->si_status == LOADER_GAVE_UP) {
        fail_set(why, TL_FAILED, "the system's loader gave up on it (exit code %d): the file is damaged, build it anew",
                 end->si_status);
    } else if (!r->child->out.len) {
        fail_set(why, TL_FAILED, "it ended the process (exit code %d) instead of describing itself", end->si_status);
    }
}

/* True when the child has ended and has been judged. Its group is killed while the child's number cannot be used again.
 */
static bool finished(struct running *r) {
    siginfo_t end = {0};
    if (waitid(P_PID, (id_t)r->pid, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid == 0)
        return false;
    kill(-r->pid, SIGKILL);
    drain(r);
    if (r->from >= 0)
        close(r->from);
    if (end.si_pid)
        judge(r, &end);
    waitpid(r->pid, NULL, 0);
    r->child = NULL;
    return true;
}

/* Waits until a child has something to say, and for no longer than the time at which one of them must be looked at
 * anyway. */
static void wait_for_news(const struct running *slot) {
    struct pollfd fds[PLUGIN_CHILDREN];
    int wait_ms = 50;
    nfds_t n = 0;
    for (size_t i = 0; i < PLUGIN_CHILDREN; i++)
        if (slot[i].child && slot[i].from >= 0)
            fds[n++] = (struct pollfd){.fd = slot[i].from, .events = POLLIN};
        else if (slot[i].child)
            wait_ms = 1; /* its output is at its end, so the process soon is */
    poll(fds, n, wait_ms);
}

void plugin_child_run(struct plugin_child *child, size_t n, int deadline_ms) {
    struct running slot[PLUGIN_CHILDREN] = {0};
    size_t next = 0, running = 0;
    while (next < n || running) {
        for (size_t i = 0; i < PLUGIN_CHILDREN && next < n; i++)
            if (!slot[i].child) {
                start(&slot[i], &child[next++], deadline_ms);
                running += slot[i].child != NULL;
            }
        if (!running)
            continue;
        wait_for_news(slot);
        for (size_t i = 0; i < PLUGIN_CHILDREN; i++) {
            if (!slot[i].child)
                continue;
            drain(&slot[i]);
            if (time_mono_us() > slot[i].deadline_us && !slot[i].killed) {
                char said[80];
                snprintf(said, sizeof said, "it took over %d s to describe itself", (deadline_ms + 999) / 1000);
                stop(&slot[i], said);
            }
            running -= finished(&slot[i]);
        }
    }
}

int plugin_child_answer(const struct plugin_child *child, struct plugin *out, struct fail *why) {
    AUTO_BUF struct buf reason = BUF_INIT;
    struct tl_json root, error;
    struct tl_span said = buf_span(&child->out);
    if (child->why.status)
        return fail_set(why, child->why.status, "%s", child->why.text);
    if (json_parse(said, &root) == TL_OK && json_get(&root, "error", &error) == TL_OK &&
        json_text(&error, &reason) == TL_OK)
        return fail_set(why, TL_INVALID, "%s", reason.data ? reason.data : "it gives no reason");
    if (plugin_read(said, out))
        return fail_set(why, TL_INVALID, "what it says about itself cannot be read");
    return TL_OK;
}

int plugin_describe(const char *file, struct plugin *out, struct fail *why) {
    struct plugin_child child = {.file = file};
    int rc = loader_permitted(file, why);
    if (rc)
        return rc;
    plugin_child_run(&child, 1, PLUGIN_DEADLINE_MS);
    rc = plugin_child_answer(&child, out, why);
    buf_free(&child.out);
    if (!rc)
        out->file = mem_text(file);
    return rc;
}

/* ---- in the child */

/* It may read what loading takes, and say what it is. */
static void limit_self(const char *file) {
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(2 * PLUGIN_DEADLINE_MS / 1000);
    for (size_t i = 0; i < COUNT_OF(deadly); i++) /* the parent wants to see the signal, not a sanitizer's report */
        signal(deadly[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
#if !defined(__SANITIZE_ADDRESS__)
    setrlimit(RLIMIT_DATA, &(struct rlimit){(rlim_t)2 << 30, (rlim_t)2 << 30});
#endif
    AUTO_FREE char *copy = mem_text(file);
    const char *const read[] = {dirname(copy), NULL};
    confine_here(&(struct confine){.read = read, .offline = true}, NULL);
}

/* What a constructor prints must not end up in the description. Returns where the description goes. */
static int divert_stdout(void) {
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10), null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (out < 0 || null < 0 || dup2(null, STDOUT_FILENO) < 0)
        _exit(EXIT_INTERNAL);
    close(null);
    return out;
}

/* Does not return: the plugin's destructors and exit handlers have no business here. */
int plugin_describe_main(const char *file) {
    const struct tl_collector *c;
    struct fail why = FAIL_INIT;
    struct buf text = BUF_INIT;
    int out = divert_stdout(), code = EXIT_DONE;
    limit_self(file);
    if (loader_open(file, &c, &why)) {
        struct json_writer w = JSON_WRITER(&text);
        json_object_begin(&w);
        json_member_string(&w, "error", why.text);
        json_object_end(&w);
        code = EXIT_PLUGIN;
    } else {
        struct plugin p;
        plugin_of_collector(c, &p);
        plugin_json(&text, &p);
    }
    buf_char(&text, '\n');
    for (size_t at = 0; at < text.len;) {
        ssize_t n = write(out, text.data + at, text.len - at);
        if (n < 0 && errno != EINTR)
            _exit(EXIT_INTERNAL);
        at += n > 0 ? (size_t)n : 0;
    }
    _exit(code);
}
