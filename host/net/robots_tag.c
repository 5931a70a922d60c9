/* robots_tag.c - see robots_tag.h. */
#include "net/robots_tag.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"

static struct tl_span strip(struct tl_span s) {
    while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t')) {
        s.ptr++;
        s.len--;
    }
    while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
        s.len--;
    return s;
}

static bool is(struct tl_span s, const char *word) {
    return s.len == strlen(word) && strncasecmp(s.ptr, word, s.len) == 0;
}

/* A name can stand before a colon; a rule that has a value of its own cannot be one, nor can a piece of a date. */
static bool is_name(struct tl_span s) {
    static const char *const valued[] = {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"};
    for (size_t i = 0; i < COUNT_OF(valued); i++)
        if (is(s, valued[i]))
            return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i], lower = (char)(c | 0x20);
        if (!(lower >= 'a' && lower <= 'z') && !(c >= '0' && c <= '9') && !strchr("-_.*", c))
            return false;
    }
    return s.len > 0;
}

void robots_tag_add(struct robots_tag *tag, struct tl_span value, const char *agent) {
    const char *at = value.ptr, *end = value.ptr + value.len;
    bool ours = true;
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        const char *colon = memchr(at, ':', (size_t)(stop - at));
        struct tl_span name = strip((struct tl_span){at, colon ? (size_t)(colon - at) : 0});
        if (colon && is_name(name)) {
            ours = is(name, "robots") || is(name, "*") || is(name, agent);
            at = colon + 1;
        }
        struct tl_span rule = strip((struct tl_span){at, (size_t)(stop - at)});
        bool none = is(rule, "none");
        tag->noindex = tag->noindex || (ours && (none || is(rule, "noindex")));
        tag->nofollow = tag->nofollow || (ours && (none || is(rule, "nofollow")));
        at = stop + 1;
    }
}

void robots_tag_agent(struct buf *out, const char *user_agent) {
    for (const char *c = user_agent; *c && *c != '/' && *c != ' '; c++)
        buf_char(out, *c >= 'A' && *c <= 'Z' ? (char)(*c | 0x20) : *c);
}
