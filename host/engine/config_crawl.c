/* config_crawl.c - crawl files: what to fetch, how far, and whom to tell.
 *
 * Invariant: `json`, by which an edited file is known, is the file as written (and --set), before {target.name} and its
 * like are filled in; credentials never stand in it, only names of secrets. */
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "engine/config_schema.h"
#include "fanin/week.h"
#include "net/credential.h"
#include "net/url.h"

enum { LINES_MAX = 100000, ROUTES_MAX = 1000, NAME_BYTES = 1000, FILLED_MAX = 64 * 1024, ARENA_MAX = 128 << 20 };

/* ---- tables ---- */

static int place_of(const struct yaml_node *n, int *line, int *column) {
    *line = n->line ? (int)n->line : 1;
    *column = n->line ? (int)n->column : 1;
    return TL_OK;
}

static int check_args(struct schema_reader *r, const struct yaml_node *n, void *at) {
    (void)at;
    return config_check_headers(r, n);
}

static int check_collector(struct schema_reader *r, const struct yaml_node *n, void *at) {
    (void)at;
    return schema_is_name(n->text) ? TL_OK : yaml_fail(r->err, n, "'%.60s' is no collector's name", n->text);
}

static const struct schema_key target_keys[] = {
    {"org", SCHEMA_TEXT, 0, offsetof(struct crawl, org), .min = 1, .max = NAME_BYTES,
     .help = "the organisation; a level of the path"},
    {"project", SCHEMA_TEXT, 0, offsetof(struct crawl, project), .min = 1, .max = NAME_BYTES,
     .help = "the project; a level of the path"},
    {"name", SCHEMA_TEXT, 0, offsetof(struct crawl, target), .min = 1, .max = NAME_BYTES, .help = "what is watched"},
    {"url", SCHEMA_TEXT, 0, offsetof(struct crawl, url), .min = 1, .max = 4096, .help = "where to begin with it"},
    {0},
};
static const struct schema target = {.what = "a target", .key = target_keys};

static void init_line(void *element) {
    struct crawl_line *l = element;
    leash_init(&l->leash);
}

static int check_line(struct schema_reader *r, const struct yaml_node *n, void *element) {
    struct crawl_line *l = element;
    (void)r;
    return place_of(n, &l->line, &l->column);
}

#define OF_LINE(part) offsetof(struct crawl_line, part)
static const struct schema_key line_keys[] = {
    {"collector", SCHEMA_TEXT, SCHEMA_REQUIRED, OF_LINE(collector), .min = 1, .max = 64, .check = check_collector,
     .help = "who fetches it, such as http"},
    {"args", SCHEMA_OBJECT, SCHEMA_LATER, OF_LINE(args), .check = check_args,
     .help = "the collector's arguments; {target.name}, {target.url}, {target.org}, {target.project} and {crawl} are "
             "filled in"},
    {"leash", SCHEMA_MAP, 0, OF_LINE(leash), .of = &schema_leash,
     .help = "for this line; it can only tighten the crawl's"},
    {"name", SCHEMA_TEXT, 0, OF_LINE(name), .min = 1, .max = NAME_BYTES,
     .help = "the result_context_name of its documents; the crawl's name when not given"},
    {0},
};
static const struct schema lines = {
    .what = "a line", .key = line_keys, .size = sizeof(struct crawl_line), .init = init_line, .check = check_line};

#define OF_ROUTE(part) offsetof(struct crawl_route, part)
static const struct schema_key on_keys[] = {
    {"collector", SCHEMA_TEXT, SCHEMA_REQUIRED, OF_ROUTE(on_collector), .min = 1, .max = 64, .check = check_collector,
     .help = "whose documents"},
    {"type", SCHEMA_TEXT, 0, OF_ROUTE(on_type), .min = 1, .max = NAME_BYTES,
     .help = "a dataset that they have; any when not given"},
    {0},
};
static const struct schema on = {.what = "'on'", .key = on_keys};

static int check_route(struct schema_reader *r, const struct yaml_node *n, void *element) {
    struct crawl_route *route = element;
    (void)r;
    return place_of(n, &route->line, &route->column);
}

