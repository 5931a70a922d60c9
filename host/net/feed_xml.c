/* feed_xml.c - RSS, RDF and Atom: elements become fields.
 *
 * Invariant: `level` holds one place for each open element, except those inside of a field that is being captured:
 * their markup goes into its text. At most one field is captured at a time. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "net/feed_capture.h"
#include "net/feed_inside.h"

enum place { IN_FEED, IN_ENTRY, IN_PERSON, IN_OTHER };
struct base {
    struct buf href;
    struct url url;
};
struct reader {
    struct feed_build *b;
    enum feed_family family;
    bool in_entry, rss09, rss10; /* the last two: their namespaces were seen */
    char root_ns[256];
    struct {
        uint8_t place;
        bool has_base;
    } level[XML_DEPTH_MAX + 1];
    size_t depth;
    struct base *bases;
    size_t base_count, base_room;
    bool capturing;
    struct feed_capture capture;
    bool guid, permalink;  /* of the id that is captured */
    struct tl_span scheme; /* of the category that is captured */
    uint8_t feed_rank[FIELDS], entry_rank[FIELDS], person_rank;
    struct tl_span person;
    struct tl_span feed_author, entry_author; /* where nothing better is said */
};

/* ---- the base of links ---- */

static const struct url *base_of(const struct reader *r) {
    return r->base_count ? &r->bases[r->base_count - 1].url : r->b->document;
}
static bool push_base(struct reader *r, struct tl_span ref) {
    struct base fresh = {.href = BUF_INIT};
    if (!ref.ptr)
        return false;
    if (url_parse(&fresh.href, xml_trim(ref), base_of(r), &fresh.url) != TL_OK || fresh.url.opaque_path ||
        fresh.url.href.len > FEED_BASE_MAX) {
        feed_warn(r->b, "an xml:base that is no base was ignored");
        buf_free(&fresh.href);
        return false;
    }
    MEM_GROW(r->bases, r->base_count, r->base_room);
    r->bases[r->base_count++] = fresh;
    return true;
}
static void pop_base(struct reader *r) {
    buf_free(&r->bases[--r->base_count].href);
}

/* ---- what a field becomes ---- */

/* Whether a text of this rank is wanted; then it counts from now on. */
static bool better(struct reader *r, const struct feed_rule *rule) {
    uint8_t *rank = &(r->in_entry ? r->entry_rank : r->feed_rank)[rule->field];
    if (*rank >= rule->rank)
        return false;
    *rank = rule->rank;
    return true;
}
static void add_link(struct reader *r, struct tl_span ref, const struct feed_rule *rule) {
    struct tl_span url = feed_url(r->b, base_of(r), ref);
    if (!url.ptr)
        return;
    if (r->in_entry)
        feed_add_link(r->b, &r->b->entry_lists, url);
    if (better(r, rule))
        *(r->in_entry ? &r->b->entry.link : &r->b->out->link) = url;
}
static void set_author(struct reader *r, struct tl_span text) {
    struct tl_span kept = feed_plain(r->b, text, r->capture.child ? FEED_HTML : FEED_PLAIN);
    if (r->capture.rule->rank > 1)
        feed_add_author(r->b, r->in_entry ? &r->b->entry_lists : &r->b->feed_lists, kept);
    else
        *(r->in_entry ? &r->entry_author : &r->feed_author) = kept;
}
static void set_category(struct reader *r, struct tl_span text) {
    struct feed_category c = {.term = feed_plain(r->b, text, FEED_PLAIN), .scheme = r->scheme};
    feed_add_category(r->b, &r->b->entry_lists, &c);
}
static void set_person_part(struct reader *r, struct tl_span text) {
    if (r->person_rank >= r->capture.rule->rank)
        return;
    r->person_rank = r->capture.rule->rank;
    r->person = feed_plain(r->b, text, FEED_PLAIN);
}
static void set_title(struct reader *r, struct tl_span text) {
    bool plain = strcmp(r->capture.type, "text/plain") == 0;
    bool html = r->capture.child || r->capture.rule->atom_typed;
    if (plain && r->capture.base64) /* nobody encodes plain text */
        plain = html = false;
    struct tl_span title = feed_plain(r->b, text, plain ? FEED_PLAIN : html ? FEED_HTML : FEED_RSS);
    *(r->in_entry ? &r->b->entry.title : &r->b->out->title) = title;
}
static void set_body(struct reader *r, struct tl_span text, struct tl_span *body, struct tl_span *type) {
    *body = feed_keep(r->b, text);
    *type = body->ptr ? feed_keep(r->b, span_of(r->capture.type)) : *body;
    if (r->base_count && (!r->b->entry.base.ptr || r->capture.rule->field == FIELD_CONTENT))
        r->b->entry.base = feed_keep(r->b, base_of(r)->href);
}
static void set_chosen(struct reader *r, struct tl_span text) {
    struct feed_build *b = r->b;
    struct feed_entry *e = &b->entry;
    switch (r->capture.rule->field) {
    case FIELD_TITLE:
        set_title(r, text);
        break;
    case FIELD_ID:
        e->id = feed_keep(b, text);
        e->id_is_permalink = r->guid && r->permalink;
        break;
    case FIELD_SUMMARY:
        if (r->in_entry)
            set_body(r, text, &e->summary, &e->summary_type);
        else
            b->out->description = feed_plain(b, text, strcmp(r->capture.type, "text/plain") ? FEED_RSS : FEED_PLAIN);
        break;
    case FIELD_CONTENT:
        set_body(r, text, &e->content, &e->content_type);
        break;
    case FIELD_PUBLISHED:
        feed_date_set(b, &e->published, text);
        break;
    case FIELD_UPDATED:
        feed_date_set(b, r->in_entry ? &e->updated : &b->out->updated, text);
        break;
    case FIELD_COMMENTS:
        e->comments = feed_url(b, base_of(r), text);
        break;
    case FIELD_LANGUAGE:
        *(r->in_entry ? &e->language : &b->out->language) = feed_keep(b, text);
        break;
    default:
        break;
    }
}
static void finish_capture(struct reader *r) {
    const struct feed_rule *rule = r->capture.rule;
    if (r->capture.text.full) {
        r->b->out->truncated = true;
        feed_warn(r->b, "a text longer than 8 MiB was cut");
    }
    struct tl_span text = feed_capture_result(&r->capture);
    r->capturing = false;
    if (!text.len)
        return;
    if (rule->field == FIELD_LINK)
        add_link(r, text, rule);
    else if (rule->field == FIELD_AUTHOR)
        set_author(r, text);
    else if (rule->field == FIELD_CATEGORY)
        set_category(r, text);
    else if (rule->field >= FIELD_NAME)
        set_person_part(r, text);
    else if (better(r, rule))
        set_chosen(r, text);
}

