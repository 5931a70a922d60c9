/* avro_test.c - Avro files: the bytes against the specification, the way there and back, and files that are damaged in
 * every way. */
#include <float.h>
#include <math.h>
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
static uint32_t any(uint32_t below) {
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)seed * below >> 32);
}

static int file_of(const void *ptr, size_t len) {
    int fd = memfd_create("avro", MFD_CLOEXEC);
    assert_true(fd >= 0);
    for (size_t at = 0; at < len;) {
        ssize_t n = write(fd, (const char *)ptr + at, len - at);
        assert_true(n > 0);
        at += (size_t)n;
    }
    return fd;
}

static void bytes_of(int fd, struct buf *out) {
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

static bool same_text(struct tl_span a, struct tl_span b) {
    return a.len == b.len && (!a.len || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static bool same_cell(enum column_type type, const struct cell *a, const struct cell *b) {
    if (a->null || b->null)
        return a->null == b->null;
    if (type == COLUMN_TEXT)
        return same_text(a->text, b->text);
    if (type == COLUMN_REAL)
        return memcmp(&a->real, &b->real, sizeof a->real) == 0;
    if (type != COLUMN_LIST)
        return a->number == b->number;
    bool same = a->list.count == b->list.count;
    for (size_t i = 0; same && i < a->list.count; i++)
        same = same_text(a->list.items[i], b->list.items[i]);
    return same;
}

static void edge_rows(struct cell rows[][CELLS], size_t *count) {
    static struct tl_span many[5000];
    for (size_t i = 0; i < COUNT_OF(many); i++)
        many[i] = i % 3 ? SPAN("tag") : SPAN("");
    static char big[700000];
    for (size_t i = 0; i < sizeof big; i++)
        big[i] = (char)('a' + any(26));
    const struct cell edge[][CELLS] = {
        {NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE},
        {TEXT(""), NUMBER(0), REAL(0.0), NUMBER(0), NUMBER(0), {.list = {NULL, 0}}, {.list = {NULL, 0}}, TEXT("")},
        {TEXT("\0\x7F"), NUMBER(INT64_MAX), REAL(DBL_MAX), NUMBER(1), NUMBER(INT64_MIN), LIST(SPAN("")), NONE,
         TEXT("b")},
        {TEXT("\xF4\x8F\xBF\xBF"), NUMBER(INT64_MIN), REAL(-DBL_TRUE_MIN), NUMBER(1), NUMBER(-1), NONE,
         LIST(SPAN("a"), SPAN("\0"), SPAN("\xC3\xA9")), TEXT("c")},
        {TEXT("x"), NUMBER(-1), REAL(NAN), NUMBER(0), NUMBER(1767225600000000), LIST(SPAN("u"), SPAN("v")),
         LIST(SPAN("w")), NONE},
        {TEXT("x"),
         NUMBER(9007199254740993),
         REAL(-0.0),
         NONE,
         NUMBER(INT64_MAX),
         {.list = {many, COUNT_OF(many)}},
         {.list = {many, 17}},
         {.text = {big, sizeof big}}},
        {NONE, NUMBER(63), REAL(-INFINITY), NUMBER(1), NUMBER(64), LIST(SPAN("last")), NONE, TEXT("d")},
    };
    _Static_assert(COUNT_OF(edge) <= 8, "callers have eight rows");
    static struct tl_span lists[8][2][5000]; /* compound literals end with this function */
    memcpy(rows, edge, sizeof edge);
    *count = COUNT_OF(edge);
    for (size_t i = 0; i < *count; i++)
        for (size_t k = 0; k < 2; k++)
            if (!rows[i][5 + k].null && rows[i][5 + k].list.count) {
                memcpy(lists[i][k], rows[i][5 + k].list.items, rows[i][5 + k].list.count * sizeof **lists[i]);
                rows[i][5 + k].list.items = lists[i][k];
            }
}

static int write_rows(struct cell rows[][CELLS], size_t count, const struct avro_options *options) {
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

static void rows_come_back(void **state) {
    (void)state;
    static struct cell rows[8][CELLS];
    size_t count;
    edge_rows(rows, &count);
    static const size_t blocks[] = {1, 100, 1000, 0};
    for (unsigned c = AVRO_DEFLATE; c <= AVRO_NULL; c++)
        for (size_t b = 0; b < COUNT_OF(blocks); b++) {
            int fd = write_rows(rows, count, &(struct avro_options){.codec = c, .block_bytes = blocks[b]});
            struct fail why = FAIL_INIT;
            struct avro_reader *r;
            struct cell cells[CELLS];
            assert_int_equal(avro_open(fd, "f.avro", &table, &r, &why), TL_OK);
            for (size_t i = 0; i < count; i++) {
                assert_int_equal(avro_next(r, cells, &why), 1);
                for (size_t k = 0; k < CELLS; k++)
                    if (!same_cell(columns[k].type, &rows[i][k], &cells[k]))
                        fail_msg("codec %u, block %zu: row %zu differs in %s", c, blocks[b], i, columns[k].name);
            }
            assert_int_equal(avro_next(r, cells, &why), 0);
            assert_int_equal(avro_next(r, cells, &why), 0);
            avro_end(r);
            struct table_facts facts;
            assert_int_equal(avro_check(fd, "f.avro", &facts, &why), TL_OK);
            assert_int_equal(facts.rows, count);
            close(fd);
        }
}

/* ---- the bytes ---- */

static void integers_are_as_specified(void **state) {
    (void)state;
    static const struct {
        int64_t n;
        const char *bytes;
        size_t len;
    } cases[] = {
        /* the specification's table */
        {0, "\x00", 1},
        {-1, "\x01", 1},
        {1, "\x02", 1},
        {-2, "\x03", 1},
        {2, "\x04", 1},
        {-64, "\x7F", 1},
        {64, "\x80\x01", 2},
        /* and where it ends */
        {63, "\x7E", 1},
        {-65, "\x81\x01", 2},
        {8191, "\xFE\x7F", 2},
        {8192, "\x80\x80\x01", 3},
        {INT64_MAX, "\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 10},
        {INT64_MIN, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 10},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char out[AVRO_LONG_BYTES];
        assert_int_equal(avro_put_long(out, cases[i].n) - out, cases[i].len);
        assert_memory_equal(out, cases[i].bytes, cases[i].len);
        for (size_t len = 0; len <= cases[i].len; len++) {
            const char *at = cases[i].bytes;
            int64_t n = 7;
            bool whole = avro_get_long(&at, at + len, &n);
            assert_int_equal(whole, len == cases[i].len);
            assert_ptr_equal(at, cases[i].bytes + (whole ? len : 0));
            assert_true(!whole || n == cases[i].n);
        }
    }
    static const char *const wrong[] = {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02", /* a 65th bit */
                                        "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x81\x01"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        const char *at = wrong[i];
        int64_t n;
        assert_false(avro_get_long(&at, at + strlen(at), &n));
    }
}

/* A whole file, written down from the specification by hand; only the 16 random bytes are taken from the file. */
static void a_file_is_as_specified(void **state) {
    (void)state;
    static const struct column two[] = {{.name = "a", .type = COLUMN_TEXT, .doc = "x"},
                                        {.name = "b", .type = COLUMN_LIST},
                                        {.name = "c", .type = COLUMN_REAL},
                                        {.name = "d", .type = COLUMN_BOOL},
                                        {.name = "e", .type = COLUMN_TIME},
                                        {.name = "f", .type = COLUMN_INT}};
    static const struct table t = {"t", two, COUNT_OF(two)};
#define SCHEMA                                                                                                         \
    "{\"type\":\"record\",\"name\":\"t\",\"namespace\":\"trotline\",\"fields\":["                                      \
    "{\"name\":\"a\",\"type\":[\"null\",\"string\"],\"default\":null,\"doc\":\"x\"},"                                  \
    "{\"name\":\"b\",\"type\":[\"null\",{\"items\":\"string\",\"type\":\"array\"}],\"default\":null},"                 \
    "{\"name\":\"c\",\"type\":[\"null\",\"double\"],\"default\":null},"                                                \
    "{\"name\":\"d\",\"type\":[\"null\",\"boolean\"],\"default\":null},"                                               \
    "{\"name\":\"e\",\"type\":[\"null\",{\"logicalType\":\"timestamp-micros\",\"type\":\"long\"}],\"default\":null},"  \
    "{\"name\":\"f\",\"type\":[\"null\",\"long\"],\"default\":null}]}"
    static const char head[] = "Obj\x01\x06\x16"
                               "avro.schema",
                      rest[] = "\x14"
                               "avro.codec\x08null\x02k\x06v\xC3\xA9\x00",
                      body[] =
                          "\x04\x46\x02\x06"
                          "foo\x02\x04\x02x\x04yz\x00\x02\x00\x00\x00\x00\x00\x00\xF8\x3F\x02\x01\x02\x01\x02\x80\x01"
                          "\x00\x00\x00\x00\x00\x00";
    AUTO_BUF struct buf want = BUF_INIT;
    AUTO_BUF struct buf have = BUF_INIT;
    char length[AVRO_LONG_BYTES];
    buf_add(&want, head, sizeof head - 1);
    buf_add(&want, length, (size_t)(avro_put_long(length, sizeof SCHEMA - 1) - length));
    buf_add(&want, SCHEMA, sizeof SCHEMA - 1);
    buf_add(&want, rest, sizeof rest - 1);

    struct fail why = FAIL_INIT;
    struct avro_writer *w;
    struct table_facts facts;
    const struct avro_pair pair = {"k", "v\xC3\xA9"};
    int fd = file_of("", 0);
    assert_int_equal(
        avro_create(fd, &t, &(struct avro_options){.codec = AVRO_NULL, .pairs = &pair, .pair_count = 1}, &w, &why),
        TL_OK);
    const struct cell row[] = {TEXT("foo"), LIST(SPAN("x"), SPAN("yz")), REAL(1.5), NUMBER(1), NUMBER(-1), NUMBER(64)};
    const struct cell nulls[] = {NONE, NONE, NONE, NONE, NONE, NONE};
    assert_int_equal(avro_row(w, row, &why), TL_OK);
    assert_int_equal(avro_row(w, nulls, &why), TL_OK);
    assert_int_equal(avro_size(w), 0);
    assert_int_equal(avro_close(w, &facts, &why), TL_OK);
    bytes_of(fd, &have);
    size_t sync = want.len;
    buf_add(&want, have.data + sync, AVRO_SYNC_BYTES);
    buf_add(&want, body, sizeof body - 1);
    buf_add(&want, have.data + sync, AVRO_SYNC_BYTES);
    assert_int_equal(have.len, want.len);
    assert_memory_equal(have.data, want.data, want.len);

    struct avro_reader *r;
    struct tl_span value;
    assert_int_equal(avro_open(fd, NULL, NULL, &r, &why), TL_OK);
    assert_true(avro_meta(r, "k", &value) && span_eq(value, "v\xC3\xA9"));
    assert_true(avro_meta(r, "avro.schema", &value) && span_eq(value, SCHEMA));
    assert_false(avro_meta(r, "kk", &value));
    assert_int_equal(avro_table(r)->count, t.count);
    assert_string_equal(avro_table(r)->name, "t");
    for (size_t i = 0; i < t.count; i++) {
        assert_string_equal(avro_table(r)->columns[i].name, two[i].name);
        assert_int_equal(avro_table(r)->columns[i].type, two[i].type);
    }
    avro_end(r);
    close(fd);
#undef SCHEMA
}

static void a_snappy_block_ends_with_its_sum(void **state) {
    (void)state;
    static const struct column one[] = {{.name = "a", .type = COLUMN_TEXT}};
    static const struct table t = {"t", one, 1};
    struct fail why = FAIL_INIT;
    struct avro_writer *w;
    struct table_facts facts;
    int fd = file_of("", 0);
    assert_int_equal(avro_create(fd, &t, &(struct avro_options){.codec = AVRO_SNAPPY}, &w, &why), TL_OK);
    /* The row is 02 0E 31..37: as 9 bytes "123456789" have the CRC-32 cbf43926, so do these have theirs; it is worked
     * out bit by bit here. */
    assert_int_equal(avro_row(w, &TEXT("1234567"), &why), TL_OK);
    assert_int_equal(avro_close(w, &facts, &why), TL_OK);
    uint32_t sum = ~0u;
    for (const char *p = "\x02\x0E"
                         "1234567";
         *p; p++) {
        sum ^= (unsigned char)*p;
        for (int i = 0; i < 8; i++)
            sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320u : 0);
    }
    sum = ~sum;
    AUTO_BUF struct buf have = BUF_INIT;
    bytes_of(fd, &have);
    const char want[] = {2,
                         30,
                         9,
                         8 << 2,
                         2,
                         14,
                         '1',
                         '2',
                         '3',
                         '4',
                         '5',
                         '6',
                         '7',
                         (char)(sum >> 24),
                         (char)(sum >> 16),
                         (char)(sum >> 8),
                         (char)sum};
    const char *block = have.data + have.len - AVRO_SYNC_BYTES - sizeof want;
    assert_memory_equal(block, want, sizeof want);
    close(fd);
}

/* ---- columns that changed ---- */

static void columns_are_found_by_name(void **state) {
    (void)state;
    static struct cell rows[8][CELLS];
    size_t count;
    edge_rows(rows, &count);
    int fd = write_rows(rows, count, NULL);
    static const struct column other[] = {{.name = "more", .type = COLUMN_LIST},
                                          {.name = "unheard", .type = COLUMN_REAL},
                                          {.name = "id", .type = COLUMN_TEXT}};
    static const struct table t = {"others", other, COUNT_OF(other)};
    struct fail why = FAIL_INIT;
    struct avro_reader *r;
    struct cell cells[3];
    assert_int_equal(avro_open(fd, "f.avro", &t, &r, &why), TL_OK);
    for (size_t i = 0; i < count; i++) {
        memset(cells, 0x55, sizeof cells);
        assert_int_equal(avro_next(r, cells, &why), 1);
        assert_true(same_cell(COLUMN_LIST, &cells[0], &rows[i][6]));
        assert_true(cells[1].null);
        assert_true(same_cell(COLUMN_TEXT, &cells[2], &rows[i][0]));
    }
    assert_int_equal(avro_next(r, cells, &why), 0);
    avro_end(r);

    static const struct column wrong[] = {{.name = "n", .type = COLUMN_TIME}};
    static const struct table bad = {"others", wrong, 1};
    assert_int_equal(avro_open(fd, "f.avro", &bad, &r, &why), TL_INVALID);
    assert_null(r);
    assert_int_equal(why.exit_code, EXIT_DAMAGED);
    assert_non_null(strstr(why.text, "f.avro"));
    close(fd);
}

/* ---- what the writer refuses ---- */

static void options_that_cannot_be(void **state) {
    (void)state;
    struct fail why = FAIL_INIT;
    struct avro_writer *w;
    const struct avro_pair taken = {"avro.codec", "snappy"};
    static const struct avro_pair many[AVRO_PAIRS_MAX] = {[0 ... AVRO_PAIRS_MAX - 1] = {"k", "v"}};
    const struct avro_options bad[] = {
        {.codec = AVRO_DEFLATE, .level = 13},
        {.codec = AVRO_ZSTANDARD, .level = 20},
        {.codec = AVRO_SNAPPY, .level = 1},
        {.codec = AVRO_NULL, .level = 1},
        {.level = -1},
        {.pairs = &taken, .pair_count = 1},
        {.pairs = many, .pair_count = AVRO_PAIRS_MAX},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(avro_create(-1, &table, &bad[i], &w, &why), TL_INVALID);
        assert_null(w);
    }
}

static void no_rows_no_file(void **state) {
    (void)state;
    int fd = write_rows(NULL, 0, NULL);
    struct fail why = FAIL_INIT;
    struct table_facts facts;
    assert_int_equal(avro_check(fd, "empty.avro", &facts, &why), TL_INVALID);
    assert_non_null(strstr(why.text, "empty.avro"));
    close(fd);
    avro_drop(NULL);
    avro_end(NULL);
}

static void a_row_too_large_leaves_the_file_alone(void **state) {
    (void)state;
    struct fail why = FAIL_INIT;
    struct avro_writer *w;
    struct table_facts facts;
    struct cell cells[CELLS];
    for (size_t i = 0; i < CELLS; i++)
        cells[i] = NONE;
    size_t room = (size_t)AVRO_ROW_MAX + 1;
    char *zeros = mmap(NULL, room, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct tl_span *items = mmap(NULL, ((size_t)AVRO_LIST_MAX + 1) * sizeof *items, PROT_READ,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(zeros != MAP_FAILED && items != MAP_FAILED);
    int fd = file_of("", 0);
    assert_int_equal(avro_create(fd, &table, NULL, &w, &why), TL_OK);
    assert_int_equal(avro_row(w, cells, &why), TL_OK);
    cells[0] = (struct cell){.text = {zeros, room}};
    assert_int_equal(avro_row(w, cells, &why), TL_INVALID);
    cells[0].text.len = AVRO_ROW_MAX;
    assert_int_equal(avro_row(w, cells, &why), TL_INVALID);
    cells[0].text.len = SIZE_MAX;
    assert_int_equal(avro_row(w, cells, &why), TL_INVALID);
    cells[0] = NONE;
    cells[5] = (struct cell){.list = {items, (size_t)AVRO_LIST_MAX + 1}};
    assert_int_equal(avro_row(w, cells, &why), TL_INVALID);
    cells[5].list.count = AVRO_LIST_MAX;
    assert_int_equal(avro_row(w, cells, &why), TL_OK);
    assert_int_equal(avro_close(w, &facts, &why), TL_OK);
    assert_int_equal(facts.rows, 2);
    assert_int_equal(avro_check(fd, "f", &facts, &why), TL_OK);
    assert_int_equal(facts.rows, 2);
    close(fd);
    munmap(zeros, room);
    munmap(items, ((size_t)AVRO_LIST_MAX + 1) * sizeof *items);
}

/* 64 MiB in one cell, between small rows. */
static void a_large_cell_is_a_block_of_its_own(void **state) {
    (void)state;
    size_t size = (size_t)64 << 20;
    char *data = mem_alloc(size);
    for (size_t i = 0; i < size; i += 64) /* 64 bytes, of which few are new: quick to compress */
        memset(data + i, 'a' + (int)(i >> 6) % 26, 64);
    struct cell rows[3][CELLS];
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < CELLS; k++)
            rows[i][k] = NUMBER(1);
    for (size_t i = 0; i < 3; i++) {
        rows[i][0] = TEXT("id");
        rows[i][5] = rows[i][6] = NONE;
        rows[i][7] = TEXT("small");
    }
    rows[1][7] = (struct cell){.text = {data, size}};
    for (unsigned c = AVRO_DEFLATE; c <= AVRO_NULL; c++) {
        int fd = write_rows(rows, 3, &(struct avro_options){.codec = c});
        struct fail why = FAIL_INIT;
        struct avro_reader *r;
        struct cell cells[CELLS];
        assert_int_equal(avro_open(fd, "f", &table, &r, &why), TL_OK);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(avro_next(r, cells, &why), 1);
            assert_true(same_cell(COLUMN_TEXT, &cells[7], &rows[i][7]));
        }
        assert_int_equal(avro_next(r, cells, &why), 0);
        avro_end(r);
        close(fd);
    }
    free(data);
}

static void a_full_disk_is_said_once_and_stays(void **state) {
    (void)state;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        skip();
    struct fail why = FAIL_INIT;
    struct avro_writer *w;
    struct cell cells[CELLS];
    for (size_t i = 0; i < CELLS; i++)
        cells[i] = NONE;
    assert_int_equal(avro_create(fd, &table, &(struct avro_options){.name = "x.avro", .block_bytes = 1}, &w, &why),
                     TL_OK);
    assert_int_equal(avro_row(w, cells, &why), TL_OK);
    assert_int_equal(avro_row(w, cells, &why), TL_FAILED);
    assert_int_equal(why.exit_code, EXIT_DISK);
    assert_non_null(strstr(why.text, "x.avro"));
    assert_int_equal(avro_row(w, cells, &why), TL_FAILED);
    assert_int_equal(avro_close(w, NULL, &why), TL_FAILED);
    close(fd);
}

/* ---- damaged files ---- */

/* Reads all there is, and every byte of it: *sum is of all rows. */
static int read_all(const char *ptr, size_t len, uint32_t *sum, struct fail *why) {
    int fd = file_of(ptr, len);
    struct avro_reader *r;
    struct cell cells[CELLS];
    AUTO_BUF struct buf all = BUF_INIT;
    int rc = avro_open(fd, "damaged.avro", &table, &r, why);
    if (rc == TL_OK) {
        while ((rc = avro_next(r, cells, why)) == 1)
            for (size_t k = 0; k < CELLS; k++) {
                buf_char(&all, cells[k].null ? 'n' : 'v');
                if (cells[k].null)
                    continue;
                if (columns[k].type == COLUMN_TEXT)
                    buf_add(&all, cells[k].text.ptr, cells[k].text.len);
                else if (columns[k].type != COLUMN_LIST)
                    buf_add(&all, &cells[k].number, sizeof cells[k].number);
                for (size_t i = 0; columns[k].type == COLUMN_LIST && i < cells[k].list.count; i++)
                    buf_add(&all, cells[k].list.items[i].ptr, cells[k].list.items[i].len);
            }
        if (rc < 0)
            assert_int_equal(avro_next(r, cells, NULL), rc);
        avro_end(r);
    }
    close(fd);
    *sum = codec_crc32(buf_span(&all));
    return rc;
}

static void small_file(enum avro_codec codec, struct buf *out, size_t *first_block) {
    struct cell rows[6][CELLS];
    struct tl_span tags[] = {SPAN("one"), SPAN("two")};
    for (size_t i = 0; i < 6; i++) {
        rows[i][0] = TEXT("identity of a thing, identity of a thing");
        rows[i][1] = NUMBER((int64_t)i << 40);
        rows[i][2] = REAL(0.1);
        rows[i][3] = NUMBER(1);
        rows[i][4] = i % 2 ? NONE : NUMBER(1767225600000000);
        rows[i][5] = (struct cell){.list = {tags, 2}};
        rows[i][6] = i % 3 ? NONE : (struct cell){.list = {tags, 1}};
        rows[i][7] = TEXT("payload payload payload \xE2\x82\xAC payload");
    }
    int fd = write_rows(rows, 6, &(struct avro_options){.codec = codec, .block_bytes = 400});
    bytes_of(fd, out);
    const char *sync = out->data + out->len - AVRO_SYNC_BYTES;
    const char *at = memmem(out->data, out->len, sync, AVRO_SYNC_BYTES);
    *first_block = (size_t)(at - out->data) + AVRO_SYNC_BYTES;
    close(fd);
}

/* Cut at any byte: an error that names file and place, unless the cut lies between two blocks. */
static void cut_files_are_named(void **state) {
    (void)state;
    for (unsigned c = AVRO_DEFLATE; c <= AVRO_NULL; c++) {
        AUTO_BUF struct buf file = BUF_INIT;
        size_t first, whole = 0;
        small_file(c, &file, &first);
        for (size_t len = 0; len < file.len; len++) {
            struct fail why = FAIL_INIT;
            uint32_t sum;
            int rc = read_all(file.data, len, &sum, &why);
            bool between = len >= first && memcmp(file.data + len - AVRO_SYNC_BYTES,
                                                  file.data + file.len - AVRO_SYNC_BYTES, AVRO_SYNC_BYTES) == 0;
            whole += between;
            if (rc != (between ? 0 : TL_INVALID))
                fail_msg("codec %u cut at %zu of %zu: %d %s", c, len, file.len, rc, why.text);
            if (rc) {
                assert_non_null(strstr(why.text, "damaged.avro"));
                assert_non_null(strstr(why.text, "at byte "));
                assert_int_equal(why.exit_code, EXIT_DAMAGED);
            }
        }
        assert_int_equal(whole, 3); /* none, one or two of three blocks */
    }
}

/* Every bit: never a crash; where blocks have checksums, never other rows. */
static void flipped_bits_do_no_harm(void **state) {
    (void)state;
    for (unsigned c = AVRO_DEFLATE; c <= AVRO_NULL; c++) {
        AUTO_BUF struct buf file = BUF_INIT;
        size_t first, found = 0;
        uint32_t right;
        small_file(c, &file, &first);
        assert_int_equal(read_all(file.data, file.len, &right, NULL), 0);
        for (size_t bit = 0; bit < 8 * file.len; bit++) {
            struct fail why = FAIL_INIT;
            uint32_t sum;
            file.data[bit / 8] ^= (char)(1 << bit % 8);
            int rc = read_all(file.data, file.len, &sum, &why);
            file.data[bit / 8] ^= (char)(1 << bit % 8);
            found += rc != 0;
            if ((c == AVRO_SNAPPY || c == AVRO_ZSTANDARD) && bit / 8 >= first && rc == 0 && sum != right)
                fail_msg("codec %u: with bit %zu of byte %zu flipped other rows were read", c, bit % 8, bit / 8);
            assert_true(rc == 0 || rc == TL_INVALID);
            assert_true(rc == 0 || strstr(why.text, "damaged.avro"));
        }
        assert_true(found);
    }
}

/* Several bytes at random, lengths among them. */
static void wild_bytes_do_no_harm(void **state) {
    (void)state;
    for (unsigned c = AVRO_DEFLATE; c <= AVRO_NULL; c++) {
        AUTO_BUF struct buf file = BUF_INIT;
        size_t first;
        small_file(c, &file, &first);
        for (int i = 0; i < 4000; i++) {
            AUTO_BUF struct buf copy = BUF_INIT;
            buf_add(&copy, file.data, file.len);
            for (uint32_t n = 1 + any(6); n; n--)
                copy.data[any((uint32_t)file.len)] = (char)(any(3) ? any(256) : 0xFF);
            uint32_t sum;
            int rc = read_all(copy.data, copy.len, &sum, NULL);
            assert_true(rc == 0 || rc == TL_INVALID);
        }
    }
}

/* Files put together here: header, then one block without compression. */
#define HEAD(fields)      "{\"type\":\"record\",\"name\":\"t\",\"fields\":[" fields "]}"
#define FIELD(name, type) "{\"name\":\"" name "\",\"type\":[\"null\"," type "]}"
static const char marker[] = "0123456789abcdef";

static void put_header(struct buf *out, const char *schema, const char *codec) {
    char n[AVRO_LONG_BYTES];
    buf_add(out, AVRO_MAGIC, 4);
    buf_char(out, codec ? 4 : 2);
    buf_add(out,
            "\x16"
            "avro.schema",
            12);
    buf_add(out, n, (size_t)(avro_put_long(n, (int64_t)strlen(schema)) - n));
    buf_text(out, schema);
    if (codec) {
        buf_add(out,
                "\x14"
                "avro.codec",
                11);
        buf_add(out, n, (size_t)(avro_put_long(n, (int64_t)strlen(codec)) - n));
        buf_text(out, codec);
    }
    buf_char(out, 0);
    buf_add(out, marker, 16);
}

static void put_block(struct buf *out, int64_t rows, int64_t size, struct tl_span bytes) {
    char n[2 * AVRO_LONG_BYTES];
    buf_add(out, n, (size_t)(avro_put_long(avro_put_long(n, rows), size) - n));
    buf_add(out, bytes.ptr, bytes.len);
    buf_add(out, marker, 16);
}

static int check_bytes(const struct buf *file, uint64_t *rows, struct fail *why) {
    int fd = file_of(file->data, file->len);
    struct table_facts facts;
    int rc = avro_check(fd, "hand.avro", &facts, why);
    *rows = facts.rows;
    close(fd);
    return rc;
}

static void schemas_of_others_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *schema, *codec;
        int rc;
    } cases[] = {
        {HEAD(FIELD("a", "\"long\"")), NULL, TL_OK},
        {HEAD(FIELD("a", "\"long\"")), "null", TL_OK},
        {" { \"fields\" : [ {\"type\":[ \"null\" , { \"type\" : \"long\", \"logicalType\":\"timestamp-micros\" } ],"
         "\"doc\":[1],\"name\":\"a\"} ] , \"name\":\"t\",\"type\":\"record\" } ",
         NULL, TL_OK},
        {HEAD(FIELD("a", "\"long\"")), "bzip2", TL_INVALID},
        {HEAD(FIELD("a", "\"long\"")), "", TL_INVALID},
        {HEAD(FIELD("a", "\"long\"") "," FIELD("a", "\"long\"")), NULL, TL_INVALID},
        {HEAD(FIELD("a", "\"int\"")), NULL, TL_INVALID},
        {HEAD(FIELD("a", "\"bytes\"")), NULL, TL_INVALID},
        {HEAD(FIELD("a", "\"t\"")), NULL, TL_INVALID},
        {HEAD(FIELD("a", "{\"type\":\"array\",\"items\":\"long\"}")), NULL, TL_INVALID},
        {HEAD(FIELD("a", "{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}")), NULL, TL_INVALID},
        {HEAD(FIELD("a", "\"long\",\"string\"")), NULL, TL_INVALID},
        {HEAD("{\"name\":\"a\",\"type\":\"long\"}"), NULL, TL_INVALID},
        {HEAD("{\"name\":\"a\",\"type\":[\"long\",\"null\"]}"), NULL, TL_INVALID},
        {HEAD("{\"name\":\"a b\",\"type\":[\"null\",\"long\"]}"), NULL, TL_INVALID},
        {HEAD("{\"name\":\"a\\u0000\",\"type\":[\"null\",\"long\"]}"), NULL, TL_INVALID},
        {HEAD("{\"name\":\"\",\"type\":[\"null\",\"long\"]}"), NULL, TL_INVALID},
        {HEAD("{\"type\":[\"null\",\"long\"]}"), NULL, TL_INVALID},
        {HEAD("{\"name\":\"a\"}"), NULL, TL_INVALID},
        {HEAD("1"), NULL, TL_INVALID},
        {HEAD(""), NULL, TL_INVALID},
        {"{\"type\":\"record\",\"name\":\"t\"}", NULL, TL_INVALID},
        {"{\"type\":\"enum\",\"name\":\"t\",\"fields\":[]}", NULL, TL_INVALID},
        {"\"long\"", NULL, TL_INVALID},
        {"{", NULL, TL_INVALID},
        {"", NULL, TL_INVALID},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_BUF struct buf file = BUF_INIT;
        struct fail why = FAIL_INIT;
        uint64_t rows;
        put_header(&file, cases[i].schema, cases[i].codec);
        put_block(&file, 2, 3, SPAN("\x02\x01\x00"));
        int rc = check_bytes(&file, &rows, &why);
        if (rc != cases[i].rc || (rc == TL_OK && rows != 2))
            fail_msg("%s, %s: %d %s", cases[i].schema, cases[i].codec ? cases[i].codec : "-", rc, why.text);
        assert_true(rc == TL_OK || strstr(why.text, "hand.avro"));
    }
    AUTO_BUF struct buf wide = BUF_INIT;
    AUTO_BUF struct buf file = BUF_INIT;
    for (int i = 0; i <= ROW_COLUMNS_MAX; i++)
        buf_printf(&wide, "%s{\"name\":\"c%d\",\"type\":[\"null\",\"long\"]}", i ? "," : "", i);
    AUTO_BUF struct buf schema = BUF_INIT;
    buf_printf(&schema, HEAD("%s"), wide.data);
    put_header(&file, schema.data, NULL);
    uint64_t rows;
    assert_int_equal(check_bytes(&file, &rows, NULL), TL_INVALID);
}

static void numbers_are_not_believed(void **state) {
    (void)state;
#define L     "\"long\""
#define S     "\"string\""
#define A     "{\"type\":\"array\",\"items\":\"string\"}"
#define HUGE  "\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01" /* INT64_MAX */
#define LEAST "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01" /* INT64_MIN */
#define SPREAD(bytes)                                                                                                  \
    { "" bytes, sizeof(bytes) - 1 }
    static const struct {
        const char *type;
        int64_t rows;
        struct tl_span bytes;
        int rc;
    } cases[] = {
        {L, 0, SPREAD(""), TL_OK},
        {L, 1, SPREAD(""), TL_INVALID},
        {L, 0, SPREAD("\x00"), TL_INVALID},
        {L, 1, SPREAD("\x00\x00"), TL_INVALID},
        {L, 2, SPREAD("\x00"), TL_INVALID},
        {L, -1, SPREAD("\x00"), TL_INVALID},
        {L, INT64_MAX, SPREAD("\x00"), TL_INVALID},
        {L, INT64_MIN, SPREAD("\x00"), TL_INVALID},
        {L, 1, SPREAD("\x04\x00"), TL_INVALID},
        {L, 1, SPREAD("\x01"), TL_INVALID},
        {L, 1, SPREAD("\x02" HUGE), TL_OK},
        {L, 1, SPREAD("\x02\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02"), TL_INVALID},
        {L, 1, SPREAD("\x02"), TL_INVALID},
        {L, 1, SPREAD("\x02\x80"), TL_INVALID},
        {S, 1, SPREAD("\x02\x02x"), TL_OK},
        {S, 1, SPREAD("\x02\x04x"), TL_INVALID},
        {S, 1, SPREAD("\x02\x01x"), TL_INVALID},
        {S, 1, SPREAD("\x02" HUGE "x"), TL_INVALID},
        {S, 1, SPREAD("\x02" LEAST "x"), TL_INVALID},
        {S, 1, SPREAD("\x02\x02\xFF"), TL_INVALID},
        {S, 1, SPREAD("\x02\x06\xED\xA0\x80"), TL_INVALID},
        {"\"double\"", 1, SPREAD("\x02zzzzzzzz"), TL_OK},
        {"\"double\"", 1, SPREAD("\x02zzzzzzz"), TL_INVALID},
        {"\"boolean\"", 2, SPREAD("\x02\x01\x02\x00"), TL_OK},
        {"\"boolean\"", 1, SPREAD("\x02\x02"), TL_INVALID},
        {"\"boolean\"", 1, SPREAD("\x02\xFF"), TL_INVALID},
        {A, 1, SPREAD("\x02\x00"), TL_OK},
        {A, 1, SPREAD("\x02\x02\x02x\x00"), TL_OK},
        {A, 1, SPREAD("\x02\x02\x02x\x02\x00\x00"), TL_OK},
        {A, 1, SPREAD("\x02\x01\x04\x02x\x00"), TL_OK}, /* -1 elements: their bytes are told, too */
        {A, 1, SPREAD("\x02\x02\x02x"), TL_INVALID},
        {A, 1, SPREAD("\x02\x04\x02x\x00"), TL_INVALID},
        {A, 1, SPREAD("\x02" HUGE "\x00"), TL_INVALID},
        {A, 1, SPREAD("\x02" LEAST "\x00\x00"), TL_INVALID},
        {A, 1, SPREAD("\x02\x02\x02\xFF\x00"), TL_INVALID},
        {A, 1, SPREAD("\x02\x82\x80\x80\x01\x00\x00"), TL_INVALID}, /* a million and one */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_BUF struct buf file = BUF_INIT;
        AUTO_BUF struct buf schema = BUF_INIT;
        struct fail why = FAIL_INIT;
        uint64_t rows;
        buf_printf(&schema, HEAD("{\"name\":\"a\",\"type\":[\"null\",%s]}"), cases[i].type);
        put_header(&file, schema.data, NULL);
        put_block(&file, cases[i].rows, (int64_t)cases[i].bytes.len, cases[i].bytes);
        int rc = check_bytes(&file, &rows, &why);
        if (rc != cases[i].rc)
            fail_msg("case %zu of %s: %d %s", i, cases[i].type, rc, why.text);
    }
    static const int64_t sizes[] = {-1, 0, 2, 4, INT64_MAX, INT64_MIN, (int64_t)1 << 31, (int64_t)1 << 62};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        AUTO_BUF struct buf file = BUF_INIT;
        uint64_t rows;
        put_header(&file, HEAD(FIELD("a", L)), NULL);
        put_block(&file, 1, sizes[i], SPAN("\x02\x80\x01"));
        assert_int_equal(check_bytes(&file, &rows, NULL), TL_INVALID);
    }
}

/* A few bytes that unpack to more than a row may be are refused. */
static void bombs_do_not_go_off(void **state) {
    (void)state;
    size_t size = (size_t)AVRO_ROW_MAX + 1;
    char *zeros = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(zeros != MAP_FAILED);
    for (unsigned c = AVRO_DEFLATE; c <= AVRO_ZSTANDARD; c++) {
        AUTO_BUF struct buf packed = BUF_INIT;
        AUTO_BUF struct buf file = BUF_INIT;
        struct fail why = FAIL_INIT;
        struct codec *codec;
        uint64_t rows;
        assert_int_equal(
            codec_new(&(struct codec_options){.kind = avro_codecs[c].kind, .level = c != AVRO_SNAPPY}, &codec, &why),
            TL_OK);
        assert_int_equal(codec_pack(codec, (struct tl_span){zeros, size}, &packed, &why), TL_OK);
        codec_free(codec);
        if (c == AVRO_SNAPPY)
            buf_add(&packed, "sum!", 4);
        put_header(&file, HEAD(FIELD("a", L)), avro_codecs[c].name);
        put_block(&file, 1, (int64_t)packed.len, buf_span(&packed));
        assert_int_equal(check_bytes(&file, &rows, &why), TL_INVALID);
        assert_non_null(strstr(why.text, "larger than"));
    }
    munmap(zeros, size);
}

static void maps_come_in_parts(void **state) {
    (void)state;
    static const char schema[] = HEAD(FIELD("a", L));
    char n[AVRO_LONG_BYTES];
    AUTO_BUF struct buf file = BUF_INIT;
    uint64_t rows;
    buf_add(&file, AVRO_MAGIC, 4);
    buf_lit(&file, "\x01\x08\x02x\x02y\x02\x16"
                   "avro.schema"); /* -1 pairs in 4 bytes, then 1 pair */
    buf_add(&file, n, (size_t)(avro_put_long(n, (int64_t)strlen(schema)) - n));
    buf_text(&file, schema);
    buf_char(&file, 0);
    buf_add(&file, marker, 16);
    put_block(&file, 1, 1, SPAN("\x00"));
    put_block(&file, 0, 0, SPAN(""));
    put_block(&file, 2, 2, SPAN("\x00\x00"));
    struct fail why = FAIL_INIT;
    assert_int_equal(check_bytes(&file, &rows, &why), TL_OK);
    assert_int_equal(rows, 3);

    static const struct tl_span wrong[] = {
        SPREAD("\x02\x02x\x02y\x02\x02x\x02z\x00"), /* x twice */
        SPREAD("\x00"),                             /* no schema */
        SPREAD(HUGE),
        SPREAD(LEAST),
        SPREAD("\x02" HUGE),
        SPREAD("\x02" LEAST),
        SPREAD("\x02\x02x" HUGE),
        SPREAD("\x82\x04"),             /* 257 pairs */
        SPREAD("\x02\x82\x80\x80\x04"), /* a key longer than any header */
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        AUTO_BUF struct buf bad = BUF_INIT;
        buf_add(&bad, AVRO_MAGIC, 4);
        buf_add(&bad, wrong[i].ptr, wrong[i].len);
        buf_add(&bad, marker, 16);
        if (check_bytes(&bad, &rows, &why) != TL_INVALID)
            fail_msg("header %zu was taken", i);
    }
}

static void only_files_are_read(void **state) {
    (void)state;
    int ends[2];
    struct fail why = FAIL_INIT;
    struct table_facts facts;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(avro_check(ends[0], "pipe", &facts, &why), TL_FAILED);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(avro_check(-1, "nothing", &facts, &why), TL_FAILED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_as_specified),
        cmocka_unit_test(a_file_is_as_specified),
        cmocka_unit_test(a_snappy_block_ends_with_its_sum),
        cmocka_unit_test(rows_come_back),
        cmocka_unit_test(columns_are_found_by_name),
        cmocka_unit_test(options_that_cannot_be),
        cmocka_unit_test(no_rows_no_file),
        cmocka_unit_test(a_row_too_large_leaves_the_file_alone),
        cmocka_unit_test(a_large_cell_is_a_block_of_its_own),
        cmocka_unit_test(a_full_disk_is_said_once_and_stays),
        cmocka_unit_test(cut_files_are_named),
        cmocka_unit_test(flipped_bits_do_no_harm),
        cmocka_unit_test(wild_bytes_do_no_harm),
        cmocka_unit_test(schemas_of_others_are_refused),
        cmocka_unit_test(numbers_are_not_believed),
        cmocka_unit_test(bombs_do_not_go_off),
        cmocka_unit_test(maps_come_in_parts),
        cmocka_unit_test(only_files_are_read),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("avro", tests, NULL, NULL);
}
