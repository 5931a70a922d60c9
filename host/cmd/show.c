/* show.c - trotline show: everything that the catalog knows about one run. */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/commands.h"
#include "cmd/print.h"

enum { CHILDREN = 50, LABEL = 18 };

struct show {
    struct store *store;
    char id[UUID_TEXT], root[UUID_TEXT];
    int64_t most; /* children to be named */
    bool json;
    struct buf out;
    struct json_writer w;
    size_t rows; /* of the question under way */
    bool is_root;
};

/* ---- for people */

static void put_label(struct show *s, const char *label) {
    buf_printf(&s->out, "%s:%*s", label, (int)(strlen(label) < LABEL ? LABEL - strlen(label) : 1), "");
}

static void put_fact(struct show *s, const char *label, const struct store_value *v) {
    AUTO_BUF struct buf text = BUF_INIT;
    if (v->type == STORE_NULL)
        return;
    print_value(&text, v);
    put_label(s, label);
    print_plain(&s->out, buf_span(&text), 0);
    buf_char(&s->out, '\n');
}

/* The values of a row that are there, with two spaces between. */
static void put_line(struct show *s, const char *label, const struct store_row *row) {
    AUTO_BUF struct buf text = BUF_INIT;
    bool first = true;
    put_label(s, label);
    for (size_t i = 0; i < row->count; i++) {
        if (row->value[i].type == STORE_NULL)
            continue;
        buf_text(&s->out, first ? "" : "  ");
        buf_reset(&text);
        print_value(&text, &row->value[i]);
        print_plain(&s->out, buf_span(&text), 0);
        first = false;
    }
    buf_char(&s->out, '\n');
}

/* ---- questions */

struct part {
    struct show *s;
    const char *label; /* of its line, for people; NULL: every column is a line of its own */
};

static int each_row(void *ctx, const struct store_row *row) {
    struct part *p = ctx;
    struct show *s = p->s;
    s->rows++;
    if (s->json)
        print_object(&s->w, row);
    else if (p->label)
        put_line(s, p->label, row);
    else
        for (size_t i = 0; i < row->count; i++)
            if (!s->is_root || strcmp(row->name[i], "edge") != 0) /* nothing leads to a root */
                put_fact(s, row->name[i], &row->value[i]);
    return 0;
}

static int ask(struct show *s, const char *label, const char *sql, const char *first, const struct store_value *second,
               struct fail *why) {
    struct part p = {s, label};
    const struct store_value args[] = {store_text(first), second ? *second : store_int(0)};
    s->rows = 0;
    return store_query(s->store, sql, args, second ? 2 : 1, each_row, &p, why);
}

/* A list: in JSON a member, for people a line each. */
static int ask_list(struct show *s, const char *member, const char *label, const char *sql, const char *first,
                    const struct store_value *second, struct fail *why) {
    if (s->json) {
        json_put_key(&s->w, member);
        json_array_begin(&s->w);
    }
    int rc = ask(s, label, sql, first, second, why);
    if (s->json)
        json_array_end(&s->w);
    return rc;
}

/* One row or none: in JSON an object or null. */
static int ask_one(struct show *s, const char *member, const char *sql, struct fail *why) {
    if (s->json)
        json_put_key(&s->w, member);
    int rc = ask(s, NULL, sql, s->id, NULL, why);
    if (s->json && !s->rows)
        json_put_null(&s->w);
    return rc;
}

static int each_root(void *ctx, const struct store_row *row) {
    struct show *s = ctx;
    snprintf(s->root, sizeof s->root, "%.*s", (int)row->value[0].text.len, row->value[0].text.ptr);
    return 1;
}

static int each_count(void *ctx, const struct store_row *row) {
    *(int64_t *)ctx = row->value[0].number;
    return 1;
}

static int children(struct show *s, struct fail *why) {
    const struct store_value id = store_text(s->id), most = store_int(s->most);
    int64_t count = 0;
    int rc = store_query(s->store, "SELECT count(*) FROM runs WHERE parent_id = $1", &id, 1, each_count, &count, why);
    if (rc)
        return rc;
    if (s->json)
        json_member_int(&s->w, "child_count", count);
    else {
        put_label(s, "children");
        buf_printf(&s->out, "%lld\n", (long long)count);
    }
    rc = ask_list(s, "children", "child",
                  s->json ? "SELECT run_id, edge, status, http_status, collector, url FROM runs WHERE parent_id = $1 "
                            "ORDER BY run_id LIMIT $2"
                          : "SELECT run_id, status, http_status, collector, coalesce(url, payload) FROM runs "
                            "WHERE parent_id = $1 ORDER BY run_id LIMIT $2",
                  s->id, &most, why);
    if (rc == TL_OK && !s->json && (int64_t)s->rows < count) {
        put_label(s, "child");
        buf_printf(&s->out, "... and %lld more (--all names them)\n", (long long)count - (int64_t)s->rows);
    }
    return rc;
}

/* Of a root: what failed anywhere below it, the answer to the last line of its crawl. */
static int failures(struct show *s, struct fail *why) {
    const struct store_value id = store_text(s->id), most = store_int(s->most);
    int64_t count = 0;
    int rc = store_query(s->store, "SELECT count(*) FROM failures WHERE root_id = $1", &id, 1, each_count, &count, why);
    if (!rc)
        rc = ask_list(s, "failures", "failure",
                      "SELECT run_id, collector, url, error FROM failures WHERE root_id = $1 ORDER BY run_id LIMIT $2",
                      s->id, &most, why);
    if (!rc && !s->json && (int64_t)s->rows < count) {
        put_label(s, "failure");
        buf_printf(&s->out, "... and %lld more (--all names them)\n", (long long)count - (int64_t)s->rows);
    }
    return rc;
}

