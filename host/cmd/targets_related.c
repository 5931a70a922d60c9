/* targets_related.c - see targets_related.h. */
#include "cmd/targets_related.h"

#include "base/log.h"
#include "cmd/candidates.h"

static int update(struct cmd_open *o, const struct cmd_globals *g, int64_t now_us, int64_t *failed) {
    struct discovery d;
    struct fail why = FAIL_INIT;
    int code = cmd_open(o, g, 0, NULL, 0);
    if (!code && discovery_read(&o->config, &d, &why))
        return cmd_fail(&why, EXIT_CONFIG);
    if (!code) {
        code = candidates_update(o, g, &d, now_us, failed);
        discovery_free(&d);
    }
    return code;
}

/* Is that the id of a target, or the name of a crawl? */
static int must_be_known(struct cmd_open *o, const char *id) {
    struct targets t;
    struct store_crawl crawl;
    struct fail why = FAIL_INIT;
    if (store_crawl_by_name(o->store, id, false, &crawl) == TL_OK)
        return 0;
    if (targets_load(&o->config, o->store, candidates_problem, &t, &why))
        return cmd_fail(&why, EXIT_CONFIG);
    bool known = targets_find(&t, id) != NULL;
    targets_free(&t);
    return known ? 0 : cmd_usage("targets", "there is no target '%s' (trotline targets lists them)", id);
}

static int answer(struct cmd_open *o, const struct targets_question *q, const char *sql, const struct store_value *args,
                  size_t n, int64_t failed) {
    struct fail why = FAIL_INIT;
    if (cmd_rows(o->store, q->format, stdout, sql, args, n, &why))
        return cmd_fail(&why, EXIT_INTERNAL);
    if (!cmd_flush(stdout))
        return EXIT_DISK;
    if (failed)
        log_ending(EXIT_LINE, "%lld documents could not be looked at (see above)", (long long)failed);
    return failed ? EXIT_LINE : EXIT_DONE;
}

int targets_shared(struct cmd_open *o, const struct cmd_globals *g, const struct targets_question *q, char **id,
                   int count) {
    static const char sql[] =
        "SELECT target_a, target_b, via, times FROM shared WHERE ($1 IS NULL OR $1 IN (target_a, target_b)) AND ($2 IS "
        "NULL OR $2 IN (target_a, target_b)) ORDER BY times DESC, via, target_a, target_b LIMIT $3";
    const struct store_value args[] = {store_text(count ? id[0] : NULL), store_text(count > 1 ? id[1] : NULL),
                                       store_int(q->most)};
    int64_t failed = 0;
    int code = update(o, g, q->now_us, &failed);
    for (int i = 0; i < count && !code; i++)
        code = must_be_known(o, id[i]);
    return code ? code : answer(o, q, sql, args, 3, failed);
}

int targets_history(struct cmd_open *o, const struct cmd_globals *g, const struct targets_question *q, const char *id) {
    static const char shown[] = "SELECT substr(at, 1, 19) AS at, \"column\", of, was, value FROM (SELECT * FROM "
                                "history WHERE target = $1 ORDER BY "
                                "at DESC, run_id DESC LIMIT $2) ORDER BY at, of, \"column\"";
    static const char whole[] = "SELECT target, \"column\", at, value, type, of, was, is_first, seen_at, run_id, url "
                                "FROM (SELECT * FROM history "
                                "WHERE target = $1 ORDER BY at DESC, run_id DESC LIMIT $2) ORDER BY at, of, \"column\"";
    const struct store_value args[] = {store_text(id), store_int(q->most)};
    int64_t failed = 0;
    int code = update(o, g, q->now_us, &failed);
    if (!code)
        code = must_be_known(o, id);
    return code ? code : answer(o, q, q->format == CMD_TABLE ? shown : whole, args, 2, failed);
}
