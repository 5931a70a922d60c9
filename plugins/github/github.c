/* github - collects what a GitHub API serves: organisations, users, teams, repositories, issues, pull requests, commits
 * and what belongs to them, linked by URNs; follows the links that a map names.
 *
 * A run asks for one URL: an entity, or a page of a list. Its children are made from its document, when it is new and
 * when it stands unchanged from an earlier crawl alike. */
#include <stdlib.h>
#include <string.h>

#include "github.h"

#define ARG(field) offsetof(struct args, field)
static const struct tl_option arguments[] = {
    {"type", TL_TEXT, 0, ARG(type), NULL, NULL, "what the URL is; by default its path says it"},
    {"url", TL_URL, 0, ARG(url), NULL, NULL, "an entity or a list of the API"},
    {"start", TL_TEXT, 0, ARG(start), NULL, NULL,
     "instead of url: OWNER/REPO, or the name of an organisation (with type user: of a user)"},
    {"files", TL_TEXT, 0, ARG(files), NULL, NULL,
     "instead of url: a folder of delivered events, NAME.json and NAME.headers"},
    {"api", TL_URL, 0, ARG(api), NULL, NULL, "where the API is; https://api.github.com when nothing is said"},
    {"token", TL_SECRET, TL_LIST, ARG(token), NULL, NULL, "names of secrets: tokens to ask with; none: anonymously"},
    {"secret", TL_SECRET, 0, ARG(secret), NULL, NULL, "name of the secret that deliveries are signed with"},
    {"policy", TL_TEXT, 0, ARG(policy), "default", "default|refresh|reload|reprocess",
     "what is asked for again: default and refresh, what can have changed; reload, everything; reprocess, nothing"},
    {"follow", TL_JSON, 0, ARG(follow), NULL, NULL,
     "which links to follow, by type: {TYPE: {LINK: {}, LINK: self, LINK: []}}"},
    {"reach", TL_TEXT, 0, ARG(reach), "all", "all|self|pages",
     "follow as the map says; fetch it (or what its list holds) alone; pages alone"},
    {"detail", TL_BOOL, 0, ARG(detail), "false", NULL, "fetch what lists show in full by itself, too"},
    {"per_page", TL_INT, 0, ARG(per_page), "100", NULL,
     "elements of a page to ask for; 0: as many as the server likes"},
    {"low_water", TL_INT, 0, ARG(low_water), "50", NULL, "requests of a token to leave for others"},
    {"file", TL_TEXT, 0, ARG(file), NULL, NULL, "one file of `files`"},
    {"page", TL_INT, TL_HINT, ARG(page), "0", NULL, "number of the page of its list"},
    {"of", TL_TEXT, TL_HINT, ARG(of), NULL, NULL, "URN of what it belongs to"},
    {"urn", TL_TEXT, TL_HINT, ARG(urn), NULL, NULL, "its URN, where that is known"},
    {"issue", TL_TEXT, TL_HINT, ARG(issue), NULL, NULL, "URN of the issue of a pull request"},
    {"set", TL_TEXT, TL_HINT, ARG(set), NULL, NULL, "set of pages that a page of a relation belongs to"},
    {"trail", TL_TEXT, TL_HINT, ARG(trail), NULL, NULL, "marks of the pages before it"},
    {"within", TL_TEXT, TL_HINT, ARG(within), NULL, NULL, "URNs that led to it"},
    {0}};

#define SET(name, help)                                                                                                \
    { name, TL_SIMPLE, "github", help }
#define LIST(name, help)                                                                                               \
    { name, TL_SIMPLE, "github,list", help }
