/* legs.c - see legs.h. */
#include "engine/legs.h"

#include "base/file.h"
#include "base/json.h"

struct gathering {
    struct fanin *fanin;
    const char *file;
    struct tl_span document;
    struct lake *lake;
};

static bool text_member(const struct tl_json *object, const char *key, struct buf *out) {
    struct tl_json value;
    buf_reset(out);
    return json_get(object, key, &value) == TL_OK && value.type == TL_JSON_STRING && json_text(&value, out) == TL_OK &&
           strlen(buf_span(out).ptr) == out->len;
}

/* The path below the lake of an attachment of this name. */
static int find_attachment(struct tl_span document, const char *name, struct buf *path) {
    AUTO_BUF struct buf other = BUF_INIT;
    struct tl_json all, at = {0};
    if (json_find(document, "/attachments", &all))
        return TL_NOTFOUND;
    while (json_next(&all, &at) == TL_OK)
        if (text_member(&at, "name", &other) && strcmp(buf_span(&other).ptr, name) == 0 &&
            text_member(&at, "path", path))
            return TL_OK;
    return TL_NOTFOUND;
}

/* The document is a file LAKE/documents/..., the attachment LAKE/attachments/...; a document that was taken out of its
 * lake has none. */
static int read_of_lake(const char *file, const char *path, struct buf *out) {
    AUTO_BUF struct buf where = BUF_INIT;
    const char *documents = NULL;
    for (const char *at = file; (at = strstr(at, "documents/year=")); at++)
        documents = at;
    if (!documents || strncmp(path, "attachments/", 12) != 0 || strstr(path, "/../"))
        return TL_NOTFOUND;
    buf_add(&where, file, (size_t)(documents - file));
    buf_text(&where, path);
    return file_read(where.data, LEGS_FILE_MAX, out, NULL);
}

static int read_attachment(const struct gathering *g, const struct document_part *part, struct buf *out) {
    AUTO_BUF struct buf name = BUF_INIT, path = BUF_INIT;
    if (!text_member(&part->element, "attachment", &name) || find_attachment(g->document, name.data, &path))
        return TL_NOTFOUND;
    return g->lake ? lake_read(g->lake, path.data, out, NULL) : read_of_lake(g->file, path.data, out);
}

static int each_part(void *ctx, const struct document_part *part) {
    struct gathering *g = ctx;
    struct tl_json name;
    AUTO_BUF struct buf bytes = {.max = LEGS_FILE_MAX};
    if (json_get(&part->dataset, "name", &name) || !span_eq(name.raw, "\"" LEGS_DATASET "\""))
        return TL_OK;
    if (document_bytes(part, &bytes) == TL_NOTFOUND)
        read_attachment(g, part, &bytes);
    fanin_add(g->fanin, g->file, buf_span(&bytes)); /* what could not be read is refused as an artifact */
    return TL_OK;
}

static bool is_document(struct tl_span text) {
    static const char start[] = "{\"schema_version\":\"result_v1\"";
    return text.len > sizeof start && memcmp(text.ptr, start, sizeof start - 1) == 0;
}

void legs_add_text(struct fanin *f, const char *file, struct tl_span text, struct lake *lake) {
    struct gathering g = {f, file, text, lake};
    if (!is_document(text) || document_each(text, each_part, &g))
        fanin_add(f, file, text);
}

int legs_add_file(struct fanin *f, const char *path, struct fail *why) {
    AUTO_BUF struct buf text = BUF_INIT;
    int rc = file_read(path, LEGS_FILE_MAX, &text, why);
    if (!rc)
        legs_add_text(f, path, buf_span(&text), NULL);
    return rc;
}
