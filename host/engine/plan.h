/* plan.h - how large a crawl can get: the bound that its leash sets, and what earlier crawls of the same name took. */
#ifndef TROTLINE_ENGINE_PLAN_H
#define TROTLINE_ENGINE_PLAN_H
#include <stdio.h>

#include "engine/config.h"
#include "engine/plugin.h"

/* Prints and fetches nothing, makes nothing. format: cmd_format's CMD_TABLE or CMD_JSON. Returns an exit code. */
int plan_print(const struct config *config, const struct crawl *crawl, const struct plugin_set *plugins, int format,
               FILE *out);
#endif
