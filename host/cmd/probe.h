/* probe.h - a parser as `trotline probe` shows it: the members of one JSON object in, those of another out.
 *
 * Invariant: what a parser wrote counts only if it returned 0; else the answer is the text of `why`. */
#ifndef TROTLINE_CMD_PROBE_H
#define TROTLINE_CMD_PROBE_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/fail.h"
#include "base/json_write.h"

enum { PROBE_LINE_MAX = 64 << 20, PROBE_ANSWER_MAX = 256 << 20, PROBE_MEMBERS = 4 };
struct probe {
    struct tl_json in;  /* the line: an object */
    struct arena arena; /* lives as long as the line */
    struct buf member[PROBE_MEMBERS];
    size_t members; /* in use */
    struct fail why;
};
struct probe_parser {
    const char *name;
    int (*run)(struct probe *p, struct json_writer *w); /* writes members; 0, or a TL_* and p->why */
};
extern const struct probe_parser probe_parsers[]; /* probe_parsers.c; ended by a name of NULL */

/* A member of the line, valid as long as it; null counts as absent. An absent one is refused, unless it is optional:
 * then its ptr is NULL. Each returns 0, or TL_INVALID and p->why. */
int probe_text(struct probe *p, const char *key, struct tl_span *out); /* invalid escapes as U+FFFD; may hold U+0000 */
int probe_text_optional(struct probe *p, const char *key, struct tl_span *out);
int probe_name_optional(struct probe *p, const char *key, const char **out); /* without U+0000; NULL: absent */
int probe_bytes(struct probe *p, const char *key, struct tl_span *out);      /* base64 */
#endif
