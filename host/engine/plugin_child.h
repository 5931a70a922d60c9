/* plugin_child.h - throw-away processes that load one plugin each and print what it says about itself.
 *
 * A child is `trotline --describe FILE` in its own process group, with no descriptors but 0, 1 and 2 and an environment
 * of a few fixed names, confined (confine.h): it writes nothing, starts nothing and has no network, where the kernel
 * can see to that. It has a deadline and a limit on what it prints; its group is killed when it ends, however it ends.
 */
#ifndef TROTLINE_ENGINE_PLUGIN_CHILD_H
#define TROTLINE_ENGINE_PLUGIN_CHILD_H
#include "base/buf.h"
#include "base/fail.h"
#include "engine/plugin.h"

/* The running program, recorded once at start: the target of /proc/self/exe. NULL or never called: /proc/self/exe
 * itself. */
void plugin_self(const char *path);

struct plugin_child {
    const char *file; /* in */
    struct buf out;   /* what it printed; the caller frees */
    struct fail why;  /* status 0: it ended well, and out is its answer */
};
enum { PLUGIN_CHILDREN = 8, PLUGIN_DEADLINE_MS = 10000 }; /* at once; each */
void plugin_child_run(struct plugin_child *child, size_t n, int deadline_ms);
/* What a child that has run said: its description (plugin_free), or why it is no collector. */
int plugin_child_answer(const struct plugin_child *child, struct plugin *out, struct fail *why);
/* Both for one file. */
int plugin_describe(const char *file, struct plugin *out, struct fail *why);
#endif
