/* config_target.c - see config_target.h. A file of a target is made into the tree of a crawl, whose nodes keep their
 * places, and read as one. */
#include "engine/config_target.h"

#include <string.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "engine/config_schema.h"

enum { KINDS_MAX = 20 };

static int check_id(struct schema_reader *r, const struct yaml_node *n, void *at) {
    (void)at;
    return schema_is_name(n->text)
               ? TL_OK
               : yaml_fail(r->err, n, "'%.60s' is no id: letters, digits, '.', '_' and '-' make one", n->text);
}

#define OF(part) offsetof(struct target, part)
static const struct schema_key target_keys[] = {
    {"id", SCHEMA_TEXT, SCHEMA_REQUIRED, OF(crawl.name), .min = 1, .max = 64, .check = check_id,
     .help = "by which it is known, and the name of its crawls"},
    {"name", SCHEMA_TEXT, SCHEMA_REQUIRED, OF(crawl.target), .min = 1, .max = 1000,
     .help = "what is watched, in words; {target.name}"},
    {"url", SCHEMA_TEXT, 0, OF(crawl.url), .min = 1, .max = 4096, .help = "where to begin; {target.url}"},
    {"org", SCHEMA_TEXT, 0, OF(crawl.org), .min = 1, .max = 1000, .help = "for whom; a level of the path"},
    {"project", SCHEMA_TEXT, 0, OF(crawl.project), .min = 1, .max = 1000, .help = "for what; a level of the path"},
    {"kinds", SCHEMA_TEXTS, 0, OF(kinds), .count_offset = OF(kind_count), .max = KINDS_MAX,
     .help = "words of your own for what it is: company, topic, person"},
    {"every", SCHEMA_TIME, SCHEMA_NONE, OF(every_us), .min = 1000000, .max = 3650LL * 86400 * 1000000, .dflt = "1d",
     .help = "how long after one run the next is due; none: only the first is"},
    {0},
};
const struct schema schema_target = {.what = "a target", .key = target_keys, .size = sizeof(struct target)};

/* What is the crawl's: read by its tables (config_crawl.c). */
static const struct schema_key moved_keys[] = {
    {"lines", SCHEMA_LIST, .help = "as in a crawl file"},
    {"leash", SCHEMA_MAP, .help = "as in a crawl file"},
    {"react", SCHEMA_LIST, .help = "as in a crawl file"},
    {0},
};
static const struct schema moved = {.what = "a target", .key = moved_keys};

/* ---- trees */

static struct yaml_node *scalar(struct arena *a, const char *text, const struct yaml_node *place) {
    struct yaml_node *n = arena_alloc(a, sizeof *n);
    if (n)
        *n = (struct yaml_node){.kind = YAML_SCALAR,
                                .quoted = true,
                                .text = text,
                                .len = strlen(text),
                                .line = place ? place->line : 1,
                                .column = place ? place->column : 1};
    return n;
}

/* Puts a copy of the node (its children are shared) behind the last of a map. */
static int put(struct arena *a, struct yaml_node *map, const char *key, const struct yaml_node *node) {
    struct yaml_node *copy = node ? arena_alloc(a, sizeof *copy) : NULL;
    if (!copy)
        return TL_FAILED;
    *copy = *node;
    copy->next = NULL;
    copy->key = scalar(a, key, node->key ? node->key : node);
    struct yaml_node **last = &map->first;
    while (*last)
        last = &(*last)->next;
    *last = copy;
    map->count++;
    return copy->key ? TL_OK : TL_FAILED;
}

/* The keys of the target's own, and those of its crawl. */
static int part(struct schema_reader *r, const struct yaml_node *root, struct yaml_node *own, struct yaml_node *crawl) {
    YAML_EACH(value, root) {
        const char *key = value->key->text;
        bool ours = schema_find(&schema_target, key) != NULL;
        if (!ours && !schema_find(&moved, key))
            return schema_unknown(r, value->key, &schema_target, &moved);
        if (put(r->arena, ours ? own : crawl, key, value))
            return schema_no_memory(r, value);
    }
    return TL_OK;
}

static int describe(struct schema_reader *r, const struct yaml_node *own, struct yaml_node *crawl) {
    static const char *const keys[] = {"org", "project", "name", "url"};
    struct yaml_node target = {.kind = YAML_MAP, .line = own->line, .column = own->column};
    int rc = put(r->arena, crawl, "crawl", yaml_get(own, "id"));
    for (size_t i = 0; !rc && i < COUNT_OF(keys); i++)
        if (yaml_get(own, keys[i]))
            rc = put(r->arena, &target, keys[i], yaml_get(own, keys[i]));
    if (!rc)
        rc = put(r->arena, crawl, "target", &target);
    return rc ? schema_no_memory(r, own) : TL_OK;
}

static int read_tree(struct schema_reader *r, const struct yaml_node *root, struct target *out) {
    if (!root || root->kind != YAML_MAP)
        return yaml_fail(r->err, root, "a target is a map of 'id', 'name', 'lines', 'leash', 'every'");
    struct yaml_node own = {.kind = YAML_MAP, .line = root->line, .column = root->column}, crawl = own;
    int rc = part(r, root, &own, &crawl);
    if (!rc)
        rc = schema_read(r, &schema_target, &own, out);
    if (!rc)
        rc = describe(r, &own, &crawl);
    return rc ? rc : config_crawl_tree(r, &crawl, &out->crawl);
}

