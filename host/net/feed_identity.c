/* feed_identity.c - see feed_identity.h. */
#include "net/feed_identity.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

enum { RUNGS = 4, TEXT_MOST = 1024 }; /* bytes of a guid or link that is shown as it is */

struct known {
    struct sha256 by[RUNGS]; /* digests of what each rung goes by */
    bool has[RUNGS];
    bool doubled;
};
struct digest_at {
    struct sha256 digest;
    size_t entry;
};

static void add(struct hash *h, struct tl_span text) {
    uint64_t len = text.ptr ? text.len : UINT64_MAX; /* absent is not empty */
    hash_add(h, &len, sizeof len);
    hash_add(h, text.ptr ? text.ptr : "", text.ptr ? text.len : 0);
}

static struct sha256 digest_of(struct hash *h, const struct tl_span *texts, size_t n) {
    hash_start(h);
    for (size_t i = 0; i < n; i++)
        add(h, texts[i]);
    return hash_end(h);
}

static void learn(struct hash *h, const struct feed_entry *e, struct known *k) {
    const struct tl_span said[] = {e->id,      e->link,         e->title,   e->published.raw, e->updated.raw,
                                   e->summary, e->summary_type, e->content, e->content_type,  e->comments};
    k->has[FEED_BY_GUID] = e->id.len > 0;
    k->has[FEED_BY_LINK] = e->link.len > 0;
    k->has[FEED_BY_TITLE_AND_DATE] = e->title.len > 0 && e->published.raw.len > 0;
    k->has[FEED_BY_CONTENT] = true;
    k->by[FEED_BY_GUID] = digest_of(h, said, 1);
    k->by[FEED_BY_LINK] = digest_of(h, said + 1, 1);
    k->by[FEED_BY_TITLE_AND_DATE] = digest_of(h, said + 2, 2);
    k->by[FEED_BY_CONTENT] = digest_of(h, said, COUNT_OF(said));
}

static int compare(const void *left, const void *right) {
    const struct digest_at *a = left, *b = right;
    int order = memcmp(&a->digest, &b->digest, sizeof a->digest);
    return order ? order : (a->entry > b->entry) - (a->entry < b->entry);
}

/* Calls two entries out where they are equal on a rung; of equal ones the later is doubled, if that is asked for. */
static bool repeats(struct known *known, size_t n, enum feed_rung rung, bool mark) {
    struct digest_at *all = mem_alloc((n + 1) * sizeof *all);
    size_t count = 0;
    bool found = false;
    for (size_t i = 0; i < n; i++)
        if (known[i].has[rung] && !known[i].doubled)
            all[count++] = (struct digest_at){known[i].by[rung], i};
    qsort(all, count, sizeof *all, compare);
    for (size_t i = 1; i < count; i++)
        if (memcmp(&all[i - 1].digest, &all[i].digest, sizeof all->digest) == 0) {
            found = true;
            if (mark)
                known[all[i].entry].doubled = true;
        }
    free(all);
    return found;
}

static enum feed_rung rung_of(const struct known *k, const bool useless[RUNGS]) {
    for (enum feed_rung r = FEED_BY_GUID; r < FEED_BY_CONTENT; r++)
        if (k->has[r] && !useless[r])
            return r;
    return FEED_BY_CONTENT;
}

static bool spell(struct arena *arena, const struct feed_entry *e, const struct known *k, struct feed_identity *out) {
    AUTO_BUF struct buf text = BUF_INIT;
    struct tl_span own = out->rung == FEED_BY_GUID ? e->id : e->link;
    char hex[SHA256_HEX];
    buf_printf(&text, "%s:", feed_rung_name(out->rung));
    if (out->rung <= FEED_BY_LINK && own.len <= TEXT_MOST)
        buf_add(&text, own.ptr, own.len);
    else
        buf_text(&text, hash_hex(k->by[out->rung].byte, SHA256_BYTES, hex));
    out->text = (struct tl_span){arena_text(arena, text.data, text.len), text.len};
    return out->text.ptr != NULL;
}

struct feed_identity *feed_identities(struct arena *arena, const struct feed *feed) {
    size_t n = feed->entry_count;
    struct feed_identity *out = arena_alloc(arena, (n + 1) * sizeof *out);
    AUTO_FREE struct known *known = mem_alloc((n + 1) * sizeof *known);
    struct hash *h = hash_new();
    bool useless[RUNGS] = {false}, good = out != NULL;
    for (size_t i = 0; i < n; i++)
        learn(h, &feed->entries[i], &known[i]);
    hash_free(h);
    repeats(known, n, FEED_BY_CONTENT, true);
    for (enum feed_rung r = FEED_BY_GUID; r < FEED_BY_CONTENT; r++)
        useless[r] = repeats(known, n, r, false);
    for (size_t i = 0; i < n && good; i++) {
        out[i] = (struct feed_identity){.rung = rung_of(&known[i], useless), .doubled = known[i].doubled};
        good = spell(arena, &feed->entries[i], &known[i], &out[i]);
    }
    return good ? out : NULL;
}

const char *feed_rung_name(enum feed_rung rung) {
    static const char *const names[RUNGS] = {"guid", "link", "title", "content"};
    return names[rung];
}
