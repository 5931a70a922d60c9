/* github_search - one shard of a fan-in: repositories that GitHub's search finds for the window of the run context.
 *
 * Datasets: `pages` are the answers as they came; `artifact` is what `trotline fanin` merges. stars_gained is against
 * the stars that the week before had, which are kept in the crawl's state (stars.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <trotline.h>

#include "stars.h"

enum { PER_PAGE = 100, PAGES_MAX = 10, ENTRIES_MAX = 20000, QUERY_MAX = 1000 };
enum { SECOND = 1000000, SECONDARY = 60 * SECOND, SLEEP_MOST = 90 * SECOND, DAY = 86400 };

struct args {
    const char *shard, *query, *api;
    const struct tl_secret *token;
    struct tl_list topics;
    int64_t min_stars, pages;
};
static const struct tl_option arguments[] = {
    {"shard", TL_TEXT, TL_REQUIRED, offsetof(struct args, shard), NULL,
     "new_repos|trending_repos|topic_primary|topic_secondary", "which shard; its shard_id"},
    {"topics", TL_TEXT, TL_LIST, offsetof(struct args, topics), NULL, NULL,
     "of topic_primary and topic_secondary: one search for each"},
    {"query", TL_TEXT, 0, offsetof(struct args, query), NULL, NULL,
     "more qualifiers for every search, such as language:c"},
    {"min_stars", TL_INT, 0, offsetof(struct args, min_stars), "10", NULL, "only repositories with as many stars"},
    {"pages", TL_INT, 0, offsetof(struct args, pages), "3", NULL, "pages of 100 for each search, 1 to 10"},
    {"api", TL_URL, 0, offsetof(struct args, api), "https://api.github.com/", NULL, "where the API is"},
    {"token", TL_SECRET, 0, offsetof(struct args, token), NULL, NULL,
     "name of a secret; without it GitHub lets in ten searches a minute"},
    {0}};
static const struct tl_dataset datasets[] = {
    {"pages", TL_PAGED, "github,search,raw", "the answers of the search API, byte for byte"},
    {"artifact", TL_SIMPLE, "fanin,artifact", "what a fan-in merges"},
    {0}};
static const char *const hosts[] = {"api.github.com", NULL};

struct entry {
    const char *full_name;
    struct tl_span raw; /* of the API */
    int64_t stars;
};
struct search {
    struct tl_run *run;
    const struct args *args;
    struct tl_context context;
    struct entry *entry;
    size_t count, room;
    int calls, waits;
    int64_t slept;     /* in all */
    int64_t remaining; /* -1: not said */
    bool incomplete;
};

/* ---- asking ---- */

static const char *header(const struct tl_response *res, const char *name) {
    for (size_t i = 0; i < res->header_count; i++)
        if (strcasecmp(res->headers[i].name, name) == 0)
            return res->headers[i].value;
    return NULL;
}

static int64_t number(const char *text, int64_t otherwise) {
    char *end;
    long long n = text ? strtoll(text, &end, 10) : 0;
    return text && end != text ? n : otherwise;
}

/* Until when nothing more may be asked (microseconds); 0: it is no limit. 403 means other things, too. */
static int64_t limited(struct tl_run *run, const struct tl_response *res) {
    int64_t now = run->host->now_us(run), after = tl_retry_after(run, res);
    int64_t reset = number(header(res, "x-ratelimit-reset"), 0);
    const char *message = tl_json_get(run, res->body, "/message");
    if (res->status != 403 && res->status != 429 && res->status != 503)
        return 0;
    if (after >= 0)
        return now + after;
    if (res->status == 503)
        return 0;
    if (number(header(res, "x-ratelimit-remaining"), -1) == 0 && reset > now / SECOND && reset < now / SECOND + DAY)
        return (reset + 1) * SECOND;
    return res->status == 429 || (message && strcasestr(message, "rate limit")) ? now + SECONDARY : 0;
}

static int refused(struct tl_run *run, const struct tl_response *res) {
    const char *message = tl_json_get(run, res->body, "/message");
    return tl_fail(run, TL_FAILED, "%s answered %d%s%.200s", res->url, res->status, message ? ": " : "",
                   message ? message : "");
}

static int ask(struct search *s, const char *url, struct tl_response *res) {
    const struct tl_header headers[] = {{"Accept", "application/vnd.github+json", NULL},
                                        {"X-GitHub-Api-Version", "2022-11-28", NULL},
                                        {"Authorization", "Bearer ", s->args->token}};
    for (;;) {
        int rc = tl_fetch(s->run,
                          TL_REQUEST(.kind = TL_API_REQUEST, .url = url, .headers = headers,
                                     .header_count = s->args->token ? 3 : 2, .flags = TL_OWN_WAITS),
                          res);
        s->calls++;
        if (rc)
            return rc;
        s->remaining = number(header(res, "x-ratelimit-remaining"), s->remaining);
        if (res->status == 200)
            return res->truncated ? tl_fail(s->run, TL_FAILED, "the answer of %s is too long", res->url) : TL_OK;
        int64_t until = limited(s->run, res), wait = until - s->run->host->now_us(s->run);
        if (!until)
            return refused(s->run, res);
        s->waits++;
        if ((s->slept += wait) > SLEEP_MOST)
            return tl_later(s->run, res->url, until, "GitHub's rate limit is reached");
        rc = tl_sleep(s->run, wait > 0 ? wait / 1000 + 1 : 1);
        if (rc)
            return rc;
    }
}

