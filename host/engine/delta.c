/* delta.c - see delta.h. */
#include "engine/delta.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/times.h"
#include "engine/delta_replay.h"
#include "engine/version.h"

enum { TRIES_MAX = 8 };

struct updating {
    struct store *store;
    struct lake *lake;
    const struct table_entry *entry;
    struct fail *why;
    struct delta_replay log;
    struct listed *now; /* what the catalog says */
    size_t count, room;
    struct buf commit; /* what is appended */
    int64_t added, removed, added_rows, removed_rows;
    bool late; /* a file is not in its place yet */
};

/* ---- what the catalog says */

struct listed {
    char *path; /* below the table's root */
    int64_t bytes, rows, written_us;
};

static int add_file(void *ctx, const struct store_table *f) {
    struct updating *u = ctx;
    size_t len = strlen(u->entry->root);
    if (strncmp(f->path, u->entry->root, len) != 0 || f->path[len] != '/')
        return fail_exit(u->why, TL_INVALID, EXIT_DAMAGED, "the catalog's table file %s is not below %s", f->path,
                         u->entry->root);
    MEM_GROW(u->now, u->count, u->room);
    u->now[u->count++] = (struct listed){mem_text(f->path + len + 1), f->bytes, f->rows, f->written_us};
    return 0;
}

static int by_path(const void *a, const void *b) {
    return strcmp(((const struct listed *)a)->path, ((const struct listed *)b)->path);
}

static int read_catalog(struct updating *u) {
    int rc = table_list_files(u->store, u->entry, "parquet", add_file, u, u->why);
    if (u->count)
        qsort(u->now, u->count, sizeof *u->now, by_path);
    return rc;
}

/* ---- actions */

static void put_field(struct json_writer *w, const char *name, const char *type, const char *about) {
    json_object_begin(w);
    json_member_string(w, "name", name);
    if (type)
        json_member_string(w, "type", type);
    else {
        json_put_key(w, "type");
        json_object_begin(w);
        json_member_string(w, "type", "array");
        json_member_string(w, "elementType", "string");
        json_member_bool(w, "containsNull", true);
        json_object_end(w);
    }
    json_member_bool(w, "nullable", true);
    json_put_key(w, "metadata");
    json_object_begin(w);
    if (about)
        json_member_string(w, "comment", about);
    json_object_end(w);
    json_object_end(w);
}

/* The columns of the files, then those that stand in paths. */
static void put_schema(const struct table_entry *e, struct buf *out) {
    static const char *const type[] = {[COLUMN_TEXT] = "string",  [COLUMN_INT] = "long",       [COLUMN_REAL] = "double",
                                       [COLUMN_BOOL] = "boolean", [COLUMN_TIME] = "timestamp", [COLUMN_LIST] = NULL};
    struct json_writer w = JSON_WRITER(out);
    json_object_begin(&w);
    json_member_string(&w, "type", "struct");
    json_put_key(&w, "fields");
    json_array_begin(&w);
    for (size_t i = 0; i < e->table.count; i++)
        put_field(&w, e->table.columns[i].name, type[e->table.columns[i].type], e->table.columns[i].doc);
    for (size_t i = 0; e->partition[i]; i++)
        put_field(&w, e->partition[i], "string", NULL);
    json_array_end(&w);
    json_object_end(&w);
}

static void put_meta(struct updating *u, const char *schema) {
    struct json_writer w = JSON_WRITER(&u->commit);
    struct uuid fresh = uuid_new();
    char id[UUID_TEXT];
    json_object_begin(&w);
    json_put_key(&w, "metaData");
    json_object_begin(&w);
    json_member_string(&w, "id", u->log.id.len ? u->log.id.data : uuid_text(&fresh, id));
    json_member_string(&w, "name", u->entry->name);
    json_put_key(&w, "format");
    json_object_begin(&w);
    json_member_string(&w, "provider", "parquet");
    json_put_key(&w, "options");
    json_object_begin(&w);
    json_object_end(&w);
    json_object_end(&w);
    json_member_string(&w, "schemaString", schema);
    json_put_key(&w, "partitionColumns");
    json_array_begin(&w);
    for (size_t i = 0; u->entry->partition[i]; i++)
        json_put_text(&w, u->entry->partition[i]);
    json_array_end(&w);
    json_put_key(&w, "configuration");
    json_object_begin(&w);
    json_object_end(&w);
    json_member_int(&w, "createdTime", time_now_us() / 1000);
    json_object_end(&w);
    json_object_end(&w);
    buf_char(&u->commit, '\n');
}

