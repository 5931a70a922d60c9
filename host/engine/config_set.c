/* config_set.c - --set KEY.SUB=VALUE: what the command line puts into a file's tree before the tree is checked.
 *
 * Invariant: whatever --set made is checked by the same tables as the file. Its nodes have line 0 and the number of
 * their --set as column, so that a refusal names the flag. */
#include <stdlib.h>

#include "base/utf8.h"
#include "engine/config_schema.h"

enum { STEPS_MAX = 16, STEP_TEXT = 128, SHOWN_PATH = 300 };

struct setting {
    struct schema_reader *r;
    const char *path, *value; /* path ends where the first = stands */
    size_t path_len;
    struct yaml_node mark; /* its place */
};

static int add_node(const struct setting *s, enum yaml_kind kind, const char *text, size_t len,
                    struct yaml_node **out) {
    struct yaml_node *n = arena_alloc(s->r->arena, sizeof *n);
    const char *copy = text ? arena_text(s->r->arena, text, len) : NULL;
    if (!n || (text && !copy))
        return schema_no_memory(s->r, &s->mark);
    *n = (struct yaml_node){.kind = kind, .line = s->mark.line, .column = s->mark.column, .text = copy, .len = len};
    *out = n;
    return TL_OK;
}

/* A tree that yaml_parse made gets the setting's place. Its depth is at most YAML_DEPTH. */
static int place_all(const struct setting *s, struct yaml_node *n) {
    n->line = s->mark.line;
    n->column = s->mark.column;
    for (struct yaml_node *child = n->first; child; child = child->next) {
        struct yaml_node *key = NULL;
        int rc = child->key ? add_node(s, YAML_SCALAR, child->key->text, child->key->len, &key) : TL_OK;
        child->key = key;
        if (!rc)
            rc = place_all(s, child);
        if (rc)
            return rc;
    }
    return TL_OK;
}

/* Lists, maps and quoted texts are YAML; everything else is one plain scalar as it stands: no comment, no ": ", no
 * anchor in it. */
static int parse_value(struct setting *s, struct yaml_node **out) {
    struct yaml_error err;
    size_t len = strlen(s->value);
    if (len && strchr("[{\"'", s->value[0])) {
        int rc = yaml_parse(s->r->arena, "--set", (struct tl_span){s->value, len}, out, &err);
        if (rc)
            return yaml_fail(s->r->err, &s->mark, "%s", err.text), rc;
        return *out ? place_all(s, *out) : yaml_fail(s->r->err, &s->mark, "there is no value");
    }
    if (len > YAML_TEXT_MAX || !utf8_valid(s->value, len))
        return yaml_fail(s->r->err, &s->mark, "the value is not UTF-8, or over 1 MiB");
    return add_node(s, YAML_SCALAR, s->value, len, out);
}

static int append(const struct setting *s, struct yaml_node *parent, const struct yaml_node *key,
                  struct yaml_node **out) {
    int rc = add_node(s, YAML_SCALAR, "", 0, out);
    if (rc)
        return rc;
    struct yaml_node **end = &parent->first;
    while (*end)
        end = &(*end)->next;
    *end = *out;
    (*out)->key = key;
    parent->count++;
    return TL_OK;
}

static int step_list(const struct setting *s, struct yaml_node *list, const char *step, struct yaml_node **out) {
    if (strlen(step) > 6 || strspn(step, "0123456789") != strlen(step))
        return yaml_fail(s->r->err, &s->mark, "'%s' stands for an entry of a list: number it from 0", step);
    size_t i = (size_t)strtoul(step, NULL, 10);
    struct yaml_node *n = list->first;
    if (i > list->count)
        return yaml_fail(s->r->err, &s->mark, "there is no entry %zu: the list has %zu, numbered from 0", i,
                         list->count);
    if (i == list->count)
        return append(s, list, NULL, out);
    while (i--)
        n = n->next;
    *out = n;
    return TL_OK;
}

