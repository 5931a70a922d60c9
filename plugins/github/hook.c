/* hook.c - events that GitHub delivered, read from the files of a folder.
 *
 * NAME.json is a delivery's body, byte for byte; NAME.headers beside it its headers, one a line. With a secret, a body
 * whose signature is not that of the secret is not taken. Files that were taken are remembered by size and time. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "github.h"

enum { FILES_MOST = 20000, BODY_MOST = 25 << 20 };

static int read_file(struct tl_run *run, const char *path, size_t most,
                     struct tl_span *out) { /* TL_NOTFOUND: there is none */
    const char *const argv[] = {"cat", "--", path, NULL};
    struct tl_program p = {.struct_size = sizeof p, .argv = argv, .timeout_ms = 60000, .max_output = most};
    int rc = tl_exec(run, &p);
    if (rc)
        return rc;
    *out = p.out;
    return p.status == 0 ? TL_OK : TL_NOTFOUND;
}

/* ---- the folder */

static int compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t split_lines(char *text, char **line, size_t most) {
    size_t n = 0;
    for (char *at = text, *end; n < most && (end = strchr(at, '\n')); at = end + 1) {
        *end = '\0';
        if (*at)
            line[n++] = at;
    }
    return n;
}

/* A line is NAME, size and time, with tabs between; one that was taken as it is now is left. */
static int take_line(struct tl_run *run, char *line, struct text *names, size_t *taken) {
    char *tab = strchr(line, '\t');
    struct tl_span before;
    if (!tab || tab == line || tab - line > 190)
        return TL_OK;
    *tab = '\0';
    const char *stamp = tab + 1, *key = text_format(run, "file:%s", line);
    int rc = key ? tl_state_get(run, key, &before) : TL_FAILED;
    if (rc == TL_OK && before.len == strlen(stamp) && memcmp(before.ptr, stamp, before.len) == 0)
        return TL_OK;
    if (rc && rc != TL_NOTFOUND)
        return rc;
    text_add(names, ",", *taken > 0);
    text_string(names, line);
    ++*taken;
    return TL_OK;
}

static int spawn_file(struct tl_run *run, const struct args *a, const char *name) {
    const char *secret = tl_json_get(run, run->host->payload(run), "/secret");
    struct text t = {.run = run};
    text_word(&t, "{\"file\":");
    text_string(&t, text_format(run, "%s/%s", a->files, name));
    if (secret) {
        text_word(&t, ",\"secret\":");
        text_string(&t, secret);
    }
    for (size_t i = 0; i < a->token.count; i++) {
        text_word(&t, i ? "," : ",\"token\":[");
        text_string(&t, a->token.item[i]);
    }
    text_word(&t, a->token.count ? "]" : "");
    if (a->follow) {
        text_word(&t, ",\"follow\":");
        text_word(&t, a->follow);
    }
    text_word(&t, "}");
    return t.lost ? TL_FAILED : tl_spawn(run, TL_CHILD(.args_json = t.ptr));
}

int hook_list(struct tl_run *run, const struct args *a) {
    const char *const argv[] = {"find",   a->files,  "-maxdepth",      "1", "-type", "f", "-name",
                                "*.json", "-printf", "%f\\t%s %T@\\n", NULL};
    struct tl_program p = {.struct_size = sizeof p, .argv = argv, .timeout_ms = 60000, .max_output = 4 << 20};
    struct text names = {.run = run};
    size_t taken = 0;
    if (a->files[0] != '/')
        return tl_fail(run, TL_INVALID, "the folder of events must be given by its whole path, not %s", a->files);
    int rc = tl_exec(run, &p);
    if (rc)
        return rc;
    if (p.status)
        return tl_fail(run, TL_FAILED, "cannot read the folder %s: %.*s", a->files, (int)p.err.len, p.err.ptr);
    char **line = tl_alloc(run, FILES_MOST * sizeof *line), *text = (char *)(uintptr_t)text_copy(run, p.out);
    if (!line || !text)
        return tl_fail(run, TL_FAILED, "the run's memory is used up");
    size_t n = split_lines(text, line, FILES_MOST);
    qsort(line, n, sizeof *line, compare);
    text_word(&names, "[");
    for (size_t i = 0; i < n && !rc; i++) {
        size_t before = taken;
        if (!(rc = take_line(run, line[i], &names, &taken)) && taken > before)
            rc = spawn_file(run, a, line[i]);
    }
    text_word(&names, "]");
    if (rc || names.lost)
        return rc ? rc : tl_fail(run, TL_FAILED, "the run's memory is used up");
    return tl_put(run, "files", TL_ELEMENT(.data = {names.ptr, names.len}, .media_type = "application/json"));
}

/* ---- one file */

