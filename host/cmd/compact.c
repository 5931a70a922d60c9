/* compact.c - trotline compact: the item files of hours that are over become few. */
#include <unistd.h>

#include "base/log.h"
#include "base/times.h"
#include "cmd/commands.h"
#include "cmd/print.h"
#include "cmd/tables.h"
#include "engine/compact.h"
#include "engine/recover.h"

static void progress(void *ctx, const struct compact_sums *sums) {
    char line[120];
    (void)ctx;
    snprintf(line, sizeof line, "%lld files joined into %lld, %lld rows", (long long)sums->before,
             (long long)sums->after, (long long)sums->rows);
    log_progress(line);
}

static int compact(struct cmd_open *o, const struct cmd_globals *g, int64_t now_us) {
    struct fail why = FAIL_INIT;
    struct compact_sums sums;
    char size[TIME_TEXT];
    bool watched = !g->quiet && !g->json_log && isatty(STDERR_FILENO);
    const struct compact_options options = {.store = o->store,
                                            .lake = o->lake,
                                            .config = &o->config,
                                            .now_us = now_us,
                                            .progress = watched ? progress : NULL};
    int rc = recover_all(o->store, o->lake, &why);
    if (!rc)
        rc = compact_items(&options, &sums, &why);
    log_progress(NULL);
    if (rc)
        return cmd_fail(&why, EXIT_INTERNAL);
    time_size_text(sums.bytes, size);
    if (!sums.hours)
        log_ending(EXIT_DONE, "compact: nothing to do, no hour that is over has several files of a collector");
    else
        log_ending(EXIT_DONE, "compact: %lld files became %lld (%lld row%s, %s)", (long long)sums.before,
                   (long long)sums.after, (long long)sums.rows, print_s(sums.rows), size);
    return EXIT_DONE;
}

static int compact_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {{"now", required_argument, NULL, 'n'}, {0}};
    int64_t now_us = time_now_us();
    for (int c; (c = cmd_option(argc, argv, "", longs)) != 0;) {
        if (c < 0)
            return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        if (time_parse(span_of(optarg), &now_us))
            return cmd_usage("compact", "--now wants a time such as 2026-11-30T06:00:00Z, not '%s'", optarg);
    }
    if (argc > optind)
        return cmd_usage("compact", "it takes no crawl: files of several crawls are joined by hour and collector");
    struct cmd_open o = {0};
    int code = cmd_open(&o, g, CMD_STORE_READ | CMD_STORE_WRITE | CMD_LAKE_WRITE, NULL, 0);
    if (!code)
        code = compact(&o, g, now_us);
    cmd_close(&o);
    return code;
}

const struct command cmd_compact = {
    "compact", "join the small item files of hours that are over", compact_main, "[--now TIME]",
    "Joins the item files of each collector and hour of collection that is over into one Parquet and one Avro file,\n"
    "with the same rows, ids included. The new files are durable and recorded before the old ones are removed; what\n"
    "an interruption leaves behind is put in order by the next command that writes. A query that is under way "
    "meanwhile\n"
    "may find files gone, or for a moment the same rows twice: trotline-items(5) tells how to read safely.\n"
    "\n"
    "      --now TIME   take this for the time: hours that ended before are over\n"
    "\n"
    "Examples:\n"
    "  trotline compact\n"
    "  17 * * * *  trotline -q compact      # in a crontab, a little after each hour\n"};
