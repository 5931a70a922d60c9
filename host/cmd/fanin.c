/* fanin.c - trotline fanin: merges the artifacts of legs that ran apart. */
#include "base/log.h"
#include "base/times.h"
#include "cmd/commands.h"
#include "engine/crawl_fanin.h"
#include "engine/legs.h"
#include "engine/sources.h"

struct asked {
    const char *context, *sources, *out, *now;
};

static int merge(struct fanin *f, const struct asked *a, const struct context *context, char **files, size_t n,
                 int64_t now) {
    struct fail why = FAIL_INIT;
    for (size_t i = 0; i < n; i++)
        if (legs_add_file(f, files[i], &why))
            log_warn("%s", why.text); /* an artifact that is not there, as far as the merge goes */
    return crawl_fanin_end(f, context, a->out, now, &why) ? cmd_fail(&why, EXIT_DISK) : EXIT_DONE;
}

static int fanin(const struct asked *a, char **files, size_t n) {
    struct fail why = FAIL_INIT;
    struct context context = {0};
    struct sources sources = {0};
    int64_t now = time_now_us();
    if (a->now && time_parse(span_of(a->now), &now))
        return cmd_usage("fanin", "--now wants a time such as 2026-06-12T18:00:00Z, not '%s'", a->now);
    int rc = context_read_file(a->context, &context, &why);
    if (!rc)
        rc = sources_read(a->sources, &sources, &why);
    int code = rc ? cmd_fail(&why, EXIT_CONFIG) : EXIT_DONE;
    if (!rc) {
        struct fanin_plan plan = sources_plan(&sources);
        struct fanin *f = fanin_new(&context, &plan);
        code = merge(f, a, &context, files, n, now);
        fanin_free(f);
    }
    sources_free(&sources);
    context_free(&context);
    return code;
}

static int fanin_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {{"context", required_argument, NULL, 'c'},
                                          {"sources", required_argument, NULL, 's'},
                                          {"out", required_argument, NULL, 'o'},
                                          {"now", required_argument, NULL, 'n'},
                                          {0}};
    struct asked a = {0};
    (void)g;
    for (int c; (c = cmd_option(argc, argv, "", longs)) != 0;) {
        if (c < 0)
            return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        *(c == 'c' ? &a.context : c == 's' ? &a.sources : c == 'o' ? &a.out : &a.now) = optarg;
    }
    if (!a.context || !a.sources || !a.out)
        return cmd_usage("fanin", "--context, --sources and --out are needed");
    return fanin(&a, argv + optind, (size_t)(argc - optind));
}

const struct command cmd_fanin = {
    "fanin", "merge the artifacts of legs that ran apart", fanin_main,
    "--context CONTEXT.json --sources SOURCES.yml --out DIR [--now TIME] ARTIFACT...",
    "Checks every artifact against the run context and its own checksum, applies the failure policy, merges, and\n"
    "writes DIR/WEEK.json (GitHub) and DIR/WEEK-external-news.json. The same artifacts in any order give the same\n"
    "bytes, but for merged_at. An ARTIFACT is a file of its own, or a document of a lake that has one. Inputs are\n"
    "never changed.\n"
    "\n"
    "A required source or shard that is missing, two artifacts of one source, or less than 60 % of the sources: exit "
    "6,\n"
    "and only DIR/diagnostics-RUN_ID.json is written. A context that contradicts itself: exit 3. What an optional\n"
    "leg lacks stands under `warnings`. trotline-fanin(5) has the formats.\n"
    "\n"
    "      --context FILE  of `trotline context`\n"
    "      --sources FILE  the sources in the order of their priority, and the shards: {id, required}\n"
    "      --out DIR       is made when it is not there\n"
    "      --now TIME      merged_at, instead of the clock\n"
    "\n"
    "Examples:\n"
    "  trotline fanin --context context.json --sources sources.yml --out data/raw legs/*.json\n"};
