/* text.h - text that grows in the run's memory, and values of JSON as they stand in it; for collectors that need both.
 *
 * A NULL from here means that the memory is used up, and ends the run. */
#ifndef GITHUB_TEXT_H
#define GITHUB_TEXT_H
#include <trotline.h>

struct text {
    struct tl_run *run;
    char *ptr;
    size_t len, room;
    bool lost; /* the run's memory is used up */
};
void text_add(struct text *t, const char *ptr, size_t len);
void text_word(struct text *t, const char *word);
void text_string(struct text *t, const char *value); /* as a JSON string, quotes and all; NULL: null */
TL_PRINTF(2, 3)
const char *text_format(struct tl_run *run, const char *fmt, ...); /* NULL: no memory, or over 4000 bytes */
const char *text_copy(struct tl_run *run, struct tl_span s);
const char *text_time(struct tl_run *run, int64_t us); /* 2026-01-02T03:04:05.678Z */
bool value_at(struct tl_run *run, const struct tl_json *v, const char *pointer, struct tl_json *out);
const char *value_text(struct tl_run *run, const struct tl_json *v, const char *pointer); /* a string, or NULL */
/* An id as it stands in the text: digits of a number, or a word; NULL: none. 64-bit numbers stay exact. */
const char *value_id(struct tl_run *run, const struct tl_json *v, const char *pointer);
int64_t value_count(struct tl_run *run, const struct tl_json *v, const char *pointer); /* -1: not there */
#endif
