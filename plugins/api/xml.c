/* xml.c - as much of XML as a list of pages needs: how many elements stand at a path, and the text of the first.
 *
 * One pass without recursion; nothing is declared, fetched or expanded but the five entities of XML itself and
 * references to characters. What is not well formed is no XML, or ends there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"

enum { DEPTH_MOST = 256 };

struct scan {
    struct tl_run *run;
    const char *at, *end, *path;
    int depth, fits; /* open elements, and how many of them, from the root, are as the path says */
    int wanted;      /* elements of the path */
    int64_t found;
    bool inside; /* the first that was found */
    struct api_text text;
};

/* Is the step of the path at this depth this name, prefix left out? */
static bool step_is(const struct scan *s, int depth, const char *name, size_t len) {
    const char *step = s->path;
    for (int i = 0; i < depth && step; i++)
        step = strchr(step + 1, '/');
    size_t n = step ? strcspn(step + 1, "/") : 0;
    const char *colon = memchr(name, ':', len);
    if (step && n == len && memcmp(step + 1, name, n) == 0)
        return true;
    return step && colon && n == len - (size_t)(colon - name) - 1 && memcmp(step + 1, colon + 1, n) == 0;
}

static void add_reference(struct scan *s, const char *name, size_t len) {
    static const struct {
        const char *name, *text;
    } known[] = {{"amp", "&"}, {"lt", "<"}, {"gt", ">"}, {"quot", "\""}, {"apos", "'"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == len && memcmp(known[i].name, name, len) == 0) {
            api_add(&s->text, known[i].text, 1);
            return;
        }
    if (len < 2 || len > 8 || name[0] != '#')
        return;
    char digits[12], json[20];
    memcpy(digits, name + 1, len - 1);
    digits[len - 1] = '\0';
    unsigned long c = digits[0] == 'x' ? strtoul(digits + 1, NULL, 16) : strtoul(digits, NULL, 10);
    if (c >= 0xD800 && (c < 0xE000 || c > 0xFFFF)) /* what the host's JSON can write in one go */
        return;
    struct tl_json v = {.type = TL_JSON_STRING, .raw = {json, 8}};
    snprintf(json, sizeof json, "\"\\u%04lx\"", c);
    const char *text = s->run->host->json_text(s->run, &v);
    api_add(&s->text, text ? text : "", text ? strlen(text) : 0);
}

static void add_text(struct scan *s, const char *from, const char *to) {
    while (s->inside && from < to) {
        const char *amp = memchr(from, '&', (size_t)(to - from));
        api_add(&s->text, from, (size_t)((amp ? amp : to) - from));
        if (!amp)
            return;
        const char *stop = memchr(amp, ';', (size_t)(to - amp));
        if (!stop)
            return;
        add_reference(s, amp + 1, (size_t)(stop - amp) - 1);
        from = stop + 1;
    }
}

/* Behind the next appearance of a mark; NULL: there is none. */
static const char *behind(const struct scan *s, const char *from, const char *mark) {
    const char *found = memmem(from, (size_t)(s->end - from), mark, strlen(mark));
    return found ? found + strlen(mark) : NULL;
}

/* The '>' of a tag: not one within quotes. */
static const char *tag_end(const struct scan *s, const char *at) {
    char quote = 0;
    for (; at < s->end; at++) {
        if (quote)
            quote = *at == quote ? 0 : quote;
        else if (*at == '"' || *at == '\'')
            quote = *at;
        else if (*at == '>')
            return at;
    }
    return NULL;
}

static bool open_element(struct scan *s, const char *name, const char *stop) {
    size_t len = 0;
    while (name + len < stop && !strchr(" \t\r\n/", name[len]))
        len++;
    bool empty = stop > name && stop[-1] == '/';
    if (!len || s->depth >= DEPTH_MOST)
        return false;
    if (s->fits == s->depth && s->fits < s->wanted && step_is(s, s->depth, name, len)) {
        if (++s->fits == s->wanted && s->found++ == 0)
            s->inside = !empty;
    }
    s->depth++;
    if (empty) {
        s->depth--;
        s->fits = s->fits > s->depth ? s->depth : s->fits;
    }
    return true;
}

static bool close_element(struct scan *s) {
    if (s->depth == 0)
        return false;
    s->depth--;
    if (s->fits > s->depth) {
        s->fits = s->depth;
        s->inside = false;
    }
    return true;
}

/* One piece of markup, from its '<'; false: it is none. */
static bool markup(struct scan *s) {
    size_t left = (size_t)(s->end - s->at);
    const char *stop;
    if (left > 4 && memcmp(s->at, "<!--", 4) == 0)
        return (s->at = behind(s, s->at + 4, "-->")) != NULL;
    if (left > 9 && memcmp(s->at, "<![CDATA[", 9) == 0) {
        const char *from = s->at + 9;
        if (!(s->at = behind(s, from, "]]>")))
            return false;
        if (s->inside)
            api_add(&s->text, from, (size_t)(s->at - from) - 3);
        return true;
    }
    if (left > 2 && s->at[1] == '?')
        return (s->at = behind(s, s->at + 2, "?>")) != NULL;
    if (left > 2 && s->at[1] == '!') /* a document type: one with declarations inside is not read */
        return (stop = tag_end(s, s->at)) != NULL && !memchr(s->at, '[', (size_t)(stop - s->at)) && (s->at = stop + 1);
    if (!(stop = tag_end(s, s->at + 1)))
        return false;
    bool good = s->at[1] == '/' ? close_element(s) : open_element(s, s->at + 1, stop);
    s->at = stop + 1;
    return good;
}

int64_t api_xml(struct tl_run *run, struct tl_span xml, const char *path, const char **first) {
    struct scan s = {.run = run, .at = xml.ptr, .end = xml.ptr + xml.len, .path = path, .text = {.run = run}};
    bool any = false;
    if (path[0] != '/')
        return -1;
    for (const char *c = path; *c; c++)
        s.wanted += *c == '/';
    while (s.at && s.at < s.end) {
        const char *open = memchr(s.at, '<', (size_t)(s.end - s.at));
        add_text(&s, s.at, open ? open : s.end);
        if (!open)
            break;
        s.at = open;
        if (!markup(&s))
            return -1;
        any = true;
    }
    if (!any || s.depth)
        return -1;
    if (first)
        *first = s.found ? api_end(&s.text) : NULL;
    return s.found;
}
