/* list.c - a page of a list: what is on it, and where the next one is.
 *
 * The next page is where the server says (rel="next"), as it says it; a server that leads in a circle is noticed. What
 * a list shows in full is an entity of its page's document, found there by a pointer, and is not asked for again. The
 * pages of a relation say which set they belong to, and whose ids they hold; an empty relation has one page, which says
 * that. */
#include <string.h>

#include "github.h"

enum { TRAIL_MOST = 64, MARK = 13 };

/* ---- circles */

static const char *mark_of(struct tl_run *run, const char *url) {
    uint64_t hash = 1469598103934665603u;
    for (const char *c = url; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    return text_format(run, "%012llx", (unsigned long long)(hash >> 16));
}

static const char *own_url(const struct args *a, const char *final) {
    return a->url ? a->url : final;
}

static const char *next_page(struct tl_run *run, const struct args *a, const char *link, const char *base, bool *loop) {
    const char *next = NULL;
    if (!link || tl_link_header(run, link, base, "next", &next))
        return NULL;
    const char *mark = mark_of(run, next);
    *loop = strcmp(next, own_url(a, base)) == 0 || (mark && a->trail && strstr(a->trail, mark));
    return *loop ? NULL : next;
}

static const char *trail_of(struct tl_run *run, const struct args *a, const char *base) {
    const char *before = a->trail ? a->trail : "";
    if (strlen(before) >= (size_t)TRAIL_MOST * MARK)
        before += MARK;
    return text_format(run, "%s%s,", before, mark_of(run, own_url(a, base)));
}

/* ---- what is on it */

static bool elements_of(struct tl_run *run, const struct tl_json *body, struct tl_json *out, const char **pointer) {
    *pointer = "";
    *out = *body;
    if (body->type == TL_JSON_ARRAY)
        return true;
    *pointer = "/items";
    return body->type == TL_JSON_OBJECT && value_at(run, body, "/items", out) && out->type == TL_JSON_ARRAY;
}

static bool is_relation(const struct type *t, const char *of) {
    return of && ((t->flags & TYPE_RELATION) || (strcmp(t->name, "repos") == 0 && strncmp(of, "urn:team:", 9) == 0));
}

/* The name of the relation, as the links of its origin have it. */
static const char *relation_name(struct tl_run *run, const struct type *t, const char *of) {
    const char *prefix = strncmp(of, "urn:org:", 8) == 0 ? "org_" : strncmp(of, "urn:team:", 9) == 0 ? "team_" : "";
    return text_format(run, "%s:%s%s:pages", of, strcmp(t->name, "repos") == 0 ? "" : prefix, t->name);
}

static void link_relation(struct entity *e, const struct type *t, const struct context *c, const struct tl_json *list) {
    struct tl_run *run = e->run;
    struct tl_json item = {0};
    size_t n = 0, i = 0;
    const char *pages = relation_name(run, t, c->of);
    const char *origin = text_copy(run, (struct tl_span){c->of + 4, strcspn(c->of + 4, ":")});
    while (list && run->host->json_next(run, list, &item) == TL_OK)
        n++;
    const char **hrefs = tl_alloc(run, (n + 1) * sizeof *hrefs);
    item = (struct tl_json){0};
    while (list && hrefs && i < n && run->host->json_next(run, list, &item) == TL_OK) {
        const char *id = value_id(run, &item, "/id");
        if (id && (hrefs[i] = text_format(run, "urn:%s:%s", t->element, id)))
            i++;
    }
    entity_link(e, "origin", "resource", c->of);
    entity_link(e, origin ? origin : "", "resource", c->of);
    entity_link(e, "siblings", "collection", pages);
    entity_link(e, "unique", "collection", text_format(run, "%s:%s", pages, c->set));
    if (hrefs && e->links < ENTITY_LINKS)
        e->link[e->links++] = (struct link){.name = "resources", .type = "resource", .hrefs = hrefs, .count = i};
}

/* Is this element complete as the list shows it? */
static bool is_whole(const struct args *a, const struct type *element) {
    return element && (element->flags & TYPE_WHOLE) && !a->detail;
}

static void put_elements(struct text *t, const struct args *a, const struct type *element, const struct context *c,
                         const struct tl_json *list, const char *below, const struct metadata *page) {
    struct tl_run *run = t->run;
    struct tl_json item = {0};
    struct entity e;
    bool comma = false;
    text_word(t, "[");
    for (int64_t i = 0; is_whole(a, element) && run->host->json_next(run, list, &item) == TL_OK; i++) {
        if (item.type != TL_JSON_OBJECT || entity_read(run, element, &item, c, &e))
            continue;
        const char *url = value_text(run, &item, "/url");
        const struct metadata m = {.type = e.type,
                                   .url = url ? url : page->url,
                                   .pointer = text_format(run, "%s/%lld", below, (long long)i),
                                   .fetched_at = page->fetched_at};
        text_add(t, ",", comma);
        metadata_write(t, &m, &e);
        comma = true;
    }
    text_word(t, "]");
}

int list_put(struct tl_run *run, const struct args *a, const struct type *t, const struct context *c,
             const struct tl_element *from, struct metadata *m) {
    struct tl_span text = from->from ? from->from->body : from->data;
    struct entity page = {.run = run, .type = t->name};
    struct text own = {.run = run}, inside = {.run = run};
    struct tl_json body = {.raw = text}, list;
    const char *below = "";
    bool loop = false, there = value_at(run, &body, "", &body) && elements_of(run, &body, &list, &below);
    m->page = a->page > 0 ? a->page : 1;
    bool more = next_page(run, a, m->link_header, m->url, &loop) != NULL;
    if (loop)
        m->paging = "loop";
    if (c->of) {
        page.urn = text_format(run, "%s:%s:page:%lld", c->of, t->name, (long long)m->page);
        entity_link(&page, "self", "resource", page.urn);
    }
    if (is_relation(t, c->of)) {
        link_relation(&page, t, c, there ? &list : NULL);
        m->last = !more;
    }
    metadata_write(&own, m, &page);
    if (there)
        put_elements(&inside, a, type_find(t->element), c, &list, below, m);
    if (own.lost || inside.lost)
        return tl_fail(run, TL_FAILED, "the run's memory is used up");
    struct tl_element e = *from;
    e.entity = own.ptr;
    e.entities = inside.len > 2 ? inside.ptr : NULL;
    return tl_put(run, m->dataset ? m->dataset : t->name, &e);
}

/* ---- where it leads */

static int visit_element(struct tl_run *run, const struct args *a, const struct type *element,
                         const struct tl_json *item, const struct context *c, bool self) {
    struct entity e;
    if (is_whole(a, element))
        return self || entity_read(run, element, item, c, &e) ? TL_OK : visit_entity(run, a, &e);
    const char *id = value_id(run, item, "/id"), *url = value_text(run, item, "/url");
    bool root = element->flags & TYPE_ROOT;
    const struct child child = {.name = element->name,
                                .type = element->name,
                                .url = url,
                                .of = root ? NULL : c->of,
                                .urn =
                                    id ? text_format(run, "%s:%s:%s", root ? "urn" : c->of, element->name, id) : NULL};
    return url && (root || c->of) ? visit_child(run, a, &child, self ? VISIT_SELF : VISIT_FULL, NULL, a->within)
                                  : TL_OK;
}

/* Is everything that the list holds named on its pages, so that what is named no more is gone? Feeds end somewhere. */
static bool is_complete(const struct args *a, const struct type *element) {
    return element && a->within && (element->flags & TYPE_WHOLE) && !(element->flags & TYPE_FIXED) &&
           strcmp(element->name, "event") != 0 && strcmp(element->name, "status") != 0;
}

static bool is_here(struct tl_run *run, const struct tl_element *e, const char *urn) {
    struct tl_json all, item = {0};
    if (!e->entities || run->host->json(run, (struct tl_span){e->entities, strlen(e->entities)}, "", &all))
        return false;
    while (run->host->json_next(run, &all, &item) == TL_OK) {
        const char *self = value_text(run, &item, "/links/self/href");
        if (self && strcmp(self, urn) == 0)
            return true;
    }
    return false;
}

/* At the end of a list: what was on it in an earlier crawl, and is not now, is asked for by itself. It may be gone. */
static int look_for_missed(struct tl_run *run, const struct args *a, const struct type *element, const char *of,
                           const struct tl_element *e) {
    const char *siblings = text_format(run, "%s:%s", of, element->plural);
    struct tl_list missed = {0};
    int rc = siblings ? tl_unseen(run, siblings, &missed) : TL_FAILED;
    for (size_t i = 0; i + 1 < missed.count && !rc; i += 2) {
        const struct child c = {
            .name = element->name, .type = element->name, .url = missed.item[i + 1], .of = of, .urn = missed.item[i]};
        if (!is_here(run, e, c.urn))
            rc = visit_child(run, a, &c, VISIT_SELF, NULL, a->within);
    }
    return rc == TL_UNSUPPORTED ? TL_OK : rc;
}

int list_visit(struct tl_run *run, const struct args *a, const struct type *t, const struct tl_element *e) {
    struct tl_json body = {.raw = e->data}, list, item = {0};
    const struct type *element = type_find(t->element);
    const char *below, *self = metadata_text(run, e->entity, "/links/self/href"), *next;
    const char *url = metadata_text(run, e->entity, "/url"), *reach = a->reach;
    const char *mark = text_format(run, ":%s:page:", t->name), *tail = self && mark ? strstr(self, mark) : NULL;
    const char *of = tail ? text_copy(run, (struct tl_span){self, (size_t)(tail - self)}) : a->of;
    const struct context c = {.of = of, .set = known_set(e->entity, run), .url = url};
    bool loop = false;
    int rc = TL_OK;
    if (element && strcmp(reach, "pages") != 0 && value_at(run, &body, "", &body) &&
        elements_of(run, &body, &list, &below))
        while (!rc && run->host->json_next(run, &list, &item) == TL_OK)
            if (item.type == TL_JSON_OBJECT)
                rc = visit_element(run, a, element, &item, &c, strcmp(reach, "self") == 0);
    if (rc)
        return rc;
    if (!(next = next_page(run, a, metadata_text(run, e->entity, "/headers/link"), url, &loop)))
        return of && !loop && is_complete(a, element) ? look_for_missed(run, a, element, of, e) : TL_OK;
    const struct child page = {.name = t->name,
                               .type = t->name,
                               .url = next,
                               .of = of,
                               .set = c.set ? c.set : a->set,
                               .trail = trail_of(run, a, url),
                               .page = (a->page > 0 ? a->page : 1) + 1};
    enum visit how = strcmp(reach, "self") == 0 ? VISIT_SELF : strcmp(reach, "pages") == 0 ? VISIT_PAGES : VISIT_FULL;
    return visit_child(run, a, &page, how, NULL, a->within);
}
