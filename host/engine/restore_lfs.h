/* restore_lfs.h - the large files of a repository that is restored: put where git-lfs looks for them. */
#ifndef TROTLINE_ENGINE_RESTORE_LFS_H
#define TROTLINE_ENGINE_RESTORE_LFS_H
#include "lake/lake.h"

/* copies: the folder of its copies, below the lake. Those that the newest list no later than at_us names go to
 * to/lfs/objects/aa/bb/OID, each only if it is what its name says; lacking: those that the list says were never kept.
 * EXIT_DAMAGED: one that was kept is not there, or not what it should be. */
int restore_lfs(struct lake *l, const char *copies, int64_t at_us, const char *to, int64_t *files, int64_t *lacking,
                struct fail *why);
#endif
