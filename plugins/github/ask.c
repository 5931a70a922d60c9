/* ask.c - requests to the API: which token, and what to do when its limits are reached.
 *
 * A repository keeps its token, because what has changed since is answered per token. A token that is used up, or is to
 * be left alone, sits on the bench until it may be used again; meanwhile others ask. When all are benched, a short
 * while is slept, a longer one puts the run back: that is no failure, and costs no attempt. Only what is said to be a
 * limit is one: any other 403 is an answer. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "github.h"

enum { TOKENS = 64, SLEEP_MOST_US = 20000000, SLEPT_MOST_US = 60000000, SECOND = 1000000, SECONDARY_US = 60000000 };

struct pool { /* of this worker; others learn the same by themselves, at the cost of a request */
    struct token {
        char name[72];
        int64_t until_us;
    } token[TOKENS];
    size_t count;
};

struct pool *ask_pool(void) {
    return calloc(1, sizeof(struct pool));
}

static struct token *token_of(struct pool *p, const char *name) {
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->token[i].name, name) == 0)
            return &p->token[i];
    if (p->count == TOKENS || strlen(name) >= sizeof p->token[0].name)
        return NULL;
    strncat(p->token[p->count].name, name, sizeof p->token[0].name - 1);
    return &p->token[p->count++];
}

const char *ask_header(const struct tl_response *r, const char *name) {
    for (size_t i = 0; i < r->header_count; i++)
        if (strcasecmp(r->headers[i].name, name) == 0)
            return r->headers[i].value;
    return NULL;
}

static int64_t header_number(const struct tl_response *r, const char *name) { /* -1: none */
    const char *text = ask_header(r, name);
    size_t n = text ? strspn(text, "0123456789") : 0;
    return n > 0 && n < 18 && text[n] == '\0' ? strtoll(text, NULL, 10) : -1;
}

/* ---- choosing */

/* A number for the repository, organisation or user that the URL is about. */
static size_t pin_of(const char *url) {
    static const char *const roots[] = {"/repos/", "/repositories/", "/orgs/", "/users/", "/teams/"};
    const char *at = url;
    size_t hash = 5381, parts = 2;
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        if (strstr(url, roots[i])) {
            at = strstr(url, roots[i]) + 1;
            parts = i == 0 ? 3 : 2;
            break;
        }
    for (; *at && *at != '?' && (*at != '/' || --parts > 0); at++)
        hash = hash * 33 + (unsigned char)*at;
    return hash;
}

/* The first that may be used, from the one that the URL is pinned to. *wait_until: when one may, if none may now. */
static struct token *choose(struct pool *p, const struct args *a, const char *url, int64_t now, int64_t *wait_until) {
    size_t n = a->token.count ? a->token.count : 1, first = pin_of(url) % n;
    *wait_until = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        struct token *t = token_of(p, a->token.count ? a->token.item[(first + i) % n] : "");
        if (t && t->until_us <= now)
            return t;
        if (t && t->until_us < *wait_until)
            *wait_until = t->until_us;
    }
    return NULL;
}

/* ---- judging */

static bool mentions(struct tl_span body, const char *words) {
    size_t n = strlen(words);
    for (size_t i = 0; i + n <= body.len && i < 4096; i++)
        if (strncasecmp(body.ptr + i, words, n) == 0)
            return true;
    return false;
}

static int64_t reset_us(const struct tl_response *r, int64_t now) { /* 0: not said, or it is over */
    int64_t at = header_number(r, "x-ratelimit-reset");
    return at > 0 && at < INT64_MAX / SECOND - 1 && (at + 1) * SECOND > now ? (at + 1) * SECOND : 0;
}

/* Until when the token is to be left alone because of this answer; 0: it is no refusal for a limit. */
static int64_t throttled(struct tl_run *run, const struct tl_response *r, int64_t now) {
    enum { DAY = 86400 };
    int64_t retry = tl_retry_after(run, r), reset = reset_us(r, now);
    if (reset > now + (int64_t)DAY * SECOND) /* no time of this world */
        reset = 0;
    if (r->status == 503)
        return retry >= 0 ? now + retry : 0;
    if (r->status != 403 && r->status != 429)
        return 0;
    if (retry >= 0)
        return now + retry;
    if (header_number(r, "x-ratelimit-remaining") == 0)
        return reset ? reset : now + SECONDARY_US;
    if (r->status == 429 || mentions(r->body, "secondary rate limit") || mentions(r->body, "abuse detection") ||
        mentions(r->body, "rate limit exceeded"))
        return now + SECONDARY_US;
    return 0;
}

/* Before a token is used up it is benched, so that a few requests are left for others. */
static void mind(struct token *t, const struct args *a, const struct tl_response *r, int64_t now) {
    int64_t left = header_number(r, "x-ratelimit-remaining"), limit = header_number(r, "x-ratelimit-limit");
    int64_t low = limit >= 0 && limit / 10 < a->low_water ? limit / 10 : a->low_water, reset = reset_us(r, now);
    if (left >= 0 && left < low && reset && reset < now + 7200 * (int64_t)SECOND)
        t->until_us = reset;
}

/* ---- asking */

static int ask_once(struct tl_run *run, const char *token, const char *url, bool conditional, struct tl_response *out) {
    const char *value = *token ? text_format(run, "Bearer secret:%s", token) : NULL;
    const struct tl_header headers[] = {{"Accept", "application/vnd.github+json", NULL},
                                        {"X-GitHub-Api-Version", "2022-11-28", NULL},
                                        {"Authorization", value, NULL}};
    return tl_fetch(run,
                    TL_REQUEST(.kind = TL_API_REQUEST, .url = url, .headers = headers, .header_count = value ? 3 : 2,
                               .revalidate = conditional, .flags = TL_OWN_WAITS),
                    out);
}

static int64_t now_of(struct tl_run *run) {
    return run->host->now_us(run);
}

int ask(struct pool *p, struct tl_run *run, const struct args *a, const char *url, bool conditional,
        struct tl_response *out) {
    int64_t slept = 0, until, now;
    for (;;) {
        struct token *t = choose(p, a, url, now = now_of(run), &until);
        if (!t && until == INT64_MAX)
            return tl_fail(run, TL_FAILED, "more than %d tokens", TOKENS);
        if (!t && (until - now > SLEEP_MOST_US || slept > SLEPT_MOST_US))
            return tl_later(run, url, until,
                            a->token.count > 1 ? "the limits of all tokens are reached"
                                               : "the rate limit of the API is reached");
        if (!t) {
            int rc = tl_sleep(run, (until - now) / 1000 + 1);
            slept += until - now;
            if (rc)
                return rc;
            continue;
        }
        *out = (struct tl_response)TL_RESPONSE_INIT;
        int rc = ask_once(run, t->name, url, conditional, out);
        if (rc)
            return rc;
        now = now_of(run);
        if (!(until = throttled(run, out, now))) {
            mind(t, a, out, now);
            return TL_OK;
        }
        tl_log(run, TL_INFO, "%s: %d, not to be asked for %lld s%s%s", url, out->status,
               (long long)((until - now) / SECOND), *t->name ? " with token " : "", t->name);
        t->until_us = until > now ? until : now;
        slept += until <= now ? SECOND : 0; /* "at once", for ever, is a wait as well */
    }
}
