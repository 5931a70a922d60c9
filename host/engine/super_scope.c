/* super_scope.c - the leashes of a crawl in memory: made, tightened, told to workers, taught new hosts. */
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "engine/super_inside.h"
#include "net/guard.h"
#include "net/site.h"
#include "net/url.h"

enum { HOSTS_SHOWN = 100 };

static struct super_scope *add(struct super *s, struct super_scope *parent) {
    struct super_scope *x = mem_alloc(sizeof *x);
    x->parent = parent;
    x->version = 1;
    x->run_time_us = parent ? parent->run_time_us : INT64_MAX;
    leash_init(&x->own);
    leash_init(&x->effective);
    MEM_GROW(s->scope, s->scope_count, s->scope_room);
    s->scope[s->scope_count++] = x;
    return x;
}

void super_scopes_free(struct super *s) {
    for (size_t i = 0; i < s->scope_count; i++) {
        leash_free(&s->scope[i]->own);
        leash_free(&s->scope[i]->effective);
        buf_free(&s->scope[i]->json);
        free(s->scope[i]);
    }
    free(s->scope);
    s->scope = NULL;
    s->scope_count = s->scope_room = 0;
}

static void settle(struct super *s, struct super_scope *x) {
    leash_free(&x->effective);
    leash_copy(&x->effective, &x->own);
    leash_tighten(&x->effective, x->parent ? &x->parent->effective : &s->config->leash);
    if (x->parent && x->own.time_us < x->run_time_us)
        x->run_time_us = x->own.time_us;
    buf_reset(&x->json);
    struct leash shown = x->effective; /* thousands of lines have thousands of hosts: not in each document */
    if (shown.host_count > HOSTS_SHOWN)
        shown.host_count = HOSTS_SHOWN;
    leash_json(&x->json, &shown);
}

int super_scope_store(struct super *s, struct super_scope *x) {
    AUTO_BUF struct buf json = BUF_INIT;
    leash_json(&json, &x->own);
    struct store_scope row = {.parent = x->parent ? x->parent->key : 0,
                              .depth = x->effective.depth,
                              .fanout = x->effective.fanout,
                              .runs = x->own.runs,
                              .bytes = x->own.bytes,
                              .time_us = x->own.time_us,
                              .json = json.data};
    if (!x->parent) {
        row.runs = x->effective.runs;
        row.bytes = x->effective.bytes;
    }
    int rc = store_scope_put(s->store, s->root->root, &row);
    x->key = row.key;
    x->bytes_spent = row.bytes_spent;
    return rc;
}

/* A host that was found, not named, is in as *.HOST, as those that are learned (below); an address stays what it is,
 * and is refused when it is private. */
static void add_host(struct super *s, struct leash *l, const char *host) {
    AUTO_BUF struct buf pattern = BUF_INIT;
    const struct tl_span address = span_of(host);
    if (!s->o->crawl->found)
        leash_add_host(l, host, NULL);
    else if (!site_is_address(address)) {
        buf_printf(&pattern, "*.%s", host);
        leash_add_host(l, pattern.data, NULL);
    } else if (guard_literal(address) == GUARD_PUBLIC || s->config->fetch.private_allowed)
        leash_add_host(l, host, NULL);
}

/* "hosts unset means the hosts of the lines' URLs ... and the endpoints that a collector declares; hosts named by lines
 * are always in". */
static void add_line_hosts(struct super *s, struct leash *l, bool endpoints) {
    const struct crawl *c = s->o->crawl;
    for (size_t i = 0; i < c->line_count; i++) {
        const struct plugin *p = plugin_find(s->o->plugins, c->line[i].collector);
        struct args a = {0};
        if (!p)
            continue;
        if (args_check(p, c->line[i].args, true, &a, NULL) == TL_OK) {
            const char *at = a.hosts.data;
            for (size_t k = 0; k < a.host_count; k++, at += strlen(at) + 1) {
                AUTO_FREE char *host = mem_text_n(at, (size_t)(strrchr(at, ':') - at));
                add_host(s, l, host);
            }
        }
        for (size_t k = 0; endpoints && p->host && p->host[k]; k++)
            leash_add_host(l, p->host[k], NULL);
        args_free(&a);
    }
}

struct super_scope *super_scope_root(struct super *s) {
    struct super_scope *x = add(s, NULL);
    leash_free(&x->own);
    leash_copy(&x->own, &s->o->crawl->leash);
    x->hosts_auto = !x->own.hosts_set;
    add_line_hosts(s, &x->own, x->hosts_auto);
    x->own.hosts_set = true;
    settle(s, x);
    return x;
}

struct super_scope *super_scope_find(struct super *s, int64_t key) {
    for (size_t i = 0; i < s->scope_count; i++)
        if (s->scope[i]->key == key)
            return s->scope[i];
    return s->scope_count ? s->scope[0] : NULL;
}

