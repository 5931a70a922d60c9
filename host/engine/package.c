/* package.c - writes the closing record of a crawl. See package.h.
 *
 * Invariant: memory does not grow with the number of runs: rows go through one buffer into the file and its digest. */
#include "engine/package.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/times.h"
#include "lake/lake.h"
#include "store/package.h"

enum { FLUSH_BYTES = 256 << 10 };

/* Row numbers of the catalog as numbers of the package, in the order in which they came. */
struct numbers {
    struct number {
        int64_t key, n;
    } * at;
    size_t count, room;
};

static size_t number_place(const struct numbers *list, int64_t key) {
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (list->at[mid].key < key)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static int64_t number_of(const struct numbers *list, int64_t key) { /* 0: none */
    size_t at = key ? number_place(list, key) : list->count;
    return at < list->count && list->at[at].key == key ? list->at[at].n : 0;
}

static int64_t number_add(struct numbers *list, int64_t key) {
    size_t at = number_place(list, key);
    MEM_GROW(list->at, list->count, list->room);
    memmove(list->at + at + 1, list->at + at, (list->count - at) * sizeof *list->at);
    list->at[at] = (struct number){key, (int64_t)++list->count};
    return list->at[at].n;
}

struct writing {
    int fd;
    struct buf text;
    struct json_writer json;
    struct hash *hash;
    struct numbers targets, scopes;
    struct uuid root_id;
    struct package *p;
    struct fail *why;
};

static int flush(struct writing *w) {
    struct tl_span left = buf_span(&w->text);
    if (w->text.full)
        return fail_set(w->why, TL_FAILED, "cannot write the closing record: a row of the crawl is too long");
    hash_add(w->hash, left.ptr, left.len);
    w->p->bytes += (int64_t)left.len;
    if (lake_write_all(w->fd, left))
        return fail_errno(w->why, TL_FAILED, "cannot write the closing record into the lake");
    buf_reset(&w->text);
    return TL_OK;
}

/* ---- members; what says nothing is left out */

static struct json_writer *line_begin(struct writing *w, const char *kind) {
    w->json = (struct json_writer)JSON_WRITER(&w->text);
    json_object_begin(&w->json);
    json_member_string(&w->json, "kind", kind);
    return &w->json;
}

static int line_end(struct writing *w) {
    json_object_end(&w->json);
    buf_char(&w->text, '\n');
    w->p->lines++;
    return w->text.len < FLUSH_BYTES ? TL_OK : flush(w);
}

static void put_text(struct json_writer *j, const char *key, const char *text) {
    if (text)
        json_member_string(j, key, text);
}

static void put_span(struct json_writer *j, const char *key, struct tl_span text) {
    if (text.len)
        json_member_span(j, key, text);
}

static void put_int(struct json_writer *j, const char *key, int64_t n) {
    if (n)
        json_member_int(j, key, n);
}

static void put_limit(struct json_writer *j, const char *key, int64_t n) {
    if (n != INT64_MAX)
        json_member_int(j, key, n);
}

static void put_id(struct json_writer *j, const char *key, const struct uuid *id) {
    static const struct uuid none;
    char text[UUID_TEXT];
    if (memcmp(id, &none, sizeof none) != 0)
        json_member_string(j, key, uuid_text(id, text));
}

/* Verbatim where it is an object or array on one line; else as a string that holds it, which is as exact. */
static void put_json(struct json_writer *j, const char *key, struct tl_span json) {
    static const char pair[] = "{}[]";
    const char *open = json.len > 1 ? memchr(pair, json.ptr[0], 4) : NULL;
    if (!json.len)
        return;
    bool raw = open && (open - pair) % 2 == 0 && json.ptr[json.len - 1] == open[1] &&
               !memchr(json.ptr, '\n', json.len) && !memchr(json.ptr, '\r', json.len) &&
               json_valid(json, NULL) == TL_OK;
    if (raw)
        json_member_raw(j, key, json);
    else
        json_member_span(j, key, json);
}

static void put_target(struct json_writer *j, const char *org, const char *project, const char *name) {
    json_member_string(j, "org", org);
    json_member_string(j, "project", project);
    json_member_string(j, "name", name);
}

/* ---- lines */

static int write_crawl(struct writing *w, struct store *s, const struct store_crawl *c) {
    struct json_writer *j = line_begin(w, "crawl");
    const char *org = NULL, *project = NULL, *name = NULL;
    json_member_string(j, "schema_version", "crawl_v1");
    put_id(j, "root_id", &c->root_id);
    json_member_string(j, "crawl", c->name);
    if (c->target && store_target_name(s, c->target, &org, &project, &name) == TL_OK) {
        json_put_key(j, "target");
        json_object_begin(j);
        put_target(j, org, project, name);
        json_object_end(j);
    }
    put_json(j, "crawl_file", span_of(c->file_json));
    put_text(j, "crawl_file_sha256", c->file_sha256);
    put_json(j, "leash", span_of(c->leash_json));
    put_json(j, "run_context", span_of(c->context_json));
    put_text(j, "reason", c->reason);
    json_member_int(j, "started_us", c->started_us);
    json_member_int(j, "finished_us", c->finished_us);
    put_int(j, "turn_us", c->turn_us);
    put_int(j, "due_us", c->due_us);
    return line_end(w);
}

static int on_collector(void *ctx, int64_t key, const char *name, const char *version, const char *summary,
                        const char *sha256, int64_t first_us) {
    struct writing *w = ctx;
    struct json_writer *j = line_begin(w, "collector");
    (void)key;
    json_member_string(j, "name", name);
    json_member_string(j, "version", version);
    put_text(j, "summary", summary);
    put_text(j, "sha256", sha256);
    json_member_int(j, "first_us", first_us);
    return line_end(w);
}

static int on_target(void *ctx, int64_t key, const char *org, const char *project, const char *name) {
    struct writing *w = ctx;
    struct json_writer *j = line_begin(w, "target");
    json_member_int(j, "n", number_add(&w->targets, key));
    put_target(j, org, project, name);
    return line_end(w);
}

static int on_scope(void *ctx, const struct store_scope *scope, const char *given) {
    struct writing *w = ctx;
    struct json_writer *j = line_begin(w, "scope");
    json_member_int(j, "n", number_add(&w->scopes, scope->key));
    put_int(j, "parent", number_of(&w->scopes, scope->parent));
    put_limit(j, "depth", scope->depth);
    put_limit(j, "fanout", scope->fanout);
    put_limit(j, "runs", scope->runs);
    put_limit(j, "bytes", scope->bytes);
    put_limit(j, "time_us", scope->time_us);
    put_int(j, "runs_spent", scope->runs_spent);
    put_int(j, "bytes_spent", scope->bytes_spent);
    put_json(j, "given", span_of(given));
    if (scope->json && (!given || strcmp(given, scope->json) != 0))
        put_json(j, "leash", span_of(scope->json));
    return line_end(w);
}

static void put_place(struct json_writer *j, const char *folder, const struct uuid *result_id) {
    char id[UUID_TEXT];
    json_put_key(j, "path");
    AUTO_BUF struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%s.json", folder, uuid_text(result_id, id));
    json_put_string(j, buf_span(&path));
}

static int write_document(struct writing *w, const struct store_export_run *x) {
    const struct store_document *d = x->run.document;
    struct json_writer *j = line_begin(w, "document");
    char hex[SHA256_HEX];
    put_place(j, d->folder, &d->result_id);
    json_member_string(j, "sha256", hash_hex(d->sha256.byte, SHA256_BYTES, hex));
    put_id(j, "run_id", &x->run.run_id);
    put_id(j, "result_id", &d->result_id);
    json_member_int(j, "bytes", d->bytes);
    json_member_bool(j, "reused", false);
    json_member_int(j, "collected_us", d->collected_us);
    put_json(j, "datasets", span_of(d->datasets));
    put_json(j, "attachments", span_of(d->attachments));
    w->p->documents++;
    return line_end(w);
}

static int write_reused(struct writing *w, const struct store_export_run *x) {
    struct json_writer *j = line_begin(w, "document");
    char hex[SHA256_HEX];
    put_place(j, x->reused.folder, &x->run.result_ref);
    json_member_string(j, "sha256", hash_hex(x->reused.sha256.byte, SHA256_BYTES, hex));
    put_id(j, "run_id", &x->run.run_id);
    put_id(j, "result_id", &x->run.result_ref);
    json_member_int(j, "bytes", x->reused.bytes);
    json_member_bool(j, "reused", true);
    put_id(j, "root_id", &x->reused.root_id);
    w->p->reused++;
    return line_end(w);
}

static int on_run(void *ctx, const struct store_export_run *x) {
    struct writing *w = ctx;
    const struct store_import_run *r = &x->run;
    struct json_writer *j = line_begin(w, "run");
    char hex[2 * STORE_DIGEST + 1];
    put_id(j, "run_id", &r->run_id);
    put_id(j, "parent_id", &r->parent_id);
    json_member_int(j, "depth", r->depth);
    json_member_int(j, "reach", r->reach);
    json_member_string(j, "edge", store_edge_name[r->edge]);
    if (r->line)
        json_member_bool(j, "line", true);
    json_member_string(j, "collector", x->collector);
    json_member_string(j, "collector_version", x->version);
    put_int(j, "target", number_of(&w->targets, r->target));
    put_int(j, "scope", number_of(&w->scopes, r->scope));
    put_text(j, "result_context_name", r->context);
    put_span(j, "host", x->host);
    json_member_string(j, "digest", hash_hex(r->digest, STORE_DIGEST, hex));
    put_json(j, "payload", r->payload);
    put_span(j, "url", r->url);
    put_span(j, "final_url", r->final_url);
    json_member_string(j, "status", store_state_name[r->state]);
    put_text(j, "reason", r->reason);
    put_text(j, "error", r->error);
    put_int(j, "attempts", r->attempts);
    put_int(j, "token", r->token);
    put_int(j, "children", r->children);
    put_int(j, "bytes", r->bytes);
    put_int(j, "http_status", r->http_status);
    put_int(j, "queued_us", r->queued_us);
    put_int(j, "started_us", r->started_us);
    put_int(j, "finished_us", r->finished_us);
    put_id(j, "result_ref", &r->result_ref);
    w->p->runs++;
    w->p->by_state[r->state]++;
    w->p->fetched += r->bytes;
    int rc = line_end(w);
    if (!rc && r->document)
        rc = write_document(w, x);
    bool own = memcmp(&x->reused.root_id, &w->root_id, sizeof w->root_id) == 0; /* a member already */
    if (!rc && x->reused.folder && !own)
        rc = write_reused(w, x);
    return rc;
}

static int on_leashed(void *ctx, const struct store_export_leashed *x) {
    struct writing *w = ctx;
    struct json_writer *j = line_begin(w, "leashed");
    char hex[2 * STORE_DIGEST + 1];
    bool known = x->reason > STORE_NO_REASON && x->reason < STORE_REASONS;
    put_id(j, "parent_id", &x->parent_id);
    json_member_string(j, "collector", x->name);
    json_member_string(j, "collector_version", x->version);
    json_member_string(j, "digest", hash_hex(x->digest, STORE_DIGEST, hex));
    put_span(j, "url", x->url);
    json_member_string(j, "reason", known ? store_reason_name[x->reason] : "");
    json_member_int(j, "times", x->times);
    json_member_int(j, "at_us", x->at_us);
    w->p->leashed[known ? x->reason : STORE_NO_REASON]++;
    return line_end(w);
}

static int on_edge(void *ctx, const struct uuid *parent, const struct uuid *child, enum store_edge kind) {
    struct writing *w = ctx;
    struct json_writer *j = line_begin(w, "edge");
    put_id(j, "parent_id", parent);
    put_id(j, "child_id", child);
    json_member_string(j, "edge", kind < STORE_EDGES ? store_edge_name[kind] : "");
    return line_end(w);
}

static int on_event(void *ctx, const struct store_export_event *x) {
    struct writing *w = ctx;
    struct json_writer *j = line_begin(w, "event");
    put_id(j, "run_id", &x->run_id);
    json_member_string(j, "collector", x->name);
    json_member_string(j, "collector_version", x->version);
    json_member_string(j, "event", x->kind == STORE_EVENT_AGAIN ? "again" : "react");
    put_json(j, "args", x->args);
    put_int(j, "reach", x->reach);
    put_int(j, "attempts", x->attempts);
    put_int(j, "created_us", x->created_us);
    put_text(j, "error", x->error);
    if (x->failed)
        json_member_bool(j, "failed", true);
    return line_end(w);
}

static int on_url(void *ctx, const struct store_export_url *x) {
    struct writing *w = ctx;
    struct json_writer *j = line_begin(w, "url");
    put_id(j, "run_id", &x->run_id);
    put_span(j, "asked", x->asked);
    if (x->source.len != x->asked.len || memcmp(x->source.ptr, x->asked.ptr, x->asked.len) != 0)
        put_span(j, "source", x->source);
    if (x->url.len != x->source.len || memcmp(x->url.ptr, x->source.ptr, x->source.len) != 0)
        put_span(j, "canonical", x->url);
    put_span(j, "claim", x->claim);
    if (x->believed)
        json_member_bool(j, "believed", true);
    if (x->plain)
        json_member_bool(j, "plain", true);
    json_member_int(j, "at_us", x->at_us);
    return line_end(w);
}

static int on_validator(void *ctx, const struct store_export_validator *x) {
    struct writing *w = ctx;
    struct json_writer *j = line_begin(w, "validator");
    put_id(j, "run_id", &x->run_id);
    put_span(j, "url", x->url);
    if (x->credential && *x->credential)
        put_text(j, "credential", x->credential);
    put_text(j, "etag", x->etag);
    put_text(j, "last_modified", x->last_modified);
    json_member_int(j, "at_us", x->at_us);
    return line_end(w);
}

static int on_link(void *ctx, const struct store_export_link *x) {
    struct writing *w = ctx;
    struct json_writer *j = line_begin(w, "link");
    put_id(j, "run_id", &x->run_id);
    json_member_string(j, "urn", x->link.urn);
    json_member_string(j, "name", x->link.name);
    json_member_string(j, "href", x->link.href);
    if (*x->link.type)
        json_member_string(j, "type", x->link.type);
    put_int(j, "deleted_us", x->link.deleted_us);
    return line_end(w);
}

int package_write(struct store *s, const struct store_crawl *closed, int fd, struct package *out, struct fail *why) {
    *out = (struct package){0};
    struct writing w = {.fd = fd, .hash = hash_new(), .root_id = closed->root_id, .p = out, .why = why};
    const struct store_exporter to = {.collector = on_collector,
                                      .target = on_target,
                                      .scope = on_scope,
                                      .run = on_run,
                                      .leashed = on_leashed,
                                      .edge = on_edge,
                                      .event = on_event,
                                      .url = on_url,
                                      .validator = on_validator,
                                      .link = on_link,
                                      .ctx = &w};
    hash_start(w.hash);
    int rc = write_crawl(&w, s, closed);
    if (!rc)
        rc = store_export(s, closed->root, &to, why);
    if (!rc)
        rc = flush(&w);
    out->sha256 = hash_end(w.hash);
    hash_free(w.hash);
    buf_free(&w.text);
    free(w.targets.at);
    free(w.scopes.at);
    return rc;
}

/* ---- the summary */

static void summary_counts(struct json_writer *j, const struct package *p) {
    json_put_key(j, "counts");
    json_object_begin(j);
    for (int i = 0; i < STORE_STATES; i++)
        put_int(j, store_state_name[i], p->by_state[i]);
    json_object_end(j);
    json_put_key(j, "leashed");
    json_object_begin(j);
    for (int i = STORE_DEPTH; i < STORE_REASONS; i++)
        put_int(j, store_reason_name[i], p->leashed[i]);
    json_object_end(j);
}

static void member_json(struct json_writer *j, const char *key, const char *json) {
    if (json && *json)
        put_json(j, key, span_of(json));
    else
        json_member_null(j, key);
}

static void summary_leash(struct json_writer *j, const struct store_crawl *c, const struct package *p) {
    json_put_key(j, "leash");
    json_object_begin(j);
    member_json(j, "given", c->leash_json);
    json_put_key(j, "spent");
    json_object_begin(j);
    json_member_int(j, "runs", p->runs);
    json_member_int(j, "bytes", p->fetched);
    json_member_real(j, "seconds", (double)(c->finished_us - c->started_us) / 1e6);
    json_object_end(j);
    json_object_end(j);
}

void package_summary(struct buf *out, struct store *s, const struct store_crawl *closed, const char *path,
                     const struct package *p) {
    struct json_writer j = JSON_WRITER(out);
    char text[TIME_TEXT], hex[SHA256_HEX], id[UUID_TEXT];
    const char *org = NULL, *project = NULL, *name = NULL;
    if (closed->target)
        store_target_name(s, closed->target, &org, &project, &name);
    json_object_begin(&j);
    json_member_string(&j, "schema_version", "crawl_v1");
    json_member_string(&j, "root_id", uuid_text(&closed->root_id, id));
    json_member_string(&j, "crawl", closed->name);
    json_put_key(&j, "target");
    json_object_begin(&j);
    put_target(&j, org, project, name);
    json_object_end(&j);
    member_json(&j, "crawl_file", closed->file_json);
    json_member_string(&j, "crawl_file_sha256", closed->file_sha256);
    member_json(&j, "run_context", closed->context_json);
    summary_leash(&j, closed, p);
    summary_counts(&j, p);
    json_member_string(&j, "reason", closed->reason);
    json_member_string(&j, "started_at", time_text(closed->started_us, text));
    json_member_string(&j, "finished_at", time_text(closed->finished_us, text));
    json_put_key(&j, "package");
    json_object_begin(&j);
    json_member_string(&j, "path", path);
    json_member_string(&j, "sha256", hash_hex(p->sha256.byte, SHA256_BYTES, hex));
    json_member_int(&j, "bytes", p->bytes);
    json_member_int(&j, "lines", p->lines);
    json_object_end(&j);
    json_member_int(&j, "documents", p->documents);
    json_member_int(&j, "reused", p->reused);
    json_member_int(&j, "bytes", p->fetched);
    json_object_end(&j);
    struct sha256 checksum = hash_sha256(out->data, out->len); /* of everything up to the checksum, and the brace */
    out->data[--out->len] = '\0';
    buf_printf(out, ",\"checksum\":\"sha256:%s\"}", hash_hex(checksum.byte, SHA256_BYTES, hex));
}
