/* fetch_robots.c - see fetch_robots.h. */
#include "net/fetch_robots.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/times.h"
#include "net/robots.h"

enum { BUCKETS = 1024 };
struct fetch_robots_entry {
    struct fetch_robots_entry *next;
    const struct fetch_robots *owner;
    char *origin;
    enum fetch_robots_state state;
    int64_t until_us;
    struct robots *rules; /* NULL: no rules, everything is allowed */
    bool unreachable, guarded, untrusted;
    char why[160];
};
struct fetch_robots {
    char *agent;
    struct fetch_robots_entry *bucket[BUCKETS];
};

struct fetch_robots *fetch_robots_new(const char *agent) {
    struct fetch_robots *r = mem_alloc(sizeof *r);
    r->agent = mem_text(agent);
    return r;
}

void fetch_robots_free(struct fetch_robots *r) {
    if (!r)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct fetch_robots_entry *e = r->bucket[i], *next; e; e = next) {
            next = e->next;
            robots_free(e->rules);
            free(e->origin);
            free(e);
        }
    free(r->agent);
    free(r);
}

struct fetch_robots_entry *fetch_robots_of(struct fetch_robots *r, struct tl_span origin) {
    static const struct hash_key key = {1, 2};
    struct fetch_robots_entry **head = &r->bucket[hash_sip(&key, origin.ptr, origin.len) % BUCKETS];
    for (struct fetch_robots_entry *e = *head; e; e = e->next)
        if (span_eq(origin, e->origin))
            return e;
    struct fetch_robots_entry *e = mem_alloc(sizeof *e);
    e->owner = r;
    e->origin = mem_text_n(origin.ptr, origin.len);
    e->next = *head;
    *head = e;
    return e;
}

enum fetch_robots_state fetch_robots_state(struct fetch_robots_entry *e, int64_t now_us) {
    if (e->state == FETCH_ROBOTS_KNOWN && now_us > e->until_us)
        e->state = FETCH_ROBOTS_UNKNOWN;
    return e->state;
}

void fetch_robots_begin(struct fetch_robots_entry *e) {
    e->state = FETCH_ROBOTS_UNDER_WAY;
}

void fetch_robots_give_up(struct fetch_robots_entry *e) {
    e->state = FETCH_ROBOTS_UNKNOWN;
}

void fetch_robots_learn(struct fetch_robots_entry *e, const struct transfer_result *r) {
    robots_free(e->rules);
    e->rules = NULL;
    e->unreachable = false;
    e->guarded = r->error == TRANSFER_GUARD;
    e->untrusted = r->error == TRANSFER_TLS;
    e->state = FETCH_ROBOTS_KNOWN;
    e->until_us = time_mono_us() + time_seconds_us(86400);
    if (r->error == TRANSFER_OK && r->status >= 200 && r->status < 300) {
        if (robots_parse(buf_span(&r->body), e->owner->agent, &e->rules))
            e->rules = NULL;
    } else if (r->error != TRANSFER_OK || r->status >= 500 || r->status == 429) {
        e->unreachable = true;
        e->until_us = time_mono_us() + time_seconds_us(30);
        if (r->error != TRANSFER_OK)
            snprintf(e->why, sizeof e->why, "%s: %.120s", transfer_error_name[r->error], r->text);
        else
            snprintf(e->why, sizeof e->why, "the server answered %d", r->status);
    }
}

void fetch_robots_remember(struct fetch_robots_entry *e, bool rules, struct tl_span text, int64_t left_us) {
    robots_free(e->rules);
    e->rules = NULL;
    e->unreachable = e->guarded = e->untrusted = false;
    if (rules && robots_parse(text, e->owner->agent, &e->rules))
        e->rules = NULL;
    e->state = FETCH_ROBOTS_KNOWN;
    e->until_us = time_mono_us() + left_us;
}

const struct robots *fetch_robots_rules(const struct fetch_robots_entry *e) {
    return e->rules;
}

int64_t fetch_robots_delay_us(const struct fetch_robots_entry *e) {
    int64_t ms = e->rules ? robots_delay_ms(e->rules) : -1;
    return ms < 0 ? -1 : ms * 1000;
}

enum fetch_robots_verdict fetch_robots_verdict(const struct fetch_robots_entry *e, const struct url *url,
                                               const char **why) {
    *why = e->why;
    if (e->guarded)
        return FETCH_ROBOTS_GUARDED;
    if (e->untrusted)
        return FETCH_ROBOTS_UNTRUSTED;
    if (e->unreachable)
        return FETCH_ROBOTS_UNREACHABLE;
    if (!e->rules)
        return FETCH_ROBOTS_ALLOWED;
    const char *end = url->has_query ? url->query.ptr + url->query.len : url->path.ptr + url->path.len;
    return robots_allowed(e->rules, (struct tl_span){url->path.ptr, (size_t)(end - url->path.ptr)})
               ? FETCH_ROBOTS_ALLOWED
               : FETCH_ROBOTS_FORBIDDEN;
}
