/* config_apis.c - see config_apis.h. */
#include "engine/config_apis.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "engine/apis_builtin.h"
#include "engine/config_schema.h"
#include "net/url.h"

enum { ARENA_MAX = 64 << 20, URL_LONG = 2000, TEXT_LONG = 4096 };

/* ---- keys */

static int check_name(struct schema_reader *r, const struct yaml_node *n, void *at) {
    (void)at;
    return n->text[0] >= 'a' && n->text[0] <= 'z' && strspn(n->text, "abcdefghijklmnopqrstuvwxyz0123456789_") == n->len
               ? TL_OK
               : yaml_fail(r->err, n, "an API's name wants small letters, digits and '_', such as hn_algolia");
}

static int check_argument_name(struct schema_reader *r, const struct yaml_node *key, const char **name) {
    if (key->len > 40 || !key->len || strspn(key->text, "abcdefghijklmnopqrstuvwxyz0123456789_") != key->len)
        return yaml_fail(r->err, key, "an argument's name wants small letters, digits and '_', not '%.60s'", key->text);
    *name = key->text;
    return TL_OK;
}

static int check_url(struct schema_reader *r, const struct yaml_node *n, void *at) {
    AUTO_BUF struct buf href = BUF_INIT;
    struct url u;
    (void)at;
    bool good = url_parse(&href, (struct tl_span){n->text, n->len}, NULL, &u) == TL_OK && u.has_host && u.host.len &&
                (span_eq(u.scheme, "https") || span_eq(u.scheme, "http")) && !u.username.len && !u.password.len;
    return good ? TL_OK : yaml_fail(r->err, n, "'%s' wants an http or https URL, not '%.80s'", n->key->text, n->text);
}

/* It is put behind the base, which a line may replace. */
static int check_relative(struct schema_reader *r, const struct yaml_node *n, void *at) {
    (void)at;
    if (strstr(n->text, "://") || n->text[0] == '/')
        return yaml_fail(r->err, n, "'url' is put behind 'base': write its path without a slash in front");
    return strpbrk(n->text, "?#") ? yaml_fail(r->err, n, "parameters stand under 'query', not in 'url'") : TL_OK;
}

static int check_pointer(struct schema_reader *r, const struct yaml_node *n, void *at) {
    struct tl_json v;
    (void)at;
    return json_find(span_of("null"), n->text, &v) != TL_INVALID
               ? TL_OK
               : yaml_fail(r->err, n, "'%s' wants a JSON pointer such as /data/items", n->key->text);
}

