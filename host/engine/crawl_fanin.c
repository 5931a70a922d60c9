/* crawl_fanin.c - see crawl_fanin.h. */
#include "engine/crawl_fanin.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/legs.h"
#include "engine/sources.h"

/* ---- making a context ---- */

int crawl_context_week(const char *text, int64_t now_us, struct week *out) {
    if (strcmp(text, "last") != 0)
        return week_parse(span_of(text), out);
    *out = week_of(week_start(week_of(now_us)) - WEEK_US);
    return out->year >= 1 ? TL_OK : TL_INVALID;
}

static int digest(const char *path, struct sha256 *out, struct fail *why) {
    int64_t bytes;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    bool endless = fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode); /* /dev/zero has no checksum */
    if (endless)
        errno = EINVAL;
    if (fd >= 0 && !endless && hash_file(fd, out, &bytes) == TL_OK)
        return TL_OK;
    int rc = fail_errno(why, TL_FAILED, "cannot read %.500s", path);
    if (why)
        why->exit_code = EXIT_CONFIG;
    return rc;
}

int crawl_context_make(struct week week, const char *source, const char *topic, const char *const *code, size_t count,
                       int64_t now_us, struct buf *out, struct fail *why) {
    AUTO_FREE struct context_file *files = mem_alloc((count + 1) * sizeof *files);
    struct sha256 of_source, of_topic;
    int rc = digest(source, &of_source, why);
    if (!rc)
        rc = digest(topic, &of_topic, why);
    for (size_t i = 0; i < count && !rc; i++) {
        const char *slash = strrchr(code[i], '/');
        files[i].name = slash ? slash + 1 : code[i];
        rc = digest(code[i], &files[i].digest, why);
    }
    if (rc)
        return rc;
    struct sha256 of_code = context_code(files, count);
    context_write(out, week, &of_source, &of_topic, &of_code, now_us);
    return TL_OK;
}

/* ---- the context of a crawl ---- */

static int read_context(const struct crawl *c, int64_t now_us, struct context *out, struct fail *why) {
    AUTO_BUF struct buf text = BUF_INIT;
    struct week week;
    *out = (struct context){0};
    if (c->run_context)
        return context_read_file(c->run_context, out, why);
    if (!c->fanin.week)
        return TL_NOTFOUND;
    if (crawl_context_week(c->fanin.week, now_us, &week))
        return fail_exit(why, TL_INVALID, EXIT_CONFIG, "there is no week %s", c->fanin.week);
    int rc = crawl_context_make(week, c->fanin.sources, c->fanin.topic, c->fanin.code, c->fanin.code_count, now_us,
                                &text, why);
    return rc ? rc : context_read("of the crawl", buf_span(&text), out, why);
}

static int other_window(void *ctx, const struct store_row *row) {
    (void)row;
    *(bool *)ctx = true;
    return 1;
}

/* A run_id does not cover its window, so that it must not name two. */
static int check_known(const struct context *k, struct store *s, struct fail *why) {
    char since[TIME_TEXT], until[TIME_TEXT];
    bool other = false;
    const struct store_value args[] = {store_text(k->run_id), store_text(context_time(k->since_us, since)),
                                       store_text(context_time(k->until_us, until))};
    int rc = store_query(s, "SELECT 1 FROM contexts WHERE run_id = $1 AND (since_at <> $2 OR until_at <> $3)", args,
                         COUNT_OF(args), other_window, &other, why);
    if (rc || !other)
        return rc;
    return fail_exit(why, TL_INVALID, EXIT_CONFIG,
                     "the catalog knows run %s with another window than %s to %s: `select * from contexts` shows it",
                     k->run_id, since, until);
}

int crawl_context(const struct crawl *c, struct store *s, int64_t now_us, struct buf *json, struct fail *why) {
    struct context k;
    int rc = read_context(c, now_us, &k, why);
    if (rc == TL_NOTFOUND)
        return TL_OK;
    if (!rc)
        rc = check_known(&k, s, why);
    if (!rc)
        buf_add(json, k.json.ptr, k.json.len);
    context_free(&k);
    return rc;
}

