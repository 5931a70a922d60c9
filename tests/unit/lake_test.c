/* lake_test.c - paths, staging, publishing without replacing, recovery beside the living, and a disk that says no. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "lake/lake_inside.h"
/* After trotline.h: cmocka's macro fail() would take the name of a member there. */
#include <cmocka.h>

static char top[256]; /* of the test that runs */

static int make_top(void **state) {
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(top, sizeof top, "%s/lake_test.XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(top) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *f) {
    (void)s, (void)type, (void)f;
    return remove(path);
}

static int remove_top(void **state) {
    (void)state;
    return nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct lake *open_lake(bool write) {
    struct lake *l;
    struct fail why = FAIL_INIT;
    if (lake_open(top, write, &l, &why))
        fail_msg("%s", why.text);
    return l;
}

static void write_staged(struct lake *l, const char *name, const char *text) {
    struct fail why = FAIL_INIT;
    if (lake_write(l->own, name, span_of(text), &why))
        fail_msg("%s", why.text);
}

static bool exists(struct lake *l, const char *path) {
    struct stat s;
    return fstatat(l->fd, path, &s, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool staged(struct lake *l, const char *name) {
    struct stat s;
    return fstatat(l->own, name, &s, AT_SYMLINK_NOFOLLOW) == 0;
}

static void assert_file(struct lake *l, const char *path, const char *text) {
    AUTO_BUF struct buf got = BUF_INIT;
    struct fail why = FAIL_INIT;
    if (lake_read(l, path, &got, &why))
        fail_msg("%s", why.text);
    assert_string_equal(got.data, text);
}

/* Runs a part of a test in a process of its own; returns its exit status, or 200 and more when it did not exit. */
static int in_child(int (*run)(void)) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child)
        _exit(run());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 200 + WTERMSIG(status);
}

/* ---- paths ---- */

static void assert_value(const char *ptr, size_t len, const char *want) {
    AUTO_BUF struct buf out = BUF_INIT;
    lake_value(&out, (struct tl_span){ptr, len});
    assert_string_equal(out.data, want);
    assert_int_equal(out.len, strlen(want));
}
#define ASSERT_VALUE(literal, want) assert_value("" literal, sizeof(literal) - 1, want)

static void test_values(void **state) {
    (void)state;
    ASSERT_VALUE("w\xC3\xA4ter/7", "w%C3%A4ter%2F7");
    ASSERT_VALUE("Acme & Co", "Acme%20%26%20Co");
    ASSERT_VALUE("plain-Value_1.0", "plain-Value_1.0");
    ASSERT_VALUE("a=b", "a%3Db");
    ASSERT_VALUE("100%", "100%25");
    ASSERT_VALUE("~+", "%7E%2B");
    ASSERT_VALUE(".", "%2E");
    ASSERT_VALUE("..", "%2E%2E");
    ASSERT_VALUE("...", "...");
    ASSERT_VALUE("../../etc/passwd", "..%2F..%2Fetc%2Fpasswd");
    ASSERT_VALUE("a\0b\n\xFF", "a%00b%0A%FF");
    ASSERT_VALUE("", "__HIVE_DEFAULT_PARTITION__");
    assert_value(NULL, 0, "__HIVE_DEFAULT_PARTITION__");
    ASSERT_VALUE("__HIVE_DEFAULT_PARTITION__", "%5F_HIVE_DEFAULT_PARTITION__");
}

static bool well_formed(const char *value) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    for (; *value; value++) {
        if (*value == '%') {
            if (!value[1] || !strchr("0123456789ABCDEF", value[1]) || !value[2] ||
                !strchr("0123456789ABCDEF", value[2]))
                return false;
            value += 2;
        } else if (!strchr(plain, *value))
            return false;
    }
    return true;
}

static void test_long_values(void **state) {
    (void)state;
    AUTO_BUF struct buf out = BUF_INIT;
    AUTO_BUF struct buf in = BUF_INIT;
    for (int i = 0; i < 150; i++)
        buf_text(&in, "\xC3\xBC");
    lake_value(&out, buf_span(&in));
    assert_true(well_formed(out.data));
    /* 30 whole characters of 6 bytes, not 30 and a half; sha256sum of the 300 bytes begins with these digits. */
    assert_int_equal(out.len, 30 * 6 + 17);
    for (size_t i = 0; i < 30; i++)
        assert_memory_equal(out.data + 6 * i, "%C3%BC", 6);
    assert_string_equal(out.data + 180, "-34e3accc5f5945a1");

    buf_reset(&in);
    for (int i = 0; i < 300; i++)
        buf_char(&in, 'a');
    buf_reset(&out);
    lake_value(&out, buf_span(&in));
    assert_int_equal(out.len, LAKE_VALUE_MAX);
    assert_string_equal(out.data + 183, "-9835fa6bf4e20a9b");
    in.data[299] = 'b'; /* a value that differs only behind the cut has another name */
    AUTO_BUF struct buf other = BUF_INIT;
    lake_value(&other, buf_span(&in));
    assert_memory_equal(out.data, other.data, 184);
    assert_string_not_equal(out.data, other.data);

    in.len = 200; /* the longest that is not cut */
    in.data[200] = '\0';
    buf_reset(&out);
    lake_value(&out, buf_span(&in));
    assert_string_equal(out.data, in.data);

    memset(in.data, 0x80, 150); /* no UTF-8 at all */
    in.len = 150;
    buf_reset(&out);
    lake_value(&out, buf_span(&in));
    assert_true(well_formed(out.data));
    assert_int_equal(out.len, 61 * 3 + 17);
}

static struct lake_place place(void) {
    struct lake_place p = {.root_started_us = 1767323045000006, /* 2026-01-02T03:04:05.000006Z */
                           .version = "1.2",
                           .org = "Acme & Co",
                           .project = "",
                           .context = "kayaking",
                           .result = "repos"};
    assert_int_equal(uuid_parse(span_of("0198a000-0000-7000-8000-000000000001"), &p.root_id), TL_OK);
    return p;
}

static void test_folders(void **state) {
    (void)state;
    struct lake_place p = place();
    AUTO_BUF struct buf out = BUF_INIT;
    lake_folder(&out, &p, false);
    assert_string_equal(out.data,
                        "documents/year=2026/month=01/day=02/hour=03/clct_uuid=0198a000-0000-7000-8000-000000000001/"
                        "clct_version=1.2/org=Acme%20%26%20Co/project=__HIVE_DEFAULT_PARTITION__/"
                        "result_context_name=kayaking/result_name=repos");
    static const char *const order[] = {"result_name", "org", "project", "result_context_name", "clct_version", NULL};
    p.order = order;
    p.org = NULL;
    buf_reset(&out);
    lake_folder(&out, &p, true);
    assert_string_equal(out.data,
                        "attachments/year=2026/month=01/day=02/hour=03/clct_uuid=0198a000-0000-7000-8000-000000000001/"
                        "result_name=repos/org=__HIVE_DEFAULT_PARTITION__/project=__HIVE_DEFAULT_PARTITION__/"
                        "result_context_name=kayaking/clct_version=1.2");
    buf_reset(&out);
    lake_crawl_file(&out, p.root_started_us, &p.root_id, "jsonl");
    assert_string_equal(out.data, "crawls/year=2026/month=01/day=02/0198a000-0000-7000-8000-000000000001.jsonl");
}

static void test_order(void **state) {
    (void)state;
    static const char *const good[] = {"org", "project", "clct_version", "result_name", "result_context_name", NULL};
    static const char *const twice[] = {"org", "project", "org", "clct_version", "result_name", "result_context_name",
                                        NULL};
    static const char *const missing[] = {"org", "project", "result_name", "result_context_name", NULL};
    static const char *const unknown[] = {
        "org", "hour", "project", "clct_version", "result_name", "result_context_name", NULL};
    struct fail why = FAIL_INIT;
    assert_int_equal(lake_order_check(NULL, &why), TL_OK);
    assert_int_equal(lake_order_check(good, &why), TL_OK);
    assert_int_equal(lake_order_check(twice, &why), TL_INVALID);
    assert_non_null(strstr(why.text, "org"));
    assert_int_equal(lake_order_check(missing, &why), TL_INVALID);
    assert_non_null(strstr(why.text, "clct_version"));
    assert_int_equal(lake_order_check(unknown, &why), TL_INVALID);
    assert_non_null(strstr(why.text, "hour"));
    assert_int_equal(why.exit_code, EXIT_CONFIG);
}

static void test_staged_names(void **state) {
    (void)state;
    AUTO_BUF struct buf out = BUF_INIT;
    lake_staged_name(&out, "documents/year=2026/ID.json");
    assert_string_equal(out.data, "ID.part");
    buf_reset(&out);
    lake_staged_name(&out, "attachments/year=2026/ID/page.html");
    assert_string_equal(out.data, "ID=page.html.part");
    buf_reset(&out);
    lake_staged_name(&out, "crawls/year=2026/month=01/day=02/ROOT.json");
    assert_string_equal(out.data, "ROOT.json.part"); /* ROOT.jsonl must not have the same */
}

/* ---- opening and publishing ---- */

static void test_open(void **state) {
    (void)state;
    struct lake *l;
    struct fail why = FAIL_INIT;
    char deep[300];
    snprintf(deep, sizeof deep, "%s/a/b/lake", top);
    assert_int_equal(lake_open(deep, false, &l, &why), TL_NOTFOUND);
    assert_non_null(strstr(why.text, deep));
    assert_int_equal(lake_open(deep, true, &l, &why), TL_OK);
    struct uuid owner;
    assert_int_equal(uuid_parse(span_of(lake_owner(l)), &owner), TL_OK);
    struct stat s;
    assert_int_equal(stat(lake_staging(l), &s), 0);
    assert_true(S_ISDIR(s.st_mode));
    assert_int_equal(lake_staging(l)[0], '/');
    assert_true(lake_owner_alive(l, lake_owner(l)));
    assert_true(lake_free_bytes(l) > 0);
    struct lake *reader;
    assert_int_equal(lake_open(deep, false, &reader, &why), TL_OK);
    assert_null(lake_owner(reader));
    assert_true(lake_owner_alive(reader, lake_owner(l)));
    assert_false(lake_owner_alive(reader, "0198a000-0000-7000-8000-000000000001"));
    assert_false(lake_owner_alive(reader, "../.."));
    lake_close(l);
    snprintf(deep, sizeof deep, "%s/a/b/lake/.staging", top);
    assert_int_equal(rmdir(deep), 0); /* empty: the owner's folder is gone */
    lake_close(reader);
}

static void test_publish(void **state) {
    (void)state;
    struct lake *l = open_lake(true);
    struct fail why = FAIL_INIT;
    write_staged(l, "one.new", "first");
    assert_int_equal(lake_publish(l, "one.new", "documents/a/b/one.json", &why), TL_OK);
    assert_file(l, "documents/a/b/one.json", "first");
    assert_false(staged(l, "one.new"));
    struct stat s;
    assert_int_equal(fstatat(l->fd, "documents/a/b/one.json", &s, 0), 0);
    assert_int_equal(s.st_mode & 07777, 0444);

    write_staged(l, "one.new", "other"); /* of the same length: only the bytes differ */
    assert_int_equal(lake_publish(l, "one.new", "documents/a/b/one.json", &why), TL_FAILED);
    assert_int_equal(why.exit_code, EXIT_DAMAGED);
    assert_file(l, "documents/a/b/one.json", "first");
    assert_true(staged(l, "one.new"));
    assert_int_equal(lake_write(l->own, "one.new", span_of("again"), &why),
                     TL_FAILED); /* never over a file that is there */
    assert_int_equal(unlinkat(l->own, "one.new", 0), 0);

    write_staged(l, "one.new", "first");
    assert_int_equal(lake_publish(l, "one.new", "documents/a/b/one.json", &why), TL_OK);
    assert_false(staged(l, "one.new"));
    assert_int_equal(lake_publish(l, "one.new", "documents/a/b/one.json", &why), TL_OK); /* published before */
    assert_int_equal(lake_publish(l, "none.new", "documents/a/b/none.json", &why), TL_FAILED);

    write_staged(l, "two.new", "second");
    static const char *const bad[] = {"", "/etc/x", "../x", "documents/../../x", "a//b", "a/./b", "a/", ".staging/x"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(lake_publish(l, "two.new", bad[i], &why), TL_INVALID);
    assert_int_equal(lake_publish(l, "../two.new", "documents/two.json", &why), TL_INVALID);
    assert_true(staged(l, "two.new"));
    lake_close(l);
}

/* A kernel or file system that knows no RENAME_NOREPLACE. */
static int publish_by_link(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {COUNT_OF(code), code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 99; /* filters are not allowed here: nothing to say */
    struct lake *l;
    if (lake_open(top, true, &l, NULL) || lake_write(l->own, "a.new", span_of("A"), NULL) ||
        lake_write(l->own, "b.new", span_of("B"), NULL))
        return 1;
    if (lake_publish(l, "a.new", "documents/x/a.json", NULL) || staged(l, "a.new") || !exists(l, "documents/x/a.json"))
        return 2;
    if (!l->no_rename)
        return 3;
    if (lake_publish(l, "b.new", "documents/x/a.json", NULL) != TL_FAILED || !staged(l, "b.new"))
        return 4;
    if (linkat(l->own, "b.new", l->fd, "documents/x/b.json", 0) || /* a crash between link and unlink */
        lake_publish(l, "b.new", "documents/x/b.json", NULL) || staged(l, "b.new"))
        return 5;
    lake_close(l);
    return 0;
}

static void test_publish_by_link(void **state) {
    (void)state;
    int rc = in_child(publish_by_link);
    assert_true(rc == 0 || rc == 99);
}

static void test_sync(void **state) {
    (void)state;
    struct lake *l = open_lake(true);
    struct fail why = FAIL_INIT;
    const char *names[] = {"one.new", "two.new"};
    write_staged(l, names[0], "first");
    write_staged(l, names[1], "second");
    assert_int_equal(lake_sync(l, names, 2, &why), TL_OK);
    assert_true(l->rooted);
    l->slow_left = 2; /* as after a syncfs that took long: file by file, and every name must be there */
    assert_int_equal(lake_sync(l, names, 2, &why), TL_OK);
    assert_int_equal(l->slow_left, 1);
    names[1] = "none.new";
    assert_int_equal(lake_sync(l, names, 2, &why), TL_FAILED);
    assert_int_equal(why.exit_code, EXIT_DISK);
    assert_non_null(strstr(why.text, "none.new"));
    assert_int_equal(lake_stage(l, "closing.json.new", span_of("{}"), &why), TL_OK);
    assert_int_equal(lake_stage(l, "closing.json.new", span_of("{}"), &why), TL_FAILED);
    assert_int_equal(lake_stage(l, "a/b", span_of("{}"), &why), TL_INVALID);
    assert_int_equal(lake_publish(l, "closing.json.new", "crawls/closing.json", &why), TL_OK);
    assert_file(l, "crawls/closing.json", "{}");
    lake_close(l);
}

/* ---- reading ---- */

static void test_read_staged(void **state) {
    (void)state;
    struct lake *l = open_lake(true), *other = open_lake(true), *reader = open_lake(false);
    struct fail why = FAIL_INIT;
    write_staged(l, "ID.part", "waits");
    write_staged(other, "ID2=page.html.part", "waits too");
    write_staged(other, "plain.json", "under its own name");
    assert_file(reader, "documents/year=2026/ID.json", "waits");
    assert_file(reader, "attachments/year=2026/ID2/page.html", "waits too");
    assert_file(reader, "documents/plain.json", "under its own name");
    AUTO_BUF struct buf out = BUF_INIT;
    assert_int_equal(lake_read(reader, "documents/year=2026/none.json", &out, &why), TL_NOTFOUND);
    assert_int_equal(lake_read(reader, "documents/../../x", &out, &why), TL_INVALID);
    assert_int_equal(lake_publish(l, "ID.part", "documents/year=2026/ID.json", &why), TL_OK);
    assert_file(reader, "documents/year=2026/ID.json", "waits");
    assert_int_equal(lake_read(reader, "documents/year=2026", &out, &why), TL_FAILED); /* a folder */
    assert_int_equal(symlinkat("/etc/passwd", l->fd, "documents/link.json"), 0);
    assert_int_not_equal(lake_read(reader, "documents/link.json", &out, &why), TL_OK);
    out.max = 4;
    assert_int_equal(lake_read(reader, "documents/year=2026/ID.json", &out, &why), TL_FAILED);
    lake_close(reader);
    lake_close(other);
    lake_close(l);
}

struct seen {
    struct buf paths;
    int stop_after, answer;
};

static int see(void *ctx, const char *path, int64_t bytes, unsigned mode) {
    struct seen *s = ctx;
    buf_printf(&s->paths, "%s %lld %o\n", path, (long long)bytes, mode);
    return --s->stop_after == 0 ? s->answer : 0;
}

static void test_walk(void **state) {
    (void)state;
    struct lake *l = open_lake(true);
    struct fail why = FAIL_INIT;
    static const char *const paths[] = {"documents/b/2.json", "documents/b.json", "documents/b/1.json",
                                        "documents/b-c/1.json", "crawls/z.json"};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        write_staged(l, "file.new", paths[i]);
        assert_int_equal(lake_publish(l, "file.new", paths[i], &why), TL_OK);
    }
    write_staged(l, "still.new", "staged");
    assert_int_equal(symlinkat("b", l->fd, "documents/a"), 0);
    struct seen s = {.stop_after = -1};
    assert_int_equal(lake_walk(l, "documents", see, &s, &why), TL_OK);
    /* The bytes of whole paths decide: '-' and '.' come before '/'. */
    assert_string_equal(s.paths.data, "documents/b-c/1.json 20 444\ndocuments/b.json 16 444\n"
                                      "documents/b/1.json 18 444\ndocuments/b/2.json 18 444\n");
    buf_reset(&s.paths);
    assert_int_equal(lake_walk(l, "", see, &s, &why), TL_OK);
    assert_null(strstr(s.paths.data, "still"));
    assert_non_null(strstr(s.paths.data, "crawls/z.json"));
    buf_reset(&s.paths);
    s.stop_after = s.answer = 1;
    assert_int_equal(lake_walk(l, "documents", see, &s, &why), TL_OK);
    assert_string_equal(s.paths.data, "documents/b-c/1.json 20 444\n");
    s.stop_after = 1;
    s.answer = TL_CANCEL;
    assert_int_equal(lake_walk(l, "documents", see, &s, &why), TL_CANCEL);
    assert_int_equal(lake_walk(l, "attachments", see, &s, &why), TL_OK); /* not there: no files */
    assert_int_equal(lake_walk(l, "../x", see, &s, &why), TL_INVALID);
    buf_free(&s.paths);
    assert_int_equal(unlinkat(l->own, "still.new", 0), 0);
    lake_close(l);
}

/* ---- recovery ---- */

static int known(void *ctx, const char *name, struct buf *to) {
    const char *fail_at = ctx;
    if (fail_at && strcmp(name, fail_at) == 0)
        return TL_FAILED;
    if (strncmp(name, "known", 5) != 0)
        return TL_NOTFOUND;
    buf_printf(to, "documents/of/%.6s.json", name);
    return TL_OK;
}

/* A neighbour: stages three files, tells its owner id, lives until it is killed. */
static pid_t neighbour(char owner[UUID_TEXT]) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        struct lake *l;
        if (lake_open(top, true, &l, NULL) || lake_write(l->own, "known1.json.new", span_of("1"), NULL) ||
            lake_write(l->own, "known2.json.new", span_of("2"), NULL) ||
            lake_write(l->own, "orphan.json.new", span_of("3"), NULL) ||
            write(ends[1], l->owner, UUID_TEXT) != UUID_TEXT)
            _exit(1);
        for (;;)
            pause();
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], owner, UUID_TEXT), UUID_TEXT);
    close(ends[0]);
    return child;
}

