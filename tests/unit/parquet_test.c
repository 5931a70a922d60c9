/* parquet_test.c - what stands in a Parquet file: read back here by a small Thrift reader that shares nothing with the
 * writer. Field numbers are those of the format's parquet.thrift. Values are compared by other programs in
 * tests/system/parquet_readers.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "convert/parquet.h"
/* After trotline.h: cmocka's macro fail() would take the name of a member there. */
#include <cmocka.h>

/* ---- Thrift's compact protocol, read */

struct view {
    const unsigned char *at, *end;
    int type; /* 1 true, 2 false, 4-6 int, 8 bytes, 9 list, 12 struct */
};

static uint64_t take_varint(struct view *v) {
    uint64_t n = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        assert_true(v->at < v->end);
        n |= (uint64_t)(*v->at & 127) << shift;
        if (!(*v->at++ & 128))
            return n;
    }
    fail_msg("a number without an end");
    return 0;
}

static int64_t take_int(struct view *v) {
    uint64_t n = take_varint(v);
    return (int64_t)(n >> 1 ^ (0 - (n & 1)));
}

static size_t take_list(struct view *v, int *type) {
    assert_true(v->at < v->end);
    size_t count = *v->at >> 4;
    *type = *v->at++ & 15;
    return count == 15 ? take_varint(v) : count;
}

static bool take_field(struct view *v, int *id, int *type) {
    assert_true(v->at < v->end);
    unsigned byte = *v->at++;
    *type = byte & 15;
    if (!byte)
        return false;
    *id = byte >> 4 ? *id + (int)(byte >> 4) : (int)take_int(v);
    return true;
}

static void pass_by(struct view *v, int type, bool item, int depth) {
    int id = 0, of;
    assert_true(depth < 12);
    if (type == 1 || type == 2)
        v->at += item;
    else if (type <= 6)
        take_int(v);
    else if (type == 8) {
        uint64_t len = take_varint(v);
        assert_true(len <= (uint64_t)(v->end - v->at));
        v->at += len;
    } else if (type == 9)
        for (size_t n = take_list(v, &of); n > 0; n--)
            pass_by(v, of, true, depth + 1);
    else {
        assert_int_equal(type, 12);
        while (take_field(v, &id, &of))
            pass_by(v, of, false, depth + 1);
    }
}

static bool has(struct view of, int id, struct view *out) {
    int at = 0, type;
    while (take_field(&of, &at, &type)) {
        if (at == id) {
            *out = (struct view){of.at, of.end, type};
            return true;
        }
        pass_by(&of, type, false, 0);
    }
    return false;
}

static bool lacks(struct view of, int id) {
    struct view v;
    return !has(of, id, &v);
}

static struct view get(struct view of, int id) {
    struct view v = {0};
    if (!has(of, id, &v))
        fail_msg("field %d is missing", id);
    return v;
}

static int64_t number(struct view of, int id) {
    struct view v = get(of, id);
    return take_int(&v);
}

static struct tl_span bytes_at(struct view v) {
    uint64_t len = take_varint(&v);
    assert_true(len <= (uint64_t)(v.end - v.at));
    return (struct tl_span){(const char *)v.at, len};
}

static struct tl_span bytes(struct view of, int id) {
    return bytes_at(get(of, id));
}

static size_t count(struct view of, int id) {
    int type;
    struct view v = get(of, id);
    return take_list(&v, &type);
}

static struct view item(struct view of, int id, size_t n) {
    struct view v = get(of, id);
    int type;
    size_t all = take_list(&v, &type);
    assert_true(n < all);
    while (n--)
        pass_by(&v, type, true, 0);
    v.type = type;
    return v;
}

#define assert_bytes(span, text)                                                                                       \
    do {                                                                                                               \
        struct tl_span is_ = (span);                                                                                   \
        assert_int_equal(is_.len, sizeof(text) - 1);                                                                   \
        assert_memory_equal(is_.ptr, text, sizeof(text) - 1);                                                          \
    } while (0)

/* ---- files */

struct file {
    unsigned char *data;
    size_t len;
    struct view footer;
    struct table_facts facts;
};

struct maker {
    int fd;
    struct parquet *w;
};

