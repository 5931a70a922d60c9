/* fuzz_github.c - any bytes as an answer of GitHub, for every type: what is made of it is JSON, its URNs are of ids,
 * and no link leads nowhere. The first line of an input names the type. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "engine/run.h"

/* The pure part of the collector, as it is. */
#include "../../plugins/github/text.c"
#include "../../plugins/github/types.c"
#include "../../plugins/github/entity.c"
#include "../../plugins/github/event.c"
#include "../../plugins/github/metadata.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool what) {
    if (!what)
        abort();
}

static bool is_urn(const char *text) {
    return strncmp(text, "urn:", 4) == 0 &&
           text[strspn(text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-.:")] == '\0';
}

static void check(const struct entity *e, const struct text *own) {
    struct tl_json root, links;
    must(is_urn(e->urn));
    for (size_t i = 0; i < e->links; i++) {
        must(e->link[i].hrefs || is_urn(e->link[i].href));
        for (size_t k = 0; k < e->link[i].count; k++)
            must(is_urn(e->link[i].hrefs[k]));
    }
    for (size_t i = 0; i < e->children; i++)
        must(e->child[i].url && type_find(e->child[i].type));
    must(own->lost || (json_parse((struct tl_span){own->ptr, own->len}, &root) == TL_OK &&
                       json_get(&root, "links", &links) == TL_OK && links.type == TL_JSON_OBJECT));
}

static void read_as(struct tl_run *run, const struct type *t, struct tl_span body) {
    static const struct context contexts[] = {
        {.of = "urn:repo:1", .set = "s", .url = "https://api.example/repos/a/b", .now_us = 1767225600000000},
        {.of = NULL,
         .set = "s",
         .issue = "urn:repo:1:issue:2",
         .url = "x",
         .event_type = "IssuesEvent",
         .event_id = "d-1"}};
    struct tl_json v;
    struct entity e;
    if (json_parse(body, &v))
        return;
    for (size_t i = 0; i < COUNT_OF(contexts); i++) {
        if (entity_read(run, t, &v, &contexts[i], &e))
            continue;
        struct text own = {.run = run};
        const struct metadata m = {.type = e.type, .url = e.url, .etag = "\"\\\x01", .link_header = "<x>", .page = 1};
        metadata_write(&own, &m, &e);
        check(&e, &own);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct tl_collector collector = {.struct_size = sizeof collector, .name = "github"};
    static const struct run_backend backend = {0};
    const char *text = (const char *)data, *end = size ? memchr(text, '\n', size) : NULL;
    if (!end || end - text > 60)
        return 0;
    struct hash *hash = hash_new();
    struct run *r = run_new(&backend, NULL, &collector, hash);
    char *url = arena_text(&r->arena, text, (size_t)(end - text));
    const char *parent_type, *parent;
    const struct type *t = type_find(url);
    if (t)
        read_as(&r->pub, t, (struct tl_span){end + 1, size - (size_t)(end + 1 - text)});
    else if (strlen(url) == (size_t)(end - text)) /* no type: a URL, and what it tells */
        must(type_find(type_of_url(url)) &&
             (!type_parent(&r->pub, type_of_url(url), url, &parent_type, &parent) || type_find(parent_type)));
    run_free(r);
    hash_free(hash);
    return 0;
}
