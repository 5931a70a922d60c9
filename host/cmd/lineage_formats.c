/* lineage_formats.c - a lineage for people (tree, dot) and for programs that read graphs (json, csv, graphml). */
#include <inttypes.h>

#include "base/mem.h"
#include "cmd/lineage.h"

const char *const lineage_name[LINEAGE_OUT] = {
    "run_id",      "parent_id", "root_id",  "depth",      "edge",          "collector",       "collector_version",
    "status",      "reason",    "attempts", "started_at", "finished_at",   "seconds",         "bytes",
    "http_status", "url",       "error",    "result_id",  "document_path", "document_sha256",
};

void lineage_flush(struct lineage *l) {
    if (l->line.len)
        fwrite(l->line.data, 1, l->line.len, l->out);
    buf_reset(&l->line);
}

static void nothing(struct lineage *l) {
    (void)l;
}

/* What a run is called: the crawl's name for the root, else collector and URL, or arguments. */
static void put_what(struct lineage *l, const struct lineage_node *n, struct buf *out, size_t most) {
    if (n->field[LINEAGE_PARENT_ID].type == STORE_NULL) {
        print_plain(out, span_of(l->crawl), most);
        return;
    }
    struct tl_span what = lineage_text(n, LINEAGE_URL);
    print_plain(out, lineage_text(n, LINEAGE_COLLECTOR), 60);
    buf_char(out, ' ');
    print_plain(out, what.len ? what : lineage_text(n, LINEAGE_PAYLOAD), most);
}

/* ---- tree(1) */

enum { DEEPEST_DRAWN = 4096 }; /* indentation stops there; chains of pages may be long */

static int64_t *left_at(struct lineage *l, int64_t level) {
    size_t at = (size_t)(level < DEEPEST_DRAWN ? level : DEEPEST_DRAWN);
    if (at >= l->left_room) {
        size_t room = at * 2 + 16;
        l->left = mem_array(l->left, room, sizeof *l->left);
        for (size_t i = l->left_room; i < room; i++)
            l->left[i] = 0;
        l->left_room = room;
    }
    return &l->left[at];
}

static void tree_node(struct lineage *l, const struct lineage_node *n) {
    for (int64_t level = 1; level < n->level && level < DEEPEST_DRAWN; level++)
        buf_text(&l->line, *left_at(l, level) > 0 ? "│   " : "    ");
    if (n->level > 0)
        buf_text(&l->line, --*left_at(l, n->level) > 0 ? "├── " : "└── ");
    *left_at(l, n->level + 1) = n->children;
    put_what(l, n, &l->line, n->field[LINEAGE_URL].type == STORE_TEXT ? 0 : 100);
    buf_lit(&l->line, "  ");
    print_plain(&l->line, lineage_text(n, LINEAGE_STATUS), 0);
    if (n->field[LINEAGE_HTTP_STATUS].type == STORE_INT)
        buf_printf(&l->line, " %" PRId64, n->field[LINEAGE_HTTP_STATUS].number);
    buf_lit(&l->line, "  ");
    print_plain(&l->line, lineage_text(n, LINEAGE_RUN_ID), 0);
    buf_char(&l->line, '\n');
    lineage_flush(l);
}

const struct lineage_format lineage_tree = {"tree", nothing, tree_node, nothing};

/* ---- json: {"nodes": [...], "edges": [...]}; edges wait in a file until the nodes are out */

static void json_begin(struct lineage *l) {
    buf_lit(&l->line, "{\"nodes\":[");
}

static void json_node(struct lineage *l, const struct lineage_node *n) {
    struct json_writer w = JSON_WRITER(&l->line);
    buf_text(&l->line, l->count ? ",\n" : "\n");
    json_object_begin(&w);
    for (int i = 0; i < LINEAGE_OUT; i++) {
        json_put_key(&w, lineage_name[i]);
        print_json(&w, &n->field[i]);
    }
    json_object_end(&w);
    lineage_flush(l);
    if (!n->linked)
        return;
    w = (struct json_writer)JSON_WRITER(&l->line);
    json_object_begin(&w);
    json_member_span(&w, "source", lineage_text(n, LINEAGE_PARENT_ID));
    json_member_span(&w, "target", lineage_text(n, LINEAGE_RUN_ID));
    json_member_span(&w, "kind", lineage_text(n, LINEAGE_EDGE));
    json_object_end(&w);
    buf_lit(&l->line, ",\n");
    fwrite(l->line.data, 1, l->line.len, l->spool);
    buf_reset(&l->line);
}

static void json_end(struct lineage *l) {
    char chunk[65536];
    long left = ftell(l->spool) - 2; /* without the last comma */
    fputs("\n],\"edges\":[", l->out);
    if (left > 0)
        fputc('\n', l->out);
    rewind(l->spool);
    while (left > 0) {
        size_t n = fread(chunk, 1, left < (long)sizeof chunk ? (size_t)left : sizeof chunk, l->spool);
        if (!n)
            break;
        fwrite(chunk, 1, n, l->out);
        left -= (long)n;
    }
    fputs("\n]}\n", l->out);
}

const struct lineage_format lineage_json = {"json", json_begin, json_node, json_end};

/* ---- csv */

static void csv_begin(struct lineage *l) {
    for (int i = 0; i < LINEAGE_OUT; i++)
        buf_printf(&l->line, "%s%s", i ? "," : "", lineage_name[i]);
    buf_lit(&l->line, "\r\n");
}

