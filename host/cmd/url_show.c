/* url_show.c - trotline url show: all that the catalog knows about one URL. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/times.h"
#include "cmd/print.h"
#include "cmd/url.h"
#include "net/url.h"

enum { LABEL = 14, NEAR_NAMED = 10, NEAR_READ = 20000 };

struct showing {
    struct cmd_open *o;
    struct url_found *f;
    bool json;
    struct buf out;
    struct json_writer w;
    const char *label;
    struct fail why;
    size_t rows;
    /* neighbours */
    struct buf host;
    int64_t near, read;
    struct buf named;
    struct json_writer names;
};

static void fact(struct showing *s, const char *label, const char *text) {
    if (s->json) {
        json_member_string(&s->w, label, text);
        return;
    }
    buf_printf(&s->out, "%s:%*s", label, (int)(strlen(label) < LABEL ? LABEL - strlen(label) : 1), "");
    print_plain(&s->out, span_of(text), 0);
    buf_char(&s->out, '\n');
}

static int each_row(void *ctx, const struct store_row *row) {
    struct showing *s = ctx;
    AUTO_BUF struct buf line = BUF_INIT, text = BUF_INIT;
    s->rows++;
    if (s->json) {
        print_object(&s->w, row);
        return 0;
    }
    for (size_t i = 0; i < row->count; i++) {
        if (row->value[i].type == STORE_NULL)
            continue;
        buf_reset(&text);
        print_value(&text, &row->value[i]);
        buf_printf(&line, "%s%s", line.len ? "  " : "", text.data ? text.data : "");
    }
    fact(s, s->label, line.data);
    return 0;
}

/* A list over all URLs of the way, the last one first. */
static int list(struct showing *s, const char *member, const char *label, const char *json_sql, const char *text_sql) {
    int rc = TL_OK;
    s->label = label;
    s->rows = 0;
    if (s->json) {
        json_put_key(&s->w, member);
        json_array_begin(&s->w);
    }
    for (size_t i = s->f->steps; i-- > 0 && !rc;) {
        const struct store_value args[] = {store_int(s->f->way[i])};
        rc = store_query(s->o->store, s->json ? json_sql : text_sql, args, 1, each_row, s, &s->why);
    }
    if (s->json)
        json_array_end(&s->w);
    return rc;
}

static int mappings(struct showing *s) {
    int rc = list(s, "mappings", "leads",
                  "SELECT requested_url, requested_key, canonical_url, canonical_key, kind, since_at, until_at FROM "
                  "url_map WHERE requested_id = $1 "
                  "ORDER BY since_at DESC",
                  "SELECT requested_url || ' -> ' || canonical_url, kind, since_at, 'until ' || until_at FROM url_map "
                  "WHERE requested_id = $1 "
                  "ORDER BY since_at DESC");
    return rc ? rc
              : list(s, "others", "led to by",
                     "SELECT requested_url, requested_key, kind, since_at, until_at FROM url_map WHERE canonical_id = "
                     "$1 AND kind <> 'same' "
                     "ORDER BY since_at DESC LIMIT 1000",
                     "SELECT requested_url, kind, since_at, 'until ' || until_at FROM url_map WHERE canonical_id = $1 "
                     "AND kind <> 'same' "
                     "ORDER BY since_at DESC LIMIT 1000");
}

static int documents(struct showing *s) {
    return list(s, "documents", "document",
                "SELECT result_id, run_id, root_id, status, http_status, collected_at, seen_at, fetched_bytes, bytes, "
                "url, requested_url, source_url, "
                "claimed_url FROM url_documents WHERE url_id = $1 ORDER BY collected_at DESC LIMIT 1000",
                "SELECT collected_at, run_id, status, http_status, fetched_bytes || ' bytes', 'as ' || CASE WHEN "
                "requested_url <> url THEN "
                "requested_url END, 'claims ' || claimed_url FROM url_documents WHERE url_id = $1 ORDER BY "
                "collected_at DESC LIMIT 1000");
}

static int validators(struct showing *s) {
    return list(s, "validators", "validator",
                "SELECT url, credential, etag, last_modified, unchanged, run_id, at FROM validators WHERE url_id = $1",
                "SELECT 'ETag ' || etag, 'Last-Modified ' || last_modified, unchanged || ' times unchanged', 'with ' "
                "|| nullif(credential, '') "
                "FROM validators WHERE url_id = $1");
}

/* ---- when it may be asked again */

struct pace {
    char until[40];
    double delay;
    bool known;
};

static int each_host(void *ctx, const struct store_row *row) {
    struct pace *p = ctx;
    p->known = true;
    p->delay = row->value[0].real;
    snprintf(p->until, sizeof p->until, "%.*s", (int)row->value[1].text.len,
             row->value[1].text.ptr ? row->value[1].text.ptr : "");
    return 1;
}

