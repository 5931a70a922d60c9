/* outcome.c - what became of a repository: an element of the document, and a file beside its copies if it failed. */
#include <string.h>

#include "gitbackup.h"

int outcome_fail(struct tl_run *run, struct outcome *o, const char *class, int rc, const char *said) {
    o->status = "failed";
    o->class = class;
    o->rc = rc;
    o->reason = said ? said : "no reason was given";
    return o->reason ? TL_OK : tl_fail(run, TL_FAILED, "the run's memory is used up");
}

static void quoted(struct text *t, const char *value) {
    text_word(t, value ? tl_json_quote(t->run, (struct tl_span){value, strlen(value)}) : "null");
}

static void member(struct text *t, const char *key, const char *value) {
    text_word(t, text_format(t->run, ",\"%s\":", key));
    quoted(t, value);
}

static void put_repository(struct text *t, const struct repository *r) {
    text_word(t, "\"repo\":{\"id\":");
    text_word(t, r->id ? r->id : "null");
    member(t, "full_name", r->full_name);
    if (r->formerly)
        member(t, "formerly", r->formerly);
    text_word(t, "}");
}

static void put_file(struct text *t, const char *key, const struct tl_backup *b, const char *more) {
    text_word(t, text_format(t->run, ",\"%s\":", key));
    if (!b->path) {
        text_word(t, "null");
        return;
    }
    text_word(t, "{\"path\":");
    quoted(t, b->path);
    text_word(t, text_format(t->run, ",\"bytes\":%lld,\"sha256\":\"%s\"%s}", (long long)b->bytes, b->sha256, more));
}

int outcome_add_dropped(struct tl_run *run, struct outcome *o, const struct tl_list *more) {
    const char **both = more->count ? tl_alloc(run, (o->dropped.count + more->count) * sizeof *both) : NULL;
    if (!more->count)
        return TL_OK;
    if (!both)
        return tl_fail(run, TL_FAILED, "the run's memory is used up");
    for (size_t i = 0; i < o->dropped.count + more->count; i++)
        both[i] = i < o->dropped.count ? o->dropped.item[i] : more->item[i - o->dropped.count];
    o->dropped = (struct tl_list){.item = both, .count = o->dropped.count + more->count};
    return TL_OK;
}

int outcome_put(struct tl_run *run, const struct repository *r, const struct outcome *o) {
    struct text t = {.run = run};
    text_word(&t, "{\"status\":");
    quoted(&t, o->status);
    text_word(&t, ",");
    put_repository(&t, r);
    if (o->refs) {
        member(&t, "head", o->refs->head);
        member(&t, "refs_digest", o->refs->digest);
        if (o->refs_refused)
            text_word(&t, text_format(run, ",\"refs_refused\":%zu", o->refs_refused));
        text_word(&t, text_format(run, ",\"refs\":%zu", o->refs->count));
    }
    if (o->bundle.path) {
        put_file(&t, "bundle", &o->bundle, o->verified ? ",\"verified\":true" : ",\"verified\":false");
        put_file(&t, "zip", &o->zip, "");
        if (!o->zip.path && o->zip_reason)
            member(&t, "zip_reason", o->zip_reason);
        text_word(&t, ",\"submodules\":[");
        text_add(&t, o->submodules.ptr, o->submodules.len);
        text_word(&t, "]");
    }
    if (o->lfs || o->bundle.path) {
        member(&t, "lfs", o->lfs ? o->lfs : "none");
        text_word(&t, ",\"lfs_objects\":[");
        text_add(&t, o->pointers.ptr, o->pointers.len);
        text_word(&t, "]");
    }
    if (o->lfs_reason)
        member(&t, "lfs_reason", o->lfs_reason);
    text_word(&t, ",\"changed\":[");
    text_add(&t, o->changed.ptr, o->changed.len);
    text_word(&t, "]");
    for (size_t i = 0; i < o->dropped.count; i++) {
        text_word(&t, i ? "," : ",\"dropped\":[");
        quoted(&t, o->dropped.item[i]);
    }
    if (o->dropped.count)
        text_word(&t, "]");
    if (o->wiki)
        member(&t, "wiki", o->wiki);
    if (o->reason) {
        if (o->class)
            member(&t, "class", o->class);
        text_word(&t, text_format(run, ",\"rc\":%d", o->rc));
        member(&t, "reason", o->reason);
    }
    text_word(&t, "}");
    if (t.lost || o->changed.lost || o->submodules.lost || o->pointers.lost)
        return tl_fail(run, TL_FAILED, "the run's memory is used up");
    return tl_put(run, "repositories",
                  TL_ELEMENT(.data = {t.ptr, t.len}, .media_type = "application/json",
                             .key = r->full_name ? r->full_name : "?", .data_url = r->clone_url));
}

int outcome_error_file(struct tl_run *run, const struct repository *r, const struct outcome *o, int64_t at_us) {
    struct text t = {.run = run};
    text_word(&t, "{\"class\":");
    quoted(&t, o->class);
    text_word(&t, text_format(run, ",\"rc\":%d", o->rc));
    member(&t, "stderr_tail", o->reason);
    text_word(&t, ",");
    put_repository(&t, r);
    member(&t, "at", text_time(run, at_us));
    text_word(&t, "}\n");
    if (t.lost)
        return tl_fail(run, TL_FAILED, "the run's memory is used up");
    struct tl_backup b = {.struct_size = sizeof b,
                          .server = r->server,
                          .owner = r->owner,
                          .name = r->name,
                          .kind = "error",
                          .media_type = "application/json",
                          .at_us = at_us,
                          .data = {t.ptr, t.len}};
    return tl_backup(run, &b);
}
