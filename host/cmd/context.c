/* context.c - trotline context: the run context that all legs of a crawl share. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/times.h"
#include "cmd/commands.h"
#include "engine/crawl_fanin.h"

enum { FILES_MAX = 10000 };
struct asked {
    const char *week, *source, *topic, *now;
    const char **code;
    size_t count, room;
};

static int print_context(const struct asked *a) {
    struct fail why = FAIL_INIT;
    struct week week;
    AUTO_BUF struct buf text = BUF_INIT;
    int64_t now = time_now_us();
    if (a->now && time_parse(span_of(a->now), &now))
        return cmd_usage("context", "--now wants a time such as 2026-06-05T17:42:56Z, not '%s'", a->now);
    if (crawl_context_week(a->week, now, &week))
        return cmd_usage("context", "--week wants an ISO week that exists, such as 2026-W23, or last; not '%s'",
                         a->week);
    if (crawl_context_make(week, a->source, a->topic, a->code, a->count, now, &text, &why))
        return cmd_fail(&why, EXIT_CONFIG);
    fwrite(text.data, 1, text.len, stdout);
    return cmd_flush(stdout) ? EXIT_DONE : EXIT_DISK;
}

static int add_code(struct asked *a, const char *path) {
    if (a->count == FILES_MAX)
        return cmd_usage("context", "at most %d files of code", FILES_MAX);
    MEM_GROW(a->code, a->count, a->room);
    a->code[a->count++] = path;
    return 0;
}

static int context_options(int argc, char **argv, struct asked *a) {
    static const struct option longs[] = {
        {"week", required_argument, NULL, 'w'},         {"source-config", required_argument, NULL, 's'},
        {"topic-config", required_argument, NULL, 't'}, {"code", required_argument, NULL, 'c'},
        {"now", required_argument, NULL, 'n'},          {0}};
    for (int c; (c = cmd_option(argc, argv, "", longs)) != 0;) {
        if (c < 0)
            return c;
        if (c == 'c' && add_code(a, optarg))
            return CMD_USAGE;
        if (c != 'c')
            *(c == 'w' ? &a->week : c == 's' ? &a->source : c == 't' ? &a->topic : &a->now) = optarg;
    }
    return 0;
}

static int context_main(int argc, char **argv, const struct cmd_globals *g) {
    struct asked a = {0};
    (void)g;
    int code = context_options(argc, argv, &a);
    if (code)
        code = code == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
    else if (optind < argc)
        code = cmd_usage("context", "what is '%s'? Files of code come after --code, one each", argv[optind]);
    else if (!a.week || !a.source || !a.topic)
        code = cmd_usage("context", "--week, --source-config and --topic-config are needed");
    else
        code = print_context(&a);
    free(a.code);
    return code;
}

const struct command cmd_context = {
    "context", "make the run context that all legs of a fan-in share", context_main,
    "--week WEEK --source-config FILE --topic-config FILE [--code FILE]... [--now TIME]",
    "Prints a run context (run_context_v1) as JSON: the ISO week, its window from Monday 00:00 UTC to the next, the\n"
    "SHA-256 of both configurations and of the code, and a run_id that follows from them. Give the same file to every\n"
    "leg (run_context: in a crawl file) and to `trotline fanin`; a leg with another window or configuration is\n"
    "refused there.\n"
    "\n"
    "      --week WEEK           2026-W23, or last: the last week that is over\n"
    "      --source-config FILE  whose SHA-256 becomes source_config_checksum\n"
    "      --topic-config FILE   whose SHA-256 becomes topic_config_checksum\n"
    "      --code FILE           a file that makes the result; may be given often, the order does not matter\n"
    "      --now TIME            instead of the clock: created_at, and what `last` goes by\n"
    "\n"
    "Examples:\n"
    "  trotline context --week last --source-config sources.yml --topic-config topic.yml > context.json\n"
    "  trotline context --week 2026-W23 --source-config sources.yml --topic-config topic.yml --code digest.py\n"};
