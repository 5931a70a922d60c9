/* targets.c - see targets.h: which targets there are, and when they are due. Promotions: targets_promote.c. */
#include "engine/targets.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/times.h"
#include "engine/config_schema.h"
#include "net/url.h"

enum { TARGETS_MAX = 100000 };

/* ---- the list */

bool targets_is_id(const char *text) {
    return schema_is_name(text);
}

const struct targets_entry *targets_find(const struct targets *t, const char *id) {
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->entry[i].t.crawl.name, id) == 0)
            return &t->entry[i];
    return NULL;
}

static void add(struct targets *t, const struct targets_entry *e) {
    MEM_GROW(t->entry, t->count, t->room);
    t->entry[t->count++] = *e;
}

static void free_entry(struct targets_entry *e) {
    config_target_free(&e->t);
    free(e->yaml);
    free(e->what);
    free(e->reaction);
}

static void take_file(const char *path, void (*problem)(const char *text), struct targets *out) {
    struct targets_entry e = {0};
    struct fail why = FAIL_INIT;
    int rc = config_target(path, &e.t, &why);
    const struct targets_entry *other = rc ? NULL : targets_find(out, e.t.crawl.name);
    if (other)
        rc = fail_exit(&why, TL_INVALID, EXIT_CONFIG, "%s: the target '%s' is in %s already: give one another id", path,
                       e.t.crawl.name, other->t.crawl.file);
    if (!rc) {
        add(out, &e);
        return;
    }
    out->broken++;
    problem(why.text);
    if (other)
        free_entry(&e);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_id(const void *a, const void *b) {
    return strcmp(((const struct targets_entry *)a)->t.crawl.name, ((const struct targets_entry *)b)->t.crawl.name);
}

static int read_folder(const char *folder, bool must, void (*problem)(const char *text), struct targets *out,
                       struct fail *why) {
    DIR *d = opendir(folder);
    char **names = NULL;
    size_t count = 0, room = 0;
    if (!d && errno == ENOENT && !must)
        return TL_OK;
    if (!d) {
        fail_errno(why, TL_INVALID, "targets.folder: cannot read the folder %s", folder);
        why->exit_code = EXIT_CONFIG;
        return TL_INVALID;
    }
    for (struct dirent *e; (e = readdir(d)) != NULL && count < TARGETS_MAX;) {
        size_t n = strlen(e->d_name);
        if (e->d_name[0] == '.' || n <= 4 || strcmp(e->d_name + n - 4, ".yml") != 0)
            continue;
        MEM_GROW(names, count, room);
        names[count++] = mem_text(e->d_name);
    }
    closedir(d);
    if (count)
        qsort(names, count, sizeof *names, by_text);
    for (size_t i = 0; i < count; i++) {
        AUTO_BUF struct buf path = BUF_INIT;
        buf_printf(&path, "%s/%s", folder, names[i]);
        take_file(path.data, problem, out);
        free(names[i]);
    }
    free(names);
    return TL_OK;
}

struct adding {
    struct targets *out;
    void (*problem)(const char *text);
};

static int add_promoted(void *ctx, const struct store_promotion *p) {
    const struct adding *x = ctx;
    struct targets_entry e = {.from_run = p->run, .promoted_us = p->at_us};
    struct fail why = FAIL_INIT;
    AUTO_BUF struct buf name = BUF_INIT;
    if (targets_find(x->out, p->id) || x->out->count == TARGETS_MAX)
        return TL_OK;
    buf_printf(&name, "target %s", p->id);
    if (config_target_text(name.data, span_of(p->yaml), &e.t, &why)) {
        x->out->broken++;
        x->problem(why.text);
        return TL_OK;
    }
    e.t.crawl.found = p->reaction != NULL; /* what a page says must not open what is private */
    e.yaml = mem_text(p->yaml);
    e.what = mem_text(p->what);
    e.reaction = mem_text(p->reaction);
    add(x->out, &e);
    return TL_OK;
}

void targets_folder(const struct config *c, struct buf *out) {
    if (c->targets.folder)
        buf_text(out, c->targets.folder);
    else
        buf_printf(out, "%s/targets", c->folder[1] ? c->folder : "");
}

void targets_strays(const struct config *c, void (*tell)(const char *path)) {
    AUTO_BUF struct buf folder = BUF_INIT;
    targets_folder(c, &folder);
    DIR *d = opendir(folder.data);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        size_t n = strlen(e->d_name);
        AUTO_BUF struct buf path = BUF_INIT;
        if (e->d_name[0] == '.' || n <= 5 || strcmp(e->d_name + n - 5, ".yaml") != 0)
            continue;
        buf_printf(&path, "%s/%s", folder.data, e->d_name);
        tell(path.data);
    }
    if (d)
        closedir(d);
}

