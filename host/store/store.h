/* store.h - the catalog: what is remembered about crawls, runs, documents, refusals, locks.
 *
 * The engine knows nothing else about databases. Everything is plural and happens inside one transaction that the
 * caller opens and closes: store_begin queues fairly for the write turn, store_commit makes it durable. A transaction
 * never spans a wait. Invariants:
 *  - a run is identified within its root by its digest; a second put of it inserts nothing and costs no leash;
 *  - a lease has an owner and a token that grows with every claim; a finish or retry with an old token writes nothing
 * (TL_NOTFOUND);
 *  - leash counters are debited in the transaction of the put or finish that spends them;
 *  - ancestor rows are written when a run is first claimed.
 * The store's clock decides leases. Keys are the store's own row numbers; outside the program runs have their UUID. */
#ifndef TROTLINE_STORE_H
#define TROTLINE_STORE_H
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/hash.h"
#include "base/uuid.h"
#include "trotline.h"

struct store;
enum store_mode {
    STORE_READ, /* must exist; nothing is written */
    STORE_WRITE /* made or upgraded when needed */
};
/* `where` is a file path (a postgresql:// URL in the cluster form). Refused with a sentence: a file that is no catalog
 * of ours, a catalog of a newer version, one that cannot be opened or written (exit codes 14, 9). */
int store_open(const char *where, enum store_mode mode, struct store **out, struct fail *why);
const char *store_library(void); /* the library underneath and its version, for people */
void store_close(struct store *s);
int64_t store_now_us(struct store *s); /* the clock of leases */
int store_begin(struct store *s, struct fail *why);
int store_commit(struct store *s, struct fail *why); /* on failure everything since store_begin is undone */
void store_rollback(struct store *s);

/* Order matters: `state < STORE_SUCCESS` means not finished yet. */
enum store_state {
    STORE_QUEUED,
    STORE_LEASED,
    STORE_SUCCESS,
    STORE_PARTIAL,
    STORE_FAILED,
    STORE_CRASHED,
    STORE_REFUSED,
    STORE_CANCELLED,
    STORE_NOT_MODIFIED,
    STORE_CACHED,
    STORE_STATES
};
extern const char *const store_state_name[STORE_STATES];
enum store_edge {
    STORE_SPAWN,
    STORE_PAGE,
    STORE_REACT,
    STORE_CACHED_EDGE,
    STORE_CANONICAL_OF,
    STORE_PROMOTED,
    STORE_EDGES
};
extern const char *const store_edge_name[STORE_EDGES];
enum store_reason {
    STORE_NO_REASON,
    STORE_DEPTH,
    STORE_FANOUT,
    STORE_RUNS,
    STORE_BYTES,
    STORE_TIME,
    STORE_HOSTS,
    STORE_ROBOTS,
    STORE_GUARD,
    STORE_REASONS
};
extern const char *const store_reason_name[STORE_REASONS];
enum { STORE_DIGEST = 16 }; /* bytes of a run's identity: the head of SHA-256(collector, 0, canonical payload) */

/* ---- collectors, targets, hosts: small tables whose keys the engine caches */
int store_collector(struct store *s, const char *name, const char *version, const char *summary, const char *sha256,
                    int64_t *key);
int store_target(struct store *s, const char *org, const char *project, const char *name,
                 int64_t *key); /* NULL is allowed */
int store_host(struct store *s, struct tl_span host_port, int64_t *key);
/* The way back, for runs that an earlier process put. Texts live until the next of these calls. TL_NOTFOUND. */
int store_collector_name(struct store *s, int64_t key, const char **name, const char **version);
int store_target_name(struct store *s, int64_t key, const char **org, const char **project,
                      const char **name); /* NULL: not given */
int store_host_name(struct store *s, int64_t key, const char **host_port);

/* ---- leash scopes: limits and what has been spent of them. A run belongs to one scope; budgets are debited up the
 * chain. */
struct store_scope {
    int64_t key, parent; /* parent 0: none */
    int64_t depth, fanout, runs, bytes,
        time_us; /* INT64_MAX: none. depth and fanout are already the tightest of the chain */
    int64_t runs_spent, bytes_spent;
    const char
        *json; /* the leash as text: limits and hosts; handed out, it lives until the leash changes or a rollback */
};
/* Fills in key. The json first given is a scope's identity under its parent: given again, it fills in all of the scope
 * as it stands. The first scope of a root with parent 0 is the crawl's: it becomes that of the root's run, which is
 * debited as one run. */
