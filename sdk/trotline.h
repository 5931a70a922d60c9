/* trotline.h - the only header a collector includes. trotline-collector(3).
 *
 * Text that the host hands out is UTF-8, NUL-ended, and lives until the callback returns; so does everything from tl_alloc.
 * Neither side frees the other's memory. Every fallible call returns TL_OK or a negative tl_status; the reason of a negative
 * one is already recorded, so `return rc;` is always right. Calls marked (waits) suspend this run and let others go on:
 * statics, errno and shared state may have changed when they return. One thread; no fork, no longjmp, no signals. */
#ifndef TROTLINE_H
#define TROTLINE_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TL_ABI_MAJOR 1u /* another value: not loaded */
#define TL_ABI_MINOR 5u /* grows with every appended field */

enum tl_status {
    TL_OK = 0,
    TL_FAILED = -1,    /* this run is over; not worth another try */
    TL_RETRY = -2,     /* this run may work later: the host backs off and tries again */
    TL_PARTIAL = -3,   /* what was put is worth keeping, but something is missing */
    TL_UNCHANGED = -4, /* nothing new since last time: no document, the earlier one stands */
    TL_REFUSED = -5,   /* the leash, robots.txt or the guard said no (recorded) */
    TL_CANCEL = -6,    /* deadline or shutdown: release and return it */
    TL_INVALID = -7,   /* wrong use of this header, or bad arguments */
    TL_NOTFOUND = -8,  /* no such state, header, dataset */
    TL_UNSUPPORTED = -9 /* this host is older than the function */
};
enum tl_kind { TL_SIMPLE, TL_PAGED, TL_KEY_VALUE };
enum tl_level { TL_ERROR, TL_WARN, TL_INFO, TL_DEBUG };
enum tl_class { TL_PAGE_REQUEST, TL_API_REQUEST, TL_FEED_REQUEST }; /* robots.txt governs the first */
enum tl_type { TL_TEXT = 1, TL_INT, TL_BOOL, TL_BYTES, TL_MILLIS, TL_URL, TL_SECRET, TL_JSON };
enum { TL_LIST = 1u, TL_REQUIRED = 2u, /* option flags; a TL_LIST field is a struct tl_list (of secrets: their names, as "secret:NAME" takes them) */
       TL_HINT = 4u,                   /* 1.2: says how a run was reached, and is no part of what it is: its identity */
       TL_NAMES_HOST = 8u };           /* 1.5: a TL_TEXT that may be an http or https URL, whose host the line then names, as by a TL_URL */
enum {                                 /* request flags */
    TL_COOKIES = 1u,                   /* send what the crawl's jar has, keep what is set. RFC 6265 */
    TL_OWN_WAITS = 2u,                 /* 429, and 503 with Retry-After, are handed out at once: the collector does the waiting */
    TL_STRIKE = 4u,                    /* 1.4: what the answer repeats of the request's credentials is struck out with asterisks */
    TL_APPEND = 8u                     /* 1.5: `attach` names this run's last attachment: the body goes behind what it has by now */
};
enum { TL_OFFLINE = 1u };                 /* program flag: no network, and nothing written outside of tl_cache_dir */
enum {                                    /* spawn flags */
    TL_PAGE = 1u,                         /* next page of the same list: same depth, no fan-out */
    TL_SAME = 2u,                         /* this run's own arguments, but for those named in the child */
    TL_PART = 4u                          /* 1.3: as TL_PAGE; a part of what this run makes: when it fails, a line has not succeeded */
};

struct tl_span { const char *ptr; size_t len; };
struct tl_list { const char *const *item; size_t count; };
struct tl_secret; /* a handle: only the host can look inside, and only for the origins it is bound to */

/* An option (trotline.yml) or argument (payload). The host parses, fills in defaults, refuses what does not fit.
 * Field types: const char * (TEXT URL JSON), int64_t (INT BYTES MILLIS), bool, const struct tl_secret *, struct tl_list. */
struct tl_option {
    const char *name;
    enum tl_type type;
    unsigned flags;
    size_t offset;       /* offsetof(struct my_args, field) */
    const char *dflt;    /* as in YAML; NULL: zero */
    const char *choices; /* "a|b|c", or NULL */
    const char *help;
};
struct tl_dataset { const char *name; enum tl_kind kind; const char *tags, *help; };

