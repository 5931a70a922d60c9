/* export.h - what the parts of trotline export share. Each part is one thing that other tools are given: rows, or what
 * tells a tool where rows are and what they look like. */
#ifndef TROTLINE_CMD_EXPORT_H
#define TROTLINE_CMD_EXPORT_H
#include "cmd/tables.h"
#include "engine/table_list.h"

struct export_options {
    struct tables_choice which;
    const char *format, *columns, *type, *engine, *location, *output; /* as given, or NULL */
    char **word;                                                      /* what is no option, behind the part's name */
    int count;
};
/* Each returns the exit code, said. o has a configuration, and is closed by the caller. */
int export_rows(struct cmd_open *o, const struct cmd_globals *g, const struct export_options *x);
int export_manifest(struct cmd_open *o, const struct cmd_globals *g, const struct export_options *x);
int export_ddl(struct cmd_open *o, const struct cmd_globals *g, const struct export_options *x);
int export_duckdb(struct cmd_open *o, const struct cmd_globals *g, const struct export_options *x);
int export_datasette(struct cmd_open *o, const struct cmd_globals *g, const struct export_options *x);
int export_delta(struct cmd_open *o, const struct cmd_globals *g, const struct export_options *x);

/* What is known of tables, types that are in force included; both are the caller's to free, whatever comes back. */
int export_tables(struct cmd_open *o, struct config_types *types, struct table_list *list);
/* --location, or where the lake is; no slash at the end. */
void export_location(struct buf *out, const struct cmd_open *o, const struct export_options *x);
#endif
