/* stop.c - trotline stop: asks the process that carries out a crawl to end it cleanly. */
#include "base/log.h"
#include "cmd/commands.h"

static int stop(struct cmd_open *o, const char *prefix) {
    struct fail why = FAIL_INIT;
    struct uuid id;
    struct store_crawl crawl;
    char root[UUID_TEXT];
    if (store_find_run(o->store, prefix, &id, &why))
        return cmd_fail(&why, EXIT_USAGE);
    uuid_text(&id, root);
    int rc = store_begin(o->store, &why);
    if (!rc && store_crawl_by_id(o->store, &id, &crawl)) {
        store_rollback(o->store);
        return cmd_usage("stop", "%s is a run, but not the root of a crawl (trotline show %s names its root)", root,
                         root);
    }
    if (!rc && crawl.closed) {
        store_rollback(o->store);
        log_ending(EXIT_DONE, "crawl %s is over already (%s)", root, crawl.reason ? crawl.reason : "done");
        return EXIT_DONE;
    }
    if (!rc)
        rc = store_crawl_stop(o->store, crawl.root);
    if (!rc)
        rc = store_commit(o->store, &why);
    if (rc) {
        store_rollback(o->store);
        return cmd_fail(&why, EXIT_INTERNAL);
    }
    log_ending(EXIT_DONE,
               "crawl %s was asked to stop: the process that carries it out will end it; if none does, it ends when it "
               "is resumed",
               root);
    return EXIT_DONE;
}

static int stop_main(int argc, char **argv, const struct cmd_globals *g) {
    for (int c; (c = cmd_option(argc, argv, "", NULL)) != 0;)
        return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
    if (argc - optind != 1)
        return cmd_usage("stop", optind < argc ? "one crawl at a time" : "which crawl? Give the id of its root");
    struct cmd_open o = {0};
    int code = cmd_open(&o, g, CMD_STORE_READ | CMD_STORE_WRITE, NULL, 0);
    if (!code)
        code = stop(&o, argv[optind]);
    cmd_close(&o);
    return code;
}

const struct command cmd_stop = {
    "stop", "end a running crawl cleanly, from outside", stop_main, "ROOT",
    "What is in flight is given up, what waits is cancelled, and the crawl is closed with all that it has.\n"
    "ROOT is the id of its root run, whole or as far as it is unique.\n"
    "\n"
    "Examples:\n"
    "  trotline stop 0193a5c4\n"};
