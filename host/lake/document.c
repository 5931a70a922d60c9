/* document.c - writing a result document (result_v1): one pass over what was collected, into one buffer.
 *
 * Invariant: what comes out is valid JSON in UTF-8, at most JSON_DEPTH deep, with its keys in the order of the
 * contract, and from the `data` of every element its original bytes can be got back. What cannot be written so is
 * refused (TL_INVALID) and nothing is appended. The bytes of an element go through SHA-256 once, the document's once:
 * its checksum and the file's digest share one run. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/times.h"
#include "base/utf8.h"
#include "lake/lake.h"

enum encoding { AS_JSON, AS_TEXT, AS_CHARSET, AS_BASE64, AS_ATTACHMENT };
static const char *const encoding_name[] = {"json", "text", "text", "base64", "attachment"};
static const char *const kind_name[] = {[TL_SIMPLE] = "SIMPLE", [TL_PAGED] = "PAGED", [TL_KEY_VALUE] = "KEY_VALUE"};

/* Levels that the document puts around what is spliced in: document, datasets, dataset, pages, page, metadata. */
enum { LEVELS_AROUND = 6, SPLICE_DEPTH = JSON_DEPTH - LEVELS_AROUND };

/* What is written of one element, as its summary wants it. */
struct written {
    enum encoding encoding;
    int64_t bytes;
    struct sha256 sha256;
};

struct writing {
    struct buf *out;
    struct hash *hash;
    int64_t data_bytes;
};

/* ---- what may be spliced ---- */

static const char *string_end(const char *quote, const char *end) {
    for (const char *at = quote; (at = memchr(at + 1, '"', (size_t)(end - at - 1))) != NULL;) {
        const char *slash = at;
        while (slash[-1] == '\\')
            slash--;
        if ((at - slash) % 2 == 0)
            return at;
    }
    return end;
}

static size_t count_up_to(struct tl_span text, char c, size_t most) {
    const char *at = text.ptr, *end = at + text.len;
    size_t n = 0;
    while (n < most && (at = memchr(at, c, (size_t)(end - at))) != NULL) {
        at++;
        n++;
    }
    return n;
}

/* Is valid JSON shallow enough? With few brackets it must be; only else are they matched. */
static bool is_shallow(struct tl_span json) {
    const char *end = json.ptr + json.len;
    int depth = 0;
    if (count_up_to(json, '{', SPLICE_DEPTH + 1) + count_up_to(json, '[', SPLICE_DEPTH + 1) <= SPLICE_DEPTH)
        return true;
    for (const char *at = json.ptr; at < end; at++) {
        if (*at == '"')
            at = string_end(at, end);
        else if (*at == '{' || *at == '[') {
            if (++depth > SPLICE_DEPTH)
                return false;
        } else if (*at == '}' || *at == ']')
            depth--;
    }
    return true;
}

static bool can_splice(struct tl_span json) {
    return json_valid(json, NULL) == TL_OK && is_shallow(json);
}

/* ---- parts ---- */

static void put_text(struct buf *out, const char *text) {
    struct json_writer w = JSON_WRITER(out);
    json_put_text(&w, text);
}

/* `text` may be NULL: null. The key is a literal that needs no escape. */
#define PUT_TEXT(out, key, text) (buf_lit((out), "\"" key "\":"), put_text((out), (text)))

static int put_json(struct buf *out, struct tl_span json) {
    if (!json.len)
        buf_lit(out, "null");
    else if (can_splice(json))
        buf_add(out, json.ptr, json.len);
    else
        return TL_INVALID;
    return TL_OK;
}

static void put_hex(struct buf *out, const struct sha256 *sum) {
    char hex[SHA256_HEX];
    buf_add(out, hash_hex(sum->byte, SHA256_BYTES, hex), SHA256_HEX - 1);
}

static void put_comma(struct buf *out, bool *comma) {
    if (*comma)
        buf_char(out, ',');
    *comma = true;
}

