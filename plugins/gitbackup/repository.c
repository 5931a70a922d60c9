/* repository.c - one repository: asked for its refs, fetched when they have changed, copied into the lake.
 *
 * The first copy holds everything; whether there is to be another is decided by the digest of the refs alone, against
 * the manifest in the lake. What has failed is told in the document and in REPO.error, which goes when all is well
 * again. No copy that was made is ever touched: what was forced away upstream stays in those before. */
#include <string.h>
#include <unistd.h>

#include "gitbackup.h"

struct work {
    struct tl_run *run;
    const struct args *a;
    const struct repository *r;
    struct mirror m;
    struct outcome o;
    struct refs offered, was, is;
    bool known; /* was: the lake has a manifest */
    int compared;
    int64_t at_us;
};

/* ---- what its server says */

static const char *origin_of(struct tl_run *run, const char *url) {
    const char *host = strstr(url, "://");
    size_t n = host ? (size_t)(host + 3 - url) + strcspn(host + 3, "/?#") : 0;
    return text_copy(run, (struct tl_span){url, n});
}

static int ask(struct work *w, const char *url, const char *before, struct tl_response *out) {
    const struct tl_header header[] = {{"Authorization", before, w->a->token}};
    *out = (struct tl_response)TL_RESPONSE_INIT;
    return tl_fetch(w->run,
                    TL_REQUEST(.kind = TL_API_REQUEST, .url = url, .headers = header,
                               .header_count = w->a->token ? 1 : 0, .max_bytes = (int64_t)64 << 20),
                    out);
}

/* The page about it says more than git does: that it is gone, or blocked. Returns its HTTP status, or 0. */
static int ask_api(struct work *w) {
    struct tl_response page;
    if (!w->r->id || !w->a->login || !w->a->api)
        return 0;
    const char *url = text_format(w->run, "%s/repos/%s/%s", w->a->api, w->r->owner, w->r->name);
    if (!url || ask(w, url, "Bearer ", &page)) {
        tl_reason(w->run);
        return 0;
    }
    return page.status;
}

static int unavailable(struct work *w, int status) {
    w->o.status = "unavailable";
    w->o.rc = status;
    w->o.reason = "its server answers that it is blocked (451)";
    return TL_OK;
}

/* An answer that is no list of refs. */
static int judge(struct work *w, int status) {
    if (status == 451)
        return unavailable(w, status);
    int page = status == 404 || status == 410 || status == 403 ? ask_api(w) : 0;
    if (page == 451)
        return unavailable(w, page);
    if ((status == 404 || status == 410) && (page == 404 || page == 410)) {
        outcome_fail(w->run, &w->o, "not_found", status, "it is listed, but its server knows neither it nor its page");
        w->o.status = "absent";
        return TL_OK;
    }
    const char *class = status == 404 || status == 410 ? "not_found" : status == 401 || status == 403 ? "auth" : "git";
    return outcome_fail(w->run, &w->o, class, status,
                        text_format(w->run, "asked for its refs, %s answered %d", w->m.origin, status));
}

static bool is_web(const char *url) {
    return strncmp(url, "http", 4) == 0;
}

/* Leads the redirect to another place of the same server, git asks there. */
static void follow(struct work *w, const char *final) {
    static const char tail[] = "/info/refs?service=git-upload-pack";
    size_t n = final ? strlen(final) : 0;
    if (n > sizeof tail && strcmp(final + n - (sizeof tail - 1), tail) == 0) {
        const char *url = text_copy(w->run, (struct tl_span){final, n - (sizeof tail - 1)});
        const char *origin = url ? origin_of(w->run, url) : NULL;
        if (origin) {
            w->m.url = url;
            w->m.origin = origin;
        }
    }
}

