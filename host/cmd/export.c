/* export.c - trotline export: rows of a crawl for programs, and what other tools need to read the tables. */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/commands.h"
#include "cmd/export.h"

struct part {
    const char *name;
    int (*run)(struct cmd_open *o, const struct cmd_globals *g, const struct export_options *x);
    const char *options; /* letters that it takes */
};
static const struct part part[] = {
    {"", export_rows, "fcysu"}, /* of a crawl: no name of its own */
    {"manifest", export_manifest, "flo"}, {"delta", export_delta, ""},         {"ddl", export_ddl, "el"},
    {"duckdb", export_duckdb, "l"},       {"datasette", export_datasette, ""},
};

static const struct part *find_part(const char *word) {
    for (size_t i = 1; i < COUNT_OF(part); i++)
        if (strcmp(part[i].name, word) == 0)
            return &part[i];
    return &part[0];
}

static const struct option longs[] = {{"format", required_argument, NULL, 'f'},
                                      {"columns", required_argument, NULL, 'c'},
                                      {"type", required_argument, NULL, 'y'},
                                      {"since", required_argument, NULL, 's'},
                                      {"until", required_argument, NULL, 'u'},
                                      {"for", required_argument, NULL, 'e'},
                                      {"location", required_argument, NULL, 'l'},
                                      {"output", required_argument, NULL, 'o'},
                                      {0}};

static int take_option(struct export_options *x, int c) {
    switch (c) {
    case 'f':
        x->format = optarg;
        break;
    case 'c':
        x->columns = optarg;
        break;
    case 'y':
        x->type = optarg;
        break;
    case 'e':
        x->engine = optarg;
        break;
    case 'l':
        x->location = optarg;
        break;
    case 'o':
        x->output = optarg;
        break;
    default:
        if (tables_time(optarg, c == 's' ? &x->which.since_us : &x->which.until_us))
            return cmd_usage("export",
                             "--%s wants a time such as 2026-11-30, 2026-11-30T06:00:00Z, or 7d for so long "
                             "ago, not '%s'",
                             c == 's' ? "since" : "until", optarg);
    }
    return 0;
}

static int refuse_option(const struct part *p, char c) {
    for (size_t i = 0; longs[i].name; i++)
        if (longs[i].val == c)
            return cmd_usage("export", "--%s is not for %s", longs[i].name, *p->name ? p->name : "rows");
    return EXIT_USAGE;
}

static int export_main(int argc, char **argv, const struct cmd_globals *g) {
    struct export_options x = {0};
    char given[COUNT_OF(longs)] = "";
    size_t n = 0;
    for (int c; (c = cmd_option(argc, argv, "o:", longs)) != 0;) {
        if (c < 0)
            return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        if (!strchr(given, c) && n < sizeof given - 1)
            given[n++] = (char)c;
        int code = take_option(&x, c);
        if (code)
            return code;
    }
    const struct part *p = find_part(argc > optind ? argv[optind] : "");
    x.word = argv + optind + (p != part);
    x.count = argc - optind - (p != part);
    for (const char *c = given; *c; c++)
        if (!strchr(p->options, *c))
            return refuse_option(p, *c);
    struct cmd_open o = {0};
    int code = p->run(&o, g, &x);
    cmd_close(&o);
    return code;
}

const struct command cmd_export = {"export", "rows for programs, and what other tools need to read the tables",
                                   export_main, "", ""};
