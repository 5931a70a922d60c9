/* sqlite.h - private to the SQLite implementation of the store: the open catalog, its statements, and what it keeps in
 * memory.
 *
 * Invariants: a statement that failed breaks the transaction (s->broken), so that whoever forgets to look at a status
 * cannot commit half of it; the reason is that of the first failure. What is cached (keys of names, scopes, paths,
 * counters not written yet) is right because one supervisor drives a root, and is dropped when a transaction is rolled
 * back. */
#ifndef TROTLINE_STORE_SQLITE_H
#define TROTLINE_STORE_SQLITE_H
#include <sqlite3.h>

#include "store/store.h"

enum { SQLITE_APPLICATION = 0x54524F54, SQLITE_SCHEMA_VERSION = 1 }; /* 'TROT'; user_version */

enum { SQLITE_ANCESTORS = 8 };
/* Prepared once, kept until the catalog is closed. */
enum sqlite_id {
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_COLLECTOR_FIND,
    SQL_COLLECTOR_ADD,
    SQL_COLLECTOR_SET,
    SQL_COLLECTOR_GET,
    SQL_TARGET_FIND,
    SQL_TARGET_ADD,
    SQL_TARGET_GET,
    SQL_HOST_FIND,
    SQL_HOST_ADD,
    SQL_HOST_GET,
    SQL_FOLDER_FIND,
    SQL_FOLDER_ADD,
    SQL_OWNER_FIND,
    SQL_OWNER_ADD,
    SQL_SCOPE_FIND,
    SQL_SCOPE_ADD,
    SQL_SCOPE_LOAD,
    SQL_SCOPE_JSON,
    SQL_SCOPE_SPENT,
    SQL_SCOPE_ROOT,
    SQL_SCOPE_CRAWL,
    SQL_CRAWL_ADD,
    SQL_CRAWL_NEXT_KEY,
    SQL_CRAWL_NAME,
    SQL_CRAWL_OPEN,
    SQL_CRAWL_ID,
    SQL_CRAWL_SPENT,
    SQL_CRAWL_CLOSE,
    SQL_CRAWL_REASON,
    SQL_CRAWL_STOP,
    SQL_CRAWL_ASKED,
    SQL_CRAWL_REOPEN,
    SQL_DROP_REFUSALS,
    SQL_DROP_COUNT,
    SQL_DROP,
    SQL_RETRY_FAILED,
    SQL_PUT_FIND,
    SQL_PUT_PARENT,
    SQL_PUT_RUN,
    SQL_PUT_CHILDREN,
    SQL_PUT_MOVE,
    SQL_PUT_REACH,
    SQL_PUT_RESULT,
    SQL_PUT_UNPARENT,
    SQL_REFUSE_AGAIN,
    SQL_REFUSE,
    SQL_REFUSE_RUN,
    SQL_CLAIM_LEASED,
    SQL_CLAIM_SCAN,
    SQL_CLAIM_RUN,
    SQL_CLAIM_TAKE,
    SQL_CLAIM_PATH,
    SQL_CLAIM_SELF,
    SQL_OPEN_RUNS,
    SQL_BEAT,
    SQL_LEASE,
    SQL_RECOVER_OWNERS,
    SQL_RECOVER_RUNS,
    SQL_RECOVER_EVENT_OWNERS,
    SQL_RECOVER_EVENTS,
    SQL_FINISH_FIND,
    SQL_FINISH,
    SQL_DOCUMENT_OLD,
    SQL_DOCUMENT_ADD,
    SQL_RETRY,
    SQL_EVENT_ADD,
    SQL_EVENT_AGAIN,
    SQL_EVENT_REACH,
    SQL_EVENT_SCAN,
    SQL_EVENT_TAKE,
    SQL_EVENT_GET,
    SQL_EVENT_DONE,
    SQL_EVENT_FAIL,
    SQL_EVENT_COUNT,
    SQL_EVENT_NEAREST,
    SQL_EVENT_DUE,
    SQL_EVENT_ROOT,
    SQL_EVENT_PATH,
    SQL_STATE_GET,
    SQL_STATE_PUT,
    SQL_FIND_RUN,
    SQL_IMPORT_RUN,
    SQL_IMPORT_FIND,
    SQL_IMPORT_RESULT,
    SQL_IMPORT_EDGE,
    SQL_IMPORT_TIME,
    SQL_HOST_STATE,
    SQL_HOST_PACE,
    SQL_HOST_ROBOTS,
    SQL_VALIDATOR_GET,
    SQL_VALIDATOR_ANY,
    SQL_VALIDATOR_PUT,
    SQL_VALIDATOR_HIT,
    SQL_VALIDATOR_FORGET,
    SQL_URL_FIND,
    SQL_URL_ADD,
    SQL_URL_NEAR,
    SQL_URL_RECENT,
    SQL_URL_ANSWER,
    SQL_URL_SEEN,
    SQL_URL_DOCUMENT,
    SQL_MAP_FIND,
    SQL_MAP_NEXT,
    SQL_MAP_SINCE,
    SQL_MAP_END,
    SQL_MAP_ADD,
    SQL_CONVERTED,
    SQL_SOURCE,
    SQL_SOURCE_FIND,
    SQL_TYPE_FIND,
    SQL_REFINED,
    SQL_REFINED_FIND,
    SQL_LINK_NEWER,
    SQL_LINK_OLDER,
    SQL_LINK_ADD,
    SQL_LINK_SETS,
    SQL_LINK_BEHIND,
    SQL_LINK_DROP,
    SQL_LINK_ENTITY,
    SQL_LINK_ALIAS,
    SQL_LINK_URL,
    SQL_LINK_RESULT,
    SQL_LINK_UNSEEN,
    SQL_CANDIDATE,
    SQL_SIGHTING,
    SQL_WANTED,
    SQL_DISCOVERED,
    SQL_WATCH_PUT,
    SQL_WATCH_FIND,
    SQL_WATCH_ADD,
    SQL_WATCH_BEFORE,
    SQL_WATCH_AFTER,
    SQL_WATCH_VALUE,
    SQL_WATCH_MOVE,
    SQL_WATCH_FOLDED,
    SQL_ANCESTORS, /* 1 .. SQLITE_ANCESTORS rows at once */
    SQL_IDS = SQL_ANCESTORS + SQLITE_ANCESTORS
};

