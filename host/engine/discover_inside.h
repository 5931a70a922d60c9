/* discover_inside.h - what discover.c and discover_watch.c share. */
#ifndef TROTLINE_ENGINE_DISCOVER_INSIDE_H
#define TROTLINE_ENGINE_DISCOVER_INSIDE_H
#include "engine/discovery.h"

/* A cell as text; of a list the entry i. false: there is none. scratch: for what is no text. */
bool discover_cell(const struct types_type *t, size_t column, const struct cell *cells, size_t i, struct buf *scratch,
                   struct tl_span *out);
bool discover_is_meant(const struct discovery_rule *rule, const struct cell *cells, struct buf *scratch); /* where */

/* ---- watched columns: what rows say, on its way into the catalog. Zeroed: empty. */
struct watching {
    struct watched {
        int64_t run;
        const struct discovery_watch *by;
        char *of, *value; /* NULL: of its URL; none */
    } * held;
    size_t count, room;
    struct reuse {
        int64_t run, result_run;
    } * reuse; /* in the order of result_run */
    size_t reuses, reuse_room;
    int64_t of_document; /* what the document at hand has said */
    struct buf value, of;
};
bool discover_watches(const struct discovery *d, const struct types_type *t);
int watching_reused(void *ctx, int64_t run, int64_t result_run); /* for store_reused */
void watching_document(struct watching *w);                      /* another one begins */
/* A row of the document of result_run; run: the same, or 0: it is only for those that reuse it. */
void watching_row(struct watching *w, const struct discovery *d, const struct types_type *t, int64_t run,
                  int64_t result_run, const struct cell *cells);
int watching_write(struct watching *w, struct store *s); /* in a transaction; what is held is gone */
int watching_fold(struct store *s, struct fail *why);    /* all that waits */
void watching_free(struct watching *w);
#endif
