/* entity.c - from GitHub's answer to an entity: its URN, its links, and what could be visited from it.
 *
 * Nothing is asked for here, and nothing is made up: a link stands only where the answer, or the way to it, names the
 * other end by its id. Names change, ids do not, so URNs are made of ids alone (commits: their hash). */
#include <string.h>

#include "github.h"

#define U(...) text_format(e->run, __VA_ARGS__)

void entity_link(struct entity *e, const char *name, const char *type, const char *href) {
    if (href && e->links < ENTITY_LINKS)
        e->link[e->links++] = (struct link){.name = name, .type = type, .href = href};
}

void entity_child(struct entity *e, const char *name, const char *type, const char *url, const char *of,
                  const char *urn) {
    if (url && e->children < ENTITY_CHILDREN)
        e->child[e->children++] = (struct child){.name = name, .type = type, .url = url, .of = of, .urn = urn};
}

static void list_child(struct entity *e, const char *name, const char *type, const char *url) {
    entity_child(e, name, type, url, e->urn, NULL);
    if (url && e->children)
        e->child[e->children - 1].set = e->set;
}

const char *entity_repo(struct tl_run *run, const char *urn) {
    size_t head = strlen("urn:repo:");
    if (!urn || strncmp(urn, "urn:repo:", head) != 0)
        return NULL;
    return text_copy(run, (struct tl_span){urn, head + strcspn(urn + head, ":")});
}

const char *url_below(struct tl_run *run, const char *url, const char *tail) {
    size_t len = url ? strcspn(url, "?#{") : 0;
    while (len && url[len - 1] == '/')
        len--;
    return len && len < 3000 ? text_format(run, "%.*s%s", (int)len, url, tail) : NULL;
}

/* https://api/repos/x/y and "/orgs/acme" give https://api/orgs/acme: what stands before a part of the path. */
static const char *url_beside(struct tl_run *run, const char *url, const char *part, const char *tail,
                              const char *name) {
    const char *at = url ? strstr(url, part) : NULL;
    return at && name && *name ? text_format(run, "%.*s%s%s", (int)(at - url), url, tail, name) : NULL;
}

static const char *url_of(struct entity *e, const struct tl_json *v, const char *pointer) {
    const char *url = value_text(e->run, v, pointer);
    return url ? url_below(e->run, url, "") : NULL;
}

/* A user at `pointer`: link and child. A ghost (null, or an empty object) is nobody. */
void entity_user(struct entity *e, const struct tl_json *v, const char *name, const char *pointer) {
    const char *id = value_id(e->run, v, text_format(e->run, "%s/id", pointer));
    if (!id)
        return;
    const char *urn = U("urn:user:%s", id);
    entity_link(e, name, "resource", urn);
    entity_child(e, name, "user", url_of(e, v, text_format(e->run, "%s/url", pointer)), NULL, urn);
}

/* All ids of an array of objects, as hrefs. */
static void many(struct entity *e, const struct tl_json *v, const char *name, const char *prefix) {
    char pointer[64] = "/";
    struct tl_json list, item = {0};
    size_t n = 0, i = 0;
    strncat(pointer, name, sizeof pointer - 2);
    if (!value_at(e->run, v, pointer, &list) || list.type != TL_JSON_ARRAY || e->links >= ENTITY_LINKS)
        return;
    while (e->run->host->json_next(e->run, &list, &item) == TL_OK)
        n++;
    const char **hrefs = tl_alloc(e->run, (n + 1) * sizeof *hrefs);
    item = (struct tl_json){0};
    while (hrefs && i < n && e->run->host->json_next(e->run, &list, &item) == TL_OK) {
        const char *id = value_id(e->run, &item, "/id");
        if (id && (hrefs[i] = U("%s%s", prefix, id)))
            i++;
    }
    if (hrefs)
        e->link[e->links++] = (struct link){.name = name, .type = "resource", .hrefs = hrefs, .count = i};
}

static void relation(struct entity *e, const char *name, const char *of_urn, const char *tail) {
    const char *suffix = strncmp(e->urn, "urn:org:", 8) == 0    ? "org_"
                         : strncmp(e->urn, "urn:team:", 9) == 0 ? "team_"
                                                                : "";
    if (strcmp(name, "repos") == 0 || *suffix == '\0')
        suffix = "";
    entity_link(e, name, "relation", U("%s:%s%s:pages:%s", e->urn, suffix, name, e->set));
    list_child(e, name, name, url_below(e->run, of_urn, tail));
}

