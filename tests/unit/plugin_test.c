/* plugin_test.c - what is known about plugin files: refusals, descriptions, the cache, which of several is in force.
 *
 * The program starts itself as the describing child. The modules are those of tests/bad, built beside the tests. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/times.h"
#include "cmd/plugins.h"
#include "engine/plugin.h"
#include "engine/plugin_child.h"
#include "engine/plugin_json.h"

#include <cmocka.h> /* last: its macro fail() would meet the host's names */

static char top[PATH_MAX / 2], cache[PATH_MAX], self[PATH_MAX];

/* ---- files */

static char *path_of(const char *folder, const char *name) {
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%s", folder, name);
    return buf_steal(&path);
}

/* A new folder below the test's own, as a plugin folder should be. */
static char *new_folder(const char *name) {
    char *path = path_of(top, name);
    assert_int_equal(mkdir(path, 0755), 0);
    return path;
}

static void write_file(const char *folder, const char *name, const void *bytes, size_t len, mode_t mode) {
    AUTO_FREE char *path = path_of(folder, name);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);
    assert_true(fd >= 0 && write(fd, bytes, len) == (ssize_t)len && fchmod(fd, mode) == 0);
}

static void read_file(const char *path, struct buf *out) {
    AUTO_FCLOSE FILE *f = fopen(path, "r");
    char block[65536];
    if (!f)
        fail_msg("%s: %s", path, strerrorname_np(errno));
    for (size_t n; (n = fread(block, 1, sizeof block, f));)
        buf_add(out, block, n);
}

static void read_module(const char *name, struct buf *out) {
    const char *from = getenv("TROTLINE_BAD_PLUGINS");
    AUTO_BUF struct buf path = BUF_INIT;
    from = from ? from : "tests/bad";
    buf_printf(&path, "%.*s/.libs/%s.so", (int)strcspn(from, ":"), from, name);
    if (access(path.data, R_OK)) {
        buf_reset(&path);
        buf_printf(&path, "%.*s/%s.so", (int)strcspn(from, ":"), from, name);
    }
    read_file(path.data, out);
}

static void put_module(const char *folder, const char *name, const char *as) {
    AUTO_BUF struct buf bytes = BUF_INIT;
    read_module(name, &bytes);
    write_file(folder, as, bytes.data, bytes.len, 0755);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st, (void)type, (void)at;
    return remove(path);
}

static int setup(void **state) {
    (void)state;
    const char *where = getenv("TMPDIR");
    snprintf(top, sizeof top, "%s/plugin-test-XXXXXX", where && *where == '/' ? where : "/tmp");
    umask(022);
    if (!mkdtemp(top))
        return -1;
    AUTO_FREE char *real = realpath(top, NULL);
    snprintf(top, sizeof top, "%s", real);
    chmod(top, 0755);
    snprintf(cache, sizeof cache, "%s/cache", top);
    return mkdir(cache, 0700) || setenv("XDG_CACHE_HOME", cache, 1);
}

