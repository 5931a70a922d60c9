/* fuzz_leg.c - any bytes as an artifact, as what a collector gives for one, and as a run context.
 * What is completed passes as a leg; a merge of anything gives documents that are their own canonical form. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_write.h"
#include "fanin/fanin.h"
#include "fanin/leg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool what) {
    if (!what)
        abort();
}

static void must_be_canonical(struct tl_span text) {
    struct buf again = BUF_INIT;
    must(json_python(text, &again) == TL_OK);
    must(again.len == text.len && memcmp(again.data, text.ptr, text.len) == 0);
    buf_free(&again);
}

static void merge(const struct context *c, struct tl_span text) {
    static const struct fanin_member source = {"a", false}, shard = {"one", false};
    const struct fanin_plan plan = {&source, &shard, 1, 1};
    struct fanin *f = fanin_new(c, &plan);
    fanin_add(f, "fuzz", text);
    bool done = fanin_merge(f, 0);
    must_be_canonical(done ? fanin_news(f) : fanin_diagnostics(f));
    if (done)
        must_be_canonical(fanin_github(f));
    fanin_free(f);
}

static void complete(const struct context *c, struct tl_span text) {
    struct buf out = BUF_INIT;
    struct leg leg;
    if (leg_complete(c, text, (struct tl_span){"", 0}, &out, NULL) == TL_OK) {
        leg_read(c, "fuzz", buf_span(&out), &leg);
        must(!leg.rejected);
        leg_free(&leg);
        merge(c, buf_span(&out));
    }
    buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct tl_span text = {(const char *)data, size};
    struct sha256 digest = hash_sha256("", 0);
    struct buf json = BUF_INIT;
    struct context ours, any;
    context_write(&json, (struct week){2026, 24}, &digest, &digest, &digest, 0);
    must(context_read("ours", buf_span(&json), &ours, NULL) == TL_OK);
    if (context_read("any", text, &any, NULL) == TL_OK)
        must(week_start(any.week) <= INT64_MAX - WEEK_US);
    context_free(&any);
    merge(&ours, text);
    complete(&ours, text);
    context_free(&ours);
    buf_free(&json);
    return 0;
}
