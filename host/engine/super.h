/* super.h - the supervisor: drives one crawl to its end.
 *
 * It owns the store, the leash and all commits, and loads no plugin. One thread; it never blocks on a worker. */
#ifndef TROTLINE_ENGINE_SUPER_H
#define TROTLINE_ENGINE_SUPER_H
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "engine/config.h"
#include "engine/plugin.h"
#include "lake/lake.h"
#include "store/store.h"

struct super_finished { /* what is told of each finished run */
    const char *run_id, *parent_id, *collector, *url, *reason, *error, *document_path;
    int64_t depth, bytes, http_status, attempts;
    double seconds;
    enum store_state state;
    bool line;
};
enum super_end { SUPER_DONE, SUPER_TIME, SUPER_STOPPED, SUPER_INTERRUPTED, SUPER_TIMEOUT, SUPER_RATE, SUPER_DISK };
struct super_summary {
    int64_t by_state[STORE_STATES]; /* of runs finished in this process, the root too */
    int64_t parts_failed;           /* of lines */
    int64_t lines, lines_failed, lines_refused, lines_partial, lines_ended; /* of the whole crawl */
    int64_t events_open;                                                    /* reactions that are still to come */
    int64_t queued, leashed, leashed_by[STORE_REASONS], events_failed, documents, bytes;
    int64_t elapsed_us, refused_credentials;
    enum super_end end;
};
struct super_options {
    const struct config *config;
    const struct crawl *crawl;
    const struct plugin_set *plugins;
    struct store *store;
    struct lake *lake;
    struct store_crawl *root; /* root 0: a new crawl is begun, with the id and names given here */
    int64_t timeout_us;       /* 0: none */
    bool progress;            /* a line on the terminal */
    void (*finished)(void *ctx, const struct super_finished *); /* NULL: nobody listens */
    void *ctx;
};
/* TL_OK when the crawl came to an end of any kind; a negative status with a reason when the host itself failed. */
int super_run(const struct super_options *o, struct super_summary *out, struct fail *why);
#endif
