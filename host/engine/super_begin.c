/* super_begin.c - the orchestrator: a new crawl's root run, whose payload is the lines that it puts out as its
 * children.
 *
 * It is built in: it needs no worker, fetches nothing, and its document is durable before its children exist. */
#include <stdlib.h>

#include "base/json_write.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "engine/super_inside.h"

static void write_lines(struct buf *out, const struct crawl *c) {
    struct json_writer w = JSON_WRITER(out);
    json_array_begin(&w);
    for (size_t i = 0; i < c->line_count; i++) {
        const struct crawl_line *l = &c->line[i];
        json_object_begin(&w);
        json_member_string(&w, "collector", l->collector);
        json_put_key(&w, "args");
        json_put_raw(&w, l->args.len ? l->args : span_of("{}"));
        if (l->leash_given.len)
            json_member_raw(&w, "leash", l->leash_given);
        if (l->name)
            json_member_string(&w, "name", l->name);
        json_object_end(&w);
    }
    json_array_end(&w);
}

struct beginning {
    struct buf lines, payload, document, summary, folder;
    struct uuid result_id;
    struct document_sums sums;
    int64_t started_us, collector;
    char staged[64];
};

static int make_document(struct super *s, struct beginning *b, const struct super_scope *scope) {
    const struct plugin *p = plugin_find(s->o->plugins, "orchestrator");
    char result[UUID_TEXT];
    const struct document_element lines = {
        .id = "lines", .media_type = "application/json", .data = buf_span(&b->lines), .json = true};
    const struct document_dataset set = {
        .id = "lines", .name = "lines", .kind = TL_SIMPLE, .tags = "orchestrator", .element = &lines, .count = 1};
    const struct document d = {.result_id = uuid_text(&b->result_id, result),
                               .run_id = s->root_id,
                               .root_id = s->root_id,
                               .collector = p->name,
                               .collector_version = p->version,
                               .org = s->org,
                               .project = s->project,
                               .target = s->target_name,
                               .result_context_name = s->root->name,
                               .result_name = p->name,
                               .run_context = span_of(s->root->context_json),
                               .payload = buf_span(&b->payload),
                               .leash = buf_span(&scope->json),
                               .status = "success",
                               .started_us = b->started_us,
                               .finished_us = time_now_us() > b->started_us ? time_now_us() : b->started_us,
                               .dataset = &set,
                               .dataset_count = 1};
    int rc = document_write(&b->document, &d, s->hash, &b->sums, &b->summary);
    const struct config_collector *own = config_collector(s->config, p->name);
    const struct lake_place place = {b->started_us, s->root->root_id, p->version, s->org,
                                     s->project,    s->root->name,    p->name,    own ? own->path : NULL};
    lake_folder(&b->folder, &place, false);
    snprintf(b->staged, sizeof b->staged, "%s.part", result);
    if (rc)
        return fail_set(&s->why, rc, "the root's document cannot be written");
    return lake_stage(s->lake, b->staged, buf_span(&b->document), &s->why);
}

/* A line's leash; its own URL's host is in, whatever it says about hosts. */
static struct super_scope *line_scope(struct super *s, const struct crawl_line *l, const struct plugin *p) {
    struct args a = {0};
    struct leash own;
    AUTO_BUF struct buf json = BUF_INIT;
    if (!l->leash_given.len)
        return s->scope[0];
    leash_init(&own);
    leash_from_json(&own, l->leash_given, NULL);
    if (own.hosts_set && args_check(p, l->args, true, &a, NULL) == TL_OK) {
        const char *at = a.hosts.data;
        for (size_t k = 0; k < a.host_count; k++, at += strlen(at) + 1) {
            AUTO_FREE char *host = mem_text_n(at, (size_t)(strrchr(at, ':') - at));
            leash_add_host(&own, host, NULL);
        }
    }
    args_free(&a);
    unsigned given = LEASH_DEPTH | (own.fanout < INT64_MAX ? LEASH_FANOUT : 0) |
                     (own.runs < INT64_MAX ? LEASH_RUNS : 0) | (own.bytes < INT64_MAX ? LEASH_BYTES : 0) |
                     (own.time_us < INT64_MAX ? LEASH_TIME : 0) | (own.hosts_set ? LEASH_HOSTS : 0);
    leash_json_given(&json, &own, given);
    leash_free(&own);
    return super_scope_child(s, s->scope[0], buf_span(&json), &s->why);
}

