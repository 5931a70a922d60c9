/*
 * Types: how dataset items become rows of typed tables. A type is declared (trotline-types(5)), never programmed: which
 * items it takes, which array of theirs it explodes, and where each column's value comes from.
 *
 * Invariant: an item either gives rows, or is rejected with a reason for each row that it could not give, or is none of
 * the type's. A value is never guessed: what cannot be read as its column's type without loss is a reason to reject.
 */
#ifndef TROTLINE_CONVERT_TYPES_H
#define TROTLINE_CONVERT_TYPES_H

#include "base/arena.h"
#include "base/hash.h"
#include "convert/items.h"

/* Every typed table begins and ends with columns of ours; the declared ones stand between. */
enum { TYPES_HEAD = 4, TYPES_TAIL = 2, TYPES_COLUMNS_MAX = ROW_COLUMNS_MAX - TYPES_HEAD - TYPES_TAIL };
enum { TYPES_EXPLODE_MAX = 1000000 }; /* rows of one item */

enum types_take {
    TYPES_VALUE,    /* the value itself */
    TYPES_JSON,     /* its JSON text */
    TYPES_COUNT,    /* entries of an array or object */
    TYPES_KEY,      /* name of the member that is exploded */
    TYPES_SAME_SITE /* do two columns' URLs belong to one site? */
};
enum types_unit { TYPES_RFC3339, TYPES_SECONDS, TYPES_MILLIS, TYPES_MICROS }; /* of a time that is a number */

struct types_column {
    const char *name;
    int type;             /* an enum column_type */
    int field;            /* the item's column (enum items_column) that it is taken from */
    const char *of;       /* another dataset of the same document, whose first item is meant; NULL: the item itself */
    const char *pointer;  /* RFC 6901, into the field's JSON; NULL: the field as it is */
    const char *item;     /* likewise, into the exploded element */
    const char *each;     /* of a list: into each of its elements */
    int take, unit;       /* enum types_take, types_unit */
    bool required, drift; /* drift: counts for the row's hash */
    const char *const *same_site; /* two names of columns, NULL-ended */
    int pair[2];                  /* their numbers */
    const char *about;
};
struct types_type {
    const char *name, *version, *about;
    const char *collector;
    const char *const *dataset;    /* names, NULL-ended; NULL: any */
    const char *const *media_type; /* likewise */
    int kind;                      /* 0 any, 1 simple, 2 page, 3 key_value */
    const char *explode;           /* RFC 6901 into data; NULL: one row an item */
    bool single;                   /* an object there is one row, not one for each member */
    const char *const *key;        /* names of columns, NULL-ended */
    const struct types_column *column;
    size_t column_count;
    /* made by types_finish */
    struct table table;
    int key_at[16];
    size_t key_count;
    bool siblings; /* some column is taken from another dataset */
    char sha256[SHA256_HEX];
    const char *columns_json;
};
/* What types and columns are called: at most 64 small letters, digits and '_', so that a name needs no quotes anywhere.
 */
bool types_is_word(const char *name);
bool types_is_ours(const char *name); /* a table or view that there is anyway, so no type may be called so */
/* What declarations have in common with each other is checked here: names, keys, what fits together. TL_INVALID. */
int types_finish(struct types_type *t, struct arena *memory, struct fail *why);

extern const struct table types_rejects; /* the table of what was rejected */
#define TYPES_REJECTS_VERSION "v1"

struct types_sink {
    int (*row)(void *ctx, const struct types_type *t, const struct cell *cells);
    int (*reject)(void *ctx, const struct types_type *t, const struct cell *cells);
    void *ctx;
};
/* What an item is to other items of its document. */
struct types_document {
    const struct cell *(*find)(void *ctx, const char *dataset); /* first item of a dataset; NULL: there is none */
    bool (*same_site)(struct tl_span a, struct tl_span b);
    void *ctx;
};
bool types_takes(const struct types_type *t, const struct cell *item);

struct types; /* memory for one item at a time */
struct types *types_new(void);
void types_free(struct types *x);
/* Calls the sink for each row and rejection. A negative answer of it ends the work and is returned. */
int types_rows(struct types *x, const struct types_type *t, const struct cell *item, const struct types_document *doc,
               const struct types_sink *sink, int64_t *rows, int64_t *rejected);
#endif
