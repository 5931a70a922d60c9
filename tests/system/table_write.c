/* table_write.c - writes a table file from JSON Lines on standard input, for tests that compare it with other readers.
 *
 *   table_write FILE < LINES
 *
 * The first line says what to write; every other line is a row, an array with a value a column:
 *   {"table": "t", "columns": [["id", "int"], ["body", "text", "payload"], ...], "codec": "zstd", "page_rows": 7,
 *    "pairs": [["key", "value"], ["key", null]]}
 * With "format": "avro" and one of Avro's codecs it is an Avro file, and "block_bytes" may be given.
 * Types: text int real bool time list. Numbers and times as digits; a real as a number, or a text that strtod reads.
 * {"repeat": "text", "times": n} stands for a long text. Prints {"rows": n, "bytes": n}; a file without rows is
 * removed. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "convert/avro.h"
#include "convert/parquet.h"

enum { PAIRS_MAX = 8 };

struct plan {
    struct column columns[ROW_COLUMNS_MAX];
    struct table table;
    struct parquet_pair pairs[PAIRS_MAX];
    struct parquet_options options;
    bool is_avro;
    struct avro_pair avro_pairs[PAIRS_MAX];
    struct avro_options avro;
};

struct row {
    struct cell cells[ROW_COLUMNS_MAX];
    struct buf text;
    struct tl_span *items;
    size_t item_count, item_room;
};

_Noreturn static void give_up(const char *what, struct tl_span where) {
    fprintf(stderr, "table_write: %s: %.*s\n", what, (int)(where.len > 200 ? 200 : where.len), where.ptr);
    exit(2);
}

static struct arena texts; /* of the plan */

static char *text_of(const struct tl_json *value) {
    AUTO_BUF struct buf text = BUF_INIT;
    if (value->type == TL_JSON_NULL)
        return NULL;
    if (json_text(value, &text) != TL_OK)
        give_up("not a text", value->raw);
    return arena_text(&texts, buf_span(&text).ptr, text.len);
}

