/* ask.c - one request: its headers, its credential, and the waits that the API asks for.
 *
 * The secret is a handle until the host sends it; what an answer repeats of it is struck out (TL_STRIKE). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api.h"

enum { SECOND = 1000000, DAY = 86400, WAITS_MOST = 5, PAUSE = 30 * SECOND, SLEEP_MOST = 90 * SECOND };

static const char *header(const struct tl_response *res, const char *name) {
    for (size_t i = 0; name && i < res->header_count; i++)
        if (strcasecmp(res->headers[i].name, name) == 0)
            return res->headers[i].value;
    return NULL;
}

/* The number at the start of a header; -1: there is none. "1.5" is 1. */
static int64_t number(const char *text) {
    char *end = NULL;
    long long n = text && *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : -1;
    return n >= 0 && n < INT64_MAX / SECOND ? n : -1;
}

/* ---- limits ---- */

/* Microseconds until there are requests again, as the headers that the description names tell; -1: they do not. */
static int64_t until_reset(struct api *a, const struct tl_response *res) {
    const char *is = api_says(a, "/limits/reset_is");
    int64_t reset = number(header(res, api_says(a, "/limits/reset"))), now = a->run->host->now_us(a->run) / SECOND;
    if (reset < 0)
        return -1;
    if (is && strcmp(is, "unix_ms") == 0)
        reset = reset / 1000 + 1 - now;
    else if (is && strcmp(is, "unix") == 0)
        reset = reset + 1 - now;
    return reset < 0 ? 0 : reset > DAY ? -1 : reset * SECOND;
}

/* "1s", "5 m", "60": seconds. */
static int64_t interval(const char *text) {
    int64_t n = number(text);
    if (n < 0)
        return -1;
    text += strspn(text, "0123456789 ");
    return n * (*text == 'm' ? 60 : *text == 'h' ? 3600 : *text == 'd' ? DAY : 1);
}

/* How long the next request has to wait although this one was answered. */
static void note_pace(struct api *a, const struct tl_response *res) {
    int64_t left = number(header(res, api_says(a, "/limits/remaining"))), wait = left == 0 ? until_reset(a, res) : 0;
    int64_t limit = number(header(res, api_says(a, "/limits/limit")));
    int64_t length = interval(header(res, api_says(a, "/limits/interval")));
    a->pause_us = wait > 0 ? wait : 0;
    if (limit > 0 && length > 0 && length <= DAY && length * SECOND / limit > a->pause_us)
        a->pause_us = length * SECOND / limit;
}

/* Waits, or has the run put back, which costs it no attempt; what was got before is kept. */
static int hold(struct api *a, const char *url, int64_t wait_us) {
    if (wait_us <= 0)
        return TL_OK;
    if (a->slept_us + wait_us > SLEEP_MOST)
        return a->done ? tl_fail(a->run, TL_PARTIAL,
                                 "the limit of %s is reached after %zu pages; it wants a wait of "
                                 "%lld s",
                                 a->name, a->done, (long long)(wait_us / SECOND))
                       : tl_later(a->run, url, a->run->host->now_us(a->run) + wait_us, "the API's limit is reached");
    a->slept_us += wait_us;
    return tl_sleep(a->run, wait_us / 1000 + 1);
}

/* How long to wait before the same is asked again; -1: that is no use. */
static int64_t asked_wait(struct api *a, const struct tl_response *res) {
    int64_t after = tl_retry_after(a->run, res), reset = until_reset(a, res);
    bool none_left = number(header(res, api_says(a, "/limits/remaining"))) == 0;
    if (res->status != 429 && !(res->status == 503 && after >= 0) && !(res->status == 403 && none_left))
        return -1;
    return after >= 0 ? after : reset >= 0 ? reset : PAUSE;
}

/* ---- the request ---- */

struct request {
    struct tl_header header[API_HEADERS], query[1];
    size_t headers, parameters;
    struct tl_span body;
    const char *method;
};

static int add_headers(struct api *a, struct request *q) {
    struct tl_json list, at = {0};
    if (a->run->host->json(a->run, a->description, "/headers", &list) || list.type != TL_JSON_OBJECT)
        return TL_OK;
    while (a->run->host->json_next(a->run, &list, &at) == TL_OK && q->headers < API_HEADERS - 4) {
        struct tl_json key = {.type = TL_JSON_STRING, .raw = at.key};
        const char *name = a->run->host->json_text(a->run, &key), *text = a->run->host->json_text(a->run, &at), *value;
        int rc = name && text ? api_fill(a, text, API_IN_TEXT, NULL, &value) : TL_NOTFOUND;
        if (rc == TL_NOTFOUND)
            continue;
        if (rc)
            return rc;
        q->header[q->headers++] = (struct tl_header){name, value, NULL};
    }
    return TL_OK;
}

