/* context.h - the run context (run_context_v1): which week, from when to when, by which configuration and code.
 *
 * Invariant: a context that was made or read here is consistent: its window is that of its week (unless it says
 * `"window": "rolling"`), and its run_id follows from its own fields. Legs carry it as it is; none computes its own. */
#ifndef TROTLINE_FANIN_CONTEXT_H
#define TROTLINE_FANIN_CONTEXT_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/fail.h"
#include "base/hash.h"
#include "fanin/week.h"

#define CONTEXT_VERSION "run_context_v1"
enum { CONTEXT_MAX = 64 * 1024, CONTEXT_RUN_ID = 24, CONTEXT_PREFIX = 12 };

struct context {
    struct week week;
    char week_text[WEEK_TEXT], run_id[CONTEXT_RUN_ID];
    int64_t since_us, until_us;
    char source[SHA256_HEX], topic[SHA256_HEX], code[SHA256_HEX]; /* checksums, bare lower hex */
    struct tl_span json; /* the whole of it, canonical (json_python), with fields that we do not know; owned */
};

/* The digest of the code: that of one file; of several that of the sorted lines `hex  name`, each ended by LF. */
struct context_file {
    const char *name; /* the last part of its path */
    struct sha256 digest;
};
struct sha256 context_code(struct context_file *files, size_t n); /* sorts them */

/* Appends the document, over several lines, with its line feed. */
void context_write(struct buf *out, struct week week, const struct sha256 *source, const struct sha256 *topic,
                   const struct sha256 *code, int64_t now_us);

char *context_time(int64_t us, char out[TIME_TEXT]); /* whole seconds: 2026-06-01T00:00:00Z; returns out */

/* TL_INVALID with EXIT_CONFIG: no context, or one whose parts contradict each other. file: for the words. */
int context_read(const char *file, struct tl_span text, struct context *out, struct fail *why);
int context_read_file(const char *path, struct context *out, struct fail *why);
void context_free(struct context *c);

/* A leg's run context (an object as json_python writes it) against ours. 0, or TL_INVALID and the reason appended:
 * "window mismatch (...)" and the like. created_at and run_id are not compared. */
int context_compare(const struct context *c, struct tl_span leg, struct buf *reason);
#endif
