/* targets.c - trotline targets: what is watched and how it stands, what turned up, and what is watched no more. */
#include <unistd.h>

#include "base/json_write.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "cmd/candidates.h"
#include "cmd/commands.h"
#include "cmd/diff_out.h"
#include "cmd/targets_related.h"

enum { OPT_CANDIDATES = 256, OPT_NOW, OPT_ALL };
struct options {
    enum cmd_format format;
    bool candidates, all;
    int64_t now_us, most;
};

/* ---- the list */

struct history {
    char root[2][UUID_TEXT]; /* of the newest crawls that are over */
    char status[24];
    int64_t crawls, documents, over;
    int64_t failed; /* of the newest */
};

static int each_crawl(void *ctx, const struct store_row *row) {
    struct history *h = ctx;
    const struct tl_span status = row->value[1].text;
    if (!h->crawls) {
        snprintf(h->status, sizeof h->status, "%.*s", (int)status.len, status.ptr);
        h->failed = row->value[3].number;
    }
    h->crawls++;
    h->documents += row->value[2].number;
    if (!span_eq(status, "open") && h->over < 2)
        snprintf(h->root[h->over++], UUID_TEXT, "%.*s", (int)row->value[0].text.len, row->value[0].text.ptr);
    return 0;
}

static void put_time(struct json_writer *w, const char *key, int64_t us) {
    char text[TIME_TEXT];
    if (us > 0 && us < INT64_MAX)
        json_member_string(w, key, time_text(us, text));
    else
        json_member_null(w, key);
}

static void put_kinds(struct json_writer *w, const struct target *t) {
    AUTO_BUF struct buf text = BUF_INIT;
    for (size_t i = 0; i < t->kind_count; i++)
        buf_printf(&text, "%s%s", i ? ", " : "", t->kinds[i]);
    json_member_span(w, "kinds", buf_span(&text));
}

static void put_every(struct json_writer *w, int64_t us) {
    AUTO_BUF struct buf text = BUF_INIT;
    static const struct {
        const char *unit;
        int64_t seconds;
    } units[] = {{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}};
    int64_t left = us / 1000000;
    for (size_t i = 0; i < COUNT_OF(units) && us != INT64_MAX; i++) {
        if (left / units[i].seconds)
            buf_printf(&text, "%lld%s", (long long)(left / units[i].seconds), units[i].unit);
        left %= units[i].seconds;
    }
    json_member_string(w, "every", us == INT64_MAX ? "none" : text.data);
}

static int put_drift(struct cmd_open *o, struct json_writer *w, const struct history *h, struct fail *why) {
    static const char *const names[DIFF_CHANGES] = {"added", "removed", "changed"};
    int64_t change[DIFF_CHANGES] = {0};
    AUTO_BUF struct buf text = BUF_INIT;
    int rc = h->over == 2 ? diff_count(o->store, o->lake, h->root[1], h->root[0], change, why) : TL_OK;
    if (rc)
        return rc;
    buf_printf(&text, "+%lld -%lld ~%lld", (long long)change[DIFF_ADDED], (long long)change[DIFF_REMOVED],
               (long long)change[DIFF_CHANGED]);
    for (size_t i = 0; i < DIFF_CHANGES; i++)
        h->over == 2 ? json_member_int(w, names[i], change[i]) : json_member_null(w, names[i]);
    json_member_string(w, "drift", h->over == 2 ? text.data : NULL);
    return TL_OK;
}

static int put_target(struct cmd_open *o, const struct options *x, const struct targets_entry *e, struct json_writer *w,
                      struct fail *why) {
    struct targets_due due;
    struct history h = {0};
    const struct store_value name = store_text(e->t.crawl.name);
    int rc = targets_due(o->store, e, x->now_us, &due);
    if (rc)
        return fail_set(why, rc, "cannot ask the catalog when '%s' is due", e->t.crawl.name);
    rc = store_query(o->store,
                     "SELECT root_id, status, documents, failed FROM crawls WHERE crawl = $1 ORDER BY root_id DESC",
                     &name, 1, each_crawl, &h, why);
    if (rc)
        return rc;
    json_object_begin(w);
    json_member_string(w, "id", e->t.crawl.name);
    json_member_string(w, "name", e->t.crawl.target);
    put_kinds(w, &e->t);
    put_every(w, e->t.every_us);
    json_member_int(w, "lines", (int64_t)e->t.crawl.line_count);
    put_time(w, "last_run", due.last_us);
    json_member_string(w, "status", h.crawls ? h.status : "never");
    h.crawls ? json_member_int(w, "failed", h.failed) : json_member_null(w, "failed");
    put_time(w, "next_due", due.next_us);
    json_member_bool(w, "due", targets_is_due(&due, x->now_us));
    json_member_int(w, "crawls", h.crawls);
    json_member_int(w, "documents", h.documents);
    rc = put_drift(o, w, &h, why);
    json_member_string(w, "root_id", h.over ? h.root[0] : NULL);
    json_member_string(w, "file", e->yaml ? NULL : e->t.crawl.file);
    json_member_string(w, "promoted_from", e->what);
    json_member_string(w, "reaction", e->reaction);
    json_object_end(w);
    return rc;
}

