/* types_rows.c - see types.h: values out of items, and the rows that they make. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/times.h"
#include "base/utf8.h"
#include "convert/types.h"

enum { HEAD_MOST = 200, LIST_MOST = 100000 };

struct types {
    struct arena memory; /* of one row */
    struct buf text, key;
    struct cell cells[ROW_COLUMNS_MAX];
    struct hash *hash;
};

/* Where a value was looked for, and what is wrong with it. */
struct wrong {
    const char *rule, *reason;
    struct tl_span value;
};
struct at { /* what is being made into a row */
    struct types *x;
    const struct types_type *t;
    const struct cell *item;
    const struct types_document *doc;
    struct tl_json element; /* exploded; raw.ptr NULL: none */
    struct wrong wrong;
};

struct types *types_new(void) {
    struct types *x = mem_alloc(sizeof *x);
    x->hash = hash_new();
    return x;
}

void types_free(struct types *x) {
    if (!x)
        return;
    arena_free(&x->memory);
    buf_free(&x->text);
    buf_free(&x->key);
    hash_free(x->hash);
    free(x);
}

static int refuse(struct at *a, const char *reason, struct tl_span value) {
    a->wrong.reason = reason;
    a->wrong.value = value;
    return TL_INVALID;
}

static struct tl_span keep(struct at *a, struct tl_span text) {
    return (struct tl_span){arena_text(&a->x->memory, text.ptr, text.len), text.len};
}

/* ---- coercion: a JSON value as a column's type */

static int text_of(struct at *a, const struct tl_json *v, struct tl_span *out) {
    switch (v->type) {
    case TL_JSON_STRING:
        *out = (struct tl_span){v->raw.ptr + 1, v->raw.len - 2};
        if (memchr(out->ptr, '\\', out->len)) {
            buf_reset(&a->x->text);
            json_text(v, &a->x->text);
            *out = keep(a, buf_span(&a->x->text));
        }
        return TL_OK;
    case TL_JSON_NUMBER:
    case TL_JSON_BOOL:
        *out = v->raw; /* as written */
        return TL_OK;
    default:
        return refuse(a, "is an object or array where text is wanted", v->raw);
    }
}

static int read_int(struct tl_span digits, int64_t *out) {
    struct tl_json v = {.type = TL_JSON_NUMBER, .raw = digits};
    size_t sign = digits.len && digits.ptr[0] == '-';
    if (digits.len == sign || digits.len > 20 || (digits.ptr[sign] == '0' && digits.len > sign + 1))
        return TL_INVALID;
    for (size_t i = sign; i < digits.len; i++)
        if (digits.ptr[i] < '0' || digits.ptr[i] > '9')
            return TL_INVALID;
    return json_int(&v, out);
}

static int int_of(struct at *a, const struct tl_json *v, int64_t *out) {
    struct tl_span text;
    if (v->type == TL_JSON_NUMBER && json_int(v, out) == TL_OK)
        return TL_OK;
    if (v->type == TL_JSON_STRING && text_of(a, v, &text) == TL_OK && read_int(text, out) == TL_OK)
        return TL_OK;
    return refuse(a, "is no whole number of 64 bits", v->raw);
}

static int real_of(struct at *a, const struct tl_json *v, double *out) {
    struct tl_span text;
    size_t where;
    if ((v->type != TL_JSON_NUMBER && v->type != TL_JSON_STRING) || text_of(a, v, &text) || text.len > 400 ||
        json_valid(text, &where) || text.ptr[0] == '"' || text.ptr[0] == '{' || text.ptr[0] == '[' ||
        (text.ptr[0] >= 'a' && text.ptr[0] <= 'z'))
        return refuse(a, "is no number", v->raw);
    const char *copy = keep(a, text).ptr;
    *out = strtod(copy, NULL);
    return TL_OK;
}

static int bool_of(struct at *a, const struct tl_json *v, int64_t *out) {
    static const char *const words[] = {"false", "true", "0", "1"};
    struct tl_span text;
    if (v->type != TL_JSON_OBJECT && v->type != TL_JSON_ARRAY && text_of(a, v, &text) == TL_OK)
        for (size_t i = 0; i < COUNT_OF(words); i++)
            if (span_eq(text, words[i])) {
                *out = i % 2;
                return TL_OK;
            }
    return refuse(a, "is neither true nor false", v->raw);
}

