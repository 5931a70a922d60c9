/* tree.c - what the tree of HEAD says of things that lie elsewhere, and that no bundle holds: submodules. They are
 * listed, never fetched: their URLs are text from outside. */
#include <stdlib.h>
#include <string.h>

#include "gitbackup.h"

enum { MODULES_MOST = 2000, OUT_MOST = 32 << 20 };

struct module {
    const char *name, *path, *url, *oid;
};
struct tree {
    struct mirror *m;
    struct module *module;
    size_t modules;
    bool has_modules;
};

/* "MODE TYPE OID\tPATH" */
static int take_entry(struct tree *t, struct tl_span line) {
    const char *tab = memchr(line.ptr, '\t', line.len);
    if (!tab)
        return TL_OK;
    struct tl_span path = {tab + 1, line.len - (size_t)(tab + 1 - line.ptr)};
    t->has_modules = t->has_modules || (path.len == 11 && memcmp(path.ptr, ".gitmodules", 11) == 0);
    const char *oid = line.ptr + 14; /* behind "160000 commit " */
    if (line.len < 15 || memcmp(line.ptr, "160000 commit ", 14) != 0 || oid > tab || t->modules == MODULES_MOST)
        return TL_OK;
    struct module *x = &t->module[t->modules++];
    x->oid = text_copy(t->m->run, (struct tl_span){oid, (size_t)(tab - oid)});
    x->path = text_copy(t->m->run, path);
    return x->oid && x->path ? TL_OK : tl_fail(t->m->run, TL_FAILED, "the run's memory is used up");
}

static int list(struct tree *t) {
    struct tl_run *run = t->m->run;
    const char *const argv[] = {"git", "-C", t->m->git, "ls-tree", "-r", "--full-tree", "HEAD", NULL};
    struct tl_program p;
    struct tl_span line;
    int status = 0;
    mirror_begin(t->m, argv, &p);
    p.max_output = 0;
    int rc = tl_process_start(run, &p);
    while (!rc && !(rc = tl_process_line(run, &line)))
        rc = take_entry(t, line);
    if (rc != TL_NOTFOUND)
        return rc;
    return tl_process_end(run, &status, NULL);
}

/* "submodule.NAME.path\nlib\0" */
static int read_modules(struct tree *t) {
    struct tl_run *run = t->m->run;
    const char *const argv[] = {"git",    "-C",     t->m->git, "config", "--blob", "HEAD:.gitmodules",
                                "--null", "--list", NULL};
    struct tl_span out = {0};
    struct module *said = tl_alloc(run, MODULES_MOST * sizeof *said);
    size_t n = 0;
    int rc = mirror_git(t->m, argv, OUT_MOST, &out);
    if (rc || !said)
        return rc == TL_NOTFOUND ? TL_OK
                                 : rc; /* a .gitmodules that git cannot read: what is linked is listed all the same */
    for (const char *at = out.ptr, *end = out.ptr + out.len; at < end;) {
        size_t len = strnlen(at, (size_t)(end - at));
        const char *value = memchr(at, '\n', len);
        const char *dot = value ? memrchr(at, '.', (size_t)(value - at)) : NULL;
        if (dot && dot > at + 10 && strncmp(at, "submodule.", 10) == 0) {
            const char *name = text_copy(run, (struct tl_span){at + 10, (size_t)(dot - at - 10)});
            size_t i = 0;
            while (name && i < n && strcmp(said[i].name, name) != 0)
                i++;
            if (name && i < MODULES_MOST) {
                n = i == n ? n + 1 : n;
                said[i].name = name;
                if (strncmp(dot, ".path\n", 6) == 0)
                    said[i].path = text_copy(run, (struct tl_span){value + 1, len - (size_t)(value + 1 - at)});
                else if (strncmp(dot, ".url\n", 5) == 0)
                    said[i].url = text_copy(run, (struct tl_span){value + 1, len - (size_t)(value + 1 - at)});
            }
        }
        at += len + 1;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < t->modules && said[i].path; k++)
            if (strcmp(said[i].path, t->module[k].path) == 0) {
                t->module[k].url = said[i].url;
                t->module[k].name = said[i].name;
            }
    return TL_OK;
}

static void quoted(struct text *t, const char *value) {
    text_word(t, value ? tl_json_quote(t->run, (struct tl_span){value, strlen(value)}) : "null");
}

static void put_modules(struct tree *t, struct outcome *o) {
    o->submodules = (struct text){.run = t->m->run};
    for (size_t i = 0; i < t->modules; i++) {
        text_word(&o->submodules, i ? ",{\"path\":" : "{\"path\":");
        quoted(&o->submodules, t->module[i].path);
        text_word(&o->submodules, ",\"url\":");
        quoted(&o->submodules, t->module[i].url);
        text_word(&o->submodules, ",\"oid\":");
        quoted(&o->submodules, t->module[i].oid);
        text_word(&o->submodules, "}");
    }
}

int tree_look(struct mirror *m, struct outcome *o) {
    struct tree t = {.m = m, .module = tl_alloc(m->run, MODULES_MOST * sizeof *t.module)};
    if (!t.module)
        return tl_fail(m->run, TL_FAILED, "the run's memory is used up");
    int rc = list(&t);
    if (!rc && t.modules && t.has_modules)
        rc = read_modules(&t);
    if (!rc)
        put_modules(&t, o);
    return rc;
}
