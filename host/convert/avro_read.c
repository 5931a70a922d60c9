/* avro_read.c - the reader of avro.h: header, blocks, rows.
 *
 * Invariant: nothing is allocated, skipped or looped over on a number from the file before the number has been compared
 * with what the file has left, or with a limit of avro.h. After a failure the reader only fails. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "convert/avro_inside.h"

enum {
    READ_BYTES = 256 << 10,                          /* at once */
    PACKED_MAX = AVRO_ROW_MAX + (AVRO_ROW_MAX >> 3), /* of a block: what does not compress grows by less than this */
    NAME_BYTES = 128,                                /* of a column's name in a file */
    NOWHERE = -1
};

struct piece { /* of the header */
    size_t at, len;
};
struct pair {
    struct piece key, value;
};

struct avro_reader {
    int fd;
    char *name;
    uint64_t size;   /* of the file */
    uint64_t origin; /* the place in the file of in.data[0] */
    struct buf in;   /* what was read */
    size_t at;       /* how much of it is used up */

    struct buf header; /* what the pairs point into */
    struct pair pairs[AVRO_PAIRS_MAX];
    size_t pair_count;
    struct table table;
    struct column columns[ROW_COLUMNS_MAX];
    int target[ROW_COLUMNS_MAX];   /* which cell a column of the file fills, or NOWHERE */
    bool missing[ROW_COLUMNS_MAX]; /* cells that no column fills */
    size_t wanted;                 /* cells a row */
    char sync[AVRO_SYNC_BYTES];

    struct codec *codec; /* NULL: blocks lie in `in` as they are */
    bool crc;
    struct buf plain;
    const char *p, *end; /* what is left of the block */
    const char *block;   /* its beginning */
    uint64_t block_at;   /* its place in the file */
    uint64_t block_rows, rows_left;

    struct tl_span *elements; /* of the lists of a row */
    size_t element_count, element_room;
    int status; /* of the first failure */
};

/* ---- failures ---- */

static int damaged(struct avro_reader *r, struct fail *why, uint64_t at, const char *what) {
    r->status = TL_INVALID;
    return fail_exit(why, TL_INVALID, EXIT_DAMAGED,
                     "cannot read the Avro file %s: at byte %llu %s; restore it from a copy, or convert its documents "
                     "again",
                     r->name, (unsigned long long)at, what);
}

static int foreign(struct avro_reader *r, struct fail *why, const char *what, const char *which) {
    r->status = TL_INVALID;
    return fail_exit(why, TL_INVALID, EXIT_DAMAGED,
                     "cannot read the Avro file %s: it was not written by trotline, or is damaged: %s%s", r->name, what,
                     which);
}

static int bad_row(struct avro_reader *r, struct fail *why, const char *what) {
    char text[200];
    snprintf(text, sizeof text, "row %llu of a block is wrong: byte %zu of what the block holds %s",
             (unsigned long long)(r->block_rows - r->rows_left + 1), (size_t)(r->p - r->block), what);
    return damaged(r, why, r->block_at, text);
}

/* ---- bytes ---- */

static uint64_t place(const struct avro_reader *r) {
    return r->origin + r->at;
}

static uint64_t left(const struct avro_reader *r) {
    return r->size - place(r);
}

/* Sees to it that `n` bytes lie behind r->at in one piece. The caller knows that the file has them. */
static int fill(struct avro_reader *r, size_t n, struct fail *why) {
    if (r->in.len - r->at >= n)
        return TL_OK;
    if (r->at) {
        r->origin += r->at;
        r->in.len -= r->at;
        memmove(r->in.data, r->in.data + r->at, r->in.len);
        r->at = 0;
    }
    size_t want = n > READ_BYTES ? n : READ_BYTES;
    if (want > r->size - r->origin)
        want = (size_t)(r->size - r->origin);
    if (!buf_reserve(&r->in, want - r->in.len))
        return damaged(r, why, place(r), "stands more than fits into memory");
    while (r->in.len < n) {
        ssize_t got = pread(r->fd, r->in.data + r->in.len, want - r->in.len, (off_t)(r->origin + r->in.len));
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            return damaged(r, why, r->origin + r->in.len, "it ended while it was read");
        if (got < 0) {
            r->status = TL_FAILED;
            return fail_errno(why, TL_FAILED, "cannot read the Avro file %s at byte %llu", r->name,
                              (unsigned long long)(r->origin + r->in.len));
        }
        r->in.len += (size_t)got;
    }
    return TL_OK;
}

