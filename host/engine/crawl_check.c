/* crawl_check.c - see crawl_check.h. Nothing is begun before this has passed. */
#include "engine/crawl_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/yaml.h"
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

static bool has_secret(const struct config *c, const char *name) {
    for (size_t i = 0; i < c->secret_count; i++)
        if (strcmp(c->secret[i].name, name) == 0)
            return true;
    return false;
}

static int no_secret(const struct config *c, const char *argument, const char *name, struct fail *why) {
    const char **names = mem_alloc((c->secret_count + 1) * sizeof *names);
    for (size_t i = 0; i < c->secret_count; i++)
        names[i] = c->secret[i].name;
    const char *near = yaml_nearest(name, names, c->secret_count);
    free(names);
    return fail_exit(why, TL_NOTFOUND, EXIT_CONFIG,
                     "argument %s: 'secrets' of the configuration has no \"%.64s\"%s%s%s", argument, name,
                     near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

/* One name, or a list of them. */
static int check_secret(const struct config *c, const char *argument, const struct tl_json *v, struct fail *why) {
    struct tl_json item = {0};
    AUTO_BUF struct buf name = BUF_INIT;
    bool list = v->type == TL_JSON_ARRAY;
    int rc = TL_OK;
    for (bool more = true; more && !rc; more = list) {
        if (list && json_next(v, &item))
            break;
        buf_reset(&name);
        if (json_text(list ? &item : v, &name) == TL_OK && name.len && !has_secret(c, name.data))
            rc = no_secret(c, argument, name.data, why);
    }
    return rc;
}

int crawl_check_secrets(const struct crawl *crawl, const struct config *c, const struct plugin_set *set,
                        struct fail *why) {
    for (size_t i = 0; i < crawl->line_count; i++) {
        const struct crawl_line *l = &crawl->line[i];
        const struct plugin *p = plugin_find(set, l->collector);
        struct fail reason = FAIL_INIT;
        struct args a = {0};
        struct tl_json root, value;
        int rc = TL_OK;
        if (p && args_check(p, l->args, true, &a, &reason) == TL_OK && json_parse(buf_span(&a.payload), &root) == TL_OK)
            for (size_t k = 0; k < p->argument_count && !rc; k++)
                if (p->argument[k].type == TL_SECRET && json_get(&root, p->argument[k].name, &value) == TL_OK)
                    rc = check_secret(c, p->argument[k].name, &value, &reason);
        args_free(&a);
        if (rc)
            return placed(crawl, l->line, l->column, rc, EXIT_CONFIG, reason.text, why);
    }
    return TL_OK;
}
