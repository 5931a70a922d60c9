/* run_tell.c - what is said of a crawl: a line for each run, a summary at its end, the exit code, and the last line. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json_write.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "cmd/print.h"
#include "cmd/run.h"
#include "cmd/tables.h"
#include "engine/crawl_fanin.h"

/* ---- output */

void run_tell_one(void *ctx, const struct super_finished *f) {
    (void)ctx;
    AUTO_BUF struct buf line = BUF_INIT;
    struct json_writer w = JSON_WRITER(&line);
    json_object_begin(&w);
    json_member_string(&w, "run_id", f->run_id);
    json_member_string(&w, "parent_id", f->parent_id);
    json_member_int(&w, "depth", f->depth);
    json_member_string(&w, "collector", f->collector);
    json_member_string(&w, "status", store_state_name[f->state]);
    json_member_string(&w, "reason", f->reason);
    json_member_string(&w, "url", f->url);
    if (f->http_status > 0)
        json_member_int(&w, "http_status", f->http_status);
    else
        json_member_null(&w, "http_status");
    json_member_int(&w, "bytes", f->bytes);
    json_member_real(&w, "seconds", f->seconds);
    json_member_string(&w, "document", f->document_path);
    json_member_string(&w, "error", f->error);
    json_object_end(&w);
    buf_char(&line, '\n');
    fwrite(line.data, 1, line.len, stdout);
    fflush(stdout);
}

static int64_t failed_of(const struct running *r) {
    return r->root.failed;
}

static int read_crawl_row(void *ctx, const struct store_row *row) {
    struct running *r = ctx;
    r->root.runs = row->value[0].number;
    r->root.failed = row->value[1].number;
    r->root.leashed = row->value[2].number;
    r->root.documents = row->value[3].number;
    r->root.bytes = row->value[4].number;
    return 1;
}

/* The first that holds, in the order of contracts: 14, 9, 70, 13, 6, 11, 10, 7, 8, 5, 0. */
static int exit_code_of(const struct running *r) {
    const struct super_summary *s = &r->sum;
    const struct run_options *o = r->o;
    bool all = s->lines == 0 ||
               (s->lines_ended == s->lines && s->lines_failed + s->lines_refused - s->lines_partial >= s->lines);
    bool some_line = s->lines_failed > 0 || s->parts_failed > 0;
    double percent = r->root.runs > 1 ? 100.0 * (double)failed_of(r) / (double)(r->root.runs - 1) : 0;
    if (s->refused_credentials > 0 && o->fail_on != FAIL_ON_NEVER)
        return EXIT_AUTH;
    if (all && s->end == SUPER_DONE && o->fail_on != FAIL_ON_NEVER)
        return EXIT_ROOT;
    if (s->end == SUPER_INTERRUPTED)
        return EXIT_INTERRUPT;
    if (s->end == SUPER_RATE)
        return EXIT_RATE;
    if (s->end == SUPER_TIMEOUT)
        return EXIT_TIMEOUT;
    if (o->fail_on == FAIL_ON_LEASH && r->root.leashed > 0)
        return EXIT_LEASH;
    if (o->fail_on == FAIL_ON_NEVER || o->fail_on == FAIL_ON_ROOT)
        return EXIT_DONE;
    if (some_line || (o->fail_on == FAIL_ON_ANY && (failed_of(r) > 0 || s->events_failed > 0)) ||
        (o->fail_on == FAIL_ON_PERCENT && percent > o->percent))
        return EXIT_LINE;
    return EXIT_DONE;
}

const char *run_end_word(const struct running *r) {
    static const char *const words[] = {"done", "time", "stopped", "interrupted", "timeout", "rate", "disk"};
    return words[r->sum.end];
}

static void write_summary(const struct running *r, int code, struct buf *out) {
    struct json_writer w = JSON_WRITER(out);
    json_object_begin(&w);
    json_member_string(&w, "crawl", r->crawl.name);
    json_member_string(&w, "end", run_end_word(r));
    json_member_int(&w, "exit_code", code);
    json_member_int(&w, "runs", r->root.runs);
    json_member_int(&w, "failed", r->root.failed);
    json_member_int(&w, "leashed", r->root.leashed);
    json_member_int(&w, "documents", r->root.documents);
    json_member_int(&w, "bytes", r->root.bytes);
    json_member_int(&w, "queued", r->sum.queued);
    json_put_key(&w, "finished_here");
    json_object_begin(&w);
    for (int i = STORE_SUCCESS; i < STORE_STATES; i++)
        if (r->sum.by_state[i])
            json_member_int(&w, store_state_name[i], r->sum.by_state[i]);
    json_object_end(&w);
    AUTO_BUF struct buf leash = BUF_INIT;
    leash_json(&leash, &r->crawl.leash);
    json_member_raw(&w, "leash", buf_span(&leash));
    json_member_real(&w, "seconds", (double)r->sum.elapsed_us / 1e6);
    json_member_string(&w, "root_id", r->root_id);
    json_object_end(&w);
    buf_char(out, '\n');
}

