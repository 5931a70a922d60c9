/* gitbackup - keeps everything that a login has on GitHub, or any git repository, in a way that it can be restored
 * from.
 *
 * A run of a login reads its list and hands each repository on to a run of its own, which is a part of it. Of each
 * repository there is one element of dataset `repositories`, whatever became of it; copies go into the lake's backups.
 * trotline-gitbackup(7) */
#include <string.h>

#include "gitbackup.h"

static const struct tl_option arguments[] = {
    /* before the rest, which is the same for all of a list: lineage shows arguments from their beginning */
    {"repo", TL_JSON, 0, offsetof(struct args, repo), NULL, NULL,
     "one repository, as a list has it (made by the collector)"},
    {"login", TL_TEXT, 0, offsetof(struct args, login), NULL, NULL, "whose repositories: a user or an organisation"},
    {"url", TL_TEXT, TL_LIST | TL_NAMES_HOST, offsetof(struct args, url), NULL, NULL,
     "git repositories anywhere: https, http, git, ssh or file URLs"},
    {"api", TL_URL, 0, offsetof(struct args, api), "https://api.github.com", NULL, "where the API of GitHub is"},
    {"token", TL_SECRET, 0, offsetof(struct args, token), NULL, NULL,
     "for the API and for git, bound to the origins of both"},
    {"list", TL_TEXT, 0, offsetof(struct args, list), "user", "user|organisation|own",
     "which list: the public ones of a user, all of an organisation, all of the token's own user"},
    {"wiki", TL_BOOL, 0, offsetof(struct args, wiki), "true", NULL, "wikis, too"},
    {"lfs", TL_BOOL, 0, offsetof(struct args, lfs), "true", NULL, "the large files of Git LFS, too"},
    {"max_size", TL_BYTES, 0, offsetof(struct args, max_size), "0", NULL,
     "no repository that is larger by what its list says, and no large file; 0: any"},
    {"include", TL_TEXT, TL_LIST, offsetof(struct args, include), NULL, NULL,
     "only names that match one of these globs"},
    {"exclude", TL_TEXT, TL_LIST, offsetof(struct args, exclude), NULL, NULL, "no names that match one of these globs"},
    {"forks", TL_BOOL, 0, offsetof(struct args, forks), "true", NULL, "forks, too"},
    {"archived", TL_BOOL, 0, offsetof(struct args, archived), "true", NULL, "archived ones, too"},
    {"starred", TL_BOOL, 0, offsetof(struct args, starred), "false", NULL, "what the login has starred, too"},
    {"full_every", TL_INT, 0, offsetof(struct args, full_every), "1", NULL,
     "each so-manieth copy is a full one; those between build on the one before"},
    {"keep", TL_JSON, 0, offsetof(struct args, keep), NULL, NULL,
     "dated copies that stay: {last, weekly, monthly}; all, when it is not given"},
    {0}};
static const struct tl_dataset datasets[] = {
    {"listing", TL_PAGED, "git,listing", "the pages of the list, as they came"},
    {"repositories", TL_KEY_VALUE, "git,backup", "what became of each repository"},
    {0}};
static const char *const programs[] = {"git", NULL};
static const char *const hosts[] = {"api.github.com", "github.com", "github-cloud.githubusercontent.com", NULL};

static int read_keep(struct tl_run *run, struct args *a) {
    static const char *const key[] = {"\"last\"", "\"weekly\"", "\"monthly\""}; /* verbatim */
    int64_t *const to[] = {&a->last, &a->weekly, &a->monthly};
    struct tl_json all = {.raw = {a->keep, a->keep ? strlen(a->keep) : 0}}, item = {0};
    a->last = a->weekly = a->monthly = 0;
    if (!all.raw.len || strcmp(a->keep, "null") == 0)
        return TL_OK;
    bool ok = value_at(run, &all, "", &all) && all.type == TL_JSON_OBJECT;
    while (ok && run->host->json_next(run, &all, &item) == TL_OK) {
        size_t i = 0, n = item.raw.len;
        while (i < 3 && (item.key.len != strlen(key[i]) || memcmp(item.key.ptr, key[i], item.key.len) != 0))
            i++;
        ok = i < 3 && n > 0 && n < 6;
        for (size_t at = 0; ok && at < n; at++)
            ok = item.raw.ptr[at] >= '0' && item.raw.ptr[at] <= '9';
        for (size_t at = 0; ok && at < n; at++)
            *to[i] = *to[i] * 10 + (item.raw.ptr[at] - '0');
    }
    return ok && a->last + a->weekly + a->monthly > 0
               ? TL_OK
               : tl_fail(run, TL_INVALID,
                         "argument keep: it has last, weekly and monthly, whole numbers to 99999, one of them not 0");
}

