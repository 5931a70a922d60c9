/* export_duckdb.c - trotline export duckdb: a file of views for `duckdb -init`.
 *
 * A view reads whatever files there are when it is asked. Where there are none yet it is an empty relation with the
 * same columns, for DuckDB refuses a pattern without files; so it is to be made anew when a table gets its first rows.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/export.h"

struct views {
    struct buf out, location;
    int64_t documents, largest; /* of the lake */
};

static const char *const sql_type[] = {"VARCHAR",  "BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMP WITH TIME ZONE",
                                       "VARCHAR[]"};

static void put_text(struct buf *out, const char *text) {
    buf_char(out, '\'');
    for (const char *c = text; *c; c++) {
        if (*c == '\'')
            buf_char(out, '\'');
        buf_char(out, *c);
    }
    buf_char(out, '\'');
}

/* A glob's letters in the lake's own path are no pattern. */
static void put_pattern(struct views *v, const char *below) {
    AUTO_BUF struct buf path = BUF_INIT;
    for (const char *c = v->location.data; *c; c++)
        if (strchr("*?[", *c))
            buf_printf(&path, "[%c]", *c);
        else
            buf_char(&path, *c);
    buf_printf(&path, "/%s", below);
    put_text(&v->out, path.data);
}

/* ---- tables */

static const char *const above[] = {"compression", "type",
                                    "p_type_version"}; /* levels of paths that are no partitions */

/* A level of the path goes before a column of the file, so a table that has a column of such a name reads its
 * partitions from the file's name instead. */
static bool is_hidden(const struct table_entry *e) {
    for (size_t i = 0; i < e->table.count; i++)
        for (size_t k = 0; k < COUNT_OF(above); k++)
            if (strcmp(e->table.columns[i].name, above[k]) == 0)
                return true;
    return false;
}

static void put_partition(struct views *v, const char *name, bool hidden) {
    if (hidden)
        buf_printf(&v->out, ", regexp_extract(filename, '/%s=([^/]*)/', 1) AS %s", name, name);
    else
        buf_printf(&v->out, ", \"%s\"", name);
}

static void put_select(struct views *v, const struct table_entry *e, bool hidden) {
    buf_text(&v->out, "SELECT ");
    for (size_t i = 0; i < e->table.count; i++)
        buf_printf(&v->out, "%s\"%s\"", i ? ", " : "", e->table.columns[i].name);
    for (size_t i = 0; e->partition[i]; i++)
        put_partition(v, e->partition[i], hidden);
}

static void put_source(struct views *v, const struct table_entry *e, bool hidden) {
    AUTO_BUF struct buf below = BUF_INIT;
    buf_printf(&below, "%s/%s", e->root, e->kind == STORE_ITEMS ? "*/dataset_items/**/*.parquet" : "**/*.parquet");
    buf_text(&v->out, "\nFROM read_parquet(");
    put_pattern(v, below.data);
    buf_text(&v->out, ", union_by_name = true");
    if (hidden) {
        buf_text(&v->out, ", hive_partitioning = false, filename = true)");
        return;
    }
    buf_text(&v->out, ", hive_partitioning = true,\n    hive_types = {");
    for (size_t i = 0; e->partition[i]; i++)
        buf_printf(&v->out, "%s'%s': VARCHAR", i ? ", " : "", e->partition[i]);
    buf_text(&v->out, "})");
}

static void put_nothing(struct views *v, const struct table_entry *e) {
    buf_text(&v->out, "SELECT ");
    for (size_t i = 0; i < e->table.count; i++)
        buf_printf(&v->out, "%sNULL::%s AS \"%s\"", i ? ", " : "", sql_type[e->table.columns[i].type],
                   e->table.columns[i].name);
    for (size_t i = 0; e->partition[i]; i++)
        buf_printf(&v->out, ", NULL::VARCHAR AS \"%s\"", e->partition[i]);
    buf_text(&v->out, "\nWHERE false");
}

static void put_view(struct views *v, const struct table_entry *e) {
    bool hidden = is_hidden(e), typed = e->kind == STORE_TYPED;
    const char *name = typed ? e->name : e->type;
    buf_printf(&v->out, "\nCREATE OR REPLACE VIEW \"%s\" AS\n", name);
    if (e->files) {
        put_select(v, e, hidden);
        put_source(v, e, hidden);
    } else
        put_nothing(v, e);
    buf_text(&v->out, ";\n");
    if (typed && e->newest)
        buf_printf(&v->out, "CREATE OR REPLACE VIEW \"%s\" AS SELECT * FROM \"%s\";\n", e->type, name);
}

/* ---- documents */

