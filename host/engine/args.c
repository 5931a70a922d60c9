/* args.c - see args.h. */
#include "engine/args.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "engine/args_value.h"
#include "engine/config_apis.h"
#include "net/url.h"

/* The declared slots of one side of a collector, and what was given for each. */
struct table {
    const char *what, *collector;
    const struct plugin_option *slot;
    size_t count;
    bool seen[ARGS_SLOTS];
    struct tl_json given[ARGS_SLOTS]; /* valid where seen */
};

void args_free(struct args *a) {
    buf_free(&a->payload);
    buf_free(&a->identity);
    buf_free(&a->url);
    buf_free(&a->hosts);
    a->host_count = 0;
}

static struct args_slot slot_of(const struct table *t, size_t i) {
    const struct plugin_option *o = &t->slot[i];
    return (struct args_slot){.what = t->what,
                              .collector = t->collector,
                              .name = o->name,
                              .dflt = o->dflt,
                              .choices = o->choices,
                              .type = o->type,
                              .flags = o->flags};
}

static int unknown(const struct table *t, const struct tl_json *member, struct fail *why) {
    AUTO_BUF struct buf name = BUF_INIT;
    const char *names[ARGS_SLOTS];
    char list[300] = "";
    int shown =
        member->key.len > 66 ? 66 : (int)member->key.len; /* as written, quotes and escapes included: one line */
    json_key(member, &name);
    for (size_t i = 0, at = 0; i < t->count; i++) {
        names[i] = t->slot[i].name;
        if (at < sizeof list)
            at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", names[i]);
    }
    const char *near = yaml_nearest(name.data ? name.data : "", names, t->count);
    if (near)
        return fail_set(why, TL_INVALID, "%s has no %s %.*s: did you mean \"%s\"?", t->collector, t->what, shown,
                        member->key.ptr, near);
    return fail_set(why, TL_INVALID, "%s has no %s %.*s: it takes %s", t->collector, t->what, shown, member->key.ptr,
                    *list ? list : "none");
}

static int find_slot(const struct table *t, const struct tl_json *member, size_t *found) {
    for (*found = 0; *found < t->count; ++*found)
        if (json_key_is(member, t->slot[*found].name))
            return TL_OK;
    return TL_NOTFOUND;
}

/* Sorts the members of `given` into the table. */
static int take_members(struct table *t, struct tl_span given, struct fail *why) {
    struct tl_json root, member = {0};
    size_t where = 0, i;
    if (!given.len)
        return TL_OK;
    if (given.len > ARGS_MAX)
        return fail_set(why, TL_INVALID, "the %ss of %s are longer than %d bytes", t->what, t->collector,
                        (int)ARGS_MAX);
    if (json_parse(given, &root))
        return (void)json_valid(given, &where),
               fail_set(why, TL_INVALID, "the %ss of %s are no JSON: wrong at byte %zu", t->what, t->collector, where);
    if (root.type != TL_JSON_OBJECT)
        return fail_set(why, TL_INVALID, "the %ss of %s must be an object: names and their values", t->what,
                        t->collector);
    while (json_next(&root, &member) == TL_OK) {
        if (find_slot(t, &member, &i))
            return unknown(t, &member, why);
        if (t->seen[i])
            return fail_set(why, TL_INVALID, "%s %s of %s is given twice", t->what, t->slot[i].name, t->collector);
        t->seen[i] = true;
        t->given[i] = member;
    }
    /* null means "as if it were not given", but where any JSON will do it is a value. */
    for (i = 0; i < t->count; i++)
        if (t->seen[i] && t->given[i].type == TL_JSON_NULL && t->slot[i].type != TL_JSON)
            t->seen[i] = false;
    return TL_OK;
}

static int table_start(struct table *t, const struct plugin *p, bool options, struct tl_span given, struct fail *why) {
    t->what = options ? "option" : "argument";
    t->collector = p->name;
    t->slot = options ? p->option : p->argument;
    t->count = options ? p->option_count : p->argument_count;
    if (t->count > ARGS_SLOTS)
        return fail_set(why, TL_INVALID, "%s declares more than %d %ss", p->name, (int)ARGS_SLOTS, t->what);
    memset(t->seen, 0, t->count * sizeof *t->seen);
    return take_members(t, given, why);
}

