/* super_put.c - from wishes to rows: arguments checked, identity made, hosts asked, and then the store's verdict. */
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "engine/super_inside.h"

/* A job fits into one message: its arguments, its URL, and the way from the root. */
enum { PAYLOAD_MOST = 12 * 1024, PAGES_MOST = 1500 };

/* Are all hosts of the arguments within the leash? */
static bool hosts_allowed(const struct super_scope *scope, const struct args *a) {
    const char *at = a->hosts.data;
    for (size_t i = 0; i < a->host_count; i++, at += strlen(at) + 1) {
        const char *colon = strrchr(at, ':');
        if (!colon ||
            !super_scope_allows(scope, (struct tl_span){at, (size_t)(colon - at)}, (int)strtol(colon + 1, NULL, 10)))
            return false;
    }
    return true;
}

static int host_key(struct super *s, const struct args *a, int64_t *key) {
    *key = 0;
    if (a->host_count == 0)
        return TL_OK;
    struct tl_span host = span_of(a->hosts.data);
    int rc = store_host(s->store, host, key);
    for (size_t i = 0; !rc && i < s->host_count; i++)
        if (s->host[i].key == *key)
            return TL_OK;
    if (!rc)
        super_host_add(s, *key, host);
    return rc;
}

int super_put_child(struct super *s, const struct store_wish *base, const struct plugin *plugin, struct tl_span args,
                    bool yaml, struct super_scope *scope, struct store_put_result *result, uint8_t digest[STORE_DIGEST],
                    struct fail *why) {
    static struct args a; /* its buffers are used again and again */
    struct store_wish w = *base;
    int rc = args_check(plugin, args, yaml, &a, why);
    if (rc)
        return rc;
    if (a.payload.len > PAYLOAD_MOST || a.url.len > PAYLOAD_MOST)
        return fail_exit(why, TL_INVALID, EXIT_CONFIG, "the arguments of %s are over %d KiB", plugin->name,
                         PAYLOAD_MOST / 1024);
    struct super_collector *c = super_collector(s, plugin->name);
    if (!c || host_key(s, &a, &w.host))
        return fail_set(why, TL_FAILED, "the catalog does not take a collector or host");
    w.root = s->root->root;
    w.collector = c->key;
    w.target = s->root->target;
    w.scope = scope->key;
    w.payload = buf_span(&a.payload);
    w.url = buf_span(&a.url);
    memcpy(w.digest, a.digest, STORE_DIGEST);
    if (digest)
        memcpy(digest, a.digest, STORE_DIGEST);
    if (!hosts_allowed(scope, &a))
        w.refuse = STORE_HOSTS;
    if ((rc = store_put(s->store, &w, 1, result, why)))
        return rc;
    if (result->verdict == STORE_NEW)
        s->queued++;
    else if (result->verdict == STORE_LEASHED)
        s->sum.leashed_by[result->reason]++;
    return TL_OK;
}

/* One wish of a job that is being committed. A wish that cannot be is told, not stored: it is a fault of the collector.
 */
static int put_wish(struct super *s, struct super_job *j, struct message *m) {
    uint64_t tag = (uint64_t)message_get_i64(m);
    unsigned flags = message_get_u8(m);
    const char *collector = message_get_text(m), *name = message_get_text(m);
    struct tl_span args = message_get_span(m), leash = message_get_span(m);
    bool page = flags & (TL_PAGE | TL_PART);
    int64_t reach = j->reach + !page;
    struct fail why = FAIL_INIT;
    if (m->bad || tagset_known(&s->known, tag, reach))
        return TL_OK;
    if ((flags & WISH_REACT) && !j->is_event && j->react_status) /* that reaction failed: it will be told again */
        return TL_OK;
    if (!leash.len && super_refused_again(s, tag, j->scope, reach))
        return TL_OK;
    const struct plugin *plugin = collector ? plugin_find(s->o->plugins, collector) : j->collector->plugin;
    if (!plugin || !plugin->file) {
        log_warn("%s asked for a collector '%s' that is not there", j->collector->plugin->name, collector);
        return TL_OK;
    }
    AUTO_BUF struct buf merged = BUF_INIT;
    if (flags & TL_SAME) {
        if (args_merge(&merged, (struct tl_span){j->payload, j->payload_len}, args))
            return TL_OK;
        args = buf_span(&merged);
    }
    struct super_scope *scope = leash.len ? super_scope_child(s, j->scope, leash, &why) : j->scope;
    struct store_wish w = {.parent = j->run,
                           .parent_depth = j->depth,
                           .parent_reach = j->reach,
                           .context = name,
                           .line = (flags & TL_PART) && j->line,
                           .edge = page                 ? STORE_PAGE
                                   : flags & WISH_REACT ? STORE_REACT
                                                        : STORE_SPAWN};
    if (page && j->path_count >= PAGES_MOST)
        w.refuse = STORE_DEPTH; /* a list that never ends */
    struct store_put_result result;
    uint8_t digest[STORE_DIGEST];
    int rc = scope ? super_put_child(s, &w, plugin, args, false, scope, &result, digest, &why) : TL_INVALID;
    if (rc == TL_INVALID) {
        log_warn("%s asked for a child that cannot be: %s", j->collector->plugin->name, why.text);
        return TL_OK;
    }
    if (rc) {
        s->why = why;
        return rc;
    }
    if (result.verdict == STORE_LEASHED)
        return super_refused_learn(s, tag, scope, reach, j->run, super_collector(s, plugin->name)->key, result.reason,
                                   digest);
    tagset_learn(&s->known, tag, result.reach);
    struct super_collector *asker = j->collector;
    message_i64(&asker->known, (int64_t)tag);
    message_u32(&asker->known, (uint32_t)result.reach);
    asker->known_count++;
    return TL_OK;
}

int super_put_wishes(struct super *s, struct super_job *j) {
    struct message m = {.at = j->wishes.data, .end = j->wishes.data + j->wishes.len};
    int rc = TL_OK;
    if (j->wishes.full)
        log_warn("%s asked for more children than can be heard", j->collector->plugin->name);
    for (uint32_t i = 0; i < j->wish_count && !m.bad && !rc; i++)
        rc = put_wish(s, j, &m);
    return rc;
}
