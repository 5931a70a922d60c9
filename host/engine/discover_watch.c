/* discover_watch.c - what is watched of rows: values of columns, as text, short enough for a catalog.
 *
 * Invariant: a value that fits is exact; of one that does not, the beginning is kept with a digest of the whole, so
 * that each change is one. */
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "base/utf8.h"
#include "engine/discover_inside.h"

enum { VALUE_MAX = 1000, DOCUMENT_MAX = 1000, DIGEST_SHOWN = 8 };

/* ---- cells */

bool discover_cell(const struct types_type *t, size_t column, const struct cell *cells, size_t i, struct buf *scratch,
                   struct tl_span *out) {
    const struct cell *c = &cells[column];
    enum column_type type = t->table.columns[column].type;
    char time[TIME_TEXT];
    if (c->null || (type == COLUMN_LIST ? i >= c->list.count : i > 0))
        return false;
    buf_reset(scratch);
    if (type == COLUMN_TEXT)
        *out = c->text;
    else if (type == COLUMN_LIST)
        *out = c->list.items[i];
    else {
        if (type == COLUMN_INT)
            buf_int(scratch, c->number);
        else if (type == COLUMN_BOOL)
            buf_text(scratch, c->number ? "true" : "false");
        else if (type == COLUMN_TIME)
            buf_text(scratch, time_text(c->number, time));
        else
            buf_printf(scratch, "%.17g", c->real);
        *out = buf_span(scratch);
    }
    return true;
}

static bool one_of(const struct discovery_where *w, struct tl_span text) {
    for (size_t i = 0; i < w->count; i++)
        if (discovery_matches(w->pattern[i], text))
            return true;
    return false;
}

bool discover_is_meant(const struct discovery_rule *rule, const struct cell *cells, struct buf *scratch) {
    struct tl_span value;
    for (size_t i = 0; i < rule->where_count; i++) {
        bool good = false;
        for (size_t k = 0; !good && discover_cell(rule->type, rule->where[i].column, cells, k, scratch, &value); k++)
            good = one_of(&rule->where[i], value);
        if (!good)
            return false;
    }
    return true;
}

/* ---- values */

/* NULL: the column has none. A NUL, which no query would show, becomes what says that something cannot be shown. */
static char *keep_text(struct tl_span text) {
    AUTO_BUF struct buf out = BUF_INIT;
    char hex[2 * DIGEST_SHOWN + 1];
    size_t n = text.len <= VALUE_MAX ? text.len : VALUE_MAX;
    while (n < text.len && n && ((unsigned char)text.ptr[n] & 0xC0) == 0x80)
        n--;
    for (size_t i = 0; i < n; i++)
        text.ptr[i] ? buf_char(&out, text.ptr[i]) : buf_lit(&out, "\xEF\xBF\xBD");
    if (n < text.len) {
        struct sha256 whole = hash_sha256(text.ptr, text.len);
        buf_printf(&out, "... sha256:%s", hash_hex(whole.byte, DIGEST_SHOWN, hex));
    }
    return mem_text(out.len ? out.data : "");
}

static char *keep_cell(const struct types_type *t, size_t column, const struct cell *cells, struct buf *scratch) {
    const struct cell *c = &cells[column];
    struct tl_span value;
    if (c->null)
        return NULL;
    if (t->table.columns[column].type != COLUMN_LIST)
        return discover_cell(t, column, cells, 0, scratch, &value) ? keep_text(value) : NULL;
    buf_reset(scratch);
    struct json_writer w = JSON_WRITER(scratch);
    json_array_begin(&w);
    for (size_t i = 0; i < c->list.count; i++)
        json_put_string(&w, c->list.items[i]);
    json_array_end(&w);
    return keep_text(buf_span(scratch));
}

/* ---- rows */

bool discover_watches(const struct discovery *d, const struct types_type *t) {
    for (size_t i = 0; i < d->watch_count; i++)
        if (d->watch[i].rule.type == t)
            return true;
    return false;
}

int watching_reused(void *ctx, int64_t run, int64_t result_run) {
    struct watching *w = ctx;
    MEM_GROW(w->reuse, w->reuses, w->reuse_room);
    w->reuse[w->reuses++] = (struct reuse){run, result_run};
    return TL_OK;
}

void watching_document(struct watching *w) {
    w->of_document = 0;
}

static void hold(struct watching *w, int64_t run, const struct discovery_watch *by, const char *of, const char *value) {
    MEM_GROW(w->held, w->count, w->room);
    w->held[w->count++] =
        (struct watched){.run = run, .by = by, .of = mem_text(of), .value = value ? mem_text(value) : NULL};
}

static size_t first_reuse(const struct watching *w, int64_t result_run) {
    size_t low = 0, high = w->reuses;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (w->reuse[mid].result_run < result_run)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void watching_row(struct watching *w, const struct discovery *d, const struct types_type *t, int64_t run,
                  int64_t result_run, const struct cell *cells) {
    for (size_t i = 0; i < d->watch_count; i++) {
        const struct discovery_watch *by = &d->watch[i];
        if (by->rule.type != t || !discover_is_meant(&by->rule, cells, &w->value) || w->of_document > DOCUMENT_MAX)
            continue;
        if (++w->of_document > DOCUMENT_MAX) {
            log_warn("a document has more than %d values that are watched: the others are left out", DOCUMENT_MAX);
            continue;
        }
        AUTO_FREE char *of = keep_cell(t, by->of, cells, &w->of);
        AUTO_FREE char *value = keep_cell(t, by->rule.column, cells, &w->value);
        if (run)
            hold(w, run, by, of, value);
        for (size_t k = first_reuse(w, result_run); k < w->reuses && w->reuse[k].result_run == result_run; k++)
            hold(w, w->reuse[k].run, by, of, value);
    }
}

/* ---- into the catalog */

static void drop(struct watching *w) {
    for (size_t i = 0; i < w->count; i++) {
        free(w->held[i].of);
        free(w->held[i].value);
    }
    w->count = 0;
}

int watching_write(struct watching *w, struct store *s) {
    int rc = TL_OK;
    for (size_t i = 0; i < w->count && !rc; i++) {
        const struct watched *h = &w->held[i];
        const struct store_watch put = {.run = h->run,
                                        .type = h->by->rule.type->name,
                                        .column = h->by->rule.column_name,
                                        .of = h->of,
                                        .value = h->value,
                                        .lines = h->by->lines};
        rc = store_watch_put(s, &put);
    }
    drop(w);
    return rc;
}

int watching_fold(struct store *s, struct fail *why) {
    int64_t folded = 1, left_out = 0;
    int rc = TL_OK;
    while (folded && !rc) {
        if ((rc = store_begin(s, why)) != TL_OK)
            return rc;
        rc = store_watch_fold(s, &folded, &left_out);
        if (rc) {
            store_rollback(s);
            return fail_exit(why, rc, EXIT_INTERNAL, "what is watched cannot be written to the catalog");
        }
        rc = store_commit(s, why);
    }
    if (left_out)
        log_warn(
            "%lld values of rows are left out of the history: a target has more rows that are watched than are kept "
            "(trotline-targets(5))",
            (long long)left_out);
    return rc;
}

void watching_free(struct watching *w) {
    drop(w);
    free(w->held);
    free(w->reuse);
    buf_free(&w->value);
    buf_free(&w->of);
}
