/* plugin.c - see plugin.h: which files are collectors, which of them are in force, and why the others are not. */
#include "engine/plugin.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "engine/plugin_cache.h"
#include "engine/plugin_child.h"
#include "engine/plugin_json.h"
#include "engine/version.h"

enum { FILES_MAX = 1024 }; /* in a folder */

/* A file that may become a plugin. */
struct candidate {
    char *file;
    size_t folder;  /* its number in the order of the search */
    struct stat st; /* when its bytes were read */
    struct plugin plugin;
    bool described;
    char *reason; /* why not; NULL: none yet */
};
struct scan {
    struct candidate *item;
    size_t count, room;
    struct plugin_cache cache;
};

static void refuse(struct candidate *c, const char *reason) {
    if (!c->reason)
        c->reason = mem_text(reason);
}

static void add_refusal(struct plugin_set *set, const char *file, const char *reason) {
    set->refused = mem_array(set->refused, set->refused_count + 1, sizeof *set->refused);
    set->refused[set->refused_count++] = (struct plugin_refusal){mem_text(file), mem_text(reason)};
}

static void add_plugin(struct plugin_set *set, const struct plugin *p) {
    set->plugin = mem_array(set->plugin, set->count + 1, sizeof *set->plugin);
    set->plugin[set->count++] = *p;
}

static void add_orchestrator(struct plugin_set *set) {
    struct plugin p = {.name = mem_text("orchestrator"),
                       .version = mem_text(TROTLINE_VERSION),
                       .summary = mem_text("puts out the lines of a crawl file"),
                       .abi_major = TL_ABI_MAJOR,
                       .abi_minor = TL_ABI_MINOR,
                       .can_collect = true};
    p.argument = mem_array(NULL, 1, sizeof *p.argument);
    p.argument[0] =
        (struct plugin_option){.name = mem_text("lines"),
                               .type = TL_JSON,
                               .help = mem_text("collectors, their arguments and leashes, as in the crawl file")};
    p.argument_count = 1;
    p.dataset = mem_array(NULL, 1, sizeof *p.dataset);
    p.dataset[0] = (struct plugin_dataset){
        .name = mem_text("lines"), .kind = TL_SIMPLE, .help = mem_text("what was put out, line by line")};
    p.dataset_count = 1;
    add_plugin(set, &p);
}

/* ---- finding the files */

static int by_name(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    return strcmp(x->file, y->file);
}

static bool is_module(const char *name) {
    size_t n = strlen(name);
    return n > 3 && name[0] != '.' && strcmp(name + n - 3, ".so") == 0;
}

/* A link to another .so of the same folder is a second name of the same collector, not a second collector. */
static void drop_links(struct scan *s, size_t from) {
    for (size_t i = from; i < s->count;) {
        struct stat link, self, other;
        bool second = lstat(s->item[i].file, &link) == 0 && S_ISLNK(link.st_mode) && stat(s->item[i].file, &self) == 0;
        bool known = false;
        for (size_t k = from; second && k < s->count && !known; k++)
            known = k != i && stat(s->item[k].file, &other) == 0 && other.st_dev == self.st_dev &&
                    other.st_ino == self.st_ino &&
                    (k < i || (lstat(s->item[k].file, &other) == 0 && !S_ISLNK(other.st_mode)));
        if (known) {
            free(s->item[i].file);
            memmove(&s->item[i], &s->item[i + 1], (s->count - i - 1) * sizeof *s->item);
            s->count--;
        } else
            i++;
    }
}

