/* discover.c - documents are looked at for candidates, and for what is watched (discover_watch.c), by evaluating types
 * on their items as refine does.
 *
 * Invariant: who is killed at any point has marked no document whose candidates are not written; a document that is
 * looked at again writes the same rows again, so nothing counts twice. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "engine/discover_inside.h"
#include "engine/item_rows.h"

enum { HELD_MAX = 5000 };      /* finds that wait for their transaction */
enum { DOCUMENT_MAX = 10000 }; /* finds of one document by one type, or by links: a page must not fill the catalog */

struct find {
    int64_t run;
    enum store_kind kind;
    int64_t weight;
    const char *reaction;
    char *text, *url;
};
struct discovering {
    struct store *store;
    const struct discovery *d;
    int64_t now_us;
    struct discover_sums *sums;
    struct fail *why;
    int64_t *run; /* the documents that are looked at */
    size_t runs, room;
    struct find *held;
    size_t count, held_room;
    const struct types_type *type; /* whose rows come */
    char result[UUID_TEXT];        /* the document of the last row, and its run */
    int64_t result_run;
    int64_t of_run; /* finds of the document at hand */
    struct watching watching;
    bool again; /* documents that were looked at come again for runs that stand for their results */
    struct buf value, text, url;
};

/* ---- finds */

static void drop(struct discovering *x) {
    for (size_t i = 0; i < x->count; i++) {
        free(x->held[i].text);
        free(x->held[i].url);
    }
    x->count = 0;
}

static int write_held(struct discovering *x) {
    bool any = x->count || x->watching.count;
    int rc = any ? store_begin(x->store, x->why) : TL_OK;
    if (rc || !any)
        return rc;
    for (size_t i = 0; i < x->count && !rc; i++) {
        const struct find *f = &x->held[i];
        const struct store_find put = {.run = f->run,
                                       .weight = f->weight,
                                       .kind = f->kind,
                                       .text = f->text,
                                       .url = f->url,
                                       .reaction = f->reaction};
        rc = store_find_put(x->store, &put, x->now_us);
    }
    x->sums->finds += (int64_t)x->count;
    drop(x);
    if (!rc)
        rc = watching_write(&x->watching, x->store);
    if (rc)
        store_rollback(x->store);
    return rc ? fail_exit(x->why, rc, EXIT_INTERNAL, "candidates cannot be written to the catalog")
              : store_commit(x->store, x->why);
}

static bool held_already(const struct discovering *x, const struct find *f, const char *text) {
    for (size_t i = x->count, most = 1024; i-- > 0 && most-- > 0;) /* a page names the same again and again */
        if (x->held[i].run == f->run && x->held[i].kind == f->kind && x->held[i].reaction == f->reaction &&
            x->held[i].weight == f->weight && strcmp(x->held[i].text, text) == 0)
            return true;
    return false;
}

static void hold(struct discovering *x, int64_t run, const struct discovery_rule *rule, struct tl_span value,
                 const char *url) {
    struct find f = {.run = run, .kind = (enum store_kind)rule->as, .weight = rule->score, .reaction = rule->reaction};
    if (!discovery_candidate(f.kind, value, &x->text, &x->url) || !discovery_allows(x->d, x->text.data) ||
        held_already(x, &f, x->text.data) || x->of_run > DOCUMENT_MAX)
        return;
    if (++x->of_run > DOCUMENT_MAX) {
        log_warn("a document speaks of more than %d candidates: the others are left out", DOCUMENT_MAX);
        return;
    }
    f.text = mem_text(x->text.data);
    f.url = mem_text(x->url.len ? x->url.data : url);
    MEM_GROW(x->held, x->count, x->held_room);
    x->held[x->count++] = f;
}

/* ---- rows */

static void look_at(struct discovering *x, const struct discovery_rule *rule, const struct cell *cells) {
    struct tl_span value;
    if (rule->type != x->type || !discover_is_meant(rule, cells, &x->value))
        return;
    for (size_t i = 0; discover_cell(x->type, rule->column, cells, i, &x->value, &value); i++)
        hold(x, x->result_run, rule, value, NULL);
}

/* Whose row it is: its document is LAKE/.../RESULT_ID.json. */
static int find_run(struct discovering *x, const struct cell *cells) {
    const struct cell *path = &cells[TYPES_HEAD - 1];
    const size_t tail = UUID_TEXT - 1 + 5;
    if (path->null || path->text.len < tail)
        return TL_NOTFOUND;
    const char *id = path->text.ptr + path->text.len - tail;
    if (x->result_run && memcmp(x->result, id, UUID_TEXT - 1) == 0)
        return TL_OK;
    memcpy(x->result, id, UUID_TEXT - 1);
    x->result[UUID_TEXT - 1] = '\0';
    x->result_run = x->of_run = 0;
    watching_document(&x->watching);
    int rc = store_result_run(x->store, x->result, &x->result_run);
    return rc;
}

