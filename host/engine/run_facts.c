/* run_facts.c - what a run learns beside its document: validators of URLs, lasting redirects, robots.txt of hosts.
 *
 * Validators belong to a URL as it is asked and to the credentials it is asked with. They are kept verbatim, and only
 * of answers that are in the run's document in full; so a 304 always stands for a document. */
#include <stdio.h>
#include <strings.h>

#include "base/mem.h"
#include "engine/run.h"
#include "net/url.h"

enum { FACTS_MOST = 1000, VALUE_MOST = 2000 };

void run_fact(struct run *r, enum run_fact_kind kind, const char *a, const char *b, const char *c, const char *d) {
    const char *from[] = {a, b, c, d};
    const char *copy[4] = {0};
    if (r->fact_count >= FACTS_MOST)
        return;
    for (size_t i = 0; i < COUNT_OF(from); i++)
        if (from[i] && !(copy[i] = arena_text(&r->arena, from[i], strlen(from[i]))))
            return; /* what is not remembered is asked for again */
    MEM_GROW(r->fact, r->fact_count, r->fact_room);
    r->fact[r->fact_count++] = (struct run_fact){kind, copy[0], copy[1], copy[2], copy[3]};
}

static int canonical(const char *url, struct buf *out) {
    return url_canonical(out, span_of(url)) || out->len > VALUE_MOST ? TL_INVALID : TL_OK;
}

/* The headers that carry a secret, by name and by the secret's name: another credential, another answer. */
static void credential_of(const struct tl_request *q, struct buf *out) {
    for (size_t i = 0; i < q->header_count; i++) {
        const char *value = q->headers[i].value ? q->headers[i].value : "", *mark = strstr(value, "secret:");
        if (q->headers[i].secret || mark)
            buf_printf(out, "%.100s=%.100s;", q->headers[i].name ? q->headers[i].name : "", mark ? mark + 7 : value);
    }
    if (q->flags & TL_COOKIES)
        buf_lit(out, "cookies;");
}

static bool can_be_conditional(const struct tl_request *q) {
    bool get = !q->method || strcmp(q->method, "GET") == 0;
    for (size_t i = 0; i < q->header_count; i++)
        if (q->headers[i].name &&
            (strcasecmp(q->headers[i].name, "range") == 0 || strncasecmp(q->headers[i].name, "if-", 3) == 0))
            return false;
    return get && q->revalidate && !q->body.len && !q->form_count && !q->query_count && !q->attach;
}

int run_conditions(struct run *r, const struct tl_request *q) {
    AUTO_BUF struct buf url = BUF_INIT, credential = BUF_INIT, etag = BUF_INIT, modified = BUF_INIT;
    r->etag = r->last_modified = NULL;
    if (!can_be_conditional(q) || !r->backend->validators || canonical(q->url, &url))
        return TL_OK;
    credential_of(q, &credential);
    int rc = r->backend->validators(r, url.data, credential.data ? credential.data : "", &etag, &modified);
    if (rc == TL_CANCEL)
        return rc;
    if (!rc && etag.len)
        r->etag = arena_text(&r->arena, etag.data, etag.len);
    if (!rc && modified.len)
        r->last_modified = arena_text(&r->arena, modified.data, modified.len);
    return TL_OK;
}

static const char *header(const struct fetch_answer *a, const char *name) {
    for (size_t i = 0; i < a->header_count; i++)
        if (strcasecmp(a->header[i].name, name) == 0)
            return strlen(a->header[i].value) <= VALUE_MOST ? a->header[i].value : NULL;
    return NULL;
}

void run_remember_validators(struct run *r, const struct tl_request *q, const struct fetch_answer *a) {
    AUTO_BUF struct buf url = BUF_INIT, credential = BUF_INIT, final = BUF_INIT;
    if (!can_be_conditional(q) || canonical(q->url, &url))
        return;
    credential_of(q, &credential);
    const char *whose = credential.data ? credential.data : "";
    if (a->result.status == 304 && a->conditional)
        run_fact(r, RUN_UNCHANGED, url.data, whose, NULL, NULL);
    if (a->result.status == 404 ||
        a->result.status == 410) /* should it come back, a 304 would stand for what is gone */
        run_fact(r, RUN_FORGET, url.data, whose, NULL, NULL);
    if (a->result.status != 200 || a->result.truncated || !a->url || canonical(a->url, &final) ||
        strcmp(final.data, url.data) != 0)
        return; /* of a redirect's target nothing is known by this name */
    const char *etag = header(a, "etag"), *modified = header(a, "last-modified");
    if (etag || modified)
        run_fact(r, RUN_VALIDATOR, url.data, whose, etag, modified);
}

/* What stands for a URL when others ask for it: said of the last request alone. */
void run_remember_request(struct run *r, const struct tl_request *q, const struct fetch_answer *a) {
    bool get = (!q->method || strcmp(q->method, "GET") == 0) && !q->body.len && !q->form_count;
    bool plain = get && !q->attach && !q->query_count && !(q->flags & TL_COOKIES);
    r->asked_url = r->canonical = NULL;
    for (size_t i = 0; i < q->header_count; i++) /* other headers, another answer perhaps */
        plain = plain && !q->headers[i].name;
    r->plain = plain && a->outcome == FETCH_ANSWER && a->result.status >= 200 && a->result.status < 300 &&
               !a->result.truncated;
    if (get && q->url && strlen(q->url) <= VALUE_MOST)
        r->asked_url = arena_text(&r->arena, q->url, strlen(q->url));
}
