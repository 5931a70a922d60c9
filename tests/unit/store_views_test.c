/* store_views_test.c - what is remembered: documents, events, views, ids, versions, transactions, several processes,
 * rebuilding. */
#include "store_world.h"

/* A crawl with a bit of everything: a and b below the root, x and y below a, z below x; b failed; z is still queued. */
static void grow(struct world *w, struct uuid *result) {
    struct store_document document = document_of(result);
    begin(w);
    int64_t a = put_line(w, "a"), b = put_line(w, "b"), x = put(w, a, 1, "x").run;
    put(w, a, 1, "y");
    claim(w);
    struct store_finish failed = {.key = b,
                                  .token = 1,
                                  .state = STORE_FAILED,
                                  .reason = "http_404",
                                  .error = "the page is gone",
                                  .started_us = 1700000000000000,
                                  .finished_us = 1700000000250000,
                                  .final_url = span_of("b")};
    int status;
    OK(store_finish(w->s, &failed, 1, &status, &why));
    assert_int_equal(end(w, a, 1, STORE_SUCCESS, &document), TL_OK);
    put(w, x, 2, "z");
    OK(store_leashed(w->s, w->crawl.root, 0, w->http, w->got[2].digest, (struct tl_span){"", 0}, STORE_ROBOTS, 1));
    commit(w);
}

static void test_tree(void **state) {
    struct world *w = *state;
    struct uuid result;
    grow(w, &result);
    assert_string_equal(ask(w, "SELECT what, status, depth FROM tree"), "kayaking|leased|0\n"
                                                                        "├── http a|success|1\n"
                                                                        "│   ├── http x|leased|2\n"
                                                                        "│   │   └── http z|queued|3\n"
                                                                        "│   └── http y|leased|2\n"
                                                                        "└── http b|failed|1\n");
    world_crawl(w, no_limit);
    assert_string_equal(ask(w, "SELECT count(*) FROM tree"), "7\n");
    assert_string_equal(ask(w, "SELECT what FROM tree WHERE root_id = (SELECT max(root_id) FROM crawls)"),
                        "kayaking\n");
}

static void test_views(void **state) {
    struct world *w = *state;
    struct uuid result;
    grow(w, &result);
    assert_string_equal(ask(w, "SELECT url, error, attempts, finished_at, collector FROM failures"),
                        "b|http_404: the page is gone|0|2023-11-14T22:13:20.250000Z|http\n");
    assert_string_equal(ask(w, "SELECT crawl, status, runs, failed, leashed, documents, bytes, org, project, target, "
                               "finished_at FROM crawls"),
                        "kayaking|open|6|1|1|1|100|acme||water|\n");
    assert_string_equal(
        ask(w, "SELECT ordinal, name, type, elements, bytes, media_type, encoding, sha256 FROM datasets ORDER BY 1"),
        "0|page|SIMPLE|1|23|text/html|text|ab\n1|links|SIMPLE|1|9|application/json|json|cd\n");
    assert_string_equal(
        ask(w,
            "SELECT path = 'documents/year=2026/' || result_id || '.json', sha256, bytes, collected_at FROM documents"),
        "1|2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881|7|2023-11-14T22:13:20.000001Z\n");
    assert_string_equal(ask(w, "SELECT url, final_url, seconds, http_status FROM runs WHERE url = 'b'"),
                        "b||0.25|\n"); /* no redirect */
    assert_string_equal(ask(w, "SELECT l.url, l.reason, p.url FROM leashed l JOIN runs p ON p.run_id = l.parent_id"),
                        "x|robots|a\n");
    assert_string_equal(ask(w, "SELECT count(*) FROM lineage WHERE run_id = (SELECT run_id FROM runs WHERE url = 'z')"),
                        "0\n"); /* never claimed */
    assert_string_equal(
        ask(w, "SELECT value FROM health WHERE key IN ('schema version', 'runs', 'documents', 'runs failed')"),
        "1\n6\n1\n1\n");
    static const char *const view[] = {"crawls",  "runs",   "edges",      "lineage",  "tree",  "documents", "datasets",
                                       "links",   "events", "failures",   "leashed",  "urls",  "url_map",   "items",
                                       "tracked", "locks",  "collectors", "contexts", "health"};
    for (size_t i = 0; i < COUNT_OF(view); i++) {
        char sql[60];
        snprintf(sql, sizeof sql, "SELECT * FROM %s", view[i]);
        ask(w, sql);
    }
    assert_string_equal(ask(w, "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND NOT "
                               "strict AND name NOT LIKE 'sqlite_%'"),
                        "");
    ask(w, "SELECT result_id, root_id, urn, name, href, type, collected_at, is_latest, deleted_at FROM links");
}

