/* delta_test.c - Delta logs as they are replayed: what counts last, escaped paths, and logs that cannot be gone on
 * with. */
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/delta_replay.h"
#include "engine/table_list.h"
/* After trotline.h: cmocka's macro fail() would take the name of a member there. */
#include <cmocka.h>

static char top[256];
static struct lake *lake;

#define META                                                                                                           \
    "{\"metaData\":{\"id\":\"one\",\"schemaString\":\"{\\\"type\\\":\\\"struct\\\"}\",\"partitionColumns\":[]}}\n"
#define PROTOCOL        "{\"protocol\":{\"minReaderVersion\":1,\"minWriterVersion\":2}}\n"
#define ADD(path, rows) "{\"add\":{\"path\":\"" path "\",\"size\":7,\"stats\":\"{\\\"numRecords\\\":" #rows "}\"}}\n"
#define REMOVE(path)    "{\"remove\":{\"path\":\"" path "\"}}\n"

static int make_lake(void **state) {
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(top, sizeof top, "%s/delta_test.XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(top) && lake_open(top, true, &lake, NULL) == TL_OK ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *f) {
    (void)s, (void)type, (void)f;
    return remove(path);
}

static int remove_lake(void **state) {
    (void)state;
    lake_close(lake);
    return nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *name, const char *text) {
    char path[600];
    snprintf(path, sizeof path, "%s/t", top);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/t/_delta_log", top);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/t/_delta_log/%s", top, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void last_action_counts(void **state) {
    struct delta_replay r = {0};
    (void)state;
    put("00000000000000000000.json", PROTOCOL META ADD("a", 1) ADD("b", 2) "{\"commitInfo\":{}}\n");
    put("00000000000000000001.json", REMOVE("a") ADD("c%20%25d/p=%C3%BC", 3));
    put("00000000000000000002.json", ADD("a", 4) REMOVE("b") "{\"txn\":{}}"); /* no line end */
    put("00000000000000000002.crc", "{}");
    assert_int_equal(delta_replay_read(lake, "t", &r, NULL), TL_OK);
    assert_int_equal(r.version, 2);
    assert_int_equal(r.count, 2);
    assert_string_equal(r.file[0].path, "a");
    assert_int_equal(r.file[0].rows, 4);
    assert_string_equal(r.file[1].path, "c %d/p=\xC3\xBC");
    assert_int_equal(r.file[1].rows, 3);
    assert_int_equal(r.file[1].bytes, 7);
    assert_string_equal(r.id.data, "one");
    assert_string_equal(r.schema.data, "{\"type\":\"struct\"}");
    delta_replay_free(&r);
}

static void no_log(void **state) {
    struct delta_replay r = {0};
    (void)state;
    assert_int_equal(delta_replay_read(lake, "t", &r, NULL), TL_OK);
    assert_int_equal(r.version, -1);
    assert_int_equal(r.count, 0);
    delta_replay_free(&r);
}

static void refused(const char *word) {
    struct delta_replay r = {0};
    struct fail why = FAIL_INIT;
    assert_int_equal(delta_replay_read(lake, "t", &r, &why), TL_INVALID);
    assert_int_equal(why.exit_code, EXIT_DAMAGED);
    assert_non_null(strstr(why.text, word));
    assert_non_null(strstr(why.text, "trotline export delta")); /* the way out */
    delta_replay_free(&r);
}

static void not_gone_on_with(void **state) {
    (void)state;
    put("00000000000000000001.checkpoint.parquet", "PAR1");
    refused("version 0");
    put("00000000000000000001.json", ADD("a", 1));
    refused("missing");
    put("00000000000000000000.json", PROTOCOL ADD("b", 1));
    refused("metaData");
    put("00000000000000000000.json", PROTOCOL META "{\"add\":{\"path\":\"x\"\n");
    refused("no JSON object");
    put("00000000000000000000.json", PROTOCOL META "[]\n");
    refused("no JSON object");
    put("00000000000000000000.json", PROTOCOL META "{\"remove\":{\"path\":7}}\n");
    refused("no path");
    put("00000000000000000000.json", "{\"protocol\":{\"minReaderVersion\":1,\"minWriterVersion\":4}}\n" META);
    refused("protocol");
    put("00000000000000000000.json", "{\"protocol\":{\"minReaderVersion\":1}}\n" META);
    refused("protocol");
}

/* RFC 3986: unreserved characters as they are; a level of a path is one already escaped, so its % is escaped again. */
static void paths_are_escaped(void **state) {
    struct buf out = BUF_INIT;
    (void)state;
    delta_replay_escape(&out, "p_x=a%20b/\xC3\xBC~-._ ?#.parquet");
    assert_string_equal(out.data, "p_x=a%2520b/%C3%BC~-._%20%3F%23.parquet");
    buf_reset(&out);
    delta_replay_name(&out, "items/parquet", 12);
    assert_string_equal(out.data, "items/parquet/_delta_log/00000000000000000012.json");
    buf_free(&out);
}

static void values_of_levels(void **state) {
    static const char path[] =
        "l2ts/type=t/p_type_version=1%2C5/p_year=__HIVE_DEFAULT_PARTITION__/p_day=/x_p_hour=7/f%41=1.parquet";
    struct buf out = BUF_INIT;
    (void)state;
    assert_true(table_list_value(path, "p_type_version", &out));
    assert_string_equal(out.data, "1,5");
    assert_false(table_list_value(path, "p_year", &out));
    assert_false(table_list_value(path, "p_hour", &out));
    buf_reset(&out);
    assert_true(table_list_value(path, "p_day", &out));
    assert_int_equal(out.len, 0);
    buf_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(last_action_counts, make_lake, remove_lake),
        cmocka_unit_test_setup_teardown(no_log, make_lake, remove_lake),
        cmocka_unit_test_setup_teardown(not_gone_on_with, make_lake, remove_lake),
        cmocka_unit_test(paths_are_escaped),
        cmocka_unit_test(values_of_levels),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("delta", tests, NULL, NULL);
}
