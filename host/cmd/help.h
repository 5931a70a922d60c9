/* help.h - what the program says about itself; all of it comes from the table of commands. */
#ifndef TROTLINE_CMD_HELP_H
#define TROTLINE_CMD_HELP_H
#include <stdio.h>

#include "cmd/cmd.h"

extern const struct option help_globals[]; /* the options that stand before the command */
void help_program(FILE *out);
void help_version(FILE *out);
/* `trotline --complete WORD...`: what the last word may become, one a line; the words before it are what was typed. */
void help_complete(int count, char **word, FILE *out);
int help_unknown(const char *command); /* says so, with the nearest known one; returns EXIT_USAGE */
#endif