int store_scope_put(struct store *s, int64_t root, struct store_scope *scope);
int store_scopes(struct store *s, int64_t root, int (*each)(void *ctx, const struct store_scope *), void *ctx);
int store_scope_json(struct store *s, int64_t scope, const char *json); /* hosts learned by a line's redirect */

/* ---- crawls */
struct store_crawl {
    int64_t root; /* the root run's key */
    struct uuid root_id;
    const char *name, *file_json, *file_sha256; /* crawl name; the crawl file as canonical JSON; its digest in hex */
    const char *leash_json, *context_json;      /* the leash given; the run context or NULL */
    int64_t target, scope;
    bool closed, stop_asked;
    const char *reason; /* NULL, or why it ended: done, time, stopped, interrupted ... */
    int64_t started_us, finished_us, runs, failed, leashed, documents, bytes;
    int64_t turn_us, due_us; /* as a target's turn: the time that `run --due` went by, and what it was due for; or 0 */
};
/* Makes the crawl and its root run (state leased, owned by `owner`, token 1, reach 0, digest of the root's payload).
 * Fills in root, root_id and started_us where they are empty. Its scope is the first that is put for it
 * (store_scope_put). */
int store_crawl_new(struct store *s, struct store_crawl *c, int64_t collector, struct tl_span payload,
                    const char *owner, struct fail *why);
/* The newest crawl of a name (open_only: not closed), or by root id. Texts live until the next call. TL_NOTFOUND. */
int store_crawl_by_name(struct store *s, const char *name, bool open_only, struct store_crawl *out);
int store_crawl_by_id(struct store *s, const struct uuid *root, struct store_crawl *out);
int store_crawl_close(struct store *s, int64_t root, const char *reason,
                      const char *package_sha256);                         /* open -> closed */
int store_crawl_reason(struct store *s, int64_t root, const char *reason); /* stays open: interrupted ... */
int store_crawl_stop(struct store *s, int64_t root);                       /* asks its owner to end it */
int store_crawl_stop_asked(struct store *s, int64_t root, bool *asked);    /* cheap; outside a transaction too */
/* Every queued run of the root becomes `to` (cancelled, or refused with a row in leashed for each, under its parent).
 * Counts them. */
int store_crawl_drop_queue(struct store *s, int64_t root, enum store_state to, enum store_reason reason,
                           int64_t *count);
/* Failed and crashed runs (of this reason, NULL: any) go back to the queue with attempts 0; a closed crawl opens again.
 */
int store_crawl_retry(struct store *s, int64_t root, const char *reason, int64_t *count);

/* ---- put: children into the queue */
struct store_wish {
    int64_t root, parent; /* run keys */
    int64_t parent_depth, parent_reach;
    int64_t collector, target, scope, host; /* host 0: no URL argument */
    uint8_t digest[STORE_DIGEST];
    struct tl_span payload;   /* arguments as given: a JSON object */
    struct tl_span url;       /* first URL argument as given, or empty */
    const char *context;      /* result_context_name of the branch, or NULL: the parent's */
    enum store_edge edge;     /* SPAWN, PAGE (same depth, no fan-out) or REACT */
    bool line;                /* a line of the crawl: free of fan-out */
    enum store_reason refuse; /* what the engine already knows: HOSTS; judged after "known?" and depth */
};
enum store_verdict {
    STORE_NEW,
    STORE_KNOWN,
    STORE_NEARER /* was queued, moved under this parent */,
    STORE_AGAIN /* finished or leased, now
reached nearer: reach lowered, an event of kind again put into the outbox when it has a document */
    ,
    STORE_LEASHED
};
struct store_put_result {
    enum store_verdict verdict;
    enum store_reason reason; /* of STORE_LEASHED */
    int64_t run;              /* key of the new or known run, 0 when leashed */
    int64_t reach;            /* the run's smallest distance now */
};
/* Order: known? then depth (reach of the child against the scope's depth), hosts, fanout (accepted children of the
 * parent), runs (the whole scope chain), bytes (chain already spent). Refusals are counted in `leashed` (one row per
 * root, digest, reason). */
int store_put(struct store *s, const struct store_wish *wish, size_t n, struct store_put_result *out, struct fail *why);
/* A refusal that is not decided in put: robots, guard, hosts on a redirect, at fetch time. parent 0: the run's own
 * parent. */
int store_leashed(struct store *s, int64_t root, int64_t parent, int64_t collector, const uint8_t digest[STORE_DIGEST],
                  struct tl_span url, enum store_reason reason, int64_t times);

