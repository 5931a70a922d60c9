/* decode_test.c - content codings: whatever way the bytes are cut, the same result; damage, short ends and bombs are
 * told apart. */
#include "net/decode.h"

#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"
#include "cases.h"

static const unsigned char brotli[] = {0x1f, 0xdf, 0x06, 0xc0, 0xa5, 0x41, 0x58, 0x5c, 0xc8, 0x30, 0x06,
                                       0x1c, 0xb0, 0x1f, 0xec, 0x1b, 0xc0, 0x4d, 0xa2, 0xc1, 0x14, 0x9b,
                                       0x9f, 0xa1, 0xb9, 0x33, 0x0a, 0x42, 0x9b, 0x80, 0xbb, 0x79, 0x08};
static const unsigned char brotli_bomb[] = {/* 64 MiB of zeros */
                                            0xcf, 0xff, 0xff, 0x7f, 0xf8, 0x27, 0x00, 0xe2, 0xb1, 0x40, 0x20,
                                            0xf7, 0xfe, 0x9f, 0xff, 0xff, 0xff, 0xf0, 0x4f, 0x00, 0xc4, 0x61,
                                            0x01, 0x80, 0xee, 0xfd, 0x3f, 0xff, 0xff, 0xfe, 0x19, 0xf0, 0x08,
                                            0x8c, 0x32, 0x20, 0x0d, 0xdf, 0xb7, 0xff, 0xef, 0xff, 0xfc, 0x33,
                                            0xf0, 0x11, 0x08, 0x70, 0x50, 0x0b, 0xaf, 0x7f, 0xf0, 0x3};

struct got {
    struct buf out;
    size_t stop_at; /* 0: never */
};

static int take(void *ctx, const char *ptr, size_t len) {
    struct got *g = ctx;
    assert_in_range(len, 1, 32768);
    buf_add(&g->out, ptr, len);
    return g->stop_at && g->out.len >= g->stop_at ? TL_PARTIAL : TL_OK;
}

/* Decodes in pieces of `step` bytes. */
static int decode(const char *codings, struct tl_span in, size_t step, struct got *g, bool *whole) {
    struct decode *d;
    buf_reset(&g->out);
    assert_int_equal(decode_new(span_of(codings), take, g, &d), TL_OK);
    assert_non_null(d);
    int rc = TL_OK;
    for (size_t at = 0; at < in.len && !rc; at += step)
        rc = decode_put(d, in.ptr + at, in.len - at < step ? in.len - at : step);
    *whole = decode_whole(d);
    if (rc == TL_INVALID || rc == TL_REFUSED)
        assert_true(strlen(decode_fault(d)) > 10);
    decode_free(d);
    return rc;
}

static struct buf words(void) {
    struct buf b = BUF_INIT;
    for (int i = 0; i < 40; i++)
        buf_lit(&b, "The same words come again and again, coded. ");
    return b;
}

static struct buf deflated(struct tl_span in, int window) {
    struct buf out = BUF_INIT;
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, window, 9, Z_DEFAULT_STRATEGY), Z_OK);
    buf_reserve(&out, in.len + 1000);
    z.next_in = (unsigned char *)(uintptr_t)in.ptr;
    z.avail_in = (unsigned)in.len;
    z.next_out = (unsigned char *)out.data;
    z.avail_out = (unsigned)(in.len + 1000);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out.len = z.total_out;
    deflateEnd(&z);
    return out;
}

static struct buf zstd(struct tl_span in) {
    struct buf out = BUF_INIT;
    buf_reserve(&out, ZSTD_compressBound(in.len));
    out.len = ZSTD_compress(out.data, ZSTD_compressBound(in.len), in.ptr, in.len, 3);
    assert_false(ZSTD_isError(out.len));
    return out;
}

enum { GZIP = MAX_WBITS + 16, ZLIB = MAX_WBITS, NAKED = -MAX_WBITS };

/* In every size of pieces it is the same, and no beginning of it is whole. */
static void reads_back(const char *codings, struct tl_span in, struct tl_span want) {
    struct got g = {0};
    bool whole;
    for (size_t step = 1; step <= in.len; step = step < 9 ? step + 1 : step * 3) {
        assert_int_equal(decode(codings, in, step, &g, &whole), TL_OK);
        assert_true(whole);
        assert_int_equal(g.out.len, want.len);
        if (want.len)
            assert_memory_equal(g.out.data, want.ptr, want.len);
    }
    for (size_t cut = 1; cut < in.len; cut += 1 + in.len / 200) {
        int rc = decode(codings, (struct tl_span){in.ptr, cut}, 7, &g, &whole);
        if (rc != TL_OK || whole)
            fail_msg("%s: the first %zu of %zu bytes: %d, whole: %d", codings, cut, in.len, rc, whole);
    }
    buf_free(&g.out);
}

