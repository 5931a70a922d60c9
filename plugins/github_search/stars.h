/* stars.h - how many stars each repository of a shard had: this week, and the week before.
 *
 * Invariant: what is compared with is an earlier week, never an earlier attempt of the same one, so that a leg that
 * runs again gives the same numbers. Two weeks are kept, in the crawl's state; a week older than both changes nothing.
 */
#ifndef GITHUB_SEARCH_STARS_H
#define GITHUB_SEARCH_STARS_H
#include <trotline.h>

enum { STARS_CHUNKS = 64, STARS_CHUNK = 32 * 1024 };
struct stars {
    struct tl_run *run;
    const char *shard;
    char slot[2][16];                    /* the weeks that are kept, "" for none */
    int own;                             /* the slot of this week, -1: it is older than what is kept */
    struct tl_span before[STARS_CHUNKS]; /* "owner/repo 123\n" ... of the week before */
    struct {
        char *text;
        size_t len;
    } now[STARS_CHUNKS];
};

int stars_load(struct tl_run *run, const char *shard, const char *week, struct stars *out);
int64_t stars_of(const struct stars *s, const char *full_name);        /* -1: not seen the week before */
void stars_add(struct stars *s, const char *full_name, int64_t stars); /* what finds no room is not remembered */
int stars_save(struct stars *s);

void stars_time(int64_t seconds, char *out, size_t room); /* 2026-06-14T23:59:59Z */
#endif
