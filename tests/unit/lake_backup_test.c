/* lake_backup_test.c - where copies of repositories lie, and which name leads to the newest. Digests of logins:
 * sha256sum. */
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/times.h"
#include "lake/lake_backup.h"
#include "lake/lake_inside.h"
/* After trotline.h: cmocka's macro fail() would take the name of a member there. */
#include <cmocka.h>

static const char *path_of(struct buf *out, const char *owner, const char *name, const char *kind) {
    const struct lake_backup b = {"s-1", "github.com", owner, name, kind, 1796004000000000}; /* 2026-11-30T02:00:00Z */
    buf_reset(out);
    lake_backup_copy(out, &b);
    return out->data;
}

static void test_paths(void **state) {
    static const struct {
        const char *owner, *folder;
    } cases[] = {{"octocat", "a6/65/81/57/octocat"},
                 {"Octocat", "a6/65/81/57/Octocat"},
                 {"montyanderson", "bc/be/22/6e/montyanderson"},
                 {"torvalds", "6d/01/7a/c2/torvalds"},
                 {"user159", "00/61/25/d5/user159"},
                 {"user308", "ff/f7/ae/e5/user308"}};
    AUTO_BUF struct buf path = BUF_INIT, want = BUF_INIT;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        buf_reset(&want);
        buf_printf(&want, "backups/shard=s-1/github.com/%s/x/2026-11-30T02-00-00Z.zip", cases[i].folder);
        assert_string_equal(path_of(&path, cases[i].owner, "x", "zip"), want.data);
    }
    assert_int_equal(lake_backup_byte("USER65"), 0x55);
    assert_int_equal(lake_backup_byte("user206"), 0xaa);
}

static void test_newest_names(void **state) {
    static const char *const names[] = {"x",      "x.bundle", "x.bundle.zip", ".github", "-dash",
                                        "a.refs", "refs",     "..",           "x%2Ezip"};
    AUTO_BUF struct buf path = BUF_INIT, said = BUF_INIT, want = BUF_INIT;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct lake_backup b = {"s-1", "github.com", "octocat", names[i], "bundle", 0};
        buf_reset(&said);
        buf_reset(&want);
        assert_true(lake_backup_is_copy(path_of(&path, "octocat", names[i], "bundle"), &said));
        lake_backup_newest(&want, &b);
        assert_string_equal(said.data, want.data);
    }
    /* the folder of one is never the name that leads to another's */
    const struct lake_backup copies = {"s-1", "github.com", "o", "x.bundle", "zip", 0},
                             other = {"s-1", "github.com", "o", "x", "bundle", 0};
    buf_reset(&said);
    buf_reset(&want);
    lake_backup_copies(&said, &copies);
    lake_backup_newest(&want, &other);
    assert_string_not_equal(said.data, want.data);
}

static void test_what_is_no_copy(void **state) {
#define OK "backups/shard=s/github.com/aa/bb/cc/dd/o/x/2026-11-30T02-00-00Z"
    static const char *const wrong[] = {OK,
                                        OK ".",
                                        OK ".exe",
                                        OK ".bundle/x",
                                        "/" OK ".bundle",
                                        "x/" OK ".bundle",
                                        "backups/shard=s/github.com/aa/bb/cc/dd/o/../2026-11-30T02-00-00Z.bundle",
                                        "backups/../github.com/aa/bb/cc/dd/o/x/2026-11-30T02-00-00Z.bundle",
                                        "backups/shard=s/github.com/aa/bb/cc/dd/o/x/2026-13-30T02-00-00Z.bundle",
                                        "backups/shard=s/github.com/aa/bb/cc/dd/o/x/2026-11-30T02:00:00Z.bundle",
                                        "backups/shard=s/github.com/aa/bb/cc/dd/o/x y/2026-11-30T02-00-00Z.bundle",
                                        "backups/shard=s/github.com/aa/bb/cc/dd/o/x.bundle",
                                        "documents/x",
                                        ""};
    (void)state;
    assert_true(lake_backup_is_copy(OK ".bundle", NULL));
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (lake_backup_is_copy(wrong[i], NULL) ||
            (strncmp(wrong[i], "backups", 7) == 0 && lake_attachment_ok(wrong[i])))
            fail_msg("taken for a copy: %s", wrong[i]);
#define OID "ab12345678901234567890123456789012345678901234567890123456789012"
#define AT  "backups/shard=s/github.com/aa/bb/cc/dd/o/x/lfs/"
    static const char *const no_objects[] = {AT "ab/12/" OID ".bundle",
                                             AT "12/ab/" OID,
                                             AT "ab/13/" OID,
                                             AT "ab/12/x/" OID,
                                             AT "ab/12/../12/" OID,
                                             AT
                                             "ab/12/AB12345678901234567890123456789012345678901234567890123456789012",
                                             AT "ab/12/" OID "0",
                                             AT OID,
                                             "attachments/shard=s/github.com/aa/bb/cc/dd/o/x/lfs/ab/12/" OID};
    AUTO_BUF struct buf object = BUF_INIT;
    const struct lake_backup large = {"s", "github.com", "octocat", "x.zip", "object", 0};
    lake_backup_object(&object, &large, OID);
    assert_string_equal(object.data, "backups/shard=s/github.com/a6/65/81/57/octocat/x%2Ezip/lfs/ab/12/" OID);
    assert_true(lake_backup_is_object(object.data) && lake_attachment_ok(object.data));
    assert_false(lake_backup_is_copy(object.data, NULL));
    for (size_t i = 0; i < COUNT_OF(no_objects); i++)
        if (lake_backup_is_object(no_objects[i]))
            fail_msg("taken for an object: %s", no_objects[i]);
#undef OID
#undef AT
    assert_false(lake_attachment_ok("attachments/../x"));
    assert_true(lake_attachment_ok("attachments/year=2026/x"));
}

