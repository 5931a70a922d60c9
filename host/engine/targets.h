/* targets.h - what is watched: targets of files and promoted ones, when each is due, and how candidates become targets.
 *
 * Invariant: of one id there is one target: a file's, else a promoted one. A reaction promotes a candidate once,
 * whatever became of it, and within the bound of promotions, which is looked at in the transaction that promotes. What
 * was promoted, and taken back, stands in a record of the lake, too (table_record.h). */
#ifndef TROTLINE_ENGINE_TARGETS_H
#define TROTLINE_ENGINE_TARGETS_H
#include "engine/config_target.h"
#include "engine/discovery.h"
#include "lake/lake.h"
#include "store/targets.h"

struct targets_entry {
    struct target t;
    char *yaml;       /* of a promoted one, else NULL */
    char *what;       /* likewise: the candidate that it was made of */
    char *reaction;   /* likewise, or NULL: by hand */
    int64_t from_run; /* likewise: run whose document it comes from, or 0 */
    int64_t promoted_us;
};
struct targets {
    struct targets_entry *entry; /* in the order of their ids */
    size_t count, room;
    size_t broken; /* files that are no targets */
};
/* Files that are none, and the second of an id, are told to `problem` and left out. store NULL: files only.
 * EXIT_CONFIG: the folder cannot be read. */
int targets_load(const struct config *c, struct store *s, void (*problem)(const char *text), struct targets *out,
                 struct fail *why);
void targets_free(struct targets *t);
void targets_folder(const struct config *c, struct buf *out); /* where files of targets are, or would be */
/* Files in it that were meant to be targets by all appearance, but end in .yaml. */
void targets_strays(const struct config *c, void (*tell)(const char *path));
bool targets_is_id(const char *text); /* letters, digits, '.', '_', '-'; at most 64 */
const struct targets_entry *targets_find(const struct targets *t, const char *id); /* or NULL */

struct targets_due {
    int64_t last_us, next_us; /* 0: never yet; at once. INT64_MAX: not by itself */
    int64_t point_us;         /* of its schedule: what a turn at this time is for, as store_turn.due_us */
    bool open;                /* a crawl of it is under way, or was interrupted: it is to go on */
};
/* Nobody waits for longer than `every`, whatever the clock was before. */
int targets_due(struct store *s, const struct targets_entry *e, int64_t now_us, struct targets_due *out);
static inline bool targets_is_due(const struct targets_due *d, int64_t now_us) {
    return d->next_us <= now_us;
}

/* ---- promotions */
/* The target that has this among what it begins with, or NULL. */
const char *targets_watching(const struct targets *t, enum store_kind kind, const char *text);
struct targets_promotion {
    enum store_kind kind;
    const char *text, *url;                 /* of the candidate; url may be NULL */
    const char *id, *every, *template_file; /* NULL: an id made of the text; the template's, or each day; http */
    const char *reaction;                   /* NULL: by hand */
    int64_t run, now_us;
    int64_t most; /* of a reaction: in 24 hours */
};
/* Appends its id. TL_REFUSED: as a reaction: it was promoted before, or the bound is reached. EXIT_USAGE, EXIT_CONFIG.
 */
int targets_promote(struct store *s, struct lake *l, const struct targets *known, const struct targets_promotion *p,
                    struct buf *id, struct fail *why);
/* It is watched no more. TL_NOTFOUND: no promoted target has this id. */
int targets_take_back(struct store *s, struct lake *l, const char *id, int64_t now_us, struct fail *why);
struct targets_reacted {
    int64_t promoted, held_back; /* held back: by the bound, to be promoted another day */
};
/* Promotes what reactions want. told: each promotion, as it is made. */
int targets_react(const struct config *c, struct store *s, struct lake *l, const struct targets *known,
                  const struct discovery *d, int64_t now_us,
                  void (*told)(const char *id, const char *text, const char *reaction), struct targets_reacted *out,
                  struct fail *why);
/* How many candidates reactions want that never come to anything: they lead to private addresses. */
int targets_unheard(const struct config *c, struct store *s, int64_t *count, struct fail *why);
#endif
