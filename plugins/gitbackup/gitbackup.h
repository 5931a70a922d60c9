/* gitbackup.h - what the files of the git backup share: arguments, a repository, its refs, what became of it.
 *
 * Everything lives in the run's memory; a NULL from there means that it is used up, and ends the run. */
#ifndef GITBACKUP_GITBACKUP_H
#define GITBACKUP_GITBACKUP_H
#include <trotline.h>

#include "text.h"

struct args {
    const char *login, *api, *list, *repo;
    const struct tl_secret *token;
    struct tl_list url, include, exclude;
    bool wiki, lfs, forks, archived, starred;
    const char *keep; /* JSON; read into: */
    int64_t last, weekly, monthly;
    int64_t max_size, full_every;
};

/* ---- source.c: what may be backed up, and under which name */
struct repository {
    const char *id; /* as its list has it, digits alone; or NULL */
    const char *server, *owner, *name, *full_name, *clone_url, *formerly;
    bool has_wiki, is_wiki, fork, archived;
    int64_t bytes; /* as its list says; 0: nothing */
    int64_t more;  /* how often it was handed on to a further run, because there was too much for one */
};
bool source_name_ok(const char *name); /* of an owner or a repository: could be the name of a file */
bool source_matches(const char *glob, const char *text);
/* From an entry of a list; own: source_json made it. TL_REFUSED, with *why: it is not to be touched; its id and full
 * name are there all the same. A full name that is none is NULL. */
int source_read(struct tl_run *run, const struct tl_json *entry, bool own, struct repository *r, const char **why);
int source_of_url(struct tl_run *run, const char *url, struct repository *r, const char **why);
const char *source_json(struct tl_run *run, const struct repository *r); /* what is handed on of it */
/* Its wiki, which is a repository of its own. */
struct repository source_wiki(struct tl_run *run, const struct repository *r);

/* ---- refs.c: refs, sorted as "OID REF" lines are */
struct ref {
    const char *oid, *name;
};
struct refs {
    struct ref *item;
    size_t count, room;
    size_t refused;            /* what is offered under names that no ref can have, or with an id that is none */
    const char *head;          /* the ref that HEAD leads to; NULL: none that is known */
    const char *head_oid;      /* what HEAD is; NULL: nothing */
    char digest[65];           /* of the sorted lines "OID REF\n" */
    const char *bundle, *base; /* of a manifest: the date of its bundle, of the bundle that it builds on; or NULL */
    int64_t chain;             /* bundles since the last full one */
};
int refs_add(struct tl_run *run, struct refs *r, struct tl_span oid, struct tl_span name);
int refs_finish(struct tl_run *run, struct refs *r); /* sorts, and makes the digest */
int refs_of_advertisement(struct tl_run *run, struct tl_span body,
                          struct refs *out);                                 /* smart HTTP, version 0. TL_INVALID */
int refs_of_list(struct tl_run *run, struct tl_span text, struct refs *out); /* git ls-remote --symref */
int refs_of_bundle(struct tl_run *run, const char *path, struct refs *out);  /* of its head. TL_INVALID */
int refs_of_manifest(struct tl_run *run, struct tl_span text, struct refs *out);
struct tl_span refs_manifest(struct tl_run *run, const struct repository *r, const struct refs *refs);
const struct ref *refs_find(const struct refs *r, const char *name); /* linear */
/* Calls each for every ref that is not as it was; old or now is NULL where there is none. */
int refs_compare(struct tl_run *run, const struct refs *was, const struct refs *is,
                 int (*each)(void *ctx, const char *name, const char *old, const char *now), void *ctx);

/* ---- outcome.c: what became of a repository */
struct outcome {
    const char *status, *class; /* class: of an error, for REPO.error */
    int rc;                     /* of git, or the HTTP status */
    const char *reason;
    const struct refs *refs;
    size_t refs_refused; /* offered under names that no ref can have */
    struct tl_backup bundle, zip;
    struct tl_list dropped; /* bundles that went with it */
    bool verified;
    const char *zip_reason, *zip_lost, *wiki, *lfs; /* zip_lost: there was no room for it */
    const char *lfs_reason; /* why not all large files are there, when that is not for their server to say; or NULL */
    bool lfs_waiting;       /* there are more of them than one run takes */
    struct text changed, submodules, pointers; /* JSON, without the brackets */
};
int outcome_fail(struct tl_run *run, struct outcome *o, const char *class, int rc, const char *said);
int outcome_add_dropped(struct tl_run *run, struct outcome *o, const struct tl_list *more); /* of its wiki */
int outcome_put(struct tl_run *run, const struct repository *r, const struct outcome *o);
int outcome_error_file(struct tl_run *run, const struct repository *r, const struct outcome *o, int64_t at_us);

/* ---- mirror.c: the copy in the cache folder, and what git makes of it */
struct mirror {
    struct tl_run *run;
    const struct args *args;
    const struct repository *repository;
    const char *url, *origin; /* what git is to ask */
    char key[17];             /* its name in the cache folder */
    const char *git;          /* KEY.git */
    int lock;
    int64_t last_s;      /* the second in which its last copy was made */
    struct tl_span said; /* the end of what git said last */
    int status;
};
int mirror_open(struct mirror *m);                /* and locks it, until the run ends. (waits) */
int mirror_now(struct mirror *m, int64_t *at_us); /* a second that no copy has its name from. (waits) */
const char *mirror_path(const struct mirror *m, const char *ending); /* absolute, in the cache folder */
const char *mirror_file(const struct mirror *m, const char *ending); /* relative to it */
int mirror_list(struct mirror *m, struct refs *out);                 /* git ls-remote */
int mirror_refs(struct mirror *m, struct refs *out);                 /* what it has by now */
int mirror_update(struct mirror *m, const struct refs *advertised);  /* TL_NOTFOUND: git failed, m says how */
int mirror_bundle(struct mirror *m, const struct refs *base);        /* KEY.bundle, verified */
int mirror_zip(struct mirror *m);                                    /* KEY.zip */
bool mirror_is_ancestor(struct mirror *m, const char *old, const char *now);
int mirror_git(struct mirror *m, const char *const *argv, size_t max_output, struct tl_span *out);
void mirror_begin(struct mirror *m, const char *const *argv, struct tl_program *p); /* for a program that streams */
const char *mirror_class(const struct mirror *m);                                   /* of its failure */

/* ---- tree.c: what the tree of HEAD says of things that lie elsewhere */
int tree_look(struct mirror *m, struct outcome *o);

/* ---- lfs_find.c: pointers of Git LFS */
bool lfs_all_of(struct tl_span s, const char *set); /* at least one, and each is in set */
bool lfs_is_oid(struct tl_span s);
bool lfs_is_size(struct tl_span s);
/* Calls each for every pointer in all that the mirror has, also more than once for the same. */
int lfs_find(struct mirror *m, int (*each)(void *ctx, struct tl_span oid, struct tl_span size), void *ctx);

/* ---- lfs.c: large files; like has server, owner, name and time */
int lfs_copy(struct mirror *m, const struct tl_backup *like,
             struct outcome *o); /* of all that the mirror has. (waits) */
int lfs_go_on(struct mirror *m, struct tl_backup *like,
              struct outcome *o); /* what was lacking the last time. (waits) */

/* ---- repository.c, listing.c */
int repository_back_up(struct tl_run *run, const struct args *a, const struct repository *r);
int listing_walk(struct tl_run *run, const struct args *a);
int listing_hand_on(struct tl_run *run, const struct repository *r); /* to a run of its own, a part of this one */
#endif
