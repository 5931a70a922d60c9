/* retry.c - trotline retry: failed runs go back to the queue. */
#include "base/log.h"
#include "cmd/commands.h"

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
    if (!rc)
        rc = store_crawl_retry(o->store, crawl.root, reason, &count);
    if (!rc)
        rc = store_commit(o->store, &why);
    if (rc) {
        store_rollback(o->store);
        return cmd_fail(&why, EXIT_INTERNAL);
    }
    if (!count && reason)
        log_ending(EXIT_DONE, "no run of %s failed with reason %s; nothing was changed", root, reason);
    else if (!count)
        log_ending(EXIT_DONE, "no run of %s failed; nothing was changed", root);
    else
        log_ending(EXIT_DONE, "%lld failed runs of %s wait again; go on with: trotline run CRAWL.yml --resume %s",
                   (long long)count, root, root);
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
    "--resume` then carries them out. ROOT is the id of its root run, whole or as far as it is unique.\n"
    "\n"
    "      --reason REASON    only those that failed for this reason: timeout, connect, http_503, ... (`trotline\n"
    "                         show` of a failed run names it)\n"
    "\n"
    "Examples:\n"
    "  trotline retry 0193a5c4\n"
    "  trotline retry --reason timeout 0193a5c4\n"};
