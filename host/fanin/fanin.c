/* fanin.c - see fanin.h: whose leg counts, and whether enough of them do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "fanin/fanin_inside.h"

#define NOT_FOUND "artifact not found"

/* ---- texts ---- */

void fanin_note(struct fanin_texts *t, const char *fmt, ...) {
    char text[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    utf8_repair(text);
    if (t->count >= FANIN_ARTIFACTS)
        return;
    MEM_GROW(t->item, t->count, t->room);
    t->item[t->count++] = mem_text(text);
}

static int compare_texts(const void *left, const void *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

void fanin_texts_sort(struct fanin_texts *t) {
    size_t kept = 0;
    if (t->count)
        qsort(t->item, t->count, sizeof *t->item, compare_texts);
    for (size_t i = 0; i < t->count; i++) {
        if (kept && strcmp(t->item[kept - 1], t->item[i]) == 0)
            free(t->item[i]);
        else
            t->item[kept++] = t->item[i];
    }
    t->count = kept;
}

static void texts_free(struct fanin_texts *t) {
    for (size_t i = 0; i < t->count; i++)
        free(t->item[i]);
    free(t->item);
    *t = (struct fanin_texts){0};
}

/* ---- what there is ---- */

static void side_begin(struct fanin_side *s, enum leg_kind kind, const struct fanin_member *members, size_t n) {
    s->kind = kind;
    s->count = n;
    s->slot = mem_alloc((n + 1) * sizeof *s->slot);
    for (size_t i = 0; i < n; i++)
        s->slot[i].member = &members[i];
}

static void side_free(struct fanin_side *s) {
    for (size_t i = 0; i < s->count; i++)
        free(s->slot[i].reason);
    free(s->slot);
    free(s->kept);
    texts_free(&s->warning);
}

struct fanin *fanin_new(const struct context *context, const struct fanin_plan *plan) {
    struct fanin *f = mem_alloc(sizeof *f);
    f->context = context;
    side_begin(&f->news, LEG_SOURCE, plan->source, plan->source_count);
    side_begin(&f->github, LEG_SHARD, plan->shard, plan->shard_count);
    return f;
}

void fanin_free(struct fanin *f) {
    if (!f)
        return;
    for (size_t i = 0; i < f->leg_count; i++)
        leg_free(&f->leg[i]);
    free(f->leg);
    side_free(&f->news);
    side_free(&f->github);
    texts_free(&f->closed);
    free(f->both.item); /* borrowed texts */
    buf_free(&f->news_json);
    buf_free(&f->github_json);
    buf_free(&f->diagnostics);
    free(f);
}

void fanin_add(struct fanin *f, const char *file, struct tl_span text) {
    if (f->leg_count >= FANIN_ARTIFACTS || f->bytes > FANIN_BYTES || text.len > FANIN_BYTES - f->bytes) {
        fanin_note(&f->closed, "more than %d artifacts, or over 1 GiB of them", FANIN_ARTIFACTS);
        return;
    }
    MEM_GROW(f->leg, f->leg_count, f->leg_room);
    struct leg *leg = &f->leg[f->leg_count++];
    leg_read(f->context, file, text, leg);
    f->bytes += leg->json.len;
    if (leg->rejected)
        log_warn("%s is no artifact to be merged: %s", file, leg->reason);
}

/* ---- whose leg counts ---- */

/* Of several reasons the first by bytes, so that the order in which they came does not matter. */
static void give_reason(struct fanin_slot *s, const char *reason) {
    if (s->reason && strcmp(s->reason, reason) <= 0)
        return;
    free(s->reason);
    s->reason = mem_text(reason);
}

static void place_leg(struct fanin *f, struct fanin_side *side, struct leg *leg) {
    const char *kind = side->kind == LEG_SHARD ? "shard" : "source";
    for (size_t i = 0; i < side->count; i++) {
        struct fanin_slot *s = &side->slot[i];
        if (strcmp(s->member->id, leg->id) != 0)
            continue;
        if (leg->rejected) {
            fanin_note(&side->warning, "%s: %s", leg->id, leg->reason);
            s->rejected = true;
            if (!s->leg)
                give_reason(s, leg->reason);
        } else if (s->leg) {
            fanin_note(&f->closed, "%s: more than one artifact for this %s", leg->id, kind);
        } else {
            s->leg = leg;
        }
        return;
    }
    fanin_note(&side->warning, "%.64s: it is no %s that SOURCES.yml names", leg->id, kind);
}

/* A partial source without a single article is a failed one. */
static void judge_slot(struct fanin_side *side, struct fanin_slot *s) {
    const char *id = s->member->id;
    if (s->leg) {
        free(s->reason);
        s->reason = NULL;
        if (s->leg->status == LEG_PARTIAL && !s->leg->count)
            s->reason = mem_text("partial without an article");
        else if (s->leg->status == LEG_FAILED)
            s->reason = mem_text(s->leg->reason);
        if (s->reason)
            fanin_note(&side->warning, "%s: %s", id, s->reason);
        else if (s->leg->status == LEG_PARTIAL)
            fanin_note(&side->warning, "%s: partial (%zu of %zu entries)", id, s->leg->count,
                       s->leg->count + s->leg->dropped);
        else if (s->leg->dropped)
            fanin_note(&side->warning, "%s: %zu entries without what they need were dropped", id, s->leg->dropped);
    } else if (!s->reason) {
        s->reason = mem_text(NOT_FOUND);
        fanin_note(&side->warning, "%s: " NOT_FOUND, id);
    }
    side->succeeded += !s->reason;
}

static void judge_side(struct fanin *f, struct fanin_side *side) {
    for (size_t i = 0; i < side->count; i++) {
        struct fanin_slot *s = &side->slot[i];
        judge_slot(side, s);
        if (s->reason && s->member->required)
            fanin_note(&f->closed, "required %s %s: %s", side->kind == LEG_SHARD ? "shard" : "source", s->member->id,
                       s->reason);
    }
}

/* At least 60 % of what is configured, in whole numbers. */
static void judge_minimum(struct fanin *f) {
    size_t n = f->news.count, good = f->news.succeeded;
    if (5 * good < 3 * n || !n)
        fanin_note(&f->closed, "%zu of %zu sources succeeded, at least %zu are needed", good, n, (3 * n + 4) / 5);
}

static void judge(struct fanin *f) {
    for (size_t i = 0; i < f->leg_count; i++) {
        struct leg *leg = &f->leg[i];
        if (leg->kind != LEG_UNKNOWN && *leg->id)
            place_leg(f, leg->kind == LEG_SHARD ? &f->github : &f->news, leg);
    }
    judge_side(f, &f->news);
    judge_side(f, &f->github);
    judge_minimum(f);
    fanin_texts_sort(&f->closed);
}

bool fanin_merge(struct fanin *f, int64_t now_us) {
    judge(f);
    if (!f->closed.count) {
        fanin_merge_articles(f);
        fanin_merge_repositories(f);
    }
    fanin_texts_sort(&f->news.warning);
    fanin_texts_sort(&f->github.warning);
    if (f->closed.count)
        fanin_write_diagnostics(f, now_us);
    else
        fanin_write_documents(f, now_us);
    const struct fanin_side *sides[] = {&f->news, &f->github};
    for (size_t k = 0; k < COUNT_OF(sides); k++)
        for (size_t i = 0; i < sides[k]->warning.count; i++) {
            MEM_GROW(f->both.item, f->both.count, f->both.room);
            f->both.item[f->both.count++] = sides[k]->warning.item[i];
        }
    return !f->closed.count;
}

/* ---- asking ---- */

struct tl_span fanin_news(const struct fanin *f) {
    return buf_span(&f->news_json);
}

struct tl_span fanin_github(const struct fanin *f) {
    return buf_span(&f->github_json);
}

struct tl_span fanin_diagnostics(const struct fanin *f) {
    return buf_span(&f->diagnostics);
}

size_t fanin_warnings(const struct fanin *f, const char *const **text) {
    *text = (const char *const *)f->both.item;
    return f->both.count;
}

const char *fanin_closed(const struct fanin *f) {
    return f->closed.count ? f->closed.item[0] : NULL;
}

struct fanin_sums fanin_sums(const struct fanin *f) {
    return (struct fanin_sums){f->news.kept_count, f->github.kept_count, f->news.succeeded, f->github.succeeded};
}