/* ---- publishing */

static void put_kind(struct lake *l, const char *kind, const char *bytes, int64_t at_us) {
    const struct lake_backup b = {"s", "github.com", "o", "r", kind, at_us};
    AUTO_BUF struct buf to = BUF_INIT;
    struct fail why = FAIL_INIT;
    lake_backup_copy(&to, &b);
    assert_int_equal(lake_stage(l, "id=bundle.part", span_of(bytes), &why), TL_OK);
    assert_int_equal(lake_publish(l, "id=bundle.part", to.data, &why), TL_OK);
}

static void put(struct lake *l, const char *bytes, int64_t at_us) {
    put_kind(l, "bundle", bytes, at_us);
}

static void newest_is(struct lake *l, const char *bytes) {
    const struct lake_backup b = {"s", "github.com", "o", "r", "bundle", 0};
    AUTO_BUF struct buf path = BUF_INIT, text = BUF_INIT;
    struct fail why = FAIL_INIT;
    lake_backup_newest(&path, &b);
    int rc = lake_read(l, path.data, &text, &why);
    if (!bytes) {
        assert_int_not_equal(rc, TL_OK);
        return;
    }
    assert_int_equal(rc, TL_OK);
    assert_string_equal(text.data, bytes);
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *f) {
    (void)s, (void)type, (void)f;
    return remove(path);
}

