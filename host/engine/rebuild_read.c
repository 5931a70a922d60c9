/* rebuild_read.c - the lines of a package as rows of the catalog.
 *
 * Invariant: nothing of a package that does not fit together is kept: what a line names must have come before it, and
 * in the end runs, documents and states are as many as the summary says. The lines may have been made by somebody else.
 */
#include <stddef.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/times.h"
#include "engine/field.h"
#include "engine/rebuild.h"
#include "net/url.h"
#include "store/package.h"

struct import {
    struct store *s;
    const struct package_head *head;
    struct store_crawl crawl; /* root: 0 before its line came */
    struct field_reader in;   /* texts of the line */
    struct import_collector {
        char *name, *version;
        int64_t key;
    } * collector;
    size_t collectors, collector_room;
    int64_t *target, *scope; /* keys by number - 1 */
    size_t targets, target_room, scopes, scope_room;
    struct store_link *link; /* of the run at hand, not written yet */
    size_t links, link_room;
    struct uuid link_run;
    struct arena link_texts;
    struct buf pending; /* a run's line, until it is known whether its document follows */
    struct package sums;
    struct fail *why;
};

#define WRONG(m, ...) fail_exit((m)->why, TL_INVALID, EXIT_DAMAGED, __VA_ARGS__)

#define DECODE(m, line, table, out) field_decode(&(m)->in, (line), (table), COUNT_OF(table), (out))

/* What the store says of its own failure, where the call gave no reason. */
static int store_failed(struct import *m, int rc) {
    int status;
    if (!m->why->status)
        store_finish(m->s, NULL, 0, &status, m->why); /* ends no run, but knows why no more can be written */
    if (!m->why->status)
        fail_set(m->why, rc, "the catalog did not take the row");
    return rc;
}

/* ---- crawl, names, leashes */

struct target_line {
    int64_t n;
    const char *org, *project, *name;
};
static const struct field target_fields[] = {{"n", F_INT, false, offsetof(struct target_line, n)},
                                             {"org", F_TEXT, false, offsetof(struct target_line, org)},
                                             {"project", F_TEXT, false, offsetof(struct target_line, project)},
                                             {"name", F_TEXT, false, offsetof(struct target_line, name)}};

struct crawl_line_read {
    struct uuid root_id;
    const char *name, *file_sha256, *reason;
    struct tl_span target, file, leash, context;
    int64_t started_us, finished_us, turn_us, due_us;
};
static const struct field crawl_fields[] = {
    {"root_id", F_ID, true, offsetof(struct crawl_line_read, root_id)},
    {"crawl", F_TEXT, true, offsetof(struct crawl_line_read, name)},
    {"target", F_JSON, false, offsetof(struct crawl_line_read, target)},
    {"crawl_file", F_JSON, false, offsetof(struct crawl_line_read, file)},
    {"crawl_file_sha256", F_TEXT, false, offsetof(struct crawl_line_read, file_sha256)},
    {"leash", F_JSON, false, offsetof(struct crawl_line_read, leash)},
    {"run_context", F_JSON, false, offsetof(struct crawl_line_read, context)},
    {"reason", F_TEXT, false, offsetof(struct crawl_line_read, reason)},
    {"started_us", F_INT, true, offsetof(struct crawl_line_read, started_us)},
    {"finished_us", F_INT, true, offsetof(struct crawl_line_read, finished_us)},
    {"turn_us", F_INT, false, offsetof(struct crawl_line_read, turn_us)},
    {"due_us", F_INT, false, offsetof(struct crawl_line_read, due_us)}};

static const char *span_text(struct import *m, struct tl_span s) {
    return s.len ? arena_span(&m->in.arena, s) : NULL;
}

static int import_target(struct import *m, const struct tl_json *line, struct target_line *t, int64_t *key) {
    int rc = DECODE(m, line, target_fields, t);
    if (!rc && (rc = store_target(m->s, t->org, t->project, t->name, key)))
        store_failed(m, rc);
    return rc;
}