/* Whoever asks for the ways of one run must not have the whole catalog read. */
static void test_plans(void **state) {
    struct world *w = *state;
    static const char *const question[] = {"EXPLAIN QUERY PLAN SELECT * FROM lineage WHERE run_id = 'x'",
                                           "EXPLAIN QUERY PLAN SELECT * FROM edges WHERE child_id = 'x'",
                                           "EXPLAIN QUERY PLAN SELECT * FROM edges WHERE parent_id = 'x'",
                                           "EXPLAIN QUERY PLAN SELECT * FROM runs WHERE run_id = 'x'",
                                           "EXPLAIN QUERY PLAN SELECT * FROM runs WHERE root_id = 'x'",
                                           "EXPLAIN QUERY PLAN SELECT * FROM documents WHERE result_id = 'x'",
                                           "EXPLAIN QUERY PLAN SELECT * FROM documents WHERE run_id = 'x'",
                                           "EXPLAIN QUERY PLAN SELECT * FROM history WHERE target = 'x'",
                                           "EXPLAIN QUERY PLAN SELECT * FROM failures WHERE root_id = 'x'"};
    for (size_t i = 0; i < COUNT_OF(question); i++) {
        const char *plan = ask(w, question[i]);
        static const char *const table[] = {"SCAN run",      "SCAN r", "SCAN p",        "SCAN c", "SCAN a\n", "SCAN n",
                                            "SCAN ancestor", "SCAN d", "SCAN document", "SCAN e", "SCAN w",   "SCAN v"};
        for (size_t k = 0; k < COUNT_OF(table); k++)
            if (strstr(plan, table[k]))
                fail_msg("%s\n%s", question[i], plan);
    }
}

static void test_documents(void **state) {
    struct world *w = *state;
    struct uuid first, second, found;
    int64_t count;
    grow(w, &first);
    begin(w);
    OK(store_crawl_drop_queue(w->s, w->crawl.root, STORE_CANCELLED, STORE_NO_REASON, &count));
    assert_int_equal(count, 1); /* z */
    OK(store_crawl_close(w->s, w->crawl.root, "done", "ab"));
    assert_int_equal(store_crawl_close(w->s, w->crawl.root, "done", "ab"), TL_NOTFOUND);
    struct store_crawl crawl;
    assert_int_equal(store_crawl_by_name(w->s, "kayaking", true, &crawl), TL_NOTFOUND);
    OK(store_crawl_retry(w->s, w->crawl.root, "http_500", &count));
    assert_int_equal(count, 0);
    OK(store_crawl_by_name(w->s, "kayaking", false, &crawl));
    assert_true(crawl.closed);
    OK(store_crawl_retry(w->s, w->crawl.root, "http_404", &count));
    assert_int_equal(count, 1);
    OK(store_crawl_by_name(w->s, "kayaking", true, &crawl));
    assert_memory_equal(&crawl.root_id, &w->crawl.root_id, sizeof crawl.root_id);
    assert_int_equal(crawl.failed, 0);
    assert_null(crawl.reason);
    assert_string_equal(claim(w), "b ");
    struct store_document document = document_of(&first);
    assert_int_equal(end(w, w->got[0].key, 2, STORE_FAILED, &document), TL_OK);
    OK(store_crawl_retry(w->s, w->crawl.root, NULL, &count));
    claim(w);
    document = document_of(&second); /* takes the place of the failed one */
    assert_int_equal(end(w, w->got[0].key, 3, STORE_SUCCESS, &document), TL_OK);
    commit(w);
    assert_string_equal(ask(w, "SELECT documents, failed, bytes FROM crawls"), "2|0|200\n");
    assert_string_equal(ask(w, "SELECT count(*) FROM documents"), "2\n");
    char id[UUID_TEXT];
    OK(store_find_run(w->s, uuid_text(&second, id), &found, &why));
    assert_int_equal(store_find_run(w->s, uuid_text(&first, id), &found, &why), TL_NOTFOUND);
}

