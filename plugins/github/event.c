/* event.c - events: who did what, where. What happened stands in the payload; of types that nobody here knows, it is
 * kept and linked to where it happened, and leads nowhere. */
#include <string.h>

#include "github.h"

#define U(...) text_format(e->run, __VA_ARGS__)

/* What a known event is about: name of the link, where in the payload, its type. */
static const struct {
    const char *event, *name, *pointer, *type;
} subjects[] = {
    {"CommitCommentEvent", "comment", "/comment", "commit_comment"},
    {"DeploymentEvent", "deployment", "/deployment", "deployment"},
    {"DeploymentStatusEvent", "deployment", "/deployment", "deployment"},
    {"IssueCommentEvent", "issue", "/issue", "issue"},
    {"IssueCommentEvent", "comment", "/comment", "issue_comment"},
    {"IssuesEvent", "issue", "/issue", "issue"},
    {"IssuesEvent", "assignee", "/assignee", "user"},
    {"IssuesEvent", "label", "/label", "label"},
    {"LabelEvent", "label", "/label", "label"},
    {"MemberEvent", "member", "/member", "user"},
    {"MembershipEvent", "member", "/member", "user"},
    {"MembershipEvent", "team", "/team", "team"},
    {"MilestoneEvent", "milestone", "/milestone", "milestone"},
    {"ForkEvent", "forkee", "/forkee", "repo"},
    {"PullRequestEvent", "pull_request", "/pull_request", "pull_request"},
    {"PullRequestEvent", "assignee", "/assignee", "user"},
    {"PullRequestReviewEvent", "pull_request", "/pull_request", "pull_request"},
    {"PullRequestReviewEvent", "review", "/review", "review"},
    {"PullRequestReviewCommentEvent", "pull_request", "/pull_request", "pull_request"},
    {"PullRequestReviewCommentEvent", "comment", "/comment", "review_comment"},
    {"ReleaseEvent", "release", "/release", "release"},
    {"TeamEvent", "team", "/team", "team"},
    {"TeamAddEvent", "team", "/team", "team"},
};

static const char *under(struct tl_run *run, const char *base, const char *pointer) {
    return text_format(run, "%s%s", base, pointer);
}

/* What a thing in a payload belongs to: the repository, or another thing of the same payload. */
static const char *owner_of(struct entity *e, const struct tl_json *v, const char *type, const char *base,
                            const char *repo) {
    static const char *const owners[][3] = {{"issue_comment", "issue", "/issue/id"},
                                            {"review", "pull_request", "/pull_request/id"},
                                            {"review_comment", "pull_request", "/pull_request/id"},
                                            {"commit_comment", "commit", "/comment/commit_id"}};
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
        if (strcmp(owners[i][0], type) == 0) {
            const char *id = value_id(e->run, v, under(e->run, base, owners[i][2]));
            return repo && id ? U("%s:%s:%s", repo, owners[i][1], id) : NULL;
        }
    return repo;
}

static void read_subject(struct entity *e, const struct tl_json *v, size_t i, const char *base, const char *repo) {
    const struct type *t = type_find(subjects[i].type);
    const char *at = under(e->run, base, subjects[i].pointer), *id = value_id(e->run, v, under(e->run, at, "/id"));
    const char *url = value_text(e->run, v, under(e->run, at, "/url"));
    const char *of = t->flags & TYPE_ROOT ? NULL : owner_of(e, v, t->name, base, repo);
    if (!id || (!of && !(t->flags & TYPE_ROOT)))
        return;
    const char *urn = of ? U("%s:%s:%s", of, t->name, id) : U("urn:%s:%s", t->name, id);
    entity_link(e, subjects[i].name, "resource", urn);
    entity_child(e, subjects[i].name, t->name, url, of, urn);
}

/* A push names its newest commit; the list of all of them went out of use. */
static void read_push(struct entity *e, const struct tl_json *v, const char *base, const char *repo,
                      const char *repo_url) {
    const char *head = value_id(e->run, v, under(e->run, base, "/head"));
    head = head ? head : value_id(e->run, v, under(e->run, base, "/after"));
    if (!repo || !head || strspn(head, "0") == strlen(head)) /* a branch that was deleted */
        return;
    const char *urn = U("%s:commit:%s", repo, head);
    entity_link(e, "head", "resource", urn);
    entity_child(e, "commit", "commit", url_below(e->run, repo_url, U("/commits/%s", head)), repo, urn);
}

int entity_event(struct tl_run *run, const struct tl_json *v, const struct context *c, struct entity *e) {
    struct tl_json payload;
    bool feed = value_at(run, v, "/payload", &payload); /* else a webhook's, which has it all at its top */
    const char *base = feed ? "/payload" : "", *type = value_text(run, v, "/type"), *id = value_id(run, v, "/id");
    const char *repo_id = value_id(run, v, feed ? "/repo/id" : "/repository/id");
    const char *repo = repo_id ? U("urn:repo:%s", repo_id) : entity_repo(run, c->of);
    const char *repo_url = value_text(run, v, feed ? "/repo/url" : "/repository/url");
    const char *org = value_id(run, v, feed ? "/org/id" : "/organization/id");
    type = c->event_type ? c->event_type : type;
    id = c->event_id ? c->event_id : id;
    size_t word = type ? strspn(type, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") : 0;
    const char *of = repo ? repo : org ? U("urn:org:%s", org) : c->of;
    if (!id || !of || word == 0 || word > 80 || type[word])
        return TL_NOTFOUND;
    e->type = type;
    e->urn = U("%s:%s:%s", of, type, id);
    e->url = c->url;
    entity_link(e, "self", "resource", e->urn);
    entity_link(e, "siblings", "collection", U("%s:%ss", of, type));
    const char *actor = value_id(run, v, feed ? "/actor/id" : "/sender/id");
    bool known = strcmp(type, "PushEvent") == 0;
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        known = known || strcmp(subjects[i].event, type) == 0;
    if (actor) {
        const char *urn = U("urn:user:%s", actor);
        entity_link(e, "actor", "resource", urn);
        if (known)
            entity_child(e, "actor", "user", value_text(run, v, feed ? "/actor/url" : "/sender/url"), NULL, urn);
    }
    entity_link(e, "repo", "resource", repo);
    if (repo && known)
        entity_child(e, "repo", "repo", repo_url, NULL, repo);
    if (org)
        entity_link(e, "org", "resource", U("urn:org:%s", org));
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        if (strcmp(subjects[i].event, type) == 0)
            read_subject(e, v, i, base, repo);
    if (strcmp(type, "PushEvent") == 0)
        read_push(e, v, base, repo, repo_url);
    return TL_OK;
}
