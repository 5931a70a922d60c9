/* lake_withdraw.c - the one thing that leaves the lake again: the closing record of a crawl that was opened anew.
 *
 * Invariant: nothing outside crawls/ is ever removed; documents and attachments stay as they are. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lake/lake_inside.h"

int lake_withdraw(struct lake *l, const char *path, struct fail *why) {
    if (!lake_path_ok(path) || strncmp(path, "crawls/", 7) != 0)
        return fail_set(why, TL_INVALID, "\"%.400s\" is no closing record, and nothing else leaves the lake", path);
    if (unlinkat(l->fd, path, 0) < 0 && errno != ENOENT && errno != ENOTDIR)
        return lake_broken(why, "withdraw the closing record", l, path);
    return TL_OK;
}
