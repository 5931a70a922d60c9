/* verify.c - trotline verify: is the lake what the catalog says, and the other way round? Problems on stdout, one a
 * line. */
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/times.h"
#include "cmd/commands.h"
#include "cmd/print.h"
#include "engine/verify.h"

enum { PROGRESS_US = 200000 };
struct verifying {
    int64_t shown_us;
};

static void problem(void *ctx, const char *file, const char *text) {
    AUTO_BUF struct buf line = BUF_INIT;
    (void)ctx;
    print_plain(&line, span_of(file), 0);
    buf_lit(&line, ": ");
    print_plain(&line, span_of(text), 0);
    buf_char(&line, '\n');
    log_progress(NULL);
    fwrite(line.data, 1, line.len, stdout);
}

static void warning(void *ctx, const char *file, const char *text) {
    (void)ctx;
    log_warn("%s: %s", file, text);
}

static void progress(void *ctx, const struct verify_sums *sums) {
    struct verifying *v = ctx;
    int64_t now = time_mono_us();
    if (now - v->shown_us < PROGRESS_US)
        return;
    char line[120], size[TIME_TEXT];
    v->shown_us = now;
    time_size_text(sums->bytes, size);
    snprintf(line, sizeof line, "%lld document%s, %lld attachment%s, %s read, %lld problem%s",
             (long long)sums->documents, print_s(sums->documents), (long long)sums->attachments,
             print_s(sums->attachments), size, (long long)sums->problems, print_s(sums->problems));
    log_progress(line);
}

static void say(const struct verify_sums *sums, const char *lake, bool quick, int64_t elapsed_us) {
    char size[TIME_TEXT], elapsed[TIME_TEXT];
    AUTO_BUF struct buf extra = BUF_INIT;
    time_size_text(sums->bytes, size);
    time_duration_text(elapsed_us, elapsed);
    if (sums->table_records)
        buf_printf(&extra, ", %lld record%s of tables", (long long)sums->table_records, print_s(sums->table_records));
    if (sums->earlier)
        buf_printf(&extra, ", %lld file%s of earlier attempts", (long long)sums->earlier, print_s(sums->earlier));
    if (sums->staged)
        buf_printf(&extra, ", %lld on their way from staging", (long long)sums->staged);
    if (sums->warnings)
        buf_printf(&extra, ", %lld warning%s", (long long)sums->warnings, print_s(sums->warnings));
    log_closing("verify: %lld document%s, %lld attachment%s, %lld closing record%s, %lld table file%s (%s %s in %s)%s: "
                "%lld problem%s in %s",
                (long long)sums->documents, print_s(sums->documents), (long long)sums->attachments,
                print_s(sums->attachments), (long long)sums->records, print_s(sums->records), (long long)sums->tables,
                print_s(sums->tables), quick ? "not read;" : "read:", size, elapsed, extra.data ? extra.data : "",
                (long long)sums->problems, print_s(sums->problems), lake);
}

static int verify(struct cmd_open *o, const struct cmd_globals *g, const char *id, bool quick) {
    struct fail why = FAIL_INIT;
    struct verify_sums sums;
    struct verifying v = {0};
    struct uuid root;
    int64_t start = time_mono_us();
    bool watched = !g->quiet && !g->json_log && isatty(STDERR_FILENO);
    if (id && store_find_run(o->store, id, &root, &why))
        return cmd_fail(&why, EXIT_USAGE);
    const struct verify_options options = {.store = o->store,
                                           .lake = o->lake,
                                           .root = id ? &root : NULL,
                                           .catalog = o->config.catalog,
                                           .quick = quick,
                                           .problem = problem,
                                           .warning = warning,
                                           .progress = watched ? progress : NULL,
                                           .ctx = &v};
    int rc = verify_lake(&options, &sums, &why);
    log_progress(NULL);
    if (!cmd_flush(stdout))
        return EXIT_DISK;
    if (rc)
        return cmd_fail(&why, EXIT_DAMAGED);
    if (!g->quiet || sums.problems)
        say(&sums, lake_path(o->lake), quick, time_mono_us() - start);
    return sums.problems ? EXIT_DAMAGED : EXIT_DONE;
}

static int verify_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {{"quick", no_argument, NULL, 'k'}, {0}};
    bool quick = false;
    for (int c; (c = cmd_option(argc, argv, "", longs)) != 0;) {
        if (c < 0)
            return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        quick = true;
    }
    if (argc - optind > 1)
        return cmd_usage("verify", "one crawl at a time, or all of them without an id");
    struct cmd_open o = {0};
    int code = cmd_open(&o, g, CMD_STORE_READ | CMD_LAKE_READ, NULL, 0);
    if (!code)
        code = verify(&o, g, argv[optind], quick);
    cmd_close(&o);
    return code;
}

const struct command cmd_verify = {
    "verify", "check lake and catalog against each other", verify_main, "[--quick] [ROOT]",
    "Checks that every document, attachment, closing record and table file (Parquet, Avro) of the catalog is in the\n"
    "lake with the right size and SHA-256, that each is whole, and that the catalog knows every file there is; and\n"
    "the catalog itself.\n"
    "Prints a line for each problem, FILE: what is wrong. Ends with 14 when there are any, else with 0. Crawls may\n"
    "run meanwhile. Nothing is changed.\n"
    "\n"
    "      ROOT      only this crawl\n"
    "      --quick   read nothing: are the files there, with the right size and mode?\n"
    "\n"
    "Examples:\n"
    "  trotline verify\n"
    "  trotline verify --quick\n"
    "  trotline verify 0193a5c4-7b2e-7d1f\n"};