/* Goes from a map or list to what the step names, making it when it is not there. */
static int step_down(const struct setting *s, struct yaml_node *parent, const char *step, struct yaml_node **out) {
    if (parent->kind == YAML_LIST)
        return step_list(s, parent, step, out);
    if (yaml_is_null(parent)) /* just made, or a key without value */
        *parent = (struct yaml_node){
            .kind = YAML_MAP, .line = s->mark.line, .column = s->mark.column, .key = parent->key, .next = parent->next};
    if (parent->kind != YAML_MAP)
        return yaml_fail(s->r->err, &s->mark, "there is a text where '%s' should be a key of a map", step);
    for (struct yaml_node *n = parent->first; n; n = n->next)
        if (strcmp(n->key->text, step) == 0) {
            *out = n;
            return TL_OK;
        }
    struct yaml_node *key;
    int rc = add_node(s, YAML_SCALAR, step, strlen(step), &key);
    return rc ? rc : append(s, parent, key, out);
}

/* The next word of the path into step; TL_NOTFOUND at the end. */
static int next_step(const struct setting *s, size_t *at, char step[STEP_TEXT]) {
    if (*at > s->path_len)
        return TL_NOTFOUND;
    const char *from = s->path + *at, *dot = memchr(from, '.', s->path_len - *at);
    size_t len = dot ? (size_t)(dot - from) : s->path_len - *at;
    *at += len + 1;
    if (!len || len >= STEP_TEXT || !utf8_valid(from, len))
        return yaml_fail(s->r->err, &s->mark, "a key such as leash.depth is wanted before '='");
    memcpy(step, from, len);
    step[len] = '\0';
    return TL_OK;
}

static int apply(struct setting *s, struct yaml_node *root) {
    char step[STEP_TEXT];
    struct yaml_node *at = root, *value;
    size_t from = 0;
    int rc, steps = 0;
    while ((rc = next_step(s, &from, step)) == TL_OK) {
        if (++steps > STEPS_MAX)
            return yaml_fail(s->r->err, &s->mark, "more than %d steps", STEPS_MAX);
        rc = step_down(s, at, step, &at);
        if (rc)
            return rc;
    }
    if (rc != TL_NOTFOUND)
        return rc;
    rc = parse_value(s, &value);
    if (rc)
        return rc;
    value->key = at->key;
    value->next = at->next;
    *at = *value;
    return TL_OK;
}

int config_set(struct schema_reader *r, const char *const *set, size_t n, const struct schema *mine,
               const struct schema *other, struct yaml_node **root) {
    for (size_t i = 0; i < n; i++) {
        struct setting s = {
            .r = r, .path = set[i], .mark = {.kind = YAML_SCALAR, .line = 0, .column = (unsigned)i + 1}};
        const char *equals = strchr(set[i], '=');
        char first[STEP_TEXT];
        size_t from = 0;
        if (!equals)
            return yaml_fail(r->err, &s.mark, "KEY=VALUE is wanted, such as leash.depth=2");
        s.path_len = (size_t)(equals - set[i]);
        s.value = equals + 1;
        int rc = next_step(&s, &from, first);
        if (rc)
            return rc;
        bool known = schema_find(mine, first), others = schema_find(other, first);
        if (!known && !others) {
            struct yaml_node key = s.mark;
            key.text = first;
            return schema_unknown(r, &key, mine, other);
        }
        if (!known || (others && mine != &schema_crawl))
            continue;
        if (!*root) {
            rc = add_node(&s, YAML_MAP, NULL, 0, root);
            if (rc)
                return rc;
            (*root)->line = (*root)->column = 1;
        }
        rc = apply(&s, *root);
        if (rc)
            return rc;
    }
    return TL_OK;
}

/* The end of a long path, which has the file's name. */
static const char *shown(const char *path) {
    size_t len = strlen(path);
    if (len <= SHOWN_PATH)
        return path;
    const char *slash = strchr(path + len - SHOWN_PATH, '/');
    return slash ? slash + 1 : path + len - SHOWN_PATH;
}

int config_refuse(const struct yaml_error *err, const char *const *set, size_t n, int rc, struct fail *why) {
    if (err->line == 0 && err->column >= 1 && err->column <= n) {
        const char *text = set[err->column - 1];
        return fail_exit(why, rc, strchr(text, '=') ? EXIT_CONFIG : EXIT_USAGE, "--set %.*s: %s",
                         (int)(strcspn(text, "=") < SHOWN_PATH ? strcspn(text, "=") : SHOWN_PATH), text, err->text);
    }
    return fail_exit(why, rc, EXIT_CONFIG, "%s:%u:%u: %s", err->file ? shown(err->file) : "trotline.yml", err->line,
                     err->column, err->text);
}