struct tl_header { const char *name, *value; const struct tl_secret *secret; }; /* value then secret, e.g. "Bearer " + token */
struct tl_request {
    uint32_t struct_size; /* TL_REQUEST() sets it */
    enum tl_class kind;
    const char *method, *url; /* NULL: GET */
    const struct tl_header *headers; size_t header_count;
    struct tl_span body;
    int64_t timeout_ms, max_bytes; /* 0: the crawl's; a larger value is cut to it */
    const char *attach;            /* not NULL: the body goes to an attachment of this name, not to memory */
    bool revalidate;               /* send the stored validators; a 304 sets not_modified */
    uint64_t flags;                /* 1.2: TL_COOKIES, TL_OWN_WAITS; 1.4: TL_STRIKE */
    const struct tl_header *query; size_t query_count; /* 1.4: more parameters of the URL, encoded, to its origin only, kept nowhere */
    const struct tl_header *form; size_t form_count;   /* 1.4: instead of body: fields of application/x-www-form-urlencoded */
};
struct tl_response {
    uint32_t struct_size;
    int status;            /* HTTP; 404 is an answer, not an error of the call */
    const char *url;       /* final, after redirects */
    const char *media_type, *charset; /* lower case, without parameters; decided charset or NULL */
    struct tl_span body;   /* as decoded from the transfer, byte for byte */
    bool not_modified, truncated;
    const struct tl_header *headers; size_t header_count;
    void *transfer;        /* for tl_element.from */
    int64_t bytes;         /* 1.5: how many the body has, where it went to an attachment, too */
};
struct tl_element {        /* one SIMPLE value, page or pair */
    uint32_t struct_size;
    const struct tl_response *from; /* body, URL, media type and metadata.http come from here, or: */
    struct tl_span data; const char *media_type, *data_url;
    const char *id, *key;  /* NULL: chosen by the host; key for TL_KEY_VALUE */
    int64_t page_number;   /* TL_PAGED: 0 = next */
    const char *metadata;  /* JSON object or NULL */
    const char *entity;    /* 1.2: the entity that it is: its `_metadata`, a JSON object with `links` {name: {href|hrefs, type}}, or NULL */
    const char *entities;  /* 1.2: entities inside of it: a JSON array of such objects, each with `pointer` (RFC 6901) */
};
struct tl_value { const char *name; enum tl_type type; const char *text; int64_t number; };
struct tl_child {
    uint32_t struct_size;
    const char *collector; /* NULL: this one */
    const struct tl_value *args; size_t arg_count; /* the host writes the JSON */
    const char *args_json;             /* or ready made (an object) */
    const char *leash_json, *name;     /* NULL; can only tighten; name becomes result_context_name of the branch */
    unsigned flags;
};
struct tl_program_secret { const char *name, *url; const struct tl_secret *secret; }; /* a variable, if bound to the URL's origin */
struct tl_program {        /* runs in the supervisor; name must be declared in tl_collector.programs */
    uint32_t struct_size;
    const char *const *argv, *const *env; const char *cwd; /* cwd: relative to tl_cache_dir */
    struct tl_span input; int64_t timeout_ms; size_t max_output;
    int status; struct tl_span out, err; /* filled in */
    unsigned flags;                      /* 1.1: TL_OFFLINE */
    const struct tl_program_secret *secrets; size_t secret_count; /* 1.3: in its environment; struck out of what it says */
    const char *url;                     /* 1.5: of git: the web server that it will ask, which has answered this run before */
};
struct tl_backup {         /* 1.3: a copy of a repository, or of what is known of it. trotline-lake(5) */
    uint32_t struct_size;
    const char *server, *owner, *name, *kind; /* github.com, octocat, Hello-World; bundle, zip, error, refs, lfs, json, object */
    const char *media_type;
    int64_t at_us;                            /* its name, to the second */
    const char *cache_path; struct tl_span data; /* a file below tl_cache_dir, or NULL: these bytes. None: the newest is no more */
    const char *path; int64_t bytes; char sha256[65]; /* filled in */
    int64_t last, weekly, monthly; /* 1.4: of refs: dated copies that stay; all 0: every one */
    struct tl_list dropped;        /* 1.4: filled in: the bundles that go with it */
    const char *attached;          /* 1.5: of kind object: this run's last attachment; sha256 is given, and must be its own */
};
struct tl_link { const char *url, *rel, *text, *source; int64_t position; };
struct tl_html {           /* what one pass over a page found; all of it UTF-8 */
    uint32_t struct_size;
    const char *title, *description, *canonical, *base, *language; /* NULL: none; canonical and base are absolute */
    struct tl_span text;   /* readable text, code removed */
    const struct tl_link *link; size_t link_count; /* in document order; url is absolute, without fragment only when followed */
    bool nofollow, noindex; /* meta robots and X-Robots-Tag */
};
enum tl_json_type { TL_JSON_NULL, TL_JSON_BOOL, TL_JSON_NUMBER, TL_JSON_STRING, TL_JSON_ARRAY, TL_JSON_OBJECT };
struct tl_json { enum tl_json_type type; struct tl_span raw, key; uint64_t at; }; /* raw: verbatim, never NUL-ended */
struct tl_lineage { uint32_t struct_size; const char *run_id, *root_id, *parent_id; int depth;
                    const char *crawl, *org, *project, *target; };
