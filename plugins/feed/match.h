/* match.h - what an article is about: words and names that were asked for, and repositories that it links to.
 *
 * Everything here reads text from outside, of any bytes, NUL-ended; nothing of it is kept. */
#ifndef FEED_MATCH_H
#define FEED_MATCH_H
#include <trotline.h>

/* A growing text in the run's memory; `full` once there was none left. */
struct text {
    struct tl_run *run;
    char *at;
    size_t len, room;
    bool full;
};
void text_add(struct text *t, const char *ptr, size_t len);
void text_put(struct text *t, const char *more); /* NULL: nothing */
void text_span(struct text *t, struct tl_span more);

/* Appends what a reader sees of a text in HTML, roughly: tags become spaces. */
void match_visible(struct text *out, const char *html);
/* Is it there as a word of its own? fold: letters of ASCII in either case are the same. */
bool match_word(const char *text, const char *word, bool fold);

enum { MATCH_REPOSITORIES = 50, MATCH_NAME = 160 };
struct repositories {
    char name[MATCH_REPOSITORIES][MATCH_NAME]; /* owner/repo, each once, sorted */
    size_t count;
};
void match_repositories(const char *text, struct repositories *out); /* adds to out */
#endif
