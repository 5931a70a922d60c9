/* recover.c - see recover.h. */
#include "engine/recover.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "engine/close.h"
#include "engine/compact.h"
#include "engine/delta.h"
#include "store/package.h"
#include "store/tables.h"

struct recovering {
    struct store *store;
    struct store_results *results;
    struct fail *why;
};

static bool is_staged_as(const char *path, const char *name) {
    AUTO_BUF struct buf staged = BUF_INIT;
    lake_staged_name(&staged, path);
    return strcmp(staged.data, name) == 0;
}

/* The attachment of this staged name, if the document has it. */
static int attachment_of(const char *attachments, const char *id, const char *name, struct buf *to) {
    struct tl_json list, item = {0}, path, own;
    if (!attachments || json_parse(span_of(attachments), &list))
        return TL_NOTFOUND;
    while (json_next(&list, &item) == TL_OK) {
        AUTO_BUF struct buf text = BUF_INIT, staged = BUF_INIT;
        buf_reset(to);
        if (json_get(&item, "path", &path) || json_text(&path, to) || !to->data || json_get(&item, "name", &own) ||
            json_text(&own, &text))
            continue;
        lake_staged_attachment(&staged, id, buf_span(&text));
        if (strcmp(staged.data, name) == 0 && strlen(to->data) == to->len && lake_attachment_ok(to->data))
            return TL_OK;
    }
    return TL_NOTFOUND;
}

static int table_of(struct recovering *r, const struct uuid *id, const char *name, struct buf *to) {
    struct store_table file;
    char format[8];
    if (sscanf(name + UUID_TEXT - 1, ".%7[a-z].part", format) != 1)
        return TL_NOTFOUND;
    int rc = store_table_find(r->store, id, format, &file, r->why);
    if (rc)
        return rc;
    buf_reset(to);
    buf_text(to, file.path);
    return is_staged_as(to->data, name) ? TL_OK : TL_NOTFOUND;
}

/* Closing records are not asked for: they are written again from the catalog (close_recover), which knows whether they
 * are due. */
static int where_it_belongs(void *ctx, const char *name, struct buf *to) {
    struct recovering *r = ctx;
    struct store_result result;
    struct uuid id;
    size_t len = strlen(name);
    if (len < UUID_TEXT || uuid_parse((struct tl_span){name, UUID_TEXT - 1}, &id))
        return TL_NOTFOUND;
    int rc = store_results_find(r->results, &id, &result, r->why);
    if (rc == TL_NOTFOUND)
        return table_of(r, &id, name, to);
    if (rc)
        return rc;
    char text[UUID_TEXT];
    if (name[UUID_TEXT - 1] == '=')
        return attachment_of(result.attachments, uuid_text(&id, text), name, to);
    buf_reset(to);
    buf_printf(to, "%s/%s.json", result.folder, uuid_text(&id, text));
    return is_staged_as(to->data, name) ? TL_OK : TL_NOTFOUND;
}

/* A Delta log that cannot be kept up is no reason not to crawl; but the files that it may name stay. */
static int tidy_tables(struct store *s, struct lake *l, struct fail *why) {
    struct fail reason = FAIL_INIT;
    int rc = delta_update(s, l, &reason);
    if (rc == TL_OK)
        return compact_sweep(s, l, why);
    if (rc < 0)
        log_warn("%s", reason.text);
    return TL_OK;
}

int recover_all(struct store *s, struct lake *l, struct fail *why) {
    struct recovering r = {.store = s, .why = why};
    int64_t moved = 0, deleted = 0, closed = 0;
    int rc = store_results_open(s, &r.results, why);
    if (!rc)
        rc = lake_recover(l, where_it_belongs, &r, &moved, &deleted, why);
    store_results_close(r.results);
    if (!rc)
        rc = tidy_tables(s, l, why);
    if (!rc)
        rc = close_recover(s, l, &closed, why);
    if (moved || deleted || closed)
        log_info("after an interruption: %lld files went to their place, %lld that nobody waits for were removed, %lld "
                 "closing "
                 "records were written",
                 (long long)moved, (long long)deleted, (long long)closed);
    return rc;
}