static const struct tl_dataset datasets[] = {
    SET("org", "an organisation"),
    SET("user", "a user, or an organisation as one"),
    SET("repo", "a repository"),
    SET("team", "a team"),
    SET("commit", "a commit"),
    SET("pull_request_commit", "a commit of a pull request"),
    SET("commit_comment", "a comment on a commit"),
    SET("pull_request_commit_comment", "a comment on a commit of a pull request"),
    SET("issue", "an issue"),
    SET("issue_comment", "a comment on an issue"),
    SET("pull_request", "a pull request"),
    SET("review", "a review"),
    SET("review_comment", "a comment of a review"),
    SET("deployment", "a deployment"),
    SET("status", "a status of a commit"),
    SET("label", "a label"),
    SET("milestone", "a milestone"),
    SET("release", "a release"),
    SET("event", "an event"),
    SET("referrers", "where visitors came from, of a day"),
    SET("paths", "what visitors looked at, of a day"),
    SET("views", "visits, of a day"),
    SET("clones", "clones, of a day"),
    SET("other", "what the API serves besides, without links"),
    LIST("orgs", "organisations"),
    LIST("users", "users"),
    LIST("repos", "repositories"),
    LIST("members", "members of an organisation or team"),
    LIST("teams", "teams of an organisation or repository"),
    LIST("collaborators", "collaborators of a repository"),
    LIST("contributors", "contributors to a repository"),
    LIST("subscribers", "who watches a repository"),
    LIST("stargazers", "who has starred a repository"),
    LIST("commits", "commits"),
    LIST("pull_request_commits", "commits of a pull request"),
    LIST("commit_comments", "comments on a commit"),
    LIST("pull_request_commit_comments", "comments on a commit of a pull request"),
    LIST("issues", "issues"),
    LIST("issue_comments", "comments on an issue"),
    LIST("pull_requests", "pull requests"),
    LIST("reviews", "reviews"),
    LIST("review_comments", "comments of reviews"),
    LIST("deployments", "deployments"),
    LIST("statuses", "statuses of a commit"),
    LIST("labels", "labels"),
    LIST("milestones", "milestones"),
    LIST("releases", "releases"),
    LIST("events", "events"),
    SET("absent", "the answer where there was nothing to be had"),
    SET("unavailable", "the answer where the law forbids one (451)"),
    SET("files", "names of the files of events that are new"),
    {0}};

/* ---- what is asked for */

