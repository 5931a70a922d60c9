/* thrift.c - see thrift.h. */
#include "convert/thrift.h"

#include <assert.h>

static void varint(struct buf *out, uint64_t value) {
    char byte[10];
    size_t n = 0;
    for (; value > 0x7F; value >>= 7)
        byte[n++] = (char)(value | 0x80);
    byte[n++] = (char)value;
    buf_add(out, byte, n);
}

static uint64_t zigzag(int64_t value) {
    return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

static void field(struct thrift *t, int id, enum thrift_type type) {
    int step = id - t->last[t->depth];
    if (step > 0 && step <= 15)
        buf_char(t->out, (char)(step << 4 | (int)type));
    else {
        buf_char(t->out, (char)type);
        varint(t->out, zigzag(id));
    }
    t->last[t->depth] = id;
}

void thrift_int(struct thrift *t, int id, enum thrift_type type, int64_t value) {
    field(t, id, type);
    varint(t->out, zigzag(value));
}

void thrift_bool(struct thrift *t, int id, bool value) {
    field(t, id, value ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_text(struct thrift *t, int id, struct tl_span bytes) {
    field(t, id, THRIFT_TEXT);
    thrift_item_text(t, bytes);
}

void thrift_list(struct thrift *t, int id, enum thrift_type type, size_t count) {
    field(t, id, THRIFT_LIST);
    if (count < 15)
        buf_char(t->out, (char)(count << 4 | type));
    else {
        buf_char(t->out, (char)(0xF0 | type));
        varint(t->out, count);
    }
}

void thrift_open(struct thrift *t, int id) {
    field(t, id, THRIFT_STRUCT);
    thrift_item_open(t);
}

void thrift_item_int(struct thrift *t, int64_t value) {
    varint(t->out, zigzag(value));
}

void thrift_item_bool(struct thrift *t, bool value) {
    buf_char(t->out, value ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_item_text(struct thrift *t, struct tl_span bytes) {
    varint(t->out, bytes.len);
    buf_add(t->out, bytes.ptr, bytes.len);
}

void thrift_item_open(struct thrift *t) {
    assert(t->depth + 1 < THRIFT_DEPTH);
    t->last[++t->depth] = 0;
}

void thrift_close(struct thrift *t) {
    buf_char(t->out, 0);
    if (t->depth)
        t->depth--;
}
