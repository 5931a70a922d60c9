/* url_find.c - from a spelling of a URL to its rows in the catalog. See url.h.
 *
 * The canonical text is asked for first. Only when nothing is known of it, parameters that do nothing but track are
 * left away: a server may well tell two such URLs apart, so they are no part of a URL's identity, but people paste
 * them. */
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "cmd/print.h"
#include "cmd/url.h"
#include "net/url.h"

static bool is_tracker(struct tl_span name) {
    static const char *const known[] = {"gclid",     "dclid",   "gbraid",      "wbraid",     "fbclid",
                                        "msclkid",   "yclid",   "twclid",      "ttclid",     "igshid",
                                        "mc_cid",    "mc_eid",  "mkt_tok",     "_hsenc",     "_hsmi",
                                        "_openstat", "vero_id", "oly_anon_id", "oly_enc_id", "wickedid"};
    if (name.len > 4 && strncasecmp(name.ptr, "utm_", 4) == 0)
        return true;
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (name.len == strlen(known[i]) && strncasecmp(name.ptr, known[i], name.len) == 0)
            return true;
    return false;
}

/* A canonical text without its trackers; false: it has none. */
static bool without_trackers(struct tl_span text, struct buf *out) {
    const char *mark = memchr(text.ptr, '?', text.len), *end = text.ptr + text.len;
    bool dropped = false;
    if (!mark)
        return false;
    buf_add(out, text.ptr, (size_t)(mark - text.ptr));
    char joint = '?';
    for (const char *at = mark + 1; at < end;) {
        const char *amp = memchr(at, '&', (size_t)(end - at)), *stop = amp ? amp : end;
        const char *equals = memchr(at, '=', (size_t)(stop - at));
        if (is_tracker((struct tl_span){at, (size_t)((equals ? equals : stop) - at)})) {
            dropped = true;
        } else {
            buf_char(out, joint);
            buf_add(out, at, (size_t)(stop - at));
            joint = '&';
        }
        at = stop + 1;
    }
    return dropped;
}

static int each_document(void *ctx, const struct store_row *row) {
    struct url_found *f = ctx;
    const char *const name[] = {"run_id", "result_id", "collected_at"};
    char *const to[] = {f->run, f->result, f->at};
    const size_t room[] = {sizeof f->run, sizeof f->result, sizeof f->at};
    f->documents++;
    if (f->run[0] || print_column(row, "good")->number == 0)
        return 0;
    for (size_t i = 0; i < COUNT_OF(name); i++) {
        struct tl_span text = print_column(row, name[i])->text;
        snprintf(to[i], room[i], "%.*s", (int)text.len, text.ptr);
    }
    return 0;
}

static int each_url(void *ctx, const struct store_row *row) {
    print_value(ctx, &row->value[0]);
    return 1;
}

static int each_there(void *ctx, const struct store_row *row) {
    *(bool *)ctx = row->value[0].number != 0;
    return 1;
}

/* A row may be there for others: a URL that was forgotten, or is only named, is not known. */
static int look_up(struct store *s, struct url_found *f, struct fail *why) {
    const struct store_url u = {buf_span(&f->text), f->key = url_key(buf_span(&f->text))};
    bool there = false;
    int rc = store_url_find(s, u, &f->way[0]);
    if (rc)
        return rc == TL_NOTFOUND ? TL_OK : fail_set(why, rc, "the catalog cannot be read");
    const struct store_value id = store_int(f->way[0]);
    rc = store_query(s,
                     "SELECT EXISTS (SELECT 1 FROM url_documents WHERE url_id = $1) OR EXISTS (SELECT 1 FROM url_map "
                     "WHERE requested_id = $1) "
                     "OR EXISTS (SELECT 1 FROM url_map WHERE canonical_id = $1 AND kind <> 'same') OR EXISTS (SELECT 1 "
                     "FROM validators WHERE url_id = $1)",
                     &id, 1, each_there, &there, why);
    f->steps = there;
    return rc;
}

static bool been(const struct url_found *f, int64_t id) {
    for (size_t i = 0; i < f->steps; i++)
        if (f->way[i] == id)
            return true;
    return false;
}

static int follow(struct store *s, struct url_found *f, struct fail *why) {
    enum store_url_kind kind;
    int64_t to;
    int rc = TL_OK;
    while (f->steps < URL_WAY_MOST && (rc = store_url_next(s, f->way[f->steps - 1], &to, &kind)) == TL_OK &&
           !been(f, to))
        f->way[f->steps++] = to;
    if (rc && rc != TL_NOTFOUND)
        return fail_set(why, rc, "the catalog cannot be read");
    rc = TL_OK;
    for (size_t i = f->steps; i-- > 0 && !rc;) {
        const struct store_value id = store_int(f->way[i]);
        if (i == f->steps - 1)
            rc = store_query(s, "SELECT url FROM urls WHERE url_id = $1", &id, 1, each_url, &f->url, why);
        if (!rc)
            rc = store_query(s,
                             "SELECT run_id, result_id, collected_at, status = 'success' OR status = 'partial' AS good "
                             "FROM url_documents "
                             "WHERE url_id = $1 ORDER BY collected_at DESC",
                             &id, 1, each_document, f, why);
    }
    return rc;
}

int url_find(struct store *s, struct tl_span given, struct url_found *out, struct fail *why) {
    AUTO_BUF struct buf less = BUF_INIT;
    *out = (struct url_found){.steps = 0};
    if (url_canonical(&out->text, given)) {
        AUTO_BUF struct buf shown = BUF_INIT;
        print_plain(&shown, given, 200);
        return fail_exit(why, TL_INVALID, EXIT_USAGE, "%s is no URL that has a key",
                         shown.len ? shown.data : "an empty text");
    }
    int rc = look_up(s, out, why);
    if (!rc && !out->steps && without_trackers(buf_span(&out->text), &less)) {
        struct buf whole = out->text;
        out->text = (struct buf)BUF_INIT;
        rc = url_canonical(&out->text, buf_span(&less)) ? TL_OK : look_up(s, out, why);
        out->trackers_gone = out->steps > 0;
        if (!out->trackers_gone) {
            struct buf gone = out->text;
            out->text = whole;
            out->key = url_key(buf_span(&whole));
            whole = gone;
        }
        buf_free(&whole);
    }
    if (!rc && out->steps)
        rc = follow(s, out, why);
    if (!out->url.len)
        buf_add(&out->url, out->text.data, out->text.len);
    return rc;
}

void url_found_free(struct url_found *f) {
    buf_free(&f->text);
    buf_free(&f->url);
}
