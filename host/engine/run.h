/* run.h - one invocation of a collector: what it was given, what it has made so far, and the services it may call.
 *
 * The services (struct tl_host) are implemented here once; what waits is asked of a backend, so that the same collector
 * runs on a coroutine in a worker, or plainly in one process. A run owns everything it hands to its collector until
 * run_free. */
#ifndef TROTLINE_ENGINE_RUN_H
#define TROTLINE_ENGINE_RUN_H
#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/hash.h"
#include "lake/lake.h"
#include "net/fetch.h"
#include "trotline.h"

enum {
    RUN_ARENA_MAX = 128 << 20,
    RUN_ELEMENTS_MAX = 100000,
    RUN_DATASETS_MAX = 64,
    RUN_WISHES_MAX = 200000,
    RUN_PAYLOAD_MAX = 32 * 1024,
    RUN_TEXT_MAX = 1500,
    RUN_INLINE_MAX = 8 << 20,
    RUN_STATE_MAX = 32 * 1024,
    RUN_SHARED_MAX = 16 * 1024,
    RUN_ATTACHMENTS_MAX = 1000
};

struct run;
struct process_link;
struct run_backend { /* all but log may be NULL: TL_UNSUPPORTED */
    int (*sleep)(struct run *, int64_t us);
    int (*fetch)(struct run *, const struct tl_request *, int attach_fd,
                 struct fetch_answer *);                                                   /* TL_OK or TL_CANCEL */
    int (*state_get)(struct run *, const char *key, struct buf *value);                    /* TL_NOTFOUND */
    int (*share_get)(struct run *, const char *key, const char *stale, struct buf *value); /* TL_NOTFOUND: to be got */
    void (*share_put)(struct run *, const char *key, const char *value, int64_t until_us); /* value NULL: none */
    struct process_link *(*programs)(struct run *);                       /* process.h; NULL: none can be run */
    int (*sitemaps)(struct run *, const char *url, struct tl_list *into); /* in the run's memory */
    int (*attach)(struct run *, const char *name, char *staged_name, size_t room, int *fd); /* a new file in staging */
    void (*unattach)(struct run *, const char *staged_name);                                /* away with it again */
    const char *(*cache_dir)(struct run *);
    int (*validators)(struct run *, const char *url, const char *credential, struct buf *etag,
                      struct buf *last_modified);                        /* TL_NOTFOUND */
    int (*earlier)(struct run *, const char *key, struct tl_document *); /* TL_NOTFOUND */
    int (*unseen)(struct run *, const char *siblings, struct tl_list *);
    void (*hold)(struct run *, const char *url, int64_t until_us); /* nothing is asked of its host before */
    const char *(*secret)(struct run *, const struct tl_secret *); /* its value, for what does not leave the host */
    const char *(*secret_at)(struct run *, const struct tl_secret *,
                             struct tl_span origin); /* NULL: it is not bound to that origin */
    const char *(*shard)(struct run *, int byte);    /* of the backups of owners whose digest begins so */
    const char *(*lake)(struct run *);               /* its folder */
    bool (*known)(struct run *, uint64_t tag); /* a child that was accepted before, at this depth or a smaller one */
    int (*item)(struct run *, const struct tl_element *); /* of convert */
    void (*log)(struct run *, enum tl_level, const char *text);
};

struct run_wish {
    uint64_t tag; /* what the same wish, asked again, has too; a hint, never an identity */
    unsigned flags;
    bool by_react;
    const char *collector, *name; /* NULL: this one; the parent's */
    struct tl_span args, leash;   /* JSON objects; leash may be empty */
};
struct run_state_write {
    const char *key;
    struct tl_span value;
};
struct run_attachment {
    const char *name, *media_type, *staged; /* staged: its name in the staging folder */
    const char *path;                       /* below the lake; NULL: beside the document */
    int fd;
    int64_t bytes;
    struct sha256 sha256;
};
struct run_fact { /* what a run learned of URLs and hosts, remembered with its commit */
    enum run_fact_kind { RUN_VALIDATOR, RUN_UNCHANGED, RUN_MOVED, RUN_ROBOTS, RUN_FORGET, RUN_STANDS } kind;
    /* url, credential, etag, last_modified; from, to; origin, state, text; url, credential; result id */
    const char *a, *b, *c, *d;
};
struct run_dataset {
    struct document_dataset d; /* element points to the array below */
    struct document_element *element;
    size_t room;
};
struct run_defer;
struct run_response;

