/* sqlite_names.c - names that stand once in the catalog and are known by their keys: collectors, targets, hosts,
 * folders, owners.
 *
 * Keys are kept in a table in memory, so that a run costs no look-ups for them. It starts afresh when it holds
 * NAMES_MAX names. */
#include "store/sqlite.h"

#include <string.h>

#include "base/mem.h"

enum { NAMES_MAX = 1 << 16 };

static uint64_t name_hash(struct store *s, char kind, const char *text, size_t len) {
    return (hash_sip(&s->hash, text, len) + (uint64_t)(unsigned char)kind * 0x9E3779B97F4A7C15u) | 1;
}

int64_t sqlite_name_find(struct store *s, char kind, const char *text, size_t len) {
    const struct sqlite_names *n = &s->names;
    if (!n->count)
        return 0;
    uint64_t hash = name_hash(s, kind, text, len);
    for (size_t at = hash >> 1;; at++) {
        const struct sqlite_name *slot = &n->slot[at & (n->room - 1)];
        if (!slot->hash)
            return 0;
        if (slot->hash == hash && slot->len == len && slot->text[0] == kind && memcmp(slot->text + 1, text, len) == 0)
            return slot->key;
    }
}

static void place(struct sqlite_names *n, struct sqlite_name name) {
    size_t at = name.hash >> 1;
    while (n->slot[at & (n->room - 1)].hash)
        at++;
    n->slot[at & (n->room - 1)] = name;
}

static void grow(struct sqlite_names *n) {
    struct sqlite_names old = *n;
    n->room = old.room ? old.room * 2 : 256;
    n->slot = mem_alloc(n->room * sizeof *n->slot);
    for (size_t i = 0; i < old.room; i++)
        if (old.slot[i].hash)
            place(n, old.slot[i]);
    free(old.slot);
}

void sqlite_name_add(struct store *s, char kind, const char *text, size_t len, int64_t key) {
    struct sqlite_names *n = &s->names;
    if (n->count >= NAMES_MAX)
        sqlite_names_free(n);
    if ((n->count + 1) * 2 > n->room)
        grow(n);
    char *copy = mem_array(NULL, len + 1, 1);
    copy[0] = kind;
    if (len)
        memcpy(copy + 1, text, len);
    place(n, (struct sqlite_name){.hash = name_hash(s, kind, text, len), .text = copy, .len = len, .key = key});
    n->count++;
}

void sqlite_names_free(struct sqlite_names *n) {
    for (size_t i = 0; i < n->room; i++)
        free(n->slot[i].text);
    free(n->slot);
    *n = (struct sqlite_names){0};
}

/* A name that is nothing but a name. add_sql NULL: it is only looked for. */
static int plain_name(struct store *s, char kind, struct tl_span name, enum sqlite_id find, const char *find_sql,
                      enum sqlite_id add, const char *add_sql, int64_t *key) {
    *key = sqlite_name_find(s, kind, name.ptr, name.len);
    if (*key)
        return TL_OK;
    sqlite3_stmt *st = sqlite_sql(s, find, find_sql);
    if (!st)
        return TL_FAILED;
    sqlite3_bind_text64(st, 1, name.ptr, name.len, SQLITE_STATIC, SQLITE_UTF8);
    int rc = sqlite_row(s, st);
    if (rc < 0)
        return rc;
    if (rc) {
        *key = col_int(st, 0);
        sqlite3_reset(st);
    } else {
        if (!add_sql)
            return TL_NOTFOUND;
        if (!sqlite_writing(s) || !(st = sqlite_sql(s, add, add_sql)))
            return TL_FAILED;
        sqlite3_bind_text64(st, 1, name.ptr, name.len, SQLITE_STATIC, SQLITE_UTF8);
        if (sqlite_done(s, st) < 0)
            return TL_FAILED;
        *key = sqlite3_last_insert_rowid(s->db);
    }
    sqlite_name_add(s, kind, name.ptr, name.len, *key);
    return TL_OK;
}

int store_host(struct store *s, struct tl_span host_port, int64_t *key) {
    return plain_name(s, 'h', host_port, SQL_HOST_FIND, "SELECT key FROM host WHERE name = ?1", SQL_HOST_ADD,
                      "INSERT INTO host (name) VALUES (?1)", key);
}

int store_host_find(struct store *s, struct tl_span host_port, int64_t *key) {
    return plain_name(s, 'h', host_port, SQL_HOST_FIND, "SELECT key FROM host WHERE name = ?1", SQL_HOST_ADD, NULL,
                      key);
}

int sqlite_folder(struct store *s, const char *path, int64_t *key) {
    return plain_name(s, 'f', span_of(path), SQL_FOLDER_FIND, "SELECT key FROM folder WHERE path = ?1", SQL_FOLDER_ADD,
                      "INSERT INTO folder (path) VALUES (?1)", key);
}

int sqlite_owner(struct store *s, const char *name, int64_t *key) {
    return plain_name(s, 'o', span_of(name), SQL_OWNER_FIND, "SELECT key FROM owner WHERE name = ?1", SQL_OWNER_ADD,
                      "INSERT INTO owner (name) VALUES (?1)", key);
}

