/* verify.c - documents and attachments: files against rows, then rows against files. See verify.h.
 *
 * Invariant: no answer of the catalog is held open while files are read, so that a long check keeps no writer's log
 * from being tidied; memory is that of the largest document. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "engine/verify_inside.h"
#include "lake/lake_backup.h"

enum { KEEP_BYTES = 4 << 20 }; /* a larger document's memory is given back */

void verify_problem(struct verify *v, const char *path, const char *fmt, ...) {
    AUTO_BUF struct buf file = BUF_INIT, text = {.max = 4096};
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    buf_printf(&file, "%s/%s", lake_path(v->o->lake), path);
    v->sums->problems++;
    v->o->problem(v->o->ctx, file.data, text.data ? text.data : fmt);
}

void verify_step(struct verify *v) {
    if (v->o->progress)
        v->o->progress(v->o->ctx, v->sums);
}

void verify_mode(struct verify *v, const char *path, unsigned mode) {
    if (!(mode & 0222))
        return;
    AUTO_BUF struct buf file = BUF_INIT;
    char text[80];
    snprintf(text, sizeof text, "it can be written (mode %04o); what is published is read-only (0444)", mode);
    buf_printf(&file, "%s/%s", lake_path(v->o->lake), path);
    v->sums->warnings++;
    v->o->warning(v->o->ctx, file.data, text);
}

/* ---- what the catalog says of a path */

static bool result_id_of(const char *name, const char *end, struct uuid *id) {
    return strlen(name) == UUID_TEXT - 1 + strlen(end) && strcmp(name + UUID_TEXT - 1, end) == 0 &&
           uuid_parse((struct tl_span){name, UUID_TEXT - 1}, id) == TL_OK;
}

static int read_word(void *ctx, const struct store_row *row) {
    struct buf *out = ctx;
    buf_add(out, row->value[0].text.ptr, row->value[0].text.len);
    return 1;
}

static void member(struct verify *v, const char *pointer,
                   struct buf *out) { /* of the document at hand; nothing: not there */
    struct tl_json value;
    if (json_find(buf_span(&v->text), pointer, &value) == TL_OK)
        json_text(&value, out);
    buf_text(out, "");
}

/* A document that no row names: is it of an earlier attempt of a run that the catalog knows? Then it must be whole, at
 * least. */
static int check_unknown(struct verify *v, const char *path, const struct uuid *name) {
    struct fail reason = FAIL_INIT;
    char id[UUID_TEXT];
    AUTO_BUF struct buf run = BUF_INIT, known = BUF_INIT, own = BUF_INIT, root = BUF_INIT;
    buf_shrink(&v->text, KEEP_BYTES);
    if (lake_read(v->o->lake, path, &v->text, &reason) || document_check(buf_span(&v->text), &reason)) {
        verify_problem(v, path, "the catalog does not know it, and it is damaged: %s", reason.text);
        return TL_OK;
    }
    v->sums->bytes += (int64_t)v->text.len;
    member(v, "/run_id", &run);
    member(v, "/result_id", &own);
    member(v, "/lineage/root_id", &root);
    const struct store_value arg = {.type = STORE_TEXT, .text = buf_span(&run)};
    int rc = store_query(v->o->store, "SELECT run_id FROM runs WHERE run_id = $1", &arg, 1, read_word, &known, v->why);
    if (rc)
        return rc;
    if (!span_eq(buf_span(&own), uuid_text(name, id)))
        verify_problem(v, path, "it is named like another document: its result_id is %s", buf_span(&own).ptr);
    else if (known.len)
        v->sums->earlier++;
    else
        verify_problem(v, path,
                       "the catalog does not know its run %s (of crawl %s); trotline rebuild restores closed crawls",
                       buf_span(&run).ptr, buf_span(&root).ptr);
    return TL_OK;
}

/* ---- documents */

