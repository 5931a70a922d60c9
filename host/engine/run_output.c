/* run_output.c - what a run makes: elements of datasets, attachments, and in the end its document. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "engine/run.h"

static int no_memory(struct run *r) {
    return run_fail(r, TL_FAILED, "memory", "the run's memory is used up");
}

static const struct tl_dataset *declared(const struct run *r, const char *name) {
    for (const struct tl_dataset *d = r->collector->datasets; d && d->name; d++)
        if (strcmp(d->name, name) == 0)
            return d;
    return NULL;
}

static int find_dataset(struct run *r, const char *name, struct run_dataset **out) {
    for (size_t i = 0; i < r->dataset_count; i++)
        if (strcmp(r->dataset[i].d.name, name) == 0) {
            *out = &r->dataset[i];
            return TL_OK;
        }
    const struct tl_dataset *d = declared(r, name);
    if (!d)
        return run_fail(r, TL_INVALID, "invalid", "put: the collector declares no dataset '%.64s'", name);
    if (r->dataset_count == RUN_DATASETS_MAX)
        return run_fail(r, TL_INVALID, "invalid", "put: more than %d datasets", RUN_DATASETS_MAX);
    MEM_GROW(r->dataset, r->dataset_count, r->dataset_room);
    struct run_dataset *x = &r->dataset[r->dataset_count++];
    *x = (struct run_dataset){0};
    x->d = (struct document_dataset){.id = d->name, .name = d->name, .tags = d->tags, .kind = d->kind};
    *out = x;
    return TL_OK;
}

static bool media_is_json(const char *type) {
    size_t n = type ? strlen(type) : 0;
    return n >= 4 && (strcmp(type, "application/json") == 0 || strcmp(type + n - 4, "json") == 0);
}

/* An id of the host's choosing: the dataset's name, or a number. */
static const char *choose_id(struct run *r, const struct run_dataset *x) {
    char text[32];
    if (x->d.kind == TL_SIMPLE)
        return x->d.name;
    snprintf(text, sizeof text, "%s-%zu", x->d.kind == TL_PAGED ? "page" : "pair", x->d.count + 1);
    return arena_text(&r->arena, text, strlen(text));
}

static bool id_taken(const struct run_dataset *x, const char *id) {
    for (size_t i = 0; i < x->d.count; i++)
        if (strcmp(x->element[i].id, id) == 0)
            return true;
    return false;
}

static int check_element(struct run *r, const struct run_dataset *x, const struct tl_element *e) {
    if (x->d.kind == TL_SIMPLE && x->d.count)
        return run_fail(r, TL_INVALID, "invalid", "put: '%s' is SIMPLE and has its value already", x->d.name);
    if (x->d.kind == TL_KEY_VALUE && !e->key)
        return run_fail(r, TL_INVALID, "invalid", "put: '%s' is KEY_VALUE; a key is wanted", x->d.name);
    if (r->element_count >= RUN_ELEMENTS_MAX)
        return run_fail(r, TL_INVALID, "invalid", "put: a run makes at most %d elements", RUN_ELEMENTS_MAX);
    if (e->id && id_taken(x, e->id))
        return run_fail(r, TL_INVALID, "invalid", "put: '%s' has an element of the id '%.64s' already", x->d.name,
                        e->id);
    if (x->d.kind == TL_PAGED && e->page_number > 0 && e->page_number != (int64_t)x->d.count + 1)
        return run_fail(r, TL_INVALID, "invalid", "put: pages of '%s' come in order: %lld after %zu", x->d.name,
                        (long long)e->page_number, x->d.count);
    if (e->metadata) {
        struct tl_json m;
        if (json_parse(span_of(e->metadata), &m) || m.type != TL_JSON_OBJECT)
            return run_fail(r, TL_INVALID, "invalid", "put: the metadata of '%s' is no JSON object", x->d.name);
    }
    return TL_OK;
}

/* Bytes, media type, URL, metadata.http of an element that was fetched; the body stays where it is. */
static void take_response(struct run *r, struct document_element *to, const struct tl_response *from) {
    struct fetch_answer *a = run_answer(from);
    to->data = from->body;
    to->media_type = from->media_type;
    to->data_url = from->url;
    to->charset = from->charset;
    if (a) {
        to->http = a->metadata;
        to->text = run_response_text(r, from, &to->charset);
        to->utf8 = run_response_is_utf8(from);
    }
}