static struct maker begin(const struct table *table, const struct parquet_options *options) {
    struct maker m = {.fd = memfd_create("parquet", MFD_CLOEXEC)};
    struct fail why = FAIL_INIT;
    assert_true(m.fd >= 0);
    assert_int_equal(parquet_open(m.fd, table, options, &why, &m.w), TL_OK);
    return m;
}

static void put(struct maker *m, const struct cell *cells) {
    struct fail why = FAIL_INIT;
    if (parquet_row(m->w, cells, &why) != TL_OK)
        fail_msg("%s", why.text);
}

static struct file end(struct maker *m) {
    struct file f = {0};
    struct fail why = FAIL_INIT;
    assert_int_equal(parquet_close(m->w, &why, &f.facts), TL_OK);
    f.len = (size_t)lseek(m->fd, 0, SEEK_END);
    assert_int_equal(f.len, f.facts.bytes);
    f.data = mem_alloc(f.len + 1);
    assert_int_equal(pread(m->fd, f.data, f.len, 0), f.len);
    close(m->fd);
    if (!f.len)
        return f;
    assert_memory_equal(f.data, "PAR1", 4);
    assert_memory_equal(f.data + f.len - 4, "PAR1", 4);
    uint32_t size;
    memcpy(&size, f.data + f.len - 8, 4);
    assert_true(size + 12 < f.len);
    f.footer = (struct view){f.data + f.len - 8 - size, f.data + f.len - 8, 12};
    return f;
}

static struct view chunk(const struct file *f, size_t group, size_t column) {
    return item(item(f->footer, 4, group), 1, column);
}

static struct view at(const struct file *f, int64_t offset, int64_t len) {
    assert_true(offset > 0 && len > 0 && (uint64_t)(offset + len) <= f->len);
    return (struct view){f->data + offset, f->data + offset + len, 12};
}

static struct view offset_index(const struct file *f, struct view c) {
    return at(f, number(c, 4), number(c, 5));
}

/* Walks a chunk's pages from header to header and holds them against every number that is said of them. Writes a letter
 * a page: D dictionary, d coded, p plain. */
