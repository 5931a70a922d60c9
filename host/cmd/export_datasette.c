/* export_datasette.c - trotline export datasette: metadata for Datasette over the catalog, so that it can be browsed.
 *
 * What columns are about comes from the comments of the schema; the views and the questions of the how-to on queries
 * stand here. The catalog's own tables are hidden: only views are for others. */
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "cmd/export.h"

struct view {
    const char *name, *about;
    const char *of;     /* the table whose columns most of its columns are */
    const char *facets; /* columns, comma separated, or NULL */
    const char *sort;   /* column that it is sorted by, descending, or NULL */
};
static const struct view views[] = {
    {"crawls", "Crawls, one row each: state, limits, sums.", "crawl", "crawl,status", "started_at"},
    {"runs", "Runs: what was to be collected, and how it ended.", "run", "status,collector,reason,depth", "started_at"},
    {"failures", "Runs that failed or crashed, and why.", "run", "reason,collector", "finished_at"},
    {"tree", "Crawls as trees: each run under the one that led to it.", "run", "status", NULL},
    {"edges", "Which run led to which.", "edge", "kind", NULL},
    {"lineage", "All ancestors of each run.", "ancestor", "hops", NULL},
    {"documents", "Result documents in the lake.", "document", NULL, "collected_at"},
    {"datasets", "Datasets of each document.", NULL, "name,type,media_type", NULL},
    {"leashed", "What the leash, robots.txt or the guard refused.", "refusal", "reason,collector", "at"},
    {"events", "Reactions that wait, are under way, or failed.", "event", "status,reactor", "created_at"},
    {"collectors", "Collectors that ran.", "collector", NULL, "first_seen_at"},
    {"links", "Links between entities.", "link_row", "name,type", NULL},
    {"urls", "Canonical URLs, and their newest documents.", "url_row", NULL, NULL},
    {"url_map", "Where URLs led, and when.", "url_map_row", "kind", "since_at"},
    {"url_documents", "All documents of each canonical URL.", "url_document", "status,http_status", "collected_at"},
    {"validators", "What pages are asked with whether they have changed.", "validator", NULL, "at"},
    {"hosts", "Pace and robots.txt of hosts.", "host", "robots", NULL},
    {"items", "Files of dataset items, for each crawl that has rows in them.", "table_file", "format,producer",
     "hour_at"},
    {"tables", "All files of tables: items, typed tables, rejects.", "table_file", "kind,name,format", "hour_at"},
    {"types", "Types of typed tables that were used.", "typed", NULL, NULL},
    {"contexts", "Contexts that legs of a crawl share.", NULL, "week", NULL},
    {"backups", "Copies of repositories, and what is known of them.", NULL, "kind,server,owner", "at"},
    {"tracked", "What is tracked.", "tracked_name", NULL, "completed_at"},
    {"locks", "What is locked.", "lock_row", NULL, NULL},
    {"candidates", "What was found on the way, with a score.", "candidate", "kind,target", "last_seen_at"},
    {"sightings", "Which pages speak of which candidates.", "sighting", "target", "last_seen_at"},
    {"shared", "What two targets have in common.", NULL, "target_a,target_b", "times"},
    {"history", "What watched columns said, each time that it changed.", "watched_value", "target,column", "at"},
    {"promotions", "What became a target, and why.", "promotion", "kind,reaction", "promoted_at"},
    {"health", "The catalog in numbers.", NULL, NULL, NULL},
};

