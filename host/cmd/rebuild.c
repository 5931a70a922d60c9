/* rebuild.c - trotline rebuild: the catalog from the lake. */
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/times.h"
#include "cmd/commands.h"
#include "cmd/print.h"
#include "engine/rebuild.h"

struct rebuilding {
    bool watched;
    int64_t crawls, runs;
};

static void problem(void *ctx, const char *text) {
    AUTO_BUF struct buf line = BUF_INIT;
    (void)ctx;
    print_plain(&line, span_of(text), 0);
    buf_char(&line, '\n');
    log_progress(NULL);
    fwrite(line.data, 1, line.len, stdout);
}

static void restored(void *ctx, const struct package_head *head) {
    struct rebuilding *r = ctx;
    char line[80];
    r->crawls++;
    r->runs += head->runs;
    if (!r->watched)
        return;
    snprintf(line, sizeof line, "%lld crawl%s, %lld run%s restored", (long long)r->crawls, print_s(r->crawls),
             (long long)r->runs, print_s(r->runs));
    log_progress(line);
}

static void unrecorded(void *ctx, const char *root_id, int64_t documents) {
    (void)ctx;
    log_progress(NULL);
    printf("%s cannot be restored: the crawl was not closed, or its closing record is damaged; %lld document%s in "
           "the lake\n",
           root_id, (long long)documents, documents == 1 ? " stays" : "s stay");
}

static int rebuild(struct cmd_open *o, const struct cmd_globals *g, const char *catalog) {
    struct fail why = FAIL_INIT;
    struct rebuild_sums sums;
    struct rebuilding r = {.watched = !g->quiet && !g->json_log && isatty(STDERR_FILENO)};
    const struct rebuild_events to = {.restored = restored, .problem = problem, .unrecorded = unrecorded, .ctx = &r};
    int64_t start = time_mono_us();
    int rc = rebuild_catalog(catalog, o->lake, &to, &sums, &why);
    log_progress(NULL);
    if (!cmd_flush(stdout))
        return EXIT_DISK;
    if (rc)
        return cmd_fail(&why, EXIT_INTERNAL);
    char elapsed[TIME_TEXT], tracked[64] = "";
    if (sums.tracked)
        snprintf(tracked, sizeof tracked, ", %lld tracked name%s", (long long)sums.tracked, print_s(sums.tracked));
    time_duration_text(time_mono_us() - start, elapsed);
    if (!g->quiet || sums.problems)
        log_closing(
            "rebuild: %lld crawl%s with %lld run%s, %lld document%s and %lld table file%s%s restored into %s in "
            "%s; %lld damaged "
            "record%s, %lld crawl%s cannot be restored; look with: trotline ls",
            (long long)sums.crawls, print_s(sums.crawls), (long long)sums.runs, print_s(sums.runs),
            (long long)sums.documents, print_s(sums.documents), (long long)sums.tables, print_s(sums.tables), tracked,
            catalog, elapsed, (long long)sums.problems, print_s(sums.problems), (long long)sums.unrecorded,
            print_s(sums.unrecorded));
    return sums.problems ? EXIT_DAMAGED : EXIT_DONE;
}

static int rebuild_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {{"catalog", required_argument, NULL, 'C'}, {0}};
    const char *catalog = NULL;
    for (int c; (c = cmd_option(argc, argv, "", longs)) != 0;) {
        if (c < 0)
            return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        catalog = optarg;
    }
    if (optind < argc)
        return cmd_usage("rebuild", "it takes no argument such as '%s'; --catalog FILE names the catalog",
                         argv[optind]);
    if (catalog && !*catalog)
        return cmd_usage("rebuild", "--catalog wants the name of a file");
    struct cmd_open o = {0};
    int code = cmd_open(&o, g, CMD_LAKE_READ, NULL, 0);
    if (!code)
        code = rebuild(&o, g, catalog ? catalog : o.config.catalog);
    cmd_close(&o);
    return code;
}

const struct command cmd_rebuild = {
    "rebuild", "make the catalog anew from the lake", rebuild_main, "[--catalog FILE]",
    "Makes the catalog from the closing records of the lake: every closed crawl with its runs, lineage, refusals and\n"
    "documents, exactly as it was; and from the records of tables what convert, refine and compact did. Crawls that\n"
    "were not closed have no record and are named; their documents stay in the lake. The catalog must not be there, "
    "or\n"
    "be empty: move a damaged one away first. No server is asked.\n"
    "Ends with 14 when a record is damaged (the others are restored all the same), else with 0.\n"
    "\n"
    "      --catalog FILE   make this one, not the one of the configuration\n"
    "\n"
    "Examples:\n"
    "  trotline rebuild\n"
    "  trotline rebuild --catalog /tmp/restored.db\n"};
