/* table_list.c - see table_list.h. */
#include "engine/table_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "lake/lake.h"

static const char *const items_partition[] = {"p_schema_version", "p_environment", "p_producer_name", "p_year",
                                              "p_month",          "p_day",         "p_hour",          NULL};
static const char *const day_partition[] = {"p_year", "p_month", "p_day", NULL};

struct reading {
    struct store *store;
    const struct config_types *types;
    struct table_list *list;
    size_t room;
    struct fail *why;
};

static struct table_entry *add(struct reading *r, const struct table_entry *e) {
    struct table_list *l = r->list;
    MEM_GROW(l->entry, l->count, r->room);
    l->entry[l->count] = *e;
    return &l->entry[l->count++];
}

static char *keep(struct reading *r, const char *text) {
    return arena_text(&r->list->arena, text, strlen(text));
}

/* ---- types */

void table_list_name(struct buf *out, const char *type, const char *version) {
    buf_printf(out, "%s_%s", type, *version == 'v' ? "" : "v");
    for (const char *c = version; *c; c++)
        buf_char(out, (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') ? *c : '_');
}

static void put_root(struct buf *out, const char *type, const char *version) {
    buf_printf(out, LAKE_TYPED "/type=%s/p_type_version=", type);
    lake_value(out, span_of(version));
}

static int type_of(struct tl_span word) {
    static const char *const name[] = {"text", "int", "real", "bool", "time", "list"};
    for (size_t i = 0; i < COUNT_OF(name); i++)
        if (span_eq(word, name[i]))
            return (int)i;
    return -1;
}

/* [[name, type], ...], as types_finish wrote it. */
static int read_columns(struct reading *r, struct tl_span json, struct table *out) {
    struct tl_json list, pair = {0};
    struct column *columns = arena_alloc(&r->list->arena, ROW_COLUMNS_MAX * sizeof *columns);
    size_t n = 0;
    if (json_parse(json, &list))
        return TL_INVALID;
    while (json_next(&list, &pair) == TL_OK) {
        AUTO_BUF struct buf name = BUF_INIT, type = BUF_INIT;
        struct tl_json word = {0};
        if (n == ROW_COLUMNS_MAX || json_next(&pair, &word) || json_text(&word, &name) || json_next(&pair, &word) ||
            json_text(&word, &type) || type_of(buf_span(&type)) < 0 || !types_is_word(buf_span(&name).ptr) ||
            strlen(name.data) != name.len)
            return TL_INVALID;
        columns[n++] = (struct column){.name = arena_span(&r->list->arena, buf_span(&name)),
                                       .type = (enum column_type)type_of(buf_span(&type))};
    }
    out->columns = columns;
    out->count = n;
    return n ? TL_OK : TL_INVALID;
}

static const struct types_type *in_force(const struct reading *r, const char *name) {
    for (size_t i = 0; r->types && i < r->types->count; i++)
        if (strcmp(r->types->type[i].name, name) == 0)
            return &r->types->type[i];
    return NULL;
}

static struct table_entry *add_type(struct reading *r, const char *type, const char *version) {
    AUTO_BUF struct buf name = BUF_INIT, root = BUF_INIT;
    table_list_name(&name, type, version);
    put_root(&root, type, version);
    const struct table_entry e = {.kind = STORE_TYPED,
                                  .name = keep(r, name.data),
                                  .type = keep(r, type),
                                  .version = keep(r, version),
                                  .partition = day_partition,
                                  .root = keep(r, root.data)};
    return add(r, &e);
}

/* name, version, columns, in the order of name and first use */
static int each_type(void *ctx, const struct store_row *row) {
    struct reading *r = ctx;
    AUTO_FREE char *type = mem_text_n(row->value[0].text.ptr, row->value[0].text.len);
    AUTO_FREE char *version = mem_text_n(row->value[1].text.ptr, row->value[1].text.len);
    if (!types_is_word(type) || types_is_ours(type)) /* it becomes part of statements */
        return fail_exit(r->why, TL_INVALID, EXIT_DAMAGED, "the catalog has a type '%.100s', which is no name of one",
                         type);
    const struct types_type *now = in_force(r, type);
    struct table_entry *e = add_type(r, type, version);
    e->table.name = e->type;
    if (now && strcmp(now->version, version) == 0)
        e->table = now->table; /* one version has one declaration (store_type) */
    else if (read_columns(r, row->value[2].text, &e->table))
        return fail_exit(r->why, TL_INVALID, EXIT_DAMAGED,
                         "the catalog's columns of the type %s, version %s, cannot be read", type, version);
    return 0;
}

static const struct table_entry *find_version(const struct table_list *l, const char *type, const char *version) {
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->entry[i].type, type) == 0 && (!version || strcmp(l->entry[i].version, version) == 0))
            return &l->entry[i];
    return NULL;
}

