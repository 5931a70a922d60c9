/* tables.c - see tables.h. */
#include "cmd/tables.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "base/yaml.h"
#include "engine/recover.h"
#include "engine/table_list.h"

int tables_time(const char *text, int64_t *us) {
    AUTO_BUF struct buf whole = BUF_INIT;
    int64_t ago;
    if (time_parse_duration(span_of(text), &ago) == TL_OK) {
        *us = time_now_us() - ago;
        return TL_OK;
    }
    buf_text(&whole, text);
    if (strlen(text) == 10)
        buf_lit(&whole, "T00:00:00Z");
    return time_parse(buf_span(&whole), us) == TL_OK && *us > 0 ? TL_OK : TL_INVALID;
}

int tables_options(const char *command, int argc, char **argv, struct tables_choice *out) {
    static const struct option longs[] = {{"since", required_argument, NULL, 's'},
                                          {"until", required_argument, NULL, 'u'},
                                          {"output", required_argument, NULL, 'o'},
                                          {0}};
    for (int c; (c = cmd_option(argc, argv, "o:", longs)) != 0;) {
        if (c < 0)
            return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        if (c == 'o') {
            out->format_given = true;
            if (cmd_format(optarg, &out->format))
                return cmd_usage(command, "-o takes table, json, jsonl or csv, not '%s'", optarg);
        } else if (tables_time(optarg, c == 's' ? &out->since_us : &out->until_us))
            return cmd_usage(
                command, "--%s wants a time such as 2026-11-30, 2026-11-30T06:00:00Z, or 7d for so long ago, not '%s'",
                c == 's' ? "since" : "until", optarg);
    }
    if (out->since_us && out->until_us && out->since_us >= out->until_us)
        return cmd_usage(command, "--since must be before --until");
    if (argc - optind > 1)
        return cmd_usage(command, "one crawl at a time, or all of them without an id");
    out->id = argv[optind];
    return -1;
}

int tables_select(struct cmd_open *o, const struct tables_choice *choice, struct store_selection *out) {
    struct fail why = FAIL_INIT;
    struct store_crawl crawl;
    struct uuid id;
    *out = (struct store_selection){.since_us = choice->since_us, .until_us = choice->until_us};
    if (!choice->id)
        return 0;
    if (store_find_run(o->store, choice->id, &id, &why))
        return cmd_fail(&why, EXIT_USAGE);
    if (store_crawl_by_id(o->store, &id, &crawl))
        return cmd_usage("tables", "%s is a run, but not the root of a crawl (trotline show %s names its root)",
                         choice->id, choice->id);
    out->root = crawl.root;
    return 0;
}

static void converting(void *ctx, const struct convert_sums *sums) {
    char line[120], size[TIME_TEXT];
    (void)ctx;
    time_size_text(sums->bytes, size);
    snprintf(line, sizeof line, "%lld of %lld documents, %lld items, %s", (long long)sums->documents,
             (long long)sums->of, (long long)sums->items, size);
    log_progress(line);
}

static void problem(void *ctx, const char *path, const char *text) {
    (void)ctx;
    log_progress(NULL);
    log_error("%s: %s", path, text);
}

int tables_convert(struct cmd_open *o, const struct cmd_globals *g, const struct store_selection *which,
                   struct convert_sums *sums, struct fail *why) {
    bool watched = !g->quiet && !g->json_log && isatty(STDERR_FILENO);
    const struct convert_options options = {.store = o->store,
                                            .lake = o->lake,
                                            .config = &o->config,
                                            .plugins = &o->plugins,
                                            .which = *which,
                                            .progress = watched ? converting : NULL,
                                            .problem = problem};
    int rc = convert_documents(&options, sums, why);
    log_progress(NULL);
    return rc;
}

static void refining(void *ctx, const struct refine_sums *sums) {
    char line[120];
    (void)ctx;
    snprintf(line, sizeof line, "%lld documents, %lld items, %lld rows written", (long long)sums->documents,
             (long long)sums->items, (long long)sums->written);
    log_progress(line);
}