static const struct schema_key route_keys[] = {
    {"on", SCHEMA_MAP, SCHEMA_REQUIRED, 0, .of = &on, .help = "which documents are meant"},
    {"collector", SCHEMA_TEXT, SCHEMA_REQUIRED, OF_ROUTE(collector), .min = 1, .max = 64, .check = check_collector,
     .help = "who is told"},
    {"args", SCHEMA_OBJECT, SCHEMA_LATER, OF_ROUTE(args), .check = check_args, .help = "its arguments"},
    {0},
};
static const struct schema routes = {
    .what = "an entry of 'react'", .key = route_keys, .size = sizeof(struct crawl_route), .check = check_route};

static int check_path(struct schema_reader *r, const struct yaml_node *n, void *at) {
    const char *path = config_path(r, n, n->text);
    memcpy(at, &path, sizeof path);
    return path ? TL_OK : schema_no_memory(r, n);
}

static int check_paths(struct schema_reader *r, const struct yaml_node *n, void *at) {
    const char **path;
    memcpy(&path, at, sizeof path); /* the list that was just made */
    YAML_EACH(item, n) {
        *path = config_path(r, item, item->text);
        if (!*path++)
            return schema_no_memory(r, item);
    }
    return TL_OK;
}

#define OF_FANIN(part) offsetof(struct crawl_fanin, part)
static const struct schema_key fanin_keys[] = {
    {"sources", SCHEMA_TEXT, SCHEMA_REQUIRED, OF_FANIN(sources), .min = 1, .max = 4096, .check = check_path,
     .help = "the file of sources and shards that are expected"},
    {"out", SCHEMA_TEXT, SCHEMA_REQUIRED, OF_FANIN(out), .min = 1, .max = 4096, .check = check_path,
     .help = "the folder where the merged documents are written"},
    {"week", SCHEMA_TEXT, 0, OF_FANIN(week), .min = 1, .max = 16,
     .help = "instead of run_context: an ISO week such as 2026-W23, or last"},
    {"topic", SCHEMA_TEXT, 0, OF_FANIN(topic), .min = 1, .max = 4096, .check = check_path,
     .help = "with week: the configuration of the topic"},
    {"code", SCHEMA_TEXTS, 0, OF_FANIN(code), .count_offset = OF_FANIN(code_count), .max = 1000, .check = check_paths,
     .help = "with week: files that make the result"},
    {0},
};
static const struct schema fanin = {.what = "'fanin'", .key = fanin_keys, .size = sizeof(struct crawl_fanin)};

#define OF(part) offsetof(struct crawl, part)
static const struct schema_key crawl_keys[] = {
    {"crawl", SCHEMA_TEXT, SCHEMA_REQUIRED, OF(name), .min = 1, .max = NAME_BYTES, .help = "the name of the crawl"},
    {"target", SCHEMA_MAP, 0, 0, .of = &target, .help = "what is watched, and for whom"},
    {"leash", SCHEMA_MAP, 0, OF(leash), .of = &schema_leash,
     .help = "how far it goes; where nothing is said: depth 3, fanout 1000, runs 10000, bytes 10GiB, time 24h"},
    {"lines", SCHEMA_LIST, SCHEMA_REQUIRED, OF(line), .count_offset = OF(line_count), .min = 1, .max = LINES_MAX,
     .of = &lines, .help = "what is fetched first"},
    {"react", SCHEMA_LIST, 0, OF(route), .count_offset = OF(route_count), .max = ROUTES_MAX, .of = &routes,
     .help = "who else is told about which documents"},
    {"run_context", SCHEMA_TEXT, 0, OF(run_context), .min = 1, .max = 4096, .check = check_path,
     .help = "a file of `trotline context`, which every run carries"},
    {"fanin", SCHEMA_MAP, 0, OF(fanin), .of = &fanin, .help = "how the lines' results are merged"},
    {0},
};
const struct schema schema_crawl = {.what = "a crawl", .key = crawl_keys, .size = sizeof(struct crawl)};

