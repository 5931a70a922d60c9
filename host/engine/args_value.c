/* args_value.c - see args_value.h. */
#include "engine/args_value.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/times.h"
#include "base/utf8.h"
#include "base/yaml.h"
#include "net/url.h"

static const struct {
    const char *name, *wanted;
} types[] = {[TL_TEXT] = {"text", "text"},
             [TL_INT] = {"int", "a whole number"},
             [TL_BOOL] = {"bool", "true or false"},
             [TL_BYTES] = {"bytes", "a size such as 64KiB"},
             [TL_MILLIS] = {"millis", "a duration with its unit, such as 90s or 500ms"},
             [TL_URL] = {"url", "an http or https URL"},
             [TL_SECRET] = {"secret", "the name of a secret"},
             [TL_JSON] = {"json", "JSON"}};

bool args_type_known(enum tl_type type) {
    return (unsigned)type < COUNT_OF(types) && types[type].name;
}

const char *args_type_name(enum tl_type type) {
    return args_type_known(type) ? types[type].name : "unknown";
}

int args_type_find(const char *name, enum tl_type *type) {
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (types[i].name && strcmp(types[i].name, name) == 0) {
            *type = (enum tl_type)i;
            return TL_OK;
        }
    return TL_NOTFOUND;
}

/* A value as it can stand in a sentence: one line, at most 60 bytes. */
static const char *shown(const struct tl_json *v, char out[80]) {
    size_t n = v->raw.len > 60 ? 60 : v->raw.len;
    while (n < v->raw.len && n && ((unsigned char)v->raw.ptr[n] & 0xC0) == 0x80)
        n--;
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)v->raw.ptr[i] < ' ' ? ' ' : v->raw.ptr[i];
    snprintf(out + n, 80 - n, "%s", n < v->raw.len ? "..." : "");
    return out;
}

static int refuse_because(const struct args_slot *slot, const char *because, struct fail *why) {
    return fail_set(why, TL_INVALID, "%s %s%s%s: %s", slot->what, slot->name, slot->collector ? " of " : "",
                    slot->collector ? slot->collector : "", because);
}

/* A secret's value is not shown: it may be the secret itself, written in the wrong place. */
static int refuse(const struct args_slot *slot, const struct tl_json *v, struct fail *why) {
    char value[80], text[200];
    snprintf(text, sizeof text, "wants %s%s%s", types[slot->type].wanted, slot->type == TL_SECRET ? "" : ", not ",
             slot->type == TL_SECRET ? "" : shown(v, value));
    return refuse_because(slot, text, why);
}

static int check_choice(const struct args_slot *slot, struct tl_span text, const struct tl_json *v, struct fail *why) {
    if (!slot->choices)
        return TL_OK;
    for (const char *at = slot->choices;; at++) {
        size_t n = strcspn(at, "|");
        if (n == text.len && memcmp(at, text.ptr, n) == 0)
            return TL_OK;
        at += n;
        if (!*at)
            break;
    }
    char value[80], said[400];
    snprintf(said, sizeof said, "%s is none of %.300s", shown(v, value), slot->choices);
    return refuse_because(slot, said, why);
}

/* The value as text, where the type wants text: a string; from YAML a number or true, too, as it was written. */
static int take_text(const struct args_slot *slot, const struct tl_json *v, bool yaml, struct buf *text,
                     struct fail *why) {
    if (v->type == TL_JSON_STRING) {
        if (json_text(v, text))
            return refuse(slot, v, why);
    } else if (yaml && (v->type == TL_JSON_NUMBER || v->type == TL_JSON_BOOL)) {
        buf_add(text, v->raw.ptr, v->raw.len);
    } else {
        return refuse(slot, v, why);
    }
    if (text->len && memchr(text->data, '\0', text->len))
        return refuse_because(slot, "must not contain U+0000", why);
    return TL_OK;
}

static int put_text(const struct args_slot *slot, const struct tl_json *v, bool yaml, struct buf *out,
                    struct fail *why) {
    AUTO_BUF struct buf text = BUF_INIT;
    int rc = take_text(slot, v, yaml, &text, why);
    if (rc || (rc = check_choice(slot, buf_span(&text), v, why)))
        return rc;
    struct json_writer w = JSON_WRITER(out);
    json_put_string(&w, buf_span(&text));
    return TL_OK;
}