static int list(struct cmd_open *o, const struct options *x, const struct targets *t) {
    static const char shown[] =
        "SELECT value->>'id' AS id, value->>'name' AS name, value->>'every' AS every, substr(value->>'last_run', 1, "
        "19) "
        "AS last_run, value->>'status' AS status, value->>'failed' AS failed, CASE WHEN value->>'due' THEN 'now' ELSE "
        "substr(value->>'next_due', "
        "1, "
        "19) END AS next_due, value->>'crawls' AS crawls, value->>'documents' AS documents, value->>'drift' AS drift, "
        "value->>'promoted_from' AS promoted_from FROM json_each($1)";
    static const char whole[] =
        "SELECT value->>'id' AS id, value->>'name' AS name, value->>'kinds' AS kinds, value->>'every' AS every, "
        "value->>'lines' AS lines, value->>'last_run' AS last_run, value->>'status' AS status, value->>'failed' AS "
        "failed, value->>'next_due' AS "
        "next_due, value->>'due' AS due, value->>'crawls' AS crawls, value->>'documents' AS documents, value->>'added' "
        "AS "
        "added, value->>'removed' AS removed, value->>'changed' AS changed, value->>'root_id' AS root_id, "
        "value->>'file' "
        "AS file, value->>'promoted_from' AS promoted_from, value->>'reaction' AS reaction FROM json_each($1)";
    AUTO_BUF struct buf json = BUF_INIT;
    struct json_writer w = JSON_WRITER(&json);
    struct fail why = FAIL_INIT;
    int rc = TL_OK;
    json_array_begin(&w);
    for (size_t i = 0; i < t->count && !rc; i++)
        rc = put_target(o, x, &t->entry[i], &w, &why);
    json_array_end(&w);
    const struct store_value rows = store_text(json.data);
    if (!rc)
        rc = cmd_rows(o->store, x->format, stdout, x->format == CMD_TABLE ? shown : whole, &rows, 1, &why);
    if (rc)
        return cmd_fail(&why, EXIT_INTERNAL);
    if (!cmd_flush(stdout))
        return EXIT_DISK;
    int code = t->broken ? EXIT_CONFIG : EXIT_DONE;
    AUTO_BUF struct buf first = BUF_INIT;
    if (!t->count && !t->broken) {
        buf_text(&first, "; a first one is a file ID.yml in ");
        targets_folder(&o->config, &first);
        buf_text(&first, ", or made by: trotline promote URL");
    }
    log_ending(code, "%zu target%s%s%s", t->count, t->count == 1 ? "" : "s",
               t->broken ? "; some files are none (see above)" : "", first.len ? first.data : "");
    return code;
}

/* ---- candidates */

