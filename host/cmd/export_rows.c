/* export_rows.c - trotline export ROOT --format jsonl|csv: the items of a crawl, or rows of a type, as text.
 *
 * Rows are written as they are read, so memory is that of one row. What is written can be read back to the same values:
 * integers are exact, times have microseconds, and in CSV an empty text is quoted, which tells it from null. */
#include "cmd/export.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "base/yaml.h"
#include "cmd/print.h"
#include "engine/item_rows.h"

struct writing {
    const struct table *table;
    size_t pick[ROW_COLUMNS_MAX], count; /* columns, in the order asked for */
    bool csv, items;
    struct buf line, cell;
    int64_t rows;
};

/* ---- one value */

static bool is_object(const struct writing *w, size_t column) {
    return w->items && (column == ITEMS_DATASET_METADATA || column == ITEMS_ELEMENT_METADATA);
}

/* An object as it stands in the document, but on one line: a line break can only be white space between its parts. */
static void put_object(struct writing *w, struct json_writer *j, struct tl_span text) {
    struct tl_json value;
    if (json_parse(text, &value)) { /* never of our making */
        json_put_string(j, text);
        return;
    }
    buf_reset(&w->cell);
    for (size_t i = 0; i < value.raw.len; i++)
        buf_char(&w->cell, value.raw.ptr[i] == '\n' || value.raw.ptr[i] == '\r' ? ' ' : value.raw.ptr[i]);
    json_put_raw(j, buf_span(&w->cell));
}

static void put_list(struct json_writer *j, const struct cell *c) {
    json_array_begin(j);
    for (size_t i = 0; i < c->list.count; i++)
        json_put_string(j, c->list.items[i]);
    json_array_end(j);
}

static void put_json(struct writing *w, struct json_writer *j, size_t column, const struct cell *c) {
    char time[TIME_TEXT];
    if (c->null) {
        json_put_null(j);
        return;
    }
    switch (w->table->columns[column].type) {
    case COLUMN_TEXT:
        if (is_object(w, column))
            put_object(w, j, c->text);
        else
            json_put_string(j, c->text);
        break;
    case COLUMN_INT:
        json_put_int(j, c->number);
        break;
    case COLUMN_REAL:
        json_put_real(j, c->real);
        break;
    case COLUMN_BOOL:
        json_put_bool(j, c->number != 0);
        break;
    case COLUMN_TIME:
        json_put_text(j, time_text(c->number, time));
        break;
    case COLUMN_LIST:
        put_list(j, c);
    }
}

static void put_csv(struct writing *w, size_t column, const struct cell *c) {
    char time[TIME_TEXT];
    if (c->null)
        return;
    const enum column_type type = w->table->columns[column].type;
    if (type == COLUMN_TEXT && !c->text.len)
        buf_lit(&w->line, "\"\"");
    else if (type == COLUMN_TEXT)
        print_csv(&w->line, c->text);
    else if (type == COLUMN_TIME)
        buf_text(&w->line, time_text(c->number, time));
    else {
        AUTO_BUF struct buf cell = BUF_INIT;
        struct json_writer j = JSON_WRITER(&cell);
        put_json(w, &j, column, c);
        print_csv(&w->line, buf_span(&cell));
    }
}

/* ---- rows */

static int write_line(struct writing *w) {
    fwrite(buf_span(&w->line).ptr, 1, w->line.len, stdout);
    buf_shrink(&w->line, 1 << 20);
    buf_reset(&w->line);
    return ferror(stdout) ? 1 : 0;
}

static int put_row(void *ctx, const struct cell *cells) {
    struct writing *w = ctx;
    w->rows++;
    if (w->csv)
        for (size_t i = 0; i < w->count; i++) {
            if (i)
                buf_char(&w->line, ',');
            put_csv(w, w->pick[i], &cells[w->pick[i]]);
        }
    else {
        struct json_writer j = JSON_WRITER(&w->line);
        json_object_begin(&j);
        for (size_t i = 0; i < w->count; i++) {
            json_put_key(&j, w->table->columns[w->pick[i]].name);
            put_json(w, &j, w->pick[i], &cells[w->pick[i]]);
        }
        json_object_end(&j);
    }
    buf_text(&w->line, w->csv ? "\r\n" : "\n");
    return write_line(w);
}

