/* discovery.c - see discovery.h. */
#include "engine/discovery.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/times.h"
#include "base/utf8.h"
#include "engine/config_schema.h"
#include "net/url.h"

enum {
    RULES_MAX = 200,
    PATTERNS_MAX = 10000,
    WHERE_MAX = 16,
    VALUES_MAX = 200,
    TEXT_MOST = 1000,
    NAME_MOST = 200,
    PATTERN_MOST = 4096
};

static const char usual_rules[] =
    "count:\n"
    "  - {type: http_link, column: to_url, as: host, where: {same_site: false, source: a}}\n"
    "watch:\n"
    "  - {type: http_page, column: title, lines: true}\n"
    "  - {type: http_page, column: status, lines: true}\n";

/* ---- tables */

static int check_template(struct schema_reader *r, const struct yaml_node *n, void *at) {
    const char *path = config_path(r, n, n->text);
    memcpy(at, &path, sizeof path);
    return path ? TL_OK : schema_no_memory(r, n);
}

#define KINDS         "host|url|urn|name"
#define OF_RULE(part) offsetof(struct discovery_rule, part)
static const struct schema_key rule_keys[] = {
    {"type", SCHEMA_TEXT, 0, OF_RULE(type_name), .min = 1, .max = 64, .help = "a type of trotline-types(5)"},
    {"column", SCHEMA_TEXT, 0, OF_RULE(column_name), .min = 1, .max = 64, .help = "its column that names candidates"},
    {"as", SCHEMA_CHOICE, 0, OF_RULE(as), .words = KINDS, .dflt = "host", .help = "what is made of its value"},
    {"where", SCHEMA_OBJECT, 0, OF_RULE(where_given),
     .help = "only rows in which columns have these values, or one of "
             "a list of them; * stands for anything"},
    {"urn", SCHEMA_TEXT, 0, OF_RULE(urn), .min = 1, .max = TEXT_MOST,
     .help = "instead of type and column: entities that links lead to, by a pattern"},
    {"score", SCHEMA_INT, 0, OF_RULE(score), .min = 1, .max = 1000, .dflt = "1",
     .help = "what a page with it is worth"},
    {0},
};

static int check_rule(struct schema_reader *r, const struct yaml_node *n, void *element) {
    const struct discovery_rule *rule = element;
    if (!rule->urn && (!rule->type_name || !rule->column_name))
        return yaml_fail(r->err, n, "a rule needs 'type' and 'column', or 'urn'");
    if (rule->urn && (rule->type_name || rule->column_name || rule->where_given.len))
        return yaml_fail(r->err, n, "a rule with 'urn' has no 'type', 'column' or 'where'");
    return TL_OK;
}
static const struct schema rules = {
    .what = "a rule", .key = rule_keys, .size = sizeof(struct discovery_rule), .check = check_rule};

#define OF_REACT(part) offsetof(struct discovery_reaction, part)
static const struct schema_key on_keys[] = {
    {"type", SCHEMA_TEXT, SCHEMA_REQUIRED, OF_REACT(rule.type_name), .min = 1, .max = 64,
     .help = "a type of trotline-types(5)"},
    {"where", SCHEMA_OBJECT, 0, OF_REACT(rule.where_given), .help = "as in a rule"},
    {0},
};
static const struct schema on = {.what = "'on'", .key = on_keys};

/* It goes into the target as it stands: what would not do there is said here, where it can be mended. */
static int check_every(struct schema_reader *r, const struct yaml_node *n, void *at) {
    int64_t us = 0;
    (void)at;
    bool good = strcmp(n->text, "none") == 0 || (time_parse_duration(span_of(n->text), &us) == TL_OK && us >= 1000000);
    return good ? TL_OK
                : yaml_fail(r->err, n, "'%.40s' is no time such as 6h or 7d, of 1s at least, and not none", n->text);
}

