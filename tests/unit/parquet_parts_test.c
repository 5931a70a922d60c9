/* parquet_parts_test.c - parts of the Parquet writer on their own: bounds that are cut, levels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <string.h>

#include "convert/parquet_bounds.h"
#include "convert/parquet_inside.h"
/* After trotline.h: cmocka's macro fail() would take the name of a member there. */
#include <cmocka.h>

#define TEXT(s) ((struct tl_span){s, sizeof(s) - 1})

/* ---- bounds */

#define A63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A60 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A59 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define BEL "\x7F\x7F\x7F\x7F\x7F\x7F\x7F\x7F\x7F\x7F\x7F\x7F\x7F\x7F\x7F\x7F"
#define TOP "\xF4\x8F\xBF\xBF\xF4\x8F\xBF\xBF\xF4\x8F\xBF\xBF\xF4\x8F\xBF\xBF"
#define FFS "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"

static const struct {
    struct tl_span text, min, max; /* of this text alone; a max without ptr: there is none */
    bool exact;
} vectors[] = {
    {TEXT(""), TEXT(""), TEXT(""), true},
    {TEXT("\0"), TEXT("\0"), TEXT("\0"), true},
    {TEXT(A63 "b"), TEXT(A63 "b"), TEXT(A63 "b"), true}, /* 64 bytes are whole */
    {TEXT(A63 "bc"), TEXT(A63 "b"), TEXT(A63 "c"), false},
    {TEXT(A63 "\x7Fz"), TEXT(A63 "\x7F"), TEXT(A63 "\xC2\x80"), false},
    {TEXT(BEL BEL BEL BEL "z"), TEXT(BEL BEL BEL BEL),
     TEXT(BEL BEL BEL "\x7F\x7F\x7F\x7F\x7F\x7F\x7F\x7F\x7F\x7F\x7F\x7F\x7F\x7F\x7F\xC2\x80"), false},
    {TEXT(A63 "\xC3\xA9"), TEXT(A63), TEXT(A60 "aab"), false}, /* e acute, cut in the middle */
    {TEXT(A60 "aa\xC3\xA9z"), TEXT(A60 "aa\xC3\xA9"), TEXT(A60 "aa\xC3\xAA"), false},
    {TEXT(A60 "\xF0\x9F\x9A\x80z"), TEXT(A60 "\xF0\x9F\x9A\x80"), TEXT(A60 "\xF0\x9F\x9A\x81"), false},
    {TEXT(A60 "a\xED\x9F\xBFz"), TEXT(A60 "a\xED\x9F\xBF"), TEXT(A60 "a\xEE\x80\x80"), false}, /* over the surrogates */
    {TEXT(A60 "a\xEF\xBF\xBFz"), TEXT(A60 "a\xEF\xBF\xBF"), TEXT(A60 "a\xF0\x90\x80\x80"),
     false}, /* longer by a byte */
    {TEXT(A60 "\xF4\x8F\xBF\xBFz"), TEXT(A60 "\xF4\x8F\xBF\xBF"), TEXT(A59 "b"),
     false}, /* the last one: its neighbour is raised */
    {TEXT(TOP TOP TOP TOP "z"), TEXT(TOP TOP TOP TOP), {NULL, 0}, false},
    {TEXT(FFS FFS FFS FFS "z"), TEXT(""), {NULL, 0}, false}, /* no UTF-8: no promise but truth */
};

static void test_bounds(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct bounds b = {0};
        struct bound min, max;
        bounds_text(&b, vectors[i].text);
        assert_true(bounds_min(&b, COLUMN_TEXT, &min));
        assert_int_equal(bounds_max(&b, COLUMN_TEXT, &max), vectors[i].max.ptr != NULL);
        assert_int_equal(min.exact, vectors[i].exact);
        if (vectors[i].max.ptr) {
            assert_int_equal(max.len, vectors[i].max.len);
            assert_memory_equal(max.byte, vectors[i].max.ptr, max.len);
            assert_int_equal(max.exact, vectors[i].exact);
        }
        if (i + 1 < COUNT_OF(vectors)) {
            assert_int_equal(min.len, vectors[i].min.len);
            assert_memory_equal(min.byte, vectors[i].min.ptr, min.len);
        }
    }
}

