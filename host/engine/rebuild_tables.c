/* rebuild_tables.c - see rebuild_tables.h. */
#include "engine/rebuild_tables.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/times.h"
#include "base/yaml.h"
#include "convert/types.h"
#include "engine/field.h"
#include "engine/package.h"
#include "engine/table_record.h"
#include "engine/targets.h"
#include "store/tables.h"

static const char *const formats[] = {"parquet", "avro"};
enum { FORMATS = COUNT_OF(formats) };

struct pair { /* files of one id, as keys; 0: there is none */
    struct uuid id;
    int64_t key[FORMATS];
};
struct tables {
    struct store *s;
    struct fail *why;
    struct field_reader in;
    struct uuid id; /* of the record, as its name has it */
    const char *file;
    int64_t lines, files, at_us;
    char *did;
    struct hash *hash; /* of the lines so far */
    bool ended;
    struct pair last; /* that was asked for */
};

#define WRONG(t, ...)               fail_exit((t)->why, TL_INVALID, EXIT_DAMAGED, __VA_ARGS__)
#define DECODE(t, line, table, out) field_decode(&(t)->in, (line), (table), COUNT_OF(table), (out))

static int store_failed(struct tables *t, int rc) {
    return t->why->status ? rc : fail_set(t->why, rc, "the catalog did not take the row");
}

/* ---- first and last line */

struct head_line {
    struct uuid id;
    const char *did;
    int64_t at_us;
};
static const struct field head_fields[] = {{"id", F_ID, true, offsetof(struct head_line, id)},
                                           {"did", F_TEXT, true, offsetof(struct head_line, did)},
                                           {"at_us", F_INT, true, offsetof(struct head_line, at_us)}};

static int on_head(struct tables *t, const struct tl_json *line) {
    struct head_line x = {.did = NULL};
    int rc = DECODE(t, line, head_fields, &x);
    if (rc)
        return rc;
    if (t->lines)
        return WRONG(t, "there are two lines of kind %s", TABLE_RECORD_KIND);
    if (memcmp(&x.id, &t->id, sizeof x.id) != 0)
        return WRONG(t, "it is the first line of another record (%s)", "id");
    t->at_us = x.at_us;
    t->did = mem_text(x.did);
    return TL_OK;
}

struct end_line {
    int64_t lines;
    struct sha256 sha256;
};
static const struct field end_fields[] = {{"lines", F_INT, true, offsetof(struct end_line, lines)},
                                          {"sha256", F_SHA256, true, offsetof(struct end_line, sha256)}};

static int on_end(struct tables *t, const struct tl_json *line) {
    struct end_line x = {.lines = 0};
    int rc = DECODE(t, line, end_fields, &x);
    if (rc)
        return rc;
    struct sha256 is = hash_end(t->hash);
    hash_start(t->hash);
    if (x.lines != t->lines || memcmp(&is, &x.sha256, sizeof is) != 0)
        return WRONG(t, "the lines before it are others than %s says", "it");
    t->ended = true;
    return TL_OK;
}

/* ---- files and types */

struct file_line {
    struct store_table file;
    const char *table;
};
#define FILE_AT(member) offsetof(struct file_line, file.member)
static const struct field file_fields[] = {{"id", F_ID, true, FILE_AT(id)},
                                           {"path", F_TEXT, true, FILE_AT(path)},
                                           {"table", F_TEXT, true, offsetof(struct file_line, table)},
                                           {"format", F_TEXT, true, FILE_AT(format)},
                                           {"name", F_TEXT, true, FILE_AT(name)},
                                           {"version", F_TEXT, true, FILE_AT(version)},
                                           {"hour_us", F_INT, false, FILE_AT(hour_us)},
                                           {"rows", F_COUNT, true, FILE_AT(rows)},
                                           {"bytes", F_COUNT, true, FILE_AT(bytes)},
                                           {"sha256", F_SHA256, true, FILE_AT(sha256)},
                                           {"written_us", F_INT, true, FILE_AT(written_us)}};

/* Below the folder of its table, in parts as lake_value writes them, and its name ends in its id and format. */
static bool is_its_path(const struct store_table *f) {
    static const char *const folder[] = {LAKE_ITEMS "/", LAKE_TYPED "/", LAKE_REJECTS "/"};
    char id[UUID_TEXT];
    AUTO_BUF struct buf staged = BUF_INIT, said = BUF_INIT;
    lake_staged_name(&staged, f->path);
    buf_printf(&said, "%s.%s.part", uuid_text(&f->id, id), f->format);
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-%=/";
    return field_path_ok(f->path) && f->path[strspn(f->path, plain)] == '\0' &&
           strncmp(f->path, folder[f->kind], strlen(folder[f->kind])) == 0 && strcmp(staged.data, said.data) == 0;
}

