/* feed_fields.c - see feed_fields.h. */
#include "net/feed_fields.h"

#include <string.h>

#include "base/mem.h"

struct namespace {
    const char *uri;
    enum feed_ns ns;
};
/* A URI that ends in * stands for all that begin so. A slash or # at the end and the case do not matter. */
static const struct namespace namespaces[] = {{"http://www.w3.org/2005/atom", FEED_NS_ATOM10},
                                              {"https://www.w3.org/2005/atom", FEED_NS_ATOM10},
                                              {"http://purl.org/atom/ns", FEED_NS_ATOM03},
                                              {"http://purl.org/atom/*", FEED_NS_ATOM03},
                                              {"http://purl.org/echo", FEED_NS_ATOM03},
                                              {"http://purl.org/pie", FEED_NS_ATOM03},
                                              {"http://example.com/newformat", FEED_NS_ATOM03},
                                              {"http://example.com/necho", FEED_NS_ATOM03},
                                              {"uri/of/echo/namespace", FEED_NS_ATOM03},
                                              {"http://purl.org/rss/1.0/modules/content", FEED_NS_CONTENT},
                                              {"http://purl.org/rss/1.0/modules/*", FEED_NS_OTHER},
                                              {"http://purl.org/rss/1.0", FEED_NS_RSS},
                                              {"https://purl.org/rss/1.0", FEED_NS_RSS},
                                              {"http://purl.org/net/rss1.1", FEED_NS_RSS},
                                              {"http://my.netscape.com/*", FEED_NS_RSS},
                                              {"http://channel.netscape.com/rdf/simple/0.9", FEED_NS_RSS},
                                              {"http://backend.userland.com/*", FEED_NS_RSS},
                                              {"http://blogs.law.harvard.edu/tech/rss", FEED_NS_RSS},
                                              {"http://cyber.law.harvard.edu/rss*", FEED_NS_RSS},
                                              {"http://www.rssboard.org/rss-specification", FEED_NS_RSS},
                                              {"http://www.w3.org/1999/02/22-rdf-syntax-ns", FEED_NS_RDF},
                                              {"http://purl.org/dc/elements/*", FEED_NS_DC},
                                              {"http://purl.org/dc/terms", FEED_NS_TERMS},
                                              {"http://purl.org/rss/modules/content", FEED_NS_CONTENT},
                                              {"http://www.itunes.com/dtds/podcast-1.0.dtd", FEED_NS_ITUNES},
                                              {"http://example.com/dtds/podcast-1.0.dtd", FEED_NS_ITUNES},
                                              {"http://www.w3.org/1999/xhtml", FEED_NS_XHTML}};
/* For prefixes that nobody declared. */
static const struct namespace prefixes[] = {
    {"atom", FEED_NS_ATOM10},   {"atom03", FEED_NS_ATOM03}, {"rdf", FEED_NS_RDF},
    {"dc", FEED_NS_DC},         {"dcterms", FEED_NS_TERMS}, {"content", FEED_NS_CONTENT},
    {"itunes", FEED_NS_ITUNES}, {"xhtml", FEED_NS_XHTML},   {"rss", FEED_NS_RSS}};

static struct tl_span without_end(struct tl_span uri) {
    uri = xml_trim(uri);
    while (uri.len && strchr("/#", uri.ptr[uri.len - 1]))
        uri.len--;
    return uri;
}
static bool uri_is(struct tl_span uri, const char *pattern) {
    size_t n = strlen(pattern);
    if (pattern[n - 1] != '*')
        return xml_same(uri, pattern);
    for (size_t i = 0; i < n - 1; i++)
        if (i >= uri.len || (uri.ptr[i] | 0x20) != (pattern[i] | 0x20))
            return false;
    return true;
}
enum feed_ns feed_ns_of(struct tl_span uri, struct tl_span prefix) {
    if (!uri.len && prefix.len) {
        for (size_t i = 0; i < COUNT_OF(prefixes); i++)
            if (xml_same(prefix, prefixes[i].uri))
                return prefixes[i].ns;
        return FEED_NS_OTHER;
    }
    uri = without_end(uri);
    if (!uri.len)
        return FEED_NS_NONE;
    for (size_t i = 0; i < COUNT_OF(namespaces); i++)
        if (uri_is(uri, namespaces[i].uri))
            return namespaces[i].ns;
    return FEED_NS_OTHER;
}
bool feed_rss_is_09(struct tl_span uri) {
    return uri_is(uri, "http://my.netscape.com/*") || uri_is(uri, "http://channel.netscape.com/*");
}

