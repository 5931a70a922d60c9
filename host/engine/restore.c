/* restore.c - see restore.h.
 *
 * A manifest says which refs there were and which bundle has what they lead to; a bundle may build on an earlier one.
 * The repository is made beside its place, from the oldest bundle to the newest, given exactly the refs of the
 * manifest, checked, and only then moved there. Git gets no configuration but ours. */
#include "engine/restore.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/restore_lfs.h"
#include "lake/lake_backup.h"
#include "lake/lake_inside.h"

enum { CHAIN_MOST = 10000, MANIFEST_MOST = 256 << 20 };

struct source {
    struct lake *l;
    const struct restore *r;
    char *server, *owner, *name;
    struct buf copies; /* below the lake: the folder of its copies */
    char date[LAKE_BACKUP_DATE];
    char oldest[LAKE_BACKUP_DATE]; /* of the copies that are too late, if there is none early enough */
    bool manifest;                 /* there is one of that date; else only a bundle */
    struct buf text;
    struct fail *why;
};

/* ---- names */

static int bad_name(struct source *s) {
    return fail_exit(s->why, TL_INVALID, EXIT_USAGE,
                     "'%.200s' names no repository: [SERVER/]OWNER/REPOSITORY, as in acme/rocket or "
                     "git.example.org/tools/knife",
                     s->r->name);
}

static int split(struct source *s) {
    const char *name = s->r->name, *last = strrchr(name, '/'), *first = strchr(name, '/');
    if (!last || last == name || !last[1] || strstr(name, "://"))
        return bad_name(s);
    bool server = first != last;
    if (server && first == name)
        return bad_name(s);
    s->server = server ? mem_text_n(name, (size_t)(first - name)) : mem_text("github.com");
    s->owner = server ? mem_text_n(first + 1, (size_t)(last - first - 1)) : mem_text_n(name, (size_t)(last - name));
    s->name = mem_text(last + 1);
    return *s->owner ? TL_OK : bad_name(s);
}

/* Appends to path the folder in it that is called so, whatever the case of its letters; false: there is none. */
static bool enter(struct source *s, struct buf *path, const char *wanted) {
    struct lake_names names;
    const char *found = NULL;
    AUTO_CLOSE int fd = openat(s->l->fd, path->data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || lake_list(fd, &names))
        return false;
    for (size_t i = 0; i < names.count; i++)
        if (names.folder[i] && strcasecmp(names.name[i], wanted) == 0 && (!found || strcmp(names.name[i], wanted) == 0))
            found = names.name[i];
    if (found)
        buf_printf(path, "/%s", found);
    lake_names_free(&names);
    return found != NULL;
}

/* The newest copy in that folder that is late enough: of those with a manifest, else of bundles. */
static bool newest_in(struct source *s, const char *folder, char date[LAKE_BACKUP_DATE], bool *manifest) {
    struct lake_names names;
    bool found = false;
    AUTO_CLOSE int fd = openat(s->l->fd, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || lake_list(fd, &names))
        return false;
    *manifest = false;
    for (int pass = 0; pass < 2 && !found; pass++)
        for (size_t i = 0; i < names.count; i++) { /* in the order of their dates */
            int64_t at;
            const char *kind = pass ? ".bundle" : ".refs";
            if (names.folder[i] || lake_backup_time(span_of(names.name[i]), &at) ||
                strcmp(names.name[i] + LAKE_BACKUP_DATE - 1, kind) != 0)
                continue;
            if (at > s->r->at_us) {
                if (!s->oldest[0] || strncmp(names.name[i], s->oldest, LAKE_BACKUP_DATE - 1) < 0)
                    memcpy(s->oldest, names.name[i], LAKE_BACKUP_DATE - 1);
                continue;
            }
            memcpy(date, names.name[i], LAKE_BACKUP_DATE - 1);
            date[LAKE_BACKUP_DATE - 1] = '\0';
            found = true;
            *manifest = pass == 0;
        }
    lake_names_free(&names);
    return found;
}

/* "127.0.0.1%3A8080" as people write it, and restore takes it. */
static void put_server(struct buf *out, const char *folder) {
    const char *port = strstr(folder, "%3A");
    buf_add(out, folder, port ? (size_t)(port - folder) : strlen(folder));
    if (port)
        buf_printf(out, ":%s", port + 3);
}

