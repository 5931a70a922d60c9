/* plain.h - a collector in this very process, without supervisor, worker, lake or catalog: for people with a debugger,
 * for `collect` and for the contract test.
 *
 * The same services (run.h) stand on a backend that really blocks. Answers come from the network, or from recorded
 * fixtures, with a fault on request; ids and times can be fixed, so that the same input gives the same bytes. */
#ifndef TROTLINE_ENGINE_PLAIN_H
#define TROTLINE_ENGINE_PLAIN_H
#include "base/fail.h"
#include "engine/config.h"
#include "engine/confine.h"
#include "engine/plain_programs.h"
#include "engine/run.h"

/* What a recorded server does wrong. */
enum plain_fault {
    PLAIN_SOUND,
    PLAIN_CUT,
    PLAIN_EMPTY,
    PLAIN_500,
    PLAIN_LOOP /* every answer is the first one */,
    PLAIN_HUGE,
    PLAIN_GARBAGE,
    PLAIN_CANCEL /* the first fetch is cancelled */,
    PLAIN_FAULTS
};
extern const char *const plain_fault_name[PLAIN_FAULTS];
struct plain_fixture { /* one recorded answer */
    char *url;
    struct buf raw; /* status line, headers, empty line, body */
};
struct plain_fixtures {
    struct plain_fixture *item;
    size_t count;
};
/* Every *.http of a folder: its first line is the URL, then the answer as it came. TL_NOTFOUND: no such folder. */
int plain_fixtures_read(const char *folder, struct plain_fixtures *out, struct fail *why);
void plain_fixtures_free(struct plain_fixtures *f);

struct plain_options {
    const char *file;                      /* the .so */
    const struct config *config;           /* for fetching, options and secrets; NULL: nothing is fetched, no secrets */
    struct tl_span options, payload;       /* JSON objects */
    const struct config_apis *apis;        /* of the plugin; or NULL */
    struct tl_span run_context;            /* as context_read gives it; empty: none */
    const struct plain_fixtures *fixtures; /* NULL: the network */
    enum plain_fault fault;
    size_t memory;                   /* of the run's arena; 0: as always */
    bool fixed;                      /* ids and times that are always the same */
    bool react;                      /* react to the own document, too */
    const char *attach_folder;       /* where attachments go; NULL: they are refused */
    const char *cache_folder;        /* what tl_cache_dir gives; NULL: nothing */
    struct plain_programs *programs; /* who carries programs out; NULL: none can be run */
    const struct confine *confine;   /* what this process may still do once the file is loaded; NULL: anything */
    void (*log)(enum tl_level level, const char *text);
};
struct plain_result {
    int status, react_status;
    char error[RUN_TEXT_MAX];
    struct buf document; /* empty: there is none */
    struct buf children; /* one JSON object a line: {"collector", "args", "flags"} */
    size_t child_count, fetches;
    size_t loosening; /* children that ask for more than the default leash; they would get no more than it */
};
/* Loads the file, opens it, runs it once, closes it. The texts of the result are the caller's (plain_result_free). */
int plain_run(const struct plain_options *o, struct plain_result *out, struct fail *why);
void plain_result_free(struct plain_result *r);
#endif
