/* feed - reads a syndication feed: every entry by itself, and, in a crawl with a run context, the artifact of its
 * source.
 *
 * Datasets: `page` is the answer as it came; `feed` what the feed says of itself; `entries` one pair an entry, by its
 * identity; `artifact` what `trotline fanin` merges. A source that fails has an artifact, too: it says why. */
#include <stdio.h>
#include <string.h>
#include <trotline.h>

#include "match.h"

struct options {
    struct tl_list keywords, entities;
};
static const struct tl_option options[] = {
    {"keywords", TL_TEXT, TL_LIST, offsetof(struct options, keywords), NULL, NULL, "of lines that name none"},
    {"entities", TL_TEXT, TL_LIST, offsetof(struct options, entities), NULL, NULL, "of lines that name none"},
    {0}};
struct args {
    const char *url, *source, *undated;
    bool window, revalidate;
    struct tl_list keywords, entities;
};
static const struct tl_option arguments[] = {
    {"url", TL_URL, TL_REQUIRED, offsetof(struct args, url), NULL, NULL, "the feed"},
    {"source", TL_TEXT, 0, offsetof(struct args, source), NULL, NULL,
     "source_id of the artifact; wanted where the crawl has a run context"},
    {"keywords", TL_TEXT, TL_LIST, offsetof(struct args, keywords), NULL, NULL,
     "words of the topic: five of them in an article make it fully relevant"},
    {"entities", TL_TEXT, TL_LIST, offsetof(struct args, entities), NULL, NULL,
     "names to look for, in their exact spelling"},
    {"window", TL_BOOL, 0, offsetof(struct args, window), "true", NULL,
     "into the artifact only what was published within the run context's window"},
    {"undated", TL_TEXT, 0, offsetof(struct args, undated), "drop", "drop|keep",
     "entries without a date: not in the artifact, or in every one"},
    {"revalidate", TL_BOOL, 0, offsetof(struct args, revalidate), "true", NULL,
     "ask only whether a feed that is known has changed; not with a run context"},
    {0}};
static const struct tl_dataset datasets[] = {
    {"page", TL_SIMPLE, "feed,raw", "the answer, byte for byte"},
    {"feed", TL_SIMPLE, "feed", "what the feed says of itself, and what had to be repaired"},
    {"entries", TL_KEY_VALUE, "feed,entry", "its entries by their identity"},
    {"artifact", TL_SIMPLE, "fanin,artifact", "what a fan-in merges"},
    {0}};

struct reading {
    struct tl_run *run;
    const struct args *args;
    const struct options *options;
    struct tl_context context;
    bool has_context;
    int64_t started_us, fetch_us;
    const char *url;     /* of the feed, after redirects */
    struct tl_span json; /* the feed */
    const char *source;  /* as JSON */
    struct text articles, visible, links;
    size_t fetched, relevant, kept, doubled;
};
enum { RELEVANT = 40, PER_KEYWORD = 20, FOR_REPOSITORY = 20 }; /* hundredths */

static int no_memory(struct tl_run *run) {
    return tl_fail(run, TL_FAILED, "the feed needs more memory than a run has");
}

/* ---- the artifact ---- */

static void put_metrics(struct text *t, const struct reading *r) {
    char line[200];
    snprintf(
        line, sizeof line,
        ",\"metrics\":{\"articles_fetched\":%zu,\"articles_relevant\":%zu,\"fetch_duration_ms\":%lld,\"retries\":0}",
        r->fetched, r->relevant, (long long)(r->fetch_us / 1000));
    text_put(t, line);
}

/* The reason of one that failed is recorded already, and becomes its error. */
static int put_artifact(struct reading *r, const char *status) {
    struct text t = {.run = r->run};
    if (!r->has_context)
        return TL_OK;
    text_put(&t, "{\"source_id\":");
    text_put(&t, r->source);
    text_put(&t, ",\"status\":\"");
    text_put(&t, status);
    text_put(&t, strcmp(status, "failed") == 0 ? "\"" : "\",\"error\":null");
    put_metrics(&t, r);
    text_put(&t, ",\"articles\":[");
    text_add(&t, r->articles.at, r->articles.len);
    text_put(&t, "]}");
    return t.full || r->articles.full ? no_memory(r->run)
                                      : tl_artifact(r->run, "artifact", (struct tl_span){t.at, t.len});
}

/* status: of the call that failed. */
static int failed(struct reading *r, int status) {
    r->articles.len = 0;
    int rc = put_artifact(r, "failed");
    return rc ? rc : status;
}

/* ---- articles ---- */

static const struct tl_list *asked(const struct tl_list *own, const struct tl_list *general) {
    return own->count ? own : general;
}

static bool within(const struct reading *r, const char *published) {
    enum { SECONDS = 19 }; /* 2026-06-01T00:00:00 */
    return !r->args->window ||
           (strncmp(published, r->context.since, SECONDS) >= 0 && strncmp(published, r->context.until, SECONDS) < 0);
}

