/* run_entity.c - entities: what a run's elements say of them, as rows of links; and what the catalog knew before.
 *
 * What an entity is and where it leads is its collector's word (`_metadata`); here it is only read. An entity without a
 * `self` link has no name, and so no rows. */
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/times.h"
#include "engine/run.h"

enum { TEXT_MOST = 2000, ROWS_MOST = 500000 };

/* ---- rows of links */

struct reading {
    struct run *r;
    int (*each)(void *ctx, const struct run_link_row *row);
    void *ctx;
    struct run_link_row row;
    struct buf urn, name, href, type;
    size_t rows;
};

static bool text_of(const struct tl_json *object, const char *key, struct buf *out) {
    struct tl_json v;
    buf_reset(out);
    return json_get(object, key, &v) == TL_OK && v.type == TL_JSON_STRING && json_text(&v, out) == TL_OK && out->len &&
           out->len <= TEXT_MOST && !memchr(out->data, '\0', out->len);
}

static int say(struct reading *x, const char *name, const char *href, const char *type) {
    if (x->rows++ >= ROWS_MOST)
        return run_fail(x->r, TL_FAILED, "entity", "a document with more than %d links of entities", ROWS_MOST);
    x->row.urn = x->urn.data;
    x->row.name = name;
    x->row.href = href;
    x->row.type = type;
    return x->each(x->ctx, &x->row);
}

static int say_link(struct reading *x, const struct tl_json *link) {
    struct tl_json list, item = {0};
    buf_reset(&x->name);
    if (json_key(link, &x->name) || !x->name.len || x->name.len > 200 || memchr(x->name.data, '\0', x->name.len) ||
        !text_of(link, "type", &x->type))
        return TL_OK;
    if (text_of(link, "href", &x->href))
        return say(x, x->name.data, x->href.data, x->type.data);
    int rc = json_get(link, "hrefs", &list) ? TL_NOTFOUND : TL_OK;
    while (!rc && !(rc = json_next(&list, &item))) {
        buf_reset(&x->href);
        if (item.type != TL_JSON_STRING || json_text(&item, &x->href) || !x->href.len || x->href.len > TEXT_MOST ||
            memchr(x->href.data, '\0', x->href.len))
            continue;
        rc = say(x, x->name.data, x->href.data, x->type.data);
    }
    return rc == TL_NOTFOUND || rc == TL_INVALID ? TL_OK : rc;
}

/* One entity: its links, its URL and the one that it was asked by when that leads elsewhere by now, and whether it ends
 * a list. page: URL of the page that it stands on, which is not its own. */
static int say_entity(struct reading *x, const struct tl_json *entity, const char *page) {
    struct tl_json links, self, link = {0}, last;
    AUTO_BUF struct buf text = BUF_INIT;
    bool ends = false;
    int rc;
    if (json_get(entity, "links", &links) || links.type != TL_JSON_OBJECT || json_get(&links, "self", &self) ||
        !text_of(&self, "href", &x->urn))
        return TL_OK;
    x->row.deleted_us = 0;
    if (text_of(entity, "deletedAt", &text) && time_parse(buf_span(&text), &x->row.deleted_us))
        x->row.deleted_us = 0;
    while ((rc = json_next(&links, &link)) == TL_OK)
        if ((rc = say_link(x, &link)))
            return rc;
    if (rc == TL_NOTFOUND)
        rc = text_of(entity, "url", &text) && (!page || strcmp(page, text.data) != 0) ? say(x, "url", text.data, "")
                                                                                      : TL_OK;
    if (!rc)
        rc = text_of(entity, "requestedUrl", &text) ? say(x, "alias", text.data, "alias") : TL_OK;
    if (!rc && json_get(entity, "last", &last) == TL_OK && json_bool(&last, &ends) == TL_OK && ends &&
        json_get(&links, "unique", &link) == TL_OK && text_of(&link, "href", &text))
        rc = say(x, "last", text.data, "");
    return rc;
}