static int teardown(void **state) {
    (void)state;
    return nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- asking */

static const char *reason_in(const struct plugin_set *set, const char *name) {
    for (size_t i = 0; i < set->refused_count; i++) {
        const char *base = strrchr(set->refused[i].file, '/');
        if (base && strcmp(base + 1, name) == 0)
            return set->refused[i].reason;
    }
    return "not refused";
}

static void refused_for(const struct plugin_set *set, const char *name, const char *reason) {
    const char *said = reason_in(set, name);
    if (strcmp(said, reason) != 0)
        fail_msg("%s: \"%s\", not \"%s\"", name, said, reason);
}

static void scan(struct plugin_set *set, const char *folder) {
    plugin_scan(set, &folder, 1);
}

/* ---- refusals that need no loading */

static void files_that_are_no_plugins(void **state) {
    (void)state;
    AUTO_FREE char *folder = new_folder("junk");
    AUTO_BUF struct buf good = BUF_INIT;
    struct plugin_set set;
    read_module("noop", &good);
    write_file(folder, "a-text.so", "this is no library\n", 19, 0755);
    write_file(folder, "b-empty.so", "", 0, 0755);
    write_file(folder, "c-short.so", good.data, 40, 0755);
    write_file(folder, "c-half.so", good.data, good.len / 4, 0755);
    write_file(folder, "d-open.so", good.data, good.len, 0777);
    write_file(folder, "e-good.so", good.data, good.len, 0755);
    write_file(folder, "ignored.txt", "x", 1, 0755);
    write_file(folder, ".hidden.so", "x", 1, 0755);
    good.data[18] = good.data[18] == 40 ? 62 : 40; /* e_machine: ARM, or x86-64 on ARM */
    good.data[19] = 0;
    write_file(folder, "f-foreign.so", good.data, good.len, 0755);
    AUTO_FREE char *fifo = path_of(folder, "g-fifo.so"), *sub = path_of(folder, "h-folder.so");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(mkdir(sub, 0755), 0);
    scan(&set, folder);
    refused_for(&set, "a-text.so", "it is not a shared object: it does not begin with an ELF header");
    refused_for(&set, "b-empty.so", "it is empty, not a shared object");
    refused_for(&set, "c-short.so", "it is too short for a shared object: its ELF header is cut off");
    refused_for(&set, "c-half.so", "it is too short for a shared object: its end is missing");
    refused_for(&set, "d-open.so", "it can be written by others (mode 0777): chmod go-w");
    assert_non_null(strstr(reason_in(&set, "f-foreign.so"), "another architecture"));
    refused_for(&set, "g-fifo.so", "it is not a regular file, so not a shared object");
    refused_for(&set, "h-folder.so", "it is not a regular file, so not a shared object");
    assert_int_equal(set.refused_count, 8);
    assert_int_equal(set.count, 2);
    assert_non_null(plugin_find(&set, "noop"));
    assert_null(plugin_find(&set, "nop"));
    plugin_set_free(&set);
}

static void links_stay_in_the_folder(void **state) {
    (void)state;
    AUTO_FREE char *folder = new_folder("links"), *outside = new_folder("outside"), *libs = new_folder("links/sub");
    AUTO_FREE char *target = path_of(outside, "state.so"), *leaving = path_of(folder, "leaving.so");
    AUTO_FREE char *second = path_of(folder, "a-second-name.so"), *inner = path_of(folder, "inner.so");
    AUTO_FREE char *dangling = path_of(folder, "dangling.so");
    struct plugin_set set;
    put_module(outside, "state", "state.so");
    put_module(folder, "noop", "noop.so");
    put_module(libs, "retry", "retry.so");
    assert_int_equal(symlink(target, leaving), 0);
    assert_int_equal(symlink("noop.so", second), 0);
    assert_int_equal(symlink("sub/retry.so", inner), 0);
    assert_int_equal(symlink("nowhere.so", dangling), 0);
    scan(&set, folder);
    assert_non_null(strstr(reason_in(&set, "leaving.so"), "symbolic link that leaves the plugin folder"));
    refused_for(&set, "dangling.so", "it cannot be found: No such file or directory");
    assert_int_equal(set.refused_count, 2);
    assert_int_equal(set.count, 3);
    assert_true(strcmp(strrchr(plugin_find(&set, "noop")->file, '/'), "/noop.so") == 0);
    assert_non_null(plugin_find(&set, "retry"));
    plugin_set_free(&set);
}

static void folders_that_others_can_write(void **state) {
    (void)state;
    AUTO_FREE char *folder = new_folder("open");
    AUTO_BUF struct buf reason = BUF_INIT;
    struct plugin_set set;
    put_module(folder, "noop", "noop.so");
    chmod(folder, 01777);
    buf_printf(&reason, "its folder %s can be written by others (mode 1777): chmod go-w", folder);
    scan(&set, folder);
    refused_for(&set, "noop.so", reason.data);
    plugin_set_free(&set);
    chmod(folder, 0755);
    scan(&set, folder);
    assert_non_null(plugin_find(&set, "noop"));
    plugin_set_free(&set);
}

/* Only root can give files away, so elsewhere this part has nothing to look at. */
static void owners_and_groups(void **state) {
    (void)state;
    AUTO_FREE char *folder = new_folder("owners");
    AUTO_FREE char *file = path_of(folder, "noop.so");
    struct plugin_set set;
    put_module(folder, "noop", "noop.so");
    chmod(file, 0775);
    scan(&set, folder); /* the group is the owner's own */
    assert_non_null(plugin_find(&set, "noop"));
    plugin_set_free(&set);
    if (geteuid() != 0)
        return;
    assert_int_equal(chown(file, 0, 1), 0);
    scan(&set, folder);
    refused_for(&set, "noop.so", "it can be written by others (mode 0775): chmod go-w");
    plugin_set_free(&set);
    chmod(file, 0755);
    assert_int_equal(chown(file, 1, 1), 0);
    scan(&set, folder);
    refused_for(&set, "noop.so", "it belongs to user 1, neither to root nor to you: change its owner");
    plugin_set_free(&set);
}

/* ---- refusals of what was loaded */

static void collectors_that_are_refused(void **state) {
    (void)state;
    char abi[240];
    snprintf(abi, sizeof abi,
             "refuse_abi.so was built for plugin interface 7.3, this trotline has %u.%u: rebuild it with `gcc -std=c17 "
             "-fPIC -shared $(pkg-config --cflags trotline) -o refuse_abi.so refuse_abi.c`",
             TL_ABI_MAJOR, TL_ABI_MINOR);
    const char *const reasons[][2] = {
        {"refuse_abi", abi},
        {"refuse_entry", "it has no entry symbol trotline_collector_v1, so it is no collector"},
        {"refuse_null", "its entry trotline_collector_v1 gave NULL"},
        {"refuse_name", "its name is not [a-z][a-z0-9_-]* of at most 64 letters: \"../Name?\""},
        {"refuse_reserved", "its name, orchestrator, is that of the built-in one"},
        {"refuse_table", "its table of arguments has no end within 256 entries: end it with {0}"},
        {"refuse_field", "its argument second lies outside its struct (offset 8 of 8 bytes)"},
        {"refuse_default",
         "the default of its argument wait: wants a duration with its unit, such as 90s or 500ms, not \"soon\""},
        {"refuse_size", "its description has an impossible size (16 bytes, at least 40): build it with TL_COLLECTOR"},
        {"describe_crash", "it died of signal 11 (SIGSEGV) while describing itself"},
        {"describe_exit", "it ended the process (exit code 0) instead of describing itself"}};
    AUTO_FREE char *folder = new_folder("refused");
    struct plugin_set set;
    for (size_t i = 0; i < COUNT_OF(reasons); i++) {
        AUTO_BUF struct buf name = BUF_INIT;
        buf_printf(&name, "%s.so", reasons[i][0]);
        put_module(folder, reasons[i][0], name.data);
    }
    put_module(folder, "newer", "newer.so");
    scan(&set, folder);
    for (size_t i = 0; i < COUNT_OF(reasons); i++) {
        AUTO_BUF struct buf name = BUF_INIT;
        buf_printf(&name, "%s.so", reasons[i][0]);
        refused_for(&set, name.data, reasons[i][1]);
    }
    assert_int_equal(set.count, 2);
    const struct plugin *p = plugin_find(&set, "newer");
    assert_non_null(p);
    assert_string_equal(p->version, "9.9.9");
    assert_int_equal(p->abi_minor, TL_ABI_MINOR + 5);
    plugin_set_free(&set);
}

static void a_child_that_never_answers_is_killed(void **state) {
    (void)state;
    AUTO_FREE char *folder = new_folder("spin"), *spin = path_of(folder, "describe_spin.so"),
                   *good = path_of(folder, "noop.so");
    struct plugin_child child[] = {{.file = spin}, {.file = good}, {.file = spin}};
    put_module(folder, "describe_spin", "describe_spin.so");
    put_module(folder, "noop", "noop.so");
    plugin_child_run(child, 3, 700);
    assert_string_equal(child[0].why.text, "it took over 1 s to describe itself");
    assert_string_equal(child[2].why.text, "it took over 1 s to describe itself");
    struct plugin p;
    assert_int_equal(child[1].why.status, 0);
    assert_int_equal(plugin_read(buf_span(&child[1].out), &p), TL_OK);
    assert_string_equal(p.name, "noop");
    plugin_free(&p);
    for (int i = 0; i < 3; i++)
        buf_free(&child[i].out);
}

/* ---- descriptions */

static void a_description_is_complete(void **state) {
    (void)state;
    AUTO_FREE char *folder = new_folder("typed");
    AUTO_BUF struct buf bytes = BUF_INIT;
    struct plugin_set set;
    char hex[SHA256_HEX];
    put_module(folder, "typed", "any-name.so");
    scan(&set, folder);
    const struct plugin *p = plugin_find(&set, "typed");
    if (!p)
        fail_msg("%s", reason_in(&set, "any-name.so"));
    read_file(p->file, &bytes);
    struct sha256 sum = hash_sha256(bytes.data, bytes.len);
    assert_string_equal(p->sha256, hash_hex(sum.byte, sizeof sum.byte, hex));
    assert_string_equal(p->version, "1.2.3");
    assert_string_equal(p->summary, "one of everything");
    assert_true(p->can_collect && !p->can_react && !p->can_convert);
    assert_int_equal(p->argument_count, 11);
    assert_int_equal(p->option_count, 11);
    assert_string_equal(p->argument[0].name, "url");
    assert_int_equal(p->argument[0].type, TL_URL);
    assert_int_equal(p->argument[0].flags, TL_REQUIRED);
    assert_null(p->argument[0].dflt);
    assert_string_equal(p->argument[1].help, "any text, \"quoted\", caf\xC3\xA9");
    assert_string_equal(p->argument[2].choices, "a|b-c|d");
    assert_null(p->argument[3].choices);
    assert_string_equal(p->argument[4].dflt, "64KiB");
    assert_int_equal(p->argument[8].flags, TL_LIST);
    assert_string_equal(p->argument[8].dflt, "[page, text, \"a, b\"]");
    assert_int_equal(p->dataset_count, 3);
    assert_string_equal(p->dataset[0].tags, "a,b");
    assert_int_equal(p->dataset[1].kind, TL_PAGED);
    assert_int_equal(p->dataset[2].kind, TL_KEY_VALUE);
    assert_string_equal(p->program[0], "git");
    assert_null(p->program[1]);
    assert_string_equal(p->host[1], "*.example.net:8443");
    /* written and read again, it is the same */
    AUTO_BUF struct buf one = BUF_INIT, two = BUF_INIT;
    struct plugin again;
    plugin_json(&one, p);
    assert_int_equal(plugin_read(buf_span(&one), &again), TL_OK);
    again.file = mem_text(p->file);
    memcpy(again.sha256, p->sha256, sizeof again.sha256);
    plugin_json(&two, &again);
    assert_string_equal(one.data, two.data);
    plugin_free(&again);
    plugin_set_free(&set);
}

static void a_false_description_is_not_believed(void **state) {
    (void)state;
#define HEAD "{\"name\":\"x\",\"version\":\"1\",\"abi_major\":1"
    static const char *const wrong[] = {
        "",
        "{}",
        "[]",
        "{\"name\":\"../x\",\"version\":\"1\",\"abi_major\":1}",
        "{\"name\":\"orchestrator\",\"version\":\"1\",\"abi_major\":1}",
        "{\"name\":\"x\",\"version\":\"1/2\",\"abi_major\":1}",
        "{\"name\":\"x\",\"version\":\"1\",\"abi_major\":2}",
        "{\"name\":\"x\",\"name\":\"y\",\"version\":\"1\",\"abi_major\":1}",
        HEAD ",\"summary\":\"a\\nb\"}",
        HEAD ",\"summary\":\"a\\u0000b\"}",
        HEAD ",\"options\":{}}",
        HEAD ",\"options\":[1]}",
        HEAD ",\"options\":[{\"name\":\"a\",\"type\":\"float\"}]}",
        HEAD ",\"options\":[{\"type\":\"int\"}]}",
        HEAD ",\"options\":[{\"name\":\"a\",\"type\":\"int\"},{\"name\":\"a\",\"type\":\"int\"}]}",
        HEAD ",\"datasets\":[{\"name\":\"a\",\"kind\":\"ROUND\"}]}",
        HEAD ",\"programs\":[\"\"]}",
        HEAD ",\"hosts\":[null]}",
        HEAD "} x"};
    struct plugin p;
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (plugin_read(span_of(wrong[i]), &p) != TL_INVALID)
            fail_msg("believed: %s", wrong[i]);
    assert_int_equal(plugin_read(span_of(HEAD ",\"unknown\":[{}]}"), &p), TL_OK);
    plugin_free(&p);
}

/* ---- which is in force */

static void two_of_one_name(void **state) {
    (void)state;
    AUTO_FREE char *first = new_folder("first"), *later = new_folder("later"), *alias = path_of(top, "alias");
    AUTO_FREE char *missing = path_of(top, "missing");
    struct plugin_set set;
    put_module(first, "noop", "noop.so");
    put_module(first, "state", "state.so");
    put_module(first, "state", "state-copy.so");
    put_module(later, "noop", "noop.so");
    put_module(later, "retry", "retry.so");
    assert_int_equal(symlink(first, alias), 0);
    plugin_scan(&set, (const char *[]){missing, first, alias, later}, 4);
    refused_for(&set, "state.so", "it is a second collector named state in its folder, beside state-copy: remove one");
    refused_for(&set, "state-copy.so", "it is a second collector named state in its folder, beside state: remove one");
    assert_int_equal(set.refused_count, 2);
    assert_int_equal(set.count, 4);
    const struct plugin *noop = plugin_find(&set, "noop");
    assert_non_null(strstr(noop->file, "/first/noop.so"));
    const struct plugin *shadowed = NULL;
    for (size_t i = 0; i < set.count; i++)
        if (set.plugin[i].shadowed_by)
            shadowed = &set.plugin[i];
    assert_non_null(shadowed);
    assert_non_null(strstr(shadowed->file, "/later/noop.so"));
    assert_string_equal(shadowed->shadowed_by, noop->file);
    assert_non_null(plugin_find(&set, "retry"));
    assert_null(plugin_find(&set, "state"));

    struct fail why = FAIL_INIT;
    AUTO_BUF struct buf said = BUF_INIT;
    assert_int_equal(plugin_missing(&set, "state", (const char *[]){first}, 1, &why), TL_NOTFOUND);
    assert_int_equal(why.exit_code, EXIT_PLUGIN);
    buf_printf(
        &said,
        "collector state cannot be used: %s/state.so: it is a second collector named state in its folder, beside "
        "state-copy: remove one",
        first);
    assert_string_equal(why.text, said.data);
    plugin_missing(&set, "retyr", (const char *[]){"/a", "/b"}, 2, &why);
    assert_string_equal(why.text, "there is no collector retyr; did you mean retry? Looked in /a, /b");
    plugin_missing(&set, "zzzzzz", (const char *[]){"/a"}, 1, &why);
    assert_string_equal(why.text, "there is no collector zzzzzz: looked in /a");
    plugin_set_free(&set);
}

static void the_orchestrator_is_built_in(void **state) {
    (void)state;
    struct plugin_set set;
    plugin_scan(&set, NULL, 0);
    assert_int_equal(set.count, 1);
    assert_string_equal(set.plugin[0].name, "orchestrator");
    assert_null(set.plugin[0].file);
    assert_int_equal(set.plugin[0].argument_count, 1);
    assert_int_equal(set.plugin[0].argument[0].type, TL_JSON);
    assert_int_equal(set.plugin[0].dataset[0].kind, TL_SIMPLE);
    assert_ptr_equal(plugin_find(&set, "orchestrator"), &set.plugin[0]);
    plugin_set_free(&set);
}

/* ---- the cache */

static void overwrite(const char *path, const char *with) {
    AUTO_FCLOSE FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(with, f);
}

/* A cached description is used without starting a child: here a forged one shows that it was. */
static void a_description_is_cached_by_its_bytes(void **state) {
    (void)state;
    AUTO_FREE char *folder = new_folder("cached");
    AUTO_BUF struct buf entry = BUF_INIT, text = BUF_INIT;
    struct plugin_set set;
    struct stat st;
    put_module(folder, "retry", "retry.so");
    scan(&set, folder);
    const struct plugin *p = plugin_find(&set, "retry");
    assert_non_null(p);
    buf_printf(&entry, "%s/trotline/plugins/%s.json", cache, p->sha256);
    assert_int_equal(stat(entry.data, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    plugin_set_free(&set);

    read_file(entry.data, &text);
    char *summary = strstr(text.data, "wants to be");
    assert_non_null(summary);
    memcpy(summary, "WANTS", 5);
    overwrite(entry.data, text.data);
    scan(&set, folder);
    assert_non_null(strstr(plugin_find(&set, "retry")->summary, "WANTS to be"));
    plugin_set_free(&set);

    /* what is broken, of another version, or open to others is not believed */
    static const char *const broken[] = {"", "{", "{\"by\":\"0.0.0 9.9\",\"description\":{\"name\":\"lie\"}}"};
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        overwrite(entry.data, broken[i]);
        scan(&set, folder);
        assert_string_equal(plugin_find(&set, "retry")->version, "1.0.0");
        plugin_set_free(&set);
    }
    overwrite(entry.data, text.data);
    chmod(entry.data, 0666);
    scan(&set, folder);
    assert_null(strstr(plugin_find(&set, "retry")->summary, "WANTS"));
    plugin_set_free(&set);
}

static void count_index(const char *folder, size_t *files) {
    AUTO_FREE char *index = path_of(cache, "trotline/plugins/index");
    AUTO_FREE char *file = path_of(folder, "noop.so");
    struct sha256 sum = hash_sha256(file, strlen(file));
    char hex[SHA256_HEX], name[PATH_MAX];
    snprintf(name, sizeof name, "%s/%.32s.json", index, hash_hex(sum.byte, sizeof sum.byte, hex));
    *files = access(name, F_OK) == 0;
}

/* A file that has just been written may change again without a change of its times: it is read each time until it has
 * settled. */
static void the_index_waits_for_a_file_to_settle(void **state) {
    (void)state;
    AUTO_FREE char *folder = new_folder("settle");
    struct plugin_set set;
    size_t files;
    put_module(folder, "noop", "noop.so");
    scan(&set, folder);
    plugin_set_free(&set);
    count_index(folder, &files);
    assert_int_equal(files, 0);
    nanosleep(&(struct timespec){2, 100000000}, NULL);
    scan(&set, folder);
    plugin_set_free(&set);
    count_index(folder, &files);
    assert_int_equal(files, 1);
    /* another file of the same name is another file */
    put_module(folder, "state", "noop.so");
    scan(&set, folder);
    assert_null(plugin_find(&set, "noop"));
    assert_non_null(plugin_find(&set, "state"));
    plugin_set_free(&set);
}

static void it_works_without_a_cache(void **state) {
    (void)state;
    AUTO_FREE char *folder = new_folder("cacheless");
    struct plugin_set set;
    put_module(folder, "noop", "noop.so");
    setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
    scan(&set, folder);
    assert_non_null(plugin_find(&set, "noop"));
    plugin_set_free(&set);
    setenv("XDG_CACHE_HOME", cache, 1);
}

/* ---- printing */

static char *printed(const struct plugin_set *set, const char *format, const char *name, int code) {
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    assert_int_equal(plugins_print(set, format, name, out), code);
    fclose(out);
    return text;
}

static void printed_for_people_and_programs(void **state) {
    (void)state;
    AUTO_FREE char *folder = new_folder("printed");
    AUTO_BUF struct buf wanted = BUF_INIT;
    struct plugin_set set;
    struct tl_json root, v;
    put_module(folder, "typed", "typed.so");
    write_file(folder, "junk\n,\".so", "x", 1, 0755);
    scan(&set, folder);

    AUTO_FREE char *table = printed(&set, "table", NULL, EXIT_DONE);
    buf_printf(&wanted, "typed         1.2.3    collect  %s/typed.so", folder);
    assert_non_null(strstr(table, wanted.data));
    buf_reset(&wanted);
    buf_printf(&wanted, "\nrefused: %s/junk?,\".so: it is not a shared object: it does not begin with an ELF header\n",
               folder);
    assert_non_null(strstr(table, wanted.data));

    AUTO_FREE char *json = printed(&set, "json", NULL, EXIT_DONE);
    assert_int_equal(json_find(span_of(json), "/1/name", &v), TL_OK);
    assert_true(span_eq(v.raw, "\"typed\""));
    assert_int_equal(json_find(span_of(json), "/2/refused", &v), TL_OK);
    AUTO_FREE char *lines = printed(&set, "jsonl", NULL, EXIT_DONE);
    int n = 0;
    for (char *at = lines, *end; (end = strchr(at, '\n')); at = end + 1, n++)
        assert_int_equal(json_parse((struct tl_span){at, (size_t)(end - at)}, &root), TL_OK);
    assert_int_equal(n, 3);
    AUTO_FREE char *csv = printed(&set, "csv", NULL, EXIT_DONE);
    buf_reset(&wanted);
    buf_printf(&wanted, "\r\n,,refused,,\"%s/junk\n,\"\".so\",,,it is not a shared object", folder);
    assert_non_null(strstr(csv, wanted.data));

    AUTO_FREE char *show = printed(&set, "table", "typed", EXIT_DONE);
    assert_non_null(strstr(show, "\nhosts      api.example.org, *.example.net:8443\n"));
    assert_non_null(strstr(show, "\nchoice    text       a                     one of three (one of a, b-c, d)\n"));
    assert_non_null(strstr(show, "\nurl       url        (required)            where to start\n"));
    assert_non_null(strstr(show, "\nmany      paged\n"));
    AUTO_FREE char *one = printed(&set, "json", "typed", EXIT_DONE);
    assert_int_equal(json_find(span_of(one), "/datasets/1/kind", &v), TL_OK);
    free(printed(&set, "table", "nosuch", EXIT_PLUGIN));
    free(printed(&set, "xml", NULL, EXIT_USAGE));
    plugin_set_free(&set);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_that_are_no_plugins),
                                       cmocka_unit_test(links_stay_in_the_folder),
                                       cmocka_unit_test(folders_that_others_can_write),
                                       cmocka_unit_test(owners_and_groups),
                                       cmocka_unit_test(collectors_that_are_refused),
                                       cmocka_unit_test(a_child_that_never_answers_is_killed),
                                       cmocka_unit_test(a_description_is_complete),
                                       cmocka_unit_test(a_false_description_is_not_believed),
                                       cmocka_unit_test(two_of_one_name),
                                       cmocka_unit_test(the_orchestrator_is_built_in),
                                       cmocka_unit_test(a_description_is_cached_by_its_bytes),
                                       cmocka_unit_test(the_index_waits_for_a_file_to_settle),
                                       cmocka_unit_test(it_works_without_a_cache),
                                       cmocka_unit_test(printed_for_people_and_programs)};
    if (argc == 3 && strcmp(argv[1], "--describe") == 0)
        return plugin_describe_main(argv[2]);
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    plugin_self(n > 0 ? self : NULL);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
