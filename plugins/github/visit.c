/* visit.c - the visitor map: which links are followed from which type, and how far.
 *
 * A map is {TYPE: {LINK: how}}: {} follows it, and goes on from there as the map says of the type that it leads to;
 * "self" fetches it and goes no further; [] fetches the pages of a list, not what is on them; {LINK: how, …} goes on by
 * that instead. What is not named is not followed. */
#include <string.h>

#include "github.h"

static const char map[] =
    "{\"org\":{\"user\":\"self\",\"repos\":{},\"members\":\"self\",\"teams\":{}},"
    "\"user\":{\"repos\":[]},"
    "\"repo\":{\"owner\":\"self\",\"organization\":\"self\",\"teams\":\"self\",\"collaborators\":\"self\","
    "\"contributors\":\"self\",\"stargazers\":\"self\",\"subscribers\":\"self\",\"issues\":{},\"commits\":{},"
    "\"events\":{}},"
    "\"team\":{\"organization\":\"self\",\"members\":\"self\",\"repos\":\"self\"},"
    "\"issue\":{\"user\":\"self\",\"assignee\":\"self\",\"closed_by\":\"self\",\"repo\":\"self\",\"issue_comments\":{},"
    "\"pull_request\":{}},"
    "\"pull_request\":{\"user\":\"self\",\"merged_by\":\"self\",\"assignee\":\"self\",\"head\":\"self\",\"base\":"
    "\"self\","
    "\"repo\":\"self\",\"reviews\":{},\"review_comments\":{},\"statuses\":{},\"pull_request_commits\":{}},"
    "\"commit\":{\"repo\":\"self\",\"author\":\"self\",\"committer\":\"self\",\"commit_comments\":{}},"
    "\"pull_request_commit\":{\"author\":\"self\",\"committer\":\"self\",\"pull_request_commit_comments\":{}},"
    "\"issue_comment\":{\"user\":\"self\"},\"commit_comment\":{\"user\":\"self\"},"
    "\"pull_request_commit_comment\":{\"user\":\"self\"},\"review\":{\"user\":\"self\"},\"review_comment\":{\"user\":"
    "\"self\"},"
    "\"deployment\":{\"creator\":\"self\"},\"milestone\":{\"creator\":\"self\"},\"release\":{\"author\":\"self\"},"
    "\"event\":{\"commit\":{},\"issue\":{},\"pull_request\":{},\"comment\":{},\"review\":{},\"release\":{},\"label\":{}"
    ","
    "\"milestone\":{},\"deployment\":{},\"team\":{},\"member\":\"self\",\"assignee\":\"self\"}}";

enum visit visit_rule(struct tl_run *run, const struct args *a, const char *type, const char *name,
                      const char **subtree) {
    const char *text = a->follow ? a->follow : map, *pointer = text_format(run, "/%s/%s", type, name);
    struct tl_json v, first = {0};
    *subtree = NULL;
    if (!pointer || run->host->json(run, (struct tl_span){text, strlen(text)}, pointer, &v) != TL_OK)
        return VISIT_NO;
    if (v.type == TL_JSON_ARRAY)
        return VISIT_PAGES;
    if (v.type == TL_JSON_STRING)
        return v.raw.len == 6 && memcmp(v.raw.ptr, "\"self\"", 6) == 0 ? VISIT_SELF : VISIT_NO;
    if (v.type == TL_JSON_BOOL)
        return v.raw.ptr[0] == 't' ? VISIT_FULL : VISIT_NO;
    if (v.type != TL_JSON_OBJECT)
        return VISIT_NO;
    if (run->host->json_next(run, &v, &first) == TL_OK)
        *subtree = text_copy(run, v.raw);
    return VISIT_FULL;
}

