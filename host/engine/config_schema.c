/* config_schema.c - see config_schema.h: the reader, and the table of leashes, which stand in several files. */
#include "engine/config_schema.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/times.h"

enum { WORDS_MAX = 64 };

static int read_map(struct schema_reader *r, const struct schema *s, const struct yaml_node *map, char *base);

/* ---- refusing ---- */

int schema_no_memory(struct schema_reader *r, const struct yaml_node *at) {
    yaml_fail(r->err, at, "reading it needs more memory than is allowed");
    return TL_FAILED;
}

/* What stands there instead of what is wanted. */
TL_PRINTF(4, 5)
static int refuse(struct schema_reader *r, const struct schema_key *k, const struct yaml_node *at, const char *fmt,
                  ...) {
    char wanted[160];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(wanted, sizeof wanted, fmt, ap);
    va_end(ap);
    if (at->kind == YAML_MAP)
        return yaml_fail(r->err, at, "'%s' wants %s, not a map", k->name, wanted);
    if (at->kind == YAML_LIST)
        return yaml_fail(r->err, at, "'%s' wants %s, not a list", k->name, wanted);
    if (yaml_is_null(at))
        return yaml_fail(r->err, at, "'%s' has no value; it wants %s", k->name, wanted);
    return yaml_fail(r->err, at, "'%s' wants %s, not %s'%.60s'", k->name, wanted, at->quoted ? "the text " : "",
                     at->text);
}

const struct schema_key *schema_find(const struct schema *s, const char *name) {
    for (const struct schema_key *k = s->key; k->name; k++)
        if (strcmp(k->name, name) == 0)
            return k;
    return NULL;
}

static size_t add_words(const struct schema *s, const char *words[WORDS_MAX], size_t count) {
    for (const struct schema_key *k = s->key; k->name && count < WORDS_MAX; k++)
        words[count++] = k->name;
    return count;
}

int schema_unknown(struct schema_reader *r, const struct yaml_node *key, const struct schema *s,
                   const struct schema *second) {
    const char *words[WORDS_MAX] = {NULL};
    size_t count = add_words(s, words, 0);
    if (second)
        count = add_words(second, words, count);
    const char *near = yaml_nearest(key->text, words, count);
    if (near)
        return yaml_fail(r->err, key, "unknown key '%.80s'; did you mean '%s'?", key->text, near);
    AUTO_BUF struct buf known = BUF_INIT;
    for (size_t i = 0; i < count; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", words[i]);
    return yaml_fail(r->err, key, "unknown key '%.60s'; known here: %s", key->text, known.data);
}

#define LETTERS_AND_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
bool schema_is_name(const char *text) {
    size_t len = strlen(text);
    return len <= 64 && strspn(text, LETTERS_AND_DIGITS) > 0 && strspn(text, LETTERS_AND_DIGITS "._-") == len;
}

/* ---- scalars ---- */

static bool is_plain(const struct yaml_node *n) {
    return n->kind == YAML_SCALAR && !n->quoted && !yaml_is_null(n);
}

static bool is_word(const struct yaml_node *n, const char *word) {
    return is_plain(n) && strcmp(n->text, word) == 0;
}

static bool plain_control(const char *text, size_t len, bool lines) {
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i], after = (unsigned char)text[i + 1];
        if ((c < ' ' && !(lines && (c == '\n' || c == '\t'))) || c == 0x7F || (c == 0xC2 && after < 0xA0))
            return true;
    }
    return false;
}

static int check_text(struct schema_reader *r, const struct schema_key *k, const struct yaml_node *n, int64_t min,
                      int64_t max) {
    if (n->kind != YAML_SCALAR)
        return refuse(r, k, n, "a text");
    if (yaml_is_null(n))
        return n->len
                   ? yaml_fail(r->err, n, "'%s' wants a text; to mean '%s' itself, put it in quotes", k->name, n->text)
                   : yaml_fail(r->err, n, "'%s' has no value; leave the key out, or write a text", k->name);
    if ((int64_t)n->len < min || (int64_t)n->len > max)
        return yaml_fail(r->err, n, "'%s' wants %lld to %lld bytes, not %zu", k->name, (long long)min, (long long)max,
                         n->len);
    if (plain_control(n->text, n->len, k->flags & SCHEMA_LINES))
        return yaml_fail(r->err, n, "'%s' has a control character in it", k->name);
    return TL_OK;
}

