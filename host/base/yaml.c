/* yaml.c - see yaml.h. Built on libyaml's events: it finds the syntax, this file what a configuration may use of it. */
#include "base/yaml.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/utf8.h"

struct frame {
    struct yaml_node *node, *last;
    const struct yaml_node *key; /* read, its value not yet */
};

struct build {
    struct arena *arena;
    struct yaml_error *err;
    struct tl_span text;
    struct yaml_node *root;
    size_t nodes, documents;
    struct frame open[YAML_DEPTH];
    unsigned depth;
};

/* ---- refusing ---- */

TL_PRINTF(4, 0)
static int set_error(struct yaml_error *err, size_t line, size_t column, const char *fmt, va_list ap) {
    err->line = (unsigned)line;
    err->column = (unsigned)column;
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    /* Words of the file may be in it: nothing that moves a terminal's cursor, no half characters. */
    size_t len = strlen(err->text), good = 0;
    while (good < len) {
        size_t n = utf8_sequence(err->text + good, err->text + len);
        if (!n)
            break;
        unsigned char c = (unsigned char)err->text[good], after = n > 1 ? (unsigned char)err->text[good + 1] : 0;
        if (c < ' ' || c == 0x7F || (c == 0xC2 && after < 0xA0))
            memset(err->text + good, '?', n);
        good += n;
    }
    err->text[good] = '\0';
    return TL_INVALID;
}

TL_PRINTF(4, 5)
static int refuse(struct build *b, size_t line, size_t column, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int rc = set_error(b->err, line, column, fmt, ap);
    va_end(ap);
    return rc;
}

int yaml_fail(struct yaml_error *err, const struct yaml_node *at, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int rc = set_error(err, at ? at->line : 1, at ? at->column : 1, fmt, ap);
    va_end(ap);
    return rc;
}

TL_PRINTF(3, 4)
static int refuse_at(struct build *b, yaml_mark_t mark, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int rc = set_error(b->err, mark.line + 1, mark.column + 1, fmt, ap);
    va_end(ap);
    return rc;
}

/* Line and column of a byte of the text, lines as YAML 1.1 counts them. */
static void place_of(struct tl_span text, size_t offset, size_t *line, size_t *column) {
    const char *at = text.ptr, *end = text.ptr + (offset < text.len ? offset : text.len);
    *line = *column = 1;
    for (uint32_t cp, before = 0; at < end; before = cp) {
        utf8_next(&at, end, &cp);
        bool line_end = cp == '\n' || cp == '\r' || cp == 0x85 || cp == 0x2028 || cp == 0x2029;
        if (cp == '\n' && before == '\r')
            continue;
        *line += line_end;
        *column = line_end ? 1 : *column + 1;
    }
}

static int refuse_offset(struct build *b, size_t offset, const char *what) {
    size_t line, column;
    place_of(b->text, offset, &line, &column);
    return refuse(b, line, column, "%s", what);
}

/* libyaml's index counts characters. */
static char char_at(struct tl_span text, size_t index) {
    const char *at = text.ptr, *end = text.ptr + text.len;
    uint32_t cp;
    while (index-- && utf8_next(&at, end, &cp) != TL_NOTFOUND)
        ;
    return at < end ? *at : '\0';
}

static int refuse_syntax(struct build *b, const yaml_parser_t *p) {
    const char *problem = p->problem ? p->problem : "not YAML";
    if (p->error == YAML_MEMORY_ERROR)
        return refuse(b, 1, 1, "reading it needs more memory than there is"), TL_FAILED;
    if (p->error == YAML_READER_ERROR)
        return refuse_offset(b, p->problem_offset, problem);
    if (p->error == YAML_SCANNER_ERROR && char_at(b->text, p->problem_mark.index) == '\t')
        return refuse_at(b, p->problem_mark, "a tab cannot stand here: indent with spaces");
    if (strcmp(problem, "mapping values are not allowed in this context") == 0)
        return refuse_at(b, p->problem_mark,
                         "%s: a text with ': ' in it wants quotes, or this line is indented too far", problem);
    if (!p->context)
        return refuse_at(b, p->problem_mark, "%s", problem);
    if (p->context_mark.line == p->problem_mark.line)
        return refuse_at(b, p->problem_mark, "%s %s", problem, p->context);
    return refuse_at(b, p->problem_mark, "%s %s that began at line %zu", problem, p->context, p->context_mark.line + 1);
}

static int check_text(struct build *b) {
    if (b->text.len > YAML_TEXT_MAX)
        return refuse(b, 1, 1, "the file has %zu bytes; at most %d are read", b->text.len, YAML_TEXT_MAX);
    const char *nul = b->text.len ? memchr(b->text.ptr, 0, b->text.len) : NULL;
    if (nul)
        return refuse_offset(b, (size_t)(nul - b->text.ptr), "there is a NUL byte here: this is no text file");
    const char *at = b->text.ptr, *end = at + b->text.len, *before = at;
    if (utf8_valid(at, b->text.len))
        return TL_OK;
    for (uint32_t cp; utf8_next(&at, end, &cp) == TL_OK;)
        before = at;
    return refuse_offset(b, (size_t)(before - b->text.ptr), "this is not UTF-8");
}

