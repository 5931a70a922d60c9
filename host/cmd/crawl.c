/* crawl.c - trotline crawl: the same as run for URLs at hand, without a crawl file. */
#include <stdlib.h>

#include "base/json_write.h"
#include "base/log.h"
#include "base/mem.h"
#include "cmd/commands.h"
#include "cmd/run.h"

/* ---- crawl URL... */

static int take_limit(int c, struct leash *l) {
    AUTO_BUF struct buf json = BUF_INIT;
    struct fail why = FAIL_INIT;
    static const char *const keys[] = {"depth", "fanout", "runs", "bytes", "time"};
    if (c == OPT_HOST)
        return leash_add_host(l, optarg, &why) ? cmd_usage("crawl", "--host: %s", why.text) : (l->hosts_set = true, 0);
    struct json_writer w = JSON_WRITER(&json);
    const char *key = keys[c - OPT_DEPTH];
    bool digits = *optarg && strspn(optarg, "0123456789") == strlen(optarg);
    json_object_begin(&w);
    json_put_key(&w, key);
    digits &&c != OPT_TIME ? json_put_raw(&w, span_of(optarg)) : json_put_text(&w, optarg);
    json_object_end(&w);
    return leash_from_json(l, buf_span(&json), &why) ? cmd_usage("crawl", "--%s: %s", key, why.text) : 0;
}

/* What each line gets beside its URL. */
struct http_args {
    bool no_follow, sitemaps, cookies;
};

static bool take_argument(int c, struct http_args *a) {
    a->no_follow = a->no_follow || c == OPT_NO_FOLLOW;
    a->sitemaps = a->sitemaps || c == OPT_SITEMAPS;
    a->cookies = a->cookies || c == OPT_COOKIES;
    return c >= OPT_NO_FOLLOW && c <= OPT_COOKIES;
}

static void write_arguments(const struct http_args *a, struct buf *json) {
    struct json_writer w = JSON_WRITER(json);
    json_object_begin(&w);
    if (a->no_follow)
        json_member_bool(&w, "follow", false);
    if (a->sitemaps)
        json_member_bool(&w, "sitemaps", true);
    if (a->cookies)
        json_member_bool(&w, "cookies", true);
    json_object_end(&w);
}

/* A crawl that this command once began, as the catalog keeps it. */
static int read_recorded(struct running *r) {
    struct cmd_open open = {0};
    struct fail why = FAIL_INIT;
    struct store_crawl found;
    struct uuid id;
    char root[UUID_TEXT];
    int code = cmd_open(&open, r->g, CMD_STORE_READ, r->o->set, r->o->set_count);
    if (!code && store_find_run(open.store, r->o->resume, &id, &why))
        code = cmd_fail(&why, EXIT_USAGE);
    if (!code && store_crawl_by_id(open.store, &id, &found))
        code =
            cmd_usage("crawl", "%s is a run, but not the root of a crawl (trotline show names its root)", r->o->resume);
    if (!code && config_crawl_recorded(span_of(found.file_json), found.file_sha256, &r->crawl))
        code = cmd_usage("crawl", "%s is a crawl of a file; go on with: trotline run %s.yml --resume %s", r->o->resume,
                         found.name, uuid_text(&id, root));
    cmd_close(&open);
    return code;
}

