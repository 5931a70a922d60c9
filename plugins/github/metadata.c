/* metadata.c - the `_metadata` of an entity or page: where it was fetched, what it is, where it leads. What GitHub sent
 * stays as it came; everything of ours is here. */
#include <stdio.h>
#include <string.h>

#include "github.h"

static void member(struct text *t, const char *name, const char *value) {
    if (!value)
        return;
    text_add(t, ",", t->len && t->ptr[t->len - 1] != '{');
    text_string(t, name);
    text_word(t, ":");
    text_string(t, value);
}

static void raw(struct text *t, const char *name, const char *value) {
    text_add(t, ",", t->len && t->ptr[t->len - 1] != '{');
    text_string(t, name);
    text_word(t, ":");
    text_word(t, value);
}

static void write_link(struct text *t, const struct link *l) {
    text_string(t, l->name);
    text_word(t, l->hrefs ? ":{\"hrefs\":[" : ":{\"href\":");
    if (!l->hrefs)
        text_string(t, l->href);
    for (size_t i = 0; l->hrefs && i < l->count; i++) {
        text_add(t, ",", i > 0);
        text_string(t, l->hrefs[i]);
    }
    text_word(t, l->hrefs ? "],\"type\":" : ",\"type\":");
    text_string(t, l->type);
    text_word(t, "}");
}

static void write_number(struct text *t, const char *name, int64_t n) {
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)n);
    raw(t, name, digits);
}

void metadata_write(struct text *t, const struct metadata *m, const struct entity *e) {
    text_word(t, "{");
    member(t, "type", m->type);
    member(t, "url", m->url);
    member(t, "requestedUrl", m->requested);
    member(t, "pointer", m->pointer);
    member(t, "fetchedAt", m->fetched_at);
    raw(t, "links", "{");
    for (size_t i = 0; e && i < e->links; i++) {
        text_add(t, ",", i > 0);
        write_link(t, &e->link[i]);
    }
    text_word(t, "}");
    member(t, "etag", m->etag);
    if (m->link_header) {
        raw(t, "headers", "{");
        member(t, "link", m->link_header);
        text_word(t, "}");
    }
    if (m->page)
        write_number(t, "page", m->page);
    if (m->last)
        raw(t, "last", "true");
    member(t, "paging", m->paging);
    member(t, "deletedAt", m->deleted_at);
    member(t, "reason", m->reason);
    if (m->more)
        text_word(t, m->more);
    write_number(t, "version", GITHUB_VERSION);
    member(t, "processedAt", text_time(t->run, t->run->host->now_us(t->run)));
    text_word(t, "}");
}

const char *metadata_text(struct tl_run *run, const char *entity, const char *pointer) {
    struct tl_json found;
    if (!entity || run->host->json(run, (struct tl_span){entity, strlen(entity)}, pointer, &found) != TL_OK)
        return NULL;
    const char *text = run->host->json_text(run, &found);
    return text;
}
