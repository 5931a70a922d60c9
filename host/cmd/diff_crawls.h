/* diff_crawls.h - which two crawls trotline diff is asked about: by their roots, by a name, by a name and a time.
 *
 * The time of a crawl is that by which `run --due` carried it out, else that of its start. Of a name only crawls that
 * are over count. */
#ifndef TROTLINE_CMD_DIFF_CRAWLS_H
#define TROTLINE_CMD_DIFF_CRAWLS_H
#include "base/uuid.h"
#include "cmd/cmd.h"

struct diff_crawls {
    char text[2][UUID_TEXT + 64]; /* root ids, or what was given in place of one: the start of an id */
};
/* One word: NAME: its last two; NAME@TIME: the last until then, and the last. Two: each NAME, NAME@TIME or ROOT. TIME
 * is as in --now, or how long ago, such as 7d. 0, or the exit code, said. */
int diff_crawls(struct store *s, char **word, int count, int64_t now_us, struct diff_crawls *out);
#endif