/* Text to key, in memory. The first byte of a text says what kind of name it is. */
struct sqlite_names {
    struct sqlite_name {
        uint64_t hash; /* 0: free */
        char *text;
        size_t len;
        int64_t key;
    } * slot;
    size_t count, room; /* room: a power of two */
};
struct sqlite_scope {
    struct store_scope at;
    int64_t runs_new, bytes_new; /* spent in this transaction, not written yet */
    char *json;                  /* at.json */
};
/* What could be claimed lies behind (reach, key): everything before waits for a blocked host, or for a time. */
struct sqlite_hint {
    int64_t reach, key, due_us; /* key 0: no hint */
    int64_t open_reach;         /* smallest reach among what was passed that counts as open; INT64_MAX: none */
    int64_t host[64];
    size_t hosts;
};
struct sqlite_root {
    int64_t root;
    struct sqlite_scope *scope; /* ascending by key */
    size_t scopes, scope_room;
    bool scopes_loaded;
    int64_t runs, failed, leashed, documents, bytes, queued, leased, events; /* to be added to the crawl's row */
    struct sqlite_hint hint;
};
struct sqlite_path { /* of a claimed run: root .. the run itself */
    int64_t run;     /* 0: free */
    size_t count, room;
    struct sqlite_step {
        int64_t key;
        struct uuid id;
    } * step;
    struct uuid *id; /* the ids alone */
};
enum { SQLITE_PATHS = 256 };

struct sqlite_parent { /* of the wishes at hand: they come one parent after the other */
    int64_t key, depth, reach, scope, children;
    int64_t more; /* children accepted, not written yet */
};
struct store {
    sqlite3 *db;
    enum store_mode mode;
    char *path;
    int turn; /* descriptor of CATALOG.turn, -1: none (reading) */
    bool active, broken;
    struct fail fail;
    sqlite3_stmt *stmt[SQL_IDS];
    struct hash_key hash;
    struct sqlite_names names;
    struct sqlite_root *root;
    size_t roots, root_room;
    struct sqlite_path path_of[SQLITE_PATHS];
    struct sqlite_parent put;
    struct buf crawl_text; /* texts of the last store_crawl handed out */
    struct buf url_text;   /* texts of the last host state or validator handed out */
    struct buf name_text;  /* of the last name handed out */
    int wal_pages;
};

/* ---- sqlite.c */
int sqlite_fault(struct store *s, int rc, const char *doing); /* remembers the reason; returns TL_FAILED */
TL_PRINTF(2, 3)
int sqlite_wrong(struct store *s, const char *fmt, ...);          /* the same, for a reason of ours: TL_INVALID */
int sqlite_answer(struct store *s, int status, struct fail *why); /* hands the reason out when status says so */
sqlite3_stmt *sqlite_sql(struct store *s, enum sqlite_id id, const char *text); /* NULL: fault */
/* One that is seldom used: the caller's, to be finalized; NULL: fault. */
sqlite3_stmt *sqlite_prepare(struct store *s, const char *text);
int sqlite_finish(struct store *s, sqlite3_stmt *st); /* sqlite_done, and drops it; NULL: TL_FAILED */
int sqlite_row(struct store *s, sqlite3_stmt *st);    /* 1: a row; 0: no more; TL_FAILED. Reset unless 1 */
int sqlite_done(struct store *s, sqlite3_stmt *st);   /* one that gives no rows: 0 or TL_FAILED; reset */
int sqlite_flush(struct store *s);                    /* writes counters */
struct sqlite_root *sqlite_root(struct store *s, int64_t root);
void sqlite_forget(struct store *s);  /* everything cached */
bool sqlite_writing(struct store *s); /* inside a transaction that is not broken; else a fault */

