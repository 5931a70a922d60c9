/* diff_rows.c - trotline diff --items, --type: what two crawls have in common, what came, went or changed, row by row.
 *
 * An item is the same one when collector, dataset, URL, and key or id within the dataset are; where it has no URL, when
 * the names of its line and result are. It has changed when its bytes have. A row of a type is known by its natural
 * key, and has changed when its row_sha256 has. Rows of one key pair up by their content first, then as they come. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/mem.h"
#include "cmd/diff_out.h"
#include "cmd/tables.h"
#include "engine/item_rows.h"

struct entry {
    struct tl_span key;
    struct sha256 sum;
    struct uuid item;
    int64_t ordinal;      /* of a typed row */
    const char *document; /* path; shared by the rows of a document */
};
struct side {
    struct store_selection which;
    struct arena arena;
    struct entry *entry;
    size_t count, room;
    const char *document; /* of the last row */
};
struct comparing {
    struct diff_out out;
    const struct types_type *type; /* NULL: items */
    struct side side[2], *at;
    struct buf key;
};

/* ---- reading one side */

static void put_part(struct json_writer *w, const struct cell *c) {
    if (c->null)
        json_put_null(w);
    else
        json_put_string(w, c->text);
}

static void put_item_key(struct buf *out, const struct cell *item) {
    struct json_writer w = JSON_WRITER(out);
    const struct cell *part = item[ITEMS_KEY_NAME].null ? &item[ITEMS_ELEMENT_ID] : &item[ITEMS_KEY_NAME];
    json_array_begin(&w);
    put_part(&w, &item[ITEMS_COLLECTOR_NAME]);
    put_part(&w, &item[ITEMS_DATASET_NAME]);
    if (!item[ITEMS_DATA_URL].null)
        put_part(&w, &item[ITEMS_DATA_URL]);
    else {
        put_part(&w, &item[ITEMS_RESULT_CONTEXT_NAME]);
        put_part(&w, &item[ITEMS_RESULT_NAME]);
    }
    if (!part->null)
        put_part(&w, part);
    json_array_end(&w);
}

static int add_entry(struct side *s, struct tl_span key, const struct cell *sum, const struct cell *id,
                     const struct cell *path, int64_t ordinal) {
    struct entry e = {.key = {arena_span(&s->arena, key), key.len}, .ordinal = ordinal};
    if (!sum->null && hash_unhex(sum->text, e.sum.byte, SHA256_BYTES))
        e.sum = hash_sha256(sum->text.ptr, sum->text.len);
    if (!id->null && uuid_parse(id->text, &e.item))
        e.item = (struct uuid){0};
    if (!path->null && (!s->document || !span_eq(path->text, s->document)))
        s->document = arena_span(&s->arena, path->text);
    e.document = path->null ? NULL : s->document;
    MEM_GROW(s->entry, s->count, s->room);
    s->entry[s->count++] = e;
    return TL_OK;
}

static int add_item(void *ctx, const struct cell *item) {
    struct comparing *c = ctx;
    if (item[ITEMS_PARENT_ID].null)
        return TL_OK; /* the root's own document is not compared */
    buf_reset(&c->key);
    put_item_key(&c->key, item);
    return add_entry(c->at, buf_span(&c->key), &item[ITEMS_DATA_SHA256], &item[ITEMS_ITEM_ID],
                     &item[ITEMS_DOCUMENT_PATH], 0);
}

static int add_row(void *ctx, const struct cell *row) {
    struct comparing *c = ctx;
    const struct cell *tail = row + c->type->table.count - TYPES_TAIL;
    const struct cell none = {.null = true};
    return add_entry(c->at, tail[0].null ? (struct tl_span){"", 0} : tail[0].text, tail[1].null ? &none : &tail[1],
                     &row[0], &row[3], row[1].null ? 0 : row[1].number);
}

static int compare_keys(const void *left, const void *right) {
    const struct entry *a = left, *b = right;
    size_t shorter = a->key.len < b->key.len ? a->key.len : b->key.len;
    int order = memcmp(a->key.ptr, b->key.ptr, shorter);
    return order ? order : (a->key.len > b->key.len) - (a->key.len < b->key.len);
}

static int in_order(const void *left, const void *right) {
    const struct entry *a = left, *b = right;
    int order = compare_keys(a, b);
    if (!order)
        order = memcmp(&a->sum, &b->sum, sizeof a->sum);
    if (!order)
        order = memcmp(&a->item, &b->item, sizeof a->item);
    return order ? order : (a->ordinal > b->ordinal) - (a->ordinal < b->ordinal);
}

static int read_side(struct cmd_open *o, struct comparing *c, struct side *s, struct fail *why) {
    const struct item_rows_options options = {
        .store = o->store, .lake = o->lake, .which = s->which, .row = c->type ? add_row : add_item, .ctx = c};
    c->at = s;
    int rc = c->type ? item_rows_typed(&options, c->type, why) : item_rows(&options, why);
    if (s->count)
        qsort(s->entry, s->count, sizeof *s->entry, in_order);
    return rc;
}