enum where { FEED = 1, ENTRY = 2, ANY = 3 };
static const struct row {
    enum feed_ns ns;
    const char *name;
    enum feed_family family;
    enum where where;
    struct feed_rule rule;
} rows[] = {
    {FEED_NS_OWN, "title", FEED_FAMILY_RSS, ANY, {FIELD_TITLE, 4, false, false}},
    {FEED_NS_OWN, "title", FEED_FAMILY_ATOM, ANY, {FIELD_TITLE, 4, false, true}},
    {FEED_NS_OWN, "link", FEED_FAMILY_BOTH, ANY, {FIELD_LINK, 3, false, false}},
    {FEED_NS_OWN, "guid", FEED_FAMILY_BOTH, ENTRY, {FIELD_ID, 3, false, false}},
    {FEED_NS_OWN, "id", FEED_FAMILY_BOTH, ENTRY, {FIELD_ID, 3, false, false}},
    {FEED_NS_OWN, "description", FEED_FAMILY_RSS, ANY, {FIELD_SUMMARY, 4, false, false}},
    {FEED_NS_OWN, "summary", FEED_FAMILY_RSS, ENTRY, {FIELD_SUMMARY, 1, false, false}},
    {FEED_NS_OWN, "abstract", FEED_FAMILY_RSS, ENTRY, {FIELD_SUMMARY, 1, false, false}},
    {FEED_NS_OWN, "description", FEED_FAMILY_ATOM, ANY, {FIELD_SUMMARY, 1, false, true}},
    {FEED_NS_OWN, "summary", FEED_FAMILY_ATOM, ENTRY, {FIELD_SUMMARY, 4, false, true}},
    {FEED_NS_OWN, "subtitle", FEED_FAMILY_ATOM, FEED, {FIELD_SUMMARY, 4, false, true}},
    {FEED_NS_OWN, "tagline", FEED_FAMILY_ATOM, FEED, {FIELD_SUMMARY, 3, false, true}},
    {FEED_NS_OWN, "content", FEED_FAMILY_ATOM, ENTRY, {FIELD_CONTENT, 4, false, true}},
    {FEED_NS_OWN, "content", FEED_FAMILY_RSS, ENTRY, {FIELD_CONTENT, 2, false, false}},
    {FEED_NS_OWN, "body", FEED_FAMILY_RSS, ENTRY, {FIELD_CONTENT, 1, true, false}},
    {FEED_NS_OWN, "fullitem", FEED_FAMILY_RSS, ENTRY, {FIELD_CONTENT, 1, false, false}},
    {FEED_NS_OWN, "pubdate", FEED_FAMILY_BOTH, ENTRY, {FIELD_PUBLISHED, 4, false, false}},
    {FEED_NS_OWN, "published", FEED_FAMILY_BOTH, ENTRY, {FIELD_PUBLISHED, 4, false, false}},
    {FEED_NS_OWN, "issued", FEED_FAMILY_BOTH, ENTRY, {FIELD_PUBLISHED, 3, false, false}},
    {FEED_NS_OWN, "created", FEED_FAMILY_BOTH, ENTRY, {FIELD_PUBLISHED, 1, false, false}},
    {FEED_NS_OWN, "updated", FEED_FAMILY_BOTH, ANY, {FIELD_UPDATED, 4, false, false}},
    {FEED_NS_OWN, "modified", FEED_FAMILY_BOTH, ANY, {FIELD_UPDATED, 3, false, false}},
    {FEED_NS_OWN, "lastbuilddate", FEED_FAMILY_RSS, FEED, {FIELD_UPDATED, 4, false, false}},
    {FEED_NS_OWN, "pubdate", FEED_FAMILY_RSS, FEED, {FIELD_UPDATED, 1, false, false}},
    {FEED_NS_OWN, "comments", FEED_FAMILY_RSS, ENTRY, {FIELD_COMMENTS, 4, false, false}},
    {FEED_NS_OWN, "language", FEED_FAMILY_RSS, ANY, {FIELD_LANGUAGE, 4, false, false}},
    {FEED_NS_OWN, "author", FEED_FAMILY_RSS, ANY, {FIELD_AUTHOR, 4, false, false}},
    {FEED_NS_OWN, "managingeditor", FEED_FAMILY_RSS, FEED, {FIELD_AUTHOR, 4, false, false}},
    {FEED_NS_OWN, "author", FEED_FAMILY_ATOM, ANY, {FIELD_PERSON, 4, false, false}},
    {FEED_NS_OWN, "category", FEED_FAMILY_BOTH, ENTRY, {FIELD_CATEGORY, 4, false, false}},
    {FEED_NS_OWN, "enclosure", FEED_FAMILY_RSS, ENTRY, {FIELD_ENCLOSURE, 4, false, false}},
    {FEED_NS_CONTENT, "encoded", FEED_FAMILY_BOTH, ENTRY, {FIELD_CONTENT, 3, false, false}},
    {FEED_NS_XHTML, "body", FEED_FAMILY_BOTH, ENTRY, {FIELD_CONTENT, 2, true, false}},
    {FEED_NS_XHTML, "div", FEED_FAMILY_BOTH, ENTRY, {FIELD_CONTENT, 1, true, false}},
    {FEED_NS_DC, "title", FEED_FAMILY_BOTH, ANY, {FIELD_TITLE, 2, false, false}},
    {FEED_NS_DC, "description", FEED_FAMILY_BOTH, ANY, {FIELD_SUMMARY, 2, false, false}},
    {FEED_NS_DC, "creator", FEED_FAMILY_BOTH, ANY, {FIELD_AUTHOR, 4, false, false}},
    {FEED_NS_DC, "author", FEED_FAMILY_BOTH, ANY, {FIELD_AUTHOR, 4, false, false}},
    {FEED_NS_DC, "date", FEED_FAMILY_BOTH, ENTRY, {FIELD_PUBLISHED, 2, false, false}},
    {FEED_NS_DC, "date", FEED_FAMILY_BOTH, FEED, {FIELD_UPDATED, 2, false, false}},
    {FEED_NS_DC, "subject", FEED_FAMILY_BOTH, ENTRY, {FIELD_CATEGORY, 4, false, false}},
    {FEED_NS_DC, "identifier", FEED_FAMILY_BOTH, ENTRY, {FIELD_ID, 2, false, false}},
    {FEED_NS_DC, "language", FEED_FAMILY_BOTH, ANY, {FIELD_LANGUAGE, 2, false, false}},
    {FEED_NS_TERMS, "issued", FEED_FAMILY_BOTH, ENTRY, {FIELD_PUBLISHED, 2, false, false}},
    {FEED_NS_TERMS, "created", FEED_FAMILY_BOTH, ENTRY, {FIELD_PUBLISHED, 1, false, false}},
    {FEED_NS_TERMS, "modified", FEED_FAMILY_BOTH, ANY, {FIELD_UPDATED, 2, false, false}},
    {FEED_NS_ITUNES, "title", FEED_FAMILY_RSS, ENTRY, {FIELD_TITLE, 1, false, false}},
    {FEED_NS_ITUNES, "summary", FEED_FAMILY_RSS, ANY, {FIELD_SUMMARY, 1, false, false}},
    {FEED_NS_ITUNES, "author", FEED_FAMILY_RSS, ANY, {FIELD_AUTHOR, 1, false, false}},
    {FEED_NS_ATOM10, "title", FEED_FAMILY_RSS, ANY, {FIELD_TITLE, 3, false, true}},
    {FEED_NS_ATOM10, "link", FEED_FAMILY_RSS, ANY, {FIELD_LINK, 2, false, false}},
    {FEED_NS_ATOM10, "id", FEED_FAMILY_RSS, ENTRY, {FIELD_ID, 2, false, false}},
    {FEED_NS_ATOM10, "summary", FEED_FAMILY_RSS, ENTRY, {FIELD_SUMMARY, 3, false, true}},
    {FEED_NS_ATOM10, "content", FEED_FAMILY_RSS, ENTRY, {FIELD_CONTENT, 4, false, true}},
    {FEED_NS_ATOM10, "published", FEED_FAMILY_RSS, ENTRY, {FIELD_PUBLISHED, 3, false, false}},
    {FEED_NS_ATOM10, "issued", FEED_FAMILY_RSS, ENTRY, {FIELD_PUBLISHED, 3, false, false}},
    {FEED_NS_ATOM10, "updated", FEED_FAMILY_RSS, ANY, {FIELD_UPDATED, 3, false, false}},
    {FEED_NS_ATOM10, "modified", FEED_FAMILY_RSS, ANY, {FIELD_UPDATED, 3, false, false}},
    {FEED_NS_ATOM10, "author", FEED_FAMILY_RSS, ANY, {FIELD_PERSON, 4, false, false}},
    {FEED_NS_ATOM10, "category", FEED_FAMILY_RSS, ENTRY, {FIELD_CATEGORY, 4, false, false}},
};

const struct feed_rule *feed_rule_of(enum feed_family family, enum feed_ns ns, struct tl_span name, bool in_entry) {
    if (ns == FEED_NS_ATOM03)
        ns = FEED_NS_ATOM10;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].ns == ns && rows[i].family & family && rows[i].where & (in_entry ? ENTRY : FEED) &&
            xml_same(name, rows[i].name))
            return &rows[i].rule;
    return NULL;
}
const struct feed_rule *feed_person_rule(struct tl_span name) {
    static const struct feed_rule rules[] = {
        {FIELD_NAME, 3, false, false}, {FIELD_EMAIL, 2, false, false}, {FIELD_URI, 1, false, false}};
    if (xml_same(name, "name"))
        return &rules[0];
    if (xml_same(name, "email"))
        return &rules[1];
    return xml_same(name, "uri") || xml_same(name, "url") || xml_same(name, "homepage") ? &rules[2] : NULL;
}
