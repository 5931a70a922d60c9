/* run.c - trotline run: one orchestrated crawl from start to end. What is said of it stands in run_tell.c. */
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "cmd/commands.h"
#include "cmd/run.h"
#include "engine/close.h"
#include "engine/crawl_check.h"
#include "engine/crawl_fanin.h"
#include "engine/lock.h"
#include "engine/plan.h"
#include "engine/recover.h"

/* ---- options */

static int parse_fail_on(const char *text, struct run_options *o) {
    static const struct {
        const char *word;
        enum fail_on value;
    } words[] = {{"line", FAIL_ON_LINE},
                 {"any", FAIL_ON_ANY},
                 {"root", FAIL_ON_ROOT},
                 {"leash", FAIL_ON_LEASH},
                 {"never", FAIL_ON_NEVER}};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(text, words[i].word) == 0) {
            o->fail_on = words[i].value;
            return TL_OK;
        }
    char *end;
    o->percent = strtod(text, &end);
    o->fail_on = FAIL_ON_PERCENT;
    return end > text && strcmp(end, "%") == 0 && o->percent >= 0 && o->percent <= 100 ? TL_OK : TL_INVALID;
}

int run_option(const char *command, int c, struct run_options *o) {
    switch (c) {
    case 'o':
        o->output_given = true;
        return cmd_format(optarg, &o->format) || o->format == CMD_CSV
                   ? cmd_usage(command, "-o takes table, json or jsonl, not '%s'", optarg)
                   : 0;
    case OPT_PLAN:
        o->plan = true;
        return 0;
    case OPT_RESUME:
        o->resume = optarg;
        return 0;
    case OPT_RELAX:
        o->relax = true;
        return 0;
    case OPT_TIMEOUT:
        return time_parse_duration(span_of(optarg), &o->timeout_us) || o->timeout_us <= 0
                   ? cmd_usage(command, "--timeout takes a duration such as 90s or 1h, not '%s'", optarg)
                   : 0;
    case OPT_FAIL_ON:
        return parse_fail_on(optarg, o)
                   ? cmd_usage(command, "--fail-on takes line, any, N%%, root, leash or never, not '%s'", optarg)
                   : 0;
    case OPT_SET:
        o->set = mem_array(o->set, o->set_count + 1, sizeof *o->set);
        o->set[o->set_count++] = optarg;
        return 0;
    default:
        return EXIT_USAGE;
    }
}

/* ---- new, or again */

static bool owner_alive(void *ctx, const char *owner) {
    struct running *r = ctx;
    return strcmp(owner, lake_owner(r->open.lake)) == 0 || lake_owner_alive(r->open.lake, owner);
}

static void keep_crawl(struct running *r, const struct store_crawl *found) {
    r->root = *found;
    r->root.name = r->crawl.name;
    r->root.file_json = r->crawl.json.ptr;
    r->root.file_sha256 = r->crawl.sha256;
    r->root.context_json =
        found->context_json ? arena_text(&r->crawl.arena, found->context_json, strlen(found->context_json)) : NULL;
    r->root.leash_json = r->root.reason = NULL;
}

static int find_resumed(struct running *r, struct fail *why) {
    const char *command = r->crawl.file ? "run" : "crawl";
    struct store_crawl found;
    struct uuid id;
    int rc;
    if (strcmp(r->o->resume, "auto") == 0) {
        rc = store_crawl_by_name(r->open.store, r->crawl.name, true, &found);
        if (rc == TL_NOTFOUND)
            return TL_NOTFOUND;
    } else {
        if ((rc = store_find_run(r->open.store, r->o->resume, &id, why)))
            return cmd_fail(why, EXIT_USAGE);
        rc = store_crawl_by_id(r->open.store, &id, &found);
        if (rc == TL_NOTFOUND)
            return cmd_usage(command, "%s is a run, but not the root of a crawl", r->o->resume);
    }
    if (rc)
        return cmd_fail(why, EXIT_INTERNAL);
    if (strcmp(found.name, r->crawl.name) != 0)
        return cmd_usage(command, "%s is a crawl of '%s', not of '%s'", r->o->resume, found.name, r->crawl.name);
    bool goes_on = !found.closed && !found.stop_asked; /* what was stopped only ends, what is closed is only told */
    if (goes_on && !r->o->relax && strcmp(found.file_sha256, r->crawl.sha256) != 0) {
        char root[UUID_TEXT];
        uuid_text(&found.root_id, root);
        fail_exit(why, TL_INVALID, EXIT_CONFIG,
                  "%s was edited since crawl %s began, which is unfinished: go on with it all the same by --relax, or "
                  "give it up: trotline stop %s",
                  r->crawl.file ? r->crawl.file : "the crawl", root, root);
        return cmd_fail(why, EXIT_CONFIG);
    }
    keep_crawl(r, &found);
    if (crawl_context_same(&r->crawl, r->root.context_json, why))
        return cmd_fail(why, EXIT_CONFIG);
    r->was_closed = found.closed;
    if (found.closed && found.reason && strcmp(found.reason, "stopped") == 0)
        r->sum.end = SUPER_STOPPED;
    else if (found.closed && found.reason && strcmp(found.reason, "time") == 0)
        r->sum.end = SUPER_TIME;
    return 0;
}

