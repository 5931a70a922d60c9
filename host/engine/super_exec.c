/* super_exec.c - programs that collectors ask for, carried out by the supervisor, which has no plugin in it.
 *
 * What may be started, super_exec_ask.c decides. It starts in the collector's cache folder or below, with an
 * environment made from nothing, no descriptor but 0, 1 and 2 (pipes), in a session of its own, so that it has no
 * terminal to ask for passwords and its whole process group can be signalled, and by the hand of shim.h, which
 * ties its life to ours. Nothing here blocks: super_exec_poll, called in every turn of the loop, moves what the pipes
 * take and give; what a slow worker has not read yet is left in the pipe, where it holds up the program. A program that
 * streams is talked to while it runs, under the windows of message.h; of the others the input is there from the start.
 *
 * Invariant: a program that was started is waited for by its pid alone, and its group is killed before the pid is given
 * up, so that nothing of it outlives its answer, its job or the supervisor, but what left the group on purpose. When
 * the supervisor is itself killed, the kernel kills the program and the guard (shim.h) its group. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "engine/program.h"
#include "engine/shim.h"
#include "engine/super_exec.h"

enum {
    AT_ONCE = 16,      /* programs under way; others wait their turn */
    BACKLOG = 1 << 20, /* what may wait for one worker before its programs are held up */
    PART = 32 * 1024,
    PARTS_A_TURN = 8,
    GRACE_US = 2000000, /* between SIGTERM and SIGKILL */
    LAST_US = 10000000, /* for a streaming program to end by itself, once nobody talks to it any more */
    FAREWELL_US = 5000000
};
#define PROGRAM_PATH "/usr/local/bin:/usr/bin:/bin"

