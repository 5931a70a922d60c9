/* convert_own_main.c - see convert_own.h: the process in which a collector's convert runs. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "engine/args.h"
#include "engine/confine.h"
#include "engine/convert_own.h"
#include "engine/convert_own_inside.h"
#include "engine/plugin.h"
#include "engine/run.h"

enum { TO_HOST = 3, DOCUMENT_MAX = 1 << 30 };

static void write_all(const void *ptr, size_t len) {
    for (const char *at = ptr; len;) {
        ssize_t n = write(TO_HOST, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(EXIT_INTERNAL); /* nobody listens any more */
        at += n;
        len -= (size_t)n;
    }
}

static bool read_all(void *ptr, size_t len) {
    for (char *at = ptr; len;) {
        ssize_t n = read(TO_HOST, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

static bool read_frame(uint64_t type, struct buf *out) {
    uint64_t head[CONVERT_OWN_HEAD];
    buf_shrink(out, 4 << 20);
    if (!read_all(head, sizeof head) || head[0] != type || head[1] > DOCUMENT_MAX || !buf_reserve(out, head[1]) ||
        !read_all(out->data, head[1]))
        return false;
    out->len = head[1];
    out->data[out->len] = '\0';
    return true;
}

static void answer(uint64_t type, const char *text) {
    const uint64_t head[CONVERT_OWN_HEAD] = {type, strlen(text), 0};
    write_all(head, sizeof head);
    write_all(text, strlen(text));
}

/* ---- the backend: items only */

static void put_text(struct json_writer *w, const char *key, const char *text) {
    if (text)
        json_member_string(w, key, text);
}

static int item(struct run *r, const struct tl_element *e) {
    AUTO_BUF struct buf head = BUF_INIT;
    struct json_writer w = JSON_WRITER(&head);
    json_object_begin(&w);
    put_text(&w, "id", e->id);
    put_text(&w, "key", e->key);
    put_text(&w, "media_type", e->media_type);
    put_text(&w, "data_url", e->data_url);
    put_text(&w, "dataset", r->cursor.dataset);
    put_text(&w, "metadata", e->metadata);
    if (e->page_number > 0)
        json_member_int(&w, "page_number", e->page_number);
    json_object_end(&w);
    const uint64_t frame[CONVERT_OWN_HEAD] = {CONVERT_OWN_ITEM, head.len, e->data.len};
    write_all(frame, sizeof frame);
    write_all(head.data, head.len);
    write_all(e->data.ptr, e->data.len);
    return TL_OK;
}

static void say(struct run *r, enum tl_level level, const char *text) {
    (void)r;
    if (level <= TL_WARN)
        dprintf(STDERR_FILENO, "trotline: convert: %s\n", text);
}

static const struct run_backend backend = {.item = item, .log = say};

/* ---- documents */

static const char *text_at(struct run *r, struct tl_span file, const char *pointer) {
    struct tl_json v;
    return json_find(file, pointer, &v) == TL_OK && v.type == TL_JSON_STRING
               ? arena_text(&r->arena, v.raw.ptr + 1, v.raw.len - 2) /* ids and names: nothing in them is escaped */
               : NULL;
}

static void convert(const struct tl_collector *c, void *self, struct hash *hash, struct tl_span file) {
    struct run *r = run_new(&backend, NULL, c, hash);
    const struct tl_document doc = {.struct_size = sizeof doc,
                                    .result_id = text_at(r, file, "/result_id"),
                                    .run_id = text_at(r, file, "/run_id"),
                                    .collector = text_at(r, file, "/collector/name"),
                                    .url = NULL,
                                    .raw = file};
    r->run_id = doc.run_id;
    r->root_id = text_at(r, file, "/lineage/root_id");
    r->parent_id = text_at(r, file, "/lineage/parent_id");
    struct tl_json payload;
    if (json_find(file, "/payload", &payload) == TL_OK)
        r->payload = payload.raw;
    int rc = c->convert(self, &r->pub, &doc);
    char text[RUN_TEXT_MAX];
    snprintf(text, sizeof text, "%s", r->error[0] ? r->error : "it gave no reason");
    run_free(r);
    answer(rc < 0 ? CONVERT_OWN_FAILED : CONVERT_OWN_DONE, rc < 0 ? text : "");
}

static void limit_self(const char *file) {
    const char *memory = getenv(CONVERT_OWN_MEMORY), *slash = strrchr(file, '/');
    AUTO_FREE char *folder = mem_text_n(file, slash ? (size_t)(slash - file) : 0);
    const char *const read[] = {folder, NULL}, *const none[] = {NULL};
    const struct confine c = {
        .read = read, .write = none, .memory = memory ? (size_t)strtoll(memory, NULL, 10) : 0, .descriptors = 64};
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    confine_here(&c, NULL);
}

static const struct tl_secret *no_secret(void *ctx, const char *name) {
    (void)ctx, (void)name;
    return NULL;
}

int convert_own_main(const char *file) {
    const struct tl_collector *c;
    struct fail why = FAIL_INIT;
    struct arena memory = ARENA_INIT;
    struct buf text = {.max = DOCUMENT_MAX};
    void *options = NULL, *self = NULL;
    const struct args_secrets secrets = {no_secret, NULL};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup3(0, TO_HOST, O_CLOEXEC) < 0 || close(0) < 0 || open("/dev/null", O_RDONLY) != 0)
        _exit(EXIT_INTERNAL);
    limit_self(file);
    int rc = read_frame(CONVERT_OWN_OPTIONS, &text) ? loader_open(file, &c, &why) : TL_FAILED;
    if (!rc && !c->convert)
        rc = fail_set(&why, TL_UNSUPPORTED, "it does not convert");
    if (!rc && c->options)
        rc = args_fill(c->options, c->options_size, buf_span(&text), &memory, &secrets, &options, &why);
    if (!rc && c->open && (rc = c->open(&run_host, options, &self)))
        fail_set(&why, rc, "open failed (%d)", rc);
    struct hash *hash = hash_new();
    while (read_frame(CONVERT_OWN_DOCUMENT, &text))
        if (rc)
            answer(CONVERT_OWN_FAILED, why.text);
        else
            convert(c, self, hash, buf_span(&text));
    _exit(EXIT_DONE);
}