static int crawl_with(int argc, char **argv, const struct cmd_globals *g, struct run_options *o) {
    static const struct option longs[] = {{"plan", no_argument, NULL, OPT_PLAN},
                                          {"resume", required_argument, NULL, OPT_RESUME},
                                          {"timeout", required_argument, NULL, OPT_TIMEOUT},
                                          {"set", required_argument, NULL, OPT_SET},
                                          {"fail-on", required_argument, NULL, OPT_FAIL_ON},
                                          {"output", required_argument, NULL, 'o'},
                                          {"depth", required_argument, NULL, OPT_DEPTH},
                                          {"fanout", required_argument, NULL, OPT_FANOUT},
                                          {"runs", required_argument, NULL, OPT_RUNS},
                                          {"bytes", required_argument, NULL, OPT_BYTES},
                                          {"time", required_argument, NULL, OPT_TIME},
                                          {"host", required_argument, NULL, OPT_HOST},
                                          {"no-follow", no_argument, NULL, OPT_NO_FOLLOW},
                                          {"sitemaps", no_argument, NULL, OPT_SITEMAPS},
                                          {"cookies", no_argument, NULL, OPT_COOKIES},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    struct running r = {.g = g, .o = o};
    struct fail why = FAIL_INIT;
    struct leash leash;
    struct http_args args = {0};
    AUTO_BUF struct buf json = BUF_INIT;
    bool limited = false;
    int c, rc = 0;
    leash_defaults(&leash);
    while (!rc && (c = cmd_option(argc, argv, "o:h", longs)) != 0) {
        if (c == CMD_HELP || c == CMD_USAGE) {
            leash_free(&leash);
            return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        }
        limited = limited || (c >= OPT_DEPTH && c <= OPT_COOKIES);
        if (!take_argument(c, &args))
            rc = c >= OPT_DEPTH && c <= OPT_HOST ? take_limit(c, &leash) : run_option("crawl", c, o);
    }
    write_arguments(&args, &json);
    if (!rc && o->resume && (optind < argc || limited))
        rc = cmd_usage("crawl", "--resume goes on with the URLs and the leash that the crawl began with; give neither");
    else if (!rc && o->resume && strcmp(o->resume, "auto") == 0)
        rc = cmd_usage("crawl", "--resume wants the id of the crawl's root (trotline ls shows it)");
    else if (!rc && o->resume)
        rc = read_recorded(&r);
    else if (!rc && optind == argc)
        rc = cmd_usage("crawl", "which URL?");
    else if (!rc && config_crawl_urls((const char *const *)argv + optind, (size_t)(argc - optind), &leash,
                                      buf_span(&json), &r.crawl, &why))
        rc = cmd_fail(&why, EXIT_USAGE);
    leash_free(&leash);
    return rc ? rc : run_and_release(&r);
}

static int crawl_main(int argc, char **argv, const struct cmd_globals *g) {
    struct run_options o = {0};
    int code = crawl_with(argc, argv, g, &o);
    free(o.set);
    return code;
}

const struct command cmd_crawl = {
    "crawl", "crawl from URLs at hand, without a crawl file", crawl_main, "[OPTION]... URL...",
    "The same as `run` for URLs at hand: the http collector, no file, no lock.\n"
    "\n"
    "      --depth N          1: these pages alone; 2: and what they link to ... (default 3)\n"
    "      --fanout N         links followed of each page (default 1000)\n"
    "      --runs N           pages in all (default 10000)\n"
    "      --bytes SIZE       of bodies in all (default 10GiB)\n"
    "      --time T           for the whole crawl (default 24h)\n"
    "      --host PATTERN     let it go there, too: example.org, *.example.org, * (default: the URLs' own hosts)\n"
    "      --no-follow        fetch these pages and follow no link\n"
    "      --sitemaps         fetch what the sites' sitemaps list, too\n"
    "      --cookies          keep the cookies that are set, and send them back\n"
    "      --resume ROOT      go on with a crawl that was interrupted, or of which runs were put back by retry;\n"
    "                         without URLs, and on the leash that it had\n"
    "      --plan, --timeout T, --set KEY=VALUE, --fail-on WHAT, -o FORMAT: as in `trotline run`\n"
    "\n"
    "Examples:\n"
    "  trotline crawl https://kayaks.test/ --depth 2\n"
    "  trotline crawl https://kayaks.test/ --sitemaps --no-follow --fanout none\n"
    "  trotline crawl https://kayaks.test/ https://rivers.test/ --runs 500 --host '*.kayaks.test'\n"
    "  trotline crawl --resume 0193a5c4-7b2e-7d1f\n"};