/* ---- roots */

static void read_org(struct entity *e, const struct tl_json *v, const char *id) {
    const char *login = value_text(e->run, v, "/login");
    const char *user = U("urn:user:%s", id);
    entity_link(e, "siblings", "collection", "urn:orgs");
    entity_link(e, "user", "resource", user);
    entity_child(e, "user", "user", url_beside(e->run, e->url, "/orgs/", "/users/", login), NULL, user);
    entity_link(e, "repos", "collection", U("urn:user:%s:repos", id));
    entity_child(e, "repos", "repos", url_below(e->run, e->url, "/repos"), user, NULL);
    relation(e, "members", e->url, "/members");
    relation(e, "teams", e->url, "/teams");
}

static void read_user(struct entity *e, const char *id) {
    entity_link(e, "siblings", "collection", "urn:users");
    entity_link(e, "repos", "collection", U("urn:user:%s:repos", id));
    list_child(e, "repos", "repos", url_below(e->run, e->url, "/repos"));
}

static void repo_owners(struct entity *e, const struct tl_json *v) {
    const char *owner = value_id(e->run, v, "/owner/id"), *org = value_id(e->run, v, "/organization/id");
    if (owner)
        entity_link(e, "siblings", "collection", U("urn:user:%s:repos", owner));
    entity_user(e, v, "owner", "/owner");
    if (!org)
        return;
    const char *urn = U("urn:org:%s", org), *login = value_text(e->run, v, "/organization/login");
    const char *url = url_beside(e->run, e->url, "/repos/", "/orgs/", login);
    entity_link(e, "organization", "resource", urn);
    entity_child(e, "organization", "org", url ? url : url_of(e, v, "/organization/url"), NULL, urn);
}

static void read_repo(struct entity *e, const struct tl_json *v) {
    static const struct {
        const char *name, *tail, *count;
    } relations[] = {{"teams", "/teams", NULL},
                     {"collaborators", "/collaborators?affiliation=direct", NULL},
                     {"contributors", "/contributors", NULL},
                     {"stargazers", "/stargazers", "/stargazers_count"},
                     {"subscribers", "/subscribers", "/subscribers_count"}},
      lists[] = {{"issues", "/issues?state=all", NULL}, {"commits", "/commits", NULL}, {"events", "/events", NULL}},
      more[] = {{"labels", "/labels", NULL},
                {"milestones", "/milestones?state=all", NULL},
                {"releases", "/releases", NULL},
                {"deployments", "/deployments", NULL},
                {"pull_requests", "/pulls?state=all", NULL},
                {"views", "/traffic/views", NULL},
                {"clones", "/traffic/clones", NULL},
                {"referrers", "/traffic/popular/referrers", NULL},
                {"paths", "/traffic/popular/paths", NULL}};
    repo_owners(e, v);
    entity_link(e, "pull_requests", "collection", U("%s:pull_requests", e->urn));
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        entity_link(e, lists[i].name, "collection", U("%s:%s", e->urn, lists[i].name));
    for (size_t i = 0; i < sizeof relations / sizeof *relations; i++)
        if (!relations[i].count || value_count(e->run, v, relations[i].count) > 0)
            relation(e, relations[i].name, e->url, relations[i].tail);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        list_child(e, lists[i].name, lists[i].name, url_below(e->run, e->url, lists[i].tail));
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) /* asked for only where a map names them */
        list_child(e, more[i].name, more[i].name, url_below(e->run, e->url, more[i].tail));
}

static void read_team(struct entity *e, const struct tl_json *v) {
    const char *org = value_id(e->run, v, "/organization/id");
    if (org) {
        const char *urn = U("urn:org:%s", org), *login = value_text(e->run, v, "/organization/login");
        const char *url = url_beside(e->run, e->url, "/teams/", "/orgs/", login);
        const char *said = url_of(e, v, "/organization/url");
        entity_link(e, "siblings", "collection", U("%s:teams", urn));
        entity_link(e, "organization", "resource", urn);
        entity_child(e, "organization", "org", said ? said : url, NULL, urn);
    }
    const char *repos = value_text(e->run, v, "/repositories_url");
    relation(e, "members", e->url, "/members");
    relation(e, "repos", repos ? repos : e->url, repos ? "" : "/repos");
}