/* ---- header: it is read from the file's beginning, `at` being how far it is understood; then the buffer holds it
 * whole ---- */

static int header_need(struct avro_reader *r, size_t at, size_t n, struct fail *why) {
    if (n > AVRO_HEADER_MAX || at > AVRO_HEADER_MAX - n)
        return damaged(r, why, at, "its header is larger than any of trotline");
    if (at + n > r->size)
        return damaged(r, why, r->size, "it ends in the middle of its header");
    return fill(r, at + n, why);
}

static int header_long(struct avro_reader *r, size_t *at, int64_t *n, struct fail *why) {
    uint64_t more = r->size - *at;
    int rc = header_need(r, *at, more < AVRO_LONG_BYTES ? (size_t)more : AVRO_LONG_BYTES, why);
    if (rc != TL_OK)
        return rc;
    const char *p = r->in.data + *at;
    if (!avro_get_long(&p, r->in.data + r->in.len, n))
        return damaged(r, why, *at,
                       more < AVRO_LONG_BYTES ? "it ends in the middle of its header" : "stands no number");
    *at = (size_t)(p - r->in.data);
    return TL_OK;
}

static int header_piece(struct avro_reader *r, size_t *at, struct piece *piece, struct fail *why) {
    int64_t n;
    int rc = header_long(r, at, &n, why);
    if (rc != TL_OK)
        return rc;
    if (n < 0 || n > AVRO_HEADER_MAX)
        return damaged(r, why, *at, "a length in the header is wrong");
    *piece = (struct piece){*at, (size_t)n};
    *at += piece->len;
    return header_need(r, piece->at, piece->len, why);
}

static int header_pairs(struct avro_reader *r, size_t *at, struct fail *why) {
    for (;;) {
        int64_t count, size;
        int rc = header_long(r, at, &count, why);
        if (rc != TL_OK || count == 0)
            return rc;
        if (count < 0) { /* then the size of this part of the map follows */
            rc = header_long(r, at, &size, why);
            if (rc != TL_OK)
                return rc;
        }
        if (count < -AVRO_PAIRS_MAX || count > AVRO_PAIRS_MAX ||
            r->pair_count + (size_t)(count < 0 ? -count : count) > AVRO_PAIRS_MAX)
            return damaged(r, why, *at, "it has more metadata than trotline writes");
        for (count = count < 0 ? -count : count; count; count--) {
            struct pair *pair = &r->pairs[r->pair_count];
            rc = header_piece(r, at, &pair->key, why);
            if (rc == TL_OK)
                rc = header_piece(r, at, &pair->value, why);
            if (rc != TL_OK)
                return rc;
            r->pair_count++;
        }
    }
}

static struct tl_span header_span(const struct avro_reader *r, struct piece piece) {
    return (struct tl_span){r->header.data + piece.at, piece.len};
}

