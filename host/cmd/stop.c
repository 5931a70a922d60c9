/* stop.c - trotline stop: asks the process that carries out a crawl to end it cleanly; where there is none, ends it. */
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/commands.h"
#include "engine/close.h"
#include "engine/lock.h"
#include "engine/recover.h"

struct ending {
    struct cmd_open *open;
    struct store_crawl crawl;
    char root[UUID_TEXT];
    int64_t waiting;
};

static bool owner_alive(void *ctx, const char *owner) {
    struct cmd_open *o = ctx;
    return lake_owner_alive(o->lake, owner);
}

/* Of a crawl that nobody carries out: its queue is cancelled, and it is closed as it is. */
static int close_here(struct ending *e, const struct cmd_globals *g) {
    struct fail why = FAIL_INIT;
    struct cmd_open *o = e->open;
    int64_t taken_up = 0;
    int code = cmd_open(o, g, CMD_LAKE_WRITE, NULL, 0);
    if (code)
        return code;
    int rc = recover_all(o->store, o->lake, &why);
    if (!rc)
        rc = store_begin(o->store, &why);
    if (!rc)
        rc = store_recover(o->store, e->crawl.root, owner_alive, o, &taken_up);
    if (!rc)
        rc = store_crawl_drop_queue(o->store, e->crawl.root, STORE_CANCELLED, STORE_NO_REASON, &e->waiting);
    if (!rc)
        rc = store_commit(o->store, &why);
    if (rc) {
        store_rollback(o->store);
        return cmd_fail(&why, EXIT_INTERNAL);
    }
    if (close_crawl(o->store, o->lake, &e->crawl, "stopped", &why))
        return cmd_fail(&why, EXIT_INTERNAL);
    log_ending(EXIT_DONE,
               "nobody carried crawl %s out: %lld waiting %s cancelled, and it is closed; look with: trotline show %s",
               e->root, (long long)e->waiting, e->waiting == 1 ? "run was" : "runs were", e->root);
    return EXIT_DONE;
}

static int ask_to_stop(struct ending *e) {
    struct fail why = FAIL_INIT;
    int rc = store_begin(e->open->store, &why);
    if (!rc)
        rc = store_crawl_stop(e->open->store, e->crawl.root);
    if (!rc)
        rc = store_commit(e->open->store, &why);
    if (rc) {
        store_rollback(e->open->store);
        return cmd_fail(&why, EXIT_INTERNAL);
    }
    log_ending(EXIT_DONE, "crawl %s was asked to stop: the process that carries it out will end it", e->root);
    return EXIT_DONE;
}

static int stop(struct cmd_open *o, const struct cmd_globals *g, const char *prefix) {
    struct ending e = {.open = o};
    struct fail why = FAIL_INIT;
    struct uuid id;
    AUTO_CLOSE int lock = -1;
    if (store_find_run(o->store, prefix, &id, &why))
        return cmd_fail(&why, EXIT_USAGE);
    uuid_text(&id, e.root);
    if (store_crawl_by_id(o->store, &id, &e.crawl))
        return cmd_usage("stop", "%s is a run, but not the root of a crawl (trotline show %s names its root)", e.root,
                         e.root);
    if (e.crawl.closed) {
        log_ending(EXIT_DONE, "crawl %s is over already (%s)", e.root, e.crawl.reason ? e.crawl.reason : "done");
        return EXIT_DONE;
    }
    int rc = lock_crawl(o->config.catalog, e.root, &lock, &why); /* run.c holds it */
    if (rc == TL_REFUSED)
        return ask_to_stop(&e);
    return rc ? cmd_fail(&why, EXIT_DISK) : close_here(&e, g);
}

static int stop_main(int argc, char **argv, const struct cmd_globals *g) {
    for (int c; (c = cmd_option(argc, argv, "", NULL)) != 0;)
        return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
    if (argc - optind != 1)
        return cmd_usage("stop", optind < argc ? "one crawl at a time" : "which crawl? Give the id of its root");
    struct cmd_open o = {0};
    int code = cmd_open(&o, g, CMD_STORE_READ | CMD_STORE_WRITE, NULL, 0);
    if (!code)
        code = stop(&o, g, argv[optind]);
    cmd_close(&o);
    return code;
}

const struct command cmd_stop = {
    "stop", "end a running or interrupted crawl cleanly", stop_main, "ROOT",
    "What is in flight is given up, what waits is cancelled, and the crawl is closed with all that it has,\n"
    "by the process that carries it out; an interrupted crawl, which nobody carries out, at once by this command.\n"
    "ROOT is the id of its root run, whole or as far as it is unique.\n"
    "\n"
    "Examples:\n"
    "  trotline stop 0193a5c4-7b2e-7d1f\n"};
