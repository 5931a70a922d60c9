/* super_backups.c - copies of repositories among what is committed.
 *
 * Several runs, and several crawls, may be at one repository at once. Whoever commits copies holds the lake's backups
 * from before the transaction until they are in their places; a run whose copy no longer fits by then (lake_backup.h)
 * is done again, and sees what the others have left. */
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/super_inside.h"
#include "lake/lake_backup.h"

int super_attachments(struct super *s, struct super_job *j,
                      int (*each)(struct super *s, void *ctx, const char *staged, const char *path), void *ctx) {
    AUTO_BUF struct buf list = BUF_INIT;
    struct tl_json root, item = {0}, field;
    int rc = TL_OK;
    buf_printf(&list, "[%s]", j->attachments.data ? j->attachments.data : "");
    if (json_parse(buf_span(&list), &root))
        return TL_OK;
    while (!rc && json_next(&root, &item) == TL_OK) {
        AUTO_BUF struct buf path = BUF_INIT, name = BUF_INIT, staged = BUF_INIT;
        char id[UUID_TEXT];
        if (json_get(&item, "path", &field) || json_text(&field, &path) || !path.len ||
            !lake_attachment_ok(path.data) || json_get(&item, "name", &field) || json_text(&field, &name))
            continue;
        lake_staged_attachment(&staged, uuid_text(&j->result_id, id), buf_span(&name));
        if (strlen(path.data) == path.len)
            rc = each(s, ctx, staged.data, path.data);
    }
    return rc;
}

static bool has_copies(const struct super_job *j) {
    return j->document && !j->again && j->attachments.len && strstr(j->attachments.data, "\"" LAKE_BACKUPS "/");
}

/* Objects and marks may be there already, and are the same then. */
static bool is_once(const char *path) {
    return lake_backup_is_copy(path, NULL) && strcmp(strrchr(path, '.'), LAKE_BACKUP_DROPPED) != 0;
}

/* taken: the paths of others in this group */
static int check(struct super *s, void *ctx, const char *staged, const char *path) {
    struct buf *taken = ctx;
    AUTO_BUF struct buf line = BUF_INIT;
    buf_printf(&line, "\n%s\n", path);
    if (!is_once(path))
        return TL_OK;
    if (!lake_backup_fits(s->lake, staged, path) || (taken->len && strstr(taken->data, line.data)))
        return TL_RETRY;
    return TL_OK;
}

static int take(struct super *s, void *ctx, const char *staged, const char *path) {
    (void)s;
    (void)staged;
    if (is_once(path))
        buf_printf(ctx, "\n%s\n", path);
    return TL_OK;
}

static int unstage(struct super *s, void *ctx, const char *staged, const char *path) {
    (void)ctx;
    (void)path;
    lake_unstage(s->lake, staged);
    return TL_OK;
}

int super_backups_hold(struct super *s) {
    AUTO_BUF struct buf taken = BUF_INIT;
    bool held = false;
    for (struct super_job *j = s->group; j; j = j->next) {
        if (!has_copies(j))
            continue;
        if (!held && lake_backup_hold(s->lake, &s->why))
            return s->why.status;
        held = true;
        if (super_attachments(s, j, check, &taken) == TL_OK) {
            super_attachments(s, j, take, &taken);
            continue;
        }
        char id[UUID_TEXT], name[64];
        log_info("run %s is done again: another has backed up the same meanwhile", uuid_text(&j->run_id, id));
        super_attachments(s, j, unstage, NULL);
        snprintf(name, sizeof name, "%s.part", uuid_text(&j->result_id, id));
        lake_unstage(s->lake, name);
        j->status = TL_RETRY;
        j->again = true;
    }
    return TL_OK;
}

void super_backups_release(struct super *s) {
    FAULT_POINT("marked");
    lake_backup_release(s->lake);
}
