/* cmd_rows.c - the answer of a question on the views, as a table for people or as JSON, JSON Lines, CSV for programs.
 *
 * A table is aligned by its first rows, which are held; what comes later is written as it comes, so that an answer of
 * any length needs little memory. */
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/print.h"

enum { HELD = 1000, COLUMNS_MAX = 64, GAP = 2 };

struct rows {
    enum cmd_format format;
    FILE *out;
    struct buf line;
    size_t count;   /* rows seen */
    size_t columns; /* of a table, at most COLUMNS_MAX */
    size_t width[COLUMNS_MAX];
    bool text[COLUMNS_MAX]; /* some value is no number: aligned left */
    char *held[HELD][COLUMNS_MAX];
    bool aligned; /* the held rows are written */
};

static void write_line(struct rows *r) {
    fwrite(r->line.data ? r->line.data : "", 1, r->line.len, r->out);
    buf_reset(&r->line);
}

/* ---- for programs */

static void csv_row(struct rows *r, const struct store_row *row, bool head) {
    AUTO_BUF struct buf cell = BUF_INIT;
    for (size_t i = 0; i < row->count; i++) {
        if (i)
            buf_char(&r->line, ',');
        buf_reset(&cell);
        if (head)
            buf_text(&cell, row->name[i]);
        else
            print_value(&cell, &row->value[i]);
        print_csv(&r->line, buf_span(&cell));
    }
    buf_lit(&r->line, "\r\n");
}

static void json_row(struct rows *r, const struct store_row *row) {
    struct json_writer w = JSON_WRITER(&r->line);
    if (r->format == CMD_JSON)
        buf_text(&r->line, r->count ? ",\n " : "[");
    print_object(&w, row);
    if (r->format == CMD_JSONL)
        buf_char(&r->line, '\n');
}

/* ---- for people */

static void table_row(struct rows *r, char *const cell[]) {
    size_t owed = 0; /* spaces are written only before something */
    for (size_t i = 0; i < r->columns; i++) {
        size_t wide = print_width(span_of(cell[i])), pad = wide < r->width[i] ? r->width[i] - wide : 0;
        if (!r->text[i])
            owed += pad;
        if (*cell[i]) {
            for (; owed; owed--)
                buf_char(&r->line, ' ');
            buf_text(&r->line, cell[i]);
        }
        owed += GAP + (r->text[i] ? pad : 0);
    }
    buf_char(&r->line, '\n');
    write_line(r);
}

static void align(struct rows *r) {
    for (size_t k = 0; k < r->count && k < HELD; k++) {
        table_row(r, r->held[k]);
        for (size_t i = 0; i < r->columns; i++)
            free(r->held[k][i]);
    }
    r->aligned = true;
}

/* Row 0 is the header. */
static void take_row(struct rows *r, const struct store_row *row, bool head) {
    char *cell[COLUMNS_MAX] = {NULL};
    for (size_t i = 0; i < r->columns; i++) {
        AUTO_BUF struct buf raw = BUF_INIT, plain = BUF_INIT;
        if (head) {
            for (const char *c = row->name[i]; *c; c++)
                buf_char(&plain, *c >= 'a' && *c <= 'z' ? (char)(*c - 32) : *c);
        } else {
            print_value(&raw, &row->value[i]);
            print_plain(&plain, buf_span(&raw), 0);
            r->text[i] |= row->value[i].type == STORE_TEXT || row->value[i].type == STORE_BLOB;
        }
        cell[i] = buf_steal(&plain);
        size_t wide = print_width(span_of(cell[i]));
        if (!r->aligned && wide > r->width[i])
            r->width[i] = wide;
    }
    if (r->count < HELD)
        memcpy(r->held[r->count], cell, sizeof cell);
    else {
        if (!r->aligned)
            align(r);
        table_row(r, cell);
        for (size_t i = 0; i < r->columns; i++)
            free(cell[i]);
    }
    r->count++;
}

static int each_row(void *ctx, const struct store_row *row) {
    struct rows *r = ctx;
    if (r->format == CMD_TABLE) {
        if (!r->count) {
            r->columns = row->count < COLUMNS_MAX ? row->count : COLUMNS_MAX;
            take_row(r, row, true);
        }
        take_row(r, row, false);
        return ferror(r->out) ? 1 : 0;
    }
    if (r->format == CMD_CSV) {
        if (!r->count)
            csv_row(r, row, true);
        csv_row(r, row, false);
    } else
        json_row(r, row);
    r->count++;
    write_line(r);
    return ferror(r->out) ? 1 : 0;
}

int cmd_rows(struct store *s, enum cmd_format format, FILE *out, const char *sql, const struct store_value *args,
             size_t n, struct fail *why) {
    struct rows *r = mem_alloc(sizeof *r);
    r->format = format;
    r->out = out;
    int rc = store_query(s, sql, args, n, each_row, r, why);
    if (format == CMD_TABLE && !r->aligned)
        align(r);
    if (format == CMD_JSON && rc == TL_OK)
        fputs(r->count ? "]\n" : "[]\n", out);
    buf_free(&r->line);
    free(r);
    return rc;
}
