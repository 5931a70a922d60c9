/* parquet.c - see parquet.h: rows into row groups, row groups into the file. */
#include "convert/parquet.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "convert/parquet_inside.h"

enum { PIECES = 64 };
static const char magic[] = "PAR1";

static struct parquet_options with_defaults(const struct parquet_options *given) {
    struct parquet_options o = given ? *given : (struct parquet_options){0};
    o.threads = o.threads ? o.threads : 1;
    o.threads = o.threads > PARQUET_THREADS_MAX ? PARQUET_THREADS_MAX : o.threads;
    o.group_rows = o.group_rows ? o.group_rows : 1 << 20;
    o.group_bytes = o.group_bytes ? o.group_bytes : 128 << 20;
    o.memory = o.memory ? o.memory : 32 << 20;
    o.page_bytes = o.page_bytes ? o.page_bytes : 1 << 20;
    o.page_rows = o.page_rows ? o.page_rows : 20000;
    o.dictionary_bytes = o.dictionary_bytes ? o.dictionary_bytes : 1 << 20;
    return o;
}

int parquet_open(int fd, const struct table *table, const struct parquet_options *options, struct fail *why,
                 struct parquet **out) {
    struct parquet *w = mem_alloc(sizeof *w);
    w->fd = fd;
    w->table = table;
    w->limits = with_defaults(options);
    w->pairs = mem_alloc(w->limits.pair_count * sizeof *w->pairs);
    for (size_t i = 0; i < w->limits.pair_count; i++)
        w->pairs[i] = (struct parquet_pair){mem_text(w->limits.pairs[i].key), mem_text(w->limits.pairs[i].value)};
    w->columns = mem_alloc(table->count * sizeof *w->columns);
    for (size_t i = 0; i < table->count; i++)
        column_open(&w->columns[i], &table->columns[i]);
    int rc = pages_open(&w->pages, w->limits.codec, w->limits.level, w->limits.threads, why);
    if (rc) {
        parquet_drop(w);
        return rc;
    }
    *out = w;
    return TL_OK;
}

void parquet_drop(struct parquet *w) {
    if (!w)
        return;
    for (size_t i = 0; i < w->table->count; i++)
        column_free(&w->columns[i], &w->pages.blocks);
    pages_close(&w->pages);
    for (size_t i = 0; i < w->limits.pair_count; i++) {
        free((char *)w->pairs[i].key);
        free((char *)w->pairs[i].value);
    }
    free(w->pairs);
    free(w->columns);
    free(w->groups);
    free(w->chunks);
    buf_free(&w->metas);
    buf_free(&w->column_indexes);
    buf_free(&w->offset_indexes);
    buf_free(&w->levels);
    free(w);
}

uint64_t parquet_size(const struct parquet *w) {
    return w->bytes;
}

/* ---- writing */

static int put_pieces(struct parquet *w, struct iovec *piece, int count, struct fail *why) {
    while (count) {
        ssize_t n = writev(w->fd, piece, count);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            w->broken = true;
            return fail_errno(why, TL_FAILED, "cannot write the Parquet file of table %.100s after %llu bytes",
                              w->table->name, (unsigned long long)w->bytes);
        }
        w->bytes += (uint64_t)n;
        for (size_t left = (size_t)n; count; piece++, count--) {
            if (left < piece->iov_len) {
                piece->iov_base = (char *)piece->iov_base + left;
                piece->iov_len -= left;
                break;
            }
            left -= piece->iov_len;
        }
    }
    return TL_OK;
}

static int put_bytes(struct parquet *w, const void *ptr, size_t len, struct fail *why) {
    struct iovec piece = {(void *)(uintptr_t)ptr, len};
    return len ? put_pieces(w, &piece, 1, why) : TL_OK;
}

static int put_pile(struct parquet *w, const struct pile *pile, struct fail *why) {
    struct iovec pieces[PIECES];
    for (struct block *b = pile->first; b;) {
        int count = 0;
        for (; b && count < PIECES; b = b->next)
            pieces[count++] = (struct iovec){b->data, b->len};
        int rc = put_pieces(w, pieces, count, why);
        if (rc)
            return rc;
    }
    return TL_OK;
}

