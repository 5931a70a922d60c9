/* super_exec.c - programs that collectors ask for, carried out by the supervisor, which has no plugin in it.
 *
 * Only a program that the collector declares is started: found by its bare name in fixed folders, below the collector's
 * cache folder, with an environment made from nothing, no descriptor but 0, 1 and 2 (pipes), and in a session of its
 * own, so that it has no terminal to ask for passwords and its whole process group can be signalled. Nothing here
 * blocks: super_exec_poll, called in every turn of the loop, moves what the pipes take and give; what a slow worker has
 * not read yet is left in the pipe, where it holds up the program.
 *
 * Invariant: a program that was started is waited for by its pid alone, and its group is killed before the pid is given
 * up, so that nothing of it outlives its answer, its job or the supervisor, but what left the group on purpose. The one
 * exception is a supervisor that is itself killed by SIGKILL: then the input ends, and a program dies when it next
 * writes to its output. One that does neither runs to its own end. */
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
#include "engine/super_inside.h"

enum {
    AT_ONCE = 16, /* programs under way; others wait their turn */
    ENV_MAX = 64, /* variables from the collector */
    OUTPUT_DEFAULT = 1 << 20,
    OUTPUT_MOST = 64 << 20, /* of each of stdout and stderr */
    BACKLOG = 1 << 20,      /* what may wait for one worker before its programs are held up */
    PART = 32 * 1024,
    PARTS_A_TURN = 8,
    GRACE_US = 2000000, /* between SIGTERM and SIGKILL */
    FAREWELL_US = 5000000
};
#define PROGRAM_PATH "/usr/local/bin:/usr/bin:/bin"

struct super_exec {
    int64_t job; /* 0: nobody waits for an answer any more */
    struct arena memory;
    const char **argv, **env; /* NULL-ended */
    uint32_t argc, envc;
    const char *cwd; /* NULL: the cache folder itself */
    struct tl_span input;
    int64_t timeout_us; /* INT64_MAX: none of its own */
    size_t max_output;
    pid_t pid; /* 0: waits for its turn */
    int in, out[2];
    size_t got[2];
    int64_t deadline_us, kill_us; /* kill_us: INT64_MAX until it was told to stop */
    bool own_deadline, exited;
    int wait_status;
    struct fail why; /* why.status: the answer, when it is not the program's own status */
    struct super_exec *next;
};

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
    arena_free(&x->memory);
    free(x);
}

/* ---- what is asked for */

static const char **take_list(struct super_exec *x, struct message *m, uint32_t *count) {
    uint32_t n = message_get_u32(m);
    if (n > MESSAGE_MAX / 4)
        m->bad = true;
    const char **list = arena_alloc(&x->memory, m->bad ? sizeof *list : ((size_t)n + 1) * sizeof *list);
    uint32_t i = 0;
    for (; i < n && !m->bad; i++) {
        const char *text = message_get_text(m);
        if (!text)
            m->bad = true;
        list[i] = arena_text(&x->memory, text ? text : "", text ? strlen(text) : 0);
    }
    list[i] = NULL;
    *count = i;
    return list;
}

static struct super_exec *take_request(int64_t job, struct message *m) {
    struct super_exec *x = mem_alloc(sizeof *x);
    x->in = x->out[0] = x->out[1] = -1;
    x->deadline_us = x->kill_us = INT64_MAX;
    x->job = job;
    const char *cwd = message_get_text(m);
    x->cwd = cwd && *cwd ? arena_text(&x->memory, cwd, strlen(cwd)) : NULL;
    int64_t ms = message_get_i64(m), most = message_get_i64(m);
    x->timeout_us = ms > 0 && ms < INT64_MAX / 4000 ? ms * 1000 : INT64_MAX;
    x->max_output = most == 0 ? OUTPUT_DEFAULT : most < 0 || most > OUTPUT_MOST ? OUTPUT_MOST : (size_t)most;
    x->argv = take_list(x, m, &x->argc);
    x->env = take_list(x, m, &x->envc);
    struct tl_span input = message_get_span(m);
    x->input = (struct tl_span){arena_span(&x->memory, input), input.len};
    return x;
}

static bool declared(const struct plugin *p, const char *name) {
    for (size_t i = 0; p->program && p->program[i]; i++)
        if (strcmp(p->program[i], name) == 0)
            return true;
    return false;
}

static bool leads_out(const char *path) {
    if (*path == '/')
        return true;
    for (const char *c = path; c; c = strchr(c, '/')) {
        c += *c == '/';
        if (c[0] == '.' && c[1] == '.' && (c[2] == '/' || c[2] == '\0'))
            return true;
    }
    return false;
}

static bool variable_is_sound(const char *entry) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    size_t len = strspn(entry, letters);
    bool digit = *entry >= '0' && *entry <= '9';
    return len > 0 && !digit && entry[len] == '=' && strncmp(entry, "LD_", 3) != 0 && strncmp(entry, "PATH=", 5) != 0;
}

