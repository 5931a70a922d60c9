/* export_ddl.c - trotline export ddl: the tables as statements for engines that keep a catalog of their own.
 *
 * One table for each folder in which all files have the same columns: dataset items in Parquet and in Avro, each
 * version of each type, rejects. Partitions are texts, as they stand in paths. */
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "cmd/export.h"
#include "engine/delta_replay.h"
#include "engine/table_file.h"

enum engine { ATHENA, HIVE, SPARK, TRINO };
enum { VALUES_MAX = 1000 };

struct dialect {
    const char *word;
    enum engine engine;
};
static const struct dialect dialects[] = {
    {"athena", ATHENA}, {"glue", ATHENA}, {"hive", HIVE}, {"spark", SPARK}, {"trino", TRINO}};

struct values { /* of a partition, as they stand in paths, each once */
    char **value;
    size_t count, room;
};
struct ddl {
    enum engine engine;
    struct buf out, location;
    struct cmd_open *open;
    const struct table_entry *entry;
    /* the table at hand */
    const char *name, *root; /* root: folder below the lake */
    bool avro;
    struct values producers, environments, roots;
    int first_year, last_year;
};

/* ---- texts */

static void put_text(struct ddl *d, const char *text) {
    buf_char(&d->out, '\'');
    for (const char *c = text; *c; c++) {
        if (*c == '\'')
            buf_text(&d->out, d->engine == TRINO ? "'" : "\\");
        else if (*c == '\\' && d->engine != TRINO)
            buf_char(&d->out, '\\');
        buf_char(&d->out, *c);
    }
    buf_char(&d->out, '\'');
}

static void put_name(struct ddl *d, const char *name) {
    char quote = d->engine == TRINO ? '"' : '`';
    buf_char(&d->out, quote);
    for (const char *c = name; *c; c++) {
        if (*c == quote)
            buf_char(&d->out, quote);
        buf_char(&d->out, *c);
    }
    buf_char(&d->out, quote);
}

/* The Avro readers of Hive and Trino know no microseconds: there a time is its number. */
static const char *type_word(const struct ddl *d, enum column_type type) {
    static const char *const hive[] = {"string", "bigint", "double", "boolean", "timestamp", "array<string>"};
    static const char *const trino[] = {"varchar", "bigint", "double", "boolean", "timestamp", "array(varchar)"};
    if (type == COLUMN_TIME && d->avro && d->engine != SPARK)
        return "bigint";
    return d->engine == TRINO ? trino[type] : hive[type];
}

static void put_columns(struct ddl *d, bool partitions_too) {
    const struct table *t = &d->entry->table;
    for (size_t i = 0; i < t->count; i++) {
        const struct column *c = &t->columns[i];
        bool micros = c->type == COLUMN_TIME && d->avro && d->engine != SPARK;
        buf_text(&d->out, i ? ",\n  " : "  ");
        put_name(d, c->name);
        buf_printf(&d->out, " %s", type_word(d, c->type));
        if (c->doc || micros) {
            AUTO_BUF struct buf about = BUF_INIT;
            buf_printf(&about, "%s%s%s", c->doc ? c->doc : "", c->doc && micros ? ", in " : "",
                       micros ? "microseconds since 1970 UTC" : "");
            for (char *semicolon; (semicolon = strchr(about.data, ';')) != NULL;)
                *semicolon = ','; /* old clients end a statement there, quotes or not */
            buf_text(&d->out, " COMMENT ");
            put_text(d, about.data);
        }
    }
    for (size_t i = 0; partitions_too && d->entry->partition[i]; i++) {
        buf_text(&d->out, ",\n  ");
        put_name(d, d->entry->partition[i]);
        buf_printf(&d->out, " %s", type_word(d, COLUMN_TEXT));
    }
    buf_text(&d->out, "\n");
}

static void put_partitions(struct ddl *d, const char *type) {
    for (size_t i = 0; d->entry->partition[i]; i++) {
        buf_text(&d->out, i ? ", " : "");
        if (d->engine == TRINO)
            put_text(d, d->entry->partition[i]);
        else
            put_name(d, d->entry->partition[i]);
        buf_text(&d->out, type);
    }
}

static void put_place(struct ddl *d, bool slash) {
    AUTO_BUF struct buf place = BUF_INIT;
    buf_printf(&place, "%s/%s%s", d->location.data, d->root, slash ? "/" : "");
    put_text(d, place.data);
}