static int on_file(struct tables *t, const struct tl_json *line) {
    struct file_line x = {.table = NULL};
    struct store_table known;
    int rc = DECODE(t, line, file_fields, &x), kind = 0;
    if (rc)
        return rc;
    while (kind < 3 && strcmp(x.table, table_record_table[kind]) != 0)
        kind++;
    if (kind == 3 || (strcmp(x.file.format, formats[0]) != 0 && strcmp(x.file.format, formats[1]) != 0))
        return WRONG(t, "the member %s is not what it should be", kind == 3 ? "table" : "format");
    x.file.kind = (enum store_table_kind)kind;
    if (!is_its_path(&x.file))
        return WRONG(t, "the member %s leads to no table file of the lake", "path");
    rc = store_table_find(t->s, &x.file.id, x.file.format, &known, t->why);
    if (rc != TL_NOTFOUND)
        return rc ? rc : WRONG(t, "the file was named %s", "before");
    t->last = (struct pair){.key = {0}};
    t->files++;
    rc = store_table_put(t->s, &x.file, t->why);
    return rc ? store_failed(t, rc) : TL_OK;
}

struct type_line {
    const char *name, *version, *sha256;
    struct tl_span columns;
    int64_t first_us;
};
static const struct field type_fields[] = {{"name", F_TEXT, true, offsetof(struct type_line, name)},
                                           {"version", F_TEXT, true, offsetof(struct type_line, version)},
                                           {"sha256", F_TEXT, true, offsetof(struct type_line, sha256)},
                                           {"columns", F_JSON, true, offsetof(struct type_line, columns)},
                                           {"first_us", F_INT, true, offsetof(struct type_line, first_us)}};

static int on_type(struct tables *t, const struct tl_json *line) {
    struct type_line x = {.first_us = 0};
    struct tl_json columns;
    struct sha256 sum;
    int64_t key;
    int rc = DECODE(t, line, type_fields, &x);
    if (rc)
        return rc;
    if (!types_is_word(x.name) || types_is_ours(x.name) || json_parse(x.columns, &columns) ||
        columns.type != TL_JSON_ARRAY || !x.first_us || hash_unhex(span_of(x.sha256), sum.byte, SHA256_BYTES))
        return WRONG(t, "the type %.100s is not described as it should be", x.name);
    const char *text = arena_text(&t->in.arena, columns.raw.ptr, columns.raw.len);
    rc = store_type(t->s, x.name, x.version, x.sha256, text, x.first_us, &key, t->why);
    return rc ? store_failed(t, rc) : TL_OK;
}

/* ---- documents */

static const struct uuid no_id;

static bool is_id(const struct uuid *id) {
    return memcmp(id, &no_id, sizeof no_id) != 0;
}

static int find_pair(struct tables *t, const struct uuid *id, struct pair *out) {
    struct store_table f;
    if (!is_id(id)) {
        *out = (struct pair){.key = {0}};
        return TL_OK;
    }
    if (memcmp(id, &t->last.id, sizeof *id) != 0) {
        struct pair p = {.id = *id};
        for (int i = 0; i < FORMATS; i++) {
            int rc = store_table_find(t->s, id, formats[i], &f, t->why);
            if (rc && rc != TL_NOTFOUND)
                return rc;
            p.key[i] = rc ? 0 : f.key;
        }
        t->last = p;
    }
    char text[UUID_TEXT];
    *out = t->last;
    return out->key[0] || out->key[1] ? TL_OK : WRONG(t, "no line before it is of the file %s", uuid_text(id, text));
}

/* *known: the catalog has the run; *same: and this is its document. */
static int find_run(struct tables *t, const struct uuid *run_id, const struct uuid *result_id, int64_t *run,
                    int64_t *root, bool *same) {
    struct uuid is;
    int rc = store_source_find(t->s, run_id, run, root, &is);
    *same = !rc && memcmp(&is, result_id, sizeof is) == 0;
    return rc && rc != TL_NOTFOUND ? store_failed(t, rc) : rc;
}

static int put_source(struct tables *t, int64_t root, const struct pair *p) {
    int rc = TL_OK;
    for (int i = 0; !rc && i < FORMATS; i++)
        if (p->key[i])
            rc = store_table_source(t->s, root, p->key[i]);
    return rc ? store_failed(t, rc) : TL_OK;
}

