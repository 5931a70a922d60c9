/* items.c - see items.h. */
#include "convert/items.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/times.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "lake/lake.h"

static const struct column columns[ITEMS_COLUMNS] = {
    [ITEMS_ITEM_ID] = {"item_id", COLUMN_TEXT, false, "of this row: the same whenever its document is converted"},
    [ITEMS_RESULT_ID] = {"result_id", COLUMN_TEXT, false, "of the result document"},
    [ITEMS_RUN_ID] = {"run_id", COLUMN_TEXT, false, "of the run that made it"},
    [ITEMS_ROOT_ID] = {"root_id", COLUMN_TEXT, false, "of the crawl"},
    [ITEMS_PARENT_ID] = {"parent_id", COLUMN_TEXT, false, "of the run that led to it; null: it is the root"},
    [ITEMS_DEPTH] = {"depth", COLUMN_INT, false, "of the run: the root is 0"},
    [ITEMS_LINEAGE_PATH] = {"lineage_path", COLUMN_LIST, false, "run ids from the root to the parent"},
    [ITEMS_COLLECTOR_NAME] = {"collector_name", COLUMN_TEXT, false, "who collected it"},
    [ITEMS_COLLECTOR_VERSION] = {"collector_version", COLUMN_TEXT, false, "and in which version"},
    [ITEMS_ORG] = {"org", COLUMN_TEXT, false, "of the target"},
    [ITEMS_PROJECT] = {"project", COLUMN_TEXT, false, "of the target"},
    [ITEMS_TARGET] = {"target", COLUMN_TEXT, false, "name of the target"},
    [ITEMS_RESULT_CONTEXT_NAME] = {"result_context_name", COLUMN_TEXT, false, "name of the line, else of the crawl"},
    [ITEMS_RESULT_NAME] = {"result_name", COLUMN_TEXT, false, "what the collector calls its result"},
    [ITEMS_DATASET_ID] = {"dataset_id", COLUMN_TEXT, false, "within the document"},
    [ITEMS_DATASET_NAME] = {"dataset_name", COLUMN_TEXT, false, "as the collector declares it"},
    [ITEMS_DATASET_TYPE] = {"dataset_type", COLUMN_TEXT, false, "SIMPLE, PAGED or KEY_VALUE"},
    [ITEMS_DATASET_TAGS] = {"dataset_tags", COLUMN_LIST, false, "as the collector declares them"},
    [ITEMS_DATASET_METADATA] = {"dataset_metadata", COLUMN_TEXT, false, "JSON object"},
    [ITEMS_ELEMENT_KIND] = {"element_kind", COLUMN_TEXT, false, "simple, page or key_value"},
    [ITEMS_ELEMENT_ID] = {"element_id", COLUMN_TEXT, false, "of the page or pair within its dataset"},
    [ITEMS_PAGE_NUMBER] = {"page_number", COLUMN_INT, false, "from 1, of a page"},
    [ITEMS_PAGE_COUNT] = {"page_count", COLUMN_INT, false, "pages of the dataset"},
    [ITEMS_KEY_NAME] = {"key_name", COLUMN_TEXT, false, "key of a pair"},
    [ITEMS_ELEMENT_METADATA] = {"element_metadata", COLUMN_TEXT, false,
                                "JSON object of a page or pair; that of a simple value is dataset_metadata"},
    [ITEMS_DATA_URL] = {"data_url", COLUMN_TEXT, false, "where the bytes came from"},
    [ITEMS_MEDIA_TYPE] = {"media_type", COLUMN_TEXT, false, "of the bytes, without parameters"},
    [ITEMS_ENCODING] = {"encoding", COLUMN_TEXT, false, "of data: json, text, base64, or attachment: data is null"},
    [ITEMS_DATA_BYTES] = {"data_bytes", COLUMN_INT, false, "length of the original bytes"},
    [ITEMS_DATA_SHA256] = {"data_sha256", COLUMN_TEXT, false, "of the original bytes, hex"},
    [ITEMS_COLLECTED_AT] = {"collected_at", COLUMN_TIME, false, "end of the run"},
    [ITEMS_CONVERTED_AT] = {"converted_at", COLUMN_TIME, false, "time of the conversion"},
    [ITEMS_DOCUMENT_PATH] = {"document_path", COLUMN_TEXT, false, "below the lake"},
    [ITEMS_DOCUMENT_SHA256] = {"document_sha256", COLUMN_TEXT, false, "of the document's file, hex"},
    [ITEMS_DATA] = {"data", COLUMN_TEXT, true, "the payload: JSON verbatim, text, or base64 text"},
};
const struct table items_table = {"dataset_items", columns, ITEMS_COLUMNS};

