/* run_due.c - trotline run --due: the targets that are due, one after the other, and what reactions promote meanwhile;
 * trotline run --target: one of them, by hand.
 *
 * Invariant: a target has one turn at most in one call, so that a call ends; whether it is still due is asked again
 * when its lock is held (run.c), so that two calls at once never do the same. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "base/yaml.h"
#include "cmd/candidates.h"
#include "cmd/run.h"

struct dueing {
    const struct cmd_globals *g;
    const struct run_options *o;
    int64_t given_us, begun_us; /* the clock that was given, 0: the real one; the monotonic clock at the start */
    char **tried;               /* ids */
    size_t count, room;
    int64_t targets, done, failed, skipped, promoted, held_back;
    int code;      /* the worst so far */
    bool deaf;     /* the rules cannot be read: there are no reactions in this call */
    char next[80]; /* the id that is due next, and when */
    int64_t next_us;
    struct buf trouble;
};

static int64_t clock_us(const struct dueing *d) {
    return d->given_us ? d->given_us : time_now_us();
}

/* The order in which exit codes count: the first that happened is the one to end with. */
static void keep_code(struct dueing *d, int code) {
    static const int order[] = {EXIT_DAMAGED, EXIT_DISK,  EXIT_INTERNAL, EXIT_CONFIG,    EXIT_PLUGIN,
                                EXIT_USAGE,   EXIT_AUTH,  EXIT_ROOT,     EXIT_INTERRUPT, EXIT_RATE,
                                EXIT_TIMEOUT, EXIT_LEASH, EXIT_LINE};
    size_t mine = 0, other = 0;
    while (mine < COUNT_OF(order) && order[mine] != code)
        mine++;
    while (other < COUNT_OF(order) && order[other] != d->code)
        other++;
    if (code && (!d->code || mine < other))
        d->code = code;
}

static bool was_tried(const struct dueing *d, const char *id) {
    for (size_t i = 0; i < d->count; i++)
        if (strcmp(d->tried[i], id) == 0)
            return true;
    return false;
}

/* The target that has been due for the longest; NULL: none. */
static struct targets_entry *most_due(struct dueing *d, struct store *s, struct targets *t, int *rc) {
    struct targets_entry *best = NULL;
    struct targets_due due;
    int64_t best_us = INT64_MAX;
    d->next_us = INT64_MAX;
    for (size_t i = 0; i < t->count && !*rc; i++) {
        struct targets_entry *e = &t->entry[i];
        if ((*rc = targets_due(s, e, clock_us(d), &due)) != TL_OK)
            break;
        bool mine = targets_is_due(&due, clock_us(d)) && !was_tried(d, e->t.crawl.name);
        if (mine && (!best || due.next_us < best_us)) {
            best = e;
            best_us = due.next_us;
        } else if (!mine && due.next_us < d->next_us && due.next_us > clock_us(d)) {
            d->next_us = due.next_us;
            snprintf(d->next, sizeof d->next, "%s", e->t.crawl.name);
        }
    }
    return best;
}

/* Takes the crawl out of the entry: whoever carries it out releases it. */
static int carry_out(struct dueing *d, struct targets_entry *e, int64_t timeout_us) {
    struct run_options own = *d->o;
    own.resume = "auto";
    own.timeout_us = timeout_us;
    AUTO_FREE char *id = mem_text(e->t.crawl.name);
    struct targets_entry kept = {.from_run = e->from_run, .promoted_us = e->promoted_us, .t.every_us = e->t.every_us};
    kept.t.crawl.name = id;
    const struct run_turn turn = {.target = &kept, .now_us = clock_us(d)};
    struct running r = {.g = d->g, .o = &own, .turn = &turn, .crawl = e->t.crawl};
    e->t.crawl = (struct crawl){0};
    int code = run_and_release(&r);
    if (code == RUN_SKIPPED) {
        log_info("the target '%s' is being carried out by another trotline, or has just been", id);
        d->skipped++;
        return 0;
    }
    d->failed += code != 0;
    d->done += code == 0;
    if (code)
        buf_printf(&d->trouble, "%s%s: exit %d", d->trouble.len ? ", " : "", id, code);
    keep_code(d, code);
    return code;
}

/* What is wrong with a file was said the first time. */
static void say_nothing(const char *text) {
    (void)text;
}

/* 1: there was a target to carry out; 0: nothing is due any more. */
static int step(struct dueing *d, int64_t timeout_us) {
    struct cmd_open o = {0};
    struct targets t = {0};
    struct fail why = FAIL_INIT;
    struct targets_entry *e = NULL;
    int rc = TL_OK, code = cmd_open(&o, d->g, CMD_STORE_WRITE | CMD_LAKE_WRITE, NULL, 0);
    if (!code && targets_load(&o.config, o.store, d->count ? say_nothing : candidates_problem, &t, &why))
        code = cmd_fail(&why, EXIT_CONFIG);
    if (!code)
        e = most_due(d, o.store, &t, &rc);
    if (rc) {
        fail_set(&why, rc, "cannot ask the catalog which targets are due");
        code = cmd_fail(&why, EXIT_INTERNAL);
    }
    d->targets = (int64_t)(t.count + t.broken);
    cmd_close(&o);
    keep_code(d, code ? code : t.broken ? EXIT_CONFIG : 0);
    if (e && !code && d->o->timeout_us && timeout_us <= 0) {
        keep_code(d, EXIT_TIMEOUT); /* it is for the next call */
        e = NULL;
    }
    if (e && !code) {
        MEM_GROW(d->tried, d->count, d->room);
        d->tried[d->count++] = mem_text(e->t.crawl.name);
        code = carry_out(d, e, timeout_us);
    }
    targets_free(&t);
    return e && !(code == EXIT_INTERRUPT || code == EXIT_DISK || code == EXIT_DAMAGED || code == EXIT_INTERNAL);
}

