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

const struct command cmd_export = {
    "export", "rows for programs, and what other tools need to read the tables", export_main,
    "--format jsonl|csv [--columns A,B] [--type NAME] [--since TIME] [--until TIME] [ROOT]\n"
    "       trotline export manifest [--format parquet|avro] [--location URL] [-o FORMAT] [TABLE ...]\n"
    "       trotline export ddl --for athena|glue|hive|spark|trino [--location URL]\n"
    "       trotline export duckdb [--location URL] [FILE.sql]\n"
    "       trotline export datasette\n"
    "       trotline export delta [TABLE ...]",
    "Rows: writes the dataset items of a crawl (or of all), reused documents' included, to the standard output as "
    "they\n"
    "are read, each once, whatever is joined meanwhile. Documents that are not items yet are converted first.\n"
    "\n"
    "      ROOT             only the documents of this crawl, and those of earlier ones that it stands for\n"
    "      --format FORMAT  jsonl: an object a line, columns in order, metadata as objects, data as text; or csv:\n"
    "                       RFC 4180, lists and metadata as JSON, an empty text quoted, null not\n"
    "      --columns A,B    only these, in this order\n"
    "      --type NAME      rows of this type instead (trotline-types(5)), as refine makes them\n"
    "      --since TIME, --until TIME   only what was collected then: 2026-11-30, 2026-11-30T06:00:00Z, or 7d ago\n"
    "\n"
    "For other tools:\n"
    "  manifest    the files that count now, a path a line, or with -o json or jsonl rows, bytes and SHA-256 as well\n"
    "  ddl         CREATE TABLE of dataset items, of each version of each type, and of rejects\n"
    "  duckdb      a file of views for duckdb -init: items, types (newest, and each version), rejects, documents\n"
    "  datasette   metadata for Datasette over the catalog: descriptions, facets, questions\n"
    "  delta       makes a Delta Lake log beside the files of tables; convert, refine and compact keep it up\n"
    "\n"
    "      TABLE            items (if none is named), rejects, a type, or one version of it such as http_page_v1\n"
    "      --for ENGINE     whose statements; glue takes those of athena\n"
    "      --location URL   where the lake lies for whoever reads it, such as s3://bucket/lake\n"
    "\n"
    "Ends with 0; 5 when some documents could not be converted, 14 when the lake lacks files.\n"
    "\n"
    "Examples:\n"
    "  trotline export --format jsonl 0193a5c4 | jq -r .data_url\n"
    "  trotline export --format csv --type http_page --columns url,title > pages.csv\n"
    "  trotline export duckdb views.sql && duckdb -init views.sql\n"
    "  trotline export ddl --for athena --location s3://bucket/lake\n"
    "  trotline export datasette > metadata.json && datasette catalog.db -m metadata.json\n"
    "  trotline export delta items http_page\n"};
