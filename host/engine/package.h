/* package.h - the closing record of a crawl as text: ROOT.jsonl (the package: everything the catalog knows of it) and
 * ROOT.json (the summary, which says what the package must be).
 *
 * A line of ROOT.jsonl is an object with `kind`: crawl (the first), collector, target, scope, run, document, leashed,
 * edge, event. Members that are null, 0 or false are left out. What a line names stands before it; a run's document
 * follows its run. JSON that a run was given (payload, datasets) stands verbatim; times are microseconds since 1970 UTC
 * in members that end in _us. Readers ignore kinds and members that they do not know. The same rows give the same
 * bytes. */
#ifndef TROTLINE_ENGINE_PACKAGE_H
#define TROTLINE_ENGINE_PACKAGE_H
#include "base/buf.h"
#include "base/fail.h"
#include "base/hash.h"
#include "store/store.h"

enum { PACKAGE_LINE_MAX = 64 << 20, PACKAGE_SUMMARY_MAX = 64 << 20 };
struct package {
    struct sha256 sha256; /* of the whole file */
    int64_t bytes, lines;
    int64_t runs, documents, reused,
        fetched; /* documents of its own; runs that stand for earlier ones; bytes that runs fetched */
    int64_t by_state[STORE_STATES], leashed[STORE_REASONS];
};
/* Writes the package to fd, from where it stands. `closed` says reason and finished_us as they are to be. */
int package_write(struct store *s, const struct store_crawl *closed, int fd, struct package *out, struct fail *why);
void package_summary(struct buf *out, struct store *s, const struct store_crawl *closed, const char *path,
                     const struct package *p);

/* ---- reading: both files may be damaged, or made by somebody else */
struct package_head { /* what ROOT.json says */
    struct uuid root_id;
    struct buf path;        /* of the package below the lake */
    struct package package; /* sha256, bytes, lines, documents, by_state, leashed */
    int64_t runs, refusals;
};
/* Strict JSON, crawl_v1, its own checksum right; TL_INVALID with EXIT_DAMAGED. */
int package_head_read(struct tl_span text, struct package_head *out, struct fail *why);
void package_head_free(struct package_head *h);
/* Calls each for every line, parsed: an object with a `kind`. The first fault ends it: `file`:line: why; TL_INVALID,
 * EXIT_DAMAGED. A negative answer ends it and is returned; where it comes with a reason in *why, "file:line: " is put
 * before it. */
int package_read(int fd, const char *file, int (*each)(void *ctx, struct tl_span kind, const struct tl_json *line),
                 void *ctx, struct fail *why);
#endif