static void close_end(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_pipes(struct super_exec *x) {
    close_end(&x->in);
    close_end(&x->out[0]);
    close_end(&x->out[1]);
}

static void forget(struct super_exec **at) {
    struct super_exec *x = *at;
    *at = x->next;
    close_pipes(x);
    close_end(&x->report);
    arena_free(&x->memory);
    buf_free(&x->input);
    free(x);
}

/* ---- starting */

/* One step after the other and no symlink at any: what is below the cache folder by name is below it in fact. */
static int open_folder(const char *cache_dir, const char *cwd, struct fail *why) {
    char step[256];
    int at = open(cache_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (const char *c = cwd; at >= 0 && c && *c; c += strspn(c, "/")) {
        size_t len = strcspn(c, "/");
        int next = -1;
        errno = ENAMETOOLONG;
        if (len < sizeof step) {
            memcpy(step, c, len);
            step[len] = '\0';
            next = openat(at, step, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        }
        int kept = errno;
        close(at);
        errno = kept;
        at = next;
        c += len;
    }
    if (at >= 0)
        return at;
    if (errno == ENOTDIR || errno == ELOOP)
        return fail_set(why, TL_FAILED, "its folder %.200s is none, or there is a symlink on the way",
                        cwd ? cwd : cache_dir);
    return fail_errno(why, TL_FAILED, "cannot enter its folder %.200s", cwd ? cwd : cache_dir);
}

static int find_program(const char *name, struct buf *file, struct fail *why) {
    struct stat st;
    if (*name == '/') { /* one of the installation's own choosing */
        buf_text(file, name);
        return TL_OK;
    }
    for (const char *dir = PROGRAM_PATH; *dir; dir += strspn(dir, ":")) {
        size_t len = strcspn(dir, ":");
        buf_reset(file);
        buf_printf(file, "%.*s/%s", (int)len, dir, name);
        if (stat(file->data, &st) == 0 && S_ISREG(st.st_mode) && access(file->data, X_OK) == 0)
            return TL_OK;
        dir += len;
    }
    return fail_set(why, TL_FAILED, "it is not installed (" PROGRAM_PATH ")");
}

/* A later value of the same name takes the earlier one's place. */
static void set_variable(const char **list, size_t *n, const char *entry) {
    size_t name = strcspn(entry, "=") + 1;
    for (size_t i = 0; i < *n; i++)
        if (strncmp(list[i], entry, name) == 0) {
            list[i] = entry;
            return;
        }
    list[(*n)++] = entry;
}

/* Programs that the installation chose have nothing to do with each other: to each a folder by its file's name. */
static int make_home(struct super_exec *x, const char *cache_dir, struct fail *why) {
    const char *slash = *x->argv[0] == '/' ? strrchr(x->argv[0], '/') : NULL;
    AUTO_BUF struct buf path = BUF_INIT;
    x->home = cache_dir;
    if (!slash)
        return TL_OK;
    buf_printf(&path, "%s%s", cache_dir, slash);
    x->home = arena_text(&x->memory, path.data, path.len);
    if (mkdir(path.data, 0700) && errno != EEXIST)
        return fail_errno(why, TL_FAILED, "cannot make its folder %.300s", path.data);
    AUTO_CLOSE int fd = open_folder(cache_dir, slash + 1, why); /* and it is no way to elsewhere */
    return fd < 0 ? why->status : TL_OK;
}

static const char **make_environment(struct super_exec *x) {
    AUTO_BUF struct buf home = BUF_INIT, tmp = BUF_INIT;
    size_t n = 0, base = 0;
    while (program_environment()[base])
        base++;
    const char **list = arena_alloc(&x->memory, (base + x->envc + 4) * sizeof *list);
    for (size_t i = 0; i < base; i++)
        list[n++] = program_environment()[i];
    buf_printf(&home, "HOME=%s", x->home);
    set_variable(list, &n, "PATH=" PROGRAM_PATH);
    set_variable(list, &n, arena_text(&x->memory, home.data, home.len));
    buf_printf(&tmp, "TMPDIR=%s", x->home);
    if (x->offline) /* it can write nowhere else */
        set_variable(list, &n, arena_text(&x->memory, tmp.data, tmp.len));
    for (uint32_t i = 0; i < x->envc; i++)
        set_variable(list, &n, x->env[i]);
    list[n] = NULL;
    return list;
}

static int spawn_program(struct super_exec *x, const char *file, int folder, const int end[SHIM_ENDS]) {
    struct shim shim = {.file = file,
                        .argv = x->argv,
                        .env = make_environment(x),
                        .folder = folder,
                        .write_only = x->offline ? x->home : NULL};
    memcpy(shim.end, end, sizeof shim.end);
    return shim_start(&shim, &x->pid);
}

/* ---- the guard */

/* In a session of its own, with nothing open but its input. */
static int spawn_guard(pid_t *pid, char *const *argv, int input) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDIN_FILENO + 1);
    int rc = posix_spawn(pid, program_path(), &actions, &attr, argv, program_environment());
    if (rc) /* the file was replaced by an upgrade */
        rc = posix_spawn(pid, "/proc/self/exe", &actions, &attr, argv, program_environment());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    return rc;
}

static void guard_start(struct super *s) {
    char name[] = "trotline", argument[] = SHIM_GUARD_ARGUMENT, *argv[] = {name, argument, NULL};
    int end[2];
    if (s->guard_pid || pipe2(end, O_CLOEXEC))
        return;
    int rc = spawn_guard(&s->guard_pid, argv, end[0]);
    close(end[0]);
    s->guard_fd = end[1];
    if (rc) {
        s->guard_pid = -1; /* not tried again: what it is for may never happen */
        close(end[1]);
    }
}

static void guard_tell(struct super *s, int32_t group) {
    if (s->guard_pid > 0 && write(s->guard_fd, &group, sizeof group) < 0 && errno == EPIPE) {
        close(s->guard_fd);
        waitpid(s->guard_pid, NULL, 0);
        s->guard_pid = -1;
    }
}

static void guard_end(struct super *s) {
    if (s->guard_pid <= 0)
        return;
    close(s->guard_fd);
    waitpid(s->guard_pid, NULL, 0);
    s->guard_pid = 0;
}

static int start(struct super *s, struct super_exec *x, const struct super_job *j, struct fail *why) {
    AUTO_BUF struct buf file = BUF_INIT;
    int end[4][2] = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    AUTO_CLOSE int folder = make_home(x, j->collector->cache_dir, why) ? -1 : open_folder(x->home, x->cwd, why);
    if (folder < 0 || find_program(x->argv[0], &file, why))
        return why->status;
    guard_start(s);
    bool opened = true;
    for (int i = 0; i < 4 && opened; i++)
        opened = pipe2(end[i], O_CLOEXEC) == 0;
    int rc = opened ? 0 : errno;
    x->in = end[0][1];
    x->out[0] = end[1][0];
    x->out[1] = end[2][0];
    x->report = end[SHIM_REPORT_FD][0];
    const int mine[] = {x->in, x->out[0], x->out[1], x->report},
              theirs[] = {end[0][0], end[1][1], end[2][1], end[3][1]};
    for (int i = 0; i < 4 && opened; i++)
        fcntl(mine[i], F_SETFL, O_NONBLOCK);
    if (opened)
        rc = spawn_program(x, file.data, folder, theirs);
    for (int i = 0; i < 4; i++)
        if (theirs[i] >= 0)
            close(theirs[i]);
    if (rc) {
        x->pid = 0;
        return fail_set(why, TL_FAILED, "cannot start %s: %s", file.data, strerrordesc_np(rc));
    }
    guard_tell(s, x->pid);
    int64_t now = time_mono_us();
    x->own_deadline = j->deadline_us > now && x->timeout_us <= j->deadline_us - now;
    x->deadline_us = x->own_deadline ? now + x->timeout_us : j->deadline_us;
    log_debug("program %s started for %s (process %d)", file.data, j->collector->plugin->name, (int)x->pid);
    return TL_OK;
}

/* ---- while it runs */

static struct super_job *job_of(struct super *s, const struct super_exec *x) {
    struct super_job *j = x->job ? super_job_find(s, x->job) : NULL;
    return j && !j->done && j->worker ? j : NULL;
}

static void answer(struct super *s, const struct super_exec *x) {
    struct super_job *j = job_of(s, x);
    int status = x->why.status;
    if (!status)
        status = WIFSIGNALED(x->wait_status) ? 128 + WTERMSIG(x->wait_status) : WEXITSTATUS(x->wait_status);
    if (!j)
        return;
    message_start(&s->message, MESSAGE_EXEC_END);
    message_i64(&s->message, x->job);
    message_i64(&s->message, status);
    message_text(&s->message, x->why.status ? x->why.text : NULL);
    port_send(&j->worker->port, &s->message);
}

/* It has GRACE_US to put its house in order, without ears and mouth; the answer waits until it is gone. */
static void stop(struct super_exec *x) {
    if (x->kill_us != INT64_MAX || x->exited)
        return;
    kill(-x->pid, SIGTERM);
    close_pipes(x);
    x->kill_us = time_mono_us() + GRACE_US;
}

static void tell_taken(struct super *s, struct super_exec *x, size_t n) {
    struct super_job *j = job_of(s, x);
    if (!x->stream || !j || n == 0)
        return;
    message_start(&s->message, MESSAGE_EXEC_TAKEN);
    message_i64(&s->message, x->job);
    message_i64(&s->message, (int64_t)n);
    port_send(&j->worker->port, &s->message);
}

static bool has_input(const struct super_exec *x) {
    return x->fed < x->input.len;
}

/* What is not wanted any more, because the program has closed its end, counts as taken. */
static void feed(struct super *s, struct super_exec *x) {
    size_t before = x->fed;
    while (x->in >= 0 && has_input(x)) {
        ssize_t n = write(x->in, x->input.data + x->fed, x->input.len - x->fed);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0)
            close_end(&x->in);
        else
            x->fed += (size_t)n;
    }
    if (x->in < 0)
        x->fed = x->input.len;
    tell_taken(s, x, x->fed - before);
    if (has_input(x))
        return;
    buf_shrink(&x->input, PART);
    x->fed = 0;
    if (x->input_ends)
        close_end(&x->in);
}

