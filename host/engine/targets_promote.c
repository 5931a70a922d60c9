/* targets_promote.c - a candidate becomes a target: by hand, or by a reaction, which is on a leash. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/mem.h"
#include "base/times.h"
#include "engine/table_record.h"
#include "engine/targets.h"
#include "net/guard.h"
#include "net/url.h"

enum { ID_MOST = 48, SAME_MOST = 100, WANTED_MAX = 10000 };

/* ---- its id */

/* Small letters, digits, '.', '_'; everything else is one '-'. */
static void make_id(struct buf *out, const char *text) {
    const char *begin = strstr(text, "://");
    for (const char *at = begin ? begin + 3 : text; *at && out->len < ID_MOST; at++) {
        char c = *at >= 'A' && *at <= 'Z' ? (char)(*at + 32) : *at;
        bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (plain || ((c == '.' || c == '_') && out->len))
            buf_char(out, c);
        else if (out->len && out->data[out->len - 1] != '-')
            buf_char(out, '-');
    }
    while (out->len && strchr("-._", out->data[out->len - 1]))
        out->data[--out->len] = '\0';
    if (!out->len)
        buf_text(out, "target");
}

struct taken {
    const char *id;
    bool found;
};

static int compare_id(void *ctx, const struct store_promotion *p) {
    struct taken *t = ctx;
    t->found = t->found || strcmp(p->id, t->id) == 0;
    return TL_OK;
}

/* One that no other target has; a reaction, which nobody can ask for another, counts on. */
static int choose_id(struct store *s, const struct targets *known, const struct targets_promotion *p, struct buf *id,
                     struct fail *why) {
    AUTO_BUF struct buf stem = BUF_INIT;
    p->id ? buf_text(&stem, p->id) : make_id(&stem, p->text);
    for (int i = 1; i <= SAME_MOST; i++) {
        buf_reset(id);
        buf_text(id, stem.data);
        if (i > 1)
            buf_printf(id, "-%d", i);
        struct taken t = {.id = id->data, .found = targets_find(known, id->data) != NULL};
        int rc = store_promotions(s, compare_id, &t, why);
        if (rc || !t.found)
            return rc;
        if (!p->reaction)
            break;
    }
    return fail_exit(why, TL_INVALID, EXIT_USAGE, "there is a target '%s' already: give this one another id, --as NAME",
                     id->data);
}

/* ---- promoting */

static int may_react(struct store *s, const struct targets_promotion *p, struct fail *why) {
    bool ever = false;
    int64_t count = 0;
    int rc = store_promoted(s, p->kind, p->text, &ever, why);
    if (!rc)
        rc = store_reacted_since(s, p->now_us - 86400 * time_seconds_us(1), &count, why);
    if (rc)
        return rc;
    if (ever)
        return fail_set(why, TL_REFUSED, "%s '%s' was promoted before", store_kind_name[p->kind], p->text);
    return count < p->most ? TL_OK
                           : fail_set(why, TL_REFUSED, "reactions have promoted %lld in 24 hours (targets.promotions)",
                                      (long long)count);
}

/* Writes what the transaction at hand does to a promotion as a record, which is durable before its commit. */
static int keep_record(struct store *s, struct lake *l, const struct store_promotion *p, int64_t now_us,
                       struct table_record *r, struct fail *why) {
    struct store_source from;
    int rc = p->run ? store_source_get(s, p->run, &from, why) : TL_NOTFOUND;
    if (rc && rc != TL_NOTFOUND)
        return rc;
    const struct uuid run_id = rc ? (struct uuid){{0}} : from.run_id;
    bool known = rc == TL_OK;
    rc = table_record_open(l, "promote", now_us, r, why);
    if (rc)
        return rc;
    table_record_promoted(r, p, known ? &run_id : NULL);
    rc = table_record_close(r, l, why);
    return rc ? rc : store_table_put(s, &r->file.at, why);
}

static int end_with_record(struct store *s, struct lake *l, struct table_record *r, int rc, struct fail *why) {
    if (!rc && (rc = store_commit(s, why)) == TL_OK) {
        FAULT_POINT("promoted");
        return table_record_publish(r, l, why);
    }
    store_rollback(s);
    table_record_drop(r, l);
    return rc;
}

static int promote_inside(struct store *s, struct lake *l, const struct targets *known,
                          const struct targets_promotion *p, struct buf *id, struct table_record *r, struct fail *why) {
    AUTO_BUF struct buf yaml = BUF_INIT;
    int rc = p->reaction ? may_react(s, p, why) : TL_OK;
    if (!rc)
        rc = choose_id(s, known, p, id, why);
    const struct target_wish wish = {
        .id = id->data, .name = p->text, .url = p->url, .every = p->every, .template_file = p->template_file};
    if (!rc)
        rc = config_target_make(&wish, &yaml, why);
    const struct store_promotion put = {.uid = uuid_new(),
                                        .id = id->data,
                                        .kind = p->kind,
                                        .what = p->text,
                                        .yaml = yaml.data,
                                        .reaction = p->reaction,
                                        .run = p->run,
                                        .at_us = p->now_us};
    if (!rc)
        rc = store_promotion_put(s, &put, why);
    return rc ? rc : keep_record(s, l, &put, p->now_us, r, why);
}

