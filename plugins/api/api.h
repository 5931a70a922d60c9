/* api.h - what the files of the collector share: one call of an API, page after page. */
#ifndef TROTLINE_API_H
#define TROTLINE_API_H
#include <trotline.h>

enum { API_PAGES_MAX = 1000, API_BYTES_MAX = 256 << 20, API_TEXT_MAX = 64 * 1024, API_HEADERS = 32 };

struct api_args {
    const char *api, *base, *token_url, *with, *description;
    const struct tl_secret *secret;
    int64_t pages;
    bool follow;
};

struct api_text { /* grows in the run's memory; at most API_TEXT_MAX */
    struct tl_run *run;
    char *ptr;
    size_t len, room;
    bool full;
};
void api_add(struct api_text *t, const char *bytes, size_t len);
const char *api_end(struct api_text *t); /* NUL-ended; NULL: it is too long, and that is recorded */

enum api_paging { API_NONE, API_LINK, API_NEXT, API_CURSOR, API_PAGE, API_OFFSET };
enum api_answer { API_JSON, API_XML, API_OTHER };
struct api {
    struct tl_run *run;
    const struct api_args *args;
    struct tl_span description, with;
    const char *name, *items;
    enum api_answer answer;
    enum api_paging by;
    int64_t most, size;
    /* where it stands */
    int64_t page, offset, got;        /* as they are asked for; items so far */
    const char *cursor, *next;        /* NULL: the first page */
    const char *asked[API_PAGES_MAX]; /* URLs, of API_LINK and API_NEXT */
    uint64_t seen[API_PAGES_MAX];     /* of answers that had items */
    size_t bytes;                     /* of all answers: they are kept until the run ends */
    size_t done, read;                /* pages that were put; answers that could be read */
    const char *key;                  /* of the state by which the next crawl goes on; NULL: it does not */
    bool continued, gone;             /* it went on where an earlier crawl was cut; what it asked for is not there */
    const char *token;                /* "Bearer ...", of oauth2 */
    bool renewed;                     /* since the last good answer */
    size_t lost;                      /* items that lead to what cannot be asked for */
    int64_t slept_us, pause_us;       /* in all; before the next page */
    int waits;
};

/* The text at a pointer into the description; NULL: it does not say. */
const char *api_says(struct api *a, const char *pointer);
int64_t api_number(struct api *a, const char *pointer);

/* ---- template.c */
enum api_place { API_IN_URL, API_IN_JSON, API_IN_TEXT };
/* Fills in {NAME}, encoded for its place; with an item also {/POINTER}. TL_NOTFOUND: it names what is not given. */
int api_fill(struct api *a, const char *text, enum api_place place, const struct tl_span *item, const char **out);
int api_url(struct api *a, const char **url); /* of the page that it stands at */

/* ---- token.c */
int api_token(struct api *a); /* oauth2: has one from then on, another than it had */

/* ---- ask.c */
/* What the description says of a status, 0: of an answer of another kind, " (in brackets)"; or "". */
const char *api_explained(struct api *a, int status);
int api_ask(struct api *a, const char *url, struct tl_response *res); /* an answer of 2xx, or a reason */

/* ---- pages.c */
struct api_page {
    int64_t items, total; /* -1: not known */
    const char *ended;    /* NULL: there are more; why not */
    bool broken;          /* its end is not the list's: there was a way on, but it cannot be gone */
    bool again;           /* it is what an earlier page was, and not put */
};
/* What an answer says; moves on to the next page. */
int api_read(struct api *a, const struct tl_response *res, struct api_page *page);
bool api_same_origin(const char *a, const char *b);
int64_t api_whole(const char *text); /* a whole number that is not negative; -1: it is none */

/* ---- next.c */
#define API_TOO_LARGE "its answers are over 256 MiB"
/* Where the page lies that comes behind this one, as a JSON object; NULL: nowhere. */
const char *api_next(struct api *a, const struct api_page *page);
int api_continue(struct api *a); /* with `continue`: stands where the last crawl was cut */
int api_keep(struct api *a, const struct api_page *page, int rc); /* likewise: for the next one. Returns rc */

/* ---- xml.c */
/* Elements at a path such as /feed/entry, and the text of the first, unescaped; first may be NULL. -1: it is no XML. */
int64_t api_xml(struct tl_run *run, struct tl_span xml, const char *path, const char **first);
#endif