static bool differs(sqlite3_stmt *st, int at, const char *text) {
    const char *old = col_text(st, at);
    return text && (!old || strcmp(old, text) != 0);
}

int store_collector(struct store *s, const char *name, const char *version, const char *summary, const char *sha256,
                    int64_t *key) {
    sqlite3_stmt *st = sqlite_sql(s, SQL_COLLECTOR_FIND,
                                  "SELECT key, summary, sha256 FROM collector WHERE name = ?1 AND version = ?2");
    if (!st)
        return TL_FAILED;
    bind_text(st, 1, name);
    bind_text(st, 2, version);
    int rc = sqlite_row(s, st);
    if (rc < 0)
        return rc;
    bool found = rc, changed = false;
    if (found) {
        *key = col_int(st, 0);
        changed = differs(st, 1, summary) || differs(st, 2, sha256);
        sqlite3_reset(st);
        if (!changed)
            return TL_OK;
    }
    if (!sqlite_writing(s))
        return TL_FAILED;
    st = found ? sqlite_sql(s, SQL_COLLECTOR_SET,
                            "UPDATE collector SET summary = coalesce(?3, summary), sha256 = coalesce(?4, sha256) "
                            "WHERE name = ?1 AND version = ?2")
               : sqlite_sql(
                     s, SQL_COLLECTOR_ADD,
                     "INSERT INTO collector (name, version, summary, sha256, first_us) VALUES (?1, ?2, ?3, ?4, ?5)");
    if (!st)
        return TL_FAILED;
    bind_text(st, 1, name);
    bind_text(st, 2, version);
    bind_text(st, 3, summary);
    bind_text(st, 4, sha256);
    if (!found)
        bind_int(st, 5, store_now_us(s));
    if (sqlite_done(s, st) < 0)
        return TL_FAILED;
    if (!found)
        *key = sqlite3_last_insert_rowid(s->db);
    return TL_OK;
}

int store_target(struct store *s, const char *org, const char *project, const char *name, int64_t *key) {
    const char *part[3] = {org && *org ? org : NULL, project && *project ? project : NULL, name && *name ? name : NULL};
    sqlite3_stmt *st = sqlite_sql(s, SQL_TARGET_FIND,
                                  "SELECT key FROM target WHERE ifnull(org, '') = ifnull(?1, '') AND "
                                  "ifnull(project, '') = ifnull(?2, '') AND ifnull(name, '') = ifnull(?3, '')");
    if (!st)
        return TL_FAILED;
    for (int i = 0; i < 3; i++)
        bind_text(st, i + 1, part[i]);
    int rc = sqlite_row(s, st);
    if (rc < 0)
        return rc;
    if (rc) {
        *key = col_int(st, 0);
        sqlite3_reset(st);
        return TL_OK;
    }
    if (!sqlite_writing(s) ||
        !(st = sqlite_sql(s, SQL_TARGET_ADD, "INSERT INTO target (org, project, name) VALUES (?1, ?2, ?3)")))
        return TL_FAILED;
    for (int i = 0; i < 3; i++)
        bind_text(st, i + 1, part[i]);
    if (sqlite_done(s, st) < 0)
        return TL_FAILED;
    *key = sqlite3_last_insert_rowid(s->db);
    return TL_OK;
}

/* One row of up to three texts by its key; they live in s->name_text until the next call. */
static int texts_of(struct store *s, enum sqlite_id id, const char *sql, int64_t key, const char **out, int count) {
    sqlite3_stmt *st = sqlite_sql(s, id, sql);
    if (!st)
        return TL_FAILED;
    bind_int(st, 1, key);
    int rc = sqlite_row(s, st);
    if (rc <= 0)
        return rc < 0 ? rc : TL_NOTFOUND;
    size_t at[3] = {0};
    buf_reset(&s->name_text);
    for (int i = 0; i < count; i++) {
        at[i] = s->name_text.len;
        buf_add(&s->name_text, col_span(st, i).ptr, col_span(st, i).len);
        buf_char(&s->name_text, '\0');
    }
    for (int i = 0; i < count; i++)
        out[i] = sqlite3_column_type(st, i) == SQLITE_NULL ? NULL : s->name_text.data + at[i];
    sqlite3_reset(st);
    return TL_OK;
}

int store_collector_name(struct store *s, int64_t key, const char **name, const char **version) {
    const char *text[2];
    int rc = texts_of(s, SQL_COLLECTOR_GET, "SELECT name, version FROM collector WHERE key = ?1", key, text, 2);
    if (rc == TL_OK) {
        *name = text[0];
        *version = text[1];
    }
    return rc;
}

int store_target_name(struct store *s, int64_t key, const char **org, const char **project, const char **name) {
    const char *text[3];
    int rc = texts_of(s, SQL_TARGET_GET, "SELECT org, project, name FROM target WHERE key = ?1", key, text, 3);
    if (rc == TL_OK) {
        *org = text[0];
        *project = text[1];
        *name = text[2];
    }
    return rc;
}

int store_host_name(struct store *s, int64_t key, const char **host_port) {
    return texts_of(s, SQL_HOST_GET, "SELECT name FROM host WHERE key = ?1", key, host_port, 1);
}
