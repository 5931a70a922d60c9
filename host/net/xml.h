/* xml.h - XML from strangers: the bytes as text, the text made well-formed, and its elements one after the other.
 *
 * Invariant: the parser (libxml2) never sees a document type, an entity, a processing instruction or a comment: all of
 * these are dealt with and left out before, so nothing is fetched, opened or multiplied. What it sees is always
 * well-formed: a text that was not has been repaired, and the report says how. Work is linear in the input; no
 * recursion; fits a coroutine's stack.
 *
 * Not for XML that must be right: a document with a fault is read, not refused. */
#ifndef TROTLINE_NET_XML_H
#define TROTLINE_NET_XML_H
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "trotline.h"

enum {
    XML_BODY_MAX = 50 << 20,      /* bytes of a body: what the sitemap protocol allows */
    XML_DEPTH_MAX = 256,          /* open elements; deeper ones lose their tags */
    XML_ATTR_MAX = 64 << 10,      /* bytes of an attribute's value, else it is left out */
    XML_ATTRS_MAX = 64,           /* of an element; the rest is left out */
    XML_NAMES_MAX = 8192,         /* different names; elements beyond them are called "_", attributes left out */
    XML_SCOPE_MAX = 128,          /* namespaces in scope; the rest is not declared */
    XML_ENTITIES_MAX = 64,        /* declared by the document itself */
    XML_ENTITY_TEXT_MAX = 4096,   /* bytes of one */
    XML_EXPANSION_MAX = 512 << 10 /* bytes of all references together */
};

/* What was found on the way, as bits. Those from XML_REPAIRED on mean that the text was no well-formed XML. */
enum xml_finding {
    XML_DOCTYPE = 1 << 0,
    XML_EXTERNAL_ENTITY = 1 << 1,   /* declared, and not followed */
    XML_EXPANSION_STOPPED = 1 << 2, /* references beyond XML_EXPANSION_MAX stay as they were written */
    XML_TOO_DEEP = 1 << 3,
    XML_ATTR_DROPPED = 1 << 4,       /* too long, or too many */
    XML_ENCODING_OVERRULED = 1 << 5, /* the bytes are UTF-8, whatever was said of them */
    XML_MISREAD = 1 << 6,            /* control characters that are windows-1252 in truth were replaced */
    XML_TOO_MANY_NAMES = 1 << 7,
    XML_REPAIRED = 1 << 8,
    XML_BAD_ENCODING = 1 << 8,   /* bytes that the encoding does not have */
    XML_BAD_CHARACTER = 1 << 9,  /* control characters and the like were left out */
    XML_BAD_AMPERSAND = 1 << 10, /* & that begins no reference */
    XML_BAD_ENTITY = 1 << 11,    /* names that only HTML knows, or nobody */
    XML_BAD_TAG = 1 << 12,       /* attributes without quotes, doubled names, stray < */
    XML_BAD_NESTING = 1 << 13,   /* end tags without their start or the other way round */
    XML_TRUNCATED = 1 << 14,     /* it ends in the middle */
    XML_JUNK = 1 << 15,          /* text before or behind the root element */
    XML_FINDINGS = 16
};
/* A sentence for one bit; NULL: that bit has none. */
const char *xml_finding_text(unsigned bit);

/* Appends the body as valid UTF-8. The order: byte order mark, the shape of the first bytes, the header's charset, the
 * XML declaration, UTF-8; but bytes that are UTF-8 are read as that when windows-1252 is claimed for them, and a
 * declared UTF-8 without a single right sequence is windows-1252. *charset: the WHATWG name, or "utf-32". TL_INVALID:
 * longer than XML_BODY_MAX. */
int xml_decode(struct tl_span body, const char *content_type, struct buf *utf8, const char **charset,
               unsigned *findings);

/* Appends well-formed XML that says the same: one root element, its tags and text, nothing else. Always succeeds; the
 * result is empty when there is no element. Ors into *findings. */
void xml_clean(struct tl_span utf8, struct buf *out, unsigned *findings);
/* The name of the root element as written, with its prefix; empty: none. `html`: it says that it
 * is a page, by its doctype or its root. */
struct tl_span xml_root(struct tl_span utf8, bool *html);

struct xml_attr {
    struct tl_span prefix, name, ns, value; /* ns empty: none, or an undeclared prefix */
};
struct xml_ns {
    struct tl_span prefix, uri;
};
struct xml_element {
    struct tl_span prefix, name, ns;
    const struct xml_attr *attrs; /* NULL at an end */
    size_t attr_count;
    const struct xml_ns *declared; /* namespaces that begin here */
    size_t declared_count;
};
/* Spans live during the call. Text comes in pieces. A negative status stops the reading and is its result. */
struct xml_events {
    int (*start)(void *arg, const struct xml_element *e);
    int (*end)(void *arg, const struct xml_element *e);
    int (*text)(void *arg, struct tl_span text);
};
/* xml: from xml_clean. TL_INVALID: libxml2 does not think it well-formed; what came before it has been told.
 * TL_PARTIAL: so many undeclared prefixes that it was not read to its end. */
int xml_read(struct tl_span xml, const struct xml_events *events, void *arg);

/* The value of an attribute without namespace (or of any, when ns is NULL), its name compared without case; ptr NULL:
 * it has none. */
struct tl_span xml_attr(const struct xml_element *e, const char *name);
struct tl_span xml_base(const struct xml_element *e); /* xml:base */
struct tl_span xml_trim(struct tl_span text);         /* without white space around it */
bool xml_same(struct tl_span a, const char *b);       /* ASCII case does not count */
/* Appends text so that it reads the same as XML or HTML; with quotes, in an attribute too. */
void xml_escape(struct buf *out, struct tl_span text, bool quotes);
#endif
