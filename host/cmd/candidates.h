/* candidates.h - what the commands about targets share: the list of them, and candidates that are up to date. */
#ifndef TROTLINE_CMD_CANDIDATES_H
#define TROTLINE_CMD_CANDIDATES_H
#include "cmd/cmd.h"
#include "engine/targets.h"

void candidates_problem(const char *text); /* says what is wrong with a file of a target */
/* Documents that are not items yet become it, and what was not looked at for candidates is. Opens store and lake for
 * writing. failed: documents that could not be converted. 0, or the exit code, said. */
int candidates_update(struct cmd_open *o, const struct cmd_globals *g, const struct discovery *d, int64_t now_us,
                      int64_t *failed);
/* Then promotes what reactions want. 0, or the exit code, said; without reactions nothing is done. */
int candidates_react(struct cmd_open *o, const struct cmd_globals *g, int64_t now_us, struct targets_reacted *out);
#endif
