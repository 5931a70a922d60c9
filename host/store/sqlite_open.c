/* sqlite_open.c - opening and closing a catalog in SQLite, and what its errors mean for a person.
 *
 * A catalog that is open for reading is never changed, also not by SQLite itself; one that is open for writing has its
 * turn file beside it. Both work while others write. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "store/sqlite.h"

int sqlite_classify(int rc, int system_errno) {
    switch (rc & 0xff) {
    case SQLITE_FULL:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        return EXIT_DISK;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return EXIT_DAMAGED;
    case SQLITE_IOERR:
        return rc == SQLITE_IOERR_SHORT_READ || rc == SQLITE_IOERR_DATA ? EXIT_DAMAGED
               : system_errno == ENOSPC || system_errno == EDQUOT || system_errno == EROFS || system_errno == EIO
                   ? EXIT_DISK
                   : 0;
    default:
        return 0;
    }
}

const char *store_library(void) {
    static char text[40];
    if (!text[0])
        snprintf(text, sizeof text, "SQLite %s", sqlite3_libversion());
    return text;
}

static int on_commit(void *ctx, sqlite3 *db, const char *name, int pages) {
    (void)db;
    (void)name;
    ((struct store *)ctx)->wal_pages = pages;
    return SQLITE_OK;
}

/* Foreign keys are declared and checked (store_check), not enforced row by row: that would cost 30 of 70 us a page,
 * most of it where a run's row is changed. Every key that is written was read from the catalog by the same process. */
static int set_up(struct store *s, struct fail *why) {
    static const char *const both = "PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY;";
    static const char *const writer =
        "PRAGMA synchronous = FULL; PRAGMA secure_delete = OFF; PRAGMA foreign_keys = OFF;"
        "PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 67108864;";
    sqlite3_extended_result_codes(s->db, 1);
    sqlite3_busy_timeout(s->db, 30000);
    int rc = sqlite3_exec(s->db, both, NULL, NULL, NULL);
    if (rc == SQLITE_OK && s->mode == STORE_WRITE)
        rc = sqlite3_exec(s->db, writer, NULL, NULL, NULL);
    if (rc == SQLITE_OK && s->mode == STORE_READ)
        rc = sqlite3_exec(s->db, "PRAGMA query_only = ON", NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        return sqlite_answer(s, sqlite_fault(s, rc, "open"), why);
    sqlite3_wal_hook(s->db, on_commit, s);
    return TL_OK;
}

static int open_file(struct store *s, struct fail *why) {
    struct stat st;
    if (stat(s->path, &st) < 0 && (s->mode == STORE_READ || errno != ENOENT)) {
        bool absent = errno == ENOENT;
        return absent ? fail_exit(why, TL_NOTFOUND, EXIT_USAGE,
                                  "there is no catalog %s yet: a first crawl makes it, or name another with --config",
                                  s->path)
                      : fail_errno(why, TL_FAILED, "cannot open the catalog %s", s->path);
    }
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS,
                   0); /* nobody reads them; takes effect before the first use, else is refused */
    int flags = SQLITE_OPEN_NOMUTEX |
                (s->mode == STORE_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    int rc = sqlite3_open_v2(s->path, &s->db, flags, NULL);
    if (rc != SQLITE_OK)
        return sqlite_answer(s, sqlite_fault(s, rc, "open"), why);
    return TL_OK;
}

static int open_turn(struct store *s, struct fail *why) {
    AUTO_BUF struct buf path = BUF_INIT;
    buf_printf(&path, "%s.turn", s->path);
    s->turn = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (s->turn < 0) {
        int error = errno;
        fail_errno(why, TL_FAILED, "cannot open %s, at which writers of the catalog queue", path.data);
        if (why && (error == EACCES || error == EPERM || error == ENOENT || error == ENOTDIR))
            why->exit_code = EXIT_DISK;
        return TL_FAILED;
    }
    return TL_OK;
}

int store_open(const char *where, enum store_mode mode, struct store **out, struct fail *why) {
    *out = NULL;
    if (!where || !*where)
        return fail_exit(why, TL_INVALID, EXIT_CONFIG, "no catalog is named");
    if (strncmp(where, "postgresql://", 13) == 0 || strncmp(where, "postgres://", 11) == 0)
        return fail_exit(why, TL_UNSUPPORTED, EXIT_CONFIG, "this build keeps catalogs in files only: it knows no %s",
                         where);
    struct store *s = mem_alloc(sizeof *s);
    s->mode = mode;
    s->turn = -1;
    /* "./" keeps SQLite from reading a meaning into :memory: and file: */
    AUTO_BUF struct buf path = BUF_INIT;
    buf_printf(&path, "%s%s", *where == '/' ? "" : "./", where);
    s->path = mem_text(path.data);
    if (getrandom(&s->hash, sizeof s->hash, 0) != (ssize_t)sizeof s->hash)
        s->hash = (struct hash_key){(uint64_t)(uintptr_t)s, (uint64_t)store_now_us(s)};
    int rc = open_file(s, why);
    if (rc == TL_OK && mode == STORE_WRITE)
        rc = open_turn(s, why);
    if (rc == TL_OK)
        rc = set_up(s, why);
    if (rc == TL_OK)
        rc = sqlite_schema(s, why);
    if (rc < 0) {
        store_close(s);
        return rc;
    }
    *out = s;
    return TL_OK;
}

void store_close(struct store *s) {
    if (!s)
        return;
    store_rollback(s);
    for (size_t i = 0; i < SQL_IDS; i++)
        sqlite3_finalize(s->stmt[i]);
    sqlite3_close(s->db);
    if (s->turn >= 0)
        close(s->turn);
    sqlite_forget(s);
    for (size_t i = 0; i < SQLITE_PATHS; i++) {
        free(s->path_of[i].step);
        free(s->path_of[i].id);
    }
    free(s->root);
    free(s->path);
    buf_free(&s->crawl_text);
    buf_free(&s->url_text);
    buf_free(&s->name_text);
    free(s);
}