static int on_crawl(struct import *m, const struct tl_json *line) {
    struct crawl_line_read c = {.finished_us = 0};
    struct target_line t = {0};
    struct tl_json target;
    int rc = DECODE(m, line, crawl_fields, &c);
    if (rc)
        return rc;
    if (m->crawl.root)
        return WRONG(m, "there are two lines of kind %s", "crawl");
    if (memcmp(&c.root_id, &m->head->root_id, sizeof c.root_id) != 0)
        return WRONG(m, "it belongs to another crawl than its summary (%s)", "root_id");
    if (c.turn_us < 0 || c.turn_us > TIME_MAX_US || c.due_us < 0 || c.due_us > TIME_MAX_US)
        return WRONG(m, "the member %s is no time", c.turn_us < 0 || c.turn_us > TIME_MAX_US ? "turn_us" : "due_us");
    m->crawl = (struct store_crawl){.root_id = c.root_id,
                                    .name = c.name,
                                    .file_json = span_text(m, c.file),
                                    .file_sha256 = c.file_sha256,
                                    .leash_json = span_text(m, c.leash),
                                    .context_json = span_text(m, c.context),
                                    .closed = true,
                                    .reason = c.reason,
                                    .started_us = c.started_us,
                                    .finished_us = c.finished_us,
                                    .turn_us = c.turn_us,
                                    .due_us = c.due_us};
    if (c.target.len && (json_parse(c.target, &target) || (rc = import_target(m, &target, &t, &m->crawl.target))))
        return rc ? rc : WRONG(m, "the member %s is not what it should be", "target");
    if ((rc = store_import_crawl(m->s, &m->crawl, m->why)))
        return store_failed(m, rc);
    char hex[SHA256_HEX];
    if ((rc = store_package_sha256(m->s, m->crawl.root, hash_hex(m->head->package.sha256.byte, SHA256_BYTES, hex))))
        return store_failed(m, rc);
    return TL_OK;
}

struct collector_line {
    const char *name, *version, *summary, *sha256;
    int64_t first_us;
};
static const struct field collector_fields[] = {{"name", F_TEXT, true, offsetof(struct collector_line, name)},
                                                {"version", F_TEXT, true, offsetof(struct collector_line, version)},
                                                {"summary", F_TEXT, false, offsetof(struct collector_line, summary)},
                                                {"sha256", F_TEXT, false, offsetof(struct collector_line, sha256)},
                                                {"first_us", F_INT, false, offsetof(struct collector_line, first_us)}};

static int on_collector(struct import *m, const struct tl_json *line) {
    struct collector_line c = {0};
    int64_t key;
    int rc = DECODE(m, line, collector_fields, &c);
    if (rc)
        return rc;
    if ((rc = store_import_collector(m->s, c.name, c.version, c.summary, c.sha256, c.first_us, &key)))
        return store_failed(m, rc);
    MEM_GROW(m->collector, m->collectors, m->collector_room);
    m->collector[m->collectors++] = (struct import_collector){mem_text(c.name), mem_text(c.version), key};
    return TL_OK;
}

static int find_collector(struct import *m, const char *name, const char *version, int64_t *key) {
    for (size_t i = 0; i < m->collectors; i++)
        if (strcmp(m->collector[i].name, name) == 0 && strcmp(m->collector[i].version, version) == 0) {
            *key = m->collector[i].key;
            return TL_OK;
        }
    return WRONG(m, "the collector %s has no line before this one", name);
}

static int on_target(struct import *m, const struct tl_json *line) {
    struct target_line t = {0};
    int64_t key;
    int rc = import_target(m, line, &t, &key);
    if (rc)
        return rc;
    if (t.n != (int64_t)m->targets + 1)
        return WRONG(m, "the member %s does not count on", "n");
    MEM_GROW(m->target, m->targets, m->target_room);
    m->target[m->targets++] = key;
    return TL_OK;
}

struct scope_line {
    int64_t n, parent, depth, fanout, runs, bytes, time_us, runs_spent, bytes_spent;
    struct tl_span given, json;
};
static const struct field scope_fields[] = {{"n", F_INT, true, offsetof(struct scope_line, n)},
                                            {"parent", F_INT, false, offsetof(struct scope_line, parent)},
                                            {"depth", F_INT, false, offsetof(struct scope_line, depth)},
                                            {"fanout", F_INT, false, offsetof(struct scope_line, fanout)},
                                            {"runs", F_INT, false, offsetof(struct scope_line, runs)},
                                            {"bytes", F_INT, false, offsetof(struct scope_line, bytes)},
                                            {"time_us", F_INT, false, offsetof(struct scope_line, time_us)},
                                            {"runs_spent", F_INT, false, offsetof(struct scope_line, runs_spent)},
                                            {"bytes_spent", F_INT, false, offsetof(struct scope_line, bytes_spent)},
                                            {"given", F_JSON, true, offsetof(struct scope_line, given)},
                                            {"leash", F_JSON, false, offsetof(struct scope_line, json)}};