struct super_scope *super_scope_child(struct super *s, struct super_scope *parent, struct tl_span text,
                                      struct fail *why) {
    struct leash own;
    leash_init(&own);
    int rc = leash_from_json(&own, text, why);
    if (rc) {
        leash_free(&own);
        return NULL;
    }
    for (size_t i = 0; i < s->scope_count; i++) { /* the same words under the same leash are the same leash */
        AUTO_BUF struct buf a = BUF_INIT, b = BUF_INIT;
        if (s->scope[i]->parent != parent)
            continue;
        struct leash *l = &s->scope[i]->own;
        if (l->hosts_set != own.hosts_set)
            continue;
        leash_json(&a, l);
        leash_json(&b, &own);
        if (strcmp(a.data, b.data) == 0) {
            leash_free(&own);
            return s->scope[i];
        }
    }
    struct super_scope *x = add(s, parent);
    leash_free(&x->own);
    x->own = own;
    settle(s, x);
    return super_scope_store(s, x) ? NULL : x;
}

bool super_scope_allows(const struct super_scope *scope, struct tl_span host, int port) {
    for (const struct super_scope *x = scope; x; x = x->parent)
        if (!leash_has_host(&x->own, host, port))
            return false;
    return true;
}

bool super_scope_spent(const struct super_scope *scope) {
    for (const struct super_scope *x = scope; x; x = x->parent)
        if (x->bytes_spent >= (x->parent ? x->own.bytes : x->effective.bytes))
            return true;
    return false;
}

void super_scope_bytes(struct super_scope *scope, int64_t bytes) {
    for (struct super_scope *x = scope; x; x = x->parent)
        x->bytes_spent += bytes;
}

/* Hosts that a line's redirect reached: they are in from now on, and stay in when the crawl goes on later. Learned as
 * *.HOST, so that no host is taken for one that the crawl names itself: those may have private addresses (guard.h). */
int super_scope_learn(struct super *s, struct super_scope *scope, const struct buf *hosts) {
    struct super_scope *x = scope;
    AUTO_BUF struct buf json = BUF_INIT;
    while (x->parent)
        x = x->parent;
    for (const char *at = hosts->data; at && at < hosts->data + hosts->len; at += strlen(at) + 1) {
        AUTO_BUF struct buf pattern = BUF_INIT;
        buf_printf(&pattern, "*.%s", at);
        leash_add_host(&x->own, pattern.data, NULL);
    }
    settle(s, x);
    for (size_t i = 0; i < s->scope_count; i++)
        s->scope[i]->version++;
    leash_json(&json, &x->own);
    return store_scope_json(s->store, x->key, json.data);
}

/* One leash's hosts, in as many messages as they need; NULL ends a list. */
struct telling {
    struct super *s;
    struct super_worker *w;
    const struct super_scope *scope;
    bool hosts_auto, first;
    struct buf list;
    uint32_t count;
};

static void tell_part(struct telling *t) {
    struct buf *m = &t->s->message;
    message_start(m, MESSAGE_SCOPE);
    message_i64(m, t->scope->key);
    message_u8(m, t->first);
    message_span(m, t->first ? buf_span(&t->scope->json) : (struct tl_span){"", 0});
    message_u8(m, t->hosts_auto);
    message_u32(m, t->count);
    buf_add(m, t->list.data, t->list.len);
    port_send(&t->w->port, m);
    t->first = false;
    t->count = 0;
    buf_reset(&t->list);
}

static void tell_hosts(struct telling *t, const struct leash *l) {
    if (!l->hosts_set)
        return;
    for (size_t i = 0; i <= l->host_count; i++) {
        message_text(&t->list, i < l->host_count ? l->host[i] : NULL);
        if (++t->count && t->list.len > MESSAGE_MAX / 2)
            tell_part(t);
    }
}

void super_scope_send(struct super *s, struct super_worker *w, struct super_scope *scope) {
    size_t index = 0;
    while (index < s->scope_count && s->scope[index] != scope)
        index++;
    if (index >= w->scope_count) {
        w->scope_version = mem_array(w->scope_version, index + 8, sizeof *w->scope_version);
        memset(w->scope_version + w->scope_count, 0, (index + 8 - w->scope_count) * sizeof *w->scope_version);
        w->scope_count = index + 8;
    }
    if (w->scope_version[index] == scope->version)
        return;
    w->scope_version[index] = scope->version;
    const struct super_scope *top = scope;
    while (top->parent)
        top = top->parent;
    struct telling t = {.s = s, .w = w, .scope = scope, .hosts_auto = top->hosts_auto, .first = true};
    for (const struct super_scope *x = scope; x; x = x->parent)
        tell_hosts(&t, &x->own);
    tell_hosts(&t, &s->config->leash);
    tell_part(&t);
    buf_free(&t.list);
}

static int load_one(void *ctx, const struct store_scope *row) {
    struct super *s = ctx;
    struct super_scope *parent = row->parent ? super_scope_find(s, row->parent) : NULL;
    struct super_scope *x = add(s, parent);
    x->key = row->key;
    x->bytes_spent = row->bytes_spent;
    x->hosts_auto = !parent && !s->o->crawl->leash.hosts_set;
    leash_from_json(&x->own, span_of(row->json), NULL);
    settle(s, x);
    return 0;
}

int super_scopes_load(struct super *s) {
    return store_scopes(s->store, s->root->root, load_one, s);
}
