/* url.c - trotline url: the identity of a URL, and what is stored of it. */
#include <inttypes.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/print.h"
#include "cmd/url.h"
#include "base/log.h"
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

static int not_known(const struct url_found *f) {
    log_error("the catalog knows nothing of %s", f->text.data);
    return EXIT_USAGE;
}

static int forget(struct cmd_open *o, const struct url_found *f) {
    struct fail why = FAIL_INIT;
    int rc = store_begin(o->store, &why);
    if (rc)
        return cmd_fail(&why, EXIT_INTERNAL);
    for (size_t i = 0; i < f->steps && !rc; i++)
        rc = store_url_forget(o->store, f->way[i]);
    if (rc)
        store_rollback(o->store);
    else
        rc = store_commit(o->store, &why);
    if (rc)
        return cmd_fail(&why, EXIT_INTERNAL);
    log_info("forgotten: %s; its %lld document%s in the lake", f->url.data, (long long)f->documents,
             f->documents == 1 ? " stays" : "s stay");
    return EXIT_DONE;
}

struct asking {
    char verb; /* s show, c cat, f forget, - many */
    const char *dataset;
    bool json;
};

static int one(struct cmd_open *o, const struct asking *a, const char *url) {
    struct url_found f;
    struct fail why = FAIL_INIT;
    int code = url_find(o->store, span_of(url), &f, &why) ? cmd_fail(&why, EXIT_INTERNAL) : EXIT_DONE;
    if (!code && !f.steps)
        code = not_known(&f);
    else if (!code && a->verb == 's')
        code = url_show(o, &f, a->json);
    else if (!code && a->verb == 'f')
        code = forget(o, &f);
    else if (!code && !f.run[0]) {
        log_error("there is no document of %s that came well", f.url.data);
        code = EXIT_USAGE;
    } else if (!code)
        code = cat_dataset(o, f.run, a->dataset ? a->dataset : "page");
    url_found_free(&f);
    return code;
}

static int with_catalog(const struct cmd_globals *g, const struct asking *a, const char *url) {
    struct cmd_open o = {0};
    unsigned what = a->verb == 'f' ? CMD_STORE_WRITE : CMD_STORE_READ;
    int code = cmd_open(&o, g, a->verb == 'c' ? what | CMD_LAKE_READ : what, NULL, 0);
    if (!code)
        code = url ? one(&o, a, url) : url_batch(&o);
    cmd_close(&o);
    return code;
}

static int url_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {{"rules", required_argument, NULL, 'r'},
                                          {"dataset", required_argument, NULL, 'd'},
                                          {"output", required_argument, NULL, 'o'},
                                          {0}};
    static const char *const verbs[] = {"key", "show", "cat", "forget", "-"};
    int (*identity)(struct buf * out, struct tl_span url) = url_canonical;
    struct asking a = {0};
    enum cmd_format format = CMD_TABLE;
    bool rules = false, output = false;
    for (int c; (c = cmd_option(argc, argv, "o:", longs)) != 0;) {
        if (c < 0)
            return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        if (c == 'd')
            a.dataset = optarg;
        else if (c == 'o' && (cmd_format(optarg, &format) || format == CMD_CSV))
            return cmd_usage("url", "-o takes table or json, not '%s'", optarg);
        else if (c == 'r' && strcmp(optarg, "trotline") != 0 && strcmp(optarg, "scrape") != 0)
            return cmd_usage("url", "--rules takes trotline or scrape, not '%s'", optarg);
        if (c == 'r')
            identity = *optarg == 's' ? url_clean : url_canonical;
        rules = rules || c == 'r';
        output = output || c == 'o';
    }
    if (optind == argc)
        return cmd_usage("url", "what of it? `url key URL` prints its key, `url show URL` what is known of it");
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs && !a.verb; i++)
        if (strcmp(argv[optind], verbs[i]) == 0)
            a.verb = verbs[i][0];
    if (!a.verb)
        return cmd_usage("url", "'%s' is nothing that it does: key, show, cat, forget or -", argv[optind]);
    if (argc - optind != (a.verb == '-' ? 1 : 2))
        return cmd_usage("url", a.verb == '-' ? "- reads URLs from its input and takes none" : "%s takes one URL",
                         argv[optind]);
    if ((rules && a.verb != 'k') || (a.dataset && a.verb != 'c') || (output && a.verb != 's'))
        return cmd_usage("url", "--rules goes with key, --dataset with cat, -o with show");
    a.json = format != CMD_TABLE;
    return a.verb == 'k' ? print_key(argv[optind + 1], identity)
                         : with_catalog(g, &a, a.verb == '-' ? NULL : argv[optind + 1]);
}

const struct command cmd_url = {
    "url", "the identity and the stored history of a URL", url_main, "key|show|cat|forget URL | url -",
    "What the catalog knows by a URL. Any spelling will do: with a fragment, with a default port, one that leads "
    "elsewhere, or\n"
    "one with parameters that only track.\n"
    "\n"
    "  key URL             prints the key of its canonical text, 63 bits in decimal. A URL that cannot be fetched has "
    "none\n"
    "                      (exit code 2)\n"
    "  show URL            canonical URL, where it leads and led, documents, validators, next allowed fetch, "
    "neighbours\n"
    "  cat URL             the newest content, byte for byte\n"
    "  forget URL          mappings, validators and pointers to documents go; the documents stay\n"
    "  -                   reads URLs, one a line; prints a line of JSON for each, in order, errors included\n"
    "\n"
    "      --rules trotline|scrape  of key: the catalog's rules (default), or those of efixler/scrape, to find what "
    "that\n"
    "                               program stored\n"
    "      --dataset NAME           of cat: another dataset than page\n"
    "  -o, --output table|json      of show\n"
    "\n"
    "Examples:\n"
    "  trotline url key https://kayaks.test/\n"
    "  trotline url key --rules scrape 'https://kayaks.test/?utm_source=a'\n"
    "  trotline url show 'https://kayaks.test/?utm_source=a#top'\n"
    "  trotline url cat https://kayaks.test/ > page.html\n"
    "  trotline url - < urls.txt | jq -r 'select(.known | not) | .url'\n"};
