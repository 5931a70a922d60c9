/* wire.h - text of the exec collector's lines: JSON strings, UTF-8, base64, in a buffer that grows.
 *
 * Memory that cannot be had makes a buffer `lost`: what is appended to it afterwards is dropped, and the owner looks
 * once. */
#ifndef EXEC_WIRE_H
#define EXEC_WIRE_H
#include <trotline.h>

struct text {
    char *ptr; /* ptr[len] is NUL, once there is a ptr */
    size_t len, room;
    bool lost;
};
void text_free(struct text *t);
void text_add(struct text *t, const char *ptr, size_t len);
void text_word(struct text *t, const char *word);

bool wire_is_utf8(struct tl_span s);
void wire_mend(char *text); /* in place: one line of UTF-8, without controls and marks of direction */
void wire_string(struct text *t, const char *s); /* a JSON string, or null for NULL; what is no UTF-8 becomes U+FFFD */
void wire_escape(struct text *t, struct tl_span s); /* the inside of a JSON string, of what is UTF-8 */
void wire_base64(struct text *t, struct tl_span bytes);
bool wire_unbase64(struct text *t);                      /* in place; false: it is none */
void wire_unescape(struct text *t, struct tl_span json); /* a JSON string with its quotes, known to be valid */
#endif
