/* super_urls.c - documents by URL: under which one a document is filed, and which document answers a run without a
 * request.
 *
 * What a page says of its canonical URL is believed within its site only; of another site it is kept as a claim. A page
 * that cannot say it properly says nothing. */
#include "base/json.h"
#include "base/mem.h"
#include "engine/super_inside.h"
#include "net/site.h"
#include "net/url.h"

static bool identify(struct buf *text, const char *url, struct store_url *out) {
    if (!url || !*url || url_canonical(text, span_of(url)))
        return false;
    *out = (struct store_url){buf_span(text), url_key(buf_span(text))};
    return true;
}

static bool same(struct store_url a, struct store_url b) {
    return a.key == b.key && a.text.len == b.text.len && memcmp(a.text.ptr, b.text.ptr, a.text.len) == 0;
}

int super_urls_record(struct super *s, struct super_job *j) {
    AUTO_BUF struct buf own = BUF_INIT, last = BUF_INIT, final = BUF_INIT, canonical = BUF_INIT;
    struct store_url asked, said;
    if (j->state_now == STORE_NOT_MODIFIED && j->result_ref)
        return store_url_seen(s->store, j->result_ref, j->wall_finished_us);
    if (!j->document || !j->http_status || !identify(&own, j->url, &asked))
        return TL_OK;
    bool good = j->state_now == STORE_SUCCESS || j->state_now == STORE_PARTIAL;
    struct store_fetched f = {.asked = asked,
                              .source = asked,
                              .url = asked,
                              .run = j->run,
                              .at_us = j->wall_finished_us,
                              .believed = good,
                              .plain = j->plain && j->state_now == STORE_SUCCESS};
    if (!identify(&last, j->asked_url, &said) ||
        !same(asked, said)) { /* its last request was another: of it nothing is known by this name */
        f.believed = f.plain = false;
        return store_url_fetched(s->store, &f);
    }
    if (good && identify(&final, j->final_url, &said))
        f.source = f.url = said;
    if (good && identify(&canonical, j->canonical, &said) && !same(f.source, said)) {
        if (site_same_text(f.source.text, said.text))
            f.url = said;
        else
            f.claim = said;
    }
    return store_url_fetched(s->store, &f);
}

/* ---- answers */

static bool is_empty(const struct tl_json *v) {
    return v->raw.len <= 2 || v->type == TL_JSON_NULL;
}

/* How old an answer may be that this run takes without asking; 0: none. Only what one URL says is remembered, not what
 * a method, a body or headers of its own would have led to. */
static int64_t max_age_us(const struct super_job *j) {
    struct tl_json all, v;
    int64_t ms = 0;
    if (!j->url || !*j->url || !memmem(j->payload, j->payload_len, "\"max_age\"", 9) ||
        json_parse((struct tl_span){j->payload, j->payload_len}, &all) || json_get(&all, "max_age", &v) ||
        json_int(&v, &ms) || ms <= 0)
        return 0;
    if (json_get(&all, "method", &v) == TL_OK && !span_eq(v.raw, "\"GET\""))
        return 0;
    if ((json_get(&all, "body", &v) == TL_OK && !is_empty(&v)) ||
        (json_get(&all, "headers", &v) == TL_OK && !is_empty(&v)))
        return 0;
    return ms < INT64_MAX / 1000 ? ms * 1000 : INT64_MAX;
}

int64_t super_urls_answer(struct super *s, const struct super_job *j) {
    AUTO_BUF struct buf text = BUF_INIT;
    struct store_url url;
    int64_t age = max_age_us(j), now = store_now_us(s->store), run = 0;
    if (!age || !identify(&text, j->url, &url) || store_url_answer(s->store, url, age < now ? now - age : 0, &run) ||
        run == j->run)
        return 0;
    return run;
}