/* ---- Hive, and Athena with partition projection */

static void put_property(struct ddl *d, const char *partition, const char *key, const char *value) {
    AUTO_BUF struct buf name = BUF_INIT;
    buf_printf(&name, "projection.%s.%s", partition, key);
    buf_text(&d->out, ",\n  ");
    put_text(d, name.data);
    buf_text(&d->out, " = ");
    put_text(d, value);
}

static void project_list(struct ddl *d, const char *partition, const struct values *v) {
    AUTO_BUF struct buf list = BUF_INIT;
    if (!v->count) { /* nothing to enumerate yet: queries must name it */
        put_property(d, partition, "type", "injected");
        return;
    }
    for (size_t i = 0; i < v->count; i++)
        buf_printf(&list, "%s%s", i ? "," : "", v->value[i]);
    put_property(d, partition, "type", "enum");
    put_property(d, partition, "values", list.data);
}

static void project_number(struct ddl *d, const char *partition, int from, int to, const char *digits) {
    char range[40];
    snprintf(range, sizeof range, "%d,%d", from, to);
    put_property(d, partition, "type", "integer");
    put_property(d, partition, "range", range);
    put_property(d, partition, "digits", digits);
}

static void project(struct ddl *d, const char *partition) {
    if (strcmp(partition, "p_schema_version") == 0) {
        put_property(d, partition, "type", "enum");
        put_property(d, partition, "values", d->entry->version);
    } else if (strcmp(partition, "p_environment") == 0)
        project_list(d, partition, &d->environments);
    else if (strcmp(partition, "p_producer_name") == 0)
        project_list(d, partition, &d->producers);
    else if (strcmp(partition, "p_year") == 0)
        project_number(d, partition, d->first_year, d->last_year, "4");
    else if (strcmp(partition, "p_month") == 0)
        project_number(d, partition, 1, 12, "2");
    else if (strcmp(partition, "p_day") == 0)
        project_number(d, partition, 1, 31, "2");
    else
        project_number(d, partition, 0, 23, "2");
}

static void put_avro_schema(struct ddl *d) {
    static const char *const type[] = {"\"string\"",  "\"long\"", "\"double\"",
                                       "\"boolean\"", "\"long\"", "{\"type\":\"array\",\"items\":\"string\"}"};
    AUTO_BUF struct buf schema = BUF_INIT;
    struct json_writer w = JSON_WRITER(&schema);
    json_object_begin(&w);
    json_member_string(&w, "type", "record");
    json_member_string(&w, "name", d->entry->table.name);
    json_member_string(&w, "namespace", "trotline");
    json_put_key(&w, "fields");
    json_array_begin(&w);
    for (size_t i = 0; i < d->entry->table.count; i++) {
        AUTO_BUF struct buf union_ = BUF_INIT;
        buf_printf(&union_, "[\"null\",%s]", type[d->entry->table.columns[i].type]);
        json_object_begin(&w);
        json_member_string(&w, "name", d->entry->table.columns[i].name);
        json_member_raw(&w, "type", buf_span(&union_));
        json_member_null(&w, "default");
        json_object_end(&w);
    }
    json_array_end(&w);
    json_object_end(&w);
    put_text(d, schema.data);
}

static void put_hive(struct ddl *d) {
    buf_text(&d->out, "CREATE EXTERNAL TABLE IF NOT EXISTS ");
    put_name(d, d->name);
    buf_text(&d->out, " (\n");
    put_columns(d, false);
    buf_text(&d->out, ")\nPARTITIONED BY (");
    put_partitions(d, " string");
    buf_text(&d->out, ")\n");
    if (d->avro) {
        buf_text(&d->out, "ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.avro.AvroSerDe'\n"
                          "WITH SERDEPROPERTIES ('avro.schema.literal' = ");
        put_avro_schema(d);
        buf_text(&d->out, ")\n");
    }
    buf_text(&d->out, d->avro ? "STORED AS AVRO\nLOCATION " : "STORED AS PARQUET\nLOCATION ");
    put_place(d, true);
    if (d->engine == ATHENA) {
        buf_text(&d->out, "\nTBLPROPERTIES (\n  'projection.enabled' = 'true'");
        for (size_t i = 0; d->entry->partition[i]; i++)
            project(d, d->entry->partition[i]);
        buf_text(&d->out, "\n)");
    }
    buf_text(&d->out, ";\n");
    if (d->engine == HIVE) {
        buf_text(&d->out, "MSCK REPAIR TABLE ");
        put_name(d, d->name);
        buf_text(&d->out, ";\n");
    }
}

