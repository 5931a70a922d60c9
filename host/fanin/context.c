/* context.c - see context.h. */
#include "fanin/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"

#define PREFIX "sha256:"

/* ---- making one ---- */

static int compare_lines(const void *left, const void *right) {
    const struct context_file *a = left, *b = right;
    int order = memcmp(&a->digest, &b->digest, sizeof a->digest);
    return order ? order : strcmp(a->name, b->name);
}

struct sha256 context_code(struct context_file *files, size_t n) {
    AUTO_BUF struct buf lines = BUF_INIT;
    char hex[SHA256_HEX];
    if (n == 1)
        return files->digest;
    if (n)
        qsort(files, n, sizeof *files, compare_lines);
    for (size_t i = 0; i < n; i++)
        buf_printf(&lines, "%s  %s\n", hash_hex(files[i].digest.byte, SHA256_BYTES, hex), files[i].name);
    return hash_sha256(lines.data ? lines.data : "", lines.len);
}

/* Over the bare digits: with `sha256:` left in, two spellings would give two ids. */
static void make_run_id(const char *week, const char *source, const char *topic, const char *code,
                        char out[CONTEXT_RUN_ID]) {
    AUTO_BUF struct buf text = BUF_INIT;
    char hex[SHA256_HEX];
    buf_printf(&text, "%s:%s:%s:%s", week, source, topic, code);
    struct sha256 digest = hash_sha256(text.data, text.len);
    snprintf(out, CONTEXT_RUN_ID, "%.8s-%.*s", week, CONTEXT_PREFIX, hash_hex(digest.byte, SHA256_BYTES, hex));
}

char *context_time(int64_t us, char out[TIME_TEXT]) {
    time_text(us, out);
    memcpy(out + 19, "Z", 2);
    return out;
}

void context_write(struct buf *out, struct week week, const struct sha256 *source, const struct sha256 *topic,
                   const struct sha256 *code, int64_t now_us) {
    char text[WEEK_TEXT], id[CONTEXT_RUN_ID], hex[3][SHA256_HEX], since[TIME_TEXT], until[TIME_TEXT], now[TIME_TEXT];
    week_text(week, text);
    hash_hex(source->byte, SHA256_BYTES, hex[0]);
    hash_hex(topic->byte, SHA256_BYTES, hex[1]);
    hash_hex(code->byte, SHA256_BYTES, hex[2]);
    make_run_id(text, hex[0], hex[1], hex[2], id);
    const char *const rows[][2] = {{"schema_version", CONTEXT_VERSION},
                                   {"run_id", id},
                                   {"week", text},
                                   {"since", context_time(week_start(week), since)},
                                   {"until", context_time(week_start(week) + WEEK_US, until)},
                                   {"source_config_checksum", hex[0]},
                                   {"topic_config_checksum", hex[1]},
                                   {"code_sha", hex[2]},
                                   {"created_at", context_time(now_us, now)}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) /* nothing in them needs an escape */
        buf_printf(out, "%s  \"%s\": \"%s%s\"", i ? ",\n" : "{\n", rows[i][0],
                   strstr(rows[i][0], "_checksum") ? PREFIX : "", rows[i][1]);
    buf_lit(out, "\n}\n");
}

/* ---- reading one ---- */

/* A member that is a text, unescaped; TL_NOTFOUND: it is not there, or no text. */
static int get_text(const struct tl_json *object, const char *name, struct buf *out) {
    struct tl_json member;
    buf_reset(out);
    if (json_get(object, name, &member) || member.type != TL_JSON_STRING || json_text(&member, out))
        return TL_NOTFOUND;
    return strlen(buf_span(out).ptr) == out->len ? TL_OK : TL_NOTFOUND;
}

/* With or without its prefix, as lower hex digits. */
static int get_digest(const struct tl_json *object, const char *name, char hex[SHA256_HEX]) {
    AUTO_BUF struct buf text = BUF_INIT;
    uint8_t bytes[SHA256_BYTES];
    if (get_text(object, name, &text))
        return TL_NOTFOUND;
    struct tl_span digits = buf_span(&text);
    size_t skip = digits.len > strlen(PREFIX) && memcmp(digits.ptr, PREFIX, strlen(PREFIX)) == 0 ? strlen(PREFIX) : 0;
    if (hash_unhex((struct tl_span){digits.ptr + skip, digits.len - skip}, bytes, sizeof bytes))
        return TL_INVALID;
    hash_hex(bytes, sizeof bytes, hex);
    return TL_OK;
}

static int get_time(const struct tl_json *object, const char *name, int64_t *us) {
    AUTO_BUF struct buf text = BUF_INIT;
    int rc = get_text(object, name, &text);
    return rc ? rc : time_parse(buf_span(&text), us);
}

TL_PRINTF(3, 4) static int refuse(struct fail *why, const char *file, const char *fmt, ...) {
    char text[500];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return fail_exit(why, TL_INVALID, EXIT_CONFIG,
                     "the run context %.200s cannot be used: %s; `trotline context` makes one", file, text);
}