/* Over RUN_INLINE_MAX, the bytes go to a file beside the document. */
static int move_out(struct run *r, struct document_element *e, const struct run_dataset *x) {
    char name[160];
    int fd;
    snprintf(name, sizeof name, "%.64s-%zu", x->d.name, x->d.count + 1);
    int rc = run_attach(&r->pub, name, e->media_type, &fd);
    if (rc)
        return rc;
    for (size_t at = 0; at < e->data.len;) {
        ssize_t n = write(fd, e->data.ptr + at, e->data.len - at);
        if (n < 0 && errno != EINTR)
            return run_fail(r, TL_FAILED, "disk", "cannot write the attachment %s: %s", name, strerrordesc_np(errno));
        at += n > 0 ? (size_t)n : 0;
    }
    struct run_attachment *a = &r->attachment[r->attachment_count - 1];
    e->attachment = a->name;
    e->bytes = (int64_t)e->data.len;
    hash_start(r->hash);
    hash_add(r->hash, e->data.ptr, e->data.len);
    e->sha256 = hash_end(r->hash);
    e->data = (struct tl_span){"", 0};
    e->text = e->data;
    e->utf8 = false;
    return TL_OK;
}

int run_put(struct tl_run *pub, const char *dataset, const struct tl_element *given) {
    struct run *r = run_of(pub);
    struct tl_element e = {0};
    RUN_TAKE(e, given);
    struct run_dataset *x = NULL;
    int rc =
        dataset ? find_dataset(r, dataset, &x) : run_fail(r, TL_INVALID, "invalid", "put: a dataset's name is wanted");
    if (rc || (rc = check_element(r, x, &e)))
        return rc;
    struct document_element to = {0};
    if (e.from)
        take_response(r, &to, e.from);
    if (!e.from || e.data.ptr) {
        char *copy = arena_span(&r->arena, e.data);
        if (!copy)
            return no_memory(r);
        to.data = (struct tl_span){copy, e.data.len};
        to.text = (struct tl_span){"", 0};
        to.utf8 = false;
    }
    if (e.media_type)
        to.media_type = arena_text(&r->arena, e.media_type, strlen(e.media_type));
    if (e.data_url)
        to.data_url = arena_text(&r->arena, e.data_url, strlen(e.data_url));
    if (e.key)
        to.key = arena_text(&r->arena, e.key, strlen(e.key));
    if (e.metadata)
        to.metadata = (struct tl_span){arena_text(&r->arena, e.metadata, strlen(e.metadata)), strlen(e.metadata)};
    if ((rc = run_take_entities(r, &e, &to)))
        return rc;
    to.id = e.id ? arena_text(&r->arena, e.id, strlen(e.id)) : choose_id(r, x);
    if (!to.id || (e.media_type && !to.media_type) || (e.data_url && !to.data_url) || (e.key && !to.key) ||
        (e.metadata && !to.metadata.ptr))
        return no_memory(r);
    to.page_number = (int64_t)x->d.count + 1;
    to.json = media_is_json(to.media_type);
    to.sure = r->own_json;
    if (to.data.len > RUN_INLINE_MAX && r->backend->attach && (rc = move_out(r, &to, x)))
        return rc;
    if (x->d.count == x->room) {
        x->room = x->room ? x->room * 2 : 1;
        x->element = mem_array(x->element, x->room, sizeof *x->element);
        x->d.element = x->element;
    }
    x->element[x->d.count++] = to;
    r->element_count++;
    return TL_OK;
}

/* What the page says of itself, beside its links. */
static void put_facts(struct buf *out, const struct tl_html *h) {
    struct json_writer w = JSON_WRITER(out);
    json_object_begin(&w);
    json_member_string(&w, "title", h->title);
    json_member_string(&w, "description", h->description);
    json_member_string(&w, "canonical", h->canonical);
    json_member_string(&w, "base", h->base);
    json_member_string(&w, "language", h->language);
    if (h->nofollow)
        json_member_bool(&w, "nofollow", true);
    json_object_end(&w);
}

int run_put_links(struct tl_run *pub, const char *dataset, const struct tl_html *h) {
    enum { SCRATCH_MOST = 1 << 20 };
    static struct buf text, facts; /* their memory is used again by the next page's; nothing below waits */
    struct run *r = run_of(pub);
    buf_shrink(&text, SCRATCH_MOST);
    buf_shrink(&facts, SCRATCH_MOST);
    put_facts(&facts, h);
    buf_reserve(&text, h->link_count * 96 + 16);
    buf_lit(&text, "[");
    for (size_t i = 0; i < h->link_count; i++) {
        const struct tl_link *l = &h->link[i];
        buf_text(&text, i ? ",{\"url\":\"" : "{\"url\":\"");
        json_escape(&text, l->url, strlen(l->url));
        buf_lit(&text, "\",\"rel\":\"");
        json_escape(&text, l->rel, strlen(l->rel));
        buf_lit(&text, "\",\"text\":\"");
        json_escape(&text, l->text, strlen(l->text));
        buf_lit(&text, "\",\"source\":\"");
        buf_text(&text, l->source);
        buf_lit(&text, "\",\"position\":");
        buf_int(&text, l->position);
        buf_lit(&text, "}");
    }
    buf_lit(&text, "]");
    struct tl_html *kept = arena_alloc(&r->arena, sizeof *kept);
    if (!kept)
        return no_memory(r);
    *kept = (struct tl_html){.link = h->link, .link_count = h->link_count};
    if (!r->own_links) {
        r->own_links = kept;
        r->own_links_of = arena_text(&r->arena, dataset, strlen(dataset));
    }
    r->own_json = true; /* written by us: nobody needs to check it again */
    int rc = run_put(pub, dataset,
                     TL_ELEMENT(.data = buf_span(&text), .media_type = "application/json", .data_url = r->final_url,
                                .metadata = facts.data));
    r->own_json = false;
    return rc;
}

