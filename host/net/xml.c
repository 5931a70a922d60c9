/* xml.c - see xml.h: libxml2 behind three calls. */
#include "net/xml.h"

#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

enum { ERRORS_MAX = 500000 };

struct reader {
    const struct xml_events *events;
    void *arg;
    xmlParserCtxtPtr ctxt;
    int rc;
    size_t errors;
    struct xml_attr attrs[XML_ATTRS_MAX];
    struct xml_ns declared[XML_ATTRS_MAX];
};

static struct tl_span span(const xmlChar *text) {
    return span_of((const char *)text);
}
static void settle(struct reader *r, int rc) {
    if (rc < 0 && r->rc == TL_OK) {
        r->rc = rc;
        xmlStopParser(r->ctxt);
    }
}
static void on_start(void *arg, const xmlChar *name, const xmlChar *prefix, const xmlChar *ns, int ns_count,
                     const xmlChar **namespaces, int attr_count, int defaulted, const xmlChar **attributes) {
    struct reader *r = arg;
    struct xml_element e = {.prefix = span(prefix), .name = span(name), .ns = span(ns)};
    (void)defaulted;
    if (r->rc == TL_OK && r->errors > ERRORS_MAX)
        settle(r, TL_PARTIAL);
    if (r->rc < 0)
        return;
    for (int i = 0; i < ns_count && e.declared_count < XML_ATTRS_MAX; i++)
        r->declared[e.declared_count++] = (struct xml_ns){span(namespaces[2 * i]), span(namespaces[2 * i + 1])};
    for (int i = 0; i < attr_count && e.attr_count < XML_ATTRS_MAX; i++) {
        const xmlChar **a = attributes + (ptrdiff_t)5 * i;
        r->attrs[e.attr_count++] =
            (struct xml_attr){span(a[1]), span(a[0]), span(a[2]), {(const char *)a[3], (size_t)(a[4] - a[3])}};
    }
    e.attrs = r->attrs;
    e.declared = r->declared;
    settle(r, r->events->start(r->arg, &e));
}
static void on_end(void *arg, const xmlChar *name, const xmlChar *prefix, const xmlChar *ns) {
    struct reader *r = arg;
    struct xml_element e = {.prefix = span(prefix), .name = span(name), .ns = span(ns)};
    if (r->rc == TL_OK)
        settle(r, r->events->end(r->arg, &e));
}
static void on_text(void *arg, const xmlChar *text, int len) {
    struct reader *r = arg;
    if (r->rc == TL_OK && len > 0)
        settle(r, r->events->text(r->arg, (struct tl_span){(const char *)text, (size_t)len}));
}
/* Without it libxml2 writes to stderr. What was cleaned has only faults of namespaces, but each costs time. */
static void on_error(void *arg, xmlErrorPtr error) {
    struct reader *r = arg;
    (void)error;
    r->errors++; /* looked at between elements: libxml2 must not be stopped inside of a tag */
}

int xml_read(struct tl_span xml, const struct xml_events *events, void *arg) {
    static const xmlSAXHandler handler = {.initialized = XML_SAX2_MAGIC,
                                          .startElementNs = on_start,
                                          .endElementNs = on_end,
                                          .characters = on_text,
                                          .ignorableWhitespace = on_text,
                                          .cdataBlock = on_text,
                                          .serror = on_error};
    if (xml.len < 4 || xml.len > INT32_MAX) /* 4: what libxml2 needs to begin; <a/> has as many */
        return TL_INVALID;
    xmlInitParser();
    AUTO_FREE struct reader *r = mem_alloc(sizeof *r);
    xmlParserCtxtPtr ctxt = xmlCreateMemoryParserCtxt(xml.ptr, (int)xml.len);
    if (!ctxt)
        return TL_FAILED;
    *r = (struct reader){.events = events, .arg = arg, .ctxt = ctxt};
    *ctxt->sax = handler;
    ctxt->userData = r;
    /* NOENT: attributes come with their references replaced; there are none but the five of XML. */
    xmlCtxtUseOptions(ctxt, XML_PARSE_NONET | XML_PARSE_NOENT | XML_PARSE_IGNORE_ENC);
    *ctxt->sax = handler; /* the options changed it */
    xmlParseDocument(ctxt);
    int rc = r->rc < 0 ? r->rc : ctxt->wellFormed ? TL_OK : TL_INVALID;
    xmlFreeParserCtxt(ctxt);
    return rc;
}

bool xml_same(struct tl_span a, const char *b) {
    return a.len == strlen(b) && strncasecmp(a.ptr, b, a.len) == 0;
}
struct tl_span xml_attr(const struct xml_element *e, const char *name) {
    for (size_t i = 0; i < e->attr_count; i++)
        if (!e->attrs[i].ns.len && !e->attrs[i].prefix.len && xml_same(e->attrs[i].name, name))
            return e->attrs[i].value;
    return (struct tl_span){NULL, 0};
}
struct tl_span xml_base(const struct xml_element *e) {
    for (size_t i = 0; i < e->attr_count; i++)
        if (span_eq(e->attrs[i].prefix, "xml") && span_eq(e->attrs[i].name, "base"))
            return e->attrs[i].value;
    return (struct tl_span){NULL, 0};
}
static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}
struct tl_span xml_trim(struct tl_span text) {
    while (text.len && is_space(*text.ptr))
        text.ptr++, text.len--;
    while (text.len && is_space(text.ptr[text.len - 1]))
        text.len--;
    return text;
}
void xml_escape(struct buf *out, struct tl_span text, bool quotes) {
    const char *p = text.ptr, *end = p + text.len, *from = p;
    for (; p < end; p++) {
        const char *as = *p == '&'             ? "&amp;"
                         : *p == '<'           ? "&lt;"
                         : *p == '>'           ? "&gt;"
                         : *p == '"' && quotes ? "&quot;"
                                               : NULL;
        if (!as)
            continue;
        buf_add(out, from, (size_t)(p - from));
        buf_text(out, as);
        from = p + 1;
    }
    buf_add(out, from, (size_t)(end - from));
}

const char *xml_finding_text(unsigned bit) {
    switch (bit) {
    case XML_EXTERNAL_ENTITY:
        return "an external entity was declared; it was not followed";
    case XML_EXPANSION_STOPPED:
        return "entities would have grown beyond all measure; the expansion was stopped";
    case XML_TOO_DEEP:
        return "elements are nested more than 256 deep; the deeper ones lost their tags";
    case XML_ATTR_DROPPED:
        return "attributes that are too long or too many were left out";
    case XML_ENCODING_OVERRULED:
        return "the text is UTF-8 although another encoding was declared";
    case XML_MISREAD:
        return "control characters that are windows-1252 in truth were replaced by what they mean";
    case XML_TOO_MANY_NAMES:
        return "more than 8192 different names; the elements beyond them lost theirs";
    case XML_BAD_ENCODING:
        return "repaired: bytes that do not fit the encoding";
    case XML_BAD_CHARACTER:
        return "repaired: characters that XML forbids were left out";
    case XML_BAD_AMPERSAND:
        return "repaired: ampersands that begin no reference";
    case XML_BAD_ENTITY:
        return "repaired: entities that the document does not declare";
    case XML_BAD_TAG:
        return "repaired: faulty tags";
    case XML_BAD_NESTING:
        return "repaired: start and end tags that do not match";
    case XML_TRUNCATED:
        return "repaired: the document ends in the middle";
    case XML_JUNK:
        return "repaired: text outside of the root element was left out";
    default:
        return NULL;
    }
}
