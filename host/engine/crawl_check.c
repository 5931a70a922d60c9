/* crawl_check.c - see crawl_check.h. Nothing is begun before this has passed. */
#include "engine/crawl_check.h"

#include "engine/args.h"

static int placed(const struct crawl *crawl, int line, int column, int rc, int exit_code, const char *text,
                  struct fail *why) {
    if (crawl->file)
        return fail_exit(why, rc, exit_code, "%s:%d:%d: %s", crawl->file, line, column, text);
    return fail_exit(why, rc, exit_code == EXIT_CONFIG ? EXIT_USAGE : exit_code, "%s", text);
}

int crawl_check(const struct crawl *crawl, const struct config *c, const struct plugin_set *set, struct fail *why) {
    size_t folders = 0;
    while (c->plugins && c->plugins[folders])
        folders++;
    for (size_t i = 0; i < crawl->line_count + crawl->route_count; i++) {
        const struct crawl_line *l = i < crawl->line_count ? &crawl->line[i] : NULL;
        const struct crawl_route *x = l ? NULL : &crawl->route[i - crawl->line_count];
        const char *name = l ? l->collector : x->collector;
        struct tl_span given = l ? l->args : x->args;
        const struct plugin *p = plugin_find(set, name);
        struct fail reason = FAIL_INIT;
        struct args a = {0};
        if (!p || !p->file) {
            plugin_missing(set, name, c->plugins, folders, &reason);
            return placed(crawl, l ? l->line : x->line, l ? l->column : x->column, TL_NOTFOUND,
                          reason.exit_code ? reason.exit_code : EXIT_PLUGIN, reason.text, why);
        }
        int rc = x && !given.len ? TL_OK : args_check(p, given, true, &a, &reason);
        args_free(&a);
        if (rc)
            return placed(crawl, l ? l->line : x->line, l ? l->column : x->column, rc, EXIT_CONFIG, reason.text, why);
    }
    return TL_OK;
}