static int check_name(struct schema_reader *r, const struct yaml_node *n, void *at) {
    (void)at;
    return schema_is_name(n->text) ? TL_OK : yaml_fail(r->err, n, "'%.60s' is no name of a reaction", n->text);
}

static const struct schema_key react_keys[] = {
    {"name", SCHEMA_TEXT, SCHEMA_REQUIRED, OF_REACT(name), .min = 1, .max = 64, .check = check_name,
     .help = "by which its promotions are recorded"},
    {"on", SCHEMA_MAP, SCHEMA_REQUIRED, 0, .of = &on, .help = "new rows of a type"},
    {"column", SCHEMA_TEXT, SCHEMA_REQUIRED, OF_REACT(rule.column_name), .min = 1, .max = 64,
     .help = "that names what is promoted"},
    {"as", SCHEMA_CHOICE, 0, OF_REACT(rule.as), .words = KINDS, .dflt = "host", .help = "as in a rule"},
    {"score", SCHEMA_INT, 0, OF_REACT(score), .min = 0, .max = 1000000, .dflt = "0",
     .help = "the least that the candidate must have"},
    {"every", SCHEMA_TEXT, 0, OF_REACT(every), .min = 1, .max = 32, .check = check_every, .help = "of the target"},
    {"template", SCHEMA_TEXT, 0, OF_REACT(template_file), .min = 1, .max = 4096, .check = check_template,
     .help = "of the target; one line of http when not given"},
    {0},
};

static int check_reaction(struct schema_reader *r, const struct yaml_node *n, void *element) {
    const struct discovery_reaction *reaction = element;
    bool somewhere = reaction->rule.as == STORE_A_HOST || reaction->rule.as == STORE_A_URL;
    return somewhere || reaction->template_file
               ? TL_OK
               : yaml_fail(r->err, n, "what is no host or URL has nowhere to begin: this reaction needs a 'template'");
}
static const struct schema reactions = {
    .what = "a reaction", .key = react_keys, .size = sizeof(struct discovery_reaction), .check = check_reaction};

#define OF_WATCH(part) offsetof(struct discovery_watch, part)
static const struct schema_key watch_keys[] = {
    {"type", SCHEMA_TEXT, SCHEMA_REQUIRED, OF_WATCH(rule.type_name), .min = 1, .max = 64,
     .help = "a type of trotline-types(5)"},
    {"column", SCHEMA_TEXT, SCHEMA_REQUIRED, OF_WATCH(rule.column_name), .min = 1, .max = 64,
     .help = "its column whose value is kept each time that it changes"},
    {"of", SCHEMA_TEXT, 0, OF_WATCH(of_name), .min = 1, .max = 64,
     .help = "column that says which row it is; the natural key when not given"},
    {"where", SCHEMA_OBJECT, 0, OF_WATCH(rule.where_given), .help = "as in a rule"},
    {"lines", SCHEMA_BOOL, 0, OF_WATCH(lines), .dflt = "false",
     .help = "only documents of lines, not of what they lead to"},
    {0},
};
static const struct schema watches = {
    .what = "what is watched", .key = watch_keys, .size = sizeof(struct discovery_watch)};

#define OF(part) offsetof(struct discovery, part)
static const struct schema_key discovery_keys[] = {
    {"count", SCHEMA_LIST, 0, OF(count), .count_offset = OF(count_count), .max = RULES_MAX, .of = &rules,
     .help = "what counts as a candidate"},
    {"allow", SCHEMA_TEXTS, 0, OF(allow), .max = PATTERNS_MAX,
     .help = "patterns of candidates; when given, no other is one"},
    {"deny", SCHEMA_TEXTS, 0, OF(deny), .max = PATTERNS_MAX, .help = "patterns of what never is a candidate"},
    {"react", SCHEMA_LIST, 0, OF(react), .count_offset = OF(react_count), .max = RULES_MAX, .of = &reactions,
     .help = "what is promoted by itself"},
    {"watch", SCHEMA_LIST, 0, OF(watch), .count_offset = OF(watch_count), .max = RULES_MAX, .of = &watches,
     .help = "columns whose history is kept"},
    {0},
};
const struct schema schema_discovery = {.what = "the file", .key = discovery_keys, .size = sizeof(struct discovery)};

