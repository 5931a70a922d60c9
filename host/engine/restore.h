/* restore.h - a repository again, from its copies in the lake: refs and objects as they were at a time. */
#ifndef TROTLINE_ENGINE_RESTORE_H
#define TROTLINE_ENGINE_RESTORE_H
#include "lake/lake.h"

struct restore {
    const char *name; /* [SERVER/]OWNER/REPOSITORY */
    int64_t at_us;    /* the newest copy that is no later */
    const char *dir;  /* that is not there yet, or empty */
};
struct restored {
    char date[32];
    int64_t refs, bundles;
    int64_t files, lacking; /* large files: put there, and never kept */
};
/* Makes a bare repository in dir, whole or not at all. TL_NOTFOUND, EXIT_USAGE: there is no such copy. Needs git. */
int restore_repository(struct lake *l, const struct restore *r, struct restored *out, struct fail *why);
#endif