static void check_bytes(struct verify *v, const char *path, const struct store_result *row) {
    struct fail reason = FAIL_INIT;
    char said[SHA256_HEX], is[SHA256_HEX];
    buf_shrink(&v->text, KEEP_BYTES);
    if (lake_read(v->o->lake, path, &v->text, &reason)) {
        verify_problem(v, path, "it cannot be read: %s", reason.text);
        return;
    }
    v->sums->bytes += (int64_t)v->text.len;
    hash_start(v->hash);
    hash_add(v->hash, v->text.data, v->text.len);
    struct sha256 sum = hash_end(v->hash);
    int rc = document_check(buf_span(&v->text), &reason);
    if (memcmp(&sum, &row->sha256, sizeof sum) != 0)
        verify_problem(v, path, "its SHA-256 is %s, the catalog says %s%s%s", hash_hex(sum.byte, SHA256_BYTES, is),
                       hash_hex(row->sha256.byte, SHA256_BYTES, said), rc ? ": " : "", rc ? reason.text : "");
    else if (rc)
        verify_problem(v, path, "it was written like this, but is no whole document: %s", reason.text);
}

static int each_document(void *ctx, const char *path, int64_t bytes, unsigned mode) {
    struct verify *v = ctx;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    struct store_result row;
    struct uuid id;
    v->sums->documents++;
    verify_step(v);
    if (!result_id_of(name, ".json", &id)) {
        verify_problem(v, path, "it is no document: they are named RESULT_ID.json");
        return TL_OK;
    }
    int rc = store_results_find(v->results, &id, &row, v->why);
    if (rc == TL_NOTFOUND)
        return check_unknown(v, path, &id);
    if (rc)
        return rc;
    size_t len = strlen(row.folder);
    if (strncmp(path, row.folder, len) != 0 || path + len + 1 != name) {
        verify_problem(v, path, "the catalog has this document in another place: %s", row.folder);
        return TL_OK;
    }
    verify_mode(v, path, mode);
    if (bytes != row.bytes)
        verify_problem(v, path, "it has %lld bytes, the catalog says %lld", (long long)bytes, (long long)row.bytes);
    else if (!v->o->quick)
        check_bytes(v, path, &row);
    return TL_OK;
}

/* ---- attachments */

struct attachment {
    int64_t bytes;
    struct sha256 sha256;
};

/* The next item of a document's list: its path in `path`. TL_NOTFOUND at the end; TL_INVALID: the list is damaged. */
static int next_attachment(const struct tl_json *list, struct tl_json *item, struct buf *path, struct attachment *out) {
    struct tl_json value;
    int rc = json_next(list, item);
    if (rc)
        return rc;
    buf_reset(path);
    bool ok =
        json_get(item, "path", &value) == TL_OK && json_text(&value, path) == TL_OK && path->data &&
        strlen(path->data) == path->len && lake_attachment_ok(path->data) && json_get(item, "bytes", &value) == TL_OK &&
        json_int(&value, &out->bytes) == TL_OK && json_get(item, "sha256", &value) == TL_OK &&
        value.type == TL_JSON_STRING &&
        hash_unhex((struct tl_span){value.raw.ptr + 1, value.raw.len - 2}, out->sha256.byte, SHA256_BYTES) == TL_OK;
    return ok ? TL_OK : TL_INVALID;
}

static int find_attachment(const char *attachments, const char *wanted, struct attachment *out) {
    AUTO_BUF struct buf path = BUF_INIT;
    struct tl_json list, item = {0};
    if (!attachments || json_parse(span_of(attachments), &list))
        return TL_NOTFOUND;
    int rc;
    while ((rc = next_attachment(&list, &item, &path, out)) == TL_OK)
        if (strcmp(path.data, wanted) == 0)
            return TL_OK;
    return TL_NOTFOUND;
}

