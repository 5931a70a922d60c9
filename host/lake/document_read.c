/* document_read.c - reading a stored result document (result_v1): its data elements, and whether it is whole.
 *
 * Invariant: the document comes from a disk and may be damaged or made by someone else; it is read with the strict
 * tokenizer only, and what document_check lets pass has every key that others rely on, in its order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/times.h"
#include "lake/lake.h"

/* ---- shapes ---- */

/* A member that an object must have at this place; the types are letters: s string, n null, o object, a array, i
 * integer, b bool, * any */
struct member {
    const char *name, *types;
};
enum { MEMBERS_MAX = 20 };

static bool type_is(const struct tl_json *value, const char *types) {
    static const char letter[] = {[TL_JSON_NULL] = 'n',   [TL_JSON_BOOL] = 'b',  [TL_JSON_NUMBER] = 'i',
                                  [TL_JSON_STRING] = 's', [TL_JSON_ARRAY] = 'a', [TL_JSON_OBJECT] = 'o'};
    int64_t n;
    if (*types != '*' && !strchr(types, letter[value->type]))
        return false;
    return *types == '*' || value->type != TL_JSON_NUMBER || (json_int(value, &n) == TL_OK && n >= 0);
}

/* Reads the members of `object` in order into found[]; every one of `want` must be there, and nothing else. Returns
 * NULL, or the name of the first that is missing, misplaced or of a wrong type. `optional` may stand before the last
 * one; found[count] is it. */
static const char *read_members(const struct tl_json *object, const struct member *want, size_t count,
                                const struct member *optional, struct tl_json *found) {
    struct tl_json at = {0};
    found[count] = (struct tl_json){0};
    if (object->type != TL_JSON_OBJECT)
        return want[0].name;
    for (size_t i = 0; i < count; i++) {
        if (json_next(object, &at))
            return want[i].name;
        if (optional && i == count - 1 && json_key_is(&at, optional->name)) {
            found[count] = at;
            if (!type_is(&at, optional->types) || json_next(object, &at))
                return optional->name;
        }
        if (!json_key_is(&at, want[i].name) || !type_is(&at, want[i].types))
            return want[i].name;
        found[i] = at;
    }
    return json_next(object, &at) == TL_NOTFOUND ? NULL : "a key that does not belong there";
}

static bool text_is(const struct tl_json *string, const char *text) {
    return string->type == TL_JSON_STRING && string->raw.len == strlen(text) + 2 &&
           memcmp(string->raw.ptr + 1, text, string->raw.len - 2) == 0;
}

/* ---- elements ---- */

struct each {
    int (*each)(void *ctx, const struct document_part *part);
    void *ctx;
};

/* `data` with the white space around it reaches from the colon to what follows: a comma or the end of the object. */
static int call(const struct each *e, struct document_part *part) {
    if (json_get(&part->element, "data", &part->data))
        return TL_INVALID;
    const char *from = part->data.key.ptr + part->data.key.len, *to = part->data.raw.ptr + part->data.raw.len;
    const char *end = part->element.raw.ptr + part->element.raw.len - 1;
    while (*from != ':')
        from++;
    from++;
    while (to < end && *to != ',')
        to++;
    part->outer = (struct tl_span){from, (size_t)(to - from)};
    return e->each(e->ctx, part);
}

static int each_element(const struct each *e, const struct tl_json *dataset) {
    struct tl_json type, list, at = {0};
    if (json_get(dataset, "type", &type))
        return TL_INVALID;
    struct document_part part = {.kind = TL_SIMPLE, .dataset = *dataset, .element = *dataset};
    if (text_is(&type, "SIMPLE"))
        return call(e, &part);
    bool paged = text_is(&type, "PAGED");
    if (!paged && !text_is(&type, "KEY_VALUE"))
        return TL_INVALID;
    part.kind = paged ? TL_PAGED : TL_KEY_VALUE;
    if (json_get(dataset, paged ? "pages" : "key_values", &list) || list.type != TL_JSON_OBJECT)
        return TL_INVALID;
    int rc;
    while ((rc = json_next(&list, &at)) == TL_OK) {
        part.element = at;
        rc = call(e, &part);
        if (rc)
            return rc;
        part.number++;
    }
    return rc == TL_NOTFOUND ? TL_OK : rc;
}

