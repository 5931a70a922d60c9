/* head.h - the head of an answer, built from its lines as they come: bounded, unfolded, and free of contradictions
 * about its length.
 *
 * Invariant: what is kept are the lines of the last answer only, each "Name: value\n" without control characters;
 * interim answers (1xx) before it and trailers behind it are counted and dropped. An answer whose length can be read in
 * two ways is refused, because whoever sits between it and us may have read it the other way. RFC 9112, 5 and 6. */
#ifndef TROTLINE_NET_HEAD_H
#define TROTLINE_NET_HEAD_H
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum {
    HEAD_MAX = 256 * 1024,
    HEAD_INTERIM_MAX = 20
}; /* bytes of all lines; answers of 1xx before the one that counts */
struct head {
    struct buf *lines; /* of the caller */
    size_t bytes;      /* everything that came, line ends included; 0: not one byte of an answer */
    int interim, status;
    int64_t length;       /* as Content-Length says; -1: it does not */
    bool chunked, folded; /* folded: the last line was kept, and what begins with a blank continues it */
    bool inside;          /* between a status line and the empty line */
    bool ended;           /* the head of the final answer is complete */
    char fault[160];      /* why TL_INVALID; a sentence */
};
void head_begin(struct head *h, struct buf *lines);
/* One line, line end included or not; an empty one ends a head. TL_INVALID: the answer is not to be read any further.
 */
int head_line(struct head *h, const char *line, size_t len);

/* The next line named `name` (lower case) from *at on, which is moved behind it; value without blanks around it. */
bool head_find(struct tl_span lines, const char *name, size_t *at, struct tl_span *value);
/* Appends the values of all lines of that name, joined by ", ". */
void head_list(struct tl_span lines, const char *name, struct buf *out);
#endif
