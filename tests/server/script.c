/* script.c - reads a script (README.md has the language).
 *
 * Invariant: a script is read once, at the start, and refused whole at its first mistake; answering neither fails nor
 * reads files. */
#include "script.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

#define SCRIPT_MAX ((size_t)64 << 20) /* bytes of a script, or of a file that it names */
struct rule *script_rules;
size_t script_rule_count;
static size_t rule_room;

/* What the reader is at. */
struct reading {
    const char *file;
    struct tl_span left; /* of the script */
    unsigned line;
    struct answer *at; /* NULL before the first rule */
};
static int complain(const struct reading *s, const char *what, const char *about) {
    fprintf(stderr, "fixture: %s:%u: %s: %s\n", s->file, s->line, what, about);
    return TL_INVALID;
}

int script_number(const char *text, uint64_t max, uint64_t *out) {
    char *end;
    if (*text < '0' || *text > '9')
        return TL_INVALID;
    errno = 0;
    uint64_t n = strtoull(text, &end, 10);
    unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (shift)
        end++;
    if (errno || *end || n > max >> shift)
        return TL_INVALID;
    *out = n << shift;
    return TL_OK;
}

static int read_file(const char *file, struct buf *out) {
    AUTO_FCLOSE FILE *f = fopen(file, "rbe");
    char block[16384];
    size_t n;
    if (!f)
        return TL_FAILED;
    out->max = SCRIPT_MAX;
    while ((n = fread(block, 1, sizeof block, f)) > 0)
        buf_add(out, block, n);
    return ferror(f) || out->full ? TL_FAILED : TL_OK;
}

/* The next word of *rest, cut off with a NUL; "" at the end. */
static char *word(char **rest) {
    char *at = *rest + strspn(*rest, " \t");
    size_t n = strcspn(at, " \t");
    *rest = at + n;
    if (at[n])
        at[n] = '\0', (*rest)++;
    return at;
}

static int number(char **rest, uint64_t max, uint64_t fallback, uint64_t *out) {
    char *text = word(rest);
    if (!*text && fallback != ENDLESS) {
        *out = fallback;
        return TL_OK;
    }
    return script_number(text, max, out);
}

static struct answer *new_answer(struct rule *r) {
    MEM_GROW(r->answers, r->count, r->room);
    struct answer *a = &r->answers[r->count++];
    *a = (struct answer){.version = mem_text("HTTP/1.1"), .status = 200, .limit = ENDLESS};
    return a;
}

/* on [METHOD] PATH[*] [host=NAME] */
static int on(struct reading *s, char *rest) {
    struct rule r = {0};
    char *first = word(&rest), *second = word(&rest), *third = word(&rest);
    if (*second && strncmp(second, "host=", 5) != 0) {
        r.method = mem_text(first);
        first = second, second = third;
    } else if (*third)
        return complain(s, "too many words", third);
    if (!*first || (*second && strncmp(second, "host=", 5) != 0))
        return complain(s, "expected: on [METHOD] PATH[*] [host=NAME]", first);
    if (*second)
        r.host = mem_text(second + 5);
    r.path = mem_text(first);
    size_t n = strlen(r.path);
    if (r.path[n - 1] == '*') {
        r.path[n - 1] = '\0';
        r.prefix = true;
    }
    MEM_GROW(script_rules, script_rule_count, rule_room);
    script_rules[script_rule_count] = r;
    s->at = new_answer(&script_rules[script_rule_count++]);
    return TL_OK;
}

static void add_field(struct answer *a, const char *name, struct template value) {
    MEM_GROW(a->fields, a->field_count, a->field_room);
    a->fields[a->field_count++] = (struct field){mem_text(name), value};
}

static int header(struct reading *s, char *rest) {
    struct template t = {0};
    char *colon = strchr(rest, ':');
    if (!colon)
        return complain(s, "a header needs a colon", rest);
    if (template_add(&t, span_of(rest), true, -1) < 0)
        return complain(s, "no such escape", rest);
    *colon = '\0';
    add_field(s->at, rest, t);
    return TL_OK;
}

