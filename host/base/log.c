/* log.c - see log.h. */
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json_write.h"
#include "base/times.h"
#include "base/utf8.h"

enum { MESSAGE_MAX = 8192 }; /* bytes; a longer one is cut */

static enum log_format format_now = LOG_TEXT;
static enum tl_level level_now = TL_WARN;
static const char *about_collector, *about_run;
static char progress_now[512];

void log_setup(enum log_format format, enum tl_level level) {
    format_now = format;
    level_now = level;
}

enum tl_level log_level(void) {
    return level_now;
}

void log_about(const char *collector, const char *run_id) {
    about_collector = collector;
    about_run = run_id;
}

static void write_all(const char *ptr, size_t len) {
    while (len) {
        ssize_t n = write(STDERR_FILENO, ptr, len);
        if (n < 0 && errno != EINTR)
            return;
        if (n > 0) {
            ptr += n;
            len -= (size_t)n;
        }
    }
}

/* Printable text for a terminal: what steers it becomes '?', what is no UTF-8 U+FFFD, everything else stays. */
static void add_harmless(struct buf *out, const char *text) {
    const char *at = text, *end = text + strlen(text);
    char bytes[4];
    uint32_t cp;
    while (utf8_next(&at, end, &cp) != TL_NOTFOUND)
        if (cp != '\t' && utf8_is_hostile(cp))
            buf_char(out, '?');
        else
            buf_add(out, bytes, utf8_put(bytes, cp));
}

static void emit(const char *level, const char *text) {
    AUTO_BUF struct buf line = BUF_INIT;
    if (progress_now[0])
        buf_lit(&line, "\r\033[K");
    if (format_now == LOG_JSON) {
        char at[TIME_TEXT];
        struct json_writer w = JSON_WRITER(&line);
        json_object_begin(&w);
        json_member_string(&w, "time", time_text(time_now_us(), at));
        json_member_string(&w, "level", level ? level : "info");
        if (about_collector)
            json_member_string(&w, "collector", about_collector);
        if (about_run)
            json_member_string(&w, "run_id", about_run);
        json_member_string(&w, "message", text);
        json_object_end(&w);
        buf_char(&line, '\n');
    } else {
        if (level)
            buf_printf(&line, "trotline: %s%s", strcmp(level, "info") == 0 ? "" : level,
                       strcmp(level, "info") == 0 ? "" : ": ");
        add_harmless(&line, text);
        buf_lit(&line, "\n");
    }
    buf_text(&line, progress_now);
    write_all(line.data, line.len);
}

void log_say(enum tl_level level, const char *fmt, ...) {
    static const char *const names[] = {"error", "warning", "info", "debug"};
    if (level > level_now)
        return;
    int error = errno;
    char text[MESSAGE_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    emit(names[level], text);
    errno = error;
}

void log_progress(const char *line) {
    AUTO_BUF struct buf text = BUF_INIT;
    if (!line && !progress_now[0])
        return;
    buf_lit(&text, "\r\033[K");
    buf_text(&text, line);
    snprintf(progress_now, sizeof progress_now, "%s", line ? line : "");
    write_all(text.data, text.len);
}

static void closing(const char *json_level, const char *fmt, va_list ap) {
    char text[MESSAGE_MAX];
    vsnprintf(text, sizeof text, fmt, ap);
    log_progress(NULL);
    emit(format_now == LOG_JSON ? json_level : NULL, text);
}

void log_closing(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    closing("info", fmt, ap);
    va_end(ap);
}

void log_ending(int exit_code, const char *fmt, ...) {
    if (!exit_code && level_now == TL_ERROR)
        return;
    va_list ap;
    va_start(ap, fmt);
    closing(exit_code ? "error" : "info", fmt, ap);
    va_end(ap);
}
