/* run_fetch.c - what a run fetches: the answer with its decided character set, its reading as a page, its place until
 * the run ends. */
#include <stdlib.h>
#include <strings.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/times.h"
#include "base/utf8.h"
#include "engine/run.h"
#include "net/charset.h"
#include "net/html.h"
#include "net/robots_tag.h"
#include "net/link_header.h"
#include "net/retry_after.h"
#include "net/url.h"

enum { URL_LONGEST = 2000 }; /* of a canonical URL: a longer one is none */

struct run_response {
    struct run_response *before;
    struct fetch_answer answer;
    struct charset charset;
    bool charset_known, decoded_known, round_trips, lossy, is_utf8;
    struct buf decoded; /* UTF-8 of a body in another character set, or with faults mended */
    struct html_page page;
};

void run_responses_free(struct run *r) {
    while (r->response) {
        struct run_response *x = r->response;
        r->response = x->before;
        fetch_answer_free(&x->answer);
        buf_free(&x->decoded);
        html_page_free(&x->page);
        free(x);
    }
}

struct fetch_answer *run_answer(const struct tl_response *res) {
    return res->transfer ? &((struct run_response *)res->transfer)->answer : NULL;
}

const struct fetch_answer *run_answer_from(const struct run *r, struct tl_span origin) {
    for (const struct run_response *x = r->response; x; x = x->before) {
        AUTO_BUF struct buf href = BUF_INIT, theirs = BUF_INIT;
        struct url u;
        if (x->answer.outcome != FETCH_ANSWER || !x->answer.rule || !x->answer.url ||
            url_parse(&href, span_of(x->answer.url), NULL, &u))
            continue;
        url_origin(&theirs, &u);
        if (theirs.len == origin.len && memcmp(theirs.data, origin.ptr, origin.len) == 0)
            return &x->answer;
    }
    return NULL;
}

static bool ends_in(const char *text, const char *tail) {
    size_t n = strlen(text), m = strlen(tail);
    return n >= m && strcmp(text + n - m, tail) == 0;
}

static bool is_html(const char *type) {
    return type && (strcmp(type, "text/html") == 0 || strcmp(type, "application/xhtml+xml") == 0);
}

static bool is_textual(const char *type) {
    return type && (strncmp(type, "text/", 5) == 0 || ends_in(type, "json") || ends_in(type, "xml") ||
                    ends_in(type, "javascript"));
}

static void decide_charset(struct run_response *x) {
    if (x->charset_known)
        return;
    x->charset_known = true;
    if (charset_decide(buf_span(&x->answer.result.body), x->answer.charset_given, &x->charset))
        x->charset.name = "windows-1252";
    x->is_utf8 = strcmp(x->charset.name, "utf-8") == 0;
}

/* Decodes once what is in another character set, or in faulty UTF-8. */
static struct tl_span as_utf8(struct run_response *x) {
    struct tl_span body = buf_span(&x->answer.result.body);
    decide_charset(x);
    if (!x->decoded_known) {
        x->decoded_known = true;
        if (x->is_utf8 && utf8_valid(body.ptr, body.len))
            x->round_trips = true;
        else if (charset_to_utf8(x->charset.name, body, &x->decoded, &x->lossy) == TL_OK && !x->is_utf8 && !x->lossy)
            x->round_trips = charset_round_trips(x->charset.name, buf_span(&x->decoded), body);
    }
    return x->decoded.len ? buf_span(&x->decoded) : body;
}

struct tl_span run_response_text(struct run *r, const struct tl_response *res, const char **charset) {
    struct run_response *x = res->transfer;
    (void)r;
    *charset = NULL;
    if (!x || !is_textual(x->answer.media_type))
        return (struct tl_span){"", 0};
    as_utf8(x);
    if (x->is_utf8 || !x->round_trips)
        return (struct tl_span){"", 0};
    *charset = x->charset.name;
    return buf_span(&x->decoded);
}

bool run_response_is_utf8(const struct tl_response *res) {
    const struct run_response *x = res->transfer;
    return x && x->is_utf8 && x->round_trips;
}