static int on_scope(struct import *m, const struct tl_json *line) {
    struct scope_line x = {
        .depth = INT64_MAX, .fanout = INT64_MAX, .runs = INT64_MAX, .bytes = INT64_MAX, .time_us = INT64_MAX};
    int rc = DECODE(m, line, scope_fields, &x);
    if (rc)
        return rc;
    if (x.n != (int64_t)m->scopes + 1 || x.parent >= x.n)
        return WRONG(m, "the member %s does not count on", "n");
    struct store_scope scope = {.parent = x.parent ? m->scope[x.parent - 1] : 0,
                                .depth = x.depth,
                                .fanout = x.fanout,
                                .runs = x.runs,
                                .bytes = x.bytes,
                                .time_us = x.time_us,
                                .runs_spent = x.runs_spent,
                                .bytes_spent = x.bytes_spent,
                                .json = span_text(m, x.given)};
    if ((rc = store_scope_put(m->s, m->crawl.root, &scope)) ||
        (x.json.len && (rc = store_scope_json(m->s, scope.key, span_text(m, x.json)))))
        return store_failed(m, rc);
    MEM_GROW(m->scope, m->scopes, m->scope_room);
    m->scope[m->scopes++] = scope.key;
    return TL_OK;
}

/* ---- runs and documents */

struct run_line {
    struct store_import_run run; /* target and scope as numbers */
    const char *collector, *version;
    struct tl_span host;
};
#define RUN(member) offsetof(struct run_line, run.member)
static const struct field run_fields[] = {{"run_id", F_ID, true, RUN(run_id)},
                                          {"parent_id", F_ID, false, RUN(parent_id)},
                                          {"depth", F_INT, true, RUN(depth)},
                                          {"reach", F_INT, true, RUN(reach)},
                                          {"edge", F_EDGE, true, RUN(edge)},
                                          {"line", F_BOOL, false, RUN(line)},
                                          {"collector", F_TEXT, true, offsetof(struct run_line, collector)},
                                          {"collector_version", F_TEXT, true, offsetof(struct run_line, version)},
                                          {"target", F_INT, false, RUN(target)},
                                          {"scope", F_INT, false, RUN(scope)},
                                          {"result_context_name", F_TEXT, false, RUN(context)},
                                          {"host", F_SPAN, false, offsetof(struct run_line, host)},
                                          {"digest", F_DIGEST, true, RUN(digest)},
                                          {"payload", F_JSON, false, RUN(payload)},
                                          {"url", F_SPAN, false, RUN(url)},
                                          {"final_url", F_SPAN, false, RUN(final_url)},
                                          {"status", F_STATE, true, RUN(state)},
                                          {"reason", F_TEXT, false, RUN(reason)},
                                          {"error", F_TEXT, false, RUN(error)},
                                          {"attempts", F_INT, false, RUN(attempts)},
                                          {"token", F_INT, false, RUN(token)},
                                          {"children", F_INT, false, RUN(children)},
                                          {"bytes", F_INT, false, RUN(bytes)},
                                          {"http_status", F_INT, false, RUN(http_status)},
                                          {"queued_us", F_INT, false, RUN(queued_us)},
                                          {"started_us", F_INT, false, RUN(started_us)},
                                          {"finished_us", F_INT, false, RUN(finished_us)},
                                          {"result_ref", F_ID, false, RUN(result_ref)}};

static int number_to_key(struct import *m, const int64_t *keys, size_t count, const char *what, int64_t *number) {
    if (*number > (int64_t)count)
        return WRONG(m, "the %s of the run has no line before this one", what);
    if (*number)
        *number = keys[*number - 1];
    return TL_OK;
}

/* The first run is the root, and no other is. */
static int check_root(struct import *m, const struct store_import_run *r) {
    static const struct uuid none;
    bool orphan = memcmp(&r->parent_id, &none, sizeof none) == 0;
    bool is_root = memcmp(&r->run_id, &m->crawl.root_id, sizeof r->run_id) == 0;
    if (orphan != is_root || is_root != (m->sums.runs == 0))
        return WRONG(m, "%s must be the first run, and the only one without parent", "the root");
    if (r->edge > STORE_REACT)
        return WRONG(m, "the member %s is not what it should be", "edge");
    return r->state >= STORE_SUCCESS ? TL_OK : WRONG(m, "a run of a closed crawl is %s", store_state_name[r->state]);
}