static int time_of(struct at *a, const struct types_column *c, const struct tl_json *v, int64_t *out) {
    static const int64_t factor[] = {0, 1000000, 1000, 1};
    struct tl_span text;
    if (c->unit != TYPES_RFC3339) {
        int64_t n;
        if (int_of(a, v, &n))
            return TL_INVALID;
        if (__builtin_mul_overflow(n, factor[c->unit], out))
            return refuse(a, "is no time: it lies too far off", v->raw);
        return TL_OK;
    }
    if (v->type != TL_JSON_STRING || text_of(a, v, &text) || time_parse(text, out))
        return refuse(a, "is no time as 2026-01-02T03:04:05Z", v->raw);
    return TL_OK;
}

static int list_of(struct at *a, const struct types_column *c, const struct tl_json *v, struct cell *out) {
    struct tl_json one = {0}, part;
    size_t count = 0, n = 0;
    if (v->type == TL_JSON_OBJECT)
        return refuse(a, "is an object where a list is wanted", v->raw);
    bool many = v->type == TL_JSON_ARRAY;
    while (many && count < LIST_MOST && json_next(v, &one) == TL_OK)
        count++;
    struct tl_span *items = arena_alloc(&a->x->memory, (count + 1) * sizeof *items);
    one = many ? (struct tl_json){0} : *v;
    while (!many || (n < count && json_next(v, &one) == TL_OK)) {
        int rc = c->each ? json_find(one.raw, c->each, &part) : TL_OK;
        if (!c->each)
            part = one;
        if (rc == TL_OK && part.type != TL_JSON_NULL) {
            rc = text_of(a, &part, &items[n]);
            if (rc)
                return rc;
            n++;
        } else if (many)
            count--; /* an element without it is left out */
        if (!many)
            break;
    }
    out->list.items = items;
    out->list.count = n;
    return TL_OK;
}

static int count_of(struct at *a, const struct tl_json *v, int64_t *out) {
    struct tl_json one = {0};
    *out = 0;
    if (v->type != TL_JSON_ARRAY && v->type != TL_JSON_OBJECT)
        return refuse(a, "has no entries to be counted", v->raw);
    while (json_next(v, &one) == TL_OK)
        (*out)++;
    return TL_OK;
}

static int coerce(struct at *a, const struct types_column *c, const struct tl_json *v, struct cell *out) {
    *out = (struct cell){.null = v->type == TL_JSON_NULL};
    if (out->null)
        return TL_OK;
    if (c->take == TYPES_JSON) {
        out->text = v->raw;
        return TL_OK;
    }
    if (c->take == TYPES_COUNT)
        return count_of(a, v, &out->number);
    switch (c->type) {
    case COLUMN_TEXT:
        return text_of(a, v, &out->text);
    case COLUMN_INT:
        return int_of(a, v, &out->number);
    case COLUMN_REAL:
        return real_of(a, v, &out->real);
    case COLUMN_BOOL:
        return bool_of(a, v, &out->number);
    case COLUMN_TIME:
        return time_of(a, c, v, &out->number);
    default:
        return list_of(a, c, v, out);
    }
}

/* ---- where values come from */

/* A column of an item as it is: the types must be the same, but a number may become text. */
static int from_field(struct at *a, const struct types_column *c, const struct cell *from, struct cell *out) {
    enum column_type has = items_table.columns[c->field].type;
    *out = *from;
    if (from->null || (int)has == c->type)
        return TL_OK;
    if (has == COLUMN_TEXT) { /* text that is to be something else is read as a JSON string would be */
        AUTO_BUF struct buf quoted = BUF_INIT;
        struct tl_json v;
        struct json_writer w = JSON_WRITER(&quoted);
        json_put_string(&w, from->text);
        struct tl_span kept = keep(a, buf_span(&quoted));
        return json_parse(kept, &v) ? refuse(a, "cannot be read", from->text) : coerce(a, c, &v, out);
    }
    if (has == COLUMN_INT && c->type == COLUMN_TEXT) {
        buf_reset(&a->x->text);
        buf_int(&a->x->text, from->number);
        out->text = keep(a, buf_span(&a->x->text));
        return TL_OK;
    }
    return refuse(a, "is of another type", (struct tl_span){"", 0});
}