static void put_protocol(struct updating *u) {
    buf_lit(&u->commit, "{\"protocol\":{\"minReaderVersion\":1,\"minWriterVersion\":2}}\n");
}

static void put_path(struct json_writer *w, const char *path) {
    AUTO_BUF struct buf uri = BUF_INIT;
    delta_replay_escape(&uri, path);
    json_member_span(w, "path", buf_span(&uri));
}

static void put_partitions(struct updating *u, struct json_writer *w, const char *path) {
    json_put_key(w, "partitionValues");
    json_object_begin(w);
    for (size_t i = 0; u->entry->partition[i]; i++) {
        AUTO_BUF struct buf full = BUF_INIT, value = BUF_INIT;
        buf_printf(&full, "%s/%s", u->entry->root, path);
        if (table_list_value(full.data, u->entry->partition[i], &value))
            json_member_span(w, u->entry->partition[i], buf_span(&value));
        else
            json_member_null(w, u->entry->partition[i]);
    }
    json_object_end(w);
}

static void put_add(struct updating *u, const struct listed *f, bool change) {
    AUTO_BUF struct buf stats = BUF_INIT;
    struct json_writer w = JSON_WRITER(&u->commit);
    buf_printf(&stats, "{\"numRecords\":%lld}", (long long)f->rows);
    json_object_begin(&w);
    json_put_key(&w, "add");
    json_object_begin(&w);
    put_path(&w, f->path);
    put_partitions(u, &w, f->path);
    json_member_int(&w, "size", f->bytes);
    json_member_int(&w, "modificationTime", f->written_us / 1000);
    json_member_bool(&w, "dataChange", change);
    json_member_span(&w, "stats", buf_span(&stats));
    json_object_end(&w);
    json_object_end(&w);
    buf_char(&u->commit, '\n');
}

static void put_remove(struct updating *u, const struct delta_file *f, bool change) {
    struct json_writer w = JSON_WRITER(&u->commit);
    json_object_begin(&w);
    json_put_key(&w, "remove");
    json_object_begin(&w);
    put_path(&w, f->path);
    json_member_int(&w, "deletionTimestamp", time_now_us() / 1000);
    json_member_bool(&w, "dataChange", change);
    json_member_bool(&w, "extendedFileMetadata", true);
    put_partitions(u, &w, f->path);
    json_member_int(&w, "size", f->bytes);
    json_object_end(&w);
    json_object_end(&w);
    buf_char(&u->commit, '\n');
}

static void put_info(struct updating *u, const char *operation) {
    struct json_writer w = JSON_WRITER(&u->commit);
    json_object_begin(&w);
    json_put_key(&w, "commitInfo");
    json_object_begin(&w);
    json_member_int(&w, "timestamp", time_now_us() / 1000);
    json_member_string(&w, "operation", operation);
    json_put_key(&w, "operationParameters");
    json_object_begin(&w);
    json_object_end(&w);
    json_member_bool(&w, "isBlindAppend", u->removed == 0);
    json_member_string(&w, "engineInfo", "trotline/" TROTLINE_VERSION);
    json_object_end(&w);
    json_object_end(&w);
    buf_char(&u->commit, '\n');
}

/* ---- one commit */

/* Known, but still in the staging folder of a process that is about to publish it, and to say so in the log? */
static bool is_late(const struct updating *u, const char *path) {
    AUTO_BUF struct buf file = BUF_INIT;
    AUTO_CLOSE int fd = -1;
    size_t below = strlen(lake_path(u->lake)) + 1;
    buf_printf(&file, "%s/%s/%s", lake_path(u->lake), u->entry->root, path);
    return access(file.data, F_OK) < 0 && lake_open_file(u->lake, file.data + below, &fd, NULL) == TL_OK;
}

/* Goes through both sorted lists; counts, or writes. */
static void compare(struct updating *u, bool write, bool change) {
    size_t i = 0, k = 0;
    u->added = u->removed = u->added_rows = u->removed_rows = 0;
    while (i < u->log.count || k < u->count) {
        int order = i == u->log.count ? 1 : k == u->count ? -1 : strcmp(u->log.file[i].path, u->now[k].path);
        if (order < 0) {
            u->removed++;
            u->removed_rows += u->log.file[i].rows;
            if (write)
                put_remove(u, &u->log.file[i], change);
        } else if (order > 0) {
            u->added++;
            u->added_rows += u->now[k].rows;
            u->late = u->late || is_late(u, u->now[k].path);
            if (write)
                put_add(u, &u->now[k], change);
        }
        i += order <= 0;
        k += order >= 0;
    }
}

