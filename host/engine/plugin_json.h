/* plugin_json.h - a description as JSON, written by plugin_json (plugin.h) and read back with nothing taken on trust:
 * it comes from a process that ran a stranger's code, or from a cache file. */
#ifndef TROTLINE_ENGINE_PLUGIN_JSON_H
#define TROTLINE_ENGINE_PLUGIN_JSON_H
#include "engine/plugin.h"

enum { PLUGIN_JSON_MAX = 1 << 20 };

/* TL_INVALID, and nothing to free: it is no description. file, sha256 and shadowed_by are not read. */
int plugin_read(struct tl_span json, struct plugin *out);
void plugin_free(struct plugin *p);
/* A copy of what a loaded collector says about itself; file and sha256 stay empty. */
void plugin_of_collector(const struct tl_collector *c, struct plugin *out);
#endif