static int put_lines(struct super *s) {
    const struct crawl *c = s->o->crawl;
    int rc = TL_OK;
    for (size_t i = 0; i < c->line_count && !rc; i++) {
        const struct crawl_line *l = &c->line[i];
        const struct plugin *p = plugin_find(s->o->plugins, l->collector);
        struct super_scope *scope = p ? line_scope(s, l, p) : NULL;
        const struct store_wish w = {.parent = s->root->root, .context = l->name, .edge = STORE_SPAWN, .line = true};
        struct store_put_result result;
        rc = scope ? super_put_child(s, &w, p, l->args, true, scope, &result, NULL, &s->why) : TL_FAILED;
    }
    return rc;
}

static int record(struct super *s, struct beginning *b, struct super_scope *scope) {
    const struct store_document d = {.result_id = b->result_id,
                                     .folder = b->folder.data,
                                     .sha256 = b->sums.sha256,
                                     .bytes = b->sums.bytes,
                                     .collected_us = time_now_us(),
                                     .datasets = b->summary.data};
    int rc = store_collector(s->store, "orchestrator", plugin_find(s->o->plugins, "orchestrator")->version,
                             plugin_find(s->o->plugins, "orchestrator")->summary, NULL, &b->collector);
    if (!rc)
        rc = store_target(s->store, s->org, s->project, s->target_name, &s->root->target);
    if (!rc)
        rc = store_crawl_new(s->store, s->root, b->collector, buf_span(&b->payload), lake_owner(s->lake), &s->why);
    if (!rc)
        rc = super_scope_store(s, scope);
    if (!rc)
        rc = put_lines(s);
    const struct store_finish f = {.key = s->root->root,
                                   .token = 1,
                                   .state = STORE_SUCCESS,
                                   .started_us = b->started_us,
                                   .finished_us = d.collected_us,
                                   .document = &d};
    int status = TL_OK;
    if (!rc)
        rc = store_finish(s->store, &f, 1, &status, &s->why);
    return rc ? rc : status;
}

int super_begin(struct super *s) {
    struct beginning b = {.result_id = uuid_new(), .started_us = store_now_us(s->store)};
    struct super_scope *scope = super_scope_root(s);
    AUTO_BUF struct buf to = BUF_INIT;
    char id[UUID_TEXT];
    s->root->started_us = b.started_us;
    write_lines(&b.lines, s->o->crawl);
    buf_printf(&b.payload, "{\"lines\":%s}", b.lines.data);
    int rc = make_document(s, &b, scope);
    if (!rc)
        rc = store_begin(s->store, &s->why);
    if (!rc && (rc = record(s, &b, scope))) {
        if (!s->why.text[0])
            fail_set(&s->why, rc, "the catalog did not take the new crawl");
        store_rollback(s->store);
    } else if (!rc) {
        rc = store_commit(s->store, &s->why);
    }
    buf_printf(&to, "%s/%s.json", b.folder.data ? b.folder.data : "", uuid_text(&b.result_id, id));
    if (!rc)
        rc = lake_publish(s->lake, b.staged, to.data, &s->why);
    s->sum.by_state[STORE_SUCCESS] += rc == TL_OK;
    s->sum.documents += rc == TL_OK;
    buf_free(&b.lines);
    buf_free(&b.payload);
    buf_free(&b.document);
    buf_free(&b.summary);
    buf_free(&b.folder);
    return rc;
}
