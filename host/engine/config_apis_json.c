/* config_apis_json.c - a description of an API in the form that a collector gets, once its templates are known to name
 * only what there is. */
#include <string.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "engine/config_apis.h"
#include "engine/config_schema.h"

/* ---- names in templates */

static const char *const own_names[] = {"target.name", "target.org", "target.project", "crawl",
                                        "page",        "offset",     "cursor",         "size"};
enum { OWN = COUNT_OF(own_names), OF_LINE = 4 }; /* the first four are known before anything is asked */

static int check_word(struct schema_reader *r, const struct yaml_node *n, const struct config_api_read *d,
                      const char *word) {
    const char *names[OWN + CONFIG_API_ARGUMENTS];
    size_t count = d ? OWN : OF_LINE;
    memcpy(names, own_names, sizeof own_names);
    for (size_t i = 0; d && i < d->argument_count; i++)
        names[count++] = d->argument[i].name;
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], word) == 0)
            return TL_OK;
    const char *near = yaml_nearest(word, names, count);
    return near ? yaml_fail(r->err, n, "{%s} is not known; did you mean {%s}?", word, near)
                : yaml_fail(r->err, n, "{%s} is no argument of this API; describe it under 'arguments'", word);
}

/* Braces around anything but a name are themselves. d NULL: only what a line knows. */
static int check_template(struct schema_reader *r, const struct yaml_node *n, const struct config_api_read *d) {
    char word[64];
    for (const char *at = n ? strchr(n->text, '{') : NULL; at; at = strchr(at + 1, '{')) {
        size_t len = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz0123456789_.");
        if (!len || len >= sizeof word || at[1 + len] != '}')
            continue;
        memcpy(word, at + 1, len);
        word[len] = '\0';
        int rc = check_word(r, n, d, word);
        if (rc)
            return rc;
    }
    return TL_OK;
}

static int check_templates(struct schema_reader *r, const struct yaml_node *map, const struct config_api_read *d) {
    int rc = TL_OK;
    for (const struct yaml_node *n = map ? map->first : NULL; n && !rc; n = n->next)
        rc = check_template(r, n, d);
    return rc;
}

int config_api_names(struct schema_reader *r, const struct yaml_node *root, const struct config_api_read *d) {
    static const char *const taken[] = {"api", "base", "with", "secret", "pages", "follow", "token_url", "description"};
    const struct yaml_node *arguments = yaml_get(root, "arguments");
    int rc = check_template(r, yaml_get(root, "url"), d);
    if (!rc)
        rc = check_templates(r, yaml_get(root, "query"), d);
    if (!rc)
        rc = check_templates(r, yaml_get(root, "headers"), d);
    if (!rc)
        rc = check_template(r, yaml_get(root, "body"), d);
    for (const struct yaml_node *n = arguments ? arguments->first : NULL; n && !rc; n = n->next) {
        for (size_t i = 0; i < COUNT_OF(taken); i++)
            if (strcmp(n->key->text, taken[i]) == 0)
                return yaml_fail(r->err, n->key, "'%s' is an argument that every API has: another name is wanted",
                                 taken[i]);
        rc = check_template(r, yaml_get(n, "default"), NULL);
    }
    return rc;
}

/* ---- writing */

static void put(struct json_writer *w, const char *key, const char *text) {
    if (text)
        json_member_string(w, key, text);
}

static void put_raw(struct json_writer *w, const char *key, struct tl_span json) {
    if (json.len)
        json_member_raw(w, key, json);
}

static void put_arguments(struct json_writer *w, const struct config_api_read *d) {
    json_put_key(w, "arguments");
    json_object_begin(w);
    for (size_t i = 0; i < d->argument_count; i++) {
        json_put_key(w, d->argument[i].name);
        json_object_begin(w);
        put(w, "default", d->argument[i].dflt);
        if (d->argument[i].required)
            json_member_bool(w, "required", true);
        json_object_end(w);
    }
    json_object_end(w);
}

static void put_secret(struct json_writer *w, const struct config_api_read *d) {
    static const char *const kinds[] = {"header", "query", "bearer", "basic", "oauth2"};
    if (d->secret.as < 0)
        return;
    json_put_key(w, "secret");
    json_object_begin(w);
    put(w, "as", kinds[d->secret.as]);
    put(w, "name", d->secret.name);
    put(w, "user", d->secret.user);
    put(w, "client_id", d->secret.client_id);
    put(w, "scope", d->secret.scope);
    json_member_bool(w, "required", d->secret.required);
    json_object_end(w);
}

static void put_pages(struct json_writer *w, const struct config_api_read *d) {
    static const char *const kinds[] = {"none", "link", "next", "cursor", "page", "offset"};
    json_put_key(w, "pages");
    json_object_begin(w);
    put(w, "by", kinds[d->pages.by < 0 ? 0 : d->pages.by]);
    put(w, "at", d->pages.at);
    put(w, "start", d->pages.cursor);
    put(w, "total", d->pages.total);
    put(w, "count", d->pages.count);
    json_member_int(w, "first", d->pages.first);
    json_member_int(w, "size", d->pages.size);
    json_member_int(w, "most", d->pages.most);
    if (d->pages.go_on)
        json_member_bool(w, "continue", true);
    json_object_end(w);
}

static void put_limits(struct json_writer *w, const struct config_api_read *d) {
    static const char *const kinds[] = {"seconds", "unix", "unix_ms"};
    json_put_key(w, "limits");
    json_object_begin(w);
    put(w, "remaining", d->limits.remaining);
    put(w, "reset", d->limits.reset);
    put(w, "reset_is", kinds[d->limits.reset_is]);
    put(w, "limit", d->limits.limit);
    put(w, "interval", d->limits.interval);
    json_object_end(w);
}

int config_api_json(struct schema_reader *r, const struct yaml_node *root, const struct config_api_read *d,
                    struct tl_span *out) {
    static const char *const methods[] = {"GET", "POST", "PUT"}, *const answers[] = {"json", "xml", "text"},
                             *const bodies[] = {"json", "form", "text"};
    AUTO_BUF struct buf text = {.max = YAML_TEXT_MAX};
    struct json_writer w = JSON_WRITER(&text);
    json_object_begin(&w);
    put(&w, "name", d->name);
    put(&w, "method", methods[d->method]);
    put(&w, "url", d->url);
    put_raw(&w, "query", d->query);
    put_raw(&w, "headers", d->headers);
    put(&w, "body", d->body);
    put(&w, "body_type", bodies[d->body_type]);
    put(&w, "answer", answers[d->answer]);
    put(&w, "items", d->items);
    put(&w, "error", d->error);
    put_raw(&w, "explain", d->explain);
    put_arguments(&w, d);
    put_secret(&w, d);
    put_pages(&w, d);
    put_limits(&w, d);
    if (d->children.collector) {
        json_put_key(&w, "children");
        json_object_begin(&w);
        put(&w, "collector", d->children.collector);
        put_raw(&w, "args", d->children.args);
        put_raw(&w, "leash", d->children.leash);
        json_object_end(&w);
    }
    json_object_end(&w);
    if (text.full || text.len > CONFIG_API_JSON_MAX)
        return yaml_fail(r->err, root, "this description is too long: over %d KiB", CONFIG_API_JSON_MAX / 1024);
    const char *copy = arena_text(r->arena, text.data, text.len);
    *out = (struct tl_span){copy, text.len};
    return copy ? TL_OK : schema_no_memory(r, root);
}