/* What earlier processes left: runs that nobody works on go back to the queue. */
static int recover_runs(struct running *r, struct fail *why) {
    int64_t count = 0;
    int rc = store_begin(r->open.store, why);
    if (!rc)
        rc = store_recover(r->open.store, r->root.root, owner_alive, r, &count);
    if (!rc)
        rc = store_commit(r->open.store, why);
    if (count > 0)
        log_info("%lld run%s under way when the crawl was interrupted; taken up again", (long long)count,
                 count == 1 ? " was" : "s were");
    return rc;
}

/* Whoever carries out a crawl holds this, so that others know whether somebody does (stop). */
static int lock_root(struct running *r, struct fail *why) {
    uuid_text(&r->root.root_id, r->root_id);
    return lock_crawl(r->open.config.catalog, r->root_id, &r->root_fd, why);
}

static int begin(struct running *r) {
    struct fail why = FAIL_INIT;
    AUTO_BUF struct buf leash = BUF_INIT, context = BUF_INIT;
    int rc = recover_all(r->open.store, r->open.lake, &why);
    if (rc)
        return cmd_fail(&why, EXIT_INTERNAL);
    if (r->o->resume) {
        rc = find_resumed(r, &why);
        if (rc == 0 && lock_root(r, &why))
            return cmd_fail(&why, EXIT_DISK);
        if (rc == 0)
            return r->was_closed || recover_runs(r, &why) == TL_OK ? 0 : cmd_fail(&why, EXIT_INTERNAL);
        if (rc != TL_NOTFOUND)
            return rc;
    }
    if (crawl_context(&r->crawl, r->open.store, time_now_us(), &context, &why))
        return cmd_fail(&why, EXIT_CONFIG);
    leash_json(&leash, &r->crawl.leash);
    r->root = (struct store_crawl){.root_id = uuid_new(),
                                   .name = r->crawl.name,
                                   .file_json = r->crawl.json.ptr,
                                   .file_sha256 = r->crawl.sha256,
                                   .leash_json = arena_text(&r->crawl.arena, leash.data, leash.len)};
    if (context.len)
        r->root.context_json = arena_text(&r->crawl.arena, context.data, context.len);
    return lock_root(r, &why) ? cmd_fail(&why, EXIT_DISK) : 0;
}

/* ---- the turn of a target */

/* 0: it is still due. What is said of the catalog is what counts, now that nobody else can carry this crawl out. */
static int take_turn(struct running *r) {
    struct targets_due due;
    if (!r->turn || r->turn->by_hand)
        return 0;
    if (targets_due(r->open.store, r->turn->target, r->turn->now_us, &due)) {
        struct fail why = FAIL_INIT;
        fail_set(&why, TL_FAILED, "cannot ask the catalog when '%s' is due", r->crawl.name);
        return cmd_fail(&why, EXIT_INTERNAL);
    }
    r->due_us = due.point_us;
    return targets_is_due(&due, r->turn->now_us) ? 0 : RUN_SKIPPED;
}

/* It had its turn; and of a promoted one, where it comes from. Before the crawl is closed, for its record has the edge.
 */
