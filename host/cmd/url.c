/* url.c - trotline url: the identity of a URL. */
#include <inttypes.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/print.h"
#include "net/url.h"

static int print_key(const char *text, int (*identity)(struct buf *out, struct tl_span url)) {
    AUTO_BUF struct buf id = BUF_INIT;
    if (identity(&id, span_of(text))) {
        AUTO_BUF struct buf shown = BUF_INIT;
        print_plain(&shown, span_of(text), 200);
        return cmd_usage("url", "%s is no URL that has a key", shown.len ? shown.data : "an empty text");
    }
    printf("%" PRIu64 "\n", url_key(buf_span(&id)));
    return EXIT_DONE;
}

static int url_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {{"rules", required_argument, NULL, 'r'}, {0}};
    int (*identity)(struct buf * out, struct tl_span url) = url_canonical;
    (void)g;
    for (int c; (c = cmd_option(argc, argv, "", longs)) != 0;) {
        if (c < 0)
            return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        if (strcmp(optarg, "trotline") != 0 && strcmp(optarg, "scrape") != 0)
            return cmd_usage("url", "--rules takes trotline or scrape, not '%s'", optarg);
        identity = *optarg == 's' ? url_clean : url_canonical;
    }
    if (optind == argc)
        return cmd_usage("url", "what of it? `url key URL` prints its key");
    if (strcmp(argv[optind], "key") != 0)
        return cmd_usage("url", "'%s' is nothing that it does; `url key URL` prints a URL's key", argv[optind]);
    if (argc - optind != 2)
        return cmd_usage("url", "key takes one URL");
    return print_key(argv[optind + 1], identity);
}

const struct command cmd_url = {
    "url", "the identity of a URL", url_main, "key [--rules trotline|scrape] URL",
    "Prints the key of a URL, 63 bits in decimal: that of its canonical text, which is what the catalog knows it by.\n"
    "A URL that cannot be fetched has none, and gives exit code 2.\n"
    "\n"
    "  --rules trotline    the catalog's rules (default)\n"
    "  --rules scrape      those of efixler/scrape, to find what that program stored\n"
    "\n"
    "Examples:\n"
    "  trotline url key https://kayaks.test/\n"
    "  trotline url key --rules scrape 'https://kayaks.test/?utm_source=a'\n"};