/* ---- what belongs to a repository */

/* The repository is in the lineage of whatever was reached from it; else it is asked for, too. */
static void repo_of(struct entity *e, const struct tl_json *v, const char *of) {
    const char *repo = entity_repo(e->run, of);
    if (!repo)
        return;
    entity_link(e, "repo", "resource", repo);
    entity_child(e, "repo", "repo", url_of(e, v, "/repository_url"), NULL, repo);
}

static void read_commit(struct entity *e, const struct tl_json *v, const char *of) {
    bool of_pull = strcmp(e->type, "pull_request_commit") == 0;
    const char *comments = of_pull ? "pull_request_commit_comments" : "commit_comments";
    const char *url = value_text(e->run, v, "/comments_url");
    if (of_pull)
        entity_link(e, "pull_request", "resource", of);
    repo_of(e, v, of);
    entity_link(e, comments, "collection", U("%s:%s", e->urn, comments));
    entity_user(e, v, "author", "/author");
    entity_user(e, v, "committer", "/committer");
    if (value_count(e->run, v, "/commit/comment_count") > 0)
        list_child(e, comments, comments, url ? url : url_below(e->run, e->url, "/comments"));
}

static void number_of(struct entity *e, const struct tl_json *v, const char *repo) {
    const char *number = value_id(e->run, v, "/number");
    if (repo && number)
        entity_link(e, "number", "collection", U("%s:number:%s", repo, number));
}

static void read_issue(struct entity *e, const struct tl_json *v, const char *of) {
    const char *comments = value_text(e->run, v, "/comments_url"), *pull = url_of(e, v, "/pull_request/url");
    repo_of(e, v, of);
    entity_user(e, v, "user", "/user");
    entity_user(e, v, "assignee", "/assignee");
    many(e, v, "assignees", "urn:user:");
    many(e, v, "labels", U("%s:label:", of));
    entity_user(e, v, "closed_by", "/closed_by");
    if (value_count(e->run, v, "/comments") > 0) {
        entity_link(e, "issue_comments", "collection", U("%s:issue_comments", e->urn));
        list_child(e, "issue_comments", "issue_comments", comments ? comments : url_below(e->run, e->url, "/comments"));
    }
    number_of(e, v, of);
    if (pull) { /* of its id nothing is known here: the two share the number alone */
        entity_child(e, "pull_request", "pull_request", pull, of, NULL);
        e->child[e->children - 1].issue = e->urn;
    }
}

static void pull_ends(struct entity *e, const struct tl_json *v) {
    static const char *const ends[][3] = {{"head", "/head/repo/id", "/head/repo/url"},
                                          {"base", "/base/repo/id", "/base/repo/url"}};
    for (size_t i = 0; i < 2; i++) {
        const char *id = value_id(e->run, v, ends[i][1]); /* none: the fork is gone */
        const char *urn = id ? U("urn:repo:%s", id) : NULL;
        entity_link(e, ends[i][0], "resource", urn);
        if (urn)
            entity_child(e, ends[i][0], "repo", url_of(e, v, ends[i][2]), NULL, urn);
    }
}

static void read_pull_request(struct entity *e, const struct tl_json *v, const struct context *c) {
    const char *sha = value_id(e->run, v, "/head/sha"), *statuses = value_text(e->run, v, "/statuses_url");
    repo_of(e, v, c->of);
    entity_user(e, v, "user", "/user");
    entity_user(e, v, "merged_by", "/merged_by");
    entity_user(e, v, "assignee", "/assignee");
    pull_ends(e, v);
    entity_link(e, "reviews", "collection", U("%s:reviews", e->urn));
    list_child(e, "reviews", "reviews", url_below(e->run, e->url, "/reviews"));
    if (value_count(e->run, v, "/review_comments") != 0) {
        entity_link(e, "review_comments", "collection", U("%s:review_comments", e->urn));
        list_child(e, "review_comments", "review_comments", url_below(e->run, e->url, "/comments"));
    }
    if (sha) {
        const char *commit = U("%s:commit:%s", c->of, sha);
        entity_link(e, "statuses", "collection", U("%s:statuses", commit));
        entity_child(e, "statuses", "statuses", statuses, commit, NULL);
    }
    if (value_count(e->run, v, "/commits") != 0) {
        entity_link(e, "pull_request_commits", "collection", U("%s:pull_request_commits", e->urn));
        list_child(e, "pull_request_commits", "pull_request_commits", url_below(e->run, e->url, "/commits"));
    }
    if (c->issue) {
        entity_link(e, "issue", "resource", c->issue);
        entity_link(e, "issue_comments", "collection", U("%s:issue_comments", c->issue));
    }
    number_of(e, v, c->of);
}

