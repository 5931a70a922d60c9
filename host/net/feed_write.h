/* feed_write.h - a feed as JSON: one shape for people, probes and collectors.
 *
 * Invariant: what the feed does not say is null; texts are as feed.h has them. */
#ifndef TROTLINE_NET_FEED_WRITE_H
#define TROTLINE_NET_FEED_WRITE_H
#include "base/json_write.h"
#include "net/feed_identity.h"

/* Members of an object that is open: format, charset, title, link, description, language, updated, authors, entries,
 * alternates, warnings, truncated. identity: NULL, or one an entry. */
void feed_write(struct json_writer *w, const struct feed *f, const struct feed_identity *identity);
#endif
