/* super_facts.c - what outlives a crawl: answers to what workers ask of it, and what they learned, written with the
 * commit.
 *
 * A page that its server calls unchanged has no new document; its run names the earlier one, and every so often it is
 * fetched in full all the same, because servers are wrong at times. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/times.h"
#include "engine/run.h"
#include "engine/super_inside.h"
#include "net/url.h"

enum { LONG_HOLD_US = 5000000 }; /* a shorter one is not worth a row */

/* ---- questions */

static struct store_url known_by(const char *canonical) {
    const struct tl_span text = span_of(canonical);
    return (struct store_url){text, url_key(text)};
}

static int answer_validators(struct super *s, const char *url, const char *credential, struct buf *value) {
    struct store_validator v;
    int rc = store_validator_get(s->store, known_by(url), credential, &v);
    if (rc)
        return rc;
    if (s->config->fetch.full_every > 0 && v.unchanged + 1 >= s->config->fetch.full_every)
        return TL_NOTFOUND; /* in full this time */
    message_text(value, v.etag);
    message_text(value, v.last_modified);
    return TL_OK;
}

/* Most runs ask for their own URL: its conditions go along, so that no worker waits for an answer. */
void super_conditions(struct super *s, const struct super_job *j, struct buf *m) {
    AUTO_BUF struct buf url = BUF_INIT, value = BUF_INIT;
    message_u8(m, s->has_validators);
    if (s->has_validators && j->url && *j->url && url_canonical(&url, span_of(j->url)) == TL_OK)
        answer_validators(s, url.data, "", &value);
    message_span(m, buf_span(&value));
}

/* "host:port" of an origin, as hosts are named in the catalog; *tls: it is https. */
static int host_of_origin(const char *origin, struct buf *name, bool *tls) {
    AUTO_BUF struct buf href = BUF_INIT;
    struct url u;
    if (url_parse(&href, span_of(origin), NULL, &u) || !u.host.len)
        return TL_INVALID;
    *tls = span_eq(u.scheme, "https");
    buf_add(name, u.host.ptr, u.host.len);
    buf_printf(name, ":%d", url_effective_port(&u));
    return TL_OK;
}

static int answer_robots(struct super *s, const char *origin, struct buf *value) {
    AUTO_BUF struct buf name = BUF_INIT;
    struct store_host_state state;
    int64_t host;
    bool tls;
    if (host_of_origin(origin, &name, &tls) || store_host_find(s->store, buf_span(&name), &host) ||
        store_host_state(s->store, host, &state) || !state.robots || state.robots_tls != tls)
        return TL_NOTFOUND;
    message_u8(value, (uint8_t)state.robots);
    message_i64(value, store_now_us(s->store) - state.robots_us);
    message_span(value, state.robots_text);
    return TL_OK;
}

void super_answer(struct super *s, int kind, struct super_job *j, const char *a, const char *b, struct buf *value,
                  int *status) {
    *status = TL_NOTFOUND;
    if (kind == ASK_STATE && s->o->crawl->lock)
        *status = store_state_get(s->store, s->root->name, j->collector->key, span_of(a), value);
    else if (kind == ASK_VALIDATORS)
        *status = answer_validators(s, a, b, value);
    else if (kind == ASK_ROBOTS)
        *status = answer_robots(s, a, value);
    else if (kind == ASK_EARLIER)
        *status = super_earlier(s, a, value);
    else if (kind == ASK_UNSEEN)
        *status = super_unseen(s, a, value);
    else if (kind == ASK_SHARED)
        *status = super_share_get(s, j, a, b, value);
}

/* ---- facts */

struct fact {
    int kind;
    const char *a, *b, *c, *d;
};

static bool next_fact(struct message *m, struct fact *f) {
    f->kind = message_get_u8(m);
    f->a = message_get_text(m);
    f->b = message_get_text(m);
    f->c = message_get_text(m);
    f->d = message_get_text(m);
    return !m->bad && f->a;
}