/* ---- building ---- */

static int out_of_room(struct build *b, yaml_mark_t mark) {
    refuse_at(b, mark, "reading it needs more memory than is allowed");
    return TL_FAILED;
}

/* Puts a node where it belongs: the root, an item, a key, or the value of the last key. */
static int place(struct build *b, struct yaml_node *n, yaml_mark_t mark) {
    if (!b->depth) {
        b->root = n;
        return TL_OK;
    }
    struct frame *f = &b->open[b->depth - 1];
    if (f->node->kind == YAML_MAP && !f->key) {
        if (n->kind != YAML_SCALAR)
            return refuse_at(b, mark, "a key must be a single word or text, not a list or a map");
        if (!n->quoted && strcmp(n->text, "<<") == 0)
            return refuse_at(b, mark, "the merge key << is not used here: write the keys out");
        f->key = n;
        return TL_OK;
    }
    n->key = f->key;
    f->key = NULL;
    *(f->last ? &f->last->next : &f->node->first) = n;
    f->last = n;
    f->node->count++;
    return TL_OK;
}

static int add_node(struct build *b, enum yaml_kind kind, const yaml_event_t *e, struct yaml_node **out) {
    if (++b->nodes > YAML_NODES)
        return refuse_at(b, e->start_mark, "more than %d values and keys", YAML_NODES);
    struct yaml_node *n = arena_alloc(b->arena, sizeof *n);
    if (!n)
        return out_of_room(b, e->start_mark);
    *n = (struct yaml_node){
        .kind = kind, .line = (unsigned)e->start_mark.line + 1, .column = (unsigned)e->start_mark.column + 1};
    *out = n;
    return TL_OK;
}

static int add_scalar(struct build *b, const yaml_event_t *e) {
    const char *text = (const char *)e->data.scalar.value;
    size_t len = e->data.scalar.length;
    if (memchr(text, 0, len))
        return refuse_at(b, e->start_mark, "a text with a NUL character (\\0) is not used here");
    struct yaml_node *n;
    int rc = add_node(b, YAML_SCALAR, e, &n);
    if (rc)
        return rc;
    n->text = arena_text(b->arena, text, len);
    if (!n->text)
        return out_of_room(b, e->start_mark);
    n->len = len;
    n->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    return place(b, n, e->start_mark);
}

static int open_container(struct build *b, enum yaml_kind kind, const yaml_event_t *e) {
    if (b->depth == YAML_DEPTH)
        return refuse_at(b, e->start_mark, "more than %d levels deep", YAML_DEPTH);
    struct yaml_node *n;
    int rc = add_node(b, kind, e, &n);
    if (!rc)
        rc = place(b, n, e->start_mark);
    if (!rc)
        b->open[b->depth++] = (struct frame){.node = n};
    return rc;
}

static int compare_keys(const void *left, const void *right) {
    const struct yaml_node *a = *(const struct yaml_node *const *)left, *b = *(const struct yaml_node *const *)right;
    int order = strcmp(a->text, b->text);
    if (order)
        return order;
    return a->line != b->line ? (a->line > b->line) - (a->line < b->line)
                              : (a->column > b->column) - (a->column < b->column);
}

static int check_keys(struct build *b, const struct yaml_node *map) {
    AUTO_FREE void *memory = mem_array(NULL, map->count + 1, sizeof(struct yaml_node *));
    const struct yaml_node **keys = memory, *first = NULL, *again = NULL;
    size_t n = 0;
    YAML_EACH(value, map)
    keys[n++] = value->key;
    qsort(keys, n, sizeof *keys, compare_keys);
    for (size_t i = 1; i < n; i++) {
        if (strcmp(keys[i - 1]->text, keys[i]->text) != 0)
            continue;
        bool earlier =
            !again || keys[i]->line < again->line || (keys[i]->line == again->line && keys[i]->column < again->column);
        if (earlier) {
            first = keys[i - 1];
            again = keys[i];
        }
    }
    if (!again)
        return TL_OK;
    return yaml_fail(b->err, again, "the key '%.80s' stands twice; first at line %u, column %u", again->text,
                     first->line, first->column);
}

static int close_container(struct build *b) {
    const struct frame *f = &b->open[--b->depth];
    return f->node->kind == YAML_MAP ? check_keys(b, f->node) : TL_OK;
}

static int check_properties(struct build *b, const yaml_event_t *e, const unsigned char *anchor,
                            const unsigned char *tag) {
    if (anchor)
        return refuse_at(b, e->start_mark, "anchors (&%.80s) are not used here: write the value where it is wanted",
                         (const char *)anchor);
    if (tag)
        return refuse_at(b, e->start_mark, "tags (%.80s) are not used here: the key says which type its value has",
                         (const char *)tag);
    return TL_OK;
}

