/* run_read.c - documents as reactors see them: the run's own result in memory, or a stored one, element by element,
 * link by link. */
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "engine/run.h"

static bool is_own(const struct run *r, const struct tl_document *doc) {
    return !doc->raw.ptr && doc->result_id == r->result_id;
}

/* ---- in memory */

static int own_element(struct run *r, const char *dataset, size_t n, struct tl_element *out) {
    for (size_t i = 0; i < r->dataset_count; i++) {
        const struct run_dataset *x = &r->dataset[i];
        if (strcmp(x->d.name, dataset) != 0)
            continue;
        if (n >= x->d.count)
            return TL_NOTFOUND;
        const struct document_element *e = &x->element[n];
        out->data = e->text.len ? e->text : e->data;
        out->media_type = e->media_type;
        out->data_url = e->data_url;
        out->id = e->id;
        out->key = e->key;
        out->page_number = e->page_number;
        out->metadata = e->metadata.len ? e->metadata.ptr : NULL;
        out->entity = e->entity.len ? e->entity.ptr : NULL;
        out->entities = e->entities.len ? e->entities.ptr : NULL;
        return TL_OK;
    }
    return TL_NOTFOUND;
}

/* ---- stored */

static const char *member_text(struct run *r, const struct tl_json *object, const char *key) {
    struct tl_json v;
    AUTO_BUF struct buf text = BUF_INIT;
    if (json_get(object, key, &v) || v.type != TL_JSON_STRING || json_text(&v, &text))
        return NULL;
    return arena_text(&r->arena, text.data ? text.data : "", text.len);
}

static int decode(struct run *r, const struct tl_json *e, const char *encoding, struct tl_span *out) {
    struct tl_json data;
    AUTO_BUF struct buf bytes = BUF_INIT, text = BUF_INIT;
    *out = (struct tl_span){"", 0};
    if (!encoding || json_get(e, "data", &data))
        return TL_INVALID;
    if (strcmp(encoding, "json") == 0) {
        *out = data.raw;
        return TL_OK;
    }
    if (data.type == TL_JSON_NULL) /* beside the document */
        return TL_OK;
    if (data.type != TL_JSON_STRING || json_text(&data, &text) ||
        (strcmp(encoding, "base64") == 0 && hash_unbase64(&bytes, buf_span(&text))))
        return TL_INVALID;
    const struct buf *from = strcmp(encoding, "base64") == 0 ? &bytes : &text;
    out->ptr = arena_text(&r->arena, from->data ? from->data : "", from->len);
    out->len = from->len;
    return out->ptr ? TL_OK : TL_FAILED;
}

static int open_dataset(struct run *r, const struct tl_document *doc, const char *dataset) {
    struct tl_json sets, set = {0}, name;
    AUTO_BUF struct buf text = BUF_INIT;
    r->cursor.document = NULL;
    if (json_find(doc->raw, "/datasets", &sets))
        return TL_NOTFOUND;
    while (json_next(&sets, &set) == TL_OK) {
        buf_reset(&text);
        if (json_get(&set, "name", &name) || json_text(&name, &text) || !span_eq(buf_span(&text), dataset))
            continue;
        r->cursor.document = doc->raw.ptr;
        r->cursor.dataset = arena_text(&r->arena, dataset, strlen(dataset));
        r->cursor.set = r->cursor.container = set;
        r->cursor.at = (struct tl_json){0};
        r->cursor.next = 0;
        if (json_get(&set, "pages", &r->cursor.container) && json_get(&set, "key_values", &r->cursor.container))
            r->cursor.container = set;
        return r->cursor.dataset ? TL_OK : TL_FAILED;
    }
    return TL_NOTFOUND;
}

