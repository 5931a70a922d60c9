/* fanin_write.c - the documents of a merge.
 *
 * Invariant: names stand in sorted order and nothing is written but by the rules of json_python, so that a document is
 * its own canonical form. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "fanin/fanin_inside.h"

static const double relevant = 0.4;

static void put_now(struct json_writer *w, const char *name, int64_t us) {
    char text[TIME_TEXT];
    json_member_string(w, name, context_time(us, text));
}

static void put_texts(struct json_writer *w, const char *name, const struct fanin_texts *t) {
    json_put_key(w, name);
    json_array_begin(w);
    for (size_t i = 0; i < t->count; i++)
        json_put_text(w, t->item[i]);
    json_array_end(w);
}

static void put_entries(struct json_writer *w, const char *name, const struct fanin_side *side) {
    json_put_key(w, name);
    json_array_begin(w);
    for (size_t i = 0; i < side->kept_count; i++)
        json_put_raw(w, side->kept[i].entry->raw);
    json_array_end(w);
}

static int compare_slots(const void *left, const void *right) {
    const struct fanin_slot *const *a = left, *const *b = right;
    return strcmp((*a)->member->id, (*b)->member->id);
}

static const char *status_of(const struct fanin_side *side, const struct fanin_slot *s) {
    if (side->kind == LEG_SHARD)
        return !s->reason ? "success" : s->rejected ? "rejected" : "missing";
    return s->reason ? "failed" : s->leg->status == LEG_PARTIAL ? "partial" : "success";
}

/* The members of the plan, by their names; with what was kept of them, or what they brought. */
static void put_slots(struct json_writer *w, const char *name, const struct fanin_side *side, bool merged) {
    AUTO_FREE const struct fanin_slot **sorted = mem_alloc((side->count + 1) * sizeof *sorted);
    for (size_t i = 0; i < side->count; i++)
        sorted[i] = &side->slot[i];
    qsort(sorted, side->count, sizeof *sorted, compare_slots);
    json_put_key(w, name);
    json_object_begin(w);
    for (size_t i = 0; i < side->count; i++) {
        const struct fanin_slot *s = sorted[i];
        json_put_key(w, s->member->id);
        json_object_begin(w);
        if (!s->reason)
            json_member_uint(w, side->kind == LEG_SHARD ? "count" : "articles_count",
                             merged ? s->merged : s->leg->count);
        else if (side->kind == LEG_SHARD)
            json_member_uint(w, "count", 0);
        if (s->reason)
            json_member_string(w, "error", s->reason);
        json_member_string(w, "status", status_of(side, s));
        json_object_end(w);
    }
    json_object_end(w);
}

static void write_news(struct fanin *f, int64_t now_us) {
    const struct fanin_side *side = &f->news;
    struct json_writer w = JSON_WRITER(&f->news_json);
    size_t good = 0;
    for (size_t i = 0; i < side->kept_count; i++)
        good += side->kept[i].entry->score >= relevant;
    json_object_begin(&w);
    put_entries(&w, "articles", side);
    json_member_string(&w, "checksum", side->checksum);
    json_member_string(&w, "checksum_form", JSON_PYTHON_NAME);
    put_now(&w, "merged_at", now_us);
    json_put_key(&w, "metrics");
    json_object_begin(&w);
    json_member_uint(&w, "dedupe_count", side->dropped);
    json_member_uint(&w, "sources_failed", side->count - side->succeeded);
    json_member_uint(&w, "sources_succeeded", side->succeeded);
    json_member_uint(&w, "total_articles", side->kept_count);
    json_member_uint(&w, "total_relevant", good);
    json_object_end(&w);
    json_member_raw(&w, "run_context", f->context->json);
    json_member_int(&w, "schema_version", 2);
    put_slots(&w, "sources", side, true);
    put_texts(&w, "warnings", &side->warning);
    json_object_end(&w);
}

static void write_github(struct fanin *f, int64_t now_us) {
    const struct fanin_side *side = &f->github;
    struct json_writer w = JSON_WRITER(&f->github_json);
    json_object_begin(&w);
    json_member_string(&w, "checksum", side->checksum);
    json_member_string(&w, "checksum_form", JSON_PYTHON_NAME);
    put_now(&w, "merged_at", now_us);
    json_put_key(&w, "metrics");
    json_object_begin(&w);
    json_member_uint(&w, "dedupe_count", side->dropped);
    json_member_uint(&w, "shards_failed", side->count - side->succeeded);
    json_member_uint(&w, "shards_succeeded", side->succeeded);
    json_member_uint(&w, "total_repositories", side->kept_count);
    json_object_end(&w);
    put_entries(&w, "repositories", side);
    json_member_raw(&w, "run_context", f->context->json);
    json_member_string(&w, "schema_version", "github_v1");
    put_slots(&w, "shards", side, true);
    put_texts(&w, "warnings", &side->warning);
    json_object_end(&w);
}

void fanin_write_documents(struct fanin *f, int64_t now_us) {
    write_news(f, now_us);
    write_github(f, now_us);
}

static int compare_legs(const void *left, const void *right) {
    const struct leg *const *a = left, *const *b = right;
    int order = strcmp((*a)->file, (*b)->file);
    return order ? order : strcmp((*a)->id, (*b)->id);
}

static void put_artifacts(struct json_writer *w, const struct fanin *f) {
    static const char *const kinds[] = {"unknown", "source", "shard"};
    AUTO_FREE const struct leg **sorted = mem_alloc((f->leg_count + 1) * sizeof *sorted);
    for (size_t i = 0; i < f->leg_count; i++)
        sorted[i] = &f->leg[i];
    qsort(sorted, f->leg_count, sizeof *sorted, compare_legs);
    json_put_key(w, "artifacts");
    json_array_begin(w);
    for (size_t i = 0; i < f->leg_count; i++) {
        json_object_begin(w);
        json_member_uint(w, "entries", sorted[i]->count);
        json_member_string(w, "file", sorted[i]->file);
        json_member_string(w, "id", sorted[i]->id);
        json_member_string(w, "kind", kinds[sorted[i]->kind]);
        json_member_string(w, "reason", sorted[i]->reason);
        json_member_bool(w, "rejected", sorted[i]->rejected);
        json_object_end(w);
    }
    json_array_end(w);
}

void fanin_write_diagnostics(struct fanin *f, int64_t now_us) {
    struct json_writer w = JSON_WRITER(&f->diagnostics);
    json_object_begin(&w);
    put_artifacts(&w, f);
    put_now(&w, "at", now_us);
    put_texts(&w, "reasons", &f->closed);
    json_member_raw(&w, "run_context", f->context->json);
    json_member_string(&w, "schema_version", "fanin_diagnostics_v1");
    put_slots(&w, "shards", &f->github, false);
    put_slots(&w, "sources", &f->news, false);
    json_put_key(&w, "warnings");
    json_array_begin(&w);
    for (size_t i = 0; i < f->news.warning.count; i++)
        json_put_text(&w, f->news.warning.item[i]);
    for (size_t i = 0; i < f->github.warning.count; i++)
        json_put_text(&w, f->github.warning.item[i]);
    json_array_end(&w);
    json_object_end(&w);
}
