/* fanin_merge.c - which of several entries for the same thing stays, and in what order they stand.
 *
 * Invariant: every comparison ends at the entries' own bytes, so that no order of arrival can be seen. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "fanin/fanin_inside.h"

struct candidate {
    const struct leg_entry *entry;
    struct fanin_slot *slot;
    struct tl_span same; /* what is equal here is the same thing */
    size_t rank;         /* articles: the smallest of a group stays */
};
struct candidates {
    struct candidate *item;
    size_t count;
};

static struct candidates gather(const struct fanin_side *side) {
    struct candidates c = {0};
    for (size_t i = 0; i < side->count; i++)
        c.count += side->slot[i].reason ? 0 : side->slot[i].leg->count;
    c.item = mem_alloc((c.count + 1) * sizeof *c.item);
    size_t n = 0;
    for (size_t i = 0; i < side->count; i++) {
        struct fanin_slot *s = &side->slot[i];
        for (size_t k = 0; !s->reason && k < s->leg->count; k++, n++)
            c.item[n] = (struct candidate){&s->leg->entry[k], s, s->leg->entry[k].key, n};
    }
    return c;
}

/* The candidates are sorted, those of one thing side by side, the one that stays first. */
static void keep_firsts(struct fanin_side *side, const struct candidates *c) {
    side->kept = mem_alloc((c->count + 1) * sizeof *side->kept);
    for (size_t i = 0; i < c->count; i++) {
        const struct candidate *x = &c->item[i];
        if (i && leg_compare_spans(c->item[i - 1].same, x->same) == 0) {
            side->dropped++;
            continue;
        }
        side->kept[side->kept_count++] = (struct fanin_kept){x->entry, x->slot};
        x->slot->merged++;
    }
}

static void take_checksum(struct fanin_side *side) {
    struct leg_checksum sum;
    leg_checksum_start(&sum);
    for (size_t i = 0; i < side->kept_count; i++)
        leg_checksum_add(&sum, side->kept[i].entry->raw);
    leg_checksum_end(&sum, side->checksum);
}

/* ---- articles ---- */

static int compare_articles(const void *left, const void *right) {
    const struct candidate *a = left, *b = right;
    int order = leg_compare_spans(a->same, b->same);
    return order ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

static int compare_kept(const void *left, const void *right) {
    const struct fanin_kept *a = left, *b = right;
    int order = strcmp(a->slot->member->id, b->slot->member->id);
    return order ? order : leg_compare(a->entry, b->entry);
}

/* An article without an http URL is the same as another one of its source, date and title; a NUL byte keeps these keys
 * apart from URLs. */
static void key_of(const struct candidate *c, struct buf *out) {
    const struct leg_entry *e = c->entry;
    if (leg_url_key(e->key, out) == TL_OK)
        return;
    buf_char(out, '\0');
    buf_text(out, c->slot->member->id);
    buf_char(out, '\0');
    buf_add(out, e->published.ptr, e->published.len);
    buf_char(out, '\0');
    buf_add(out, e->title.ptr, e->title.len);
}

/* Sites whose articles differ only behind the question mark lose all but one: that must be seen. */
static void warn_shared(struct fanin_side *side, const struct candidates *c) {
    for (size_t i = 0, end; i < c->count; i = end) {
        for (end = i + 1; end < c->count && leg_compare_spans(c->item[i].same, c->item[end].same) == 0;)
            end++;
        for (size_t k = i, same; k < end; k = same) {
            for (same = k + 1; same < end && c->item[same].slot == c->item[k].slot;)
                same++;
            if (same - k > 1 && c->item[k].same.ptr[0] && side->warning.count < FANIN_WARNINGS)
                fanin_note(&side->warning, "%s: %zu articles share URL path %.300s", c->item[k].slot->member->id,
                           same - k, c->item[k].same.ptr);
        }
    }
}

static void warn_without_url(struct fanin_side *side, const struct candidates *c) {
    for (size_t i = 0; i < side->count; i++) {
        size_t n = 0;
        for (size_t k = 0; k < c->count; k++)
            n += c->item[k].slot == &side->slot[i] && !c->item[k].same.ptr[0];
        if (n)
            fanin_note(&side->warning, "%s: %zu articles without an http URL are told apart by date and title",
                       side->slot[i].member->id, n);
    }
}

void fanin_merge_articles(struct fanin *f) {
    struct fanin_side *side = &f->news;
    struct candidates c = gather(side);
    struct arena keys = ARENA_INIT;
    AUTO_BUF struct buf key = BUF_INIT;
    for (size_t i = 0; i < c.count; i++) {
        buf_reset(&key);
        key_of(&c.item[i], &key);
        c.item[i].same = (struct tl_span){arena_text(&keys, key.data, key.len), key.len};
    }
    qsort(c.item, c.count, sizeof *c.item, compare_articles);
    warn_shared(side, &c);
    warn_without_url(side, &c);
    keep_firsts(side, &c);
    qsort(side->kept, side->kept_count, sizeof *side->kept, compare_kept);
    take_checksum(side);
    arena_free(&keys);
    free(c.item);
}

/* ---- repositories ---- */

/* By name; of one name the most stars gained, then the smallest shard, then the bytes. */
static int compare_repositories(const void *left, const void *right) {
    const struct candidate *a = left, *b = right;
    int order = leg_compare_spans(a->same, b->same);
    if (!order)
        order = (a->entry->score < b->entry->score) - (a->entry->score > b->entry->score);
    if (!order)
        order = strcmp(a->slot->member->id, b->slot->member->id);
    return order ? order : leg_compare_spans(a->entry->raw, b->entry->raw);
}

static int compare_folded(const void *left, const void *right) {
    const struct fanin_kept *a = left, *b = right;
    int order = strcasecmp(a->entry->key.ptr, b->entry->key.ptr);
    return order ? order : leg_compare_spans(a->entry->key, b->entry->key);
}

/* GitHub itself makes no difference between A/x and a/x; the contract does. */
static void warn_case(struct fanin_side *side) {
    size_t n = side->kept_count;
    AUTO_FREE struct fanin_kept *folded = mem_alloc((n + 1) * sizeof *folded);
    memcpy(folded, side->kept, n * sizeof *folded);
    qsort(folded, n, sizeof *folded, compare_folded);
    for (size_t i = 1; i < n && side->warning.count < FANIN_WARNINGS; i++)
        if (strcasecmp(folded[i - 1].entry->key.ptr, folded[i].entry->key.ptr) == 0)
            fanin_note(&side->warning, "%s: %.140s and %.140s differ only in their case", folded[i].slot->member->id,
                       folded[i - 1].entry->key.ptr, folded[i].entry->key.ptr);
}

void fanin_merge_repositories(struct fanin *f) {
    struct fanin_side *side = &f->github;
    struct candidates c = gather(side);
    qsort(c.item, c.count, sizeof *c.item, compare_repositories);
    keep_firsts(side, &c);
    take_checksum(side);
    warn_case(side);
    free(c.item);
}
