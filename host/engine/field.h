/* field.h - the members of a line of a record, taken by a table into a struct.
 *
 * Invariant: what is handed out has the type that the table says, and a member that is required was there. Members that
 * are not in the table are for later versions; null says as much as a member that is missing. The lines may have been
 * made by somebody else. */
#ifndef TROTLINE_ENGINE_FIELD_H
#define TROTLINE_ENGINE_FIELD_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/fail.h"

enum field_type { F_ID, F_INT, F_COUNT, F_BOOL, F_TEXT, F_SPAN, F_JSON, F_DIGEST, F_SHA256, F_STATE, F_EDGE, F_REASON };
#define FIELD_COUNT_MAX ((int64_t)1 << 50) /* F_COUNT: what may be added up by the thousand */
struct field {
    const char *name;
    enum field_type type;
    bool required;
    size_t offset; /* in the struct that is filled in */
};
enum { FIELDS_MAX = 32 };

struct field_reader {
    struct arena arena; /* texts of the line: freed by the caller */
    struct buf scratch;
    struct fail *why;
};
/* TL_INVALID, EXIT_DAMAGED: a member is wrong, twice there, or missing. */
int field_decode(struct field_reader *r, const struct tl_json *line, const struct field *f, size_t count, void *out);
bool field_path_ok(const char *path); /* below the lake, without ways out of it */
#endif