static void csv_node(struct lineage *l, const struct lineage_node *n) {
    AUTO_BUF struct buf cell = BUF_INIT;
    for (int i = 0; i < LINEAGE_OUT; i++) {
        if (i)
            buf_char(&l->line, ',');
        buf_reset(&cell);
        print_value(&cell, &n->field[i]);
        print_csv(&l->line, buf_span(&cell));
    }
    buf_lit(&l->line, "\r\n");
    lineage_flush(l);
}

const struct lineage_format lineage_csv = {"csv", csv_begin, csv_node, nothing};

/* ---- dot: "->" stands for an edge and nothing else */

static void dot_begin(struct lineage *l) {
    buf_lit(&l->line, "digraph lineage {\n  rankdir=LR;\n"
                      "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"sans-serif\", "
                      "fontsize=10];\n");
}

/* Graphviz reads entities in labels, so > need not stand there; what is left is the inside of a quoted text. */
static void dot_escape(struct buf *out, struct tl_span text) {
    for (size_t i = 0; i < text.len; i++)
        switch (text.ptr[i]) {
        case '"':
            buf_lit(out, "&quot;");
            break;
        case '\\':
            buf_lit(out, "&#92;");
            break;
        case '&':
            buf_lit(out, "&amp;");
            break;
        case '<':
            buf_lit(out, "&lt;");
            break;
        case '>':
            buf_lit(out, "&gt;");
            break;
        default:
            buf_char(out, text.ptr[i]);
        }
}

static const char *colour_of(struct tl_span status) {
    if (span_eq(status, "failed") || span_eq(status, "crashed"))
        return "\"#f4cccc\"";
    if (span_eq(status, "partial"))
        return "\"#fff2cc\"";
    if (span_eq(status, "success"))
        return "\"#e2f0d9\"";
    return "\"#eeeeee\"";
}

static void dot_node(struct lineage *l, const struct lineage_node *n) {
    AUTO_BUF struct buf what = BUF_INIT, id = BUF_INIT, parent = BUF_INIT, status = BUF_INIT;
    put_what(l, n, &what, 60);
    print_plain(&status, lineage_text(n, LINEAGE_STATUS), 0);
    dot_escape(&id, lineage_text(n, LINEAGE_RUN_ID));
    dot_escape(&parent, lineage_text(n, LINEAGE_PARENT_ID));
    buf_printf(&l->line, "  \"%s\" [label=\"", id.data);
    dot_escape(&l->line, buf_span(&what));
    buf_lit(&l->line, "\\n");
    dot_escape(&l->line, buf_span(&status));
    buf_printf(&l->line, "\", fillcolor=%s];\n", colour_of(lineage_text(n, LINEAGE_STATUS)));
    if (n->linked)
        buf_printf(&l->line, "  \"%s\" -> \"%s\";\n", parent.data, id.data);
    lineage_flush(l);
}

static void dot_end(struct lineage *l) {
    buf_lit(&l->line, "}\n");
}

const struct lineage_format lineage_dot = {"dot", dot_begin, dot_node, dot_end};

/* ---- graphml */

static const char *graphml_type(int field) {
    switch (field) {
    case LINEAGE_DEPTH:
    case LINEAGE_ATTEMPTS:
    case LINEAGE_HTTP_STATUS:
        return "int";
    case LINEAGE_BYTES:
        return "long";
    case LINEAGE_SECONDS:
        return "double";
    default:
        return "string";
    }
}

static bool is_of_node(int field) {
    return field != LINEAGE_RUN_ID && field != LINEAGE_PARENT_ID && field != LINEAGE_EDGE;
}

static void graphml_begin(struct lineage *l) {
    buf_lit(&l->line, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                      "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" "
                      "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
                      "xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns "
                      "http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd\">\n");
    for (int i = 0; i < LINEAGE_OUT; i++)
        if (is_of_node(i))
            buf_printf(&l->line, "  <key id=\"%s\" for=\"node\" attr.name=\"%s\" attr.type=\"%s\"/>\n", lineage_name[i],
                       lineage_name[i], graphml_type(i));
    buf_lit(&l->line, "  <key id=\"kind\" for=\"edge\" attr.name=\"kind\" attr.type=\"string\"/>\n"
                      "  <graph id=\"lineage\" edgedefault=\"directed\">\n");
}

static void graphml_node(struct lineage *l, const struct lineage_node *n) {
    AUTO_BUF struct buf id = BUF_INIT, text = BUF_INIT;
    print_xml(&id, lineage_text(n, LINEAGE_RUN_ID));
    buf_printf(&l->line, "    <node id=\"%s\">\n", id.data);
    for (int i = 0; i < LINEAGE_OUT; i++) {
        if (!is_of_node(i) || n->field[i].type == STORE_NULL)
            continue;
        buf_reset(&text);
        print_value(&text, &n->field[i]);
        buf_printf(&l->line, "      <data key=\"%s\">", lineage_name[i]);
        print_xml(&l->line, buf_span(&text));
        buf_lit(&l->line, "</data>\n");
    }
    buf_lit(&l->line, "    </node>\n");
    if (n->linked) {
        buf_lit(&l->line, "    <edge source=\"");
        print_xml(&l->line, lineage_text(n, LINEAGE_PARENT_ID));
        buf_printf(&l->line, "\" target=\"%s\"><data key=\"kind\">", id.data);
        print_xml(&l->line, lineage_text(n, LINEAGE_EDGE));
        buf_lit(&l->line, "</data></edge>\n");
    }
    lineage_flush(l);
}

static void graphml_end(struct lineage *l) {
    buf_lit(&l->line, "  </graph>\n</graphml>\n");
}

const struct lineage_format lineage_graphml = {"graphml", graphml_begin, graphml_node, graphml_end};