static int value_of(struct at *a, const struct types_column *c, struct cell *out) {
    struct tl_json v;
    const struct cell *item = a->item;
    *out = (struct cell){.null = true};
    a->wrong.rule = c->name;
    if (c->take == TYPES_KEY) {
        v = (struct tl_json){.type = TL_JSON_STRING, .raw = a->element.key};
        out->null = !a->element.key.len; /* entries of an array have no name */
        return out->null ? TL_OK : text_of(a, &v, &out->text);
    }
    if (c->take == TYPES_SAME_SITE) {
        const struct cell *one = &a->x->cells[TYPES_HEAD + c->pair[0]], *other = &a->x->cells[TYPES_HEAD + c->pair[1]];
        out->null = one->null || other->null;
        if (!out->null)
            out->number = a->doc->same_site(one->text, other->text);
        return TL_OK;
    }
    if (c->item) {
        int rc = json_find(a->element.raw, c->item, &v);
        return rc == TL_OK ? coerce(a, c, &v, out) : TL_OK;
    }
    if (c->of && !(item = a->doc->find(a->doc->ctx, c->of)))
        return TL_OK;
    const struct cell *field = &item[c->field];
    if (field->null)
        return TL_OK;
    if (!c->pointer)
        return from_field(a, c, field, out);
    int rc = json_find(field->text, c->pointer, &v);
    return rc == TL_OK ? coerce(a, c, &v, out) : rc == TL_NOTFOUND ? TL_OK : refuse(a, "is no JSON", field->text);
}

/* ---- rows */

static void put_cell(struct json_writer *w, const struct cell *c, enum column_type type) {
    if (c->null)
        json_put_null(w);
    else if (type == COLUMN_TEXT)
        json_put_string(w, c->text);
    else if (type == COLUMN_REAL)
        json_put_real(w, c->real);
    else if (type == COLUMN_LIST) {
        json_array_begin(w);
        for (size_t i = 0; i < c->list.count; i++)
            json_put_string(w, c->list.items[i]);
        json_array_end(w);
    } else
        json_put_int(w, c->number);
}

static void put_key(struct at *a, struct cell *out) {
    const struct types_type *t = a->t;
    struct types *x = a->x;
    *out = (struct cell){.null = t->key_count == 0};
    if (out->null)
        return;
    buf_reset(&x->key);
    struct json_writer w = JSON_WRITER(&x->key);
    const struct cell *only = &x->cells[TYPES_HEAD + t->key_at[0]];
    if (t->key_count == 1 && (only->null || t->column[t->key_at[0]].type == COLUMN_TEXT)) {
        out->null = only->null;
        out->text = only->text;
        return;
    }
    if (t->key_count > 1)
        json_array_begin(&w);
    for (size_t i = 0; i < t->key_count; i++)
        put_cell(&w, &x->cells[TYPES_HEAD + t->key_at[i]], (enum column_type)t->column[t->key_at[i]].type);
    if (t->key_count > 1)
        json_array_end(&w);
    out->text = buf_span(&x->key);
}

static void put_hash(struct at *a, char hex[SHA256_HEX], struct cell *out) {
    struct types *x = a->x;
    buf_reset(&x->text);
    struct json_writer w = JSON_WRITER(&x->text);
    json_array_begin(&w);
    for (size_t i = 0; i < a->t->column_count; i++)
        if (a->t->column[i].drift)
            put_cell(&w, &x->cells[TYPES_HEAD + i], (enum column_type)a->t->column[i].type);
    json_array_end(&w);
    struct sha256 sum = hash_sha256(x->text.data, x->text.len);
    *out = (struct cell){.text = span_of(hash_hex(sum.byte, SHA256_BYTES, hex))};
}

static int make_row(struct at *a, int64_t ordinal) {
    struct cell *cells = a->x->cells;
    cells[0] = a->item[ITEMS_ITEM_ID];
    cells[1] = (struct cell){.number = ordinal};
    cells[2] = a->item[ITEMS_ROOT_ID];
    cells[3] = a->item[ITEMS_DOCUMENT_PATH];
    for (size_t i = 0; i < a->t->column_count; i++) {
        const struct types_column *c = &a->t->column[i];
        struct cell *out = &cells[TYPES_HEAD + i];
        int rc = value_of(a, c, out);
        if (rc)
            return rc;
        if (out->null && c->required)
            return refuse(a, "is missing and required", (struct tl_span){"", 0});
    }
    return TL_OK;
}

