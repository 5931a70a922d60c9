/* gone.c - what is not there: gone, forbidden, not to be had; and what was known of it before.
 *
 * One thing that fails costs nothing but itself. Of a list that cannot be had its page says so. Of something known that
 * is gone (410), or not found (404) where what it belongs to is there, a last version says when it was missed; other
 * things are declared gone only when they were missed three times, for a 404 may also mean that it may not be seen.
 * When it answers again, it is there again. */
#include <string.h>

#include "github.h"

enum { MISSED_MOST = 3 };

/* ---- what was known */

static bool is_it(struct tl_run *run, const struct tl_json *entity, const char *urn) {
    const char *self = value_text(run, entity, "/links/self/href");
    return self && strcmp(self, urn) == 0;
}

/* As an element of a page. */
static int find_inside(struct tl_run *run, const char *urn, const struct type *t, struct known *k) {
    for (const struct type *list = types; list->name; list++) {
        struct tl_element e = TL_ELEMENT_INIT;
        struct tl_json all, item = {0}, data;
        if (!list->element || strcmp(list->element, t->name) != 0 ||
            run->host->element(run, &k->doc, list->name, 0, &e) || !e.entities ||
            run->host->json(run, (struct tl_span){e.entities, strlen(e.entities)}, "", &all))
            continue;
        while (run->host->json_next(run, &all, &item) == TL_OK) {
            const char *pointer = is_it(run, &item, urn) ? value_text(run, &item, "/pointer") : NULL;
            if (!pointer || run->host->json(run, e.data, pointer, &data))
                continue;
            k->data = data.raw;
            k->entity = text_copy(run, item.raw);
            k->media_type = e.media_type;
            k->inside = true;
            k->url = value_text(run, &item, "/url");
            return k->entity ? TL_OK : TL_NOTFOUND;
        }
    }
    return TL_NOTFOUND;
}

int known_find(struct tl_run *run, const char *key, const struct type *t, struct known *k) {
    struct tl_element e = TL_ELEMENT_INIT;
    *k = (struct known){.doc = {.struct_size = sizeof k->doc}};
    int rc = tl_earlier(run, key, &k->doc);
    if (rc)
        return rc;
    if (run->host->element(run, &k->doc, t->name, 0, &e) || !e.entity)
        return find_inside(run, key, t, k);
    k->data = e.data;
    k->entity = e.entity;
    k->media_type = e.media_type;
    k->url = metadata_text(run, e.entity, "/url");
    return TL_OK;
}

const char *known_set(const char *entity, struct tl_run *run) {
    static const char mark[] = ":pages:";
    const char *at = entity ? strstr(entity, mark) : NULL;
    size_t len = at ? strspn(at + sizeof mark - 1, "0123456789abcdefghijklmnopqrstuvwxyz-") : 0;
    return len && at[sizeof mark - 1 + len] == '"' ? text_copy(run, (struct tl_span){at + sizeof mark - 1, len}) : NULL;
}

/* ---- what is said of it now */

int gone_put(struct tl_run *run, const char *dataset, const struct type *t, const struct tl_response *res,
             const char *more) {
    struct text own = {.run = run};
    const struct metadata m = {
        .type = t->name, .url = res->url, .fetched_at = text_time(run, run->host->now_us(run)), .more = more};
    metadata_write(&own, &m, NULL);
    if (own.lost)
        return tl_fail(run, TL_FAILED, "the run's memory is used up");
    return tl_put(run, dataset, TL_ELEMENT(.from = res, .entity = own.ptr));
}

/* The `_metadata` of before, without what is said anew. */
static void keep(struct text *t, const char *entity) {
    static const char *const anew[] = {"\"deletedAt\"", "\"reason\"",      "\"missing\"",
                                       "\"pointer\"",   "\"processedAt\"", "\"last\""};
    struct tl_json all, member = {0};
    if (t->run->host->json(t->run, (struct tl_span){entity, strlen(entity)}, "", &all))
        return;
    text_word(t, "{");
    while (t->run->host->json_next(t->run, &all, &member) == TL_OK) {
        bool drop = false;
        for (size_t i = 0; i < sizeof anew / sizeof *anew; i++)
            drop = drop || (member.key.len == strlen(anew[i]) && memcmp(member.key.ptr, anew[i], member.key.len) == 0);
        if (drop)
            continue;
        text_add(t, member.key.ptr, member.key.len);
        text_word(t, ":");
        text_add(t, member.raw.ptr, member.raw.len);
        text_word(t, ",");
    }
}

static int64_t missed(struct tl_run *run, const char *entity) {
    struct tl_json all;
    return run->host->json(run, (struct tl_span){entity, strlen(entity)}, "", &all)
               ? 0
               : value_count(run, &all, "/missing/times");
}

/* Another version of what was known, with its last content. */
int gone_missed(struct tl_run *run, const struct args *a, const struct type *t, const struct known *k, int status) {
    const char *now = text_time(run, run->host->now_us(run));
    int64_t times = missed(run, k->entity);
    times = times > 0 ? times + 1 : 1;
    bool belongs = !(t->flags & TYPE_ROOT) && a->within; /* it was asked for from what it belongs to, which is there */
    bool over = status == 410 || status == 301 || belongs || times >= MISSED_MOST;
    struct text own = {.run = run};
    if (metadata_text(run, k->entity, "/deletedAt"))
        return tl_stand_for(run, &k->doc);
    keep(&own, k->entity);
    text_word(&own, over ? text_format(run, "\"deletedAt\":\"%s\",\"reason\":\"%d\"", now, status)
                         : text_format(run, "\"missing\":{\"status\":%d,\"times\":%lld}", status, (long long)times));
    text_word(&own, text_format(run, ",\"processedAt\":\"%s\"}", now));
    if (own.lost)
        return tl_fail(run, TL_FAILED, "the run's memory is used up");
    return tl_put(run, t->name,
                  TL_ELEMENT(.data = k->data, .media_type = k->media_type, .data_url = k->url, .entity = own.ptr));
}

static int put_unavailable(struct tl_run *run, const struct type *t, const struct tl_response *res) {
    struct tl_json body = {.raw = res->body};
    struct text more = {.run = run};
    text_word(&more, ",\"unavailable\":{\"status\":451,\"url\":");
    text_string(&more, value_text(run, &body, "/block/html_url"));
    text_word(&more, "}");
    return more.lost ? TL_FAILED : gone_put(run, "unavailable", t, res, more.ptr);
}

int gone(struct tl_run *run, const struct args *a, const struct type *t, const struct tl_response *res) {
    int status = res->status, rc;
    struct known k;
    if (status == 451)
        return put_unavailable(run, t, res);
    if ((t->element || (t->flags & TYPE_DATED)) && (status == 404 || status == 403 || status == 410 || status == 422) &&
        a->of)
        return gone_put(run, "absent", t, res, text_format(run, ",\"absent\":{\"status\":%d}", status));
    if (status == 404 || status == 410) {
        rc = a->urn ? known_find(run, a->urn, t, &k) : TL_NOTFOUND;
        if (rc == TL_NOTFOUND)
            rc = known_find(run, a->url, t, &k);
        if (rc != TL_NOTFOUND)
            return rc ? rc : gone_missed(run, a, t, &k, status);
    }
    if (res->body.len &&
        (rc = gone_put(run, "absent", t, res, text_format(run, ",\"absent\":{\"status\":%d}", status))))
        return rc;
    return tl_fail(run, TL_FAILED, "%s answered %d", res->url, status);
}
