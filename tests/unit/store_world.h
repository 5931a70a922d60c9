/* store_world.h - a catalog in a folder of its own, with one crawl whose root run is under way, and shorthands to work
 * on it.
 *
 * When a test is over the catalog is checked: integrity, foreign keys, and that its counters are those of its rows. */
#ifndef STORE_WORLD_H
#define STORE_WORLD_H
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/mem.h"
#include "store/store.h"

#include <cmocka.h> /* last: it makes a macro of fail */

struct world {
    struct store *s;
    char dir[64], path[128];
    int64_t http, git, host, other_host;
    struct store_crawl crawl;
    struct store_scope scope;
    struct store_claimed got[400];
    char url[400][40];
    size_t count;
    struct buf text;
};
static const struct store_scope no_limit = {
    .depth = INT64_MAX, .fanout = INT64_MAX, .runs = INT64_MAX, .bytes = INT64_MAX, .time_us = INT64_MAX};
static struct fail why;

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        why = (struct fail)FAIL_INIT;                                                                                  \
        int rc_ = (call);                                                                                              \
        if (rc_ < 0)                                                                                                   \
            fail_msg("%s gave %d: %s", #call, rc_, why.text);                                                          \
    } while (0)

static inline void begin(struct world *w) {
    OK(store_begin(w->s, &why));
}
static inline void commit(struct world *w) {
    OK(store_commit(w->s, &why));
}

static inline void world_open(struct world *w) {
    OK(store_open(w->path, STORE_WRITE, &w->s, &why));
    begin(w);
    OK(store_collector(w->s, "http", "1.0", "pages", NULL, &w->http));
    OK(store_collector(w->s, "git", "2.0", NULL, NULL, &w->git));
    OK(store_host(w->s, span_of("example.org"), &w->host));
    OK(store_host(w->s, span_of("slow.example.org"), &w->other_host));
    commit(w);
}

/* A crawl whose root run has put out its lines already, so that reach 0 is behind us. */
static inline void world_crawl(struct world *w, struct store_scope limits) {
    begin(w);
    w->crawl = (struct store_crawl){.name = "kayaking", .file_json = "{}", .leash_json = "{}"};
    OK(store_target(w->s, "acme", NULL, "water", &w->crawl.target));
    OK(store_crawl_new(w->s, &w->crawl, w->http, span_of("{\"lines\":[]}"), "me", &why));
    w->scope = limits;
    w->scope.json = "{}";
    OK(store_scope_put(w->s, w->crawl.root, &w->scope));
    commit(w);
}