/* ---- fields that are attributes ---- */

static struct tl_span url_attr(struct reader *r, const struct xml_element *e, const char *name) {
    return feed_url(r->b, base_of(r), xml_attr(e, name));
}
static struct tl_span text_attr(struct reader *r, const struct xml_element *e, const char *name) {
    return feed_keep(r->b, xml_trim(xml_attr(e, name)));
}
static void enclosure(struct reader *r, const struct xml_element *e, const char *url) {
    struct feed_enclosure x = {url_attr(r, e, url), text_attr(r, e, "type"), 0};
    struct tl_span length = xml_trim(xml_attr(e, "length"));
    for (size_t i = 0; i < length.len && x.length >= 0; i++)
        x.length = length.ptr[i] >= '0' && length.ptr[i] <= '9' && i < 18 ? x.length * 10 + (length.ptr[i] - '0') : -1;
    if (!length.len)
        x.length = -1;
    if (r->in_entry)
        feed_add_enclosure(r->b, &r->b->entry_lists, &x);
}
static void atom_link(struct reader *r, const struct xml_element *e, const struct feed_rule *rule) {
    struct tl_span rel = xml_trim(xml_attr(e, "rel"));
    const char *slash = rel.len ? memrchr(rel.ptr, '/', rel.len) : NULL;
    if (slash && rel.len > 4 && memcmp(rel.ptr, "http", 4) == 0) { /* a registered relation, spelled out */
        rel.len -= (size_t)(slash + 1 - rel.ptr);
        rel.ptr = slash + 1;
    }
    if (!rel.len || xml_same(rel, "alternate"))
        add_link(r, xml_attr(e, "href"), rule);
    else if (xml_same(rel, "enclosure"))
        enclosure(r, e, "href");
}
/* True: the attributes say it all, and what the element holds does not matter. */
static bool by_attributes(struct reader *r, const struct xml_element *e, const struct feed_rule *rule) {
    if (rule->field == FIELD_LINK && xml_attr(e, "href").ptr) {
        atom_link(r, e, rule);
        return true;
    }
    if (rule->field == FIELD_ENCLOSURE) {
        enclosure(r, e, "url");
        return true;
    }
    if (rule->field == FIELD_CATEGORY && xml_attr(e, "term").ptr) {
        struct feed_category c = {text_attr(r, e, "term"), text_attr(r, e, "scheme"), text_attr(r, e, "label")};
        feed_add_category(r->b, &r->b->entry_lists, &c);
        return true;
    }
    return false;
}

/* ---- the structure ---- */

