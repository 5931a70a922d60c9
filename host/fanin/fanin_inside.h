/* fanin_inside.h - what the fanin*.c files share, and nobody else includes. */
#ifndef TROTLINE_FANIN_FANIN_INSIDE_H
#define TROTLINE_FANIN_FANIN_INSIDE_H
#include "fanin/fanin.h"
#include "fanin/leg.h"

struct fanin_texts {
    char **item;
    size_t count, room;
};
struct fanin_slot { /* of a source or shard in the plan */
    const struct fanin_member *member;
    struct leg *leg; /* the one that counts, or NULL */
    char *reason;    /* why there is none, or why it failed; owned */
    bool rejected;   /* one came, but was rejected */
    size_t merged;   /* entries that were kept */
};
struct fanin_kept {
    const struct leg_entry *entry;
    struct fanin_slot *slot;
};
struct fanin_side { /* sources with their articles, or shards with their repositories */
    enum leg_kind kind;
    struct fanin_slot *slot; /* in the order of the plan */
    size_t count, succeeded;
    struct fanin_kept *kept; /* in their final order */
    size_t kept_count, dropped;
    struct fanin_texts warning;
    char checksum[LEG_CHECKSUM];
};
struct fanin {
    const struct context *context;
    struct leg *leg;
    size_t leg_count, leg_room, bytes;
    struct fanin_side news, github;
    struct fanin_texts closed, both; /* both: warnings of both sides, once merged */
    struct buf news_json, github_json, diagnostics;
};

TL_PRINTF(2, 3) void fanin_note(struct fanin_texts *t, const char *fmt, ...);
void fanin_texts_sort(struct fanin_texts *t); /* by bytes, each once */

void fanin_merge_articles(struct fanin *f); /* fanin_merge.c: fills in kept, warnings, checksum */
void fanin_merge_repositories(struct fanin *f);
void fanin_write_documents(struct fanin *f, int64_t now_us); /* fanin_write.c */
void fanin_write_diagnostics(struct fanin *f, int64_t now_us);
#endif