/* A header made of a name and a text. */
static int named_header(struct reading *s, const char *name, const char *text) {
    struct template t = {0};
    template_bytes(&t, name, strlen(name));
    template_bytes(&t, ": ", 2);
    if (template_add(&t, span_of(text), true, -1) < 0)
        return complain(s, "no such escape", text);
    add_field(s->at, name, t);
    return TL_OK;
}

static int header_fill(struct reading *s, char *rest) {
    char *name = word(&rest);
    uint64_t n;
    struct template t = {0};
    if (!*name || number(&rest, 16 << 20, ENDLESS, &n) < 0)
        return complain(s, "expected: header-fill NAME BYTES (at most 16M)", name);
    template_bytes(&t, name, strlen(name));
    template_bytes(&t, ": ", 2);
    template_fill(&t, "x", 1, n);
    add_field(s->at, name, t);
    return TL_OK;
}

static int header_many(struct reading *s, char *rest) {
    uint64_t n;
    if (number(&rest, 100000, ENDLESS, &n) < 0)
        return complain(s, "expected: header-many N (at most 100000)", rest);
    for (uint64_t i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "X-%" PRIu64, i);
        named_header(s, name, "x");
    }
    return TL_OK;
}

static int body_file(struct reading *s, const char *name, bool raw) {
    AUTO_BUF struct buf path = BUF_INIT, text = BUF_INIT;
    const char *slash = strrchr(s->file, '/');
    if (*name != '/' && slash)
        buf_add(&path, s->file, (size_t)(slash - s->file) + 1);
    buf_text(&path, name);
    if (!*name || read_file(path.data, &text) < 0)
        return complain(s, "cannot read the file", name);
    template_bytes(&s->at->body, text.data, text.len);
    s->at->raw = raw;
    return TL_OK;
}

/* body <<END: the lines up to END, as they are. */
static int here_text(struct reading *s, const char *end) {
    while (s->left.len) {
        const char *nl = memchr(s->left.ptr, '\n', s->left.len);
        size_t n = nl ? (size_t)(nl - s->left.ptr) + 1 : s->left.len;
        struct tl_span line = {s->left.ptr, n}, bare = {line.ptr, n - (nl ? 1 : 0)};
        s->left.ptr += n, s->left.len -= n;
        s->line++;
        while (bare.len && (bare.ptr[0] == ' ' || bare.ptr[0] == '\t'))
            bare.ptr++, bare.len--;
        if (span_eq(bare, end))
            return TL_OK;
        template_add(&s->at->body, line, false, -1);
    }
    return complain(s, "the text does not end with", end);
}

static int body(struct reading *s, char *rest, bool raw) {
    s->at->raw = s->at->raw || raw;
    if (strncmp(rest, "<<", 2) == 0 && rest[2])
        return here_text(s, rest + 2);
    return template_add(&s->at->body, span_of(rest), true, -1) < 0 ? complain(s, "no such escape", rest) : TL_OK;
}

static int body_fill(struct reading *s, char *rest) {
    char *pattern = word(&rest), *count = word(&rest);
    uint64_t n = ENDLESS;
    struct template t = {0};
    if (!*pattern || (strcmp(count, "endless") != 0 && script_number(count, (uint64_t)1 << 40, &n) < 0))
        return complain(s, "expected: body-fill TEXT BYTES|endless", pattern);
    if (template_add(&t, span_of(pattern), true, -1) < 0 || t.count != 1 || t.parts[0].kind != PART_TEXT)
        return complain(s, "the text to repeat must be plain", pattern);
    template_fill(&s->at->body, t.parts[0].text, t.parts[0].len, n);
    template_free(&t);
    return TL_OK;
}

static int page(struct reading *s, const char *title) {
    struct template *t = &s->at->body;
    static const char a[] = "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>",
                      b[] = "</title></head><body>\n";
    template_bytes(t, a, sizeof a - 1);
    int rc = template_add(t, span_of(title), true, -1);
    template_bytes(t, b, sizeof b - 1);
    return rc < 0 ? complain(s, "no such escape", title) : TL_OK;
}