int targets_load(const struct config *c, struct store *s, void (*problem)(const char *text), struct targets *out,
                 struct fail *why) {
    AUTO_BUF struct buf folder = BUF_INIT;
    *out = (struct targets){0};
    targets_folder(c, &folder);
    struct adding x = {out, problem};
    int rc = read_folder(folder.data, c->targets.folder != NULL, problem, out, why);
    if (!rc && s)
        rc = store_promotions(s, add_promoted, &x, why);
    if (out->count)
        qsort(out->entry, out->count, sizeof *out->entry, by_id);
    if (rc)
        targets_free(out);
    return rc;
}

void targets_free(struct targets *t) {
    for (size_t i = 0; i < t->count; i++)
        free_entry(&t->entry[i]);
    free(t->entry);
    *t = (struct targets){0};
}

/* ---- when */

/* The points of the schedule are `due_us` of the last turn and every so long after it, so that a turn that begins late
 * moves none. The last of them that has passed at `us`: what a turn at that time is for. */
static int64_t point_before(const struct store_turn *turn, int64_t every_us, int64_t us) {
    if (!turn->due_us || every_us == INT64_MAX || us < turn->due_us)
        return us;
    return us - (us - turn->due_us) % every_us;
}

int targets_due(struct store *s, const struct targets_entry *e, int64_t now_us, struct targets_due *out) {
    struct store_crawl crawl;
    struct store_turn turn = {0};
    *out = (struct targets_due){.point_us = now_us};
    int rc = store_crawl_by_name(s, e->t.crawl.name, false, &crawl);
    if (rc && rc != TL_NOTFOUND)
        return rc;
    bool any = rc == TL_OK;
    out->open = any && !crawl.closed;
    rc = store_target_turn(s, e->t.crawl.name, &turn);
    if (rc && rc != TL_NOTFOUND)
        return rc;
    if (rc && any)
        turn = (struct store_turn){.at_us = crawl.started_us, .due_us = crawl.started_us};
    out->last_us = turn.at_us;
    bool promoted_since = e->promoted_us > out->last_us && e->promoted_us <= now_us; /* not by a clock that was ahead */
    if (!out->last_us || promoted_since)
        return TL_OK;
    out->point_us = point_before(&turn, e->t.every_us, now_us);
    if (out->open)
        return TL_OK;
    bool never = e->t.every_us == INT64_MAX || e->t.every_us > TIME_MAX_US - turn.due_us; /* or after all times */
    out->next_us = never ? INT64_MAX : turn.due_us + e->t.every_us;
    if (out->next_us != INT64_MAX && out->next_us - now_us > e->t.every_us)
        *out = (struct targets_due){.last_us = turn.at_us, .point_us = now_us}; /* the clock was set back */
    return TL_OK;
}

/* ---- what is watched */

/* Does this URL lead to what the candidate is? */
static bool begins_at(struct tl_span url, enum store_kind kind, const char *text) {
    AUTO_BUF struct buf own = BUF_INIT, where = BUF_INIT;
    return discovery_candidate(kind, url, &own, &where) && strcmp(own.data, text) == 0;
}

static bool watches(const struct target *t, enum store_kind kind, const char *text) {
    if (strcmp(t->crawl.target, text) == 0)
        return true;
    if (kind != STORE_A_HOST && kind != STORE_A_URL)
        return false;
    if (t->crawl.url && begins_at(span_of(t->crawl.url), kind, text))
        return true;
    for (size_t i = 0; i < t->crawl.line_count; i++) {
        AUTO_BUF struct buf url = BUF_INIT;
        struct tl_json args, value;
        if (t->crawl.line[i].args.len && json_parse(t->crawl.line[i].args, &args) == TL_OK &&
            json_get(&args, "url", &value) == TL_OK && json_text(&value, &url) == TL_OK &&
            begins_at(buf_span(&url), kind, text))
            return true;
    }
    return false;
}

const char *targets_watching(const struct targets *t, enum store_kind kind, const char *text) {
    for (size_t i = 0; i < t->count; i++)
        if (watches(&t->entry[i].t, kind, text))
            return t->entry[i].t.crawl.name;
    return NULL;
}
