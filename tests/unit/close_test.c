/* close_test.c - the closing record: what a crawl leaves behind gives the same catalog again, and the same record. */
#include <dirent.h>
#include <ftw.h>

#include "store_world.h"

#include "engine/close.h"
#include "engine/rebuild.h"
#include "engine/recover.h"
#include "lake/lake.h"
#include "store/package.h"

struct closing {
    struct world *w;
    struct lake *l;
    char lake[96], rebuilt[96];
    int64_t sequence;
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static int closing_setup(void **state) {
    struct closing *c = mem_alloc(sizeof *c);
    assert_int_equal(setup((void **)&c->w), 0);
    snprintf(c->lake, sizeof c->lake, "%s/lake", c->w->dir);
    snprintf(c->rebuilt, sizeof c->rebuilt, "%s/rebuilt.db", c->w->dir);
    OK(lake_open(c->lake, true, &c->l, &why));
    *state = c;
    return 0;
}

static int closing_teardown(void **state) {
    struct closing *c = *state;
    static const char *const tail[] = {"", "-wal", "-shm", ".turn"};
    lake_close(c->l);
    nftw(c->lake, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    for (size_t i = 0; i < COUNT_OF(tail); i++) {
        char path[128];
        snprintf(path, sizeof path, "%s%s", c->rebuilt, tail[i]);
        unlink(path);
    }
    void *world = c->w;
    teardown(&world);
    free(c);
    return 0;
}

/* ---- a crawl that has everything in it */

static struct store_document full_document(struct closing *c, struct uuid *id) {
    struct store_document d = document_of(id);
    d.collected_us += c->sequence++;
    d.sha256 = hash_sha256(&c->sequence, sizeof c->sequence);
    return d;
}

/* Ends what is claimed, with a document each, and claims what comes next. */
static void end_with_documents(struct closing *c) {
    struct uuid id;
    for (size_t i = 0; i < c->w->count; i++) {
        struct store_document d = full_document(c, &id);
        assert_int_equal(end(c->w, c->w->got[i].key, c->w->got[i].token, STORE_SUCCESS, &d), TL_OK);
    }
    c->w->count = 0;
}

static int64_t key_of(struct world *w, const char *url) {
    for (size_t i = 0; i < w->count; i++)
        if (strcmp(w->url[i], url) == 0)
            return w->got[i].key;
    fail_msg("%s is not claimed", url);
    return 0;
}

/* Deep first, then found again nearer the root: x and z hang on runs that are younger than they. */
static void put_moved_runs(struct closing *c) {
    struct world *w = c->w;
    begin(w);
    put_line(w, "l1");
    put_line(w, "l2");
    assert_string_equal(claim(w), "l1 l2 ");
    int64_t l1 = key_of(w, "l1"), l2 = key_of(w, "l2");
    int64_t p = put(w, l1, 1, "p").run, r = put(w, p, 2, "r").run, s = put(w, r, 3, "s").run;
    put(w, s, 4, "t");
    int64_t x = put(w, s, 4, "x").run, z = put(w, put(w, s, 4, "y").run, 5, "z").run;
    int64_t q = put(w, l2, 1, "q").run;
    put(w, q, 2, "after");
    assert_int_equal(put(w, q, 2, "x").verdict, STORE_NEARER);
    assert_int_equal(put(w, q, 2, "t").verdict, STORE_NEARER);
    assert_int_equal(put(w, x, 3, "z").verdict, STORE_NEARER);
    assert_true(x < q && z < q);
    end_with_documents(c);
    while (*claim(w))
        end_with_documents(c);
    commit(w);
}

static void put_everything_else(struct closing *c) {
    struct world *w = c->w;
    struct uuid id, first, second;
    struct store_scope tight = no_limit;
    tight.parent = w->scope.key;
    tight.depth = 7;
    tight.json = "{\"depth\":7}";
    begin(w);
    OK(store_scope_put(w->s, w->crawl.root, &tight));
    OK(store_scope_json(w->s, tight.key, "{\"depth\":7,\"hosts\":[\"*\"]}"));
    struct store_wish odd = wish_of(w, w->crawl.root, 0, "odd");
    odd.line = true;
    odd.edge = STORE_SPAWN;
    odd.scope = tight.key;
    odd.collector = w->git;
    odd.payload = span_of("{\"n\": 9007199254740993,\n \"text\": \"\\u0000 wäter\"}"); /* two lines */
    OK(store_target(w->s, NULL, NULL, "somewhere else", &odd.target));
    odd.context = "branch";
    put_wish(w, &odd);
    struct store_wish next = wish_of(w, w->crawl.root, 0, "next page");
    next.edge = STORE_PAGE;
    put_wish(w, &next);
    put_line(w, "fails");
    put_line(w, "unchanged");
    put_line(w, "never claimed");
    claim_as(w, "me", 4, NULL, 0, NULL);
    struct store_document d = full_document(c, &id);
    d.attachments = "[{\"name\":\"a.zip\",\"path\":\"attachments/x/y/"
                    "a.zip\",\"bytes\":1,\"sha256\":\"00\",\"media_type\":\"application/zip\"}]";
    first = w->got[0].run_id;
    second = w->got[1].run_id;
    end(w, w->got[0].key, w->got[0].token, STORE_PARTIAL, &d);
    end(w, w->got[1].key, w->got[1].token, STORE_SUCCESS, NULL);
    struct store_finish failed = {.key = w->got[2].key,
                                  .token = w->got[2].token,
                                  .state = STORE_FAILED,
                                  .reason = "http_404",
                                  .error = "not \"found\"\n\xF0\x9F\x9B\xB6",
                                  .finished_us = INT64_MAX,
                                  .bytes = ((int64_t)1 << 53) + 1,
                                  .http_status = 404,
                                  .final_url = span_of("elsewhere")};
    struct store_finish same = {.key = w->got[3].key,
                                .token = w->got[3].token,
                                .state = STORE_NOT_MODIFIED,
                                .finished_us = 5,
                                .result_ref = w->got[0].key};
    int status[2];
    OK(store_finish(w->s, &failed, 1, status, &why));
    OK(store_finish(w->s, &same, 1, status, &why));
    OK(store_leashed(w->s, w->crawl.root, w->crawl.root, w->git, odd.digest, span_of("far away"), STORE_HOSTS, 2));
    OK(store_leashed(w->s, w->crawl.root, w->crawl.root, w->http, odd.digest, span_of(""), STORE_ROBOTS, 1));
    OK(store_import_edge(w->s, &first, &second, STORE_CANONICAL_OF));
    OK(store_event_put(w->s, w->crawl.root, w->got[0].key, w->http, span_of("{\"a\":1}"), STORE_EVENT_REACT));
    int64_t dropped;
    OK(store_crawl_drop_queue(w->s, w->crawl.root, STORE_CANCELLED, STORE_NO_REASON, &dropped));
    assert_int_equal(dropped, 1);
    end(w, w->crawl.root, 1, STORE_SUCCESS, NULL);
    commit(w);
}

/* ---- looking at it */

static const char *const questions[] = {
    "SELECT * FROM crawls",
    "SELECT * FROM runs ORDER BY run_id",
    "SELECT * FROM edges ORDER BY 1, 2, 3",
    "SELECT * FROM lineage ORDER BY 1, 2, 3",
    "SELECT * FROM tree",
    "SELECT * FROM documents ORDER BY 1",
    "SELECT * FROM datasets ORDER BY 1, 4",
    "SELECT * FROM leashed ORDER BY payload_digest, reason",
    "SELECT run_id, reactor, kind, attempts, created_at, args FROM events",
    "SELECT * FROM collectors ORDER BY 1, 2",
    "SELECT r.run_id, r.token, r.children, r.line, r.not_before_us, r.payload, l.given, l.json, l.depth, l.runs, "
    "l.runs_spent, l.bytes_spent "
    "FROM run r LEFT JOIN leash l ON l.key = r.scope ORDER BY r.run_id",
};

static void look(struct store *s, struct buf *out) {
    for (size_t i = 0; i < COUNT_OF(questions); i++)
        OK(store_query(s, questions[i], NULL, 0, add_row, out, &why));
}

static void read_record(struct closing *c, const char *extension, struct buf *out) {
    AUTO_BUF struct buf path = BUF_INIT;
    lake_crawl_file(&path, c->w->crawl.started_us, &c->w->crawl.root_id, extension);
    OK(lake_read(c->l, path.data, out, &why));
}

static void no_problem(void *ctx, const char *text) {
    (void)ctx;
    fail_msg("%s", text);
}
static void no_open_crawl(void *ctx, const char *root_id, int64_t documents) {
    (void)ctx;
    fail_msg("%s: %lld", root_id, (long long)documents);
}
static const struct rebuild_events nothing_wrong = {.problem = no_problem, .unrecorded = no_open_crawl};

static void withdraw(struct closing *c) {
    static const char *const extension[] = {"json", "jsonl"};
    for (int i = 0; i < 2; i++) {
        AUTO_BUF struct buf path = BUF_INIT;
        lake_crawl_file(&path, c->w->crawl.started_us, &c->w->crawl.root_id, extension[i]);
        OK(lake_withdraw(c->l, path.data, &why));
    }
}

static void test_a_rebuilt_catalog_is_the_same(void **state) {
    struct closing *c = *state;
    AUTO_BUF struct buf before = BUF_INIT, after = BUF_INIT;
    struct buf record[4] = {BUF_INIT};
    struct rebuild_sums sums;
    struct store *again;
    put_moved_runs(c);
    put_everything_else(c);
    OK(close_crawl(c->w->s, c->l, &c->w->crawl, "done", &why));
    look(c->w->s, &before);
    read_record(c, "json", &record[0]);
    read_record(c, "jsonl", &record[1]);

    OK(rebuild_catalog(c->rebuilt, c->l, &nothing_wrong, &sums, &why));
    assert_int_equal(sums.crawls, 1);
    assert_int_equal(sums.runs, 17);
    OK(store_open(c->rebuilt, STORE_WRITE, &again, &why));
    look(again, &after);
    assert_string_equal(after.data, before.data);
    AUTO_BUF struct buf complaints = BUF_INIT;
    assert_int_equal(store_check(again, &complaints), TL_OK);

    withdraw(c); /* and what is restored gives the same record, to the byte */
    OK(recover_all(again, c->l, &why));
    read_record(c, "json", &record[2]);
    read_record(c, "jsonl", &record[3]);
    store_close(again);
    assert_string_equal(record[2].data, record[0].data);
    assert_string_equal(record[3].data, record[1].data);
    for (int i = 0; i < 4; i++)
        buf_free(&record[i]);
}

static void test_parents_come_before_children(void **state) {
    struct closing *c = *state;
    put_moved_runs(c);
    begin(c->w);
    end(c->w, c->w->crawl.root, 1, STORE_SUCCESS, NULL);
    commit(c->w);
    OK(close_crawl(c->w->s, c->l, &c->w->crawl, "done", &why));
    AUTO_BUF struct buf package = BUF_INIT, order = BUF_INIT;
    read_record(c, "jsonl", &package);
    for (const char *at = package.data; (at = strstr(at, "\"url\":\"")) != NULL;) {
        at += 7;
        buf_add(&order, at, strcspn(at, "\""));
        buf_char(&order, ' ');
    }
    assert_string_equal(order.data,
                        "l1 l2 p r s y q t x z after "); /* t and x before q's other child, as their keys are */
}

static void test_what_is_not_over_is_not_closed(void **state) {
    struct closing *c = *state;
    struct fail reason = FAIL_INIT;
    assert_int_equal(close_crawl(c->w->s, c->l, &c->w->crawl, "done", &reason), TL_INVALID); /* the root is under way */
    assert_non_null(strstr(reason.text, "not over"));
    assert_string_equal(ask(c->w, "SELECT status FROM crawls"), "open\n");
    DIR *staging = opendir(lake_staging(c->l));
    int entries = 0;
    while (readdir(staging))
        entries++;
    closedir(staging);
    assert_int_equal(entries, 2); /* . and .. */
}

static void test_opened_again_gives_another_record(void **state) {
    struct closing *c = *state;
    struct world *w = c->w;
    AUTO_BUF struct buf first = BUF_INIT, second = BUF_INIT;
    int64_t count;
    begin(w);
    put_line(w, "a");
    claim(w);
    end(w, w->got[0].key, w->got[0].token, STORE_FAILED, NULL);
    end(w, w->crawl.root, 1, STORE_SUCCESS, NULL);
    commit(w);
    OK(close_crawl(w->s, c->l, &w->crawl, "done", &why));
    read_record(c, "json", &first);
    OK(close_crawl(w->s, c->l, &w->crawl, "stopped", &why)); /* closed already: nothing happens */
    assert_string_equal(ask(w, "SELECT status FROM crawls"), "done\n");
    begin(w);
    OK(store_crawl_retry(w->s, w->crawl.root, NULL, &count));
    commit(w);
    begin(w);
    claim(w);
    end(w, w->got[0].key, w->got[0].token, STORE_SUCCESS, NULL);
    commit(w);
    OK(close_crawl(w->s, c->l, &w->crawl, "stopped", &why));
    read_record(c, "json", &second);
    assert_non_null(strstr(first.data, "\"counts\":{\"success\":1,\"failed\":1}"));
    assert_non_null(strstr(second.data, "\"counts\":{\"success\":2}"));
    assert_non_null(strstr(second.data, "\"reason\":\"stopped\""));
}

/* ---- what a dead process left in staging */

static void stage_in(const char *folder, const char *name, const char *text) {
    int at = open(folder, O_RDONLY | O_DIRECTORY);
    assert_true(at >= 0);
    OK(lake_write(at, name, span_of(text), &why));
    close(at);
}

static bool lies(struct closing *c, const char *path) {
    char full[600];
    snprintf(full, sizeof full, "%s/%s", c->lake, path);
    return access(full, F_OK) == 0;
}

static void test_committed_files_go_to_their_place(void **state) {
    struct closing *c = *state;
    struct world *w = c->w;
    char dead[200], name[96], id[UUID_TEXT], path[200];
    struct uuid result, other = uuid_new();
    AUTO_BUF struct buf attachments = BUF_INIT;
    begin(w);
    put_line(w, "a");
    claim(w);
    struct store_document d = document_of(&result);
    uuid_text(&result, id);
    buf_printf(&attachments,
               "[{\"name\":\"b\",\"path\":\"attachments/x=1/%s/b\",\"bytes\":1,\"sha256\":\"\",\"media_type\":\"\"}]",
               id);
    d.attachments = attachments.data;
    end(w, w->got[0].key, w->got[0].token, STORE_SUCCESS, &d);
    commit(w);
    snprintf(dead, sizeof dead, "%s/.staging/%s", c->lake, "019a0000-0000-7000-8000-00000000dead");
    assert_int_equal(mkdir(dead, 0755), 0);
    snprintf(name, sizeof name, "%s.part", id);
    stage_in(dead, name, "document");
    snprintf(name, sizeof name, "%s=b.part", id);
    stage_in(dead, name, "attachment");
    snprintf(name, sizeof name, "%s=not-of-it.part", id);
    stage_in(dead, name, "junk");
    stage_in(dead, "junk", "junk");
    snprintf(name, sizeof name, "%s.part", uuid_text(&other, id));
    stage_in(dead, name, "never committed");
    OK(recover_all(w->s, c->l, &why));
    uuid_text(&result, id);
    snprintf(path, sizeof path, "documents/year=2026/%s.json", id);
    assert_true(lies(c, path));
    snprintf(path, sizeof path, "attachments/x=1/%s/b", id);
    assert_true(lies(c, path));
    assert_int_equal(access(dead, F_OK), -1);
}

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_rebuilt_catalog_is_the_same, closing_setup, closing_teardown),
        cmocka_unit_test_setup_teardown(test_parents_come_before_children, closing_setup, closing_teardown),
        cmocka_unit_test_setup_teardown(test_what_is_not_over_is_not_closed, closing_setup, closing_teardown),
        cmocka_unit_test_setup_teardown(test_opened_again_gives_another_record, closing_setup, closing_teardown),
        cmocka_unit_test_setup_teardown(test_committed_files_go_to_their_place, closing_setup, closing_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