static int link_to(struct reading *s, const char *url, int64_t n) {
    struct template *t = &s->at->body;
    template_bytes(t, "<p><a href=\"", 12);
    int rc = template_add(t, span_of(url), true, n);
    template_bytes(t, "\">", 2);
    rc = rc < 0 ? rc : template_add(t, span_of(url), true, n);
    template_bytes(t, "</a></p>\n", 9);
    return rc < 0 ? complain(s, "no such escape", url) : TL_OK;
}

static int links(struct reading *s, char *rest) {
    int rc = TL_OK;
    for (char *url; rc == TL_OK && *(url = word(&rest));)
        rc = link_to(s, url, -1);
    return rc;
}

static int links_range(struct reading *s, char *rest) {
    char *url = word(&rest);
    uint64_t from, to;
    if (number(&rest, 1 << 30, ENDLESS, &from) < 0 || number(&rest, 1 << 30, ENDLESS, &to) < 0 || to < from ||
        to - from >= 200000)
        return complain(s, "expected: links-range URL-WITH-{} FROM TO (at most 200000)", url);
    int rc = TL_OK;
    for (uint64_t i = from; rc == TL_OK && i <= to; i++)
        rc = link_to(s, url, (int64_t)i);
    return rc;
}

static int status(struct reading *s, char *rest) {
    char *text = word(&rest);
    if (script_number(text, 999, &s->at->status) < 0)
        return complain(s, "a status is a number up to 999", text);
    free(s->at->reason);
    s->at->reason = *rest ? mem_text(rest) : NULL;
    return TL_OK;
}

static int redirect(struct reading *s, char *rest) {
    char *text = word(&rest);
    if (script_number(text, 999, &s->at->status) < 0 || !*rest)
        return complain(s, "expected: redirect STATUS URL", text);
    return named_header(s, "Location", rest);
}

static int end_after(struct reading *s, enum reply_end end, char *rest) {
    s->at->end = end;
    s->at->at_once = !*rest;
    return *rest && number(&rest, (uint64_t)1 << 40, ENDLESS, &s->at->limit) < 0
               ? complain(s, "not a number of bytes", rest)
               : TL_OK;
}

static int bad_length(struct reading *s, const char *rest) {
    uint64_t n;
    if ((*rest != '+' && *rest != '-') || script_number(rest + 1, (uint64_t)1 << 40, &n) < 0)
        return complain(s, "expected: bad-length +N or -N", rest);
    s->at->length_shift = *rest == '-' ? -(int64_t)n : (int64_t)n;
    return TL_OK;
}

static int times(struct reading *s, const char *name, char *rest) {
    const uint64_t hour = 3600000;
    struct answer *a = s->at;
    int rc;
    if (strcmp(name, "delay") == 0)
        rc = number(&rest, hour, ENDLESS, &a->delay_ms);
    else if (strcmp(name, "drip") == 0) {
        rc = number(&rest, 1 << 30, ENDLESS, &a->drip);
        rc = rc < 0 || !a->drip ? TL_INVALID : number(&rest, hour, ENDLESS, &a->drip_ms);
        a->drip_head = strcmp(word(&rest), "head") == 0;
    } else {
        rc = number(&rest, ENDLESS - 1, ENDLESS, &a->tail_seed);
        rc = rc < 0 ? rc : number(&rest, hour, 1, &a->tail_min);
        rc = rc < 0 ? rc : number(&rest, hour, 2000, &a->tail_max);
        rc = rc < 0 || !a->tail_min || a->tail_max < a->tail_min ? TL_INVALID : rc;
    }
    return rc < 0 ? complain(s, "the numbers do not fit", name) : TL_OK;
}

static int flag(struct reading *s, const char *name) {
    struct answer *a = s->at;
    const struct {
        const char *name;
        bool *at;
    } flags[] = {
        {"keep", &a->keep}, {"close", &a->close}, {"bare", &a->bare}, {"echo", &a->echo}, {"validate", &a->validate}};
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        if (strcmp(flags[i].name, name) == 0) {
            *flags[i].at = true;
            return TL_OK;
        }
    return complain(s, "no such word", name);
}

