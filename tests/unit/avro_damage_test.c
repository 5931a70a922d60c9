/* avro_damage_test.c - Avro files that are cut, damaged, made up or not ours: no harm, and reasons that name file and
 * place. */
#include "avro_world.h"

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
        cmocka_unit_test(cut_files_are_named),      cmocka_unit_test(flipped_bits_do_no_harm),
        cmocka_unit_test(wild_bytes_do_no_harm),    cmocka_unit_test(schemas_of_others_are_refused),
        cmocka_unit_test(numbers_are_not_believed), cmocka_unit_test(bombs_do_not_go_off),
        cmocka_unit_test(maps_come_in_parts),       cmocka_unit_test(only_files_are_read),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("avro_damage", tests, NULL, NULL);
}
