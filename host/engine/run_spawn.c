/* run_spawn.c - wishes for children. The verdict falls later, in the supervisor; here they are only collected, once
 * each. */
#include <stdlib.h>

#include "base/json_write.h"
#include "base/json.h"
#include "base/mem.h"
#include "engine/args.h"
#include "engine/run.h"

/* Adds a tag to the run's own set; false: it was there. */
static bool first_time(struct run *r, uint64_t tag) {
    if (r->asked_count * 2 >= r->asked_room) {
        size_t room = r->asked_room ? r->asked_room * 2 : 256;
        uint64_t *wider = mem_alloc(room * sizeof *wider);
        for (size_t i = 0; i < r->asked_room; i++)
            if (r->asked[i]) {
                size_t at = r->asked[i] & (room - 1);
                while (wider[at])
                    at = (at + 1) & (room - 1);
                wider[at] = r->asked[i];
            }
        free(r->asked);
        r->asked = wider;
        r->asked_room = room;
    }
    size_t at = tag & (r->asked_room - 1);
    for (; r->asked[at]; at = (at + 1) & (r->asked_room - 1))
        if (r->asked[at] == tag)
            return false;
    r->asked[at] = tag;
    r->asked_count++;
    return true;
}

/* A hash of the asker's arguments but for those that the child names. */
static uint64_t kept_arguments(struct run *r, struct tl_span args) {
    AUTO_BUF struct buf rest = BUF_INIT, key = BUF_INIT;
    struct tl_json root, over, member = {0}, other;
    if (json_parse(r->payload, &root) == TL_OK && json_parse(args, &over) == TL_OK)
        while (json_next(&root, &member) == TL_OK) {
            buf_reset(&key);
            if (json_key(&member, &key) || json_get(&over, key.data ? key.data : "", &other) == TL_OK)
                continue;
            buf_add(&rest, member.key.ptr, member.key.len);
            buf_add(&rest, member.raw.ptr, member.raw.len);
        }
    return hash_sip(&r->key, rest.data ? rest.data : "", rest.len);
}

/* The same for the names that most children of a run share, remembered: every link of a page names its URL alone. */
static uint64_t kept_arguments_once(struct run *r, const struct tl_child *c, struct tl_span args) {
    uint64_t names = c->arg_count;
    if (c->args_json)
        return kept_arguments(r, args);
    for (size_t i = 0; i < c->arg_count; i++)
        names = names * 31 + hash_sip(&r->key, c->args[i].name, strlen(c->args[i].name));
    names |= 1;
    if (r->payload_names != names) {
        r->payload_names = names;
        r->payload_tag = kept_arguments(r, args);
    }
    return r->payload_tag;
}

/* The same wish from another page of the crawl gives the same tag, and different wishes give different ones. */
static uint64_t tag_of(struct run *r, const struct tl_child *c, struct tl_span args) {
    if (!r->own_name_tag)
        r->own_name_tag = hash_sip(&r->key, r->collector->name, strlen(r->collector->name));
    uint64_t head[5] = {
        c->flags, c->collector ? hash_sip(&r->key, c->collector, strlen(c->collector)) : r->own_name_tag, 0, 0, 0};
    if (c->flags & TL_SAME)
        head[2] = kept_arguments_once(r, c, args);
    if (c->leash_json)
        head[3] = hash_sip(&r->key, c->leash_json, strlen(c->leash_json));
    if (c->name)
        head[4] = hash_sip(&r->key, c->name, strlen(c->name));
    if (!r->head_tag || memcmp(r->head, head, sizeof head) != 0) { /* the same for most children of a run */
        memcpy(r->head, head, sizeof head);
        r->head_tag = hash_sip(&r->key, head, sizeof head);
    }
    struct hash_key mixed = {r->key.k0 ^ r->head_tag, r->key.k1};
    uint64_t tag = hash_sip(&mixed, args.ptr, args.len);
    return tag ? tag : 1;
}

int run_spawn(struct tl_run *pub, const struct tl_child *given) {
    struct run *r = run_of(pub);
    struct tl_child c = {0};
    RUN_TAKE(c, given);
    static struct buf args = {.max = RUN_PAYLOAD_MAX}; /* its memory is used again by the next; nothing below waits */
    buf_reset(&args);
    if (r->wish_count >= RUN_WISHES_MAX)
        return run_fail(r, TL_INVALID, "invalid", "spawn: a run may ask for at most %d children", RUN_WISHES_MAX);
    int rc = args_of_child(&args, &c);
    if (rc || args.full)
        return run_fail(r, TL_INVALID, "invalid", "spawn: the arguments are no JSON object, or over %d KiB",
                        RUN_PAYLOAD_MAX / 1024);
    if (c.leash_json && (strlen(c.leash_json) > 4096 || json_valid(span_of(c.leash_json), NULL)))
        return run_fail(r, TL_INVALID, "invalid", "spawn: the leash is no JSON, or over 4 KiB");
    if ((c.name && strlen(c.name) > 200) || (c.collector && strlen(c.collector) > 64))
        return run_fail(r, TL_INVALID, "invalid", "spawn: a name is too long");
    uint64_t tag = tag_of(r, &c, buf_span(&args));
    if (!first_time(r, tag) || (r->backend->known && r->backend->known(r, tag)))
        return TL_OK;
    struct run_wish w = {.tag = tag, .flags = c.flags, .by_react = r->reacting};
    char *text = arena_text(&r->arena, args.data, args.len);
    w.args = (struct tl_span){text, args.len};
    bool ok = text != NULL;
    if (c.leash_json) {
        w.leash.ptr = arena_text(&r->arena, c.leash_json, strlen(c.leash_json));
        w.leash.len = w.leash.ptr ? strlen(c.leash_json) : 0;
        ok = ok && w.leash.ptr;
    }
    if (c.name)
        ok = (w.name = arena_text(&r->arena, c.name, strlen(c.name))) && ok;
    if (c.collector)
        ok = (w.collector = arena_text(&r->arena, c.collector, strlen(c.collector))) && ok;
    if (!ok)
        return run_fail(r, TL_FAILED, "memory", "the run's memory is used up");
    MEM_GROW(r->wish, r->wish_count, r->wish_room);
    r->wish[r->wish_count++] = w;
    return TL_OK;
}