static bool read_root(struct reader *r, const struct xml_element *e) {
    enum feed_ns ns = feed_ns_of(e->ns, e->prefix);
    struct tl_span version = xml_trim(xml_attr(e, "version"));
    const char *format = NULL;
    if (e->ns.len < sizeof r->root_ns)
        memcpy(r->root_ns, e->ns.ptr, e->ns.len);
    r->family = FEED_FAMILY_RSS;
    if (xml_same(e->name, "feed") || xml_same(e->name, "entry")) {
        r->family = FEED_FAMILY_ATOM;
        bool old =
            ns == FEED_NS_ATOM03 || (ns != FEED_NS_ATOM10 && version.len > 1 && memcmp(version.ptr, "0.", 2) == 0);
        format = old ? "atom0.3" : "atom1.0";
    } else if (xml_same(e->name, "rss")) {
        bool old = version.len > 1 && memcmp(version.ptr, "0.", 2) == 0;
        format = old ? "rss0.9x" : span_eq(version, "1.0") ? "rss1.0" : "rss2.0";
    } else if (xml_same(e->name, "rdf")) {
        format = "rss1.0"; /* 0.90 if its namespace turns up */
    } else if (xml_same(e->name, "channel") || xml_same(e->name, "item")) {
        format = "rss0.9x";
        feed_warn(r->b, "there is no <rss> around the channel");
    }
    if (ns == FEED_NS_NONE && r->family == FEED_FAMILY_ATOM)
        feed_warn(r->b, "the feed has no namespace; it was taken for Atom");
    r->b->out->format = format;
    return format != NULL;
}
static enum feed_ns ns_of(struct reader *r, const struct xml_element *e) {
    enum feed_ns ns = feed_ns_of(e->ns, e->prefix);
    bool same_as_root = e->ns.len && span_eq(e->ns, r->root_ns);
    if (ns == FEED_NS_RSS)
        *(feed_rss_is_09(e->ns) ? &r->rss09 : &r->rss10) = true;
    if (ns == FEED_NS_NONE || (same_as_root && ns != FEED_NS_RDF))
        return FEED_NS_OWN;
    if (r->family == FEED_FAMILY_RSS)
        return ns == FEED_NS_RSS ? FEED_NS_OWN : ns;
    return ns == FEED_NS_ATOM03 || ns == FEED_NS_ATOM10 ? FEED_NS_OWN : ns;
}
static void begin_entry(struct reader *r, const struct xml_element *e) {
    r->in_entry = true;
    memset(r->entry_rank, 0, sizeof r->entry_rank);
    r->entry_author = (struct tl_span){NULL, 0};
    for (size_t i = 0; i < e->attr_count; i++) {
        const struct xml_attr *a = &e->attrs[i];
        if (xml_same(a->name, "about") && feed_ns_of(a->ns, a->prefix) == FEED_NS_RDF) {
            r->b->entry.id = feed_keep(r->b, xml_trim(a->value));
            r->entry_rank[FIELD_ID] = 1;
        } else if (span_eq(a->prefix, "xml") && span_eq(a->name, "lang")) {
            r->b->entry.language = feed_keep(r->b, xml_trim(a->value));
            r->entry_rank[FIELD_LANGUAGE] = 1;
        }
    }
}
static bool is_web(struct tl_span id) {
    return id.len > 8 && (strncasecmp(id.ptr, "http://", 7) == 0 || strncasecmp(id.ptr, "https://", 8) == 0);
}
static void end_entry(struct reader *r) {
    struct feed_entry *e = &r->b->entry;
    if (!e->link.ptr && e->id_is_permalink && is_web(e->id)) {
        e->link = feed_url(r->b, base_of(r), e->id);
        feed_add_link(r->b, &r->b->entry_lists, e->link);
    }
    if (!r->b->entry_lists.author_count)
        feed_add_author(r->b, &r->b->entry_lists, r->entry_author);
    feed_entry_end(r->b);
    r->in_entry = false;
}
static void begin_capture(struct reader *r, const struct feed_rule *rule, const struct xml_element *e) {
    struct tl_span permalink = xml_trim(xml_attr(e, "isPermaLink"));
    r->guid = xml_same(e->name, "guid");
    r->permalink = !xml_same(permalink, "false");
    r->scheme = (struct tl_span){NULL, 0};
    if (rule->field == FIELD_CATEGORY)
        r->scheme = text_attr(r, e, "domain");
    feed_capture_begin(&r->capture, rule, e);
    r->capturing = true;
}
/* An element below the root. *place is that of its content; TL_PARTIAL: enough. */
static int descend(struct reader *r, const struct xml_element *e, enum place in, uint8_t *place) {
    enum feed_ns ns = ns_of(r, e);
    *place = IN_OTHER;
    if (in == IN_PERSON) {
        const struct feed_rule *part = ns == FEED_NS_OWN || ns == FEED_NS_ATOM10 ? feed_person_rule(e->name) : NULL;
        if (part)
            begin_capture(r, part, e);
        return TL_OK;
    }
    if (!r->in_entry && ns == FEED_NS_OWN && (xml_same(e->name, "item") || xml_same(e->name, "entry"))) {
        if (!feed_entry_begin(r->b))
            return TL_PARTIAL;
        begin_entry(r, e);
        *place = IN_ENTRY;
        return TL_OK;
    }
    if (in == IN_FEED && ns == FEED_NS_OWN && xml_same(e->name, "channel")) {
        *place = IN_FEED;
        return TL_OK;
    }
    if (in == IN_OTHER)
        return TL_OK;
    const struct feed_rule *rule = feed_rule_of(r->family, ns, e->name, r->in_entry);
    if (!rule || by_attributes(r, e, rule))
        return TL_OK;
    if (rule->field == FIELD_PERSON) {
        r->person = (struct tl_span){NULL, 0};
        r->person_rank = 0;
        *place = IN_PERSON;
    } else {
        begin_capture(r, rule, e);
    }
    return TL_OK;
}

