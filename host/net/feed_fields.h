/* feed_fields.h - which element of which vocabulary means what. The one table of names of the XML feeds. */
#ifndef TROTLINE_NET_FEED_FIELDS_H
#define TROTLINE_NET_FEED_FIELDS_H
#include "net/xml.h"
#include <stdint.h>

enum feed_family { FEED_FAMILY_RSS = 1, FEED_FAMILY_ATOM = 2, FEED_FAMILY_BOTH = 3 };
enum feed_ns { /* of an element; OWN: the vocabulary of the feed itself */
               FEED_NS_OTHER,
               FEED_NS_NONE,
               FEED_NS_RSS,
               FEED_NS_ATOM03,
               FEED_NS_ATOM10,
               FEED_NS_RDF,
               FEED_NS_DC,
               FEED_NS_TERMS,
               FEED_NS_CONTENT,
               FEED_NS_ITUNES,
               FEED_NS_XHTML,
               FEED_NS_OWN
};
enum feed_field {
    FIELD_NONE,
    FIELD_TITLE,
    FIELD_LINK,
    FIELD_ID,
    FIELD_SUMMARY, /* of a feed: its description */
    FIELD_CONTENT,
    FIELD_PUBLISHED,
    FIELD_UPDATED,
    FIELD_COMMENTS,
    FIELD_LANGUAGE,
    FIELD_AUTHOR, /* a text */
    FIELD_PERSON, /* name, email, uri */
    FIELD_CATEGORY,
    FIELD_ENCLOSURE,
    FIELD_NAME, /* inside of a person, in the order of preference */
    FIELD_EMAIL,
    FIELD_URI,
    FIELDS
};
/* rank: of two elements for the same field the higher counts, of equals the first. */
struct feed_rule {
    enum feed_field field;
    uint8_t rank;
    bool markup;     /* the content is markup, not text that holds markup */
    bool atom_typed; /* type and mode say what it is */
};
enum feed_ns feed_ns_of(struct tl_span uri, struct tl_span prefix);
bool feed_rss_is_09(struct tl_span uri); /* the namespaces of RSS 0.90 */
/* ns: OWN or another. NULL: it means nothing. */
const struct feed_rule *feed_rule_of(enum feed_family family, enum feed_ns ns, struct tl_span name, bool in_entry);
const struct feed_rule *feed_person_rule(struct tl_span name);
#endif