static void react(struct dueing *d) {
    struct cmd_open o = {0};
    struct targets_reacted reacted;
    if (d->deaf)
        return;
    int code = candidates_react(&o, d->g, clock_us(d), &reacted);
    d->deaf = code == EXIT_CONFIG; /* which was said */
    keep_code(d, code);
    d->promoted += reacted.promoted;
    d->held_back = reacted.held_back;
    cmd_close(&o);
}

static void say(struct dueing *d) {
    AUTO_BUF struct buf more = BUF_INIT;
    char text[TIME_TEXT];
    if (d->promoted || d->held_back)
        buf_printf(&more, "; %lld promoted by reactions, %lld held back by targets.promotions", (long long)d->promoted,
                   (long long)d->held_back);
    if (d->skipped)
        buf_printf(&more, "; %lld left to another trotline", (long long)d->skipped);
    if (d->trouble.len)
        buf_printf(&more, "; %.400s", d->trouble.data);
    if (d->next_us != INT64_MAX)
        buf_printf(&more, "; next: %s at %s", d->next, time_text(d->next_us, text));
    log_ending(d->code, "%lld of %lld targets had their turn, %lld without fault%s; look with: trotline targets",
               (long long)(d->done + d->failed), (long long)d->targets, (long long)d->done, more.data ? more.data : "");
}

/* No folder of targets and no catalog with promotions: most likely cron is in another folder than one thinks, and
 * would watch nothing for ever without a word. Nothing is made there. */
static int somewhere(const struct cmd_globals *g) {
    struct cmd_open o = {0};
    AUTO_BUF struct buf folder = BUF_INIT;
    struct fail why = FAIL_INIT;
    int code = cmd_open(&o, g, 0, NULL, 0);
    if (!code) {
        targets_folder(&o.config, &folder);
        bool there =
            strstr(o.config.catalog, "://") || access(o.config.catalog, F_OK) == 0 || access(folder.data, F_OK) == 0;
        if (!there) {
            fail_exit(
                &why, TL_INVALID, EXIT_CONFIG,
                "nothing is watched: there is neither a folder %s nor a catalog %s with promotions; write a first "
                "file ID.yml into that folder, or name the configuration with --config",
                folder.data, o.config.catalog);
            code = cmd_fail(&why, EXIT_CONFIG);
        }
    }
    cmd_close(&o);
    return code;
}

int run_due(const struct cmd_globals *g, const struct run_options *o, int64_t now_us) {
    struct dueing d = {.g = g, .o = o, .given_us = now_us, .begun_us = time_mono_us(), .next_us = INT64_MAX};
    int code = somewhere(g);
    if (code)
        return code;
    react(&d);
    for (bool more = true; more;) {
        more = step(&d, o->timeout_us ? o->timeout_us - (time_mono_us() - d.begun_us) : 0);
        if (more)
            react(&d);
    }
    say(&d);
    for (size_t i = 0; i < d.count; i++)
        free(d.tried[i]);
    free(d.tried);
    buf_free(&d.trouble);
    return d.code;
}

/* ---- by hand */

static int no_target(const struct targets *t, const char *id) {
    AUTO_FREE const char **known = mem_array(NULL, t->count + 1, sizeof *known);
    for (size_t i = 0; i < t->count; i++)
        known[i] = t->entry[i].t.crawl.name;
    const char *near = yaml_nearest(id, known, t->count);
    return cmd_usage("run", "there is no target '%.100s'; %s%s%s", id, near ? "did you mean '" : "",
                     near ? near : "trotline targets lists those that there are", near ? "'?" : "");
}

int run_target(const struct cmd_globals *g, const struct run_options *o, const char *id) {
    struct cmd_open opened = {0};
    struct targets t = {0};
    struct fail why = FAIL_INIT;
    struct targets_entry *e = NULL;
    int code = somewhere(g);
    if (!code)
        code = cmd_open(&opened, g, CMD_STORE_WRITE | CMD_LAKE_WRITE, NULL, 0);
    if (!code && targets_load(&opened.config, opened.store, candidates_problem, &t, &why))
        code = cmd_fail(&why, EXIT_CONFIG);
    cmd_close(&opened);
    for (size_t i = 0; !code && !e && i < t.count; i++)
        e = strcmp(t.entry[i].t.crawl.name, id) == 0 ? &t.entry[i] : NULL;
    if (!code && !e)
        code = no_target(&t, id);
    if (e) {
        struct run_options own = *o;
        own.resume = "auto";
        const struct run_turn turn = {.target = e, .now_us = time_now_us(), .by_hand = true};
        struct running r = {.g = g, .o = &own, .turn = &turn, .crawl = e->t.crawl};
        e->t.crawl = (struct crawl){0};
        code = run_and_release(&r);
    }
    targets_free(&t);
    return code;
}
