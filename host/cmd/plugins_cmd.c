/* plugins_cmd.c - trotline plugins: what is installed, what it takes, and what was refused, with the reason. */
#include <string.h>

#include "cmd/commands.h"
#include "cmd/plugins.h"

static int plugins_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {{"output", required_argument, NULL, 'o'}, {0}};
    const char *format = "table", *name = NULL;
    enum cmd_format known;
    for (int c; (c = cmd_option(argc, argv, "o:", longs)) != 0;) {
        if (c < 0)
            return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        format = optarg;
    }
    if (cmd_format(format, &known))
        return cmd_usage("plugins", "-o takes table, json, jsonl or csv, not '%s'", format);
    if (optind < argc && strcmp(argv[optind], "show") != 0)
        return cmd_usage("plugins", "'%s' is nothing that it does; `show NAME` tells all about one collector",
                         argv[optind]);
    if (optind < argc && argc - optind != 2)
        return cmd_usage("plugins", "show takes one name");
    if (optind < argc)
        name = argv[optind + 1];
    struct cmd_open o = {0};
    int code = cmd_open(&o, g, CMD_PLUGINS, NULL, 0);
    if (!code)
        code = plugins_print(&o.plugins, format, name, stdout);
    if (!cmd_flush(stdout) && !code)
        code = EXIT_DISK;
    cmd_close(&o);
    return code;
}

const struct command cmd_plugins = {
    "plugins", "list collectors: what is installed, and what was refused", plugins_main, "[show NAME] [-o FORMAT]",
    "Lists the built-in orchestrator, the collectors in the plugin folders, and files that were refused, with the\n"
    "reason. `show NAME` tells all about one of them: its arguments, options and datasets.\n"
    "\n"
    "  -o, --output FORMAT    table (default), json, jsonl, csv\n"
    "\n"
    "Examples:\n"
    "  trotline plugins\n"
    "  trotline plugins show http\n"
    "  trotline plugins -o json | jq -r '.[].name'\n"};
