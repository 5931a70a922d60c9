/* lake_withdraw.c - what leaves the lake again: the closing record of a crawl that was opened anew, and table files
 * that others took the place of.
 *
 * Invariant: documents and attachments are never removed, but for copies of repositories (lake_backup.c); what can be
 * made from them again may be. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "lake/lake_inside.h"

int lake_withdraw(struct lake *l, const char *path, struct fail *why) {
    static const char *const derived[] = {"crawls/", LAKE_ITEMS "/", LAKE_TYPED "/", LAKE_REJECTS "/"};
    bool known = false;
    for (size_t i = 0; i < COUNT_OF(derived); i++)
        known = known || strncmp(path, derived[i], strlen(derived[i])) == 0;
    if (!lake_path_ok(path) || !known)
        return fail_set(why, TL_INVALID,
                        "\"%.400s\" is neither a closing record nor a table file, and nothing else leaves the lake",
                        path);
    if (unlinkat(l->fd, path, 0) < 0 && errno != ENOENT && errno != ENOTDIR)
        return lake_broken(why, "withdraw", l, path);
    return TL_OK;
}
