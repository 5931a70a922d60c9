/* super_share.c - what the runs of a collector share: tokens and the like.
 *
 * Invariant: a value is in the memory of this process and of workers of its collector that asked for it, and nowhere
 * else: never logged, never written. At any time at most one run is getting it; when that run ends, whoever asks next
 * is. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/times.h"
#include "engine/run.h"
#include "engine/super_inside.h"

enum { SHARES_MAX = 256, GETTING_US = 60 * 1000000 };

struct super_share {
    int64_t collector, getter; /* getter: key of the job that is getting it; 0: none */
    char *key, *value;         /* value NULL: none */
    int64_t until_us, getting_us;
};

static void forget_value(struct super_share *x) {
    if (x->value)
        explicit_bzero(x->value, strlen(x->value));
    free(x->value);
    x->value = NULL;
}

static struct super_share *find(struct super *s, int64_t collector, const char *key) {
    for (size_t i = 0; i < s->share_count; i++)
        if (s->share[i].collector == collector && strcmp(s->share[i].key, key) == 0)
            return &s->share[i];
    return NULL;
}

/* A new one takes the place of that which is good for the shortest time, when there are many. */
static struct super_share *add(struct super *s, int64_t collector, const char *key) {
    struct super_share *x = NULL;
    if (!s->share)
        s->share = mem_alloc(SHARES_MAX * sizeof *s->share);
    if (s->share_count < SHARES_MAX)
        x = &s->share[s->share_count++];
    for (size_t i = 0; !x && i < s->share_count; i++)
        if (!s->share[i].value)
            x = &s->share[i];
    for (size_t i = 0; i < s->share_count && s->share_count == SHARES_MAX; i++)
        if (!x || (x->value && s->share[i].value && s->share[i].until_us < x->until_us))
            x = &s->share[i];
    forget_value(x);
    free(x->key);
    *x = (struct super_share){.collector = collector, .key = mem_text(key)};
    return x;
}

int super_share_get(struct super *s, const struct super_job *j, const char *key, const char *stale, struct buf *value) {
    struct super_share *x = find(s, j->collector->key, key);
    if (x && x->value && x->until_us > time_now_us() && !(stale && strcmp(stale, x->value) == 0)) {
        buf_text(value, x->value);
        return TL_OK;
    }
    if (x && x->getter && x->getter != j->key && super_job_find(s, x->getter) &&
        time_mono_us() - x->getting_us < GETTING_US)
        return TL_RETRY;
    if (!x)
        x = add(s, j->collector->key, key);
    forget_value(x);
    x->getter = j->key;
    x->getting_us = time_mono_us();
    return TL_NOTFOUND;
}

void super_share_heard(struct super *s, struct message *m) {
    const struct super_job *j = super_job_find(s, message_get_i64(m));
    const char *key = message_get_text(m), *value = message_get_text(m);
    int64_t until_us = message_get_i64(m);
    m->bad = m->bad || !key || !*key || strlen(key) > 200 || (value && strlen(value) > RUN_SHARED_MAX);
    if (m->bad || !j)
        return;
    struct super_share *x = find(s, j->collector->key, key);
    if (!x)
        x = add(s, j->collector->key, key);
    forget_value(x);
    x->value = value ? mem_text(value) : NULL;
    x->until_us = until_us;
    x->getter = 0;
}

void super_share_free(struct super *s) {
    for (size_t i = 0; i < s->share_count; i++) {
        forget_value(&s->share[i]);
        free(s->share[i].key);
    }
    free(s->share);
    s->share = NULL;
    s->share_count = 0;
}
