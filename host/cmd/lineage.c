/* lineage.c - trotline lineage: where a run comes from, and what came of it. */
#include "cmd/lineage.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/commands.h"

/* Deeper than any leash allows, and an end for a damaged catalog whose runs are each other's parents. */
enum { DEEPEST = 1000000, MANY_DRAWN = 5000 };

/* Columns in the order of enum lineage_field, but for the level. A document is looked up one by one: a join with the
 * view would read all documents of the catalog first. */
#define FIELDS(result)                                                                                                 \
    "r.run_id, r.parent_id, r.root_id, r.depth, CASE WHEN r.parent_id IS NULL THEN NULL ELSE r.edge END, "             \
    "r.collector, "                                                                                                    \
    "r.collector_version, r.status, r.reason, r.attempts, r.started_at, r.finished_at, r.seconds, r.bytes, "           \
    "r.http_status, r.url, r.error, "                                                                                  \
    "coalesce((SELECT d.result_id FROM documents d WHERE d.run_id = r.run_id), r.result_ref), " result                 \
    "r.payload, r.queued_at, "
#define DOCUMENT                                                                                                       \
    "(SELECT d.path FROM documents d WHERE d.run_id = r.run_id), "                                                     \
    "(SELECT d.sha256 FROM documents d WHERE d.run_id = r.run_id), "
#define PARENT "(SELECT p.collector FROM runs p WHERE p.run_id = r.parent_id), "
#define COUNT  "(SELECT count(*) FROM runs n WHERE n.parent_id = r.run_id), "

/* Depth first: the deepest of what is known comes next; the limit keeps that order, which the join would drop. */
#define DOWN                                                                                                           \
    "WITH RECURSIVE branch (id, level) AS (SELECT r.run_id, 0 FROM runs r WHERE r.run_id = $1 UNION ALL "              \
    "SELECT r.run_id, b.level + 1 FROM branch b JOIN runs r ON r.parent_id = b.id WHERE b.level < $2 "                 \
    "ORDER BY 2 DESC, 1 LIMIT -1) SELECT "
#define DOWN_END "b.level FROM branch b CROSS JOIN runs r ON r.run_id = b.id"
#define UP                                                                                                             \
    "WITH RECURSIVE up (id, hops) AS (SELECT $1, 0 UNION ALL SELECT r.parent_id, u.hops + 1 FROM up u "                \
    "JOIN runs r ON r.run_id = u.id WHERE r.parent_id IS NOT NULL AND u.hops < $2) SELECT "
#define UP_END "u.hops FROM up u CROSS JOIN runs r ON r.run_id = u.id ORDER BY u.hops DESC"

static const char *const down_tree = DOWN FIELDS("NULL, NULL, ") "NULL, " COUNT DOWN_END;
static const char *const down_all = DOWN FIELDS(DOCUMENT) PARENT "0, " DOWN_END;
static const char *const up_all = UP FIELDS(DOCUMENT) PARENT "1, " UP_END;

struct walk {
    struct lineage l;
    const struct lineage_format *format;
    int64_t most;       /* levels */
    int64_t level;      /* of the first row of the question under way */
    bool up, with_down; /* rows are ancestors, from the farthest; and the run itself is left to the way down */
    int64_t farthest;
    char crawl[256];
};

static int each_row(void *ctx, const struct store_row *row) {
    struct walk *w = ctx;
    const struct store_value *f = row->value;
    int64_t distance = f[LINEAGE_LEVEL].number;
    struct lineage_node n = {.field = f};
    if (w->up) {
        if (!w->l.count)
            w->farthest = distance;
        if (distance == 0 && w->with_down)
            return 0;
        n.level = w->farthest - distance;
        n.children = distance > 0;
    } else {
        n.level = w->level + distance;
        n.children = distance < w->most ? f[LINEAGE_CHILDREN].number : 0;
    }
    n.linked = w->l.count > 0 && f[LINEAGE_PARENT_ID].type == STORE_TEXT;
    w->format->node(&w->l, &n);
    w->l.count++;
    return ferror(w->l.out) ? 1 : 0;
}