static int next_fetch(struct showing *s) {
    AUTO_BUF struct buf href = BUF_INIT, name = BUF_INIT;
    struct url u;
    struct pace p = {.known = false};
    int64_t until = 0, now = store_now_us(s->o->store);
    if (url_parse(&href, buf_span(&s->f->url), NULL, &u))
        return TL_OK;
    buf_add(&s->host, u.host.ptr, u.host.len);
    buf_add(&name, u.host.ptr, u.host.len);
    buf_printf(&name, ":%d", url_effective_port(&u));
    const struct store_value host = store_text(name.data);
    int rc = store_query(s->o->store, "SELECT delay_seconds, until_at FROM hosts WHERE host = $1", &host, 1, each_host,
                         &p, &s->why);
    if (p.until[0] && time_parse(span_of(p.until), &until))
        until = 0;
    fact(s, s->json ? "next_fetch_at" : "next fetch", until > now ? p.until : s->json ? NULL : "now");
    if (p.known && p.delay > 0) {
        char text[40];
        snprintf(text, sizeof text, "%g s", p.delay);
        if (s->json)
            json_member_real(&s->w, "delay_seconds", p.delay);
        else
            fact(s, "delay", text);
    }
    return rc;
}

/* ---- neighbours: a grouping by the key's upper bits, which other hosts share; so hosts are compared */

static int each_near(void *ctx, uint64_t key, struct tl_span url) {
    struct showing *s = ctx;
    const char *host = memmem(url.ptr, url.len, "://", 3);
    size_t left = host ? url.len - (size_t)(host + 3 - url.ptr) : 0;
    (void)key;
    if (++s->read > NEAR_READ)
        return 1;
    bool same = host && left >= s->host.len && memcmp(host + 3, s->host.data, s->host.len) == 0 &&
                (left == s->host.len || strchr(":/?", host[3 + s->host.len]));
    if (!same || (url.len == s->f->url.len && memcmp(url.ptr, s->f->url.data, url.len) == 0))
        return 0;
    if (s->near++ < NEAR_NAMED) {
        if (s->json)
            json_put_string(&s->names, url);
        else {
            buf_printf(&s->named, "neighbour:%*s", LABEL - 9, "");
            print_plain(&s->named, url, 0);
            buf_char(&s->named, '\n');
        }
    }
    return 0;
}

static int neighbours(struct showing *s) {
    char text[40];
    const uint64_t key = url_key(buf_span(&s->f->url));
    s->names = (struct json_writer)JSON_WRITER(&s->named);
    int rc = s->host.len ? store_url_near(s->o->store, key, each_near, s) : TL_OK;
    bool all = s->read <= NEAR_READ;
    if (rc)
        return fail_set(&s->why, rc, "the catalog cannot be read");
    snprintf(text, sizeof text, "%" PRId64 "%s", s->near, all ? "" : " or more");
    if (s->json) {
        json_put_key(&s->w, "neighbours");
        json_object_begin(&s->w);
        json_member_int(&s->w, "group", (int64_t)(key >> 56));
        json_member_int(&s->w, "count", s->near);
        json_member_bool(&s->w, "all_counted", all);
        json_put_key(&s->w, "urls");
        json_array_begin(&s->w);
        if (s->named.len)
            buf_add(&s->out, s->named.data, s->named.len);
        s->w.comma = s->named.len > 0;
        json_array_end(&s->w);
        json_object_end(&s->w);
    } else {
        fact(s, "neighbours", text);
        buf_add(&s->out, s->named.data, s->named.len);
    }
    return TL_OK;
}

int url_show(struct cmd_open *o, struct url_found *f, bool json) {
    struct showing s = {.o = o, .f = f, .json = json, .why = FAIL_INIT};
    int (*const part[])(struct showing *) = {mappings, documents, validators, next_fetch, neighbours};
    char key[24];
    int rc = TL_OK;
    s.w = (struct json_writer)JSON_WRITER(&s.out);
    if (json)
        json_object_begin(&s.w);
    fact(&s, json ? "url" : "URL", f->text.data);
    fact(&s, "canonical", f->url.data);
    snprintf(key, sizeof key, "%" PRIu64, url_key(buf_span(&f->url)));
    fact(&s, "key", key);
    if (f->trackers_gone && !json)
        fact(&s, "note", "known without its tracking parameters only");
    if (json) {
        json_member_int(&s.w, "rules", URL_RULES_VERSION);
        json_member_bool(&s.w, "trackers_removed", f->trackers_gone);
    }
    for (size_t i = 0; i < COUNT_OF(part) && !rc; i++)
        rc = part[i](&s);
    if (json) {
        json_object_end(&s.w);
        buf_char(&s.out, '\n');
    }
    if (!rc)
        fwrite(s.out.data, 1, s.out.len, stdout);
    buf_free(&s.out);
    buf_free(&s.host);
    buf_free(&s.named);
    if (rc)
        return cmd_fail(&s.why, EXIT_INTERNAL);
    return cmd_flush(stdout) ? EXIT_DONE : EXIT_DISK;
}
