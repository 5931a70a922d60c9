/* super_refused.c - what the leash has refused before for a reason that stands: the same wish again is only counted.
 *
 * A site's every page links to the same strangers. Hosts and depth are such reasons: asked again under the same leash,
 * from as far or farther, the answer is the same. Counts are written with the next commit. */
#include <stdlib.h>

#include "base/mem.h"
#include "engine/super_inside.h"

enum { REFUSED_MOST = 1 << 20, FIRST_ROOM = 1024 };

struct refused {
    uint64_t tag; /* 0: free */
    const struct super_scope *scope;
    int64_t reach, parent, collector, times; /* times: not written yet */
    uint32_t version;
    enum store_reason reason;
    uint8_t digest[STORE_DIGEST];
};
struct super_refused {
    struct refused *entry;
    size_t count, room;
    size_t *due, due_count, due_room; /* entries with times to write */
};

static struct refused *find(const struct super_refused *r, uint64_t tag) {
    size_t at = tag & (r->room - 1);
    while (r->entry[at].tag && r->entry[at].tag != tag)
        at = (at + 1) & (r->room - 1);
    return &r->entry[at];
}

static int flush(struct super *s, struct super_refused *r) {
    int rc = TL_OK;
    for (size_t i = 0; i < r->due_count && !rc; i++) {
        struct refused *e = &r->entry[r->due[i]];
        rc = store_leashed(s->store, s->root->root, e->parent, e->collector, e->digest, (struct tl_span){"", 0},
                           e->reason, e->times);
        e->times = 0;
    }
    r->due_count = 0;
    return rc;
}

int super_refused_flush(struct super *s) {
    return s->refused ? flush(s, s->refused) : TL_OK;
}

bool super_refused_again(struct super *s, uint64_t tag, const struct super_scope *scope, int64_t reach) {
    struct super_refused *r = s->refused;
    if (!r || !r->room)
        return false;
    struct refused *e = find(r, tag);
    if (!e->tag || e->scope != scope || e->version != scope->version || (e->reason == STORE_DEPTH && reach < e->reach))
        return false;
    if (e->times++ == 0) {
        MEM_GROW(r->due, r->due_count, r->due_room);
        r->due[r->due_count++] = (size_t)(e - r->entry);
    }
    s->sum.leashed_by[e->reason]++;
    return true;
}

static int grow(struct super *s, struct super_refused *r) {
    struct super_refused old = *r;
    int rc = flush(s, r); /* places change */
    r->room = old.room ? old.room * 2 : FIRST_ROOM;
    r->entry = mem_alloc(r->room * sizeof *r->entry);
    for (size_t i = 0; i < old.room; i++)
        if (old.entry[i].tag)
            *find(r, old.entry[i].tag) = old.entry[i];
    free(old.entry);
    return rc;
}

int super_refused_learn(struct super *s, uint64_t tag, const struct super_scope *scope, int64_t reach, int64_t parent,
                        int64_t collector, enum store_reason reason, const uint8_t digest[STORE_DIGEST]) {
    if (reason != STORE_HOSTS && reason != STORE_DEPTH)
        return TL_OK;
    if (!s->refused)
        s->refused = mem_alloc(sizeof *s->refused);
    struct super_refused *r = s->refused;
    int rc = TL_OK;
    if (r->count * 2 >= r->room) {
        if (r->count >= REFUSED_MOST)
            return TL_OK;
        rc = grow(s, r);
    }
    struct refused *e = find(r, tag);
    if (!e->tag)
        r->count++;
    if (e->times) /* of another leash: written first */
        rc = flush(s, r);
    *e = (struct refused){.tag = tag,
                          .scope = scope,
                          .reach = reach,
                          .parent = parent,
                          .collector = collector,
                          .version = scope->version,
                          .reason = reason};
    memcpy(e->digest, digest, STORE_DIGEST);
    return rc;
}

void super_refused_free(struct super *s) {
    if (!s->refused)
        return;
    free(s->refused->entry);
    free(s->refused->due);
    free(s->refused);
    s->refused = NULL;
}