/* The payload: what was given, in the declared order, typed. The value of slot i stands at from[i] to upto[i]. */
static int write_payload(const struct table *t, bool yaml, struct buf *out, size_t from[], size_t upto[],
                         struct fail *why) {
    bool first = true;
    buf_char(out, '{');
    for (size_t i = 0; i < t->count; i++) {
        struct args_slot slot = slot_of(t, i);
        if (!t->seen[i]) {
            if (slot.flags & TL_REQUIRED)
                return fail_set(why, TL_INVALID, "%s %s of %s is missing: it must be given", t->what, slot.name,
                                t->collector);
            continue;
        }
        buf_text(out, first ? "\"" : ",\"");
        first = false;
        buf_text(out, slot.name);
        buf_lit(out, "\":");
        from[i] = out->len;
        int rc = args_value(&slot, &t->given[i], yaml, out, why);
        if (rc)
            return rc;
        upto[i] = out->len;
        if ((slot.flags & TL_REQUIRED) && (slot.flags & TL_LIST) && upto[i] - from[i] == 2)
            return fail_set(why, TL_INVALID, "%s %s of %s is empty: at least one is needed", t->what, slot.name,
                            t->collector);
    }
    buf_char(out, '}');
    return out->full ? fail_set(why, TL_INVALID, "the %ss of %s are too long", t->what, t->collector) : TL_OK;
}

/* ---- identity */

static void add_host(struct args *a, const struct url *u) {
    buf_add(&a->hosts, u->host.ptr, u->host.len);
    buf_char(&a->hosts, ':');
    buf_int(&a->hosts, url_effective_port(u));
    buf_char(&a->hosts, '\0');
    a->host_count++;
}

/* One URL, already known to be good: its host is noted, its canonical form becomes part of the identity. */
static int write_url(struct args *a, const struct tl_json *text, bool given, struct json_writer *w) {
    AUTO_BUF struct buf url = BUF_INIT, form = BUF_INIT;
    struct url u;
    if (json_text(text, &url) || url_parse(&form, buf_span(&url), NULL, &u))
        return TL_INVALID;
    if (given && !a->url.len)
        buf_add(&a->url, url.data, url.len);
    add_host(a, &u);
    buf_reset(&form);
    if (url_canonical(&form, buf_span(&url)))
        return TL_INVALID;
    json_put_string(w, buf_span(&form));
    return TL_OK;
}

static int write_urls(struct args *a, const struct tl_json *value, bool given, struct json_writer *w) {
    struct tl_json item = {0};
    if (value->type != TL_JSON_ARRAY)
        return write_url(a, value, given, w);
    int rc = TL_OK;
    json_array_begin(w);
    while (!rc && json_next(value, &item) == TL_OK)
        rc = write_url(a, &item, given, w);
    json_array_end(w);
    return rc;
}

/* A text, or several, that may be URLs: the hosts of those of the web are noted. What they are is the collector's to
 * say. */
static void note_hosts(struct args *a, struct tl_span value) {
    struct tl_json all, item = {0};
    if (json_parse(value, &all))
        return;
    bool one = all.type == TL_JSON_STRING;
    while (one || (all.type == TL_JSON_ARRAY && json_next(&all, &item) == TL_OK)) {
        AUTO_BUF struct buf text = BUF_INIT, form = BUF_INIT;
        struct url u;
        if (json_text(one ? &all : &item, &text) == TL_OK && url_parse(&form, buf_span(&text), NULL, &u) == TL_OK &&
            (span_eq(u.scheme, "http") || span_eq(u.scheme, "https")))
            add_host(a, &u);
        if (one)
            return;
    }
}

/* Without a default, the zero that the collector sees is the same as none: it is left out, so that an argument which a
 * later version adds changes no identity. */
static bool is_zero(const struct args_slot *slot, struct tl_span value) {
    if (slot->dflt)
        return false;
    if (slot->flags & TL_LIST)
        return value.len == 2;
    switch (slot->type) {
    case TL_INT:
    case TL_BYTES:
    case TL_MILLIS:
        return value.len == 1 && value.ptr[0] == '0';
    case TL_BOOL:
        return value.len == 5;
    default:
        return false;
    }
}

