/* lfs.c - large files that Git LFS has put pointers in the place of: which there are in all of the history, and those
 * files themselves, as objects that the backup keeps by their SHA-256.
 *
 * They are asked for by the fetching of the host, as everything else from outside: the leash, the guard of addresses,
 * limits and secrets hold for them, too; an answer that sends the token anywhere else is none. What is kept is what its
 * name says, and never again asked for; of what lacked the last time, some are asked for again, in turn. REPO.lfs lists
 * what is known: OID SIZE, behind a '-' when it is not kept.
 * https://github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "gitbackup.h"

enum {
    OBJECTS_MOST = 50000, /* in one repository: a pointer costs its maker nothing */
    BATCH = 100,          /* asked for at once */
    AGAIN_MOST = 1000,    /* of those that lacked the last time, asked for in one run */
    FRESH_MOST = 250,     /* attachments of one run; others come with the next */
    SAID_MOST = 20,       /* lines of a log about those that are not there */
    OID = 64,
    PIECE = 8 << 20, /* a large object comes in pieces, for which the time-out of a request is enough */
    BROKEN_MOST = 5  /* in a row: then the rest has to wait */
};

struct object {
    const char *oid, *size;  /* size: digits */
    bool kept, asked, tried; /* tried: what there is to say of it was said */
    bool lacked;             /* the last time */
};
struct lfs {
    struct tl_run *run;
    struct mirror *m;
    const struct tl_backup *like; /* server, owner, name, at_us */
    struct object *item;
    size_t count, room, fresh, gone;
    bool full;    /* there are more than OBJECTS_MOST */
    bool put_off; /* there are more than AGAIN_MOST */
    int broken;
    const char *last; /* the one whose turn came last */
    const char *why;  /* the last that went wrong on the way */
    const char *list_before;
    size_t list_before_len;
};

static int no_memory(struct tl_run *run) {
    return tl_fail(run, TL_FAILED, "the run's memory is used up");
}

/* ---- what there is */

static int by_oid(const void *a, const void *b) {
    const struct object *x = a, *y = b;
    int order = strcmp(x->oid, y->oid);
    return order ? order : (int)y->kept - (int)x->kept;
}

/* Each once, by their ids; a kept one stands for the others. Of too many, those that are not kept are left out. */
static void settle(struct lfs *l) {
    size_t n = 0, spare = 0;
    if (l->count)
        qsort(l->item, l->count, sizeof *l->item, by_oid);
    for (size_t i = 0; i < l->count; i++)
        if (n == 0 || strcmp(l->item[n - 1].oid, l->item[i].oid) != 0)
            l->item[n++] = l->item[i];
        else
            l->item[n - 1].lacked = l->item[n - 1].lacked || l->item[i].lacked;
    for (size_t i = 0; i < n; i++)
        spare += !l->item[i].kept;
    size_t drop = n > OBJECTS_MOST ? n - OBJECTS_MOST : 0;
    size_t stay = drop < spare ? spare - drop : 0;
    l->full = l->full || drop;
    l->count = 0;
    for (size_t i = 0; i < n; i++)
        if (l->item[i].kept || stay > 0) {
            stay -= !l->item[i].kept;
            l->item[l->count++] = l->item[i];
        }
}

/* Not yet each once: room for twice as many, so that others of the same id push none out. */
static int add(struct lfs *l, struct tl_span oid, struct tl_span size, bool kept) {
    if (l->count == 2 * OBJECTS_MOST)
        settle(l);
    if (l->full || l->count == 2 * OBJECTS_MOST)
        return TL_OK;
    if (l->count == l->room) {
        size_t room = l->room ? l->room * 2 : 64;
        struct object *wider = tl_alloc(l->run, room * sizeof *wider);
        if (!wider)
            return no_memory(l->run);
        if (l->count)
            memcpy(wider, l->item, l->count * sizeof *wider);
        l->item = wider;
        l->room = room;
    }
    struct object *x = &l->item[l->count++];
    *x = (struct object){.oid = text_copy(l->run, oid), .size = text_copy(l->run, size), .kept = kept};
    return x->oid && x->size ? TL_OK : no_memory(l->run);
}

