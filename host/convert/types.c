/* types.c - see types.h: declarations, and which items they take. */
#include "convert/types.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/json_write.h"
#include "base/mem.h"

static const struct column head[TYPES_HEAD] = {
    {"item_id", COLUMN_TEXT, false, "of the dataset item that the row was made of"},
    {"ordinal", COLUMN_INT, false, "of the row among those of its item, from 0"},
    {"root_id", COLUMN_TEXT, false, "of the crawl"},
    {"document_path", COLUMN_TEXT, false, "of the result document, below the lake"},
};
static const struct column tail[TYPES_TAIL] = {
    {"row_key", COLUMN_TEXT, false, "natural key: the value of the key column, or a JSON array of several"},
    {"row_sha256", COLUMN_TEXT, false, "of what the row says: differs when it has changed between two crawls"},
};
static const struct column rejects[] = {
    {"item_id", COLUMN_TEXT, false, "of the dataset item"},
    {"type", COLUMN_TEXT, false, "that refused a row of it"},
    {"type_version", COLUMN_TEXT, false, "of that type"},
    {"place", COLUMN_INT, false, "of the element in the array that was exploded, from 0"},
    {"rule", COLUMN_TEXT, false, "column, or data or explode, that was not fulfilled"},
    {"reason", COLUMN_TEXT, false, "why"},
    {"value_head", COLUMN_TEXT, false, "beginning of what was found there"},
    {"root_id", COLUMN_TEXT, false, "of the crawl"},
    {"document_path", COLUMN_TEXT, false, "of the result document, below the lake"},
    {"collected_at", COLUMN_TIME, false, "end of the run"},
};
const struct table types_rejects = {"rejects", rejects, COUNT_OF(rejects)};

static const char *const type_name[] = {[COLUMN_TEXT] = "text", [COLUMN_INT] = "int",   [COLUMN_REAL] = "real",
                                        [COLUMN_BOOL] = "bool", [COLUMN_TIME] = "time", [COLUMN_LIST] = "list"};

static int find_column(const struct types_type *t, const char *name) {
    for (size_t i = 0; i < t->column_count; i++)
        if (strcmp(t->column[i].name, name) == 0)
            return (int)i;
    return -1;
}

bool types_is_word(const char *name) {
    size_t n = strlen(name);
    return n > 0 && n <= 64 && name[0] >= 'a' && name[0] <= 'z' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == n;
}

bool types_is_ours(const char *name) {
    static const char *const ours[] = {"items", "dataset_items", "rejects", "documents"};
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        if (strcmp(ours[i], name) == 0)
            return true;
    return false;
}

static bool is_ours(const char *name) {
    for (size_t i = 0; i < TYPES_HEAD; i++)
        if (strcmp(name, head[i].name) == 0)
            return true;
    for (size_t i = 0; i < TYPES_TAIL; i++)
        if (strcmp(name, tail[i].name) == 0)
            return true;
    return false;
}

static int check_column(const struct types_type *t, size_t at, struct fail *why) {
    const struct types_column *c = &t->column[at];
#define WRONG(...) fail_exit(why, TL_INVALID, EXIT_CONFIG, __VA_ARGS__)
    if (!types_is_word(c->name) || strncmp(c->name, "p_", 2) == 0)
        return WRONG("the column '%.80s' wants a name of small letters, digits and '_' that does not begin with p_, "
                     "which is for partitions",
                     c->name);
    if (is_ours(c->name) || find_column(t, c->name) != (int)at)
        return WRONG("the column '%s' is there twice: %s", c->name,
                     is_ours(c->name) ? "every typed table has one of that name" : "give it another name");
    if (c->item && !t->explode)
        return WRONG("the column '%s' is taken from an exploded element, but the type explodes nothing", c->name);
    if (c->item && (c->pointer || c->of))
        return WRONG("the column '%s' wants either 'item' or 'pointer' and 'of', not both", c->name);
    if (c->each && c->type != COLUMN_LIST)
        return WRONG("the column '%s': 'each' is for columns of type list", c->name);
    if (c->take == TYPES_KEY && !t->explode)
        return WRONG("the column '%s' takes the name of an exploded member, but the type explodes nothing", c->name);
    if ((c->take == TYPES_COUNT && c->type != COLUMN_INT) || (c->take == TYPES_SAME_SITE && c->type != COLUMN_BOOL) ||
        ((c->take == TYPES_JSON || c->take == TYPES_KEY) && c->type != COLUMN_TEXT))
        return WRONG("the column '%s': what it takes does not fit its type", c->name);
    if ((c->take == TYPES_SAME_SITE) != (c->same_site != NULL))
        return WRONG("the column '%s': 'take: same_site' and 'same_site: [COLUMN, COLUMN]' belong together", c->name);
    return TL_OK;
}

static int resolve(struct types_type *t, struct types_column *c, struct fail *why) {
    for (int i = 0; c->same_site && i < 2; i++) {
        c->pair[i] = c->same_site[i] ? find_column(t, c->same_site[i]) : -1;
        if (c->pair[i] < 0 || c->pair[i] >= (int)(c - t->column) || t->column[c->pair[i]].type != COLUMN_TEXT)
            return WRONG("the column '%s': same_site wants two text columns that stand before it", c->name);
    }
    return TL_OK;
}