int tables_refine(struct cmd_open *o, const struct cmd_globals *g, const struct config_types *types,
                  const struct store_selection *which, struct refine_sums *sums, struct fail *why) {
    bool watched = !g->quiet && !g->json_log && isatty(STDERR_FILENO);
    const struct refine_options options = {.store = o->store,
                                           .lake = o->lake,
                                           .config = &o->config,
                                           .types = types,
                                           .which = *which,
                                           .progress = watched ? refining : NULL};
    int rc = refine_items(&options, sums, why);
    log_progress(NULL);
    return rc;
}

int tables_after(struct cmd_open *o, const struct cmd_globals *g, int64_t root, const char *root_id) {
    struct fail why = FAIL_INIT;
    struct config_types types = {0};
    struct convert_sums converted;
    struct refine_sums sums = {0};
    const struct store_selection which = {.root = root};
    int after = o->config.convert.after;
    int rc = after == CONFIG_AFTER_NONE ? TL_OK : tables_convert(o, g, &which, &converted, &why);
    if (!rc && after == CONFIG_AFTER_TABLES && (rc = config_types(&o->config, &types, &why)) == TL_OK) {
        sums.type = mem_alloc((types.count + 1) * sizeof *sums.type);
        rc = tables_refine(o, g, &types, &which, &sums, &why);
        free(sums.type);
        config_types_free(&types);
    }
    if (!rc)
        return 0;
    log_error("the crawl is over, but its tables are not made (trotline %s %s makes up for it): %s",
              after == CONFIG_AFTER_TABLES ? "refine" : "convert", root_id, why.text);
    return why.exit_code ? why.exit_code : EXIT_INTERNAL;
}

enum { TYPES_NAMED = 20 }; /* in a message */

int tables_type(const char *command, const struct config_types *types, const char *name,
                const struct types_type **out) {
    AUTO_FREE const char **known = mem_array(NULL, types->count + 1, sizeof *known);
    for (size_t i = 0; i < types->count; i++) {
        AUTO_BUF struct buf versioned = BUF_INIT;
        known[i] = types->type[i].name;
        table_list_name(&versioned, known[i], types->type[i].version);
        if (strcmp(known[i], name) == 0 || strcmp(versioned.data, name) == 0)
            *out = &types->type[i];
    }
    if (*out)
        return 0;
    const char *near = yaml_nearest(name, known, types->count);
    AUTO_BUF struct buf all = BUF_INIT;
    for (size_t i = 0; i < types->count && i < TYPES_NAMED; i++)
        buf_printf(&all, "%s%s", i ? ", " : "", known[i]);
    return cmd_usage(command, "there is no type '%s'; %s%s%s", name, near ? "did you mean '" : "there are ",
                     near ? near : all.data,
                     near                         ? "'?"
                     : types->count > TYPES_NAMED ? " and more"
                                                  : "");
}

static int one_more(void *ctx, const struct store_source *d) {
    (void)d;
    ++*(int64_t *)ctx;
    return 0;
}

int tables_convert_first(struct cmd_open *o, const struct cmd_globals *g, const struct store_selection *which,
                         int64_t *failed) {
    struct fail why = FAIL_INIT;
    struct convert_sums sums = {0};
    struct store_selection due = *which;
    int64_t count = 0;
    due.unconverted = true;
    *failed = 0;
    if (store_sources(o->store, &due, one_more, &count, &why))
        return cmd_fail(&why, EXIT_INTERNAL);
    if (!count)
        return 0;
    cmd_close(o);
    int code = cmd_open(o, g, CMD_STORE_READ | CMD_STORE_WRITE | CMD_LAKE_WRITE | CMD_PLUGINS, NULL, 0);
    if (!code && (recover_all(o->store, o->lake, &why) || tables_convert(o, g, which, &sums, &why)))
        code = cmd_fail(&why, EXIT_INTERNAL);
    *failed = sums.failed;
    cmd_close(o);
    return code ? code : cmd_open(o, g, CMD_STORE_READ | CMD_LAKE_READ, NULL, 0);
}