struct query {
    const char *name, *title, *sql;
};
/* Those of the how-to, with parameters where it has an example. */
static const struct query queries[] = {
    {"failed-yesterday", "What failed yesterday, and why?",
     "select finished_at, collector, url, error, attempts, run_id\n"
     "from failures\n"
     "where finished_at >= date('now', '-1 day') and finished_at < date('now')\n"
     "order by finished_at"},
    {"tree", "What did the newest crawl fetch, as a tree?",
     "select what, status\n"
     "from tree\n"
     "where root_id = (select max(root_id) from crawls)"},
    {"origin", "Where does this document come from?",
     "with recursive way (run_id, hops) as (\n"
     "  select run_id, 0 from documents where result_id = :result_id\n"
     "  union all\n"
     "  select r.parent_id, hops + 1 from way join runs r on r.run_id = way.run_id where r.parent_id is not null)\n"
     "select r.depth, coalesce(r.url, r.collector) as what, r.started_at, r.run_id\n"
     "from way join runs r on r.run_id = way.run_id\n"
     "order by hops desc"},
    {"leashed", "What did the leash stop?",
     "select reason, count(*) as things, sum(times) as asked_for, min(url) as for_example\n"
     "from leashed\n"
     "where root_id = (select max(root_id) from crawls)\n"
     "group by reason\n"
     "order by things desc"},
    {"leashed-list", "What did the leash stop, one by one?",
     "select l.reason, l.url, r.url as first_asked_by, l.times\n"
     "from leashed l join runs r on r.run_id = l.parent_id\n"
     "where l.root_id = (select max(root_id) from crawls)\n"
     "order by l.reason, l.url"},
    {"changed", "What changed since last week?",
     "with mine as (\n"
     "  select root_id, started_at from crawls where crawl = :crawl and status <> 'open'),\n"
     "pair as (\n"
     "  select max(root_id) as after_id,\n"
     "         (select max(root_id) from mine\n"
     "          where started_at <= (select strftime('%Y-%m-%dT%H:%M:%S', max(started_at), '-7 days') from mine)) as "
     "before_id\n"
     "  from mine),\n"
     "page as (\n"
     "  select r.url, s.sha256, r.root_id\n"
     "  from pair join runs r on r.root_id in (pair.before_id, pair.after_id)\n"
     "    join datasets s on s.run_id = r.run_id and s.name = 'page'\n"
     "  where r.status = 'success'\n"
     "  union all -- not modified: the earlier document stands for it\n"
     "  select r.url, s.sha256, r.root_id\n"
     "  from pair join runs r on r.root_id in (pair.before_id, pair.after_id)\n"
     "    join datasets s on s.result_id = r.result_ref and s.name = 'page'),\n"
     "sides as (\n"
     "  select url,\n"
     "         max(case when root_id = (select before_id from pair) then sha256 end) as before,\n"
     "         max(case when root_id = (select after_id from pair) then sha256 end) as after\n"
     "  from page group by url)\n"
     "select case when before is null then 'added' when after is null then 'removed' else 'changed' end as what, url\n"
     "from sides\n"
     "where before is not after and (select before_id from pair) is not null\n"
     "order by what, url"},
};

struct writing {
    struct json_writer w;
    const struct view *view; /* whose column is looked for */
    struct tl_span column;
    struct buf found;
};

/* ---- columns */

/* The same name, or the time that a view shows as text. */
static bool is_column(struct tl_span view, const char *column) {
    size_t len = strlen(column);
    if (span_eq(view, column))
        return true;
    return len > 3 && strcmp(column + len - 3, "_us") == 0 && view.len == len &&
           memcmp(view.ptr, column, len - 3) == 0 && memcmp(view.ptr + len - 3, "_at", 3) == 0;
}

/* "0 rules, 1 none": numbers for which a view has words, or null. */
static bool is_code(const char *text) {
    for (const char *at = text; at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL)
        if (*at >= '0' && *at <= '9' && (at[1] == ' ' || at[1] == ':'))
            return true;
    return false;
}

static int look_for(void *ctx, const char *table, const char *column, const char *text) {
    struct writing *x = ctx;
    if (!column || strcmp(table, x->view->of) != 0 || !is_column(x->column, column))
        return 0;
    if (!is_code(text))
        buf_text(&x->found, text);
    return 1;
}

static int each_column(void *ctx, const struct store_row *row) {
    struct writing *x = ctx;
    x->column = row->value[0].text;
    buf_reset(&x->found);
    if (x->view->of)
        store_comments(look_for, x);
    if (!x->found.len)
        return 0;
    json_put_key_span(&x->w, x->column);
    json_put_string(&x->w, buf_span(&x->found));
    return 0;
}