static int read_list(struct lfs *l) {
    struct tl_backup b = *l->like;
    struct tl_span text;
    b.kind = "lfs";
    int rc = tl_backup_read(l->run, &b, &text);
    if (rc)
        return rc == TL_NOTFOUND ? TL_OK : rc;
    l->list_before = text.ptr;
    l->list_before_len = text.len;
    for (const char *at = text.ptr, *end = text.ptr + text.len; at < end && !rc;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((stop ? stop : end) - at);
        bool kept = *at != '-';
        const char *oid = kept ? at : at + 1, *line_end = at + len;
        if (line_end - oid > OID + 1 && oid[OID] == ' ') {
            struct tl_span id = {oid, OID}, size = {oid + OID + 1, (size_t)(line_end - oid - OID - 1)};
            size_t before = l->count;
            rc = lfs_is_oid(id) && lfs_is_size(size) ? add(l, id, size, kept) : TL_OK;
            if (!rc && l->count > before)
                l->item[l->count - 1].lacked = !kept;
        }
        at += len + 1;
    }
    return rc;
}

static int add_pointer(void *ctx, struct tl_span oid, struct tl_span size) {
    return add(ctx, oid, size, false);
}

/* ---- fetching */

static int64_t size_of(const struct object *x) {
    return strtoll(x->size, NULL, 10);
}

static bool is_wanted(const struct lfs *l, const struct object *x) {
    int64_t most = l->m->args->max_size;
    return !x->kept && !x->tried && (most <= 0 || size_of(x) <= most);
}

static void say(struct lfs *l, const char *oid, const char *said) {
    l->why = said ? said : "no reason was given";
    tl_log(l->run, TL_WARN, "%s: the large file %.12s could not be fetched: %s", l->m->repository->full_name, oid,
           l->why);
}

static bool same_origin(const char *a, const char *b) {
    const char *host = strstr(a, "://");
    size_t n = host ? (size_t)(host + 3 - a) + strcspn(host + 3, "/?#") : 0;
    return n && strncasecmp(a, b, n) == 0 && (!b[n] || strchr("/?#", b[n]));
}

