/* leg_complete.c - an artifact in the making; see leg.h. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "fanin/leg.h"

static struct tl_span key_of(struct arena *memory, const struct tl_json *entry, const char *name) {
    AUTO_BUF struct buf text = BUF_INIT;
    struct tl_json member;
    if (json_get(entry, name, &member) || member.type != TL_JSON_STRING || json_text(&member, &text))
        return (struct tl_span){"", 0};
    return (struct tl_span){arena_text(memory, text.data, text.len), text.len};
}

/* The entries in their order, as an array, and the checksum of that. */
static void put_entries(struct json_writer *w, const struct tl_json *list, const char *name, bool shard) {
    struct arena memory = ARENA_INIT;
    AUTO_FREE struct leg_keyed *entry = NULL;
    struct tl_json item = {0};
    struct leg_checksum sum;
    char checksum[LEG_CHECKSUM];
    size_t n = 0, room = 0;
    while (list->raw.ptr && json_next(list, &item) == TL_OK) {
        MEM_GROW(entry, n, room);
        entry[n] = (struct leg_keyed){key_of(&memory, &item, shard ? "full_name" : "url"), item.raw, n};
        n++;
    }
    leg_sort(entry, n);
    leg_checksum_start(&sum);
    json_put_key(w, name);
    json_array_begin(w);
    for (size_t i = 0; i < n; i++) {
        json_put_raw(w, entry[i].raw);
        leg_checksum_add(&sum, entry[i].raw);
    }
    json_array_end(w);
    json_member_string(w, "checksum", leg_checksum_end(&sum, checksum));
    arena_free(&memory);
}

static bool is_ours(const struct tl_json *member, const char *entries) {
    return json_key_is(member, entries) || json_key_is(member, "schema_version") ||
           json_key_is(member, "run_context") || json_key_is(member, "checksum");
}

static void put_rest(struct json_writer *w, const struct tl_json *root, const char *entries) {
    struct tl_json member = {0};
    while (json_next(root, &member) == TL_OK) {
        AUTO_BUF struct buf key = BUF_INIT;
        if (is_ours(&member, entries) || json_key(&member, &key))
            continue;
        json_put_key_span(w, buf_span(&key));
        json_put_raw(w, member.raw);
    }
}

int leg_complete(const struct context *context, struct tl_span given, struct tl_span error, struct buf *out,
                 struct fail *why) {
    AUTO_BUF struct buf text = {.max = JSON_PYTHON_MAX}, whole = {.max = JSON_PYTHON_MAX};
    struct json_writer w = JSON_WRITER(&whole);
    struct tl_json root, member, list = {0};
    struct leg leg;
    if (json_python(given, &text) || json_parse(buf_span(&text), &root) || root.type != TL_JSON_OBJECT)
        return fail_set(why, TL_INVALID, "an artifact is a JSON object with every name once, of at most 64 MiB");
    bool shard = json_get(&root, "shard_id", &member) == TL_OK;
    const char *name = shard ? "repositories" : "articles";
    if (json_get(&root, name, &list) || list.type != TL_JSON_ARRAY)
        list = (struct tl_json){0};
    json_object_begin(&w);
    json_put_key(&w, "schema_version");
    if (shard)
        json_put_text(&w, "github_shard_v1");
    else
        json_put_int(&w, 2);
    json_member_raw(&w, "run_context", context->json);
    put_entries(&w, &list, name, shard);
    put_rest(&w, &root, name);
    if (error.len && json_get(&root, "error", &member))
        json_member_raw(&w, "error", error);
    json_object_end(&w);
    size_t before = out->len;
    if (whole.full || json_python(buf_span(&whole), out))
        return fail_set(why, TL_INVALID, "the artifact is over 64 MiB");
    leg_read(context, "the artifact", (struct tl_span){out->data + before, out->len - before}, &leg);
    int rc = leg.rejected ? fail_set(why, TL_INVALID, "the artifact would be rejected: %s", leg.reason) : TL_OK;
    if (leg.dropped && !rc)
        rc = fail_set(why, TL_INVALID, "%zu entries of the artifact lack a url, a full_name, or name another source",
                      leg.dropped);
    leg_free(&leg);
    return rc;
}
