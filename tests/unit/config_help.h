/* config_help.h - for the tests of configuration files: refusals at their place, and a working folder of the test's
 * own. */
#ifndef TROTLINE_TESTS_CONFIG_HELP_H
#define TROTLINE_TESTS_CONFIG_HELP_H
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

#include "base/json.h"
#include "base/mem.h"
#include "engine/config_schema.h"

#include <cmocka.h> /* last: its macro fail() is also a field's name in trotline.h */

#define MINUTE_US ((int64_t)60000000)

static char *folder, *source_folder; /* the working folder of the test; where it was started */

static void begins_and_says(const struct fail *why, const char *begin, const char *says, const char *text) {
    if (strncmp(why->text, begin, strlen(begin)) != 0 || !strstr(why->text, says))
        fail_msg("\"%s\" is no refusal at %s with %s, of: %s", why->text, begin, says, text);
    assert_int_equal(why->exit_code, EXIT_CONFIG);
}

struct refusal {
    const char *text, *place, *says; /* place: LINE:COL */
};

static inline void check_refusals(const struct refusal *bad, size_t n, bool crawls) {
    for (size_t i = 0; i < n; i++) {
        struct fail why = FAIL_INIT;
        struct config c;
        struct crawl w;
        char begin[64];
        snprintf(begin, sizeof begin, "x.yml:%s: ", bad[i].place);
        int rc = crawls ? config_crawl_text("x.yml", span_of(bad[i].text), NULL, 0, &w, &why)
                        : config_text("x.yml", "/srv/t", span_of(bad[i].text), NULL, 0, &c, &why);
        if (rc == TL_OK)
            fail_msg("accepted: %s", bad[i].text);
        begins_and_says(&why, begin, bad[i].says, bad[i].text);
        assert_null(crawls ? w.arena.last : c.arena.last); /* nothing is left to free */
    }
}

static void write_file(const char *path, const char *text, unsigned mode) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at) {
    (void)info;
    (void)kind;
    (void)at;
    return remove(path);
}

static int set_up(void **state) {
    (void)state;
    const char *tmp = getenv("TMPDIR");
    struct buf path = BUF_INIT;
    source_folder = getcwd(NULL, 0);
    buf_printf(&path, "%s/config_test.XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(path.data) || chdir(path.data) != 0)
        return -1;
    buf_free(&path);
    folder = getcwd(NULL, 0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    int rc = chdir(source_folder);
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(folder);
    free(source_folder);
    return rc;
}

#endif
