/* lineage_exchange.c - a lineage for other systems: OpenLineage events, Cypher statements. */
#include "cmd/lineage.h"
#include "engine/version.h"

/* ---- OpenLineage: one RunEvent a line (specification 2-0-2) */

#define PRODUCER     "https://trotline.example.org/" TROTLINE_VERSION
#define RUN_EVENT    "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
#define PARENT_FACET "https://openlineage.io/spec/facets/1-0-1/ParentRunFacet.json#/$defs/ParentRunFacet"
#define ERROR_FACET  "https://openlineage.io/spec/facets/1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet"
#define NAMESPACE    "trotline"

static const char *event_type(struct tl_span status) {
    static const struct {
        const char *status, *type;
    } types[] = {{"queued", "OTHER"}, {"leased", "RUNNING"}, {"failed", "FAIL"},
                 {"crashed", "FAIL"}, {"refused", "ABORT"},  {"cancelled", "ABORT"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (span_eq(status, types[i].status))
            return types[i].type;
    return "COMPLETE";
}

/* A job is a collector within a crawl; the root's is the crawl itself. */
static void put_job(struct lineage *l, struct json_writer *w, struct tl_span collector, bool root) {
    AUTO_BUF struct buf name = BUF_INIT;
    buf_text(&name, l->crawl);
    if (!root) {
        buf_char(&name, '.');
        buf_add(&name, collector.ptr, collector.len);
    }
    json_put_key(w, "job");
    json_object_begin(w);
    json_member_string(w, "namespace", NAMESPACE);
    json_member_span(w, "name", buf_span(&name));
    json_object_end(w);
}

static void begin_facet(struct json_writer *w, const char *name, const char *schema) {
    json_put_key(w, name);
    json_object_begin(w);
    json_member_string(w, "_producer", PRODUCER);
    json_member_string(w, "_schemaURL", schema);
}

static void put_run(struct lineage *l, struct json_writer *w, const struct lineage_node *n) {
    json_put_key(w, "run");
    json_object_begin(w);
    json_member_span(w, "runId", lineage_text(n, LINEAGE_RUN_ID));
    json_put_key(w, "facets");
    json_object_begin(w);
    if (n->field[LINEAGE_PARENT_ID].type == STORE_TEXT) {
        struct tl_span parent = lineage_text(n, LINEAGE_PARENT_ID), root = lineage_text(n, LINEAGE_ROOT_ID);
        bool of_root = parent.len == root.len && memcmp(parent.ptr, root.ptr, root.len) == 0;
        begin_facet(w, "parent", PARENT_FACET);
        json_put_key(w, "run");
        json_object_begin(w);
        json_member_span(w, "runId", parent);
        json_object_end(w);
        put_job(l, w, lineage_text(n, LINEAGE_PARENT_COLLECTOR), of_root);
        json_object_end(w);
    }
    if (n->field[LINEAGE_ERROR].type == STORE_TEXT) {
        begin_facet(w, "errorMessage", ERROR_FACET);
        json_member_span(w, "message", lineage_text(n, LINEAGE_ERROR));
        json_member_string(w, "programmingLanguage", "C");
        json_object_end(w);
    }
    json_object_end(w);
    json_object_end(w);
}

static void put_dataset(struct json_writer *w, struct tl_span namespace, struct tl_span name) {
    json_object_begin(w);
    json_member_span(w, "namespace", namespace);
    json_member_span(w, "name", name);
    json_object_end(w);
}

/* https://host:port and the rest. */
static void put_input(struct json_writer *w, struct tl_span url) {
    size_t at = 0;
    while (at + 2 < url.len && memcmp(url.ptr + at, "://", 3) != 0)
        at++;
    if (at + 2 >= url.len)
        return;
    at += 3;
    while (at < url.len && !strchr("/?#", url.ptr[at]))
        at++;
    struct tl_span rest = {url.ptr + at, url.len - at};
    put_dataset(w, (struct tl_span){url.ptr, at}, rest.len ? rest : span_of("/"));
}

static void put_output(struct lineage *l, struct json_writer *w, struct tl_span path) {
    AUTO_BUF struct buf name = BUF_INIT;
    buf_printf(&name, "%s/", l->lake);
    buf_add(&name, path.ptr, path.len);
    put_dataset(w, span_of("file"), buf_span(&name));
}

static void openlineage_node(struct lineage *l, const struct lineage_node *n) {
    struct json_writer w = JSON_WRITER(&l->line);
    static const enum lineage_field times[] = {LINEAGE_FINISHED_AT, LINEAGE_STARTED_AT, LINEAGE_QUEUED_AT};
    struct tl_span at = {"", 0};
    for (size_t i = 0; !at.len && i < sizeof times / sizeof *times; i++)
        at = lineage_text(n, times[i]);
    json_object_begin(&w);
    json_member_string(&w, "eventType", event_type(lineage_text(n, LINEAGE_STATUS)));
    json_member_span(&w, "eventTime", at);
    put_run(l, &w, n);
    put_job(l, &w, lineage_text(n, LINEAGE_COLLECTOR), n->field[LINEAGE_PARENT_ID].type == STORE_NULL);
    json_put_key(&w, "inputs");
    json_array_begin(&w);
    put_input(&w, lineage_text(n, LINEAGE_URL));
    json_array_end(&w);
    json_put_key(&w, "outputs");
    json_array_begin(&w);
    if (n->field[LINEAGE_PATH].type == STORE_TEXT)
        put_output(l, &w, lineage_text(n, LINEAGE_PATH));
    json_array_end(&w);
    json_member_string(&w, "producer", PRODUCER);
    json_member_string(&w, "schemaURL", RUN_EVENT);
    json_object_end(&w);
    buf_char(&l->line, '\n');
    lineage_flush(l);
}

static void nothing(struct lineage *l) {
    (void)l;
}

const struct lineage_format lineage_openlineage = {"openlineage", nothing, openlineage_node, nothing};

/* ---- Cypher: batches of literals; parents come before their children, so each batch finds what it links to */

enum { BATCH = 500 };

/* A text as an expression. A backslash before a u is kept away from it, since some versions read \u first of all. */
static void cypher_text(struct buf *out, struct tl_span text) {
    AUTO_BUF struct buf clean = BUF_INIT;
    struct json_writer w = JSON_WRITER(&clean);
    json_put_string(&w, text); /* valid UTF-8, in quotes; \u00XX for controls, which Cypher knows as well */
    for (size_t i = 0; i < clean.len; i++) {
        bool pair = clean.data[i] == '\\' && i + 1 < clean.len;
        buf_char(out, clean.data[i]);
        if (!pair)
            continue;
        buf_char(out, clean.data[++i]);
        if (clean.data[i] == '\\' && i + 1 < clean.len && clean.data[i + 1] == 'u')
            buf_lit(out, "\"+\"");
    }
}

static void cypher_value(struct buf *out, const struct store_value *v) {
    if (v->type == STORE_TEXT)
        cypher_text(out, v->text);
    else {
        struct json_writer w = JSON_WRITER(out);
        print_json(&w, v);
    }
}

static void cypher_begin(struct lineage *l) {
    buf_lit(&l->line, "CREATE CONSTRAINT trotline_run IF NOT EXISTS FOR (r:Run) REQUIRE r.run_id IS UNIQUE;\n");
}

static void end_batch(struct lineage *l) {
    if (!l->in_batch)
        return;
    buf_lit(&l->line, "] AS row CREATE (r:Run) SET r = row;\n");
    if (l->batch.len) {
        buf_lit(&l->line, "UNWIND [");
        buf_add(&l->line, l->batch.data, l->batch.len);
        buf_lit(&l->line, "] AS row MATCH (p:Run {run_id: row.parent}), (c:Run {run_id: row.child}) "
                          "CREATE (p)-[:LED_TO {kind: row.kind}]->(c);\n");
    }
    buf_reset(&l->batch);
    l->in_batch = 0;
    lineage_flush(l);
}

static void cypher_node(struct lineage *l, const struct lineage_node *n) {
    buf_text(&l->line, l->in_batch ? ",\n  {" : "UNWIND [\n  {");
    for (int i = 0; i < LINEAGE_OUT; i++) {
        buf_printf(&l->line, "%s%s: ", i ? ", " : "", lineage_name[i]);
        cypher_value(&l->line, &n->field[i]);
    }
    buf_char(&l->line, '}');
    if (n->linked) {
        buf_text(&l->batch, l->batch.len ? ",\n  {parent: " : "\n  {parent: ");
        cypher_text(&l->batch, lineage_text(n, LINEAGE_PARENT_ID));
        buf_lit(&l->batch, ", child: ");
        cypher_text(&l->batch, lineage_text(n, LINEAGE_RUN_ID));
        buf_lit(&l->batch, ", kind: ");
        cypher_text(&l->batch, lineage_text(n, LINEAGE_EDGE));
        buf_char(&l->batch, '}');
    }
    if (++l->in_batch == BATCH)
        end_batch(l);
}

const struct lineage_format lineage_cypher = {"cypher", cypher_begin, cypher_node, end_batch};