static int one(struct tl_run *run, const struct args *a) {
    struct tl_json entry = {.raw = {a->repo, strlen(a->repo)}};
    struct repository r;
    const char *why;
    if (!value_at(run, &entry, "", &entry) || entry.type != TL_JSON_OBJECT)
        return tl_fail(run, TL_INVALID, "argument repo: it is no JSON object");
    if (source_read(run, &entry, true, &r, &why))
        return tl_fail(run, TL_FAILED, "argument repo: %s", why);
    if (!r.full_name)
        r.full_name = text_format(run, "%s/%s", r.owner, r.name);
    return r.full_name ? repository_back_up(run, a, &r) : TL_FAILED;
}

/* One is done here, of several each by a run of its own. */
static int by_url(struct tl_run *run, const struct args *a) {
    size_t refused = 0;
    const char *first = "";
    int rc = TL_OK;
    for (size_t i = 0; i < a->url.count && !rc; i++) {
        struct repository r;
        const char *why;
        rc = source_of_url(run, a->url.item[i], &r, &why);
        if (rc == TL_REFUSED) {
            struct outcome o = {.status = "refused", .reason = why, .changed = {.run = run}};
            rc = outcome_put(run, &r, &o);
            first = refused++ ? first : why;
        } else if (!rc) {
            rc = a->url.count == 1 ? repository_back_up(run, a, &r) : listing_hand_on(run, &r);
        }
    }
    if (!rc && a->url.count > 1)
        rc = tl_put(run, "listing", TL_ELEMENT(.data = {"[]", 2}, .media_type = "application/json"));
    return rc || !refused ? rc
                          : tl_fail(run, refused == a->url.count ? TL_FAILED : TL_PARTIAL,
                                    "%zu of %zu URLs were refused: %s", refused, a->url.count, first);
}

static int collect(void *self, struct tl_run *run, const void *given) {
    struct args a = *(const struct args *)given;
    (void)self;
    size_t n = a.api ? strlen(a.api) : 0;
    if (n && a.api[n - 1] == '/')
        a.api = text_copy(run, (struct tl_span){a.api, n - 1});
    if (!a.api)
        return tl_fail(run, TL_FAILED, "the run's memory is used up");
    int rc = read_keep(run, &a);
    if (rc)
        return rc;
    if (a.full_every < 1)
        return tl_fail(run, TL_INVALID, "argument full_every: it is 1 (each copy is a full one) or more");
    if (a.repo && *a.repo && strcmp(a.repo, "null") != 0)
        return one(run, &a);
    if (a.url.count)
        return by_url(run, &a);
    if (!a.login || !*a.login)
        return tl_fail(run, TL_INVALID, "whose repositories? `login: NAME`, or `url: [...]`");
    if (!source_name_ok(a.login))
        return tl_fail(run, TL_INVALID, "the login is no name that GitHub gives: letters, digits and hyphens");
    return listing_walk(run, &a);
}

/* A repository that the GitHub collector has fetched: `react: [{on: {collector: github, type: repo}, collector:
 * gitbackup}]`. */
static int react(void *self, struct tl_run *run, const struct tl_document *doc, const void *given) {
    struct tl_element e = TL_ELEMENT_INIT;
    const char *why;
    (void)self;
    (void)given;
    if (strcmp(doc->collector, "github") != 0)
        return TL_OK; /* its own say what became of copies: there is nothing more to do */
    for (size_t i = 0; run->host->element(run, doc, "repo", i, &e) == TL_OK; i++) {
        struct tl_json entry = {.raw = e.data};
        struct repository r;
        if (!value_at(run, &entry, "", &entry) || entry.type != TL_JSON_OBJECT ||
            source_read(run, &entry, false, &r, &why))
            continue;
        const char *json = source_json(run, &r);
        int rc = json ? tl_spawn(run, TL_CHILD(.flags = TL_SAME, TL_ARGS(TL_ARG_JSON("repo", json)))) : TL_FAILED;
        if (rc)
            return rc;
    }
    return TL_OK;
}

TL_COLLECTOR(.name = "gitbackup", .version = "1.0.0",
             .summary = "backs up git repositories: all of a login on GitHub, or any", .arguments = arguments,
             .arguments_size = sizeof(struct args), .datasets = datasets, .programs = programs, .hosts = hosts,
             .collect = collect, .react = react);