static int keep_turn(struct running *r, struct fail *why) {
    int rc = r->turn && r->root.root ? store_begin(r->open.store, why) : TL_OK;
    if (rc || !r->turn || !r->root.root)
        return rc;
    const struct store_turn turn = {.at_us = r->turn->now_us, .due_us = r->due_us};
    if (!r->turn->by_hand)
        rc = store_target_turn_put(r->open.store, r->root.root, &turn);
    if (!rc && r->turn->target->from_run)
        rc = store_edge_put(r->open.store, r->turn->target->from_run, r->root.root, STORE_PROMOTED);
    if (!rc)
        return store_commit(r->open.store, why);
    store_rollback(r->open.store);
    return fail_set(why, rc, "the turn of '%s' cannot be written to the catalog", r->crawl.name);
}

/* ---- the whole */

static int drive(struct running *r) {
    struct fail why = FAIL_INIT;
    const bool progress = !r->g->quiet && !r->g->json_log && isatty(STDERR_FILENO);
    const struct super_options o = {.config = &r->open.config,
                                    .crawl = &r->crawl,
                                    .plugins = &r->open.plugins,
                                    .store = r->open.store,
                                    .lake = r->open.lake,
                                    .root = &r->root,
                                    .timeout_us = r->o->timeout_us,
                                    .progress = progress,
                                    .finished = r->o->format == CMD_JSONL && r->o->output_given ? run_tell_one : NULL};
    int rc = super_run(&o, &r->sum, &why);
    uuid_text(&r->root.root_id, r->root_id);
    if (rc) {
        if (r->root.root && r->o->output_given)
            printf("%s\n", r->root_id);
        return cmd_fail(&why, EXIT_INTERNAL);
    }
    if (keep_turn(r, &why))
        return cmd_fail(&why, EXIT_INTERNAL);
    if (run_is_over(r))
        rc = close_crawl(r->open.store, r->open.lake, &r->root, run_end_word(r), &why);
    else {
        rc = store_begin(r->open.store, &why);
        if (!rc)
            rc = store_crawl_reason(r->open.store, r->root.root, run_end_word(r));
        if (!rc)
            rc = store_commit(r->open.store, &why);
    }
    return rc ? cmd_fail(&why, EXIT_INTERNAL) : 0;
}

static int already_done(struct running *r) {
    uuid_text(&r->root.root_id, r->root_id);
    r->sum.lines = r->sum.lines_ended = 1;
    return 0;
}

static int run_it(struct running *r) {
    struct fail why = FAIL_INIT;
    int rc = cmd_open(&r->open, r->g, CMD_PLUGINS, r->o->set, r->o->set_count);
    if (!rc && crawl_check(&r->crawl, &r->open.config, &r->open.plugins, &why))
        rc = cmd_fail(&why, EXIT_CONFIG);
    if (!rc && crawl_fanin_check(&r->crawl, &why))
        rc = cmd_fail(&why, EXIT_CONFIG);
    if (rc)
        return rc;
    if (r->o->plan && crawl_check_secrets(&r->crawl, &r->open.config, &r->open.plugins, &why))
        log_warn("%s", why.text); /* that line would fail */
    if (r->o->plan)
        return plan_print(&r->open.config, &r->crawl, &r->open.plugins, r->o->format, stdout);
    if (r->crawl.lock && lock_crawl(r->open.config.catalog, r->crawl.name, &r->lock_fd, &why))
        return r->turn && !r->turn->by_hand && why.exit_code == EXIT_LOCKED ? RUN_SKIPPED : cmd_fail(&why, EXIT_DISK);
    rc = cmd_open(&r->open, r->g, CMD_STORE_WRITE | CMD_LAKE_WRITE, NULL, 0);
    if (!rc)
        rc = take_turn(r);
    if (!rc)
        rc = begin(r);
    if (!rc)
        rc = r->was_closed ? already_done(r) : drive(r);
    return rc ? rc : run_tell_end(r);
}

int run_and_release(struct running *r) {
    r->lock_fd = r->root_fd = -1;
    int code = run_it(r);
    cmd_close(&r->open);
    config_crawl_free(&r->crawl);
    if (r->lock_fd >= 0)
        close(r->lock_fd);
    if (r->root_fd >= 0)
        close(r->root_fd);
    return code;
}