static int on_start(void *arg, const struct xml_element *e) {
    struct reader *r = arg;
    if (r->capturing) {
        feed_capture_start(&r->capture, e);
        return TL_OK;
    }
    size_t at = r->depth++;
    r->level[at].has_base = push_base(r, xml_base(e));
    if (at)
        return descend(r, e, r->level[at - 1].place, &r->level[at].place);
    if (!read_root(r, e))
        return TL_INVALID;
    r->level[0].place = IN_FEED;
    if (xml_same(e->name, "entry") || xml_same(e->name, "item")) { /* a document of one entry */
        feed_entry_begin(r->b);
        begin_entry(r, e);
        r->level[0].place = IN_ENTRY;
    } else {
        for (size_t i = 0; i < e->attr_count; i++)
            if (span_eq(e->attrs[i].prefix, "xml") && span_eq(e->attrs[i].name, "lang"))
                r->b->out->language = feed_keep(r->b, xml_trim(e->attrs[i].value));
    }
    return TL_OK;
}
static int on_end(void *arg, const struct xml_element *e) {
    struct reader *r = arg;
    if (r->capturing && r->capture.depth) {
        feed_capture_end(&r->capture, e);
        return TL_OK;
    }
    if (r->capturing)
        finish_capture(r);
    size_t at = --r->depth;
    if (r->level[at].place == IN_ENTRY)
        end_entry(r);
    else if (r->level[at].place == IN_PERSON)
        feed_add_author(r->b, r->in_entry ? &r->b->entry_lists : &r->b->feed_lists, r->person);
    if (r->level[at].has_base)
        pop_base(r);
    return TL_OK;
}
static int on_text(void *arg, struct tl_span text) {
    struct reader *r = arg;
    if (r->capturing)
        feed_capture_text(&r->capture, text);
    return TL_OK;
}

static void warn_findings(struct feed_build *b, unsigned findings) {
    for (int i = 0; i < XML_FINDINGS; i++) {
        const char *text = findings >> i & 1 ? xml_finding_text(1u << i) : NULL;
        if (text)
            feed_warn(b, text);
    }
}
static int read_all(struct reader *r, struct tl_span xml) {
    static const struct xml_events events = {on_start, on_end, on_text};
    int rc = xml_read(xml, &events, r);
    if (rc < 0 && r->b->out->format && r->b->entry_count < FEED_ENTRIES_MAX) {
        r->b->out->truncated = true;
        feed_warn(r->b, "the rest of the document could not be read");
    }
    while (r->depth) /* left open when the reading stopped */
        on_end(r, &(struct xml_element){.name = span_of("x")});
    if (!r->b->out->format)
        return TL_INVALID;
    if (strcmp(r->b->out->format, "rss1.0") == 0 && r->rss09 && !r->rss10)
        r->b->out->format = "rss0.9x";
    if (!r->b->feed_lists.author_count)
        feed_add_author(r->b, &r->b->feed_lists, r->feed_author);
    return TL_OK;
}
int feed_read_xml(struct feed_build *b, struct tl_span utf8) {
    AUTO_BUF struct buf clean = BUF_INIT;
    AUTO_FREE struct reader *r = mem_alloc(sizeof *r);
    unsigned findings = 0;
    bool html;
    r->b = b;
    xml_clean(utf8, &clean, &findings);
    int rc = read_all(r, buf_span(&clean));
    if (rc == TL_INVALID) {
        struct tl_span root = xml_root(utf8, &html);
        snprintf(b->out->error, sizeof b->out->error, "the root element <%.*s> is no feed that we know",
                 root.len < 64 ? (int)root.len : 64, root.ptr);
    } else {
        warn_findings(b, findings);
    }
    while (r->base_count)
        pop_base(r);
    free(r->bases);
    buf_free(&r->capture.text);
    return rc;
}