/* ---- credentials ---- */

/* secret:NAME, perhaps after the name of a scheme: "Bearer secret:NAME". */
static bool names_secret(const char *value) {
    static const char *const schemes[] = {"Bearer ", "Basic ", "Token "};
    for (size_t i = 0; i < COUNT_OF(schemes); i++)
        if (strncasecmp(value, schemes[i], strlen(schemes[i])) == 0) {
            value += strlen(schemes[i]);
            break;
        }
    return strncmp(value, "secret:", 7) == 0 && schema_is_name(value + 7);
}

static bool carries_credentials(const char *name, size_t len) {
    while (len && strchr(" \t\r\n", name[len - 1]))
        len--;
    return credential_header((struct tl_span){name, len});
}

/* The value itself is not shown: it is a secret. */
static int check_header(struct schema_reader *r, const struct yaml_node *at, const char *name, size_t len,
                        const char *value) {
    while (len && strchr(" \t\r\n", *name)) {
        name++;
        len--;
    }
    value += value ? strspn(value, " \t") : 0;
    if (!carries_credentials(name, len) || (value && names_secret(value)))
        return TL_OK;
    return yaml_fail(r->err, at,
                     "a credential must not stand here: write '%.*s: secret:NAME' and describe NAME under 'secrets' in "
                     "trotline.yml",
                     (int)(len < 40 ? len : 40), name);
}

/* "Name: value"; several lines of them are several headers. */
static int check_header_text(struct schema_reader *r, const struct yaml_node *n) {
    for (const char *line = n->text; *line;) {
        size_t len = strcspn(line, "\n"), colon = strcspn(line, ":\n");
        AUTO_FREE char *value = line[colon] == ':' ? mem_text_n(line + colon + 1, len - colon - 1) : NULL;
        int rc = value ? check_header(r, n, line, colon, value) : TL_OK;
        if (rc)
            return rc;
        line += len + (line[len] == '\n');
    }
    return TL_OK;
}

/* {Name: value, ...}, {name: Name, value: ...}; a value may be a list. */
static int check_header_map(struct schema_reader *r, const struct yaml_node *map) {
    const struct yaml_node *name = yaml_get(map, "name"), *of_name = yaml_get(map, "value");
    if (name && name->kind == YAML_SCALAR && of_name) {
        int rc = check_header(r, of_name, name->text, name->len, of_name->kind == YAML_SCALAR ? of_name->text : NULL);
        if (rc)
            return rc;
    }
    YAML_EACH(value, map) {
        const struct yaml_node *one = value->kind == YAML_LIST && value->first ? value->first : value;
        for (; one; one = one == value ? NULL : one->next) {
            int rc =
                check_header(r, one, value->key->text, value->key->len, one->kind == YAML_SCALAR ? one->text : NULL);
            if (rc)
                return rc;
        }
    }
    return TL_OK;
}

int config_check_headers(struct schema_reader *r, const struct yaml_node *args) {
    const struct yaml_node *headers = NULL;
    YAML_EACH(value, args)
    if (strcasecmp(value->key->text, "headers") == 0)
        headers = value;
    if (!headers)
        return TL_OK;
    if (headers->kind == YAML_MAP)
        return check_header_map(r, headers);
    if (headers->kind == YAML_SCALAR)
        return check_header_text(r, headers);
    YAML_EACH(item, headers) {
        int rc = item->kind == YAML_MAP      ? check_header_map(r, item)
                 : item->kind == YAML_SCALAR ? check_header_text(r, item)
                                             : TL_OK;
        if (rc)
            return rc;
    }
    return TL_OK;
}

/* ---- {target.name} and its like ---- */

struct filler {
    struct schema_reader *r;
    const struct crawl *crawl;
};

/* The value of a name in braces, which begins at `at`; *len: with its braces. TL_NOTFOUND: not ours, it stays as it is.
 */