static enum column_type type_of(const char *name) {
    static const char *const names[] = {"text", "int", "real", "bool", "time", "list"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return (enum column_type)i;
    give_up("no such type", span_of(name));
}

static void plan_columns(struct plan *p, const struct tl_json *list) {
    struct tl_json column = {0}, part;
    while (json_next(list, &column) == TL_OK && p->table.count < ROW_COLUMNS_MAX) {
        struct column *c = &p->columns[p->table.count++];
        part = (struct tl_json){0};
        for (int i = 0; json_next(&column, &part) == TL_OK; i++) {
            char *text = text_of(&part);
            if (i == 0)
                c->name = text;
            else if (i == 1)
                c->type = type_of(text);
            else
                c->payload = true;
        }
    }
}

static void plan_pairs(struct plan *p, const struct tl_json *list) {
    struct tl_json pair = {0}, part;
    while (json_next(list, &pair) == TL_OK && p->options.pair_count < PAIRS_MAX) {
        struct avro_pair *twin = &p->avro_pairs[p->options.pair_count];
        struct parquet_pair *to = &p->pairs[p->options.pair_count++];
        part = (struct tl_json){0};
        if (json_next(&pair, &part) == TL_OK)
            to->key = text_of(&part);
        if (json_next(&pair, &part) == TL_OK)
            to->value = text_of(&part);
        *twin = (struct avro_pair){to->key, to->value};
    }
    p->options.pairs = p->pairs;
    p->avro.pairs = p->avro_pairs;
    p->avro.pair_count = p->options.pair_count;
}

static void plan_codec(struct plan *p, const char *name) {
    p->options.codec = strcmp(name, "zstd") == 0     ? PARQUET_ZSTD
                       : strcmp(name, "snappy") == 0 ? PARQUET_SNAPPY
                                                     : PARQUET_NONE;
    p->avro.codec = strcmp(name, "snappy") == 0      ? AVRO_SNAPPY
                    : strcmp(name, "zstandard") == 0 ? AVRO_ZSTANDARD
                    : strcmp(name, "null") == 0      ? AVRO_NULL
                                                     : AVRO_DEFLATE;
}

static void read_plan(struct plan *p, struct tl_span line) {
    struct tl_json root, at = {0};
    if (json_parse(line, &root) != TL_OK)
        give_up("no JSON", line);
    p->table.columns = p->columns;
    while (json_next(&root, &at) == TL_OK) {
        int64_t n = 0;
        struct parquet_options *o = &p->options;
        if (json_key_is(&at, "table"))
            p->table.name = text_of(&at);
        else if (json_key_is(&at, "columns"))
            plan_columns(p, &at);
        else if (json_key_is(&at, "pairs"))
            plan_pairs(p, &at);
        else if (json_key_is(&at, "codec"))
            plan_codec(p, text_of(&at));
        else if (json_key_is(&at, "format"))
            p->is_avro = span_eq(at.raw, "\"avro\"");
        else if (json_int(&at, &n) != TL_OK || n < 0)
            give_up("not a number", at.raw);
        else if (json_key_is(&at, "level"))
            o->level = p->avro.level = (int)n;
        else if (json_key_is(&at, "block_bytes"))
            p->avro.block_bytes = (size_t)n;
        else if (json_key_is(&at, "threads"))
            o->threads = (unsigned)n;
        else if (json_key_is(&at, "group_rows"))
            o->group_rows = (uint64_t)n;
        else if (json_key_is(&at, "group_bytes"))
            o->group_bytes = (uint64_t)n;
        else if (json_key_is(&at, "memory"))
            o->memory = (size_t)n;
        else if (json_key_is(&at, "page_rows"))
            o->page_rows = (size_t)n;
        else if (json_key_is(&at, "page_bytes"))
            o->page_bytes = (size_t)n;
        else if (json_key_is(&at, "dictionary_bytes"))
            o->dictionary_bytes = (size_t)n;
        else
            give_up("unknown member", at.key);
    }
}

/* Offsets for now: the text moves while it grows. */
static struct tl_span add_text(struct row *row, const struct tl_json *value) {
    size_t from = row->text.len;
    if (value->type == TL_JSON_OBJECT) {
        struct tl_json repeat, times;
        int64_t n = 0;
        AUTO_BUF struct buf one = BUF_INIT;
        if (json_get(value, "repeat", &repeat) != TL_OK || json_get(value, "times", &times) != TL_OK ||
            json_text(&repeat, &one) != TL_OK || json_int(&times, &n) != TL_OK)
            give_up("no repeated text", value->raw);
        while (n-- > 0)
            buf_add(&row->text, one.data, one.len);
    } else if (json_text(value, &row->text) != TL_OK)
        give_up("not a text", value->raw);
    return (struct tl_span){(const char *)from, row->text.len - from};
}

static double real_of(const struct tl_json *value) {
    AUTO_BUF struct buf text = BUF_INIT;
    if (value->type == TL_JSON_NUMBER)
        buf_add(&text, value->raw.ptr, value->raw.len);
    else if (json_text(value, &text) != TL_OK)
        give_up("not a number", value->raw);
    return strtod(text.data, NULL);
}

static void read_cell(struct row *row, enum column_type type, const struct tl_json *value, struct cell *cell) {
    *cell = (struct cell){.null = value->type == TL_JSON_NULL};
    bool yes;
    if (cell->null)
        return;
    if (type == COLUMN_TEXT)
        cell->text = add_text(row, value);
    else if (type == COLUMN_REAL)
        cell->real = real_of(value);
    else if (type == COLUMN_BOOL && json_bool(value, &yes) == TL_OK)
        cell->number = yes;
    else if (type == COLUMN_LIST) {
        struct tl_json item = {0};
        cell->list.items = (const struct tl_span *)row->item_count;
        for (; json_next(value, &item) == TL_OK; cell->list.count++) {
            MEM_GROW(row->items, row->item_count, row->item_room);
            row->items[row->item_count++] = add_text(row, &item);
        }
    } else if (json_int(value, &cell->number) != TL_OK)
        give_up("not a number", value->raw);
}

static void read_row(struct row *row, const struct table *table, struct tl_span line) {
    struct tl_json root, at = {0};
    row->item_count = 0;
    buf_reset(&row->text);
    buf_reserve(&row->text, 1);
    if (json_parse(line, &root) != TL_OK)
        give_up("no JSON", line);
    for (size_t i = 0; i < table->count; i++) {
        if (json_next(&root, &at) != TL_OK)
            give_up("a cell is missing", line);
        read_cell(row, table->columns[i].type, &at, &row->cells[i]);
    }
    for (size_t i = 0; i < row->item_count; i++)
        row->items[i].ptr = row->text.data + (size_t)row->items[i].ptr;
    for (size_t i = 0; i < table->count; i++) {
        struct cell *cell = &row->cells[i];
        if (!cell->null && table->columns[i].type == COLUMN_TEXT)
            cell->text.ptr = row->text.data + (size_t)cell->text.ptr;
        else if (!cell->null && table->columns[i].type == COLUMN_LIST)
            cell->list.items = row->items + (size_t)cell->list.items;
    }
}

/* ---- either format ---- */

struct writer {
    struct parquet *parquet;
    struct avro_writer *avro;
};

static int begin(const struct plan *plan, int fd, struct writer *w, struct fail *why) {
    return plan->is_avro ? avro_create(fd, &plan->table, &plan->avro, &w->avro, why)
                         : parquet_open(fd, &plan->table, &plan->options, why, &w->parquet);
}

static int add(struct writer *w, const struct row *row, struct fail *why) {
    return w->avro ? avro_row(w->avro, row->cells, why) : parquet_row(w->parquet, row->cells, why);
}

static int end(struct writer *w, struct table_facts *facts, struct fail *why) {
    return w->avro ? avro_close(w->avro, facts, why) : parquet_close(w->parquet, why, facts);
}

int main(int argc, char **argv) {
    static struct plan plan;
    static struct row row;
    struct fail why = FAIL_INIT;
    struct table_facts facts;
    struct writer w = {0};
    char *line = NULL;
    size_t room = 0;
    ssize_t len = getline(&line, &room, stdin);
    if (argc != 2 || len < 0)
        give_up("usage: table_write FILE < LINES", (struct tl_span){"", 0});
    read_plan(&plan, (struct tl_span){line, (size_t)len});
    int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int rc = fd < 0 ? fail_errno(&why, TL_FAILED, "cannot make %s", argv[1]) : begin(&plan, fd, &w, &why);
    while (rc == TL_OK && (len = getline(&line, &room, stdin)) >= 0) {
        read_row(&row, &plan.table, (struct tl_span){line, (size_t)len});
        rc = add(&w, &row, &why);
    }
    if (rc == TL_OK)
        rc = end(&w, &facts, &why);
    if (rc != TL_OK) {
        fprintf(stderr, "table_write: %s\n", why.text);
        return why.exit_code ? why.exit_code : 1;
    }
    close(fd);
    if (!facts.rows)
        unlink(argv[1]);
    printf("{\"rows\": %" PRIu64 ", \"bytes\": %" PRIu64 "}\n", facts.rows, facts.bytes);
    buf_free(&row.text);
    free(row.items);
    free(line);
    arena_free(&texts);
    return 0;
}
