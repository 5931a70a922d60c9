/* retry.c - trotline retry: failed runs go back to the queue. */
#include "base/log.h"
#include "cmd/commands.h"
#include "engine/config.h"

static int add_reason(void *ctx, const struct store_row *row) {
    struct buf *out = ctx;
    buf_printf(out, "%s%.*s (%lld)", out->len ? ", " : "", (int)row->value[0].text.len, row->value[0].text.ptr,
               (long long)row->value[1].number);
    return 0;
}

static void say_nothing_to_do(struct store *s, const char *root, const char *reason) {
    const struct store_value id = store_text(root);
    AUTO_BUF struct buf reasons = BUF_INIT;
    store_query(s,
                "SELECT coalesce(reason, 'unknown'), count(*) FROM runs WHERE root_id = $1 AND status IN "
                "('failed', 'crashed') GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 20",
                &id, 1, add_reason, &reasons, NULL);
    if (reason && reasons.len)
        log_ending(EXIT_DONE, "no run of %s failed with reason %s; nothing was changed. Its failures are: %s", root,
                   reason, reasons.data);
    else
        log_ending(EXIT_DONE, "no run of %s failed; nothing was changed", root);
}

static int retry(struct cmd_open *o, const char *prefix, const char *reason) {
    struct fail why = FAIL_INIT;
    struct uuid id;
    struct store_crawl crawl;
    char root[UUID_TEXT];
    int64_t count = 0;
    if (store_find_run(o->store, prefix, &id, &why))
        return cmd_fail(&why, EXIT_USAGE);
    uuid_text(&id, root);
    int rc = store_begin(o->store, &why);
    if (!rc && store_crawl_by_id(o->store, &id, &crawl)) {
        store_rollback(o->store);
        return cmd_usage("retry", "%s is a run, but not the root of a crawl (trotline show %s names its root)", root,
                         root);
    }
    struct crawl recorded;
    bool by_hand = !rc && config_crawl_recorded(span_of(crawl.file_json), crawl.file_sha256, &recorded) == TL_OK;
    if (by_hand)
        config_crawl_free(&recorded);
    if (!rc)
        rc = store_crawl_retry(o->store, crawl.root, reason, &count);
    if (!rc)
        rc = store_commit(o->store, &why);
    if (rc) {
        store_rollback(o->store);
        return cmd_fail(&why, EXIT_INTERNAL);
    }
    if (!count)
        say_nothing_to_do(o->store, root, reason);
    else
        log_ending(EXIT_DONE, "%lld failed %s of %s %s again; go on with: trotline %s --resume %s", (long long)count,
                   count == 1 ? "run" : "runs", root, count == 1 ? "waits" : "wait",
                   by_hand ? "crawl" : "run CRAWL.yml", root);
    return EXIT_DONE;
}

static int retry_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {{"reason", required_argument, NULL, 'r'}, {0}};
    const char *reason = NULL;
    for (int c; (c = cmd_option(argc, argv, "", longs)) != 0;) {
        if (c < 0)
            return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        reason = optarg;
    }
    if (argc - optind != 1)
        return cmd_usage("retry", optind < argc ? "one crawl at a time" : "which crawl? Give the id of its root");
    struct cmd_open o = {0};
    int code = cmd_open(&o, g, CMD_STORE_READ | CMD_STORE_WRITE, NULL, 0);
    if (!code)
        code = retry(&o, argv[optind], reason);
    cmd_close(&o);
    return code;
}

const struct command cmd_retry = {
    "retry", "put failed runs of a crawl back into the queue", retry_main, "[--reason REASON] ROOT",
    "Failed and crashed runs of a crawl get all their attempts anew, and the crawl opens again; `trotline run\n"
    "--resume` (of a crawl without a file, `trotline crawl --resume`) then carries them out. ROOT is the id of its "
    "root run, whole or as far as it is unique.\n"
    "\n"
    "      --reason REASON    only those that failed for this reason: timeout, connect, http_503, ... (`trotline\n"
    "                         show` of a failed run names it)\n"
    "\n"
    "Examples:\n"
    "  trotline retry 0193a5c4-7b2e-7d1f\n"
    "  trotline retry --reason timeout 0193a5c4-7b2e-7d1f\n"};
