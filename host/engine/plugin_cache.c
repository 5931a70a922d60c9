/* plugin_cache.c - see plugin_cache.h. */
#include "engine/plugin_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/times.h"
#include "engine/plugin_json.h"
#include "engine/version.h"

enum { FILE_MAX = 1 << 30 };
static const int64_t settled_us =
    2000000; /* a file that changed this recently may change again within one tick of its clock */

/* What an entry says about who wrote it: another version may describe the same file otherwise. */
static void maker(char out[80]) {
    snprintf(out, 80, "%s %u.%u", TROTLINE_VERSION, TL_ABI_MAJOR, TL_ABI_MINOR);
}

static int enter(int at, const char *name) {
    mkdirat(at, name, 0700);
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* A folder that others can write could tell lies about plugins. */
static bool ours(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

void plugin_cache_open(struct plugin_cache *c) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char path[PATH_MAX];
    c->folder = -1;
    int n = cache && *cache == '/' ? snprintf(path, sizeof path, "%s", cache)
            : home && *home == '/' ? snprintf(path, sizeof path, "%s/.cache", home)
                                   : -1;
    if (n < 0 || (size_t)n >= sizeof path)
        return;
    AUTO_CLOSE int top = enter(AT_FDCWD, path);
    AUTO_CLOSE int own = top < 0 ? -1 : enter(top, "trotline");
    int plugins = own < 0 ? -1 : enter(own, "plugins");
    AUTO_CLOSE int index = plugins < 0 ? -1 : enter(plugins, "index");
    if (index >= 0 && ours(own) && ours(plugins) && ours(index))
        c->folder = plugins;
    else if (plugins >= 0)
        close(plugins);
}

void plugin_cache_close(struct plugin_cache *c) {
    if (c->folder >= 0)
        close(c->folder);
    c->folder = -1;
}

/* ---- entries */

static int read_entry(const struct plugin_cache *c, const char *name, struct buf *out) {
    struct stat st;
    if (c->folder < 0)
        return TL_NOTFOUND;
    AUTO_CLOSE int fd = openat(c->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || !ours(fd) || st.st_size <= 0 ||
        st.st_size > PLUGIN_JSON_MAX || !buf_reserve(out, (size_t)st.st_size))
        return TL_NOTFOUND;
    while (out->len < (size_t)st.st_size) {
        ssize_t n = read(fd, out->data + out->len, (size_t)st.st_size - out->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return TL_NOTFOUND;
        out->len += (size_t)n;
    }
    out->data[out->len] = '\0';
    return TL_OK;
}

/* Whole or not at all: written beside, then renamed. Not synced: a file that a power cut leaves broken is not believed.
 */
static void write_entry(const struct plugin_cache *c, const char *name, const struct buf *text) {
    char beside[160];
    if (c->folder < 0 || text->full)
        return;
    snprintf(beside, sizeof beside, "%s.%ld.tmp", name, (long)getpid());
    unlinkat(c->folder, beside, 0);
    int fd = openat(c->folder, beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return;
    bool good = write(fd, text->data, text->len) == (ssize_t)text->len;
    good = close(fd) == 0 && good;
    if (!good || renameat(c->folder, beside, c->folder, name))
        unlinkat(c->folder, beside, 0);
}

/* ---- by the bytes */

int plugin_cache_get(const struct plugin_cache *c, const char sha256[SHA256_HEX], struct plugin *out) {
    AUTO_BUF struct buf text = BUF_INIT;
    struct tl_json root, by, description;
    char name[SHA256_HEX + 8], us[80];
    snprintf(name, sizeof name, "%s.json", sha256);
    maker(us);
    AUTO_BUF struct buf said = BUF_INIT;
    if (read_entry(c, name, &text) || json_parse(buf_span(&text), &root) || json_get(&root, "by", &by) ||
        json_text(&by, &said) || !span_eq(buf_span(&said), us) || json_get(&root, "description", &description) ||
        plugin_read(description.raw, out))
        return TL_NOTFOUND;
    return TL_OK;
}

void plugin_cache_put(const struct plugin_cache *c, const char sha256[SHA256_HEX], const struct plugin *p) {
    AUTO_BUF struct buf text = BUF_INIT, description = BUF_INIT;
    char name[SHA256_HEX + 8], us[80];
    struct plugin bare = *p; /* where it lay does not belong to its bytes */
    bare.file = bare.shadowed_by = NULL;
    snprintf(name, sizeof name, "%s.json", sha256);
    maker(us);
    plugin_json(&description, &bare);
    struct json_writer w = JSON_WRITER(&text);
    json_object_begin(&w);
    json_member_string(&w, "by", us);
    json_member_raw(&w, "description", buf_span(&description));
    json_object_end(&w);
    write_entry(c, name, &text);
}

/* ---- by the path */

static void stamp(const struct stat *st, char out[160]) {
    snprintf(out, 160, "%llu:%llu %lld %lld.%09ld %lld.%09ld", (unsigned long long)st->st_dev,
             (unsigned long long)st->st_ino, (long long)st->st_size, (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec,
             (long long)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
}

bool plugin_cache_same(const struct stat *a, const struct stat *b) {
    char one[160], other[160];
    stamp(a, one);
    stamp(b, other);
    return strcmp(one, other) == 0;
}

static void index_name(const char *path, char out[80]) {
    struct sha256 sum = hash_sha256(path, strlen(path));
    char hex[SHA256_HEX];
    snprintf(out, 80, "index/%.32s.json", hash_hex(sum.byte, sizeof sum.byte, hex));
}

static bool text_is(const struct tl_json *object, const char *key, const char *want) {
    AUTO_BUF struct buf text = BUF_INIT;
    struct tl_json v;
    return json_get(object, key, &v) == TL_OK && json_text(&v, &text) == TL_OK && span_eq(buf_span(&text), want);
}

static int look_up(const struct plugin_cache *c, const char *path, const struct stat *st, char sha256[SHA256_HEX]) {
    AUTO_BUF struct buf text = BUF_INIT;
    struct tl_json root, sum;
    uint8_t bytes[SHA256_BYTES];
    char name[80], now[160];
    index_name(path, name);
    stamp(st, now);
    if (read_entry(c, name, &text) || json_parse(buf_span(&text), &root) || !text_is(&root, "path", path) ||
        !text_is(&root, "stamp", now) || json_get(&root, "sha256", &sum) || sum.raw.len != 2 * SHA256_BYTES + 2 ||
        hash_unhex((struct tl_span){sum.raw.ptr + 1, sum.raw.len - 2}, bytes, sizeof bytes))
        return TL_NOTFOUND;
    hash_hex(bytes, sizeof bytes, sha256);
    return TL_OK;
}

static void remember(const struct plugin_cache *c, const char *path, const struct stat *st, const char *sha256) {
    AUTO_BUF struct buf text = BUF_INIT;
    char name[80], now[160];
    int64_t changed = time_seconds_us(st->st_ctim.tv_sec) + st->st_ctim.tv_nsec / 1000;
    if (time_now_us() - changed < settled_us)
        return;
    index_name(path, name);
    stamp(st, now);
    struct json_writer w = JSON_WRITER(&text);
    json_object_begin(&w);
    json_member_string(&w, "path", path);
    json_member_string(&w, "stamp", now);
    json_member_string(&w, "sha256", sha256);
    json_object_end(&w);
    write_entry(c, name, &text);
}

int plugin_cache_sha256(const struct plugin_cache *c, const char *path, struct stat *st, char sha256[SHA256_HEX],
                        struct fail *why) {
    struct sha256 sum;
    struct stat after;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, st))
        return fail_errno(why, TL_INVALID, "it cannot be opened");
    if (!S_ISREG(st->st_mode) || st->st_size > FILE_MAX)
        return fail_set(why, TL_INVALID, "it is not a regular file of at most 1 GiB");
    if (look_up(c, path, st, sha256) == TL_OK)
        return TL_OK;
    if (hash_file(fd, &sum, NULL) || fstat(fd, &after))
        return fail_errno(why, TL_INVALID, "it cannot be read");
    hash_hex(sum.byte, sizeof sum.byte, sha256);
    if (plugin_cache_same(st, &after))
        remember(c, path, st, sha256);
    return TL_OK;
}

/* Descriptions that were neither written nor looked at since; a folder that is not ours is left alone. */
static int64_t prune_folder(int at, const char *name, int64_t before_us) {
    int fd = name ? openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) : dup(at);
    DIR *d = fd >= 0 && ours(fd) ? fdopendir(fd) : NULL;
    struct dirent *e;
    struct stat st;
    int64_t count = 0;
    if (!d) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    while ((e = readdir(d)) != NULL) {
        if (*e->d_name == '.' || fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
            continue;
        int64_t last = st.st_mtim.tv_sec > st.st_atim.tv_sec ? st.st_mtim.tv_sec : st.st_atim.tv_sec;
        count += time_seconds_us(last) < before_us && unlinkat(fd, e->d_name, 0) == 0;
    }
    closedir(d);
    return count;
}

int64_t plugin_cache_prune(int64_t before_us) {
    struct plugin_cache c;
    plugin_cache_open(&c);
    int64_t count =
        c.folder >= 0 ? prune_folder(c.folder, NULL, before_us) + prune_folder(c.folder, "index", before_us) : 0;
    plugin_cache_close(&c);
    return count;
}