static int offered_by_web(struct work *w) {
    size_t n = strlen(w->r->clone_url);
    while (n && w->r->clone_url[n - 1] == '/')
        n--;
    const char *url = text_format(w->run, "%.*s/info/refs?service=git-upload-pack", (int)n, w->r->clone_url);
    struct tl_response answer;
    int rc = url ? ask(w, url, "Basic x-access-token:", &answer) : TL_FAILED;
    if (rc == TL_CANCEL)
        return rc;
    if (rc) {
        const char *said = tl_reason(w->run);
        if (rc == TL_REFUSED) {
            w->o.status = "refused";
            w->o.reason = said ? said : "the leash refused its server";
            return TL_OK;
        }
        return outcome_fail(w->run, &w->o, said && strstr(said, "timed out") ? "timeout" : "git", -1, said);
    }
    if (answer.status != 200)
        return judge(w, answer.status);
    follow(w, answer.url);
    if (!answer.truncated && (rc = refs_of_advertisement(w->run, answer.body, &w->offered)) != TL_INVALID)
        return rc;
    return answer.truncated ? mirror_list(&w->m, &w->offered)
                            : outcome_fail(w->run, &w->o, "not_found", 200, "what answers there is no git server");
}

static int git_failed(struct work *w) {
    const char *said = text_copy(w->run, w->m.said);
    if (memmem(w->m.said.ptr, w->m.said.len, "451", 3) || memmem(w->m.said.ptr, w->m.said.len, "DMCA", 4))
        return unavailable(w, 451);
    return outcome_fail(w->run, &w->o, mirror_class(&w->m), w->m.status, said);
}

/* ---- copies */

static struct tl_backup file_of(const struct work *w, const char *kind) {
    return (struct tl_backup){.struct_size = sizeof(struct tl_backup),
                              .server = w->r->server,
                              .owner = w->r->owner,
                              .name = w->r->name,
                              .kind = kind,
                              .at_us = w->at_us};
}

/* The name of a kind that has nothing to lead to any more goes. */
static int end_of(struct work *w, const char *kind) {
    struct tl_backup b = file_of(w, kind);
    struct tl_span text;
    int rc = tl_backup_read(w->run, &b, &text);
    if (rc && rc != TL_FAILED)
        return rc == TL_NOTFOUND ? TL_OK : rc;
    if (rc) /* too large to be read, but there */
        tl_reason(w->run);
    rc = w->at_us ? TL_OK : mirror_now(&w->m, &w->at_us);
    b.at_us = w->at_us;
    return rc ? rc : tl_backup(w->run, &b);
}

static int note_change(void *ctx, const char *name, const char *old, const char *now) {
    enum { ASKED_MOST = 500 };
    struct work *w = ctx;
    struct text *t = &w->o.changed;
    bool tag = strncmp(name, "refs/tags/", 10) == 0, ask = old && now && !tag && w->compared++ < ASKED_MOST;
    const char *kind = !old ? "new" : !now ? "deleted" : ask && mirror_is_ancestor(&w->m, old, now) ? "ff" : "forced";
    text_word(t, t->len ? ",{\"ref\":" : "{\"ref\":");
    text_word(t, tl_json_quote(w->run, (struct tl_span){name, strlen(name)}));
    text_word(t, text_format(w->run, ",\"old\":%s%s%s,\"new\":%s%s%s,\"kind\":\"%s\"}", old ? "\"" : "",
                             old ? old : "null", old ? "\"" : "", now ? "\"" : "", now ? now : "null", now ? "\"" : "",
                             kind));
    return t->lost ? tl_fail(w->run, TL_FAILED, "the run's memory is used up") : TL_OK;
}

/* Why tl_backup failed, if it was for want of room in the lake; else NULL, and the reason stays. */
static const char *no_room(struct work *w, int rc) {
    const char *said = rc == TL_FAILED ? tl_reason(w->run) : NULL;
    if (!said || strstr(said, "No space left") || strstr(said, "quota"))
        return said;
    tl_fail(w->run, rc, "%s", said);
    return NULL;
}