static int each_crawl(void *ctx, const struct store_row *row) {
    struct walk *w = ctx;
    snprintf(w->crawl, sizeof w->crawl, "%.*s", (int)row->value[0].text.len, row->value[0].text.ptr);
    return 1;
}

static int ask(struct store *s, const char *sql, struct walk *w, const char *id, struct fail *why) {
    const struct store_value args[] = {store_text(id), store_int(w->most)};
    return store_query(s, sql, args, 2, each_row, w, why);
}

static int walk(struct walk *w, struct store *s, const char *id, bool up, bool down, struct fail *why) {
    const struct store_value key = store_text(id);
    int rc = store_query(s, "SELECT c.crawl FROM runs r JOIN crawls c ON c.root_id = r.root_id WHERE r.run_id = $1",
                         &key, 1, each_crawl, w, why);
    if (rc)
        return rc;
    w->l.crawl = w->crawl;
    w->format->begin(&w->l);
    lineage_flush(&w->l);
    if (up) {
        w->up = true;
        w->with_down = down;
        rc = ask(s, up_all, w, id, why);
        w->level = w->farthest;
        w->up = false;
    }
    if (!rc && down)
        rc = ask(s, w->format == &lineage_tree ? down_tree : down_all, w, id, why);
    if (rc)
        return rc;
    w->format->end(&w->l);
    lineage_flush(&w->l);
    return TL_OK;
}

/* ---- svg: what dot(1) makes of it */

static int start_dot(FILE **to, pid_t *pid, struct fail *why) {
    int ends[2];
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t pipe_signal;
    char *argv[] = {(char *)(uintptr_t) "dot", (char *)(uintptr_t) "-Tsvg", NULL};
    if (pipe2(ends, O_CLOEXEC))
        return fail_errno(why, TL_FAILED, "cannot start dot");
    signal(SIGPIPE, SIG_IGN); /* a dot that dies is told by its status */
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &pipe_signal);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[0], 0);
    int rc = posix_spawnp(pid, "dot", &files, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    close(ends[0]);
    *to = rc ? NULL : fdopen(ends[1], "w");
    if (*to)
        return TL_OK;
    close(ends[1]);
    errno = rc;
    if (rc == ENOENT)
        return fail_exit(why, TL_NOTFOUND, EXIT_USAGE,
                         "svg is drawn by Graphviz, which is not installed: apt-get install graphviz, or use --format "
                         "dot");
    return fail_errno(why, TL_FAILED, "cannot start dot");
}