static int import_run(struct import *m, const struct tl_json *line, const struct store_document *document) {
    struct run_line x = {.version = NULL};
    struct store_import_run *r = &x.run;
    int64_t key;
    int rc = DECODE(m, line, run_fields, &x);
    if (rc || (rc = check_root(m, r)) || (rc = find_collector(m, x.collector, x.version, &r->collector)) ||
        (rc = number_to_key(m, m->target, m->targets, "target", &r->target)) ||
        (rc = number_to_key(m, m->scope, m->scopes, "scope", &r->scope)))
        return rc;
    if (x.host.len && (rc = store_host(m->s, x.host, &r->host)))
        return store_failed(m, rc);
    r->claimed = r->token > 0;
    r->document = document;
    if ((rc = store_import_run(m->s, m->crawl.root, r, &key, m->why)))
        return store_failed(m, rc);
    m->sums.runs++;
    m->sums.by_state[r->state]++;
    m->sums.documents += document != NULL;
    return TL_OK;
}

static int import_pending(struct import *m, const struct store_document *document) {
    struct tl_json line;
    if (!m->pending.len)
        return TL_OK;
    int rc = json_parse(buf_span(&m->pending), &line) ? TL_FAILED : import_run(m, &line, document);
    buf_reset(&m->pending);
    if (rc && m->why->status) {
        struct fail inner = *m->why;
        fail_exit(m->why, rc, inner.exit_code, "in the run before it: %.700s", inner.text);
    }
    return rc;
}

static int on_run(struct import *m, const struct tl_json *line) {
    buf_add(&m->pending, line->raw.ptr, line->raw.len);
    return m->pending.full ? WRONG(m, "%s is too long", "the line") : TL_OK;
}

struct document_line {
    struct uuid run_id;
    const char *path;
    struct tl_span datasets, attachments;
    bool reused;
    struct store_document document;
};
#define DOCUMENT(member) offsetof(struct document_line, document.member)
static const struct field document_fields[] = {
    {"path", F_TEXT, true, offsetof(struct document_line, path)},
    {"run_id", F_ID, true, offsetof(struct document_line, run_id)},
    {"reused", F_BOOL, true, offsetof(struct document_line, reused)},
    {"sha256", F_SHA256, true, DOCUMENT(sha256)},
    {"result_id", F_ID, true, DOCUMENT(result_id)},
    {"bytes", F_INT, true, DOCUMENT(bytes)},
    {"collected_us", F_INT, false, DOCUMENT(collected_us)},
    {"datasets", F_JSON, false, offsetof(struct document_line, datasets)},
    {"attachments", F_JSON, false, offsetof(struct document_line, attachments)}};

/* documents/.../RESULT_ID.json, and nothing that leads elsewhere; the folder is what is kept. */
static const char *folder_of(struct import *m, const struct document_line *d) {
    char id[UUID_TEXT];
    AUTO_BUF struct buf name = BUF_INIT;
    size_t len = strlen(d->path);
    buf_printf(&name, "/%s.json", uuid_text(&d->document.result_id, id));
    bool ok = len > name.len && field_path_ok(d->path) && strncmp(d->path, "documents/", 10) == 0 &&
              strcmp(d->path + len - name.len, name.data) == 0;
    return ok ? arena_text(&m->in.arena, d->path, len - name.len) : NULL;
}

static bool is_array(struct tl_span json) {
    struct tl_json value;
    return json_parse(json, &value) == TL_OK && value.type == TL_JSON_ARRAY;
}

static int on_document(struct import *m, const struct tl_json *line) {
    struct document_line d = {.path = NULL};
    struct tl_json run, id;
    struct uuid run_id;
    int rc = DECODE(m, line, document_fields, &d);
    if (rc || d.reused) /* what a run stands for was said in its line */
        return rc ? rc : import_pending(m, NULL);
    bool follows = m->pending.len && json_parse(buf_span(&m->pending), &run) == TL_OK &&
                   json_get(&run, "run_id", &id) == TL_OK && id.type == TL_JSON_STRING &&
                   uuid_parse((struct tl_span){id.raw.ptr + 1, id.raw.len - 2}, &run_id) == TL_OK &&
                   memcmp(&run_id, &d.run_id, sizeof run_id) == 0;
    if (!follows)
        return WRONG(m, "%s does not follow the line of its run", "the document");
    if (!(d.document.folder = folder_of(m, &d)))
        return WRONG(m, "the member %s leads to no document of the lake", "path");
    if ((d.datasets.len && !is_array(d.datasets)) || (d.attachments.len && !is_array(d.attachments)))
        return WRONG(m, "the member %s is not what it should be", "datasets or attachments");
    d.document.datasets = span_text(m, d.datasets);
    d.document.attachments = span_text(m, d.attachments);
    return import_pending(m, &d.document);
}

