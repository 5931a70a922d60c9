/* super_inside.h - what the files of the supervisor share. */
#ifndef TROTLINE_ENGINE_SUPER_INSIDE_H
#define TROTLINE_ENGINE_SUPER_INSIDE_H
#include <poll.h>
#include <sys/types.h>

#include "engine/args.h"
#include "engine/message.h"
#include "engine/shared.h"
#include "engine/super.h"
#include "engine/tagset.h"
#include "net/cookies.h"

struct super_scope { /* a leash of this crawl, in memory */
    int64_t key;
    struct super_scope *parent;
    struct leash own, effective; /* own: what it says itself; effective: tightest limits of the chain */
    struct buf json;             /* effective, for documents */
    int64_t bytes_spent;
    bool hosts_auto;
    uint32_t version;    /* grows when hosts are learned */
    int64_t run_time_us; /* deadline of its runs: tightest time of the chain below the crawl's own; INT64_MAX: none */
};
struct super_host {
    int64_t key;
    struct pacing_host *row;
    struct pacing_rule rule;
    int64_t held_until_us; /* as the catalog has it: wall clock */
    int64_t claimed;       /* runs of this host in flight here */
};
struct super_job {
    int64_t key; /* what messages name it by */
    struct super_collector *collector;
    struct super_worker *worker; /* NULL: waits for one */
    bool is_event, line, no_fuse, done, cancel_sent, again;
    enum store_event_kind event_kind;
    /* from the claim */
    int64_t result_ref; /* of an unchanged run: whose document stands for its own */
    int64_t run, token, event, parent, depth, reach, attempts, target, host;
    struct super_scope *scope;
    struct uuid run_id, parent_id, result_id;
    struct uuid *path;
    size_t path_count;
    char *payload, *url, *context, *document_path, *document_collector;
    size_t payload_len;
    uint8_t digest[STORE_DIGEST];
    enum store_edge edge;
    /* times, monotonic */
    int64_t started_us, deadline_us, cancel_us;
    bool deadline_is_line;
    /* what came back */
    struct buf wishes; /* records as they came */
    uint32_t wish_count;
    struct buf state; /* pairs of message fields */
    uint32_t state_count;
    struct buf facts;       /* records as they came */
    struct buf links;       /* rows of the document's entities, as they came */
    struct buf attachments; /* JSON objects, comma separated */
    int status, react_status;
    enum store_state state_now;
    char *reason, *refusal, *error, *final_url, *folder, *datasets;
    char *asked_url, *canonical; /* of the last request: as asked, and what its page says; NULL: nothing */
    bool plain;                  /* its answer may stand for others */
    int64_t wall_started_us, wall_finished_us, bytes, http_status, not_before_us, document_bytes;
    struct sha256 document_sha256;
    bool document; /* a staged file RESULT_ID.part is there */
    struct buf learned;
    struct super_job *next; /* in the worker's list, the waiting list, or the group */
};
struct super_worker {
    struct super_collector *collector;
    struct port port;
    struct buf outbox; /* RUN and REACT messages that go in one packet; empty but while jobs are given out */
    pid_t pid;
    int slot, trace_fd;
    bool ready, quitting, dead;
    int wait_status;
    const char *killed_for; /* NULL: nobody killed it */
    struct super_job *killed_job;
    size_t jobs;
    int64_t idle_since_us;
    uint32_t *scope_version; /* what it knows of each scope, by index */
    size_t scope_count;
    struct super_worker *next;
};
struct super_collector {
    const struct plugin *plugin;
    struct plugin own_plugin; /* of one that is not installed any more */
    int64_t key, earlier_key;
    struct super_worker *worker;
    size_t workers, jobs; /* jobs: in flight, waiting ones too */
    struct super_job *waiting;
    int deaths, good;   /* deaths of workers that count still; runs that ended well since the last one */
    int64_t respawn_us; /* no worker before */
    bool quarantined;   /* one run in flight */
    bool broken;        /* cannot be loaded: its runs fail */
    char *broken_why;
    struct buf known; /* tag and reach of children taken since the last commit */
    uint32_t known_count;
    char *cache_dir;
    struct super_collector *next;
};
struct super {
    const struct super_options *o;
    const struct config *config;
    struct store *store;
    struct lake *lake;
    struct store_crawl *root;
    char root_id[UUID_TEXT];
    struct shared *shared;
    int shared_fd, signal_fd;
    bool slot_used[PACING_WORKERS];
    struct hash_key tag_key;
    struct hash *hash;
    struct cookies *cookies;   /* super_cookies.c; NULL: none yet */
    struct super_share *share; /* super_share.c */
    size_t share_count;
    struct super_collector *collector;
    struct super_scope **scope;
    size_t scope_count, scope_room;
    struct super_host *host;
    size_t host_count, host_room;
    struct super_job **job; /* by the low bits of their key */
    size_t job_room, jobs;
    int64_t job_seq;
    struct super_job *claimed, **claimed_end; /* claimed in the open transaction */
    struct super_job *group, **group_end;     /* done, waiting for the commit */
    size_t group_count;
    int64_t group_since_us;
    struct tagset known;
    struct super_refused *refused;
    struct super_exec *exec; /* programs that collectors asked for, in order (super_exec.c) */
    int guard_fd;            /* to the process that minds them, should this one die */
    pid_t guard_pid;         /* 0: not started yet; -1: there is none */
    struct buf message;
    char *inbox;
    const char *org, *project, *target_name; /* of the crawl */

