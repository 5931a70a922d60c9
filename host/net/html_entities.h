/* html_entities.h - the character references of HTML: how one is read, and the table of the named ones.
 *
 * Invariant of the table: rows are sorted by the bytes of their names, so all names with a common beginning stand
 * together and the shortest of them comes first. A name that may stand without its semicolon has two rows. */
#ifndef TROTLINE_NET_HTML_ENTITIES_H
#define TROTLINE_NET_HTML_ENTITIES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* p is at `&`. Returns how many bytes the reference takes, 0: the `&` is text. `in_value`: by the rules for attribute
 * values. */
size_t html_entities_decode(const char *p, const char *end, bool in_value, char out[8], size_t *out_len);

/* html_entities_table.c, which html_entities.py writes. */
#define HTML_ENTITIES 2231
struct html_entities_row {
    uint16_t name_at, text_at; /* offsets into the two texts below */
    uint8_t name_len, text_len;
};
extern const char html_entities_names[];
extern const char html_entities_texts[]; /* UTF-8 */
extern const struct html_entities_row html_entities_rows[HTML_ENTITIES];
extern const uint16_t html_entities_first['z' - 'A' + 2]; /* [c - 'A']: the first row that begins with c or later */
#endif