static const char *const document[][2] = {{"schema_version", "VARCHAR"},
                                          {"result_id", "VARCHAR"},
                                          {"run_id", "VARCHAR"},
                                          {"lineage", "JSON"},
                                          {"collector", "JSON"},
                                          {"target", "JSON"},
                                          {"result_context_name", "VARCHAR"},
                                          {"result_name", "VARCHAR"},
                                          {"run_context", "JSON"},
                                          {"payload", "JSON"},
                                          {"leash", "JSON"},
                                          {"status", "VARCHAR"},
                                          {"error", "JSON"},
                                          {"started_at", "TIMESTAMP WITH TIME ZONE"},
                                          {"finished_at", "TIMESTAMP WITH TIME ZONE"},
                                          {"datasets", "JSON"},
                                          {"attachments", "JSON"},
                                          {"checksum", "VARCHAR"}};
static const char *const place[] = {"year", "month", "day", "hour", "clct_uuid"};

/* Values of the path are taken from the file's name: as partitions, they would go before what the document says. */
static void put_documents(struct views *v) {
    enum { SMALLEST = 64 << 20 };
    int64_t most = v->largest + v->largest / 2;
    buf_text(&v->out, "\nCREATE OR REPLACE VIEW \"documents\" AS\nSELECT ");
    for (size_t i = 0; i < COUNT_OF(document); i++)
        if (v->documents)
            buf_printf(&v->out, "%s\"%s\"", i ? ", " : "", document[i][0]);
        else
            buf_printf(&v->out, "%sNULL::%s AS \"%s\"", i ? ", " : "", document[i][1], document[i][0]);
    for (size_t i = 0; i < COUNT_OF(place); i++)
        if (v->documents)
            buf_printf(&v->out, ", regexp_extract(filename, '/%s=([^/]*)/', 1) AS %s", place[i], place[i]);
        else
            buf_printf(&v->out, ", NULL::VARCHAR AS %s", place[i]);
    if (!v->documents) {
        buf_text(&v->out, "\nWHERE false;\n");
        return;
    }
    buf_text(&v->out, "\nFROM read_json(");
    put_pattern(v, "documents/**/*.json");
    buf_text(&v->out,
             ", format = 'unstructured', records = true, hive_partitioning = false, filename = true,\n    columns = {");
    for (size_t i = 0; i < COUNT_OF(document); i++)
        buf_printf(&v->out, "%s'%s': '%s'", i ? ", " : "", document[i][0], document[i][1]);
    most = most < SMALLEST ? SMALLEST : most > UINT32_MAX ? UINT32_MAX : most;
    buf_printf(&v->out, "},\n    maximum_object_size = %lld);\n", (long long)most);
}

/* ---- the file */

static int each_sum(void *ctx, const struct store_row *row) {
    struct views *v = ctx;
    v->documents = row->value[0].number;
    v->largest = row->value[1].type == STORE_INT ? row->value[1].number : 0;
    return 1;
}

static int write_out(const struct views *v, const char *path) {
    if (!path) {
        fwrite(v->out.data, 1, v->out.len, stdout);
        return cmd_flush(stdout) ? EXIT_DONE : EXIT_DISK;
    }
    struct fail why = FAIL_INIT;
    FILE *file = fopen(path, "we");
    bool good = file && fwrite(v->out.data, 1, v->out.len, file) == v->out.len;
    good = file && fclose(file) == 0 && good;
    return good ? EXIT_DONE : cmd_fail((fail_errno(&why, TL_FAILED, "cannot write %s", path), &why), EXIT_DISK);
}

static int write_views(struct cmd_open *o, const struct table_list *list, const char *path, struct views *v) {
    struct fail why = FAIL_INIT;
    int64_t count = 1;
    if (store_query(o->store, "SELECT count(*), max(bytes) FROM documents", NULL, 0, each_sum, v, &why))
        return cmd_fail(&why, EXIT_INTERNAL);
    buf_text(&v->out,
             "-- Views of a trotline lake for DuckDB. Made by: trotline export duckdb; again when a table has its "
             "first rows.\n-- duckdb -init views.sql\n");
    for (size_t i = 0; i < list->count; i++) {
        put_view(v, &list->entry[i]);
        count += 1 + (list->entry[i].kind == STORE_TYPED && list->entry[i].newest);
    }
    put_documents(v);
    int code = write_out(v, path);
    if (!code && path)
        log_ending(EXIT_DONE, "export: %lld views in %s; use them with: duckdb -init %s", (long long)count, path, path);
    return code;
}

int export_duckdb(struct cmd_open *o, const struct cmd_globals *g, const struct export_options *x) {
    struct config_types types = {0};
    struct table_list list = {0};
    struct views v = {0};
    if (x->count > 1)
        return cmd_usage("export", "duckdb writes one file: name one, or none for the standard output");
    int code = cmd_open(o, g, CMD_STORE_READ | CMD_LAKE_READ, NULL, 0);
    if (!code)
        code = export_tables(o, &types, &list);
    if (!code) {
        export_location(&v.location, o, x);
        code = write_views(o, &list, x->count ? x->word[0] : NULL, &v);
    }
    buf_free(&v.out);
    buf_free(&v.location);
    table_list_free(&list);
    config_types_free(&types);
    return code;
}