static inline int setup(void **state) {
    struct world *w = mem_alloc(sizeof *w);
    snprintf(w->dir, sizeof w->dir, "/tmp/store_test.XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    snprintf(w->path, sizeof w->path, "%s/catalog.db", w->dir);
    world_open(w);
    world_crawl(w, no_limit);
    *state = w;
    return 0;
}

static inline int teardown(void **state) {
    struct world *w = *state;
    static const char *const tail[] = {"", "-wal", "-shm", ".turn"};
    if (w->s) {
        AUTO_BUF struct buf complaints = BUF_INIT;
        store_rollback(w->s);
        if (store_check(w->s, &complaints) < 0)
            fail_msg("%s", complaints.data);
        store_close(w->s);
    }
    for (size_t i = 0; i < COUNT_OF(tail); i++) {
        char path[128];
        snprintf(path, sizeof path, "%s%s", w->path, tail[i]);
        unlink(path);
    }
    rmdir(w->dir);
    buf_free(&w->text);
    free(w);
    return 0;
}

/* ---- shorthands */

static inline int add_row(void *ctx, const struct store_row *row) {
    struct buf *out = ctx;
    for (size_t i = 0; i < row->count; i++) {
        if (i)
            buf_char(out, '|');
        if (row->value[i].type == STORE_INT)
            buf_int(out, row->value[i].number);
        else if (row->value[i].type == STORE_REAL)
            buf_printf(out, "%g", row->value[i].real);
        else
            buf_add(out, row->value[i].text.ptr, row->value[i].text.len);
    }
    buf_char(out, '\n');
    return 0;
}

/* The answer as text: columns by |, rows by newline. */
static inline const char *ask(struct world *w, const char *sql) {
    buf_reset(&w->text);
    buf_text(&w->text, "");
    OK(store_query(w->s, sql, NULL, 0, add_row, &w->text, &why));
    return w->text.data ? w->text.data : "";
}

static inline struct store_wish wish_of(struct world *w, int64_t parent, int64_t parent_reach, const char *url) {
    struct store_wish wish = {.root = w->crawl.root,
                              .parent = parent,
                              .parent_reach = parent_reach,
                              .parent_depth = parent_reach,
                              .collector = w->http,
                              .target = w->crawl.target,
                              .scope = w->scope.key,
                              .host = w->host,
                              .payload = span_of(url),
                              .url = span_of(url),
                              .edge = STORE_REACT};
    struct sha256 digest = hash_sha256(url, strlen(url));
    memcpy(wish.digest, digest.byte, STORE_DIGEST);
    return wish;
}

static inline struct store_put_result put_wish(struct world *w, const struct store_wish *wish) {
    struct store_put_result out;
    OK(store_put(w->s, wish, 1, &out, &why));
    return out;
}

static inline struct store_put_result put(struct world *w, int64_t parent, int64_t parent_reach, const char *url) {
    struct store_wish wish = wish_of(w, parent, parent_reach, url);
    return put_wish(w, &wish);
}

static inline int64_t put_line(struct world *w, const char *url) {
    struct store_wish wish = wish_of(w, w->crawl.root, 0, url);
    wish.line = true;
    wish.edge = STORE_SPAWN;
    return put_wish(w, &wish).run;
}

static inline int take_all(void *ctx, const struct store_claimed *run) {
    struct world *w = ctx;
    assert_true(w->count < COUNT_OF(w->got));
    snprintf(w->url[w->count], sizeof w->url[0], "%.*s", (int)run->url.len, run->url.ptr);
    w->got[w->count++] = *run;
    return 1;
}

/* The URLs that are leased, in order, one space after each. */
static const char *claim_as(struct world *w, const char *owner, size_t max, const int64_t *blocked,
                            size_t blocked_count, int64_t *due_us) {
    struct store_claim spec = {.root = w->crawl.root,
                               .owner = owner,
                               .lease_us = 60000000,
                               .open_reach = INT64_MAX,
                               .blocked_hosts = blocked,
                               .blocked_host_count = blocked_count,
                               .max = max,
                               .take = take_all,
                               .ctx = w};
    size_t taken;
    int64_t due;
    w->count = 0;
    OK(store_claim(w->s, &spec, &taken, due_us ? due_us : &due, &why));
    assert_int_equal(taken, w->count);
    buf_reset(&w->text);
    for (size_t i = 0; i < w->count; i++)
        buf_printf(&w->text, "%s ", w->url[i]);
    return w->count ? w->text.data : "";
}
static inline const char *claim(struct world *w) {
    return claim_as(w, "me", 100, NULL, 0, NULL);
}

static inline int end(struct world *w, int64_t key, int64_t token, enum store_state state,
                      const struct store_document *document) {
    struct store_finish f = {.key = key,
                             .token = token,
                             .state = state,
                             .started_us = 1000000,
                             .finished_us = 2500000,
                             .bytes = 100,
                             .http_status = 200,
                             .document = document};
    int status;
    OK(store_finish(w->s, &f, 1, &status, &why));
    return status;
}
static inline void end_all(struct world *w) {
    for (size_t i = 0; i < w->count; i++)
        assert_int_equal(end(w, w->got[i].key, w->got[i].token, STORE_SUCCESS, NULL), TL_OK);
}

static inline struct store_document document_of(struct uuid *id) {
    *id = uuid_new();
    return (struct store_document){
        .result_id = *id,
        .folder = "documents/year=2026",
        .sha256 = hash_sha256("x", 1),
        .bytes = 7,
        .collected_us = 1700000000000001,
        .datasets = "[[\"page\",\"SIMPLE\",1,23,\"text/html\",\"text\",\"ab\"],[\"links\",\"SIMPLE\",1,9,\"application/"
                    "json\",\"json\",\"cd\"]]"};
}
#endif