/* The members of an object, without the names that are ours. */
static int put_members(struct buf *out, bool *comma, struct tl_span object) {
    static const char *const ours[] = {"http", "charset", "pages_by_number"};
    struct tl_json root, at = {0};
    if (!object.len)
        return TL_OK;
    if (json_parse(object, &root) || root.type != TL_JSON_OBJECT || !is_shallow(root.raw))
        return TL_INVALID;
    while (json_next(&root, &at) == TL_OK) {
        bool mine = false;
        for (size_t i = 0; i < COUNT_OF(ours) && !mine; i++)
            mine = json_key_is(&at, ours[i]);
        if (mine)
            continue;
        put_comma(out, comma);
        buf_add(out, at.key.ptr, at.key.len);
        buf_char(out, ':');
        buf_add(out, at.raw.ptr, at.raw.len);
    }
    return TL_OK;
}

static int put_element_metadata(struct buf *out, const struct document_element *e, enum encoding encoding,
                                struct tl_span more) {
    bool comma = false;
    struct tl_json http;
    buf_char(out, '{');
    if (e->http.len) {
        if (json_parse(e->http, &http) || http.type != TL_JSON_OBJECT || !is_shallow(http.raw))
            return TL_INVALID;
        put_comma(out, &comma);
        buf_lit(out, "\"http\":");
        buf_add(out, http.raw.ptr, http.raw.len);
    }
    if (encoding == AS_TEXT || encoding == AS_CHARSET) {
        put_comma(out, &comma);
        PUT_TEXT(out, "charset", encoding == AS_TEXT ? "utf-8" : e->charset);
    }
    int rc = put_members(out, &comma, more);
    rc = rc ? rc : put_members(out, &comma, e->metadata);
    buf_char(out, '}');
    return rc;
}

/* ---- an element's data ---- */

/* Text in another charset goes first: UTF-16 and ISO-2022 bytes may be valid UTF-8 as well, and mean something else. */
static enum encoding choose(const struct document_element *e) {
    if (e->attachment)
        return AS_ATTACHMENT;
    if (e->json && ((e->sure && e->data.len) || can_splice(e->data)))
        return AS_JSON;
    if (e->text.len && e->charset && strcmp(e->charset, "utf-8") != 0 && utf8_valid(e->text.ptr, e->text.len))
        return AS_CHARSET;
    return !e->data.len || e->utf8 || utf8_valid(e->data.ptr, e->data.len) ? AS_TEXT : AS_BASE64;
}

static void put_bytes(struct buf *out, const struct document_element *e, enum encoding encoding) {
    if (encoding == AS_JSON) {
        buf_add(out, e->data.ptr, e->data.len);
        return;
    }
    buf_char(out, '"');
    if (encoding == AS_TEXT)
        json_escape(out, e->data.ptr, e->data.len);
    else if (encoding == AS_CHARSET)
        json_escape(out, e->text.ptr, e->text.len);
    else
        hash_base64(out, e->data.ptr, e->data.len);
    buf_char(out, '"');
}

/* What an element says of entities stands behind its data, as its collector wrote it. */
static int put_beside(struct buf *out, const char *key, struct tl_span json, enum tl_json_type type) {
    struct tl_json value;
    if (!json.len)
        return TL_OK;
    if (json_parse(json, &value) || value.type != type || !is_shallow(value.raw))
        return TL_INVALID;
    buf_text(out, key);
    buf_add(out, value.raw.ptr, value.raw.len);
    return TL_OK;
}

/* From "metadata" to the end of the object that is open. */
static int put_element(struct writing *w, const struct document_element *e, struct tl_span more, struct written *done) {
    struct buf *out = w->out;
    done->encoding = choose(e);
    if (e->attachment) {
        done->bytes = e->bytes;
        done->sha256 = e->sha256;
    } else {
        done->bytes = (int64_t)e->data.len;
        hash_start(w->hash);
        hash_add(w->hash, e->data.ptr, e->data.len);
        done->sha256 = hash_end(w->hash);
    }
    w->data_bytes += done->bytes;
    buf_lit(out, "\"metadata\":");
    if (put_element_metadata(out, e, done->encoding, more))
        return TL_INVALID;
    buf_lit(out, ",\"data_url\":");
    put_text(out, e->data_url);
    buf_lit(out, ",\"media_type\":");
    put_text(out, e->media_type);
    buf_lit(out, ",\"encoding\":\"");
    buf_text(out, encoding_name[done->encoding]);
    buf_lit(out, "\",\"bytes\":");
    buf_int(out, done->bytes);
    buf_lit(out, ",\"sha256\":\"");
    put_hex(out, &done->sha256);
    buf_lit(out, "\",\"data\":");
    if (e->attachment) {
        buf_lit(out, "null,");
        PUT_TEXT(out, "attachment", e->attachment);
    } else
        put_bytes(out, e, done->encoding);
    int rc = put_beside(out, ",\"_metadata\":", e->entity, TL_JSON_OBJECT);
    rc = rc ? rc : put_beside(out, ",\"_entities\":", e->entities, TL_JSON_ARRAY);
    buf_char(out, '}');
    return rc;
}