struct tl_context {        /* 1.2: the run context that all legs of a fan-in share */
    uint32_t struct_size;
    struct tl_span json;   /* the whole of it */
    const char *run_id, *week;
    const char *since, *until;  /* 2026-06-01T00:00:00Z; since is inclusive, until exclusive */
    int64_t since_us, until_us;
};
struct tl_document { uint32_t struct_size; const char *result_id, *run_id, *collector, *url; struct tl_span raw; };

struct tl_run { const struct tl_host *host; }; /* the host's own fields follow */

struct tl_host { /* append only */
    uint32_t struct_size, abi_minor;
    void *(*alloc)(struct tl_run *, size_t);
    int (*defer)(struct tl_run *, void (*)(void *), void *);
    int (*fetch)(struct tl_run *, const struct tl_request *, struct tl_response *);
    int (*sleep)(struct tl_run *, int64_t ms);
    int (*yield)(struct tl_run *);
    int64_t (*now_us)(struct tl_run *);
    struct tl_span (*payload)(struct tl_run *);
    const struct tl_lineage *(*lineage)(struct tl_run *);
    int (*put)(struct tl_run *, const char *dataset, const struct tl_element *);
    int (*attach)(struct tl_run *, const char *name, const char *media_type, int *fd);
    int (*attach_file)(struct tl_run *, const char *name, const char *media_type, const char *cache_path);
    int (*state_get)(struct tl_run *, const char *key, struct tl_span *);
    int (*state_put)(struct tl_run *, const char *key, struct tl_span);
    int (*spawn)(struct tl_run *, const struct tl_child *);
    int (*result_name)(struct tl_run *, const char *name, const char *type);
    int (*exec)(struct tl_run *, struct tl_program *);
    const char *(*cache_dir)(struct tl_run *);
    int (*fail)(struct tl_run *, int status, const char *fmt, va_list);
    void (*log)(struct tl_run *, enum tl_level, const char *fmt, va_list);
    int (*html)(struct tl_run *, const struct tl_response *, struct tl_html *);
    int (*put_links)(struct tl_run *, const char *dataset, const struct tl_html *); /* JSON array, written by the host */
    int (*json)(struct tl_run *, struct tl_span text, const char *pointer, struct tl_json *);
    int (*json_next)(struct tl_run *, const struct tl_json *container, struct tl_json *at); /* TL_NOTFOUND: end */
    const char *(*json_text)(struct tl_run *, const struct tl_json *); /* a string unescaped, NUL-ended; NULL: none, or has U+0000 */
    int (*url)(struct tl_run *, const char *base, const char *ref, const char **absolute);
    int (*element)(struct tl_run *, const struct tl_document *, const char *dataset, size_t n, struct tl_element *);
    int (*item)(struct tl_run *, const struct tl_element *);
    int (*link)(struct tl_run *, const struct tl_document *, const char *dataset, size_t n, struct tl_link *); /* of put_links; TL_NOTFOUND: end */
    int (*process_start)(struct tl_run *, const struct tl_program *); /* 1.1: from here on */
    int (*process_write)(struct tl_run *, struct tl_span);
    int (*process_line)(struct tl_run *, struct tl_span *line);
    int (*process_end)(struct tl_run *, int *status, struct tl_span *err);
    const char *(*reason)(struct tl_run *);
    int (*sitemap)(struct tl_run *, const struct tl_response *, struct tl_html *); /* 1.2: from here on */
    int (*sitemaps)(struct tl_run *, const char *url, struct tl_list *);
    int (*feed)(struct tl_run *, const struct tl_response *, struct tl_span *json);
    int (*context)(struct tl_run *, struct tl_context *);
    int (*artifact)(struct tl_run *, const char *dataset, struct tl_span json);
    const char *(*json_quote)(struct tl_run *, struct tl_span text);
    int (*earlier)(struct tl_run *, const char *key, struct tl_document *);
    int (*stand_for)(struct tl_run *, const struct tl_document *);
    int (*later)(struct tl_run *, const char *url, int64_t until_us, const char *why);
    int64_t (*retry_after)(struct tl_run *, const struct tl_response *);
    int (*link_header)(struct tl_run *, const char *value, const char *base, const char *rel, const char **absolute);
    int (*hmac)(struct tl_run *, const struct tl_secret *, struct tl_span text, char hex[65]);
    int (*backup)(struct tl_run *, struct tl_backup *); /* 1.3: from here on */
    int (*backup_read)(struct tl_run *, const struct tl_backup *, struct tl_span *);
    void (*sha256)(struct tl_run *, struct tl_span text, char hex[65]);
    int (*unseen)(struct tl_run *, const char *siblings, struct tl_list *);
    int (*share_get)(struct tl_run *, const char *key, const char *stale, const char **value); /* 1.5 */
    int (*share_put)(struct tl_run *, const char *key, const char *value, int64_t until_us);
};