/* The value of a header in lines of "Name: value"; NULL: it is not there. */
static const char *header(struct tl_run *run, struct tl_span lines, const char *name) {
    size_t n = strlen(name);
    for (const char *at = lines.ptr, *end = lines.ptr + lines.len; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        if ((size_t)(stop - at) > n && strncasecmp(at, name, n) == 0 && at[n] == ':') {
            at += n + 1;
            while (at < stop && (*at == ' ' || *at == '\t'))
                at++;
            while (stop > at && (stop[-1] == '\r' || stop[-1] == ' '))
                stop--;
            return text_copy(run, (struct tl_span){at, (size_t)(stop - at)});
        }
        at = stop + 1;
    }
    return NULL;
}

/* "pull_request" is a PullRequestEvent. */
static const char *event_type(struct tl_run *run, const char *name) {
    char out[80] = "";
    size_t n = 0;
    bool up = true;
    for (const char *c = name; *c && n < 60; c++) {
        if (*c == '_') {
            up = true;
            continue;
        }
        if (!isalnum((unsigned char)*c))
            return NULL;
        out[n++] = up ? (char)toupper((unsigned char)*c) : *c;
        up = false;
    }
    return n ? text_format(run, "%sEvent", out) : NULL;
}

static int check_signature(struct tl_run *run, const struct args *a, struct tl_span body, struct tl_span headers) {
    static const char method[] = "sha256=";
    const char *said = header(run, headers, "X-Hub-Signature-256");
    char hex[65];
    unsigned char different = 0;
    int rc = tl_hmac(run, a->secret, body, hex);
    if (rc)
        return rc;
    if (!said || strncmp(said, method, sizeof method - 1) != 0 || strlen(said) != sizeof method - 1 + 64)
        return tl_fail(run, TL_FAILED, "%s has no signature (X-Hub-Signature-256 in its .headers): it is not taken",
                       a->file);
    for (size_t i = 0; i < 64; i++) /* in the same time wherever they differ */
        different |= (unsigned char)(hex[i] ^ tolower((unsigned char)said[sizeof method - 1 + i]));
    return different
               ? tl_fail(run, TL_FAILED, "the signature of %s is not that of the secret: it is not taken", a->file)
               : TL_OK;
}

static const char *stem_of(struct tl_run *run, const char *path) {
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    size_t len = strlen(name);
    return text_copy(run, (struct tl_span){name, len > 5 ? len - 5 : len});
}

static int remember(struct tl_run *run, const struct args *a) {
    const char *const argv[] = {"find", a->file, "-maxdepth", "0", "-printf", "%f\\t%s %T@", NULL};
    struct tl_program p = {.struct_size = sizeof p, .argv = argv, .timeout_ms = 60000, .max_output = 4096};
    int rc = tl_exec(run, &p);
    const char *line = rc ? NULL : text_copy(run, p.out), *tab = line ? strchr(line, '\t') : NULL;
    if (!tab || tab - line > 190)
        return rc;
    const char *key = text_format(run, "file:%.*s", (int)(tab - line), line);
    return key ? tl_state_put(run, key, (struct tl_span){tab + 1, strlen(tab + 1)}) : TL_FAILED;
}

int hook_file(struct tl_run *run, const struct args *a) {
    struct tl_span body, headers = {"", 0};
    struct tl_json v;
    const char *stem = stem_of(run, a->file), *dir_end = strrchr(a->file, '/');
    int rc = read_file(run, a->file, BODY_MOST, &body);
    if (rc)
        return rc == TL_NOTFOUND ? tl_fail(run, TL_FAILED, "cannot read %s", a->file) : rc;
    rc = dir_end
             ? read_file(run, text_format(run, "%.*s.headers", (int)(strlen(a->file) - 5), a->file), 65536, &headers)
             : TL_NOTFOUND;
    if (rc && rc != TL_NOTFOUND)
        return rc;
    if (a->secret && (rc = check_signature(run, a, body, rc ? (struct tl_span){"", 0} : headers)))
        return rc;
    const char *name = header(run, headers, "X-GitHub-Event"), *id = header(run, headers, "X-GitHub-Delivery");
    if (!name && stem) /* issues.opened.json, issues-72d3162e.json */
        name = text_copy(run, (struct tl_span){stem, strcspn(stem, ".-")});
    struct context c = {.event_type = name ? event_type(run, name) : NULL, .event_id = id ? id : stem, .url = a->file};
    struct metadata m = {.type = "event", .url = a->file, .fetched_at = text_time(run, run->host->now_us(run))};
    if (run->host->json(run, body, "", &v) || v.type != TL_JSON_OBJECT || !c.event_type)
        return tl_fail(run, TL_FAILED,
                       "%s holds no event: no JSON object, or of a kind that neither its name nor its headers say",
                       a->file);
    rc = github_put(run, a, type_find("event"), &c, TL_ELEMENT(.data = body, .media_type = "application/json"), &m);
    return rc ? rc : remember(run, a);
}