/* The URL of a name: OWNER/REPO, an organisation, a user. */
static int start_url(struct tl_run *run, struct args *a) {
    const char *api = a->api ? a->api : "https://api.github.com", *slash = strchr(a->start, '/');
    size_t end = strlen(api);
    while (end && api[end - 1] == '/')
        end--;
    size_t sound = strspn(a->start, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./");
    if (!*a->start || a->start[sound] || strstr(a->start, "..") || (slash && strchr(slash + 1, '/')))
        return tl_fail(run, TL_INVALID, "start is OWNER/REPO, or the name of an organisation or user, not \"%.100s\"",
                       a->start);
    const char *kind = slash ? "repos" : a->type && strcmp(a->type, "user") == 0 ? "users" : "orgs";
    a->url = text_format(run, "%.*s/%s/%s", (int)end, api, kind, a->start);
    return a->url ? TL_OK : tl_fail(run, TL_FAILED, "the run's memory is used up");
}

static int resolve(struct tl_run *run, struct args *a, const struct type **t) {
    int rc = !a->url && a->start ? start_url(run, a) : TL_OK;
    if (rc)
        return rc;
    if (!a->url)
        return tl_fail(run, TL_INVALID, "one of url, start and files must be given");
    const char *name = a->type ? a->type : type_of_url(a->url);
    *t = type_find(name);
    return *t ? TL_OK : tl_fail(run, TL_INVALID, "there is no type \"%.60s\"", name);
}

/* ---- what it belongs to */

static int urn_by_url(struct pool *p, struct tl_run *run, const struct args *a, const struct type *t, const char *url,
                      const char **urn, int depth);

/* Asked for only when nobody has said it: a line may start anywhere. *of stays NULL when it cannot be known. */
static int belongs_to(struct pool *p, struct tl_run *run, const struct args *a, const struct type *t, const char *url,
                      const char **of, int depth) {
    const char *parent_type, *parent, *part;
    *of = NULL;
    if (depth > 3 || (t->flags & (TYPE_ROOT | TYPE_OTHER)) || !type_parent(run, t->name, url, &parent_type, &parent))
        return TL_OK;
    int rc = urn_by_url(p, run, a, type_find(parent_type), parent, of, depth + 1);
    if (rc || !*of)
        return rc;
    if (strcmp(parent_type, "org") == 0 && strcmp(t->name, "repos") == 0)
        *of = text_format(run, "urn:user:%s", *of + strlen("urn:org:"));
    if (strcmp(t->name, "statuses") == 0 && strcmp(parent_type, "repo") == 0 && (part = strstr(url, "/statuses/")))
        *of = text_format(run, "%s:commit:%.*s", *of, (int)strspn(part + 10, "0123456789abcdef"), part + 10);
    return TL_OK;
}

static int urn_by_url(struct pool *p, struct tl_run *run, const struct args *a, const struct type *t, const char *url,
                      const char **urn, int depth) {
    struct tl_response res = TL_RESPONSE_INIT;
    struct context c = {.set = "", .url = url};
    struct tl_json body;
    struct entity e;
    struct known k;
    const char *by_id = strstr(url, "/repositories/");
    int rc;
    if (by_id && strcmp(t->name, "repo") == 0) {
        *urn = text_format(run, "urn:repo:%s", by_id + strlen("/repositories/"));
        return TL_OK;
    }
    rc = known_find(run, url, t, &k);
    if (rc == TL_OK)
        *urn = metadata_text(run, k.entity, "/links/self/href");
    if (rc != TL_NOTFOUND && (rc || *urn))
        return rc;
    if ((rc = belongs_to(p, run, a, t, url, &c.of, depth)) || (!c.of && !(t->flags & TYPE_ROOT)) ||
        (rc = ask(p, run, a, url, false, &res)))
        return rc;
    if (res.status == 200 && run->host->json(run, res.body, "", &body) == TL_OK &&
        entity_read(run, t, &body, &c, &e) == TL_OK)
        *urn = e.urn;
    return TL_OK;
}

/* ---- putting */

int github_put(struct tl_run *run, const struct args *a, const struct type *t, const struct context *c,
               const struct tl_element *from, struct metadata *m) {
    struct tl_json body = {.raw = from->from ? from->from->body : from->data};
    struct text own = {.run = run};
    struct tl_element put = *from;
    struct entity e;
    if (t->element || (t->flags & TYPE_OTHER))
        return list_put(run, a, t, c, from, m);
    bool known = value_at(run, &body, "", &body) && entity_read(run, t, &body, c, &e) == TL_OK;
    if (known)
        m->type = e.type;
    metadata_write(&own, m, known ? &e : NULL);
    if (own.lost)
        return tl_fail(run, TL_FAILED, "the run's memory is used up");
    put.entity = own.ptr;
    return tl_put(run, m->dataset ? m->dataset : t->name, &put);
}

/* The sets of pages of a thing keep their id, as long as the thing is known: pages that did not change stay in them. */
static int choose_set(struct tl_run *run, const struct args *a, const struct type *t, const char **set) {
    struct known k;
    bool relations = !strcmp(t->name, "org") || !strcmp(t->name, "repo") || !strcmp(t->name, "team") || t->element;
    *set = a->set;
    if (*set)
        return TL_OK;
    int rc = relations ? known_find(run, a->url, t, &k) : TL_NOTFOUND;
    if (rc == TL_OK)
        *set = known_set(k.entity, run);
    if (!*set)
        *set = run->host->lineage(run)->run_id;
    return rc == TL_NOTFOUND ? TL_OK : rc;
}

/* The next page of a repository's list is often named by the repository's id. */
static const char *repo_of_link(struct tl_run *run, const struct type *t, const char *url, const char *header) {
    const char *next, *type, *parent, *own;
    if (!header || !type_parent(run, t->name, url, &type, &own) || strcmp(type, "repo") != 0 ||
        tl_link_header(run, header, url, "next", &next) || !type_parent(run, t->name, next, &type, &parent))
        return NULL;
    const char *id = strstr(parent, "/repositories/");
    return id ? text_format(run, "urn:repo:%s", id + strlen("/repositories/")) : NULL;
}

/* Did the URL of something known lead to something else, as that of an issue does which was moved elsewhere? */
static bool is_another(struct tl_run *run, const struct args *a, const struct type *t, const struct tl_json *body,
                       const struct context *c) {
    struct entity e;
    return a->urn && entity_read(run, t, body, c, &e) == TL_OK && strcmp(e.urn, a->urn) != 0;
}

static int put_answer(struct pool *p, struct tl_run *run, const struct args *a, const struct type *t,
                      const struct tl_response *res) {
    const char *given = NULL;
    struct context c = {.of = a->of, .issue = a->issue, .url = res->url, .now_us = run->host->now_us(run)};
    struct metadata m = {.type = t->name,
                         .url = res->url,
                         .fetched_at = text_time(run, c.now_us),
                         .etag = ask_header(res, "etag"),
                         .link_header = ask_header(res, "link")};
    struct tl_json body;
    struct known k;
    bool empty = res->status == 204 || res->status == 409; /* a repository without commits, or without contributors */
    int rc = choose_set(run, a, t, &c.set);
    if (!rc && !c.of)
        c.of = repo_of_link(run, t, a->url, m.link_header);
    if (!rc && !c.of)
        rc = belongs_to(p, run, a, t, a->url, &c.of, 0);
    if (rc)
        return rc;
    if (tl_url(run, NULL, a->url, &given) == TL_OK && strcmp(given, res->url) != 0)
        m.requested = a->url;
    if (empty)
        m.more = ",\"empty\":true",
        m.dataset = "absent"; /* what it is of stands in _metadata; a table takes no notice */
    else if (!(t->flags & TYPE_OTHER) && run->host->json(run, res->body, "", &body)) {
        if ((rc = tl_put(run, "other", TL_ELEMENT(.from = res))))
            return rc;
        return tl_fail(run, TL_FAILED, "%s answered with what is no JSON", res->url);
    } else if (m.requested && is_another(run, a, t, &body, &c) && known_find(run, a->urn, t, &k) == TL_OK)
        return gone_missed(run, a, t, &k, 301);
    return github_put(run, a, t, &c, TL_ELEMENT(.from = res), &m);
}

/* ---- from the store */

/* Derives anew what was fetched before. */
static int reprocess(struct tl_run *run, const struct args *a, const struct type *t) {
    struct known k;
    struct tl_json entity;
    int rc = known_find(run, a->url, t, &k);
    if (rc == TL_NOTFOUND || (rc == TL_OK && k.inside))
        return tl_fail(run, TL_FAILED, "%s was never fetched, so there is nothing to process again", a->url);
    if (rc || run->host->json(run, (struct tl_span){k.entity, strlen(k.entity)}, "", &entity))
        return rc ? rc : TL_FAILED;
    if (value_count(run, &entity, "/version") >= GITHUB_VERSION || value_text(run, &entity, "/deletedAt"))
        return tl_stand_for(run, &k.doc);
    const char *self = value_text(run, &entity, "/links/self/href"), *set = known_set(k.entity, run), *of = a->of;
    const char *tail = self ? strstr(self, text_format(run, ":%s:", t->name)) : NULL;
    if (!of && tail && !(t->flags & TYPE_ROOT))
        of = text_copy(run, (struct tl_span){self, (size_t)(tail - self)});
    const struct context c = {.of = of,
                              .issue = a->issue ? a->issue : value_text(run, &entity, "/links/issue/href"),
                              .set = set ? set : run->host->lineage(run)->run_id,
                              .url = value_text(run, &entity, "/url"),
                              .now_us = run->host->now_us(run)};
    struct metadata m = {.type = t->name,
                         .url = c.url,
                         .requested = value_text(run, &entity, "/requestedUrl"),
                         .fetched_at = value_text(run, &entity, "/fetchedAt"),
                         .etag = value_text(run, &entity, "/etag"),
                         .link_header = value_text(run, &entity, "/headers/link")};
    return github_put(run, a, t, &c, TL_ELEMENT(.data = k.data, .media_type = k.media_type, .data_url = c.url), &m);
}

/* What never changes is not asked for again; nor is, within a crawl, what was reached by another way before. */
static int stands(struct tl_run *run, const struct args *a, const struct type *t) {
    struct known k;
    bool fixed = (t->flags & TYPE_FIXED) && strcmp(a->policy, "reload") != 0;
    if (!fixed && !(t->flags & TYPE_ROOT))
        return TL_NOTFOUND;
    int rc = known_find(run, a->url, t, &k);
    if (rc)
        return rc;
    const char *root = tl_json_get(run, k.doc.raw, "/lineage/root_id");
    bool now = root && strcmp(root, run->host->lineage(run)->root_id) == 0;
    if (k.inside || !(fixed || now)) /* a list shows less of a commit than it does itself */
        return TL_NOTFOUND;
    return tl_stand_for(run, &k.doc);
}

/* ---- the collector */

static int collect(void *self, struct tl_run *run, const void *given) {
    struct args a = *(const struct args *)given;
    struct tl_response res = TL_RESPONSE_INIT;
    const struct type *t = NULL;
    int rc;
    if (a.file)
        return hook_file(run, &a);
    if (a.files)
        return hook_list(run, &a);
    if ((rc = resolve(run, &a, &t)))
        return rc;
    if (strcmp(a.policy, "reprocess") == 0)
        return reprocess(run, &a, t);
    if ((rc = stands(run, &a, t)) != TL_NOTFOUND)
        return rc;
    if ((rc = ask(self, run, &a, a.url, true, &res)))
        return rc;
    if (res.not_modified)
        return TL_UNCHANGED;
    if (res.status != 200 && res.status != 204 && res.status != 409)
        return gone(run, &a, t, &res);
    return put_answer(self, run, &a, t, &res);
}

/* An entity's children, from what is stored of it. */
static int react_entity(struct tl_run *run, const struct args *a, const struct type *t, const struct tl_element *e) {
    struct tl_json body = {.raw = e->data};
    struct entity entity;
    const char *self = metadata_text(run, e->entity, "/links/self/href"), *set = known_set(e->entity, run), *of = a->of;
    const char *type = metadata_text(run, e->entity, "/type"), *last = self ? strrchr(self, ':') : NULL;
    if (!self || !type || metadata_text(run, e->entity, "/deletedAt") || !value_at(run, &body, "", &body))
        return TL_OK;
    const char *tail = strstr(self, text_format(run, ":%s:", type));
    if (!of && tail && !(t->flags & TYPE_ROOT))
        of = text_copy(run, (struct tl_span){self, (size_t)(tail - self)});
    struct context c = {.of = of,
                        .set = set ? set : run->host->lineage(run)->run_id,
                        .issue = a->issue ? a->issue : metadata_text(run, e->entity, "/links/issue/href"),
                        .url = metadata_text(run, e->entity, "/url")};
    if (strcmp(t->name, "event") == 0) {
        c.event_type = type;
        c.event_id = last + 1;
    }
    return entity_read(run, t, &body, &c, &entity) ? TL_OK : visit_entity(run, a, &entity);
}

static int react(void *self, struct tl_run *run, const struct tl_document *doc, const void *given) {
    struct args a = *(const struct args *)given;
    struct tl_element e = TL_ELEMENT_INIT;
    const struct type *t = a.file ? type_find("event") : NULL;
    (void)self;
    if ((a.files && !a.file) || (!t && resolve(run, &a, &t)) || run->host->element(run, doc, t->name, 0, &e) ||
        !e.entity)
        return TL_OK; /* nothing came, or nothing that leads anywhere */
    if (t->element || (t->flags & TYPE_OTHER))
        return list_visit(run, &a, t, &e);
    return strcmp(a.reach, "all") == 0 ? react_entity(run, &a, t, &e) : TL_OK;
}

static int open_pool(const struct tl_host *host, const void *options, void **self) {
    (void)host;
    (void)options;
    *self = ask_pool();
    return *self ? TL_OK : TL_FAILED;
}

static const char *const programs[] = {"find", "cat", NULL}, *const hosts[] = {"api.github.com", NULL};

TL_COLLECTOR(.name = "github", .version = "1.0.0", .summary = "collects from the GitHub API, entity by entity, linked",
             .arguments = arguments, .arguments_size = sizeof(struct args), .datasets = datasets, .programs = programs,
             .hosts = hosts, .open = open_pool, .close = free, .collect = collect, .react = react);
