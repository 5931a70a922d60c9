/* args_fill.c - the struct a collector reads its options or arguments from, filled at the offsets that it declared.
 * Runs in the worker; the declaration has been checked when the collector was loaded (loader.c). */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "engine/args.h"
#include "engine/args_value.h"

struct fill {
    struct arena *arena;
    const struct args_secrets *secrets;
    struct fail *why;
};

static int no_memory(struct fill *f) {
    return fail_set(f->why, TL_FAILED, "the arguments do not fit into the run's memory");
}

static int wrong(struct fill *f, const char *name) {
    return fail_set(f->why, TL_INVALID, "argument %s: its value does not have the declared type", name);
}

static int text_of(struct fill *f, const struct tl_option *o, const struct tl_json *v, const char **text) {
    static struct buf plain; /* scratch, the same for all: copied at once */
    struct tl_span s = v->raw;
    buf_shrink(&plain, 65536);
    if (o->type != TL_JSON && v->type == TL_JSON_STRING) {
        if (json_text(v, &plain) || (plain.len && memchr(plain.data, '\0', plain.len)))
            return wrong(f, o->name);
        s = buf_span(&plain);
    }
    *text = arena_span(f->arena, s);
    return *text ? TL_OK : no_memory(f);
}

static const struct tl_secret *secret_of(struct fill *f, const char *name) {
    return f->secrets ? f->secrets->find(f->secrets->ctx, name) : NULL;
}

static int no_secret(struct fill *f, const char *argument, const char *name) {
    return fail_exit(
        f->why, TL_INVALID, EXIT_CONFIG,
        "argument %s: there is no secret \"%.64s\" in the configuration that can be read: trotline.yml names "
        "them below 'secrets', and trotline doctor tells which cannot be read",
        argument, name);
}

static int put_list(struct fill *f, const struct tl_option *o, const struct tl_json *v, char *at) {
    struct tl_json item = {0};
    struct tl_list list = {0};
    size_t n = 0;
    if (v->type != TL_JSON_ARRAY)
        return wrong(f, o->name);
    while (json_next(v, &item) == TL_OK)
        n++;
    const char **text = n ? arena_alloc(f->arena, n * sizeof *text) : NULL;
    if (n && !text)
        return no_memory(f);
    item = (struct tl_json){0};
    for (size_t i = 0; i < n && json_next(v, &item) == TL_OK; i++) {
        int rc = text_of(f, o, &item, &text[i]);
        if (rc)
            return rc;
        if (o->type == TL_SECRET && !secret_of(f, text[i])) /* its name will do; that it is there is seen here */
            return no_secret(f, o->name, text[i]);
    }
    list.item = text;
    list.count = n;
    memcpy(at, &list, sizeof list);
    return TL_OK;
}

static int put_secret(struct fill *f, const struct tl_option *o, const struct tl_json *v, char *at) {
    AUTO_BUF struct buf name = BUF_INIT;
    if (v->type != TL_JSON_STRING || json_text(v, &name))
        return wrong(f, o->name);
    const struct tl_secret *secret = secret_of(f, name.data ? name.data : "");
    if (!secret)
        return no_secret(f, o->name, name.data ? name.data : "");
    memcpy(at, &secret, sizeof secret);
    return TL_OK;
}

static int put_value(struct fill *f, const struct tl_option *o, const struct tl_json *v, char *at) {
    const char *text;
    int64_t n;
    bool b;
    int rc;
    if (o->flags & TL_LIST)
        return put_list(f, o, v, at);
    switch (o->type) {
    case TL_TEXT:
    case TL_URL:
        if (v->type != TL_JSON_STRING)
            return wrong(f, o->name);
        /* fall through */
    case TL_JSON:
        if ((rc = text_of(f, o, v, &text)))
            return rc;
        memcpy(at, &text, sizeof text);
        return TL_OK;
    case TL_INT:
    case TL_BYTES:
    case TL_MILLIS:
        if (json_int(v, &n))
            return wrong(f, o->name);
        memcpy(at, &n, sizeof n);
        return TL_OK;
    case TL_BOOL:
        if (json_bool(v, &b))
            return wrong(f, o->name);
        memcpy(at, &b, sizeof b);
        return TL_OK;
    case TL_SECRET:
        return put_secret(f, o, v, at);
    }
    return wrong(f, o->name);
}

static int put_default(struct fill *f, const struct tl_option *o, char *into) {
    AUTO_BUF struct buf dflt = BUF_INIT;
    struct tl_json v;
    struct args_slot slot = {.what = "argument",
                             .name = o->name,
                             .dflt = o->dflt,
                             .choices = o->choices,
                             .type = o->type,
                             .flags = o->flags};
    int rc = args_default(&slot, &dflt, f->why);
    if (rc == TL_NOTFOUND)
        return TL_OK;
    if (!rc && json_parse(buf_span(&dflt), &v))
        rc = wrong(f, o->name);
    return rc ? rc : put_value(f, o, &v, into + o->offset);
}

int args_fill(const struct tl_option *table, size_t struct_size, struct tl_span json, struct arena *arena,
              const struct args_secrets *secrets, void **out, struct fail *why) {
    struct fill f = {arena, secrets, why};
    struct tl_json root, v;
    char *into = arena_alloc(arena, struct_size ? struct_size : 1);
    if (!into)
        return no_memory(&f);
    memset(into, 0, struct_size ? struct_size : 1);
    if (json_parse(json.len ? json : span_of("{}"), &root) || root.type != TL_JSON_OBJECT)
        return fail_set(why, TL_INVALID, "the arguments are no JSON object");
    for (size_t i = 0; table && i < ARGS_SLOTS && table[i].name; i++) {
        const struct tl_option *o = &table[i];
        int rc = json_get(&root, o->name, &v) ? put_default(&f, o, into) : put_value(&f, o, &v, into + o->offset);
        if (rc)
            return rc;
    }
    *out = into;
    return TL_OK;
}

int args_fill_over(const struct tl_option *table, size_t struct_size, const void *defaults, struct tl_span json,
                   struct arena *arena, const struct args_secrets *secrets, void **out, struct fail *why) {
    struct fill f = {arena, secrets, why};
    struct tl_json root, member = {0};
    char *into = arena_alloc(arena, struct_size ? struct_size : 1);
    if (!into)
        return no_memory(&f);
    memcpy(into, defaults, struct_size);
    if (json_parse(json.len ? json : span_of("{}"), &root) || root.type != TL_JSON_OBJECT)
        return fail_set(why, TL_INVALID, "the arguments are no JSON object");
    while (json_next(&root, &member) == TL_OK)
        for (size_t i = 0; table && i < ARGS_SLOTS && table[i].name; i++) {
            if (!json_key_is(&member, table[i].name))
                continue;
            int rc = put_value(&f, &table[i], &member, into + table[i].offset);
            if (rc)
                return rc;
        }
    *out = into;
    return TL_OK;
}
