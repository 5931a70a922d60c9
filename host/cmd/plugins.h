/* plugins.h - what is installed and what it takes, for people and programs. */
#ifndef TROTLINE_CMD_PLUGINS_H
#define TROTLINE_CMD_PLUGINS_H
#include <stdio.h>

#include "engine/plugin.h"

/* name NULL: the list (built-in, plugins, refused files); else all about one collector. format: table, json, jsonl or
 * csv. Returns the exit code: EXIT_USAGE for an unknown format, plugin_missing's for an unknown name; the reason is
 * logged. */
int plugins_print(const struct plugin_set *set, const char *format, const char *name, FILE *out);
#endif