static int run_with(int argc, char **argv, const struct cmd_globals *g, struct run_options *o) {
    static const struct option longs[] = {{"plan", no_argument, NULL, OPT_PLAN},
                                          {"resume", required_argument, NULL, OPT_RESUME},
                                          {"timeout", required_argument, NULL, OPT_TIMEOUT},
                                          {"set", required_argument, NULL, OPT_SET},
                                          {"fail-on", required_argument, NULL, OPT_FAIL_ON},
                                          {"relax", no_argument, NULL, OPT_RELAX},
                                          {"due", no_argument, NULL, OPT_DUE},
                                          {"target", required_argument, NULL, OPT_TARGET},
                                          {"now", required_argument, NULL, OPT_NOW},
                                          {"output", required_argument, NULL, 'o'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    struct running r = {.g = g, .o = o};
    struct fail why = FAIL_INIT;
    int64_t now_us = 0;
    const char *target = NULL;
    bool due = false;
    int c, rc;
    while ((c = cmd_option(argc, argv, "o:h", longs)) != 0) {
        if (c == CMD_HELP)
            return EXIT_DONE;
        if (c == CMD_USAGE)
            return EXIT_USAGE;
        if (c == OPT_NOW && (time_parse(span_of(optarg), &now_us) || now_us <= 0))
            return cmd_usage("run", "--now takes a time such as 2026-11-30T06:00:00Z, not '%s'", optarg);
        due = due || c == OPT_DUE;
        target = c == OPT_TARGET ? optarg : target;
        if (c != OPT_NOW && c != OPT_DUE && c != OPT_TARGET && (rc = run_option("run", c, o)))
            return rc;
    }
    if ((due || target) && (argc > optind || o->plan || o->resume || o->set_count || (due && target)))
        return cmd_usage("run", "--%s carries out targets: it takes no crawl file, no %s--plan, --resume or --set",
                         due ? "due" : "target", due ? "--target, " : "");
    if (due)
        return run_due(g, o, now_us);
    if (now_us)
        return cmd_usage("run", "--now goes with --due");
    if (target)
        return run_target(g, o, target);
    if (argc - optind != 1)
        return cmd_usage("run", optind == argc ? "which crawl? Name a crawl file" : "one crawl file at a time");
    if (strncmp(argv[optind], "http://", 7) == 0 || strncmp(argv[optind], "https://", 8) == 0)
        return cmd_usage("run", "%.300s is a URL, not a crawl file; did you mean: trotline crawl %.300s", argv[optind],
                         argv[optind]);
    if (config_crawl(argv[optind], o->set, o->set_count, &r.crawl, &why))
        return cmd_fail(&why, EXIT_CONFIG);
    return run_and_release(&r);
}

static int run_main(int argc, char **argv, const struct cmd_globals *g) {
    struct run_options o = {0};
    int code = run_with(argc, argv, g, &o);
    free(o.set);
    return code;
}

const struct command cmd_run = {
    "run", "run a crawl from start to end, or go on with one", run_main, "[OPTION]... CRAWL.yml | --due | --target ID",
    "Puts out the lines of a crawl file, follows what they lead to as far as the leash allows, and\n"
    "leaves documents in the lake and a graph in the catalog.\n"
    "\n"
    "      --due              instead of a crawl file: carry out the targets that are due (trotline targets), one\n"
    "                         after the other, and nothing else; what cron calls every few minutes\n"
    "      --now TIME         with --due: take this for the time\n"
    "      --target ID        carry out this target now, whether it is due or not; its schedule stays as it is\n"
    "      --plan             print the bound on its size (and what earlier crawls took); fetch nothing\n"
    "      --resume ROOT      go on with an interrupted crawl; `auto`: the newest unfinished one of this\n"
    "                         name, else begin a new one (what cron uses)\n"
    "      --relax            go on although the crawl file was edited since\n"
    "      --timeout T        stop after this time (90s, 1h), resumable; exit 7\n"
    "      --set KEY=VALUE    set a key of the crawl file or of trotline.yml for this run\n"
    "      --fail-on WHAT     line (default), any, N%, root, leash, never: what gives exit 5, 6 or 8\n"
    "  -o, --output FORMAT    table (default), jsonl: a line per finished run, json\n"
    "\n"
    "The last word on stdout is the root's id. Exit codes: trotline(1).\n"
    "\n"
    "Examples:\n"
    "  trotline run kayaking.yml\n"
    "  trotline run kayaking.yml --plan\n"
    "  trotline run kayaking.yml --resume auto --fail-on any\n"
    "  trotline run kayaking.yml --set leash.depth=2 -o jsonl\n"
    "  trotline -q run --due\n"
    "  trotline run --target kayaking\n"};
