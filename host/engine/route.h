/* route.h - the way to a server that a run has had an answer from, told to a git that is to go there, too.
 *
 * What holds for our own requests holds for git's: the host's proxy, the certificates that are believed, who we are,
 * and the very address that the guard let pass (guard.h), so that a name which moves in between leads git nowhere else.
 * Told by configuration in its environment, behind what the collector has put there, so that ours is what counts. */
#ifndef TROTLINE_ENGINE_ROUTE_H
#define TROTLINE_ENGINE_ROUTE_H
#include "engine/run.h"

enum { ROUTE_PAIRS = 8 };
struct route {
    struct buf name[ROUTE_PAIRS], value[ROUTE_PAIRS];
    uint32_t count;
    struct tl_span password; /* of the proxy, in the rule; empty: none */
};
/* The latest answer of the run from the origin of url says how. TL_INVALID: url is none of the web; TL_REFUSED: there
 * was no answer from there in this run. Both are recorded as the run's reason. */
int route_find(struct run *r, const char *url, struct route *out);
void route_free(struct route *route);
#endif
