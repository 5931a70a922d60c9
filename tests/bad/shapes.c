/* shapes - a document of a given shape: so many SIMPLE datasets, a PAGED one with so many pages, a KEY_VALUE one with
 * so many pairs.
 *
 * Each SIMPLE dataset needs a declared name of its own: simple_0 to simple_63. A count of 0: no such dataset. The bytes
 * are a pattern that depends on the element, so a mixed-up element shows. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <trotline.h>

struct args {
    int64_t simple, simple_bytes, pages, page_bytes, pairs, pair_bytes;
    bool repeat_keys, binary, json;
};
#define ARG(n, t, d, h)                                                                                                \
    { #n, t, 0, offsetof(struct args, n), d, NULL, h }
static const struct tl_option arguments[] = {ARG(simple, TL_INT, "1", "SIMPLE datasets"),
                                             ARG(simple_bytes, TL_BYTES, "64", "bytes of each"),
                                             ARG(pages, TL_INT, "0", "pages of the PAGED dataset"),
                                             ARG(page_bytes, TL_BYTES, "64", "bytes of each"),
                                             ARG(pairs, TL_INT, "0", "pairs of the KEY_VALUE dataset"),
                                             ARG(pair_bytes, TL_BYTES, "64", "bytes of each"),
                                             ARG(repeat_keys, TL_BOOL, "false", "every two pairs share a key"),
                                             ARG(binary, TL_BOOL, "false", "bytes that are no text"),
                                             ARG(json, TL_BOOL, "false", "JSON, as long as it needs to be"),
                                             {0}};
#define S1(n)                                                                                                          \
    { "simple_" #n, TL_SIMPLE, NULL, NULL }
#define S10(n) S1(n##0), S1(n##1), S1(n##2), S1(n##3), S1(n##4), S1(n##5), S1(n##6), S1(n##7), S1(n##8), S1(n##9)
enum { SIMPLE_MAX = 64 };
static const struct tl_dataset datasets[] = {S1(0),
                                             S1(1),
                                             S1(2),
                                             S1(3),
                                             S1(4),
                                             S1(5),
                                             S1(6),
                                             S1(7),
                                             S1(8),
                                             S1(9),
                                             S10(1),
                                             S10(2),
                                             S10(3),
                                             S10(4),
                                             S10(5),
                                             S1(60),
                                             S1(61),
                                             S1(62),
                                             S1(63),
                                             {"pages", TL_PAGED, "pages", "the pages"},
                                             {"pairs", TL_KEY_VALUE, NULL, "the pairs"},
                                             {0}};

/* JSON of exactly `size` bytes when that is enough for {"of":"...","n":...,"pad":""}. */
static size_t write_json(char *out, size_t size, const char *what, int64_t n) {
    int head =
        snprintf(out, size + 128, "{\"of\":\"%s\",\"n\":%lld,\"big\":9007199254740993,\"pad\":\"", what, (long long)n);
    size_t len = (size_t)head;
    for (; len + 2 < size; len++)
        out[len] = (char)('a' + len % 26);
    memcpy(out + len, "\"}", 3);
    return len + 2;
}

static void write_pattern(char *out, size_t size, int64_t n, bool binary) {
    for (size_t i = 0; i < size; i++)
        out[i] = binary         ? (char)((i + (uint64_t)n) % 251 ^ 0x80)
                 : i % 64 == 63 ? '\n'
                                : (char)('a' + (i + (uint64_t)n) % 26);
}

static int put(struct tl_run *run, const struct args *a, const char *dataset, const char *what, int64_t n, int64_t size,
               const char *key) {
    char url[96];
    char *bytes = size < 0 || size > INT32_MAX ? NULL : tl_alloc(run, (size_t)size + 128);
    if (!bytes)
        return tl_fail(run, TL_FAILED, "no memory for a %s of %lld bytes", what, (long long)size);
    size_t len = (size_t)size;
    if (a->json)
        len = write_json(bytes, len, what, n);
    else
        write_pattern(bytes, len, n, a->binary);
    snprintf(url, sizeof url, "https://shapes.example/%s/%lld", what, (long long)n);
    return tl_put(run, dataset,
                  TL_ELEMENT(.data = {bytes, len}, .data_url = url, .key = key,
                             .media_type = a->json     ? "application/json"
                                           : a->binary ? "application/octet-stream"
                                                       : "text/plain"));
}

static int collect(void *self, struct tl_run *run, const void *given) {
    const struct args *a = given;
    char key[40];
    int rc = TL_OK;
    (void)self;
    if (a->simple > SIMPLE_MAX)
        return tl_fail(run, TL_INVALID, "at most %d SIMPLE datasets", SIMPLE_MAX);
    for (int64_t i = 0; !rc && i < a->simple; i++)
        rc = put(run, a, datasets[i].name, "simple", i, a->simple_bytes, NULL);
    for (int64_t i = 0; !rc && i < a->pages; i++)
        rc = put(run, a, "pages", "page", i, a->page_bytes, NULL);
    for (int64_t i = 0; !rc && i < a->pairs; i++) {
        snprintf(key, sizeof key, "key-%lld", (long long)(a->repeat_keys ? i / 2 : i));
        rc = put(run, a, "pairs", "pair", i, a->pair_bytes, key);
    }
    return rc;
}
TL_COLLECTOR(.name = "shapes", .version = "1.0.0", .summary = "documents of a given shape", .arguments = arguments,
             .arguments_size = sizeof(struct args), .datasets = datasets, .collect = collect);