/* What the log lacks, as one commit; empty: nothing. Files that were only joined are no change of the data. */
static void make_commit(struct updating *u) {
    AUTO_BUF struct buf schema = BUF_INIT;
    bool fresh = u->log.version < 0;
    buf_reset(&u->commit);
    put_schema(u->entry, &schema);
    bool same = u->log.schema.data && strcmp(u->log.schema.data, schema.data) == 0;
    compare(u, false, false);
    if ((same && !u->added && !u->removed) || u->late)
        return;
    bool joined = u->removed && u->added && u->removed_rows == u->added_rows;
    put_info(u, fresh ? "CREATE TABLE" : joined ? "OPTIMIZE" : "WRITE");
    if (fresh)
        put_protocol(u);
    if (!same)
        put_meta(u, schema.data);
    compare(u, true, !joined);
}

static int make_durable(struct updating *u) {
    AUTO_BUF struct buf folder = BUF_INIT;
    buf_printf(&folder, "%s/%s/" DELTA_LOG, lake_path(u->lake), u->entry->root);
    AUTO_CLOSE int fd = open(folder.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && fsync(fd) == 0 ? TL_OK : fail_errno(u->why, TL_FAILED, "cannot make durable %s", folder.data);
}

/* The rename tells whether this version is still free: TL_REFUSED when somebody else was first. */
static int append(struct updating *u) {
    AUTO_BUF struct buf name = BUF_INIT, path = BUF_INIT;
    struct uuid id = uuid_new();
    char text[UUID_TEXT];
    buf_printf(&name, "%s.delta.part", uuid_text(&id, text));
    delta_replay_name(&path, u->entry->root, u->log.version + 1);
    int rc = lake_stage(u->lake, name.data, buf_span(&u->commit), u->why);
    if (!rc)
        rc = lake_publish(u->lake, name.data, path.data, u->why);
    if (!rc)
        return make_durable(u);
    AUTO_BUF struct buf staged = BUF_INIT;
    buf_printf(&staged, "%s/%s", lake_staging(u->lake), name.data);
    unlink(staged.data);
    return u->why && u->why->exit_code == EXIT_DAMAGED ? TL_REFUSED : rc;
}

static void forget(struct updating *u) {
    for (size_t i = 0; i < u->count; i++)
        free(u->now[i].path);
    u->count = 0;
    delta_replay_free(&u->log);
}

/* make: also when there is no log yet. 1: a file is not in its place yet, and nothing was done. */
static int update(struct updating *u, bool make, struct delta_state *out) {
    int rc = TL_REFUSED;
    for (int i = 0; rc == TL_REFUSED && i < TRIES_MAX; i++) {
        forget(u);
        u->late = false;
        rc = delta_replay_read(u->lake, u->entry->root, &u->log, u->why);
        if (rc || (!make && u->log.version < 0))
            break;
        rc = read_catalog(u);
        if (rc)
            break;
        make_commit(u);
        if (u->commit.len && (rc = append(u)) == TL_OK)
            u->log.version++;
    }
    *out = (struct delta_state){.version = u->log.version, .added = u->added, .removed = u->removed};
    forget(u);
    free(u->now);
    buf_free(&u->commit);
    return rc ? rc : u->late;
}

int delta_make(struct store *s, struct lake *l, const struct table_entry *e, struct delta_state *out,
               struct fail *why) {
    struct fail reason = FAIL_INIT;
    struct updating u = {.store = s, .lake = l, .entry = e, .why = &reason};
    int rc = update(&u, true, out);
    if (rc > 0)
        rc = fail_set(&reason, TL_FAILED,
                      "cannot make the Delta log of %s: some of its files are being published; again, "
                      "please",
                      e->name);
    if (rc && why)
        *why = reason;
    return rc;
}

int delta_update(struct store *s, struct lake *l, struct fail *why) {
    struct fail reason = FAIL_INIT;
    struct table_list list;
    struct delta_state state;
    bool late = false;
    int rc = table_list_read(s, NULL, &list, &reason);
    for (size_t i = 0; rc >= 0 && i < list.count; i++) {
        struct updating u = {.store = s, .lake = l, .entry = &list.entry[i], .why = &reason};
        rc = update(&u, false, &state);
        late = late || rc > 0;
    }
    table_list_free(&list);
    if (rc < 0 && why)
        *why = reason;
    return rc < 0 ? rc : late;
}