/* ---- datasets ---- */

static int compare_numbers(const void *left, const void *right) {
    const struct document_element *a = *(const struct document_element *const *)left;
    const struct document_element *b = *(const struct document_element *const *)right;
    return (a->page_number > b->page_number) - (a->page_number < b->page_number);
}

static int compare_ids(const void *left, const void *right) {
    const struct document_element *a = *(const struct document_element *const *)left;
    const struct document_element *b = *(const struct document_element *const *)right;
    return strcmp(a->id, b->id);
}

static const struct document_element **sorted(const struct document_dataset *d,
                                              int (*compare)(const void *, const void *)) {
    const struct document_element **list = mem_array(NULL, d->count + 1, sizeof *list);
    for (size_t i = 0; i < d->count; i++)
        list[i] = &d->element[i];
    qsort(list, d->count, sizeof *list, compare);
    return list;
}

/* An id that is there twice would hide the first element from every reader. */
static int check_ids(const struct document_dataset *d) {
    for (size_t i = 0; i < d->count; i++)
        if (!d->element[i].id || (d->kind == TL_KEY_VALUE && !d->element[i].key))
            return TL_INVALID;
    if (d->count < 2)
        return TL_OK;
    AUTO_FREE const struct document_element **by_id = sorted(d, compare_ids);
    for (size_t i = 1; i < d->count; i++)
        if (strcmp(by_id[i - 1]->id, by_id[i]->id) == 0)
            return TL_INVALID;
    return TL_OK;
}

static int put_pages_by_number(struct buf *out, const struct document_dataset *d) {
    AUTO_FREE const struct document_element **by_number = sorted(d, compare_numbers);
    buf_lit(out, "\"pages_by_number\":{");
    for (size_t i = 0; i < d->count; i++) {
        if (by_number[i]->page_number != (int64_t)i + 1)
            return TL_INVALID;
        buf_text(out, i ? ",\"" : "\"");
        buf_int(out, (int64_t)i + 1);
        buf_lit(out, "\":");
        put_text(out, by_number[i]->id);
    }
    buf_char(out, '}');
    return TL_OK;
}

/* PAGED and KEY_VALUE, from "metadata" on. */
static int put_elements(struct writing *w, const struct document_dataset *d, struct written *first,
                        struct written *all) {
    struct buf *out = w->out;
    bool paged = d->kind == TL_PAGED, comma = false;
    int rc = check_ids(d);
    buf_lit(out, "\"metadata\":{");
    if (paged && !rc) {
        put_comma(out, &comma);
        rc = put_pages_by_number(out, d);
    }
    rc = rc ? rc : put_members(out, &comma, d->metadata);
    buf_text(out, paged ? "},\"pages\":{" : "},\"key_values\":{");
    for (size_t i = 0; i < d->count && !rc; i++) {
        const struct document_element *e = &d->element[i];
        struct written done;
        buf_text(out, i ? "," : "");
        put_text(out, e->id);
        buf_lit(out, ":{");
        PUT_TEXT(out, "id", e->id);
        if (paged) {
            buf_lit(out, ",\"page_number\":");
            buf_int(out, e->page_number);
        } else {
            buf_lit(out, ",\"key\":");
            put_text(out, e->key);
        }
        buf_char(out, ',');
        rc = put_element(w, e, (struct tl_span){0}, &done);
        if (!i)
            *first = done;
        all->bytes += done.bytes;
    }
    buf_lit(out, "}}");
    return rc;
}