static int add_secret(struct api *a, struct request *q) {
    const char *as = api_says(a, "/secret/as"), *name = api_says(a, "/secret/name"),
               *user = api_says(a, "/secret/user");
    const struct tl_secret *secret = a->args->secret;
    struct api_text basic = {.run = a->run};
    if (a->token)
        q->header[q->headers++] = (struct tl_header){"Authorization", a->token, NULL};
    if (!as || !secret || a->token)
        return TL_OK;
    if (strcmp(as, "query") == 0 && name)
        q->query[q->parameters++] = (struct tl_header){name, "", secret};
    else if (strcmp(as, "header") == 0 && name)
        q->header[q->headers++] = (struct tl_header){name, "", secret};
    else if (strcmp(as, "bearer") == 0)
        q->header[q->headers++] = (struct tl_header){"Authorization", "Bearer ", secret};
    else if (strcmp(as, "basic") == 0 && user) {
        api_add(&basic, "Basic ", 6);
        api_add(&basic, user, strlen(user));
        api_add(&basic, ":", 1);
        const char *value = api_end(&basic);
        if (!value)
            return TL_FAILED;
        q->header[q->headers++] = (struct tl_header){"Authorization", value, secret};
    }
    return TL_OK;
}

static int add_body(struct api *a, struct request *q) {
    const char *text = api_says(a, "/body"), *type = api_says(a, "/body_type"), *value;
    bool json = !type || strcmp(type, "json") == 0, form = type && strcmp(type, "form") == 0;
    if (!text || strcmp(q->method, "GET") == 0)
        return TL_OK;
    int rc = api_fill(a, text, json ? API_IN_JSON : form ? API_IN_URL : API_IN_TEXT, NULL, &value);
    if (rc)
        return rc == TL_NOTFOUND ? tl_fail(a->run, TL_FAILED, "the body of API %s names what is not given", a->name)
                                 : rc;
    q->body = (struct tl_span){value, strlen(value)};
    q->header[q->headers++] = (struct tl_header){"Content-Type",
                                                 json   ? "application/json"
                                                 : form ? "application/x-www-form-urlencoded"
                                                        : "text/plain; charset=utf-8",
                                                 NULL};
    return TL_OK;
}

static int make_request(struct api *a, struct request *q) {
    *q = (struct request){.method = api_says(a, "/method")};
    if (!q->method)
        q->method = "GET";
    int rc = add_headers(a, q);
    if (!rc)
        rc = add_secret(a, q);
    return rc ? rc : add_body(a, q);
}

const char *api_explained(struct api *a, int status) {
    struct api_text t = {.run = a->run};
    char pointer[32] = "/explain/other";
    if (status)
        snprintf(pointer, sizeof pointer, "/explain/%d", status);
    const char *text = api_says(a, pointer);
    if (!text)
        return "";
    api_add(&t, " (", 2);
    api_add(&t, text, strlen(text) < 400 ? strlen(text) : 400);
    api_add(&t, ")", 1);
    return api_end(&t) ? t.ptr : "";
}

static int refused(struct api *a, const struct tl_response *res) {
    a->gone = res->status == 400 || res->status == 404 || res->status == 410 || res->status == 422;
    const char *pointer = api_says(a, "/error"), *said = pointer ? tl_json_get(a->run, res->body, pointer) : NULL;
    const char *explained = api_explained(a, res->status);
    if (!*explained && a->args->secret && (res->status == 401 || res->status == 403))
        explained = " (the secret is not accepted, or was not sent: it goes to the origins alone that it is bound to)";
    return tl_fail(a->run, TL_FAILED, "%.300s answered %d%s%.200s%s", res->url, res->status, said ? ": " : "",
                   said ? said : "", explained);
}

int api_ask(struct api *a, const char *url, struct tl_response *res) {
    struct request q;
    int rc = make_request(a, &q);
    if (!rc)
        rc = hold(a, url, a->pause_us);
    while (!rc) {
        rc = tl_fetch(a->run,
                      TL_REQUEST(.kind = TL_API_REQUEST, .url = url, .method = q.method, .headers = q.header,
                                 .header_count = q.headers, .query = q.query, .query_count = q.parameters,
                                 .body = q.body, .flags = TL_OWN_WAITS | TL_STRIKE),
                      res);
        if (rc)
            return rc;
        note_pace(a, res);
        if (res->status >= 200 && res->status < 300) {
            a->renewed = false;
            return TL_OK;
        }
        if (res->status == 401 && a->token && !a->renewed) {
            a->renewed = true;
            if ((rc = api_token(a)) == TL_OK)
                rc = make_request(a, &q);
            continue;
        }
        int64_t wait = asked_wait(a, res);
        if (wait < 0 || ++a->waits > WAITS_MOST)
            return refused(a, res);
        rc = hold(a, url, wait ? wait : SECOND);
    }
    return rc;
}