static int candidates(struct cmd_open *o, const struct cmd_globals *g, const struct options *x) {
    static const char shown[] =
        "SELECT 'c' || c.candidate_id AS id, c.kind, c.text, c.score, c.documents, c.targets, substr(c.first_seen_at, "
        "1, "
        "19) AS first_seen, substr(c.last_seen_at, 1, 19) AS last_seen, (SELECT s.url FROM sightings s WHERE "
        "s.candidate_id = c.candidate_id ORDER BY s.first_seen_at LIMIT 1) AS seen_at, c.target, c.wanted_by FROM "
        "candidates c WHERE $1 OR c.target IS NULL ORDER BY c.score DESC, c.documents DESC, c.kind, c.text LIMIT $2";
    static const char whole[] =
        "SELECT 'c' || c.candidate_id AS id, c.kind, c.text, c.url, c.score, c.documents, c.targets, c.first_seen_at, "
        "c.last_seen_at, (SELECT s.url FROM sightings s WHERE s.candidate_id = c.candidate_id ORDER BY s.first_seen_at "
        "LIMIT 1) AS seen_at, (SELECT s.run_id FROM sightings s WHERE s.candidate_id = c.candidate_id ORDER BY "
        "s.first_seen_at LIMIT 1) AS run_id, (SELECT group_concat(target, ', ') FROM (SELECT DISTINCT s.target FROM "
        "sightings s WHERE s.candidate_id = c.candidate_id ORDER BY 1)) AS seen_in, c.target, c.wanted_by FROM "
        "candidates c WHERE $1 OR c.target IS NULL ORDER BY c.score DESC, c.documents DESC, c.kind, c.text LIMIT $2";
    const struct store_value args[] = {store_int(x->all), store_int(x->most)};
    struct discovery d;
    struct fail why = FAIL_INIT;
    int64_t failed = 0, unheard = 0;
    int code = cmd_open(o, g, 0, NULL, 0);
    if (!code && discovery_read(&o->config, &d, &why))
        return cmd_fail(&why, EXIT_CONFIG);
    if (!code) {
        code = candidates_update(o, g, &d, x->now_us, &failed);
        discovery_free(&d);
    }
    if (code)
        return code;
    if (cmd_rows(o->store, x->format, stdout, x->format == CMD_TABLE ? shown : whole, args, 2, &why))
        return cmd_fail(&why, EXIT_INTERNAL);
    if (!cmd_flush(stdout))
        return EXIT_DISK;
    if (targets_unheard(&o->config, o->store, &unheard, &why))
        return cmd_fail(&why, EXIT_INTERNAL);
    if (unheard)
        log_warn("%lld candidates that reactions want (wanted_by) lead to private addresses, and are never promoted: "
                 "fetch.private, or trotline promote",
                 (long long)unheard);
    if (failed)
        log_ending(EXIT_LINE, "%lld documents could not be looked at for candidates (see above)", (long long)failed);
    return failed ? EXIT_LINE : EXIT_DONE;
}

/* ---- one of them */

static int find(const struct targets *t, const char *id, const struct targets_entry **out) {
    *out = targets_find(t, id);
    return *out ? 0 : cmd_usage("targets", "there is no target '%s' (trotline targets lists them)", id);
}

static int show(const struct targets *t, const char *id) {
    const struct targets_entry *e = NULL;
    int code = find(t, id, &e);
    if (code)
        return code;
    if (e->yaml) {
        printf("%s", e->yaml);
        return cmd_flush(stdout) ? EXIT_DONE : EXIT_DISK;
    }
    printf("%s\n", e->t.crawl.file);
    return cmd_flush(stdout) ? EXIT_DONE : EXIT_DISK;
}

static int take_back(struct cmd_open *o, const struct targets *t, const char *id, int64_t now_us) {
    const struct targets_entry *e = NULL;
    struct fail why = FAIL_INIT;
    int code = find(t, id, &e);
    if (code)
        return code;
    if (!e->yaml)
        return cmd_usage("targets", "the target '%s' is a file: to watch it no more, remove %s", id, e->t.crawl.file);
    if (targets_take_back(o->store, o->lake, id, now_us, &why))
        return cmd_fail(&why, EXIT_INTERNAL);
    log_ending(EXIT_DONE, "the target '%s' is watched no more; its documents stay: trotline ls --name %s", id, id);
    return EXIT_DONE;
}

/* ---- the command */

/* `targets show ID > targets/ID.yml`: the shell has made that file, and it is empty yet. */
static void say_nothing(const char *text) {
    (void)text;
}

static int words(struct cmd_open *o, const struct cmd_globals *g, const struct options *x, int argc, char **argv) {
    struct targets t = {0};
    struct fail why = FAIL_INIT;
    bool removing = argc == 2 && strcmp(argv[0], "rm") == 0, showing = argc == 2 && strcmp(argv[0], "show") == 0;
    int code = cmd_open(o, g, 0, NULL, 0);
    if (argc && !removing && !showing)
        return cmd_usage("targets",
                         "after targets stands nothing, --candidates, `show ID`, `rm ID`, `history ID` or `shared [ID "
                         "[ID]]`, not '%s'",
                         argv[0]);
    if (code)
        return code;
    bool there = strstr(o->config.catalog, "://") || access(o->config.catalog, F_OK) == 0;
    code = cmd_open(o, g,
                    removing ? CMD_STORE_WRITE | CMD_LAKE_WRITE
                    : there  ? CMD_STORE_READ | CMD_LAKE_READ
                             : CMD_STORE_WRITE | CMD_LAKE_WRITE,
                    NULL, 0);
    if (!code && targets_load(&o->config, o->store, showing ? say_nothing : candidates_problem, &t, &why))
        code = cmd_fail(&why, EXIT_CONFIG);
    if (!code && showing && !targets_find(&t, argv[1])) { /* perhaps it is in one of those */
        targets_free(&t);
        code = targets_load(&o->config, o->store, candidates_problem, &t, &why) ? cmd_fail(&why, EXIT_CONFIG) : 0;
    }
    if (!code)
        code = removing ? take_back(o, &t, argv[1], x->now_us) : showing ? show(&t, argv[1]) : list(o, x, &t);
    targets_free(&t);
    return code;
}