static int parts(struct show *s, struct fail *why) {
    const struct store_value id = store_text(s->id);
    int rc = ask_one(s, "run", "SELECT * FROM runs WHERE run_id = $1", why);
    if (!rc && s->is_root)
        rc = ask_one(
            s, "crawl",
            "SELECT crawl, status AS crawl_status, reason AS crawl_reason, org, project, runs, failed, leashed, "
            "documents, bytes AS crawl_bytes, queued, leased, file_sha256, leash, run_context, package_sha256 "
            "FROM crawls WHERE root_id = $1",
            why);
    if (!rc)
        rc = ask_one(s, "document",
                     "SELECT result_id, path, sha256, bytes AS document_bytes, collected_at FROM documents "
                     "WHERE run_id = $1",
                     why);
    if (!rc)
        rc = ask_list(s, "datasets", "dataset",
                      "SELECT name, type, elements, bytes, media_type, encoding, sha256 FROM datasets "
                      "WHERE run_id = $1 ORDER BY ordinal",
                      s->id, NULL, why);
    if (!rc)
        rc = children(s, why);
    if (!rc && s->is_root)
        rc = failures(s, why);
    if (!rc)
        rc = ask_list(s, "leashed", "leashed",
                      "SELECT reason, times, collector, url, at FROM leashed WHERE root_id = $1 AND parent_id = $2 "
                      "ORDER BY at",
                      s->root, &id, why);
    if (!rc)
        rc = ask_list(s, "events", "event",
                      "SELECT reactor, kind, status, attempts, error FROM events WHERE root_id = $1 AND run_id = $2",
                      s->root, &id, why);
    if (!rc)
        rc = ask_list(s, "edges", "edge",
                      "SELECT kind, parent_id, child_id FROM edges WHERE child_id = $1 AND kind NOT IN ('spawn', "
                      "'page', 'react') UNION SELECT kind, parent_id, child_id FROM edges WHERE parent_id = $1 AND "
                      "kind NOT IN ('spawn', 'page', 'react')",
                      s->id, NULL, why);
    return rc;
}

static int show(struct show *s, const char *prefix) {
    struct fail why = FAIL_INIT;
    struct uuid id;
    if (store_find_run(s->store, prefix, &id, &why))
        return cmd_fail(&why, EXIT_USAGE);
    uuid_text(&id, s->id);
    const struct store_value key = store_text(s->id);
    if (store_query(s->store, "SELECT root_id FROM runs WHERE run_id = $1", &key, 1, each_root, s, &why))
        return cmd_fail(&why, EXIT_INTERNAL);
    s->is_root = strcmp(s->root, s->id) == 0;
    s->w = (struct json_writer)JSON_WRITER(&s->out);
    if (s->json)
        json_object_begin(&s->w);
    if (parts(s, &why))
        return cmd_fail(&why, EXIT_INTERNAL);
    if (s->json) {
        json_object_end(&s->w);
        buf_char(&s->out, '\n');
    }
    fwrite(s->out.data, 1, s->out.len, stdout);
    return cmd_flush(stdout) ? EXIT_DONE : EXIT_DISK;
}

static int show_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {
        {"all", no_argument, NULL, 'a'}, {"output", required_argument, NULL, 'o'}, {0}};
    struct show s = {.most = CHILDREN};
    enum cmd_format format = CMD_TABLE;
    for (int c; (c = cmd_option(argc, argv, "ao:", longs)) != 0;) {
        if (c < 0)
            return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        if (c == 'a')
            s.most = INT64_MAX;
        else if (c == 'o' && (cmd_format(optarg, &format) || format == CMD_CSV))
            return cmd_usage("show", "-o takes table or json, not '%s'", optarg);
    }
    if (argc - optind != 1)
        return cmd_usage("show",
                         optind < argc ? "one run at a time" : "which run? Give an id, or the beginning of one");
    struct cmd_open o = {0};
    int code = cmd_open(&o, g, CMD_STORE_READ, NULL, 0);
    s.store = o.store;
    s.json = format != CMD_TABLE;
    if (!code)
        code = show(&s, argv[optind]);
    buf_free(&s.out);
    cmd_close(&o);
    return code;
}

const struct command cmd_show = {
    "show", "show one run, with its parent and children", show_main, "[--all] [-o FORMAT] ID",
    "Shows all that is known about one run: where it came from, how it ended, its document and datasets, its\n"
    "children, what the leash refused it; of a root, the crawl's facts and its failures as well. ID is a run's or a "
    "result's,\n"
    "whole or as far as it is unique.\n"
    "\n"
    "  -a, --all              name all children and failures, not only the first 50\n"
    "  -o, --output FORMAT    table (default: one fact a line), json\n"
    "\n"
    "Examples:\n"
    "  trotline show 0193a5c4-7b2e-7d1f\n"
    "  trotline show --all -o json 0193a5c4-7d6e-7c33-9a52-c4fd0d8b4b1c\n"};