static int check_header_name(struct schema_reader *r, const struct yaml_node *n, void *at) {
    (void)at;
    return strspn(n->text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == n->len
               ? TL_OK
               : yaml_fail(r->err, n, "'%s' wants the name of a header, such as Retry-After", n->key->text);
}

static int check_texts(struct schema_reader *r, const struct yaml_node *n, void *at) {
    (void)at;
    YAML_EACH(item, n)
    if (item->kind != YAML_SCALAR)
        return yaml_fail(r->err, item, "'%s' wants one value for each name", n->key->text);
    return TL_OK;
}

static int check_explain(struct schema_reader *r, const struct yaml_node *n, void *at) {
    YAML_EACH(item, n) {
        const char *key = item->key->text;
        bool status = strlen(key) == 3 && key[0] >= '3' && key[0] <= '5' && strspn(key, "0123456789") == 3;
        if (!status && strcmp(key, "other") != 0)
            return yaml_fail(r->err, item->key,
                             "'explain' wants a status that is no success, such as 403, or 'other', not '%.60s'", key);
    }
    return check_texts(r, n, at);
}

#define OF_ARGUMENT(part) .offset = offsetof(struct config_api_argument, part)
static const struct schema_key argument_keys[] = {
    {"required", SCHEMA_BOOL, 0, OF_ARGUMENT(required), .dflt = "false", .help = "it must be given"},
    {"default", SCHEMA_TEXT, 0, OF_ARGUMENT(dflt), .min = 0, .max = TEXT_LONG,
     .help = "when it is not given; {target.name} and its like are filled in"},
    {"about", SCHEMA_TEXT, 0, OF_ARGUMENT(about), .min = 1, .max = 300, .help = "one line for readers"},
    {0},
};
static const struct schema arguments = {.what = "an argument",
                                        .key = argument_keys,
                                        .size = sizeof(struct config_api_argument),
                                        .name = check_argument_name};

#define OF(part) .offset = offsetof(struct config_api_read, part)
static const struct schema_key secret_keys[] = {
    {"as", SCHEMA_CHOICE, SCHEMA_REQUIRED, OF(secret.as), .words = "header|query|bearer|basic|oauth2",
     .help = "how it is shown: a header or a parameter of its own, Authorization, or a token that is got for it"},
    {"name", SCHEMA_TEXT, 0, OF(secret.name), .min = 1, .max = 100, .help = "of the header or parameter"},
    {"user", SCHEMA_TEXT, 0, OF(secret.user), .min = 1, .max = 200, .help = "of basic: the secret is the password"},
    {"from", SCHEMA_TEXT, 0, OF(secret.from), .min = 1, .max = 64,
     .help = "name of a secret in trotline.yml, unless the line names one"},
    {"required", SCHEMA_BOOL, 0, OF(secret.required), .dflt = "true", .help = "false: it also answers without"},
    {"token_url", SCHEMA_TEXT, 0, OF(secret.token_url), .min = 1, .max = URL_LONG, .check = check_url,
     .help = "of oauth2: where a token is got for it"},
    {"client_id", SCHEMA_TEXT, 0, OF(secret.client_id), .min = 1, .max = 300, .help = "of oauth2"},
    {"scope", SCHEMA_TEXT, 0, OF(secret.scope), .min = 1, .max = 1000, .help = "of oauth2"},
    {0},
};
static int check_secret(struct schema_reader *r, const struct yaml_node *n, void *at) {
    struct config_api_read *d = at;
    if (d->secret.as <= 1 && !d->secret.name)
        return yaml_fail(r->err, n, "a secret that is shown as a header or a parameter needs its 'name'");
    if (d->secret.as == 3 && !d->secret.user)
        return yaml_fail(r->err, n, "'as: basic' needs the 'user' whose password the secret is");
    if (d->secret.as == 4 && (!d->secret.token_url || !d->secret.client_id))
        return yaml_fail(r->err, n, "'as: oauth2' needs 'token_url' and 'client_id'");
    return TL_OK;
}
static const struct schema secret = {.what = "'secret'", .key = secret_keys, .check = check_secret};

static const struct schema_key page_keys[] = {
    {"by", SCHEMA_CHOICE, SCHEMA_REQUIRED, OF(pages.by), .words = "none|link|next|cursor|page|offset",
     .help = "how the next page is asked for: not at all, by the Link header, by a URL in the answer, by a cursor in "
             "the answer, by the page's number, by the number of items before it"},
    {"at", SCHEMA_TEXT, 0, OF(pages.at), .min = 1, .max = 300, .check = check_pointer,
     .help = "of next and cursor: JSON pointer to it"},
    {"start", SCHEMA_TEXT, 0, OF(pages.cursor), .min = 1, .max = 300, .help = "the first cursor, such as \"*\""},
    {"first", SCHEMA_INT, 0, OF(pages.first), .min = 0, .max = 1000000, .dflt = "0",
     .help = "number of the first page, or offset of the first item"},
    {"size", SCHEMA_INT, 0, OF(pages.size), .min = 0, .max = 100000, .dflt = "0",
     .help = "items that a page holds when it is full: {size}"},
    {"total", SCHEMA_TEXT, 0, OF(pages.total), .min = 1, .max = 300, .check = check_pointer,
     .help = "JSON pointer to the number of items in all"},
    {"count", SCHEMA_TEXT, 0, OF(pages.count), .min = 1, .max = 300, .check = check_pointer,
     .help = "JSON pointer to the number of pages in all"},
    {"most", SCHEMA_INT, 0, OF(pages.most), .min = 1, .max = 1000, .dflt = "10",
     .help = "pages of one run, unless the line says it"},
    {"continue", SCHEMA_BOOL, 0, OF(pages.go_on), .dflt = "false",
     .help = "a list that was cut goes on with the next crawl"},
    {0},
};
static int check_pages(struct schema_reader *r, const struct yaml_node *n, void *at) {
    struct config_api_read *d = at;
    return (d->pages.by == 2 || d->pages.by == 3) && !d->pages.at
               ? yaml_fail(r->err, n, "'at' is missing: the JSON pointer to the next page's URL or cursor")
               : TL_OK;
}
static const struct schema pages = {.what = "'pages'", .key = page_keys, .check = check_pages};

static const struct schema_key limit_keys[] = {
    {"remaining", SCHEMA_TEXT, 0, OF(limits.remaining), .min = 1, .max = 100, .check = check_header_name,
     .help = "header with the number of requests that are left"},
    {"reset", SCHEMA_TEXT, 0, OF(limits.reset), .min = 1, .max = 100, .check = check_header_name,
     .help = "header that says when there are new ones"},
    {"reset_is", SCHEMA_CHOICE, 0, OF(limits.reset_is), .words = "seconds|unix|unix_ms", .dflt = "seconds",
     .help = "from now, or since 1970"},
    {"limit", SCHEMA_TEXT, 0, OF(limits.limit), .min = 1, .max = 100, .check = check_header_name,
     .help = "header with the number of requests that an interval allows"},
    {"interval", SCHEMA_TEXT, 0, OF(limits.interval), .min = 1, .max = 100, .check = check_header_name,
     .help = "header with the interval: 1s, 1m, 1h, or seconds"},
    {0},
};
static const struct schema limits = {.what = "'limits'", .key = limit_keys};

static const struct schema_key child_keys[] = {
    {"collector", SCHEMA_TEXT, SCHEMA_REQUIRED, OF(children.collector), .min = 1, .max = 64, .help = "who gets it"},
    {"args", SCHEMA_OBJECT, SCHEMA_REQUIRED, OF(children.args), .check = check_texts,
     .help = "its arguments; {/POINTER} is a value of the item"},
    {"leash", SCHEMA_OBJECT, 0, OF(children.leash), .help = "for it; can only tighten"},
    {0},
};
static const struct schema children = {.what = "'children'", .key = child_keys};

static const struct schema_key api_keys[] = {
    {"api", SCHEMA_TEXT, SCHEMA_REQUIRED, OF(name), .min = 1, .max = 64, .check = check_name,
     .help = "its name, by which lines ask for it"},
    {"about", SCHEMA_TEXT, 0, OF(about), .min = 1, .max = 1000, .help = "one line for readers"},
    {"base", SCHEMA_TEXT, 0, OF(base), .min = 1, .max = URL_LONG, .check = check_url,
     .help = "where the API is; without it a line must say it"},
    {"url", SCHEMA_TEXT, 0, OF(url), .min = 0, .max = URL_LONG, .check = check_relative,
     .help = "path below base, a template"},
    {"query", SCHEMA_OBJECT, 0, OF(query), .check = check_texts,
     .help = "parameters, templates; one that names what is not given is left out"},
    {"method", SCHEMA_CHOICE, 0, OF(method), .words = "GET|POST|PUT", .dflt = "GET", .help = "of the request"},
    {"headers", SCHEMA_OBJECT, 0, OF(headers), .check = check_texts, .help = "of the request, templates"},
    {"body", SCHEMA_TEXT, SCHEMA_LINES, OF(body), .min = 1, .max = TEXT_LONG, .help = "of the request, a template"},
    {"body_type", SCHEMA_CHOICE, 0, OF(body_type), .words = "json|form|text", .dflt = "json",
     .help = "what the body is, by which values in it are encoded"},
    {"arguments", SCHEMA_NAMED, 0, OF(argument), .count_offset = offsetof(struct config_api_read, argument_count),
     .max = CONFIG_API_ARGUMENTS, .of = &arguments, .help = "that lines give, by name"},
    {"secret", SCHEMA_MAP, 0, 0, .of = &secret, .help = "the credential that it wants"},
    {"answer", SCHEMA_CHOICE, 0, OF(answer), .words = "json|xml|text", .dflt = "json", .help = "what it answers with"},
    {"items", SCHEMA_TEXT, 0, OF(items), .min = 0, .max = 300, .check = check_pointer,
     .help = "JSON pointer to the array of items; of XML, the path to one: /feed/entry"},
    {"error", SCHEMA_TEXT, 0, OF(error), .min = 1, .max = 300, .check = check_pointer,
     .help = "JSON pointer to what an answer has only when it failed"},
    {"explain", SCHEMA_OBJECT, 0, OF(explain), .check = check_explain,
     .help = "what a status means here, or `other`: an answer that is not of its kind; told with the failure"},
    {"pages", SCHEMA_MAP, 0, 0, .of = &pages, .help = "how its list goes on"},
    {"limits", SCHEMA_MAP, 0, 0, .of = &limits, .help = "headers by which it says how fast it may be asked"},
    {"children", SCHEMA_MAP, 0, 0, .of = &children, .help = "what each item leads to, when the line says follow: true"},
    {0},
};
const struct schema schema_apis = {.what = "a description", .key = api_keys, .size = sizeof(struct config_api_read)};

/* ---- reading */

static bool is_taken(const struct config_apis *a, const char *name) {
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->api[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < a->broken_count; i++)
        if (a->broken[i].name && strcmp(a->broken[i].name, name) == 0)
            return true;
    return false;
}

static int keep(struct config_apis *out, const struct config_api_read *d, struct tl_span json, const char *file,
                struct fail *why) {
    if (is_taken(out, d->name))
        return TL_OK; /* the first of a name wins */
    if (out->count == CONFIG_APIS_MAX)
        return fail_exit(why, TL_INVALID, EXIT_CONFIG, "%s: there are more than %d descriptions of APIs", file,
                         CONFIG_APIS_MAX);
    out->api = mem_array(out->api, out->count + 1, sizeof *out->api);
    out->api[out->count++] = (struct config_api){.name = d->name,
                                                 .about = d->about,
                                                 .base = d->base,
                                                 .secret = d->secret.from,
                                                 .token_url = d->secret.token_url,
                                                 .secret_required = d->secret.as >= 0 && d->secret.required,
                                                 .argument = d->argument,
                                                 .argument_count = d->argument_count,
                                                 .json = json};
    return TL_OK;
}

/* declared: appends the name that it gives itself, although it may be refused. */
static int read_text(struct config_apis *out, const char *file, struct tl_span text, struct buf *declared,
                     struct fail *why) {
    struct yaml_error err = {0};
    struct yaml_node *root = NULL;
    struct config_api_read d = {.secret.as = -1, .pages.by = -1};
    struct schema_reader r = {.arena = &out->arena, .err = &err, .folder = "/", .working = "/"};
    struct tl_span json = {0};
    const char *name = arena_text(&out->arena, file, strlen(file));
    out->arena.max = ARENA_MAX;
    int rc = yaml_parse(&out->arena, name, text, &root, &err);
    if (!rc && (!root || root->kind != YAML_MAP))
        rc = yaml_fail(&err, root, "a description is a map of 'api', 'base', 'url', 'query' and so on");
    const struct yaml_node *api = rc ? NULL : yaml_get(root, "api");
    if (api && api->kind == YAML_SCALAR && declared)
        buf_text(declared, api->text);
    if (!rc)
        rc = schema_read(&r, &schema_apis, root, &d);
    if (!rc)
        rc = config_check_headers(&r, root);
    if (!rc)
        rc = config_api_names(&r, root, &d);
    if (!rc)
        rc = config_api_json(&r, root, &d, &json);
    if (rc) {
        err.file = name;
        return config_refuse(&err, NULL, 0, rc, why);
    }
    return keep(out, &d, json, name, why);
}

int config_apis_text(struct config_apis *out, const char *file, struct tl_span text, struct fail *why) {
    return read_text(out, file, text, NULL, why);
}

static void note_broken(struct config_apis *out, const char *name, const struct fail *why) {
    out->broken = mem_array(out->broken, out->broken_count + 1, sizeof *out->broken);
    out->broken[out->broken_count++] =
        (struct config_api_broken){.name = name ? mem_text(name) : NULL, .text = mem_text(why->text)};
}

/* Its name is what it says, or what the file is called. */
static int take_file(void *ctx, const char *path, const struct tl_span *text, struct fail *why) {
    AUTO_BUF struct buf declared = {.max = 200};
    const char *last = strrchr(path, '/');
    if (text && read_text(ctx, path, *text, &declared, why) == TL_OK)
        return TL_OK;
    if (!declared.len || declared.full) {
        buf_reset(&declared);
        buf_printf(&declared, "%.*s", (int)(strlen(last + 1) - 4), last + 1);
    }
    note_broken(ctx, declared.data, why);
    *why = (struct fail)FAIL_INIT;
    return TL_OK;
}

void config_apis(const struct config *c, struct config_apis *out) {
    *out = (struct config_apis){0};
    for (const char *const *folder = c->apis; folder && *folder; folder++) {
        struct fail why = FAIL_INIT;
        if (config_declared(*folder, "apis", CONFIG_APIS_MAX, take_file, out, &why))
            note_broken(out, NULL, &why);
    }
    for (size_t i = 0; i < COUNT_OF(apis_builtin); i++)
        config_apis_text(out, apis_builtin[i].file, span_of(apis_builtin[i].text), NULL);
}

void config_apis_free(struct config_apis *a) {
    for (size_t i = 0; i < a->broken_count; i++) {
        free(a->broken[i].name);
        free(a->broken[i].text);
    }
    free(a->broken);
    free(a->api);
    arena_free(&a->arena);
    *a = (struct config_apis){0};
}