static void read_small(struct entity *e, const struct tl_json *v, const char *of) {
    static const struct {
        const char *type, *parent, *user; /* parent: name of the link to what it belongs to */
    } small[] = {{"commit_comment", "commit", "user"},
                 {"pull_request_commit_comment", "pull_request_commit", "user"},
                 {"issue_comment", "issue", "user"},
                 {"review", "pull_request", "user"},
                 {"review_comment", "pull_request", "user"},
                 {"status", "commit", NULL},
                 {"label", "repo", NULL},
                 {"milestone", "repo", "creator"},
                 {"release", "repo", "author"},
                 {"deployment", NULL, "creator"}};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        if (strcmp(small[i].type, e->type) != 0)
            continue;
        const char *sha = small[i].parent ? NULL : value_id(e->run, v, "/sha");
        if (small[i].parent)
            entity_link(e, small[i].parent, "resource", of);
        else if (sha)
            entity_link(e, "commit", "resource", U("%s:commit:%s", of, sha));
        if (small[i].user)
            entity_user(e, v, small[i].user, text_format(e->run, "/%s", small[i].user));
    }
}

/* ---- the whole */

static const char *id_of(struct tl_run *run, const struct type *t, const struct tl_json *v, int64_t now_us) {
    if (t->flags & TYPE_DATED) {
        const char *day = text_time(run, now_us);
        return day ? text_format(run, "%.4s_%.2s_%.2s", day, day + 5, day + 8) : NULL;
    }
    return value_id(run, v, strstr(t->name, "commit") && !strstr(t->name, "comment") ? "/sha" : "/id");
}

static void read_links(struct entity *e, const struct type *t, const struct tl_json *v, const struct context *c,
                       const char *id) {
    if (strcmp(t->name, "org") == 0)
        read_org(e, v, id);
    else if (strcmp(t->name, "user") == 0)
        read_user(e, id);
    else if (strcmp(t->name, "repo") == 0)
        read_repo(e, v);
    else if (strcmp(t->name, "team") == 0)
        read_team(e, v);
    else if (strcmp(t->name, "issue") == 0)
        read_issue(e, v, c->of);
    else if (strcmp(t->name, "pull_request") == 0)
        read_pull_request(e, v, c);
    else if (t->flags & TYPE_FIXED)
        read_commit(e, v, c->of);
    else if (t->flags & TYPE_DATED)
        repo_of(e, v, c->of);
    else
        read_small(e, v, c->of);
}

int entity_read(struct tl_run *run, const struct type *t, const struct tl_json *v, const struct context *c,
                struct entity *e) {
    *e = (struct entity){.run = run, .type = t->name, .set = c->set};
    if (t->element || (t->flags & TYPE_OTHER))
        return TL_NOTFOUND;
    if (strcmp(t->name, "event") == 0)
        return entity_event(run, v, c, e);
    const char *id = id_of(run, t, v, c->now_us), *own = v->type == TL_JSON_OBJECT ? value_text(run, v, "/url") : NULL;
    if (!id || (!(t->flags & TYPE_ROOT) && !c->of))
        return TL_NOTFOUND;
    e->urn = t->flags & TYPE_ROOT ? U("urn:%s:%s", t->name, id) : U("%s:%s:%s", c->of, t->name, id);
    e->url = own ? own : c->url;
    if (!e->urn)
        return TL_NOTFOUND;
    entity_link(e, "self", "resource", e->urn);
    if (!(t->flags & (TYPE_ROOT | TYPE_DATED)))
        entity_link(e, "siblings", "collection", U("%s:%s", c->of, t->plural));
    read_links(e, t, v, c, id);
    return TL_OK;
}