int document_each(struct tl_span file, int (*each)(void *ctx, const struct document_part *part), void *ctx) {
    struct tl_json root, datasets, at = {0};
    struct each e = {each, ctx};
    if (json_parse(file, &root) || json_get(&root, "datasets", &datasets) || datasets.type != TL_JSON_ARRAY)
        return TL_INVALID;
    int rc;
    while ((rc = json_next(&datasets, &at)) == TL_OK) {
        rc = each_element(&e, &at);
        if (rc)
            return rc > 0 ? TL_OK : rc;
    }
    return rc == TL_NOTFOUND ? TL_OK : rc;
}

int document_bytes(const struct document_part *part, struct buf *out) {
    struct tl_json encoding, metadata, charset;
    if (json_get(&part->element, "encoding", &encoding))
        return TL_INVALID;
    if (text_is(&encoding, "attachment"))
        return TL_NOTFOUND;
    if (text_is(&encoding, "json")) {
        buf_add(out, part->outer.ptr, part->outer.len);
        return out->full ? TL_FAILED : TL_OK;
    }
    if (text_is(&encoding, "text")) {
        if (json_get(&part->element, "metadata", &metadata) || json_get(&metadata, "charset", &charset) ||
            charset.type != TL_JSON_STRING)
            return TL_INVALID;
        int rc = json_text(&part->data, out);
        return rc ? rc : text_is(&charset, "utf-8") ? TL_OK : TL_UNSUPPORTED;
    }
    if (!text_is(&encoding, "base64") || part->data.type != TL_JSON_STRING)
        return TL_INVALID;
    return hash_unbase64(out, (struct tl_span){part->data.raw.ptr + 1, part->data.raw.len - 2});
}

/* ---- checking ---- */

struct check {
    struct buf bytes; /* of one element */
    struct fail *why;
    struct tl_span file;
};

#define DAMAGED(c, ...) fail_exit((c)->why, TL_INVALID, EXIT_DAMAGED, __VA_ARGS__)

static bool is_time(const struct tl_json *string, int64_t *us) {
    char text[TIME_TEXT];
    struct tl_span inside = {string->raw.ptr + 1, string->raw.len - 2};
    return time_parse(inside, us) == TL_OK && span_eq(inside, time_text(*us, text));
}

static bool is_sha256(const struct tl_json *string, struct sha256 *sum) {
    return hash_unhex((struct tl_span){string->raw.ptr + 1, string->raw.len - 2}, sum->byte, SHA256_BYTES) == TL_OK;
}

static int check_bytes(struct check *c, const struct document_part *part, const struct tl_json *bytes,
                       const struct sha256 *sum) {
    int64_t length = 0;
    json_int(bytes, &length);
    buf_reset(&c->bytes);
    int rc = document_bytes(part, &c->bytes);
    if (rc == TL_UNSUPPORTED || rc == TL_NOTFOUND)
        return TL_OK;
    if (rc)
        return DAMAGED(c, "an element's data cannot be read");
    if ((int64_t)c->bytes.len != length)
        return DAMAGED(c, "an element has %zu bytes where its document says %lld", c->bytes.len, (long long)length);
    struct sha256 real = hash_sha256(buf_span(&c->bytes).ptr, c->bytes.len);
    return memcmp(&real, sum, sizeof real) ? DAMAGED(c, "an element's SHA-256 is not that of its data") : TL_OK;
}

/* The last seven members of an element, the same for every kind. */
#define DATA_MEMBERS                                                                                                   \
    {"metadata", "o"}, {"data_url", "sn"}, {"media_type", "sn"}, {"encoding", "s"}, {"bytes", "i"}, {"sha256", "s"}, { \
        "data", "*"                                                                                                    \
    }
