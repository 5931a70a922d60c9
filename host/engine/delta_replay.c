/* delta_replay.c - see delta_replay.h. */
#include "engine/delta_replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

enum { DIGITS = 20, READER_MAX = 1, WRITER_MAX = 2 };

struct event { /* a file was added or removed; the last of a path counts */
    struct delta_file file;
    size_t number;
    bool added;
};
struct replaying {
    struct lake *lake;
    struct delta_replay *out;
    const char *path; /* of the commit at hand */
    struct fail *why;
    struct event *event;
    size_t count, room;
    bool others; /* files that we do not write stand beside the commits */
};

void delta_replay_name(struct buf *out, const char *root, int64_t version) {
    buf_printf(out, "%s/" DELTA_LOG "/%020lld.json", root, (long long)version);
}

void delta_replay_escape(struct buf *out, const char *path) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/=";
    for (const char *c = path; *c; c++)
        if (strchr(plain, *c))
            buf_char(out, *c);
        else
            buf_printf(out, "%%%02X", (unsigned char)*c);
}

static int nibble(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

static void unescape(struct buf *out, struct tl_span uri) {
    for (size_t i = 0; i < uri.len; i++) {
        bool escaped =
            uri.ptr[i] == '%' && i + 2 < uri.len && nibble(uri.ptr[i + 1]) >= 0 && nibble(uri.ptr[i + 2]) >= 0;
        buf_char(out, escaped ? (char)(nibble(uri.ptr[i + 1]) * 16 + nibble(uri.ptr[i + 2])) : uri.ptr[i]);
        i += escaped ? 2 : 0;
    }
}

static int refuse(struct replaying *r, const char *reason) {
    return fail_exit(r->why, TL_INVALID, EXIT_DAMAGED,
                     "%s: %s; this Delta log cannot be kept up. Remove its folder " DELTA_LOG
                     ", and make it anew if it is wanted: trotline export delta",
                     r->path, reason);
}

/* ---- one commit */

static int64_t records(const struct tl_json *add) {
    AUTO_BUF struct buf text = BUF_INIT;
    struct tl_json stats, number;
    int64_t n = 0;
    if (json_get(add, "stats", &stats) || json_text(&stats, &text) ||
        json_find(buf_span(&text), "/numRecords", &number) || json_int(&number, &n))
        return 0;
    return n;
}

static int take_file(struct replaying *r, const struct tl_json *action, bool added) {
    AUTO_BUF struct buf uri = BUF_INIT, path = BUF_INIT;
    struct tl_json value;
    struct event e = {.number = r->count, .added = added};
    if (json_get(action, "path", &value) || json_text(&value, &uri))
        return refuse(r, "an action has no path");
    unescape(&path, buf_span(&uri));
    if (json_get(action, "size", &value) == TL_OK && json_int(&value, &e.file.bytes))
        e.file.bytes = 0;
    e.file.rows = added ? records(action) : 0;
    e.file.path = mem_text_n(buf_span(&path).ptr, path.len);
    MEM_GROW(r->event, r->count, r->room);
    r->event[r->count++] = e;
    return TL_OK;
}

static int take_meta(struct replaying *r, const struct tl_json *meta) {
    struct tl_json id, schema;
    buf_reset(&r->out->id);
    buf_reset(&r->out->schema);
    if (json_get(meta, "id", &id) || json_text(&id, &r->out->id) || json_get(meta, "schemaString", &schema) ||
        json_text(&schema, &r->out->schema))
        return refuse(r, "its metaData cannot be read");
    buf_text(&r->out->id, "");
    buf_text(&r->out->schema, "");
    return TL_OK;
}

static int take_protocol(struct replaying *r, const struct tl_json *protocol) {
    struct tl_json value;
    int64_t reader, writer;
    if (json_get(protocol, "minReaderVersion", &value) || json_int(&value, &reader) ||
        json_get(protocol, "minWriterVersion", &value) || json_int(&value, &writer) || reader > READER_MAX ||
        writer > WRITER_MAX)
        return refuse(r, "somebody else has raised its protocol");
    return TL_OK;
}

static int take_line(struct replaying *r, struct tl_span line) {
    struct tl_json object, action;
    if (json_parse(line, &object) || object.type != TL_JSON_OBJECT)
        return refuse(r, "a line is no JSON object");
    if (json_get(&object, "add", &action) == TL_OK)
        return take_file(r, &action, true);
    if (json_get(&object, "remove", &action) == TL_OK)
        return take_file(r, &action, false);
    if (json_get(&object, "metaData", &action) == TL_OK)
        return take_meta(r, &action);
    return json_get(&object, "protocol", &action) == TL_OK ? take_protocol(r, &action) : TL_OK;
}

/* Commits come in the order of their versions, for so are the names sorted. */
static int each_file(void *ctx, const char *path, int64_t bytes, unsigned mode) {
    struct replaying *r = ctx;
    AUTO_BUF struct buf text = BUF_INIT, wanted = BUF_INIT;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    (void)bytes, (void)mode;
    r->path = path;
    if (strlen(name) != DIGITS + 5 || strspn(name, "0123456789") != DIGITS || strcmp(name + DIGITS, ".json") != 0) {
        r->others = r->others || strstr(name, "checkpoint");
        return 0;
    }
    buf_printf(&wanted, "%020lld.json", (long long)(r->out->version + 1));
    if (strcmp(name, wanted.data) != 0)
        return refuse(r, "versions before it are missing");
    int rc = lake_read(r->lake, path, &text, r->why);
    for (size_t i = 0; !rc && i < text.len;) {
        const char *end = memchr(text.data + i, '\n', text.len - i);
        size_t len = end ? (size_t)(end - text.data) - i : text.len - i;
        if (len)
            rc = take_line(r, (struct tl_span){text.data + i, len});
        i += len + 1;
    }
    r->out->version++;
    return rc;
}

/* ---- the whole */

static int in_order(const void *left, const void *right) {
    const struct event *a = left, *b = right;
    int order = strcmp(a->file.path, b->file.path);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

static void keep_last(struct replaying *r) {
    struct delta_replay *out = r->out;
    if (r->count)
        qsort(r->event, r->count, sizeof *r->event, in_order);
    out->file = mem_array(NULL, r->count + 1, sizeof *out->file);
    for (size_t i = 0; i < r->count; i++) {
        bool last = i + 1 == r->count || strcmp(r->event[i].file.path, r->event[i + 1].file.path) != 0;
        if (last && r->event[i].added)
            out->file[out->count++] = r->event[i].file;
        else
            free(r->event[i].file.path);
    }
    free(r->event);
}

int delta_replay_read(struct lake *l, const char *root, struct delta_replay *out, struct fail *why) {
    AUTO_BUF struct buf folder = BUF_INIT;
    struct replaying r = {.lake = l, .out = out, .why = why};
    *out = (struct delta_replay){.version = -1};
    buf_printf(&folder, "%s/" DELTA_LOG, root);
    r.path = folder.data;
    int rc = lake_walk(l, folder.data, each_file, &r, why);
    keep_last(&r);
    r.path = folder.data;
    if (!rc && r.others && out->version < 0)
        rc = refuse(&r, "it has no commits that begin at version 0");
    if (!rc && out->version >= 0 && !out->schema.len)
        rc = refuse(&r, "it has no metaData");
    return rc;
}

void delta_replay_free(struct delta_replay *r) {
    for (size_t i = 0; i < r->count; i++)
        free(r->file[i].path);
    free(r->file);
    buf_free(&r->id);
    buf_free(&r->schema);
    *r = (struct delta_replay){.version = -1};
}