static int resolve_key(struct types_type *t, struct fail *why) {
    for (t->key_count = 0; t->key && t->key[t->key_count]; t->key_count++) {
        int at = t->key_count < COUNT_OF(t->key_at) ? find_column(t, t->key[t->key_count]) : -1;
        if (at < 0 || t->column[at].type == COLUMN_LIST || t->column[at].type == COLUMN_REAL)
            return WRONG("the key of type %s: '%s' is none of its columns of type text, int, bool or time", t->name,
                         t->key[t->key_count]);
        t->key_at[t->key_count] = at;
    }
    return TL_OK;
}

static void put_names(struct json_writer *w, const char *key, const char *const *names) {
    json_put_key(w, key);
    json_array_begin(w);
    for (; names && *names; names++)
        json_put_text(w, *names);
    json_array_end(w);
}

/* What a version of a type stands for: anything that changes rows is in it. */
static void declare(const struct types_type *t, struct buf *out) {
    struct json_writer w = JSON_WRITER(out);
    json_object_begin(&w);
    json_member_string(&w, "collector", t->collector);
    put_names(&w, "dataset", t->dataset);
    put_names(&w, "media_type", t->media_type);
    json_member_int(&w, "kind", t->kind);
    json_member_string(&w, "explode", t->explode);
    json_member_bool(&w, "single", t->single);
    put_names(&w, "key", t->key);
    json_put_key(&w, "columns");
    json_array_begin(&w);
    for (size_t i = 0; i < t->column_count; i++) {
        const struct types_column *c = &t->column[i];
        const char *const text[] = {c->name, c->of, c->pointer, c->item, c->each};
        const int number[] = {c->type, c->field, c->take, c->unit, c->required, c->drift, c->pair[0], c->pair[1]};
        json_array_begin(&w);
        for (size_t k = 0; k < COUNT_OF(text); k++)
            json_put_text(&w, text[k]);
        for (size_t k = 0; k < COUNT_OF(number); k++)
            json_put_int(&w, number[k]);
        json_array_end(&w);
    }
    json_array_end(&w);
    json_object_end(&w);
}

static void list_columns(const struct table *table, struct buf *out) {
    struct json_writer w = JSON_WRITER(out);
    json_array_begin(&w);
    for (size_t i = 0; i < table->count; i++) {
        json_array_begin(&w);
        json_put_text(&w, table->columns[i].name);
        json_put_text(&w, type_name[table->columns[i].type]);
        json_array_end(&w);
    }
    json_array_end(&w);
}

int types_finish(struct types_type *t, struct arena *memory, struct fail *why) {
    AUTO_BUF struct buf text = BUF_INIT;
    struct types_column *columns = arena_alloc(memory, (t->column_count + 1) * sizeof *columns);
    struct column *all = arena_alloc(memory, (t->column_count + TYPES_HEAD + TYPES_TAIL) * sizeof *all);
    if (t->column_count > TYPES_COLUMNS_MAX)
        return WRONG("the type %s has %zu columns, %d are the most", t->name, t->column_count, TYPES_COLUMNS_MAX);
    memcpy(columns, t->column, t->column_count * sizeof *columns);
    t->column = columns;
    t->siblings = false;
    memcpy(all, head, sizeof head);
    for (size_t i = 0; i < t->column_count; i++) {
        struct types_column *c = &columns[i];
        int rc = check_column(t, i, why);
        if (!rc)
            rc = resolve(t, c, why);
        if (rc)
            return rc;
        t->siblings = t->siblings || c->of;
        all[TYPES_HEAD + i] = (struct column){c->name, (enum column_type)c->type,
                                              c->field == ITEMS_DATA && c->type == COLUMN_TEXT && !c->pointer &&
                                                  !c->item && c->take == TYPES_VALUE,
                                              c->about};
    }
    memcpy(all + TYPES_HEAD + t->column_count, tail, sizeof tail);
    int rc = resolve_key(t, why);
    if (rc)
        return rc;
    t->table = (struct table){t->name, all, TYPES_HEAD + t->column_count + TYPES_TAIL};
    declare(t, &text);
    struct sha256 sum = hash_sha256(text.data, text.len);
    hash_hex(sum.byte, SHA256_BYTES, t->sha256);
    buf_reset(&text);
    list_columns(&t->table, &text);
    t->columns_json = arena_text(memory, text.data, text.len);
    return TL_OK;
}

static bool is_among(const char *const *names, const struct cell *cell) {
    if (!names)
        return true;
    for (; *names; names++)
        if (!cell->null && span_eq(cell->text, *names))
            return true;
    return false;
}

bool types_takes(const struct types_type *t, const struct cell *item) {
    static const char *const kind[] = {NULL, "simple", "page", "key_value"};
    if (!span_eq(item[ITEMS_COLLECTOR_NAME].text, t->collector))
        return false;
    if (t->kind && !span_eq(item[ITEMS_ELEMENT_KIND].text, kind[t->kind]))
        return false;
    return is_among(t->dataset, &item[ITEMS_DATASET_NAME]) && is_among(t->media_type, &item[ITEMS_MEDIA_TYPE]);
}