static void check_chunk(const struct file *f, struct view c, char *letters) {
    struct view meta = get(c, 3), index = offset_index(f, c);
    int64_t from = number(meta, lacks(meta, 11) ? 9 : 11), stored = number(meta, 7), raw = 0, values = 0;
    struct view v = at(f, from, stored);
    size_t pages = 0, of[3] = {0};
    for (; v.at < v.end; letters++) {
        const unsigned char *start = v.at;
        struct view header = v;
        int64_t size = number(header, 3);
        pass_by(&v, 12, false, 0);
        assert_true(size >= 0 && size <= v.end - v.at);
        assert_int_equal((uint32_t)number(header, 4), crc32(0, v.at, (uInt)size));
        raw += number(header, 2) + (v.at - start);
        v.at += size;
        if (number(header, 1) == 2) {
            assert_int_equal(pages, 0);
            assert_int_equal(number(get(header, 7), 2), 0);
            assert_int_equal(number(meta, 9), from + (v.at - start));
            *letters = 'D';
            of[0]++;
            continue;
        }
        struct view data = get(header, 5), place = item(index, 1, pages++);
        values += number(data, 1);
        assert_int_equal(number(place, 1), start - f->data);
        assert_int_equal(number(place, 2), v.at - start);
        assert_int_equal(number(data, 3), 3);
        assert_int_equal(number(data, 4), 3);
        *letters = number(data, 2) == 8 ? 'd' : 'p';
        of[*letters == 'd' ? 1 : 2]++;
    }
    *letters = '\0';
    assert_int_equal(count(index, 1), pages);
    assert_int_equal(raw, number(meta, 6));
    assert_int_equal(values, number(meta, 5));
    assert_int_equal(of[0], of[1] > 0);
    int64_t said[3] = {0};
    for (size_t i = 0; i < count(meta, 13); i++) {
        struct view stat = item(meta, 13, i);
        said[number(stat, 1) == 2 ? 0 : number(stat, 2) == 8 ? 1 : 2] = number(stat, 3);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(said[i], of[i]);
}

static const struct column all[] = {
    {.name = "id", .type = COLUMN_INT},
    {.name = "name", .type = COLUMN_TEXT},
    {.name = "score", .type = COLUMN_REAL},
    {.name = "good", .type = COLUMN_BOOL},
    {.name = "seen", .type = COLUMN_TIME},
    {.name = "tags", .type = COLUMN_LIST},
    {.name = "body", .type = COLUMN_TEXT, .payload = true},
};
static const struct table everything = {"everything", all, COUNT_OF(all)};
#define TEXT(s) ((struct tl_span){s, sizeof(s) - 1})

static void put_everything(struct maker *m, int64_t id) {
    struct tl_span tags[] = {TEXT("b"), TEXT("")};
    put(m, (struct cell[]){{.number = id},
                           {.text = TEXT("na\0me")},
                           {.real = -0.5},
                           {.number = 1},
                           {.number = 1767225600000001},
                           {.list = {tags, 2}},
                           {.text = TEXT("payload")}});
}

/* name, repetition, children, physical type, converted type, id, logical type; -1: not there */
static const struct {
    const char *name;
    int repetition, children, type, converted, id, logical;
} elements[] = {
    {"everything", -1, 7, -1, -1, -1, -1}, {"id", 1, -1, 2, -1, 1, -1},    {"name", 1, -1, 6, 0, 2, 1},
    {"score", 1, -1, 5, -1, 3, -1},        {"good", 1, -1, 0, -1, 4, -1},  {"seen", 1, -1, 2, 10, 5, 8},
    {"tags", 1, 1, -1, 3, 6, 3},           {"list", 2, 1, -1, -1, -1, -1}, {"element", 1, -1, 6, 0, 1006, 1},
    {"body", 1, -1, 6, 0, 7, 1},
};

static void field_is(struct view of, int id, int want) {
    if (want < 0)
        assert_true(lacks(of, id));
    else
        assert_int_equal(number(of, id), want);
}

static void test_footer(void **state) {
    (void)state;
    struct parquet_pair pairs[] = {{"run", "7"}, {"empty", NULL}};
    struct maker m = begin(&everything, &(struct parquet_options){.pairs = pairs, .pair_count = 2});
    put_everything(&m, 5225608189600411232);
    struct file f = end(&m);
    assert_int_equal(f.facts.rows, 1);
    assert_int_equal(number(f.footer, 1), 1);
    assert_int_equal(number(f.footer, 3), 1);
    assert_int_equal(count(f.footer, 2), COUNT_OF(elements));
    for (size_t i = 0; i < COUNT_OF(elements); i++) {
        struct view e = item(f.footer, 2, i);
        struct tl_span name = bytes(e, 4);
        assert_true(span_eq(name, elements[i].name));
        field_is(e, 1, elements[i].type);
        field_is(e, 3, elements[i].repetition);
        field_is(e, 5, elements[i].children);
        field_is(e, 6, elements[i].converted);
        field_is(e, 9, elements[i].id);
        assert_int_equal(lacks(e, 10), elements[i].logical < 0);
        if (elements[i].logical >= 0)
            get(get(e, 10), elements[i].logical);
    }
    struct view timestamp = get(get(item(f.footer, 2, 5), 10), 8);
    assert_int_equal(get(timestamp, 1).type, 1); /* adjusted to UTC: true */
    get(get(timestamp, 2), 2);                   /* micros */
    assert_bytes(bytes(item(f.footer, 5, 0), 1), "run");
    assert_bytes(bytes(item(f.footer, 5, 0), 2), "7");
    assert_true(lacks(item(f.footer, 5, 1), 2));
    assert_int_equal(count(f.footer, 7), 7);
    for (size_t i = 0; i < 7; i++)
        get(item(f.footer, 7, i), 1);
    struct tl_span by = bytes(f.footer, 6);
    char name[16] = "", hash[64] = "";
    int major, minor, patch, ended = 0;
    AUTO_FREE char *text = mem_text_n(by.ptr, by.len);
    assert_int_equal(
        sscanf(text, "%15s version %d.%d.%d (build %63[^) ])%n", name, &major, &minor, &patch, hash, &ended), 5);
    assert_string_equal(name, "trotline");
    assert_int_equal(ended, by.len);
    free(f.data);
}

static void test_chunks(void **state) {
    (void)state;
    struct maker m = begin(&everything, NULL);
    for (int i = 0; i < 100; i++)
        put_everything(&m, i);
    struct file f = end(&m);
    struct view group = item(f.footer, 4, 0);
    int64_t next = 4, raw = 0;
    char letters[16];
    for (size_t i = 0; i < 7; i++) { /* in the order of the columns, without a gap */
        struct view c = chunk(&f, 0, i), meta = get(c, 3);
        check_chunk(&f, c, letters);
        assert_string_equal(letters, i == 0 || i == 3 || i == 6 ? "p" : "Dd");
        assert_int_equal(number(c, 2), 0);
        assert_int_equal(number(meta, lacks(meta, 11) ? 9 : 11), next);
        next += number(meta, 7);
        raw += number(meta, 6);
        assert_int_equal(number(meta, 4), 6); /* ZSTD */
    }
    assert_int_equal(number(group, 5), 4);
    assert_int_equal(number(group, 6), next - 4);
    assert_int_equal(number(group, 2), raw);
    assert_int_equal(number(group, 7), 0);
    struct view tags = get(chunk(&f, 0, 5), 3);
    assert_int_equal(count(tags, 3), 3);
    assert_bytes(bytes_at(item(tags, 3, 1)), "list");
    assert_int_equal(number(tags, 5), 200);
    struct view body = chunk(&f, 0, 6), stats = get(get(body, 3), 12); /* a payload has neither bounds nor an index */
    assert_true(lacks(stats, 5) && lacks(stats, 6) && lacks(body, 6));
    assert_int_equal(number(stats, 3), 0);
    struct view id = get(get(chunk(&f, 0, 0), 3), 12);
    assert_bytes(bytes(id, 5), "\x63\0\0\0\0\0\0\0");
    assert_bytes(bytes(id, 1), "\x63\0\0\0\0\0\0\0"); /* the old field, for signed numbers only */
    assert_true(lacks(get(get(chunk(&f, 0, 1), 3), 12), 1));
    assert_int_equal(get(id, 7).type, 1);
    free(f.data);
}

static const struct column texts[] = {{.name = "t", .type = COLUMN_TEXT}};
static const struct table one_text = {"one", texts, 1};

static void put_text(struct maker *m, const char *text) {
    put(m, (struct cell[]){{.text = span_of(text)}});
}

/* Few values, then ever new ones: the dictionary is given up in mid-chunk, and what was coded stays. */
static void test_fallback(void **state) {
    (void)state;
    struct maker m = begin(&one_text, &(struct parquet_options){.dictionary_bytes = 2000, .page_rows = 100});
    char text[40], letters[64];
    for (int i = 0; i < 150; i++)
        put_text(&m, i % 2 ? "again and again" : "and again");
    for (int i = 0; i < 300; i++) {
        snprintf(text, sizeof text, "a new value each time %d", i);
        put_text(&m, text);
    }
    struct file f = end(&m);
    struct view c = chunk(&f, 0, 0), index = offset_index(&f, c);
    check_chunk(&f, c, letters);
    assert_string_equal(letters, "Ddddppp");
    assert_int_equal(number(item(index, 1, 0), 3), 0);
    assert_int_equal(number(item(index, 1, 1), 3), 100);
    /* 32 bytes of the first two, 10 times 27 and 60 times 28 make 1982: the 71st new value does not fit */
    assert_int_equal(number(item(index, 1, 3), 3), 150 + 70);
    assert_int_equal(number(get(c, 3), 5), 450);
    free(f.data);
}

static void test_no_gain(void **state) {
    (void)state;
    struct maker m = begin(&one_text, NULL);
    char text[40], letters[16];
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "%d is another", i);
        put_text(&m, text);
    }
    struct file f = end(&m);
    check_chunk(&f, chunk(&f, 0, 0), letters);
    assert_string_equal(letters, "p");
    assert_true(lacks(get(chunk(&f, 0, 0), 3), 11));
    free(f.data);
}

