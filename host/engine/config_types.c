/* config_types.c - see config_types.h. */
#include "engine/config_types.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "engine/config_schema.h"
#include "engine/types_builtin.h"

enum { ARENA_MAX = 64 << 20, TEXT_LONG = 4096 };

struct declared { /* as it is read; becomes a struct types_type */
    struct types_type t;
    struct declared_column {
        struct types_column c;
        const char *field;
    } * column;
    size_t column_count;
};

/* ---- keys */

static int check_type_name(struct schema_reader *r, const struct yaml_node *n, void *at) {
    (void)at;
    if (strlen(n->text) == n->len && types_is_ours(n->text))
        return yaml_fail(r->err, n, "there is a table '%s' already; give the type another name", n->text);
    return types_is_word(n->text) && strlen(n->text) == n->len
               ? TL_OK
               : yaml_fail(r->err, n, "a type's name wants small letters, digits and '_', such as http_page");
}

static int check_version(struct schema_reader *r, const struct yaml_node *n, void *at) {
    (void)at;
    return schema_is_name(n->text) ? TL_OK : yaml_fail(r->err, n, "a version is a word such as 1 or 2");
}

static int check_pointer(struct schema_reader *r, const struct yaml_node *n, void *at) {
    struct tl_json v;
    (void)at;
    return json_find(span_of("null"), n->text, &v) != TL_INVALID
               ? TL_OK
               : yaml_fail(r->err, n, "'%s' wants a JSON pointer such as /owner/login", n->key->text);
}

static int check_field(struct schema_reader *r, const struct yaml_node *n, void *at) {
    const char *names[ITEMS_COLUMNS];
    (void)at;
    for (size_t i = 0; i < ITEMS_COLUMNS; i++) {
        names[i] = items_table.columns[i].name;
        if (strcmp(names[i], n->text) == 0)
            return TL_OK;
    }
    const char *near = yaml_nearest(n->text, names, ITEMS_COLUMNS);
    return yaml_fail(r->err, n, "'field' wants a column of dataset items, such as %s", near ? near : "data_url");
}

static int check_same_site(struct schema_reader *r, const struct yaml_node *n, void *at) {
    (void)at;
    return n->count == 2 ? TL_OK : yaml_fail(r->err, n, "'same_site' wants two columns");
}

#define COLUMN(part) .offset = offsetof(struct declared_column, part)
static const struct schema_key column_keys[] = {
    {"name", SCHEMA_TEXT, SCHEMA_REQUIRED, COLUMN(c.name), .min = 1, .max = 64, .help = "of the column"},
    {"type", SCHEMA_CHOICE, 0, COLUMN(c.type), .words = "text|int|real|bool|time|list", .dflt = "text",
     .help = "of its values; list: of texts"},
    {"field", SCHEMA_TEXT, 0, COLUMN(field), .min = 1, .max = 64, .dflt = "data", .check = check_field,
     .help = "column of the dataset item that it is taken from"},
    {"of", SCHEMA_TEXT, 0, COLUMN(c.of), .min = 1, .max = 64,
     .help = "another dataset of the same document, whose first item is meant"},
    {"pointer", SCHEMA_TEXT, 0, COLUMN(c.pointer), .min = 0, .max = 1000, .check = check_pointer,
     .help = "JSON pointer into that field; without it the field as it is"},
    {"item", SCHEMA_TEXT, 0, COLUMN(c.item), .min = 0, .max = 1000, .check = check_pointer,
     .help = "JSON pointer into the exploded element, instead of field and pointer"},
    {"each", SCHEMA_TEXT, 0, COLUMN(c.each), .min = 1, .max = 1000, .check = check_pointer,
     .help = "of a list: JSON pointer into each of its elements"},
    {"take", SCHEMA_CHOICE, 0, COLUMN(c.take), .words = "value|json|count|key|same_site", .dflt = "value",
     .help = "the value, its JSON text, how many entries it has, the name of the exploded member, whether two URLs are "
             "of one site"},
    {"unit", SCHEMA_CHOICE, 0, COLUMN(c.unit), .words = "rfc3339|s|ms|us", .dflt = "rfc3339",
     .help = "of a time: text, or a number of seconds, milliseconds or microseconds since 1970"},
    {"required", SCHEMA_BOOL, 0, COLUMN(c.required), .dflt = "false", .help = "a row without it is rejected"},
    {"drift", SCHEMA_BOOL, 0, COLUMN(c.drift), .dflt = "true", .help = "counts for row_sha256"},
    {"same_site", SCHEMA_TEXTS, 0, COLUMN(c.same_site), .max = 2, .check = check_same_site,
     .help = "the two columns of take: same_site"},
    {"about", SCHEMA_TEXT, 0, COLUMN(c.about), .min = 1, .max = 1000, .help = "one line for readers"},
    {0},
};
static const struct schema columns = {.what = "a column", .key = column_keys, .size = sizeof(struct declared_column)};

#define OF_TYPE(part) .offset = offsetof(struct declared, part)
static const struct schema_key from_keys[] = {
    {"collector", SCHEMA_TEXT, SCHEMA_REQUIRED, OF_TYPE(t.collector), .min = 1, .max = 64, .help = "whose documents"},
    {"dataset", SCHEMA_TEXTS, 0, OF_TYPE(t.dataset), .min = 1, .max = 64, .help = "which of their datasets; any"},
    {"media_type", SCHEMA_TEXTS, 0, OF_TYPE(t.media_type), .min = 1, .max = 64,
     .help = "with data of these types; any"},
    {"kind", SCHEMA_CHOICE, 0, OF_TYPE(t.kind), .words = "any|simple|page|key_value", .dflt = "any",
     .help = "which elements of those"},
    {0},
};
static const struct schema from = {.what = "'from'", .key = from_keys};

