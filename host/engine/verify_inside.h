/* verify_inside.h - what verify.c and verify_records.c share. */
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
    char root_id[UUID_TEXT]; /* of o->root */
    int64_t root_started_us;
};
TL_PRINTF(3, 4)
void verify_problem(struct verify *v, const char *path, const char *fmt, ...); /* path: below the lake */
bool verify_staged(struct verify *v, const char *path);                        /* is it on its way? */
int verify_records(struct verify *v);
#endif