/* ---- comparing */

static int put_version(void *ctx, struct json_writer *w, const void *entry) {
    const struct comparing *c = ctx;
    const struct entry *e = entry;
    char id[UUID_TEXT], hex[SHA256_HEX];
    json_object_begin(w);
    json_member_string(w, "item_id", uuid_text(&e->item, id));
    if (c->type)
        json_member_int(w, "ordinal", e->ordinal);
    json_member_string(w, c->type ? "row_sha256" : "data_sha256", hash_hex(e->sum.byte, SHA256_BYTES, hex));
    json_member_string(w, "document_path", e->document);
    json_object_end(w);
    return TL_OK;
}

/* Leaves in the two lists, each in order of content, what has no counterpart of the same content; returns how many had.
 */
static int64_t pair_up(struct entry **a, size_t *n, struct entry **b, size_t *m) {
    size_t i = 0, k = 0, left = 0, right = 0;
    int64_t same = 0;
    while (i < *n || k < *m) {
        int order = i == *n ? 1 : k == *m ? -1 : memcmp(&a[i]->sum, &b[k]->sum, sizeof a[i]->sum);
        same += order == 0;
        if (order < 0)
            a[left++] = a[i];
        if (order > 0)
            b[right++] = b[k];
        i += order <= 0;
        k += order >= 0;
    }
    *n = left;
    *m = right;
    return same;
}

static int compare_group(void *ctx, void *left_side, size_t n, void *right_side, size_t m, unsigned wanted) {
    struct comparing *c = ctx;
    struct entry *a = left_side, *b = right_side;
    struct entry **left = mem_array(NULL, n + 1, sizeof *left), **right = mem_array(NULL, m + 1, sizeof *right);
    int rc = TL_OK;
    for (size_t i = 0; i < n; i++)
        left[i] = &a[i];
    for (size_t i = 0; i < m; i++)
        right[i] = &b[i];
    c->out.same += pair_up(left, &n, right, &m);
    for (size_t i = 0; !rc && (i < n || i < m); i++) {
        struct entry *before = i < n ? left[i] : NULL, *after = i < m ? right[i] : NULL;
        enum diff_change change = !before ? DIFF_ADDED : !after ? DIFF_REMOVED : DIFF_CHANGED;
        c->out.change[change]++;
        rc = diff_out_report(&c->out, wanted, change, (before ? before : after)->key, before, after);
    }
    free(left);
    free(right);
    return rc;
}

static int merge(void *ctx, unsigned wanted) {
    struct comparing *c = ctx;
    const struct diff_side side[2] = {{c->side[0].entry, c->side[0].count, sizeof(struct entry)},
                                      {c->side[1].entry, c->side[1].count, sizeof(struct entry)}};
    return diff_out_merge(side, compare_keys, compare_group, c, wanted);
}

/* ---- the whole */

static int compare(struct cmd_open *o, const struct cmd_globals *g, char **root, struct comparing *c, bool exit_code) {
    struct fail why = FAIL_INIT;
    int64_t failed[2] = {0};
    int code = 0;
    for (size_t i = 0; !code && i < 2; i++) {
        const struct tables_choice choice = {.id = root[i]};
        code = tables_select(o, &choice, &c->side[i].which);
        if (!code)
            code = tables_convert_first(o, g, &c->side[i].which, &failed[i]);
    }
    if (code)
        return code;
    int rc = read_side(o, c, &c->side[0], &why);
    if (!rc)
        rc = read_side(o, c, &c->side[1], &why);
    if (!rc)
        rc = diff_out_all(&c->out, merge, c);
    if (rc < 0)
        return cmd_fail(&why, EXIT_INTERNAL);
    code = diff_out_end(&c->out, exit_code);
    if (!failed[0] && !failed[1])
        return code;
    log_error("%lld documents could not be converted (see above): their rows are not in it",
              (long long)(failed[0] + failed[1]));
    return EXIT_LINE;
}

int diff_rows(struct cmd_open *o, const struct cmd_globals *g, char **root, const char *type, enum cmd_format format,
              bool exit_code) {
    struct comparing c = {.out = {.format = format, .version = put_version, .ctx = &c}};
    struct config_types types = {0};
    struct fail why = FAIL_INIT;
    int code = type && config_types(&o->config, &types, &why) ? cmd_fail(&why, EXIT_CONFIG) : 0;
    if (!code && type)
        code = tables_type("diff", &types, type, &c.type);
    if (!code)
        code = compare(o, g, root, &c, exit_code);
    for (size_t i = 0; i < 2; i++) {
        arena_free(&c.side[i].arena);
        free(c.side[i].entry);
    }
    buf_free(&c.key);
    buf_free(&c.out.text);
    config_types_free(&types);
    return code;
}