static int put_url(const struct args_slot *slot, const struct tl_json *v, struct buf *out, struct fail *why) {
    AUTO_BUF struct buf text = BUF_INIT, href = BUF_INIT;
    struct url u;
    int rc = take_text(slot, v, false, &text, why);
    if (rc)
        return rc;
    if (url_parse(&href, buf_span(&text), NULL, &u) || !(span_eq(u.scheme, "http") || span_eq(u.scheme, "https")))
        return refuse(slot, v, why);
    struct json_writer w = JSON_WRITER(out);
    json_put_string(&w, buf_span(&text));
    return TL_OK;
}

static bool secret_name(struct tl_span s) {
    if (!s.len || s.len > ARGS_SECRET_NAME)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("_-.", c)))
            return false;
    }
    return true;
}

static int put_secret(const struct args_slot *slot, const struct tl_json *v, bool yaml, struct buf *out,
                      struct fail *why) {
    AUTO_BUF struct buf text = BUF_INIT;
    int rc = take_text(slot, v, yaml, &text, why);
    if (rc)
        return rc;
    if (!secret_name(buf_span(&text)))
        return refuse(slot, v, why);
    struct json_writer w = JSON_WRITER(out);
    json_put_string(&w, buf_span(&text));
    return TL_OK;
}

/* A whole number as JSON writes it: no sign but a minus, no leading zero, no fraction. */
static int whole(struct tl_span text, int64_t *n) {
    struct tl_json v;
    return text.len && json_parse(text, &v) == TL_OK && v.raw.len == text.len ? json_int(&v, n) : TL_INVALID;
}

static int put_int(const struct args_slot *slot, const struct tl_json *v, bool yaml, struct buf *out,
                   struct fail *why) {
    AUTO_BUF struct buf text = BUF_INIT;
    int64_t n;
    if (v->type == TL_JSON_NUMBER)
        buf_add(&text, v->raw.ptr, v->raw.len);
    else if (!(yaml && v->type == TL_JSON_STRING && json_text(v, &text) == TL_OK))
        return refuse(slot, v, why);
    if (whole(buf_span(&text), &n))
        return refuse(slot, v, why);
    int rc = check_choice(slot, buf_span(&text), v, why);
    if (!rc)
        buf_int(out, n);
    return rc;
}

static int put_amount(const struct args_slot *slot, const struct tl_json *v, bool yaml, struct buf *out,
                      struct fail *why) {
    AUTO_BUF struct buf text = BUF_INIT;
    int64_t n = -1;
    bool bare = v->type == TL_JSON_NUMBER, is_text = v->type == TL_JSON_STRING && json_text(v, &text) == TL_OK;
    if (bare && json_int(v, &n))
        return refuse(slot, v, why);
    if (is_text && whole(buf_span(&text), &n) == TL_OK)
        bare = true; /* a number in quotes is no more than the number */
    else if (is_text && slot->type == TL_BYTES && time_parse_size(buf_span(&text), &n))
        return refuse(slot, v, why);
    else if (is_text && slot->type == TL_MILLIS) {
        if (time_parse_duration(buf_span(&text), &n) || n < 0)
            return refuse(slot, v, why);
        n = n / 1000 + (n % 1000 != 0);
    }
    /* In JSON a duration is a number of milliseconds; a person who writes 90 in YAML may mean either. */
    bool doubtful = bare && slot->type == TL_MILLIS && n && (yaml || is_text);
    if (n < 0 || doubtful)
        return refuse(slot, v, why);
    buf_int(out, n);
    return TL_OK;
}

static int put_bool(const struct args_slot *slot, const struct tl_json *v, bool yaml, struct buf *out,
                    struct fail *why) {
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};
    bool b;
    if (json_bool(v, &b) == TL_OK) {
        buf_text(out, b ? "true" : "false");
        return TL_OK;
    }
    AUTO_BUF struct buf text = BUF_INIT;
    if (yaml && v->type == TL_JSON_STRING && json_text(v, &text) == TL_OK)
        for (size_t i = 0; i < COUNT_OF(words); i++)
            if (span_eq(buf_span(&text), words[i])) {
                buf_text(out, i % 2 ? "true" : "false");
                return TL_OK;
            }
    return refuse(slot, v, why);
}

static int put_scalar(const struct args_slot *slot, const struct tl_json *v, bool yaml, struct buf *out,
                      struct fail *why) {
    switch (slot->type) {
    case TL_TEXT:
        return put_text(slot, v, yaml, out, why);
    case TL_URL:
        return put_url(slot, v, out, why);
    case TL_SECRET:
        return put_secret(slot, v, yaml, out, why);
    case TL_INT:
        return put_int(slot, v, yaml, out, why);
    case TL_BYTES:
    case TL_MILLIS:
        return put_amount(slot, v, yaml, out, why);
    case TL_BOOL:
        return put_bool(slot, v, yaml, out, why);
    case TL_JSON:
        buf_add(out, v->raw.ptr, v->raw.len);
        return TL_OK;
    }
    return refuse_because(slot, "has a type that this trotline does not know", why);
}

