/* ls.c - trotline ls: the crawls of the catalog, newest first. */
#include "base/log.h"
#include "cmd/commands.h"

static int first(void *ctx, const struct store_row *row) {
    (void)row;
    *(bool *)ctx = true;
    return 1;
}

static int say_if_none(struct cmd_open *o, const char *name, struct fail *why) {
    const struct store_value arg = store_text(name);
    bool some = false;
    int rc = store_query(o->store, "SELECT 1 FROM crawls WHERE crawl = $1 LIMIT 1", &arg, 1, first, &some, why);
    if (!rc && !some)
        log_ending(EXIT_DONE, "no crawl is named '%s'; trotline ls lists all", name);
    return rc;
}

static int list(struct cmd_open *o, const char *name, int64_t most, enum cmd_format format) {
    static const char *const all =
        "SELECT root_id, crawl, status, started_at, runs, failed, leashed, documents, bytes FROM crawls "
        "ORDER BY root_id DESC LIMIT $1";
    static const char *const named =
        "SELECT root_id, crawl, status, started_at, runs, failed, leashed, documents, bytes FROM crawls "
        "WHERE crawl = $1 ORDER BY root_id DESC LIMIT $2";
    const struct store_value args[] = {store_text(name), store_int(most)};
    struct fail why = FAIL_INIT;
    int rc = cmd_rows(o->store, format, stdout, name ? named : all, name ? args : args + 1, name ? 2 : 1, &why);
    if (!rc && name && format == CMD_TABLE)
        rc = say_if_none(o, name, &why);
    if (rc)
        return cmd_fail(&why, EXIT_INTERNAL);
    return cmd_flush(stdout) ? EXIT_DONE : EXIT_DISK;
}

static int ls_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {
        {"name", required_argument, NULL, 'N'}, {"output", required_argument, NULL, 'o'}, {0}};
    const char *name = NULL;
    int64_t most = INT64_MAX;
    enum cmd_format format = CMD_TABLE;
    for (int c; (c = cmd_option(argc, argv, "n:o:", longs)) != 0;) {
        if (c < 0)
            return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        if (c == 'N')
            name = optarg;
        else if (c == 'n' && (most = cmd_number(optarg, 1, INT64_MAX)) < 0)
            return cmd_usage("ls", "-n takes a number from 1 on, not '%s'", optarg);
        else if (c == 'o' && cmd_format(optarg, &format))
            return cmd_usage("ls", "-o takes table, json, jsonl or csv, not '%s'", optarg);
    }
    if (optind < argc)
        return cmd_usage("ls", "it takes no argument such as '%s'; --name NAME lists the crawls of one name",
                         argv[optind]);
    struct cmd_open o = {0};
    int code = cmd_open(&o, g, CMD_STORE_READ, NULL, 0);
    if (!code)
        code = list(&o, name, most, format);
    cmd_close(&o);
    return code;
}

const struct command cmd_ls = {
    "ls", "list crawls, newest first", ls_main, "[--name NAME] [-n N] [-o FORMAT]",
    "Lists the crawls of the catalog, newest first: the id of the root (which other commands take, whole or as\n"
    "far as it is unique), the crawl's name, its status (open, or why it ended), and what it came to.\n"
    "\n"
    "      --name NAME        crawls of this name only\n"
    "  -n N                   the newest N\n"
    "  -o, --output FORMAT    table (default), json, jsonl, csv\n"
    "\n"
    "Examples:\n"
    "  trotline ls\n"
    "  trotline ls --name kayaking-florida -n 5\n"
    "  trotline ls -o jsonl | head -n 1\n"};