/* ---- sqlite_open.c, sqlite_schema.c */
int sqlite_classify(int rc, int system_errno);        /* exit code of an error, 0: none of its own */
int sqlite_schema(struct store *s, struct fail *why); /* makes it, or checks its version */

/* ---- sqlite_names.c */
int64_t sqlite_name_find(struct store *s, char kind, const char *text, size_t len); /* 0: not known */
void sqlite_name_add(struct store *s, char kind, const char *text, size_t len, int64_t key);
void sqlite_names_free(struct sqlite_names *n);
int sqlite_owner(struct store *s, const char *name, int64_t *key);
int sqlite_folder(struct store *s, const char *path, int64_t *key);

/* ---- sqlite_urls.c */
int sqlite_url_id(struct store *s, struct store_url url, int64_t at_us, int64_t *id,
                  bool *fresh); /* adds it when it is not known */

/* ---- sqlite_put.c */
int sqlite_put_leave(struct store *s); /* writes what is known of the parent at hand, and forgets it */

/* ---- sqlite_scope.c */
int sqlite_scopes_load(struct store *s, struct sqlite_root *r);
struct sqlite_scope *sqlite_scope(struct store *s, struct sqlite_root *r, int64_t key); /* NULL: none, or fault */
void sqlite_scopes_free(struct sqlite_root *r);
void sqlite_spend(struct store *s, struct sqlite_root *r, int64_t scope, int64_t runs, int64_t bytes);

/* ---- sqlite_put.c, sqlite_claim.c, sqlite_path.c, sqlite_finish.c */
int sqlite_refuse(struct store *s, int64_t root, int64_t parent, int64_t collector, const uint8_t *digest,
                  struct tl_span url, enum store_reason reason, int64_t times, int64_t at_us);
/* Reads a run and its path; *held is to be reset when its texts are no longer needed. TL_NOTFOUND. */
int sqlite_claimed_load(struct store *s, int64_t key, struct store_claimed *out, sqlite3_stmt **held);
void sqlite_hint_drop(struct sqlite_root *r, int64_t reach, int64_t key);      /* a run came to stand there */
int sqlite_path(struct store *s, int64_t run, const struct sqlite_path **out); /* of a run that was claimed */
int sqlite_ancestors(struct store *s, int64_t run, int64_t parent);            /* writes them; parent 0: none */
/* first: this is the run's first end, so there is none to replace */
int sqlite_tables_anew(struct store *s, int64_t run); /* its document is another now: it is in no table */
int sqlite_document(struct store *s, int64_t run, const struct store_document *d, bool first, bool *replaced);

/* ---- small change; text and blobs are bound as they lie (SQLITE_STATIC): they must live until the statement was
 * stepped */
static inline void bind_int(sqlite3_stmt *st, int at, int64_t n) {
    sqlite3_bind_int64(st, at, n);
}
static inline void bind_key(sqlite3_stmt *st, int at, int64_t key) { /* 0: NULL */
    if (key)
        sqlite3_bind_int64(st, at, key);
    else
        sqlite3_bind_null(st, at);
}
static inline void bind_limit(sqlite3_stmt *st, int at, int64_t n) { /* INT64_MAX: NULL */
    if (n == INT64_MAX)
        sqlite3_bind_null(st, at);
    else
        sqlite3_bind_int64(st, at, n);
}
static inline void bind_text(sqlite3_stmt *st, int at, const char *text) { /* NULL: NULL */
    sqlite3_bind_text(st, at, text, -1, SQLITE_STATIC);
}
static inline void bind_span(sqlite3_stmt *st, int at, struct tl_span text) { /* empty: NULL */
    sqlite3_bind_text64(st, at, text.len ? text.ptr : NULL, text.len, SQLITE_STATIC, SQLITE_UTF8);
}
static inline void bind_blob(sqlite3_stmt *st, int at, const void *ptr, size_t len) {
    sqlite3_bind_blob64(st, at, ptr, len, SQLITE_STATIC);
}
static inline int64_t col_int(sqlite3_stmt *st, int at) {
    return sqlite3_column_int64(st, at);
}
static inline int64_t col_limit(sqlite3_stmt *st, int at) {
    return sqlite3_column_type(st, at) == SQLITE_NULL ? INT64_MAX : sqlite3_column_int64(st, at);
}
static inline const char *col_text(sqlite3_stmt *st, int at) {
    return (const char *)sqlite3_column_text(st, at);
}
static inline struct tl_span col_span(sqlite3_stmt *st, int at) {
    const char *text = (const char *)sqlite3_column_text(st, at);
    return (struct tl_span){text ? text : "", text ? (size_t)sqlite3_column_bytes(st, at) : 0};
}
static inline struct uuid col_uuid(sqlite3_stmt *st, int at) { /* all zero: NULL or no id */
    struct uuid u = {{0}};
    uuid_parse(col_span(st, at), &u);
    return u;
}
#endif