int args_value(const struct args_slot *slot, const struct tl_json *given, bool yaml, struct buf *out,
               struct fail *why) {
    if (!(slot->flags & TL_LIST))
        return put_scalar(slot, given, yaml, out, why);
    char value[80], text[200];
    if (given->type != TL_JSON_ARRAY) {
        snprintf(text, sizeof text, "wants a list, as in [ONE, TWO], not %s",
                 slot->type == TL_SECRET ? "this" : shown(given, value));
        return refuse_because(slot, text, why);
    }
    struct tl_json item = {0};
    int rc;
    buf_char(out, '[');
    for (bool first = true; (rc = json_next(given, &item)) == TL_OK; first = false) {
        if (!first)
            buf_char(out, ',');
        if ((rc = put_scalar(slot, &item, yaml, out, why)))
            return rc;
    }
    buf_char(out, ']');
    return rc == TL_NOTFOUND ? TL_OK : refuse(slot, given, why);
}

static bool plain_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '/' || c == '+' || c == '-';
}

/* [a, b-c, d/e]: the lists that are common, without a YAML parser. False: not such a list. */
static bool plain_list(const char *text, struct buf *json) {
    struct json_writer w = JSON_WRITER(json);
    const char *at = text;
    if (*at++ != '[')
        return false;
    json_array_begin(&w);
    for (;; at++) {
        while (*at == ' ')
            at++;
        const char *word = at;
        while (plain_letter(*at))
            at++;
        if (at > word)
            json_put_string(&w, (struct tl_span){word, (size_t)(at - word)});
        if (*at == ']' && !at[1])
            break;
        if (at == word || *at != ',')
            return false;
    }
    json_array_end(&w);
    return true;
}

static int yaml_as_json(const char *text, struct buf *json) {
    struct arena arena = {.max = 1 << 20};
    struct yaml_node *root;
    struct yaml_error error;
    int rc = yaml_parse(&arena, "default", span_of(text), &root, &error);
    if (!rc)
        rc = yaml_to_json(root, json);
    arena_free(&arena);
    return rc ? TL_INVALID : TL_OK;
}

/* What most defaults are: asked for every run that is put, so without a detour. False: nothing was appended. */
static bool plain_default(const struct args_slot *slot, struct buf *out) {
    struct json_writer w = JSON_WRITER(out);
    size_t before = out->len;
    int64_t n;
    if (slot->choices)
        return false;
    if (slot->flags & TL_LIST) {
        if (slot->type == TL_TEXT && plain_list(slot->dflt, out))
            return true;
        out->len = before;
        return false;
    }
    switch (slot->type) {
    case TL_TEXT:
        json_put_text(&w, slot->dflt);
        return true;
    case TL_INT:
        if (whole(span_of(slot->dflt), &n))
            return false;
        buf_int(out, n);
        return true;
    case TL_BOOL:
        if (strcmp(slot->dflt, "true") != 0 && strcmp(slot->dflt, "false") != 0)
            return false;
        buf_text(out, slot->dflt);
        return true;
    default:
        return false;
    }
}

int args_default(const struct args_slot *slot, struct buf *out, struct fail *why) {
    if (!slot->dflt)
        return TL_NOTFOUND;
    if (plain_default(slot, out))
        return TL_OK;
    AUTO_BUF struct buf json = BUF_INIT;
    struct tl_json v;
    if (slot->type != TL_JSON && !(slot->flags & TL_LIST)) {
        struct json_writer w = JSON_WRITER(&json);
        json_put_text(&w, slot->dflt);
    } else if (slot->type == TL_JSON && json_valid(span_of(slot->dflt), NULL) == TL_OK) {
        buf_text(&json, slot->dflt);
    } else if (slot->type == TL_JSON || !plain_list(slot->dflt, &json)) {
        buf_reset(&json);
        if (yaml_as_json(slot->dflt, &json))
            return refuse_because(slot, "its default is no YAML", why);
    }
    return json_parse(buf_span(&json), &v) ? refuse_because(slot, "its default cannot be read", why)
                                           : args_value(slot, &v, true, out, why);
}