struct converted_line {
    struct uuid run_id, result_id, file;
    int64_t items;
};
static const struct field converted_fields[] = {{"run_id", F_ID, true, offsetof(struct converted_line, run_id)},
                                                {"result_id", F_ID, true, offsetof(struct converted_line, result_id)},
                                                {"items", F_COUNT, false, offsetof(struct converted_line, items)},
                                                {"file", F_ID, false, offsetof(struct converted_line, file)}};

static int on_converted(struct tables *t, const struct tl_json *line) {
    struct converted_line x = {.items = 0};
    struct pair p;
    int64_t run, root;
    bool same;
    int rc = DECODE(t, line, converted_fields, &x);
    if (!rc && (x.items > 0) != is_id(&x.file))
        return WRONG(t, "it has %lld items, and %s file", (long long)x.items, is_id(&x.file) ? "a" : "no");
    if (rc || (rc = find_pair(t, &x.file, &p)))
        return rc;
    if (is_id(&x.file) && !(p.key[0] && p.key[1]))
        return WRONG(t, "the member %s names no pair of files", "file");
    rc = find_run(t, &x.run_id, &x.result_id, &run, &root, &same);
    if (rc)
        return rc == TL_NOTFOUND ? TL_OK : rc; /* of a crawl that is not restored */
    rc = put_source(t, root, &p);
    if (!rc && same && (rc = store_converted_put(t->s, run, p.key[0], p.key[1], x.items, t->at_us)))
        store_failed(t, rc);
    return rc;
}

struct refined_line {
    struct uuid run_id, result_id, file, rejects;
    const char *type, *version;
    int64_t rows, rejected;
};
static const struct field refined_fields[] = {{"run_id", F_ID, true, offsetof(struct refined_line, run_id)},
                                              {"result_id", F_ID, true, offsetof(struct refined_line, result_id)},
                                              {"type", F_TEXT, true, offsetof(struct refined_line, type)},
                                              {"version", F_TEXT, true, offsetof(struct refined_line, version)},
                                              {"rows", F_COUNT, false, offsetof(struct refined_line, rows)},
                                              {"rejected", F_COUNT, false, offsetof(struct refined_line, rejected)},
                                              {"file", F_ID, false, offsetof(struct refined_line, file)},
                                              {"rejects", F_ID, false, offsetof(struct refined_line, rejects)}};

static int on_refined(struct tables *t, const struct tl_json *line) {
    struct refined_line x = {.rows = 0};
    struct pair file, rejects;
    int64_t run, root, type;
    bool same, done = false;
    int rc = DECODE(t, line, refined_fields, &x);
    if (rc || (rc = find_pair(t, &x.file, &file)) || (rc = find_pair(t, &x.rejects, &rejects)))
        return rc;
    rc = store_type_find(t->s, x.type, x.version, &type);
    if (rc == TL_NOTFOUND)
        return WRONG(t, "no record before it is of the type %.100s, version %.100s", x.type, x.version);
    if (rc)
        return store_failed(t, rc);
    rc = find_run(t, &x.run_id, &x.result_id, &run, &root, &same);
    if (rc)
        return rc == TL_NOTFOUND ? TL_OK : rc;
    if ((rc = put_source(t, root, &file)) || (rc = put_source(t, root, &rejects)))
        return rc;
    if (same)
        rc = store_refined(t->s, run, type, &done, t->why);
    if (!rc && done)
        return WRONG(t, "the document was refined to this %s before", "type");
    if (!rc && same)
        rc = store_refined_put(t->s, run, type, x.rows, x.rejected, file.key[0], rejects.key[0]);
    return rc ? store_failed(t, rc) : TL_OK;
}

struct replaced_line {
    struct uuid id, by;
};
static const struct field replaced_fields[] = {{"id", F_ID, true, offsetof(struct replaced_line, id)},
                                               {"by", F_ID, true, offsetof(struct replaced_line, by)}};

static int on_replaced(struct tables *t, const struct tl_json *line) {
    struct replaced_line x;
    struct pair old, by;
    int rc = DECODE(t, line, replaced_fields, &x);
    if (rc || (rc = find_pair(t, &x.by, &by)) || (rc = find_pair(t, &x.id, &old)))
        return rc;
    if (!by.key[0] || !by.key[1] || !old.key[0] || !old.key[1] || memcmp(&x.id, &x.by, sizeof x.id) == 0)
        return WRONG(t, "%s are no two pairs of files", "id and by");
    rc = store_table_replace(t->s, &old.key[0], &old.key[1], 1, by.key[0], by.key[1], t->at_us);
    return rc ? store_failed(t, rc) : TL_OK;
}