static int lookup(const struct filler *f, const struct yaml_node *n, const char *at, size_t *len, const char **value) {
    const char *const words[] = {"target.name", "target.url", "target.org", "target.project", "crawl"};
    const char *const values[] = {f->crawl->target, f->crawl->url, f->crawl->org, f->crawl->project, f->crawl->name};
    char word[32];
    size_t inner = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz._");
    if (at[1 + inner] != '}' || inner >= sizeof word)
        return TL_NOTFOUND;
    *len = inner + 2;
    memcpy(word, at + 1, inner);
    word[inner] = '\0';
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        *value = values[i];
        if (strcmp(word, words[i]) == 0)
            return *value ? TL_OK
                          : yaml_fail(f->r->err, n, "{%s} stands here, but the crawl's target does not say it", word);
    }
    if (strncmp(word, "target.", 7) != 0)
        return TL_NOTFOUND;
    const char *near = yaml_nearest(word, words, COUNT_OF(words));
    return yaml_fail(f->r->err, n, "{%s} is not known; %s{%s}", word, near ? "did you mean " : "known is ",
                     near ? near : words[0]);
}

static int fill_text(const struct filler *f, struct yaml_node *n) {
    if (!strchr(n->text, '{'))
        return TL_OK;
    AUTO_BUF struct buf out = {.max = YAML_TEXT_MAX};
    bool changed = false;
    for (const char *at = n->text; *at;) {
        size_t len = strcspn(at, "{"), word;
        buf_add(&out, at, len);
        at += len;
        if (!*at)
            break;
        const char *value;
        int rc = lookup(f, n, at, &word, &value);
        if (rc && rc != TL_NOTFOUND)
            return rc;
        if (rc == TL_OK)
            buf_text(&out, value);
        else
            buf_char(&out, '{');
        at += rc == TL_OK ? word : 1;
        changed = changed || rc == TL_OK;
    }
    if (!changed)
        return TL_OK;
    if (out.full || out.len > FILLED_MAX)
        return yaml_fail(f->r->err, n, "with the names filled in this is over 64 KiB");
    n->text = arena_text(f->r->arena, out.data, out.len);
    n->len = out.len;
    n->quoted = true; /* it is a text now, whatever it looks like */
    return n->text ? TL_OK : schema_no_memory(f->r, n);
}

/* A tree is at most YAML_DEPTH levels deep, and a few more by --set. */
static int fill_tree(const struct filler *f, struct yaml_node *n) {
    if (n->kind == YAML_SCALAR)
        return fill_text(f, n);
    for (struct yaml_node *child = n->first; child; child = child->next) {
        int rc = fill_tree(f, child);
        if (rc)
            return rc;
    }
    return TL_OK;
}

static int fill_args(const struct filler *f, const struct yaml_node *entry, struct tl_span *out) {
    for (struct yaml_node *n = entry->first; n; n = n->next)
        if (strcmp(n->key->text, "args") == 0) {
            int rc = fill_tree(f, n);
            return rc ? rc : config_object(f->r, n, out);
        }
    return TL_OK;
}

/* ---- reading ---- */

static int keep_given(struct schema_reader *r, const struct yaml_node *entry, struct crawl_line *line) {
    static const char *const names[] = {"depth", "fanout", "runs", "bytes", "time", "hosts"};
    const struct yaml_node *leash = yaml_get(entry, "leash");
    AUTO_BUF struct buf json = BUF_INIT;
    unsigned given = 0;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        given |= yaml_get(leash, names[i]) ? 1u << i : 0;
    if (!given)
        return TL_OK;
    leash_json_given(&json, &line->leash, given);
    const char *text = arena_text(r->arena, json.data, json.len);
    line->leash_given = (struct tl_span){text, text ? json.len : 0};
    return text ? TL_OK : schema_no_memory(r, entry);
}

static int finish_entries(struct schema_reader *r, const struct yaml_node *root, struct crawl *out) {
    const struct filler f = {r, out};
    const struct yaml_node *react = yaml_get(root, "react");
    size_t i = 0;
    int rc = TL_OK;
    YAML_EACH(entry, yaml_get(root, "lines")) {
        struct crawl_line *line = &out->line[i++];
        rc = fill_args(&f, entry, &line->args);
        if (!rc)
            rc = keep_given(r, entry, line);
        if (rc)
            return rc;
    }
    i = 0;
    for (const struct yaml_node *entry = react ? react->first : NULL; entry && !rc; entry = entry->next)
        rc = fill_args(&f, entry, &out->route[i++].args);
    return rc;
}