static int check_window(const char *file, const struct tl_json *root, struct context *c, struct fail *why) {
    AUTO_BUF struct buf text = BUF_INIT;
    char label[WEEK_TEXT];
    if (get_text(root, "week", &text) || week_parse(buf_span(&text), &c->week))
        return refuse(why, file, "`week` is no ISO week that exists, such as 2026-W23");
    week_text(c->week, c->week_text);
    if (get_time(root, "since", &c->since_us) || get_time(root, "until", &c->until_us))
        return refuse(why, file, "`since` or `until` is no time such as 2026-06-01T00:00:00Z");
    if (get_text(root, "window", &text) == TL_OK && span_eq(buf_span(&text), "rolling"))
        return c->until_us > c->since_us ? TL_OK : refuse(why, file, "its window ends before it begins");
    if (c->since_us != week_start(c->week))
        return refuse(why, file, "it says week %s, but its window begins in %s", c->week_text,
                      week_text(week_of(c->since_us), label));
    if (c->until_us - c->since_us != WEEK_US)
        return refuse(why, file, "its window is not seven days long");
    return TL_OK;
}

static int check_fields(const char *file, const struct tl_json *root, struct context *c, struct fail *why) {
    AUTO_BUF struct buf text = BUF_INIT;
    int64_t created;
    char id[CONTEXT_RUN_ID];
    if (get_text(root, "schema_version", &text) || !span_eq(buf_span(&text), CONTEXT_VERSION))
        return refuse(why, file, "its schema_version is not %s", CONTEXT_VERSION);
    int rc = check_window(file, root, c, why);
    if (rc)
        return rc;
    if (get_digest(root, "source_config_checksum", c->source) || get_digest(root, "topic_config_checksum", c->topic) ||
        get_digest(root, "code_sha", c->code))
        return refuse(why, file, "one of source_config_checksum, topic_config_checksum and code_sha is no SHA-256");
    if (get_time(root, "created_at", &created))
        return refuse(why, file, "`created_at` is no time such as 2026-06-01T00:00:00Z");
    make_run_id(c->week_text, c->source, c->topic, c->code, id);
    if (get_text(root, "run_id", &text) || !span_eq(buf_span(&text), id))
        return refuse(why, file, "its run_id does not follow from its fields, which give %s", id);
    memcpy(c->run_id, id, sizeof id);
    return TL_OK;
}

int context_read(const char *file, struct tl_span text, struct context *out, struct fail *why) {
    AUTO_BUF struct buf json = {.max = CONTEXT_MAX};
    struct tl_json root;
    *out = (struct context){0};
    if (text.len > CONTEXT_MAX || json_python(text, &json) || json_parse(buf_span(&json), &root) ||
        root.type != TL_JSON_OBJECT)
        return refuse(why, file, "it is no JSON object of at most 64 KiB, with every name once");
    int rc = check_fields(file, &root, out, why);
    if (rc)
        return rc;
    out->json.len = json.len;
    out->json.ptr = buf_steal(&json);
    return TL_OK;
}

int context_read_file(const char *path, struct context *out, struct fail *why) {
    AUTO_BUF struct buf text = BUF_INIT;
    *out = (struct context){0};
    int rc = file_read(path, CONTEXT_MAX, &text, why);
    if (rc && why)
        why->exit_code = EXIT_CONFIG;
    return rc ? rc : context_read(path, buf_span(&text), out, why);
}

void context_free(struct context *c) {
    free((char *)c->json.ptr);
    *c = (struct context){0};
}

/* ---- comparing ---- */

static int compare_time(const struct tl_json *leg, const char *name, int64_t ours, struct buf *reason) {
    AUTO_BUF struct buf text = BUF_INIT;
    char expected[TIME_TEXT];
    int64_t theirs;
    if (get_time(leg, name, &theirs) == TL_OK && theirs == ours)
        return TL_OK;
    if (get_text(leg, name, &text))
        buf_text(&text, "nothing");
    buf_printf(reason, "window mismatch (%s: expected %s, got %.40s)", name, context_time(ours, expected), text.data);
    return TL_INVALID;
}

static int compare_digest(const struct tl_json *leg, const char *name, const char *ours, struct buf *reason) {
    char theirs[SHA256_HEX] = "";
    if (get_digest(leg, name, theirs) == TL_OK && strcmp(ours, theirs) == 0)
        return TL_OK;
    buf_printf(reason, "%s mismatch (expected %s%.*s..., got %s%.*s...)", name, PREFIX, CONTEXT_PREFIX, ours, PREFIX,
               CONTEXT_PREFIX, theirs);
    return TL_INVALID;
}

int context_compare(const struct context *c, struct tl_span leg, struct buf *reason) {
    AUTO_BUF struct buf text = BUF_INIT;
    struct tl_json root;
    if (json_parse(leg, &root) || root.type != TL_JSON_OBJECT || get_text(&root, "schema_version", &text) ||
        !span_eq(buf_span(&text), CONTEXT_VERSION)) {
        buf_printf(reason, "schema_version mismatch (run_context: expected %s)", CONTEXT_VERSION);
        return TL_INVALID;
    }
    if (get_text(&root, "week", &text) || !span_eq(buf_span(&text), c->week_text)) {
        buf_printf(reason, "window mismatch (week: expected %s, got %.40s)", c->week_text,
                   text.len ? text.data : "nothing");
        return TL_INVALID;
    }
    int rc = compare_time(&root, "since", c->since_us, reason);
    if (!rc)
        rc = compare_time(&root, "until", c->until_us, reason);
    if (!rc)
        rc = compare_digest(&root, "source_config_checksum", c->source, reason);
    return rc ? rc : compare_digest(&root, "topic_config_checksum", c->topic, reason);
}
