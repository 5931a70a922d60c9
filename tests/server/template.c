/* template.c - a text of the script with places that are filled in for each request.
 *
 * Invariant: only the exact words {path} {tail} {tail+1} {count} {host} are places; any other brace is itself, and one
 * that was written as an escape (\x7b) never opens a place. */
#include "fixture.h"

#include <inttypes.h>

#include "base/mem.h"

static struct part *new_part(struct template *t) {
    MEM_GROW(t->parts, t->count, t->room);
    t->parts[t->count] = (struct part){0};
    return &t->parts[t->count++];
}

void template_bytes(struct template *t, const char *ptr, size_t len) {
    if (!len)
        return;
    struct part *p = t->count ? &t->parts[t->count - 1] : NULL;
    if (!p || p->kind != PART_TEXT)
        p = new_part(t);
    p->text = mem_array(p->text, p->len + len + 1, 1);
    memcpy(p->text + p->len, ptr, len);
    p->len += len;
    p->text[p->len] = '\0';
}

void template_fill(struct template *t, const char *pattern, size_t len, uint64_t total) {
    struct part *p = new_part(t);
    *p = (struct part){.kind = PART_FILL, .text = mem_text_n(pattern, len), .len = len, .total = total};
}

static const struct {
    const char *word;
    int kind;
} places[] = {{"{path}", PART_PATH},
              {"{tail}", PART_TAIL},
              {"{tail+1}", PART_NEXT},
              {"{count}", PART_COUNT},
              {"{host}", PART_HOST}};

/* The length of the place at the start of s, 0 if none is there. */
static size_t place_at(struct tl_span s, int *kind) {
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        size_t n = strlen(places[i].word);
        if (s.len >= n && memcmp(s.ptr, places[i].word, n) == 0) {
            *kind = places[i].kind;
            return n;
        }
    }
    return 0;
}

static int hex(char c) {
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* The escape at the start of s (a backslash): its length, or 0 when there is no such escape. */
static size_t escape_at(struct tl_span s, char *out) {
    static const char from[] = "rnt0s\\", to[] = "\r\n\t\0 \\";
    if (s.len >= 4 && s.ptr[1] == 'x' && hex(s.ptr[2]) >= 0 && hex(s.ptr[3]) >= 0) {
        *out = (char)(hex(s.ptr[2]) << 4 | hex(s.ptr[3]));
        return 4;
    }
    const char *at = s.len >= 2 && s.ptr[1] ? strchr(from, s.ptr[1]) : NULL;
    if (!at)
        return 0;
    *out = to[at - from];
    return 2;
}

int template_add(struct template *t, struct tl_span source, bool escapes, int64_t number) {
    AUTO_BUF struct buf plain = BUF_INIT;
    for (struct tl_span s = source; s.len;) {
        char c = s.ptr[0];
        int kind = 0;
        size_t n = 1;
        if (escapes && c == '\\') {
            if (!(n = escape_at(s, &c)))
                return TL_INVALID;
            buf_char(&plain, c);
        } else if (number >= 0 && s.len >= 2 && c == '{' && s.ptr[1] == '}') {
            buf_int(&plain, number);
            n = 2;
        } else if (c == '{' && (n = place_at(s, &kind)) != 0) {
            template_bytes(t, plain.data, plain.len);
            buf_reset(&plain);
            new_part(t)->kind = kind;
        } else {
            n = 1;
            buf_char(&plain, c);
        }
        s.ptr += n, s.len -= n;
    }
    template_bytes(t, plain.data, plain.len);
    return TL_OK;
}

static void fill_in(const struct part *p, const struct filling *f, struct buf *out) {
    uint64_t n = 0;
    switch (p->kind) {
    case PART_TEXT:
        buf_add(out, p->text, p->len);
        break;
    case PART_PATH:
        buf_add(out, f->path.ptr, f->path.len);
        break;
    case PART_TAIL:
        buf_add(out, f->tail.ptr, f->tail.len);
        break;
    case PART_NEXT:
        for (size_t i = 0; i < f->tail.len && i < 18 && f->tail.ptr[i] >= '0' && f->tail.ptr[i] <= '9'; i++)
            n = n * 10 + (uint64_t)(f->tail.ptr[i] - '0');
        buf_printf(out, "%" PRIu64, n + 1);
        break;
    case PART_COUNT:
        buf_printf(out, "%" PRIu64, f->count);
        break;
    case PART_HOST:
        buf_add(out, f->host.ptr, f->host.len);
        break;
    case PART_FILL:
        for (uint64_t left = p->total; left;) {
            size_t step = left < p->len ? (size_t)left : p->len;
            buf_add(out, p->text, step);
            left -= step;
        }
        break;
    }
}

void template_free(struct template *t) {
    for (size_t i = 0; i < t->count; i++)
        free(t->parts[i].text);
    free(t->parts);
    *t = (struct template){0};
}

void template_text(const struct template *t, const struct filling *f, struct buf *out) {
    for (size_t i = 0; i < t->count; i++)
        fill_in(&t->parts[i], f, out);
}

void template_body(const struct template *t, const struct filling *f, struct reply *r) {
    for (size_t i = 0; i < t->count; i++) {
        const struct part *p = &t->parts[i];
        if (p->kind == PART_TEXT) {
            reply_piece(r, (struct piece){PIECE_BYTES, p->text, 0, p->len, p->len});
        } else if (p->kind == PART_FILL) {
            reply_piece(r, (struct piece){PIECE_FILL, p->text, 0, p->len, p->total});
        } else {
            size_t at = r->own.len;
            fill_in(p, f, &r->own);
            reply_piece(r, (struct piece){PIECE_OWN, NULL, at, r->own.len - at, r->own.len - at});
        }
    }
}