struct run {
    struct tl_run pub; /* first: what the collector sees */
    const struct run_backend *backend;
    void *ctx; /* the backend's */
    const struct tl_collector *collector;
    struct hash *hash;
    struct hash_key key; /* for tags */

    /* what it was given; texts live as long as the run */
    const char *run_id, *result_id, *root_id, *parent_id;
    int depth;
    const char *const *path;
    size_t path_count;
    const char *crawl, *org, *project, *target, *context;
    struct tl_span payload, leash, run_context;
    const char *collector_version;
    struct tl_lineage lineage;

    /* what it has made */
    struct arena arena;
    struct run_defer *defer;
    struct run_response *response;
    struct run_dataset *dataset;
    size_t dataset_count, dataset_room, element_count;
    struct run_wish *wish;
    size_t wish_count, wish_room;
    uint64_t *asked; /* open-addressed set of tags of this run's wishes */
    size_t asked_count, asked_room;
    struct run_state_write *state;
    size_t state_count, state_room;
    struct run_attachment *attachment;
    size_t attachment_count, attachment_room;
    struct run_fact *fact;
    size_t fact_count, fact_room;
    const char *etag, *last_modified; /* conditions of the request under way */
    const char *result_name;
    int64_t started_us, finished_us, bytes, wire_bytes;
    int http_status;
    const char *final_url;
    const char *asked_url;               /* of the last request, as asked; NULL: none, or one that is no GET */
    const char *canonical;               /* what its page says is its canonical URL, absolute; NULL: nothing */
    bool plain;                          /* its answer came whole, to a GET without body, range and secrets */
    uint64_t payload_names, payload_tag; /* run_spawn.c */
    uint64_t own_name_tag, head[5], head_tag;

    struct { /* run_read.c: where reading a document stands, so that asking for 0, 1, 2 … is one pass */
        const char *document, *dataset;
        struct tl_json set, container, at;
        size_t next;
    } cursor;
    struct {
        struct tl_json container, at;
        size_t next;
    } links;
    bool own_json;
    int64_t clock_us; /* 0: the wall clock; else a clock that goes on by a millisecond each time it is asked */
    const struct tl_html *own_links; /* what run_put_links wrote first, for a reaction in the same breath */
    const char *own_links_of;        /* the dataset */

    /* how it ended */
    int status;          /* a tl_status */
    const char *reason;  /* one word, or NULL */
    const char *refusal; /* hosts, robots, guard, scheme, or NULL */
    char error[RUN_TEXT_MAX];
    int64_t not_before_us;             /* of TL_RETRY; 0: the host's back-off */
    bool cancelled, reacting, refused; /* refused: reason and error are of a refusal */
};

struct run *run_new(const struct run_backend *backend, void *ctx, const struct tl_collector *collector,
                    struct hash *hash);
void run_free(struct run *r); /* defers first, newest first */
void run_begin_defers(struct run *r);
int run_fail(struct run *r, int status, const char *reason, const char *fmt, ...)
    TL_PRINTF(4, 5); /* the first one stays */

/* Calls collect and brings its result into one of the statuses. */
void run_collect(struct run *r, void *self, const void *args);
/* Calls react on the run's own result in memory (fused), or on a stored document. Wishes are added to the run. */
int run_react(struct run *r, void *self, const struct tl_document *doc, const void *args);
struct tl_document run_own_document(const struct run *r, const char *url);
/* The document of what the run has made; false: it needs none (unchanged, refused, to be retried, cancelled). */
bool run_needs_document(const struct run *r);
int run_document(struct run *r, struct buf *out, const char *attachments_folder, struct document_sums *sums,
                 struct buf *summary, struct buf *attachments);
const char *run_status_name(int status); /* success, partial, failed */

extern const struct tl_host run_host; /* the function table */

