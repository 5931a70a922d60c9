/* fuzz_json.c - any bytes through the tokenizer, the pointer, the writer and the canonical form: what they say must
 * agree. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool what) {
    if (!what)
        abort();
}

/* Every member and item down to a few levels, each handle as the iteration gives it. */
static void walk(const struct tl_json *v, int levels) {
    must(json_valid(v->raw, NULL) == TL_OK);
    AUTO_BUF struct buf text = BUF_INIT;
    int rc = json_text(v, &text);
    must((rc == TL_OK) == (v->type == TL_JSON_STRING));
    must(utf8_valid(buf_span(&text).ptr, text.len));
    int64_t n;
    must(json_int(v, &n) == TL_INVALID || v->type == TL_JSON_NUMBER);
    if (!levels || (v->type != TL_JSON_ARRAY && v->type != TL_JSON_OBJECT))
        return;
    struct tl_json at = {0}, found;
    while ((rc = json_next(v, &at)) == TL_OK) {
        if (at.key.len)
            must(json_get(v, "a", &found) == TL_OK || !json_key_is(&at, "a"));
        walk(&at, levels - 1);
    }
    must(rc == TL_NOTFOUND);
}

static void check_valid(struct tl_span text) {
    struct tl_json root, value;
    must(json_parse(text, &root) == TL_OK);
    walk(&root, 3);
    must(json_find(text, "", &value) == TL_OK && value.raw.ptr == root.raw.ptr && value.raw.len == root.raw.len);
    AUTO_BUF struct buf once = BUF_INIT;
    AUTO_BUF struct buf twice = BUF_INIT;
    if (json_canonical(text, &once) == TL_OK) {
        must(once.len <= text.len);
        must(json_canonical(buf_span(&once), &twice) == TL_OK);
        must(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct tl_span text = {(const char *)data, size};
    struct tl_json value;
    size_t where;
    int rc = json_valid(text, &where);
    must(rc == TL_OK ? where == size : where <= size);
    if (rc == TL_OK)
        check_valid(text);
    json_find(text, "/a/0/b", &value);
    struct tl_json forged = {.type = size % 2 ? TL_JSON_ARRAY : TL_JSON_OBJECT, .raw = text}, at = {0};
    for (int i = 0; i < 100 && json_next(&forged, &at) == TL_OK; i++)
        must(at.raw.ptr >= text.ptr && at.raw.ptr + at.raw.len <= text.ptr + size);

    /* Whatever the bytes are, as a string they give valid JSON, and UTF-8 comes back as it went. */
    AUTO_BUF struct buf out = BUF_INIT;
    AUTO_BUF struct buf back = BUF_INIT;
    struct json_writer w = JSON_WRITER(&out);
    json_put_string(&w, text);
    must(json_parse(buf_span(&out), &value) == TL_OK && json_text(&value, &back) == TL_OK);
    if (utf8_valid(text.ptr, size))
        must(back.len == size && (!size || memcmp(back.data, data, size) == 0));
    return 0;
}
