/* json_write.h - writing JSON into a buffer: commas, escapes, numbers; and the canonical form of a small text.
 *
 * Invariant: whatever text goes in, what comes out is valid UTF-8 and valid JSON, as long as begins and ends are
 * paired, every member has its key, and json_put_raw is given one valid value. Nothing here fails: a full buffer says
 * so itself (buf.h). One writer writes one value; for JSON Lines, start another for each line. */
#ifndef TROTLINE_BASE_JSON_WRITE_H
#define TROTLINE_BASE_JSON_WRITE_H
#include "base/buf.h"

struct json_writer {
    struct buf *out;
    bool comma; /* something stands before this place that needs one */
};
#define JSON_WRITER(buffer)                                                                                            \
    { .out = (buffer) }

void json_object_begin(struct json_writer *w);
void json_object_end(struct json_writer *w);
void json_array_begin(struct json_writer *w);
void json_array_end(struct json_writer *w);

void json_put_key(struct json_writer *w, const char *key);
void json_put_key_span(struct json_writer *w, struct tl_span key);
void json_put_string(struct json_writer *w,
                     struct tl_span text);                   /* invalid UTF-8 becomes U+FFFD, as utf8_next has it */
void json_put_text(struct json_writer *w, const char *text); /* NULL: null */
void json_put_int(struct json_writer *w, int64_t n);
void json_put_uint(struct json_writer *w, uint64_t n);
void json_put_real(struct json_writer *w,
                   double n); /* the shortest that reads back the same; null for NaN and infinities */
void json_put_bool(struct json_writer *w, bool b);
void json_put_null(struct json_writer *w);
void json_put_raw(struct json_writer *w,
                  struct tl_span value); /* verbatim: the caller knows that it is one valid value */

void json_member_string(struct json_writer *w, const char *key, const char *text); /* NULL: null */
void json_member_span(struct json_writer *w, const char *key, struct tl_span text);
void json_member_spans(struct json_writer *w, const char *key, const struct tl_span *text, size_t count); /* an array */
void json_member_int(struct json_writer *w, const char *key, int64_t n);
void json_member_uint(struct json_writer *w, const char *key, uint64_t n);
void json_member_real(struct json_writer *w, const char *key, double n);
void json_member_bool(struct json_writer *w, const char *key, bool b);
void json_member_null(struct json_writer *w, const char *key);
void json_member_raw(struct json_writer *w, const char *key, struct tl_span value);

/* Appends the inside of a JSON string, without quotes. Only " \ and controls below 0x20 are escaped (\n \r \t \b \f,
 * else \u00XX in lower case); the rest is copied, so text that is no UTF-8 gives JSON that is none: check first, or use
 * json_put_string. */
void json_escape(struct buf *out, const char *ptr, size_t len);

enum { JSON_CANONICAL_MAX = 1 << 20 };
/* Appends the same value in the form that identities are made of: names sorted by the bytes of their UTF-8, no white
 * space, strings escaped as json_escape does, numbers as written (1.0 and 1 differ). TL_INVALID, and nothing appended:
 * not valid JSON, a name twice in one object, a lone surrogate (it has no UTF-8), longer than JSON_CANONICAL_MAX.
 * TL_FAILED: out is full. */
int json_canonical(struct tl_span text, struct buf *out);

enum { JSON_PYTHON_MAX = 64 << 20 };
#define JSON_PYTHON_NAME "pyjson-v1"
/* The same with one spelling of each number (json_number.h): "pyjson-v1", the bytes that Python's json.dumps(value,
 * sort_keys=True, separators=(",", ":"), ensure_ascii=False) gives, which checksums of fan-in are taken over. Refuses
 * what json_canonical refuses, longer than JSON_PYTHON_MAX, and numbers that no double can hold. */
int json_python(struct tl_span text, struct buf *out);
#endif
