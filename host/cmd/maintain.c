/* maintain.c - trotline maintain: what nobody saw for long is forgotten, and files become smaller.
 *
 * Invariant: runs and documents stay, whatever is given. */
#include "base/log.h"
#include "base/times.h"
#include "cmd/commands.h"
#include "engine/plugin_cache.h"

enum { ROBOTS_DAYS = 7, CACHE_DAYS = 30 };

struct maintaining {
    int64_t older_us;
    bool expire_only, json;
    struct store_expiry x;
    int64_t before, after, descriptions;
};

static int64_t days_ago(int64_t now, int64_t days) {
    return now - days * 86400 * INT64_C(1000000);
}

/* What runs meanwhile would wait until the file is written anew; so it is not. */
static int expire(struct store *s, struct maintaining *m, struct fail *why) {
    int64_t now = store_now_us(s);
    int rc = store_begin(s, why);
    if (rc)
        return rc;
    if (!m->expire_only && store_busy(s)) {
        store_rollback(s);
        return fail_exit(why, TL_REFUSED, EXIT_LOCKED, "a crawl is under way: wait for its end, or use --expire-only");
    }
    m->x.before_us = m->older_us > 0 ? now - m->older_us : 0;
    m->x.robots_before_us = days_ago(now, ROBOTS_DAYS);
    rc = store_expire(s, &m->x, why);
    if (rc)
        store_rollback(s);
    return rc ? rc : store_commit(s, why);
}

static void print(const struct maintaining *m) {
    const struct store_expiry *x = &m->x;
    char before[TIME_TEXT], after[TIME_TEXT];
    if (m->json) {
        printf("{\"pointers\":%lld,\"mappings\":%lld,\"validators\":%lld,\"urls\":%lld,\"robots\":%lld,"
               "\"descriptions\":%lld,",
               (long long)x->documents, (long long)x->mappings, (long long)x->validators, (long long)x->urls,
               (long long)x->robots, (long long)m->descriptions);
        printf(m->expire_only ? "\"bytes_before\":null,\"bytes_after\":null}\n"
                              : "\"bytes_before\":%lld,\"bytes_after\":%lld}\n",
               (long long)m->before, (long long)m->after);
        return;
    }
    printf("expired: %lld pointers to documents, %lld mappings, %lld validators, %lld URLs, %lld robots.txt\n",
           (long long)x->documents, (long long)x->mappings, (long long)x->validators, (long long)x->urls,
           (long long)x->robots);
    printf("plugin descriptions removed: %lld\n", (long long)m->descriptions);
    if (m->expire_only)
        return;
    time_size_text(m->before, before);
    time_size_text(m->after, after);
    printf("catalog: %s, was %s\n", after, before);
}

static int maintain(struct cmd_open *o, struct maintaining *m) {
    struct fail why = FAIL_INIT;
    int rc = expire(o->store, m, &why);
    if (!rc)
        m->descriptions = plugin_cache_prune(days_ago(time_now_us(), CACHE_DAYS));
    if (!rc && !m->expire_only)
        rc = store_compact(o->store, &m->before, &m->after, &why);
    if (rc)
        return cmd_fail(&why, EXIT_INTERNAL);
    print(m);
    return cmd_flush(stdout) ? EXIT_DONE : EXIT_DISK;
}

static int maintain_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {{"older-than", required_argument, NULL, 't'},
                                          {"expire-only", no_argument, NULL, 'e'},
                                          {"output", required_argument, NULL, 'o'},
                                          {0}};
    struct maintaining m = {0};
    enum cmd_format format = CMD_TABLE;
    for (int c; (c = cmd_option(argc, argv, "o:", longs)) != 0;) {
        if (c < 0)
            return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        if (c == 'e')
            m.expire_only = true;
        else if (c == 't' && (time_parse_duration(span_of(optarg), &m.older_us) || m.older_us <= 0))
            return cmd_usage("maintain", "--older-than takes a time such as 30d or 12h, not '%s'", optarg);
        else if (c == 'o' && (cmd_format(optarg, &format) || format == CMD_CSV))
            return cmd_usage("maintain", "-o takes table or json, not '%s'", optarg);
    }
    if (optind < argc)
        return cmd_usage("maintain", "it takes no argument such as '%s'", argv[optind]);
    m.json = format != CMD_TABLE;
    struct cmd_open o = {0};
    int code = cmd_open(&o, g, CMD_STORE_READ | CMD_STORE_WRITE, NULL, 0);
    if (!code)
        code = maintain(&o, &m);
    cmd_close(&o);
    return code;
}

const struct command cmd_maintain = {
    "maintain", "forget what is old, and shrink the catalog", maintain_main,
    "[--older-than TIME] [--expire-only] [-o FORMAT]",
    "Tidies the catalog: with --older-than, what was not seen for that long is forgotten: pointers from URLs to "
    "documents,\n"
    "validators, mappings, URLs that nothing names any more. Texts of robots.txt go after a week, descriptions of "
    "plugins\n"
    "that nobody asked for after 30 days. Then the file is written anew, without the room that is free in it; not "
    "while a\n"
    "crawl is under way. Runs and documents stay, always.\n"
    "\n"
    "      --older-than TIME  30d, 12h and the like; without it no URL is forgotten\n"
    "      --expire-only      leave the file as large as it is; goes while crawls run\n"
    "  -o, --output FORMAT    table (default), json\n"
    "\n"
    "Examples:\n"
    "  trotline maintain\n"
    "  trotline maintain --older-than 90d\n"
    "  trotline maintain --older-than 30d --expire-only\n"};