static void end_child(pid_t child) {
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void test_recover(void **state) {
    (void)state;
    char owner[UUID_TEXT], folder[128];
    struct fail why = FAIL_INIT;
    int64_t moved = -1, deleted = -1;
    pid_t child = neighbour(owner);
    snprintf(folder, sizeof folder, ".staging/%s/known1.json.new", owner);
    struct lake *l = open_lake(true);
    write_staged(l, "known9.json.new", "mine");
    assert_int_equal(mkdirat(l->fd, ".staging/empty", 0777), 0);

    assert_true(lake_owner_alive(l, owner));
    assert_int_equal(lake_recover(l, known, NULL, &moved, &deleted, &why), TL_OK);
    assert_int_equal(moved, 0);
    assert_int_equal(deleted, 0);
    assert_true(exists(l, folder)); /* the living are left alone */
    assert_false(exists(l, ".staging/empty"));

    end_child(child);
    assert_false(lake_owner_alive(l, owner));
    /* A catalog that cannot answer is no reason to delete. */
    assert_int_equal(lake_recover(l, known, (void *)"orphan.json.new", &moved, &deleted, &why), TL_FAILED);
    assert_int_equal(moved, 2);
    assert_int_equal(deleted, 0);
    assert_int_equal(lake_recover(l, known, NULL, &moved, &deleted, &why), TL_OK);
    assert_int_equal(moved, 0);
    assert_int_equal(deleted, 1);
    assert_file(l, "documents/of/known1.json", "1");
    assert_file(l, "documents/of/known2.json", "2");
    assert_false(exists(l, "documents/of/orphan.json"));
    snprintf(folder, sizeof folder, ".staging/%s", owner);
    assert_false(exists(l, folder));
    assert_true(staged(l, "known9.json.new")); /* our own is not for recovery */
    assert_int_equal(unlinkat(l->own, "known9.json.new", 0), 0);
    lake_close(l);
}

/* ---- a disk that says no ---- */

static void test_disk_texts(void **state) {
    (void)state;
    struct fail why = FAIL_INIT;
    errno = ENOSPC;
    assert_int_equal(lake_broken(&why, "write the staged file", NULL, "x.new"), TL_FAILED);
    assert_int_equal(why.exit_code, EXIT_DISK);
    assert_string_equal(why.text, "cannot write the staged file x.new: no space left on the disk");
    assert_int_equal(errno, ENOSPC);
}

static int file_too_large(void) {
    struct fail why = FAIL_INIT;
    struct lake *l;
    signal(SIGXFSZ, SIG_IGN);
    if (lake_open(top, true, &l, &why) || setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, 4096}))
        return 1;
    static char bytes[10000];
    if (lake_write(l->own, "big.new", (struct tl_span){bytes, sizeof bytes}, &why) != TL_FAILED ||
        why.exit_code != EXIT_DISK)
        return 2;
    if (staged(l, "big.new")) /* what was written of it is gone */
        return 3;
    lake_close(l);
    return 0;
}

