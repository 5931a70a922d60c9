/* listing.c - which repositories there are: the list of a login, page by page, and what has become of those that were
 * on it the last time. Each is handed on to a run of its own, which is a part of this one. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gitbackup.h"

enum { PAGES_MOST = 2000 };

struct known { /* of a list, to be found by its id */
    const char *id, *full_name;
    size_t at; /* where it stands there */
};
struct ids {
    struct known *item;
    size_t count, room;
};
struct listing {
    struct tl_run *run;
    const struct args *a;
    const char *owner; /* as the list spells it */
    const char **seen; /* pages */
    size_t pages, refused, listed;
    struct text entries;   /* of the listing that is kept */
    struct ids is, was;    /* those that are on it, and were on the one that was kept the last time; was is sorted */
    struct tl_json before; /* that one */
    bool known;
};

int listing_hand_on(struct tl_run *run, const struct repository *r) {
    const char *json = source_json(run, r);
    if (!json)
        return tl_fail(run, TL_FAILED, "the run's memory is used up");
    return tl_spawn(run, TL_CHILD(.flags = TL_PART | TL_SAME, TL_ARGS(TL_ARG_JSON("repo", json))));
}

static bool wanted(const struct args *a, const struct repository *r) {
    bool in = a->include.count == 0;
    for (size_t i = 0; i < a->include.count && !in; i++)
        in = source_matches(a->include.item[i], r->name);
    for (size_t i = 0; i < a->exclude.count && in; i++)
        in = !source_matches(a->exclude.item[i], r->name);
    return in && (a->forks || !r->fork) && (a->archived || !r->archived);
}

static struct tl_backup kept_as(const struct listing *l, const char *owner) {
    return (struct tl_backup){.struct_size = sizeof(struct tl_backup),
                              .server = "github.com",
                              .owner = owner,
                              .name = ".listing",
                              .kind = "json",
                              .media_type = "application/json",
                              .at_us = l->run->host->now_us(l->run)};
}

/* ---- ids: a list may have a hundred thousand */

static int ids_add(struct tl_run *run, struct ids *x, const char *id, const char *full_name) {
    if (!id)
        return TL_OK;
    if (x->count == x->room) {
        size_t room = x->room ? x->room * 2 : 128;
        struct known *wider = tl_alloc(run, room * sizeof *wider);
        if (!wider)
            return tl_fail(run, TL_FAILED, "the run's memory is used up");
        if (x->count)
            memcpy(wider, x->item, x->count * sizeof *wider);
        x->item = wider;
        x->room = room;
    }
    x->item[x->count] = (struct known){.id = id, .full_name = full_name, .at = x->count};
    x->count++;
    return TL_OK;
}

static int by_id(const void *a, const void *b) {
    const struct known *x = a, *y = b;
    int order = strcmp(x->id, y->id);
    return order ? order : x->at < y->at ? -1 : x->at > y->at;
}

static void ids_sort(struct ids *x) {
    if (x->count)
        qsort(x->item, x->count, sizeof *x->item, by_id);
}