/* ---- claim */
struct store_claimed {
    int64_t key, token, root, parent, depth, reach, attempts, collector, target, scope, host;
    struct uuid run_id, parent_id;
    const struct uuid
        *path; /* root .. parent: path_count entries, which is depth plus the continuations (PAGE) on the way */
    size_t path_count;
    struct tl_span payload, url;
    const char *context; /* or NULL */
    enum store_edge edge;
    uint8_t digest[STORE_DIGEST];
    bool line;
};
enum store_take { /* leaving all of a host or collector is for this claim only, and saves asking for each of a long
                     queue */
                  STORE_TAKE_STOP = -1,
                  STORE_LEAVE,
                  STORE_TAKE,
                  STORE_LEAVE_HOST,
                  STORE_LEAVE_COLLECTOR
};
struct store_claim {
    int64_t root;
    const char *owner;
    int64_t lease_us;
    int64_t open_reach; /* smallest reach of what is leased or has events under way here; INT64_MAX: none */
    const int64_t *blocked_hosts;
    size_t blocked_host_count; /* take no run of these */
    const int64_t *blocked_collectors;
    size_t blocked_collector_count;
    size_t max;
    /* Asked for each candidate in order of (reach, key) for an enum store_take. Texts and path live until the callback
     * returns, which must not write to the store. The root's own run never holds others up while it is leased. */
    int (*take)(void *ctx, const struct store_claimed *run);
    void *ctx;
};
/* Leases up to max runs that are due, and of a reach of at most 1 + the smallest reach that is open anywhere in the
 * root (queued runs parked for more than 30 s do not count as open). next_due_us: when the earliest run that was not
 * due yet will be (INT64_MAX: none). */
int store_claim(struct store *s, const struct store_claim *spec, size_t *taken, int64_t *next_due_us, struct fail *why);
/* Queued or leased runs of the root. */
int store_open_runs(struct store *s, int64_t root, int64_t *queued, int64_t *leased);
int store_beat(struct store *s, const char *owner, int64_t lease_us); /* extends every lease of the owner */
/* Runs leased by owners other than `alive` say (asked once an owner), or whose lease ran out, go back to the queue;
 * free of attempts. */
int store_recover(struct store *s, int64_t root, bool (*alive)(void *ctx, const char *owner), void *ctx,
                  int64_t *count);

/* ---- finish */
struct store_document {
    struct uuid result_id;
    const char *folder;   /* path of the folder below the lake, no slash at the end */
    struct sha256 sha256; /* of the whole file */
    int64_t bytes, collected_us;
    const char *datasets;    /* JSON [[name, type, elements, bytes, media_type, encoding, sha256], ...] */
    const char *attachments; /* JSON [{name, path, bytes, sha256, media_type}, ...] or NULL */
};
struct store_finish {
    int64_t key, token;
    enum store_state state;
    const char
        *reason; /* NULL, or one word: why a failed or crashed run ended: timeout, connect, http_404, signal, ... */
    const char *error;                                   /* a sentence, or NULL */
    int64_t started_us, finished_us, bytes, http_status; /* 0: none */
    struct tl_span final_url;                            /* empty: that of the run */
    const struct store_document *document;               /* NULL: none */
    int64_t result_ref; /* run key of an earlier result that this one stands for, 0: none */
};
int store_finish(struct store *s, const struct store_finish *f, size_t n, int *status,
                 struct fail *why); /* status[i]: TL_OK or TL_NOTFOUND */
/* Back to the queue, not before a time; counts as an attempt unless free. TL_NOTFOUND: an old token. */
int store_retry(struct store *s, int64_t key, int64_t token, int64_t not_before_us, bool free_of_charge,
                const char *error);

/* ---- events: the outbox of reactions */
enum store_event_kind { STORE_EVENT_REACT, STORE_EVENT_AGAIN };
struct store_event {
    int64_t key, run, reactor; /* run whose document it is; collector that reacts */
    int64_t attempts, reach;   /* reach: that of the run now */
    enum store_event_kind kind;
    struct tl_span args; /* JSON object, or empty: the run's own arguments */
};
int store_event_put(struct store *s, int64_t root, int64_t run, int64_t reactor, struct tl_span args,
                    enum store_event_kind kind);
/* Events that are due, those of the smallest reach first, then the oldest, marked as taken by owner; each gets the
 * run's row and its document's path. */
int store_event_claim(struct store *s, int64_t root, const char *owner, size_t max,
                      int (*each)(void *ctx, const struct store_event *, const struct store_claimed *run,
                                  const char *document_path),
                      void *ctx);