static void put_tags(struct buf *out, const char *tags) {
    struct json_writer w = JSON_WRITER(out);
    json_array_begin(&w);
    for (const char *at = tags; at && *at;) {
        at += strspn(at, ", \t");
        size_t n = strcspn(at, ",");
        struct tl_span tag = {at, n};
        while (tag.len && (tag.ptr[tag.len - 1] == ' ' || tag.ptr[tag.len - 1] == '\t'))
            tag.len--;
        if (tag.len)
            json_put_string(&w, tag);
        at += n;
    }
    json_array_end(&w);
}

/* The catalog's line about a dataset: what there is to ask without opening the document. */
static void summarise(struct json_writer *s, const struct document_dataset *d, const struct written *first,
                      const struct written *all) {
    char hex[SHA256_HEX];
    json_array_begin(s);
    json_put_text(s, d->name);
    json_put_text(s, kind_name[d->kind]);
    json_put_int(s, (int64_t)d->count);
    json_put_int(s, all->bytes);
    json_put_text(s, d->count ? d->element[0].media_type : NULL);
    json_put_text(s, d->count ? encoding_name[first->encoding] : NULL);
    json_put_text(s, d->count == 1 ? hash_hex(first->sha256.byte, SHA256_BYTES, hex) : NULL);
    json_array_end(s);
}

static int put_dataset(struct writing *w, const struct document_dataset *d, struct json_writer *summary) {
    struct written first = {0}, all = {0};
    struct buf *out = w->out;
    if (!d->id || !d->name || (unsigned)d->kind >= COUNT_OF(kind_name) || (d->kind == TL_SIMPLE && d->count != 1))
        return TL_INVALID;
    buf_char(out, '{');
    PUT_TEXT(out, "id", d->id);
    buf_lit(out, ",\"name\":");
    put_text(out, d->name);
    buf_lit(out, ",\"type\":\"");
    buf_text(out, kind_name[d->kind]);
    buf_lit(out, "\",\"tags\":");
    put_tags(out, d->tags);
    buf_char(out, ',');
    int rc;
    if (d->kind == TL_SIMPLE) {
        rc = put_element(w, &d->element[0], d->metadata, &first);
        all = first;
    } else
        rc = put_elements(w, d, &first, &all);
    if (!rc)
        summarise(summary, d, &first, &all);
    return rc;
}

static void put_attachments(struct buf *out, const struct document *d) {
    for (size_t i = 0; i < d->attachment_count; i++) {
        const struct document_attachment *a = &d->attachment[i];
        buf_text(out, i ? "," : ",\"attachments\":[");
        buf_char(out, '{');
        PUT_TEXT(out, "name", a->name);
        buf_lit(out, ",\"path\":");
        put_text(out, a->path);
        buf_lit(out, ",\"bytes\":");
        buf_int(out, a->bytes);
        buf_lit(out, ",\"sha256\":\"");
        put_hex(out, &a->sha256);
        buf_lit(out, "\",\"media_type\":");
        put_text(out, a->media_type);
        buf_char(out, '}');
    }
    if (d->attachment_count)
        buf_char(out, ']');
}

/* ---- the whole ---- */

static void put_head(struct buf *out, const struct document *d) {
    buf_lit(out, "{\"schema_version\":\"result_v1\",");
    PUT_TEXT(out, "result_id", d->result_id);
    buf_lit(out, ",\"run_id\":");
    put_text(out, d->run_id);
    buf_lit(out, ",\"lineage\":{\"root_id\":");
    put_text(out, d->root_id);
    buf_lit(out, ",\"parent_id\":");
    put_text(out, d->parent_id);
    buf_lit(out, ",\"depth\":");
    buf_int(out, d->depth);
    buf_lit(out, ",\"path\":[");
    for (size_t i = 0; i < d->path_count; i++) {
        buf_text(out, i ? "," : "");
        put_text(out, d->path[i]);
    }
    buf_lit(out, "]},\"collector\":{\"name\":");
    put_text(out, d->collector);
    buf_lit(out, ",\"version\":");
    put_text(out, d->collector_version);
    buf_lit(out, "},\"target\":{\"org\":");
    put_text(out, d->org);
    buf_lit(out, ",\"project\":");
    put_text(out, d->project);
    buf_lit(out, ",\"name\":");
    put_text(out, d->target);
    buf_lit(out, "},\"result_context_name\":");
    put_text(out, d->result_context_name);
    buf_lit(out, ",\"result_name\":");
    put_text(out, d->result_name);
}