static void test_publishing(void **state) {
    enum { DAY = 86400 };
    char folder[] = "/tmp/trotline-backup-XXXXXX";
    AUTO_BUF struct buf path = BUF_INIT, text = BUF_INIT;
    struct lake *l;
    struct fail why = FAIL_INIT;
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(lake_open(folder, true, &l, &why), TL_OK);
    put(l, "second", time_seconds_us(2 * DAY));
    newest_is(l, "second");
    put(l, "first", time_seconds_us(DAY)); /* one that comes late, as after an interruption */
    newest_is(l, "second");
    put(l, "third", time_seconds_us(3 * DAY));
    newest_is(l, "third");
    put(l, "third", time_seconds_us(3 * DAY)); /* again, as recovery may: the same file, no other */
    newest_is(l, "third");
    put(l, "", time_seconds_us(4 * DAY));
    newest_is(l, NULL);
    put(l, "fifth", time_seconds_us(5 * DAY));
    newest_is(l, "fifth");
    const struct lake_backup old = {"s", "github.com", "o", "r", "bundle", time_seconds_us(DAY)};
    lake_backup_copy(&path, &old);
    assert_int_equal(lake_read(l, path.data, &text, &why), TL_OK);
    assert_string_equal(text.data, "first");
    lake_close(l);
    assert_int_equal(nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* Heads as git writes them: capabilities, what it builds on, refs. */
#define OID "0123456789012345678901234567890123456789"
static const char full[] = "# v2 git bundle\n" OID " refs/heads/main\n\nPACK",
                  part[] = "# v2 git bundle\n-" OID " c\n" OID " refs/heads/main\n\nPACK",
                  full_256[] = "# v3 git bundle\n@object-format=sha256\n" OID OID " refs/heads/main\n\nPACK",
                  part_256[] = "# v3 git bundle\n@object-format=sha256\n-" OID OID " c\n\nPACK";

static void test_whole_bundles(void **state) {
    static const struct {
        const char *bytes;
        bool whole;
    } cases[] = {{full, true},      {part, false},           {full_256, true},
                 {part_256, false}, {"no bundle\n-x", true}, {"# v2 git bundle\n-", false},
                 {"", true}};
    enum { DAY = 86400 };
    char folder[] = "/tmp/trotline-backup-XXXXXX";
    struct lake *l;
    struct fail why = FAIL_INIT;
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(lake_open(folder, true, &l, &why), TL_OK);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char name[] = "a";
        name[0] = (char)('a' + i);
        assert_int_equal(lake_write(l->fd, name, span_of(cases[i].bytes), &why), TL_OK);
        assert_int_equal(lake_backup_is_full(l->fd, name), cases[i].whole);
    }
    assert_false(lake_backup_is_full(l->fd, "none"));
    put(l, full, time_seconds_us(DAY));
    put(l, part, time_seconds_us(2 * DAY));
    newest_is(l, full);
    put(l, part_256, time_seconds_us(3 * DAY));
    newest_is(l, full);
    put(l, full_256, time_seconds_us(4 * DAY));
    newest_is(l, full_256);
    put(l, part, time_seconds_us(5 * DAY));
    newest_is(l, full_256);
    lake_close(l);
    assert_int_equal(nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static bool is_there(struct lake *l, const char *kind, int day) {
    enum { DAY = 86400 };
    const struct lake_backup b = {"s", "github.com", "o", "r", kind, time_seconds_us(day * (int64_t)DAY)};
    AUTO_BUF struct buf path = BUF_INIT;
    lake_backup_copy(&path, &b);
    return faccessat(l->fd, path.data, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void mark(struct lake *l, int day) {
    enum { DAY = 86400 };
    put_kind(l, "dropped", "", time_seconds_us(day * (int64_t)DAY));
}

static bool fits(struct lake *l, const char *manifest, int day) {
    enum { DAY = 86400 };
    const struct lake_backup b = {"s", "github.com", "o", "r", "refs", time_seconds_us(day * (int64_t)DAY)};
    AUTO_BUF struct buf path = BUF_INIT;
    struct fail why = FAIL_INIT;
    lake_backup_copy(&path, &b);
    assert_int_equal(lake_stage(l, "id=refs.part", span_of(manifest), &why), TL_OK);
    bool answer = lake_backup_fits(l, "id=refs.part", path.data);
    lake_unstage(l, "id=refs.part");
    assert_int_not_equal(faccessat(l->own, "id=refs.part", F_OK, 0), 0);
    return answer;
}

/* 1970-01-02 is a whole copy, on which that of the 3rd builds, and on that the one of the 4th; the 5th is whole. */
static void test_removing(void **state) {
    enum { DAY = 86400 };
    char folder[] = "/tmp/trotline-backup-XXXXXX";
    struct lake *l, *dead;
    struct fail why = FAIL_INIT;
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(lake_open(folder, true, &l, &why), TL_OK);
    for (int day = 1; day <= 3; day++) {
        char refs[80];
        snprintf(refs, sizeof refs, "# refs\n%s%.*s%s", day > 1 ? "# base 1970-01-0" : "", day > 1,
                 day == 2 ? "2" : "3", day > 1 ? "T00-00-00Z 1\n" : "");
        put(l, day > 1 ? part : full, time_seconds_us(day * DAY));
        put_kind(l, "refs", refs, time_seconds_us(day * DAY));
        put_kind(l, "zip", "z", time_seconds_us(day * DAY));
    }
    assert_int_equal(lake_backup_hold(l, &why), TL_OK);
    mark(l, 1);
    mark(l, 2);
    lake_backup_release(l);
    assert_true(is_there(l, "bundle", 1) && is_there(l, "refs", 2) &&
                is_there(l, "zip", 2)); /* the 4th builds on both */
    assert_true(fits(l, "# refs\n# base 1970-01-03T00-00-00Z 1\n", 4));
    assert_false(fits(l, "# refs\n", 3)); /* there is one of that second */
    put(l, full_256, time_seconds_us(4 * DAY));
    put_kind(l, "refs", "# refs\n", time_seconds_us(4 * DAY));
    put_kind(l, "zip", "z", time_seconds_us(4 * DAY));
    mark(l, 3); /* by nobody who holds them: kept for later */
    lake_backup_release(l);
    assert_true(is_there(l, "bundle", 3));
    assert_int_equal(lake_open(folder, true, &dead, &why), TL_OK);
    assert_int_equal(lake_stage(dead, "id=x.part", span_of("x"), &why), TL_OK);
    AUTO_FREE char *left = mem_text(lake_staging(dead));
    lake_close(dead);
    for (int recovered = 0; recovered < 2; recovered++) {
        assert_int_equal(lake_backup_hold(l, &why), TL_OK);
        mark(l, 3);
        mark(l, 4); /* the newest, to which its names lead */
        lake_backup_release(l);
        for (int day = 1; day <= 3; day++) /* while the dead may have left what builds on them, nothing goes */
            assert_int_equal(is_there(l, "bundle", day) + is_there(l, "refs", day) + is_there(l, "zip", day),
                             recovered ? 0 : 3);
        assert_true(is_there(l, "bundle", 4) && is_there(l, "refs", 4));
        if (!recovered)
            assert_int_equal(nftw(left, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
    }
    assert_false(fits(l, "# refs\n# base 1970-01-03T00-00-00Z 1\n", 6));
    newest_is(l, full_256);
    lake_close(l);
    assert_int_equal(nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* 2026-11-30 is a Monday, of the ISO week 49. */
static void test_keeping(void **state) {
    static const struct {
        struct lake_keep keep;
        const char *base;
        const char *gone; /* days, the newest first */
    } cases[] = {{{0, 0, 0}, "", ""},
                 {{1, 0, 0}, "", "11-29 11-23 11-22 11-01 10-31 10-01 "},
                 {{3, 0, 0}, "", "11-22 11-01 10-31 10-01 "},
                 {{0, 2, 0}, "", "11-23 11-22 11-01 10-31 10-01 "},
                 {{0, 3, 0}, "", "11-23 11-01 10-31 "},
                 {{0, 4, 0}, "", "11-23 10-31 "}, /* 11-01 is a Sunday, of the week of 10-31 */
                 {{0, 0, 2}, "", "11-29 11-23 11-22 11-01 10-01 "},
                 {{2, 1, 9}, "", "11-23 11-22 11-01 10-01 "},
                 {{1, 0, 0},
                  "# base 2026-11-22T02-00-00Z 1\n",
                  "11-23 11-01 10-31 "}, /* and that on 10-01; 11-29 is the newest whole one */
                 {{1, 0, 0}, "# base nonsense\n", ""}};
    static const char *const day[] = {"10-01", "10-31", "11-01", "11-22", "11-23", "11-29"};
    char folder[] = "/tmp/trotline-keep-XXXXXX", out[10][LAKE_BACKUP_DATE], file[120];
    (void)state;
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < COUNT_OF(day); i++)
        for (int refs = 0; refs < 2; refs++) {
            snprintf(file, sizeof file, "%s/2026-%sT02-00-00Z.%s", folder, day[i], refs ? "refs" : "bundle");
            FILE *f = fopen(file, "w");
            assert_non_null(f);
            fprintf(f, "# refs\n%s", i == 3 ? "# base 2026-10-01T02-00-00Z 1\n" : "");
            fclose(f);
        }
    AUTO_CLOSE int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_BUF struct buf manifest = BUF_INIT, gone = BUF_INIT;
        buf_printf(&manifest, "# refs\n%s", cases[i].base);
        size_t n = lake_backup_spare(fd, &cases[i].keep, 1796004000000000, buf_span(&manifest), out, 10);
        for (size_t k = 0; k < n; k++)
            buf_printf(&gone, "%.5s ", out[k] + 5);
        assert_string_equal(gone.data ? gone.data : "", cases[i].gone);
    }
    assert_int_equal(nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_keeping),      cmocka_unit_test(test_paths),
                                       cmocka_unit_test(test_newest_names), cmocka_unit_test(test_what_is_no_copy),
                                       cmocka_unit_test(test_publishing),   cmocka_unit_test(test_whole_bundles),
                                       cmocka_unit_test(test_removing)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("lake_backup", tests, NULL, NULL);
}
