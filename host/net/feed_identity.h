/* feed_identity.h - by what an entry is known again: its guid, its link, its title and date, or its content.
 *
 * Invariant: two entries of a document have the same identity only when the document says the same of both. A rung that
 * does not tell the entries of a feed apart (one guid for all) is left out for that feed, and for no other. */
#ifndef TROTLINE_NET_FEED_IDENTITY_H
#define TROTLINE_NET_FEED_IDENTITY_H
#include "base/arena.h"
#include "net/feed.h"

enum feed_rung { FEED_BY_GUID, FEED_BY_LINK, FEED_BY_TITLE_AND_DATE, FEED_BY_CONTENT };
struct feed_identity {
    struct tl_span text; /* "guid:...", "link:...", "title:SHA256", "content:SHA256" */
    enum feed_rung rung;
    bool doubled; /* an earlier entry of the document says the very same */
};
/* One for each entry, in the arena; NULL: it is full. */
struct feed_identity *feed_identities(struct arena *arena, const struct feed *feed);
const char *feed_rung_name(enum feed_rung rung); /* guid, link, title, content */
#endif