/* ---- what hangs on runs */

struct leashed_line {
    struct uuid parent_id;
    const char *collector, *version;
    uint8_t digest[STORE_DIGEST];
    struct tl_span url;
    enum store_reason reason;
    int64_t times, at_us;
};
static const struct field leashed_fields[] = {
    {"parent_id", F_ID, true, offsetof(struct leashed_line, parent_id)},
    {"collector", F_TEXT, true, offsetof(struct leashed_line, collector)},
    {"collector_version", F_TEXT, true, offsetof(struct leashed_line, version)},
    {"digest", F_DIGEST, true, offsetof(struct leashed_line, digest)},
    {"url", F_SPAN, false, offsetof(struct leashed_line, url)},
    {"reason", F_REASON, true, offsetof(struct leashed_line, reason)},
    {"times", F_INT, true, offsetof(struct leashed_line, times)},
    {"at_us", F_INT, true, offsetof(struct leashed_line, at_us)}};

static int on_leashed(struct import *m, const struct tl_json *line) {
    struct leashed_line x = {.version = NULL};
    int64_t collector;
    int rc = DECODE(m, line, leashed_fields, &x);
    if (rc || (rc = find_collector(m, x.collector, x.version, &collector)))
        return rc;
    rc =
        store_import_leashed(m->s, m->crawl.root, &x.parent_id, collector, x.digest, x.url, x.reason, x.times, x.at_us);
    if (rc == TL_NOTFOUND)
        return WRONG(m, "the run that %s names has no line", "parent_id");
    m->sums.leashed[x.reason]++;
    return rc ? store_failed(m, rc) : TL_OK;
}

struct edge_line {
    struct uuid parent, child;
    enum store_edge edge;
};
static const struct field edge_fields[] = {{"parent_id", F_ID, true, offsetof(struct edge_line, parent)},
                                           {"child_id", F_ID, true, offsetof(struct edge_line, child)},
                                           {"edge", F_EDGE, true, offsetof(struct edge_line, edge)}};

static int on_edge(struct import *m, const struct tl_json *line) {
    struct edge_line x = {.edge = STORE_SPAWN};
    int rc = DECODE(m, line, edge_fields, &x);
    if (rc)
        return rc;
    rc = store_import_edge(m->s, &x.parent, &x.child, x.edge);
    return rc && rc != TL_NOTFOUND ? store_failed(m, rc)
                                   : TL_OK; /* the other end may be in a crawl that is not restored */
}

struct event_line {
    struct store_export_event event;
    const char *kind;
};
#define EVENT(member) offsetof(struct event_line, event.member)
static const struct field event_fields[] = {{"run_id", F_ID, true, EVENT(run_id)},
                                            {"collector", F_TEXT, true, EVENT(name)},
                                            {"collector_version", F_TEXT, true, EVENT(version)},
                                            {"event", F_TEXT, true, offsetof(struct event_line, kind)},
                                            {"args", F_JSON, false, EVENT(args)},
                                            {"reach", F_INT, false, EVENT(reach)},
                                            {"attempts", F_INT, false, EVENT(attempts)},
                                            {"created_us", F_INT, false, EVENT(created_us)},
                                            {"error", F_TEXT, false, EVENT(error)},
                                            {"failed", F_BOOL, false, EVENT(failed)}};

static int on_event(struct import *m, const struct tl_json *line) {
    struct event_line x = {.kind = NULL};
    int rc = DECODE(m, line, event_fields, &x);
    if (rc || (rc = find_collector(m, x.event.name, x.event.version, &x.event.collector)))
        return rc;
    x.event.kind = strcmp(x.kind, "again") == 0 ? STORE_EVENT_AGAIN : STORE_EVENT_REACT;
    rc = store_import_event(m->s, m->crawl.root, &x.event);
    if (rc == TL_NOTFOUND)
        return WRONG(m, "the run that %s names has no line", "run_id");
    return rc ? store_failed(m, rc) : TL_OK;
}