static int put_middle(struct buf *out, const struct document *d) {
    char time[TIME_TEXT];
    struct tl_json error;
    buf_lit(out, ",\"run_context\":");
    int rc = put_json(out, d->run_context);
    buf_lit(out, ",\"payload\":");
    rc = rc ? rc : put_json(out, d->payload);
    buf_lit(out, ",\"leash\":");
    rc = rc ? rc : put_json(out, d->leash);
    buf_lit(out, ",\"status\":");
    put_text(out, d->status);
    buf_lit(out, ",\"error\":");
    if (d->error.len && (json_parse(d->error, &error) || error.type != TL_JSON_OBJECT))
        rc = TL_INVALID;
    rc = rc ? rc : put_json(out, d->error);
    buf_lit(out, ",\"started_at\":\"");
    buf_text(out, time_text(d->started_us, time));
    buf_lit(out, "\",\"finished_at\":\"");
    buf_text(out, time_text(d->finished_us, time));
    buf_lit(out, "\",\"datasets\":[");
    return rc;
}

/* Room for nearly every document at once; one that escapes more grows the buffer again. */
static size_t estimate(const struct document *d) {
    size_t sum = 8192 + d->run_context.len + d->payload.len + d->leash.len + d->error.len;
    for (size_t i = 0; i < d->dataset_count; i++)
        for (size_t k = 0; k < d->dataset[i].count; k++) {
            const struct document_element *e = &d->dataset[i].element[k];
            size_t data = e->attachment ? 0 : e->text.len > e->data.len ? e->text.len : e->data.len;
            sum += 1024 + data + data / 3 + e->http.len + e->metadata.len;
        }
    return sum < BUF_MAX / 4 ? sum : 0;
}

static void seal(struct buf *out, size_t start, struct hash *hash, struct sha256 *sum) {
    hash_start(hash);
    hash_add(hash, out->data + start, out->len - start);
    struct sha256 checksum = hash_peek(hash, "}", 1);
    size_t tail = out->len;
    buf_lit(out, ",\"checksum\":\"sha256:");
    put_hex(out, &checksum);
    buf_lit(out, "\"}");
    hash_add(hash, out->data + tail, out->len - tail);
    *sum = hash_end(hash);
}

int document_write(struct buf *out, const struct document *d, struct hash *hash, struct document_sums *sums,
                   struct buf *summary) {
    struct writing w = {.out = out, .hash = hash};
    struct json_writer s = JSON_WRITER(summary);
    size_t start = out->len, summary_start = summary->len, room = estimate(d);
    if (room < (out->max ? out->max : BUF_MAX) - out->len)
        buf_reserve(out, room);
    bool ok = d->result_id && d->run_id && d->root_id && d->collector && d->collector_version &&
              d->result_context_name && d->result_name && d->status && d->depth >= 0 && (d->path || !d->path_count) &&
              !d->parent_id == !d->path_count;
    int rc = ok ? TL_OK : TL_INVALID;
    if (!rc) {
        put_head(out, d);
        rc = put_middle(out, d);
    }
    json_array_begin(&s);
    for (size_t i = 0; i < d->dataset_count && !rc; i++) {
        buf_text(out, i ? "," : "");
        rc = put_dataset(&w, &d->dataset[i], &s);
    }
    json_array_end(&s);
    if (!rc) {
        buf_char(out, ']');
        put_attachments(out, d);
        if (!out->full)
            seal(out, start, hash, &sums->sha256);
        rc = out->full || summary->full ? TL_FAILED : TL_OK;
    }
    if (rc) {
        if (out->data)
            out->data[out->len = start] = '\0';
        if (summary->data)
            summary->data[summary->len = summary_start] = '\0';
        return rc;
    }
    sums->bytes = (int64_t)(out->len - start);
    sums->data_bytes = w.data_bytes;
    return TL_OK;
}
