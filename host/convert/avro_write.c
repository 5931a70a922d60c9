/* avro_write.c - the writer of avro.h. Rows are encoded where the block grows; a block goes out whole, or the file is
 * given up. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "convert/avro_inside.h"

struct avro_writer {
    int fd;
    char *name;
    const struct table *table;
    struct codec *codec; /* NULL: blocks go out as they are */
    bool crc;
    size_t block_bytes;
    struct buf header; /* written with the first block */
    struct buf block, packed;
    uint64_t block_rows;
    struct table_facts facts;
    char sync[AVRO_SYNC_BYTES];
    bool broken;
};

/* ---- header ---- */

static void put_schema(struct buf *out, const struct table *table, const struct avro_options *o) {
    struct json_writer j = JSON_WRITER(out);
    json_object_begin(&j);
    json_member_string(&j, "type", "record");
    json_member_string(&j, "name", o->record ? o->record : table->name);
    json_member_string(&j, "namespace", o->name_space ? o->name_space : "trotline");
    json_put_key(&j, "fields");
    json_array_begin(&j);
    for (size_t i = 0; i < table->count; i++) {
        const struct column *c = &table->columns[i];
        json_object_begin(&j);
        json_member_string(&j, "name", c->name);
        json_member_raw(&j, "type", span_of(avro_types[c->type]));
        json_member_null(&j, "default");
        if (c->doc)
            json_member_string(&j, "doc", c->doc);
        json_object_end(&j);
    }
    json_array_end(&j);
    json_object_end(&j);
}

static void put_bytes(struct buf *out, struct tl_span bytes) {
    char n[AVRO_LONG_BYTES];
    buf_add(out, n, (size_t)(avro_put_long(n, (int64_t)bytes.len) - n));
    buf_add(out, bytes.ptr, bytes.len);
}

static int put_header(struct avro_writer *w, const struct avro_options *o, struct fail *why) {
    AUTO_BUF struct buf schema = BUF_INIT;
    char n[AVRO_LONG_BYTES];
    put_schema(&schema, w->table, o);
    w->header.max = AVRO_HEADER_MAX;
    buf_add(&w->header, AVRO_MAGIC, AVRO_MAGIC_BYTES);
    buf_add(&w->header, n, (size_t)(avro_put_long(n, (int64_t)o->pair_count + 2) - n));
    put_bytes(&w->header, span_of(AVRO_KEY_SCHEMA));
    put_bytes(&w->header, buf_span(&schema));
    put_bytes(&w->header, span_of(AVRO_KEY_CODEC));
    put_bytes(&w->header, span_of(avro_codecs[o->codec].name));
    for (size_t i = 0; i < o->pair_count; i++) {
        if (strncmp(o->pairs[i].key, "avro.", 5) == 0)
            return fail_set(why, TL_INVALID, "cannot write the Avro file %s: the metadata name '%s' belongs to Avro",
                            w->name, o->pairs[i].key);
        put_bytes(&w->header, span_of(o->pairs[i].key));
        put_bytes(&w->header, span_of(o->pairs[i].value));
    }
    buf_char(&w->header, 0);
    buf_add(&w->header, w->sync, sizeof w->sync);
    if (w->header.full || o->pair_count > AVRO_PAIRS_MAX - 2)
        return fail_set(why, TL_INVALID,
                        "cannot write the Avro file %s: its metadata are more than %d bytes or %d pairs", w->name,
                        AVRO_HEADER_MAX, AVRO_PAIRS_MAX - 2);
    return TL_OK;
}

int avro_create(int fd, const struct table *table, const struct avro_options *options, struct avro_writer **out,
                struct fail *why) {
    static const struct avro_options usual;
    const struct avro_options *o = options ? options : &usual;
    *out = NULL;
    struct avro_writer *w = mem_alloc(sizeof *w);
    w->fd = fd;
    w->name = mem_text(o->name ? o->name : "(unnamed)");
    w->table = table;
    w->block_bytes = o->block_bytes ? o->block_bytes : AVRO_BLOCK_BYTES;
    if (w->block_bytes > AVRO_ROW_MAX)
        w->block_bytes = AVRO_ROW_MAX;
    w->crc = o->codec == AVRO_SNAPPY;
    int rc = TL_OK;
    if (getrandom(w->sync, sizeof w->sync, 0) != (ssize_t)sizeof w->sync)
        rc = fail_errno(why, TL_FAILED, "cannot write the Avro file %s: no random numbers", w->name);
    if (rc == TL_OK && o->codec != AVRO_NULL) {
        const struct codec_options c = {
            .kind = avro_codecs[o->codec].kind, .level = o->codec == AVRO_SNAPPY ? 0 : o->level, .checksum = true};
        rc = codec_new(&c, &w->codec, why);
    }
    if (rc == TL_OK)
        rc = put_header(w, o, why);
    if (rc != TL_OK) {
        avro_drop(w);
        return rc;
    }
    *out = w;
    return TL_OK;
}

/* ---- blocks ---- */

static int write_parts(struct avro_writer *w, struct iovec *part, int count, struct fail *why) {
    while (count) {
        ssize_t n = writev(w->fd, part, count);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            w->broken = true;
            return fail_errno(why, TL_FAILED, "cannot write the Avro file %s at byte %llu", w->name,
                              (unsigned long long)w->facts.bytes);
        }
        w->facts.bytes += (uint64_t)n;
        size_t left = (size_t)n;
        for (; count && left >= part->iov_len; part++, count--)
            left -= part->iov_len;
        if (count) {
            part->iov_base = (char *)part->iov_base + left;
            part->iov_len -= left;
        }
    }
    return TL_OK;
}