static void every_coding_in_every_cut(void **state) {
    (void)state;
    AUTO_BUF struct buf w = words(), gz = deflated(buf_span(&w), GZIP), zl = deflated(buf_span(&w), ZLIB),
                        naked = deflated(buf_span(&w), NAKED), zs = zstd(buf_span(&w)),
                        both = deflated(buf_span(&zs), GZIP);
    reads_back("gzip", buf_span(&gz), buf_span(&w));
    reads_back("X-GZIP", buf_span(&gz), buf_span(&w));
    reads_back("deflate", buf_span(&zl), buf_span(&w));
    reads_back("deflate", buf_span(&naked), buf_span(&w));
    reads_back(" , zstd,identity", buf_span(&zs), buf_span(&w));
    reads_back("br", (struct tl_span){(const char *)brotli, sizeof brotli}, buf_span(&w));
    reads_back("zstd, gzip", buf_span(&both), buf_span(&w)); /* in the order in which they were applied */
}

/* Output of exactly one, two, three blocks, where an end can be missed. */
static void sizes_at_the_edge_of_a_block(void **state) {
    (void)state;
    for (size_t n = 32767; n <= 98305; n += n % 32768 == 1 ? 32766 : 1) {
        AUTO_BUF struct buf in = BUF_INIT;
        uint32_t seed = (uint32_t)n;
        for (size_t i = 0; i < n; i++)
            buf_char(&in, (char)((seed = seed * 1664525u + 1013904223u) >> 24));
        AUTO_BUF struct buf gz = deflated(buf_span(&in), GZIP), zs = zstd(buf_span(&in));
        struct got g = {0};
        bool whole;
        assert_int_equal(decode("gzip", buf_span(&gz), 65536, &g, &whole), TL_OK);
        assert_true(whole && g.out.len == n);
        assert_int_equal(decode("zstd", buf_span(&zs), 65536, &g, &whole), TL_OK);
        assert_true(whole && g.out.len == n);
        buf_free(&g.out);
    }
}

static void members_and_what_is_behind(void **state) {
    (void)state;
    AUTO_BUF struct buf w = words(), one = deflated(buf_span(&w), GZIP), two = BUF_INIT;
    struct got g = {0};
    bool whole;
    buf_add(&two, one.data, one.len);
    buf_add(&two, one.data, one.len);
    for (size_t step = 1; step < 300; step += 13) {
        assert_int_equal(decode("gzip", buf_span(&two), step, &g, &whole), TL_OK);
        assert_true(whole && g.out.len == 2 * w.len);
        assert_int_equal(decode("gzip", (struct tl_span){two.data, two.len - 1}, step, &g, &whole), TL_OK);
        assert_false(whole);
        AUTO_BUF struct buf padded = BUF_INIT;
        buf_add(&padded, one.data, one.len);
        buf_add(&padded, "\0\0\0\x1f\x8b garbage", 13);
        assert_int_equal(decode("gzip", buf_span(&padded), step, &g, &whole), TL_OK);
        assert_true(whole && g.out.len == w.len);
    }
    AUTO_BUF struct buf zs = zstd(buf_span(&w));
    size_t len = zs.len;
    buf_add(&zs, zs.data, len);
    assert_int_equal(decode("zstd", buf_span(&zs), 11, &g, &whole), TL_OK);
    assert_true(whole && g.out.len == 2 * w.len);
    buf_free(&g.out);
}

static void damage(void **state) {
    (void)state;
    AUTO_BUF struct buf w = words(), gz = deflated(buf_span(&w), GZIP), zl = deflated(buf_span(&w), ZLIB);
    struct got g = {0};
    bool whole;
    gz.data[gz.len - 6] ^= 1; /* in its check sum */
    assert_int_equal(decode("gzip", buf_span(&gz), 100, &g, &whole), TL_INVALID);
    gz.data[gz.len - 6] ^= 1;
    gz.data[gz.len - 1] ^= 1; /* in its length */
    assert_int_equal(decode("gzip", buf_span(&gz), 100, &g, &whole), TL_INVALID);
    zl.data[zl.len - 1] ^= 1;
    assert_int_equal(decode("deflate", buf_span(&zl), 100, &g, &whole), TL_INVALID);
    const char *const codings[] = {"gzip", "deflate", "br", "zstd"};
    for (size_t i = 0; i < COUNT_OF(codings); i++)
        assert_int_equal(
            decode(codings[i], span_of("\xff\xff\xff\xff this is none of them \xff\xff\xff"), 5, &g, &whole),
            TL_INVALID);
    static const char window[] =
        "\x28\xb5\x2f\xfd\x00\x88\x29\x00\x00hello"; /* zstd that wants 128 MiB to look back on */
    assert_int_equal(decode("zstd", (struct tl_span){window, sizeof window - 1}, 100, &g, &whole), TL_INVALID);
    buf_free(&g.out);
}