static void test_result_of_an_earlier_run(void **state) {
    struct world *w = *state;
    struct uuid result;
    grow(w, &result);
    int64_t a = w->got[0].key;
    world_crawl(w, no_limit);
    begin(w);
    int64_t again = put_line(w, "a");
    claim(w);
    struct store_finish f = {.key = again, .token = 1, .state = STORE_NOT_MODIFIED, .result_ref = a};
    int status;
    OK(store_finish(w->s, &f, 1, &status, &why));
    commit(w);
    assert_string_equal(
        ask(w, "SELECT r.status, r.result_ref = d.result_id FROM runs r, documents d WHERE r.status = 'not_modified'"),
        "not_modified|1\n");
}

/* ---- events */

struct seen {
    struct store_event event;
    char path[120], args[40], url[40];
    int count;
};
static int see(void *ctx, const struct store_event *e, const struct store_claimed *run, const char *path) {
    struct seen *seen = ctx;
    seen->event = *e;
    snprintf(seen->path, sizeof seen->path, "%s", path ? path : "none");
    snprintf(seen->args, sizeof seen->args, "%.*s", (int)e->args.len, e->args.ptr);
    snprintf(seen->url, sizeof seen->url, "%.*s", (int)run->url.len, run->url.ptr);
    seen->count++;
    return 0;
}

static void test_events(void **state) {
    struct world *w = *state;
    struct uuid result;
    struct seen seen = {.count = 0};
    int64_t root = w->crawl.root, count, reach, due;
    grow(w, &result);
    begin(w);
    OK(store_event_put(w->s, root, w->got[0].key, w->git, span_of("{\"k\":1}"), STORE_EVENT_REACT));
    OK(store_event_put(w->s, root, w->got[0].key, w->http, (struct tl_span){"", 0}, STORE_EVENT_REACT));
    OK(store_event_claim(w->s, root, "me", 1, see, &seen));
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.event.reactor, w->git);
    assert_int_equal(seen.event.reach, 1);
    assert_string_equal(seen.args, "{\"k\":1}");
    assert_string_equal(seen.url, "a");
    char path[120], id[UUID_TEXT];
    snprintf(path, sizeof path, "documents/year=2026/%s.json", uuid_text(&result, id));
    assert_string_equal(seen.path, path);
    int64_t first = seen.event.key;
    OK(store_event_claim(w->s, root, "me", 9, see, &seen)); /* each is handed out once */
    assert_int_equal(seen.count, 2);
    assert_string_equal(seen.args, "");
    OK(store_events_open(w->s, root, &count, &reach, &due));
    assert_int_equal(count, 2); /* under way is open */
    assert_int_equal(reach, 1);
    OK(store_event_finish(w->s, seen.event.key, true, NULL));
    OK(store_event_finish(w->s, first, false, "it broke"));
    OK(store_event_claim(w->s, root, "me", 9, see, &seen));
    assert_int_equal(seen.count, 2); /* not before a while */
    OK(store_events_open(w->s, root, &count, &reach, &due));
    assert_int_equal(count, 1);
    assert_true(due > store_now_us(w->s) && due <= store_now_us(w->s) + 1000000);
    for (int i = 0; i < 3; i++) /* three more times, then it has failed */
        OK(store_event_finish(w->s, first, false, "it broke"));
    assert_int_equal(store_event_finish(w->s, first, false, "it broke"), TL_NOTFOUND);
    OK(store_events_open(w->s, root, &count, &reach, &due));
    assert_int_equal(count, 0);
    assert_int_equal(reach, INT64_MAX);
    commit(w);
    assert_string_equal(ask(w, "SELECT reactor, status, attempts, error FROM events"), "git|failed|4|it broke\n");
}