/* Decimal digits without leading zeros, which some take for octal. */
static int parse_int(const struct yaml_node *n, int64_t *out) {
    if (!is_plain(n) || n->len > 18 || (n->len > 1 && n->text[0] == '0') || strspn(n->text, "0123456789") != n->len)
        return TL_INVALID;
    *out = strtoll(n->text, NULL, 10);
    return TL_OK;
}

static int parse_number(const struct schema_key *k, const struct yaml_node *n, int64_t *out) {
    struct tl_span text = {n->text, n->len};
    if (k->type == SCHEMA_INT)
        return parse_int(n, out);
    if (n->kind != YAML_SCALAR)
        return TL_INVALID;
    return k->type == SCHEMA_SIZE ? time_parse_size(text, out) : time_parse_duration(text, out);
}

static int read_number(struct schema_reader *r, const struct schema_key *k, const struct yaml_node *n, int64_t *out) {
    const char *else_word = k->flags & SCHEMA_NONE ? " or none" : k->flags & SCHEMA_AUTO ? " or auto" : "";
    int64_t value;
    if ((k->flags & SCHEMA_NONE && is_word(n, "none")) || (k->flags & SCHEMA_AUTO && is_word(n, "auto"))) {
        *out = k->flags & SCHEMA_NONE ? INT64_MAX : k->min - 1;
        return TL_OK;
    }
    bool good = parse_number(k, n, &value) == TL_OK;
    if (good && value >= k->min && value <= k->max) {
        *out = value;
        return TL_OK;
    }
    if (k->type == SCHEMA_INT && k->max == INT64_MAX)
        return refuse(r, k, n, "a whole number%s", else_word);
    if (k->type == SCHEMA_INT)
        return refuse(r, k, n, "a whole number from %lld to %lld%s", (long long)k->min, (long long)k->max, else_word);
    bool size = k->type == SCHEMA_SIZE;
    const char *kind = size ? "a size such as 64KiB" : "a duration such as 90s or 1h";
    char bound[TIME_TEXT];
    int64_t limit = good && value < k->min ? k->min : k->max;
    (size ? time_size_text : time_duration_text)(limit, bound);
    if (!good)
        return refuse(r, k, n, "%s%s", kind, else_word);
    return limit == 1 ? refuse(r, k, n, "%s above 0%s", kind, else_word)
                      : refuse(r, k, n, "%s of at %s %s%s", kind, limit == k->min ? "least" : "most", bound, else_word);
}

static int read_bool(struct schema_reader *r, const struct schema_key *k, const struct yaml_node *n, bool *out) {
    *out = is_word(n, "true");
    return *out || is_word(n, "false") ? TL_OK : refuse(r, k, n, "true or false");
}

/* The place of a word among "one|two|three". */
static int read_choice(struct schema_reader *r, const struct schema_key *k, const struct yaml_node *n, int *out) {
    AUTO_BUF struct buf known = BUF_INIT;
    bool scalar = n->kind == YAML_SCALAR && (n->quoted || n->len);
    int at = 0;
    for (const char *word = k->words; *word; at++) {
        size_t len = strcspn(word, "|");
        bool last = !word[len];
        *out = at;
        if (scalar && n->len == len && memcmp(n->text, word, len) == 0)
            return TL_OK;
        buf_printf(&known, "%s%.*s", !at ? "" : last ? " or " : ", ", (int)len, word);
        word += len + !last;
    }
    return refuse(r, k, n, "%s", known.data);
}

static int read_switch(struct schema_reader *r, const struct schema_key *k, const struct yaml_node *n, bool *out) {
    int at = 0;
    int rc = read_choice(r, k, n, &at);
    *out = at > 0;
    return rc;
}

static int read_byte(struct schema_reader *r, const struct schema_key *k, const struct yaml_node *n, int *out) {
    if (n->kind != YAML_SCALAR || n->len != 2 || strspn(n->text, "0123456789abcdefABCDEF") != 2)
        return refuse(r, k, n, "two hex digits from 00 to ff");
    *out = (int)strtol(n->text, NULL, 16);
    return TL_OK;
}

/* ---- lists ---- */