static int print_count(void *ctx, const struct store_row *row) {
    (void)ctx;
    printf("%-14.*s %8lld\n", (int)row->value[0].text.len, row->value[0].text.ptr, (long long)row->value[1].number);
    return 0;
}

/* Of the whole crawl, whoever carried out its parts. */
static void print_table(const struct running *r) {
    char size[TIME_TEXT], elapsed[TIME_TEXT];
    const struct store_value root = store_text(r->root_id);
    store_query(r->open.store,
                "SELECT status, count(*) FROM runs WHERE root_id = $1 GROUP BY status ORDER BY status IN ('queued', "
                "'leased'), status DESC",
                &root, 1, print_count, NULL, NULL);
    store_query(r->open.store,
                "SELECT 'leashed ' || reason, count(*) FROM leashed WHERE root_id = $1 GROUP BY reason ORDER BY reason",
                &root, 1, print_count, NULL, NULL);
    time_size_text(r->root.bytes, size);
    time_duration_text(r->sum.elapsed_us, elapsed);
    printf("%lld document%s, %s, %s; root %s\n", (long long)r->root.documents, print_s(r->root.documents), size,
           elapsed, r->root_id);
}

static int take_cause(void *ctx, const struct store_row *row) {
    struct buf *out = ctx;
    const struct tl_span url = row->value[1].text, error = row->value[2].text;
    if (url.len && (!error.len || !memmem(error.ptr, error.len, url.ptr, url.len)))
        buf_printf(out, "%.*s: ", (int)url.len, url.ptr);
    else if (!url.len)
        buf_printf(out, "%.*s: ", (int)row->value[0].text.len, row->value[0].text.ptr);
    buf_add(out, error.ptr, error.len < 400 ? error.len : 400);
    return 1;
}

/* Why the first line, or part of one, that did not succeed did not, else what --fail-on says of the rest; empty: all is
 * well. */
static void find_cause(const struct running *r, struct buf *out) {
    const struct store_value root = store_text(r->root_id);
    AUTO_BUF struct buf cause = BUF_INIT;
    store_query(r->open.store,
                "SELECT collector, url, coalesce(error, reason, status) FROM runs WHERE parent_id = $1 AND status IN "
                "('failed', 'crashed', 'refused', 'partial') ORDER BY run_id LIMIT 1",
                &root, 1, take_cause, &cause, NULL);
    if (!cause.len) /* no run was made of it */
        store_query(
            r->open.store,
            "SELECT collector, url, 'the leash refused it (' || reason || ')' FROM leashed WHERE parent_id = $1 "
            "LIMIT 1",
            &root, 1, take_cause, &cause, NULL);
    if (!cause.len && r->sum.parts_failed)
        store_query(
            r->open.store,
            "SELECT collector, url, coalesce(error, reason, status) FROM runs WHERE root_id = $1 AND edge = 'page' "
            "AND line AND status IN ('failed', 'crashed', 'partial') ORDER BY run_id LIMIT 1",
            &root, 1, take_cause, &cause, NULL);
    if (!cause.len && r->o->fail_on == FAIL_ON_PERCENT)
        buf_printf(&cause, "more than %g%% of the runs failed (--fail-on)", r->o->percent);
    else if (!cause.len && r->o->fail_on == FAIL_ON_ANY)
        buf_text(&cause, "a run or a reaction failed (--fail-on any)");
    if (cause.len)
        print_plain(out, buf_span(&cause), 0);
}