/* The canonical form of one argument, appended to `part`: its value, or nothing. */
static int write_part(struct args *a, const struct args_slot *slot, struct tl_span value, bool given, struct buf *part,
                      struct fail *why) {
    struct tl_json v;
    struct json_writer w = JSON_WRITER(part);
    if (is_zero(slot, value))
        return TL_OK;
    int rc = TL_OK;
    if (slot->type == TL_JSON)
        rc = json_canonical(value, part);
    else if (slot->type == TL_URL)
        rc = json_parse(value, &v) || write_urls(a, &v, given, &w) ? TL_INVALID : TL_OK;
    else
        buf_add(part, value.ptr, value.len);
    if (slot->flags & TL_NAMES_HOST)
        note_hosts(a, value);
    return rc ? fail_set(why, TL_INVALID, "%s %s of %s has no canonical form: %s", slot->what, slot->name,
                         slot->collector,
                         slot->type == TL_JSON
                             ? "a name stands twice in an object, a surrogate stands alone, or it is too long"
                             : "its URL is too long")
              : TL_OK;
}

/* The table's order by name: a few entries, so by insertion. */
static void sort_names(const struct table *t, uint16_t order[]) {
    for (size_t i = 0; i < t->count; i++) {
        size_t at = i;
        for (; at && strcmp(t->slot[order[at - 1]].name, t->slot[i].name) > 0; at--)
            order[at] = order[at - 1];
        order[at] = (uint16_t)i;
    }
}

static int write_identity(struct args *a, const struct table *t, const size_t from[], const size_t upto[],
                          struct fail *why) {
    AUTO_BUF struct buf parts = BUF_INIT, dflt = BUF_INIT;
    size_t part[ARGS_SLOTS + 1] = {0}; /* slot i: from part[i] to part[i + 1]; empty: it has no part */
    uint16_t order[ARGS_SLOTS];
    int rc;
    for (size_t i = 0; i < t->count; i++) {
        struct args_slot slot = slot_of(t, i);
        buf_reset(&dflt);
        rc = t->seen[i] ? TL_OK : args_default(&slot, &dflt, why);
        struct tl_span value =
            t->seen[i] ? (struct tl_span){a->payload.data + from[i], upto[i] - from[i]} : buf_span(&dflt);
        if (!rc)
            rc = write_part(a, &slot, value, t->seen[i], &parts, why);
        if (rc && rc != TL_NOTFOUND)
            return rc;
        part[i + 1] = parts.len;
    }
    sort_names(t, order);
    bool first = true;
    buf_char(&a->identity, '{');
    for (size_t n = 0; n < t->count; n++) {
        size_t i = order[n];
        if (part[i] == part[i + 1] || (t->slot[i].flags & TL_HINT))
            continue;
        buf_text(&a->identity, first ? "\"" : ",\"");
        first = false;
        buf_text(&a->identity, t->slot[i].name);
        buf_lit(&a->identity, "\":");
        buf_add(&a->identity, parts.data + part[i], part[i + 1] - part[i]);
    }
    buf_char(&a->identity, '}');
    return TL_OK;
}

static void make_digest(struct args *a, const char *collector) {
    static struct hash *h;
    if (!h)
        h = hash_new();
    hash_start(h);
    hash_add(h, collector, strlen(collector) + 1);
    struct sha256 sum = hash_peek(h, a->identity.data, a->identity.len);
    _Static_assert((int)STORE_DIGEST <= (int)SHA256_BYTES, "a digest is the head of a SHA-256");
    memcpy(a->digest, sum.byte, STORE_DIGEST);
}

int args_check(const struct plugin *p, struct tl_span given, bool yaml, struct args *out, struct fail *why) {
    struct table t;
    size_t from[ARGS_SLOTS], upto[ARGS_SLOTS];
    buf_reset(&out->payload);
    buf_reset(&out->identity);
    buf_reset(&out->url);
    buf_reset(&out->hosts);
    out->host_count = 0;
    AUTO_BUF struct buf whole = {.max = ARGS_MAX};
    int rc = p->apis ? config_apis_apply(p->apis, p, given, &whole, why) : TL_OK;
    if (!rc)
        rc = table_start(&t, p, false, p->apis ? buf_span(&whole) : given, why);
    if (!rc)
        rc = write_payload(&t, yaml, &out->payload, from, upto, why);
    if (!rc)
        rc = write_identity(out, &t, from, upto, why);
    if (!rc)
        make_digest(out, p->name);
    return rc;
}

