/* run.h - what the commands run and crawl share: a crawl from start to end, and how it is told of. */
#ifndef TROTLINE_CMD_RUN_H
#define TROTLINE_CMD_RUN_H
#include "cmd/cmd.h"
#include "engine/super.h"
#include "engine/targets.h"

enum fail_on { FAIL_ON_LINE, FAIL_ON_ANY, FAIL_ON_PERCENT, FAIL_ON_ROOT, FAIL_ON_LEASH, FAIL_ON_NEVER };
struct run_options {
    const char *resume; /* NULL, "auto", or an id */
    bool plan, relax, output_given;
    enum cmd_format format;
    int64_t timeout_us;
    enum fail_on fail_on;
    double percent;
    const char **set;
    size_t set_count;
};
struct run_turn { /* of a target: the crawl is carried out if that is still due when its lock is held */
    const struct targets_entry *target;
    int64_t now_us;
    bool by_hand; /* whether it is due or not, and its schedule stays as it is */
};
enum { RUN_SKIPPED = -1 }; /* instead of an exit code: another has it, or has just done it */
struct running {
    const struct cmd_globals *g;
    const struct run_turn *turn; /* or NULL */
    const struct run_options *o;
    struct cmd_open open;
    struct crawl crawl;
    struct store_crawl root;
    struct super_summary sum;
    char root_id[UUID_TEXT];
    int lock_fd, root_fd; /* of its name, of this very crawl; -1: none */
    bool was_closed;
    int64_t due_us; /* of a turn: what it is for */
};

enum {
    OPT_PLAN = 256,
    OPT_RESUME,
    OPT_TIMEOUT,
    OPT_SET,
    OPT_FAIL_ON,
    OPT_RELAX,
    OPT_DUE,
    OPT_TARGET,
    OPT_NOW,
    OPT_DEPTH,
    OPT_FANOUT,
    OPT_RUNS,
    OPT_BYTES,
    OPT_TIME,
    OPT_HOST,
    OPT_NO_FOLLOW,
    OPT_SITEMAPS,
    OPT_COOKIES
};

/* Has the crawl ended, rather than this process? */
static inline bool run_is_over(const struct running *r) {
    return r->sum.end == SUPER_DONE || r->sum.end == SUPER_TIME || r->sum.end == SUPER_STOPPED;
}
/* The options that run and crawl share; 0 when taken, else what cmd_option gave or an exit code. */
int run_option(const char *command, int c, struct run_options *o);
/* r->g, r->o and r->crawl are given; releases all of r. The exit code, or with a turn RUN_SKIPPED. */
int run_and_release(struct running *r);
/* run_due.c: carries out what is due at that time (0: now). The exit code. */
int run_due(const struct cmd_globals *g, const struct run_options *o, int64_t now_us);
int run_target(const struct cmd_globals *g, const struct run_options *o, const char *id); /* due or not */
/* run_tell.c */
void run_tell_one(void *ctx, const struct super_finished *f); /* a line of -o jsonl */
const char *run_end_word(const struct running *r);
int run_tell_end(struct running *r); /* summary, on_finish, the last line; the exit code */
#endif