static int targets_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {{"candidates", no_argument, NULL, OPT_CANDIDATES},
                                          {"all", no_argument, NULL, OPT_ALL},
                                          {"now", required_argument, NULL, OPT_NOW},
                                          {"output", required_argument, NULL, 'o'},
                                          {0}};
    struct options x = {.now_us = time_now_us(), .most = 50};
    struct cmd_open o = {0};
    for (int c; (c = cmd_option(argc, argv, "o:n:", longs)) != 0;) {
        if (c < 0)
            return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        x.candidates = x.candidates || c == OPT_CANDIDATES;
        x.all = x.all || c == OPT_ALL;
        if (c == 'o' && cmd_format(optarg, &x.format))
            return cmd_usage("targets", "-o takes table, json, jsonl or csv, not '%s'", optarg);
        if (c == 'n' && (x.most = cmd_number(optarg, 1, INT32_MAX)) < 0)
            return cmd_usage("targets", "-n wants a number of candidates, not '%s'", optarg);
        if (c == OPT_NOW && (time_parse(span_of(optarg), &x.now_us) || x.now_us <= 0))
            return cmd_usage("targets", "--now takes a time such as 2026-11-30T06:00:00Z, not '%s'", optarg);
    }
    if (x.candidates && argc > optind)
        return cmd_usage("targets", "--candidates takes no further word");
    const struct targets_question q = {x.format, x.now_us, x.most};
    char **word = argv + optind;
    int count = argc - optind;
    int code = x.candidates                                            ? candidates(&o, g, &x)
               : count == 2 && strcmp(word[0], "history") == 0         ? targets_history(&o, g, &q, word[1])
               : count && count <= 3 && strcmp(word[0], "shared") == 0 ? targets_shared(&o, g, &q, word + 1, count - 1)
                                                                       : words(&o, g, &x, count, word);
    cmd_close(&o);
    return code;
}

const struct command cmd_targets = {
    "targets", "what is watched, when it is due, and what turned up", targets_main,
    "[-o FORMAT] [--candidates [--all] [-n N] | show ID | rm ID | history ID [-n N] | shared [ID [ID]] [-n N]]",
    "Lists the targets of the folder targets (ID.yml, trotline-targets(5)) and those that were promoted: the last run\n"
    "and how it ended, how many of its runs failed, when the next is due, crawls, documents, and the drift between\n"
    "the last two crawls: documents added, removed, changed. `trotline run --due` carries out what is due.\n"
    "\n"
    "      --candidates      what was found on the way: hosts, URLs, URNs or names, with score, where and when they\n"
    "                        were seen first, and in how many targets; looks at new documents first\n"
    "      --all             with --candidates: those that are targets by now, too\n"
    "  -n N                  with --candidates, history, shared: at most so many (default 50)\n"
    "      --now TIME        take this for the time\n"
    "  -o, --output FORMAT   table, json, jsonl or csv\n"
    "\n"
    "  show ID               a promoted target as it would stand in a file; of another the name of its file\n"
    "  rm ID                 undo a promotion; documents stay\n"
    "  history ID            what changed: the newest changes of the columns that are watched\n"
    "  shared [ID [ID]]      what targets have in common, what is there most often first: of all, of one with others, "
    "of\n"
    "                        two\n"
    "\n"
    "Examples:\n"
    "  trotline targets\n"
    "  trotline targets --candidates -n 10\n"
    "  trotline targets history kayaking -n 20\n"
    "  trotline targets shared kayaking paddlers.test\n"
    "  trotline targets show paddlers.test > targets/paddlers.test.yml\n"
    "  trotline targets rm paddlers.test\n"};