/* Stops within the free MiB and a block, wherever the input is cut; and never for what grows by less. */
static void bombs(void **state) {
    (void)state;
    AUTO_BUF struct buf zeros = BUF_INIT;
    buf_reserve(&zeros, 16 << 20);
    memset(zeros.data, 0, 16 << 20);
    zeros.len = 16 << 20;
    AUTO_BUF struct buf gz = deflated(buf_span(&zeros), GZIP), zl = deflated(buf_span(&zeros), ZLIB),
                        zs = zstd(buf_span(&zeros)), twice = deflated(buf_span(&gz), GZIP);
    const struct {
        const char *codings;
        struct tl_span in;
    } cases[] = {{"gzip", buf_span(&gz)},
                 {"deflate", buf_span(&zl)},
                 {"zstd", buf_span(&zs)},
                 {"gzip, gzip", buf_span(&twice)},
                 {"br", {(const char *)brotli_bomb, sizeof brotli_bomb}}};
    struct got g = {0};
    bool whole;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t step = 1; step <= 65536; step *= 16) {
            assert_int_equal(decode(cases[i].codings, cases[i].in, step, &g, &whole), TL_REFUSED);
            assert_in_range(g.out.len, 0, DECODE_FREE + 32768);
        }
    AUTO_BUF struct buf small = BUF_INIT;
    buf_add(&small, zeros.data, DECODE_FREE);
    AUTO_BUF struct buf fine = deflated(buf_span(&small), GZIP); /* 1 MiB is free, whatever it came from */
    assert_int_equal(decode("gzip", buf_span(&fine), 100, &g, &whole), TL_OK);
    assert_true(whole);
    for (size_t i = 0; i < zeros.len; i += 400) /* grows to some 150 times its size: a page of tables may */
        zeros.data[i] = (char)(i >> 9);
    AUTO_BUF struct buf dense = deflated(buf_span(&zeros), GZIP);
    assert_true(dense.len * 50 < zeros.len);
    assert_int_equal(decode("gzip", buf_span(&dense), 65536, &g, &whole), TL_OK);
    assert_true(whole && g.out.len == zeros.len);
    buf_free(&g.out);
}

static void names(void **state) {
    (void)state;
    struct decode *d = (struct decode *)&d;
    assert_int_equal(decode_new(span_of(""), take, NULL, &d), TL_OK);
    assert_null(d);
    assert_int_equal(decode_new(span_of("identity, ,"), take, NULL, &d), TL_OK);
    assert_null(d);
    assert_int_equal(decode_new(span_of("compress"), take, NULL, &d), TL_UNSUPPORTED);
    assert_int_equal(decode_new(span_of("gzip, dcb"), take, NULL, &d), TL_UNSUPPORTED);
    assert_int_equal(decode_new(span_of("gzipp"), take, NULL, &d), TL_UNSUPPORTED);
    assert_int_equal(decode_new(span_of("gzip,gzip,br,br"), take, NULL, &d), TL_INVALID);
    assert_null(d);
    struct got g = {0};
    assert_int_equal(decode_new(span_of("gzip,deflate,br"), take, &g, &d), TL_OK);
    assert_true(decode_whole(d)); /* an empty body needs no end */
    decode_free(d);
    decode_free(NULL);
}

static void a_sink_that_has_enough(void **state) {
    (void)state;
    AUTO_BUF struct buf big = BUF_INIT;
    for (int i = 0; i < 100000; i++)
        buf_printf(&big, "%d ", i);
    AUTO_BUF struct buf gz = deflated(buf_span(&big), GZIP), zs = zstd(buf_span(&big));
    struct got g = {.stop_at = 40000};
    bool whole;
    assert_int_equal(decode("gzip", buf_span(&gz), 1000, &g, &whole), TL_PARTIAL);
    assert_in_range(g.out.len, 40000, 40000 + 32768);
    assert_false(whole);
    assert_int_equal(decode("zstd", buf_span(&zs), 1000, &g, &whole), TL_PARTIAL);
    buf_free(&g.out);
}

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_coding_in_every_cut),
        cmocka_unit_test(sizes_at_the_edge_of_a_block),
        cmocka_unit_test(members_and_what_is_behind),
        cmocka_unit_test(damage),
        cmocka_unit_test(bombs),
        cmocka_unit_test(names),
        cmocka_unit_test(a_sink_that_has_enough),
    };
    return cmocka_run_group_tests_name("decode", tests, NULL, NULL);
}