/* ---- attachments */

static bool name_is_sound(const char *name) {
    size_t n = name ? strlen(name) : 0;
    if (n == 0 || n > 180 || name[0] == '.' || !utf8_valid(name, n))
        return false;
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == '/' || *c == 0x7f)
            return false;
    return true;
}

int run_attach(struct tl_run *pub, const char *name, const char *media_type, int *fd) {
    struct run *r = run_of(pub);
    char staged[300];
    if (!r->backend->attach)
        return run_fail(r, TL_UNSUPPORTED, "invalid", "nothing can be attached here");
    if (!name_is_sound(name) || r->attachment_count >= RUN_ATTACHMENTS_MAX)
        return run_fail(
            r, TL_INVALID, "invalid",
            "attach: a name is 1 to 180 bytes without '/' or control characters and no dot first; at most %d files",
            RUN_ATTACHMENTS_MAX);
    for (size_t i = 0; i < r->attachment_count; i++)
        if (strcmp(r->attachment[i].name, name) == 0)
            return run_fail(r, TL_INVALID, "invalid", "attach: there is a file of the name '%s' already", name);
    int rc = r->backend->attach(r, name, staged, sizeof staged, fd);
    if (rc)
        return run_fail(r, rc, "disk", "cannot make a file for the attachment %s: %s", name, strerrordesc_np(errno));
    struct run_attachment a = {.name = arena_text(&r->arena, name, strlen(name)),
                               .staged = arena_text(&r->arena, staged, strlen(staged)),
                               .fd = *fd};
    a.media_type = media_type ? arena_text(&r->arena, media_type, strlen(media_type)) : "application/octet-stream";
    MEM_GROW(r->attachment, r->attachment_count, r->attachment_room);
    r->attachment[r->attachment_count++] = a;
    return a.name && a.staged && a.media_type ? TL_OK : no_memory(r);
}

int run_attached(struct run *r, const char *name, int *fd) {
    struct run_attachment *a = r->attachment_count ? &r->attachment[r->attachment_count - 1] : NULL;
    if (!a || a->fd < 0 || strcmp(a->name, name) != 0)
        return run_fail(r, TL_INVALID, "invalid", "the last attachment is not '%.200s', or it is finished", name);
    *fd = a->fd;
    return TL_OK;
}

void run_unattach(struct run *r) {
    struct run_attachment *a = &r->attachment[--r->attachment_count];
    if (a->fd >= 0)
        close(a->fd);
    if (r->backend->unattach)
        r->backend->unattach(r, a->staged);
}

