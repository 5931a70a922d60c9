/* charset.h - which encoding a body is in, the body as UTF-8, and whether that text gives the body back.
 *
 * Names are those of the WHATWG Encoding standard in lower case ("windows-1252" for what calls itself iso-8859-1), live
 * as long as the process, and are the only ones that charset_to_utf8 and charset_round_trips take. */
#ifndef TROTLINE_NET_CHARSET_H
#define TROTLINE_NET_CHARSET_H
#include <stdbool.h>

#include "base/buf.h"
#include "trotline.h"

struct charset {
    const char *name;
    const char
        *source; /* "bom", "header", "meta" (or an XML declaration), "guess": valid UTF-8, "default": windows-1252 */
};
/* content_type: the value of the header, or NULL. A label that the standard does not know counts as none. The markup is
 * looked at as browsers do, in the first 1024 bytes, unless the media type says that it is none (text/plain, JSON).
 * TL_OK. */
int charset_decide(struct tl_span body, const char *content_type, struct charset *out);

/* The name for a label, case and white space around it ignored; NULL: unknown. */
const char *charset_name(struct tl_span label);

/* Appends the body as UTF-8, without its byte order mark. What cannot be decoded becomes U+FFFD and sets *lossy.
 * TL_PARTIAL: out has a maximum and is full, what fits is in it; TL_INVALID: no such name; TL_FAILED: the C library
 * lacks this encoding. */
int charset_to_utf8(const char *name, struct tl_span body, struct buf *out, bool *lossy);

/* Whether the text, encoded by a program that knows the encoding by this name (iconv, Python), is the original again,
 * byte for byte. False where in doubt: for a body with a byte order mark, and for names that others do not know
 * (windows-874, x-mac-cyrillic, iso-8859-8-i, x-user-defined, replacement). */
bool charset_round_trips(const char *name, struct tl_span utf8, struct tl_span original);
#endif
