/* lake_inside.h - what the files of the lake share with each other (and with their unit test), and nobody else
 * includes. */
#ifndef TROTLINE_LAKE_LAKE_INSIDE_H
#define TROTLINE_LAKE_LAKE_INSIDE_H
#include "lake/lake.h"

enum { LAKE_PATH_MAX = 2048, LAKE_SLOW_US = 100000, LAKE_SLOW_BATCHES = 100, LAKE_FOLDER_DEPTH = 32 };
#define LAKE_STAGING ".staging"

struct lake {
    char *path;    /* absolute */
    char *staging; /* absolute; NULL when opened for reading */
    int fd;        /* the lake */
    int own;       /* our staging folder, flocked; -1 when opened for reading */
    char owner[UUID_TEXT];
    bool no_rename;    /* this file system has no RENAME_NOREPLACE: link and unlink */
    bool rooted;       /* a syncfs has made the staging folder itself durable */
    int slow_left;     /* batches for which syncfs is not tried */
    int backups;       /* the folder of backups, flocked while it is held; else -1 */
    struct buf marked; /* folders of copies in which a mark was published: lines */
};

/* A failure of the disk at l->path/name (l may be NULL: name stands alone), from errno: EXIT_DISK, TL_FAILED. */
int lake_broken(struct fail *why, const char *attempt, const struct lake *l, const char *name);
int lake_folders(int at, const char *path); /* makes those that lead to the last part of `path`; TL_FAILED with errno */
bool lake_path_ok(const char *path);        /* relative, no empty, "." or ".." part, of bounded length */
/* Renames from/name to l->fd/to as lake_publish says. */
int lake_move(struct lake *l, int from, const char *name, const char *to, struct fail *why);
/* lake_backup.c: has FOLDER/NAME.KIND lead to the staged copy that is to be published at `to`; an empty one takes that
 * name away. */
int lake_backup_lead(struct lake *l, int from, const char *name, const char *to, struct fail *why);

/* The names in a folder, sorted by their bytes; a folder sorts as if its name ended in '/', so that a walk is in order
 * of whole paths. */
struct lake_names {
    char **name;
    bool *folder; /* type as the folder tells it; symlinks and others are neither folder nor listed */
    size_t count;
};
int lake_list(int folder, struct lake_names *out); /* TL_FAILED with errno; does not close the folder */
void lake_names_free(struct lake_names *n);
#endif
