/* cmd.h - sub-commands: one table, from which dispatch, --help and completion come; and what most of them share.
 *
 * stdout carries data, stderr talk. A command returns its exit code (base/fail.h); the last line on stderr says what
 * happened. */
#ifndef TROTLINE_CMD_CMD_H
#define TROTLINE_CMD_CMD_H
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/fail.h"
#include "engine/config.h"
#include "engine/config_apis.h"
#include "engine/plugin.h"
#include "lake/lake.h"
#include "store/store.h"

struct cmd_globals {
    const char *config_path; /* --config, or NULL: the search order */
    bool quiet;
    int verbose;
    bool json_log;
};
struct command {
    const char *name, *summary;                                     /* summary: one line of --help */
    int (*run)(int argc, char **argv, const struct cmd_globals *g); /* argv[0] is the command's name */
    const char *usage; /* what follows "trotline NAME "; then options; ends with examples that say `trotline NAME` */
    const char *help;
};
extern const struct command *const cmd_table[]; /* NULL-ended, in the order of --help */
const struct command *cmd_find(const char *name);
void cmd_help(const struct command *c, FILE *out);

/* One step of getopt_long for a command: returns the option's val, 0 at the end, or -2 after it has dealt with --help
 * (the command returns 0) or -3 after a fault, said with the nearest known option (the command returns EXIT_USAGE). */
enum { CMD_HELP = -2, CMD_USAGE = -3 };
int cmd_option(int argc, char **argv, const char *short_options, const struct option *long_options);
int cmd_usage(const char *command, const char *fmt, ...)
    TL_PRINTF(2, 3); /* says it, and how to get help; returns EXIT_USAGE */
int cmd_fail(const struct fail *why,
             int otherwise); /* says it as the last line; returns its exit code, or `otherwise` */
int64_t cmd_number(const char *text, int64_t least, int64_t most); /* -1: not one */

/* What is open for a command. Everything is released by cmd_close. */
struct cmd_open {
    struct config config;
    struct store *store;
    struct lake *lake;
    struct plugin_set plugins;
    struct config_apis apis; /* with the plugins, if one of them wants them */
    bool has_config, has_plugins;
};
enum { CMD_STORE_READ = 1, CMD_STORE_WRITE = 2, CMD_LAKE_READ = 4, CMD_LAKE_WRITE = 8, CMD_PLUGINS = 16 };
/* 0, or the exit code, said already. set: texts of --set. */
int cmd_open(struct cmd_open *o, const struct cmd_globals *g, unsigned what, const char *const *set, size_t set_count);
void cmd_close(struct cmd_open *o);

/* Rows in one of the formats. cmd_rows prints the answer of a question on the views. */
enum cmd_format { CMD_TABLE, CMD_JSON, CMD_JSONL, CMD_CSV };
int cmd_format(const char *text, enum cmd_format *out); /* TL_INVALID */
int cmd_rows(struct store *s, enum cmd_format format, FILE *out, const char *sql, const struct store_value *args,
             size_t n, struct fail *why);
bool cmd_flush(FILE *out); /* false: stdout could not be written (said) */
#endif
