/* candidates.c - see candidates.h. */
#include "cmd/candidates.h"

#include "base/log.h"
#include "cmd/tables.h"
#include "engine/recover.h"

void candidates_problem(const char *text) {
    log_error("%s", text);
}

int candidates_update(struct cmd_open *o, const struct cmd_globals *g, const struct discovery *d, int64_t now_us,
                      int64_t *failed) {
    const struct store_selection all = {0};
    struct convert_sums converted = {0};
    struct discover_sums sums;
    struct fail why = FAIL_INIT;
    int code = cmd_open(o, g, CMD_STORE_WRITE | CMD_LAKE_WRITE | CMD_PLUGINS, NULL, 0);
    if (code)
        return code;
    if (recover_all(o->store, o->lake, &why) || tables_convert(o, g, &all, &converted, &why) ||
        discover(o->store, o->lake, d, now_us, &sums, &why))
        return cmd_fail(&why, EXIT_INTERNAL);
    log_info("%lld documents looked at for candidates: %lld rows, %lld finds", (long long)sums.documents,
             (long long)sums.rows, (long long)sums.finds);
    *failed = converted.failed;
    return 0;
}

static void told(const char *id, const char *text, const char *reaction) {
    log_info("promoted by '%s': %s is now the target '%s'", reaction, text, id);
}

/* run --due loads them, too, and says what is wrong with them. */
static void say_nothing(const char *text) {
    (void)text;
}

static int react(struct cmd_open *o, const struct cmd_globals *g, const struct discovery *d, int64_t now_us,
                 struct targets_reacted *out) {
    struct targets known;
    struct fail why = FAIL_INIT;
    int64_t failed = 0;
    int code = candidates_update(o, g, d, now_us, &failed);
    if (code)
        return code;
    if (targets_load(&o->config, o->store, say_nothing, &known, &why))
        return cmd_fail(&why, EXIT_CONFIG);
    int rc = targets_react(&o->config, o->store, o->lake, &known, d, now_us, told, out, &why);
    targets_free(&known);
    return rc ? cmd_fail(&why, EXIT_INTERNAL) : failed ? EXIT_LINE : 0;
}

int candidates_react(struct cmd_open *o, const struct cmd_globals *g, int64_t now_us, struct targets_reacted *out) {
    struct discovery d;
    struct fail why = FAIL_INIT;
    *out = (struct targets_reacted){0};
    int code = cmd_open(o, g, 0, NULL, 0);
    if (code || !o->config.targets.rules) /* nothing that is built in reacts */
        return code;
    if (discovery_read(&o->config, &d, &why))
        return cmd_fail(&why, EXIT_CONFIG);
    code = d.react_count || d.watch_count ? react(o, g, &d, now_us, out) : 0;
    discovery_free(&d);
    return code;
}
