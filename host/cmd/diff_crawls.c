/* diff_crawls.c - see diff_crawls.h. */
#include "cmd/diff_crawls.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/times.h"

struct found {
    char root[2][UUID_TEXT], at[2][TIME_TEXT]; /* the newest first */
    int count;
};

static void copy(char *to, size_t room, const struct store_value *v) {
    snprintf(to, room, "%.*s", (int)v->text.len, v->text.ptr);
}

static int each_crawl(void *ctx, const struct store_row *row) {
    struct found *f = ctx;
    copy(f->root[f->count], UUID_TEXT, &row->value[0]);
    copy(f->at[f->count], TIME_TEXT, &row->value[1]);
    return ++f->count == 2;
}

/* The last two of the name that are over. */
static int find_last(struct store *s, const char *name, struct found *out) {
    const struct store_value args[] = {store_text(name)};
    struct fail why = FAIL_INIT;
    *out = (struct found){.count = 0};
    int rc = store_query(s,
                         "SELECT root_id, coalesce(turn_at, started_at) FROM crawls WHERE crawl = $1 AND status <> "
                         "'open' ORDER BY root_id DESC LIMIT 2",
                         args, 1, each_crawl, out, &why);
    if (rc)
        return cmd_fail(&why, EXIT_INTERNAL);
    return out->count ? 0
                      : cmd_usage("diff",
                                  "no crawl called '%s' is over, and no crawl has such an id (trotline ls, trotline "
                                  "targets list them)",
                                  name);
}

/* The last until that time. */
static int find_at(struct store *s, const char *name, int64_t us, struct found *out) {
    char time[TIME_TEXT];
    const struct store_value args[] = {store_text(name), store_text(time_text(us, time))};
    struct fail why = FAIL_INIT;
    struct found first = {.count = 0};
    *out = (struct found){.count = 0};
    int rc = store_query(s,
                         "SELECT root_id, coalesce(turn_at, started_at) AS at FROM crawls WHERE crawl = $1 AND status "
                         "<> 'open' AND at <= $2 ORDER BY at DESC, root_id DESC LIMIT 1",
                         args, 2, each_crawl, out, &why);
    if (!rc && !out->count)
        rc = store_query(s,
                         "SELECT root_id, min(coalesce(turn_at, started_at)) FROM crawls WHERE crawl = $1 AND status "
                         "<> 'open'",
                         args, 1, each_crawl, &first, &why);
    if (rc)
        return cmd_fail(&why, EXIT_INTERNAL);
    if (out->count)
        return 0;
    return cmd_usage("diff", "'%s' has no crawl that was over by %s; the first is of %s", name, time,
                     first.at[0][0] ? first.at[0] : "never");
}

/* NAME@TIME: splits it into a buffer with the name, and a time. 0: it is none; 1; or -1: the time is none, said. */
static int split(const char *word, int64_t now_us, struct buf *name, int64_t *us) {
    const char *at = strrchr(word, '@');
    int64_t ago = 0;
    if (!at || at == word)
        return 0;
    if (time_parse(span_of(at + 1), us) != TL_OK) {
        if (time_parse_duration(span_of(at + 1), &ago) != TL_OK || ago >= now_us) {
            cmd_usage("diff", "after the @ of '%.200s' stands a time such as 2026-11-30T06:00:00Z, or how long ago: 7d",
                      word);
            return -1;
        }
        *us = now_us - ago;
    }
    buf_reset(name);
    buf_add(name, word, (size_t)(at - word));
    return 1;
}

static void take(struct diff_crawls *out, int side, const char *text) {
    snprintf(out->text[side], sizeof out->text[side], "%s", text);
}

/* One of two words: a root stays what it is, for whoever looks it up says what is wrong with it. */
static int find_one(struct store *s, const char *word, int64_t now_us, int side, struct diff_crawls *out) {
    AUTO_BUF struct buf name = BUF_INIT;
    struct store_crawl crawl;
    struct found f;
    int64_t us = 0;
    int parts = split(word, now_us, &name, &us);
    if (parts < 0)
        return EXIT_USAGE;
    bool named = !parts && store_crawl_by_name(s, word, false, &crawl) == TL_OK;
    if (!parts && !named) {
        take(out, side, word);
        return 0;
    }
    int code = parts ? find_at(s, name.data, us, &f) : find_last(s, word, &f);
    if (!code)
        take(out, side, f.root[0]);
    return code;
}

int diff_crawls(struct store *s, char **word, int count, int64_t now_us, struct diff_crawls *out) {
    AUTO_BUF struct buf name = BUF_INIT;
    struct found last, then;
    int64_t us = 0;
    *out = (struct diff_crawls){{{0}}};
    for (int i = 0; count == 2 && i < 2; i++) {
        int code = find_one(s, word[i], now_us, i, out);
        if (code)
            return code;
    }
    if (count == 2)
        return 0;
    int parts = split(word[0], now_us, &name, &us), code;
    if (parts < 0)
        return EXIT_USAGE;
    const char *own = parts ? name.data : word[0];
    if ((code = find_last(s, own, &last)) != 0 || (parts && (code = find_at(s, own, us, &then)) != 0))
        return code;
    if (!parts && last.count < 2)
        return cmd_usage("diff", "only one crawl of '%s' is over, that of %s: there is none to compare it with", own,
                         last.at[0]);
    if (parts && strcmp(then.root[0], last.root[0]) == 0)
        return cmd_usage("diff", "the newest crawl of '%s' is that of %s: there is none since to compare it with", own,
                         last.at[0]);
    take(out, 0, parts ? then.root[0] : last.root[1]);
    take(out, 1, last.root[0]);
    return 0;
}