static int by_type(const void *left, const void *right) {
    const struct table_entry *a = *(const struct table_entry *const *)left,
                             *b = *(const struct table_entry *const *)right;
    int order = strcmp(a->type, b->type);
    return order ? order : (a > b) - (a < b);
}

/* Types that are only declared stand behind the others until here. */
static void sort_types(struct table_list *l, size_t first) {
    size_t n = l->count - first;
    const struct table_entry **order = mem_array(NULL, n + 1, sizeof *order);
    struct table_entry *sorted = mem_array(NULL, n + 1, sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        order[i] = &l->entry[first + i];
    if (n)
        qsort(order, n, sizeof *order, by_type);
    for (size_t i = 0; i < n; i++)
        sorted[i] = *order[i];
    memcpy(l->entry + first, sorted, n * sizeof *sorted);
    free(sorted);
    free(order);
}

static void mark_newest(struct reading *r, size_t first) {
    struct table_list *l = r->list;
    for (size_t i = first; i < l->count; i++) {
        const struct types_type *now = in_force(r, l->entry[i].type);
        bool last = i + 1 == l->count || strcmp(l->entry[i].type, l->entry[i + 1].type) != 0;
        l->entry[i].newest = now ? strcmp(now->version, l->entry[i].version) == 0 : last;
    }
}

static int read_types(struct reading *r) {
    size_t first = r->list->count;
    int rc = store_query(r->store, "SELECT name, version, columns FROM types ORDER BY name, first_used_at", NULL, 0,
                         each_type, r, r->why);
    for (size_t i = 0; !rc && r->types && i < r->types->count; i++) {
        const struct types_type *t = &r->types->type[i];
        if (!find_version(r->list, t->name, t->version))
            add_type(r, t->name, t->version)->table = t->table;
    }
    if (rc)
        return rc;
    sort_types(r->list, first);
    mark_newest(r, first);
    return TL_OK;
}

/* ---- names */

/* Whether it is the name of one before, or that of a type, which means its newest version. */
static bool is_taken(const struct table_list *l, size_t at) {
    for (size_t i = 0; i < l->count; i++)
        if ((i < at && strcmp(l->entry[i].name, l->entry[at].name) == 0) ||
            (i != at && strcmp(l->entry[i].type, l->entry[at].name) == 0))
            return true;
    return false;
}

/* Versions 1.0 and 1_0 make one name, and a type may be called like a version of another. The first keeps it. */
static void tell_apart(struct reading *r) {
    for (size_t i = 0; i < r->list->count; i++) {
        struct table_entry *e = &r->list->entry[i];
        char hex[SHA256_HEX];
        AUTO_BUF struct buf name = BUF_INIT;
        if (e->kind != STORE_TYPED || !is_taken(r->list, i))
            continue;
        struct sha256 sum = hash_sha256(e->version, strlen(e->version));
        buf_printf(&name, "%s_%.8s", e->name, hash_hex(sum.byte, SHA256_BYTES, hex));
        e->name = keep(r, name.data);
    }
}

/* ---- the list */

/* kind, name, version, files, rows */
static int each_count(void *ctx, const struct store_row *row) {
    struct table_list *l = ctx;
    const struct store_value *v = row->value;
    for (size_t i = 0; i < l->count; i++) {
        struct table_entry *e = &l->entry[i];
        static const char *const kind[] = {"items", "typed", "rejects"};
        if (!span_eq(v[0].text, kind[e->kind]) ||
            (e->kind == STORE_TYPED && (!span_eq(v[1].text, e->type) || !span_eq(v[2].text, e->version))))
            continue;
        e->files += v[3].number;
        e->rows += v[4].number;
    }
    return 0;
}

int table_list_read(struct store *s, const struct config_types *types, struct table_list *out, struct fail *why) {
    struct reading r = {.store = s, .types = types, .list = out, .why = why};
    *out = (struct table_list){.arena = ARENA_INIT};
    const struct table_entry items = {.kind = STORE_ITEMS,
                                      .name = items_table.name,
                                      .type = "items",
                                      .version = ITEMS_SCHEMA_VERSION,
                                      .table = items_table,
                                      .partition = items_partition,
                                      .root = LAKE_ITEMS "/parquet",
                                      .newest = true};
    const struct table_entry rejects = {.kind = STORE_REJECTS,
                                        .name = types_rejects.name,
                                        .type = types_rejects.name,
                                        .version = TYPES_REJECTS_VERSION,
                                        .table = types_rejects,
                                        .partition = day_partition,
                                        .root = LAKE_REJECTS,
                                        .newest = true};
    add(&r, &items);
    int rc = read_types(&r);
    add(&r, &rejects);
    tell_apart(&r);
    if (!rc)
        rc = store_query(s,
                         "SELECT kind, name, version, count(*), sum(rows) FROM tables WHERE format = 'parquet' AND "
                         "replaced_at IS NULL GROUP BY 1, 2, 3",
                         NULL, 0, each_count, out, why);
    if (rc)
        table_list_free(out);
    return rc;
}

void table_list_free(struct table_list *l) {
    free(l->entry);
    arena_free(&l->arena);
    *l = (struct table_list){.arena = ARENA_INIT};
}

bool table_list_means(const struct table_entry *e, const char *word) {
    return strcmp(word, e->type) == 0 || strcmp(word, e->name) == 0;
}

/* ---- files */

struct filter {
    const struct table_entry *entry;
    int (*each)(void *ctx, const struct store_table *f);
    void *ctx;
};

static int pass_on(void *ctx, const struct store_table *f) {
    const struct filter *x = ctx;
    const struct table_entry *e = x->entry;
    if (e->kind == STORE_TYPED && (strcmp(f->name, e->type) != 0 || strcmp(f->version, e->version) != 0))
        return 0;
    return x->each(x->ctx, f);
}

int table_list_files(struct store *s, const struct table_entry *e, const char *format,
                     int (*each)(void *ctx, const struct store_table *f), void *ctx, struct fail *why) {
    struct filter x = {e, each, ctx};
    return store_table_each(s, e->kind, format, false, pass_on, &x, why);
}

static int hex(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool table_list_value(const char *path, const char *partition, struct buf *out) {
    size_t len = strlen(partition);
    for (const char *at = path; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL) {
        if (strncmp(at, partition, len) != 0 || at[len] != '=')
            continue;
        const char *from = at + len + 1, *end = from + strcspn(from, "/");
        if (span_eq((struct tl_span){from, (size_t)(end - from)}, "__HIVE_DEFAULT_PARTITION__"))
            return false;
        for (; from < end; from++) {
            bool escaped = *from == '%' && end - from > 2 && hex(from[1]) >= 0 && hex(from[2]) >= 0;
            buf_char(out, escaped ? (char)(hex(from[1]) * 16 + hex(from[2])) : *from);
            from += escaped ? 2 : 0;
        }
        return true;
    }
    return false;
}