static int check_count(struct schema_reader *r, const struct schema_key *k, const struct yaml_node *n,
                       enum yaml_kind kind) {
    if (n->kind != kind)
        return refuse(r, k, n, kind == YAML_LIST ? "a list" : "a map of names");
    if ((int64_t)n->count < k->min || (int64_t)n->count > k->max)
        return yaml_fail(r->err, n, "'%s' wants %lld to %lld entries, not %zu", k->name, (long long)k->min,
                         (long long)k->max, n->count);
    return TL_OK;
}

static int read_texts(struct schema_reader *r, const struct schema_key *k, const struct yaml_node *n,
                      const char *const **out, size_t *count) {
    int rc = check_count(r, k, n, YAML_LIST);
    if (rc)
        return rc;
    const char **list = arena_alloc(r->arena, (n->count + 1) * sizeof *list);
    if (!list)
        return schema_no_memory(r, n);
    size_t i = 0;
    YAML_EACH(item, n) {
        rc = check_text(r, k, item, 1, 4096);
        if (rc)
            return rc;
        list[i++] = item->text;
    }
    list[i] = NULL;
    *out = list;
    if (count)
        *count = i;
    return TL_OK;
}

static int read_hosts(struct schema_reader *r, const struct schema_key *k, const struct yaml_node *n, struct leash *l) {
    int rc = check_count(r, k, n, YAML_LIST);
    l->hosts_set = !rc;
    if (rc)
        return rc;
    YAML_EACH(item, n) {
        struct fail why = FAIL_INIT;
        rc = check_text(r, k, item, 1, 512);
        if (rc)
            return rc;
        if (leash_add_host(l, item->text, &why))
            return yaml_fail(r->err, item, "%s", why.text);
    }
    return TL_OK;
}

/* The array and its count are in place before the first entry is read, so that what entries own can be released after a
 * fault. */
static int read_structs(struct schema_reader *r, const struct schema_key *k, const struct yaml_node *n, void **out,
                        size_t *count) {
    bool named = k->type == SCHEMA_NAMED;
    int rc = check_count(r, k, n, named ? YAML_MAP : YAML_LIST);
    if (rc)
        return rc;
    char *at = arena_alloc(r->arena, n->count * k->of->size + 1);
    if (!at)
        return schema_no_memory(r, n);
    memset(at, 0, n->count * k->of->size);
    for (size_t i = 0; k->of->init && i < n->count; i++)
        k->of->init(at + i * k->of->size);
    *out = at;
    *count = n->count;
    YAML_EACH(item, n) {
        const char *name = named ? item->key->text : NULL;
        if (named && k->of->name && (rc = k->of->name(r, item->key, &name)))
            return rc;
        if (named && !k->of->name && !schema_is_name(name))
            return yaml_fail(r->err, item->key, "'%.60s' is no name: letters, digits, '.', '_' and '-' make one", name);
        if (named)
            memcpy(at, &name, sizeof name);
        if (item->kind != YAML_MAP)
            return refuse(r, k, item, named ? "a map for each name" : "a list of maps");
        rc = schema_read(r, k->of, item, at);
        if (rc)
            return rc;
        at += k->of->size;
    }
    return TL_OK;
}

int config_object(struct schema_reader *r, const struct yaml_node *map, struct tl_span *out) {
    AUTO_BUF struct buf json = {.max = YAML_TEXT_MAX};
    if (yaml_to_json(map, &json))
        return yaml_fail(r->err, map, "this is too large: over 1 MiB as JSON");
    const char *text = arena_text(r->arena, json.data, json.len);
    if (!text)
        return schema_no_memory(r, map);
    *out = (struct tl_span){text, json.len};
    return TL_OK;
}

static int read_object(struct schema_reader *r, const struct schema_key *k, const struct yaml_node *n,
                       struct tl_span *out) {
    if (n->kind != YAML_MAP)
        return refuse(r, k, n, "a map of names and values");
    return k->flags & SCHEMA_LATER ? TL_OK : config_object(r, n, out);
}

/* ---- maps ---- */