static bool same(struct tl_span a, struct tl_span b) {
    return a.len == b.len && (!a.len || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static int read_header(struct avro_reader *r, struct fail *why) {
    size_t at = AVRO_MAGIC_BYTES;
    if (r->size < at)
        return damaged(r, why, r->size, "it ends before it has begun");
    int rc = fill(r, at, why);
    if (rc == TL_OK && memcmp(r->in.data, AVRO_MAGIC, AVRO_MAGIC_BYTES) != 0)
        rc = damaged(r, why, 0, "the mark of an Avro file is missing");
    if (rc == TL_OK)
        rc = header_pairs(r, &at, why);
    if (rc == TL_OK)
        rc = header_need(r, at, AVRO_SYNC_BYTES, why);
    if (rc != TL_OK)
        return rc;
    memcpy(r->sync, r->in.data + at, AVRO_SYNC_BYTES);
    buf_add(&r->header, r->in.data, at);
    r->at = at + AVRO_SYNC_BYTES;
    for (size_t i = 0; i < r->pair_count; i++)
        for (size_t k = 0; k < i; k++)
            if (same(header_span(r, r->pairs[k].key), header_span(r, r->pairs[i].key)))
                return damaged(r, why, r->pairs[i].key.at, "metadata are named twice");
    return TL_OK;
}

bool avro_meta(const struct avro_reader *r, const char *key, struct tl_span *value) {
    for (size_t i = 0; i < r->pair_count; i++)
        if (span_eq(header_span(r, r->pairs[i].key), key)) {
            *value = header_span(r, r->pairs[i].value);
            return true;
        }
    return false;
}

/* ---- schema ---- */

static bool name_ok(struct tl_span name) {
    if (!name.len || name.len > NAME_BYTES)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return true;
}

static int take_name(const struct tl_json *object, char **out) {
    AUTO_BUF struct buf text = BUF_INIT;
    struct tl_json name;
    if (json_get(object, "name", &name) != TL_OK || json_text(&name, &text) != TL_OK || !name_ok(buf_span(&text)))
        return TL_INVALID;
    *out = buf_steal(&text);
    return TL_OK;
}

static int take_type(const struct tl_json *field, enum column_type *out) {
    AUTO_BUF struct buf text = BUF_INIT;
    struct tl_json type;
    if (json_get(field, "type", &type) != TL_OK || json_canonical(type.raw, &text) != TL_OK)
        return TL_INVALID;
    for (size_t i = 0; i < COUNT_OF(avro_types); i++)
        if (span_eq(buf_span(&text), avro_types[i])) {
            *out = (enum column_type)i;
            return TL_OK;
        }
    return TL_INVALID;
}

static int take_column(struct avro_reader *r, const struct tl_json *field, struct fail *why) {
    struct column *c = &r->columns[r->table.count];
    char *name = NULL;
    if (r->table.count == ROW_COLUMNS_MAX)
        return foreign(r, why, "it has too many fields", "");
    if (take_name(field, &name) != TL_OK)
        return foreign(r, why, "a field has no proper name", "");
    c->name = name;
    r->table.count++;
    if (take_type(field, &c->type) != TL_OK)
        return foreign(r, why, "trotline does not write fields of the type of ", name);
    for (size_t i = 0; i + 1 < r->table.count; i++)
        if (strcmp(r->columns[i].name, name) == 0)
            return foreign(r, why, "two fields are named ", name);
    return TL_OK;
}

static int read_schema(struct avro_reader *r, struct fail *why) {
    struct tl_span text;
    struct tl_json root, fields, type, at = {0};
    char *name = NULL;
    if (!avro_meta(r, AVRO_KEY_SCHEMA, &text) || json_parse(text, &root) != TL_OK || root.type != TL_JSON_OBJECT)
        return foreign(r, why, "it has no schema, or one that is not JSON", "");
    if (json_get(&root, "type", &type) != TL_OK || !span_eq(type.raw, "\"record\"") || take_name(&root, &name) != TL_OK)
        return foreign(r, why, "its schema is no record", "");
    r->table = (struct table){.name = name, .columns = r->columns};
    if (json_get(&root, "fields", &fields) != TL_OK || fields.type != TL_JSON_ARRAY)
        return foreign(r, why, "its record has no fields", "");
    int rc;
    while ((rc = json_next(&fields, &at)) == TL_OK) {
        rc = take_column(r, &at, why);
        if (rc != TL_OK)
            return rc;
    }
    return r->table.count ? TL_OK : foreign(r, why, "its record has no fields", "");
}

/* Which cell each column fills. */
static int aim(struct avro_reader *r, const struct table *table, struct fail *why) {
    const struct table *to = table ? table : &r->table;
    r->wanted = to->count;
    for (size_t i = 0; i < r->table.count; i++)
        r->target[i] = NOWHERE;
    for (size_t k = 0; k < to->count; k++) {
        r->missing[k] = true;
        for (size_t i = 0; i < r->table.count && r->missing[k]; i++)
            if (strcmp(r->columns[i].name, to->columns[k].name) == 0) {
                if (r->columns[i].type != to->columns[k].type)
                    return foreign(r, why, "another type than usual has its field ", r->columns[i].name);
                r->target[i] = (int)k;
                r->missing[k] = false;
            }
    }
    return TL_OK;
}

static int read_codec(struct avro_reader *r, struct fail *why) {
    struct tl_span name;
    if (!avro_meta(r, AVRO_KEY_CODEC, &name))
        return TL_OK;
    for (size_t i = 0; i < COUNT_OF(avro_codecs); i++)
        if (span_eq(name, avro_codecs[i].name)) {
            r->crc = i == AVRO_SNAPPY;
            if (i == AVRO_NULL)
                return TL_OK;
            return codec_new(&(struct codec_options){.kind = avro_codecs[i].kind}, &r->codec, why);
        }
    return foreign(r, why, "trotline does not compress the way that its avro.codec says", "");
}

static int open_file(struct avro_reader *r, const struct table *table, struct fail *why) {
    struct stat st;
    if (fstat(r->fd, &st) < 0)
        return fail_errno(why, TL_FAILED, "cannot read the Avro file %s", r->name);
    if (!S_ISREG(st.st_mode))
        return fail_set(why, TL_FAILED, "cannot read the Avro file %s: it is not a regular file", r->name);
    r->size = (uint64_t)st.st_size;
    int rc = read_header(r, why);
    if (rc == TL_OK)
        rc = read_schema(r, why);
    if (rc == TL_OK)
        rc = read_codec(r, why);
    return rc == TL_OK ? aim(r, table, why) : rc;
}

int avro_open(int fd, const char *name, const struct table *table, struct avro_reader **out, struct fail *why) {
    *out = NULL;
    struct avro_reader *r = mem_alloc(sizeof *r);
    r->fd = fd;
    r->name = mem_text(name ? name : "(unnamed)");
    int rc = open_file(r, table, why);
    if (rc != TL_OK) {
        avro_end(r);
        return rc;
    }
    *out = r;
    return TL_OK;
}

const struct table *avro_table(const struct avro_reader *r) {
    return &r->table;
}

void avro_end(struct avro_reader *r) {
    if (!r)
        return;
    for (size_t i = 0; i < r->table.count; i++)
        free((char *)r->columns[i].name);
    free((char *)r->table.name);
    codec_free(r->codec);
    buf_free(&r->in);
    buf_free(&r->header);
    buf_free(&r->plain);
    free(r->elements);
    free(r->name);
    free(r);
}

/* ---- blocks ---- */

static int unpack(struct avro_reader *r, struct tl_span bytes, struct fail *why) {
    r->p = r->block = bytes.ptr;
    r->end = bytes.ptr + bytes.len;
    if (!r->codec)
        return TL_OK;
    struct fail reason = FAIL_INIT;
    struct tl_span packed = bytes;
    if (r->crc && packed.len < AVRO_CRC_BYTES)
        return damaged(r, why, r->block_at, "a block is too short");
    if (r->crc)
        packed.len -= AVRO_CRC_BYTES;
    buf_shrink(&r->plain, AVRO_KEEP);
    int rc = codec_unpack(r->codec, packed, AVRO_ROW_MAX, &r->plain, &reason);
    if (rc == TL_INVALID) {
        char text[400];
        snprintf(text, sizeof text, "a block cannot be unpacked: %.300s", reason.text);
        return damaged(r, why, r->block_at, text);
    }
    if (rc != TL_OK) {
        r->status = rc;
        return fail_set(why, rc, "cannot read the Avro file %s: %s", r->name, reason.text);
    }
    struct tl_span plain = buf_span(&r->plain);
    if (r->crc) {
        const unsigned char *c = (const unsigned char *)packed.ptr + packed.len;
        uint32_t sum = (uint32_t)c[0] << 24 | (uint32_t)c[1] << 16 | (uint32_t)c[2] << 8 | c[3];
        if (sum != codec_crc32(plain))
            return damaged(r, why, r->block_at, "the checksum of a block is wrong");
    }
    r->p = r->block = plain.ptr;
    r->end = plain.ptr + plain.len;
    return TL_OK;
}

/* The next block; TL_NOTFOUND at the end. */
static int next_block(struct avro_reader *r, struct fail *why) {
    uint64_t rest = left(r);
    int64_t rows, size;
    if (!rest)
        return TL_NOTFOUND;
    r->block_at = place(r);
    int rc = fill(r, rest < 2 * AVRO_LONG_BYTES ? (size_t)rest : 2 * AVRO_LONG_BYTES, why);
    if (rc != TL_OK)
        return rc;
    const char *p = r->in.data + r->at, *end = r->in.data + r->in.len;
    if (!avro_get_long(&p, end, &rows) || !avro_get_long(&p, end, &size))
        return damaged(r, why, r->block_at,
                       rest < 2 * AVRO_LONG_BYTES ? "it ends in the middle of a block" : "no block begins");
    r->at = (size_t)(p - r->in.data);
    if (rows < 0 || size < 0 || size > PACKED_MAX)
        return damaged(r, why, r->block_at, "a block says that it has an impossible size");
    if ((uint64_t)size + AVRO_SYNC_BYTES > left(r))
        return damaged(r, why, r->block_at, "begins a block that the file ends in the middle of");
    rc = fill(r, (size_t)size + AVRO_SYNC_BYTES, why);
    if (rc != TL_OK)
        return rc;
    struct tl_span bytes = {r->in.data + r->at, (size_t)size};
    if (memcmp(bytes.ptr + bytes.len, r->sync, AVRO_SYNC_BYTES) != 0)
        return damaged(r, why, r->block_at, "a block does not end with the file's marker");
    r->at += bytes.len + AVRO_SYNC_BYTES;
    rc = unpack(r, bytes, why);
    if (rc != TL_OK)
        return rc;
    if ((uint64_t)rows > (uint64_t)(r->end - r->p) / r->table.count) /* a cell takes a byte at least */
        return damaged(r, why, r->block_at, "a block says that it has more rows than it can hold");
    r->block_rows = r->rows_left = (uint64_t)rows;
    return TL_OK;
}

/* ---- rows ---- */

static bool get_text(struct avro_reader *r, struct tl_span *text) {
    int64_t len;
    if (!avro_get_long(&r->p, r->end, &len) || len < 0 || len > r->end - r->p)
        return false;
    *text = (struct tl_span){r->p, (size_t)len};
    r->p += len;
    return true;
}

static int get_list(struct avro_reader *r, size_t *count, struct fail *why) {
    size_t first = r->element_count;
    for (;;) {
        int64_t n, size;
        if (!avro_get_long(&r->p, r->end, &n))
            return bad_row(r, why, "is no number");
        if (n == 0)
            break;
        if (n < 0 && (!avro_get_long(&r->p, r->end, &size) || n < -AVRO_LIST_MAX))
            return bad_row(r, why, "is no number of list elements");
        n = n < 0 ? -n : n;
        if (n > AVRO_LIST_MAX - (int64_t)r->element_count)
            return bad_row(r, why, "tells of more list elements than there may be");
        for (; n; n--) {
            MEM_GROW(r->elements, r->element_count, r->element_room);
            struct tl_span *text = &r->elements[r->element_count];
            if (!get_text(r, text))
                return bad_row(r, why, "tells of a longer text than there is");
            if (!utf8_valid(text->ptr, text->len))
                return bad_row(r, why, "ends a text that is not UTF-8");
            r->element_count++;
        }
    }
    *count = r->element_count - first;
    return TL_OK;
}

static int get_value(struct avro_reader *r, enum column_type type, struct cell *c, struct fail *why) {
    switch (type) {
    case COLUMN_TEXT:
        if (!get_text(r, &c->text))
            return bad_row(r, why, "tells of a longer text than there is");
        return utf8_valid(c->text.ptr, c->text.len) ? TL_OK : bad_row(r, why, "ends a text that is not UTF-8");
    case COLUMN_INT:
    case COLUMN_TIME:
        return avro_get_long(&r->p, r->end, &c->number) ? TL_OK : bad_row(r, why, "is no number");
    case COLUMN_REAL: {
        uint64_t bits = 0;
        if (r->end - r->p < 8)
            return bad_row(r, why, "is no number");
        for (int i = 0; i < 8; i++)
            bits |= (uint64_t)(unsigned char)*r->p++ << 8 * i;
        memcpy(&c->real, &bits, sizeof bits);
        return TL_OK;
    }
    case COLUMN_BOOL:
        if (r->p == r->end || (unsigned char)*r->p > 1)
            return bad_row(r, why, "is neither true nor false");
        c->number = *r->p++;
        return TL_OK;
    case COLUMN_LIST: /* its elements may still move: their place is put in when the row is complete */
        return get_list(r, &c->list.count, why);
    }
    return bad_row(r, why, "has no type");
}

static int get_row(struct avro_reader *r, struct cell *cells, struct fail *why) {
    size_t first[ROW_COLUMNS_MAX];
    r->element_count = 0;
    for (size_t i = 0; i < r->table.count; i++) {
        struct cell spare, *c = cells && r->target[i] != NOWHERE ? &cells[r->target[i]] : &spare;
        if (r->p == r->end || (*r->p != 0 && *r->p != 2))
            return bad_row(r, why, "says neither null nor value");
        c->null = *r->p++ == 0;
        first[i] = r->element_count;
        int rc = c->null ? TL_OK : get_value(r, r->columns[i].type, c, why);
        if (rc != TL_OK)
            return rc;
    }
    for (size_t i = 0; cells && i < r->table.count; i++)
        if (r->columns[i].type == COLUMN_LIST && r->target[i] != NOWHERE && !cells[r->target[i]].null)
            cells[r->target[i]].list.items = first[i] ? r->elements + first[i] : r->elements;
    for (size_t k = 0; cells && k < r->wanted; k++)
        if (r->missing[k])
            cells[k].null = true;
    r->rows_left--;
    if (!r->rows_left && r->p != r->end)
        return bad_row(r, why, "stands behind the last row");
    return TL_OK;
}

int avro_next(struct avro_reader *r, struct cell *cells, struct fail *why) {
    if (r->status)
        return fail_exit(why, r->status, r->status == TL_INVALID ? EXIT_DAMAGED : 0,
                         "cannot read the Avro file %s any further: reading it failed before", r->name);
    while (!r->rows_left) {
        int rc = next_block(r, why);
        if (rc == TL_NOTFOUND)
            return 0;
        if (rc != TL_OK)
            return rc;
        if (!r->rows_left && r->p != r->end)
            return damaged(r, why, r->block_at, "a block without rows is not empty");
    }
    int rc = get_row(r, cells, why);
    return rc == TL_OK ? 1 : rc;
}

int avro_check(int fd, const char *name, struct table_facts *facts, struct fail *why) {
    struct avro_reader *r;
    *facts = (struct table_facts){0};
    int rc = avro_open(fd, name, NULL, &r, why);
    if (rc != TL_OK)
        return rc;
    while ((rc = avro_next(r, NULL, why)) == 1)
        facts->rows++;
    facts->bytes = r->size;
    avro_end(r);
    return rc;
}