/* ---- targets */

enum { WHAT_MAX = 4096 };
struct promoted_line {
    struct uuid uid, run_id;
    const char *id, *as, *what, *yaml, *reaction;
    int64_t at_us, removed_us;
};
static const struct field promoted_fields[] = {
    {"uid", F_ID, true, offsetof(struct promoted_line, uid)},
    {"id", F_TEXT, true, offsetof(struct promoted_line, id)},
    {"as", F_TEXT, true, offsetof(struct promoted_line, as)},
    {"what", F_TEXT, true, offsetof(struct promoted_line, what)},
    {"yaml", F_TEXT, true, offsetof(struct promoted_line, yaml)},
    {"run_id", F_ID, false, offsetof(struct promoted_line, run_id)},
    {"reaction", F_TEXT, false, offsetof(struct promoted_line, reaction)},
    {"at_us", F_INT, true, offsetof(struct promoted_line, at_us)},
    {"removed_us", F_INT, false, offsetof(struct promoted_line, removed_us)}};

/* What would not have become a target does not become one by a record. */
static int check_promoted(struct tables *t, const struct promoted_line *x, int *kind) {
    struct target target;
    struct fail why = FAIL_INIT;
    const int64_t last = x->removed_us ? x->removed_us : x->at_us;
    for (*kind = 0; *kind < STORE_KINDS && strcmp(x->as, store_kind_name[*kind]) != 0; (*kind)++) {
    }
    const char *wrong = *kind == STORE_KINDS                         ? "as"
                        : !targets_is_id(x->id)                      ? "id"
                        : !x->what[0] || strlen(x->what) > WHAT_MAX  ? "what"
                        : x->reaction && !targets_is_id(x->reaction) ? "reaction"
                        : x->at_us <= 0 || x->at_us > TIME_MAX_US    ? "at_us"
                        : last <= 0 || last > TIME_MAX_US            ? "removed_us"
                        : strlen(x->yaml) > YAML_TEXT_MAX            ? "yaml"
                                                                     : NULL;
    if (wrong)
        return WRONG(t, "the member %s is not what it should be", wrong);
    if (config_target_text("yaml", span_of(x->yaml), &target, &why))
        return WRONG(t, "the target %s is none: %.1000s", x->id, why.text);
    bool other = strcmp(target.crawl.name, x->id) != 0;
    config_target_free(&target);
    return other ? WRONG(t, "the member %s describes another target than %s", "yaml", x->id) : TL_OK;
}

static int on_promoted(struct tables *t, const struct tl_json *line) {
    struct promoted_line x = {.removed_us = 0};
    int64_t run = 0, root;
    int kind = 0;
    bool same;
    int rc = DECODE(t, line, promoted_fields, &x);
    if (!rc)
        rc = check_promoted(t, &x, &kind);
    if (!rc && is_id(&x.run_id)) {
        rc = find_run(t, &x.run_id, &no_id, &run, &root, &same);
        if (rc == TL_NOTFOUND) /* of a crawl that is not restored */
            rc = run = 0;
    }
    if (rc)
        return rc;
    const struct store_promotion p = {.uid = x.uid,
                                      .id = x.id,
                                      .what = x.what,
                                      .yaml = x.yaml,
                                      .reaction = x.reaction,
                                      .kind = (enum store_kind)kind,
                                      .run = run,
                                      .at_us = x.at_us,
                                      .removed_us = x.removed_us};
    rc = store_promotion_import(t->s, &p);
    return rc ? store_failed(t, rc) : TL_OK;
}

/* ---- one record */

static int on_line(void *ctx, struct tl_span kind, const struct tl_json *line) {
    static const struct {
        const char *kind;
        int (*take)(struct tables *t, const struct tl_json *line);
    } kinds[] = {
        {"converted", on_converted}, {"refined", on_refined},      {"file", on_file}, {"replaced", on_replaced},
        {"type", on_type},           {TABLE_RECORD_KIND, on_head}, {"end", on_end},   {"promoted", on_promoted}};
    struct tables *t = ctx;
    size_t i = 0;
    while (i < COUNT_OF(kinds) && !span_eq(kind, kinds[i].kind))
        i++;
    if (!t->lines && (i == COUNT_OF(kinds) || kinds[i].take != on_head))
        return WRONG(t, "the first line must be of kind %s", TABLE_RECORD_KIND);
    if (t->ended)
        return WRONG(t, "nothing may follow the line of kind %s", "end");
    int rc = i < COUNT_OF(kinds) ? kinds[i].take(t, line) : TL_OK; /* others are of a later version */
    t->lines++;
    hash_add(t->hash, line->raw.ptr, line->raw.len);
    hash_add(t->hash, "\n", 1);
    arena_free(&t->in.arena);
    return rc;
}

