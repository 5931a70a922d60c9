/* targets.h - what the catalog knows of targets: candidates that documents spoke of, what was promoted, whose turn was.
 *
 * Invariants: a page counts once for a candidate in a target, however often it is fetched, looked at, or given by a
 * result that is reused; a target that was promoted has one row, which stays when it is taken back, so that what was
 * promoted on a day can always be counted. Files of targets are not known here. */
#ifndef TROTLINE_STORE_TARGETS_H
#define TROTLINE_STORE_TARGETS_H
#include "store/store.h"

enum store_kind { STORE_A_HOST, STORE_A_URL, STORE_AN_URN, STORE_A_NAME, STORE_KINDS };
extern const char *const store_kind_name[STORE_KINDS];

/* ---- candidates. Those that write want a transaction. */
struct store_find { /* a document of the run `run` speaks of it */
    int64_t run, weight;
    enum store_kind kind;
    const char *text, *url, *reaction; /* url NULL: not known; reaction NULL: none wants it */
};
/* What was found by other rules than these (their digest) is forgotten, and all documents are to be looked at again. */
int store_discovery_rules(struct store *s, const char *sha256, struct fail *why);
int store_find_put(struct store *s, const struct store_find *f, int64_t now_us);
int store_discovered_put(struct store *s, int64_t run);
/* Runs that stand for a result of another: what was seen there was seen here, too. */
int store_discovered_again(struct store *s);
/* Entities that links in the run's document lead to; url NULL: not known. Must not write. A negative answer ends it. */
int store_find_links(struct store *s, int64_t run, int (*each)(void *ctx, const char *urn, const char *url), void *ctx,
                     struct fail *why);

/* ---- columns that are watched: their history. Those that write want a transaction. */
struct store_watch { /* a row of the run's document says this */
    int64_t run;
    const char *type, *column;
    const char *of;    /* which row, NULL: the one of the run's URL */
    const char *value; /* NULL: the column has none */
    bool lines;        /* only if the run is a line of its crawl */
};
/* Of several rows `of` one of a document the first counts. It waits until it is folded in. */
int store_watch_put(struct store *s, const struct store_watch *w);
/* Folds some of what waits into history, in order; to be called until *folded is 0, each time in a transaction of its
 * own. *left_out grows by what belongs to keys that are too many for a target. */
int store_watch_fold(struct store *s, int64_t *folded, int64_t *left_out);
/* Runs that stand for a result of another crawl, which is in item files, and were not looked at; in the order of
 * result_run. Must not write. */
int store_reused(struct store *s, int (*each)(void *ctx, int64_t run, int64_t result_run), void *ctx, struct fail *why);

struct store_candidate {     /* texts live until the next call or, in a callback, until it returns */
    int64_t key, score, run; /* run: where it was seen first */
    enum store_kind kind;
    const char *text, *url, *reaction; /* reaction: of store_wanted only */
};
/* By its key, or (key 0) by its text. TL_NOTFOUND; TL_INVALID: several kinds have that text. */
int store_candidate_get(struct store *s, int64_t key, const char *text, struct store_candidate *out, struct fail *why);
/* What reactions want and nobody ever promoted; the highest score first, then what was wanted first. */
int store_wanted(struct store *s, int (*each)(void *ctx, const struct store_candidate *c), void *ctx, struct fail *why);

/* ---- promotions */
struct store_promotion {
    struct uuid uid;                         /* by which it is known outside of the catalog */
    const char *id, *what, *yaml, *reaction; /* reaction NULL: by hand */
    enum store_kind kind;
    int64_t run, at_us; /* run 0: none is known */
    int64_t removed_us; /* 0: it holds */
};
/* TL_INVALID, EXIT_USAGE: a promoted target of that id is there. */
int store_promotion_put(struct store *s, const struct store_promotion *p, struct fail *why);
int store_promotion_end(struct store *s, const char *id, int64_t at_us); /* TL_NOTFOUND */
/* What a record says of one, in whatever order records come: a promotion that was taken back stays so, and of two that
 * hold an id the later has it. */
int store_promotion_import(struct store *s, const struct store_promotion *p);
/* Those that hold, in the order of their ids. */
int store_promotions(struct store *s, int (*each)(void *ctx, const struct store_promotion *p), void *ctx,
                     struct fail *why);
int store_promoted(struct store *s, enum store_kind kind, const char *what, bool *ever, struct fail *why);
int store_reacted_since(struct store *s, int64_t us, int64_t *count, struct fail *why); /* promotions by reactions */

/* ---- turns of `run --due`: they belong to the crawl that was the turn, so that its closing record has them */
struct store_turn {
    int64_t at_us, due_us; /* the time it went by; the point of the schedule that it was for */
};
int store_target_turn(struct store *s, const char *id, struct store_turn *out); /* the last. TL_NOTFOUND: none yet */
int store_target_turn_put(struct store *s, int64_t root, const struct store_turn *turn);
#endif
