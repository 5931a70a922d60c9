/* tracker_record.c - see tracker_record.h. A record is written from the row, under a lock, so that the last one to
 * write has read the last row. */
#include "engine/tracker_record.h"

#include <string.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/times.h"
#include "engine/tracker.h"
#include "lake/lake_tracked.h"

enum { RECORD_MOST = 65536 };

/* ---- writing */

static void member(struct json_writer *w, const char *key, const struct store_value *v) {
    if (v->type == STORE_TEXT)
        json_member_span(w, key, v->text);
    else
        json_member_string(w, key, NULL);
}

static int each_row(void *ctx, const struct store_row *row) {
    static const char *const key[] = {"name", "added_at", "completed_at", "taken_at", "error"};
    struct json_writer w = JSON_WRITER((struct buf *)ctx);
    json_object_begin(&w);
    for (size_t i = 0; i < COUNT_OF(key); i++)
        member(&w, key[i], &row->value[i]);
    json_object_end(&w);
    buf_char(ctx, '\n');
    return 0;
}

/* gone: it may be that the catalog has it no more. */
static int settle(struct lake *l, struct store *s, const char *name, bool gone, struct fail *why) {
    const struct store_value arg = store_text(name);
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_CLOSE int lock = lake_tracked_lock(l, why);
    if (lock < 0)
        return why->status;
    int rc = store_query(s, "SELECT name, added_at, completed_at, taken_at, error FROM tracked WHERE name = $1", &arg,
                         1, each_row, &text, why);
    if (rc)
        return rc;
    if (text.len)
        return lake_tracked_write(l, name, buf_span(&text), why);
    return gone ? lake_tracked_remove(l, name, why) : TL_OK;
}

int tracker_record_write(struct lake *l, struct store *s, const char *name, struct fail *why) {
    return settle(l, s, name, false, why);
}

int tracker_record_remove(struct lake *l, struct store *s, const char *name, struct fail *why) {
    return settle(l, s, name, true, why);
}

/* ---- reading */

static int damaged(struct fail *why, const char *what) {
    return fail_exit(why, TL_INVALID, EXIT_DAMAGED, "it is no record of a tracked name: %s", what);
}

/* A time, or null for 0. */
static bool time_at(struct tl_span record, const char *pointer, int64_t *us) {
    struct tl_json v;
    AUTO_BUF struct buf text = BUF_INIT;
    *us = 0;
    if (json_find(record, pointer, &v) || v.type == TL_JSON_NULL)
        return true;
    return json_text(&v, &text) == TL_OK && text.len && time_parse(buf_span(&text), us) == TL_OK && *us >= 0;
}

static bool text_at(struct tl_span record, const char *pointer, struct buf *out) {
    struct tl_json v;
    return json_find(record, pointer, &v) == TL_OK && v.type == TL_JSON_STRING && json_text(&v, out) == TL_OK &&
           out->len && strlen(out->data) == out->len;
}

int tracker_record_read(struct lake *l, struct store *s, const char *path, struct fail *why) {
    AUTO_BUF struct buf text = {.max = RECORD_MOST}, name = BUF_INIT, same = BUF_INIT, error = BUF_INIT,
                        place = BUF_INIT;
    struct store_tracked row = {0};
    struct tl_json root;
    int rc = lake_read(l, path, &text, why);
    if (rc)
        return rc;
    if (json_parse(buf_span(&text), &root) || root.type != TL_JSON_OBJECT)
        return damaged(why, "it is no JSON object");
    if (!text_at(root.raw, "/name", &name) || tracker_name(name.data, &same) || strcmp(same.data, name.data) != 0)
        return damaged(why, "its name is none");
    lake_tracked_path(&place, name.data);
    if (strcmp(place.data, path) != 0)
        return damaged(why, "it is in the place of another");
    if (!time_at(root.raw, "/added_at", &row.added_us) || !time_at(root.raw, "/completed_at", &row.done_us) ||
        !time_at(root.raw, "/taken_at", &row.taken_us))
        return damaged(why, "one of its times is none");
    row.name = name.data;
    row.error = text_at(root.raw, "/error", &error) ? error.data : NULL;
    return s ? store_track_put(s, &row, why) : TL_OK;
}