/* ---- views, tables, questions */

static void put_words(struct json_writer *w, const char *key, const char *words) {
    json_put_key(w, key);
    json_array_begin(w);
    for (const char *at = words; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
        json_put_string(w, (struct tl_span){at, strcspn(at, ",")});
    json_array_end(w);
}

static int put_view(struct cmd_open *o, struct writing *x, const struct view *v, struct fail *why) {
    const struct store_value name = store_text(v->name);
    x->view = v;
    json_put_key(&x->w, v->name);
    json_object_begin(&x->w);
    json_member_string(&x->w, "description", v->about);
    if (v->facets)
        put_words(&x->w, "facets", v->facets);
    if (v->sort)
        json_member_string(&x->w, "sort_desc", v->sort);
    json_put_key(&x->w, "columns");
    json_object_begin(&x->w);
    int rc = store_query(o->store, "SELECT name FROM pragma_table_info($1)", &name, 1, each_column, x, why);
    json_object_end(&x->w);
    json_object_end(&x->w);
    return rc;
}

static int hide(void *ctx, const char *table, const char *column, const char *text) {
    struct writing *x = ctx;
    (void)text;
    if (column)
        return 0;
    json_put_key(&x->w, table);
    json_object_begin(&x->w);
    json_member_bool(&x->w, "hidden", true);
    json_object_end(&x->w);
    return 0;
}

static void put_query(struct writing *x, const struct query *q) {
    json_put_key(&x->w, q->name);
    json_object_begin(&x->w);
    json_member_string(&x->w, "title", q->title);
    json_member_string(&x->w, "sql", q->sql);
    json_object_end(&x->w);
}

/* Datasette calls a database as its file, without the ending. */
static struct tl_span database(const char *catalog) {
    const char *name = strrchr(catalog, '/') ? strrchr(catalog, '/') + 1 : catalog;
    const char *dot = strrchr(name, '.');
    return (struct tl_span){name, dot && dot > name ? (size_t)(dot - name) : strlen(name)};
}

static int put_all(struct cmd_open *o, struct writing *x, struct fail *why) {
    int rc = TL_OK;
    json_object_begin(&x->w);
    json_member_string(&x->w, "title", "Trotline");
    json_member_string(&x->w, "description",
                       "The catalog of a crawler on a leash: what was crawled, how it ended, where it lies.");
    json_put_key(&x->w, "databases");
    json_object_begin(&x->w);
    json_put_key_span(&x->w, database(o->config.catalog));
    json_object_begin(&x->w);
    json_put_key(&x->w, "tables");
    json_object_begin(&x->w);
    for (size_t i = 0; !rc && i < COUNT_OF(views); i++)
        rc = put_view(o, x, &views[i], why);
    store_comments(hide, x);
    json_object_end(&x->w);
    json_put_key(&x->w, "queries");
    json_object_begin(&x->w);
    for (size_t i = 0; i < COUNT_OF(queries); i++)
        put_query(x, &queries[i]);
    json_object_end(&x->w);
    json_object_end(&x->w);
    json_object_end(&x->w);
    json_object_end(&x->w);
    return rc;
}

int export_datasette(struct cmd_open *o, const struct cmd_globals *g, const struct export_options *x) {
    AUTO_BUF struct buf out = BUF_INIT;
    struct writing w = {.w = JSON_WRITER(&out)};
    struct fail why = FAIL_INIT;
    if (x->count)
        return cmd_usage("export", "datasette takes nothing else, but there is '%s'", x->word[0]);
    int code = cmd_open(o, g, CMD_STORE_READ, NULL, 0);
    if (!code && put_all(o, &w, &why))
        code = cmd_fail(&why, EXIT_INTERNAL);
    buf_free(&w.found);
    if (code)
        return code;
    buf_char(&out, '\n');
    fwrite(out.data, 1, out.len, stdout);
    return cmd_flush(stdout) ? EXIT_DONE : EXIT_DISK;
}
