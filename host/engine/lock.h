/* lock.h - one instance of a crawl at a time, one maker of tables: locks beside the catalog that die with their holder.
 */
#ifndef TROTLINE_ENGINE_LOCK_H
#define TROTLINE_ENGINE_LOCK_H
#include "base/fail.h"

/* Takes the lock of a crawl's name within one catalog. *fd holds it until it is closed. Held by another: TL_REFUSED and
 * EXIT_LOCKED. */
int lock_crawl(const char *catalog, const char *name, int *fd, struct fail *why);
/* Takes the lock of those who make tables; waits for its turn. As above. */
int lock_tables(const char *catalog, int *fd, struct fail *why);
#endif