int targets_promote(struct store *s, struct lake *l, const struct targets *known, const struct targets_promotion *p,
                    struct buf *id, struct fail *why) {
    struct table_record r = TABLE_RECORD_INIT;
    int rc = store_begin(s, why);
    if (rc)
        return rc;
    rc = promote_inside(s, l, known, p, id, &r, why);
    return end_with_record(s, l, &r, rc, why);
}

/* ---- taking back */

struct taking_back {
    struct store *s;
    struct lake *l;
    const char *id;
    int64_t now_us;
    struct table_record record;
    bool found;
    struct fail *why;
};

static int write_end(void *ctx, const struct store_promotion *p) {
    struct taking_back *x = ctx;
    struct store_promotion ended = *p;
    if (strcmp(p->id, x->id) != 0)
        return TL_OK;
    ended.removed_us = x->now_us;
    x->found = true;
    int rc = keep_record(x->s, x->l, &ended, x->now_us, &x->record, x->why);
    return rc ? rc : 1;
}

int targets_take_back(struct store *s, struct lake *l, const char *id, int64_t now_us, struct fail *why) {
    struct taking_back x = {s, l, id, now_us, TABLE_RECORD_INIT, false, why};
    int rc = store_begin(s, why);
    if (rc)
        return rc;
    rc = store_promotions(s, write_end, &x, why);
    if (!rc)
        rc = x.found ? store_promotion_end(s, id, now_us)
                     : fail_exit(why, TL_NOTFOUND, EXIT_USAGE, "the target '%s' was taken back meanwhile", id);
    if (rc && !why->status)
        fail_set(why, rc, "the target '%s' cannot be taken back in the catalog", id);
    return end_with_record(s, l, &x.record, rc, why);
}

/* ---- reactions */

struct wish {
    struct targets_promotion p;
    char *text, *url;
};
struct reacting {
    const struct config *c;
    const struct targets *known;
    const struct discovery *d;
    struct wish *wish;
    size_t count, room;
    int64_t unheard;
};

/* A page that names an address of the inside is not heard. */
static bool is_private(const struct config *c, const char *text) {
    AUTO_BUF struct buf href = BUF_INIT;
    struct url u;
    return text && !c->fetch.private_allowed && url_parse(&href, span_of(text), NULL, &u) == TL_OK &&
           guard_literal(u.host) != GUARD_PUBLIC;
}

static int add_wish(void *ctx, const struct store_candidate *c) {
    struct reacting *x = ctx;
    const struct discovery_reaction *by = NULL;
    for (size_t i = 0; i < x->d->react_count; i++)
        if (strcmp(x->d->react[i].name, c->reaction) == 0)
            by = &x->d->react[i];
    if (!by || c->score < by->score)
        return TL_OK;
    if (is_private(x->c, c->url) || targets_watching(x->known, c->kind, c->text))
        return TL_OK; /* before it is counted: those that never come to anything leave room for others */
    MEM_GROW(x->wish, x->count, x->room);
    struct wish *w = &x->wish[x->count++];
    *w = (struct wish){.text = mem_text(c->text), .url = mem_text(c->url)};
    w->p = (struct targets_promotion){.kind = c->kind,
                                      .text = w->text,
                                      .url = w->url,
                                      .every = by->every,
                                      .template_file = by->template_file,
                                      .reaction = by->name,
                                      .run = c->run};
    return x->count < WANTED_MAX ? TL_OK : 1;
}

/* Did another reaction want it, too, whose turn came first? */
static bool came_before(const struct reacting *x, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (x->wish[k].p.kind == x->wish[i].p.kind && strcmp(x->wish[k].text, x->wish[i].text) == 0)
            return true;
    return false;
}

static int count_unheard(void *ctx, const struct store_candidate *c) {
    struct reacting *x = ctx;
    x->unheard += is_private(x->c, c->url);
    return TL_OK;
}

int targets_unheard(const struct config *c, struct store *s, int64_t *count, struct fail *why) {
    struct reacting x = {.c = c};
    int rc = store_wanted(s, count_unheard, &x, why);
    *count = x.unheard;
    return rc;
}

int targets_react(const struct config *c, struct store *s, struct lake *l, const struct targets *known,
                  const struct discovery *d, int64_t now_us,
                  void (*told)(const char *id, const char *text, const char *reaction), struct targets_reacted *out,
                  struct fail *why) {
    struct reacting x = {.c = c, .known = known, .d = d};
    *out = (struct targets_reacted){0};
    int rc = d->react_count ? store_wanted(s, add_wish, &x, why) : TL_OK;
    for (size_t i = 0; i < x.count; i++) {
        struct wish *w = &x.wish[i];
        AUTO_BUF struct buf id = BUF_INIT;
        struct fail reason = FAIL_INIT;
        w->p.now_us = now_us;
        w->p.most = c->targets.promotions;
        if (!rc && !came_before(&x, i)) {
            int answer = targets_promote(s, l, known, &w->p, &id, &reason);
            out->promoted += answer == TL_OK;
            out->held_back += answer == TL_REFUSED;
            if (answer == TL_OK)
                told(id.data, w->text, w->p.reaction);
            else if (answer != TL_REFUSED) {
                rc = fail_exit(why, answer, reason.exit_code, "the reaction '%s' cannot promote '%.200s': %s",
                               w->p.reaction, w->text, reason.text);
            }
        }
    }
    for (size_t i = 0; i < x.count; i++) {
        free(x.wish[i].text);
        free(x.wish[i].url);
    }
    free(x.wish);
    return rc;
}
