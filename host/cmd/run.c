/* run.c - trotline run and trotline crawl: one orchestrated crawl from start to end, with an honest exit code. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json_write.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "cmd/commands.h"
#include "cmd/tables.h"
#include "engine/args.h"
#include "engine/close.h"
#include "engine/crawl_fanin.h"
#include "engine/lock.h"
#include "engine/plan.h"
#include "engine/recover.h"
#include "engine/super.h"

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
struct running {
    const struct cmd_globals *g;
    const struct run_options *o;
    struct cmd_open open;
    struct crawl crawl;
    struct store_crawl root;
    struct super_summary sum;
    char root_id[UUID_TEXT];
    int lock_fd;
    bool was_closed;
};

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

enum {
    OPT_PLAN = 256,
    OPT_RESUME,
    OPT_TIMEOUT,
    OPT_SET,
    OPT_FAIL_ON,
    OPT_RELAX,
    OPT_DEPTH,
    OPT_FANOUT,
    OPT_RUNS,
    OPT_BYTES,
    OPT_TIME,
    OPT_HOST,
    OPT_NO_FOLLOW
};

/* The options that run and crawl share; 0 when taken, else what cmd_option gave or an exit code. */
static int take_option(const char *command, int c, struct run_options *o) {
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

/* ---- checks before anything is begun */

static int check_lines(struct running *r) {
    struct fail why = FAIL_INIT;
    const char *const *folders = r->open.config.plugins;
    size_t n = 0;
    while (folders && folders[n])
        n++;
    for (size_t i = 0; i < r->crawl.line_count + r->crawl.route_count; i++) {
        bool route = i >= r->crawl.line_count;
        const struct crawl_line *l = route ? NULL : &r->crawl.line[i];
        const struct crawl_route *x = route ? &r->crawl.route[i - r->crawl.line_count] : NULL;
        const char *name = route ? x->collector : l->collector;
        struct args a = {0};
        const struct plugin *p = plugin_find(&r->open.plugins, name);
        if (!p || !p->file) {
            plugin_missing(&r->open.plugins, name, folders, n, &why);
            return cmd_fail(&why, EXIT_PLUGIN);
        }
        int rc = route && !x->args.len ? TL_OK : args_check(p, route ? x->args : l->args, true, &a, &why);
        args_free(&a);
        if (rc) {
            struct fail placed = FAIL_INIT;
            if (r->crawl.file)
                fail_exit(&placed, rc, EXIT_CONFIG, "%s:%d:%d: %s", r->crawl.file, route ? x->line : l->line,
                          route ? x->column : l->column, why.text);
            else
                fail_exit(&placed, rc, EXIT_USAGE, "%s", why.text);
            return cmd_fail(&placed, EXIT_CONFIG);
        }
    }
    return 0;
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
            return cmd_usage("run", "%s is a run, but not the root of a crawl", r->o->resume);
    }
    if (rc)
        return cmd_fail(why, EXIT_INTERNAL);
    if (strcmp(found.name, r->crawl.name) != 0)
        return cmd_usage("run", "%s is a crawl of '%s', not of '%s'", r->o->resume, found.name, r->crawl.name);
    if (!r->o->relax && !found.stop_asked &&
        strcmp(found.file_sha256, r->crawl.sha256) != 0) { /* what was stopped only ends */
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
        log_info("%lld runs were under way when the crawl was interrupted; they are taken up again", (long long)count);
    return rc;
}

static int begin(struct running *r) {
    struct fail why = FAIL_INIT;
    AUTO_BUF struct buf leash = BUF_INIT, context = BUF_INIT;
    int rc = recover_all(r->open.store, r->open.lake, &why);
    if (rc)
        return cmd_fail(&why, EXIT_INTERNAL);
    if (r->o->resume) {
        rc = find_resumed(r, &why);
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
    return 0;
}

/* ---- output */

static void print_run(void *ctx, const struct super_finished *f) {
    (void)ctx;
    AUTO_BUF struct buf line = BUF_INIT;
    struct json_writer w = JSON_WRITER(&line);
    json_object_begin(&w);
    json_member_string(&w, "run_id", f->run_id);
    json_member_string(&w, "parent_id", f->parent_id);
    json_member_int(&w, "depth", f->depth);
    json_member_string(&w, "collector", f->collector);
    json_member_string(&w, "status", store_state_name[f->state]);
    json_member_string(&w, "reason", f->reason);
    json_member_string(&w, "url", f->url);
    json_member_int(&w, "http_status", f->http_status);
    json_member_int(&w, "bytes", f->bytes);
    json_member_real(&w, "seconds", f->seconds);
    json_member_string(&w, "document", f->document_path);
    json_member_string(&w, "error", f->error);
    json_object_end(&w);
    buf_char(&line, '\n');
    fwrite(line.data, 1, line.len, stdout);
    fflush(stdout);
}

static int64_t failed_of(const struct running *r) {
    return r->root.failed;
}

static int read_crawl_row(void *ctx, const struct store_row *row) {
    struct running *r = ctx;
    r->root.runs = row->value[0].number;
    r->root.failed = row->value[1].number;
    r->root.leashed = row->value[2].number;
    r->root.documents = row->value[3].number;
    r->root.bytes = row->value[4].number;
    return 1;
}

/* The first that holds, in the order of contracts: 14, 9, 70, 13, 6, 11, 10, 7, 8, 5, 0. */
static int exit_code_of(const struct running *r) {
    const struct super_summary *s = &r->sum;
    const struct run_options *o = r->o;
    bool all = s->lines == 0 ||
               (s->lines_ended == s->lines && s->lines_failed + s->lines_refused - s->lines_partial >= s->lines);
    bool some_line = s->lines_failed > 0;
    double percent = r->root.runs > 1 ? 100.0 * (double)failed_of(r) / (double)(r->root.runs - 1) : 0;
    if (s->refused_credentials > 0 && o->fail_on != FAIL_ON_NEVER)
        return EXIT_AUTH;
    if (all && s->end == SUPER_DONE && o->fail_on != FAIL_ON_NEVER)
        return EXIT_ROOT;
    if (s->end == SUPER_INTERRUPTED)
        return EXIT_INTERRUPT;
    if (s->end == SUPER_RATE)
        return EXIT_RATE;
    if (s->end == SUPER_TIMEOUT)
        return EXIT_TIMEOUT;
    if (o->fail_on == FAIL_ON_LEASH && r->root.leashed > 0)
        return EXIT_LEASH;
    if (o->fail_on == FAIL_ON_NEVER || o->fail_on == FAIL_ON_ROOT)
        return EXIT_DONE;
    if (some_line || (o->fail_on == FAIL_ON_ANY && (failed_of(r) > 0 || s->events_failed > 0)) ||
        (o->fail_on == FAIL_ON_PERCENT && percent > o->percent))
        return EXIT_LINE;
    return EXIT_DONE;
}

static const char *end_word(const struct running *r) {
    static const char *const words[] = {"done", "time", "stopped", "interrupted", "timeout", "rate", "disk"};
    return words[r->sum.end];
}

static void write_summary(const struct running *r, int code, struct buf *out) {
    struct json_writer w = JSON_WRITER(out);
    json_object_begin(&w);
    json_member_string(&w, "crawl", r->crawl.name);
    json_member_string(&w, "end", end_word(r));
    json_member_int(&w, "exit_code", code);
    json_member_int(&w, "runs", r->root.runs);
    json_member_int(&w, "failed", r->root.failed);
    json_member_int(&w, "leashed", r->root.leashed);
    json_member_int(&w, "documents", r->root.documents);
    json_member_int(&w, "bytes", r->root.bytes);
    json_member_int(&w, "queued", r->sum.queued);
    json_put_key(&w, "finished_here");
    json_object_begin(&w);
    for (int i = STORE_SUCCESS; i < STORE_STATES; i++)
        if (r->sum.by_state[i])
            json_member_int(&w, store_state_name[i], r->sum.by_state[i]);
    json_object_end(&w);
    AUTO_BUF struct buf leash = BUF_INIT;
    leash_json(&leash, &r->crawl.leash);
    json_member_raw(&w, "leash", buf_span(&leash));
    json_member_real(&w, "seconds", (double)r->sum.elapsed_us / 1e6);
    json_member_string(&w, "root_id", r->root_id);
    json_object_end(&w);
    buf_char(out, '\n');
}

static void print_table(const struct running *r) {
    char size[TIME_TEXT], elapsed[TIME_TEXT];
    for (int i = STORE_SUCCESS; i < STORE_STATES; i++)
        if (r->sum.by_state[i])
            printf("%-14s %8lld\n", store_state_name[i], (long long)r->sum.by_state[i]);
    if (r->sum.queued > 0)
        printf("%-14s %8lld\n", "queued", (long long)r->sum.queued);
    for (int i = STORE_DEPTH; i < STORE_REASONS; i++)
        if (r->sum.leashed_by[i])
            printf("leashed %-6s %8lld\n", store_reason_name[i], (long long)r->sum.leashed_by[i]);
    time_size_text(r->root.bytes, size);
    time_duration_text(r->sum.elapsed_us, elapsed);
    printf("%lld documents, %s, %s; root %s\n", (long long)r->root.documents, size, elapsed, r->root_id);
}

static void say_closing(const struct running *r, int code) {
    char elapsed[TIME_TEXT];
    AUTO_BUF struct buf leash = BUF_INIT, resume = BUF_INIT;
    time_duration_text(r->sum.elapsed_us, elapsed);
    if (r->crawl.file)
        buf_printf(&resume, "trotline run %s --resume %s", r->crawl.file, r->root_id);
    else
        buf_printf(&resume, "trotline show %s", r->root_id);
    if (r->sum.end == SUPER_INTERRUPTED || r->sum.end == SUPER_TIMEOUT || r->sum.end == SUPER_RATE) {
        log_ending(code, "crawl %s: %s after %s with %lld runs queued; go on with: %s", r->crawl.name, end_word(r),
                   elapsed, (long long)r->sum.queued, resume.data);
        return;
    }
    char in_force[160], depth[24], runs[24];
    snprintf(depth, sizeof depth, "%lld", (long long)r->crawl.leash.depth);
    snprintf(runs, sizeof runs, r->crawl.leash.runs == INT64_MAX ? "none" : "%lld", (long long)r->crawl.leash.runs);
    snprintf(in_force, sizeof in_force, "leash: depth %s, runs %s", depth, runs);
    log_ending(code,
               "crawl %s: %s after %s, %lld runs, %lld failed, %lld refused by the leash or robots (%s); look with: "
               "trotline %s %s",
               r->crawl.name, end_word(r), elapsed, (long long)r->root.runs, (long long)r->root.failed,
               (long long)r->root.leashed, in_force, code == EXIT_DONE || code == EXIT_LEASH ? "lineage" : "show",
               r->root_id);
}

/* Has the crawl ended, rather than this process? */
static bool is_over(const struct running *r) {
    return r->sum.end == SUPER_DONE || r->sum.end == SUPER_TIME || r->sum.end == SUPER_STOPPED;
}

/* ---- convert.after: tables of what was collected. The crawl is over and whole, whatever comes of it. */

static void make_tables(struct running *r) {
    struct fail why = FAIL_INIT;
    struct config_types types = {0};
    struct convert_sums converted;
    struct refine_sums sums = {0};
    const struct store_selection which = {.root = r->root.root};
    int after = r->open.config.convert.after;
    int rc = after == CONFIG_AFTER_NONE ? TL_OK : tables_convert(&r->open, r->g, &which, &converted, &why);
    if (!rc && after == CONFIG_AFTER_TABLES && (rc = config_types(&r->open.config, &types, &why)) == TL_OK) {
        sums.type = mem_alloc((types.count + 1) * sizeof *sums.type);
        rc = tables_refine(&r->open, r->g, &types, &which, &sums, &why);
        free(sums.type);
        config_types_free(&types);
    }
    if (rc)
        log_warn("the crawl is over, but its tables are not made (trotline %s %s makes up for it): %s",
                 after == CONFIG_AFTER_TABLES ? "refine" : "convert", r->root_id, why.text);
}

/* ---- on_finish */

static void run_hook(const char *command, const struct buf *summary) {
    int ends[2];
    pid_t pid;
    posix_spawn_file_actions_t files;
    char *argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", (char *)(uintptr_t)command, NULL};
    if (pipe2(ends, O_CLOEXEC))
        return;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[0], 0);
    posix_spawn_file_actions_adddup2(&files, 2, 1);
    int rc = posix_spawn(&pid, "/bin/sh", &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    close(ends[0]);
    for (size_t at = 0; !rc && at < summary->len;) {
        ssize_t n = write(ends[1], summary->data + at, summary->len - at);
        if (n < 0 && errno != EINTR)
            break;
        at += n > 0 ? (size_t)n : 0;
    }
    close(ends[1]);
    int status = 0;
    if (rc || waitpid(pid, &status, 0) < 0 || status)
        log_warn("on_finish: '%s' did not end well (status %#x)", command, (unsigned)status);
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
                                    .finished = r->o->format == CMD_JSONL && r->o->output_given ? print_run : NULL};
    int rc = super_run(&o, &r->sum, &why);
    uuid_text(&r->root.root_id, r->root_id);
    if (rc) {
        if (r->root.root && r->o->output_given)
            printf("%s\n", r->root_id);
        return cmd_fail(&why, EXIT_INTERNAL);
    }
    if (is_over(r))
        rc = close_crawl(r->open.store, r->open.lake, &r->root, end_word(r), &why);
    else {
        rc = store_begin(r->open.store, &why);
        if (!rc)
            rc = store_crawl_reason(r->open.store, r->root.root, end_word(r));
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

/* With `fanin:`, it is the policy there that says whether lines that failed matter. */
static int merge_legs(struct running *r, int code) {
    struct fail why = FAIL_INIT;
    bool ended = r->was_closed || is_over(r);
    if (!r->crawl.fanin.sources || !ended)
        return code;
    if (crawl_fanin(&r->crawl, r->open.store, r->open.lake, r->root_id, r->root.context_json, time_now_us(), &why))
        return r->o->fail_on == FAIL_ON_NEVER && why.exit_code == EXIT_ROOT ? code : cmd_fail(&why, EXIT_INTERNAL);
    return r->o->fail_on == FAIL_ON_LINE && code == EXIT_LINE ? EXIT_DONE : code;
}

static int finish(struct running *r) {
    struct fail why = FAIL_INIT;
    const struct store_value root = store_text(r->root_id);
    AUTO_BUF struct buf summary = BUF_INIT;
    store_query(r->open.store, "SELECT runs, failed, leashed, documents, bytes FROM crawls WHERE root_id = $1", &root,
                1, read_crawl_row, r, &why);
    int code = merge_legs(r, exit_code_of(r));
    write_summary(r, code, &summary);
    if (r->o->output_given && r->o->format != CMD_TABLE)
        fwrite(summary.data, 1, summary.len, stdout);
    else if (!r->g->quiet || r->o->output_given)
        print_table(r);
    if (!cmd_flush(stdout))
        code = EXIT_DISK;
    if (r->root.root && is_over(r))
        make_tables(r);
    for (size_t i = 0; i < r->open.config.on_finish_count; i++)
        run_hook(r->open.config.on_finish[i], &summary);
    say_closing(r, code);
    return code;
}

static int run_it(struct running *r) {
    struct fail why = FAIL_INIT;
    int rc = cmd_open(&r->open, r->g, CMD_PLUGINS, r->o->set, r->o->set_count);
    if (!rc)
        rc = check_lines(r);
    if (!rc && crawl_fanin_check(&r->crawl, &why))
        rc = cmd_fail(&why, EXIT_CONFIG);
    if (rc)
        return rc;
    if (r->o->plan)
        return plan_print(&r->open.config, &r->crawl, &r->open.plugins, r->o->format, stdout);
    if (r->crawl.lock && lock_crawl(r->open.config.catalog, r->crawl.name, &r->lock_fd, &why))
        return cmd_fail(&why, EXIT_DISK);
    rc = cmd_open(&r->open, r->g, CMD_STORE_WRITE | CMD_LAKE_WRITE, NULL, 0);
    if (!rc)
        rc = begin(r);
    if (!rc)
        rc = r->was_closed ? already_done(r) : drive(r);
    return rc ? rc : finish(r);
}

static int run_and_release(struct running *r) {
    r->lock_fd = -1;
    int code = run_it(r);
    cmd_close(&r->open);
    config_crawl_free(&r->crawl);
    if (r->lock_fd >= 0)
        close(r->lock_fd);
    free(r->o->set);
    return code;
}

static int run_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {{"plan", no_argument, NULL, OPT_PLAN},
                                          {"resume", required_argument, NULL, OPT_RESUME},
                                          {"timeout", required_argument, NULL, OPT_TIMEOUT},
                                          {"set", required_argument, NULL, OPT_SET},
                                          {"fail-on", required_argument, NULL, OPT_FAIL_ON},
                                          {"relax", no_argument, NULL, OPT_RELAX},
                                          {"output", required_argument, NULL, 'o'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    struct run_options o = {0};
    struct running r = {.g = g, .o = &o};
    struct fail why = FAIL_INIT;
    int c, rc;
    while ((c = cmd_option(argc, argv, "o:h", longs)) != 0) {
        if (c == CMD_HELP)
            return EXIT_DONE;
        if (c == CMD_USAGE)
            return EXIT_USAGE;
        if ((rc = take_option("run", c, &o)))
            return rc;
    }
    if (argc - optind != 1)
        return cmd_usage("run", optind == argc ? "which crawl? Name a crawl file" : "one crawl file at a time");
    if (config_crawl(argv[optind], o.set, o.set_count, &r.crawl, &why))
        return cmd_fail(&why, EXIT_CONFIG);
    return run_and_release(&r);
}

const struct command cmd_run = {
    "run", "run a crawl from start to end, or go on with one", run_main, "[OPTION]... CRAWL.yml",
    "Puts out the lines of a crawl file, follows what they lead to as far as the leash allows, and\n"
    "leaves documents in the lake and a graph in the catalog.\n"
    "\n"
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
    "  trotline run kayaking.yml --set leash.depth=2 -o jsonl\n"};

/* ---- crawl URL... */

static int take_limit(int c, struct leash *l) {
    AUTO_BUF struct buf json = BUF_INIT;
    struct fail why = FAIL_INIT;
    static const char *const keys[] = {"depth", "fanout", "runs", "bytes", "time"};
    if (c == OPT_HOST)
        return leash_add_host(l, optarg, &why) ? cmd_usage("crawl", "--host: %s", why.text) : (l->hosts_set = true, 0);
    struct json_writer w = JSON_WRITER(&json);
    const char *key = keys[c - OPT_DEPTH];
    bool digits = *optarg && strspn(optarg, "0123456789") == strlen(optarg);
    json_object_begin(&w);
    json_put_key(&w, key);
    digits &&c != OPT_TIME ? json_put_raw(&w, span_of(optarg)) : json_put_text(&w, optarg);
    json_object_end(&w);
    return leash_from_json(l, buf_span(&json), &why) ? cmd_usage("crawl", "--%s: %s", key, why.text) : 0;
}

static int crawl_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {{"plan", no_argument, NULL, OPT_PLAN},
                                          {"timeout", required_argument, NULL, OPT_TIMEOUT},
                                          {"set", required_argument, NULL, OPT_SET},
                                          {"fail-on", required_argument, NULL, OPT_FAIL_ON},
                                          {"output", required_argument, NULL, 'o'},
                                          {"depth", required_argument, NULL, OPT_DEPTH},
                                          {"fanout", required_argument, NULL, OPT_FANOUT},
                                          {"runs", required_argument, NULL, OPT_RUNS},
                                          {"bytes", required_argument, NULL, OPT_BYTES},
                                          {"time", required_argument, NULL, OPT_TIME},
                                          {"host", required_argument, NULL, OPT_HOST},
                                          {"no-follow", no_argument, NULL, OPT_NO_FOLLOW},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    struct run_options o = {0};
    struct running r = {.g = g, .o = &o};
    struct fail why = FAIL_INIT;
    struct leash leash;
    const char *args = "";
    int c, rc = 0;
    leash_defaults(&leash);
    while (!rc && (c = cmd_option(argc, argv, "o:h", longs)) != 0) {
        if (c == CMD_HELP || c == CMD_USAGE) {
            leash_free(&leash);
            return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        }
        if (c == OPT_NO_FOLLOW)
            args = "{\"follow\":false}";
        else
            rc = c >= OPT_DEPTH && c <= OPT_HOST ? take_limit(c, &leash) : take_option("crawl", c, &o);
    }
    if (!rc && optind == argc)
        rc = cmd_usage("crawl", "which URL?");
    if (!rc && config_crawl_urls((const char *const *)argv + optind, (size_t)(argc - optind), &leash, span_of(args),
                                 &r.crawl, &why))
        rc = cmd_fail(&why, EXIT_USAGE);
    leash_free(&leash);
    return rc ? rc : run_and_release(&r);
}

const struct command cmd_crawl = {
    "crawl", "crawl from URLs at hand, without a crawl file", crawl_main, "[OPTION]... URL...",
    "The same as `run` for URLs at hand: the http collector, no file, no lock.\n"
    "\n"
    "      --depth N          1: these pages alone; 2: and what they link to ... (default 3)\n"
    "      --fanout N         links followed of each page (default 1000)\n"
    "      --runs N           pages in all (default 10000)\n"
    "      --bytes SIZE       of bodies in all (default 10GiB)\n"
    "      --time T           for the whole crawl (default 24h)\n"
    "      --host PATTERN     let it go there, too: example.org, *.example.org, * (default: the URLs' own hosts)\n"
    "      --no-follow        fetch these pages and follow no link\n"
    "      --plan, --timeout T, --set KEY=VALUE, --fail-on WHAT, -o FORMAT: as in `trotline run`\n"
    "\n"
    "Examples:\n"
    "  trotline crawl https://kayaks.test/ --depth 2\n"
    "  trotline crawl https://kayaks.test/ https://rivers.test/ --runs 500 --host '*.kayaks.test'\n"};
