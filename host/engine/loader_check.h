/* loader_check.h - what a collector may call things. Asked when it is loaded, and again of a description that came from
 * outside. */
#ifndef TROTLINE_ENGINE_LOADER_CHECK_H
#define TROTLINE_ENGINE_LOADER_CHECK_H
#include <stdbool.h>

bool loader_name_ok(const char *name); /* collectors, options, arguments, datasets: [a-z][a-z0-9_-]{0,63}; NULL: no */
bool loader_version_ok(const char *version); /* 1 to 64 of letters, digits, . + ~ _ - : it becomes part of a path */
bool loader_text_ok(const char *text);       /* one line of UTF-8 without controls, at most 4096 bytes */
#endif
