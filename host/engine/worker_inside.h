/* worker_inside.h - what the files of the worker share: its state, its jobs. */
#ifndef TROTLINE_ENGINE_WORKER_INSIDE_H
#define TROTLINE_ENGINE_WORKER_INSIDE_H
#include "engine/coroutine.h"
#include "engine/message.h"
#include "engine/process.h"
#include "engine/run.h"
#include "engine/shared.h"
#include "engine/tagset.h"

struct worker_scope { /* a leash as far as a worker needs it: who may be asked */
    int64_t key;
    struct buf leash; /* the effective leash as JSON, for the document */
    bool hosts_auto;  /* a line's redirect may add a host of the same registrable domain */
    char **pattern;   /* lists of patterns, each ended by NULL; the whole ended by another NULL */
    size_t pattern_count;
};
struct worker_secret { /* what a collector holds as const struct tl_secret * */
    char *name, *value;
    char **origin; /* NULL-ended */
};
struct job {
    int64_t key; /* unique in the supervisor's life; what all messages name it by */
    bool is_event, line, no_fuse, cancel, ready, ended;
    int64_t depth, reach, wake_us; /* wake_us 0: not asleep */
    struct worker_scope *scope;
    struct run *run;
    struct coroutine *coroutine;
    struct transfer *transfer;
    bool transfer_done;
    const void *args;
    struct tl_span args_json;
    const char *document_path, *document_collector, *document_url; /* of an event */
    int react_status;
    bool ask_validators;       /* the catalog may know some */
    struct tl_span conditions; /* of the run's own URL, as the supervisor answers; empty: none */
    struct buf learned;        /* hosts that a redirect of a line reached, each ended by NUL */
    /* an answer that the supervisor owes */
    bool awaiting, answered;
    int answer_status;
    struct buf answer;
    struct process_link programs;
    struct job *next;
};
struct worker {
    struct port port;
    struct shared *shared;
    struct shared_slot *me;
    int slot;
    struct buf message; /* being built */
    struct buf links;   /* rows of a document's entities, on their way */
    char *inbox;
    const struct tl_collector *collector;
    void *self, *default_args;
    struct transfer_pool *pool;
    struct fetcher *fetcher;
    struct cookies *cookies; /* this worker's copy of the crawl's jar */
    struct hash *hash;
    struct buf document, summary, attachments, facts;
    struct arena memory;                      /* what lives as long as the worker */
    struct job *job, *waiting, **waiting_end; /* started; not started yet, in order */
    size_t started, ready, asleep;
    bool quit;
    struct worker_scope **scope;
    size_t scope_count, scope_room;
    struct worker_secret *secret;
    size_t secret_count;
    const char *shard[256]; /* of the backups, by the first byte of an owner's digest */
    struct tagset known;    /* children that the supervisor took before: asking again is no use */
    /* from HELLO */
    int64_t inflight, root_started_us, memory_limit;
    const char *name, *lake, *staging, *cache, *crawl, *root_id, *version;
    const char *const *order;
    struct tl_span options, run_context;
    struct hash_key key;
    int staging_fd;
};

extern const struct run_backend worker_backend; /* worker_services.c */
const char *worker_secret_value(void *ctx, const struct tl_secret *secret, struct tl_span origin);
const struct tl_secret *worker_secret_find(void *ctx, const char *name);
/* worker.c: a stored document of that path below the lake, copied into the run's memory */
int worker_read_document(struct worker *w, struct job *j, const char *path, const char *result_id, struct tl_span *raw);
/* worker_report.c: the document into staging, wishes, and the closing message */
void worker_report(struct worker *w, struct job *j);
/* worker_crash.c */
void worker_crash_setup(struct worker *w);
/* worker_messages.c: what the supervisor says */
void worker_hear(struct worker *w);
void worker_job_free(struct job *j);
extern struct worker *worker_self; /* one a process */
#endif