struct tl_collector { /* append only; NULL is a default */
    uint32_t struct_size, abi_major, abi_minor, flags;
    const char *name, *version, *summary;
    const struct tl_option *options, *arguments; /* each ended by .name == NULL */
    size_t options_size, arguments_size;
    const struct tl_dataset *datasets;
    const char *const *programs, *const *hosts; /* for tl_exec, "*": those its option `programs` lists; declared endpoints */
    int (*open)(const struct tl_host *, const void *options, void **self); /* once a worker */
    void (*close)(void *self);
    int (*collect)(void *self, struct tl_run *, const void *arguments);
    int (*react)(void *self, struct tl_run *, const struct tl_document *, const void *arguments); /* the document's run's, or react: args */
    int (*convert)(void *self, struct tl_run *, const struct tl_document *);
};

#define TL_HAS(h, f) ((h)->struct_size >= offsetof(struct tl_host, f) + sizeof((h)->f) && (h)->f)
#define TL_EXPORT __attribute__((visibility("default"))) /* gcc and clang */
#define TL_PRINTF(f, a) __attribute__((format(printf, f, a)))
#ifdef __cplusplus
#define TL_C extern "C"
#else
#define TL_C
#endif
#define TL_COLLECTOR(...)                                                                                            \
    TL_C TL_EXPORT const struct tl_collector *trotline_collector_v1(void);                                           \
    const struct tl_collector *trotline_collector_v1(void) {                                                         \
        static const struct tl_collector c = {.struct_size = sizeof c, .abi_major = TL_ABI_MAJOR,                    \
                                              .abi_minor = TL_ABI_MINOR, __VA_ARGS__};                               \
        return &c;                                                                                                   \
    }                                                                                                                \
    struct tl_run
#define TL_REQUEST(...) (&(struct tl_request){.struct_size = sizeof(struct tl_request), __VA_ARGS__})
#define TL_ELEMENT(...) (&(struct tl_element){.struct_size = sizeof(struct tl_element), __VA_ARGS__})
#define TL_CHILD(...) (&(struct tl_child){.struct_size = sizeof(struct tl_child), __VA_ARGS__})
#define TL_ARGS(...) .args = (const struct tl_value[]){__VA_ARGS__}, \
                     .arg_count = sizeof((const struct tl_value[]){__VA_ARGS__}) / sizeof(struct tl_value)