static int copy_zip(struct work *w) {
    const char *const file = mirror_file(&w->m, ".zip");
    w->o.zip = file_of(w, "zip");
    if (!w->offered.head_oid && !(w->is.head && refs_find(&w->is, w->is.head))) {
        w->o.zip_reason = "HEAD leads to nothing";
        return end_of(w, "zip");
    }
    int rc = mirror_zip(&w->m);
    if (rc == TL_NOTFOUND) {
        w->o.zip_reason = text_copy(w->run, w->m.said);
        return end_of(w, "zip");
    }
    w->o.zip.cache_path = file;
    w->o.zip.media_type = "application/zip";
    rc = rc ? rc : tl_backup(w->run, &w->o.zip);
    w->o.zip_lost = w->o.zip_reason = no_room(w, rc);
    return w->o.zip_lost ? end_of(w, "zip") : rc;
}

/* On what was copied last, when that is asked for and can be; else everything. */
static int make_bundle(struct work *w) {
    int64_t every = w->a->full_every;
    bool part = every > 1 && w->known && w->was.bundle && w->was.chain + 1 < every;
    int rc = part ? mirror_bundle(&w->m, &w->was) : TL_UNSUPPORTED;
    if (rc == TL_OK) {
        rc = mirror_refs(&w->m, &w->is); /* its own head has only what is new */
        w->is.base = w->was.bundle;
        w->is.chain = w->was.chain + 1;
        return rc;
    }
    if (rc != TL_UNSUPPORTED)
        return rc;
    rc = mirror_bundle(&w->m, NULL);
    return rc ? rc : refs_of_bundle(w->run, mirror_path(&w->m, ".bundle"), &w->is);
}

static void sweep(struct work *w) {
    static const char *const ending[] = {".bundle", ".zip"};
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        const char *path = mirror_path(&w->m, ending[i]);
        if (path)
            unlink(path);
    }
}

static int put_manifest(struct work *w) {
    char date[32];
    const char *iso = text_time(w->run, w->at_us);
    if (!iso)
        return tl_fail(w->run, TL_FAILED, "the run's memory is used up");
    memcpy(date, iso, 19);
    memcpy(date + 19, "Z", 2);
    date[13] = date[16] = '-';
    w->is.bundle = w->is.count ? date : NULL;
    struct tl_backup b = file_of(w, "refs");
    b.media_type = "text/plain";
    b.data = refs_manifest(w->run, w->r, &w->is);
    if (w->is.bundle) { /* of nothing: what there was stays */
        b.last = w->a->last;
        b.weekly = w->a->weekly;
        b.monthly = w->a->monthly;
    }
    w->is.bundle = NULL;
    int rc = b.data.ptr ? tl_backup(w->run, &b) : tl_fail(w->run, TL_FAILED, "the run's memory is used up");
    w->o.dropped = b.dropped;
    return rc;
}

static int copy(struct work *w) {
    struct tl_run *run = w->run;
    int rc = mirror_now(&w->m, &w->at_us);
    if (rc || (rc = mirror_update(&w->m, &w->offered)) || (rc = make_bundle(w)))
        return rc == TL_NOTFOUND ? git_failed(w) : rc;
    if (w->o.status) /* it failed on the way */
        return TL_OK;
    w->is.head = w->offered.head && refs_find(&w->is, w->offered.head) ? w->offered.head : NULL;
    w->o.refs = &w->is;
    w->o.verified = true;
    w->o.bundle = file_of(w, "bundle");
    w->o.bundle.media_type = "application/x-git-bundle";
    w->o.bundle.cache_path = mirror_file(&w->m, ".bundle");
    if (w->known)
        rc = refs_compare(run, &w->was, &w->is, note_change, w);
    if (!rc) {
        const char *said = no_room(w, rc = tl_backup(run, &w->o.bundle));
        if (said) {
            sweep(w);
            return outcome_fail(run, &w->o, "disk", -1, said);
        }
    }
    if (!rc)
        rc = copy_zip(w);
    if (!rc && w->offered.head_oid)
        rc = tree_look(&w->m, &w->o);
    const struct tl_backup like = file_of(w, "lfs");
    if (!rc)
        rc = lfs_copy(&w->m, &like, &w->o);
    if (!rc)
        rc = put_manifest(w);
    sweep(w);
    w->o.status = "ok";
    return rc;
}