static int end_group(struct parquet *w, struct fail *why) {
    for (size_t i = 0; i < w->table->count; i++)
        column_end_chunk(w, &w->columns[i]);
    pages_drain(&w->pages);
    if (w->pages.failed) {
        w->broken = true;
        return fail_set(why, TL_FAILED, "cannot compress a page of table %.100s: it is too large for the codec",
                        w->table->name);
    }
    int rc = w->bytes ? TL_OK : put_bytes(w, magic, 4, why);
    struct group group = {.rows = w->group_rows, .at = w->bytes};
    for (size_t i = 0; i < w->table->count && rc == TL_OK; i++) {
        struct parquet_column *c = &w->columns[i];
        uint64_t at = w->bytes;
        rc = put_pile(w, &c->dictionary_pile, why);
        if (rc == TL_OK)
            rc = put_pile(w, &c->pile, why);
        if (rc)
            break;
        group.raw += c->raw;
        group.stored += w->bytes - at;
        footer_chunk(w, c, at);
        column_next_chunk(w, c);
    }
    if (rc)
        return rc;
    MEM_GROW(w->groups, w->group_count, w->group_room);
    w->groups[w->group_count++] = group;
    w->rows += w->group_rows;
    w->group_rows = w->group_raw = w->open = 0;
    w->pages.held = 0;
    blocks_trim(&w->pages.blocks, w->limits.memory);
    return TL_OK;
}

int parquet_row(struct parquet *w, const struct cell *cells, struct fail *why) {
    if (w->broken)
        return TL_FAILED;
    size_t cost = 0;
    for (size_t i = 0; i < w->table->count; i++) {
        size_t one = column_cost(&w->columns[i], &cells[i]);
        if (one > PARQUET_CELL_MAX + 4)
            return fail_set(why, TL_INVALID, "a value of column %.100s in table %.100s is larger than %zu MiB",
                            w->table->columns[i].name, w->table->name, PARQUET_CELL_MAX >> 20);
        cost += one;
    }
    for (size_t i = 0; i < w->table->count; i++)
        column_put(w, &w->columns[i], &cells[i]);
    w->group_rows++;
    w->group_raw += cost;
    if (w->group_rows >= w->limits.group_rows || w->group_raw >= w->limits.group_bytes ||
        w->open + w->pages.held >= w->limits.memory)
        return end_group(w, why);
    return TL_OK;
}

static int end_file(struct parquet *w, struct fail *why) {
    int rc = w->group_rows ? end_group(w, why) : TL_OK;
    if (rc || !w->rows)
        return rc;
    AUTO_BUF struct buf footer = BUF_INIT;
    uint64_t column_index_at = w->bytes, offset_index_at = column_index_at + w->column_indexes.len;
    footer_file(w, column_index_at, offset_index_at, &footer);
    uint32_t len = (uint32_t)footer.len;
    buf_add(&footer, &len, sizeof len);
    buf_lit(&footer, "PAR1");
    if (footer.full || w->metas.full || w->column_indexes.full || w->offset_indexes.full || len > INT32_MAX)
        return fail_set(why, TL_FAILED, "the Parquet file of table %.100s has too many row groups (%zu)",
                        w->table->name, w->group_count);
    rc = put_bytes(w, w->column_indexes.data, w->column_indexes.len, why);
    if (rc == TL_OK)
        rc = put_bytes(w, w->offset_indexes.data, w->offset_indexes.len, why);
    if (rc == TL_OK)
        rc = put_bytes(w, footer.data, footer.len, why);
    return rc;
}

int parquet_close(struct parquet *w, struct fail *why, struct table_facts *facts) {
    int rc = w->broken ? TL_FAILED : end_file(w, why);
    if (facts)
        *facts = (struct table_facts){.rows = w->rows, .bytes = w->bytes};
    parquet_drop(w);
    return rc;
}
