/* plan.c - see plan.h. */
#include "engine/plan.h"

#include <unistd.h>

#include "base/json_write.h"
#include "base/times.h"
#include "store/store.h"

struct plan {
    int64_t runs, lines; /* INT64_MAX: no bound */
    int64_t earlier, last_runs, last_bytes, last_documents;
    double last_seconds;
};

static int64_t add(int64_t a, int64_t b) {
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static int64_t times(int64_t a, int64_t b) {
    return a && b > INT64_MAX / a ? INT64_MAX : a * b;
}

/* A branch of this depth below the root: the line's run, and fan-out children at each level below it. */
static int64_t branch(const struct leash *l) {
    int64_t sum = 0, level = l->depth >= 1;
    for (int64_t d = 1; d <= l->depth && level < INT64_MAX; d++) {
        sum = add(sum, level);
        level = times(level, l->fanout);
    }
    return level == INT64_MAX ? INT64_MAX : sum;
}

static void bound(struct plan *p, const struct config *config, const struct crawl *crawl) {
    struct leash root;
    leash_init(&root);
    leash_copy(&root, &crawl->leash);
    leash_tighten(&root, &config->leash);
    p->lines = (int64_t)crawl->line_count;
    p->runs = 1;
    for (size_t i = 0; i < crawl->line_count; i++) {
        struct leash line;
        leash_copy(&line, &crawl->line[i].leash);
        leash_tighten(&line, &root);
        int64_t n = branch(&line);
        p->runs = add(p->runs, n < line.runs ? n : line.runs);
        leash_free(&line);
    }
    if (root.runs < p->runs)
        p->runs = root.runs;
    leash_free(&root);
}

static int read_earlier(void *ctx, const struct store_row *row) {
    struct plan *p = ctx;
    if (p->earlier++ == 0) {
        p->last_runs = row->value[0].number;
        p->last_documents = row->value[1].number;
        p->last_bytes = row->value[2].number;
        p->last_seconds = row->value[3].type == STORE_REAL ? row->value[3].real : (double)row->value[3].number;
    }
    return 0;
}

static void look_back(struct plan *p, const struct config *config, const struct crawl *crawl) {
    struct store *store;
    struct fail why = FAIL_INIT;
    const struct store_value name = store_text(crawl->name);
    if (access(config->catalog, R_OK) || store_open(config->catalog, STORE_READ, &store, &why))
        return;
    store_query(store,
                "SELECT runs, documents, bytes, (julianday(finished_at) - julianday(started_at)) * 86400.0 FROM crawls "
                "WHERE crawl = $1 AND finished_at IS NOT NULL ORDER BY started_at DESC",
                &name, 1, read_earlier, p, &why);
    store_close(store);
}

int plan_print(const struct config *config, const struct crawl *crawl, const struct plugin_set *plugins, int format,
               FILE *out) {
    struct plan p = {0};
    char size[TIME_TEXT], elapsed[TIME_TEXT];
    (void)plugins;
    bound(&p, config, crawl);
    look_back(&p, config, crawl);
    AUTO_BUF struct buf text = BUF_INIT;
    if (format != 0) {
        struct json_writer w = JSON_WRITER(&text);
        json_object_begin(&w);
        json_member_string(&w, "crawl", crawl->name);
        json_member_int(&w, "lines", p.lines);
        json_put_key(&w, "at_most_runs");
        p.runs == INT64_MAX ? json_put_null(&w) : json_put_int(&w, p.runs);
        json_member_int(&w, "earlier_crawls", p.earlier);
        if (p.earlier) {
            json_member_int(&w, "last_runs", p.last_runs);
            json_member_int(&w, "last_documents", p.last_documents);
            json_member_int(&w, "last_bytes", p.last_bytes);
            json_member_real(&w, "last_seconds", p.last_seconds);
        }
        json_object_end(&w);
        buf_char(&text, '\n');
    } else {
        AUTO_BUF struct buf leash = BUF_INIT;
        leash_words(&leash, &crawl->leash);
        buf_printf(&text, "crawl     %s\nlines     %lld\nleash     %s\n", crawl->name, (long long)p.lines, leash.data);
        if (p.runs == INT64_MAX)
            buf_lit(&text, "at most   no bound: set leash.runs\n");
        else
            buf_printf(&text, "at most   %lld runs, the root's own among them\n", (long long)p.runs);
        if (p.earlier) {
            time_size_text(p.last_bytes, size);
            time_duration_text((int64_t)(p.last_seconds * 1e6), elapsed);
            buf_printf(&text, "last time %lld runs, %lld documents, %s in %s (%lld earlier crawls)\n",
                       (long long)p.last_runs, (long long)p.last_documents, size, elapsed, (long long)p.earlier);
        }
    }
    fwrite(text.data, 1, text.len, out);
    return fflush(out) ? EXIT_DISK : EXIT_DONE;
}
