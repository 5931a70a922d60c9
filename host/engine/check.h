/* check.h - the contract test of one collector: TAP, each failure with what to do. */
#ifndef TROTLINE_ENGINE_CHECK_H
#define TROTLINE_ENGINE_CHECK_H
#include <stdio.h>

/* folder: where payload.json and fixtures/ are looked for. Returns an exit code: 0, EXIT_NEGATIVE, EXIT_PLUGIN. */
int check_collector(const char *file, const char *folder, FILE *out);
#endif
