/* plain_inside.h - what plain.c and plain_replay.c share. */
#ifndef TROTLINE_ENGINE_PLAIN_INSIDE_H
#define TROTLINE_ENGINE_PLAIN_INSIDE_H
#include "engine/plain.h"

struct plain_secret {
    const struct config_secret *from;
    struct buf value;
};
struct plain {
    const struct plain_options *o;
    struct transfer_pool *pool;
    struct fetcher *fetcher;
    struct pacing *pacing;
    struct cookies *cookies;
    struct plain_secret *secret;
    size_t secret_count, fetches;
    bool cancelled;
    struct process_link link;
    struct buf message;
};
/* Answers from the fixtures, with the fault that is asked for. */
int plain_replay(struct plain *p, struct run *r, const struct tl_request *q, int attach_fd, struct fetch_answer *a);
#endif
