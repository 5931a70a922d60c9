/* plain_programs.h - the programs of a plain run: a helper process that carries them out.
 *
 * It is started before anything of the collector is loaded, so that no stranger's code is in it, and the run itself may
 * be confined. It holds programs to the same rules as the supervisor, being the same code (super_exec.c), and ends,
 * with all it started, when the run's end of the socket closes. */
#ifndef TROTLINE_ENGINE_PLAIN_PROGRAMS_H
#define TROTLINE_ENGINE_PLAIN_PROGRAMS_H
#include <sys/types.h>

#include "base/fail.h"
#include "engine/plugin.h"
#include "engine/process.h"

struct plain_programs {
    struct port port; /* the run's end */
    pid_t pid;
};
/* options: of the collector, a JSON object or empty; its `programs` may be run by their paths. cache_folder: where they
 * start. time_us: how long the run may take. */
int plain_programs_start(const struct plugin *p, struct tl_span options, const char *cache_folder, int64_t time_us,
                         struct plain_programs *out, struct fail *why);
/* Hands what the helper says to the link, after it has waited for something. */
void plain_programs_hear(struct plain_programs *p, struct process_link *link);
/* Closes this end and waits for the helper. In a process that was forked from the one that started it: only closes. */
void plain_programs_end(struct plain_programs *p);
#endif