static void check_attachment(struct verify *v, const char *path, int64_t bytes, const struct attachment *said) {
    struct fail reason = FAIL_INIT;
    struct sha256 sum;
    int64_t is;
    AUTO_CLOSE int fd = -1;
    if (bytes != said->bytes) {
        verify_problem(v, path, "it has %lld bytes, its document says %lld", (long long)bytes, (long long)said->bytes);
        return;
    }
    if (v->o->quick)
        return;
    if (lake_open_file(v->o->lake, path, &fd, &reason))
        verify_problem(v, path, "it cannot be opened: %s", reason.text);
    else if (hash_file(fd, &sum, &is))
        verify_problem(v, path, "it cannot be read");
    else if (memcmp(&sum, &said->sha256, sizeof sum) != 0)
        verify_problem(v, path, "its SHA-256 is not what its document says");
    v->sums->bytes += bytes;
}

/* documents/LEVELS/RESULT_ID.json for attachments/LEVELS/RESULT_ID/NAME */
static void document_of(const char *path, const char *name, struct buf *out) {
    buf_lit(out, "documents");
    buf_add(out, path + 11, (size_t)(name - 1 - path) - 11);
    buf_lit(out, ".json");
}

static int each_attachment(void *ctx, const char *path, int64_t bytes, unsigned mode) {
    struct verify *v = ctx;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct store_result row;
    struct attachment said;
    struct uuid id;
    v->sums->attachments++;
    verify_step(v);
    bool named = slash && slash - path > UUID_TEXT && slash[-UUID_TEXT] == '/' &&
                 uuid_parse((struct tl_span){slash - UUID_TEXT + 1, UUID_TEXT - 1}, &id) == TL_OK;
    if (!named) {
        verify_problem(v, path, "it is no attachment: they lie in RESULT_ID/");
        return TL_OK;
    }
    int rc = store_results_find(v->results, &id, &row, v->why);
    if (rc && rc != TL_NOTFOUND)
        return rc;
    if (rc ==
        TL_NOTFOUND) { /* the document is looked at in its own place; here it only vouches for what belongs to it */
        AUTO_BUF struct buf document = BUF_INIT;
        struct fail reason = FAIL_INIT;
        struct tl_json list;
        document_of(path, name, &document);
        buf_shrink(&v->text, KEEP_BYTES);
        bool vouched = lake_read(v->o->lake, document.data, &v->text, &reason) == TL_OK &&
                       json_find(buf_span(&v->text), "/attachments", &list) == TL_OK;
        AUTO_FREE char *text = vouched ? mem_text_n(list.raw.ptr, list.raw.len) : NULL;
        rc = find_attachment(text, path, &said);
        v->sums->earlier += rc == TL_OK;
    } else
        rc = find_attachment(row.attachments, path, &said);
    if (rc) {
        verify_problem(v, path, "no document names it as its attachment");
        return TL_OK;
    }
    verify_mode(v, path, mode);
    check_attachment(v, path, bytes, &said);
    return TL_OK;
}

/* ---- rows against files */

bool verify_staged(struct verify *v, const char *path) {
    AUTO_CLOSE int fd = -1;
    return lake_open_file(v->o->lake, path, &fd, NULL) == TL_OK;
}

bool verify_there(struct verify *v, const char *path) {
    char full[4096];
    struct stat st;
    int n = snprintf(full, sizeof full, "%s/%s", lake_path(v->o->lake), path);
    if (n > 0 && (size_t)n < sizeof full && lstat(full, &st) == 0)
        return S_ISREG(st.st_mode);
    if (!verify_staged(v, path))
        return false;
    v->sums->staged += lstat(full, &st) < 0;
    return true;
}

/* Backups lie by what they are of, not by who made them: the rows lead to them. */
static void check_backup(struct verify *v, const char *path, const struct attachment *said) {
    struct stat st;
    AUTO_CLOSE int fd = -1;
    if (lake_open_file(v->o->lake, path, &fd, NULL) || fstat(fd, &st))
        return; /* it is on its way */
    v->sums->attachments++;
    verify_step(v);
    verify_mode(v, path, st.st_mode & 07777);
    check_attachment(v, path, st.st_size, said);
}