#define TL_ARG_TEXT(n, t) {.name = (n), .type = TL_TEXT, .text = (t)}
#define TL_ARG_INT(n, v) {.name = (n), .type = TL_INT, .number = (v)}
#define TL_ARG_BOOL(n, v) {.name = (n), .type = TL_BOOL, .number = (v)}
#define TL_ARG_JSON(n, t) {.name = (n), .type = TL_JSON, .text = (t)}
#define TL_RESPONSE_INIT {.struct_size = sizeof(struct tl_response)}
#define TL_HTML_INIT {.struct_size = sizeof(struct tl_html)}
#define TL_ELEMENT_INIT {.struct_size = sizeof(struct tl_element)}

static inline int tl_fetch(struct tl_run *r, const struct tl_request *q, struct tl_response *a) { return r->host->fetch(r, q, a); } /* (waits) */
static inline int tl_put(struct tl_run *r, const char *dataset, const struct tl_element *e) { return r->host->put(r, dataset, e); }
static inline void *tl_alloc(struct tl_run *r, size_t size) { return r->host->alloc(r, size); } /* NULL: beyond the run's memory */
static inline int tl_defer(struct tl_run *r, void (*f)(void *), void *arg) { return r->host->defer(r, f, arg); }
static inline int tl_sleep(struct tl_run *r, int64_t ms) { return r->host->sleep(r, ms); } /* (waits) */
static inline int tl_yield(struct tl_run *r) { return r->host->yield(r); }                 /* (waits) in long loops */
static inline int tl_html(struct tl_run *r, const struct tl_response *a, struct tl_html *h) { return r->host->html(r, a, h); }
static inline int tl_put_links(struct tl_run *r, const char *dataset, const struct tl_html *h) { return r->host->put_links(r, dataset, h); }
static inline int tl_attach(struct tl_run *r, const char *name, const char *media_type, int *fd) { return r->host->attach(r, name, media_type, fd); }
static inline int tl_exec(struct tl_run *r, struct tl_program *p) { return r->host->exec(r, p); } /* (waits) */
/* A program that is talked to while it runs, one a run at a time; `input` is written first. All but start (wait). A program may be
 * gone at any time: TL_NOTFOUND, and process_end tells how it ended. An empty span ends its input. */
static inline int tl_process_start(struct tl_run *r, const struct tl_program *p) {
    return TL_HAS(r->host, process_start) ? r->host->process_start(r, p) : TL_UNSUPPORTED;
}
static inline int tl_process_write(struct tl_run *r, struct tl_span text) {
    return TL_HAS(r->host, process_write) ? r->host->process_write(r, text) : TL_UNSUPPORTED;
}
/* The next line of its output without its end, NUL-ended, until the next call for this process; TL_NOTFOUND: there are no more. */
static inline int tl_process_line(struct tl_run *r, struct tl_span *line) {
    return TL_HAS(r->host, process_line) ? r->host->process_line(r, line) : TL_UNSUPPORTED;
}
/* Ends its input, drops what it still says, waits. status as of tl_exec; err: the last of its error output. */
static inline int tl_process_end(struct tl_run *r, int *status, struct tl_span *err) {
    return TL_HAS(r->host, process_end) ? r->host->process_end(r, status, err) : TL_UNSUPPORTED;
}
/* Takes back the reason that was recorded, for who goes on in spite of it; NULL: there is none. */
static inline const char *tl_reason(struct tl_run *r) { return TL_HAS(r->host, reason) ? r->host->reason(r) : NULL; }
/* What a sitemap (XML, index, text, feed; gzip or not) lists: links of source "url" (pages) and "sitemap", nothing else filled in. */
static inline int tl_sitemap(struct tl_run *r, const struct tl_response *a, struct tl_html *h) {
    return TL_HAS(r->host, sitemap) ? r->host->sitemap(r, a, h) : TL_UNSUPPORTED;
}
/* The Sitemap lines of robots.txt at the URL's origin; none where it was not asked for, as for what is no page request. */
static inline int tl_sitemaps(struct tl_run *r, const char *url, struct tl_list *list) {
    return TL_HAS(r->host, sitemaps) ? r->host->sitemaps(r, url, list) : TL_UNSUPPORTED;
}
/* A syndication feed of any kind (RSS, Atom, JSON Feed) as one JSON object: format, title, entries and so on, as `trotline probe
 * feed` prints it. TL_NOTFOUND: no feed; json then has `error`, and `alternates`: the feeds that a page names. */