static int read_element(struct reading *x, const struct document_element *e) {
    AUTO_BUF struct buf page = BUF_INIT;
    struct tl_json root, item = {0};
    int rc = TL_OK;
    if (e->entity.len && json_parse(e->entity, &root) == TL_OK) {
        text_of(&root, "url", &page);
        rc = say_entity(x, &root, NULL);
    }
    if (!rc && e->entities.len && json_parse(e->entities, &root) == TL_OK)
        while (!(rc = json_next(&root, &item)))
            if ((rc = say_entity(x, &item, page.data)))
                return rc;
    return rc == TL_NOTFOUND ? TL_OK : rc;
}

int run_link_rows(struct run *r, int (*each)(void *ctx, const struct run_link_row *row), void *ctx) {
    struct reading x = {.r = r, .each = each, .ctx = ctx};
    int rc = TL_OK;
    for (size_t i = 0; i < r->dataset_count && !rc; i++)
        for (size_t k = 0; k < r->dataset[i].d.count && !rc; k++)
            rc = read_element(&x, &r->dataset[i].element[k]);
    buf_free(&x.urn);
    buf_free(&x.name);
    buf_free(&x.href);
    buf_free(&x.type);
    return rc;
}

/* ---- what a collector puts beside its data */

static int take(struct run *r, const char *text, enum tl_json_type type, const char *what, struct tl_span *out) {
    struct tl_json v;
    if (!text)
        return TL_OK;
    if (json_parse(span_of(text), &v) || v.type != type)
        return run_fail(r, TL_INVALID, "invalid", "put: what it says of %s is no JSON %s", what,
                        type == TL_JSON_OBJECT ? "object" : "array");
    out->ptr = arena_span(&r->arena, v.raw);
    out->len = v.raw.len;
    return out->ptr ? TL_OK : run_fail(r, TL_FAILED, "memory", "the run's memory is used up");
}

int run_take_entities(struct run *r, const struct tl_element *e, struct document_element *to) {
    int rc = take(r, e->entity, TL_JSON_OBJECT, "its entity", &to->entity);
    return rc ? rc : take(r, e->entities, TL_JSON_ARRAY, "entities inside of it", &to->entities);
}

/* ---- what was known before */

int run_earlier(struct tl_run *pub, const char *key, struct tl_document *into) {
    struct run *r = run_of(pub);
    struct tl_document d = {.struct_size = sizeof d};
    if (!key || !*key || strlen(key) > TEXT_MOST)
        return run_fail(r, TL_INVALID, "invalid", "earlier: a URN or a URL of at most %d bytes is wanted", TEXT_MOST);
    if (!r->backend->earlier)
        return TL_NOTFOUND;
    int rc = r->backend->earlier(r, key, &d);
    if (rc == TL_CANCEL)
        r->cancelled = true;
    if (!rc)
        RUN_GIVE(into, d);
    return rc;
}

int run_stand_for(struct tl_run *pub, const struct tl_document *d) {
    struct run *r = run_of(pub);
    if (!d || !d->raw.ptr || !d->result_id)
        return run_fail(r, TL_INVALID, "invalid", "stand_for: a stored document is wanted");
    run_fact(r, RUN_STANDS, d->result_id, NULL, NULL, NULL);
    return TL_UNCHANGED;
}

int run_unseen(struct tl_run *pub, const char *siblings, struct tl_list *list) {
    struct run *r = run_of(pub);
    *list = (struct tl_list){0};
    if (!siblings || !*siblings || strlen(siblings) > TEXT_MOST)
        return run_fail(r, TL_INVALID, "invalid", "unseen: a URN of at most %d bytes is wanted", TEXT_MOST);
    int rc = r->backend->unseen ? r->backend->unseen(r, siblings, list) : TL_OK;
    if (rc == TL_CANCEL)
        r->cancelled = true;
    return rc;
}