/* ---- looking up */

struct resolving {
    struct schema_reader *r;
    struct discovery *d;
};

static int find_column(const struct resolving *x, const struct yaml_node *at, const struct types_type *t,
                       const char *name, size_t *out) {
    const char *known[ROW_COLUMNS_MAX];
    for (size_t i = 0; i < t->table.count; i++) {
        known[i] = t->table.columns[i].name;
        if (strcmp(known[i], name) == 0) {
            *out = i;
            return TL_OK;
        }
    }
    const char *near = yaml_nearest(name, known, t->table.count);
    return yaml_fail(x->r->err, at, "the type %s has no column '%.60s'%s%s%s", t->name, name,
                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int find_type(const struct resolving *x, const struct yaml_node *at, const char *name,
                     const struct types_type **out) {
    const char *known[CONFIG_TYPES_MAX];
    for (size_t i = 0; i < x->d->types.count; i++) {
        known[i] = x->d->types.type[i].name;
        if (strcmp(known[i], name) == 0) {
            *out = &x->d->types.type[i];
            return TL_OK;
        }
    }
    const char *near = yaml_nearest(name, known, x->d->types.count);
    return yaml_fail(x->r->err, at, "there is no type '%.60s'%s%s%s", name, near ? "; did you mean '" : "",
                     near ? near : "", near ? "'?" : "");
}

static int take_values(const struct resolving *x, const struct yaml_node *n, struct discovery_where *out) {
    size_t most = n->kind == YAML_LIST ? n->count : 1, i = 0;
    const char **pattern = most && most <= VALUES_MAX ? arena_alloc(x->r->arena, most * sizeof *pattern) : NULL;
    if (!pattern || n->kind == YAML_MAP)
        return yaml_fail(x->r->err, n, "'where' wants a value for each column, or a list of up to %d", VALUES_MAX);
    for (const struct yaml_node *v = n->kind == YAML_LIST ? n->first : n; v; v = v == n ? NULL : v->next) {
        if (v->kind != YAML_SCALAR)
            return yaml_fail(x->r->err, v, "'where' wants texts and numbers");
        if (yaml_is_null(v))
            return yaml_fail(x->r->err, v, "'where' finds no value that is none: '%.20s' itself stands in quotes",
                             v->text);
        if (strlen(v->text) > PATTERN_MOST)
            return yaml_fail(x->r->err, v, "'where' wants patterns of up to %d bytes", PATTERN_MOST);
        pattern[i++] = v->text;
    }
    out->pattern = pattern;
    out->count = i;
    return TL_OK;
}

static int take_where(const struct resolving *x, const struct yaml_node *where, struct discovery_rule *rule) {
    struct discovery_where *list = where ? arena_alloc(x->r->arena, (where->count + 1) * sizeof *list) : NULL;
    if (!where)
        return TL_OK;
    if (where->count > WHERE_MAX)
        return yaml_fail(x->r->err, where, "'where' names more than %d columns", WHERE_MAX);
    if (!list)
        return schema_no_memory(x->r, where);
    rule->where = list;
    YAML_EACH(value, where) {
        struct discovery_where *w = &list[rule->where_count++];
        int rc = find_column(x, value->key, rule->type, value->key->text, &w->column);
        if (!rc)
            rc = take_values(x, value, w);
        for (size_t i = 0; !rc && i < w->count; i++)
            if (rule->type->table.columns[w->column].type == COLUMN_BOOL && strcmp(w->pattern[i], "true") != 0 &&
                strcmp(w->pattern[i], "false") != 0 && !strchr(w->pattern[i], '*'))
                rc = yaml_fail(x->r->err, value, "'%.60s' is true or false, never '%.60s'", value->key->text,
                               w->pattern[i]);
        if (rc)
            return rc;
    }
    return TL_OK;
}

/* entry: where the rule stands; on: where its type does. */
static int resolve(const struct resolving *x, const struct yaml_node *entry, const struct yaml_node *on_node,
                   struct discovery_rule *rule) {
    if (rule->urn) {
        rule->as = STORE_AN_URN;
        return TL_OK;
    }
    int rc = find_type(x, yaml_get(on_node, "type"), rule->type_name, &rule->type);
    if (!rc)
        rc = find_column(x, yaml_get(entry, "column"), rule->type, rule->column_name, &rule->column);
    return rc ? rc : take_where(x, yaml_get(on_node, "where"), rule);
}

static int resolve_watch(const struct resolving *x, const struct yaml_node *n, struct discovery_watch *watch) {
    int rc = resolve(x, n, n, &watch->rule);
    if (rc)
        return rc;
    watch->of = watch->rule.type->table.count - TYPES_TAIL; /* row_key */
    return watch->of_name ? find_column(x, yaml_get(n, "of"), watch->rule.type, watch->of_name, &watch->of) : TL_OK;
}

static int resolve_all(const struct resolving *x, const struct yaml_node *root) {
    const struct yaml_node *count = yaml_get(root, "count"), *react = yaml_get(root, "react"),
                           *watch = yaml_get(root, "watch");
    struct discovery_watch *watched = (struct discovery_watch *)(uintptr_t)x->d->watch;
    struct discovery_rule *rule = (struct discovery_rule *)(uintptr_t)x->d->count;
    struct discovery_reaction *reaction = (struct discovery_reaction *)(uintptr_t)x->d->react;
    int rc = TL_OK;
    for (const struct yaml_node *n = count ? count->first : NULL; n && !rc; n = n->next)
        rc = resolve(x, n, n, rule++);
    for (const struct yaml_node *n = react ? react->first : NULL; n && !rc; n = n->next, reaction++) {
        reaction->rule.reaction = reaction->name;
        reaction->rule.score = 1;
        rc = resolve(x, n, yaml_get(n, "on"), &reaction->rule);
        for (size_t i = 0; !rc && &x->d->react[i] < reaction; i++)
            if (strcmp(x->d->react[i].name, reaction->name) == 0)
                rc = yaml_fail(x->r->err, n, "two reactions have the name '%s'", reaction->name);
    }
    for (const struct yaml_node *n = watch ? watch->first : NULL; n && !rc; n = n->next)
        rc = resolve_watch(x, n, watched++);
    return rc;
}

/* Other rules, other versions of types: what was found by the old ones does not hold. */
static void sum_up(struct discovery *d, struct tl_span text) {
    struct hash *h = hash_new();
    hash_start(h);
    hash_add(h, text.ptr, text.len);
    for (size_t i = 0; i < d->count_count; i++)
        if (d->count[i].type)
            hash_add(h, d->count[i].type->sha256, SHA256_HEX);
    for (size_t i = 0; i < d->react_count; i++)
        hash_add(h, d->react[i].rule.type->sha256, SHA256_HEX);
    for (size_t i = 0; i < d->watch_count; i++)
        hash_add(h, d->watch[i].rule.type->sha256, SHA256_HEX);
    hash_hex(hash_end(h).byte, SHA256_BYTES, d->sha256);
    hash_free(h);
}

int discovery_text(const struct config *c, const char *file, const char *folder, struct tl_span text,
                   struct discovery *out, struct fail *why) {
    struct yaml_error err = {0};
    struct yaml_node *root = NULL;
    *out = (struct discovery){.arena = {.max = 64 << 20}};
    struct schema_reader r = {.arena = &out->arena, .err = &err, .folder = folder, .working = folder};
    const struct resolving x = {&r, out};
    int rc = config_types(c, &out->types, why);
    if (rc)
        return rc;
    rc = yaml_parse(&out->arena, file, text, &root, &err);
    if (!rc && (!root || root->kind != YAML_MAP))
        rc = yaml_fail(&err, root, "rules of discovery are a map of 'count', 'allow', 'deny', 'react', 'watch'");
    if (!rc)
        rc = schema_read(&r, &schema_discovery, root, out);
    if (!rc)
        rc = resolve_all(&x, root);
    if (!rc) {
        sum_up(out, text);
        return TL_OK;
    }
    err.file = file;
    config_refuse(&err, NULL, 0, rc, why);
    discovery_free(out);
    return rc;
}

int discovery_read(const struct config *c, struct discovery *out, struct fail *why) {
    AUTO_BUF struct buf text = BUF_INIT;
    *out = (struct discovery){0};
    if (!c->targets.rules)
        return discovery_text(c, "the built-in rules", "/", span_of(usual_rules), out, why);
    AUTO_FREE char *folder = config_folder(c->targets.rules);
    int rc = config_read(c->targets.rules, &text, why);
    return rc ? rc : discovery_text(c, c->targets.rules, folder, buf_span(&text), out, why);
}

void discovery_free(struct discovery *d) {
    config_types_free(&d->types);
    arena_free(&d->arena);
    *d = (struct discovery){0};
}

/* ---- patterns and candidates */

static bool matches(const char *pattern, struct tl_span text) {
    const char *star = NULL;
    size_t at = 0, back = 0;
    while (at < text.len) {
        if (*pattern == '*') {
            star = ++pattern;
            back = at;
        } else if (*pattern && *pattern == text.ptr[at]) {
            pattern++;
            at++;
        } else if (star) {
            pattern = star;
            at = ++back;
        } else
            return false;
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

bool discovery_matches(const char *pattern, struct tl_span text) {
    return matches(pattern, text) || (strncmp(pattern, "*.", 2) == 0 && matches(pattern + 2, text));
}

static bool any(const char *const *pattern, const char *text) {
    for (; *pattern; pattern++)
        if (discovery_matches(*pattern, span_of(text)))
            return true;
    return false;
}

bool discovery_allows(const struct discovery *d, const char *text) {
    return !(d->deny && any(d->deny, text)) && (!d->allow || any(d->allow, text));
}

static bool take_host(struct tl_span value, struct buf *text, struct buf *url) {
    AUTO_BUF struct buf href = BUF_INIT;
    struct url u;
    if (url_parse(&href, value, NULL, &u) || !u.host.len || !(span_eq(u.scheme, "http") || span_eq(u.scheme, "https")))
        return false;
    buf_add(text, u.host.ptr, u.host.len);
    if (u.port >= 0)
        buf_printf(text, ":%d", u.port);
    url_origin(url, &u);
    buf_char(url, '/');
    return text->len <= TEXT_MOST;
}

/* White space around it goes, and what is between words becomes one blank. */
static bool take_name(struct tl_span value, struct buf *text) {
    if (!utf8_valid(value.ptr, value.len))
        return false;
    for (size_t i = 0; i < value.len && text->len <= NAME_MOST; i++) {
        unsigned char c = (unsigned char)value.ptr[i];
        if (c > ' ' && c != 0x7F)
            buf_char(text, (char)c);
        else if (text->len && text->data[text->len - 1] != ' ')
            buf_char(text, ' ');
    }
    while (text->len && text->data[text->len - 1] == ' ')
        text->data[--text->len] = '\0';
    return text->len && text->len <= NAME_MOST;
}

bool discovery_candidate(enum store_kind as, struct tl_span value, struct buf *text, struct buf *url) {
    buf_reset(text);
    buf_reset(url);
    if (as == STORE_A_HOST)
        return take_host(value, text, url);
    if (as == STORE_A_URL) {
        if (url_canonical(text, value) || text->len > 2 * TEXT_MOST)
            return false;
        buf_text(url, text->data);
        return true;
    }
    if (as == STORE_AN_URN &&
        (value.len < 5 || strncmp(value.ptr, "urn:", 4) != 0 || memchr(value.ptr, ' ', value.len)))
        return false;
    return take_name(value, text);
}