static int read_value(struct schema_reader *r, const struct schema_key *k, const struct yaml_node *n, char *base) {
    void *at = base + k->offset;
    size_t *count = k->count_offset ? (size_t *)(base + k->count_offset) : NULL;
    switch (k->type) {
    case SCHEMA_TEXT:
        *(const char **)at = n->text;
        return check_text(r, k, n, k->min, k->max);
    case SCHEMA_INT:
    case SCHEMA_SIZE:
    case SCHEMA_TIME:
        return read_number(r, k, n, at);
    case SCHEMA_BOOL:
        return read_bool(r, k, n, at);
    case SCHEMA_BYTE:
        return read_byte(r, k, n, at);
    case SCHEMA_SWITCH:
        return read_switch(r, k, n, at);
    case SCHEMA_CHOICE:
        return read_choice(r, k, n, at);
    case SCHEMA_TEXTS:
        return read_texts(r, k, n, at, count);
    case SCHEMA_HOSTS:
        return read_hosts(r, k, n, at);
    case SCHEMA_MAP:
        return n->kind == YAML_MAP ? read_map(r, k->of, n, at) : refuse(r, k, n, "a map of keys and values");
    case SCHEMA_LIST:
    case SCHEMA_NAMED:
        return read_structs(r, k, n, at, count);
    case SCHEMA_OBJECT:
        return read_object(r, k, n, at);
    }
    return TL_INVALID;
}

static int defaults(struct schema_reader *r, const struct schema *s, char *base) {
    int rc = TL_OK;
    for (const struct schema_key *k = s->key; k->name && !rc; k++) {
        if (k->type == SCHEMA_MAP)
            rc = defaults(r, k->of, base + k->offset);
        if (k->dflt) {
            struct yaml_node n = {.kind = YAML_SCALAR, .text = k->dflt, .len = strlen(k->dflt)};
            rc = read_value(r, k, &n, base);
        }
    }
    return rc;
}

static int read_map(struct schema_reader *r, const struct schema *s, const struct yaml_node *map, char *base) {
    YAML_EACH(value, map) {
        const struct schema_key *k = schema_find(s, value->key->text);
        if (!k)
            return schema_unknown(r, value->key, s, NULL);
        int rc = read_value(r, k, value, base);
        if (!rc && k->check)
            rc = k->check(r, value, base + k->offset);
        if (rc)
            return rc;
    }
    for (const struct schema_key *k = s->key; k->name; k++)
        if (k->flags & SCHEMA_REQUIRED && !yaml_get(map, k->name))
            return yaml_fail(r->err, map, "%s needs the key '%s', %s", s->what, k->name, k->help);
    return s->check ? s->check(r, map, base) : TL_OK;
}

int schema_read(struct schema_reader *r, const struct schema *s, const struct yaml_node *map, void *out) {
    int rc = defaults(r, s, out);
    return rc ? rc : read_map(r, s, map, out);
}

/* ---- leashes ---- */

#define LIMIT(key_name, kind, key_flags, field, from, to, key_help)                                                    \
    {                                                                                                                  \
        .name = key_name, .type = kind, .flags = key_flags, .offset = offsetof(struct leash, field), .min = from,      \
        .max = to, .help = key_help                                                                                    \
    }
static const struct schema_key leash_keys[] = {
    LIMIT("depth", SCHEMA_INT, 0, depth, 0, LEASH_DEPTH_MAX,
          "levels below the root; a line's run is 1, what it leads to 2"),
    LIMIT("fanout", SCHEMA_INT, SCHEMA_NONE, fanout, 0, INT64_MAX, "children that a run may have"),
    LIMIT("runs", SCHEMA_INT, SCHEMA_NONE, runs, 0, INT64_MAX, "runs of the whole crawl, the root too"),
    LIMIT("bytes", SCHEMA_SIZE, SCHEMA_NONE, bytes, 0, INT64_MAX, "bytes fetched by the whole crawl"),
    LIMIT("time", SCHEMA_TIME, SCHEMA_NONE, time_us, 1, INT64_MAX,
          "how long the crawl may take; on a line: each of its runs"),
    {.name = "hosts",
     .type = SCHEMA_HOSTS,
     .max = LEASH_HOSTS_MAX,
     .help = "hosts that may be asked: example.org, *.example.org, example.org:8080, or * for any"},
    {0},
};
const struct schema schema_leash = {.what = "a leash", .key = leash_keys, .size = sizeof(struct leash)};
