/* table_record_test.c - records of tables: their bytes, what a catalog learns from them, and that it learns nothing
 * from one that is damaged. */
#include <ftw.h>

#include "store_world.h"

#include "base/times.h"
#include "engine/rebuild_tables.h"
#include "engine/table_record.h"
#include "engine/version.h"

struct records {
    struct world *w;
    struct lake *l;
    char lake[96];
    struct uuid run, result; /* of a page of the crawl */
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static struct uuid id_of(const char *text) {
    struct uuid id;
    assert_int_equal(uuid_parse(span_of(text), &id), TL_OK);
    return id;
}

static int records_setup(void **state) {
    struct records *r = mem_alloc(sizeof *r);
    assert_int_equal(setup((void **)&r->w), 0);
    snprintf(r->lake, sizeof r->lake, "%s/lake", r->w->dir);
    OK(lake_open(r->lake, true, &r->l, &why));
    begin(r->w);
    put_line(r->w, "https://example.org/");
    claim(r->w);
    r->run = r->w->got[r->w->count - 1].run_id;
    struct store_document d = document_of(&r->result);
    assert_int_equal(end(r->w, r->w->got[r->w->count - 1].key, r->w->got[r->w->count - 1].token, STORE_SUCCESS, &d),
                     TL_OK);
    commit(r->w);
    *state = r;
    return 0;
}

static int records_teardown(void **state) {
    struct records *r = *state;
    lake_close(r->l);
    nftw(r->lake, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    void *world = r->w;
    teardown(&world);
    free(r);
    return 0;
}

/* ---- writing */

#define PAIR   "01a22d5c-15dd-730c-8554-811a55e040ca"
#define JOINED "01a22d5c-15ee-7029-87ab-9f9546715b22"
#define RECORD "01a22d5c-15f5-7247-b10f-ad57e18a04e0" /* written on 30 November 2026 */
#define PLACE  "tables/year=2026/month=11/day=30/" RECORD ".jsonl"

static struct store_table table_of(const char *id, const char *format, const char *path) {
    return (struct store_table){.id = id_of(id),
                                .path = path,
                                .kind = STORE_ITEMS,
                                .format = format,
                                .name = "http",
                                .version = "v1",
                                .hour_us = 3600000000,
                                .rows = 3,
                                .bytes = 1125899906842624,
                                .written_us = 5,
                                .sha256 = hash_sha256("abc", 3)};
}

static void test_bytes(void **state) {
    struct records *r = *state;
    struct table_record record;
    struct uuid a = id_of(PAIR), b = id_of(JOINED);
    struct store_table f = table_of(PAIR, "parquet", "items/parquet/\"x\"/y_" PAIR ".parquet");
    const struct table_refined both = {"page", "2", 3, 1, &a, &b}, none = {.type = "link", .version = "1"};
    OK(table_record_open(r->l, "refine", 17, &record, &why));
    AUTO_FREE char *path = mem_text(record.file.path.data);
    struct uuid id = record.file.at.id;
    table_record_file(&record, &f);
    table_record_type(&record, "page", "2", "00ff", "[[\"url\",\"text\"]]", 6);
    table_record_converted(&record, &a, &b, 3, &a);
    table_record_converted(&record, &b, &a, 0, NULL);
    table_record_refined(&record, &a, &b, &both);
    table_record_refined(&record, &a, &b, &none);
    table_record_replaced(&record, &a, &b);
    const struct store_promotion p = {.uid = b,
                                      .id = "x",
                                      .what = "x.test",
                                      .yaml = "id: x\n",
                                      .reaction = "r",
                                      .kind = STORE_A_HOST,
                                      .at_us = 7,
                                      .removed_us = 1125899906842624};
    table_record_promoted(&record, &p, &a);
    OK(table_record_close(&record, r->l, &why));
    assert_int_equal(record.file.at.rows, 10);
    struct sha256 said = record.file.at.sha256;
    OK(table_record_publish(&record, r->l, &why));

    AUTO_BUF struct buf is = BUF_INIT, want = BUF_INIT, place = BUF_INIT;
    char text[UUID_TEXT], hex[SHA256_HEX];
    lake_tables_file(&place, &id);
    assert_string_equal(path, place.data);
    OK(lake_read(r->l, path, &is, &why));
    buf_printf(&want, "{\"kind\":\"tables_v1\",\"id\":\"%s\",\"did\":\"refine\",\"version\":\"%s\",\"at_us\":17}\n",
               uuid_text(&id, text), TROTLINE_VERSION);
    buf_text(
        &want,
        "{\"kind\":\"file\",\"id\":\"" PAIR "\",\"path\":\"items/parquet/\\\"x\\\"/y_" PAIR
        ".parquet\",\"table\":\"items\",\"format\":\"parquet\",\"name\":\"http\",\"version\":\"v1\","
        "\"hour_us\":3600000000,\"rows\":3,\"bytes\":1125899906842624,\"sha256\":"
        "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\",\"written_us\":5}\n"
        "{\"kind\":\"type\",\"name\":\"page\",\"version\":\"2\",\"sha256\":\"00ff\",\"columns\":[[\"url\",\"text\"]],"
        "\"first_us\":6}\n"
        "{\"kind\":\"converted\",\"run_id\":\"" PAIR "\",\"result_id\":\"" JOINED "\",\"items\":3,\"file\":\"" PAIR
        "\"}\n"
        "{\"kind\":\"converted\",\"run_id\":\"" JOINED "\",\"result_id\":\"" PAIR "\"}\n"
        "{\"kind\":\"refined\",\"run_id\":\"" PAIR "\",\"result_id\":\"" JOINED
        "\",\"type\":\"page\",\"version\":\"2\",\"rows\":3,\"rejected\":1,\"file\":\"" PAIR "\",\"rejects\":\"" JOINED
        "\"}\n"
        "{\"kind\":\"refined\",\"run_id\":\"" PAIR "\",\"result_id\":\"" JOINED
        "\",\"type\":\"link\",\"version\":\"1\"}\n"
        "{\"kind\":\"replaced\",\"id\":\"" PAIR "\",\"by\":\"" JOINED "\"}\n"
        "{\"kind\":\"promoted\",\"uid\":\"" JOINED "\",\"id\":\"x\",\"as\":\"host\",\"what\":\"x.test\",\"yaml\":\"id: "
        "x\\n\",\"run_id\":\"" PAIR "\",\"reaction\":\"r\",\"at_us\":7,\"removed_us\":1125899906842624}\n");
    struct sha256 sum = hash_sha256(want.data, want.len);
    buf_printf(&want, "{\"kind\":\"end\",\"lines\":9,\"sha256\":\"%s\"}\n", hash_hex(sum.byte, SHA256_BYTES, hex));
    assert_string_equal(is.data, want.data);
    sum = hash_sha256(is.data, is.len);
    assert_memory_equal(&sum, &said, sizeof sum);
}

/* More lines than are kept in memory. */
static void test_long(void **state) {
    struct records *r = *state;
    struct table_record record;
    struct uuid a = id_of(PAIR);
    int64_t files;
    OK(table_record_open(r->l, "convert", 17, &record, &why));
    AUTO_FREE char *path = mem_text(record.file.path.data);
    for (int i = 0; i < 5000; i++)
        table_record_converted(&record, &a, &a, 0, NULL);
    OK(table_record_close(&record, r->l, &why));
    OK(table_record_publish(&record, r->l, &why));
    OK(rebuild_tables(r->w->s, r->l, path, &files, &why));
    assert_string_equal(ask(r->w, "SELECT kind, name, rows FROM table_file"), "3|convert|5002\n");
    assert_string_equal(ask(r->w, "SELECT count(*) FROM converted"), "0\n");
}

/* ---- reading */

#define SUM  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define HEAD "{\"kind\":\"tables_v1\",\"id\":\"" RECORD "\",\"did\":\"convert\",\"at_us\":17}\n"
#define FILE_(id, format)                                                                                              \
    "{\"kind\":\"file\",\"id\":\"" id "\",\"path\":\"items/" format "/x_" id "." format                                \
    "\",\"table\":\"items\",\"format\":\"" format "\",\"name\":\"http\",\"version\":\"v1\",\"hour_us\":0,"             \
    "\"rows\":3,\"bytes\":1125899906842624,\"sha256\":\"" SUM "\",\"written_us\":5}\n"
#define PAIR_(id) FILE_(id, "parquet") FILE_(id, "avro")
#define TYPE_                                                                                                          \
    "{\"kind\":\"type\",\"name\":\"page\",\"version\":\"1\",\"sha256\":\"" SUM                                         \
    "\",\"columns\":[[\"url\",\"text\"]],\"first_us\":6}\n"
#define CONVERTED_ "{\"kind\":\"converted\",\"run_id\":\"%s\",\"result_id\":\"%s\",\"items\":3,\"file\":\"" PAIR "\"}\n"
#define REFINED_                                                                                                       \
    "{\"kind\":\"refined\",\"run_id\":\"%s\",\"result_id\":\"%s\",\"type\":\"page\",\"version\":\"1\",\"rejected\":2}" \
    "\n"
#define REPLACED_ "{\"kind\":\"replaced\",\"id\":\"" PAIR "\",\"by\":\"" JOINED "\"}\n"

/* A record of these lines, with an end that is right if `ended`. */
static void write_record(struct records *r, const char *lines, bool ended) {
    AUTO_BUF struct buf text = BUF_INIT, file = BUF_INIT;
    char hex[SHA256_HEX];
    long count = 0;
    for (const char *at = lines; *at; at++)
        count += *at == '\n';
    struct sha256 sum = hash_sha256(lines, strlen(lines));
    buf_text(&text, lines);
    if (ended)
        buf_printf(&text, "{\"kind\":\"end\",\"lines\":%ld,\"sha256\":\"%s\"}\n", count,
                   hash_hex(sum.byte, SHA256_BYTES, hex));
    buf_printf(&file, "%s/" PLACE, r->lake);
    unlink(file.data);
    OK(lake_stage(r->l, "text.part", buf_span(&text), &why));
    OK(lake_publish(r->l, "text.part", PLACE, &why));
}

static void test_read(void **state) {
    struct records *r = *state;
    char run[UUID_TEXT], result[UUID_TEXT], root[UUID_TEXT];
    AUTO_BUF struct buf text = BUF_INIT, want = BUF_INIT;
    int64_t files;
    uuid_text(&r->run, run);
    uuid_text(&r->result, result);
    uuid_text(&r->w->crawl.root_id, root);
    buf_text(&text, HEAD PAIR_(PAIR) PAIR_(JOINED) TYPE_);
    buf_printf(&text, CONVERTED_, run, result);
    buf_printf(&text, CONVERTED_, JOINED, result); /* a run that is not known */
    buf_printf(&text, REFINED_, run, result);
    buf_text(&text, "{\"kind\":\"of a later version\"}\n");
    write_record(r, text.data, true);
    for (int again = 0; again < 2; again++) { /* the second time it is known */
        OK(rebuild_tables(r->w->s, r->l, PLACE, &files, &why));
        assert_int_equal(files, again ? 0 : 4);
        assert_string_equal(ask(r->w, "SELECT v.items, v.at_us, p.path, a.path FROM converted v JOIN table_file p ON "
                                      "p.key = v.parquet JOIN table_file a ON a.key = v.avro"),
                            "3|17|items/parquet/x_" PAIR ".parquet|items/avro/x_" PAIR ".avro\n");
        assert_string_equal(ask(r->w, "SELECT rows, rejected, file IS NULL, rejects IS NULL FROM refined"),
                            "0|2|1|1\n");
        buf_reset(&want);
        for (int i = 0; i < 2; i++)
            buf_printf(&want, "%s|%s\n", root, i ? "parquet" : "avro");
        assert_string_equal(ask(r->w, "SELECT root_id, format FROM items WHERE path LIKE '%" PAIR "%' ORDER BY path"),
                            want.data);
        assert_string_equal(ask(r->w, "SELECT name, version, columns, sha256 FROM types"),
                            "page|1|[[\"url\",\"text\"]]|" SUM "\n");
        assert_string_equal(ask(r->w, "SELECT count(*), sum(bytes) / 4 FROM tables"), "4|1125899906842624\n");
    }
}

/* A run that has another document by now is as it was before it was converted. */
static void test_another_result(void **state) {
    struct records *r = *state;
    char run[UUID_TEXT];
    AUTO_BUF struct buf text = BUF_INIT;
    int64_t files;
    buf_text(&text, HEAD PAIR_(PAIR) TYPE_);
    buf_printf(&text, CONVERTED_ REFINED_, uuid_text(&r->run, run), PAIR, run, PAIR);
    write_record(r, text.data, true);
    OK(rebuild_tables(r->w->s, r->l, PLACE, &files, &why));
    assert_string_equal(ask(r->w, "SELECT (SELECT count(*) FROM converted), (SELECT count(*) FROM refined)"), "0|0\n");
    assert_string_equal(ask(r->w, "SELECT count(root_id), count(*) FROM items"), "2|2\n");
}

static void test_replaced(void **state) {
    struct records *r = *state;
    char run[UUID_TEXT], result[UUID_TEXT];
    AUTO_BUF struct buf text = BUF_INIT;
    int64_t files;
    buf_text(&text, HEAD PAIR_(PAIR) PAIR_(JOINED));
    buf_printf(&text, CONVERTED_ REPLACED_, uuid_text(&r->run, run), uuid_text(&r->result, result));
    write_record(r, text.data, true);
    /* of the old pair the Parquet file is there still */
    OK(lake_stage(r->l, "old.part", span_of("old"), &why));
    OK(lake_publish(r->l, "old.part", "items/parquet/x_" PAIR ".parquet", &why));
    OK(rebuild_tables(r->w->s, r->l, PLACE, &files, &why));
    assert_string_equal(ask(r->w, "SELECT count(*) FROM tables WHERE replaced_at IS NOT NULL"), "2\n");
    OK(rebuild_tables_end(r->w->s, r->l, &why));
    assert_string_equal(ask(r->w, "SELECT path, replaced_at IS NULL, root_id IS NULL FROM items ORDER BY 1"),
                        "items/avro/x_" JOINED ".avro|1|0\n"
                        "items/parquet/x_" PAIR ".parquet|0|0\n"
                        "items/parquet/x_" JOINED ".parquet|1|0\n");
    assert_string_equal(ask(r->w, "SELECT p.path FROM converted v JOIN table_file p ON p.key = v.parquet"),
                        "items/parquet/x_" JOINED ".parquet\n");
}

static void refuse(struct records *r, const char *lines, bool ended, const char *says) {
    int64_t files = 7;
    write_record(r, lines, ended);
    why = (struct fail)FAIL_INIT;
    if (rebuild_tables(r->w->s, r->l, PLACE, &files, &why) != TL_INVALID || why.exit_code != EXIT_DAMAGED ||
        !strstr(why.text, says) || !strstr(why.text, RECORD ".jsonl"))
        fail_msg("not refused as it should be (%s): %s", says, why.text);
    assert_int_equal(files, 0);
    assert_string_equal(ask(r->w, "SELECT (SELECT count(*) FROM table_file), (SELECT count(*) FROM typed), (SELECT "
                                  "count(*) FROM converted), (SELECT count(*) FROM table_source)"),
                        "0|0|0|0\n");
}

static void test_damaged(void **state) {
    struct records *r = *state;
    char run[UUID_TEXT], result[UUID_TEXT];
    AUTO_BUF struct buf good = BUF_INIT, bad = BUF_INIT;
    uuid_text(&r->run, run);
    uuid_text(&r->result, result);
    buf_text(&good, HEAD PAIR_(PAIR));
    buf_printf(&good, CONVERTED_, run, result);
    refuse(r, good.data, false, "last lines are missing");
    refuse(r, PAIR_(PAIR), true, "the first line must be");
    refuse(r, HEAD HEAD, true, "there are two");
    refuse(r, HEAD "{\"kind\":\"file\"", false, "the last line is cut off");
    refuse(r, HEAD FILE_(PAIR, "orc"), true, "the member format");
    refuse(r, HEAD PAIR_(PAIR) REPLACED_, true, "no line before it is of the file " JOINED);
    refuse(r, HEAD PAIR_(PAIR) FILE_(JOINED, "avro") REPLACED_, true, "no two pairs");
    refuse(r, HEAD PAIR_(PAIR) "{\"kind\":\"replaced\",\"id\":\"" PAIR "\",\"by\":\"" PAIR "\"}\n", true,
           "no two pairs");
    refuse(r, HEAD PAIR_(PAIR) PAIR_(PAIR), true, ":4: the file was named before");
    buf_printf(&bad, HEAD CONVERTED_, run, result);
    refuse(r, bad.data, true, "no line before it is of the file");
    buf_reset(&bad);
    buf_printf(&bad, HEAD REFINED_, run, result);
    refuse(r, bad.data, true, "no record before it is of the type page");
    buf_reset(&bad);
    buf_printf(&bad, HEAD TYPE_ REFINED_ REFINED_, run, result, run, result);
    refuse(r, bad.data, true, "was refined to this type before");
    static const char *const type[] = {"page`", "Page", "1page", "", "a b", "a\\u0000b", "../page", "items"};
    for (size_t i = 0; i < COUNT_OF(type); i++) {
        buf_reset(&bad);
        buf_printf(&bad,
                   HEAD "{\"kind\":\"type\",\"name\":\"%s\",\"version\":\"1\",\"sha256\":\"" SUM
                        "\",\"columns\":[[\"url\",\"text\"]],\"first_us\":6}\n",
                   type[i]);
        refuse(r, bad.data, true, i == 5 ? "the member name" : "is not described as it should be");
    }
    static const char *const path[] = {"items/../../x_",     "documents/x_", "/items/x_",
                                       "items//x_",          "l2ts/x_",      "items/compression=z`/x_",
                                       "items/\\u000a--/x_", "items/x"};
    for (size_t i = 0; i < COUNT_OF(path); i++) {
        buf_reset(&bad);
        buf_printf(&bad,
                   HEAD "{\"kind\":\"file\",\"id\":\"" PAIR "\",\"path\":\"%s" JOINED
                        ".avro\",\"table\":\"items\",\"format\":"
                        "\"avro\",\"name\":\"http\",\"version\":\"v1\",\"rows\":1,\"bytes\":1,\"sha256\":\"" SUM
                        "\",\"written_us\":5}\n",
                   path[i]);
        char *at = strstr(bad.data, JOINED);
        if (i < COUNT_OF(path) - 1)
            memcpy(at, PAIR, UUID_TEXT - 1);
        refuse(r, bad.data, true, "leads to no table file");
    }
    /* one byte of the lines is another than the end says */
    write_record(r, good.data, true);
    AUTO_BUF struct buf text = BUF_INIT;
    OK(lake_read(r->l, PLACE, &text, &why));
    char *rows = strstr(text.data, "\"rows\":3");
    rows[7] = '4';
    refuse(r, text.data, false, "the lines before it are others");
    rows[7] = '3';
    buf_text(&text, "{\"kind\":\"file\"}\n");
    refuse(r, text.data, false, "nothing may follow");
}

static void test_names(void **state) {
    static const char *const name[] = {"tables/x", "tables/year=2026/month=11/day=29/" RECORD ".jsonl",
                                       "tables/year=2026/month=11/day=30/" RECORD ".json",
                                       "tables/year=2026/month=11/day=30/x.jsonl"};
    struct records *r = *state;
    int64_t files;
    for (size_t i = 0; i < COUNT_OF(name); i++) {
        why = (struct fail)FAIL_INIT;
        assert_int_equal(rebuild_tables(r->w->s, r->l, name[i], &files, &why), TL_INVALID);
        assert_non_null(strstr(why.text, "it is no record of tables"));
    }
    AUTO_BUF struct buf staged = BUF_INIT;
    lake_staged_name(&staged, PLACE);
    assert_string_equal(staged.data, RECORD ".jsonl.part");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bytes, records_setup, records_teardown),
        cmocka_unit_test_setup_teardown(test_long, records_setup, records_teardown),
        cmocka_unit_test_setup_teardown(test_read, records_setup, records_teardown),
        cmocka_unit_test_setup_teardown(test_another_result, records_setup, records_teardown),
        cmocka_unit_test_setup_teardown(test_replaced, records_setup, records_teardown),
        cmocka_unit_test_setup_teardown(test_damaged, records_setup, records_teardown),
        cmocka_unit_test_setup_teardown(test_names, records_setup, records_teardown)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("table_record", tests, NULL, NULL);
}