static int stored_element(struct run *r, const struct tl_document *doc, const char *dataset, size_t n,
                          struct tl_element *out) {
    struct tl_json element, metadata, number;
    int rc;
    bool same = r->cursor.document == doc->raw.ptr && r->cursor.dataset && strcmp(r->cursor.dataset, dataset) == 0;
    if ((!same || n < r->cursor.next) && (rc = open_dataset(r, doc, dataset)))
        return rc;
    if (r->cursor.container.raw.ptr == r->cursor.set.raw.ptr) { /* SIMPLE: the dataset is its own element */
        if (n > 0)
            return TL_NOTFOUND;
        element = r->cursor.set;
    } else {
        do
            if ((rc = json_next(&r->cursor.container, &r->cursor.at)))
                return TL_NOTFOUND;
        while (r->cursor.next++ < n);
        element = r->cursor.at;
    }
    const char *encoding = member_text(r, &element, "encoding");
    if ((rc = decode(r, &element, encoding, &out->data)))
        return run_fail(r, TL_FAILED, "document", "dataset '%s' of document %s cannot be read", dataset,
                        doc->result_id);
    out->media_type = member_text(r, &element, "media_type");
    out->data_url = member_text(r, &element, "data_url");
    out->id = member_text(r, &element, "id");
    out->key = member_text(r, &element, "key");
    if (json_get(&element, "page_number", &number) == TL_OK)
        json_int(&number, &out->page_number);
    if (json_get(&element, "metadata", &metadata) == TL_OK)
        out->metadata = arena_span(&r->arena, metadata.raw);
    if (json_get(&element, "_metadata", &metadata) == TL_OK)
        out->entity = arena_span(&r->arena, metadata.raw);
    if (json_get(&element, "_entities", &metadata) == TL_OK)
        out->entities = arena_span(&r->arena, metadata.raw);
    return TL_OK;
}

int run_element(struct tl_run *pub, const struct tl_document *doc, const char *dataset, size_t n,
                struct tl_element *into) {
    struct run *r = run_of(pub);
    struct tl_element out = TL_ELEMENT_INIT;
    if (!doc || !dataset)
        return run_fail(r, TL_INVALID, "invalid", "element: a document and a dataset's name are wanted");
    int rc = is_own(r, doc) ? own_element(r, dataset, n, &out) : stored_element(r, doc, dataset, n, &out);
    if (!rc)
        RUN_GIVE(into, out);
    return rc;
}

int run_link(struct tl_run *pub, const struct tl_document *doc, const char *dataset, size_t n, struct tl_link *into) {
    struct run *r = run_of(pub);
    struct tl_element e = TL_ELEMENT_INIT;
    struct tl_json item = {0}, number;
    int rc;
    if (is_own(r, doc) && r->own_links && r->own_links_of && strcmp(r->own_links_of, dataset) == 0) {
        if (n >= r->own_links->link_count)
            return TL_NOTFOUND;
        *into = r->own_links->link[n];
        return TL_OK;
    }
    if (n == 0 || !r->links.container.raw.ptr) {
        if ((rc = run_element(pub, doc, dataset, 0, &e)))
            return rc;
        r->links.next = 0;
        r->links.at = (struct tl_json){0};
        if (json_parse(e.data, &r->links.container) || r->links.container.type != TL_JSON_ARRAY)
            return run_fail(r, TL_INVALID, "invalid", "link: '%s' holds no links", dataset);
    }
    if (n != r->links.next)
        return run_fail(r, TL_INVALID, "invalid", "link: links are read in order, from 0");
    if (json_next(&r->links.container, &r->links.at)) {
        r->links.container.raw.ptr = NULL;
        return TL_NOTFOUND;
    }
    r->links.next++;
    item = r->links.at;
    *into = (struct tl_link){member_text(r, &item, "url"), member_text(r, &item, "rel"), member_text(r, &item, "text"),
                             member_text(r, &item, "source"), (int64_t)n};
    if (json_get(&item, "position", &number) == TL_OK)
        json_int(&number, &into->position);
    return into->url ? TL_OK : TL_INVALID;
}
