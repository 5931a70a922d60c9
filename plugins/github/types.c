/* types.c - the types of GitHub's things: their names, what their lists hold, and how a URL tells them.
 *
 * A list that is a relation joins things that exist by themselves, such as teams and their members; its pages make up a
 * set. Of the other lists the elements belong to what the list belongs to. */
#include <string.h>

#include "github.h"

const struct type types[] = {
    /* entities; WHOLE: what a list shows of it is all of it; FIXED: it never changes */
    {"org", "orgs", NULL, TYPE_ROOT},
    {"user", "users", NULL, TYPE_ROOT},
    {"repo", "repos", NULL, TYPE_ROOT},
    {"team", "teams", NULL, TYPE_ROOT},
    {"commit", "commits", NULL, TYPE_WHOLE | TYPE_FIXED},
    {"pull_request_commit", "pull_request_commits", NULL, TYPE_WHOLE | TYPE_FIXED},
    {"commit_comment", "commit_comments", NULL, TYPE_WHOLE},
    {"pull_request_commit_comment", "pull_request_commit_comments", NULL, TYPE_WHOLE},
    {"issue", "issues", NULL, TYPE_WHOLE},
    {"issue_comment", "issue_comments", NULL, TYPE_WHOLE},
    {"pull_request", "pull_requests", NULL, 0},
    {"review", "reviews", NULL, TYPE_WHOLE},
    {"review_comment", "review_comments", NULL, TYPE_WHOLE},
    {"deployment", "deployments", NULL, TYPE_WHOLE},
    {"status", "statuses", NULL, TYPE_WHOLE},
    {"label", "labels", NULL, TYPE_WHOLE},
    {"milestone", "milestones", NULL, TYPE_WHOLE},
    {"release", "releases", NULL, TYPE_WHOLE},
    {"event", "events", NULL, TYPE_WHOLE},
    {"referrers", NULL, NULL, TYPE_DATED},
    {"paths", NULL, NULL, TYPE_DATED},
    {"views", NULL, NULL, TYPE_DATED},
    {"clones", NULL, NULL, TYPE_DATED},
    {"other", NULL, NULL, TYPE_OTHER},
    /* lists */
    {"orgs", NULL, "org", 0},
    {"users", NULL, "user", 0},
    {"repos", NULL, "repo", 0},
    {"members", NULL, "user", TYPE_RELATION},
    {"teams", NULL, "team", TYPE_RELATION},
    {"collaborators", NULL, "user", TYPE_RELATION},
    {"contributors", NULL, "user", TYPE_RELATION},
    {"subscribers", NULL, "user", TYPE_RELATION},
    {"stargazers", NULL, "user", TYPE_RELATION},
    {"commits", NULL, "commit", 0},
    {"pull_request_commits", NULL, "pull_request_commit", 0},
    {"commit_comments", NULL, "commit_comment", 0},
    {"pull_request_commit_comments", NULL, "pull_request_commit_comment", 0},
    {"issues", NULL, "issue", 0},
    {"issue_comments", NULL, "issue_comment", 0},
    {"pull_requests", NULL, "pull_request", 0},
    {"reviews", NULL, "review", 0},
    {"review_comments", NULL, "review_comment", 0},
    {"deployments", NULL, "deployment", 0},
    {"statuses", NULL, "status", 0},
    {"labels", NULL, "label", 0},
    {"milestones", NULL, "milestone", 0},
    {"releases", NULL, "release", 0},
    {"events", NULL, "event", 0},
    {0}};

const struct type *type_find(const char *name) {
    for (const struct type *t = types; name && t->name; t++)
        if (strcmp(t->name, name) == 0)
            return t;
    return NULL;
}

/* ---- what a URL tells: "R" is a repository, by name or by id; `*` any one part. `up`: parts to take away for what it
 * belongs to. */