/* Servers of this shard, other than the one that was named or meant, that have such an owner with such a repository. */
static void find_in_shard(struct source *s, const char *shard, struct buf *out) {
    static const char any[] = "any";
    struct lake_names servers;
    AUTO_BUF struct buf path = BUF_INIT, folder = BUF_INIT;
    const struct lake_backup b = {.shard = shard + 6, .server = any, .owner = s->owner, .name = s->name};
    lake_backup_copies(&path, &b);
    buf_printf(&folder, LAKE_BACKUPS "/%s", shard);
    const char *below = path.data + folder.len + 1 + strlen(any); /* behind the server */
    AUTO_CLOSE int fd = openat(s->l->fd, folder.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || lake_list(fd, &servers))
        return;
    for (size_t i = 0; i < servers.count && out->len < 300; i++) {
        AUTO_BUF struct buf copies = BUF_INIT;
        buf_printf(&copies, "%s/%s%s", folder.data, servers.name[i], below);
        if (!servers.folder[i] || faccessat(s->l->fd, copies.data, F_OK, AT_SYMLINK_NOFOLLOW))
            continue;
        buf_text(out, out->len ? ", " : "");
        put_server(out, servers.name[i]);
        buf_printf(out, "/%s/%s", s->owner, s->name);
    }
    lake_names_free(&servers);
}

static int not_found(struct source *s, struct lake_names *shards) {
    AUTO_BUF struct buf other = BUF_INIT;
    if (s->oldest[0])
        return fail_exit(s->why, TL_NOTFOUND, EXIT_USAGE,
                         "the lake %.300s has no copy of %s/%s/%s that old: the oldest is of %s, give that --at or a "
                         "later one",
                         lake_path(s->l), s->server, s->owner, s->name, s->oldest);
    for (size_t i = 0; i < shards->count; i++)
        if (shards->folder[i] && strncmp(shards->name[i], "shard=", 6) == 0)
            find_in_shard(s, shards->name[i], &other);
    return fail_exit(s->why, TL_NOTFOUND, EXIT_USAGE,
                     "the lake %.300s has no copy of %s/%s/%s%s%s; `trotline track "
                     "status [SERVER/]OWNER` lists what it has",
                     lake_path(s->l), s->server, s->owner, s->name, other.len ? ", but one of " : "",
                     other.len ? other.data : "");
}

/* Shards may have been cut otherwise since: all are looked into, the newest copy counts. */
static int find(struct source *s) {
    struct lake_names shards = {0};
    AUTO_CLOSE int fd = openat(s->l->fd, LAKE_BACKUPS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 ? errno != ENOENT : lake_list(fd, &shards) != TL_OK)
        return lake_broken(s->why, "list", s->l, LAKE_BACKUPS);
    for (size_t i = 0; i < shards.count; i++) {
        AUTO_BUF struct buf path = BUF_INIT, copies = BUF_INIT;
        char date[LAKE_BACKUP_DATE];
        bool manifest;
        if (!shards.folder[i] || strncmp(shards.name[i], "shard=", 6) != 0)
            continue;
        const struct lake_backup b = {
            .shard = shards.name[i] + 6, .server = s->server, .owner = s->owner, .name = s->name};
        lake_backup_copies(&copies, &b);
        lake_backup_folder(&path, &b);
        const char *owner = strrchr(path.data, '/') + 1, *name = strrchr(copies.data, '/') + 1;
        AUTO_FREE char *wanted = mem_text(owner);
        path.len = (size_t)(owner - 1 - path.data);
        path.data[path.len] = '\0';
        if (!enter(s, &path, wanted) || !enter(s, &path, name) || !newest_in(s, path.data, date, &manifest) ||
            strcmp(date, s->date) <= 0)
            continue;
        buf_reset(&s->copies);
        buf_text(&s->copies, path.data);
        memcpy(s->date, date, sizeof date);
        s->manifest = manifest;
    }
    int rc = s->copies.len ? TL_OK : not_found(s, &shards);
    lake_names_free(&shards);
    return rc;
}

/* ---- git */

