/* entity.c - see entity.h. The server's bytes are spliced in as they came, numbers and all. */
#include "cmd/entity.h"

#include "base/json.h"
#include "base/mem.h"

struct printing {
    const char *urn;
    FILE *out;
    struct buf text;
    int printed;
};

static bool is_named(const struct tl_json *entity, const char *urn) {
    AUTO_BUF struct buf self = BUF_INIT;
    struct tl_json links, link, href;
    return json_get(entity, "links", &links) == TL_OK && json_get(&links, "self", &link) == TL_OK &&
           json_get(&link, "href", &href) == TL_OK && json_text(&href, &self) == TL_OK && span_eq(buf_span(&self), urn);
}

/* An object gets one more member; anything else becomes the elements of one. */
static void combine(struct printing *p, struct tl_span data, const struct tl_json *entity) {
    struct tl_json root, first = {0};
    buf_reset(&p->text);
    bool object = json_parse(data, &root) == TL_OK && root.type == TL_JSON_OBJECT;
    if (object) {
        buf_add(&p->text, root.raw.ptr, root.raw.len - 1);
        buf_text(&p->text, json_next(&root, &first) == TL_OK ? "," : "");
    } else {
        buf_lit(&p->text, "{\"elements\":");
        if (data.len && json_valid(data, NULL) == TL_OK)
            buf_add(&p->text, root.raw.ptr, root.raw.len);
        else
            buf_lit(&p->text, "[]");
        buf_char(&p->text, ',');
    }
    buf_lit(&p->text, "\"_metadata\":");
    buf_add(&p->text, entity->raw.ptr, entity->raw.len);
    buf_lit(&p->text, "}\n");
    fwrite(p->text.data, 1, p->text.len, p->out);
    p->printed++;
}

static int inside(struct printing *p, const struct document_part *part, struct tl_span data) {
    struct tl_json list, item = {0}, pointer, value;
    if (json_get(&part->element, "_entities", &list))
        return 0;
    while (json_next(&list, &item) == TL_OK) {
        AUTO_BUF struct buf at = BUF_INIT;
        if (!is_named(&item, p->urn) || json_get(&item, "pointer", &pointer) || json_text(&pointer, &at) ||
            json_find(data, at.data ? at.data : "", &value))
            continue;
        combine(p, value.raw, &item);
        return 1;
    }
    return 0;
}

static int each_part(void *ctx, const struct document_part *part) {
    struct printing *p = ctx;
    AUTO_BUF struct buf data = BUF_INIT;
    struct tl_json entity;
    bool has = json_get(&part->element, "_metadata", &entity) == TL_OK;
    if (!has || document_bytes(part, &data))
        return 0;
    if (!p->urn || is_named(&entity, p->urn)) {
        combine(p, buf_span(&data), &entity);
        return p->urn ? 1 : 0;
    }
    return inside(p, part, buf_span(&data));
}

int entity_print(struct lake *l, const char *path, const char *urn, FILE *out, struct fail *why) {
    AUTO_BUF struct buf file = BUF_INIT;
    struct printing p = {.urn = urn, .out = out};
    int rc = lake_read(l, path, &file, why);
    if (rc)
        return rc;
    if (document_each(buf_span(&file), each_part, &p))
        rc = fail_exit(why, TL_INVALID, EXIT_DAMAGED, "%s is no document of ours", path);
    else if (!p.printed)
        rc = fail_exit(why, TL_NOTFOUND, EXIT_USAGE, "the document %s holds no entity%s%s", path, urn ? " " : "",
                       urn ? urn : "");
    buf_free(&p.text);
    return rc;
}