static void look_through(struct scan *s, struct plugin_set *set, const char *folder, size_t number) {
    char path[PATH_MAX];
    DIR *dir = realpath(folder, path) ? opendir(path) : NULL;
    if (!dir) {
        struct fail why = FAIL_INIT;
        if (errno == ENOENT)
            return;
        fail_errno(&why, TL_FAILED, "the plugin folder cannot be read");
        add_refusal(set, folder, why.text);
        return;
    }
    size_t from = s->count;
    for (const struct dirent *e; (e = readdir(dir));) {
        if (!is_module(e->d_name))
            continue;
        if (s->count - from == FILES_MAX) {
            add_refusal(set, folder, "it has more than 1024 plugins; the others were not looked at");
            break;
        }
        AUTO_BUF struct buf file = BUF_INIT;
        buf_printf(&file, "%s/%s", strcmp(path, "/") == 0 ? "" : path, e->d_name);
        MEM_GROW(s->item, s->count, s->room);
        s->item[s->count++] = (struct candidate){.file = buf_steal(&file), .folder = number};
    }
    closedir(dir);
    if (s->count > from) {
        qsort(s->item + from, s->count - from, sizeof *s->item, by_name);
        drop_links(s, from);
    }
}

/* ---- describing them */

static void know(struct candidate *c) {
    c->plugin.file = mem_text(c->file);
    c->described = true;
}

static void look_at(struct candidate *c, const struct plugin_cache *cache) {
    struct fail why = FAIL_INIT;
    char sha256[SHA256_HEX];
    if (loader_permitted(c->file, &why) || plugin_cache_sha256(cache, c->file, &c->st, sha256, &why)) {
        refuse(c, why.text);
        return;
    }
    if (plugin_cache_get(cache, sha256, &c->plugin) == TL_OK)
        know(c);
    memcpy(c->plugin.sha256, sha256, sizeof sha256);
}

static void take_answer(struct candidate *c, const struct plugin_child *child, const struct plugin_cache *cache) {
    struct fail why = FAIL_INIT;
    struct stat now;
    char sha256[SHA256_HEX];
    memcpy(sha256, c->plugin.sha256, sizeof sha256);
    if (plugin_child_answer(child, &c->plugin, &why)) {
        refuse(c, why.text);
        return;
    }
    know(c);
    memcpy(c->plugin.sha256, sha256, sizeof sha256);
    if (stat(c->file, &now) == 0 && plugin_cache_same(&c->st, &now))
        plugin_cache_put(cache, sha256, &c->plugin);
}

static void ask_children(struct scan *s) {
    struct plugin_child *child = mem_array(NULL, s->count + 1, sizeof *child);
    size_t *of = mem_array(NULL, s->count + 1, sizeof *of), n = 0;
    for (size_t i = 0; i < s->count; i++)
        if (!s->item[i].described && !s->item[i].reason) {
            child[n] = (struct plugin_child){.file = s->item[i].file};
            of[n++] = i;
        }
    plugin_child_run(child, n, PLUGIN_DEADLINE_MS);
    for (size_t i = 0; i < n; i++) {
        take_answer(&s->item[of[i]], &child[i], &s->cache);
        buf_free(&child[i].out);
    }
    free(child);
    free(of);
}

/* ---- which are in force */

/* Two of one name in one folder: nobody can say which was meant. */
static void refuse_doubles(struct scan *s) {
    for (size_t i = 0; i < s->count; i++) {
        struct candidate *a = &s->item[i], *b;
        for (size_t k = 0; a->described && k < s->count; k++) {
            b = &s->item[k];
            if (k == i || !b->described || a->folder != b->folder || strcmp(a->plugin.name, b->plugin.name) != 0)
                continue;
            AUTO_BUF struct buf reason = BUF_INIT;
            const char *base = strrchr(b->file, '/');
            /* without the other's full name, so that each file has one line of its own */
            buf_printf(&reason, "it is a second collector named %s in its folder, beside %.*s: remove one",
                       a->plugin.name, (int)strlen(base + 1) - 3, base + 1);
            refuse(a, reason.data);
            break;
        }
    }
    for (size_t i = 0; i < s->count; i++)
        if (s->item[i].reason && s->item[i].described) {
            plugin_free(&s->item[i].plugin);
            s->item[i].described = false;
        }
}

