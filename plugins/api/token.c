/* token.c - OAuth2 tokens for client credentials (RFC 6749, 4.4): one for all runs of a crawl that show the same secret
 * at the same place.
 *
 * Invariant: of a token there is only what the host keeps in memory. It is known by a digest that nobody can make who
 * has not its secret. */
#include <string.h>
#include <strings.h>

#include "api.h"

enum { SECOND = 1000000, UNTOLD = 300, DAY = 86400, MARGIN = 60, TOKEN_MAX = 8 * 1024 };

/* How long it is good, less what a run may still take: seconds. */
static int64_t lasts(struct api *a, const struct tl_response *res) {
    const char *text = tl_json_get(a->run, res->body, "/expires_in");
    int64_t n = text ? api_whole(text) : -1;
    if (n < 0)
        return UNTOLD;
    n = n > DAY ? DAY : n;
    return n - (n / 5 < MARGIN ? n / 5 : MARGIN);
}

/* Of characters that can be seen (RFC 6749, A.12), as it goes into a header. */
static bool is_token(const char *text) {
    size_t n = 0;
    while (text && text[n] > ' ' && text[n] < 0x7f)
        n++;
    return n > 0 && n <= TOKEN_MAX && !text[n];
}

static int read_token(struct api *a, const struct tl_response *res) {
    struct api_text t = {.run = a->run};
    const char *token = res->status == 200 ? tl_json_get(a->run, res->body, "/access_token") : NULL;
    const char *type = tl_json_get(a->run, res->body, "/token_type");
    const char *error = res->status == 200 ? NULL : tl_json_get(a->run, res->body, "/error");
    if (!is_token(token) || (type && strcasecmp(type, "bearer") != 0))
        return tl_fail(a->run, TL_FAILED, "%.200s answered %d%s%.100s, and gave no token of type bearer",
                       a->args->token_url, res->status, error ? ": " : "", error ? error : "");
    api_add(&t, "Bearer ", 7);
    api_add(&t, token, strlen(token));
    a->token = api_end(&t);
    return a->token ? TL_OK : TL_FAILED;
}

static int get_token(struct api *a, const char *id, const char *scope, int64_t *seconds) {
    struct tl_response res = TL_RESPONSE_INIT;
    const struct tl_header accept[] = {{"Accept", "application/json", NULL},
                                       {"Content-Type", "application/x-www-form-urlencoded", NULL}};
    const struct tl_header form[] = {{"grant_type", "client_credentials", NULL},
                                     {"client_id", id, NULL},
                                     {"client_secret", "", a->args->secret},
                                     {"scope", scope, NULL}};
    int rc = tl_fetch(a->run,
                      TL_REQUEST(.kind = TL_API_REQUEST, .method = "POST", .url = a->args->token_url, .headers = accept,
                                 .header_count = 2, .form = form, .form_count = scope ? 4 : 3, .flags = TL_STRIKE),
                      &res);
    if (!rc)
        rc = read_token(a, &res);
    *seconds = rc ? 0 : lasts(a, &res);
    return rc;
}

/* By what it is asked for and by its secret. */
static int name_of(struct api *a, const char *id, const char *scope, char hex[65]) {
    const char *const parts[] = {a->args->token_url, id ? id : "", scope ? scope : ""};
    struct api_text t = {.run = a->run};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        api_add(&t, parts[i], strlen(parts[i]));
        api_add(&t, "\n", 1);
    }
    const char *text = api_end(&t);
    return text ? tl_hmac(a->run, a->args->secret, (struct tl_span){text, t.len - 1}, hex) : TL_FAILED;
}

int api_token(struct api *a) {
    const char *as = api_says(a, "/secret/as"), *id = api_says(a, "/secret/client_id");
    const char *scope = api_says(a, "/secret/scope"), *stale = a->token;
    char hex[65];
    int64_t seconds;
    if (!as || strcmp(as, "oauth2") != 0 || !a->args->secret)
        return TL_OK;
    if (!a->args->token_url)
        return tl_fail(a->run, TL_FAILED, "API %s wants the argument `token_url`", a->name);
    int rc = name_of(a, id, scope, hex);
    if (rc || (rc = tl_share_get(a->run, hex, stale, &a->token)) != TL_NOTFOUND)
        return rc;
    rc = get_token(a, id, scope, &seconds);
    int shared =
        tl_share_put(a->run, hex, seconds > 0 ? a->token : NULL, a->run->host->now_us(a->run) + seconds * SECOND);
    return rc ? rc : shared;
}
