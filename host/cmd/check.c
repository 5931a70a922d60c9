/* check.c - trotline check FILE.so: does this collector keep the contract? */
#include "engine/check.h"

#include <libgen.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/commands.h"

static int check_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {{"folder", required_argument, NULL, 'f'}, {0}};
    const char *folder = NULL;
    int opt;
    (void)g;
    while ((opt = cmd_option(argc, argv, "h", longs)) != 0) {
        if (opt == CMD_HELP)
            return EXIT_DONE;
        if (opt != 'f')
            return EXIT_USAGE;
        folder = optarg;
    }
    if (argc - optind != 1)
        return cmd_usage("check", "which .so?");
    AUTO_FREE char *path = realpath(argv[optind], NULL), *copy = mem_text(path ? path : argv[optind]);
    int code = check_collector(path ? path : argv[optind], folder ? folder : dirname(copy), stdout);
    log_ending(code, "%s %s", argv[optind],
               code == EXIT_DONE     ? "keeps the contract"
               : code == EXIT_PLUGIN ? "is not loaded"
                                     : "does not keep the contract; the lines with # say what to do");
    return code;
}

const struct command cmd_check = {
    "check", "test a collector against the contract", check_main, "[--folder FOLDER] FILE.so",
    "Loads the collector, reads its description, runs it on the recorded answers in FOLDER/fixtures with the\n"
    "arguments in FOLDER/payload.json and the options in FOLDER/options.json (FOLDER: that of the .so), then on\n"
    "cut, empty, huge and wrong ones, out of memory at every point, cancelled; under valgrind when it is\n"
    "installed. Programs that it asks for are really run. TAP on stdout; every failure says what to do.\n"
    "Exit 1 when something failed, 4 when it cannot be loaded.\n"
    "\n"
    "Examples:\n"
    "  trotline check ./releases.so\n"};
