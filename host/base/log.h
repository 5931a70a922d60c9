/* log.h - what the host says on stderr: one line, one write.
 *
 * Text by default, one JSON object a line on request. Control characters and invalid UTF-8 in messages are made
 * harmless, since much of what is logged came from outside. A progress line on a terminal is taken away before a
 * message and drawn again after. */
#ifndef TROTLINE_BASE_LOG_H
#define TROTLINE_BASE_LOG_H
#include <stdbool.h>

#include "trotline.h"

enum log_format { LOG_TEXT, LOG_JSON };
void log_setup(enum log_format format, enum tl_level level); /* messages above the level are dropped */
enum tl_level log_level(void);
TL_PRINTF(2, 3) void log_say(enum tl_level level, const char *fmt, ...);
#define log_error(...) log_say(TL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_say(TL_WARN, __VA_ARGS__)
#define log_info(...)  log_say(TL_INFO, __VA_ARGS__)
#define log_debug(...) log_say(TL_DEBUG, __VA_ARGS__)
void log_about(const char *collector, const char *run_id); /* added to the following messages in JSON; NULL: nothing */
void log_progress(const char *line);                       /* draws or replaces the progress line; NULL takes it away */
TL_PRINTF(1, 2) void log_closing(const char *fmt, ...); /* the last line: what happened and where to look; no prefix */
/* The same for a process that ends with exit_code: nothing when that is 0 and only errors are wanted (-q). */
TL_PRINTF(2, 3) void log_ending(int exit_code, const char *fmt, ...);
#endif