/* What the answer wants to be sent with it, but for what the connection itself is made of. */
static size_t headers_of(struct lfs *l, const struct tl_json *action, struct tl_header *out, size_t most) {
    static const char *const not_these[] = {"host",       "content-length",  "transfer-encoding", "range",
                                            "connection", "accept-encoding", "content-type",      "cookie"};
    struct tl_json all, item = {0};
    size_t n = 0;
    if (!value_at(l->run, action, "/header", &all) || all.type != TL_JSON_OBJECT)
        return 0;
    while (n < most && l->run->host->json_next(l->run, &all, &item) == TL_OK) {
        const char *name =
            item.key.len > 2 ? text_copy(l->run, (struct tl_span){item.key.ptr + 1, item.key.len - 2}) : NULL;
        const char *value = value_text(l->run, &item, "");
        bool fine = name && value &&
                    lfs_all_of((struct tl_span){name, strlen(name)}, "abcdefghijklmnopqrstuvwxyz"
                                                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
        for (size_t i = 0; i < sizeof not_these / sizeof *not_these && fine; i++)
            fine = strcasecmp(name, not_these[i]) != 0;
        for (const char *c = value; fine && *c; c++)
            fine = (unsigned char)*c >= ' ' && *c != 0x7f;
        if (fine)
            out[n++] = (struct tl_header){name, value, NULL};
    }
    return n;
}

static char *decoded(struct tl_run *run, const char *ptr, size_t len) {
    static const char hex[] = "0123456789abcdef";
    char *out = tl_alloc(run, len + 1);
    size_t n = 0;
    for (size_t i = 0; out && i < len; i++) {
        const char *a = ptr[i] == '%' && i + 2 < len ? strchr(hex, ptr[i + 1] | 32) : NULL;
        const char *b = a && ptr[i + 1] ? strchr(hex, ptr[i + 2] | 32) : NULL;
        bool code = a && b && *a && *b;
        out[n++] = code ? (char)((a - hex) * 16 + (b - hex)) : ptr[i];
        i += code ? 2 : 0;
        if (!out[n - 1])
            return NULL;
    }
    if (out)
        out[n] = '\0';
    return out;
}

/* What is signed for a few minutes is said on the wire alone, and stands in no catalog. */
static size_t query_of(struct tl_run *run, const char *href, struct tl_header *out, size_t most, const char **bare) {
    const char *mark = strchr(href, '?'), *end = href + strcspn(href, "#");
    size_t n = 0;
    *bare = mark && mark < end ? text_copy(run, (struct tl_span){href, (size_t)(mark - href)}) : href;
    for (const char *at = mark && mark < end ? mark + 1 : end; at < end && n < most;) {
        size_t len = strcspn(at, "&#");
        const char *equals = memchr(at, '=', len);
        size_t key = equals ? (size_t)(equals - at) : len;
        out[n].name = decoded(run, at, key);
        out[n].value = decoded(run, equals ? equals + 1 : "", equals ? len - key - 1 : 0);
        out[n].secret = NULL;
        if (len && out[n].name && out[n].value)
            n++;
        at += len + (at + len < end);
    }
    return n;
}

/* Whole, or piece by piece into one attachment. TL_FAILED and others: nothing is kept, tl_reason says why. */
static int fetch_one(struct lfs *l, struct object *x, const struct tl_json *action) {
    enum { HEADERS = 14, QUERY = 60 };
    struct tl_header header[HEADERS], query[QUERY];
    const char *href = value_text(l->run, action, "/href"), *bare = NULL;
    const char *name = text_format(l->run, "object %s of %s", x->oid, l->like->name);
    struct tl_response res = TL_RESPONSE_INIT;
    int64_t size = size_of(x), at = 0, asked = 0;
    bool lies = false; /* or a large object of no bytes would be asked for without end */
    int rc = TL_OK;
    size_t n = headers_of(l, action, header, HEADERS - 2),
           queries = href ? query_of(l->run, href, query, QUERY, &bare) : 0;
    bool authorized = false;
    for (size_t i = 0; i < n; i++)
        authorized = authorized || strcasecmp(header[i].name, "authorization") == 0;
    if (!name || !href || !bare)
        return tl_fail(l->run, TL_FAILED, "the answer does not say where it is");
    if (!authorized && l->m->args->token && same_origin(l->m->origin, href))
        header[n++] = (struct tl_header){"Authorization", "Basic x-access-token:", l->m->args->token};
    do {
        int64_t last = at + PIECE < size ? at + PIECE - 1 : size - 1;
        bool pieces = size > PIECE;
        if (pieces)
            header[n] = (struct tl_header){
                "Range", text_format(l->run, "bytes=%lld-%lld", (long long)at, (long long)last), NULL};
        rc = tl_fetch(l->run,
                      TL_REQUEST(.kind = TL_API_REQUEST, .url = bare, .headers = header, .header_count = n + pieces,
                                 .query = query, .query_count = queries, .attach = name, .flags = at ? TL_APPEND : 0),
                      &res);
        asked = last + 1 - at;
        lies = !rc && res.status == 206 && pieces && res.bytes != asked;
        at = res.status == 206 && pieces ? last + 1 : size; /* one that knows no pieces has sent it whole */
    } while (!rc && !lies && res.status == 206 && at < size);
    if (rc)
        return rc;
    struct tl_backup b = *l->like;
    b.kind = "object";
    b.attached = name;
    memcpy(b.sha256, x->oid, OID + 1);
    rc = tl_backup(l->run, &b);
    if (rc == TL_INVALID && lies) {
        tl_reason(l->run);
        return tl_fail(l->run, TL_FAILED, "its server was asked for %lld bytes, and said that %lld are these",
                       (long long)asked, (long long)res.bytes);
    }
    if (rc == TL_INVALID && (res.status < 200 || res.status > 299 || res.truncated)) {
        tl_reason(l->run);
        return tl_fail(l->run, TL_FAILED,
                       res.truncated ? "it is over fetch.max_body, and its server sends no pieces (%d)"
                                     : "its server answered %d",
                       res.status);
    }
    x->kept = rc == TL_OK;
    return rc;
}

static struct object *object_of(struct lfs *l, const char *oid) {
    const struct object key = {.oid = oid, .kept = true};
    size_t low = 0, high = l->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(l->item[middle].oid, key.oid);
        if (order == 0)
            return &l->item[middle];
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return NULL;
}

/* Of each object that was asked for: where it is, or why not. */
static int take_answer(struct lfs *l, const struct tl_response *res) {
    struct tl_json body = {.raw = res->body}, all, one = {0}, action;
    if (!value_at(l->run, &body, "", &body) || !value_at(l->run, &body, "/objects", &all) || all.type != TL_JSON_ARRAY)
        return tl_fail(l->run, TL_FAILED, "its server's answer is none of Git LFS");
    while (l->run->host->json_next(l->run, &all, &one) == TL_OK) {
        const char *oid = value_text(l->run, &one, "/oid"), *said = value_text(l->run, &one, "/error/message");
        struct object *x = oid ? object_of(l, oid) : NULL;
        if (!x || x->kept || !x->asked || x->tried)
            continue;
        x->tried = true;
        l->last = x->oid;
        if (!value_at(l->run, &one, "/actions/download", &action)) {
            if (l->gone++ < SAID_MOST)
                tl_log(l->run, TL_WARN, "%s: the server has no large file %.12s: %s", l->m->repository->full_name,
                       x->oid, said ? said : "it does not say why");
            continue;
        }
        int rc = fetch_one(l, x, &action);
        if (rc == TL_CANCEL || rc == TL_RETRY)
            return rc;
        l->fresh += x->kept;
        l->broken = x->kept ? 0 : l->broken + 1;
        if (!x->kept)
            say(l, x->oid, tl_reason(l->run));
        if (l->fresh == FRESH_MOST || l->broken == BROKEN_MOST)
            return TL_OK;
    }
    return TL_OK;
}

static const char *address(struct lfs *l) {
    size_t n = strlen(l->m->url);
    while (n && l->m->url[n - 1] == '/')
        n--;
    bool named = n > 4 && strncmp(l->m->url + n - 4, ".git", 4) == 0;
    return text_format(l->run, "%.*s%s/info/lfs/objects/batch", (int)n, l->m->url, named ? "" : ".git");
}

/* TL_NOTFOUND: it has no large files to give. */
static int ask(struct lfs *l, const char *url, struct text *objects, struct tl_response *res) {
    struct text t = {.run = l->run};
    const struct tl_header header[] = {{"Accept", "application/vnd.git-lfs+json", NULL},
                                       {"Content-Type", "application/vnd.git-lfs+json", NULL},
                                       {"Authorization", "Basic x-access-token:", l->m->args->token}};
    text_word(&t, "{\"operation\":\"download\",\"transfers\":[\"basic\"],\"hash_algo\":\"sha256\",\"objects\":[");
    text_add(&t, objects->ptr, objects->len);
    text_word(&t, "]}");
    if (t.lost)
        return no_memory(l->run);
    *res = (struct tl_response)TL_RESPONSE_INIT;
    int rc = tl_fetch(l->run,
                      TL_REQUEST(.kind = TL_API_REQUEST, .method = "POST", .url = url, .headers = header,
                                 .header_count = l->m->args->token ? 3 : 2, .body = {t.ptr, t.len}),
                      res);
    if (rc || res->status == 200)
        return rc;
    if (res->status == 401 || res->status == 403)
        return tl_fail(l->run, TL_FAILED,
                       "asked for large files, %s answered %d: the token is not accepted, or none is given",
                       l->m->origin, res->status);
    return res->status >= 400 && res->status < 500 && res->status != 429
               ? TL_NOTFOUND
               : tl_fail(l->run, TL_FAILED, "asked for large files, %s answered %d", l->m->origin, res->status);
}

/* Behind the one whose turn came last in an earlier run, which the cache remembers, or from the beginning. */
static size_t first_turn(const struct lfs *l) {
    char oid[OID + 1] = "";
    const char *path = mirror_path(l->m, ".turn");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    ssize_t n = fd >= 0 ? read(fd, oid, OID) : 0;
    size_t i = 0;
    if (fd >= 0)
        close(fd);
    while (n == OID && i < l->count && strcmp(l->item[i].oid, oid) <= 0)
        i++;
    return i < l->count ? i : 0;
}

static void remember_turn(const struct lfs *l) {
    const char *path = l->last ? mirror_path(l->m, ".turn") : NULL;
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    if (fd < 0)
        return;
    if (pwrite(fd, l->last, OID, 0) != OID)
        unlink(path); /* from the beginning, then */
    close(fd);
}

static int fetch_all(struct lfs *l) {
    const char *url = address(l);
    int rc = url ? TL_OK : no_memory(l->run);
    size_t again = 0, begin = first_turn(l);
    for (size_t i = 0; i < l->count && !rc && l->fresh < FRESH_MOST && l->broken < BROKEN_MOST;) {
        struct text objects = {.run = l->run};
        struct tl_response res;
        const char *last = NULL;
        for (size_t n = 0; i < l->count && n < BATCH; i++) {
            struct object *x = &l->item[(begin + i) % l->count];
            bool late = x->lacked && again == AGAIN_MOST;
            if (!is_wanted(l, x) || late) {
                l->put_off = l->put_off || (late && is_wanted(l, x));
                continue;
            }
            text_word(&objects, text_format(l->run, "%s{\"oid\":\"%s\",\"size\":%s}", n++ ? "," : "", x->oid, x->size));
            x->asked = true;
            again += x->lacked;
            last = x->oid;
        }
        if (!objects.len)
            break;
        rc = ask(l, url, &objects, &res);
        if (!rc)
            rc = take_answer(l, &res);
        if (!rc && last && l->fresh < FRESH_MOST && l->broken < BROKEN_MOST)
            l->last = last; /* also of those that the answer does not name */
    }
    remember_turn(l);
    if (rc == TL_NOTFOUND) {
        tl_reason(l->run);
        return TL_OK;
    }
    if (rc && rc != TL_CANCEL && rc != TL_RETRY) {
        l->why = tl_reason(l->run);
        l->why = l->why ? l->why : "no reason was given";
        return TL_OK;
    }
    return rc;
}

/* ---- what is told */

static int put_list(struct lfs *l) {
    struct text t = {.run = l->run};
    text_word(&t, "# large files of Git LFS: SHA-256 and bytes, sorted; behind '-' those that are not kept\n");
    for (size_t i = 0; i < l->count; i++) {
        text_word(&t, l->item[i].kept ? "" : "-");
        text_word(&t, l->item[i].oid);
        text_word(&t, " ");
        text_word(&t, l->item[i].size);
        text_word(&t, "\n");
    }
    if (t.lost)
        return no_memory(l->run);
    if (!l->count || (l->list_before && l->list_before_len == t.len && memcmp(l->list_before, t.ptr, t.len) == 0))
        return TL_OK;
    struct tl_backup b = *l->like;
    b.kind = "lfs";
    b.media_type = "text/plain";
    b.data = (struct tl_span){t.ptr, t.len};
    return tl_backup(l->run, &b);
}

static void tell(struct lfs *l, struct outcome *o) {
    size_t kept = 0, waiting = 0;
    o->pointers = (struct text){.run = l->run};
    for (size_t i = 0; i < l->count; i++) {
        const struct object *x = &l->item[i];
        kept += x->kept;
        waiting += is_wanted(l, x);
        text_word(&o->pointers, text_format(l->run, "%s{\"oid\":\"%s\",\"size\":%s%s}", i ? "," : "", x->oid, x->size,
                                            x->kept ? ",\"kept\":true" : ""));
    }
    o->lfs = !l->count ? "none" : kept == l->count ? "kept" : kept ? "partial" : "pointers-only";
    o->lfs_reason = l->why;
    o->lfs_waiting = waiting > 0 && (l->fresh == FRESH_MOST || (l->put_off && l->fresh > 0));
    if (l->full)
        tl_log(l->run, TL_WARN, "%s: there are more than %d large files in Git LFS: the others are left out",
               l->m->repository->full_name, OBJECTS_MOST);
    if (kept < l->count)
        tl_log(l->run, TL_WARN,
               "%s: of %zu large files in Git LFS the backup has %zu; of the others it has their pointers alone",
               l->m->repository->full_name, l->count, kept);
    if (l->put_off)
        tl_log(l->run, TL_WARN,
               "%s: of large files that lack, %d are asked for again at a time: the others have their "
               "turn in the next runs",
               l->m->repository->full_name, AGAIN_MOST);
}

static int carry_out(struct lfs *l, struct outcome *o) {
    bool web = strncmp(l->m->url, "http", 4) == 0;
    int rc = l->m->args->lfs && web ? fetch_all(l) : TL_OK;
    if (!rc)
        rc = put_list(l);
    if (!rc)
        tell(l, o);
    return rc;
}

int lfs_copy(struct mirror *m, const struct tl_backup *like, struct outcome *o) {
    struct lfs l = {.run = m->run, .m = m, .like = like};
    int rc = read_list(&l);
    if (!rc)
        rc = lfs_find(m, add_pointer, &l);
    settle(&l);
    return rc ? rc : carry_out(&l, o);
}

int lfs_go_on(struct mirror *m, struct tl_backup *like, struct outcome *o) {
    struct lfs l = {.run = m->run, .m = m, .like = like};
    size_t lacking = 0;
    int rc = m->args->lfs ? read_list(&l) : TL_OK;
    settle(&l);
    for (size_t i = 0; i < l.count; i++)
        lacking += is_wanted(&l, &l.item[i]);
    if (!rc && lacking)
        rc = mirror_now(m, &like->at_us);
    return rc || !lacking ? rc : carry_out(&l, o);
}
