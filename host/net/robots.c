/* robots.c - reads robots.txt line by line and keeps what binds one agent.
 *
 * Invariant: patterns are stored as they are matched: bytes outside ASCII as %XX, escapes in upper case. Lines and
 * their keys are read as Google's parser reads them (prefixes and misspellings of keys, a missing colon, a byte order
 * mark and parts of one), for that is what site owners test against. */
#include "net/robots.h"

#include <stdlib.h>
#include <strings.h>

#include "base/arena.h"
#include "base/mem.h"
#include "net/url_chars.h"

struct rule {
    uint64_t head, mask;    /* the first bytes of the pattern before any wildcard, for a quick no */
    uint64_t needs;         /* a bit for each byte of the pattern: a path without one of them cannot match */
    struct tl_span pattern; /* without the final "$" */
    size_t order;           /* the earlier rule first among equals: the order of a verdict does not depend on qsort */
    size_t priority;        /* length as written: the longest match wins */
    bool allow, anchored;
};
struct rules {
    struct rule *rule;
    size_t count, room;
    int64_t delay_ms;
};
struct robots {
    struct arena arena;
    struct rules rules;
    struct tl_span *sitemap;
    size_t sitemap_count, sitemap_room;
};

/* While reading: the state of Google's RobotsMatcher. */
struct reader {
    struct robots *r;
    struct tl_span agent;
    struct rules own, global;
    bool in_own, in_global, ever_own; /* the group at hand names the agent; names "*"; some group named the agent */
    bool in_rules;                    /* the group's rules have begun: another User-agent line starts a new group */
};
enum key { KEY_OTHER, KEY_AGENT, KEY_ALLOW, KEY_DISALLOW, KEY_DELAY, KEY_SITEMAP };

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct tl_span trim(struct tl_span s) {
    while (s.len && is_space(s.ptr[0]))
        s.ptr++, s.len--;
    while (s.len && is_space(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

/* ---- rules */

static uint64_t first_bytes(const char *text, size_t len) {
    uint64_t head = 0;
    memcpy(&head, text, len < sizeof head ? len : sizeof head);
    return head;
}

static uint64_t first_mask(size_t len) {
    uint64_t mask = 0;
    memset(&mask, 0xff, len < sizeof mask ? len : sizeof mask);
    return mask;
}

static uint64_t byte_bit(char c) {
    return (uint64_t)1 << (c & 63);
}

/* Stores the pattern in the form it is matched in; the arena has no maximum here, the file has one. */
static struct tl_span normal_pattern(struct arena *arena, struct tl_span value) {
    static const char digits[] = "0123456789ABCDEF";
    char *text = arena_alloc(arena, value.len * 3 + 1);
    size_t n = 0;
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];
        if (is_escape(value, i)) {
            text[n++] = '%';
            text[n++] = to_upper(value.ptr[++i]);
            text[n++] = to_upper(value.ptr[++i]);
        } else if (c >= 0x80) {
            text[n++] = '%';
            text[n++] = digits[c >> 4];
            text[n++] = digits[c & 15];
        } else {
            text[n++] = (char)c;
        }
    }
    return (struct tl_span){text, n};
}

static void add_pattern(struct rules *rules, struct tl_span pattern, bool allow) {
    MEM_GROW(rules->rule, rules->count, rules->room);
    struct rule *rule = &rules->rule[rules->count];
    *rule = (struct rule){.allow = allow, .priority = pattern.len, .order = rules->count};
    rule->anchored = pattern.len && pattern.ptr[pattern.len - 1] == '$';
    pattern.len -= rule->anchored;
    rule->pattern = pattern;
    size_t literal = 0;
    while (literal < pattern.len && pattern.ptr[literal] != '*')
        literal++;
    rule->head = first_bytes(pattern.ptr, literal);
    rule->mask = first_mask(literal);
    for (size_t i = 0; i < pattern.len; i++)
        if (pattern.ptr[i] != '*')
            rule->needs |= byte_bit(pattern.ptr[i]);
    rules->count++;
}

static void add_rule(struct reader *in, struct tl_span value, bool allow) {
    static const char index[] = "/index.htm";
    if (!in->in_own && !in->in_global)
        return;
    in->in_rules = true;
    struct rules *rules = in->in_own ? &in->own : &in->global;
    if (value.len == 0)
        return; /* an empty rule says nothing */
    struct tl_span pattern = normal_pattern(&in->r->arena, value);
    add_pattern(rules, pattern, allow);
    const char *slash = memrchr(pattern.ptr, '/', pattern.len);
    size_t rest = slash ? pattern.len - (size_t)(slash - pattern.ptr) : 0;
    if (!allow || rest < sizeof index - 1 || memcmp(slash, index, sizeof index - 1) != 0)
        return;
    size_t dir = pattern.len - rest + 1; /* Google: allowing a directory's index page allows the directory itself */
    char *text = arena_alloc(&in->r->arena, dir + 1);
    memcpy(text, pattern.ptr, dir);
    text[dir] = '$';
    add_pattern(rules, (struct tl_span){text, dir + 1}, true);
}

static int by_priority(const void *left, const void *right) {
    const struct rule *a = left, *b = right;
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    if (a->allow != b->allow)
        return a->allow ? -1 : 1; /* Allow wins */
    return a->order < b->order ? -1 : 1;
}

/* ---- lines */

static bool starts_with(struct tl_span s, const char *text) {
    size_t len = strlen(text);
    return s.len >= len && strncasecmp(s.ptr, text, len) == 0;
}

static enum key key_of(struct tl_span key) {
    static const struct {
        const char *text;
        enum key key;
    } known[] = {{"user-agent", KEY_AGENT},  {"useragent", KEY_AGENT},   {"user agent", KEY_AGENT},
                 {"allow", KEY_ALLOW},       {"disallow", KEY_DISALLOW}, {"dissallow", KEY_DISALLOW},
                 {"dissalow", KEY_DISALLOW}, {"disalow", KEY_DISALLOW},  {"diasllow", KEY_DISALLOW},
                 {"disallaw", KEY_DISALLOW}, {"sitemap", KEY_SITEMAP},   {"site-map", KEY_SITEMAP},
                 {"crawl-delay", KEY_DELAY}, {"crawldelay", KEY_DELAY},  {"crawl delay", KEY_DELAY}};
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (starts_with(key, known[i].text))
            return known[i].key;
    return KEY_OTHER;
}

/* "key: value", or "key value" when there are just these two words. False: not a line that says something. */
static bool split_line(struct tl_span line, struct tl_span *key, struct tl_span *value) {
    const char *comment = memchr(line.ptr, '#', line.len);
    if (comment)
        line.len = (size_t)(comment - line.ptr);
    line = trim(line);
    const char *colon = memchr(line.ptr, ':', line.len);
    size_t at = colon ? (size_t)(colon - line.ptr) : 0;
    if (!colon) {
        while (at < line.len && line.ptr[at] != ' ' && line.ptr[at] != '\t')
            at++;
        if (at == line.len)
            return false;
    }
    *key = trim((struct tl_span){line.ptr, at});
    *value = trim((struct tl_span){line.ptr + at + 1, line.len - at - 1});
    if (!colon && (memchr(value->ptr, ' ', value->len) || memchr(value->ptr, '\t', value->len)))
        return false;
    return key->len > 0;
}

static void read_agent(struct reader *in, struct tl_span value) {
    if (in->in_rules)
        in->in_own = in->in_global = in->in_rules = false;
    if (value.len && value.ptr[0] == '*' && (value.len == 1 || is_space(value.ptr[1]))) {
        in->in_global = true;
        return;
    }
    size_t token = 0; /* RFC 9309 2.2.1: letters, "_" and "-" */
    while (token < value.len && (is_alpha(value.ptr[token]) || value.ptr[token] == '-' || value.ptr[token] == '_'))
        token++;
    if (token && token == in->agent.len && strncasecmp(value.ptr, in->agent.ptr, token) == 0)
        in->in_own = in->ever_own = true;
}

/* Seconds with decimals; nothing else may follow. More than a day is a day. Among several in one group the longest
 * counts. */
static void read_delay(struct reader *in, struct tl_span value) {
    const int64_t day = 24 * 60 * 60 * 1000;
    int64_t ms = 0, unit = 100;
    size_t i = 0, digits = 0;

    if (!in->in_own && !in->in_global)
        return;
    for (; i < value.len && is_digit(value.ptr[i]); i++, digits++)
        ms = ms > day ? ms : ms * 10 + (value.ptr[i] - '0') * 1000;
    if (i < value.len && value.ptr[i] == '.')
        for (i++; i < value.len && is_digit(value.ptr[i]); i++, digits++) {
            ms += (value.ptr[i] - '0') * unit;
            unit /= 10;
        }
    if (!digits || i < value.len)
        return;
    ms = ms > day ? day : ms;
    struct rules *rules = in->in_own ? &in->own : &in->global;
    if (ms > rules->delay_ms)
        rules->delay_ms = ms;
}

static void read_sitemap(struct robots *r, struct tl_span value) {
    if (!value.len)
        return;
    MEM_GROW(r->sitemap, r->sitemap_count, r->sitemap_room);
    r->sitemap[r->sitemap_count++] = (struct tl_span){arena_span(&r->arena, value), value.len};
}

static void read_line(struct reader *in, struct tl_span line) {
    struct tl_span key, value;
    const char *nul;

    if (line.len > ROBOTS_LINE_MAX)
        line.len = ROBOTS_LINE_MAX;
    nul = memchr(line.ptr, '\0', line.len); /* Google's lines end there */
    if (nul)
        line.len = (size_t)(nul - line.ptr);
    if (!split_line(line, &key, &value))
        return;
    switch (key_of(key)) {
    case KEY_AGENT:
        read_agent(in, value);
        break;
    case KEY_ALLOW:
        add_rule(in, value, true);
        break;
    case KEY_DISALLOW:
        add_rule(in, value, false);
        break;
    case KEY_DELAY:
        read_delay(in, value);
        break;
    case KEY_SITEMAP:
        read_sitemap(in->r, value);
        break;
    case KEY_OTHER:
        break;
    }
}

int robots_parse(struct tl_span body, const char *agent, struct robots **out) {
    static const char mark[] = "\xef\xbb\xbf";
    struct robots *r = mem_alloc(sizeof *r);
    struct reader in = {.r = r, .agent = span_of(agent), .own = {.delay_ms = -1}, .global = {.delay_ms = -1}};
    const char *slash = memchr(in.agent.ptr, '/', in.agent.len);

    if (slash)
        in.agent.len = (size_t)(slash - in.agent.ptr);
    if (body.len > ROBOTS_MAX)
        body.len = ROBOTS_MAX;
    for (size_t i = 0; i < sizeof mark - 1 && body.len && body.ptr[0] == mark[i]; i++)
        body.ptr++, body.len--;
    while (body.len) { /* an LF after a CR makes one more empty line, which says nothing */
        size_t n = 0;
        while (n < body.len && body.ptr[n] != '\n' && body.ptr[n] != '\r')
            n++;
        read_line(&in, (struct tl_span){body.ptr, n});
        n += n < body.len;
        body.ptr += n;
        body.len -= n;
    }
    r->rules = in.ever_own ? in.own : in.global;
    free(in.ever_own ? in.global.rule : in.own.rule);
    if (r->rules.count)
        qsort(r->rules.rule, r->rules.count, sizeof *r->rules.rule, by_priority);
    *out = r;
    return 0;
}

void robots_free(struct robots *r) {
    if (!r)
        return;
    arena_free(&r->arena);
    free(r->rules.rule);
    free(r->sitemap);
    free(r);
}

/* ---- verdicts */

/* Each literal between two stars is taken at its first place: if any choice leads to a match, this one does, so nothing
 * is tried twice. *work goes down by the bytes that were searched. */
static bool matches(const struct rule *rule, struct tl_span path, int64_t *work) {
    struct tl_span p = rule->pattern;
    bool first = true;

    for (;;) {
        const char *star = memchr(p.ptr, '*', p.len);
        size_t literal = star ? (size_t)(star - p.ptr) : p.len;
        if (literal > path.len)
            return false;
        if (first) {
            if (memcmp(path.ptr, p.ptr, literal) != 0)
                return false;
            path.ptr += literal;
            path.len -= literal;
        } else if (!star && rule->anchored) {
            return memcmp(path.ptr + path.len - literal, p.ptr, literal) == 0;
        } else {
            const char *at = memmem(path.ptr, path.len, p.ptr, literal);
            *work -= at ? at - path.ptr + (int64_t)literal : (int64_t)path.len;
            if (!at)
                return false;
            path.len -= (size_t)(at - path.ptr) + literal;
            path.ptr = at + literal;
        }
        if (!star)
            return !rule->anchored || path.len == 0;
        first = false;
        p.ptr += literal + 1;
        p.len -= literal + 1;
    }
}

/* Upper-cases escapes into `out`; false: nothing to do. */
static bool normal_path(struct buf *out, struct tl_span path) {
    size_t i = 0;
    for (; i < path.len; i++)
        if (path.ptr[i] == '%' && is_escape(path, i) &&
            (to_upper(path.ptr[i + 1]) != path.ptr[i + 1] || to_upper(path.ptr[i + 2]) != path.ptr[i + 2]))
            break;
    if (i == path.len)
        return false;
    buf_add(out, path.ptr, path.len);
    for (; i < path.len && !out->full; i++) {
        if (!is_escape(path, i))
            continue;
        out->data[i + 1] = to_upper(path.ptr[i + 1]);
        out->data[i + 2] = to_upper(path.ptr[i + 2]);
        i += 2;
    }
    return !out->full;
}

bool robots_allowed(const struct robots *r, struct tl_span path) {
    AUTO_BUF struct buf normal = BUF_INIT;
    if (path.len == 0)
        path = span_of("/");
    if (normal_path(&normal, path))
        path = buf_span(&normal);
    uint64_t head = first_bytes(path.ptr, path.len), has = 0;
    for (size_t i = 0; i < path.len; i++)
        has |= byte_bit(path.ptr[i]);
    int64_t work = ROBOTS_WORK_MAX;
    for (size_t i = 0; i < r->rules.count && work > 0; i++) {
        const struct rule *rule = &r->rules.rule[i];
        if ((head & rule->mask) == rule->head && !(rule->needs & ~has) && matches(rule, path, &work))
            return rule->allow;
    }
    return work > 0;
}

void robots_path(struct buf *out, struct tl_span url) {
    size_t from = url.len >= 2 && memcmp(url.ptr, "//", 2) == 0 ? 2 : 0, at = from;
    const char *protocol = memmem(url.ptr + from, url.len - from, "://", 3);

    while (at < url.len && !memchr("/?;", url.ptr[at], 3))
        at++;
    if (protocol && at >= (size_t)(protocol - url.ptr)) { /* else "://" is a part of the path or query */
        at = (size_t)(protocol - url.ptr) + 3;
        while (at < url.len && !memchr("/?;", url.ptr[at], 3))
            at++;
    }
    const char *hash = memchr(url.ptr + from, '#', url.len - from);
    size_t end = hash ? (size_t)(hash - url.ptr) : url.len;
    if (at >= end || url.ptr[at] != '/')
        buf_char(out, '/');
    if (at < end)
        buf_add(out, url.ptr + at, end - at);
}

int64_t robots_delay_ms(const struct robots *r) {
    return r->rules.delay_ms;
}

size_t robots_sitemap_count(const struct robots *r) {
    return r->sitemap_count;
}

struct tl_span robots_sitemap(const struct robots *r, size_t i) {
    return i < r->sitemap_count ? r->sitemap[i] : (struct tl_span){"", 0};
}