static void test_drop_queue(void **state) {
    struct world *w = *state;
    int64_t count;
    begin(w);
    int64_t a = put_line(w, "a");
    put(w, a, 1, "b");
    put(w, a, 1, "c");
    claim_as(w, "me", 1, NULL, 0, NULL);
    OK(store_crawl_drop_queue(w->s, w->crawl.root, STORE_REFUSED, STORE_TIME, &count));
    commit(w);
    assert_int_equal(count, 2);
    assert_string_equal(ask(w, "SELECT url, status, reason FROM runs WHERE url IS NOT NULL ORDER BY 1"),
                        "a|leased|\nb|refused|time\nc|refused|time\n");
    assert_string_equal(
        ask(w, "SELECT l.url, l.reason, p.url FROM leashed l JOIN runs p ON p.run_id = l.parent_id ORDER BY 1"),
        "b|time|a\nc|time|a\n");
    assert_string_equal(ask(w, "SELECT leashed, queued FROM crawls"), "2|0\n");
    bool asked;
    OK(store_crawl_stop_asked(w->s, w->crawl.root, &asked));
    assert_false(asked);
    begin(w);
    OK(store_crawl_stop(w->s, w->crawl.root));
    OK(store_crawl_reason(w->s, w->crawl.root, "interrupted"));
    commit(w);
    OK(store_crawl_stop_asked(w->s, w->crawl.root, &asked));
    assert_true(asked);
    assert_string_equal(ask(w, "SELECT status, reason FROM crawls"), "open|interrupted\n");
}

/* ---- the file and its transactions */

static void test_state(void **state) {
    struct world *w = *state;
    AUTO_BUF struct buf value = BUF_INIT;
    int64_t newer;
    begin(w);
    OK(store_state_put(w->s, "kayaking", w->http, span_of("cursor"), (struct tl_span){"a\0b", 3}));
    OK(store_state_put(w->s, "kayaking", w->http, span_of("cursor"), (struct tl_span){"c\0d", 3}));
    OK(store_collector(w->s, "http", "1.1", NULL, NULL, &newer));
    commit(w);
    OK(store_state_get(w->s, "kayaking", newer, span_of("cursor"),
                       &value)); /* a new version goes on where the old one was */
    assert_int_equal(value.len, 3);
    assert_memory_equal(value.data, "c\0d", 3);
    assert_int_equal(store_state_get(w->s, "other", w->http, span_of("cursor"), &value), TL_NOTFOUND);
    const char *name, *version, *org, *project, *target;
    OK(store_collector_name(w->s, newer, &name, &version));
    assert_string_equal(version, "1.1");
    OK(store_target_name(w->s, w->crawl.target, &org, &project, &target));
    assert_string_equal(org, "acme");
    assert_null(project);
}

static void test_rollback(void **state) {
    struct world *w = *state;
    int64_t key, again, http;
    begin(w);
    OK(store_host(w->s, span_of("gone.example"), &key));
    put_line(w, "a");
    struct store_scope scope = {.parent = w->scope.key, .json = "{\"gone\":1}"};
    OK(store_scope_put(w->s, w->crawl.root, &scope));
    store_rollback(w->s);
    assert_string_equal(ask(w, "SELECT count(*) FROM runs"), "1\n");
    begin(w); /* nothing of it is remembered */
    OK(store_host(w->s, span_of("new.example"), &again));
    assert_int_equal(again, key);
    OK(store_host(w->s, span_of("gone.example"), &again));
    assert_int_not_equal(again, key);
    struct store_scope root_scope = {.json = "{}"};
    OK(store_scope_put(w->s, w->crawl.root, &root_scope));
    assert_int_equal(root_scope.runs_spent, 1);
    commit(w);
    begin(w); /* a transaction in which something failed cannot be committed */
    put_line(w, "b");
    struct store_wish wrong = wish_of(w, 4711, 1, "c");
    struct store_put_result out;
    assert_true(store_put(w->s, &wrong, 1, &out, &why) < 0);
    assert_non_null(strstr(why.text, "not there"));
    assert_true(store_commit(w->s, &why) < 0);
    assert_string_equal(ask(w, "SELECT count(*) FROM runs"), "1\n");
    assert_true(store_collector(w->s, "x", "1", NULL, NULL, &http) < 0); /* nor is anything written outside of one */
    begin(w);
    OK(store_collector(w->s, "x", "1", NULL, NULL, &http));
    commit(w);
}

