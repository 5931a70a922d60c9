/* table_record.c - see table_record.h. */
#include "engine/table_record.h"

#include <errno.h>

#include "base/fault.h"
#include "base/json_write.h"
#include "engine/version.h"

enum { FLUSH_BYTES = 64 << 10 };
const char *const table_record_table[3] = {"items", "typed", "rejects"};

/* ---- lines */

static void flush(struct table_record *r) {
    struct tl_span text = buf_span(&r->text);
    hash_add(r->hash, text.ptr, text.len);
    if (!r->error && lake_write_all(r->file.fd, text))
        r->error = errno ? errno : EIO;
    buf_reset(&r->text);
}

static struct json_writer begin(struct table_record *r, const char *kind) {
    struct json_writer w = JSON_WRITER(&r->text);
    json_object_begin(&w);
    json_member_string(&w, "kind", kind);
    return w;
}

static void end(struct table_record *r, struct json_writer *w) {
    json_object_end(w);
    buf_char(&r->text, '\n');
    r->file.at.rows++;
    if (r->text.len >= FLUSH_BYTES)
        flush(r);
}

static void put_id(struct json_writer *w, const char *key, const struct uuid *id) {
    char text[UUID_TEXT];
    if (id)
        json_member_string(w, key, uuid_text(id, text));
}

static void put_int(struct json_writer *w, const char *key, int64_t n) {
    if (n)
        json_member_int(w, key, n);
}

void table_record_file(struct table_record *r, const struct store_table *f) {
    char hex[SHA256_HEX];
    struct json_writer w = begin(r, "file");
    put_id(&w, "id", &f->id);
    json_member_string(&w, "path", f->path);
    json_member_string(&w, "table", table_record_table[f->kind]);
    json_member_string(&w, "format", f->format);
    json_member_string(&w, "name", f->name);
    json_member_string(&w, "version", f->version);
    put_int(&w, "hour_us", f->hour_us);
    put_int(&w, "rows", f->rows);
    put_int(&w, "bytes", f->bytes);
    json_member_string(&w, "sha256", hash_hex(f->sha256.byte, SHA256_BYTES, hex));
    put_int(&w, "written_us", f->written_us);
    end(r, &w);
}

void table_record_type(struct table_record *r, const char *name, const char *version, const char *sha256,
                       const char *columns, int64_t first_us) {
    struct json_writer w = begin(r, "type");
    json_member_string(&w, "name", name);
    json_member_string(&w, "version", version);
    json_member_string(&w, "sha256", sha256);
    json_member_raw(&w, "columns", span_of(columns));
    put_int(&w, "first_us", first_us);
    end(r, &w);
}

void table_record_converted(struct table_record *r, const struct uuid *run_id, const struct uuid *result_id,
                            int64_t items, const struct uuid *file) {
    struct json_writer w = begin(r, "converted");
    put_id(&w, "run_id", run_id);
    put_id(&w, "result_id", result_id);
    put_int(&w, "items", items);
    put_id(&w, "file", file);
    end(r, &w);
}

void table_record_refined(struct table_record *r, const struct uuid *run_id, const struct uuid *result_id,
                          const struct table_refined *what) {
    struct json_writer w = begin(r, "refined");
    put_id(&w, "run_id", run_id);
    put_id(&w, "result_id", result_id);
    json_member_string(&w, "type", what->type);
    json_member_string(&w, "version", what->version);
    put_int(&w, "rows", what->rows);
    put_int(&w, "rejected", what->rejected);
    put_id(&w, "file", what->file);
    put_id(&w, "rejects", what->rejects);
    end(r, &w);
}

void table_record_replaced(struct table_record *r, const struct uuid *old, const struct uuid *by) {
    struct json_writer w = begin(r, "replaced");
    put_id(&w, "id", old);
    put_id(&w, "by", by);
    end(r, &w);
}

void table_record_promoted(struct table_record *r, const struct store_promotion *p, const struct uuid *run_id) {
    struct json_writer w = begin(r, "promoted");
    put_id(&w, "uid", &p->uid);
    json_member_string(&w, "id", p->id);
    json_member_string(&w, "as", store_kind_name[p->kind]);
    json_member_string(&w, "what", p->what);
    json_member_string(&w, "yaml", p->yaml);
    put_id(&w, "run_id", run_id);
    if (p->reaction)
        json_member_string(&w, "reaction", p->reaction);
    put_int(&w, "at_us", p->at_us);
    put_int(&w, "removed_us", p->removed_us);
    end(r, &w);
}

/* ---- the file */

int table_record_open(struct lake *l, const char *did, int64_t at_us, struct table_record *r, struct fail *why) {
    const struct table_place place = {.id = uuid_new(), .kind = STORE_RECORDS, .name = did, .version = "v1"};
    *r = (struct table_record)TABLE_RECORD_INIT;
    int rc = table_file_open(l, NULL, NULL, &place, false, NULL, &r->file, why);
    if (rc)
        return rc;
    r->open = true;
    r->hash = hash_new();
    struct json_writer w = begin(r, TABLE_RECORD_KIND);
    put_id(&w, "id", &place.id);
    json_member_string(&w, "did", did);
    json_member_string(&w, "version", TROTLINE_VERSION);
    put_int(&w, "at_us", at_us);
    end(r, &w);
    return TL_OK;
}

static void let_go(struct table_record *r) {
    buf_free(&r->text);
    hash_free(r->hash);
    r->hash = NULL;
    r->open = false;
}

int table_record_close(struct table_record *r, struct lake *l, struct fail *why) {
    char hex[SHA256_HEX];
    flush(r);
    struct sha256 sum = hash_end(r->hash);
    hash_start(r->hash);
    struct json_writer w = begin(r, "end");
    json_member_int(&w, "lines", r->file.at.rows);
    json_member_string(&w, "sha256", hash_hex(sum.byte, SHA256_BYTES, hex));
    end(r, &w);
    flush(r);
    int rc = TL_OK;
    if (r->error) {
        errno = r->error;
        rc = fail_errno(why, TL_FAILED, "cannot write the record of tables %s/%s", lake_path(l), r->file.path.data);
    }
    if (!rc)
        rc = table_file_close(&r->file, l, why);
    if (rc)
        table_record_drop(r, l);
    FAULT_POINT("record-staged");
    return rc;
}

int table_record_publish(struct table_record *r, struct lake *l, struct fail *why) {
    int rc = table_file_publish(&r->file, l, why);
    let_go(r);
    FAULT_POINT("record-published");
    return rc;
}

void table_record_drop(struct table_record *r, struct lake *l) {
    if (r->open)
        table_file_drop(&r->file, l);
    let_go(r);
}