/* ---- URLs: in canonical form, or they are not ours */

static int identity(struct import *m, struct tl_span text, struct store_url *out) {
    AUTO_BUF struct buf canonical = BUF_INIT;
    if (url_canonical(&canonical, text) || canonical.len != text.len || memcmp(canonical.data, text.ptr, text.len) != 0)
        return WRONG(m, "the URL %.200s is not in canonical form", text.ptr);
    *out = (struct store_url){text, url_key(text)};
    return TL_OK;
}

struct url_line {
    struct uuid run_id;
    struct tl_span asked, source, url, claim;
    bool believed, plain;
    int64_t at_us;
};
static const struct field url_fields[] = {{"run_id", F_ID, true, offsetof(struct url_line, run_id)},
                                          {"asked", F_SPAN, true, offsetof(struct url_line, asked)},
                                          {"source", F_SPAN, false, offsetof(struct url_line, source)},
                                          {"canonical", F_SPAN, false, offsetof(struct url_line, url)},
                                          {"claim", F_SPAN, false, offsetof(struct url_line, claim)},
                                          {"believed", F_BOOL, false, offsetof(struct url_line, believed)},
                                          {"plain", F_BOOL, false, offsetof(struct url_line, plain)},
                                          {"at_us", F_INT, true, offsetof(struct url_line, at_us)}};

static int on_url(struct import *m, const struct tl_json *line) {
    struct url_line x = {.at_us = 0};
    int rc = DECODE(m, line, url_fields, &x);
    struct store_fetched f = {.believed = x.believed, .plain = x.plain, .at_us = x.at_us};
    if (rc || (rc = identity(m, x.asked, &f.asked)) ||
        (rc = identity(m, x.source.len ? x.source : x.asked, &f.source)) ||
        (rc = identity(m, x.url.len ? x.url : f.source.text, &f.url)) ||
        (x.claim.len && (rc = identity(m, x.claim, &f.claim))))
        return rc;
    rc = store_import_url(m->s, &x.run_id, &f);
    if (rc == TL_NOTFOUND)
        return WRONG(m, "the run that %s names has no line", "run_id");
    return rc ? store_failed(m, rc) : TL_OK;
}

struct validator_line {
    struct uuid run_id;
    struct tl_span url;
    const char *credential, *etag, *last_modified;
    int64_t at_us;
};
static const struct field validator_fields[] = {
    {"run_id", F_ID, true, offsetof(struct validator_line, run_id)},
    {"url", F_SPAN, true, offsetof(struct validator_line, url)},
    {"credential", F_TEXT, false, offsetof(struct validator_line, credential)},
    {"etag", F_TEXT, false, offsetof(struct validator_line, etag)},
    {"last_modified", F_TEXT, false, offsetof(struct validator_line, last_modified)},
    {"at_us", F_INT, true, offsetof(struct validator_line, at_us)}};

static int on_validator(struct import *m, const struct tl_json *line) {
    struct validator_line x = {.at_us = 0};
    struct store_url url;
    int rc = DECODE(m, line, validator_fields, &x);
    if (rc || (rc = identity(m, x.url, &url)))
        return rc;
    struct store_validator v = {.etag = x.etag, .last_modified = x.last_modified, .at_us = x.at_us};
    rc = store_import_validator(m->s, &x.run_id, url, x.credential, &v);
    if (rc == TL_NOTFOUND)
        return WRONG(m, "the run that %s names has no line", "run_id");
    return rc ? store_failed(m, rc) : TL_OK;
}

/* ---- links of entities: those of a run go in together */

struct link_line {
    struct uuid run_id;
    struct store_link link;
};
#define LINK(member) offsetof(struct link_line, link.member)
static const struct field link_fields[] = {{"run_id", F_ID, true, offsetof(struct link_line, run_id)},
                                           {"urn", F_TEXT, true, LINK(urn)},
                                           {"name", F_TEXT, true, LINK(name)},
                                           {"href", F_TEXT, true, LINK(href)},
                                           {"type", F_TEXT, false, LINK(type)},
                                           {"deleted_us", F_INT, false, LINK(deleted_us)}};