static void test_questions_only(void **state) {
    struct world *w = *state;
    static const char *const refused[] = {"DELETE FROM run",
                                          "ATTACH 'x' AS y",
                                          "COMMIT",
                                          "PRAGMA user_version = 7",
                                          "SELECT 1; SELECT 2",
                                          "WITH x AS (SELECT 1) DELETE FROM run",
                                          "selects",
                                          "SELECT * FROM nowhere"};
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        assert_int_equal(store_query(w->s, refused[i], NULL, 0, add_row, &w->text, &why), TL_INVALID);
    const struct store_value args[] = {store_text("kay'aking"), store_int(INT64_MAX)};
    buf_reset(&w->text);
    OK(store_query(w->s, "SELECT $1, $2 UNION ALL SELECT 1, 2.5", args, 2, add_row, &w->text, &why));
    assert_string_equal(w->text.data, "kay'aking|9223372036854775807\n1|2.5\n");
}

static void test_find_run(void **state) {
    struct world *w = *state;
    struct uuid found;
    char id[UUID_TEXT];
    begin(w);
    put_line(w, "a");
    claim(w);
    struct uuid run = w->got[0].run_id, result;
    struct store_document document = document_of(&result);
    assert_int_equal(end(w, w->got[0].key, 1, STORE_SUCCESS, &document), TL_OK);
    commit(w);
    uuid_text(&run, id);
    OK(store_find_run(w->s, id, &found, &why));
    assert_memory_equal(&found, &run, sizeof run);
    id[35] = '\0'; /* the last digit tells them apart, or a digit before it */
    int rc = store_find_run(w->s, id, &found, &why);
    assert_true(rc == TL_OK || rc == TL_INVALID);
    assert_int_equal(store_find_run(w->s, "0", &found, &why), TL_INVALID); /* this century's all begin like that */
    assert_non_null(strstr(why.text, uuid_text(&w->crawl.root_id, id)));
    assert_int_equal(why.exit_code, EXIT_USAGE);
    OK(store_find_run(w->s, uuid_text(&result, id), &found, &why)); /* a result stands for its run */
    assert_memory_equal(&found, &run, sizeof run);
    assert_int_equal(store_find_run(w->s, "ffffffff", &found, &why), TL_NOTFOUND);
    assert_int_equal(store_find_run(w->s, "x' OR 1", &found, &why), TL_NOTFOUND);
    assert_int_equal(store_find_run(w->s, "", &found, &why), TL_NOTFOUND);
}

