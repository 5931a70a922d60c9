/* print.h - text from outside on its way to people and programs: never trusted, never changed more than it must be.
 *
 * Invariant: print_plain writes one line's worth of valid UTF-8 in which nothing moves a cursor or turns the reading
 * direction; the others write what their format can read back to the same text. */
#ifndef TROTLINE_CMD_PRINT_H
#define TROTLINE_CMD_PRINT_H
#include "base/buf.h"
#include "base/json_write.h"
#include "store/store.h"

/* The end of a noun after a number: "" for 1, else "s". */
static inline const char *print_s(int64_t n) {
    return n == 1 ? "" : "s";
}

/* White space becomes a space, other controls '?', bytes that are no UTF-8 U+FFFD. most: code points, 0: all; a longer
 * text is cut, with an ellipsis. */
void print_plain(struct buf *out, struct tl_span text, size_t most);
size_t print_width(struct tl_span text);              /* columns on a terminal */
void print_csv(struct buf *out, struct tl_span text); /* RFC 4180: quoted where needed */
void print_xml(struct buf *out, struct tl_span text); /* for text and attributes; what XML cannot hold becomes U+FFFD */

void print_value(struct buf *out, const struct store_value *v);        /* as text; NULL: nothing; a blob in hex */
void print_json(struct json_writer *w, const struct store_value *v);   /* as one value */
void print_object(struct json_writer *w, const struct store_row *row); /* one member a column; payload is spliced */
const struct store_value *print_column(const struct store_row *row, const char *name); /* NULL: no such column */
#endif