/* ---- the whole */

static int read_manifest(struct work *w) {
    struct tl_backup b = file_of(w, "refs");
    struct tl_span text;
    int rc = tl_backup_read(w->run, &b, &text);
    if (rc == TL_NOTFOUND)
        return TL_OK;
    w->known = rc == TL_OK;
    return rc ? rc : refs_of_manifest(w->run, text, &w->was);
}

static bool same(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static int empty(struct work *w) {
    int rc = TL_OK;
    w->o.refs = &w->offered;
    w->o.status = "empty";
    if (!w->known || !w->was.count)
        return TL_OK;
    rc = mirror_now(&w->m, &w->at_us); /* it had some: what they were stays in its copies */
    if (!rc)
        rc = refs_compare(w->run, &w->was, &w->offered, note_change, w);
    return rc ? rc : put_manifest(w);
}

/* Nobody is to take for empty, or for whole, what its server offers under names that no ref can have. */
static int tell_refused(struct work *w) {
    w->o.refs_refused = w->offered.refused;
    if (w->offered.count == 0)
        return outcome_fail(w->run, &w->o, "git", -1,
                            text_format(w->run,
                                        "%s offers %zu refs, and none under a name that a ref can have: nothing of it "
                                        "can be copied, and it is not empty",
                                        w->m.origin, w->offered.refused));
    tl_log(w->run, TL_WARN, "%s: %zu refs are left out: their server gives them names that no ref can have",
           w->r->full_name, w->offered.refused);
    return TL_OK;
}

static int decide(struct work *w) {
    int rc = mirror_open(&w->m);
    if (!rc)
        rc = read_manifest(w);
    if (!rc)
        rc = is_web(w->r->clone_url) ? offered_by_web(w) : mirror_list(&w->m, &w->offered);
    if (rc)
        return rc == TL_NOTFOUND ? git_failed(w) : rc;
    if (w->o.status)
        return TL_OK;
    const char *head = w->offered.head && refs_find(&w->offered, w->offered.head) ? w->offered.head : NULL;
    w->offered.head = head ? head : NULL;
    if (w->offered.refused) {
        rc = tell_refused(w);
        if (rc || w->o.status)
            return rc;
    }
    if (w->offered.count == 0)
        return empty(w);
    if (!w->known || strcmp(w->was.digest, w->offered.digest) != 0 || !same(w->was.head, w->offered.head))
        return copy(w);
    struct tl_backup like = file_of(w, "lfs");
    rc = lfs_go_on(&w->m, &like, &w->o);
    w->at_us = like.at_us;
    w->o.refs = &w->offered;
    w->o.status = "unchanged";
    return rc;
}

static int carry_out(struct work *w, struct tl_run *run, const struct args *a, const struct repository *r) {
    *w = (struct work){.run = run, .a = a, .r = r};
    w->m = (struct mirror){.run = run,
                           .args = a,
                           .repository = r,
                           .url = r->clone_url,
                           .origin = origin_of(run, r->clone_url),
                           .lock = -1};
    w->o.changed = (struct text){.run = run};
    if (!w->m.origin)
        return tl_fail(run, TL_FAILED, "the run's memory is used up");
    if (a->max_size > 0 && r->bytes > a->max_size) {
        w->o.status = "too_big";
        w->o.reason = text_format(run, "its server says that it has %lld bytes, max_size is %lld", (long long)r->bytes,
                                  (long long)a->max_size);
        return TL_OK;
    }
    int rc = decide(w);
    if (rc || !w->o.status)
        return rc ? rc : tl_fail(run, TL_FAILED, "nothing came of it");
    if (!w->o.class)
        return w->m.lock >= 0 && (strcmp(w->o.status, "refused") != 0) ? end_of(w, "error") : TL_OK;
    if (!w->at_us && (rc = mirror_now(&w->m, &w->at_us)))
        return rc;
    return outcome_error_file(run, r, &w->o, w->at_us);
}

/* A wiki that is promised need not be there: until its first page is written, none is. */
static int wiki_of(struct tl_run *run, const struct args *a, const struct repository *r, struct outcome *of,
                   bool *failed) {
    const char **status = &of->wiki;
    struct repository wiki = source_wiki(run, r);
    struct work w;
    if (!wiki.name || !wiki.full_name || !wiki.clone_url)
        return tl_fail(run, TL_FAILED, "the run's memory is used up");
    w = (struct work){.run = run, .a = a, .r = &wiki};
    w.m = (struct mirror){.run = run,
                          .args = a,
                          .repository = &wiki,
                          .url = wiki.clone_url,
                          .origin = origin_of(run, wiki.clone_url),
                          .lock = -1};
    w.o.changed = (struct text){.run = run};
    int rc = w.m.origin ? decide(&w) : TL_FAILED;
    bool missing = w.o.class && strcmp(w.o.class, "not_found") == 0;
    *status = rc ? NULL : missing || w.o.rc == 403 || w.o.rc == 401 ? "absent" : w.o.status;
    *failed = !rc && *status && strcmp(*status, "failed") == 0;
    if (*failed && !w.at_us)
        rc = mirror_now(&w.m, &w.at_us);
    if (*failed && !rc)
        rc = outcome_error_file(run, &wiki, &w.o, w.at_us);
    else if (!rc && *status && strcmp(*status, "absent") != 0)
        rc = end_of(&w, "error");
    of->lfs_reason = of->lfs_reason ? of->lfs_reason : w.o.lfs_reason;
    of->lfs_waiting = of->lfs_waiting || w.o.lfs_waiting;
    return rc ? rc : outcome_add_dropped(run, of, &w.o.dropped);
}

/* What was too much for this run is for another one. */
static int hand_on_rest(struct tl_run *run, const struct repository *r) {
    struct repository rest = *r;
    rest.more++;
    return listing_hand_on(run, &rest);
}

int repository_back_up(struct tl_run *run, const struct args *a, const struct repository *r) {
    struct work w;
    bool wiki_failed = false;
    int rc = carry_out(&w, run, a, r);
    if (!rc && a->wiki && r->has_wiki && !w.o.class && strcmp(w.o.status, "too_big") != 0)
        rc = wiki_of(run, a, r, &w.o, &wiki_failed);
    if (!rc && !w.o.wiki)
        w.o.wiki = "absent";
    if (!rc)
        rc = outcome_put(run, r, &w.o);
    if (!rc && w.o.lfs_waiting)
        rc = hand_on_rest(run, r);
    if (rc)
        return rc;
    tl_reason(run); /* of what was dealt with */
    if (strcmp(w.o.status, "failed") == 0)
        return tl_fail(run, TL_FAILED, "%s could not be backed up (%s, %d): %s", r->full_name, w.o.class, w.o.rc,
                       w.o.reason);
    if (wiki_failed)
        return tl_fail(run, TL_PARTIAL, "the wiki of %s could not be backed up: its .error says why", r->full_name);
    if (w.o.zip_lost)
        return tl_fail(run, TL_PARTIAL, "there is no zip of %s: %s", r->full_name, w.o.zip_lost);
    if (w.o.lfs_reason)
        return tl_fail(run, TL_PARTIAL, "not all large files of %s could be fetched: %s", r->full_name, w.o.lfs_reason);
    return TL_OK;
}
