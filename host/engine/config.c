/* config.c - trotline.yml: where it is looked for, who may have written it, and what environment and flags change.
 *
 * Invariant: a file that merely lies in the working folder is not believed unless it belongs to the caller or root, for
 * it can load code; owner and text are those of one and the same open file. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "engine/config_schema.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0"
#endif
#ifndef TROTLINE_PLUGINDIR
#define TROTLINE_PLUGINDIR "/usr/local/lib/trotline/collectors"
#endif
#define USER_PLUGINS ".local/lib/trotline/collectors"

enum { ARENA_MAX = 128 << 20, FOLDERS_MAX = 200 };

/* ---- files ---- */

static int read_all(int fd, struct buf *out) {
    buf_reset(out);
    for (;;) {
        if (!buf_reserve(out, 16384))
            return TL_FAILED;
        ssize_t n = read(fd, out->data + out->len, 16384);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return TL_FAILED;
        out->len += (size_t)n;
        out->data[out->len] = '\0';
        if (n == 0 || out->len > YAML_TEXT_MAX) /* yaml_parse says that it is too long */
            return TL_OK;
    }
}

static int cannot_read(const char *path, struct fail *why) {
    int rc = fail_errno(why, TL_FAILED, "cannot read %.500s", path);
    if (why)
        why->exit_code = EXIT_CONFIG;
    return rc;
}

int config_read(const char *path, struct buf *out, struct fail *why) {
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    return fd < 0 || read_all(fd, out) ? cannot_read(path, why) : TL_OK;
}

static char *working_folder(void) {
    char *folder = getcwd(NULL, 0);
    return folder ? folder : mem_text("/");
}

/* Where relative paths of the file start. What is no regular file, such as a pipe, has no folder. */
static char *folder_of(const char *path, const char *working) {
    struct stat info;
    const char *slash = strrchr(path, '/');
    struct buf out = BUF_INIT;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return mem_text(working);
    if (path[0] != '/')
        buf_printf(&out, "%s/", working[1] ? working : "");
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    if (slash && slash >= path)
        buf_add(&out, path, slash == path ? 1 : (size_t)(slash - path));
    while (out.len > 1 && out.data[out.len - 1] == '/')
        out.data[--out.len] = '\0';
    return buf_steal(&out);
}

char *config_folder(const char *path) {
    AUTO_FREE char *working = working_folder();
    return folder_of(path, working);
}

static const char *home(void) {
    const char *path = getenv("HOME");
    if (path && path[0] == '/')
        return path;
    const struct passwd *user = getpwuid(geteuid());
    return user && user->pw_dir && user->pw_dir[0] == '/' ? user->pw_dir : NULL;
}

static const char *from_environment(const char *name) {
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

/* ---- the search ---- */

/* TL_NOTFOUND: not there, or in a folder that is closed to us. */
static int read_candidate(const char *path, bool must_be_ours, struct buf *out, struct fail *why) {
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat info;
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || (errno == EACCES && stat(path, &info) != 0)))
        return TL_NOTFOUND;
    if (fd < 0 || fstat(fd, &info) != 0)
        return cannot_read(path, why);
    if (!S_ISREG(info.st_mode))
        return fail_exit(why, TL_INVALID, EXIT_CONFIG, "cannot read %.500s: it is no file", path);
    if (must_be_ours && info.st_uid != 0 && info.st_uid != geteuid())
        return fail_exit(
            why, TL_REFUSED, EXIT_CONFIG,
            "trotline.yml in this folder belongs to another user (%lu) and could load code: if you trust it, say "
            "--config trotline.yml",
            (unsigned long)info.st_uid);
    return read_all(fd, out) ? cannot_read(path, why) : TL_OK;
}

/* The first that is there; *file NULL when none is. */
static int search(struct buf *text, char **file, struct fail *why) {
    AUTO_BUF struct buf user = BUF_INIT;
    if (home())
        buf_printf(&user, "%s/.config/trotline/trotline.yml", home());
    const char *const places[] = {"trotline.yml", user.data, "/etc/trotline/trotline.yml"};
    *file = NULL;
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        int rc = places[i] ? read_candidate(places[i], i == 0, text, why) : TL_NOTFOUND;
        if (rc == TL_OK)
            *file = mem_text(places[i]);
        if (rc != TL_NOTFOUND)
            return rc;
    }
    return TL_OK;
}

/* ---- paths ---- */

static const char *join(struct arena *a, const char *folder, const char *path) {
    AUTO_BUF struct buf out = BUF_INIT;
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    if (path[0] != '/')
        buf_printf(&out, "%s/", folder[1] ? folder : "");
    buf_text(&out, strcmp(path, ".") == 0 ? "" : path);
    while (out.len > 1 && out.data[out.len - 1] == '/')
        out.data[--out.len] = '\0';
    return arena_text(a, out.data, out.len);
}

const char *config_path(struct schema_reader *r, const struct yaml_node *at, const char *path) {
    return join(r->arena, at && at->line == 0 ? r->working : r->folder, path);
}

/* A path or URL: --set beats the environment, which beats the file, which beats the default that stands in *at. */
static int place(struct schema_reader *r, const struct yaml_node *root, const char *key, const char *variable,
                 const char **at) {
    const struct yaml_node *n = yaml_get(root, key);
    const char *given = n && n->line == 0 ? NULL : from_environment(variable);
    const char *text = given ? given : *at;
    if (strstr(text, "://"))
        *at = arena_text(r->arena, text, strlen(text));
    else
        *at = given ? join(r->arena, r->working, text) : config_path(r, n, text);
    return *at ? TL_OK : schema_no_memory(r, n);
}