/* A lasting redirect. Where the run's own document came from is known better (super_urls.c). */
static int record_moved(struct super *s, const struct super_job *j, const struct fact *f) {
    AUTO_BUF struct buf from = BUF_INIT, to = BUF_INIT;
    if (!f->b || (j->document && j->asked_url && strcmp(j->asked_url, f->a) == 0) ||
        url_canonical(&from, span_of(f->a)) || url_canonical(&to, span_of(f->b)) || strcmp(from.data, to.data) == 0)
        return TL_OK;
    return store_url_map(s->store, known_by(from.data), known_by(to.data), STORE_URL_REDIRECT, j->wall_finished_us);
}

static int record_robots(struct super *s, const struct fact *f) {
    AUTO_BUF struct buf name = BUF_INIT;
    int64_t host = 0;
    bool tls;
    if (host_of_origin(f->a, &name, &tls))
        return TL_OK;
    int rc = store_host(s->store, buf_span(&name), &host);
    return rc ? rc : store_host_robots(s->store, host, tls, f->b && f->b[0] == '1' ? 1 : 2, span_of(f->c));
}

int super_facts_record(struct super *s, struct super_job *j) {
    struct message m = {.at = j->facts.data, .end = j->facts.data + j->facts.len};
    struct fact f;
    int rc = TL_OK;
    while (m.at < m.end && !rc && next_fact(&m, &f)) {
        const struct store_validator v = {
            .etag = f.c, .last_modified = f.d, .run = j->run, .at_us = j->wall_finished_us};
        if (f.kind == RUN_VALIDATOR && j->document && j->state_now == STORE_SUCCESS)
            rc = store_validator_put(s->store, known_by(f.a), f.b, &v);
        else if (f.kind == RUN_UNCHANGED && j->state_now == STORE_NOT_MODIFIED)
            rc = store_validator_unchanged(s->store, known_by(f.a), f.b, j->wall_finished_us);
        else if (f.kind == RUN_FORGET)
            rc = store_validator_forget(s->store, known_by(f.a), f.b);
        else if (f.kind == RUN_MOVED)
            rc = record_moved(s, j, &f);
        else if (f.kind == RUN_ROBOTS)
            rc = record_robots(s, &f);
    }
    return rc;
}

int64_t super_unchanged_ref(struct super *s, const struct super_job *j) {
    struct message m = {.at = j->facts.data, .end = j->facts.data + j->facts.len};
    struct store_validator v;
    struct fact f;
    int64_t run = 0;
    while (m.at < m.end && next_fact(&m, &f))
        if (f.kind == RUN_STANDS && store_result_run(s->store, f.a, &run) == TL_OK)
            return run;
        else if (f.kind == RUN_UNCHANGED && store_validator_get(s->store, known_by(f.a), f.b, &v) == TL_OK)
            return v.run;
    return 0;
}

/* ---- hosts: what they asked for outlives the process */

static void recall(struct super *s, struct super_host *h) {
    struct store_host_state state;
    if (store_host_state(s->store, h->key, &state))
        return;
    int64_t left = state.until_us - store_now_us(s->store);
    h->held_until_us = state.until_us;
    if (left > 0)
        pacing_hold(h->row, time_mono_us() + left);
}

struct super_host *super_host_add(struct super *s, int64_t key, struct tl_span host_port) {
    MEM_GROW(s->host, s->host_count, s->host_room);
    struct super_host *h = &s->host[s->host_count++];
    *h = (struct super_host){.key = key,
                             .row = pacing_find(&s->shared->pacing, host_port),
                             .rule = host_rule_pacing(host_rule_named(&s->config->fetch.rules, host_port))};
    recall(s, h);
    return h;
}

int super_hosts_record(struct super *s) {
    int64_t mono = time_mono_us();
    int rc = TL_OK;
    for (size_t i = 0; i < s->host_count && !rc; i++) {
        struct super_host *h = &s->host[i];
        int64_t held = pacing_held(h->row, mono);
        if (held < LONG_HOLD_US)
            continue;
        int64_t until = store_now_us(s->store) + held;
        if (until - h->held_until_us < LONG_HOLD_US)
            continue;
        h->held_until_us = until;
        rc = store_host_pace(s->store, h->key, pacing_delay(h->row, &h->rule), until);
    }
    return rc;
}
