/* package.h - what the package of a crawl (engine/close.h), its way back (engine/rebuild.h) and verify need of the
 * store beyond store.h.
 *
 * Invariant: everything of a closed crawl that a question on the views could show is handed out, in an order that
 * store_import_* takes: parents before children, siblings in the order of their put. A crawl that came back is handed
 * out byte for byte as it was. */
#ifndef TROTLINE_STORE_PACKAGE_H
#define TROTLINE_STORE_PACKAGE_H
#include "store/store.h"

struct store_export_run {
    struct store_import_run
        run; /* collector, target, scope are the store's keys; host is not set; document points below */
    const char *collector, *version; /* its name */
    struct tl_span host;             /* empty: none */
    struct store_document document;
    struct { /* the earlier result that it stands for; folder NULL: not in this catalog */
        const char *folder;
        struct sha256 sha256;
        int64_t bytes;
        struct uuid root_id;
    } reused;
};
struct store_export_leashed {
    struct uuid parent_id;
    int64_t collector; /* key */
    const char *name, *version;
    uint8_t digest[STORE_DIGEST];
    struct tl_span url;
    enum store_reason reason;
    int64_t times, at_us;
};
struct store_export_event { /* a reaction that did not come about */
    struct uuid run_id;
    int64_t collector; /* key: who was to react */
    const char *name, *version, *error;
    enum store_event_kind kind;
    struct tl_span args;
    int64_t reach, attempts, created_us;
    bool failed; /* else it still waits */
};
struct store_export_url { /* a document's place among URLs; keys are not set */
    struct uuid run_id;
    struct tl_span asked, source, url, claim; /* empty claim: none */
    bool believed, plain;
    int64_t at_us;
};
struct store_export_validator { /* of the URL that the run asked for */
    struct uuid run_id;
    struct tl_span url;
    const char *credential, *etag, *last_modified;
    int64_t at_us;
};
struct store_export_link {
    struct uuid run_id;
    struct store_link link;
};
/* Each answers 0, or a negative status that ends the export. Texts live until it returns. A collector or target comes
 * before the first row that names its key. */
struct store_exporter {
    int (*collector)(void *ctx, int64_t key, const char *name, const char *version, const char *summary,
                     const char *sha256, int64_t first_us);
    int (*target)(void *ctx, int64_t key, const char *org, const char *project, const char *name);
    int (*scope)(void *ctx, const struct store_scope *scope, const char *given); /* given: the leash as first put */
    int (*run)(void *ctx, const struct store_export_run *run);                   /* the root first */
    int (*leashed)(void *ctx, const struct store_export_leashed *refusal);
    int (*edge)(void *ctx, const struct uuid *parent, const struct uuid *child, enum store_edge kind);
    int (*event)(void *ctx, const struct store_export_event *event);
    int (*url)(void *ctx, const struct store_export_url *url); /* in the order of time */
    int (*validator)(void *ctx, const struct store_export_validator *validator);
    int (*link)(void *ctx, const struct store_export_link *link); /* by run, in their order */
    void *ctx;
};
/* Memory: some 16 bytes for each run that was moved under a parent that is younger than itself. */
int store_export(struct store *s, int64_t root, const struct store_exporter *to, struct fail *why);

/* ---- additions to store_crawl_close and store_import_*; inside a transaction */
int store_package_finished(struct store *s, int64_t root, int64_t finished_us); /* the time that the package says */
int store_package_sha256(struct store *s, int64_t root, const char *sha256);
int store_import_collector(struct store *s, const char *name, const char *version, const char *summary,
                           const char *sha256, int64_t first_us, int64_t *key);
int store_import_event(struct store *s, int64_t root,
                       const struct store_export_event *e); /* TL_NOTFOUND: no such run */

/* TL_NOTFOUND: no such run. fetched->run and v->run are filled in. */
int store_import_url(struct store *s, const struct uuid *run_id, struct store_fetched *fetched);
int store_import_validator(struct store *s, const struct uuid *run_id, struct store_url url, const char *credential,
                           struct store_validator *v);
int store_import_links(struct store *s, const struct uuid *run_id, const struct store_link *l, size_t n);

/* ---- documents by result id, many of them, while others write. To be closed before the store. */
struct store_results;
struct store_result {
    struct uuid run_id, root_id;
    const char *folder, *attachments; /* live until the next call; attachments NULL: none */
    struct sha256 sha256;
    int64_t bytes;
};
int store_results_open(struct store *s, struct store_results **out, struct fail *why);
int store_results_find(struct store_results *r, const struct uuid *result_id, struct store_result *out,
                       struct fail *why); /* TL_NOTFOUND */
void store_results_close(struct store_results *r);
#endif
