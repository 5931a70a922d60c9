/* run_backup.c - copies of repositories: attachments of a run that have a place of their own in the lake.
 *
 * Where they lie is for the host to say (lake_backup.h); a collector names what it is a copy of. They are staged,
 * committed and published with the run's document, and read back from the lake, which alone says what is there. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/run.h"
#include "lake/lake_backup.h"

enum { NAME_MOST = 150, READ_MOST = 32 << 20 };

static int place_of(struct run *r, const struct tl_backup *b, struct lake_backup *out) {
    const char *const text[] = {b->server, b->owner, b->name, b->kind};
    if (!r->backend->shard)
        return run_fail(r, TL_UNSUPPORTED, "invalid", "backup: nothing can be backed up here");
    for (size_t i = 0; i < COUNT_OF(text); i++)
        if (!text[i] || !*text[i] || strlen(text[i]) > NAME_MOST)
            return run_fail(r, TL_INVALID, "invalid", "backup: server, owner, name and kind have 1 to %d bytes",
                            NAME_MOST);
    *out = (struct lake_backup){.shard = r->backend->shard(r, lake_backup_byte(b->owner)),
                                .server = b->server,
                                .owner = b->owner,
                                .name = b->name,
                                .kind = b->kind,
                                .at_us = b->at_us};
    return TL_OK;
}

static int write_bytes(struct run *r, int fd, struct tl_span bytes, const char *name) {
    while (bytes.len) {
        ssize_t n = write(fd, bytes.ptr, bytes.len);
        if (n < 0 && errno != EINTR)
            return run_fail(r, TL_FAILED, "disk", "cannot write the backup %s: %s", name, strerrordesc_np(errno));
        bytes.ptr += n > 0 ? n : 0;
        bytes.len -= n > 0 ? (size_t)n : 0;
    }
    return TL_OK;
}

/* An empty file says so for each date; publishing it removes the copy, when this one is committed. */
static int let_go(struct tl_run *pub, const struct lake_backup *place, struct tl_backup *b) {
    enum { MOST = 200 };
    struct run *r = run_of(pub);
    const struct lake_keep keep = {.last = b->last, .weekly = b->weekly, .monthly = b->monthly};
    char date[MOST][LAKE_BACKUP_DATE];
    AUTO_BUF struct buf copies = BUF_INIT, folder = BUF_INIT, path = BUF_INIT, name = BUF_INIT;
    lake_backup_copies(&copies, place);
    if (!r->backend->lake)
        return TL_OK;
    buf_printf(&folder, "%s/%s", r->backend->lake(r), copies.data);
    AUTO_CLOSE int fd = open(folder.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    size_t n = fd < 0 ? 0 : lake_backup_spare(fd, &keep, b->at_us, b->data, date, MOST);
    const char **gone = arena_alloc(&r->arena, (n + 1) * sizeof *gone);
    for (size_t i = 0; i < n && gone; i++) {
        int staged, rc;
        buf_reset(&name);
        buf_printf(&name, "dropped %s of %s", date[i], b->name);
        if ((rc = run_attach(pub, name.data, NULL, &staged)) ||
            (rc = run_seal(r, &r->attachment[r->attachment_count - 1])))
            return rc;
        buf_reset(&path);
        buf_printf(&path, "%s/%s" LAKE_BACKUP_DROPPED, copies.data, date[i]);
        r->attachment[r->attachment_count - 1].path = arena_text(&r->arena, path.data, path.len);
        path.len -= sizeof LAKE_BACKUP_DROPPED - 1;
        buf_lit(&path, ".bundle");
        gone[i] = arena_text(&r->arena, path.data, path.len);
        if (!gone[i] || !r->attachment[r->attachment_count - 1].path)
            return run_fail(r, TL_FAILED, "memory", "the run's memory is used up");
    }
    if (gone)
        b->dropped = (struct tl_list){.item = gone, .count = n};
    return gone ? TL_OK : run_fail(r, TL_FAILED, "memory", "the run's memory is used up");
}

/* An object of Git LFS is what its name says, or it is not kept. */
static int take_object(struct run *r, struct lake_backup *place, struct tl_backup *b) {
    AUTO_BUF struct buf path = BUF_INIT;
    char hex[SHA256_BYTES * 2 + 1] = "";
    int fd, rc = run_attached(r, b->attached, &fd);
    if (rc)
        return rc;
    struct run_attachment *a = &r->attachment[r->attachment_count - 1];
    rc = run_seal(r, a);
    if (!rc)
        hash_hex(a->sha256.byte, SHA256_BYTES, hex);
    if (!rc && strncmp(hex, b->sha256, sizeof hex) != 0) {
        run_unattach(r);
        return run_fail(r, TL_INVALID, "digest", "what was fetched as %.64s has the SHA-256 %s, and is not kept",
                        b->sha256, hex);
    }
    lake_backup_object(&path, place, hex);
    a->path = b->path = arena_text(&r->arena, path.data, path.len);
    b->bytes = a->bytes;
    return rc || a->path ? rc : run_fail(r, TL_FAILED, "memory", "the run's memory is used up");
}

int run_backup(struct tl_run *pub, struct tl_backup *given) {
    struct run *r = run_of(pub);
    struct tl_backup b = {0};
    struct lake_backup place;
    char name[NAME_MOST + 32];
    AUTO_BUF struct buf path = BUF_INIT;
    const size_t before = r->attachment_count;
    RUN_TAKE(b, given);
    int fd, rc = place_of(r, &b, &place);
    if (rc)
        return rc;
    if (strcmp(b.kind, "object") == 0 && b.attached) {
        rc = take_object(r, &place, &b);
        RUN_GIVE(given, b);
        return rc;
    }
    lake_backup_copy(&path, &place);
    if (!lake_backup_is_copy(path.data, NULL) || strcmp(b.kind, LAKE_BACKUP_DROPPED + 1) == 0)
        return run_fail(r, TL_INVALID, "invalid",
                        "backup: a kind is one of bundle, zip, error, refs, lfs, json, not %s", b.kind);
    snprintf(name, sizeof name, "%s of %s", b.kind, b.name);
    rc = b.cache_path ? run_attach_file(pub, name, b.media_type, b.cache_path)
                      : run_attach(pub, name, b.media_type, &fd);
    if (!rc && !b.cache_path)
        rc = write_bytes(r, fd, b.data, name);
    struct run_attachment *a = rc ? NULL : &r->attachment[r->attachment_count - 1];
    if (rc || (rc = run_seal(r, a))) {
        while (r->attachment_count > before)
            run_unattach(r); /* what was written of it takes no more room */
        return rc;
    }
    a->path = b.path = arena_text(&r->arena, path.data, path.len);
    if (!a->path)
        return run_fail(r, TL_FAILED, "memory", "the run's memory is used up");
    b.bytes = a->bytes;
    hash_hex(a->sha256.byte, SHA256_BYTES, b.sha256);
    rc = strcmp(b.kind, "refs") == 0 && (b.last > 0 || b.weekly > 0 || b.monthly > 0) ? let_go(pub, &place, &b) : TL_OK;
    RUN_GIVE(given, b);
    return rc;
}

/* In parts, for a file may be shorter than it says it is. */
static int read_whole(struct run *r, int fd, size_t most, struct tl_span *out) {
    char *text = arena_alloc(&r->arena, most + 1);
    size_t len = 0;
    for (ssize_t n = 1; text && n != 0 && len<most; len += n> 0 ? (size_t)n : 0)
        if ((n = read(fd, text + len, most - len)) < 0 && errno != EINTR)
            return run_fail(r, TL_FAILED, "disk", "cannot read a backup: %s", strerrordesc_np(errno));
    *out = (struct tl_span){text, len};
    return text ? TL_OK : run_fail(r, TL_FAILED, "memory", "the run's memory is used up");
}

int run_backup_read(struct tl_run *pub, const struct tl_backup *given, struct tl_span *out) {
    struct run *r = run_of(pub);
    struct tl_backup b = {0};
    struct lake_backup place;
    struct stat st;
    AUTO_BUF struct buf path = BUF_INIT;
    RUN_TAKE(b, given);
    int rc = place_of(r, &b, &place);
    if (rc)
        return rc;
    if (!r->backend->lake)
        return TL_NOTFOUND;
    buf_printf(&path, "%s/", r->backend->lake(r));
    lake_backup_newest(&path, &place);
    AUTO_CLOSE int fd = open(path.data, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return TL_NOTFOUND;
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > READ_MOST)
        return run_fail(r, TL_FAILED, "disk", "cannot read the backup %s: %s", path.data,
                        fd < 0 ? strerrordesc_np(errno) : "it is no file, or over 32 MiB");
    return read_whole(r, fd, (size_t)st.st_size, out);
}