static int put_header(struct writing *w) {
    for (size_t i = 0; i < w->count; i++)
        buf_printf(&w->line, "%s%s", i ? "," : "", w->table->columns[w->pick[i]].name);
    buf_lit(&w->line, "\r\n");
    return write_line(w);
}

/* ---- what is asked for */

static int refuse_column(const struct table *t, const char *name) {
    const char *known[ROW_COLUMNS_MAX];
    for (size_t i = 0; i < t->count; i++)
        known[i] = t->columns[i].name;
    const char *near = yaml_nearest(name, known, t->count);
    return cmd_usage("export", "%s has no column '%s'%s%s%s", t->name, name, near ? "; did you mean '" : "",
                     near ? near : "", near ? "'?" : "");
}

static int pick_columns(struct writing *w, const char *list) {
    const struct table *t = w->table;
    for (size_t i = 0; !list && i < t->count; i++)
        w->pick[w->count++] = i;
    for (const char *at = list, *end; at; at = *end ? end + 1 : NULL) {
        end = at + strcspn(at, ",");
        AUTO_FREE char *name = mem_text_n(at, (size_t)(end - at));
        size_t i = 0;
        while (i < t->count && strcmp(t->columns[i].name, name) != 0)
            i++;
        if (i == t->count)
            return refuse_column(t, name);
        if (w->count == ROW_COLUMNS_MAX)
            return cmd_usage("export", "--columns names more than %d columns", ROW_COLUMNS_MAX);
        w->pick[w->count++] = i;
    }
    return 0;
}

static int stream(struct cmd_open *o, const struct store_selection *which, const struct types_type *type,
                  struct writing *w) {
    struct fail why = FAIL_INIT;
    const struct item_rows_options options = {
        .store = o->store, .lake = o->lake, .which = *which, .row = put_row, .ctx = w};
    int rc = w->csv ? put_header(w) : TL_OK;
    if (!rc)
        rc = type ? item_rows_typed(&options, type, &why) : item_rows(&options, &why);
    if (!cmd_flush(stdout))
        return EXIT_DISK;
    return rc < 0 ? cmd_fail(&why, EXIT_INTERNAL) : EXIT_DONE;
}

static int rows(struct cmd_open *o, const struct cmd_globals *g, const struct export_options *x,
                const struct types_type *type, struct writing *w) {
    struct store_selection which;
    int64_t failed = 0;
    w->items = !type;
    w->table = type ? &type->table : &items_table;
    int code = pick_columns(w, x->columns);
    if (!code)
        code = tables_select(o, &x->which, &which);
    if (!code)
        code = tables_convert_first(o, g, &which, &failed);
    if (!code)
        code = stream(o, &which, type, w);
    if (code)
        return code;
    code = failed ? EXIT_LINE : EXIT_DONE;
    if (failed)
        log_ending(code, "export: %lld row%s, but %lld document%s could not be converted (see above)",
                   (long long)w->rows, print_s(w->rows), (long long)failed, print_s(failed));
    else
        log_ending(code, "export: %lld row%s", (long long)w->rows, print_s(w->rows));
    return code;
}

int export_rows(struct cmd_open *o, const struct cmd_globals *g, const struct export_options *x) {
    struct export_options own = *x;
    struct fail why = FAIL_INIT;
    struct config_types types = {0};
    const struct types_type *type = NULL;
    struct writing w = {.csv = x->format && strcmp(x->format, "csv") == 0};
    if (!x->format || (!w.csv && strcmp(x->format, "jsonl") != 0))
        return cmd_usage("export", "--format takes jsonl or csv%s%s", x->format ? ", not " : "",
                         x->format ? x->format : "");
    if (x->count > 1)
        return cmd_usage("export", "one crawl at a time, or all of them without an id");
    own.which.id = x->count ? x->word[0] : NULL;
    int code = cmd_open(o, g, CMD_STORE_READ | CMD_LAKE_READ, NULL, 0);
    if (!code && x->type && config_types(&o->config, &types, &why))
        code = cmd_fail(&why, EXIT_CONFIG);
    if (!code && x->type)
        code = tables_type("export", &types, x->type, &type);
    if (!code)
        code = rows(o, g, &own, type, &w);
    config_types_free(&types);
    buf_free(&w.line);
    buf_free(&w.cell);
    return code;
}