struct items {
    struct items_document doc;
    struct arena shared; /* texts of the document */
    struct arena own;    /* texts of a dataset and its elements */
    struct cell cells[ITEMS_COLUMNS];
    struct buf text, data;
    struct uuid result;
    int64_t collected_us;
    uint64_t count;      /* rows made by items_each */
    const char *dataset; /* raw text of the dataset whose cells are filled in */
    struct items_call {
        int (*row)(void *ctx, const struct cell *cells);
        void *ctx;
        struct fail *why;
    } call;
};

struct items *items_new(void) {
    struct items *x = mem_alloc(sizeof *x);
    return x;
}

void items_free(struct items *x) {
    if (!x)
        return;
    arena_free(&x->shared);
    arena_free(&x->own);
    buf_free(&x->text);
    buf_free(&x->data);
    free(x);
}

/* ---- cells */

static void set_null(struct items *x, enum items_column at) {
    x->cells[at] = (struct cell){.null = true};
}

static void set_text(struct items *x, enum items_column at, struct tl_span text) {
    x->cells[at] = (struct cell){.text = text};
}

static void set_words(struct items *x, enum items_column at, const char *text) {
    if (text)
        set_text(x, at, span_of(text));
    else
        set_null(x, at);
}

static void set_number(struct items *x, enum items_column at, int64_t n) {
    x->cells[at] = (struct cell){.number = n};
}

/* A JSON string unescaped: as it lies in the document when nothing in it is escaped. */
static int text_of(struct items *x, struct arena *memory, const struct tl_json *v, struct tl_span *out) {
    if (v->type != TL_JSON_STRING)
        return TL_INVALID;
    *out = (struct tl_span){v->raw.ptr + 1, v->raw.len - 2};
    if (!memchr(out->ptr, '\\', out->len))
        return TL_OK;
    buf_reset(&x->text);
    int rc = json_text(v, &x->text);
    if (!rc)
        *out = (struct tl_span){arena_text(memory, x->text.data ? x->text.data : "", x->text.len), x->text.len};
    return rc;
}

/* A string, or null. */
static int put_text(struct items *x, struct arena *memory, enum items_column at, const struct tl_json *v) {
    struct tl_span text;
    if (v->type == TL_JSON_NULL) {
        set_null(x, at);
        return TL_OK;
    }
    int rc = text_of(x, memory, v, &text);
    if (!rc)
        set_text(x, at, text);
    return rc;
}

static int put_list(struct items *x, struct arena *memory, enum items_column at, const struct tl_json *v) {
    enum { LIST_MAX = 100000 };
    struct tl_json item = {0};
    size_t count = 0, n = 0;
    while (json_next(v, &item) == TL_OK && count < LIST_MAX)
        count++;
    struct tl_span *items = arena_alloc(memory, (count + 1) * sizeof *items);
    item = (struct tl_json){0};
    while (n < count && json_next(v, &item) == TL_OK) {
        int rc = text_of(x, memory, &item, &items[n++]);
        if (rc)
            return rc;
    }
    x->cells[at] = (struct cell){.list = {items, n}};
    return v->type == TL_JSON_ARRAY ? TL_OK : TL_INVALID;
}

/* Members of an object into cells, by name; those that it does not have stay as they are. */
struct wanted {
    const char *key;
    enum items_column at;
};

static int put_members(struct items *x, struct arena *memory, const struct tl_json *object, const struct wanted *want,
                       size_t count) {
    struct tl_json at = {0};
    int rc = TL_OK;
    while (!rc && json_next(object, &at) == TL_OK)
        for (size_t i = 0; i < count; i++)
            if (json_key_is(&at, want[i].key)) {
                rc = columns[want[i].at].type == COLUMN_LIST  ? put_list(x, memory, want[i].at, &at)
                     : columns[want[i].at].type == COLUMN_INT ? json_int(&at, &x->cells[want[i].at].number)
                                                              : put_text(x, memory, want[i].at, &at);
                if (columns[want[i].at].type == COLUMN_INT)
                    x->cells[want[i].at].null = rc != TL_OK;
                break;
            }
    return rc;
}

/* ---- the document */

