/* verify_records.c - closing records: whole, what the catalog says, and every member in its place.
 *
 * A crawl that was opened again is not held to the record of its first end: that one must only be whole. */
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/times.h"
#include "engine/package.h"
#include "engine/verify_inside.h"

struct record {
    struct verify *v;
    const char *path; /* of ROOT.jsonl */
    bool closed;      /* the catalog holds the crawl as closed */
    int64_t line, own;
    int rc;
};

static int read_text(void *ctx, const struct store_row *row) {
    struct buf *out = ctx;
    if (row->value[0].type == STORE_TEXT)
        buf_add(out, row->value[0].text.ptr, row->value[0].text.len);
    return 1;
}

static bool member_text(const struct tl_json *line, const char *name, struct buf *out) {
    struct tl_json value;
    buf_reset(out);
    return json_get(line, name, &value) == TL_OK && json_text(&value, out) == TL_OK && out->data &&
           strlen(out->data) == out->len;
}

/* A member that the catalog does not name any more, because its run was tried again: the file stays. */
static void check_replaced(struct record *r, const char *path) {
    if (r->closed)
        verify_problem(r->v, r->path, "line %lld: the catalog does not know the document %s", (long long)r->line, path);
    else if (!verify_staged(r->v, path))
        verify_problem(r->v, path, "it is gone: line %lld of %s names it", (long long)r->line, r->path);
}

static int check_member(struct record *r, const struct tl_json *line) {
    AUTO_BUF struct buf path = BUF_INIT, sum = BUF_INIT, id_text = BUF_INIT, there = BUF_INIT;
    struct tl_json reused;
    struct store_result row;
    struct uuid id;
    bool is_reused = json_get(line, "reused", &reused) == TL_OK && json_bool(&reused, &is_reused) == TL_OK && is_reused;
    char hex[SHA256_HEX];
    if (!member_text(line, "path", &path) || !member_text(line, "sha256", &sum) ||
        !member_text(line, "result_id", &id_text) || uuid_parse(buf_span(&id_text), &id)) {
        verify_problem(r->v, r->path, "line %lld: the member cannot be read", (long long)r->line);
        return TL_OK;
    }
    r->own += !is_reused;
    int rc = store_results_find(r->v->results, &id, &row, r->v->why);
    if (rc == TL_NOTFOUND) {
        if (!is_reused)
            check_replaced(r, path.data);
        else if (!verify_staged(r->v, path.data))
            verify_problem(r->v, path.data, "it is gone: line %lld of %s stands for it", (long long)r->line, r->path);
        return TL_OK;
    }
    if (rc)
        return rc;
    buf_printf(&there, "%s/%s.json", row.folder, id_text.data);
    if (strcmp(there.data, path.data) != 0 || strcmp(hash_hex(row.sha256.byte, SHA256_BYTES, hex), sum.data) != 0)
        verify_problem(r->v, r->path, "line %lld: its path or SHA-256 of %s is not that of the catalog",
                       (long long)r->line, path.data);
    return TL_OK;
}

static int each_line(void *ctx, struct tl_span kind, const struct tl_json *line) {
    struct record *r = ctx;
    r->line++;
    return span_eq(kind, "document") ? check_member(r, line) : TL_OK;
}

static int check_package(struct verify *v, const struct package_head *head, const char *path,
                         const struct store_crawl *crawl) {
    struct fail reason = FAIL_INIT;
    struct sha256 sum;
    int64_t bytes;
    struct record r = {.v = v, .path = path, .closed = crawl->closed};
    AUTO_CLOSE int fd = -1;
    if (lake_open_file(v->o->lake, path, &fd, &reason)) {
        verify_problem(v, path, "it is gone: the summary beside it names it");
        return TL_OK;
    }
    if (v->o->quick)
        return TL_OK;
    if (hash_file(fd, &sum, &bytes) || lseek(fd, 0, SEEK_SET) < 0) {
        verify_problem(v, path, "it cannot be read");
        return TL_OK;
    }
    v->sums->bytes += bytes;
    if (bytes != head->package.bytes || memcmp(&sum, &head->package.sha256, sizeof sum) != 0) {
        verify_problem(v, path, "its SHA-256 is not what its summary says");
        return TL_OK;
    }
    int rc = package_read(fd, path, each_line, &r, &reason);
    if (rc && v->why && v->why->status)
        return rc;
    if (rc)
        verify_problem(v, path, "%s", reason.text);
    else if (r.line != head->package.lines || r.own != head->package.documents ||
             (r.closed && r.own != crawl->documents))
        verify_problem(
            v, path, "it has %lld lines and %lld documents, its summary says %lld and %lld, the catalog %lld documents",
            (long long)r.line, (long long)r.own, (long long)head->package.lines, (long long)head->package.documents,
            (long long)crawl->documents);
    return TL_OK;
}

