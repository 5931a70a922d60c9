/* table_list.h - which tables there are, what their rows look like, and where their Parquet files lie: dataset items,
 * each version of each type, rejects. One list from which every door to another tool is made. */
#ifndef TROTLINE_ENGINE_TABLE_LIST_H
#define TROTLINE_ENGINE_TABLE_LIST_H
#include "engine/config_types.h"
#include "store/tables.h"

struct table_entry {
    enum store_table_kind kind;
    const char *name;    /* as SQL calls it: dataset_items, http_page_v1, rejects */
    const char *type;    /* as people call it: items, http_page, rejects */
    const char *version; /* v1 of items and rejects, else of the type */
    struct table table;
    const char *const *partition; /* names of the levels of its paths, NULL-ended */
    const char *root;             /* folder of its Parquet files, below the lake; none but its files are in it */
    int64_t files, rows;          /* Parquet, of now */
    bool newest;                  /* the version of its type that is in force, else the one that was used last */
};
struct table_list {
    struct arena arena; /* owns them */
    struct table_entry *entry;
    size_t count;
};
/* Items, then types in the order of name and first use, then rejects. Types that nothing was refined with yet are in it
 * when types is given, which also knows what columns are about. */
int table_list_read(struct store *s, const struct config_types *types, struct table_list *out, struct fail *why);
void table_list_free(struct table_list *l);

/* NAME_vVERSION, in letters that every engine takes unquoted. */
void table_list_name(struct buf *out, const char *type, const char *version);

/* The entries that a person means by a word: items, a type (all its versions), NAME_vVERSION, rejects. */
bool table_list_means(const struct table_entry *e, const char *word);

/* Files of a table that count now, by hour and age. store_table_each's rules. */
int table_list_files(struct store *s, const struct table_entry *e, const char *format,
                     int (*each)(void *ctx, const struct store_table *f), void *ctx, struct fail *why);

/* The value of a partition as it was before it became part of a path (lake_value). False: null. */
bool table_list_value(const char *path, const char *partition, struct buf *out);
#endif
