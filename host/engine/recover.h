/* recover.h - what a writer puts in order when it starts, before it writes anything of its own.
 *
 * Every committed document, attachment and table file that a dead process left in staging goes to its place, everything
 * else that it left is removed; table files that others took the place of are removed, once no Delta log names them;
 * closed crawls without a closing record get theirs. Living neighbours are left alone. Runs that a dead process had
 * leased are not dealt with here (store_recover). */
#ifndef TROTLINE_ENGINE_RECOVER_H
#define TROTLINE_ENGINE_RECOVER_H
#include "lake/lake.h"
#include "store/store.h"

int recover_all(struct store *s, struct lake *l, struct fail *why); /* both open for writing, outside a transaction */
#endif