static int give_row(struct at *a, const struct types_sink *sink) {
    char hex[SHA256_HEX];
    struct cell *tail = a->x->cells + TYPES_HEAD + a->t->column_count;
    put_key(a, &tail[0]);
    put_hash(a, hex, &tail[1]);
    return sink->row(sink->ctx, a->t, a->x->cells);
}

/* The beginning of a text, whole characters only. */
static struct tl_span beginning(struct tl_span text) {
    size_t n = text.len < HEAD_MOST ? text.len : HEAD_MOST;
    while (n < text.len && n > 0 && ((unsigned char)text.ptr[n] & 0xC0) == 0x80)
        n--;
    return (struct tl_span){text.ptr, n};
}

static int give_reject(struct at *a, int64_t place, bool exploded, const struct types_sink *sink) {
    const struct cell cells[] = {a->item[ITEMS_ITEM_ID],
                                 {.text = span_of(a->t->name)},
                                 {.text = span_of(a->t->version)},
                                 {.null = !exploded, .number = place},
                                 {.text = span_of(a->wrong.rule)},
                                 {.text = span_of(a->wrong.reason)},
                                 {.null = !a->wrong.value.len, .text = beginning(a->wrong.value)},
                                 a->item[ITEMS_ROOT_ID],
                                 a->item[ITEMS_DOCUMENT_PATH],
                                 a->item[ITEMS_COLLECTED_AT]};
    return sink->reject(sink->ctx, a->t, cells);
}

static int one_row(struct at *a, int64_t place, bool exploded, const struct types_sink *sink, int64_t *rows,
                   int64_t *rejected) {
    arena_free(&a->x->memory);
    int rc = make_row(a, *rows);
    if (rc == TL_OK) {
        rc = give_row(a, sink);
        *rows += rc == TL_OK;
    } else {
        rc = give_reject(a, place, exploded, sink);
        *rejected += rc == TL_OK;
    }
    return rc;
}

int types_rows(struct types *x, const struct types_type *t, const struct cell *item, const struct types_document *doc,
               const struct types_sink *sink, int64_t *rows, int64_t *rejected) {
    struct at a = {.x = x, .t = t, .item = item, .doc = doc};
    struct tl_json list;
    *rows = *rejected = 0;
    if (!t->explode)
        return one_row(&a, 0, false, sink, rows, rejected);
    const struct cell *data = &item[ITEMS_DATA];
    a.wrong.rule = "explode";
    int rc = data->null ? TL_INVALID : json_find(data->text, t->explode, &list);
    if (rc == TL_NOTFOUND || (rc == TL_OK && list.type == TL_JSON_NULL))
        return TL_OK; /* no array, no rows */
    if (rc || (list.type != TL_JSON_ARRAY && list.type != TL_JSON_OBJECT)) {
        refuse(&a, rc ? "is no JSON" : "is neither an array nor an object",
               rc ? (data->null ? (struct tl_span){"", 0} : data->text) : list.raw);
        rc = give_reject(&a, 0, false, sink);
        *rejected += rc == TL_OK;
        return rc;
    }
    if (t->single && list.type == TL_JSON_OBJECT) {
        a.element = list;
        a.element.key = (struct tl_span){"", 0};
        return one_row(&a, 0, false, sink, rows, rejected);
    }
    rc = TL_OK;
    int64_t place = 0;
    for (; !rc && place < TYPES_EXPLODE_MAX && json_next(&list, &a.element) == TL_OK; place++) {
        a.wrong = (struct wrong){0};
        rc = one_row(&a, place, true, sink, rows, rejected);
    }
    if (!rc && place == TYPES_EXPLODE_MAX && json_next(&list, &a.element) == TL_OK) {
        a.wrong = (struct wrong){"explode", "has more entries than can become rows", a.element.raw};
        rc = give_reject(&a, place, true, sink);
        *rejected += rc == TL_OK;
    }
    return rc;
}