int run_attach_file(struct tl_run *pub, const char *name, const char *media_type, const char *cache_path) {
    struct run *r = run_of(pub);
    const char *dir = r->backend->cache_dir ? r->backend->cache_dir(r) : NULL;
    if (!dir || !cache_path || cache_path[0] == '/' || strstr(cache_path, ".."))
        return run_fail(r, TL_INVALID, "invalid",
                        "attach_file: the path is relative to the cache folder, without '..'");
    AUTO_CLOSE int folder = open(dir, O_DIRECTORY | O_PATH | O_CLOEXEC);
    AUTO_CLOSE int from = folder < 0 ? -1 : openat(folder, cache_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;
    if (from < 0 || fstat(from, &st) || !S_ISREG(st.st_mode))
        return run_fail(r, TL_NOTFOUND, "disk", "attach_file: there is no file %s in the cache folder", cache_path);
    int fd, rc = run_attach(pub, name, media_type, &fd);
    if (rc)
        return rc;
    for (;;) {
        ssize_t n = copy_file_range(from, NULL, fd, NULL, 1 << 24, 0);
        if (n == 0)
            return TL_OK;
        if (n > 0 || errno == EINTR)
            continue;
        char block[65536];
        ssize_t got = read(from, block, sizeof block); /* another file system */
        if (got == 0)
            return TL_OK;
        if (got < 0 || write(fd, block, (size_t)got) != got)
            return run_fail(r, TL_FAILED, "disk", "cannot copy %s: %s", cache_path, strerrordesc_np(errno));
    }
}

int run_seal(struct run *r, struct run_attachment *a) {
    if (a->fd < 0)
        return TL_OK;
    if (fdatasync(a->fd) || hash_file(a->fd, &a->sha256, &a->bytes))
        return run_fail(r, TL_FAILED, "disk", "cannot read back the attachment %s: %s", a->name,
                        strerrordesc_np(errno));
    close(a->fd);
    a->fd = -1;
    return TL_OK;
}

static int seal_attachments(struct run *r) {
    int rc = TL_OK;
    for (size_t i = 0; i < r->attachment_count && !rc; i++)
        rc = run_seal(r, &r->attachment[i]);
    return rc;
}

/* ---- the document */

static void write_error(struct run *r, struct buf *out) {
    struct json_writer w = JSON_WRITER(out);
    json_object_begin(&w);
    json_member_string(&w, "kind", r->reason ? r->reason : "collector");
    json_member_string(&w, "message", r->error);
    if (r->http_status)
        json_member_int(&w, "http_status", r->http_status);
    json_object_end(&w);
}

static void write_attachments(struct run *r, const char *folder, struct document_attachment *list, struct buf *json) {
    struct json_writer w = JSON_WRITER(json);
    json_array_begin(&w);
    for (size_t i = 0; i < r->attachment_count; i++) {
        const struct run_attachment *a = &r->attachment[i];
        AUTO_BUF struct buf path = BUF_INIT;
        char hex[SHA256_HEX];
        if (a->path)
            buf_text(&path, a->path);
        else
            buf_printf(&path, "%s/%s/", folder, r->result_id);
        if (!a->path)
            lake_value(&path, span_of(a->name));
        list[i] = (struct document_attachment){a->name, arena_text(&r->arena, path.data, path.len), a->media_type,
                                               a->bytes, a->sha256};
        json_object_begin(&w);
        json_member_string(&w, "name", a->name);
        json_member_string(&w, "path", path.data);
        json_member_int(&w, "bytes", a->bytes);
        json_member_string(&w, "sha256", hash_hex(a->sha256.byte, SHA256_BYTES, hex));
        json_member_string(&w, "media_type", a->media_type);
        json_member_string(&w, "staged", a->staged);
        json_object_end(&w);
    }
    json_array_end(&w);
}

/* An element that was streamed into an attachment by fetch carries its name; find its bytes and digest. */
static void link_attached(struct run *r) {
    for (size_t i = 0; i < r->dataset_count; i++)
        for (size_t k = 0; k < r->dataset[i].d.count; k++) {
            struct document_element *e = &r->dataset[i].element[k];
            for (size_t n = 0; e->attachment && n < r->attachment_count; n++)
                if (strcmp(r->attachment[n].name, e->attachment) == 0) {
                    e->bytes = r->attachment[n].bytes;
                    e->sha256 = r->attachment[n].sha256;
                }
        }
}

int run_document(struct run *r, struct buf *out, const char *attachments_folder, struct document_sums *sums,
                 struct buf *summary, struct buf *attachments) {
    AUTO_BUF struct buf error = BUF_INIT;
    struct document_dataset *sets = arena_alloc(&r->arena, (r->dataset_count + 1) * sizeof *sets);
    struct document_attachment *files = arena_alloc(&r->arena, (r->attachment_count + 1) * sizeof *files);
    if (seal_attachments(r) && r->status != TL_FAILED)
        r->status = TL_FAILED;
    if (!sets || !files)
        return no_memory(r);
    link_attached(r);
    for (size_t i = 0; i < r->dataset_count; i++)
        sets[i] = r->dataset[i].d;
    if (r->attachment_count)
        write_attachments(r, attachments_folder, files, attachments);
    if (r->error[0] && r->status != TL_OK)
        write_error(r, &error);
    struct document d = {.result_id = r->result_id,
                         .run_id = r->run_id,
                         .root_id = r->root_id,
                         .parent_id = r->parent_id,
                         .depth = r->depth,
                         .path = r->path,
                         .path_count = r->path_count,
                         .collector = r->collector->name,
                         .collector_version = r->collector_version,
                         .org = r->org,
                         .project = r->project,
                         .target = r->target,
                         .result_context_name = r->context,
                         .result_name = r->result_name ? r->result_name : r->collector->name,
                         .run_context = r->run_context,
                         .payload = r->payload,
                         .leash = r->leash,
                         .status = run_status_name(r->status),
                         .error = buf_span(&error),
                         .started_us = r->started_us,
                         .finished_us = r->finished_us,
                         .dataset = sets,
                         .dataset_count = r->dataset_count,
                         .attachment = files,
                         .attachment_count = r->attachment_count};
    return document_write(out, &d, r->hash, sums, summary);
}