static const struct schema_key type_keys[] = {
    {"type", SCHEMA_TEXT, SCHEMA_REQUIRED, OF_TYPE(t.name), .min = 1, .max = 64, .check = check_type_name,
     .help = "the table's name"},
    {"version", SCHEMA_TEXT, SCHEMA_REQUIRED, OF_TYPE(t.version), .min = 1, .max = 32, .check = check_version,
     .help = "one version has one declaration: what changes rows or columns needs another"},
    {"about", SCHEMA_TEXT, 0, OF_TYPE(t.about), .min = 1, .max = 1000, .help = "one line for readers"},
    {"from", SCHEMA_MAP, 0, 0, .of = &from, .help = "which dataset items"},
    {"explode", SCHEMA_TEXT, 0, OF_TYPE(t.explode), .min = 0, .max = 1000, .check = check_pointer,
     .help = "JSON pointer into data, to an array or object of which each entry is a row"},
    {"single", SCHEMA_BOOL, 0, OF_TYPE(t.single), .dflt = "false",
     .help = "an object there is one row itself, not one for each of its members"},
    {"key", SCHEMA_TEXTS, 0, OF_TYPE(t.key), .max = 16, .help = "columns that name what a row is about"},
    {"columns", SCHEMA_LIST, SCHEMA_REQUIRED, OF_TYPE(column), .count_offset = offsetof(struct declared, column_count),
     .min = 1, .max = TYPES_COLUMNS_MAX, .of = &columns, .help = "in order"},
    {0},
};
const struct schema schema_types = {.what = "a type", .key = type_keys, .size = sizeof(struct declared)};

/* ---- reading */

static int field_of(const char *name) {
    for (int i = 0; i < ITEMS_COLUMNS; i++)
        if (strcmp(items_table.columns[i].name, name) == 0)
            return i;
    return ITEMS_DATA;
}

static int finish(struct config_types *out, struct declared *d, const char *file, struct fail *why) {
    struct types_column *list = arena_alloc(&out->arena, d->column_count * sizeof *list);
    struct fail reason = FAIL_INIT;
    for (size_t i = 0; i < d->column_count; i++) {
        list[i] = d->column[i].c;
        list[i].field = field_of(d->column[i].field);
    }
    d->t.column = list;
    d->t.column_count = d->column_count;
    int rc = types_finish(&d->t, &out->arena, &reason);
    if (rc)
        return fail_exit(why, rc, EXIT_CONFIG, "%s: %s", file, reason.text);
    for (size_t i = 0; i < out->count; i++)
        if (strcmp(out->type[i].name, d->t.name) == 0)
            return i < out->folder_first ? TL_OK /* the first folder wins */
                                         : fail_exit(why, TL_INVALID, EXIT_CONFIG,
                                                     "%s: another file of this folder declares the type '%s' already; "
                                                     "give one of them another name, or move one away",
                                                     file, d->t.name);
    if (out->count == CONFIG_TYPES_MAX)
        return fail_exit(why, TL_INVALID, EXIT_CONFIG, "%s: there are more than %d types", file, CONFIG_TYPES_MAX);
    size_t room = out->count;
    out->type = mem_array(out->type, room + 1, sizeof *out->type);
    out->type[out->count++] = d->t;
    return TL_OK;
}

int config_types_text(struct config_types *out, const char *file, struct tl_span text, struct fail *why) {
    struct yaml_error err = {0};
    struct yaml_node *root = NULL;
    struct declared d = {0};
    struct schema_reader r = {.arena = &out->arena, .err = &err, .folder = "/", .working = "/"};
    const char *name = arena_text(&out->arena, file, strlen(file));
    out->arena.max = ARENA_MAX;
    int rc = yaml_parse(&out->arena, name, text, &root, &err);
    if (!rc && (!root || root->kind != YAML_MAP))
        rc = yaml_fail(&err, root, "a type is a map of 'type', 'version', 'from', 'columns'");
    if (!rc)
        rc = schema_read(&r, &schema_types, root, &d);
    if (rc) {
        err.file = name;
        return config_refuse(&err, NULL, 0, rc, why);
    }
    return finish(out, &d, name, why);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct types_type *)a)->name, ((const struct types_type *)b)->name);
}

static int take_file(void *ctx, const char *path, const struct tl_span *text, struct fail *why) {
    return text ? config_types_text(ctx, path, *text, why) : TL_INVALID;
}

int config_types(const struct config *c, struct config_types *out, struct fail *why) {
    struct fail reason = FAIL_INIT;
    int rc = TL_OK;
    *out = (struct config_types){0};
    for (const char *const *folder = c->convert.types; folder && *folder && !rc; folder++) {
        out->folder_first = out->count;
        rc = config_declared(*folder, "convert.types", CONFIG_TYPES_MAX, take_file, out, &reason);
    }
    out->folder_first = out->count;
    for (size_t i = 0; i < COUNT_OF(types_builtin) && !rc; i++)
        rc = config_types_text(out, types_builtin[i].file, span_of(types_builtin[i].text), &reason);
    if (out->count)
        qsort(out->type, out->count, sizeof *out->type, by_name);
    if (!rc)
        return TL_OK;
    config_types_free(out);
    if (why)
        *why = reason;
    return rc;
}

void config_types_free(struct config_types *t) {
    free(t->type);
    arena_free(&t->arena);
    *t = (struct config_types){0};
}
