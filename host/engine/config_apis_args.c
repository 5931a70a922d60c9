/* config_apis_args.c - the arguments of a collector that goes by descriptions: short in a crawl file, whole in a run.
 *
 * Invariant: what is made whole once stays as it is, so that a payload can be checked again. */
#include <string.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "engine/config_apis.h"

enum { MEMBERS_MOST = 200 };

static bool has_argument(const struct plugin *p, const struct tl_json *member, const char *name) {
    for (size_t i = 0; i < p->argument_count; i++)
        if (member ? json_key_is(member, p->argument[i].name) : name && strcmp(p->argument[i].name, name) == 0)
            return true;
    return false;
}

void config_apis_give(const struct config *c, struct plugin_set *set, struct config_apis *out) {
    for (size_t i = 0; i < set->count; i++) {
        struct plugin *p = &set->plugin[i];
        if (!has_argument(p, NULL, "api") || !has_argument(p, NULL, "description") || p->shadowed_by)
            continue;
        if (!out->count)
            config_apis(c, out);
        p->apis = out;
    }
}

/* ---- one call */

struct call {
    const struct config_api *api;
    const struct plugin *plugin;
    bool seen[CONFIG_API_ARGUMENTS], base, secret, token_url;
    size_t members;
    struct json_writer own, with;
    struct buf own_text, with_text;
    struct fail *why;
};

