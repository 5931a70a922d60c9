/* field.c - see field.h. */
#include "engine/field.h"

#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "store/package.h"

#define WRONG(r, ...) fail_exit((r)->why, TL_INVALID, EXIT_DAMAGED, __VA_ARGS__)

static const char *text_of(struct field_reader *r, const struct tl_json *v) {
    buf_reset(&r->scratch);
    if (json_text(v, &r->scratch) || (r->scratch.data && strlen(r->scratch.data) != r->scratch.len))
        return NULL;
    return arena_text(&r->arena, buf_span(&r->scratch).ptr, r->scratch.len);
}

static bool word_at(const struct tl_json *v, const char *const *words, int count, int *out) {
    if (v->type != TL_JSON_STRING)
        return false;
    struct tl_span inside = {v->raw.ptr + 1, v->raw.len - 2};
    for (*out = 0; *out < count; ++*out)
        if (words[*out] && span_eq(inside, words[*out]))
            return true;
    return false;
}

/* A string that holds JSON, or JSON as it stands. */
static bool take_span(struct field_reader *r, const struct tl_json *v, bool json, struct tl_span *out) {
    if (json && v->type != TL_JSON_STRING) {
        *out = v->raw;
        return v->type == TL_JSON_OBJECT || v->type == TL_JSON_ARRAY;
    }
    buf_reset(&r->scratch);
    if (json_text(v, &r->scratch))
        return false;
    char *copy = arena_text(&r->arena, buf_span(&r->scratch).ptr, r->scratch.len);
    *out = (struct tl_span){copy, r->scratch.len};
    return copy != NULL;
}

static bool take_int(const struct tl_json *v, int64_t *out) {
    return v->type == TL_JSON_NUMBER && json_int(v, out) == TL_OK && *out >= 0;
}

static bool take_hex(const struct tl_json *v, uint8_t *out, size_t len) {
    return v->type == TL_JSON_STRING && hash_unhex((struct tl_span){v->raw.ptr + 1, v->raw.len - 2}, out, len) == TL_OK;
}

static bool take(struct field_reader *r, const struct field *f, const struct tl_json *v, void *to) {
    int word;
    switch (f->type) {
    case F_ID:
        return v->type == TL_JSON_STRING && uuid_parse((struct tl_span){v->raw.ptr + 1, v->raw.len - 2}, to) == TL_OK;
    case F_INT:
        return take_int(v, to);
    case F_COUNT:
        return take_int(v, to) && *(const int64_t *)to <= FIELD_COUNT_MAX;
    case F_BOOL:
        return json_bool(v, to) == TL_OK;
    case F_TEXT:
        return v->type == TL_JSON_STRING && (*(const char **)to = text_of(r, v)) != NULL;
    case F_SPAN:
        return v->type == TL_JSON_STRING && take_span(r, v, false, to);
    case F_JSON:
        return take_span(r, v, true, to);
    case F_DIGEST:
        return take_hex(v, to, STORE_DIGEST);
    case F_SHA256:
        return take_hex(v, ((struct sha256 *)to)->byte, SHA256_BYTES);
    case F_STATE:
        if (!word_at(v, store_state_name, STORE_STATES, &word))
            return false;
        *(enum store_state *)to = (enum store_state)word;
        return true;
    case F_EDGE:
        if (!word_at(v, store_edge_name, STORE_EDGES, &word))
            return false;
        *(enum store_edge *)to = (enum store_edge)word;
        return true;
    case F_REASON:
        if (!word_at(v, store_reason_name, STORE_REASONS, &word) || !word)
            return false;
        *(enum store_reason *)to = (enum store_reason)word;
        return true;
    }
    return false;
}

int field_decode(struct field_reader *r, const struct tl_json *line, const struct field *f, size_t count, void *out) {
    struct tl_json at = {0};
    bool seen[FIELDS_MAX] = {false};
    int rc;
    while ((rc = json_next(line, &at)) == TL_OK) {
        size_t i = 0;
        while (i < count && !json_key_is(&at, f[i].name))
            i++;
        if (i == count || at.type == TL_JSON_NULL)
            continue;
        if (seen[i])
            return WRONG(r, "the member %s is there twice", f[i].name);
        seen[i] = true;
        if (!take(r, &f[i], &at, (char *)out + f[i].offset))
            return WRONG(r, "the member %s is not what it should be", f[i].name);
    }
    for (size_t i = 0; i < count; i++)
        if (f[i].required && !seen[i])
            return WRONG(r, "the member %s is missing", f[i].name);
    return rc == TL_NOTFOUND ? TL_OK : WRONG(r, "%s is damaged", "the line");
}

bool field_path_ok(const char *path) {
    enum { LONGEST = 2048 };
    size_t len = strlen(path);
    bool plain = len > 0 && len < LONGEST && path[len - 1] != '/';
    for (const char *c = path; plain && c; c = strchr(c, '/') ? strchr(c, '/') + 1 : NULL) {
        size_t part = strcspn(c, "/");
        plain = part > 0 && !(c[0] == '.' && (part == 1 || (part == 2 && c[1] == '.')));
    }
    return plain;
}