static void test_bounds_together(void **state) {
    (void)state;
    struct bounds page[2] = {{0}}, both = {0};
    struct bound min, max;
    bounds_text(&page[0], TEXT(A63 "zz")); /* the same 64 bytes, once as the whole text: its end is the least */
    bounds_text(&page[0], TEXT(A63 "z"));
    bounds_text(&page[1], TEXT("zoe"));
    bounds_text(&page[1], TEXT("\xC3\xA9")); /* bytes are unsigned */
    for (int i = 0; i < 2; i++)
        bounds_merge(&both, COLUMN_TEXT, &page[i]);
    assert_true(bounds_min(&both, COLUMN_TEXT, &min) && bounds_max(&both, COLUMN_TEXT, &max));
    assert_true(min.exact && max.exact);
    assert_memory_equal(min.byte, A63 "z", 64);
    assert_memory_equal(max.byte, "\xC3\xA9", 2);
    assert_true(bounds_max(&page[0], COLUMN_TEXT, &max));
    assert_false(max.exact);
    assert_memory_equal(max.byte, A63 "{", 64);

    struct bounds real = {0};
    bounds_real(&real, NAN);
    assert_false(bounds_min(&real, COLUMN_REAL, &min)); /* nothing but NaN has no bounds */
    bounds_real(&real, 0.0);
    double low, high;
    assert_true(bounds_min(&real, COLUMN_REAL, &min) && bounds_max(&real, COLUMN_REAL, &max));
    memcpy(&low, min.byte, 8);
    memcpy(&high, max.byte, 8);
    assert_true(signbit(low) && !signbit(high));
}

/* ---- levels */

struct view {
    const unsigned char *at, *end;
};

static uint64_t take_varint(struct view *v) {
    uint64_t n = 0;
    for (int shift = 0; v->at < v->end; shift += 7) {
        n |= (uint64_t)(*v->at & 127) << shift;
        if (!(*v->at++ & 128))
            break;
    }
    return n;
}

static void decode(const struct buf *in, unsigned width, uint32_t *out, size_t n) {
    struct view v = {(const unsigned char *)in->data, (const unsigned char *)in->data + in->len};
    size_t got = 0;
    while (v.at < v.end) {
        uint64_t head = take_varint(&v), values = head & 1 ? head / 2 * 8 : head / 2;
        for (uint64_t i = 0; i < values; i++) {
            uint32_t value = 0;
            for (unsigned bit = 0; bit < (head & 1 ? width : (width + 7) / 8 * 8); bit++) {
                uint64_t where = head & 1 ? i * width + bit : bit;
                value |= (uint32_t)(v.at[where / 8] >> where % 8 & 1) << bit;
            }
            if (got < n)
                out[got] = value;
            else
                assert_true((head & 1) && got < n + 7 && value == 0);
            got++;
        }
        v.at += head & 1 ? head / 2 * width : (width + 7) / 8;
    }
    assert_ptr_equal(v.at, v.end);
    assert_true(got >= n);
}

static void test_levels(void **state) {
    (void)state;
    enum { N = 3000 };
    static uint32_t values[N], got[N];
    uint64_t seed = 1;
    for (unsigned width = 1; width <= 20; width++)
        for (int shape = 0; shape < 4; shape++)
            for (size_t n = 1; n <= N; n = n < 40 ? n + 1 : n * 3) {
                for (size_t i = 0; i < n; i++) { /* constant, random, runs of 5 and of 40 */
                    static const size_t runs[] = {N, 1, 5, 40};
                    if (i % runs[shape] == 0)
                        seed = seed * 6364136223846793005u + 1442695040888963407u;
                    values[i] = (uint32_t)(seed >> 33) & ((1u << width) - 1);
                }
                AUTO_BUF struct buf out = BUF_INIT;
                levels_write(&out, values, n, true, width);
                memset(got, 0xEE, sizeof got);
                decode(&out, width, got, n);
                assert_memory_equal(got, values, n * sizeof *values);
            }
    AUTO_BUF struct buf out = BUF_INIT;
    static const unsigned char ones[1000] = {[0 ... 999] = 1};
    levels_write(&out, ones, sizeof ones, false, 1);
    assert_int_equal(out.len, 3);
    assert_memory_equal(out.data, "\xD0\x0F\x01", 3); /* one run */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_bounds_together),
        cmocka_unit_test(test_levels),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("parquet_parts", tests, NULL, NULL);
}