/* Is what stands in that pipe to stay there for now? */
static bool held_up(const struct super_exec *x, int which, const struct super_job *j) {
    return (j && x->stream && which == 0 && x->window <= 0) ||
           (j && j->worker->port.queued - j->worker->port.sent > BACKLOG);
}

/* Passes on what stands in a pipe; false: there may be more, for another turn. */
static bool drain(struct super *s, struct super_exec *x, int which) {
    char block[PART];
    struct super_job *j = job_of(s, x);
    for (int i = 0; i < PARTS_A_TURN && x->out[which] >= 0; i++) {
        if (held_up(x, which, j))
            return false;
        size_t most = x->stream && which == 0 && j && x->window < PART ? (size_t)x->window : sizeof block;
        ssize_t n = read(x->out[which], block, most);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return true;
        if (n <= 0) {
            close_end(&x->out[which]);
            break;
        }
        x->got[which] += (size_t)n;
        x->window -= which == 0 ? n : 0;
        if (x->got[which] > x->max_output) {
            fail_set(&x->why, TL_FAILED, "its %s is over %zu bytes", which ? "error output" : "output", x->max_output);
            stop(x);
            close_pipes(x); /* also when it has ended by itself */
        } else if (j) {
            message_start(&s->message, MESSAGE_EXEC_PART);
            message_i64(&s->message, x->job);
            message_u8(&s->message, (uint8_t)which);
            message_span(&s->message, (struct tl_span){block, (size_t)n});
            port_send(&j->worker->port, &s->message);
        }
    }
    return x->out[which] < 0;
}