static int trailer(struct reading *s, const char *rest) {
    struct template t = {0};
    struct filling none = {0};
    if (template_add(&t, span_of(rest), true, -1) < 0)
        return complain(s, "no such escape", rest);
    template_text(&t, &none, &s->at->trailer);
    buf_lit(&s->at->trailer, "\r\n");
    template_free(&t);
    return TL_OK;
}

/* One directive within an answer. */
static int directive(struct reading *s, const char *name, char *rest) {
    struct answer *a = s->at;
    static const struct {
        const char *name;
        int (*read)(struct reading *s, char *rest);
    } simple[] = {{"status", status},           {"header", header},       {"header-fill", header_fill},
                  {"header-many", header_many}, {"body-fill", body_fill}, {"links", links},
                  {"links-range", links_range}, {"redirect", redirect}};
    for (size_t i = 0; i < COUNT_OF(simple); i++)
        if (strcmp(simple[i].name, name) == 0)
            return simple[i].read(s, rest);
    if (strcmp(name, "type") == 0)
        return named_header(s, "Content-Type", rest);
    if (strcmp(name, "body") == 0 || strcmp(name, "raw") == 0)
        return body(s, rest, *name == 'r');
    if (strcmp(name, "body-file") == 0 || strcmp(name, "raw-file") == 0)
        return body_file(s, rest, *name == 'r');
    if (strcmp(name, "page") == 0)
        return page(s, rest);
    if (strcmp(name, "cut") == 0)
        return end_after(s, END_CUT, rest);
    if (strcmp(name, "reset") == 0)
        return end_after(s, END_RESET, rest);
    if (strcmp(name, "stall") == 0)
        return end_after(s, END_STALL, rest);
    if (strcmp(name, "bad-length") == 0)
        return bad_length(s, rest);
    if (strcmp(name, "chunked") == 0)
        return number(&rest, 1 << 20, 8192, &a->chunk) < 0 || !a->chunk ? complain(s, "not a size", rest) : TL_OK;
    if (strcmp(name, "trailer") == 0)
        return trailer(s, rest);
    if (strcmp(name, "gate") == 0) {
        a->gate = conn_gate(rest, strlen(rest));
        return a->gate ? TL_OK : complain(s, "not a name for a gate, or too many gates", rest);
    }
    if (strcmp(name, "version") == 0) {
        free(a->version);
        a->version = mem_text(rest);
        return TL_OK;
    }
    if (strcmp(name, "delay") == 0 || strcmp(name, "drip") == 0 || strcmp(name, "delay-tail") == 0)
        return times(s, name, rest);
    return *rest ? complain(s, "no such word, or it takes nothing behind it", name) : flag(s, name);
}

static int script_line(struct reading *s, char *line) {
    char *rest = line, *name = word(&rest);
    if (!*name || *name == '#')
        return TL_OK;
    rest += strspn(rest, " \t");
    if (strcmp(name, "on") == 0)
        return on(s, rest);
    if (!s->at)
        return complain(s, "a script begins with: on PATH", name);
    if (strcmp(name, "next") == 0 && !*rest) {
        s->at = new_answer(&script_rules[script_rule_count - 1]);
        return TL_OK;
    }
    return directive(s, name, rest);
}

int script_load(const char *file) {
    AUTO_BUF struct buf text = BUF_INIT;
    struct reading s = {.file = file};
    if (read_file(file, &text) < 0) {
        fprintf(stderr, "fixture: cannot read the script %s\n", file);
        return TL_FAILED;
    }
    int rc = TL_OK;
    for (s.left = buf_span(&text); s.left.len && rc == TL_OK;) {
        const char *nl = memchr(s.left.ptr, '\n', s.left.len);
        size_t n = nl ? (size_t)(nl - s.left.ptr) : s.left.len;
        AUTO_FREE char *line = mem_text_n(s.left.ptr, n);
        s.left.ptr += n + (nl ? 1 : 0), s.left.len -= n + (nl ? 1 : 0);
        s.line++;
        rc = script_line(&s, line);
    }
    return rc;
}
