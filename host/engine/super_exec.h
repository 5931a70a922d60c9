/* super_exec.h - what the files of super_exec share: a program on behalf of a run. */
#ifndef TROTLINE_ENGINE_SUPER_EXEC_H
#define TROTLINE_ENGINE_SUPER_EXEC_H
#include "base/arena.h"
#include "engine/super_inside.h"

struct super_exec {
    int64_t job; /* 0: nobody waits for an answer any more */
    struct arena memory;
    const char **argv, **env; /* NULL-ended */
    uint32_t argc, envc;
    const char *home; /* what it may call its own: the cache folder, or one in it for a program of its own path */
    const char *cwd;  /* below it; NULL: home itself */
    bool stream, offline;
    struct buf input; /* not taken by the program yet, from `fed` on */
    size_t fed;
    bool input_ends;    /* nothing comes behind it */
    int64_t window;     /* of its output, how much its worker still takes; streaming ones only */
    int64_t timeout_us; /* INT64_MAX: none of its own */
    size_t max_output;
    pid_t pid; /* 0: waits for its turn */
    int in, out[2], report;
    size_t got[2];
    int64_t deadline_us, kill_us; /* kill_us: INT64_MAX until it was told to stop */
    bool own_deadline, farewell, exited;
    int wait_status;
    struct fail why; /* why.status: the answer, when it is not the program's own status */
    struct super_exec *next;
};

/* super_exec_ask.c */
struct super_exec *super_exec_take(int64_t job, struct message *m); /* out of an EXEC message; m->bad when it is none */
int super_exec_check(struct super_exec *x, const struct plugin *p, const struct config_collector *own,
                     struct fail *why);
#endif