/* A file system of 64 KiB, in a mount name space of our own. */
static int disk_full(void) {
    if ((unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS)) ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("lake_test", top, "tmpfs", 0, "size=64k"))
        return 99; /* not allowed here: nothing to say */
    struct fail why = FAIL_INIT;
    struct lake *l;
    static char bytes[30000];
    struct tl_span all = {bytes, sizeof bytes};
    if (lake_open(top, true, &l, &why) || lake_write(l->own, "one.new", all, &why))
        return 1;
    int rc = lake_write(l->own, "two.new", all, &why);
    rc = rc ? rc : lake_write(l->own, "three.new", all, &why);
    if (rc != TL_FAILED || why.exit_code != EXIT_DISK || !strstr(why.text, "no space left"))
        return 2;
    if (staged(l, "three.new") || !staged(l, "one.new"))
        return 3;
    return 0;
}

static int read_only(void) {
    struct fail why = FAIL_INIT;
    struct lake *l;
    if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
        return 99;
    if (lake_open(top, true, &l, &why) != TL_FAILED || l || why.exit_code != EXIT_DISK || !strstr(why.text, top))
        return 1;
    return 0;
}

static void test_disk(void **state) {
    (void)state;
    assert_int_equal(in_child(file_too_large), 0);
    int rc = in_child(disk_full);
    assert_true(rc == 0 || rc == 99);
    struct lake *l = open_lake(true);
    assert_int_equal(mkdirat(l->fd, "shut", 0755), 0);
    lake_close(l);
    assert_int_equal(chmod(top, 0555), 0);
    char staging[300];
    snprintf(staging, sizeof staging, "%s/.staging", top);
    assert_int_equal(chmod(staging, 0555), 0);
    rc = in_child(read_only);
    assert_true(rc == 0 || rc == 99);
    assert_int_equal(chmod(staging, 0755), 0);
    assert_int_equal(chmod(top, 0755), 0);
}

int main(void) {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_top, remove_top)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_long_values),
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_staged_names),
        IN_FOLDER(test_open),
        IN_FOLDER(test_publish),
        IN_FOLDER(test_publish_by_link),
        IN_FOLDER(test_sync),
        IN_FOLDER(test_read_staged),
        IN_FOLDER(test_walk),
        IN_FOLDER(test_recover),
        cmocka_unit_test(test_disk_texts),
        IN_FOLDER(test_disk),
    };
    umask(022);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("lake", tests, NULL, NULL);
}
