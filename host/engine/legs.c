/* legs.c - see legs.h. */
#include "engine/legs.h"

#include "base/file.h"
#include "base/json.h"
#include "lake/lake.h"

struct gathering {
    struct fanin *fanin;
    const char *file;
};

static int each_part(void *ctx, const struct document_part *part) {
    struct gathering *g = ctx;
    struct tl_json name;
    AUTO_BUF struct buf bytes = BUF_INIT;
    if (json_get(&part->dataset, "name", &name) || !span_eq(name.raw, "\"" LEGS_DATASET "\""))
        return TL_OK;
    document_bytes(part, &bytes); /* what cannot be read is refused as an artifact */
    fanin_add(g->fanin, g->file, buf_span(&bytes));
    return TL_OK;
}

static bool is_document(struct tl_span text) {
    static const char start[] = "{\"schema_version\":\"result_v1\"";
    return text.len > sizeof start && memcmp(text.ptr, start, sizeof start - 1) == 0;
}

void legs_add_text(struct fanin *f, const char *file, struct tl_span text) {
    struct gathering g = {f, file};
    if (!is_document(text) || document_each(text, each_part, &g))
        fanin_add(f, file, text);
}

int legs_add_file(struct fanin *f, const char *path, struct fail *why) {
    AUTO_BUF struct buf text = BUF_INIT;
    int rc = file_read(path, LEGS_FILE_MAX, &text, why);
    if (!rc)
        legs_add_text(f, path, buf_span(&text));
    return rc;
}