static void add_folder(struct arena *a, const char **list, size_t *count, const char *folder, const char *path) {
    const char *text = *path && *count < FOLDERS_MAX ? join(a, folder, path) : NULL;
    for (size_t i = 0; text && i < *count; i++)
        if (strcmp(list[i], text) == 0)
            return;
    if (text)
        list[(*count)++] = text;
}

/* The environment's, the file's, the user's, the system's; each once. */
static int plugin_folders(struct schema_reader *r, const struct yaml_node *root, struct config *out) {
    const char **list = arena_alloc(r->arena, (FOLDERS_MAX + 1) * sizeof *list);
    const struct yaml_node *given = yaml_get(root, "plugins");
    const char *more = from_environment("TROTLINE_PLUGINS");
    size_t count = 0;
    if (!list)
        return schema_no_memory(r, NULL);
    while (more && *more) {
        size_t len = strcspn(more, ":");
        AUTO_FREE char *one = mem_text_n(more, len);
        add_folder(r->arena, list, &count, r->working, one);
        more += len + (more[len] == ':');
    }
    if (given)
        YAML_EACH(item, given)
    add_folder(r->arena, list, &count, item->line == 0 ? r->working : r->folder, item->text);
    if (home())
        add_folder(r->arena, list, &count, home(), USER_PLUGINS);
    add_folder(r->arena, list, &count, "/", TROTLINE_PLUGINDIR);
    list[count] = NULL;
    out->plugins = list;
    return TL_OK;
}

/* ---- loading ---- */

static int user_agent(struct schema_reader *r, struct config *out) {
    if (out->user_agent)
        return TL_OK;
    AUTO_BUF struct buf text = BUF_INIT;
    buf_printf(&text, "trotline/%s (+%s", PACKAGE_VERSION, PACKAGE_URL);
    if (out->from)
        buf_printf(&text, "; mailto:%s", out->from);
    buf_char(&text, ')');
    out->user_agent = arena_text(r->arena, text.data, text.len);
    return out->user_agent ? TL_OK : schema_no_memory(r, NULL);
}

/* The ranges that backups of owners have had from the beginning. */
static const struct config_shard usual_shards[] = {
    {"asia-east-1", 0x00, 0x55}, {"europe-west-1", 0x56, 0xAA}, {"us-central-1", 0xAB, 0xFF}};

static int fill(struct schema_reader *r, struct tl_span text, const char *const *set, size_t n, struct config *out) {
    static const struct yaml_node nothing = {.kind = YAML_MAP, .line = 1, .column = 1};
    struct yaml_node *root;
    int rc = yaml_parse(r->arena, out->file, text, &root, r->err);
    if (!rc)
        rc = config_set(r, set, n, &schema_config, &schema_crawl, &root);
    if (!rc && root && root->kind != YAML_MAP)
        rc = yaml_fail(r->err, root, "a configuration is a map of keys and values, such as lake: lake");
    if (!rc)
        rc = schema_read(r, &schema_config, root ? root : &nothing, out);
    if (!rc)
        rc = config_hosts(r, root ? root : &nothing, out);
    if (!rc)
        rc = place(r, root, "lake", "TROTLINE_LAKE", &out->lake);
    if (!rc)
        rc = place(r, root, "catalog", "TROTLINE_CATALOG", &out->catalog);
    if (!rc)
        rc = plugin_folders(r, root, out);
    if (!rc)
        rc = user_agent(r, out);
    if (!rc && !out->shard_count) {
        out->shard = usual_shards;
        out->shard_count = COUNT_OF(usual_shards);
    }
    return rc;
}

int config_text(const char *file, const char *folder, struct tl_span text, const char *const *set, size_t n,
                struct config *out, struct fail *why) {
    AUTO_FREE char *working = working_folder();
    struct yaml_error err = {0};
    memset(out, 0, sizeof *out);
    out->arena.max = ARENA_MAX;
    leash_init(&out->leash);
    out->file = file ? arena_text(&out->arena, file, strlen(file)) : NULL;
    out->folder = arena_text(&out->arena, folder, strlen(folder));
    struct schema_reader r = {.arena = &out->arena, .err = &err, .folder = out->folder, .working = working};
    int rc = fill(&r, text, set, n, out);
    if (!rc)
        return TL_OK;
    err.file = file;
    config_refuse(&err, set, n, rc, why);
    config_free(out);
    return rc;
}

int config_load(const char *path, const char *const *set, size_t set_count, struct config *out, struct fail *why) {
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *file = NULL;
    AUTO_FREE char *folder = NULL;
    AUTO_FREE char *working = working_folder();
    memset(out, 0, sizeof *out);
    if (!path)
        path = from_environment("TROTLINE_CONFIG");
    if (path)
        file = mem_text(path);
    int rc = path ? config_read(path, &text, why) : search(&text, &file, why);
    if (rc)
        return rc;
    folder = file ? folder_of(file, working) : mem_text(working);
    return config_text(file, folder, buf_span(&text), set, set_count, out, why);
}

void config_free(struct config *c) {
    leash_free(&c->leash);
    arena_free(&c->arena);
    memset(c, 0, sizeof *c);
}

const struct config_collector *config_collector(const struct config *c, const char *name) {
    for (size_t i = 0; i < c->collector_count; i++)
        if (strcmp(c->collector[i].name, name) == 0)
            return &c->collector[i];
    return NULL;
}