static int find_api(const struct config_apis *a, const struct tl_json *name, const struct config_api **api,
                    struct fail *why) {
    AUTO_BUF struct buf text = BUF_INIT;
    const char *names[CONFIG_APIS_MAX];
    if (name->type != TL_JSON_STRING || json_text(name, &text) || !text.len)
        return fail_exit(why, TL_INVALID, EXIT_CONFIG, "argument api wants the name of an API");
    for (size_t i = 0; i < a->broken_count; i++)
        if (!a->broken[i].name)
            return fail_exit(why, TL_INVALID, EXIT_CONFIG, "nobody knows what the API %.64s is: %s", text.data,
                             a->broken[i].text);
    for (size_t i = 0; i < a->count; i++) {
        names[i] = (*api = &a->api[i])->name;
        if (span_eq(buf_span(&text), names[i]))
            return TL_OK;
    }
    for (size_t i = 0; i < a->broken_count; i++)
        if (span_eq(buf_span(&text), a->broken[i].name))
            return fail_exit(why, TL_INVALID, EXIT_CONFIG, "the description of the API %.64s is wrong: %s", text.data,
                             a->broken[i].text);
    const char *near = yaml_nearest(text.data, names, a->count);
    return fail_exit(why, TL_INVALID, EXIT_CONFIG,
                     "there is no API \"%.64s\"%s%s%s; descriptions are files NAME.yml in the folders of 'apis' in "
                     "trotline.yml",
                     text.data, near ? ": did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

static int unknown(struct call *c, const char *name) {
    const char *names[CONFIG_API_ARGUMENTS + 16];
    AUTO_BUF struct buf list = BUF_INIT;
    size_t n = 0;
    for (size_t i = 0; i < c->api->argument_count; i++) {
        names[n++] = c->api->argument[i].name;
        buf_printf(&list, "%s%s", i ? ", " : "", c->api->argument[i].name);
    }
    for (size_t i = 0; i < c->plugin->argument_count && n < COUNT_OF(names); i++)
        names[n++] = c->plugin->argument[i].name;
    const char *near = yaml_nearest(name, names, n);
    if (near)
        return fail_exit(c->why, TL_INVALID, EXIT_CONFIG, "API %s has no argument \"%.64s\": did you mean \"%s\"?",
                         c->api->name, name, near);
    return fail_exit(c->why, TL_INVALID, EXIT_CONFIG, "API %s has no argument \"%.64s\": it takes %s", c->api->name,
                     name, list.len ? list.data : "none");
}

static int take_own(struct call *c, const struct tl_json *member) {
    AUTO_BUF struct buf name = BUF_INIT;
    if (json_key(member, &name) || !name.len)
        return unknown(c, "");
    for (size_t i = 0; i < c->api->argument_count; i++) {
        if (!json_key_is(member, c->api->argument[i].name))
            continue;
        if (c->seen[i])
            return fail_exit(c->why, TL_INVALID, EXIT_CONFIG, "argument %s of API %s is given twice",
                             c->api->argument[i].name, c->api->name);
        if (member->type == TL_JSON_ARRAY || member->type == TL_JSON_OBJECT)
            return fail_exit(c->why, TL_INVALID, EXIT_CONFIG, "argument %s of API %s wants one value",
                             c->api->argument[i].name, c->api->name);
        c->seen[i] = member->type != TL_JSON_NULL;
        if (c->seen[i])
            json_member_raw(&c->with, c->api->argument[i].name, member->raw);
        return TL_OK;
    }
    return unknown(c, name.data);
}

static int take(struct call *c, const struct tl_json *member) {
    struct tl_json inner = {0};
    int rc = TL_OK;
    if (++c->members > MEMBERS_MOST)
        return fail_exit(c->why, TL_INVALID, EXIT_CONFIG, "there are too many arguments");
    if (json_key_is(member, "with") && member->type == TL_JSON_OBJECT) {
        while (!rc && json_next(member, &inner) == TL_OK)
            rc = ++c->members > MEMBERS_MOST ? TL_INVALID : take_own(c, &inner);
        return rc;
    }
    if (!has_argument(c->plugin, member, NULL))
        return take_own(c, member);
    bool given = member->type != TL_JSON_NULL;
    c->base = c->base || (given && json_key_is(member, "base"));
    c->secret = c->secret || (given && json_key_is(member, "secret"));
    c->token_url = c->token_url || (given && json_key_is(member, "token_url"));
    AUTO_BUF struct buf key = BUF_INIT;
    if (json_key(member, &key) == TL_OK) {
        json_put_key_span(&c->own, buf_span(&key));
        json_put_raw(&c->own, member->raw);
    }
    return TL_OK;
}

/* What the description says where the line says nothing. */
static int fill(struct call *c) {
    const struct config_api *api = c->api;
    for (size_t i = 0; i < api->argument_count; i++)
        if (api->argument[i].required && !c->seen[i])
            return fail_exit(c->why, TL_INVALID, EXIT_CONFIG, "argument %s of API %s is missing: it must be given",
                             api->argument[i].name, api->name);
    if (!c->base && !api->base)
        return fail_exit(c->why, TL_INVALID, EXIT_CONFIG,
                         "API %s has no address of its own: give 'base', such as base: https://search.example.org/",
                         api->name);
    if (!c->secret && !api->secret && api->secret_required)
        return fail_exit(c->why, TL_INVALID, EXIT_CONFIG,
                         "API %s wants a credential: give 'secret', the name of one in trotline.yml", api->name);
    if (!c->base)
        json_member_string(&c->own, "base", api->base);
    if (!c->secret && api->secret)
        json_member_string(&c->own, "secret", api->secret);
    if (!c->token_url && api->token_url)
        json_member_string(&c->own, "token_url", api->token_url);
    json_object_end(&c->with);
    json_member_raw(&c->own, "with", buf_span(&c->with_text));
    json_member_raw(&c->own, "description", api->json);
    json_object_end(&c->own);
    return TL_OK;
}

int config_apis_apply(const struct config_apis *a, const struct plugin *p, struct tl_span given, struct buf *out,
                      struct fail *why) {
    struct tl_json root, name, member = {0};
    struct call c = {.plugin = p, .why = why};
    bool readable = given.len && json_parse(given, &root) == TL_OK && root.type == TL_JSON_OBJECT;
    if (!readable || json_get(&root, "api", &name) || json_get(&root, "description", &member) == TL_OK) {
        buf_add(out, given.ptr, given.len); /* the table says what is wrong, or nothing is */
        return TL_OK;
    }
    int rc = find_api(a, &name, &c.api, why);
    c.own = (struct json_writer)JSON_WRITER(&c.own_text);
    c.with = (struct json_writer)JSON_WRITER(&c.with_text);
    json_object_begin(&c.own);
    json_object_begin(&c.with);
    member = (struct tl_json){0};
    while (!rc && json_next(&root, &member) == TL_OK)
        rc = take(&c, &member);
    if (!rc)
        rc = fill(&c);
    if (!rc)
        buf_add(out, c.own_text.data, c.own_text.len);
    buf_free(&c.own_text);
    buf_free(&c.with_text);
    return rc;
}