/* The canonical form of a JSON text, and its digest. */
static int keep_json(struct crawl *out, struct tl_span json) {
    AUTO_BUF struct buf canonical = BUF_INIT;
    int rc = json_canonical(json, &canonical);
    const char *text = rc ? NULL : arena_text(&out->arena, canonical.data, canonical.len);
    if (!text)
        return rc ? rc : TL_FAILED;
    out->json = (struct tl_span){text, canonical.len};
    hash_hex(hash_sha256(text, canonical.len).byte, SHA256_BYTES, out->sha256);
    return TL_OK;
}

static int keep_tree(struct schema_reader *r, const struct yaml_node *root, struct crawl *out) {
    AUTO_BUF struct buf json = {.max = JSON_CANONICAL_MAX};
    return yaml_to_json(root, &json) || keep_json(out, buf_span(&json))
               ? yaml_fail(r->err, root, "the file is too large: over 1 MiB as JSON")
               : TL_OK;
}

/* The context comes from a file or is made by the crawl, not both; a leg never has one of its own. */
static int check_fanin(struct schema_reader *r, const struct yaml_node *root, const struct crawl *c) {
    const struct yaml_node *at = yaml_get(root, "fanin");
    struct week week;
    if (!at)
        return TL_OK;
    if (c->run_context && (c->fanin.week || c->fanin.topic || c->fanin.code))
        return yaml_fail(r->err, at, "'fanin' has no 'week', 'topic' or 'code' where the crawl has a 'run_context'");
    if (c->run_context)
        return TL_OK;
    if (!c->fanin.week || !c->fanin.topic)
        return yaml_fail(r->err, at,
                         "'fanin' needs a run context: give the crawl a 'run_context', or 'fanin' a 'week' "
                         "and a 'topic'");
    if (strcmp(c->fanin.week, "last") != 0 && week_parse(span_of(c->fanin.week), &week))
        return yaml_fail(r->err, yaml_get(at, "week"),
                         "'week' wants an ISO week that exists, such as 2026-W23, or last");
    return TL_OK;
}

int config_crawl_tree(struct schema_reader *r, const struct yaml_node *root, struct crawl *out) {
    int rc = schema_read(r, &schema_crawl, root, out);
    if (!rc)
        rc = check_fanin(r, root, out);
    if (!rc)
        rc = keep_tree(r, root, out);
    return rc ? rc : finish_entries(r, root, out);
}

static int fill(struct schema_reader *r, struct tl_span text, const char *const *set, size_t n, struct crawl *out) {
    struct yaml_node *root;
    int rc = yaml_parse(r->arena, out->file, text, &root, r->err);
    if (!rc)
        rc = config_set(r, set, n, &schema_crawl, &schema_config, &root);
    if (!rc && !root)
        rc = yaml_fail(r->err, NULL, "there is nothing here: a crawl needs the keys 'crawl' and 'lines'");
    if (!rc && root->kind != YAML_MAP)
        rc = yaml_fail(r->err, root, "a crawl file is a map of keys and values, such as crawl: NAME");
    if (!rc && yaml_get(root, "id") && yaml_get(root, "name") && !yaml_get(root, "crawl"))
        rc = yaml_fail(r->err, root,
                       "this is a target, not a crawl file: in the folder of targets, trotline run --due carries it "
                       "out, or trotline run --target ID");
    if (!rc)
        rc = config_crawl_tree(r, root, out);
    return rc;
}

void config_crawl_begin(struct crawl *out) {
    memset(out, 0, sizeof *out);
    out->arena.max = ARENA_MAX;
    leash_defaults(&out->leash);
}

