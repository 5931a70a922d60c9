/* targets_related.h - trotline targets shared, trotline targets history: how targets relate, and what changed about
 * one. */
#ifndef TROTLINE_CMD_TARGETS_RELATED_H
#define TROTLINE_CMD_TARGETS_RELATED_H
#include "cmd/cmd.h"

struct targets_question {
    enum cmd_format format;
    int64_t now_us, most; /* most: rows */
};
/* Both look at new documents first. Nothing, one id or two: of all targets, of one with others, of these two. The exit
 * code, said. */
int targets_shared(struct cmd_open *o, const struct cmd_globals *g, const struct targets_question *q, char **id,
                   int count);
int targets_history(struct cmd_open *o, const struct cmd_globals *g, const struct targets_question *q, const char *id);
#endif