static void say_closing(const struct running *r, int code) {
    char elapsed[TIME_TEXT];
    AUTO_BUF struct buf resume = BUF_INIT, waits = BUF_INIT, cause = BUF_INIT;
    time_duration_text(r->sum.elapsed_us, elapsed);
    if (r->turn && r->turn->by_hand)
        buf_printf(&resume, "trotline run --target %s", r->crawl.name);
    else if (r->turn)
        buf_text(&resume, "trotline run --due");
    else if (r->crawl.file)
        buf_printf(&resume, "trotline run %s --resume %s", r->crawl.file, r->root_id);
    else
        buf_printf(&resume, "trotline crawl --resume %s", r->root_id);
    buf_printf(&waits, "%lld run%s queued", (long long)r->sum.queued, print_s(r->sum.queued));
    if (r->sum.events_open > 0)
        buf_printf(&waits, " and %lld reaction%s to come", (long long)r->sum.events_open, print_s(r->sum.events_open));
    if (r->sum.end == SUPER_INTERRUPTED || r->sum.end == SUPER_TIMEOUT || r->sum.end == SUPER_RATE) {
        log_ending(code, "crawl %s: %s after %s with %s; go on with: %s", r->crawl.name, run_end_word(r), elapsed,
                   waits.data, resume.data);
        return;
    }
    if (code == EXIT_LINE || code == EXIT_ROOT || code == EXIT_AUTH)
        find_cause(r, &cause);
    char in_force[160], depth[24], runs[24];
    snprintf(depth, sizeof depth, "%lld", (long long)r->crawl.leash.depth);
    snprintf(runs, sizeof runs, r->crawl.leash.runs == INT64_MAX ? "none" : "%lld", (long long)r->crawl.leash.runs);
    snprintf(in_force, sizeof in_force, "leash: depth %s, runs %s", depth, runs);
    log_ending(code,
               "crawl %s: %s%s%s, %lld run%s, %lld failed, %lld refused by the leash or robots (%s)%s%s; look with: "
               "trotline %s %s",
               r->crawl.name, run_end_word(r), r->was_closed ? " already" : " after ", r->was_closed ? "" : elapsed,
               (long long)r->root.runs, print_s(r->root.runs), (long long)r->root.failed, (long long)r->root.leashed,
               in_force, cause.len ? "; " : "", cause.len ? cause.data : "",
               code == EXIT_DONE || code == EXIT_LEASH ? "lineage" : "show", r->root_id);
}

/* ---- on_finish */

static void run_hook(const char *command, const struct buf *summary) {
    int ends[2];
    pid_t pid;
    posix_spawn_file_actions_t files;
    char *argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", (char *)(uintptr_t)command, NULL};
    if (pipe2(ends, O_CLOEXEC))
        return;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[0], 0);
    posix_spawn_file_actions_adddup2(&files, 2, 1);
    int rc = posix_spawn(&pid, "/bin/sh", &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    close(ends[0]);
    for (size_t at = 0; !rc && at < summary->len;) {
        ssize_t n = write(ends[1], summary->data + at, summary->len - at);
        if (n < 0 && errno != EINTR)
            break;
        at += n > 0 ? (size_t)n : 0;
    }
    close(ends[1]);
    int status = 0;
    if (rc || waitpid(pid, &status, 0) < 0 || status)
        log_warn("on_finish: '%s' did not end well (status %#x)", command, (unsigned)status);
}

/* ---- the end */

/* With `fanin:`, it is the policy there that says whether lines that failed matter. */
static int merge_legs(struct running *r, int code) {
    struct fail why = FAIL_INIT;
    if (!r->crawl.fanin.sources || !(r->was_closed || run_is_over(r)))
        return code;
    if (crawl_fanin(&r->crawl, r->open.store, r->open.lake, r->root_id, r->root.context_json, time_now_us(), &why))
        return r->o->fail_on == FAIL_ON_NEVER && why.exit_code == EXIT_ROOT ? code : cmd_fail(&why, EXIT_INTERNAL);
    return r->o->fail_on == FAIL_ON_LINE && code == EXIT_LINE ? EXIT_DONE : code;
}

int run_tell_end(struct running *r) {
    struct fail why = FAIL_INIT;
    const struct store_value root = store_text(r->root_id);
    AUTO_BUF struct buf summary = BUF_INIT;
    store_query(r->open.store, "SELECT runs, failed, leashed, documents, bytes FROM crawls WHERE root_id = $1", &root,
                1, read_crawl_row, r, &why);
    int code = merge_legs(r, exit_code_of(r));
    write_summary(r, code, &summary);
    if (r->o->output_given && r->o->format != CMD_TABLE)
        fwrite(summary.data, 1, summary.len, stdout);
    else if (!r->g->quiet || r->o->output_given)
        print_table(r);
    if (!cmd_flush(stdout))
        code = EXIT_DISK;
    if (r->root.root && run_is_over(r)) { /* a crawl without fault whose tables are not made has one */
        int tables = tables_after(&r->open, r->g, r->root.root, r->root_id);
        code = code || r->o->fail_on == FAIL_ON_NEVER ? code : tables;
    }
    for (size_t i = 0; i < r->open.config.on_finish_count; i++)
        run_hook(r->open.config.on_finish[i], &summary);
    say_closing(r, code);
    return code;
}