static int read_nested(struct items *x, const struct tl_json *at, bool *known) {
    static const struct wanted lineage[] = {{"root_id", ITEMS_ROOT_ID},
                                            {"parent_id", ITEMS_PARENT_ID},
                                            {"depth", ITEMS_DEPTH},
                                            {"path", ITEMS_LINEAGE_PATH}},
                               collector[] = {{"name", ITEMS_COLLECTOR_NAME}, {"version", ITEMS_COLLECTOR_VERSION}},
                               target[] = {{"org", ITEMS_ORG}, {"project", ITEMS_PROJECT}, {"name", ITEMS_TARGET}};
    static const struct {
        const char *key;
        const struct wanted *want;
        size_t count;
    } nested[] = {{"lineage", lineage, COUNT_OF(lineage)},
                  {"collector", collector, COUNT_OF(collector)},
                  {"target", target, COUNT_OF(target)}};
    for (size_t i = 0; i < COUNT_OF(nested); i++)
        if ((*known = json_key_is(at, nested[i].key)))
            return put_members(x, &x->shared, at, nested[i].want, nested[i].count);
    return TL_OK;
}

static int read_document(struct items *x) {
    static const struct wanted own[] = {{"result_id", ITEMS_RESULT_ID},
                                        {"run_id", ITEMS_RUN_ID},
                                        {"result_context_name", ITEMS_RESULT_CONTEXT_NAME},
                                        {"result_name", ITEMS_RESULT_NAME}};
    struct tl_json root, at = {0};
    struct tl_span finished = {"", 0};
    bool known = false;
    int rc = json_parse(x->doc.file, &root);
    while (!rc && json_next(&root, &at) == TL_OK) {
        if (json_key_is(&at, "datasets"))
            break; /* what rows share stands before it */
        if (json_key_is(&at, "finished_at"))
            rc = text_of(x, &x->shared, &at, &finished);
        else
            rc = read_nested(x, &at, &known);
        for (size_t i = 0; !rc && !known && i < COUNT_OF(own); i++)
            if (json_key_is(&at, own[i].key))
                rc = put_text(x, &x->shared, own[i].at, &at);
    }
    if (!rc)
        rc = time_parse(finished, &x->collected_us);
    if (!rc && (x->cells[ITEMS_RESULT_ID].null || uuid_parse(x->cells[ITEMS_RESULT_ID].text, &x->result)))
        rc = TL_INVALID;
    return rc;
}

int items_open(struct items *x, const struct items_document *doc, struct fail *why) {
    arena_free(&x->shared);
    arena_free(&x->own);
    buf_shrink(&x->data, 4 << 20);
    x->doc = *doc;
    x->count = 0;
    x->dataset = NULL;
    for (int i = 0; i < ITEMS_COLUMNS; i++)
        set_null(x, (enum items_column)i);
    if (read_document(x))
        return fail_exit(why, TL_INVALID, EXIT_DAMAGED, "%s is no result document: it cannot be converted", doc->path);
    set_number(x, ITEMS_COLLECTED_AT, x->collected_us);
    set_number(x, ITEMS_CONVERTED_AT, doc->converted_us);
    set_text(x, ITEMS_DOCUMENT_PATH, span_of(doc->path));
    set_text(x, ITEMS_DOCUMENT_SHA256, span_of(doc->sha256));
    return TL_OK;
}

int64_t items_collected_us(const struct items *x) {
    return x->collected_us;
}

/* ---- rows */

/* A UUIDv7 of the time of collection, whose other bits are those of a digest over the result's id and the row's place
 * in it: so the same row has the same id each time. */
static struct uuid item_id(const struct items *x, uint64_t n) {
    uint8_t name[sizeof x->result.byte + sizeof n];
    struct uuid id;
    memcpy(name, x->result.byte, sizeof x->result.byte);
    for (size_t i = 0; i < sizeof n; i++)
        name[sizeof x->result.byte + i] = (uint8_t)(n >> (8 * (sizeof n - 1 - i)));
    struct sha256 sum = hash_sha256(name, sizeof name);
    memcpy(id.byte, sum.byte, sizeof id.byte);
    uint64_t ms = (uint64_t)x->collected_us / 1000;
    for (int i = 0; i < 6; i++)
        id.byte[i] = (uint8_t)(ms >> (8 * (5 - i)));
    id.byte[6] = (uint8_t)(0x70 | (id.byte[6] & 0x0F));
    id.byte[8] = (uint8_t)(0x80 | (id.byte[8] & 0x3F));
    return id;
}

