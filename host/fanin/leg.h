/* leg.h - one artifact that came in: of a feed's source, or of a shard of GitHub's search.
 *
 * Invariant: a leg that is not rejected is what it says: its version, window, configurations and checksum are right,
 * and each of its entries has what the merge goes by. The text is kept in its canonical form, so that entries can be
 * spliced as they are. A rejected leg has a reason and no entries. */
#ifndef TROTLINE_FANIN_LEG_H
#define TROTLINE_FANIN_LEG_H
#include "base/arena.h"
#include "base/buf.h"
#include "fanin/context.h"

enum leg_kind { LEG_UNKNOWN, LEG_SOURCE, LEG_SHARD };
enum leg_status { LEG_SUCCESS, LEG_PARTIAL, LEG_FAILED };
struct leg_entry {
    struct tl_span raw; /* the entry in canonical form */
    struct tl_span key; /* url, or full_name; unescaped, and so are the next two */
    struct tl_span published, title;
    double score; /* relevance_score, 0 without; stars_gained, -1 without */
};
struct leg {
    struct arena memory;
    struct buf json;
    const char *file;   /* where it came from, for the words */
    const char *id;     /* source_id or shard_id; "" where it could not be read */
    const char *reason; /* why it was rejected, or has failed; NULL */
    enum leg_kind kind;
    enum leg_status status;
    bool rejected;
    struct leg_entry *entry; /* sorted: articles by (url, published, title, raw), repositories by (full_name, raw) */
    size_t count, dropped;   /* dropped: entries that are none */
};
enum { LEG_ENTRIES = 1000000, LEG_REASON = 300 };

/* Never fails: what is wrong with the text is the leg's reason. */
void leg_read(const struct context *context, const char *file, struct tl_span text, struct leg *out);
void leg_free(struct leg *leg);

/* Makes an artifact of what its collector knows: an object with source_id or shard_id, articles or repositories, and
 * the rest. Version, run_context and checksum are put in, the entries sorted; the result, appended, is canonical and
 * passes leg_read. error: JSON that goes in where `given` says nothing of one, or empty. TL_INVALID: why says what is
 * missing. */
int leg_complete(const struct context *context, struct tl_span given, struct tl_span error, struct buf *out,
                 struct fail *why);

int leg_compare_spans(struct tl_span a, struct tl_span b); /* by their bytes */
/* By (key, published, title, raw). */
int leg_compare(const struct leg_entry *a, const struct leg_entry *b);

/* What articles are the same by: scheme, host and path of an http URL. TL_INVALID: it is none. */
int leg_url_key(struct tl_span url, struct buf *out);

/* In the order of a leg's own checksum: by the key alone; what has the same key stays as it came. */
struct leg_keyed {
    struct tl_span key, raw;
    size_t place;
};
void leg_sort(struct leg_keyed *all, size_t n);

/* sha256:HEX of an array of entries in this order. */
struct leg_checksum {
    struct hash *hash;
    bool any;
};
enum { LEG_CHECKSUM = 7 + SHA256_HEX };
void leg_checksum_start(struct leg_checksum *c);
void leg_checksum_add(struct leg_checksum *c, struct tl_span raw);
char *leg_checksum_end(struct leg_checksum *c, char out[LEG_CHECKSUM]); /* returns out; c is released */
#endif