/* ---- Spark and Trino */

static bool has_log(struct ddl *d) {
    AUTO_BUF struct buf path = BUF_INIT;
    AUTO_CLOSE int fd = -1;
    delta_replay_name(&path, d->entry->root, 0);
    return !d->avro && lake_open_file(d->open->lake, path.data, &fd, NULL) == TL_OK;
}

static void put_spark(struct ddl *d) {
    buf_text(&d->out, "CREATE TABLE IF NOT EXISTS ");
    put_name(d, d->name);
    if (has_log(d)) { /* columns, partitions and files stand in it */
        d->root = d->entry->root;
        buf_text(&d->out, "\nUSING delta\nLOCATION ");
        put_place(d, false);
        buf_text(&d->out, ";\n");
        return;
    }
    buf_text(&d->out, " (\n");
    put_columns(d, true);
    buf_printf(&d->out, ")\nUSING %s\nOPTIONS (path ", d->avro ? "avro" : "parquet");
    put_place(d, false);
    buf_text(&d->out, ")\nPARTITIONED BY (");
    put_partitions(d, "");
    buf_text(&d->out, ");\nALTER TABLE ");
    put_name(d, d->name);
    buf_text(&d->out, " RECOVER PARTITIONS;\n");
}

static void put_trino(struct ddl *d) {
    buf_text(&d->out, "CREATE TABLE IF NOT EXISTS hive.default.");
    put_name(d, d->name);
    buf_text(&d->out, " (\n");
    put_columns(d, true);
    buf_printf(&d->out, ")\nWITH (\n  format = '%s',\n  external_location = ", d->avro ? "AVRO" : "PARQUET");
    put_place(d, true);
    buf_text(&d->out, ",\n  partitioned_by = ARRAY[");
    put_partitions(d, "");
    buf_text(&d->out, "]\n);\nCALL hive.system.sync_partition_metadata('default', ");
    put_text(d, d->name);
    buf_text(&d->out, ", 'ADD');\n");
}

/* ---- which tables */

static void remember(struct values *v, const char *text, size_t len) {
    for (size_t i = 0; i < v->count; i++)
        if (strncmp(v->value[i], text, len) == 0 && !v->value[i][len])
            return;
    if (v->count == VALUES_MAX)
        return;
    MEM_GROW(v->value, v->count, v->room);
    v->value[v->count++] = mem_text_n(text, len);
}

static void forget(struct values *v) {
    for (size_t i = 0; i < v->count; i++)
        free(v->value[i]);
    free(v->value);
    *v = (struct values){0};
}

/* A partition's value as it stands in the path. */
static void remember_level(struct values *v, const char *path, const char *level) {
    const char *at = strstr(path, level);
    if (at)
        remember(v, at + strlen(level), strcspn(at + strlen(level), "/"));
}

static int each_file(void *ctx, const struct store_table *f) {
    struct ddl *d = ctx;
    struct civil c = time_civil(f->hour_us);
    const char *end = strstr(f->path, "/p_schema_version=");
    if (c.year < d->first_year)
        d->first_year = c.year;
    if (d->entry->kind != STORE_ITEMS || !end)
        return 0;
    remember(&d->roots, f->path, (size_t)(end - f->path));
    remember_level(&d->environments, f->path, "/p_environment=");
    remember_level(&d->producers, f->path, "/p_producer_name=");
    return 0;
}

static void put_table(struct ddl *d, const char *name, const char *root) {
    d->name = name;
    d->root = root;
    buf_char(&d->out, '\n');
    if (d->engine == TRINO)
        put_trino(d);
    else if (d->engine == SPARK)
        put_spark(d);
    else
        put_hive(d);
}