/* ---- reading ---- */

static int add_entry(struct search *s, const struct tl_json *item) {
    struct tl_run *run = s->run;
    const char *name = tl_json_get(run, item->raw, "/full_name");
    if (!name)
        return TL_OK; /* no repository */
    if (s->count == s->room) {
        size_t room = s->room ? s->room * 2 : 256;
        struct entry *more = room > ENTRIES_MAX ? NULL : tl_alloc(run, room * sizeof *more);
        if (!more)
            return tl_fail(run, TL_FAILED, "more repositories than a shard can hold");
        if (s->count)
            memcpy(more, s->entry, s->count * sizeof *more);
        s->entry = more;
        s->room = room;
    }
    s->entry[s->count++] = (struct entry){name, item->raw, number(tl_json_get(run, item->raw, "/stargazers_count"), 0)};
    return TL_OK;
}

static int read_page(struct search *s, const struct tl_response *res) {
    struct tl_json items, item = {0};
    const char *incomplete = tl_json_get(s->run, res->body, "/incomplete_results");
    int rc = tl_put(s->run, "pages", TL_ELEMENT(.from = res));
    if (rc)
        return rc;
    if (s->run->host->json(s->run, res->body, "/items", &items) || items.type != TL_JSON_ARRAY)
        return tl_fail(s->run, TL_FAILED, "the answer of %s has no `items`", res->url);
    s->incomplete = s->incomplete || (incomplete && strcmp(incomplete, "true") == 0);
    while (!rc && (rc = s->run->host->json_next(s->run, &items, &item)) == TL_OK)
        rc = add_entry(s, &item);
    return rc == TL_NOTFOUND ? TL_OK : rc;
}

/* ---- what is asked ---- */