static int pack(struct avro_writer *w, struct tl_span *out, struct fail *why) {
    struct tl_span plain = buf_span(&w->block);
    *out = plain;
    if (!w->codec)
        return TL_OK;
    buf_reset(&w->packed);
    int rc = codec_pack(w->codec, plain, &w->packed, why);
    if (rc != TL_OK) {
        w->broken = true;
        return rc;
    }
    if (w->crc) {
        uint32_t sum = codec_crc32(plain);
        buf_add(&w->packed, (char[]){(char)(sum >> 24), (char)(sum >> 16), (char)(sum >> 8), (char)sum},
                AVRO_CRC_BYTES);
    }
    *out = buf_span(&w->packed);
    return TL_OK;
}

static int flush(struct avro_writer *w, struct fail *why) {
    struct tl_span bytes;
    int rc = pack(w, &bytes, why);
    if (rc != TL_OK)
        return rc;
    char head[2 * AVRO_LONG_BYTES];
    char *end = avro_put_long(avro_put_long(head, (int64_t)w->block_rows), (int64_t)bytes.len);
    struct iovec part[] = {{w->header.data, w->header.len},
                           {head, (size_t)(end - head)},
                           {(void *)bytes.ptr, bytes.len}, /* writev only reads it */
                           {w->sync, sizeof w->sync}};
    rc = write_parts(w, part, COUNT_OF(part), why);
    buf_free(&w->header);
    buf_shrink(&w->block, AVRO_KEEP);
    buf_shrink(&w->packed, AVRO_KEEP);
    w->block_rows = 0;
    return rc;
}

/* ---- rows ---- */

/* The most bytes that the row can take, more than AVRO_ROW_MAX if it is too large. */
static size_t row_bound(const struct table *table, const struct cell *cells) {
    size_t sum = 0, elements = 0;
    for (size_t i = 0; i < table->count && sum <= AVRO_ROW_MAX; i++) {
        const struct cell *c = &cells[i];
        sum += 1 + AVRO_LONG_BYTES;
        if (c->null)
            continue;
        if (table->columns[i].type == COLUMN_TEXT) {
            if (c->text.len > AVRO_ROW_MAX)
                return SIZE_MAX;
            sum += c->text.len;
        } else if (table->columns[i].type == COLUMN_LIST) {
            if (c->list.count > AVRO_LIST_MAX - elements)
                return SIZE_MAX;
            elements += c->list.count;
            sum += 1; /* the end of the array */
            for (size_t k = 0; k < c->list.count && sum <= AVRO_ROW_MAX; k++) {
                if (c->list.items[k].len > AVRO_ROW_MAX)
                    return SIZE_MAX;
                sum += AVRO_LONG_BYTES + c->list.items[k].len;
            }
        }
    }
    return sum;
}

static char *put_text(char *to, struct tl_span text) {
    to = avro_put_long(to, (int64_t)text.len);
    if (text.len)
        memcpy(to, text.ptr, text.len);
    return to + text.len;
}

static char *put_real(char *to, double real) {
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    for (int i = 0; i < 8; i++)
        *to++ = (char)(bits >> 8 * i);
    return to;
}

static char *put_cell(char *to, enum column_type type, const struct cell *c) {
    if (c->null) {
        *to++ = 0; /* the union's first branch */
        return to;
    }
    *to++ = 2; /* its second */
    switch (type) {
    case COLUMN_TEXT:
        return put_text(to, c->text);
    case COLUMN_INT:
    case COLUMN_TIME:
        return avro_put_long(to, c->number);
    case COLUMN_REAL:
        return put_real(to, c->real);
    case COLUMN_BOOL:
        *to++ = c->number != 0;
        return to;
    case COLUMN_LIST:
        break;
    }
    if (c->list.count)
        to = avro_put_long(to, (int64_t)c->list.count);
    for (size_t k = 0; k < c->list.count; k++)
        to = put_text(to, c->list.items[k]);
    *to++ = 0;
    return to;
}

static int broken(const struct avro_writer *w, struct fail *why) {
    return fail_set(why, TL_FAILED, "cannot write the Avro file %s any further: writing it failed before", w->name);
}

int avro_row(struct avro_writer *w, const struct cell *cells, struct fail *why) {
    if (w->broken)
        return broken(w, why);
    size_t size = row_bound(w->table, cells);
    if (size > AVRO_ROW_MAX)
        return fail_set(
            why, TL_INVALID,
            "cannot write row %llu of the Avro file %s: it is larger than %d MiB, or has lists of more than "
            "%d elements",
            (unsigned long long)w->facts.rows + 1, w->name, AVRO_ROW_MAX >> 20, AVRO_LIST_MAX);
    if (w->block_rows && w->block.len + size > w->block_bytes) {
        int rc = flush(w, why);
        if (rc != TL_OK)
            return rc;
    }
    if (!buf_reserve(&w->block, size))
        return broken(w, why);
    char *to = w->block.data + w->block.len;
    for (size_t i = 0; i < w->table->count; i++)
        to = put_cell(to, w->table->columns[i].type, &cells[i]);
    w->block.len = (size_t)(to - w->block.data);
    w->block_rows++;
    w->facts.rows++;
    return TL_OK;
}

uint64_t avro_size(const struct avro_writer *w) {
    return w->facts.bytes;
}

int avro_close(struct avro_writer *w, struct table_facts *facts, struct fail *why) {
    int rc = w->broken ? broken(w, why) : TL_OK;
    if (rc == TL_OK && w->block_rows)
        rc = flush(w, why);
    if (facts)
        *facts = w->facts;
    avro_drop(w);
    return rc;
}

void avro_drop(struct avro_writer *w) {
    if (!w)
        return;
    codec_free(w->codec);
    buf_free(&w->header);
    buf_free(&w->block);
    buf_free(&w->packed);
    free(w->name);
    free(w);
}