/* The record itself, so that the catalog knows its file. */
static int put_record(struct tables *t, const char *path, const struct sha256 *sum, int64_t bytes) {
    struct store_table own = {.id = t->id,
                              .path = path,
                              .kind = STORE_RECORDS,
                              .format = "jsonl",
                              .name = t->did,
                              .version = "v1",
                              .rows = t->lines,
                              .bytes = bytes,
                              .sha256 = *sum,
                              .written_us = t->at_us};
    if (!t->ended)
        return WRONG(t, "%.500s: its last lines are missing", t->file);
    int rc = store_table_put(t->s, &own, t->why);
    return rc ? store_failed(t, rc) : TL_OK;
}

static int read_record(struct tables *t, int fd, const char *path) {
    struct sha256 sum;
    int64_t bytes;
    if (hash_file(fd, &sum, &bytes) || lseek(fd, 0, SEEK_SET) < 0)
        return fail_errno(t->why, TL_FAILED, "cannot read the record of tables %.500s", t->file);
    int rc = store_begin(t->s, t->why);
    if (rc)
        return rc;
    rc = package_read(fd, t->file, on_line, t, t->why);
    if (!rc)
        rc = put_record(t, path, &sum, bytes);
    if (!rc)
        return store_commit(t->s, t->why);
    store_rollback(t->s);
    return rc;
}

int rebuild_tables(struct store *s, struct lake *l, const char *path, int64_t *files, struct fail *why) {
    const char *name = strrchr(path, '/');
    struct tables t = {.s = s, .in = {.scratch = {.max = PACKAGE_LINE_MAX}, .why = why}, .why = why};
    struct store_table known;
    AUTO_BUF struct buf file = BUF_INIT, place = BUF_INIT;
    AUTO_CLOSE int fd = -1;
    *files = 0;
    if (!name || strlen(name) < UUID_TEXT || uuid_parse((struct tl_span){name + 1, UUID_TEXT - 1}, &t.id))
        return WRONG(&t, "it is no record of tables: they are named %s", "ID.jsonl");
    lake_tables_file(&place, &t.id);
    if (strcmp(place.data, path) != 0)
        return WRONG(&t, "it is no record of tables, or in another place than %s", place.data);
    int rc = store_table_find(s, &t.id, "jsonl", &known, why);
    if (rc != TL_NOTFOUND)
        return rc;
    rc = lake_open_file(l, path, &fd, why);
    if (rc)
        return rc;
    buf_printf(&file, "%s/%s", lake_path(l), path);
    t.file = file.data;
    t.hash = hash_new();
    rc = read_record(&t, fd, path);
    *files = rc ? 0 : t.files;
    hash_free(t.hash);
    free(t.did);
    arena_free(&t.in.arena);
    buf_free(&t.in.scratch);
    return rc;
}

/* ---- replaced and gone */

struct gone {
    struct lake *l;
    int64_t *key;
    size_t count, room;
};

static int add_gone(void *ctx, const struct store_table *f) {
    struct gone *g = ctx;
    AUTO_CLOSE int fd = -1;
    if (lake_open_file(g->l, f->path, &fd, NULL) != TL_NOTFOUND)
        return 0;
    MEM_GROW(g->key, g->count, g->room);
    g->key[g->count++] = f->key;
    return 0;
}

int rebuild_tables_end(struct store *s, struct lake *l, struct fail *why) {
    struct gone g = {.l = l};
    int rc = TL_OK;
    for (int i = 0; !rc && i < FORMATS; i++)
        rc = store_table_each(s, STORE_ITEMS, formats[i], true, add_gone, &g, why);
    if (!rc && g.count && (rc = store_begin(s, why)) == TL_OK) {
        for (size_t i = 0; !rc && i < g.count; i++)
            rc = store_table_forget(s, g.key[i]);
        if (rc) {
            store_rollback(s);
            fail_set(why, rc, "the rebuilt catalog did not forget the files that are gone");
        } else
            rc = store_commit(s, why);
    }
    free(g.key);
    return rc;
}
