/* verify_tables.c - files of tables against the catalog, both ways: items, typed tables, rejects, and
 * the records of these. See verify.h.
 *
 * Size and SHA-256 are those of the moment in which a file was made durable, so a file that is cut or changed anywhere
 * is found, whatever its format. Files that others took the place of may be there or not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "engine/tracker_record.h"
#include "engine/verify_inside.h"
#include "lake/lake_tracked.h"
#include "store/tables.h"

/* ---- files against rows */

struct named { /* what the end of a file's name says */
    struct uuid id;
    char format[8];
};

static bool read_name(const char *path, struct named *out) {
    const char *name = strrchr(path, '/'), *dot = name ? strrchr(name, '.') : NULL;
    if (!dot || dot - name < UUID_TEXT || strlen(dot + 1) >= sizeof out->format)
        return false;
    memcpy(out->format, dot + 1, strlen(dot + 1) + 1);
    return uuid_parse((struct tl_span){dot - UUID_TEXT + 1, UUID_TEXT - 1}, &out->id) == TL_OK;
}

static bool is_record(const char *path) {
    return strncmp(path, LAKE_TABLES "/", sizeof LAKE_TABLES) == 0;
}

static void count(struct verify *v, const char *path) {
    if (is_record(path))
        v->sums->table_records++;
    else
        v->sums->tables++;
    verify_step(v);
}

/* Joined with others since the catalog was asked? Then it may be gone. */
static bool is_replaced(struct verify *v, const struct named *n) {
    struct store_table row;
    return store_table_find(v->o->store, &n->id, n->format, &row, NULL) == TL_NOTFOUND || row.replaced;
}

static void check_bytes(struct verify *v, const char *path, const struct store_table *row) {
    struct fail reason = FAIL_INIT;
    char said[SHA256_HEX], is[SHA256_HEX];
    struct sha256 sum, wanted = row->sha256;
    struct named n;
    int64_t bytes = row->bytes;
    AUTO_CLOSE int fd = -1;
    int rc = lake_open_file(v->o->lake, path, &fd, &reason);
    if (rc == TL_NOTFOUND && read_name(path, &n) && is_replaced(v, &n))
        return;
    if (rc)
        verify_problem(v, path, "it cannot be opened: %s", reason.text);
    else if (hash_file(fd, &sum, NULL))
        verify_problem(v, path, "it cannot be read");
    else if (memcmp(&sum, &wanted, sizeof sum) != 0)
        verify_problem(v, path, "it is damaged: its SHA-256 is %s, the catalog says %s",
                       hash_hex(sum.byte, SHA256_BYTES, is), hash_hex(wanted.byte, SHA256_BYTES, said));
    v->sums->bytes += bytes;
}

static void check_file(struct verify *v, const char *path, int64_t bytes, unsigned mode,
                       const struct store_table *row) {
    verify_mode(v, path, mode);
    if (bytes != row->bytes)
        verify_problem(v, path, "it is %s: it has %lld bytes, the catalog says %lld",
                       bytes < row->bytes ? "cut" : "too long", (long long)bytes, (long long)row->bytes);
    else if (!v->o->quick)
        check_bytes(v, path, row);
}

static int each_file(void *ctx, const char *path, int64_t bytes, unsigned mode) {
    struct verify *v = ctx;
    struct store_table row;
    struct named n;
    if (strstr(path, "/_delta_log/"))
        return TL_OK; /* a copy of what the catalog says (delta.h) */
    count(v, path);
    if (!read_name(path, &n)) {
        verify_problem(v, path, "it is no table file: their names end in a UUID");
        return TL_OK;
    }
    int rc = store_table_find(v->o->store, &n.id, n.format, &row, v->why);
    if (rc && rc != TL_NOTFOUND)
        return rc;
    if (rc && verify_there(v, path))
        verify_problem(
            v, path,
            is_record(path)
                ? "the catalog does not know this record of tables, being older or of another lake; trotline "
                  "rebuild makes one that does"
                : "the catalog does not know it, so its rows may be in other files, too; remove it, and make "
                  "what is missing again: trotline convert, trotline refine");
    if (rc)
        return TL_OK;
    if (strcmp(row.path, path) != 0)
        verify_problem(v, path, "the catalog has this file in another place: %s", row.path);
    else
        check_file(v, path, bytes, mode, &row);
    return TL_OK;
}

