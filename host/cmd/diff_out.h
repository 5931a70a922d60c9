/* diff_out.h - differences on their way out: a line each for people and CSV, lists of objects for programs.
 *
 * JSON has its lists one after the other, so whoever compares is asked for each kind of difference in turn. */
#ifndef TROTLINE_CMD_DIFF_OUT_H
#define TROTLINE_CMD_DIFF_OUT_H
#include "base/json_write.h"
#include "cmd/cmd.h"

enum diff_change { DIFF_ADDED, DIFF_REMOVED, DIFF_CHANGED, DIFF_CHANGES };
struct diff_out {
    enum cmd_format format;
    /* Writes the value of "before" or "after": what is known of an entry. A failure ends it. */
    int (*version)(void *ctx, struct json_writer *w, const void *entry);
    void *ctx;
    struct buf text;
    const char *section; /* json: the list that is open */
    bool first;
    int64_t change[DIFF_CHANGES], same; /* counted by who compares */
};
/* compare counts all differences anew, and reports those whose bit is set in wanted. */
int diff_out_all(struct diff_out *d, int (*compare)(void *ctx, unsigned wanted), void *ctx);
struct diff_side { /* entries in the order of their keys */
    void *entry;
    size_t count, size; /* size: of one */
};
/* Walks through two sides at once: calls group with the entries of one key, of which one side may have none. */
int diff_out_merge(const struct diff_side side[2], int (*compare)(const void *a, const void *b),
                   int (*group)(void *ctx, void *a, size_t n, void *b, size_t m, unsigned wanted), void *ctx,
                   unsigned wanted);
/* An entry of one side is NULL unless it has changed. Nothing, when its bit is not wanted. */
int diff_out_report(struct diff_out *d, unsigned wanted, enum diff_change change, struct tl_span key,
                    const void *before, const void *after);
/* Says what it came to; the exit code. */
int diff_out_end(struct diff_out *d, bool exit_code);

/* trotline diff --items, --type NAME (diff_rows.c): rows instead of documents. The exit code, said; type may be NULL.
 */
int diff_rows(struct cmd_open *o, const struct cmd_globals *g, char **root, const char *type, enum cmd_format format,
              bool exit_code);
/* diff.c: what changed in the documents of two crawls, in numbers only. */
int diff_count(struct store *s, struct lake *lake, const char *before, const char *after, int64_t change[DIFF_CHANGES],
               struct fail *why);
#endif
