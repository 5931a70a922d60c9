/* xml_inside.h - what the files of xml.h share: the entities that a document declares for itself. */
#ifndef TROTLINE_NET_XML_INSIDE_H
#define TROTLINE_NET_XML_INSIDE_H
#include "net/xml.h"

struct xml_entities {
    struct {
        struct tl_span name; /* in the document */
        size_t at, len;      /* in text */
    } list[XML_ENTITIES_MAX];
    size_t count;
    size_t expanded; /* bytes given out so far, of at most XML_EXPANSION_MAX */
    struct buf text; /* their values, as plain text */
};

/* *at is at "<!DOCTYPE"; moves it behind the declaration. */
void xml_entities_read(struct xml_entities *e, const char **at, const char *end, unsigned *findings);
/* The value of a name, as text to be escaped. False: not declared, or too much was given out already. */
bool xml_entities_find(struct xml_entities *e, struct tl_span name, struct tl_span *value, unsigned *findings);

/* Reads the reference at p, which is '&'. Returns its length; 0: none, the & stands for itself. *value: its text,
 * perhaps in `room`; or ptr NULL: it is one of XML's five and can stay as it is. */
size_t xml_reference(struct xml_entities *e, const char *p, const char *end, char room[8], struct tl_span *value,
                     unsigned *findings);

/* The length of the XML name at `at`, 0: there is none. */
size_t xml_name(const char *at, const char *end);
/* The length of the character at `at` if XML forbids it, else 0. */
static inline size_t xml_forbidden(const char *at, const char *end) {
    unsigned char c = (unsigned char)*at;
    if (c < 0x20)
        return c != '\t' && c != '\n' && c != '\r';
    return c == 0xEF && end - at >= 3 && (unsigned char)at[1] == 0xBF && (unsigned char)at[2] >= 0xBE ? 3 : 0;
}
static inline bool xml_is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
#endif