/* ok: its row is gone. Not ok: again after 1, 2 and 4 s, then failed (its row stays). TL_NOTFOUND: it is not open. */
int store_event_finish(struct store *s, int64_t key, bool ok, const char *error);
int store_events_open(struct store *s, int64_t root, int64_t *count, int64_t *smallest_reach, int64_t *next_due_us);

/* ---- state of collectors, per crawl name */
int store_state_get(struct store *s, const char *crawl, int64_t collector, struct tl_span key,
                    struct buf *value); /* TL_NOTFOUND */
int store_state_put(struct store *s, const char *crawl, int64_t collector, struct tl_span key, struct tl_span value);

/* ---- hosts between processes: their pace and their robots.txt */
struct store_host_state {
    int64_t delay_us, until_us; /* until_us: wall clock, 0: none */
    int robots;                 /* 0 not known, 1 rules, 2 none */
    bool robots_tls;            /* of https; else of http: another origin, another robots.txt */
    int64_t robots_us;          /* when it was read */
    struct tl_span robots_text; /* lives until the next call */
};
int store_host_state(struct store *s, int64_t host, struct store_host_state *out); /* TL_NOTFOUND */
int store_host_pace(struct store *s, int64_t host, int64_t delay_us, int64_t until_us);
int store_host_find(struct store *s, struct tl_span host_port, int64_t *host); /* TL_NOTFOUND: it has no row */
int store_host_robots(struct store *s, int64_t host, bool tls, int robots, struct tl_span text);

/* ---- what is known of URLs: where they lead, their documents, their validators */
struct store_url { /* canonical text, and its key (net/url.h); several texts may have one key, and the text decides */
    struct tl_span text;
    uint64_t key;
};
enum store_url_kind { STORE_URL_SAME, STORE_URL_REDIRECT, STORE_URL_CANONICAL, STORE_URL_CLAIM };
struct store_validator {
    const char *etag, *last_modified; /* NULL: none; live until the next call */
    int64_t run, unchanged, at_us;    /* run whose document holds the answer; 304s since */
};
int store_validator_get(struct store *s, struct store_url url, const char *credential,
                        struct store_validator *out); /* TL_NOTFOUND */
bool store_validators_any(struct store *s);           /* is there one at all? */
int store_validator_put(struct store *s, struct store_url url, const char *credential,
                        const struct store_validator *v); /* the newest wins */
int store_validator_unchanged(struct store *s, struct store_url url, const char *credential,
                              int64_t at_us); /* another 304 */
int store_validator_forget(struct store *s, struct store_url url, const char *credential);
/* `from` leads to `to` since at_us; what it led to before ends then, unless that is newer. A claim stands beside the
 * other kinds. */
int store_url_map(struct store *s, struct store_url from, struct store_url to, enum store_url_kind kind, int64_t at_us);
struct store_fetched { /* a run's document, by URL */
    struct store_url asked, source, url,
        claim; /* asked for; where the bytes came from; canonical; claim.text empty: none */
    int64_t run, at_us;
    bool believed; /* it says where URLs lead; a failure says nothing */
    bool plain;    /* it may answer others */
};
/* Records a document under its canonical URL, the mappings that it speaks of, and edges canonical_of between runs that
 * asked for the canonical URL itself and runs that came to it by another. */
int store_url_fetched(struct store *s, const struct store_fetched *f);
int store_url_seen(struct store *s, int64_t run, int64_t at_us); /* its document is as good as new */
/* The newest plain document, seen since then, that answers for this URL: of it, of what it leads to by now, or of the
 * way there. TL_NOTFOUND. */
int store_url_answer(struct store *s, struct store_url url, int64_t since_us, int64_t *run);
int store_url_find(struct store *s, struct store_url url, int64_t *id); /* url_id of the views. TL_NOTFOUND */
int store_url_next(struct store *s, int64_t id, int64_t *to,
                   enum store_url_kind *kind); /* where it leads now; TL_NOTFOUND: nowhere else */
/* URLs whose keys have the same upper bits, in the order of their keys. A positive answer ends it. */
int store_url_near(struct store *s, uint64_t key, int (*each)(void *ctx, uint64_t key, struct tl_span url), void *ctx);
/* Its mappings, pointers to its documents, and validators go; the documents stay. */
int store_url_forget(struct store *s, int64_t id);
int store_edge_put(struct store *s, int64_t parent, int64_t child,
                   enum store_edge kind); /* one that is beside the tree */

