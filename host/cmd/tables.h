/* tables.h - what convert, refine, compact and export share: which documents are meant. */
#ifndef TROTLINE_CMD_TABLES_H
#define TROTLINE_CMD_TABLES_H
#include "cmd/cmd.h"
#include "engine/convert.h"
#include "engine/refine.h"
#include "store/tables.h"

struct tables_choice {
    const char *id; /* of a crawl, as given, or NULL: all */
    int64_t since_us, until_us;
    enum cmd_format format;
    bool format_given;
};
/* Reads --since, --until, -o and one id. -1: go on; else the exit code, said. */
int tables_options(const char *command, int argc, char **argv, struct tables_choice *out);
/* What it means in this catalog. 0, or the exit code, said. */
int tables_select(struct cmd_open *o, const struct tables_choice *choice, struct store_selection *out);
/* "2026-11-30", RFC 3339, or a duration before now. TL_INVALID. */
int tables_time(const char *text, int64_t *us);

int tables_convert(struct cmd_open *o, const struct cmd_globals *g, const struct store_selection *which,
                   struct convert_sums *sums, struct fail *why); /* with progress and problems on stderr */
/* Documents that are not items yet become it first, for which the catalog is opened for writing, and then for reading
 * again; where there are none, nothing is written anywhere. 0, or the exit code, said. failed: that could not be. */
int tables_convert_first(struct cmd_open *o, const struct cmd_globals *g, const struct store_selection *which,
                         int64_t *failed);
/* The type of that name, or NAME_vVERSION as its table is called. 0, or the exit code, said. */
int tables_type(const char *command, const struct config_types *types, const char *name, const struct types_type **out);
int tables_refine(struct cmd_open *o, const struct cmd_globals *g, const struct config_types *types,
                  const struct store_selection *which, struct refine_sums *sums, struct fail *why);
/* convert.after: what a crawl does when it has closed. It is over and whole, whatever comes of this. */
int tables_after(struct cmd_open *o, const struct cmd_globals *g, int64_t root, const char *root_id);
#endif