static int end_dot(FILE *to, pid_t pid, struct fail *why) {
    int status = 0;
    bool written = fclose(to) == 0;
    signal(SIGPIPE, SIG_DFL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && written)
        return TL_OK;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE)
        raise(SIGPIPE); /* the reader of our output has gone: end as if it were ours alone */
    return fail_set(why, TL_FAILED,
                    "dot did not draw the graph (status %d): try --format dot, and --depth for fewer runs",
                    WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static int run_count(void *ctx, const struct store_row *row) {
    *(int64_t *)ctx = row->value[0].number;
    return 1;
}

static int draw(struct walk *w, struct store *s, const char *id, bool up, bool down, struct fail *why) {
    const struct store_value args[] = {store_text(id), store_int(w->most), store_int(MANY_DRAWN + 1)};
    int64_t count = 0;
    pid_t pid = 0;
    int rc =
        store_query(s,
                    "WITH RECURSIVE branch (id, level) AS (SELECT $1, 0 UNION ALL SELECT r.run_id, b.level + 1 FROM "
                    "branch b JOIN runs r ON r.parent_id = b.id WHERE b.level < $2 LIMIT $3) "
                    "SELECT count(*) FROM branch",
                    args, 3, run_count, &count, why);
    if (rc)
        return rc;
    if (down && count > MANY_DRAWN)
        log_warn("more than %d runs: dot may take very long; --depth N draws fewer", MANY_DRAWN);
    rc = start_dot(&w->l.out, &pid, why);
    if (rc)
        return rc;
    rc = walk(w, s, id, up, down, why);
    return end_dot(w->l.out, pid, rc ? NULL : why) && !rc ? TL_FAILED : rc;
}

/* ---- the command */

static const struct lineage_format *const formats[] = {
    &lineage_tree, &lineage_json, &lineage_dot, &lineage_graphml, &lineage_csv, &lineage_openlineage, &lineage_cypher};
struct options {
    bool up, down, svg;
    int64_t most;
    const struct lineage_format *format;
};

static int lineage(struct cmd_open *o, const struct options *wish, const char *prefix) {
    struct walk w = {.format = wish->format, .most = wish->most, .l = {.out = stdout, .lake = o->config.lake}};
    struct fail why = FAIL_INIT;
    struct uuid run;
    char id[UUID_TEXT];
    bool down = wish->down || !wish->up;
    if (store_find_run(o->store, prefix, &run, &why))
        return cmd_fail(&why, EXIT_USAGE);
    uuid_text(&run, id);
    if (w.format == &lineage_json && !(w.l.spool = tmpfile())) {
        fail_errno(&why, TL_FAILED, "cannot make a temporary file for the edges");
        return cmd_fail(&why, EXIT_DISK);
    }
    int rc = (wish->svg ? draw : walk)(&w, o->store, id, wish->up, down, &why);
    if (w.l.spool)
        fclose(w.l.spool);
    buf_free(&w.l.line);
    buf_free(&w.l.batch);
    free(w.l.left);
    if (rc)
        return cmd_fail(&why, EXIT_INTERNAL);
    return cmd_flush(stdout) ? EXIT_DONE : EXIT_DISK;
}

static int take_format(struct options *o, const char *word) {
    o->svg = strcmp(word, "svg") == 0;
    for (size_t i = 0; i < COUNT_OF(formats); i++)
        if (strcmp(formats[i]->name, o->svg ? "dot" : word) == 0) {
            o->format = formats[i];
            return 0;
        }
    return cmd_usage("lineage", "--format takes tree, json, dot, svg, graphml, csv, openlineage or cypher, not '%s'",
                     word);
}

static int lineage_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {{"up", no_argument, NULL, 'u'},
                                          {"down", no_argument, NULL, 'd'},
                                          {"depth", required_argument, NULL, 'n'},
                                          {"format", required_argument, NULL, 'f'},
                                          {0}};
    struct options wish = {.most = DEEPEST, .format = &lineage_tree};
    for (int c, rc; (c = cmd_option(argc, argv, "f:", longs)) != 0;) {
        if (c < 0)
            return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        wish.up |= c == 'u';
        wish.down |= c == 'd';
        if (c == 'n' && (wish.most = cmd_number(optarg, 0, DEEPEST)) < 0)
            return cmd_usage("lineage", "--depth takes a number from 0 to %d, not '%s'", DEEPEST, optarg);
        if (c == 'f' && (rc = take_format(&wish, optarg)))
            return rc;
    }
    if (argc - optind != 1)
        return cmd_usage("lineage", optind < argc ? "one run at a time" : "whose? Give an id, or the beginning of one");
    struct cmd_open o = {0};
    int code = cmd_open(&o, g, CMD_STORE_READ, NULL, 0);
    if (!code)
        code = lineage(&o, &wish, argv[optind]);
    cmd_close(&o);
    return code;
}

const struct command cmd_lineage = {
    "lineage", "show where a run comes from and what came of it", lineage_main,
    "[--up] [--down] [--depth N] [--format FORMAT] ID",
    "Shows the runs that a run led to, down to the last, as a tree: a line per run with what it did, how it ended,\n"
    "and its id. ID is a run's or a result's, whole or as far as it is unique; that of a root gives the whole crawl.\n"
    "\n"
    "      --up               the way from the root to this run instead\n"
    "      --down             what it led to; together with --up: both\n"
    "      --depth N          at most N steps\n"
    "  -f, --format FORMAT    tree (default), json, csv, dot, svg (with Graphviz), graphml, openlineage (one event\n"
    "                         a line), cypher\n"
    "\n"
    "Examples:\n"
    "  trotline lineage 0193a5c4-7b2e-7d1f\n"
    "  trotline lineage --up 0193a5d0\n"
    "  trotline lineage --depth 2 --format svg 0193a5c4-7b2e-7d1f > crawl.svg\n"
    "  trotline lineage --format json 0193a5c4-7b2e-7d1f | jq '.nodes | length'\n"};