/* ---- rows against files */

struct known { /* files that are not replaced */
    struct named *file;
    size_t count, room;
};

static int add_known(void *ctx, const struct store_table *f) {
    struct known *k = ctx;
    MEM_GROW(k->file, k->count, k->room);
    struct named *n = &k->file[k->count++];
    *n = (struct named){.id = f->id};
    snprintf(n->format, sizeof n->format, "%s", f->format);
    return 0;
}

/* whole: also what is in it, which the walk has seen to when there was one. */
static int check_row(struct verify *v, const struct named *n, bool whole) {
    struct store_table row;
    char file[4096];
    struct stat st;
    int rc = store_table_find(v->o->store, &n->id, n->format, &row, v->why);
    if (rc)
        return rc == TL_NOTFOUND ? TL_OK : rc;
    AUTO_FREE char *path = mem_text(row.path);
    long long rows = row.rows;
    row.path = path;
    if (whole)
        count(v, path);
    if (!verify_there(v, path)) {
        if (!is_replaced(v, n))
            verify_problem(v, path, "it is gone: the catalog has it as a file of %lld %s", rows,
                           is_record(path) ? "lines" : "rows");
        return TL_OK;
    }
    snprintf(file, sizeof file, "%s/%s", lake_path(v->o->lake), path);
    if (whole && lstat(file, &st) == 0)
        check_file(v, path, st.st_size, st.st_mode & 07777, &row);
    return TL_OK;
}

/* Records of tracked names are written anew with each change: what rebuild would take is all that can be asked. */
static int each_tracked(void *ctx, const char *path, int64_t bytes, unsigned mode) {
    struct verify *v = ctx;
    struct fail reason = FAIL_INIT;
    (void)mode;
    if (bytes < 0)
        verify_problem(v, path, "%s", LAKE_NO_FILE);
    else if (!v->o->quick && tracker_record_read(v->o->lake, NULL, path, &reason) && verify_there(v, path))
        verify_problem(v, path, "%s", reason.text);
    v->sums->bytes += v->o->quick || bytes < 0 ? 0 : bytes;
    return TL_OK;
}

/* It may be on its way: a row is there a moment before its record. */
static int each_name(void *ctx, const struct store_row *row) {
    struct verify *v = ctx;
    AUTO_FREE char *name = mem_text_n(row->value[0].text.ptr, row->value[0].text.len);
    AUTO_BUF struct buf path = BUF_INIT, text = BUF_INIT;
    char file[4096];
    struct stat st;
    lake_tracked_path(&path, name);
    snprintf(file, sizeof file, "%s/%s", lake_path(v->o->lake), path.data);
    if (lstat(file, &st) == 0)
        return TL_OK;
    buf_printf(&text,
               "%.200s is tracked, and has no record, so a rebuild would not bring it back: trotline track add %.200s "
               "writes it",
               name, name);
    v->sums->warnings++;
    v->o->warning(v->o->ctx, path.data, text.data);
    return TL_OK;
}

int verify_tables(struct verify *v, int64_t root) {
    static const char *const folder[] = {LAKE_ITEMS, LAKE_TYPED, LAKE_REJECTS, LAKE_TABLES};
    struct known known = {0};
    int rc = TL_OK;
    for (size_t i = 0; !root && !rc && i < COUNT_OF(folder); i++)
        rc = lake_walk(v->o->lake, folder[i], each_file, v, v->why);
    if (!root && !rc)
        rc = lake_walk_any(v->o->lake, LAKE_TRACKED, each_tracked, v, v->why);
    if (!root && !rc)
        rc = store_query(v->o->store, "SELECT name FROM tracked", NULL, 0, each_name, v, v->why);
    if (!rc)
        rc = store_table_of(v->o->store, root, add_known, &known, v->why);
    for (size_t i = 0; !rc && i < known.count; i++)
        rc = check_row(v, &known.file[i], root != 0);
    free(known.file);
    return rc;
}
