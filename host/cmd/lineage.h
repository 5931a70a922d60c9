/* lineage.h - one run of a lineage after the other, parents before their children, into one of the formats.
 *
 * Invariant: nothing is held of a run that has been written, but for its place in the tree. */
#ifndef TROTLINE_CMD_LINEAGE_H
#define TROTLINE_CMD_LINEAGE_H
#include <stdio.h>

#include "cmd/print.h"

/* What is asked of each run, in this order; the first ones up to LINEAGE_OUT go into json, csv and graphml. */
enum lineage_field {
    LINEAGE_RUN_ID,
    LINEAGE_PARENT_ID,
    LINEAGE_ROOT_ID,
    LINEAGE_DEPTH,
    LINEAGE_EDGE,
    LINEAGE_COLLECTOR,
    LINEAGE_VERSION,
    LINEAGE_STATUS,
    LINEAGE_REASON,
    LINEAGE_ATTEMPTS,
    LINEAGE_STARTED_AT,
    LINEAGE_FINISHED_AT,
    LINEAGE_SECONDS,
    LINEAGE_BYTES,
    LINEAGE_HTTP_STATUS,
    LINEAGE_URL,
    LINEAGE_ERROR,
    LINEAGE_RESULT_ID,
    LINEAGE_PATH,
    LINEAGE_SHA256,
    LINEAGE_OUT,
    LINEAGE_PAYLOAD = LINEAGE_OUT,
    LINEAGE_QUEUED_AT,
    LINEAGE_PARENT_COLLECTOR,
    LINEAGE_CHILDREN,
    LINEAGE_LEVEL,
    LINEAGE_FIELDS
};
extern const char *const lineage_name[LINEAGE_OUT];

struct lineage_node {
    const struct store_value *field; /* LINEAGE_FIELDS of them */
    int64_t level;                   /* 0: the first one written */
    int64_t children;                /* how many of its children will be written */
    bool linked;                     /* its parent was written before: there is an edge */
};
struct lineage {
    FILE *out, *spool; /* spool: edges that json keeps for later */
    struct buf line;   /* what is about to be written; lineage_flush */
    const char *crawl, *lake;
    int64_t count; /* nodes written */
    int64_t *left; /* tree: children to come, by level */
    size_t left_room;
    struct buf batch; /* cypher: edges of the batch */
    int64_t in_batch;
};
struct lineage_format {
    const char *name;
    void (*begin)(struct lineage *l);
    void (*node)(struct lineage *l, const struct lineage_node *n);
    void (*end)(struct lineage *l);
};
extern const struct lineage_format lineage_tree, lineage_json, lineage_csv, lineage_dot,
    lineage_graphml;                                                    /* lineage_formats.c */
extern const struct lineage_format lineage_openlineage, lineage_cypher; /* lineage_exchange.c */

void lineage_flush(struct lineage *l);
static inline struct tl_span lineage_text(const struct lineage_node *n, enum lineage_field f) {
    return n->field[f].type == STORE_TEXT ? n->field[f].text : (struct tl_span){"", 0};
}
#endif
