/* super_claim.c - the next runs: as many as their workers can take and their hosts can bear. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/times.h"
#include "engine/super_inside.h"
#include "net/url.h"

enum { LEASE_US = 60000000, AT_ONCE = 256, HOST_SPAN_US = 2000000, LIST_MAX = 256 };

struct claiming {
    struct super *s;
    int64_t now;
    struct super_job *first, **end;
    size_t count, total_room;
    int64_t blocked_host[LIST_MAX], blocked_collector[LIST_MAX];
    size_t hosts, collectors;
    int rc;
};

static void block(int64_t *list, size_t *count, int64_t key) {
    for (size_t i = 0; i < *count; i++)
        if (list[i] == key)
            return;
    if (*count < LIST_MAX)
        list[(*count)++] = key;
}

static struct super_host *host_of(struct super *s, int64_t key, struct tl_span url) {
    AUTO_BUF struct buf href = BUF_INIT, name = BUF_INIT;
    struct url u;
    for (size_t i = 0; i < s->host_count; i++)
        if (s->host[i].key == key)
            return &s->host[i];
    if (url_parse(&href, url, NULL, &u))
        return NULL;
    buf_add(&name, u.host.ptr, u.host.len);
    buf_printf(&name, ":%d", url_effective_port(&u));
    return super_host_add(s, key, buf_span(&name));
}

static struct super_job *job_of_claim(struct super *s, const struct store_claimed *r) {
    struct super_job *j = super_job_new(s);
    j->collector = super_collector_by_key(s, r->collector);
    j->run = r->key;
    j->token = r->token;
    j->parent = r->parent;
    j->depth = r->depth;
    j->reach = r->reach;
    j->attempts = r->attempts;
    j->target = r->target;
    j->host = r->host;
    j->scope = super_scope_find(s, r->scope);
    j->run_id = r->run_id;
    j->parent_id = r->parent_id;
    j->result_id = uuid_new();
    j->edge = r->edge;
    j->line = r->line;
    memcpy(j->digest, r->digest, STORE_DIGEST);
    j->path_count = r->path_count;
    j->path = mem_array(NULL, r->path_count + 1, sizeof *j->path);
    memcpy(j->path, r->path, r->path_count * sizeof *j->path);
    j->payload = mem_text_n(r->payload.ptr, r->payload.len);
    j->payload_len = r->payload.len;
    j->url = mem_text_n(r->url.ptr, r->url.len);
    j->context = mem_text(r->context);
    int64_t line_time = j->scope->run_time_us, run_time = s->config->workers.run_us;
    j->deadline_is_line = line_time <= run_time;
    j->deadline_us = j->started_us + (line_time < run_time ? line_time : run_time);
    return j;
}

/* What all collectors together can take; the root's own is none that runs. */
static size_t all_room(struct super *s) {
    size_t room = 0, runnable = 0;
    for (struct super_collector *c = s->collector; c; c = c->next)
        if (c->plugin->file || c->broken) {
            room += super_capacity(s, c);
            runnable++;
        }
    return runnable ? room : AT_ONCE;
}

static int take(void *ctx, const struct store_claimed *r) {
    struct claiming *c = ctx;
    struct super *s = c->s;
    struct super_collector *collector = super_collector_by_key(s, r->collector);
    if (super_capacity(s, collector) == 0) {
        block(c->blocked_collector, &c->collectors, r->collector);
        return all_room(s) ? STORE_LEAVE_COLLECTOR : STORE_TAKE_STOP;
    }
    struct super_host *h = r->host ? host_of(s, r->host, r->url) : NULL;
    if (h) {
        int64_t until, room = pacing_capacity(h->row, &h->rule, c->now, HOST_SPAN_US, &until);
        if (h->claimed >= room) {
            block(c->blocked_host, &c->hosts, r->host);
            return STORE_LEAVE_HOST;
        }
        h->claimed++;
    }
    struct super_job *j = job_of_claim(s, r);
    *c->end = j;
    c->end = &j->next;
    c->count++;
    j->collector->jobs++;
    return STORE_TAKE;
}

static int take_event(void *ctx, const struct store_event *e, const struct store_claimed *r,
                      const char *document_path) {
    struct claiming *c = ctx;
    struct super_job *j = job_of_claim(c->s, r);
    j->is_event = true;
    j->event = e->key;
    j->event_kind = e->kind;
    j->attempts = e->attempts;
    j->reach = e->reach;
    j->host = 0;
    j->line = false;
    j->document_collector = mem_text(j->collector->plugin->name);
    j->collector = super_collector_by_key(c->s, e->reactor);
    j->document_path = mem_text(document_path ? document_path : "");
    bool others =
        strcmp(j->collector->plugin->name, j->document_collector) != 0 && j->collector->plugin->argument_count;
    if (e->args.len || others) { /* arguments of the document's run are none of another collector */
        struct tl_span args = e->args.len ? e->args : span_of("{}");
        free(j->payload);
        j->payload = mem_text_n(args.ptr, args.len);
        j->payload_len = args.len;
    }
    const char *slash = strrchr(j->document_path, '/'); /* the result's id is its file's name */
    if (slash && strlen(slash) > UUID_TEXT)
        uuid_parse((struct tl_span){slash + 1, UUID_TEXT - 1}, &j->result_id);
    j->deadline_us = j->started_us + c->s->config->workers.run_us;
    *c->end = j;
    c->end = &j->next;
    c->count++;
    j->collector->jobs++;
    return 0;
}