static int memory(struct tl_span text) {
    int fd = memfd_create("trotline", MFD_CLOEXEC);
    while (fd >= 0 && text.len) {
        ssize_t n = write(fd, text.ptr, text.len);
        if (n < 0 && errno != EINTR) {
            close(fd);
            return -1;
        }
        text.ptr += n > 0 ? n : 0;
        text.len -= n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

/* Without a shell; what it has to say is part of the failure. */
static int git(struct source *s, const char *attempt, const char *const *argv, struct tl_span input) {
    static const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                              "LC_ALL=C",
                                              "GIT_CONFIG_NOSYSTEM=1",
                                              "GIT_CONFIG_GLOBAL=/dev/null",
                                              "GIT_TERMINAL_PROMPT=0",
                                              "HOME=/nonexistent",
                                              "GIT_CONFIG_COUNT=3",
                                              "GIT_CONFIG_KEY_0=safe.directory",
                                              "GIT_CONFIG_VALUE_0=*",
                                              "GIT_CONFIG_KEY_1=core.hooksPath",
                                              "GIT_CONFIG_VALUE_1=/dev/null",
                                              "GIT_CONFIG_KEY_2=gc.auto",
                                              "GIT_CONFIG_VALUE_2=0",
                                              NULL};
    char said[600] = "";
    posix_spawn_file_actions_t files;
    pid_t pid;
    int status = 0;
    AUTO_CLOSE int in = memory(input);
    AUTO_CLOSE int err = memory((struct tl_span){"", 0});
    if (in < 0 || err < 0)
        return fail_errno(s->why, TL_FAILED, "cannot %s", attempt);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, err, 2);
    int rc =
        posix_spawnp(&pid, "git", &files, NULL, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)environment);
    posix_spawn_file_actions_destroy(&files);
    if (rc)
        return fail_set(s->why, TL_FAILED, "cannot %s: git could not be started: %s", attempt, strerrordesc_np(rc));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (status == 0)
        return TL_OK;
    ssize_t n = pread(err, said, sizeof said - 1, 0);
    for (ssize_t i = 0; i < n; i++)
        said[i] = (unsigned char)said[i] < ' ' ? ' ' : said[i];
    return fail_exit(s->why, TL_FAILED, EXIT_DAMAGED, "cannot %s: git says: %s", attempt, n > 0 ? said : "nothing");
}

/* ---- manifests */

static int read_manifest(struct source *s, const char *date) {
    AUTO_BUF struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%s.refs", s->copies.data, date);
    buf_reset(&s->text);
    s->text.max = MANIFEST_MOST;
    return lake_read(s->l, path.data, &s->text, s->why);
}

/* The value of "# KEY VALUE" up to a blank; false: there is none that is a date. */
static bool date_of(const struct buf *text, const char *key, char out[LAKE_BACKUP_DATE]) {
    int64_t at;
    const char *found = text->data ? strstr(text->data, key) : NULL;
    if (!found || lake_backup_time(span_of(found + strlen(key)), &at))
        return false;
    memcpy(out, found + strlen(key), LAKE_BACKUP_DATE - 1);
    out[LAKE_BACKUP_DATE - 1] = '\0';
    return true;
}

struct plan {
    char (*date)[LAKE_BACKUP_DATE]; /* of bundles, the newest first */
    size_t count, room;
    struct buf updates; /* for git update-ref */
    char *head;
    int64_t refs;
};

static void plan_refs(struct plan *p, const struct buf *text) {
    for (const char *line = text->data; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t len = strcspn(line, "\n"), oid = strspn(line, "0123456789abcdef");
        if (strncmp(line, "# head refs/", 12) == 0 && !p->head)
            p->head = mem_text_n(line + 7, len - 7);
        if ((oid != 40 && oid != 64) || line[oid] != ' ' || strncmp(line + oid + 1, "refs/", 5) != 0)
            continue;
        buf_printf(&p->updates, "create %.*s %.*s\n", (int)(len - oid - 1), line + oid + 1, (int)oid, line);
        p->refs++;
    }
}

/* From the manifest back to the full copy that its bundle builds on. */
static int plan(struct source *s, struct plan *p) {
    char date[LAKE_BACKUP_DATE], next[LAKE_BACKUP_DATE];
    memcpy(date, s->date, sizeof date);
    for (size_t n = 0; n < CHAIN_MOST; n++) {
        int rc = s->manifest ? read_manifest(s, date) : TL_OK;
        if (rc == TL_NOTFOUND && n > 0)
            break;
        if (rc)
            return rc;
        if (n == 0 && s->manifest)
            plan_refs(p, &s->text);
        if (n == 0 && s->manifest && !p->refs)
            return fail_exit(
                s->why, TL_NOTFOUND, EXIT_USAGE,
                "%s/%s had no refs any more at %s; what it had before is in its copies: give an earlier --at", s->owner,
                s->name, s->date);
        if (s->manifest && !date_of(&s->text, "\n# bundle ", date))
            break;
        MEM_GROW(p->date, p->count, p->room);
        memcpy(p->date[p->count++], date, sizeof date);
        if (!s->manifest || !date_of(&s->text, "\n# base ", next))
            return TL_OK;
        memcpy(date, next, sizeof date);
    }
    return fail_exit(s->why, TL_FAILED, EXIT_DAMAGED, "the manifest of %s in %s does not lead to a full copy", date,
                     s->copies.data);
}

/* ---- making it */

static int unbundle(struct source *s, const char *folder, const char *date, bool refs) {
    AUTO_BUF struct buf file = BUF_INIT;
    buf_printf(&file, "%s/%s/%s.bundle", lake_path(s->l), s->copies.data, date);
    const char *const objects[] = {"git", "-C", folder, "bundle", "unbundle", file.data, NULL};
    const char *const all[] = {"git", "-C",      folder,           "fetch", "--quiet", "--no-write-fetch-head",
                               "--",  file.data, "+refs/*:refs/*", NULL};
    return git(s, "unpack a bundle", refs ? all : objects, (struct tl_span){"", 0});
}

