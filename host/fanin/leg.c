/* leg.c - see leg.h. */
#include "fanin/leg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "net/url.h"

#define SOURCE_VERSION "2"
#define SHARD_VERSION  "\"github_shard_v1\""

/* ---- small things ---- */

int leg_compare_spans(struct tl_span a, struct tl_span b) {
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n ? memcmp(a.ptr, b.ptr, n) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

int leg_compare(const struct leg_entry *a, const struct leg_entry *b) {
    int order = leg_compare_spans(a->key, b->key);
    if (!order)
        order = leg_compare_spans(a->published, b->published);
    if (!order)
        order = leg_compare_spans(a->title, b->title);
    return order ? order : leg_compare_spans(a->raw, b->raw);
}

static int compare_entries(const void *left, const void *right) {
    return leg_compare(left, right);
}

void leg_checksum_start(struct leg_checksum *c) {
    *c = (struct leg_checksum){.hash = hash_new()};
    hash_start(c->hash);
}

void leg_checksum_add(struct leg_checksum *c, struct tl_span raw) {
    hash_add(c->hash, c->any ? "," : "[", 1);
    hash_add(c->hash, raw.ptr, raw.len);
    c->any = true;
}

char *leg_checksum_end(struct leg_checksum *c, char out[LEG_CHECKSUM]) {
    hash_add(c->hash, c->any ? "]" : "[]", c->any ? 1 : 2);
    struct sha256 digest = hash_end(c->hash);
    memcpy(out, "sha256:", 7);
    hash_hex(digest.byte, SHA256_BYTES, out + 7);
    hash_free(c->hash);
    return out;
}

static bool is_http(struct tl_span scheme) {
    return span_eq(scheme, "http") || span_eq(scheme, "https");
}

/* The path is taken as it is written, since no two spellings of one are folded; only host and scheme are read as
 * browsers do. */
int leg_url_key(struct tl_span url, struct buf *out) {
    AUTO_BUF struct buf href = BUF_INIT;
    struct url u;
    while (url.len && url.ptr[0] == ' ')
        url = (struct tl_span){url.ptr + 1, url.len - 1};
    while (url.len && url.ptr[url.len - 1] == ' ')
        url.len--;
    if (url_parse(&href, url, NULL, &u) || !is_http(u.scheme) || !u.host.len)
        return TL_INVALID;
    const char *at = memmem(url.ptr, url.len, "://", 3), *end = url.ptr + url.len;
    if (!at || (size_t)(at - url.ptr) != u.scheme.len) /* https:/x and the like */
        return TL_INVALID;
    for (at += 3; at < end && !strchr("/?#\\", *at);)
        at++;
    const char *stop = at;
    while (stop < end && *stop != '?' && *stop != '#')
        stop++;
    buf_add(out, u.scheme.ptr, u.scheme.len);
    buf_lit(out, "://");
    buf_add(out, u.host.ptr, u.host.len);
    if (u.port >= 0)
        buf_printf(out, ":%d", u.port);
    if (at == stop)
        buf_char(out, '/');
    buf_add(out, at, (size_t)(stop - at));
    return TL_OK;
}

/* ---- reading ---- */

struct reading {
    struct leg *leg;
    const struct context *context;
    struct tl_json root;
};

static const char *keep(struct leg *leg, struct tl_span text) {
    return arena_text(&leg->memory, text.ptr, text.len);
}

/* Cuts at a whole character. */
TL_PRINTF(2, 3) static int reject(struct leg *leg, const char *fmt, ...) {
    char text[LEG_REASON];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    utf8_repair(text);
    leg->reason = keep(leg, span_of(text));
    leg->rejected = true;
    leg->count = 0;
    return TL_INVALID;
}

/* A text's member unescaped into the leg's memory; false: not there, or no text. */
static bool text_of(struct leg *leg, const struct tl_json *object, const char *name, struct tl_span *out) {
    AUTO_BUF struct buf text = BUF_INIT;
    struct tl_json member;
    *out = (struct tl_span){"", 0};
    if (json_get(object, name, &member) || member.type != TL_JSON_STRING || json_text(&member, &text))
        return false;
    *out = (struct tl_span){keep(leg, buf_span(&text)), text.len};
    return true;
}

static double number_of(const struct tl_json *object, const char *name, double otherwise) {
    AUTO_BUF struct buf text = BUF_INIT;
    struct tl_json member;
    if (json_get(object, name, &member) || member.type != TL_JSON_NUMBER)
        return otherwise;
    buf_add(&text, member.raw.ptr, member.raw.len);
    return strtod(text.data, NULL);
}

/* What kind it is, and whose. */
static int identify(struct reading *r) {
    struct leg *leg = r->leg;
    struct tl_json version;
    struct tl_span id;
    if (text_of(leg, &r->root, "shard_id", &id))
        leg->kind = LEG_SHARD;
    else if (text_of(leg, &r->root, "source_id", &id))
        leg->kind = LEG_SOURCE;
    else
        return reject(leg, "it has neither a source_id nor a shard_id");
    if (!id.len || strlen(id.ptr) != id.len)
        return reject(leg, "its %s is no name", leg->kind == LEG_SHARD ? "shard_id" : "source_id");
    leg->id = id.ptr;
    const char *expected = leg->kind == LEG_SHARD ? SHARD_VERSION : SOURCE_VERSION;
    if (json_get(&r->root, "schema_version", &version))
        return reject(leg, "schema_version mismatch (expected %s, got none)", expected);
    if (!span_eq(version.raw, expected))
        return reject(leg, "schema_version mismatch (expected %s, got %.*s)", expected,
                      version.raw.len > 40 ? 40 : (int)version.raw.len, version.raw.ptr);
    return TL_OK;
}

static int check_context(struct reading *r) {
    AUTO_BUF struct buf reason = BUF_INIT;
    struct tl_json context;
    if (json_get(&r->root, "run_context", &context))
        return reject(r->leg, "window mismatch (it carries no run_context)");
    return context_compare(r->context, context.raw, &reason) ? reject(r->leg, "%s", reason.data) : TL_OK;
}

static bool read_entry(struct reading *r, const struct tl_json *item, struct leg_entry *e) {
    bool source = r->leg->kind == LEG_SOURCE;
    struct tl_json given;
    struct tl_span of;
    *e = (struct leg_entry){.raw = item->raw, .key = {"", 0}, .published = {"", 0}, .title = {"", 0}};
    if (item->type != TL_JSON_OBJECT || !text_of(r->leg, item, source ? "url" : "full_name", &e->key))
        return false;
    e->score = source ? number_of(item, "relevance_score", 0) : number_of(item, "stars_gained", -1);
    if (!source)
        return e->key.len > 0;
    text_of(r->leg, item, "published", &e->published);
    text_of(r->leg, item, "title", &e->title);
    return json_get(item, "source", &given) == TL_NOTFOUND ||
           (text_of(r->leg, item, "source", &of) && span_eq(of, r->leg->id));
}

static int compare_keyed(const void *left, const void *right) {
    const struct leg_keyed *a = left, *b = right;
    int order = leg_compare_spans(a->key, b->key);
    return order ? order : (a->place > b->place) - (a->place < b->place);
}

void leg_sort(struct leg_keyed *all, size_t n) {
    if (n)
        qsort(all, n, sizeof *all, compare_keyed);
}

/* The leg's own checksum is over all that it carries, sorted by the key alone; what has the same key stays as it came.
 */
static void checksum_of(struct leg_keyed *all, size_t n, char out[LEG_CHECKSUM]) {
    struct leg_checksum sum;
    leg_checksum_start(&sum);
    leg_sort(all, n);
    for (size_t i = 0; i < n; i++)
        leg_checksum_add(&sum, all[i].raw);
    leg_checksum_end(&sum, out);
}

static int check_checksum(struct reading *r, struct leg_keyed *all, size_t n) {
    char actual[LEG_CHECKSUM];
    struct tl_span given;
    if (!text_of(r->leg, &r->root, "checksum", &given))
        return reject(r->leg, "checksum mismatch (it gives none)");
    checksum_of(all, n, actual);
    if (span_eq(given, actual) || span_eq(given, actual + strlen("sha256:")))
        return TL_OK;
    return reject(r->leg, "checksum mismatch (expected %s, got %.80s)", actual, given.ptr);
}

static int read_entries(struct reading *r) {
    struct leg *leg = r->leg;
    const char *name = leg->kind == LEG_SHARD ? "repositories" : "articles";
    struct tl_json list, item = {0};
    size_t room = 0, n = 0, all_room = 0;
    AUTO_FREE struct leg_keyed *all = NULL;
    if (json_get(&r->root, name, &list) || list.type != TL_JSON_ARRAY)
        return reject(leg, "`%s` is no array", name);
    while (json_next(&list, &item) == TL_OK) {
        struct leg_entry e;
        bool good = read_entry(r, &item, &e);
        if (n == LEG_ENTRIES)
            return reject(leg, "`%s` has more than %d entries", name, LEG_ENTRIES);
        MEM_GROW(all, n, all_room);
        all[n] = (struct leg_keyed){e.key, e.raw, n};
        n++;
        if (good) {
            MEM_GROW(leg->entry, leg->count, room);
            leg->entry[leg->count++] = e;
        } else {
            leg->dropped++;
        }
    }
    int rc = check_checksum(r, all, n);
    if (!rc && leg->count)
        qsort(leg->entry, leg->count, sizeof *leg->entry, compare_entries);
    return rc;
}

/* A failed leg says why, as a text or as an object with a message, and carries nothing. */
static int read_failure(struct reading *r) {
    struct leg *leg = r->leg;
    struct tl_json error, list;
    struct tl_span text = {"", 0};
    if (json_get(&r->root, "articles", &list) == TL_OK && !span_eq(list.raw, "[]") && list.type != TL_JSON_NULL)
        return reject(leg, "it says that it failed, but carries articles");
    if (json_get(&r->root, "error", &error) == TL_OK && error.type == TL_JSON_OBJECT)
        text_of(leg, &error, "message", &text);
    else
        text_of(leg, &r->root, "error", &text);
    if (!text.len)
        return reject(leg, "it says that it failed, but not why: `error` has no message");
    char cut[LEG_REASON];
    snprintf(cut, sizeof cut, "%s", text.ptr);
    utf8_repair(cut);
    leg->reason = keep(leg, span_of(cut));
    leg->status = LEG_FAILED;
    return TL_OK;
}

static int read_status(struct reading *r) {
    static const char *const words[] = {"success", "partial", "failed"};
    struct tl_span status;
    text_of(r->leg, &r->root, "status", &status);
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (span_eq(status, words[i])) {
            r->leg->status = (enum leg_status)i;
            return TL_OK;
        }
    return reject(r->leg, "status '%.40s' is none of success, partial, failed", status.ptr);
}

void leg_read(const struct context *context, const char *file, struct tl_span text, struct leg *out) {
    struct reading r = {.leg = out, .context = context};
    *out = (struct leg){.id = ""};
    out->json.max = JSON_PYTHON_MAX + 1;
    out->file = keep(out, span_of(file));
    if (json_python(text, &out->json) || json_parse(buf_span(&out->json), &r.root) || r.root.type != TL_JSON_OBJECT) {
        reject(out,
               "it is no JSON object: cut off, a name twice, a number that no double holds, wrong UTF-8, or over 64 "
               "MiB");
        return;
    }
    if (identify(&r) || check_context(&r))
        return;
    if (out->kind == LEG_SHARD)
        read_entries(&r);
    else if (read_status(&r) == TL_OK)
        out->status == LEG_FAILED ? read_failure(&r) : read_entries(&r);
}

void leg_free(struct leg *leg) {
    free(leg->entry);
    buf_free(&leg->json);
    arena_free(&leg->memory);
    *leg = (struct leg){0};
}