/* Items lie below their codec; one that is no longer written has a table of its own, after its name. */
static void put_items(struct ddl *d) {
    AUTO_BUF struct buf root = BUF_INIT;
    const char *codec = table_file_codec(&d->open->config.convert, d->avro), *format = d->avro ? "avro" : "parquet";
    buf_printf(&root, LAKE_ITEMS "/%s/compression=%s/%s", format, codec, d->entry->table.name);
    remember(&d->roots, root.data, root.len);
    if (d->engine == SPARK && has_log(d)) { /* the log has the files of all codecs */
        put_table(d, d->entry->name, root.data);
        return;
    }
    for (size_t i = 0; i < d->roots.count; i++) {
        AUTO_BUF struct buf name = BUF_INIT;
        const char *from = strstr(d->roots.value[i], "compression=");
        buf_printf(&name, "%s%s", d->entry->name, d->avro ? "_avro" : "");
        if (from && strcmp(d->roots.value[i], root.data) != 0)
            buf_printf(&name, "_%.*s", (int)strcspn(from + 12, "/"), from + 12);
        put_table(d, name.data, d->roots.value[i]);
    }
}

static int put_entry(struct ddl *d, const char *format, struct fail *why) {
    const struct civil now = time_civil(time_now_us());
    d->first_year = now.year;
    d->last_year = now.year + 1;
    d->avro = strcmp(format, "avro") == 0;
    int rc = table_list_files(d->open->store, d->entry, format, each_file, d, why);
    if (!rc && d->entry->kind == STORE_ITEMS)
        put_items(d);
    else if (!rc)
        put_table(d, d->entry->name, d->entry->root);
    forget(&d->roots);
    forget(&d->producers);
    forget(&d->environments);
    return rc;
}

static void put_head(struct ddl *d) {
    static const char *const about[] = {
        [ATHENA] =
            "-- One statement at a time. Partitions are projected: nothing has to be loaded when files come. Years "
            "end with\n-- the next one, and producers and environments are those of today: make this anew when "
            "there are others.\n-- Say p_year, p_month and p_day in WHERE: what is left open is tried value by "
            "value.\n",
        [HIVE] = "-- MSCK REPAIR TABLE again when there are new partitions.\n",
        [SPARK] = "-- ALTER TABLE ... RECOVER PARTITIONS again when there are new ones; a table USING delta needs "
                  "nothing.\n",
        [TRINO] = "-- CALL ... sync_partition_metadata again when there are new partitions. hive.default is "
                  "CATALOG.SCHEMA: put yours.\n"};
    buf_text(&d->out, "-- Tables of a trotline lake. Made by: trotline export ddl\n");
    buf_text(&d->out, about[d->engine]);
}

static int write_ddl(struct ddl *d, const struct table_list *list) {
    struct fail why = FAIL_INIT;
    int rc = TL_OK;
    put_head(d);
    for (size_t i = 0; !rc && i < list->count; i++) {
        d->entry = &list->entry[i];
        rc = put_entry(d, "parquet", &why);
        if (!rc && d->entry->kind == STORE_ITEMS)
            rc = put_entry(d, "avro", &why);
    }
    if (rc)
        return cmd_fail(&why, EXIT_INTERNAL);
    fwrite(d->out.data, 1, d->out.len, stdout);
    return cmd_flush(stdout) ? EXIT_DONE : EXIT_DISK;
}

static const struct dialect *find_dialect(const char *word) {
    for (size_t i = 0; word && i < COUNT_OF(dialects); i++)
        if (strcmp(dialects[i].word, word) == 0)
            return &dialects[i];
    return NULL;
}

int export_ddl(struct cmd_open *o, const struct cmd_globals *g, const struct export_options *x) {
    const struct dialect *dialect = find_dialect(x->engine);
    struct config_types types = {0};
    struct table_list list = {0};
    struct ddl d = {.open = o};
    if (!dialect || x->count)
        return cmd_usage("export", "ddl wants --for athena, glue, hive, spark or trino%s%s", x->engine ? ", not " : "",
                         x->engine ? x->engine : "");
    int code = cmd_open(o, g, CMD_STORE_READ | CMD_LAKE_READ, NULL, 0);
    if (!code)
        code = export_tables(o, &types, &list);
    if (!code) {
        d.engine = dialect->engine;
        buf_text(&d.location, x->location ? "" : "file://");
        export_location(&d.location, o, x);
        if (d.engine == ATHENA && !x->location)
            log_warn("export: %s reads from S3: say where the lake lies there with --location s3://BUCKET/LAKE",
                     x->engine);
        code = write_ddl(&d, &list);
    }
    buf_free(&d.out);
    buf_free(&d.location);
    table_list_free(&list);
    config_types_free(&types);
    return code;
}