static int64_t open_reach(const struct super *s) {
    int64_t reach = s->events_open ? s->event_reach : INT64_MAX;
    for (size_t i = 0; i < s->job_room; i++)
        if (s->job[i] && s->job[i]->run && s->job[i]->reach < reach && !s->job[i]->again)
            reach = s->job[i]->reach;
    return reach;
}

/* Near the end of its bytes a crawl goes slowly, so that little is overshot: no more in flight than will fit, by the
 * mean so far. */
static size_t room_of_bytes(const struct super *s) {
    enum { UNKNOWN_BYTES = 64 * 1024 };
    const struct super_scope *top = s->scope[0];
    int64_t left = top->effective.bytes - top->bytes_spent, runs = 0;
    if (top->effective.bytes == INT64_MAX)
        return SIZE_MAX;
    for (int i = STORE_SUCCESS; i < STORE_STATES; i++)
        runs += s->sum.by_state[i];
    int64_t mean = s->sum.bytes > 0 && runs > 0 ? s->sum.bytes / runs + 1 : UNKNOWN_BYTES;
    int64_t fit = left > 0 ? left / mean + 1 : 0, flying = (int64_t)(s->jobs - s->group_count);
    return fit > flying ? (size_t)(fit - flying) : 0;
}

/* Claims within the open transaction; what was taken is handed to its workers after the commit (the jobs are in
 * s->claimed). */
int super_claim(struct super *s, int64_t *taken) {
    struct claiming c = {.s = s, .now = time_mono_us()};
    int64_t next_due = INT64_MAX, waiting_events = 0, next_start = INT64_MAX;
    size_t count = 0, room = all_room(s), fitting = room_of_bytes(s);
    if (fitting < room)
        room = fitting;
    int rc = TL_OK;
    c.end = &c.first;
    *taken = 0;
    if ((rc = store_events_open(s->store, s->root->root, &s->events_open, &s->event_reach, &waiting_events)))
        return rc;
    if (s->events_open &&
        (rc = store_event_claim(s->store, s->root->root, lake_owner(s->lake), AT_ONCE, take_event, &c)))
        return rc;
    size_t events = c.count;
    for (struct super_collector *x = s->collector; x; x = x->next)
        if (super_capacity(s, x) == 0)
            block(c.blocked_collector, &c.collectors, x->key);
    for (size_t i = 0; i < s->host_count; i++) {
        int64_t until;
        if (s->host[i].claimed >= pacing_capacity(s->host[i].row, &s->host[i].rule, c.now, HOST_SPAN_US, &until)) {
            block(c.blocked_host, &c.hosts, s->host[i].key);
            next_start = until < next_start ? until : next_start; /* 0: now */
        }
    }
    if (s->queued > 0 && room > 0) {
        const struct store_claim spec = {.root = s->root->root,
                                         .owner = lake_owner(s->lake),
                                         .lease_us = LEASE_US,
                                         .open_reach = open_reach(s),
                                         .blocked_hosts = c.blocked_host,
                                         .blocked_host_count = c.hosts,
                                         .blocked_collectors = c.blocked_collector,
                                         .blocked_collector_count = c.collectors,
                                         .max = room < AT_ONCE ? room : AT_ONCE,
                                         .take = take,
                                         .ctx = &c};
        rc = store_claim(s->store, &spec, &count, &next_due, &s->why);
    }
    s->queued -= (int64_t)(c.count - events);
    *s->claimed_end = c.first;
    if (c.first)
        s->claimed_end = c.end;
    if (waiting_events < next_due)
        next_due = waiting_events;
    int64_t now = store_now_us(s->store), wait = next_due == INT64_MAX ? 500000 : next_due > now ? next_due - now : 0;
    if (next_due < INT64_MAX && c.now + next_due - now < next_start)
        next_start = c.now + next_due - now;
    s->stuck_until_us = c.count == 0 && s->jobs == s->group_count && next_start < INT64_MAX ? next_start : 0;
    s->next_claim_us = time_mono_us() + (wait < 500000 ? wait + 1000 : 500000);
    *taken = (int64_t)c.count;
    return rc;
}