/* ---- entities and their links (sqlite_links.c) */
struct store_link {                       /* rows of one entity stand together */
    const char *urn, *name, *href, *type; /* type "": not shown */
    int64_t deleted_us;
};
/* What a run's document says, in place of what an earlier end of the same run said. */
int store_links_put(struct store *s, int64_t run, const struct store_link *l, size_t n, int64_t at_us);
struct store_earlier { /* texts live until the next call */
    const char *path, *result_id, *run_id, *collector, *url;
};
int store_entity_document(struct store *s, const char *urn, struct store_earlier *out); /* TL_NOTFOUND */
int store_url_document(struct store *s, const char *given, struct store_url url,
                       struct store_earlier *out); /* TL_NOTFOUND */
/* Entities, not deleted, that say these are their siblings and that no document of the crawl, or one reused by it,
 * speaks of. A positive answer ends it. */
int store_links_unseen(struct store *s, int64_t root, const char *siblings, int64_t most,
                       int (*each)(void *ctx, const char *urn, const char *url), void *ctx);
int store_result_run(struct store *s, const char *result_id, int64_t *run); /* TL_NOTFOUND */

/* ---- maintenance (sqlite_maintain.c) */
struct store_expiry {
    int64_t before_us;                                     /* what was not seen since; 0: nothing expires */
    int64_t robots_before_us;                              /* robots.txt read before */
    int64_t documents, mappings, validators, urls, robots; /* filled in: pointers and rows that went */
};
int store_expire(struct store *s, struct store_expiry *x, struct fail *why); /* inside a transaction */
bool store_busy(struct store *s); /* is a crawl under way here? Inside a transaction */
int store_compact(struct store *s, int64_t *before, int64_t *after,
                  struct fail *why); /* bytes of the file; outside of a transaction */

/* ---- questions, on the views of trotline-catalog(5) */
struct store_value {
    enum { STORE_NULL, STORE_INT, STORE_TEXT, STORE_REAL, STORE_BLOB } type;
    int64_t number;
    double real;
    struct tl_span text;
};
struct store_row {
    size_t count;
    const char *const *name;
    const struct store_value *value; /* live until the callback returns */
};
/* What the schema says of its private tables and their columns, in order: a table with column and text NULL, then its
 * columns that have a comment. A positive answer ends it. */
int store_comments(int (*each)(void *ctx, const char *table, const char *column, const char *text), void *ctx);
/* Parameters are $1, $2, ... and stand in that order in the text. A positive answer of the callback ends the query
 * without fault. */
int store_query(struct store *s, const char *sql, const struct store_value *args, size_t n,
                int (*each)(void *ctx, const struct store_row *), void *ctx, struct fail *why);
static inline struct store_value store_text(const char *text) {
    return (struct store_value){.type = text ? STORE_TEXT : STORE_NULL, .text = span_of(text)};
}
static inline struct store_value store_int(int64_t n) {
    return (struct store_value){.type = STORE_INT, .number = n};
}
int store_check(struct store *s, struct buf *complaints); /* integrity and foreign keys; TL_FAILED with complaints */
/* A whole id from a unique prefix of a run's or result's id. TL_NOTFOUND none, TL_INVALID several (why names some). */
int store_find_run(struct store *s, const char *prefix, struct uuid *run_id, struct fail *why);

/* ---- rebuilding a closed crawl from its package (engine/rebuild.c): rows as they were, in order, parents first */
struct store_import_run {
    struct uuid run_id, parent_id; /* parent_id all zero: the root */
    int64_t depth, reach, scope, collector, target, host, attempts, token, children, bytes, http_status;
    int64_t queued_us, started_us, finished_us; /* 0: never */
    enum store_state state;
    enum store_edge edge;
    bool line, claimed;
    uint8_t digest[STORE_DIGEST];
    struct tl_span payload, url, final_url;
    const char *context, *reason, *error;
    struct uuid result_ref; /* result id, all zero: none */
    const struct store_document *document;
};
/* Fills in root; the root's run must be the next that is imported. The counters of the crawl are those of the rows that
 * come. */
int store_import_crawl(struct store *s, struct store_crawl *c, struct fail *why);
int store_import_run(struct store *s, int64_t root, const struct store_import_run *r, int64_t *key, struct fail *why);
int store_import_leashed(struct store *s, int64_t root, const struct uuid *parent, int64_t collector,
                         const uint8_t digest[STORE_DIGEST], struct tl_span url, enum store_reason reason,
                         int64_t times, int64_t at_us);
int store_import_edge(struct store *s, const struct uuid *parent, const struct uuid *child, enum store_edge kind);
#endif