static void alter(const char *path, const char *sql) {
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void test_refused_files(void **state) {
    struct world *w = *state;
    struct store *s;
    store_close(w->s);
    w->s = NULL;
    char none[128];
    snprintf(none, sizeof none, "%s/none.db", w->dir);
    assert_int_equal(store_open(none, STORE_READ, &s, &why), TL_NOTFOUND);
    assert_non_null(strstr(why.text, "none.db"));
    assert_int_equal(access(none, F_OK), -1); /* and was not made */
    alter(w->path, "PRAGMA user_version = 99");
    for (int mode = STORE_READ; mode <= STORE_WRITE; mode++) {
        assert_int_equal(store_open(w->path, (enum store_mode)mode, &s, &why), TL_FAILED);
        assert_int_equal(why.exit_code, EXIT_DAMAGED);
        assert_non_null(strstr(why.text, "version 99"));
    }
    alter(w->path, "PRAGMA user_version = 1; PRAGMA application_id = 5");
    assert_int_equal(store_open(w->path, STORE_WRITE, &s, &why), TL_FAILED);
    assert_non_null(strstr(why.text, "another program"));
    FILE *f = fopen(w->path, "w");
    for (int i = 0; i < 500; i++)
        fputs("no database at all ", f);
    fclose(f);
    assert_int_equal(store_open(w->path, STORE_WRITE, &s, &why), TL_FAILED);
    assert_int_equal(why.exit_code, EXIT_DAMAGED);
    assert_int_equal(store_open("postgresql://x/y", STORE_WRITE, &s, &why), TL_UNSUPPORTED);
}

static void test_reading_beside_a_writer(void **state) {
    struct world *w = *state;
    struct store *reader, *writer = w->s;
    int64_t key;
    OK(store_open(w->path, STORE_READ, &reader, &why));
    begin(w);
    put_line(w, "a");
    w->s = reader;
    assert_string_equal(ask(w, "SELECT count(*) FROM runs"), "1\n"); /* not yet */
    w->s = writer;
    commit(w);
    w->s = reader;
    assert_string_equal(ask(w, "SELECT count(*) FROM runs"), "2\n");
    w->s = writer;
    assert_int_equal(store_begin(reader, &why), TL_INVALID);
    assert_true(store_host(reader, span_of("new"), &key) < 0);
    store_close(reader);
}

/* Puts and claims, a hundred transactions, in a process of its own. */
static void work(const char *path, int number) {
    struct world *w = mem_alloc(sizeof *w);
    snprintf(w->path, sizeof w->path, "%s", path);
    world_open(w);
    world_crawl(w, no_limit);
    for (int i = 0; i < 100; i++) {
        char url[40];
        snprintf(url, sizeof url, "page %d of %d", i, number);
        begin(w);
        put_line(w, url);
        claim(w);
        end_all(w);
        commit(w);
    }
    store_close(w->s);
    buf_free(&w->text);
    free(w);
}

static void test_writers_take_turns(void **state) {
    struct world *w = *state;
    char path[128];
    store_close(w->s);
    w->s = NULL;
    snprintf(path, sizeof path, "%s/two.db", w->dir);
    pid_t child[2];
    for (int i = 0; i < 2; i++) { /* both make it, both write */
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] == 0) {
            work(path, i);
            _exit(0);
        }
    }
    for (int i = 0; i < 2; i++) {
        int status;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_int_equal(status, 0);
    }
    OK(store_open(path, STORE_READ, &w->s, &why));
    assert_string_equal(ask(w, "SELECT runs, queued FROM crawls"), "101|0\n101|0\n");
    assert_string_equal(ask(w, "SELECT count(*), count(DISTINCT run_id) FROM runs WHERE status = 'success'"),
                        "200|200\n");
    AUTO_BUF struct buf complaints = BUF_INIT;
    assert_int_equal(store_check(w->s, &complaints), TL_OK);
    store_close(w->s);
    w->s = NULL;
    static const char *const tail[] = {"", "-wal", "-shm", ".turn"}; /* a reader leaves the log behind */
    for (size_t i = 0; i < COUNT_OF(tail); i++) {
        snprintf(path, sizeof path, "%s/two.db%s", w->dir, tail[i]);
        unlink(path);
    }
}

static void test_check(void **state) {
    struct world *w = *state;
    struct uuid result;
    AUTO_BUF struct buf complaints = BUF_INIT;
    grow(w, &result);
    assert_int_equal(store_check(w->s, &complaints), TL_OK);
    store_close(w->s);
    alter(w->path, "UPDATE crawl SET queued = 9; UPDATE run SET collector = 77 WHERE url = 'x'");
    world_open(w);
    assert_int_equal(store_check(w->s, &complaints), TL_FAILED);
    assert_non_null(strstr(complaints.data, "9 queued"));
    assert_non_null(strstr(complaints.data, "of run names a row of collector"));
    store_close(w->s);
    alter(w->path, "UPDATE crawl SET queued = 1; UPDATE run SET collector = 1 WHERE url = 'x'");
    world_open(w);
}