    int64_t queued, events_open, event_reach, next_claim_us, next_beat_us, next_watch_us, next_progress_us,
        next_stop_look_us;
    int64_t stuck_until_us; /* nothing is under way, and nothing can start before; 0: not so */
    int64_t started_us, time_limit_us, timeout_at_us, drain_until_us;
    int64_t rate_bytes, rate_since_us;
    bool has_validators; /* the catalog has some: of earlier crawls */
    bool draining;       /* nothing new is claimed */
    enum super_end end;
    int fatal; /* the host itself failed */
    struct fail why;
    struct super_summary sum;
};

/* super_scope.c */
struct super_scope *super_scope_root(struct super *s); /* of a new crawl; not stored yet */
int super_scope_store(struct super *s, struct super_scope *x);
struct super_scope *super_scope_find(struct super *s, int64_t key);
struct super_scope *super_scope_child(struct super *s, struct super_scope *parent, struct tl_span leash_json,
                                      struct fail *why);
bool super_scope_allows(const struct super_scope *scope, struct tl_span host, int port);
bool super_scope_spent(const struct super_scope *scope); /* are the bytes of its chain used up? */
void super_scope_bytes(struct super_scope *scope, int64_t bytes);
int super_scope_learn(struct super *s, struct super_scope *scope, const struct buf *hosts);
void super_scope_send(struct super *s, struct super_worker *w, struct super_scope *scope);
int super_scopes_load(struct super *s);
void super_scopes_free(struct super *s);
/* super_workers.c */
struct super_collector *super_collector(struct super *s, const char *name);
struct super_collector *super_collector_by_key(struct super *s, int64_t key);
size_t super_capacity(struct super *s, const struct super_collector *c); /* runs that may be claimed for it now */
void super_assign(struct super *s, struct super_job *j);                 /* to a worker, or to the waiting list */
void super_serve_waiting(struct super *s);
void super_reap(struct super *s);
void super_retire_idle(struct super *s);
void super_good_run(struct super *s, struct super_collector *c); /* what died before is forgiven after some of them */
void super_workers_end(struct super *s);
void super_kill(struct super_worker *w, const char *why, struct super_job *culprit);
/* super_backups.c */
/* What came with a document: its name in staging, and its path. */
int super_attachments(struct super *s, struct super_job *j,
                      int (*each)(struct super *s, void *ctx, const char *staged, const char *path), void *ctx);
int super_backups_hold(struct super *s); /* when there are copies in the group; those that do not fit are done again */
void super_backups_release(struct super *s);
/* super_jobs.c */
struct super_job *super_job_new(struct super *s);
struct super_job *super_job_find(struct super *s, int64_t key);
void super_job_free(struct super *s, struct super_job *j);
void super_job_done(struct super *s, struct super_job *j); /* into the group */
void super_send_outbox(struct super_worker *w);
void super_job_send(struct super *s, struct super_job *j);   /* into its worker's outbox */
void super_job_refuse(struct super *s, struct super_job *j); /* claimed, but its leash is used up since */
void super_job_answer(struct super *s, struct super_job *j,
                      int64_t run); /* claimed, but that run's document is its answer */