static inline int tl_feed(struct tl_run *r, const struct tl_response *a, struct tl_span *json) {
    return TL_HAS(r->host, feed) ? r->host->feed(r, a, json) : TL_UNSUPPORTED;
}
/* TL_NOTFOUND: this crawl has none. A collector never computes its own window. */
static inline int tl_run_context(struct tl_run *r, struct tl_context *c) {
    return TL_HAS(r->host, context) ? r->host->context(r, c) : TL_NOTFOUND;
}
/* Puts the artifact of a leg, completed: json has source_id, status, articles, metrics, error; or shard_id, repositories,
 * api_metrics. The host adds version, run context and checksum, and as `error` the reason that is recorded, if json has none;
 * sorts, and refuses what a merge would reject. */
static inline int tl_artifact(struct tl_run *r, const char *dataset, struct tl_span json) {
    return TL_HAS(r->host, artifact) ? r->host->artifact(r, dataset, json) : TL_UNSUPPORTED;
}
/* The text as a JSON string, with its quotes; NULL: beyond the run's memory. */
static inline const char *tl_json_quote(struct tl_run *r, struct tl_span text) {
    return TL_HAS(r->host, json_quote) ? r->host->json_quote(r, text) : NULL;
}
/* The newest document of an entity (a key "urn:...") or of a URL; with it an element has its entity, too. (waits) TL_NOTFOUND */
static inline int tl_earlier(struct tl_run *r, const char *key, struct tl_document *d) {
    return TL_HAS(r->host, earlier) ? r->host->earlier(r, key, d) : TL_NOTFOUND;
}
/* This run changes nothing: that document stands for its own. Returns TL_UNCHANGED, for collect to return. */
static inline int tl_stand_for(struct tl_run *r, const struct tl_document *d) {
    return TL_HAS(r->host, stand_for) ? r->host->stand_for(r, d) : TL_UNSUPPORTED;
}
/* Puts the run back until then (wall clock), which costs it no attempt; with a URL, nothing is asked of its host before.
 * Returns TL_RETRY, for collect to return. */
static inline int tl_later(struct tl_run *r, const char *url, int64_t until_us, const char *why) {
    return TL_HAS(r->host, later) ? r->host->later(r, url, until_us, why) : TL_RETRY;
}
/* Microseconds that the answer's Retry-After asks for, in either form; -1: it has none that can be read. */
static inline int64_t tl_retry_after(struct tl_run *r, const struct tl_response *a) {
    return TL_HAS(r->host, retry_after) ? r->host->retry_after(r, a) : -1;
}
/* The target of the first link with that relation in the value of a Link header (RFC 8288). TL_NOTFOUND */
static inline int tl_link_header(struct tl_run *r, const char *value, const char *base, const char *rel, const char **absolute) {
    return TL_HAS(r->host, link_header) ? r->host->link_header(r, value, base, rel, absolute) : TL_NOTFOUND;
}
/* HMAC-SHA256 of a text under a secret, in hex: for signatures, which do not give the secret away. */
static inline int tl_hmac(struct tl_run *r, const struct tl_secret *s, struct tl_span text, char hex[65]) {
    return TL_HAS(r->host, hmac) ? r->host->hmac(r, s, text, hex) : TL_UNSUPPORTED;
}
/* Entities that have this href as their `siblings` and that no document of this crawl, nor one that stands for one, speaks of: URN
 * and URL in turn, at most 100 of them. What is not committed yet does not count as seen. (waits) */
