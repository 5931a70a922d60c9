/* verify_inside.h - what verify.c, verify_records.c and verify_tables.c share. */
#ifndef TROTLINE_ENGINE_VERIFY_INSIDE_H
#define TROTLINE_ENGINE_VERIFY_INSIDE_H
#include "engine/verify.h"
#include "store/package.h"

struct verify {
    const struct verify_options *o;
    struct verify_sums *sums;
    struct fail *why;
    struct store_results *results;
    struct buf text; /* of the document at hand */
    struct hash *hash;
    char root_id[UUID_TEXT];       /* of o->root */
    int64_t root_started_us, root; /* root: its key, 0: all crawls */
};
TL_PRINTF(3, 4)
void verify_problem(struct verify *v, const char *path, const char *fmt, ...); /* path: below the lake */
bool verify_staged(struct verify *v, const char *path);                        /* is it on its way? */
bool verify_there(struct verify *v, const char *path);                         /* in its place, or on its way */
void verify_mode(struct verify *v, const char *path, unsigned mode);
void verify_step(struct verify *v); /* a file more was looked at */
int verify_records(struct verify *v);
int verify_tables(struct verify *v, int64_t root); /* root: of the crawl that is meant, 0: all */
#endif