static int import_links(struct import *m) {
    if (!m->links)
        return TL_OK;
    int rc = store_import_links(m->s, &m->link_run, m->link, m->links);
    m->links = 0;
    arena_free(&m->link_texts);
    if (rc == TL_NOTFOUND)
        return WRONG(m, "the run that %s names has no line, or no document", "run_id");
    return rc ? store_failed(m, rc) : TL_OK;
}

static const char *kept(struct import *m, const char *text) {
    return arena_text(&m->link_texts, text ? text : "", text ? strlen(text) : 0);
}

static int on_link(struct import *m, const struct tl_json *line) {
    struct link_line x = {.link = {0}};
    int rc = DECODE(m, line, link_fields, &x);
    if (!rc && m->links && memcmp(&x.run_id, &m->link_run, sizeof x.run_id) != 0)
        rc = import_links(m);
    if (rc)
        return rc;
    m->link_run = x.run_id;
    MEM_GROW(m->link, m->links, m->link_room);
    m->link[m->links++] = (struct store_link){kept(m, x.link.urn), kept(m, x.link.name), kept(m, x.link.href),
                                              kept(m, x.link.type), x.link.deleted_us};
    return TL_OK;
}

/* ---- the whole */

static int on_line(void *ctx, struct tl_span kind, const struct tl_json *line) {
    static const struct {
        const char *kind;
        int (*take)(struct import *m, const struct tl_json *line);
    } kinds[] = {{"run", on_run},     {"document", on_document}, {"collector", on_collector}, {"target", on_target},
                 {"scope", on_scope}, {"leashed", on_leashed},   {"edge", on_edge},           {"event", on_event},
                 {"crawl", on_crawl}, {"url", on_url},           {"validator", on_validator}, {"link", on_link}};
    struct import *m = ctx;
    size_t i = 0;
    while (i < COUNT_OF(kinds) && !span_eq(kind, kinds[i].kind))
        i++;
    if (i == COUNT_OF(kinds))
        return TL_OK; /* of a later version */
    if (!m->crawl.root && kinds[i].take != on_crawl)
        return WRONG(m, "the first line must be of kind %s", "crawl");
    int rc = kinds[i].take == on_document ? TL_OK : import_pending(m, NULL);
    if (!rc)
        rc = kinds[i].take(m, line);
    if (kinds[i].take != on_crawl)
        arena_free(&m->in.arena); /* the crawl's texts are in the catalog, too */
    return rc;
}

static int compare_sums(struct import *m, const char *file) {
    const struct package *said = &m->head->package, *is = &m->sums;
    bool same = m->head->runs == is->runs && said->documents == is->documents;
    for (int i = 0; i < STORE_STATES; i++)
        same &= said->by_state[i] == is->by_state[i];
    for (int i = 0; i < STORE_REASONS; i++)
        same &= said->leashed[i] == is->leashed[i];
    return same ? TL_OK
                : fail_exit(m->why, TL_INVALID, EXIT_DAMAGED,
                            "%.500s: it has %lld runs and %lld documents, its summary says %lld and %lld, or other "
                            "states or refusals",
                            file, (long long)is->runs, (long long)is->documents, (long long)m->head->runs,
                            (long long)said->documents);
}

int rebuild_package(struct store *s, int fd, const char *file, const struct package_head *head, struct fail *why) {
    struct import m = {.s = s,
                       .head = head,
                       .pending = {.max = PACKAGE_LINE_MAX},
                       .in = {.scratch = {.max = PACKAGE_LINE_MAX}, .why = why},
                       .why = why};
    int rc = store_begin(s, why);
    if (rc)
        return rc;
    rc = package_read(fd, file, on_line, &m, why);
    if (!rc && (rc = import_pending(&m, NULL)) && !why->status)
        fail_exit(why, rc, EXIT_DAMAGED, "%.500s: its last line is damaged", file);
    if (!rc)
        rc = import_links(&m);
    if (!rc)
        rc = compare_sums(&m, file);
    if (!rc)
        rc = store_commit(s, why);
    else
        store_rollback(s);
    for (size_t i = 0; i < m.collectors; i++) {
        free(m.collector[i].name);
        free(m.collector[i].version);
    }
    free(m.collector);
    free(m.target);
    free(m.link);
    arena_free(&m.link_texts);
    free(m.scope);
    arena_free(&m.in.arena);
    buf_free(&m.in.scratch);
    buf_free(&m.pending);
    return rc;
}