static inline int tl_unseen(struct tl_run *r, const char *siblings, struct tl_list *list) {
    return TL_HAS(r->host, unseen) ? r->host->unseen(r, siblings, list) : TL_UNSUPPORTED;
}
/* What the runs of a collector share as long as the crawl's process lives, in memory only: a token, say. A key has at most 200
 * bytes, a value 16 KiB; both are NUL-ended. One that equals `stale` (or NULL) is of no use any more. TL_NOTFOUND: there is none,
 * and nobody else is getting one: get it, then put it, or NULL if it cannot be had, for others wait for that. (waits) */
static inline int tl_share_get(struct tl_run *r, const char *key, const char *stale, const char **value) {
    return TL_HAS(r->host, share_get) ? r->host->share_get(r, key, stale, value) : TL_NOTFOUND;
}
/* Until then (wall clock). value NULL: there is none after all. */
static inline int tl_share_put(struct tl_run *r, const char *key, const char *value, int64_t until_us) {
    return TL_HAS(r->host, share_put) ? r->host->share_put(r, key, value, until_us) : TL_OK;
}
/* Puts a copy into the backups of the lake; it is there when the run's document is. A kind once a repository and run. */
static inline int tl_backup(struct tl_run *r, struct tl_backup *b) {
    return TL_HAS(r->host, backup) ? r->host->backup(r, b) : TL_UNSUPPORTED;
}
/* The newest of that kind, as this lake has it now; at most 32 MiB. TL_NOTFOUND */
static inline int tl_backup_read(struct tl_run *r, const struct tl_backup *b, struct tl_span *out) {
    return TL_HAS(r->host, backup_read) ? r->host->backup_read(r, b, out) : TL_UNSUPPORTED;
}
static inline int tl_sha256(struct tl_run *r, struct tl_span text, char hex[65]) {
    if (!TL_HAS(r->host, sha256))
        return TL_UNSUPPORTED;
    r->host->sha256(r, text, hex);
    return TL_OK;
}
static inline const char *tl_cache_dir(struct tl_run *r) { return r->host->cache_dir(r); }
static inline int tl_result_name(struct tl_run *r, const char *name, const char *type) { return r->host->result_name(r, name, type); }
static inline int tl_spawn(struct tl_run *r, const struct tl_child *c) { return r->host->spawn(r, c); }
static inline int tl_url(struct tl_run *r, const char *base, const char *ref, const char **out) { return r->host->url(r, base, ref, out); }
static inline const char *tl_json_get(struct tl_run *r, struct tl_span t, const char *pointer) { /* text at an RFC 6901 pointer or NULL */
    struct tl_json j;
    return r->host->json(r, t, pointer, &j) == TL_OK ? r->host->json_text(r, &j) : NULL;
}
static inline int tl_state_put(struct tl_run *r, const char *k, struct tl_span v) { return r->host->state_put(r, k, v); }
static inline int tl_state_get(struct tl_run *r, const char *k, struct tl_span *v) { return r->host->state_get(r, k, v); }
TL_PRINTF(3, 4) static inline int tl_fail(struct tl_run *r, int status, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    status = r->host->fail(r, status, fmt, ap);
    va_end(ap);
    return status;
}
TL_PRINTF(3, 4) static inline void tl_log(struct tl_run *r, enum tl_level level, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    r->host->log(r, level, fmt, ap);
    va_end(ap);
}

/* Changes, newest last. A field is only ever appended, to a table or a struct that carries its size.
 * 1.0  2026-11  first
 * 1.1  2026-12  tl_host: process_start, process_write, process_line, process_end, reason; tl_program: flags; programs "*"
 * 1.2  2026-12  tl_host: sitemap, sitemaps, feed, context, artifact, json_quote, earlier, stand_for, later, retry_after,
 *               link_header, hmac, unseen; tl_request: flags; tl_context; tl_element: entity, entities; TL_HINT; lists of secrets
 * 1.3  2026-12  tl_host: backup, backup_read, sha256; tl_program: secrets; TL_PART; "Basic USER:" before the secret of a header
 * 1.4  2026-12  tl_request: query, form; tl_backup: last, weekly, monthly, dropped; TL_STRIKE
 * 1.5  2026-12  tl_program: url; tl_response: bytes; tl_backup: attached; tl_host: share_get, share_put; TL_APPEND; TL_NAMES_HOST */
#endif