enum { DATA_COUNT = 7 };
static const struct member simple[] = {{"id", "s"}, {"name", "s"}, {"type", "s"}, {"tags", "a"}, DATA_MEMBERS};
static const struct member page[] = {{"id", "s"}, {"page_number", "i"}, DATA_MEMBERS};
static const struct member pair[] = {{"id", "s"}, {"key", "s"}, DATA_MEMBERS};
static const struct {
    const struct member *want;
    size_t count;
} element_shape[] = {[TL_SIMPLE] = {simple, 4 + DATA_COUNT},
                     [TL_PAGED] = {page, 2 + DATA_COUNT},
                     [TL_KEY_VALUE] = {pair, 2 + DATA_COUNT}};

/* The members of an element: those of its kind, an attachment's name, and what it says of entities. */
static const char *read_element(const struct document_part *part, struct tl_json *found) {
    static const struct member more[] = {{"attachment", "s"}, {"_metadata", "o"}, {"_entities", "a"}};
    struct member want[MEMBERS_MAX];
    struct tl_json value;
    size_t count = element_shape[part->kind].count;
    bool attached = json_get(&part->element, "encoding", &value) == TL_OK && text_is(&value, "attachment");
    memcpy(want, element_shape[part->kind].want, count * sizeof *want);
    for (size_t i = 0; i < COUNT_OF(more); i++)
        if (i == 0 ? attached : json_get(&part->element, more[i].name, &value) == TL_OK)
            want[count++] = more[i];
    return read_members(&part->element, want, count, NULL, found);
}

static int check_element(void *ctx, const struct document_part *part) {
    struct check *c = ctx;
    struct tl_json found[MEMBERS_MAX], encoding;
    bool attached = json_get(&part->element, "encoding", &encoding) == TL_OK && text_is(&encoding, "attachment");
    size_t count = element_shape[part->kind].count;
    const char *wrong = read_element(part, found);
    if (wrong)
        return DAMAGED(c, "an element has no proper \"%s\" where it belongs", wrong);
    const struct tl_json *data = &found[count - DATA_COUNT];
    struct sha256 sum;
    if (!is_sha256(&data[5], &sum))
        return DAMAGED(c, "an element's sha256 is none");
    if (attached && part->data.type != TL_JSON_NULL)
        return DAMAGED(c, "an attachment has data in its document as well");
    if (part->kind != TL_SIMPLE) {
        struct tl_span name = part->element.key, id = found[0].raw;
        if (name.len != id.len || memcmp(name.ptr, id.ptr, id.len) != 0)
            return DAMAGED(c, "an element stands under another name than its id");
    }
    return check_bytes(c, part, &data[4], &sum);
}

/* A page or pair, as its dataset's object has it. */
struct entry {
    struct tl_span id; /* as written, with quotes */
    int64_t number;
};

static int compare_ids(const void *left, const void *right) {
    const struct tl_span *a = &((const struct entry *)left)->id, *b = &((const struct entry *)right)->id;
    int order = memcmp(a->ptr, b->ptr, a->len < b->len ? a->len : b->len);
    return order ? order : (a->len > b->len) - (a->len < b->len);
}

static int compare_numbers(const void *left, const void *right) {
    int64_t a = ((const struct entry *)left)->number, b = ((const struct entry *)right)->number;
    return (a > b) - (a < b);
}

/* pages_by_number names every page once, in the order of the numbers from 1; `entries` are sorted by number. */
static int check_numbers(struct check *c, const struct tl_json *metadata, const struct entry *entries, size_t count) {
    struct tl_json numbers, at = {0};
    size_t n = 0;
    if (json_get(metadata, "pages_by_number", &numbers) || numbers.type != TL_JSON_OBJECT)
        return DAMAGED(c, "a PAGED dataset has no pages_by_number");
    for (; json_next(&numbers, &at) == TL_OK; n++) {
        char text[24];
        snprintf(text, sizeof text, "%zu", n + 1);
        if (n >= count || entries[n].number != (int64_t)n + 1 || !json_key_is(&at, text) ||
            compare_ids(&(struct entry){.id = at.raw}, &entries[n]) != 0)
            return DAMAGED(c, "page %zu of pages_by_number is not among the pages", n + 1);
    }
    return n == count ? TL_OK : DAMAGED(c, "pages_by_number has %zu of %zu pages", n, count);
}

