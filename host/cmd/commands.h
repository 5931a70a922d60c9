/* commands.h - every sub-command of trotline; each is defined in the file of its name, and table.c puts them in order.
 */
#ifndef TROTLINE_CMD_COMMANDS_H
#define TROTLINE_CMD_COMMANDS_H
#include "cmd/cmd.h"

extern const struct command cmd_run, cmd_crawl;
extern const struct command cmd_retry, cmd_stop;
extern const struct command cmd_targets, cmd_promote;
extern const struct command cmd_ls, cmd_show, cmd_cat, cmd_lineage, cmd_diff, cmd_links;
extern const struct command cmd_plugins; /* plugins_cmd.c */
extern const struct command cmd_verify, cmd_rebuild, cmd_doctor;
extern const struct command cmd_convert, cmd_refine, cmd_compact, cmd_export;
extern const struct command cmd_url, cmd_maintain, cmd_probe;
extern const struct command cmd_context, cmd_fanin;
extern const struct command cmd_track, cmd_restore;
extern const struct command cmd_collect, cmd_new, cmd_check;
#endif