/* Is the URN among the words? */
static bool among(const char *words, const char *urn) {
    size_t n = urn ? strlen(urn) : 0;
    for (const char *at = words; n && at && *at;) {
        size_t len = strcspn(at, " ");
        if (len == n && memcmp(at, urn, n) == 0)
            return true;
        at += len + (at[len] == ' ');
    }
    return false;
}

static const char *per_page(struct tl_run *run, const struct args *a, const struct child *c) {
    const struct type *t = type_find(c->type);
    if (!t || !t->element || c->page || a->per_page <= 0 || strstr(c->url, "per_page="))
        return c->url;
    return text_format(run, "%s%cper_page=%lld", c->url, strchr(c->url, '?') ? '&' : '?', (long long)a->per_page);
}

static void put(struct text *t, const char *name, const char *value) {
    if (!value || !*value)
        return;
    text_add(t, ",", t->len > 1);
    text_string(t, name);
    text_word(t, ":");
    text_string(t, value);
}

static void put_inherited(struct text *t, const struct args *a, const char *type, const char *subtree) {
    const struct type *of = type_find(type);
    put(t, "api", a->api);
    put(t, "policy", strcmp(a->policy, "default") == 0 ? NULL : a->policy);
    for (size_t i = 0; i < a->token.count; i++) {
        text_word(t, i ? "," : ",\"token\":[");
        text_string(t, a->token.item[i]);
    }
    text_word(t, a->token.count ? "]" : "");
    if (a->detail)
        text_word(t, ",\"detail\":true");
    if (a->per_page != 100)
        text_word(t, text_format(t->run, ",\"per_page\":%lld", (long long)a->per_page));
    if (a->low_water != 50)
        text_word(t, text_format(t->run, ",\"low_water\":%lld", (long long)a->low_water));
    if (subtree) { /* what it leads to goes on by a map of its own */
        text_word(t, ",\"follow\":{");
        text_string(t, of && of->element ? of->element : type);
        text_word(t, ":");
        text_word(t, subtree);
        text_word(t, "}");
    } else if (a->follow) {
        text_word(t, ",\"follow\":");
        text_word(t, a->follow);
    }
}

int visit_child(struct tl_run *run, const struct args *a, const struct child *c, enum visit how, const char *subtree,
                const char *within) {
    struct text t = {.run = run};
    if (how == VISIT_NO || among(within, c->urn))
        return TL_OK;
    text_word(&t, "{");
    put(&t, "type", c->type);
    put(&t, "url", per_page(run, a, c));
    put_inherited(&t, a, c->type, subtree);
    put(&t, "reach", how == VISIT_SELF ? "self" : how == VISIT_PAGES ? "pages" : NULL);
    put(&t, "of", c->of);
    put(&t, "urn", c->urn);
    put(&t, "issue", c->issue);
    put(&t, "set", c->set);
    put(&t, "within", within);
    if (c->page) { /* the next page of a list goes on, wherever that leads */
        put(&t, "trail", c->trail);
        text_word(&t, text_format(run, ",\"page\":%lld", (long long)c->page));
    }
    text_word(&t, "}");
    if (t.lost)
        return tl_fail(run, TL_FAILED, "the run's memory is used up");
    return tl_spawn(run, TL_CHILD(.args_json = t.ptr, .flags = c->page ? TL_PAGE : 0));
}

int visit_entity(struct tl_run *run, const struct args *a, const struct entity *e) {
    enum { WITHIN_MOST = 1500 };
    const char *before = a->within ? a->within : "", *type = strstr(e->type, "Event") ? "event" : e->type;
    const char *within =
        strlen(before) < WITHIN_MOST ? text_format(run, "%s%s%s", before, *before ? " " : "", e->urn) : before;
    int rc = TL_OK;
    for (size_t i = 0; i < e->children && !rc; i++) {
        const char *subtree = NULL;
        const struct child *c = &e->child[i];
        enum visit how = visit_rule(run, a, type, c->name, &subtree);
        rc = visit_child(run, a, c, how, subtree, within);
    }
    return rc;
}