static int check_list(struct check *c, const struct tl_json *metadata, const struct tl_json *list, bool paged) {
    AUTO_FREE struct entry *entries = NULL;
    size_t count = 0, room = 0;
    struct tl_json at = {0}, number;
    while (json_next(list, &at) == TL_OK) {
        MEM_GROW(entries, count, room);
        entries[count] = (struct entry){.id = at.key};
        if (paged && (json_get(&at, "page_number", &number) || json_int(&number, &entries[count].number)))
            return DAMAGED(c, "a page has no proper \"page_number\"");
        count++;
    }
    if (count)
        qsort(entries, count, sizeof *entries, compare_ids);
    for (size_t i = 1; i < count; i++)
        if (compare_ids(&entries[i - 1], &entries[i]) == 0)
            return DAMAGED(c, "an id is there twice in a dataset");
    if (!paged)
        return TL_OK;
    if (count)
        qsort(entries, count, sizeof *entries, compare_numbers);
    return check_numbers(c, metadata, entries, count);
}

static int check_dataset(struct check *c, const struct tl_json *dataset) {
    static const struct member paged[] = {{"id", "s"},   {"name", "s"},     {"type", "s"},
                                          {"tags", "a"}, {"metadata", "o"}, {"pages", "o"}};
    static const struct member pairs[] = {{"id", "s"},   {"name", "s"},     {"type", "s"},
                                          {"tags", "a"}, {"metadata", "o"}, {"key_values", "o"}};
    struct tl_json type, found[MEMBERS_MAX];
    if (json_get(dataset, "type", &type))
        return DAMAGED(c, "a dataset has no type");
    if (text_is(&type, "SIMPLE"))
        return TL_OK; /* it is its own element */
    bool is_paged = text_is(&type, "PAGED");
    if (!is_paged && !text_is(&type, "KEY_VALUE"))
        return DAMAGED(c, "a dataset has an unknown type");
    const char *wrong = read_members(dataset, is_paged ? paged : pairs, COUNT_OF(paged), NULL, found);
    if (wrong)
        return DAMAGED(c, "a dataset has no proper \"%s\" where it belongs", wrong);
    return check_list(c, &found[4], &found[5], is_paged);
}

enum {
    SCHEMA,
    RESULT_ID,
    RUN_ID,
    LINEAGE,
    COLLECTOR,
    TARGET,
    CONTEXT_NAME,
    RESULT_NAME,
    RUN_CONTEXT,
    PAYLOAD,
    LEASH,
    STATUS,
    ERROR,
    STARTED,
    FINISHED,
    DATASETS,
    CHECKSUM,
    KEYS
};
static const struct member document_keys[KEYS] = {
    [SCHEMA] = {"schema_version", "s"},
    [RESULT_ID] = {"result_id", "s"},
    [RUN_ID] = {"run_id", "s"},
    [LINEAGE] = {"lineage", "o"},
    [COLLECTOR] = {"collector", "o"},
    [TARGET] = {"target", "o"},
    [CONTEXT_NAME] = {"result_context_name", "s"},
    [RESULT_NAME] = {"result_name", "s"},
    [RUN_CONTEXT] = {"run_context", "*"},
    [PAYLOAD] = {"payload", "*"},
    [LEASH] = {"leash", "*"},
    [STATUS] = {"status", "s"},
    [ERROR] = {"error", "on"},
    [STARTED] = {"started_at", "s"},
    [FINISHED] = {"finished_at", "s"},
    [DATASETS] = {"datasets", "a"},
    [CHECKSUM] = {"checksum", "s"},
};
static const struct member attachments_key = {"attachments", "a"};

