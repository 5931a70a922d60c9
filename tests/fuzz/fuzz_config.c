/* fuzz_config.c - configuration texts: nothing crashes, a refusal has a place, what is accepted is within its bounds.
 *
 * The first byte says what the rest is: '0' trotline.yml, '1' a crawl file, '2' a crawl file and, from the last line
 * on, a --set, '3' the JSON of a child's leash, '4' a description of
 * an API. */
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "engine/config_apis.h"
#include "engine/config_schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds) {
    if (!holds)
        abort();
}

static void refused(const struct fail *why) {
    must(why->text[0] && (why->exit_code == EXIT_CONFIG || why->exit_code == EXIT_USAGE));
}

static void try_config(struct tl_span text) {
    struct fail why = FAIL_INIT;
    struct config c;
    if (config_text("f.yml", "/nowhere", text, NULL, 0, &c, &why)) {
        refused(&why);
        return;
    }
    must(c.lake && c.catalog && c.plugins && c.user_agent && c.shard_count);
    must(c.fetch.per_host >= 1 && c.fetch.per_host <= 1000 && c.workers.inflight >= 1 &&
         c.leash.depth <= LEASH_DEPTH_MAX);
    for (size_t i = 0; i < c.collector_count; i++)
        must(!c.collector[i].options.len || !json_valid(c.collector[i].options, NULL));
    config_free(&c);
}

static void try_crawl(struct tl_span text, const char *set) {
    struct fail why = FAIL_INIT;
    struct crawl c;
    if (config_crawl_text("f.yml", text, &set, set ? 1 : 0, &c, &why)) {
        refused(&why);
        return;
    }
    must(c.name && *c.name && c.line_count && !json_valid(c.json, NULL));
    for (size_t i = 0; i < c.line_count; i++) {
        must(!c.line[i].args.len || !json_valid(c.line[i].args, NULL));
        must(!c.line[i].leash_given.len || !json_valid(c.line[i].leash_given, NULL));
    }
    config_crawl_free(&c);
}

static void try_leash(struct tl_span json) {
    struct leash l;
    leash_defaults(&l);
    if (leash_from_json(&l, json, NULL) == TL_OK) {
        struct leash back;
        AUTO_BUF struct buf out = BUF_INIT;
        AUTO_BUF struct buf again = BUF_INIT;
        leash_init(&back);
        leash_json(&out, &l);
        must(leash_from_json(&back, buf_span(&out), NULL) == TL_OK);
        leash_json(&again, &back);
        must(strcmp(out.data, again.data) == 0);
        leash_free(&back);
    }
    leash_free(&l);
}

static void try_api(struct tl_span text) {
    struct fail why = FAIL_INIT;
    struct config_apis a = {0};
    if (config_apis_text(&a, "f.yml", text, &why))
        refused(&why);
    else
        must(a.count == 1 && a.api[0].json.len <= CONFIG_API_JSON_MAX && !json_valid(a.api[0].json, NULL));
    config_apis_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size)
        return 0;
    struct tl_span text = {(const char *)data + 1, size - 1};
    const char *last = data[0] == '2' ? memrchr(text.ptr, '\n', text.len) : NULL;
    AUTO_FREE char *set = last ? mem_text_n(last + 1, (size_t)(text.ptr + text.len - last - 1)) : NULL;
    if (last)
        text.len = (size_t)(last - text.ptr);
    if (data[0] == '0')
        try_config(text);
    else if (data[0] == '3')
        try_leash(text);
    else if (data[0] == '4')
        try_api(text);
    else
        try_crawl(text, set);
    return 0;
}
