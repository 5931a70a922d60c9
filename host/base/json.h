/* json.h - reading JSON without changing it: a strict RFC 8259 tokenizer over spans. No tree, no allocation, no
 * recursion.
 *
 * Invariant: a value is handed out as the bytes that stand in the text (struct tl_json.raw, a string with its quotes),
 * so numbers keep every digit; whatever was handed out as a value has been checked, UTF-8 included. Nesting is at most
 * JSON_DEPTH. A byte order mark is refused. A tl_json points into the text and lives as long as it.
 *
 * Names may repeat in an object: the FIRST member of a name is the one that json_find and json_get see; json_next shows
 * all. Names are compared as they read unescaped, a lone surrogate as U+FFFD. */
#ifndef TROTLINE_BASE_JSON_H
#define TROTLINE_BASE_JSON_H
#include "base/buf.h"

enum { JSON_DEPTH = 512 };

/* The whole text is one value, white space around it allowed. TL_INVALID: *where (may be NULL) is the offset of the
 * first byte that cannot be, the length when the text ends too early. */
int json_valid(struct tl_span text, size_t *where);

/* As json_valid; then *root is the value without the white space around it. */
int json_parse(struct tl_span text, struct tl_json *root);

/* The value at an RFC 6901 pointer ("" is the whole). TL_NOTFOUND: no such member or item; TL_INVALID: no pointer, or
 * the text is wrong up to the end of that value: what lies behind it is not looked at. One pass, however deep. */
int json_find(struct tl_span text, const char *pointer, struct tl_json *value);

/* Members or items one after the other: start with *at zeroed. at->key is the member's name as written, with quotes;
 * empty for an item. TL_NOTFOUND at the end; TL_INVALID when container is neither array nor object, or damaged. */
int json_next(const struct tl_json *container, struct tl_json *at);

/* TL_NOTFOUND: no such member; TL_INVALID: no object. */
int json_get(const struct tl_json *object, const char *key, struct tl_json *out);
bool json_key_is(const struct tl_json *member, const char *key); /* compares unescaped */

/* Appends a string unescaped; out->data is never NULL then. A lone surrogate becomes U+FFFD; \u0000 is a byte 0 in it,
 * so use the length. TL_INVALID: no string; TL_FAILED: out is full. */
int json_text(const struct tl_json *string, struct buf *out);
int json_key(const struct tl_json *member, struct buf *out); /* the same for its name */

/* Exact, or TL_INVALID: no number, 1.0, 1e3, beyond int64_t. */
int json_int(const struct tl_json *number, int64_t *out);
int json_bool(const struct tl_json *value, bool *out);

/* For writers and checks: reads one character of a string's inside at *at (not at the end), unescaped, as 1 to 4 bytes
 * of UTF-8; returns their number. *lone is set when it was a lone surrogate. */
size_t json_char(const char **at, const char *end, char out[4], bool *lone);
#endif