static void encode(char *out, size_t room, const char *text) {
    static const char hex[] = "0123456789ABCDEF";
    size_t n = 0;
    for (; *text && n + 4 < room; text++) {
        unsigned char c = (unsigned char)*text;
        if ((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || strchr("-._~", c)) {
            out[n++] = (char)c;
        } else {
            out[n++] = '%';
            out[n++] = hex[c >> 4];
            out[n++] = hex[c & 15];
        }
    }
    out[n] = '\0';
}

static int search(struct search *s, const char *topic) {
    char query[QUERY_MAX], encoded[QUERY_MAX * 3], last[40], first[4096];
    const char *relative;
    stars_time(s->context.until_us / 1000000 - 1, last, sizeof last); /* `a..b` of a search includes both */
    const char *more = s->args->query ? s->args->query : "";
    if (strcmp(s->args->shard, "new_repos") == 0)
        snprintf(query, sizeof query, "created:%s..%s stars:>=%lld %s", s->context.since, last,
                 (long long)s->args->min_stars, more);
    else if (!topic)
        snprintf(query, sizeof query, "pushed:>=%s stars:>=%lld %s", s->context.since, (long long)s->args->min_stars,
                 more);
    else
        snprintf(query, sizeof query, "topic:%.100s pushed:>=%s stars:>=%lld %s", topic, s->context.since,
                 (long long)s->args->min_stars, more);
    for (size_t n = strlen(query); n && query[n - 1] == ' ';)
        query[--n] = '\0';
    encode(encoded, sizeof encoded, query);
    snprintf(first, sizeof first, "search/repositories?q=%s&sort=stars&order=desc&per_page=%d", encoded, PER_PAGE);
    if (tl_url(s->run, s->args->api, first, &relative))
        return tl_fail(s->run, TL_FAILED, "the argument `api` is no URL");
    for (int64_t page = 0; relative && page < s->args->pages; page++) {
        struct tl_response res = TL_RESPONSE_INIT;
        int rc = ask(s, relative, &res);
        if (!rc)
            rc = read_page(s, &res);
        if (rc)
            return rc;
        if (tl_link_header(s->run, header(&res, "link"), res.url, "next", &relative))
            relative = NULL;
    }
    return TL_OK;
}

/* ---- the artifact ---- */

static int compare(const void *left, const void *right) {
    const struct entry *a = left, *b = right;
    int order = strcmp(a->full_name, b->full_name);
    return order ? order : (a->stars < b->stars) - (a->stars > b->stars);
}

/* Found by two searches, once is enough: the one that saw more stars. */
static void sort_entries(struct search *s) {
    size_t kept = 0;
    if (s->count)
        qsort(s->entry, s->count, sizeof *s->entry, compare);
    for (size_t i = 0; i < s->count; i++)
        if (!kept || strcmp(s->entry[kept - 1].full_name, s->entry[i].full_name) != 0)
            s->entry[kept++] = s->entry[i];
    s->count = kept;
}

static void put_field(struct search *s, FILE *out, const struct entry *e, const char *name, const char *pointer) {
    struct tl_json value;
    bool there = s->run->host->json(s->run, e->raw, pointer, &value) == TL_OK;
    fprintf(out, ",\"%s\":%.*s", name, there ? (int)value.raw.len : 4, there ? value.raw.ptr : "null");
}

/* A repository of the week itself has gained all the stars that it has; of others we know when they were seen before.
 */
static void put_gained(struct search *s, FILE *out, const struct stars *before, const struct entry *e) {
    int64_t then = stars_of(before, e->full_name);
    if (then >= 0)
        fprintf(out, ",\"stars_gained\":%lld", (long long)(e->stars - then));
    else if (strcmp(s->args->shard, "new_repos") == 0)
        fprintf(out, ",\"stars_gained\":%lld", (long long)e->stars);
}

static int write_artifact(struct search *s, FILE *out, const struct stars *before) {
    fprintf(out,
            "{\"shard_id\":\"%s\",\"api_metrics\":{\"calls_made\":%d,\"cache_hits\":0,\"cache_misses\":%d,"
            "\"secondary_rate_limit_events\":%d,\"search_api_remaining\":",
            s->args->shard, s->calls, s->calls, s->waits);
    if (s->remaining >= 0)
        fprintf(out, "%lld", (long long)s->remaining);
    else
        fputs("null", out);
    fprintf(out, "},\"incomplete_results\":%s,\"repositories\":[", s->incomplete ? "true" : "false");
    for (size_t i = 0; i < s->count; i++) {
        const struct entry *e = &s->entry[i];
        const char *name = tl_json_quote(s->run, (struct tl_span){e->full_name, strlen(e->full_name)});
        if (!name)
            return TL_FAILED;
        fprintf(out, "%s{\"full_name\":%s,\"stars\":%lld", i ? "," : "", name, (long long)e->stars);
        put_gained(s, out, before, e);
        put_field(s, out, e, "description", "/description");
        put_field(s, out, e, "language", "/language");
        put_field(s, out, e, "topics", "/topics");
        put_field(s, out, e, "created_at", "/created_at");
        put_field(s, out, e, "pushed_at", "/pushed_at");
        fputs("}", out);
    }
    fputs("]}", out);
    return TL_OK;
}

static int put_artifact(struct search *s, const struct stars *before) {
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    if (!out)
        return tl_fail(s->run, TL_FAILED, "the shard needs more memory than there is");
    int rc = write_artifact(s, out, before);
    if (fclose(out) && !rc)
        rc = tl_fail(s->run, TL_FAILED, "the shard needs more memory than there is");
    if (!rc)
        rc = tl_artifact(s->run, "artifact", (struct tl_span){text, len});
    free(text);
    return rc;
}

/* What the next week compares with. */
static int remember(struct search *s, struct stars *memory) {
    for (size_t i = 0; i < s->count; i++)
        stars_add(memory, s->entry[i].full_name, s->entry[i].stars);
    return stars_save(memory);
}

static int collect(void *self, struct tl_run *run, const void *arg) {
    struct search s = {.run = run, .args = arg, .remaining = -1};
    struct stars memory;
    (void)self;
    s.context.struct_size = sizeof s.context;
    int rc = tl_run_context(run, &s.context);
    if (rc)
        return rc == TL_NOTFOUND
                   ? tl_fail(run, TL_FAILED,
                             "a shard needs a run context: `run_context:` in the crawl file, of `trotline "
                             "context`")
                   : rc;
    bool topical = strncmp(s.args->shard, "topic_", 6) == 0;
    if (topical != (s.args->topics.count > 0))
        return tl_fail(run, TL_FAILED,
                       "the argument `topics` belongs to topic_primary and topic_secondary, which need it");
    if (s.args->pages < 1 || s.args->pages > PAGES_MAX)
        return tl_fail(run, TL_FAILED, "the argument `pages` is 1 to %d", PAGES_MAX);
    if ((rc = stars_load(run, s.args->shard, s.context.week, &memory)))
        return rc;
    for (size_t i = 0; !rc && i < s.args->topics.count; i++)
        rc = search(&s, s.args->topics.item[i]);
    if (!topical)
        rc = search(&s, NULL);
    if (rc)
        return rc;
    sort_entries(&s);
    rc = put_artifact(&s, &memory);
    if (!rc)
        rc = remember(&s, &memory);
    if (!rc && s.incomplete)
        rc = tl_fail(run, TL_PARTIAL, "GitHub says that its results are incomplete");
    return rc;
}

TL_COLLECTOR(.name = "github_search", .version = "1.0.0", .summary = "one shard of GitHub's repository search",
             .arguments = arguments, .arguments_size = sizeof(struct args), .datasets = datasets, .hosts = hosts,
             .collect = collect);