static int each_row(void *ctx, const struct store_row *row) {
    struct verify *v = ctx;
    AUTO_FREE char *path = mem_text_n(row->value[0].text.ptr, row->value[0].text.len);
    if (!verify_there(v, path))
        verify_problem(v, path, "it is gone: the catalog has it as the document of run %.*s",
                       (int)row->value[1].text.len, row->value[1].text.ptr);
    if (row->value[2].type != STORE_TEXT)
        return 0;
    AUTO_BUF struct buf attached = BUF_INIT;
    struct attachment said;
    struct tl_json list, item = {0};
    int rc = json_parse(row->value[2].text, &list);
    while (!rc && (rc = next_attachment(&list, &item, &attached, &said)) == TL_OK)
        if (!verify_there(v, attached.data) && lake_backup_let_go(v->o->lake, attached.data))
            continue;
        else if (!verify_there(v, attached.data))
            verify_problem(v, attached.data, "it is gone: the catalog has it as an attachment of %s", path);
        else if (lake_backup_is_copy(attached.data, NULL) || lake_backup_is_object(attached.data))
            check_backup(v, attached.data, &said);
    if (rc != TL_NOTFOUND)
        verify_problem(v, path, "what the catalog says of its attachments cannot be read");
    return 0;
}

/* ---- the whole */

static int complain(struct verify *v) {
    AUTO_BUF struct buf text = BUF_INIT;
    if (v->o->quick || v->o->root || store_check(v->o->store, &text) == TL_OK)
        return TL_OK;
    for (char *line = text.data, *end; line && *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end)
            *end++ = '\0';
        v->sums->problems++;
        v->o->problem(v->o->ctx, v->o->catalog, line);
    }
    return TL_OK;
}

/* The part of a table that belongs to the crawl: down to clct_uuid=. */
static void folder_of(struct verify *v, bool attachments, struct buf *out) {
    const struct lake_place place = {.root_started_us = v->root_started_us, .root_id = *v->o->root};
    lake_folder(out, &place, attachments);
    char *end = strstr(out->data, "/clct_uuid=");
    end = end ? strchr(end + 1, '/') : NULL;
    if (end) {
        out->len = (size_t)(end - out->data);
        *end = '\0';
    }
}

static int walk(struct verify *v, bool attachments) {
    AUTO_BUF struct buf folder = BUF_INIT;
    if (v->o->root)
        folder_of(v, attachments, &folder);
    else
        buf_text(&folder, attachments ? "attachments" : "documents");
    return lake_walk(v->o->lake, folder.data, attachments ? each_attachment : each_document, v, v->why);
}

static int check_rows(struct verify *v) {
    const struct store_value root = store_text(v->root_id);
    return v->o->root ? store_query(v->o->store, "SELECT path, run_id, attachments FROM documents WHERE root_id = $1",
                                    &root, 1, each_row, v, v->why)
                      : store_query(v->o->store, "SELECT path, run_id, attachments FROM documents", NULL, 0, each_row,
                                    v, v->why);
}

static int find_root(struct verify *v) {
    struct store_crawl crawl;
    if (!v->o->root)
        return TL_OK;
    uuid_text(v->o->root, v->root_id);
    int rc = store_crawl_by_id(v->o->store, v->o->root, &crawl);
    if (rc)
        return fail_exit(v->why, rc, EXIT_USAGE, "%s is not the root of a crawl", v->root_id);
    v->root_started_us = crawl.started_us;
    v->root = crawl.root;
    return TL_OK;
}

int verify_lake(const struct verify_options *o, struct verify_sums *out, struct fail *why) {
    *out = (struct verify_sums){0};
    struct verify v = {.o = o, .sums = out, .why = why, .hash = hash_new()};
    int rc = find_root(&v);
    if (!rc)
        rc = store_results_open(o->store, &v.results, why);
    if (!rc)
        rc = complain(&v);
    if (!rc)
        rc = walk(&v, false);
    if (!rc)
        rc = walk(&v, true);
    if (!rc)
        rc = check_rows(&v);
    if (!rc)
        rc = verify_records(&v);
    if (!rc)
        rc = verify_tables(&v, v.root);
    store_results_close(v.results);
    buf_free(&v.text);
    hash_free(v.hash);
    return rc;
}