static int handle(struct build *b, const yaml_event_t *e) {
    int rc;
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (b->documents++)
            return refuse_at(b, e->start_mark, "a second document begins here: a file holds one");
        if (e->data.document_start.tag_directives.start != e->data.document_start.tag_directives.end)
            return refuse_at(b, e->start_mark, "tags (%%TAG) are not used here");
        return TL_OK;
    case YAML_ALIAS_EVENT:
        return refuse_at(b, e->start_mark, "aliases (*%.80s) are not used here: write the value out",
                         (const char *)e->data.alias.anchor);
    case YAML_SCALAR_EVENT:
        rc = check_properties(b, e, e->data.scalar.anchor, e->data.scalar.tag);
        return rc ? rc : add_scalar(b, e);
    case YAML_SEQUENCE_START_EVENT:
        rc = check_properties(b, e, e->data.sequence_start.anchor, e->data.sequence_start.tag);
        return rc ? rc : open_container(b, YAML_LIST, e);
    case YAML_MAPPING_START_EVENT:
        rc = check_properties(b, e, e->data.mapping_start.anchor, e->data.mapping_start.tag);
        return rc ? rc : open_container(b, YAML_MAP, e);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_container(b);
    default:
        return TL_OK;
    }
}

static int read_events(struct build *b, yaml_parser_t *p) {
    for (;;) {
        yaml_event_t e;
        if (!yaml_parser_parse(p, &e))
            return refuse_syntax(b, p);
        bool last = e.type == YAML_STREAM_END_EVENT;
        int rc = handle(b, &e);
        yaml_event_delete(&e);
        if (rc || last)
            return rc;
    }
}

int yaml_parse(struct arena *a, const char *file_name, struct tl_span text, struct yaml_node **root,
               struct yaml_error *err) {
    *err = (struct yaml_error){.file = file_name};
    *root = NULL;
    if (!text.ptr)
        text.ptr = "";
    if (text.len >= 3 && memcmp(text.ptr, "\xEF\xBB\xBF", 3) == 0) /* libyaml would count it as a column */
        text = (struct tl_span){text.ptr + 3, text.len - 3};
    struct build b = {.arena = a, .err = err, .text = text};
    int rc = check_text(&b);
    if (rc)
        return rc;
    yaml_parser_t p;
    if (!yaml_parser_initialize(&p))
        return refuse(&b, 1, 1, "reading it needs more memory than there is"), TL_FAILED;
    yaml_parser_set_encoding(&p, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&p, (const unsigned char *)text.ptr, text.len);
    rc = read_events(&b, &p);
    yaml_parser_delete(&p);
    bool empty = b.root && b.root->kind == YAML_SCALAR && !b.root->quoted && !b.root->len;
    if (!rc)
        *root = empty ? NULL : b.root;
    return rc;
}

/* ---- reading the tree ---- */

const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key) {
    if (!map || map->kind != YAML_MAP)
        return NULL;
    YAML_EACH(value, map)
    if (strcmp(value->key->text, key) == 0)
        return value;
    return NULL;
}

bool yaml_is_null(const struct yaml_node *node) {
    return !node || (node->kind == YAML_SCALAR && !node->quoted &&
                     (!node->len || strcmp(node->text, "null") == 0 || strcmp(node->text, "~") == 0));
}

enum { LONGEST_WORD = 64 };

/* Insertions, omissions, changes and swaps of neighbours that make one word the other (optimal string alignment). */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len) {
    size_t rows[3][LONGEST_WORD + 1], *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= b_len; j++)
        last[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        now[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
        size_t *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[b_len];
}

const char *yaml_nearest(const char *word, const char *const *words, size_t count) {
    const char *nearest = NULL;
    size_t len = strnlen(word, LONGEST_WORD + 1), least = 2 + len / 3;
    for (size_t i = 0; len <= LONGEST_WORD && i < count; i++) {
        size_t other = strlen(words[i]);
        size_t d = other <= LONGEST_WORD ? distance(word, len, words[i], other) : least;
        if (d < least) {
            least = d;
            nearest = words[i];
        }
    }
    return nearest;
}

/* Depth is at most YAML_DEPTH, so this recursion is bounded. */
static void write_node(struct json_writer *w, const struct yaml_node *n) {
    if (n->kind == YAML_SCALAR) {
        struct tl_span text = {n->text, n->len};
        bool number = !n->quoted && n->len && (n->text[0] == '-' || (n->text[0] >= '0' && n->text[0] <= '9')) &&
                      json_valid(text, NULL) == TL_OK;
        if (yaml_is_null(n))
            json_put_null(w);
        else if (number || (!n->quoted && (span_eq(text, "true") || span_eq(text, "false"))))
            json_put_raw(w, text);
        else
            json_put_string(w, text);
        return;
    }
    bool map = n->kind == YAML_MAP;
    (map ? json_object_begin : json_array_begin)(w);
    YAML_EACH(value, n) {
        if (map)
            json_put_key_span(w, (struct tl_span){value->key->text, value->key->len});
        write_node(w, value);
    }
    (map ? json_object_end : json_array_end)(w);
}

int yaml_to_json(const struct yaml_node *node, struct buf *out) {
    struct json_writer w = JSON_WRITER(out);
    if (node)
        write_node(&w, node);
    else
        json_put_null(&w);
    return out->full ? TL_FAILED : TL_OK;
}
