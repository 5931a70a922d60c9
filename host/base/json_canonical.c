/* json_canonical.c - the same value always in the same bytes: names sorted, no white space, one spelling of a string
 * and, where asked for, of a number. For json_write.h.
 *
 * Invariant: the text was checked as a whole before a byte of it is written, so that a token is known by its first
 * byte; no recursion, at most JSON_DEPTH containers are open. */
#include <stdlib.h>

#include "base/json.h"
#include "base/json_number.h"
#include "base/json_write.h"
#include "base/mem.h"

enum json_form { JSON_AS_WRITTEN, JSON_PYTHON };

/* A member of an object that is still open: its name unescaped (in names), and what was written for it (in out, with
 * the name). */
struct member {
    size_t name, name_len, from, to;
    const char *name_at; /* while sorting */
};

struct frame {
    bool object;
    size_t from, members, names; /* where out, members and names stood at the bracket */
};

struct canon {
    struct buf *out;
    struct buf names;
    struct member *members;
    size_t count, room;
    struct frame open[JSON_DEPTH];
    unsigned depth;
    bool lone;
    enum json_form form;
};

static int compare_names(const void *left, const void *right) {
    const struct member *a = left, *b = right;
    int order = memcmp(a->name_at, b->name_at, a->name_len < b->name_len ? a->name_len : b->name_len);
    return order ? order : (a->name_len > b->name_len) - (a->name_len < b->name_len);
}

/* At the end of an object, whose members stand in out as they came: sorts them. False when a name is there twice. */
static bool sort_members(struct canon *c, const struct frame *f) {
    size_t n = c->count - f->members;
    if (n < 2)
        return true;
    struct member *first = c->members + f->members;
    for (size_t i = 0; i < n; i++)
        first[i].name_at = buf_span(&c->names).ptr + first[i].name;
    bool sorted = true;
    for (size_t i = 1; i < n && sorted; i++)
        sorted = compare_names(first + i - 1, first + i) < 0;
    if (sorted)
        return true;
    qsort(first, n, sizeof *first, compare_names);
    for (size_t i = 1; i < n; i++)
        if (compare_names(first + i - 1, first + i) == 0)
            return false;
    AUTO_BUF struct buf again = BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        buf_text(&again, i ? "," : "{");
        buf_add(&again, c->out->data + first[i].from, first[i].to - first[i].from);
    }
    memcpy(c->out->data + f->from, again.data, again.len); /* the same members and commas: the same length */
    return true;
}

/* Writes the string at `at` (its opening quote) anew, keeps it unescaped in `name` when that is not NULL; returns its
 * end. */
static const char *copy_string(struct canon *c, const char *at, const char *stop, struct buf *name) {
    buf_char(c->out, '"');
    for (at++; *at != '"';) {
        const char *run = at;
        while (*at != '"' && *at != '\\')
            at++;
        buf_add(c->out, run, (size_t)(at - run));
        if (name)
            buf_add(name, run, (size_t)(at - run));
        if (*at == '\\') {
            char part[4];
            size_t n = json_char(&at, stop, part, &c->lone);
            json_escape(c->out, part, n);
            if (name)
                buf_add(name, part, n);
        }
    }
    buf_char(c->out, '"');
    return at + 1;
}

static void open_container(struct canon *c, char bracket) {
    c->open[c->depth++] = (struct frame){bracket == '{', c->out->len, c->count, c->names.len};
    buf_char(c->out, bracket);
}

/* The innermost container ends. */
static bool close_container(struct canon *c, char bracket) {
    const struct frame *f = &c->open[--c->depth];
    if (f->object) {
        if (c->count > f->members)
            c->members[c->count - 1].to = c->out->len;
        if (c->out->full || !sort_members(c, f))
            return false;
        c->count = f->members;
        c->names.len = f->names;
    }
    buf_char(c->out, bracket);
    return true;
}

static size_t number_length(const char *at, const char *stop) {
    size_t len = 1;
    while (at + len < stop && at[len] && strchr("0123456789.eE+-", at[len]))
        len++;
    return len;
}

/* The text has been found valid, so every token can be told by its first byte. */
static bool canonicalise(struct canon *c, const char *at, const char *stop) {
    bool name = false; /* a string here is a member's name */
    while (at < stop && !c->lone && !c->out->full) {
        bool object = c->depth && c->open[c->depth - 1].object;
        switch (*at) {
        case ' ':
        case '\t':
        case '\n':
        case '\r':
            at++;
            break;
        case '{':
        case '[':
            open_container(c, *at);
            name = *at++ == '{';
            break;
        case '}':
        case ']':
            if (!close_container(c, *at++))
                return false;
            name = false;
            break;
        case ',':
            if (object)
                c->members[c->count - 1].to = c->out->len;
            buf_char(c->out, *at++);
            name = object;
            break;
        case '"':
            if (name) {
                MEM_GROW(c->members, c->count, c->room);
                struct member *m = &c->members[c->count++];
                *m = (struct member){.name = c->names.len, .from = c->out->len};
                at = copy_string(c, at, stop, &c->names);
                m->name_len = c->names.len - m->name;
                name = false;
            } else
                at = copy_string(c, at, stop, NULL);
            break;
        default: /* a number, a word, a colon */
            if (c->form == JSON_PYTHON && (*at == '-' || (*at >= '0' && *at <= '9'))) {
                size_t len = number_length(at, stop);
                if (json_number_python((struct tl_span){at, len}, c->out))
                    return false;
                at += len;
            } else
                buf_char(c->out, *at++);
        }
    }
    return !c->lone;
}

static int canonical(struct tl_span text, enum json_form form, struct buf *out) {
    if (json_valid(text, NULL))
        return TL_INVALID;
    size_t before = out->len;
    struct canon *c = mem_alloc(sizeof *c);
    c->out = out;
    c->form = form;
    bool ok = canonicalise(c, text.ptr, text.ptr + text.len);
    int rc = out->full ? TL_FAILED : ok ? TL_OK : TL_INVALID;
    if (rc && out->data) {
        out->len = before;
        out->data[before] = '\0';
    }
    buf_free(&c->names);
    free(c->members);
    free(c);
    return rc;
}

int json_canonical(struct tl_span text, struct buf *out) {
    return text.len > JSON_CANONICAL_MAX ? TL_INVALID : canonical(text, JSON_AS_WRITTEN, out);
}

int json_python(struct tl_span text, struct buf *out) {
    return text.len > JSON_PYTHON_MAX ? TL_INVALID : canonical(text, JSON_PYTHON, out);
}