static void put_names(struct reading *r, const char *text, const struct tl_list *names) {
    bool any = false;
    for (size_t i = 0; i < names->count; i++) {
        if (!match_word(text, names->item[i], false))
            continue;
        text_put(&r->articles, any ? "," : "");
        text_put(&r->articles, tl_json_quote(r->run, (struct tl_span){names->item[i], strlen(names->item[i])}));
        any = true;
    }
}

static int score_of(const char *text, const struct tl_list *keywords, bool repository) {
    int score = 0;
    for (size_t i = 0; i < keywords->count && score < 100; i++)
        score += match_word(text, keywords->item[i], true) ? PER_KEYWORD : 0;
    score += repository ? FOR_REPOSITORY : 0;
    return score > 100 ? 100 : score;
}

/* A member of the entry that is a text, as it is written in JSON; else `otherwise`. */
static struct tl_span written(struct tl_run *run, struct tl_span entry, const char *pointer, const char *otherwise) {
    struct tl_json value;
    if (run->host->json(run, entry, pointer, &value) == TL_OK && value.type == TL_JSON_STRING)
        return value.raw;
    return (struct tl_span){otherwise, strlen(otherwise)};
}

/* The address of an entry: its link, else an id that is one. */
static struct tl_span address_of(struct tl_run *run, struct tl_span entry) {
    struct tl_span link = written(run, entry, "/link", ""), id = written(run, entry, "/id", "\"\"");
    if (link.len)
        return link;
    bool is_url = strncmp(id.ptr, "\"http://", 8) == 0 || strncmp(id.ptr, "\"https://", 9) == 0;
    return is_url ? id : (struct tl_span){"\"\"", 2};
}

/* The texts of an entry: `visible` for words, `links` for repositories. */
static void texts_of(struct reading *r, struct tl_span entry) {
    static const char *const parts[] = {"/title", "/summary", "/content"};
    r->visible.len = r->links.len = 0; /* their memory is used again */
    text_put(&r->visible, "");
    text_put(&r->links, "");
    text_put(&r->links, tl_json_get(r->run, entry, "/link"));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *part = tl_json_get(r->run, entry, parts[i]);
        if (!part)
            continue;
        match_visible(&r->visible, part);
        text_put(&r->links, " ");
        text_put(&r->links, part);
    }
}

static void add_article(struct reading *r, struct tl_span entry, struct tl_span published) {
    struct text *out = &r->articles;
    struct repositories found = {.count = 0};
    char score[40];
    texts_of(r, entry);
    if (r->visible.full || r->links.full) {
        out->full = true;
        return;
    }
    match_repositories(r->links.at, &found);
    int hundredths = score_of(r->visible.at, asked(&r->args->keywords, &r->options->keywords), found.count > 0);
    text_put(out, r->kept ? ",{\"url\":" : "{\"url\":");
    text_span(out, address_of(r->run, entry));
    text_put(out, ",\"title\":");
    text_span(out, written(r->run, entry, "/title", "\"\""));
    text_put(out, ",\"published\":");
    text_span(out, published);
    text_put(out, ",\"source\":");
    text_put(out, r->source);
    snprintf(score, sizeof score, ",\"relevance_score\":%d.%02d", hundredths / 100, hundredths % 100);
    text_put(out, score);
    text_put(out, ",\"github_urls\":[");
    for (size_t i = 0; i < found.count; i++) {
        text_put(out, i ? ",\"https://github.com/" : "\"https://github.com/");
        text_put(out, found.name[i]);
        text_put(out, "\"");
    }
    text_put(out, "],\"entities\":[");
    put_names(r, r->visible.at, asked(&r->args->entities, &r->options->entities));
    text_put(out, "]}");
    r->kept++;
    r->relevant += hundredths >= RELEVANT;
}

static int read_entry(struct reading *r, struct tl_span entry) {
    struct tl_run *run = r->run;
    const char *identity = tl_json_get(run, entry, "/identity"), *doubled = tl_json_get(run, entry, "/doubled");
    r->fetched++;
    if (doubled && strcmp(doubled, "true") == 0) {
        r->doubled++;
        return TL_OK;
    }
    int rc = tl_put(run, "entries",
                    TL_ELEMENT(.key = identity ? identity : "", .data = entry, .media_type = "application/json",
                               .data_url = r->url));
    if (rc || !r->has_context)
        return rc;
    struct tl_span updated = written(run, entry, "/updated", "null"), published = written(run, entry, "/published", "");
    if (!published.len)
        published = updated;
    if (*published.ptr == '"' ? within(r, published.ptr + 1) : strcmp(r->args->undated, "keep") == 0)
        add_article(r, entry, published);
    return TL_OK;
}