static void test_groups(void **state) {
    (void)state;
    char letters[64];
    struct parquet_options by[] = {{.group_rows = 10}, {.group_bytes = 700}, {.memory = 4000}};
    for (size_t k = 0; k < COUNT_OF(by); k++) {
        struct maker m = begin(&everything, &by[k]);
        for (int i = 0; i < 95; i++)
            put_everything(&m, i);
        struct file f = end(&m);
        size_t groups = count(f.footer, 4);
        int64_t rows = 0, next = 4;
        assert_true(k == 0 ? groups == 10 : groups > 1);
        for (size_t g = 0; g < groups; g++) {
            struct view group = item(f.footer, 4, g);
            assert_int_equal(number(group, 7), g);
            assert_int_equal(number(group, 5), next);
            assert_int_equal(bytes(get(get(chunk(&f, g, 0), 3), 12), 6).ptr[0], rows); /* the least id */
            for (size_t i = 0; i < 7; i++) {
                check_chunk(&f, chunk(&f, g, i), letters);
                assert_int_equal(number(item(offset_index(&f, chunk(&f, g, i)), 1, 0), 3), 0);
            }
            rows += number(group, 3);
            next += number(group, 6);
        }
        assert_int_equal(rows, 95);
        free(f.data);
    }
}

static void test_nulls(void **state) {
    (void)state;
    struct cell nothing[COUNT_OF(all)];
    for (size_t i = 0; i < COUNT_OF(all); i++)
        nothing[i] = (struct cell){.null = true};
    struct maker m = begin(&everything, &(struct parquet_options){.page_rows = 2});
    for (int i = 0; i < 5; i++)
        put(&m, nothing);
    struct file f = end(&m);
    char letters[16];
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        struct view c = chunk(&f, 0, i), stats = get(get(c, 3), 12);
        check_chunk(&f, c, letters);
        assert_string_equal(letters, "ppp");
        assert_int_equal(number(stats, 3), 5);
        assert_true(lacks(stats, 5) && lacks(stats, 6) && lacks(stats, 7) && lacks(stats, 8));
        struct view index = at(&f, number(c, 6), number(c, 7));
        assert_int_equal(*item(index, 1, 2).at, 1);
        assert_int_equal(bytes_at(item(index, 2, 2)).len, 0);
        struct view nulls = item(index, 5, 0);
        assert_int_equal(take_int(&nulls), 2);
    }
    free(f.data);
}