void super_job_end(struct super *s, struct super_job *j, int status, enum store_state state, const char *reason,
                   const char *fmt, ...) TL_PRINTF(6, 7);
/* super_messages.c */
void super_hear(struct super *s, struct super_worker *w);
/* super_watch.c: deadlines, stalls */
void super_watch(struct super *s);
void super_cancel_all(struct super *s);
/* super_begin.c */
int super_begin(struct super *s); /* a new crawl: its root run, the root's document, its lines */
/* super_put.c */
int super_put_wishes(struct super *s, struct super_job *j);
int super_put_child(struct super *s, const struct store_wish *base, const struct plugin *plugin, struct tl_span args,
                    bool yaml, struct super_scope *scope, struct store_put_result *result, uint8_t digest[STORE_DIGEST],
                    struct fail *why);
/* super_facts.c: what workers learned, and what they ask of what was learned before */
void super_conditions(struct super *s, const struct super_job *j,
                      struct buf *m); /* of the run's own URL, into its message */
void super_answer(struct super *s, int kind, struct super_job *j, const char *a, const char *b, struct buf *value,
                  int *status);
int super_facts_record(struct super *s, struct super_job *j); /* within the transaction */
int64_t super_unchanged_ref(struct super *s,
                            const struct super_job *j); /* run whose document an unchanged run stands for; 0: none */
/* A host that is met: its pace and what the catalog remembers. Invalidates pointers from before. */
struct super_host *super_host_add(struct super *s, int64_t key, struct tl_span host_port);
int super_hosts_record(struct super *s);
/* super_cookies.c */
void super_cookie_heard(struct super *s, struct super_worker *from, struct message *m);
void super_cookies_send(struct super *s, struct super_worker *w); /* to a worker that is new */
/* super_share.c: what the runs of a collector share, in memory only */
int super_share_get(struct super *s, const struct super_job *j, const char *key, const char *stale, struct buf *value);
void super_share_heard(struct super *s, struct message *m);
void super_share_free(struct super *s);
/* super_links.c: entities and their links */
int super_links_record(struct super *s, struct super_job *j); /* within the transaction, after the document */
int super_earlier(struct super *s, const char *key,
                  struct buf *value); /* the newest document of a URN or URL. TL_NOTFOUND */
int super_unseen(struct super *s, const char *siblings, struct buf *value); /* what this crawl has not seen of them */
/* super_urls.c: documents by URL */
int super_urls_record(struct super *s, struct super_job *j); /* within the transaction, after the document */
int64_t super_urls_answer(struct super *s,
                          const struct super_job *j); /* run whose document answers it without a request; 0: none */
/* super_refused.c */
bool super_refused_again(struct super *s, uint64_t tag, const struct super_scope *scope,
                         int64_t reach); /* true: counted, nothing to do */
int super_refused_learn(struct super *s, uint64_t tag, const struct super_scope *scope, int64_t reach, int64_t parent,
                        int64_t collector, enum store_reason reason, const uint8_t digest[STORE_DIGEST]);
int super_refused_flush(struct super *s); /* within the transaction */
void super_refused_free(struct super *s);
/* super_claim.c */
int super_claim(struct super *s, int64_t *taken);
/* super_commit.c */
int super_commit(struct super *s);
/* super_exec.c */
void super_exec_start(struct super *s, struct super_worker *w, struct super_job *j, struct message *m);
void super_exec_input(struct super *s, struct super_job *j, struct message *m);
void super_exec_poll(struct super *s);
size_t super_exec_fds(struct super *s, struct pollfd *into, size_t room);
void super_exec_forget(struct super *s, int64_t job); /* it waits no more: what it had started is stopped */
void super_exec_end(struct super *s); /* stops all, and waits for their ends, some seconds at the most */
#endif