static int read_entries(struct reading *r) {
    struct tl_json list, item = {0};
    int rc = r->run->host->json(r->run, r->json, "/entries", &list);
    while (!rc && (rc = r->run->host->json_next(r->run, &list, &item)) == TL_OK) {
        rc = read_entry(r, item.raw);
        if (!rc && r->fetched % 64 == 0)
            rc = tl_yield(r->run);
    }
    return rc == TL_NOTFOUND ? TL_OK : rc;
}

/* ---- the feed ---- */

/* All but its entries, which stand by themselves. */
static int put_feed(struct reading *r) {
    struct text t = {.run = r->run};
    struct tl_json root, member = {0};
    int rc = r->run->host->json(r->run, r->json, "", &root);
    while (!rc && (rc = r->run->host->json_next(r->run, &root, &member)) == TL_OK) {
        if (member.key.len == 9 && memcmp(member.key.ptr, "\"entries\"", 9) == 0)
            continue;
        text_put(&t, t.len ? "," : "{");
        text_span(&t, member.key);
        text_put(&t, ":");
        text_span(&t, member.raw);
    }
    text_put(&t, "}");
    if (t.full)
        return no_memory(r->run);
    return rc != TL_NOTFOUND
               ? rc
               : tl_put(r->run, "feed",
                        TL_ELEMENT(.data = {t.at, t.len}, .media_type = "application/json", .data_url = r->url));
}

/* What it is instead, with the feeds that a page names. */
static int no_feed(struct reading *r, const struct tl_response *res) {
    struct text t = {.run = r->run};
    const char *why = tl_json_get(r->run, r->json, "/error"), *url = tl_json_get(r->run, r->json, "/alternates/0/url");
    int rc = put_feed(r);
    if (rc)
        return rc;
    text_put(&t, res->url);
    text_put(&t, " is no feed: ");
    text_put(&t, why ? why : "it cannot be read");
    if (url) {
        text_put(&t, ": ");
        text_put(&t, url);
    }
    return t.full ? no_memory(r->run) : failed(r, tl_fail(r->run, TL_FAILED, "%s", t.at));
}

static int read_feed(struct reading *r, const struct tl_response *res) {
    r->url = res->url;
    int rc = tl_put(r->run, "page", TL_ELEMENT(.from = res));
    if (rc)
        return rc;
    rc = tl_feed(r->run, res, &r->json);
    if (rc == TL_NOTFOUND)
        return no_feed(r, res);
    if (!rc)
        rc = put_feed(r);
    if (!rc)
        rc = read_entries(r);
    if (rc)
        return rc;
    bool whole = !tl_json_get(r->run, r->json, "/truncated");
    rc = put_artifact(r, whole ? "success" : "partial");
    if (rc || whole)
        return rc;
    return tl_fail(r->run, TL_PARTIAL, "%s is cut off or too long: %zu entries were read", res->url, r->fetched);
}

/* ---- collecting ---- */

static int collect(void *self, struct tl_run *run, const void *arg) {
    struct reading r = {.run = run,
                        .args = arg,
                        .options = self,
                        .articles = {.run = run},
                        .visible = {.run = run},
                        .links = {.run = run}};
    struct tl_response res = TL_RESPONSE_INIT;
    r.context.struct_size = sizeof r.context;
    int rc = tl_run_context(run, &r.context);
    if (rc && rc != TL_NOTFOUND)
        return rc;
    r.has_context = !rc;
    if (r.has_context && !(r.args->source && *r.args->source))
        return tl_fail(run, TL_FAILED, "this crawl has a run context, so the line needs the argument `source`");
    if (r.has_context && !(r.source = tl_json_quote(run, (struct tl_span){r.args->source, strlen(r.args->source)})))
        return no_memory(run);
    r.started_us = run->host->now_us(run);
    rc = tl_fetch(
        run,
        TL_REQUEST(.kind = TL_FEED_REQUEST, .url = r.args->url, .revalidate = r.args->revalidate && !r.has_context),
        &res);
    r.fetch_us = run->host->now_us(run) - r.started_us;
    if (rc)
        return rc == TL_FAILED ? failed(&r, rc) : rc;
    if (res.not_modified)
        return TL_UNCHANGED;
    if (res.status < 200 || res.status > 299) {
        if (res.body.len && (rc = tl_put(run, "page", TL_ELEMENT(.from = &res))))
            return rc;
        return failed(&r, tl_fail(run, TL_FAILED, "http %d", res.status));
    }
    return read_feed(&r, &res);
}

static int start(const struct tl_host *host, const void *given, void **self) {
    (void)host;
    *self = (void *)given;
    return TL_OK;
}

TL_COLLECTOR(.name = "feed", .version = "1.0.0", .summary = "reads RSS, Atom and JSON feeds", .options = options,
             .options_size = sizeof(struct options), .arguments = arguments, .arguments_size = sizeof(struct args),
             .datasets = datasets, .open = start, .collect = collect);