static void look_at_clock(struct super_exec *x, int64_t now) {
    if (x->exited)
        return;
    if (now >= x->kill_us) {
        kill(-x->pid, SIGKILL);
        x->kill_us = INT64_MAX - 1; /* told once */
    } else if (now >= x->deadline_us && x->kill_us == INT64_MAX) {
        char text[TIME_TEXT];
        time_duration_text(x->timeout_us, text);
        if (x->farewell)
            fail_set(&x->why, TL_FAILED, "it did not end within %d s of the end of its input, and was stopped",
                     LAST_US / 1000000);
        else if (x->own_deadline)
            fail_set(&x->why, TL_FAILED, "it did not end within %s and was stopped", text);
        else
            fail_set(&x->why, TL_FAILED, "the run's time was up before it ended");
        stop(x);
    }
}

/* The group goes while the dead leader still holds its number: nobody else can be hit. */
static void look_for_end(struct super *s, struct super_exec *x) {
    siginfo_t info = {0};
    char text[200];
    if (x->exited || (waitid(P_PID, (id_t)x->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0))
        return;
    kill(-x->pid, SIGKILL);
    guard_tell(s, -x->pid);
    if (waitpid(x->pid, &x->wait_status, 0) != x->pid && !x->why.status)
        fail_set(&x->why, TL_FAILED, "nobody knows how it ended");
    x->exited = true;
    ssize_t n = read(x->report, text, sizeof text);
    if (n > 0 && !x->why.status)
        fail_set(&x->why, TL_FAILED, "it cannot be started: %.*s", (int)n, text);
}

/* ---- what the supervisor calls */

static void start_waiting(struct super *s) {
    size_t running = 0;
    for (struct super_exec *x = s->exec; x; x = x->next)
        running += x->pid != 0;
    for (struct super_exec **at = &s->exec; *at && running < AT_ONCE;) {
        struct super_exec *x = *at;
        struct super_job *j = job_of(s, x);
        if (x->pid) {
            at = &x->next;
        } else if (!j || start(s, x, j, &x->why)) {
            answer(s, x);
            forget(at);
        } else {
            running++;
            at = &x->next;
        }
    }
}

/* A worker that asks twice for the same job, or in a form that is none, is not one of ours: m->bad. */
void super_exec_start(struct super *s, struct super_worker *w, struct super_job *j, struct message *m) {
    struct super_exec *x = super_exec_take(j->key, m), **at = &s->exec;
    for (; *at; at = &(*at)->next)
        m->bad = m->bad || (*at)->job == j->key;
    *at = x;
    if (m->bad) {
        forget(at);
    } else if (super_exec_check(x, w->collector->plugin, config_collector(s->config, w->collector->plugin->name),
                                &x->why)) {
        answer(s, x);
        forget(at);
    } else {
        start_waiting(s);
    }
}

/* More input for one that streams. One that has ended meanwhile is not there any more: no fault. */
void super_exec_input(struct super *s, struct super_job *j, struct message *m) {
    enum exec_input what = (enum exec_input)message_get_u8(m);
    int64_t read = message_get_i64(m);
    struct tl_span bytes = message_get_span(m);
    struct super_exec *x = s->exec;
    while (x && x->job != j->key)
        x = x->next;
    if (!x || m->bad)
        return;
    m->bad = !x->stream || (x->input_ends && bytes.len) || bytes.len > EXEC_WINDOW - (x->input.len - x->fed) ||
             what > EXEC_FAREWELL || read < 0 || read > EXEC_WINDOW - x->window;
    if (m->bad)
        return;
    x->window += read;
    buf_add(&x->input, bytes.ptr, bytes.len);
    x->input_ends = x->input_ends || what != EXEC_BYTES;
    int64_t last = time_mono_us() + LAST_US;
    if (what == EXEC_FAREWELL && last < x->deadline_us) {
        x->farewell = true;
        x->deadline_us = last;
    }
}

void super_exec_poll(struct super *s) {
    int64_t now = time_mono_us();
    bool some = false;
    for (struct super_exec **at = &s->exec; *at;) {
        struct super_exec *x = *at;
        if (!x->pid) {
            at = &x->next;
            continue;
        }
        look_for_end(s, x); /* first: what it had written by then is in the pipes now */
        feed(s, x);
        bool empty = drain(s, x, 0);
        empty = drain(s, x, 1) && empty;
        look_at_clock(x, now);
        if (x->exited && empty) {
            answer(s, x);
            forget(at);
            some = true;
        } else {
            at = &x->next;
        }
    }
    if (some)
        start_waiting(s);
}

size_t super_exec_fds(struct super *s, struct pollfd *into, size_t room) {
    size_t n = 0;
    for (struct super_exec *x = s->exec; x && n + 3 <= room; x = x->next) {
        struct super_job *j = job_of(s, x);
        if (x->in >= 0 && has_input(x))
            into[n++] = (struct pollfd){x->in, POLLOUT, 0};
        for (int i = 0; i < 2; i++)
            if (x->out[i] >= 0 && !held_up(x, i, j))
                into[n++] = (struct pollfd){x->out[i], POLLIN, 0};
    }
    return n;
}

void super_exec_forget(struct super *s, int64_t job) {
    for (struct super_exec **at = &s->exec; *at;) {
        struct super_exec *x = *at;
        if (x->job == job && !x->pid) {
            forget(at);
            continue;
        }
        if (x->job == job) {
            x->job = 0;
            stop(x);
        }
        at = &x->next;
    }
}

void super_exec_end(struct super *s) {
    int64_t until = time_mono_us() + FAREWELL_US;
    for (struct super_exec **at = &s->exec; *at;) {
        (*at)->job = 0;
        if ((*at)->pid) {
            stop(*at);
            at = &(*at)->next;
        } else {
            forget(at);
        }
    }
    for (super_exec_poll(s); s->exec && time_mono_us() < until; super_exec_poll(s))
        usleep(2000);
    while (s->exec) /* killed long since, and still in the kernel */
        forget(&s->exec);
    guard_end(s);
}
