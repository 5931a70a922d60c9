/* config.h - trotline.yml and crawl files: strict, typed by their schema, every fault with file:line:column and the
 * nearest key. */
#ifndef TROTLINE_ENGINE_CONFIG_H
#define TROTLINE_ENGINE_CONFIG_H
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/fail.h"
#include "base/hash.h"
#include "engine/leash.h"
#include "net/host_rule.h"

struct config_secret {
    const char *name, *file, *env; /* one of file and env */
    const char *const *origins;    /* NULL-ended; the secret goes nowhere else */
};
struct config_shard { /* of the backups: the first byte of an owner's digest */
    const char *name;
    int min, max; /* 0 to 255, both included; all shards together cover every byte once */
};
struct config_collector {
    const char *name;
    const char *const
        *path; /* NULL, or the free levels of the lake path in another order, NULL-ended (lake_order_check) */
    struct tl_span options; /* JSON object, or empty */
    int line, column;
};
enum config_after { CONFIG_AFTER_NONE, CONFIG_AFTER_ITEMS, CONFIG_AFTER_TABLES };
struct config_convert {
    int after;   /* an enum config_after */
    int parquet; /* an enum parquet_codec: zstd, snappy, none */
    int avro;    /* deflate, snappy, zstandard, null */
    int64_t parquet_level, avro_level, threads;
    const char *const *types; /* folders, absolute, NULL-ended; NULL: none */
};

struct config {
    struct arena arena;         /* owns every text below */
    const char *file;           /* NULL: no file was found, everything is default */
    const char *folder;         /* relative paths start here */
    const char *lake, *catalog; /* absolute, or a URL */
    const char *const *plugins; /* folders, absolute, NULL-ended: configured, user's, system's */
    const char *environment, *user_agent, *from;
    struct leash leash; /* the global one; leash_init where nothing is said */
    struct {
        int64_t max /* 0: auto */, inflight, stall_us, run_us, memory;
    } workers;
    struct {
        int64_t timeout_us, max_body, max_redirects, retries, per_host;
        int64_t full_every; /* of a page that its server calls unchanged; 0: never */
        int64_t delay_us;   /* -1: auto */
        bool robots, private_allowed, http2;
        const char *proxy, *ca; /* ca: a file with certificates that are trusted beside the system's */
        struct host_rule *host; /* as they stand in the file; what holds is in `rules` */
        size_t host_count;
        struct host_rules rules;
    } fetch;
    struct config_convert convert;
    const char *const *apis; /* folders with descriptions of APIs, absolute, NULL-ended; NULL: none */
    struct {
        const char *folder, *rules; /* absolute; folder NULL: `targets` beside the file; rules NULL: those built in */
        int64_t promotions;         /* by reactions, in 24 hours */
    } targets;
    const struct config_collector *collector;
    size_t collector_count;
    const struct config_secret *secret;
    size_t secret_count;
    const char *const *on_finish;
    size_t on_finish_count;      /* shell commands */
    const char *tracked_backend; /* "catalog" or redis://... */
    const struct config_shard *shard;
    size_t shard_count; /* never 0 */
};
/* path NULL: the search order of contracts 2. A file found in the working folder must belong to the caller or root.
 * `set`: "key.sub=value" texts of --set that name keys of trotline.yml are applied last; those of the crawl file are
 * left to config_crawl, `leash` among them. TROTLINE_LAKE, TROTLINE_CATALOG and TROTLINE_PLUGINS (folders before those
 * of the file) beat the file, --set beats them. Relative paths of the environment and of --set start at the working
 * folder. EXIT_CONFIG; EXIT_USAGE for a --set without '='. After a failure there is nothing to free. A secret's file
 * that others can read is refused; it is not opened, and need not be there yet. */
int config_load(const char *path, const char *const *set, size_t set_count, struct config *out, struct fail *why);
void config_free(struct config *c);
const struct config_collector *config_collector(const struct config *c, const char *name); /* or NULL */

struct crawl_line {
    const char *collector, *name; /* name: result_context_name, or NULL */
    struct tl_span args; /* JSON object as YAML typed it (args_check with yaml set); {target.*} filled in; or empty */
    struct leash leash;  /* only what the line says; leash_init otherwise */
    struct tl_span leash_given; /* JSON of just the keys that were given, or empty */
    int line, column;           /* of the entry in the file */
};
struct crawl_route {                    /* react: who else is told about which documents */
    const char *on_collector, *on_type; /* on_type: a dataset's name, or NULL: any */
    const char *collector;
    struct tl_span args; /* JSON object or empty */
    int line, column;
};
struct crawl_fanin { /* sources NULL: none. Paths are absolute */
    const char *sources, *out;
    const char *week, *topic; /* of a context that the crawl makes itself; NULL: run_context has one */
    const char *const *code;  /* NULL-ended, or NULL */
    size_t code_count;
};
struct crawl {
    struct arena arena;
    const char *file;                          /* as named on the command line; NULL: made by `crawl URL` */
    const char *name, *org, *project, *target; /* org, project, target may be NULL */
    const char *url;                           /* where to begin with the target, or NULL */
    struct leash leash;                        /* defaults, then what the file says */
    struct crawl_line *line;
    size_t line_count;
    struct crawl_route *route;
    size_t route_count;
    const char *run_context; /* absolute path of the context that every run carries, or NULL */
    struct crawl_fanin fanin;
    struct tl_span json;     /* the whole file as canonical JSON (after --set): what `edited?` compares */
    char sha256[SHA256_HEX]; /* of json */
    bool lock;               /* named crawls take a lock and keep state */
    bool found;              /* nobody wrote its lines' URLs: they name no private host (guard.h) */
};
int config_crawl(const char *path, const char *const *set, size_t set_count, struct crawl *out, struct fail *why);
int config_crawl_text(const char *file_name, struct tl_span text, const char *const *set, size_t set_count,
                      struct crawl *out, struct fail *why);
/* `crawl URL...`: named by the first host and path, no lock, no state. leash: leash_defaults with the flags put over
 * it, or NULL. http_args: what each line gets beside `url`, or empty. A URL that is none is EXIT_USAGE. */
int config_crawl_urls(const char *const *url, size_t n, const struct leash *leash, struct tl_span http_args,
                      struct crawl *out, struct fail *why);
/* The crawl that `crawl URL...` once made, from what the catalog keeps of it. TL_NOTFOUND: that is of a crawl file. */
int config_crawl_recorded(struct tl_span json, const char *sha256, struct crawl *out);
void config_crawl_free(struct crawl *c);
#endif
