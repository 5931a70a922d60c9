/* new.c - trotline new collector NAME: a folder that builds and passes the contract test at once. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/commands.h"

#ifndef TROTLINE_DATADIR
#define TROTLINE_DATADIR "/usr/local/share/trotline"
#endif

static const char *const files[] = {
    "NAME.c", "Makefile", "payload.json", "README.md", "fixtures/page-1.http", "fixtures/page-2.http"};

static int read_all(const char *path, struct buf *out) {
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    char block[8192];
    ssize_t n = -1;
    while (fd >= 0 && (n = read(fd, block, sizeof block)) > 0)
        buf_add(out, block, (size_t)n);
    return n < 0 ? TL_FAILED : TL_OK;
}

/* NAME as a word of its own, or before a dot, becomes the collector's. */
static void fill_in(struct buf *out, const struct buf *text, const char *name) {
    for (size_t i = 0; i < text->len; i++)
        if (text->len - i >= 4 && memcmp(text->data + i, "NAME", 4) == 0 && !(i > 0 && text->data[i - 1] == '(') &&
            !(text->len - i > 6 && memcmp(text->data + i, "NAME = ", 7) == 0)) {
            buf_text(out, name);
            i += 3;
        } else {
            buf_char(out, text->data[i]);
        }
}

static int write_one(const char *skeleton, const char *folder, const char *file, const char *name, struct fail *why) {
    AUTO_BUF struct buf from = BUF_INIT, to = BUF_INIT, text = BUF_INIT, filled = BUF_INIT, target = BUF_INIT;
    buf_printf(&from, "%s/%s", skeleton, file);
    if (strcmp(file, "NAME.c") == 0)
        buf_printf(&target, "%s.c", name);
    else
        buf_text(&target, file);
    buf_printf(&to, "%s/%s", folder, target.data);
    if (read_all(from.data, &text))
        return fail_exit(why, TL_FAILED, EXIT_USAGE,
                         "the SDK's skeleton %s cannot be read: %s; install trotline (make install), or name its "
                         "source: --skeleton SOURCE/sdk/skeleton",
                         from.data, strerrordesc_np(errno));
    fill_in(&filled, &text, name);
    AUTO_CLOSE int fd = open(to.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, filled.data, filled.len) != (ssize_t)filled.len)
        return fail_errno(why, TL_FAILED, "cannot write %s", to.data);
    return TL_OK;
}

static bool name_is_sound(const char *name) {
    size_t n = strlen(name);
    return n > 0 && n < 64 && name[0] >= 'a' && name[0] <= 'z' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == n && strcmp(name, "orchestrator") != 0;
}

static int new_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {{"skeleton", required_argument, NULL, 's'}, {0}};
    const char *skeleton = TROTLINE_DATADIR "/skeleton";
    struct fail why = FAIL_INIT;
    AUTO_BUF struct buf sub = BUF_INIT;
    int opt;
    (void)g;
    while ((opt = cmd_option(argc, argv, "h", longs)) != 0) {
        if (opt == CMD_HELP)
            return EXIT_DONE;
        if (opt != 's')
            return EXIT_USAGE;
        skeleton = optarg;
    }
    if (argc - optind != 2 || strcmp(argv[optind], "collector") != 0)
        return cmd_usage("new", "say: trotline new collector NAME");
    const char *name = argv[optind + 1];
    if (!name_is_sound(name))
        return cmd_usage("new", "'%s' is no name: a small letter, then small letters, digits and _, 63 at most", name);
    buf_printf(&sub, "%s/fixtures", name);
    if (mkdir(name, 0755) || mkdir(sub.data, 0755)) {
        if (errno == EEXIST)
            fail_set(&why, TL_FAILED, "cannot make the folder %s: it is there already; take another name, or remove it",
                     name);
        else
            fail_errno(&why, TL_FAILED, "cannot make the folder %s", name);
        return cmd_fail(&why, EXIT_USAGE);
    }
    for (size_t i = 0; i < COUNT_OF(files); i++)
        if (write_one(skeleton, name, files[i], name, &why)) {
            rmdir(sub.data); /* what is empty still */
            rmdir(name);
            return cmd_fail(&why, EXIT_DISK);
        }
    printf("%s\n", name);
    log_ending(EXIT_DONE, "a collector in %s/: cd %s && make && trotline check ./%s.so", name, name, name);
    return EXIT_DONE;
}

const struct command cmd_new = {
    "new", "start a collector of your own", new_main, "collector NAME",
    "Makes the folder NAME with a collector that builds against the SDK and passes `trotline check` at once:\n"
    "NAME.c (a paging loop, a reaction, declared arguments), Makefile, recorded answers, a payload, README.\n"
    "\n"
    "      --skeleton FOLDER  take the files from there instead of the SDK's own\n"
    "\n"
    "Examples:\n"
    "  trotline new collector releases\n"};
