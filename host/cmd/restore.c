/* restore.c - trotline restore: a repository again, from its backups. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/times.h"
#include "cmd/commands.h"
#include "cmd/print.h"
#include "engine/restore.h"
#include "lake/lake_backup.h"

/* A time, also as names of copies have it, or a day, which means its end. */
static int read_time(const char *text, int64_t *us) {
    char whole[40];
    if (time_parse(span_of(text), us) == TL_OK)
        return TL_OK;
    if (strlen(text) == LAKE_BACKUP_DATE - 1)
        return lake_backup_time(span_of(text), us);
    if (strlen(text) != 10)
        return TL_INVALID;
    snprintf(whole, sizeof whole, "%sT23:59:59.999999Z", text);
    return time_parse(span_of(whole), us);
}

static int restore_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {{"at", required_argument, NULL, 'a'}, {0}};
    struct cmd_open open = {0};
    struct restore r = {.at_us = INT64_MAX};
    struct restored done = {0};
    struct fail why = FAIL_INIT;
    char files[64] = "";
    for (int k; (k = cmd_option(argc, argv, "", longs)) != 0;) {
        if (k < 0)
            return k == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        if (read_time(optarg, &r.at_us))
            return cmd_usage("restore", "--at takes a time such as 2026-11-30T02:00:00Z, or a day, not '%.40s'",
                             optarg);
    }
    if (argc - optind != 2 || !*argv[optind + 1])
        return cmd_usage("restore", "it takes a repository, [SERVER/]OWNER/REPOSITORY, and a folder to make");
    r.name = argv[optind];
    r.dir = argv[optind + 1];
    int code = cmd_open(&open, g, 0, NULL, 0);
    if (!code && access(open.config.lake, F_OK) && errno == ENOENT) { /* the wrong folder is no damage */
        fail_exit(&why, TL_NOTFOUND, EXIT_USAGE, "there is no lake %.300s: name the configuration with --config",
                  open.config.lake);
        code = cmd_fail(&why, EXIT_USAGE);
    }
    if (!code)
        code = cmd_open(&open, g, CMD_LAKE_READ, NULL, 0);
    if (!code && restore_repository(open.lake, &r, &done, &why))
        code = cmd_fail(&why, EXIT_INTERNAL);
    if (!code && done.lacking)
        log_warn("of %lld large files (Git LFS) the backup has %lld; of the others it has their pointers alone",
                 (long long)(done.files + done.lacking), (long long)done.files);
    if (!code && done.files)
        snprintf(files, sizeof files, ", %lld large file%s", (long long)done.files, print_s(done.files));
    if (!code)
        log_ending(EXIT_DONE, "%s as of %s is in %s: %lld ref%s from %lld bundle%s%s; work on it with: git clone %s",
                   r.name, done.date, r.dir, (long long)done.refs, print_s(done.refs), (long long)done.bundles,
                   print_s(done.bundles), files, r.dir);
    cmd_close(&open);
    return code;
}

const struct command cmd_restore = {
    "restore", "make a repository again from its backups", restore_main, "[--at TIME] [SERVER/]OWNER/REPOSITORY FOLDER",
    "Makes a bare git repository in FOLDER from what the gitbackup collector has kept: all refs, HEAD, and every\n"
    "object that they lead to, checked; large files of Git LFS that were kept, where git-lfs finds them. FOLDER must "
    "not be there, or be empty. SERVER is github.com when left out.\n"
    "Nothing is asked of any network. `git clone FOLDER` makes a working copy of it.\n"
    "\n"
    "      --at TIME          as it was then: the newest copy that is no later (default: the newest)\n"
    "\n"
    "Examples:\n"
    "  trotline restore octocat/Hello-World hello.git\n"
    "  trotline restore --at 2026-11-30 github.com/octocat/Hello-World then.git\n"};