/* The last character there is. */
#define TOP "\xF4\x8F\xBF\xBF\xF4\x8F\xBF\xBF\xF4\x8F\xBF\xBF\xF4\x8F\xBF\xBF"

/* A page whose texts have no upper bound: the whole index goes, the minimum stays. */
static void test_no_bound(void **state) {
    (void)state;
    struct maker m = begin(&one_text, &(struct parquet_options){.page_rows = 1});
    put_text(&m, "a");
    put_text(&m, TOP TOP TOP TOP TOP);
    struct file f = end(&m);
    struct view c = chunk(&f, 0, 0), stats = get(get(c, 3), 12);
    assert_true(lacks(c, 6) && lacks(stats, 5) && lacks(stats, 7));
    assert_bytes(bytes(stats, 6), "a");
    assert_int_equal(count(offset_index(&f, c), 1), 2);
    free(f.data);
}

static void test_page_bounds(void **state) {
    (void)state;
    static const char *const words[] = {"c", "d", "b", "c", "a", "b"};
    struct maker m = begin(&one_text, &(struct parquet_options){.page_rows = 2});
    for (size_t i = 0; i < COUNT_OF(words); i++)
        put_text(&m, words[i]);
    struct file f = end(&m);
    struct view c = chunk(&f, 0, 0), index = at(&f, number(c, 6), number(c, 7));
    assert_int_equal(number(index, 4), 2); /* falling */
    assert_bytes(bytes_at(item(index, 2, 1)), "b");
    assert_bytes(bytes_at(item(index, 3, 1)), "c");
    assert_int_equal(number(c, 4) + number(c, 5), f.footer.at - f.data); /* the footer follows */
    free(f.data);
}

/* ---- the rest */

static struct file make_mixed(enum parquet_codec codec, unsigned threads) {
    struct maker m = begin(
        &everything, &(struct parquet_options){
                         .codec = codec, .threads = threads, .page_bytes = 4096, .memory = 60000, .page_rows = 50});
    char text[9000];
    struct tl_span tags[40];
    for (int i = 0; i < 2000; i++) {
        for (size_t k = 0; k < sizeof text; k++)
            text[k] = (char)('a' + (k * (size_t)(i + 7) >> 3) % 23);
        for (size_t k = 0; k < COUNT_OF(tags); k++)
            tags[k] = (struct tl_span){text + k, (size_t)(i + (int)k) % 9};
        put(&m, (struct cell[]){{.number = i * 77},
                                {.text = {text, (size_t)i % 100}, .null = i % 7 == 0},
                                {.real = i / 3.0},
                                {.number = i % 3 == 0},
                                {.number = i},
                                {.list = {tags, (size_t)i % COUNT_OF(tags)}},
                                {.text = {text, (size_t)i * 37 % sizeof text}}}); /* some larger than a page */
    }
    return end(&m);
}