static int check_summary(struct verify *v, const struct package_head *head, const char *path) {
    char id[UUID_TEXT], hex[SHA256_HEX];
    struct store_crawl crawl;
    AUTO_BUF struct buf package = BUF_INIT, said = BUF_INIT;
    const struct store_value root = store_text(uuid_text(&head->root_id, id));
    buf_printf(&package, "%sl", path);
    if (!strstr(path, id) || strcmp(package.data, head->path.data) != 0) {
        verify_problem(v, path, "it says that it is the record of crawl %s in %s", id, head->path.data);
        return TL_OK;
    }
    int rc = store_crawl_by_id(v->o->store, &head->root_id, &crawl);
    if (rc == TL_NOTFOUND) {
        verify_problem(v, path, "the catalog does not know this crawl; trotline rebuild restores it");
        return TL_OK;
    }
    if (!rc)
        rc = store_query(v->o->store, "SELECT package_sha256 FROM crawls WHERE root_id = $1", &root, 1, read_text,
                         &said, v->why);
    if (rc)
        return rc;
    if (crawl.closed && said.len && strcmp(said.data, hash_hex(head->package.sha256.byte, SHA256_BYTES, hex)) != 0)
        verify_problem(v, path, "it says that its package has the SHA-256 %s, the catalog says %s", hex, said.data);
    return check_package(v, head, package.data, &crawl);
}

static bool is_record_name(const char *name, const char *end) {
    struct uuid id;
    return strlen(name) == UUID_TEXT - 1 + strlen(end) && strcmp(name + UUID_TEXT - 1, end) == 0 &&
           uuid_parse((struct tl_span){name, UUID_TEXT - 1}, &id) == TL_OK;
}

/* A package without its summary is what a crash leaves between the two. Where the crawl is closed, each_closed says so;
 * where it is open again, its next end writes both. */
static int check_lonely(struct verify *v, const char *path, const char *name) {
    struct store_crawl crawl;
    struct uuid id;
    AUTO_FREE char *summary = mem_text_n(path, strlen(path) - 1);
    if (verify_staged(v, summary) || uuid_parse((struct tl_span){name, UUID_TEXT - 1}, &id))
        return TL_OK;
    int rc = store_crawl_by_id(v->o->store, &id, &crawl);
    if (rc == TL_NOTFOUND)
        verify_problem(v, path, "the catalog does not know this crawl, and its summary is gone");
    return rc == TL_NOTFOUND ? TL_OK : rc;
}

static int each_record(void *ctx, const char *path, int64_t bytes, unsigned mode) {
    struct verify *v = ctx;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    struct package_head head = {0};
    struct fail reason = FAIL_INIT;
    (void)mode;
    if (v->o->root && strncmp(name, v->root_id, UUID_TEXT - 1) != 0)
        return TL_OK;
    if (is_record_name(name, ".jsonl"))
        return check_lonely(v, path, name);
    if (!is_record_name(name, ".json")) {
        verify_problem(v, path, "it is no closing record: they are named ROOT.json and ROOT.jsonl");
        return TL_OK;
    }
    v->sums->records++;
    v->sums->bytes += bytes;
    AUTO_BUF struct buf text = {.max = PACKAGE_SUMMARY_MAX};
    if (lake_read(v->o->lake, path, &text, &reason) || package_head_read(buf_span(&text), &head, &reason)) {
        verify_problem(v, path, "%s", reason.text);
        return TL_OK;
    }
    int rc = check_summary(v, &head, path);
    package_head_free(&head);
    return rc;
}

static int each_closed(void *ctx, const struct store_row *row) {
    struct verify *v = ctx;
    struct uuid id;
    int64_t started_us;
    AUTO_BUF struct buf path = BUF_INIT;
    if (uuid_parse(row->value[0].text, &id) || time_parse(row->value[1].text, &started_us))
        return 0;
    lake_crawl_file(&path, started_us, &id, "json");
    if (!verify_staged(v, path.data))
        verify_problem(v, path.data,
                       "it is gone: the catalog has this crawl as closed (the next trotline run writes it again)");
    return 0;
}

/* The folder of one crawl's day, or all of them. */
static void records_folder(struct verify *v, struct buf *out) {
    if (!v->o->root) {
        buf_lit(out, "crawls");
        return;
    }
    lake_crawl_file(out, v->root_started_us, v->o->root, "json");
    char *slash = strrchr(out->data, '/');
    out->len = (size_t)(slash - out->data);
    *slash = '\0';
}

int verify_records(struct verify *v) {
    const struct store_value root = store_text(v->root_id);
    AUTO_BUF struct buf folder = BUF_INIT;
    records_folder(v, &folder);
    int rc = lake_walk(v->o->lake, folder.data, each_record, v, v->why);
    if (rc)
        return rc;
    return v->o->root ? store_query(v->o->store,
                                    "SELECT root_id, started_at FROM crawls WHERE status <> 'open' AND root_id = $1",
                                    &root, 1, each_closed, v, v->why)
                      : store_query(v->o->store, "SELECT root_id, started_at FROM crawls WHERE status <> 'open'", NULL,
                                    0, each_closed, v, v->why);
}