int args_check_options(const struct plugin *p, struct tl_span given, bool yaml, struct buf *payload, struct fail *why) {
    struct table t;
    size_t from[ARGS_SLOTS], upto[ARGS_SLOTS];
    buf_reset(payload);
    int rc = table_start(&t, p, true, given, why);
    return rc ? rc : write_payload(&t, yaml, payload, from, upto, why);
}

/* ---- objects of arguments */

static void add_member(struct buf *out, const struct tl_json *key, struct tl_span value) {
    if (out->data[out->len - 1] != '{')
        buf_char(out, ',');
    buf_add(out, key->key.ptr, key->key.len);
    buf_char(out, ':');
    buf_add(out, value.ptr, value.len);
}

/* The members of two objects are compared by their unescaped names; both are small. */
static int same_key(const struct tl_json *object, const struct tl_json *member, struct tl_json *found) {
    AUTO_BUF struct buf name = BUF_INIT;
    int rc = json_key(member, &name);
    if (rc || (name.len && memchr(name.data, '\0', name.len)))
        return TL_NOTFOUND;
    return json_get(object, name.data ? name.data : "", found);
}

int args_merge(struct buf *out, struct tl_span base, struct tl_span over) {
    struct tl_json b, o, value, member = {0};
    buf_reset(out);
    if (base.len > ARGS_MAX || over.len > ARGS_MAX || json_parse(base.len ? base : span_of("{}"), &b) ||
        json_parse(over.len ? over : span_of("{}"), &o) || b.type != TL_JSON_OBJECT || o.type != TL_JSON_OBJECT)
        return TL_INVALID;
    buf_char(out, '{');
    size_t members = 0;
    while (json_next(&b, &member) == TL_OK) {
        if (++members > ARGS_SLOTS)
            return TL_INVALID;
        add_member(out, &member, same_key(&o, &member, &value) == TL_OK ? value.raw : member.raw);
    }
    member = (struct tl_json){0};
    while (json_next(&o, &member) == TL_OK) {
        if (++members > 2 * ARGS_SLOTS)
            return TL_INVALID;
        if (same_key(&b, &member, &value) != TL_OK)
            add_member(out, &member, member.raw);
    }
    buf_char(out, '}');
    return out->full ? TL_FAILED : TL_OK;
}

static int write_child_value(struct json_writer *w, const struct tl_value *v) {
    struct tl_json json;
    switch (v->type) {
    case TL_INT:
        json_member_int(w, v->name, v->number);
        return TL_OK;
    case TL_BOOL:
        json_member_bool(w, v->name, v->number != 0);
        return TL_OK;
    case TL_BYTES:
    case TL_MILLIS:
        if (v->text)
            json_member_string(w, v->name, v->text);
        else
            json_member_int(w, v->name, v->number);
        return TL_OK;
    case TL_JSON:
        if (!v->text)
            return TL_OK;
        if (json_parse(span_of(v->text), &json))
            return TL_INVALID;
        json_member_raw(w, v->name, json.raw);
        return TL_OK;
    case TL_TEXT:
    case TL_URL:
    case TL_SECRET:
        if (v->text)
            json_member_string(w, v->name, v->text);
        return TL_OK;
    }
    return TL_INVALID;
}

int args_of_child(struct buf *out, const struct tl_child *child) {
    struct tl_json root;
    buf_reset(out);
    if (child->struct_size < offsetof(struct tl_child, leash_json) || (child->arg_count && child->args_json) ||
        (child->arg_count && !child->args) || child->arg_count > ARGS_SLOTS)
        return TL_INVALID;
    if (child->args_json) {
        if (json_parse(span_of(child->args_json), &root) || root.type != TL_JSON_OBJECT || root.raw.len > ARGS_MAX)
            return TL_INVALID;
        buf_add(out, root.raw.ptr, root.raw.len);
        return out->full ? TL_FAILED : TL_OK;
    }
    struct json_writer w = JSON_WRITER(out);
    json_object_begin(&w);
    for (size_t i = 0; i < child->arg_count; i++)
        if (!child->args[i].name || write_child_value(&w, &child->args[i]))
            return TL_INVALID;
    json_object_end(&w);
    return out->full ? TL_FAILED : out->len > ARGS_MAX ? TL_INVALID : TL_OK;
}
