/* fuzz_yaml.c - any bytes through the configuration reader: a tree that keeps its promises, or a refusal that says
 * where. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/utf8.h"
#include "base/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool what) {
    if (!what)
        abort();
}

static void check(const struct yaml_node *n, unsigned depth) {
    must(n->line && n->column);
    if (n->kind == YAML_SCALAR) {
        must(strlen(n->text) == n->len && utf8_valid(n->text, n->len) && !n->first);
        return;
    }
    must(depth < YAML_DEPTH);
    size_t count = 0;
    YAML_EACH(child, n) {
        count++;
        must((n->kind == YAML_MAP) == (child->key != NULL));
        if (child->key)
            must(yaml_get(n, child->key->text) == child);
        if (count < 50)
            check(child, depth + 1);
    }
    must(count == n->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a = {.max = (size_t)64 << 20};
    struct yaml_node *root;
    struct yaml_error err;
    if (size > 65536)
        size = 65536;
    int rc = yaml_parse(&a, "fuzz.yml", (struct tl_span){(const char *)data, size}, &root, &err);
    if (rc) {
        must(!root && err.line && err.column && err.text[0] && utf8_valid(err.text, strlen(err.text)));
        static const char *const words[] = {"depth", "time", "must", "key"};
        yaml_nearest(err.text, words, 4);
    } else {
        AUTO_BUF struct buf json = BUF_INIT;
        AUTO_BUF struct buf canonical = BUF_INIT;
        if (root)
            check(root, 0);
        must(yaml_to_json(root, &json) == TL_OK && json_valid(buf_span(&json), NULL) == TL_OK);
        must(json.len > JSON_CANONICAL_MAX || json_canonical(buf_span(&json), &canonical) == TL_OK);
    }
    arena_free(&a);
    return 0;
}
