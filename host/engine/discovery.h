/* discovery.h - rules by which candidates are found in what was collected (trotline-targets(5)), and what is promoted
 * by itself.
 *
 * Invariant: what a rule names is there: types and their columns are looked up when the rules are read. */
#ifndef TROTLINE_ENGINE_DISCOVERY_H
#define TROTLINE_ENGINE_DISCOVERY_H
#include "engine/config_types.h"
#include "store/targets.h"

struct discovery_where { /* a column has one of these values; `*` stands for anything */
    size_t column;
    const char *const *pattern;
    size_t count;
};
struct discovery_rule {
    const char *type_name, *column_name, *urn; /* urn: a pattern; else a column of a type */
    int as;                                    /* an enum store_kind */
    int64_t score;
    struct tl_span where_given;
    const char *reaction; /* NULL: it only counts */
    /* looked up */
    const struct types_type *type; /* NULL: of links */
    size_t column;
    const struct discovery_where *where;
    size_t where_count;
};
struct discovery_reaction {
    const char *name, *template_file, *every; /* the last two may be NULL */
    int64_t score;                            /* the least that a candidate must have */
    struct discovery_rule rule;
};
struct discovery_watch { /* of rule: type, column, where */
    const char *of_name; /* NULL: the row's natural key */
    bool lines;          /* only documents of lines of a crawl */
    struct discovery_rule rule;
    size_t of; /* looked up: a column that says which row it is */
};
struct discovery {
    struct arena arena;
    struct config_types types;
    const struct discovery_rule *count;
    size_t count_count;
    const char *const *allow, *const *deny; /* patterns, NULL-ended, or NULL */
    const struct discovery_reaction *react;
    size_t react_count;
    const struct discovery_watch *watch;
    size_t watch_count;
    char sha256[SHA256_HEX]; /* of the rules and the declarations of their types: other rules, other candidates */
};
/* The file targets.rules, or the rules that are built in: hosts that pages of other sites link to; titles and statuses
 * of the pages that are lines. EXIT_CONFIG. */
int discovery_read(const struct config *c, struct discovery *out, struct fail *why);
int discovery_text(const struct config *c, const char *file, const char *folder, struct tl_span text,
                   struct discovery *out, struct fail *why);
void discovery_free(struct discovery *d);

/* `*` is any text, perhaps none; "*.x" is also x. Cost is at most len(pattern) * len(text). */
bool discovery_matches(const char *pattern, struct tl_span text);
bool discovery_allows(const struct discovery *d, const char *text);
/* The candidate that a text names, and where to begin with it. false: none. The buffers are replaced. */
bool discovery_candidate(enum store_kind as, struct tl_span value, struct buf *text, struct buf *url);

/* ---- discover.c: looks at documents that are in item files and were not looked at for these rules yet. */
struct discover_sums {
    int64_t documents, rows, finds;
};
struct lake;
int discover(struct store *s, struct lake *lake, const struct discovery *d, int64_t now_us, struct discover_sums *sums,
             struct fail *why);
extern const struct schema schema_discovery; /* struct discovery: for the manual's table */
#endif