/* ---- reading */

int config_target_text(const char *file_name, struct tl_span text, struct target *out, struct fail *why) {
    struct yaml_error err = {0};
    struct yaml_node *root = NULL;
    *out = (struct target){0};
    config_crawl_begin(&out->crawl);
    struct schema_reader r = {.arena = &out->crawl.arena, .err = &err, .folder = "/", .working = "/"};
    out->crawl.file = arena_text(&out->crawl.arena, file_name, strlen(file_name));
    out->crawl.lock = true;
    int rc = yaml_parse(r.arena, file_name, text, &root, &err);
    if (!rc)
        rc = read_tree(&r, root, out);
    if (!rc)
        return TL_OK;
    err.file = file_name;
    config_refuse(&err, NULL, 0, rc, why);
    config_target_free(out);
    return rc;
}

int config_target(const char *path, struct target *out, struct fail *why) {
    AUTO_BUF struct buf text = BUF_INIT;
    *out = (struct target){0};
    int rc = config_read(path, &text, why);
    return rc ? rc : config_target_text(path, buf_span(&text), out, why);
}

void config_target_free(struct target *t) {
    config_crawl_free(&t->crawl);
    *t = (struct target){0};
}

/* ---- a new one */

static const char usual_template[] = "leash: {depth: 2, runs: 200, time: 1h}\n"
                                     "lines:\n"
                                     "  - {collector: http, args: {url: \"{target.url}\"}}\n";

/* A plain word stays plain, for the reader tells `none` from the text "none". */
static void write_scalar(struct json_writer *w, const struct yaml_node *n) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._";
    if (!n->quoted && strspn(n->text, plain) == n->len)
        json_put_raw(w, n->len ? (struct tl_span){n->text, n->len} : span_of("null"));
    else
        json_put_string(w, (struct tl_span){n->text, n->len});
}

/* In flow style; a tree is at most YAML_DEPTH levels deep. */
static void write_flow(struct json_writer *w, const struct yaml_node *n) {
    if (n->kind == YAML_SCALAR) {
        write_scalar(w, n);
        return;
    }
    n->kind == YAML_MAP ? json_object_begin(w) : json_array_begin(w);
    YAML_EACH(child, n) {
        if (n->kind == YAML_MAP)
            json_put_key_span(w, (struct tl_span){child->key->text, child->key->len});
        write_flow(w, child);
    }
    n->kind == YAML_MAP ? json_object_end(w) : json_array_end(w);
}

static void write_target(const struct yaml_node *map, struct buf *out) {
    YAML_EACH(value, map) {
        struct json_writer w = JSON_WRITER(out);
        if (value->kind == YAML_SCALAR && yaml_is_null(value))
            continue;
        buf_printf(out, "%s: ", value->key->text); /* one of ours: make */
        write_flow(&w, value);
        buf_char(out, '\n');
    }
}

static int make(struct schema_reader *r, const struct target_wish *wish, const struct yaml_node *root,
                struct yaml_node *out) {
    struct arena *a = r->arena;
    const char *const given[] = {wish->id, wish->name, wish->url, wish->every};
    static const char *const keys[] = {"id", "name", "url", "every"};
    int rc = TL_OK;
    for (size_t i = 0; !rc && i < COUNT_OF(keys); i++) {
        struct yaml_node *n = given[i] ? scalar(a, given[i], NULL) : NULL;
        if (n)
            n->quoted = strcmp(keys[i], "every") != 0;
        rc = !given[i] ? TL_OK : put(a, out, keys[i], n);
    }
    YAML_EACH(value, root)
    if (!rc && !yaml_get(out, value->key->text))
        rc = !schema_find(&schema_target, value->key->text) && !schema_find(&moved, value->key->text)
                 ? schema_unknown(r, value->key, &schema_target, &moved)
                 : put(a, out, value->key->text, value);
    return rc;
}

int config_target_make(const struct target_wish *wish, struct buf *out, struct fail *why) {
    const char *file = wish->template_file ? wish->template_file : "the usual template";
    AUTO_BUF struct buf text = BUF_INIT;
    struct arena memory = {.max = 16 << 20};
    struct yaml_error err = {0};
    struct yaml_node *root = NULL, made = {.kind = YAML_MAP, .line = 1, .column = 1};
    struct schema_reader r = {.arena = &memory, .err = &err, .folder = "/", .working = "/"};
    struct target target;
    if (!wish->template_file && !wish->url)
        return fail_exit(why, TL_INVALID, EXIT_USAGE,
                         "'%.200s' has no URL to begin with: say by --template FILE which collectors are to be asked",
                         wish->name);
    int rc = TL_OK;
    if (!wish->template_file)
        buf_text(&text, usual_template);
    else if ((rc = config_read(wish->template_file, &text, why)))
        return rc;
    rc = yaml_parse(&memory, file, buf_span(&text), &root, &err);
    if (!rc && (!root || root->kind != YAML_MAP))
        rc = yaml_fail(&err, root, "a template is a file of a target without its id");
    if (!rc && (rc = make(&r, wish, root, &made)) == TL_FAILED)
        schema_no_memory(&r, root);
    if (rc) {
        err.file = file;
        config_refuse(&err, NULL, 0, rc, why);
    } else
        write_target(&made, out);
    arena_free(&memory);
    if (!rc && (rc = config_target_text(file, buf_span(out), &target, why)) == TL_OK)
        config_target_free(&target);
    return rc;
}