static int crawl_text(const char *file_name, const char *folder, struct tl_span text, const char *const *set,
                      size_t set_count, struct crawl *out, struct fail *why) {
    struct yaml_error err = {0};
    AUTO_FREE char *working = config_folder("");
    config_crawl_begin(out);
    struct schema_reader r = {.arena = &out->arena, .err = &err, .folder = folder, .working = working};
    out->file = file_name ? arena_text(&out->arena, file_name, strlen(file_name)) : NULL;
    out->lock = true;
    int rc = fill(&r, text, set, set_count, out);
    if (!rc)
        return TL_OK;
    err.file = file_name ? file_name : "crawl";
    config_refuse(&err, set, set_count, rc, why);
    config_crawl_free(out);
    return rc;
}

int config_crawl_text(const char *file_name, struct tl_span text, const char *const *set, size_t set_count,
                      struct crawl *out, struct fail *why) {
    return crawl_text(file_name, "/", text, set, set_count, out, why);
}

int config_crawl(const char *path, const char *const *set, size_t set_count, struct crawl *out, struct fail *why) {
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *folder = config_folder(path);
    memset(out, 0, sizeof *out);
    int rc = config_read(path, &text, why);
    return rc ? rc : crawl_text(path, folder, buf_span(&text), set, set_count, out, why);
}

void config_crawl_free(struct crawl *c) {
    for (size_t i = 0; i < c->line_count; i++)
        leash_free(&c->line[i].leash);
    leash_free(&c->leash);
    arena_free(&c->arena);
    memset(c, 0, sizeof *c);
}

/* ---- URLs at hand ---- */

static int refuse_url(const char *text, struct fail *why) {
    bool bare = !strstr(text, "://") && strchr(text, '.') && text[0] != '/';
    return fail_exit(why, TL_INVALID, EXIT_USAGE, "'%.300s' is no http or https URL%s%.300s%s", text,
                     bare ? "; did you mean https://" : "", bare ? text : "", bare ? " ?" : "");
}

/* {"url": ..., and what http_args has beside it}. */
static int url_args(struct crawl *out, const char *text, struct tl_span http_args, struct tl_span *args,
                    struct fail *why) {
    AUTO_BUF struct buf json = {.max = YAML_TEXT_MAX};
    struct json_writer w = JSON_WRITER(&json);
    struct tl_json given = {0}, member = {0};
    if (http_args.len && (json_parse(http_args, &given) || given.type != TL_JSON_OBJECT))
        return fail_exit(why, TL_INVALID, EXIT_USAGE, "the arguments are no JSON object");
    json_object_begin(&w);
    json_member_string(&w, "url", text);
    while (http_args.len && json_next(&given, &member) == TL_OK) {
        AUTO_BUF struct buf key = BUF_INIT;
        if (json_key_is(&member, "url") || json_key(&member, &key))
            continue;
        json_put_key_span(&w, buf_span(&key));
        json_put_raw(&w, member.raw);
    }
    json_object_end(&w);
    const char *copy = json.full ? NULL : arena_text(&out->arena, json.data, json.len);
    *args = (struct tl_span){copy, copy ? json.len : 0};
    return copy ? TL_OK : fail_exit(why, TL_FAILED, EXIT_USAGE, "the arguments of the URLs are too large");
}

/* "example.org/docs" of https://example.org/docs/ */
static const char *name_of(struct crawl *out, const struct url *u) {
    AUTO_BUF struct buf name = BUF_INIT;
    buf_add(&name, u->host.ptr, u->host.len);
    buf_add(&name, u->path.ptr, u->path.len);
    size_t len = name.len;
    while (len && name.data[len - 1] == '/')
        len--;
    return arena_text(&out->arena, name.data, len > NAME_BYTES ? NAME_BYTES : len);
}