static int emit(struct items *x, uint64_t n) {
    char id[UUID_TEXT];
    struct uuid u = item_id(x, n);
    set_text(x, ITEMS_ITEM_ID, span_of(uuid_text(&u, id)));
    return x->call.row(x->call.ctx, x->cells);
}

static void pages_of(struct items *x, const struct tl_json *metadata) {
    struct tl_json numbers, at = {0};
    int64_t count = 0;
    set_null(x, ITEMS_PAGE_COUNT);
    if (json_get(metadata, "pages_by_number", &numbers))
        return;
    while (json_next(&numbers, &at) == TL_OK)
        count++;
    set_number(x, ITEMS_PAGE_COUNT, count);
}

/* What the rows of one dataset share. */
static int open_dataset(struct items *x, const struct tl_json *dataset) {
    static const struct wanted want[] = {{"id", ITEMS_DATASET_ID},
                                         {"name", ITEMS_DATASET_NAME},
                                         {"type", ITEMS_DATASET_TYPE},
                                         {"tags", ITEMS_DATASET_TAGS}};
    struct tl_json metadata;
    if (x->dataset == dataset->raw.ptr)
        return TL_OK;
    arena_free(&x->own);
    x->dataset = dataset->raw.ptr;
    int rc = put_members(x, &x->own, dataset, want, COUNT_OF(want));
    if (rc || json_get(dataset, "metadata", &metadata))
        return rc ? rc : TL_INVALID;
    set_text(x, ITEMS_DATASET_METADATA, metadata.raw);
    pages_of(x, &metadata);
    return TL_OK;
}

static bool is_json_type(struct tl_span type) {
    return span_eq(type, "application/json") || (type.len > 5 && memcmp(type.ptr + type.len - 5, "+json", 5) == 0);
}

/* Bytes of which no document says how they are to be written. */
static void put_bytes(struct items *x, struct buf *bytes) {
    const struct cell *type = &x->cells[ITEMS_MEDIA_TYPE];
    struct tl_span data = buf_span(bytes);
    const char *encoding = "base64";
    if (!type->null && is_json_type(type->text) && json_valid(data, NULL) == TL_OK)
        encoding = "json";
    else if (utf8_valid(data.ptr, data.len))
        encoding = "text";
    else {
        buf_reset(&x->text);
        hash_base64(&x->text, data.ptr, data.len);
        data = buf_span(&x->text);
    }
    set_text(x, ITEMS_ENCODING, span_of(encoding));
    set_text(x, ITEMS_DATA, data);
}

static int put_attachment(struct items *x, const struct document_part *part) {
    struct tl_json name, lists, at = {0}, own, path;
    set_text(x, ITEMS_ENCODING, span_of("attachment"));
    set_null(x, ITEMS_DATA);
    if (x->cells[ITEMS_DATA_BYTES].number > ITEMS_ATTACHMENT_MAX || !x->doc.attachment)
        return TL_OK;
    if (json_get(&part->element, "attachment", &name) || json_find(x->doc.file, "/attachments", &lists))
        return TL_INVALID;
    while (json_next(&lists, &at) == TL_OK) {
        if (json_get(&at, "name", &own) || own.raw.len != name.raw.len ||
            memcmp(own.raw.ptr, name.raw.ptr, own.raw.len) != 0)
            continue;
        AUTO_BUF struct buf where = BUF_INIT;
        if (json_get(&at, "path", &path) || json_text(&path, &where))
            return TL_INVALID;
        buf_reset(&x->data);
        int rc = x->doc.attachment(x->doc.ctx, where.data, &x->data, x->call.why);
        if (!rc)
            put_bytes(x, &x->data);
        return rc;
    }
    return TL_INVALID;
}

static int put_data(struct items *x, const struct document_part *part) {
    const struct cell *encoding = &x->cells[ITEMS_ENCODING];
    struct tl_span inside = {part->data.raw.ptr + 1, part->data.raw.len - 2};
    if (encoding->null)
        return TL_INVALID;
    if (span_eq(encoding->text, "attachment"))
        return put_attachment(x, part);
    if (span_eq(encoding->text, "json")) {
        set_text(x, ITEMS_DATA, part->outer);
        return TL_OK;
    }
    if (part->data.type != TL_JSON_STRING)
        return TL_INVALID;
    if (memchr(inside.ptr, '\\', inside.len)) {
        buf_reset(&x->data);
        if (json_text(&part->data, &x->data))
            return TL_INVALID;
        inside = buf_span(&x->data);
    }
    set_text(x, ITEMS_DATA, inside);
    return TL_OK;
}