/* ---- a closed crawl from its package */

static void test_import(void **state) {
    struct world *w = *state;
    struct uuid root = uuid_new(), a = uuid_new(), b = uuid_new(), result;
    struct store_document document = document_of(&result);
    struct store_crawl crawl = {.root_id = root,
                                .name = "old",
                                .file_json = "{}",
                                .closed = true,
                                .reason = "done",
                                .started_us = 1,
                                .finished_us = 2};
    struct store_scope scope = no_limit;
    int64_t key;
    begin(w);
    OK(store_import_crawl(w->s, &crawl, &why));
    scope.json = "{}";
    scope.runs_spent = 3;
    OK(store_scope_put(w->s, crawl.root, &scope));
    struct store_import_run run = {.run_id = root,
                                   .scope = scope.key,
                                   .collector = w->http,
                                   .token = 1,
                                   .claimed = true,
                                   .state = STORE_SUCCESS,
                                   .queued_us = 1,
                                   .payload = span_of("{}")};
    OK(store_import_run(w->s, crawl.root, &run, &key, &why));
    assert_int_equal(key, crawl.root);
    run.parent_id = root;
    run.run_id = a;
    run.depth = run.reach = 1;
    run.line = true;
    run.url = span_of("a");
    run.digest[0] = 1;
    run.document = &document;
    OK(store_import_run(w->s, crawl.root, &run, &key, &why));
    run.parent_id = a;
    run.run_id = b;
    run.depth = run.reach = 2;
    run.digest[0] = 2;
    run.state = STORE_NOT_MODIFIED;
    run.document = NULL;
    run.result_ref = uuid_new(); /* of a crawl that was not rebuilt */
    OK(store_import_run(w->s, crawl.root, &run, &key, &why));
    OK(store_import_leashed(w->s, crawl.root, &a, w->http, run.digest, span_of("z"), STORE_DEPTH, 5, 1700000000000000));
    OK(store_import_edge(w->s, &a, &b, STORE_CANONICAL_OF));
    OK(store_import_edge(w->s, &a, &b, STORE_CANONICAL_OF));
    commit(w);
    assert_string_equal(ask(w, "SELECT crawl, status, runs, documents, leashed FROM crawls WHERE crawl = 'old'"),
                        "old|done|3|1|1\n");
    assert_string_equal(ask(w, "SELECT l.hops, count(*) FROM lineage l JOIN runs r USING (run_id) JOIN crawls c USING "
                               "(root_id) WHERE c.crawl = 'old' GROUP BY 1"),
                        "0|3\n1|2\n2|1\n");
    assert_string_equal(ask(w, "SELECT kind FROM edges ORDER BY 1"), "canonical_of\nspawn\nspawn\n");
    assert_string_equal(ask(w, "SELECT times, at FROM leashed"), "5|2023-11-14T22:13:20.000000Z\n");
    char id[UUID_TEXT], expected[UUID_TEXT + 1];
    snprintf(expected, sizeof expected, "%s\n", uuid_text(&run.result_ref, id));
    assert_string_equal(ask(w, "SELECT result_ref FROM runs WHERE status = 'not_modified'"), expected);
    begin(w);
    assert_int_equal(store_import_run(w->s, crawl.root, &run, &key, &why), TL_INVALID); /* twice */
    run.run_id = uuid_new();
    run.parent_id = uuid_new();
    assert_int_equal(store_import_run(w->s, crawl.root, &run, &key, &why), TL_INVALID); /* an orphan */
    store_rollback(w->s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_tree),
        TEST(test_views),
        TEST(test_plans),
        TEST(test_documents),
        TEST(test_result_of_an_earlier_run),
        TEST(test_events),
        TEST(test_drop_queue),
        TEST(test_state),
        TEST(test_rollback),
        TEST(test_questions_only),
        TEST(test_find_run),
        TEST(test_refused_files),
        TEST(test_reading_beside_a_writer),
        TEST(test_writers_take_turns),
        TEST(test_check),
        TEST(test_import),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("store views", tests, NULL, NULL);
}
