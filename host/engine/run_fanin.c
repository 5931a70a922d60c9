/* run_fanin.c - what the legs of a fan-in ask for: feeds as JSON, the run context, and artifacts made whole. */
#include <string.h>
#include <strings.h>

#include "base/json_write.h"
#include "engine/run.h"
#include "fanin/leg.h"
#include "net/feed_write.h"

enum { FEED_JSON_MAX = 128 << 20, ARTIFACT_MAX = 64 << 20 };

static const char *header(const struct tl_response *res, const char *name) {
    for (size_t i = 0; i < res->header_count; i++)
        if (strcasecmp(res->headers[i].name, name) == 0)
            return res->headers[i].value;
    return NULL;
}

/* Content-Location names the document more closely than its address does (RFC 9110, 8.7). */
static const char *base_of(struct tl_run *pub, const struct tl_response *res) {
    const char *location = header(res, "content-location"), *absolute;
    return location && pub->host->url(pub, res->url, location, &absolute) == TL_OK ? absolute : res->url;
}

static int keep(struct run *r, struct buf *text, struct tl_span *out) {
    out->ptr = text->full ? NULL : arena_text(&r->arena, text->data, text->len);
    out->len = text->len;
    return out->ptr ? TL_OK : run_fail(r, TL_FAILED, "memory", "the run's memory is used up by a feed");
}

int run_feed(struct tl_run *pub, const struct tl_response *res, struct tl_span *json) {
    struct run *r = run_of(pub);
    struct arena memory = {.max = FEED_TOTAL_MAX + (32 << 20)};
    AUTO_BUF struct buf text = {.max = FEED_JSON_MAX};
    struct json_writer w = JSON_WRITER(&text);
    struct feed feed;
    if (!res || !json)
        return run_fail(r, TL_INVALID, "invalid", "feed: a response and room for the answer are wanted");
    int rc = feed_parse(&memory, res->body, base_of(pub, res), header(res, "content-type"), &feed);
    json_object_begin(&w);
    if (rc == TL_INVALID)
        json_member_string(&w, "error", feed.error);
    feed.truncated = feed.truncated || rc == TL_PARTIAL || res->truncated;
    feed_write(&w, &feed, rc == TL_INVALID ? NULL : feed_identities(&memory, &feed));
    json_object_end(&w);
    arena_free(&memory);
    int kept = keep(r, &text, json);
    return kept ? kept : rc == TL_INVALID ? TL_NOTFOUND : TL_OK;
}

static const char *keep_text(struct run *r, const char *text) {
    return arena_text(&r->arena, text, strlen(text));
}

int run_get_context(struct tl_run *pub, struct tl_context *into) {
    struct run *r = run_of(pub);
    struct context c;
    char since[TIME_TEXT], until[TIME_TEXT];
    if (!r->run_context.len)
        return TL_NOTFOUND;
    if (context_read("of this crawl", r->run_context, &c, NULL))
        return run_fail(r, TL_FAILED, "invalid", "the run context of this crawl cannot be read");
    struct tl_context out = {.struct_size = sizeof out,
                             .json = r->run_context,
                             .run_id = keep_text(r, c.run_id),
                             .week = keep_text(r, c.week_text),
                             .since = keep_text(r, context_time(c.since_us, since)),
                             .until = keep_text(r, context_time(c.until_us, until)),
                             .since_us = c.since_us,
                             .until_us = c.until_us};
    context_free(&c);
    if (!out.run_id || !out.week || !out.since || !out.until)
        return run_fail(r, TL_FAILED, "memory", "the run's memory is used up");
    RUN_GIVE(into, out);
    return TL_OK;
}

/* Why the run is about to fail, for a leg that says so. */
static void put_error(const struct run *r, struct buf *out) {
    struct json_writer w = JSON_WRITER(out);
    json_object_begin(&w);
    json_member_string(&w, "class", r->reason ? r->reason : "collector");
    json_member_string(&w, "message", r->error);
    json_object_end(&w);
}

int run_artifact(struct tl_run *pub, const char *dataset, struct tl_span json) {
    struct run *r = run_of(pub);
    AUTO_BUF struct buf whole = {.max = ARTIFACT_MAX}, error = BUF_INIT;
    struct fail why = FAIL_INIT;
    struct context c;
    if (!r->run_context.len || context_read("of this crawl", r->run_context, &c, &why))
        return run_fail(r, TL_INVALID, "invalid", "an artifact needs a run context, and this crawl has none");
    if (r->error[0])
        put_error(r, &error);
    int rc = leg_complete(&c, json, buf_span(&error), &whole, &why);
    context_free(&c);
    if (rc)
        return run_fail(r, TL_INVALID, "invalid", "%s", why.text);
    return run_put(pub, dataset, TL_ELEMENT(.data = buf_span(&whole), .media_type = "application/json"));
}

const char *run_json_quote(struct tl_run *pub, struct tl_span text) {
    struct run *r = run_of(pub);
    AUTO_BUF struct buf out = BUF_INIT;
    struct json_writer w = JSON_WRITER(&out);
    json_put_string(&w, text);
    const char *copy = arena_text(&r->arena, out.data, out.len);
    if (!copy)
        run_fail(r, TL_FAILED, "memory", "the run's memory is used up");
    return copy;
}