static void test_threads(void **state) {
    (void)state;
    for (int codec = PARQUET_ZSTD; codec <= PARQUET_NONE; codec++) {
        struct file one = make_mixed((enum parquet_codec)codec, 1);
        char letters[4096];
        for (size_t g = 0; g < count(one.footer, 4); g++)
            for (size_t i = 0; i < COUNT_OF(all); i++)
                check_chunk(&one, chunk(&one, g, i), letters);
        assert_true(count(one.footer, 4) > 3);
        for (unsigned threads = 2; threads <= PARQUET_THREADS_MAX; threads++) {
            struct file more = make_mixed((enum parquet_codec)codec, threads);
            assert_int_equal(more.len, one.len);
            assert_memory_equal(more.data, one.data, one.len);
            free(more.data);
        }
        free(one.data);
    }
}

static void test_no_row(void **state) {
    (void)state;
    struct maker m = begin(&everything, &(struct parquet_options){.threads = 2});
    struct file f = end(&m);
    assert_int_equal(f.facts.rows, 0);
    assert_int_equal(f.len, 0);
    free(f.data);
}

static void test_too_large(void **state) {
    (void)state;
    struct fail why = FAIL_INIT;
    struct maker m = begin(&one_text, NULL);
    struct cell cell = {.text = {"", PARQUET_CELL_MAX + 1}}; /* refused before it is looked at */
    assert_int_equal(parquet_row(m.w, &cell, &why), TL_INVALID);
    assert_non_null(strstr(why.text, "column t"));
    put_text(&m, "goes on");
    struct file f = end(&m);
    assert_int_equal(f.facts.rows, 1);
    free(f.data);
}

static void test_full_disk(void **state) {
    (void)state;
    struct fail why = FAIL_INIT;
    struct parquet *w;
    AUTO_CLOSE int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_int_equal(parquet_open(fd, &one_text, &(struct parquet_options){.group_rows = 2}, &why, &w), TL_OK);
    struct cell cell = {.text = TEXT("x")};
    assert_int_equal(parquet_row(w, &cell, &why), TL_OK);
    assert_int_equal(parquet_row(w, &cell, &why), TL_FAILED);
    assert_int_equal(why.exit_code, EXIT_DISK);
    assert_int_equal(parquet_row(w, &cell, &why), TL_FAILED);
    struct table_facts facts;
    assert_int_equal(parquet_close(w, &why, &facts), TL_FAILED);
}

/* A page cannot end within a row, so one long list is one page. */
static void test_long_list(void **state) {
    (void)state;
    static const struct column lists[] = {{.name = "l", .type = COLUMN_LIST}};
    static const struct table table = {"lists", lists, 1};
    struct maker m = begin(&table, &(struct parquet_options){.page_bytes = 1000});
    struct tl_span *items = mem_array(NULL, 100000, sizeof *items);
    for (size_t i = 0; i < 100000; i++)
        items[i] = (struct tl_span){"0123456789" + i % 10, 1 + i % 10 / 9};
    put(&m, (struct cell[]){{.list = {items, 3}}});
    put(&m, (struct cell[]){{.list = {items, 100000}}});
    put(&m, (struct cell[]){{.list = {items, 0}}});
    put(&m, (struct cell[]){{.null = true}});
    struct file f = end(&m);
    char letters[16];
    struct view c = chunk(&f, 0, 0);
    check_chunk(&f, c, letters);
    assert_int_equal(number(get(c, 3), 5), 100005);
    assert_int_equal(number(get(get(c, 3), 12), 3), 2);
    assert_int_equal(number(item(offset_index(&f, c), 1, 1), 3), 1);
    free(items);
    free(f.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_footer),    cmocka_unit_test(test_chunks),      cmocka_unit_test(test_fallback),
        cmocka_unit_test(test_no_gain),   cmocka_unit_test(test_groups),      cmocka_unit_test(test_nulls),
        cmocka_unit_test(test_no_bound),  cmocka_unit_test(test_page_bounds), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_no_row),    cmocka_unit_test(test_too_large),   cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_long_list),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("parquet", tests, NULL, NULL);
}