static int add_url(struct crawl *out, const char *text, struct tl_span http_args, struct fail *why) {
    AUTO_BUF struct buf href = BUF_INIT;
    struct url u;
    if (!utf8_valid(text, strlen(text)) || url_parse(&href, span_of(text), NULL, &u) || !u.host.len ||
        !(span_eq(u.scheme, "http") || span_eq(u.scheme, "https")))
        return refuse_url(text, why);
    if (!out->line_count)
        out->name = name_of(out, &u);
    struct crawl_line *line = &out->line[out->line_count++];
    *line = (struct crawl_line){.collector = "http", .line = 1, .column = 1};
    leash_init(&line->leash);
    return url_args(out, text, http_args, &line->args, why);
}

static int keep_urls(struct crawl *out) {
    AUTO_BUF struct buf json = {.max = JSON_CANONICAL_MAX};
    struct json_writer w = JSON_WRITER(&json);
    json_object_begin(&w);
    json_member_string(&w, "crawl", out->name);
    json_put_key(&w, "leash");
    AUTO_BUF struct buf leash = BUF_INIT;
    leash_json(&leash, &out->leash);
    json_put_raw(&w, buf_span(&leash));
    json_put_key(&w, "lines");
    json_array_begin(&w);
    for (size_t i = 0; i < out->line_count; i++) {
        json_object_begin(&w);
        json_member_string(&w, "collector", out->line[i].collector);
        json_member_raw(&w, "args", out->line[i].args);
        json_object_end(&w);
    }
    json_array_end(&w);
    json_object_end(&w);
    return json.full ? TL_FAILED : keep_json(out, buf_span(&json));
}

int config_crawl_urls(const char *const *url, size_t n, const struct leash *leash, struct tl_span http_args,
                      struct crawl *out, struct fail *why) {
    config_crawl_begin(out);
    if (!n || n > LINES_MAX)
        return fail_exit(why, TL_INVALID, EXIT_USAGE, "one to %d URLs are wanted", LINES_MAX);
    if (leash)
        leash_copy(&out->leash, leash);
    out->line = arena_alloc(&out->arena, n * sizeof *out->line);
    int rc = out->line ? TL_OK : fail_exit(why, TL_FAILED, EXIT_USAGE, "too many URLs");
    for (size_t i = 0; i < n && !rc; i++)
        rc = add_url(out, url[i], http_args, why);
    if (!rc && keep_urls(out))
        rc = fail_exit(why, TL_FAILED, EXIT_USAGE,
                       "the URLs and their arguments are too large, or an argument stands twice");
    if (rc)
        config_crawl_free(out);
    return rc;
}

/* Made again in the same way; if that gives the same text, it was made in that way. */
static int recorded(struct tl_span json, const char **url, struct leash *leash, struct crawl *out) {
    struct tl_json root, member, list, line = {0}, args;
    struct tl_span http_args = {0};
    size_t n = 0;
    int rc = json_parse(json, &root);
    if (rc || json_get(&root, "leash", &member) || leash_from_json(leash, member.raw, NULL) ||
        json_get(&root, "lines", &list) || list.type != TL_JSON_ARRAY)
        return TL_NOTFOUND;
    while (json_next(&list, &line) == TL_OK) {
        AUTO_BUF struct buf text = BUF_INIT;
        if (n == LINES_MAX || json_get(&line, "args", &args) || json_get(&args, "url", &member) ||
            member.type != TL_JSON_STRING || json_text(&member, &text) || !text.len)
            return TL_NOTFOUND;
        http_args = args.raw;
        url[n++] = mem_text(text.data);
    }
    return config_crawl_urls(url, n, leash, http_args, out, NULL) ? TL_NOTFOUND : TL_OK;
}

int config_crawl_recorded(struct tl_span json, const char *sha256, struct crawl *out) {
    const char **url = mem_array(NULL, LINES_MAX, sizeof *url);
    struct leash leash;
    memset(url, 0, LINES_MAX * sizeof *url);
    leash_defaults(&leash);
    int rc = recorded(json, url, &leash, out);
    if (!rc && strcmp(out->sha256, sha256) != 0) {
        config_crawl_free(out);
        rc = TL_NOTFOUND;
    }
    for (size_t i = 0; i < LINES_MAX; i++)
        free((char *)(uintptr_t)url[i]);
    free(url);
    leash_free(&leash);
    return rc;
}