static int check_request(const struct super_exec *x, const struct plugin *p, struct fail *why) {
    if (x->argc == 0)
        return fail_set(why, TL_INVALID, "there is no program");
    if (!declared(p, x->argv[0]))
        return fail_set(why, TL_INVALID, "the collector %s does not declare this program", p->name);
    if (strchr(x->argv[0], '/') || x->argv[0][0] == '.' || x->argv[0][0] == '\0')
        return fail_set(why, TL_INVALID, "a program is a bare name, without '/'");
    if (x->cwd && leads_out(x->cwd))
        return fail_set(why, TL_INVALID, "its folder %.200s is not below the cache folder ('..' or '/' first)", x->cwd);
    if (x->envc > ENV_MAX)
        return fail_set(why, TL_INVALID, "more than %d variables in its environment", ENV_MAX);
    for (uint32_t i = 0; i < x->envc; i++)
        if (!variable_is_sound(x->env[i]))
            return fail_set(why, TL_INVALID, "its environment: %.*s is not to be set; NAME=VALUE, no PATH, no LD_*",
                            (int)strcspn(x->env[i], "="), x->env[i]);
    return TL_OK;
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

static const char **make_environment(struct super_exec *x, const char *cache_dir) {
    AUTO_BUF struct buf home = BUF_INIT;
    size_t n = 0, base = 0;
    while (program_environment()[base])
        base++;
    const char **list = arena_alloc(&x->memory, (base + x->envc + 3) * sizeof *list);
    for (size_t i = 0; i < base; i++)
        list[n++] = program_environment()[i];
    buf_printf(&home, "HOME=%s", cache_dir);
    set_variable(list, &n, "PATH=" PROGRAM_PATH);
    set_variable(list, &n, arena_text(&x->memory, home.data, home.len));
    for (uint32_t i = 0; i < x->envc; i++)
        set_variable(list, &n, x->env[i]);
    list[n] = NULL;
    return list;
}

static int spawn(struct super_exec *x, const char *file, int folder, const char *cache_dir, int const end[3]) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_addfchdir_np(&actions, folder);
    for (int i = 0; i < 3; i++) /* all of end are above 2: main has seen to it */
        posix_spawn_file_actions_adddup2(&actions, end[i], i);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    char *const *argv = (char *const *)(uintptr_t)x->argv;
    char *const *envp = (char *const *)(uintptr_t)make_environment(x, cache_dir);
    int rc = posix_spawn(&x->pid, file, &actions, &attr, argv, envp);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    return rc;
}

static int start(struct super_exec *x, const struct super_job *j, struct fail *why) {
    const char *cache_dir = j->collector->cache_dir;
    AUTO_BUF struct buf file = BUF_INIT;
    int end[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    AUTO_CLOSE int folder = open_folder(cache_dir, x->cwd, why);
    if (folder < 0 || find_program(x->argv[0], &file, why))
        return why->status;
    bool opened = !pipe2(end[0], O_CLOEXEC) && !pipe2(end[1], O_CLOEXEC) && !pipe2(end[2], O_CLOEXEC);
    int rc = opened ? 0 : errno;
    x->in = end[0][1];
    x->out[0] = end[1][0];
    x->out[1] = end[2][0];
    const int mine[] = {x->in, x->out[0], x->out[1]}, theirs[] = {end[0][0], end[1][1], end[2][1]};
    for (int i = 0; i < 3 && opened; i++)
        fcntl(mine[i], F_SETFL, O_NONBLOCK);
    if (opened)
        rc = spawn(x, file.data, folder, cache_dir, theirs);
    for (int i = 0; i < 3; i++)
        if (theirs[i] >= 0)
            close(theirs[i]);
    if (rc) {
        x->pid = 0;
        return fail_set(why, TL_FAILED, "cannot start %s: %s", file.data, strerrordesc_np(rc));
    }
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

static void feed(struct super_exec *x) {
    while (x->in >= 0) {
        ssize_t n = x->input.len ? write(x->in, x->input.ptr, x->input.len) : 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        x->input.ptr += n > 0 ? n : 0;
        x->input.len -= n > 0 ? (size_t)n : 0;
        if (n < 0 || x->input.len == 0) /* an end that it has closed is no fault: it did not want it all */
            close_end(&x->in);
    }
}

static bool held_up(const struct super_job *j) {
    return j && j->worker->port.queued - j->worker->port.sent > BACKLOG;
}

/* Passes on what stands in a pipe; false: there may be more, for another turn. */
static bool drain(struct super *s, struct super_exec *x, int which) {
    char block[PART];
    struct super_job *j = job_of(s, x);
    for (int i = 0; i < PARTS_A_TURN && x->out[which] >= 0; i++) {
        if (held_up(j))
            return false;
        ssize_t n = read(x->out[which], block, sizeof block);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return true;
        if (n <= 0) {
            close_end(&x->out[which]);
            break;
        }
        x->got[which] += (size_t)n;
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
        if (x->own_deadline)
            fail_set(&x->why, TL_FAILED, "it did not end within %s and was stopped", text);
        else
            fail_set(&x->why, TL_FAILED, "the run's time was up before it ended");
        stop(x);
    }
}

/* The group goes while the dead leader still holds its number: nobody else can be hit. */
static void look_for_end(struct super_exec *x) {
    siginfo_t info = {0};
    if (x->exited || (waitid(P_PID, (id_t)x->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0))
        return;
    kill(-x->pid, SIGKILL);
    if (waitpid(x->pid, &x->wait_status, 0) != x->pid && !x->why.status)
        fail_set(&x->why, TL_FAILED, "nobody knows how it ended");
    x->exited = true;
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
        } else if (!j || start(x, j, &x->why)) {
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
    struct super_exec *x = take_request(j->key, m), **at = &s->exec;
    for (; *at; at = &(*at)->next)
        m->bad = m->bad || (*at)->job == j->key;
    *at = x;
    if (m->bad) {
        forget(at);
    } else if (check_request(x, w->collector->plugin, &x->why)) {
        answer(s, x);
        forget(at);
    } else {
        start_waiting(s);
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
        look_for_end(x); /* first: what it had written by then is in the pipes now */
        feed(x);
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
        bool held = held_up(job_of(s, x));
        if (x->in >= 0)
            into[n++] = (struct pollfd){x->in, POLLOUT, 0};
        for (int i = 0; i < 2; i++)
            if (x->out[i] >= 0 && !held)
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
}