static int each_row(void *ctx, const struct cell *cells) {
    struct discovering *x = ctx;
    int rc = find_run(x, cells);
    if (rc == TL_NOTFOUND) /* another result took its place meanwhile */
        return TL_OK;
    if (rc)
        return rc;
    x->sums->rows++;
    for (size_t i = 0; !x->again && i < x->d->count_count; i++)
        look_at(x, &x->d->count[i], cells);
    for (size_t i = 0; !x->again && i < x->d->react_count; i++)
        look_at(x, &x->d->react[i].rule, cells);
    watching_row(&x->watching, x->d, x->type, x->again ? 0 : x->result_run, x->result_run, cells);
    return x->count + x->watching.count >= HELD_MAX ? write_held(x) : TL_OK;
}

static bool is_asked_for(const struct discovery *d, const struct types_type *t) {
    bool asked = false;
    for (size_t i = 0; i < d->count_count; i++)
        asked = asked || d->count[i].type == t;
    for (size_t i = 0; i < d->react_count; i++)
        asked = asked || d->react[i].rule.type == t;
    return asked || discover_watches(d, t);
}

static int look_at_types(struct discovering *x, struct lake *lake) {
    int rc = TL_OK;
    for (size_t i = 0; !rc && i < x->d->types.count; i++) {
        x->type = &x->d->types.type[i];
        x->result_run = 0;
        const struct item_rows_options o = {
            .store = x->store,
            .lake = lake,
            .which = {.undiscovered = !x->again, .reused = x->again, .collector = x->type->collector},
            .row = each_row,
            .ctx = x};
        if (x->again ? discover_watches(x->d, x->type) : is_asked_for(x->d, x->type))
            rc = item_rows_typed(&o, x->type, x->why);
    }
    return rc;
}

/* What a page says, that one target has fetched and another got as unchanged, the other says as well. */
static int look_again(struct discovering *x, struct lake *lake) {
    x->again = true;
    return x->watching.reuses ? look_at_types(x, lake) : TL_OK;
}

/* ---- links of entities */

struct linking {
    struct discovering *x;
    int64_t run;
};

static int each_link(void *ctx, const char *urn, const char *url) {
    const struct linking *l = ctx;
    for (size_t i = 0; i < l->x->d->count_count; i++) {
        const struct discovery_rule *rule = &l->x->d->count[i];
        if (rule->urn && discovery_matches(rule->urn, span_of(urn)))
            hold(l->x, l->run, rule, span_of(urn), url);
    }
    return TL_OK;
}

static int look_at_links(struct discovering *x) {
    bool asked = false;
    int rc = TL_OK;
    for (size_t i = 0; i < x->d->count_count; i++)
        asked = asked || x->d->count[i].urn;
    for (size_t i = 0; asked && !rc && i < x->runs; i++) {
        struct linking l = {x, x->run[i]};
        x->of_run = 0;
        rc = store_find_links(x->store, x->run[i], each_link, &l, x->why);
        if (!rc && x->count >= HELD_MAX)
            rc = write_held(x);
    }
    return rc;
}

/* ---- the whole */

static int add_run(void *ctx, const struct store_source *d) {
    struct discovering *x = ctx;
    MEM_GROW(x->run, x->runs, x->room);
    x->run[x->runs++] = d->run;
    return 0;
}

static int begin(struct discovering *x) {
    const struct store_selection due = {.undiscovered = true};
    int rc = store_begin(x->store, x->why);
    if (rc)
        return rc;
    rc = store_discovery_rules(x->store, x->d->sha256, x->why);
    if (rc) {
        store_rollback(x->store);
        return rc;
    }
    rc = store_commit(x->store, x->why);
    if (!rc)
        rc = store_sources(x->store, &due, add_run, x, x->why);
    return rc || !x->d->watch_count ? rc : store_reused(x->store, watching_reused, &x->watching, x->why);
}

static int mark(struct discovering *x) {
    int rc = store_begin(x->store, x->why);
    if (rc)
        return rc;
    for (size_t i = 0; i < x->runs && !rc; i++)
        rc = store_discovered_put(x->store, x->run[i]);
    if (!rc)
        rc = store_discovered_again(x->store);
    if (!rc)
        return store_commit(x->store, x->why);
    store_rollback(x->store);
    return fail_exit(x->why, rc, EXIT_INTERNAL, "what was looked at for candidates cannot be written to the catalog");
}

int discover(struct store *s, struct lake *lake, const struct discovery *d, int64_t now_us, struct discover_sums *sums,
             struct fail *why) {
    struct discovering x = {.store = s, .d = d, .now_us = now_us, .sums = sums, .why = why};
    *sums = (struct discover_sums){0};
    int rc = begin(&x);
    if (!rc)
        rc = look_at_types(&x, lake);
    if (!rc)
        rc = look_at_links(&x);
    if (!rc)
        rc = look_again(&x, lake);
    if (!rc)
        rc = write_held(&x);
    if (!rc)
        rc = watching_fold(s, why);
    if (!rc)
        rc = mark(&x);
    sums->documents = (int64_t)x.runs;
    drop(&x);
    free(x.held);
    free(x.run);
    watching_free(&x.watching);
    buf_free(&x.value);
    buf_free(&x.text);
    buf_free(&x.url);
    return rc > 0 ? TL_OK : rc;
}