static int put_element(struct items *x, const struct document_part *part) {
    static const char *const kind[] = {[TL_SIMPLE] = "simple", [TL_PAGED] = "page", [TL_KEY_VALUE] = "key_value"};
    static const struct wanted want[] = {{"data_url", ITEMS_DATA_URL},       {"media_type", ITEMS_MEDIA_TYPE},
                                         {"encoding", ITEMS_ENCODING},       {"bytes", ITEMS_DATA_BYTES},
                                         {"sha256", ITEMS_DATA_SHA256},      {"id", ITEMS_ELEMENT_ID},
                                         {"page_number", ITEMS_PAGE_NUMBER}, {"key", ITEMS_KEY_NAME}};
    struct tl_json metadata;
    for (size_t i = 0; i < COUNT_OF(want); i++)
        set_null(x, want[i].at);
    int rc = put_members(x, &x->own, &part->element, want, COUNT_OF(want));
    if (rc)
        return rc;
    set_text(x, ITEMS_ELEMENT_KIND, span_of(kind[part->kind]));
    set_null(x, ITEMS_ELEMENT_METADATA);
    if (part->kind == TL_SIMPLE)
        set_null(x, ITEMS_ELEMENT_ID); /* its id is that of its dataset */
    else if (json_get(&part->element, "metadata", &metadata) == TL_OK)
        set_text(x, ITEMS_ELEMENT_METADATA, metadata.raw);
    return put_data(x, part);
}

static int each_part(void *ctx, const struct document_part *part) {
    struct items *x = ctx;
    int rc = open_dataset(x, &part->dataset);
    if (!rc)
        rc = put_element(x, part);
    return rc ? rc : emit(x, x->count++);
}

int items_each(struct items *x, int (*row)(void *ctx, const struct cell *cells), void *ctx, struct fail *why) {
    struct fail reason = FAIL_INIT;
    x->call = (struct items_call){row, ctx, &reason};
    int rc = document_each(x->doc.file, each_part, x);
    if (rc == TL_INVALID && !reason.status)
        return fail_exit(why, rc, EXIT_DAMAGED, "%s: its datasets cannot be read", x->doc.path);
    if (rc && reason.status && why)
        *why = reason;
    return rc;
}

/* ---- a collector's own rows */

static int find_dataset(struct items *x, const char *name) {
    struct tl_json sets, at = {0}, own;
    struct tl_span text;
    if (!name || json_find(x->doc.file, "/datasets", &sets))
        return TL_NOTFOUND;
    while (json_next(&sets, &at) == TL_OK)
        if (json_get(&at, "name", &own) == TL_OK && text_of(x, &x->own, &own, &text) == TL_OK && span_eq(text, name))
            return open_dataset(x, &at);
    return TL_NOTFOUND;
}

int items_own(struct items *x, uint64_t n, const struct items_own *own, int (*row)(void *ctx, const struct cell *cells),
              void *ctx, struct fail *why) {
    char hex[SHA256_HEX];
    x->call = (struct items_call){row, ctx, why};
    if (find_dataset(x, own->dataset)) {
        for (int i = ITEMS_DATASET_ID; i <= ITEMS_DATASET_METADATA; i++)
            set_null(x, (enum items_column)i);
        set_null(x, ITEMS_PAGE_COUNT);
        x->dataset = NULL;
    }
    set_words(x, ITEMS_ELEMENT_KIND, own->page_number > 0 ? "page" : own->key ? "key_value" : "simple");
    set_words(x, ITEMS_ELEMENT_ID, own->id);
    set_words(x, ITEMS_KEY_NAME, own->key);
    set_words(x, ITEMS_ELEMENT_METADATA, own->metadata);
    set_words(x, ITEMS_MEDIA_TYPE, own->media_type);
    set_words(x, ITEMS_DATA_URL, own->data_url);
    set_null(x, ITEMS_PAGE_NUMBER);
    if (own->page_number > 0)
        set_number(x, ITEMS_PAGE_NUMBER, own->page_number);
    struct sha256 sum = hash_sha256(own->data.ptr, own->data.len);
    set_number(x, ITEMS_DATA_BYTES, (int64_t)own->data.len);
    set_text(x, ITEMS_DATA_SHA256, span_of(hash_hex(sum.byte, SHA256_BYTES, hex)));
    buf_reset(&x->data);
    buf_add(&x->data, own->data.ptr, own->data.len);
    put_bytes(x, &x->data);
    return emit(x, n);
}
