/* avro_world.h - what the tests of Avro files share: files in memory, one table, and its rows written. */
#ifndef TROTLINE_TESTS_AVRO_WORLD_H
#define TROTLINE_TESTS_AVRO_WORLD_H
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "convert/avro.h"
#include "convert/avro_inside.h"
#include "convert/codec.h"

#include <cmocka.h> /* last: its macro fail() is also a field's name in trotline.h */

#define SPAN(literal) ((struct tl_span){"" literal, sizeof(literal) - 1})
#define TEXT(literal) ((struct cell){.text = SPAN(literal)})
#define NUMBER(n)     ((struct cell){.number = (n)})
#define REAL(n)       ((struct cell){.real = (n)})
#define LIST(...)                                                                                                      \
    ((struct cell){                                                                                                    \
        .list = {(struct tl_span[]){__VA_ARGS__}, sizeof((struct tl_span[]){__VA_ARGS__}) / sizeof(struct tl_span)}})
#define NONE ((struct cell){.null = true})

static uint32_t seed = 20261130;
static inline uint32_t any(uint32_t below) {
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)seed * below >> 32);
}

static inline int file_of(const void *ptr, size_t len) {
    int fd = memfd_create("avro", MFD_CLOEXEC);
    assert_true(fd >= 0);
    for (size_t at = 0; at < len;) {
        ssize_t n = write(fd, (const char *)ptr + at, len - at);
        assert_true(n > 0);
        at += (size_t)n;
    }
    return fd;
}

static inline void bytes_of(int fd, struct buf *out) {
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_true(buf_reserve(out, (size_t)st.st_size));
    assert_int_equal(pread(fd, out->data, (size_t)st.st_size, 0), st.st_size);
    out->len = (size_t)st.st_size;
}

/* ---- the table of most tests ---- */

static const struct column columns[] = {
    {.name = "id", .type = COLUMN_TEXT, .doc = "who \"it\" is"},
    {.name = "n", .type = COLUMN_INT},
    {.name = "x", .type = COLUMN_REAL},
    {.name = "yes", .type = COLUMN_BOOL},
    {.name = "at", .type = COLUMN_TIME},
    {.name = "tags", .type = COLUMN_LIST},
    {.name = "more", .type = COLUMN_LIST},
    {.name = "data", .type = COLUMN_TEXT, .payload = true},
};
static const struct table table = {.name = "things", .columns = columns, .count = COUNT_OF(columns)};
#define CELLS COUNT_OF(columns)

static inline int write_rows(struct cell rows[][CELLS], size_t count, const struct avro_options *options) {
    struct fail why = FAIL_INIT;
    struct avro_writer *w;
    struct table_facts facts;
    int fd = file_of("", 0);
    assert_int_equal(avro_create(fd, &table, options, &w, &why), TL_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(avro_row(w, rows[i], &why), TL_OK);
    assert_int_equal(avro_close(w, &facts, &why), TL_OK);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(facts.rows, count);
    assert_int_equal(facts.bytes, st.st_size);
    return fd;
}

#endif
