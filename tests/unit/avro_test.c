/* avro_test.c - Avro files: the bytes against the specification, the way there and back, what the writer refuses. */
#include <float.h>
#include <math.h>

#include "avro_world.h"

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

static void append(void *ctx, struct tl_span piece) {
    buf_add(ctx, piece.ptr, piece.len);
}

/* A block that lies in parts unpacks to what it would in one piece, tells its size, and goes on behind another. */
static void blocks_may_lie_in_parts(void **state) {
    (void)state;
    static char big[300000];
    for (size_t i = 0; i < sizeof big; i++)
        big[i] = (char)('a' + any(5));
    const struct tl_span parts[][3] = {{SPAN(""), SPAN(""), SPAN("")},
                                       {SPAN("head"), SPAN(""), {big, sizeof big}},
                                       {{big, 100}, {big, sizeof big}, SPAN("")}};
    for (unsigned kind = CODEC_NONE; kind <= CODEC_ZSTD; kind++) {
        struct codec *c;
        assert_int_equal(codec_new(&(struct codec_options){.kind = kind}, &c, NULL), TL_OK);
        for (size_t i = 0; i < COUNT_OF(parts); i++) {
            AUTO_BUF struct buf whole = BUF_INIT;
            AUTO_BUF struct buf packed = BUF_INIT;
            AUTO_BUF struct buf back = BUF_INIT;
            for (size_t k = 0; k < 3; k++)
                buf_add(&whole, parts[i][k].ptr, parts[i][k].len);
            int rc = codec_pack_parts(c, parts[i], 3, append, &packed, NULL);
            assert_int_equal(rc, TL_OK);
            assert_int_equal(codec_unpack(c, buf_span(&packed), whole.len, &back, NULL), TL_OK);
            assert_true(same_text(buf_span(&back), buf_span(&whole)));
            if (whole.len) { /* one byte too few is refused at once: nothing is appended */
                assert_int_equal(codec_unpack(c, buf_span(&packed), whole.len - 1, &back, NULL), TL_INVALID);
                assert_int_equal(back.len, whole.len);
            }
        }
        codec_free(c);
    }
    assert_int_equal(codec_crc32(SPAN("123456789")), 0xCBF43926u); /* the check value of CRC-32/ISO-HDLC */
    assert_int_equal(codec_crc32_more(codec_crc32(SPAN("1234")), SPAN("56789")), 0xCBF43926u);
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
        {.codec = AVRO_DEFLATE, .level = 13}, {.codec = AVRO_ZSTANDARD, .level = 20},        {.level = -1},
        {.pairs = &taken, .pair_count = 1},   {.pairs = many, .pair_count = AVRO_PAIRS_MAX},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(avro_create(-1, &table, &bad[i], &w, &why), TL_INVALID);
        assert_null(w);
    }
    for (unsigned c = AVRO_DEFLATE; c <= AVRO_NULL; c++) { /* who has no levels does not mind one */
        assert_int_equal(avro_create(-1, &table, &(struct avro_options){.codec = c, .level = 3}, &w, &why), TL_OK);
        avro_drop(w);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_as_specified),
        cmocka_unit_test(a_file_is_as_specified),
        cmocka_unit_test(a_snappy_block_ends_with_its_sum),
        cmocka_unit_test(blocks_may_lie_in_parts),
        cmocka_unit_test(rows_come_back),
        cmocka_unit_test(columns_are_found_by_name),
        cmocka_unit_test(options_that_cannot_be),
        cmocka_unit_test(no_rows_no_file),
        cmocka_unit_test(a_row_too_large_leaves_the_file_alone),
        cmocka_unit_test(a_large_cell_is_a_block_of_its_own),
        cmocka_unit_test(a_full_disk_is_said_once_and_stays),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("avro", tests, NULL, NULL);
}