/* Bundles of SHA-256 say so in their heads; a repository is of one kind for ever. */
static bool is_sha256(struct source *s, const char *date) {
    static const char mark[] = "# v3 git bundle\n@object-format=sha256\n";
    char head[sizeof mark - 1];
    AUTO_BUF struct buf path = BUF_INIT;
    AUTO_CLOSE int fd = -1;
    buf_printf(&path, "%s/%s.bundle", s->copies.data, date);
    return lake_open_file(s->l, path.data, &fd, NULL) == TL_OK &&
           pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head && memcmp(head, mark, sizeof head) == 0;
}

static int build(struct source *s, const struct plan *p, const char *folder) {
    const char *const init[] = {
        "git",         "init",
        "--quiet",     "--bare",
        "--template=", is_sha256(s, p->date[p->count - 1]) ? "--object-format=sha256" : "--object-format=sha1",
        "--",          folder,
        NULL};
    const char *const head[] = {"git", "-C", folder, "symbolic-ref", "HEAD", p->head, NULL};
    const char *const update[] = {"git", "-C", folder, "update-ref", "--stdin", NULL};
    const char *const check[] = {"git",           "-C", folder, "fsck", "--connectivity-only", "--no-dangling",
                                 "--no-progress", NULL};
    const struct tl_span nothing = {"", 0};
    if (mkdir(folder, 0777) && errno != ENOENT && errno != EEXIST) { /* else git makes it, and those above */
        int reason = errno;
        fail_errno(s->why, TL_FAILED, "cannot make the folder %.300s", folder);
        s->why->exit_code = reason == ENOTDIR || reason == ENAMETOOLONG ? EXIT_USAGE : EXIT_DISK;
        return TL_FAILED;
    }
    int rc = git(s, "make a repository", init, nothing);
    for (size_t i = p->count; i > 0 && !rc; i--)
        rc = unbundle(s, folder, p->date[i - 1], !s->manifest);
    if (!rc && s->manifest)
        rc = git(s, "set its refs", update, buf_span(&p->updates));
    if (!rc && p->head)
        rc = git(s, "set its HEAD", head, nothing);
    return rc ? rc : git(s, "check what was restored", check, nothing);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st;
    (void)at;
    return type == FTW_DP || type == FTW_D ? rmdir(path) : unlink(path);
}

static bool is_empty(int fd) {
    int own = dup(fd), entries = 0;
    DIR *listed = own < 0 ? NULL : fdopendir(own);
    while (listed && readdir(listed))
        entries++;
    if (listed)
        closedir(listed);
    return entries == 2; /* . and .. */
}

static bool is_free(const char *dir) {
    struct stat st;
    if (lstat(dir, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR; /* which making it tells */
    AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && is_empty(fd);
}

static int make(struct source *s, const struct plan *p, struct restored *out) {
    AUTO_BUF struct buf part = BUF_INIT;
    size_t len = strlen(s->r->dir);
    while (len > 1 && s->r->dir[len - 1] == '/')
        len--;
    buf_printf(&part, "%.*s.restoring-%d", (int)len, s->r->dir, (int)getpid());
    int rc = build(s, p, part.data);
    if (!rc)
        rc = restore_lfs(s->l, s->copies.data, s->r->at_us, part.data, &out->files, &out->lacking, s->why);
    if (!rc && rename(part.data, s->r->dir))
        rc = fail_errno(s->why, TL_FAILED, "cannot give %.300s its name", s->r->dir);
    if (rc)
        nftw(part.data, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return rc;
}

int restore_repository(struct lake *l, const struct restore *r, struct restored *out, struct fail *why) {
    struct source s = {.l = l, .r = r, .why = why};
    struct plan p = {0};
    int rc = split(&s);
    if (!rc)
        rc = find(&s);
    if (!rc)
        rc = plan(&s, &p);
    if (!rc && !is_free(r->dir))
        rc = fail_exit(why, TL_INVALID, EXIT_USAGE, "%.300s is there and not empty; name a folder that is not", r->dir);
    if (!rc)
        rc = make(&s, &p, out);
    snprintf(out->date, sizeof out->date, "%s", s.date);
    out->refs = p.refs;
    out->bundles = (int64_t)p.count;
    free(s.server);
    free(s.owner);
    free(s.name);
    buf_free(&s.copies);
    buf_free(&s.text);
    buf_free(&p.updates);
    free(p.head);
    free(p.date);
    return rc;
}