/* The reason of what was not answered, in the words of the run. */
static int explain(struct run *r, const struct fetch_answer *a) {
    switch (a->outcome) {
    case FETCH_REFUSED:
        r->refusal = a->refusal;
        return run_fail(r, TL_REFUSED, a->refusal, "%s", a->text);
    case FETCH_LATER:
        r->not_before_us = a->not_before_us;
        return run_fail(r, TL_RETRY, a->reason, "%s", a->text);
    case FETCH_CANCELLED:
        r->cancelled = true;
        return TL_CANCEL;
    default:
        return run_fail(r, TL_FAILED, a->reason, "%s", a->text[0] ? a->text : "the request failed");
    }
}

int run_fetch(struct tl_run *pub, const struct tl_request *given, struct tl_response *into) {
    struct run *r = run_of(pub);
    struct tl_request q = {0};
    RUN_TAKE(q, given);
    struct tl_response res = TL_RESPONSE_INIT;
    if (!q.url || (q.header_count && !q.headers) || (q.query_count && !q.query) || (q.form_count && !q.form))
        return run_fail(r, TL_INVALID, "invalid",
                        "fetch: no URL, or headers or fields are announced that are not there");
    if (!r->backend->fetch)
        return run_fail(r, TL_UNSUPPORTED, "invalid", "nothing can be fetched here");
    struct run_response *x = mem_alloc(sizeof *x);
    x->before = r->response;
    r->response = x;
    int fd = -1, rc;
    if (q.attach && (rc = q.flags & TL_APPEND ? run_attached(r, q.attach, &fd) : run_attach(pub, q.attach, NULL, &fd)))
        return rc;
    if ((rc = run_conditions(r, &q))) {
        r->cancelled = true;
        return rc;
    }
    rc = r->backend->fetch(r, &q, fd, &x->answer);
    struct fetch_answer *a = &x->answer;
    if (!rc && a->outcome == FETCH_ANSWER)
        run_remember_validators(r, &q, a);
    run_remember_request(r, &q, a);
    r->wire_bytes += a->wire_bytes;
    r->bytes += a->result.body_bytes;
    if (rc)
        a->outcome = FETCH_CANCELLED;
    if (a->result.status)
        r->http_status = a->result.status;
    if (a->url)
        r->final_url = a->url;
    if (a->outcome != FETCH_ANSWER && q.attach)
        run_unattach(r); /* nothing that broke off is kept */
    if (a->outcome != FETCH_ANSWER)
        return explain(r, a);
    if (q.attach)
        r->attachment[r->attachment_count - 1].media_type = a->media_type;
    res.status = a->result.status;
    res.url = a->url;
    res.media_type = a->media_type;
    res.body = buf_span(&a->result.body);
    res.truncated = a->result.truncated;
    res.not_modified = a->result.status == 304 && a->conditional;
    res.headers = a->header;
    res.header_count = a->header_count;
    res.transfer = x;
    res.bytes = a->result.body_bytes;
    if (is_textual(a->media_type)) {
        decide_charset(x);
        res.charset = x->charset.name;
    }
    RUN_GIVE(into, res);
    return TL_OK;
}

/* Absolute form of a reference, or NULL when it is none. */
static const char *absolute(struct run *r, struct buf *href, const struct url *base, struct tl_span ref) {
    struct url u;
    if (!ref.ptr || url_resolve(href, base, ref, true, &u))
        return NULL;
    return arena_text(&r->arena, href->data, href->len);
}

static const char *text_or_null(struct run *r, struct tl_span s) {
    return s.ptr ? arena_span(&r->arena, s) : NULL;
}

static struct robots_tag robots_tag_of(const struct fetch_answer *a) {
    struct robots_tag tag = {0};
    for (size_t i = 0; i < a->header_count; i++)
        if (strcasecmp(a->header[i].name, "x-robots-tag") == 0)
            robots_tag_add(&tag, span_of(a->header[i].value), a->agent ? a->agent : "trotline");
    return tag;
}

static int copy_links(struct run *r, struct tl_html *out, const struct html_page *page, const struct url *base) {
    AUTO_BUF struct buf href = BUF_INIT;
    struct tl_link *link = arena_alloc(&r->arena, (page->link_count + 1) * sizeof *link);
    if (!link)
        return TL_FAILED;
    for (size_t i = 0; i < page->link_count; i++) {
        const struct html_link *from = &page->links[i];
        const char *url = absolute(r, &href, base, from->ref);
        if (!url)
            continue;
        struct tl_link *to = &link[out->link_count++];
        to->url = url;
        to->rel = from->rel.len ? arena_span(&r->arena, from->rel) : "";
        to->text = from->text.len ? arena_span(&r->arena, from->text) : "";
        to->source = from->source;
        to->position = from->position;
        if (!to->rel || !to->text)
            return TL_FAILED;
    }
    out->link = link;
    return TL_OK;
}