/* run_output.c */
int run_put(struct tl_run *pub, const char *dataset, const struct tl_element *given);
int run_put_links(struct tl_run *pub, const char *dataset, const struct tl_html *h);
int run_attach(struct tl_run *pub, const char *name, const char *media_type, int *fd);
void run_unattach(struct run *r); /* takes the newest back: what it holds is not what it should */
int run_attach_file(struct tl_run *pub, const char *name, const char *media_type, const char *cache_path);
int run_attached(struct run *r, const char *name, int *fd); /* the last one, if it is called so and not sealed */
int run_seal(struct run *r, struct run_attachment *a);      /* nothing is written into it any more */
/* run_backup.c */
int run_backup(struct tl_run *pub, struct tl_backup *given);
int run_backup_read(struct tl_run *pub, const struct tl_backup *given, struct tl_span *out);
/* run_fetch.c */
int run_fetch(struct tl_run *pub, const struct tl_request *q, struct tl_response *into);
int run_html(struct tl_run *pub, const struct tl_response *res, struct tl_html *into);
void run_responses_free(struct run *r);
struct fetch_answer *run_answer(const struct tl_response *res);
const struct fetch_answer *run_answer_from(const struct run *r, struct tl_span origin); /* the latest; NULL: none */
/* UTF-8 of a response in another charset when encoding it again gives the same bytes; empty otherwise. */
struct tl_span run_response_text(struct run *r, const struct tl_response *res, const char **charset);
bool run_response_is_utf8(const struct tl_response *res); /* after run_response_text; false: not known to be */
/* run_read.c: documents as reactors and converters see them */
int run_element(struct tl_run *pub, const struct tl_document *doc, const char *dataset, size_t n,
                struct tl_element *into);
int run_link(struct tl_run *pub, const struct tl_document *doc, const char *dataset, size_t n, struct tl_link *into);
/* run_sitemap.c */
int run_sitemap(struct tl_run *pub, const struct tl_response *res, struct tl_html *into);
int run_sitemaps(struct tl_run *pub, const char *url, struct tl_list *into);
/* run_facts.c */
void run_fact(struct run *r, enum run_fact_kind kind, const char *a, const char *b, const char *c, const char *d);
int run_conditions(struct run *r, const struct tl_request *q); /* before a request that is to be revalidated */
void run_remember_request(struct run *r, const struct tl_request *q, const struct fetch_answer *a); /* after it, too */
void run_remember_validators(struct run *r, const struct tl_request *q, const struct fetch_answer *a); /* after it */
/* run_fanin.c: feeds and the legs of a fan-in */
int run_feed(struct tl_run *pub, const struct tl_response *res, struct tl_span *json);
int run_get_context(struct tl_run *pub, struct tl_context *into);
int run_artifact(struct tl_run *pub, const char *dataset, struct tl_span json);
const char *run_json_quote(struct tl_run *pub, struct tl_span text);
/* run_entity.c */
struct run_link_row { /* a link of an entity in the run's document; type "": for the catalog's own use */
    const char *urn, *name, *href, *type;
    int64_t deleted_us;
};
int run_link_rows(struct run *r, int (*each)(void *ctx, const struct run_link_row *row), void *ctx);
int run_take_entities(struct run *r, const struct tl_element *e, struct document_element *to);
int run_earlier(struct tl_run *pub, const char *key, struct tl_document *into);
int run_stand_for(struct tl_run *pub, const struct tl_document *d);
int run_unseen(struct tl_run *pub, const char *siblings, struct tl_list *list);
/* run_fetch.c, too */
int run_later(struct tl_run *pub, const char *url, int64_t until_us, const char *why);
int64_t run_retry_after(struct tl_run *pub, const struct tl_response *res);
int run_link_header(struct tl_run *pub, const char *value, const char *base, const char *rel, const char **absolute);
/* run_spawn.c */
int run_spawn(struct tl_run *pub, const struct tl_child *given);

static inline struct run *run_of(struct tl_run *pub) {
    return (struct run *)pub;
}
/* Copies a caller's sized struct into ours: fields that it does not know are zero. */
#define RUN_TAKE(ours, theirs)                                                                                         \
    memcpy(&(ours), (theirs), (theirs)->struct_size < sizeof(ours) ? (theirs)->struct_size : sizeof(ours))
/* And back: only what the caller has room for, its own size kept. */
#define RUN_GIVE(theirs, ours)                                                                                         \
    do {                                                                                                               \
        uint32_t size_ = (theirs)->struct_size;                                                                        \
        memcpy((theirs), &(ours), size_ < sizeof(ours) ? size_ : sizeof(ours));                                        \
        (theirs)->struct_size = size_;                                                                                 \
    } while (0)
#endif