static int check_parts(struct check *c, const struct tl_json *found) {
    static const struct member lineage[] = {{"root_id", "s"}, {"parent_id", "sn"}, {"depth", "i"}, {"path", "a"}};
    static const struct member collector[] = {{"name", "s"}, {"version", "s"}};
    static const struct member target[] = {{"org", "sn"}, {"project", "sn"}, {"name", "sn"}};
    struct tl_json parts[MEMBERS_MAX];
    const char *wrong = read_members(&found[LINEAGE], lineage, COUNT_OF(lineage), NULL, parts);
    wrong = wrong ? wrong : read_members(&found[COLLECTOR], collector, COUNT_OF(collector), NULL, parts);
    wrong = wrong ? wrong : read_members(&found[TARGET], target, COUNT_OF(target), NULL, parts);
    if (wrong)
        return DAMAGED(c, "lineage, collector or target has no proper \"%s\" where it belongs", wrong);
    bool success = text_is(&found[STATUS], "success"), failed = text_is(&found[STATUS], "failed");
    if (!success && !failed && !text_is(&found[STATUS], "partial"))
        return DAMAGED(c, "the status is unknown");
    if ((success && found[ERROR].type != TL_JSON_NULL) || (failed && found[ERROR].type != TL_JSON_OBJECT))
        return DAMAGED(c, "status and error do not agree");
    int64_t started = 0, finished = 0;
    if (!is_time(&found[STARTED], &started) || !is_time(&found[FINISHED], &finished) || started > finished)
        return DAMAGED(c, "started_at and finished_at are no two times in order");
    return TL_OK;
}

/* The file ends with ,"checksum":"sha256:HEX"} and HEX is that of the bytes before it and a brace. */
static int check_seal(struct check *c) {
    static const char head[] = ",\"checksum\":\"sha256:";
    char tail[sizeof head + SHA256_HEX + 2];
    size_t length = sizeof head - 1 + SHA256_HEX - 1 + 2;
    if (c->file.len < length)
        return DAMAGED(c, "the document is too short");
    struct hash *h = hash_new();
    hash_add(h, c->file.ptr, c->file.len - length);
    struct sha256 sum = hash_peek(h, "}", 1);
    hash_free(h);
    char hex[SHA256_HEX];
    snprintf(tail, sizeof tail, "%s%s\"}", head, hash_hex(sum.byte, SHA256_BYTES, hex));
    return memcmp(tail, c->file.ptr + c->file.len - length, length)
               ? DAMAGED(c, "the checksum is not that of the bytes before it (they give sha256:%s)", hex)
               : TL_OK;
}

static int check_all(struct check *c) {
    struct tl_json root, found[MEMBERS_MAX], at = {0};
    size_t where;
    if (json_valid(c->file, &where))
        return DAMAGED(c, "no strict JSON: wrong at byte %zu of %zu", where, c->file.len);
    json_parse(c->file, &root);
    const char *wrong = read_members(&root, document_keys, KEYS, &attachments_key, found);
    if (wrong)
        return DAMAGED(c, "no result_v1: no proper \"%s\" where it belongs", wrong);
    if (!text_is(&found[SCHEMA], "result_v1"))
        return DAMAGED(c, "the schema_version is not result_v1");
    int rc = check_seal(c);
    rc = rc ? rc : check_parts(c, found);
    while (!rc && json_next(&found[DATASETS], &at) == TL_OK)
        rc = check_dataset(c, &at);
    return rc ? rc : document_each(c->file, check_element, c);
}

int document_check(struct tl_span file, struct fail *why) {
    struct fail reason = FAIL_INIT;
    struct check c = {.why = &reason, .file = file};
    int rc = check_all(&c);
    if (rc && !reason.status)
        rc = DAMAGED(&c, "the datasets cannot be read");
    if (rc && why)
        *why = reason;
    buf_free(&c.bytes);
    return rc;
}