int run_html(struct tl_run *pub, const struct tl_response *res, struct tl_html *into) {
    struct run *r = run_of(pub);
    struct run_response *x = res->transfer;
    struct tl_html out = TL_HTML_INIT;
    if (!x)
        return run_fail(r, TL_INVALID, "invalid", "html: this response was not fetched");
    if (!is_html(x->answer.media_type))
        return TL_NOTFOUND; /* not a page: no fault */
    struct tl_span text = as_utf8(x);
    const struct html_options options = {.agent = x->answer.agent};
    if (html_scan(&r->arena, text, &options, &x->page))
        return run_fail(r, TL_FAILED, "memory", "the run's memory is used up by the links of a page");
    AUTO_BUF struct buf own = BUF_INIT, base = BUF_INIT, href = BUF_INIT;
    struct url page_url, base_url;
    if (url_parse(&own, span_of(x->answer.url), NULL, &page_url))
        return run_fail(r, TL_FAILED, "url", "the page's own URL does not parse");
    if (x->page.base.ptr && url_resolve(&base, &page_url, x->page.base, false, &base_url) == TL_OK)
        out.base = arena_text(&r->arena, base.data, base.len);
    else
        base_url = page_url;
    out.title = text_or_null(r, x->page.title);
    out.description = text_or_null(r, x->page.description);
    out.language = text_or_null(r, x->page.language);
    out.canonical = absolute(r, &href, &base_url, x->page.canonical);
    if (x->answer.url == r->final_url) { /* the page is the last that was fetched */
        const char *said = out.canonical ? out.canonical : absolute(r, &href, &base_url, x->page.og_url);
        r->canonical = said && strcmp(said, x->answer.url) != 0 && strlen(said) <= URL_LONGEST ? said : NULL;
    }
    out.text = buf_span(&x->page.text);
    const struct robots_tag tag = robots_tag_of(&x->answer);
    out.nofollow = x->page.nofollow || tag.nofollow;
    out.noindex = x->page.noindex || tag.noindex;
    if (copy_links(r, &out, &x->page, &base_url))
        return run_fail(r, TL_FAILED, "memory", "the run's memory is used up by the links of a page");
    RUN_GIVE(into, out);
    return TL_OK;
}

/* ---- waiting, and links of headers */

int run_later(struct tl_run *pub, const char *url, int64_t until_us, const char *why) {
    struct run *r = run_of(pub);
    if (url && r->backend->hold)
        r->backend->hold(r, url, until_us);
    r->not_before_us = until_us > 0 ? until_us : 1;
    return run_fail(r, TL_RETRY, "rate_limited", "%s", why ? why : "it is to be asked for later");
}

int64_t run_retry_after(struct tl_run *pub, const struct tl_response *res) {
    int64_t seconds;
    (void)pub;
    for (size_t i = 0; i < res->header_count; i++)
        if (strcasecmp(res->headers[i].name, "retry-after") == 0)
            return retry_after_parse(span_of(res->headers[i].value), time_now_us(), &seconds) == TL_OK
                       ? time_seconds_us(seconds)
                       : -1;
    return -1;
}

int run_link_header(struct tl_run *pub, const char *value, const char *base, const char *rel, const char **absolute) {
    struct run *r = run_of(pub);
    AUTO_BUF struct buf text = BUF_INIT;
    struct link_header links;
    struct url url;
    *absolute = NULL;
    bool based = base && url_parse(&text, span_of(base), NULL, &url) == TL_OK;
    int rc = value ? link_header_parse(&r->arena, span_of(value), based ? &url : NULL, &links) : TL_NOTFOUND;
    if (rc && rc != TL_PARTIAL)
        return rc;
    const struct link_header_link *found = link_header_find(&links, rel ? rel : "next");
    if (!found)
        return TL_NOTFOUND;
    *absolute = arena_span(&r->arena, found->url);
    return *absolute ? TL_OK : run_fail(r, TL_FAILED, "memory", "the run's memory is used up");
}
