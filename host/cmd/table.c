/* table.c - the sub-commands in the order of --help. */
#include "cmd/commands.h"

const struct command *const cmd_table[] = {
    &cmd_run,     &cmd_crawl,   &cmd_retry,  &cmd_stop,    &cmd_targets,  &cmd_promote, &cmd_ls,      &cmd_show,
    &cmd_cat,     &cmd_lineage, &cmd_links,  &cmd_diff,    &cmd_convert,  &cmd_refine,  &cmd_compact, &cmd_export,
    &cmd_context, &cmd_fanin,   &cmd_track,  &cmd_restore, &cmd_plugins,  &cmd_collect, &cmd_new,     &cmd_check,
    &cmd_verify,  &cmd_rebuild, &cmd_doctor, &cmd_url,     &cmd_maintain, &cmd_probe,   NULL,
};
