/* thrift.h - writing Thrift's compact protocol, as much as Parquet's headers and footers need.
 *
 * Invariant: the caller opens and closes structs in pairs, gives fields in rising order and as many items as the list
 * said; nothing here checks that. Nesting is at most THRIFT_DEPTH. */
#ifndef TROTLINE_CONVERT_THRIFT_H
#define TROTLINE_CONVERT_THRIFT_H
#include "base/buf.h"

enum thrift_type {
    THRIFT_TRUE = 1, /* as the type of a list: bools */
    THRIFT_FALSE = 2,
    THRIFT_I16 = 4,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_TEXT = 8,
    THRIFT_LIST = 9,
    THRIFT_STRUCT = 12
};
enum { THRIFT_DEPTH = 12 };

struct thrift {
    struct buf *out;
    int last[THRIFT_DEPTH]; /* the field before, by depth */
    int depth;
};

/* Fields of the struct that is open. */
void thrift_int(struct thrift *t, int id, enum thrift_type type, int64_t value);
void thrift_bool(struct thrift *t, int id, bool value);
void thrift_text(struct thrift *t, int id, struct tl_span bytes);
void thrift_list(struct thrift *t, int id, enum thrift_type type, size_t count);
void thrift_open(struct thrift *t, int id);

/* Items of the list that was begun last; thrift_close ends a struct of either kind, and the outermost one. */
void thrift_item_int(struct thrift *t, int64_t value);
void thrift_item_bool(struct thrift *t, bool value);
void thrift_item_text(struct thrift *t, struct tl_span bytes);
void thrift_item_open(struct thrift *t);
void thrift_close(struct thrift *t);
#endif
