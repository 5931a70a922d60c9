/* config_schema.h - what may stand in our YAML files: tables of keys, and the one reader that goes by them.
 *
 * Invariant: what a table does not name is refused, and what was read is within the table's bounds. Scalars have the
 * type that the table says, whatever they look like. Man pages print the same tables. For the config*.c files; others
 * use config.h. */
#ifndef TROTLINE_ENGINE_CONFIG_SCHEMA_H
#define TROTLINE_ENGINE_CONFIG_SCHEMA_H
#include "base/yaml.h"
#include "engine/config.h"

enum schema_type {
    SCHEMA_TEXT,   /* const char *: min to max bytes, no control characters */
    SCHEMA_INT,    /* int64_t */
    SCHEMA_BOOL,   /* bool */
    SCHEMA_SIZE,   /* int64_t, bytes */
    SCHEMA_TIME,   /* int64_t, microseconds */
    SCHEMA_BYTE,   /* int: two hex digits */
    SCHEMA_SWITCH, /* bool: the first of two words is false, the second true */
    SCHEMA_CHOICE, /* int (or an enum): the place of a word among `words` */
    SCHEMA_TEXTS,  /* const char *const *, NULL-ended; max: entries */
    SCHEMA_HOSTS,  /* the hosts of a struct leash, which begins at the offset */
    SCHEMA_MAP,    /* keys of another table, for a struct at the offset */
    SCHEMA_LIST,   /* such maps: an array of structs; min to max entries */
    SCHEMA_NAMED,  /* map of NAME to such maps: an array of structs that begin with a const char * for the name */
    SCHEMA_OBJECT  /* struct tl_span: any map, as JSON */
};
enum schema_flags {
    SCHEMA_REQUIRED = 1u,
    SCHEMA_NONE = 2u,  /* `none` is INT64_MAX */
    SCHEMA_AUTO = 4u,  /* `auto` is min - 1 */
    SCHEMA_LINES = 8u, /* line feeds and tabs are no fault in the text */
    SCHEMA_LATER = 16u /* of an object: only checked to be one */
};

struct schema_reader {
    struct arena *arena;
    struct yaml_error *err;
    const char *folder, *working; /* where relative paths start: those of the file, those of --set */
};
struct schema;
struct schema_key {
    const char *name; /* NULL ends a table */
    enum schema_type type;
    unsigned flags;
    size_t offset, count_offset; /* count_offset: of a size_t; 0: not wanted */
    int64_t min, max;
    const char *dflt;        /* as in YAML; NULL: the field stays as it is */
    const char *words;       /* "refuse|allow" */
    const struct schema *of; /* of maps and lists */
    int (*check)(struct schema_reader *r, const struct yaml_node *node,
                 void *field); /* after reading; may change the field */
    const char *help;
};
struct schema {
    const char *what; /* "a line": begins a sentence about what is missing */
    const struct schema_key *key;
    size_t size;                 /* of the struct, where lists are made of it */
    void (*init)(void *element); /* NULL: zeroed */
    int (*name)(struct schema_reader *r, const struct yaml_node *key,
                const char **name); /* of NAMED maps: what is kept as the name; NULL: schema_is_name, as it stands */
    int (*check)(struct schema_reader *r, const struct yaml_node *node, void *element);
};
extern const struct schema schema_leash;  /* struct leash */
extern const struct schema schema_config; /* struct config: trotline.yml */
extern const struct schema schema_crawl;  /* struct crawl: crawl files */

/* Defaults first, then what the map says. TL_INVALID and TL_FAILED: the reader's err says where and what. */
int schema_read(struct schema_reader *r, const struct schema *s, const struct yaml_node *map, void *out);
const struct schema_key *schema_find(const struct schema *s, const char *name); /* or NULL */
/* Refuses a key, with the nearest one that the tables have (second: NULL, or one more table). */
int schema_unknown(struct schema_reader *r, const struct yaml_node *key, const struct schema *s,
                   const struct schema *second);
int schema_no_memory(struct schema_reader *r, const struct yaml_node *at);
bool schema_is_name(const char *text); /* letters, digits, ".", "_", "-"; the first a letter or digit; at most 64 */

/* ---- config_set.c */
/* Puts the --set texts that name keys of `mine` into the tree; leaves those of `other` alone. Their nodes have line 0
 * and, as column, the text's number from 1. A key that both have is the crawl's. */
int config_set(struct schema_reader *r, const char *const *set, size_t n, const struct schema *mine,
               const struct schema *other, struct yaml_node **root);
/* "FILE:LINE:COL: sentence" or "--set KEY: sentence"; returns rc. */
int config_refuse(const struct yaml_error *err, const char *const *set, size_t n, int rc, struct fail *why);

/* ---- config.c */
int config_read(const char *path, struct buf *out,
                struct fail *why); /* a whole file, a little over YAML_TEXT_MAX at most */
/* trotline.yml from memory; folder: absolute, where relative paths start. file NULL: there is none. */
int config_text(const char *file, const char *folder, struct tl_span text, const char *const *set, size_t n,
                struct config *out, struct fail *why);
char *config_folder(const char *path); /* where relative paths of a file start; to be freed */
const char *config_path(struct schema_reader *r, const struct yaml_node *at,
                        const char *path); /* absolute; NULL: no memory */

/* ---- config_declared.c */
/* Every NAME.yml of a folder, which the configuration names under `key`; one more than `most` at the most. text NULL:
 * it cannot be read, and why says so; what take returns ends it, unless it is TL_OK. */
int config_declared(const char *folder, const char *key, size_t most,
                    int (*take)(void *ctx, const char *path, const struct tl_span *text, struct fail *why), void *ctx,
                    struct fail *why);

/* ---- config_hosts.c */
int config_host_pattern(struct schema_reader *r, const struct yaml_node *key, const char **pattern);
int config_hosts(struct schema_reader *r, const struct yaml_node *root, struct config *out); /* fetch.rules */

/* ---- config_crawl.c */
/* Refuses literal credentials in the `headers` of arguments or options. */
int config_check_headers(struct schema_reader *r, const struct yaml_node *args);
int config_object(struct schema_reader *r, const struct yaml_node *map, struct tl_span *out); /* as JSON in the arena */
/* A crawl from a tree, in an arena of its own which the reader uses, too. After a fault: config_crawl_free. */
void config_crawl_begin(struct crawl *out);
int config_crawl_tree(struct schema_reader *r, const struct yaml_node *root, struct crawl *out);
#endif