/* The first of that id. */
static const struct known *ids_find(const struct ids *x, const char *id) {
    size_t low = 0, high = x->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(x->item[middle].id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < x->count && strcmp(x->item[low].id, id) == 0 ? &x->item[low] : NULL;
}

static int read_before(struct listing *l) {
    struct tl_backup b = kept_as(l, l->owner);
    struct tl_span text;
    struct tl_json all = {0}, entry = {0};
    if (tl_backup_read(l->run, &b, &text))
        return TL_OK;
    all.raw = text;
    l->known = value_at(l->run, &all, "/repositories", &l->before) && l->before.type == TL_JSON_ARRAY;
    int rc = TL_OK;
    while (!rc && l->known && l->run->host->json_next(l->run, &l->before, &entry) == TL_OK)
        rc = ids_add(l->run, &l->was, value_id(l->run, &entry, "/id"), value_text(l->run, &entry, "/full_name"));
    ids_sort(&l->was);
    return rc;
}

static int refuse(struct listing *l, const struct tl_json *entry, const struct repository *r, const char *why) {
    struct outcome o = {.status = "refused", .reason = why, .rc = 0, .changed = {.run = l->run}};
    struct repository shown = *r;
    if (!shown.full_name)
        shown.full_name = "?";
    (void)entry;
    l->refused++;
    tl_log(l->run, TL_WARN, "%s: %s", shown.full_name, why);
    return outcome_put(l->run, &shown, &o);
}

static int take_entry(struct listing *l, const struct tl_json *entry) {
    struct repository r;
    const char *why = NULL;
    int rc = source_read(l->run, entry, false, &r, &why);
    l->listed++;
    if (rc == TL_REFUSED)
        return refuse(l, entry, &r, why);
    if (!r.full_name)
        r.full_name = text_format(l->run, "%s/%s", r.owner, r.name);
    if (!l->owner) {
        l->owner = r.owner;
        if ((rc = read_before(l)))
            return rc;
    }
    const struct known *old = r.id ? ids_find(&l->was, r.id) : NULL;
    if (old && old->full_name && strcasecmp(old->full_name, r.full_name) != 0)
        r.formerly = old->full_name;
    if ((rc = ids_add(l->run, &l->is, r.id, r.full_name)))
        return rc;
    const char *json = source_json(l->run, &r);
    text_word(&l->entries, l->entries.len ? ",\n" : "");
    text_word(&l->entries, json);
    return wanted(l->a, &r) ? listing_hand_on(l->run, &r) : TL_OK;
}

static bool was_seen(struct listing *l, const char *url) {
    for (size_t i = 0; i < l->pages; i++)
        if (strcmp(l->seen[i], url) == 0)
            return true;
    return false;
}

static const char *header(const struct tl_response *res, const char *name) {
    for (size_t i = 0; i < res->header_count; i++)
        if (strcasecmp(res->headers[i].name, name) == 0)
            return res->headers[i].value;
    return NULL;
}

/* A limit that is reached is no failure: the run is put back until it is lifted. */
static int judge(struct listing *l, const char *url, const struct tl_response *res) {
    const char *left = header(res, "x-ratelimit-remaining"), *reset = header(res, "x-ratelimit-reset");
    if ((res->status == 403 || res->status == 429) && left && strcmp(left, "0") == 0 && reset && strlen(reset) < 12)
        return tl_later(l->run, url, (strtoll(reset, NULL, 10) + 1) * 1000000, "the rate limit of the API is reached");
    if (res->status == 401 || res->status == 403)
        return tl_fail(l->run, TL_FAILED, "%s answered %d: %s", url, res->status,
                       l->a->token ? "the token is not accepted, or may not read this"
                                   : "a token is wanted: `token: NAME`, of an entry under secrets");
    if (res->status == 404)
        return tl_fail(l->run, TL_FAILED, "%s answered 404: there is no such login, or no such list", url);
    return tl_fail(l->run, TL_FAILED, "%s answered %d", url, res->status);
}

static int walk_pages(struct listing *l, const char *url) {
    struct tl_run *run = l->run;
    const struct tl_header headers[] = {{"Accept", "application/vnd.github+json", NULL},
                                        {"X-GitHub-Api-Version", "2022-11-28", NULL},
                                        {"Authorization", "Bearer ", l->a->token}};
    while (url) {
        struct tl_response res = TL_RESPONSE_INIT;
        struct tl_json body = {0}, entry = {0};
        if (l->pages == PAGES_MOST || was_seen(l, url))
            return tl_fail(run, TL_PARTIAL, "the list leads in a circle at %s", url);
        l->seen[l->pages++] = url;
        int rc = tl_fetch(
            run,
            TL_REQUEST(.kind = TL_API_REQUEST, .url = url, .headers = headers, .header_count = l->a->token ? 3 : 2),
            &res);
        if (rc)
            return rc;
        if (res.status != 200)
            return judge(l, url, &res);
        body.raw = res.body;
        if (!value_at(run, &body, "", &body) || body.type != TL_JSON_ARRAY)
            return tl_fail(run, TL_FAILED, "%s answered no JSON array", url);
        if ((rc = tl_put(run, "listing", TL_ELEMENT(.from = &res))))
            return rc;
        while (!rc && run->host->json_next(run, &body, &entry) == TL_OK)
            rc = take_entry(l, &entry);
        const char *link = header(&res, "link"), *next = NULL;
        if (rc || !link || tl_link_header(run, link, res.url, "next", &next))
            return rc;
        url = next;
    }
    return TL_OK;
}

/* Those that are on the list no more: their copies stay. */
static int note_absent(struct listing *l) {
    struct tl_json old = {0};
    int rc = TL_OK;
    ids_sort(&l->is);
    while (!rc && l->known && l->run->host->json_next(l->run, &l->before, &old) == TL_OK) {
        struct repository r;
        const char *why;
        if (source_read(l->run, &old, false, &r, &why) || !r.id || ids_find(&l->is, r.id))
            continue;
        struct outcome o = {
            .status = "absent", .reason = "it is on the list no more; its copies are kept", .changed = {.run = l->run}};
        rc = outcome_put(l->run, &r, &o);
    }
    return rc;
}

/* Kept when it is another than before. */
static int keep(struct listing *l) {
    struct text t = {.run = l->run};
    const char *owner = l->owner ? l->owner : l->a->login;
    struct tl_backup b = kept_as(l, owner);
    struct tl_span before;
    text_word(&t, "{\"login\":");
    text_string(&t, owner);
    text_word(&t, ",\"repositories\":[\n");
    text_add(&t, l->entries.ptr, l->entries.len);
    text_word(&t, "\n]}\n");
    if (t.lost || l->entries.lost)
        return tl_fail(l->run, TL_FAILED, "the run's memory is used up");
    int rc = tl_backup_read(l->run, &b, &before);
    if (rc == TL_OK && before.len == t.len && memcmp(before.ptr, t.ptr, t.len) == 0)
        return TL_OK;
    b.data = (struct tl_span){t.ptr, t.len};
    return rc == TL_OK || rc == TL_NOTFOUND ? tl_backup(l->run, &b) : rc;
}

static const char *first_page(struct tl_run *run, const struct args *a, const char *what) {
    if (strcmp(a->list, "own") == 0)
        return text_format(run, "%s/user/repos?per_page=100&affiliation=owner", a->api);
    return text_format(run, "%s/%s/%s/%s?per_page=100", a->api, strcmp(a->list, "organisation") == 0 ? "orgs" : "users",
                       a->login, what);
}

int listing_walk(struct tl_run *run, const struct args *a) {
    struct listing l = {
        .run = run, .a = a, .entries = {.run = run}, .seen = tl_alloc(run, PAGES_MOST * sizeof *l.seen)};
    const char *url = first_page(run, a, "repos");
    if (!l.seen || !url)
        return tl_fail(run, TL_FAILED, "the run's memory is used up");
    int rc = walk_pages(&l, url);
    if (rc == TL_OK)
        rc = note_absent(&l);
    if (rc == TL_OK)
        rc = keep(&l);
    if (rc == TL_OK && a->starred)
        rc = walk_pages(&l, text_format(run, "%s/users/%s/starred?per_page=100", a->api, a->login));
    if (rc == TL_OK && l.refused)
        rc = tl_fail(run, TL_PARTIAL, "%zu of %zu repositories of %s were refused for their names or URLs", l.refused,
                     l.listed, a->login);
    return rc;
}