static const struct {
    const char *pattern, *type, *parent;
    int up;
} urls[] = {
    {"R", "repo", NULL, 0},
    {"R/issues", "issues", "repo", 1},
    {"R/issues/*", "issue", "repo", 2},
    {"R/issues/*/comments", "issue_comments", "issue", 1},
    {"R/pulls", "pull_requests", "repo", 1},
    {"R/pulls/*", "pull_request", "repo", 2},
    {"R/pulls/*/commits", "pull_request_commits", "pull_request", 1},
    {"R/pulls/*/reviews", "reviews", "pull_request", 1},
    {"R/pulls/*/comments", "review_comments", "pull_request", 1},
    {"R/commits", "commits", "repo", 1},
    {"R/commits/*", "commit", "repo", 2},
    {"R/commits/*/comments", "commit_comments", "commit", 1},
    {"R/commits/*/statuses", "statuses", "commit", 1},
    {"R/statuses/*", "statuses", "repo", 2},
    {"R/labels", "labels", "repo", 1},
    {"R/labels/*", "label", "repo", 2},
    {"R/milestones", "milestones", "repo", 1},
    {"R/milestones/*", "milestone", "repo", 2},
    {"R/releases", "releases", "repo", 1},
    {"R/releases/*", "release", "repo", 2},
    {"R/deployments", "deployments", "repo", 1},
    {"R/deployments/*", "deployment", "repo", 2},
    {"R/events", "events", "repo", 1},
    {"R/teams", "teams", "repo", 1},
    {"R/collaborators", "collaborators", "repo", 1},
    {"R/contributors", "contributors", "repo", 1},
    {"R/stargazers", "stargazers", "repo", 1},
    {"R/subscribers", "subscribers", "repo", 1},
    {"R/traffic/views", "views", "repo", 2},
    {"R/traffic/clones", "clones", "repo", 2},
    {"R/traffic/popular/referrers", "referrers", "repo", 3},
    {"R/traffic/popular/paths", "paths", "repo", 3},
    {"orgs/*", "org", NULL, 0},
    {"organizations/*", "org", NULL, 0},
    {"orgs/*/repos", "repos", "org", 1},
    {"orgs/*/members", "members", "org", 1},
    {"orgs/*/teams", "teams", "org", 1},
    {"orgs/*/teams/*", "team", NULL, 0},
    {"orgs/*/teams/*/members", "members", "team", 1},
    {"orgs/*/teams/*/repos", "repos", "team", 1},
    {"orgs/*/events", "events", "org", 1},
    {"users/*", "user", NULL, 0},
    {"user/*", "user", NULL, 0},
    {"users/*/repos", "repos", "user", 1},
    {"teams/*", "team", NULL, 0},
    {"teams/*/members", "members", "team", 1},
    {"teams/*/repos", "repos", "team", 1},
};

static bool next_part(const char **at, const char **part, size_t *len) {
    *at += strspn(*at, "/");
    *part = *at;
    *len = strcspn(*at, "/?#");
    *at += *len;
    return *len > 0;
}

static bool matches(const char *pattern, const char *path) {
    const char *want, *is;
    size_t n, m;
    while (next_part(&pattern, &want, &n)) {
        if (!next_part(&path, &is, &m))
            return false;
        if (n == 1 && *want == 'R') {
            bool by_id = m == 12 && strncmp(is, "repositories", m) == 0;
            if ((!by_id && !(m == 5 && strncmp(is, "repos", m) == 0)) || !next_part(&path, &is, &m) ||
                (!by_id && !next_part(&path, &is, &m)))
                return false;
        } else if (!(n == 1 && *want == '*') && (n != m || strncmp(want, is, n) != 0)) {
            return false;
        }
    }
    return !next_part(&path, &is, &m);
}

/* The API may have a path of its own before what it serves: every part may be the first. */
static size_t find_url(const char *url) {
    enum { COUNT = sizeof urls / sizeof *urls };
    const char *path = strstr(url, "://"), *part;
    size_t len;
    path = path ? path + 3 + strcspn(path + 3, "/?#") : url;
    do {
        for (size_t i = 0; i < COUNT; i++)
            if (matches(urls[i].pattern, path))
                return i;
    } while (next_part(&path, &part, &len));
    return COUNT;
}

const char *type_of_url(const char *url) {
    size_t i = find_url(url);
    return i < sizeof urls / sizeof *urls ? urls[i].type : "other";
}

bool type_parent(struct tl_run *run, const char *type, const char *url, const char **parent_type, const char **parent) {
    size_t i = find_url(url), len = strcspn(url, "?#");
    if (i == sizeof urls / sizeof *urls || !urls[i].parent || strcmp(urls[i].type, type) != 0)
        return false;
    for (int up = urls[i].up; up > 0; up--)
        while (len > 0 && url[--len] != '/')
            ;
    *parent_type = urls[i].parent;
    *parent = text_copy(run, (struct tl_span){url, len});
    return *parent != NULL;
}