int crawl_context_same(const struct crawl *c, const char *began_with, struct fail *why) {
    struct context now, then = {0};
    if (!c->run_context) /* what the crawl makes itself is made once, in its beginning */
        return TL_OK;
    int rc = read_context(c, 0, &now, why);
    if (rc)
        return rc;
    if (began_with)
        rc = context_read("of the crawl", span_of(began_with), &then, why);
    if (!rc && (strcmp(now.run_id, then.run_id) != 0 || now.since_us != then.since_us || now.until_us != then.until_us))
        rc = fail_exit(why, TL_INVALID, EXIT_CONFIG,
                       "%s is run %s, but the crawl began as %s: give it that context again, or begin a new crawl",
                       c->run_context, now.run_id, then.run_id[0] ? then.run_id : "one without a run context");
    context_free(&now);
    context_free(&then);
    return rc;
}

int crawl_fanin_check(const struct crawl *c, struct fail *why) {
    struct context k;
    struct sources sources;
    int rc = read_context(c, 0, &k, why);
    if (rc && rc != TL_NOTFOUND)
        return rc;
    context_free(&k);
    if (!c->fanin.sources)
        return TL_OK;
    rc = sources_read(c->fanin.sources, &sources, why);
    sources_free(&sources);
    return rc;
}

/* ---- the merge at its end ---- */

struct paths {
    char **path;
    size_t count, room;
};

static int each_path(void *ctx, const struct store_row *row) {
    struct paths *p = ctx;
    MEM_GROW(p->path, p->count, p->room);
    p->path[p->count++] = mem_text_n(row->value[0].text.ptr, row->value[0].text.len);
    return 0;
}

static int add_documents(struct fanin *f, struct store *s, struct lake *lake, const char *root_id, struct fail *why) {
    struct paths p = {0};
    const struct store_value root = store_text(root_id);
    int rc = store_query(s,
                         "SELECT DISTINCT d.path FROM documents d JOIN datasets t ON t.result_id = d.result_id "
                         "WHERE d.root_id = $1 AND t.name = '" LEGS_DATASET "' ORDER BY d.path",
                         &root, 1, each_path, &p, why);
    for (size_t i = 0; i < p.count; i++) {
        AUTO_BUF struct buf text = {.max = LEGS_FILE_MAX};
        if (!rc)
            rc = lake_read(lake, p.path[i], &text, why);
        if (!rc)
            legs_add_text(f, p.path[i], buf_span(&text), lake);
        free(p.path[i]);
    }
    free(p.path);
    return rc;
}

int crawl_fanin_end(struct fanin *f, const struct context *context, const char *folder, int64_t now_us,
                    struct fail *why) {
    bool done = fanin_merge(f, now_us);
    const char *const *warning;
    size_t warnings = fanin_warnings(f, &warning);
    for (size_t i = 0; i < warnings; i++)
        log_warn("%s", warning[i]);
    int rc = fanin_publish(f, folder, why);
    if (rc)
        return rc;
    if (!done)
        return fail_exit(why, TL_FAILED, EXIT_ROOT, "nothing was merged: %s; %s/diagnostics-%s.json tells all",
                         fanin_closed(f), folder, context->run_id);
    struct fanin_sums sums = fanin_sums(f);
    log_ending(EXIT_DONE, "%s: %zu articles of %zu sources, %zu repositories of %zu shards, %zu warnings in %s",
               context->run_id, sums.articles, sums.sources, sums.repositories, sums.shards, warnings, folder);
    return TL_OK;
}

int crawl_fanin(const struct crawl *c, struct store *s, struct lake *lake, const char *root_id, const char *context,
                int64_t now_us, struct fail *why) {
    struct sources sources = {0};
    struct context k;
    if (!context)
        return fail_exit(why, TL_INVALID, EXIT_CONFIG, "crawl %s began without a run context, so it cannot be merged",
                         root_id);
    int rc = context_read("of the crawl", span_of(context), &k, why);
    if (!rc)
        rc = sources_read(c->fanin.sources, &sources, why);
    if (!rc) {
        struct fanin_plan plan = sources_plan(&sources);
        struct fanin *f = fanin_new(&k, &plan);
        rc = add_documents(f, s, lake, root_id, why);
        if (!rc)
            rc = crawl_fanin_end(f, &k, c->fanin.out, now_us, why);
        fanin_free(f);
    }
    sources_free(&sources);
    context_free(&k);
    return rc;
}