static void enlist(struct scan *s, struct plugin_set *set) {
    for (size_t i = 0; i < s->count; i++) {
        struct candidate *c = &s->item[i];
        if (c->described) {
            const struct plugin *first = plugin_find(set, c->plugin.name);
            c->plugin.shadowed_by = first ? mem_text(first->file) : NULL;
            add_plugin(set, &c->plugin);
        } else
            add_refusal(set, c->file, c->reason ? c->reason : "it did not describe itself");
        free(c->file);
        free(c->reason);
    }
}

/* Whether a folder was named before, perhaps by another name. */
static bool seen_before(const char *const *folders, size_t i) {
    struct stat a, b;
    if (stat(folders[i], &a))
        return false;
    for (size_t k = 0; k < i; k++)
        if (stat(folders[k], &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
            return true;
    return false;
}

void plugin_scan(struct plugin_set *set, const char *const *folders, size_t n) {
    struct scan s = {0};
    *set = (struct plugin_set){0};
    add_orchestrator(set);
    plugin_cache_open(&s.cache);
    for (size_t i = 0; i < n; i++)
        if (!seen_before(folders, i))
            look_through(&s, set, folders[i], i);
    for (size_t i = 0; i < s.count; i++)
        look_at(&s.item[i], &s.cache);
    ask_children(&s);
    refuse_doubles(&s);
    enlist(&s, set);
    free(s.item);
    plugin_cache_close(&s.cache);
}

void plugin_set_free(struct plugin_set *set) {
    for (size_t i = 0; i < set->count; i++)
        plugin_free(&set->plugin[i]);
    for (size_t i = 0; i < set->refused_count; i++) {
        free(set->refused[i].file);
        free(set->refused[i].reason);
    }
    free(set->plugin);
    free(set->refused);
    *set = (struct plugin_set){0};
}

const struct plugin *plugin_find(const struct plugin_set *set, const char *name) {
    for (size_t i = 0; i < set->count; i++)
        if (!set->plugin[i].shadowed_by && strcmp(set->plugin[i].name, name) == 0)
            return &set->plugin[i];
    return NULL;
}

/* ---- why not */

static const char *refusal_of(const struct plugin_set *set, const char *name, const char **file) {
    size_t n = strlen(name);
    for (size_t i = 0; i < set->refused_count; i++) {
        const char *base = strrchr(set->refused[i].file, '/');
        base = base ? base + 1 : set->refused[i].file;
        if (strncmp(base, name, n) == 0 && strcmp(base + n, ".so") == 0) {
            *file = set->refused[i].file;
            return set->refused[i].reason;
        }
    }
    return NULL;
}

int plugin_missing(const struct plugin_set *set, const char *name, const char *const *folders, size_t n,
                   struct fail *why) {
    const char *file, *reason = refusal_of(set, name, &file);
    if (reason)
        return fail_exit(why, TL_NOTFOUND, EXIT_PLUGIN, "collector %.64s cannot be used: %s: %s", name, file, reason);
    AUTO_BUF struct buf text = BUF_INIT;
    const char **known = mem_array(NULL, set->count + 1, sizeof *known);
    for (size_t i = 0; i < set->count; i++)
        known[i] = set->plugin[i].name;
    const char *near = yaml_nearest(name, known, set->count);
    free(known);
    buf_printf(&text, "there is no collector %.64s", name);
    if (near)
        buf_printf(&text, "; did you mean %s?", near);
    for (size_t i = 0; i < n; i++)
        buf_printf(&text, "%s %s", i ? "," : near ? " Looked in" : ": looked in", folders[i]);
    if (set->count <= 1) /* the built-in one */
        buf_text(&text, "; say where collectors are: `plugins: [FOLDER]` in trotline.yml or TROTLINE_PLUGINS");
    return fail_exit(why, TL_NOTFOUND, EXIT_PLUGIN, "%s", text.data);
}
